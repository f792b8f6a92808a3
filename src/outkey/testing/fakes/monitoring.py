"""In-memory stand-ins for what monitoring reads of runs, and for a notifier."""

from collections.abc import Sequence

from outkey.administration.core.findings.monitoring import LineRun, Notice


class MemoryLineRuns:
    """The last runs that a test gives."""

    def __init__(self) -> None:
        self.runs: list[LineRun] = []

    def latest(self) -> list[LineRun]:
        return self.runs


class RecordedNotices:
    """Remembers what was sent, each time as a list."""

    def __init__(self) -> None:
        self.sent: list[list[Notice]] = []

    def send(self, notices: Sequence[Notice]) -> None:
        self.sent.append(list(notices))
