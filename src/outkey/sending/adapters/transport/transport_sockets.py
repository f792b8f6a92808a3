"""The blocking transport: sockets with TLS, in a pool of our own.

No HTTP client is used, on purpose: they copy, retry, redirect and log, and their
bookkeeping costs more than the exchange itself. Requests are written here, and
responses are read by ResponseReader.
"""

import contextlib
import socket
import ssl
import struct
import sys
import time
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import replace
from functools import partial
from typing import cast

from outkey.foundation.core import errors
from outkey.foundation.core.origin import Origin
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.text import Text
from outkey.sending.adapters.transport.configured_files import ConfiguredFiles
from outkey.sending.adapters.transport.connection_pool import (
    ConnectionPool,
    PooledConnection,
    make_input_check,
    wait_for_input,
)
from outkey.sending.adapters.transport.inflate import inflate, inflate_parts, layers_of
from outkey.sending.adapters.transport.proxy_errors import (
    connecting_failure,
    forwarding_failure,
    opening_failure,
)
from outkey.sending.adapters.transport.response_reader import ResponseReader
from outkey.sending.adapters.transport.tls_context import (
    TlsContexts,
    negotiated_tls,
    route_to_proxy,
    tls_failure,
)
from outkey.sending.adapters.transport.tls_in_tls import TlsInTls
from outkey.sending.core.request.message import (
    IDEMPOTENT,
    Peer,
    Proxy,
    Request,
    Response,
    Route,
)
from outkey.sending.core.request.proxy import (
    absolute_request,
    connect_request,
    tunnel_failure,
)

_CHUNK = 64 * 1024
_IN_MEMORY = (bytes, Secret)  # types of bodies; a union would be made for each check
SETTLE_SECONDS = 0.01
# Of a request or a response that is left in the buffer of a socket.
_LEFT = 32 * 1024
_SHORTEST = 0.001  # seconds; a timeout of zero would not be one
# Linux tells when something arrived last: a field of its `struct tcp_info`.
_CAN_LEAVE = sys.platform == "linux"
_TCP_FACTS = 104
_LAST_RECEIVED = 52
MAX_REFUSAL = 64 * 1024  # of a proxy's response to CONNECT, whose body is not read
_CLOSED = Text("the connection was closed while it was opened")


