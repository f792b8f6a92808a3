"""The actions of users and workers on running sync lines, each recorded first."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.text import Text
from outkey.sending.core.audit.events import ALLOW_REMOVAL, DRY_RUN, Change, Tag
from outkey.sync.core.run.run import OPEN_STATES

if TYPE_CHECKING:  # loaded when it is used: most commands and pages need none of it
    from collections.abc import Callable, Generator, Sequence

    from outkey.administration.engine.editing.administration import Administration
    from outkey.sending.ports.sending import Audit
    from outkey.sync.core.databases.section import OtherDatabase
    from outkey.sync.core.line.line import SyncLine
    from outkey.sync.core.mapping.records import Target
    from outkey.sync.core.pairs.section import ConflictRule
    from outkey.sync.core.run.effects import Note
    from outkey.sync.core.run.run import Run
    from outkey.sync.engine.line_registry import Registry
    from outkey.sync.engine.pairs.runner import Follow, PairRunner
    from outkey.sync.engine.pull.target_columns import NoteChange
    from outkey.sync.engine.record_rights import RecordRights, UserRecords
    from outkey.sync.engine.runs.line_plan import SyncPorts
    from outkey.sync.engine.runs.planner import Planner
    from outkey.sync.engine.runs.runner import SyncRunner
    from outkey.sync.engine.runs.runs import Runs
    from outkey.sync.ports.sync import LineSource, Models, Queue, StoredTables


@dataclass(frozen=True, slots=True)
class Synchronization:
    """Starts, retries and cancels runs of sync lines and pairs."""

    registry: Registry
    runs: Runs
    audit: Audit
    queue: Callable[[], Queue]
    ports: Callable[[], SyncPorts]

    def runner(
        self, records: Models | None = None, lines: LineSource | None = None
    ) -> SyncRunner:
        """Return the runner that checks and runs sync lines.

        `records` are those that one user may see; `lines` may be unsaved ones.
        """
        from outkey.sync.engine.runs.runner import SyncRunner  # noqa: PLC0415

        ports = self._ports_for(records)
        if lines is not None:
            ports = replace(ports, configurations=lines)
        return SyncRunner(ports)

    def pair_runner(self) -> PairRunner:
        """Return the runner of pairs; ConfigError if the host has no pairs."""
        from outkey.sync.engine.pairs.runner import PairRunner  # noqa: PLC0415

        pairing = self.ports().pairing
        if pairing is None:
            raise ConfigError(Text("this installation has no pairs"))
        return PairRunner(pairing, self.runner(), self.runs)

    def resolve_conflict(
        self,
        administration: Administration,
        pair: str,
        key: str,
        choice: ConflictRule,
        *,
        rights: RecordRights | None = None,
        version: str = "",
    ) -> None:
        """Store whose version of a record stays, and by whom.

        The audit has the pair and the choice; a record's key may be personal data.
        `rights` are those that the user has on records. `version` is that of the
        conflict which the user has seen, "" for the current one.
        """
        runner = self.pair_runner()
        line = self.registry.line(runner.get(pair).pull)
        if rights is not None and line.sync is not None:
            from outkey.sync.engine.record_rights import refuse_forbidden  # noqa: PLC0415

            refuse_forbidden(rights, line.sync, self.registry)
            rights.demand(line.sync.target, "view")
        runner.conflict(pair, key, version)
        administration.note(Tag.CONFLICT_RESOLVED, line.configuration, pair, choice)
        runner.resolve(pair, key, choice, version)

    def planner(
        self,
        stopping: Callable[[], bool] = lambda: False,
        records: Models | None = None,
    ) -> Planner:
        """Return the planner that queues runs of sync lines and performs them."""
        from outkey.sync.engine.runs.planner import Planner  # noqa: PLC0415

        return Planner(self._ports_for(records), self.registry, self.queue(), stopping)

    def request(
        self,
        name: str,
        actor: str,
        records: UserRecords | None = None,
        *,
        dry_run: bool = False,
        allows_removal: bool = False,
    ) -> Run:
        """Queue a run of a line for a user, who needs the rights on its records.

        None: a program or an operator, who has them all. LineBusy has the id of the run
        that is active already. `allows_removal` turns the guard against the removal of
        many records off.
        """
        self.refuse_forbidden(name, records, dry_run=dry_run)
        self._note_run(name, actor, dry_run=dry_run, allows_removal=allows_removal)
        return self.planner(records=records).request(
            name, actor, dry_run=dry_run, allows_removal=allows_removal
        )

    def request_retry(
        self, run_id: str, actor: str, records: UserRecords | None = None
    ) -> Run:
        """Queue a retry of what a run rejected, with the rights of `request_run`."""
        line = self.runs.get(run_id).line
        self.refuse_forbidden(line, records)
        self.note_line(Tag.RUN_RETRIED, self.registry.line(line), actor, run_id)
        return self.planner(records=records).request_retry(run_id, actor)

    def run_line(
        self,
        name: str,
        actor: str,
        *,
        dry_run: bool = False,
        allows_removal: bool = False,
        note: Note | None = None,
        note_change: NoteChange | None = None,
    ) -> Generator[Run]:
        """Run a line in this process, as `SyncRunner.run` does, for a user."""
        self._note_run(name, actor, dry_run=dry_run, allows_removal=allows_removal)
        return self.runner().run(
            name,
            actor,
            dry_run=dry_run,
            allows_removal=allows_removal,
            note=note,
            note_change=note_change or (lambda _change: None),
        )

    def retry(
        self, run_id: str, actor: str, *, note: Note, note_change: NoteChange
    ) -> Generator[Run]:
        """Retry what a run rejected in this process, for a user."""
        line = self.registry.line(self.runs.get(run_id).line)
        self.note_line(Tag.RUN_RETRIED, line, actor, run_id)
        return self.runner().retry(run_id, actor, note=note, note_change=note_change)

    def run_pair(self, name: str, actor: str, follow: Follow) -> list[Run]:
        """Run both lines of a pair in this process, for a user."""
        runner = self.pair_runner()
        pair = runner.get(name)
        for line in (pair.pull, pair.push):
            self._note_run(line, actor)
        return runner.run(name, actor, follow)

    def cancel(self, run_id: str, actor: str) -> Run:
        """Cancel a run that waits or runs; return it."""
        run = self.runs.get(run_id)
        if run.state in OPEN_STATES:
            # Also of a line that cannot be read any more.
            owners = [
                line.configuration for line in self.registry.timetable([run.line])
            ]
            change = Change(
                Tag.RUN_CANCELLED, actor, "".join(owners), fields=(run.line, run_id)
            )
            self.audit.note(change)
        return self.runs.cancel(run_id)

    def tables(self) -> StoredTables:
        """Return the tables that lines write to and users look at."""
        tables = self.ports().tables
        if tables is None:
            raise ConfigError(
                Text("this installation has no tables"),
                hint=Text("Its sync lines write to models of the host."),
            )
        return tables

    def prune_changes(self, before: float) -> None:
        """Delete the recorded changes of tables from before a Unix time."""
        tables = self.ports().tables
        if tables is not None:
            tables.prune_changes(before)

    def interrupt(self) -> None:
        """End what runs of this process wait for in other databases: it stops."""
        tables = self.ports().tables
        if tables is not None:
            tables.interrupt()

    def refuse_database(self, database: OtherDatabase) -> None:
        """Raise ConfigError if no table of another database can be written."""
        tables = self.ports().tables
        if tables is not None:
            tables.refuse_database(database)

    def targets(self) -> Sequence[Target]:
        """Return the models that lines can write to."""
        return self.ports().records.targets()

    def _note_run(
        self,
        line: str,
        actor: str,
        *,
        dry_run: bool = False,
        allows_removal: bool = False,
    ) -> None:
        """Record that a user starts a run, and what it may do."""
        options = {DRY_RUN: dry_run, ALLOW_REMOVAL: allows_removal}
        chosen = [name for name, is_chosen in options.items() if is_chosen]
        self.note_line(Tag.RUN_REQUESTED, self.registry.line(line), actor, *chosen)

    def note_line(self, tag: Tag, line: SyncLine, actor: str, *more: str) -> None:
        """Record what a user does with a line, which may be unsaved."""
        fields = (line.name, *more)
        self.audit.note(Change(tag, actor, line.configuration, fields=fields))

    def refuse_forbidden(
        self, line: str, records: UserRecords | None, *, dry_run: bool = False
    ) -> None:
        """Raise ConfigError if a user lacks the rights on the records of a line.

        A worker has no user whose rights it could check.
        """
        from outkey.sync.engine.record_rights import refuse_forbidden  # noqa: PLC0415

        sync = self.registry.line(line).sync
        if sync is not None and records is not None:
            refuse_forbidden(records, sync, self.registry, dry_run=dry_run)

    def _ports_for(self, records: Models | None) -> SyncPorts:
        ports = self.ports()
        return ports if records is None else replace(ports, models=records)
