"""A synchronization as the table of a TOML document, or of a database's JSON, and back.

The grammar is the table of fields in `core/config/line_fields.py`.
"""

from collections.abc import Mapping, Sequence

from outkey.core.config.choices import Choice
from outkey.core.config.field_kinds import Field, Kind, read_table
from outkey.core.config.line_fields import SYNC_FIELDS
from outkey.core.errors import ConfigError
from outkey.core.sync.line import Direction, Sync
from outkey.core.text import Text

# Attributes with another name than their key.
ATTRIBUTES = {"fields": "mappings"}


def read_sync(table: Mapping[str, object], place: str = "") -> Sync:
    """Read what makes a line a synchronization; the place is put before each key."""
    if "direction" not in table:
        raise ConfigError(
            Text("a line that synchronizes needs a direction: pull or push"),
            field=f"{place}direction",
        )
    values = read_table(SYNC_FIELDS, table, place)
    attributes = {ATTRIBUTES.get(key, key): value for key, value in values.items()}
    # A test compares what is read with what was written.
    sync = Sync(**attributes)  # type: ignore[arg-type]
    refuse_wrong_hosts(sync, place)
    return sync


def refuse_wrong_hosts(sync: Sync, place: str) -> None:
    """Refuse a host field that is mapped twice, and keys that are not mapped."""
    hosts = [mapping.host for mapping in sync.mappings]
    for number, host in enumerate(hosts):
        if host in hosts[:number]:
            raise ConfigError(
                Text("the host's field is mapped twice"),
                field=f"{place}fields[{number}].host",
            )
    # Without keys every run would create every record again.
    if sync.direction is Direction.PULL and not {*sync.keys} <= {*hosts}:
        raise ConfigError(
            Text("each key must be the host's field of a mapping"), field=f"{place}keys"
        )


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
            table[field.key] = written_value(field, value)
    return table


def written_value(field: Field, value: object) -> object:
    """Return a value of a field as TOML and JSON have it."""
    if field.kind is Kind.TABLE:
        return written_table(field.parts, value)
    if field.kind is Kind.TABLES and isinstance(value, tuple):
        return [written_table(field.parts, part) for part in value]
    if field.kind is Kind.LIST and isinstance(value, tuple):
        return list(value)
    return str(value) if isinstance(value, Choice) else value
