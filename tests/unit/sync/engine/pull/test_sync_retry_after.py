"""Retry-After: a run waits for as long as the API asks, and so do its sister lines."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest

from outkey.foundation.core.errors import (
    BadResponse,
    ConnectionFailed,
    OutkeyError,
    RateLimited,
)
from outkey.foundation.core.moments import moment_text
from outkey.foundation.core.shared_state import StateKind
from outkey.foundation.core.stored_times import LONGEST_WAIT, SKEW_SECONDS
from outkey.sending.core.request.message import Request, Response, ResponseHeaders
from outkey.sync.core.line.line import SyncLine
from outkey.sync.core.run.pauses import pause_end, pause_error, pauses_configuration
from outkey.sync.core.run.run import Counts, Run, RunState
from outkey.sync.core.run.schedule import ATTEMPTS, DELAYS, Retry, next_retry
from outkey.testing import configuration
from unit.sync.engine.pull.test_sync_run import (
    PULL,
    PUSH,
    Api,
    FakeSync,
    fake_sync,
    people,
    stored,
)
from unit.sync.engine.runs.test_sync_planner import FakePlanner, fake_planner

HOUR = 3600.0


def refusal(seconds: object = 3600, status: int = 429) -> Response:
    return Response(status, ResponseHeaders((("Retry-After", str(seconds)),)))


@dataclass
class Quota:
    """An API that refuses its first requests, each with a Retry-After."""

    refusals: list[Response]
    api: Api = field(default_factory=lambda: Api(people(1, 2, 3)))
    asked: list[Request] = field(default_factory=list)

    def __call__(self, request: Request) -> Response | OutkeyError:
        self.asked.append(request)
        return self.refusals.pop(0) if self.refusals else self.api(request)


def requested(quota: Quota) -> FakePlanner:
    fake = fake_planner(fake_sync(responses=quota))
    fake.planner.request("contacts", "ada")
    return fake


def add_line(made: FakeSync, name: str, owner: str = "acme") -> None:
    line = SyncLine(name, owner, "GET", "/contacts", PULL)
    made.world.ports.configurations.put_line(line)  # type: ignore[attr-defined]


def wait_of(fake: FakePlanner, run: Run) -> float:
    return run.until - fake.sync.world.clock.now()


# ── a worker ──────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("status", [429, 503])
def test_a_run_waits_for_as_long_as_the_api_asks(status: int) -> None:
    fake = requested(Quota([refusal(3600, status)]))
    (waiting,) = fake.work()
    assert (waiting.state, wait_of(fake, waiting)) == (RunState.WAITING, HOUR)
    fake.wait(HOUR - 1)
    assert fake.work() == []
    fake.wait(1)
    (done,) = fake.work()
    assert (done.state, done.counts) == (RunState.DONE, Counts(created=3))


def test_a_pause_of_more_than_a_day_is_a_day() -> None:
    fake = requested(Quota([refusal(10**9)]))
    (waiting,) = fake.work()
    assert wait_of(fake, waiting) == LONGEST_WAIT == 24 * HOUR


def test_a_run_that_gets_further_between_pauses_is_never_given_up() -> None:
    api = Api(people(*range(2 * (ATTEMPTS + 2))))
    turns = itertools.cycle([False, True])  # every second request is refused
    made = fake_sync(responses=lambda asked: refusal() if next(turns) else api(asked))
    fake = fake_planner(made)
    fake.planner.request("contacts", "ada")
    for page in range(1, ATTEMPTS + 3):
        (waiting,) = fake.work()
        assert (waiting.state, waiting.pages) == (RunState.WAITING, page)
        assert waiting.attempt == 1
        fake.wait(HOUR)
    (done,) = fake.work()
    assert done.state is RunState.DONE


def test_a_run_that_never_gets_further_fails_after_the_usual_attempts() -> None:
    fake = requested(Quota([refusal() for _ in range(ATTEMPTS)]))
    for attempt in range(2, ATTEMPTS + 1):
        (waiting,) = fake.work()
        assert (waiting.state, waiting.attempt) == (RunState.WAITING, attempt)
        assert wait_of(fake, waiting) == HOUR
        fake.wait(HOUR)
    (failed,) = fake.work()
    assert (failed.state, failed.cause) == (RunState.FAILED, "rate_limited")


def test_a_push_waits_too_and_continues_with_the_refused_record() -> None:
    quota = Quota([answered(), refusal()])
    made = fake_sync(PUSH, quota, method="PUT", path="/contacts/{number}")
    stored(made, *({"number": f"n{n}", "name": "A"} for n in range(3)))
    fake = fake_planner(made)
    fake.planner.request("contacts", "ada")
    (waiting,) = fake.work()
    assert (waiting.counts.updated, waiting.attempt) == (1, 1)
    assert wait_of(fake, waiting) == HOUR
    fake.wait(HOUR)
    (done,) = fake.work()
    assert [request.target for request in quota.asked] == [
        f"/contacts/n{n}" for n in (0, 1, 1, 2)
    ]
    assert (done.state, done.counts) == (RunState.DONE, Counts(updated=3))


def answered() -> Response:
    return Response(200, body=b"{}")


# ── the other lines of the configuration ──────────────────────────────────────────────


def test_no_other_line_of_the_configuration_sends_before_the_pause_has_passed() -> None:
    quota = Quota([refusal()])
    fake = requested(quota)
    add_line(fake.sync, "others")
    fake.work()
    fake.wait(1000)
    fake.planner.request("others", "ada")
    (waiting,) = fake.work()
    assert (waiting.line, waiting.state, waiting.cause) == (
        "others",
        RunState.WAITING,
        "rate_limited",
    )
    assert (wait_of(fake, waiting), waiting.attempt) == (HOUR - 1000, 1)
    assert len(quota.asked) == 1
    fake.wait(HOUR - 1000)
    assert {run.state for run in fake.work()} == {RunState.DONE}


def test_lines_of_other_configurations_and_after_a_503_do_not_wait() -> None:
    quota = Quota([refusal(), refusal(status=503)])
    fake = requested(quota)
    registry = fake.sync.world.ports.configurations
    registry.add(configuration("shop", authentication_type="bearer"))  # type: ignore[attr-defined]
    add_line(fake.sync, "at shop", "shop")
    add_line(fake.sync, "beside", "shop")
    fake.work()
    for name in ("at shop", "beside"):
        fake.planner.request(name, "ada")
    at_shop, beside = fake.work()
    assert (at_shop.state, beside.state) == (RunState.WAITING, RunState.DONE)


def test_of_two_pauses_the_longer_one_counts() -> None:
    made = fake_sync()
    made.runs.pause_configuration("acme", 50)
    made.runs.pause_configuration("acme", 20)
    with pytest.raises(RateLimited) as refused:
        made.runs.refuse_paused_configuration("acme")
    assert refused.value.pause == 50
    made.world.clock.advance(50)
    made.runs.refuse_paused_configuration("acme")
    assert StateKind.RUN_PAUSE == "run_pause"  # it is stored


# ── the command line ──────────────────────────────────────────────────────────────────


def test_a_pause_that_a_clock_ahead_has_stored_keeps_no_run_from_beginning() -> None:
    made = fake_sync()
    made.runs.pause_configuration("acme", HOUR)
    made.world.clock.advance(-2 * HOUR)
    made.runs.refuse_paused_configuration("acme")
    made.runs.pause_configuration("acme", 20)
    with pytest.raises(RateLimited) as refused:
        made.runs.refuse_paused_configuration("acme")
    assert refused.value.pause == 20


def test_no_stored_pause_is_longer_than_one_that_an_api_can_ask_for() -> None:
    latest = LONGEST_WAIT + SKEW_SECONDS
    assert pause_end({"until": latest}, 0.0) == latest  # as version 0.2 stored it
    assert pause_end({"until": latest + 1}, 0.0) == 0.0
    assert pause_end({"until": 5.0, "at": SKEW_SECONDS + 1}, 0.0) == 0.0


def test_a_run_of_the_command_line_ends_and_says_when_to_try_again() -> None:
    quota = Quota([refusal()])
    made = fake_sync(responses=quota)
    when = moment_text(made.world.clock.now() + HOUR)
    with pytest.raises(BadResponse) as refused:
        made.run()
    assert refused.value.hint == f"Retry after {when}."
    (run,) = made.runs.newest(9)
    assert (run.state, run.cause) == (RunState.FAILED, "rate_limited")
    made.world.clock.advance(1)
    with pytest.raises(RateLimited) as early:
        made.run()
    assert early.value.hint == f"Retry after {when}."
    assert (len(quota.asked), len(made.runs.newest(9))) == (1, 1)
    made.world.clock.advance(HOUR)
    assert made.run().state is RunState.DONE


def test_a_dry_push_sends_nothing_and_need_not_wait() -> None:
    made = fake_sync(PUSH, method="PUT", path="/contacts/{number}")
    stored(made, {"number": "n", "name": "A"})
    made.runs.pause_configuration("acme", HOUR)
    assert made.run(dry_run=True).state is RunState.DONE
    with pytest.raises(RateLimited):
        made.run()


# ── a budget that responses state ─────────────────────────────────────────────────────


def budgeted(api: Api, every: int, reset: int) -> Callable[[Request], Response]:
    """Return an API that states after so many requests that none is left."""
    count = itertools.count(1)

    def respond(request: Request) -> Response:
        response = api(request)
        assert isinstance(response, Response)
        left = -next(count) % every
        stated = (
            ("X-RateLimit-Remaining", str(left)),
            ("X-RateLimit-Reset", str(reset)),
        )
        return replace(response, headers=ResponseHeaders(stated))

    return respond


def test_a_run_waits_for_the_reset_within_the_total_time() -> None:
    made = fake_sync(responses=budgeted(Api(people(*range(6))), every=2, reset=20))
    assert made.run().state is RunState.DONE
    assert made.world.clock.sleeps == [20] * (len(made.world.transport.sent) // 2 - 1)


def test_a_run_pauses_until_a_reset_that_is_further_away_and_then_continues() -> None:
    made = fake_sync(responses=budgeted(Api(people(*range(4))), every=1, reset=3600))
    fake = fake_planner(made)
    fake.planner.request("contacts", "ada")
    for pages in (1, 2):
        (waiting,) = fake.work()
        assert (waiting.state, waiting.pages) == (RunState.WAITING, pages)
        assert (waiting.cause, waiting.attempt) == ("rate_limited", 1)
        assert wait_of(fake, waiting) == HOUR
        assert len(made.world.transport.sent) == pages
        fake.wait(HOUR)
    (done,) = fake.work()
    assert (done.state, done.counts) == (RunState.DONE, Counts(created=4))


def test_a_run_that_others_leave_no_budget_is_not_given_up() -> None:
    made = fake_sync()
    fake = fake_planner(made)
    fake.planner.request("contacts", "ada")
    for _ in range(ATTEMPTS + 1):
        made.world.ports.permits.note_spent_budget("acme", HOUR)
        (waiting,) = fake.work()
        assert (waiting.state, waiting.attempt) == (RunState.WAITING, 1)
        fake.wait(HOUR)
    assert made.world.transport.sent == []
    assert [run.state for run in fake.work()] == [RunState.DONE]


def test_no_run_of_the_configuration_begins_before_the_reset_that_ended_one() -> None:
    made = fake_sync(responses=budgeted(Api(people(1, 2, 3)), every=1, reset=3600))
    with pytest.raises(RateLimited, match="no request is left"):
        made.run()
    add_line(made, "others")
    with pytest.raises(RateLimited, match="asked for a pause") as early:
        list(made.runner.run("others", "ada"))
    assert early.value.pause == HOUR
    assert len(made.world.transport.sent) == 1


# ── rules ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("value", ["", "0", "soon", "-5"])
def test_without_a_usable_retry_after_the_usual_delays_hold(value: str) -> None:
    fake = requested(Quota([refusal(value)]))
    (waiting,) = fake.work()
    assert (wait_of(fake, waiting), waiting.attempt) == (DELAYS[0], 2)
    fake.sync.runs.refuse_paused_configuration("acme")


def test_a_pause_is_no_failed_attempt_unless_the_run_got_no_further() -> None:
    error = pause_error(until=500.0, now=100.0)
    assert next_retry(error, ATTEMPTS, was_in_vain=False) == Retry(400.0, ATTEMPTS)
    assert next_retry(error, 1, was_in_vain=True) == Retry(400.0, 2)
    assert next_retry(error, ATTEMPTS, was_in_vain=True) is None
    assert next_retry(ConnectionFailed(), 2, was_in_vain=False) == Retry(DELAYS[1], 3)
    assert pauses_configuration(error)
    assert not pauses_configuration(RateLimited())  # by the limit of the configuration


@pytest.mark.parametrize("seconds", [1, 60, 61])
def test_a_short_pause_keeps_other_runs_from_waiting_in_places_of_workers(
    seconds: int,
) -> None:
    made = fake_sync(responses=Quota([refusal(seconds)]))
    with pytest.raises(BadResponse):
        made.run()
    with pytest.raises(RateLimited, match="asked for a pause") as refused:
        made.runs.refuse_paused_configuration("acme")
    assert refused.value.pause == seconds
    made.world.clock.advance(seconds)
    made.runs.refuse_paused_configuration("acme")
