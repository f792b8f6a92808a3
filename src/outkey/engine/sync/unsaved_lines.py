"""Sync lines that are not saved: one of a page, or all of a document."""

from collections.abc import Iterator
from dataclasses import replace

from outkey.core.config.configuration import Configuration, SyncLine
from outkey.core.config.document import Document
from outkey.core.errors import ConfigError, UnknownConfiguration
from outkey.core.findings.checks import Finding, Level
from outkey.engine.sync.runner import SyncRunner
from outkey.ports.storage import Registry
from outkey.ports.sync import LineSource


class UnsavedLine:
    """One line as it is on a page, with the stored configurations."""

    def __init__(self, line: SyncLine, configurations: LineSource) -> None:
        self._line = line
        self._configurations = configurations

    def get(self, name: str) -> Configuration:
        """Return a stored configuration."""
        return self._configurations.get(name)

    def line(self, _name: str) -> SyncLine:
        """Return the line on the page, which is the only one that is asked for."""
        return self._line


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
        """Return a line of the document."""
        return self._lines[name]

    def findings(self, runner: SyncRunner) -> Iterator[tuple[str, Finding]]:
        """Yield the findings of the lines that synchronize, by configuration."""
        for line in self._lines.values():
            if line.sync is None:
                continue
            try:
                findings = runner.check(line.name)
            except ConfigError as error:  # the host does not open its target
                findings = [
                    Finding("L014", Level.ERROR, error.message, error.hint, error.field)
                ]
            for finding in findings:
                field = f"line.{line.name}.{finding.field}"
                yield line.configuration, replace(finding, field=field)
