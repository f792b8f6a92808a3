"""Reports that are ordered: by processes that are killed at any point, exactly once."""

import json
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable
from contextlib import closing

import pytest

import forks
from cli.conftest import Terminal
from outkey.spar import Spar

PATIENCE = 60.0
LEASE_IS_OVER = "UPDATE outkey_run SET until = 0"


class Office:
    """A home with the line `report`, whose order says how the provider makes it."""

    def __init__(self, terminal: Terminal, spar: Spar) -> None:
        self.terminal, self.spar = terminal, spar
        terminal.settings |= {"SHOP_TOKEN": "spar-token"}
        self.ordered = spar.reports.ordered

    def apply(self, job: str = "", line: str = "", **order: object) -> None:
        """Save the line; `job` and `line` are more of its keys."""
        body = json.dumps({"count": 3, **order})
        text = f"""
[configuration.shop]
base_url = "{self.spar.url}"
network = "internal"
authentication_type = "bearer"
token = "env:SHOP_TOKEN"
headers = [{{ key = "X-Tenant", value = "7" }}]
limits = {{ retries = 0 }}

[line.report]
configuration = "shop"
direction = "pull"
path = "/reports/{{job.id}}/download"
target = "table:report"
keys = ["id"]
fields = [{{ api = "id", host = "id" }}, {{ api = "full_name", host = "name" }}]
{line or 'records = "items"'}

[line.report.job]
order = {{ path = "/reports", body = '{body}' }}
id = "data.id"
poll = {{ path = "/reports/{{job.id}}", every_seconds = 1 }}
state = "status"
done = ["done"]
failed = ["error"]
{job}
delete = {{ path = "/reports/{{job.id}}" }}
"""
        done = self.terminal("apply", "-", stdin=text)
        assert done.code == 0, done.err

    def run(self) -> tuple[int, dict[str, object]]:
        done = self.terminal("line", "run", "report", "--json")
        return done.code, done.json

    def start(self) -> subprocess.Popen[str]:
        return forks.Popen(
            [*forks.OUTKEY, "line", "run", "report", "--json"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=self.terminal.environment,
        )

    def arrived(self, method: str, end: str) -> int:
        return sum(
            arrival.method == method and arrival.path.endswith(end)
            for arrival in self.spar.journal
        )

    def statement(self, text: str) -> list[tuple[object, ...]]:
        path = self.terminal.home / "data" / "outkey.sqlite3"
        with closing(sqlite3.connect(path, timeout=10)) as database, database:
            return database.execute(text).fetchall()


@pytest.fixture
def office(outkey: Terminal, spar: Spar) -> Office:
    return Office(outkey, spar)


POINTS: dict[str, Callable[[Office], bool]] = {
    # The provider has made the report, and its response is on its way for a second.
    "order": lambda office: office.arrived("POST", "/reports") > 0,
    "poll": lambda office: office.arrived("GET", f"/r{office.ordered + 1}") > 1,
    "download": lambda office: office.arrived("GET", "/download") > 0,
}


# Of these the first is the one that could order twice.
@pytest.mark.parametrize(
    "point",
    [
        "order",
        pytest.param("poll", marks=pytest.mark.full),
        pytest.param("download", marks=pytest.mark.full),
    ],
)
def test_a_run_that_is_killed_at_any_point_has_ordered_once(
    office: Office, point: str
) -> None:
    office.apply(polls=2, wait=1 if point != "poll" else 0)
    with office.start() as process:
        ends = time.monotonic() + PATIENCE
        while not POINTS[point](office):
            assert process.poll() is None
            assert time.monotonic() < ends
            time.sleep(0.01)
        process.kill()
    assert process.returncode == -signal.SIGKILL
    office.statement(LEASE_IS_OVER)
    code, run = office.run()
    assert (code, run["state"], run["created"]) == (0, "done", 3)
    assert office.spar.reports.ordered == office.ordered + 1
    assert office.spar.reports.open == []
    assert office.statement("SELECT count(*) FROM outkey_run") == [(1,)]
    assert office.terminal("audit", "verify", "--json").json["ok"]


def test_a_report_in_csv_is_downloaded_from_another_origin_without_credentials(
    office: Office,
) -> None:
    job = f'url = "result.url"\norigins = ["{office.spar.elsewhere}"]'
    line = 'response = { format = "csv" }'
    office.apply(job, line, polls=0, url="elsewhere", format="csv")
    code, run = office.run()
    assert (code, run["created"]) == (0, 3)
    (download,) = (a for a in office.spar.journal if a.server == "elsewhere")
    assert not download.values("Authorization")
    assert not download.values("X-Tenant")
    listed = office.terminal("audit", "list", "--json").out
    assert "signature" not in listed
    office.apply('url = "result.url"', line, polls=0, url="elsewhere")
    code, run = office.run()
    assert (code, run["error"]["code"]) == (3, "redirect_blocked")  # type: ignore[index]


def test_a_report_that_fails_ends_the_run_with_its_own_code(office: Office) -> None:
    office.apply(polls=0, error=True)
    code, run = office.run()
    assert code == 1
    assert "did not do the job" in str(run["error"]["message"])  # type: ignore[index]
    (listed,) = office.terminal("run", "list", "--json").json
    assert listed["cause"] == "job_failed"
