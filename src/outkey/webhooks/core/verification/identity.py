"""Whether a delivery repeats an earlier one: by its id, or by what is signed."""

from outkey.webhooks.core.inbox.delivery import Delivery, Verified
from outkey.webhooks.core.inbox.inbox import WAITING
from outkey.webhooks.core.settings.settings import scheme_of
from outkey.webhooks.core.settings.stored import StoredWebhook
from outkey.webhooks.core.verification.attempt import event_text, signed_digest


def is_notice(stored: StoredWebhook, verified: Verified) -> bool:
    """Whether a delivery only names what has changed, so that equal ones differ."""
    webhook = stored.webhook
    return bool(webhook.run or webhook.confirm or verified.fetch_id)


def is_senders_id(stored: StoredWebhook, verified: Verified) -> bool:
    """Whether only the sender can have chosen the id, so that it decides alone.

    It is signed, or the delivery has the secret itself. Otherwise a captured delivery
    could be sent with the ids of future ones, and these would be taken for duplicates.
    """
    scheme = scheme_of(stored.webhook)
    if scheme is None or scheme.proves_nothing:
        return False
    is_found_in_body = not verified.event_id  # by the user's expression
    return scheme.signs_id or is_found_in_body or not verified.covers_body


def nonce_of(
    stored: StoredWebhook, delivery: Delivery, verified: Verified, *, event_id: str
) -> str:
    """Return the value besides its id that may come once, or "".

    Where the id is not signed, it is all that is signed: otherwise a captured delivery
    could be sent again and again, each time with another id. If a delivery only names
    what has changed, one of the equal ones that wait is enough.
    """
    scheme = scheme_of(stored.webhook)
    if verified.nonce:
        return event_text(verified.nonce)
    if event_id and scheme is not None and scheme.signs_id:
        return ""
    if is_notice(stored, verified):
        return WAITING + (verified.fetch_id or signed_digest(delivery.body))
    return verified.digest
