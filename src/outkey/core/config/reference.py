"""References to secrets kept elsewhere, `env:NAME` and `file:PATH`. Adapters resolve them."""

import re
from dataclasses import dataclass
from enum import StrEnum

from outkey.core.errors import ConfigError

_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# outkey's own key is in one of these: no configuration may send it anywhere.
_OWN_PREFIX = "OUTKEY_"


class Store(StrEnum):
    """Where a referenced secret is kept."""

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
    """Tell whether a text has the form of a reference."""
    store, colon, place = text.partition(":")
    return bool(colon and place) and store in set(Store)


def parse_reference(text: str, *, field: str) -> Reference:
    """Read a reference; a literal secret is refused and never repeated."""
    if not is_reference(text):
        message = "a secret in a file must be a reference, not the secret itself"
        hint = "Write env:NAME or file:PATH, and keep the secret there."
        raise ConfigError(message, field=field, hint=hint)
    store, _, place = text.partition(":")
    if store == Store.ENV:
        _check_variable(place, field)
    elif not place.startswith("/") or "\0" in place:
        raise ConfigError("a file reference needs an absolute path", field=field)
    return Reference(Store(store), place)


def _check_variable(name: str, field: str) -> None:
    if not _ENV_NAME.fullmatch(name):
        raise ConfigError("the reference names no environment variable", field=field)
    if name.upper().startswith(_OWN_PREFIX):  # Windows does not tell the cases apart
        raise ConfigError(
            f"variables that start with {_OWN_PREFIX} are outkey's own and cannot be"
            " sent",
            field=field,
        )
