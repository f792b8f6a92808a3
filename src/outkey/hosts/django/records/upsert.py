"""Rows become records: find the record of each row, see what is new, and write it.

In bulk, so that a page of a thousand rows costs a few statements.
"""

# ruff: noqa: SLF001 - _meta, _state and the managers are documented interfaces of Django

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from operator import itemgetter
from typing import NamedTuple

from django.core.exceptions import ValidationError
from django.db import DataError, IntegrityError, models, transaction

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.text import Text
from outkey.hosts.django.records.fast_insert import (
    NewRecord,
    Record,
    insert_columns,
    insert_records,
    is_plain,
)
from outkey.hosts.django.records.fields import AnyField, fault_of
from outkey.hosts.django.records.key_queries import KeyValues, find_records, has_any
from outkey.hosts.django.records.marks import (
    RunIds,
    last_marks,
    put_first_marks,
    put_marks,
)
from outkey.hosts.django.records.open_model import OpenModel
from outkey.hosts.django.records.record_filler import (
    RecordFiller,
    WriteStep,
    required_names,
)
from outkey.hosts.django.records.row_cleaning import (
    Row,
    accepted_rows,
    clean_rows,
    refuse_dead_links,
)
from outkey.hosts.django.records.unchanged_rows import (
    can_be_compared,
    mark_unchanged,
)
from outkey.sync.core.mapping.records import (
    CREATED,
    UNCHANGED,
    Written,
    rejected_write,
    written_update,
)

ROW_ERRORS = (IntegrityError, DataError, ValueError, ArithmeticError)


# ── from rows to steps ───────────────────────────────────────────────────────────────


class CleanedRows(NamedTuple):
    """Rows as their fields store them."""

    fields: Mapping[str, AnyField]
    key_fields: Sequence[AnyField]
    rows: list[Row | Written]  # a row, or its result if that is known already


class MatchedRows(NamedTuple):
    """Rows that are cleaned, and the records that they are about."""

    fields: Mapping[str, AnyField]
    rows: Sequence[Row | Written]  # a row, or its result if that is known already
    records: dict[KeyValues, list[Record]]  # by the values of the key fields


def compare_rows(
    model: OpenModel, keys: Sequence[str], rows: Sequence[Row]
) -> list[Written]:
    """Return the results of `upsert_rows`, with the values before and after."""
    page = read_page(model, keys, rows, lock=False)
    steps = plan_steps(model, keys, page, is_dry_run=True)
    return [replace(step.written, changes=step.changes) for step in steps]


def read_page(
    model: OpenModel, keys: Sequence[str], rows: Sequence[Row], *, lock: bool
) -> MatchedRows:
    """Clean the rows and find the record of each."""
    return _match_rows(model, _clean_page(model, keys, rows), lock=lock)


def _clean_page(
    model: OpenModel, keys: Sequence[str], rows: Sequence[Row]
) -> CleanedRows:
    key_fields = [model.key_field(name) for name in keys]
    if not keys or any(name not in row for row in rows for name in keys):
        raise ConfigError(
            Text("every row needs the fields that identify a record"), field="keys"
        )
    names = dict.fromkeys(chain.from_iterable(rows))
    fields = {name: model.field(name) for name in names}
    cleaned = clean_rows(fields, keys, rows)
    refuse_dead_links(fields.values(), cleaned)
    return CleanedRows(fields, key_fields, cleaned)


def _match_rows(model: OpenModel, page: CleanedRows, *, lock: bool) -> MatchedRows:
    records = find_records(model.model, page.key_fields, page.rows, lock=lock)
    return MatchedRows(page.fields, page.rows, records)


def _mark_page(
    model: OpenModel, keys: Sequence[str], rows: Sequence[Row], mark: RunIds
) -> MatchedRows:
    """Read a page to write it.

    Where PostgreSQL can compare it, records that stay as they are, are marked already.
    """
    page = _clean_page(model, keys, rows)
    if can_be_compared(model.model, keys, page.fields):
        texts = [str(row[keys[0]]) for row in accepted_rows(page.rows)]
        if not has_any(model.model, page.key_fields[0], texts):
            return MatchedRows(page.fields, page.rows, {})
        for number in mark_unchanged(model, keys[0], page.fields, page.rows, mark):
            page.rows[number] = UNCHANGED
    return _match_rows(model, page, lock=True)


def plan_steps(
    model: OpenModel,
    keys: Sequence[str],
    page: MatchedRows,
    *,
    is_dry_run: bool,
    cleans: bool = True,
) -> list[WriteStep]:
    """Put the values of each row into its record, or into a new one.

    `cleans` calls the `clean` of the model.
    """
    filler = RecordFiller(
        model.model, page.fields, is_dry_run=is_dry_run, cleans=cleans
    )
    steps = []
    for row in page.rows:
        if isinstance(row, Written):
            steps.append(WriteStep(row))
            continue
        same = page.records.setdefault(tuple([row[name] for name in keys]), [])
        if len(same) > 1:
            steps.append(WriteStep(rejected_write(keys[0], "ambiguous")))
        else:
            steps.append(filler.fill(same, row))
    return steps


