"""The credentials of a configuration in sets: in use, next, and previous.

A set has a serial, which rises and is never used twice. What a next or a previous set
does not have comes from the set in use. Every change of `CredentialSets` is a method
that returns the value after it, or raises why the step is refused; it is stored, and
vouched for, with the configuration.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Self

from outkey.foundation.core.errors import (
    ConfigError,
    RotationNone,
    RotationPending,
    RotationUntested,
)
from outkey.foundation.core.text import Text
from outkey.sending.core.configuration.reference import parse_reference
from outkey.sending.core.configuration.secret_state import SecretState

# Under this name they are stored among the settings, and vouched for.
SETS = "credential_sets"
DAY = 86_400.0
TEST_IS_GOOD_FOR = 3600.0  # seconds
TRIAL_ENDS_AFTER = 3600.0  # with one success; without it the trial goes on
STUCK_AFTER = 7 * DAY
STALE_AFTER = 30 * DAY
# What belongs to a set besides secrets: the path of each field, by the name that a user
# gives it.
COMPANIONS = {
    "username": "username",
    "client_id": "oauth2.client_id",
    "client_certificate": "tls.client_certificate",
    "token_expires_on": "token_expires_on",
}
NAMES_OF_COMPANIONS = {path: name for name, path in COMPANIONS.items()}


class RotationState(StrEnum):
    """How far a rotation has got."""

    NONE = "none"
    STAGED = "staged"
    TESTED = "tested"
    TRIAL = "trial"
    REJECTED = "rejected"
    OVERLAP = "overlap"


@dataclass(frozen=True, slots=True)
class CredentialSet:
    """The credentials of one serial, as far as they differ from those in use."""

    serial: int
    secrets: Mapping[str, SecretState] = field(default_factory=dict)
    # Texts by the path of the field, as they are stored; "" for none.
    companions: Mapping[str, str] = field(default_factory=dict)
    set_at: float = 0.0
    set_by: str = ""

    @classmethod
    def in_use(
        cls,
        serial: int,
        secrets: Mapping[str, SecretState],
        companions: Mapping[str, str] | None = None,
    ) -> Self:
        """Return credentials in use as a set, which is as old as its newest secret."""
        newest = max(
            secrets.values(),
            key=lambda state: state.set_at or 0.0,
            default=SecretState(""),
        )
        return cls(
            serial=serial,
            secrets=secrets,
            companions=companions or {},
            set_at=newest.set_at or 0.0,
            set_by=newest.set_by,
        )

    @property
    def fields(self) -> list[str]:
        """The names of what it has, as a user gives them."""
        companions = [NAMES_OF_COMPANIONS[path] for path in self.companions]
        return [*self.secrets, *companions]

    @property
    def replaced_companions(self) -> dict[str, str]:
        """The companions that change with this set: a new token has another end."""
        ends = {} if "token" not in self.secrets else {"token_expires_on": ""}
        return {**ends, **self.companions}

    def facts(self) -> dict[str, object]:
        """Return the set as JSON has it."""
        return {
            "serial": self.serial,
            "secrets": {
                name: {
                    "origin": state.origin,
                    "reference": str(state.reference or ""),
                    "version": state.version,
                    "set_at": state.set_at,
                    "set_by": state.set_by,
                }
                for name, state in self.secrets.items()
            },
            "companions": dict(self.companions),
            "set_at": self.set_at,
            "set_by": self.set_by,
        }

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> Self:
        """Undo `facts`."""
        secrets = {
            str(name): SecretState(
                origin=str(state["origin"]),
                reference=parse_reference(state["reference"], field=name)
                if state["reference"]
                else None,
                version=int(state["version"]),
                set_at=state["set_at"],
                set_by=str(state["set_by"]),
            )
            for name, state in facts["secrets"].items()
        }
        companions = {
            path: str(facts["companions"][path])
            for path in facts["companions"]
            if path in NAMES_OF_COMPANIONS
        }
        return cls(
            serial=int(facts["serial"]),
            secrets=secrets,
            companions=companions,
            set_at=float(facts["set_at"]),
            set_by=str(facts["set_by"]),
        )


@dataclass(frozen=True, slots=True)
class SetTest:
    """The last test of a next set."""

    at: float
    ok: bool
    cause: str = ""


@dataclass(frozen=True, slots=True)
class CredentialTrial:
    """Which share of the requests tries the next set, and how many must succeed."""

    share: int
    after: int
    started_at: float


@dataclass(frozen=True, slots=True)
class Tally:
    """The results of requests with the next set: of a trial, or of the last one."""

    good: int = 0
    refused: int = 0
    denied: int = 0


@dataclass(frozen=True, slots=True)
class CredentialSets:
    """The sets of a configuration: a next and a previous one exclude each other."""

    serial: int = 1  # of the set in use
    newest: int = 1  # the highest serial that there ever was
    next: CredentialSet | None = None
    test: SetTest | None = None
    trial: CredentialTrial | None = None
    tally: Tally = Tally()
    cause: str = ""  # why the next set was rejected
    previous: CredentialSet | None = None
    current_since: float | None = None  # when the set in use replaced another one
    until: float | None = None  # the end of the previous set's time
    refused_at: float | None = None  # when a probe proved that the previous one is dead

    @property
    def is_used(self) -> bool:
        """Whether a second set was ever staged: then the audit names serials."""
        return self.newest > 1

    def state(self, now: float) -> RotationState:
        """Return how far the rotation has got."""
        if self.previous is not None:
            return RotationState.OVERLAP
        if self.next is None:
            return RotationState.NONE
        if self.cause:
            return RotationState.REJECTED
        if self.trial is not None:
            return RotationState.TRIAL
        is_tested = self.has_good_test(now)
        return RotationState.TESTED if is_tested else RotationState.STAGED

    def has_good_test(self, now: float) -> bool:
        """Whether the last test of the next set succeeded, not long ago."""
        test = self.test
        return test is not None and test.ok and 0 <= now - test.at <= TEST_IS_GOOD_FOR

    def has_ended_overlap(self, now: float) -> bool:
        """Whether the time of the previous set is over."""
        return self.previous is not None and now >= (self.until or 0.0)

    def is_stale(self, now: float) -> bool:
        """Whether the next set was staged so long ago that nobody wants it."""
        return self.next is not None and now - self.next.set_at >= STALE_AFTER

    # ── steps ───────────────────────────────────────────────────────────────────────

    def staged(
        self,
        name: str,
        value: SecretState | str,
        *,
        at: float,
        by: str,
    ) -> "CredentialSets":
        """Return the sets with one more part of the next set, which is untested then.

        A part is the state of a secret, or the text of a companion.
        """
        self.refuse_staging()
        before = self.next
        if before is None or self.cause:  # a rejected set is never tried again
            before = replace(before or CredentialSet(0), serial=self.newest + 1)
        part = {name: value} if isinstance(value, SecretState) else {}
        companion = {COMPANIONS[name]: value} if isinstance(value, str) else {}
        next_set = replace(
            before,
            secrets={**before.secrets, **part},
            companions={**before.companions, **companion},
            set_at=at,
            set_by=by,
        )
        return replace(
            self,
            newest=next_set.serial,
            next=next_set,
            test=None,
            tally=Tally(),
            cause="",
        )

    def refuse_staging(self) -> None:
        """Raise RotationPending while a trial goes on, or a previous set is kept."""
        if self.trial is not None:
            raise RotationPending(
                Text("a trial of the next credentials goes on"),
                hint=Text("End it first: outkey rotation discard NAME."),
            )
        if self.previous is not None:
            raise RotationPending(
                Text("the previous credentials are stored for going back"),
                hint=Text("Destroy them first: outkey rotation retire NAME."),
            )

    def tested(self, test: SetTest) -> "CredentialSets":
        """Return the sets after a test of the next one; a trial goes on."""
        self.next_set()
        return replace(self, test=test)

    def started(self, trial: CredentialTrial, now: float) -> "CredentialSets":
        """Return the sets with a trial, or with another share and number for it."""
        self.next_set()
        if self.trial is not None:
            begun = self.trial.started_at
            return replace(self, trial=replace(trial, started_at=begun))
        self._refuse_rejected()
        if self.state(now) is not RotationState.TESTED:
            raise RotationUntested(
                Text("the next credentials have no good test of the last hour"),
                hint=Text("Test them first: outkey rotation test NAME."),
            )
        return replace(self, trial=trial, tally=Tally())

    def rejected(self, tally: Tally, cause: str) -> "CredentialSets":
        """Return the sets after the API refused the next one in a trial."""
        return replace(self, trial=None, test=None, tally=tally, cause=cause)

    def promoted(
        self, tally: Tally, used: CredentialSet, *, now: float, days: int
    ) -> "CredentialSets":
        """Return the sets after the next one replaced the one in use.

        `used` are the parts of the set in use that the next one has too.
        """
        next_set = self.next_set()
        self._refuse_rejected()
        state = self.state(now)
        # A refusal has ended the trial, also where whoever counted it was interrupted.
        is_proved = bool(tally.good) and not tally.refused
        if state is not RotationState.TESTED and not (
            state is RotationState.TRIAL and is_proved
        ):
            raise RotationUntested(
                Text("no request proves that the next credentials work"),
                hint=Text("Test them first: outkey rotation test NAME."),
            )
        return CredentialSets(
            serial=next_set.serial,
            newest=self.newest,
            tally=tally,
            previous=used,
            current_since=now,
            until=now + days * DAY,
        )

    def back(self, used: CredentialSet, now: float) -> "CredentialSets":
        """Return the sets without the trial, or with current and previous exchanged.

        `used` are the parts of the set in use that the previous one has too.
        """
        if self.trial is not None:
            return replace(self, trial=None, test=None)
        previous = self.previous_set()
        return replace(
            self,
            serial=previous.serial,
            previous=used,
            current_since=now,
            refused_at=None,
        )

    def retired(self, *, was_accepted: bool) -> "CredentialSets":
        """Return the sets without the previous one.

        `was_accepted`: the API has accepted the set in use, since it is in use.
        """
        self.previous_set()
        if not was_accepted:
            raise RotationUntested(
                Text("no request since then proves that the credentials in use work"),
                hint=Text("Test them first: outkey test NAME."),
            )
        return CredentialSets(
            serial=self.serial,
            newest=self.newest,
            tally=self.tally,
            current_since=self.current_since,
        )

    def discarded(self) -> "CredentialSets":
        """Return the sets without the next one."""
        self.next_set()
        return CredentialSets(
            serial=self.serial, newest=self.newest, current_since=self.current_since
        )

    def probed(self, refused_at: float | None) -> "CredentialSets":
        """Return the sets after a probe; None where the previous set is not dead."""
        self.previous_set()
        return replace(self, refused_at=refused_at)

    def _refuse_rejected(self) -> None:
        """Raise RotationUntested after the API refused the next set in a trial."""
        if self.cause:
            raise RotationUntested(
                Text("the API refused the next credentials in their trial"),
                hint=Text("Stage the right ones: outkey secret stage NAME FIELD."),
            )

    def next_set(self) -> CredentialSet:
        """Return the next set, or raise RotationNone."""
        if self.next is None:
            raise RotationNone
        return self.next

    def previous_set(self) -> CredentialSet:
        """Return the previous set, or raise RotationNone."""
        if self.previous is None:
            raise RotationNone(
                Text("there are no previous credentials"),
                hint=Text("See how far the rotation is: outkey rotation status NAME."),
            )
        return self.previous

    def has_version(self, name: str, version: int) -> bool:
        """Whether a version of a secret belongs to the next or the previous set."""
        sets = [each for each in (self.next, self.previous) if each is not None]
        states = [each.secrets[name] for each in sets if name in each.secrets]
        return version in {state.version for state in states}

    # ── storing ─────────────────────────────────────────────────────────────────────

    def facts(self) -> dict[str, object]:
        """Return all of it as JSON has it; nothing where there was only one set."""
        if not self.is_used:
            return {}
        return {
            "serial": self.serial,
            "newest": self.newest,
            "next": self.next and self.next.facts(),
            "test": self.test and [self.test.at, self.test.ok, self.test.cause],
            "trial": self.trial
            and [self.trial.share, self.trial.after, self.trial.started_at],
            "tally": [self.tally.good, self.tally.refused, self.tally.denied],
            "cause": self.cause,
            "previous": self.previous and self.previous.facts(),
            "current_since": self.current_since,
            "until": self.until,
            "refused_at": self.refused_at,
        }

    @classmethod
    def from_facts(cls, facts: object) -> Self:
        """Undo `facts`, or raise ConfigError."""
        if not facts:
            return cls()
        try:
            return cls._read(facts)  # type: ignore[arg-type]  # what is stored is JSON
        except (KeyError, TypeError, ValueError, AttributeError):
            raise ConfigError(
                Text("the stored credential sets cannot be read")
            ) from None

    @classmethod
    def _read(cls, facts: Mapping[str, Any]) -> Self:
        test, trial = facts["test"], facts["trial"]
        sets = {
            name: CredentialSet.from_facts(facts[name]) if facts[name] else None
            for name in ("next", "previous")
        }
        return cls(
            serial=int(facts["serial"]),
            newest=int(facts["newest"]),
            next=sets["next"],
            test=SetTest(*test) if test else None,
            trial=CredentialTrial(*trial) if trial else None,
            tally=Tally(*facts["tally"]),
            cause=str(facts["cause"]),
            previous=sets["previous"],
            current_since=facts["current_since"],
            until=facts["until"],
            refused_at=facts["refused_at"],
        )


ONE_SET = CredentialSets()
