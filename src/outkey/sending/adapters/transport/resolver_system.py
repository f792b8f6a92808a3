"""The system's resolver with a deadline, which getaddrinfo itself does not have."""

import asyncio
import socket
import threading
import time

from outkey.foundation.core.errors import DnsFailed, TimedOut
from outkey.foundation.core.text import Text

CACHE_SECONDS = 10.0
_MAX_CACHED = 1024


class SystemResolver:
    """Resolves names with getaddrinfo, in a thread that is abandoned if it hangs."""

    def __init__(self) -> None:
        self._cache: dict[tuple[str, int], tuple[float, tuple[str, ...]]] = {}
        self._running: dict[tuple[str, int], LookUp] = {}

    def resolve(self, host: str, port: int, timeout: float) -> tuple[str, ...]:
        addresses = self.cached_addresses(host, port)
        if addresses:
            return addresses
        lookup = self.begin(host, port)
        lookup.join(timeout)
        return self.result_of(lookup)

    def cached_addresses(self, host: str, port: int) -> tuple[str, ...]:
        """Return the addresses from the cache, or nothing."""
        cached = self._cache.get((host, port))
        return cached[1] if cached and cached[0] > time.monotonic() else ()

    def begin(self, host: str, port: int) -> "LookUp":
        """Return the lookup of a name.

        One that hangs occupies a single thread, however many callers wait for it.
        """
        running = self._running.get((host, port))
        if running is None or not running.is_alive():
            running = self._running[host, port] = LookUp(host, port)
            running.start()
        return running

    def result_of(self, lookup: "LookUp") -> tuple[str, ...]:
        """Return the addresses and cache them, or raise DnsFailed or TimedOut."""
        if lookup.is_alive():
            raise TimedOut(Text("the host name could not be resolved in time"))
        self._running.pop(lookup.key, None)
        if not lookup.addresses:
            raise DnsFailed
        if len(self._cache) >= _MAX_CACHED:
            self._cache.clear()
        self._cache[lookup.key] = (time.monotonic() + CACHE_SECONDS, lookup.addresses)
        return lookup.addresses


class AsyncSystemResolver:
    """The same for an event loop, with the same threads."""

    def __init__(self, system: SystemResolver) -> None:
        self._system = system

    async def resolve(self, host: str, port: int, timeout: float) -> tuple[str, ...]:  # noqa: ASYNC109 - the port's signature
        addresses = self._system.cached_addresses(host, port)
        if addresses:
            return addresses
        lookup = self._system.begin(host, port)
        ends = time.monotonic() + timeout
        pause = 0.001
        while lookup.is_alive() and time.monotonic() < ends:
            await asyncio.sleep(pause)
            pause = min(2 * pause, 0.02)
        return self._system.result_of(lookup)


class LookUp(threading.Thread):
    """One call of getaddrinfo. A daemon, so that it does not keep the process alive."""

    def __init__(self, host: str, port: int) -> None:
        super().__init__(name="outkey-resolve", daemon=True)
        self.key = host, port
        self.addresses: tuple[str, ...] = ()

    def run(self) -> None:
        """Call getaddrinfo."""
        try:
            infos = socket.getaddrinfo(*self.key, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError):
            return
        self.addresses = tuple(dict.fromkeys(str(info[4][0]) for info in infos))
