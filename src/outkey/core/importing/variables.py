"""Variables of collections: `{{name}}`, replaced by what the input itself defines."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from outkey.core.importing.placeholders import VARIABLE

MAX_TEXT = 16 * 1024  # a variable may name others twice, and those others again
_MAX_ROUNDS = 10


@dataclass(slots=True, repr=False)
class Variables:
    """The values of variables; what is not known stays as it is written."""

    values: dict[str, str] = field(default_factory=dict)

    def add(self, values: Mapping[str, str]) -> None:
        """Add values, which replace earlier ones; an empty one is to be entered."""
        self.values |= {name: value for name, value in values.items() if value}

    def resolve(self, text: str) -> str:
        """Return a text with the values of its variables, also nested ones."""
        for _ in range(_MAX_ROUNDS):
            replaced = VARIABLE.sub(self._value, text)
            if replaced == text or len(replaced) > MAX_TEXT:
                break
            text = replaced
        return text

    def _value(self, match: re.Match[str]) -> str:
        name = match[1].removeprefix("_.").strip()
        return self.values.get(name, match[0])
