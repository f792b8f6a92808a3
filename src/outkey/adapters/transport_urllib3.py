"""The blocking transport: urllib3's connections in a pool of our own.

Responses are parsed by http.client.

urllib3's own pools are not used, on purpose: they copy, retry, redirect and log, and
their bookkeeping costs more than the exchange itself. urllib3 only opens connections
and does TLS; requests are written here.
"""

import contextlib
import http.client
import io
import socket
import ssl
import time
from collections.abc import Iterator

from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import ConnectTimeoutError, HTTPError, NewConnectionError

from outkey.adapters.configured_files import ConfiguredFiles
from outkey.adapters.connection_pool import ConnectionPool, PooledConnection
from outkey.adapters.inflate import inflate
from outkey.adapters.tls_context import TlsContexts, negotiated_tls, tls_failure
from outkey.core import errors
from outkey.core.request.message import (
    IDEMPOTENT,
    Peer,
    Request,
    Response,
    ResponseHeaders,
    Route,
)
from outkey.core.request.origin import Origin
from outkey.core.secret import Secret
from outkey.core.text import Text

_CHUNK = 64 * 1024
_MAX_INTERIM = 10
HEAD_ROOM = 1024 * 1024


class Urllib3Transport:
    """Sends requests over keep-alive connections, never shared by configurations."""

    def __init__(self, files: ConfiguredFiles | None = None) -> None:
        self._pool = ConnectionPool[HTTPConnection]()
        self._contexts = TlsContexts(files)

    @errors.drop_traceback  # its traceback would hold the request
    def send(self, request: Request, route: Route) -> Response:
        deadline = _Deadline(route)
        context = (
            self._contexts.get(route) if request.origin.scheme == "https" else None
        )
        repeatable = request.method in IDEMPOTENT
        pooled = self._pool.take(route, request.origin, context, repeatable=repeatable)
        if pooled is None:
            pooled = _connect(request.origin, route, deadline, context)
        reusable = False
        try:
            response, reusable = _round_trip(
                pooled.connection, request, route, deadline
            )
        finally:
            if reusable:
                self._pool.put(route.partition, request.origin, pooled)
            else:
                pooled.connection.close()
        return response

    @errors.drop_traceback
    def probe(self, origin: Origin, route: Route) -> Peer:
        """Connect, and pool the connection for the request that follows."""
        context = self._contexts.get(route) if origin.scheme == "https" else None
        pooled = _connect(origin, route, _Deadline(route), context)
        self._pool.put(route.partition, origin, pooled)
        if context is None:
            return Peer(pooled.address)
        return Peer(pooled.address, *negotiated_tls(pooled.connection.sock))

    def close(self) -> None:
        self._pool.close()


class _Deadline:
    """The time left until the deadline, as timeouts of single operations."""

    def __init__(self, route: Route) -> None:
        self._ends = time.monotonic() + route.time_left
        self._silence = route.read_timeout
        self._connect = route.connect_timeout

    def next_wait(self) -> float:
        return self._within(self._silence)

    def connect_wait(self) -> float:
        return self._within(self._connect)

    def _within(self, bound: float) -> float:
        left = self._ends - time.monotonic()
        if left <= 0:
            raise errors.TimedOut(Text("the total timeout has passed"))
        return min(bound, left)


class _Wire(io.RawIOBase):
    """A socket as a file that keeps to the deadline and the size limit in every read.

    Against servers that trickle, and against chunk sizes that http.client misreads:
    it takes -1 for "all there is".
    """

    def __init__(
        self, connection: HTTPConnection, deadline: _Deadline, limit: int
    ) -> None:
        self._socket = connection.sock
        self._deadline = deadline
        # Half as much again for chunk sizes and trailers, and room for the headers.
        self._bytes_left = limit + limit // 2 + HEAD_ROOM
        self._reader: io.BufferedReader | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        if self._bytes_left < 0:
            raise errors.ResponseTooLarge
        self._socket.settimeout(self._deadline.next_wait())
        count = self._socket.recv_into(buffer)  # type: ignore[arg-type]  # io hands over a memoryview
        self._bytes_left -= count
        return count

    def makefile(self, _mode: str) -> io.BufferedReader:
        """Return the same reader each time http.client's parser asks for one.

        It asks again after an interim response.
        """
        if self._reader is None:
            self._reader = io.BufferedReader(self)
        return self._reader


