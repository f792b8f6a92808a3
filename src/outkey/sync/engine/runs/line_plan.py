"""The ports and the line of a run."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, tzinfo
from zoneinfo import ZoneInfo

from outkey.foundation.ports.clock import Clock
from outkey.foundation.ports.expressions import PathCompiler
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.engine.exchange.sender import Sender
from outkey.sync.core.line.line import Sync, SyncLine
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
    ParentRows,
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
    parents: ParentRows
    scripts: RecordScripts
    zones: Zones = ZoneInfo
    zone: tzinfo = UTC  # of the times of the host's models that have none
    tables: StoredTables | None = None
    files: TargetStore | None = None
    # Refuses a target whose records belong to another owner than the user's.
    refuse_target: Callable[[str], None] | None = None
    pairing: "PairPorts | None" = None  # None: the host has no pairs
    # Whether a pull requests the next page, in a thread, while it writes the last one.
    reads_ahead: bool = False
    # Whether a pull writes small pages of a quick API together.
    writes_together: bool = False

    @property
    def records(self) -> Targets:
        """The targets of lines: models, tables and files."""
        return Targets(self.models, self.tables, self.files, self.refuse_target)


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
