"""Signs and verifies deliveries of webhooks with libraries that nobody here wrote.

Runs in an environment of its own, which has no outkey. The argument is the name of a
judge. Each line of standard input asks it to sign or to verify a delivery, each line of
standard output is its answer. A judge refuses as its library does: whatever else it
raises ends this program.
"""

import json
import sys
from base64 import b64decode, b64encode
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from typing import Any
from urllib.parse import parse_qs

FORM = "application/x-www-form-urlencoded"
AGE = 300  # seconds that a signature is accepted for


@dataclass(frozen=True)
class Delivery:
    """A delivery as a sender posts it, and what it is signed with."""

    url: str
    headers: dict[str, str]
    body: bytes
    secret: str  # the private key if there is a public one
    event_id: str
    now: int
    method: str = "POST"

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def moment(self) -> datetime:
        return datetime.fromtimestamp(self.now, UTC)

    def header(self, name: str) -> str:
        headers = {key.lower(): value for key, value in self.headers.items()}
        return headers.get(name.lower(), "")

    def with_headers(self, headers: dict[str, str]) -> "Delivery":
        return replace(self, headers=self.headers | headers)


@dataclass(frozen=True)
class Judge:
    """How a library verifies, and how it signs if it can."""

    verify: Callable[[Delivery], bool]
    sign: Callable[[Delivery], Delivery] | None = None
    refusals: tuple[type[Exception], ...] = ()

    def accepts(self, delivery: Delivery) -> bool:
        try:
            verdict = self.verify(delivery)
        except self.refusals:
            return False
        if not isinstance(verdict, bool):
            raise TypeError(verdict)
        return verdict


def stripe() -> Judge:
    from stripe import SignatureVerificationError, WebhookSignature

    name = "Stripe-Signature"

    def verify(delivery: Delivery) -> bool:
        WebhookSignature.verify_header(
            delivery.body, delivery.header(name), delivery.secret, AGE
        )
        return True

    def sign(delivery: Delivery) -> Delivery:
        value = WebhookSignature.generate_signature_header(
            delivery.text, delivery.secret, delivery.now
        )
        return delivery.with_headers({name: value})

    return Judge(verify, sign, (SignatureVerificationError,))


def standardwebhooks() -> Judge:
    from standardwebhooks.webhooks import Webhook, WebhookVerificationError

    def verify(delivery: Delivery) -> bool:
        webhook = Webhook(delivery.secret)
        webhook.verify(delivery.body, delivery.headers, json_parse=False)
        return True

    def sign(delivery: Delivery) -> Delivery:
        webhook = Webhook(delivery.secret)
        signature = webhook.sign(delivery.event_id, delivery.moment, delivery.text)
        return delivery.with_headers(standard_headers("webhook", delivery, signature))

    return Judge(verify, sign, (WebhookVerificationError,))


def svix() -> Judge:
    from svix.webhooks import Webhook, WebhookVerificationError

    def verify(delivery: Delivery) -> bool:
        Webhook(delivery.secret).verify(delivery.body, delivery.headers)
        return True

    def sign(delivery: Delivery) -> Delivery:
        webhook = Webhook(delivery.secret)
        signature = webhook.sign(delivery.event_id, delivery.moment, delivery.text)
        return delivery.with_headers(standard_headers("svix", delivery, signature))

    return Judge(verify, sign, (WebhookVerificationError,))


def standard_headers(prefix: str, delivery: Delivery, signature: str) -> dict[str, str]:
    """Return the headers of Standard Webhooks, which its libraries leave to others."""
    return {
        f"{prefix}-id": delivery.event_id,
        f"{prefix}-timestamp": str(delivery.now),
        f"{prefix}-signature": signature,
    }


class Fields(dict[str, list[str]]):
    """The fields of a form, as Django gives them to Twilio's library."""

    def getlist(self, name: str) -> list[str]:
        return self[name]


