"""The sync lines of a document that is not saved, and what is wrong with them."""

from collections.abc import Iterator
from dataclasses import replace

from outkey.core.config.configuration import Configuration, SyncLine
from outkey.core.config.document import Document
from outkey.core.errors import ConfigError, UnknownConfiguration
from outkey.core.findings.checks import Finding
from outkey.core.findings.line_checks import UNKNOWN_TARGET
from outkey.engine.managing.registry import Registry
from outkey.engine.sync.runner import SyncRunner


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
                findings = [UNKNOWN_TARGET.finding_from(error)]
            for finding in findings:
                field = f"line.{line.name}.{finding.field}"
                yield line.configuration, replace(finding, field=field)
