"""The command that examines the installation and the posture of every configuration."""

import os
import shutil
import ssl
import stat
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from outkey.foundation.core.errors import ConfigError, StorageUnavailable
from outkey.foundation.core.findings.checks import Finding, Level, severity
from outkey.foundation.core.text import Text
from outkey.hosts.cli.printing.output import (
    count_items,
    print_line,
    print_styled,
    progress_bar,
)
from outkey.hosts.cli.session import AsJson, current_host, open_application
from outkey.sending.core.configuration.configuration import Configuration

if TYPE_CHECKING:
    from outkey.administration.core.findings.posture import InstallationFacts
    from outkey.administration.core.operating.checklist import CheckedLine
    from outkey.administration.engine.application import Application
    from outkey.hosts.cli.printing.doctor_reports import Examination, Findings

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


class Format(StrEnum):
    """How the findings are written."""

    TABLE = "table"
    JSON = "json"
    SARIF = "sarif"
    HTML = "html"


def doctor(
    *,
    as_json: AsJson = False,
    form: Annotated[
        Format,
        typer.Option(
            "--format", help="Write a table, json, sarif or html.", metavar="FORMAT"
        ),
    ] = Format.TABLE,
    production: Annotated[
        bool,
        typer.Option(
            "--production",
            help="Verify the production check list, line by line, instead of findings.",
        ),
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            help="Write to this file instead of standard output.", metavar="FILE"
        ),
    ] = None,
) -> int:
    """Examine the installation and every configuration.

    The exit code is 2 if there is an error among the findings, or if a line of the
    production check list is failed.
    """
    from outkey.hosts.cli.printing import doctor_reports as reports

    if as_json and form not in {Format.TABLE, Format.JSON}:
        raise ConfigError(
            Text("--json and --format contradict each other"), field="--format"
        )
    if production and form is Format.SARIF:
        raise ConfigError(
            Text("the production check list cannot be written as SARIF"),
            hint=Text("Use --format json, or leave --production out."),
            field="--format",
        )
    if as_json:
        form = Format.JSON
    examination = examine(current_host().home_folder())
    if production:
        examination = examination._replace(checklist=_check_production(examination))
    report = _format_report(examination, form, to_file=output is not None)
    if output is not None:
        write_report(output, report + "\n")
    elif form is Format.HTML:
        print_line(report)
    else:
        print_styled(report)
    return 0 if reports.is_sound(examination) else 2


def _check_production(examination: "Examination") -> "list[CheckedLine]":
    """Return the production check list with the verdict on each line."""
    from outkey.administration.core.operating.checklist import checked

    try:
        facts = current_host().production_facts(open_application())
    except StorageUnavailable:
        facts = current_host().production_facts(None)
    levels = [finding.level for _, finding in examination.findings]
    return checked(
        replace(
            facts,
            findings={finding.id for _, finding in examination.findings},
            errors=levels.count(Level.ERROR),
        )
    )


def _format_report(examination: "Examination", form: Format, *, to_file: bool) -> str:
    """Return the report in one of the formats."""
    from outkey.hosts.cli.printing import doctor_reports as reports

    findings = examination.findings
    summary = reports.summary(examination)
    match form:
        case Format.JSON:
            return reports.as_json(examination)
        case Format.SARIF:
            return reports.as_sarif(findings)
        case Format.HTML:
            return reports.as_html(examination, summary)
        case Format.TABLE:
            is_terminal = not to_file and sys.stdout.isatty()
            colours = is_terminal and "NO_COLOR" not in os.environ
            if examination.checklist is None:
                table = reports.as_text(findings, colours=colours)
            else:
                columns = shutil.get_terminal_size().columns if is_terminal else None
                table = reports.checklist_text(
                    examination.checklist, columns, colours=colours
                )
            return "\n".join(filter(None, [table, summary]))


def write_report(file: Path, text: str) -> None:
    """Write the report to a file."""
    try:
        file.write_text(text, encoding="utf-8")
    except OSError:
        raise ConfigError(
            Text("the file cannot be written"), field="--output"
        ) from None


