"""Webhooks that programs create, change and delete, by the token of a program."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from outkey.administration.core.access.api_tokens import Scope
from outkey.administration.core.access.versions import (
    WEBHOOK_DIFFERS,
    content_tag,
    naming_version,
    refuse_other_version,
)
from outkey.administration.core.access.written import (
    names_references,
    naming_keys,
    written_webhook,
)
from outkey.administration.engine.access.api_access import ApiAccess, unknown_webhook
from outkey.administration.engine.access.own_targets import (
    named_line,
    refuse_targets,
)
from outkey.foundation.core.errors import BlockedByPolicy, ConfigError
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.text import Text
from outkey.sending.core.configuration.reference import parse_reference
from outkey.webhooks.core.settings.facts import ShownWebhook
from outkey.webhooks.core.settings.section import (
    REFERENCES,
    read_webhook,
    webhook_table,
)
from outkey.webhooks.core.settings.settings import Webhook
from outkey.webhooks.core.settings.stored import StoredWebhook
from outkey.webhooks.engine.changes import NewWebhook, WebhookAdministration
from outkey.webhooks.engine.form import refuse_unfit_secret


class TaggedWebhook(NamedTuple):
    """A webhook with what is computed about it, and its entity tag."""

    shown: ShownWebhook
    tag: str
    created: bool = False


@dataclass(frozen=True, slots=True)
class ApiWebhooks:
    """The changes of webhooks that a token permits, with the scope `manage`."""

    access: ApiAccess

    def get(self, name: str, *, created: bool = False) -> TaggedWebhook:
        """Return a webhook of the token's configurations; else UnknownConfiguration."""
        shown = self.access.webhook(name)
        return TaggedWebhook(shown, webhook_tag(shown.stored), created)

    def save(
        self, name: str, facts: Mapping[str, object], *, whole: bool, version: str = ""
    ) -> TaggedWebhook:
        """Create or change a webhook.

        If `whole`, what is not named gets its default, except for references, and a
        name that is not stored yet creates a webhook. `version` is the one that the
        program has seen, as an ETag, "" for any.
        """
        self.access.token.demand(Scope.MANAGE)
        stored = self.access.savable_webhook(name)
        if stored is None and not whole:
            raise unknown_webhook()
        tag = None if stored is None else webhook_tag(stored)
        refuse_other_version(tag, version, WEBHOOK_DIFFERS)
        before = None if stored is None else stored.webhook
        place = f"webhook.{name}."
        changes = self._changes()
        is_named = names_references(facts)
        with naming_keys(place):
            table = written_webhook(name, facts, before, whole=whole)
            webhook = read_webhook(name, table, place)
            self._refuse_forbidden(stored, webhook, is_named=is_named)
            changes.refuse_unfit(NewWebhook(webhook))
        if stored is None or stored.as_written(webhook) != webhook:
            with naming_version(version, WEBHOOK_DIFFERS):
                changes.save_seen(stored, webhook, names_references=is_named)
        return self.get(name, created=stored is None)

    def remove(self, name: str, version: str = "") -> None:
        """Delete a webhook with its secrets and deliveries.

        `version` is the one that the program has seen, as an ETag, "" for any.
        """
        self.access.token.demand(Scope.MANAGE)
        refuse_other_version(self.get(name).tag, version, WEBHOOK_DIFFERS)
        self._changes().remove(name)

    def set_secret(self, name: str, field: str, value: Secret) -> None:
        """Replace a secret by a value, which nobody can read here."""
        self.access.token.demand(Scope.MANAGE)
        stored = self.access.webhook(name).stored
        if field not in REFERENCES:
            hint = Text("Known: {names}.", names=", ".join(REFERENCES))
            raise ConfigError(Text("there is no such secret"), field="field", hint=hint)
        refuse_unfit_secret(stored.webhook.scheme, field, value)
        self._changes().set_secret(name, value, field)

    def _changes(self) -> WebhookAdministration:
        application = self.access.application
        return application.webhooks.administration(self.access.administration)

    def _refuse_forbidden(
        self, stored: StoredWebhook | None, webhook: Webhook, *, is_named: bool
    ) -> None:
        """Raise unless the token may let deliveries do this, and with these secrets."""
        before = None if stored is None else stored.webhook
        if webhook.handler and (before is None or webhook.handler != before.handler):
            raise BlockedByPolicy(
                Text("a token cannot choose the function that gets the deliveries"),
                hint=Text(
                    "Name a line (line or run), or let an administrator set it on the"
                    " pages or with outkey apply."
                ),
                field="handler",
            )
        if webhook.configuration:
            self.access.show(webhook.configuration)
        elif self.access.token.reach.is_limited:
            raise BlockedByPolicy(
                Text("this token is for certain configurations"),
                hint=Text("Name one of them: the webhook belongs to it."),
                field="configuration",
            )
        for key in ("line", "run"):
            if line := getattr(webhook, key):
                application = self.access.application
                refuse_targets(
                    application,
                    named_line(application, line, key).sync,
                    key,
                    allow_targets=self.access.token.allow_targets,
                )
        if is_named:
            self._refuse_references(stored, webhook)

    def _refuse_references(
        self, stored: StoredWebhook | None, webhook: Webhook
    ) -> None:
        """Raise for a reference that is new, or for another scheme, and not offered."""
        before = None if stored is None else stored.as_written(webhook)
        for key in REFERENCES:
            text = getattr(webhook, key)
            if text and (before is None or text != getattr(before, key)):
                reference = parse_reference(text, field=key)
                self.access.refuse_reference(reference, key)


def webhook_tag(stored: StoredWebhook) -> str:
    """Return the entity tag of a webhook: of its settings, and of this endpoint."""
    content = [stored.endpoint, webhook_table(stored.webhook)]
    return content_tag(json.dumps(content))
