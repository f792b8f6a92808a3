"""Rows on their way into the host's tables: find the record of each, see what is new, write it.

Written in bulk, so that a page of a thousand rows costs a few statements.
"""

# ruff: noqa: SLF001 - _meta, _state and the managers are Django's own documented doors

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from django.core.exceptions import ValidationError
from django.db import DataError, Error, IntegrityError, connection, models, transaction

from outkey.core.errors import ConfigError
from outkey.core.sync.run import FieldKind, Outcome, Written
from outkey.hosts.django.models import SyncMark
from outkey.hosts.django.records.fast_insert import (
    Draft,
    insert,
    is_of_django,
    is_plain,
)
from outkey.hosts.django.records.fields import (
    AnyField,
    cleaner,
    fault,
    fields_of,
    is_required,
    kind_of,
)

_OF_THE_ROW = (IntegrityError, DataError, ValueError, ArithmeticError)
_CREATED, _UPDATED = Written(Outcome.CREATED), Written(Outcome.UPDATED)
_UNCHANGED = Written(Outcome.UNCHANGED)
_MARKS = 200  # rows of a statement
Row = Mapping[str, object]
Record = models.Model | Draft
Wanted = Collection[tuple[object, ...]]


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
            raise ConfigError(
                "the model has no such field to synchronize", field=name, hint=hint
            )
        return known[name]

    def key_field(self, name: str) -> AnyField:
        """Return a field by which records can be found, or raise ConfigError."""
        found = self.field(name)
        if kind_of(found) is FieldKind.JSON:
            raise ConfigError("records cannot be found by this field", field=name)
        return found


@dataclass(slots=True)
class Step:
    """What is to be done for one row; the changes of a new record are told where nobody writes."""

    written: Written
    record: Record | None = None
    changes: dict[str, tuple[object, object]] = field(default_factory=dict)


# ── from rows to steps ───────────────────────────────────────────────────────────────────────


def planned(
    entry: Entry, keys: Sequence[str], rows: Sequence[Row], *, lock: bool
) -> list[Step]:
    """Find the record of each row, put the row's values into it, and tell what is new in it."""
    key_fields = [entry.key_field(name) for name in keys]
    if not keys or any(name not in row for row in rows for name in keys):
        raise ConfigError(
            "every row needs the keys that tell records apart", field="keys"
        )
    fields = {
        name: entry.field(name)
        for name in dict.fromkeys(n for row in rows for n in row)
    }
    cleaners = {name: cleaner(known) for name, known in fields.items()}
    values = [_values(cleaners, keys, row) for row in rows]
    _refuse_dead_links(fields.values(), values)
    found = _found(entry.model, key_fields, values, lock=lock)
    filler = _Filler(entry.model, fields, writes=lock)
    steps = []
    for row in values:
        if isinstance(row, Written):
            steps.append(Step(row))
            continue
        same = found.setdefault(tuple([row[name] for name in keys]), [])
        if len(same) > 1:
            steps.append(Step(Written(Outcome.REFUSED, keys[0], "ambiguous")))
        else:
            steps.append(filler.filled(same, row))
    return steps


def _values(
    cleaners: Mapping[str, Callable[[object], object]], keys: Sequence[str], row: Row
) -> dict[str, object] | Written:
    """Return a row as its fields keep it, or what is wrong with it."""
    values: dict[str, object] = {}
    for name, value in row.items():
        try:
            values[name] = cleaners[name](value)
        except ValidationError as error:
            return Written(Outcome.REFUSED, name, fault(error)[1])
    for name in keys:
        if values[name] in (None, ""):
            return Written(Outcome.REFUSED, name, "missing")
    return values


def _refuse_dead_links(
    fields: Iterable[AnyField], rows: list[dict[str, object] | Written]
) -> None:
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
) -> dict[tuple[object, ...], list[Record]]:
    """Return the records that have these keys; also those that a project's own lists hide."""
    wanted = {
        tuple(row[key.name] for key in keys) for row in rows if isinstance(row, dict)
    }
    found: dict[tuple[object, ...], list[Record]] = {}
    if wanted:
        for record in _asked(model, keys, wanted, lock=lock):
            found.setdefault(
                tuple(getattr(record, key.attname) for key in keys), []
            ).append(record)
    return found


