"""`manage.py outkey_worker`: the work on sync lines in a Django project of your own."""

import signal
import sys
import threading
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from outkey.core.errors import OutkeyError, Sealed
from outkey.core.sync.run import Run
from outkey.hosts.cli.output import exit_code_of, print_error
from outkey.hosts.django.local_workers import LocalWorkers
from outkey.hosts.django.pages.access import installation
from outkey.hosts.django.runs import has_queue


class Command(BaseCommand):
    """Work off runs, by procrastinate where the project has it, else by looking every second."""

    help = "Work off the runs of sync lines, until SIGINT or SIGTERM."

    def run_from_argv(self, argv: list[str]) -> None:
        """Report an error as `manage.py outkey` does, with the same exit code."""
        try:
            super().run_from_argv(argv)
        except OutkeyError as error:
            print_error(error, as_json=False)
            sys.exit(exit_code_of(error))

    def add_arguments(self, parser: CommandParser) -> None:
        """Take the number of runs."""
        parser.add_argument(
            "--runs", type=int, default=4, help="how many at the same time"
        )

    def handle(self, *_args: object, **options: Any) -> None:  # noqa: ANN401 - Django's own
        """Work until told to stop."""
        here, at_once = installation(), max(1, options["runs"])
        if here.keys.is_sealed():
            raise Sealed
        if has_queue():
            from outkey.hosts.django.worker import Worker

            Worker(here, at_once, self.stdout.write, self._tell).run()
            return
        ended, crew = threading.Event(), LocalWorkers(here, at_once)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: ended.set())
        crew.start()
        ended.wait()
        crew.end()

    def _tell(self, run: Run) -> None:
        why = f" ({run.cause})" if run.cause else ""
        self.stdout.write(f"{run.line}: {run.state}{why}, run {run.id}")
