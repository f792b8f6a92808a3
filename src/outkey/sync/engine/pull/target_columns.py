"""The columns of a pull's target: a table or a file gets those that its rows need."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from outkey.foundation.core.text import Text
from outkey.sync.core.line.line import FieldMapping, Transform
from outkey.sync.core.mapping.records import FieldKind, HostField, PreparedTarget, Shape
from outkey.sync.core.mapping.shape import (
    KINDS_OF_JSON,
    fitted_value,
    is_made_by_outkey,
    widened_by_size,
    widened_kind,
    with_kinds,
)
from outkey.sync.engine.targets import Targets
from outkey.sync.ports.sync import Key

Row = dict[str, object]
NoteChange = Callable[[Text], None]


def ignore_change(_change: Text) -> None:
    """Note nothing: for callers that report no changes of a table."""


class TargetColumns:
    """The columns of one target during a run; a model of the host stays as it is."""

    def __init__(
        self,
        records: Targets,
        target: str,
        shape: Callable[[], Shape],
        mappings: Sequence[FieldMapping],
    ) -> None:
        self._records = records
        self._target = target
        self._is_made = is_made_by_outkey(target)
        # A model has no shape that a line could ask for.
        self._shape = shape() if self._is_made else Shape((), ())
        self.fields: dict[str, HostField] = {}
        self._adopt(records.prepare(target, self._shape, dry_run=True))
        self._taken_as_is = {
            mapping.host
            for mapping in mappings
            if mapping.transform is Transform.AS_IS
            and self._is_made
            and self.fields[mapping.host].kind in KINDS_OF_JSON
        }
        self._constants = {
            mapping.host
            for mapping in mappings
            if mapping.transform is Transform.CONSTANT
        }

    def field_for(self, mapping: FieldMapping) -> HostField:
        """Return the field that decides how a mapping converts its values."""
        field = self.fields[mapping.host]
        if mapping.host in self._taken_as_is:
            return replace(field, kind=FieldKind.ANY)
        if mapping.host in self._constants and field.kind is FieldKind.ANY:
            return replace(field, kind=FieldKind.TEXT)
        return field

    def begin(self, note: NoteChange, line: str) -> bool:
        """Make what is known before the first page.

        Return whether values of earlier pages or runs of a line are lost, because
        others have dropped the target or a part of it.
        """
        if not self._is_made:
            return False
        prepared = self._prepare({}, note, dry_run=False)
        wants_feed = self._shape.is_fed
        self._records.set_feed(self._target, line, wants_feed=wants_feed)
        return prepared.is_partial_for(line)

    def fit(
        self, rows: Sequence[Row], note: NoteChange, *, dry_run: bool
    ) -> Sequence[Row]:
        """Return rows as the columns have them; new values may widen a column."""
        if not self._is_made or not rows:
            return rows
        kinds = {}
        for name in rows[0]:
            kind = self.fields[name].kind
            values = [row[name] for row in rows]
            widen = widened_by_size
            if name in self._taken_as_is or kind is FieldKind.ANY:
                widen = widened_kind
            kinds[name] = widen(kind, values)
        if any(kind is not self.fields[name].kind for name, kind in kinds.items()):
            self._prepare(kinds, note, dry_run=dry_run)
        empty = [name for name, kind in kinds.items() if kind is FieldKind.ANY]
        to_convert = [
            name for name, kind in kinds.items() if self._must_convert(name, kind)
        ]
        if not empty and not to_convert:
            return rows
        return [self._fit_row(row, kinds, to_convert, empty) for row in rows]

    def fit_key(self, names: Sequence[str], values: Key) -> Key:
        """Return the values of key fields as the columns have them by now."""
        if not self._is_made:
            return values
        kinds = [self.fields[name].kind for name in names]
        return tuple(
            fitted_value(kind, value) if self._must_convert(name, kind) else value
            for name, kind, value in zip(names, kinds, values, strict=True)
        )

    def finish(self, note: NoteChange, *, dry_run: bool) -> None:
        """Create columns that had no value; report what a dry run would create."""
        if not self._is_made:
            return
        kinds = {
            name: FieldKind.TEXT
            for name, field in self.fields.items()
            if field.kind is FieldKind.ANY
        }
        if dry_run or kinds:
            self._prepare(kinds, note, dry_run=dry_run, is_last=True)

    def _must_convert(self, name: str, kind: FieldKind) -> bool:
        """Whether values of a column may be of a narrower kind than the column."""
        is_wider = kind in {FieldKind.TEXT, FieldKind.DECIMAL}
        return is_wider and (name in self._taken_as_is or self._was_widened(name, kind))

    def _was_widened(self, name: str, kind: FieldKind) -> bool:
        wanted = {field.name: field.kind for field in self._shape.fields}
        return wanted[name] is not kind

    def _fit_row(
        self,
        row: Row,
        kinds: Mapping[str, FieldKind],
        to_convert: Sequence[str],
        empty: Sequence[str],
    ) -> Row:
        fitted = dict(row)
        for name in to_convert:
            fitted[name] = fitted_value(kinds[name], row[name])
        for name in empty:
            del fitted[name]
        return fitted

    def _prepare(
        self,
        kinds: Mapping[str, FieldKind],
        note: NoteChange,
        *,
        dry_run: bool,
        is_last: bool = False,
    ) -> PreparedTarget:
        current = {name: field.kind for name, field in self.fields.items()}
        wanted = {
            field.name: kinds.get(field.name, current.get(field.name, field.kind))
            for field in self._shape.fields
        }
        # Text for a constant, whose column follows no value.
        wanted |= {
            name: FieldKind.TEXT
            for name in self._constants
            if wanted[name] is FieldKind.ANY
        }
        shape = with_kinds(self._shape, wanted)
        prepared = self._records.prepare(self._target, shape, dry_run=dry_run)
        self._adopt(prepared)
        # What a dry run would change is complete at its end.
        if not dry_run or is_last:
            for change in prepared.changes:
                note(change)
        return prepared

    def _adopt(self, prepared: PreparedTarget) -> None:
        self.fields = {field.name: field for field in prepared.target.fields}
