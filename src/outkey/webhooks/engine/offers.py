"""Secrets that a sender offers with its first handshake."""

from outkey.foundation.core.secret import Secret
from outkey.sending.core.audit.events import Change, ChangeEffect, Tag
from outkey.sending.ports.sending import Audit
from outkey.webhooks.core.schemes.scheme import HandshakeKind
from outkey.webhooks.core.settings.sealed import OFFERED_BY
from outkey.webhooks.core.settings.settings import scheme_of
from outkey.webhooks.core.settings.stored import SECRET, StoredWebhook
from outkey.webhooks.engine.stored_webhooks import WebhookSettings


def accept_offer(
    settings: WebhookSettings,
    audit: Audit,
    stored: StoredWebhook,
    *,
    offered: Secret,
    address: str = "",
) -> bool:
    """Store an offered secret; return whether it is now that of the webhook.

    Only the first one is accepted: another would let a stranger who knows the endpoint
    sign deliveries. A handshake with the secret that is set changes nothing. The
    address it came from is recorded: the first one may be a stranger's.
    """
    if stored.has_secret and stored.is_bound(SECRET):
        return settings.open_secrets(stored).current == offered
    audit.note(
        Change(
            Tag.SECRET_SET,
            OFFERED_BY,
            fields=(stored.name, SECRET, *filter(None, [address])),
            effect=ChangeEffect.CREATED,
        )
    )
    return settings.accept_secret(stored.name, offered, by=OFFERED_BY, address=address)


def has_offer(stored: StoredWebhook) -> bool:
    """Whether the sender has offered a token that a user has to enter there."""
    scheme = scheme_of(stored.webhook)
    secret = stored.secrets.get(SECRET)
    is_offered = secret is not None and secret.set_by == OFFERED_BY
    is_for_scheme = stored.is_bound(SECRET)
    is_asked_for = scheme is not None and scheme.handshake is HandshakeKind.NOTION
    return is_offered and is_for_scheme and is_asked_for
