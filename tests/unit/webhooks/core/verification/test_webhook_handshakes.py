"""Handshakes are answered without a page, a forged signature or a stored secret."""

import hashlib
import hmac
import json
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outkey.foundation.core.secret import Secret
from outkey.webhooks.core.inbox.delivery import (
    Delivery,
    SecretSlot,
    Verified,
    WebhookSecrets,
)
from outkey.webhooks.core.schemes.scheme import HandshakeKind
from outkey.webhooks.core.schemes.schemes import ROWS
from outkey.webhooks.core.settings.settings import Webhook
from outkey.webhooks.core.verification.handshakes import (
    HandshakeResponse,
    answer_open_handshake,
    answer_signed_handshake,
)
from unit.webhook_vectors import URL, hook, post

NOSNIFF = ("X-Content-Type-Options", "nosniff")
PLAIN = (("Content-Type", "text/plain; charset=utf-8"), NOSNIFF)
TOPIC = "arn:aws:sns:eu-central-1:123456789012:orders"
CONFIRMATION = (
    "https://sns.eu-central-1.amazonaws.com/?Action=ConfirmSubscription"
    f"&TopicArn={TOPIC}&Token=2336412f37fb687f"
)


def get(query: str, *headers: tuple[str, str]) -> Delivery:
    return Delivery("GET", f"{URL}?{query}", headers, b"")


def answer_open(
    delivery: Delivery, scheme: str, secrets: WebhookSecrets | None = None
) -> HandshakeResponse | None:
    return answer_open_handshake(delivery, hook(scheme), secrets or WebhookSecrets())


def answer_signed(
    delivery: Delivery,
    webhook: Webhook,
    *,
    slot: SecretSlot = SecretSlot.CURRENT,
    event_type: str = "",
) -> HandshakeResponse | None:
    secrets = WebhookSecrets(Secret("key"), Secret("old"))
    return answer_signed_handshake(
        delivery, webhook, secrets, Verified(slot, event_type=event_type)
    )


def test_meta_gets_its_challenge_for_the_token_only() -> None:
    secrets = WebhookSecrets(verify_token=Secret("s3cret"))
    query = "hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token="
    for scheme in ("meta", "whatsapp", "instagram"):
        response = answer_open(get(f"{query}s3cret"), scheme, secrets)
        assert response == HandshakeResponse(200, "1158201444", PLAIN)
    for delivery in (
        get(f"{query}other"),
        get(query),
        get(f"{query}s3cret&hub.verify_token=s3cret"),
        get(f"{query}s3cret".replace("subscribe", "delete")),
        Delivery("POST", f"{URL}?{query}s3cret", (), b""),
    ):
        assert answer_open(delivery, "meta", secrets) is None
    assert answer_open(get(query), "meta") is None
    empty = WebhookSecrets(verify_token=Secret(""))
    assert answer_open(get(query), "meta", empty) is None


@pytest.mark.parametrize(
    ("scheme", "name"), [("dropbox", "challenge"), ("onfleet", "check")]
)
def test_a_parameter_is_sent_back(scheme: str, name: str) -> None:
    response = answer_open(get(f"{name}=ab-12"), scheme)
    assert response == HandshakeResponse(200, "ab-12", PLAIN)
    assert answer_open(get("other=1"), scheme) is None
    assert answer_open(post(url=f"{URL}?{name}=1"), scheme) is None
    assert answer_open(get("&".join(["a=1"] * 60)), scheme) is None


def test_graph_gets_its_token_decoded() -> None:
    token = "Validation: Testing client application reachability for subscription"
    url = f"{URL}?validationToken={quote(token)}"
    response = answer_open(post(b"", url=url), "graph")
    assert response == HandshakeResponse(200, token, PLAIN)
    assert answer_open(get(f"validationToken={quote(token)}"), "graph") is None


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "a&lt;b",
        'a"b',
        "a'b",
        "a\r\nSet-Cookie: x=1",
        "x" * 1025,
        "ä",
        "",
        "a%00b",
    ],
)
def test_nothing_becomes_a_page(text: str) -> None:
    for scheme, name in (("dropbox", "challenge"), ("onfleet", "check")):
        assert answer_open(get(f"{name}={quote(text)}"), scheme) is None
    url = f"{URL}?validationToken={quote(text)}"
    assert answer_open(post(b"", url=url), "graph") is None
    header = ("X-Okta-Verification-Challenge", text)
    assert answer_open(get("", header), "okta") is None
    body = json.dumps({"type": "url_verification", "challenge": text}).encode()
    assert answer_signed(post(body), hook("slack")) is None


@given(st.text(max_size=60))
def test_an_answer_has_no_character_of_a_tag(text: str) -> None:
    body = json.dumps({"type": "url_verification", "challenge": text}).encode()
    response = answer_signed(post(body), hook("slack"))
    assert response is None or not set(response.body) & set("<>&\"'\r\n")


def test_okta_gets_json() -> None:
    header = ("X-Okta-Verification-Challenge", "abc_123")
    response = answer_open(get("", header), "okta")
    assert response is not None
    assert json.loads(response.body) == {"verification": "abc_123"}
    assert response.headers == (("Content-Type", "application/json"), NOSNIFF)
    assert answer_open(get("", header, header), "okta") is None
    assert answer_open(post(b"", header), "okta") is None


