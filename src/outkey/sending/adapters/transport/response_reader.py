"""Reads one response from the bytes that a transport received; does no I/O itself.

llhttp reads the header lines and the chunks. It is lenient in places, and does not
know which request a response belongs to; so the status line, the framing, the limits
and the end of the response are decided here (docs/decisions/0037).

The result does not depend on how the bytes are split.
"""

import re
import ssl
from io import BytesIO

from httptools import HttpParserError, HttpResponseParser

from outkey.foundation.core.errors import (
    ConnectionFailed,
    OutkeyError,
    ResponseBroken,
    ResponseTooLarge,
)
from outkey.foundation.core.text import Text
from outkey.sending.adapters.transport.tls_context import tls_failure
from outkey.sending.core.request.message import Response, ResponseHeaders

MAX_LINE = 65_536  # with its line end
MAX_HEADERS = 99  # each line of a folded header counts
MAX_HEADS = 2 * 1024 * 1024  # the interim responses' and the final one's together
MAX_INTERIM = 9
MAX_WHOLE = 64 * 1024
TRAILER_ROOM = 1024 * 1024  # for extensions of chunks, too

_MAX_LINES = MAX_HEADERS + 2  # with the status line and the empty line
_PREFIX = b"HTTP/1."
# How other protocols begin. One byte has to be enough: the result must not depend on
# how the bytes are split, and the peer may wait for us after any of them.
_TLS_ALERT = b"\x15"
_PROTOCOLS = {
    b"S": "SSH",
    b"2": "SMTP or FTP",
    b"*": "IMAP",
    b"+": "POP3",
    b"-": "Redis",
    b"R": "VNC",
}
_STATUS_LINE = re.compile(
    rb"HTTP/1\.([01]) ([1-9][0-9]{2})(?: [\t\x20-\x7e\x80-\xff]*)?\r?\n"
)
_FOLDS = re.compile(rb"(?:\r\n[ \t]+)+")  # obs-fold, RFC 9112 §5.2
_CONTROL = re.compile(rb"[\x01-\x08\x0b\x0c\x0e-\x1f\x7f]")
# NUL, CR alone, and a blank before the colon of a header line.
_FORBIDDEN = re.compile(rb"\0|\r(?!\n)|\n[^:\n]*[ \t]:")
_WITHOUT_BODY = frozenset({204, 304})
# The head that the parser of chunks gets, not the server's. It has to take bytes
# after the last chunk for an error, and not for the next response.
_CHUNKED_HEAD = (
    b"HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
)
_CHUNKED_END = re.compile(rb"[^\n]\r\n\r\n\Z")  # no further empty line


