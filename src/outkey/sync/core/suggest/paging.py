"""How an API divides its records into pages, judged by one response.

Where a parameter is guessed, a run with a wrong guess fails loudly: the same page or
cursor again ends it.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from urllib.parse import parse_qsl

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.origin import Location, parse_redirect
from outkey.foundation.core.paging_words import (
    CURSORS,
    MAX_RECORDS,
    SIZES,
    pagination_of,
    requested_size,
    words,
)
from outkey.foundation.core.text import Text
from outkey.sending.core.request.message import ResponseHeaders
from outkey.sync.core.line.line import Pagination, Paging
from outkey.sync.core.mapping.excerpt import excerpt_of
from outkey.sync.core.paging.link_header import next_link
from outkey.sync.core.paging.totals import TOTAL_HEADERS, TOTAL_MEMBERS
from outkey.sync.core.suggest.names import Path, comparable_name, expression_of
from outkey.sync.core.suggest.records import FoundRecords

_MAX_DEPTH = 4
_MAX_MEMBERS = 300
_USUAL_SIZES = frozenset({10, 15, 20, 25, 30, 40, 50, 100, 200, 250, 500, 1000})

_NEXT_URLS = words(
    "next nexturl nextlink odatanextlink nextpageurl nextpagelink nextpage nexthref"
    " nextrecordsurl nextpageuri nexturi nextpagepath"
)
_LINK_PARTS = words("href url link uri")
# By the name of the cursor in the response: the usual parameter that takes it.
_CURSORS_AND_PARAMETERS = {
    "nextcursor": "cursor",
    "cursor": "cursor",
    "nextpagetoken": "pageToken",
    "nexttoken": "nextToken",
    "pagetoken": "pageToken",
    "continuationtoken": "continuationToken",
    "nextcontinuationtoken": "continuationToken",
    "paginationtoken": "paginationToken",
    "aftercursor": "page[after]",
    "endcursor": "after",
    "after": "after",
    "next": "cursor",
    "offset": "offset",
    "nextoffset": "offset",
    "nextpage": "page",
    "nextstart": "start",
    "scrollid": "scroll_id",
    "bookmark": "bookmark",
    "nextmarker": "marker",
    "resumptiontoken": "resumptionToken",
    "nextbatch": "from",
    "nextsince": "since",
}
# Parameters that take a cursor where the response has one.
_CURSORS_IN_REQUESTS = words("since marker from_token scroll_id continuationtoken")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d|\d{8,}T?")  # of changes since then
# Names that a cursor has beside a request for one: next_batch, newCursor.
_NEXT = re.compile(r"(?:next|new|continu|end).*|.*(?:cursor|marker|token)")
_SNAKE_PARAMETERS = {
    "pageToken": "page_token",
    "nextToken": "next_token",
    "continuationToken": "continuation_token",
    "paginationToken": "pagination_token",
    "resumptionToken": "resumption_token",
}
_MORE = words("hasmore hasnext hasnextpage more hasmoreitems moreresultsavailable")
_PAGE_MEMBERS = {
    "page": "",  # the parameter has the same name
    "pagenumber": "",
    "pageno": "",
    "pageindex": "",
    "currentpage": "page",
}
_OFFSET_MEMBERS = words("offset skip start startat startindex from")
_SIZE_MEMBERS = words("perpage pagesize limit maxresults size top rows itemsperpage")
_TOTAL_PAGES = words("totalpages pagecount lastpage pages")
_PAGE_HEADERS = ("X-Total-Pages", "X-WP-TotalPages", "X-Next-Page", "X-Page")
_OFFSET_LIMIT = Text(
    "Elasticsearch pages by from and size, up to 10,000 records; what comes after them"
    " needs search_after, which outkey cannot send"
)


@dataclass(frozen=True, slots=True)
class PagedSample:
    """The facts about the pages of a response."""

    document: object
    headers: ResponseHeaders
    location: Location  # of the request
    found: FoundRecords
    key: str = ""  # JMESPath in a record: its id


@dataclass(frozen=True, slots=True)
class PagingGuess:
    """How to request the next page, and why."""

    pagination: Pagination
    why: Text
    is_assumed: bool = False  # by usual names: the response does not say it


def guess_paging(sample: PagedSample) -> PagingGuess:
    """Return how the API divides its records into pages."""
    if sample.found.is_single:
        return PagingGuess(Pagination(), Text("a single object has no pages"))
    members = dict(members_beside(sample.document, sample.found.path))
    rules = (
        _by_link_header(sample),
        _by_next_url(sample, members),
        _by_known_shape(sample, members),
        _by_cursor(sample, members),
        _by_foreign_url(sample, members),
        _by_request(sample),
        _by_numbers(sample, members),
        _by_headers(sample),
        _by_last_id(sample, members),
        _by_total(sample, members),
    )
    none = _no_paging(sample, has_foreign_url=bool(_foreign_urls(sample, members)))
    return next((guess for guess in rules if guess is not None), none)


def members_beside(
    document: object, records: Path | None
) -> Iterator[tuple[Path, object]]:
    """Yield the single values of a response outside of all lists."""
    rest: list[tuple[Path, object]] = [((), document)]
    seen = 0
    while rest and seen < _MAX_MEMBERS:
        path, value = rest.pop(0)
        seen += 1
        if not isinstance(value, dict):
            if path and not isinstance(value, list):
                yield path, value
        elif path != records and len(path) < _MAX_DEPTH:
            rest += [
                ((*path, name), part)
                for name, part in list(value.items())[:_MAX_MEMBERS]
            ]


# ── the response has the URL of the next page ────────────────────────────────────────


def _by_link_header(sample: PagedSample) -> PagingGuess | None:
    url = next_link(sample.headers.get_all("Link"))
    if url is None or not _is_here(sample, url):
        return None
    why = Text("the response has a Link header with the relation next")
    return PagingGuess(_with_size(Pagination(Paging.LINK), url), why)


def _by_next_url(
    sample: PagedSample, members: Mapping[Path, object]
) -> PagingGuess | None:
    named = [pair for pair in members.items() if _names_next_url(pair[0])]
    # Of several without a value, `next` alone may as well be a cursor.
    named.sort(
        key=lambda pair: (pair[1] is None, comparable_name(pair[0][-1]) == "next")
    )
    for path, value in named:
        is_unknown = value is None and comparable_name(path[-1]) != "nextpage"
        is_url = _is_reference(value) and _is_here(sample, str(value))
        if not is_unknown and not is_url:
            continue
        expression = _cursor_while_more(path, members)
        why = Text(
            "{name} is the URL of the next page", name=excerpt_of(expression_of(path))
        )
        if value is None:
            why = Text(
                "{name} seems to be the URL of the next page; the sample has none",
                name=excerpt_of(expression_of(path)),
            )
        pagination = Pagination(Paging.CURSOR, cursor=expression)
        return PagingGuess(
            _with_size(pagination, str(value)), why, is_assumed=value is None
        )
    return None


def _by_known_shape(
    sample: PagedSample, members: Mapping[Path, object]
) -> PagingGuess | None:
    """Recognise APIs that name the next page only if there is one."""
    names = {path[0] for path in members}
    document = sample.document if isinstance(sample.document, dict) else {}
    path: Path | None = None
    if any(name.startswith("@odata.") for name in names):
        path = ("@odata.nextLink",)
    elif sample.found.path == ("d", "results"):
        path = ("d", "__next")
    elif {"done", "totalSize"} <= names:
        path = ("nextRecordsUrl",)
    elif "_embedded" in document and "_links" in names:
        path = ("_links", "next", "href")
    elif sample.found.path == ("hits", "hits"):
        pagination = Pagination(
            Paging.OFFSET, _page_size(sample.found.count), "size", "from"
        )
        return PagingGuess(pagination, _OFFSET_LIMIT)
    if path is None:
        return None
    expression = expression_of(path)
    why = Text(
        "this kind of response has the URL of the next page as {name}, if there is one",
        name=expression,
    )
    return PagingGuess(Pagination(Paging.CURSOR, cursor=expression), why)


def _by_foreign_url(
    sample: PagedSample, members: Mapping[Path, object]
) -> PagingGuess | None:
    """Page by the parameters of a URL that requests must not be sent to."""
    for url in _foreign_urls(sample, members):
        table = pagination_of(url.partition("?")[2])
        if table.get("kind") not in {"page", "offset"}:
            continue
        parameter = str(table["position_parameter"])
        why = Text(
            "the URL of the next page is at another origin than the Base URL, but its"
            " parameter {name} has the position",
            name=excerpt_of(parameter),
        )
        pagination = Pagination(
            Paging(str(table["kind"])),
            _page_size(sample.found.count),
            position_parameter=parameter,
        )
        return PagingGuess(_with_size(pagination, url), why)
    return None


def _foreign_urls(sample: PagedSample, members: Mapping[Path, object]) -> list[str]:
    """Return the URLs of the next page that are at another origin."""
    urls = [
        str(value)
        for path, value in members.items()
        if _names_next_url(path) and _is_reference(value)
    ]
    link = next_link(sample.headers.get_all("Link"))
    urls += [link] if link is not None else []
    return [url for url in urls if not _is_here(sample, url)]


def _names_next_url(path: Path) -> bool:
    if len(path) > 1 and comparable_name(path[-1]) in _LINK_PARTS:
        return comparable_name(path[-2]) == "next"
    return comparable_name(path[-1]) in _NEXT_URLS


def _is_reference(value: object) -> bool:
    """Whether a value is a URL, also a relative one."""
    if not isinstance(value, str) or "{" in value:  # a template is not one yet
        return False
    return value.startswith(("http://", "https://", "/", "?")) or (
        "?" in value and "=" in value
    )


def _is_here(sample: PagedSample, url: str) -> bool:
    """Whether a URL is at the origin of the request."""
    location = sample.location
    try:
        following = parse_redirect(location.origin, location.target, url)
    except ConfigError:
        return False
    return following.origin == location.origin


def _with_size(pagination: Pagination, url: str) -> Pagination:
    """Return pages of the size that a URL requests."""
    for name, value in parse_qsl(url.partition("?")[2]):
        size = requested_size(value)
        if name.lower() in SIZES and size:
            return replace(pagination, size=size, size_parameter=name)
    return pagination


# ── the response has a cursor ────────────────────────────────────────────────────────


def _by_cursor(
    sample: PagedSample, members: Mapping[Path, object]
) -> PagingGuess | None:
    for path, value in members.items():
        name = comparable_name(path[-1])
        is_named = name in _CURSORS_AND_PARAMETERS or (
            _NEXT.fullmatch(name) and _requested_cursor(sample)
        )
        if not is_named or not _is_cursor(name, value):
            continue
        parameter, is_known = _cursor_parameter(sample, members, path, value)
        shown_path = excerpt_of(expression_of(path))
        why = Text(
            "{name} is the cursor of the next page, for the parameter {parameter}",
            name=shown_path,
            parameter=excerpt_of(parameter),
        )
        if not is_known:
            why = Text(
                "{name} is the cursor of the next page; the parameter for it is not in"
                " the response: {parameter} is a guess by the name, check it",
                name=shown_path,
                parameter=excerpt_of(parameter),
            )
        expression = _cursor_while_more(path, members)
        pagination = Pagination(
            Paging.CURSOR, position_parameter=parameter, cursor=expression
        )
        return PagingGuess(
            _with_size(pagination, sample.location.target),
            why,
            is_assumed=not is_known,
        )
    return None


def _requested_cursor(sample: PagedSample) -> str:
    """Return the parameter of the request that takes a cursor, "" if it has none."""
    parameters = parse_qsl(
        sample.location.target.partition("?")[2], keep_blank_values=True
    )
    for name, _ in parameters:
        if name.lower() in CURSORS:
            return name
    for name, value in parameters:
        if name.lower() in _CURSORS_IN_REQUESTS and not _MOMENT.match(value):
            return name
    return ""


def _is_cursor(name: str, value: object) -> bool:
    is_scalar = isinstance(value, str | int | None) and not isinstance(value, bool)
    if not is_scalar or _is_reference(value):
        return False
    if name in {"offset", "cursor"}:  # a number repeats the offset of the request
        return isinstance(value, str) and value != ""
    # Without a value only a name that means nothing else counts.
    return value is not None or name.startswith(("nextcursor", "nextpagetoken"))


def _cursor_parameter(
    sample: PagedSample, members: Mapping[Path, object], path: Path, value: object
) -> tuple[str, bool]:
    """Return the parameter of a cursor, and whether it is more than a guess."""
    if requested := _requested_cursor(sample):
        return requested, True
    for other in members.values():
        if isinstance(other, str) and "=" in other:
            for name, text in parse_qsl(other.partition("?")[2]):
                if text == str(value):
                    return name, True
    usual = _CURSORS_AND_PARAMETERS[comparable_name(path[-1])]
    document = sample.document
    if path == ("next_cursor",) and isinstance(document, dict):
        usual = "start_cursor" if document.get("object") == "list" else usual
    return (_SNAKE_PARAMETERS.get(usual, usual) if "_" in path[-1] else usual), False


def _cursor_while_more(path: Path, members: Mapping[Path, object]) -> str:
    """Return the expression of a cursor, which counts only while there is more.

    Some APIs name a next page after the last one.
    """
    expression = expression_of(path)
    more = _more_flag(members)
    return f"{expression_of(more)} && {expression}" if more else expression


def _more_flag(members: Mapping[Path, object]) -> Path | None:
    return next(
        (
            path
            for path, value in members.items()
            if isinstance(value, bool) and comparable_name(path[-1]) in _MORE
        ),
        None,
    )


def _by_last_id(
    sample: PagedSample, members: Mapping[Path, object]
) -> PagingGuess | None:
    """Page as Stripe does: after the id of the last record."""
    more = _more_flag(members)
    path = sample.found.path
    if more is None or path is None or not sample.key:
        return None
    cursor = f"{expression_of(more)} && {expression_of(path)}[-1].{sample.key}"
    why = Text(
        "{name} shows whether there is more, and no cursor is named: Stripe and others"
        " continue after the last id; check the parameter starting_after",
        name=excerpt_of(expression_of(more)),
    )
    pagination = Pagination(
        Paging.CURSOR, position_parameter="starting_after", cursor=cursor
    )
    pagination = _with_size(pagination, sample.location.target)
    return PagingGuess(pagination, why, is_assumed=True)


# ── pages by numbers ─────────────────────────────────────────────────────────────────


def _by_request(sample: PagedSample) -> PagingGuess | None:
    """Page by the parameters that the request had."""
    table = pagination_of(sample.location.target.partition("?")[2])
    if table.get("kind") not in {"page", "offset"}:
        return None
    parameter = str(table["position_parameter"])
    size = table.get("size")
    pagination = Pagination(
        Paging(str(table["kind"])),
        size if isinstance(size, int) else _page_size(sample.found.count),
        str(table.get("size_parameter", "")),
        parameter,
        0 if table.get("first") == 0 else 1,
    )
    why = Text("the request has the parameter {name}", name=excerpt_of(parameter))
    return PagingGuess(pagination, why)


def _by_numbers(
    sample: PagedSample, members: Mapping[Path, object]
) -> PagingGuess | None:
    """Page by the numbers that the response repeats, such as page or startAt."""
    numbers = {
        path: value
        for path, value in members.items()
        if isinstance(value, int) and not isinstance(value, bool)
    }
    by_name = {comparable_name(path[-1]): path for path in reversed(numbers)}
    size_path = next((by_name[n] for n in by_name if n in _SIZE_MEMBERS), None)
    has_total = any(name in TOTAL_MEMBERS | _TOTAL_PAGES for name in by_name)
    if size_path is None and not has_total:
        return None
    kind = Paging.NONE
    parameter = ""
    first = 1
    for name, path in by_name.items():
        if name in _PAGE_MEMBERS or (name == "number" and "totalpages" in by_name):
            kind = Paging.PAGE
            parameter = _PAGE_MEMBERS.get(name, "page") or path[-1]
            first = min(numbers[path], 1)
            break
        if name in _OFFSET_MEMBERS:
            kind = Paging.OFFSET
            parameter = path[-1]
            break
    if kind is Paging.NONE:
        return None
    why = Text(
        "the response repeats its position; the parameter is probably called"
        " {name} as well",
        name=excerpt_of(parameter),
    )
    size = numbers[size_path] if size_path else sample.found.count
    size_parameter = size_path[-1] if size_path else ""
    pagination = Pagination(
        kind, _page_size(size), size_parameter, parameter, max(first, 0)
    )
    return PagingGuess(pagination, why, is_assumed=True)


def _by_headers(sample: PagedSample) -> PagingGuess | None:
    """Page as GitLab and WordPress do when they send no Link header."""
    header = next((name for name in _PAGE_HEADERS if name in sample.headers), None)
    if header is None:
        return None
    size = sample.headers.get("X-Per-Page")
    pagination = Pagination(
        Paging.PAGE,
        _page_size(int(size[:6]) if size.isdecimal() else sample.found.count),
        "per_page",
        "page",
    )
    why = Text(
        "the response has the header {name}; such APIs have the parameters page and"
        " per_page",
        name=header,
    )
    return PagingGuess(pagination, why, is_assumed=True)


def _by_total(
    sample: PagedSample, members: Mapping[Path, object]
) -> PagingGuess | None:
    """Guess a parameter if there are more records than the sample has."""
    count = sample.found.count
    totals = [
        int(value)
        for path, value in members.items()
        if comparable_name(path[-1]) in TOTAL_MEMBERS
        and isinstance(value, int | Decimal)
        and not isinstance(value, bool)
        and count < value < 10**15
    ]
    totals += [
        int(value)
        for value in map(sample.headers.get, TOTAL_HEADERS)
        if value.isdecimal() and count < int(value[:15])
    ]
    if not totals or not count:
        return None
    why = Text(
        "the sample has {count} of {total} records, but the response does not show"
        " how to request the next page: page is the most usual parameter, check it",
        count=count,
        total=max(totals),
    )
    pagination = Pagination(Paging.PAGE, _page_size(count), position_parameter="page")
    return PagingGuess(pagination, why, is_assumed=True)


def _no_paging(sample: PagedSample, *, has_foreign_url: bool) -> PagingGuess:
    why = Text("nothing in the response indicates further pages")
    may_be_full = not has_foreign_url and sample.found.count in _USUAL_SIZES
    if has_foreign_url:
        why = Text(
            "the URL of the next page is at another origin than the Base URL, so"
            " outkey cannot follow it"
        )
    elif may_be_full:
        why = Text(
            "nothing in the response indicates further pages, but {count} records may"
            " be a full page: look up the parameters for pages in the documentation of"
            " the API",
            count=sample.found.count,
        )
    return PagingGuess(Pagination(), why, is_assumed=may_be_full)


def _page_size(number: int) -> int:
    return min(max(number, 1), MAX_RECORDS)
