"""Which of the waiting requests gets the next thread of the server.

Requests to the HTTP interface wait for APIs and for their callers, so they use half of
the threads at most, and those with the same token, or for the API of the same
configuration, not even all of these. Sign-ins from one address use one of their two
threads, and few of them wait. Some threads are for webhooks alone, for pages, and for
the probes of a monitoring system, so that none of these can keep another one from being
served.
"""

import threading
import time
from collections import Counter, deque
from dataclasses import dataclass
from enum import Enum, unique
from typing import Protocol

from waitress.task import ThreadedTaskDispatcher

THREADS = 32
# How long a request to the HTTP interface, or a sign-in, waits for a thread; then it
# gets a 503.
WAIT_SECONDS = 10.0
# Of sign-ins from the same address, those that wait for a thread; more get a 503 at
# once. Users of one office share an address.
WAITING_OF_ADDRESS = 2


@unique
class Kind(Enum):
    """A kind of request, with the threads that only it uses, and that it uses at most.

    The threads that no kind has for itself are shared.
    """

    def __init__(self, own: int, most: int) -> None:
        self.own = own
        self.most = most

    # Each member is one object. That of Enum takes long, and each request needs many.
    __hash__ = object.__hash__

    LIVENESS = (1, THREADS)
    OPERATING = (1, 4)
    HOOK = (4, THREADS)
    INTERFACE = (2, THREADS // 2)
    # A password takes most of a second of the processor, also for an unknown user.
    SIGN_IN = (1, 2)
    PAGE = (2, THREADS)


# Those that are refused when they have waited for too long: their number is up to
# others, and a response that comes too late is of no use.
REFUSABLE = (Kind.INTERFACE, Kind.SIGN_IN)
# The threads that requests of the same client use at most.
THREADS_OF_CLIENT = {Kind.INTERFACE: 12, Kind.SIGN_IN: 1}
# Of the threads of the HTTP interface, those that sends use at most: the others do not
# wait for APIs. And those that sends to the same API use, which may be a slow one.
THREADS_OF_SENDS = Kind.INTERFACE.most - 2
THREADS_OF_CONFIGURATION = 8
SHARED = THREADS - sum(kind.own for kind in Kind)
_PROBES = {
    "/healthz": Kind.LIVENESS,
    "/readyz": Kind.OPERATING,
    "/metrics": Kind.OPERATING,
}
_LOGIN = "/login/"
_PREFIXES = {"/hooks/": Kind.HOOK, "/api/v1/": Kind.INTERFACE}


def kind_of(path: str, method: str = "GET") -> Kind:
    """Return the kind of a request by its decoded path."""
    path = normal_path(path)
    if path == _LOGIN and method == "POST":
        return Kind.SIGN_IN
    for prefix, kind in _PREFIXES.items():
        if path.startswith(prefix):
            return kind
    return _PROBES.get(path, Kind.PAGE)


def normal_path(path: str) -> str:
    """Return a path as the application gets it, which has one slash at its start."""
    return f"/{path.lstrip('/')}"


@dataclass(frozen=True, slots=True)
class Place:
    """The place at which a request is counted: its kind, client and configuration.

    `client` is its Authorization header if it is for the HTTP interface, and its
    address if it is a sign-in; "" otherwise. `configuration` is the one that a
    send names; None for other requests.
    """

    kind: Kind
    client: str = ""
    configuration: str | None = None

    def limits(self) -> "dict[Share, int]":
        """Return the shares that it is counted in, each with its most threads."""
        limits: dict[Share, int] = {}
        if self.client and self.kind in THREADS_OF_CLIENT:
            limits["client", self.kind, self.client] = THREADS_OF_CLIENT[self.kind]
        if self.configuration is not None:
            limits["sends", self.kind, ""] = THREADS_OF_SENDS
            share = ("configuration", self.kind, self.configuration)
            limits[share] = THREADS_OF_CONFIGURATION
        return limits


Share = tuple[str, Kind, str]  # by what requests are counted, of which kind, and whose


class Job(Protocol):
    """Something that a thread does: serve the next request of a connection."""

    def place(self) -> Place:
        """Return the place that it is counted at."""

    def service(self) -> None:
        """Do it."""

    def refuse(self) -> None:
        """Let `service` respond that the server is busy."""

    def cancel(self) -> None:
        """Give it up: the server stops."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A job in the queue, and since when it has been there."""

    job: Job
    place: Place
    limits: "dict[Share, int]"  # those of its place
    since: float

    def is_overdue(self, now: float) -> bool:
        """Whether it has waited for too long."""
        return self.place.kind in REFUSABLE and now - self.since > WAIT_SECONDS

    def cancel(self) -> None:
        """Give the job up: the server stops."""
        self.job.cancel()


class Dispatcher(ThreadedTaskDispatcher):  # type: ignore[misc]  # waitress has no types
    """Hands jobs to threads: the first one that has a place."""

    lock: threading.Lock
    queue: "deque[Waiting]"
    queue_cv: threading.Condition
    thread_exit_cv: threading.Condition
    stop_count: int
    active_count: int
    threads: set[int]

    def __init__(self) -> None:
        super().__init__()
        self._busy: Counter[Kind] = Counter()
        self._busy_shared = 0  # of the threads that no kind has for itself
        self._busy_of_share: Counter[Share] = Counter()

    def add_task(self, task: Job) -> None:
        """Queue a job."""
        place = task.place()
        with self.lock:
            if self._is_crowded(place):
                task.refuse()
                place = task.place()  # its response is a few bytes
            waiting = Waiting(task, place, place.limits(), time.monotonic())
            self.queue.append(waiting)
            self.queue_cv.notify()

    def _is_crowded(self, place: Place) -> bool:
        """Whether enough sign-ins from the same address wait already."""
        if place.kind is not Kind.SIGN_IN or not place.client:
            return False
        count = sum(waiting.place == place for waiting in self.queue)
        return count >= WAITING_OF_ADDRESS

    def refuse_overdue(self) -> None:
        """Wake threads for jobs that have waited for too long; called regularly."""
        now = time.monotonic()
        with self.lock:
            if any(waiting.is_overdue(now) for waiting in self.queue):
                self.queue_cv.notify_all()

    def handler_thread(self, thread_no: int) -> None:
        """Do one job after another, until the server stops."""
        while (waiting := self._wait(thread_no)) is not None:
            try:
                waiting.job.service()
            except BaseException:  # else the thread would end, and be missing
                self.logger.exception("Exception when servicing %r", waiting.job)
            finally:
                self._leave(waiting)

    def _wait(self, thread_no: int) -> Waiting | None:
        """Return the next job for this thread; None if it is to end."""
        with self.lock:
            while self.stop_count == 0:
                if (waiting := self._take()) is not None:
                    return waiting
                self.active_count -= 1
                self.queue_cv.wait()
                self.active_count += 1
            self.active_count -= 1
            self.stop_count -= 1
            self.threads.discard(thread_no)
            self.thread_exit_cv.notify()
            return None

    def _take(self) -> Waiting | None:
        """Take the first job out of the queue that has a place, or is overdue."""
        now = time.monotonic()
        for index, waiting in enumerate(self.queue):
            is_free = self._has_place(waiting)
            if is_free or waiting.is_overdue(now):
                del self.queue[index]
                if not is_free:
                    waiting.job.refuse()
                self._count(waiting.place.kind, 1)
                for share in waiting.limits:
                    self._busy_of_share[share] += 1
                return waiting
        return None

    def _has_place(self, waiting: Waiting) -> bool:
        kind = waiting.place.kind
        busy = self._busy[kind]
        for share, most in waiting.limits.items():
            if self._busy_of_share[share] >= most:
                return False
        return busy < kind.own or (busy < kind.most and self._busy_shared < SHARED)

    def _count(self, kind: Kind, change: int) -> None:
        """Count a thread that becomes busy (1) or free (-1)."""
        before = max(0, self._busy[kind] - kind.own)
        self._busy[kind] += change
        self._busy_shared += max(0, self._busy[kind] - kind.own) - before

    def _leave(self, waiting: Waiting) -> None:
        """Release the place of a job."""
        with self.lock:
            self._count(waiting.place.kind, -1)
            for share in waiting.limits:
                self._busy_of_share[share] -= 1
                if not self._busy_of_share[share]:
                    del self._busy_of_share[share]  # or it would grow without end
