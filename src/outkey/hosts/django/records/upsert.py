"""Rows become records: find the record of each row, see what is new, and write it.

In bulk, so that a page of a thousand rows costs a few statements.
"""

# ruff: noqa: SLF001 - _meta, _state and the managers are documented interfaces of Django

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain
from operator import itemgetter
from typing import Any, NamedTuple

from django.core.exceptions import ValidationError
from django.db import (
    DataError,
    Error,
    IntegrityError,
    connection,
    connections,
    models,
    router,
    transaction,
)

from outkey.core.errors import ConfigError
from outkey.core.sync.records import FieldKind, WriteOutcome, Written
from outkey.core.text import Text
from outkey.hosts.django.models import SyncMark
from outkey.hosts.django.raw_sql import execute
from outkey.hosts.django.records.fast_insert import (
    NewRecord,
    has_known_database,
    insert_columns,
    insert_records,
    is_django_field,
    is_plain,
)
from outkey.hosts.django.records.fields import (
    AnyField,
    cleaner_of,
    fault_of,
    fields_of,
    is_required,
    is_unique,
    kind_of,
    plain_values,
)
from outkey.hosts.django.records.sql_lists import text_list

ROW_ERRORS = (IntegrityError, DataError, ValueError, ArithmeticError)
CREATED = Written(WriteOutcome.CREATED)
UPDATED = Written(WriteOutcome.UPDATED)
UNCHANGED = Written(WriteOutcome.UNCHANGED)
LISTS = {"sqlite": "json_each(%s)", "postgresql": "unnest(%s::text[])"}
MARKING_STATEMENTS = {
    vendor: (
        "INSERT INTO outkey_syncmark (line_id, target, record, run, archived)"  # noqa: S608 - constants
        f" SELECT %s, %s, value, %s, false FROM {listed} AS value WHERE true"
        " ON CONFLICT (line_id, target, record)"
        " DO UPDATE SET run = excluded.run, archived = excluded.archived"
    )
    for vendor, listed in LISTS.items()
}
ANY_KEY_QUERIES = {
    "sqlite": (
        "SELECT 1 FROM {table}"
        " WHERE {column} IN (SELECT value FROM json_each(%s)) LIMIT 1"
    ),
    "postgresql": (
        "SELECT 1 FROM unnest(%s::text[]) AS listed(value),"
        " LATERAL (SELECT 1 FROM {table} WHERE {column} = listed.value LIMIT 1) AS x"
        " LIMIT 1"
    ),
}
Row = Mapping[str, object]
Record = models.Model | NewRecord
KeyValues = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class OpenModel:
    """A model that is open, and the field and value that archive a record."""

    model: type[models.Model]
    archive: tuple[str, bool] | None

    @property
    def name(self) -> str:
        """The name of the model in sync lines."""
        return self.model._meta.label_lower

    def field(self, name: str) -> AnyField:
        """Return a field, or raise ConfigError."""
        fields = fields_of(self.model)
        if name not in fields:
            raise ConfigError(
                Text("the model has no such field to synchronize"),
                field=name,
                hint=Text("Choose one of: {names}.", names=", ".join(fields)),
            )
        return fields[name]

    def key_field(self, name: str) -> AnyField:
        """Return a field that can identify records, or raise ConfigError."""
        key = self.field(name)
        if kind_of(key) is FieldKind.JSON:
            raise ConfigError(Text("records cannot be found by this field"), field=name)
        return key


class RunMark(NamedTuple):
    """The ids of the line and the run that see a record."""

    line: int
    run: int


@dataclass(slots=True)
class WriteStep:
    """What is to be done for one row."""

    written: Written
    record: Record | None = None
    changes: dict[str, tuple[object, object]] = field(default_factory=dict)


# ── from rows to steps ───────────────────────────────────────────────────────────────


class Page(NamedTuple):
    """Rows that are cleaned, and the records that they are about."""

    fields: Mapping[str, AnyField]
    rows: Sequence[Row | Written]  # a row as its fields store it, or its refusal
    records: dict[KeyValues, list[Record]]  # by the values of the key fields


