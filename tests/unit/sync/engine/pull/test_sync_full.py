"""Full runs of an incremental line: everything is read again from time to time."""

from dataclasses import replace

import pytest

from outkey.foundation.core.errors import BadResponse, ConfigError
from outkey.foundation.core.moments import parse_interval
from outkey.sending.core.request.message import Response
from outkey.sync.core.line.line import Gone
from outkey.sync.core.line.table import read_sync, sync_table
from outkey.sync.core.run.run import Counts
from unit.sync.engine.pull.test_sync_run import (
    SINCE,
    Api,
    asked_since,
    fake_sync,
    people,
)
from unit.sync.engine.runs.test_sync_planner import fake_planner

DAY = 86_400
WEEKLY = replace(SINCE, full_every="7d", gone=Gone.ARCHIVE)


def last_since(api: Api) -> str:
    return asked_since(api)[-1]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90m", 5400),
        ("12h", 43_200),
        ("7d", 7 * DAY),
        ("2w", 14 * DAY),
        ("0d", 0),
        ("7", 0),
        ("d", 0),
        ("7 d", 0),
        ("-7d", 0),
        ("7D", 0),
        ("1.5h", 0),
        ("9999999d", 0),
        ("٧d", 0),
    ],
)
def test_an_interval_is_a_number_and_a_unit(text: str, seconds: int) -> None:
    assert parse_interval(text) == seconds


@pytest.mark.parametrize("text", ["59m", "8785h", "weekly", "0d", "1s"])
def test_an_interval_that_makes_no_sense_is_refused_at_its_field(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_sync(sync_table(replace(WEEKLY, full_every=text)), "line.x.")
    assert caught.value.field == "line.x.full_every"
    assert text not in caught.value.message


@pytest.mark.parametrize("text", ["", "60m", "1h", "366d"])
def test_other_intervals_are_read(text: str) -> None:
    sync = replace(WEEKLY, full_every=text)
    assert read_sync(sync_table(sync)) == sync


def test_an_incremental_line_reads_everything_again_when_it_is_time() -> None:
    api = Api(people(1, 2, 3, at="2026-01-01"))
    made = fake_sync(WEEKLY, api)
    first = made.run()
    assert (first.is_full, last_since(api)) == (True, "")
    made.world.clock.advance(6 * DAY)
    second = made.run()
    assert (second.is_full, last_since(api)) == (False, "2026-01-01")
    assert second.full_at == first.started_at
    made.world.clock.advance(DAY)
    api.records = people(1, 2, at="2026-01-02")
    third = made.run()
    assert (third.is_full, last_since(api)) == (True, "")
    assert third.counts == Counts(unchanged=2, archived=1)
    fourth = made.run()
    assert (fourth.is_full, last_since(api)) == (False, "2026-01-02")


def test_a_full_run_that_failed_is_continued_as_a_full_one() -> None:
    api = Api(people(1, 2, 3, at="2026-01-01"))
    made = fake_sync(WEEKLY, api)
    made.run()
    made.world.clock.advance(8 * DAY)
    api.records = people(1, 2, at="2026-01-01")
    api.odd = {len(api.asked) + 2: Response(503)}
    with pytest.raises(BadResponse):
        made.run()
    done = made.run()
    assert (done.is_full, done.counts) == (True, Counts(unchanged=2, archived=1))
    assert not made.run().is_full


def test_a_full_run_that_did_not_complete_is_due_again() -> None:
    api = Api(people(1, 2, 3, at="2026-01-01"))
    made = fake_sync(WEEKLY, api)
    made.run()
    made.world.clock.advance(8 * DAY)
    runs = made.runner.run("contacts", "ada")
    next(runs)
    made.runs.cancel(made.runs.newest(1)[0].id)
    runs.close()
    assert made.run().is_full


def test_a_run_that_a_worker_does_is_full_when_it_is_time() -> None:
    api = Api(people(1, at="2026-01-01"))
    fake = fake_planner(fake_sync(WEEKLY, api))
    fake.planner.request("contacts", "ada")
    fake.work()
    fake.planner.request("contacts", "ada")
    (changes,) = fake.work()
    fake.wait(8 * DAY)
    fake.planner.request("contacts", "ada")
    (full,) = fake.work()
    assert (changes.is_full, full.is_full) == (False, True)


def test_without_an_interval_only_the_first_run_is_full() -> None:
    api = Api(people(1, at="2026-01-01"))
    made = fake_sync(SINCE, api)
    made.run()
    made.world.clock.advance(4000 * DAY)
    assert not made.run().is_full


def test_an_interval_can_be_set_later() -> None:
    api = Api(people(1, at="2026-01-01"))
    made = fake_sync(SINCE, api)
    made.run()
    made.world.clock.advance(8 * DAY)
    made.change(replace(SINCE, full_every="7d"))
    assert made.run().is_full
