"""Threads: work that must not run in the thread that asks for it."""

from collections.abc import Callable
from typing import Protocol, TypeVar

Result = TypeVar("Result")


class StartedThread(Protocol):
    """A thread that was started."""

    def is_alive(self) -> bool:
        """Whether its work has not ended; never in a forked child."""

    def join(self, timeout: float) -> None:
        """Wait until its work has ended, for so many seconds at most."""


class WorkerThread(Protocol):
    """One thread that does one piece of work after the other."""

    def submit(self, work: Callable[[], object]) -> object:
        """Start the thread if need be, and add work for it.

        Raises RuntimeError where the interpreter is about to end.
        """

    def shutdown(self, *, wait: bool) -> None:
        """End the thread once its work is done."""


class Threads(Protocol):
    """Starts threads."""

    def start(self, work: Callable[[], object], name: str) -> StartedThread:
        """Do some work in a new thread, for which the process does not wait."""

    def new_worker(self, name: str) -> WorkerThread:
        """Return a worker, which has no thread before it has work."""

    def call(self, work: Callable[[], Result]) -> Result:
        """Do some work in another thread, and return its result."""
