"""How long pages take: 10 000 configurations, 1 000 lines, a million records.

SQLite is filled with plain SQL, by copying rows that outkey itself has written. The
pages are requested through Django's test client, so that what is measured is ours and
not a network's. Opening a secret is counted: a list opens none.

A page is a row of `PAGES`: its name, its URLs, and how many milliseconds 95 of 100
requests may take at most. Then each is requested without the disk cache, which only
root may drop: where it cannot be dropped, this says so and has no such budgets.

Exit status: 0 every budget holds, 1 one is missed.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from report import Budget, finish

CONFIGURATIONS = 10_000
LINES = 1_000
RUNS_OF_A_LINE = 30
RECORDS = 1_000_000
TIMES = 40
COLD_TIMES = 20
COLD_LIMIT = 600.0  # milliseconds, of every page
DROP_CACHES = Path("/proc/sys/vm/drop_caches")
LIST = "/outkey/configuration/"
ACTIVITY = "/outkey/auditrecord/"
NUMBERS = (
    "WITH RECURSIVE numbers(n) AS"
    " (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {count})"
)
DOCUMENT = """
[configuration.c00000]
base_url = "https://api.c0.example"
authentication_type = "bearer"

[line.line0000]
configuration = "c00000"
method = "GET"
path = "/contacts"
direction = "pull"
target = "table:contacts"
schedule = "0 6 * * *"
records = "items"
keys = ["id"]
fields = [{ api = "id", host = "id" }]
"""


@dataclass(frozen=True)
class MeasuredPage:
    """A page, the URLs that are requested by turns, and its budget."""

    name: str
    urls: tuple[str, ...]
    limit: float  # milliseconds


PAGES = (
    MeasuredPage("home", (LIST + "home/",), 250.0),
    MeasuredPage(
        "list of configurations",
        (
            LIST,
            LIST + "?q=c0500",
            LIST + "?page=100",
            LIST + "?status=needs_secret",
            LIST + "?status=attention&sort=-tested",
            LIST + "?sort=status",
            LIST + "?sort=-environment&page=50",
        ),
        200.0,
    ),
    MeasuredPage("list of lines", ("/outkey/syncline/",), 200.0),
    MeasuredPage("list of runs", ("/outkey/run/",), 200.0),
    MeasuredPage(
        "search",
        (
            LIST + "search/?part=1&q=c0500",
            LIST + "search/?part=1&q=example",
            LIST + "search/?part=1&q=nothing+like+this",
            LIST + "search/?part=1&q=%2312",
        ),
        100.0,
    ),
    MeasuredPage(
        "activity, changes",
        (
            ACTIVITY,
            ACTIVITY + "?configuration=c00010",
            ACTIVITY + "?actor=web:user20",
            ACTIVITY + "?period=day",
            ACTIVITY + "?configuration=c00010&period=month",
            ACTIVITY + "?tab=sign-ins",
            ACTIVITY + "?tab=sign-ins&actor=web:user21",
        ),
        200.0,
    ),
    MeasuredPage(
        "activity, requests",
        (
            ACTIVITY + "?tab=requests",
            ACTIVITY + "?tab=requests&configuration=c00011",
            ACTIVITY + "?tab=requests&outcome=ok",
            ACTIVITY + "?tab=requests&outcome=failure",
            ACTIVITY + "?tab=requests&period=hour",
            ACTIVITY + "?tab=requests&outcome=failure&configuration=c00011",
        ),
        200.0,
    ),
)


def sign_in() -> tuple[Any, Any]:
    """Return a client where an administrator is signed in, and the installation."""
    from outkey.hosts.server.home import PAGES as SETTINGS
    from outkey.hosts.server.home import prepare

    prepare(SETTINGS)
    from django.contrib.auth.models import User
    from django.test import Client

    from outkey.hosts.django.pages.access import installation

    client = Client(SERVER_NAME="127.0.0.1")
    boss = User.objects.create_superuser("bench")
    client.force_login(boss, backend="django.contrib.auth.backends.ModelBackend")
    return client, installation()


def fill(application: Any, records: int) -> None:  # noqa: ANN401 - an Application
    """Fill the tables: one row of each kind by outkey itself, the others as copies."""
    from django.db import connection

    from outkey.administration.core.document.document import parse_document
    from outkey.foundation.core.secret import Secret
    from outkey.sending.core.audit.events import Intent, Outcome

    administration = application.administration("bench")
    application.apply(administration, parse_document(DOCUMENT), dry_run=False)
    administration.set_secret("c00000", "token", Secret("not-a-real-token"))
    names = ("Host", "User-Agent", "Accept", "Accept-Encoding", "Authorization")
    intent = Intent(
        "c00000", "", "bearer", "GET", "https://api.c0.example", "/contacts", names, 0
    )
    (attempt,) = application.audit.intend_all([intent])
    application.audit.conclude(Outcome(attempt, "c00000", 200, "ok", 12))
    application.audit.flush()
    counts = json.dumps({"created": 7, "updated": 3, "unchanged": 90, "failed": 1})
    now = time.time()
    with connection.cursor() as cursor:
        copy_rows(
            cursor,
            "outkey_configuration",
            CONFIGURATIONS - 1,
            {
                "id": "lower(hex(randomblob(16)))",
                "name": "printf('c%05d', n)",
                "base_url": "printf('https://api.c%d.example', n)",
                "environment": "CASE n % 3 WHEN 0 THEN 'test' ELSE 'production' END",
                "tested_revision": "CASE n % 5 WHEN 0 THEN NULL ELSE revision END",
                "tested_at": f"{now} - n * 60",
                "verified_at": f"{now} - n * 60",
                "cause": "CASE n % 7 WHEN 0 THEN 'timeout' ELSE '' END",
                "needs_secret": "n % 11 = 0",
            },
        )
        cursor.execute(
            "INSERT INTO outkey_secretvalue (configuration_id, field, set_by, version,"
            " label, origin, reference, sealed, key_id, set_at)"
            " SELECT configuration.id, field, set_by, secret.version, label, origin,"
            " reference, sealed, key_id, set_at FROM outkey_configuration configuration"
            " JOIN outkey_secretvalue secret"
            " WHERE configuration.name <> 'c00000' AND field = 'token'"
        )
        copy_rows(
            cursor,
            "outkey_syncline",
            LINES - 1,
            {"id": "source.id + n", "name": "printf('line%04d', n)"},
        )
        cursor.execute(
            NUMBERS.format(count=RUNS_OF_A_LINE)
            + " INSERT INTO outkey_run (line_id, digest, actor, state, dry_run,"
            " checkpoint, counts, pages, started_at, ended_at, cause, generation,"
            " until, attempt, is_received)"
            " SELECT line.id, '', 'bench', CASE WHEN (line.id + n) % 9"
            " = 0 THEN 'failed' ELSE 'done' END, 0, '{}', %s, 2, %s + n * 86400,"
            " %s + n * 86400 + 4, '', 1, 0, 1, 0"
            " FROM numbers JOIN outkey_syncline line",
            [counts, now - 31 * 86_400, now - 31 * 86_400],
        )
        fill_audit(cursor, records, attempt, now)
        cursor.execute("ANALYZE")


def fill_audit(cursor: Any, records: int, attempt: str, now: float) -> None:  # noqa: ANN401 - a cursor
    """Of 20 records one is a change, one a sign-in, the others requests in pairs."""
    cursor.execute(
        NUMBERS.format(count=records)
        + """
        INSERT INTO outkey_auditrecord
        (stream_id, number, at, configuration, outcome, kind, actor, mac, body)
        SELECT stream_id, 1000 + n, %s + n * 864,
            CASE kind WHEN 'sign-in' THEN '' ELSE printf('c%%05d', n / 2 %% 10000) END,
            iif(outcome <> '' AND n %% 100 = 51, 'timeout', outcome),
            kind,
            CASE WHEN kind IS NULL THEN '' ELSE printf('web:user%%02d', n %% 50) END,
            mac,
            CAST(replace(replace(replace(replace(CAST(body AS TEXT),
                '"outcome":"ok"',
                iif(n %% 100 = 51, '"outcome":"timeout"', '"outcome":"ok"')),
                %s, printf('%%032x', n / 2)),
                '"c00000"', printf('"c%%05d"', n / 2 %% 10000)),
                '"at":', printf('"at":%%d,"was":', %s + n * 864)) AS BLOB)
        FROM numbers JOIN
            (SELECT rank() OVER (ORDER BY id) AS place, * FROM outkey_auditrecord
            WHERE id IN (SELECT max(id) FROM outkey_auditrecord
                GROUP BY kind, outcome)) source
            ON place = CASE n %% 20 WHEN 0 THEN 1 WHEN 1 THEN 2 ELSE 3 + n %% 2 END
        ORDER BY n
        """,
        [began := int(now * 1000) - records * 864, attempt, began],
    )


def copy_rows(cursor: Any, table: str, count: int, changed: dict[str, str]) -> None:  # noqa: ANN401 - a cursor
    """Copy the last row of a table many times, with other values in some columns."""
    cursor.execute(f"SELECT * FROM {table} LIMIT 0")
    columns = [column[0] for column in cursor.description]
    values = [changed.get(column, f"source.{column}") for column in columns]
    cursor.execute(
        NUMBERS.format(count=count)
        + f" INSERT INTO {table} ({', '.join(columns)}) SELECT {', '.join(values)}"
        f" FROM numbers JOIN (SELECT * FROM {table} ORDER BY rowid DESC LIMIT 1) source"
    )


def milliseconds(client: Any, page: MeasuredPage) -> list[float]:  # noqa: ANN401 - a test client
    """Return how long the requests took, sorted."""
    numbers = range(-len(page.urls), TIMES)
    times = [request_page(client, page, number) for number in numbers]
    return sorted(times[-TIMES:])  # the first ones filled caches


def cold_milliseconds(client: Any, page: MeasuredPage) -> list[float]:  # noqa: ANN401 - a test client
    """Return how long requests took that read everything from the disk, sorted."""
    times = []
    for number in range(COLD_TIMES):
        drop_disk_cache()
        times.append(request_page(client, page, number))
    return sorted(times)


def request_page(client: Any, page: MeasuredPage, number: int) -> float:  # noqa: ANN401 - a test client
    """Request one of a page's URLs, and return how many milliseconds that took."""
    started = time.perf_counter()
    response = client.get(page.urls[number % len(page.urls)])
    duration = (time.perf_counter() - started) * 1000
    if response.status_code != 200:
        raise RuntimeError(f"{page.name} responded {response.status_code}")
    return duration


