"""Reading lists of an API: windows of time, pages of each, and records in these.

`PageReader.read_list` is what reads one list, whatever it belongs to. It takes the
values of its requests, what an earlier run has stored for the list (`since`), its
position, and what this run has stored so far (`cursor`). Each page that it yields has
the position after it, and as `cursor` what is to be stored for the next run.
"""

from collections.abc import Generator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Protocol

from outkey.foundation.core.errors import Cause
from outkey.foundation.core.moments import moment_text
from outkey.foundation.core.stored_times import SKEW_SECONDS
from outkey.foundation.core.text import Text
from outkey.sending.core.request.message import Response
from outkey.sync.core.formats.rows import RowRecord
from outkey.sync.core.mapping.mapping import Unmapped
from outkey.sync.core.paging.paging import (
    NUMBERED,
    Page,
    Position,
    is_past_the_end,
    next_position,
    place_of,
    upcoming_positions,
)
from outkey.sync.core.paging.request_values import NO_VALUES, RequestValues
from outkey.sync.core.paging.response import greater_value
from outkey.sync.core.paging.since import since_text, unrequested
from outkey.sync.core.paging.windows import Windows, sample_values, windows_of
from outkey.sync.core.run.pauses import raise_for_cause
from outkey.sync.core.run.reasons import sync_failure
from outkey.sync.engine.pull.page_requests import page_location, page_request
from outkey.sync.engine.pull.pages import SourcePage
from outkey.sync.engine.pull.record_mapper import NO_PARENT
from outkey.sync.engine.pull.response_reader import (
    ResponseContent,
    ResponseReader,
    RowsContent,
)
from outkey.sync.engine.runs.requests import (
    LineRequest,
    RequestBatch,
    ResponseOrError,
)
from outkey.sync.engine.runs.run_in_progress import RunInProgress

PREVIEW_VALUES = 200_000
NOTHING = ResponseContent([], cursor=None, stated_total=0, is_suspicious=False)


