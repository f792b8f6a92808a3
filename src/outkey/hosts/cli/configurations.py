"""The commands that show and change configurations."""

import time
from collections.abc import Sequence
from typing import Annotated

import typer

from outkey.core.audit.events import Change, Tag
from outkey.core.config.facts import configuration_facts, summary_facts
from outkey.core.errors import ConfigError
from outkey.core.findings.checks import Finding
from outkey.hosts.cli.input import read_text
from outkey.hosts.cli.output import (
    confirm,
    exit_code_of,
    finding_facts,
    print_done,
    print_error,
    print_findings,
    print_json,
    print_line,
    print_table,
    progress_bar,
)
from outkey.hosts.cli.presenters import configuration_rows, status_mark
from outkey.hosts.cli.session import (
    AsJson,
    Name,
    Yes,
    administration_of,
    open_application,
)

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
        str, typer.Argument(help="a TOML document, or - for standard input")
    ],
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="change nothing")] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="save nothing if there is any warning")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Create or update configurations from a TOML document."""
    from outkey.core.config.document import parse_document
    from outkey.engine.managing.applying import warnings_error

    application = open_application()
    document = parse_document(read_text(file))
    administration = administration_of(application)
    if strict:
        trial = application.apply(administration, document, dry_run=True)
        findings = [*trial.findings, *application.line_findings(document)]
        if error := warnings_error(findings):
            print_strict_error(error, findings, as_json=as_json)
            return exit_code_of(error)
    with progress_bar("applying", len(document.drafts)) as advance:
        applied = application.apply(
            administration, document, dry_run=dry_run, progress=advance
        )
    findings = [*applied.findings, *application.line_findings(document)]
    groups = {kind: getattr(applied, kind) for kind in applied.lines}
    others = {
        "line": applied.lines,
        "database": applied.databases,
        "pair": applied.pairs,
        "webhook": applied.webhooks,
    }
    if as_json:
        facts = [finding_facts(finding, name) for name, finding in findings]
        named = {f"{section}s": names for section, names in others.items()}
        print_json(groups | named | {"findings": facts})
        return 0
    would = "would be " if dry_run else ""
    for kind, names in groups.items():
        more = [
            f"{section} {name}"
            for section, by_kind in others.items()
            for name in by_kind[kind]
        ]
        for name in (*names, *more):
            print_line(f"{would}{kind}: {name}")
    print_findings(findings)
    return 0


def print_strict_error(
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
    """List all configurations."""
    application = open_application()
    now = time.time()
    sealed = application.keys.is_sealed()
    rows = [
        summary_facts(summary, summary.health.status(now=now, sealed=sealed))
        for summary in application.registry.summaries()
    ]
    if as_json:
        print_json(rows)
    elif rows:
        print_table(
            ("", *_COLUMNS),
            ((status_mark(row), *map(row.get, _COLUMNS.values())) for row in rows),
        )
    else:
        print_line("no configurations yet; create some with: outkey apply FILE")


def show(name: Name, *, as_json: AsJson = False) -> None:
    """Show one configuration; of its secrets only whether they are set."""
    application = open_application()
    configuration = application.registry.get(name)
    proxy = application.proxy_of(configuration)
    if as_json:
        print_json(
            {**configuration_facts(configuration), "proxy_in_use": proxy or None}
        )
    else:
        rows = [*configuration_rows(configuration), ("proxy in use", proxy or "none")]
        print_table(("Field", "Value"), rows)


def export(
    names: Annotated[
        list[str] | None, typer.Argument(help="all of them if left out")
    ] = None,
) -> None:
    """Write configurations as TOML; stored secrets become comments."""
    from outkey.core.config.export import render

    application = open_application()
    registry = application.registry
    chosen = [registry.get(name) for name in names] if names else registry.all()
    chosen_names = {configuration.name for configuration in chosen}
    lines = [line for line in registry.lines() if line.configuration in chosen_names]
    actor = administration_of(application).actor
    application.audit.note(
        *(
            Change(Tag.CONFIGURATION_EXPORTED, actor, configuration.name)
            for configuration in chosen
        )
    )
    # They belong to no configuration, so they are written with all of them.
    settings = application.sync_settings
    databases = () if names else settings.databases().values()
    pairs = () if names else settings.pairs().values()
    webhooks = () if names else application.stored_webhooks().values()
    print_line(render(chosen, lines, databases, pairs, webhooks).rstrip("\n"))


def rename(
    name: Name,
    new_name: Annotated[str, typer.Argument(help="the new name", metavar="NEW")],
    *,
    as_json: AsJson = False,
) -> None:
    """Rename a configuration; programs must send with the new name from then on."""
    application = open_application()
    administration_of(application).rename(name, new_name, time.time())
    if as_json:
        print_done("renamed", as_json=True, configuration=new_name)
    else:
        print_line(f"renamed: {name} → {new_name}")


def delete(name: Name, *, yes: Yes = False, as_json: AsJson = False) -> None:
    """Delete a configuration with its secrets and sync lines."""
    application = open_application()
    application.registry.get(name)
    confirm(f"Delete {name} with its secrets?", yes=yes)
    administration_of(application).remove(name, application.sync_settings)
    print_done("deleted", as_json=as_json, configuration=name)
