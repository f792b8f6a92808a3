"""The contracts of the ports on both databases."""

import threading
from collections.abc import Callable

import pytest
from django.db import connection

from outkey.adapters.keyring import new_keyring
from outkey.adapters.permits_leased import LeasedPermits
from outkey.adapters.tokens_stored import StoredTokens
from outkey.core.config.configuration import Configuration
from outkey.core.request.rate_limit import Pace
from outkey.engine.managing.registry import Registry
from outkey.ports.sending import Clock, Permits, Tokens
from outkey.ports.storage import AuditRows, Database, Processes, Storage
from outkey.testing import FixedRing, configuration
from outkey.testing.contracts_database import DatabaseContract
from outkey.testing.contracts_storage import (
    AuditRowsContract,
    ConfigurationRowsContract,
    KeyRowsContract,
    LineRowsContract,
    PermitsContract,
    ProcessesContract,
    RegistryContract,
    SecretRowsContract,
)
from outkey.testing.contracts_tokens import TokensContract
from outkey.testing.fakes import FakeClock


@pytest.mark.usefixtures("database")
class TestDjangoDatabase(DatabaseContract):
    def make(self) -> Database:
        from outkey.hosts.django.database import DjangoDatabase

        return DjangoDatabase()


def storage() -> Storage:
    from outkey.hosts.django.registry import django_storage

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
        from outkey.hosts.django.audit import DjangoAuditRows

        return DjangoAuditRows()


@pytest.mark.usefixtures("database")
class TestPermitsLeasedFromDjango(PermitsContract):
    def clock(self) -> Clock:
        return FakeClock()

    def make(self, clock: Clock) -> Permits:
        from outkey.hosts.django.shared_state import DjangoRateLimitRows

        class RateLimitRows(DjangoRateLimitRows):
            """Leaves no connection behind in the threads of the suite."""

            def advance(self, configuration: str, step: Callable[[Pace], Pace]) -> None:
                super().advance(configuration, step)
                if threading.current_thread() is not threading.main_thread():
                    connection.close()

        return LeasedPermits(RateLimitRows(), clock.monotonic)


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

    def finished(self) -> None:
        connection.close()


@pytest.mark.usefixtures("database")
class TestDjangoProcesses(ProcessesContract):
    def make(self) -> Processes:
        from outkey.hosts.django.shared_state import DjangoProcesses

        return DjangoProcesses()
