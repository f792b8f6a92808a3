"""What synchronizing needs: the host's records, stored runs, schedules and queues."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from outkey.core.config.configuration import Configuration, SyncLine
from outkey.core.sync.records import HostRecord, Target, Written
from outkey.core.sync.run import RejectedRecord, Run, RunState


class LineSource(Protocol):
    """Where a run reads its line and the line's configuration."""

    def get(self, name: str) -> Configuration:
        """Return one configuration, or raise UnknownConfiguration."""

    def line(self, name: str) -> SyncLine:
        """Return one sync line, or raise UnknownConfiguration."""


class PathCompiler(Protocol):
    """Compiles expressions that find values in a response."""

    def compile(self, expression: str, *, field: str) -> Callable[[object], object]:
        """Return a function that finds the value; ConfigError at `field` if invalid."""


class Records(Protocol):
    """The host's own records, behind an allow-list and the host's permissions.

    Every method raises ConfigError for a target or a field that is not open.
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

    def archive(self, target: str, line: str, run: str) -> int:
        """Archive the records that this line brought and this run has not seen.

        Return how many.
        """

    def find(
        self, target: str, field: str, values: Sequence[object]
    ) -> Mapping[object, object]:
        """Return the ids of the records that have these values in a field, by value.

        A value that several records have is not in the mapping.
        """


class Calendar(Protocol):
    """The meaning of a schedule."""

    def next_after(self, schedule: str, moment: float) -> float:
        """Return its first time after a moment, or raise ConfigError."""


class Queue(Protocol):
    """Notifies workers of waiting runs."""

    def put(self, run: Run, lock: str) -> None:
        """Hand a due run to a worker; of runs with the same lock, one at a time."""


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
    states: tuple[RunState, ...] = ()
    dry_run: bool | None = None
    digest: str = ""
    requested: bool = False  # only with an `attempt` of 1 or more: `Run.is_requested`
    until: float | None = None  # only with an `until` up to this time
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
        self, run: str, first: int, records: Sequence[RejectedRecord]
    ) -> None:
        """Replace the rejected records of a run from the number `first` on."""

    def rejected(self, run: str, limit: int) -> Sequence[RejectedRecord]:
        """Return the first rejected records of a run, by number."""
