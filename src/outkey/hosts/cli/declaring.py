"""How commands are declared, loaded and explained: `--help`, and the global options."""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

import typer
import typer.core
import typer.main

from outkey.hosts.cli.command_table import ENTRIES, SECTIONS
from outkey.hosts.cli.help_texts import EXAMPLES, EXIT_CODES, EXIT_CODES_IN_SHORT
from outkey.hosts.cli.printing.times import use_utc
from outkey.hosts.cli.session import use_home

if TYPE_CHECKING:
    from typer._click import Command, Context, HelpFormatter, Parameter

_PACKAGE = "outkey.hosts.cli"
_MAX_DIGITS = 18  # Python refuses thousands of them with an error of its own
_MAX_COLUMN = 40  # of the longest option or example that has its text beside it
_OTHER = "Other commands"
# As Typer writes them.
_RANGE = re.compile(r"(\d+)<=x<=(\d+)")
_MINIMUM = re.compile(r"x>=(\d+)")
CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class Commands(typer.Typer):
    """A group of commands, all of which have the global options and examples."""

    def __init__(self, **options: Any) -> None:  # noqa: ANN401 - those of Typer
        defaults: dict[str, Any] = {
            "cls": ExplainedGroup,
            "no_args_is_help": True,
            "pretty_exceptions_enable": False,
            "rich_markup_mode": None,
            "add_completion": False,
        }
        super().__init__(**defaults | options)

    def command(
        self,
        name: str | None = None,
        **options: Any,  # noqa: ANN401 - those of Typer
    ) -> Callable[..., Any]:
        """Declare a command, as Typer does."""
        return super().command(name, **{"cls": ExplainedCommand} | options)


def _declare_global_options(
    *,
    home: Annotated[
        str,
        typer.Option(
            "--home",
            metavar="DIR",
            help="Use the home in this folder, as with OUTKEY_HOME.",
            callback=use_home,
            show_default=False,
        ),
    ] = "",
    utc: Annotated[
        bool,
        typer.Option(
            "--utc",
            help="Print times in UTC instead of the local time zone.",
            callback=use_utc,
        ),
    ] = False,
) -> None:
    """Declare what every command accepts; the callbacks have the effect."""


@cache
def _global_options() -> "tuple[Parameter, ...]":
    """Return the options that every command accepts."""
    app = typer.Typer(add_completion=False)
    app.command()(_declare_global_options)
    options = tuple(typer.main.get_command(app).params)
    for option in options:
        option.expose_value = False  # no command has an argument for it
        option.is_eager = True  # before an error can print a time
    return options


class ExplainedCommand(typer.core.TyperCommand):
    """A command whose help has examples, and which accepts the global options."""

    def get_params(self, ctx: "Context") -> "list[Parameter]":
        """Return the parameters with the global options."""
        return _with_global_options(super().get_params(ctx))

    def collect_usage_pieces(self, ctx: "Context") -> list[str]:  # noqa: ARG002 - Typer's signature
        """Return the usage after the name of the command."""
        return _usage_pieces(self)

    def format_options(self, ctx: "Context", formatter: "HelpFormatter") -> None:
        """Write what can follow the name of the command."""
        _write_parameters(self, ctx, formatter)

    def format_epilog(self, ctx: "Context", formatter: "HelpFormatter") -> None:
        """Write examples and exit codes."""
        _write_epilog(ctx, formatter)


class ExplainedGroup(typer.core.TyperGroup):
    """A group of commands; those of the root are loaded when they are called."""

    def get_params(self, ctx: "Context") -> "list[Parameter]":
        """Return the parameters with the global options."""
        return _with_global_options(super().get_params(ctx))

    def collect_usage_pieces(self, ctx: "Context") -> list[str]:  # noqa: ARG002 - Typer's signature
        """Return the usage after the name of the command."""
        return [*_usage_pieces(self), "COMMAND [ARGS]..."]

    def format_options(self, ctx: "Context", formatter: "HelpFormatter") -> None:
        """Write what can follow the name of the command."""
        self.format_commands(ctx, formatter)
        _write_parameters(self, ctx, formatter)

    def format_commands(self, ctx: "Context", formatter: "HelpFormatter") -> None:  # noqa: ARG002 - Typer's signature
        """Write the commands with their summaries."""
        rows = [
            (name, first_sentence(command.help or ""))
            for name, command in self.commands.items()
            if not command.hidden
        ]
        _write_definitions(formatter, "Commands", rows)

    def format_epilog(self, ctx: "Context", formatter: "HelpFormatter") -> None:
        """Write examples and exit codes."""
        _write_epilog(ctx, formatter)


