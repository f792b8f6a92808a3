"""The contracts of the ports on both databases."""

import pytest
from django.db import connection

from outkey.adapters.keyring import new_keyring
from outkey.adapters.permits_leased import LeasedPermits
from outkey.adapters.tokens_stored import StoredTokens
from outkey.core.config.configuration import Configuration
from outkey.engine.managing.registry import Registry
from outkey.ports.sending import Clock, Permits, Tokens
from outkey.ports.storage import AuditRows, Database, StateRows, Storage
from outkey.testing import FixedRing, configuration
from outkey.testing.contracts_audit import AuditRowsContract
from outkey.testing.contracts_database import DatabaseContract
from outkey.testing.contracts_registry import RegistryContract
from outkey.testing.contracts_state import PermitsContract, StateRowsContract
from outkey.testing.contracts_storage import (
    ConfigurationRowsContract,
    KeyRowsContract,
    LineRowsContract,
    SecretRowsContract,
)
from outkey.testing.contracts_tokens import TokensContract
from outkey.testing.fakes import FakeClock


@pytest.mark.usefixtures("database")
class TestDjangoDatabase(DatabaseContract):
    def make(self) -> tuple[Database, StateRows]:
        from outkey.hosts.django.database import DjangoDatabase
        from outkey.hosts.django.shared_state import DjangoStateRows

        return DjangoDatabase(), DjangoStateRows()


def storage() -> Storage:
    from outkey.hosts.django.storage import django_storage

    return django_storage()


@pytest.mark.usefixtures("database")
class TestDjangoConfigurationRows(ConfigurationRowsContract):
    def make(self) -> Storage:
        return storage()


@pytest.mark.usefixtures("database")
class TestDjangoLineRows(LineRowsContract):
    def make(self) -> Storage:
        return storage()


@pytest.mark.usefixtures("database")
class TestDjangoSecretRows(SecretRowsContract):
    def make(self) -> Storage:
        return storage()


@pytest.mark.usefixtures("database")
class TestDjangoKeyRows(KeyRowsContract):
    def make(self) -> Storage:
        return storage()


@pytest.mark.usefixtures("database")
class TestRegistryInDjango(RegistryContract):
    def make(self) -> Storage:
        return storage()


@pytest.mark.usefixtures("database")
class TestDjangoAuditRows(AuditRowsContract):
    def make(self) -> AuditRows:
        from outkey.core.audit.durability import Durability
        from outkey.hosts.django.audit import DjangoAuditRows

        return DjangoAuditRows(lambda: Durability.PROCESS)


@pytest.mark.usefixtures("database")
class TestPermitsLeasedFromDjango(PermitsContract):
    def clock(self) -> Clock:
        return FakeClock()

    def make(self, clock: Clock) -> Permits:
        from outkey.hosts.django.shared_state import DjangoStateRows

        return LeasedPermits(DjangoStateRows(), clock.monotonic)

    def end_thread(self) -> None:
        connection.close()


@pytest.mark.usefixtures("database")
class TestTokensSealedInDjango(TokensContract):
    def make(self) -> tuple[Tokens, Configuration]:
        from outkey.hosts.django.tokens import DjangoTokenRows

        rows = storage()
        stored = Registry(rows).add(configuration())
        tokens = StoredTokens(
            DjangoTokenRows(),
            FixedRing(new_keyring()),
            rows.database,
            rows.configurations,
        )
        return tokens, stored

    def end_thread(self) -> None:
        connection.close()


@pytest.mark.usefixtures("database")
class TestDjangoStateRows(StateRowsContract):
    def make(self) -> StateRows:
        from outkey.hosts.django.shared_state import DjangoStateRows

        return DjangoStateRows()

    def end_thread(self) -> None:
        connection.close()
