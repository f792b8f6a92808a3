"""Database servers that do what no good one does: they hang, or ask for our files."""

import socket
import socketserver
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

NO_TLS = (80877103, 80877104)  # a client asks whether the server has TLS, or GSSAPI
PARAMETERS = {
    "server_version": "15.0",
    "client_encoding": "UTF8",
    "standard_conforming_strings": "on",
    "integer_datetimes": "on",
    "TimeZone": "UTC",
}
READY = b"Z" + struct.pack(">I", 5) + b"I"
MYSQL_OK = b"\0\0\0\x02\0\0\0"
MYSQL_TLS = 0x800
LONGEST_PACKET = b"\xff\xff\xff"
HANDSHAKE = b"\x16\x03\x03\x40\x00"  # the begin of a TLS record of 16 KiB
DRIP_SECONDS = 0.2
DRIPS = 150  # then the server goes away, or a client without a deadline would hang


class HostileServer(socketserver.ThreadingTCPServer):
    """Serves any number of clients, each in a thread; `received` is what they sent."""

    allow_reuse_address = True
    daemon_threads = False

    def __init__(self, handler: type[socketserver.BaseRequestHandler]) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        self.port = self.server_address[1]
        self.received: list[bytes] = []
        self.clients: list[socket.socket] = []

    def handle_error(self, *_arguments: object) -> None:
        """Print nothing: a client that goes away is what the tests are about."""


