"""A Django project whose management command works on a requested run until it is done.

Its home is the argument, its configuration is read from the standard input.
"""

import os
import signal
import sys
import threading
import time
from pathlib import Path

import django
from django.conf import settings

from outkey.hosts.server.settings import database

PATIENCE = 30.0
home = Path(sys.argv[1])
settings.configure(
    USE_TZ=True,
    SECRET_KEY="x",
    DATABASES={"default": database(None, home)},
    INSTALLED_APPS=[
        "django.contrib.auth",
        "django.contrib.contenttypes",
        "outkey.hosts.django",
        "outkey.hosts.demo_records",
    ],
    OUTKEY={"HOME": home, "RECORDS": {"demo.Contact": {"active": False}}},
)
django.setup()

from django.core.management import call_command

from outkey.administration.core.document.document import parse_document
from outkey.hosts.django.pages.access import installation


def main() -> None:
    call_command("migrate", verbosity=0)
    application = installation()
    document = parse_document(sys.stdin.read())
    application.apply(application.administration("t"), document, dry_run=False)
    requested = application.runs.request("contacts", "t")

    def stop_when_done() -> None:
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            if application.runs.get(requested.id).state == "done":
                break
            time.sleep(0.1)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=stop_when_done, daemon=True).start()
    call_command("outkey_worker", runs=2)
    run = application.runs.get(requested.id)
    print(run.state, run.counts.created)


main()
