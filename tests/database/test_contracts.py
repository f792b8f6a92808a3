"""The contracts of the ports on both databases."""

import time

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from outkey.foundation.adapters.clock_system import SystemClock
from outkey.foundation.core.secret import Secret
from outkey.foundation.ports.clock import Clock
from outkey.foundation.ports.database import Database, StateRows
from outkey.sending.adapters.permits_leased import LeasedPermits
from outkey.sending.adapters.secrets.keyring import new_keyring
from outkey.sending.adapters.tokens.tokens_stored import StoredTokens
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.ports.sending import Permits, Tokens
from outkey.sending.ports.storage import AuditRows
from outkey.sync.core.run.run import OPEN_STATES
from outkey.sync.engine.line_registry import Registry
from outkey.sync.ports.sync import RunOrder, RunQuery, Storage
from outkey.testing import FixedRing, configuration
from outkey.testing.contracts_audit import AuditRowsContract
from outkey.testing.contracts_database import DatabaseContract
from outkey.testing.contracts_registry import RegistryContract
from outkey.testing.contracts_state import PermitsContract, StateRowsContract
from outkey.testing.contracts_storage import (
    ConfigurationRowsContract,
    ConnectionRowsContract,
    KeyRowsContract,
    LineRowsContract,
    SecretRowsContract,
)
from outkey.testing.contracts_tokens import TokensContract
from outkey.testing.contracts_webhooks import DeliveryRowsContract
from outkey.testing.fakes.basic import FakeClock
from outkey.webhooks.core.inbox.inbox import DeliveryState, InboxDelivery
from outkey.webhooks.ports.webhooks import DeliveryQuery, DeliveryRows


@pytest.mark.usefixtures("database")
class TestDjangoDatabase(DatabaseContract):
    def make(self) -> tuple[Database, StateRows]:
        from outkey.hosts.django.rows.database import DjangoDatabase
        from outkey.hosts.django.rows.shared_state import DjangoStateRows

        return DjangoDatabase(), DjangoStateRows()


def waiting_for_disk() -> str:
    """Return how the database commits: the setting of this connection."""
    name = {"sqlite": "PRAGMA synchronous", "postgresql": "SHOW synchronous_commit"}
    with connection.cursor() as cursor:
        cursor.execute(name[connection.vendor])
        return str(cursor.fetchone()[0])


@pytest.mark.usefixtures("database")
def test_a_transaction_that_need_not_be_durable_leaves_the_next_one_as_it_was() -> None:
    from outkey.hosts.django.rows.database import DjangoDatabase

    database = DjangoDatabase()
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("PRAGMA journal_mode=WAL")
            cursor.execute("PRAGMA synchronous=FULL")
    usual, relaxed = {"sqlite": ("2", "1"), "postgresql": ("on", "off")}[
        connection.vendor
    ]
    assert waiting_for_disk() == usual
    with database.transaction(durable=False):
        assert waiting_for_disk() == relaxed
    assert waiting_for_disk() == usual
    with pytest.raises(LookupError), database.transaction(durable=False):
        raise LookupError
    assert waiting_for_disk() == usual
    with database.transaction(), database.transaction(durable=False):
        assert waiting_for_disk() == usual


@pytest.mark.usefixtures("database")
def test_the_clock_is_asked_once_in_a_transaction_and_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from outkey.hosts.django.rows import database as module

    asked = []

    def count(statement: str, values: tuple[object, ...]) -> object:
        asked.append(statement)
        return execute(statement, values)

    execute = module.execute
    monkeypatch.setattr(module, "execute", count)
    database = module.DjangoDatabase()
    with database.transaction():
        first = database.now()
        time.sleep(0.05)
        with database.transaction():
            second = database.now()
    is_asked = connection.vendor == "postgresql"  # SQLite has the clock of the machine
    assert len(asked) == is_asked
    assert 0.05 <= second - first < 5
    database.now()
    database.now()
    assert len(asked) == 3 * is_asked
    with transaction.atomic():  # of the host, whose end is not known
        database.now()
        database.now()
    assert len(asked) == 5 * is_asked


@pytest.mark.usefixtures("database")
def test_a_delivery_that_came_before_is_found_by_an_index() -> None:
    from outkey.hosts.django.rows.deliveries import is_stored

    if connection.vendor != "sqlite":
        return  # PostgreSQL decides by statistics, of which an empty table has none
    delivery = InboxDelivery(id="", endpoint="e", key="k", nonce="n")
    with CaptureQueriesContext(connection) as queries:
        assert not is_stored(delivery)
    plans = []
    with connection.cursor() as cursor:
        for query in queries.captured_queries:
            cursor.execute(f"EXPLAIN QUERY PLAN {query['sql']}")
            plans += [str(row[-1]) for row in cursor.fetchall()]
    assert len(plans) == 2
    assert "(endpoint=? AND key=?)" in plans[0]
    assert "(endpoint=? AND nonce=?)" in plans[1]


