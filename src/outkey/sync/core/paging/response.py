"""Responses: their JSON, the records in it, and how big a record may be.

Numbers with a fraction become decimals, so that no amount is ever rounded.
"""

import json
import re
from collections.abc import Callable, Sequence
from decimal import Decimal, InvalidOperation
from hashlib import sha256
from itertools import accumulate, chain
from typing import NoReturn, cast

from outkey.foundation.core.paging_words import MAX_RECORDS
from outkey.foundation.core.text import Text
from outkey.sync.core.mapping.versions import cursor_rank
from outkey.sync.core.run.reasons import sync_failure

MAX_FIELDS = 10_000
MAX_FIELDS_WITH_CHILDREN = 200_000  # of a record whose lists become records
# Of a response: a page of the most records may have a hundred fields each.
MAX_VALUES = 1_200_000
MAX_DEPTH = 100
_MAX_CURSOR_LENGTH = 200
_MAX_NUMBER_LENGTH = 400  # characters; a double has at most 309 digits before its point
_CHUNK = 1024 * 1024
# Up to the next of three characters outside of a string, finished or not, or up to the
# end. It matches everywhere, so that no character is looked at twice.
_UP_TO_MARK = re.compile(
    rb'(?:[^"{\[,]++|"(?:[^"\\]++|\\.)*+"?+)++[{\[,]?+|[{\[,]', re.DOTALL
)
_HOLDERS = {dict, list}

Record = dict[str, object]


def read_json(body: bytes | str, *, most_values: int = MAX_VALUES) -> object:
    """Return the document of a response, or raise SyncFailed.

    A response of more values is refused before it is parsed. The parser of CPython
    blocks all threads until it calls a Python function: so it gets some, for numbers
    and objects.
    """
    _refuse_many_values(body, most_values)
    try:
        if isinstance(body, bytes):
            body = body.decode(json.detect_encoding(body), "surrogatepass")
        return _DECODER.decode(body)
    except RecursionError:
        raise sync_failure("too_deep") from None
    except (ValueError, InvalidOperation):  # also not UTF-8, and numbers too long
        raise sync_failure("not_json") from None


def _refuse_many_values(body: bytes | str, most_values: int) -> None:
    """Count what separates values, before memory is taken for any of them."""
    encoded = body.encode(errors="replace") if isinstance(body, str) else body
    chunks = (
        encoded[start : start + _CHUNK] for start in range(0, len(encoded), _CHUNK)
    )
    counts = (part.count(b"{") + part.count(b"[") + part.count(b",") for part in chunks)
    if not any(total >= most_values for total in accumulate(counts)):
        return  # nearly always; quicker than to see which of them are in strings
    parts = _UP_TO_MARK.finditer(encoded)
    # In another encoding the bytes of a letter may hold a quote.
    is_utf_8 = json.detect_encoding(encoded).startswith("utf-8")
    if not is_utf_8 or any(
        number > most_values for number, _ in enumerate(parts, start=1)
    ):
        raise sync_failure(
            "too_many_values",
            Text("the response has more than {count} values", count=most_values),
        )


def _yield_to_threads(parsed: Record) -> Record:
    return parsed


def _whole_number(text: str) -> int:
    if len(text) > _MAX_NUMBER_LENGTH:
        raise ValueError
    return int(text)


def _exact_number(text: str) -> Decimal:
    if len(text) > _MAX_NUMBER_LENGTH:
        raise ValueError
    return Decimal(text)


def _refuse_constant(_word: str) -> NoReturn:
    raise ValueError  # NaN and Infinity are Python's own (RFC 8259 §6)


# One for all documents: each line of JSON Lines is one.
_DECODER = json.JSONDecoder(
    object_hook=_yield_to_threads,
    parse_int=_whole_number,
    parse_float=_exact_number,
    parse_constant=_refuse_constant,
)


def records_in(document: object, find: Callable[[object], object]) -> list[Record]:
    """Return the records of a document, which must be a list of objects."""
    return checked_records(find(document))


def checked_records(records: object) -> list[Record]:
    """Return records; SyncFailed if they are not a list of objects, or too many."""
    if not isinstance(records, list):
        raise sync_failure("not_a_list")
    if not all(isinstance(record, dict) for record in records):
        raise sync_failure("not_objects")
    if len(records) > MAX_RECORDS:
        raise sync_failure(
            "too_many_records",
            Text("a page has more than {count} records", count=MAX_RECORDS),
        )
    return records


def are_flat(records: Sequence[object], most_fields: int = MAX_FIELDS) -> bool:
    """Whether all records are objects without others in them, as most are.

    Then `size_fault` finds nothing; this asks for all of them at once.
    """
    if not records or {*map(type, records)} != {dict}:
        return False
    objects = cast("Sequence[Record]", records)
    members = chain.from_iterable(map(dict.values, objects))
    return max(map(len, objects)) <= most_fields and _HOLDERS.isdisjoint(
        map(type, members)
    )


def size_fault(record: Record, most_fields: int = MAX_FIELDS) -> str:
    """Return the reason why a record is too big to be mapped, or ""."""
    if len(record) <= most_fields and _HOLDERS.isdisjoint(map(type, record.values())):
        return ""  # most are flat
    fields = 0
    rest = [(1, record.values())]
    while rest:
        depth, members = rest.pop()
        fields += len(members)
        if depth > MAX_DEPTH:
            return "too_deep"
        if fields > most_fields:
            return "too_many_fields"
        for member in members:
            if isinstance(member, dict):
                rest.append((depth + 1, member.values()))
            elif isinstance(member, list):
                rest.append((depth + 1, member))  # type: ignore[arg-type]  # both have members
    return ""


def page_fingerprint(records: object) -> str:
    """Return a short text that differs for pages with different records.

    Of a record that is too big only the scalar values count: an expression of a few
    hundred characters can build one whose text does not fit into memory.
    """
    if isinstance(records, list) and not are_flat(records):
        records = [
            _shallow(part) if isinstance(part, dict) else part for part in records
        ]
    return sha256(repr(records).encode(errors="backslashreplace")).hexdigest()[:32]


def _shallow(record: Record) -> object:
    if not size_fault(record):
        return record
    return [(name, part) for name, part in record.items() if type(part) not in _HOLDERS]


def greater_value(before: str, value: object) -> str:
    """Return the greater of two values of an incremental field.

    Numbers are compared as numbers, times by their time zones (UTC without one), and
    anything else as text. A value without an order, or one that no request could send,
    is ignored: otherwise no later run would succeed.
    """
    if isinstance(value, bool) or not isinstance(value, str | int | Decimal):
        return before
    text = str(value)
    if len(text) > _MAX_CURSOR_LENGTH or not text.isprintable():
        return before
    return max(before, text, key=cursor_rank)
