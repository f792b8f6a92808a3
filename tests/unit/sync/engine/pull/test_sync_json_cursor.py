"""Cursors that are objects or lists: opaque JSON that is sent back as it came."""

import itertools
import json
from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal
from urllib.parse import parse_qs, urlsplit

import pytest

from outkey.foundation.core.errors import SyncFailed
from outkey.sending.core.request.message import Request, Response
from outkey.sync.core.line.line import Pagination, Paging, Sync
from outkey.sync.core.line.templates import fill_body
from outkey.sync.core.paging.paging import (
    MAX_CURSOR_LENGTH,
    Position,
    next_position,
    parameters,
    position_of,
)
from outkey.sync.core.paging.request_values import NO_VALUES
from outkey.sync.core.run.run import Counts
from unit.sync.core.paging.test_sync_paging import START, line, page, reason_of
from unit.sync.engine.pull.test_sync_run import (
    PULL,
    FakeSync,
    answer,
    fake_sync,
    people,
)

CURSORS = [
    {"after": [1700000000, "id-7"], "shard": None},
    [1700000000123, "a/b?c=d&e", True],
    {"größe": "ü", "score": Decimal("1.25")},
]
IN_BODY = replace(
    PULL,
    records="items",
    body='{"search_after": "{position}", "why": "after {position}"}',
    pagination=Pagination(Paging.CURSOR, 7, cursor="next"),
)
IN_QUERY = replace(
    IN_BODY,
    body="",
    pagination=replace(IN_BODY.pagination, position_parameter="after"),
)


class Paged:
    """An API with a page for each cursor, and one before the first."""

    def __init__(self, cursors: Iterable[object]) -> None:
        self.following = [*cursors, None]
        self.asked: list[Request] = []

    def __call__(self, request: Request) -> Response:
        self.asked.append(request)
        number = len(self.asked)
        cursor = self.following[number - 1]
        return answer({"items": people(number), "next": cursor})

    def bodies(self) -> list[object]:
        return [json.loads(request.body or b"null") for request in self.asked]


def test_a_cursor_is_sent_back_in_the_body_as_the_value_that_it_is() -> None:
    cursors = [{"after": [1, "x"], "z": 0.5}, [2, None]]
    api = Paged(cursors)
    made = fake_sync(IN_BODY, api, method="POST")
    assert made.run().counts == Counts(created=3)
    assert api.bodies() == [
        {"search_after": None, "why": "after "},
        {"search_after": cursors[0], "why": 'after {"after":[1,"x"],"z":0.5}'},
        {"search_after": cursors[1], "why": "after [2,null]"},
    ]


def test_a_cursor_is_sent_back_as_a_parameter_in_compact_json() -> None:
    api = Paged([{"b": 1, "a": "ü & more"}])
    fake_sync(IN_QUERY, api).run()
    query = parse_qs(urlsplit(api.asked[1].target).query)
    assert query["after"] == ['{"a":"\\u00fc & more","b":1}']
    assert "after" not in parse_qs(urlsplit(api.asked[0].target).query)


def test_a_text_cursor_needs_no_parameter_either_if_the_body_has_its_place() -> None:
    api = Paged(["abc"])
    fake_sync(IN_BODY, api, method="POST").run()
    assert [request.target for request in api.asked] == ["/contacts"] * 2
    assert api.bodies()[1] == {"search_after": "abc", "why": "after abc"}


@pytest.mark.parametrize("cursor", CURSORS)
def test_a_cursor_survives_a_checkpoint(cursor: object) -> None:
    after = next_position(line(Paging.CURSOR), START, page(1, cursor=cursor))
    stored = json.loads(json.dumps(after.as_checkpoint()))
    assert position_of(stored) == after
    assert position_of(stored).value == json.loads(json.dumps(cursor, default=float))


def test_a_checkpoint_of_the_version_before_is_still_understood() -> None:
    stored = Position(at="abc", pages=2).as_checkpoint()
    del stored["is_json"]
    assert position_of(stored) == Position(at="abc", pages=2)


def test_a_run_that_was_interrupted_continues_at_its_cursor() -> None:
    api = Paged([{"after": 1}, {"after": 2}])
    made = fake_sync(IN_BODY, api, method="POST")
    steps = made.runner.run("contacts", "ada")
    next(steps)
    next(steps)
    with pytest.raises(KeyboardInterrupt):
        steps.throw(KeyboardInterrupt())
    assert made.run().counts == Counts(created=3)
    assert [body["search_after"] for body in api.bodies()] == [  # type: ignore[index]
        None,
        {"after": 1},
        {"after": 2},
    ]


@pytest.mark.parametrize("length", [1, 2, 3, 7])
def test_a_loop_of_cursors_is_noticed_whatever_the_order_of_their_names(
    length: int,
) -> None:
    orders = itertools.cycle([["a", "b"], ["b", "a"]])
    cursors = (
        dict.fromkeys(next(orders), number % length)
        for number in range(10 * length + 10)
    )
    made = fake_sync(IN_QUERY, Paged(cursors))
    assert ends_with(made) == "cursor_loop"


def nested(levels: int) -> object:
    value: object = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    "cursor",
    [["x" * MAX_CURSOR_LENGTH], list(range(5000)), [Decimal("1e999")]],
    ids=["long", "many", "infinite"],
)
def test_a_cursor_that_cannot_be_stored_or_sent_is_refused(cursor: object) -> None:
    assert reason_of(line(Paging.CURSOR), START, page(1, cursor=cursor)) == "bad_cursor"


def ends_with(made: FakeSync) -> str:
    with pytest.raises(SyncFailed) as failed:
        made.run()
    return failed.value.reason


@pytest.mark.parametrize(
    "cursor", [nested(900), dict.fromkeys(map(str, range(20_000)), 1)]
)
def test_a_cursor_of_many_levels_or_fields_ends_the_run(cursor: object) -> None:
    assert ends_with(fake_sync(IN_QUERY, Paged([cursor]))) == "bad_cursor"


def test_a_cursor_that_no_request_would_carry_is_refused() -> None:
    lost = replace(IN_BODY, body='{"query": "all"}')
    made = fake_sync(lost, Paged([{"after": 1}]), method="POST")
    assert ends_with(made) == "bad_cursor"


@pytest.mark.parametrize("secret", ["sekret-canary-4711", "hunter2"])
@pytest.mark.parametrize("sync", [IN_QUERY, IN_BODY], ids=["query", "body"])
def test_a_cursor_that_repeats_a_secret_ends_the_run(secret: str, sync: Sync) -> None:
    method = "POST" if sync.body else "GET"
    made = fake_sync(sync, Paged([{"state": [1, secret]}]), method=method)
    made.world.secrets.values["token"] = secret
    assert ends_with(made) == "secret_in_cursor"
    (run,) = made.runs.newest(9)
    assert secret not in json.dumps(dict(run.position))


def test_a_list_inside_a_text_of_a_body_is_json_and_not_python() -> None:
    assert fill_body({"t": "x {v}"}, {"v": [None, "a"]}) == {"t": 'x [null,"a"]'}
    assert parameters(line(Paging.CURSOR), Position(at="[1]", is_json=True), NO_VALUES)[
        "at"
    ] == ["[1]"]
