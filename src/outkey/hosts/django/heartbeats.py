"""Heartbeats let other processes know that this one does runs."""

import logging
import threading

from outkey.engine.application import Application
from outkey.engine.operating.workers import BEAT_SECONDS, WorkerHeartbeat
from outkey.hosts.django.repeating_thread import RepeatingThread


def heartbeat_thread(
    application: Application, stop_signal: threading.Event
) -> RepeatingThread:
    """Return what stores heartbeats, and deletes the last one at the end.

    It is a thread of its own: a run may take hours, and the worker is alive.
    """
    heartbeat = WorkerHeartbeat(application.states, application.database)
    return RepeatingThread(
        heartbeat.beat,
        BEAT_SECONDS,
        stop_signal,
        name="outkey-heartbeat",
        logger=logging.getLogger("outkey.runs"),
        end=heartbeat.end,
    )