# ── from steps to tables ─────────────────────────────────────────────────────────────


def upsert_rows(
    model: OpenModel, keys: Sequence[str], rows: Sequence[Row], mark: RunIds
) -> list[Written]:
    """Write rows together; if the database refuses, by halves down to the bad row."""
    steps: list[WriteStep] = []
    try:
        with transaction.atomic():
            page = _mark_page(model, keys, rows, mark)
            if is_new(model.model, keys, page):
                return _insert_page(model, page, mark)
            steps = plan_steps(model, keys, page, is_dry_run=False)
            _write_steps(model, steps, mark, mapped=set(page.fields))
        return [step.written for step in steps]
    except ROW_ERRORS:
        if len(rows) == 1:
            return [database_refusal(model.model, steps[0].record if steps else None)]
    half = len(rows) // 2
    first = upsert_rows(model, keys, rows[:half], mark)
    return first + upsert_rows(model, keys, rows[half:], mark)


def is_new(model: type[models.Model], keys: Sequence[str], page: MatchedRows) -> bool:
    """Whether all rows are about new records that can be inserted as they are."""
    rows = accepted_rows(page.rows)
    return (
        not page.records
        and len(rows) > 1  # of a single one it must be known what the database refuses
        and is_plain(model)
        and page.fields.keys() >= set(required_names(model))
        and set(map(len, rows)) == {len(page.fields)}  # all have the same fields
        and len(set(map(itemgetter(*keys), rows))) == len(rows)
    )


def _insert_page(model: OpenModel, page: MatchedRows, mark: RunIds) -> list[Written]:
    """Insert a page of new records, without a step for each."""
    rows = accepted_rows(page.rows)
    columns = {
        model_field.attname: [row[name] for row in rows]
        for name, model_field in page.fields.items()
    }
    ids = insert_columns(model.model, columns, len(rows))
    put_first_marks(model, mark, [str(pk) for pk in ids])
    return [row if isinstance(row, Written) else CREATED for row in page.rows]


def database_refusal(model: type[models.Model], record: Record | None) -> Written:
    """Return which field the database refused, as far as the model knows."""
    try:
        with transaction.atomic():
            if isinstance(record, NewRecord):
                record = model(**vars(record))
            if record is not None:
                record.validate_unique()
                record.validate_constraints()
    except ValidationError as error:
        return rejected_write(*fault_of(error))
    except ROW_ERRORS:
        pass
    return rejected_write("", "refused_by_database")


def _write_steps(
    model: OpenModel, steps: Sequence[WriteStep], mark: RunIds, *, mapped: set[str]
) -> None:
    """Insert and update the records of steps, and mark them as seen by the run."""
    records = _records_of(steps)
    stored = [str(record.pk) for record in records if not record._state.adding]
    seen = last_marks(model, mark.line, stored)
    if model.archive and model.archive[0] not in mapped:  # else the API decides
        archived = {record for record, (_, is_archived) in seen.items() if is_archived}
        restore(model.archive, steps, archived)
    insert_records(model.model, [rec for rec in records if isinstance(rec, NewRecord)])
    instances = [record for record in records if isinstance(record, models.Model)]
    model.model._base_manager.bulk_create(
        [record for record in instances if record._state.adding]
    )
    changed = [step for step in steps if step.changes]
    _update_records(
        model,
        [
            record
            for record in _records_of(changed)
            if isinstance(record, models.Model) and not record._state.adding
        ],
        {name for step in changed for name in step.changes},
    )
    ids = [str(record.pk) for record in records]
    put_marks(model, mark, [rec for rec in ids if seen.get(rec) != (mark.run, False)])


def _records_of(steps: Iterable[WriteStep]) -> list[Record]:
    """Return the records of steps, each once: two rows may have the same keys."""
    records = {
        id(step.record): step.record for step in steps if step.record is not None
    }
    return list(records.values())


def restore(
    archive: tuple[str, bool], steps: Sequence[WriteStep], archived: set[str]
) -> None:
    """Take records out of the archive that were missing upstream and are back."""
    name, value = archive
    for step in steps:
        record = step.record
        if (
            record is not None
            and str(record.pk) in archived
            and getattr(record, name) is value
        ):
            setattr(record, name, not value)
            step.changes[name] = (value, not value)
            step.written = written_update(tuple(step.changes))


def _update_records(
    model: OpenModel, records: Sequence[models.Model], names: set[str]
) -> None:
    """Write some fields, and those with `auto_now` as if each record was saved."""
    timed = [
        model_field
        for model_field in model.model._meta.concrete_fields
        if getattr(model_field, "auto_now", False)
    ]
    for record in records:
        for model_field in timed:
            model_field.pre_save(record, add=False)
    if records:
        fields = [*names, *(model_field.name for model_field in timed)]
        model.model._base_manager.bulk_update(records, fields)
