"""A thread that processes the deliveries of webhooks, beside the runs of a worker."""

import logging
import threading
from functools import cached_property
from typing import TYPE_CHECKING

from django.db import connections

from outkey.core.shared_state import StateKind
from outkey.engine.application import Application
from outkey.engine.rounds import repeat
from outkey.hosts.django.unattended_work import log_and_continue

if TYPE_CHECKING:
    from outkey.engine.webhooks.work import HookWork

LOOK_SECONDS = 1.0
logger = logging.getLogger("outkey.webhooks")


class HookRounds:
    """Looks for deliveries every second until the stop signal."""

    def __init__(self, application: Application, stop_signal: threading.Event) -> None:
        self._application = application
        self._stop_signal = stop_signal
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start to look for deliveries."""
        self._thread = threading.Thread(
            target=self._run, name="outkey-webhooks", daemon=True
        )
        self._thread.start()

    def join(self, patience: float) -> None:
        """Wait for the deliveries under way, once the stop signal is set."""
        if self._thread is not None:
            self._thread.join(patience)

    def _run(self) -> None:
        repeat(
            lambda: log_and_continue(logger, self._round, again_soon=True),
            LOOK_SECONDS,
            self._stop_signal,
        )
        connections.close_all()

    def _round(self) -> None:
        application = self._application
        if not application.states.read(StateKind.WEBHOOK):
            return  # what processes them is not loaded
        # Without the key no body opens, and the deliveries are not to blame.
        if application.keys.is_sealed():
            return
        while self._work.round() and not self._stop_signal.is_set():
            pass

    @cached_property
    def _work(self) -> "HookWork":
        return self._application.hook_work(self._stop_signal.is_set)
