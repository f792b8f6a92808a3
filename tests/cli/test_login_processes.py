"""Logins shared by processes: a stampede, kills at every step, a stopped holder."""

import os
import signal
import time
from collections.abc import Iterator

import pytest

from cli.conftest import Terminal
from cli.test_login_commands import arrived, prepare
from cli.test_token_processes import (
    POINTS,
    RENEWAL,
    output_of,
    race,
    start,
    wait_until_stopped,
)
from outkey.spar import Spar

PROCESSES, THREADS = 8, 25
API = "/login/api"


@pytest.fixture
def spar() -> Iterator[Spar]:
    with Spar() as server:
        yield server


def log_in(
    outkey: Terminal, point: str = "", kind: str = "SIGKILL", lease: str = "1"
) -> str:
    """Send with a login, interrupted at a point; return how the request ended."""
    return output_of(start(outkey, RENEWAL, point, kind, lease, API), outkey.canary)


def test_many_processes_without_a_token_log_in_exactly_once(
    outkey: Terminal, spar: Spar
) -> None:
    prepare(outkey, spar, path="/login/json?before=0.3")
    assert race(outkey, API, threads=THREADS) == {200: PROCESSES * THREADS}
    assert arrived(spar, "/login/json") == 1
    assert arrived(spar, API) == PROCESSES * THREADS


def test_many_processes_with_a_revoked_session_log_in_exactly_once(
    outkey: Terminal, spar: Spar
) -> None:
    prepare(outkey, spar)
    assert outkey("request", "acme", API).code == 0
    spar.authorization.revoke_family()
    spar.clear()
    # Each of them is refused first: more of them at once only wait for SQLite.
    assert race(outkey, API, threads=5) == {200: PROCESSES * 5}
    assert arrived(spar, "/login/refresh") == 1
    assert arrived(spar, "/login/json") == 1


def test_many_processes_with_a_wrong_password_send_it_exactly_once(
    outkey: Terminal, spar: Spar
) -> None:
    prepare(outkey, spar, "not the password", path="/login/json?before=0.3")
    assert race(outkey, API, threads=THREADS) == {
        "invalid_credentials": PROCESSES * THREADS
    }
    assert arrived(spar, "/login/json") == 1
    assert arrived(spar, API) == 0


@pytest.mark.parametrize("point", POINTS)
def test_a_kill_at_any_point_of_a_login_is_recovered(
    point: str, outkey: Terminal, spar: Spar
) -> None:
    prepare(outkey, spar)
    assert log_in(outkey, point) == ""
    logins = arrived(spar, "/login/json")
    assert [log_in(outkey), log_in(outkey)] == ["200", "200"]
    assert arrived(spar, "/login/json") <= logins + 1 <= 2 + (point == "after keep")
    assert outkey("token", "status", "acme", "--json").json["state"] == "fresh"
    assert outkey("audit", "verify").code == 0


@pytest.mark.parametrize("point", ["before asking", "after asking", "before keep"])
def test_a_kill_during_a_refresh_is_recovered_by_a_login(
    point: str, outkey: Terminal, spar: Spar
) -> None:
    prepare(outkey, spar, path="/login/json?lifetime=1")
    assert log_in(outkey) == "200"
    time.sleep(1.1)
    assert log_in(outkey, point) == ""
    assert [log_in(outkey), log_in(outkey)] == ["200", "200"]
    logins = arrived(spar, "/login/json")
    # A refresh token whose successor died with the process is not accepted again.
    assert logins == (1 if point == "before asking" else 2)


@pytest.mark.parametrize("point", ["after claim", "after asking", "before keep"])
def test_a_holder_that_is_stopped_past_its_lease_is_taken_over(
    point: str, outkey: Terminal, spar: Spar
) -> None:
    prepare(outkey, spar)
    stopped = start(outkey, RENEWAL, point, "SIGSTOP", "1", API)
    wait_until_stopped(stopped.pid)
    try:
        time.sleep(1.1)
        assert log_in(outkey) == "200"
    finally:
        os.kill(stopped.pid, signal.SIGCONT)
    assert output_of(stopped, outkey.canary) == "200"
    assert outkey("request", "acme", API).code == 0