class RootGroup(ExplainedGroup):
    """All commands, by need."""

    def list_commands(self, ctx: "Context") -> list[str]:  # noqa: ARG002 - Typer's signature
        """Return the names of all commands."""
        return list(dict.fromkeys([*ENTRIES, *self.commands]))

    def get_command(self, ctx: "Context", cmd_name: str) -> "Command | None":  # noqa: ARG002 - Typer's signature
        """Return a command, loaded if it is not yet."""
        if cmd_name in ENTRIES and cmd_name not in self.commands:
            self.commands[cmd_name] = _load_command(cmd_name)
        return self.commands.get(cmd_name)

    def resolve_command(
        self, ctx: "Context", args: list[str]
    ) -> "tuple[str | None, Command | None, list[str]]":
        """Return the command that was meant; the error suggests similar ones."""
        if self.get_command(ctx, args[0]) is None:
            # To suggest what was meant, Typer looks at those that are loaded.
            for name in ENTRIES:
                self.get_command(ctx, name)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: "Context", formatter: "HelpFormatter") -> None:  # noqa: ARG002 - Typer's signature
        """Write the commands with their summaries."""
        width = max(map(len, ENTRIES))
        for section in SECTIONS:
            rows = [
                (f"{entry.name:{width}}", entry.summary) for entry in section.entries
            ]
            _write_definitions(formatter, section.title, rows)
        others = [
            (f"{name:{width}}", first_sentence(command.help or ""))
            for name, command in self.commands.items()
            if name not in ENTRIES
        ]
        _write_definitions(formatter, _OTHER, others)


def _load_command(name: str) -> "Command":
    """Import a command's module and return what runs it."""
    entry = ENTRIES[name]
    module, _, attribute = entry.place.partition(":")
    target = getattr(import_module(f"{_PACKAGE}.{module}"), attribute)
    if isinstance(target, typer.Typer):
        group = typer.main.get_group(target)
        group.name = name
        return group
    app = Commands()
    app.command(name)(target)
    return typer.main.get_command(app)


def _with_global_options(parameters: "list[Parameter]") -> "list[Parameter]":
    """Return the parameters of a command with the global options before --help."""
    every = [*parameters[:-1], *_global_options(), parameters[-1]]
    for parameter in every:
        _convert_by_need(parameter)
    return every


class ConversionByNeed:
    """Converts the value of a parameter for Typer, if there is anything to convert.

    Typer would load pydantic to find that a text is a text and a number a number. That
    takes as long as the rest of a short command, and 7 MB of a server.
    """

    def __init__(self, conversion: Callable[[], Any], annotation: object) -> None:
        self._conversion = conversion  # Typer's own, made when it is called
        self._annotation = annotation

    def coerce(self, value: object, param: "Parameter", ctx: "Context") -> object:
        """Return the value as the command gets it; Typer refuses a wrong one."""
        if value is None:
            return None
        # What is not Unicode is not ASCII either.
        if isinstance(value, str) and value.isascii():
            if self._annotation is str:
                return value
            if self._annotation is int and value.isdigit() and len(value) < _MAX_DIGITS:
                value = int(value)
        if self._annotation is int and _is_in_range(value, param):
            return value
        return self._conversion().coerce(value, param=param, ctx=ctx)


def _is_in_range(value: object, parameter: "Parameter") -> bool:
    """Whether a value is a number that a parameter accepts."""
    low = getattr(parameter, "min", None)
    high = getattr(parameter, "max", None)
    return (
        isinstance(value, int)
        and (low is None or low <= value)
        and (high is None or value <= high)
    )


