"""Secrets as an installation keeps them: sealed in its registry, or references to elsewhere."""

from collections.abc import Callable, Iterator

from outkey.adapters.keyring import Keyring
from outkey.adapters.secrets_envelope import rewrap, seal, unseal
from outkey.core.config import Configuration, SecretState
from outkey.core.envelope import Place, secret_place
from outkey.core.errors import SecretMissing
from outkey.core.secret import Secret
from outkey.ports import Clock, Registry, Secrets

_BATCH = 200


class StoredSecrets:
    """Opens and replaces secrets. The ring is asked for at each use, and may be sealed."""

    def __init__(
        self, registry: Registry, references: Secrets, ring: Callable[[], Keyring], clock: Clock
    ) -> None:
        self._registry, self._references = registry, references
        self._ring, self._clock = ring, clock

    def open(self, configuration: Configuration, field: str) -> Secret:
        """Return a secret for immediate use, or raise SecretMissing."""
        state = configuration.secrets.get(field)
        if state is None:
            raise SecretMissing(f"{field} is not set", field=field)
        if state.reference is not None:
            return self._references.open(configuration, field)
        sealed = self._registry.sealed(configuration, field)
        if sealed is None:
            raise SecretMissing(f"{field} is not set", field=field)
        return unseal(sealed, place_of(configuration, field, state), self._ring())

    def replace(self, configuration: Configuration, field: str, secret: Secret) -> SecretState:
        """Seal a new value for the origin that the configuration has now, and keep it."""
        before = configuration.secrets.get(field)
        state = SecretState(
            origin=configuration.base.origin.bound,
            version=before.version + 1 if before else 1,
            set_at=self._clock.now(),
        )
        sealed = seal(secret, place_of(configuration, field, state), self._ring())
        self._registry.put_secret(configuration.name, field, state, sealed)
        return state

    def rewrap(self) -> Iterator[int]:
        """Bring every secret under the primary key, and yield how many were done at each step.

        It can be stopped at any point and begun again: what is under the key already is not
        touched, and what changed meanwhile is not overwritten.
        """
        ring = self._ring()
        while rows := self._registry.sealed_by_others(ring.primary.name, _BATCH):
            for row in rows:
                self._registry.swap_sealed(row, rewrap(row.stored, row.place, ring))
            yield len(rows)


def place_of(configuration: Configuration, field: str, state: SecretState) -> Place:
    """Return the place that a secret's ciphertext is bound to."""
    return secret_place(configuration.record, field, state.version, state.origin)
