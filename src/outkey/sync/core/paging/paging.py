"""Pages: where a run stands, what the next request has, and when nothing follows.

A position is all that a checkpoint needs: its size does not grow with the pages.
"""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import NamedTuple

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.origin import Location, parse_redirect, without_parameters
from outkey.foundation.core.text import Text
from outkey.sending.core.request.message import ResponseHeaders
from outkey.sync.core.line.line import Paging, Sync
from outkey.sync.core.line.templates import compact_json, fill_text, placeholders
from outkey.sync.core.paging.link_header import next_link
from outkey.sync.core.paging.request_values import RequestValues
from outkey.sync.core.paging.response import page_fingerprint, size_fault
from outkey.sync.core.run.reasons import sync_failure

MAX_PAGES = 1_000_000
MAX_CURSOR_LENGTH = 8192
NUMBERED = frozenset({Paging.PAGE, Paging.OFFSET})
DELETIONS = "deletions"
STATUSES_AFTER_A_SHORT_PAGE = frozenset({400, 404, 416, 422})


@dataclass(frozen=True, slots=True)
class Position:
    """Where a run stands; for a push, `at` is the id of the last record sent.

    The names are part of stored checkpoints.
    """

    at: str = ""  # number, offset, cursor or URL of the next page; "" is the first
    is_address: bool = False  # `at` is a URL
    pages: int = 0  # of the list, or of its window
    mark: str = ""  # page_fingerprint of the last page, where pages have numbers
    short: bool = False  # the last page had fewer records than its size
    milestone: str = ""  # an earlier `at`: a cursor that meets it again is a loop
    ended: bool = False
    doubtful: bool = False  # a refusal after a full page was taken for the end
    ahead: tuple[str, ...] = ()  # of a push: ids after `at` that were sent already
    is_json: bool = False  # `at` is the compact JSON of a cursor
    phase: str = ""  # DELETIONS: `at` is a record of the ledger
    turn: str = ""  # of lists of parents: `at` is the last before which all are done
    window: str = ""  # where the window of time begins; "" is the first
    written: int = 0  # records of the page at this position, whose rows are written
    content: str = ""  # RowsBody.digest of that page
    job: Mapping[str, object] = field(default_factory=dict)  # JobState.facts

    def as_checkpoint(self) -> dict[str, object]:
        """Return the position as a checkpoint stores it."""
        return {name: getattr(self, name) for name in NAMES}

    @property
    def value(self) -> object:
        """The number, cursor or URL as the API returned it."""
        return json.loads(self.at) if self.is_json else self.at


NAMES = dict.fromkeys(part.name for part in fields(Position))
# Version 0.1 stored a digest of the line here; now the run has it.
UNUSED_NAMES = {"line"}


class Page(NamedTuple):
    """A response as paging needs it."""

    location: Location  # where the page was read from
    headers: ResponseHeaders
    records: Sequence[object]
    cursor: object = None
    # Parameters that every request has anyway. A server may repeat them in the URL of
    # the next page, with their secrets; they are not stored as a part of it.
    own_parameters: Collection[str] = ()
    digest: str = ""  # of a page whose records are not in memory: only their number


def position_of(checkpoint: Mapping[str, object]) -> Position:
    """Return where a run continues: at the first page without a usable checkpoint."""
    values = {
        name: value for name, value in checkpoint.items() if name not in UNUSED_NAMES
    }
    if not values.keys() <= NAMES.keys():  # a later version wrote it
        return Position()
    position = Position(**values)  # type: ignore[arg-type]  # as_checkpoint wrote it
    return replace(position, ahead=tuple(position.ahead))  # JSON has lists only


def parameters(
    sync: Sync, position: Position, values: RequestValues
) -> dict[str, list[str]]:
    """Return the query of the next request; a URL has its own."""
    if position.is_address:
        return {}
    pairs: dict[str, list[str]] = {}
    for name, value in _pairs(sync, position, values):
        pairs.setdefault(name, []).append(value)
    return pairs


def _pairs(
    sync: Sync, position: Position, values: RequestValues
) -> Iterator[tuple[str, str]]:
    for name, template in sync.query:
        yield name, _filled_parameter(template, values)
    paging = sync.pagination
    if paging.size_parameter:
        yield paging.size_parameter, str(paging.size)
    place = place_of(sync, position)
    if paging.position_parameter and place:
        yield paging.position_parameter, place
    if sync.incremental.parameter and values.since:
        yield sync.incremental.parameter, values.since
    if sync.incremental.end_parameter and values.until:
        yield sync.incremental.end_parameter, values.until


def _filled_parameter(template: str, values: RequestValues) -> str:
    """Return a parameter of a query, which may name the parent or the job."""
    named = values.in_paths()
    return fill_text(template, named) if named else template


def place_of(sync: Sync, position: Position) -> str:
    """Return the number, offset or cursor of the next page; "" is the first cursor."""
    first = {Paging.PAGE: str(sync.pagination.first), Paging.OFFSET: "0"}
    return position.at or first.get(sync.pagination.kind, "")