def compare_rows(
    model: OpenModel, keys: Sequence[str], rows: Sequence[Row]
) -> list[Written]:
    """Return what `upsert_rows` would do, with the values before and after."""
    page = read_page(model, keys, rows, lock=False)
    steps = plan_steps(model, keys, page, is_dry_run=True)
    return [replace(step.written, changes=step.changes) for step in steps]


def read_page(
    model: OpenModel, keys: Sequence[str], rows: Sequence[Row], *, lock: bool
) -> Page:
    """Clean the rows and find the record of each."""
    key_fields = [model.key_field(name) for name in keys]
    if not keys or any(name not in row for row in rows for name in keys):
        raise ConfigError(
            Text("every row needs the fields that identify a record"), field="keys"
        )
    names = dict.fromkeys(chain.from_iterable(rows))
    fields = {name: model.field(name) for name in names}
    cleaned = clean_rows(fields, keys, rows)
    refuse_dead_links(fields.values(), cleaned)
    records = find_records(model.model, key_fields, cleaned, lock=lock)
    return Page(fields, cleaned, records)


def plan_steps(
    model: OpenModel, keys: Sequence[str], page: Page, *, is_dry_run: bool
) -> list[WriteStep]:
    """Put the values of each row into its record, or into a new one."""
    filler = RecordFiller(model.model, page.fields, is_dry_run=is_dry_run)
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


def rejected_write(name: str, reason: str) -> Written:
    """Return the result of a row that a field refuses."""
    return Written(WriteOutcome.REFUSED, name, reason)


def clean_rows(
    fields: Mapping[str, AnyField], keys: Sequence[str], rows: Sequence[Row]
) -> list[Row | Written]:
    """Return each row as its fields store it, or its refusal.

    Most columns need no more than one look at all of their values.
    """
    columns = {name: [row[name] for row in rows if name in row] for name in fields}
    cleaners = {
        name: cleaner_of(known)
        for name, known in fields.items()
        if not is_plain_column(known, columns[name])
    }
    has_keys = not any(empty in columns[key] for key in keys for empty in (None, ""))
    if has_keys and not cleaners:
        return list(rows)
    return [clean_row(cleaners, keys, row) for row in rows]


def is_plain_column(known: AnyField, column: Sequence[object]) -> bool:
    """Whether a field stores all values of a column as they are."""
    plain = plain_values(known)
    return plain is not None and plain.are(column)


def clean_row(
    cleaners: Mapping[str, Callable[[object], object]], keys: Sequence[str], row: Row
) -> Row | Written:
    """Return a row with the values of some fields cleaned, or its refusal."""
    if cleaners:
        values = dict(row)
        for name in [name for name in row if name in cleaners]:
            try:
                values[name] = cleaners[name](row[name])
            except ValidationError as error:
                return rejected_write(name, fault_of(error)[1])
        row = values
    for name in keys:
        if row[name] in (None, ""):
            return rejected_write(name, "missing")
    return row


def refuse_dead_links(fields: Iterable[AnyField], rows: list[Row | Written]) -> None:
    """Refuse the rows whose links lead to no record; one query for each field."""
    for link in fields:
        if not isinstance(link, models.ForeignKey):
            continue
        ids = {row.get(link.name) for row in accepted(rows)} - {None}
        linked: Any = link.related_model
        allowed = linked._base_manager.complex_filter(link.get_limit_choices_to())
        existing = {None, *allowed.filter(pk__in=ids).values_list("pk", flat=True)}
        for number, row in enumerate(rows):
            if not isinstance(row, Written) and row.get(link.name) not in existing:
                rows[number] = rejected_write(link.name, "not_found")


def accepted(rows: Iterable[Row | Written]) -> list[Row]:
    """Return the rows that are not refused."""
    return [row for row in rows if not isinstance(row, Written)]


