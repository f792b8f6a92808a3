"""Keeps secrets that an API repeats out of what a run shows and stores."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from outkey.foundation.core.echo.strict import StrictSearch, reveals_secret
from outkey.foundation.core.secret import MASK, Secret
from outkey.sending.core.request.message import Response
from outkey.sending.core.request.sent_secrets import credentials_in, without_repetition
from outkey.sending.engine.exchange.echoed_secrets import (
    EchoDetector,
    has_masked_value,
    sent_secrets,
)
from outkey.sync.core.run.effects import Effect
from outkey.sync.core.run.reasons import sync_failure
from outkey.sync.engine.runs.line_plan import LinePlan, SyncPorts

CACHE_SECONDS = 10.0


class SecretGuard:
    """Knows the secrets that the last response of a run may repeat."""

    def __init__(self, ports: SyncPorts, plan: LinePlan) -> None:
        self._ports = ports
        self._plan = plan
        self._cached: list[Secret] = []
        self._cached_search = StrictSearch()
        self._cached_until = float("-inf")
        self._detector = EchoDetector()
        self._document: object = None  # of the last response, as it arrived
        self._sent: tuple[Secret, ...] = ()  # in the request of the last response
        self.others: Sequence[Secret] = ()  # besides those of the configuration

    def look_at(
        self, response: Response, document: object, *, is_json: bool = True
    ) -> bool:
        """Take a new response, or a part of it; return whether a secret may be in it.

        The document is what was read of it: only JSON can be searched as it arrived.
        """
        self._document = document
        self._sent = response.sent
        if not is_json:
            return self.detector().may_be_in(document)
        return self.detector().may_be_in_page(response, document)

    def detector(self) -> EchoDetector:
        """Return a detector of the secrets that the last response may repeat."""
        self._detector.look_for(self.secrets())
        return self._detector

    def may_be_in(self, value: object) -> bool:
        """Whether a value may hold a secret that the detector last looked for."""
        return self._detector.may_be_in(value)

    def is_in(self, value: object) -> bool:
        """Whether a value holds a secret that the detector last looked for."""
        return self._detector.is_in(value)

    def mask(self, effects: Sequence[Effect]) -> Sequence[Effect]:
        """Return effects as they may be shown and stored, without a secret.

        If the response holds one, an expression or a script may have made anything of
        it: then no value of the page is shown.
        """
        secrets = self.secrets()
        if reveals_secret(secrets, self._document):
            return [_mask_effect(effect, lambda _value: True) for effect in effects]
        values = [
            (effect.key, effect.values, effect.changes, effect.refused)
            for effect in effects
        ]
        if reveals_secret(secrets, values):
            is_secret = partial(reveals_secret, secrets)
            return [_mask_effect(effect, is_secret) for effect in effects]
        return effects

    def refuse_secret(self, *values: object) -> None:
        """Refuse to store a position or a cursor that holds a secret."""
        # Credentials made for one request may be so short that a cursor has them by
        # chance: these count only in the way that the detector searches.
        if any(values) and (
            self._stored_search().finds(values) or self.detector().is_in(values)
        ):
            raise sync_failure("secret_in_cursor")

    def refuse_echo(self, value: object) -> None:
        """Refuse to continue from a masked value: it repeats a secret."""
        if has_masked_value(value):
            raise sync_failure("secret_in_cursor")

    def secrets(self) -> list[Secret]:
        """Return the secrets that the last response may repeat."""
        return without_repetition(
            [*self._stored_secrets(), *credentials_in(self._sent), *self.others]
        )

    def _stored_secrets(self) -> list[Secret]:
        """Return the configuration's secrets and tokens, opened again now and then.

        Those that it had earlier in the run stay.
        """
        now = self._ports.clock.monotonic()
        if now >= self._cached_until:
            name = self._plan.line.configuration
            configuration = self._ports.configurations.get(name)
            fresh = sent_secrets(self._ports.sender.context, configuration)
            # The API knows those before too, whether or not they can be read now.
            self._cached = without_repetition([*fresh, *self._cached])
            self._cached_search = StrictSearch(self._cached)
            self._cached_until = now + CACHE_SECONDS
        return self._cached

    def _stored_search(self) -> StrictSearch:
        """Return the strictest search for the stored secrets."""
        self._stored_secrets()
        return self._cached_search


def _mask_effect(effect: Effect, is_secret: Callable[[object], bool]) -> Effect:
    """Return an effect with a mask in the place of each secret value."""

    def mask(value: object) -> object:
        return MASK if is_secret(value) else value

    return replace(
        effect,
        key=str(mask(effect.key)),
        values={name: mask(value) for name, value in effect.values.items()},
        changes={
            name: (mask(before), mask(after))
            for name, (before, after) in effect.changes.items()
        },
        refused=mask(effect.refused) if effect.kind else None,
    )
