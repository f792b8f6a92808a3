"""The asynchronous transport: connections and a pool of our own on asyncio.

It writes the same bytes as the blocking transport, and reads with the same reader.
"""

import asyncio
import contextlib
import ssl
from collections.abc import Callable
from typing import NamedTuple, cast

from outkey.foundation.core.errors import (
    ConnectionFailed,
    ConnectTimedOut,
    EgressDenied,
    OutkeyError,
    RemoteError,
    TimedOut,
    without_traceback,
)
from outkey.foundation.core.origin import Origin
from outkey.foundation.core.text import Text
from outkey.sending.adapters.transport.configured_files import ConfiguredFiles
from outkey.sending.adapters.transport.connection_pool import (
    ConnectionPool,
    PooledConnection,
    make_input_check,
)
from outkey.sending.adapters.transport.inflate import inflate
from outkey.sending.adapters.transport.proxy_errors import (
    connecting_failure,
    forwarding_failure,
    opening_failure,
)
from outkey.sending.adapters.transport.response_reader import ResponseReader
from outkey.sending.adapters.transport.tls_context import (
    TlsContexts,
    route_to_proxy,
    tls_failure,
)
from outkey.sending.adapters.transport.transport_sockets import MAX_REFUSAL, wire_form
from outkey.sending.core.configuration.sections import TlsSettings
from outkey.sending.core.request.message import IDEMPOTENT, Request, Response, Route
from outkey.sending.core.request.proxy import (
    absolute_request,
    connect_request,
    tunnel_failure,
)

_CHUNK = 64 * 1024
_CLOSED = Text("the connection was closed while it was opened")
_INFLATED_INLINE = 8 * 1024  # milliseconds, even if it inflates a thousandfold


class AsyncioTransport:
    """Sends requests over keep-alive connections, never shared by configurations.

    Each event loop has connections of its own.
    """

    def __init__(self, files: ConfiguredFiles | None = None) -> None:
        self._pools: dict[
            asyncio.AbstractEventLoop, ConnectionPool[_AsyncConnection]
        ] = {}
        self._contexts = TlsContexts(files)
        self._cached_contexts: set[tuple[str, TlsSettings]] = set()

    async def send(self, request: Request, route: Route) -> Response:
        """Exchange one request for one response."""
        try:
            return await self._send(request, route)
        except OutkeyError as error:
            failure = error
        raise without_traceback(failure)  # as the blocking transport does

    async def close(self) -> None:
        """Close the connections of the running loop, and drop those of closed loops."""
        pool = self._pools.pop(asyncio.get_running_loop(), None)
        self._drop_closed_loops()
        if pool is not None:
            pool.close()
            await asyncio.sleep(0)  # sockets are closed by the loop's next turn

    async def _send(self, request: Request, route: Route) -> Response:
        loop = asyncio.get_running_loop()
        ends = loop.time() + route.time_left
        pool = self._pools.get(loop) or self._new_pool(loop)
        origin = request.origin
        proxy = route.proxy
        context = await self._context(route) if origin.scheme == "https" else None
        if proxy is not None and origin.scheme == "http":
            context = await self._proxy_context(route)
            request = absolute_request(request, proxy)
        repeatable = request.method in IDEMPOTENT
        pooled = pool.take(route, origin, context, repeatable=repeatable)
        if pooled is None:
            pooled = await self._connect(origin, route, ends, context)
        connection = pooled.connection
        reader = ResponseReader(
            route.response_bytes,
            to_head=request.method == "HEAD",
            forwarded=proxy is not None and origin.scheme == "http",
        )
        reusable = False
        try:
            await connection.send_request(
                wire_form(request), reader, _Bounds(route.read_timeout, ends)
            )
            reusable = connection.is_reusable
        except OutkeyError as error:
            if proxy is None or origin.scheme == "https":
                raise
            raise forwarding_failure(error, reader) from None
        finally:
            if reusable:
                pool.put(route.partition, origin, pooled)
            else:
                connection.close()
        body = reader.body
        if reader.encodings:
            body = await _inflate_in_thread(
                body, reader.encodings, route.response_bytes
            )
        return reader.response(body)

    def _new_pool(
        self, loop: asyncio.AbstractEventLoop
    ) -> "ConnectionPool[_AsyncConnection]":
        self._drop_closed_loops()
        return self._pools.setdefault(loop, ConnectionPool())

    def _drop_closed_loops(self) -> None:
        # A list first: another thread may add its event loop meanwhile.
        for loop in list(self._pools):
            if loop.is_closed():
                self._pools.pop(loop, None)

    async def _context(self, route: Route) -> ssl.SSLContext:
        """Return the TLS context.

        It is made in a thread, since that reads all certificate authorities.
        """
        key = route.partition, route.tls
        if key in self._cached_contexts:
            return self._contexts.get(route)
        context = await asyncio.to_thread(self._contexts.get, route)
        self._cached_contexts.add(key)
        return context

    async def _proxy_context(self, route: Route) -> ssl.SSLContext | None:
        if route.proxy is None or route.proxy.origin.scheme == "http":
            return None
        return await self._context(route_to_proxy(route))

    async def _connect(
        self, origin: Origin, route: Route, ends: float, context: ssl.SSLContext | None
    ) -> "PooledConnection[_AsyncConnection]":
        proxy = route.proxy
        if proxy is None:
            return await _connect(origin, route, ends, context)
        proxy_context = await self._proxy_context(route)
        try:
            opened = await _connect(proxy.origin, route, ends, proxy_context)
        except OutkeyError as error:
            raise connecting_failure(error) from None
        if origin.scheme == "https":
            assert context is not None  # noqa: S101 - for the type checker
            await _open_tunnel(opened.connection, origin, route, ends, context)
        return PooledConnection(opened.connection, opened.address, context, proxy)


