"""The asynchronous transport: aiohttp's parser under connections and a pool of our own.

aiohttp's sessions are not used, on purpose: they add headers, repeat requests on pooled
connections, and cost more than the exchange itself. Only its parser of responses is
used, which is C code.
"""

import asyncio
import contextlib
import select
import socket
import ssl
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, cast

from urllib3.util import wait_for_read

from outkey.adapters.configured_files import ConfiguredFiles
from outkey.adapters.connection_pool import ConnectionPool, PooledConnection
from outkey.adapters.inflate import inflate
from outkey.adapters.tls_context import TlsContexts, tls_failure
from outkey.adapters.transport_urllib3 import HEAD_ROOM, too_many_headers, wire_form
from outkey.core.errors import (
    AnswerBroken,
    ConfigError,
    ConnectionFailed,
    ConnectTimedOut,
    EgressDenied,
    OutkeyError,
    RemoteError,
    ResponseTooLarge,
    TimedOut,
    without_traceback,
)
from outkey.core.request.message import (
    IDEMPOTENT,
    Request,
    Response,
    ResponseHeaders,
    Route,
    TlsSettings,
)
from outkey.core.request.origin import Origin
from outkey.core.text import Text

if TYPE_CHECKING:
    from aiohttp import StreamReader
    from aiohttp.http import HttpResponseParser, RawResponseMessage

_CHUNK = 64 * 1024
_MAX_INTERIM = 10
_MAX_LINE = 65_536
_MAX_HEADERS = 99
# more than a loop reads at once, so that the parser never has to pause
_READ_AHEAD = 1024 * 1024
_INFLATED_INLINE = 8 * 1024  # milliseconds, even if it inflates a thousandfold


class AiohttpTransport:
    """Sends requests over keep-alive connections, never shared by configurations.

    Each event loop has connections of its own.
    """

    def __init__(self, files: ConfiguredFiles | None = None) -> None:
        self._pools: dict[asyncio.AbstractEventLoop, ConnectionPool[_Connection]] = {}
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
        pool = self._pools.get(loop) or await self._new_pool(loop)
        context = (
            await self._context(route) if request.origin.scheme == "https" else None
        )
        repeatable = request.method in IDEMPOTENT
        pooled = pool.take(route, request.origin, context, repeatable=repeatable)
        if pooled is None:
            pooled = await _connect(request.origin, route, ends, context)
        connection = pooled.connection
        reusable = False
        try:
            bounds = _Bounds(route.read_timeout, ends, route.response_bytes)
            parsed = await connection.send_request(
                wire_form(request), bounds, head=request.method == "HEAD"
            )
            reusable = connection.is_reusable
        finally:
            if reusable:
                pool.put(route.partition, request.origin, pooled)
            else:
                connection.close()
        response = _response(parsed)
        if encodings := response.headers.get_all("Content-Encoding"):
            body = await inflate_in_thread(
                response.body, encodings, route.response_bytes
            )
            return replace(response, body=body)
        return response

    async def _new_pool(
        self, loop: asyncio.AbstractEventLoop
    ) -> "ConnectionPool[_Connection]":
        await asyncio.to_thread(_load)
        self._drop_closed_loops()
        return self._pools.setdefault(loop, ConnectionPool())

    def _drop_closed_loops(self) -> None:
        for loop in [loop for loop in self._pools if loop.is_closed()]:
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


class _Bounds(NamedTuple):
    silence: float
    ends: float  # by the loop's clock
    body: int


class _ParsedResponse(NamedTuple):
    head: "RawResponseMessage"
    body: bytes


