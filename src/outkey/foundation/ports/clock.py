"""Time and waiting."""

from collections.abc import Callable
from typing import Protocol


class Clock(Protocol):
    """The time, and waiting."""

    def now(self) -> float:
        """Return Unix time in seconds."""

    def monotonic(self) -> float:
        """Return seconds that never go back."""

    def sleep(self, seconds: float) -> None:
        """Wait."""

    def call_later(self, seconds: float, call: Callable[[], object]) -> None:
        """Call a function once after some time, in any thread; it must not raise."""
