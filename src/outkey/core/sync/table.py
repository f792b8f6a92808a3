"""A synchronization as the table of a TOML document, or of a database's JSON, and back.

The grammar is the tables of readers at the end; no message repeats a value.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import partial

from outkey.core.config.choices import Choice
from outkey.core.errors import ConfigError
from outkey.core.request.script import MAX_SOURCE
from outkey.core.sync.line import (
    Direction,
    FieldMapping,
    Gone,
    Incremental,
    Pagination,
    Paging,
    Sync,
    Transform,
)
from outkey.core.sync.response import MOST_RECORDS

MOST_FIELDS = 1000
_MOST_RECORDS_OF_A_RUN = 1_000_000_000
_MOST_MINUTES_OF_A_RUN = 7 * 24 * 60
# Line breaks and tabs are for bodies and scripts; nothing may steer a terminal or turn a text.
_STEERING = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]"
)
Reader = Callable[[object, str], object]


def read_sync(table: Mapping[str, object], place: str = "") -> Sync:
    """Read what makes a line a synchronization; the place stands before the name of each key."""
    read = _read(_SYNC, table, place)
    read["mappings"] = read.pop("fields", ())
    made = Sync(**read)  # type: ignore[arg-type]  # what is read is compared with what was written in a test
    if not made.target:
        raise ConfigError("a synchronization needs a target", field=f"{place}target")
    if not made.mappings:
        raise ConfigError("a synchronization needs fields", field=f"{place}fields")
    _check_hosts(made, place)
    return made


def _check_hosts(made: Sync, place: str) -> None:
    hosts = [mapping.host for mapping in made.mappings]
    for number, host in enumerate(hosts):
        if not host or host in hosts[:number]:
            reason = "is mapped twice" if host else "must not be empty"
            raise ConfigError(
                f"the host's field {reason}", field=f"{place}fields[{number}].host"
            )
    # Without keys every run would create every record again.
    if made.direction is Direction.PULL and not (
        made.keys and {*made.keys} <= {*hosts}
    ):
        raise ConfigError(
            "a pull needs keys, each the host of a field", field=f"{place}keys"
        )


def sync_table(sync: Sync) -> dict[str, object]:
    """Return the table that `read_sync` reads; what is as by default is left out."""
    table = {"direction": str(sync.direction)} | _written(sync)
    return table | {"query": dict(sync.query)} if sync.query else table


def _written(value: object) -> dict[str, object]:
    found = {}
    for known in fields(value):  # type: ignore[arg-type]  # only our own dataclasses
        kept, default = getattr(value, known.name), known.default
        if known.default_factory is not MISSING:
            default = known.default_factory()
        if kept != default:
            found["fields" if known.name == "mappings" else known.name] = _plain(kept)
    return found


def _plain(value: object) -> object:
    if is_dataclass(value):
        return _written(value)
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return str(value) if isinstance(value, Choice) else value


def _read(
    readers: Mapping[str, Reader], table: object, place: str
) -> dict[str, object]:
    if not isinstance(table, Mapping):
        raise ConfigError("must be a table", field=place.removesuffix("."))
    for key in table:
        if key not in readers:
            hint = f"Known here: {', '.join(readers)}."
            raise ConfigError("unknown key", field=f"{place}{key}", hint=hint)
    return {key: readers[key](value, f"{place}{key}") for key, value in table.items()}


def _text(value: object, place: str, longest: int = 2000) -> str:
    if not isinstance(value, str) or len(value) > longest or _STEERING.search(value):
        reason = (
            f"must be text of at most {longest} characters, without control characters"
        )
        raise ConfigError(reason, field=place)
    return value


def _flag(value: object, place: str) -> bool:
    if not isinstance(value, bool):
        raise ConfigError("must be true or false", field=place)
    return value


def _number(low: int, high: int, value: object, place: str) -> int:
    if (
        isinstance(value, bool)
        or not isinstance(value, int)
        or not low <= value <= high
    ):
        raise ConfigError(f"must be a whole number from {low} to {high}", field=place)
    return value


def _choice(choices: type[Choice], value: object, place: str) -> Choice:
    for choice in choices:
        if value == choice:
            return choice
    raise ConfigError(f"must be one of: {', '.join(choices)}", field=place)


def _pairs(value: object, place: str) -> dict[str, str]:
    if not isinstance(value, Mapping):
        raise ConfigError(
            'must be names with texts, such as { active = "true" }', field=place
        )
    return {
        _text(name, place): _text(text, f"{place}.{name}")
        for name, text in value.items()
    }


def _several(reader: Reader, value: object, place: str) -> tuple[object, ...]:
    if not isinstance(value, list) or len(value) > MOST_FIELDS:
        raise ConfigError(f"must be a list of at most {MOST_FIELDS}", field=place)
    return tuple(reader(one, f"{place}[{number}]") for number, one in enumerate(value))


def _part(made: Callable[..., object], readers: Mapping[str, Reader]) -> Reader:
    return lambda value, place: made(**_read(readers, value, f"{place}."))


_PAGINATION: dict[str, Reader] = {
    "kind": partial(_choice, Paging),
    "size": partial(_number, 1, MOST_RECORDS),
    "size_parameter": _text,
    "position_parameter": _text,
    "first": partial(_number, 0, 1),
    "cursor": _text,
}
_FIELD: dict[str, Reader] = {
    "api": _text,
    "host": _text,
    "transform": partial(_choice, Transform),
    "default": _text,
    "required": _flag,
    "options": _pairs,
}
_SYNC: dict[str, Reader] = {
    "direction": partial(_choice, Direction),
    "target": _text,
    "keys": partial(_several, _text),
    "query": lambda value, place: tuple(_pairs(value, place).items()),
    "body": partial(_text, longest=MAX_SOURCE),
    "records": _text,
    "pagination": _part(Pagination, _PAGINATION),
    "incremental": _part(Incremental, {"parameter": _text, "field": _text}),
    "gone": partial(_choice, Gone),
    "script": partial(_text, longest=MAX_SOURCE),
    "schedule": _text,
    "parallel": partial(_number, 1, 50),
    "max_records": partial(_number, 1, _MOST_RECORDS_OF_A_RUN),
    "max_minutes": partial(_number, 1, _MOST_MINUTES_OF_A_RUN),
    # A constant and a template need no field of the API.
    "fields": partial(_several, _part(partial(FieldMapping, api="", host=""), _FIELD)),
}
SYNC_KEYS = tuple(_SYNC)
