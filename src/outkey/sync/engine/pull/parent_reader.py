"""Reading a list for each parent of a line, some of them at the same time.

Each round sends the next request of every open list together. Pages are written with
the state of their parents; a list that has ended is replaced by the next.
"""

from collections import deque
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from outkey.foundation.core.echo.strict import reveals_secret
from outkey.foundation.core.errors import BadResponse, Cause, PolicyError, RemoteError
from outkey.foundation.core.secret import MASK
from outkey.foundation.core.text import Text
from outkey.sync.core.line.line import PARENT, Sync
from outkey.sync.core.mapping.excerpt import excerpt_of
from outkey.sync.core.mapping.mapping import Unmapped
from outkey.sync.core.paging.paging import Position, position_of
from outkey.sync.core.paging.request_values import RequestValues
from outkey.sync.core.paging.response import greater_value
from outkey.sync.core.run.parents import ParentState, failure_at_parent
from outkey.sync.core.run.reasons import BAD_PARENT, RUN_LIMIT
from outkey.sync.core.run.run import ParentCounts
from outkey.sync.engine.pull.page_reader import PageReader
from outkey.sync.engine.pull.pages import PageEffects, SourcePage
from outkey.sync.engine.pull.parents import Parent, Parents, ParentStates, Verdict
from outkey.sync.engine.runs.requests import LineRequest, RequestBatch, ResponseOrError
from outkey.sync.engine.runs.run_in_progress import RunInProgress, is_refused

NO_LIST = frozenset({404, 410})  # the API has no list for a parent
# Parents behind the first one whose list is not complete: their places are in memory.
MAX_AHEAD = 10_000


class BatchOfOne:
    """Sends the requests of one list, whose next one was sent with those of others."""

    width = 1

    def __init__(self, batch: RequestBatch) -> None:
        self._batch = batch
        self.next: LineRequest | None = None  # to be sent with those of other lists
        self._received: tuple[LineRequest, ResponseOrError] | None = None

    def send_ahead(self, request: LineRequest) -> None:
        """Let the next round send a request."""
        self.next = request

    def receive(self, response: ResponseOrError) -> None:
        """Take the response to the request of this round."""
        if self.next is not None:
            self._received = self.next, response
        self.next = None

    def send(self, requests: Sequence[LineRequest]) -> Sequence[ResponseOrError]:
        """Return the response to a request, which a round may have sent."""
        received = self._received
        self._received = None
        if received is not None and [received[0]] == requests:
            return [received[1]]
        return self._batch.send(requests)


@dataclass(slots=True)
class Place:
    """The place of a parent in the order of all."""

    key: str
    is_over: bool = False
    skipped: int = 0  # parents; those behind each other have one place


@dataclass(slots=True)
class OpenList:
    """The list of one parent that is being read."""

    parent: Parent
    state: ParentState
    place: Place
    mark: str
    since: str
    batch: BatchOfOne | None  # None: its requests are sent alone
    pages: Iterator[SourcePage] = field(default_factory=lambda: iter(()))
    has_begun: bool = False  # whether a page of it was read
    has_rejected: bool = False
    is_rejected: bool = False  # the parent itself

    @property
    def values(self) -> RequestValues:
        """The values of its requests."""
        return RequestValues(parent=self.parent.values)

    @property
    def position(self) -> Position:
        """The page at which it begins."""
        stored = self.state.checkpoint.get("position")
        return position_of(stored if isinstance(stored, dict) else {})


@dataclass(slots=True)
class Order:
    """The parents that a run has been through, in their order.

    `at` is the last one before which all are complete: a run continues after it.
    """

    at: str
    places: deque[Place] = field(default_factory=deque)

    def add(self, key: str) -> Place:
        """Add a parent whose list is being read."""
        place = Place(key)
        self.places.append(place)
        return place

    def pass_over(self, key: str, *, is_skipped: bool) -> None:
        """Add a parent whose list is not requested."""
        if not self.places or not self.places[-1].is_over:
            self.places.append(Place(key, is_over=True))
        place = self.places[-1]
        place.key = key
        place.skipped += is_skipped

    def advance(self) -> int:
        """Move on over parents that are complete; return how many were skipped."""
        skipped = 0
        while self.places and self.places[0].is_over:
            place = self.places.popleft()
            self.at = place.key
            skipped += place.skipped
        return skipped


