"""A secret of an external store is used again for a moment, with its read."""

from dataclasses import dataclass, replace

import pytest

from outkey.foundation.core.secret import Secret
from outkey.sending.adapters.secrets.keyring import new_keyring
from outkey.sending.adapters.secrets.secrets_stored import (
    SOURCE_SECONDS,
    StoredSecrets,
)
from outkey.sending.core.backends.values import NamedFields, Read, Reads, StoreKey
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.configuration.reference import parse_reference
from outkey.sending.core.configuration.secret_state import SecretState
from outkey.testing import FakeClock, FixedRing, configuration
from outkey.testing.fakes.storage import memory_storage
from unit.sending.core.backends.test_vault import BACKEND

KEY = StoreKey(BACKEND, "vault", ("db",), "")
FIELDS = ("username_secret", "password")


@dataclass
class ReadSecrets:
    """References into one path, whose fields always have one version."""

    version: int = 1
    cached: bool = True
    opened: int = 0

    def open(
        self, seen: Configuration, field: str, reads: Reads | None = None
    ) -> Secret:
        self.opened += 1
        if reads is None:
            return Secret("without reads")
        values = {name: Secret(f"{name}-{self.version}") for name in FIELDS}
        made = Read(KEY, NamedFields(values, "1"), 0.0, cached=self.cached, ms=0)
        reads.fields[field] = reads.by_key.setdefault(KEY, made), field
        return reads.secret(field)

    def refuse_changed_settings(self, seen: Configuration) -> None:
        """Nothing is stored."""


@dataclass
class Vault:
    clock: FakeClock
    references: ReadSecrets
    secrets: StoredSecrets
    seen: Configuration

    def open(self, field: str = "password", reads: Reads | None = None) -> str:
        return self.secrets.open(self.seen, field, reads).reveal()


@pytest.fixture
def vault() -> Vault:
    clock = FakeClock()
    references = ReadSecrets()
    secrets = StoredSecrets(
        memory_storage(), references, FixedRing(new_keyring()), clock
    )
    reference = parse_reference("vault:db#x", field="password")
    state = SecretState("https://api.acme.example:443", reference)
    seen = replace(configuration(), secrets=dict.fromkeys(FIELDS, state))
    return Vault(clock, references, secrets, seen)


def test_sends_of_a_moment_share_a_read_and_record_it(vault: Vault) -> None:
    assert vault.open(reads=Reads()) == "password-1"
    vault.references.version = 2
    reads = Reads()
    assert vault.open(reads=reads) == "password-1"
    assert [source.field for source in reads.sources()] == ["password"]
    assert vault.references.opened == 1
    vault.clock.advance(SOURCE_SECONDS)
    assert vault.open(reads=Reads()) == "password-2"


def test_what_is_not_in_the_cache_of_stores_is_read_each_time(vault: Vault) -> None:
    vault.references.cached = False
    for _ in range(2):
        vault.open(reads=Reads())
    vault.open()
    vault.open()
    assert vault.references.opened == 4


def test_fields_of_one_path_come_from_one_read_whichever_is_first(
    vault: Vault,
) -> None:
    vault.open(reads=Reads())
    vault.references.version = 2
    reads = Reads()
    assert vault.open("username_secret", reads) == "username_secret-2"
    assert vault.open("password", reads) == "password-2", "not that of a moment ago"
