"""A delivery that was captured is accepted once, whatever is changed around it."""

import hashlib
import json
import struct
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from hmac import digest

import pytest

from outkey.administration.engine.editing.applying import Applied
from outkey.foundation.core.secret import Secret
from outkey.webhooks.core.inbox.content import without_signature
from outkey.webhooks.core.inbox.delivery import (
    Delivery,
    RefusalReason,
    Refused,
    WebhookSecrets,
)
from outkey.webhooks.core.schemes.schemes import SCHEMES
from outkey.webhooks.core.settings.settings import Webhook
from outkey.webhooks.core.verification.attempt import signed_digest
from outkey.webhooks.core.verification.body_signatures import adyen_message
from outkey.webhooks.core.verification.refusals import refusal_texts
from outkey.webhooks.core.verification.signing import sign
from outkey.webhooks.core.verification.verification import verify
from outkey.webhooks.engine import unsigned_counter
from outkey.webhooks.engine.reception import WebhookResponse
from outkey.webhooks.engine.work import ReceivedEvent
from outkey.webhooks.ports.webhooks import DeliveryQuery
from unit.webhook_vectors import (
    ADYEN_KEY,
    FORM,
    KEYS,
    URL,
    adyen_body,
    hook,
    post,
    with_header,
    without_header,
)
from unit.webhooks.core.verification.test_webhook_signing import (
    NOW,
    ONLY_BY_SENDER,
    SETTINGS,
    key_pair,
    signed_sample,
)
from unit.webhooks.engine.test_webhook_processing import Working
from unit.webhooks.engine.test_webhook_reception import KEY, LINE, Hooks, signed

Item = dict[str, object]
SIGNED_BODIES = [
    name
    for name, scheme in SCHEMES.items()
    if scheme.signs_body and name not in ONLY_BY_SENDER
]


UNSIGNED_IDS = [name for name in SIGNED_BODIES if "{id}" not in SCHEMES[name].signed]


class PublicHooks(Working):
    """Webhooks at a known URL, which some senders sign."""

    def apply(self, document: str, *, dry_run: bool = False) -> Applied:
        public_url = "https://hooks.acme.example"
        self.application = replace(self.application, public_url=public_url)
        return super().apply(document, dry_run=dry_run)


def document_of(
    scheme: str, action: str = 'line = "orders"', **settings: object
) -> str:
    """Return a line, and a webhook of a scheme."""
    rows = {**SETTINGS.get(scheme, {}), **settings}
    keys = "".join(f"{name} = {json.dumps(value)}\n" for name, value in rows.items())
    return f'{LINE}[webhook.shop]\nscheme = "{scheme}"\n{action}\n{keys}'


def stored_ids(hooks: Hooks) -> list[str]:
    rows = hooks.host.deliveries.find(DeliveryQuery(oldest_first=True))
    return [row.event_id for row in rows]


def replays(delivery: Delivery, id_headers: tuple[str, ...]) -> Iterator[Delivery]:
    """Yield a delivery with every id that an attacker may choose."""
    yield delivery
    for name in id_headers:
        yield without_header(delivery, name)
        for event_id in ("other", "other2", "sha256:0"):
            yield with_header(without_header(delivery, name), name, event_id)
    yield delivery


def hooks_of(scheme: str, secret: str, **settings: object) -> PublicHooks:
    hooks = PublicHooks(document_of(scheme, **settings))  # type: ignore[arg-type]
    hooks.changes.set_secret("shop", Secret(secret))
    return hooks


@pytest.mark.parametrize("name", SIGNED_BODIES)
def test_a_signed_body_is_stored_once_whatever_its_id_is(name: str) -> None:
    signing, secret = key_pair(name)
    hooks = hooks_of(name, secret)
    delivery = signed_sample(name, signing)
    id_headers = SCHEMES[name].id_headers
    statuses = {hooks.receive(each).status for each in replays(delivery, id_headers)}
    # One whose id is signed is refused with another id.
    assert statuses == ({200} if name in UNSIGNED_IDS else {200, 401})
    assert len(stored_ids(hooks)) == 1


@pytest.mark.parametrize("name", UNSIGNED_IDS)
def test_a_signed_body_is_stored_once_whatever_a_users_own_header_has(
    name: str,
) -> None:
    signing, secret = key_pair(name)
    hooks = hooks_of(name, secret, id_header="X-Id")
    sample = with_header(signed_sample(name, signing), "X-Id", "evt-9")
    for each in reversed([*replays(sample, ("X-Id",))][:-1]):
        assert hooks.receive(each).status == 200
    assert len(stored_ids(hooks)) == 1