class ParentReader:
    """Requests the list of each parent of a line, and finds the records in them."""

    def __init__(self, progress: RunInProgress, *, reads_ahead: bool = False) -> None:
        self._progress = progress
        self._plan = progress.plan
        self._reader = PageReader(progress, reads_ahead=reads_ahead)
        self._batch = self._reader.batch
        self._parents = Parents(progress.ports, progress.sync.for_each)
        self._rounds: Rounds | None = None

    def first_page(self) -> SourcePage:
        """Request one page of the first parent, of which a preview shows some."""
        parent = self._parents.first()
        if parent is None:
            return SourcePage([], Position(), "", is_suspicious=False)
        fault = parent.fault(self._plan)
        if fault is not None:
            return rejection(self._progress.sync, parent, fault)
        page = self._reader.first_page(parent.values)
        return page._replace(parent=parent.values)

    def pages(self) -> Generator[SourcePage]:
        """Yield the pages of all lists, from the position of the run to the end."""
        position = self._progress.position()
        if position.ended:
            return
        self._rounds = Rounds(self._progress, self._reader, self._parents)
        with self._batch:
            yield from self._rounds.pages()

    def is_ready(self, seconds: float) -> bool:
        """Whether the next page can be read within some seconds."""
        return self._rounds is not None and self._rounds.is_ready(seconds)


