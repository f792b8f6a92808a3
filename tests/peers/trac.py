"""Trac: tickets as CSV, and what happened as RSS.

It lets everybody read, so nginx stands before it. Nothing here knows outkey.
"""

import json
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from peers.authorization_servers import INSTALLED
from peers.servers import listening, require
from peers.sync_servers import Row

PROGRAM = Path(__file__).parent / "programs" / "trac_tickets.py"


@dataclass(frozen=True, slots=True)
class Trac:
    """A running Trac, and the environment with its tickets."""

    url: str
    environment: Path

    def tickets(self) -> list[Row]:
        """Return all tickets, as Trac's own database has them."""
        return list(json.loads(self._program("list")))

    def save(self, tickets: Sequence[Row]) -> None:
        """Create these tickets, or change those that have an id."""
        self._program("save", json.dumps(tickets))

    def delete(self, number: int) -> None:
        """Delete a ticket."""
        self._program("delete", str(number))

    def get(self, path: str) -> str:
        """Return the body of a response, as everybody gets it."""
        response = httpx.get(self.url + path, timeout=30)
        assert response.status_code == 200, response
        return response.text

    def _program(self, *arguments: str) -> str:
        done = subprocess.run(
            [_python(), PROGRAM, self.environment, *arguments],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-2000:]
        return done.stdout


@contextmanager
def trac_running(folder: Path) -> Iterator[Trac]:
    """Run Trac until the block ends."""
    environment = folder / "shop"
    admin = [_python(), "-m", "trac.admin.console"]
    subprocess.run(
        [*admin, environment, "initenv", "shop", "sqlite:db/trac.db"],
        check=True,
        capture_output=True,
        timeout=60,
    )

    def command(port: int) -> list[str]:
        return [
            str(_python()),
            "-m",
            "trac.web.standalone",
            "--hostname=127.0.0.1",
            f"--port={port}",
            "--single-env",
            str(environment),
        ]

    with listening(folder, "trac", command) as port:
        yield Trac(f"http://127.0.0.1:{port}", environment)


def _python() -> Path:
    return require(
        INSTALLED / "trac/bin/python",
        "missing libraries: requirements/trac.lock (make .venv/.dev installs it)",
    )
