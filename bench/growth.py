"""Growth: 200 lines due at one moment on four workers, and what more cores would hold.

The lines are of 50 configurations. Each pulls five records from a local API into a
table of its own: the first time, which makes the table, and again. Then half of the
configurations alone, and beside the other half, which gets 429 with Retry-After. The
requests that the API got are counted. PostgreSQL, workers and API share this machine.
What more cores and workers would hold is then simulated: arithmetic with the processor
time of a run that was measured, that of a send on PostgreSQL from
bench/http_interface.py, and an assumed time of a run at a slow API.

Exit status: 0 every budget holds, 1 one is missed, 2 PostgreSQL is missing.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

import postgresql
import psycopg
from report import Budget, finish

from outkey.spar import Spar

OUTKEY = str(Path(sys.executable).with_name("outkey"))
LINES, CONFIGURATIONS, WORKERS = 200, 50, 4
HEALTHY = [n for n in range(LINES) if n % CONFIGURATIONS < CONFIGURATIONS // 2]
PLACES = 4  # of a worker: `outkey worker --runs`
BUSY = 0.7  # of a core; above it, waiting grows faster than the load
START_SECONDS, PATIENCE = 10.0, 300.0
RUN_PROCESSOR = 0.25  # seconds of a run of five records, with PostgreSQL's part
BESIDE = 2.0  # times the healthy ones alone: each limited one has a run or two as well
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
path = "{path}&line={number}"
records = "items"
target = "table:t{number}"
keys = ["id"]
fields = [{{ api = "id", host = "id" }}]
"""
RECORDS, LIMITED = "/records/contacts?count=5", "/limited?after=60"
CONNECTIONS = (
    "SELECT count(*) - 1 FROM pg_stat_activity WHERE datname = current_database()"
)
FIGURES = """
SELECT count(*), coalesce(max(started_at), 0), coalesce(max(ended_at), 0),
    coalesce(max(attempt), 0)
FROM outkey_run JOIN outkey_syncline line ON line.id = line_id
WHERE outkey_run.id > %s AND state = 'done' AND line.name = ANY(%s)
"""


@dataclass(frozen=True)
class Round:
    """What was measured of lines that were due at one moment."""

    missing: int
    attempts: int
    requests: int  # the most that the API got for one of the lines that it serves
    last_start: float  # seconds after all were due
    last_end: float
    processor: float  # seconds of each run, of workers and PostgreSQL
    connections: int  # the most

    def show(self, what: str) -> None:
        print(
            f"{what}: the last begins after {self.last_start:.1f} s, all have ended"
            f" after {self.last_end:.1f} s, {self.processor:.3f} s of processor each,"
            f" up to {self.connections} connections"
        )


class Installation:
    """An installation with its lines, workers and API."""

    def __init__(self, cluster: postgresql.Cluster, database: str, spar: Spar) -> None:
        from outkey.foundation.core.secret import Secret
        from outkey.hosts.server.home import prepare

        home = prepare()
        from outkey.hosts.django.wiring import install

        self.application = install(home)
        self.cluster = cluster
        self.spar = spar
        self.workers: list[subprocess.Popen[bytes]] = []
        self._database = psycopg.connect(database, autocommit=True)
        self.apply(limited=False)
        administration = self.application.administration("bench")
        for number in range(CONFIGURATIONS):
            administration.set_secret(f"c{number}", "token", Secret("spar-token"))

    def apply(self, *, limited: bool) -> None:
        """Store the configurations and lines; half of them may be limited."""
        from outkey.administration.core.document.document import parse_document

        configurations = [
            CONFIGURATION.format(number=number, url=self.spar.url)
            for number in range(CONFIGURATIONS)
        ]
        lines = [
            LINE.format(
                number=number,
                owner=number % CONFIGURATIONS,
                path=LIMITED if limited and number not in HEALTHY else RECORDS,
            )
            for number in range(LINES)
        ]
        document = parse_document("".join(configurations + lines))
        administration = self.application.administration("bench")
        self.application.apply(administration, document, dry_run=False)

    @contextmanager
    def working(self) -> Iterator[None]:
        """Run the workers."""
        self.workers = [
            subprocess.Popen([OUTKEY, "worker"], stdout=subprocess.DEVNULL)
            for _ in range(WORKERS)
        ]
        try:
            time.sleep(START_SECONDS)
            yield
        finally:
            for worker in self.workers:
                worker.terminate()
            for worker in self.workers:
                worker.wait()

    def row(self, statement: str, values: Sequence[object] = ()) -> tuple[Any, ...]:
        return self._database.execute(statement, values).fetchone() or ()

    def processor_seconds(self) -> float:
        """Return the processor time of the workers and PostgreSQL so far."""
        workers = (postgresql.processor_seconds(each.pid) for each in self.workers)
        return sum(workers) + self.cluster.processor_seconds()

    def round(self, due: Sequence[int], awaited: Sequence[int]) -> Round:
        """Let lines be due as by a schedule, and wait until some of them have run."""
        self.spar.clear()
        (last,) = self.row("SELECT coalesce(max(id), 0) FROM outkey_run")
        names = [f"l{number}" for number in awaited]
        with self.application.registry.transaction():
            for number in due:
                self.application.runs.request(f"l{number}", "bench")
        used = self.processor_seconds()
        began = time.time()
        self.application.sync.planner().plan("bench")
        most = 0
        while time.time() < began + PATIENCE:
            done, last_start, last_end, attempts = self.row(FIGURES, (last, names))
            most = max(most, *self.row(CONNECTIONS))
            if done == len(names):
                break
            time.sleep(0.2)
        requests = Counter(
            arrival.query
            for arrival in self.spar.journal
            if arrival.query.startswith(RECORDS.partition("?")[2])
        )
        return Round(
            missing=len(names) - done,
            attempts=attempts,
            requests=max(requests.values(), default=0),
            last_start=last_start - began,
            last_end=last_end - began,
            processor=(self.processor_seconds() - used) / len(due),
            connections=most,
        )


