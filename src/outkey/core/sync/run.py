"""One run of a sync line: how far it is, what it did, and what it could not map."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class RunState(StrEnum):
    """Where a run stands."""

    WAITING = "waiting"  # for its time, or for a worker
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Counts:
    """What became of the records of a run."""

    created: int = 0
    updated: int = 0
    unchanged: int = 0
    failed: int = 0
    archived: int = 0

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(
            self.created + other.created,
            self.updated + other.updated,
            self.unchanged + other.unchanged,
            self.failed + other.failed,
            self.archived + other.archived,
        )


@dataclass(frozen=True, slots=True)
class Run:
    """A run as it is kept; `position` is where the next page begins."""

    id: str
    line: str
    actor: str
    started_at: float
    state: RunState = RunState.RUNNING
    dry_run: bool = False
    position: Mapping[str, object] = field(default_factory=dict)  # {} is the beginning
    cursor: str = (
        ""  # the greatest value of the incremental field that this run has seen
    )
    since: str = ""  # what the run before it had seen
    counts: Counts = Counts()
    pages: int = 0
    ended_at: float | None = None
    cause: str = ""
    generation: int = 0  # every write has the next one
    attempt: int = 0  # how often it was begun on behalf of whoever asked; 0 nobody did
    due_at: float | None = None  # of one that waits
    worked: float = 0.0  # seconds that somebody worked on it, until it was last written
    lease: float = field(
        default=60.0, compare=False
    )  # seconds that it lives after each write


@dataclass(frozen=True, slots=True)
class Quarantined:
    """A record that was left out, and why; its values are the host's business, not ours."""

    number: int  # its place among the records of the run
    key: str  # what tells it apart, if that could be read
    field: str
    reason: str


class Outcome(StrEnum):
    """What became of one row."""

    CREATED = "created"
    UPDATED = "updated"
    UNCHANGED = "unchanged"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Written:
    """What the host did with one row."""

    outcome: Outcome
    field: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Target:
    """A model of the host that may be synchronized."""

    name: str
    label: str


class FieldKind(StrEnum):
    """What a field of the host holds."""

    TEXT = "text"
    NUMBER = "number"
    DECIMAL = "decimal"
    DATE = "date"
    DATETIME = "datetime"
    BOOLEAN = "boolean"
    CHOICE = "choice"
    LINK = "link"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class HostField:
    """A field of the host's own model."""

    name: str
    label: str
    kind: FieldKind
    required: bool = False
    longest: int | None = None
    choices: tuple[str, ...] = ()
    target: str = ""  # of a link
    # By itself, in the host's own table; a host need not say.
    unique: bool | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class HostRecord:
    """A record of the host, on its way to an API."""

    id: str
    values: Mapping[str, object]
