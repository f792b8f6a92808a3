"""A synchronization as the table of a TOML document, or of a database's JSON, and back.

The grammar is the table of fields in `sync/core/line/fields.py`.
"""

from collections.abc import Iterator, Mapping, Sequence

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.fields.choices import Choice
from outkey.foundation.core.fields.field_kinds import (
    Field,
    Kind,
    read_table,
    table_errors,
)
from outkey.foundation.core.moments import DAY_SECONDS, parse_interval
from outkey.foundation.core.origin import parse_url
from outkey.foundation.core.text import Text
from outkey.sync.core.line.fields import SYNC_FIELDS
from outkey.sync.core.line.line import (
    Children,
    Direction,
    FieldMapping,
    ForEach,
    Incremental,
    JobSettings,
    ParentRecords,
    Sync,
)
from outkey.sync.core.paging.since import is_start

MAX_PARENT_VALUE = 200  # characters
# Attributes with another name than their key.
ATTRIBUTES = {"fields": "mappings"}
# Of `full_every`: seconds. No window and no lookback is longer either.
MIN_INTERVAL = 3600
MAX_INTERVAL = 366 * DAY_SECONDS
INTERVAL_HINT = Text(
    "Write a number and its unit: m (minutes), h (hours), d (days) or w (weeks), such"
    " as 7d."
)


def read_sync(table: Mapping[str, object], place: str = "") -> Sync:
    """Read what makes a line a synchronization; the place is put before each key."""
    if "direction" not in table:
        raise _missing_direction(place)
    values = read_table(SYNC_FIELDS, table, place)
    attributes = {ATTRIBUTES.get(key, key): value for key, value in values.items()}
    # A test compares what is read with what was written.
    sync = Sync(**attributes)  # type: ignore[arg-type]
    for error in _rule_errors(sync, place):
        raise error
    return sync


def sync_errors(table: Mapping[str, object]) -> Iterator[ConfigError]:
    """Yield everything that `read_sync` would refuse, not only the first."""
    if "direction" not in table:
        yield _missing_direction("")
    yield from table_errors(SYNC_FIELDS, table)
    yield from _rule_errors(_readable_part(table))


def _missing_direction(place: str) -> ConfigError:
    """Return the error for a synchronization without a direction."""
    return ConfigError(
        Text("a line that synchronizes needs a direction: pull or push"),
        field=f"{place}direction",
    )


def _readable_part(table: Mapping[str, object]) -> Sync:
    """Return the readable settings that the rules about several fields need."""
    is_push = table.get("direction") == Direction.PUSH
    return Sync(
        direction=Direction.PUSH if is_push else Direction.PULL,
        keys=texts_in(table.get("keys")),
        mappings=_readable_mappings(table),
        full_every=str(table.get("full_every", "")),
        incremental=_readable_incremental(table.get("incremental")),
        job=_readable_job(table.get("job")),
        children=tuple(
            Children(
                parent=texts_in(child.get("parent")),
                keys=texts_in(child.get("keys")),
                mappings=_readable_mappings(child),
            )
            for child in _tables_in(table.get("children"))
        ),
        for_each=_readable_parents(table.get("for_each")),
    )


def _readable_parents(table: object) -> ForEach:
    """Return the settings of parents as far as they can be read."""
    parts = table if isinstance(table, dict) else {}
    is_partial = parts.get("only") == ParentRecords.CHANGED
    return ForEach(
        line=str(parts.get("line", "")),
        only=ParentRecords.CHANGED if is_partial else ParentRecords.ALL,
        values=texts_in(parts.get("values", [])),
    )


def _readable_incremental(value: object) -> Incremental:
    """Return the moment and the durations of an incremental pull."""
    table = value if isinstance(value, dict) else {}
    texts = {key: str(table.get(key, "")) for key in ("start", "window", "lookback")}
    return Incremental(**texts)


def _readable_job(value: object) -> JobSettings:
    """Return the origins of a job."""
    table = value if isinstance(value, dict) else {}
    return JobSettings(origins=texts_in(table.get("origins", [])))


def _readable_mappings(table: Mapping[str, object]) -> tuple[FieldMapping, ...]:
    """Return the host's fields of mappings."""
    rows = _tables_in(table.get("fields"))
    return tuple(FieldMapping("", str(row.get("host", ""))) for row in rows)


def _tables_in(value: object) -> list[dict[str, object]]:
    """Return the tables of a list; an empty one in the place of anything else."""
    rows = value if isinstance(value, list) else []
    return [row if isinstance(row, dict) else {} for row in rows]


def texts_in(value: object) -> tuple[str, ...]:
    """Return the texts of a list, or a text alone."""
    values = value if isinstance(value, list) else [value]
    return tuple(text for text in values if isinstance(text, str) and text)


def _rule_errors(sync: Sync, place: str = "") -> Iterator[ConfigError]:
    """Yield the errors in fields that depend on each other."""
    hosts = [mapping.host for mapping in sync.mappings]
    yield from _repeated_errors(hosts, place)
    # Without keys every run would create every record again.
    if sync.direction is Direction.PULL and not {*sync.keys} <= {*hosts}:
        yield ConfigError(
            Text("each key must be the host's field of a mapping"), field=f"{place}keys"
        )
    yield from _interval_errors(sync.full_every, f"{place}full_every")
    yield from _incremental_errors(sync.incremental, f"{place}incremental.")
    for number, children in enumerate(sync.children):
        yield from _children_errors(sync, children, f"{place}children[{number}].")
    yield from _parents_errors(sync, f"{place}for_each")
    yield from _origin_errors(sync.job, f"{place}job.origins")


