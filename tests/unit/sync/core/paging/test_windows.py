"""Windows of time: all of it from the start to the end, and nothing twice."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outkey.foundation.core.errors import SyncFailed
from outkey.foundation.core.moments import parse_interval
from outkey.sync.core.line.line import Incremental
from outkey.sync.core.paging.paging import Position
from outkey.sync.core.paging.request_values import RequestValues
from outkey.sync.core.paging.windows import (
    MAX_WINDOWS,
    Windows,
    sample_values,
    windows_of,
)

NOW = datetime(2026, 11, 19, 12, 0, 30, 500_000, tzinfo=UTC)
READ = Position(pages=3, ended=True)


def windows_from(stored: str = "", *, now: datetime = NOW, **settings: str) -> Windows:
    values = {"start": "2026-01-01", "window": "7d", "end_parameter": "until"}
    windows = windows_of(Incremental("since", **(values | settings)), stored, now)
    assert windows is not None
    return windows


def requested(windows: Windows) -> list[RequestValues]:
    """Return the values of all windows, in their order."""
    position = Position(ended=windows.is_empty)
    values = []
    while not position.ended:
        values.append(windows.fill(RequestValues(), position))
        position = windows.follow(position, READ)
    return values


moments = st.datetimes(
    datetime(2025, 1, 1),  # noqa: DTZ001 - the strategy adds the zone
    datetime(2027, 1, 1),  # noqa: DTZ001
    timezones=st.just(UTC),
)


@given(
    stored=st.none() | moments,
    start=moments,
    now=moments,
    window=st.sampled_from(["6h", "1d", "7d", "366d"]),
    lookback=st.sampled_from(["", "1m", "1h", "30d"]),
)
def test_windows_cover_all_time_from_the_start_to_the_run_without_a_gap_or_an_overlap(
    stored: datetime | None,
    start: datetime,
    now: datetime,
    window: str,
    lookback: str,
) -> None:
    windows = windows_from(
        "" if stored is None else stored.isoformat(),
        now=now,
        start=start.isoformat(),
        window=window,
        lookback=lookback,
    )
    first = start
    if stored is not None:
        first = max(start, stored - timedelta(seconds=parse_interval(lookback)))
    bounds = [
        (datetime.fromisoformat(v.since), datetime.fromisoformat(v.until))
        for v in requested(windows)
    ]
    if first.replace(microsecond=0) >= now.replace(microsecond=0):
        assert bounds == []
        return
    assert bounds[0][0] == first.replace(microsecond=0)
    assert bounds[-1][1] == now.replace(microsecond=0)
    length = timedelta(seconds=parse_interval(window))
    assert all(begin < end <= begin + length for begin, end in bounds)
    ends = [end for _, end in bounds[:-1]]
    assert ends == [begin for begin, _ in bounds[1:]]


def test_the_bounds_are_written_in_the_format_of_the_api() -> None:
    windows = windows_from(start="-3d", window="2d", format="%d.%m.%Y")
    assert requested(windows) == [
        RequestValues("16.11.2026", "18.11.2026"),
        RequestValues("18.11.2026", "19.11.2026"),
    ]
    assert windows.end_text(Position()) == "2026-11-18T12:00:30Z"


def test_a_position_in_a_window_stays_there_until_its_last_page() -> None:
    windows = windows_from()
    second = windows.follow(Position(), READ)
    assert second == Position(window="2026-01-08T00:00:00Z")
    page = Position(at="2", pages=1, window=second.window)
    assert windows.follow(second, page) == page
    assert windows.bounds(page)[1] == datetime(2026, 1, 15, tzinfo=UTC)


def test_a_doubtful_end_of_a_window_is_not_lost() -> None:
    doubtful = Position(pages=3, ended=True, doubtful=True)
    assert windows_from().follow(Position(), doubtful).doubtful


def test_a_sample_is_of_the_newest_window() -> None:
    settings = Incremental("since", start="2026-01-01", window="7d")
    assert sample_values(settings, NOW) == RequestValues(
        "2026-11-12T12:00:30Z", "2026-11-19T12:00:30Z"
    )
    assert sample_values(Incremental("since", start="-1d"), NOW) == RequestValues(
        "2026-11-18T12:00:30Z"
    )
    assert sample_values(Incremental("since"), NOW) == RequestValues()


def test_the_windows_of_a_run_are_limited() -> None:
    minutes = timedelta(minutes=MAX_WINDOWS)
    most = (NOW - minutes + timedelta(seconds=1)).isoformat()
    assert windows_from(window="1m", start=most)
    for start in ((NOW - minutes).isoformat(), "1970-01-01"):
        with pytest.raises(SyncFailed) as failed:
            windows_from(window="1m", start=start)
        assert failed.value.reason == "too_many_windows"


def test_without_a_window_or_a_start_there_are_no_windows() -> None:
    assert windows_of(Incremental("since", "at", start="-1d"), "", NOW) is None
    assert windows_of(Incremental("since", "at", window="1d"), "", NOW) is None