def test_asana_offers_its_secret_once() -> None:
    text = "b537207f20cbfa02357cf448134da559"
    delivery = post(b"", ("X-Hook-Secret", text))
    for secrets in (WebhookSecrets(), WebhookSecrets(Secret(text))):
        response = answer_open(delivery, "asana", secrets)
        assert response is not None
        assert response.headers == (("X-Hook-Secret", text),)
        assert response.offered_secret == Secret(text)
        assert text not in repr(response.offered_secret)
    other = WebhookSecrets(Secret("another secret"))
    assert answer_open(delivery, "asana", other) is None
    for value in ("short", "x" * 300, "a b" * 8):
        delivery = post(b"", ("X-Hook-Secret", value))
        assert answer_open(delivery, "asana") is None


def test_notion_sends_a_token_for_a_user_to_paste() -> None:
    body = (
        b'{"verification_token": "secret_tMrlL1qK5vuQAh1b6cZGhFChZTSYJlce98V0pYn7yBl"}'
    )
    response = answer_open(post(body), "notion")
    assert response is not None
    assert response.body == ""
    assert response.offered_secret
    known = WebhookSecrets(Secret("secret"))
    assert answer_open(post(body), "notion", known) is None
    for other in (b"{}", b"{", b'{"verification_token": "<b>"}'):
        assert answer_open(post(other), "notion") is None


def test_the_ping_of_woocommerce_is_accepted_without_effect() -> None:
    assert answer_open(post(b"webhook_id=12"), "woocommerce") == HandshakeResponse()
    for delivery in (
        post(b"webhook_id=12&x=1"),
        post(b"{}"),
        post(b"webhook_id=12", ("X-WC-Webhook-Signature", "x")),
    ):
        assert answer_open(delivery, "woocommerce") is None


def test_slack_gets_its_challenge() -> None:
    body = (
        b'{"type": "url_verification", "challenge": "3eZbrw1aBm2rZgRNFdxV2595E9CY3g"}'
    )
    response = answer_signed(post(body), hook("slack"))
    assert response is not None
    assert response.body == "3eZbrw1aBm2rZgRNFdxV2595E9CY3g"
    for other in (b'{"type": "event_callback"}', b"{", b"[]"):
        assert answer_signed(post(other), hook("slack")) is None


def zoom(token: str, event: str = "endpoint.url_validation") -> Delivery:
    return post(json.dumps({"event": event, "payload": {"plainToken": token}}).encode())


def test_zoom_gets_the_signature_of_its_token() -> None:
    for slot, key in ((SecretSlot.CURRENT, b"key"), (SecretSlot.PREVIOUS, b"old")):
        response = answer_signed(
            zoom("qgg8vlvZRS6UYooatFL8Aw"), hook("zoom"), slot=slot
        )
        assert response is not None
        assert json.loads(response.body) == {
            "plainToken": "qgg8vlvZRS6UYooatFL8Aw",
            "encryptedToken": hmac.new(
                key, b"qgg8vlvZRS6UYooatFL8Aw", hashlib.sha256
            ).hexdigest(),
        }


def test_zoom_gets_no_signature_of_anything_else() -> None:
    for delivery in (
        zoom('v0:1800000000:{"event": "meeting.started"}'),
        zoom("v0:1:x"),
        zoom("a b"),
        zoom(""),
        zoom("x" * 257),
        zoom("abc", event="meeting.started"),
    ):
        assert answer_signed(delivery, hook("zoom")) is None
    unknown = answer_signed(zoom("abc"), hook("zoom"), slot=SecretSlot.NONE)
    assert unknown is None
    # Before its signature was verified, the handshake is not answered at all.
    assert answer_open(zoom("abc"), "zoom", WebhookSecrets(Secret("key"))) is None


def test_twitch_gets_its_challenge() -> None:
    kind = ("Twitch-Eventsub-Message-Type", "webhook_callback_verification")
    body = b'{"challenge": "pogchamp-kappa-360noscope-vohiyo"}'
    response = answer_signed(post(body, kind), hook("twitch"))
    assert response is not None
    assert response.body == "pogchamp-kappa-360noscope-vohiyo"
    assert answer_signed(post(body), hook("twitch")) is None


def test_discord_gets_a_pong() -> None:
    response = answer_signed(post(b'{"type": 1}'), hook("discord"))
    assert response is not None
    assert json.loads(response.body) == {"type": 1}
    assert answer_signed(post(b'{"type": 2}'), hook("discord")) is None


def test_a_subscription_of_sns_is_confirmed_at_its_own_host_only() -> None:
    webhook = hook("sns", topic=TOPIC)

    def answer(
        url: str,
        kind: str = "SubscriptionConfirmation",
        confirmed: Webhook = webhook,
    ) -> HandshakeResponse | None:
        body = json.dumps({"SubscribeURL": url}).encode()
        return answer_signed(
            post(body), confirmed, slot=SecretSlot.NONE, event_type=kind
        )

    assert answer(CONFIRMATION) == HandshakeResponse(fetch_url=CONFIRMATION)
    assert answer(CONFIRMATION, kind="Notification") is None
    assert answer(CONFIRMATION, kind="UnsubscribeConfirmation") is None
    assert answer(CONFIRMATION, confirmed=hook("sns", topic="x")) is None
    for url in (
        CONFIRMATION.replace("https", "http"),
        CONFIRMATION.replace("amazonaws.com", "amazonaws.com.evil.example"),
        CONFIRMATION.replace("eu-central-1.amazonaws", "eu-west-1.amazonaws"),
        CONFIRMATION.replace("ConfirmSubscription", "DeleteTopic"),
        CONFIRMATION + "&x=1",
        "",
    ):
        assert answer(url) is None


def test_other_schemes_have_no_handshake() -> None:
    for scheme in ("github", "nobody"):
        assert answer_open(get("challenge=1"), scheme) is None
        assert answer_signed(post(), hook(scheme)) is None


def test_every_handshake_belongs_to_a_scheme() -> None:
    assert {row.handshake for row in ROWS} == {None, *HandshakeKind}
