"""The values of a row go into its record, or into a new one."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from django.core.exceptions import ValidationError
from django.db import Error, models

from outkey.hosts.django.records.fast_insert import NewRecord, Record, is_plain
from outkey.hosts.django.records.fields import (
    AnyField,
    fault_of,
    fields_of,
    is_required,
)
from outkey.hosts.django.records.row_cleaning import Row
from outkey.sync.core.mapping.records import (
    CREATED,
    UNCHANGED,
    Written,
    rejected_write,
    written_update,
)


@dataclass(slots=True)
class WriteStep:
    """The write that one row needs."""

    written: Written
    record: Record | None = None
    changes: dict[str, tuple[object, object]] = field(default_factory=dict)


class RecordFiller:
    """Puts the values of rows into their records, or into new ones."""

    def __init__(
        self,
        model: type[models.Model],
        fields: Mapping[str, AnyField],
        *,
        is_dry_run: bool,
        cleans: bool = True,
    ) -> None:
        self._is_dry_run = is_dry_run
        self._cleans = cleans
        self._new_record: type[Record] = NewRecord if is_plain(model) else model
        self._fields = fields
        self._attributes = {
            name: model_field.attname for name, model_field in fields.items()
        }
        self._has_links = any(
            name != attribute for name, attribute in self._attributes.items()
        )
        self._required = required_names(model)

    def fill(self, same: list[Record], row: Row) -> WriteStep:
        """Return the step for a row; `same` is its record or empty.

        A new record is added to `same`: the next row may have the same keys.
        """
        if same:
            return self._update(same[0], row)
        for name in self._required:
            if name not in row:
                return WriteStep(rejected_write(name, "missing"))
        record = self._new_record(**self._initial_values(row))
        if refusal := self._refusal(record):
            return WriteStep(refusal)
        same.append(record)
        step = WriteStep(CREATED, record)
        if self._is_dry_run:
            step.changes = {
                name: (None, value) for name, value in row.items() if value is not None
            }
        return step

    def _initial_values(self, row: Row) -> dict[str, object]:
        values = dict(row)
        if self._has_links:
            values = {self._attributes[name]: value for name, value in row.items()}
        if len(row) < len(self._fields):  # other rows have more fields
            defaults = {
                model_field.attname: model_field.get_default()
                for model_field in self._fields.values()
            }
            values = defaults | values
        return values

    def _update(self, record: Record, row: Row) -> WriteStep:
        before = {name: getattr(record, self._attributes[name]) for name in row}
        changes = {
            name: (before[name], value)
            for name, value in row.items()
            if value != before[name]
        }
        if not changes:
            return WriteStep(UNCHANGED, record)
        self._set_values(record, row)
        if refusal := self._refusal(record):
            self._set_values(record, before)
            return WriteStep(refusal)
        return WriteStep(written_update(tuple(changes)), record, changes)

    def _refusal(self, record: Record) -> Written | None:
        return _refusal_of_model(record) if self._cleans else None

    def _set_values(self, record: Record, row: Row) -> None:
        for name, value in row.items():
            setattr(record, self._attributes[name], value)


def required_names(model: type[models.Model]) -> list[str]:
    """Return the fields that a new record needs."""
    return [
        name
        for name, model_field in fields_of(model).items()
        if is_required(model_field)
    ]


def _refusal_of_model(record: Record) -> Written | None:
    """Return why a model's own `clean` refuses a record, or None."""
    try:
        record.clean()
    except ValidationError as error:
        return rejected_write(*fault_of(error))
    except Error:  # of the database: `upsert_rows` handles it
        raise
    except Exception:  # noqa: BLE001 - the host's own code; its text may hold a value
        return rejected_write("", "invalid")
    return None
