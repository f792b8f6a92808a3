"""The HTTP server of the pages: waitress, with a deadline for every request.

Waitress reads heads and bodies in its own loop and uses a thread only for a complete
request. It has no deadline for a request that arrives byte by byte: that is added here.
"""

import fcntl
import logging
import re
import signal
import socket
import struct
import sys
import termios
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from copy import copy
from types import FrameType
from urllib.parse import unquote

from waitress.adjustments import Adjustments
from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser, ParsingError
from waitress.server import TcpWSGIServer
from waitress.task import WSGITask
from waitress.utilities import Error

from outkey.foundation.core.errors import OutkeyError, ServerBusy
from outkey.foundation.core.text import Text
from outkey.hosts.django.api.aborted import RESPOND_WITHIN, ResponseAborted
from outkey.hosts.django.api.paths import without_origin
from outkey.hosts.django.api.responses import error_response
from outkey.hosts.server.web.places import (
    THREADS,
    Dispatcher,
    Kind,
    Place,
    kind_of,
    normal_path,
)
from outkey.sending.adapters.transport.listeners_file import web_url

# From the connection, or from the previous response, to a complete head.
HEAD_SECONDS = 10.0
REQUEST_SECONDS = 30.0  # the same, to the end of the body
# A client has to take so many bytes of its response within so many seconds. Less would
# hold a thread, or a place among the connections, for as long as the client likes.
STALLED_SECONDS = 60.0
STALLED_BYTES = 64 * 1024
# How long a client that was refused may go on sending before its connection is closed.
DISCARD_SECONDS = 10.0
MAX_CONNECTIONS = 500
# Of files and connections that the process has to be able to open.
LEAST_DESCRIPTORS = MAX_CONNECTIONS + 100
REST_SECONDS = 1.0  # before the next connection is accepted when none could be
# Of the requests that a client sends before it has read the first response. The last
# response has "Connection: close", and the rest is not read.
MAX_PIPELINED = 8
RETRY_SECONDS = 5  # when a client that was refused may retry
# How long requests that are being served may take once the server is to stop: as long
# as a send may take by default.
STOP_SECONDS = 60.0
_MAX_HEAD_BYTES = 64 * 1024
_MAX_BODY_BYTES = 4 * 1024 * 1024  # above Django's own limit for a form
# Of a request to the send proxy, whose own limit is 32 MiB by default: a little more
# gets its JSON error.
MAX_SENT_BYTES = 32 * 1024 * 1024
_SENT_MORE = 1024 * 1024
# Such bodies are in temporary files from here on. They are read only if their token is
# valid, and only so many at the same time, in all and with the same token.
_LARGE_BYTES = 512 * 1024
MAX_LARGE_BODIES = 32
MAX_LARGE_BODIES_OF_TOKEN = 16
_SENT_AHEAD = 1024 * 1024  # how far a response of the send proxy is ahead of its client
_BUSY = "Too many users are signing in. Wait some seconds, then retry."
_RESET = struct.pack("ii", 1, 0)  # of SO_LINGER: linger, for no second
_SENDING = "/api/v1/send/"
_FORWARDED_FOR = "X_FORWARDED_FOR"  # as waitress names it
_API_TOKEN = re.compile(r"Bearer ok_[A-Za-z0-9_-]{43}", re.IGNORECASE)
_OPTIONS = {
    "threads": THREADS,
    "ident": None,
    "cleanup_interval": 1,
    # Above our own limit: waitress stops accepting at its limit, we close the slowest.
    "connection_limit": LEAST_DESCRIPTORS,
    "asyncore_use_poll": True,  # select() ends at the file descriptor 1023
    "max_request_header_size": _MAX_HEAD_BYTES,
    "max_request_body_size": _MAX_BODY_BYTES,
    "inbuf_overflow": _LARGE_BYTES,
    # AddressMiddleware decides which proxy is trusted, by networks, for any server.
    "clear_untrusted_proxy_headers": False,
}
Application = Callable[..., object]
# Returns the address that a client is counted by, of the environment of its request.
AddressOf = Callable[[Mapping[str, str]], str]
_log = logging.getLogger(__name__)


def _is_sending(path: str) -> bool:
    """Whether a path is that of the send proxy."""
    return normal_path(path).startswith(_SENDING)


