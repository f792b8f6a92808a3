"""The command `outkey test`: steps, ranked reasons, and what outkey can put right itself."""

from typing import Annotated

import typer

from outkey.core.checks import Finding, Level
from outkey.core.diagnosis import Suspicion
from outkey.engine.verify import Report
from outkey.hosts.cli.home import AsJson, Name, desk_of, installation
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


def try_out(
    name: Name,
    *,
    fix: Annotated[bool, typer.Option("--fix", help="put right what outkey can")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="with --fix: do not ask")] = False,
    as_json: AsJson = False,
) -> int:
    """Test a configuration step by step, with cause and remedy."""
    here = installation()
    desk = desk_of(here)
    report = desk.test(here.gateway, name)
    if fix and (wanted := next((s for s in report.suspicions if s.fix), None)):
        from outkey.engine.fixes import apply_fix, difference  # noqa: PLC0415

        assert wanted.fix is not None  # noqa: S101 - chosen by it
        rows = difference(here.registry.get(name), wanted.fix)
        if not as_json:
            _say(report)
            say_table(("Field", "Now", "Then"), rows)
        ask_first(f"{wanted.fix.label}?", yes=yes)
        apply_fix(desk, here.gateway, name, wanted.fix)
        report = desk.test(here.gateway, name)
    if as_json:
        say_json(_facts(report))
    else:
        _say(report)
    return report_exit_code(report)


def _facts(report: Report) -> dict[str, object]:
    found = [_as_finding(rank, suspicion) for rank, suspicion in enumerate(report.suspicions)]
    return {
        "configuration": report.configuration,
        "ok": report.ok,
        "steps": [
            {"step": s.step, "ok": s.ok, "detail": s.detail, "ms": s.ms} for s in report.steps
        ],
        "status": report.status,
        "cause": report.cause,
        "remedy": report.remedy,
        "findings": [
            finding_facts(finding, report.configuration) for finding in (*found, *report.findings)
        ],
    }


def _as_finding(rank: int, suspicion: Suspicion) -> Finding:
    """Return a reason as programs read it: the likeliest is the error, the others are notices."""
    level = Level.NOTICE if rank else Level.ERROR
    return Finding(suspicion.reason.id, level, suspicion.evidence, suspicion.remedy)


def _say(report: Report) -> None:
    say_table(
        ("", "Step", "Detail", "ms"),
        (("ok" if s.ok else "FAILED", s.step, s.detail, s.ms) for s in report.steps),
    )
    if report.cause is None:
        say(f"{report.configuration} works")
    else:
        say(f"cause: {report.cause}\nremedy: {report.remedy}")
        for number, suspicion in enumerate(report.suspicions, start=1):
            say_lines(*_lines(number, suspicion, report.configuration))
    say_findings((report.configuration, finding) for finding in report.findings)


def _lines(number: int, suspicion: Suspicion, name: str) -> tuple[tuple[str, str], ...]:
    reason = suspicion.reason
    lines = [
        ("bold", f"{number}. {reason.title} ({reason.id})"),
        ("", f"   {suspicion.evidence}"),
    ]
    if number > 1:  # the first one's remedy stands above
        lines.append(("dim", f"   {suspicion.remedy}"))
    if suspicion.fix:
        lines.append(("green", f"   {suspicion.fix.label}: outkey test {name} --fix"))
    return tuple(lines)
