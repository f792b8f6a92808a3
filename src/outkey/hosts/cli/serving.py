"""The commands that run until they are stopped: the pages, and a worker."""

import sys
from time import time
from typing import Annotated

import typer

from outkey.core.moments import moment_text
from outkey.hosts.cli.output import print_line
from outkey.hosts.cli.run_texts import run_text
from outkey.hosts.cli.session import current_host


def serve(
    *,
    host: Annotated[str, typer.Option(help="the address to listen on")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, metavar="<1 to 65535>")] = 8765,
    demo: Annotated[
        bool, typer.Option("--demo", help="with samples and their models to try")
    ] = False,
) -> None:
    """Serve the pages: settings, tests, audit and keys in a browser."""
    current_host().serve(host, port, demo=demo)


def run_worker(
    *,
    runs: Annotated[
        int,
        typer.Option(
            min=1, max=64, metavar="<1 to 64>", help="how many runs at the same time"
        ),
    ] = 4,
) -> None:
    """Run queued and scheduled sync lines; many machines can share one PostgreSQL."""
    current_host().run_worker(runs, log, lambda run: log(run_text(run)))


def log(text: str) -> None:
    """Print a line with the time, at once."""
    print_line(f"{moment_text(time())}  {text}")
    sys.stdout.flush()
