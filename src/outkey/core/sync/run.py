"""One run of a sync line: its state, its checkpoint, and the records it rejected."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum


class RunState(StrEnum):
    """The state of a run."""

    WAITING = "waiting"  # for its time, or for a worker
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


OPEN_STATES = (RunState.WAITING, RunState.RUNNING)
ENDED_STATES = (RunState.DONE, RunState.FAILED, RunState.CANCELLED)


@dataclass(frozen=True, slots=True)
class Counts:
    """How many records of a run ended in each way.

    The names are part of stored runs and of JSON output.
    """

    created: int = 0
    updated: int = 0
    unchanged: int = 0
    failed: int = 0  # rejected records; says nothing about the state of the run
    archived: int = 0

    @classmethod
    def from_facts(cls, stored: object) -> "Counts":
        """Return the counts of a stored run; what is not a count is 0."""
        facts = stored if isinstance(stored, Mapping) else {}
        numbers = {count.name: facts.get(count.name) for count in fields(cls)}
        return cls(
            **{
                name: number
                for name, number in numbers.items()
                if isinstance(number, int) and number > 0
            }
        )

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(
            self.created + other.created,
            self.updated + other.updated,
            self.unchanged + other.unchanged,
            self.failed + other.failed,
            self.archived + other.archived,
        )

    @property
    def seen(self) -> int:
        """How many records the run has read."""
        return self.created + self.updated + self.unchanged + self.failed

    @property
    def total(self) -> int:
        """How many records the run has processed, archived ones included."""
        return self.seen + self.archived

    @property
    def is_all_rejected(self) -> bool:
        """Whether the run has read records, and each of them was rejected."""
        return 0 < self.failed == self.seen


@dataclass(frozen=True, slots=True)
class Run:
    """A run as it is stored; `position` is the page that is requested next.

    `run_states` has the transitions from one state to the next.
    """

    id: str  # "" until the run is stored
    line: str
    actor: str
    started_at: float
    state: RunState = RunState.RUNNING
    dry_run: bool = False
    position: Mapping[str, object] = field(default_factory=dict)  # {}: the first page
    # The greatest value of the incremental field that this run has seen: where the next
    # run of the line begins. Not the cursor of the next page, which is in `position`.
    cursor: str = ""
    since: str = ""  # the `cursor` of the last complete run, sent to the API
    counts: Counts = Counts()
    pages: int = 0
    ended_at: float | None = None
    cause: str = ""
    generation: int = 0  # each write increments it
    # The number of the present attempt by workers, 1 from the request on. 0: no worker
    # was asked, as for a run of the command line, and none continues it after a kill.
    attempt: int = 0
    worked: float = 0.0  # seconds of work on it, up to the last checkpoint
    digest: str = ""  # of the line that its position and cursor belong to
    # The end of the lease of a running run, or when a waiting one is due.
    until: float = 0.0
    # Seconds that each checkpoint extends the lease by; not stored.
    lease: float = field(default=60.0, compare=False)

    @property
    def is_requested(self) -> bool:
        """Whether a worker was asked to do the run."""
        return self.attempt > 0

    @property
    def due_at(self) -> float | None:
        """When a waiting run is due; None in any other state."""
        return self.until if self.state is RunState.WAITING else None


@dataclass(frozen=True, slots=True)
class RejectedRecord:
    """A record that a run could not take, and why; it holds no value but the key."""

    number: int  # its place among the records of the run
    key: str  # the values of the key fields, where they could be read
    field: str
    reason: str  # a key of `reasons.REJECTIONS`
