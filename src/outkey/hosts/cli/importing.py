"""The command that imports configurations from what others wrote of an API."""

import sys
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from outkey.core.errors import ConfigError
from outkey.core.importing.formats import ImportFormat
from outkey.core.text import Text
from outkey.hosts.cli.output import print_json, print_line, print_report_items
from outkey.hosts.cli.session import AsJson, administration_of, open_application

if TYPE_CHECKING:
    from outkey.core.importing.reading import Import


def import_file(
    files: Annotated[
        list[str],
        typer.Argument(
            help="a file, or - for standard input; a collection and its environment",
            metavar="FILE",
        ),
    ],
    *,
    source: Annotated[
        ImportFormat | None,
        typer.Option("--from", help="the format, if not recognized"),
    ] = None,
    name: Annotated[
        str, typer.Option("--name", help="the name of the configuration")
    ] = "",
    apply: Annotated[
        bool, typer.Option("--apply", help="save it, and seal the secrets it has")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Make configurations of a curl command, a collection or an API description."""
    from outkey.hosts.importing import read_import

    texts = [read_limited(file) for file in files]
    imported = read_import(*texts, source=source or "", name=name)
    if apply:
        application = open_application()
        application.save_import(administration_of(application), imported)
    if as_json:
        print_json(import_facts(imported, saved=apply))
        return
    print_report_items(imported.report)
    if apply:
        print_created(imported)
    else:
        print_line(document_of(imported).rstrip("\n"))


def print_created(imported: "Import") -> None:
    """Print what was saved, and what to do next."""
    for item in imported.configurations:
        print_line(f"created: {item.draft.name}")
    for drafted in imported.lines:
        print_line(f"created: line {drafted.line.name}")
    for item in imported.configurations:
        name = quote(item.draft.name)
        needed = item.draft.configuration().needed_secrets()
        for field in needed:
            if field not in item.secrets:
                print_line(f"next: outkey secret set {name} {field}")
        print_line(f"then: outkey test {name}")


def read_limited(file: str) -> str:
    """Return the text of a file or of standard input, if it is not too long."""
    from outkey.core.importing.tree import MAX_TEXT, too_long

    try:
        if file == "-":
            data = sys.stdin.buffer.read(MAX_TEXT + 1)
        else:
            with Path(file).open("rb") as stream:
                data = stream.read(MAX_TEXT + 1)
    except FileNotFoundError:
        raise ConfigError(Text("the file does not exist"), field="FILE") from None
    except OSError:
        raise ConfigError(Text("the file cannot be read"), field="FILE") from None
    if len(data) > MAX_TEXT:
        raise too_long()
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise ConfigError(Text("the input is not UTF-8 text"), field="FILE") from None


def import_facts(imported: "Import", *, saved: bool) -> dict[str, object]:
    """Return an import as programs read it; without TOML once it is saved."""
    from outkey.core.config.export import render

    return {
        "configurations": [
            {
                "name": item.draft.name,
                "toml": "" if saved else render([item.draft.configuration()], []),
                "secrets": list(item.secrets),
            }
            for item in imported.configurations
        ],
        "lines": [
            {
                "name": drafted.line.name,
                "configuration": drafted.line.configuration,
                "method": drafted.line.method,
                "path": drafted.line.path,
                "pagination": dict(drafted.pagination),
                "toml": "" if saved else render([], [drafted.line]),
            }
            for drafted in imported.lines
        ],
        "report": [item.facts() for item in imported.report],
    }


def document_of(imported: "Import") -> str:
    """Return the TOML of an import; how lines ask for pages stands in comments."""
    from outkey.core.config.export import render, render_table

    configurations = [item.draft.configuration() for item in imported.configurations]
    parts = [render(configurations, [])]
    for drafted in imported.lines:
        part = render([], [drafted.line])
        if drafted.pagination:
            pages = render_table("pagination", drafted.pagination)
            part += "".join(f"# {line}\n" for line in pages.splitlines())
        parts.append(part)
    return "\n".join(parts)
