"""What synchronizing needs: the host's records, runs, schedules and queues."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from outkey.core.config.configuration import Configuration, SyncLine
from outkey.core.sync.run import (
    HostField,
    HostRecord,
    Quarantined,
    Run,
    Target,
    Written,
)


class LineSource(Protocol):
    """Where a run reads its line and the line's configuration."""

    def get(self, name: str) -> Configuration:
        """Return one configuration, or raise UnknownConfiguration."""

    def line(self, name: str) -> SyncLine:
        """Return one sync line, or raise UnknownConfiguration."""


class PathCompiler(Protocol):
    """What finds values in an answer by a path that people write."""

    def compile(self, expression: str, *, field: str) -> Callable[[object], object]:
        """Return what finds; an expression that is none is a ConfigError at this field."""


class Records(Protocol):
    """The host's own records, behind an allow-list and the host's permissions."""

    def targets(self) -> Sequence[Target]:
        """Return the models that may be synchronized."""

    def describe(self, target: str) -> Sequence[HostField]:
        """Return the fields of a model, or raise ConfigError."""

    def read(self, target: str, after: str, limit: int) -> Sequence[HostRecord]:
        """Return some records behind one, in the order of their ids; the first ones after ""."""

    def upsert(
        self,
        target: str,
        keys: Sequence[str],
        rows: Sequence[Mapping[str, object]],
        run: str,
    ) -> Sequence[Written]:
        """Create or update a record for each row, found by its keys; the same again is unchanged.

        A row that the host refuses takes no other with it. `run` marks what was seen.
        """

    def compare(
        self, target: str, keys: Sequence[str], rows: Sequence[Mapping[str, object]]
    ) -> Sequence[tuple[Written, Mapping[str, tuple[object, object]]]]:
        """Tell what upsert would do, with each field's value before and after; writes nothing."""

    def archive(self, target: str, line: str, run: str) -> int:
        """Archive what this line has brought and this run has not seen; return how many."""

    def find(
        self, target: str, field: str, values: Sequence[object]
    ) -> Mapping[object, object]:
        """Return the ids of the records that have these values in a field, by value."""


class Calendar(Protocol):
    """What a schedule means."""

    def next_after(self, schedule: str, moment: float) -> float:
        """Return its first moment after this one, or raise ConfigError."""


class Queue(Protocol):
    """How workers learn of runs that wait."""

    def put(self, run: Run, lock: str) -> None:
        """Let a worker take a run that is due; of those with one lock, one at a time."""


class Runs(Protocol):
    """Where runs, their checkpoints and what they left out are kept."""

    def begin(self, line: str, actor: str, *, dry_run: bool, asked: str = "") -> Run:
        """Begin a run, or go on with one that was killed; raise LineBusy while another one lives.

        A run lives as long as it is saved within a minute and the configuration's total time-out,
        by the database's clock. One that waits is what begins; where it is not the one that was
        `asked` for, RunStopped is raised.
        """

    def page(self) -> AbstractContextManager[None]:
        """Keep all that is written inside, records and checkpoint, or nothing of it."""

    def save(self, run: Run) -> Run:
        """Keep a checkpoint; raise RunStopped where somebody cancelled it or took it over."""

    def quarantine(self, run: Run, items: Sequence[Quarantined]) -> None:
        """Keep what was left out."""

    def finish(self, run: Run) -> None:
        """Keep how a run ended."""

    def request(
        self, line: str, actor: str, *, dry_run: bool = False, sooner: bool = True
    ) -> Run:
        """Ask for a run as soon as somebody is free; raise LineBusy while one lives.

        One that waits already is returned, and is due now if it shall be sooner; one that failed in
        the middle or was killed waits to go on.
        """

    def wait_again(self, run: Run, seconds: float, attempt: int) -> Run:
        """Let a run that failed wait for another attempt, or raise LineBusy if another one does."""

    def due(self, run: str = "") -> list[Run]:
        """Return the runs that were asked for and that nobody is at, the longest due first.

        With an id only that one, if it is due.
        """

    def take_schedules(self) -> tuple[float, float]:
        """Take the time since schedules were last looked at; return when that was, and now."""

    def newest(self, limit: int, line: str = "", state: str = "") -> list[Run]:
        """Return runs, newest first."""

    def get(self, run: str) -> Run:
        """Return one run, or raise ConfigError."""

    def left_out(self, run: str, limit: int) -> list[Quarantined]:
        """Return what a run left out."""

    def cancel(self, run: str) -> None:
        """Let a run stop at its next page."""
