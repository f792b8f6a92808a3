"""Pages: where a run stands, what the next request asks for, and when nothing follows.

A position is all that a checkpoint needs: its size does not grow with the pages.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import NamedTuple

from outkey.core.errors import ConfigError, SyncFailed
from outkey.core.request.message import ResponseHeaders
from outkey.core.request.origin import Location, parse_redirect
from outkey.core.sync.line import Paging, Sync
from outkey.core.sync.link_header import next_link
from outkey.core.sync.response import mark_of

MOST_PAGES = 1_000_000
_LONGEST = 8192
NUMBERED = frozenset({Paging.PAGE, Paging.OFFSET})
_BEHIND_A_SHORT_PAGE = frozenset({400, 404, 416, 422})


@dataclass(frozen=True, slots=True)
class Position:
    """Where a run stands. Of a push, `at` is the last record's id."""

    line: str  # the mark of the line as it was; a changed one begins anew
    at: str = ""  # number, offset, cursor or address of the next page; "" is the first
    is_address: bool = False
    pages: int = 0
    mark: str = ""  # of the last page's records, where pages have numbers
    short: bool = False  # the last page had fewer
    milestone: str = ""  # an earlier `at`: who meets it again walks in a circle
    ended: bool = False
    doubtful: bool = False  # a refusal after a full page was taken for the end
    ahead: tuple[
        str, ...
    ] = ()  # of a push: records behind `at` that were answered already

    def kept(self) -> dict[str, object]:
        """Return the position as a checkpoint keeps it."""
        return asdict(self)


_PARTS = {part.name for part in fields(Position)}


class Page(NamedTuple):
    """What paging looks at in an answer."""

    here: Location
    headers: ResponseHeaders
    records: Sequence[object]
    cursor: object = None


def position_of(line: str, kept: Mapping[str, object]) -> Position:
    """Return where a run goes on; at the beginning if the line was changed meanwhile."""
    if (
        kept.get("line") != line or not kept.keys() <= _PARTS
    ):  # or another version wrote it
        return Position(line)
    known = Position(**kept)  # type: ignore[arg-type]  # as `kept` wrote it
    return replace(known, ahead=tuple(known.ahead))  # JSON has lists only


def parameters(sync: Sync, position: Position, since: str) -> dict[str, list[str]]:
    """Return the query of the next request; an address has its own."""
    if position.is_address:
        return {}
    pairs: dict[str, list[str]] = {}
    for name, value in _pairs(sync, position, since):
        pairs.setdefault(name, []).append(value)
    return pairs


def _pairs(sync: Sync, position: Position, since: str) -> Iterator[tuple[str, str]]:
    yield from sync.query
    paging = sync.pagination
    if paging.size_parameter:
        yield paging.size_parameter, str(paging.size)
    place = place_of(sync, position)
    if paging.position_parameter and place:
        yield paging.position_parameter, place
    if sync.incremental.parameter and since:
        yield sync.incremental.parameter, since


def place_of(sync: Sync, position: Position) -> str:
    """Return the number, offset or cursor of the next page; the first cursor is empty."""
    first = {Paging.PAGE: str(sync.pagination.first), Paging.OFFSET: "0"}
    return position.at or first.get(sync.pagination.kind, "")


def upcoming(sync: Sync, position: Position, count: int, stride: int) -> list[Position]:
    """Return the next positions, as far as they are known before their pages are.

    The stride is how many records a page has, as far as is known: an API may keep to its own size.
    """
    if sync.pagination.kind not in NUMBERED:
        return [position]
    step = 1 if sync.pagination.kind is Paging.PAGE else stride
    first = int(place_of(sync, position))
    return [replace(position, at=str(first + step * number)) for number in range(count)]


def is_behind_the_end(sync: Sync, position: Position, status: int) -> bool:
    """Tell whether an answer says that there is no page of this number.

    Django REST framework answers 404, WordPress 400. The latter, after a page that was not short,
    can as well be a limit to what is handed out, and then records would be missing.
    """
    if sync.pagination.kind not in NUMBERED or not position.pages:
        return False
    return status == 404 or (position.short and status in _BEHIND_A_SHORT_PAGE)


def following(sync: Sync, position: Position, page: Page) -> Position:
    """Return where the run stands after a page; it has ended where nothing follows."""
    if position.pages >= MOST_PAGES:
        raise SyncFailed(
            f"there are more than {MOST_PAGES} pages", reason="too_many_pages"
        )
    read = replace(position, pages=position.pages + 1)
    kind = sync.pagination.kind
    if kind in NUMBERED:
        return _after_number(sync, position, read, page)
    pointer = ""
    if kind is Paging.LINK:
        pointer = next_link(page.headers.get_all("Link")) or ""
    elif kind is Paging.CURSOR:
        pointer = _cursor(page.cursor)
    if not pointer:
        return replace(read, ended=True)
    return _after_pointer(sync, read, page, pointer)


def _after_number(sync: Sync, before: Position, read: Position, page: Page) -> Position:
    """Go on until a page is empty.

    A short one proves nothing: many an API has a greatest size of its own, or takes out what we
    may not see after it has counted.
    """
    paging, size, mark = sync.pagination, len(page.records), mark_of(page.records)
    repeated = size > 0 and mark == before.mark
    if repeated and not before.short:
        raise SyncFailed(
            "the API answers two pages with the same records",
            hint="Check the parameter of the position (pagination.position_parameter).",
            reason="page_repeated",
        )
    if not size or repeated:
        return replace(read, ended=True)
    step = 1 if paging.kind is Paging.PAGE else size
    at = str(int(place_of(sync, before)) + step)
    return replace(read, at=at, mark=mark, short=size < paging.size)


def _cursor(found: object) -> str:
    if found is None or found is False:
        return ""
    if isinstance(found, bool) or not isinstance(found, str | int):
        raise SyncFailed(
            "the cursor of the next page is neither text nor number",
            hint="Correct the cursor (pagination.cursor).",
            reason="bad_cursor",
        )
    return str(found)


def _after_pointer(sync: Sync, read: Position, page: Page, pointer: str) -> Position:
    paging = sync.pagination
    is_address = (
        paging.kind is Paging.LINK
        or not paging.position_parameter
        or pointer.startswith(("https://", "http://"))
    )
    at = _address(page.here, pointer) if is_address else pointer
    if len(at) > _LONGEST:
        raise SyncFailed("the cursor of the next page is too long", reason="bad_cursor")
    if at in {read.at, read.milestone}:
        raise SyncFailed(
            "the API leads back to a page that was read already",
            hint="Check the cursor (pagination.cursor) and its parameter.",
            reason="cursor_loop",
        )
    # Brent's way to find a circle: remember one place, a later one at every power of two.
    passed = read.pages & (read.pages - 1) == 0
    return replace(
        read, at=at, is_address=is_address, milestone=at if passed else read.milestone
    )


def _address(here: Location, reference: str) -> str:
    """Return the whole address of the next page, which must be at the same origin."""
    try:
        found = parse_redirect(here.origin, here.target, reference)
    except ConfigError:
        raise SyncFailed(
            "the next page's address is none", reason="bad_cursor"
        ) from None
    if found.origin != here.origin:
        raise SyncFailed(
            "the next page is at another origin than the Base URL",
            hint="Credentials stay at their origin: page by number or cursor instead.",
            reason="foreign_next",
        )
    return f"{found.origin}{found.target}"
