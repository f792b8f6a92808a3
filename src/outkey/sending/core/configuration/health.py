"""The health of a configuration: secrets, expiry date, last test, refusals."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from outkey.foundation.core.errors import Cause
from outkey.foundation.core.moments import day_of
from outkey.foundation.core.stored_times import is_recent
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.configuration.expiry_warnings import WARN_DAYS

# Among what was seen of the API: when it first accepted a request that no test proves.
ACCEPTED_AT = "accepted_at"


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
    """The status of a configuration for lists, stored so that they read no secrets.

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

    @property
    def accepted(self) -> bool:
        """Whether the API accepted a request since the last change or test."""
        return ACCEPTED_AT in self.seen

    @property
    def accepted_at(self) -> float | None:
        """When the API last accepted a test or a request, as far as that was noted."""
        noted = self.seen.get(ACCEPTED_AT)
        moments = [self.verified_at, noted if isinstance(noted, int | float) else None]
        return max((at for at in moments if at is not None), default=None)

    @property
    def is_proved(self) -> bool:
        """Whether a test ended or a request was accepted since the last change."""
        return self.current or self.accepted

    @property
    def was_accepted(self) -> bool:
        """Whether a test succeeded, or a request was accepted, since the last change.

        By what was stored and not by moments: a clock may have been set.
        """
        return self.accepted or (self.current and not self.cause)

    def after_change(self, configuration: Configuration) -> "Health":
        """Return the health after the settings or secrets became these.

        What was refused or tested before says nothing about them.
        """
        connection = configuration.connection
        return replace(
            self.after_success(),
            current=False,
            seen={
                name: fact for name, fact in self.seen.items() if name != ACCEPTED_AT
            },
            needs_secret=needs_secret(configuration),
            stores_secret=stores_secret(configuration),
            needs_person=False,
            expires_on=configuration.expires_on,
            # Of a connection only what was decided for it: the rest is read with the
            # configuration.
            active=connection.active if connection else configuration.active,
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

    def after_success(self, at: float | None = None) -> "Health":
        """Return the health after the API accepted the credentials: a pause ends.

        `at` is when it accepted a request with the settings and secrets of now. Only
        the first such moment is stored, so that not every request writes.
        """
        health = replace(self, refused=0, paused_at=None)
        if at is None or self.is_proved:
            return health
        return replace(health, seen={**self.seen, ACCEPTED_AT: at})

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

    def is_due(self, now: float, seconds: float) -> bool:
        """Whether it could be tested, and its last test is so many seconds ago."""
        hindered = self.needs_secret or self.needs_person or self.paused_at is not None
        if self.tested_at is None or hindered or not self.active:
            return False
        return not is_recent(self.tested_at, now, seconds)

    def status(self, *, now: float, sealed: bool) -> Status:
        """Return the status to show."""
        today = day_of(now)
        for status, alternatives in status_rules(today).items():
            if status is Status.SEALED and not sealed:
                continue
            for criteria in alternatives:
                if all(criterion.holds_for(self) for criterion in criteria):
                    return status
        return Status.WORKING


class Comparison(StrEnum):
    """How a criterion compares a fact of `Health` with its value."""

    IS = "is"
    IS_NOT = "is not"
    BEFORE = "before"
    UNTIL = "until"  # that day, or before


class Criterion(NamedTuple):
    """One comparison of a fact of `Health`, which a host can also write as a query."""

    fact: str
    comparison: Comparison
    value: object

    def holds_for(self, health: Health) -> bool:
        """Whether it holds; a day that is not known is neither before nor until one."""
        fact = getattr(health, self.fact)
        if self.comparison is Comparison.IS:
            return bool(fact == self.value)
        if self.comparison is Comparison.IS_NOT:
            return bool(fact != self.value)
        if fact is None:
            return False
        if self.comparison is Comparison.BEFORE:
            return bool(fact < self.value)
        return bool(fact <= self.value)


Alternatives = tuple[tuple[Criterion, ...], ...]


@lru_cache(maxsize=2)  # lists ask for every configuration
def status_rules(today: date) -> Mapping[Status, Alternatives]:
    """Return when each status holds, in the order of what needs attention first.

    The first status that holds is the one to show: all criteria of one of its
    alternatives. Sealed holds only where the installation is sealed. What none holds
    for is working.
    """
    soon = today + timedelta(days=WARN_DAYS)
    is_current = Criterion("current", Comparison.IS, value=True)
    needs_user = Criterion("cause", Comparison.IS, Cause.REAUTHORIZATION_NEEDED)
    return {
        Status.NEEDS_SECRET: ((Criterion("needs_secret", Comparison.IS, value=True),),),
        Status.REAUTHORIZATION_NEEDED: (
            (Criterion("needs_person", Comparison.IS, value=True),),
            (is_current, needs_user),
        ),
        Status.SEALED: ((Criterion("stores_secret", Comparison.IS, value=True),),),
        Status.PAUSED: ((Criterion("paused_at", Comparison.IS_NOT, value=None),),),
        Status.EXPIRED: ((Criterion("expires_on", Comparison.BEFORE, today),),),
        Status.FAILING: ((is_current, Criterion("cause", Comparison.IS_NOT, "")),),
        Status.EXPIRING_SOON: ((Criterion("expires_on", Comparison.UNTIL, soon),),),
        Status.NEVER_TESTED: (
            (
                Criterion("current", Comparison.IS, value=False),
                Criterion("accepted", Comparison.IS, value=False),
            ),
        ),
    }


class Summary(NamedTuple):
    """One line of a list of configurations."""

    name: str
    base_url: str
    authentication_type: str
    environment: str
    network: str
    owner: str
    health: Health


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
