"""Secrets as an installation keeps them: sealed in its registry, or references to elsewhere."""

from collections.abc import Collection, Iterator
from typing import Protocol

from outkey.adapters.keyring import Keyring
from outkey.adapters.secrets_envelope import rewrap, seal, unseal, unseal_text
from outkey.core.config.configuration import Configuration, SecretState, successor
from outkey.core.errors import Sealed, SecretMissing, SecretUnreadable
from outkey.core.request.script import SEAL
from outkey.core.secret import Secret
from outkey.core.text import Text
from outkey.core.vault.envelope import (
    Place,
    SealedRow,
    key_name_of,
    secret_place,
    unpack,
)
from outkey.core.vault.voucher import FIELD, Voucher, read_voucher, voucher_place
from outkey.ports.sending import Clock, Secrets
from outkey.ports.storage import Registry

_BATCH = 200
_LONGEST_PAUSE = 0.25
_CACHED_VOUCHERS = 2000


class Keyrings(Protocol):
    """Where the ring comes from; asking for it may say that the installation is sealed."""

    def ring(self, needed: str = "") -> Keyring:
        """Return the ring, with the key of this name if there is one."""

    def fresh(self) -> Keyring:
        """Return the ring as it is kept now."""


class StoredSecrets:
    """Opens and replaces secrets."""

    def __init__(
        self, registry: Registry, references: Secrets, keys: Keyrings, clock: Clock
    ) -> None:
        self._registry, self._references = registry, references
        self._keys, self._clock = keys, clock
        self._vouchers: dict[SealedRow, Voucher] = {}
        self._checked: dict[
            str, Configuration
        ] = {}  # by record, those whose settings are as saved

    def open(self, configuration: Configuration, field: str) -> Secret:
        if field == SEAL:
            return self._script_seal(configuration)
        state = configuration.secrets.get(field)
        if state is None:
            raise SecretMissing(Text("{field} is not set", field=field), field=field)
        # What is not stored yet came from whoever is about to store it, and not from the database.
        if configuration.record:
            self.refuse_changed_settings(configuration)
            if not self.voucher(configuration).covers(configuration, field):
                raise _changed(field)
        if state.reference is not None:
            return self._references.open(configuration, field)
        sealed = self._sealed(configuration, field, state)
        if sealed is None:
            raise SecretMissing(Text("{field} is not set", field=field), field=field)
        if self.voucher(configuration).ciphertexts.get(field) != _ciphertext_id(sealed):
            raise _changed(field)
        return self._unsealed(configuration, field, state, sealed)

    def voucher(self, configuration: Configuration) -> Voucher:
        """Return what the key vouches for of a stored configuration; nothing without a voucher."""
        row = configuration.voucher
        if row is None:
            return Voucher({})
        voucher = self._vouchers.get(row)
        if voucher is None:
            # The place is made anew, since the one that was read is as good as the database.
            place = voucher_place(configuration.record, row.place.version)
            try:
                ring = self._keys.ring(key_name_of(row.stored))
                voucher = read_voucher(unseal_text(row.stored, place, ring))
            except SecretUnreadable:
                return Voucher({})  # not ours, so it vouches for nothing
            if len(self._vouchers) >= _CACHED_VOUCHERS:
                self._vouchers.clear()
            self._vouchers[row] = voucher
        return voucher

    def refuse_changed_settings(self, configuration: Configuration) -> None:
        # A configuration is the same object until it changes, and every send asks.
        record = configuration.record
        if not record or self._checked.get(record) is configuration:
            return
        voucher = self.voucher(configuration)
        if not voucher.covers_settings(configuration):
            raise _changed(next(iter(voucher.differences(configuration)), ""))
        if len(self._checked) >= _CACHED_VOUCHERS:
            self._checked.clear()
        self._checked[record] = configuration

    def vouch(self, configuration: Configuration, changed: Collection[str]) -> None:
        """Vouch for what a save has changed, besides what is vouched for already."""
        ciphertexts = {
            name: _ciphertext_id(sealed)
            for name, state in configuration.secrets.items()
            if name in changed and (sealed := self._sealed(configuration, name, state))
        }
        voucher = self.voucher(configuration).renewed(
            configuration, changed, ciphertexts
        )
        version = (
            int(configuration.voucher.place.version) + 1 if configuration.voucher else 1
        )
        place = voucher_place(configuration.record, version)
        sealed = seal(voucher.written(), place, self._keys.fresh())
        self._registry.put_voucher(configuration.name, SealedRow(place, sealed))

    def _script_seal(self, configuration: Configuration) -> Secret:
        script_seal = self.voucher(configuration).script_seal()
        if script_seal is None:
            raise SecretMissing(Text("there is no saved script"), field=SEAL)
        return script_seal

    def replace(
        self, configuration: Configuration, field: str, secret: Secret, *, by: str = ""
    ) -> SecretState:
        """Seal a new value for the origin that the configuration has now, and keep it.

        It stays pending until it was read back and opened, so that a value which cannot be opened
        never takes the place of one that can.
        """
        before, origin = (
            configuration.secrets.get(field),
            configuration.binding_of(field),
        )
        state = successor(before, origin, set_at=self._clock.now(), set_by=by)
        sealed = seal(secret, place_of(configuration, field, state), self._keys.fresh())
        self._registry.put_secret(configuration.name, field, state, sealed)
        stored = self._sealed(configuration, field, state)
        if (
            stored is None
            or self._unsealed(configuration, field, state, stored) != secret
        ):
            raise SecretUnreadable(field=field)
        self._registry.activate_secret(configuration.name, field, state.version)
        return state

    def rewrap(self) -> Iterator[int]:
        """Bring every secret under the primary key, and yield how many were done at each step.

        It can be stopped at any point and begun again: what is under the key already is not
        touched, and what changed meanwhile is not overwritten. What does not open is left as it is
        and named at the end.
        """
        ring, stuck, missed = self._keys.fresh(), set[Place](), set[SealedRow]()
        while True:
            found = self._registry.sealed_by_others(
                ring.primary.name, _BATCH + len(stuck)
            )
            rows = [row for row in found if row.place not in stuck]
            if not rows:
                break
            started = self._clock.monotonic()
            yield self._rewrap_some(rows, ring, stuck, missed)
            # Half of the time is for the others: SQLite hands its one lock to nobody in turn.
            self._clock.sleep(min(self._clock.monotonic() - started, _LONGEST_PAUSE))
        if stuck:
            fields = ", ".join(
                sorted(f"{place.field} of {place.record}" for place in stuck)[:5]
            )
            raise SecretUnreadable(
                Text(
                    "{count} secrets could not be re-encrypted: {fields}",
                    count=len(stuck),
                    fields=fields,
                )
            )

    def _rewrap_some(
        self,
        rows: list[SealedRow],
        ring: Keyring,
        stuck: set[Place],
        missed: set[SealedRow],
    ) -> int:
        done = 0
        with self._registry.batch():
            for row in rows:
                try:
                    stored = rewrap(row.stored, row.place, ring)
                except (SecretUnreadable, Sealed):
                    stuck.add(row.place)
                else:
                    swapped = self._registry.swap_sealed(row, stored)
                    done += (
                        swapped and row.place.field != FIELD
                    )  # vouchers are not reported
                    if not swapped:
                        # Missed twice with the same bytes: it was not changed meanwhile.
                        if row in missed:
                            stuck.add(row.place)
                        missed.add(row)
        return done

    def _sealed(
        self, configuration: Configuration, field: str, state: SecretState
    ) -> bytes | None:
        return self._registry.sealed(configuration, field, state.version)

    def _unsealed(
        self,
        configuration: Configuration,
        field: str,
        state: SecretState,
        sealed: bytes,
    ) -> Secret:
        ring = self._keys.ring(key_name_of(sealed))
        return unseal(sealed, place_of(configuration, field, state), ring)


def _ciphertext_id(sealed: bytes) -> str:
    """Return what no other ciphertext has: the random nonce, which a rewrap leaves as it is."""
    return unpack(sealed).nonce.hex()


def _changed(field: str) -> SecretUnreadable:
    return SecretUnreadable(
        Text("{field} was changed outside of outkey", field=field),
        hint=(
            Text(
                "The database may have been changed without outkey. An operator can"
                " list the changes and accept them with: outkey secret confirm NAME"
            )
        ),
        field=field,
    )


def place_of(configuration: Configuration, field: str, state: SecretState) -> Place:
    """Return the place that a secret's ciphertext is bound to."""
    return secret_place(configuration.record, field, state.version, state.origin)
