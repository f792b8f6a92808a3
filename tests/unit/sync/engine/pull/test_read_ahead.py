"""Reading ahead: the next page is requested while the last one is written."""

import time
from dataclasses import replace
from typing import Any

import pytest

from outkey.foundation.core.errors import (
    ConnectionFailed,
    OutkeyError,
    StorageUnavailable,
    SyncFailed,
)
from outkey.sending.core.audit.events import Intent, Outcome
from outkey.sync.core.run.run import Counts, RunState
from outkey.sync.engine.runs.runner import SyncRunner
from unit.sync.engine.pull.test_sync_run import (
    PULL,
    Api,
    FakeSync,
    fake_sync,
    people,
)

SECONDS = 5.0  # in which a thread sends its request


def reading_ahead(api: Api, **sync: Any) -> FakeSync:  # noqa: ANN401 - of the line
    made = fake_sync(replace(PULL, **sync), api)
    made.runner = SyncRunner(replace(made.ports, reads_ahead=True))
    return made


def requests_when_written(made: FakeSync, api: Api, pages: int) -> list[int]:
    """Return how many requests the API had when each page was about to be written."""
    counts: list[int] = []
    upsert = made.records.upsert

    def upsert_and_count(*args: Any, **options: Any) -> object:  # noqa: ANN401 - of the method
        until = time.monotonic() + SECONDS
        while len(api.asked) < min(len(counts) + 2, pages) and time.monotonic() < until:
            time.sleep(0.001)
        counts.append(len(api.asked))
        return upsert(*args, **options)

    made.records.upsert = upsert_and_count
    return counts


def test_the_next_page_is_requested_before_the_last_one_is_written() -> None:
    api = Api(people(1, 2, 3, 4, 5))
    made = reading_ahead(api)
    counts = requests_when_written(made, api, pages=3)
    assert made.run().counts == Counts(created=5)
    assert made.numbers() == ["1", "2", "3", "4", "5"]
    assert counts == [2, 3, 4]  # never two pages ahead
    assert len(api.asked) == 4  # the last one is empty, which ends the run


def test_every_request_has_one_outcome_in_the_audit() -> None:
    made = reading_ahead(Api(people(1, 2, 3, 4, 5)))
    made.run()
    outcomes = [e for e in made.world.audit.events if isinstance(e, Outcome)]
    assert [outcome.outcome for outcome in outcomes] == ["ok"] * 4


def test_no_page_is_requested_that_the_run_may_not_take() -> None:
    api = Api(people(*range(1, 9)))
    made = reading_ahead(api, max_records=4)
    with pytest.raises(SyncFailed) as caught:
        made.run()
    assert caught.value.reason == "run_limit"
    assert len(api.asked) == 3  # the third one is what the limit is noticed by


def test_an_error_of_the_next_page_comes_after_the_last_one_was_written() -> None:
    made = reading_ahead(Api(people(1, 2, 3, 4), odd={2: ConnectionFailed()}))
    with pytest.raises(ConnectionFailed):
        made.run()
    (run,) = made.runs.newest(9)
    assert (run.state, run.pages, run.counts) == (RunState.FAILED, 1, Counts(created=2))
    assert made.run().counts == Counts(created=4)


def test_a_page_that_cannot_be_written_leaves_no_request_without_an_outcome() -> None:
    made = reading_ahead(Api(people(1, 2, 3, 4)))

    def fail(*_args: object, **_options: object) -> list[Any]:
        raise StorageUnavailable

    made.records.upsert = fail  # type: ignore[method-assign]
    with pytest.raises(StorageUnavailable):
        made.run()
    outcomes = [e for e in made.world.audit.events if isinstance(e, Outcome)]
    assert intents(made) == len(outcomes) == 2
    assert outcomes[1].outcome in {"ok", "cancelled"}  # it may have arrived


def test_a_run_that_ends_between_pages_continues_with_the_page_that_was_ahead() -> None:
    made = reading_ahead(Api(people(1, 2, 3, 4, 5)))
    steps = made.runner.run("contacts", "ada")
    next(steps)
    assert next(steps).counts == Counts(created=2)
    with pytest.raises(KeyboardInterrupt):
        steps.throw(KeyboardInterrupt())
    assert made.run().counts == Counts(created=5)


def test_a_request_that_cannot_be_recorded_is_not_sent() -> None:
    api = Api(people(1, 2, 3, 4))
    made = reading_ahead(api)
    steps = made.runner.run("contacts", "ada")
    next(steps)
    next(steps)
    made.world.audit.broken = True
    with pytest.raises(OutkeyError):
        list(steps)
    assert len(api.asked) == 2


def intents(made: FakeSync) -> int:
    """Return how many requests the run's own thread has recorded."""
    return sum(isinstance(event, Intent) for event in made.world.audit.events)


def test_a_preview_requests_one_page() -> None:
    made = reading_ahead(Api(people(1, 2, 3, 4)))
    made.runner.preview("contacts")
    assert intents(made) == 1


def test_a_host_that_did_not_choose_it_does_not_read_ahead() -> None:
    made = fake_sync(PULL, Api(people(1, 2, 3, 4)))
    steps = made.runner.run("contacts", "ada")
    next(steps)
    next(steps)
    assert intents(made) == 1
