"""Workers on one PostgreSQL: shared work, a restarted server, a killed process."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import IO, Any

import psycopg
import pytest

import forks
from cli.conftest import Terminal
from cli.test_line_commands import document
from database.conftest import Cluster
from database.hostile_servers import PostgresqlClient, served
from outkey.sending.core.request.rate_limit import RateLimit
from outkey.spar import Spar
from outkey.spar.records_api import contact
from outkey.testing.canary import Canaries
from programs import assert_program_passes, program_command

PATIENCE = 90.0
LEASE_SECONDS = 120.0  # of a run whose process has lost the database
Runs = list[dict[str, Any]]


@dataclass
class Site:
    """A home on PostgreSQL, the API that its lines pull from, and its workers."""

    terminal: Terminal
    spar: Spar
    url: str
    log: IO[bytes]
    command: Sequence[str]
    workers: list["subprocess.Popen[bytes]"] = field(default_factory=list)

    def start_worker(self, at_once: int = 4) -> "subprocess.Popen[bytes]":
        started = forks.Popen(
            [*self.command, "worker", "--runs", str(at_once)],
            env=self.terminal.environment,
            stdout=self.log,
            stderr=self.log,
        )
        self.workers.append(started)
        return started

    def runs(self) -> Runs:
        found: Runs = self.terminal("run", "list", "--json").json
        return found

    def until(
        self, reached: Callable[[Runs], bool], patience: float = PATIENCE
    ) -> Runs:
        """Wait until the runs are as they should be."""
        ends = time.monotonic() + patience
        while not reached(found := self.runs()):
            assert time.monotonic() < ends, json.dumps(found, indent=1)
            time.sleep(0.1)
        return found

    def apply(self, text: str) -> None:
        """Apply lines whose schedule has just come."""
        text = text.replace(
            'direction = "pull"', 'direction = "pull"\nschedule = "* * * * *"'
        )
        assert self.terminal("apply", "-", stdin=text).code == 0
        mark = json.dumps({"at": time.time() - 61})
        with psycopg.connect(self.url) as connection:
            connection.execute(
                "INSERT INTO outkey_sharedstate (kind, key, generation, value)"
                " VALUES ('mark', 'schedules', 1, %s)",
                (mark,),
            )

    def wait_for_reports(self, *texts: str) -> None:
        """Wait until the workers have printed all these."""
        ends = time.monotonic() + PATIENCE
        while any(text not in Path(self.log.name).read_text() for text in texts):
            assert time.monotonic() < ends
            time.sleep(0.1)

    def let_leases_end(self) -> None:
        """Let nobody hold a run any more, as if a few minutes had passed."""
        with psycopg.connect(self.url) as connection:
            connection.execute("UPDATE outkey_run SET until = 1 WHERE state <> 'done'")

    def let_workers_stall(self) -> None:
        """Let the queue hear nothing of the workers, as if minutes had passed."""
        with psycopg.connect(self.url) as connection:
            connection.execute(
                "UPDATE procrastinate_workers SET last_heartbeat = '2020-01-01'"
            )

    def contacts(self) -> list[str]:
        with psycopg.connect(self.url) as connection:
            rows = connection.execute(
                "SELECT external_id FROM demo_contact ORDER BY 1"
            ).fetchall()
        return [external_id for (external_id,) in rows]


@pytest.fixture
def site(
    postgresql: Cluster,
    tmp_path: Path,
    canary: Canaries,
    pytestconfig: pytest.Config,
) -> Iterator[Site]:
    name = f"site_{time.monotonic_ns()}"
    url = postgresql.create(name)
    settings = {
        "OUTKEY_DATABASE_URL": url,
        "OUTKEY_DEMO": "1",
        "SHOP_TOKEN": "spar-token",
    }
    terminal = Terminal(tmp_path / "home", canary, settings)
    with Spar() as spar, (tmp_path / "workers.log").open("wb") as log:
        full = pytestconfig.getoption("--full")
        command = forks.OUTKEY if full else program_command("database/quick_worker")
        made = Site(terminal, spar, url, log, command)
        yield made
        for worker in made.workers:
            if worker.poll() is None:
                worker.send_signal(signal.SIGTERM)
        for worker in made.workers:
            worker.wait(30)
    printed = (tmp_path / "workers.log").read_bytes()
    sys.stdout.write(printed.decode())
    assert list(canary.leaks("what workers printed", printed)) == []
    assert b"Traceback" not in printed


def two_lines(spar: Spar, count: int, limits: str = "requests_per_minute = 300") -> str:
    """Return two lines that bring the same records of one configuration by two keys.

    Not too quickly, so that something can happen in the middle.
    """
    text = document(spar, "cursor", count).replace(
        "[line.contacts]", f"[configuration.shop.limits]\n{limits}\n[line.contacts]", 1
    )
    line = text[text.index("[line.contacts]") :].replace("line.contacts", "line.others")
    prefixed = (
        'transform = "template"\noptions = { template = "b{id}" }\nhost = "external_id"'
    )
    return text + line.replace('host = "external_id"', prefixed)


def both_of(count: int) -> list[str]:
    own = [str(contact(number)["id"]) for number in range(count)]
    return sorted([*own, *(f"b{one}" for one in own)])


def are_done(runs: Runs) -> bool:
    return {run["line"] for run in runs if run["state"] == "done"} == {
        "contacts",
        "others",
    }


def are_under_way(runs: Runs) -> bool:
    return len([run for run in runs if run["pages"] > 2]) == 2


def test_a_worker_that_is_killed_is_replaced_and_nothing_is_lost(site: Site) -> None:
    site.apply(two_lines(site.spar, 2000))
    killed = site.start_worker()
    site.until(are_under_way)
    killed.kill()
    killed.wait(10)
    site.start_worker()
    site.let_leases_end()
    site.let_workers_stall()
    found = site.until(are_done)
    assert site.contacts() == both_of(2000)
    assert [run["attempt"] for run in found[-2:]] == [
        2,
        2,
    ], "both went on where they were"
    assert {run["pages"] for run in found[-2:]} == {20}


def test_a_worker_that_is_told_to_stop_lets_go_of_its_runs_at_once(site: Site) -> None:
    site.apply(two_lines(site.spar, 2000))
    first = site.start_worker()
    site.until(are_under_way)
    first.send_signal(signal.SIGTERM)
    assert first.wait(15) == 0
    assert {run["state"] for run in site.runs()} == {"waiting"}
    assert {run["cause"] for run in site.runs()} == {"stopping"}
    site.start_worker()
    found = site.until(are_done)
    assert site.contacts() == both_of(2000)
    assert [run["attempt"] for run in found[-2:]] == [1, 1], "it was no failure"


def test_a_database_that_hangs_stops_neither_other_lines_nor_the_end_of_a_worker(
    site: Site,
) -> None:
    text = document(site.spar, "cursor", 300)
    before, _, line = text.partition("[line.contacts]")
    configuration = before[before.index("[configuration.shop]") :]
    text += '[database.hung]\nurl = "env:HUNG_URL"\n'
    for name in ("a", "b", "c"):
        text += configuration.replace("configuration.shop", f"configuration.{name}")
        text += f"[line.{name}]" + (
            line.replace("line.contacts", f"line.{name}")
            .replace('"shop"', f'"{name}"')
            .replace('"demo.contact"', f'"table:hung.{name}"')
        )
    with served(PostgresqlClient) as server:
        url = f"postgresql://u:p@127.0.0.1:{server.port}/d"
        # Its lines are checked when they are applied, and not for long.
        site.terminal.settings["HUNG_URL"] = "postgresql://u:p@127.0.0.1:9/d"
        site.apply(text)
        site.terminal.settings["HUNG_URL"] = url
        worker = site.start_worker(at_once=2)
        site.until(
            lambda runs: (
                any(run["state"] == "done" for run in runs) and bool(server.clients)
            )
        )
        states = {run["line"]: run["state"] for run in site.runs()}
        assert states.pop("contacts") == "done"
        assert "done" not in states.values()
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(60) == 0


def test_two_workers_outlive_a_restart_of_the_database_in_the_middle(
    site: Site, postgresql: Cluster, pytestconfig: pytest.Config
) -> None:
    site.apply(two_lines(site.spar, 2000))
    workers = [site.start_worker(at_once=1) for _ in range(2)]
    site.until(are_under_way)
    postgresql.stop()
    time.sleep(1)
    postgresql.start()
    if not pytestconfig.getoption("--full"):
        site.wait_for_reports("run 1", "run 2")
        site.let_leases_end()
    site.until(are_done, LEASE_SECONDS + PATIENCE)
    assert [worker.poll() for worker in workers] == [None, None]
    assert site.contacts() == both_of(2000)


def test_two_lines_on_two_workers_share_one_rate_limit_as_the_server_counts_it(
    site: Site,
) -> None:
    limit = RateLimit(600)
    site.apply(two_lines(site.spar, 3000, f"requests_per_minute = {limit.per_minute}"))
    for _ in range(2):
        site.start_worker(at_once=1)
    moments: list[float] = []
    ends = time.monotonic() + PATIENCE
    while len(moments) < 60:
        moments += [time.monotonic()] * (len(site.spar.journal) - len(moments))
        assert time.monotonic() < ends
        time.sleep(0.01)
    site.until(are_done)
    assert site.contacts() == both_of(3000)
    assert moments[-1] - moments[0] >= (60 - limit.burst) * limit.interval * 0.95
    began = {
        run["line"]: datetime.fromisoformat(run["started_at"]) for run in site.runs()
    }
    apart = abs(began["contacts"] - began["others"])
    assert apart < timedelta(seconds=3), "they ran at the same time"


def test_jobs_that_cannot_be_read_stop_no_worker(site: Site) -> None:
    site.apply(two_lines(site.spar, 4))
    odd = [("-infinity", '{"run": "1"}'), ("infinity", '{"run": "1"}'), (None, "[]")]
    with psycopg.connect(site.url) as connection:
        for scheduled_at, args in odd:
            connection.execute(
                "INSERT INTO procrastinate_jobs"
                " (queue_name, task_name, args, status, scheduled_at)"
                " VALUES ('outkey', 'outkey.run', %s, 'todo', %s)",
                (args, scheduled_at),
            )
    site.start_worker()
    site.until(are_done)
    assert site.contacts() == both_of(4)
    with psycopg.connect(site.url) as connection:
        unreadable = connection.execute(
            "SELECT args, scheduled_at::text FROM procrastinate_jobs"
            " WHERE NOT isfinite(scheduled_at) OR jsonb_typeof(args) <> 'object'"
        ).fetchall()
    assert unreadable == [], "they were deleted"


def test_a_line_that_comes_while_it_runs_is_not_run_twice(site: Site) -> None:
    # Slowly: two commands must come before the run has ended, on a busy machine too.
    slow = two_lines(site.spar, 2000, "requests_per_minute = 100")
    site.apply(slow.partition("[line.others]")[0])
    for _ in range(2):
        site.start_worker()
    site.until(lambda runs: any(run["pages"] > 2 for run in runs))
    (run,) = site.runs()
    asked = site.terminal("run", "repeat", run["run"], "--json")
    assert (asked.code, asked.json["error"]["code"]) == (2, "line_busy")
    site.until(lambda runs: runs[-1]["state"] == "done")
    asked_for = [arrived.query for arrived in site.spar.journal]
    assert len(asked_for) == len(set(asked_for)) == 20


def test_what_failed_is_tried_again_later_and_can_be_repeated_at_once(
    site: Site,
) -> None:
    site.apply(
        document(site.spar, "cursor", 300).replace(
            '"300"', '"300", fail = "500", at = "2"'
        )
    )
    site.start_worker()
    # A worker stores that a run has failed before it lets the run wait.
    (failed,) = site.until(lambda runs: bool(runs) and runs[0]["attempt"] == 2)
    assert (failed["state"], failed["cause"], failed["attempt"]) == (
        "waiting",
        "server_error",
        2,
    )
    due_at = datetime.fromisoformat(failed["due_at"]).timestamp()
    assert 4 < due_at - time.time() < 16
    shown = site.terminal("run", "list", "--state", "waiting").out
    assert "(server error), attempt 2" in shown
    assert site.terminal("run", "repeat", failed["run"]).code == 0
    site.until(lambda runs: runs[-1]["state"] == "done")
    assert len(site.contacts()) == 300


def test_a_line_that_cannot_work_fails_visibly_and_is_not_tried_again(
    site: Site,
) -> None:
    site.apply(
        document(site.spar, "cursor", 300)
        .replace("spar-token", "")
        .replace("SHOP_TOKEN", "NO_TOKEN")
    )
    site.start_worker()
    (failed,) = site.until(lambda runs: bool(runs) and runs[0]["ended_at"] is not None)
    assert (failed["state"], failed["cause"]) == ("failed", "secret_missing")


def test_of_two_machines_that_begin_at_once_one_makes_the_tables(
    site: Site, tmp_path: Path
) -> None:
    command = [*forks.OUTKEY, "list", "--json"]
    homes = [
        site.terminal.environment | {"OUTKEY_HOME": str(tmp_path / n)} for n in "abc"
    ]
    begun = [
        forks.Popen(command, env=home, stdout=site.log, stderr=site.log)
        for home in homes
    ]
    assert [process.wait(60) for process in begun] == [0, 0, 0]


def test_a_worker_without_the_key_takes_nothing(site: Site, tmp_path: Path) -> None:
    site.terminal("apply", "-", stdin=document(site.spar, "cursor", 100))
    site.terminal("secret", "set", "shop", "token", stdin="spar-token")
    elsewhere = Terminal(
        tmp_path / "elsewhere", site.terminal.canary, site.terminal.settings
    )
    done = elsewhere("worker")
    assert (done.code, "sealed" in done.err) == (4, True)


def test_a_project_of_ones_own_has_a_command_for_the_work(
    tmp_path: Path, site: Site
) -> None:
    (tmp_path / "config").mkdir()
    done = assert_program_passes(
        "database/worker_project",
        tmp_path / "embedded",
        tmp_path,
        settings={"SHOP_TOKEN": "spar-token"},
        stdin=document(site.spar, "cursor", 300),
        timeout=60,
    )
    assert done.stdout == "done 300\n", done.stderr


def test_on_sqlite_the_command_says_who_does_the_work(
    tmp_path: Path, canary: Canaries
) -> None:
    done = Terminal(tmp_path / "home", canary)("worker")
    assert done.code == 2
    assert "outkey serve does the work" in done.err
