"""How fast records are synchronized: a line of outkey beside dlt's `rest_api` source.

Both pull the same contacts from the sparring provider, page by page with a bearer
token, and merge them by their key into a database that is empty at first, SQLite or
PostgreSQL; then once more, when nothing has changed. outkey runs `SyncRunner` as
`outkey line run` does, audit included, and commits each page with its checkpoint. dlt
lives in .venv-bench and is used as its documentation shows; besides the databases it
writes JSON files, its quickest destination here, which only appends. Both keep all six
fields, the credit as a decimal and `updated_at` as a date or moment; outkey also checks
lengths, choices and addresses.

Every run is a process of its own, in turns; the quickest of each counts, without its
imports. outkey takes part twice in each database: by how much it differs from itself,
the machine is noisy (A/A). PostgreSQL's own processes are not in the CPU figures.

Exit status: 0 every budget holds, 1 one is missed, 2 no dlt or no PostgreSQL, 3 the
machine is too noisy to judge.
"""

import argparse
import platform
import sys
from pathlib import Path
from typing import Any, NamedTuple

import postgresql
from report import Budget, finish
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from outkey.spar import Spar
from programs import PEER_PYTHON, Program

SIZE, ROUNDS, PATIENCE = 100, 3, 600
FIRST, AGAIN = "new records", "the same again"
# Records per second of outkey as a multiple of dlt's, in the same database.
TIMES_DLT = {
    ("SQLite", FIRST): 2.0,
    ("SQLite", AGAIN): 1.5,
    ("PostgreSQL", FIRST): 2.0,
}
NOISE = 1.15  # how much the quickest runs of the same program may differ
LINE = """
[configuration.shop]
base_url = "{url}"
network = "internal"
authentication_type = "bearer"
token = "env:SHOP_TOKEN"
[line.contacts]
configuration = "shop"
direction = "pull"
path = "/records/contacts"
query = {{ style = "cursor", count = "{count}" }}
records = "items"
target = "demo.contact"
keys = ["external_id"]
pagination = {{ kind = "cursor", size = {size}, size_parameter = "per_page", \
position_parameter = "after", cursor = "next" }}
fields = [
  {{ api = "id", host = "external_id", required = true }},
  {{ api = "full_name", host = "name", transform = "text" }},
  {{ api = "mail", host = "email", transform = "text" }},
  {{ api = "type", host = "kind", transform = "text" }},
  {{ api = "credit", host = "credit", transform = "decimal" }},
  {{ api = "updated_at", host = "born_on", transform = "date" }},
]
"""

# Each program prints the seconds and CPU seconds of every run,
# and how many records there are.
_CLOCK = """
import json, os, resource, sys, time
url, count, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
runs = []
def timed(run):
    def cpu():
        scopes = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        used = [resource.getrusage(scope) for scope in scopes]
        return sum(u.ru_utime + u.ru_stime for u in used)
    began, spent = time.perf_counter(), cpu()
    run()
    runs.append({"seconds": time.perf_counter() - began, "cpu": cpu() - spent})
"""
_OUTKEY = """
from importlib.metadata import version
from outkey.hosts.cli.session import open_application
application = open_application()
from outkey.hosts.demo_records.models import Contact
runner = application.sync.runner()
for _ in range(2):
    timed(lambda: list(runner.run("contacts", "bench")))
count = Contact.objects.count()
print(json.dumps({"version": version("outkey"), "records": count, "runs": runs}))
"""
_DLT = """
import dlt
from dlt.sources.rest_api import rest_api_source
def source():
    return rest_api_source({
        "client": {
            "base_url": url,
            "auth": {"type": "bearer", "token": os.environ["SHOP_TOKEN"]},
            "paginator": {
                "type": "cursor", "cursor_path": "next", "cursor_param": "after"
            },
        },
        "resources": [{
            "name": "contacts",
            "primary_key": "id",
            "columns": {"credit": {"data_type": "decimal"}},
            "write_disposition": "append" if INTO == "files" else "merge",
            "endpoint": {
                "path": "records/contacts",
                "params": {"style": "cursor", "count": count, "per_page": size},
                "data_selector": "items",
            },
        }],
    })
place = {
    "sqlite": lambda: dlt.destinations.sqlalchemy(
        "sqlite:///" + os.path.abspath("dlt.db")
    ),
    "postgresql": lambda: dlt.destinations.postgres(os.environ["DATABASE_URL"]),
    "files": lambda: dlt.destinations.filesystem("file://" + os.path.abspath("files")),
}[INTO]()
pipeline = dlt.pipeline(
    "bench", destination=place, dataset_name="shop", pipelines_dir="work"
)
for _ in range(2):
    timed(lambda: pipeline.run(source()).raise_on_failed_jobs())
kept = pipeline.last_trace.last_normalize_info.row_counts["contacts"]
if INTO != "files":
    with pipeline.sql_client() as client:
        ((kept,),) = client.execute_sql("SELECT COUNT(*) FROM contacts")
print(json.dumps({"version": dlt.__version__, "records": kept, "runs": runs}))
"""


