"""A delivery that only names an object is confirmed by fetching it."""

import json

import pytest

from outkey.foundation.core.errors import ConfigError, SyncFailed, TimedOut
from outkey.sending.core.audit.events import Intent
from outkey.sending.core.request.message import Response, ResponseHeaders
from outkey.testing.fakes.basic import FakeResponse
from outkey.webhooks.core.inbox.delivery import Delivery
from outkey.webhooks.core.inbox.inbox import DeliveryState
from outkey.webhooks.core.settings.confirmation import object_ids, object_path
from outkey.webhooks.engine.work import ReceivedEvent
from unit.webhooks.engine.test_webhook_processing import Working, numbers
from unit.webhooks.engine.test_webhook_reception import LINE, Hooks

API = """
[configuration.acme]
base_url = "https://api.acme.example"
authentication_type = "none"
no_auth_reason = "public_api"
"""
MOLLIE = f"""{API}{LINE}
[webhook.shop]
scheme = "mollie_classic"
configuration = "acme"
line = "orders"
confirm = "/payments/{{id}}"
"""
THIN = f"""{API}{LINE}
[webhook.shop]
scheme = "shopify"
line = "orders"
confirm = "/orders/{{id}}.json"
confirm_id = "order.id || orders[].id"
records = "order"
"""
FUNCTION = MOLLIE.replace('line = "orders"\n', 'handler = "shop.hooks.order"\n')


def form(identifier: str) -> Delivery:
    return Delivery("POST", "/hooks/x", (), f"id={identifier}".encode())


def found(**values: object) -> Response:
    return Response(200, body=json.dumps(values).encode())


def receiving(
    document: str, responses: list[FakeResponse], **functions: object
) -> Working:
    working = Working(document, **functions)
    working.host.world.transport.responses = responses
    return working


def urls(working: Working) -> list[str]:
    return [request.url for request, _ in working.host.world.transport.sent]


# ── the path ────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("identifier", "path"),
    [
        ("tr_1", "/a/tr_1.json"),
        ("a&b", "/a/a%26b.json"),
        ("ä;x=1", "/a/%C3%A4%3Bx%3D1.json"),
        ("..a", "/a/..a.json"),
    ],
)
def test_an_id_stays_one_segment(identifier: str, path: str) -> None:
    assert object_path("/a/{id}.json", identifier) == path


@pytest.mark.parametrize(
    "identifier",
    [
        *("", ".", "..", "a/b", "/", "a\\b", "?x", "#x", "%2e%2e", "a b", "\n"),
        *("..;x", ".\u200b.", "\u2025", "\uff0e\uff0e", "x" * 257),
    ],
)
def test_an_id_that_could_change_the_path_is_refused(identifier: str) -> None:
    with pytest.raises(SyncFailed) as caught:
        object_path("/a/{id}", identifier)
    assert caught.value.reason == "unsafe_id"


def test_the_ids_that_an_expression_finds() -> None:
    assert object_ids(7) == ["7"]
    assert object_ids(["a", None, 1, "a"]) == ["a", "1"]
    assert object_ids(None) == []
    for wrong in (True, {}, [["a"]], 1.5):
        with pytest.raises(SyncFailed):
            object_ids(wrong)
    with pytest.raises(SyncFailed):
        object_ids(list(range(101)))


# ── through a line ──────────────────────────────────────────────────────────────────


def test_what_an_unsigned_sender_names_is_fetched_and_mapped() -> None:
    working = receiving(MOLLIE, [found(id="tr_1")])
    assert working.receive(form("tr_1")).status == 200
    assert working.work.round() == 1
    assert working.states() == [("processed", "", 1)]
    assert numbers(working) == ["tr_1"]
    assert urls(working) == ["https://api.acme.example/payments/tr_1"]
    intents = [
        event for event in working.host.world.audit.events if isinstance(event, Intent)
    ]
    assert [intent.line for intent in intents] == ["orders"]


def test_the_ids_of_a_signed_payload_are_fetched_one_by_one() -> None:
    working = receiving(
        THIN,
        [
            found(order={"id": "a"}),
            found(order={"id": "b"}),
            Response(404),
            Response(410),
            found(other=1),
        ],
    )
    working.send({"order": {"id": 1}}, {"orders": [{"id": 2}, {"id": 3}]})
    working.send({"order": {"id": 4}}, {"order": {"id": 5}}, {"order": {}})
    working.work.round()
    assert urls(working) == [
        f"https://api.acme.example/orders/{number}.json" for number in (1, 2, 3, 4, 5)
    ]
    assert numbers(working) == ["a", "b"]
    assert working.states() == [
        ("processed", "", 1),
        ("processed", "", 1),
        ("ignored", "not_found", 0),
        ("ignored", "no_records", 0),
        ("ignored", "not_found", 0),
    ]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"text", "not_json"),
        (b'{"order": {"id": "../users"}}', "unsafe_id"),
        (b'{"order": {"id": {"a": 1}}}', "unsafe_id"),
    ],
)
def test_a_payload_without_a_usable_id_fails_and_sends_nothing(
    body: bytes, reason: str
) -> None:
    working = receiving(THIN, [])
    working.send(body)
    working.work.round()
    assert working.states() == [("failed", reason, None)]
    assert urls(working) == []


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (Response(403), "invalid_credentials"),
        (Response(200, body=b"<html>"), "not_json"),
    ],
)
def test_a_response_that_cannot_pass_by_itself_fails_the_delivery(
    answer: FakeResponse, reason: str
) -> None:
    working = receiving(MOLLIE, [answer])
    working.receive(form("tr_1"))
    working.work.round()
    assert working.states() == [("failed", reason, None)]
    (run,) = working.application.runs.newest(9)
    assert (run.state, run.pages, run.cause) == ("done", 0, "")


