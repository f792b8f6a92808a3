"""The transactions and the clock of Django's default database."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext

from django.db import DatabaseError, connection, transaction

from outkey.foundation.core.errors import StorageUnavailable
from outkey.hosts.django.rows.raw_sql import execute, recover, wrap_database_errors


class TransactionClock(threading.local):
    """How far the database's clock is ahead of the monotonic one, in a transaction.

    `SharedClock` counts on for longer, which is too long for the lease of a run.
    """

    is_open = False
    ahead: float | None = None

    @contextmanager
    def open(self) -> Iterator[None]:
        """Let the database be asked once at most."""
        self.is_open = True
        try:
            yield
        finally:
            self.is_open = False
            self.ahead = None


class DjangoDatabase:
    """Django's default database."""

    def __init__(self) -> None:
        self._clock = TransactionClock()

    @contextmanager
    def transaction(self, *, durable: bool = True) -> Iterator[None]:
        """Commit what is written inside, or roll all of it back."""
        is_outermost = not connection.in_atomic_block
        is_relaxed = not durable and is_outermost
        try:
            with (
                self._clock.open() if is_outermost else nullcontext(),
                _relaxed_transaction() if is_relaxed else transaction.atomic(),
            ):
                yield
        except DatabaseError:
            recover()
            raise StorageUnavailable from None

    def after_commit(self, work: Callable[[], None]) -> None:
        """Do some work when the transaction around is committed, or now."""
        transaction.on_commit(work)

    @wrap_database_errors
    def now(self) -> float:
        """Return Unix time by the clock of PostgreSQL, which several machines share.

        It is asked once in a transaction, which is short: the server ends one that does
        nothing for a minute, as in a process that is suspended.
        """
        if connection.vendor != "postgresql":
            return time.time()
        if self._clock.ahead is not None:
            return self._clock.ahead + time.monotonic()
        row = execute("SELECT extract(epoch FROM clock_timestamp())", ()).fetchone()
        now = float(row[0])
        if self._clock.is_open:
            self._clock.ahead = now - time.monotonic()
        return now


@contextmanager
def _relaxed_transaction() -> Iterator[None]:
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
