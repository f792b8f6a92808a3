"""Webhook deliveries as senders send them: signed right, or with one mistake.

The signers are written a second time, independently of those that verify: what both
agree on is more than what one says of itself. Deliveries go to this machine only.
"""

import contextlib
import hashlib
import hmac
import http.client
import json
import time
from base64 import b64decode, b64encode
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

from outkey.spar.exchange import Stage

SECRET = "whsec_dGhlIHNwYXJyaW5nIHdlYmhvb2sgc2VjcmV0"  # noqa: S105 - made up and public
OTHER_SECRET = "whsec_YW5vdGhlciB3ZWJob29rIHNlY3JldCwgc2ly"  # noqa: S105 - made up
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
SECONDS = 30.0
OVERSIZED = 1024 * 1024 + 1
EIGHT_HOURS = 8 * 3600
Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Event:
    """What a delivery is about, and when it is sent."""

    secret: str = field(repr=False)
    body: bytes
    id: str
    now: int


@dataclass(frozen=True, slots=True)
class SentDelivery:
    """One request to an endpoint."""

    headers: Headers
    body: bytes
    method: str = "POST"


# ── signers ───────────────────────────────────────────────────────────────────────────


def hexadecimal(key: str, signed: bytes) -> str:
    """Return an HMAC-SHA256 as hexadecimal digits."""
    return hmac.new(key.encode(), signed, hashlib.sha256).hexdigest()


def sign_standard(event: Event) -> Headers:
    """Sign as Standard Webhooks does, with the id and the time."""
    key = b64decode(event.secret.removeprefix("whsec_"))
    signed = f"{event.id}.{event.now}.".encode() + event.body
    code = b64encode(hmac.digest(key, signed, "sha256")).decode()
    return (
        ("webhook-id", event.id),
        ("webhook-timestamp", str(event.now)),
        ("webhook-signature", f"v1,{code}"),
    )


def sign_stripe(event: Event) -> Headers:
    """Sign as Stripe does; the id is in the body."""
    code = hexadecimal(event.secret, f"{event.now}.".encode() + event.body)
    return (("Stripe-Signature", f"t={event.now},v1={code}"),)


def sign_slack(event: Event) -> Headers:
    """Sign as Slack does."""
    code = hexadecimal(event.secret, f"v0:{event.now}:".encode() + event.body)
    return (
        ("X-Slack-Request-Timestamp", str(event.now)),
        ("X-Slack-Signature", f"v0={code}"),
    )


def sign_github(event: Event) -> Headers:
    """Sign as GitHub does, without a time."""
    return (
        ("X-GitHub-Delivery", event.id),
        ("X-GitHub-Event", "order"),
        ("X-Hub-Signature-256", f"sha256={hexadecimal(event.secret, event.body)}"),
    )


def sign_shopify(event: Event) -> Headers:
    """Sign as Shopify does, in Base64 and without a time."""
    code = hmac.digest(event.secret.encode(), event.body, "sha256")
    return (
        ("X-Shopify-Topic", "orders/create"),
        ("X-Shopify-Webhook-Id", event.id),
        ("X-Shopify-Event-Id", event.id),
        ("X-Shopify-Hmac-SHA256", b64encode(code).decode()),
    )


def sign_token(event: Event) -> Headers:
    """Send the secret itself, as a bearer token."""
    return (("Authorization", f"Bearer {event.secret}"),)


SIGNERS: dict[str, Callable[[Event], Headers]] = {
    "standard": sign_standard,
    "stripe": sign_stripe,
    "slack": sign_slack,
    "github": sign_github,
    "shopify": sign_shopify,
    "token": sign_token,
}
# The last header of a signer has the signature.
OTHER_SCHEMES = {"github": "shopify"}
OTHER_SCHEME = "github"


