"""Fixtures for the tests of locked scripts: calls, workers, and planted assets."""

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from outkey.foundation.core.secret import Secret
from outkey.sending.adapters.scripts_locked.pool import LockedScripts
from outkey.sending.core.request.script import ScriptCall

EXAMPLE = """
import time, hmac, hashlib

def compute_auth_header(sync_line):
    timestamp = str(int(time.time()))
    secret = sync_line.api_config_id.get_secret_key()
    mac = hmac.new(secret.encode(), timestamp.encode(), hashlib.sha256)
    return {"X-Timestamp": timestamp, "X-Signature": mac.hexdigest()}
"""


VERSIONS = ("3.11", "3.12", "3.13")


def python_of(version: str) -> str:
    """Return an interpreter of a version, or skip where there is none."""
    if sys.version.startswith(f"{version}."):
        return sys.executable
    beside = Path(sys.base_prefix).parent.glob(f"{version}.*/bin/python")
    found = next(
        (str(path) for path in sorted(beside)), shutil.which(f"python{version}")
    )
    if found is None:
        pytest.skip(f"no Python {version} here")
    return found


def call_of(
    source: str = EXAMPLE,
    secret: str | None = "a-secret-of-tests",
    **more: Any,  # noqa: ANN401
) -> ScriptCall:
    facts: dict[str, Any] = {
        "place": "acme",
        "name": "orders",
        "configuration": "acme",
        "base_url": "https://api.acme.example",
        "username": "erp",
        "method": "GET",
        "url": "https://api.acme.example/v1/orders?page=2",
        "path": "/v1/orders",
        "query": "page=2",
    }
    held = None if secret is None else Secret(secret)
    return ScriptCall(source=source, secret=held, **(facts | more))


def body_of(*lines: str) -> str:
    """Return a script whose function has these lines."""
    return "def compute_auth_header(sync_line):\n" + "".join(
        f"    {line}\n" for line in lines
    )


def worker_of(scripts: LockedScripts, place: str = "acme") -> Any:  # noqa: ANN401
    return scripts._slots[place]._worker


def pid_of(scripts: LockedScripts, place: str = "acme") -> int:
    """Return the process number of a worker, from the kernel's data on its pidfd."""
    info = Path(f"/proc/self/fdinfo/{worker_of(scripts, place)._pidfd}").read_text()
    return int(
        next(row for row in info.splitlines() if row.startswith("Pid:")).split()[1]
    )


def zygote_of(scripts: LockedScripts) -> int:
    zygote = scripts._spawner._zygote
    assert zygote is not None
    return zygote.pid


def children_of(number: int) -> dict[int, str]:
    """Return the children of a process with their states; Z is a zombie."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            facts = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(facts[1]) == number:
            found[int(folder.name)] = facts[0]
    return found


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208


@pytest.fixture
def scripts() -> Iterator[LockedScripts]:
    made = LockedScripts()
    yield made
    made.close()


@pytest.fixture(scope="module")
def shared() -> Iterator[LockedScripts]:
    """One for many tests of a file that leave it healthy.

    Its limit is no matter of these tests: a busy machine may need more than 250 ms.
    """
    made = LockedScripts(limit=5.0)
    yield made
    made.close()
