import pytest

from outkey.administration.engine.watching.charts import (
    hourly_chart,
    kind_of_outcome,
    run_chart,
)
from outkey.foundation.core.chart import CHART_HOURS, axis_top
from outkey.sync.core.run.run import Counts

HOUR = 500_000  # 08:00 UTC


@pytest.mark.parametrize(
    ("outcome", "kind"),
    [
        ("ok", "ok"),
        ("timeout", "failed"),
        ("tls", "failed"),
        ("egress_denied", "refused"),
        ("paused", "refused"),
        ("audit_unavailable", "refused"),
        ("configuration", "refused"),
        ("connection_missing", "refused"),
        ("unknown_connection", "refused"),
        ("variable_missing", "refused"),
    ],
)
def test_an_outcome_is_ok_failed_or_refused_by_us(outcome: str, kind: str) -> None:
    assert kind_of_outcome(outcome) == kind


def test_hours_are_columns_of_what_became_of_attempts() -> None:
    chart = hourly_chart(
        [
            (HOUR, "ok", 6),
            (HOUR, "timeout", 2),
            (HOUR, "paused", 3),
            (HOUR - 1, "ok", 5),
        ],
        HOUR,
    )
    assert len(chart.columns) == CHART_HOURS
    assert list(chart.kinds) == ["ok", "failed", "refused"]
    assert chart.columns[-1].counts == [6, 2, 3]
    assert (chart.columns[-2].total, chart.columns[0].total) == (5, 0)
    assert chart.totals == [11, 2, 3]
    assert (chart.columns[-1].label, chart.columns[0].label) == ("08:00", "09:00")
    assert chart.top == 20


def test_runs_are_columns_of_what_became_of_their_records() -> None:
    done = Counts(created=3, updated=2, unchanged=1, archived=1, deleted=1, failed=2)
    chart = run_chart(
        [("#1", False, done), ("#2", True, Counts(created=5)), ("#3", False, Counts())]
    )
    first, second, empty = chart.columns
    assert dict(zip(chart.kinds, first.counts, strict=True)) == {
        "unchanged": 1,
        "created": 3,
        "updated": 2,
        "removed": 2,
        "rejected": 2,
    }
    assert (first.total, first.has_failed) == (done.total, False)
    assert (second.total, second.has_failed) == (5, True)
    assert (empty.label, empty.total) == ("#3", 0)
    assert chart.totals == [1, 8, 2, 2, 2]


def test_a_chart_of_nothing_has_an_axis_too() -> None:
    chart = run_chart([])
    assert (chart.columns, chart.totals, chart.top) == ([], [], 2)


@pytest.mark.parametrize(
    ("highest", "top"),
    [
        (1, 2),
        (3, 4),
        (5, 6),
        (10, 10),
        (11, 20),
        (25, 30),
        (250, 300),
        (701, 800),
        (1_000_000, 1_000_000),
    ],
)
def test_an_axis_ends_at_a_round_number_whose_half_is_a_whole_one(
    highest: int, top: int
) -> None:
    assert axis_top(highest) == top