class Rounds:
    """The lists of one run, a page of each open one at a time."""

    def __init__(
        self, progress: RunInProgress, reader: PageReader, parents: Parents
    ) -> None:
        self._progress = progress
        self._reader = reader
        self._batch = reader.batch
        self._parents = parents
        run = progress.run
        position = progress.position()
        # A run that begins again, and not where it was, requests every list again.
        self._turn = position.turn or progress.next_turn()
        self._is_doubtful = position.doubtful
        self._states = ParentStates(progress, self._turn)
        self._order = Order(position.at)
        self._candidates = self._each(position.at)
        self._open: list[OpenList] = []
        self._upcoming: OpenList | None = None
        self._total = parents.count(run.id)
        # Of the run with the pages that were read, but are not written yet.
        self._pages = run.pages
        self._cursor = run.cursor
        self._counts = run.counts.parents
        # The last pages of lists, whose states are not stored yet.
        self._unsaved: dict[str, tuple[OpenList, SourcePage]] = {}
        self._left = 0  # pages of this round

    def pages(self) -> Generator[SourcePage]:
        """Yield a page of each open list in each round."""
        while self._fill():
            self._send()
            opened = tuple(self._open)
            for number, each in enumerate(opened, start=1):
                self._left = len(opened) - number
                yield self._next_page(each)
                if each.place.is_over:
                    self._open.remove(each)
        skipped = self._order.advance()
        self._note_missing()
        ended = replace(self._position(0), ended=True)
        yield SourcePage(
            [],
            ended,
            self._cursor,
            is_suspicious=False,
            pages=0,
            parents=ParentCounts(skipped=skipped),
        )

    def is_ready(self, seconds: float) -> bool:
        """Whether the next page can be read within some seconds."""
        return self._left > 0 or self._batch.is_ahead(seconds)

    def _note_missing(self) -> None:
        """Report that the API has no list at all: the path may be wrong."""
        if self._counts.missing and not self._counts.done:
            self._progress.note_change(
                Text("the API has no list for any parent (404): check the path")
            )

    # ── which lists are open ─────────────────────────────────────────────────────────

    def _fill(self) -> bool:
        """Open lists while there is room; return whether one is open."""
        while len(self._open) < self._batch.width and self._has_room():
            following = self._take()
            if following is None:
                break
            self._open.append(following)
        return bool(self._open)

    def _has_room(self) -> bool:
        return not self._open or len(self._order.places) < MAX_AHEAD

    def _take(self) -> OpenList | None:
        """Return the next list to open, whose first request may be sent already."""
        following = self._upcoming or next(self._candidates, None)
        self._upcoming = None
        return following

    def _each(self, after: str) -> Iterator[OpenList]:
        """Yield the lists that this run requests, in the order of their parents."""
        for parents in self._parents.after(after):
            self._progress.keep_working()
            states = self._states.read(parents)
            for parent in parents:
                state = states[parent.key]
                verdict = self._states.verdict(parent, state)
                if verdict is Verdict.OPEN:
                    place = self._order.add(parent.key)
                    yield self._open_list(parent, state, place)
                else:
                    is_skipped = verdict is Verdict.SKIPPED
                    self._order.pass_over(parent.key, is_skipped=is_skipped)

    def _open_list(self, parent: Parent, state: ParentState, place: Place) -> OpenList:
        """Return the list of a parent, at the page where the run has left it."""
        is_begun = state.turn == self._turn and self._states.are_stored
        begun = state.checkpoint if is_begun else {}
        batch = BatchOfOne(self._batch) if self._batch.is_parallel else None
        opened = OpenList(
            parent=parent,
            state=replace(state, checkpoint=begun),
            place=place,
            mark=str(begun.get("mark", "")) or self._states.mark(parent),
            since=self._states.since(state),
            batch=batch,
            has_begun=bool(begun),
            has_rejected=bool(begun.get("has_rejected")),
        )
        fault = parent.fault(self._progress.plan)
        if fault is not None:
            opened.is_rejected = True
            opened.pages = iter([rejection(self._progress.sync, parent, fault)])
            return opened
        reader = self._reader.beside(batch or self._batch)
        request = opened.values, opened.since, opened.position
        cursor = str(begun.get("cursor", ""))
        opened.pages = reader.read_list(*request, cursor)
        if batch is not None:
            with self._naming(parent):
                batch.next = reader.next_request(*request)
        return opened

    # ── requests and pages ───────────────────────────────────────────────────────────

    def _send(self) -> None:
        """Send the next requests of the open lists together."""
        waiting = [
            each.batch
            for each in self._open
            if each.batch is not None and each.batch.next is not None
        ]
        requests = [batch.next for batch in waiting if batch.next is not None]
        if not requests:
            return
        self._progress.keep_working()
        responses = self._batch.send(requests)
        for batch, response in zip(waiting, responses, strict=True):
            batch.receive(response)

    def _next_page(self, each: OpenList) -> SourcePage:
        """Return the next page of a list, as a page of the run."""
        is_missing = False
        with self._naming(each.parent):
            try:
                page = next(each.pages)
            except BadResponse as error:
                is_expired = error.cause is Cause.TOKEN_EXPIRED
                if error.status not in NO_LIST or is_expired:
                    raise
                is_missing = True
                # In the middle of a list it may be a fault that passes.
                ended = Position(ended=True, doubtful=each.has_begun)
                page = SourcePage([], ended, "", is_suspicious=False)
        each.has_begun = True
        is_over = page.position.ended
        self._is_doubtful |= is_over and page.position.doubtful
        each.place.is_over = is_over
        counts = ParentCounts(
            done=is_over and not is_missing and not each.is_rejected,
            missing=is_missing,
            failed=each.is_rejected,
            skipped=self._order.advance(),
        )
        self._counts += counts
        self._progress.expected = self._total
        position = self._position(page.pages)
        self._cursor = self._greatest(page.cursor)
        if is_over:
            self._request_upcoming()
        return page._replace(
            position=position,
            cursor=self._cursor,
            parent=each.parent.values,
            parents=counts,
            save=PageOfList(self, each, page),
        )

    def _request_upcoming(self) -> None:
        """Request the first page of the next list, while a page is written.

        Not where several lists are open: then the next round does it.
        """
        if self._batch.is_parallel:
            return
        self._upcoming = self._take()
        if self._upcoming is not None and not self._upcoming.is_rejected:
            following = self._upcoming
            with self._naming(following.parent):
                self._reader.request_ahead(
                    following.values, following.since, following.position
                )

    @contextmanager
    def _naming(self, parent: Parent) -> Iterator[None]:
        """Name the parent in the error that ends the run at its list."""
        try:
            yield
        except (RemoteError, PolicyError) as error:
            if error.reason != RUN_LIMIT:  # of the run as a whole
                message = failure_at_parent(error.message, self._name_of(parent))
                error.replace_message(message)
                self._progress.note_change(message)
            raise

    def _name_of(self, parent: Parent) -> str:
        """Return the key fields of a parent with their values, as may be shown."""
        fields = {name: parent.values.get(name) for name in self._parents.keys}
        if reveals_secret(self._progress.guard.secrets(), list(fields.values())):
            fields = dict.fromkeys(fields, MASK)
        return ", ".join(
            f"{name} = {excerpt_of(value)}" for name, value in fields.items()
        )

    def _position(self, pages: int) -> Position:
        """Return where the run stands after so many more pages."""
        self._pages += pages
        return Position(
            at=self._order.at,
            pages=self._pages,
            doubtful=self._is_doubtful,
            turn=self._turn,
        )

    def _greatest(self, cursor: str) -> str:
        """Return the greatest value of all lists: that of a run shows that it is one.

        Each list has its own for the next request.
        """
        is_retry = bool(self._progress.run.retry_of)
        return self._cursor if is_retry else greater_value(self._cursor, cursor)

    def add(self, each: OpenList, page: SourcePage, written: PageEffects) -> None:
        """Take a page of a list that is written now."""
        each.has_rejected = (
            each.has_rejected
            or any(map(is_refused, written.effects))
            or bool(written.children.counts().failed)
        )
        self._unsaved[each.state.key] = each, page

    def store(self) -> None:
        """Store the states after the last pages, in the transaction of these."""
        self._states.put([self._state_after(*last) for last in self._unsaved.values()])
        self._unsaved = {}

    def _state_after(self, each: OpenList, page: SourcePage) -> ParentState:
        """Return the state of a parent after a page of its list."""
        if page.position.ended:
            # The next run requests rejected records again.
            since = each.since if each.has_rejected else page.cursor or each.since
            return replace(
                each.state,
                turn=self._turn,
                since=since,
                full_at=self._progress.run.full_at,
                mark="" if each.has_rejected else each.mark,
                checkpoint={},
            )
        return replace(
            each.state,
            turn=self._turn,
            checkpoint={
                "position": page.position.as_checkpoint(),
                "cursor": page.cursor,
                "mark": each.mark,
                "has_rejected": each.has_rejected,
            },
        )


@dataclass(frozen=True, slots=True)
class PageOfList:
    """A page of the list of a parent, whose state is stored with it."""

    rounds: Rounds
    opened: OpenList
    page: SourcePage

    def add(self, written: PageEffects) -> None:
        """Take the effects of the page."""
        self.rounds.add(self.opened, self.page, written)

    def store(self) -> None:
        """Store the states of all pages that were added."""
        self.rounds.store()


def rejection(sync: Sync, parent: Parent, fault: Unmapped) -> SourcePage:
    """Return the page of a parent whose list cannot be requested: it is rejected."""
    # As far as it is known, the key is that of its records.
    row = {
        mapping.host: parent.values.get(mapping.api.removeprefix(PARENT))
        for mapping in sync.mappings
        if mapping.api.startswith(PARENT)
    }
    if not any(row.get(name) for name in sync.keys):
        row = {sync.keys[0]: parent.key}
    rejected = Unmapped(fault.field, BAD_PARENT, row)
    ended = Position(ended=True)
    return SourcePage([rejected], ended, "", is_suspicious=False, pages=0)