def peer_address(environment: Mapping[str, str]) -> str:
    """Return the address of a client that no proxy stands in front of."""
    return environment["REMOTE_ADDR"]


class InterfaceRefusal(Error):  # type: ignore[misc]
    """The response to a request to the HTTP interface that is not served."""

    def __init__(self, error: OutkeyError) -> None:
        super().__init__(error.code)
        self._error = error

    def to_response(
        self, _ident: str | None = None
    ) -> tuple[str, list[tuple[str, str]], bytes]:
        """Return status, headers and body, as the interface itself would."""
        response = error_response(self._error, sends=True)
        status = f"{response.status_code} {response.reason_phrase}"
        return status, list(response.items()), response.content


class BusyPage(Error):  # type: ignore[misc]
    """The response to a user whose request is not served."""

    code = 503
    reason = "Service Unavailable"

    def to_response(
        self, ident: str | None = None
    ) -> tuple[str, list[tuple[str, str]], bytes]:
        """Return status, headers and body."""
        status, headers, body = super().to_response(ident)
        return status, [*headers, ("Retry-After", str(RETRY_SECONDS))], body


def busy(message: Text | None = None) -> InterfaceRefusal:
    """Return the response of a server that has too much to do."""
    error = ServerBusy(message)
    error.pause = RETRY_SECONDS
    return InterfaceRefusal(error)


class RequestParser(HTTPRequestParser):  # type: ignore[misc]
    """Reads a request; only one to the send proxy may have a large body."""

    adj: Adjustments
    headers: dict[str, str]

    def __init__(self, adjustments: Adjustments, server: "Listener") -> None:
        super().__init__(adjustments)
        self.has_large_body = False
        self.needs_check = False  # of its token, before more of the body is read
        self._server = server

    @property
    def token(self) -> str:
        """The header with the token of the request, if it has one."""
        return self.headers.get("AUTHORIZATION", "")

    @property
    def configuration(self) -> str | None:
        """The name of the configuration that it sends with; None if it sends nothing.

        It is "" if the path has none, as the send proxy reads it: before the first
        slash that is not encoded.
        """
        if not _is_sending(self.path):
            return None
        path, _, _ = without_origin(self.request_uri).partition("?")
        _, _, rest = path.partition(_SENDING)
        return unquote(rest.partition("/")[0])

    def parse_header(self, header_plus: bytes) -> None:
        """Read the head, and decide how large the body may be."""
        try:
            super().parse_header(header_plus)
        except ValueError:  # Python reads no number of thousands of digits
            raise ParsingError("the length of the body is not a number") from None
        if _is_sending(self.path) and _API_TOKEN.fullmatch(self.token):
            self.adj = copy(self.adj)
            self.adj.max_request_body_size = self._server.max_sent
            self.needs_check = self.chunked or self.content_length > _LARGE_BYTES


class TokenCheck:
    """Checks the token of a request in a thread, before its large body is read."""

    def __init__(self, channel: "Channel", request: RequestParser) -> None:
        self._channel = channel
        self._request = request
        self._refusal: Error | None = None

    def place(self) -> Place:
        """Return the place that it is counted at."""
        return Place(Kind.INTERFACE, self._request.token)

    def refuse(self) -> None:
        """Respond that the server is busy."""
        self._refusal = busy()

    def service(self) -> None:
        """Let the body be read, or respond without it."""
        refusal: Error | None = busy()  # also if the check fails in an unknown way
        try:
            refusal = self._refusal or self._channel.server.admit_body(self._request)
        finally:
            self._channel.end_check(self._request, refusal)

    def cancel(self) -> None:
        """Give it up: the server stops."""


