"""The total of records that an API states, so that users see a run's progress."""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from itertools import islice

from outkey.foundation.core.paging_words import words
from outkey.sending.core.request.message import ResponseHeaders
from outkey.sync.core.suggest.names import comparable_name

TOTAL_MEMBERS = words(
    "total totalcount totalresults totalitems totalelements numfound count"
    " totalrecords itemcount totalsize odatacount totalhits"
)
TOTAL_HEADERS = ("X-Total-Count", "X-Total", "X-WP-Total", "Total-Count")
MAX_TOTAL = 10**15
MAX_MEMBERS = 200  # that are looked at: an object may hold all records by their keys


def total_of(document: object, headers: ResponseHeaders) -> int:
    """Return the greatest total that a page states; 0 if it states none.

    Some APIs state the size of the page under such a name, so that a run may have read
    more than that.
    """
    totals = [
        _total_in(value)
        for name, value in islice(members_of(document), MAX_MEMBERS)
        if comparable_name(name) in TOTAL_MEMBERS
    ]
    totals += [
        int(value)
        for value in map(headers.get, TOTAL_HEADERS)
        if value.isdecimal() and len(value) <= len(str(MAX_TOTAL))
    ]
    return max(totals, default=0)


def members_of(document: object) -> Iterator[tuple[str, object]]:
    """Yield the members of a response, and of the objects directly in it."""
    for name, value in document.items() if isinstance(document, Mapping) else ():
        yield name, value
        if isinstance(value, Mapping):
            yield from value.items()


def _total_in(value: object) -> int:
    """Return the number of records that a value of JSON states; 0 if it does not."""
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        return 0
    return int(value) if 0 < value < MAX_TOTAL else 0
