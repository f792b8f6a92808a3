"""The fields of a sample: every value that a record has, by its path."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from outkey.foundation.core.text import Text
from outkey.sync.core.mapping.excerpt import excerpt_of
from outkey.sync.core.paging.response import Record
from outkey.sync.core.suggest.names import Path, expression_of
from outkey.sync.core.suggest.records import MAX_DEPTH

MAX_FIELDS = 500
_MAX_MEMBERS = 2000  # of a record that are looked at, with those of its objects
_MAX_VALUE = 1000  # characters that are looked at
_MAX_EXPRESSION = 500
_MAX_NAMED = 10  # in one note
# Links to other resources, which an application builds itself.
_LINKS = frozenset({"_links", "links", "__metadata"})


@dataclass(slots=True)
class SampleFields:
    """The fields of some records, and what cannot become a field."""

    values: dict[Path, list[object]] = field(default_factory=dict)  # one a record
    lists: dict[Path, None] = field(default_factory=dict)  # in their order
    objects: dict[Path, None] = field(default_factory=dict)
    deep: dict[Path, None] = field(default_factory=dict)
    is_cut: bool = False

    def notes(self) -> Iterator[Text]:
        """Yield the fields that were left out, and why."""
        if self.lists:
            yield Text(
                "lists, which can become children of the record: {names}",
                names=_names_text(self.lists),
            )
        usable = self.usable()
        holders = self._holders
        unusable = [
            path
            for path, values in self.values.items()
            if path not in usable and not (path in holders and _are_null(values))
        ]
        if unusable:
            yield Text(
                "omitted because they are null or of several kinds: {names}",
                names=_names_text(unusable),
            )
        if self.deep:
            yield Text(
                "omitted because they are nested more than {count} levels deep:"
                " {names}",
                count=MAX_DEPTH,
                names=_names_text(self.deep),
            )
        if self.is_cut:
            yield Text(
                "the records have more fields: only the first {count} were looked at",
                count=MAX_FIELDS,
            )

    def usable(self) -> dict[Path, list[object]]:
        """Return the fields that a line can map, with their values."""
        holders = self._holders
        return {
            path: values
            for path, values in self.values.items()
            if path not in holders
            and not _are_null(values)
            and len(expression_of(path)) <= _MAX_EXPRESSION
        }

    @property
    def _holders(self) -> set[Path]:
        return self.objects.keys() | self.lists.keys()


def fields_of(records: Sequence[Record]) -> SampleFields:
    """Return the fields of records, within limits of number and depth."""
    fields = SampleFields()
    for number, record in enumerate(records):
        members = _members(record, ())
        for path, value in islice(members, _MAX_MEMBERS):
            _add(fields, path, value, (number, len(records)))
        fields.is_cut |= next(members, None) is not None
    return fields


def _members(record: Record, path: Path) -> Iterator[tuple[Path, object]]:
    """Yield paths and values of a record, objects before what they contain."""
    for name, value in record.items():
        inner = (*path, name)
        if name in _LINKS or (name.startswith("@odata.") and len(inner) == 1):
            continue
        yield inner, value
        if isinstance(value, dict) and len(inner) < MAX_DEPTH:
            yield from _members(value, inner)


def _add(
    fields: SampleFields, path: Path, value: object, place: tuple[int, int]
) -> None:
    if isinstance(value, dict):
        if value and len(path) == MAX_DEPTH:
            fields.deep[path] = None
        fields.objects[path] = None
    elif isinstance(value, list):
        fields.lists[path] = None
    elif path in fields.values or len(fields.values) < MAX_FIELDS:
        number, count = place
        values = fields.values.setdefault(path, [None] * count)
        values[number] = value[:_MAX_VALUE] if isinstance(value, str) else value
    else:
        fields.is_cut = True


def _are_null(values: Sequence[object]) -> bool:
    return all(value is None for value in values)


def _names_text(paths: Sequence[Path] | dict[Path, None]) -> str:
    names = [excerpt_of(expression_of(path)) for path in list(paths)[:_MAX_NAMED]]
    return ", ".join(names) + (", …" if len(paths) > _MAX_NAMED else "")
