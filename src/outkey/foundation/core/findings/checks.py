"""Findings as data that every interface can show, and the checks that they come from.

A check is one row: id, level, message and hint. Rows that need more are checks with
more columns: those of the doctor in `posture.py`, of monitoring in `notice_checks.py`,
of the production check list in `checklist.py`. `catalogue.py` lists them all. An id may
have several rows, one for each message.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from enum import StrEnum

from outkey.foundation.core.errors import OutkeyError
from outkey.foundation.core.text import NO_TEXT, Text, build_text


class Level(StrEnum):
    """How much a finding matters: an error stops requests, a notice only informs."""

    ERROR = "error"
    WARNING = "warning"
    NOTICE = "notice"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to know about a configuration, a sync line or the installation."""

    id: str
    level: Level
    message: Text
    hint: Text = NO_TEXT
    field: str | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """The texts of a finding, by its id. Message and hint are templates of a `Text`."""

    id: str
    level: Level
    message: str
    hint: str
    # The notice that is open while there is such a finding; most open none.
    notice: str = field(default="", kw_only=True)

    def finding(self, field: str | None, **values: object) -> Finding:
        """Return a finding about a field, with these values in its message and hint."""
        message, hint = self.texts(**values)
        return Finding(self.id, self.level, message, hint, field)

    def texts(self, **values: object) -> tuple[Text, Text]:
        """Return message and hint with these values."""
        return build_text(self.message, values), build_text(self.hint, values)

    def finding_from(self, error: OutkeyError, field: str | None = None) -> Finding:
        """Return a finding with the message and hint of an error, for its field."""
        return Finding(
            self.id, self.level, error.message, error.hint, field or error.field
        )


def error_finding(error: OutkeyError) -> Finding:
    """Return the finding of an error that stops requests."""
    code = f"E-{error.code}"
    return Finding(code, Level.ERROR, error.message, error.hint, error.field)


def finding_facts(finding: Finding, configuration: str) -> dict[str, object]:
    """Return a finding as programs read it, with the configuration it is about."""
    return asdict(finding) | {"configuration": configuration or None}


def merge_findings(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return findings that read the same once, at the field of the first."""
    merged: dict[tuple[str, str, str], Finding] = {}
    for finding in findings:
        texts = (finding.level, str(finding.message), str(finding.hint))
        merged.setdefault(texts, finding)
    return tuple(merged.values())


def by_severity(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings with errors first and notices last."""
    return sorted(findings, key=lambda finding: severity(finding.level))


def severity(level: Level) -> int:
    """Return the position of a level; the worst has the lowest."""
    return list(Level).index(level)
