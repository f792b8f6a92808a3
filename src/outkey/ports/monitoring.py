"""What monitoring reads and remembers, and how users are notified."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from outkey.core.findings.monitoring import Baseline, Notice


class MonitoringRows(Protocol):
    """What the watch reads, what it remembers, and who of all processes does it."""

    def take(self, duty: str, holder: str, seconds: float) -> bool:
        """Take a duty for some time, or keep it; tell whether nobody else has it."""

    def leave(self, holder: str) -> None:
        """Give up all duties."""

    def has_run(self) -> bool:
        """Whether monitoring has read records at least once."""

    def position(self) -> int:
        """Return the number of the last record that was read; at first the newest one's."""

    def records(self, after: int, limit: int) -> list[dict[str, object]]:
        """Return the facts of the next records with their ids, oldest first."""

    def habits(self, names: Iterable[str]) -> dict[str, Baseline]:
        """Return what is known of these configurations."""

    def is_anybody_missed(self, seconds: float) -> bool:
        """Whether a run of a line is due for so long, and nobody is at any."""

    def failing_lines(self) -> list[tuple[str, str]]:
        """Return the sync lines whose last run has failed, after their configurations."""

    def open_notices(self) -> list[Notice]:
        """Return the notices that are open, oldest first."""

    def turn(
        self, position: int, habits: Mapping[str, Baseline], notices: Iterable[Notice]
    ) -> None:
        """Keep how far was read and what is known now, open and close notices; all or nothing."""


class Notifier(Protocol):
    """A way to tell people of notices."""

    def tell(self, notices: Sequence[Notice]) -> None:
        """Tell what has opened and what has recovered; best effort, never raises."""