class ResponseReader:
    """Takes bytes as they arrive, until the response is complete.

    Then `body` is the body without chunks, but still compressed, and `reusable` tells
    whether the connection can be used again. `status` is 0 until the head is complete.

    A reader that `streams` collects the body of a success in parts, which `take`
    returns; `body` then stays empty. One that is known to be small is read whole.
    """

    __slots__ = (
        "_buffer",
        "_chunks",
        "_filled",
        "_forwarded",
        "_heads_left",
        "_interim",
        "_length",
        "_limit",
        "_line_count",
        "_line_end",
        "_line_start",
        "_lines",
        "_parts",
        "_space",
        "_streams",
        "_to_head",
        "body",
        "encodings",
        "reusable",
        "status",
    )

    def __init__(
        self,
        limit: int,
        *,
        to_head: bool,
        forwarded: bool = False,
        streams: bool = False,
    ) -> None:
        self.status = 0
        self.body = b""
        self.encodings: list[str] = []
        self.reusable = False
        self._limit = limit
        self._to_head = to_head  # the response to HEAD has no body, whatever it says
        self._forwarded = forwarded  # by a proxy that reads plain HTTP
        self._streams = streams
        self._lines = _HeaderLines()
        self._heads_left = MAX_HEADS
        self._interim = 0
        self._buffer = bytearray()  # an incomplete head
        self._line_start = 0
        self._line_count = 0
        self._line_end = b"\r\n"
        self._length: int | None = None
        self._chunks: _Chunks | None = None
        self._parts: list[bytes] = []  # of a body that the connection's end completes
        self._space: BytesIO | None = None  # for a body of a known length
        self._filled = 0  # how much of the body is there

    def feed(self, data: bytes) -> bool:
        """Take some bytes; return whether the response is complete."""
        if self.status:
            return self._take_body(data)
        return self._take_head(data)

    def end(self) -> None:
        """Take the end of the connection: it completes a body without a length."""
        if not self.status or self._length is not None or self._chunks is not None:
            raise self.failure(None)
        if not self.is_streaming:
            self.body = b"".join(self._parts)

    @property
    def is_streaming(self) -> bool:
        """Whether the rest of the body is to be taken part by part."""
        is_small = self._length is not None and self._length <= MAX_WHOLE
        return self._streams and 200 <= self.status < 300 and not is_small

    @property
    def size(self) -> int | None:
        """The length of the body, if the server has stated it."""
        return self._length

    @property
    def may_be_small(self) -> bool:
        """Whether a streaming body of unknown length is small as far as it arrived."""
        if self._length is not None:
            return False
        return (self._chunks.size if self._chunks else self._filled) <= MAX_WHOLE

    @property
    def has_part(self) -> bool:
        """Whether something has arrived of a streaming body."""
        if not self.is_streaming:
            return False
        return self._chunks.has_part if self._chunks else bool(self._parts)

    def take(self) -> bytes:
        """Return the bytes of a body that arrived since the last call."""
        if self._chunks is not None:
            return self._chunks.take()
        part = b"".join(self._parts)
        self._parts.clear()
        return part

    def space(self) -> memoryview | None:
        """Return where the rest of the body may be received, if its length is known.

        A transport that receives there calls `fill`; a large body is copied less often
        than if it were fed.
        """
        if self._space is None:
            return None
        return self._space.getbuffer()[self._filled :]

    def fill(self, size: int) -> bool:
        """Take bytes that were received into `space`; return whether that was all."""
        self._filled += size
        if self._filled != self._length or self._space is None:
            return False
        self.body = self._space.getvalue()
        return True

    def failure(self, error: BaseException | None) -> OutkeyError:
        """Return the error for a connection that ended or failed at this point."""
        if self.status:
            return ResponseBroken()
        # TLS 1.3 refuses a client certificate only after the handshake.
        if isinstance(error, ssl.SSLError):
            return tls_failure(error)
        return _not_http()

    def response(self, body: bytes) -> Response:
        """Return the response, with the body as it is or decompressed."""
        return Response(self.status, ResponseHeaders(tuple(self._lines)), body)

    # ── head ──────────────────────────────────────────────────────────────────────────

    def _take_head(self, data: bytes) -> bool:
        if not self._buffer:
            end = data.find(b"\r\n\r\n") + 4
            lines = data.count(b"\n", 0, end)
            # All at once, where no limit can be exceeded and no line ends in LF alone.
            within_limits = 4 <= end <= min(MAX_LINE, self._heads_left)
            is_usual = lines <= _MAX_LINES and lines == data.count(b"\r\n", 0, end)
            if within_limits and is_usual:
                return self._take_complete_head(data[:end], data[end:])
        self._buffer += data
        return self._take_lines()

    def _take_lines(self) -> bool:
        """Check line by line a head that is incomplete, large or has LF line ends.

        RFC 9112 §2.2 permits LF alone, and some small devices end all lines with it.
        A head that mixes both is refused: a server that filters only CR LF from the
        values it repeats would let others add header lines.
        """
        while True:
            start = self._line_start
            if not start and not _PREFIX.startswith(self._buffer[: len(_PREFIX)]):
                # At once: the peer may wait for us.
                raise self._start_failure(bytes(self._buffer))
            end = self._buffer.find(b"\n", start) + 1
            self._check_length(start, end or len(self._buffer))
            if not end:
                return False
            line = bytes(self._buffer[start:end])
            line_end = b"\r\n" if line.endswith(b"\r\n") else b"\n"
            if not start:
                self._status_line(line)
                self._line_end = line_end
            elif line_end != self._line_end:
                raise _invalid()
            self._line_count += 1
            if self._line_count > _MAX_LINES:
                raise _too_many_headers(Text("the response has 100 headers or more"))
            self._line_start = end
            if line == line_end:
                head = bytes(self._buffer[:end])
                rest = bytes(self._buffer[end:])
                if line_end == b"\n":
                    head = head.replace(b"\n", b"\r\n")
                self._buffer = bytearray()
                self._line_start = 0
                self._line_count = 0
                return self._take_complete_head(head, rest)

    def _check_length(self, start: int, end: int) -> None:
        # In any split of the bytes, the limit that is exceeded first is the error.
        if start + MAX_LINE < min(end, self._heads_left + 1):
            raise _too_many_headers(Text("a header line of the response is too long"))
        if end > self._heads_left:
            raise _too_many_headers(Text("the headers of the response are too long"))

    def _status_line(self, head: bytes) -> tuple[int, bool]:
        """Return the status, and whether the version is 1.1."""
        match = _STATUS_LINE.match(head)
        if match is None:
            raise self._start_failure(head)
        status = int(match[2])
        # A switch to another protocol was not requested.
        if status == 101 or (status < 200 and self._interim == MAX_INTERIM):
            raise _not_http()
        return status, match[1] == b"1"

    def _start_failure(self, head: bytes) -> ConnectionFailed:
        """Return the error for a head that is not one of HTTP/1."""
        if self._interim or head.startswith(_PREFIX):
            return _not_http()
        return _other_protocol(head[:1])

    def _take_complete_head(self, head: bytes, rest: bytes) -> bool:
        status, is_modern = self._status_line(head)
        self._heads_left -= len(head)
        self._lines = lines = _HeaderLines()
        if b"\r\n " in head or b"\r\n\t" in head:
            start = head.index(b"\n") + 1
            head = head[:start] + _FOLDS.sub(b" ", head[start:])
        try:
            HttpResponseParser(lines).feed_data(head)
        except HttpParserError as error:
            _raise_interrupt(error)
            self._lines = _lines_with_controls(head)
        if status < 200:  # such as 103 Early Hints
            self._interim += 1
            return bool(rest) and self._take_head(rest)
        self._frame(is_modern=is_modern)
        self.status = status
        if self._to_head or status in _WITHOUT_BODY:
            self._length = 0
            self._chunks = None
        elif self._length is None:
            self.reusable = self.reusable and self._chunks is not None
        elif self._length > self._limit:
            raise ResponseTooLarge
        return self._take_body(rest)

    def _frame(self, *, is_modern: bool) -> None:
        """Decide how the body ends, and whether the connection is closed after it."""
        connection = ""
        codings = []
        for name, value in self._lines:
            lower = name.lower()
            if lower == "content-length":
                # llhttp has checked that it is one number. int() refuses 5000 zeros.
                self._length = int(value.lstrip("0") or "0")
            elif lower == "content-encoding":
                self.encodings.append(value)
            elif lower == "connection":
                connection += value.lower()
            elif lower == "transfer-encoding":
                codings.append(value.lower())
        self.reusable = "close" not in connection
        if not is_modern and (codings or "keep-alive" not in connection):
            self.reusable = False
        # tinyproxy closes after each response and does not say so: a request that is
        # sent before its close arrives is lost. squid says keep-alive.
        if self._forwarded and "keep-alive" not in connection:
            self.reusable = False
        if codings:
            if codings != ["chunked"]:
                raise _invalid()
            self._chunks = _Chunks(self._limit)

    # ── body ──────────────────────────────────────────────────────────────────────────

    def _take_body(self, data: bytes) -> bool:
        if self._chunks is not None:
            if not self._chunks.feed(data):
                return False
            if not self.is_streaming:
                self.body = self._chunks.body()
            self.reusable = self.reusable and self._chunks.is_exact
            return True
        if self._length is None:
            self._parts.append(data)
            self._filled += len(data)
            if self._filled > self._limit:
                raise ResponseTooLarge
            return False
        missing = self._length - self._filled
        if len(data) > missing:
            data = data[:missing]
            self.reusable = False
        if self.is_streaming:
            self._parts.append(data)
            self._filled += len(data)
            return self._filled == self._length
        if len(data) == self._length:
            self.body = data
            return True
        if self._space is None:
            # Memory that is used only as it is filled; a server may promise too much.
            self._space = BytesIO(bytes(self._length))
        # Released at once: a view that outlives its BytesIO in a cycle is an error.
        with self._space.getbuffer() as space:
            space[self._filled : self._filled + len(data)] = data
        return self.fill(len(data))