def find_records(
    model: type[models.Model],
    keys: Sequence[AnyField],
    rows: Sequence[Row | Written],
    *,
    lock: bool,
) -> dict[KeyValues, list[Record]]:
    """Return the records with the keys of rows, also those a default manager hides."""
    names = [key.name for key in keys]
    wanted = set(
        zip(*(map(itemgetter(name), accepted(rows)) for name in names), strict=True)
    )
    records: dict[KeyValues, list[Record]] = {}
    if wanted:
        for record in query_records(model, keys, wanted, lock=lock):
            values = tuple(getattr(record, key.attname) for key in keys)
            records.setdefault(values, []).append(record)
    return records


def query_records(
    model: type[models.Model],
    keys: Sequence[AnyField],
    wanted: Collection[KeyValues],
    *,
    lock: bool,
) -> Iterable[models.Model]:
    """Return the records that have one of these key values."""
    key = keys[0]
    manager = model._base_manager
    is_text = isinstance(key, models.CharField | models.TextField)
    if (
        len(keys) > 1
        or not is_text
        or not is_django_field(key)
        or type(manager) is not models.Manager
    ):
        return key_query(model, keys, wanted, lock=lock)
    texts = [str(value) for (value,) in wanted]
    if is_unique(key) and has_known_database(model) and not has_any(model, key, texts):
        return ()
    statement = compiled_key_query(model, key, len(texts), lock=lock)
    return manager.get_queryset().raw(statement, texts)


def has_any(model: type[models.Model], key: AnyField, texts: Sequence[str]) -> bool:
    """Whether a record has one of these keys: quick to tell, and new records do not."""
    alias = router.db_for_write(model)
    vendor = connections[alias].vendor
    statement = any_key_query(model, key, alias, vendor)
    found = execute(statement, [text_list(vendor, texts)], alias)
    return found.fetchone() is not None


@lru_cache(maxsize=100)
def any_key_query(
    model: type[models.Model], key: AnyField, alias: str, vendor: str
) -> str:
    """Return SQL that finds one record with a key of a list, by the index of the key.

    PostgreSQL would rather read the whole of a table that is not very large.
    """
    quote = connections[alias].ops.quote_name
    return ANY_KEY_QUERIES[vendor].format(
        table=quote(model._meta.db_table), column=quote(str(key.column))
    )


@lru_cache(maxsize=100)
def compiled_key_query(
    model: type[models.Model], key: AnyField, count: int, *, lock: bool
) -> str:
    """Return SQL for so many texts; Django compiles it slower than databases run it."""
    placeholders = [(str(number),) for number in range(count)]
    query = key_query(model, [key], placeholders, lock=lock)
    return str(query.query.get_compiler(query.db).as_sql()[0])


def key_query(
    model: type[models.Model],
    keys: Sequence[AnyField],
    wanted: Collection[KeyValues],
    *,
    lock: bool,
) -> models.QuerySet[models.Model]:
    """Return the query for the records that have one of these key values."""
    names = [key.attname for key in keys]
    if len(names) == 1:
        condition = models.Q(**{f"{names[0]}__in": [value for (value,) in wanted]})
    else:
        conditions = (
            models.Q(**dict(zip(names, values, strict=True))) for values in wanted
        )
        condition = models.Q(*conditions, _connector=models.Q.OR)
    # By id, so that two processes that lock the same records do not deadlock.
    records = model._base_manager.filter(condition).order_by("pk")
    return records.select_for_update() if lock else records


class RecordFiller:
    """Puts the values of rows into their records, or into new ones."""

    def __init__(
        self,
        model: type[models.Model],
        fields: Mapping[str, AnyField],
        *,
        is_dry_run: bool,
    ) -> None:
        self._is_dry_run = is_dry_run
        self._new_record: type[Record] = NewRecord if is_plain(model) else model
        self._fields = fields
        self._attributes = {name: known.attname for name, known in fields.items()}
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
        if refusal := refusal_of_model(record):
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
                known.attname: known.get_default() for known in self._fields.values()
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
        if refusal := refusal_of_model(record):
            self._set_values(record, before)
            return WriteStep(refusal)
        return WriteStep(UPDATED, record, changes)

    def _set_values(self, record: Record, row: Row) -> None:
        for name, value in row.items():
            setattr(record, self._attributes[name], value)


