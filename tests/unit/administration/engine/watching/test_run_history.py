"""What the runs of a line did day by day."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from outkey.administration.engine.watching.run_history import (
    HISTORY_DAYS,
    RunHistory,
    run_history,
)
from outkey.sync.core.run.run import Counts

NOW = datetime(2026, 7, 15, 12, 0, tzinfo=UTC).timestamp()
DAY = 86_400


def test_runs_are_counted_by_day_and_older_ones_are_left_out() -> None:
    history = run_history(
        [
            (NOW, "done", Counts(created=5, updated=2, unchanged=9, failed=1)),
            (NOW - 60, "failed", Counts(archived=1)),
            (NOW - DAY, "done", Counts(created=3)),
            (NOW - HISTORY_DAYS * DAY, "done", Counts(created=100)),
        ],
        NOW,
        UTC,
    )
    assert len(history.days) == HISTORY_DAYS
    today = history.days[-1]
    assert (today.runs, today.failed, today.written, today.rejected) == (2, 1, 8, 1)
    assert (history.runs, history.failed) == (3, 1)
    assert (history.written, history.rejected, history.highest) == (11, 1, 9)


def test_a_day_is_that_of_the_time_zone() -> None:
    late = datetime(2026, 7, 14, 23, 0, tzinfo=UTC).timestamp()
    runs = [(late, "done", Counts(created=1))]
    berlin = run_history(runs, NOW, ZoneInfo("Europe/Berlin"))
    assert berlin.days[-1].runs == 1
    assert run_history(runs, NOW, UTC).days[-2].runs == 1


def test_a_line_without_runs_has_an_empty_history() -> None:
    assert RunHistory(()).runs == 0
    assert run_history([], NOW, UTC).highest == 1
