"""Growth of the inbox: what a million deliveries of a webhook cost.

One delivery is received by outkey itself; the others are copies of its row, spread over
thirty days: of 100, 97 are processed, two ignored and one has failed. At each size the
pages are requested through Django's test client, deliveries are received, received
again (which looks the event up), and processed by a function that does nothing. At the
end the oldest of them are pruned. Each figure is a median.

Exit status: 0 nothing grows with the inbox, 1 something does, 2 PostgreSQL is missing.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pages
import postgresql
from report import Budget, finish
from rich.console import Console
from rich.table import Table

SIZES = (10_000, 100_000, 1_000_000)
TIMES, PRUNED = 15, 5_000
GROWTH, LEAST = 3.0, 5.0  # from the smallest inbox to the largest; milliseconds
COUNTING = "a webhook"
HANDLER = "builtins.bool"
DOCUMENT = f"""
[webhook.bench]
scheme = "github"
handler = "{HANDLER}"
"""
BODY = b'{"id": 1, "text": "' + b"x" * 480 + b'"}'
COPIES = """
INSERT INTO outkey_delivery ({columns}) SELECT {values}
FROM ({numbers}) numbers, (SELECT * FROM outkey_delivery WHERE id = {source}) source
"""
NUMBERS = {
    "postgresql": "SELECT n FROM generate_series({first}, {last}) n",
    "sqlite": "WITH RECURSIVE counted(n) AS (SELECT {first} UNION ALL"
    " SELECT n + 1 FROM counted WHERE n < {last}) SELECT n FROM counted",
}
STATE = "CASE WHEN n % 100 = 50 THEN 'failed' WHEN n % 50 = 9 THEN 'ignored'"
MONTH = 30 * 86_400


class Inbox:
    """An installation with one webhook, and a user who is signed in."""

    def __init__(self) -> None:
        from outkey.administration.core.document.document import parse_document
        from outkey.foundation.core.secret import Secret

        self.client, self.application = pages.sign_in()
        administration = self.application.administration("bench")
        webhooks = self.application.webhooks
        self.application.apply(administration, parse_document(DOCUMENT), dry_run=False)
        changes = webhooks.administration(administration)
        changes.set_secret("bench", Secret("a-secret-of-the-benchmark"))
        self.endpoint = webhooks.stored()["bench"].endpoint
        self.reception = webhooks.reception()
        self.work = webhooks.work()
        self.sent = 0
        self.began = time.time()
        self.receive()
        self.work.round()
        self.source = webhooks.inbox().newest("bench")[0].id

    def receive(self, *, again: bool = False) -> None:
        """Receive a delivery, or the last one again."""
        from outkey.hosts.sample_delivery import signed_sample

        self.sent += not again
        sample = signed_sample(
            self.application,
            "bench",
            BODY.replace(b"1", str(self.sent).encode(), 1),
            event_id=f"event-{self.sent}",
            content_type="application/json",
            base="http://127.0.0.1:1",
        )
        if self.reception.receive(self.endpoint, sample).status != 200:
            raise RuntimeError("a delivery was refused")

    def fill(self, first: int, last: int) -> None:
        """Copy the first delivery, as they would have arrived in a month."""
        from django.db import connection

        received = f"{self.began - MONTH} + n * {MONTH / SIZES[-1]}"
        changed = {
            "key": "'copy-' || n",
            "event_id": "'copy-' || n",
            "nonce": "''",
            "received_at": received,
            "due_at": received,
            "state": f"{STATE} ELSE 'processed' END",
        }
        numbers = NUMBERS[connection.vendor].format(first=first, last=last)
        with connection.cursor() as cursor:
            cursor.execute("SELECT * FROM outkey_delivery LIMIT 0")
            columns = [column[0] for column in cursor.description]
            columns.remove("id")
            values = [changed.get(name, f"source.{name}") for name in columns]
            statement = COPIES.format(
                columns=", ".join(columns),
                values=", ".join(values),
                numbers=numbers,
                source=self.source,
            )
            cursor.execute(statement)
            if connection.vendor == "postgresql":
                cursor.execute("VACUUM ANALYZE outkey_delivery")

    def get(self, page: str, **query: str) -> None:
        """Request a page."""
        query = {"name": "bench"} | query
        response = self.client.get(f"/outkey/webhook/{page}/", query)
        if response.status_code != 200:
            raise RuntimeError(f"{page} responded {response.status_code}")

    def process(self) -> None:
        """Process the deliveries that are due."""
        if self.work.round() != 1:
            raise RuntimeError("not one delivery was due")

    def prune(self) -> int:
        """Delete the oldest deliveries; return how many."""
        before = self.began - MONTH + PRUNED * MONTH / SIZES[-1]
        return int(self.application.webhooks.inbox().prune(before))


def milliseconds(action: Callable[[], object]) -> float:
    started = time.perf_counter()
    action()
    return (time.perf_counter() - started) * 1000


def figures(inbox: Inbox) -> dict[str, float]:
    """Return the milliseconds of each action at the present size."""
    newest = inbox.application.webhooks.inbox().newest("bench", limit=1)
    half = str(int(newest[0].id) // 2)
    actions: dict[str, Callable[[], object]] = {
        "inbox, newest": partial(inbox.get, "inbox"),
        "inbox, failed": partial(inbox.get, "inbox", state="failed"),
        "inbox, older": partial(inbox.get, "inbox", before=half),
        "a delivery": partial(inbox.get, "delivery", id=half),
        COUNTING: partial(inbox.get, "webhook"),
        "receive": inbox.receive,
        "receive again": partial(inbox.receive, again=True),
        "process": inbox.process,
    }
    times: dict[str, list[float]] = {name: [] for name in actions}
    for _ in range(TIMES):
        for name, action in actions.items():
            times[name].append(milliseconds(action))
    return {name: statistics.median(taken[2:]) for name, taken in times.items()}


def measure() -> None:
    """Print what was measured on the database of this process."""
    inbox = Inbox()
    found: dict[str, dict[str, float]] = {}
    filled = 0
    for size in SIZES:
        inbox.fill(filled + 1, size)
        filled = size
        found[str(size)] = figures(inbox)
        print(f"{size}: {found[str(size)]}", file=sys.stderr)
    taken = milliseconds(inbox.prune)
    found[str(filled)]["prune, each"] = taken / PRUNED
    found[str(filled)]["prune, none"] = milliseconds(inbox.prune)
    print(json.dumps(found))


def measured_on(database: str, folder: str) -> dict[str, dict[str, float]]:
    """Measure in a process of its own."""
    environment = os.environ | {
        "OUTKEY_HOME": f"{folder}/home",
        "OUTKEY_WEBHOOK_HANDLERS": HANDLER,
        "OUTKEY_DATABASE_URL": database,
    }
    done = subprocess.run(
        [sys.executable, __file__, "--here"],
        env=environment,
        stdout=subprocess.PIPE,
        check=True,
    )
    found: dict[str, dict[str, float]] = json.loads(done.stdout)
    return found


def show(found: dict[str, Any]) -> None:
    table = Table("milliseconds", *[f"{size:,}" for size in SIZES])
    for database, sizes in found.items():
        for name in sizes[str(SIZES[-1])]:
            times = [sizes[str(size)].get(name) for size in SIZES]
            shown = ["" if taken is None else f"{taken:.1f}" for taken in times]
            table.add_row(f"{database}: {name}", *shown)
    Console().print(table)


def budgets_of(database: str, sizes: dict[str, dict[str, float]]) -> list[Budget]:
    """Return the budgets of growth: times the smallest inbox, above a few ms.

    The page of a webhook has none: it counts the deliveries.
    """
    smallest, largest = sizes[str(SIZES[0])], sizes[str(SIZES[-1])]
    return [
        Budget(
            f"{database}: {name}, largest / smallest",
            largest[name] / max(smallest[name], LEAST),
            GROWTH,
        )
        for name in smallest
        if name != COUNTING
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.here:
        measure()
        return 0
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        found["SQLite"] = measured_on("", folder)
    try:
        with postgresql.running() as cluster, tempfile.TemporaryDirectory() as folder:
            found["PostgreSQL"] = measured_on(cluster.new_database(), folder)
    except postgresql.PostgresqlMissing:
        print("PostgreSQL is not installed", file=sys.stderr)
        return 2
    show(found)
    budgets = [
        budget for database in found for budget in budgets_of(database, found[database])
    ]
    return finish("growth_inbox", found, budgets)


if __name__ == "__main__":
    sys.exit(main())
