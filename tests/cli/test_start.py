"""How commands start and end: what they load, and what the end of a process leaves."""

import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from urllib.request import urlopen

import pytest

from cli.conftest import Terminal
from outkey.hosts.server.home import COMMANDS, PAGES
from ports import free_port

# What takes long to load, and what these commands do not need.
FORBIDDEN = {
    "cryptography.x509",
    "django.contrib",
    "django.core.mail",
    "django.core.management",
    "django.db.migrations",
    "django.http",
    "django.urls",
    "django.views",
    "jmespath",
    "joserfc",
    "logging.config",
    "pydantic",
    "sqlalchemy",
    "outkey.administration.core.document.document",
    "outkey.administration.core.findings.posture",
    "outkey.administration.core.policy.parsing",
    "outkey.administration.engine.editing.applying",
    "outkey.administration.engine.editing.editing",
    "outkey.administration.engine.watching.doctor",
    "outkey.hosts.django.pages",
    "outkey.sending.adapters.transport.transport_asyncio",
    "outkey.sending.engine.tokens.login_source",
    "outkey.sending.engine.tokens.renewal",
    "outkey.spar",
    "outkey.sync.core.line.table",
    "outkey.sync.core.mapping.mapping",
    "outkey.webhooks.core.settings.section",
}
# Only to send a request.
FORBIDDEN_WITHOUT_REQUEST = FORBIDDEN | {
    "httptools",
    "outkey.administration.engine.editing.changes",
    "outkey.administration.engine.subjects.webhooks",
    "outkey.sending.adapters.transport.transport_sockets",
    "outkey.sending.core.diagnosis",
    "outkey.sending.engine.connection_test",
    "outkey.sending.engine.exchange.exchange",
    "outkey.sending.core.login",
    "outkey.sending.adapters.scripts_locked.pool",
    "outkey.sending.engine.exchange.sender",
}
# Of the pages, the HTTP interface, imports and the demo: only if they are used.
FORBIDDEN_BEFORE_REQUESTS = {
    "django.test",
    "ninja",
    "outkey.hosts.django.pages.home",
    "outkey.importing.core.readers",
    "outkey.spar",
    "pydantic",
}
PROGRAM = """
import sys
from outkey.hosts.cli.entry import main
try:
    main()
finally:
    print(*sys.modules, file=sys.stderr)
"""
# Whether commands and pages know the same migrations as Django, which loads them.
MIGRATIONS = """
import sys
from outkey.hosts.server import home
home.prepare(sys.argv[1])
from django.db import connection
from django.db.migrations.loader import MigrationLoader
assert set(home.migration_names()) == set(MigrationLoader(connection).disk_migrations)
assert home.has_every_migration()
connection.cursor().execute("DELETE FROM django_migrations WHERE app = 'outkey'")
assert not home.has_every_migration()
assert home.needs_migration()
"""


@pytest.mark.parametrize(
    ("call", "forbidden"),
    [
        (["list"], FORBIDDEN_WITHOUT_REQUEST),
        (["show", "acme"], FORBIDDEN_WITHOUT_REQUEST),
        (["test", "acme"], FORBIDDEN),
    ],
)
def test_a_command_loads_only_what_it_needs(
    ready: Terminal, call: list[str], forbidden: set[str]
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *call],
        env=ready.environment,
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = set(done.stderr.splitlines()[-1].split())
    assert "outkey.hosts.django.models" in loaded
    assert loaded & forbidden == set()


def test_a_server_loads_what_requests_need_when_they_come(ready: Terminal) -> None:
    port = free_port()
    serve = [sys.executable, "-c", PROGRAM, "serve", "--port", str(port)]
    with subprocess.Popen(
        serve,
        env=ready.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as server:
        # As a response shows, signals are handled by then.
        wait_for_response(f"http://127.0.0.1:{port}/healthz")
        server.terminate()
        _, printed = server.communicate(timeout=60)
    loaded = set(printed.splitlines()[-1].split())
    assert "outkey.hosts.server.web.serve" in loaded
    assert loaded & FORBIDDEN_BEFORE_REQUESTS == set()


@pytest.mark.parametrize("settings", [COMMANDS, PAGES])
def test_the_migrations_are_those_that_django_finds(
    ready: Terminal, settings: str
) -> None:
    subprocess.run(
        [sys.executable, "-c", MIGRATIONS, settings], env=ready.environment, check=True
    )


def test_the_end_of_a_command_closes_the_database(ready: Terminal) -> None:
    assert run_outkey(ready, b"list").returncode == 0
    files = [file.name for file in (ready.home / "data").iterdir()]
    assert "outkey.sqlite3" in files
    assert "outkey.sqlite3-wal" not in files


def test_an_argument_that_is_not_unicode_is_refused(ready: Terminal) -> None:
    refused = run_outkey(ready, b"show", b"\xff")
    assert refused.returncode == 2
    assert refused.stderr == b"error[configuration]: the input is not UTF-8 text\n"


@pytest.mark.parametrize("number", [b"0", b"65536", b"9" * 5000, b"x", b""])
def test_a_number_out_of_range_is_refused(ready: Terminal, number: bytes) -> None:
    refused = run_outkey(ready, b"serve", b"--port", number)
    assert refused.returncode == 2
    expected = b"error[configuration]: invalid value for --port\n"
    assert refused.stderr.startswith(expected)


def wait_for_response(url: str) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with suppress(OSError), urlopen(url) as response:
            assert response.status == 200
            return
        time.sleep(0.05)
    raise TimeoutError


def run_outkey(
    terminal: Terminal, *arguments: bytes
) -> subprocess.CompletedProcess[bytes]:
    """Run the installed command, as a process that ends as Python does."""
    program = Path(sys.executable).with_name("outkey")
    return subprocess.run(
        [os.fsencode(program), *arguments],
        env=terminal.environment,
        capture_output=True,
        check=False,
    )
