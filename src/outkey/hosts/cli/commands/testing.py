"""The command `outkey test`: steps, ranked reasons, and what outkey can fix itself."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from outkey.foundation.core.errors import UnknownConnection
from outkey.foundation.core.findings.checks import Finding, Level, finding_facts
from outkey.foundation.core.text import join_texts
from outkey.hosts.cli.input import read_reference
from outkey.hosts.cli.printing.finding_commands import with_command
from outkey.hosts.cli.printing.output import (
    confirm,
    print_findings,
    print_json,
    print_line,
    print_lines,
    print_table,
    report_exit_code,
)
from outkey.hosts.cli.printing.presenters import pause_text
from outkey.hosts.cli.printing.times import with_local_times
from outkey.hosts.cli.session import (
    AsJson,
    ConnectionId,
    Name,
    SubjectToken,
    Yes,
    open_application,
)
from outkey.hosts.command_host import administration_of
from outkey.sending.engine.exchange.calls import find_account

if TYPE_CHECKING:
    from outkey.sending.core.diagnosis.evidence import Suspicion
    from outkey.sending.engine.connection_test import Report
    from outkey.sending.engine.exchange.preview import Preview


def check_connection(
    name: Name,
    *,
    connection: ConnectionId = None,
    fix: Annotated[
        bool,
        typer.Option(
            "--fix", help="Make the change that outkey proposes, after asking."
        ),
    ] = False,
    yes: Yes = False,
    subject_token: SubjectToken = None,
    as_json: AsJson = False,
) -> int:
    """Test a configuration step by step, with cause and remedy."""
    subject = read_reference(subject_token)
    application = open_application()
    administration = administration_of(application)
    report = administration.test(application.sender, name, subject, connection)
    proposal = report.suspicions[0].fix if fix and report.suspicions else None
    if proposal:
        from outkey.administration.engine.editing.fixes import (
            apply_fix,
            apply_fix_to_account,
            difference,
        )

        tested = find_account(application.registry, name, connection)
        rows = difference(tested, proposal)
        if not as_json:
            print_report(report)
            print_table(("Field", "Now", "Then"), rows)
        confirm(f"{proposal.label}?", yes=yes)
        context = application.sender.context
        if connection is None:
            apply_fix(administration, context, name, proposal)
        else:
            apply_fix_to_account(administration, context, name, connection, proposal)
        report = administration.test(application.sender, name, subject, connection)
    if as_json:
        print_json(report_facts(report))
        return report_exit_code(report)
    if proposal:
        print_line(f"changed: {proposal.label}")
    print_report(report)
    if not isinstance(report.error, UnknownConnection):
        tested = find_account(application.registry, name, connection)
        if tested.paused:
            print_line(f"paused: {pause_text(tested)}")
    if fix and not proposal:
        print_line("outkey cannot fix this itself")
    return report_exit_code(report)


def report_facts(report: Report) -> dict[str, object]:
    """Return a report as programs read it; its reasons are findings too."""
    name = report.configuration
    findings = [
        *(
            _reason_finding(rank, suspicion, report)
            for rank, suspicion in enumerate(report.suspicions)
        ),
        *_findings_with_commands(report),
    ]
    return {
        "configuration": name,
        "ok": report.ok,
        "steps": list(map(asdict, report.steps)),
        "status": report.status,
        "cause": report.cause,
        "certainty": report.certainty,
        "remedy": report.remedy,
        "findings": [finding_facts(finding, name) for finding in findings],
    }


def _reason_finding(rank: int, suspicion: Suspicion, report: Report) -> Finding:
    """Return a reason as a finding: the likeliest is an error, the others notices."""
    level = Level.NOTICE if rank else Level.ERROR
    evidence = join_texts(filter(None, [suspicion.evidence, suspicion.doubt]))
    message = join_texts([suspicion.reason.title, evidence], ": ")
    hint = join_texts(filter(None, [suspicion.remedy, _fix_command(suspicion, report)]))
    return Finding(suspicion.reason.id, level, message, hint)


def _fix_command(suspicion: Suspicion, report: Report) -> str:
    """Return the command that applies a reason's fix, if it has one."""
    fix = suspicion.fix
    if not fix:
        return ""
    account = f" --connection {shlex.quote(report.connection)}"
    command = f"outkey test {shlex.quote(report.configuration)}"
    return f"{fix.label}: {command}{account if report.connection else ''} --fix"


def _findings_with_commands(report: Report) -> Iterator[Finding]:
    """Yield the findings; a missing value's hint names the command that sets it."""
    for finding in report.findings:
        yield with_command(report.configuration, finding, report.connection)


def print_report(report: Report) -> None:
    """Print the steps, the cause with its reasons, the request, and the findings."""
    name = " ".join(filter(None, (report.configuration, report.connection)))
    rows = [
        ("ok" if step.ok else "FAILED", step.step, step.detail, step.ms)
        for step in report.steps
    ]
    print_table(("", "Step", "Detail", "ms"), rows)
    if report.proves_nothing:
        print_line(
            f"{name} responds, but the test proves nothing: a request without"
            " credentials gets the same response"
        )
    elif report.cause is None:
        print_line(f"{name} works")
    else:
        code = f" ({report.code})" if report.code else ""
        print_line(f"cause: {report.cause_word}{code}\nremedy: {report.remedy}")
        for number, suspicion in enumerate(report.suspicions, start=1):
            print_lines(*_reason_lines(number, suspicion, report))
        if report.sent:
            print_lines(*_request_lines(report.sent))
    print_findings((name, finding) for finding in _findings_with_commands(report))


def _request_lines(request: Preview) -> list[tuple[str, str]]:
    """Return the masked request, each line with its style."""
    headers = [f"      {name}: {value}" for name, value, _ in request.headers]
    lines = [f"sent: {request.method} {request.url}", *headers]
    return [("dim", line) for line in lines]


def _reason_lines(
    number: int, suspicion: Suspicion, report: Report
) -> list[tuple[str, str]]:
    """Return a reason with its evidence and remedy, each line with its style."""
    reason = suspicion.reason
    certainty = suspicion.certainty.label
    lines = [
        ("bold", f"{number}. {certainty}: {reason.title} ({reason.id})"),
        ("", f"   {with_local_times(suspicion.evidence)}"),
    ]
    if suspicion.rivals:
        lines.append(("", f"   {suspicion.doubt}"))
    if number > 1:  # the first one's remedy is printed above
        lines.append(("dim", f"   {suspicion.remedy}"))
    if command := _fix_command(suspicion, report):
        lines.append(("green", f"   {command}"))
    return lines
