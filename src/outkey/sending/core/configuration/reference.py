"""References to secrets stored elsewhere.

`env:NAME`, `file:PATH` and `credential:NAME` are on this machine. All others are in an
external store: `STORE:[BACKEND/]PATH[#FIELD][@VERSION]`.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never
from urllib.parse import unquote

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.text import Text

VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# outkey's own key is in a variable with this prefix; it must never be sent.
OWN_PREFIX = "OUTKEY_"


class Store(StrEnum):
    """Where a referenced secret is stored."""

    ENV = "env"
    FILE = "file"
    CREDENTIAL = "credential"
    VAULT = "vault"
    AWS_SECRET = "aws-secret"  # noqa: S105 - the name of a store
    AWS_PARAMETER = "aws-parameter"
    AZURE_SECRET = "azure-secret"  # noqa: S105 - the name of a store
    GCP_SECRET = "gcp-secret"  # noqa: S105 - the name of a store
    OP = "op"


LOCAL = frozenset({Store.ENV, Store.FILE, Store.CREDENTIAL})
_NEEDS_FIELD = frozenset({Store.VAULT, Store.OP})
_NUMBERED = frozenset({Store.VAULT, Store.AWS_PARAMETER, Store.GCP_SECRET})
_VERSION_NUMBER = re.compile(r"[1-9][0-9]{0,17}")
_VERSION_ID = re.compile(r"[0-9A-Za-z]+")  # of Azure; it is a part of the path
_WRONG_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffd]")
_LONGEST_PLACE = 1024


@dataclass(frozen=True, slots=True)
class StorePlace:
    """The parts of a reference into an external store, decoded.

    The first segment may be the name of a backend, which only the operator's file
    shows.
    """

    segments: tuple[str, ...]
    field: str = ""
    version: str = ""

    @property
    def path(self) -> str:
        """The segments as one text."""
        return joined_path(self.segments)


@dataclass(frozen=True, slots=True)
class Reference:
    """The place of one secret."""

    store: Store
    place: str

    def __str__(self) -> str:
        return f"{self.store}:{self.place}"

    @property
    def is_external(self) -> bool:
        """Whether the secret is read over the network."""
        return self.store not in LOCAL


def joined_path(segments: Iterable[str]) -> str:
    """Return segments as one text; a slash inside of a title separates nothing."""
    return "/".join(segment.replace("/", "%2F") for segment in segments)


def is_reference(text: str) -> bool:
    """Whether a text has the form of a reference."""
    store, colon, place = text.partition(":")
    return bool(colon and place) and store in set(Store)


def parse_reference(text: str, *, field: str) -> Reference:
    """Return a reference; a literal secret is refused and never repeated."""
    if not is_reference(text):
        raise ConfigError(
            Text("a secret in a document must be a reference, not the secret itself"),
            hint=Text(
                "Write env:NAME, file:PATH or a reference into an external store, and"
                " store the secret there."
            ),
            field=field,
        )
    name, _, place = text.partition(":")
    store = Store(name)
    match store:
        case Store.ENV:
            _refuse_wrong_variable(place, field)
        case Store.FILE:
            _refuse_wrong_path(place, field)
        case Store.CREDENTIAL:
            _refuse_wrong_credential(place, field)
        case (
            Store.VAULT
            | Store.AWS_SECRET
            | Store.AWS_PARAMETER
            | Store.AZURE_SECRET
            | Store.GCP_SECRET
            | Store.OP
        ):
            parse_place(Reference(store, place), field=field)
        case _:
            assert_never(store)
    return Reference(store, place)


def parse_place(reference: Reference, *, field: str) -> StorePlace:
    """Return the parts of a reference into an external store, or refuse it."""
    store = reference.store
    path, mark, version = reference.place.partition("@")
    path, hash_sign, member = path.partition("#")
    if len(reference.place) > _LONGEST_PLACE:
        raise _place_error(Text("it is too long"), field)
    if (mark and not version) or (hash_sign and not member):
        raise _place_error(Text("a part of it is empty"), field)
    if any(sign in version + member for sign in "#@"):
        hint = Text("Write # as %23, @ as %40 and % as %25 inside of a part.")
        raise _place_error(Text("it has # or @ twice"), field, hint)
    segments = tuple(_decoded(part, field) for part in path.split("/"))
    # Only the titles of 1Password may have a slash: elsewhere it would be another path.
    if store is not Store.OP and any("/" in segment for segment in segments):
        raise _place_error(Text("a segment has an encoded slash"), field)
    if any(not step.strip(" ") or step in {".", ".."} for step in segments):
        raise _place_error(Text("a segment of the path is empty, . or .."), field)
    place = StorePlace(segments, _decoded(member, field), _decoded(version, field))
    if store in _NEEDS_FIELD and not place.field:
        hint = Text("Add the name of the field after a #, such as #password.")
        raise _place_error(Text("it names no field"), field, hint)
    if store is Store.AZURE_SECRET and not _VERSION_ID.fullmatch(place.version or "0"):
        raise _place_error(Text("the version has letters and digits only"), field)
    if store is Store.OP and place.version:
        raise _place_error(Text("this store has no versions"), field)
    if store in _NUMBERED and not _VERSION_NUMBER.fullmatch(place.version or "1"):
        raise _place_error(Text("the version must be a number from 1"), field)
    return place


def _decoded(part: str, field: str) -> str:
    if _WRONG_ESCAPE.search(part):
        hint = Text("Write # as %23, @ as %40 and % as %25 inside of a part.")
        raise _place_error(Text("a percent sign begins no code"), field, hint)
    text = unquote(part)
    if _CONTROL.search(text):
        raise _place_error(Text("it has control characters"), field)
    return text


def _place_error(problem: Text, field: str, hint: Text | None = None) -> ConfigError:
    return ConfigError(
        Text("the reference is invalid: {problem}", problem=problem),
        hint=hint,
        field=field,
    )


def _refuse_wrong_credential(name: str, field: str) -> None:
    """Refuse what cannot be the name of a file in systemd's folder."""
    if "/" in name or name in {".", ".."} or _CONTROL.search(name):
        raise ConfigError(
            Text("the reference does not name a credential of systemd"), field=field
        )


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