def test_a_record_does_not_go_back_by_a_replay() -> None:
    document = document_of("shopify").replace(
        '{ api = "id", host = "number" }',
        '{ api = "id", host = "number" }, { api = "name", host = "name" }',
    )
    working = Working(document)
    captured = signed(b'{"id": "a", "name": "old"}', event="e1")
    for delivery in (captured, signed(b'{"id": "a", "name": "new"}', event="e2")):
        working.receive(delivery)
        working.work.round()
    for event in ("e3", "e4", "e1"):
        replayed = with_header(captured, "X-Shopify-Webhook-Id", event)
        assert working.receive(replayed).status == 200
    working.work.round()
    assert working.records() == [{"number": "a", "name": "new"}]


def custom(body: bytes, event: str, time: int = 0, *, signs_id: bool) -> Delivery:
    """Return a delivery of a custom scheme, whose id is signed or not."""
    message = (f"{event}." if signs_id else "").encode() + body
    if time:
        message = f"{time}.".encode() + message
    code = digest(KEY.encode(), message, sha256).hex()
    headers = [("X-Signature", code), ("X-Id", event), ("X-Time", str(time))]
    return Delivery("POST", "", tuple(headers), body)


def test_a_signed_id_is_believed() -> None:
    hooks = hooks_of("hmac", KEY, signed="{id}.{body}", id_header="X-Id")
    for event in ("1", "2", "1"):
        assert hooks.receive(custom(b"{}", event, signs_id=True)).status == 200
    assert stored_ids(hooks) == ["1", "2"]


def test_equal_bodies_of_different_times_are_two_deliveries() -> None:
    hooks = hooks_of(
        "hmac",
        KEY,
        signed="{timestamp}.{body}",
        timestamp_header="X-Time",
        id_header="X-Id",
    )
    now = int(NOW)
    for event, time in (("1", now), ("2", now + 1), ("3", now), ("1", now + 2)):
        delivery = custom(b"{}", event, time, signs_id=False)
        assert hooks.receive(delivery).status == 200
    assert stored_ids(hooks) == ["1", "2"]


def test_a_captured_delivery_does_not_claim_the_ids_of_future_ones() -> None:
    hooks = hooks_of("hmac", KEY, action='run = "orders"', id_header="X-Id")
    captured = b'{"changed": 1}'
    for event in ("1", "2", "3", "1", "2"):
        assert hooks.receive(custom(captured, event, signs_id=False)).status == 200
        hooks.work.round()  # another one that says the same may start another run
    genuine = [custom(b'{"changed": 2}', event, signs_id=False) for event in ("2", "3")]
    for delivery in (*genuine, *genuine):
        assert hooks.receive(delivery).status == 200
        hooks.work.round()
    assert stored_ids(hooks) == ["1", "2", "3", "2", "3"]


@pytest.mark.parametrize("settings", [{"id_header": "X-Id"}, {"id": "event"}])
def test_a_stranger_does_not_claim_the_ids_of_unsigned_deliveries(
    settings: dict[str, str],
) -> None:
    action = 'line = "orders"\nconfirm = "/orders/{id}"'
    hooks = PublicHooks(document_of("unverified", action, **settings))
    for body in (b'{"event": "7", "id": "a"}', b'{"event": "7", "id": "b"}') * 2:
        assert hooks.receive(post(body, ("X-Id", "7"))).status == 200
        hooks.work.round()
    assert stored_ids(hooks) == ["7", "7"]


@pytest.mark.parametrize(
    ("scheme", "settings", "event_ids"),
    [
        ("token", {"id_header": "X-Id"}, ["7"]),
        ("hmac", {"id": "event"}, ["7"]),
        ("hmac", {"id": "event", "id_header": "X-Other"}, ["7"]),
        ("hmac", {"id_header": "X-Id"}, ["7", "7"]),
    ],
    ids=["has the secret", "signed", "signed, and no header", "not signed"],
)
def test_an_id_decides_alone_only_where_the_sender_has_chosen_it(
    scheme: str, settings: dict[str, str], event_ids: list[str]
) -> None:
    hooks = hooks_of(scheme, KEY, **settings)
    for body in (b'{"event": "7", "id": "a"}', b'{"event": "7", "id": "b"}'):
        delivery = custom(body, "7", signs_id=False)
        token = ("Authorization", f"Bearer {KEY}")
        headers = (*delivery.headers, token)
        assert hooks.receive(replace(delivery, headers=headers)).status == 200
    assert stored_ids(hooks) == event_ids


