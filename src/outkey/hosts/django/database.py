"""The transactions and the clock of Django's default database."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import DatabaseError, connection, transaction

from outkey.core.errors import StorageUnavailable
from outkey.hosts.django.raw_sql import execute, recover, wrap_database_errors


class DjangoDatabase:
    """Django's default database."""

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit what is written inside, or roll all of it back."""
        try:
            with transaction.atomic():
                yield
        except DatabaseError:
            recover()
            raise StorageUnavailable from None

    @wrap_database_errors
    def now(self) -> float:
        """Return Unix time by the clock of PostgreSQL, which several machines share."""
        if connection.vendor != "postgresql":
            return time.time()
        moment = execute("SELECT extract(epoch FROM clock_timestamp())", ()).fetchone()
        return float(moment[0])
