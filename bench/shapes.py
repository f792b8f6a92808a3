"""How fast other shapes than a list of JSON pages are pulled, beside dlt.

    parents   a list of parents, and ten pages of items for each of them
    windows   changes of a year: outkey asks week by week, dlt for all since a moment
    csv       one response of very many rows

Both pull the same records from a server in a process of its own (`shapes_server.py`)
with a bearer token, and merge them by their key into a SQLite database that is empty at
first. outkey runs `SyncRunner` as `outkey line run` does: each page is committed with
its checkpoint, and the audit has each request. dlt lives in .venv-bench and is used as
its documentation shows: `rest_api` with a resource for each parent and `incremental`;
for CSV, which `rest_api` does not read, a resource that yields the rows of Python's
`csv` in batches.

Memory is flat if a run over ten times as many records needs about as much: both runs
are made, and the greatest resident sizes compared.

Exit status: 0 every budget holds, 1 one is missed, 2 no dlt.
"""

import argparse
import platform
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from report import Budget, finish
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from shapes_server import ITEMS_OF_A_PAGE, PAGES_OF_A_PARENT

from programs import PEER_PYTHON, Program

SERVER = Path(__file__).parent / "shapes_server.py"
PATIENCE = 3600
TIMES_DLT = 2.0
MEMORY_GROWTH = 1.3  # from a tenth of the records to all of them
CONFIGURATION = """
[configuration.shop]
base_url = "{url}"
network = "internal"
authentication_type = "bearer"
token = "env:SHOP_TOKEN"
limits = {{ response_mebibytes = 100 }}
"""
PARENTS = """
[line.parents]
configuration = "shop"
direction = "pull"
path = "/parents"
target = "table:parents"
keys = ["id"]
pagination = { kind = "page", position_parameter = "page" }
fields = [
  { api = "id", host = "id", transform = "number" },
  { api = "name", host = "name", transform = "text" },
]
[line.items]
configuration = "shop"
direction = "pull"
path = "/parents/{parent.id}/items"
target = "table:items"
keys = ["parent_id", "sku"]
for_each = { line = "parents" }
pagination = { kind = "page", position_parameter = "page" }
fields = [
  { api = "$parent.id", host = "parent_id", transform = "number" },
  { api = "sku", host = "sku", transform = "text" },
  { api = "quantity", host = "quantity", transform = "number" },
  { api = "price", host = "price", transform = "decimal" },
]
"""
WINDOWS = """
[line.changes]
configuration = "shop"
direction = "pull"
path = "/changes"
target = "table:changes"
keys = ["id"]
pagination = { kind = "page", position_parameter = "page" }
incremental = { parameter = "since", field = "updated_at", end_parameter = "until", \
start = "2025-01-01T00:00:00Z", window = "7d" }
fields = [
  { api = "id", host = "id", transform = "number" },
  { api = "name", host = "name", transform = "text" },
  { api = "updated_at", host = "updated_at", transform = "datetime" },
]
"""
CSV = """
[line.rows]
configuration = "shop"
direction = "pull"
path = "/export.csv"
target = "table:rows"
keys = ["id"]
response = { format = "csv" }
fields = [
  { api = "id", host = "id", transform = "number" },
  { api = "name", host = "name", transform = "text" },
  { api = "credit", host = "credit", transform = "decimal" },
  { api = "updated_at", host = "updated_at", transform = "datetime" },
  { api = "country", host = "country", transform = "text" },
  { api = "note", host = "note", transform = "text" },
]
"""
# Each program prints the seconds of its run, its greatest resident size, and how many
# records there are.
_CLOCK = """
import json, os, resource, sys, time
url, count = sys.argv[1], int(sys.argv[2])
def measured(run):
    began = time.perf_counter()
    run()
    seconds = time.perf_counter() - began
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"seconds": seconds, "memory": memory}
"""
_OUTKEY = """
from outkey.hosts.cli.session import open_application
application = open_application()
runner = application.sync.runner()
def pull():
    for name in LINES:
        for run in runner.run(name, "bench"):
            pass
figures = measured(pull)
count = application.sync.ports().tables.count("table:" + LINES[-1])
print(json.dumps(figures | {"records": count}))
"""
_DLT = """
import csv, dlt
from dlt.sources.helpers import requests
from dlt.sources.rest_api import rest_api_source
pages = {"type": "page_number", "base_page": 1, "total_path": None}
client = {
    "base_url": url,
    "auth": {"type": "bearer", "token": os.environ["SHOP_TOKEN"]},
    "paginator": pages,
}
def parents():
    return rest_api_source({"client": client, "resources": [
        {
            "name": "parents",
            "primary_key": "id",
            "write_disposition": "merge",
            "endpoint": {"path": "parents"},
        },
        {
            "name": "items",
            "primary_key": ["_parents_id", "sku"],
            "write_disposition": "merge",
            "columns": {"price": {"data_type": "decimal"}},
            "include_from_parent": ["id"],
            "endpoint": {"path": "parents/{resources.parents.id}/items"},
        },
    ]})
def changes():
    return rest_api_source({"client": client, "resources": [{
        "name": "changes",
        "primary_key": "id",
        "write_disposition": "merge",
        "endpoint": {
            "path": "changes",
            "params": {"since": "{incremental.start_value}"},
            "incremental": {
                "cursor_path": "updated_at",
                "initial_value": "2025-01-01T00:00:00+00:00",
            },
        },
    }]})
def rows():
    @dlt.resource(
        primary_key="id",
        write_disposition="merge",
        columns={
            "id": {"data_type": "bigint"},
            "credit": {"data_type": "decimal"},
            "updated_at": {"data_type": "timestamp"},
        },
    )
    def rows():
        headers = {"Authorization": "Bearer " + os.environ["SHOP_TOKEN"]}
        response = requests.get(url + "/export.csv", headers=headers, stream=True)
        batch = []
        for row in csv.DictReader(response.iter_lines(decode_unicode=True)):
            batch.append(row)
            if len(batch) == 10_000:
                yield batch
                batch = []
        yield batch
    return rows()
SOURCES = {"items": parents, "changes": changes, "rows": rows}
pipeline = dlt.pipeline(
    "bench",
    destination=dlt.destinations.sqlalchemy("sqlite:///" + os.path.abspath("dlt.db")),
    dataset_name="shop",
    pipelines_dir="work",
)
figures = measured(
    lambda: pipeline.run(SOURCES[LINES[-1]]()).raise_on_failed_jobs()
)
with pipeline.sql_client() as client:
    ((kept,),) = client.execute_sql("SELECT COUNT(*) FROM " + LINES[-1])
print(json.dumps(figures | {"records": kept}))
"""