class SocketTransport:
    """Sends requests over keep-alive connections, never shared by configurations."""

    def __init__(self, files: ConfiguredFiles | None = None) -> None:
        self._pool = ConnectionPool[_SocketConnection]()
        self._contexts = TlsContexts(files)

    @errors.drop_traceback  # its traceback would hold the request
    def send(self, request: Request, route: Route) -> Response:
        deadline = _Deadline(route)
        origin = request.origin
        context = self._context(origin, route)
        repeatable = request.method in IDEMPOTENT
        pooled = self._pool.take(route, origin, context, repeatable=repeatable)
        if pooled is None:
            pooled = self._connect(origin, route, deadline, context)
        forwarded = route.proxy is not None and origin.scheme == "http"
        reader = ResponseReader(
            route.response_bytes,
            to_head=request.method == "HEAD",
            forwarded=forwarded,
            streams=route.streams,
        )
        if route.proxy is not None and forwarded:
            request = absolute_request(request, route.proxy)
        exchange = _Exchange(pooled.connection, reader, deadline, forwarded=forwarded)
        release = partial(self._release, route, origin, pooled, exchange)
        is_read = True
        try:
            exchange.perform(request)
            is_read = exchange.is_complete
        finally:
            if is_read:
                release()
        if not is_read:
            stream = _ArrivingBody(exchange, release, route.response_bytes)
            return replace(reader.response(b""), stream=stream)
        return _response(reader, route)

    @errors.drop_traceback
    def begin(self, request: Request, route: Route) -> "_BegunExchange | None":
        """Write a small request to an idle connection, and leave its response there.

        Only where the last response on the connection was small: it is left in the
        buffer of the socket, where a server could not send more.
        """
        is_small = isinstance(request.body, bytes) and len(request.body) <= _LEFT
        if not is_small or not _CAN_LEAVE or route.streams or route.proxy is not None:
            return None
        origin = request.origin
        context = self._context(origin, route)
        repeatable = request.method in IDEMPOTENT
        pooled = self._pool.take(route, origin, context, repeatable=repeatable)
        if pooled is None:
            return None
        if pooled.connection.last_size > _LEFT:
            self._pool.put(route.partition, origin, pooled)
            return None
        deadline = _Deadline(route)
        reader = ResponseReader(route.response_bytes, to_head=request.method == "HEAD")
        exchange = _Exchange(pooled.connection, reader, deadline)
        release = partial(self._release, route, origin, pooled, exchange)
        return _BegunExchange(exchange, request, route, release)

    def _release(
        self,
        route: Route,
        origin: Origin,
        pooled: "PooledConnection[_SocketConnection]",
        exchange: "_Exchange",
    ) -> None:
        """Pool the connection of an exchange that has ended, or close it."""
        pooled.connection.last_size = len(exchange.reader.body)
        if exchange.reader.is_streaming:
            pooled.connection.last_size = sys.maxsize
        if exchange.is_reusable:
            self._pool.put(route.partition, origin, pooled)
        else:
            pooled.connection.close()

    @errors.drop_traceback
    def probe(self, origin: Origin, route: Route) -> Peer:
        """Connect, and pool the connection for the request that follows."""
        context = self._context(origin, route)
        pooled = self._connect(origin, route, _Deadline(route), context)
        self._pool.put(route.partition, origin, pooled)
        proxy = route.proxy.origin if route.proxy else None
        if origin.scheme == "http":
            return Peer(pooled.address, proxy=proxy)
        tls, chain = negotiated_tls(pooled.connection.socket)
        return Peer(pooled.address, tls, chain, proxy)

    def close(self) -> None:
        self._pool.close()

    def _context(self, origin: Origin, route: Route) -> ssl.SSLContext | None:
        """Return the TLS settings that a connection of the pool must have."""
        if origin.scheme == "https":
            return self._contexts.get(route)
        return self._proxy_context(route) if route.proxy else None

    def _proxy_context(self, route: Route) -> ssl.SSLContext | None:
        if route.proxy is None or route.proxy.origin.scheme == "http":
            return None
        return self._contexts.get(route_to_proxy(route))

    def _connect(
        self,
        origin: Origin,
        route: Route,
        deadline: "_Deadline",
        context: ssl.SSLContext | None,
    ) -> "PooledConnection[_SocketConnection]":
        proxy = route.proxy
        if proxy is None:
            return _connect(origin, route, deadline, context)
        try:
            opened = _connect(proxy.origin, route, deadline, self._proxy_context(route))
        except errors.OutkeyError as error:
            raise connecting_failure(error) from None
        connection = opened.connection
        if origin.scheme == "https":
            assert context is not None  # noqa: S101 - for the type checker
            connection = _open_tunnel(connection, origin, proxy, deadline, context)
        return PooledConnection(connection, opened.address, context, proxy)


class _Deadline:
    """The time left until the deadline, as timeouts of single operations."""

    __slots__ = ("_connect", "_ends", "silence")

    def __init__(self, route: Route) -> None:
        self._ends = time.monotonic() + route.time_left
        self.silence = route.read_timeout
        self._connect = route.connect_timeout

    def while_connecting(self) -> "_Deadline":
        """Return the same deadline for an exchange that is part of connecting."""
        deadline = copy(self)
        deadline.silence = self._connect
        return deadline

    def extend(self, seconds: float) -> None:
        """Do not count some seconds in which nobody looked for the response."""
        self._ends += seconds

    def next_wait(self) -> float:
        return self._within(self.silence)

    def connect_wait(self) -> float:
        return self._within(self._connect)

    def _within(self, bound: float) -> float:
        left = self._ends - time.monotonic()
        if left <= 0:
            raise errors.TimedOut(Text("the total timeout has passed"))
        return min(bound, left)


