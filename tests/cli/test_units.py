"""The systemd units: correct, and enough for outkey to work with.

There is no systemd in most places where tests run. Its settings are applied by a small
program instead, to real processes of an unprivileged user.
"""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from stat import S_IMODE

import httpx
import pytest

from cli.test_line_commands import document
from cli.units import (
    APPLIED,
    DEPLOY,
    INSTALLED,
    NOT_APPLIED,
    UNITS,
    VISIBLE,
    UnitRun,
    facts_of,
    installed_command,
    read_service,
    replace_once,
    writable_places,
)
from database.conftest import Cluster, postgresql
from outkey.spar import Spar
from peers.unpacked import folder_for_all
from ports import free_port

__all__ = ["postgresql"]  # a fixture of the tests of databases
SERVER, WORKER = UNITS
PATIENCE = 90.0


def skip(reason: str) -> None:
    """Skip a test, or fail it where nothing may be skipped."""
    (pytest.fail if os.environ.get("OUTKEY_TESTS_SKIP_NOTHING") else pytest.skip)(
        reason
    )


@pytest.mark.parametrize("unit", UNITS)
def test_systemd_finds_nothing_wrong_with_a_unit(unit: str, tmp_path: Path) -> None:
    program = shutil.which("systemd-analyze")
    if program is None:
        skip("missing program: systemd-analyze (Debian package systemd)")
    assert program
    text = (DEPLOY / unit).read_text()
    (tmp_path / unit).write_text(replace_once(text, INSTALLED, installed_command()))
    done = subprocess.run(
        [program, "verify", str(tmp_path / unit)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


@pytest.mark.parametrize("unit", UNITS)
def test_each_setting_is_applied_below_or_named_as_one_that_is_not(unit: str) -> None:
    settings = set(read_service(unit))
    assert settings == APPLIED | set(NOT_APPLIED)
    for name, reason in NOT_APPLIED.items():
        sys.stdout.write(f"{unit}: {name} is not applied: {reason}\n")


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that an unprivileged user can reach."""
    if os.geteuid() != 0:
        skip("the units are run by root only, who can become another user")
    with folder_for_all() as made:
        yield made


@pytest.fixture
def units(folder: Path) -> Iterator[UnitRun]:
    lines = (DEPLOY / "outkey.env.example").read_text().splitlines()
    variables = dict(line.split("=", 1) for line in lines if not line.startswith("#"))
    made = UnitRun(folder, variables)
    yield made
    made.end()


def wait_for_readiness(port: int, *, patience: float = PATIENCE) -> dict[str, str]:
    """Wait until the server is ready, and return how each part is."""
    deadline = time.monotonic() + patience
    while True:
        try:
            response = httpx.get(f"http://127.0.0.1:{port}/readyz", timeout=30)
        except httpx.TransportError:
            checks = {}
        else:
            checks = response.json()["checks"]
            if response.status_code == 200:
                return dict(checks)
        assert time.monotonic() < deadline, checks
        time.sleep(0.2)


def assert_unprivileged(process: "subprocess.Popen[bytes]", unit: str) -> None:
    """Assert that the kernel confines a process as its unit says."""
    facts = facts_of(process)
    assert "0" not in facts["Uid"].split() + facts["Gid"].split()
    assert facts["Groups"] == ""
    for capabilities in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(facts[capabilities], 16) == 0, capabilities
    assert (facts["NoNewPrivs"], facts["Seccomp"]) == ("1", "2")
    assert facts["Umask"] == read_service(unit)["UMask"]
    limits = Path(f"/proc/{process.pid}/limits").read_text().splitlines()
    (files,) = [line for line in limits if "open files" in line]
    assert files.split()[3] == read_service(unit)["LimitNOFILE"]
    (core,) = [line for line in limits if "core file" in line]
    assert core.split()[4:6] == ["0", "0"]
    # The kernel gives what shows the memory of a process to root if nobody else,
    # not even its own user, may see it.
    assert Path(f"/proc/{process.pid}/mem").stat().st_uid == 0
    assert writable_places(process) == {"/var/lib/outkey", "/tmp", "/var/tmp"}


def assert_files_are_private(units: UnitRun) -> None:
    """Assert that nobody else can read what was written."""
    files = [units.state, *units.state.rglob("*")]
    modes = {path: S_IMODE(path.stat().st_mode) for path in files}
    assert len(modes) > 4
    wrong = {
        str(path.relative_to(units.state)): oct(mode)
        for path, mode in modes.items()
        if mode != (0o700 if path.is_dir() else 0o600)
    }
    assert wrong == {}


def test_a_server_works_with_the_settings_of_its_unit(units: UnitRun) -> None:
    port = free_port()
    server = units.start(SERVER, port=port)
    checks = wait_for_readiness(port)
    # Scripts run in processes that lock themselves further: that works here too.
    parts = ("database", "key", "audit", "scripts", "workers", "clock")
    assert checks == dict.fromkeys(parts, "ok")
    assert_unprivileged(server, SERVER)
    temporary = Path(f"/proc/{server.pid}/root/tmp")
    checkout = {Path(path).parts[2] for path in VISIBLE if path.startswith("/tmp/")}
    assert {path.name for path in temporary.iterdir()} == checkout
    seconds = units.stop(SERVER, server)
    sys.stdout.write(f"the server ended after {seconds:.2f} s\n")
    assert "Password" in units.log_of(server)
    assert "Traceback" not in units.log_of(server)
    assert_files_are_private(units)


@pytest.mark.full
def test_a_worker_runs_a_line_on_postgresql_with_the_settings_of_its_unit(
    units: UnitRun, postgresql: Cluster
) -> None:
    units.variables |= {
        "OUTKEY_DATABASE_URL": postgresql.create("units"),
        "OUTKEY_DEMO": "1",
        "SHOP_TOKEN": "spar-token",
    }
    with Spar() as spar:
        units.run(SERVER, "apply", "-", stdin=document(spar))
        token = units.run(SERVER, "api-token", "create", "x", "--scope", "run").split()[
            -1
        ]
        port = free_port()
        server = units.start(SERVER, port=port)
        worker = units.start(WORKER)
        wait_for_readiness(port)
        asked = httpx.post(
            f"http://127.0.0.1:{port}/api/v1/lines/contacts/runs",
            headers={"Authorization": f"Bearer {token}", "Host": "outkey.example.com"},
        )
        assert asked.status_code == 202, asked.text
        deadline = time.monotonic() + PATIENCE
        while "contacts: " not in units.log_of(worker):
            assert worker.poll() is None, units.log_of(worker)
            assert time.monotonic() < deadline, units.log_of(worker)
            time.sleep(0.1)
        assert "250 created" in units.log_of(worker)
        assert len(spar.journal) >= 3
        for unit, process in ((SERVER, server), (WORKER, worker)):
            assert_unprivileged(process, unit)
            seconds = units.stop(unit, process)
            sys.stdout.write(f"{unit} ended after {seconds:.2f} s\n")
            assert "Traceback" not in units.log_of(process)
    assert_files_are_private(units)
