"""Values from external stores, and the reads that one send has made."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, NoReturn, Protocol

from outkey.foundation.core.errors import SecretMissing
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.text import Text
from outkey.sending.core.audit.events import SecretSource
from outkey.sending.core.backends.settings import Backend
from outkey.sending.core.configuration.reference import joined_path

LONGEST_SECRET = 64 * 1024
_REFUSALS = {
    "backend-denied": Text("outkey may not read this secret"),
    "secret-absent": Text("there is no such secret"),
    "secret-deleted": Text("the secret was deleted or disabled"),
    "version-absent": Text("the secret does not have this version"),
    "field-absent": Text("the secret does not have this field"),
    "secret-empty": Text("the secret is empty"),
    "secret-not-text": Text("the secret is not a text"),
    "secret-too-large": Text("the secret is larger than 64 KiB"),
    "title-ambiguous": Text("several items have this title"),
}
_HINTS = {
    "backend-denied": Text(
        "Let outkey read exactly this path in the store, and check its log-in with:"
        " outkey backend check"
    ),
    "secret-deleted": Text(
        "Restore or enable the secret in the store, or name another version."
    ),
    "secret-not-text": Text(
        "Store a text: numbers, lists and objects are not sent as secrets."
    ),
    "title-ambiguous": Text("Give each item its own title, or name it by its id."),
}
_COMPARE = Text(
    "Compare path, field and version of the reference with what the store has."
)


def refuse_value(reason: str, backend: Backend) -> NoReturn:
    """Raise the error for a secret that a backend does not return as one."""
    # For programs, two items of one title are a secret that is not there.
    raise SecretMissing(
        Text(
            "the backend {backend}: {problem}",
            backend=backend.name,
            problem=_REFUSALS[reason],
        ),
        hint=_HINTS.get(reason, _COMPARE),
        reason="secret-absent" if reason == "title-ambiguous" else reason,
    )


class StoredValue(Protocol):
    """The value of one path and version, as its store returned it."""

    @property
    def version(self) -> str:
        """The version as the store names it."""

    def pick(self, member: str, backend: Backend) -> Secret:
        """Return the secret of a field, or raise SecretMissing."""


@dataclass(frozen=True, slots=True)
class NamedFields:
    """A secret that consists of fields; one that is not a text is None."""

    fields: Mapping[str, Secret | None] = field(repr=False)
    version: str = ""

    def pick(self, member: str, backend: Backend) -> Secret:
        """Return the secret of a field, or raise SecretMissing."""
        if member not in self.fields:
            refuse_value("field-absent", backend)
        return checked_secret(self.fields[member], backend)


@dataclass(frozen=True, slots=True)
class WholeText:
    """A secret that is one text, which may be a JSON object with members."""

    text: Secret
    version: str = ""

    def pick(self, member: str, backend: Backend) -> Secret:
        """Return the text, or the member of it, or raise SecretMissing."""
        if not member:
            return checked_secret(self.text, backend)

        def find(text: str) -> str:
            try:
                value = json.loads(text)
            except (ValueError, RecursionError):
                refuse_value("field-absent", backend)
            for name in member.split("."):
                if not isinstance(value, dict) or name not in value:
                    refuse_value("field-absent", backend)
                value = value[name]
            if not isinstance(value, str):
                refuse_value("secret-not-text", backend)
            return value

        return checked_secret(self.text.derive(find), backend)


def checked_secret(secret: Secret | None, backend: Backend) -> Secret:
    """Return a secret that can be sent, or raise SecretMissing."""
    if secret is None:
        refuse_value("secret-not-text", backend)
    if not secret:
        refuse_value("secret-empty", backend)
    if secret.wire_length > LONGEST_SECRET:
        refuse_value("secret-too-large", backend)
    return secret


class StoreKey(NamedTuple):
    """The unit of a read: a path of a backend in one version, the newest if ""."""

    backend: Backend
    store: str
    path: tuple[str, ...]
    version: str

    @property
    def shown_path(self) -> str:
        """The path as it is shown to operators and recorded."""
        return joined_path(self.path)


@dataclass(frozen=True, slots=True)
class Read:
    """One value as a send got it; one from the cache is shared by many sends."""

    key: StoreKey
    value: StoredValue
    read_at: float  # by the monotonic clock
    cached: bool
    ms: int
    _secrets: dict[str, Secret] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _sources: dict[str, SecretSource] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def pick(self, member: str) -> Secret:
        """Return the secret of a member, or raise SecretMissing."""
        secret = self._secrets.get(member)
        if secret is None:
            secret = self.value.pick(member, self.key.backend)
            self._secrets[member] = secret
        return secret

    def source(self, name: str) -> SecretSource:
        """Return where the secret of a configuration's field comes from."""
        source = self._sources.get(name)
        if source is None:
            backend = self.key.backend
            source = self._sources[name] = SecretSource(
                field=name,
                backend=backend.name,
                path="" if backend.private else self.key.shown_path,
                version=self.value.version,
                cached=self.cached,
                ms=self.ms,
            )
        return source


class Reads:
    """The reads of one send: each path and version once, so no pair is torn."""

    def __init__(self) -> None:
        self.by_key: dict[StoreKey, Read] = {}
        # The field of the configuration, what it was read from, and its member there.
        self.fields: dict[str, tuple[Read, str]] = {}

    def add(self, name: str, source: tuple[Read, str]) -> bool:
        """Add what a field was read from; return False if this send has another read.

        All fields of a path and version come from one read.
        """
        read = source[0]
        if self.by_key.setdefault(read.key, read) is not read:
            return False
        self.fields[name] = source
        return True

    def sources(self) -> tuple[SecretSource, ...]:
        """Return where the secrets come from."""
        return tuple(
            [self.fields[name][0].source(name) for name in sorted(self.fields)]
        )

    def secret(self, name: str) -> Secret:
        """Return the secret that was read for a field of the configuration."""
        read, member = self.fields[name]
        return read.pick(member)
