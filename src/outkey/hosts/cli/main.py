"""The command line: one module for each group of commands, and what they share.

Each command reads its arguments, calls one use case and prints the result.
"""

import os
import re
import sys
from collections.abc import Sequence
from importlib.metadata import version
from typing import Annotated

import typer

from outkey.core.errors import ConfigError, OutkeyError
from outkey.core.text import Text
from outkey.hosts.cli import configurations, monitoring, requests, serving
from outkey.hosts.cli.accounts import accounts_app
from outkey.hosts.cli.api_tokens import api_tokens_app
from outkey.hosts.cli.data import data_app
from outkey.hosts.cli.doctor import doctor
from outkey.hosts.cli.importing import import_file
from outkey.hosts.cli.lines import lines_app, runs_app
from outkey.hosts.cli.operations import audit_app, keys_app
from outkey.hosts.cli.output import exit_code_of, print_error, print_line
from outkey.hosts.cli.pairs import pairs_app
from outkey.hosts.cli.presets import create_from_preset, presets_app
from outkey.hosts.cli.scripts import scripts_app
from outkey.hosts.cli.secrets import secrets_app
from outkey.hosts.cli.session import CommandHost, use_host
from outkey.hosts.cli.spar import spar_app
from outkey.hosts.cli.suggest import suggest_line
from outkey.hosts.cli.testing import check_connection
from outkey.hosts.cli.tokens import tokens_app
from outkey.hosts.cli.users import people_app
from outkey.hosts.cli.webhooks import webhooks_app

app = typer.Typer(
    name="outkey",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.add_typer(secrets_app, name="secret")
app.add_typer(keys_app, name="keys")
app.add_typer(audit_app, name="audit")
app.add_typer(accounts_app, name="user")
app.add_typer(people_app, name="people")
app.add_typer(api_tokens_app, name="api-token")
app.add_typer(presets_app, name="preset")
app.add_typer(tokens_app, name="token")
app.add_typer(scripts_app, name="script")
app.add_typer(spar_app, name="spar")
lines_app.command("suggest")(suggest_line)
app.add_typer(lines_app, name="line")
app.add_typer(pairs_app, name="pair")
app.add_typer(runs_app, name="run")
app.add_typer(data_app, name="data")
app.add_typer(webhooks_app, name="webhook")
app.command("worker")(serving.run_worker)
app.command("test")(check_connection)
app.command()(doctor)
app.command()(monitoring.resume)
app.command()(monitoring.notices)
app.command("new")(create_from_preset)
app.command()(configurations.apply)
app.command("import")(import_file)
app.command("list")(configurations.list_configurations)
app.command()(configurations.show)
app.command()(configurations.export)
app.command()(configurations.rename)
app.command()(configurations.delete)
app.command()(requests.preview)
app.command()(requests.request)
app.command()(serving.serve)

# Typer contains its own copy of Click; its base class of usage errors is public here.
_UsageError: type[Exception] = typer.BadParameter.__bases__[0]


def main(host: CommandHost | None = None) -> None:
    """Run the command line for a host and exit with the code of what happened."""
    sys.exit(run(sys.argv[1:], host=host))


def run(
    arguments: Sequence[str],
    program: str | None = None,
    host: CommandHost | None = None,
) -> int:
    """Run a command and return its exit code.

    Help names the `program` as it was called. Without a `host`, commands work with the
    Django project of the process or the embedded home.
    """
    as_json = "--json" in arguments
    try:
        with use_host(host):
            code = app(args=arguments, prog_name=program, standalone_mode=False)
    except _UsageError as error:
        code = 2
        if type(error).__name__ == "NoArgsIsHelpError":
            print_line(str(error))
        else:
            print_error(usage_error(error), as_json=as_json)
    except OutkeyError as error:
        print_error(error, as_json=as_json)
        code = exit_code_of(error)
    except UnicodeError:
        unreadable = ConfigError(Text("the input is not UTF-8 text"))
        print_error(unreadable, as_json=as_json)
        code = 2
    except BrokenPipeError:
        code = 0  # the reader has read enough
    except (typer.Abort, KeyboardInterrupt):
        sys.stderr.write("stopped\n")
        code = 130
    return flush_output(code or 0)


def flush_output(code: int) -> int:
    """Write what was printed and return the exit code; 5 if it cannot be written."""
    try:
        sys.stdout.flush()
    except OSError:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123
        sys.stderr.write("error[output]: the output could not be written\n")
        return 5
    return code


def usage_error(error: Exception) -> ConfigError:
    """Return what is wrong with a call; what was typed may be a secret."""
    context = getattr(error, "ctx", None)
    see = Text(
        "See: {command} --help", command=getattr(context, "command_path", "outkey")
    )
    parameter = getattr(error, "param", None)
    if parameter is not None:
        options = [name for name in parameter.opts if name.startswith("-")]
        metavar = str(parameter.metavar or parameter.name).upper()
        name = options[0] if options else metavar
        if type(error).__name__ == "MissingParameter":
            return ConfigError(Text("{name} is missing", name=name), hint=see)
        syntax = (parameter.get_help_record(context) or (name, ""))[0]
        return ConfigError(
            Text("invalid value for {name}", name=name),
            hint=Text("Write it as {syntax}. {see}", syntax=syntax, see=see),
        )
    suggestions = list(getattr(error, "possibilities", None) or ())
    match = re.search(r"Did you mean '([a-z-]+)'", getattr(error, "message", ""))
    if match:
        suggestions.append(match[1])
    hint = see
    if suggestions:
        names = " or ".join(suggestions)
        hint = Text("Did you mean {names}? {see}", names=names, see=see)
    return ConfigError(Text("unknown command, option or argument"), hint=hint)


def print_version(*, wanted: bool) -> None:
    """Print the version and end."""
    if wanted:
        print_line(version("outkey"))
        raise typer.Exit


@app.callback()
def options(
    *,
    shown: Annotated[
        bool,
        typer.Option(
            "--version", callback=print_version, is_eager=True, help="show the version"
        ),
    ] = False,
) -> None:
    """Send the right credentials to the right place, or nothing at all."""


if __name__ == "__main__":
    main()
