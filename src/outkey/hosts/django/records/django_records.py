"""The records of a Django project, behind the allow-list `OUTKEY["RECORDS"]` and its permissions.

Rows are written some hundred at a time, by a few statements: a model's own `save` and its signals
have no part in it, its `clean` has.
"""

# ruff: noqa: SLF001 - _meta and the two managers are Django's own documented doors

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol, TypeVar
from uuid import UUID

from django.apps import apps
from django.core.exceptions import ValidationError
from django.db import models, transaction

from outkey.core.errors import ConfigError
from outkey.core.sync.run import HostField, HostRecord, Target, Written
from outkey.hosts.django.models import Run, SyncMark
from outkey.hosts.django.raw_sql import wrap_database_errors
from outkey.hosts.django.records.fields import cleaned, described, fields_of
from outkey.hosts.django.records.upsert import Entry, Row, planned, upserted

_GROUP = 500  # rows; SQLite has a limit for the values of one statement
Item = TypeVar("Item")


class Person(Protocol):
    """Whoever acts; Django's users are."""

    def has_perm(self, permission: str) -> bool:
        """Tell whether the person has a permission."""


class DjangoRecords:
    """Reads and writes what the allow-list names; for a person, within their permissions."""

    def __init__(
        self, allowed: Mapping[str, Mapping[str, bool]], person: Person | None = None
    ) -> None:
        entries = [_entry(name, archive) for name, archive in allowed.items()]
        self._entries = {entry.name: entry for entry in entries}
        self._person = person
        self._lines: dict[str, int] = {}  # by run

    def targets(self) -> list[Target]:
        """Return the models that may be synchronized, and that the person may see."""
        return [
            Target(name, str(entry.model._meta.verbose_name_plural))
            for name, entry in self._entries.items()
            if self._may("view", entry)
        ]

    def describe(self, target: str) -> list[HostField]:
        """Return the fields of a model, or raise ConfigError."""
        return [
            described(field)
            for field in fields_of(self._open(target, "view").model).values()
        ]

    @wrap_database_errors
    def read(self, target: str, after: str, limit: int) -> list[HostRecord]:
        """Return some records behind one, in the order of their ids; the first ones after ""."""
        model = self._open(target, "view").model
        known = fields_of(model)
        rows = model._default_manager.order_by("pk")
        if after:
            try:
                rows = rows.filter(pk__gt=model._meta.pk.to_python(after))
            except ValidationError:
                raise ConfigError("there is no such record", field="position") from None
        found = rows.values_list("pk", *(field.attname for field in known.values()))[
            :limit
        ]
        return [
            HostRecord(
                str(pk),
                {n: _plain(value) for n, value in zip(known, values, strict=True)},
            )
            for pk, *values in found
        ]

    @wrap_database_errors
    def upsert(
        self, target: str, keys: Sequence[str], rows: Sequence[Row], run: str
    ) -> list[Written]:
        """Create or update a record for each row, found by its keys; the same again is unchanged.

        A row that the host refuses takes no other with it. `run` marks what was seen.
        """
        entry, line = self._open(target, "add", "change"), self._line_of(run)
        written: list[Written] = []
        for group in _groups(rows):
            written += upserted(entry, keys, group, (line, int(run)))
        return written

    @wrap_database_errors
    def compare(
        self, target: str, keys: Sequence[str], rows: Sequence[Row]
    ) -> list[tuple[Written, Mapping[str, tuple[object, object]]]]:
        """Tell what upsert would do, with each field's value before and after; writes nothing."""
        entry = self._open(target, "view")
        steps = [
            s
            for group in _groups(rows)
            for s in planned(entry, keys, group, lock=False)
        ]
        return [(step.written, step.changes) for step in steps]

    @wrap_database_errors
    def archive(self, target: str, line: str, run: str) -> int:
        """Archive what this line has brought and this run has not seen; return how many."""
        entry = self._open(target, "change")
        if entry.archive is None:
            raise ConfigError(
                "records of this model cannot be archived",
                field="gone",
                hint=(
                    'Name the field that does it in OUTKEY["RECORDS"], or keep what is'
                    " gone."
                ),
            )
        name, value = entry.archive
        marks = SyncMark.objects.filter(
            line__name=line, target=entry.name, archived=False
        )
        missed = marks.exclude(run=int(run)).order_by(
            "record"
        )  # as their index has them
        archived, last = 0, ""
        with transaction.atomic():
            while some := list(missed.filter(record__gt=last)[:_GROUP]):
                last = some[-1].record
                records = entry.model._base_manager.filter(
                    pk__in=[mark.record for mark in some]
                )
                archived += records.exclude(**{name: value}).update(**{name: value})
                marks.filter(pk__in=[mark.pk for mark in some]).update(archived=True)
        return archived

    @wrap_database_errors
    def find(
        self, target: str, field: str, values: Sequence[object]
    ) -> dict[object, object]:
        """Return the ids of the records that have these values in a field, by value.

        What two records have finds neither of them.
        """
        entry = self._open(target, "view")
        known = entry.key_field(field)
        wanted: dict[object, list[object]] = {}
        for value in values:
            try:
                wanted.setdefault(cleaned(known, value), []).append(value)
            except ValidationError:
                continue  # what the field cannot hold is in no record
        found: dict[object, list[object]] = {}
        for group in _groups([value for value in wanted if value not in (None, "")]):
            rows = entry.model._default_manager.filter(
                **{f"{known.attname}__in": group}
            )
            for value, record in rows.values_list(known.attname, "pk"):
                found.setdefault(value, []).append(record)
        return {
            value: found[kept][0]
            for kept, given in wanted.items()
            for value in given
            if len(found.get(kept, ())) == 1
        }

    def demand(self, target: str, *verbs: str) -> None:
        """Raise ConfigError where the person lacks one of these permissions."""
        self._open(target, *verbs)

    def _open(self, target: str, *verbs: str) -> Entry:
        entry = self._entries.get(target.lower())
        if entry is None:
            hint = f"Known: {', '.join(self._entries) or 'none'}."
            raise ConfigError(
                "this model is not open to be synchronized", field="target", hint=hint
            )
        for verb in verbs:
            if not self._may(verb, entry):
                hint = (
                    f"Ask an administrator for the permission to {verb} these records."
                )
                raise ConfigError("a permission is missing", field="target", hint=hint)
        return entry

    def _may(self, verb: str, entry: Entry) -> bool:
        meta = entry.model._meta
        permission = f"{meta.app_label}.{verb}_{meta.model_name}"
        return self._person is None or self._person.has_perm(permission)

    def _line_of(self, run: str) -> int:
        if run not in self._lines:
            found = (
                Run.objects.filter(pk=int(run))
                .values_list("line_id", flat=True)
                .first()
            )
            if found is None:
                raise ConfigError("there is no such run", field="run")
            self._lines[run] = found
        return self._lines[run]


