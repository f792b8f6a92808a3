"""Headers are stored with the body of a delivery, but not what proves its sender."""

import pytest

from outkey.webhooks.core.inbox.content import (
    MASK,
    MAX_HEADERS,
    MAX_VALUE,
    DeliveryContent,
    content_of,
)
from outkey.webhooks.core.inbox.delivery import Delivery
from outkey.webhooks.core.settings.settings import Webhook
from unit.webhooks.engine.test_webhook_reception import BODY, Hooks, signature, signed

SHOP = Webhook("shop", "shopify", line="orders")


def delivery(*headers: tuple[str, str]) -> Delivery:
    return Delivery("POST", "", headers, BODY)


@pytest.mark.parametrize(
    ("webhook", "header"),
    [
        (SHOP, "X-Shopify-Hmac-SHA256"),
        (SHOP, "x-shopify-hmac-sha256"),
        (SHOP, "Authorization"),
        (SHOP, "Cookie"),
        (SHOP, "X-Gitlab-Token"),
        (SHOP, "X-Api-Key"),
        (Webhook("own", "hmac", signature_header="X-Proof"), "X-PROOF"),
        (Webhook("own", "token", token_header="X-Word"), "x-word"),
        (Webhook("own", "gone"), "X-Hub-Signature"),
    ],
)
def test_what_proves_the_sender_is_masked(webhook: Webhook, header: str) -> None:
    content = content_of(delivery((header, "hunter2"), ("Host", "own")), webhook)
    assert content.headers == ((header, MASK), ("Host", "own"))


def test_long_values_and_many_headers_are_cut() -> None:
    headers = [(f"X-{number}", "v" * (MAX_VALUE + 1)) for number in range(200)]
    content = content_of(delivery(*headers), SHOP)
    assert len(content.headers) == MAX_HEADERS
    assert {len(value) for _, value in content.headers} == {MAX_VALUE}
    assert content.body == BODY


@pytest.mark.parametrize("body", [b"", b"\x00\xff", b"[" * 1000])
def test_headers_and_body_are_read_as_they_were_written(body: bytes) -> None:
    content = DeliveryContent((("Ä", 'ü"\n'), ("B", "")), body)
    assert DeliveryContent.from_bytes(content.to_bytes()) == content


def test_they_are_stored_sealed_and_viewed_with_an_audit_record() -> None:
    hooks = Hooks()
    hooks.receive(signed())
    (row,) = hooks.host.deliveries.rows.values()
    assert b"orders/create" not in row.body
    content = hooks.changes.view_content("shop", row.id)
    assert content.body == BODY
    assert ("X-Shopify-Topic", "orders/create") in content.headers
    assert signature(BODY) not in str(content.headers)
    assert [str(tag) for tag in hooks.tags()] == ["api:delivery:viewed"]
