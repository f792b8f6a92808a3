"""Bodies whose records stand one after another: JSON Lines and CSV (RFC 4180).

They are read part by part, so that the memory for them does not grow with the body.
"""

import csv
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import chain, count

from outkey.foundation.core.errors import SyncFailed
from outkey.foundation.core.text import Text
from outkey.sending.core.request.message import Response
from outkey.sending.core.request.packed_body import PackedBody
from outkey.sync.core.formats.texts import TextLines, stated_codec
from outkey.sync.core.formats.unpacking import unpack
from outkey.sync.core.line.line import RecordFormat, ResponseFormat
from outkey.sync.core.mapping.mapping import Unmapped
from outkey.sync.core.paging.response import MAX_FIELDS, Record, read_json
from outkey.sync.core.run.reasons import sync_failure

MAX_COLUMNS = MAX_FIELDS
MAX_CHARACTERS = 4 * 1024 * 1024  # of a record
BATCH = 1000  # records that are written at once
_MAX_BATCH_CHARACTERS = MAX_CHARACTERS
ROW_LENGTH = Unmapped("", "row_length")
RowRecord = Record | Unmapped


@dataclass(frozen=True, slots=True)
class RowsBody:
    """A body of JSON Lines or CSV that was read once to its end."""

    count: int  # of its records
    digest: str  # of its bytes without their packing
    _source: "_RowSource" = field(repr=False)
    _keep_working: Callable[[], None] = field(repr=False)

    def batches(self) -> Iterator[list[RowRecord]]:
        """Read the body again, and yield its records, some at a time."""
        lines = self._source.lines(lambda _part: self._keep_working())
        batch: list[RowRecord] = []
        characters = 0
        for record in self._source.records(lines):
            batch.append(record)
            read = lines.characters - characters
            if len(batch) == BATCH or read >= _MAX_BATCH_CHARACTERS:
                yield batch
                batch = []
                characters = lines.characters
        if batch:
            yield batch


@dataclass(frozen=True, slots=True)
class _RowSource:
    """A body, and how it is read."""

    body: bytes | PackedBody
    format: ResponseFormat
    codec: str | None
    most_bytes: int

    def lines(self, note_part: Callable[[bytes], object]) -> TextLines:
        """Return the lines of the body; `note_part` gets its bytes."""
        is_csv = self.format.format is RecordFormat.CSV
        return TextLines(
            self._parts(note_part),
            self.codec,
            # Of CSV with the ends that they have: they may be inside of a cell.
            newline="" if is_csv else "\n",
            longest=MAX_CHARACTERS,
        )

    def _parts(self, note_part: Callable[[bytes], object]) -> Iterator[bytes]:
        for part in unpack(self.body, self.format, self.most_bytes):
            note_part(part)
            yield part

    def rows(self, lines: TextLines) -> Iterator[object]:
        """Yield what each record is made of, which is quicker to read."""
        if self.format.format is RecordFormat.CSV:
            return _csv_table(lines, self.format)[1]
        return _jsonl_records(lines)

    def records(self, lines: TextLines) -> Iterator[RowRecord]:
        """Yield the records of lines, or the rejections of some."""
        if self.format.format is RecordFormat.CSV:
            return _csv_records(lines, self.format)
        return _jsonl_records(lines)


def read_rows(
    response: Response,
    format_: ResponseFormat,
    most_bytes: int,
    keep_working: Callable[[], None],
) -> RowsBody:
    """Return a body that can be read to its end, or raise what makes it unreadable.

    So nothing of a body is written that is damaged at its end.
    """
    source = _RowSource(
        response.packed or response.body,
        format_,
        stated_codec(format_.charset, response.headers),
        most_bytes,
    )
    content = sha256()

    def note_part(part: bytes) -> None:
        # Not for each record: a body of empty lines has none, and takes minutes.
        keep_working()
        content.update(part)

    records = sum(1 for _row in source.rows(source.lines(note_part)))
    return RowsBody(records, content.hexdigest()[:32], source, keep_working)


