"""A line that is reset: its next run begins where a user says, and records stay."""

from dataclasses import replace

import pytest

from outkey.foundation.core.errors import ConfigError, LineBusy, UnknownConfiguration
from outkey.sending.core.audit.events import Change, Tag
from outkey.sync.core.line.line import Incremental, Sync, SyncLine
from outkey.sync.core.paging.since import reset_value
from outkey.testing import configuration
from unit.application_in_memory import memory_host
from unit.sync.engine.pull.test_sync_run import PULL, PUSH
from unit.sync.engine.pull.test_sync_windows import (
    DAY,
    NOW,
    WINDOWS,
    changes_of,
    iso_datetime,
    steps_of,
)

SINCE = replace(PULL, incremental=Incremental("since", "at"))


def test_the_next_run_begins_where_the_line_is_reset_to() -> None:
    made, api = changes_of()
    made.run()
    made.world.clock.advance(60)
    made.runs.reset_line("contacts", iso_datetime(NOW - 2 * DAY))
    api.asked.clear()
    again = made.run()
    assert (api.windows()[0][0], again.counts.unchanged) == (NOW - 2 * DAY, 6)
    assert len(made.numbers()) == 12
    made.world.clock.advance(60)
    api.asked.clear()
    made.run()
    assert len(api.windows()) == 1


def test_a_killed_run_is_not_continued_after_a_reset() -> None:
    made, api = changes_of()
    steps = steps_of(made)
    for _ in range(5):
        next(steps)
    with pytest.raises(LineBusy):
        made.runs.reset_line("contacts", "")
    made.kill()
    made.runs.reset_line("contacts", "")
    api.asked.clear()
    made.run()
    assert len(api.windows()) == 4


def test_a_retry_begins_at_the_reset_too_and_leaves_it() -> None:
    made, api = changes_of()
    api.add(50, days_ago=0.5, name="x" * 30)
    first = made.run()
    begin = iso_datetime(NOW - 2 * DAY)
    made.runs.reset_line("contacts", begin)
    *_, retry = made.runner.retry(first.id, "ada")
    assert retry.since == begin
    assert made.run().since == begin


@pytest.mark.parametrize(
    ("since", "sync", "value"),
    [
        ("", PULL, ""),
        ("2026-01-01T01:00:00+01:00", SINCE, "2026-01-01T00:00:00Z"),
        ("-1d", WINDOWS, iso_datetime(NOW - DAY)),
        ("4711", SINCE, "4711"),
    ],
)
def test_a_reset_is_to_a_moment_or_a_number_that_counts_up(
    since: str, sync: Sync, value: str
) -> None:
    assert reset_value(sync, since, NOW.timestamp()) == value


@pytest.mark.parametrize(
    ("since", "sync", "place"),
    [
        ("", None, "line"),
        ("", PUSH, "line"),
        ("2026-01-01", PULL, "since"),
        ("2099-01-01", SINCE, "since"),
        ("soon", SINCE, "since"),
        ("4711", WINDOWS, "since"),
    ],
)
def test_what_a_line_cannot_be_reset_to_is_refused(
    since: str, sync: Sync | None, place: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        reset_value(sync, since, NOW.timestamp())
    assert refused.value.field == place


def test_a_reset_is_recorded_first_and_ends_with_its_line() -> None:
    host = memory_host(configuration())
    application = host.application
    host.registry.put_line(SyncLine("people", "acme", "GET", "/", SINCE))
    office = application.administration("ada")
    assert application.lines.reset(office, "people", "4711") == ("4711", 0)
    assert host.audit.events == [
        Change(Tag.LINE_RESET, "ada", "acme", ("people",), "4711")
    ]
    run = application.runs.begin("people", "ada", dry_run=False)
    with pytest.raises(LineBusy):
        application.lines.reset(office, "people")
    assert len(host.audit.events) == 1
    application.runs.cancel(run.id)
    application.lines.remove(office, "people")
    host.registry.put_line(SyncLine("people", "acme", "GET", "/", SINCE))
    assert application.runs.begin("people", "ada", dry_run=False).since == ""
    with pytest.raises(UnknownConfiguration):
        application.lines.reset(office, "nobody")