def _parents_errors(sync: Sync, place: str) -> Iterator[ConfigError]:
    """Yield the errors in the settings of parents that exclude each other."""
    parents = sync.for_each
    if parents == ForEach():
        return
    if sync.direction is Direction.PUSH:
        yield ConfigError(
            Text("only a pull requests records for each parent"),
            hint=Text("Remove for_each."),
            field=place,
        )
    if bool(parents.line) == bool(parents.values):
        yield ConfigError(
            Text("the parents are the records of a line, or values"),
            hint=Text("Enter one of both."),
            field=f"{place}.line",
        )
    if parents.values and parents.only is not ParentRecords.ALL:
        yield ConfigError(
            Text("values do not change"),
            hint=Text("Remove only, or name the line whose records are the parents."),
            field=f"{place}.only",
        )
    if any(len(value) > MAX_PARENT_VALUE for value in parents.values):
        yield ConfigError(
            Text("a value has more than {count} characters", count=MAX_PARENT_VALUE),
            hint=Text("Enter shorter values."),
            field=f"{place}.values",
        )
    if len({*parents.values}) < len(parents.values):
        yield ConfigError(
            Text("a value is there twice"),
            hint=Text("Enter each value once."),
            field=f"{place}.values",
        )


def _origin_errors(job: JobSettings, place: str) -> Iterator[ConfigError]:
    """Yield the errors in the origins that the file of a job may have."""
    for number, text in enumerate(job.origins):
        try:
            is_origin = parse_url(text).target == "/"
        except ConfigError:
            is_origin = False
        if not is_origin:
            yield ConfigError(
                Text("must be an origin, without a path"),
                hint=Text("Write it like https://files.example."),
                field=f"{place}[{number}]",
            )


def _interval_errors(text: str, place: str) -> Iterator[ConfigError]:
    """Yield an error if an interval is too short, too long or not an interval."""
    if text and not MIN_INTERVAL <= parse_interval(text) <= MAX_INTERVAL:
        yield ConfigError(
            Text("must be an interval of one hour to 366 days"),
            hint=INTERVAL_HINT,
            field=place,
        )


def _incremental_errors(incremental: Incremental, place: str) -> Iterator[ConfigError]:
    """Yield the errors in the moment and the durations of an incremental pull."""
    if incremental.start and not is_start(incremental.start):
        yield ConfigError(
            Text("must be a moment, or a time before each run"),
            hint=Text("Write it like 2026-01-01T00:00:00Z, or like -30d."),
            field=f"{place}start",
        )
    for key in ("window", "lookback"):
        text = getattr(incremental, key)
        if text and not 0 < parse_interval(text) <= MAX_INTERVAL:
            yield ConfigError(
                Text("must be an interval of one minute to 366 days"),
                hint=INTERVAL_HINT,
                field=f"{place}{key}",
            )


def _children_errors(
    sync: Sync, children: Children, place: str
) -> Iterator[ConfigError]:
    """Yield the errors in children whose parent or keys are unknown."""
    if len(children.parent) != len(sync.keys):
        yield ConfigError(
            Text("the parent needs as many fields as the line has keys"),
            hint=Text("The line has the keys {names}.", names=", ".join(sync.keys)),
            field=f"{place}parent",
        )
    hosts = [*children.parent, *(mapping.host for mapping in children.mappings)]
    yield from _repeated_errors(hosts, place, first=len(children.parent))
    if not {*children.keys} <= {*hosts}:
        yield ConfigError(
            Text("each key must be the host's field of a mapping, or of the parent"),
            field=f"{place}keys",
        )


def _repeated_errors(
    hosts: Sequence[str], place: str, *, first: int = 0
) -> Iterator[ConfigError]:
    """Yield errors of fields that are mapped twice; at `first` the mappings begin."""
    seen: set[str] = set()
    for number, host in enumerate(hosts):
        if host and host in seen:
            yield ConfigError(
                Text("the host's field is mapped twice"),
                field=f"{place}fields[{number - first}].host",
            )
        seen.add(host)


def sync_table(sync: Sync) -> dict[str, object]:
    """Return the table that `read_sync` reads, without what is as by default."""
    return written_table(SYNC_FIELDS, sync)


def written_table(fields: Sequence[Field], values: object) -> dict[str, object]:
    """Return the attributes of an object by key, without what is as by default."""
    table: dict[str, object] = {}
    for field in fields:
        value = getattr(values, ATTRIBUTES.get(field.key, field.key))
        if field.kind is Kind.TEXTS:
            value = dict(value)  # a query is stored as pairs, which cannot change
        if field.is_always_written or value != field.default:
            table[field.key] = _written_value(field, value)
    return table


def _written_value(field: Field, value: object) -> object:
    """Return a value of a field as TOML and JSON have it."""
    if field.kind is Kind.TABLE:
        return written_table(field.parts, value)
    if field.kind is Kind.TABLES and isinstance(value, tuple):
        return [written_table(field.parts, part) for part in value]
    if field.kind is Kind.NAMES and isinstance(value, tuple) and len(value) == 1:
        return value[0]
    if field.kind in {Kind.LIST, Kind.NAMES} and isinstance(value, tuple):
        return list(value)
    return str(value) if isinstance(value, Choice) else value
