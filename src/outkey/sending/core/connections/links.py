"""Connect links: who has the link connects one account, once, without a user here.

A link is a secret of 43 characters in a URL. Only its hash is stored.
"""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from typing import Any, Self

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.state_shapes import known_members
from outkey.foundation.core.text import Text

PATH = "/connect/"
RANDOM_BYTES = 32
DEFAULT_MINUTES = 15
MOST_MINUTES = 1440
MOST_TRIES = 10  # that did not connect
# Until then an ended link is told from one that never was.
REMEMBERED_SECONDS = 30 * 86_400.0
_TOKEN = re.compile(r"[A-Za-z0-9_-]{43}")


class LinkUnknown(ConfigError):
    """This link is not known here."""


class LinkEnded(ConfigError):
    """This link was used already, has expired, or was replaced by another one."""


@dataclass(frozen=True, slots=True)
class Link:
    """The newest link of a connection."""

    digest: str  # "" once it was used
    expires_at: float
    made_by: str
    return_url: str = ""
    allow_other_account: bool = False
    tries: int = 0  # that were begun

    def is_valid(self, digest: str, now: float) -> bool:
        """Whether this is the link with a hash, and has not expired."""
        return bool(digest) and self.digest == digest and now < self.expires_at

    def is_open(self, digest: str, now: float) -> bool:
        """Whether an account may be connected by the link with a hash."""
        return self.is_valid(digest, now) and self.tries < MOST_TRIES

    def used(self) -> Self:
        """Return the link after an account was connected by it."""
        return replace(self, digest="")

    def tried(self) -> Self:
        """Return the link after another try was begun."""
        return replace(self, tries=self.tries + 1)

    def facts(self) -> dict[str, Any]:
        """Return the link as JSON can hold it."""
        return asdict(self)

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> Self:
        """Undo `facts`."""
        return cls(**known_members(cls, facts))


def digest_of(token: str) -> str:
    """Return the hash that a link is found by; raise for what is not a link."""
    if not _TOKEN.fullmatch(token):
        raise LinkUnknown
    return sha256(token.encode("ascii")).hexdigest()


def check_minutes(minutes: object) -> int:
    """Return for how many minutes a link may be used, else raise."""
    number = minutes if isinstance(minutes, int) else 0
    if 1 <= number <= MOST_MINUTES and minutes is not True:
        return number
    raise ConfigError(
        Text("must be a whole number from 1 to {most}", most=MOST_MINUTES),
        field="minutes",
    )