class _TlsConnection(HTTPSConnection):
    """A connection whose handshake gets the time that connecting has left over."""

    deadline: _Deadline

    def _new_conn(self) -> socket.socket:
        connected = super()._new_conn()
        try:
            connected.settimeout(self.deadline.connect_wait())
        except errors.TimedOut:
            connected.close()  # urllib3 cannot close it yet
            raise
        return connected


def _connect(
    origin: Origin, route: Route, deadline: _Deadline, context: ssl.SSLContext | None
) -> PooledConnection[HTTPConnection]:
    """Connect to the first vetted address that accepts, and to no other."""
    failure: errors.RemoteError = errors.ConnectionFailed()
    for address in route.addresses:
        connection = _new_connection(origin, address, deadline, context)
        try:
            _open(connection)
        except (errors.ConnectionFailed, errors.TimedOut) as error:
            failure = error
        else:
            return PooledConnection(connection, address, context)
    raise failure


def _open(connection: HTTPConnection) -> None:
    """Connect, or close everything and raise."""
    with contextlib.ExitStack() as closing:
        closing.callback(connection.close)
        try:
            connection.connect()
            _refuse_self_connection(connection)
        except ssl.SSLError as error:
            raise tls_failure(error) from None
        except NewConnectionError:  # in urllib3 this is a kind of ConnectTimeoutError
            raise errors.ConnectionFailed(
                Text("the connection was refused or could not be opened")
            ) from None
        except (ConnectTimeoutError, TimeoutError):
            raise errors.ConnectTimedOut from None
        except (HTTPError, OSError):
            raise errors.ConnectionFailed(
                Text("the connection was closed while it was opened")
            ) from None
        closing.pop_all()


def _new_connection(
    origin: Origin, address: str, deadline: _Deadline, context: ssl.SSLContext | None
) -> HTTPConnection:
    wait = deadline.connect_wait()
    if context is None:
        return HTTPConnection(address, origin.port, timeout=wait)
    # Connected to the pinned address, but SNI
    # and the certificate are those of the host.
    connection = _TlsConnection(
        address,
        origin.port,
        timeout=wait,
        ssl_context=context,
        server_hostname=origin.host,
    )
    connection.deadline = deadline
    return connection


def _refuse_self_connection(connection: HTTPConnection) -> None:
    """Refuse a loopback connection to itself (TCP simultaneous open on one port)."""
    if connection.sock.getsockname() == connection.sock.getpeername():
        raise errors.EgressDenied(
            Text("the connection leads back to itself; nothing listens there")
        )


def _round_trip(
    connection: HTTPConnection, request: Request, route: Route, deadline: _Deadline
) -> tuple[Response, bool]:
    """Return the response, and whether the connection can be used again."""
    has_head = False
    try:
        is_complete = _write_request(connection, request, deadline)
        wire = _Wire(connection, deadline, route.response_bytes)
        parsed = _receive_head(wire, request.method)
        has_head = True
        body = _receive_body(parsed, route.response_bytes)
    except TimeoutError:
        raise errors.TimedOut(Text("the response did not arrive in time")) from None
    except (http.client.HTTPException, OSError, ValueError) as error:
        if has_head:
            raise errors.AnswerBroken from None
        # TLS 1.3 refuses a client certificate only after the handshake.
        if isinstance(error, ssl.SSLError):
            raise tls_failure(error) from None
        raise errors.ConnectionFailed(
            Text("the connection was closed, or the response is not HTTP")
        ) from None
    headers = ResponseHeaders(tuple(_header_lines(parsed)))
    body = inflate(body, headers.get_all("Content-Encoding"), route.response_bytes)
    reusable = is_complete and not parsed.will_close and parsed.isclosed()
    return Response(parsed.status, headers, body), reusable


