"""How long the pages take.

The list has 10 000 configurations, the audit a million records.

The pages are asked through Django's test client, so that what is measured is ours and
not a network's. Opening a secret is counted: a list opens none.

Exit status: 0 every budget holds, 1 one is missed.
"""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from audit import fill
from report import Budget, finish

CONFIGURATIONS, RECORDS, TIMES = 10_000, 1_000_000, 40
LIST_MS, AUDIT_MS = 200.0, 300.0


def client() -> tuple[Any, Any]:
    """Return a client where an administrator is logged in, and the installation."""
    from outkey.hosts.server.home import PAGES, prepare

    prepare(PAGES)
    from django.contrib.auth.models import User
    from django.test import Client

    from outkey.hosts.django.pages.access import installation

    made = Client(SERVER_NAME="127.0.0.1")
    boss = User.objects.create_superuser("bench")
    made.force_login(boss, backend="django.contrib.auth.backends.ModelBackend")
    return made, installation()


def configurations(application: Any) -> None:  # noqa: ANN401 - an Application
    from outkey.core.config.document import parse_document
    from outkey.core.secret import Secret
    from outkey.engine.managing.changes import Administration

    administration = Administration(
        application.registry, application.secrets, application.audit, "bench"
    )
    text = "\n".join(
        f"[configuration.c{number:05}]\nbase_url = 'https://api.c{number}.example'\n"
        f"authentication_type = 'bearer'\ntoken = 'env:TOKEN_{number}'"
        for number in range(CONFIGURATIONS)
    )
    application.apply(administration, parse_document(text), dry_run=False)
    for number in range(100):
        administration.set_secret(f"c{number:05}", "token", Secret("x"))


def percentile(asked: Any, addresses: list[str]) -> float:  # noqa: ANN401 - a test client
    """Return the 95th percentile of the milliseconds that these pages take."""
    taken = []
    for number in range(TIMES):
        started = time.perf_counter()
        response = asked.get(addresses[number % len(addresses)])
        taken.append((time.perf_counter() - started) * 1000)
        if response.status_code != 200:
            raise RuntimeError(f"the page answered {response.status_code}")
    return sorted(taken)[int(TIMES * 0.95) - 1]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="50 000 records")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["OUTKEY_HOME"] = str(Path(folder, "home"))
        asked, application = client()
        configurations(application)
        fill(application, 50_000 if arguments.quick else RECORDS)
        opened = []
        original = application.secrets.open

        def count_and_open(_: object, *what: Any) -> Any:  # noqa: ANN401
            opened.append(what)
            return original(*what)

        type(application.secrets).open = count_and_open
        place = "/outkey/configuration/"
        lists = [
            place,
            place + "?q=c0500",
            place + "?after=c05000",
            place + "?status=needs_secret",
        ]
        found = {
            "list, ms": percentile(asked, lists),
            "opened by lists": len(opened),
            "home, ms": percentile(asked, [place + "home/"]),
            "audit, ms": percentile(
                asked,
                ["/outkey/auditrecord/", "/outkey/auditrecord/?configuration=acme"],
            ),
        }
    budgets = [
        Budget("list of 10 000 configurations, p95 ms", found["list, ms"], LIST_MS),
        Budget("secrets opened by lists", found["opened by lists"], 0),
        Budget("audit of a million records, p95 ms", found["audit, ms"], AUDIT_MS),
        Budget("home with all of it, p95 ms", found["home, ms"], 1000.0),
    ]
    return finish("pages", found, budgets)


if __name__ == "__main__":
    sys.exit(main())