def examine(home: Path) -> "Examination":
    """Return all findings, and what was examined."""
    from outkey.administration.core.findings.posture import (
        InstallationFacts,
        installation_posture,
    )
    from outkey.administration.core.policy.policy import Policy
    from outkey.administration.engine.operating.future_times import future_times
    from outkey.hosts.cli.printing.doctor_reports import Examination

    is_old = not ssl.HAS_TLSv1_3 or ssl.OPENSSL_VERSION_INFO < (3,)
    facts = InstallationFacts(
        time.time(),
        Policy(),
        readable=tuple(readable_files(home)),
        tls_library=ssl.OPENSSL_VERSION if is_old else "",
    )
    try:
        application = open_application()
        facts = replace(
            facts,
            policy=application.policy(),
            key_readable=_is_open_to_others(application.key_file),
            sealed=application.keys.is_sealed(),
            on_hold=application.is_on_hold(),
            token_problems=_token_problem_texts(application),
            future_times=tuple(future_times(application)),
            odd_rows=tuple(map(str, application.odd_rows())),
            triggers=tuple(application.triggers()),
        )
        facts = _with_backends(application, facts)
        configurations = application.registry.all()
        findings = _examine_all(application, configurations, facts)
        return Examination(
            in_order(findings, configurations),
            len(configurations),
            facts.policy.durability,
            facts.policy.proxy.url,
        )
    except StorageUnavailable:
        findings = [
            ("", finding)
            for finding in installation_posture(replace(facts, storage=False))
        ]
        return Examination(findings, 0, None)


def _with_backends(
    application: "Application", facts: "InstallationFacts"
) -> "InstallationFacts":
    """Add the facts about external stores of secrets; none is asked."""
    if application.open_stores is None:
        return facts
    backends = application.secret_backends()
    if problem := backends.file_problem():
        return replace(facts, backend_file=problem)
    return replace(
        facts,
        without_backend=backends.without_backend(),
        plain_backends=backends.plain(),
    )


def _token_problem_texts(application: "Application") -> tuple[Text, ...]:
    """Return the problems of the users who created API tokens."""
    from outkey.administration.core.access.token_owners import token_problems

    owners = current_host().token_owners(application)
    if owners is None:
        return ()
    tokens = application.api_tokens.all()
    problems = token_problems(tokens, owners, application.database.now())
    return tuple(problem.message for problem in problems)


def _examine_all(
    application: "Application",
    configurations: Sequence[Configuration],
    facts: "InstallationFacts",
) -> "Findings":
    """Examine with a progress bar."""
    audit_rows = application.audit_trail.count()
    opened = 0 if facts.sealed else len(configurations)
    with progress_bar("examining", audit_rows + opened) as advance:
        passing = partial(count_items, advance=advance)
        findings = application.doctor().examine(configurations, facts, passing, advance)
    if not facts.sealed:
        findings += _sending_errors(application, configurations)
    findings += [
        (f"line {name}", finding) for name, finding in application.lines.every_drift()
    ]
    return findings + [
        (f"webhook {stored.name}", finding)
        for stored in application.webhooks.stored().values()
        for finding in application.webhooks.findings(stored)
    ]


def _sending_errors(
    application: "Application", configurations: Sequence[Configuration]
) -> Iterator[tuple[str, Finding]]:
    """Yield why active configurations can never send."""
    for configuration in configurations:
        if not configuration.active:
            continue
        for finding in application.findings(configuration):
            if finding.level is Level.ERROR:
                yield configuration.name, finding


def in_order(
    findings: "Findings", configurations: Sequence[Configuration]
) -> "Findings":
    """Return findings by configuration, the worst first.

    Those of the installation come first, those of webhooks last.
    """
    names = ["", *(configuration.name for configuration in configurations)]
    names += [name for name, _ in findings]
    positions = {name: position for position, name in enumerate(dict.fromkeys(names))}
    return sorted(
        findings,
        key=lambda item: (positions[item[0]], severity(item[1].level)),
    )


def readable_files(home: Path) -> Iterator[str]:
    """Yield files of the home that other users may read.

    A policy is not secret, and the key has a check of its own.
    """
    for folder in (home / "config", home / "data"):
        for path in (folder, *sorted(folder.glob("*"))):
            if path.name not in {"policy.toml", "key"} and _is_open_to_others(path):
                yield str(path.relative_to(home))


def _is_open_to_others(path: Path) -> bool:
    """Whether other users of the machine may open a file; False if it is missing."""
    try:
        return bool(path.stat().st_mode & _OTHERS)
    except OSError:
        return False