class RequestSender(Protocol):
    """Sends the requests of one list: a `RequestBatch`, or a part of one."""

    @property
    def width(self) -> int:
        """How many requests of the list may be sent at once."""

    def send(self, requests: Sequence[LineRequest]) -> Sequence[ResponseOrError]:
        """Send requests; return the response or the error of each."""

    def send_ahead(self, request: LineRequest) -> None:
        """Send a request whose response `send` returns later."""


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
        self._responses = ResponseReader(progress)
        field = plan.sync.incremental.field
        self._find_incremental = (
            ports.finder.compile(field, field="incremental.field") if field else None
        )
        self._is_numbered = plan.sync.pagination.kind in NUMBERED
        is_parallel = self._is_numbered or bool(plan.sync.for_each)
        parallel = plan.sync.parallel if is_parallel else 1
        self.batch = RequestBatch(
            ports.sender, plan, parallel, packs=plan.sync.response.has_rows
        )
        self._sender: RequestSender = self.batch
        # Responses to requests that were sent together, by the place of their page.
        self._responses_by_place: dict[str, ResponseOrError] = {}
        self._stride = plan.sync.pagination.size
        self._reads_ahead = reads_ahead
        self.values = NO_VALUES  # those that all requests have, such as of a job

    def beside(self, sender: RequestSender) -> "PageReader":
        """Return a reader of another list, which is read at the same time."""
        other = copy(self)
        other.begin_list(sender)
        return other

    def begin_list(self, sender: RequestSender) -> None:
        """Read another list from now on."""
        self._sender = sender
        self._responses_by_place = {}
        self._stride = self._sync.pagination.size
        # What sends the requests of several lists has to know them before.
        self._reads_ahead |= sender is not self.batch

    def first_page(self, parent: Mapping[str, object] = NO_PARENT) -> SourcePage:
        """Request one page, of which a preview shows some records."""
        self._responses.max_values = PREVIEW_VALUES
        values = sample_values(self._sync.incremental, self._began_at())
        values = replace(values, parent=parent)
        position = self._progress.position()
        with self.batch:
            content, after = self._fetch_page(values, position)
        part = next(content.parts(position))
        return SourcePage(part.records, after, "", part.is_suspicious)

    def pages(self) -> Generator[SourcePage]:
        """Request page after page, from the position of the run to the end."""
        run = self._progress.run
        with self.batch:
            yield from self.read_list(
                self.values, run.since, self._progress.position(), run.cursor
            )

    def is_ready(self, seconds: float) -> bool:
        """Whether the next page can be read within some seconds."""
        return bool(self._responses_by_place) or self.batch.is_ahead(seconds)

    def read_list(
        self, values: RequestValues, since: str, position: Position, cursor: str = ""
    ) -> Generator[SourcePage]:
        """Request page after page of one list, from a position to its end.

        Call it inside of `with reader.batch`. One page without records is yielded where
        nothing is to be requested.
        """
        windows = windows_of(self._sync.incremental, since, self._began_at())
        self._note_unrequested(since)
        if windows is None:
            values = self._with_since(values, since)
        elif windows.is_empty:
            self._note_start(windows)
            ended = replace(position, ended=True)
            yield SourcePage([], ended, cursor, is_suspicious=False, pages=0)
            return
        self._responses_by_place = {}
        while not position.ended:
            self._progress.keep_working()
            filled = windows.fill(values, position) if windows else values
            content, after = self._fetch_page(filled, position)
            for part in content.parts(position):
                if windows is None:
                    cursor = self._greatest_cursor(part.records, cursor)
                if part.is_last:
                    break
                self._guard.refuse_secret(cursor)
                yield part.page(position, content.digest, cursor)
            if windows is not None and after.ended:
                self._responses_by_place = {}
                cursor = self._end_of(windows, position, cursor)
                after = windows.follow(position, after)
            position = after
            self._guard.refuse_secret(
                "" if self._is_numbered else position.value, cursor
            )
            ahead = windows.fill(values, position) if windows else values
            self._request_ahead(ahead, position, len(part.records))
            yield SourcePage(part.records, position, cursor, part.is_suspicious)

    def next_request(
        self, values: RequestValues, since: str, position: Position
    ) -> LineRequest | None:
        """Return the request that `read_list` begins with; None without one."""
        windows = windows_of(self._sync.incremental, since, self._began_at())
        if windows is None:
            filled = self._with_since(values, since)
        elif windows.is_empty:
            return None
        else:
            filled = windows.fill(values, position)
        return page_request(self._plan, position, filled)

    def request_ahead(
        self, values: RequestValues, since: str, position: Position
    ) -> None:
        """Send the request that `read_list` begins with, if this may be done ahead."""
        request = self.next_request(values, since, position)
        if self._reads_ahead and request and self._progress.records_left() > 0:
            self.batch.send_ahead(request)

    def _with_since(self, values: RequestValues, since: str) -> RequestValues:
        text = since_text(self._sync.incremental, since, self._began_at())
        return replace(values, since=text)

    def _began_at(self) -> datetime:
        """Return when the run began: what happens after it is for the next run."""
        return datetime.fromtimestamp(self._progress.run.started_at, UTC)

    def _end_of(self, windows: Windows, position: Position, cursor: str) -> str:
        """Return the value to store after the last page of a window."""
        # A retry leaves the next run where it is: it does not write all that it reads.
        return cursor if self._progress.run.retry_of else windows.end_text(position)

    def _note_unrequested(self, since: str) -> None:
        """Report changes that no run has requested: the start has moved past them."""
        gap = unrequested(self._sync.incremental, since, self._began_at())
        if gap is not None:
            first, last = gap
            self._progress.note_change(
                Text(
                    "changes from {first} to {last} are not requested: the start of the"
                    " line has moved past them",
                    first=moment_text(first.timestamp()),
                    last=moment_text(last.timestamp()),
                )
            )

    def _note_start(self, windows: Windows) -> None:
        """Report that nothing is requested because of a moment that is still to come.

        Two runs within a second, or clocks that differ a little, are not worth it.
        """
        if windows.first - windows.end > timedelta(seconds=SKEW_SECONDS):
            self._progress.note_change(
                Text(
                    "nothing is requested before {moment}, where the line starts",
                    moment=moment_text(windows.first.timestamp()),
                )
            )

    def _request_ahead(
        self, values: RequestValues, position: Position, count: int
    ) -> None:
        """Request the next page, which the API makes while this one is written.

        One page only, and none that the run may not take.
        """
        progress = self._progress
        if self._reads_ahead and not position.ended and count < progress.records_left():
            request = page_request(self._plan, position, values)
            self._sender.send_ahead(request)

    def _greatest_cursor(self, records: Sequence[RowRecord], cursor: str) -> str:
        """Return the greatest value of the incremental field by now."""
        # A retry leaves the next run where it is: it does not write all that it reads.
        if self._find_incremental is not None and not self._progress.run.retry_of:
            for record in records:
                self._progress.keep_working()
                if isinstance(record, Unmapped):
                    continue
                value = self._find_incremental(record)
                self._guard.refuse_echo(value)
                cursor = greater_value(cursor, value)
        return cursor

    def _fetch_page(
        self, values: RequestValues, position: Position
    ) -> tuple[ResponseContent | RowsContent, Position]:
        """Return what a page brings, and the position after it."""
        response = self._fetch(values, position)
        is_expired = response.cause is Cause.TOKEN_EXPIRED
        if not is_expired and is_past_the_end(self._sync, position, response.status):
            self._refuse_gap(position)
            is_doubtful = position.doubtful or not position.short
            ended = replace(position, ended=True, doubtful=is_doubtful)
            return NOTHING, ended
        raise_for_cause(response, self._now)
        content = self._responses.read(response)
        if not self._sync.incremental.window:  # of which each states its own total
            self._progress.expected = max(self._progress.expected, content.stated_total)
        page = Page(
            page_location(self._plan, position, values),
            response.headers,
            content.records,
            content.cursor,
            self._plan.configuration.parameter_names(),
            content.digest,
        )
        after = next_position(self._sync, position, page)
        self._stride = len(content.records)
        if after.ended:
            self._refuse_gap(after)
        return content, after

    def _fetch(self, values: RequestValues, position: Position) -> Response:
        """Return the response for a position; the next ones are requested with it."""
        place = place_of(self._sync, position)
        if place not in self._responses_by_place:
            positions = upcoming_positions(
                self._sync, position, self._sender.width, self._stride
            )
            places = [place_of(self._sync, upcoming) for upcoming in positions]
            responses = self._sender.send(
                [page_request(self._plan, upcoming, values) for upcoming in positions]
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
                count, mark = self._responses.count_and_fingerprint(response)
                # Some APIs return the last page for every number after it.
                if count and mark != last.mark:
                    raise sync_failure("gap")
