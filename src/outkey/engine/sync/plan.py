"""What a run works with: its ports, its line, and its effects on records."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from zoneinfo import ZoneInfo

from outkey.core.config.configuration import Configuration, SyncLine
from outkey.core.sync.line import Sync
from outkey.core.sync.mapping import Zones
from outkey.core.sync.records import Changes, WriteOutcome
from outkey.engine.sending.sender import Sender
from outkey.engine.sync.runs import Runs
from outkey.ports.sending import Clock
from outkey.ports.sync import Calendar, LineSource, PathCompiler, Records


@dataclass(frozen=True, slots=True)
class SyncPorts:
    """Everything outside that synchronizing uses."""

    sender: Sender
    configurations: LineSource
    records: Records
    runs: Runs
    finder: PathCompiler
    clock: Clock
    calendar: Calendar
    zones: Zones = ZoneInfo


@dataclass(frozen=True, slots=True)
class LinePlan:
    """A line that synchronizes, with its configuration."""

    line: SyncLine
    sync: Sync
    configuration: Configuration


@dataclass(slots=True)  # not frozen: there is one for each record of a page
class Effect:
    """What a run does with one record, or would do."""

    outcome: WriteOutcome
    key: str = ""
    values: Mapping[str, object] = dataclass_field(default_factory=dict, repr=False)
    field: str = ""
    reason: str = ""
    changes: Changes = dataclass_field(default_factory=dict, repr=False)  # of a dry run


Note = Callable[[Effect], None]  # called with what became of each record