class ResponseTask(WSGITask):  # type: ignore[misc]
    """Serves one request."""

    def service(self) -> None:
        """Serve it; a body that broke off ends with its connection.

        Then the client gets fewer bytes than Content-Length, or no last chunk.
        """
        adjustments = self.channel.adj
        if _is_sending(self.request.path):
            # waitress would hold what the client has already taken, in memory, until it
            # is this much; and how much is ahead of a slow client.
            self.channel.adj = copy(adjustments)
            self.channel.adj.outbuf_high_watermark = _SENT_AHEAD
        try:
            super().service()
        except ResponseAborted:
            self.close_on_finish = True
        finally:
            self.channel.adj = adjustments
            self.channel.respond_by = None

    def build_response_header(self) -> bytes:
        """Return the head; the last one before the server stops says so."""
        if self.channel.server.is_stopping:
            self.request.headers["CONNECTION"] = "close"
        head: bytes = super().build_response_header()
        return head

    def write(self, data: bytes) -> None:
        """Send a part of the body; only the head if the request is a HEAD.

        waitress leaves that to the application, and the client, or a proxy in front of
        us, would take the body for the beginning of the next response.
        """
        is_head = self.request.command == "HEAD"
        super().write(b"" if is_head else data)
        if is_head:
            self.chunked_response = False  # there is no last chunk either

    def get_environment(self) -> dict[str, object]:
        """Return the WSGI environment.

        The body to a HEAD must not be a file, which waitress would send past `write`.
        """
        environment: dict[str, object] = super().get_environment()
        if self.request.command == "HEAD":
            environment.pop("wsgi.file_wrapper", None)
        environment[RESPOND_WITHIN] = self.channel.respond_within
        return environment


