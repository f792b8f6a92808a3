"""Handshakes: how a sender makes sure that an endpoint is the user's.

What is sent back comes from a stranger. It is plain text of limited characters and
length that a browser does not sniff, so that it cannot become a page. Nothing is signed
for a stranger: where a handshake wants a signature, it must be signed itself.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import NamedTuple
from urllib.parse import parse_qs, urlsplit

from outkey.foundation.core.limited_json import read_limited_json, text_at
from outkey.foundation.core.secret import Secret
from outkey.webhooks.core.inbox.delivery import Delivery, Verified, WebhookSecrets
from outkey.webhooks.core.schemes.scheme import (
    HandshakeKind,
    KeyForm,
    SignatureAlgorithm,
)
from outkey.webhooks.core.settings.settings import Webhook, scheme_of
from outkey.webhooks.core.verification.certificates import sns_confirmation_url
from outkey.webhooks.core.verification.keys import key_bytes
from outkey.webhooks.core.verification.signatures import symmetric_signature

MAX_FIELDS = 50  # of a query
PLAIN = "text/plain; charset=utf-8"
JSON = "application/json"
# Enough for the tokens of all senders; no character that opens a tag or an entity.
ECHOED = re.compile(r"[A-Za-z0-9 _.,:;/+=@~|-]{1,1024}")
# Zoom signs events with the same key: v0:TIME:BODY must never be such a token.
ZOOM_TOKEN = re.compile(r"[A-Za-z0-9_-]{1,256}")
OFFERED_SECRET = re.compile(r"[A-Za-z0-9_-]{16,256}")
WOOCOMMERCE_PING = re.compile(rb"webhook_id=[0-9]{1,12}")


class HandshakeResponse(NamedTuple):
    """The response to a handshake.

    `fetch_url` has to be fetched to confirm it. `offered_secret` is the secret that the
    sender proposes: it is stored only as long as the webhook has none.
    """

    status: int = 200
    body: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    fetch_url: str = ""
    offered_secret: Secret | None = None


def answer_open_handshake(
    delivery: Delivery, webhook: Webhook, secrets: WebhookSecrets
) -> HandshakeResponse | None:
    """Return the response to a handshake that is not signed; None for anything else."""
    scheme = scheme_of(webhook)
    if scheme is None or scheme.handshake not in OPEN_HANDSHAKES:
        return None
    return OPEN_HANDSHAKES[scheme.handshake](delivery, secrets)


def answer_signed_handshake(
    delivery: Delivery,
    webhook: Webhook,
    secrets: WebhookSecrets,
    verified: Verified,
) -> HandshakeResponse | None:
    """Return the response to a verified handshake; None for anything else."""
    scheme = scheme_of(webhook)
    if scheme is None or scheme.handshake not in SIGNED_HANDSHAKES:
        return None
    try:
        value = read_limited_json(delivery.body)
    except ValueError:
        return None
    handshake = SignedHandshake(delivery, webhook, secrets, verified, value)
    return SIGNED_HANDSHAKES[scheme.handshake](handshake)


class SignedHandshake(NamedTuple):
    """A verified delivery that may be a handshake."""

    delivery: Delivery
    webhook: Webhook
    secrets: WebhookSecrets
    verified: Verified
    value: object


def echo(text: str) -> HandshakeResponse | None:
    """Return a response with a text of the sender, None if it could do harm."""
    if not ECHOED.fullmatch(text):
        return None
    return response(text, PLAIN)


def response(body: str, content_type: str) -> HandshakeResponse:
    """Return a response that no browser takes for a page."""
    headers = (("Content-Type", content_type), ("X-Content-Type-Options", "nosniff"))
    return HandshakeResponse(body=body, headers=headers)


def json_response(value: Mapping[str, object]) -> HandshakeResponse:
    """Return a response with JSON."""
    return response(json.dumps(value), JSON)


def _query_value(delivery: Delivery, name: str) -> str:
    """Return a parameter of the query that occurs once, else ""."""
    try:
        query = urlsplit(delivery.url).query
        values = parse_qs(query, max_num_fields=MAX_FIELDS).get(name, [])
    except ValueError:
        return ""
    return values[0] if len(values) == 1 else ""


def header_value(delivery: Delivery, name: str) -> str:
    """Return a header that occurs once, else ""."""
    values = delivery.header_values(name)
    return values[0].strip(" \t") if len(values) == 1 else ""


def _echo_query(name: str) -> Callable[..., HandshakeResponse | None]:
    """Return a handshake that sends a parameter of a GET back."""

    def answer(
        delivery: Delivery,
        secrets: WebhookSecrets,  # noqa: ARG001 - the signature of all handshakes
    ) -> HandshakeResponse | None:
        if delivery.method != "GET":
            return None
        return echo(_query_value(delivery, name))

    return answer


def _answer_meta(
    delivery: Delivery, secrets: WebhookSecrets
) -> HandshakeResponse | None:
    """Send the challenge back to the one who knows the verify token."""
    if delivery.method != "GET" or _query_value(delivery, "hub.mode") != "subscribe":
        return None
    sent = Secret(_query_value(delivery, "hub.verify_token"))
    if not secrets.verify_token or secrets.verify_token != sent:
        return None
    return echo(_query_value(delivery, "hub.challenge"))


def _answer_graph(
    delivery: Delivery,
    secrets: WebhookSecrets,  # noqa: ARG001 - the signature of all handshakes
) -> HandshakeResponse | None:
    """Send the validation token back."""
    if delivery.method != "POST":
        return None
    return echo(_query_value(delivery, "validationToken"))


def _answer_okta(
    delivery: Delivery,
    secrets: WebhookSecrets,  # noqa: ARG001 - the signature of all handshakes
) -> HandshakeResponse | None:
    """Send the challenge of the header back as JSON."""
    challenge = header_value(delivery, "X-Okta-Verification-Challenge")
    if delivery.method != "GET" or not ECHOED.fullmatch(challenge):
        return None
    return json_response({"verification": challenge})


def _answer_asana(
    delivery: Delivery, secrets: WebhookSecrets
) -> HandshakeResponse | None:
    """Send the offered secret back, as long as none is set or it is the same."""
    name = "X-Hook-Secret"
    text = header_value(delivery, name)
    if not OFFERED_SECRET.fullmatch(text):
        return None
    offered = Secret(text)
    if secrets.current and secrets.current != offered:
        return None
    return HandshakeResponse(headers=((name, text),), offered_secret=offered)


def _answer_notion(
    delivery: Delivery, secrets: WebhookSecrets
) -> HandshakeResponse | None:
    """Return the token that a user has to paste into Notion, as long as none is set."""
    if secrets.current:
        return None
    try:
        text = text_at(read_limited_json(delivery.body), "verification_token")
    except ValueError:
        return None
    if not OFFERED_SECRET.fullmatch(text):
        return None
    return HandshakeResponse(offered_secret=Secret(text))


def _answer_woocommerce(
    delivery: Delivery,
    secrets: WebhookSecrets,  # noqa: ARG001 - the signature of all handshakes
) -> HandshakeResponse | None:
    """Accept the ping that WooCommerce does not sign; it has no effect."""
    is_signed = delivery.header_values("X-WC-Webhook-Signature")
    if is_signed or not WOOCOMMERCE_PING.fullmatch(delivery.body):
        return None
    return HandshakeResponse()


def _answer_slack(handshake: SignedHandshake) -> HandshakeResponse | None:
    """Send the challenge back."""
    if text_at(handshake.value, "type") != "url_verification":
        return None
    return echo(text_at(handshake.value, "challenge"))


def _answer_zoom(handshake: SignedHandshake) -> HandshakeResponse | None:
    """Return the signature of the token, which must not look like a signed event."""
    token = text_at(handshake.value, "payload.plainToken")
    is_handshake = text_at(handshake.value, "event") == "endpoint.url_validation"
    secret = dict(handshake.secrets.slots()).get(handshake.verified.slot)
    key = key_bytes(secret, KeyForm.TEXT) if secret else None
    if not is_handshake or not key or not ZOOM_TOKEN.fullmatch(token):
        return None
    algorithm = SignatureAlgorithm.HMAC_SHA256
    signature = symmetric_signature(algorithm, key, token.encode())
    return json_response({"plainToken": token, "encryptedToken": signature.hex()})


def _answer_twitch(handshake: SignedHandshake) -> HandshakeResponse | None:
    """Send the challenge back."""
    kind = header_value(handshake.delivery, "Twitch-Eventsub-Message-Type")
    if kind != "webhook_callback_verification":
        return None
    return echo(text_at(handshake.value, "challenge"))


def _answer_discord(handshake: SignedHandshake) -> HandshakeResponse | None:
    """Answer a ping with a pong."""
    if text_at(handshake.value, "type") != "1":
        return None
    return json_response({"type": 1})


def _answer_sns(handshake: SignedHandshake) -> HandshakeResponse | None:
    """Return the URL that confirms the subscription."""
    if handshake.verified.event_type != "SubscriptionConfirmation":
        return None
    url = sns_confirmation_url(handshake.value, handshake.webhook.topic)
    return HandshakeResponse(fetch_url=url) if url else None


OPEN_HANDSHAKES: dict[
    HandshakeKind | None,
    Callable[[Delivery, WebhookSecrets], HandshakeResponse | None],
] = {
    HandshakeKind.META: _answer_meta,
    HandshakeKind.GRAPH: _answer_graph,
    HandshakeKind.DROPBOX: _echo_query("challenge"),
    HandshakeKind.ONFLEET: _echo_query("check"),
    HandshakeKind.OKTA: _answer_okta,
    HandshakeKind.ASANA: _answer_asana,
    HandshakeKind.NOTION: _answer_notion,
    HandshakeKind.WOOCOMMERCE: _answer_woocommerce,
}
SIGNED_HANDSHAKES: dict[
    HandshakeKind | None, Callable[[SignedHandshake], HandshakeResponse | None]
] = {
    HandshakeKind.SLACK: _answer_slack,
    HandshakeKind.ZOOM: _answer_zoom,
    HandshakeKind.TWITCH: _answer_twitch,
    HandshakeKind.DISCORD: _answer_discord,
    HandshakeKind.SNS: _answer_sns,
}
