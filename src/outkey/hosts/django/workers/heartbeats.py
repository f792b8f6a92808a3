"""Heartbeats let other processes know that this one does runs."""

import logging
import threading
import time

from outkey.administration.engine.application import Application
from outkey.administration.engine.operating.workers import BEAT_SECONDS, WorkerHeartbeat
from outkey.hosts.django.workers.repeating_thread import RepeatingThread

LOOK_SECONDS = 45.0  # a server looks in each of its rounds, once a minute


class StreamWitness:
    """Notes about once a minute which streams the audit has.

    On several machines, a stream that is missing is then noticed on each of them.
    """

    def __init__(self, application: Application) -> None:
        self._application = application
        self._looked_at = -LOOK_SECONDS

    def look(self) -> None:
        """Note the streams, if it is time and there is the key."""
        now = time.monotonic()
        if now - self._looked_at < LOOK_SECONDS or self._application.keys.is_sealed():
            return
        self._looked_at = now
        self._application.audit_trail.note_streams()


def heartbeat_thread(
    application: Application, stop_signal: threading.Event
) -> RepeatingThread:
    """Return the thread that stores heartbeats, and deletes the last one at the end.

    It is a thread of its own: a run may take hours, and the worker is alive.
    """
    heartbeat = WorkerHeartbeat(application.states, application.database)
    witness = StreamWitness(application)

    def beat() -> None:
        heartbeat.beat()
        witness.look()

    return RepeatingThread(
        beat,
        BEAT_SECONDS,
        stop_signal,
        name="outkey-heartbeat",
        logger=logging.getLogger("outkey.runs"),
        end=heartbeat.end,
    )
