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
_COMMANDS_OF_ACCOUNT = {
    **_COMMANDS,
    "W002": "Enter it: outkey connection update {name} {connection} --username USER",
}


def secret_command(configuration: str, field: str, connection: str = "") -> str:
    """Return the command that sets a secret, by reference where it is never stored."""
    account = f" --connection {quote(connection)}" if connection else ""
    source = " --from file:PATH" if field in ONLY_REFERENCES else ""
    return f"outkey secret set {quote(configuration)} {field}{account}{source}"


def with_command(configuration: str, finding: Finding, connection: str = "") -> Finding:
    """Return a finding whose hint names the command that sets a missing value."""
    commands = _COMMANDS_OF_ACCOUNT if connection else _COMMANDS
    template = commands.get(finding.id, "")
    command = template.format(
        name=quote(configuration),
        connection=quote(connection),
        command=secret_command(configuration, finding.field or "", connection),
    )
    return replace(finding, hint=join_texts(filter(None, [finding.hint, command])))
