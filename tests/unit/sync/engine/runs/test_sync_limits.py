"""What one run and one preview may do: records, minutes and the size of a page."""

import json
from dataclasses import replace
from typing import Any

import pytest

from outkey.administration.core.document.document import parse_document
from outkey.administration.core.document.export import render
from outkey.foundation.core.errors import (
    ConfigError,
    ConnectionFailed,
    ResponseTooLarge,
    SyncFailed,
)
from outkey.sending.core.request.message import Request, Response
from outkey.sync.core.line.line import Gone, Incremental, Sync
from outkey.sync.core.run.remedies import remedy_of
from outkey.sync.core.run.run import Counts, Run, RunState
from outkey.testing import configuration
from unit.sync.engine.pull.test_sync_run import (
    PULL,
    PUSH,
    Api,
    FakeSync,
    answer,
    fake_sync,
    people,
    stored,
)
from unit.sync.engine.runs.test_sync_planner import fake_planner

LIMITED = replace(PULL, max_records=4)
MINUTE = replace(PULL, max_minutes=1)


def stopped(made: FakeSync) -> Run:
    """Run a line that reaches a limit, and return what was kept."""
    with pytest.raises(SyncFailed) as caught:
        made.run()
    assert caught.value.reason == "run_limit"
    assert "max_records" in caught.value.hint
    kept, *_ = made.runs.newest(1)
    assert (kept.state, kept.cause) == (RunState.FAILED, "run_limit")
    return kept


class Endless:
    """A slow API that invents two more records for every page."""

    def __init__(self, made: FakeSync | None = None, seconds: float = 0.0) -> None:
        self.pages, self.sync, self._seconds = 0, made, seconds

    def __call__(self, _request: Request) -> Response:
        self.pages += 1
        if self.sync is not None:
            self.sync.world.clock.advance(self._seconds)
        return answer(people(2 * self.pages, 2 * self.pages + 1))


def endless(sync: Sync, seconds: float = 0.0) -> tuple[FakeSync, Endless]:
    api = Endless(seconds=seconds)
    made = fake_sync(sync, api)
    api.sync = made
    return made, api


# ── records ───────────────────────────────────────────────────────────────────────────


def test_a_pull_of_exactly_as_many_records_as_it_may_take_is_done() -> None:
    made = fake_sync(LIMITED, Api(people(1, 2, 3, 4)))
    assert made.run().counts == Counts(created=4)


def test_a_pull_that_needs_more_records_fails_and_keeps_what_it_wrote() -> None:
    made = fake_sync(LIMITED, Api(people(1, 2, 3, 4, 5)))
    assert stopped(made).counts == Counts(created=4)
    assert made.numbers() == ["1", "2", "3", "4"]


def test_a_page_that_goes_beyond_the_limit_is_not_written_at_all() -> None:
    made = fake_sync(replace(PULL, max_records=3), Api(people(1, 2, 3, 4)))
    assert stopped(made).counts == Counts(created=2)


def test_an_api_that_invents_records_is_left_after_the_limit() -> None:
    made, api = endless(replace(PULL, max_records=10))
    stopped(made)
    assert api.pages == 6
    assert len(made.numbers()) == 10


def test_records_that_were_left_out_count_too() -> None:
    made = fake_sync(replace(PULL, max_records=2), Api([{"id": None}] * 3))
    assert stopped(made).counts == Counts(failed=2)


def test_a_dry_run_has_the_same_limit() -> None:
    made = fake_sync(replace(PULL, max_records=2), Api(people(1, 2, 3)))
    with pytest.raises(SyncFailed):
        made.run(dry_run=True)
    assert made.numbers() == []


def test_a_run_that_was_killed_counts_what_it_had_done() -> None:
    made = fake_sync(LIMITED, Api(people(1, 2, 3, 4, 5, 6)))
    steps = made.runner.run("contacts", "ada")
    next(steps)
    assert next(steps).counts == Counts(created=2)
    made.kill()
    kept = stopped(made)
    assert kept.counts == Counts(created=4)


def test_the_next_pull_begins_anew_with_the_whole_limit_and_archives_nothing() -> None:
    api = Api(people(1, 2, 3, 4, 5, 6))
    made = fake_sync(replace(LIMITED, gone=Gone.ARCHIVE), api)
    first = stopped(made)
    assert first.position == {}
    second = stopped(made)
    assert second.id != first.id
    assert second.counts == Counts(unchanged=4)
    assert second.counts.archived == 0
    api.records = people(1, 2, 3, 4)
    assert made.run().counts == Counts(unchanged=4)


