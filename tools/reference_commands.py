"""The page of all commands, from the parser of the command line itself."""

from collections.abc import Iterator
from typing import Any, TypeAlias

from typer.main import get_command

from outkey.hosts.cli.declaring import argument_name, help_records
from outkey.hosts.cli.help_texts import EXAMPLES
from outkey.hosts.cli.main import app

# Typer contains its own copy of Click, without public names for these two.
Command: TypeAlias = Any
Context: TypeAlias = Any

BEGINNING = """\
# Commands

Every command with its arguments and options, as `outkey COMMAND -h` prints them.
[The command line](../guide/command-line.md) explains how to use them, what exit codes \
mean and what `--json` prints.
"""


def commands_page() -> Iterator[str]:
    """Yield the page."""
    yield BEGINNING
    root = get_command(app)
    context = root.context_class(root, info_name="outkey")
    yield from options_of(context)
    for command, inner in sorted(commands_of(root, context), key=path_of):
        yield from command_section(command, inner)


def commands_of(group: Command, context: Context) -> Iterator[tuple[Command, Context]]:
    """Yield the commands of a group, and those of the groups in it."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        inner = command.context_class(command, info_name=name, parent=context)
        if command.hidden:
            continue
        if not hasattr(command, "list_commands"):
            yield command, inner
            continue
        if command.invoke_without_command:
            yield command, inner
        yield from commands_of(command, inner)


def path_of(row: tuple[Command, Context]) -> str:
    """Return the words of a command, by which the page is sorted."""
    return str(row[1].command_path)


def command_section(command: Command, context: Context) -> Iterator[str]:
    """Yield the section of one command."""
    yield f"## {context.command_path}\n"
    yield f"{paragraphs(command.help)}\n"
    usage = " ".join(command.collect_usage_pieces(context))
    yield f"Usage: `{context.command_path} {usage}`\n"
    yield from options_of(context)
    _, _, names = context.command_path.partition(" ")
    yield "Examples:\n"
    yield from (f"- `{example}`" for example in EXAMPLES[names])
    yield ""


def paragraphs(text: str | None) -> str:
    """Return a help text without the marks that only the terminal needs."""
    lines = (text or "").replace("\b", "").splitlines()
    return "\n".join(line.strip() for line in lines)


def options_of(context: Context) -> Iterator[str]:
    """Yield the table of arguments and options that not every command has."""
    everywhere = [] if context.parent is None else records(context.find_root())
    shown = [row for row in records(context) if row not in everywhere]
    if not shown:
        return
    yield "| | |"
    yield "|---|---|"
    yield from (f"| `{cell(name)}` | {cell(text)} |" for name, text in shown)
    yield ""


def records(context: Context) -> list[tuple[str, str]]:
    """Return what the help of a command lists, without `--help` itself."""
    rows = []
    for parameter in context.command.get_params(context):
        for name, text in help_records([parameter], context):
            is_argument = parameter.param_type_name == "argument"
            rows.append((argument_name(parameter) if is_argument else name, text))
    return [row for row in rows if "--help" not in row[0]]


def cell(text: str) -> str:
    """Return a text for a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")
