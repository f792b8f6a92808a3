"""Rows on their way into the host's tables: find the record of each, see what is new, write it.

Written in bulk, so that a page of a thousand rows costs a few statements.
"""

# ruff: noqa: SLF001 - _meta, _state and the managers are Django's own documented doors

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.core.exceptions import ValidationError
from django.db import DataError, IntegrityError, models, transaction

from outkey.core.errors import ConfigError
from outkey.core.sync.run import FieldKind, Outcome, Written
from outkey.hosts.django.models import SyncMark
from outkey.hosts.django.record_fields import (
    AnyField,
    cleaned,
    fault,
    fields_of,
    is_required,
    kind_of,
)

_OF_THE_ROW = (IntegrityError, DataError, ValueError, ArithmeticError)
Row = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Entry:
    """One model of the allow-list, and the field and value that archive a record."""

    model: type[models.Model]
    archive: tuple[str, bool] | None

    @property
    def name(self) -> str:
        """How lines call the model."""
        return self.model._meta.label_lower

    def field(self, name: str) -> AnyField:
        """Return a field, or raise ConfigError."""
        known = fields_of(self.model)
        if name not in known:
            hint = f"Known: {', '.join(known)}."
            raise ConfigError("the model has no such field to synchronize", field=name, hint=hint)
        return known[name]

    def key_field(self, name: str) -> AnyField:
        """Return a field by which records can be found, or raise ConfigError."""
        found = self.field(name)
        if kind_of(found) is FieldKind.JSON:
            raise ConfigError("records cannot be found by this field", field=name)
        return found


@dataclass(slots=True)
class Step:
    """What is to be done for one row."""

    written: Written
    record: models.Model | None = None
    changes: dict[str, tuple[object, object]] = field(default_factory=dict)


# ── from rows to steps ───────────────────────────────────────────────────────────────────────


def planned(entry: Entry, keys: Sequence[str], rows: Sequence[Row], *, lock: bool) -> list[Step]:
    """Find the record of each row, put the row's values into it, and tell what is new in it."""
    key_fields = [entry.key_field(name) for name in keys]
    if not keys or any(name not in row for row in rows for name in keys):
        raise ConfigError("every row needs the keys that tell records apart", field="keys")
    fields = {name: entry.field(name) for name in dict.fromkeys(n for row in rows for n in row)}
    values = [_values(fields, keys, row) for row in rows]
    _refuse_dead_links(fields.values(), values)
    found = _found(entry.model, key_fields, values, lock=lock)
    steps = []
    for row in values:
        if isinstance(row, Written):
            steps.append(Step(row))
            continue
        same = found.setdefault(tuple(row[name] for name in keys), [])
        if len(same) > 1:
            steps.append(Step(Written(Outcome.REFUSED, keys[0], "ambiguous")))
        else:
            steps.append(_filled(entry.model, same, fields, row))
    return steps


def _values(
    fields: Mapping[str, AnyField], keys: Sequence[str], row: Row
) -> dict[str, object] | Written:
    """Return a row as its fields keep it, or what is wrong with it."""
    values: dict[str, object] = {}
    for name, value in row.items():
        try:
            values[name] = cleaned(fields[name], value)
        except ValidationError as error:
            return Written(Outcome.REFUSED, name, fault(error)[1])
        if name in keys and values[name] in (None, ""):
            return Written(Outcome.REFUSED, name, "missing")
    return values


def _refuse_dead_links(fields: Iterable[AnyField], rows: list[dict[str, object] | Written]) -> None:
    """Refuse the rows whose links lead nowhere; one query a field, for all of them."""
    for known in fields:
        if not isinstance(known, models.ForeignKey):
            continue
        wanted = {row.get(known.name) for row in rows if isinstance(row, dict)} - {None}
        linked: Any = known.related_model
        there = linked._base_manager.complex_filter(known.get_limit_choices_to())
        alive = set(there.filter(pk__in=wanted).values_list("pk", flat=True)) | {None}
        for number, row in enumerate(rows):
            if isinstance(row, dict) and row.get(known.name) not in alive:
                rows[number] = Written(Outcome.REFUSED, known.name, "not_found")


def _found(
    model: type[models.Model],
    keys: Sequence[AnyField],
    rows: Sequence[dict[str, object] | Written],
    *,
    lock: bool,
) -> dict[tuple[object, ...], list[models.Model]]:
    """Return the records that have these keys; also those that a project's own lists hide."""
    wanted = {tuple(row[key.name] for key in keys) for row in rows if isinstance(row, dict)}
    found: dict[tuple[object, ...], list[models.Model]] = {}
    if wanted:
        # By id, so that two who lock the same records do not wait for each other for ever.
        records = model._base_manager.filter(_having(keys, wanted)).order_by("pk")
        for record in records.select_for_update() if lock else records:
            found.setdefault(tuple(getattr(record, key.attname) for key in keys), []).append(record)
    return found