def test_the_next_pull_asks_again_for_what_changed_since_the_last_complete_one() -> (
    None
):
    incremental = Incremental("since", "id")
    made = fake_sync(replace(LIMITED, incremental=incremental), Api(people(1, 2)))
    assert made.run().cursor == "2"
    limited = replace(LIMITED, incremental=incremental, max_records=1)
    made.change(limited)
    assert stopped(made).since == "2"
    made.change(replace(limited, max_records=2))
    assert made.run().since == "2"


# ── records of a push ─────────────────────────────────────────────────────────────────


def pushing(**limits: int) -> tuple[FakeSync, Api]:
    api = Api()
    made = fake_sync(replace(PUSH, **limits), api, method="POST")  # type: ignore[arg-type]
    stored(made, *({"number": f"n{n}", "name": f"Name {n}"} for n in range(1, 4)))
    return made, api


def test_a_push_of_exactly_as_many_records_as_it_may_send_is_done() -> None:
    made, api = pushing(max_records=3)
    assert made.run().counts == Counts(created=3)
    assert len(api.asked) == 3


def test_a_push_at_its_limit_sends_nothing_twice_and_resumes_when_it_is_raised() -> (
    None
):
    made, api = pushing(max_records=2)
    first = stopped(made)
    assert first.counts == Counts(created=2)
    again = stopped(made)
    assert (again.id, again.counts, len(api.asked)) == (first.id, Counts(created=2), 2)
    made.change(replace(PUSH, max_records=3), "POST")
    assert made.run().counts == Counts(created=3)
    sent = [json.loads(bytes(request.body))["id"] for request in api.asked]  # type: ignore[arg-type]
    assert sent == ["n1", "n2", "n3"]


def test_a_push_of_several_at_a_time_stops_exactly_at_its_limit() -> None:
    made, api = pushing(max_records=2, parallel=3)
    assert stopped(made).counts == Counts(created=2)
    assert len(api.asked) == 2


def test_a_push_has_a_limit_of_minutes() -> None:
    made, api = pushing(max_minutes=1)
    steps = made.runner.run("contacts", "ada")
    next(steps)
    made.world.clock.advance(61)
    with pytest.raises(SyncFailed, match="limit of 1 minute"):
        next(steps)
    assert api.asked == []


# ── minutes ───────────────────────────────────────────────────────────────────────────


def test_a_pull_of_exactly_as_many_minutes_as_it_may_take_goes_on() -> None:
    made, api = endless(MINUTE, seconds=30.0)
    kept = stopped(made)
    assert (api.pages, kept.worked) == (
        3,
        90.0,
    )  # after 60 seconds there is one more page
    # the third page came too late to be written
    assert kept.counts == Counts(created=4)


def test_minutes_are_counted_over_all_parts_of_a_run_and_not_between_them() -> None:
    made, api = endless(MINUTE, seconds=25.0)
    steps = made.runner.run("contacts", "ada")
    next(steps)
    assert next(steps).worked == 25.0
    made.kill()
    kept = stopped(made)
    assert (kept.worked, api.pages) == (75.0, 3)
    assert kept.counts == Counts(created=4)


def test_what_a_failure_took_counts_too() -> None:
    made, api = endless(replace(MINUTE, max_minutes=2), seconds=30.0)
    made.world.ports.transport.responses = Failing(api, at=2)  # type: ignore[attr-defined]
    with pytest.raises(ConnectionFailed):
        made.run()
    assert made.runs.newest(1)[0].worked == 60.0
    assert stopped(made).worked == 150.0


class Failing:
    """Fails once, at one request."""

    def __init__(self, api: Endless, at: int) -> None:
        self._api, self._at = api, at

    def __call__(self, request: Request) -> Response | ConnectionFailed:
        made = self._api(request)
        return ConnectionFailed() if self._api.pages == self._at else made


def test_a_line_that_was_changed_begins_with_all_its_minutes() -> None:
    made, _ = endless(MINUTE, seconds=25.0)
    steps = made.runner.run("contacts", "ada")
    next(steps)
    next(steps)
    made.kill()
    made.change(MINUTE, path="/others")
    assert next(iter(made.runner.run("contacts", "ada"))).worked == 0.0


# ── what is next ──────────────────────────────────────────────────────────────────────


