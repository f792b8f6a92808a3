"""The host's side of a synchronization: its models, their fields, and what it wrote."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from functools import lru_cache

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.text import Text

Changes = Mapping[str, tuple[object, object]]  # by field: value before and after


class FieldKind(StrEnum):
    """The kind of value in a field of the host."""

    TEXT = "text"
    NUMBER = "number"
    DECIMAL = "decimal"
    DATE = "date"
    DATETIME = "datetime"
    BOOLEAN = "boolean"
    CHOICE = "choice"
    LINK = "link"
    JSON = "json"
    ANY = "any"  # of a column that is not there yet: its first values decide


# The Python type of a field's values; a link or JSON may have any.
PYTHON_TYPES: Mapping[FieldKind, type] = {
    FieldKind.TEXT: str,
    FieldKind.CHOICE: str,
    FieldKind.NUMBER: int,
    FieldKind.DECIMAL: Decimal,
    FieldKind.DATE: date,
    FieldKind.DATETIME: datetime,
    FieldKind.BOOLEAN: bool,
}


@dataclass(frozen=True, slots=True)
class HostField:
    """A field of the host's own model."""

    name: str
    label: str
    kind: FieldKind
    required: bool = False
    longest: int | None = None
    choices: tuple[str, ...] = ()
    target: str = ""  # of a link: the model that it leads to
    # Whether the host's table refuses two equal values; None: the host does not know.
    unique: bool | None = dataclass_field(default=None, compare=False)

    def links_to(self, target: str) -> bool:
        """Whether the field is a link to records of a target; case does not matter."""
        return self.kind is FieldKind.LINK and self.target.lower() == target.lower()


@dataclass(frozen=True, slots=True)
class Target:
    """A model of the host that may be synchronized, with its fields."""

    name: str
    label: str
    fields: tuple[HostField, ...] = ()
    times: tuple[str, ...] = ()  # fields that the host sets itself; pairs compare them


@dataclass(frozen=True, slots=True)
class Shape:
    """The fields that a line needs of its target."""

    keys: tuple[str, ...]  # the fields that identify a record
    fields: tuple[HostField, ...]
    archives: bool = False  # whether records can be archived
    retires: bool = False  # whether a run archives or deletes what it has not seen
    is_fed: bool = False  # whether changes are recorded


@dataclass(frozen=True, slots=True)
class PreparedTarget:
    """A target that has all fields of a shape, and what was changed for that."""

    target: Target
    changes: tuple[Text, ...] = ()  # of a dry run: what would be changed
    # Others have dropped it or a part of it, and these lines have read everything
    # since.
    is_partial: bool = False
    refilled_by: tuple[str, ...] = ()

    def is_partial_for(self, line: str) -> bool:
        """Whether values that a line brings may be lost."""
        return self.is_partial and line not in self.refilled_by


@dataclass(frozen=True, slots=True)
class Unseen:
    """How many records a line has brought, and how many of them a run has not seen."""

    missing: int
    total: int  # without archived ones


@dataclass(frozen=True, slots=True)
class HostRecord:
    """A record of the host, to be sent to an API."""

    id: str
    values: Mapping[str, object]


class WriteOutcome(StrEnum):
    """The result of writing one row."""

    CREATED = "created"
    UPDATED = "updated"
    UNCHANGED = "unchanged"
    DELETED = "deleted"  # at the API
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Written:
    """The result of one row, or its expected result in a dry run."""

    outcome: WriteOutcome
    field: str = ""  # of a refusal
    reason: str = ""  # of a refusal: a key of `reasons.REJECTIONS`
    # Of a dry run only: the fields that would change.
    changes: Changes = dataclass_field(default_factory=dict, repr=False)
    # Of an update: the names of the fields that it changes.
    changed: tuple[str, ...] = dataclass_field(default=(), compare=False)


CREATED = Written(WriteOutcome.CREATED)
UNCHANGED = Written(WriteOutcome.UNCHANGED)


def rejected_write(name: str, reason: str) -> Written:
    """Return the result of a row that is not written because of a field."""
    return Written(WriteOutcome.REFUSED, name, reason)


@lru_cache(maxsize=1024)
def written_update(changed: tuple[str, ...]) -> Written:
    """Return the result of an update that changes these fields.

    Most updates of a page change the same ones, so there are few of these results.
    """
    return Written(WriteOutcome.UPDATED, changed=changed)


def find_target(targets: Sequence[Target], name: str) -> Target:
    """Return the target of this name, or raise ConfigError; case does not matter."""
    for target in targets:
        if target.name.lower() == name.lower():
            return target
    raise unknown_target(target.name for target in targets)


def find_field(target: Target, name: str) -> HostField:
    """Return the field of this name, or raise ConfigError."""
    for field in target.fields:
        if field.name == name:
            return field
    raise ConfigError(Text("the model has no such field"), field=name)


def unknown_target(names: Iterable[str]) -> ConfigError:
    """Return the error for a target that is not one of the open ones."""
    return ConfigError(
        Text("this model is not open to synchronization"),
        hint=Text(
            "Ask an administrator to open it, or for the permission to view it. Open:"
            " {names}.",
            names=", ".join(names) or "-",
        ),
        field="target",
    )


class MissingTable(ConfigError):
    """A table is not there yet; the first run of a pull makes it."""


def missing_table(name: str) -> MissingTable:
    """Return the error for a table that is not there yet."""
    return MissingTable(
        Text("the table {name} is not there yet", name=name),
        hint=Text("Run the line that fills it: its first run makes the table."),
        field="target",
    )


# Rules of upsert, for a host whose models do not check rows themselves.


def refused_row(
    target: Target,
    keys: Sequence[str],
    row: Mapping[str, object],
    *,
    is_new: bool,
) -> Written | None:
    """Return the refusal of a row that does not fit the fields, or None.

    A new record needs every required field, and any row its key fields. ConfigError
    for an unknown field.
    """
    for name in (*keys, *row):
        find_field(target, name)
    for field in target.fields:
        is_key = field.name in keys
        if is_new or is_key or field.name in row:
            reason = value_fault(field, row.get(field.name), is_key=is_key)
            if reason:
                return Written(WriteOutcome.REFUSED, field.name, reason)
    return None


def value_fault(field: HostField, value: object, *, is_key: bool) -> str:
    """Return the reason why a field refuses a value, or "" if it does not."""
    if value in (None, ""):
        return "missing" if field.required or is_key else ""
    if not isinstance(value, PYTHON_TYPES.get(field.kind, object)):
        return "wrong_type"
    is_too_long = field.longest is not None and len(str(value)) > field.longest
    return "too_long" if is_too_long else ""


def written_row(
    stored: Mapping[str, object] | None,
    row: Mapping[str, object],
    *,
    is_archived: bool = False,
) -> Written:
    """Return the changes of a stored record by a row; None: it is a new one.

    A record that was archived is updated, since it is active again.
    """
    before = stored or {}
    changes = {
        name: (before.get(name), value)
        for name, value in row.items()
        if before.get(name) != value
    }
    if stored is None:
        return Written(WriteOutcome.CREATED, changes=changes)
    if changes or is_archived:
        return Written(WriteOutcome.UPDATED, changes=changes, changed=tuple(changes))
    return Written(WriteOutcome.UNCHANGED)