class _HeaderLines(list[tuple[str, str]]):
    """The header lines, as llhttp reports them."""

    __slots__ = ()

    def on_header(self, name: bytes, value: bytes) -> None:
        self.append((name.decode("ascii"), value.rstrip(b" \t").decode("latin-1")))


class _Chunks:
    """A chunked body; extensions and trailers are checked and dropped."""

    __slots__ = (
        "_counted",
        "_limit",
        "_parser",
        "_received",
        "_tail",
        "_wire_left",
        "is_exact",
        "size",
    )

    def __init__(self, limit: int) -> None:
        self.is_exact = False  # whether nothing follows the last chunk
        self._received = _ReceivedChunks()
        self._parser = HttpResponseParser(self._received)
        # Some servers pad the sizes of chunks.
        self._parser.set_dangerous_leniencies(lenient_spaces_after_chunk_size=True)
        self._parser.feed_data(_CHUNKED_HEAD)
        self._limit = limit
        self.size = 0  # of all parts that are counted
        self._counted = 0
        # Half as much again for the sizes of chunks.
        self._wire_left = limit + limit // 2 + TRAILER_ROOM
        self._tail = b""

    @property
    def has_part(self) -> bool:
        """Whether something has arrived that was not taken."""
        return bool(self._received.parts)

    def body(self) -> bytes:
        """Return the body without the sizes of its chunks."""
        return b"".join(self._received.parts)

    def take(self) -> bytes:
        """Return the same, and hold it no longer."""
        part = self.body()
        self._received.parts.clear()
        self._counted = 0
        return part

    def feed(self, data: bytes) -> bool:
        """Take some bytes; return whether the body is complete."""
        allowed = data[: self._wire_left]
        self._wire_left -= len(allowed)
        failed = False
        try:
            self._parser.feed_data(allowed)
        except HttpParserError as error:
            _raise_interrupt(error)
            failed = True
        self.size += sum(map(len, self._received.parts[self._counted :]))
        self._counted = len(self._received.parts)
        if self.size > self._limit:
            raise ResponseTooLarge
        self._tail = (self._tail + allowed[-5:])[-5:]
        if self._received.is_complete:
            is_end = _CHUNKED_END.match(self._tail) is not None
            self.is_exact = is_end and not failed and len(allowed) == len(data)
            return True
        if failed:
            raise _invalid()
        if len(allowed) < len(data):
            raise ResponseTooLarge
        return False


