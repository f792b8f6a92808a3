"""Texts for users as data: an English template and its values.

A host translates the template and fills in the values; nothing parses a finished
sentence. Everywhere else a `Text` is the English sentence itself, so that it can be
printed, compared and written as JSON like any other string.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from string import Formatter
from typing import Self


class Text(str):
    """A sentence for users that remembers its template and values.

    >>> Text("must be from {low} to {high}", low=1, high=9)
    'must be from 1 to 9'

    Values may be texts themselves: these are translated too. `{name:sentence}` writes
    such a text with a capital letter and a full stop. A literal brace in a template is
    doubled, as for `str.format`.
    """

    __slots__ = ("template", "values")
    template: str
    values: dict[str, str | int | float]

    def __new__(cls, template: str, /, **values: object) -> Self:
        """Render the template in English."""
        plain = {
            # Other objects are not stored: they could hold more than they show.
            name: value if isinstance(value, str | int | float) else str(value)
            for name, value in values.items()
        }
        text = super().__new__(cls, template.format(**plain))
        text.template = template
        text.values = plain
        return text

    def translate_with(self, gettext: Callable[[str], str]) -> str:
        """Return the sentence in another language.

        `gettext` returns the translation of a template, or the template itself.
        """
        if not self.template:  # gettext would return the header of its catalogue
            return ""
        values = {
            name: (
                Text("{text}", text=value.translate_with(gettext))
                if isinstance(value, Text)
                else value
            )
            for name, value in self.values.items()
        }
        return gettext(self.template).format(**values)

    def to_json(self) -> str:
        """Return template and values as JSON, to be stored and translated later."""
        return json.dumps(text_data(self), ensure_ascii=False)

    @staticmethod
    def from_json(stored: str) -> "Text":
        """Undo `to_json`; any other string becomes a text without translation."""
        try:
            return text_from_data(json.loads(stored))
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            return as_text(stored)

    def __format__(self, spec: str) -> str:
        if spec != "sentence":
            return super().__format__(spec)
        end = "" if self.endswith((".", "?", "!")) else "."
        return f"{self[:1].upper()}{self[1:]}{end}"

    def __reduce__(self) -> tuple[object, ...]:
        # A string would be rebuilt from its sentence, which is not a template.
        return build_text, (self.template, self.values)


def counted(count: int, one: Text, many: Text) -> Text:
    """Return the text for one, or that for any other number."""
    return one if count == 1 else many


def build_text(template: str, values: Mapping[str, object]) -> Text:
    """Return a text whose template comes from a table or a store."""
    return Text(template, **values)


NO_TEXT = build_text("", {})


def as_text(text: str) -> Text:
    """Return a text as it is, and a plain string as a text without translation."""
    return text if isinstance(text, Text) else Text("{text}", text=text)


def join_texts(texts: Iterable[str], separator: str = " ") -> Text:
    """Return several texts as one; each `Text` is translated on its own."""
    parts = {f"part{number}": text for number, text in enumerate(texts)}
    return Text(separator.join(f"{{{name}}}" for name in parts), **parts)


def text_data(text: Text) -> dict[str, object]:
    """Return a text as JSON data: its template, and its values where it has some."""
    values = {
        name: text_data(value) if isinstance(value, Text) else value
        for name, value in text.values.items()
    }
    return (
        {"text": text.template, "values": values} if values else {"text": text.template}
    )


def text_from_data(data: Mapping[str, object]) -> Text:
    """Undo `text_data`; raise ValueError, LookupError or TypeError if invalid."""
    template = data["text"]
    values = data.get("values", {})
    if not isinstance(template, str) or not isinstance(values, dict):
        raise TypeError("not a stored text")
    for _, name, spec, conversion in Formatter().parse(template):
        # Others could read attributes, or write a gigabyte of spaces.
        if (
            conversion
            or spec not in {None, "", "sentence"}
            or name not in {None, *values}
        ):
            raise ValueError("not a template of outkey")
    return build_text(
        template,
        {
            name: text_from_data(value) if isinstance(value, dict) else value
            for name, value in values.items()
        },
    )
