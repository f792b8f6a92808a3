"""A PostgreSQL of the benchmarks' own: in a temporary folder, on loopback, not root's.

It runs with its defaults: what is committed is on the disk.
"""

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_INITDB = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))


class PostgresqlMissing(Exception):
    """PostgreSQL is not installed."""


class Cluster:
    """A running cluster, which makes a database for each measurement."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._port = _free_port()
        self._owner: dict[str, Any] = {}
        self._databases = 0
        if os.getuid() == 0:  # PostgreSQL refuses to run as root
            shutil.chown(folder, "postgres", "postgres")
            self._owner = {"user": "postgres", "group": "postgres", "extra_groups": []}

    def start(self) -> None:
        self._run("initdb", "-D", "data", "-U", "bench", "--auth=trust")
        self._start_server()

    def restart(self) -> None:
        """Stop it as a power failure does, and start it again."""
        self._run("pg_ctl", "-D", "data", "-m", "immediate", "stop")
        self._start_server()

    def _start_server(self) -> None:
        options = f"-p {self._port} -k '' -c listen_addresses=127.0.0.1"
        self._run("pg_ctl", "-D", "data", "-w", "-o", options, "-l", "log", "start")

    def stop(self) -> None:
        self._run("pg_ctl", "-D", "data", "-m", "fast", "stop")

    def new_database(self) -> str:
        """Create an empty database, and return its URL."""
        self._databases += 1
        name = f"bench{self._databases}"
        place = ("-h", "127.0.0.1", "-p", str(self._port), "-U", "bench")
        self._run("createdb", *place, name)
        # Nobody checks the password, but dlt insists on one.
        return f"postgresql://bench:bench@127.0.0.1:{self._port}/{name}"

    def processor_seconds(self) -> float:
        """Return the processor time of its processes, with those that have ended."""
        server = (self._folder / "data" / "postmaster.pid").read_text().split()[0]
        processes = [path.name for path in Path("/proc").glob("[0-9]*")]
        return sum(
            processor_seconds(process, with_ended=process == server)
            for process in processes
            if server in {process, parent_of(process)}
        )

    def _run(self, tool: str, *arguments: str) -> None:
        subprocess.run(
            [_INITDB[-1].parent / tool, *arguments],
            check=True,
            capture_output=True,
            cwd=self._folder,
            **self._owner,
        )


@contextmanager
def running() -> Iterator[Cluster]:
    """Run a cluster as long as the block does."""
    if not _INITDB:
        raise PostgresqlMissing
    folder = Path(tempfile.mkdtemp(prefix="outkey-bench-"))
    cluster = Cluster(folder)
    try:
        cluster.start()
        try:
            yield cluster
        finally:
            cluster.stop()
    finally:
        shutil.rmtree(folder)


def processor_seconds(process: str | int, *, with_ended: bool = False) -> float:
    """Return the processor time of a process; 0 if it is not there.

    `with_ended` adds that of its children which have ended.
    """
    fields = _facts_of(process)[11 : 15 if with_ended else 13]
    return sum(map(int, fields)) / os.sysconf("SC_CLK_TCK")


def parent_of(process: str) -> str:
    """Return the id of the parent of a process; "" if it is not there."""
    return "".join(_facts_of(process)[1:2])


def _facts_of(process: str | int) -> list[str]:
    """Return what the system knows of a process, from its state on."""
    try:
        facts = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
    except OSError:
        return []
    return facts.rpartition(")")[2].split()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
