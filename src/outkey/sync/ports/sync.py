"""Interfaces of synchronizing: records, stored runs, schedules and queues."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from outkey.foundation.core.errors import StorageUnavailable
from outkey.sending.ports.storage import ConfigurationStorage

if TYPE_CHECKING:
    from outkey.foundation.core.text import Text
    from outkey.sending.core.configuration.configuration import Configuration
    from outkey.sync.core.databases.section import OtherDatabase
    from outkey.sync.core.line.history import LineVersion
    from outkey.sync.core.line.line import Gone, SyncLine
    from outkey.sync.core.line.rows import LineRow
    from outkey.sync.core.mapping.filters import Wanted
    from outkey.sync.core.mapping.mapping import Unmapped
    from outkey.sync.core.mapping.records import (
        HostRecord,
        PreparedTarget,
        Shape,
        Target,
        Unseen,
        Written,
    )
    from outkey.sync.core.mapping.row_changes import ChangesPage, Cursor
    from outkey.sync.core.paging.response import Record
    from outkey.sync.core.pairs.pairs import PairAgreement
    from outkey.sync.core.push.ledger import LedgerEntry
    from outkey.sync.core.run.parents import ParentState
    from outkey.sync.core.run.run import RejectedRecord, Run, RunState

Key = tuple[object, ...]  # the values of key fields
NOTHING: Mapping[str, str] = MappingProxyType({})


class StorageBusy(StorageUnavailable):
    """The database undid a transaction because of another; it may succeed later."""


class LineSource(Protocol):
    """Where a run reads its line and the line's configuration."""

    def get(self, name: str) -> Configuration:
        """Return one configuration, or raise UnknownConfiguration."""

    def line(self, name: str) -> SyncLine:
        """Return one sync line, or raise UnknownConfiguration."""


class LineRows(Protocol):
    """The table of sync lines."""

    def find(self, names: Collection[str] | None = None) -> list[LineRow]:
        """Return the lines of these names, or all of them, by name.

        Each with the record of its configuration and the voucher that was stored.
        """

    def swap(self, before: LineRow | None, after: LineRow | None) -> bool:
        """Replace the line that has the name of `before`.

        `after` may have another name, which no line has: then versions, runs and all
        else of the line are those of the new name. Returns whether it was there.
        Without `before` the line is inserted, without `after` deleted with its
        versions. At least one of the two is given.
        """

    def versions(self, name: str, limit: int) -> list[LineVersion]:
        """Return the newest versions of a line, newest first."""

    def add_version(self, version: LineVersion, oldest: int) -> bool:
        """Store a version of a line, and delete those with numbers below `oldest`.

        Returns whether it did: not for an unknown line or an existing number.
        """


@dataclass(frozen=True, slots=True)
class Storage(ConfigurationStorage):
    """The rows of configurations and of their sync lines."""

    lines: LineRows


class RecordScripts(Protocol):
    """Runs the scripts of sync lines, which can reach nothing."""

    def transform(
        self, line: str, source: str, records: Sequence[Record]
    ) -> list[Record | Unmapped | None]:
        """Return each record as a sync line's script changes it; it has no secret.

        None skips a record; one that the script fails on is Unmapped. Raises
        ScriptFailed where the script cannot be run at all.
        """


