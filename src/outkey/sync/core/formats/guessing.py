"""The format of a response that a line does not name: by its type and its beginning."""

import csv
import re
from dataclasses import replace
from typing import NamedTuple

from outkey.foundation.core.errors import SyncFailed
from outkey.foundation.core.text import Text, counted
from outkey.sending.core.request.message import Response
from outkey.sync.core.formats.texts import codec_for, stated_codec
from outkey.sync.core.formats.unpacking import unpack
from outkey.sync.core.line.line import RecordFormat, ResponseFormat
from outkey.sync.core.paging.response import read_json

_DELIMITERS = (",", ";", "\t", "|")
_MOST_ROWS = 20  # that are looked at
_JSON_LINES = re.compile(r"ndjson|jsonl|json-?lines|json-seq", re.IGNORECASE)
_CSV = re.compile(r"\b(csv|tab-separated-values)\b", re.IGNORECASE)
_NUMBER = re.compile(r"-?\d+([.,]\d+)?")


class FormatGuess(NamedTuple):
    """How the responses of a line are read, and why."""

    format: ResponseFormat
    why: Text


AS_JSON = FormatGuess(ResponseFormat(), Text("the response is JSON"))


def guess_format(
    response: Response, stored: ResponseFormat, most_bytes: int
) -> FormatGuess:
    """Return the format of a response, as far as the line does not name one."""
    if stored.format is not RecordFormat.JSON:
        return FormatGuess(stored, Text("the line already names the format"))
    content_type = response.headers.get("Content-Type")
    text = _beginning(response, stored, most_bytes)
    start = text.lstrip()
    if start.startswith("<?xml") or ("xml" in content_type and start.startswith("<")):
        return _guess(stored, RecordFormat.XML)
    if start.startswith(("{", "[")):
        are_lines = _JSON_LINES.search(content_type) or _are_json_lines(start)
        return _guess(stored, RecordFormat.JSONL if are_lines else RecordFormat.JSON)
    if start and not start.startswith("<"):
        return _guess_table(stored, start, is_stated=bool(_CSV.search(content_type)))
    return _guess(stored, RecordFormat.JSON)


def _guess(stored: ResponseFormat, found: RecordFormat) -> FormatGuess:
    return FormatGuess(
        replace(stored, format=found),
        Text("the response begins as {format} does", format=found.label),
    )


def _beginning(response: Response, stored: ResponseFormat, most_bytes: int) -> str:
    """Return the first characters of a body; replaced where they are not readable."""
    first = next(unpack(response.body, stored, most_bytes), b"")
    codec = codec_for(stated_codec(stored.charset, response.headers), first)
    return first.decode(codec, "replace").removeprefix("\ufeff")


def _are_json_lines(text: str) -> bool:
    """Whether the first two lines are a JSON object each."""
    lines = [line for line in text.split("\n", 3)[:3] if line.strip()][:2]
    return len(lines) == 2 and all(map(_is_json_object, lines))


def _is_json_object(line: str) -> bool:
    try:
        return isinstance(read_json(line), dict)
    except SyncFailed:
        return False


def _guess_table(stored: ResponseFormat, text: str, *, is_stated: bool) -> FormatGuess:
    """Return CSV with its delimiter, or JSON if the text is no table."""
    whole_lines = text.splitlines(keepends=True)[: _MOST_ROWS + 1]
    lines = whole_lines[:-1] if len(whole_lines) > 1 else whole_lines
    # None of the line if its delimiter is wrong.
    delimiters = filter(None, (stored.delimiter_character, *_DELIMITERS))
    width, delimiter = max(
        ((_width(lines, mark), mark) for mark in dict.fromkeys(delimiters)),
        key=lambda pair: pair[0],
    )
    if not width and not is_stated:
        return _guess(stored, RecordFormat.JSON)
    first = next(csv.reader(lines, delimiter=delimiter), [])
    has_header = not any(_NUMBER.fullmatch(cell.strip()) for cell in first)
    table = replace(
        stored,
        format=RecordFormat.CSV,
        delimiter="tab" if delimiter == "\t" else delimiter,
        header=has_header,
    )
    columns = len(first)
    why = counted(
        columns,
        Text("the response is a table of 1 column"),
        Text("the response is a table of {count} columns", count=columns),
    )
    return FormatGuess(table, why)


def _width(lines: list[str], delimiter: str) -> int:
    """Return how many cells each row has, 0 if it is one or not the same number."""
    widths = {len(row) for row in csv.reader(lines, delimiter=delimiter) if row}
    return max(widths) if len(widths) == 1 and widths != {1} else 0
