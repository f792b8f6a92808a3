"""A webhook as it is stored: its settings, its endpoint and its sealed secrets."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from outkey.core.config.webhook_section import read_webhook, webhook_table
from outkey.core.vault.envelope import Place
from outkey.core.webhooks.sealed import (
    SealedHookSecret,
    sealed_secrets,
    secret_place,
)
from outkey.core.webhooks.settings import Webhook

ENDPOINT = re.compile(r"[A-Za-z0-9_-]{22}")
SECRET = "secret"  # noqa: S105 - the name of a field
PREVIOUS = "previous_secret"
VERIFY_TOKEN = "verify_token"  # noqa: S105 - the name of a field
REPLACED = "replaced_secret"  # accepted no more; it only explains refusals
BODIES = "bodies"  # the key that seals the bodies of deliveries


def without_references(webhook: Webhook, names: Iterable[str]) -> Webhook:
    """Return a webhook that does not name these secrets, so that stored ones stay."""
    empty = {name: None if name == PREVIOUS else "" for name in names}
    return replace(webhook, **empty)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class StoredWebhook:
    """A webhook, the random characters of its endpoint, and its sealed secrets."""

    webhook: Webhook
    endpoint: str
    is_paused: bool = False
    secrets: Mapping[str, SealedHookSecret] = field(default_factory=dict, repr=False)

    @property
    def name(self) -> str:
        """The name of the webhook."""
        return self.webhook.name

    @property
    def has_secret(self) -> bool:
        """Whether the secret is set, by a reference or a value."""
        return bool(self.webhook.secret) or SECRET in self.secrets

    @classmethod
    def from_facts(cls, name: str, facts: Mapping[str, Any]) -> Self:
        """Return the webhook that stored facts describe."""
        return cls(
            read_webhook(name, facts["settings"], f"webhook.{name}."),
            str(facts["endpoint"]),
            is_paused=bool(facts["paused"]),
            secrets=sealed_secrets(facts),
        )

    def facts(self) -> dict[str, object]:
        """Return the webhook as JSON can hold it."""
        return {
            "settings": webhook_table(self.webhook),
            "endpoint": self.endpoint,
            "paused": self.is_paused,
            "secrets": {name: secret.facts() for name, secret in self.secrets.items()},
        }

    def place_of(self, name: str) -> Place:
        """Return the place of the next version of a secret."""
        before = self.secrets.get(name)
        return secret_place(self.endpoint, name, before.version + 1 if before else 1)

    def with_secret(self, name: str, secret: SealedHookSecret) -> Self:
        """Return the webhook with another value of a secret, instead of a reference."""
        webhook = self.webhook
        if name in {SECRET, PREVIOUS, VERIFY_TOKEN}:
            webhook = without_references(webhook, [name])
        return replace(self, webhook=webhook, secrets={**self.secrets, name: secret})

    def as_written(self, new: Webhook) -> Webhook:
        """Return the settings as a document would state them, to compare with new ones.

        An empty previous secret is as stored where there is none to remove.
        """
        has_previous = PREVIOUS in self.secrets or self.webhook.previous_secret
        is_cleared = new.previous_secret == "" and not has_previous
        return replace(self.webhook, previous_secret="") if is_cleared else self.webhook

    def with_settings(self, webhook: Webhook) -> Self:
        """Return the webhook with other settings.

        A reference takes the place of a value that was entered; an empty previous
        secret removes it.
        """
        removed = {
            name
            for name in (SECRET, PREVIOUS, VERIFY_TOKEN)
            if getattr(webhook, name)
            or (name == PREVIOUS and webhook.previous_secret == "")
        }
        secrets = {k: secret for k, secret in self.secrets.items() if k not in removed}
        settings = replace(webhook, previous_secret=webhook.previous_secret or None)
        return replace(self, webhook=settings, secrets=secrets)
