"""The commands that set a value that a finding reports as missing."""

from dataclasses import replace
from shlex import quote

from outkey.foundation.core.findings.checks import Finding
from outkey.foundation.core.text import join_texts
from outkey.sending.core.configuration.secret_values import ONLY_REFERENCES

_SECRET = "Enter it: {command}"  # noqa: S105 - the start of a hint
_COMMANDS = {
    "E-secret_missing": _SECRET,
    "E-secret_rebind_required": _SECRET,
    "W002": "Enter it: outkey apply FILE, with username in [configuration.{name}]",
}


def secret_command(configuration: str, field: str) -> str:
    """Return the command that sets a secret, by reference where it is never stored."""
    source = " --from file:PATH" if field in ONLY_REFERENCES else ""
    return f"outkey secret set {quote(configuration)} {field}{source}"


def with_command(configuration: str, finding: Finding) -> Finding:
    """Return a finding whose hint names the command that sets a missing value."""
    template = _COMMANDS.get(finding.id, "")
    command = template.format(
        name=quote(configuration),
        command=secret_command(configuration, finding.field or ""),
    )
    return replace(finding, hint=join_texts(filter(None, [finding.hint, command])))