def upcoming_positions(
    sync: Sync, position: Position, count: int, stride: int
) -> list[Position]:
    """Return the next positions that are known before their pages are.

    The stride is how many records a page seems to have: an API may limit the size.
    """
    if sync.pagination.kind not in NUMBERED:
        return [position]
    step = 1 if sync.pagination.kind is Paging.PAGE else stride
    first = int(place_of(sync, position))
    return [replace(position, at=str(first + step * number)) for number in range(count)]


def is_past_the_end(sync: Sync, position: Position, status: int) -> bool:
    """Whether a status means that no page has this number.

    Django REST framework returns 404, WordPress 400. After a page that was not short,
    400 can as well be a limit of the API, and then records would be missing.
    """
    if sync.pagination.kind not in NUMBERED or not position.pages:
        return False
    return status == 404 or (position.short and status in STATUSES_AFTER_A_SHORT_PAGE)


def next_position(sync: Sync, position: Position, page: Page) -> Position:
    """Return where the run stands after a page; it has ended if nothing follows."""
    if position.pages >= MAX_PAGES:
        message = Text("there are more than {count} pages", count=MAX_PAGES)
        raise sync_failure("too_many_pages", message)
    read = replace(position, pages=position.pages + 1, written=0, content="")
    kind = sync.pagination.kind
    if kind in NUMBERED:
        return _after_number(sync, position, read, page)
    pointer: object = ""
    if kind is Paging.LINK:
        pointer = next_link(page.headers.get_all("Link")) or ""
    elif kind is Paging.CURSOR:
        pointer = _cursor(page.cursor)
    if not pointer:
        return replace(read, ended=True)
    if isinstance(pointer, str):
        return _after_pointer(sync, read, page, pointer)
    if not _sends_position(sync):
        raise sync_failure(
            "bad_cursor",
            Text("the line has no parameter and no body to send the cursor in"),
        )
    try:
        return _position_at(read, compact_json(pointer), is_json=True)
    except ValueError:
        raise sync_failure("bad_cursor") from None


def _after_number(sync: Sync, before: Position, read: Position, page: Page) -> Position:
    """Continue until a page is empty.

    A short one proves nothing: many APIs have a maximum size of their own, or remove
    what we may not see after they have counted.
    """
    paging = sync.pagination
    size = len(page.records)
    fingerprint = page.digest or page_fingerprint(page.records)
    is_repeated = size > 0 and fingerprint == before.mark
    if is_repeated and not before.short:
        raise sync_failure("page_repeated")
    if not size or is_repeated:
        return replace(read, ended=True)
    step = 1 if paging.kind is Paging.PAGE else size
    at = str(int(place_of(sync, before)) + step)
    return replace(read, at=at, mark=fingerprint, short=size < paging.size)


def refuse_deep_cursor(value: object) -> None:
    """Refuse a cursor that is too deep or too large."""
    if isinstance(value, dict | list) and size_fault({"cursor": value}):
        raise sync_failure(
            "bad_cursor", Text("the cursor of the next page is too large")
        )


def _cursor(value: object) -> object:
    """Return a cursor as text, or as it is if it is an object or a list."""
    if value is None or value is False:
        return ""
    if isinstance(value, dict | list):
        return value
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise sync_failure(
            "bad_cursor", Text("the cursor of the next page is neither text nor number")
        )
    return str(value)


def _sends_position(sync: Sync) -> bool:
    has_placeholder = "position" in placeholders(sync.body)
    return bool(sync.pagination.position_parameter) or has_placeholder


def _after_pointer(sync: Sync, read: Position, page: Page, pointer: str) -> Position:
    paging = sync.pagination
    is_address = (
        paging.kind is Paging.LINK
        or not _sends_position(sync)
        or pointer.startswith(("https://", "http://"))
    )
    at = _next_url(page, pointer) if is_address else pointer
    return _position_at(read, at, is_address=is_address)


def _position_at(
    read: Position, at: str, *, is_address: bool = False, is_json: bool = False
) -> Position:
    """Return the position at the next page, unless that is an earlier one."""
    if len(at) > MAX_CURSOR_LENGTH:
        raise sync_failure(
            "bad_cursor", Text("the cursor of the next page is too long")
        )
    if at in {read.at, read.milestone}:
        raise sync_failure("cursor_loop")
    # Brent's cycle detection: remember one place, a later one at each power of two.
    is_power_of_two = read.pages & (read.pages - 1) == 0
    milestone = at if is_power_of_two else read.milestone
    return replace(
        read, at=at, is_address=is_address, is_json=is_json, milestone=milestone
    )


def _next_url(page: Page, reference: str) -> str:
    """Return the absolute URL of the next page, which must be at the same origin."""
    current = page.location
    try:
        location = parse_redirect(current.origin, current.target, reference)
    except ConfigError:
        raise sync_failure(
            "bad_cursor", Text("the URL of the next page is not valid")
        ) from None
    if location.origin != current.origin:
        raise sync_failure("foreign_next")
    target = without_parameters(location.target, page.own_parameters)
    return f"{location.origin}{target}"
