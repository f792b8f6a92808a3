"""How a configuration stands: what its secrets, its expiry date and its last test say together."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from outkey.core.config.configuration import Configuration
from outkey.core.errors import Cause
from outkey.core.findings.expiry import WARN_DAYS


class Status(StrEnum):
    """One word for a list; what needs attention first comes first."""

    NEEDS_SECRET = "needs_secret"  # noqa: S105 - the name of a status
    REAUTHORIZATION_NEEDED = "reauthorization_needed"
    SEALED = "sealed"
    PAUSED = "paused"
    EXPIRED = "expired"
    FAILING = "failing"
    EXPIRING_SOON = "expiring_soon"
    NEVER_TESTED = "never_tested"
    WORKING = "working"


@dataclass(frozen=True, slots=True)
class Health:
    """What is kept of a configuration for lists, so that they read neither rows nor secrets.

    `current` says that nothing was changed since the last test.
    """

    tested_at: float | None = None
    verified_at: float | None = None
    cause: str = ""
    current: bool = False
    needs_secret: bool = False
    stores_secret: bool = False
    needs_person: bool = False
    expires_on: date | None = None
    refused: int = 0  # answers 401 in a row
    paused_at: float | None = None
    active: bool = True
    seen: Mapping[str, object] = field(
        default_factory=dict
    )  # of the other side, by the last test

    def is_due(self, before: float) -> bool:
        """Tell whether it could be tested, and was tested before that moment."""
        hindered = self.needs_secret or self.needs_person or self.paused_at is not None
        old = self.tested_at is not None and self.tested_at < before
        return old and self.active and not hindered

    def status(self, *, now: float, sealed: bool) -> Status:
        """Return the status to show."""
        today = datetime.fromtimestamp(now, UTC).date()
        ends = self.expires_on or date.max
        soon = today + timedelta(days=WARN_DAYS)
        found = {
            Status.NEEDS_SECRET: self.needs_secret,
            Status.REAUTHORIZATION_NEEDED: (
                self.needs_person
                or (self.current and self.cause == Cause.REAUTHORIZATION_NEEDED)
            ),
            Status.SEALED: sealed and self.stores_secret,
            Status.PAUSED: self.paused_at is not None,
            Status.EXPIRED: ends < today,
            Status.FAILING: self.current and bool(self.cause),
            Status.EXPIRING_SOON: ends <= soon,
            Status.NEVER_TESTED: not self.current,
        }
        return next(
            (status for status, holds in found.items() if holds), Status.WORKING
        )


class Summary(NamedTuple):
    """One line of a list of configurations."""

    name: str
    base_url: str
    authentication_type: str
    environment: str
    network: str
    standing: Health


def needs_secret(configuration: Configuration) -> bool:
    """Tell whether a secret is missing, or was entered for another origin."""
    states = {
        name: configuration.secrets.get(name) for name in configuration.needed_secrets()
    }
    return any(
        state is None or state.origin != configuration.binding_of(name)
        for name, state in states.items()
    )


def stores_secret(configuration: Configuration) -> bool:
    """Tell whether sending opens a secret that is stored here."""
    states = [
        configuration.secrets.get(name) for name in configuration.needed_secrets()
    ]
    return any(state is not None and state.reference is None for state in states)
