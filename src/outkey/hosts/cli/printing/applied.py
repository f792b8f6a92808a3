"""The output of `outkey apply`: changes, field by field, and findings."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from outkey.foundation.core.findings.checks import finding_facts
from outkey.hosts.cli.printing.output import (
    print_findings,
    print_json,
    print_lines,
)

if TYPE_CHECKING:
    from outkey.administration.core.document.differences import SectionDifference
    from outkey.administration.engine.editing.applying import Applied
    from outkey.foundation.core.fields.changes import FieldChange
    from outkey.foundation.core.findings.checks import Finding

_STYLES = {"created": "green", "updated": "yellow", "unchanged": "dim"}
_NOT_SET = "not set"


def print_applied(
    applied: "Applied",
    findings: "Sequence[tuple[str, Finding]]",
    *,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Print what a document has changed, or would change."""
    if as_json:
        print_json(_applied_facts(applied, findings))
        return
    print_lines(*_applied_lines(applied, dry_run=dry_run))
    print_findings(findings)


def _applied_facts(
    applied: "Applied", findings: "Sequence[tuple[str, Finding]]"
) -> dict[str, object]:
    """Return the changes of a document as JSON for programs."""
    return {
        **_names_of_configurations(applied),
        "connections": applied.connections,
        "lines": applied.lines,
        "databases": applied.databases,
        "pairs": applied.pairs,
        "webhooks": applied.webhooks,
        "changes": [difference.facts() for difference in applied.differences],
        "findings": [finding_facts(finding, name) for name, finding in findings],
    }


def _names_of_configurations(applied: "Applied") -> Mapping[str, tuple[str, ...]]:
    """Return the names of configurations by what happened to them."""
    return {
        "created": applied.created,
        "updated": applied.updated,
        "unchanged": applied.unchanged,
    }


def _applied_lines(applied: "Applied", *, dry_run: bool) -> Iterator[tuple[str, str]]:
    """Yield lines with their styles: each thing, and below it its changed fields.

    The fields of a new thing are those of the document: a dry run shows how they are
    understood, and what was saved is only named.
    """
    would = "would be " if dry_run else ""
    differences = {(item.section, item.name): item for item in applied.differences}
    sections = {
        "configuration": _names_of_configurations(applied),
        "connection": applied.connections,
        "line": applied.lines,
        "database": applied.databases,
        "pair": applied.pairs,
        "webhook": applied.webhooks,
    }
    for outcome, style in _STYLES.items():
        for section, names in sections.items():
            label = "" if section == "configuration" else f"{section} "
            for name in names[outcome]:
                yield style, f"{would}{outcome}: {label}{name}"
                difference = differences.get((section, name))
                if difference and (dry_run or not difference.is_new):
                    yield from _field_lines(difference)


def _field_lines(difference: "SectionDifference") -> Iterator[tuple[str, str]]:
    """Yield the fields of a difference, in two columns."""
    width = max((len(change.path) for change in difference.fields), default=0)
    for change in difference.fields:
        yield "", f"  {change.path:{width}}  {_change_text(difference, change)}"


def _change_text(difference: "SectionDifference", change: "FieldChange") -> str:
    """Return the old and the new value of a field; of a new thing, its value."""
    if difference.is_new:
        return change.new
    return f"{change.old or _NOT_SET} → {change.new or _NOT_SET}"
