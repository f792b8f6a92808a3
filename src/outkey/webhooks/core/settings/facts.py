"""Webhooks and deliveries as programs read them, in JSON; never a secret or a body."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from outkey.foundation.core.findings.checks import Finding
from outkey.foundation.core.moments import iso_moment
from outkey.foundation.core.text import Text
from outkey.webhooks.core.inbox.inbox import InboxDelivery
from outkey.webhooks.core.settings.section import REFERENCES, webhook_table
from outkey.webhooks.core.settings.stored import StoredWebhook


@dataclass(frozen=True, slots=True)
class ShownWebhook:
    """A webhook with what is computed about it."""

    stored: StoredWebhook
    endpoint: str  # its URL, or its path where the public URL is unknown
    refused: Mapping[str, int]  # how many deliveries, by reason
    # Text and hint of each reason for which deliveries were refused.
    explained: Mapping[str, tuple[Text, Text]]
    findings: Sequence[Finding]


def webhook_state(stored: StoredWebhook) -> str:
    """Return whether a webhook receives deliveries."""
    return "paused" if stored.is_paused else "active"


def webhook_facts(shown: ShownWebhook) -> dict[str, object]:
    """Return a webhook by its TOML keys; of a secret, its reference or that it is set.

    The key `webhook` is its name.
    """
    stored = shown.stored
    settings = webhook_table(stored.webhook)
    references = {key: settings.pop(key, None) for key in REFERENCES}
    return {
        "webhook": stored.name,
        **settings,
        "endpoint": shown.endpoint,
        "state": webhook_state(stored),
        "secrets": {
            key: reference or ("set" if key in stored.secrets else None)
            for key, reference in references.items()
        },
        "refused": dict(shown.refused),
        "refusals": [
            {"reason": reason, "message": message, "hint": hint}
            for reason, (message, hint) in shown.explained.items()
        ],
        "findings": [asdict(finding) for finding in shown.findings],
    }


def delivery_facts(delivery: InboxDelivery) -> dict[str, object]:
    """Return a delivery without its body."""
    return {
        "id": delivery.id,
        "event_id": delivery.event_id,
        "type": delivery.event_type,
        "received_at": iso_moment(delivery.received_at),
        "state": str(delivery.state),
        "attempts": delivery.attempts,
        "reason": delivery.reason,
        "records": delivery.records,
        "tested_by": delivery.tested_by or None,
    }
