"""How far the job of a run is, as its checkpoint has it."""

from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outkey.foundation.core.stored_times import SKEW_SECONDS
from outkey.sync.core.line.line import JobPoll, JobSettings
from outkey.sync.core.run.job import (
    JobState,
    id_in_header,
    job_id,
    next_poll,
    no_sample_of_job,
    order_key,
    seconds_between_polls,
    state_text,
)

NOW = 1_800_000_000.0
STATE = JobState("key", "7", NOW, NOW + 5, 3)
JOB = JobSettings(poll=JobPoll("/x", every_seconds=5), max_minutes=10)


def test_a_state_comes_back_from_its_checkpoint() -> None:
    assert JobState.from_facts(STATE.facts()) == STATE
    assert JobState.from_facts({}) == JobState()


@pytest.mark.parametrize(
    "facts",
    [
        {"id": 7},
        {"polls": "3"},
        {"ordered_at": None},
        {"poll_at": []},
        {"key": {}},
        {"later": "x"},
    ],
)
def test_a_checkpoint_of_another_form_is_that_of_no_job(
    facts: dict[str, object],
) -> None:
    assert JobState.from_facts({**STATE.facts(), **facts}) == JobState()


def test_each_order_of_a_run_has_its_own_key() -> None:
    keys = {order_key("c", "line", "1", number) for number in range(5)}
    keys |= {order_key("c", "line", "2", 1), order_key("d", "line", "1", 1)}
    assert len(keys) == 7


@given(every=st.integers(1, 3600), polls=st.integers(0, 10**9))
def test_the_wait_grows_and_stays_bounded(every: int, polls: int) -> None:
    wait = seconds_between_polls(every, polls)
    assert every <= wait <= max(every, 60)
    assert wait <= seconds_between_polls(every, polls + 1)


def test_the_last_poll_is_at_the_end_of_the_time_and_none_comes_later() -> None:
    late = replace(STATE, ordered_at=NOW - 598)
    assert next_poll(JOB, late, NOW, 0.0) == NOW + 2
    assert next_poll(JOB, late, NOW, 1.0) == NOW + 2
    assert next_poll(JOB, late, NOW, 3.0) is None
    assert next_poll(JOB, replace(STATE, ordered_at=NOW - 600), NOW, 0.0) is None
    assert next_poll(JOB, STATE, NOW, 50.0) == NOW + 50


def test_an_order_of_a_clock_that_was_ahead_is_one_of_now() -> None:
    ahead = replace(STATE, ordered_at=NOW + SKEW_SECONDS + 1)
    assert ahead.age(NOW) == 0
    assert next_poll(JOB, ahead, NOW, 599.0) == NOW + 599


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("done", "done"),
        (True, "true"),
        (False, "false"),
        (3, "3"),
        (Decimal("1.5"), "1.5"),
        (None, ""),
        ([], ""),
        ({}, ""),
    ],
)
def test_a_state_is_compared_as_a_text(value: object, text: str) -> None:
    assert state_text(value) == text


@given(st.text(max_size=300))
def test_an_id_is_one_segment_of_a_path_or_none(text: str) -> None:
    identity = job_id(text)
    assert identity in {"", text}
    assert identity not in {".", ".."}
    assert len(identity) <= 200
    assert id_in_header(text) == job_id(id_in_header(text))


@pytest.mark.parametrize(
    ("value", "identity"),
    [
        (" 7 ", "7"),
        ("https://api.acme.example/jobs/a%20b/", "a b"),
        ("/jobs/..", ""),
        ("https://[::1/jobs/7", ""),
    ],
)
def test_the_id_in_a_url_is_the_last_part_of_its_path(
    value: str, identity: str
) -> None:
    assert id_in_header(value) == identity


def test_a_preview_of_a_job_is_refused_with_what_to_do_instead() -> None:
    error = no_sample_of_job()
    assert error.field == "job"
    assert "--dry-run" in str(error.hint)
