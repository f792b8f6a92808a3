"""No webhook waits for all that a slow API, or a stranger, causes at another one."""

import json
from collections.abc import Callable, Sequence

import pytest

from outkey.foundation.core.errors import StorageUnavailable
from outkey.foundation.core.secret import Secret
from outkey.sending.core.request.message import Response
from outkey.sync.core.mapping.mapping import Unmapped
from outkey.sync.core.paging.response import Record
from outkey.sync.core.run.reasons import sync_failure
from outkey.sync.engine.pull.records_to_rows import RecordsToRows
from outkey.testing.fakes.basic import FakeResponse
from outkey.webhooks.core.inbox.delivery import Delivery
from outkey.webhooks.core.inbox.inbox import LEASE_SECONDS
from outkey.webhooks.engine import processing
from outkey.webhooks.engine.processing import DEFERRED_SECONDS
from outkey.webhooks.engine.work import ReceivedEvent
from outkey.webhooks.ports.webhooks import DeliveryQuery
from unit.webhooks.engine.test_webhook_confirmation import (
    FUNCTION,
    MOLLIE,
    THIN,
    form,
    found,
    urls,
)
from unit.webhooks.engine.test_webhook_processing import Working, numbers
from unit.webhooks.engine.test_webhook_reception import KEY, signed

SECONDS = 3.0  # that the API needs for a response: two fill a share
QUICK = """
[webhook.quick]
scheme = "shopify"
line = "orders"
"""


class SlowApi(Working):
    """Webhooks that fetch from an API that needs some seconds, and a quick one."""

    def __init__(self, document: str = MOLLIE, **functions: object) -> None:
        super().__init__(document + QUICK, **functions)
        self.changes.set_secret("quick", Secret(KEY))
        self.host.world.transport.responses = self.answer
        self.seconds = SECONDS

    def answer(self, request: object) -> FakeResponse:
        self.host.world.clock.advance(self.seconds)
        identifier = request.url.rpartition("/")[2]  # type: ignore[attr-defined]
        identifier = identifier.removesuffix(".json")
        if identifier == "missing":
            return Response(404)
        return found(id=identifier, order={"id": identifier})

    def deliver(self, name: str, delivery: Delivery) -> None:
        endpoint = self.settings.get(name).endpoint
        response = self.application.webhooks.reception().receive(endpoint, delivery)
        assert response.status == 200

    def states_of(self, name: str) -> list[str]:
        query = DeliveryQuery(
            endpoint=self.settings.get(name).endpoint, oldest_first=True, limit=999
        )
        return [str(row.state) for row in self.host.deliveries.find(query)]


def test_a_webhook_with_a_slow_api_has_a_share_of_the_time() -> None:
    hooks = SlowApi()
    names = [f"tr_{number}" for number in range(5)]
    for name in names:
        hooks.deliver("shop", form(name))
    assert hooks.work.round() == 5
    assert hooks.states_of("shop").count("processed") == 2
    hooks.deliver("quick", signed(b'{"id": "q"}'))
    hooks.work.round()
    assert hooks.states_of("quick") == ["processed"]
    assert hooks.states_of("shop").count("processed") == 4
    assert hooks.work.round() == 1
    assert hooks.work.round() == 0
    assert numbers(hooks)[:2] == names[:2]  # in their order
    assert [url.rpartition("/")[2] for url in urls(hooks)] == names


def test_the_webhooks_that_used_up_their_shares_take_turns() -> None:
    other = MOLLIE.partition("[webhook.shop]")[2]
    hooks = SlowApi(f"{MOLLIE}[webhook.other]{other}")
    for number in range(4):
        hooks.deliver("shop", form(f"s{number}"))
        hooks.deliver("other", form(f"o{number}"))
    for count in (1, 2, 3):
        hooks.work.round()
        hooks.deliver("quick", signed(b"", f"e{count}"))
    hooks.work.round()
    fetched = [url.rpartition("/")[2] for url in urls(hooks)]
    assert fetched == ["s0", "s1", "o0", "o1", "s2", "s3", "o2", "o3"]
    assert hooks.states_of("quick") == ["processed"] * 3


def test_more_old_deliveries_than_a_round_has_do_not_hide_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(processing, "AT_ONCE", 3)
    hooks = SlowApi()
    for number in range(9):
        hooks.deliver("shop", form(f"tr_{number}"))
    hooks.work.round()
    for number in range(2, 7):
        hooks.deliver("quick", signed(b"", f"e{number}"))
    assert hooks.work.round() == 6
    assert hooks.states_of("quick") == ["processed"] * 3 + ["received"] * 2


def ids(*identifiers: str) -> Delivery:
    rows = [{"id": identifier} for identifier in identifiers]
    return signed(json.dumps({"orders": rows}).encode())


def test_the_objects_of_one_delivery_are_fetched_in_several_turns() -> None:
    hooks = SlowApi(THIN)
    hooks.deliver("shop", ids("a", "missing", "b", "c", "d"))
    hooks.deliver("shop", signed(b'{"order": {"id": "later"}}', "e2"))
    hooks.work.round()
    (first, _) = hooks.host.deliveries.rows.values()
    assert (first.attempts, str(first.state)) == (0, "received")
    # No other worker takes it meanwhile.
    assert not first.is_due(hooks.host.world.clock.now())
    hooks.deliver("quick", signed(b'{"id": "q"}'))
    for _ in range(2):
        hooks.work.round()
        assert hooks.states_of("quick") == ["processed"]
    assert hooks.states_of("shop") == ["processed", "processed"]
    fetched = [url.rpartition("/")[2].removesuffix(".json") for url in urls(hooks)]
    assert fetched == ["a", "missing", "b", "c", "d", "later"]
    assert numbers(hooks) == ["q", "a", "b", "c", "d", "later"]


