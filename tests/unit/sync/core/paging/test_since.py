"""Since when changes are requested: start, lookback and format."""

from datetime import UTC, datetime

import pytest

from outkey.foundation.core.errors import SyncFailed
from outkey.sync.core.line.line import Incremental
from outkey.sync.core.paging.since import is_start, since_text, unrequested

NOW = datetime(2026, 11, 19, 12, 0, 30, 500_000, tzinfo=UTC)


def sent(stored: str = "", **settings: str) -> str:
    return since_text(Incremental("since", "at", **settings), stored, NOW)


@pytest.mark.parametrize(
    ("stored", "settings", "expected"),
    [
        ("", {}, ""),
        ("4711", {}, "4711"),
        ("", {"start": "2026-01-01"}, "2026-01-01T00:00:00Z"),
        ("", {"start": "2026-01-01T01:00:00+01:00"}, "2026-01-01T00:00:00Z"),
        ("", {"start": "-30d"}, "2026-10-20T12:00:30Z"),
        ("4711", {"start": "-30d"}, "4711"),
        ("2026-11-18T10:00:00Z", {"lookback": "1h"}, "2026-11-18T09:00:00Z"),
        ("2026-11-18T10:00:00.9Z", {"lookback": "1h"}, "2026-11-18T09:00:00Z"),
        ("2026-11-18T10:00:00+02:00", {"lookback": "1h"}, "2026-11-18T07:00:00Z"),
        (
            "2026-01-01T00:30:00Z",
            {"lookback": "1h", "start": "2026-01-01"},
            "2026-01-01T00:00:00Z",
        ),
        ("2026-01-01", {"lookback": "1h", "start": "-1d"}, "2026-11-18T12:00:30Z"),
        ("0001-01-01", {"lookback": "1h"}, "0001-01-01T00:00:00Z"),
        ("1763000000", {"format": "unix"}, "1763000000"),
        ("1763000000", {"format": "unix", "lookback": "1m"}, "1762999940"),
        ("1763000000123", {"format": "unix_ms", "lookback": "1m"}, "1762999940123"),
        ("2026-11-18T10:00:00Z", {"format": "unix"}, "1794996000"),
        ("", {"start": "2026-01-02", "format": "%d.%m.%Y"}, "02.01.2026"),
        ("03.01.2026", {"lookback": "1d", "format": "%d.%m.%Y"}, "02.01.2026"),
        (
            "2026-01-02T05:00:00+0200",
            {"lookback": "1h", "format": "%Y-%m-%dT%H:%M:%S%z"},
            "2026-01-02T02:00:00+0000",
        ),
    ],
)
def test_the_parameter_is_the_stored_value_less_the_lookback_and_never_before_the_start(
    stored: str, settings: dict[str, str], expected: str
) -> None:
    assert sent(stored, **settings) == expected


@pytest.mark.parametrize(
    ("stored", "settings", "is_missed"),
    [
        ("2026-11-17T00:00:00Z", {"start": "-1d", "lookback": "1h"}, True),
        ("2026-11-18T12:00:31Z", {"start": "-1d", "lookback": "1h"}, False),
        ("2026-11-17T00:00:00Z", {"start": "2026-11-18", "lookback": "1h"}, False),
        ("4711", {"start": "-1d"}, False),
        ("", {"start": "-1d", "lookback": "1h"}, False),
    ],
)
def test_a_start_that_moves_can_leave_a_gap(
    stored: str, settings: dict[str, str], *, is_missed: bool
) -> None:
    gap = unrequested(Incremental("since", "at", **settings), stored, NOW)
    assert (gap is not None) is is_missed


@pytest.mark.parametrize(
    ("stored", "settings"),
    [
        ("4711", {"lookback": "1h"}),
        ("abc", {"format": "unix"}),
        ("1e30", {"format": "unix"}),
        ("x", {"format": "%d.%m.%Y"}),
        ("0001-01-01T00:00:00+05:00", {"lookback": "1h"}),
    ],
)
def test_a_value_that_is_not_a_moment_has_no_lookback_and_no_format(
    stored: str, settings: dict[str, str]
) -> None:
    with pytest.raises(SyncFailed) as failed:
        sent(stored, **settings)
    assert failed.value.reason == "not_a_moment"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-01-01T00:00:00Z", True),
        ("2026-01-01", True),
        ("-30d", True),
        ("-90m", True),
        ("30d", False),
        ("-0d", False),
        ("-30", False),
        ("-999999w", False),
        ("yesterday", False),
        ("0001-01-01T00:00:00+05:00", False),
    ],
)
def test_a_start_is_a_moment_or_a_time_before_each_run(
    text: str, *, expected: bool
) -> None:
    assert is_start(text) is expected
