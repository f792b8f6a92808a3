"""The `outkey` command, also where the packages that it needs are not installed."""

import gc
import sys

# Python looks for garbage when there are this many new objects more than before. Its
# default of 700 is reached by loading two modules, none of which is garbage.
_OBJECTS_BETWEEN_COLLECTIONS = 50_000


def main() -> None:
    """Run the command line, or say what to install."""
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
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
        gc.freeze()  # the memory of a process that ends needs no search for garbage
