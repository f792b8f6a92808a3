"""Connections to MySQL that end when the server does not respond in time.

The timeouts of PyMySQL are those of one `recv`: a server that sends a byte now and then
never exceeds them. Here a login, and each statement with its response, has one
deadline, and every wait for the server has what is left of it.
"""

from time import monotonic
from typing import Any

from pymysql.connections import Connection
from pymysql.constants import CR
from pymysql.err import OperationalError

_SLACK_SECONDS = 1.0  # a timeout that is set for every row would cost more than the row
_PART_BYTES = 16 * 1024  # one TLS record: `sendall` over TLS waits for each one anew


class DeadlineConnection(Connection):  # type: ignore[misc]  # PyMySQL has no types
    """A connection that closes itself if a response takes longer than `patience`."""

    patience: float = 0.0  # set by the first login
    _deadline = 0.0  # by the monotonic clock
    _is_logging_in = False
    _ready = 0  # bytes that can be read without waiting
    _read_timeout: float
    _write_timeout: float

    def connect(self, sock: Any = None) -> None:  # noqa: ANN401 - of PyMySQL
        """Log in: one deadline for all that client and server send meanwhile."""
        self.patience = self.connect_timeout
        self._begin()
        self._is_logging_in = True
        try:
            super().connect(sock)
        finally:
            self._is_logging_in = False

    def close(self) -> None:
        """Send COM_QUIT to the server, and close the connection."""
        self._begin()
        super().close()

    def _execute_command(self, command: int, sql: str | bytes) -> None:
        if not self._is_logging_in:
            self._begin()
        super()._execute_command(command, sql)

    def _read_bytes(self, num_bytes: int) -> bytes:
        parts = []
        missing = num_bytes
        while missing > self._ready:
            parts.append(super()._read_bytes(self._ready))
            missing -= self._ready
            self._ready = self._wait_for_bytes()
        self._ready -= missing
        return b"".join((*parts, super()._read_bytes(missing)))

    def _wait_for_bytes(self) -> int:
        """Return how many bytes can be read without waiting."""
        self._limit_wait()
        try:
            ready = len(self._rfile.peek())
        except OSError:
            ready = 0
        if not ready:  # too late, or the server has closed the connection
            raise self._give_up()
        return ready

    def _write_bytes(self, data: bytes) -> None:
        self._ready = 0  # with TLS, what was read before counts no more
        for start in range(0, len(data), _PART_BYTES):
            self._limit_wait()
            super()._write_bytes(data[start : start + _PART_BYTES])

    def _begin(self) -> None:
        """Let the deadline be `patience` from now."""
        self._deadline = monotonic() + self.patience
        self._set_timeout(self.patience)

    def _limit_wait(self) -> None:
        """Let the next wait for the server end at the deadline."""
        left = self._deadline - monotonic()
        if left <= 0:
            raise self._give_up()
        if self._read_timeout - left > _SLACK_SECONDS:
            self._set_timeout(left)

    def _set_timeout(self, seconds: float) -> None:
        self._read_timeout = self._write_timeout = seconds  # PyMySQL sets these again
        if self._sock is not None:
            self._sock.settimeout(seconds)

    def _give_up(self) -> OperationalError:
        self._force_close()
        return OperationalError(CR.CR_SERVER_LOST, "no response in time")
