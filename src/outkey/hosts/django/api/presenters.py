"""Reports of tests as the HTTP interface returns them."""

from dataclasses import asdict

from outkey.hosts.preview_facts import finding_facts
from outkey.sending.engine.connection_test import Report


def report_facts(report: Report) -> dict[str, object]:
    """Return the report of a test."""
    return {
        "configuration": report.configuration,
        "ok": report.ok,
        "status": report.status,
        "cause": report.cause,
        "remedy": report.remedy,
        "steps": [asdict(step) for step in report.steps],
        "reasons": [
            {
                "id": suspicion.reason.id,
                "title": suspicion.reason.title,
                "evidence": suspicion.evidence,
                "remedy": suspicion.remedy,
            }
            for suspicion in report.suspicions
        ],
        "findings": [
            finding_facts(finding, report.configuration) for finding in report.findings
        ],
    }
