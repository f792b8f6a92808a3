"""What the doctor found, written for people, programs and code scanners."""

from collections import Counter
from collections.abc import Iterable, Iterator
from html import escape
from importlib.metadata import version
from itertools import groupby

from outkey.core.findings.checks import Finding, Level
from outkey.core.findings.posture import POSTURE_CHECKS
from outkey.hosts.cli.output import finding_facts, json_text, visible

Found = list[tuple[str, Finding]]
_COLOURS = {Level.ERROR: "31", Level.WARNING: "33", Level.NOTICE: "36"}  # ANSI
_SARIF_LEVELS = {Level.ERROR: "error", Level.WARNING: "warning", Level.NOTICE: "note"}
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0"
    " 1rem}"
    "td,th{text-align:left;vertical-align:top;padding:.3rem .8rem .3rem 0}"
    ".error{color:#b42318}.warning{color:#a15c07}.notice{color:#175cd3}small{color:#667085}"
)


def summary(found: Found, configurations: int) -> str:
    """Return the one line that says how it stands."""
    counts = Counter(finding.level for _, finding in found)
    said = [f"{counts[level]} {level}{'s' * (counts[level] != 1)}" for level in Level]
    looked = f"{configurations} configuration{'s' * (configurations != 1)}"
    if not found:
        return f"nothing found: the installation and {looked} are sound"
    return f"{', '.join(said)}: the installation and {looked}"


def as_json(found: Found) -> str:
    """Return the document that programs read."""
    facts = [
        {**finding_facts(f, name), "configuration": name or None} for name, f in found
    ]
    return json_text({"ok": not failed(found), "findings": facts})


def failed(found: Found) -> bool:
    """Tell whether something is an error."""
    return any(finding.level is Level.ERROR for _, finding in found)


def as_text(found: Found, *, colours: bool) -> str:
    """Return lines for a terminal, grouped by configuration.

    Written by hand: a table of many thousand rows would take longer to lay out than to find.
    """
    return "\n".join(_lines(found, colours=colours))


def _lines(found: Found, *, colours: bool) -> Iterator[str]:
    words = {
        level: f"\x1b[{code}m{level:8}\x1b[0m" if colours else f"{level:8}"
        for level, code in _COLOURS.items()
    }
    width = max((len(finding.id) for _, finding in found), default=0)
    for name, findings in _groups(found):
        yield visible(name)
        for finding in findings:
            place = f"{finding.field}: " if finding.field else ""
            head = f"  {words[finding.level]} {finding.id:{width}}  "
            yield head + visible(place + finding.message)
            yield f"  {'':{width + 9}}  {visible(finding.hint)}"


def _groups(found: Found) -> Iterator[tuple[str, Iterable[Finding]]]:
    for name, group in groupby(found, key=lambda pair: pair[0]):
        yield name or "the installation", (finding for _, finding in group)


def as_sarif(found: Found) -> str:
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
    results = [_result(name, finding) for name, finding in found]
    run = {"tool": {"driver": driver}, "results": results}
    return json_text(
        {
            "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
            "version": "2.1.0",
            "runs": [run],
        }
    )


def _result(name: str, finding: Finding) -> dict[str, object]:
    owner = f"configuration.{name}" if name else "installation"
    place = f"{owner}.{finding.field}" if finding.field else owner
    where = {"name": name or owner, "fullyQualifiedName": place, "kind": "object"}
    return {
        "ruleId": finding.id,
        "level": _SARIF_LEVELS[finding.level],
        "message": {"text": f"{finding.message}. {finding.hint}"},
        "locations": [{"logicalLocations": [where]}],
    }


def as_html(found: Found, line: str) -> str:
    """Return one page that needs nothing else and can run nothing."""
    return "\n".join(
        [
            (
                '<!doctype html><html lang="en"><meta charset="utf-8"><title>outkey'
                " doctor</title>"
            ),
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            f"<style>{_STYLE}</style><h1>outkey doctor</h1><p>{escape(line)}</p>",
            *(_section(name, findings) for name, findings in _groups(found)),
            "</html>",
        ]
    )


def _section(name: str, findings: Iterable[Finding]) -> str:
    rows = "".join(
        f'<tr><td class="{f.level}">{f.level}</td><td><code>{f.id}</code></td>'
        f"<td>{escape(f.field or '')}</td>"
        f"<td>{escape(f.message)}<br><small>{escape(f.hint)}</small></td></tr>"
        for f in findings
    )
    return f"<h2>{escape(name)}</h2><table>{rows}</table>"
