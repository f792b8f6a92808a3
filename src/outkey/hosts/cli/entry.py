"""The `outkey` command, also where the packages that it needs are not installed."""

import sys


def main() -> None:
    """Run the command line, or say what to install."""
    try:
        from outkey.hosts.cli.main import main as run_commands
    except ModuleNotFoundError as error:
        if str(error.name).startswith("outkey"):
            raise
        hint = "Install them: pip install 'outkey[server]'"
        print(f"error: the command line needs more packages. {hint}", file=sys.stderr)  # noqa: T201 - typer is not there
        sys.exit(2)
    run_commands()
