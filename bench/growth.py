"""Growth: 200 lines due at one moment on four workers, and what more cores would hold.

The lines are of 50 configurations, each pulls five records from a local API into a
table of its own, which the run makes; PostgreSQL, workers and API share this machine.
What more cores and workers would hold is then simulated: calculated from the costs of a
send and a run, by default those of docs/guide/growth.md.

Exit status: 0 every line has run once, 1 one has not, 2 PostgreSQL is missing.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from math import ceil
from pathlib import Path
from typing import Any

import postgresql
import psycopg
from report import Budget, finish

from outkey.spar import Spar

OUTKEY = str(Path(sys.executable).with_name("outkey"))
LINES, CONFIGURATIONS, WORKERS = 200, 50, 4
PLACES = 4  # of a worker: `outkey worker --runs`
BUSY = 0.7  # of a core; above it, waiting grows faster than the load
START_SECONDS, PATIENCE = 10.0, 300.0
CONFIGURATION = """
[configuration.c{number}]
base_url = "{url}"
network = "internal"
authentication_type = "bearer"
"""
LINE = """
[line.l{number}]
configuration = "c{owner}"
direction = "pull"
path = "/records/contacts?count=5"
records = "items"
target = "table:t{number}"
keys = ["id"]
fields = [{{ api = "id", host = "id" }}]
"""
CONNECTIONS = (
    "SELECT count(*) - 1 FROM pg_stat_activity WHERE datname = current_database()"
)
FIGURES = """
SELECT count(*) FILTER (WHERE state = 'done'), max(started_at), max(attempt),
    count(*) - count(DISTINCT line_id)
FROM outkey_run
"""


def install_lines(url: str) -> Any:  # noqa: ANN401 - an Application, imported late
    """Add the lines and their secrets to a new home, and return its application."""
    from outkey.administration.core.document.document import parse_document
    from outkey.foundation.core.secret import Secret
    from outkey.hosts.server.home import prepare

    home = prepare()
    from outkey.hosts.django.wiring import install

    application = install(home)
    administration = application.administration("bench")
    configurations = [
        CONFIGURATION.format(number=number, url=url) for number in range(CONFIGURATIONS)
    ]
    lines = [
        LINE.format(number=number, owner=number % CONFIGURATIONS)
        for number in range(LINES)
    ]
    document = parse_document("".join(configurations + lines))
    application.apply(administration, document, dry_run=False)
    for number in range(CONFIGURATIONS):
        administration.set_secret(f"c{number}", "token", Secret("spar-token"))
    return application


def run_all(application: Any, database: str) -> dict[str, float]:  # noqa: ANN401 - an Application
    """Request a run of each line in one transaction, and wait until all have ended."""
    with psycopg.connect(database, autocommit=True) as connection:

        def row(statement: str) -> tuple[Any, ...]:
            return connection.execute(statement).fetchone() or ()

        at_rest = row(CONNECTIONS)[0]
        with application.registry.transaction():
            for number in range(LINES):
                application.runs.request(f"l{number}", "bench")
        began = time.time()
        most = at_rest
        while row(FIGURES)[0] < LINES and time.time() < began + PATIENCE:
            most = max(most, row(CONNECTIONS)[0])
            time.sleep(0.5)
        done, last, attempts, repeated = row(FIGURES)
    return {
        "missing": LINES - done,
        "attempts": attempts,
        "repeated": repeated,
        "last start, s": last - began,
        "connections at rest": at_rest,
        "connections, most": most,
    }


def measure() -> dict[str, float]:
    with ExitStack() as stack:
        cluster = stack.enter_context(postgresql.running())
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        spar = stack.enter_context(Spar())
        database = cluster.new_database()
        os.environ |= {"OUTKEY_DATABASE_URL": database, "OUTKEY_HOME": f"{folder}/home"}
        application = install_lines(spar.url)
        workers = [
            subprocess.Popen([OUTKEY, "worker"], stdout=subprocess.DEVNULL)
            for _ in range(WORKERS)
        ]
        try:
            time.sleep(START_SECONDS)
            return run_all(application, database)
        finally:
            for worker in workers:
                worker.terminate()
            for worker in workers:
                worker.wait()


def simulate(send_seconds: float, run_seconds: float) -> None:
    """Print what more cores and workers would hold, if nothing else is in the way."""
    for cores in (2, 4, 8, 16):
        servers = cores // 2  # the other half: PostgreSQL, workers, the system
        rate = servers * BUSY / send_seconds
        print(f"simulated: {cores} cores, {servers} servers: {rate:.0f} sends a second")
    for workers in (4, 8, 16):
        late = (ceil(LINES / (workers * PLACES)) - 1) * run_seconds
        print(f"simulated: {workers} workers, the last line starts after {late:.0f} s")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--send-milliseconds", type=float, default=2.0)
    parser.add_argument("--run-seconds", type=float, default=5.0)
    options = parser.parse_args()
    try:
        found = measure()
    except postgresql.PostgresqlMissing:
        print("PostgreSQL is not installed", file=sys.stderr)
        return 2
    for name, figure in found.items():
        print(f"{name}: {figure:.1f}")
    simulate(options.send_milliseconds / 1000, options.run_seconds)
    budgets = [
        Budget("lines that have not run", found["missing"], 0),
        Budget("lines that have run twice", found["repeated"], 0),
        Budget("attempts of a run", found["attempts"], 1),
    ]
    return finish("growth", found, budgets)


if __name__ == "__main__":
    sys.exit(main())
