"""The ports and the line of a run, and its effects on records."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from datetime import UTC, tzinfo
from zoneinfo import ZoneInfo

from outkey.foundation.ports.clock import Clock
from outkey.foundation.ports.expressions import PathCompiler
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.engine.exchange.sender import Sender
from outkey.sync.core.line.line import Sync
from outkey.sync.core.line.sync_line import SyncLine
from outkey.sync.core.mapping.records import Changes, WriteOutcome
from outkey.sync.core.mapping.transforms import Zones
from outkey.sync.core.pairs.section import Pair
from outkey.sync.engine.pairs.agreements import Agreements
from outkey.sync.engine.runs.runs import Runs
from outkey.sync.engine.targets import Targets
from outkey.sync.ports.sync import (
    Calendar,
    LedgerRows,
    LineSource,
    Models,
    PairRows,
    RecordScripts,
    StoredTables,
    TargetStore,
)


@dataclass(frozen=True, slots=True)
class SyncPorts:
    """Everything outside that synchronizing uses."""

    sender: Sender
    configurations: LineSource
    models: Models  # the host's own
    runs: Runs
    finder: PathCompiler
    clock: Clock
    calendar: Calendar
    ledger: LedgerRows
    scripts: RecordScripts
    zones: Zones = ZoneInfo
    zone: tzinfo = UTC  # of the times of the host's models that have none
    tables: StoredTables | None = None
    files: TargetStore | None = None
    pairing: "PairPorts | None" = None  # None: the host has no pairs

    @property
    def records(self) -> Targets:
        """The targets of lines: models, tables and files."""
        return Targets(self.models, self.tables, self.files)


@dataclass(frozen=True, slots=True)
class PairPorts:
    """The parts of a host that pairs need."""

    agreements: PairRows
    pairs: Callable[[], Mapping[str, Pair]]  # by name


@dataclass(frozen=True, slots=True)
class LinePlan:
    """A line that synchronizes, with its configuration."""

    line: SyncLine
    sync: Sync
    configuration: Configuration

    def __post_init__(self) -> None:
        self.line.refuse_other(self.configuration)


@dataclass(frozen=True, slots=True)
class PairPlan:
    """A pair with both of its lines."""

    pair: Pair
    pull: LinePlan
    push: LinePlan
    agreements: Agreements


@dataclass(slots=True)  # not frozen: there is one for each record of a page
class Effect:
    """The effect of a run on one record, or the one that it would have."""

    outcome: WriteOutcome
    key: str = ""
    values: Mapping[str, object] = dataclass_field(default_factory=dict, repr=False)
    field: str = ""
    reason: str = ""
    changes: Changes = dataclass_field(default_factory=dict, repr=False)  # of a dry run
    changed: tuple[str, ...] = ()  # of an update: the fields that it changes
    kind: str = ""  # of the value that was refused: its type in JSON
    refused: object = dataclass_field(default=None, repr=False)
    target: str = ""  # of a child; its `key` is that of its parent

    @property
    def before(self) -> dict[str, object]:
        """The stored values of the mapped fields; empty for a new record.

        Of a preview or a dry run, whose changes have them. What does not change is
        stored as the values have it.
        """
        if self.outcome not in {WriteOutcome.UPDATED, WriteOutcome.UNCHANGED}:
            return {}
        stored = {name: old for name, (old, _) in self.changes.items()}
        return {**self.values, **stored}


Note = Callable[[Effect], None]  # called with what became of each record