def drop_disk_cache() -> None:
    """Empty the caches of files: the system's, and that of the connection to SQLite."""
    from django.db import connection

    connection.close()
    os.sync()
    DROP_CACHES.write_text("3", encoding="ascii")


def p95(times: list[float]) -> float:
    return times[int(len(times) * 0.95) - 1]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="50 000 records")
    parser.add_argument("--only", help="the pages whose name has this text")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["OUTKEY_HOME"] = str(Path(folder, "home"))
        client, application = sign_in()
        fill(application, 50_000 if arguments.quick else RECORDS)
        opened = []
        original = application.secrets.open

        def count_and_open(_: object, *what: Any) -> Any:  # noqa: ANN401
            opened.append(what)
            return original(*what)

        type(application.secrets).open = count_and_open
        figures: dict[str, Any] = {}
        budgets = []
        for page in PAGES:
            if arguments.only and arguments.only not in page.name:
                continue
            warm = milliseconds(client, page)
            figures[page.name] = {"p50": warm[TIMES // 2], "p95": p95(warm)}
            budgets.append(Budget(f"{page.name}, p95 ms", p95(warm), page.limit))
            if os.access(DROP_CACHES, os.W_OK):
                cold = p95(cold_milliseconds(client, page))
                figures[page.name]["without cache, p95"] = cold
                what = f"{page.name} without the disk cache, p95 ms"
                budgets.append(Budget(what, cold, COLD_LIMIT))
        budgets.append(Budget("secrets opened", len(opened), 0))
    if not os.access(DROP_CACHES, os.W_OK):
        print("not measured without the disk cache: only root may drop it")
    for name, figure in figures.items():
        print(f"{name}: p50 {figure['p50']:.0f} ms, p95 {figure['p95']:.0f} ms")
    return finish("pages", {"pages": figures}, budgets)


if __name__ == "__main__":
    sys.exit(main())