def _asked(
    model: type[models.Model], keys: Sequence[AnyField], wanted: Wanted, *, lock: bool
) -> Iterable[models.Model]:
    first, manager = keys[0], model._base_manager
    is_text = isinstance(first, models.CharField | models.TextField) and is_of_django(
        first
    )
    if len(keys) > 1 or not is_text or type(manager) is not models.Manager:
        return _having(model, keys, wanted, lock=lock)
    query = _written_query(model, first, len(wanted), lock=lock)
    return manager.get_queryset().raw(query, [value for (value,) in wanted])


@lru_cache(maxsize=100)
def _written_query(
    model: type[models.Model], key: AnyField, count: int, *, lock: bool
) -> str:
    """Return SQL for so many texts: it takes Django longer to write than the database to run."""
    query = _having(
        model, [key], [(str(number),) for number in range(count)], lock=lock
    )
    return str(query.query.get_compiler(query.db).as_sql()[0])


def _having(
    model: type[models.Model], keys: Sequence[AnyField], wanted: Wanted, *, lock: bool
) -> models.QuerySet[models.Model]:
    names = [key.attname for key in keys]
    if len(names) == 1:
        condition = models.Q(**{f"{names[0]}__in": [value for (value,) in wanted]})
    else:
        each = (models.Q(**dict(zip(names, one, strict=True))) for one in wanted)
        condition = models.Q(*each, _connector=models.Q.OR)
    # By id, so that two who lock the same records do not wait for each other for ever.
    records = model._base_manager.filter(condition).order_by("pk")
    return records.select_for_update() if lock else records


class _Filler:
    """Puts values into the one record that has a row's keys, or into a new one."""

    def __init__(
        self, model: type[models.Model], fields: Mapping[str, AnyField], *, writes: bool
    ) -> None:
        self._writes = writes
        self._new: type[Record] = Draft if is_plain(model) else model
        self._fields = fields
        self._attributes = {name: known.attname for name, known in fields.items()}
        self._links = any(
            name != attribute for name, attribute in self._attributes.items()
        )
        self._required = [
            n for n, known in fields_of(model).items() if is_required(known)
        ]

    def filled(self, same: list[Record], row: Row) -> Step:
        """Return what is to be done; a record that is made here is one of the same from now on."""
        if same:
            return self._changed(same[0], row)
        for name in self._required:
            if name not in row:
                return Step(Written(Outcome.REFUSED, name, "missing"))
        record = self._new(**self._initial(row))
        if refused := _refused(record):
            return Step(refused)
        same.append(record)
        step = Step(_CREATED, record)
        if not self._writes:
            step.changes = {
                n: (None, value) for n, value in row.items() if value is not None
            }
        return step

    def _initial(self, row: Row) -> dict[str, object]:
        values = dict(row)
        if self._links:
            values = {self._attributes[name]: value for name, value in row.items()}
        if len(row) < len(self._fields):  # other rows have more
            values = {
                f.attname: f.get_default() for f in self._fields.values()
            } | values
        return values

    def _changed(self, record: Record, row: Row) -> Step:
        before = {name: getattr(record, self._attributes[name]) for name in row}
        changes = {
            name: (before[name], new)
            for name, new in row.items()
            if new != before[name]
        }
        if not changes:
            return Step(_UNCHANGED, record)
        self._put(record, row)
        if refused := _refused(record):
            self._put(record, before)
            return Step(refused)
        return Step(_UPDATED, record, changes)

    def _put(self, record: Record, row: Row) -> None:
        for name, value in row.items():
            setattr(record, self._attributes[name], value)


def _refused(record: Record) -> Written | None:
    """Return what a model's own rule has against a record; one that breaks has something too."""
    try:
        record.clean()
    except ValidationError as error:
        return Written(Outcome.REFUSED, *fault(error))
    except Error:  # of the database, which `upserted` knows how to take
        raise
    except Exception:  # noqa: BLE001 - the host's own code; its text may repeat a value
        return Written(Outcome.REFUSED, "", "invalid")
    return None


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
            return [_blamed(entry.model, steps[0].record if steps else None)]
    half = len(rows) // 2
    return upserted(entry, keys, rows[:half], run) + upserted(
        entry, keys, rows[half:], run
    )


