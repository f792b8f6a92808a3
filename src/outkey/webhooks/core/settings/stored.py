"""A webhook as it is stored: its settings, its endpoint and its sealed secrets."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from outkey.foundation.core.errors import OutkeyError, RowUnreadable
from outkey.foundation.core.moments import day_of
from outkey.foundation.core.stored_values import is_odd
from outkey.foundation.core.toml.text import section_lines, toml_key
from outkey.sending.core.vault.envelope import Place
from outkey.webhooks.core.settings.sealed import (
    SealedWebhookSecret,
    sealed_secrets,
    secret_place,
)
from outkey.webhooks.core.settings.section import (
    REFERENCES,
    read_webhook,
    webhook_table,
)
from outkey.webhooks.core.settings.settings import Webhook, secret_binding

ENDPOINT = re.compile(r"[A-Za-z0-9_-]{22}")
SECRET = "secret"  # noqa: S105 - the name of a field
PREVIOUS = "previous_secret"
VERIFY_TOKEN = "verify_token"  # noqa: S105 - the name of a field
REPLACED = "replaced_secret"  # accepted no more; it only explains refusals
BODIES = "bodies"  # the key that seals the bodies of deliveries
BOUND = (*REFERENCES, REPLACED)


def without_references(webhook: Webhook, names: Iterable[str]) -> Webhook:
    """Return a webhook that does not name these secrets, so that stored ones stay."""
    empty = {name: None if name == PREVIOUS else "" for name in names}
    return replace(webhook, **empty)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class StoredWebhook:
    """A webhook, the random characters of its endpoint, and its sealed secrets.

    `bound` has for each secret the `secret_binding` that it was entered for, or that
    its reference was named for: it is used for nothing else.
    """

    webhook: Webhook
    endpoint: str
    is_paused: bool = False
    secrets: Mapping[str, SealedWebhookSecret] = field(default_factory=dict, repr=False)
    bound: Mapping[str, str] = field(default_factory=dict)
    # Why it accepts nothing: it was changed without outkey, or outkey is sealed.
    error: OutkeyError | None = field(default=None, compare=False, repr=False)

    @property
    def name(self) -> str:
        """The name of the webhook."""
        return self.webhook.name

    @property
    def has_secret(self) -> bool:
        """Whether the secret is set, by a reference or a value."""
        return self.has(SECRET)

    def has(self, name: str) -> bool:
        """Whether a secret is set, by a reference or a value."""
        return bool(getattr(self.webhook, name)) or name in self.secrets

    def is_bound(self, name: str) -> bool:
        """Whether a secret was entered for the scheme that the webhook has now."""
        return self.bound.get(name) == secret_binding(self.webhook)

    def is_of_other_scheme(self, name: str) -> bool:
        """Whether a secret is set, but was entered for another scheme."""
        return self.has(name) and not self.is_bound(name)

    @classmethod
    def from_facts(cls, name: str, facts: Mapping[str, Any]) -> Self:
        """Return the webhook that stored facts describe.

        Raises ConfigError, and RowUnreadable for facts that outkey never writes.
        """
        if is_odd(facts):
            raise RowUnreadable
        webhook = read_webhook(name, facts["settings"], f"webhook.{name}.")
        # Version 0.2 did not store it: then it is the scheme that the webhook has.
        present = dict.fromkeys(BOUND, secret_binding(webhook))
        return cls(
            webhook,
            str(facts["endpoint"]),
            is_paused=bool(facts["paused"]),
            secrets=sealed_secrets(facts),
            bound=facts.get("bound", present),
        )

    def facts(self) -> dict[str, object]:
        """Return the webhook as JSON can hold it."""
        return {
            "settings": webhook_table(self.webhook),
            "endpoint": self.endpoint,
            "paused": self.is_paused,
            "secrets": {name: secret.facts() for name, secret in self.secrets.items()},
            "bound": dict(self.bound),
        }

    def place_of(self, name: str) -> Place:
        """Return the place of the next version of a secret."""
        before = self.secrets.get(name)
        return secret_place(self.endpoint, name, before.version + 1 if before else 1)

    def with_secret(
        self, name: str, secret: SealedWebhookSecret, bound_to: str = ""
    ) -> Self:
        """Return the webhook with another value of a secret, instead of a reference.

        It is for the scheme that the webhook has now, unless `bound_to` has another.
        """
        webhook = self.webhook
        if name in REFERENCES:
            webhook = without_references(webhook, [name])
        return replace(
            self,
            webhook=webhook,
            secrets={**self.secrets, name: secret},
            bound={**self.bound, name: bound_to or secret_binding(self.webhook)},
        )

    def as_written(self, new: Webhook) -> Webhook:
        """Return the settings as a document would state them, to compare with new ones.

        An empty previous secret is unchanged if none is stored. A reference
        that the document names for another scheme than before is like a new one.
        """
        has_previous = PREVIOUS in self.secrets or self.webhook.previous_secret
        is_cleared = new.previous_secret == "" and not has_previous
        binding = secret_binding(new)
        unbound = [
            name
            for name in REFERENCES
            if getattr(new, name) and self.bound.get(name) != binding
        ]
        stored = without_references(self.webhook, unbound)
        return replace(stored, previous_secret="") if is_cleared else stored

    def with_settings(self, webhook: Webhook, *, names_references: bool = True) -> Self:
        """Return the webhook with other settings.

        A reference takes the place of a value that was entered; an empty previous
        secret removes it. If the user `names_references`, as in a document, they are
        for the new scheme; else each stays bound to the scheme that it was named for.
        """
        removed = {
            name
            for name in REFERENCES
            if getattr(webhook, name)
            or (name == PREVIOUS and webhook.previous_secret == "")
        }
        secrets = {k: secret for k, secret in self.secrets.items() if k not in removed}
        settings = replace(webhook, previous_secret=webhook.previous_secret or None)
        named = [name for name in REFERENCES if getattr(webhook, name)]
        bound = dict.fromkeys(
            named if names_references else (), secret_binding(webhook)
        )
        return replace(
            self, webhook=settings, secrets=secrets, bound={**self.bound, **bound}
        )


def webhook_lines(stored: StoredWebhook) -> Iterator[str]:
    """Yield the table of a webhook; a stored secret is a comment."""
    table = webhook_table(stored.webhook)
    yield from section_lines(f"webhook.{toml_key(stored.name)}", table)
    for name in REFERENCES:
        if name in stored.secrets:
            yield f"# {name}: set {day_of(stored.secrets[name].set_at)}"
