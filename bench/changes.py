"""What recording the changes of a table costs a pull: the same line with and without.

Each fills a table with contacts of the sparring provider, in pages of 1000. Two more
runs follow, of which the second changes each row. With `feed` every change is recorded
in the transaction of its row: 2 changes for each record.

Pairs of runs follow each other, so that both see the same machine; the fastest of each
kind count.

Exit status: 0 every budget holds, 1 one is missed, 2 no PostgreSQL.
"""

import argparse
import sys
from pathlib import Path

import postgresql
from report import Budget, finish

from outkey.spar import Spar
from programs import Program

SIZE, PATIENCE = 1000, 3600
TIMES_WITHOUT = 1.5
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
target = "table:contacts"
keys = ["id"]
feed = {feed}
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
# Prints the seconds of each run: all rows are new, the same, and changed.
PROGRAM = """
import json, sys, time
from dataclasses import replace
from outkey.hosts.cli.session import open_application
url, count, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
application = open_application()
runner = application.sync.runner()
seconds = {}
for name in ("new", "same", "changed"):
    if name == "changed":
        line = application.registry.line("contacts")
        rows = [
            replace(row, api="mail") if row.host == "name" else row
            for row in line.sync.mappings
        ]
        sync = replace(line.sync, mappings=tuple(rows))
        application.registry.put_line(replace(line, sync=sync))
    began = time.perf_counter()
    for run in runner.run("contacts", "bench"):
        pass
    seconds[name] = time.perf_counter() - began
print(json.dumps({"seconds": seconds, "records": count}))
"""


def measured(
    url: str, count: int, cluster: postgresql.Cluster | None, *, feed: bool
) -> dict[str, float]:
    """Return the seconds of each run."""
    settings = {}
    if cluster is not None:
        settings["OUTKEY_DATABASE_URL"] = cluster.new_database()
    document = LINE.format(url=url, count=count, size=SIZE, feed=str(feed).lower())
    program = Program(
        label="outkey",
        python=Path(sys.executable),
        source=PROGRAM,
        timeout=PATIENCE,
        document=document,
    )
    seconds: dict[str, float] = program.measure(url, count, SIZE, settings)["seconds"]
    return seconds


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--records", type=int, default=20_000)
    parser.add_argument("--pairs", type=int, default=3)
    options = parser.parse_args()
    found: dict[str, dict[str, list[float]]] = {}
    try:
        with postgresql.running() as cluster, Spar() as spar:
            for name, place in (("SQLite", None), ("PostgreSQL", cluster)):
                pairs = [
                    [
                        measured(spar.url, options.records, place, feed=feed)
                        for feed in (False, True)
                    ]
                    for _ in range(options.pairs)
                ]
                found[name] = {
                    run: [min(pair[kind][run] for pair in pairs) for kind in (0, 1)]
                    for run in ("new", "same", "changed")
                }
                print(name, found[name], file=sys.stderr, flush=True)
    except postgresql.PostgresqlMissing:
        print("no PostgreSQL (Debian package postgresql)", file=sys.stderr)
        return 2
    budgets = [
        Budget(
            f"a run with feed beside one without, {name}, rows {run}",
            after / before,
            TIMES_WITHOUT,
        )
        for name, of_place in found.items()
        for run, (before, after) in of_place.items()
    ]
    return finish("changes", {"records": options.records, "seconds": found}, budgets)


if __name__ == "__main__":
    sys.exit(main())
