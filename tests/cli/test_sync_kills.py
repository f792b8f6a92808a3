"""Killed or simultaneous synchronizations: no record twice, none missing."""

import json
import random
import signal
import sqlite3
import subprocess
import time
from contextlib import closing
from decimal import Decimal
from urllib.parse import parse_qs

import pytest

import forks
from cli.conftest import Terminal
from cli.test_line_commands import document
from outkey.spar import Spar
from outkey.spar.records_api import contact
from outkey.sync.engine.pull.page_groups import MOST_PAGES
from programs import program_command

QUICK, FULL = 5, 50
# A kill comes after some pages at the most; smaller ones are written together.
PAGES_EACH, SIZE = 12, 100
PATIENCE = 60.0
# A killed run holds its line for a minute, in which it looks like a slow one.
LEASE_IS_OVER = "UPDATE outkey_run SET until = 0"


class Workshop:
    """A home with the line `contacts`, and what its database holds."""

    def __init__(self, terminal: Terminal, spar: Spar, count: int) -> None:
        self.terminal, self.spar, self.count = terminal, spar, count
        terminal.settings |= {"SHOP_TOKEN": "spar-token", "OUTKEY_DEMO": "1"}
        text = document(spar, count=count).replace("size = 100", f"size = {SIZE}")
        assert terminal("apply", "-", stdin=text).code == 0
        spar.clear()

    def start(self) -> subprocess.Popen[str]:
        return forks.Popen(
            [*forks.OUTKEY, "line", "run", "contacts", "--json"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=self.terminal.environment,
        )

    def wait_for_pages(self, process: subprocess.Popen[str], pages: int) -> None:
        """Wait until so many pages more were asked for, or the process has ended."""
        wanted, ends = len(self.spar.journal) + pages, time.monotonic() + PATIENCE
        while len(self.spar.journal) < wanted and process.poll() is None:
            assert time.monotonic() < ends
            time.sleep(0.002)

    def rows(self, statement: str) -> list[tuple[object, ...]]:
        path = self.terminal.home / "data" / "outkey.sqlite3"
        with closing(sqlite3.connect(path, timeout=10)) as database, database:
            return database.execute(statement).fetchall()

    def target(self) -> list[tuple[object, ...]]:
        found = self.rows(
            "SELECT external_id, name, credit, active FROM demo_contact ORDER BY id"
        )
        return [
            (key, name, Decimal(str(credit)), active)
            for key, name, credit, active in found
        ]

    def source(self, count: int) -> list[tuple[object, ...]]:
        theirs = [contact(number) for number in range(count)]
        return [(c["id"], c["full_name"], Decimal(str(c["credit"])), 1) for c in theirs]


def kept(shop: Workshop) -> int:
    """Return how many records the checkpoint of the newest run counts."""
    (counts,) = shop.rows("SELECT counts FROM outkey_run ORDER BY id DESC LIMIT 1")[0]
    return int(json.loads(str(counts))["created"])


def test_a_line_that_is_killed_at_random_points_ends_with_every_record_once(
    outkey: Terminal, spar: Spar, pytestconfig: pytest.Config
) -> None:
    chance = random.Random(20261115)
    kills = FULL if pytestconfig.getoption("--full") else QUICK
    shop = Workshop(outkey, spar, (kills + 1) * PAGES_EACH * SIZE)
    for _ in range(kills):
        with shop.start() as process:
            shop.wait_for_pages(process, chance.randint(1, PAGES_EACH))
            time.sleep(chance.uniform(0, 0.02))
            process.kill()
        # Each page is there with its checkpoint, or not at all.
        assert shop.target() == shop.source(kept(shop))
        shop.rows(LEASE_IS_OVER)
    assert 0 < kept(shop) < shop.count
    done = outkey("line", "run", "contacts", "--json").json
    assert shop.target() == shop.source(shop.count)
    # All went on with one run, which has seen every record just once.
    assert (done["state"], done["pages"], done["created"]) == (
        "done",
        shop.count // SIZE + 1,
        shop.count,
    )
    assert (done["updated"], done["unchanged"], done["failed"], done["archived"]) == (
        0,
        0,
        0,
        0,
    )
    assert outkey("audit", "verify", "--json").json["ok"]


ORDERS = 40
OF_PARENTS = """
[configuration.shop]
base_url = "{url}"
network = "internal"
authentication_type = "bearer"
token = "env:SHOP_TOKEN"
[line.orders]
configuration = "shop"
direction = "pull"
path = "/records/orders"
query = {{ count = "{orders}" }}
records = "items"
target = "table:orders"
keys = ["number"]
fields = [{{ api = "number", host = "number", transform = "number" }}]
[line.contacts]
configuration = "shop"
direction = "pull"
path = "/records/orders/{{parent.number}}/items"
records = "items"
target = "table:items"
keys = ["order_number", "position"]
gone = "archive"
parallel = {parallel}
fields = [
  {{ api = "$parent.number", host = "order_number", transform = "number" }},
  {{ api = "position", host = "position", transform = "number" }},
]
pagination = {{ kind = "page", size = 2, size_parameter = "per_page", \
position_parameter = "page" }}
for_each = {{ line = "orders" }}
"""


@pytest.mark.parametrize("parallel", [1, 4])
def test_a_line_with_parents_that_is_killed_continues_at_its_parents(
    outkey: Terminal, spar: Spar, parallel: int
) -> None:
    shop = Workshop(outkey, spar, 1)
    text = OF_PARENTS.format(url=spar.url, orders=ORDERS, parallel=parallel)
    assert outkey("apply", "--replace", "-", stdin=text).code == 0
    assert outkey("line", "run", "orders").code == 0
    spar.clear()
    for pages in (MOST_PAGES + 3, 5, MOST_PAGES + 9):
        with shop.start() as process:
            shop.wait_for_pages(process, pages)
            process.kill()
        shop.rows(LEASE_IS_OVER)
    done = outkey("line", "run", "contacts", "--json").json
    counts = (done["state"], done["created"], done["unchanged"], done["archived"])
    assert counts == ("done", 3 * ORDERS, 0, 0)
    assert done["parents"] == {"done": ORDERS, "skipped": 0, "missing": 0, "failed": 0}
    asked = [(arrived.path, arrived.query) for arrived in spar.journal]
    repeated = len(asked) - len({*asked})
    # The pages that were to be written together, and those that were requested ahead.
    assert repeated <= 3 * (MOST_PAGES + parallel)
    rows = shop.rows("SELECT order_number, position FROM data_items")
    assert sorted(rows) == [(n + 1, p) for n in range(ORDERS) for p in (1, 2, 3)]


def test_of_two_processes_one_runs_the_line_and_the_other_is_told_so(
    outkey: Terminal, spar: Spar
) -> None:
    shop = Workshop(outkey, spar, 200 * SIZE)
    with shop.start() as first, shop.start() as second:
        said = [
            json.loads(process.communicate(timeout=PATIENCE)[0])
            for process in (first, second)
        ]
    assert sorted((first.returncode, second.returncode)) == [0, 2]
    refused, done = sorted(said, key=lambda answer: "error" not in answer)
    assert refused["error"]["code"] == "line_busy"
    assert (done["state"], done["created"]) == ("done", shop.count)
    pages = [parse_qs(arrived.query)["page"] for arrived in spar.journal]
    assert pages == [[str(number)] for number in range(1, 202)]
    assert shop.target() == shop.source(shop.count)


def test_a_kill_around_the_writing_of_a_page_leaves_all_of_it_or_nothing(
    outkey: Terminal, spar: Spar
) -> None:
    shop = Workshop(outkey, spar, 10 * SIZE)
    points = [("before", "upsert"), ("after", "upsert"), ("after", "save")]
    for number, point in enumerate(points, start=1):
        done = forks.run(program_command("cli/killed_line", *point), outkey.environment)
        assert done.returncode == -signal.SIGKILL
        assert shop.target() == shop.source(2 * number * SIZE)
        assert kept(shop) == 2 * number * SIZE
        if number == 1:
            busy = outkey("line", "run", "contacts", "--json")
            assert (busy.code, busy.json["error"]["code"]) == (2, "line_busy")
        shop.rows(LEASE_IS_OVER)
    done_at_last = outkey("line", "run", "contacts", "--json").json
    assert (done_at_last["created"], done_at_last["unchanged"]) == (shop.count, 0)
    assert shop.target() == shop.source(shop.count)
