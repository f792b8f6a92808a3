"""Connections to PostgreSQL that end when the server does not respond in time.

The server ends a statement that takes too long (`statement_timeout`). A server that
hangs does not: a frozen machine, a disk that does not respond, a fail-over that left
the connection half open. As long as its kernel acknowledges packets, keepalives do not
help either. So the client has a deadline of its own, which is a little later.
"""

from collections.abc import Generator
from time import monotonic
from typing import Any, TypeVar

from psycopg import AsyncConnection, Connection, OperationalError
from psycopg.pq import TransactionStatus

Result = TypeVar("Result")

LOGIN_SECONDS = 5.0  # for the first response after the login
STATEMENT_SECONDS = 60
LONG_STATEMENT_SECONDS = 600  # of one that is about all rows of a table
LOCK_SECONDS = 5
WAKE_SECONDS = 1.0  # how often an event loop looks whether a deadline has passed
LATER_SECONDS = 5.0  # the server ends a statement first
IDLE_SECONDS = 60  # a transaction whose process is suspended must not block others
# So the kernel notices within a minute that a server has disappeared.
KEEPALIVES = {
    "keepalives": 1,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
}


def server_limits(*, statement: float, lock: float) -> str:
    """Return limits, in seconds, as libpq's parameter `options` has them."""
    return (
        f"-c statement_timeout={statement:.0f}s -c lock_timeout={lock:.0f}s"
        f" -c idle_in_transaction_session_timeout={IDLE_SECONDS}s"
    )


class NoResponse(OperationalError):
    """The server did not respond in time."""


class DeadlineConnection(Connection[Any]):
    """A connection that closes itself if a response takes longer than `patience`."""

    patience = LOGIN_SECONDS
    _is_long = False  # whether this transaction may have long statements

    def require_response(self) -> None:
        """Wait for a response: a server that hangs may well accept a login."""
        autocommit = self.autocommit
        self.autocommit = True
        self.execute("SELECT 1")
        self.autocommit = autocommit

    def allow_long_statements(self) -> None:
        """Let each statement of this transaction take minutes."""
        if not self._is_long:
            self.execute(f"SET LOCAL statement_timeout = '{LONG_STATEMENT_SECONDS}s'")
            self._is_long = True

    def wait(
        self,
        gen: Generator[Any, Any, Result],
        *arguments: Any,  # noqa: ANN401 - of psycopg
        **options: Any,  # noqa: ANN401
    ) -> Result:
        """Do what psycopg does with every request to the server, with a deadline."""
        limited = limit(gen, self._seconds())
        try:
            return super().wait(limited, *arguments, **options)
        except NoResponse:
            self.pgconn.finish()
            raise

    def _seconds(self) -> float:
        if not self._is_long:
            return self.patience
        if self.pgconn.transaction_status == TransactionStatus.IDLE:
            self._is_long = False
            return self.patience
        return LONG_STATEMENT_SECONDS + LATER_SECONDS


class AsyncDeadlineConnection(AsyncConnection[Any]):
    """The same, for the queue of the workers.

    They listen for notifications for half of this time at most. psycopg would wake up
    ten times a second for the deadline; on an event loop nothing else needs that.
    """

    patience = STATEMENT_SECONDS + LATER_SECONDS

    async def wait(
        self,
        gen: Generator[Any, Any, Result],
        *arguments: Any,  # noqa: ANN401 - of psycopg
        **options: Any,  # noqa: ANN401
    ) -> Result:
        """Do what psycopg does with every request to the server, with a deadline."""
        if not arguments:
            options.setdefault("interval", WAKE_SECONDS)
        try:
            return await super().wait(limit(gen, self.patience), *arguments, **options)
        except NoResponse:
            self.pgconn.finish()
            raise


def limit(
    gen: Generator[Any, Any, Result], seconds: float
) -> Generator[Any, Any, Result]:
    """Return a generator of psycopg that raises NoResponse after some seconds.

    psycopg continues it whenever the socket is ready, and at least once a second.
    """
    deadline = monotonic() + seconds
    try:
        waits_for = next(gen)
        while True:
            ready = yield waits_for
            if monotonic() > deadline:
                raise NoResponse
            waits_for = gen.send(ready)
    except StopIteration as end:
        result: Result = end.value
        return result