def test_a_run_that_reached_its_limit_is_not_tried_again_by_itself() -> None:
    made, api = endless(replace(LIMITED, schedule="0 * * * *"))
    fake = fake_planner(made)
    fake.planner.request("contacts", "ada")
    (ended,) = fake.work()
    assert (ended.state, ended.cause) == (RunState.FAILED, "run_limit")
    pages = api.pages
    fake.wait(600)
    fake.planner.plan("schedule")
    assert fake.work() == []
    assert api.pages == pages
    fake.wait(3600)
    fake.planner.plan("schedule")
    (next_run,) = fake.work()
    assert (next_run.id != ended.id, next_run.cause) == (True, "run_limit")
    assert api.pages == 2 * pages
    assert remedy_of("run_limit")


# ── the two keys ──────────────────────────────────────────────────────────────────────

LINE = """
[configuration.acme]
base_url = "https://a.example"

[line.contacts]
configuration = "acme"
direction = "pull"
target = "contact"
keys = ["number"]
fields = [{{ api = "id", host = "number" }}]
{}
"""


def read(said: str) -> Sync:
    (line,) = parse_document(LINE.format(said)).lines
    assert line.sync is not None
    return line.sync


@pytest.mark.parametrize(
    ("key", "default", "most"),
    [("max_records", 1_000_000, 1_000_000_000), ("max_minutes", 360, 10_080)],
)
def test_a_limit_is_a_positive_number_up_to_a_greatest_one(
    key: str, default: int, most: int
) -> None:
    assert getattr(read(""), key) == default
    for value in (1, most):
        assert getattr(read(f"{key} = {value}"), key) == value
    for wrong in ("0", "-1", str(most + 1), "true", "1.5", '"5"'):
        with pytest.raises(ConfigError, match="whole number from 1 to") as refused:
            read(f"{key} = {wrong}")
        assert refused.value.field == f"line.contacts.{key}"


def test_limits_are_written_where_they_are_not_as_by_default() -> None:
    (line,) = parse_document(LINE.format("max_records = 5\nmax_minutes = 360")).lines
    written = render([configuration()], [line])
    assert "max_records = 5" in written
    assert "max_minutes" not in written


# ── a preview ─────────────────────────────────────────────────────────────────────────


def test_a_preview_reads_a_small_page_only() -> None:
    body = json.dumps([{"id": 1, "text": "x" * 5 * 1024 * 1024}]).encode()
    made = fake_sync(PULL, lambda _: Response(200, body=body))
    with pytest.raises(ResponseTooLarge, match="4 MiB") as refused:
        made.runner.preview("contacts")
    assert "dry run" in refused.value.hint
    assert made.run(dry_run=True).state is RunState.DONE


def test_a_preview_of_a_configuration_with_a_smaller_limit_keeps_to_that() -> None:
    body = json.dumps([{"id": 1, "name": "x" * 1024 * 1024}]).encode()
    made = fake_sync(PULL, lambda _: Response(200, body=body))
    registry: Any = made.world.ports.configurations
    stored_one = registry.get("acme")
    small = replace(stored_one, limits=replace(stored_one.limits, response_mebibytes=1))
    registry.put_settings(small)
    with pytest.raises(ResponseTooLarge) as refused:
        made.runner.preview("contacts")
    assert "limits.response_mebibytes" in refused.value.hint


def test_a_preview_of_very_many_values_is_refused() -> None:
    body = b"[" + b"{}," * 150_000 + b"{}]"
    made = fake_sync(PULL, lambda _: Response(200, body=body))
    with pytest.raises(SyncFailed) as refused:
        made.runner.preview("contacts")
    assert refused.value.reason == "too_many_values"


def test_a_preview_that_takes_too_long_is_stopped() -> None:
    made = fake_sync(PULL, Api(people(1, 2)))

    class Slow:
        def compile(self, expression: str, *, field: str) -> Any:  # noqa: ANN401 - the port's own
            find = made.ports.finder.compile(expression, field=field)

            def find_slowly(value: object) -> object:
                if field.endswith(".api"):
                    made.world.clock.advance(6)
                return find(value)

            return find_slowly

        def is_path_of_names(self, _expression: str) -> bool:
            return False

    runner = type(made.runner)(replace(made.ports, finder=Slow()))
    with pytest.raises(SyncFailed, match="preview took longer than 10 seconds") as late:
        runner.preview("contacts")
    assert late.value.reason == "preview_limit"
    assert late.value.hint == remedy_of("preview_limit")
    *_, last = runner.run("contacts", "ada")
    assert last.counts == Counts(created=2)
