"""A connection: one account under a configuration, as it is stored."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

# No configuration has a name that begins so.
_MARK = "\n"
USE_SECONDS = 60.0  # how exactly it is stored when a connection was used last


class ConnectionState(StrEnum):
    """What a list shows of a connection."""

    NEW = "new"  # it never had all that it needs
    WORKING = "working"
    NEEDS_PERSON = "needs_person"  # consent or a secret is needed again
    PAUSED = "paused"


class ConnectionQuery(NamedTuple):
    """Which connections a list shows, by id."""

    state: ConnectionState | None = None
    owner: str | None = None
    prefix: str = ""  # of the ids
    after: str = ""  # the last id that was shown before
    limit: int = 100


@dataclass(frozen=True, slots=True)
class Connection:
    """The facts about an account that are not those of its configuration."""

    id: str
    configuration: str  # the record of the configuration that it is under
    owner: str = ""
    username: str = ""
    client_id: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)
    active: bool = True  # an operator has not paused it
    created_at: float | None = None
    connected_at: float | None = None  # when it first had all that it needs
    last_used_at: float | None = None

    def is_use_to_note(self, at: float) -> bool:
        """Whether a use is stored: not each one, so that not every request writes."""
        noted = self.last_used_at
        return noted is None or not 0 <= at - noted < USE_SECONDS

    def protected_facts(self) -> list[object]:
        """Return what decides whose account it is, and where secrets are sent."""
        return [
            self.configuration,
            self.id,
            self.owner,
            self.username,
            self.client_id,
            dict(self.variables),
        ]


def account_name(configuration: str, connection: str) -> str:
    """Return the name that a connection is stored and counted under.

    By the record of its configuration, so that renaming that changes nothing.
    """
    return f"{_MARK}{configuration}{_MARK}{connection}"


def is_account_name(name: str) -> bool:
    """Whether a name is that of a connection, and not of a configuration."""
    return name.startswith(_MARK)


def parse_account_name(name: str) -> tuple[str, str]:
    """Return the configuration's record and the id of a connection."""
    _, configuration, connection = name.split(_MARK)
    return configuration, connection


def connection_record(record: str, configuration: str, connection: str) -> str:
    """Return the record of a connection, which secrets and tokens are sealed for.

    A ciphertext is bound to the configuration and to the connection by it: it does not
    open in the row of another account.
    """
    return f"{record}/{configuration}/{connection}"


def row_of_record(record: str) -> str:
    """Return the id of the row that a record is stored in."""
    return record.partition("/")[0]
