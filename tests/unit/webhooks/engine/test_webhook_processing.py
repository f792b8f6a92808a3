"""Deliveries become records, start runs, or are given to functions of the host."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from outkey.foundation.core.errors import (
    ConfigError,
    LineBusy,
    RateLimited,
    StorageUnavailable,
)
from outkey.foundation.core.moments import iso_moment
from outkey.sync.core.line.line import Direction, Sync
from outkey.sync.core.mapping.mapping import Unmapped
from outkey.sync.core.paging.response import Record
from outkey.sync.core.run.reasons import sync_failure
from outkey.sync.core.run.run import RunState
from outkey.sync.core.run.schedule import ATTEMPTS
from outkey.sync.engine.pull.received_pull import ReceivedOutcome
from outkey.sync.engine.pull.records_to_rows import RecordsToRows
from outkey.sync.engine.runs.runner import refuse_unreceivable
from outkey.webhooks.core.inbox.inbox import DeliveryState, InboxDelivery, ReplayScope
from outkey.webhooks.core.settings.handlers import parse_handlers
from outkey.webhooks.engine import inbox
from outkey.webhooks.engine.processing import WebhookWork
from outkey.webhooks.engine.work import ReceivedEvent
from outkey.webhooks.ports.webhooks import DeliveryQuery
from unit.webhooks.engine.test_webhook_reception import (
    DOCUMENT,
    HMAC,
    LINE,
    Hooks,
    hmac_signed,
    signed,
)

VERSIONED = DOCUMENT.replace(
    'fields = [{ api = "id", host = "number" }]',
    'incremental = { parameter = "since", field = "at" }\n'
    'fields = [{ api = "id", host = "number" }, { api = "at", host = "name" }]',
)
RUN = LINE + '[webhook.shop]\nscheme = "shopify"\nrun = "orders"\n'


class Working(Hooks):
    """The same with a worker."""

    def __init__(self, document: str = DOCUMENT, **functions: object) -> None:
        super().__init__(document)
        self.stopping = False

        def handler(name: str) -> Callable[[ReceivedEvent], object]:
            return functions[name.rpartition(".")[2]]  # type: ignore[return-value]

        if functions:
            self.application = replace(self.application, handler=handler)
        self.work: WebhookWork = self.application.webhooks.work(lambda: self.stopping)

    def send(self, *values: object) -> None:
        for value in values:
            body = value if isinstance(value, bytes) else json.dumps(value).encode()
            number = len(self.host.deliveries.rows) + 1
            delivery = signed(body + b" " * (number - 1), event=f"e{number}")
            assert self.receive(delivery).status == 200

    def states(self) -> list[tuple[str, str, int | None]]:
        rows = self.host.deliveries.find(DeliveryQuery(oldest_first=True))
        return [(str(row.state), row.reason, row.records) for row in rows]

    def records(self) -> list[dict[str, object]]:
        records = self.application.sync_ports().models
        return [dict(row.values) for row in records.read("contact", "", 100)]


def numbers(working: Working) -> list[object]:
    return [record["number"] for record in working.records()]


def test_the_records_of_deliveries_are_stored_as_by_a_pull() -> None:
    working = Working()
    working.send({"id": "a"}, [{"id": "b"}, {"id": "c"}])
    assert working.work.round() == 2
    assert working.states() == [("processed", "", 1), ("processed", "", 2)]
    assert numbers(working) == ["a", "b", "c"]
    assert working.work.round() == 0
    (run,) = working.application.runs.newest(9)
    assert (run.state, run.trigger, run.pages) == ("done", "delivery", 2)


def test_the_records_are_where_the_expression_finds_them() -> None:
    working = Working(DOCUMENT + 'records = "data.orders"\n')
    working.send({"data": {"orders": [{"id": "a"}]}}, {"data": {}})
    working.work.round()
    assert working.states() == [("processed", "", 1), ("ignored", "no_records", 0)]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"not json", "not_json"),
        (b'{"id": NaN}', "not_json"),
        (b'{"id": 1, "id": 2}', "not_json"),
        (b'"text"', "not_objects"),
        (b"[1]", "not_objects"),
    ],
)
def test_a_body_that_holds_no_records_fails_at_once(body: bytes, reason: str) -> None:
    working = Working()
    working.send(body, {"id": "a"})
    working.work.round()
    assert working.states() == [("failed", reason, None), ("processed", "", 1)]


def test_a_delivery_that_ends_a_run_does_not_let_others_fail(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    working = Working()
    working.send({"id": "a"}, {"id": "endless"}, {"id": "b"}, {"id": "c"})
    read = RecordsToRows._run_script

    def run_script(
        reader: RecordsToRows, records: Sequence[Record | Unmapped]
    ) -> Sequence[Record | Unmapped]:
        if {"id": "endless"} in records:
            raise sync_failure("expression")
        return read(reader, records)

    monkeypatch.setattr(RecordsToRows, "_run_script", run_script)
    working.work.round()
    assert working.states() == [
        ("processed", "", 1),
        ("failed", "expression", None),
        ("processed", "", 1),
        ("processed", "", 1),
    ]
    assert numbers(working) == ["a", "b", "c"]


def test_rejected_records_are_listed_with_a_run() -> None:
    working = Working()
    working.send([{"id": None}, {"id": "a"}], {"id": None})
    working.work.round()
    assert working.states() == [("processed", "", 2), ("failed", "all_refused", 1)]
    (run,) = working.application.runs.newest(9)
    assert (run.actor, run.state) == ("webhook:shop", RunState.DONE)
    assert len(working.application.runs.rejected(run.id, 9)) == 2


def test_an_older_version_does_not_replace_a_newer_one() -> None:
    working = Working(VERSIONED)
    working.send({"id": "a", "at": "2026-02"}, {"id": "a", "at": "2026-01"})
    working.send({"id": "a", "at": "2026-03"}, {"id": "a", "at": None})
    working.work.round()
    assert [state for state, _, _ in working.states()] == [
        "processed",
        "ignored",
        "processed",
        "processed",
    ]
    assert working.states()[1][1] == "out_of_order"


def test_versions_that_cannot_be_compared_are_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    working = Working(VERSIONED)
    working.send({"id": "a", "at": "2026-02"})
    working.work.round()
    records = working.application.sync_ports().models
    matching = records.matching

    def other_type(*arguments: object) -> object:
        found = matching(*arguments)  # type: ignore[arg-type]
        return {key: replace(row, values={"name": 7}) for key, row in found.items()}

    monkeypatch.setattr(records, "matching", other_type)
    working.send({"id": "a", "at": "2026-01"})
    working.work.round()
    assert working.states()[1] == ("processed", "", 1)


def test_a_busy_line_keeps_its_deliveries_for_later() -> None:
    working = Working()
    runs = working.application.runs
    run = runs.begin("orders", "tester", dry_run=False)
    working.send({"id": "a"})
    working.work.round()
    (waiting,) = working.host.deliveries.rows.values()
    assert (waiting.state, waiting.reason, waiting.attempts) == (
        DeliveryState.RECEIVED,
        "line_busy",
        0,
    )
    assert working.work.round() == 0
    runs.cancel(run.id)
    working.host.world.clock.sleep(3)
    working.work.round()
    assert working.states() == [("processed", "", 1)]


def test_a_paused_line_keeps_its_deliveries_for_later() -> None:
    working = Working()
    working.application.runs.pause_line("orders")
    working.send({"id": "a"})
    working.work.round()
    assert working.states() == [("received", "line_paused", None)]


def test_deliveries_that_came_while_the_clock_was_ahead_are_processed() -> None:
    working = Working()
    working.send({"id": "a"})
    working.host.world.clock.advance(-7200)
    assert working.work.round() == 1
    assert working.states() == [("processed", "", 1)]


def test_a_run_that_is_continued_has_seen_what_was_received_meanwhile() -> None:
    working = Working()
    runs = working.application.runs
    run = runs.begin("orders", "tester", dry_run=False)
    records = working.application.sync_ports().models
    records.upsert("contact", ["number"], [{"number": "a"}], run.id)
    runs.finish(replace(run, state=RunState.FAILED, cause="timeout", position={"n": 2}))
    working.send({"id": "a"}, {"id": "b"})
    working.work.round()
    assert records.unseen("contact", "orders", run.id).missing == 0


def test_a_worker_that_stops_leaves_the_rest() -> None:
    working = Working()
    working.send({"id": "a"})
    working.stopping = True
    working.work.round()
    assert working.states() == [("received", "", None)]


def test_a_delivery_that_another_worker_took_is_left_to_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    working = Working()
    working.send({"id": "a"})
    rows = working.host.deliveries
    with monkeypatch.context() as patch:
        patch.setattr(rows, "swap", lambda *_: None)
        working.work.round()
    assert numbers(working) == []
    swap = rows.swap

    def taken_over(before: InboxDelivery, after: InboxDelivery) -> object:
        if after is not None and after.state is DeliveryState.PROCESSED:
            return None
        return swap(before, after)

    with monkeypatch.context() as patch:
        patch.setattr(rows, "swap", taken_over)
        working.work.round()
    assert numbers(working) == []
    assert working.states() == [("received", "line_busy", None)]


def test_deliveries_of_a_webhook_that_was_just_deleted_are_deleted_too() -> None:
    working = Working()
    working.send({"id": "a"})
    working.settings.remove("shop")
    working.work.round()
    assert working.host.deliveries.rows == {}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ('target = "file:orders.csv"', "file"),
        ('direction = "push"', "pull"),
    ],
)
def test_a_line_that_was_changed_since_fails_with_what_is_wrong(
    change: str, reason: str
) -> None:
    working = Working()
    line = LINE.replace('target = "contact"', change)
    if "direction" in change:
        line = LINE.replace('direction = "pull"', change).replace("keys", "# keys")
    with pytest.raises(ConfigError, match=reason):
        working.apply(line + '[webhook.other]\nscheme = "shopify"\nline = "orders"\n')
    working.apply(line, replaces=True)
    working.send({"id": "a"})
    working.work.round()
    assert working.states()[0][0] == "failed"


def test_a_line_of_a_pair_takes_no_deliveries() -> None:
    push = LINE.replace("line.orders", "line.back").replace('"pull"', '"push"')
    pair = push.replace('keys = ["number"]', "") + (
        '[pair.both]\npull = "orders"\npush = "back"\n'
    )
    with pytest.raises(ConfigError):
        Working(DOCUMENT + pair)


# ── runs and functions ──────────────────────────────────────────────────────────────


def test_deliveries_start_one_run() -> None:
    working = Working(RUN)
    working.send({"id": "a"}, b"not json")
    working.work.round()
    assert working.states() == [("processed", "", None)] * 2
    (run,) = working.application.runs.newest(9)
    assert (run.state, run.actor) == (RunState.WAITING, "webhook:shop")
    assert working.host.queue.runs == [run.id]


def test_a_run_under_way_is_followed_by_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    working = Working(RUN)
    working.send({"id": "a"})

    def busy(*_: object, **__: object) -> None:
        raise LineBusy

    monkeypatch.setattr(working.work._ports.planner, "request", busy)
    working.work.round()
    assert working.states() == [("received", "line_busy", None)]


def test_a_function_is_given_the_delivery() -> None:
    events: list[ReceivedEvent] = []
    working = Working(HMAC, order=events.append)
    for body in (b'{"id": 1}', b"text"):
        working.receive(hmac_signed(body))
    working.work.round()
    assert working.states() == [("processed", "", None)] * 2
    assert [(event.body, event.payload) for event in events] == [
        (b'{"id": 1}', {"id": 1}),
        (b"text", None),
    ]
    assert {event.webhook for event in events} == {"shop"}


def test_a_function_that_fails_is_not_called_again() -> None:
    calls: list[object] = []

    def order(event: ReceivedEvent) -> None:
        calls.append(event)
        raise LookupError("a value")

    working = Working(HMAC, order=order)
    working.receive(hmac_signed(b"{}"))
    for _ in range(2):
        working.work.round()
        working.host.world.clock.sleep(10_000)
    assert working.states() == [("failed", "handler_failed", None)]
    assert len(calls) == 1


def test_only_what_may_pass_is_tried_again_and_not_for_ever() -> None:
    def order(event: ReceivedEvent) -> None:
        raise StorageUnavailable

    working = Working(HMAC, order=order)
    working.receive(hmac_signed(b"{}"))
    rounds = 0
    while working.states()[0][0] == "received":
        working.work.round()
        working.host.world.clock.sleep(4000)
        rounds += 1
    assert rounds == ATTEMPTS
    assert working.states() == [("failed", "storage_unavailable", None)]
    (stored,) = working.host.deliveries.rows.values()
    assert stored.attempts == ATTEMPTS


def test_a_function_may_ask_to_be_called_later() -> None:
    errors = [RateLimited()]

    def order(event: ReceivedEvent) -> None:
        if errors:
            raise errors.pop()

    working = Working(HMAC, order=order)
    working.receive(hmac_signed(b"{}"))
    working.work.round()
    working.host.world.clock.sleep(20)
    working.work.round()
    assert working.states()[0][0] == "processed"


def test_a_host_without_functions_fails_such_a_delivery() -> None:
    working = Working(HMAC)
    working.receive(hmac_signed(b"{}"))
    working.work.round()
    assert working.states() == [("failed", "configuration", None)]


def test_only_functions_on_the_list_of_the_operator_are_named_and_called() -> None:
    calls: list[object] = []
    working = Working(HMAC, order=calls.append, hooks=calls.append)
    for name in ("os.system", "shop.hooks2.order", "shop.order", "shop.hook"):
        with pytest.raises(ConfigError, match="has not listed") as caught:
            working.apply(HMAC.replace("shop.hooks.order", name))
        assert caught.value.field == "webhook.shop.handler"
    working.apply(HMAC.replace("shop.hooks.order", "shop.hooks"))
    working.receive(hmac_signed(b"{}"))
    working.work.round()
    assert len(calls) == 1
    unlisted = replace(working.application, listed_handlers=())
    working.receive(hmac_signed(b"[]"))
    unlisted.webhooks.work().round()
    assert working.states()[1] == ("failed", "handler_refused", None)
    assert len(calls) == 1


def test_the_list_of_the_operator_is_read() -> None:
    assert parse_handlers("") == ()
    assert parse_handlers(" shop.hooks , erp.receive,") == ("shop.hooks", "erp.receive")


def test_a_delivery_whose_records_a_script_skips_is_ignored() -> None:
    working = Working()
    working.send({"id": "a"})
    (delivery,) = working.host.deliveries.rows.values()
    working.work._conclude(delivery, ReceivedOutcome([], 0, "1", has_rejected=False))
    assert working.states() == [("ignored", "no_records", 0)]


@pytest.mark.parametrize(
    ("sync", "is_paired", "message"),
    [
        (Sync(direction=Direction.PUSH, target="contact"), False, "pull line"),
        (Sync(target="file:orders.csv"), False, "written as a whole"),
        (Sync(target="contact"), True, "of a pair"),
    ],
)
def test_a_line_that_cannot_take_records_is_refused(
    sync: Sync, message: str, *, is_paired: bool
) -> None:
    with pytest.raises(ConfigError, match=message):
        refuse_unreceivable(sync, is_paired=is_paired)


def test_what_is_received_while_a_line_is_read_in_vain_stays_listed() -> None:
    working = Working()
    working.send({"id": None})
    working.work.round()
    (run,) = working.application.runs.newest(9)
    assert (run.state, run.cause) == (RunState.FAILED, "all_refused")


def test_a_run_that_waits_to_be_continued_has_seen_what_was_received() -> None:
    working = Working()
    runs = working.application.runs
    records = working.application.sync_ports().models
    run = runs.begin("orders", "tester", dry_run=False)
    records.upsert("contact", ["number"], [{"number": "a"}], run.id)
    runs.finish(replace(run, state=RunState.FAILED, cause="timeout", position={"n": 2}))
    working.send([{"id": None}, {"id": "b"}])
    working.work.round()
    assert len(runs.newest(9)) == 2  # the run with the rejected record is the newer one
    runs.retry_later(runs.get(run.id), 600.0, 2)
    working.send({"id": "a"})
    working.work.round()
    assert records.unseen("contact", "orders", run.id).missing == 0


# ── replays ─────────────────────────────────────────────────────────────────────────


def test_deliveries_of_a_state_or_a_period_are_processed_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(inbox, "REPLAY_BATCH", 2)
    working = Working()
    clock = working.host.world.clock
    begin = clock.now()
    for value in ({"id": "a"}, {"id": None}, b"text", {"id": "b"}):
        working.send(value)
        clock.sleep(60)
    working.work.round()
    working.host.audit.events.clear()
    done: list[int] = []
    failed = ReplayScope(DeliveryState.FAILED)
    assert working.changes.replay_scope("shop", failed, done.append) == 2
    assert working.states()[1:3] == [("received", "", None), ("received", "", 1)][::-1]
    assert done == [2]
    assert working.changes.replay_scope("shop", failed) == 0
    working.work.round()
    first = ReplayScope(since=begin, until=begin + 170)
    assert working.changes.replay_scope("shop", first, done.append) == 3
    assert done == [2, 2, 1]
    assert [event.fields for event in working.host.audit.events] == [
        ("shop", "2", "failed"),
        ("shop", "3", f"from {iso_moment(begin)}", f"to {iso_moment(begin + 170)}"),
    ]
    working.work.round()
    assert [state for state, _, _ in working.states()] == [
        "processed",
        "failed",
        "failed",
        "processed",
    ]


def test_a_replay_is_bounded_and_leaves_what_waits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    working = Working()
    working.send({"id": "a"}, {"id": "b"})
    with pytest.raises(ConfigError, match="wait for a worker"):
        working.changes.replay_scope("shop", ReplayScope(DeliveryState.RECEIVED))
    working.work.round()
    monkeypatch.setattr(inbox, "MAX_REPLAYED", 1)
    with pytest.raises(ConfigError, match="more than 1 deliveries"):
        working.changes.replay_scope("shop", ReplayScope())
    monkeypatch.setattr(inbox, "MAX_REPLAYED", 2)
    deliveries = working.application.webhooks.inbox().in_scope("shop", ReplayScope())
    assert working.application.webhooks.inbox().replay_all(deliveries[:1]) == 1
    assert (
        working.application.webhooks.inbox().replay_all(deliveries) == 1
    )  # one has changed


def test_what_a_document_removes_of_a_webhook_is_a_warning() -> None:
    working = Working(DOCUMENT + 'records = "data"\n')
    places = [f.field for _, f in working.apply(DOCUMENT, dry_run=True).findings]
    assert places == ["webhook.shop"]
    # It has one consumer: another one that is named takes its place.
    other = '[webhook.shop]\nscheme = "shopify"\nrecords = "data"\nrun = "orders"\n'
    assert working.apply(other, dry_run=True).findings == ()
