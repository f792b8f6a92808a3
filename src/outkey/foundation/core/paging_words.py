"""The names that APIs have for the parameters of pages."""

import re
from urllib.parse import parse_qsl

MAX_RECORDS = 10_000  # of a page, which is written at once while others wait


def words(text: str) -> frozenset[str]:
    """Return the words of a text as a set."""
    return frozenset(text.split())


PAGE_NUMBERS = words(
    "page page_number pagenumber pageno p currentpage _page page[number]"
)
OFFSETS = words(
    "offset skip start startat startindex start_index $skip from _start page[offset]"
    " sysparm_offset"
)
CURSORS = words(
    "cursor after starting_after page_token pagetoken next_token nexttoken next _next"
    " continuation bookmark startcursor start_cursor page[after] page[cursor]"
    " page_cursor continuationtoken continuation_token sync_token page_info"
)
SIZES = words(
    "limit per_page perpage pagesize page_size count size top $top maxresults"
    " max_results rows first page[size] page[limit] results items_per_page"
    " sysparm_limit _limit _size"
)


_NUMBER = re.compile(r"-?\d{1,9}", re.ASCII)
_VARIABLE = re.compile(r"\{\{.+\}\}|\{.+\}|<.+>|:\w+")


def is_paging_parameter(name: str, value: str) -> bool:
    """Whether a parameter asks for a page of records.

    The position of a cursor can be any text, every other one is a number: some APIs
    call a password p.
    """
    lower = name.lower()
    is_counted = lower in PAGE_NUMBERS | OFFSETS | SIZES
    return lower in CURSORS or (is_counted and is_page_number(value))


def is_page_number(value: str) -> bool:
    """Whether a value can be the number of a page, or stands for one."""
    return not value or bool(_NUMBER.fullmatch(value) or _VARIABLE.fullmatch(value))


def requested_size(value: str) -> int:
    """Return the page size that a parameter has; 0 if a line cannot have it."""
    size = int(value[:6]) if value.isdecimal() else 0
    return size if size <= MAX_RECORDS else 0


def pagination_of(query: str) -> dict[str, object]:
    """Return how a query asks for pages, as the table of a line; empty if unseen."""
    table: dict[str, object] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        lower = name.lower()
        if not is_paging_parameter(name, value):
            continue
        if lower in SIZES:
            table["size_parameter"] = name
            if size := requested_size(value):
                table["size"] = size
            continue
        for kind, names in (
            ("page", PAGE_NUMBERS),
            ("offset", OFFSETS),
            ("cursor", CURSORS),
        ):
            if lower in names:
                table |= {"kind": kind, "position_parameter": name}
                if kind == "page" and value == "0":
                    table["first"] = 0
    return table if "kind" in table else {}
