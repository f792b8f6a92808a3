"""Work in rounds, as workers and background processes do it, until the stop signal."""

from collections.abc import Callable
from typing import Protocol


class StopSignal(Protocol):
    """Ends a loop once it is set, as a `threading.Event` does."""

    def is_set(self) -> bool:
        """Whether to stop."""

    def set(self) -> None:
        """Stop the loop, and the runs under way."""

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the signal or the timeout, in seconds; return whether it is set."""


def repeat(work: Callable[[], object], seconds: float, stop_signal: StopSignal) -> None:
    """Do some work, again and again after a pause, until the stop signal."""
    while True:
        work()
        if stop_signal.wait(seconds):
            return
