"""The state of a trial that all processes share, and the meaning of each result.

Good     a status below 400
Refused  the credentials are refused, or cannot be used at all: ends the trial
Denied   they were accepted, but lack a right: outkey does not promote by itself
Nothing  everything else, such as 429, 5xx and a broken connection
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from hashlib import sha256
from typing import Any, NamedTuple, Self

from outkey.foundation.core.errors import (
    BackendUnavailable,
    Cause,
    ConfigError,
    LoginRefused,
    OutkeyError,
    PolicyError,
    ReauthorizationNeeded,
    ScriptFailed,
    SecretUnreadable,
    TlsFailed,
    TokenEndpointFailed,
)
from outkey.foundation.core.shared_state import Lease
from outkey.sending.core.request.message import Response
from outkey.sending.core.rotation.credential_sets import (
    TRIAL_ENDS_AFTER,
    CredentialSet,
    CredentialTrial,
    Tally,
)

_REFUSING = frozenset({Cause.INVALID_CREDENTIALS, Cause.TOKEN_EXPIRED})
# Credentials with which none of these succeeds cannot be used.
_UNUSABLE = (LoginRefused, ReauthorizationNeeded, ScriptFailed, TokenEndpointFailed)
# The same, if they are about a secret of these credentials: a reference that leads to
# none, or that outkey may not follow, is one of them.
_WITHOUT_SECRET = (BackendUnavailable, ConfigError, PolicyError, SecretUnreadable)
_CERTIFICATE = frozenset({"client_certificate", "client_key"})


class Result(StrEnum):
    """The effect of a request on the trial of its credentials."""

    GOOD = "good"
    REFUSED = "refused"
    DENIED = "denied"
    NOTHING = "nothing"


class Verdict(NamedTuple):
    """A result, and why the credentials were refused."""

    result: Result
    cause: str = ""


NOTHING = Verdict(Result.NOTHING)


def verdict_on_response(response: Response) -> Verdict:
    """Return what a response says about the credentials of its request."""
    status, cause = response.status, response.cause
    if cause is Cause.TOKEN_EXPIRED and status < 400:
        # The Expired marker of the configuration: a refusal with a status of success.
        return Verdict(Result.REFUSED, cause)
    if status < 400:
        return Verdict(Result.GOOD)
    if status == 401 and cause is not Cause.INSUFFICIENT_PERMISSIONS:
        return Verdict(Result.REFUSED, cause or Cause.INVALID_CREDENTIALS)
    if status == 403 and cause in _REFUSING:
        return Verdict(Result.REFUSED, cause)
    return Verdict(Result.DENIED) if status in {401, 403} else NOTHING


def verdict_on_error(error: OutkeyError, credentials: CredentialSet) -> Verdict:
    """Return what an error says about a set of credentials."""
    # Settings of TLS are named with their section.
    place = (error.field or "").removeprefix("tls.")
    is_own_secret = place in credentials.fields and isinstance(error, _WITHOUT_SECRET)
    is_own_certificate = isinstance(error, TlsFailed) and not _CERTIFICATE.isdisjoint(
        credentials.fields
    )
    if isinstance(error, _UNUSABLE) or is_own_secret or is_own_certificate:
        return Verdict(Result.REFUSED, error.cause)
    return NOTHING


def is_chosen(mark: str, serial: int, share: int) -> bool:
    """Whether a request with this random mark is one of `share` percent."""
    digest = sha256(f"{mark}:{serial}".encode()).digest()
    return int.from_bytes(digest[:8], "big") % 100 < share


@dataclass(frozen=True, slots=True)
class TrialState:
    """The results of a trial so far, and who has the turn.

    The turn is to send before the first success, or to end the trial.
    """

    tally: Tally = field(default_factory=Tally)
    cause: str = ""  # why the credentials were refused, which ends the trial
    turn: Lease = field(default_factory=Lease)

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> Self:
        """Return the state that `facts` describes; without facts, one that begins."""
        if not facts:
            return cls()
        tally = Tally(facts["good"], facts["refused"], facts["denied"])
        return cls(tally, facts["cause"], Lease.from_facts(facts))

    def facts(self) -> dict[str, object]:
        """Return the state as JSON can hold it."""
        return {**asdict(self.tally), "cause": self.cause, **self.turn.facts()}

    def is_due(self, trial: CredentialTrial, now: float) -> bool:
        """Whether the results suffice to use the credentials for all requests."""
        tally = self.tally
        is_old = now - trial.started_at >= TRIAL_ENDS_AFTER
        enough = tally.good >= (1 if is_old else trial.after)
        return enough and not (self.cause or tally.refused or tally.denied)

    def with_turn(self, holder: str, until: float) -> Self:
        """Return the state after somebody took the turn."""
        return replace(self, turn=Lease(holder, until))

    def after(self, verdict: Verdict, holder: str) -> Self:
        """Return the state after a request; nothing counts once the trial has ended."""
        turn = self.turn.released() if self.turn.holder == holder else self.turn
        if self.cause or verdict.result is Result.NOTHING:
            return replace(self, turn=turn)
        name = str(verdict.result)
        tally = replace(self.tally, **{name: getattr(self.tally, name) + 1})
        return replace(self, tally=tally, cause=verdict.cause, turn=turn)
