"""The command `outkey test`: steps, ranked reasons, and what outkey can put right itself."""

import shlex
from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Annotated

import typer

from outkey.core.diagnosis import Suspicion
from outkey.core.findings.checks import Finding, Level
from outkey.engine.managing.connection_test import Report
from outkey.hosts.cli.output import (
    ask_first,
    finding_facts,
    report_exit_code,
    say,
    say_findings,
    say_json,
    say_lines,
    say_table,
)
from outkey.hosts.cli.presenters import pause_words
from outkey.hosts.cli.session import AsJson, Name, desk_of, installation

# What enters the thing that a finding misses.
_SECRET = "Enter it: outkey secret set {name} {field}"  # noqa: S105 - a command
_ENTERING = {
    "E-secret_missing": _SECRET,
    "E-secret_rebind_required": _SECRET,
    "W002": "Enter it: outkey apply FILE, with username in [configuration.{name}]",
}


def try_out(
    name: Name,
    *,
    fix: Annotated[
        bool, typer.Option("--fix", help="put right what outkey can")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="with --fix: do not ask")] = False,
    as_json: AsJson = False,
) -> int:
    """Test a configuration step by step, with cause and remedy."""
    here = installation()
    desk = desk_of(here)
    report = desk.test(here.gateway, name)
    wanted = report.suspicions[0].fix if fix and report.suspicions else None
    if wanted:
        from outkey.engine.managing.fixes import apply_fix, difference

        rows = difference(here.registry.get(name), wanted)
        if not as_json:
            _say(report)
            say_table(("Field", "Now", "Then"), rows)
        ask_first(f"{wanted.label}?", yes=yes)
        apply_fix(desk, here.gateway, name, wanted)
        report = desk.test(here.gateway, name)
    if as_json:
        say_json(_facts(report))
        return report_exit_code(report)
    if wanted:
        say(f"changed: {wanted.label}")
    _say(report)
    if (kept := here.registry.get(name)).paused:
        say(f"paused: {pause_words(kept)}")
    if fix and not wanted:
        say("nothing here that outkey can put right itself")
    return report_exit_code(report)


def _facts(report: Report) -> dict[str, object]:
    name, reasons = report.configuration, enumerate(report.suspicions)
    found = [_as_finding(rank, suspicion, name) for rank, suspicion in reasons]
    return {
        "configuration": name,
        "ok": report.ok,
        "steps": list(map(asdict, report.steps)),
        "status": report.status,
        "cause": report.cause,
        "remedy": report.remedy,
        "findings": [
            finding_facts(finding, name) for finding in (*found, *_findings(report))
        ],
    }


def _as_finding(rank: int, suspicion: Suspicion, name: str) -> Finding:
    """Return a reason as programs read it: the likeliest is the error, the others are notices."""
    level = Level.NOTICE if rank else Level.ERROR
    message = f"{suspicion.reason.title}: {suspicion.evidence}"
    hint = f"{suspicion.remedy} {_offer(suspicion, name)}".strip()
    return Finding(suspicion.reason.id, level, message, hint)


def _offer(suspicion: Suspicion, name: str) -> str:
    fix = suspicion.fix
    return f"{fix.label}: outkey test {shlex.quote(name)} --fix" if fix else ""


def _findings(report: Report) -> Iterator[Finding]:
    """Yield the findings; those about something missing say which command enters it."""
    name = shlex.quote(report.configuration)
    for finding in report.findings:
        command = _ENTERING.get(finding.id, "").format(name=name, field=finding.field)
        yield replace(finding, hint=f"{finding.hint} {command}".strip())


def _say(report: Report) -> None:
    say_table(
        ("", "Step", "Detail", "ms"),
        (("ok" if s.ok else "FAILED", s.step, s.detail, s.ms) for s in report.steps),
    )
    if report.proves_nothing:
        say(
            f"{report.configuration} answers, but proves nothing: everybody gets this"
            " answer"
        )
    elif report.cause is None:
        say(f"{report.configuration} works")
    else:
        code = f" ({report.code})" if report.code else ""
        say(f"cause: {report.cause}{code}\nremedy: {report.remedy}")
        for number, suspicion in enumerate(report.suspicions, start=1):
            say_lines(*_lines(number, suspicion, report.configuration))
        if report.sent:
            headers = (
                ("dim", f"      {name}: {value}")
                for name, value, _ in report.sent.headers
            )
            say_lines(
                ("dim", f"sent: {report.sent.method} {report.sent.url}"), *headers
            )
    say_findings((report.configuration, finding) for finding in _findings(report))


def _lines(number: int, suspicion: Suspicion, name: str) -> tuple[tuple[str, str], ...]:
    reason = suspicion.reason
    lines = [
        ("bold", f"{number}. {reason.title} ({reason.id})"),
        ("", f"   {suspicion.evidence}"),
    ]
    if number > 1:  # the first one's remedy stands above
        lines.append(("dim", f"   {suspicion.remedy}"))
    if offer := _offer(suspicion, name):
        lines.append(("green", f"   {offer}"))
    return tuple(lines)