class _SocketConnection:
    """An open connection, whose socket is read and written directly."""

    __slots__ = ("_has_input", "_timeout", "last_size", "socket")

    def __init__(self, connected: socket.socket) -> None:
        self.socket = connected
        self.last_size = sys.maxsize  # of the last response on it
        self._has_input = make_input_check(self.socket)
        self._timeout = -1.0

    @property
    def is_connected(self) -> bool:
        """Whether the connection is open and has nothing to read."""
        return not self._has_input()

    def has_input_within(self, seconds: float) -> bool:
        """Whether something arrives within this time, or has been decrypted already."""
        pending = getattr(self.socket, "pending", None)
        if pending is not None and pending():
            return True
        if self._has_input():
            return True
        return seconds > 0 and wait_for_input(self.socket, seconds)

    def silent_seconds(self) -> float:
        """Return for how long nothing has arrived, by the system's own record."""
        facts = self.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_FACTS)
        (milliseconds,) = struct.unpack_from("=I", facts, _LAST_RECEIVED)
        return float(milliseconds) / 1000

    def set_timeout(self, seconds: float) -> None:
        """Set the timeout of the next operation, which costs a system call."""
        if seconds != self._timeout:
            self.socket.settimeout(seconds)
            self._timeout = seconds

    def close(self) -> None:
        self.socket.close()


def _connect(
    origin: Origin, route: Route, deadline: _Deadline, context: ssl.SSLContext | None
) -> PooledConnection[_SocketConnection]:
    """Connect to the first vetted address that accepts, and to no other."""
    failure: errors.RemoteError = errors.ConnectionFailed()
    for address in route.addresses:
        try:
            connected = _open(origin, address, deadline, context)
        except (errors.ConnectionFailed, errors.TimedOut) as error:
            failure = error
        else:
            return PooledConnection(_SocketConnection(connected), address, context)
    raise failure


def _open(
    origin: Origin, address: str, deadline: _Deadline, context: ssl.SSLContext | None
) -> socket.socket:
    """Return a connection to a vetted address, with TLS if there is a context."""
    place = (address, origin.port)
    try:
        connected = socket.create_connection(place, deadline.connect_wait())
    except TimeoutError:
        raise errors.ConnectTimedOut from None
    except OSError:
        raise errors.ConnectionFailed(
            Text("the connection was refused or could not be opened")
        ) from None
    with contextlib.ExitStack() as closing:
        closing.callback(connected.close)
        _refuse_self_connection(connected)
        # Else the end of a request waits until the server has confirmed its beginning.
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if context is not None:
            # Connected to the pinned address, but SNI
            # and the certificate are those of the host.
            connected.settimeout(deadline.connect_wait())
            connected = _secure(connected, context, origin.host)
        closing.pop_all()
    return connected


def _refuse_self_connection(connected: socket.socket) -> None:
    """Refuse a loopback connection to itself (TCP simultaneous open on one port)."""
    try:
        is_self = connected.getsockname() == connected.getpeername()
    except OSError:  # the peer has closed it already
        raise errors.ConnectionFailed(_CLOSED) from None
    if is_self:
        raise errors.EgressDenied(
            Text("the connection leads back to itself; nothing listens there")
        )


def _open_tunnel(
    connection: _SocketConnection,
    origin: Origin,
    proxy: Proxy,
    deadline: _Deadline,
    context: ssl.SSLContext,
) -> _SocketConnection:
    """Have a proxy connect us to the server, and do TLS with the server."""
    with contextlib.ExitStack() as closing:
        closing.callback(connection.close)
        reader = ResponseReader(MAX_REFUSAL, to_head=True)
        request = connect_request(origin, proxy)
        exchange = _Exchange(connection, reader, deadline.while_connecting())
        try:
            exchange.perform(request)
        except errors.OutkeyError as error:
            raise opening_failure(error) from None
        if failure := tunnel_failure(reader.status):
            raise failure
        connection.set_timeout(deadline.connect_wait())
        secured = _secure(connection.socket, context, origin.host)
        closing.pop_all()
    return _SocketConnection(secured)


def _secure(
    connected: socket.socket, context: ssl.SSLContext, host: str
) -> socket.socket:
    """Return the socket with TLS on it, or with TLS inside of its TLS."""
    try:
        if isinstance(connected, ssl.SSLSocket):
            # It has what is used of a socket here.
            return cast("socket.socket", TlsInTls(connected, context, host))
        return context.wrap_socket(connected, server_hostname=host)
    except ssl.SSLError as error:
        raise tls_failure(error) from None
    except TimeoutError:
        raise errors.ConnectTimedOut from None
    except OSError:
        raise errors.ConnectionFailed(_CLOSED) from None


