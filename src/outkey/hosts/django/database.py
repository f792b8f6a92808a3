"""Transactions and the clock of Django's database."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import DatabaseError, connection, transaction

from outkey.core.errors import StorageUnavailable
from outkey.hosts.django.raw_sql import execute, recover, translated


class DjangoDatabase:
    """Django's default database."""

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Keep all of what is written inside, or none of it."""
        try:
            with transaction.atomic():
                yield
        except DatabaseError:
            recover()
            raise StorageUnavailable from None

    @translated
    def now(self) -> float:
        """Return Unix time by the database's clock, where machines share it."""
        if connection.vendor != "postgresql":
            return time.time()
        statement = "SELECT extract(epoch FROM clock_timestamp())"
        return float(execute(statement, ()).fetchone()[0])