# ── mistakes ──────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class SparSender:
    """Makes deliveries of a scheme."""

    scheme: str
    event: Event

    def sign(self, event: Event, scheme: str = "") -> SentDelivery:
        """Return a delivery that is signed right."""
        headers = SIGNERS[scheme or self.scheme](event)
        kind = ("Content-Type", "application/json")
        return SentDelivery((kind, *headers), event.body)

    @property
    def right(self) -> SentDelivery:
        """The delivery without a mistake."""
        return self.sign(self.event)


def send_right(sender: SparSender) -> list[SentDelivery]:
    """Sign it right."""
    return [sender.right]


def use_wrong_secret(sender: SparSender) -> list[SentDelivery]:
    """Sign it with another secret."""
    return [sender.sign(replace(sender.event, secret=OTHER_SECRET))]


def send_late(sender: SparSender) -> list[SentDelivery]:
    """Sign a time that is eight hours ago, as a wrong time zone does."""
    return [sender.sign(replace(sender.event, now=sender.event.now - EIGHT_HOURS))]


def send_early(sender: SparSender) -> list[SentDelivery]:
    """Sign a time in the future."""
    return [sender.sign(replace(sender.event, now=sender.event.now + 3700))]


def reencode_body(sender: SparSender) -> list[SentDelivery]:
    """Write the JSON anew after signing, as some proxies do."""
    compact = json.dumps(json.loads(sender.event.body), separators=(",", ":"))
    spaced = json.dumps(json.loads(sender.event.body), indent=2)
    signed = sender.sign(replace(sender.event, body=compact.encode()))
    return [replace(signed, body=spaced.encode())]


def change_body(sender: SparSender) -> list[SentDelivery]:
    """Change a value of the body after signing."""
    right = sender.right
    return [replace(right, body=right.body.replace(b'"1"', b'"9"') + b" ")]


def send_twice(sender: SparSender) -> list[SentDelivery]:
    """Send the same delivery twice, as a sender does that got no response."""
    return [sender.right, sender.right]


def send_out_of_order(sender: SparSender) -> list[SentDelivery]:
    """Send a newer version of a record before an older one."""
    newer = json.loads(sender.event.body) | {"total": "2", "at": "2026-02-02"}
    event = replace(sender.event, body=json.dumps(newer).encode())
    older = replace(sender.event, id=f"{event.id}-older")
    return [sender.sign(event), sender.sign(older)]


def replay_with_other_id(sender: SparSender) -> list[SentDelivery]:
    """Send an earlier delivery again under another id, as an attacker does."""
    right = sender.right
    headers = tuple(
        (name, f"{value}-again" if value == sender.event.id else value)
        for name, value in right.headers
    )
    return [right, replace(right, headers=headers)]


def use_other_scheme(sender: SparSender) -> list[SentDelivery]:
    """Sign it as another sender would."""
    other = OTHER_SCHEMES.get(sender.scheme, OTHER_SCHEME)
    return [sender.sign(sender.event, other)]


def omit_signature(sender: SparSender) -> list[SentDelivery]:
    """Send it without the header of the signature."""
    right = sender.right
    return [replace(right, headers=right.headers[:-1])]


def repeat_signature(sender: SparSender) -> list[SentDelivery]:
    """Send the header of the signature twice."""
    right = sender.right
    return [replace(right, headers=(*right.headers, right.headers[-1]))]


def send_too_much(sender: SparSender) -> list[SentDelivery]:
    """Send a body of more than 1 MiB."""
    return [sender.sign(replace(sender.event, body=b"[" + b" " * OVERSIZED + b"]"))]


def send_body(body: bytes, text: str) -> Callable[[SparSender], list[SentDelivery]]:
    """Return a mistake that is a body, signed right."""

    def send(sender: SparSender) -> list[SentDelivery]:
        return [sender.sign(replace(sender.event, body=body))]

    send.__doc__ = text
    return send


def use_wrong_method(sender: SparSender) -> list[SentDelivery]:
    """Send it as DELETE."""
    return [replace(sender.right, method="DELETE")]


