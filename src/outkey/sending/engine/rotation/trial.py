"""Trials: a share of the requests is sent with the next credentials.

    exchange        one set throughout; after a refusal once more with the current one
    ├─ take_turn    whose turn it is: before the first success, one request at a time
    └─ count        for all processes; enough successes promote, a refusal rejects

What is counted, and what a result means, is `sending/core/rotation/trial_state.py`.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from outkey.foundation.core.errors import (
    ConfigError,
    HostError,
    OutkeyError,
    SecretRebindRequired,
    UnknownConfiguration,
)
from outkey.foundation.core.moments import day_of
from outkey.foundation.core.shared_state import SharedState, StateKind
from outkey.foundation.core.stored_values import is_odd
from outkey.foundation.core.text import Text
from outkey.sending.core.rotation.credential_sets import TRIAL_ENDS_AFTER, Tally
from outkey.sending.core.rotation.trial_state import (
    Result,
    TrialState,
    Verdict,
    is_chosen,
    verdict_on_error,
    verdict_on_response,
)
from outkey.sending.engine.wire.lockout_guard import LockoutGuard

if TYPE_CHECKING:
    from collections.abc import Callable

    from outkey.foundation.core.secret import Secret
    from outkey.foundation.ports.database import StateRows
    from outkey.sending.core.configuration.configuration import Configuration
    from outkey.sending.core.configuration.sections import TlsSettings
    from outkey.sending.core.request.assembly import Call
    from outkey.sending.core.request.message import Response
    from outkey.sending.core.rotation.credential_sets import (
        CredentialSet,
        CredentialTrial,
    )
    from outkey.sending.engine.rotation.rotations import Rotations
    from outkey.sending.engine.wire.context import SendContext
    from outkey.sending.engine.wire.steps import Steps

# Each failed swap means that another request was counted meanwhile.
MAX_SWAPS = 200
# How long others leave the end of a trial to the process that has begun it.
END_SECONDS = 5.0


class Turn(NamedTuple):
    """A request that is sent with the next credentials."""

    configuration: Configuration  # with these credentials
    next_set: CredentialSet
    trial: CredentialTrial
    key: str  # of the shared state
    holder: str


@dataclass(frozen=True, slots=True)
class Trials:
    """The trials of all configurations; `now` is a clock that all processes share."""

    rotations: Rotations
    states: StateRows
    now: Callable[[], float]
    # From when and until when a client certificate with this key is valid.
    certificate_times: Callable[[TlsSettings, Secret], tuple[float, float]]

    def refuse_certificate(self, context: SendContext, view: Configuration) -> None:
        """Refuse a client certificate that is not valid now, or not that of its key."""
        if not view.tls.client_certificate:
            return
        begins, ends = self.certificate_times(
            view.tls, context.open(view, "client_key")
        )
        if not begins <= self.rotations.clock.now() < ends:
            raise ConfigError(
                Text(
                    "the client certificate is valid from {begins} to {ends} only",
                    begins=day_of(begins),
                    ends=day_of(ends),
                ),
                hint=Text("Stage a certificate that is valid now, with its key."),
                field="tls.client_certificate",
            )

    def tally(self, configuration: Configuration) -> Tally:
        """Return the results of a trial so far, or of the last one."""
        sets = configuration.sets
        if sets.trial is None or sets.next is None:
            return sets.tally
        stored = self._read(_key(configuration, sets.next, sets.trial))
        return Tally() if stored is None else stored[1].tally

    def exchange(
        self,
        context: SendContext,
        call: Call,
        send: Callable[[SendContext, Call], Steps[Response]],
    ) -> Steps[Response]:
        """Send a call of a configuration that has a trial; `send` is `exchange`.

        What the API refuses with the next credentials is sent once more with those in
        use: whatever its method, since a refused request was not acted upon.
        """
        turn = self.take_turn(context, call.configuration)
        if turn is not None:
            # The refusals of a trial say nothing of the credentials in use.
            apart = replace(context, lockout_guard=LockoutGuard())
            tried = call._replace(configuration=turn.configuration)
            try:
                response = yield from send(apart, tried)
            except OutkeyError as error:
                verdict = verdict_on_error(error, turn.next_set)
                self.count(turn, verdict)
                if verdict.result is not Result.REFUSED:
                    raise
            else:
                verdict = verdict_on_response(response)
                self.count(turn, verdict)
                if verdict.result is not Result.REFUSED:
                    return response
        return (yield from send(context, call))

    # ── whose turn it is ────────────────────────────────────────────────────────────

    def take_turn(self, context: SendContext, seen: Configuration) -> Turn | None:
        """Return the turn of a request, or None where it has the current credentials.

        Those write nothing. The turn of a sender that died ends after its total
        timeout.
        """
        next_set, trial = seen.sets.next, seen.sets.trial
        # Without a record, it is not what is stored: such as a request elsewhere.
        if next_set is None or trial is None or not seen.record:
            return None
        mark = context.signer.fresh()
        is_wanted = is_chosen(mark, next_set.serial, trial.share) and not seen.paused
        if not is_wanted and not self._may_end_by_time(seen, trial):
            return None
        turn = Turn(
            configuration=seen.with_set(next_set),
            next_set=next_set,
            trial=trial,
            key=_key(seen, next_set, trial),
            holder=mark,
        )
        try:
            return self._take(turn, is_wanted=is_wanted)
        except (HostError, SecretRebindRequired, UnknownConfiguration):
            return None  # the last: it has another name by now

    def _may_end_by_time(self, seen: Configuration, trial: CredentialTrial) -> bool:
        """Whether a trial can end with fewer successes, since it is old enough."""
        age = self.rotations.clock.now() - trial.started_at
        return seen.rotation.automatic and age >= TRIAL_ENDS_AFTER

    def _take(self, turn: Turn, *, is_wanted: bool) -> Turn | None:
        stored = self._read(turn.key)
        if stored is None:
            return None
        generation, state = stored
        if self._has_ended(turn, state):  # and whoever was to end it was interrupted
            self._end(turn)
            return None
        if not is_wanted:
            return None
        for name in turn.next_set.secrets:
            turn.configuration.refuse_unbound(name)
        is_free = bool(state.tally.good) or self._lock(turn, generation, state)
        return turn if is_free else None

    def _lock(self, turn: Turn, generation: int, state: TrialState) -> bool:
        """Take the turn to send before the first success; return whether it is ours."""
        if not generation and not self._begin(turn):
            return False
        now = self.now()
        longest = turn.configuration.limits.total_timeout
        if not state.turn.is_free_for(turn.holder, now, longest):
            return False
        taken = state.with_turn(turn.holder, now + longest)
        return self.states.swap(StateKind.TRIAL, turn.key, generation, taken.facts())

    def _begin(self, turn: Turn) -> bool:
        """Whether a trial without results is the present one; remove earlier ones.

        A configuration that was read before may have one that has ended long ago.
        """
        if not self._is_stored(turn):
            return False
        of_record = f"{turn.configuration.record}:"
        earlier = [
            key
            for key in self.states.read(StateKind.TRIAL)
            if key.startswith(of_record) and key != turn.key
        ]
        if earlier:
            self.states.put(StateKind.TRIAL, dict.fromkeys(earlier))
        return True

    # ── results ─────────────────────────────────────────────────────────────────────

    def count(self, turn: Turn, verdict: Verdict) -> None:
        """Count a request for all processes, and end the trial if it decides it."""
        # The response itself is worth more than the count.
        with suppress(HostError):
            for _ in range(MAX_SWAPS):
                stored = self._read(turn.key)
                if stored is None:
                    return
                generation, state = stored
                after = state.after(verdict, turn.holder)
                if after == state or self.states.swap(
                    StateKind.TRIAL, turn.key, generation, after.facts()
                ):
                    break
            if self._has_ended(turn, after):
                self._end(turn)

    def _has_ended(self, turn: Turn, state: TrialState) -> bool:
        if state.cause:
            return True
        automatic = turn.configuration.rotation.automatic
        return automatic and state.is_due(turn.trial, self.rotations.clock.now())

    def _end(self, turn: Turn) -> None:
        """Promote the credentials of a trial, or reject them: in one process only.

        Where that fails, another request ends the trial after a few seconds.
        """
        stored = self._read(turn.key)
        if stored is None:
            return
        generation, state = stored
        if not self._has_ended(turn, state):
            return
        now = self.now()
        longest = max(END_SECONDS, turn.configuration.limits.total_timeout)
        if not state.turn.is_free_for(turn.holder, now, longest):
            return
        taken = state.with_turn(turn.holder, now + END_SECONDS)
        if not self.states.swap(StateKind.TRIAL, turn.key, generation, taken.facts()):
            return
        # Another step may have come first, or the set may not be used any more.
        with suppress(OutkeyError):
            seen = self.rotations.current(turn.configuration.name)
            if not _is_of(turn, seen):
                return
            if state.cause:
                self.rotations.reject(seen, state.tally, state.cause)
            else:
                self.rotations.promote(seen, state.tally, "")

    def _is_stored(self, turn: Turn) -> bool:
        return _is_of(turn, self.rotations.current(turn.configuration.name))

    def _read(self, key: str) -> tuple[int, TrialState] | None:
        """Return the generation and the state; None if it cannot be read."""
        stored = self.states.read(StateKind.TRIAL, [key]).get(key, SharedState())
        if is_odd(stored.value):
            return None
        return stored.generation, TrialState.from_facts(stored.value)


def _key(
    configuration: Configuration, next_set: CredentialSet, trial: CredentialTrial
) -> str:
    """Return the key of a trial: another one of the same set begins anew."""
    return f"{configuration.record}:{next_set.serial}:{trial.started_at}"


def _is_of(turn: Turn, seen: Configuration) -> bool:
    """Whether a trial is the one that a configuration has."""
    next_set, trial = seen.sets.next, seen.sets.trial
    if next_set is None or trial is None:
        return False
    return _key(seen, next_set, trial) == turn.key
