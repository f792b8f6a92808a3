"""Previews and findings in JSON, as commands and the HTTP interface return them."""

from dataclasses import asdict
from typing import TYPE_CHECKING

from outkey.foundation.core.findings.checks import Finding

if TYPE_CHECKING:  # a command that previews nothing does not load it
    from outkey.sending.engine.exchange.preview import Preview


def finding_facts(finding: Finding, configuration: str) -> dict[str, object]:
    """Return a finding with the configuration that it is about."""
    return asdict(finding) | {"configuration": configuration}


def preview_facts(preview: "Preview", configuration: str) -> dict[str, object]:
    """Return a masked request."""
    return {
        "method": preview.method,
        "url": preview.url,
        "proxy": preview.proxy or None,
        "note": preview.note or None,
        "headers": [header._asdict() for header in preview.headers],
        "findings": [
            finding_facts(finding, configuration) for finding in preview.findings
        ],
    }
