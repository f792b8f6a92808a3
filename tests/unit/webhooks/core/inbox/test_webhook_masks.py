"""No secret of a webhook is stored with a delivery, shown, or written to a record."""

import json
from dataclasses import replace

import pytest

from outkey.administration.core.document.document import parse_document
from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.secret import Secret
from outkey.webhooks.core.inbox.content import (
    DeliveryContent,
    content_of,
    without_proof,
    without_signature,
)
from outkey.webhooks.core.inbox.delivery import Delivery, Verified
from outkey.webhooks.core.schemes.schemes import SCHEMES
from outkey.webhooks.core.settings.settings import Webhook
from outkey.webhooks.core.settings.stored import PREVIOUS, SECRET
from outkey.webhooks.engine.changes import masked_content
from outkey.webhooks.engine.work import ReceivedEvent
from unit.webhooks.core.verification.test_webhook_signing import (
    ONLY_BY_SENDER,
    WITHOUT_SECRET,
    check,
    hook_of,
    key_pair,
    signed_sample,
)
from unit.webhooks.engine.test_webhook_processing import Working, numbers
from unit.webhooks.engine.test_webhook_reception import (
    BODY,
    DOCUMENT,
    KEY,
    Hooks,
    signed,
)

GRAPH = Webhook("mail", "graph", line="orders")
GRAPH_DOCUMENT = DOCUMENT.replace(
    'scheme = "shopify"', 'scheme = "graph"\nrecords = "value"'
)
HANDLER = '[webhook.shop]\nscheme = "shopify"\nhandler = "shop.hooks.receive"\n'
OTHER = "another-word-of-the-owner"


def graph(*items: dict[str, object], key: str = KEY) -> Delivery:
    value = [{**item, "clientState": key} for item in items]
    return Delivery("POST", "/hooks/x", (), json.dumps({"value": value}).encode())


def stored_text(hooks: Hooks) -> str:
    """Return everything that is stored of the deliveries, opened."""
    stored = hooks.settings.get("shop")
    rows = hooks.host.deliveries.rows.values()
    contents = [hooks.settings.open_content(stored, row) for row in rows]
    return repr([(row, content) for row, content in zip(rows, contents, strict=True)])


@pytest.mark.parametrize("name", sorted(set(SCHEMES) - ONLY_BY_SENDER - WITHOUT_SECRET))
def test_what_is_stored_of_a_delivery_has_no_secret(name: str) -> None:
    signing, secret = key_pair(name)
    webhook = hook_of(name)
    delivery = signed_sample(name, signing)
    outcome = check(delivery, name, secret)
    assert isinstance(outcome, Verified)
    content = content_of(delivery, webhook)
    body = without_proof(content.body, webhook, [Secret(secret)])
    stored = f"{content.headers} {body!r} {outcome}"
    assert secret not in stored
    assert signing not in stored


def test_the_state_of_graph_is_masked_before_it_is_stored() -> None:
    hooks = Hooks(GRAPH_DOCUMENT)
    assert hooks.receive(graph({"id": "a"}, {"id": "b"})).status == 200
    assert KEY not in stored_text(hooks)
    (row,) = hooks.host.deliveries.rows.values()
    body = json.loads(hooks.application.webhooks.inbox().content("shop", row.id).body)
    assert body["value"][1] == {"id": "b", "clientState": "***"}


@pytest.mark.parametrize(
    ("body", "masked"),
    [
        (
            b'{"a": 1.10, "clientState" : "k\\u0065y1"}',
            b'{"a": 1.10, "clientState" : "***"}',
        ),
        (
            b'["key1", "key1.", "a key1", "x\\"key1"]',
            b'["***", "key1.", "a key1", "x\\"key1"]',
        ),
        (b'{"key1": "key2"}', b'{"***": "***"}'),
        (b'not JSON: "\\key1", "key1"', b'not JSON: "\\key1", "***"'),
    ],
)
def test_only_the_proof_is_masked(body: bytes, masked: bytes) -> None:
    secrets = [Secret("key1"), Secret("key2")]
    assert without_proof(body, GRAPH, secrets) == masked
    assert without_proof(body, Webhook("own", "shopify"), secrets) == body


def test_a_proof_that_is_a_number_is_masked_too() -> None:
    body = b'{"clientState": 12345, "n": [12345.0, 123456, -12345]}'
    masked = b'{"clientState": "***", "n": [12345.0, 123456, -12345]}'
    assert without_proof(body, GRAPH, [Secret("12345")]) == masked


def test_handlers_and_records_get_the_masked_body() -> None:
    events: list[ReceivedEvent] = []
    document = HANDLER.replace("shopify", "graph")
    working = Working(document, receive=events.append)
    assert working.receive(graph({"id": "a"})).status == 200
    working.work.round()
    (event,) = events
    assert KEY not in f"{event.body!r} {event.payload}"
    state = GRAPH_DOCUMENT.replace('api = "id"', 'api = "clientState"')
    writing = Working(state)
    writing.receive(graph({"id": "a"}))
    writing.work.round()
    assert numbers(writing) == ["***"]


