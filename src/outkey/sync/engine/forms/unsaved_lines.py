"""Sync lines that are not saved, of a document or of a form, for a `SyncRunner`."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol

from outkey.foundation.core.errors import (
    ConfigError,
    StorageUnavailable,
    UnknownConfiguration,
)
from outkey.foundation.core.findings.checks import Finding
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.configuration.drafts import ConfigurationDraft
from outkey.sync.core.databases.section import OtherDatabase
from outkey.sync.core.line.checks import SHARED_FILE, TARGET_UNREACHABLE, UNKNOWN_TARGET
from outkey.sync.core.line.line import Direction, Sync, SyncLine
from outkey.sync.core.line.push_checks import CREATES_PULLED
from outkey.sync.core.mapping.targets import FileName, TableName, parse_target
from outkey.sync.core.pairs.section import Pair
from outkey.sync.engine.line_registry import Registry
from outkey.sync.engine.runs.runner import SyncRunner
from outkey.sync.ports.sync import LineSource


class LineWithSync(NamedTuple):
    """A line that synchronizes."""

    name: str
    configuration: str
    sync: Sync


class DocumentOfLines(Protocol):
    """The parts of a TOML document that checks of its lines need."""

    @property
    def drafts(self) -> Sequence[ConfigurationDraft]:
        """The configurations that it names."""

    @property
    def lines(self) -> Sequence[SyncLine]:
        """Its sync lines."""

    @property
    def databases(self) -> Sequence[OtherDatabase]:
        """Its other databases."""


class DocumentLines:
    """The lines of a document with their configurations, stored or new."""

    def __init__(
        self,
        registry: Registry,
        document: DocumentOfLines,
        known_databases: Collection[str] = (),
        pairs: Collection[Pair] = (),
    ) -> None:
        names = {database.name for database in document.databases}
        self._new_databases = names - {*known_databases}
        owners = {line.configuration for line in document.lines}
        self._lines = {line.name: line for line in document.lines}
        self._registry = registry
        self._pairs = pairs
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
        """Return a line of the document or a stored one, or raise unknown_line."""
        return self._lines.get(name) or self._registry.line(name)

    def _pulled_findings(self, push: SyncLine, sync: Sync) -> list[Finding]:
        """Warn of a push that creates what a pull of the same API has brought."""
        is_paired = any(push.name == pair.push for pair in self._pairs)
        if not sync.create or is_paired:
            return []
        pulls = [
            line.name
            for line in self._lines_into(sync.target)
            if line.sync.direction is Direction.PULL
            and line.configuration == push.configuration
        ]
        # One is reason enough.
        return [CREATES_PULLED.finding("create", pull=name) for name in pulls[:1]]

    def _file_findings(self, line: SyncLine, sync: Sync) -> list[Finding]:
        """Report another line that writes the same file: each would replace it."""
        if not isinstance(parse_target(sync.target), FileName):
            return []
        names = [other.name for other in self._lines_into(sync.target)]
        others = [name for name in names if name != line.name]
        return [SHARED_FILE.finding("target", line=name) for name in others[:1]]

    def _lines_into(self, target: str) -> list[LineWithSync]:
        """Return the lines of a target, as they are after the document is saved."""
        stored = {line.name: line for line in self._registry.lines()}
        return [
            LineWithSync(line.name, line.configuration, line.sync)
            for line in (stored | self._lines).values()
            if line.sync is not None and line.sync.target == target
        ]

    def _is_in_new_database(self, sync: Sync) -> bool:
        """Whether a line can be checked only after the document is saved."""
        name = parse_target(sync.target)
        return isinstance(name, TableName) and name.database in self._new_databases

    def findings(self, runner: SyncRunner) -> Iterator[tuple[str, Finding]]:
        """Yield the findings of the lines that synchronize, by configuration."""
        for line in self._lines.values():
            if line.sync is None or self._is_in_new_database(line.sync):
                continue
            try:
                findings = runner.check(line.name)
            except ConfigError as error:  # the host does not open its target
                findings = [UNKNOWN_TARGET.finding_from(error)]
            except StorageUnavailable as error:  # another database is down
                findings = [TARGET_UNREACHABLE.finding_from(error, "target")]
            findings += self._pulled_findings(line, line.sync)
            findings += self._file_findings(line, line.sync)
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
