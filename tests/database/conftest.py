"""Real databases for the tests of the Django host: SQLite in a file, and PostgreSQL of our own."""

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import django
import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import connections

POSTGRESQL = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="session")
def postgresql_url() -> Iterator[str]:
    """Start a PostgreSQL cluster in a temporary folder, as a user who is not root."""
    if not POSTGRESQL:
        reason = "missing program: initdb (Debian package postgresql)"
        (pytest.fail if os.environ.get("OUTKEY_TESTS_SKIP_NOTHING") else pytest.skip)(reason)
    folder = Path(tempfile.mkdtemp(prefix="outkey-postgresql-"))
    user: dict[str, object] = {}
    if os.getuid() == 0:
        shutil.chown(folder, "postgres", "postgres")
        user = {"user": "postgres", "group": "postgres", "extra_groups": []}
    tools, port = POSTGRESQL[-1].parent, free_port()

    def run(*command: str | Path) -> None:
        subprocess.run(command, check=True, capture_output=True, cwd=folder, **user)  # type: ignore[call-overload]

    run(tools / "initdb", "-D", "data", "-U", "outkey", "--auth=trust", "--no-sync")
    options = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c fsync=off"
    run(tools / "pg_ctl", "-D", "data", "-w", "-t", "30", "-o", options, "-l", "log", "start")
    try:
        run(tools / "createdb", "-h", "127.0.0.1", "-p", str(port), "-U", "outkey", "outkey")
        yield f"postgresql://outkey@127.0.0.1:{port}/outkey"
    finally:
        run(tools / "pg_ctl", "-D", "data", "-m", "immediate", "stop")
        shutil.rmtree(folder, ignore_errors=True)


def configure(url: str | None, folder: Path) -> None:
    """Point Django at a database; settings are read once per process, connections are not."""
    from outkey.hosts.server.settings import database

    chosen = database(url, folder)
    if not settings.configured:
        settings.configure(
            INSTALLED_APPS=["outkey.hosts.django", "outkey.hosts.demo_records"],
            USE_TZ=True,
            DATABASES={"default": chosen},
        )
        django.setup()
    for connection in connections.all(initialized_only=True):
        connection.close()
    if hasattr(connections._connections, "default"):  # type: ignore[attr-defined]
        delattr(connections._connections, "default")  # type: ignore[attr-defined]
    settings.DATABASES = {"default": chosen}
    connections.settings = connections.configure_settings({"default": chosen})


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Give a test an empty database with all tables, on each of the two."""
    url = request.getfixturevalue("postgresql_url") if request.param == "postgresql" else None
    configure(url, tmp_path)
    call_command("migrate", verbosity=0)
    call_command("flush", verbosity=0, interactive=False)
    yield request.param
    connections.close_all()
