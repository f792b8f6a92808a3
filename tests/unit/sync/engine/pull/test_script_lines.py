"""Lines with a script: when it runs, and what becomes of the records it rejects."""

from dataclasses import replace

import pytest

from outkey.foundation.core.errors import ConfigError, ScriptFailed
from outkey.sync.core.line.line import Gone, Incremental, Sync
from outkey.sync.core.mapping.mapping import Unmapped
from outkey.sync.core.mapping.records import WriteOutcome
from outkey.sync.core.paging.response import Record
from outkey.sync.core.run.run import Counts, RejectedRecord, RunState
from unit.sync.engine.pull.test_sync_run import (
    PULL,
    PUSH,
    Api,
    FakeSync,
    fake_sync,
    people,
)

SCRIPT = "def transform(record):\n    return record\n"
LINE = replace(PULL, script=SCRIPT)


def shop(sync: Sync = LINE, *numbers: int) -> FakeSync:
    return fake_sync(sync, Api(people(*(numbers or (1, 2, 3)), at="2026-01-0{}")))


def test_a_script_changes_and_drops_records_before_they_are_mapped() -> None:
    made = shop()
    made.world.scripts.change = lambda r: (
        None if r["id"] == 2 else r | {"name": "scripted"}
    )
    assert made.run().counts == Counts(created=2)
    assert made.records.rows("contact") == [
        {"number": "1", "name": "scripted"},
        {"number": "3", "name": "scripted"},
    ]


def test_a_record_that_the_script_fails_on_is_left_out_with_the_reason() -> None:
    made = shop(replace(LINE, gone=Gone.ARCHIVE))

    def change(record: Record) -> Record | Unmapped:
        return (
            Unmapped("script:4 KeyError", "script_error")
            if record["id"] == 2
            else record
        )

    made.world.scripts.change = change
    run = made.run()
    assert (run.state, run.counts) == (RunState.DONE, Counts(created=2, failed=1))
    assert made.runs.rejected(run.id, 9) == [
        RejectedRecord(2, "", "script:4 KeyError", "script_error")
    ]


def test_a_run_whose_records_all_fail_comes_to_its_end() -> None:
    made = shop()
    made.world.scripts.change = lambda _: Unmapped("script", "script_timeout")
    run = made.run()
    assert (run.state, run.counts) == (RunState.FAILED, Counts(failed=3))
    assert made.records.rows("contact") == []


def test_what_a_script_makes_too_big_is_left_out() -> None:
    made = shop()
    made.world.scripts.change = lambda r: r | {"many": list(range(20_000))}
    run = made.run()
    assert {one.reason for one in made.runs.rejected(run.id, 9)} == {"too_many_fields"}


def test_how_far_a_line_has_come_is_read_from_the_api_s_own_records() -> None:
    """What the script drops is not asked for again, and it need not keep the field."""
    made = shop(replace(LINE, incremental=Incremental("since", "id")), 1, 2, 3)
    made.world.scripts.change = lambda r: (
        None if r["id"] == 3 else {"id": r["id"], "name": "x"}
    )
    assert made.run().cursor == "3"


def test_a_sample_runs_the_script_on_no_more_than_is_shown() -> None:
    made = shop(replace(LINE, pagination=PULL.pagination))
    seen: list[Record] = []
    made.world.scripts.change = lambda r: seen.append(r) or r  # type: ignore[func-returns-value]
    (effect,) = made.runner.preview("contacts", 1)
    assert (effect.outcome, len(seen)) == (WriteOutcome.CREATED, 1)


def test_where_scripts_cannot_run_the_run_fails_and_writes_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = shop()

    def unavailable(*_call: object) -> None:
        raise ScriptFailed("scripts cannot run on this machine: Landlock")

    monkeypatch.setattr(made.world.scripts, "transform", unavailable)
    with pytest.raises(ScriptFailed, match="cannot run on this machine"):
        made.run()
    assert made.records.rows("contact") == []
    assert [(run.state, run.cause) for run in made.runs.newest(9)] == [
        (RunState.FAILED, "script_error")
    ]


@pytest.mark.parametrize(
    ("sync", "message"),
    [
        (
            replace(PULL, script="def transform(record)"),
            "Script line 1: this is not Python",
        ),
        (replace(PULL, script="x = 1"), "Script has no function transform"),
        (
            replace(PULL, script="import os\n" + SCRIPT),
            "Script line 1: os cannot be imported",
        ),
        (replace(PUSH, script=SCRIPT), "a transform script works in a pull only"),
    ],
)
def test_a_script_that_cannot_be_run_is_found_before_anything_is_asked_for(
    sync: Sync, message: str
) -> None:
    made = fake_sync(sync, method="POST")
    found = [one for one in made.runner.check("contacts") if one.id == "L011"]
    assert [(one.message, one.field) for one in found] == [(message, "script")]
    with pytest.raises(ConfigError):
        made.run()
    assert made.world.transport.sent == []
