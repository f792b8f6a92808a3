"""`manage.py outkey_worker`: the work on sync lines in a Django project of your own."""

import signal
import sys
import threading
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from outkey.foundation.adapters.undumpable import forbid_dumps
from outkey.foundation.core.errors import OutkeyError, Sealed
from outkey.hosts.cli.main import unexpected_error
from outkey.hosts.cli.printing.output import exit_code_of, print_error
from outkey.hosts.django.installed import installation
from outkey.hosts.django.rows.runs import has_queue
from outkey.hosts.django.workers.local_workers import LocalWorkers
from outkey.sync.core.run.run import Run


class Command(BaseCommand):
    """Do runs, with procrastinate if the project has it, else looking every second."""

    help = "Run queued and scheduled sync lines, until SIGINT or SIGTERM."

    def run_from_argv(self, argv: list[str]) -> None:
        """Report an error as `manage.py outkey` does, with the same exit code."""
        forbid_dumps()
        try:
            super().run_from_argv(argv)
        except OutkeyError as error:
            print_error(error, as_json=False)
            sys.exit(exit_code_of(error))
        except Exception as error:  # noqa: BLE001 - its text may hold a secret
            failure = unexpected_error(error, None)
            print_error(failure, as_json=False)
            sys.exit(exit_code_of(failure))

    def add_arguments(self, parser: CommandParser) -> None:
        """Take the number of runs."""
        parser.add_argument(
            "--runs", type=int, default=4, help="how many at the same time"
        )

    def handle(self, *_args: object, **options: Any) -> None:  # noqa: ANN401 - Django's own
        """Work until the stop signal is set."""
        application = installation()
        limit = max(1, options["runs"])
        if application.keys.is_sealed():
            raise Sealed
        if has_queue():
            from outkey.hosts.django.workers.worker import QueueWorker

            QueueWorker(application, limit, self.stdout.write, self._report).run()
            return
        stop_signal = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: stop_signal.set())
        workers = LocalWorkers(application, limit)
        workers.start()
        stop_signal.wait()
        workers.end()

    def _report(self, run: Run) -> None:
        why = f" ({run.cause})" if run.cause else ""
        self.stdout.write(f"{run.line}: {run.state}{why}, run {run.id}")
