"""The actions of users on sync lines, each recorded first."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from outkey.foundation.core.errors import line_exists
from outkey.sending.core.audit.events import Tag
from outkey.sending.core.configuration.fields import BY_PATH
from outkey.sync.core.mapping.targets import TABLE_PREFIX

if TYPE_CHECKING:  # loaded when it is used: most commands and pages need none of it
    from collections.abc import Callable, Iterator, Sequence

    from outkey.administration.core.document.document import Document
    from outkey.administration.engine.editing.administration import Administration
    from outkey.administration.engine.subjects.runs import Synchronization
    from outkey.foundation.core.findings.checks import Finding
    from outkey.foundation.core.text import Text
    from outkey.sync.core.drift.drift import LineShape
    from outkey.sync.core.line.line import Sync, SyncLine
    from outkey.sync.core.line_form.sample import LineSample
    from outkey.sync.core.run.effects import Effect
    from outkey.sync.core.suggest.suggest import Suggestion
    from outkey.sync.engine.line_registry import Registry
    from outkey.sync.engine.record_rights import RecordRights
    from outkey.sync.engine.runs.runner import SyncRunner
    from outkey.sync.engine.runs.runs import Runs
    from outkey.sync.engine.sync_settings import SyncSettings


@dataclass(frozen=True, slots=True)
class LineActions:
    """Tries, pauses, renames and deletes sync lines."""

    registry: Registry
    runs: Runs
    settings: SyncSettings
    sync: Synchronization
    # Refuses a line that a limited user or token must not try.
    refuse: Callable[[SyncLine], None] = lambda _line: None

    def sample(self, line: SyncLine, actor: str, runner: SyncRunner) -> LineSample:
        """Request the first page of a line, which may be unsaved, for a user."""
        self.refuse(line)
        self.sync.note_line(Tag.LINE_SAMPLED, line, actor)
        sample = runner.sample(line.name)
        if sample.suggestion is None:
            return sample
        suggestion = sample.suggestion.with_note(self._note_of_parents(line))
        return replace(sample, suggestion=suggestion)

    def suggest(self, line: SyncLine, actor: str) -> Suggestion:
        """Return suggestions that complete a line, from its first page."""
        self.refuse(line)
        self.sync.note_line(Tag.LINE_SAMPLED, line, actor)
        suggestion = self.sync.runner().suggest(line.name)
        return suggestion.with_note(self._note_of_parents(line))

    def _note_of_parents(self, line: SyncLine) -> Text | None:
        """Return the note about a record of another line in the path of a line."""
        from outkey.sync.core.suggest.requests import parents_in_path  # noqa: PLC0415

        others = [other for other in self.registry.lines() if other.name != line.name]
        return parents_in_path(line, others)

    def preview(
        self, line: SyncLine, actor: str, runner: SyncRunner
    ) -> Sequence[Effect]:
        """Return the first effects of a run of a line, which may be unsaved."""
        self.refuse(line)
        self.sync.note_line(Tag.LINE_CHECKED, line, actor)
        return runner.preview(line.name)

    def pause(self, administration: Administration, name: str) -> None:
        """Pause a sync line: no run of it begins, and the one under way stops."""
        configuration = self.registry.owner_of_line(name)
        administration.note(Tag.LINE_PAUSED, configuration, name)
        self.runs.pause_line(name)

    def resume(self, administration: Administration, name: str) -> None:
        """Resume a sync line; workers continue what was stopped."""
        configuration = self.registry.owner_of_line(name)
        administration.note(Tag.LINE_RESUMED, configuration, name)
        self.runs.resume_lines(name)

    def drift(self, name: str) -> list[Finding]:
        """Return how the records of a line differ from its shape, as findings."""
        return [each.finding(name) for each in self.runs.shapes.get(name).drift]

    def every_drift(self) -> Iterator[tuple[str, Finding]]:
        """Yield what `drift` returns for each line, with the name of the line."""
        for name, shape in self.runs.shapes.all().items():
            for each in shape.drift:
                yield name, each.finding(name)

    def accept_shape(self, administration: Administration, name: str) -> LineShape:
        """Take the shape of the last run as that of the records of a line."""
        configuration = self.registry.owner_of_line(name)
        stored = self.runs.shapes.get(name)
        if not stored.drift:
            return stored
        administration.note(Tag.LINE_SHAPE_ACCEPTED, configuration, name)
        accepted = stored.accepted(self.runs.now())
        self.runs.shapes.put(name, accepted)
        return accepted

    def reset(
        self,
        administration: Administration,
        name: str,
        since: str = "",
        parent: str = "",
        *,
        rights: RecordRights | None = None,
    ) -> tuple[str, int]:
        """Let the next run of a pull begin at a moment, or as a first one without.

        With a `parent` only its list: ConfigError if the user with these `rights` may
        not view the parents. Return the value that is stored for it, and how many lists
        of parents begin again. The records stay.
        """
        from outkey.sync.core.paging.since import reset_value  # noqa: PLC0415
        from outkey.sync.core.run.parents import ParentState  # noqa: PLC0415

        line = self.registry.line(name)
        value = reset_value(line.sync, since, self.runs.now())
        key = self._key_of(parent, line.sync, rights) if parent and line.sync else ""
        self.runs.refuse_alive(name)
        administration.note(Tag.LINE_RESET, line.configuration, name, key=value)
        if key:
            state = ParentState(key, since=value, full_at=self.runs.full_at(name))
            self.sync.ports().parents.put(name, [state])
            return value, 1
        has_parents = line.sync is not None and bool(line.sync.for_each)
        parents = self.sync.ports().parents.delete(name) if has_parents else 0
        self.runs.reset_line(name, value)
        return value, parents

    def _key_of(self, parent: str, sync: Sync, rights: RecordRights | None) -> str:
        """Return the key of a parent, or raise ConfigError if there is none."""
        from outkey.sync.engine.pull.parents import Parents  # noqa: PLC0415
        from outkey.sync.engine.record_rights import (  # noqa: PLC0415
            refuse_hidden_parents,
        )

        if rights is not None:
            refuse_hidden_parents(rights, sync, self.registry)
        return Parents(self.sync.ports(), sync.for_each).find(parent)

    def rename(self, administration: Administration, name: str, new_name: str) -> None:
        """Give a sync line another name; runs, records and its pair follow it.

        LineBusy while a run of it, or of the other line of its pair, is in progress:
        such a run knows it by its name.
        """
        line = self.registry.line(name)
        new_name = str(BY_PATH["name"].parse(new_name))
        if new_name == name:
            return
        if self.registry.timetable([new_name]):
            raise line_exists()
        pairs = self.settings.pairs()
        involved = {name}
        for pair in self.settings.pairs_of([name]):
            involved |= {pairs[pair].pull, pairs[pair].push}
        for each_name in sorted(involved):
            self.runs.refuse_running(each_name)

        def follow() -> None:
            self.runs.rename_line(name, new_name)
            for target in _tables_of(line):
                self.sync.tables().rename_line(target, name, new_name)

        administration.rename_line(name, new_name, self.settings, follow)

    def remove(self, administration: Administration, name: str) -> list[str]:
        """Delete a sync line with its runs; the records that it brought stay.

        The pair that it is in is deleted too; return its name.
        """
        pairs = administration.remove_line(name, self.settings)
        self.runs.resume_lines(name)
        self.runs.shapes.remove(name)
        self.runs.end_reset(name)
        return pairs

    def findings(self, document: Document) -> Iterator[tuple[str, Finding]]:
        """Yield the findings on a document's lines, each with its configuration."""
        from outkey.sync.engine.forms.unsaved_lines import DocumentLines  # noqa: PLC0415

        databases = self.settings.databases() if document.databases else {}
        pairs = [*self.settings.pairs().values(), *document.pairs]
        lines = DocumentLines(self.registry, document, databases, pairs)
        return lines.findings(self.sync.runner(lines=lines))


def _tables_of(line: SyncLine) -> list[str]:
    """Return the tables among the targets of a line."""
    if line.sync is None:
        return []
    targets = (line.sync.target, *(child.target for child in line.sync.children))
    return [target for target in targets if target.startswith(TABLE_PREFIX)]