def twilio() -> Judge:
    from twilio.request_validator import RequestValidator

    name = "X-Twilio-Signature"

    def content(delivery: Delivery) -> Fields | str:
        if delivery.header("Content-Type") == FORM:
            return Fields(parse_qs(delivery.text, keep_blank_values=True))
        return delivery.text

    def verify(delivery: Delivery) -> bool:
        validator = RequestValidator(delivery.secret)
        is_valid: bool = validator.validate(
            delivery.url, content(delivery), delivery.header(name)
        )
        return is_valid

    def sign(delivery: Delivery) -> Delivery:
        validator = RequestValidator(delivery.secret)
        fields = content(delivery)
        if isinstance(fields, str):
            mark = "&" if "?" in delivery.url else "?"
            digest = validator.compute_hash(fields)
            url = f"{delivery.url}{mark}bodySHA256={digest}"
            delivery = replace(delivery, url=url)
            fields = Fields()
        signature = validator.compute_signature(delivery.url, fields)
        return delivery.with_headers({name: signature})

    return Judge(verify, sign)


def slack() -> Judge:
    from slack_sdk.signature import SignatureVerifier

    def verify(delivery: Delivery) -> bool:
        verifier = SignatureVerifier(delivery.secret)
        is_valid: bool = verifier.is_valid_request(delivery.body, delivery.headers)
        return is_valid

    def sign(delivery: Delivery) -> Delivery:
        timestamp = str(delivery.now)
        signature = SignatureVerifier(delivery.secret).generate_signature(
            timestamp=timestamp, body=delivery.body
        )
        return delivery.with_headers(
            {"X-Slack-Request-Timestamp": timestamp, "X-Slack-Signature": signature}
        )

    return Judge(verify, sign)


def adyen() -> Judge:
    from Adyen.util import generate_notification_sig, is_valid_hmac_notification

    def verify(delivery: Delivery) -> bool:
        is_valid: bool = is_valid_hmac_notification(
            json.loads(delivery.body), delivery.secret
        )
        return is_valid

    def sign(delivery: Delivery) -> Delivery:
        value = json.loads(delivery.body)
        for row in value["notificationItems"]:
            item = row["NotificationRequestItem"]
            signature = generate_notification_sig(item, delivery.secret).decode()
            item["additionalData"] = {"hmacSignature": signature}
        return replace(delivery, body=json.dumps(value).encode())

    return Judge(verify, sign)


def adyen_body() -> Judge:
    from Adyen.util import generate_payload_sig, is_valid_hmac_payload

    name = "HmacSignature"

    def verify(delivery: Delivery) -> bool:
        is_valid: bool = is_valid_hmac_payload(
            delivery.header(name), delivery.secret, delivery.body
        )
        return is_valid

    def sign(delivery: Delivery) -> Delivery:
        signature = generate_payload_sig(delivery.body, delivery.secret).decode()
        return delivery.with_headers({name: signature})

    return Judge(verify, sign)


def hubspot(version: str) -> Judge:
    from hubspot.exceptions import InvalidSignatureTimestampError
    from hubspot.utils.signature import Signature

    name = "X-HubSpot-Signature-v3" if version == "v3" else "X-HubSpot-Signature"
    clock = "X-HubSpot-Request-Timestamp"

    def verify(delivery: Delivery) -> bool:
        is_valid: bool = Signature.is_valid(
            delivery.header(name),
            delivery.secret,
            delivery.text,
            http_uri=delivery.url,
            signature_version=version,
            timestamp=delivery.header(clock),
        )
        return is_valid

    def sign(delivery: Delivery) -> Delivery:
        timestamp = str(delivery.now * 1000)
        signature = Signature.get_signature(
            delivery.secret,
            delivery.text,
            version,
            http_uri=delivery.url,
            timestamp=timestamp,
        )
        return delivery.with_headers({clock: timestamp, name: signature})

    return Judge(verify, sign, (InvalidSignatureTimestampError,))


def square() -> Judge:
    from square.utils.webhooks_helper import verify_signature

    def verify(delivery: Delivery) -> bool:
        is_valid: bool = verify_signature(
            request_body=delivery.text,
            signature_header=delivery.header("x-square-hmacsha256-signature"),
            signature_key=delivery.secret,
            notification_url=delivery.url,
        )
        return is_valid

    return Judge(verify)