def test_a_body_that_the_previous_version_stored_is_masked_when_it_is_opened() -> None:
    hooks = Hooks(GRAPH_DOCUMENT)
    hooks.receive(graph({"id": "a"}))
    (row,) = hooks.host.deliveries.rows.values()
    stored = hooks.settings.get("shop")
    sealed = hooks.settings.seal_content(stored, row.key, graph({"id": "a"}))
    content = hooks.settings.open_content(stored, replace(row, body=sealed))
    assert b"***" in content.body
    assert KEY.encode() not in content.body


def test_a_record_that_repeats_a_secret_of_the_webhook_is_rejected() -> None:
    working = Working()
    working.changes.set_secret("shop", Secret(OTHER), PREVIOUS)
    working.send({"id": KEY}, {"id": f"x {OTHER}"}, {"id": "a"})
    working.work.round()
    assert working.states() == [
        ("failed", "all_refused", 1),
        ("failed", "all_refused", 1),
        ("processed", "", 1),
    ]
    assert numbers(working) == ["a"]
    (run,) = working.application.runs.newest(9)
    rejected = working.application.runs.rejected(run.id, 9)
    assert {record.reason for record in rejected} == {"secret_in_record"}
    assert KEY not in repr(rejected)


def test_what_is_shown_of_a_body_masks_the_secrets_it_repeats() -> None:
    hooks = Hooks()
    body = json.dumps({"id": "a", "note": f"key: {KEY}", "n": 1.5}).encode()
    hooks.receive(signed(body))
    (row,) = hooks.host.deliveries.rows.values()
    shown = hooks.changes.view_content("shop", row.id)
    assert json.loads(shown.body) == {"id": "a", "note": "***", "n": 1.5}
    hooks.changes.set_secret("shop", Secret("new-one"))
    assert KEY not in repr(hooks.changes.view_content("shop", row.id))  # the replaced


def test_the_secrets_of_the_configuration_are_masked_too() -> None:
    for document in (DOCUMENT, DOCUMENT + 'configuration = "acme"\n', HANDLER):
        hooks = Hooks(document)
        hooks.receive(signed(json.dumps({"id": OTHER}).encode()))
        (row,) = hooks.host.deliveries.rows.values()
        secrets = {"acme": [Secret(OTHER)]}
        changes = replace(hooks.changes, sent_secrets=secrets.pop)
        shown = changes.view_body("shop", row.id)
        # Where a webhook has neither a line nor a configuration, no API is known.
        assert (b"***" in shown) is (document != HANDLER)
        assert hooks.application.webhooks._secrets_of("acme") == []


def test_headers_and_other_bodies_are_masked_as_a_whole() -> None:
    secrets = [Secret(KEY)]
    content = DeliveryContent((("X-Copy", f"a {KEY}"), ("Host", "own")), BODY)
    assert masked_content(content, secrets) == DeliveryContent(
        (("X-Copy", "***"), ("Host", "own")), BODY
    )
    text = DeliveryContent((), f"not JSON: {KEY}".encode())
    assert masked_content(text, secrets).body == b"***"
    split = DeliveryContent((), json.dumps([OTHER[:12], OTHER[12:]]).encode())
    assert masked_content(split, [Secret(OTHER)]).body == b"***"
    assert masked_content(content, []) == content


def test_an_id_is_never_read_from_the_header_with_the_secret() -> None:
    document = DOCUMENT.replace('"shopify"', '"token"\nid_header = "authorization"')
    with pytest.raises(ConfigError, match="proof of the sender"):
        Hooks(document)
    hooks = Hooks(document.replace('"authorization"', '"X-Id"'))
    (webhook,) = parse_document(document).webhooks
    hooks.settings.put([webhook])  # as the previous version allowed it
    hooks.changes.set_secret("shop", Secret(KEY))
    sent = Delivery("POST", "/hooks/x", (("Authorization", f"Bearer {KEY}"),), BODY)
    assert hooks.receive(sent).status == 200
    (row,) = hooks.host.deliveries.rows.values()
    assert row.event_id == ""
    assert KEY not in stored_text(hooks)


def test_secrets_that_cannot_be_opened_are_not_searched() -> None:
    hooks = Hooks(
        DOCUMENT.replace('"shopify"', '"shopify"\nsecret = "env:NO_SUCH"'), ""
    )
    assert hooks.settings.known_secrets(hooks.settings.get("shop")) == []
    assert SECRET not in hooks.settings.get("shop").secrets


@pytest.mark.parametrize(
    ("scheme", "body", "stored"),
    [
        (
            "mailgun",
            b'{"signature": {"token": "t", "signature": "ab\\"c"}, "event-data": {}}',
            b'{"signature": {"token": "t", "signature": "***"}, "event-data": {}}',
        ),
        ("mailgun", b"token=t&signature=abc&a=b", b"token=t&signature=***&a=b"),
        (
            "sns",
            b'{"Signature" : "abc", "Message": "m"}',
            b'{"Signature" : "***", "Message": "m"}',
        ),
        ("adyen", b'{"hmacSignature":"abc"}', b'{"hmacSignature":"***"}'),
        ("shopify", b'{"signature": "abc"}', b'{"signature": "abc"}'),
    ],
)
def test_a_signature_of_a_part_of_the_body_is_not_stored(
    scheme: str, body: bytes, stored: bytes
) -> None:
    assert without_signature(body, Webhook("mail", scheme, line="orders")) == stored
