"""The shape of records: the names and kinds of their fields, never a value.

Most records of a line are alike. A page costs one tuple of names and one of types for
each record; only what no record had before is looked at more closely.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, NamedTuple

from outkey.sync.core.paging.response import Record

OBJECT = "object"
NULL = "null"
# What a parser makes of JSON. Any other value was masked: what it was is not known.
KIND_OF_TYPE: Mapping[type, str] = {
    str: "text",
    int: "number",
    float: "number",
    Decimal: "number",
    bool: "true/false",
    list: "list",
    dict: OBJECT,
}
MAX_FIELDS = 500  # of one shape, with those of nested objects
MAX_MEMBERS = 100  # of a nested object: one with more has data as names
MAX_DEPTH = 6
MAX_NAME = 100  # characters
MAX_SIGNATURES = 1000  # that are remembered of records; of nested objects fewer
# Dates, numbers and long ids are data, though some APIs use them as names.
DATA_NAME = re.compile(r"[\W\d_]*|[0-9A-Fa-f-]{16,}")
_PLAIN_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_NAME_IN_PATH = re.compile(r'"(?:[^"\\]|\\.)*"|[^."]+')

Names = tuple[str, ...]  # of a field and of the objects around it, the outermost first
Signature = tuple[tuple[str, ...], tuple[type, ...]]


class FieldShape(NamedTuple):
    """The kinds of one field, and whether every record has it."""

    kinds: Names = ()  # none: it was null in every record
    always: bool = True

    @property
    def words(self) -> str | None:
        """The kinds as one text; None where they are unknown."""
        return " or ".join(self.kinds) or None


Fields = Mapping[str, FieldShape]  # by path


def path_text(names: Names) -> str:
    """Return a path as JMESPath has it: names in quotes where they are not plain."""
    return ".".join(
        name if _PLAIN_NAME.fullmatch(name) else json.dumps(name, ensure_ascii=False)
        for name in names
    )


def path_names(path: str) -> Names:
    """Return the names in a path that `path_text` has made."""
    return tuple(
        json.loads(name) if name.startswith('"') else name
        for name in _NAME_IN_PATH.findall(path)
    )


def fields_data(fields: Fields) -> dict[str, dict[str, object]]:
    """Return fields as JSON can hold them."""
    return {
        path: {"kinds": list(shape.kinds), "always": shape.always}
        for path, shape in fields.items()
    }


def fields_from_data(data: Mapping[str, Mapping[str, Any]]) -> dict[str, FieldShape]:
    """Return the fields that were stored."""
    return {
        path: FieldShape(tuple(stored["kinds"]), stored["always"])
        for path, stored in data.items()
    }


@dataclass(slots=True)
class _Member:
    """One name of an object: the kinds of its values, and the object that it holds."""

    kinds: set[str] = field(default_factory=set)
    always: bool = True
    inner: "_ObjectShape | None" = None


@dataclass(slots=True)
class _Room:
    """How many more names all objects of a shape may have together."""

    left: int = MAX_FIELDS


class _ObjectShape:
    """The members that the objects at one place have."""

    def __init__(self, room: _Room, depth: int = 1) -> None:
        self.members: dict[str, _Member] = {}
        self._room = room
        self._depth = depth
        self._has_data_as_names = False
        self._signatures: set[Signature] = set()
        self._is_first = True

    def add(self, objects: Sequence[Mapping[str, object]]) -> bool:
        """Take objects into account; return whether any was unlike those before."""
        if self._has_data_as_names or not objects:
            return False
        most = MAX_FIELDS if self._depth == 1 else MAX_MEMBERS
        if max(map(len, objects)) > most:
            self._give_up()
            return True
        signatures = {
            (tuple(value), tuple(map(type, value.values()))) for value in objects
        }
        new = signatures - self._signatures
        for names, types in new:
            self._learn(names, types)
        if len(self.members) >= most:
            self._give_up()
            return True
        self._remember(new)
        is_new = bool(new)
        for name, member in self.members.items():
            if member.inner is not None:
                inner = [
                    part for value in objects if type(part := value.get(name)) is dict
                ]
                is_new |= member.inner.add(inner)
        return is_new

    def fields(
        self, around: Names = (), *, always: bool = True
    ) -> Iterator[tuple[str, FieldShape]]:
        """Yield the members by their paths, and those of nested objects after each."""
        for name, member in self.members.items():
            names = (*around, name)
            kinds = tuple(sorted(member.kinds - {NULL}))
            yield path_text(names), FieldShape(kinds, always and member.always)
            if member.inner is not None:
                is_around = always and member.always and member.kinds == {OBJECT}
                yield from member.inner.fields(names, always=is_around)

    def size(self) -> int:
        """Return how many names this object and those in it have."""
        inner = [member.inner for member in self.members.values() if member.inner]
        return len(self.members) + sum(part.size() for part in inner)

    def _learn(self, names: tuple[str, ...], types: tuple[type, ...]) -> None:
        """Take the names and types of an object into account."""
        present = set(names)
        for name, member in self.members.items():
            member.always &= name in present
        for name, value_type in zip(names, types, strict=True):
            found = self.members.get(name) or self._new_member(name)
            if found is None:
                continue
            kind = KIND_OF_TYPE.get(value_type, NULL)
            found.kinds.add(kind)
            if kind == OBJECT and found.inner is None and self._depth < MAX_DEPTH:
                found.inner = _ObjectShape(self._room, self._depth + 1)
        self._is_first = False

    def _new_member(self, name: str) -> _Member | None:
        """Return a member for a name; None for data, and where there is no room."""
        if not self._room.left or is_data_name(name):
            return None
        self._room.left -= 1
        member = self.members[name] = _Member(always=self._is_first)
        return member

    def _remember(self, new: set[Signature]) -> None:
        """Remember signatures, so that objects like these are not looked at again."""
        most = MAX_SIGNATURES // self._depth**2
        if len(self._signatures) + len(new) > most:
            self._signatures = set()
        if len(new) <= most:
            self._signatures |= new

    def _give_up(self) -> None:
        """Record no members: so many names are not those of fields."""
        self._room.left += self.size()
        self._has_data_as_names = True
        self.members = {}
        self._signatures = set()


def is_data_name(name: str) -> bool:
    """Whether a name is no name of a field: it is data, or far too long."""
    return len(name) > MAX_NAME or DATA_NAME.fullmatch(name) is not None


class RecordShapes:
    """Gathers the shape of records, page after page."""

    def __init__(self) -> None:
        self.records = 0
        self.fields: dict[str, FieldShape] = {}  # of all records so far, by path
        self._shape = _ObjectShape(_Room())

    def add(self, records: Sequence[Record]) -> bool:
        """Take the records of a page into account; return whether any was unlike."""
        self.records += len(records)
        is_new = self._shape.add(records)
        if is_new:
            self.fields = dict(self._shape.fields())
        return is_new