@pytest.mark.parametrize(
    "error",
    [TimedOut(), Response(503, ResponseHeaders((("Retry-After", "90"),)))],
    ids=["timeout", "503"],
)
def test_while_the_api_does_not_respond_all_wait(error: FakeResponse) -> None:
    def answer(_: object) -> FakeResponse:
        return responses.pop(0) if responses else found(id="x")

    responses: list[FakeResponse] = [error] * 10
    working = Working(MOLLIE)
    working.host.world.transport.responses = answer
    for identifier in ("a", "b"):
        working.receive(form(identifier))
    working.work.round()
    tried = len(urls(working))
    assert {url.rpartition("/")[2] for url in urls(working)} == {"a"}
    first, second = working.host.deliveries.rows.values()
    assert (first.attempts, second.attempts) == (1, 0)
    assert first.state is second.state is DeliveryState.RECEIVED
    assert second.due_at > working.host.world.clock.now()
    assert working.work.round() == 0
    assert len(urls(working)) == tried
    responses.clear()
    working.host.world.clock.sleep(100)
    working.work.round()
    assert [state for state, _, _ in working.states()] == ["processed", "processed"]


def test_a_worker_that_stops_fetches_nothing_more() -> None:
    working = receiving(MOLLIE, [])

    def stop(_: object) -> FakeResponse:
        working.stopping = True
        return found(id="a")

    working.host.world.transport.responses = stop
    for identifier in ("a", "b"):
        working.receive(form(identifier))
    working.work.round()
    assert len(urls(working)) == 1


# ── a function of the host ──────────────────────────────────────────────────────────


def test_a_function_gets_what_was_fetched() -> None:
    events: list[ReceivedEvent] = []
    responses: list[FakeResponse] = [found(id="a"), Response(404)]
    working = receiving(FUNCTION, responses, order=events.append)
    for identifier in ("a", "b"):
        working.receive(form(identifier))
    working.work.round()
    assert [event.payload for event in events] == [{"id": "a"}]
    assert working.states() == [("processed", "", None), ("ignored", "not_found", 0)]


def test_a_function_gets_a_list_of_several_objects() -> None:
    events: list[ReceivedEvent] = []
    document = THIN.replace(
        'line = "orders"\nconfirm',
        'configuration="acme"\nhandler = "shop.hooks.order"\nconfirm',
    )
    working = receiving(document, [found(id=1), found(id=2)], order=events.append)
    working.send({"orders": [{"id": "x"}, {"id": "y"}]})
    working.work.round()
    assert [event.payload for event in events] == [[{"id": 1}, {"id": 2}]]


# ── settings ────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ('confirm = "payments/{id}"', "must be a path"),
        ('confirm = "//host/{id}"', "must be a path"),
        ('confirm = "/payments"', "must be a path"),
        ('confirm = "/{id}/{id}"', "must be a path"),
        ('confirm = "/a?id={id}"', "must be a path"),
        ('confirm = "https://other.example/{id}"', "must be a path"),
        ('confirm = "/a/{id}"\nconfirm_id = "["', "."),
        ("", "only name what has changed"),
    ],
)
def test_a_path_that_could_not_work_is_refused(change: str, message: str) -> None:
    document = MOLLIE.replace('confirm = "/payments/{id}"', change)
    with pytest.raises(ConfigError, match=message):
        Hooks(document, secret="")


def test_what_cannot_be_confirmed_is_refused() -> None:
    with pytest.raises(ConfigError, match="fetches its records itself"):
        Hooks(MOLLIE.replace("line = ", "run = ").replace("[run", "[line"), secret="")
    unknown = THIN.replace('line = "orders"\n', 'handler = "shop.hooks.order"\n')
    with pytest.raises(ConfigError, match="configuration is needed"):
        Hooks(unknown, secret="")
    other = '[configuration.other]\nbase_url = "https://x.example"\n'
    other += 'authentication_type = "none"\nno_auth_reason = "public_api"\n'
    elsewhere = MOLLIE.replace(
        'configuration = "acme"\nline', 'configuration = "other"\nline'
    )
    with pytest.raises(ConfigError, match="another configuration"):
        Hooks(other + elsewhere, secret="")