class _Bounds(NamedTuple):
    silence: float
    ends: float  # by the loop's clock


class _AsyncConnection(asyncio.Protocol):
    """A connection and its current exchange. In between, the peer has to be silent.

    One future and one timer per exchange; all else happens in `data_received`.
    """

    _transport: asyncio.Transport
    _response_future: asyncio.Future[None]
    _timer: asyncio.TimerHandle | None = None
    _reader: ResponseReader | None = None  # of the exchange in progress
    _has_input: Callable[[], object] | None = None
    _is_kept = False  # whether the last response left the connection usable
    _lost = False
    _full = False

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._unsent: memoryview | bytes = b""

    # ── the exchange ──────────────────────────────────────────────────────────────────

    def send_request(
        self, message: bytes, reader: ResponseReader, bounds: _Bounds
    ) -> asyncio.Future[None]:
        """Write a request, and return a future that is done with its response.

        Not a coroutine, so that no traceback contains the message.
        """
        self._reader = reader
        self._is_kept = False
        self._bounds = bounds
        self._response_future = self._loop.create_future()
        self._last_activity = self._loop.time()
        self._set_timer()
        if len(message) <= _CHUNK and not self._full:
            self._transport.write(message)
        else:
            self._unsent = memoryview(message)
            self._write_more()
        return self._response_future

    async def start_tls(self, context: ssl.SSLContext, host: str, wait: float) -> None:
        """Do TLS with the server behind a proxy, if need be inside of the proxy's."""
        try:
            secured = await self._loop.start_tls(
                self._transport,
                self,
                context,
                server_hostname=host,
                ssl_handshake_timeout=wait,
            )
        except TypeError as error:
            # Before 3.11.8 asyncio fails to close TLS inside of TLS (gh-113214).
            if isinstance(error.__context__, ssl.SSLError):
                raise error.__context__ from None
            raise
        if secured is None:
            raise ConnectionFailed(_CLOSED)
        self._transport = secured

    @property
    def is_reusable(self) -> bool:
        """Whether the next request can use this connection."""
        return (
            self._is_kept
            and not self._unsent
            and not self._lost
            and not self._transport.is_closing()
        )

    @property
    def is_connected(self) -> bool:
        """Whether the connection is open and has nothing to read.

        Input between exchanges means that it was closed, or is out of step.
        """
        if self._lost or self._transport.is_closing():
            return False
        if self._has_input is None:
            self._has_input = make_input_check(self._transport.get_extra_info("socket"))
        return not self._has_input()

    def close(self) -> None:
        """Close at once, even during an exchange."""
        self._reader = None
        self._stop_timer()
        if not self._lost and not self._loop.is_closed():
            self._transport.abort()

    def _write_more(self) -> None:
        while self._unsent and not self._full:
            part, self._unsent = self._unsent[:_CHUNK], self._unsent[_CHUNK:]
            self._last_activity = self._loop.time()
            self._transport.write(part)

    def _timeout_at(self) -> float:
        return min(self._last_activity + self._bounds.silence, self._bounds.ends)

    def _set_timer(self) -> None:
        """Schedule the next timeout check; one timer serves many exchanges."""
        ends = self._timeout_at()
        if self._timer is None or self._timer.when() > ends:
            self._stop_timer()
            self._timer = self._loop.call_at(ends, self._check_timeout)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _check_timeout(self) -> None:
        self._timer = None
        if self._reader is None:
            return
        if self._loop.time() < self._timeout_at():
            self._set_timer()
        else:
            self._fail(TimedOut(Text("the response did not arrive in time")))

    def _fail(self, error: OutkeyError) -> None:
        self._reader = None
        if not self._response_future.done():
            self._response_future.set_exception(error)

    def _finish(self, *, is_kept: bool) -> None:
        self._reader = None
        self._is_kept = is_kept
        if not self._response_future.done():
            self._response_future.set_result(None)

    # ── what the loop calls ───────────────────────────────────────────────────────────

    def data_received(self, data: bytes) -> None:
        if self._reader is None:
            self.close()  # there was no request
            return
        self._last_activity = self._loop.time()
        try:
            if self._reader.feed(data):
                self._finish(is_kept=self._reader.reusable)
        except OutkeyError as error:
            self._fail(error)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost = True
        self._stop_timer()
        if self._reader is not None and isinstance(
            exc, BrokenPipeError | ConnectionResetError
        ):
            # A server may respond, for example with 413 or 401,
            # and close before it has read everything.
            self.data_received(_unread_input(self._transport))
        if self._reader is None:
            return
        try:
            if exc is not None:
                raise self._reader.failure(exc)
            self._reader.end()
        except OutkeyError as error:
            self._fail(error)
        else:
            self._finish(is_kept=False)

    def pause_writing(self) -> None:
        self._full = True

    def resume_writing(self) -> None:
        self._full = False
        self._write_more()


