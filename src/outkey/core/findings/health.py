"""The health of a configuration: its secrets, its expiry date, its last test, refusals."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from outkey.core.config.configuration import Configuration
from outkey.core.errors import Cause
from outkey.core.findings.checks import WARN_DAYS


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
    """What lists show of a configuration, stored so that they read no rows or secrets.

    Each change of it is one of the methods `after_…`, the same for every host.
    """

    tested_at: float | None = None
    verified_at: float | None = None  # when a test succeeded last
    cause: str = ""  # why the last test failed
    current: bool = False  # nothing was changed since the last test
    needs_secret: bool = False
    stores_secret: bool = False
    needs_person: bool = False  # a user must allow the access again
    expires_on: date | None = None
    refused: int = 0  # responses 401 in a row
    paused_at: float | None = None
    active: bool = True
    seen: Mapping[str, object] = field(default_factory=dict)  # of the API, by a test

    def after_change(self, configuration: Configuration) -> "Health":
        """Return the health after the settings or secrets became these.

        What was refused or tested before says nothing about them.
        """
        return replace(
            self.after_success(),
            current=False,
            needs_secret=needs_secret(configuration),
            stores_secret=stores_secret(configuration),
            needs_person=False,
            expires_on=configuration.expires_on,
            active=configuration.active,
        )

    def after_test(
        self, at: float, cause: str, seen: Mapping[str, object] | None = None
    ) -> "Health":
        """Return the health after a test; without a cause it succeeded.

        What an earlier test saw of the API stays until a test sees something.
        """
        health = replace(
            self, tested_at=at, cause=cause, current=True, seen=seen or self.seen
        )
        if cause:
            return health
        return replace(health.after_success(), verified_at=at)

    def after_refusal(self) -> "Health":
        """Return the health after a response 401."""
        return replace(self, refused=self.refused + 1)

    def after_success(self) -> "Health":
        """Return the health after the API accepted the credentials: a pause ends."""
        return replace(self, refused=0, paused_at=None)

    def after_pause(self, at: float) -> "Health":
        """Return the health after sending was paused.

        Without refusals the credentials were replaced in the meantime: no pause.
        """
        if not self.refused or self.paused_at is not None:
            return self
        return replace(self, paused_at=at)

    def after_token(self, *, dead: bool, renewed: bool) -> "Health":
        """Return the health after the state of the OAuth 2.0 token changed.

        A dead token needs a user; a new one disproves a test that needed a user.
        """
        health = replace(self, needs_person=dead)
        if renewed and self.cause == Cause.REAUTHORIZATION_NEEDED:
            return replace(health, cause="", current=False)
        return health

    def is_due(self, before: float) -> bool:
        """Whether it could be tested, and was tested before that moment."""
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
    """Whether a secret is missing, or was entered for another origin."""
    states = {
        name: configuration.secrets.get(name) for name in configuration.needed_secrets()
    }
    return any(
        state is None or state.origin != configuration.binding_of(name)
        for name, state in states.items()
    )


def stores_secret(configuration: Configuration) -> bool:
    """Whether sending opens a secret that is stored here."""
    states = [
        configuration.secrets.get(name) for name in configuration.needed_secrets()
    ]
    return any(state is not None and state.reference is None for state in states)
