"""The command that imports configurations from what others wrote of an API."""

import sys
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from outkey.foundation.core.errors import NAME_TAKEN, ConfigError
from outkey.foundation.core.text import Text, join_texts
from outkey.hosts.cli.printing.finding_commands import secret_command
from outkey.hosts.cli.printing.output import (
    exit_code_of,
    print_error,
    print_json,
    print_line,
    print_report_items,
    warn,
)
from outkey.hosts.cli.session import AsJson, open_application
from outkey.hosts.command_host import administration_of
from outkey.importing.core.formats import ImportFormat

if TYPE_CHECKING:
    from outkey.importing.core.reading import Import
    from outkey.sync.core.line.line import SyncLine


def import_file(
    files: Annotated[
        list[str],
        typer.Argument(
            help=(
                "A file, or - for standard input. A collection may be followed by"
                " its environment."
            ),
            metavar="FILE...",
        ),
    ],
    *,
    source: Annotated[
        ImportFormat | None,
        typer.Option(
            "--from",
            help=(
                "The format if it is not recognized: curl, postman, openapi,"
                " insomnia, bruno, http, har, airbyte or dlt."
            ),
            metavar="FORMAT",
        ),
    ] = None,
    name: Annotated[
        str,
        typer.Option("--name", help="The name of the configuration.", metavar="NAME"),
    ] = "",
    apply: Annotated[
        bool,
        typer.Option("--apply", help="Save it, and store the secrets in it encrypted."),
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Import a curl command, a collection or an API description.

    Prints a TOML document and a report. With --apply it saves the configurations and
    their secrets instead.
    """
    from outkey.administration.engine.editing.importing import incomplete_error
    from outkey.hosts.importing import read_import

    texts = [_read_limited(file) for file in files]
    try:
        imported = read_import(*texts, source=source or "", name=name)
    except ConfigError as error:
        raise _with_format_option(error) from None
    if apply:
        if incomplete := incomplete_error(imported):
            _print_incomplete(incomplete, imported, as_json=as_json)
            return exit_code_of(incomplete)
        _save_imported(imported)
    if as_json:
        print_json(_import_facts(imported, saved=apply))
        return 0
    print_report_items(imported.report)
    if apply:
        _print_created(imported)
    else:
        print_line(document_of(imported).rstrip("\n"))
        sys.stdout.flush()  # the document comes first, also after 2>&1
        print_next_steps(imported)
    return 0


def print_next_steps(imported: "Import") -> None:
    """Print on standard error what to do with the document."""
    if variables := _expected_variables(imported):
        warn(
            "next: save this document as FILE, set the environment variables"
            f" {', '.join(variables)}, and apply it: outkey apply FILE"
        )
    else:
        warn("next: save this document as FILE, and apply it: outkey apply FILE")
    if imported.has_errors:
        warn("Correct the errors above in the document before you apply it.")
    else:
        warn(
            "or: import again with --apply, which saves it at once, with its secrets"
            " encrypted"
        )


def _expected_variables(imported: "Import") -> list[str]:
    """Return the environment variables that the document of an import refers to."""
    from outkey.sending.core.configuration.reference import Store

    references = [
        state.reference
        for item in imported.configurations
        for state in item.draft.configuration().secrets.values()
    ]
    return [
        reference.place
        for reference in dict.fromkeys(references)
        if reference is not None and reference.store is Store.ENV
    ]


def _print_incomplete(error: ConfigError, imported: "Import", *, as_json: bool) -> None:
    """Print why nothing was saved: the report, and the error."""
    if as_json:
        report = [item.facts() for item in imported.report]
        print_json({"error": error.facts(), "report": report})
        return
    print_report_items(imported.report)
    print_error(error, as_json=False)


def _with_format_option(error: ConfigError) -> ConfigError:
    """Return an error with the option that chooses a format, where that may help."""
    from outkey.importing.core.reading import UNKNOWN_FORMAT

    if error.reason != UNKNOWN_FORMAT:
        return error
    hints = [error.hint, Text("Choose the format with --from.")]
    return ConfigError(error.message, hint=join_texts(hints), field=error.field)


def _save_imported(imported: "Import") -> None:
    """Save an import; a name that is taken can be another one."""
    application = open_application()
    try:
        application.save_import(administration_of(application), imported)
    except ConfigError as error:
        if error.reason != NAME_TAKEN:
            raise
        hint = Text("Choose another name with --name.")
        raise ConfigError(error.message, hint=hint, field="name") from None


def _print_created(imported: "Import") -> None:
    """Print what was saved, and what to do next."""
    for item in imported.configurations:
        print_line(f"created: {item.draft.name}")
    for drafted in imported.lines:
        print_line(f"created: line {drafted.line.name}")
    for item in imported.configurations:
        name = item.draft.name
        needed = item.draft.configuration().needed_secrets()
        for field in needed:
            if field not in item.secrets:
                print_line(f"next: {secret_command(name, field)}")
        print_line(f"then: outkey test {quote(name)}")


def _read_limited(file: str) -> str:
    """Return the text of a file or of standard input, if it is not too long."""
    from outkey.importing.core.readers.tree import MAX_TEXT, too_long

    try:
        if file == "-":
            data = sys.stdin.buffer.read(MAX_TEXT + 1)
        else:
            with Path(file).open("rb") as stream:
                data = stream.read(MAX_TEXT + 1)
    except FileNotFoundError:
        raise ConfigError(
            Text("the file {file} does not exist", file=file), field="FILE"
        ) from None
    except OSError:
        raise ConfigError(
            Text("the file {file} cannot be read", file=file), field="FILE"
        ) from None
    if len(data) > MAX_TEXT:
        raise too_long()
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise ConfigError(Text("the input is not UTF-8 text"), field="FILE") from None


def _import_facts(imported: "Import", *, saved: bool) -> dict[str, object]:
    """Return an import as programs read it; without TOML once it is saved."""
    from outkey.administration.core.document.export import render

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
                **_pull_facts(drafted.line),
                "toml": "" if saved else render([], [drafted.line]),
            }
            for drafted in imported.lines
        ],
        "report": [item.facts() for item in imported.report],
    }


def _pull_facts(line: "SyncLine") -> dict[str, object]:
    """Return what a line pulls; nothing of a line for single requests."""
    from outkey.sync.core.line.table import sync_table

    facts: dict[str, object] = {
        "target": "",
        "records": "",
        "incremental": {},
        "keys": [],
        "fields": [],
        "for_each": {},
    }
    if line.sync is None:
        return facts
    table = sync_table(line.sync)
    facts["records"] = line.sync.records
    return facts | {key: value for key, value in table.items() if key in facts}


def document_of(imported: "Import") -> str:
    """Return the TOML of an import; how lines ask for pages stands in comments."""
    from outkey.administration.core.document.export import render
    from outkey.foundation.core.toml.text import render_table

    configurations = [item.draft.configuration() for item in imported.configurations]
    parts = [render(configurations, [])]
    for drafted in imported.lines:
        part = render([], [drafted.line])
        if drafted.pagination and drafted.line.sync is None:
            pages = render_table("pagination", drafted.pagination)
            part += "".join(f"# {line}\n" for line in pages.splitlines())
        parts.append(part)
    return "\n".join(parts)