class Channel(HTTPChannel):  # type: ignore[misc]  # waitress has no types
    """A connection that knows since when it has been waiting for a complete request."""

    server: "Listener"
    addr: tuple[str, int]
    task_class = ResponseTask
    close_when_flushed: bool
    request: RequestParser | None
    requests: list[RequestParser]

    def __init__(self, *arguments: object, **options: object) -> None:
        self.waiting_since = time.monotonic()
        # When the client has to have taken what is being written; None for no limit.
        self.respond_by: float | None = None
        self._is_closed = False
        self._is_checking = False
        self._was_refused = False  # before its body was read
        self._is_discarding = False
        self._is_flushing = False  # a thread sends a part of its response
        self._bytes_sent = 0
        self._stall: tuple[float, int] | None = None  # since when, and the bytes then
        super().__init__(*arguments, **options)

    def parser_class(self, adjustments: Adjustments) -> RequestParser:
        """Return the parser of the next request."""
        return RequestParser(adjustments, self.server)

    def large_bodies(self) -> list[str]:
        """Return the tokens of requests whose large body is received or served."""
        requests = [self.request, *self.requests]
        return [
            request.token for request in requests if request and request.has_large_body
        ]

    def place(self) -> Place:
        """Return the place that the next request is counted at."""
        request = self.requests[0]
        if request.error:
            return Place(Kind.LIVENESS)  # its response is a few bytes
        kind = kind_of(request.path, request.command)
        if kind is Kind.SIGN_IN:
            return Place(kind, self._client_address(request))
        if kind is Kind.INTERFACE:
            return Place(kind, request.token, request.configuration)
        return Place(kind)

    def _client_address(self, request: RequestParser) -> str:
        """Return the address that a sign-in is counted by."""
        environment = {"REMOTE_ADDR": str(self.addr[0])}
        if _FORWARDED_FOR in request.headers:
            environment[f"HTTP_{_FORWARDED_FOR}"] = request.headers[_FORWARDED_FOR]
        return self.server.address_of(environment)

    def refuse(self) -> None:
        """Respond to the next request that the server is busy."""
        is_program = self.place().kind is Kind.INTERFACE
        self.requests[0].error = busy() if is_program else BusyPage(_BUSY)

    def service(self) -> None:
        """Serve one request in a worker thread; the next deadline starts after it."""
        self._was_refused = bool(self.requests[0].error)
        try:
            super().service()
        finally:
            self.waiting_since = time.monotonic()

    def handle_write(self) -> None:
        """Send what there is; the connection of a refused request is closed later.

        Closed at once it would be reset, since the client still sends. Then a proxy
        responds with 502 instead of passing our response on.
        """
        if self._was_refused and self.close_when_flushed and not self.will_close:
            self._flush_exception(self._flush_some)
            if self.total_outbufs_len == 0 and not self._is_closed:
                self.close_when_flushed = False
                self._is_discarding = True
                with suppress(OSError):  # the client has closed it
                    self.socket.shutdown(socket.SHUT_WR)
        else:
            super().handle_write()

    def writable(self) -> bool:
        """Whether there is something to send, or to close."""
        if self._is_closed or self._is_discarding:
            return not self._is_closed and bool(self.will_close)
        # While a thread sends, the loop would find the socket writable again and again,
        # and take the interpreter from that thread and all others.
        return not self._is_flushing and bool(super().writable())

    def _flush_exception(
        self,
        flush: Callable[..., object] | None,
        do_close: bool = True,  # noqa: FBT001, FBT002 - waitress' own
    ) -> object:
        """Send what there is, and let the loop rest while a thread does so.

        Only threads call this without `do_close`. waitress wakes the loop afterwards if
        the system had no room for everything.
        """
        if do_close:
            return super()._flush_exception(flush)
        self._is_flushing = True
        try:
            return super()._flush_exception(flush, do_close=False)
        finally:
            self._is_flushing = False

    def readable(self) -> bool:
        """Whether there may be something to receive."""
        is_waiting = self._is_closed or self._is_checking
        return not is_waiting and bool(super().readable())

    def handle_close(self) -> None:
        """Close the connection; a thread that waits for the client goes on.

        The loop may still have it in its list of this round.
        """
        self._is_closed = True
        super().handle_close()

    def send(self, data: bytes, do_close: bool = True) -> int:  # noqa: FBT001, FBT002 - waitress' own
        """Send what the system has room for; return how much that is."""
        sent = int(super().send(data, do_close))
        self._bytes_sent += sent
        return sent

    def abort(self) -> None:
        """Close a connection whose client does not take its response.

        With a reset: what the system has of the response would stay in its memory.
        """
        with suppress(OSError):  # the client has disconnected
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self.handle_close()

    def respond_within(self, seconds: float) -> None:
        """Close the connection if the client takes longer for the current response."""
        self.respond_by = time.monotonic() + seconds

    def received(self, data: bytes) -> bool:
        """Read requests, or discard what follows a refused one."""
        if self._is_discarding or not super().received(data):
            return False
        with self.requests_lock:
            if len(self.requests) > MAX_PIPELINED:
                for request in self.requests[MAX_PIPELINED:]:
                    request.close()
                del self.requests[MAX_PIPELINED:]
                self.requests[-1].headers["CONNECTION"] = "close"
            if self.request is not None and self.request.needs_check:
                self.request.needs_check = False
                self._is_checking = True
                self.server.add_task(TokenCheck(self, self.request))
        return True

    def end_check(self, request: RequestParser, refusal: Error | None) -> None:
        """Read the body of a request whose token was checked, or refuse it."""
        with self.requests_lock:
            self._is_checking = False
            if refusal is not None and self.request is request:
                request.error = refusal
                request.completed = True
                self.request = None
                self.requests.append(request)
                if len(self.requests) == 1:
                    self.server.add_task(self)
        self.server.pull_trigger()

    @property
    def is_busy(self) -> bool:
        """Whether a request is being served or its response is still being sent."""
        return bool(self.requests or self.total_outbufs_len)

    def is_late(self) -> bool:
        """Whether the client sends its request, or takes its response, too slowly."""
        now = time.monotonic()
        if self.total_outbufs_len:
            self.waiting_since = now
            return self._takes_too_long(now)
        self._stall = None
        if self.requests:
            return False
        if self._is_discarding:
            return now - self.waiting_since > DISCARD_SECONDS
        has_head = self.request is not None and self.request.headers_finished
        limit = REQUEST_SECONDS if has_head else HEAD_SECONDS
        return now - self.waiting_since > limit

    def _takes_too_long(self, now: float) -> bool:
        """Whether the client has taken too little of what is there for it."""
        if self.respond_by is not None and now > self.respond_by:
            return True
        taken = self._bytes_taken()
        if self._stall is None or taken - self._stall[1] >= STALLED_BYTES:
            self._stall = (now, taken)
        return now - self._stall[0] > STALLED_SECONDS

    def _bytes_taken(self) -> int:
        """Return how much has arrived at the client.

        The system has megabytes of its own for a connection, and takes more from us
        only when a third of them is free: at a slow client that takes minutes.
        """
        unsent = fcntl.ioctl(self.socket, termios.TIOCOUTQ, bytes(4))
        return self._bytes_sent - int.from_bytes(unsent, sys.byteorder)