class _ReceivedChunks:
    """The callbacks of llhttp for a chunked body."""

    __slots__ = ("is_complete", "on_body", "parts")

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.on_body = self.parts.append  # C code that the parser calls directly
        self.is_complete = False

    def on_message_complete(self) -> None:
        self.is_complete = True


def _lines_with_controls(head: bytes) -> _HeaderLines:
    """Read a head with control characters in its values, which are escaped when shown.

    RFC 9110 §5.5 permits to keep them. llhttp has to be lenient for that, and then lets
    through what must not be.
    """
    if not _CONTROL.search(head) or _FORBIDDEN.search(head):
        raise _invalid()
    lines = _HeaderLines()
    parser = HttpResponseParser(lines)
    parser.set_dangerous_leniencies(lenient_headers=True)
    try:
        parser.feed_data(head)
    except HttpParserError as error:
        _raise_interrupt(error)
        raise _invalid() from None
    return lines


def _raise_interrupt(error: HttpParserError) -> None:
    """Raise the interrupt that came in a callback, which the parser has replaced."""
    if isinstance(error.__context__, KeyboardInterrupt):
        raise error.__context__ from None


def _not_http() -> ConnectionFailed:
    return ConnectionFailed(
        Text("the connection was closed, or the response is not HTTP")
    )


def _other_protocol(first: bytes) -> ConnectionFailed:
    """Return the error for a response that is not HTTP, by its first byte."""
    if first == _TLS_ALERT:
        return ConnectionFailed(
            Text("the port expects TLS and got plain http"),
            reason="plain-http-to-tls-port",
        )
    message = Text("the response is not HTTP")
    if first in _PROTOCOLS:
        message = Text(
            "the response is not HTTP; it begins as one of {protocol} does",
            protocol=_PROTOCOLS[first],
        )
    return ConnectionFailed(message, reason="other-protocol")


def _invalid() -> ResponseBroken:
    return ResponseBroken(Text("the response is not valid HTTP"))


def _too_many_headers(message: Text) -> ResponseTooLarge:
    return ResponseTooLarge(
        message, hint=Text("Ask the provider of the API; this limit is fixed.")
    )
