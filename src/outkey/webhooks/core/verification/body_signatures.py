"""Schemes whose proof is inside the body: Mailgun, Adyen and Microsoft Graph.

The body is read with limits before it is verified, and nothing else is done with it.
"""

import json
import re
from urllib.parse import parse_qsl

from outkey.foundation.core.limited_json import text_at
from outkey.foundation.core.secret import Secret
from outkey.webhooks.core.inbox.delivery import (
    NotVerified,
    RefusalReason,
    SecretSlot,
    SignedEvent,
    Verified,
)
from outkey.webhooks.core.schemes.scheme import TimestampRule, TimeUnit, WebhookScheme
from outkey.webhooks.core.verification.attempt import (
    Attempt,
    event_text,
    match_secret,
    read_body,
    verified_event,
)
from outkey.webhooks.core.verification.signatures import decode_signature, is_signed
from outkey.webhooks.core.verification.timestamps import check_age, read_timestamp

MAX_FIELDS = 1000  # of a form
MAX_ITEMS = 1000  # of a batch
MAILGUN_TOKEN = re.compile(r"[0-9A-Za-z]{1,100}")
AMOUNT_FIELDS = ("value", "currency")  # these are in an object of their own
ADYEN_FREE_FIELD = "merchantReference"
ADYEN_FIELDS = (
    "pspReference",
    "originalReference",
    "merchantAccountCode",
    ADYEN_FREE_FIELD,
    *AMOUNT_FIELDS,
    "eventCode",
    "success",
)


def is_form(attempt: Attempt) -> bool:
    """Whether the body is a form, by its Content-Type."""
    types = attempt.delivery.header_values("Content-Type")
    return any("x-www-form-urlencoded" in value.lower() for value in types)


def form_pairs(body: bytes) -> list[tuple[str, str]]:
    """Return names and values of a form, or refuse the delivery."""
    try:
        return parse_qsl(
            body.decode(),
            keep_blank_values=True,
            errors="strict",  # or two bodies could have the same signed text
            max_num_fields=MAX_FIELDS,
        )
    except ValueError:
        raise NotVerified(RefusalReason.BODY_UNREADABLE) from None


def verify_mailgun(attempt: Attempt) -> Verified:
    """Verify time and token of a delivery of Mailgun; the rest is not signed."""
    if is_form(attempt):
        fields = dict(form_pairs(attempt.delivery.body))
    else:
        value = read_body(attempt, dict)
        names = ("timestamp", "token", "signature")
        fields = {name: text_at(value, f"signature.{name}") for name in names}
    timestamp = fields.get("timestamp", "")
    token = fields.get("token", "")
    text = fields.get("signature", "")
    if not text:
        raise NotVerified(RefusalReason.SIGNATURE_MISSING, header="signature")
    moment = read_timestamp(timestamp, TimeUnit.SECONDS)
    signature = decode_signature(attempt.scheme.encoding, text)
    if not MAILGUN_TOKEN.fullmatch(token) or not signature:
        raise NotVerified(RefusalReason.SIGNATURE_MALFORMED)
    message = f"{timestamp}{token}".encode()

    def is_match(scheme: WebhookScheme, key: bytes) -> bool:
        return is_signed(scheme, key, [message], [signature], attempt.keys)

    slot = match_secret(attempt, is_match)
    check_age(attempt.scheme.timestamp or TimestampRule(), moment, attempt.now)
    return verified_event(
        attempt, slot, timestamp=moment, nonce=token, covers_body=False
    )


def verify_adyen(attempt: Attempt) -> Verified:
    """Verify each item of a delivery of Adyen, not only the first one."""
    value = read_body(attempt, dict)
    items = adyen_items(value)
    slots = [_adyen_slot(attempt, item) for item in items]
    events = [_adyen_event(value, item) for item in items]
    if len({event.key for event in events}) != len(events):
        raise NotVerified(RefusalReason.BODY_UNREADABLE)
    if len(events) == 1:
        events = [events[0]._replace(body=attempt.delivery.body)]
    return Verified(
        slot=SecretSlot.PREVIOUS if SecretSlot.PREVIOUS in slots else slots[0],
        event_id=events[0].event_id if len(events) == 1 else "",
        event_type=events[0].event_type if len(events) == 1 else "",
        covers_body=False,
        events=tuple(events),
    )