def http_message_signatures(algorithm: str) -> Judge:
    from cryptography.hazmat.primitives.serialization import load_pem_private_key
    from http_message_signatures import (
        HTTPMessageSigner,
        HTTPMessageVerifier,
        HTTPSignatureKeyResolver,
        InvalidSignature,
        algorithms,
    )

    covered = ("@method", "@authority", "@path", "@query", "content-digest")
    read_key = cache(load_pem_private_key)  # since it checks the primes of RSA

    class OneKey(HTTPSignatureKeyResolver):  # type: ignore[misc]
        def __init__(self, secret: str) -> None:
            self._secret = secret

        def resolve_public_key(self, key_id: str) -> object:
            key = self.resolve_private_key(key_id)
            return key if isinstance(key, bytes) else key.public_key()

        def resolve_private_key(self, key_id: str) -> Any:  # noqa: ANN401 - its own
            if algorithm == "HMAC_SHA256":
                return b64decode(self._secret)
            return read_key(self._secret.encode(), None)

    def options(delivery: Delivery) -> dict[str, object]:
        return {
            "signature_algorithm": getattr(algorithms, algorithm),
            "key_resolver": OneKey(delivery.secret),
        }

    def verify(delivery: Delivery) -> bool:
        HTTPMessageVerifier(**options(delivery)).verify(
            delivery,
            max_age=timedelta(seconds=AGE),
            require_components=covered,
            body=delivery.body,
        )
        return True

    def sign(delivery: Delivery) -> Delivery:
        delivery = delivery.with_headers({})
        HTTPMessageSigner(**options(delivery)).sign(
            delivery,
            key_id="judge",
            created=delivery.moment,
            nonce=delivery.event_id,
            covered_component_ids=covered[:-1],
            body=delivery.body,
        )
        return delivery

    return Judge(verify, sign, (InvalidSignature,))


def discord() -> Judge:
    from nacl.exceptions import BadSignatureError
    from nacl.signing import SigningKey

    def verify(delivery: Delivery) -> bool:
        key = SigningKey(bytes.fromhex(delivery.secret)).verify_key
        timestamp = delivery.header("X-Signature-Timestamp").encode()
        signature = bytes.fromhex(delivery.header("X-Signature-Ed25519"))
        key.verify(timestamp + delivery.body, signature)
        return True

    def sign(delivery: Delivery) -> Delivery:
        timestamp = str(delivery.now)
        key = SigningKey(bytes.fromhex(delivery.secret))
        signature = key.sign(timestamp.encode() + delivery.body).signature.hex()
        return delivery.with_headers(
            {"X-Signature-Timestamp": timestamp, "X-Signature-Ed25519": signature}
        )

    return Judge(verify, sign, (BadSignatureError,))


JUDGES: dict[str, Callable[[], Judge]] = {
    "stripe": stripe,
    "standardwebhooks": standardwebhooks,
    "svix": svix,
    "twilio": twilio,
    "slack": slack,
    "adyen": adyen,
    "adyen_body": adyen_body,
    "hubspot_v1": partial(hubspot, "v1"),
    "hubspot_v2": partial(hubspot, "v2"),
    "hubspot_v3": partial(hubspot, "v3"),
    "square": square,
    "http_message_hmac": partial(http_message_signatures, "HMAC_SHA256"),
    "http_message_ed25519": partial(http_message_signatures, "ED25519"),
    "http_message_ecdsa": partial(http_message_signatures, "ECDSA_P256_SHA256"),
    "http_message_rsa": partial(http_message_signatures, "RSA_PSS_SHA512"),
    "discord": discord,
}


def main() -> None:
    judge = JUDGES[sys.argv[1]]()
    for line in sys.stdin:
        asked = json.loads(line)
        asked["body"] = b64decode(asked["body"])
        task = asked.pop("task")
        delivery = Delivery(**asked)
        if task == "verify":
            answer: object = judge.accepts(delivery)
        elif judge.sign is None:
            raise TypeError(f"{sys.argv[1]} does not sign")
        else:
            signed = judge.sign(delivery)
            answer = {
                "url": signed.url,
                "headers": signed.headers,
                "body": b64encode(signed.body).decode(),
            }
        print(json.dumps(answer), flush=True)


main()
