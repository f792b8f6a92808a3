"""How fast a pull fills a table of PostgreSQL: outkey beside dlt and a bare COPY.

All read the same contacts from the sparring provider, in pages of 1000 with a bearer
token. outkey writes `table:contacts` in its own database and `table:warehouse.contacts`
in another one, and compares keys, marks and checkpoints as always. dlt merges by key.
The bare COPY requests the pages by urllib and writes them without a look: what the
machine can do at the best.

Each is a process of its own, without its imports. Memory is the greatest resident size
of the process, which is measured for a tenth of the records too: flat is a quotient
near 1.

Exit status: 0 every budget holds, 1 one is missed, 2 no dlt or no PostgreSQL.
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

SIZE, PATIENCE = 1000, 3600
TIMES_DLT = 2.0
MEMORY_QUOTIENT = 1.3
LINE = """
[database.warehouse]
url = "env:WAREHOUSE_URL"
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
target = "{target}"
keys = ["id"]
max_records = 10000000
pagination = {{ kind = "cursor", size = {size}, size_parameter = "per_page", \
position_parameter = "after", cursor = "next" }}
fields = [
  {{ api = "id", host = "id", transform = "text" }},
  {{ api = "full_name", host = "name", transform = "text" }},
  {{ api = "mail", host = "email", transform = "text" }},
  {{ api = "type", host = "kind", transform = "text" }},
  {{ api = "credit", host = "credit", transform = "decimal" }},
  {{ api = "updated_at", host = "updated_at", transform = "datetime" }},
]
"""
# Each program prints its seconds, its memory in MiB, and how many records there are.
_CLOCK = """
import json, os, resource, sys, time
url, count, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
def finish(began, records):
    seconds = time.perf_counter() - began
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": seconds, "memory": memory, "records": records}))
"""
_OUTKEY = """
from outkey.hosts.cli.session import open_application
application = open_application()
runner = application.sync.runner()
began = time.perf_counter()
for run in runner.run("contacts", "bench"):
    pass
finish(began, run.counts.created)
"""
_COPY = """
import psycopg
from urllib.request import Request, urlopen
names = ("id", "full_name", "mail", "type", "credit", "updated_at")
with psycopg.connect(os.environ["WAREHOUSE_URL"]) as connection:
    connection.execute(
        "CREATE TABLE contacts (id text UNIQUE, full_name text, mail text, type text,"
        " credit numeric, updated_at timestamptz)"
    )
    began = time.perf_counter()
    after = ""
    while True:
        query = f"style=cursor&count={count}&per_page={size}"
        query += f"&after={after}" if after else ""
        request = Request(f"{url}/records/contacts?{query}")
        request.add_header("Authorization", "Bearer " + os.environ["SHOP_TOKEN"])
        with urlopen(request) as response:
            page = json.load(response)
        with connection.cursor().copy("COPY contacts FROM STDIN") as copy:
            for item in page["items"]:
                copy.write_row([item.get(name) for name in names])
        connection.commit()
        after = page.get("next")
        if not after:
            break
    (records,) = connection.execute("SELECT count(*) FROM contacts").fetchone()
    finish(began, records)
"""
_DLT = """
import dlt
from dlt.sources.rest_api import rest_api_source
source = rest_api_source({
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
        "write_disposition": "merge",
        "endpoint": {
            "path": "records/contacts",
            "params": {"style": "cursor", "count": count, "per_page": size},
            "data_selector": "items",
        },
    }],
})
place = dlt.destinations.postgres(os.environ["WAREHOUSE_URL"])
pipeline = dlt.pipeline(
    "bench", destination=place, dataset_name="shop", pipelines_dir="work"
)
began = time.perf_counter()
pipeline.run(source).raise_on_failed_jobs()
with pipeline.sql_client() as client:
    ((records,),) = client.execute_sql("SELECT COUNT(*) FROM contacts")
finish(began, records)
"""


class Candidate(NamedTuple):
    """A program, and the table that a line of outkey writes."""

    name: str
    program: str
    python: Path = Path(sys.executable)
    target: str = ""


OWN, OTHER, PEER, COPY = (
    "outkey, own database",
    "outkey, another database",
    "dlt",
    "bare COPY",
)
CANDIDATES = (
    Candidate(OWN, _CLOCK + _OUTKEY, target="table:contacts"),
    Candidate(OTHER, _CLOCK + _OUTKEY, target="table:warehouse.contacts"),
    Candidate(PEER, _CLOCK + _DLT, PEER_PYTHON),
    Candidate(COPY, _CLOCK + _COPY),
)


def measured(
    candidate: Candidate, url: str, count: int, cluster: postgresql.Cluster
) -> dict[str, float]:
    """Return what the program of a candidate prints, and its records per second."""
    settings = {"WAREHOUSE_URL": cluster.new_database()}
    if candidate.name == OWN:
        settings["OUTKEY_DATABASE_URL"] = settings["WAREHOUSE_URL"]
    target = candidate.target
    document = LINE.format(url=url, count=count, size=SIZE, target=target)
    program = Program(
        label=candidate.name,
        python=candidate.python,
        source=candidate.program,
        timeout=PATIENCE,
        document=document if target else "",
    )
    figures = program.measure(url, count, SIZE, settings)
    return figures | {"per second": count / figures["seconds"]}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--records", type=int, default=100_000)
    options = parser.parse_args()
    candidates = [c for c in CANDIDATES if c.python.exists()]
    rows: dict[str, dict[str, float]] = {}
    try:
        with postgresql.running() as cluster, Spar() as spar:
            for candidate in candidates:
                few = measured(candidate, spar.url, options.records // 10, cluster)
                row = measured(candidate, spar.url, options.records, cluster)
                row["memory quotient"] = row["memory"] / few["memory"]
                rows[candidate.name] = row
                print(f"measured {candidate.name}", file=sys.stderr, flush=True)
    except postgresql.PostgresqlMissing:
        print("no PostgreSQL (Debian package postgresql)", file=sys.stderr)
        return 2
    show(rows, options.records)
    found: dict[str, Any] = {
        "python": platform.python_version(),
        "records": options.records,
        "rows": rows,
    }
    if PEER not in rows:
        print("no .venv-bench (make .venv-bench/.ready)", file=sys.stderr)
        return 2
    budgets = [
        Budget(
            f"records/s of dlt as a share of those of {name}",
            rows[PEER]["per second"] / rows[name]["per second"],
            1 / TIMES_DLT,
        )
        for name in (OWN, OTHER)
    ]
    budgets += [
        Budget(
            f"memory of {name} beside that of a tenth of the records",
            rows[name]["memory quotient"],
            MEMORY_QUOTIENT,
        )
        for name in (OWN, OTHER)
    ]
    return finish("tables", found, budgets, quiet=True)


def show(rows: dict[str, dict[str, float]], count: int) -> None:
    table = Table(title=f"{count} records in pages of {SIZE}", box=SIMPLE_HEAD)
    for heading in ("", "records/s", "MiB", "beside a tenth"):
        table.add_column(heading, justify="right" if heading else "left")
    for name, row in rows.items():
        table.add_row(
            name,
            f"{row['per second']:.0f}",
            f"{row['memory']:.0f}",
            f"{row['memory quotient']:.2f}",
        )
    Console(width=100).print(table)


if __name__ == "__main__":
    sys.exit(main())
