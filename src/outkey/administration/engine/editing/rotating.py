"""Rotations as a user asks for them: staging, testing, and the steps after that."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from outkey.administration.core.rotation.status import OUTSIDE_OF_SETS
from outkey.administration.engine.editing.changes import check_secret_field
from outkey.administration.engine.editing.editing import typed_value
from outkey.foundation.core.errors import Cause, ConfigError, OutkeyError
from outkey.foundation.core.fields.choices import Grant
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.text import Text
from outkey.sending.core.audit.events import COMPARISON, Change, Tag
from outkey.sending.core.configuration.anonymous import without_credentials
from outkey.sending.core.configuration.configuration import VALUE_GETTERS
from outkey.sending.core.configuration.fields import BY_PATH
from outkey.sending.core.configuration.secret_values import refuse_unusable
from outkey.sending.core.request.assembly import call_of_test
from outkey.sending.core.rotation.credential_sets import COMPANIONS
from outkey.sending.engine.connection_test import PROVES_NOTHING, Report
from outkey.sending.engine.connection_test_setup import prepare_test
from outkey.sending.engine.exchange.exchange import exchange
from outkey.sending.engine.rotation.probe import Probe, probe
from outkey.sending.engine.rotation.rotations import Rotations
from outkey.sending.engine.wire.lockout_guard import LockoutGuard

if TYPE_CHECKING:
    from collections.abc import Mapping

    from outkey.administration.engine.editing.administration import Administration
    from outkey.foundation.ports.clock import Clock
    from outkey.sending.core.configuration.configuration import Configuration
    from outkey.sending.core.configuration.reference import Reference
    from outkey.sending.core.rotation.credential_sets import (
        CredentialSet,
        CredentialTrial,
        Tally,
    )
    from outkey.sending.engine.exchange.sender import Sender

# A refresh token, or what a user allowed, belongs to the client and not to the set.
_GRANTS_OF_A_CLIENT = frozenset(
    {
        Grant.AUTHORIZATION_CODE,
        Grant.DEVICE_CODE,
        Grant.REFRESH_TOKEN,
        Grant.PASSWORD,
    }
)


@dataclass(frozen=True, slots=True)
class CredentialRotation:
    """The rotation of the credentials of a configuration, by one user."""

    administration: Administration
    sender: Sender
    clock: Clock

    @property
    def rotations(self) -> Rotations:
        """The steps, as they are stored."""
        administration = self.administration
        return Rotations(
            administration.registry,
            administration.secrets,
            administration.audit,
            self.sender.context.tokens,
            self.clock,
        )

    @property
    def _actor(self) -> str:
        return self.administration.actor

    # ── staging ─────────────────────────────────────────────────────────────────────

    def refuse_field(self, seen: Configuration, field: str) -> None:
        """Refuse the name of what no set has, before a value is asked for."""
        if field in OUTSIDE_OF_SETS:
            raise ConfigError(
                Text("{field} does not belong to a set of credentials", field=field),
                hint=Text(
                    "Set it in place: outkey secret set NAME {field}.", field=field
                ),
                field=field,
            )
        if field == "client_id" and self._has_token_of_client(seen):
            raise ConfigError(
                Text("the refresh token belongs to the client that is in use"),
                hint=Text("Add a configuration for the other client, and connect it."),
                field=field,
            )
        if field not in COMPANIONS:
            check_secret_field(seen, field)
        seen.sets.refuse_staging()

    def fields(self, seen: Configuration) -> list[str]:
        """Return what a next set of a configuration may have, as far as it is used."""
        names = [each for each in seen.needed_secrets() if each not in OUTSIDE_OF_SETS]
        is_used = {
            "username": "password" in names,
            "client_id": seen.uses_oauth2 and not self._has_token_of_client(seen),
            "client_certificate": "client_key" in names,
        }
        names += [
            name
            for name, used in is_used.items()
            if used and VALUE_GETTERS[COMPANIONS[name]](seen)
        ]
        return [*names, "token_expires_on"] if "token" in names else names

    def stage(self, seen: Configuration, entries: Mapping[str, str | Reference]) -> int:
        """Store all that a user has entered for the next set, and return its serial.

        Nothing is stored if one part is refused.
        """
        if not entries:
            raise ConfigError(
                Text("nothing was entered"),
                hint=Text("Enter the new value that you have made at the provider."),
            )
        for field, entry in entries.items():
            self._refuse_entry(seen, field, entry)
        serial = 0
        for field, entry in entries.items():
            serial = self._stage_entry(seen, field, entry)
            seen = self.rotations.current(seen.name)
        return serial

    def _refuse_entry(
        self, seen: Configuration, field: str, entry: str | Reference
    ) -> None:
        if not isinstance(entry, str):
            self._refuse_reference(seen, field, entry)
        elif field in COMPANIONS:
            self._companion_value(seen, field, entry)
        else:
            self._refuse_secret(seen, field, Secret(entry))

    def _stage_entry(
        self, seen: Configuration, field: str, entry: str | Reference
    ) -> int:
        if not isinstance(entry, str):
            return self.stage_reference(seen, field, entry)
        if field in COMPANIONS:
            return self.stage_companion(seen, field, entry)
        return self.stage_secret(seen, field, Secret(entry))

    def stage_secret(self, seen: Configuration, field: str, secret: Secret) -> int:
        """Store a value for the next set; return its serial."""
        self._refuse_secret(seen, field, secret)
        sets = self.rotations.stage_secret(seen, field, secret, self._actor)
        return sets.newest

    def _refuse_secret(self, seen: Configuration, field: str, secret: Secret) -> None:
        self.refuse_field(seen, field)
        refuse_unusable(field, secret)
        if field in seen.secrets and self._is_in_use(seen, field, secret):
            raise _in_use(field)

    def stage_reference(
        self, seen: Configuration, field: str, reference: Reference
    ) -> int:
        """Store a reference for the next set; return its serial."""
        self._refuse_reference(seen, field, reference)
        sets = self.rotations.stage_reference(seen, field, reference, self._actor)
        return sets.newest

    def _refuse_reference(
        self, seen: Configuration, field: str, reference: Reference
    ) -> None:
        from outkey.administration.core.policy.blocking import refuse_blocked  # noqa: PLC0415
        from outkey.sending.core.configuration.secret_state import SecretState  # noqa: PLC0415

        self.refuse_field(seen, field)
        if field in COMPANIONS:
            raise ConfigError(
                Text("{field} is a setting, which has no reference", field=field),
                hint=Text("Enter the value itself."),
                field=field,
            )
        state = seen.secrets.get(field)
        if state is not None and state.reference == reference:
            raise _in_use(field)
        self.administration.refuse_reference(reference, field)
        staged = SecretState(seen.binding_of(field), reference)
        refuse_blocked(
            self.administration.policy(),
            [replace(seen, secrets={**seen.secrets, field: staged})],
        )

    def stage_companion(self, seen: Configuration, name: str, text: str) -> int:
        """Store a setting for the next set, such as a user name; return its serial."""
        value = self._companion_value(seen, name, text)
        return self.rotations.stage_companion(seen, name, value, self._actor).newest

    def _companion_value(self, seen: Configuration, name: str, text: str) -> str:
        """Return a setting as it is stored, or refuse it."""
        self.refuse_field(seen, name)
        path = COMPANIONS[name]
        value = str(BY_PATH[path].parse(typed_value(BY_PATH[path], text)) or "")
        if value == str(VALUE_GETTERS[path](seen) or ""):
            raise _in_use(name)
        return value

    def _has_token_of_client(self, seen: Configuration) -> bool:
        return seen.uses_oauth2 and seen.oauth2.grant in _GRANTS_OF_A_CLIENT

    def _is_in_use(self, seen: Configuration, field: str, secret: Secret) -> bool:
        """Whether a value is that in use; not so if that one cannot be read now."""
        try:
            return self.administration.secrets.open(seen, field) == secret
        except OutkeyError:
            return False

    # ── steps ───────────────────────────────────────────────────────────────────────

    def status(self, name: str) -> dict[str, object]:
        """Return how far the rotation is, as programs read it."""
        from outkey.administration.core.findings.posture import (  # noqa: PLC0415
            ROTATION_CHECKS,
            configuration_posture,
            facts_from_settings,
        )
        from outkey.administration.core.rotation.status import rotation_facts  # noqa: PLC0415

        seen = self.rotations.current(name)
        now = self.clock.now()
        policy = self.administration.policy()
        facts = replace(facts_from_settings(seen), now=now, policy=policy)
        findings = configuration_posture(facts, ROTATION_CHECKS)
        return rotation_facts(seen, self.tally(seen), now, findings)

    def tally(self, seen: Configuration) -> Tally:
        """Return the results of the trial, as the requests of all processes count."""
        trials = self.sender.trials
        return seen.sets.tally if trials is None else trials.tally(seen)

    def next_serial(self, name: str) -> int:
        """Return the serial of the next set, or raise RotationNone."""
        return self.rotations.current(name).sets.next_set().serial

    def start(
        self, name: str, *, share: int | None, after: int | None
    ) -> CredentialTrial:
        """Begin the trial of the next set, or change its share and number."""
        for path, number in (("rotation.share", share), ("rotation.successes", after)):
            if number is not None:
                BY_PATH[path].parse(number)
        self._refuse_certificate(self.rotations.current(name))
        return self.rotations.start(name, self._actor, share=share, after=after)

    def promote(self, name: str) -> int:
        """Put the next set into use; return its serial."""
        seen = self.rotations.current(name)
        return self.rotations.promote(seen, self.tally(seen), self._actor)

    def back(self, name: str) -> int:
        """End a trial, or exchange current and previous; return the serial in use."""
        tally = self.tally(self.rotations.current(name))
        return self.rotations.back(name, self._actor, tally)

    def refuse_retiring(self, name: str) -> None:
        """Raise where the previous set may not be destroyed now."""
        seen = self.rotations.current(name)
        seen.sets.retired(was_accepted=seen.was_accepted)

    def retire(self, name: str) -> int:
        """Destroy the previous set; return its serial."""
        return self.rotations.retire(name, self._actor)

    def discard(self, name: str) -> int:
        """Destroy the next set; return its serial."""
        return self.rotations.discard(name, self._actor)

    # ── tests ───────────────────────────────────────────────────────────────────────

    def test(self, name: str) -> Report:
        """Test the next set alone, and store whether it was accepted.

        The same request without credentials is part of it: where that succeeds, the
        test proves nothing.
        """
        seen = self.rotations.current(name)
        next_set = seen.sets.next_set()
        self._refuse_certificate(seen)
        self._note(Tag.ROTATION_TESTED, seen, next_set)
        report = self._test_set(seen, next_set)
        self.rotations.note_test(seen, next_set, report)
        return report

    def probe(self, name: str) -> Probe:
        """Try the previous set once, and store whether it was refused.

        A result that proves nothing leaves the last proof as it is.
        """
        seen = self.rotations.current(name)
        previous = seen.sets.previous_set()
        self._note(Tag.ROTATION_PROBED, seen, previous)
        result = probe(self.sender, seen.with_set(previous))
        if result.refused is not None:
            stored = self.rotations.current(name)
            self.rotations.note_probe(stored, previous, refused=result.refused)
        return result

    def _test_set(self, seen: Configuration, credentials: CredentialSet) -> Report:
        view = seen.with_set(credentials)
        own = replace(view.verification, compare=False)
        view = replace(view, verification=own)
        if view.fetches_token:
            self.sender.token_actions(view).forget()
        report = prepare_test(self.sender, view).run()
        return self._with_control(view, report) if report.ok else report

    def _with_control(self, view: Configuration, report: Report) -> Report:
        """Return the report, failed if the request succeeds without credentials."""
        anonymous = without_credentials(view)
        anonymous = replace(
            anonymous,
            tls=replace(anonymous.tls, client_certificate=""),
            limits=replace(anonymous.limits, retries=0),
        )
        context = replace(self.sender.context, lockout_guard=LockoutGuard())
        call = call_of_test(anonymous)._replace(purpose=COMPARISON)
        try:
            response = self.sender.run_for_user(exchange(context, call))
        except OutkeyError as error:
            return replace(report, ok=False, cause=error.cause, error=error)
        last = report.steps[-1]
        detail = Text(
            "status {status}; status {other} without credentials",
            status=report.status,
            other=response.status,
        )
        proves = response.status >= 400
        steps = (*report.steps[:-1], replace(last, detail=detail, ok=proves))
        if proves:
            return replace(report, steps=steps)
        return replace(
            report,
            ok=False,
            steps=steps,
            cause=Cause.CONFIGURATION,
            remedy=PROVES_NOTHING.hint,
            findings=(*report.findings, PROVES_NOTHING),
            error=ConfigError(
                PROVES_NOTHING.message,
                hint=PROVES_NOTHING.hint,
                field=PROVES_NOTHING.field,
            ),
        )

    def _refuse_certificate(self, seen: Configuration) -> None:
        """Refuse a next client certificate that cannot be used, before a request."""
        trials = self.sender.trials
        if trials is not None:
            view = seen.with_set(seen.sets.next_set())
            trials.refuse_certificate(self.sender.context, view)

    def _note(self, tag: Tag, seen: Configuration, credentials: CredentialSet) -> None:
        numbers = (("serial", credentials.serial),)
        self.administration.audit.note(
            Change(tag, self._actor, seen.name, numbers=numbers)
        )


def _in_use(field: str) -> ConfigError:
    return ConfigError(
        Text("the next {field} is the one in use already", field=field),
        hint=Text("Enter the new one that you have made at the provider."),
        field=field,
    )
