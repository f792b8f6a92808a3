"""A stored secret that was opened is used again for a moment, and then forgotten."""

from dataclasses import replace

import pytest

from outkey.foundation.adapters.clock_system import SystemClock
from outkey.foundation.core.errors import Sealed, SecretUnreadable
from outkey.foundation.core.secret import Secret
from outkey.sending.adapters.secrets.keyring import Keyring, new_keyring
from outkey.sending.adapters.secrets.secrets_reference import ReferencedSecrets
from outkey.sending.adapters.secrets.secrets_stored import OPENED_SECONDS, StoredSecrets
from outkey.sending.adapters.vouching.vouched_configurations import (
    VouchedConfigurations,
)
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.vault.voucher import vouchable_facts
from outkey.sync.engine.line_registry import Registry
from outkey.testing import FakeClock, configuration
from outkey.testing.fakes.storage import memory_registry, memory_storage
from outkey.testing.fakes.vouching import MemorySeenRows


class CountingRing:
    """One ring that counts how often it is asked for, and can be sealed."""

    def __init__(self) -> None:
        self.kept = new_keyring()
        self.asked = 0
        self.sealed = False

    def ring(self, needed: str = "") -> Keyring:
        del needed
        self.asked += 1
        if self.sealed:
            raise Sealed
        return self.kept

    def fresh(self) -> Keyring:
        return self.kept


class Vault:
    """Stored secrets with a configuration of their own."""

    def __init__(self) -> None:
        self.storage = memory_storage()
        self.seen = MemorySeenRows()
        rows = self.storage.configurations
        self.vouched = replace(
            self.storage, configurations=VouchedConfigurations(rows, self.seen)
        )
        self.registry = memory_registry(storage=self.vouched)
        self.clock = FakeClock()
        self.ring = CountingRing()
        self.secrets = StoredSecrets(
            self.vouched, ReferencedSecrets(), self.ring, self.clock, self.seen
        )
        for name in ("acme", "shop"):
            self.registry.add(configuration(name))
            self.set_token(name, f"{name}-1")

    def set_token(self, name: str, value: str) -> None:
        self.secrets.set_value(self.registry.get(name), "token", Secret(value))
        self.registry.note_secrets_changed(name)
        stored = self.registry.get(name)
        self.secrets.vouch(stored, vouchable_facts(stored))
        self.registry.note_vouched(name)

    def stored(self, name: str = "acme") -> Configuration:
        return self.registry.get(name)

    def held(self) -> list[str]:
        """Return the opened secrets that are in memory."""
        cached = self.secrets._cache.values()
        return [field for entry in cached for field in entry.opened]


@pytest.fixture
def vault() -> Vault:
    return Vault()


def test_a_secret_is_decrypted_once_for_many_requests_in_a_row(vault: Vault) -> None:
    stored = vault.stored()
    assert vault.secrets.open(stored, "token") == Secret("acme-1")
    asked = vault.ring.asked
    for _ in range(3):
        assert vault.secrets.open(stored, "token") == Secret("acme-1")
    assert vault.ring.asked == asked


def test_after_a_moment_it_is_opened_anew(vault: Vault) -> None:
    stored = vault.stored()
    vault.secrets.open(stored, "token")
    vault.ring.sealed = True
    assert vault.secrets.open(stored, "token") == Secret("acme-1")
    vault.clock.advance(OPENED_SECONDS)
    with pytest.raises(Sealed):
        vault.secrets.open(stored, "token")


def test_a_replaced_secret_is_used_at_once(vault: Vault) -> None:
    vault.secrets.open(vault.stored(), "token")
    vault.set_token("acme", "acme-2")
    assert vault.secrets.open(vault.stored(), "token") == Secret("acme-2")


def test_what_is_not_used_any_more_is_forgotten(vault: Vault) -> None:
    vault.secrets.open(vault.stored("acme"), "token")
    assert vault.held() == ["token"]
    vault.clock.advance(OPENED_SECONDS)
    assert vault.held() == []
    vault.secrets.open(vault.stored("shop"), "token")
    assert vault.held() == ["token"]
    vault.clock.advance(OPENED_SECONDS)
    assert vault.held() == []


def test_an_older_copy_of_a_configuration_does_not_bring_its_secret_back(
    vault: Vault,
) -> None:
    configurations = dict(vault.storage.configurations.rows)
    secrets = dict(vault.storage.secrets.rows)
    vault.set_token("acme", "acme-2")
    vault.storage.configurations.rows = configurations
    vault.storage.secrets.rows = secrets
    with pytest.raises(SecretUnreadable, match="changed outside of outkey"):
        vault.secrets.open(vault.stored(), "token")
    assert vault.secrets.open(vault.stored("shop"), "token") == Secret("shop-1")
    stored = vault.stored()  # an operator confirms it
    vault.secrets.vouch(stored, vouchable_facts(stored))
    vault.registry.note_vouched("acme")
    assert vault.secrets.open(vault.stored(), "token") == Secret("acme-1")
    vault.seen.clear()  # as after a restore
    assert vault.secrets.voucher(vault.stored()).facts


def test_a_save_while_a_configuration_is_in_use_is_not_a_change_outside(
    vault: Vault,
) -> None:
    in_use = vault.stored()
    stored = vault.registry.put_settings(replace(in_use, notes="saved by another"))
    vault.secrets.vouch(stored, vouchable_facts(stored))
    assert vault.secrets.open(in_use, "token") == Secret("acme-1")
    assert vault.secrets.open(vault.stored(), "token") == Secret("acme-1")


def test_a_process_that_did_not_see_a_save_refuses_the_copy_it_has_cached(
    vault: Vault,
) -> None:
    configurations = dict(vault.storage.configurations.rows)
    secrets = dict(vault.storage.secrets.rows)
    idle = Registry(vault.vouched, SystemClock(), fresh_seconds=0.0)
    cached = idle.get("acme")
    vault.set_token("acme", "acme-2")
    vault.storage.configurations.rows = configurations
    vault.storage.secrets.rows = secrets
    assert idle.get("acme") is not cached
    with pytest.raises(SecretUnreadable, match="changed outside of outkey"):
        vault.secrets.open(idle.get("acme"), "token")
