"""The addresses of one home's servers, published to all processes of the home.

Each server has a file with its addresses, and locks it for as long as it runs: a file
without a lock is that of a killed server, and is ignored.
"""

import fcntl
import os
import re
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from outkey.foundation.core.errors import ConfigError, StorageUnavailable
from outkey.foundation.core.text import Text
from outkey.sending.core.request.addresses import plain_address

CACHE_SECONDS = 5.0
# the port, and a random suffix for each server
_FILE = re.compile(r"([0-9]{1,5})-[a-z0-9_]+")


class ListenerFiles:
    """Reads and writes the files of one folder; caches them for a few seconds."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._cached: dict[int, frozenset[str]] = {}
        self._read_again_at = 0.0

    def addresses(self, port: int) -> frozenset[str]:
        """Return the addresses that servers of this home are bound to at this port."""
        now = time.monotonic()
        if now >= self._read_again_at:
            self._cached = self._read()
            self._read_again_at = now + CACHE_SECONDS
        return self._cached.get(port, frozenset())

    def urls(self) -> list[str]:
        """Return the URLs of the servers of this home that run on this machine."""
        return [
            web_url(address, port)
            for port, addresses in sorted(self._read().items())
            for address in sorted(map(reachable, addresses))
        ]

    def bound_addresses(self) -> frozenset[str]:
        """Return the addresses of this home's servers on this machine."""
        return frozenset().union(*self._read().values())

    def is_local(self, address: str) -> bool:
        """Whether an address is one of this machine's own.

        The system chooses the address itself as the source of a datagram to it.
        Connecting a datagram socket only looks up the route.
        """
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        try:
            with socket.socket(family, socket.SOCK_DGRAM) as probe:
                probe.connect((address, 9))
                return plain_address(probe.getsockname()[0]) == plain_address(address)
        except OSError:  # there is no route to it
            return False

    @contextmanager
    def hold(self, host: str, port: int) -> Iterator[None]:
        """Publish what a server listens on to this home while the block runs."""
        text = "\n".join(sorted(_bound_addresses(host, port)))
        with ExitStack() as stack:
            try:
                self._folder.mkdir(mode=0o700, exist_ok=True)
                self._remove_abandoned()
                # mode 0600
                handle, draft = tempfile.mkstemp(dir=self._folder, prefix=".")
                file = stack.enter_context(os.fdopen(handle, "w", encoding="ascii"))
                fcntl.flock(file, fcntl.LOCK_EX)
                file.write(text)
                file.flush()
                # Renamed only now: unlocked, it would be removed as abandoned.
                place = self._folder / f"{port}-{Path(draft).name.lstrip('.')}"
                Path(draft).rename(place)
            except OSError:
                raise StorageUnavailable(
                    Text("the home folder cannot be written")
                ) from None
            stack.callback(_remove_own, place, os.getpid())
            self._read_again_at = 0.0
            yield

    def _read(self) -> dict[int, frozenset[str]]:
        addresses: dict[int, frozenset[str]] = {}
        for port, place in self._files():
            with suppress(FileNotFoundError), place.open(encoding="ascii") as file:
                if _is_locked(file.fileno()):
                    addresses[port] = addresses.get(port, frozenset()) | frozenset(
                        file.read().split()
                    )
        return addresses

    def _remove_abandoned(self) -> None:
        for _, place in self._files():
            with suppress(FileNotFoundError), place.open(encoding="ascii") as file:
                if not _is_locked(file.fileno()):
                    place.unlink()

    def _files(self) -> list[tuple[int, Path]]:
        try:
            names = [place.name for place in self._folder.iterdir()]
        except FileNotFoundError:
            return []
        except OSError:
            raise StorageUnavailable(Text("the home folder cannot be read")) from None
        matches = filter(None, map(_FILE.fullmatch, names))
        return [(int(match[1]), self._folder / match[0]) for match in matches]


def web_url(address: str, port: int) -> str:
    """Return the URL of a server at an address, which may be of IPv6."""
    host = f"[{address}]" if ":" in address else address
    return f"http://{host}:{port}"


def reachable(address: str) -> str:
    """Return the address to reach a server at, which may be bound to all of them."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(address, address)  # noqa: S104


def _remove_own(place: Path, process: int) -> None:
    """Remove a server's file, unless this is a forked worker of that server."""
    if os.getpid() == process:
        place.unlink(missing_ok=True)


def _is_locked(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False


def _bound_addresses(host: str, port: int) -> set[str]:
    """Return the addresses that a server with this host is bound to."""
    try:
        infos = socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except (OSError, UnicodeError):
        raise ConfigError(
            Text("the IP address to listen on cannot be resolved"),
            hint=Text("Use an IP address of this machine, such as 127.0.0.1."),
            field="--host",
        ) from None
    return {plain_address(str(info[4][0]).partition("%")[0]) for info in infos}
