"""Whether an installation is ready: each of its parts is checked, with a deadline.

A part that hangs, such as a locked database, must not hang the probe as well. So each
part is checked in a thread of its own. There is at most one thread for each part: while
it hangs, the part is not ready.
"""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from outkey.foundation.core.errors import OutkeyError
from outkey.foundation.ports.clock import Clock
from outkey.foundation.ports.threads import Threads

DEADLINE_SECONDS = 2.0
# How long a result is used again: anyone can send any number of probes.
FRESH_SECONDS = 1.0
READY = "ok"
TIMEOUT = "timeout"
FAILED = "failed"
# Parts that an operator should see to, but without which everything works.
ADVISORY = frozenset({"clock"})


@dataclass(slots=True)
class PartCheck:
    """One check of a part, in a thread of its own."""

    result: str = TIMEOUT
    ended: threading.Event = field(default_factory=threading.Event)


class Readiness:
    """Checks the parts of an installation; a check raises if its part is not ready."""

    def __init__(
        self,
        checks: Mapping[str, Callable[[], object]],
        clock: Clock,
        threads: Threads,
        *,
        release_thread: Callable[[], object] = lambda: None,
        deadline: float = DEADLINE_SECONDS,
    ) -> None:
        self._checks = checks
        self._clock = clock
        self._threads = threads
        self._release_thread = release_thread
        self._deadline = deadline
        self._lock = threading.Lock()
        self._parts: dict[str, PartCheck] = {}
        self._results: dict[str, str] = {}
        self._checked_at: float | None = None

    def check_all(self) -> dict[str, str]:
        """Return `ok` for each part that is ready, or else the code of its error."""
        with self._lock:
            now = self._clock.monotonic()
            if self._checked_at is None or now - self._checked_at >= FRESH_SECONDS:
                self._results = self._run_checks()
                self._checked_at = self._clock.monotonic()
            return dict(self._results)

    def _run_checks(self) -> dict[str, str]:
        for name, check in self._checks.items():
            previous = self._parts.get(name)
            if previous is None or previous.ended.is_set():
                self._parts[name] = self._start(check)
        end = self._clock.monotonic() + self._deadline
        for part in self._parts.values():
            part.ended.wait(max(0.0, end - self._clock.monotonic()))
        return {name: self._parts[name].result for name in self._checks}

    def _start(self, check: Callable[[], object]) -> PartCheck:
        part = PartCheck()
        self._threads.start(partial(self._run, check, part), "outkey-readiness")
        return part

    def _run(self, check: Callable[[], object], part: PartCheck) -> None:
        try:
            check()
            part.result = READY
        except OutkeyError as error:
            part.result = error.code
        except Exception:  # noqa: BLE001 - whatever it is, the part is not ready
            part.result = FAILED
        finally:
            part.ended.set()
            self._release_thread()


def is_ready(results: Mapping[str, str]) -> bool:
    """Whether all parts are ready that anything waits for."""
    return all(
        result == READY for name, result in results.items() if name not in ADVISORY
    )
