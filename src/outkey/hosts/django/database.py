"""The transactions and the clock of Django's default database."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.db import DatabaseError, connection, transaction

from outkey.core.errors import StorageUnavailable
from outkey.hosts.django.raw_sql import execute, recover, wrap_database_errors


class DjangoDatabase:
    """Django's default database."""

    @contextmanager
    def transaction(self, *, durable: bool = True) -> Iterator[None]:
        """Commit what is written inside, or roll all of it back."""
        is_relaxed = not durable and not connection.in_atomic_block
        try:
            with relaxed_transaction() if is_relaxed else transaction.atomic():
                yield
        except DatabaseError:
            recover()
            raise StorageUnavailable from None

    def after_commit(self, work: Callable[[], None]) -> None:
        """Do some work when the transaction around is committed, or now."""
        transaction.on_commit(work)

    @wrap_database_errors
    def now(self) -> float:
        """Return Unix time by the clock of PostgreSQL, which several machines share."""
        if connection.vendor != "postgresql":
            return time.time()
        moment = execute("SELECT extract(epoch FROM clock_timestamp())", ()).fetchone()
        return float(moment[0])


@contextmanager
def relaxed_transaction() -> Iterator[None]:
    """Commit without waiting for the disk, for which the next commit waits instead.

    The write-ahead log has all transactions in their order. SQLite without one could
    be damaged, so there it waits.
    """
    if connection.vendor == "postgresql":
        with transaction.atomic():
            execute("SET LOCAL synchronous_commit = off", ())
            yield
        return
    (journal,) = execute("PRAGMA journal_mode", ()).fetchone()
    (level,) = execute("PRAGMA synchronous", ()).fetchone()
    if journal == "wal":
        execute("PRAGMA synchronous = NORMAL", ())
    try:
        with transaction.atomic():
            yield
    finally:
        try:
            execute(f"PRAGMA synchronous = {level}", ())
        except DatabaseError:
            # Ctrl-C has left the transaction open. The next connection waits again.
            connection.close()