def _write_request(
    connection: HTTPConnection, request: Request, deadline: _Deadline
) -> bool:
    """Write the request; return whether all of it could be written.

    Names and values were validated to be ASCII without line breaks. A server may
    respond, for example with 413 or 401, and close before it has read everything: then
    its response is what counts.
    """
    message = wire_form(request)
    try:
        for start in range(0, len(message), _CHUNK):
            connection.sock.settimeout(deadline.next_wait())
            connection.sock.sendall(message[start : start + _CHUNK])
    except (BrokenPipeError, ConnectionResetError):
        return False
    finally:
        message = b""  # a traceback must not contain the request
    return True


def wire_form(request: Request) -> bytes:
    """Return a request as it is written on the wire."""
    lines = [f"{request.method} {request.target} HTTP/1.1"]
    for name, value, _ in request.headers:
        lines.append(
            f"{name}: {value.reveal() if isinstance(value, Secret) else value}"
        )
    body = (
        request.body.reveal().encode()
        if isinstance(request.body, Secret)
        else request.body
    )
    return ("\r\n".join(lines) + "\r\n\r\n").encode("ascii") + body


def _receive_head(wire: _Wire, method: str) -> http.client.HTTPResponse:
    """Read status line and headers; skip interim responses (103 Early Hints)."""
    for _ in range(_MAX_INTERIM):
        parsed = http.client.HTTPResponse(wire, method=method)  # type: ignore[arg-type]  # all it asks of a socket is makefile()
        _parse_head(parsed)
        if parsed.status >= 200:
            return parsed
        if parsed.status == 101:
            raise http.client.HTTPException(
                "switched to another protocol without a request"
            )
        parsed.fp = None  # type: ignore[assignment]  # or it would close the reader it shares
    raise http.client.HTTPException("too many interim responses")


def _parse_head(parsed: http.client.HTTPResponse) -> None:
    try:
        parsed.begin()
    except BaseException as error:
        parsed.close()
        if isinstance(error, http.client.LineTooLong):
            raise too_many_headers(
                Text("a header line of the response is too long")
            ) from None
        # http.client stops at its 100th header, and reports it by its text alone.
        if isinstance(error, http.client.HTTPException) and "headers" in str(error):
            raise too_many_headers(
                Text("the response has 100 headers or more")
            ) from None
        raise


def too_many_headers(message: Text) -> errors.ResponseTooLarge:
    """Return the error for a response whose head is too large."""
    return errors.ResponseTooLarge(
        message, hint=Text("Ask the provider of the API; this limit is fixed.")
    )


def _receive_body(parsed: http.client.HTTPResponse, limit: int) -> bytes:
    """Read the body up to the limit; one that announces more is not read at all."""
    if len(set(parsed.msg.get_all("Content-Length", []))) > 1:
        raise http.client.HTTPException("two lengths for one body")
    if parsed.length is not None and parsed.length > limit:
        raise errors.ResponseTooLarge
    body = parsed.read(_CHUNK)
    if len(body) == _CHUNK or not parsed.isclosed():
        parts = [body]
        size = len(body)
        while part := parsed.read(_CHUNK):
            parts.append(part)
            size += len(part)
            if size > limit:
                raise errors.ResponseTooLarge
        body = b"".join(parts)
    if parsed.length:  # announced bytes that did not arrive
        raise http.client.IncompleteRead(b"")
    return body


def _header_lines(parsed: http.client.HTTPResponse) -> Iterator[tuple[str, str]]:
    for name, value in parsed.msg.items():
        # A folded line (obs-fold, RFC 9112 §5.2) counts as one space.
        yield name, " ".join(value.split()) if "\n" in value else value
