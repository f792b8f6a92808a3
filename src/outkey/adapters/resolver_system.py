"""The system's resolver with a deadline, which getaddrinfo itself does not have."""

import socket
import threading
import time

from outkey.core.errors import DnsFailed, TimedOut

CACHE_SECONDS = 10.0
_MAX_CACHED = 1024


class SystemResolver:
    """Resolves names by getaddrinfo, in a thread that may be left behind when it hangs."""

    def __init__(self) -> None:
        self._cache: dict[tuple[str, int], tuple[float, tuple[str, ...]]] = {}
        self._running: dict[tuple[str, int], _LookUp] = {}

    def resolve(self, host: str, port: int, timeout: float) -> tuple[str, ...]:
        """Return all addresses in order of preference, or raise DnsFailed or TimedOut."""
        key = host, port
        cached = self._cache.get(key)
        if cached and cached[0] > time.monotonic():
            return cached[1]
        addresses = self._look_up(key, timeout)
        if len(self._cache) >= _MAX_CACHED:
            self._cache.clear()
        self._cache[key] = (time.monotonic() + CACHE_SECONDS, addresses)
        return addresses

    def _look_up(self, key: tuple[str, int], timeout: float) -> tuple[str, ...]:
        running = self._running.get(key)
        if running is None or not running.is_alive():
            # A name that hangs gets one thread, however many ask for it.
            running = self._running[key] = _LookUp(*key)
            running.start()
        running.join(timeout)
        if running.is_alive():
            raise TimedOut("the host name could not be resolved in time")
        self._running.pop(key, None)
        if not running.addresses:
            raise DnsFailed
        return running.addresses


class _LookUp(threading.Thread):
    """One call of getaddrinfo. A daemon, so that it does not keep the process alive."""

    def __init__(self, host: str, port: int) -> None:
        super().__init__(name="outkey-resolve", daemon=True)
        self._host, self._port = host, port
        self.addresses: tuple[str, ...] = ()

    def run(self) -> None:
        try:
            infos = socket.getaddrinfo(self._host, self._port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError):
            return
        self.addresses = tuple(dict.fromkeys(str(info[4][0]) for info in infos))
