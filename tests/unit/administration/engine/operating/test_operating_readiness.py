"""Readiness: each part is tried, and one that hangs does not hang the probe."""

import threading

import pytest

from outkey.administration.engine.operating.backups import backed_up_at, note_backup
from outkey.administration.engine.operating.parts import readiness_checks
from outkey.administration.engine.operating.readiness import (
    FRESH_SECONDS,
    Readiness,
    is_ready,
)
from outkey.administration.engine.operating.workers import (
    ALIVE_SECONDS,
    WorkerHeartbeat,
    count_running,
    count_workers,
)
from outkey.foundation.adapters.clock_system import SystemClock
from outkey.foundation.adapters.threads_system import SystemThreads
from outkey.foundation.core.errors import Sealed, WorkerMissing
from outkey.foundation.core.shared_state import StateKind
from outkey.foundation.engine.duties import MONITORING
from outkey.testing import FakeClock, configuration
from unit.application_in_memory import memory_host

PARTS = ("database", "key", "scripts", "workers", "clock")


def fail() -> None:
    raise ValueError("hunter2")


def seal() -> None:
    raise Sealed


def test_a_part_is_ok_or_has_the_code_of_its_error() -> None:
    readiness = Readiness(
        {"good": lambda: 1, "sealed": seal, "broken": fail},
        FakeClock(),
        SystemThreads(),
    )
    results = readiness.check_all()
    assert results == {"good": "ok", "sealed": Sealed().code, "broken": "failed"}
    assert not is_ready(results)
    assert is_ready({"good": "ok"})
    assert is_ready({"good": "ok", "clock": "time_in_future"})


def test_a_part_that_hangs_is_a_timeout_and_has_one_thread() -> None:
    goes_on = threading.Event()
    started: list[int] = []

    def hang() -> None:
        started.append(1)
        goes_on.wait(30)

    clock = FakeClock()
    released = threading.Semaphore(0)
    readiness = Readiness(
        {"database": hang},
        clock,
        SystemThreads(),
        release_thread=released.release,
        deadline=0.05,
    )
    assert readiness.check_all() == {"database": "timeout"}
    clock.sleep(FRESH_SECONDS)
    assert readiness.check_all() == {"database": "timeout"}
    assert started == [1]
    goes_on.set()
    assert released.acquire(timeout=30)
    clock.sleep(FRESH_SECONDS)
    goes_on.clear()
    goes_on.set()
    assert Readiness({"database": hang}, clock, SystemThreads()).check_all() == {
        "database": "ok"
    }


def test_a_result_is_used_again_for_a_second() -> None:
    calls: list[int] = []
    clock = FakeClock()
    readiness = Readiness({"part": lambda: calls.append(1)}, clock, SystemThreads())
    readiness.check_all()
    readiness.check_all()
    assert len(calls) == 1
    clock.sleep(FRESH_SECONDS)
    readiness.check_all()
    assert len(calls) == 2


def test_a_worker_lives_until_its_heartbeat_is_old_or_ends() -> None:
    host = memory_host()
    application = host.application
    states = application.states
    killed = WorkerHeartbeat(states, application.database)
    killed.beat()
    assert count_workers(states, application.database) == 1
    host.world.clock.sleep(ALIVE_SECONDS + 1)
    assert count_workers(states, application.database) == 0

    living = WorkerHeartbeat(states, application.database)
    living.beat()
    assert len(states.read(StateKind.WORKER)) == 1  # the killed one is deleted
    assert count_workers(states, application.database) == 1
    living.end()
    assert count_workers(states, application.database) == 0


def test_a_heartbeat_of_a_clock_that_was_ahead_is_not_that_of_a_worker() -> None:
    host = memory_host()
    application = host.application
    states = application.states
    WorkerHeartbeat(states, application.database).beat()
    host.world.clock.advance(-7200)
    assert count_workers(states, application.database) == 0
    WorkerHeartbeat(states, application.database).beat()
    assert len(states.read(StateKind.WORKER)) == 1
    assert count_workers(states, application.database) == 1


def test_an_installation_with_lines_needs_a_worker() -> None:
    application = memory_host(configuration(name="shop")).application
    checks = readiness_checks(application)
    assert checks["workers"]() is None  # there is nothing to do

    application.states.put(StateKind.WEBHOOK, {"orders": {}})
    with pytest.raises(WorkerMissing):
        checks["workers"]()

    WorkerHeartbeat(application.states, application.database).beat()
    checks["workers"]()


def test_every_part_of_a_working_installation_is_ready() -> None:
    application = memory_host().application
    results = Readiness(
        readiness_checks(application), SystemClock(), SystemThreads()
    ).check_all()
    assert results == dict.fromkeys(PARTS, "ok")


def test_the_time_of_the_last_backup_is_stored() -> None:
    application = memory_host().application
    assert backed_up_at(application) is None
    note_backup(application)
    assert backed_up_at(application) == application.database.now()


NOW = 1_000_000.0


@pytest.mark.parametrize(
    ("kind", "key", "state", "count"),
    [
        (StateKind.WORKER, "a", {"at": NOW - 20}, 1),
        (StateKind.WORKER, "a", {"at": NOW - 40}, 0),
        (StateKind.WORKER, "a", {"at": NOW + 1e9}, 0),
        (StateKind.WORKER, "a", {"at": "now"}, 0),
        (StateKind.WORKER, "a", [], 0),
        (StateKind.PROCESS, "a", {"seen_at": NOW - 100}, 1),
        (StateKind.PROCESS, "a", {"seen_at": NOW + 10}, 1),
        (StateKind.PROCESS, "a", {"seen_at": NOW - 200}, 0),
        (StateKind.LEASE, MONITORING, {"holder": "a", "until": NOW + 100}, 1),
        (StateKind.LEASE, MONITORING, {"holder": "a", "until": NOW - 1}, 0),
        (StateKind.LEASE, MONITORING, {"holder": "a", "until": 0.0}, 0),
        (StateKind.LEASE, "pruning", {"holder": "a", "until": NOW + 100}, 0),
    ],
)
def test_processes_are_known_by_what_they_stored_a_moment_ago(
    kind: StateKind, key: str, state: object, count: int
) -> None:
    assert count_running({kind: {key: state}}, NOW) == count
    assert count_running({}, NOW) == 0
