"""The parts that manifests of several kinds share: times, fields, keys and pages."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.text import Text
from outkey.importing.core.readers.line_notes import LineNotes
from outkey.importing.core.readers.openapi_schemas import Example
from outkey.importing.core.readers.record_fields import note_cut, record_fields
from outkey.importing.core.readers.tree import Table, table, text_of
from outkey.importing.core.report import ImportReport
from outkey.importing.core.seen import SeenRequest
from outkey.sending.core.configuration.placeholders import is_placeholder
from outkey.sync.core.line.fields import MAPPING_FIELDS
from outkey.sync.core.line.line import FieldMapping, Transform
from outkey.sync.core.line.table import written_table
from outkey.sync.core.suggest.names import Path, column_name, expression_of

MAX_ROWS = 1000  # the fields of a schema, and those that keys and times need
_DURATION = re.compile(
    r"P(?:(?P<y>\d{1,3})Y)?(?:(?P<mo>\d{1,3})M)?(?:(?P<w>\d{1,4})W)?(?:(?P<d>\d{1,5})D)?"
    r"(?:T(?:(?P<h>\d{1,5})H)?(?:(?P<m>\d{1,6})M)?(?:(?P<s>\d{1,7})S)?)?"
)
_MINUTES = {
    "y": 365 * 1440,
    "mo": 30 * 1440,
    "w": 7 * 1440,
    "d": 1440,
    "h": 60,
    "m": 1,
}
# Patterns of times that are ISO 8601 with seconds or finer.
_ISO = re.compile(r"%Y-%m-%dT%H:%M:%S(?:\.%f|\.%_ms)?(?:Z|%z|\+00:00|\+0000)?")
MAX_LEVELS = 20  # of a body that is read
_FORMATS = {"%s": "unix", "%ms": "unix_ms"}


def interval(duration: str) -> str:
    """Return an ISO 8601 duration as an interval of a line; "" if it is none."""
    match = _DURATION.fullmatch(duration.strip())
    if match is None:
        return ""
    parts = {name: int(text) for name, text in match.groupdict().items() if text}
    minutes = sum(count * _MINUTES.get(name, 0) for name, count in parts.items())
    minutes += -(-parts.get("s", 0) // 60)  # seconds make a minute more
    return minutes_text(minutes)


def minutes_text(minutes: int) -> str:
    """Return minutes as an interval of a line, in its largest whole unit."""
    for unit, size in (("w", 7 * 1440), ("d", 1440), ("h", 60)):
        if minutes and minutes % size == 0:
            return f"{minutes // size}{unit}"
    return f"{minutes}m" if minutes else ""


def time_format(pattern: str) -> str | None:
    """Return the format of times as a line has it, None for one it does not have."""
    if not pattern or _ISO.fullmatch(pattern):
        return ""
    if pattern in _FORMATS:
        return _FORMATS[pattern]
    is_usual = "%" in pattern and "%s" not in pattern and "%ms" not in pattern
    is_usual &= "%epoch" not in pattern and "%_" not in pattern
    return pattern if is_usual else None


def moment(text: str, pattern: str = "") -> str:
    """Return a time as ISO 8601 in UTC; "" for a text that is none."""
    text = text.strip()[:60]
    try:
        if pattern and time_format(pattern) not in {"", None, "unix", "unix_ms"}:
            at = datetime.strptime(text, pattern)  # noqa: DTZ007 - the zone follows
        elif pattern == "%s":
            at = datetime.fromtimestamp(int(text), UTC)
        else:
            at = datetime.fromisoformat(text)
        if at.tzinfo is None:
            at = at.replace(tzinfo=UTC)
        return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError, OSError):
        return ""


@dataclass(slots=True)
class RecordRows:
    """The rows of a line: from a schema, and those that keys and times need."""

    notes: LineNotes
    by_path: dict[Path, FieldMapping] = field(default_factory=dict)
    rows: list[FieldMapping] = field(default_factory=list)
    # A manifest may ask for the tables again for each of a thousand fields.
    written: dict[int, tuple[FieldMapping, dict[str, object]]] = field(
        default_factory=dict
    )

    def read_schema(self, schema: Table) -> None:
        """Take the fields of a JSON Schema of the records."""
        example = Example(table)
        record = example.build(schema)
        if not isinstance(record, dict) or not record:
            self.note_unstated()
            return
        fields = record_fields([record])
        if fields.is_cut or example.is_cut:
            note_cut(self.notes)
        self.by_path = fields.mappings((), self.notes)

    def note_unstated(self) -> None:
        """Note that the fields of the records are unknown."""
        why = Text(
            "the fields are not stated: `outkey line suggest` reads them from a"
            " response"
        )
        self.notes.drop("fields", why)

    def host_of(self, path: Path, transform: Transform = Transform.TEXT) -> str:
        """Return the column of a field of the records, which is mapped if need be."""
        for row in self.rows:
            if row.api == expression_of(path) or (
                len(path) == 1 and row.host == path[0]
            ):
                return row.host
        if path not in self.by_path:
            self._refuse_many()
            host = column_name(path, self.hosts)
            self.by_path[path] = FieldMapping(expression_of(path), host, transform)
        return self.by_path[path].host

    def add(self, row: FieldMapping) -> None:
        """Add a row of its own, in the place of a field with the same column."""
        self._refuse_many()
        self.by_path = {
            path: mapping
            for path, mapping in self.by_path.items()
            if mapping.host != row.host
        }
        self.rows.append(row)

    def _refuse_many(self) -> None:
        """Refuse a list of thousands of keys: each new row is compared with all."""
        if len(self.by_path) + len(self.rows) >= MAX_ROWS:
            raise ConfigError(
                Text("a record has more than {limit} fields", limit=MAX_ROWS)
            )

    def remove(self, path: Path) -> None:
        """Remove a field and what is inside of it."""
        self.by_path = {
            other: mapping
            for other, mapping in self.by_path.items()
            if other[: len(path)] != path
        }

    @property
    def hosts(self) -> set[str]:
        """The columns that are taken."""
        return {row.host for row in (*self.by_path.values(), *self.rows)}

    def tables(self) -> list[dict[str, object]]:
        """Return the rows as the tables of a line."""
        return [self._written(row) for row in (*self.by_path.values(), *self.rows)]

    def _written(self, row: FieldMapping) -> dict[str, object]:
        _, table = self.written.get(id(row), (row, {}))
        if not table:
            table = written_table(MAPPING_FIELDS, row)
            self.written[id(row)] = row, table  # with the row, which keeps its ID
        return table


@dataclass(slots=True)
class DescribedLine:
    """A line of a manifest: its request, and the rows of its records."""

    request: SeenRequest
    rows: RecordRows

    def column_of(self, path: Path) -> str:
        """Return the column of a field that lines below need: it is mapped for them."""
        host = self.rows.host_of(path)
        if self.request.sync is not None:
            self.request.sync = {**self.request.sync, "fields": self.rows.tables()}
        return host


def filled_document(
    value: object, fill_text: Callable[[str], object], depth: int = 0
) -> object:
    """Return a document of JSON with its texts filled in; null for what is too deep."""
    if depth > MAX_LEVELS:
        return None
    if isinstance(value, dict):
        return {
            name: filled_document(part, fill_text, depth + 1)
            for name, part in value.items()
        }
    if isinstance(value, list):
        return [filled_document(part, fill_text, depth + 1) for part in value]
    return fill_text(value) if isinstance(value, str) else value


def note_written(report: ImportReport, item: str, value: object) -> None:
    """Note a credential that stands in a manifest itself: it is not taken from there.

    An expression is not one.
    """
    text = text_of(value)
    if "{{" not in text and "{%" not in text and not is_placeholder(text):
        why = Text(
            "it is written into the document: enter it as a secret, and remove it there"
        )
        report.note_dropped(item, why)


def note_keys(notes: LineNotes, keys: Sequence[str]) -> None:
    """Note the columns of the key, or that none is stated."""
    if keys:
        notes.take_names("keys", *keys)
    else:
        why = Text("the document states no key: the line is for single requests")
        notes.drop("keys", why)


def note_pages(notes: LineNotes, pagination: Mapping[str, object]) -> None:
    """Note pages that were taken over."""
    names = ("position_parameter", "cursor", "size_parameter")
    stated = [str(pagination.get(name, "")) for name in names]
    notes.take_pages(str(pagination["kind"]), *stated)
