"""The records of a Django project that the setting `OUTKEY["RECORDS"]` opens.

Rows are written a few hundred at a time, in a few statements: a model's own `save` and
its signals take no part, its `clean` does. If a line wants them to, rows are saved one
by one.
"""

# ruff: noqa: SLF001 - _meta and the managers are documented interfaces of Django

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import Protocol
from uuid import UUID

from django.apps import apps
from django.core.exceptions import ValidationError
from django.db import DEFAULT_DB_ALIAS, connections, models, router, transaction
from django.db.models.functions import Cast

from outkey.foundation.core.errors import ConfigError, unknown_run
from outkey.foundation.core.groups import groups_of
from outkey.foundation.core.permission import Permission
from outkey.foundation.core.stored_values import is_odd
from outkey.foundation.core.text import Text
from outkey.hosts.django.models import Run, SyncMark
from outkey.hosts.django.records.fields import (
    AnyField,
    clean_value,
    cleaner_of,
    describe_field,
    fields_of,
    times_of,
)
from outkey.hosts.django.records.key_queries import key_query
from outkey.hosts.django.records.marks import RunIds, put_marks
from outkey.hosts.django.records.open_model import OpenModel
from outkey.hosts.django.records.row_cleaning import Row, clean_row
from outkey.hosts.django.records.save import save_rows, save_values
from outkey.hosts.django.records.upsert import (
    ROW_ERRORS,
    compare_rows,
    read_page,
    upsert_rows,
)
from outkey.hosts.django.rows.raw_sql import allow_long_statements, wrap_database_errors
from outkey.sync.core.line.line import Gone
from outkey.sync.core.mapping.records import (
    HostRecord,
    Target,
    Unseen,
    Written,
    unknown_target,
)
from outkey.sync.core.mapping.shape import is_made_by_outkey
from outkey.sync.ports.sync import Key

GROUP = 500  # rows; SQLite limits the values of one statement


class PermissionHolder(Protocol):
    """A user with permissions; Django's users are."""

    def has_perm(self, permission: str) -> bool:
        """Whether the user has a permission."""


