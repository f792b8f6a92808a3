"""The commands that show presets and create configurations from them."""

from shlex import quote
from typing import Annotated

import typer

from outkey.administration.core.presets.facts import preset_facts, whole_facts
from outkey.administration.core.presets.presets import (
    Preset,
    PresetMethod,
    similar_presets,
)
from outkey.foundation.core.endings import Ending
from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.text import Text, join_texts
from outkey.hosts.cli.declaring import Commands
from outkey.hosts.cli.input import split_variables
from outkey.hosts.cli.printing.finding_commands import secret_command
from outkey.hosts.cli.printing.output import print_json, print_line, print_table
from outkey.hosts.cli.session import AsJson, open_application
from outkey.hosts.command_host import administration_of

presets_app = Commands(help="Search the presets: prepared settings of known providers.")
PresetName = Annotated[str, typer.Argument(help="The preset's name.", metavar="NAME")]


@presets_app.command("list")
def list_presets(
    search: Annotated[
        str | None,
        typer.Argument(
            help=(
                "A part of a title, name, category or method. Without it, all are"
                " listed."
            ),
            metavar="TEXT",
        ),
    ] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """List the presets, all or those that match a text."""
    presets = [
        preset
        for preset in open_application().presets.all()
        if preset.matches(search or "")
    ]
    if as_json:
        print_json([preset_facts(preset) for preset in presets])
    elif presets:
        print_table(
            ("Name", "Provider", "Category", "Methods", "Checked"),
            (
                (
                    preset.name,
                    preset.title,
                    preset.category,
                    "; ".join(method.label for method in preset.methods.values()),
                    str(preset.checked),
                )
                for preset in presets
            ),
        )
    else:
        near = similar_presets(open_application().presets.all(), search or "")
        if near:
            names = ", ".join(preset.name for preset in near)
            print_line(f"No preset matches. Did you mean {names}?")
        else:
            print_line("No preset matches. List all of them with: outkey preset list")


@presets_app.command("show")
def show_preset(name: PresetName, *, as_json: AsJson = False) -> None:
    """Show a preset: its methods, its variables and where to find its secrets."""
    preset = open_application().presets.get(name)
    if as_json:
        print_json(whole_facts(preset))
        return
    print_table(
        ("Preset", preset.title),
        (
            ("category", preset.category),
            ("documentation", preset.documentation),
            ("checked", f"{preset.checked}, {preset.sure_words}"),
            *_ending_rows(preset.ending),
            ("rotation", str(preset.rotation.words)),
            ("how to rotate", str(preset.rotation.advice)),
            ("notes", preset.notes),
        ),
    )
    print_table(("Fact", "Known"), _fact_rows(preset))
    for method in preset.methods.values():
        print_table(
            (f"Method {method.name}", method.title), _method_rows(preset, method)
        )
    print_line(f"create a configuration: {_example_command(preset)}")


def create_from_preset(
    name: Annotated[str, typer.Argument(help="The name of the new configuration.")],
    *,
    preset_name: Annotated[
        str,
        typer.Option(
            "--preset",
            help="The preset to start from; outkey preset list shows them.",
            metavar="PRESET",
        ),
    ],
    method_name: Annotated[
        str,
        typer.Option(
            "--method",
            help="One of the preset's methods. Without it, its first.",
            metavar="METHOD",
        ),
    ] = "",
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="VARIABLE=VALUE",
            help="A variable of the preset. Repeat it for more than one.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Create a configuration from a preset.

    Prints the commands that set its secrets.
    """
    application = open_application()
    preset = application.presets.get(preset_name)
    method = preset.method(method_name)
    values = split_variables(settings or [])
    try:
        application.create_from_preset(
            administration_of(application), name, preset, method, values
        )
    except ConfigError as error:
        if not error.field or error.field not in preset.variables:
            raise
        command = _example_command(preset, name=name, method=method)
        hints = [error.hint, Text("Write it as: {command}", command=command)]
        raise ConfigError(
            error.message, hint=join_texts(hints), field=error.field
        ) from None
    if as_json:
        print_json(
            {
                "created": name,
                "preset": preset.name,
                "method": method.name,
                "secrets": dict(method.secrets),
            }
        )
    else:
        _print_created(name, preset, method)


def _print_created(name: str, preset: Preset, method: PresetMethod) -> None:
    """Print what was created, and the commands that set its secrets and test it."""
    print_line(f"created: {name}, from the preset {preset.title} ({method.title})")
    if preset.notes:
        print_line(preset.notes)
    for field, place in method.secrets.items():
        print_line(f"next: {secret_command(name, field)}")
        print_line(f"      {place}")
    print_line(f"then: outkey test {quote(name)}")


def _method_rows(preset: Preset, method: PresetMethod) -> list[tuple[str, str]]:
    """Return the fields of a method, as rows."""
    rows = [("base_url", str(method.table["base_url"])), *_ending_rows(method.ending)]
    for variable in preset.variables_of(method):
        example = f"{variable.label}: {variable.help} For example {variable.example}."
        if variable.default is not None:
            example += f" Default: {variable.default}."
        rows.append((f"--set {variable.name}=", example))
    rows += [(f"secret {field}", place) for field, place in method.secrets.items()]
    return rows


def _ending_rows(ending: Ending | None) -> list[tuple[str, str]]:
    """Return when something ends, as a row."""
    return [("ends", str(ending.words))] if ending else []


def _fact_rows(preset: Preset) -> list[tuple[str, str]]:
    """Return how well each fact is known and where from, as rows."""
    return [
        (
            str(evidence.label),
            "\n".join([str(evidence.kind_words), *evidence.best_places]),
        )
        for evidence in preset.evidence
    ]


def _example_command(
    preset: Preset, *, name: str = "", method: PresetMethod | None = None
) -> str:
    """Return a command that creates a configuration from a preset."""
    chosen = method or preset.method()
    options = "".join(
        f" --set {variable.name}={variable.example}"
        for variable in preset.variables_of(chosen)
        if variable.default is None
    )
    is_first = chosen.name == preset.method().name
    choice = "" if is_first else f" --method {chosen.name}"
    new_name = quote(name or preset.name)
    return f"outkey new {new_name} --preset {preset.name}{choice}{options}"
