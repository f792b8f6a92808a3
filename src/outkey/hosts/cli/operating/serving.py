"""The commands that run until they are stopped: the pages, and a worker."""

import sys
from time import time
from typing import Annotated

import typer

from outkey.hosts.cli.printing.output import print_line
from outkey.hosts.cli.printing.run_texts import run_text
from outkey.hosts.cli.printing.times import time_text
from outkey.hosts.cli.session import current_host


def serve(
    *,
    host: Annotated[
        str, typer.Option(help="The IP address to listen on.", metavar="ADDRESS")
    ] = "127.0.0.1",
    port: Annotated[
        int,
        typer.Option(min=1, max=65535, metavar="PORT", help="The port to listen on."),
    ] = 8765,
    demo: Annotated[
        bool, typer.Option("--demo", help="Add samples to try, with their own API.")
    ] = False,
) -> None:
    """Serve the pages, and do the background work.

    The pages have configurations, tests, sync lines, webhooks, audit and keys. The
    background work is monitoring and, on SQLite, runs of sync lines.
    """
    current_host().serve(host, port, demo=demo)


def run_worker(
    *,
    runs: Annotated[
        int,
        typer.Option(
            min=1, max=64, metavar="NUMBER", help="How many runs at the same time."
        ),
    ] = 4,
) -> None:
    """Run queued and scheduled sync lines on PostgreSQL.

    Many machines can share one database. On SQLite `outkey serve` does this work.
    """
    current_host().run_worker(runs, log, lambda run: log(run_text(run)))


def log(text: str) -> None:
    """Print a line with the time, at once."""
    print_line(f"{time_text(time())}  {text}")
    sys.stdout.flush()