class DjangoRecords:
    """Reads and writes the open models; for a user, within their permissions."""

    def __init__(
        self,
        allowed: Mapping[str, Mapping[str, bool]],
        person: PermissionHolder | None = None,
    ) -> None:
        opened = [_read_setting(name, archive) for name, archive in allowed.items()]
        self._models = {model.name: model for model in opened}
        self._person = person
        self._lines: dict[str, int] = {}  # by run

    def targets(self) -> list[Target]:
        """Return the open models that the user may see, with their fields."""
        return [
            _describe_model(model)
            for model in self._models.values()
            if self._may("view", model)
        ]

    @wrap_database_errors
    def read(self, target: str, after: str, limit: int) -> list[HostRecord]:
        """Return the next records after an id ("": the first ones), ordered by id."""
        model = self._open(target, "view").model
        fields = fields_of(model)
        records = model._default_manager.order_by("pk")
        if after:
            try:
                records = records.filter(pk__gt=model._meta.pk.to_python(after))
            except ValidationError:
                raise ConfigError(
                    Text("there is no such record"), field="position"
                ) from None
        columns = [field.attname for field in fields.values()]
        texts = _json_texts(fields, records.db)
        found = []
        for pk, *values in records.values_list("pk", *columns, *texts.values())[:limit]:
            read = dict(zip(fields, map(_plain_value, values), strict=False))
            as_stored = zip(texts, values[len(columns) :], strict=True)
            odd = {name: text for name, text in as_stored if is_odd(text)}
            found.append(HostRecord(str(pk), read | odd))
        return found

    @wrap_database_errors
    def upsert(
        self,
        target: str,
        keys: Sequence[str],
        rows: Sequence[Row],
        run: str,
        *,
        dry_run: bool = False,
        saves: bool = False,
    ) -> list[Written]:
        """Create or update the record of each row, which the key fields identify."""
        results: list[Written] = []
        if dry_run:
            model = self._open(target, "view")
            for group in groups_of(rows, GROUP):
                results += compare_rows(model, keys, group)
            return results
        model = self._open(target, "add", "change")
        mark = RunIds(self._line_of(run), int(run))
        write = save_rows if saves else upsert_rows
        for group in groups_of(rows, GROUP):
            results += write(model, keys, group, mark)
        return results

    @wrap_database_errors
    def unseen(self, target: str, line: str, run: str) -> Unseen:
        """Return how many records this line brought, and this run has not seen."""
        model = self._open(target, "view")
        marks = _active_marks(model, line)
        return Unseen(marks.exclude(run=int(run)).count(), marks.count())

    @wrap_database_errors
    def retire(self, target: str, line: str, run: str, gone: Gone) -> int:
        """Archive or delete what this line brought and this run has not seen."""
        allow_long_statements()
        if gone is Gone.DELETE:
            return self._delete_unseen(target, line, run)
        return self._archive(target, line, run)

    def _delete_unseen(self, target: str, line: str, run: str) -> int:
        model = self._open(target, "delete")
        count = 0
        with transaction.atomic():
            unseen = _active_marks(model, line).exclude(run=int(run))
            while group := list(unseen.order_by("record")[:GROUP]):
                records = model.model._base_manager.filter(
                    pk__in=[mark.record for mark in group]
                )
                count += records.count()
                _delete_records(records)
                unseen.filter(pk__in=[mark.pk for mark in group]).delete()
        return count

    @wrap_database_errors
    def delete_children(
        self,
        target: str,
        parent: Sequence[str],
        keys: Sequence[str],
        kept: Mapping[Key, Collection[Key]],
    ) -> int:
        """Delete the children of these parents whose keys are not in `kept`."""
        model = self._open(target, "view", "delete")
        parent_fields = [model.key_field(name) for name in parent]
        key_fields = [model.key_field(name) for name in keys]
        columns = [field.attname for field in (*parent_fields, *key_fields)]
        # As the fields store them, which may be another type.
        stored_keys = {
            stored_key(parent_fields, of_parent): {
                stored_key(key_fields, child) for child in children
            }
            for of_parent, children in kept.items()
        }
        count = 0
        for group in groups_of([key for key in stored_keys if key is not None], GROUP):
            children = key_query(model.model, parent_fields, group, lock=False)
            missing = []
            for pk, *values in children.values_list("pk", *columns):
                of_parent = tuple(values[: len(parent)])
                stays = stored_keys.get(of_parent)
                if stays is not None and tuple(values[len(parent) :]) not in stays:
                    missing.append(pk)
            for part in groups_of(missing, GROUP):
                _delete_records(model.model._base_manager.filter(pk__in=part))
                # Whichever line brought them.
                SyncMark.objects.filter(
                    target=model.name, record__in=[str(pk) for pk in part]
                ).delete()
            count += len(missing)
        return count

    @wrap_database_errors
    def matching(
        self, target: str, keys: Sequence[str], values: Collection[Key]
    ) -> dict[Key, HostRecord]:
        """Return the records with these values of the key fields, locked."""
        model = self._open(target, "view")
        records: dict[Key, HostRecord] = {}
        # A preview has no transaction, and then nothing to lock.
        with transaction.atomic():
            for group in groups_of(values, GROUP):
                rows = [dict(zip(keys, key, strict=True)) for key in group]
                page = read_page(model, keys, rows, lock=True)
                for key, row in zip(group, page.rows, strict=True):
                    if isinstance(row, Written):
                        continue
                    same = page.records.get(tuple(row[name] for name in keys), [])
                    if len(same) == 1 and isinstance(same[0], models.Model):
                        records[key] = _host_record(same[0])
        return records

    @wrap_database_errors
    def by_id(self, target: str, ids: Collection[str]) -> dict[str, HostRecord]:
        """Return the records with these ids, locked."""
        model = self._open(target, "view").model
        records: dict[str, HostRecord] = {}
        with transaction.atomic():  # a preview has none
            for group in groups_of(ids, GROUP):
                locked = model._base_manager.select_for_update().filter(pk__in=group)
                records |= {str(record.pk): _host_record(record) for record in locked}
        return records

    @wrap_database_errors
    def assign(
        self,
        target: str,
        values: Mapping[str, Mapping[str, object]],
        run: str,
        *,
        saves: bool = False,
    ) -> set[str]:
        """Write values of some fields into records; return the ids of those done."""
        model = self._open(target, "change")
        assigned = []
        for record, row in values.items():
            cleaners = {name: cleaner_of(model.field(name)) for name in row}
            cleaned = clean_row(cleaners, tuple(row), row)
            stored = model.model._base_manager.filter(pk=record)
            if isinstance(cleaned, Written) or not stored.exists():
                continue
            columns = {model.field(name).attname: cleaned[name] for name in row}
            if saves and columns:
                if save_values(stored, columns):
                    assigned.append(record)
                continue
            with suppress(*ROW_ERRORS), transaction.atomic():
                if columns:
                    stored.update(**columns)
                assigned.append(record)
        if assigned:
            put_marks(model, RunIds(self._line_of(run), int(run)), assigned)
        return {*assigned}

    @wrap_database_errors
    def missing(
        self, target: str, line: str, run: str, after: str, limit: int
    ) -> list[HostRecord]:
        """Return the next of what this line brought and this run has not seen."""
        model = self._open(target, "view")
        unseen = _active_marks(model, line).exclude(run=int(run)).order_by("record")
        ids = unseen.values_list("record", flat=True)
        with transaction.atomic():
            # A mark stays when users delete its record.
            while group := list(ids.filter(record__gt=after)[: min(limit, GROUP)]):
                after = group[-1]
                records = model.model._base_manager.filter(pk__in=group).order_by("pk")
                by_id = {
                    str(record.pk): _host_record(record)
                    for record in records.select_for_update()
                }
                if by_id:
                    return [by_id[record] for record in group if record in by_id]
        return []

    @wrap_database_errors
    def present(self, target: str, ids: Sequence[str]) -> set[str]:
        """Return those of these ids whose records exist and are not archived."""
        model = self._open(target, "view")
        present: set[str] = set()
        for group in groups_of(ids, GROUP):
            records = model.model._default_manager.filter(pk__in=group)
            if model.archive:
                name, value = model.archive
                records = records.exclude(**{name: value})
            present.update(str(pk) for pk in records.values_list("pk", flat=True))
        return present

    def _archive(self, target: str, line: str, run: str) -> int:
        model = self._open(target, "change")
        if model.archive is None:
            raise ConfigError(
                Text("records of this model cannot be archived"),
                field="gone",
                hint=Text(
                    'Name the field that archives a record in OUTKEY["RECORDS"], or'
                    " keep what is missing upstream."
                ),
            )
        name, value = model.archive
        marks = _active_marks(model, line)
        unseen = marks.exclude(run=int(run)).order_by("record")  # as the index has them
        count = 0
        last = ""
        with transaction.atomic():
            while group := list(unseen.filter(record__gt=last)[:GROUP]):
                last = group[-1].record
                records = model.model._base_manager.filter(
                    pk__in=[mark.record for mark in group]
                )
                count += records.exclude(**{name: value}).update(**{name: value})
                marks.filter(pk__in=[mark.pk for mark in group]).update(archived=True)
        return count

    @wrap_database_errors
    def find(
        self, target: str, field: str, values: Sequence[object]
    ) -> dict[object, object]:
        """Return the id of the one record that has each value in a field, by value."""
        model = self._open(target, "view")
        key = model.key_field(field)
        wanted: dict[object, list[object]] = {}  # the values by what the field stores
        for value in values:
            try:
                wanted.setdefault(clean_value(key, value), []).append(value)
            except ValidationError:
                continue  # no record has what the field cannot store
        ids: dict[object, list[object]] = {}
        given = [value for value in wanted if value not in (None, "")]
        for group in groups_of(given, GROUP):
            records = model.model._default_manager.filter(
                **{f"{key.attname}__in": group}
            )
            for stored, record in records.values_list(key.attname, "pk"):
                ids.setdefault(stored, []).append(record)
        return {
            value: ids[stored][0]
            for stored, same in wanted.items()
            for value in same
            if len(ids.get(stored, ())) == 1
        }

    def demand(self, target: str, *verbs: str) -> None:
        """Raise ConfigError if the user lacks one of these permissions.

        Who may edit and run lines may write tables and files; to read them, as a dry
        run does too, needs a permission of its own.
        """
        if not is_made_by_outkey(target):
            self._open(target, *verbs)
        elif verbs == ("view",) and not self._may_view_data():
            raise _permission_missing("view")

    def _may_view_data(self) -> bool:
        permission = f"outkey.{Permission.VIEW_DATA}"
        return self._person is None or self._person.has_perm(permission)

    def _open(self, target: str, *verbs: str) -> OpenModel:
        model = self._models.get(target.lower())
        if model is None:
            raise unknown_target(self._models)
        for verb in verbs:
            if not self._may(verb, model):
                raise _permission_missing(verb)
        return model

    def _may(self, verb: str, model: OpenModel) -> bool:
        meta = model.model._meta
        permission = f"{meta.app_label}.{verb}_{meta.model_name}"
        return self._person is None or self._person.has_perm(permission)

    def _line_of(self, run: str) -> int:
        if run not in self._lines:
            lines = Run.objects.filter(pk=int(run)).values_list("line_id", flat=True)
            line = lines.first()
            if line is None:
                raise unknown_run()
            self._lines[run] = line
        return self._lines[run]