class Records(Protocol):
    """The host's own records, behind an allow-list and the host's permissions.

    Every method raises ConfigError for a target or a field that is not open. The id of
    a deleted record is never used again: ledgers and pairs remember records by it.
    """

    def targets(self) -> Sequence[Target]:
        """Return the models that may be synchronized, with their fields."""

    def read(self, target: str, after: str, limit: int) -> Sequence[HostRecord]:
        """Return the next records after an id ("": the first ones), ordered by id."""

    def upsert(
        self,
        target: str,
        keys: Sequence[str],
        rows: Sequence[Mapping[str, object]],
        run: str,
        *,
        dry_run: bool = False,
    ) -> Sequence[Written]:
        """Create or update the record of each row, which the key fields identify.

        The same row again is unchanged. A row that the host refuses affects no other.
        The records are marked as seen by `run`, for `archive`. A dry run writes
        nothing, needs no run, and returns what would change.
        """

    def unseen(self, target: str, line: str, run: str) -> Unseen:
        """Return how many records this line brought, and this run has not seen."""

    def retire(self, target: str, line: str, run: str, gone: Gone) -> int:
        """Archive or delete what this line brought and this run has not seen.

        Return how many.
        """

    def delete_children(
        self,
        target: str,
        parent: Sequence[str],
        keys: Sequence[str],
        kept: Mapping[Key, Collection[Key]],
    ) -> int:
        """Delete the children of these parents whose keys are not in `kept`.

        By the values of the fields `parent`: the values of the fields `keys` of each
        child that stays. Return how many were deleted.
        """

    def matching(
        self, target: str, keys: Sequence[str], values: Collection[Key]
    ) -> Mapping[Key, HostRecord]:
        """Return the records with these values of the key fields, archived ones too.

        They are locked until the transaction ends.
        """

    def by_id(self, target: str, ids: Collection[str]) -> Mapping[str, HostRecord]:
        """Return the records with these ids, archived ones too.

        They are locked until the transaction ends.
        """

    def assign(
        self, target: str, values: Mapping[str, Mapping[str, object]], run: str
    ) -> Collection[str]:
        """Write values of some fields, or of none, into records, by id.

        Return the ids of those that have them now, and mark these as seen by `run`: not
        those that do not exist, or whose values the host refuses.
        """

    def missing(
        self, target: str, line: str, run: str, after: str, limit: int
    ) -> Sequence[HostRecord]:
        """Return the next of what this line brought and this run has not seen.

        Up to `limit` after the id of a record ("": the first ones), in one order; none
        only at the end. They are locked until the transaction ends.
        """

    def present(self, target: str, ids: Sequence[str]) -> Collection[str]:
        """Return those of these ids whose records exist and are not archived.

        A record that was lost with its table is among them: it was not deleted itself.
        """

    def find(
        self, target: str, field: str, values: Sequence[object]
    ) -> Mapping[object, object]:
        """Return the ids of the records that have these values in a field, by value.

        A value that several records have is not in the mapping.
        """


class Models(Records, Protocol):
    """The models of the host, which may have code of their own that saves a record."""

    def upsert(
        self,
        target: str,
        keys: Sequence[str],
        rows: Sequence[Mapping[str, object]],
        run: str,
        *,
        dry_run: bool = False,
        saves: bool = False,
    ) -> Sequence[Written]:
        """Create or update the record of each row, as `Records` do.

        With `saves` each record is validated and saved by the host's own code. What
        that refuses, or raises, is a refusal of this row alone.
        """

    def assign(
        self,
        target: str,
        values: Mapping[str, Mapping[str, object]],
        run: str,
        *,
        saves: bool = False,
    ) -> Collection[str]:
        """Write values of some fields into records, as `Records` do.

        With `saves` by the host's own code, where values change.
        """


class TargetStore(Records, Protocol):
    """Targets that outkey makes itself: tables or files."""

    def prepare(
        self, target: str, shape: Shape, *, dry_run: bool = False
    ) -> PreparedTarget:
        """Return a target that has the fields of a shape.

        A table gets the columns that it lacks; ConfigError for a field that the target
        cannot have, as one of another type. A dry run changes nothing.
        """

    def transaction(self, targets: Collection[str]) -> AbstractContextManager[None]:
        """Write all of what is written to these targets inside, or nothing.

        ConfigError if they are not in one database. For targets in the database of the
        runs, the caller's transaction does that.
        """

    def begin(self, target: str, run: str) -> None:
        """Begin at the first page: a file drops what an unfinished run has left."""

    def complete(
        self,
        target: str,
        run: str,
        *,
        is_doubtful: bool = False,
        may_lose: bool = False,
    ) -> Sequence[Text]:
        """Note that a run has read everything: only now a file is replaced.

        Without `may_lose` a file is not replaced by an empty one, nor if it
        `is_doubtful` that the run has read everything. Return what a user should know.
        """


