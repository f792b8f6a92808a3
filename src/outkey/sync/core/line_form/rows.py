"""The rows of a line's form: field mappings and lists inside records, as texts."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as dataclass_field

from outkey.foundation.core.text import Text
from outkey.sync.core.line.fields import MAPPING_FIELDS
from outkey.sync.core.line.line import FieldMapping, Transform

TRUE = "true"
OPTION_NAMES: Mapping[Transform, tuple[str, ...]] = {
    Transform.AS_IS: ("format", "zone", "decimal_mark"),
    Transform.DECIMAL: ("decimal_mark",),
    Transform.DATE: ("format", "zone"),
    Transform.DATETIME: ("format", "zone"),
    Transform.LOOKUP: ("target", "field"),
    Transform.CONSTANT: ("value",),
    Transform.TEMPLATE: ("template",),
}
# What an option is, with an example: an example inside an input looks like a value.
OPTION_HELPS: Mapping[str, Text] = {
    "format": Text("For example %d.%m.%Y; empty: ISO dates such as 2026-02-01."),
    "zone": Text("For example Europe/Berlin; empty: UTC."),
    "target": Text("Where the record is searched, for example table:customers."),
    "field": Text("The field that has the value of the API, for example number."),
    "value": Text("Every record gets it, for example EUR."),
    "template": Text(
        "A text with fields of the API in braces, for example {{first_name}}"
        " {{last_name}}."
    ),
}
CHILD_INPUTS = ("list", "target", "parent", "keys")


@dataclass(frozen=True, slots=True)
class MappingRow:
    """One field mapping, as texts of a form."""

    api: str = ""
    host: str = ""
    transform: str = str(Transform.AS_IS)
    default: str = ""
    required: bool = False
    options: Mapping[str, str] = dataclass_field(default_factory=dict)

    @classmethod
    def of_inputs(cls, inputs: Mapping[str, str]) -> "MappingRow":
        """Return the row of some inputs, with the options of its transform only."""
        transform = inputs.get("transform", "") or str(Transform.AS_IS)
        options = {}
        if transform == Transform.CHOICE:
            options = values_in(inputs.get("values", ""))
        elif transform in set(Transform):
            options = {
                name: inputs[name]
                for name in OPTION_NAMES.get(Transform(transform), ())
                if inputs.get(name)
            }
        return cls(
            api=inputs.get("api", "").strip(),
            host=inputs.get("host", "").strip(),
            transform=transform,
            default=inputs.get("default", ""),
            required=inputs.get("required", "") not in {"", "false"},
            options=options,
        )

    def inputs(self) -> dict[str, str]:
        """Return the inputs of the row with their texts."""
        is_choice = self.transform == Transform.CHOICE
        return {
            "api": self.api,
            "host": self.host,
            "transform": self.transform,
            "default": self.default,
            "required": TRUE if self.required else "",
            **({"values": self.values} if is_choice else self.options),
        }

    @property
    def is_blank(self) -> bool:
        """Whether it is not filled in yet."""
        return not (self.api or self.host or self.options)

    @property
    def values(self) -> str:
        """The table of a choice, a line for each value."""
        is_choice = self.transform == Transform.CHOICE
        return values_text(self.options) if is_choice else ""

    def mapping(self) -> FieldMapping:
        """Return the row as a run maps it; ConfigError for an unknown transform."""
        transform = MAPPING_FIELDS[2].parse(self.transform)
        return FieldMapping(
            api=self.api,
            host=self.host,
            transform=Transform(str(transform)),
            default=self.default or None,
            required=self.required,
            options=self.options,
        )


@dataclass(frozen=True, slots=True)
class ChildForm:
    """A list inside a record, as texts of a form."""

    list: str = ""
    target: str = ""
    parent: str = ""  # names with commas between them
    keys: str = ""
    rows: tuple[MappingRow, ...] = ()

    @property
    def is_blank(self) -> bool:
        """Whether it is not filled in yet."""
        texts = (getattr(self, name) for name in CHILD_INPUTS)
        return not (any(texts) or filled(self.rows))


def filled(rows: Sequence[MappingRow] | None) -> tuple[MappingRow, ...]:
    """Return the rows that are filled in."""
    return tuple(row for row in rows or () if not row.is_blank)


def row_of_mapping(mapping: FieldMapping) -> MappingRow:
    """Return the row of a field mapping."""
    return MappingRow(
        api=mapping.api,
        host=mapping.host,
        transform=str(mapping.transform),
        default=mapping.default or "",
        required=mapping.required,
        options=mapping.options,
    )


def value_text(value: object) -> str:
    """Return a value as an input has it."""
    match value:
        case None | False:
            return ""
        case True:
            return TRUE
        case list() | tuple():
            return ", ".join(map(str, value))
    return str(value)


def names_in(text: str) -> list[str]:
    """Return the names of a text with commas between them."""
    return [name.strip() for name in text.split(",") if name.strip()]


# ── choices, a line for each value ───────────────────────────────────────────────────


def values_text(options: Mapping[str, str]) -> str:
    """Return the table of a choice: `A = active`, a line for each."""
    return "\n".join(
        f"{_listed_value(theirs)} = {_listed_value(ours)}"
        for theirs, ours in options.items()
    )


def _listed_value(value: str) -> str:
    """Return a value of a choice, in quotes where it could be taken for another."""
    is_plain = (
        value == value.strip() and value.isprintable() and '"' not in value
    ) and "=" not in value
    return value if is_plain and value else json.dumps(value, ensure_ascii=False)


def values_in(text: str) -> dict[str, str]:
    """Return the table of a choice from its lines; a line without = maps to itself."""
    values = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        theirs, rest = _first_value(line)
        ours, _ = _first_value(rest.strip()) if rest.strip() else (theirs, "")
        values[theirs] = ours
    return values


def _first_value(text: str) -> tuple[str, str]:
    """Return the value before an equals sign, and what is behind that."""
    if text.startswith('"'):
        try:
            value, end = json.JSONDecoder().raw_decode(text)
            return str(value), text[end:].strip().removeprefix("=")
        except ValueError:
            pass
    value, _, rest = text.partition("=")
    return value.strip(), rest
