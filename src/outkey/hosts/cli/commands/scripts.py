"""The command that tries a signing script."""

from collections.abc import Iterable
from typing import Annotated

import typer

from outkey.hosts.cli.declaring import Commands
from outkey.hosts.cli.printing.output import (
    exit_code_of,
    print_error,
    print_json,
    print_line,
    print_table,
)
from outkey.hosts.cli.session import AsJson, ConnectionId, Name, open_application
from outkey.sending.engine.exchange.calls import find_account
from outkey.sending.engine.exchange.scripts import try_script

scripts_app = Commands(help="Try a signing script.")


@scripts_app.command("run")
def run(
    name: Name,
    *,
    connection: ConnectionId = None,
    at: Annotated[
        float | None,
        typer.Option(
            help="Set the script's clock to this Unix time.", metavar="UNIXTIME"
        ),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Run a script once in its sandbox, for the test request.

    Prints the names and lengths of headers and parameters, never a value.
    """
    application = open_application()
    configuration = find_account(application.registry, name, connection)
    trial = try_script(application.sender.context, configuration, at)
    if as_json:
        facts = {
            "ok": trial.ok,
            "headers": _lengths(trial.headers),
            "query": _lengths(trial.query),
            "ms": trial.ms,
            "error": trial.error.facts() if trial.error else None,
        }
        print_json(facts)
    elif trial.error is None:
        print_table(("Header", "Length"), trial.headers)
        if trial.query:
            print_table(("Parameter", "Length"), trial.query)
        print_line(f"It took {trial.ms:.1f} ms with the start of its process.")
    else:
        print_error(trial.error, as_json=False)
    return 0 if trial.error is None else exit_code_of(trial.error)


def _lengths(pairs: Iterable[tuple[str, int]]) -> list[dict[str, object]]:
    """Return names and lengths as JSON has them."""
    return [{"name": name, "length": length} for name, length in pairs]
