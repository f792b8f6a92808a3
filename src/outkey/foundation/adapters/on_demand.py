"""A value that is made when it is first asked for."""

from collections.abc import Callable
from typing import Generic, TypeVar

from outkey.foundation.adapters.process_lock import ProcessLock

Value = TypeVar("Value")


class OnDemand(Generic[Value]):
    """Makes a value at the first call, once for all threads of a process.

    `functools.cached_property` has no lock since Python 3.12.
    """

    def __init__(self, make: Callable[[], Value]) -> None:
        self._make = make
        self._making = ProcessLock()
        self.made: Value | None = None  #: the value, if anyone has asked for it

    def __call__(self) -> Value:
        """Return the value."""
        if self.made is None:
            with self._making:
                if self.made is None:
                    self.made = self._make()
        return self.made
