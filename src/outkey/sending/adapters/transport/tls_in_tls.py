"""TLS with a server inside of the TLS with a proxy, which `wrap_socket` cannot do."""

import ssl
from collections.abc import Callable
from functools import partial
from typing import TypeVar

_CHUNK = 64 * 1024

Result = TypeVar("Result")


class TlsInTls:
    """A TLS session inside of another, with what the transport uses of a socket."""

    def __init__(
        self, proxy: ssl.SSLSocket, context: ssl.SSLContext, server_host: str
    ) -> None:
        self._proxy = proxy
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self.session = context.wrap_bio(
            self._incoming, self._outgoing, server_hostname=server_host
        )
        self._perform(self.session.do_handshake)

    def recv(self, size: int) -> bytes:
        """Return some of what the server sent; nothing at the end of the connection."""
        try:
            return self._perform(partial(self.session.read, size))
        except ssl.SSLEOFError:  # closed without a goodbye, as a socket of `ssl` does
            return b""

    def recv_into(self, space: memoryview) -> int:
        """Store some of what the server sent, and return how many bytes."""
        data = self.recv(len(space))
        space[: len(data)] = data
        return len(data)

    def sendall(self, data: bytes) -> None:
        """Send everything."""
        unsent = memoryview(data)
        try:
            while unsent:
                size = self._perform(partial(self.session.write, unsent))
                unsent = unsent[size:]
        finally:
            data = b""  # a traceback must not contain the request
            unsent = memoryview(data)

    def pending(self) -> int:
        """Return how many bytes have arrived and were not read, encrypted ones too."""
        return self.session.pending() + self._incoming.pending + self._proxy.pending()

    def settimeout(self, seconds: float | None) -> None:
        self._proxy.settimeout(seconds)

    def fileno(self) -> int:
        return self._proxy.fileno()

    def close(self) -> None:
        self._proxy.close()

    def _perform(self, step: Callable[[], Result]) -> Result:
        """Repeat a step of the session until it has the input that it needs."""
        try:
            while True:
                try:
                    result = step()
                except ssl.SSLWantReadError:
                    self._flush()
                    self._read_more()
                else:
                    self._flush()
                    return result
        finally:
            del step  # a traceback must not contain the request

    def _flush(self) -> None:
        if self._outgoing.pending:
            self._proxy.sendall(self._outgoing.read())

    def _read_more(self) -> None:
        if data := self._proxy.recv(_CHUNK):
            self._incoming.write(data)
        else:
            self._incoming.write_eof()
