"""Previews in JSON, as commands and the HTTP interface return them."""

from typing import TYPE_CHECKING

from outkey.foundation.core.findings.checks import finding_facts

if TYPE_CHECKING:  # a command that previews nothing does not load it
    from outkey.sending.engine.exchange.preview import Preview


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
