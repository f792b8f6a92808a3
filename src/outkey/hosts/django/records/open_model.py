"""A model that the setting `OUTKEY["RECORDS"]` opens."""

# ruff: noqa: SLF001 - _meta, _state and the managers are documented interfaces of Django

from dataclasses import dataclass

from django.db import models

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.text import Text
from outkey.hosts.django.records.fields import AnyField, fields_of, kind_of
from outkey.sync.core.mapping.records import FieldKind


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