class _Exchange:
    """One request on a connection, and its response as far as it was read."""

    __slots__ = (
        "_forwarded",
        "_is_written",
        "connection",
        "deadline",
        "is_complete",
        "is_reusable",
        "reader",
    )

    def __init__(
        self,
        connection: _SocketConnection,
        reader: ResponseReader,
        deadline: _Deadline,
        *,
        forwarded: bool = False,
    ) -> None:
        self.reader = reader
        self.is_complete = False  # whether the response was read to its end
        self.is_reusable = False  # whether the connection can be used again
        self.connection = connection
        self.deadline = deadline
        self._forwarded = forwarded  # by a proxy, whose failures are not the server's
        self._is_written = False  # whether the server has taken the whole request

    def perform(self, request: Request) -> None:
        """Write the request, and read the response.

        It is read to its end, or to the first part of a streaming body.
        """
        self.write(request)
        try:
            while not self.is_complete and not self.reader.has_part:
                self._receive()
            if not self.is_complete:
                self._await_end()
        except (errors.OutkeyError, OSError) as error:
            raise self._failure(error) from None

    def write(self, request: Request) -> None:
        """Write the request."""
        try:
            self._is_written = _write_request(self.connection, request, self.deadline)
        except (errors.OutkeyError, OSError) as error:
            raise self._failure(error) from None

    def receive(self, longest: float | None = None) -> None:
        """Read what has arrived of the response, or wait for it.

        With a longest time there may be nothing yet, such as a part of a TLS record.
        """
        try:
            self._receive(longest)
        except TimeoutError as error:
            if longest is None:
                raise self._failure(error) from None
        except (errors.OutkeyError, OSError) as error:
            raise self._failure(error) from None

    def _await_end(self) -> None:
        """Wait a moment for the end of a streaming body that may be small.

        A caller that passes on a whole body knows its length; the connection is reused.
        """
        until = time.monotonic() + SETTLE_SECONDS
        while not self.is_complete and self.reader.may_be_small:
            left = until - time.monotonic()
            if left <= 0 or not self.connection.has_input_within(left):
                return
            self._receive()

    def read_part(self) -> bytes:
        """Return the next part of a streaming body; it may be empty."""
        try:
            if not self.is_complete and not self.reader.has_part:
                self._receive()
        except (errors.OutkeyError, OSError) as error:
            raise self._failure(error) from None
        return self.reader.take()

    def _receive(self, longest: float | None = None) -> None:
        connection = self.connection
        reader = self.reader
        timeout = self.deadline.next_wait()
        connection.set_timeout(timeout if longest is None else min(timeout, longest))
        space = reader.space()
        if space is None:
            data = connection.socket.recv(_CHUNK)
            size = len(data)
            self.is_complete = size > 0 and reader.feed(data)
        else:
            with space:
                size = connection.socket.recv_into(space)
            self.is_complete = size > 0 and reader.fill(size)
        if self.is_complete:
            self.is_reusable = self._is_written and reader.reusable
        elif not size:
            reader.end()
            self.is_complete = True

    def _failure(self, error: errors.OutkeyError | OSError) -> errors.OutkeyError:
        """Return the error for what went wrong; a proxy's is not the server's."""
        if isinstance(error, errors.OutkeyError):
            failure = error
        elif isinstance(error, TimeoutError):
            failure = errors.TimedOut(Text("the response did not arrive in time"))
        else:
            failure = self.reader.failure(error)
        return forwarding_failure(failure, self.reader) if self._forwarded else failure