def _having(keys: Sequence[AnyField], wanted: Iterable[tuple[object, ...]]) -> models.Q:
    if len(keys) == 1:
        return models.Q(**{f"{keys[0].attname}__in": [value for (value,) in wanted]})
    names = [key.attname for key in keys]
    each = (models.Q(**dict(zip(names, one, strict=True))) for one in wanted)
    return models.Q(*each, _connector=models.Q.OR)


def _filled(
    model: type[models.Model],
    same: list[models.Model],
    fields: Mapping[str, AnyField],
    row: Row,
) -> Step:
    """Put values into the one record that has the row's keys, or into a new one."""
    if same:
        record, outcome = same[0], Outcome.UPDATED
        before = {name: getattr(record, fields[name].attname) for name in row}
    else:
        record, outcome = model(), Outcome.CREATED
        before = dict.fromkeys(row)
        for name, known in fields_of(model).items():
            if name not in row and is_required(known):
                return Step(Written(Outcome.REFUSED, name, "missing"))
    changes = {name: (before[name], after) for name, after in row.items() if after != before[name]}
    if not changes:
        return Step(Written(Outcome.UNCHANGED), record)
    for name, after in row.items():
        setattr(record, fields[name].attname, after)
    try:
        record.clean()
    except ValidationError as error:
        for name, was in before.items():
            setattr(record, fields[name].attname, was)
        return Step(Written(Outcome.REFUSED, *fault(error)))
    if not same:
        same.append(record)
    return Step(Written(outcome), record, changes)


# ── from steps to tables ─────────────────────────────────────────────────────────────────────


def upserted(
    entry: Entry, keys: Sequence[str], rows: Sequence[Row], run: tuple[int, int]
) -> list[Written]:
    """Write rows together; if the database refuses, each half by itself, down to the bad row."""
    steps: list[Step] = []
    try:
        with transaction.atomic():
            steps = planned(entry, keys, rows, lock=True)
            _write(entry, steps, run, mapped={name for row in rows for name in row})
        return [step.written for step in steps]
    except _OF_THE_ROW:
        if len(rows) == 1:
            return [_blamed(steps[0].record if steps else None)]
    half = len(rows) // 2
    return upserted(entry, keys, rows[:half], run) + upserted(entry, keys, rows[half:], run)


def _blamed(record: models.Model | None) -> Written:
    """Say which field the database did not take, as far as the model knows."""
    try:
        with transaction.atomic():
            if record is not None:
                record.validate_unique()
                record.validate_constraints()
    except ValidationError as error:
        return Written(Outcome.REFUSED, *fault(error))
    except _OF_THE_ROW:
        pass
    return Written(Outcome.REFUSED, "", "refused_by_database")


def _write(entry: Entry, steps: Sequence[Step], run: tuple[int, int], *, mapped: set[str]) -> None:
    line, number = run
    marks = SyncMark.objects.filter(line_id=line, target=entry.name)
    records = _records(steps)
    stored = [str(record.pk) for record in records if not record._state.adding]
    found = marks.filter(record__in=stored).values_list("record", "run", "archived")
    seen = {record: (last, archived) for record, last, archived in found}
    if entry.archive and entry.archive[0] not in mapped:  # else the API itself decides
        _restore(entry.archive, steps, {name for name, (_, archived) in seen.items() if archived})
    changed = [step for step in steps if step.changes]
    new = [record for record in records if record._state.adding]
    old = [record for record in _records(changed) if not record._state.adding]
    entry.model._base_manager.bulk_create(new)
    _update(entry, old, {name for step in changed for name in step.changes})
    SyncMark.objects.bulk_create(
        [
            SyncMark(line_id=line, target=entry.name, record=str(record.pk), run=number)
            for record in records
            if seen.get(str(record.pk)) != (number, False)
        ],
        update_conflicts=True,
        unique_fields=["line", "target", "record"],
        update_fields=["run", "archived"],
    )


def _records(steps: Iterable[Step]) -> list[models.Model]:
    """Return the records of steps, each once: two rows may have the same keys."""
    return list(
        {id(step.record): step.record for step in steps if step.record is not None}.values()
    )


def _restore(archive: tuple[str, bool], steps: Sequence[Step], archived: set[str]) -> None:
    """Take out of the archive what was put there because it was gone, and is there again."""
    name, value = archive
    for step in steps:
        record = step.record
        if record is not None and str(record.pk) in archived and getattr(record, name) is value:
            setattr(record, name, not value)
            step.changes[name] = value, not value
            step.written = Written(Outcome.UPDATED)


def _update(entry: Entry, records: Sequence[models.Model], names: set[str]) -> None:
    """Write some fields; those that follow the time do, as if each record was saved."""
    timed = [f for f in entry.model._meta.concrete_fields if getattr(f, "auto_now", False)]
    for record in records:
        for known in timed:
            known.pre_save(record, add=False)
    if records:
        fields = [*names, *(known.name for known in timed)]
        entry.model._base_manager.bulk_update(records, fields)
