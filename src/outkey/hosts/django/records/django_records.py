"""The records of a Django project that the setting `OUTKEY["RECORDS"]` opens.

Rows are written a few hundred at a time, in a few statements: a model's own `save` and
its signals take no part, its `clean` does.
"""

# ruff: noqa: SLF001 - _meta and the managers are documented interfaces of Django

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol, TypeVar
from uuid import UUID

from django.apps import apps
from django.core.exceptions import ValidationError
from django.db import models, transaction

from outkey.core.errors import ConfigError, unknown_run
from outkey.core.sync.records import HostRecord, Target, Written, unknown_target
from outkey.core.text import Text
from outkey.hosts.django.models import Run, SyncMark
from outkey.hosts.django.raw_sql import wrap_database_errors
from outkey.hosts.django.records.fields import clean_value, describe_field, fields_of
from outkey.hosts.django.records.upsert import (
    OpenModel,
    Row,
    RunMark,
    compare_rows,
    upsert_rows,
)

GROUP = 500  # rows; SQLite limits the values of one statement
Item = TypeVar("Item")


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
        opened = [read_setting(name, archive) for name, archive in allowed.items()]
        self._models = {model.name: model for model in opened}
        self._person = person
        self._lines: dict[str, int] = {}  # by run

    def targets(self) -> list[Target]:
        """Return the open models that the user may see, with their fields."""
        return [
            describe_model(model)
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
        return [
            HostRecord(
                str(pk),
                {
                    name: plain_value(value)
                    for name, value in zip(fields, values, strict=True)
                },
            )
            for pk, *values in records.values_list("pk", *columns)[:limit]
        ]

    @wrap_database_errors
    def upsert(
        self,
        target: str,
        keys: Sequence[str],
        rows: Sequence[Row],
        run: str,
        *,
        dry_run: bool = False,
    ) -> list[Written]:
        """Create or update the record of each row, which the key fields identify."""
        results: list[Written] = []
        if dry_run:
            model = self._open(target, "view")
            for group in groups_of(rows):
                results += compare_rows(model, keys, group)
            return results
        model = self._open(target, "add", "change")
        mark = RunMark(self._line_of(run), int(run))
        for group in groups_of(rows):
            results += upsert_rows(model, keys, group, mark)
        return results

    @wrap_database_errors
    def archive(self, target: str, line: str, run: str) -> int:
        """Archive the records that this line brought and this run has not seen."""
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
        marks = SyncMark.objects.filter(
            line__name=line, target=model.name, archived=False
        )
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
        for group in groups_of([value for value in wanted if value not in (None, "")]):
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
        """Raise ConfigError if the user lacks one of these permissions."""
        self._open(target, *verbs)

    def _open(self, target: str, *verbs: str) -> OpenModel:
        model = self._models.get(target.lower())
        if model is None:
            raise unknown_target(self._models)
        for verb in verbs:
            if not self._may(verb, model):
                hint = Text(
                    "Ask an administrator for the permission to {verb} these records.",
                    verb=verb,
                )
                raise ConfigError(
                    Text("a permission is missing"), field="target", hint=hint
                )
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


def describe_model(model: OpenModel) -> Target:
    """Return a model as mappings see it."""
    fields = fields_of(model.model).values()
    return Target(
        model.name,
        str(model.model._meta.verbose_name_plural),
        tuple(describe_field(field) for field in fields),
    )


def read_setting(name: str, archive: Mapping[str, bool]) -> OpenModel:
    """Return the model of one entry of the setting, or raise ConfigError."""
    try:
        model = apps.get_model(name)
    except (LookupError, ValueError):
        raise setting_error(name, Text("there is no such model")) from None
    if model._meta.app_label == "outkey":
        raise setting_error(name, Text("outkey's own records cannot be synchronized"))
    if model._meta.parents:
        raise setting_error(
            name, Text("a model with a table of its parent's cannot be written in bulk")
        )
    if not archive:
        return OpenModel(model, None)
    (field_name, value), *more = archive.items()
    fields = {field.name: field for field in model._meta.concrete_fields}
    is_boolean = isinstance(fields.get(field_name), models.BooleanField)
    if more or not is_boolean or not isinstance(value, bool):
        raise setting_error(
            name,
            Text('what archives must be one boolean field, as {{"active": False}}'),
        )
    return OpenModel(model, (field_name, value))


def setting_error(name: str, reason: Text) -> ConfigError:
    """Return the error for an entry of the setting."""
    return ConfigError(
        Text("{name}: {reason}", name=name, reason=reason),
        field="RECORDS",
        hint=Text(
            'Correct the setting OUTKEY["RECORDS"], such as'
            ' {{"shop.Customer": {{"active": False}}}}.'
        ),
    )


def groups_of(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """Yield items in groups that one statement can hold."""
    for start in range(0, len(items), GROUP):
        yield items[start : start + GROUP]


def plain_value(value: object) -> object:
    """Return a value as mappings read it: a UUID is text."""
    return str(value) if isinstance(value, UUID) else value