@pytest.mark.usefixtures("database")
def test_due_deliveries_are_found_without_reading_those_that_are_processed() -> None:
    from outkey.hosts.django.rows.deliveries import DjangoDeliveryRows

    if connection.vendor != "sqlite":
        return  # as above
    received = (DeliveryState.RECEIVED,)
    with CaptureQueriesContext(connection) as queries:
        due = DeliveryQuery(states=received, due_by=1.0, oldest_first=True)
        assert DjangoDeliveryRows().find(due) == []
    (query,) = queries.captured_queries
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN QUERY PLAN {query['sql']}")
        plan = [str(row[-1]) for row in cursor.fetchall()]
    assert [line for line in plan if line.startswith("SCAN")] == [
        "SCAN outkey_delivery USING INDEX outkey_delivery_due"
    ]


@pytest.mark.usefixtures("database")
def test_open_runs_are_found_without_reading_those_that_have_ended() -> None:
    from outkey.hosts.django.rows.runs import OPEN_RUNS, DjangoRunRows

    if connection.vendor != "sqlite":
        return  # as above
    with CaptureQueriesContext(connection) as queries:
        due = RunQuery(states=OPEN_STATES, due_by=1.0, order=RunOrder.DUE)
        assert DjangoRunRows().find(due) == []
    assert not queries.captured_queries  # only the plain statement
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN QUERY PLAN {OPEN_RUNS} LIMIT 1")
        plan = [str(row[-1]) for row in cursor.fetchall()]
    assert [line for line in plan if line.startswith("SCAN")] == [
        "SCAN outkey_run USING INDEX outkey_one_waiting",
        "SCAN outkey_run USING INDEX outkey_one_running",
    ]


@pytest.mark.usefixtures("database")
def test_sqlite_without_a_write_ahead_log_always_waits_for_the_disk() -> None:
    from outkey.hosts.django.rows.database import DjangoDatabase

    if connection.vendor != "sqlite":
        return  # PostgreSQL always has one
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA journal_mode=DELETE")
        cursor.execute("PRAGMA synchronous=FULL")
    try:
        with DjangoDatabase().transaction(durable=False):
            assert waiting_for_disk() == "2"
    finally:
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA journal_mode=WAL")


def storage() -> Storage:
    from outkey.hosts.django.rows.storage import django_storage

    return django_storage()


@pytest.mark.usefixtures("database")
class TestDjangoConfigurationRows(ConfigurationRowsContract):
    def make(self) -> Storage:
        return storage()


@pytest.mark.usefixtures("database")
class TestDjangoConnectionRows(ConnectionRowsContract):
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
        from outkey.hosts.django.rows.audit import DjangoAuditRows
        from outkey.sending.core.audit.events import Durability

        return DjangoAuditRows(lambda: Durability.PROCESS)


@pytest.mark.usefixtures("database")
class TestDjangoDeliveryRows(DeliveryRowsContract):
    def make(self) -> DeliveryRows:
        from outkey.hosts.django.rows.deliveries import DjangoDeliveryRows

        return DjangoDeliveryRows()

    def end_thread(self) -> None:
        connection.close()


@pytest.mark.usefixtures("database")
class TestPermitsLeasedFromDjango(PermitsContract):
    def clock(self) -> Clock:
        return FakeClock()

    def make(self, clock: Clock) -> Permits:
        from outkey.hosts.django.rows.shared_state import DjangoStateRows

        return LeasedPermits(DjangoStateRows(), clock.monotonic)

    def end_thread(self) -> None:
        connection.close()


@pytest.mark.usefixtures("database")
class TestTokensSealedInDjango(TokensContract):
    def make(self) -> tuple[Tokens, Configuration]:
        from outkey.hosts.django.rows.shared_state import DjangoStateRows
        from outkey.hosts.django.rows.tokens import DjangoTokenRows

        rows = storage()
        stored = Registry(rows, SystemClock()).add(configuration())
        tokens = StoredTokens(
            DjangoTokenRows(),
            FixedRing(new_keyring()),
            rows.database,
            rows.configurations,
            DjangoStateRows(),
        )
        return tokens, stored

    def end_thread(self) -> None:
        connection.close()


@pytest.mark.usefixtures("database")
class TestTokensOfSubjectSealedInDjango(TestTokensSealedInDjango):
    def make(self) -> tuple[Tokens, Configuration]:
        tokens, stored = super().make()
        return tokens.of_subject(Secret("a-user")), stored


@pytest.mark.usefixtures("database")
class TestDjangoStateRows(StateRowsContract):
    def make(self) -> StateRows:
        from outkey.hosts.django.rows.shared_state import DjangoStateRows

        return DjangoStateRows()

    def end_thread(self) -> None:
        connection.close()
