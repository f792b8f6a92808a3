"""One thread resumes the flows of all tasks, and records their intents together."""

import asyncio
import os
import signal
import threading
import time
from collections.abc import Sequence
from dataclasses import replace

import pytest

from outkey.foundation.adapters.threads_system import SystemThreads
from outkey.foundation.core.errors import AuditUnavailable, ConfigError
from outkey.foundation.core.text import Text
from outkey.foundation.ports.threads import WorkerThread
from outkey.sending.core.audit.events import Intent, Outcome
from outkey.sending.engine.wire.drive import AsyncRuntime, adrive
from outkey.sending.engine.wire.flow_worker import (
    FlowWorker,
    Handover,
    HandoverFuture,
    begin_in_child,
)
from outkey.sending.engine.wire.steps import Awaited, CallInThread, Steps, Wait
from outkey.testing import AsyncFake, MemoryAudit, fake_gateway

TASKS = 50


def intent(name: str) -> Intent:
    return Intent(name, "", "none", "GET", "https://a.example", "/", (), 0)


class GroupingAudit(MemoryAudit):
    """Counts how many intents each call records; can fail in a way nobody foresaw."""

    def __init__(self) -> None:
        super().__init__()
        self.groups: list[int] = []
        self.bug: Exception | None = None

    def intend_all(self, intents: Sequence[Intent]) -> list[str]:
        self.groups.append(len(intents))
        if self.bug is not None:
            raise self.bug
        return super().intend_all(intents)


def new_thread() -> WorkerThread:
    return SystemThreads().new_worker("outkey-flows")


class World:
    """A runtime with a worker."""

    def __init__(self) -> None:
        fake = fake_gateway()
        both = AsyncFake(fake.transport, fake.resolver)
        self.audit = GroupingAudit()
        self.worker = FlowWorker(self.audit, new_thread)
        self.runtime = AsyncRuntime(
            both, both, asyncio.sleep, fake.clock, self.audit, self.worker
        )

    def flow(self, number: int) -> Steps[str]:
        attempt: str = yield intent(f"acme-{number}")
        yield Wait(0)
        yield Outcome(attempt, f"acme-{number}", 200, "ok", 1)
        return attempt

    async def drive_all(self) -> list[str | BaseException]:
        """Drive many flows, which are all handed over before the worker begins."""
        may_go_on = threading.Event()
        slow = Slow(may_go_on)
        self.worker.resume(slow, None, None)
        assert slow.has_begun.wait(10)
        flows = [adrive(self.flow(number), self.runtime) for number in range(TASKS)]
        tasks = asyncio.gather(*flows, return_exceptions=True)
        await asyncio.sleep(0)
        may_go_on.set()
        return await tasks


class Slow:
    """A run whose next step is known when the test says so."""

    def __init__(self, may_go_on: threading.Event) -> None:
        self.has_begun = threading.Event()
        self._may_go_on = may_go_on

    def next(self, value: object, failure: object) -> None:
        self.has_begun.set()
        self._may_go_on.wait(10)

    def begin_attempt(self, intent: Intent, attempt: str) -> None:
        """Never called: it has no intent."""


def test_the_intents_of_many_tasks_are_recorded_together() -> None:
    world = World()
    attempts = asyncio.run(world.drive_all())
    assert len(set(attempts)) == TASKS
    assert world.audit.groups == [TASKS]
    outcomes = [e for e in world.audit.events if isinstance(e, Outcome)]
    assert len(outcomes) == TASKS


def test_a_record_that_fails_refuses_every_task_of_its_group() -> None:
    world = World()
    world.audit.broken = True
    errors = asyncio.run(world.drive_all())
    assert {type(error) for error in errors} == {AuditUnavailable}
    assert len({id(error) for error in errors}) == TASKS
    assert world.audit.events == []


def test_an_error_that_nobody_foresaw_reaches_the_tasks_and_the_worker_goes_on() -> (
    None
):
    world = World()
    world.audit.bug = ZeroDivisionError("a bug")
    errors = asyncio.run(world.drive_all())
    assert {type(error) for error in errors} == {ZeroDivisionError}
    world.audit.bug = None
    assert len(set(asyncio.run(world.drive_all()))) == TASKS


