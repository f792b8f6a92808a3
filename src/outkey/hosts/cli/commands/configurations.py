"""The commands that show and change configurations."""

import time
from collections.abc import Sequence
from typing import Annotated

import typer

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.findings.checks import Finding, finding_facts
from outkey.foundation.core.stored_values import is_odd
from outkey.foundation.core.text import Text
from outkey.hosts.cli.input import read_text
from outkey.hosts.cli.printing.applied import print_applied
from outkey.hosts.cli.printing.finding_commands import with_command
from outkey.hosts.cli.printing.output import (
    confirm,
    exit_code_of,
    print_done,
    print_error,
    print_findings,
    print_json,
    print_line,
    print_table,
    progress_bar,
    warn_if_sealed,
    warn_unreadable,
)
from outkey.hosts.cli.printing.presenters import (
    configuration_rows,
    dependents_text,
    status_mark,
)
from outkey.hosts.cli.session import AsJson, Name, Yes, open_application
from outkey.hosts.command_host import administration_of
from outkey.sending.core.audit.events import Change, Tag
from outkey.sending.core.configuration.facts import configuration_facts, summary_facts

Findings = Sequence[tuple[str, Finding]]
_COLUMNS = {
    "Name": "name",
    "Status": "status",
    "Type": "authentication_type",
    "Environment": "environment",
    "Network": "network",
    "Base URL": "base_url",
}