@contextmanager
def served(handler: type[socketserver.BaseRequestHandler]) -> Iterator[HostileServer]:
    """Serve until the end of the block."""
    with HostileServer(handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
            for client in server.clients:
                with suppress(OSError):  # it has gone away
                    client.shutdown(socket.SHUT_RDWR)
            server.server_close()  # waits for the threads of its clients


class Client(socketserver.BaseRequestHandler):
    """One connection of a client."""

    server: HostileServer

    def setup(self) -> None:
        """Note that a client is there."""
        self.server.clients.append(self.request)

    def read(self, length: int) -> bytes:
        """Return so many bytes of the client, or raise ConnectionError."""
        data = b""
        while len(data) < length:
            part = self.request.recv(length - len(data))
            if not part:
                raise ConnectionError
            data += part
        return data

    def drip(self, begin: bytes) -> None:
        """Send something that does not end, byte by byte."""
        self.request.sendall(begin)
        for _ in range(DRIPS):
            time.sleep(DRIP_SECONDS)
            self.request.sendall(b"\0")


class SilentClient(Client):
    """A server that accepts a connection and never says anything."""

    def handle(self) -> None:
        """Read until the client goes away."""
        while self.request.recv(4096):
            pass


class PostgresqlClient(Client):
    """A PostgreSQL that accepts every login, and then does `serve`."""

    def handle(self) -> None:
        """Accept the login."""
        self.read_startup()
        settings = b"".join(
            message(b"S", f"{name}\0{value}\0".encode())
            for name, value in PARAMETERS.items()
        )
        login = message(b"R", struct.pack(">I", 0)) + settings
        self.request.sendall(login + message(b"K", struct.pack(">II", 1, 2)) + READY)
        self.serve()

    def read_startup(self) -> None:
        """Read the first message of a client, which has its parameters."""
        while True:
            (length,) = struct.unpack(">I", self.read(4))
            body = self.read(length - 4)
            if struct.unpack(">I", body[:4])[0] not in NO_TLS:
                break
            self.request.sendall(b"N")
        self.server.received.append(body)

    def serve(self) -> None:
        """Read everything, and respond to nothing."""
        while data := self.request.recv(4096):
            self.server.received.append(data)


class PasswordClient(PostgresqlClient):
    """A PostgreSQL that asks for the password in clear, of any user."""

    def handle(self) -> None:
        """Ask for the password, and go away."""
        self.read_startup()
        self.request.sendall(message(b"R", struct.pack(">I", 3)))
        self.server.received.append(self.request.recv(4096))


class MysqlClient(Client):
    """A MySQL that accepts every login, and then responds with `response`."""

    capabilities = 0xFFFFFFFF & ~MYSQL_TLS & ~0x20  # neither TLS nor compression

    def handle(self) -> None:
        """Accept the login."""
        self.greet()
        number, login = self.read_packet()
        self.server.received.append(login)
        self.send(number + 1, MYSQL_OK)
        self.serve()

    def greet(self) -> None:
        """Say first what this server can do."""
        salt = b"A" * 20
        self.send(
            0,
            b"\x0a8.0.30\0"
            + struct.pack("<I", 7)
            + salt[:8]
            + b"\0"
            + struct.pack("<H", self.capabilities & 0xFFFF)
            + b"\x21"
            + struct.pack("<HH", 2, self.capabilities >> 16)
            + bytes([21])
            + b"\0" * 10
            + salt[8:]
            + b"\0mysql_native_password\0",
        )

    def serve(self) -> None:
        """Respond to each command."""
        while True:
            _, command = self.read_packet()
            self.server.received.append(command)
            self.respond(command)

    def respond(self, _command: bytes) -> None:
        """Respond with an OK that is no result, also where a result is needed."""
        self.send(1, MYSQL_OK)

    def send(self, number: int, payload: bytes) -> None:
        """Send one packet."""
        header = struct.pack("<I", len(payload))[:3] + bytes([number])
        self.request.sendall(header + payload)

    def read_packet(self) -> tuple[int, bytes]:
        """Return the number and the payload of one packet."""
        header = self.read(4)
        return header[3], self.read(int.from_bytes(header[:3], "little"))


class FileThief(MysqlClient):
    """A MySQL that responds to each query with the request for a file."""

    wanted = b"/proc/self/environ"

    def respond(self, command: bytes) -> None:
        """Ask for a file of the client, and go away with what it sends."""
        if command[:1] != b"\x03":
            self.send(1, MYSQL_OK)
            return
        self.send(1, b"\xfb" + self.wanted)
        self.server.received.append(self.read_packet()[1])
        raise ConnectionError


class HungMysqlClient(MysqlClient):
    """A MySQL that accepts every login, and then responds to nothing."""

    def respond(self, command: bytes) -> None:
        """Respond to what the client needs for the login only."""


class DrippingMysqlGreeting(MysqlClient):
    """A MySQL whose first packet does not end."""

    def greet(self) -> None:
        """Send one byte after the other."""
        self.drip(LONGEST_PACKET + b"\0")


class DrippingMysqlTls(MysqlClient):
    """A MySQL whose TLS handshake does not end."""

    capabilities = MysqlClient.capabilities | MYSQL_TLS

    def handle(self) -> None:
        """Read what the client says before the handshake."""
        self.greet()
        self.read_packet()
        self.drip(HANDSHAKE)


class DrippingMysqlRounds(MysqlClient):
    """A MySQL whose login does not end: it asks for the password again and again."""

    def handle(self) -> None:
        """Send a key that is none whenever the client asks for it."""
        self.greet()
        number, _login = self.read_packet()
        self.send(number + 1, b"\xfecaching_sha2_password\0" + b"A" * 20 + b"\0")
        number, _password = self.read_packet()
        for _ in range(DRIPS):
            time.sleep(DRIP_SECONDS)
            number = (number + 1) % 256
            self.send(number, b"\x01\x03")  # it was right; the rest follows


class DrippingMysqlResponse(MysqlClient):
    """A MySQL whose response to a statement does not end."""

    drips_from = b"SET"

    def respond(self, command: bytes) -> None:
        """Respond to one statement with bytes, to the others as all do."""
        if command[1:].startswith(self.drips_from):
            self.drip(LONGEST_PACKET + b"\x01")
        else:
            super().respond(command)


class DrippingMysqlSelect(DrippingMysqlResponse):
    """A MySQL whose response to a SELECT does not end."""

    drips_from = b"SELECT"


class DrippingPostgresqlLogin(PostgresqlClient):
    """A PostgreSQL whose response to a login does not end."""

    def handle(self) -> None:
        """Send one byte after the other."""
        self.read_startup()
        self.drip(b"R" + struct.pack(">I", 2000) + struct.pack(">I", 3))


class DrippingPostgresqlTls(PostgresqlClient):
    """A PostgreSQL whose TLS handshake does not end."""

    def handle(self) -> None:
        """Agree to TLS."""
        self.read(8)
        self.request.sendall(b"S")
        self.drip(HANDSHAKE)


class DrippingPostgresqlResponse(PostgresqlClient):
    """A PostgreSQL whose response to a statement does not end."""

    def serve(self) -> None:
        """Send one byte after the other."""
        self.request.recv(4096)
        self.drip(b"T" + struct.pack(">I", 1 << 24))


def message(kind: bytes, body: bytes) -> bytes:
    """Return a message of PostgreSQL."""
    return kind + struct.pack(">I", len(body) + 4) + body
