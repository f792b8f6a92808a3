"""Work in rounds, as workers and background processes do it, until told to stop."""

from collections.abc import Callable
from typing import Protocol


class StopSignal(Protocol):
    """Tells a loop to stop; a `threading.Event` does."""

    def is_set(self) -> bool:
        """Whether to stop."""

    def set(self) -> None:
        """Stop the loop, and the runs under way."""

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until told to stop, or for so many seconds; return whether to stop."""


def repeat(work: Callable[[], object], seconds: float, stop_signal: StopSignal) -> None:
    """Do some work, again and again after a pause, until the stop signal."""
    while True:
        work()
        if stop_signal.wait(seconds):
            return
