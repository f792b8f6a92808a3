"""Variables of collections: `{{name}}`, replaced by what the input itself defines."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from outkey.core.errors import ConfigError
from outkey.core.importing.placeholders import VARIABLE
from outkey.core.text import Text

# A variable may name others twice, and those others again.
MAX_TEXT = 16 * 1024
MAX_VALUE = 8 * 1024
MAX_WORK = 8 * 1024 * 1024  # characters of all texts together
_MAX_ROUNDS = 10


@dataclass(slots=True, repr=False)
class Variables:
    """The values of variables; what is not known stays as it is written."""

    values: dict[str, str] = field(default_factory=dict)
    work: int = 0

    def add(self, values: Mapping[str, str]) -> None:
        """Add values, which replace earlier ones; an empty one is to be entered."""
        self.values |= {
            name: value for name, value in values.items() if 0 < len(value) <= MAX_VALUE
        }

    def resolve(self, text: str) -> str:
        """Return a text with the values of its variables, also nested ones."""
        for _ in range(_MAX_ROUNDS):
            if "{{" not in text or len(text) > MAX_TEXT:
                break
            replaced = VARIABLE.sub(self._value, text)
            self._spend(len(replaced))
            if replaced == text:
                break
            text = replaced
        return text

    def _spend(self, length: int) -> None:
        self.work += length
        if self.work > MAX_WORK:
            raise ConfigError(
                Text("the variables of the input describe too long texts")
            )

    def _value(self, match: re.Match[str]) -> str:
        name = match[1].strip().removeprefix("_.")
        return self.values.get(name, match[0])
