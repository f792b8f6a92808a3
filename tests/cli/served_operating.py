"""A running server as monitoring systems see it."""

import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

import forks
from cli.conftest import Terminal
from ports import free_port

PATIENCE = 60.0


@dataclass(frozen=True)
class Served:
    """A running server and its commands."""

    url: str
    outkey: Terminal
    log: Path
    printed: Path  # what it wrote to standard output
    process: "subprocess.Popen[str]"

    def get(self, path: str, **headers: str) -> httpx.Response:
        return httpx.get(f"{self.url}{path}", headers=headers, timeout=60)

    def wait_for_readiness(self, part: str, expected: str) -> int:
        """Wait until a part has this result, and return the status."""
        end = time.monotonic() + PATIENCE
        while True:
            response = self.get("/readyz")
            result = response.json()["checks"][part]
            if result == expected or time.monotonic() > end:
                assert result == expected
                return response.status_code
            time.sleep(0.5)


@contextmanager
def serving_operating(
    outkey: Terminal,
    log: Path,
    *,
    command: Sequence[str] = forks.OUTKEY,
    arguments: Sequence[str] = (),
    port: int = 0,
    **settings: str,
) -> Iterator[Served]:
    """Serve a home until the block ends."""
    port = port or free_port()
    printed = log.with_name(f"{log.name}-printed")
    with log.open("a") as output, printed.open("a") as standard_output:
        process = forks.Popen(
            [*command, "serve", "--port", str(port), *arguments],
            stdout=standard_output,
            stderr=output,
            text=True,
            env=outkey.environment | settings,
        )
    served = Served(f"http://127.0.0.1:{port}", outkey, log, printed, process)
    try:
        wait_until_healthy(served)
        yield served
    finally:
        process.terminate()
        process.wait(20)


def wait_until_healthy(served: Served) -> None:
    end = time.monotonic() + PATIENCE
    while True:
        try:
            assert served.get("/healthz").status_code == 200
        except httpx.TransportError:
            assert served.process.poll() is None, served.log.read_text()
            assert time.monotonic() < end
            time.sleep(0.05)
        else:
            return
