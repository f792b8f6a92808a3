"""Sync lines that are not saved, of a document or of a form, for a `SyncRunner`."""

from collections.abc import Iterator
from dataclasses import replace

from outkey.core.config.configuration import Configuration, SyncLine
from outkey.core.config.document import Document
from outkey.core.errors import ConfigError, UnknownConfiguration, unknown_line
from outkey.core.findings.checks import Finding
from outkey.core.findings.line_checks import UNKNOWN_TARGET
from outkey.engine.managing.registry import Registry
from outkey.engine.sync.runner import SyncRunner
from outkey.ports.sync import LineSource


class DocumentLines:
    """The lines of a document with their configurations, stored or new."""

    def __init__(self, registry: Registry, document: Document) -> None:
        owners = {line.configuration for line in document.lines}
        self._lines = {line.name: line for line in document.lines}
        self._configurations = registry.find(owners)
        for draft in document.drafts:
            if draft.name in owners - self._configurations.keys():
                self._configurations[draft.name] = draft.configuration()

    def get(self, name: str) -> Configuration:
        """Return a configuration that a line names, or raise UnknownConfiguration."""
        if name not in self._configurations:
            raise UnknownConfiguration
        return self._configurations[name]

    def line(self, name: str) -> SyncLine:
        """Return a line of the document, or raise UnknownConfiguration."""
        if name not in self._lines:
            raise unknown_line()
        return self._lines[name]

    def findings(self, runner: SyncRunner) -> Iterator[tuple[str, Finding]]:
        """Yield the findings of the lines that synchronize, by configuration."""
        for line in self._lines.values():
            if line.sync is None:
                continue
            try:
                findings = runner.check(line.name)
            except ConfigError as error:  # the host does not open its target
                findings = [UNKNOWN_TARGET.finding_from(error)]
            for finding in findings:
                field = f"line.{line.name}.{finding.field}"
                yield line.configuration, replace(finding, field=field)


class WithLine:
    """The configurations of an installation with one line as a form has it."""

    def __init__(self, configurations: LineSource, line: SyncLine) -> None:
        self._configurations = configurations
        self._line = line

    def line(self, name: str) -> SyncLine:
        """Return the line of the form under its name; others as they are stored."""
        if name == self._line.name:
            return self._line
        return self._configurations.line(name)

    def get(self, name: str) -> Configuration:
        """Return one configuration, or raise UnknownConfiguration."""
        return self._configurations.get(name)
