"""One verification: everything it needs, and the steps that all schemes share."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from outkey.foundation.core.limited_json import read_limited_json, text_at
from outkey.webhooks.core.inbox.delivery import (
    Delivery,
    NotVerified,
    RefusalReason,
    SecretSlot,
    Verified,
    WebhookSecrets,
)
from outkey.webhooks.core.schemes.scheme import WebhookScheme
from outkey.webhooks.core.settings.settings import Webhook
from outkey.webhooks.core.verification.keys import key_bytes
from outkey.webhooks.core.verification.public_keys import PublicKeys
from outkey.webhooks.core.verification.signatures import scheme_for, single_header

Expected = TypeVar("Expected")
MAX_EVENT_TEXT = 256


@dataclass(frozen=True, slots=True)
class Attempt:
    """A delivery, and what it is verified with."""

    delivery: Delivery
    webhook: Webhook
    scheme: WebhookScheme
    secrets: WebhookSecrets
    now: float
    keys: PublicKeys
    certificate: bytes = b""


def match_secret(
    attempt: Attempt, is_match: Callable[[WebhookScheme, bytes], bool]
) -> SecretSlot:
    """Return which secret a delivery was signed with, or refuse the delivery."""
    reason = RefusalReason.WRONG_SIGNATURE
    for slot, secret in attempt.secrets.slots():
        scheme = scheme_for(attempt.scheme, secret)
        key = key_bytes(secret, scheme.key)
        if key is None:
            reason = RefusalReason.SECRET_UNUSABLE
        elif is_match(scheme, key):
            return slot
    raise NotVerified(reason)


def read_body(attempt: Attempt, kind: type[Expected]) -> Expected:
    """Return the JSON of a body whose parts are signed, or refuse the delivery."""
    try:
        value = read_limited_json(attempt.delivery.body)
    except ValueError:
        value = None
    if not isinstance(value, kind):
        raise NotVerified(RefusalReason.BODY_UNREADABLE)
    return value


def event_text(text: str) -> str:
    """Return an id or type of an event as it can be stored and shown."""
    printable = "".join(filter(str.isprintable, text))
    return printable[:MAX_EVENT_TEXT]


def verified_event(
    attempt: Attempt,
    slot: SecretSlot,
    *,
    timestamp: float | None = None,
    nonce: str = "",
    covers_body: bool = True,
    signed: bytes = b"",
) -> Verified:
    """Return a verified delivery with the id and type of its event.

    The body is parsed only here, after its signature was found valid. `signed` is what
    stands for the body where several bodies have the same signature.
    """
    scheme = attempt.scheme
    digest = signed_digest(signed or attempt.delivery.body, timestamp)
    value: object = None
    if scheme.id_path or scheme.type_path:
        try:
            value = read_limited_json(attempt.delivery.body)
        except ValueError:
            value = None  # stored as it is, and reported when it is processed
    event_id = single_header(attempt.delivery, scheme.id_headers)
    event_type = single_header(attempt.delivery, scheme.type_headers)
    return Verified(
        slot=slot,
        event_id=event_text(event_id or text_at(value, scheme.id_path)),
        event_type=event_text(event_type or text_at(value, scheme.type_path)),
        timestamp=timestamp,
        nonce=nonce,
        covers_body=covers_body,
        digest=digest if covers_body else "",
    )


def signed_digest(signed: bytes, timestamp: float | None = None) -> str:
    """Return the digest that identifies a signed delivery whose id is not signed."""
    digest = hashlib.sha256(f"{timestamp}\n".encode() + signed)
    return f"sha256:{digest.hexdigest()}"