class StoredTables(TargetStore, Protocol):
    """Tables, which users can look at."""

    def refuse_database(self, database: OtherDatabase) -> None:
        """Raise ConfigError for a database that outkey must not open.

        Its reference may lead to nothing yet.
        """

    def rows(
        self,
        target: str,
        after: str,
        limit: int,
        wanted: Mapping[str, Wanted] = NOTHING,
    ) -> Sequence[HostRecord]:
        """Return the next rows after an id, archived ones too, ordered by id.

        With the time when each was archived, where the table has it. `wanted` is what
        columns have or contain.
        """

    def count(
        self, target: str, after: str = "", wanted: Mapping[str, Wanted] = NOTHING
    ) -> int:
        """Return how many rows `rows` would return without a limit."""

    def rename_line(self, target: str, line: str, new_name: str) -> None:
        """Rename the line in the rows that it brought, and in its journal.

        A table that is not there yet has none.
        """

    def journal(self, target: str, line: str) -> str:
        """Return the journal that `put_journal` wrote for a line, or "".

        To be called before it, outside of a transaction: it makes the place for it.
        """

    def put_journal(self, target: str, line: str, text: str) -> None:
        """Write a text in the transaction of a table's rows; "" deletes it.

        Not for tables in the database of the runs: the same transaction has both.
        """

    def set_feed(self, target: str, line: str, *, wants_feed: bool) -> None:
        """Record changes of a table from now on, while any of its lines wants that.

        To be called for each line before it writes, outside of a transaction.
        """

    def cursor(self, target: str) -> Cursor | None:
        """Return the cursor after the last change; None if there is no feed.

        To be asked before rows are read: whoever applies the changes after it to these
        rows has the table exactly.
        """

    def changes(self, target: str, after: Cursor | None, limit: int) -> ChangesPage:
        """Return the next recorded changes, without a cursor the oldest ones.

        NoFeed, or CursorExpired for a cursor whose next changes are not stored.
        """

    def prune_changes(self, before: float) -> None:
        """Delete the recorded changes from before a Unix time.

        Those in a database that cannot be reached stay.
        """

    def interrupt(self) -> None:
        """End what threads of this process wait for in other databases.

        Their work fails, as if the connection were lost. The next work opens another.
        """


class LedgerRows(Protocol):
    """The ledger of a push: an entry for each record of a line.

    In the same database as `RunRows`, and in the same transactions.
    """

    def read(self, line: str, records: Collection[str]) -> dict[str, LedgerEntry]:
        """Return the entries of these records, by record."""

    def put(self, line: str, entries: Sequence[LedgerEntry]) -> None:
        """Insert or replace entries."""

    def after(self, line: str, record: str, limit: int) -> Sequence[LedgerEntry]:
        """Return the next entries after a record ("": the first ones), by record."""

    def by_remote_id(
        self, line: str, remote_ids: Collection[str]
    ) -> dict[str, LedgerEntry]:
        """Return the entries with these IDs of the API, by ID; of several any one."""

    def announced(self, line: str, record: str, limit: int) -> Sequence[LedgerEntry]:
        """Return the next entries after a record whose create has no response yet.

        These have a `key`. Ordered by record.
        """


@dataclass(frozen=True, slots=True)
class PairQuery:
    """Which agreements of a push line to find; a default restricts nothing.

    Of `records` and `keys` only one is given, and then no limit.
    """

    line: str
    records: Collection[str] | None = None
    keys: Collection[str] | None = None
    has_conflict: bool = False
    after: str = ""  # a record: only those of later ones
    limit: int | None = None  # the first ones by record