def _permission_missing(verb: str) -> ConfigError:
    """Return the error for a user who may not do this to records."""
    hint = Text(
        "Ask an administrator for the permission to {verb} these records.", verb=verb
    )
    return ConfigError(Text("a permission is missing"), field="target", hint=hint)


def stored_key(fields: Sequence[AnyField], values: Key) -> Key | None:
    """Return key values as their fields store them; None if no record can have them."""
    try:
        return tuple(
            clean_value(field, value)
            for field, value in zip(fields, values, strict=True)
        )
    except ValidationError:
        return None


def _delete_records(records: models.QuerySet[models.Model]) -> None:
    """Delete records as Django does: what refers to them is deleted or refuses it."""
    try:
        records.delete()
    except (models.ProtectedError, models.RestrictedError):
        raise ConfigError(
            Text("other records refer to one that is to be deleted"),
            field="gone",
            hint=Text("Archive the records that are missing upstream, or keep them."),
        ) from None


def _active_marks(model: OpenModel, line: str) -> models.QuerySet[SyncMark]:
    """Return the marks of the records that a line brought and has not archived."""
    return SyncMark.objects.filter(line__name=line, target=model.name, archived=False)


def _describe_model(model: OpenModel) -> Target:
    """Return a model as mappings see it."""
    fields = fields_of(model.model).values()
    return Target(
        model.name,
        str(model.model._meta.verbose_name_plural),
        tuple(describe_field(field) for field in fields),
        tuple(times_of(model.model)),
    )


