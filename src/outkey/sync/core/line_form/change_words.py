"""A changed field of a sync line in the words of its form, not in those of TOML."""

import json
import re
from collections.abc import Mapping
from typing import NamedTuple, Self

from outkey.foundation.core.fields.changes import FieldChange
from outkey.foundation.core.fields.choices import Choice
from outkey.foundation.core.fields.field_kinds import Field, Kind
from outkey.foundation.core.text import NO_TEXT, Text, as_text
from outkey.sync.core.line.fields import (
    CHILDREN_FIELDS,
    EVERY_LINE_FIELD,
    MAPPING_FIELDS,
)
from outkey.sync.core.line.line import Transform
from outkey.sync.core.line_form.schedule_choices import choice_of
from outkey.sync.core.mapping.shown import shortened

_MAX_IN_SENTENCE = 30

# The parts of a row, as the form calls them.
PART_LABELS: Mapping[str, Text] = {
    "api": Text("Field of the API"),
    "host": Text("Field of the target"),
    "transform": Text("Rule"),
    "default": Text("Default"),
    "required": Text("Required"),
    "options.format": Text("Format"),
    "options.zone": Text("Time zone"),
    "options.decimal_mark": Text("Decimal mark"),
    "options.target": Text("Look up in"),
    "options.field": Text("by its field"),
    "options.value": Text("Value"),
    "options.template": Text("Template"),
}
FIELDS_BY_PATH: Mapping[str, Field] = {field.path: field for field in EVERY_LINE_FIELD}
CHILD_KEYS = "|".join(field.key for field in CHILDREN_FIELDS if field.key != "fields")
ROW_KEYS = "|".join(field.key for field in MAPPING_FIELDS if field.key != "options")
# Names may have dots themselves: what follows them is known.
CHILD = re.compile(rf"children\.(.+?)(?:\.({CHILD_KEYS}|fields(?:\..+)?))?", re.DOTALL)
ROW = re.compile(rf"fields\.(.+?)(?:\.({ROW_KEYS}|options\..+))?", re.DOTALL)


class ChangeInWords(NamedTuple):
    """A changed field with its label, and its values as the form shows them."""

    label: Text
    old: Text
    new: Text

    @classmethod
    def of(cls, change: FieldChange) -> Self:
        """Return a change in the words of the form."""
        return cls(
            label_of(change.path),
            _value_words(change.path, change.old),
            _value_words(change.path, change.new),
        )

    def sentence(self) -> Text:
        """Return one sentence about the change."""
        if not self.old:
            return Text("{name}: {new}", name=self.label, new=_excerpt(self.new))
        if not self.new:
            return Text("{name} removed", name=self.label)
        return Text(
            "{name}: {old} → {new}",
            name=self.label,
            old=_excerpt(self.old),
            new=_excerpt(self.new),
        )


def _excerpt(text: str) -> str:
    """Return a text that fits into a sentence."""
    # Choices are never as long; a text that is cut could not be translated.
    return text if len(text) <= _MAX_IN_SENTENCE else shortened(text, _MAX_IN_SENTENCE)


def label_of(path: str) -> Text:
    """Return the form's label of a place in the text, such as pagination.size."""
    if child := CHILD.fullmatch(path):
        return _child_label(*child.groups())
    if row := ROW.fullmatch(path):
        return row_label(*row.groups())
    if path.startswith("query."):
        return Text("Query parameter {name}", name=path.removeprefix("query."))
    if path == "fields":
        return Text("Order of the fields")
    field = FIELDS_BY_PATH.get(path)
    return as_text(field.label if field else path)


def _child_label(name: str, part: str | None) -> Text:
    """Return the form's label of a list inside the records, or of a part of it."""
    if part is None:
        return Text("List {name}", name=name)
    field = FIELDS_BY_PATH.get(f"children.{part}")
    label = label_of(part) if part.startswith("fields") or not field else field.label
    return Text("List {name}, {part}", name=name, part=label)


def row_label(name: str, part: str | None) -> Text:
    """Return the form's label of a row, or of a part of it."""
    if part is None:
        return Text("Field {name}", name=name)
    label = PART_LABELS.get(part) or as_text(part.removeprefix("options."))
    return Text("Field {name}, {part}", name=name, part=label)


def _value_words(path: str, text: str) -> Text:
    """Return a value of a place as the form shows it; "" where it has none."""
    if path == "schedule":
        return choice_of(text).words()
    field = _field_at(path)
    if field is not None and field.options is not None:
        return _choice_words(field, text)
    if not text:
        return NO_TEXT
    if field is not None and field.kind is Kind.FLAG:
        return Text("yes") if text == "true" else Text("no")
    return row_words(text) if is_row(path) else as_text(_listed_words(text))


def _choice_words(field: Field, text: str) -> Text:
    """Return a choice by its label; without one it is that by default."""
    if not text:
        return field.default.label if isinstance(field.default, Choice) else NO_TEXT
    labels = {str(choice): choice.label for choice in field.options or ()}
    return labels.get(text) or as_text(text)


def _field_at(path: str) -> Field | None:
    """Return the field of a place, also of one in a row."""
    if child := CHILD.fullmatch(path):
        rest = child[2] or ""
        is_inner = rest.startswith("fields")
        return _field_at(rest) if is_inner else FIELDS_BY_PATH.get(f"children.{rest}")
    if row := ROW.fullmatch(path):
        return FIELDS_BY_PATH.get(f"fields.{row[2]}")
    return FIELDS_BY_PATH.get(path)


def is_row(path: str) -> bool:
    """Whether a place is a whole row."""
    if child := CHILD.fullmatch(path):
        return child[2] is None or (child[2].startswith("fields.") and is_row(child[2]))
    row = ROW.fullmatch(path)
    return row is not None and row[2] is None


def row_words(text: str) -> Text:
    """Return a row in words: the field of the API, and the rule if there is one."""
    name, _, rule = text.rpartition(" ")
    if name and rule in set(Transform):
        return Text("{name}, {rule}", name=name, rule=Transform(rule).label)
    return as_text(text)


def _listed_words(text: str) -> str:
    """Return a list of names with commas between them; any other text as it is."""
    if not text.startswith("["):
        return text
    try:
        names = json.loads(text)
    except ValueError:  # it was shortened, or is no list
        return text
    if all(isinstance(name, str) for name in names):
        return ", ".join(names) or text
    return text
