"""Sync lines that a user has paused, and runs that are followed."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from outkey.foundation.core.errors import LinePaused, RunStopped, UnknownConfiguration
from outkey.sending.core.audit.events import Tag
from outkey.sending.core.request.message import Request, Response
from outkey.sync.core.drift.drift import Drift, LineShape
from outkey.sync.core.drift.shape import FieldShape
from outkey.sync.core.line.line import SyncLine
from outkey.sync.core.run import states as run_states
from outkey.sync.core.run.remedies import remedy_of, summary_of
from outkey.sync.core.run.run import Run, RunState
from outkey.testing import configuration
from unit.application_in_memory import memory_host
from unit.sync.engine.pull.test_sync_run import (
    PULL,
    Api,
    FakeSync,
    answer,
    fake_sync,
    people,
)
from unit.sync.engine.runs.test_sync_planner import FakePlanner, fake_planner

EVERY_MINUTE = replace(PULL, schedule="* * * * *")


class PausingApi(Api):
    """An API whose line is paused while its second page is requested."""

    sync: FakeSync | None = None

    def __call__(self, request: Request) -> Response:
        if len(self.asked) == 1 and self.sync is not None:
            self.sync.runs.pause_line("contacts")
        return super().__call__(request)  # type: ignore[return-value]


def pausing() -> FakeSync:
    api = PausingApi(people(1, 2, 3, 4))
    made = fake_sync(responses=api)
    api.sync = made
    return made


# ── paused ────────────────────────────────────────────────────────────────────────────


def test_a_paused_line_is_not_run_and_says_how_it_is_resumed() -> None:
    made = fake_sync(responses=Api(people(1)))
    made.runs.pause_line("contacts")
    with pytest.raises(LinePaused) as caught:
        made.run()
    assert "outkey line resume contacts" in caught.value.hint
    assert made.run(dry_run=True).counts.created == 1
    made.runs.resume_lines("contacts")
    assert made.run().counts.created == 1


def test_nothing_is_retried_while_a_line_is_paused() -> None:
    made = fake_sync(responses=Api([*people(1), {"id": 2, "name": []}]))
    run = made.run()
    made.runs.pause_line("contacts")
    with pytest.raises(LinePaused):
        list(made.runner.retry(run.id, "ada"))


def test_a_run_under_way_stops_at_its_next_page_and_is_continued() -> None:
    made = pausing()
    with pytest.raises(RunStopped, match="was paused") as caught:
        made.run()
    assert caught.value.reason == "line_paused"
    assert caught.value.hint == "Resume it: outkey line resume contacts"
    (stopped,) = made.runs.newest(9)
    assert (stopped.state, stopped.cause, stopped.pages) == (
        RunState.FAILED,
        "line_paused",
        1,
    )
    assert made.numbers() == ["1", "2"]
    made.runs.resume_lines("contacts")
    done = made.run()
    assert (done.id, done.counts.created) == (stopped.id, 4)


def test_a_worker_continues_a_run_after_the_pause() -> None:
    made = pausing()
    fake = fake_planner(made)
    fake.planner.request("contacts", "ada")
    (stopped,) = fake.work()
    assert (stopped.state, stopped.cause) == (RunState.WAITING, "line_paused")
    assert fake.work() == []
    assert fake.planner.work(stopped.id) == stopped  # a queue may still call
    made.runs.resume_lines("contacts")
    (done,) = fake.work()
    assert (done.id, done.state, done.counts.created) == (
        stopped.id,
        RunState.DONE,
        4,
    )


def test_a_requested_run_waits_and_another_is_refused() -> None:
    fake = fake_planner(fake_sync(responses=Api(people(1))))
    fake.planner.request("contacts", "ada")
    fake.sync.runs.pause_line("contacts")
    assert fake.work() == []
    with pytest.raises(LinePaused):
        fake.planner.request("contacts", "ada")
    dry = fake.planner.request("contacts", "ada", dry_run=True)
    assert [run.id for run in fake.work()] == [dry.id]


def planned(fake: FakePlanner) -> int:
    """Let two minutes pass and plan; return how many runs there are."""
    fake.planner.plan("schedule")
    fake.wait(120)
    fake.planner.plan("schedule")
    return len(fake.sync.memory.rows.runs)


def test_the_schedule_of_a_paused_line_is_not_followed() -> None:
    fake = fake_planner(fake_sync(EVERY_MINUTE, Api(people(1))))
    fake.sync.runs.pause_line("contacts")
    assert fake.planner.next_runs(["contacts"]) == {"contacts": None}
    assert planned(fake) == 0
    fake.sync.runs.resume_lines("contacts")
    assert planned(fake) == 1
    assert fake.planner.next_runs(["contacts"])["contacts"] is not None


def test_a_pause_ends_with_its_line() -> None:
    fake = fake_planner(fake_sync(EVERY_MINUTE))
    fake.sync.runs.pause_line("deleted")
    fake.sync.runs.pause_line("contacts")
    fake.planner.plan("schedule")
    assert fake.sync.runs.paused_lines() == {"contacts"}


def test_only_a_running_run_that_writes_is_stopped() -> None:
    run = Run(id="1", line="contacts", actor="ada", started_at=0.0)
    for other in (
        replace(run, state=RunState.WAITING),
        replace(run, state=RunState.DONE),
        replace(run, dry_run=True),
    ):
        assert run_states.pause(other, 5.0) is other


def test_the_cause_is_put_into_words() -> None:
    assert "paused" in summary_of("line_paused")
    assert "Resume" in remedy_of("line_paused")


def test_pausing_resuming_and_deleting_a_line_is_audited() -> None:
    host = memory_host(configuration())
    application = host.application
    host.registry.put_line(SyncLine("people", "acme", "GET", "/", PULL))
    office = application.administration("ada")
    application.lines.pause(office, "people")
    assert application.runs.paused_lines() == {"people"}
    application.lines.resume(office, "people")
    assert application.runs.paused_lines() == set()
    application.lines.pause(office, "people")
    application.lines.remove(office, "people")
    assert application.runs.paused_lines() == set()
    with pytest.raises(UnknownConfiguration):
        application.lines.pause(office, "people")
    assert [event.tag for event in host.audit.events] == [
        Tag.LINE_PAUSED,
        Tag.LINE_RESUMED,
        Tag.LINE_PAUSED,
        Tag.LINE_REMOVED,
    ]


def test_accepting_a_changed_shape_is_audited_and_a_deleted_line_has_none() -> None:
    host = memory_host(configuration())
    application = host.application
    host.registry.put_line(SyncLine("people", "acme", "GET", "/", PULL))
    office = application.administration("ada")
    assert application.lines.accept_shape(office, "people") == LineShape()
    assert host.audit.events == []
    changed = LineShape(
        fields={"id": FieldShape(("number",))},
        drift=(Drift("L051", "id", "number", "text"),),
        next_fields={"id": FieldShape(("text",))},
    )
    application.runs.shapes.put("people", changed)
    (finding,) = application.lines.drift("people")
    assert finding.message == "the API sends id as text, and not as number any more"
    assert [*application.lines.every_drift()] == [("people", finding)]
    accepted = application.lines.accept_shape(office, "people")
    assert accepted.fields == changed.next_fields
    assert accepted.accepted(1.0) == accepted
    assert application.lines.drift("people") == []
    application.lines.remove(office, "people")
    assert application.runs.shapes.get("people") == LineShape()
    assert [event.tag for event in host.audit.events] == [
        Tag.LINE_SHAPE_ACCEPTED,
        Tag.LINE_REMOVED,
    ]


# ── followed ──────────────────────────────────────────────────────────────────────────


class Steps:
    """Does one step of a run whenever somebody who follows it waits."""

    def __init__(self, steps: Iterator[Run]) -> None:
        self._steps = steps
        self.waited: list[float] = []

    def __call__(self, seconds: float) -> None:
        self.waited.append(seconds)
        next(self._steps, None)


def test_a_run_is_followed_page_by_page_to_its_end() -> None:
    made = fake_sync(responses=Api(people(1, 2, 3)))
    steps = made.runner.run("contacts", "ada")
    begun = next(steps)
    followed = list(made.runs.follow(begun.id, Steps(steps)))
    assert [(run.state, run.pages) for run in followed] == [
        (RunState.RUNNING, 0),
        (RunState.RUNNING, 1),
        (RunState.RUNNING, 2),
        (RunState.RUNNING, 3),
        (RunState.DONE, 3),
    ]


def test_a_run_that_has_ended_is_shown_once() -> None:
    made = fake_sync(responses=Api(people(1)))
    run = made.run()
    waits = Steps(iter(()))
    assert list(made.runs.follow(run.id, waits)) == [run]
    assert waits.waited == []


def test_a_run_that_a_worker_retries_is_followed_further() -> None:
    responses = [answer({}, status=503), *[answer(people(1))] * 2]
    made = fake_sync(responses=lambda _request: responses.pop(0))
    fake = fake_planner(made)
    run = fake.planner.request("contacts", "ada")

    def work() -> Iterator[Run]:
        retry = made.runs.retry_later
        made.runs.retry_later = lambda run, *_: run  # type: ignore[method-assign]
        (failed,) = fake.work()
        made.runs.retry_later = retry  # type: ignore[method-assign]
        yield failed
        yield made.runs.retry_later(failed, 0.0, 2)
        made.runs.cancel(run.id)
        yield failed

    states = [one.state for one in made.runs.follow(run.id, Steps(work()))]
    assert states == [
        RunState.WAITING,
        RunState.FAILED,
        RunState.WAITING,
        RunState.CANCELLED,
    ]


def test_a_run_that_failed_for_good_is_followed_to_its_end() -> None:
    made = fake_sync(responses=lambda _request: answer({}, status=401))
    fake = fake_planner(made)
    run = fake.planner.request("contacts", "ada")
    fake.work()
    waits = Steps(iter(()))
    (failed,) = made.runs.follow(run.id, waits)
    assert (failed.state, len(waits.waited)) == (RunState.FAILED, 1)