def apply(
    file: Annotated[
        str, typer.Argument(help="A TOML document, or - for standard input.")
    ],
    *,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Show what would change, and save nothing."),
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Save nothing if there is any warning.")
    ] = False,
    replaces: Annotated[
        bool,
        typer.Option(
            "--replace",
            help="Also remove what the document does not name of a stored line.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Create or update what a TOML document describes.

    Prints each field that changes, with its old and new value. With --dry-run it also
    prints the fields of what would be created. A secret is printed as its reference or
    version, never as its value.

    A setting that is not in the document does not change. A document that names a
    stored line without some of its keys is refused, since they would be removed;
    --replace permits that. A reference that cannot be read never replaces a stored
    secret.
    """
    from outkey.administration.core.document.document import parse_document
    from outkey.administration.engine.editing.applied_connections import (
        is_about_connection,
    )
    from outkey.administration.engine.editing.applying import warnings_error

    application = open_application()
    document = parse_document(read_text(file))
    if document == parse_document(""):
        raise ConfigError(
            Text("the document names nothing"),
            hint=Text("Name a configuration: [configuration.NAME]."),
            field="FILE",
        )
    administration = administration_of(application)
    if strict:
        trial = application.apply(
            administration, document, dry_run=True, replaces=replaces
        )
        findings = [*trial.findings, *application.lines.findings(document)]
        if error := warnings_error(findings):
            _print_strict_error(error, findings, as_json=as_json)
            return exit_code_of(error)
    accounts = sum(map(len, document.connections.values()))
    with progress_bar("applying", len(document.drafts) + accounts) as advance:
        applied = application.apply(
            administration,
            document,
            dry_run=dry_run,
            replaces=replaces,
            progress=advance,
        )
    findings = [
        (name, finding if is_about_connection(finding) else with_command(name, finding))
        for name, finding in (*applied.findings, *application.lines.findings(document))
    ]
    print_applied(applied, findings, dry_run=dry_run, as_json=as_json)
    return 0


def _print_strict_error(
    error: ConfigError, findings: Findings, *, as_json: bool
) -> None:
    """Print why nothing was saved: the findings, and the error."""
    if as_json:
        facts = [finding_facts(finding, name) for name, finding in findings]
        print_json({"error": error.facts(), "findings": facts})
        return
    print_findings(findings)
    print_error(error, as_json=False)


def list_configurations(*, as_json: AsJson = False) -> None:
    """List the configurations with their status."""
    application = open_application()
    now = time.time()
    sealed = application.keys.is_sealed()
    summaries = application.registry.summaries()
    rows = [
        summary_facts(summary, summary.health.status(now=now, sealed=sealed))
        for summary in summaries
    ]
    # What else is odd about a row is found by the doctor, which reads all of it.
    warn_unreadable(summary.name for summary in summaries if is_odd(*summary))
    if as_json:
        print_json(rows)
        return
    warn_if_sealed(application)
    if rows:
        print_table(
            ("", *_COLUMNS),
            map(_summary_row, rows),
        )
    else:
        print_line(
            "There are no configurations yet. Create one with: outkey new NAME"
            " --preset PRESET, outkey import FILE or outkey apply FILE"
        )


def _summary_row(facts: dict[str, object]) -> tuple[object, ...]:
    """Return a configuration for the list."""
    values = facts | {"status": str(facts["status"]).replace("_", " ")}
    return status_mark(facts), *(values[key] for key in _COLUMNS.values())


def show(
    name: Name,
    *,
    whole: Annotated[
        bool,
        typer.Option("--all", help="Include settings that have their default value."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show one configuration.

    A secret is shown as its reference, or with the time when its value was set.
    """
    application = open_application()
    configuration = application.registry.get(name)
    proxy = application.proxy_of(configuration)
    if as_json:
        print_json(
            {**configuration_facts(configuration), "proxy_in_use": proxy or None}
        )
    else:
        warn_if_sealed(application)
        rows = list(configuration_rows(configuration, whole=whole))
        if proxy or whole:
            rows.append(("proxy in use", proxy or "none"))
        print_table(("Field", "Value"), rows)
        if not whole:
            print_line(
                "Other settings have their default values. Add --all to see them."
            )


def export(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help="The configurations. Without a name, everything is written."
        ),
    ] = None,
    *,
    connections: Annotated[
        bool,
        typer.Option("--connections", help="Write their connections as well."),
    ] = False,
) -> None:
    """Write configurations as a TOML document.

    References are written as they are, and stored secrets as comments. Connections are
    omitted without --connections.
    """
    from outkey.administration.core.document.export import render

    application = open_application()
    registry = application.registry
    chosen = [registry.get(name) for name in names] if names else registry.all()
    chosen_names = {configuration.name for configuration in chosen}
    lines = [line for line in registry.lines() if line.configuration in chosen_names]
    actor = administration_of(application).actor
    application.audit.note(
        *(
            Change(
                Tag.CONFIGURATION_EXPORTED,
                actor,
                configuration.name,
                ("connection",) if connections else (),
            )
            for configuration in chosen
        )
    )
    # They belong to no configuration, so they are written with all of them.
    settings = application.sync_settings
    databases = () if names else settings.databases().values()
    pairs = () if names else settings.pairs().values()
    webhooks = () if names else application.webhooks.stored().values()
    accounts = (
        account
        for configuration in chosen
        if connections
        for account in registry.each_connection(configuration)
    )
    document = render(chosen, lines, databases, pairs, webhooks, accounts)
    print_line(document.rstrip("\n"))
    if not names:
        # A document without them must not pass for a complete one.
        warn_unreadable(map(str, application.odd_rows()))


def rename(
    name: Name,
    new_name: Annotated[str, typer.Argument(help="The new name.", metavar="NEW")],
    *,
    as_json: AsJson = False,
) -> None:
    """Rename a configuration.

    Its secrets, sync lines and history stay with it. Programs must use the new name.
    """
    application = open_application()
    administration_of(application).rename(name, new_name, time.time())
    if as_json:
        print_done("renamed", as_json=True, configuration=new_name)
    else:
        print_line(f"renamed: {name} → {new_name}")


def delete(name: Name, *, yes: Yes = False, as_json: AsJson = False) -> None:
    """Delete a configuration with its secrets, its sync lines and their runs.

    Names the lines and pairs that are deleted with it. A configuration that a webhook
    needs is not deleted.
    """
    application = open_application()
    application.registry.get(name)
    administration = administration_of(application)
    dependents = application.dependents(administration, configuration=name)
    also = dependents_text(dependents)
    if not dependents.webhooks:  # else it is refused, and there is nothing to ask
        confirm(f"Delete {name} with its secrets{also}?", yes=yes)
    administration.remove(name, application.sync_settings)
    print_done("deleted", as_json=as_json, also=also, configuration=name)