class Candidate(NamedTuple):
    """A program, and the place it writes to."""

    name: str
    place: str
    python: Path = PEER_PYTHON

    @property
    def is_ours(self) -> bool:
        return self.python is not PEER_PYTHON

    @property
    def program(self) -> str:
        if self.is_ours:
            return _CLOCK + _OUTKEY
        return f"{_CLOCK}\nINTO = {self.place.lower()!r}\n{_DLT}"


DATABASES = ("SQLite", "PostgreSQL")
OURS, TWICE, PEER = "outkey", "outkey once more", "dlt"
CANDIDATES = [
    candidate
    for place in DATABASES
    for candidate in (
        Candidate(OURS, place, Path(sys.executable)),
        Candidate(PEER, place),
        Candidate(TWICE, place, Path(sys.executable)),
    )
] + [Candidate(PEER, "files")]


def measured(
    candidate: Candidate, url: str, count: int, cluster: postgresql.Cluster
) -> dict[str, Any]:
    """Return what the program of a candidate prints."""
    settings = {"OUTKEY_DEMO": "1"}
    if candidate.place == "PostgreSQL":
        name = "OUTKEY_DATABASE_URL" if candidate.is_ours else "DATABASE_URL"
        settings[name] = cluster.new_database()
    document = LINE.format(url=url, count=count, size=SIZE)
    program = Program(
        label=label_of(candidate.name, candidate.place),
        python=candidate.python,
        source=candidate.program,
        timeout=PATIENCE,
        document=document if candidate.is_ours else "",
    )
    return program.measure(url, count, SIZE, settings)


def run(count: int, rounds: int, cluster: postgresql.Cluster) -> dict[str, Any]:
    rows: dict[str, dict[str, Any]] = {}
    with Spar() as spar:
        for number in range(rounds):
            for candidate in CANDIDATES:
                said = measured(candidate, spar.url, count, cluster)
                label = label_of(candidate.name, candidate.place)
                row = rows.setdefault(label, {"version": said["version"]})
                for when, figures in zip((FIRST, AGAIN), said["runs"], strict=True):
                    row[when] = min(
                        row.get(when, figures), figures, key=lambda f: f["seconds"]
                    )
                print(f"round {number + 1}, {label}", file=sys.stderr, flush=True)
    for row in rows.values():
        for when in (FIRST, AGAIN):
            row[when]["per second"] = count / row[when]["seconds"]
            row[when]["cpu µs"] = row[when]["cpu"] / count * 1e6
    return {"python": platform.python_version(), "records": count, "rows": rows}


def label_of(name: str, place: str) -> str:
    return f"{name}, {place}"


def show(found: dict[str, Any]) -> None:
    title = f"{found['records']} records in pages of {SIZE}: records/s, CPU µs a record"
    table = Table(title=title, box=SIMPLE_HEAD)
    for heading in ("", FIRST, "CPU", AGAIN, "CPU"):
        table.add_column(heading, justify="right" if heading else "left", no_wrap=True)
    for what, row in found["rows"].items():
        figures = [
            f"{row[w][f]:.0f}" for w in (FIRST, AGAIN) for f in ("per second", "cpu µs")
        ]
        table.add_row(f"{what} ({row['version']})", *figures)
    Console(width=100).print(table)


def speed(found: dict[str, Any], name: str, place: str, when: str) -> float:
    """Return records per second."""
    row = found["rows"][label_of(name, place)]
    return float(row[when]["per second"])


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--records", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args()
    if not PEER_PYTHON.exists():
        print("no .venv-bench (make .venv-bench/.ready)", file=sys.stderr)
        return 2
    try:
        with postgresql.running() as cluster:
            found = run(options.records, options.rounds, cluster)
    except postgresql.PostgresqlMissing:
        print("no PostgreSQL (Debian package postgresql)", file=sys.stderr)
        return 2
    show(found)
    noise: list[float] = []
    for place in DATABASES:
        twice = [speed(found, name, place, FIRST) for name in (OURS, TWICE)]
        noise.append(max(twice) / min(twice))
        print(f"A/A (outkey twice), {place}: {noise[-1]:.2f}")
    budgets = [
        Budget(
            f"records/s of dlt as a share of outkey's, {place}, {when}",
            speed(found, PEER, place, when) / speed(found, OURS, place, when),
            round(1 / times, 3),
        )
        for (place, when), times in TIMES_DLT.items()
    ]
    found["noise"] = noise
    return finish("sync", found, budgets, quiet=max(noise) <= NOISE)


if __name__ == "__main__":
    sys.exit(main())
