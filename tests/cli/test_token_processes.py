"""Tokens shared by processes: races, kills and a stopped holder, with rotation."""

import json
import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import forks
from cli.conftest import Terminal
from outkey.spar import Spar
from outkey.spar.authority import CLIENT, CLIENT_SECRET
from outkey.testing.canary import Canaries
from programs import program_command

PROCESSES, THREADS = 8, 5
SENDER = "cli/send_together"
RENEWAL = "cli/interrupted_renewal"
POINTS = (
    "before claim",
    "after claim",
    "before asking",
    "after asking",
    "before keep",
    "after keep",
    "before sending",
    "after sending",
)


@pytest.fixture
def spar() -> Iterator[Spar]:
    """A provider of its own for each test, since what it has issued is counted."""
    with Spar() as server:
        yield server


def document(spar: Spar, grant: str, query: str = "") -> str:
    return f"""
[configuration.acme]
base_url = "{spar.url}"
network = "internal"
authentication_type = "bearer"
token_source = "oauth2"
limits = {{ retries = 0 }}
verification = {{ test_path = "/oauth/api" }}
[configuration.acme.oauth2]
token_url = "{spar.url}/oauth/token{query}"
client_id = "{CLIENT}"
grant = "{grant}"
"""


def prepare(outkey: Terminal, spar: Spar, grant: str, query: str = "") -> None:
    assert outkey("apply", "-", stdin=document(spar, grant, query)).code == 0
    assert (
        outkey("secret", "set", "acme", "client_secret", stdin=CLIENT_SECRET).code == 0
    )
    if grant == "refresh_token":
        seed = spar.authorization.seed_refresh()
        assert outkey("secret", "set", "acme", "refresh_token", stdin=seed).code == 0


