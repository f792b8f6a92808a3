"""A server on a raw socket that sends one response and records what it receives."""

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field


@dataclass
class RawPeer:
    """What a raw server received, connection by connection."""

    port: int
    answer: bytes | None
    requests: list[bytes] = field(default_factory=list)
    connections: int = 0


def _read_request(stream: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data:
        part = stream.recv(65536)
        if not part:
            return data
        data += part
    head, _, body = data.partition(b"\r\n\r\n")
    length = 0
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    while len(body) < length:
        body += stream.recv(65536)
    return head + b"\r\n\r\n" + body


def _serve(listener: socket.socket, peer: RawPeer) -> None:
    while True:
        try:
            stream, _ = listener.accept()
        except OSError:
            return
        peer.connections += 1
        threading.Thread(target=_converse, args=(stream, peer), daemon=True).start()


def _converse(stream: socket.socket, peer: RawPeer) -> None:
    with stream, contextlib.suppress(OSError):
        stream.settimeout(5)
        while request := _read_request(stream):
            peer.requests.append(request)
            if peer.answer is None:
                stream.recv(1)  # silence until the other side gives up
                return
            stream.sendall(peer.answer)


@contextlib.contextmanager
def raw_peer(answer: bytes | None) -> Iterator[RawPeer]:
    """Serve one answer to everybody; None stays silent."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        peer = RawPeer(listener.getsockname()[1], answer)
        thread = threading.Thread(target=_serve, args=(listener, peer), daemon=True)
        thread.start()
        yield peer
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(5)


@contextlib.contextmanager
def serving(*talks: Callable[[socket.socket], None]) -> Iterator[int]:
    """Serve one connection with each of these functions."""

    def serve() -> None:
        for talk in talks:
            with contextlib.suppress(OSError):
                stream, _ = listener.accept()
                with stream:
                    talk(stream)
        listener.close()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        thread.join(5)
