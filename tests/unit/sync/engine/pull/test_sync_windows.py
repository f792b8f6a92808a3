"""Runs that request a list window by window: kills, limits, rejected records."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from outkey.foundation.core.errors import BadResponse, OutkeyError, SyncFailed
from outkey.foundation.core.moments import iso_datetime
from outkey.foundation.core.text import Text
from outkey.sending.core.request.message import Request, Response
from outkey.sync.core.line.line import (
    Gone,
    Incremental,
    Pagination,
    Paging,
    Sync,
)
from outkey.sync.core.run.reasons import RUN_LIMIT
from outkey.sync.core.run.run import Counts, Run, RunState
from unit.sync.engine.pull.test_sync_run import (
    PULL,
    FakeSync,
    answer,
    fake_sync,
    people,
)

DAY = timedelta(days=1)
PAGES = Pagination(Paging.PAGE, 2, "per_page", "page")
WINDOWS = replace(
    PULL,
    pagination=PAGES,
    incremental=Incremental("since", start="-4d", window="1d", end_parameter="until"),
)
NOW = datetime.fromtimestamp(1_800_000_000, UTC)  # of the fake clock
FULL = replace(
    WINDOWS,
    gone=Gone.ARCHIVE,
    guard_percent=100,
    full_every="1h",
    incremental=replace(WINDOWS.incremental, start=iso_datetime(NOW - 4 * DAY)),
)


@dataclass
class ChangesApi:
    """Returns records by the time of their change, for a day at most."""

    records: list[dict[str, Any]] = field(default_factory=list)
    odd: dict[int, Response | OutkeyError] = field(default_factory=dict)  # by request
    asked: list[tuple[datetime, datetime, int]] = field(default_factory=list)

    def __call__(self, request: Request) -> Response | OutkeyError:
        query = parse_qs(urlsplit(request.target).query)
        since, until = (
            datetime.fromisoformat(query[name][0]) for name in ("since", "until")
        )
        page = int(query["page"][0])
        self.asked.append((since, until, page))
        if until - since > DAY:
            return answer({"error": "range"}, status=400)
        if len(self.asked) in self.odd:
            return self.odd[len(self.asked)]
        changed = [
            record
            for record in self.records
            if since <= datetime.fromisoformat(record["at"]) < until
        ]
        return answer(changed[2 * page - 2 : 2 * page])

    def add(self, *numbers: int, days_ago: float, **values: object) -> None:
        at = iso_datetime(NOW - timedelta(days=days_ago))
        self.records += people(*numbers, at=at, **values)

    def windows(self) -> list[tuple[datetime, datetime]]:
        """Return the windows that were requested, each once, in their order."""
        return list(dict.fromkeys((since, until) for since, until, _ in self.asked))


def changes_of(sync: Sync = WINDOWS) -> tuple[FakeSync, ChangesApi]:
    """Return a line of four windows, with records in each of them."""
    api = ChangesApi()
    made = fake_sync(sync, api)
    for day in range(4):
        api.add(*range(3 * day, 3 * day + 3), days_ago=3.5 - day)
    return made, api


def refuse_gaps(api: ChangesApi, first: datetime, last: datetime) -> None:
    windows = api.windows()
    assert windows[0][0] == first
    assert windows[-1][1] == last
    assert [end for _, end in windows[:-1]] == [begin for begin, _ in windows[1:]]


def moment(at: float) -> datetime:
    return datetime.fromtimestamp(at, UTC).replace(microsecond=0)


def steps_of(made: FakeSync) -> Iterator[Run]:
    return made.runner.run("contacts", "ada")


def test_a_run_requests_window_by_window_and_the_next_one_continues_at_its_begin() -> (
    None
):
    made, api = changes_of()
    first = made.run()
    assert (first.counts, first.pages) == (Counts(created=12), 12)
    refuse_gaps(api, moment(first.started_at) - 4 * DAY, moment(first.started_at))
    assert first.is_full
    made.world.clock.advance(3600)
    api.asked.clear()
    api.add(99, days_ago=-0.01)
    second = made.run()
    assert (second.counts, second.is_full) == (Counts(created=1), False)
    assert api.windows() == [(moment(first.started_at), moment(second.started_at))]


def test_a_lookback_overlaps_the_runs_and_not_the_windows() -> None:
    incremental = replace(WINDOWS.incremental, lookback="2h")
    made, api = changes_of(replace(WINDOWS, incremental=incremental))
    first = made.run()
    refuse_gaps(api, moment(first.started_at) - 4 * DAY, moment(first.started_at))
    made.world.clock.advance(DAY.total_seconds())
    api.asked.clear()
    second = made.run()
    refuse_gaps(
        api,
        moment(first.started_at) - timedelta(hours=2),
        moment(second.started_at),
    )
    assert second.counts.created == 0


@pytest.mark.parametrize("kill_after", range(1, 12))
def test_a_killed_run_continues_in_its_window_at_its_page(kill_after: int) -> None:
    made, api = changes_of()
    steps = steps_of(made)
    for _ in range(1 + kill_after):
        killed = next(steps)
    requests = len(api.asked)
    made.kill()
    api.asked.clear()
    api.add(77, days_ago=-0.02)  # for the next run
    done = made.run()
    assert (done.id, done.counts) == (killed.id, Counts(created=12))
    assert requests + len(api.asked) == 12
    assert api.windows()[-1][1] == moment(killed.started_at)
    assert made.run().counts == Counts(created=1)


def test_pages_that_are_requested_together_are_those_of_one_window() -> None:
    made, api = changes_of(replace(WINDOWS, parallel=3))
    assert made.run().counts == Counts(created=12)
    assert len(api.windows()) == 4


def test_a_retry_requests_the_windows_again_and_stores_nothing_for_the_next_run() -> (
    None
):
    made, api = changes_of()
    api.records.append({"name": "no id", "at": api.records[4]["at"]})
    api.records.append({"id": 50, "name": "x" * 30, "at": api.records[4]["at"]})
    first = made.run()
    assert first.counts == Counts(created=12, failed=2)
    api.records[-1]["name"] = "short"
    *_, retry = made.runner.retry(first.id, "ada")
    assert (retry.counts, retry.cursor) == (Counts(created=1), "")


def test_the_next_run_begins_at_the_first_window_that_had_a_rejected_record() -> None:
    made, api = changes_of()
    api.add(50, days_ago=2.5, name="x" * 30)
    first = made.run()
    begin = moment(first.started_at) - 3 * DAY
    assert (first.counts.failed, first.cursor) == (1, iso_datetime(begin))
    api.records[-1]["name"] = "short"
    api.asked.clear()
    second = made.run()
    assert (second.counts.created, api.windows()[0][0]) == (1, begin)
    assert second.cursor == iso_datetime(moment(second.started_at))


def test_a_rejected_record_of_the_first_window_lets_the_next_run_start_over() -> None:
    made, api = changes_of()
    api.add(50, days_ago=3.5, name="x" * 30)
    assert made.run().cursor == ""
    assert made.run().is_full


def test_a_limit_of_records_is_that_of_each_attempt_so_that_a_run_gets_to_its_end() -> (
    None
):
    made, api = changes_of(replace(FULL, max_records=7))
    notes: list[Text] = []
    with pytest.raises(SyncFailed) as failed:
        made.run(note_change=notes.append)
    assert failed.value.reason == RUN_LIMIT
    stopped = made.runs.newest(1)[0]
    assert (stopped.counts.created, stopped.counted) == (6, 6)
    assert [note.template for note in stopped.notes][-1] == (
        "the next run continues at {moment}"
    )
    api.asked.clear()
    done = made.run()
    assert (done.id, done.state) == (stopped.id, RunState.DONE)
    assert (done.counts, done.is_full) == (Counts(created=12), True)
    refuse_gaps(api, moment(done.started_at) - 2 * DAY, moment(done.started_at))


def test_a_limit_within_one_window_starts_that_window_again() -> None:
    made, api = changes_of(replace(WINDOWS, max_records=5))
    api.add(60, 61, 62, days_ago=2.5)
    for _ in range(2):
        with pytest.raises(SyncFailed):
            made.run()
    begin = made.runs.newest(1)[0].position["window"]
    assert begin == iso_datetime(moment(made.runs.newest(1)[0].started_at) - 3 * DAY)
    made.change(replace(WINDOWS, max_records=6))
    with pytest.raises(SyncFailed):
        made.run()
    assert made.runs.newest(1)[0].position["window"] != begin
    done = made.run()
    assert len(made.numbers()) == 15
    assert done.state is RunState.DONE


def test_a_limit_of_minutes_counts_from_the_last_one() -> None:
    made, _ = changes_of(replace(WINDOWS, max_minutes=10))
    steps = steps_of(made)
    for _ in range(5):
        next(steps)
    made.world.clock.advance(601)
    with pytest.raises(SyncFailed):
        next(steps)
    assert made.runs.newest(1)[0].worked == 0.0
    assert made.run().counts.created == 12


def test_a_window_whose_page_is_refused_again_starts_at_its_first_page() -> None:
    made, api = changes_of()
    refusal = answer({"error": "cursor"}, status=400)
    api.odd = dict.fromkeys((5, 6), refusal)
    for _ in range(2):
        with pytest.raises(BadResponse):
            made.run()
    stopped = made.runs.newest(1)[0]
    assert (stopped.position["window"] != "", stopped.position["at"]) == (True, "")
    done = made.run()
    assert (done.id, len(made.numbers())) == (stopped.id, 12)


def test_what_is_missing_upstream_is_removed_after_a_run_over_all_windows() -> None:
    made, api = changes_of(FULL)
    made.run()
    del api.records[:3]
    made.world.clock.advance(60)
    assert made.run().counts.archived == 0
    made.world.clock.advance(7200)
    full = made.run()
    assert (full.is_full, full.counts.archived) == (True, 3)


def test_after_a_404_in_any_window_a_full_run_removes_nothing() -> None:
    made, api = changes_of(FULL)
    made.run()
    made.world.clock.advance(7200)
    api.odd = {len(api.asked) + 2: answer([], status=404)}
    doubtful = made.run()
    assert (doubtful.is_full, doubtful.counts) == (True, Counts(unchanged=11))
    made.world.clock.advance(7200)
    assert made.run().counts == Counts(unchanged=12)


def test_a_start_that_is_still_to_come_requests_nothing_and_says_so() -> None:
    made, api = changes_of()
    later = iso_datetime(NOW + DAY)
    incremental = replace(WINDOWS.incremental, start=later)
    made.change(
        replace(WINDOWS, incremental=incremental, gone=Gone.DELETE, full_every="1h")
    )
    made.records.table("contact")["7"] = {"number": "7", "_line": "contacts"}
    notes: list[Text] = []
    run = made.run(note_change=notes.append, allows_removal=True)
    assert (run.state, run.counts, run.pages, api.asked) == (
        RunState.DONE,
        Counts(),
        0,
        [],
    )
    assert [note.template for note in notes] == [
        "nothing is requested before {moment}, where the line starts"
    ]


def test_a_gap_that_a_moving_start_leaves_is_reported() -> None:
    made, _ = changes_of()
    made.run()
    made.world.clock.advance(5 * DAY.total_seconds())
    notes: list[Text] = []
    made.run(note_change=notes.append)
    (note,) = notes
    assert "has moved past them" in note.template


def test_two_runs_within_a_second_request_nothing_twice() -> None:
    made, api = changes_of()
    first = made.run()
    api.asked.clear()
    second = made.run()
    assert (api.asked, second.state) == ([], RunState.DONE)
    made.world.clock.advance(60)
    third = made.run()
    assert api.windows()[0][0] == moment(first.started_at)
    assert third.since == first.cursor


def test_a_preview_requests_the_newest_window() -> None:
    made, api = changes_of()
    (effect, *_) = made.runner.preview("contacts", limit=1)
    assert effect.key == "9"
    assert api.windows() == [
        (moment(made.world.clock.now()) - DAY, api.windows()[0][1])
    ]
    made.runner.suggest("contacts")
    assert len(api.windows()) == 1


def test_too_many_windows_end_the_run_before_a_request() -> None:
    made, api = changes_of()
    incremental = replace(WINDOWS.incremental, start="1970-01-01", window="1m")
    made.change(replace(WINDOWS, incremental=incremental))
    with pytest.raises(SyncFailed) as failed:
        made.run()
    assert (failed.value.reason, api.asked) == ("too_many_windows", [])


def test_the_bounds_of_a_window_can_be_in_a_body() -> None:
    bodies: list[object] = []

    def respond(request: Request) -> Response:
        bodies.append(request.body)
        return answer([])

    incremental = Incremental(start="2026-01-01", window="366d")
    sync = replace(
        PULL,
        pagination=Pagination(),
        incremental=incremental,
        body='{"from": "{since}", "to": "{until}"}',
    )
    made = fake_sync(sync, respond, method="POST")
    until = iso_datetime(moment(made.run().started_at))
    assert str(bodies[-1]).count(until) == 1
    assert made.run().since == until
