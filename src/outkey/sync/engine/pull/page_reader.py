"""Reading pages: requests are sent, some ahead, and responses become records."""

from collections.abc import Generator, Sequence
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
    greater_value,
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
from outkey.sync.engine.pull.pages import SourcePage
from outkey.sync.engine.runs.requests import RequestBatch, ResponseOrError
from outkey.sync.engine.runs.run_in_progress import RunInProgress

NO_CONTENT = 204
PREVIEW_VALUES = 200_000


class PageReader:
    """Requests the pages of a line, and finds the records in them."""

    def __init__(self, progress: RunInProgress, *, reads_ahead: bool = False) -> None:
        ports = progress.ports
        plan = progress.plan
        self._progress = progress
        self._plan = plan
        self._sync = plan.sync
        self._guard = progress.guard
        self._now = ports.runs.now
        finders = {
            field: ports.finder.compile(expression, field=field)
            for field, expression in expressions(plan.sync).items()
        }
        self._find_records = finders.pop("records")
        self._find_cursor = finders.pop("pagination.cursor", None)
        self._find_incremental = finders.pop("incremental.field", None)
        self._is_numbered = plan.sync.pagination.kind in NUMBERED
        parallel = plan.sync.parallel if self._is_numbered else 1
        self._batch = RequestBatch(ports.sender, plan, parallel)
        # Responses to requests that were sent together, by the place of their page.
        self._responses_by_place: dict[str, ResponseOrError] = {}
        self._stride = plan.sync.pagination.size
        self._max_values = MAX_VALUES
        self._is_suspicious = False  # a secret may be in the last page
        self._reads_ahead = reads_ahead
        self._stated_total = 0  # records, as the last page states; 0: unknown

    def first_page(self) -> SourcePage:
        """Request one page, of which a preview shows some records."""
        self._max_values = PREVIEW_VALUES
        with self._batch:
            records, position = self._fetch_page(self._progress.position())
        return SourcePage(records, position, "", self._is_suspicious)

    def pages(self) -> Generator[SourcePage]:
        """Request page after page, from the position of the run to the end."""
        progress = self._progress
        position = progress.position()
        with self._batch:
            while not position.ended:
                progress.keep_working()
                records, position = self._fetch_page(position)
                progress.expected = max(progress.expected, self._stated_total)
                cursor = self._greatest_cursor(records)
                self._guard.refuse_secret(
                    "" if self._is_numbered else position.value, cursor
                )
                self._request_ahead(position, len(records))
                yield SourcePage(records, position, cursor, self._is_suspicious)

    def _request_ahead(self, position: Position, count: int) -> None:
        """Request the next page, which the API makes while this one is written.

        One page only, and none that the run may not take.
        """
        progress = self._progress
        if self._reads_ahead and not position.ended and count < progress.records_left():
            request = page_request(self._plan, position, progress.run.since)
            self._batch.send_ahead(request)

    def _greatest_cursor(self, records: Sequence[Record]) -> str:
        run = self._progress.run
        cursor = run.cursor
        # A retry leaves the next run where it is: it does not write all that it reads.
        if self._find_incremental is not None and not run.retry_of:
            for record in records:
                self._progress.keep_working()
                value = self._find_incremental(record)
                self._guard.refuse_echo(value)
                cursor = greater_value(cursor, value)
        return cursor

    def _fetch_page(self, position: Position) -> tuple[list[Record], Position]:
        """Return the records of a page, and the position after it."""
        since = self._progress.run.since
        response = self._fetch(position, since)
        is_expired = response.cause is Cause.TOKEN_EXPIRED
        if not is_expired and is_past_the_end(self._sync, position, response.status):
            self._refuse_gap(position)
            return [], replace(position, ended=True, doubtful=not position.short)
        raise_for_cause(response, self._now)
        is_empty = response.status == NO_CONTENT
        document: object = []
        if not is_empty:
            document = read_json(response.body, most_values=self._max_values)
        # Before anything is masked: a URL of the next page may repeat our parameters.
        cursor = self._find_cursor(document) if self._find_cursor else None
        refuse_deep_cursor(cursor)
        own_parameters = self._plan.configuration.parameter_names()
        if isinstance(cursor, str):
            cursor = without_parameters(cursor, own_parameters)
        self._is_suspicious = self._guard.look_at(response, document)
        if self._is_suspicious:
            document = self._guard.detector().masked(document)
            cursor = self._guard.detector().masked(cursor)
        self._guard.refuse_echo(cursor)
        records = [] if is_empty else records_in(document, self._find_records)
        self._stated_total = total_of(document, response.headers)
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
        if place not in self._responses_by_place:
            positions = upcoming_positions(
                self._sync, position, self._batch.width, self._stride
            )
            places = [place_of(self._sync, upcoming) for upcoming in positions]
            responses = self._batch.send(
                [page_request(self._plan, upcoming, since) for upcoming in positions]
            )
            self._responses_by_place = dict(zip(places, responses, strict=True))
        response = self._responses_by_place.pop(place)
        if isinstance(response, BaseException):
            raise response
        return response

    def _refuse_gap(self, last: Position) -> None:
        """End the run if a later page that was requested ahead has records."""
        for response in self._responses_by_place.values():
            if (
                isinstance(response, Response)
                and response.status == 200
                and response.cause is None
            ):
                records = records_in(read_json(response.body), self._find_records)
                # Some APIs return the last page for every number after it.
                if records and page_fingerprint(records) != last.mark:
                    raise sync_failure("gap")
