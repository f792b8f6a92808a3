"""The commands that set a value that a finding reports as missing."""

from dataclasses import replace
from shlex import quote

from outkey.foundation.core.findings.checks import Finding
from outkey.foundation.core.text import join_texts

_SECRET = "Enter it: outkey secret set {name} {field}"  # noqa: S105 - a command
_COMMANDS = {
    "E-secret_missing": _SECRET,
    "E-secret_rebind_required": _SECRET,
    "W002": "Enter it: outkey apply FILE, with username in [configuration.{name}]",
}


def with_command(configuration: str, finding: Finding) -> Finding:
    """Return a finding whose hint names the command that sets a missing value."""
    template = _COMMANDS.get(finding.id, "")
    command = template.format(name=quote(configuration), field=finding.field)
    return replace(finding, hint=join_texts(filter(None, [finding.hint, command])))
