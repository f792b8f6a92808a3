"""The steps of a rotation, as they are stored: in one transaction, after the record.

    stage ─ test ─ start ─ promote ─ retire    back: from a trial, or to the set before

Which step is allowed when, `sending/core/rotation/credential_sets.py` decides. Here
secrets and settings change places with it, and the voucher follows.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from outkey.foundation.core.errors import (
    EditConflict,
    OutkeyError,
    RotationPending,
    SecretUnreadable,
)
from outkey.foundation.core.text import Text
from outkey.sending.core.audit.events import Change, Tag
from outkey.sending.core.configuration.configuration import VALUE_GETTERS
from outkey.sending.core.configuration.secret_state import SecretState
from outkey.sending.core.rotation.credential_sets import (
    COMPANIONS,
    SETS,
    CredentialSet,
    CredentialSets,
    CredentialTrial,
    SetTest,
    Tally,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from outkey.foundation.core.secret import Secret
    from outkey.foundation.ports.clock import Clock
    from outkey.sending.core.configuration.configuration import Configuration
    from outkey.sending.core.configuration.reference import Reference
    from outkey.sending.engine.connection_test import Report
    from outkey.sending.engine.registry import ConfigurationRegistry
    from outkey.sending.ports.sending import Audit, Tokens
    from outkey.sending.ports.storage import SecretStore


@contextmanager
def one_step() -> Iterator[None]:
    """Raise RotationPending where another step was made at the same moment."""
    try:
        yield
    except EditConflict:
        raise RotationPending(
            Text("another step of the rotation, or an edit, was made just now"),
            hint=Text("See how far the rotation is: outkey rotation status NAME."),
        ) from None


@dataclass(frozen=True, slots=True)
class Rotations:
    """The rotations of all configurations. `by` is the user; "" for outkey itself."""

    registry: ConfigurationRegistry
    secrets: SecretStore
    audit: Audit
    tokens: Tokens
    clock: Clock

    def current(self, name: str) -> Configuration:
        """Return a configuration as it is stored now, not as it is cached."""
        return self.registry.find([name]).get(name) or self.registry.get(name)

    # ── staging ─────────────────────────────────────────────────────────────────────

    def stage_secret(
        self, seen: Configuration, field: str, secret: Secret, by: str
    ) -> CredentialSets:
        """Store a value for the next set, bound to the origin that was seen."""

        def store() -> SecretState:
            return self.secrets.stage_value(seen, field, secret, by=by)

        return self._stage(seen, field, store, by)

    def stage_reference(
        self, seen: Configuration, field: str, reference: Reference, by: str
    ) -> CredentialSets:
        """Store a reference for the next set."""
        state = SecretState(
            seen.binding_of(field), reference, set_at=self.clock.now(), set_by=by
        )

        def store() -> SecretState:
            return self.registry.stage_reference(seen, field, state)

        return self._stage(seen, field, store, by)

    def stage_companion(
        self, seen: Configuration, name: str, text: str, by: str
    ) -> CredentialSets:
        """Store a setting that belongs to the next set, such as the user name."""
        return self._stage(seen, name, lambda: text, by)

    def _stage(
        self,
        seen: Configuration,
        name: str,
        store: Callable[[], SecretState | str],
        by: str,
    ) -> CredentialSets:
        self.secrets.refuse_changed_settings(seen)
        now = self.clock.now()
        planned = (
            seen.sets.staged(name, "", at=now, by=by)
            if name in COMPANIONS
            else (seen.sets.staged(name, SecretState(""), at=now, by=by))
        )
        self._note(Tag.SECRET_STAGED, seen, planned.newest, by, fields=(name,))
        with one_step(), self.registry.transaction():
            self.registry.lock(seen)
            sets = seen.sets.staged(name, store(), at=now, by=by)
            self._save(seen, sets)
        return sets

    # ── the other steps ─────────────────────────────────────────────────────────────

    def note_test(
        self, seen: Configuration, next_set: CredentialSet, report: Report
    ) -> None:
        """Store the result of a test of the next set, unless that was changed since."""
        stored = self.current(seen.name)
        if stored.record == seen.record and stored.sets.next == next_set:
            test = SetTest(self.clock.now(), report.ok, str(report.cause or ""))
            self._save(stored, stored.sets.tested(test))

    def start(
        self, name: str, by: str, *, share: int | None = None, after: int | None = None
    ) -> CredentialTrial:
        """Begin the trial of the next set, or change its share and number."""
        seen = self.current(name)
        running = seen.sets.trial
        settings = seen.rotation
        trial = CredentialTrial(
            share=share or (running.share if running else settings.share),
            after=after or (running.after if running else settings.successes),
            started_at=self.clock.now(),
        )
        sets = seen.sets.started(trial, self.clock.now())
        self._refuse_unbound(seen, seen.sets.next_set())
        self._note(Tag.ROTATION_STARTED, seen, seen.sets.next_set().serial, by)
        self._save(seen, sets)
        return trial

    def reject(self, seen: Configuration, tally: Tally, cause: str) -> None:
        """Take the next set out of use, since the API refused it."""
        serial = seen.sets.next_set().serial
        self._note(Tag.ROTATION_REFUSED, seen, serial, "", tally=tally)
        self._save(seen, seen.sets.rejected(tally, cause))
        self.tokens.delete_set(seen, serial)

    def promote(self, seen: Configuration, tally: Tally, by: str) -> int:
        """Put the next set into use, and keep the one before; return its serial."""
        next_set = seen.sets.next_set()
        sets = seen.sets.promoted(
            tally,
            self._part_in_use(seen, next_set),
            now=self.clock.now(),
            days=seen.rotation.overlap_days,
        )
        self._refuse_unbound(seen, next_set)
        self._note(Tag.ROTATION_PROMOTED, seen, next_set.serial, by, tally=tally)
        self._exchange(seen, sets, next_set)
        # In use, it has the place of the tokens in use.
        self.tokens.delete_set(seen, next_set.serial)
        return sets.serial

    def back(self, name: str, by: str, tally: Tally) -> int:
        """End a trial, or exchange current and previous; return the serial in use.

        `tally` are the results of the trial, or of the last one.
        """
        seen = self.current(name)
        if seen.sets.trial is not None:
            serial = seen.sets.serial
            self._note(Tag.ROTATION_BACK, seen, serial, by)
            ended = seen.sets.back(CredentialSet(serial), 0)
            self._save(seen, replace(ended, tally=tally))
            return serial
        previous = seen.sets.previous_set()
        self._refuse_unbound(seen, previous)
        sets = seen.sets.back(self._part_in_use(seen, previous), self.clock.now())
        self._note(Tag.ROTATION_BACK, seen, previous.serial, by)
        self._exchange(seen, sets, previous)
        return sets.serial

    def retire(self, name: str, by: str) -> int:
        """Destroy the previous set; return its serial."""
        seen = self.current(name)
        sets = seen.sets.retired(was_accepted=seen.was_accepted)
        serial = seen.sets.previous_set().serial
        self._note(Tag.ROTATION_RETIRED, seen, serial, by)
        self._save(seen, sets)
        self.tokens.delete_set(seen, serial)
        return serial

    def discard(self, name: str, by: str) -> int:
        """Destroy the next set; return its serial."""
        seen = self.current(name)
        sets = seen.sets.discarded()
        serial = seen.sets.next_set().serial
        self._note(Tag.ROTATION_DISCARDED, seen, serial, by)
        self._save(seen, sets)
        self.tokens.delete_set(seen, serial)
        return serial

    def note_probe(
        self, stored: Configuration, probed: CredentialSet, *, refused: bool
    ) -> None:
        """Store whether a previous set was refused, unless it was exchanged since."""
        if stored.sets.previous == probed:
            at = self.clock.now() if refused else None
            self._save(stored, stored.sets.probed(at))

    # ── by time ─────────────────────────────────────────────────────────────────────

    def end_overdue(self) -> None:
        """Destroy previous sets whose overlap is over, and next ones left for a month.

        A previous set that is still needed stays: the one in use was never accepted.
        """
        now = self.clock.now()
        for seen in self.registry.all():
            # Another process may have taken a step, or it cannot be recorded now.
            with suppress(OutkeyError):
                if seen.sets.has_ended_overlap(now):
                    self.retire(seen.name, "")
                elif seen.sets.is_stale(now):
                    self.discard(seen.name, "")

    # ── storing ─────────────────────────────────────────────────────────────────────

    def _part_in_use(
        self, seen: Configuration, credentials: CredentialSet
    ) -> CredentialSet:
        """Return those parts of the set in use that another set replaces."""
        values = {
            path: VALUE_GETTERS[path](seen) for path in credentials.replaced_companions
        }
        return CredentialSet.in_use(
            seen.sets.serial,
            {
                name: seen.secrets[name]
                for name in credentials.secrets
                if name in seen.secrets
            },
            {
                path: "" if value is None else str(value)
                for path, value in values.items()
            },
        )

    def _refuse_unbound(self, seen: Configuration, credentials: CredentialSet) -> None:
        """Raise SecretRebindRequired for a set that was entered for another origin."""
        view = seen.with_set(credentials)
        for name in credentials.secrets:
            view.refuse_unbound(name)

    def _save(self, seen: Configuration, sets: CredentialSets) -> None:
        self.secrets.refuse_changed_settings(seen)
        with one_step(), self.registry.transaction():
            saved = self.registry.put_sets(seen, sets)
            self.secrets.vouch(saved, {SETS}, moves=True)
            self.registry.note_vouched(seen.name)

    def _exchange(
        self, seen: Configuration, sets: CredentialSets, credentials: CredentialSet
    ) -> None:
        self.secrets.refuse_changed_settings(seen)
        # A step must not vouch for what it finds in the database.
        for name in credentials.secrets.keys() & seen.secrets.keys():
            self.secrets.refuse_unvouched(seen, name)
        exchanged = credentials.replaced_companions
        with one_step(), self.registry.transaction():
            saved = self.registry.put_sets(seen, sets, exchanges=exchanged)
            _refuse_others(saved, credentials)
            changed = {SETS, *credentials.secrets, *exchanged}
            self.secrets.vouch(saved, changed, moves=True)
            self.registry.note_vouched(seen.name)

    def _note(
        self,
        tag: Tag,
        seen: Configuration,
        serial: int,
        by: str,
        *,
        fields: tuple[str, ...] = (),
        tally: Tally | None = None,
    ) -> None:
        """Record a step that is about to be made; where that fails, it is not made."""
        numbers = [("serial", serial)]
        if tally is not None:
            numbers += [("good", tally.good), ("refused", tally.refused)]
        self.audit.note(
            Change(tag, by, seen.name, fields=fields, numbers=tuple(numbers))
        )


def _refuse_others(saved: Configuration, credentials: CredentialSet) -> None:
    """Raise SecretUnreadable unless the secrets in use now are those of a set."""
    for name, state in credentials.secrets.items():
        stored = saved.secrets.get(name)
        if (
            stored is None
            or replace(stored, set_at=state.set_at, set_by=state.set_by) != state
        ):
            raise SecretUnreadable(field=name)