def _blamed(model: type[models.Model], record: Record | None) -> Written:
    """Say which field the database did not take, as far as the model knows."""
    try:
        with transaction.atomic():
            if isinstance(record, Draft):
                record = model(**vars(record))
            if record is not None:
                record.validate_unique()
                record.validate_constraints()
    except ValidationError as error:
        return Written(Outcome.REFUSED, *fault(error))
    except _OF_THE_ROW:
        pass
    return Written(Outcome.REFUSED, "", "refused_by_database")


def _write(
    entry: Entry, steps: Sequence[Step], run: tuple[int, int], *, mapped: set[str]
) -> None:
    line, number = run
    records = _records(steps)
    seen = _seen(
        entry, line, [str(record.pk) for record in records if not record._state.adding]
    )
    if entry.archive and entry.archive[0] not in mapped:  # else the API itself decides
        _restore(
            entry.archive,
            steps,
            {name for name, (_, archived) in seen.items() if archived},
        )
    changed = [step for step in steps if step.changes]
    insert(entry.model, [record for record in records if isinstance(record, Draft)])
    made = [record for record in records if isinstance(record, models.Model)]
    old = [
        r
        for r in _records(changed)
        if isinstance(r, models.Model) and not r._state.adding
    ]
    entry.model._base_manager.bulk_create(
        [record for record in made if record._state.adding]
    )
    _update(entry, old, {name for step in changed for name in step.changes})
    ids = [str(record.pk) for record in records]
    _mark(entry, run, [name for name in ids if seen.get(name) != (number, False)])


def _seen(entry: Entry, line: int, ids: Sequence[str]) -> dict[str, tuple[int, bool]]:
    """Return the last run that has seen each of these records, and whether it is archived."""
    if not ids:
        return {}
    marks = SyncMark.objects.filter(line_id=line, target=entry.name, record__in=ids)
    found = marks.values_list("record", "run", "archived")
    return {record: (last, archived) for record, last, archived in found}


def _mark(entry: Entry, run: tuple[int, int], ids: Sequence[str]) -> None:
    """Note that a run has seen these records."""
    (line, number), target = run, entry.name
    with connection.cursor() as cursor:
        for start in range(0, len(ids), _MARKS):
            some = ids[start : start + _MARKS]
            values = [value for name in some for value in (line, target, name, number)]
            cursor.execute(_marking(len(some)), values)


@lru_cache(maxsize=_MARKS)
def _marking(count: int) -> str:
    return (
        "INSERT INTO outkey_syncmark (line_id, target, record, run, archived)"  # noqa: S608 - constants
        f" VALUES {', '.join(['(%s, %s, %s, %s, false)'] * count)}"
        " ON CONFLICT (line_id, target, record)"
        " DO UPDATE SET run = excluded.run, archived = excluded.archived"
    )


def _records(steps: Iterable[Step]) -> list[Record]:
    """Return the records of steps, each once: two rows may have the same keys."""
    return list(
        {
            id(step.record): step.record for step in steps if step.record is not None
        }.values()
    )


def _restore(
    archive: tuple[str, bool], steps: Sequence[Step], archived: set[str]
) -> None:
    """Take out of the archive what was put there because it was gone, and is there again."""
    name, value = archive
    for step in steps:
        record = step.record
        if (
            record is not None
            and str(record.pk) in archived
            and getattr(record, name) is value
        ):
            setattr(record, name, not value)
            step.changes[name] = value, not value
            step.written = _UPDATED


def _update(entry: Entry, records: Sequence[models.Model], names: set[str]) -> None:
    """Write some fields; those that follow the time do, as if each record was saved."""
    timed = [
        f for f in entry.model._meta.concrete_fields if getattr(f, "auto_now", False)
    ]
    for record in records:
        for known in timed:
            known.pre_save(record, add=False)
    if records:
        fields = [*names, *(known.name for known in timed)]
        entry.model._base_manager.bulk_update(records, fields)
