"""One run of a sync line: its state, its checkpoint, and the records it rejected."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any

from outkey.foundation.core.fields.choices import LONGEST_TIMEOUT
from outkey.foundation.core.state_shapes import (
    Shape,
    has_shape,
    is_count,
    is_flag,
    is_table,
    is_text,
    is_time,
    list_of,
    map_of,
)
from outkey.foundation.core.stored_values import is_odd, read_table
from outkey.foundation.core.text import Text, text_from_data
from outkey.sync.core.drift.drift import Drift

MAX_CHANGED_FIELDS = 200  # whose changes a run counts
MAX_NOTES = 20  # that a run stores
GRACE_SECONDS = 60.0  # of a lease, for the work of a page besides its request
LONGEST_LEASE = GRACE_SECONDS + LONGEST_TIMEOUT


class RunState(StrEnum):
    """The state of a run."""

    WAITING = "waiting"  # for its time, or for a worker
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


class RunTrigger(StrEnum):
    """The cause of a run; the values are part of JSON output."""

    DELIVERY = "delivery"  # of a webhook: the line itself was not read
    RETRY = "retry"  # of what an earlier run rejected
    DRY_RUN = "dry_run"
    SCHEDULE = "schedule"
    HAND = "hand"


SCHEDULE_ACTOR = "schedule"  # who requests the runs that a schedule asks for
OPEN_STATES = (RunState.WAITING, RunState.RUNNING)
ENDED_STATES = (RunState.DONE, RunState.FAILED, RunState.CANCELLED)


@dataclass(frozen=True, slots=True)
class ChildCounts:
    """How many children of records ended in each way, as those of `Counts`."""

    created: int = 0
    updated: int = 0
    unchanged: int = 0
    failed: int = 0
    deleted: int = 0
    without_list: int = 0  # records without the list, whose children stayed

    @classmethod
    def from_facts(cls, stored: object) -> "ChildCounts":
        """Return the counts of a stored run; most have none."""
        return cls(**_known_counts(cls, stored)) if stored else cls()

    def __add__(self, other: "ChildCounts") -> "ChildCounts":
        return ChildCounts(
            self.created + other.created,
            self.updated + other.updated,
            self.unchanged + other.unchanged,
            self.failed + other.failed,
            self.deleted + other.deleted,
            self.without_list + other.without_list,
        )

    def __bool__(self) -> bool:
        return any(getattr(self, count.name) for count in fields(self))


@dataclass(frozen=True, slots=True)
class ParentCounts:
    """How the lists of a line's parents ended.

    The names are part of stored runs and of JSON output.
    """

    done: int = 0
    skipped: int = 0  # unchanged since the line completed them
    missing: int = 0  # the API has no list for them: 404 or 410
    failed: int = 0  # rejected parents

    @classmethod
    def from_facts(cls, stored: object) -> "ParentCounts":
        """Return the counts of a stored run; most have none."""
        return cls(**_known_counts(cls, stored)) if stored else cls()

    def __add__(self, other: "ParentCounts") -> "ParentCounts":
        return ParentCounts(
            self.done + other.done,
            self.skipped + other.skipped,
            self.missing + other.missing,
            self.failed + other.failed,
        )

    @property
    def total(self) -> int:
        """How many parents the run has been through."""
        return self.done + self.skipped + self.missing + self.failed


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
    deleted: int = 0
    children: ChildCounts = ChildCounts()
    parents: ParentCounts = ParentCounts()
    # How many updates of a pull changed each field; not compared, since it says nothing
    # about how records ended.
    changed_fields: Mapping[str, int] = field(default_factory=dict, compare=False)

    @classmethod
    def from_facts(cls, stored: object) -> "Counts":
        """Return the counts of a stored run; what is not a count is 0."""
        facts = stored if isinstance(stored, Mapping) else {}
        children = ChildCounts.from_facts(facts.get("children"))
        changed_fields = _positive_counts(facts.get("changed_fields"))
        return cls(
            **_known_counts(cls, facts),
            children=children,
            parents=ParentCounts.from_facts(facts.get("parents")),
            changed_fields=changed_fields,
        )

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(
            self.created + other.created,
            self.updated + other.updated,
            self.unchanged + other.unchanged,
            self.failed + other.failed,
            self.archived + other.archived,
            self.deleted + other.deleted,
            self.children + other.children,
            self.parents + other.parents,
            sum_of_fields(self.changed_fields, other.changed_fields),
        )

    def facts(self) -> dict[str, object]:
        """Return the counts by name, as they are stored."""
        # Not by asdict, which takes five times as long: they are stored with each page.
        return {
            **_by_name(self),
            "children": _by_name(self.children),
            "parents": _by_name(self.parents),
            "changed_fields": dict(self.changed_fields),
        }

    @property
    def seen(self) -> int:
        """How many records the run has read."""
        return self.created + self.updated + self.unchanged + self.failed

    @property
    def total(self) -> int:
        """How many records the run has processed, with those that it removed."""
        return self.seen + self.archived + self.deleted

    def fields_by_frequency(self) -> list[tuple[str, int]]:
        """Return how many updates changed each field, the most frequent first."""
        return sorted(self.changed_fields.items(), key=lambda item: (-item[1], item[0]))

    @property
    def is_all_rejected(self) -> bool:
        """Whether the run had records to process, and each of them was rejected.

        Not if a parent has none: its list was read.
        """
        return 0 < self.failed == self.total and not self.parents.done


def _by_name(counts: Counts | ChildCounts | ParentCounts) -> dict[str, object]:
    return {name: getattr(counts, name) for name in counts.__dataclass_fields__}


def _known_counts(
    counts: type[Counts | ChildCounts | ParentCounts], stored: object
) -> dict[str, int]:
    """Return the counts of a class that stored facts have."""
    facts = stored if isinstance(stored, Mapping) else {}
    return _positive_counts(
        {name: facts[name] for name in counts.__dataclass_fields__ if name in facts}
    )


def _positive_counts(stored: object) -> dict[str, int]:
    """Return the members of stored facts that are counts above 0."""
    facts = stored if isinstance(stored, Mapping) else {}
    return {
        name: number
        for name, number in facts.items()
        if isinstance(number, int) and number > 0
    }


def sum_of_fields(
    first: Mapping[str, int], second: Mapping[str, int]
) -> Mapping[str, int]:
    """Return two counts of changed fields as one; of too many, the most frequent."""
    if not first or not second:
        return first or second
    total = Counter(first) + Counter(second)
    return dict(total.most_common(MAX_CHANGED_FIELDS))


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
    # When the last complete run began that read everything; 0.0: there was none.
    full_at: float = 0.0
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
    # The run whose rejected records this one tries again, and nothing else; "" if it
    # is an ordinary run.
    retry_of: str = ""
    # The run that has accepted, or processed again, everything that this one rejected;
    # its own id where nothing is left of it without another run.
    repaired_by: str = ""
    # Whether its records are those of deliveries, and not of the line: it shows nothing
    # about whether the line works, and nothing continues from it.
    is_received: bool = False
    # How many children were deleted since the last complete run, by target: a run that
    # the guard stopped must not remove as much again when it is repeated.
    removed: Mapping[str, int] = field(default_factory=dict)
    # Whether the user who requested the run allowed it to remove more than the guard.
    allows_removal: bool = False
    expected: int = 0  # records, as the API states; 0: unknown
    counted: int = 0  # records it had taken when a limit last stopped it
    # What a user should know of the run besides its counts, each once.
    notes: tuple[Text, ...] = ()
    # How the records differ from those of the last complete runs.
    drift: tuple[Drift, ...] = ()
    # Seconds that each checkpoint extends the lease by; of a running run it is stored.
    lease: float = field(default=LONGEST_LEASE, compare=False)

    @property
    def is_full(self) -> bool:
        """Whether the run reads everything, not only what has changed or was sent."""
        return not self.since and not self.is_received

    @property
    def is_ordinary(self) -> bool:
        """Whether it is no dry run and no retry: the next run continues after it."""
        return not self.dry_run and not self.retry_of

    @property
    def trigger(self) -> RunTrigger:
        """The cause of the run."""
        return trigger_of(
            self.actor,
            is_received=self.is_received,
            is_retry=bool(self.retry_of),
            dry_run=self.dry_run,
        )

    @property
    def is_requested(self) -> bool:
        """Whether a worker was asked to do the run."""
        return self.attempt > 0

    @property
    def due_at(self) -> float | None:
        """When a waiting run is due; None in any other state."""
        return self.until if self.state is RunState.WAITING else None


def trigger_of(
    actor: str, *, is_received: bool, is_retry: bool, dry_run: bool
) -> RunTrigger:
    """Return the cause of a run with these facts."""
    if is_received:
        return RunTrigger.DELIVERY
    if is_retry:
        return RunTrigger.RETRY
    if dry_run:
        return RunTrigger.DRY_RUN
    return RunTrigger.SCHEDULE if actor == SCHEDULE_ACTOR else RunTrigger.HAND


def read_checkpoint(stored: str) -> dict[str, Any] | None:
    """Return the fields of a run that its checkpoint has as JSON; None if it is odd."""
    facts: dict[str, Any] = read_table(stored)
    if is_odd(facts) or not has_shape(facts, CHECKPOINT):
        return None
    members = {name: facts[name] for name in CHECKPOINT_FIELDS if name in facts}
    try:
        notes = tuple(text_from_data(note) for note in facts.get("notes", ()))
        drift = tuple(Drift.from_data(each) for each in facts.get("drift", ()))
    except (ValueError, LookupError, TypeError):
        return None
    return members | {"notes": notes, "drift": drift}


CHECKPOINT: Shape = {
    "position?": is_table,
    "cursor?": is_text,
    "since?": is_text,
    "full_at?": is_time,
    "retry_of?": is_text,
    "worked?": is_time,
    "removed?": map_of(is_count),
    "allows_removal?": is_flag,
    "expected?": is_count,
    "counted?": is_count,
    "repaired_by?": is_text,
    "lease?": is_time,
    "notes?": list_of(is_table),
    "drift?": list_of(is_table),
}
CHECKPOINT_FIELDS = tuple(
    member.removesuffix("?")
    for member in CHECKPOINT
    if member not in {"notes?", "drift?"}
)


@dataclass(frozen=True, slots=True)
class RejectedRecord:
    """A record that a run could not take, and why.

    Of its values it has the key, and a masked excerpt of the one that was refused.
    """

    number: int  # its place among the records of the run
    key: str  # the values of the key fields, where they could be read
    field: str
    reason: str  # a key of `reasons.REJECTIONS`
    kind: str = ""  # the type of the value that was refused, as JSON names it
    excerpt: str = ""


@dataclass(frozen=True, slots=True)
class RejectionGroup:
    """How many records a run rejected for one reason at one field."""

    reason: str
    field: str
    count: int
    example: str = ""  # the excerpt of the first of them


def group_rejections(records: Iterable[RejectedRecord]) -> list[RejectionGroup]:
    """Return rejected records by reason and field, the most frequent first."""
    counts: Counter[tuple[str, str]] = Counter()
    examples: dict[tuple[str, str], str] = {}
    for record in records:
        group = record.reason, record.field
        counts[group] += 1
        examples.setdefault(group, record.excerpt)
    return [
        RejectionGroup(reason, field, count, examples[reason, field])
        for (reason, field), count in counts.most_common()
    ]
