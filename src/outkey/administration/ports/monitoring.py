"""Interfaces of monitoring: the last runs of sync lines, and notifications."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from outkey.administration.core.findings.monitoring import LineRun, Notice


class LineRuns(Protocol):
    """The last runs of sync lines."""

    def latest(self) -> list[LineRun]:
        """Return the last run of each line, and its last dry run, if any.

        Runs of deliveries are not among them: they show nothing about the line.
        """


class Notifier(Protocol):
    """A way to notify users."""

    def send(self, notices: Sequence[Notice]) -> None:
        """Report what has opened and what has recovered; best effort, never raises."""
