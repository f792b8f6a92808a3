"""Signing a sample as its sender would, to send it to the own endpoint."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.limited_json import read_limited_json
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.text import Text
from outkey.webhooks.core.inbox.delivery import Delivery, NotVerified
from outkey.webhooks.core.schemes.scheme import (
    SYMMETRIC,
    KeyForm,
    SignatureAlgorithm,
    SignatureEncoding,
    TimeUnit,
    VerificationKind,
    WebhookScheme,
)
from outkey.webhooks.core.settings.settings import Webhook, scheme_of
from outkey.webhooks.core.verification.body_signatures import adyen_items, adyen_message
from outkey.webhooks.core.verification.http_signatures import http_signature_headers
from outkey.webhooks.core.verification.keys import (
    PRIVATE_PREFIX,
    is_pem,
    key_bytes,
    private_key_bytes,
)
from outkey.webhooks.core.verification.public_keys import PublicKeys
from outkey.webhooks.core.verification.refusals import refusal
from outkey.webhooks.core.verification.signatures import (
    encode_signature,
    fill_template,
    signed_url,
    symmetric_signature,
)
from outkey.webhooks.core.verification.timestamps import write_timestamp
from outkey.webhooks.core.verification.twilio import BODY_HASH, form_text


class Signing(NamedTuple):
    """A sample, and what it is signed with."""

    delivery: Delivery
    webhook: Webhook
    scheme: WebhookScheme
    secret: Secret
    now: float
    event_id: str
    keys: PublicKeys

    def with_headers(self, *headers: tuple[str, str]) -> Delivery:
        """Return the sample with more headers."""
        return replace(self.delivery, headers=(*self.delivery.headers, *headers))

    def key(self) -> bytes:
        """Return the key of the secret, or refuse a secret of another form."""
        key = key_bytes(self.secret, self.scheme.key)
        if key is None:
            raise _unusable_secret()
        return key

    def sign(self, *message: bytes) -> str:
        """Return the signature of a message as it is sent; it may be in pieces."""
        scheme = self.scheme
        if scheme.algorithm in SYMMETRIC:
            signature = symmetric_signature(scheme.algorithm, self.key(), *message)
            return encode_signature(scheme.encoding, signature)
        private = private_key_bytes(self.secret, scheme.key)
        result = self.keys.sign(private, b"".join(message)) if private else None
        if result is None:
            raise _unusable_secret()
        return encode_signature(scheme.encoding, result)


def sign(
    delivery: Delivery,
    webhook: Webhook,
    secret: Secret,
    *,
    now: float,
    event_id: str,
    keys: PublicKeys,
) -> Delivery:
    """Return a sample as its sender would send it, or raise ConfigError.

    Headers are added; a few schemes put the signature into the body or the URL. For the
    schemes with an Ed25519 key the secret is the private key.
    """
    scheme = scheme_of(webhook)
    if scheme and scheme.with_public_key and secret.known_prefix((PRIVATE_PREFIX,)):
        scheme = scheme.with_public_key
    signer = SIGNERS.get(scheme.kind) if scheme else None
    is_possible = scheme and (
        scheme.algorithm in SYMMETRIC or scheme.algorithm is SignatureAlgorithm.ED25519
    )
    if not scheme or not signer or not is_possible:
        raise ConfigError(
            Text("a sample of this scheme can be signed by its sender only"),
            hint=Text("Have the sender send a test delivery."),
            field="scheme",
        )
    if not secret and scheme.needs_secret:
        raise _unusable_secret()
    try:
        return signer(
            Signing(
                delivery=delivery,
                webhook=webhook,
                scheme=scheme,
                secret=secret,
                now=now,
                event_id=event_id,
                keys=keys,
            )
        )
    except NotVerified as problem:
        refused = refusal(problem)
        raise ConfigError(refused.text, hint=refused.hint, field="scheme") from None


def _unusable_secret() -> ConfigError:
    """Return the error for a secret that cannot sign."""
    return ConfigError(
        Text("the secret does not have the form that the scheme needs"),
        hint=Text("Copy the whole secret again from the sender, with its prefix."),
        field="secret",
    )


def _sign_by_table(signing: Signing) -> Delivery:
    """Sign a sample of a scheme that the table describes completely."""
    scheme = signing.scheme
    rule = scheme.timestamp
    unit = rule.unit if rule else TimeUnit.SECONDS
    timestamp = write_timestamp(signing.now, unit)
    parts = {
        "body": signing.delivery.body,
        "method": signing.delivery.method.encode(),
        "timestamp": timestamp.encode(),
        "id": signing.event_id.encode(),
    }
    if "{secret}" in scheme.signed:
        parts["secret"] = signing.key()
    if "{url}" in scheme.signed:
        parts["url"] = signed_url(scheme, signing.delivery.url)
    signature = signing.sign(*fill_template(scheme.signed, parts))
    headers = []
    if scheme.id_headers:
        headers.append((scheme.id_headers[0], signing.event_id))
    if rule and rule.headers:
        headers.append((rule.headers[0], timestamp))
    value = _written_signature(scheme, signature, timestamp)
    return signing.with_headers(*headers, (scheme.signature_headers[0], value))


def _written_signature(scheme: WebhookScheme, signature: str, timestamp: str) -> str:
    """Return the value of the header with the signature."""
    listing = scheme.listing
    if listing is None:
        return f"{scheme.prefixes[0]}{signature}"
    value = f"{listing.version}{listing.mark}{signature}"
    if not listing.timestamp:
        return value
    time = f"{listing.timestamp}{listing.mark}{timestamp}"
    return f"{time}{listing.separator}{value}"


def _sign_with_token(signing: Signing) -> Delivery:
    """Send the secret itself."""
    scheme = signing.scheme
    value = f"{scheme.prefixes[0]}{signing.key().decode()}"
    return signing.with_headers((scheme.signature_headers[0], value))


def _sign_with_basic(signing: Signing) -> Delivery:
    """Send user name and password."""
    pair = f"{signing.webhook.username}:".encode() + signing.key()
    value = encode_signature(SignatureEncoding.BASE64, pair)
    return signing.with_headers(("Authorization", f"Basic {value}"))


def _sign_twilio(signing: Signing) -> Delivery:
    """Sign the URL, with the fields of a form or the hash of another body."""
    delivery = signing.delivery
    types = delivery.header_values("Content-Type")
    fields = ""
    if any("x-www-form-urlencoded" in value for value in types):
        fields = form_text(delivery.body)
    elif delivery.body:
        mark = "&" if "?" in delivery.url else "?"
        digest = hashlib.sha256(delivery.body).hexdigest()
        delivery = replace(delivery, url=f"{delivery.url}{mark}{BODY_HASH}={digest}")
    url = signed_url(signing.scheme, delivery.url).decode()
    signature = signing.sign(f"{url}{fields}".encode())
    headers = (
        ("I-Twilio-Idempotency-Token", signing.event_id),
        (signing.scheme.signature_headers[0], signature),
    )
    return replace(delivery, headers=(*delivery.headers, *headers))


def _sign_mailgun(signing: Signing) -> Delivery:
    """Put time, token and signature into the body."""
    body = _sample_object(signing.delivery.body)
    timestamp = write_timestamp(signing.now, TimeUnit.SECONDS)
    token = hashlib.sha256(signing.event_id.encode()).hexdigest()[:50]
    body["signature"] = {
        "timestamp": timestamp,
        "token": token,
        "signature": signing.sign(f"{timestamp}{token}".encode()),
    }
    return replace(signing.delivery, body=json.dumps(body).encode())


def _sign_adyen(signing: Signing) -> Delivery:
    """Put a signature into each item of the body."""
    body = _sample_object(signing.delivery.body)
    for item in adyen_items(body):
        additional = item.get("additionalData")
        data = additional if isinstance(additional, dict) else {}
        signature = signing.sign(adyen_message(item))
        item["additionalData"] = {**data, "hmacSignature": signature}
    return replace(signing.delivery, body=json.dumps(body).encode())


def _sign_graph(signing: Signing) -> Delivery:
    """Put the secret into each item of the body."""
    body = _sample_object(signing.delivery.body)
    items = body.get("value")
    for item in items if isinstance(items, list) else []:
        if isinstance(item, dict):
            item["clientState"] = signing.key().decode()
    return replace(signing.delivery, body=json.dumps(body).encode())


def _sign_http_message(signing: Signing) -> Delivery:
    """Sign by RFC 9421, with a shared key."""
    key = key_bytes(signing.secret, KeyForm.BASE64)
    if key is None or is_pem(signing.secret):
        raise _unusable_secret()
    signed_url(signing.scheme, signing.delivery.url)  # refuses a missing one
    headers = http_signature_headers(
        signing.delivery, key, signing.now, signing.event_id
    )
    return signing.with_headers(*headers)


def _send_as_it_is(signing: Signing) -> Delivery:
    """Leave a sample unsigned, as its sender does."""
    return signing.delivery


def _sample_object(body: bytes) -> dict[str, object]:
    """Return the JSON object of a sample, or raise ConfigError."""
    try:
        value = read_limited_json(body)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise ConfigError(
            Text("the sample of this scheme must be a JSON object"), field="scheme"
        )
    return value


SIGNERS: dict[VerificationKind, Callable[[Signing], Delivery]] = {
    VerificationKind.SIGNATURE: _sign_by_table,
    VerificationKind.TOKEN: _sign_with_token,
    VerificationKind.BASIC: _sign_with_basic,
    VerificationKind.TWILIO: _sign_twilio,
    VerificationKind.MAILGUN: _sign_mailgun,
    VerificationKind.ADYEN: _sign_adyen,
    VerificationKind.GRAPH: _sign_graph,
    VerificationKind.HTTP_SIGNATURE: _sign_http_message,
    VerificationKind.FETCH: _send_as_it_is,
    VerificationKind.UNVERIFIED: _send_as_it_is,
}
