"""Tokens of the HTTP interface: what a program may do, and until when.

Of a token only its SHA-256 is stored. It is random and 256 bits long, so that the hash
needs no salt and no slow function: a random token cannot be guessed.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from hashlib import sha256
from typing import Any, Self

from outkey.foundation.core.errors import ConfigError, ScopeMissing
from outkey.foundation.core.moments import parse_iso
from outkey.foundation.core.state_shapes import known_members
from outkey.foundation.core.text import Text
from outkey.sending.core.configuration.owners import Reach

PREFIX = "ok_"
RANDOM_BYTES = 32  # 43 characters in URL-safe Base64
DEFAULT_PER_MINUTE = 6000
MOST_PER_MINUTE = 1_000_000
_TOKEN = re.compile(r"ok_[A-Za-z0-9_-]{43}")


class Scope(StrEnum):
    """The scope of a token; `manage` includes `read`."""

    READ = "read"
    SEND = "send"
    MANAGE = "manage"
    RUN = "run"
    AUDIT = "audit"
    DATA = "data"


class ApiTokenState(StrEnum):
    """Whether a token is accepted."""

    ACTIVE = "active"
    EXPIRED = "expired"
    REVOKED = "revoked"
    CHANGED = "changed"  # outside of outkey


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiToken:
    """A token of the HTTP interface as it is stored.

    `records` are the ids of the configurations that it is for, None for all of them.
    They are ids and not names: a configuration that later gets the name of a deleted
    one is another one. `owners` are those whose configurations it is for.
    """

    name: str
    digest: str
    scopes: frozenset[Scope]
    created_at: float
    created_by: str
    records: frozenset[str] | None = None
    owners: frozenset[str] | None = None
    expires_at: float | None = None
    revoked_at: float | None = None
    allow_internal: bool = False
    allow_targets: bool = False  # of lines, other than tables of outkey
    per_minute: int = DEFAULT_PER_MINUTE
    is_changed: bool = field(default=False, compare=False)  # outside of outkey

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> Self:
        """Return the token that `facts` describes; ValueError for an unknown scope."""
        records = facts["records"]
        owners = facts.get("owners")
        return cls(
            **{
                **known_members(cls, facts),
                "scopes": frozenset(map(Scope, facts["scopes"])),
                "records": None if records is None else frozenset(records),
                "owners": None if owners is None else frozenset(owners),
            }
        )

    def facts(self) -> dict[str, object]:
        """Return the token as JSON can hold it."""
        return {
            "name": self.name,
            "digest": self.digest,
            "scopes": sorted(self.scopes),
            "created_at": self.created_at,
            "created_by": self.created_by,
            "records": None if self.records is None else sorted(self.records),
            "owners": None if self.owners is None else sorted(self.owners),
            "expires_at": self.expires_at,
            "revoked_at": self.revoked_at,
            "allow_internal": self.allow_internal,
            "allow_targets": self.allow_targets,
            "per_minute": self.per_minute,
        }

    @property
    def extras(self) -> tuple[str, ...]:
        """The options that give it more than its scopes, as the audit names them."""
        options = (
            ("allow-internal", self.allow_internal),
            ("allow-targets", self.allow_targets),
        )
        return tuple(name for name, is_given in options if is_given)

    @property
    def actor(self) -> str:
        """The name that the audit has for the program with the token."""
        return f"token:{self.name}"

    def state(self, now: float) -> ApiTokenState:
        """Return whether the token is accepted at this moment."""
        if self.is_changed:
            return ApiTokenState.CHANGED
        if self.revoked_at is not None:
            return ApiTokenState.REVOKED
        if self.expires_at is not None and self.expires_at <= now:
            return ApiTokenState.EXPIRED
        return ApiTokenState.ACTIVE

    def is_active(self, now: float) -> bool:
        """Whether the token is accepted at this moment."""
        return self.state(now) is ApiTokenState.ACTIVE

    def revoked(self, at: float) -> Self:
        """Return the token as it is after a revocation; the first one counts."""
        return self if self.revoked_at is not None else replace(self, revoked_at=at)

    @property
    def reach(self) -> Reach:
        """The configurations that the token is for."""
        return Reach(self.owners, self.records)

    def demand(self, *scopes: Scope) -> None:
        """Raise ScopeMissing unless the token has one of these scopes."""
        granted = set(self.scopes)
        if Scope.MANAGE in granted:
            granted.add(Scope.READ)
        if granted.isdisjoint(scopes):
            needed = " or ".join(scopes)
            raise ScopeMissing(
                Text("this token lacks the scope {scope}", scope=needed),
                hint=Text(
                    "Create one that has it: outkey api-token create NAME --scope"
                    " {scope}",
                    scope=scopes[0],
                ),
            )


def digest_of(text: str) -> str | None:
    """Return the digest that a token is stored as; None if it cannot be a token."""
    if not _TOKEN.fullmatch(text):
        return None
    return sha256(text.encode()).hexdigest()


def token_of_header(value: str) -> str:
    """Return the token in the value of an Authorization header; "" for none."""
    scheme, _, token = value.partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def read_scopes(texts: Iterable[str]) -> frozenset[Scope]:
    """Return scopes by their names; one text may have several with commas."""
    names = [name.strip() for text in texts for name in text.split(",")]
    known = [str(scope) for scope in Scope]
    if not names or any(name not in known for name in names):
        raise ConfigError(
            Text("a token needs at least one scope, and known ones only"),
            hint=Text("Choose among {names}.", names=", ".join(known)),
            field="scope",
        )
    return frozenset(map(Scope, names))


def read_expiry(text: str) -> float:
    """Return the moment at which a token expires.

    A date includes its whole day in UTC; a time of the day is exact.
    """
    try:
        day = date.fromisoformat(text) if len(text) == len("2030-01-31") else None
    except ValueError:
        day = None
    if day is not None:
        midnight = datetime.combine(day, time(), UTC)
        return midnight.timestamp() + timedelta(days=1).total_seconds()
    moment = parse_iso(text)
    if moment is None:
        raise ConfigError(
            Text("this is not a date"),
            hint=Text("Write it as 2030-01-31 or 2030-01-31T18:00:00Z."),
            field="expires",
        )
    return moment.timestamp()


def read_per_minute(number: int) -> int:
    """Return how many requests a minute a token may make."""
    if not 1 <= number <= MOST_PER_MINUTE:
        raise ConfigError(
            Text("must be from 1 to {most}", most=MOST_PER_MINUTE), field="per_minute"
        )
    return number