def _convert_by_need(parameter: "Parameter") -> None:
    """Let a parameter with one value do without pydantic where it can."""
    # Earlier versions of Typer have no descriptor, and do not use pydantic.
    descriptor = getattr(parameter, "type_descriptor", None)
    is_list = parameter.nargs != 1 or getattr(parameter, "multiple", False)
    own = vars(parameter)
    if descriptor is None or is_list or "get_runtime_param" in own:
        return
    conversion = ConversionByNeed(
        parameter.get_runtime_param,  # type: ignore[attr-defined]
        descriptor.annotation,
    )
    own["get_runtime_param"] = lambda: conversion


def _usage_pieces(command: "Command") -> list[str]:
    """Return the arguments of a command as its usage names them."""
    pieces = ["[OPTIONS]"]
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            name = argument_name(parameter)
            is_whole = parameter.required or name.startswith("[")
            pieces.append(name if is_whole else f"[{name}]")
    return pieces


def argument_name(parameter: "Parameter") -> str:
    """Return how help calls an argument, with dots if it may be repeated."""
    if parameter.metavar:
        return parameter.metavar
    name = str(parameter.name).upper().rstrip("_")
    return name if parameter.nargs == 1 else f"{name}..."


def _write_parameters(
    command: "Command", ctx: "Context", formatter: "HelpFormatter"
) -> None:
    """Write the arguments, the options of the command, and the global ones."""
    own = command.params
    arguments = [
        (argument_name(parameter), (parameter.get_help_record(ctx) or ("", ""))[1])
        for parameter in own
        if parameter.param_type_name == "argument"
    ]
    options = [
        parameter for parameter in own if parameter.param_type_name != "argument"
    ]
    shared = [
        parameter for parameter in command.get_params(ctx) if parameter not in own
    ]
    _write_definitions(formatter, "Arguments", arguments)
    _write_definitions(formatter, "Options", help_records(options, ctx))
    _write_definitions(formatter, "Global options", help_records(shared, ctx))


def help_records(
    parameters: "Iterable[Parameter]", ctx: "Context"
) -> Iterator[tuple[str, str]]:
    """Yield the options that are not hidden, each with its help."""
    for parameter in parameters:
        record = parameter.get_help_record(ctx)
        if record is not None:
            name, text = record
            text = _RANGE.sub(r"\1 to \2", text)
            yield name, _MINIMUM.sub(r"\1 or more", text)


def _write_definitions(
    formatter: "HelpFormatter", title: str, rows: Iterable[tuple[str, str]]
) -> None:
    """Write a section with two columns, unless it is empty."""
    lines = list(rows)
    if lines:
        with formatter.section(title):
            formatter.write_dl(lines, col_max=_MAX_COLUMN)


def _write_epilog(ctx: "Context", formatter: "HelpFormatter") -> None:
    """Write the examples of a command, and what its exit codes mean."""
    program, path = _split_path(ctx)
    examples = EXAMPLES.get(path, ())
    if examples:
        with formatter.section("Examples"):
            indent = " " * formatter.current_indent
            for example in examples:
                formatter.write(
                    f"{indent}{example.replace('outkey ', f'{program} ')}\n"
                )
    if path:
        formatter.write_paragraph()
        formatter.write_text(EXIT_CODES_IN_SHORT)
    else:
        codes = [(str(code), meaning) for code, meaning in EXIT_CODES.items()]
        _write_definitions(formatter, "Exit codes", codes)


def _split_path(ctx: "Context") -> tuple[str, str]:
    """Return the program as it was called, and the names of the command after it."""
    names: list[str] = []
    current = ctx
    while current.parent is not None:
        names.insert(0, str(current.info_name))
        current = current.parent
    return str(current.info_name), " ".join(names)


def first_sentence(text: str) -> str:
    """Return the first sentence of a help text, in one line."""
    paragraph = " ".join(text.partition("\n\n")[0].split())
    sentence, dot, _ = paragraph.partition(". ")
    return sentence + "." if dot else paragraph