def _json_texts(fields: Mapping[str, AnyField], alias: str) -> dict[str, Cast]:
    """Return a reader of JSON as SQLite stores it: a document hides odd texts."""
    if connections[alias].vendor != "sqlite":
        return {}
    return {
        name: Cast(field.attname, models.TextField())
        for name, field in fields.items()
        if isinstance(field, models.JSONField)
    }


def _read_setting(name: str, archive: Mapping[str, bool]) -> OpenModel:
    """Return the model of one entry of the setting, or raise ConfigError."""
    try:
        model = apps.get_model(name)
    except (LookupError, ValueError):
        raise _setting_error(name, Text("there is no such model")) from None
    if model._meta.app_label == "outkey":
        raise _setting_error(name, Text("outkey's own records cannot be synchronized"))
    if model._meta.parents:
        raise _setting_error(
            name, Text("a model with a table of its parent's cannot be written in bulk")
        )
    _refuse_other_database(name, model)
    if not archive:
        return OpenModel(model, None)
    (field_name, value), *more = archive.items()
    fields = {field.name: field for field in model._meta.concrete_fields}
    is_boolean = isinstance(fields.get(field_name), models.BooleanField)
    if more or not is_boolean or not isinstance(value, bool):
        raise _setting_error(
            name,
            Text('what archives must be one boolean field, as {{"active": False}}'),
        )
    return OpenModel(model, (field_name, value))


def _refuse_other_database(name: str, model: type[models.Model]) -> None:
    """Refuse a model that a router keeps in another database.

    A page of records and its checkpoint are one transaction, and that is in one
    database: otherwise a killed run could lose records, or archive what it has seen.
    """
    for alias in (router.db_for_write(model), router.db_for_read(model)):
        if alias != DEFAULT_DB_ALIAS:
            raise _setting_error(
                name,
                Text("DATABASE_ROUTERS sends it to the database {alias}", alias=alias),
                Text(
                    "Let the router use the database default to read and write this"
                    ' model, or take it out of OUTKEY["RECORDS"].'
                ),
            )


def _setting_error(name: str, reason: Text, hint: Text | None = None) -> ConfigError:
    """Return the error for an entry of the setting."""
    return ConfigError(
        Text("{name}: {reason}", name=name, reason=reason),
        field="RECORDS",
        hint=hint
        or Text(
            'Correct the setting OUTKEY["RECORDS"], such as'
            ' {{"shop.Customer": {{"active": False}}}}.'
        ),
    )


def _plain_value(value: object) -> object:
    """Return a value as mappings read it: a UUID is text."""
    return str(value) if isinstance(value, UUID) else value


def _host_record(record: models.Model) -> HostRecord:
    """Return a stored record as core has it, with the times that its model sets."""
    fields = fields_of(type(record)) | times_of(type(record))
    return HostRecord(
        str(record.pk),
        {
            name: _plain_value(getattr(record, field.attname))
            for name, field in fields.items()
        },
    )