# ── JSON Lines ───────────────────────────────────────────────────────────────────────


def _jsonl_records(lines: TextLines) -> Iterator[Record]:
    for line in lines:
        if len(line) > MAX_CHARACTERS:
            raise _too_long("not_jsonl", lines.number)
        if not line.strip():
            continue
        record = _json_value(line, lines.number)
        if not isinstance(record, dict):
            raise sync_failure(
                "not_jsonl",
                Text("line {number} is not a JSON object", number=lines.number),
            )
        yield record


def _json_value(line: str, number: int) -> object:
    try:
        return read_json(line)
    except SyncFailed as error:
        if error.reason != "not_json":
            raise
        message = Text("line {number} is not JSON", number=number)
        raise sync_failure("not_jsonl", message) from None


def _too_long(reason: str, number: int) -> SyncFailed:
    return sync_failure(
        reason,
        Text(
            "the record at line {number} has more than {count} characters",
            number=number,
            count=MAX_CHARACTERS,
        ),
    )


# ── CSV ──────────────────────────────────────────────────────────────────────────────


def _csv_records(lines: TextLines, format_: ResponseFormat) -> Iterator[RowRecord]:
    """Yield an object of texts for each row."""
    names, rows = _csv_table(lines, format_)
    width = len(names)
    for row in rows:
        yield dict(zip(names, row, strict=True)) if len(row) == width else ROW_LENGTH


def _csv_table(
    lines: TextLines, format_: ResponseFormat
) -> tuple[list[str], Iterator[list[str]]]:
    """Return the names of the columns, and the rows that are not empty."""
    rows = _csv_rows(lines, format_.delimiter_character)
    first = next(rows, [])
    _refuse_columns(first)
    if format_.header:
        _refuse_other_format(first)
        return column_names(first), rows
    names = [f"c{number}" for number in range(1, len(first) + 1)]
    return names, chain([first], rows) if first else rows


def _csv_rows(lines: TextLines, delimiter: str) -> Iterator[list[str]]:
    # A limit of the process, which is much smaller by default.
    if csv.field_size_limit() < MAX_CHARACTERS:
        csv.field_size_limit(MAX_CHARACTERS)
    begun = 0

    def limited_lines() -> Iterator[str]:
        for line in lines:
            if lines.characters - begun > MAX_CHARACTERS:
                raise _too_long("not_csv", lines.number)
            yield line

    try:
        for row in csv.reader(limited_lines(), delimiter=delimiter, strict=True):
            begun = lines.characters
            if row:
                yield row
    except csv.Error:
        message = Text("line {number} is not CSV", number=lines.number)
        raise sync_failure("not_csv", message) from None


def _refuse_columns(row: Sequence[str]) -> None:
    if len(row) > MAX_COLUMNS:
        message = Text("it has more than {count} columns", count=MAX_COLUMNS)
        raise sync_failure("not_csv", message)


def _refuse_other_format(header: Sequence[str]) -> None:
    """Refuse a page or an error of the API, which would be a table without rows.

    A run that reads no record takes all of them as missing upstream.
    """
    if header and header[0].lstrip().startswith(("<", "{", "[{")):
        message = Text("its first line begins as HTML, XML or JSON does")
        raise sync_failure("not_csv", message)


def column_names(row: Sequence[str]) -> list[str]:
    """Return the names of the columns, each another one.

    One without a name is c3 if it is the third; a name that stands there again gets a
    number, such as price_2.
    """
    texts = [text.strip() or f"c{place}" for place, text in enumerate(row, start=1)]
    numbers = {text: count(2) for text in texts}
    taken = {*texts}
    names: list[str] = []
    seen: set[str] = set()
    for text in texts:
        name = text
        if text in seen:
            more = (f"{text}_{number}" for number in numbers[text])
            name = next(name for name in more if name not in taken)
        seen.add(text)
        taken.add(name)
        names.append(name)
    return names
