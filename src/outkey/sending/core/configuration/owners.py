"""Owners: which configurations a user or a token sees, and whose new ones are."""

from collections.abc import Iterable
from dataclasses import dataclass

from outkey.foundation.core.errors import ConfigError, ScopeMissing
from outkey.foundation.core.text import Text
from outkey.sending.core.configuration.fields import BY_PATH


@dataclass(frozen=True, slots=True)
class Reach:
    """The configurations that a user or a token may see; None does not limit them.

    `records` are their ids: a name may later be that of another configuration.
    """

    owners: frozenset[str] | None = None
    records: frozenset[str] | None = None

    @property
    def is_limited(self) -> bool:
        """Whether there may be configurations that it does not include."""
        return self.owners is not None or self.records is not None

    def includes(self, record: str, owner: str) -> bool:
        """Whether a configuration with this id and owner may be seen."""
        return (self.records is None or record in self.records) and (
            self.owners is None or owner in self.owners
        )

    def covers(self, owners: frozenset[str] | None) -> bool:
        """Whether a user or token of these owners sees no more than this."""
        if self.owners is None:
            return True
        return owners is not None and owners <= self.owners

    def owner_for(self, owner: str, before: str = "") -> str:
        """Return the owner that a saved configuration gets.

        Without a limit it is the one that was entered. With one, none means the owner
        that it had `before`, or the only one of the limit; ConfigError if there are
        several, ScopeMissing for an owner that is not in the limit.
        """
        if self.owners is None:
            return owner
        chosen = owner or before
        if not chosen and len(self.owners) == 1:
            (chosen,) = self.owners
        if not chosen and self.owners:
            raise ConfigError(
                Text("the owner is missing"),
                hint=Text(
                    "Choose one of {names}.", names=", ".join(sorted(self.owners))
                ),
                field="owner",
            )
        if chosen not in self.owners:
            raise out_of_reach()
        return chosen


EVERYTHING = Reach()
NOTHING = Reach(owners=frozenset())


def read_owners(texts: Iterable[str]) -> frozenset[str] | None:
    """Return the owners of a limit; None without any, for no limit."""
    owners = frozenset(map(_read_owner, texts))
    return owners or None


def _read_owner(text: str) -> str:
    owner = str(BY_PATH["owner"].parse(text))
    if not owner:
        raise ConfigError(
            Text("an owner must not be empty"),
            hint=Text(
                "Leave it out for a user or token that sees the configurations of all."
            ),
            field="owner",
        )
    return owner


def out_of_reach() -> ScopeMissing:
    """Return the error for what would belong to another owner."""
    return ScopeMissing(
        Text("this belongs to another owner"),
        hint=Text("Choose an owner whose configurations you see."),
        field="owner",
    )