@pytest.mark.parametrize(
    ("settings", "is_warned"),
    [
        ({"id_header": "X-Id"}, True),
        ({"id_header": "X-Id", "signed": "{id}.{body}"}, False),
        ({}, False),
        ({"id_header": "X-Id", "action": 'run = "orders"'}, False),
        ({"id_header": "X-Id", "scheme": "stripe"}, True),
        ({"id_header": "X-Id", "scheme": "token"}, False),
    ],
)
def test_apply_warns_of_an_id_that_is_not_signed(
    settings: dict[str, str], *, is_warned: bool
) -> None:
    hooks = PublicHooks(document_of("shopify"))
    document = document_of(**{"scheme": "hmac", **settings})  # type: ignore[arg-type]
    findings = [finding for _, finding in hooks.apply(document, dry_run=True).findings]
    warned = [finding.field for finding in findings if finding.id == "H013"]
    assert warned == (["webhook.shop.id_header"] if is_warned else [])


# ── Twilio ───────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "body",
    [
        b"To=%2B18005551212&From=%2B14158675309&Body=ping",
        b"From=%2b14158675309&Body=p%69ng&To=%2B18005551212",
        b"From=%2B14158675309&Body=ping&Body=ping&To=%2B18005551212",
        b"Bod=yping&From=%2B14158675309&To=%2B18005551212",
    ],
    ids=["order", "encoding", "repeated", "other names"],
)
def test_a_form_of_twilio_is_recognized_however_it_is_written(body: bytes) -> None:
    hooks = hooks_of("twilio", KEY)
    form = b"From=%2B14158675309&Body=ping&To=%2B18005551212"
    delivery = sign(
        post(form, FORM), hook("twilio"), Secret(KEY), now=NOW, event_id="1", keys=KEYS
    )
    assert hooks.receive(delivery).status == 200
    name = "I-Twilio-Idempotency-Token"
    replayed = replace(with_header(delivery, name, "2"), body=body)
    assert hooks.receive(replayed).status == 200  # its signature is valid
    assert stored_ids(hooks) == ["1"]


# ── Adyen ────────────────────────────────────────────────────────────────────────────

ADYEN_RECORDS = (
    "notificationItems[].NotificationRequestItem.{id: pspReference, name: reason}"
)


def adyen_item(reference: str, *, success: str = "true", **changes: object) -> Item:
    """Return an item of Adyen with its signature; `changes` are not signed."""
    item: Item = {
        "pspReference": reference,
        "merchantAccountCode": "M",
        "amount": {"value": 1000, "currency": "EUR"},
        "eventCode": "AUTHORISATION",
        "success": success,
        "reason": "genuine",
    }
    code = digest(bytes.fromhex(ADYEN_KEY), adyen_message(item), sha256)
    data = {"hmacSignature": b64encode(code).decode()}
    return {**item, **changes, "additionalData": data}


def adyen_hooks() -> Working:
    document = document_of("adyen", records=ADYEN_RECORDS).replace(
        '{ api = "id", host = "number" }',
        '{ api = "id", host = "number" }, { api = "name", host = "name" }',
    )
    working = Working(document)
    working.changes.set_secret("shop", Secret(ADYEN_KEY))
    return working


def test_an_item_of_adyen_is_stored_once_in_whatever_company_it_comes() -> None:
    working = adyen_hooks()
    first = adyen_item("P1")
    forged = adyen_item("P1", reason="forged", eventDate="2099-01-01")
    second = adyen_item("P2")
    for items, status in (
        ([first], 200),
        ([forged], 200),
        ([forged, forged], 401),
        ([first, second], 200),
        ([second, forged], 200),
        ([adyen_item("P2", reason="forged"), forged], 200),
    ):
        assert working.receive(post(adyen_body(*items))).status == status
    assert stored_ids(working) == ["AUTHORISATION:P1", "AUTHORISATION:P2"]
    working.work.round()
    assert [(row["number"], row["name"]) for row in working.records()] == [
        ("P1", "genuine"),
        ("P2", "genuine"),
    ]
    assert working.refused() == {"body_unreadable": 1}


