"""The command line: how a command is run, and with which exit code it ends.

`command_table` lists the commands. Each of them reads its arguments, calls one use case
and prints the result.
"""

import os
import re
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from outkey.foundation.core.errors import ConfigError, InternalError, OutkeyError
from outkey.foundation.core.failure_places import failure_places
from outkey.foundation.core.text import Text
from outkey.hosts.cli.declaring import CONTEXT, Commands, RootGroup
from outkey.hosts.cli.printing.output import exit_code_of, print_error, print_line
from outkey.hosts.cli.printing.times import begin_in_local_zone
from outkey.hosts.cli.session import current_host, use_host
from outkey.hosts.command_host import CommandHost

app = Commands(
    name="outkey", cls=RootGroup, context_settings=CONTEXT, add_completion=True
)

# Typer contains its own copy of Click; its base class of usage errors is public here.
_UsageError: type[Exception] = typer.BadParameter.__bases__[0]
_OPTION = re.compile(r"--[a-z][a-z-]{0,29}")
_UNKNOWN_COMMAND = re.compile(r"No such command '([a-z][a-z-]{0,29})'\.")


def main(host: CommandHost | None = None) -> None:
    """Run the command line for a host and exit with the code of what happened."""
    from outkey.foundation.adapters.undumpable import (
        forbid_dumps,  # not for `run` alone
    )

    forbid_dumps()
    threading.excepthook = report_thread
    sys.exit(run(sys.argv[1:], host=host))


@begin_in_local_zone()  # errors have times too
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
            print_error(_usage_error(error), as_json=as_json)
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
    except Exception as error:  # noqa: BLE001 - its text may hold a secret
        failure = unexpected_error(error, host)
        print_error(failure, as_json=as_json)
        code = exit_code_of(failure)
    return _flush_output(code or 0)


def _flush_output(code: int) -> int:
    """Write what was printed and return the exit code; 5 if it cannot be written."""
    try:
        sys.stdout.flush()
    except OSError:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123
        sys.stderr.write("error[output]: the output could not be written\n")
        return 5
    return code


def unexpected_error(error: Exception, host: CommandHost | None) -> InternalError:
    """Return the error to print for a fault of outkey; its places are in a file."""
    from outkey.administration.adapters.failure_reports import (
        write_report,  # rarely needed
    )

    report: Path | None = None
    with suppress(Exception), use_host(host):  # whatever failed may fail here too
        report = write_report(current_host().home_folder(), error)
    if report is None:
        hint = Text(
            "The details could not be written to the home: check that outkey may write"
            " there, and run the command again."
        )
    else:
        hint = Text(
            "Report it with this file, which has places in the code and no values:"
            " {file}",
            file=str(report),
        )
    return InternalError(hint=hint)


def report_thread(failure: threading.ExceptHookArgs) -> None:
    """Print where the error of a thread came from; its text may hold a secret."""
    if failure.exc_value is not None:
        sys.stderr.write(f"a thread failed: {failure_places(failure.exc_value)}\n")


def _usage_error(error: Exception) -> ConfigError:
    """Return the error in a call; it repeats no value, which may be a secret."""
    context = getattr(error, "ctx", None)
    see = Text(
        "See: {command} --help", command=getattr(context, "command_path", "outkey")
    )
    parameter = getattr(error, "param", None)
    if parameter is not None:
        options = [name for name in parameter.opts if name.startswith("-")]
        metavar = str(parameter.metavar or parameter.name).upper()
        # Of [METHOD] PATH, what is needed comes last.
        name = options[0] if options else metavar.rpartition(" ")[2]
        if type(error).__name__ == "MissingParameter":
            return ConfigError(Text("{name} is missing", name=name), hint=see)
        syntax = (parameter.get_help_record(context) or (name, ""))[0]
        return ConfigError(
            Text("invalid value for {name}", name=name),
            hint=Text(
                "Write it as {syntax}{range}. {meaning} {see}",
                syntax=syntax,
                range=_range_text(parameter),
                meaning=getattr(parameter, "help", None) or "",
                see=see,
            ),
        )
    if str(getattr(error, "message", "")).startswith("Missing command"):
        return ConfigError(Text("{name} is missing", name="COMMAND"), hint=see)
    suggestions = list(getattr(error, "possibilities", None) or ())
    match = re.search(r"Did you mean '([a-z-]+)'", getattr(error, "message", ""))
    if match:
        suggestions.append(match[1])
    hint = see
    if suggestions:
        names = " or ".join(suggestions)
        hint = Text("Did you mean {names}? {see}", names=names, see=see)
    return ConfigError(_unknown_text(error), hint=hint)


def _unknown_text(error: Exception) -> Text:
    """Return the text about an unknown name; it is repeated only if it looks like one.

    An argument is never named: it may be a secret.
    """
    option = str(getattr(error, "option_name", ""))
    if _OPTION.fullmatch(option):
        return Text("unknown option: {name}", name=option)
    if command := _UNKNOWN_COMMAND.match(getattr(error, "message", "")):
        return Text("unknown command: {name}", name=command[1])
    return Text("unknown command, option or argument")


def _range_text(parameter: object) -> str:
    """Return the lowest and the highest value of a parameter, if it has both."""
    low = getattr(parameter, "min", None)
    high = getattr(parameter, "max", None)
    if low is None or high is None:
        return ""
    return Text(", from {low} to {high}", low=low, high=high)


def _print_version(*, wanted: bool) -> None:
    """Print the version and end."""
    if wanted:
        from importlib.metadata import version  # takes a while

        print_line(version("outkey"))
        raise typer.Exit


@app.callback()
def options(
    *,
    shown: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_print_version,
            is_eager=True,
            help="Print the version.",
        ),
    ] = False,
) -> None:
    """Send the right credentials to the right place, or nothing at all.

    Add -h to a command to see its arguments, options and examples.
    """


if __name__ == "__main__":
    main()
