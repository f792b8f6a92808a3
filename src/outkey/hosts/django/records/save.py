"""Rows that the model's own code saves: validated, with `save` and signals, one by one.

What that code raises is a refusal of the row. It gets no text of its own, since that
may hold a value.
"""

# ruff: noqa: SLF001 - _state is a documented interface of Django

from collections.abc import Sequence

from django.core.exceptions import ValidationError
from django.db import Error, models, transaction

from outkey.hosts.django.records.fast_insert import NewRecord, Record
from outkey.hosts.django.records.fields import fault_of
from outkey.hosts.django.records.marks import RunIds, last_marks, put_marks
from outkey.hosts.django.records.open_model import OpenModel
from outkey.hosts.django.records.record_filler import WriteStep
from outkey.hosts.django.records.row_cleaning import Row
from outkey.hosts.django.records.upsert import (
    ROW_ERRORS,
    database_refusal,
    plan_steps,
    read_page,
    restore,
)
from outkey.sync.core.mapping.records import WriteOutcome, Written, rejected_write


def save_rows(
    model: OpenModel, keys: Sequence[str], rows: Sequence[Row], mark: RunIds
) -> list[Written]:
    """Save the record of each row; one that is refused affects no other."""
    return [_save_row(model, keys, row, mark) for row in rows]


def _save_row(model: OpenModel, keys: Sequence[str], row: Row, mark: RunIds) -> Written:
    """Save the record of one row, unless nothing has changed, and mark it as seen."""
    record: models.Model | None = None
    try:
        with transaction.atomic():
            page = read_page(model, keys, [row], lock=True)
            (step,) = plan_steps(model, keys, page, is_dry_run=False, cleans=False)
            if step.record is None:
                return step.written
            record = step.record = _instance_of(model, step.record)
            _restore_archived(model, step, mark, mapped=set(page.fields))
            if step.written.outcome is not WriteOutcome.UNCHANGED:
                record.full_clean()
                record.save()
            put_marks(model, mark, [str(record.pk)])
            return step.written
    except ValidationError as error:
        return rejected_write(*fault_of(error))
    except ROW_ERRORS:
        return database_refusal(model.model, record)
    except Error:  # of the database, not about this row
        raise
    except Exception as error:  # noqa: BLE001 - the host's own code
        return rejected_write(type(error).__name__, "save_failed")


def save_values(stored: models.QuerySet[models.Model], columns: Row) -> bool:
    """Save other values in one record; return whether its own code accepts them."""
    try:
        with transaction.atomic():
            record = stored.select_for_update().get()
            before = {name: getattr(record, name) for name in columns}
            if before != columns:
                for name, value in columns.items():
                    setattr(record, name, value)
                record.full_clean()
                record.save()
    except (ValidationError, *ROW_ERRORS):
        return False
    except Error:  # of the database, not about this record
        raise
    except Exception:  # noqa: BLE001 - the host's own code
        return False
    return True


def _instance_of(model: OpenModel, record: Record) -> models.Model:
    """Return a record as an instance of its model."""
    return model.model(**vars(record)) if isinstance(record, NewRecord) else record


def _restore_archived(
    model: OpenModel, step: WriteStep, mark: RunIds, *, mapped: set[str]
) -> None:
    """Take a record out of the archive that is back, unless the API decides that."""
    if model.archive is None or model.archive[0] in mapped or step.record is None:
        return
    if not step.record._state.adding:
        seen = last_marks(model, mark.line, [str(step.record.pk)])
        archived = {record for record, (_, is_archived) in seen.items() if is_archived}
        restore(model.archive, [step], archived)
