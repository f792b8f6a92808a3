"""The help of the command line: whole, by need, with examples that are right."""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer.core
import typer.main

from cli.conftest import Terminal
from outkey.hosts.cli.command_table import ENTRIES, SECTIONS
from outkey.hosts.cli.declaring import first_sentence
from outkey.hosts.cli.help_texts import EXAMPLES, EXIT_CODES
from outkey.hosts.cli.main import app

SENTENCE = re.compile(r"[A-Z].*\.", re.DOTALL)
UNREAD = {"resilient_parsing": True}
PACKAGES = ("foundation", "sending", "sync", "webhooks", "importing", "administration")
HEAVY = {"django", "httptools", "rich", "sqlalchemy"} | {
    f"outkey.{package}.{room}"
    for package in PACKAGES
    for room in ("engine", "adapters")
}


@cache
def root() -> Any:  # noqa: ANN401 - of Typer's own Click
    return typer.main.get_command(app)


def commands() -> Iterator[tuple[tuple[str, ...], Any, Any]]:
    """Yield all commands and groups: the names that call them, and their context."""
    return commands_below(root(), root().make_context("outkey", [], **UNREAD))


def commands_below(
    command: Any,  # noqa: ANN401 - of Typer's own Click
    context: Any,  # noqa: ANN401
    *names: str,
) -> Iterator[tuple[tuple[str, ...], Any, Any]]:
    yield names, command, context
    if isinstance(command, typer.core.TyperGroup):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            inner = below.make_context(name, [], parent=context, **UNREAD)
            yield from commands_below(below, inner, *names, name)


def read(arguments: list[str]) -> None:
    """Read a call as the command line does, without running it."""
    command = root()
    context = command.make_context("outkey", [], **UNREAD)
    while isinstance(command, typer.core.TyperGroup) and not arguments[0].startswith(
        "-"
    ):
        name, *arguments = arguments
        command = command.get_command(context, name)
        assert command is not None, name
    command.make_context("outkey", arguments, parent=context)


def calls_in(example: str) -> Iterator[list[str]]:
    """Yield the arguments of each call of outkey in a line of a shell."""
    line = re.sub(r"^\w+=\$\((.*)\)$", r"\1", example)
    for part in line.split(" | "):
        program, *arguments = shlex.split(re.split(r" [<>] ", part)[0])
        assert program == "outkey"
        yield arguments


def test_the_overview_names_every_command_with_its_own_summary() -> None:
    for names, command, _ in commands():
        if len(names) == 1:
            assert ENTRIES[names[0]].summary in command.help.replace("\n", " "), names
    assert len(ENTRIES) == sum(len(section.entries) for section in SECTIONS)


def test_every_command_has_examples_that_can_be_called() -> None:
    assert {" ".join(names) for names, _, _ in commands()} == set(EXAMPLES)
    for names, examples in EXAMPLES.items():
        assert examples, names
        for example in examples:
            calls = list(calls_in(example))
            for arguments in calls:
                read(arguments)
            assert any(call[: len(names.split())] == names.split() for call in calls)


def test_help_is_written_in_whole_sentences() -> None:
    for names, command, context in commands():
        assert SENTENCE.fullmatch(command.help), names
        assert SENTENCE.fullmatch(first_sentence(command.help)), names
        for parameter in command.get_params(context):
            if not getattr(parameter, "hidden", False):
                assert SENTENCE.fullmatch(parameter.help or ""), (names, parameter.name)


def test_every_command_has_short_help_and_the_global_options() -> None:
    for names, command, context in commands():
        text = command.get_help(context)
        assert "-h, --help" in text, names
        assert "--home DIR" in text, names
        assert "--utc" in text, names
        assert "Exit codes:" in text, names
        assert not re.search(r"<\w", text), names  # no type in the place of a name


def test_help_is_the_same_by_either_option_and_groups_commands_by_need(
    outkey: Terminal,
) -> None:
    short = outkey("-h")
    assert (short.code, short.err) == (0, "")
    assert short.out == outkey("--help").out == outkey().out
    for section in SECTIONS:
        assert f"\n{section.title}:\n" in short.out
    for code, meaning in EXIT_CODES.items():
        assert re.search(rf"\n  {code} +{meaning}\n", short.out)
    run = outkey("line", "run", "-h")
    assert run.code == 0
    assert run.out.startswith("Usage: outkey line run [OPTIONS] NAME\n")
    assert "  outkey line run orders --dry-run\n" in run.out
    assert not outkey.home.exists()  # help opens nothing


def test_the_overview_loads_no_command_and_no_library() -> None:
    program = (
        "import sys; from outkey.hosts.cli.main import run; run(['--help']);"
        "print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    loaded = set(done.stderr.split())
    assert "outkey.hosts.cli.declaring" in loaded
    assert loaded.isdisjoint(HEAVY)
    places = {entry.place.partition(":")[0] for entry in ENTRIES.values()}
    assert loaded.isdisjoint(f"outkey.hosts.cli.{module}" for module in places)


@pytest.mark.parametrize("place", [0, 2])
def test_the_home_is_chosen_before_and_after_the_command(
    outkey: Terminal, document: str, tmp_path: Path, place: int
) -> None:
    other = tmp_path / "other"
    call = ["apply", document]
    call[place:place] = ["--home", str(other)]
    assert outkey(*call).code == 0
    assert (other / "data").is_dir()
    assert not outkey.home.exists()
    assert [row["name"] for row in outkey("list", "--json").json] == []
    listed = outkey("list", f"--home={other}", "--json").json
    assert [row["name"] for row in listed] == ["acme", "shop"]


def test_a_home_of_an_application_cannot_be_replaced(
    outkey: Terminal, tmp_path: Path
) -> None:
    refused = outkey(
        "list",
        "--home",
        str(tmp_path),
        "--json",
        DJANGO_SETTINGS_MODULE="shop.settings",
    )
    assert refused.code == 2
    assert refused.json["error"]["field"] == "--home"


def test_what_is_missing_in_a_call_is_named(outkey: Terminal) -> None:
    missing = {
        ("--utc",): "COMMAND",
        ("line", "--utc"): "COMMAND",
        ("request", "acme"): "PATH",
        ("apply",): "FILE",
        ("new", "acme"): "--preset",
    }
    for call, name in missing.items():
        done = outkey(*call)
        assert (done.code, done.out) == (2, "")
        assert done.err.startswith(f"error[configuration]: {name} is missing\n")
