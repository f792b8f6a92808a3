"""What the command line says about a run."""

from dataclasses import replace

import pytest

from outkey.foundation.core.errors import ConnectionFailed
from outkey.hosts.cli.printing.run_texts import (
    name_line_in_hint,
    next_steps,
    rejected_text,
    repair_text,
    run_remedy,
    state_text,
    waiting_text,
)
from outkey.sync.core.run.reasons import sync_failure
from outkey.sync.core.run.run import ChildCounts, Counts, Run, RunState

WAITING = Run("7", "my line", "ada", 0.0, RunState.WAITING, attempt=1)
LATER = replace(
    WAITING, until=4_102_444_800.0, cause="server_error", attempt=2
)  # in the year 2100
DONE = replace(WAITING, state=RunState.DONE)


@pytest.mark.parametrize(
    ("run", "paused", "said"),
    [
        (
            WAITING,
            set(),
            "waiting for a worker: outkey worker, or outkey serve on SQLite",
        ),
        (WAITING, {"my line"}, "the line is paused: outkey line resume 'my line'"),
        (LATER, {"my line"}, "the line is paused: outkey line resume 'my line'"),
        (
            LATER,
            {"another"},
            "waiting until 2100-01-01 00:00:00 UTC (server error), attempt 2",
        ),
        (
            replace(WAITING, dry_run=True),
            {"my line"},
            "waiting for a worker: outkey worker, or outkey serve on SQLite",
        ),
    ],
)
def test_a_waiting_run_says_what_it_waits_for(
    run: Run, paused: set[str], said: str
) -> None:
    assert waiting_text(run, paused) == said


def test_a_cause_is_in_words_and_the_first_attempt_is_not_counted() -> None:
    stopped = replace(WAITING, cause="line_paused")
    assert state_text(stopped) == "waiting (stopped by a pause of the line)"
    failed = replace(WAITING, state=RunState.FAILED, cause="no_such_cause")
    assert state_text(failed) == "failed (no such cause)"


@pytest.mark.parametrize(
    ("field", "reason", "said"),
    [
        ("total", "no_number", "total: the value is not a number"),
        ("", "status_422", "the API returned status 422"),
        ("", "of_a_host", "of a host"),
    ],
)
def test_a_rejection_has_its_field_only_if_there_is_one(
    field: str, reason: str, said: str
) -> None:
    assert rejected_text(field, reason) == said


@pytest.mark.parametrize(
    ("run", "commands"),
    [
        (DONE, []),
        (replace(DONE, counts=Counts(failed=1)), ["show 7", "retry 7"]),
        (
            replace(DONE, counts=Counts(children=ChildCounts(failed=1))),
            ["show 7", "retry 7"],
        ),
        (replace(DONE, counts=Counts(failed=1), retry_of="5"), ["show 5", "retry 5"]),
        (replace(DONE, counts=Counts(failed=1), dry_run=True), ["show 7"]),
        (replace(DONE, counts=Counts(failed=1), cause="all_refused"), ["show 7"]),
    ],
)
def test_the_next_steps_are_those_that_work(run: Run, commands: list[str]) -> None:
    steps = [step.partition(": outkey run ")[2] for step in next_steps(run)]
    assert steps == commands


def test_only_the_hints_of_the_guard_are_replaced() -> None:
    for reason in ("guard", "target_replaced"):
        guard = sync_failure(reason)
        name_line_in_hint(guard, "my line")
        assert "outkey line run 'my line' --allow-removal" in guard.hint
        assert run_remedy(replace(DONE, line="my line", cause=reason)) == guard.hint
    other = ConnectionFailed()
    name_line_in_hint(other, "my line")
    assert other.hint == ConnectionFailed.default_hint


@pytest.mark.parametrize(
    ("repaired_by", "text"),
    [
        ("9", "what it rejected was processed by run 9"),
        ("7", "nothing is left of what it rejected"),
    ],
)
def test_a_repaired_run_names_the_other_run_and_not_itself(
    repaired_by: str, text: str
) -> None:
    assert repair_text(replace(DONE, repaired_by=repaired_by)) == text
