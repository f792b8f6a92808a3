"""Reading pages: requests are sent, some ahead, and responses become records."""

from dataclasses import replace

from outkey.foundation.core.errors import Cause
from outkey.foundation.core.origin import without_parameters
from outkey.sending.core.request.message import Response
from outkey.sync.core.paging.paging import (
    NUMBERED,
    Page,
    Position,
    is_past_the_end,
    next_position,
    place_of,
    refuse_deep_cursor,
    upcoming_positions,
)
from outkey.sync.core.paging.response import (
    MAX_VALUES,
    Record,
    page_fingerprint,
    read_json,
    records_in,
)
from outkey.sync.core.paging.totals import total_of
from outkey.sync.core.run.pauses import raise_for_cause
from outkey.sync.core.run.reasons import sync_failure
from outkey.sync.engine.pull.page_requests import (
    expressions,
    page_location,
    page_request,
)
from outkey.sync.engine.pull.secret_guard import SecretGuard
from outkey.sync.engine.push.requests import RequestBatch, ResponseOrError
from outkey.sync.engine.runs.plan import LinePlan, SyncPorts

NO_CONTENT = 204


class PageReader:
    """Requests the pages of a line, and finds the records in them."""

    def __init__(self, ports: SyncPorts, plan: LinePlan, guard: SecretGuard) -> None:
        self._plan = plan
        self._sync = plan.sync
        self._guard = guard
        self._now = ports.runs.now
        finders = {
            field: ports.finder.compile(expression, field=field)
            for field, expression in expressions(plan.sync).items()
        }
        self._find_records = finders.pop("records")
        self._find_cursor = finders.pop("pagination.cursor", None)
        self.find_incremental = finders.pop("incremental.field", None)
        self.is_numbered = plan.sync.pagination.kind in NUMBERED
        parallel = plan.sync.parallel if self.is_numbered else 1
        self.batch = RequestBatch(ports.sender, plan, parallel)
        # Responses to requests that were sent ahead, by the place of their page.
        self._responses: dict[str, ResponseOrError] = {}
        self._stride = plan.sync.pagination.size
        self.max_values = MAX_VALUES
        self.is_suspicious = False  # a secret may be in the last page
        self.stated_total = 0  # records, as the last page says; 0: it does not say

    def fetch_page(
        self, position: Position, since: str
    ) -> tuple[list[Record], Position]:
        """Return the records of a page, and the position after it."""
        response = self._fetch(position, since)
        is_expired = response.cause is Cause.TOKEN_EXPIRED
        if not is_expired and is_past_the_end(self._sync, position, response.status):
            self._refuse_gap(position)
            return [], replace(position, ended=True, doubtful=not position.short)
        raise_for_cause(response, self._now)
        is_empty = response.status == NO_CONTENT
        document: object = []
        if not is_empty:
            document = read_json(response.body, most_values=self.max_values)
        # Before anything is masked: a URL of the next page may repeat our parameters.
        cursor = self._find_cursor(document) if self._find_cursor else None
        refuse_deep_cursor(cursor)
        own_parameters = self._plan.configuration.parameter_names()
        if isinstance(cursor, str):
            cursor = without_parameters(cursor, own_parameters)
        self.is_suspicious = self._guard.look_at(response, document)
        if self.is_suspicious:
            document = self._guard.detector().masked(document)
            cursor = self._guard.detector().masked(cursor)
        self._guard.refuse_echo(cursor)
        records = [] if is_empty else records_in(document, self._find_records)
        self.stated_total = total_of(document, response.headers)
        page = Page(
            page_location(self._plan, position, since),
            response.headers,
            records,
            cursor,
            own_parameters,
        )
        after = next_position(self._sync, position, page)
        self._stride = len(records)
        if after.ended:
            self._refuse_gap(after)
        return records, after

    def _fetch(self, position: Position, since: str) -> Response:
        """Return the response for a position; the next ones are requested with it."""
        place = place_of(self._sync, position)
        if place not in self._responses:
            positions = upcoming_positions(
                self._sync, position, self.batch.width, self._stride
            )
            places = [place_of(self._sync, upcoming) for upcoming in positions]
            responses = self.batch.send(
                [page_request(self._plan, upcoming, since) for upcoming in positions]
            )
            self._responses = dict(zip(places, responses, strict=True))
        response = self._responses.pop(place)
        if isinstance(response, BaseException):
            raise response
        return response

    def _refuse_gap(self, last: Position) -> None:
        """End the run if a later page that was requested ahead has records."""
        for response in self._responses.values():
            if (
                isinstance(response, Response)
                and response.status == 200
                and response.cause is None
            ):
                records = records_in(read_json(response.body), self._find_records)
                # Some APIs return the last page for every number after it.
                if records and page_fingerprint(records) != last.mark:
                    raise sync_failure("gap")
