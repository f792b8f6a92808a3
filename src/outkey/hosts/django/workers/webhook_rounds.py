"""A thread that processes the deliveries of webhooks, beside the runs of a worker."""

import logging
import threading
from functools import cached_property
from typing import TYPE_CHECKING

from outkey.administration.engine.application import Application
from outkey.foundation.core.shared_state import StateKind
from outkey.hosts.django.workers.repeating_thread import RepeatingThread

if TYPE_CHECKING:
    from outkey.webhooks.engine.processing import WebhookWork

ROUND_SECONDS = 1.0


def webhook_thread(
    application: Application, stop_signal: threading.Event
) -> RepeatingThread:
    """Return the thread that processes deliveries until the stop signal."""
    return RepeatingThread(
        WebhookRounds(application, stop_signal).process_deliveries,
        ROUND_SECONDS,
        stop_signal,
        name="outkey-webhooks",
        logger=logging.getLogger("outkey.webhooks"),
    )


class WebhookRounds:
    """Processes what was delivered, if there are webhooks and the key."""

    def __init__(self, application: Application, stop_signal: threading.Event) -> None:
        self._application = application
        self._stop_signal = stop_signal

    def process_deliveries(self) -> None:
        """Process deliveries until none is left, or until the stop signal."""
        application = self._application
        if not application.states.read(StateKind.WEBHOOK):
            return  # what processes them is not loaded
        # Without the key no body opens, and the deliveries are not to blame.
        if application.keys.is_sealed():
            return
        while self._work.round() and not self._stop_signal.is_set():
            pass

    @cached_property
    def _work(self) -> "WebhookWork":
        return self._application.webhooks.work(self._stop_signal.is_set)