def start(outkey: Terminal, program: str, *arguments: str) -> "subprocess.Popen[str]":
    return forks.Popen(
        program_command(program, *arguments),
        env=outkey.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def output_of(process: "subprocess.Popen[str]", canary: Canaries) -> str:
    """Wait for the end of a process, and return what it printed."""
    out, err = process.communicate(timeout=90)
    assert list(canary.leaks("what a process printed", (out + err).encode())) == []
    assert "Traceback" not in err, err[-2000:]
    return out.strip()


def renew(
    outkey: Terminal, point: str = "", kind: str = "SIGKILL", lease: str = "1"
) -> str:
    """Send with a renewal, interrupted at a point; return how the request ended."""
    process = start(outkey, RENEWAL, point, kind, lease)
    return output_of(process, outkey.canary)


def wait_until_stopped(pid: int) -> None:
    """Wait until a process has got its SIGSTOP."""
    ends = time.monotonic() + 30
    while Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "T":
        assert time.monotonic() < ends
        time.sleep(0.01)


def race(
    outkey: Terminal,
    *arguments: str,
    processes: int = PROCESSES,
    threads: int = THREADS,
) -> Counter[Any]:
    """Send from many threads of many processes at once; return how these ended."""
    begins = time.time() + 1
    running = [
        start(outkey, SENDER, str(begins), str(threads), "acme", *arguments)
        for _ in range(processes)
    ]
    ends: Counter[Any] = Counter()
    for process in running:
        ends.update(json.loads(output_of(process, outkey.canary)))
    return ends


def test_many_processes_without_a_token_ask_for_exactly_one(
    outkey: Terminal, spar: Spar
) -> None:
    prepare(outkey, spar, "client_credentials", "?before=0.3")
    assert race(outkey) == {200: PROCESSES * THREADS}
    assert spar.authorization.counts().token_requests == 1


def test_many_processes_with_an_expired_token_ask_for_exactly_one(
    outkey: Terminal, spar: Spar
) -> None:
    prepare(outkey, spar, "client_credentials", "?lifetime=1&before=0.3")
    assert outkey("request", "acme", "/oauth/api").code == 0
    spar.authorization.expire_all()
    time.sleep(1.1)
    update = document(spar, "client_credentials", "?lifetime=600&before=0.3")
    assert outkey("apply", "-", stdin=update).code == 0
    assert (
        outkey("secret", "set", "acme", "client_secret", stdin=CLIENT_SECRET).code == 0
    )
    spar.clear()
    assert race(outkey) == {200: PROCESSES * THREADS}
    assert spar.authorization.counts().token_requests == 2
    sent = [
        arrived for arrived in spar.journal if arrived.path.startswith("/oauth/api")
    ]
    assert all(arrived.values("Authorization") for arrived in sent)


def test_racing_processes_keep_a_rotating_family_alive(
    outkey: Terminal, spar: Spar
) -> None:
    prepare(outkey, spar, "refresh_token", "?lifetime=2&before=0.2")
    for _ in range(2):
        assert race(outkey, threads=2) == {200: PROCESSES * 2}
        time.sleep(2.1)
    counts = spar.authorization.counts()
    assert (counts.reuses, counts.dead_families) == (0, 0)


def test_a_rotated_refresh_token_outlives_the_process_that_got_it(
    outkey: Terminal, spar: Spar
) -> None:
    prepare(outkey, spar, "refresh_token")
    for _ in range(3):
        assert outkey("token", "renew", "acme", "--json").json["state"] == "fresh"
    assert outkey("request", "acme", "/oauth/api").code == 0
    assert spar.authorization.counts().token_requests == 3


@pytest.mark.parametrize("point", POINTS)
def test_a_kill_at_any_point_is_recovered_or_a_person_is_asked(
    point: str, outkey: Terminal, pytestconfig: pytest.Config
) -> None:
    for _ in range(20 if pytestconfig.getoption("--full") else 1):
        with Spar() as spar:
            prepare(outkey, spar, "refresh_token")
            assert renew(outkey, point) == ""
            asked = spar.authorization.counts().token_requests
            last = [renew(outkey), renew(outkey)]
            counts = spar.authorization.counts()
            assert last[0] == last[1]
            if last[0] == "200":
                assert counts.dead_families == 0
            else:
                # The provider has replaced the token, and its response died with the
                # process.
                assert last[0] == "reauthorization_needed"
                assert point in {"after asking", "before keep"}
                assert (
                    outkey("token", "status", "acme", "--json").json["state"] == last[0]
                )
            assert counts.token_requests <= asked + 1 <= 2 + (point == "after keep")
            assert outkey("audit", "verify").code == 0
            outkey("delete", "acme", "--yes")


def test_with_a_provider_that_allows_a_repetition_every_kill_is_recovered(
    outkey: Terminal, spar: Spar
) -> None:
    prepare(outkey, spar, "refresh_token", "?grace=30")
    renew(outkey, "after asking")
    assert renew(outkey) == "200"
    assert spar.authorization.counts().token_requests == 2


def test_two_kills_in_a_row_ask_a_person_and_not_the_provider(
    outkey: Terminal, spar: Spar
) -> None:
    prepare(outkey, spar, "refresh_token")
    for _ in range(2):
        renew(outkey, "before asking", lease="0.3")
        time.sleep(0.4)
    done = outkey("request", "acme", "/oauth/api", "--json")
    assert (done.code, done.json["error"]["code"]) == (2, "reauthorization_needed")
    assert spar.authorization.counts().token_requests == 0
    assert outkey("list", "--json").json[0]["status"] == "reauthorization_needed"


@pytest.mark.parametrize("point", ["after claim", "after asking", "before keep"])
def test_a_holder_that_is_stopped_past_its_lease_is_taken_over(
    point: str, outkey: Terminal, spar: Spar
) -> None:
    prepare(outkey, spar, "refresh_token", "?grace=30")
    stopped = start(outkey, RENEWAL, point, "SIGSTOP", "1")
    wait_until_stopped(stopped.pid)
    try:
        time.sleep(1.1)
        assert renew(outkey) == "200"
    finally:
        os.kill(stopped.pid, signal.SIGCONT)
    # It finds that its answer is not wanted any more, and uses the token that is kept.
    assert output_of(stopped, outkey.canary) == "200"
    assert outkey("request", "acme", "/oauth/api").code == 0
    assert spar.authorization.counts().dead_families == 0


def test_different_configurations_renew_at_the_same_time(
    outkey: Terminal, spar: Spar
) -> None:
    """Neither waits for the other: both tokens are requested before one is used."""
    text = document(spar, "client_credentials", "?before=2")
    other = text.replace("configuration.acme", "configuration.other")
    assert outkey("apply", "-", stdin=text + other).code == 0
    for name in ("acme", "other"):
        assert (
            outkey("secret", "set", name, "client_secret", stdin=CLIENT_SECRET).code
            == 0
        )
    begins = time.time() + 1
    running = [
        start(outkey, SENDER, str(begins), "1", name) for name in ("acme", "other")
    ]
    assert [json.loads(output_of(process, outkey.canary)) for process in running] == [
        [200],
        [200],
    ]
    arrived = [arrival.path.partition("?")[0] for arrival in spar.journal]
    assert arrived == ["/oauth/token", "/oauth/token", "/oauth/api", "/oauth/api"]