def _unread_input(transport: asyncio.Transport) -> bytes:
    """Return the input that arrived before a connection broke.

    asyncio closes the connection when a write fails.
    """
    if transport.get_extra_info("ssl_object") is not None:
        return b""
    with (
        transport.get_extra_info("socket").dup() as copy,
        contextlib.suppress(OSError),
    ):
        copy.settimeout(0)
        unread: bytes = copy.recv(_CHUNK)
        return unread
    return b""


async def _connect(
    origin: Origin, route: Route, ends: float, context: ssl.SSLContext | None
) -> PooledConnection[_AsyncConnection]:
    """Connect to the first vetted address that accepts, and to no other."""
    failure: RemoteError = ConnectionFailed()
    for address in route.addresses:
        left = ends - asyncio.get_running_loop().time()
        if left <= 0:
            raise TimedOut(Text("the total timeout has passed"))
        try:
            wait = min(route.connect_timeout, left)
            return PooledConnection(
                await _open(origin, address, wait, context), address, context
            )
        except (ConnectionFailed, TimedOut) as error:
            failure = error
    raise failure


async def _open(
    origin: Origin, address: str, wait: float, context: ssl.SSLContext | None
) -> _AsyncConnection:
    try:
        async with asyncio.timeout(wait):
            # Connected to the pinned address, but SNI
            # and the certificate are those of the host.
            transport, connection = await asyncio.get_running_loop().create_connection(
                _AsyncConnection,
                address,
                origin.port,
                ssl=context,
                server_hostname=origin.host if context else None,
                ssl_handshake_timeout=wait if context else None,
            )
    except TimeoutError:
        raise ConnectTimedOut from None
    except ssl.SSLError as error:
        raise tls_failure(error) from None
    except OSError:
        raise ConnectionFailed(
            Text("the connection was refused or could not be opened")
        ) from None
    if transport.get_extra_info("sockname") == transport.get_extra_info("peername"):
        transport.abort()  # TCP simultaneous open on one port
        raise EgressDenied(
            Text("the connection leads back to itself; nothing listens there")
        )
    return connection


async def _open_tunnel(
    connection: _AsyncConnection,
    origin: Origin,
    route: Route,
    ends: float,
    context: ssl.SSLContext,
) -> None:
    """Have a proxy connect us to the server, and do TLS with the server."""
    assert route.proxy is not None  # noqa: S101 - for the type checker
    with contextlib.ExitStack() as closing:
        closing.callback(connection.close)
        reader = ResponseReader(MAX_REFUSAL, to_head=True)
        request = connect_request(origin, route.proxy)
        try:
            await connection.send_request(
                wire_form(request), reader, _Bounds(route.connect_timeout, ends)
            )
        except OutkeyError as error:
            raise opening_failure(error) from None
        if failure := tunnel_failure(reader.status):
            raise failure
        left = ends - asyncio.get_running_loop().time()
        wait = max(min(route.connect_timeout, left), 0.001)
        try:
            async with asyncio.timeout(wait):
                await connection.start_tls(context, origin.host, wait)
        except TimeoutError:
            raise ConnectTimedOut from None
        except ssl.SSLError as error:
            raise tls_failure(error) from None
        except OSError:
            raise ConnectionFailed(_CLOSED) from None
        closing.pop_all()


async def _inflate_in_thread(body: bytes, encodings: list[str], limit: int) -> bytes:
    """Decompress a body; a large one in a thread, so that the loop is not blocked."""
    if len(body) <= _INFLATED_INLINE:
        return inflate(body, encodings, limit)
    return await asyncio.to_thread(inflate, body, encodings, limit)