MISTAKES: dict[str, Callable[[SparSender], list[SentDelivery]]] = {
    "none": send_right,
    "wrong-secret": use_wrong_secret,
    "old-timestamp": send_late,
    "future-timestamp": send_early,
    "reencoded-body": reencode_body,
    "changed-body": change_body,
    "duplicate": send_twice,
    "out-of-order": send_out_of_order,
    "replay": replay_with_other_id,
    "wrong-scheme": use_other_scheme,
    "missing-header": omit_signature,
    "repeated-header": repeat_signature,
    "oversized": send_too_much,
    "not-json": send_body(b"<order/>", "Send XML instead of JSON."),
    "deep-json": send_body(b"[" * 5000 + b"]" * 5000, "Nest JSON 5000 levels deep."),
    "nan": send_body(b'{"id": NaN}', "Send NaN, which is not JSON."),
    "long-number": send_body(
        b'{"id": ' + b"9" * 5000 + b"}", "Send a number of 5000 digits."
    ),
    "duplicate-keys": send_body(
        b'{"id": 1, "id": 2}', "Send a key of an object twice."
    ),
    "wrong-method": use_wrong_method,
}


def mistakes() -> dict[str, str]:
    """Return the mistakes and what they do."""
    return {name: (mistake.__doc__ or "") for name, mistake in MISTAKES.items()}


def deliveries(
    scheme: str, mistake: str, *, secret: str, event_id: str, now: int
) -> list[SentDelivery]:
    """Return the requests of a mistake; KeyError for an unknown scheme or mistake.

    ValueError for a secret that the scheme cannot use.
    """
    order = {"id": event_id, "total": "1", "at": "2026-01-01"}
    event = Event(secret, json.dumps(order).encode(), event_id, now)
    SIGNERS[scheme]  # also for mistakes that use another one
    return MISTAKES[mistake](SparSender(scheme, event))


def is_on_this_machine(url: str) -> bool:
    """Whether a URL is http on this machine: deliveries are sent nowhere else."""
    try:
        parts = urlsplit(url)
        return (
            parts.scheme == "http" and parts.hostname in LOOPBACK and bool(parts.port)
        )
    except ValueError:
        return False


def post(url: str, delivery: SentDelivery) -> int:
    """Send a delivery to an endpoint on this machine; return the status, 0 for none."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(
        parts.hostname or "", parts.port, timeout=SECONDS
    )
    try:
        connection.putrequest(delivery.method, parts.path or "/")
        for name, value in delivery.headers:
            connection.putheader(name, value)
        connection.putheader("Content-Length", str(len(delivery.body)))
        connection.endheaders()
        return send_rest(connection, delivery.body)
    except (OSError, http.client.HTTPException):
        return 0
    finally:
        connection.close()


def send_rest(connection: http.client.HTTPConnection, body: bytes) -> int:
    """Send a body and return the status; a server may respond before it has it all."""
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        connection.send(body)
    return connection.getresponse().status


def play_webhook(stage: Stage) -> None:
    """Send a webhook to an endpoint on this machine, with `?mistake=`.

    `?to=` is the URL of the endpoint, `?scheme=` how it is signed (standard by
    default), `X-Spar-Secret` the secret, and `?event=` the id. The statuses of the
    responses are returned. `/webhook/mistakes` lists schemes and mistakes.
    """
    if stage.rest == "mistakes":
        stage.respond(200, {"schemes": list(SIGNERS), "mistakes": mistakes()})
        return
    url = stage.query.get("to", "")
    if not is_on_this_machine(url):
        stage.respond(400, {"error": "to= must be a URL of this machine"})
        return
    try:
        sent = deliveries(
            stage.query.get("scheme", "standard"),
            stage.query.get("mistake", "none"),
            secret=stage.headers.get("x-spar-secret") or SECRET,
            event_id=stage.query.get("event", "spar-event"),
            now=int(time.time()),
        )
    except KeyError as error:
        stage.respond(400, {"error": f"unknown: {error.args[0]}"})
        return
    except ValueError:
        stage.respond(400, {"error": "the scheme needs a secret in Base64"})
        return
    stage.respond(200, {"statuses": [post(url, delivery) for delivery in sent]})