class Shape(NamedTuple):
    """A shape of API: the lines that pull it, and how many records they bring."""

    document: str
    lines: tuple[str, ...]
    records: int


class Sizes(NamedTuple):
    """How much there is to pull."""

    parents: int
    changes: int
    rows: int

    def shapes(self) -> dict[str, Shape]:
        items = self.parents * PAGES_OF_A_PARENT * ITEMS_OF_A_PAGE
        return {
            "parents": Shape(PARENTS, ("parents", "items"), items),
            "windows": Shape(WINDOWS, ("changes",), self.changes),
            "csv": Shape(CSV, ("rows",), self.rows),
        }

    def tenth(self) -> "Sizes":
        return Sizes(*(number // 10 for number in self))


@contextmanager
def server_running(sizes: Sizes) -> Iterator[str]:
    """Run the server of the shapes during the block; yield its URL."""
    arguments = [sys.executable, str(SERVER), *map(str, sizes)]
    pipe = subprocess.PIPE
    with subprocess.Popen(arguments, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        finally:
            process.stdin.close()


def measure(name: str, shape: Shape, url: str, *, is_ours: bool) -> dict[str, Any]:
    """Return what the program of outkey or dlt prints for a shape."""
    source = f"{_CLOCK}\nLINES = {shape.lines!r}\n{_OUTKEY if is_ours else _DLT}"
    program = Program(
        label=f"{'outkey' if is_ours else 'dlt'}, {name}",
        python=Path(sys.executable) if is_ours else PEER_PYTHON,
        source=source,
        timeout=PATIENCE,
        document=CONFIGURATION.format(url=url) + shape.document if is_ours else "",
    )
    return program.measure(url, shape.records, 0, {})


def run(sizes: Sizes, names: list[str]) -> dict[str, Any]:
    """Return the figures of each shape: outkey small and whole, and dlt."""
    found: dict[str, Any] = {"python": platform.python_version(), "shapes": {}}
    with server_running(sizes) as url, server_running(sizes.tenth()) as small_url:
        for name in names:
            shape = sizes.shapes()[name]
            small = sizes.tenth().shapes()[name]
            figures = {
                "records": shape.records,
                "a tenth": measure(name, small, small_url, is_ours=True),
                "outkey": measure(name, shape, url, is_ours=True),
                "dlt": measure(name, shape, url, is_ours=False),
            }
            found["shapes"][name] = figures
            print(f"{name}: {figures}", file=sys.stderr, flush=True)
    return found


def show(found: dict[str, Any]) -> None:
    """Print records a second and megabytes of each shape."""
    table = Table(title="records/s, and megabytes at most", box=SIMPLE_HEAD)
    for heading in ("", "records", "outkey", "dlt", "times", "MB", "MB a tenth", "dlt"):
        table.add_column(heading, justify="right" if heading else "left")
    for name, row in found["shapes"].items():
        speeds = [row["records"] / row[who]["seconds"] for who in ("outkey", "dlt")]
        memories = [row[who]["memory"] for who in ("outkey", "a tenth", "dlt")]
        table.add_row(
            name,
            f"{row['records']}",
            *(f"{speed:.0f}" for speed in speeds),
            f"{speeds[0] / speeds[1]:.2f}",
            *(f"{memory:.0f}" for memory in memories),
        )
    Console(width=100).print(table)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--parents", type=int, default=1_000)
    parser.add_argument("--changes", type=int, default=100_000)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--shape", action="append", help="only this one")
    options = parser.parse_args()
    if not PEER_PYTHON.exists():
        print("no .venv-bench (make .venv-bench/.ready)", file=sys.stderr)
        return 2
    sizes = Sizes(options.parents, options.changes, options.rows)
    found = run(sizes, options.shape or list(sizes.shapes()))
    show(found)
    budgets: list[Budget] = []
    for name, row in found["shapes"].items():
        share = row["outkey"]["seconds"] / row["dlt"]["seconds"]
        growth = row["outkey"]["memory"] / row["a tenth"]["memory"]
        budgets.append(Budget(f"time of dlt's, {name}", share, 1 / TIMES_DLT))
        budgets.append(
            Budget(f"memory, ten times the records, {name}", growth, MEMORY_GROWTH)
        )
    return finish("shapes", found, budgets)


if __name__ == "__main__":
    sys.exit(main())