class _BegunExchange:
    """An exchange whose request was written, and whose response is read later.

    It is read by whoever waits for it: a thread for that would have to take turns with
    the one that uses the time.
    """

    def __init__(
        self,
        exchange: _Exchange,
        request: Request,
        route: Route,
        release: Callable[[], None],
    ) -> None:
        self._exchange = exchange
        self._route = route
        self._release = release
        self._failure: errors.OutkeyError | None = None
        self._arrived_at: float | None = None
        try:
            exchange.write(request)
        except errors.OutkeyError as error:
            self._end(error)
        self._looked_at = time.monotonic()

    @property
    def arrived_at(self) -> float:
        if self.wait(0.0) and self._arrived_at is not None:
            return self._arrived_at
        return time.monotonic()

    def wait(self, seconds: float) -> bool:
        until = time.monotonic() + seconds
        left = seconds
        while self._arrived_at is None:
            if not self._has_input(left):
                return False
            left = max(0.0, until - time.monotonic())
            self._read(max(left, _SHORTEST))
        return True

    @errors.drop_traceback
    def result(self) -> Response:
        while self._arrived_at is None:
            self._has_input(0.0)
            self._read()
        if self._failure is not None:
            raise self._failure
        return _response(self._exchange.reader, self._route)

    def abandon(self) -> None:
        if self._arrived_at is None:
            self._end(None)

    def _has_input(self, seconds: float) -> bool:
        """Whether there is something to read; what was there waited for its reader."""
        exchange = self._exchange
        has_input = exchange.connection.has_input_within(0.0)
        if has_input:
            exchange.deadline.extend(time.monotonic() - self._looked_at)
        elif seconds > 0:
            has_input = exchange.connection.has_input_within(seconds)
        self._looked_at = time.monotonic()
        return has_input

    def _read(self, longest: float | None = None) -> None:
        """Read what there is, or wait for it; note the end of the response."""
        try:
            self._exchange.receive(longest)
        except errors.OutkeyError as error:
            self._end(error)
        else:
            if self._exchange.is_complete:
                self._end(None)

    def _end(self, failure: errors.OutkeyError | None) -> None:
        self._failure = failure
        now = time.monotonic()
        with contextlib.suppress(OSError):
            now -= min(self._exchange.connection.silent_seconds(), now)
        self._arrived_at = now
        self._release()


class _ArrivingBody:
    """The body of a response that is read from its connection as it arrives."""

    def __init__(
        self, exchange: _Exchange, release: Callable[[], None], limit: int
    ) -> None:
        encodings = exchange.reader.encodings
        self.size = None if layers_of(encodings) else exchange.reader.size
        self._exchange = exchange
        self._release: Callable[[], None] | None = release
        self._parts = inflate_parts(self._arriving(), encodings, limit)

    def __iter__(self) -> Iterator[bytes]:
        try:
            yield from self._parts
        finally:
            self.close()

    def close(self) -> None:
        release = self._release
        self._release = None
        if release is not None:
            release()

    def _arriving(self) -> Iterator[bytes]:
        exchange = self._exchange
        while True:
            yield exchange.read_part()
            if exchange.is_complete and not exchange.reader.has_part:
                return


def _response(reader: ResponseReader, route: Route) -> Response:
    """Return a response that was read to its end."""
    body = reader.take() if reader.is_streaming else reader.body
    if reader.encodings:
        body = inflate(body, reader.encodings, route.response_bytes)
    return reader.response(body)


def _write_request(
    connection: _SocketConnection, request: Request, deadline: _Deadline
) -> bool:
    """Write the request; return whether all of it could be written.

    Names and values were validated to have no line breaks. A server may
    respond, for example with 413 or 401, and close before it has read everything: then
    its response is what counts.
    """
    try:
        for part in wire_parts(request):
            connection.set_timeout(deadline.next_wait())
            connection.socket.sendall(part)
    except (BrokenPipeError, ConnectionResetError):
        return False
    finally:
        part = b""  # a traceback must not contain the request
    return True


def wire_form(request: Request) -> bytes:
    """Return a request as it is written on the wire."""
    body = request.body
    try:
        if isinstance(body, Secret):
            body = body.reveal().encode()
        elif not isinstance(body, bytes):
            body = b"".join(body.parts())
        return _wire_head(request) + body
    finally:
        body = b""  # a traceback must not contain the request


def wire_parts(request: Request) -> Iterator[bytes]:
    """Yield a request as it is written on the wire, in parts that are written once."""
    if isinstance(request.body, _IN_MEMORY):
        message = wire_form(request)
        try:
            for start in range(0, len(message), _CHUNK):
                yield message[start : start + _CHUNK]
        finally:
            message = b""  # a traceback must not contain the request
        return
    yield _wire_head(request)
    yield from request.body.parts()


def _wire_head(request: Request) -> bytes:
    """Return the request line and the headers."""
    target = request.wire_target()
    lines: list[str] = []
    try:
        if isinstance(target, Secret):
            target = target.reveal()
        lines.append(f"{request.method} {target} HTTP/1.1")
        for name, value, _ in request.headers:
            lines.append(
                f"{name}: {value.reveal() if isinstance(value, Secret) else value}"
            )
        # Values are ASCII, except what Digest repeats of a challenge: one character is
        # one byte there.
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
    finally:
        target = ""  # a traceback must not contain the request
        lines.clear()
