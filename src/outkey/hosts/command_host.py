"""The parts of a host that commands need, and the errors where one is missing.

A host of its own passes a `CommandHost` to `outkey.hosts.cli.main.run`.
"""

import os
import pwd
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, Protocol, TypedDict

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.text import Text

if TYPE_CHECKING:
    from outkey.administration.core.access.token_owners import TokenOwner
    from outkey.administration.core.operating.checklist import ProductionFacts
    from outkey.administration.engine.application import Application
    from outkey.administration.engine.editing.administration import Administration
    from outkey.sync.core.run.run import Run


class AccountFacts(TypedDict):
    """The listed facts about an account."""

    name: str
    active: bool
    superuser: bool
    groups: list[str]
    last_login: datetime | None
    owners: list[str] | None  # that the user is limited to; None: all
    tokens: int  # API tokens that the user has created and that are accepted


class UserAccounts(Protocol):
    """The accounts of users who sign in to a host's own pages."""

    def add(
        self,
        name: str,
        *,
        role: str,
        password: str,
        owners: frozenset[str] | None,
        administration: "Administration",
    ) -> str | None:
        """Create a user; return the password if it was generated, for an empty one."""

    def set_owners(
        self,
        name: str,
        owners: frozenset[str] | None,
        *,
        administration: "Administration",
    ) -> list[str]:
        """Limit a user to owners; None ends the limit.

        Returns the names of the user's API tokens that see more, which are revoked.
        """

    def refuse_new(self, name: str, role: str) -> None:
        """Raise ConfigError if no user of that name and role can be created."""

    def list_users(self) -> list[AccountFacts]:
        """Return the facts of all accounts, by name."""

    def disable(self, name: str, *, administration: "Administration") -> list[str]:
        """Refuse further sign-ins of a user, unless no administrator is left.

        Returns the names of the user's API tokens, which are revoked.
        """

    def set_password(
        self, name: str, *, password: str, administration: "Administration"
    ) -> str | None:
        """Replace a password; return it if it was generated, for an empty one."""

    def audit_key(self, name: str) -> str:
        """Return the name of an account in the audit, or raise ConfigError."""

    def export(self, name: str) -> dict[str, object]:
        """Return everything that is stored about a user."""

    def refuse_erasure(self, name: str) -> None:
        """Raise ConfigError if the account must stay."""

    def revoke_tokens(
        self, name: str, *, administration: "Administration"
    ) -> list[str]:
        """Revoke the API tokens that a user has created; return their names."""

    def erase(self, name: str) -> str:
        """Delete an account; return the name that replaces it beside secrets."""

    def prune(self, days: int) -> int:
        """Delete sign-ins older than this and ended sessions; return how many."""


class PagesServer(Protocol):
    """Serves a host's own pages."""

    def __call__(self, address: str, port: int, *, demo: bool) -> None:
        """Serve until the process is stopped."""


class RunWorker(Protocol):
    """Takes queued runs."""

    def __call__(
        self,
        runs_at_once: int,
        log: Callable[[str], None],
        log_run: "Callable[[Run], None]",
    ) -> None:
        """Take runs until the process is stopped."""


@dataclass(frozen=True, slots=True)
class Restored:
    """The result of restoring a backup."""

    version: str  # of outkey, that wrote it
    created_at: str  # ISO 8601
    is_signed: bool  # by a key of this home; else its policy was not restored
    key_file: Path
    is_sealed: bool  # the key is missing or another
    has_other_key: bool  # in the file is a key that does not open the backup
    is_audit_intact: bool  # never without the key
    is_on_hold: bool
    outdated_tokens: Sequence[str]  # configurations with a refresh token
    # How many secrets need them, by their ids.
    retired_keys: Mapping[str, int]
    missing_keys: Mapping[str, int]


class Restore(Protocol):
    """Puts a backup in the place of the data."""

    def __call__(
        self, file: Path, *, replace: bool, accept_unsigned: bool, goes_live: bool
    ) -> Restored:
        """Restore, or raise ConfigError, Sealed or StorageUnavailable."""


def _unknown_facts(_application: "Application | None") -> "ProductionFacts":
    """Return the facts of a host that gathers none."""
    from outkey.administration.core.operating.checklist import ProductionFacts

    return ProductionFacts(now=time.time())


def refuse_command(*_arguments: object, **_options: object) -> NoReturn:
    """Refuse a command that a host does not have."""
    raise ConfigError(
        Text("this application does not have this command"),
        hint=Text("Use the application's own pages and processes for it."),
    )


def refuse_home(_folder: Path) -> None:
    """Refuse another home than that of the application."""
    raise ConfigError(
        Text("--home is for the embedded home, and an application is in use"),
        hint=Text(
            "The settings of the application define where its key and its data are."
        ),
        field="--home",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandHost:
    """The parts of a host that commands use; most of them need only the first two.

    `home_folder` returns the folder of key and data, whether or not the database works.
    """

    open_application: "Callable[[], Application]"
    home_folder: Callable[[], Path]
    use_home: Callable[[Path], None] = refuse_home
    background_process: str = "the background process of the application"
    open_users: "Callable[[], tuple[Application, UserAccounts]]" = refuse_command
    serve: PagesServer = refuse_command
    run_worker: RunWorker = refuse_command
    # Writes a backup to a file, and returns where the key is that it does not have.
    back_up: Callable[[Path, Callable[[int], None]], Path] = refuse_command
    restore: Restore = refuse_command
    # What the production check list is about; without a database that responds, None.
    production_facts: "Callable[[Application | None], ProductionFacts]" = _unknown_facts
    # The users who created API tokens, by name; None where they are not known.
    token_owners: "Callable[[Application], Mapping[str, TokenOwner] | None]" = (
        lambda _application: None
    )


def administration_of(application: "Application") -> "Administration":
    """Return the administration in the name of the user who runs the command."""
    return application.administration(f"cli:{_operating_system_user()}")


def _operating_system_user() -> str:
    """Return the user of the process; LOGNAME and such can say anything."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())