def _entry(name: str, archive: Mapping[str, bool]) -> Entry:
    """Read one entry of the setting."""
    try:
        model = apps.get_model(name)
    except (LookupError, ValueError):
        raise _refused(name, "there is no such model") from None
    if model._meta.app_label == "outkey":
        raise _refused(name, "outkey's own records cannot be synchronized")
    if model._meta.parents:
        raise _refused(
            name, "a model with a table of its parent's cannot be written in bulk"
        )
    if not archive:
        return Entry(model, None)
    (field, value), *more = archive.items()
    known = {f.name: f for f in model._meta.concrete_fields}
    if (
        more
        or not isinstance(known.get(field), models.BooleanField)
        or not isinstance(value, bool)
    ):
        raise _refused(
            name, 'what archives must be one yes-or-no field, as {"active": False}'
        )
    return Entry(model, (field, value))


def _refused(name: str, reason: str) -> ConfigError:
    hint = (
        'Correct the setting OUTKEY["RECORDS"], such as {"shop.Customer": {"active":'
        " False}}."
    )
    return ConfigError(f"{name}: {reason}", field="RECORDS", hint=hint)


def _groups(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    for start in range(0, len(items), _GROUP):
        yield items[start : start + _GROUP]


def _plain(value: object) -> object:
    return str(value) if isinstance(value, UUID) else value
