"""Stored times that lie in the future are named, by the doctor and by `/readyz`."""

from dataclasses import replace

import pytest

from outkey.administration.engine.operating.future_times import (
    LOOK_SECONDS,
    FutureTimesCheck,
    future_times,
)
from outkey.administration.engine.operating.workers import WorkerHeartbeat
from outkey.administration.engine.watching.background import LEASE_SECONDS
from outkey.foundation.core.errors import TimeInFuture
from outkey.foundation.core.moments import DAY_SECONDS
from outkey.foundation.core.shared_state import Lease, StateKind
from outkey.foundation.core.stored_times import SKEW_SECONDS
from outkey.foundation.engine.duties import MONITORING, PRUNING, SCHEDULES, Duties
from unit.application_in_memory import memory_host
from unit.webhooks.engine.test_webhook_processing import Working

AHEAD = 7200.0


def store_times(working: Working) -> None:
    """Store something of every kind that has a time."""
    application = working.application
    states, database = application.states, application.database
    now = database.now()
    duties = Duties(states, database)
    duties.take(MONITORING, "one", LEASE_SECONDS)
    duties.take(PRUNING, "one", DAY_SECONDS)
    duties.claim_interval(SCHEDULES)
    WorkerHeartbeat(states, database).beat()
    states.put(StateKind.PROCESS, {"p": {"seen_at": now}})
    pace = {"drained_at": now + 60, "quiet_until": now + 300, "at": now}
    states.put(StateKind.RATE_LIMIT, {"shop": pace})
    pause = {"until": now + DAY_SECONDS, "at": now}
    states.put(StateKind.RUN_PAUSE, {"shop": pause})
    working.send({"id": "a"})
    application.runs.begin("orders", "ada", dry_run=False)
    application.runs.request("orders", "ada", dry_run=True)


def test_what_was_just_stored_lies_not_in_the_future() -> None:
    working = Working()
    assert list(future_times(working.application)) == []
    store_times(working)
    assert list(future_times(working.application)) == []
    working.host.world.clock.advance(-SKEW_SECONDS)
    assert list(future_times(working.application)) == []


def test_everything_that_a_clock_ahead_has_stored_is_named() -> None:
    working = Working()
    store_times(working)
    working.host.world.clock.advance(-AHEAD)
    (worker,) = working.application.states.read(StateKind.WORKER)
    assert list(future_times(working.application)) == [
        "rate limits of configurations: shop",
        "pauses of configurations: shop",
        "leases of background work: monitoring, pruning",
        "marks of background work: schedules",
        "heartbeats of processes: p",
        f"heartbeats of workers: {worker}",
        "runs of sync lines: orders",
        "deliveries of webhooks",
    ]


def test_a_host_without_webhooks_has_no_deliveries_to_look_at() -> None:
    working = Working()
    working.send({"id": "a"})
    working.host.world.clock.advance(-AHEAD)
    without = replace(working.application, hook_ports=None)
    assert list(future_times(without)) == []


def test_the_installation_says_once_a_minute_whether_there_is_one() -> None:
    host = memory_host()
    application, clock = host.application, host.world.clock
    check = FutureTimesCheck(application)
    check()
    lease = Lease("one", clock.now() + DAY_SECONDS)
    application.states.put(StateKind.LEASE, {MONITORING: lease.facts()})
    check()  # it was just looked at
    clock.advance(LOOK_SECONDS)
    with pytest.raises(TimeInFuture):
        check()
    application.states.put(StateKind.LEASE, {MONITORING: None})
    clock.advance(LOOK_SECONDS)
    check()
