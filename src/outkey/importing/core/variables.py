"""Variables of collections: `{{name}}`, replaced by what the input itself defines."""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.text import Text
from outkey.sending.core.configuration.placeholders import (
    VARIABLE,
    is_secret_parameter,
    is_secret_variable,
)

# A variable may name others twice, and those others again.
MAX_TEXT = 16 * 1024
MAX_VALUE = 8 * 1024
MAX_WORK = 8 * 1024 * 1024  # characters of all texts together
_MAX_ROUNDS = 10
_USER_OF_URL = re.compile(r"(?:[A-Za-z+]+://[^/?#]*@)?")


@dataclass(slots=True, repr=False)
class Variables:
    """The values of variables; what is not known stays as it is written."""

    values: dict[str, str] = field(default_factory=dict)
    secret: set[str] = field(default_factory=set)
    work: int = 0

    def add(self, values: Mapping[str, str], secret: Collection[str] = ()) -> None:
        """Add values, which replace earlier ones; an empty one is to be entered.

        Those that are `secret` are so by their declaration, others by their name.
        """
        self.values |= {
            name: value for name, value in values.items() if 0 < len(value) <= MAX_VALUE
        }
        self.secret |= {*secret, *filter(is_secret_variable, values)}

    def resolve(self, text: str) -> str:
        """Return a text with the values of its variables, also nested ones."""
        return self._resolve(text, self._value)

    def resolve_named(self, name: str, text: str) -> str:
        """Return the value of a header or parameter.

        Only one that is stored as a secret itself gets the value of a secret variable.
        """
        is_kept = is_secret_parameter(name)
        return self._resolve(text, self._value if is_kept else self._plain_value)

    def resolve_url(self, url: str) -> str:
        """Return a URL; its path, which is not secret, gets no secret variable."""
        user = _USER_OF_URL.match(url)
        end = user.end() if user else 0
        before, mark, query = url[end:].partition("?")
        parts = (part.partition("=") for part in query.split("&"))
        resolved = (f"{n}{s}{self.resolve_named(n, v)}" for n, s, v in parts)
        path = self._resolve(before, self._plain_value)
        return self.resolve(url[:end]) + path + mark + "&".join(resolved)

    def _resolve(self, text: str, value: Callable[[re.Match[str]], str]) -> str:
        for _ in range(_MAX_ROUNDS):
            if "{{" not in text or len(text) > MAX_TEXT:
                break
            replaced = VARIABLE.sub(value, text)
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
        return self.values.get(_name(match), match[0])

    def _plain_value(self, match: re.Match[str]) -> str:
        return match[0] if _name(match) in self.secret else self._value(match)


def _name(match: re.Match[str]) -> str:
    return match[1].strip().removeprefix("_.")
