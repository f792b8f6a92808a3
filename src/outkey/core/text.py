"""Texts for users as data: an English template and its values.

A host translates the template and fills in the values; nothing parses a finished
sentence. Everywhere else a `Text` is the English sentence itself, so that it can be
printed, compared and written as JSON like any other string.
"""

from collections.abc import Callable, Iterable
from typing import Self


class Text(str):
    """A sentence for users that remembers its template and values.

    >>> Text("must be from {low} to {high}", low=1, high=9)
    'must be from 1 to 9'

    Values may be texts themselves: these are translated too. A literal brace in a
    template is doubled, as for `str.format`.
    """

    __slots__ = ("template", "values")
    template: str
    values: dict[str, object]

    def __new__(cls, template: str, /, **values: object) -> Self:
        """Render the template in English."""
        text = super().__new__(cls, template.format(**values))
        text.template = template
        text.values = values
        return text

    def __getnewargs_ex__(self) -> tuple[tuple[str], dict[str, object]]:
        """Let copies and pickles be made from the template, not from the sentence."""
        return (self.template,), self.values

    def translate_with(self, gettext: Callable[[str], str]) -> str:
        """Return the sentence in another language.

        `gettext` returns the translation of a template, or the template itself.
        """
        values = {
            name: value.translate_with(gettext) if isinstance(value, Text) else value
            for name, value in self.values.items()
        }
        return gettext(self.template).format(**values)


def join_texts(texts: Iterable[str], separator: str = " ") -> Text:
    """Return several texts as one; each `Text` is translated on its own."""
    parts = {f"part{number}": text for number, text in enumerate(texts)}
    return Text(separator.join(f"{{{name}}}" for name in parts), **parts)
