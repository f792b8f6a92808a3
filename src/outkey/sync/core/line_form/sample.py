"""Records of an API that a form shows while its mapping is edited.

A sample is not stored: a page has it as a text of limited size, and posts it back. What
comes back is data from outside like any other.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import islice

from outkey.foundation.core.errors import ConfigError, SyncFailed
from outkey.foundation.core.text import Text
from outkey.sync.core.paging.response import Record, read_json
from outkey.sync.core.suggest.suggest import Suggestion

MAX_RECORDS = 20
MAX_TEXT = 256 * 1024  # bytes of a sample as JSON
MAX_VALUES = 50_000
MAX_DEPTH = 8
MAX_EXPRESSION = 2000
ROOM_FOR_REST = 16 * 1024  # for the expression, whose characters may be escaped
ENDS = "…"


@dataclass(frozen=True, slots=True)
class SampleLimits:
    """How much of one record a sample has."""

    members: int = 500  # of an object
    elements: int = 20  # of a list
    characters: int = 2000  # of a text

    def halved(self) -> "SampleLimits":
        """Return limits for a record that is still too large."""
        return SampleLimits(
            max(1, self.members // 2),
            max(1, self.elements // 2),
            max(1, self.characters // 2),
        )


@dataclass(frozen=True, slots=True)
class LineSample:
    """The first records of a line's first page, without secrets."""

    records: tuple[Record, ...] = field(repr=False)
    records_at: str = "@"  # the expression that found them
    suggestion: Suggestion | None = field(default=None, repr=False)  # of a new sample

    @classmethod
    def of(
        cls, records: Sequence[Record], records_at: str, suggestion: Suggestion
    ) -> "LineSample":
        """Return a sample of limited size."""
        fitting: list[Record] = []
        size = 0
        for record in map(_fitting_record, records[:MAX_RECORDS]):
            size += len(_json_document(record)) + 1
            if size > MAX_TEXT - ROOM_FOR_REST:
                break
            fitting.append(record)
        return cls(tuple(fitting), records_at[:MAX_EXPRESSION], suggestion)

    def to_json(self) -> str:
        """Return the sample as `read` reads it, without the suggestion."""
        return _json_document(
            {"records_at": self.records_at, "records": list(self.records)}
        )

    @classmethod
    def read(cls, text: str) -> "LineSample":
        """Read a sample that a browser posts back, or raise ConfigError."""
        if len(text) > MAX_TEXT or len(text.encode(errors="replace")) > MAX_TEXT:
            raise _unusable_sample()
        try:
            document = read_json(text, most_values=MAX_VALUES)
        except SyncFailed:
            raise _unusable_sample() from None
        match document:
            case {"records_at": str(records_at), "records": list(records)} if (
                len(records_at) <= MAX_EXPRESSION
                and len(records) <= MAX_RECORDS
                and all(isinstance(record, dict) for record in records)
                and _depth_of(records) <= MAX_DEPTH + 1
            ):
                return cls(tuple(records), records_at)
        raise _unusable_sample()


def _unusable_sample() -> ConfigError:
    """Return the error for a sample that was changed or damaged on its way."""
    return ConfigError(
        Text("the sample cannot be read"),
        hint=Text("Request the sample again."),
        field="sample",
    )


def _fitting_record(record: Record) -> Record:
    """Return a record that is small enough, its long parts shortened."""
    limits = SampleLimits()
    short = _shortened_part(record, limits)
    while len(_json_document(short)) > MAX_TEXT // 2:
        limits = limits.halved()
        short = _shortened_part(record, limits)
    return short if isinstance(short, dict) else {}


def _shortened_part(value: object, limits: SampleLimits, depth: int = 0) -> object:
    """Return a value within limits; what is nested too deeply becomes null."""
    match value:
        case dict() | list() if depth >= MAX_DEPTH:
            return None
        case dict():
            return {
                name[: limits.characters]: _shortened_part(part, limits, depth + 1)
                for name, part in islice(value.items(), limits.members)
            }
        case list():
            parts = value[: limits.elements]
            return [_shortened_part(part, limits, depth + 1) for part in parts]
        case str() if len(value) > limits.characters:
            return value[: limits.characters - 1] + ENDS
    return value


def _depth_of(value: object) -> int:
    """Return how many objects and lists are inside each other at most."""
    depth = 0
    level = [value]
    while level:
        inner: list[object] = []
        for part in level:
            match part:
                case dict():
                    inner += part.values()
                case list():
                    inner += part
        depth += any(isinstance(part, dict | list) for part in level)
        level = inner
    return depth


def _json_document(value: object) -> str:
    """Return a value as JSON, in which decimals keep all their digits."""
    write: Callable[[object], str] = _json_document
    match value:
        case dict():
            members = (f"{json.dumps(k)}:{write(part)}" for k, part in value.items())
            return "{" + ",".join(members) + "}"
        case list():
            return "[" + ",".join(map(write, value)) + "]"
        case Decimal():
            return str(value)
    return json.dumps(value)
