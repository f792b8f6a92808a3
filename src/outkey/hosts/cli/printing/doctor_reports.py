"""The doctor's findings, written for users, programs and code scanners."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from html import escape
from importlib.metadata import version
from itertools import groupby
from textwrap import wrap
from typing import NamedTuple

from outkey.administration.core.findings.posture import POSTURE_CHECKS
from outkey.administration.core.operating.checklist import CHECKLIST, CheckedLine
from outkey.foundation.core.findings.checks import Finding, Level, finding_facts
from outkey.hosts.cli.printing.output import json_text, visible
from outkey.hosts.cli.printing.times import with_local_times
from outkey.sending.core.audit.events import Durability

Findings = list[tuple[str, Finding]]
_COLOURS = {Level.ERROR: "31", Level.WARNING: "33", Level.NOTICE: "36"}  # ANSI
_SARIF_LEVELS = {Level.ERROR: "error", Level.WARNING: "warning", Level.NOTICE: "note"}
_SURVIVES = {
    Durability.PROCESS: "a record survives a killed process",
    Durability.POWER: "a record survives a power failure",
}
# Words, not signs: they can be searched for, and read aloud.
_VERDICTS = {True: ("passed", "32"), False: ("failed", "31"), None: ("unseen", "33")}
_NARROWEST = 40  # columns of a text, however narrow the terminal is
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0"
    " 1rem}"
    "td,th{text-align:left;vertical-align:top;padding:.3rem .8rem .3rem 0}"
    ".error,.failed{color:#b42318}.warning,.unseen{color:#a15c07}.notice{color:#175cd3}"
    ".passed{color:#067647}"
    "small{color:#667085}"
)


class Examination(NamedTuple):
    """The doctor's findings, the number of configurations, and the policy.

    The durability is unknown where the installation cannot be opened.
    """

    findings: Findings
    configurations: int
    durability: Durability | None
    proxy: str = ""  # of all configurations without their own
    checklist: list[CheckedLine] | None = None  # where it was asked for


def summary(examination: Examination) -> str:
    """Return a line about the audit, and one that counts the findings by level."""
    if examination.checklist is not None:
        return _checklist_summary(examination.checklist)
    count = count_text(examination.configurations, "configuration")
    subject = f"the installation and {count}"
    if not examination.findings:
        line = f"no findings: {subject} are sound"
    else:
        counts = Counter(finding.level for _, finding in examination.findings)
        levels = ", ".join(count_text(counts[level], level) for level in Level)
        line = f"{levels}: {subject}"
    if examination.durability is None:
        return line
    survives = _SURVIVES[examination.durability]
    lines = [f"audit durability: {examination.durability} ({survives})"]
    if examination.proxy:
        lines.append(f"proxy: {examination.proxy}, unless a configuration has its own")
    return "\n".join([*lines, line])


def count_text(count: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless it is one."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def as_json(examination: Examination) -> str:
    """Return the document that programs read."""
    facts = [
        {**finding_facts(finding, name), "configuration": name or None}
        for name, finding in examination.findings
    ]
    document = {
        "ok": is_sound(examination),
        "findings": facts,
        "audit_durability": examination.durability,
        "proxy": examination.proxy or None,
    }
    if examination.checklist is not None:
        document["checklist"] = [asdict(line) for line in examination.checklist]
    return json_text(document)


def is_sound(examination: Examination) -> bool:
    """Whether no finding is an error, and no line of the check list is failed."""
    lines = examination.checklist or []
    is_failed = any(line.passed is False for line in lines)
    return not is_failed and not has_errors(examination.findings)


def has_errors(findings: Findings) -> bool:
    """Whether a finding is an error."""
    return any(finding.level is Level.ERROR for _, finding in findings)


def as_text(findings: Findings, *, colours: bool) -> str:
    """Return lines for a terminal, grouped by configuration.

    Written by hand: laying out a table of many thousand rows would take longer than
    examining them.
    """
    return "\n".join(_text_lines(findings, colours=colours))


def _text_lines(findings: Findings, *, colours: bool) -> Iterator[str]:
    """Yield a heading for each configuration, and two lines for each finding."""
    labels = {
        level: f"\x1b[{code}m{level:8}\x1b[0m" if colours else f"{level:8}"
        for level, code in _COLOURS.items()
    }
    width = max((len(finding.id) for _, finding in findings), default=0)
    for name, group in _group_by_name(findings):
        yield visible(name)
        for finding in group:
            place = f"{finding.field}: " if finding.field else ""
            head = f"  {labels[finding.level]} {finding.id:{width}}  "
            yield head + visible(place + with_local_times(finding.message))
            yield f"  {'':{width + 9}}  {visible(finding.hint)}"


def checklist_text(
    lines: Iterable[CheckedLine], columns: int | None, *, colours: bool
) -> str:
    """Return the check list for a terminal, as wide as its columns if it is one."""
    width = max(len(check.id) for check in CHECKLIST)
    indent = " " * (width + 10)
    rows = ["Each line says what must be true in production:"]
    for line in lines:
        word, colour = _VERDICTS[line.passed]
        label = f"\x1b[{colour}m{word:6}\x1b[0m" if colours else f"{word:6}"
        first, *more = _wrap_text(line.text, columns, indent)
        rows.append(f"{label}  {line.code:{width}}  {first}")
        rows += [indent + part for part in more]
        for part in _wrap_text(line.hint, columns, indent) if line.hint else ():
            rows.append(indent + (f"\x1b[2m{part}\x1b[0m" if colours else part))
    return "\n".join(rows)


def _wrap_text(text: str, columns: int | None, indent: str) -> list[str]:
    """Return a text in lines that fit beside an indent; None: in one line."""
    if columns is None:
        return [text]
    return wrap(text, max(columns - len(indent), _NARROWEST))


def _checklist_summary(lines: Iterable[CheckedLine]) -> str:
    """Return how many lines are passed and failed, and how many were not seen."""
    counts = Counter(line.passed for line in lines)
    return (
        f"{counts[True]} passed, {counts[False]} failed, {counts[None]} cannot be seen"
        " from here: check these yourself"
    )


def _group_by_name(findings: Findings) -> Iterator[tuple[str, Iterable[Finding]]]:
    """Yield the findings of each configuration; those of the installation first."""
    for name, group in groupby(findings, key=lambda pair: pair[0]):
        yield name or "the installation", (finding for _, finding in group)


def as_sarif(findings: Findings) -> str:
    """Return SARIF 2.1.0, which code scanners read."""
    rules = [
        {
            "id": check.id,
            "shortDescription": {"text": check.message},
            "help": {"text": check.hint},
            "defaultConfiguration": {"level": _SARIF_LEVELS[check.level]},
            "properties": {"area": str(check.area)},
        }
        for check in POSTURE_CHECKS
    ]
    driver = {"name": "outkey doctor", "version": version("outkey"), "rules": rules}
    results = [_sarif_result(name, finding) for name, finding in findings]
    run = {"tool": {"driver": driver}, "results": results}
    return json_text(
        {
            "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
            "version": "2.1.0",
            "runs": [run],
        }
    )


def _sarif_result(name: str, finding: Finding) -> dict[str, object]:
    """Return a finding as SARIF writes it; its place is a setting, not a file."""
    owner = f"configuration.{name}" if name else "installation"
    place = f"{owner}.{finding.field}" if finding.field else owner
    where = {"name": name or owner, "fullyQualifiedName": place, "kind": "object"}
    return {
        "ruleId": finding.id,
        "level": _SARIF_LEVELS[finding.level],
        "message": {"text": f"{finding.message}. {finding.hint}"},
        "locations": [{"logicalLocations": [where]}],
    }


def as_html(examination: Examination, summary_lines: str) -> str:
    """Return one page that loads nothing and runs no script."""
    sections = (
        [
            _html_section(name, group)
            for name, group in _group_by_name(examination.findings)
        ]
        if examination.checklist is None
        else [_html_checklist(examination.checklist)]
    )
    return "\n".join(
        [
            (
                '<!doctype html><html lang="en"><meta charset="utf-8"><title>outkey'
                " doctor</title>"
            ),
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            f"<style>{_STYLE}</style>",
            "<h1>outkey doctor</h1>",
            *(f"<p>{escape(line)}</p>" for line in summary_lines.splitlines()),
            *sections,
            "</html>",
        ]
    )


def _html_checklist(lines: Iterable[CheckedLine]) -> str:
    """Return the table of the check list."""
    rows = "".join(
        f'<tr><td class="{word}">{word}</td><td><code>{line.code}</code></td>'
        f"<td>{escape(line.text)}<br><small>{escape(line.hint)}</small></td></tr>"
        for line in lines
        for word, _ in [_VERDICTS[line.passed]]
    )
    return f"<h2>production check list</h2><table>{rows}</table>"


def _html_section(name: str, findings: Iterable[Finding]) -> str:
    """Return the table of one configuration's findings."""
    rows = "".join(
        f'<tr><td class="{f.level}">{f.level}</td><td><code>{f.id}</code></td>'
        f"<td>{escape(f.field or '')}</td>"
        f"<td>{escape(f.message)}<br><small>{escape(f.hint)}</small></td></tr>"
        for f in findings
    )
    return f"<h2>{escape(name)}</h2><table>{rows}</table>"
