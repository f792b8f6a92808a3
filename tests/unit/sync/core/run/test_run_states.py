"""The life of a run, as transitions of values."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outkey.foundation.core.errors import LineBusy, RunStopped
from outkey.foundation.core.stored_times import LONGEST_WAIT, SKEW_SECONDS
from outkey.sync.core.run import states as run_states
from outkey.sync.core.run.run import ENDED_STATES, OPEN_STATES, Counts, Run, RunState
from outkey.sync.core.run.states import CANCELLED, KILLED, TAKEN_OVER, RunRequest, Start

NOW = 1000.0
DIGESTS = st.sampled_from(["", "a", "b"])
MOMENTS = st.floats(0, 2000)
RUNS = st.builds(
    Run,
    id=st.sampled_from(["1", "2", "3"]),
    line=st.just("contacts"),
    actor=st.sampled_from(["ada", "schedule"]),
    started_at=MOMENTS,
    state=st.sampled_from(RunState),
    dry_run=st.booleans(),
    position=st.sampled_from([{}, {"at": "7"}]),
    cursor=st.sampled_from(["", "2027"]),
    since=st.sampled_from(["", "2026"]),
    counts=st.builds(Counts, created=st.integers(0, 9), failed=st.integers(0, 9)),
    pages=st.integers(0, 9),
    ended_at=st.none() | MOMENTS,
    cause=st.sampled_from(["", KILLED, "timeout"]),
    generation=st.integers(1, 99),
    attempt=st.integers(0, 6),
    worked=st.floats(0, 99),
    digest=DIGESTS,
    until=MOMENTS,
    lease=st.floats(1, 600),
)
REQUESTS = st.builds(
    RunRequest,
    line=st.just("contacts"),
    digest=DIGESTS,
    actor=st.just("ada"),
    dry_run=st.booleans(),
)
PROGRESS = (
    "position",
    "cursor",
    "since",
    "full_at",
    "counts",
    "pages",
    "worked",
    "digest",
)


def progress(run: Run) -> list[object]:
    return [getattr(run, name) for name in PROGRESS]


def run(**values: object) -> Run:
    return Run("1", "contacts", "ada", 1.0, **values)  # type: ignore[arg-type]


# ── what holds for every run ─────────────────────────────────────────────────────────


@given(RUNS, MOMENTS, st.floats(0, 600), st.integers(1, 6))
def test_every_transition_is_the_next_generation_and_keeps_identity_and_progress(
    before: Run, now: float, seconds: float, attempt: int
) -> None:
    transitions = [
        run_states.begin(before, "bob", now, seconds),
        run_states.enqueue(before, "bob", now),
        run_states.checkpoint(replace(before, until=now), now),
        run_states.finish(before, now),
    ]
    if before.state is RunState.FAILED:
        transitions.append(run_states.retry_later(before, now, seconds, attempt))
    if before.state in OPEN_STATES:
        transitions.append(run_states.cancel(before, now))
    for after in transitions:
        assert after.generation == before.generation + 1
        assert (after.id, after.line, after.dry_run, after.started_at) == (
            before.id,
            before.line,
            before.dry_run,
            before.started_at,
        )
        assert progress(after) == progress(before)


def test_a_lease_from_a_clock_that_was_ahead_keeps_no_process_away() -> None:
    latest = NOW + 90.0 + SKEW_SECONDS
    leased = run(state=RunState.RUNNING, attempt=1, until=latest, lease=90.0)
    for until, is_alive in ((latest, True), (latest + 1, False), (NOW + 1e9, False)):
        held = replace(leased, until=until)
        assert run_states.is_alive(held, NOW) is is_alive
        assert run_states.is_due(held, NOW) is not is_alive
    ended = run_states.end_killed(replace(leased, until=NOW + 86_400), NOW)
    assert (ended.state, ended.cause) == (RunState.FAILED, KILLED)


def test_a_wait_from_a_clock_that_was_ahead_is_over() -> None:
    requested = run_states.enqueue(run(), "ada", NOW + 7200)
    requested = replace(requested, started_at=NOW + 7200)
    assert run_states.is_due(requested, NOW)
    postponed = replace(requested, started_at=NOW - 10)
    assert not run_states.is_due(postponed, NOW)  # an API may ask for such a pause
    later = NOW + LONGEST_WAIT + SKEW_SECONDS
    assert not run_states.is_due(replace(postponed, until=later), NOW)
    assert run_states.is_due(replace(postponed, until=later + 1), NOW)
    assert run_states.is_due(replace(postponed, until=float("nan")), NOW)


def test_a_checkpoint_is_refused_long_after_the_lease() -> None:
    leased = run(state=RunState.RUNNING, until=NOW, lease=60.0)
    latest = NOW + run_states.PAGE_SECONDS
    assert run_states.checkpoint(leased, latest).until == latest + 60
    for refuse in (
        lambda: run_states.checkpoint(leased, latest + 1),
        lambda: run_states.refuse_ended_lease(leased, NOW + 1),
    ):
        with pytest.raises(RunStopped, match="suspended") as stopped:
            refuse()
        assert stopped.value.reason == run_states.TAKEN_OVER
    run_states.refuse_ended_lease(leased, NOW)


@given(RUNS, MOMENTS)
def test_a_run_is_alive_or_may_be_ended_as_killed(before: Run, now: float) -> None:
    running = replace(before, state=RunState.RUNNING)
    if run_states.is_alive(running, now):
        with pytest.raises(LineBusy):
            run_states.end_killed(running, now)
        return
    killed = run_states.end_killed(running, now)
    assert (killed.state, killed.cause, killed.ended_at) == (
        RunState.FAILED,
        KILLED,
        now,
    )
    assert killed.attempt == (running.attempt + 1 if running.attempt else 0)
    assert progress(killed) == progress(running)


@pytest.mark.parametrize(
    ("state", "attempt", "until", "due"),
    [
        (RunState.WAITING, 1, NOW, True),
        (RunState.WAITING, 1, NOW + 0.1, False),
        (RunState.RUNNING, 1, NOW, True),  # its lease ends now
        (RunState.RUNNING, 1, NOW + 0.1, False),
        (RunState.RUNNING, 0, NOW, False),  # of the command line
        (RunState.FAILED, 1, NOW, False),
        (RunState.DONE, 1, NOW, False),
        (RunState.CANCELLED, 1, NOW, False),
    ],
)
def test_a_run_is_due_for_a_worker_if_it_was_requested_and_its_time_has_come(
    state: RunState, attempt: int, until: float, *, due: bool
) -> None:
    assert run_states.is_due(run(state=state, attempt=attempt, until=until), NOW) is due


@given(st.none() | RUNS, st.none() | RUNS, REQUESTS)
def test_what_waits_begins_else_what_can_be_continued_else_a_new_run(
    waiting: Run | None, last: Run | None, request: RunRequest
) -> None:
    chosen = run_states.run_to_begin(waiting, last, request)
    assert chosen == (waiting or run_states.run_to_resume(last, request))
    for run_id in ("1", "2", "3"):
        if chosen is not None and chosen.id == run_id:
            assert run_states.run_to_begin(waiting, last, request, run_id) == chosen
        else:
            with pytest.raises(RunStopped) as caught:
                run_states.run_to_begin(waiting, last, request, run_id)
            assert caught.value.reason == TAKEN_OVER


@given(RUNS, REQUESTS)
def test_only_a_failed_run_is_continued_and_never_by_a_dry_one(
    last: Run, request: RunRequest
) -> None:
    resumed = run_states.run_to_resume(last, request)
    if resumed is not None:
        assert resumed == last
        assert last.state is RunState.FAILED
        assert not request.dry_run


@given(RUNS, RUNS, MOMENTS)
def test_a_process_releases_its_own_run_and_no_other(
    stored: Run, held: Run, now: float
) -> None:
    is_ours = stored.generation <= held.generation + 1
    if stored.state is RunState.RUNNING and is_ours:
        released = run_states.release(stored, held, now)
        assert (released.state, released.cause) == (RunState.FAILED, "stopping")
        assert progress(released) == progress(stored)
        return
    with pytest.raises(RunStopped) as caught:
        run_states.release(stored, held, now)
    was_cancelled = stored.state is RunState.CANCELLED
    assert caught.value.reason == (CANCELLED if was_cancelled else TAKEN_OVER)


@given(RUNS, MOMENTS)
def test_a_run_that_makes_way_waits_as_if_it_had_just_been_requested(
    stored: Run, now: float
) -> None:
    if stored.state is not RunState.RUNNING:
        with pytest.raises(RunStopped):
            run_states.give_way(stored, stored, now)
        return
    waiting = run_states.give_way(stored, stored, now)
    assert (waiting.state, waiting.until) == (RunState.WAITING, now)
    assert (waiting.cause, waiting.ended_at) == ("", None)
    assert waiting.generation == stored.generation + 1
    assert progress(waiting) == progress(stored)


@given(RUNS, DIGESTS, MOMENTS)
def test_a_restarted_run_has_nothing_of_its_past(
    before: Run, digest: str, now: float
) -> None:
    start = Start("2025", 3.0)
    restarted = run_states.restart(before, digest, now, start)
    request = RunRequest(before.line, digest, before.actor, before.dry_run)
    fresh = run_states.new_run(request, now, start)
    assert progress(restarted) == progress(fresh)
    assert restarted.started_at == now
    assert not run_states.is_resumable(restarted, digest)


# ── cases ────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("cause", "attempt", "digest", "position", "resumes"),
    [
        ("timeout", 0, "a", {"at": "7"}, True),
        ("timeout", 3, "a", {"at": "7"}, True),
        ("timeout", 3, "a", {}, False),
        ("timeout", 3, "b", {"at": "7"}, False),
        (KILLED, 0, "a", {}, True),
        (KILLED, 0, "b", {"at": "7"}, False),  # nobody waits for it
        (KILLED, 1, "b", {}, True),  # a worker was asked to do it
    ],
)
def test_a_killed_run_is_continued_with_the_same_line_or_if_it_was_requested(
    cause: str, attempt: int, digest: str, position: dict[str, object], *, resumes: bool
) -> None:
    last = run(
        state=RunState.FAILED,
        cause=cause,
        attempt=attempt,
        digest=digest,
        position=position,
    )
    resumed = run_states.run_to_resume(last, RunRequest("contacts", "a", "ada"))
    assert resumed == (last if resumes else None)


def test_a_run_begins_with_a_lease_and_without_its_last_end() -> None:
    failed = run(state=RunState.FAILED, ended_at=5.0, cause="timeout", attempt=2)
    begun = run_states.begin(failed, "worker", NOW, 120.0)
    assert (begun.state, begun.actor, begun.until, begun.lease) == (
        RunState.RUNNING,
        "worker",
        NOW + 120,
        120.0,
    )
    assert (begun.ended_at, begun.cause, begun.attempt) == (None, "", 2)
    assert run_states.is_alive(begun, NOW + 120)
    assert not run_states.is_alive(begun, NOW + 120.1)
    assert run_states.checkpoint(begun, NOW + 60).until == NOW + 180


def test_a_requested_run_waits_with_the_cause_of_its_last_failure() -> None:
    failed = run(state=RunState.FAILED, cause="timeout", attempt=4)
    waiting = run_states.enqueue(failed, "ada", NOW)
    assert (waiting.state, waiting.cause, waiting.attempt, waiting.due_at) == (
        RunState.WAITING,
        "timeout",
        1,
        NOW,
    )


def test_a_waiting_run_is_made_due_now_and_never_later() -> None:
    waiting = run(state=RunState.WAITING, until=NOW + 60)
    assert run_states.expedite(waiting, NOW).due_at == NOW
    due = run(state=RunState.WAITING, until=NOW - 60)
    assert run_states.expedite(due, NOW) is due


@pytest.mark.parametrize("state", RunState)
def test_only_a_failed_run_is_retried(state: RunState) -> None:
    if state is not RunState.FAILED:
        with pytest.raises(LineBusy):
            run_states.retry_later(run(state=state), NOW, 15.0, 2)
        return
    waiting = run_states.retry_later(run(state=state), NOW, 15.0, 2)
    assert (waiting.due_at, waiting.attempt) == (NOW + 15, 2)


@pytest.mark.parametrize("state", ENDED_STATES)
def test_what_has_ended_is_not_cancelled(state: RunState) -> None:
    ended = run(state=state, ended_at=5.0)
    assert run_states.cancel(ended, NOW) is ended


@pytest.mark.parametrize("ended_at", [None, 5.0])
def test_a_run_ends_now_whatever_its_process_wrote(ended_at: float | None) -> None:
    done = run_states.finish(run(state=RunState.DONE, ended_at=ended_at), NOW)
    assert done.ended_at == NOW
    assert done.due_at is None


def every(seconds: float) -> RunRequest:
    return RunRequest("contacts", "digest", "ada", full_every=seconds)


def test_an_incremental_run_starts_where_the_last_complete_one_was() -> None:
    for complete, start in (
        (None, Start("", NOW)),
        (run(cursor="2027", since="2026", full_at=5.0), Start("2027", 5.0)),
        (run(since="2026", full_at=5.0), Start("2026", 5.0)),  # nothing was new
        (run(full_at=5.0), Start("", NOW)),
    ):
        assert run_states.next_start(complete, NOW, every(0.0)) == start


def test_a_full_run_is_due_when_the_last_one_is_old_enough() -> None:
    complete = run(cursor="2027", full_at=NOW - 60.0)
    assert run_states.next_start(complete, NOW, every(60.1)).since == "2027"
    assert run_states.next_start(complete, NOW, every(60.0)) == Start("", NOW)
    ahead = replace(complete, full_at=NOW + 7200)  # by a clock that was ahead
    assert run_states.next_start(ahead, NOW, every(86_400.0)) == Start("", NOW)


def test_a_moment_that_a_clock_stored_when_it_was_ahead_is_not_continued_from() -> None:
    request = replace(every(0.0), by_clock=True)
    complete = replace(run(cursor="2027", full_at=5.0), started_at=NOW + 59.0)
    assert run_states.next_start(complete, NOW, request) == Start("2027", 5.0)
    ahead = replace(complete, started_at=NOW + 61.0)
    assert run_states.next_start(ahead, NOW, request) == Start("", NOW)
    assert run_states.next_start(ahead, NOW, every(0.0)) == Start("2027", 5.0)


def test_a_run_that_was_deleted_with_its_line_counts_as_taken_over() -> None:
    assert run_states.refusal(None).reason == TAKEN_OVER


# ── counts ────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("counts", "seen", "total", "is_all_rejected"),
    [
        (Counts(), 0, 0, False),
        (Counts(failed=3), 3, 3, True),
        (
            Counts(1, 2, 3, failed=4, archived=5, deleted=6),
            10,
            21,
            False,
        ),
        (Counts(archived=2), 0, 2, False),
        (Counts(unchanged=1), 1, 1, False),
    ],
)
def test_counts_add_up_and_tell_if_every_record_was_rejected(
    counts: Counts, seen: int, total: int, *, is_all_rejected: bool
) -> None:
    assert (counts.seen, counts.total) == (seen, total)
    assert counts.is_all_rejected is is_all_rejected


@pytest.mark.parametrize(
    ("stored", "counts"),
    [
        ({"created": 3, "failed": 1}, Counts(created=3, failed=1)),
        ({"created": 3, "of_a_later_version": 1}, Counts(created=3)),
        ({"created": "x", "updated": None, "failed": -1}, Counts()),
        ([], Counts()),
        ("x", Counts()),
        (None, Counts()),
    ],
)
def test_stored_counts_are_read_whatever_else_is_stored(
    stored: object, counts: Counts
) -> None:
    assert Counts.from_facts(stored) == counts
