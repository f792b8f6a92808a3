"""A thread that does the same work every few seconds until the stop signal is set."""

import threading
from collections.abc import Callable
from logging import Logger

from outkey.foundation.engine.rounds import repeat
from outkey.hosts.django.workers.unattended_work import log_and_continue


class RepeatingThread:
    """Does some work again and again until the stop signal; an error is logged."""

    def __init__(
        self,
        work: Callable[[], object],
        seconds: float,
        stop_signal: threading.Event,
        *,
        name: str,
        logger: Logger,
        end: Callable[[], object] = lambda: None,
    ) -> None:
        self._work = work
        self._seconds = seconds
        self._stop_signal = stop_signal
        self._logger = logger
        self._end = end  # done once, after the last round
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Start the first round."""
        self._thread.start()

    def join(self, patience: float) -> None:
        """Wait for the round under way, once the stop signal is set."""
        if self._thread.is_alive():
            self._thread.join(patience)

    def _run(self) -> None:
        repeat(self._do_round, self._seconds, self._stop_signal)
        log_and_continue(self._logger, self._end)

    def _do_round(self) -> None:
        log_and_continue(self._logger, self._work, again_soon=True)