def measure() -> dict[str, Round]:
    """Return what was measured of each round."""
    with ExitStack() as stack:
        cluster = stack.enter_context(postgresql.running())
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        spar = stack.enter_context(Spar())
        database = cluster.new_database()
        os.environ |= {"OUTKEY_DATABASE_URL": database, "OUTKEY_HOME": f"{folder}/home"}
        installation = Installation(cluster, database, spar)
        every = range(LINES)
        rounds = {}
        with installation.working():
            at_rest = installation.row(CONNECTIONS)[0]
            print(f"connections of {WORKERS} workers at rest: {at_rest}")
            rounds["first"] = installation.round(every, every)
            rounds["again"] = installation.round(every, every)
            rounds["half"] = installation.round(HEALTHY, HEALTHY)
            installation.apply(limited=True)
            rounds["beside 429"] = installation.round(every, HEALTHY)
        return rounds


def simulate(send_seconds: float, run_seconds: float, processor: float) -> None:
    """Print what more cores and workers would hold, if nothing else is in the way."""
    for cores in (4, 8, 16):
        servers = cores // 2  # the other half: PostgreSQL, workers, the system
        rate = servers * BUSY / send_seconds
        print(f"simulated: {cores} cores, {servers} servers: {rate:.0f} sends a second")
    for cores in (4, 8):
        workers = 2 * cores
        busy = LINES * processor / (cores * BUSY)
        late = max(busy, (ceil(LINES / (workers * PLACES)) - 1) * run_seconds)
        print(
            f"simulated: {cores} cores, {workers} workers: the last line begins after"
            f" {busy:.0f} s, after {late:.0f} s if a run takes {run_seconds} s"
        )


def budgets_of(rounds: dict[str, Round]) -> list[Budget]:
    alone, beside = rounds["half"].last_end, rounds["beside 429"].last_end
    return [
        Budget("runs missing", sum(each.missing for each in rounds.values()), 0),
        Budget("attempts of a run", max(r.attempts for r in rounds.values()), 1),
        Budget("requests for a run", max(r.requests for r in rounds.values()), 1),
        Budget("processor s of a run", rounds["again"].processor, RUN_PROCESSOR),
        Budget("healthy lines beside 429 / alone", beside / alone, BESIDE),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--send-milliseconds", type=float, default=3.5)
    parser.add_argument("--run-seconds", type=float, default=5.0)
    given = parser.parse_args()
    try:
        rounds = measure()
    except postgresql.PostgresqlMissing:
        print("PostgreSQL is not installed", file=sys.stderr)
        return 2
    for what, each in rounds.items():
        each.show(what)
    processor = rounds["again"].processor
    simulate(given.send_milliseconds / 1000, given.run_seconds, processor)
    found = {what: vars(each) for what, each in rounds.items()}
    return finish("growth", found, budgets_of(rounds))


if __name__ == "__main__":
    sys.exit(main())
