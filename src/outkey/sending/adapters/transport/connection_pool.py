"""A pool of idle connections, by configuration and origin.

Partitioned by configuration: connection reuse across credentials is the commonest class
of credential leaks in curl's history (23 of its CVEs).
"""

import os
import select
import selectors
import socket
import ssl
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from functools import partial
from typing import Generic, NamedTuple, Protocol, TypeVar

from outkey.foundation.core.origin import Origin
from outkey.sending.core.request.message import Proxy, Route

MAX_IDLE = 256
# A connection idle for longer is not used again: nginx closes after 75 s. Node.js
# closes after 5 s, which matters for requests that must not be repeated when they meet
# a closing peer.
IDLE_SECONDS = 45.0
IDLE_SECONDS_UNREPEATABLE = 4.0


class Connection(Protocol):
    """A connection as the pool uses it."""

    @property
    def is_connected(self) -> bool:
        """Whether the connection is open and has nothing to read."""

    def close(self) -> None:
        """Close the connection."""


AnyConnection = TypeVar("AnyConnection", bound=Connection)


class PooledConnection(NamedTuple, Generic[AnyConnection]):
    """An open connection with its IP address, its TLS settings and its proxy."""

    connection: AnyConnection
    address: str
    context: ssl.SSLContext | None
    proxy: Proxy | None = None


class ConnectionPool(Generic[AnyConnection]):
    """Stores idle connections, up to a limit; closes the least recently used first."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        """Begin without connections; a forked child leaves its parent's alone."""
        self._process = os.getpid()
        self._lock = threading.Lock()
        # By partition and origin, as texts: unlike an Origin they are hashed once.
        self._idle: OrderedDict[
            tuple[str, str], deque[tuple[PooledConnection[AnyConnection], float]]
        ] = OrderedDict()
        self._count = 0

    def take(
        self,
        route: Route,
        origin: Origin,
        context: ssl.SSLContext | None,
        *,
        repeatable: bool,
    ) -> PooledConnection[AnyConnection] | None:
        """Return a live connection to a vetted address with these TLS settings."""
        self._drop_inherited()
        oldest = time.monotonic() - (
            IDLE_SECONDS if repeatable else IDLE_SECONDS_UNREPEATABLE
        )
        key = route.partition, origin.bound
        while entry := self._pop(key):
            pooled, since = entry
            usable = (
                pooled.context is context
                and pooled.address in route.addresses
                and pooled.proxy == route.proxy
            )
            # A connection that has something to read was closed, or is out of step.
            if usable and since > oldest and pooled.connection.is_connected:
                return pooled
            pooled.connection.close()
        return None

    def put(
        self, partition: str, origin: Origin, pooled: PooledConnection[AnyConnection]
    ) -> None:
        """Store a connection that has no exchange in progress."""
        key = partition, origin.bound
        with self._lock:
            queue = self._idle.pop(key, None) or deque()
            queue.append((pooled, time.monotonic()))
            self._idle[key] = queue  # the most recently used
            self._count += 1
            dropped = self._evict() if self._count > MAX_IDLE else None
        if dropped:
            dropped.connection.close()

    def close(self) -> None:
        """Close all idle connections."""
        self._drop_inherited()
        with self._lock:
            queues = self._idle
            self._idle = OrderedDict()
            self._count = 0
        for queue in queues.values():
            for pooled, _ in queue:
                pooled.connection.close()

    def _pop(
        self, key: tuple[str, str]
    ) -> tuple[PooledConnection[AnyConnection], float] | None:
        with self._lock:
            queue = self._idle.get(key)
            if not queue:
                return None
            self._count -= 1
            entry = queue.pop()
            if not queue:
                del self._idle[key]
            return entry

    def _evict(self) -> PooledConnection[AnyConnection]:
        key, queue = next(iter(self._idle.items()))
        pooled, _ = queue.popleft()
        if not queue:
            del self._idle[key]
        self._count -= 1
        return pooled

    def _drop_inherited(self) -> None:
        """Begin anew in a forked child.

        Not by a hook: uWSGI forks in C, where Python does not call them.
        """
        if self._process != os.getpid():
            self._begin()


def make_input_check(connected: socket.socket) -> Callable[[], object]:
    """Return a function that reports whether there is input.

    It is made once for a connection and called before each request, for the price of
    one system call.
    """
    if not hasattr(select, "poll"):  # Windows
        return partial(wait_for_input, connected, 0)
    poll = select.poll()
    poll.register(connected, select.POLLIN)
    return partial(poll.poll, 0)


def wait_for_input(connected: socket.socket, seconds: float) -> bool:
    """Wait until there is input, at most for this time; return whether there is."""
    with selectors.DefaultSelector() as selector:
        selector.register(connected, selectors.EVENT_READ)
        return bool(selector.select(seconds))
