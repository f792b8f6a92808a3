"""The `outkey` command, also where the packages that it needs are not installed."""

import sys

from outkey.hosts.cli.garbage import begin_loading, end_process


def main() -> None:
    """Run the command line, or say what to install."""
    begin_loading()
    try:
        from outkey.hosts.cli.main import main as run_commands
    except ModuleNotFoundError as error:
        if str(error.name).startswith("outkey"):
            raise
        print(  # noqa: T201 - typer is not there
            "error: the command line needs more packages."
            " Install outkey[server] in place of outkey alone.",
            file=sys.stderr,
        )
        sys.exit(2)
    try:
        run_commands()
    finally:
        end_process()
