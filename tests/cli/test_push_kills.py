"""A killed push: afterwards both sides are equal, and nothing is created twice."""

import json
import random
import sqlite3
import subprocess
import time
from collections import Counter
from contextlib import closing

import pytest

import forks
from cli.conftest import Terminal
from outkey.spar import Spar

QUICK, FULL = 4, 50
FIRST = 40  # records before the first run
PATIENCE = 60.0
KNOWN = "SELECT record FROM outkey_ledger WHERE remote_id != '' AND NOT is_deleted"
LEASE_IS_OVER = "UPDATE outkey_run SET until = 0"
SINGLE = """
[line.send.create]
method = "POST"
path = "/records/stored"
[line.send.update]
method = "PATCH"
path = "/records/stored/{remote_id}"
[line.send.delete]
method = "DELETE"
path = "/records/stored/{remote_id}"
"""
BATCH = """
[line.send.create]
method = "POST"
path = "/records/stored/batch"
[line.send.update]
method = "PATCH"
path = "/records/stored/batch"
[line.send.delete]
method = "DELETE"
path = "/records/stored/batch"
"""
LISTS = """
batch = 3
records_at = "items"
results_at = "results"
body = '{"id": "{remote_id}", "external_id": "{external_id}", "name": "{name}"}'
"""


def document(spar: Spar, requests: str, settings: str, keys: str) -> str:
    return f"""
[configuration.shop]
base_url = "{spar.url}"
network = "internal"
authentication_type = "bearer"
token = "env:SHOP_TOKEN"

[line.send]
configuration = "shop"
direction = "push"
target = "demo.contact"
query = {{ keys = "{keys}" }}
remote_id = "data.id"
guard_percent = 100
{settings}
[line.send.find]
path = "/records/stored?external_id={{external_id}}"
remote_id = "items[].id"
{requests}
[[line.send.fields]]
host = "external_id"
api = "external_id"
[[line.send.fields]]
host = "name"
api = "name"
"""


