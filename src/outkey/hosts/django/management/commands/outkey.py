"""`manage.py outkey …`: outkey's command line with the project's installation."""

import argparse
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connections

from outkey.foundation.adapters.undumpable import forbid_dumps
from outkey.hosts.cli.main import run


class Command(BaseCommand):
    """All commands of `outkey`; arguments, streams and exit codes pass through."""

    help = "The command line of outkey; see: manage.py outkey --help"
    requires_system_checks = ()  # it helps to find out what is wrong

    def run_from_argv(self, argv: list[str]) -> None:
        """Pass on all arguments: Django's options, such as -v, do not apply here."""
        forbid_dumps()
        try:
            sys.exit(run(_without_django_options(argv[2:]), _program(argv[0], argv[1])))
        finally:
            connections.close_all()

    def print_help(self, prog_name: str, subcommand: str) -> None:
        """Print the help of outkey for `manage.py help outkey`."""
        run(["--help"], _program(prog_name, subcommand))

    def add_arguments(self, parser: CommandParser) -> None:
        """Take all arguments of `call_command("outkey", …)`."""
        parser.add_argument("arguments", nargs=argparse.REMAINDER)

    def handle(self, *_args: object, **options: Any) -> None:  # noqa: ANN401 - Django's own
        """Run a command for `call_command`."""
        code = run(options["arguments"], "manage.py outkey")
        if code:
            raise CommandError(f"outkey ended with exit code {code}", returncode=code)


def _program(file: str, subcommand: str) -> str:
    return f"{Path(file).name} {subcommand}"


def _without_django_options(arguments: list[str]) -> list[str]:
    """Return the arguments without those that manage.py has acted on.

    These are --settings and --pythonpath.
    """
    parser = CommandParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--settings")
    parser.add_argument("--pythonpath")
    return parser.parse_known_args(arguments)[1]