def test_a_function_gets_all_objects_at_once() -> None:
    events: list[ReceivedEvent] = []
    document = FUNCTION.replace("mollie_classic", "shopify")
    confirm = 'confirm_id = "orders[].id"\n'
    hooks = SlowApi(document + confirm, order=events.append)
    hooks.deliver("shop", ids("a", "b", "c"))
    hooks.work.round()
    assert events == []
    hooks.work.round()
    (event,) = events
    assert [item["id"] for item in event.payload] == ["a", "b", "c"]  # type: ignore[attr-defined]


def change_path(hooks: SlowApi) -> None:
    hooks.apply(THIN.replace("/orders/{id}.json", "/other/{id}.json"))


def take(hooks: SlowApi) -> None:
    """Let another worker have the delivery, and end the lease of it."""
    row = hooks.host.deliveries.rows[1]
    assert hooks.host.deliveries.swap(row, row.take(row.received_at))
    hooks.host.world.clock.advance(LEASE_SECONDS)


@pytest.mark.parametrize("change", [change_path, take])
def test_what_was_fetched_is_used_only_for_the_same_work(
    change: Callable[[SlowApi], None],
) -> None:
    hooks = SlowApi(THIN)
    hooks.deliver("shop", ids("a", "b", "c"))
    hooks.work.round()
    assert len(urls(hooks)) == 2
    change(hooks)
    for _ in range(3):
        hooks.work.round()
        hooks.host.world.clock.advance(DEFERRED_SECONDS)
    fetched = [url.rpartition("/")[2].removesuffix(".json") for url in urls(hooks)]
    assert fetched == ["a", "b", "a", "b", "c"]
    assert hooks.states_of("shop") == ["processed"]


def test_a_worker_that_stops_gives_the_delivery_back() -> None:
    hooks = SlowApi(THIN)
    hooks.deliver("shop", ids("a", "b", "c"))

    def stop(request: object) -> FakeResponse:
        hooks.stopping = True
        return hooks.answer(request)

    hooks.host.world.transport.responses = stop
    hooks.work.round()
    assert len(urls(hooks)) == 1
    (row,) = hooks.host.deliveries.rows.values()
    assert row.is_due(hooks.host.world.clock.now())


def test_a_delivery_that_was_deleted_meanwhile_is_not_continued() -> None:
    hooks = SlowApi(THIN)
    hooks.deliver("shop", ids("a", "b", "c"))
    rows = hooks.host.deliveries

    def delete(request: object) -> FakeResponse:
        rows.rows.clear()
        return hooks.answer(request)

    hooks.host.world.transport.responses = delete
    hooks.work.round()
    assert hooks.work.round() == 0


def slow_script(
    hooks: Working, monkeypatch: pytest.MonkeyPatch, failing: Sequence[object] = ()
) -> None:
    """Let the script of the line need some seconds, and fail for some records."""
    run_script = RecordsToRows._run_script

    def run(
        reader: RecordsToRows, records: Sequence[Record | Unmapped]
    ) -> Sequence[Record | Unmapped]:
        hooks.host.world.clock.advance(SECONDS)
        if any(record["id"] in failing for record in records):  # type: ignore[index]
            raise sync_failure("expression")
        return run_script(reader, records)

    monkeypatch.setattr(RecordsToRows, "_run_script", run)


def test_deliveries_that_are_slowly_stored_have_a_share_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    working = Working()
    slow_script(working, monkeypatch)
    working.send(*({"id": name} for name in "abcde"))
    for expected in ("ab", "abcd", "abcde"):
        working.work.round()
        assert numbers(working) == list(expected)
    assert {row.attempts for row in working.host.deliveries.rows.values()} == {1}


def test_deliveries_that_are_tried_one_by_one_have_a_share_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    working = Working()
    slow_script(working, monkeypatch, failing=["a", "b"])
    working.send(*({"id": name} for name in "abcd"))
    rounds = 0
    while "received" in (state for state, _, _ in working.states()):
        working.work.round()
        rounds += 1
    assert rounds == 3
    assert numbers(working) == ["c", "d"]
    states = [state for state, _, _ in working.states()]
    assert states == ["failed", "failed", "processed", "processed"]


def test_an_error_of_one_webhook_is_raised_after_the_others_had_their_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hooks = SlowApi()
    hooks.deliver("shop", form("tr_1"))
    hooks.deliver("quick", signed(b'{"id": "q"}'))
    process = hooks.work._process

    def fail(stored: object, deliveries: object) -> None:
        if stored.name == "shop":  # type: ignore[attr-defined]
            raise StorageUnavailable
        process(stored, deliveries)  # type: ignore[arg-type]

    monkeypatch.setattr(hooks.work, "_process", fail)
    with pytest.raises(StorageUnavailable):
        hooks.work.round()
    assert hooks.states_of("quick") == ["processed"]
