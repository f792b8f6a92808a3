"""The HTTP server of the pages: waitress, with a deadline for every request.

Waitress reads heads and bodies in its own loop and uses a thread only for a complete
request. It has no deadline for a request that arrives byte by byte: that is added here.
"""

import signal
import time
from collections.abc import Callable
from types import FrameType

from waitress.adjustments import Adjustments
from waitress.channel import HTTPChannel
from waitress.server import TcpWSGIServer
from waitress.task import ThreadedTaskDispatcher

# From the connection, or from the previous response, to a complete head.
HEAD_SECONDS = 10.0
REQUEST_SECONDS = 30.0  # the same, to the end of the body
STALLED_SECONDS = 60.0  # how long a client may take no byte of its response
MAX_CONNECTIONS = 500
STOP_SECONDS = 10.0
_THREADS = 32
_MAX_HEAD_BYTES = 64 * 1024
_MAX_BODY_BYTES = 4 * 1024 * 1024  # above Django's own limit for a form
_OPTIONS = {
    "threads": _THREADS,
    "ident": None,
    "cleanup_interval": 1,
    # Above our own limit: waitress stops accepting at its limit, we close the slowest.
    "connection_limit": MAX_CONNECTIONS + 100,
    "asyncore_use_poll": True,  # select() ends at the file descriptor 1023
    "max_request_header_size": _MAX_HEAD_BYTES,
    "max_request_body_size": _MAX_BODY_BYTES,
    # AddressMiddleware decides which proxy is trusted, by networks, for any server.
    "clear_untrusted_proxy_headers": False,
}
Application = Callable[..., object]


class Channel(HTTPChannel):  # type: ignore[misc]  # waitress has no types
    """A connection that knows since when it has been waiting for a complete request."""

    def __init__(self, *arguments: object, **options: object) -> None:
        self.waiting_since = time.monotonic()
        super().__init__(*arguments, **options)

    def service(self) -> None:
        """Serve one request in a worker thread; the next deadline starts after it."""
        try:
            super().service()
        finally:
            self.waiting_since = time.monotonic()

    @property
    def is_busy(self) -> bool:
        """Whether a request is being served or its response is still being sent."""
        return bool(self.requests or self.total_outbufs_len)

    def is_late(self) -> bool:
        """Whether the client sends its request, or takes its response, too slowly."""
        if self.total_outbufs_len:
            self.waiting_since = time.monotonic()
            return bool(time.time() - self.last_activity > STALLED_SECONDS)
        if self.requests:
            return False
        has_head = self.request is not None and self.request.headers_finished
        limit = REQUEST_SECONDS if has_head else HEAD_SECONDS
        return time.monotonic() - self.waiting_since > limit


class Listener(TcpWSGIServer):  # type: ignore[misc]
    """One listening socket; closes late connections, and the slowest if it is full."""

    channel_class = Channel

    def maintenance(self, now: float) -> None:
        """Close late connections; called by waitress about once a second."""
        super().maintenance(now)
        for channel in self.active_channels.values():
            if channel.is_late():
                channel.will_close = True

    def handle_accept(self) -> None:
        """Accept a connection; make room for it if all places are taken."""
        if len(self.active_channels) >= MAX_CONNECTIONS:
            waiting = [
                channel
                for channel in self.active_channels.values()
                if not channel.is_busy and not channel.will_close
            ]
            if waiting:
                # Closed by the loop: closing it here would give its file descriptor to
                # the new connection while the loop still has events of the old one.
                slowest = min(waiting, key=lambda channel: channel.waiting_since)
                slowest.will_close = True
        super().handle_accept()


class Server:
    """Serves a WSGI application on every address that a host name stands for.

    It listens from when it is made, so that a port in use is an error at once.
    """

    def __init__(self, application: Application, host: str, port: int) -> None:
        self.host = host
        self.port = port
        self.url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
        adjustments = Adjustments(listen=self.url.removeprefix("http://"), **_OPTIONS)
        self._map: dict[int, object] = {}
        self._stopping = False
        self._dispatcher = ThreadedTaskDispatcher()
        self._listeners = [
            Listener(
                application,
                map=self._map,
                dispatcher=self._dispatcher,
                adj=adjustments,
                sockinfo=sockinfo,
            )
            for sockinfo in adjustments.listen
        ]

    def stop_at_signals(self) -> None:
        """Let SIGTERM and Ctrl-C end `run` instead of the process."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)

    def run(self) -> None:
        """Serve until stopped, then finish the requests that are being served."""
        self._dispatcher.set_thread_count(_THREADS)
        while not self._stopping:
            self._poll()
        for listener in self._listeners:
            listener.accepting = False
            listener.socket.close()
            listener.del_channel()
        deadline = time.monotonic() + STOP_SECONDS
        while self._has_busy_channels() and time.monotonic() < deadline:
            self._poll()
        self._dispatcher.shutdown(timeout=1)

    def _poll(self) -> None:
        """Handle what has arrived within a second."""
        loop = self._listeners[0].asyncore.loop
        loop(timeout=1.0, map=self._map, use_poll=True, count=1)

    def _has_busy_channels(self) -> bool:
        return any(
            channel.is_busy
            for listener in self._listeners
            for channel in listener.active_channels.values()
        )

    def _stop(self, number: int, _frame: FrameType | None) -> None:
        # A second signal ends the process at once.
        signal.signal(number, signal.SIG_DFL)
        self._stopping = True
        self._listeners[0].pull_trigger()
