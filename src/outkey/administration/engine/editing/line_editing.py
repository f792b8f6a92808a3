"""Editing a sync line by a form: what was entered, what it needs, how it is saved.

A form has the fields `name`, `configuration`, `method`, `path`, and `sync` with TOML.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from outkey.administration.engine.editing.administration import Administration
from outkey.foundation.core.errors import ConfigError, UnknownConfiguration, line_exists
from outkey.foundation.core.fields.field_kinds import table_errors
from outkey.foundation.core.permission import Allowed, Permission
from outkey.sending.core.configuration.fields import BY_PATH
from outkey.sending.core.configuration.permissions import MAY_NOT_EDIT_SCRIPT
from outkey.sync.core.line.fields import CALL_FIELDS
from outkey.sync.core.line.history import LineVersion, read_version, written_sync
from outkey.sync.core.line.line import SyncLine
from outkey.sync.core.line.permissions import line_requirements, script_of
from outkey.sync.core.line.section import parse_sync, read_request
from outkey.sync.engine.record_rights import RecordRights, refuse_forbidden
from outkey.sync.engine.runs.runner import SyncRunner
from outkey.sync.ports.sync import LineSource

REQUEST_INPUTS = ("name", "configuration", "method", "path")
_NEW_LINE = {
    "name": "",
    "configuration": "",
    "method": "GET",
    "path": "/",
    "sync": "",
}


def line_values(line: SyncLine | None) -> dict[str, str]:
    """Return the values of the form for a stored line, or for a new one."""
    if line is None:
        return dict(_NEW_LINE)
    values = {name: str(getattr(line, name)) for name in REQUEST_INPUTS}
    return values | {"sync": written_sync(line)}


def entered_line_values(
    values: Mapping[str, str], stored: SyncLine | None
) -> dict[str, str]:
    """Return the values of a form; what it lacks, and the name, stay as stored."""
    before = line_values(stored)
    entered = {name: values.get(name, before[name]).strip() for name in before}
    return entered | ({"name": stored.name} if stored else {})


def request_errors(
    values: Mapping[str, str], stored: SyncLine | None, lines: LineSource
) -> dict[str, ConfigError]:
    """Return everything that is wrong with a form's name and request, by input."""
    request = {name: values[name] for name in REQUEST_INPUTS if name != "name"}
    errors: dict[str, ConfigError] = {}
    try:
        BY_PATH["name"].parse(values["name"])
        if stored is None:
            _refuse_taken(values["name"], lines)
    except ConfigError as error:
        errors["name"] = error
    for problem in table_errors(CALL_FIELDS, request):
        errors.setdefault(str(problem.field), problem)
    return errors


@dataclass(frozen=True, slots=True)
class LineEdit:
    """A sync line that a user entered."""

    stored: SyncLine | None
    line: SyncLine

    @classmethod
    def read(
        cls,
        values: Mapping[str, str],
        stored: SyncLine | None,
        lines: LineSource,
    ) -> "LineEdit":
        """Read a form, or raise ConfigError with the field of the first error."""
        if stored is None:
            _refuse_taken(values["name"], lines)
        text = values["sync"].replace("\r\n", "\n")
        request = {name: values[name] for name in REQUEST_INPUTS if name != "name"}
        sync = parse_sync(text) if text else None
        line = read_request(values["name"], request, sync)
        return cls(stored, replace(line, source=text))

    def refuse_script(self, allowed: Allowed) -> None:
        """Raise ConfigError if the user may not write the script of this line.

        That holds for a sample too, which runs the script before it is saved.
        """
        is_other = script_of(self.stored) != script_of(self.line)
        if is_other and not allowed(Permission.EDIT_SCRIPT):
            raise ConfigError(MAY_NOT_EDIT_SCRIPT, field="script")

    def save(
        self,
        administration: Administration,
        *,
        allowed: Allowed,
        runner: SyncRunner,
        rights: RecordRights,
        seen: int | None = None,
    ) -> None:
        """Save the line, unless the user lacks a right or every run of it would fail.

        `runner` must find this line under its name (`unsaved_lines.WithLine`). `seen`
        is the version that the user has seen: another one raises EditConflict.
        """
        network = administration.registry.get(self.line.configuration).network
        for requirement in line_requirements(self.stored, self.line, network):
            if not allowed(requirement.permission):
                raise ConfigError(requirement.message, field=requirement.field)
        if self.line.sync is not None:
            refuse_forbidden(rights, self.line.sync, administration.registry)
            runner.refuse_faults(self.line.name)
        administration.save_line(self.line, seen=seen)


def restored_line(
    version: LineVersion, stored: SyncLine, lines: LineSource
) -> SyncLine:
    """Return a line as a version has it, for the configuration as it is called now.

    A version names its configuration, which may have been renamed or deleted since:
    then the line keeps the one that it has.
    """
    restored = read_version(stored.name, version.text)
    present = lines.get(stored.configuration)
    was_renamed = any(
        name == restored.configuration and version.at <= until
        for name, until in present.former_names
    )
    if not was_renamed:
        try:
            lines.get(restored.configuration)
        except UnknownConfiguration:
            was_renamed = True
    if not was_renamed:
        return restored
    return replace(restored, configuration=stored.configuration)


def _refuse_taken(name: str, lines: LineSource) -> None:
    """Raise ConfigError if there is a line of this name, readable or not."""
    try:
        lines.line(name)
    except UnknownConfiguration:
        return
    except ConfigError:
        pass
    raise line_exists()
