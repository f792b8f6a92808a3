"""Runs requested by a user, by a schedule, and as a retry after a failure."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import pytest

from outkey.foundation.core.errors import (
    ConfigError,
    ConnectionFailed,
    LineBusy,
    OutkeyError,
    RateLimited,
    ResponseBroken,
    Sealed,
    SecretMissing,
    StorageUnavailable,
    TimedOut,
)
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.request.message import Request, Response
from outkey.sync.adapters.calendar_cronsim import CronCalendar
from outkey.sync.core.line.line import PushedRecords, SyncLine
from outkey.sync.core.run.run import Run, RunState
from outkey.sync.core.run.schedule import ATTEMPTS, DELAYS, delay_before_retry
from outkey.sync.engine.runs.planner import Planner
from outkey.testing import configuration
from unit.sync.engine.pull.test_sync_run import (
    PULL,
    PUSH,
    Api,
    FakeSync,
    answer,
    fake_sync,
    people,
    stored,
)

HOURLY = replace(PULL, schedule="0 * * * *")


@dataclass
class Listed:
    """A queue that remembers what it was given."""

    given: list[tuple[str, str]] = field(default_factory=list)

    def put(self, run: Run, lock: str) -> None:
        self.given.append((run.id, lock))


@dataclass
class FakePlanner:
    sync: FakeSync
    queue: Listed
    planner: Planner
    stopping: bool = False

    def work(self) -> list[Run]:
        """Do what is due, as a worker does."""
        return [self.planner.work(run.id) for run in self.sync.runs.due()]

    def wait(self, seconds: float) -> None:
        self.sync.world.clock.advance(seconds)


def fake_planner(made: FakeSync) -> FakePlanner:
    queue = Listed()
    fake = FakePlanner(made, queue, None)  # type: ignore[arg-type]
    registry = made.world.ports.configurations
    fake.planner = Planner(made.ports, registry, queue, lambda: fake.stopping)  # type: ignore[arg-type]
    return fake


# ── asking ────────────────────────────────────────────────────────────────────────────


def test_who_asks_gets_a_run_that_waits_and_a_worker_does_it() -> None:
    fake = fake_planner(fake_sync(responses=Api(people(1, 2, 3))))
    asked = fake.planner.request("contacts", "ada")
    assert asked.state is RunState.WAITING
    # Any of the two places will do.
    assert fake.queue.given == [(asked.id, "acme/0"), (asked.id, "acme/1")]
    (done,) = fake.work()
    assert (done.id, done.state, done.actor, done.counts.created) == (
        asked.id,
        RunState.DONE,
        "ada",
        3,
    )
    assert fake.work() == []


def test_a_run_that_is_not_due_is_left_alone() -> None:
    fake = fake_planner(fake_sync(responses=Api(people(1))))
    asked = fake.planner.request("contacts", "ada")
    fake.work()
    assert fake.planner.work(asked.id).state is RunState.DONE
    assert len(fake.sync.memory.rows.runs) == 1


def test_a_line_that_cannot_work_is_refused_when_it_is_asked_for() -> None:
    fake = fake_planner(fake_sync(replace(PULL, records="[")))
    with pytest.raises(ConfigError):
        fake.planner.request("contacts", "ada")
    assert fake.sync.memory.rows.runs == {}


def test_a_trial_is_asked_for_too_and_not_tried_again() -> None:
    fake = fake_planner(fake_sync(responses=lambda _request: Response(500)))
    fake.planner.request("contacts", "ada", dry_run=True)
    (ended,) = fake.work()
    assert (ended.state, ended.dry_run, fake.sync.runs.due()) == (
        RunState.FAILED,
        True,
        [],
    )


# ── schedules ─────────────────────────────────────────────────────────────────────────


def test_a_schedule_asks_once_when_its_moment_has_come() -> None:
    fake = fake_planner(fake_sync(HOURLY, Api(people(1))))
    fake.planner.plan("schedule")
    assert fake.queue.given == []
    fake.wait(3600)
    fake.planner.plan("schedule")
    fake.planner.plan("schedule")
    (run,) = fake.sync.runs.due()
    assert (run.actor, {given for given, _ in fake.queue.given}) == (
        "schedule",
        {run.id},
    )


def test_what_was_missed_while_nobody_looked_comes_once() -> None:
    fake = fake_planner(fake_sync(HOURLY, Api(people(1))))
    fake.planner.plan("schedule")
    fake.wait(86_400)
    fake.planner.plan("schedule")
    assert [run.state for run in fake.work()] == [RunState.DONE]
    fake.planner.plan("schedule")
    assert fake.sync.runs.due() == []


def test_a_line_that_is_at_it_when_its_moment_comes_is_left_alone() -> None:
    fake = fake_planner(fake_sync(HOURLY, Api(people(1, 2, 3))))
    fake.planner.plan("schedule")
    fake.wait(3590)
    next(fake.sync.runner.run("contacts", "ada"))
    fake.wait(20)
    fake.planner.plan("schedule")
    assert [run.state for run in fake.sync.memory.rows.runs.values()] == [
        RunState.RUNNING
    ]


def test_a_schedule_that_is_none_is_a_fault_and_never_comes() -> None:
    fake = fake_planner(fake_sync(replace(PULL, schedule="every day")))
    (fault,) = fake.sync.runner.check("contacts")
    assert (fault.id, fault.field) == ("L015", "schedule")
    fake.planner.plan("schedule")
    fake.wait(86_400)
    fake.planner.plan("schedule")
    assert fake.sync.memory.rows.runs == {}


@pytest.mark.parametrize(
    ("schedule", "seconds"), [("0 * * * *", 3600), ("", None), ("every day", None)]
)
def test_a_line_runs_next_by_its_schedule_if_that_is_one(
    schedule: str, seconds: float | None
) -> None:
    fake = fake_planner(fake_sync(replace(PULL, schedule=schedule)))
    clock = fake.sync.world.clock
    clock.advance(3600 - clock.now() % 3600)
    expected = None if seconds is None else clock.now() + seconds
    assert fake.planner.next_runs(["contacts", "unknown"]) == {"contacts": expected}


# ── once more ─────────────────────────────────────────────────────────────────────────


def test_what_may_pass_is_tried_again_later_and_later_and_then_given_up() -> None:
    fake = fake_planner(fake_sync(responses=lambda _request: Response(503)))
    asked, waits = fake.planner.request("contacts", "ada"), []
    for _ in range(ATTEMPTS):
        (run,) = fake.work()
        waits.append(run.due_at and run.due_at - fake.sync.world.clock.now())
        fake.wait(3601)
    assert waits == [*DELAYS, None]
    (kept,) = fake.sync.memory.rows.runs.values()
    assert (kept.id, kept.state, kept.cause) == (
        asked.id,
        RunState.FAILED,
        "server_error",
    )
    assert fake.work() == []
    assert len(fake.queue.given) == 2, (
        "what waits for its time is not handed out before"
    )


def test_what_waited_for_its_time_is_handed_out_when_it_comes() -> None:
    fake = fake_planner(fake_sync(responses=lambda _request: Response(503)))
    fake.planner.request("contacts", "ada")
    fake.work()
    fake.planner.plan("schedule")
    assert len(fake.queue.given) == 2
    fake.wait(16)
    fake.planner.plan("schedule")
    assert len(fake.queue.given) == 4


def test_a_run_goes_on_where_it_failed() -> None:
    api = Api(people(1, 2, 3, 4, 5), {2: ConnectionFailed()})
    fake = fake_planner(fake_sync(responses=api))
    fake.planner.request("contacts", "ada")
    (failed,) = fake.work()
    assert (failed.state, failed.cause, failed.pages) == (
        RunState.WAITING,
        "connection",
        1,
    )
    fake.wait(16)
    (done,) = fake.work()
    assert (done.id, done.state, done.attempt, done.pages) == (
        failed.id,
        RunState.DONE,
        2,
        4,
    )
    assert len(api.asked) == 5


def test_what_only_a_person_can_mend_is_not_tried_again() -> None:
    fake = fake_planner(fake_sync(responses=lambda _request: Response(401)))
    fake.planner.request("contacts", "ada")
    (failed,) = fake.work()
    assert (failed.state, fake.sync.runs.due()) == (RunState.FAILED, [])


def test_a_line_that_was_broken_while_its_run_waited_fails_with_the_cause() -> None:
    fake = fake_planner(fake_sync())
    fake.planner.request("contacts", "ada")
    fake.sync.change(replace(PULL, records="["))
    (failed,) = fake.work()
    assert (failed.state, failed.cause) == (RunState.FAILED, "configuration")
    assert fake.work() == []


def test_who_is_told_to_stop_lets_go_at_the_next_page_and_another_goes_on() -> None:
    fake = fake_planner(fake_sync(responses=Api(people(1, 2, 3))))
    fake.planner.request("contacts", "ada")
    fake.stopping = True
    (stopped,) = fake.work()
    assert (stopped.state, stopped.cause, stopped.attempt) == (
        RunState.WAITING,
        "stopping",
        1,
    )
    fake.stopping = False
    (done,) = fake.work()
    assert (done.id, done.state, done.attempt) == (stopped.id, RunState.DONE, 1)


@pytest.mark.parametrize("changes", PushedRecords)
def test_a_push_lets_go_after_the_record_that_it_is_at(changes: PushedRecords) -> None:
    fake = fake_planner(fake_sync(replace(PUSH, changes=changes), method="POST"))
    stored(fake.sync, *({"number": str(n), "name": f"N{n}"} for n in range(5)))
    bodies: list[object] = []

    def stop(request: Request) -> Response:
        bodies.append(request.body)
        fake.stopping = True
        return answer({"id": 1})

    fake.sync.world.transport.responses = stop
    asked = fake.planner.request("contacts", "ada")
    for count in range(1, 5):
        fake.stopping = False
        stopped = fake.planner.work(asked.id)
        assert (stopped.state, stopped.counts.total) == (RunState.WAITING, count)
    fake.stopping = False
    fake.planner.work(asked.id)
    assert len(bodies) == len({*bodies}) == 5


def test_a_run_whose_worker_is_killed_again_and_again_is_given_up() -> None:
    fake = fake_planner(fake_sync(responses=Api(people(1, 2, 3))))
    asked = fake.planner.request("contacts", "ada")
    for _ in range(ATTEMPTS):
        next(fake.sync.runner.run("contacts", "worker"))
        fake.sync.kill()
    (ended,) = fake.work()
    kept = fake.sync.memory.rows.runs[asked.id]
    assert (ended.id, ended.state, ended.cause) == (kept.id, RunState.FAILED, "killed")
    assert kept.state is RunState.FAILED


def test_a_dry_run_whose_worker_was_killed_ends_as_failed() -> None:
    fake = fake_planner(fake_sync(responses=Api(people(1, 2, 3))))
    asked = fake.planner.request("contacts", "ada", dry_run=True)
    next(fake.sync.runner.run("contacts", "worker", dry_run=True, run_id=asked.id))
    fake.sync.kill()
    (ended,) = fake.work()
    stored = fake.sync.memory.rows.runs[asked.id]
    assert (ended.id, stored.state, stored.cause) == (
        asked.id,
        RunState.FAILED,
        "killed",
    )
    assert fake.sync.runs.due() == []


def test_a_run_that_somebody_else_has_taken_is_left_to_them() -> None:
    fake = fake_planner(fake_sync(responses=Api(people(1, 2, 3))))
    asked = fake.planner.request("contacts", "ada")
    due = fake.sync.runs.due()
    next(fake.sync.runner.run("contacts", "other"))
    fake.sync.runs.due = lambda _run="": due  # type: ignore[method-assign]
    assert fake.planner.work(asked.id).state is RunState.RUNNING


class Away:
    """A database that is away for some calls."""

    def __init__(self, calls: int) -> None:
        self.left = calls

    def between(self, work: Callable[..., object]) -> Callable[..., object]:
        def called(*arguments: object, **named: object) -> object:
            if self.left:
                self.left -= 1
                raise StorageUnavailable
            return work(*arguments, **named)

        return called


def test_a_database_that_is_away_for_a_moment_ends_a_run_which_goes_on_later() -> None:
    fake = fake_planner(fake_sync(responses=Api(people(1, 2, 3, 4, 5))))
    fake.planner.request("contacts", "ada")
    runs, away = fake.sync.runs, Away(0)
    for name in ("save", "finish", "retry_later", "get"):
        setattr(runs, name, away.between(getattr(runs, name)))
    effects = iter([0, 4])
    save = runs.save

    def save_once(run: Run) -> Run:
        away.left = next(effects, 0)
        return save(run)

    runs.save = save_once  # type: ignore[method-assign]
    (waiting,) = fake.work()
    assert (waiting.state, waiting.cause, waiting.pages) == (
        RunState.WAITING,
        "storage_unavailable",
        1,
    )
    fake.wait(16)
    (done,) = fake.work()
    assert (done.state, fake.sync.numbers()) == (
        RunState.DONE,
        ["1", "2", "3", "4", "5"],
    )


def test_a_cancelled_run_is_not_begun_by_who_has_heard_of_it_before() -> None:
    api = Api(people(1))
    fake = fake_planner(fake_sync(responses=api))
    asked = fake.planner.request("contacts", "ada")
    due = fake.sync.runs.due()
    fake.sync.runs.cancel(asked.id)
    fake.sync.runs.due = lambda _run="": due  # type: ignore[method-assign]
    assert fake.planner.work(asked.id).state is RunState.CANCELLED
    assert (len(fake.sync.memory.rows.runs), api.asked) == (1, [])


def test_a_schedule_does_not_hurry_a_run_that_waits_for_another_attempt() -> None:
    fake = fake_planner(fake_sync(HOURLY, lambda _request: Response(503)))
    fake.planner.plan("schedule")
    fake.wait(3599.5)
    fake.planner.request("contacts", "ada")
    (waiting,) = fake.work()
    fake.wait(1)
    fake.planner.plan("schedule")
    assert fake.sync.memory.rows.runs[waiting.id] == waiting
    assert fake.planner.request("contacts", "ada").due_at == fake.sync.world.clock.now()


def test_a_database_that_stays_away_is_told() -> None:
    fake = fake_planner(fake_sync(responses=Api(people(1))))
    fake.planner.request("contacts", "ada")
    due = fake.sync.runs.due()
    away = Away(1000)
    for name in ("begin", "finish", "get"):
        setattr(fake.sync.runs, name, away.between(getattr(fake.sync.runs, name)))
    with pytest.raises(StorageUnavailable):
        fake.planner.work(due[0].id)


# ── rules ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("error", "passes"),
    [
        (ConnectionFailed(), True),
        (ResponseBroken(), True),
        (TimedOut(), True),
        (RateLimited(), True),
        (StorageUnavailable(), True),
        (Sealed(), False),
        (SecretMissing(), False),
        (ConfigError("x"), False),
        (LineBusy(), False),
    ],
)
def test_only_what_may_pass_by_itself_is_worth_another_attempt(
    error: OutkeyError, *, passes: bool
) -> None:
    assert (delay_before_retry(error, 1) == DELAYS[0]) is passes
    assert delay_before_retry(error, ATTEMPTS) is None


def test_a_configuration_that_cannot_be_read_holds_up_no_other() -> None:
    fake = fake_planner(fake_sync())
    registry = fake.sync.world.ports.configurations
    registry.put_line(SyncLine("orphan", "acme", "GET", "/", PULL))  # type: ignore[attr-defined]
    get = registry.get

    def broken(name: str) -> Configuration:
        if name == "acme":
            raise ConfigError("it cannot be read")
        return get(name)

    for name in ("contacts", "orphan"):
        fake.sync.runs.request(name, "ada")
    registry.get = broken  # type: ignore[method-assign]
    assert {(item.configuration, item.places) for item in fake.planner.due()} == {
        ("acme", 1)
    }


def test_the_run_of_a_line_that_was_deleted_is_handed_to_nobody() -> None:
    fake = fake_planner(fake_sync())
    fake.planner.request("contacts", "ada")
    fake.sync.world.ports.configurations.remove_line("contacts")  # type: ignore[attr-defined]
    assert fake.planner.due() == []


def test_lines_of_another_configuration_have_locks_of_their_own() -> None:
    fake = fake_planner(fake_sync())
    registry = fake.sync.world.ports.configurations
    registry.add(configuration("shop", limits__runs_at_once=1))  # type: ignore[attr-defined]
    for name in ("a", "z"):
        registry.put_line(SyncLine(name, "shop", "GET", "/", PULL))  # type: ignore[attr-defined]
    for name in ("a", "contacts", "z"):
        fake.planner.request(name, "ada")
    handed_out = [
        (fake.sync.runs.get(run).line, lock) for run, lock in fake.queue.given
    ]
    assert handed_out == [
        ("a", "shop/0"),
        ("contacts", "acme/0"),
        ("contacts", "acme/1"),
        ("a", "shop/0"),  # z is the next when it has ended
    ]


def moment(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("schedule", "after", "comes"),
    [
        ("*/5 * * * *", "2027-01-01 00:01:00", "2027-01-01 00:05:00"),
        ("0 6 * * 1-5", "2027-01-02 00:00:00", "2027-01-04 06:00:00"),
        ("  0   6 * * *  ", "2027-01-02 06:00:00", "2027-01-03 06:00:00"),
        (
            "CRON_TZ=Europe/Berlin 0 6 * * *",
            "2027-01-02 00:00:00",
            "2027-01-02 05:00:00",
        ),
        (
            "CRON_TZ=Europe/Berlin 0 6 * * *",
            "2027-07-02 00:00:00",
            "2027-07-02 04:00:00",
        ),
        (
            "CRON_TZ=Europe/Berlin 30 2 * * *",
            "2027-03-28 00:00:00",
            "2027-03-28 01:00:00",
        ),
    ],
)
def test_a_schedule_means_what_cron_means(
    schedule: str, after: str, comes: str
) -> None:
    assert CronCalendar().next_after(schedule, moment(after)) == moment(comes)


@pytest.mark.parametrize(
    "schedule",
    [
        "",
        "hourly",
        "* * * *",
        "* * * * * *",
        "61 * * * *",
        "0 0 30 2 *",
        "CRON_TZ=Nowhere/Land 0 6 * * *",
        "CRON_TZ=../../etc/passwd 0 6 * * *",
        "CRON_TZ= 0 6 * * *",
        "0 6 * * *\x00",
        "1," * 400 + "1 * * * *",
    ],
)
def test_what_is_no_schedule_is_refused(schedule: str) -> None:
    with pytest.raises(ConfigError) as caught:
        CronCalendar().next_after(schedule, 0.0)
    assert caught.value.field == "schedule"
    assert ("time zone" in caught.value.message) is ("CRON_TZ=" in schedule)