def _adyen_event(value: dict[str, object], item: dict[str, object]) -> SignedEvent:
    """Return an item by what identifies it, all of which is signed.

    A payment that has failed may succeed later under the same reference.
    """
    code, reference, success = (
        _adyen_text(item.get(name)) for name in ("eventCode", "pspReference", "success")
    )
    event_id = event_text(f"{code}:{reference}")
    items = [{"NotificationRequestItem": item}]
    return SignedEvent(
        key=event_id if success == "true" else event_text(f"{event_id}:{success}"),
        event_id=event_id,
        event_type=event_text(code),
        body=json.dumps({**value, "notificationItems": items}).encode(),
    )


def adyen_items(value: dict[str, object]) -> list[dict[str, object]]:
    """Return the items of a delivery of Adyen, or refuse it."""
    rows = value.get("notificationItems")
    if not isinstance(rows, list) or not 0 < len(rows) <= MAX_ITEMS:
        raise NotVerified(RefusalReason.BODY_UNREADABLE)
    items = [
        row.get("NotificationRequestItem") if isinstance(row, dict) else None
        for row in rows
    ]
    readable = [item for item in items if isinstance(item, dict)]
    if len(readable) != len(rows):
        raise NotVerified(RefusalReason.BODY_UNREADABLE)
    return readable


def _adyen_slot(attempt: Attempt, item: dict[str, object]) -> SecretSlot:
    """Return which secret an item was signed with, or refuse the delivery."""
    additional = item.get("additionalData")
    text = text_at(additional, "hmacSignature")
    if not text:
        raise NotVerified(RefusalReason.SIGNATURE_MISSING, header="hmacSignature")
    signature = decode_signature(attempt.scheme.encoding, text)
    message = adyen_message(item)

    def is_match(scheme: WebhookScheme, key: bytes) -> bool:
        return is_signed(scheme, key, [message], [signature], attempt.keys)

    return match_secret(attempt, is_match)


def adyen_message(item: dict[str, object]) -> bytes:
    """Return the signed text of an item.

    Each value is read from the place where the handler reads it. Otherwise a second
    one in another place could be the signed one, and the first one anything.
    """
    amount = item.get("amount")
    amounts = amount if isinstance(amount, dict) else {}
    texts = {
        name: _adyen_text((amounts if name in AMOUNT_FIELDS else item).get(name))
        for name in ADYEN_FIELDS
    }
    # A merchant may write a colon. A second value with one could be a part of it.
    if any(":" in text for name, text in texts.items() if name != ADYEN_FREE_FIELD):
        raise NotVerified(RefusalReason.BODY_UNREADABLE)
    return ":".join(texts.values()).encode()


def _adyen_text(value: object) -> str:
    """Return a value as Adyen signs it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str | int):
        raise NotVerified(RefusalReason.BODY_UNREADABLE)
    return str(value)


def verify_graph(attempt: Attempt) -> Verified:
    """Compare the state of each item of a delivery of Microsoft Graph."""
    items = read_body(attempt, dict).get("value")
    if not isinstance(items, list) or not 0 < len(items) <= MAX_ITEMS:
        raise NotVerified(RefusalReason.BODY_UNREADABLE)
    states = [Secret(text_at(item, "clientState")) for item in items]
    if not all(states):
        raise NotVerified(RefusalReason.SIGNATURE_MISSING, header="clientState")
    for slot, secret in attempt.secrets.slots():
        results = [secret == state for state in states]
        if all(results):
            kinds = {text_at(item, "changeType") for item in items}
            return Verified(
                slot=slot,
                event_type=event_text(kinds.pop()) if len(kinds) == 1 else "",
                covers_body=False,
            )
    raise NotVerified(RefusalReason.WRONG_SIGNATURE)