class PairRows(Protocol):
    """The agreements of a pair: a row for each record of its push line.

    In the same database as `RunRows`, and in the same transactions.
    """

    def find(self, query: PairQuery) -> Sequence[PairAgreement]:
        """Return the agreements of a query."""

    def put(self, line: str, agreements: Sequence[PairAgreement]) -> None:
        """Insert or replace agreements."""

    def delete(self, line: str, records: Collection[str]) -> None:
        """Delete the agreements of these records; others do not matter."""


class ParentRows(Protocol):
    """The parents of lines that request a list for each: what is known of their lists.

    In the same database as `RunRows`, and in the same transactions.
    """

    def read(self, line: str, keys: Collection[str]) -> dict[str, ParentState]:
        """Return the states of these parents, by key."""

    def put(self, line: str, states: Sequence[ParentState]) -> None:
        """Insert or replace states."""

    def delete(
        self,
        line: str,
        keys: Collection[str] | None = None,
        *,
        but_of: float | None = None,
    ) -> int:
        """Delete the states of these parents, or of all; return how many there were.

        Those whose `full_at` is `but_of` stay.
        """


class Calendar(Protocol):
    """The meaning of a schedule."""

    def next_after(self, schedule: str, moment: float) -> float:
        """Return its first time after a moment, or raise ConfigError."""


class Queue(Protocol):
    """Notifies workers of waiting runs."""

    def put(self, run: Run, lock: str) -> None:
        """Hand a due run to a worker; of runs with the same lock, one at a time.

        A run comes once with each lock of its configuration: any of them will do.
        """


class RunOrder(StrEnum):
    """The order in which runs are found."""

    NEWEST = "newest"  # by id, the greatest first
    OLDEST = "oldest"  # by id
    DUE = "due"  # by `until`


@dataclass(frozen=True, slots=True)
class RunQuery:
    """Which stored runs to find; a default restricts nothing."""

    id: str = ""  # text from outside: not necessarily an id
    line: str = ""
    configuration: str = ""  # only of its lines
    states: tuple[RunState, ...] = ()
    dry_run: bool | None = None
    received: bool | None = None  # whether of deliveries: `Run.is_received`
    digest: str = ""
    requested: bool = False  # only with an `attempt` of 1 or more: `Run.is_requested`
    # Without the waiting runs that have to wait longer than until this time, by
    # `run_states.is_over`.
    due_by: float | None = None
    ended_before: float | None = None
    after: str = ""  # an id: only runs stored later
    order: RunOrder = RunOrder.NEWEST
    limit: int = 1000


class RunRows(Protocol):
    """The tables of runs and of the records that they rejected.

    They are in the same database as `Records`, and in the same transactions: all of it
    is committed, or nothing.
    """

    def find(self, query: RunQuery, *, lock: bool = False) -> Sequence[Run]:
        """Return the runs of a query; `lock` them until the transaction ends."""

    def swap(self, before: Run | None, after: Run | None) -> Run | None:
        """Replace a stored run by another, if its generation is still `before`'s.

        Without `before` insert a run, without `after` delete one with its rejected
        records. At least one of the two is given. Return the run as it is stored (or
        deleted), with its id; None if another process was faster: the run has changed,
        or one of its line is RUNNING, or one of its line and `dry_run` is WAITING
        already. UnknownConfiguration if the line to insert a run of does not exist.
        """

    def put_rejected(
        self,
        run: str,
        first: int,
        records: Sequence[RejectedRecord],
        removed: Collection[str] = (),
    ) -> None:
        """Replace the rejected records of a run from the number `first` on.

        Those that have one of the keys `removed` are deleted too.
        """

    def rejected(
        self,
        run: str,
        limit: int,
        *,
        skip: int = 0,
        keys: Collection[str] | None = None,
    ) -> Sequence[RejectedRecord]:
        """Return the first rejected records of a run after `skip` others, by number.

        With `keys` only those that have one of them.
        """
