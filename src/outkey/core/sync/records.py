"""The host's side of a synchronization: its models, their fields, and what it wrote."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from enum import StrEnum

from outkey.core.errors import ConfigError
from outkey.core.text import Text

Changes = Mapping[str, tuple[object, object]]  # by field: value before and after


class FieldKind(StrEnum):
    """What a field of the host holds."""

    TEXT = "text"
    NUMBER = "number"
    DECIMAL = "decimal"
    DATE = "date"
    DATETIME = "datetime"
    BOOLEAN = "boolean"
    CHOICE = "choice"
    LINK = "link"
    JSON = "json"


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


@dataclass(frozen=True, slots=True)
class Target:
    """A model of the host that may be synchronized, with its fields."""

    name: str
    label: str
    fields: tuple[HostField, ...] = ()


@dataclass(frozen=True, slots=True)
class HostRecord:
    """A record of the host, to be sent to an API."""

    id: str
    values: Mapping[str, object]


class WriteOutcome(StrEnum):
    """What became of one row."""

    CREATED = "created"
    UPDATED = "updated"
    UNCHANGED = "unchanged"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Written:
    """What the host did with one row, or would do in a dry run."""

    outcome: WriteOutcome
    field: str = ""  # of a refusal
    reason: str = ""  # of a refusal: a key of `reasons.REJECTIONS`
    # Of a dry run only: the fields that would change.
    changes: Changes = dataclass_field(default_factory=dict, repr=False)


def find_target(targets: Sequence[Target], name: str) -> Target:
    """Return the target of this name, or raise ConfigError; case does not matter."""
    for target in targets:
        if target.name.lower() == name.lower():
            return target
    raise unknown_target(target.name for target in targets)


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
