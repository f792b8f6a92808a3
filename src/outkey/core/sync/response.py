"""What an API answers: JSON, the records in it, and how big a record may be. Reads, never writes.

Numbers with a fraction become decimals, so that an amount is never rounded on its way.
"""

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from hashlib import sha256
from itertools import accumulate
from typing import NoReturn

from outkey.core.errors import SyncFailed

MOST_RECORDS = 10_000  # of a page, which is written at once while others wait
MOST_FIELDS = 10_000
MOST_VALUES = 1_200_000  # of a response; a page of the most records may have a hundred fields each
DEEPEST = 100
_LONGEST_LATEST = 200
_LONGEST_NUMBER = 400  # characters; a double has at most 309 digits before its point
_CHUNK = 1024 * 1024
# Up to the next of three characters that is not in a text, finished or not, or up to the end. It
# fits everywhere, so that no character is looked at twice.
_UP_TO_MARK = re.compile(
    rb'(?:[^"{\[,]++|"(?:[^"\\]++|\\.)*+"?+)++[{\[,]?+|[{\[,]', re.DOTALL
)
_HOLDERS = {dict, list}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NUMBER = re.compile(r"-?\d{1,40}(\.\d{1,40})?")

Record = dict[str, object]


def read_json(body: bytes | str, *, most_values: int = MOST_VALUES) -> object:
    """Return the document of an answer, or raise SyncFailed.

    A response of more values is refused before it is parsed. The parser holds up all threads until
    it calls something that is written in Python, so it is given such functions for numbers and
    objects.
    """
    _refuse_many_values(body, most_values)
    try:
        return json.loads(
            body,
            object_hook=_let_others_run,
            parse_int=_whole_number,
            parse_float=_exact_number,
            parse_constant=_refuse_constant,
        )
    except RecursionError:
        raise SyncFailed("the answer is nested too deeply", reason="too_deep") from None
    except (
        ValueError,
        InvalidOperation,
    ):  # also no UTF-8, and numbers beyond all bounds
        raise SyncFailed(
            "the answer is not JSON",
            hint=(
                "Check the path of the line; an address for people answers with a page."
            ),
            reason="not_json",
        ) from None


def _refuse_many_values(body: bytes | str, most_values: int) -> None:
    """Count what separates values, before memory is taken for any of them."""
    encoded = body.encode(errors="replace") if isinstance(body, str) else body
    chunks = (
        encoded[start : start + _CHUNK] for start in range(0, len(encoded), _CHUNK)
    )
    counts = (part.count(b"{") + part.count(b"[") + part.count(b",") for part in chunks)
    if not any(total >= most_values for total in accumulate(counts)):
        return  # as nearly always; it is quicker than to look which of them are in texts
    parts = _UP_TO_MARK.finditer(encoded)
    is_utf_8 = json.detect_encoding(encoded).startswith(
        "utf-8"
    )  # else a letter may hold a quote
    if not is_utf_8 or any(
        number > most_values for number, _ in enumerate(parts, start=1)
    ):
        raise SyncFailed(
            f"the response has more than {most_values} values",
            hint="Ask for fewer records at a time (pagination.size).",
            reason="too_many_values",
        )


def _let_others_run(parsed: Record) -> Record:
    return parsed


def _whole_number(text: str) -> int:
    return int(_bounded(text))


def _exact_number(text: str) -> Decimal:
    return Decimal(_bounded(text))


def _bounded(text: str) -> str:
    if len(text) > _LONGEST_NUMBER:
        raise ValueError
    return text


def _refuse_constant(_word: str) -> NoReturn:
    raise ValueError  # NaN and Infinity are Python's own (RFC 8259 §6)


def records_in(document: object, find: Callable[[object], object]) -> list[Record]:
    """Return the records of a document, which must be a list of objects."""
    found = find(document)
    if not isinstance(found, list):
        raise SyncFailed(
            "there is no list of records where the line looks for it",
            hint=(
                "Correct Records (records); where an empty answer has none, add ||"
                " `[]`."
            ),
            reason="not_a_list",
        )
    if not all(isinstance(record, dict) for record in found):
        raise SyncFailed(
            "the list of records holds something that is no object",
            hint="Correct Records (records): it must lead to a list of objects.",
            reason="not_objects",
        )
    if len(found) > MOST_RECORDS:
        raise SyncFailed(
            f"a page has more than {MOST_RECORDS} records",
            hint="Ask for them page by page (pagination), or for a smaller size.",
            reason="too_many_records",
        )
    return found


def oversize(record: Record) -> str:
    """Return why a record is too big to be mapped, or nothing; looks at no more than it must."""
    if len(record) <= MOST_FIELDS and _HOLDERS.isdisjoint(map(type, record.values())):
        return ""  # most are flat
    fields, rest = 0, [(1, record.values())]
    while rest:
        depth, members = rest.pop()
        fields += len(members)
        if depth > DEEPEST:
            return "too_deep"
        if fields > MOST_FIELDS:
            return "too_many_fields"
        for member in members:
            if isinstance(member, dict):
                rest.append((depth + 1, member.values()))
            elif isinstance(member, list):
                rest.append((depth + 1, member))  # type: ignore[arg-type]  # both have members
    return ""


def mark_of(value: object) -> str:
    """Return a short text that is another one for another value.

    Of a record that is too big only the plain values count: an expression of some hundred
    characters can make one whose text no memory holds.
    """
    if isinstance(value, list):
        value = [_shallow(part) if isinstance(part, dict) else part for part in value]
    return sha256(repr(value).encode(errors="backslashreplace")).hexdigest()[:32]


def _shallow(record: Record) -> object:
    if not oversize(record):
        return record
    return [(name, part) for name, part in record.items() if type(part) not in _HOLDERS]


def later(before: str, value: object) -> str:
    """Return the greater of two values of an incremental field; what has no order is ignored.

    Numbers are compared as numbers, moments by their time zones (UTC without one), and whatever
    else as text. What no request could carry is ignored too, or no later run would succeed.
    """
    if isinstance(value, bool) or not isinstance(value, str | int | Decimal):
        return before
    text = str(value)
    if len(text) > _LONGEST_LATEST or not text.isprintable():
        return before
    return max(before, text, key=_rank)


def _rank(text: str) -> tuple[int, Decimal, str]:
    if _NUMBER.fullmatch(text):
        return 1, Decimal(text), ""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return 0, Decimal(0), text
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return 2, Decimal((aware - _EPOCH) // timedelta(microseconds=1)), ""