def test_items_of_adyen_are_given_to_a_function_one_by_one() -> None:
    events: list[ReceivedEvent] = []
    document = document_of("adyen", 'handler = "shop.hooks.order"')
    working = Working(document, order=events.append)
    working.changes.set_secret("shop", Secret(ADYEN_KEY))
    body = adyen_body(adyen_item("P1"), adyen_item("P2"))
    assert working.receive(post(body)).status == 200
    single = adyen_body(adyen_item("P3"))
    assert working.receive(post(single)).status == 200
    working.work.round()
    assert [event.event_id for event in events] == [
        "AUTHORISATION:P1",
        "AUTHORISATION:P2",
        "AUTHORISATION:P3",
    ]
    assert {event.event_type for event in events} == {"AUTHORISATION"}
    payloads = [json.loads(event.body) for event in events]
    assert [len(payload["notificationItems"]) for payload in payloads] == [1, 1, 1]
    assert [payload["live"] for payload in payloads] == ["false"] * 3
    # As it was received, but without the signature.
    assert events[2].body == without_signature(single, Webhook("shop", "adyen"))
    assert len(events[2].body) < len(single)


def test_a_payment_of_adyen_that_failed_may_succeed_later() -> None:
    working = adyen_hooks()
    failed = adyen_item("P1", success="false")
    for item in (failed, adyen_item("P1"), failed, adyen_item("P1")):
        assert working.receive(post(adyen_body(item))).status == 200
    assert stored_ids(working) == ["AUTHORISATION:P1", "AUTHORISATION:P1"]


# ── HubSpot ──────────────────────────────────────────────────────────────────────────


def padding_of(length: int) -> bytes:
    """Return what SHA-256 adds to a message of so many bytes."""
    return b"\x80" + b"\0" * (-(length + 9) % 64) + struct.pack(">Q", length * 8)


@pytest.mark.parametrize("name", ["hubspot_v1", "hubspot_v2"])
@pytest.mark.parametrize("more", [b"", b'{"id": "forged"}', b"\x7f"])
def test_a_body_cannot_be_made_longer_without_the_secret(
    name: str, more: bytes
) -> None:
    """The hash of the longer message stands for what an attacker can compute."""
    body = b'{"id": "a"}'
    start = KEY.encode() + (f"POST{URL}".encode() if name == "hubspot_v2" else b"")
    longer = body + padding_of(len(start + body)) + more
    code = hashlib.sha256(start + longer).hexdigest()
    delivery = post(longer, ("X-HubSpot-Signature", code))
    secrets = WebhookSecrets(Secret(KEY))
    outcome = verify(delivery, hook(name), secrets, now=NOW, keys=KEYS)
    assert isinstance(outcome, Refused)
    assert outcome.reason is RefusalReason.BODY_UNREADABLE


# ── deliveries that only name what has changed ───────────────────────────────────────


def test_equal_notices_wait_as_one_and_the_next_starts_another_run() -> None:
    hooks = hooks_of("dropbox", KEY, action='run = "orders"')
    body = b'{"list_folder": {"accounts": ["dbid:1"]}}'
    code = digest(KEY.encode(), body, sha256).hex()
    delivery = post(body, ("X-Dropbox-Signature", code))
    for waiting in (1, 2):
        for _ in range(3):
            assert hooks.receive(delivery).status == 200
        assert [state for state, _, _ in hooks.states()].count("received") == 1
        hooks.work.round()
        assert hooks.states() == [("processed", "", None)] * waiting


def test_objects_of_the_same_id_wait_as_one_until_a_worker_takes_it() -> None:
    document = LINE + (
        '[webhook.shop]\nscheme = "mollie_classic"\nconfiguration = "acme"\n'
        'line = "orders"\nconfirm = "/payments/{id}"\n'
    )
    hooks = PublicHooks(document)
    delivery = post(b"id=tr_1", FORM)
    other = post(b"id=tr_2", FORM)
    spelled = post(b"id=tr%5F1&x=1", FORM)
    for each in (delivery, other, spelled, delivery):
        assert hooks.receive(each).status == 200
    rows = hooks.host.deliveries
    assert [row.fetch_id for row in rows.rows.values()] == ["tr_1", "tr_2"]
    first = rows.rows[1]
    assert rows.swap(first, first.take(NOW))
    assert hooks.receive(delivery).status == 200  # it may have changed since
    assert hooks.receive(delivery).status == 200
    fetched = [row.fetch_id for row in rows.rows.values()]
    assert fetched == ["tr_1", "tr_2", "tr_1"]