def test_a_bug_in_the_place_of_a_record_spares_the_tasks_that_have_their_step() -> None:
    world = World()
    world.audit.bug = ZeroDivisionError("a bug")

    def without_record() -> Steps[str]:
        yield Wait(0)
        return "done"

    async def drive_together() -> list[str | BaseException]:
        may_go_on = threading.Event()
        world.worker.resume(Slow(may_go_on), None, None)
        flows = [without_record(), world.flow(1), world.flow(2)]
        tasks = asyncio.gather(
            *(adrive(flow, world.runtime) for flow in flows), return_exceptions=True
        )
        await asyncio.sleep(0.05)  # all are handed over, and wait for the slow one
        may_go_on.set()
        return await tasks

    done, *failed = asyncio.run(drive_together())
    assert done == "done"
    assert {type(error) for error in failed} == {ZeroDivisionError}


def test_a_record_that_fails_is_no_error_of_a_flow_that_has_its_step() -> None:
    async def hand_over() -> Handover:
        loop = asyncio.get_running_loop()
        future: HandoverFuture[Awaited | None] = HandoverFuture(loop=loop)
        return Handover(Slow(threading.Event()), None, None, future, step=Wait(0))

    handover = asyncio.run(hand_over())
    handover.fail(ZeroDivisionError("a bug"))
    assert (handover.step, handover.error) == (Wait(0), None)
    handover.step = intent("acme")
    handover.fail(ZeroDivisionError("a bug"))
    assert handover.step is None
    assert isinstance(handover.error, ZeroDivisionError)


def test_what_a_flow_raises_is_raised_in_its_task() -> None:
    world = World()

    def failing() -> Steps[str]:
        yield Wait(0)
        raise ConfigError(Text("wrong"))

    with pytest.raises(ConfigError, match="wrong"):
        asyncio.run(adrive(failing(), world.runtime))


def test_flows_of_one_worker_run_in_one_thread_and_its_calls_in_others() -> None:
    world = World()
    threads: set[str] = set()

    def flow() -> Steps[str]:
        threads.add(threading.current_thread().name)
        name: str = yield CallInThread(lambda: threading.current_thread().name)
        return name

    async def drive_some() -> list[str]:
        flows = (adrive(flow(), world.runtime) for _ in range(5))
        return list(await asyncio.gather(*flows))

    called_in = asyncio.run(drive_some())
    assert len(threads) == 1
    assert not threads & set(called_in)
    assert threading.current_thread().name not in {*threads, *called_in}


def test_a_closed_worker_finishes_and_starts_again() -> None:
    world = World()

    async def drive_and_close() -> list[str | BaseException]:
        tasks = asyncio.create_task(world.drive_all())
        await asyncio.sleep(0)
        world.worker.close()
        return await tasks

    assert len(set(asyncio.run(drive_and_close()))) == TASKS
    assert len(set(asyncio.run(world.drive_all()))) == TASKS


def test_a_thread_releases_what_it_holds_before_it_ends() -> None:
    world = World()
    released: list[str] = []
    has_released = threading.Event()

    def release() -> None:
        released.append(threading.current_thread().name)
        has_released.set()

    worker = FlowWorker(world.audit, new_thread, release)
    worker.close()
    assert not released  # there was no thread
    world.runtime = replace(world.runtime, worker=worker)
    world.worker = worker
    asyncio.run(world.drive_all())
    worker.close()
    assert has_released.wait(10)
    assert released[0].startswith("outkey-flows")
    worker.close()
    assert len(released) == 1


def test_where_no_thread_can_be_started_every_task_gets_an_error() -> None:
    world = World()
    world.worker._thread.shutdown(wait=True)
    for number in range(3):
        with pytest.raises(RuntimeError, match="after shutdown"):
            asyncio.run(adrive(world.flow(number), world.runtime))


def test_a_forked_child_has_a_thread_of_its_own() -> None:
    world = World()
    asyncio.run(world.drive_all())
    child = os.fork()
    if child == 0:
        attempts = asyncio.run(world.drive_all())
        world.worker.close()
        os._exit(0 if len(set(attempts)) == TASKS else 1)
    deadline = time.monotonic() + 20
    ended = (0, 0)
    while ended == (0, 0) and time.monotonic() < deadline:
        time.sleep(0.01)
        ended = os.waitpid(child, os.WNOHANG)
    if ended == (0, 0):
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    assert ended == (child, 0)


def test_what_begins_anew_works_although_a_thread_held_the_lock() -> None:
    world = World()
    with world.worker._lock:  # as a thread that a fork has not copied
        begin_in_child()
    assert len(set(asyncio.run(world.drive_all()))) == TASKS


def test_a_loop_that_was_closed_does_not_stop_the_worker() -> None:
    world = World()
    loop_is_closed = threading.Event()

    async def hand_over() -> None:
        world.worker.resume(Slow(loop_is_closed), None, None)

    asyncio.run(hand_over())
    loop_is_closed.set()
    assert len(set(asyncio.run(world.drive_all()))) == TASKS
