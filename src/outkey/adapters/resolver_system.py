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

    def resolve(self, host: str, port: int, timeout: float) -> tuple[str, ...]:
        """Return all addresses in order of preference, or raise DnsFailed or TimedOut."""
        cached = self._cache.get((host, port))
        if cached and cached[0] > time.monotonic():
            return cached[1]
        addresses = _look_up(host, port, timeout)
        if len(self._cache) >= _MAX_CACHED:
            self._cache.clear()
        self._cache[host, port] = (time.monotonic() + CACHE_SECONDS, addresses)
        return addresses


def _look_up(host: str, port: int, timeout: float) -> tuple[str, ...]:
    found: list[tuple[str, ...]] = []

    def work() -> None:
        try:
            infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except OSError:
            found.append(())
        else:
            found.append(tuple(dict.fromkeys(str(info[4][0]) for info in infos)))

    # A daemon, so that a resolver that never answers does not keep the process alive.
    thread = threading.Thread(target=work, name="outkey-resolve", daemon=True)
    thread.start()
    thread.join(timeout)
    if not found:
        raise TimedOut("the host name could not be resolved in time")
    if not found[0]:
        raise DnsFailed
    return found[0]