def test_unsigned_bodies_wait_as_one_only_where_the_object_is_fetched() -> None:
    document = document_of("unverified", 'line = "orders"')
    for confirm, stored in ("", 2), ('confirm = "/orders/{id}"\n', 1):
        hooks = PublicHooks(document + confirm)
        for _ in range(2):
            assert hooks.receive(post(b'{"id": "a"}')).status == 200
        assert len(stored_ids(hooks)) == stored


@pytest.mark.parametrize("scheme", ["unverified", "mollie_classic", "shopify"])
def test_what_anybody_can_send_is_limited_by_the_minute(
    monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    monkeypatch.setattr(unsigned_counter, "UNSIGNED_PER_MINUTE", 3)
    settings = {"configuration": "acme"} if scheme == "mollie_classic" else {}
    action = 'run = "orders"' if settings else 'line = "orders"'
    hooks = PublicHooks(document_of(scheme, action, **settings))
    receiving = hooks.application.webhooks.reception()

    def send(number: int) -> WebhookResponse:
        body = b"id=tr_%d" % number
        delivery = signed(body, event=f"e{number}")
        return receiving.receive(hooks.endpoint, delivery)

    clock = hooks.host.world.clock
    clock.advance(20)
    statuses = [send(number).status for number in range(5)]
    if scheme == "shopify":
        assert statuses == [200] * 5  # a sender that proves who it is
        return
    assert statuses == [200, 200, 200, 429, 429]
    assert send(9).headers == (("Retry-After", "40"),)
    assert hooks.refused() == {"too_many": 3}
    clock.advance(40)
    assert send(3).status == 200
    assert len(stored_ids(hooks)) == 4
    text, hint = refusal_texts("too_many")
    assert text
    assert hint


def test_one_address_does_not_use_up_what_anybody_can_send(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(unsigned_counter, "UNSIGNED_PER_MINUTE", 8)
    monkeypatch.setattr(unsigned_counter, "UNSIGNED_OF_ADDRESS", 3)
    document = document_of("mollie_classic", 'run = "orders"', configuration="acme")
    hooks = PublicHooks(document)
    receiving = hooks.application.webhooks.reception()
    numbers = iter(range(100))

    def send(address: str) -> int:
        delivery = signed(b"id=tr_%d" % next(numbers), event="")
        delivery = replace(delivery, address=address)
        return receiving.receive(hooks.endpoint, delivery).status

    flood = [f"2001:db8::{number}" for number in range(1, 21)]
    statuses = [send(address) for address in flood]
    assert statuses == [200] * 3 + [429] * 17  # one network is one sender
    assert [send("2001:db8:0:1::1") for _ in range(4)] == [200, 200, 200, 429]
    assert [send("192.0.2.1"), send("::ffff:192.0.2.1")] == [200, 200]
    assert send("192.0.2.2") == 429  # 8 in all
    assert hooks.refused() == {"too_many": 19}
    hooks.host.world.clock.advance(60)
    # Hosts that do not know addresses have the number of all.
    assert [send("") for _ in range(9)] == [200] * 8 + [429]


def test_what_names_an_object_that_waits_already_is_not_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(unsigned_counter, "UNSIGNED_PER_MINUTE", 3)
    document = document_of("mollie_classic", 'run = "orders"', configuration="acme")
    hooks = PublicHooks(document)
    receiving = hooks.application.webhooks.reception()

    def send(number: int) -> int:
        delivery = post(b"id=tr_%d" % number, FORM)
        return receiving.receive(hooks.endpoint, delivery).status

    assert [send(1) for _ in range(20)] == [200] * 20
    rows = hooks.host.deliveries
    first = rows.rows[1]
    assert rows.swap(first, first.take(NOW))
    assert [send(number) for number in (1, 2, 3, 1)] == [200, 200, 429, 200]
    assert [row.fetch_id for row in rows.rows.values()] == ["tr_1", "tr_1", "tr_2"]


def test_only_addresses_whose_deliveries_were_accepted_are_remembered() -> None:
    counter = unsigned_counter.UnsignedCounter()
    for number in range(5000):
        counter.seconds_to_wait("e", f"2001:db8:0:{number:x}::1", 0.0)
    assert len(counter._counts_of_address) <= unsigned_counter.UNSIGNED_PER_MINUTE
    counter.seconds_to_wait("e", "192.0.2.1", 60.0)
    assert len(counter._counts_of_address) == 1


def test_a_digest_is_of_the_time_too() -> None:
    assert signed_digest(b"a", 1.0) != signed_digest(b"a", 2.0)
    assert signed_digest(b"a") == signed_digest(b"a")