class _Connection(asyncio.Protocol):
    """A connection and its current exchange. In between, the peer has to be silent.

    One future and one timer per exchange; all else happens in `data_received`.
    """

    _transport: asyncio.Transport
    _response_future: asyncio.Future[_ParsedResponse]
    _timer: asyncio.TimerHandle | None = None
    _parser: "HttpResponseParser | None" = None
    _has_input: Callable[[], object] | None = None
    _lost = False
    _full = False

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._make_parser = _load()
        self._unsent: memoryview | bytes = b""

    # ── the exchange ──────────────────────────────────────────────────────────────────

    def send_request(
        self, message: bytes, bounds: _Bounds, *, head: bool
    ) -> asyncio.Future[_ParsedResponse]:
        """Write a request, and return the future of its response.

        Not a coroutine, so that no traceback contains the message.
        """
        self._parser = self._make_parser(
            self,  # type: ignore[arg-type]  # it only ever calls resume_reading
            self._loop,
            _READ_AHEAD,
            max_line_size=_MAX_LINE,
            max_field_size=_MAX_LINE,
            max_headers=_MAX_HEADERS,
            response_with_body=not head,
            read_until_eof=True,
            auto_decompress=False,
        )
        self._head: RawResponseMessage | None = None
        self._payload: StreamReader | None = None
        self._parts: list[bytes] = []
        self._interim = 0
        self._bounds = bounds
        self._body_left = bounds.body
        # Half as much again for chunk sizes and trailers, and room for the headers.
        self._wire_left = bounds.body + bounds.body // 2 + HEAD_ROOM
        self._response_future = self._loop.create_future()
        self._last_activity = self._loop.time()
        self._set_timer()
        self._unsent = message if len(message) <= _CHUNK else memoryview(message)
        self._write_more()
        return self._response_future

    @property
    def is_reusable(self) -> bool:
        """Whether the next request can use this connection."""
        is_complete = self._head is not None and not self._head.should_close
        return (
            is_complete
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
            self._has_input = _watch(self._transport.get_extra_info("socket"))
        return not self._has_input()

    def close(self) -> None:
        """Close at once, even during an exchange."""
        self._parser = None
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
        if self._parser is None:
            return
        if self._loop.time() < self._timeout_at():
            self._set_timer()
        else:
            self._fail(TimedOut(Text("the response did not arrive in time")))

    def _fail(self, error: OutkeyError) -> None:
        self._parser = None
        if not self._response_future.done():
            self._response_future.set_exception(error)

    # ── reading ───────────────────────────────────────────────────────────────────────

    def data_received(self, data: bytes) -> None:
        if self._parser is None:
            self.close()  # there was no request
            return
        self._last_activity = self._loop.time()
        self._wire_left -= len(data)
        if self._wire_left < 0:
            self._fail(ResponseTooLarge())
            return
        try:
            messages, _, _ = self._parser.feed_data(data)
            for head, payload in messages:
                self._take_head(head, payload)
            self._take_body()
        except OutkeyError as error:
            self._fail(error)
        except Exception as error:  # noqa: BLE001 - any error of the parser
            self._fail(self._error_of(error))

    def _take_head(self, head: "RawResponseMessage", payload: "StreamReader") -> None:
        """Read the head of a response; skip interim ones such as 103 Early Hints."""
        if head.code >= 200 and self._head is None:
            self._head = head
            self._payload = payload
            length = head.headers.get("Content-Length", "")
            if (
                not payload.is_eof()
                and length.isdecimal()
                and int(length) > self._body_left
            ):
                raise ResponseTooLarge
            return
        self._interim += 1
        if head.code >= 200 or head.code == 101 or self._interim >= _MAX_INTERIM:
            raise ConnectionFailed(
                Text("the connection was closed, or the response is not HTTP")
            )

    def _take_body(self) -> None:
        if self._payload is None or self._head is None:
            return
        if part := self._payload.read_nowait():
            self._parts.append(part)
            self._body_left -= len(part)
            if self._body_left < 0:
                raise ResponseTooLarge
        if self._payload.is_eof():
            self._parser = None
            if not self._response_future.done():
                self._response_future.set_result(
                    _ParsedResponse(self._head, b"".join(self._parts))
                )

    def _error_of(self, error: BaseException | None) -> OutkeyError:
        if self._head is not None:
            return AnswerBroken()
        # TLS 1.3 refuses a client certificate only after the handshake.
        if isinstance(error, ssl.SSLError):
            return tls_failure(error)
        # by name, since the library is loaded late
        if type(error).__name__ == "LineTooLong":
            return too_many_headers(Text("a header line of the response is too long"))
        # The parser reports this one by its text alone.
        if "Too many headers" in str(error):
            return too_many_headers(Text("the response has 100 headers or more"))
        return ConnectionFailed(
            Text("the connection was closed, or the response is not HTTP")
        )

    # ── what the loop and the parser call ─────────────────────────────────────────────

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost = True
        self._stop_timer()
        if self._parser is not None and isinstance(
            exc, BrokenPipeError | ConnectionResetError
        ):
            # A server may respond, for example with 413 or 401,
            # and close before it has read everything.
            self.data_received(_unread_input(self._transport))
        if self._parser is None:
            return
        try:
            if exc is None and self._head is not None:
                self._parser.feed_eof()  # a body without a length ends here
                self._take_body()
        except OutkeyError as error:
            self._fail(error)
        except Exception as error:  # noqa: BLE001 - any error of the parser
            exc = error
        self._fail(self._error_of(exc))

    def pause_writing(self) -> None:
        self._full = True

    def resume_writing(self) -> None:
        self._full = False
        self._write_more()

    def resume_reading(self, resume_parser: bool = True) -> None:  # noqa: FBT001, FBT002 - the parser's
        """Do nothing: input is read at once and never paused."""


def _watch(connected: socket.socket) -> Callable[[], object]:
    """Return a function that reports whether there is input.

    It is made once and called for each request.
    """
    if not hasattr(select, "poll"):  # Windows
        return partial(wait_for_read, connected, timeout=0)
    poll = select.poll()
    poll.register(connected, select.POLLIN)
    return partial(poll.poll, 0)


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
) -> PooledConnection[_Connection]:
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
) -> _Connection:
    try:
        async with asyncio.timeout(wait):
            # Connected to the pinned address, but SNI
            # and the certificate are those of the host.
            transport, connection = await asyncio.get_running_loop().create_connection(
                _Connection,
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


def _response(parsed: _ParsedResponse) -> Response:
    # A list first: three times as fast as a generator.
    lines = [
        (n.decode("latin-1"), v.decode("latin-1")) for n, v in parsed.head.raw_headers
    ]
    return Response(parsed.head.code, ResponseHeaders(tuple(lines)), parsed.body)


async def inflate_in_thread(body: bytes, encodings: list[str], limit: int) -> bytes:
    """Decompress a body; a large one in a thread, so that the loop is not blocked."""
    if len(body) <= _INFLATED_INLINE:
        return inflate(body, encodings, limit)
    return await asyncio.to_thread(inflate, body, encodings, limit)


def _load() -> "type[HttpResponseParser]":
    """Return the parser; the library is loaded for the first request only."""
    try:
        from aiohttp.http import HttpResponseParser as Parser  # noqa: PLC0415
    except ModuleNotFoundError:
        raise ConfigError(
            Text("sending from an event loop needs the package aiohttp"),
            hint=Text(
                'Run pip install "outkey[async]", or send one request at a time.'
            ),
        ) from None
    return Parser