class Listener(TcpWSGIServer):  # type: ignore[misc]
    """One listening socket; closes late connections, and the slowest if it is full."""

    channel_class = Channel
    max_sent = MAX_SENT_BYTES + _SENT_MORE
    is_stopping = False
    refusal_of: Callable[[str], OutkeyError | None]  # why a token may not send
    address_of: AddressOf = staticmethod(peer_address)
    _rests_until = 0.0
    _is_short = False  # of descriptors or memory, and this was logged

    def __init__(self, *arguments: object, **options: object) -> None:
        self._large_bodies_lock = threading.Lock()
        super().__init__(*arguments, **options)

    def admit_body(self, request: RequestParser) -> Error | None:
        """Return why a large body is not read; None if it may be from now on."""
        error = self.refusal_of(request.token)
        if error is not None:
            return InterfaceRefusal(error)
        with self._large_bodies_lock:
            # Copied at once: the loop adds and removes channels meanwhile.
            channels = list(self.active_channels.values())
            tokens = [token for channel in channels for token in channel.large_bodies()]
            of_token = tokens.count(request.token)
            if len(tokens) >= MAX_LARGE_BODIES or of_token >= MAX_LARGE_BODIES_OF_TOKEN:
                return busy(Text("too many large bodies at the same time"))
            request.has_large_body = True
        return None

    def maintenance(self, now: float) -> None:
        """Close late connections; called by waitress about once a second.

        At once: `will_close` is looked at when the client takes something, which a
        client that reads nothing never does, while a thread waits for it.
        """
        super().maintenance(now)
        self.task_dispatcher.refuse_overdue()
        for channel in list(self.active_channels.values()):
            if channel.is_late():
                if channel.total_outbufs_len:
                    channel.abort()
                else:
                    channel.handle_close()

    def readable(self) -> bool:
        """Whether a connection may be accepted now."""
        is_open = bool(super().readable())  # it also calls `maintenance`
        return is_open and time.monotonic() >= self._rests_until

    def handle_accept(self) -> None:
        """Accept a connection; make room for it if all places are taken."""
        if len(self.active_channels) >= MAX_CONNECTIONS:
            self._close_slowest()
        super().handle_accept()

    def accept(self) -> tuple[socket.socket, object] | None:
        """Return a new connection, or None.

        Without a descriptor for it, it would be retried at once, and for ever.
        """
        try:
            accepted: tuple[socket.socket, object] | None = super().accept()
        except OSError as error:
            self._rests_until = time.monotonic() + REST_SECONDS
            self._close_slowest()
            if not self._is_short:
                _log.warning("no connection can be accepted: %s", error.strerror)
            self._is_short = True
            return None
        self._is_short = self._is_short and accepted is None
        return accepted

    def _close_slowest(self) -> None:
        """Close the connection that has waited longest for a request."""
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


class Server:
    """Serves a WSGI application on every address that a host name stands for.

    It listens from when it is made, so that a port in use is an error at once.
    """

    def __init__(
        self,
        application: Application,
        host: str,
        port: int,
        *,
        max_body: int = 0,
        max_sent: int = MAX_SENT_BYTES,
        refusal_of: Callable[[str], OutkeyError | None] = lambda _token: None,
    ) -> None:
        self.host = host
        self.port = port
        self.url = web_url(host, port)
        options = _OPTIONS | {"max_request_body_size": max(max_body, _MAX_BODY_BYTES)}
        adjustments = Adjustments(listen=self.url.removeprefix("http://"), **options)
        self._map: dict[int, object] = {}
        self._stopping = False
        self._dispatcher = Dispatcher()
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
        for listener in self._listeners:
            listener.max_sent = max_sent + _SENT_MORE
            listener.refusal_of = refusal_of

    def count_sign_ins_by(self, address_of: AddressOf) -> None:
        """Let one address have few of the sign-ins; a proxy may forward another one."""
        for listener in self._listeners:
            listener.address_of = address_of

    def stop_at_signals(self) -> None:
        """Let SIGTERM and Ctrl-C end `run` instead of the process."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)

    def run(self) -> None:
        """Serve until stopped; `finish` has to follow."""
        self._dispatcher.set_thread_count(THREADS)
        while not self._stopping:
            self._poll()

    def finish(self) -> None:
        """Accept no more connections, and finish the requests that are being served."""
        for listener in self._listeners:
            listener.is_stopping = True
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

    def stop(self) -> None:
        """Let `run` end; from any thread."""
        self._stopping = True
        self._listeners[0].pull_trigger()

    def _stop(self, number: int, _frame: FrameType | None) -> None:
        # A second signal ends the process at once.
        signal.signal(number, signal.SIG_DFL)
        self.stop()
