"""How fast records are synchronized: a line of outkey beside dlt's `rest_api` source.

Both pull the same contacts from the sparring provider, page by page with a bearer
token, and merge them by their key into a SQLite file that is empty at first; then once
more, when nothing has changed. outkey runs `SyncRunner` as `outkey line run` does,
audit included. dlt lives in .venv-bench and is used as its documentation shows; beside
SQLite it also writes JSON files, its quickest destination here, which only appends.
Both keep all six fields, the credit as a decimal and `updated_at` as a date or moment;
outkey also checks lengths, choices and addresses.

Every run is a process of its own, in turns;
the quickest of each counts, without its imports.

Exit status: 0 every budget holds, 1 one is missed, 2 no dlt.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from report import Budget, finish
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from outkey.spar import Spar
from outkey.spar.records_api import TOKEN

PEER_PYTHON = Path(__file__).parent.parent / ".venv-bench" / "bin" / "python"
SIZE, ROUNDS, PATIENCE = 100, 3, 600
TIMES_DLT = 1.5  # records per second, into SQLite
FIRST, AGAIN = "new records", "the same again"

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
runner = application.sync_runner()
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
            "write_disposition": "merge" if INTO == "sqlite" else "append",
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
    "files": lambda: dlt.destinations.filesystem("file://" + os.path.abspath("files")),
}[INTO]()
pipeline = dlt.pipeline(
    "bench", destination=place, dataset_name="shop", pipelines_dir="work"
)
for _ in range(2):
    timed(lambda: pipeline.run(source()).raise_on_failed_jobs())
kept = pipeline.last_trace.last_normalize_info.row_counts["contacts"]
if INTO == "sqlite":
    with pipeline.sql_client() as client:
        ((kept,),) = client.execute_sql("SELECT COUNT(*) FROM contacts")
print(json.dumps({"version": dlt.__version__, "records": kept, "runs": runs}))
"""
OURS, PEER, FILES = "outkey into SQLite", "dlt into SQLite", "dlt into files"
PROGRAMS = {
    OURS: (Path(sys.executable), _CLOCK + _OUTKEY),
    PEER: (PEER_PYTHON, f'{_CLOCK}\nINTO = "sqlite"\n{_DLT}'),
    FILES: (PEER_PYTHON, f'{_CLOCK}\nINTO = "files"\n{_DLT}'),
}


def measured(what: str, url: str, count: int) -> dict[str, Any]:
    """Run one of the programs in a folder of its own, and return what it says."""
    python, program = PROGRAMS[what]
    with tempfile.TemporaryDirectory() as folder:
        # Clean: no proxy, no netrc, no configuration files.
        settings = {
            "PATH": os.environ["PATH"],
            "HOME": folder,
            "OUTKEY_HOME": f"{folder}/home",
            "OUTKEY_DEMO": "1",
            "SHOP_TOKEN": TOKEN,
            "RUNTIME__DLTHUB_TELEMETRY": "false",
            "RUNTIME__LOG_LEVEL": "ERROR",
        }

        def run(*arguments: str, stdin: str = "") -> str:
            done = subprocess.run(
                [python, *arguments],
                input=stdin,
                capture_output=True,
                text=True,
                timeout=PATIENCE,
                check=False,
                env=settings,
                cwd=folder,
            )
            if done.returncode:
                raise RuntimeError(f"{what} failed:\n{done.stderr[-2000:]}")
            return done.stdout

        if what == OURS:
            line = LINE.format(url=url, count=count, size=SIZE)
            run("-m", "outkey.hosts.cli.main", "apply", "-", stdin=line)
        said: dict[str, Any] = json.loads(
            run("-c", program, url, str(count), str(SIZE))
        )
    if said["records"] != count:
        raise RuntimeError(f"{what} has {said['records']} records instead of {count}")
    return said


def run(count: int) -> dict[str, Any]:
    rows: dict[str, dict[str, Any]] = {}
    with Spar() as spar:
        for number in range(ROUNDS):
            for what in PROGRAMS:
                said = measured(what, spar.url, count)
                row = rows.setdefault(what, {"version": said["version"]})
                for when, figures in zip((FIRST, AGAIN), said["runs"], strict=True):
                    row[when] = min(
                        row.get(when, figures), figures, key=lambda f: f["seconds"]
                    )
                print(f"round {number + 1}, {what}", file=sys.stderr, flush=True)
    for row in rows.values():
        for when in (FIRST, AGAIN):
            row[when]["per second"] = count / row[when]["seconds"]
            row[when]["cpu µs"] = row[when]["cpu"] / count * 1e6
    return {"python": platform.python_version(), "records": count, "rows": rows}


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
    Console().print(table)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--records", type=int, default=20_000)
    count = parser.parse_args().records
    if not PEER_PYTHON.exists():
        print("no .venv-bench (make .venv-bench/.ready)", file=sys.stderr)
        return 2
    found = run(count)
    show(found)
    ours, theirs = found["rows"][OURS], found["rows"][PEER]
    budgets = [
        Budget(
            f"records/s of dlt as a share of outkey's, {when}",
            theirs[when]["per second"] / ours[when]["per second"],
            round(1 / TIMES_DLT, 3),
        )
        for when in (FIRST, AGAIN)
    ]
    return finish("sync", found, budgets)


if __name__ == "__main__":
    sys.exit(main())
