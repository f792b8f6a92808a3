"""The command that tries a signing script."""

from typing import Annotated

import typer

from outkey.hosts.cli.output import exit_code_of, say, say_error, say_json, say_table
from outkey.hosts.cli.session import AsJson, installation

scripts_app = typer.Typer(help="Signing scripts.", no_args_is_help=True)


@scripts_app.command("run")
def run(
    name: Annotated[str, typer.Argument(help="the configuration's name")],
    *,
    at: Annotated[
        float | None, typer.Option(help="stop the clock at this Unix time")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Run a script once, locked away, for the test request; values are never shown."""
    tried = installation().gateway.try_script(name, at)
    if as_json:
        headers = [{"name": name, "length": length} for name, length in tried.headers]
        error = tried.error.facts() if tried.error else None
        say_json({"ok": tried.ok, "headers": headers, "ms": tried.ms, "error": error})
    elif tried.error is None:
        say_table(("Header", "Length"), tried.headers)
        say(f"It took {tried.ms:.1f} ms with the start of its process.")
    else:
        say_error(tried.error, as_json=False)
    return 0 if tried.error is None else exit_code_of(tried.error)
