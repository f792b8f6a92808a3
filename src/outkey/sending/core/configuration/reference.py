"""References to secrets stored elsewhere: `env:NAME` and `file:PATH`."""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.text import Text

VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# outkey's own key is in a variable with this prefix; it must never be sent.
OWN_PREFIX = "OUTKEY_"


class Store(StrEnum):
    """Where a referenced secret is stored."""

    ENV = "env"
    FILE = "file"


@dataclass(frozen=True, slots=True)
class Reference:
    """The place of one secret."""

    store: Store
    place: str

    def __str__(self) -> str:
        return f"{self.store}:{self.place}"


def is_reference(text: str) -> bool:
    """Whether a text has the form of a reference."""
    store, colon, place = text.partition(":")
    return bool(colon and place) and store in set(Store)


def parse_reference(text: str, *, field: str) -> Reference:
    """Return a reference; a literal secret is refused and never repeated."""
    if not is_reference(text):
        raise ConfigError(
            Text("a secret in a document must be a reference, not the secret itself"),
            hint=Text("Write env:NAME or file:PATH, and store the secret there."),
            field=field,
        )
    name, _, place = text.partition(":")
    store = Store(name)
    match store:
        case Store.ENV:
            _refuse_wrong_variable(place, field)
        case Store.FILE:
            _refuse_wrong_path(place, field)
        case _:
            assert_never(store)
    return Reference(store, place)


def _refuse_wrong_path(path: str, field: str) -> None:
    """Refuse what cannot be an absolute path."""
    if not path.startswith("/") or "\0" in path:
        raise ConfigError(
            Text("a reference to a file needs an absolute path"), field=field
        )


def _refuse_wrong_variable(name: str, field: str) -> None:
    """Refuse what cannot be an environment variable, and those of outkey itself."""
    if not VARIABLE_NAME.fullmatch(name):
        raise ConfigError(
            Text("the reference does not name an environment variable"), field=field
        )
    if name.upper().startswith(OWN_PREFIX):  # Windows ignores the case of letters
        raise ConfigError(
            Text(
                "variables that begin with {prefix} are outkey's own and are never"
                " sent",
                prefix=OWN_PREFIX,
            ),
            field=field,
        )
