"""The fields of described records as rows of a line."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from outkey.foundation.core.text import NO_TEXT, Text
from outkey.importing.core.readers.line_notes import LineNotes, names_text
from outkey.importing.core.readers.openapi_schemas import transform_of
from outkey.sync.core.line.line import FieldMapping, Transform
from outkey.sync.core.paging.response import Record
from outkey.sync.core.suggest.fields import SampleFields, fields_of
from outkey.sync.core.suggest.names import Path, expression_of
from outkey.sync.core.suggest.suggest import onto_columns
from outkey.sync.core.suggest.values import Guess

_AS_IT_IS = Guess(Transform.AS_IS, NO_TEXT)


@dataclass(frozen=True, slots=True)
class RecordFields:
    """The fields of an example: those with a type, and the others."""

    typed: Mapping[Path, Guess]
    as_they_are: Sequence[Path]
    is_cut: bool

    def mappings(
        self, keys: Collection[Path], notes: LineNotes
    ) -> dict[Path, FieldMapping]:
        """Return a mapping for each field, and note how it was taken over."""
        notes.take("fields", Text("{count} by their types", count=len(self.typed)))
        if self.as_they_are:
            why = Text(
                "lists, objects without a description and values of several kinds are"
                " stored as they are: {names}",
                names=shown_paths(self.as_they_are),
            )
            notes.change("fields", why)
        guesses = {**self.typed, **dict.fromkeys(self.as_they_are, _AS_IT_IS)}
        return {
            path: replace(column.mapping, required=path in keys)
            for path, column in onto_columns(guesses).items()
        }


def record_fields(records: Sequence[Record]) -> RecordFields:
    """Return the fields of example records."""
    fields = fields_of(records)
    typed = {
        path: Guess(transform_of(values[0]), NO_TEXT)
        for path, values in fields.usable().items()
    }
    as_they_are = [
        path
        for path in (*fields.values, *fields.objects, *fields.lists)
        if path not in typed and not any(other[: len(path)] == path for other in typed)
    ]
    return RecordFields(typed, as_they_are, fields.is_cut)


def note_cut(notes: LineNotes) -> None:
    """Note that records have more fields than a line may have."""
    for note in SampleFields(is_cut=True).notes():
        notes.drop("fields", note)


def shown_paths(paths: Iterable[Path]) -> str:
    """Return paths as a report may show them."""
    return names_text(map(expression_of, paths))
