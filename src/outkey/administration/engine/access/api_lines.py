"""Sync lines that programs create, change and delete, by the token of a program."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from outkey.administration.core.access.api_tokens import Scope
from outkey.administration.core.access.versions import (
    LINE_DIFFERS,
    content_tag,
    naming_version,
    refuse_other_version,
)
from outkey.administration.core.access.written import naming_keys, written_line
from outkey.administration.core.document.document import Document
from outkey.administration.engine.access.api_access import ApiAccess
from outkey.administration.engine.access.own_targets import refuse_targets
from outkey.foundation.core.errors import (
    unknown_line,
)
from outkey.foundation.core.fields.choices import Network
from outkey.foundation.core.findings.checks import Finding
from outkey.sync.core.line.history import version_text
from outkey.sync.core.line.line import SyncLine
from outkey.sync.core.line.permissions import reaches_other_origins
from outkey.sync.core.line.section import read_line


class StoredLine(NamedTuple):
    """A line as it is stored, the number of its version, and its entity tag."""

    line: SyncLine
    number: int  # 0 if it was saved before versions were
    tag: str


class SavedLine(NamedTuple):
    """A line as it was saved, with what is wrong or risky about it."""

    stored: StoredLine
    created: bool
    findings: Sequence[Finding]


@dataclass(frozen=True, slots=True)
class ApiLines:
    """The changes of sync lines that a token permits, with the scope `manage`."""

    access: ApiAccess

    def get(self, name: str) -> StoredLine:
        """Return a line of the token's configurations; else UnknownConfiguration."""
        registry = self.access.application.registry
        # Read before the line: whoever changes it after that is noticed.
        versions = registry.line_versions(name, 1)
        line = self.access.line(name)
        number = versions[0].number if versions else 0
        text = versions[0].text if versions else version_text(line)
        # With the content: a line that was deleted and made again counts from 1.
        return StoredLine(line, number, content_tag(text, f"{number}-"))

    def save(
        self, name: str, facts: Mapping[str, object], *, whole: bool, version: str = ""
    ) -> SavedLine:
        """Create or change a line, as a document that is applied does.

        If `whole`, what is not named gets its default, and a name that is not stored
        yet creates a line. `version` is the one that the program has seen, as an ETag,
        "" for any.
        """
        self.access.token.demand(Scope.MANAGE)
        stored = self._stored(name)
        if stored is None and not whole:
            raise unknown_line()
        refuse_other_version(stored and stored.tag, version, LINE_DIFFERS)
        before = stored and stored.line
        base = None if whole else before
        application = self.access.application
        place = f"line.{name}."
        with naming_keys(place):
            line = read_line(name, written_line(name, facts, base))
            self._refuse_forbidden(before, line)
            document = Document((), (line,))
            applied = application.apply(
                self.access.administration, document, dry_run=True, replaces=True
            )
            found = application.lines.findings(document)
            findings = [
                replace(finding, field=str(finding.field).removeprefix(place))
                for _, finding in found
            ]
        if not applied.lines["unchanged"]:
            with naming_version(version, LINE_DIFFERS):
                self.access.administration.save_line(
                    line, seen=stored.number if stored else 0
                )
        return SavedLine(self.get(name), stored is None, findings)

    def remove(self, name: str, version: str = "") -> None:
        """Delete a line with its runs and its pair; its records stay.

        `version` is the one that the program has seen, as an ETag, "" for any.
        """
        self.access.token.demand(Scope.MANAGE)
        refuse_other_version(self.get(name).tag, version, LINE_DIFFERS)
        application = self.access.application
        application.lines.remove(self.access.administration, name)

    def _stored(self, name: str) -> StoredLine | None:
        return self.get(name) if self.access.stores_line(name) else None

    def _refuse_forbidden(self, before: SyncLine | None, line: SyncLine) -> None:
        """Raise unless the token may let a line send and write so."""
        network = self.access.show(line.configuration).network
        if network is Network.INTERNAL and reaches_other_origins(before, line):
            self.access.refuse_internal("job.origins")
        refuse_targets(
            self.access.application,
            line.sync,
            allow_targets=self.access.token.allow_targets,
        )