def required_names(model: type[models.Model]) -> list[str]:
    """Return the fields that a new record needs."""
    return [name for name, known in fields_of(model).items() if is_required(known)]


def refusal_of_model(record: Record) -> Written | None:
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


# ── from steps to tables ─────────────────────────────────────────────────────────────


def upsert_rows(
    model: OpenModel, keys: Sequence[str], rows: Sequence[Row], mark: RunMark
) -> list[Written]:
    """Write rows together; if the database refuses, by halves down to the bad row."""
    steps: list[WriteStep] = []
    try:
        with transaction.atomic():
            page = read_page(model, keys, rows, lock=True)
            if is_new(model.model, keys, page):
                return insert_page(model, page, mark)
            steps = plan_steps(model, keys, page, is_dry_run=False)
            write_steps(model, steps, mark, mapped=set(page.fields))
        return [step.written for step in steps]
    except ROW_ERRORS:
        if len(rows) == 1:
            return [database_refusal(model.model, steps[0].record if steps else None)]
    half = len(rows) // 2
    first = upsert_rows(model, keys, rows[:half], mark)
    return first + upsert_rows(model, keys, rows[half:], mark)


def is_new(model: type[models.Model], keys: Sequence[str], page: Page) -> bool:
    """Whether all rows are about new records that can be inserted as they are."""
    rows = accepted(page.rows)
    return (
        not page.records
        and len(rows) > 1  # of a single one it must be known what the database refuses
        and is_plain(model)
        and page.fields.keys() >= set(required_names(model))
        and set(map(len, rows)) == {len(page.fields)}  # all have the same fields
        and len(set(map(itemgetter(*keys), rows))) == len(rows)
    )


def insert_page(model: OpenModel, page: Page, mark: RunMark) -> list[Written]:
    """Insert a page of new records, without a step for each."""
    rows = accepted(page.rows)
    columns = {
        known.attname: [row[name] for row in rows]
        for name, known in page.fields.items()
    }
    ids = insert_columns(model.model, columns, len(rows))
    put_marks(model, mark, [str(pk) for pk in ids])
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


def write_steps(
    model: OpenModel, steps: Sequence[WriteStep], mark: RunMark, *, mapped: set[str]
) -> None:
    """Insert and update the records of steps, and mark them as seen by the run."""
    records = records_of(steps)
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
    update_records(
        model,
        [
            record
            for record in records_of(changed)
            if isinstance(record, models.Model) and not record._state.adding
        ],
        {name for step in changed for name in step.changes},
    )
    ids = [str(record.pk) for record in records]
    put_marks(model, mark, [rec for rec in ids if seen.get(rec) != (mark.run, False)])


def last_marks(
    model: OpenModel, line: int, ids: Sequence[str]
) -> dict[str, tuple[int, bool]]:
    """Return the last run that has seen each record, and whether it is archived."""
    if not ids:
        return {}
    marks = SyncMark.objects.filter(line_id=line, target=model.name, record__in=ids)
    rows = marks.values_list("record", "run", "archived")
    return {record: (run, is_archived) for record, run, is_archived in rows}


def put_marks(model: OpenModel, mark: RunMark, ids: Sequence[str]) -> None:
    """Store that a run has seen these records."""
    if ids:
        listed = text_list(connection.vendor, ids)
        statement = MARKING_STATEMENTS[connection.vendor]
        execute(statement, [mark.line, model.name, mark.run, listed])


def records_of(steps: Iterable[WriteStep]) -> list[Record]:
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
            step.written = UPDATED


def update_records(
    model: OpenModel, records: Sequence[models.Model], names: set[str]
) -> None:
    """Write some fields, and those with `auto_now` as if each record was saved."""
    timed = [
        known
        for known in model.model._meta.concrete_fields
        if getattr(known, "auto_now", False)
    ]
    for record in records:
        for known in timed:
            known.pre_save(record, add=False)
    if records:
        fields = [*names, *(known.name for known in timed)]
        model.model._base_manager.bulk_update(records, fields)