class Sending:
    """A home with contacts and the line `send`, and what both sides have."""

    def __init__(self, terminal: Terminal, spar: Spar, text: str) -> None:
        self.terminal = terminal
        self.spar = spar
        terminal.settings |= {"SHOP_TOKEN": "spar-token", "OUTKEY_DEMO": "1"}
        assert terminal("apply", "-", stdin=text).code == 0
        self._count = 0

    def sql(self, statement: str, *values: object) -> list[tuple[object, ...]]:
        path = self.terminal.home / "data" / "outkey.sqlite3"
        with closing(sqlite3.connect(path, timeout=10)) as database, database:
            return database.execute(statement, values).fetchall()

    def add(self, count: int) -> None:
        for _ in range(count):
            self._count += 1
            self.sql(
                "INSERT INTO demo_contact (external_id, name, email, kind, active,"
                " portal_password, changed_at)"
                " VALUES (?, ?, '', 'person', 1, '', '2026-11-16')",
                f"c{self._count}",
                "new",
            )

    def change(self, chance: random.Random, turn: int) -> None:
        """Edit, delete and archive some contacts, and add some."""
        ids = [number for (number,) in self.sql("SELECT id FROM demo_contact")]
        for number in chance.sample(ids, 10):
            name = f"name of turn {turn}"  # no two requests are the same by chance
            self.sql("UPDATE demo_contact SET name = ? WHERE id = ?", name, number)
        for number in chance.sample(ids, 3):
            self.sql("UPDATE demo_contact SET active = 0 WHERE id = ?", number)
        # Nobody knows the id at the API of what is deleted while it is created.
        known = [number for (number,) in self.sql(KNOWN)]
        for number in chance.sample(known, min(2, len(known))):
            self.sql("DELETE FROM demo_contact WHERE id = ?", number)
        self.add(6)

    def start(self) -> subprocess.Popen[str]:
        return forks.Popen(
            [*forks.OUTKEY, "line", "run", "send", "--json"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=self.terminal.environment,
        )

    def kill_after(self, requests: int, seconds: float) -> None:
        """Start a run, and kill it after so many requests; it may have ended."""
        wanted = len(self.spar.journal) + requests
        ends = time.monotonic() + PATIENCE
        with self.start() as process:
            while len(self.spar.journal) < wanted and process.poll() is None:
                assert time.monotonic() < ends
                time.sleep(0.001)
            time.sleep(seconds)
            process.kill()
        self.sql(LEASE_IS_OVER)

    def ours(self) -> list[tuple[object, ...]]:
        return self.sql(
            "SELECT external_id, name FROM demo_contact WHERE active"
            " ORDER BY external_id"
        )

    def theirs(self) -> list[tuple[object, ...]]:
        records = self.spar.stored.all()
        return sorted((record["external_id"], record["name"]) for record in records)

    def doubled(self) -> int:
        """Return how many requests arrived that had arrived before."""
        seen = Counter(
            (arrival.method, arrival.path, arrival.body)
            for arrival in self.spar.journal
            if arrival.path.startswith("/records/stored")
        )
        return sum(count - 1 for count in seen.values())


@pytest.mark.parametrize(
    ("requests", "settings"),
    [(SINGLE, ""), (SINGLE, "parallel = 4"), (BATCH, LISTS)],
    ids=["single", "parallel", "batch"],
)
def test_a_push_that_is_killed_at_random_points_leaves_both_sides_equal(
    outkey: Terminal,
    pytestconfig: pytest.Config,
    requests: str,
    settings: str,
) -> None:
    chance = random.Random(20261116)
    kills = FULL if pytestconfig.getoption("--full") else QUICK
    with Spar() as spar:
        sending = Sending(outkey, spar, document(spar, requests, settings, "honoured"))
        sending.add(FIRST)
        for turn in range(kills):
            sending.kill_after(chance.randint(1, 14), chance.uniform(0, 0.02))
            sending.change(chance, turn)
        done = outkey("line", "run", "send", "--json")
        assert done.json["failed"] == 0, done.out
        # It continued: what was edited behind its position is sent by the next run.
        assert outkey("line", "run", "send", "--json").json["failed"] == 0
        last = outkey("line", "run", "send", "--json").json
        assert sending.theirs() == sending.ours()
        changes = {name: last[name] for name in ("created", "updated", "deleted")}
        assert changes == {"created": 0, "updated": 0, "deleted": 0}
        assert outkey("audit", "verify", "--json").json["ok"]


@pytest.mark.parametrize(
    ("requests", "settings"), [(SINGLE, ""), (BATCH, LISTS)], ids=["single", "batch"]
)
def test_at_an_api_without_keys_a_kill_doubles_one_request_at_the_most(
    outkey: Terminal,
    pytestconfig: pytest.Config,
    requests: str,
    settings: str,
) -> None:
    chance = random.Random(20261117)
    kills = FULL if pytestconfig.getoption("--full") else QUICK
    with Spar() as spar:
        sending = Sending(outkey, spar, document(spar, requests, settings, "ignored"))
        sending.add(FIRST)
        for turn in range(kills):
            sending.kill_after(chance.randint(1, 14), chance.uniform(0, 0.02))
            # Not one in each run: a run that creates first may be killed before it
            # repeats the update that the kill before it has interrupted.
            assert sending.doubled() <= turn
            if turn % 2:  # an edit in between would make the repeated request another
                sending.change(chance, turn)
        outkey("line", "run", "send", "--json")
        outkey("line", "run", "send", "--json")
        assert sending.doubled() <= kills
        assert {*sending.ours()} <= {*sending.theirs()}


def test_of_ten_thousand_records_only_the_ten_that_changed_are_sent(
    outkey: Terminal,
) -> None:
    count = 10_000
    with Spar() as spar:
        first = document(spar, SINGLE, LISTS, "honoured").replace(
            "batch = 3", "batch = 500"
        )
        first = first.replace(
            'path = "/records/stored"', 'path = "/records/stored/batch"'
        )
        sending = Sending(outkey, spar, first)
        sending.sql(
            "WITH RECURSIVE n(i) AS"
            " (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)"
            " INSERT INTO demo_contact (external_id, name, email, kind, active,"
            " portal_password, changed_at)"
            " SELECT 'c' || i, 'Name ' || i, '', 'person', 1, '', '2026-11-16' FROM n",
            count,
        )
        assert outkey("line", "run", "send", "--json").json["created"] == count
        assert len(spar.journal) == count // 500
        spar.clear()
        assert outkey("line", "run", "send", "--json").json["unchanged"] == count
        assert spar.journal == []
        sending.sql("UPDATE demo_contact SET name = 'Other' WHERE id % 1000 = 7")
        done = outkey("line", "run", "send", "--json").json
        assert (done["updated"], done["unchanged"]) == (10, count - 10)
        assert len(spar.journal) == 10
        assert {arrival.method for arrival in spar.journal} == {"PATCH"}
        assert json.loads(spar.journal[0].body)["name"] == "Other"
        assert sending.theirs() == sending.ours()
