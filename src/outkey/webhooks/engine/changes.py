"""Changes of webhooks, each recorded in the audit first."""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Protocol

from outkey.foundation.core.echo.strict import reveals_secret
from outkey.foundation.core.errors import ConfigError, UnknownConfiguration
from outkey.foundation.core.fields.changes import FieldChange
from outkey.foundation.core.fields.field_kinds import Audited
from outkey.foundation.core.limited_json import read_limited_json
from outkey.foundation.core.permission import Allowed, Requirement
from outkey.foundation.core.secret import MASK, Secret
from outkey.foundation.core.text import Text
from outkey.foundation.ports.expressions import PathCompiler
from outkey.sending.core.audit.changed_values import audited_texts
from outkey.sending.core.audit.events import Change, Tag
from outkey.sending.core.configuration.drafts import ConfigurationDraft
from outkey.sending.core.configuration.permissions import ASK_ADMINISTRATOR
from outkey.sending.core.configuration.secret_values import refuse_unusable
from outkey.sending.engine.exchange.echoed_secrets import EchoDetector
from outkey.sending.ports.sending import Audit
from outkey.sync.core.line.line import Sync, SyncLine
from outkey.sync.core.pairs.section import Pair
from outkey.sync.engine.line_registry import Registry
from outkey.sync.engine.record_rights import RecordRights, refuse_forbidden
from outkey.sync.engine.runs.runner import refuse_unreceivable
from outkey.sync.engine.sync_settings import SyncSettings
from outkey.webhooks.core.inbox.content import DeliveryContent
from outkey.webhooks.core.inbox.delivery import Delivery
from outkey.webhooks.core.inbox.inbox import InboxDelivery, ReplayScope
from outkey.webhooks.core.settings.handlers import refuse_unlisted_handler
from outkey.webhooks.core.settings.permissions import (
    requirements_of_test,
    webhook_requirements,
)
from outkey.webhooks.core.settings.settings import (
    WHOLE_BODY,
    Webhook,
    is_proof_header,
    scheme_of,
)
from outkey.webhooks.core.settings.stored import PREVIOUS, SECRET, StoredWebhook
from outkey.webhooks.engine.inbox import Inbox
from outkey.webhooks.engine.offers import has_offer
from outkey.webhooks.engine.samples import with_mark
from outkey.webhooks.engine.stored_webhooks import WebhookSettings


class DocumentOfWebhooks(Protocol):
    """The parts of a TOML document that its webhooks are checked with."""

    @property
    def drafts(self) -> Sequence[ConfigurationDraft]:
        """The configurations that it names."""

    @property
    def lines(self) -> Sequence[SyncLine]:
        """Its sync lines."""

    @property
    def pairs(self) -> Sequence[Pair]:
        """Its pairs."""

    @property
    def webhooks(self) -> Sequence[Webhook]:
        """Its webhooks."""


@dataclass(frozen=True, slots=True)
class NewWebhook:
    """A webhook of a form: a document with nothing else."""

    webhook: Webhook
    drafts: tuple[ConfigurationDraft, ...] = ()
    lines: tuple[SyncLine, ...] = ()
    pairs: tuple[Pair, ...] = ()

    @property
    def webhooks(self) -> tuple[Webhook, ...]:
        """The webhook alone."""
        return (self.webhook,)


@dataclass(frozen=True, slots=True)
class WebhookAdministration:
    """The changes of webhooks that a user makes."""

    registry: Registry
    audit: Audit
    actor: str
    settings: WebhookSettings
    inbox: Inbox
    paths: PathCompiler
    pairs: SyncSettings
    public_url: str = ""
    listed_handlers: Collection[str] = ()  # those that the operator allows
    # The secrets of a configuration, by its name.
    sent_secrets: Callable[[str], list[Secret]] = lambda _name: []

    def stored_webhooks(self) -> dict[str, StoredWebhook]:
        """Return the webhooks that are stored, by name."""
        return self.settings.all()

    def secrets_to_keep(self, webhooks: Sequence[Webhook]) -> dict[str, list[str]]:
        """Return by webhook the stored secrets whose new references cannot be read."""
        known = self.settings.all()
        return {
            new.name: self.settings.unreadable_references(known[new.name], new)
            for new in webhooks
            if new.name in known
        }

    def compared(
        self, webhooks: Sequence[Webhook]
    ) -> list[tuple[Webhook | None, Webhook]]:
        """Return webhooks of a document, each with the one that is stored."""
        known = self.settings.all()
        return [
            (known[new.name].as_written(new) if new.name in known else None, new)
            for new in webhooks
        ]

    def refuse_unfit(self, document: DocumentOfWebhooks) -> None:
        """Refuse webhooks that could not work, with what the document brings along.

        Refuse functions too that the operator has not listed.
        """
        for webhook in document.webhooks:
            if webhook.handler:
                field = f"webhook.{webhook.name}.handler"
                refuse_unlisted_handler(webhook.handler, self.listed_handlers, field)
        known = self.pairs.pairs().values()
        paired = {
            line
            for pair in (*known, *document.pairs)
            for line in (pair.pull, pair.push)
        }
        _refuse_unfit_webhooks(
            self.registry,
            document,
            self.paths,
            public_url=self.public_url,
            paired=paired,
        )

    def save(self, webhooks: Sequence[Webhook]) -> None:
        """Create and change the webhooks of a document: all of them or none."""
        self._note_saved(webhooks)
        with self.registry.transaction():
            self.settings.put(webhooks, names_references=True)

    def save_seen(
        self, seen: StoredWebhook | None, webhook: Webhook, *, names_references: bool
    ) -> None:
        """Create or change the webhook that an editor has seen like this.

        EditConflict if its settings are others by now. `names_references`: it names
        references for the scheme that it has now.
        """
        self._note_saved([webhook])
        with self.registry.transaction():
            self.settings.put_seen(seen, webhook, names_references=names_references)

    def save_with_secrets(
        self, webhook: Webhook, secrets: Mapping[str, Secret]
    ) -> None:
        """Create or change a webhook, and replace these secrets of it."""
        self._note_saved([webhook])
        for field in secrets:
            self._note(Tag.SECRET_SET, webhook.name, field)
        by = self.actor
        with self.registry.transaction():
            self.settings.put([webhook])
            for field, secret in secrets.items():
                self.settings.set_secret(webhook.name, field, secret, by)

    def refuse_forbidden(
        self,
        webhook: Webhook,
        rights: RecordRights,
        *,
        allowed: Allowed,
        secrets: Collection[str] = (),
    ) -> None:
        """Raise ConfigError if a user may not save a webhook with these secrets.

        `rights` are those on the records that the webhook's line writes.
        """
        known = self.settings.all().get(webhook.name)
        stored = known.webhook if known else None
        sync = self._sync_of(webhook)
        needs = webhook_requirements(stored, webhook, secrets, sync)
        _refuse_missing(needs, allowed, webhook)
        self._refuse_forbidden_records(webhook, rights)

    def refuse_forbidden_test(
        self, webhook: Webhook, rights: RecordRights, *, allowed: Allowed
    ) -> None:
        """Raise ConfigError if a user may not send a test delivery."""
        needs = requirements_of_test(webhook, self._sync_of(webhook))
        _refuse_missing(needs, allowed, webhook)
        self._refuse_forbidden_records(webhook, rights)

    @contextmanager
    def sending_test(
        self, name: str, sample: Delivery, event_id: str
    ) -> Iterator[Delivery]:
        """Record a test delivery that is about to be sent, and return it with its mark.

        So the inbox shows who has sent it.
        """
        stored = self.settings.get(name)
        self._note(Tag.DELIVERY_TESTED, name, event_id)
        samples = self.settings.samples
        mark = samples.make(stored.endpoint, self.actor)
        try:
            yield with_mark(sample, mark)
        finally:
            samples.remove(mark)

    def _refuse_forbidden_records(self, webhook: Webhook, rights: RecordRights) -> None:
        sync = self._sync_of(webhook)
        if sync is not None:
            with _naming_place(f"webhook.{webhook.name}.line"):
                refuse_forbidden(rights, sync, self.registry)

    def _sync_of(self, webhook: Webhook) -> Sync | None:
        name = webhook.line or webhook.run
        return self.registry.line(name).sync if name else None

    def set_secret(self, name: str, secret: Secret, field: str = SECRET) -> None:
        """Replace a secret by a value, which is stored sealed."""
        self.settings.get(name)
        refuse_unusable(field, secret)
        self._note(Tag.SECRET_SET, name, field)
        by = self.actor
        with self.registry.transaction():
            self.settings.set_secret(name, field, secret, by)

    def rotate_secret(self, name: str, secret: Secret) -> None:
        """Replace the secret; the present one is accepted too until it is removed."""
        present = self.settings.open_secrets(self.settings.get(name)).current
        if present is None:
            self.set_secret(name, secret)
            return
        refuse_unusable(SECRET, secret)
        self._note(Tag.SECRET_SET, name, PREVIOUS)
        self._note(Tag.SECRET_SET, name, SECRET)
        by = self.actor
        with self.registry.transaction():
            self.settings.set_secret(name, PREVIOUS, present, by)
            self.settings.set_secret(name, SECRET, secret, by)

    def clear_previous(self, name: str) -> None:
        """Accept the previous secret no more."""
        webhook = self.settings.get(name).webhook
        self._note(Tag.SECRET_CLEARED, name, PREVIOUS)
        with self.registry.transaction():
            self.settings.put([replace(webhook, previous_secret="")])

    def view_offer(self, name: str) -> Secret:
        """Return the token that a sender offered, which a user enters at the sender.

        Only of a sender that wants this, and not any more once it has sent a delivery:
        then it is a secret like any other.
        """
        stored = self.settings.get(name)
        if not has_offer(stored) or self.inbox.newest(name, limit=1):
            raise ConfigError(
                Text("there is no offered token to be shown"),
                hint=Text("Have the sender send its token to the endpoint again."),
            )
        self._note(Tag.OFFER_VIEWED, name)
        offered = self.settings.open_secrets(stored).current
        return offered or Secret("")

    def pause(self, name: str) -> None:
        """Refuse deliveries for a while, so that their senders repeat them later."""
        self.settings.get(name)
        self._note(Tag.WEBHOOK_PAUSED, name)
        self.settings.set_paused(name, is_paused=True)

    def resume(self, name: str) -> None:
        """Receive deliveries again."""
        self.settings.get(name)
        self._note(Tag.WEBHOOK_RESUMED, name)
        self.settings.set_paused(name, is_paused=False)

    def remove(self, name: str) -> None:
        """Delete a webhook with its secrets and deliveries."""
        self.settings.endpoint_of(name)
        self._note(Tag.WEBHOOK_REMOVED, name)
        with self.registry.transaction():
            endpoint = self.settings.remove(name)
        if endpoint:  # without one, a query would find all deliveries
            self.inbox.delete_all_of(endpoint)

    def replay(self, name: str, ids: Collection[str]) -> list[InboxDelivery]:
        """Process deliveries again: all of these, or none."""
        for delivery_id in ids:
            self.inbox.get(name, delivery_id)
        self._note(Tag.DELIVERY_REPLAYED, name, *ids)
        return self.inbox.replay(name, ids)

    def replay_scope(
        self,
        name: str,
        scope: ReplayScope,
        advance: Callable[[int], None] = lambda _: None,
    ) -> int:
        """Process the deliveries of a scope again; return how many.

        `advance` is called with the number of each batch that is done. The inbox finds
        how many there are: `inbox.in_scope`.
        """
        deliveries = self.inbox.in_scope(name, scope)
        if not deliveries:
            return 0
        count = str(len(deliveries))
        self._note(Tag.DELIVERY_REPLAYED, name, count, *scope.facts())
        return self.inbox.replay_all(deliveries, advance)

    def view_content(self, name: str, delivery_id: str) -> DeliveryContent:
        """Return the headers and body of a delivery, which may have personal data."""
        self.inbox.get(name, delivery_id)
        self._note(Tag.DELIVERY_VIEWED, name, delivery_id)
        content = self.inbox.content(name, delivery_id)
        return masked_content(content, self._secrets_of(name))

    def _secrets_of(self, name: str) -> list[Secret]:
        """Return the secrets that a delivery may repeat: of webhook and API."""
        stored = self.settings.get(name)
        secrets = self.settings.known_secrets(stored)
        names = [stored.webhook.configuration]
        line = stored.webhook.line or stored.webhook.run
        with suppress(UnknownConfiguration):
            if line:
                names.append(self.registry.line(line).configuration)
        for configuration in filter(None, dict.fromkeys(names)):
            with suppress(UnknownConfiguration):
                secrets += self.sent_secrets(configuration)
        return secrets

    def view_body(self, name: str, delivery_id: str) -> bytes:
        """Return the body of a delivery, which may have personal data."""
        return self.view_content(name, delivery_id).body

    def _note_saved(self, webhooks: Sequence[Webhook]) -> None:
        """Record each webhook with its `records`, which decide what is written."""
        known = self.settings.all()
        for webhook in webhooks:
            stored = known.get(webhook.name)
            old = stored.webhook.records if stored else WHOLE_BODY
            changes: tuple[FieldChange, ...] = ()
            if old != webhook.records:
                texts = audited_texts(Audited.EXPRESSION, old, webhook.records)
                changes = (FieldChange("records", *texts),)
            change = Change(
                Tag.WEBHOOK_SAVED,
                self.actor,
                fields=(webhook.name,),
                changes=changes,
            )
            self.audit.note(change)

    def _note(self, tag: Tag, name: str, *more: str) -> None:
        self.audit.note(Change(tag, self.actor, fields=(name, *more)))


def _refuse_missing(
    needs: Iterable[Requirement], allowed: Allowed, webhook: Webhook
) -> None:
    """Raise ConfigError for the first permission that a user does not have."""
    for need in needs:
        if not allowed(need.permission):
            raise ConfigError(
                need.message,
                hint=ASK_ADMINISTRATOR,
                field=f"webhook.{webhook.name}.{need.field}",
            )


def _refuse_unfit_webhooks(
    registry: Registry,
    document: DocumentOfWebhooks,
    paths: PathCompiler,
    *,
    public_url: str,
    paired: Collection[str],
) -> None:
    """Refuse webhooks that could not work, with what the document brings along."""
    new_lines = {line.name: line for line in document.lines}
    new_configurations = {draft.name for draft in document.drafts}
    for webhook in document.webhooks:
        place = f"webhook.{webhook.name}."
        scheme = scheme_of(webhook)
        if scheme is not None and scheme.signs_url and not public_url:
            raise ConfigError(
                Text("the scheme signs the URL, and the public URL is not set"),
                hint=Text("Set OUTKEY_PUBLIC_URL to the URL that senders reach."),
                field=f"{place}scheme",
            )
        if scheme is not None and is_proof_header(webhook, scheme):
            raise ConfigError(
                Text("this header has the proof of the sender, which is not shown"),
                hint=Text("Name the header with the ID, or leave it empty."),
                field=f"{place}id_header",
            )
        if webhook.configuration and webhook.configuration not in new_configurations:
            registry.get(webhook.configuration)
        for key in ("records", "confirm_id", "id"):
            expression = getattr(webhook, key)
            if expression:
                paths.compile(expression, field=f"{place}{key}")
        with _naming_place(f"{place}line"):
            _refuse_unfit_line(registry, webhook, new_lines, paired=paired)


@contextmanager
def _naming_place(place: str) -> Iterator[None]:
    """Let an error name the place in the document."""
    try:
        yield
    except ConfigError as error:
        error.field = place
        raise


def _refuse_unfit_line(
    registry: Registry,
    webhook: Webhook,
    new_lines: Mapping[str, SyncLine],
    *,
    paired: Collection[str],
) -> None:
    """Refuse a webhook whose line is missing or cannot take its deliveries."""
    name = webhook.line or webhook.run
    if not name:
        return
    line = new_lines.get(name) or registry.line(name)
    if line.sync is None:
        raise ConfigError(
            Text("the line names one call and synchronizes nothing"),
            hint=Text("Set a direction, a target and the fields of the line."),
        )
    if not webhook.line:
        return
    refuse_unreceivable(line.sync, is_paired=name in paired)
    if webhook.confirm and webhook.configuration not in {"", line.configuration}:
        raise ConfigError(Text("the sync line belongs to another configuration"))


def masked_content(
    content: DeliveryContent, secrets: Sequence[Secret]
) -> DeliveryContent:
    """Return headers and body with a mask for each value that repeats a secret.

    The body stays as it is if it has none. Where the secret can still be recognised
    afterwards, or the body is not JSON, the whole body is masked.
    """
    text = content.body.decode(errors="replace")
    if not reveals_secret(secrets, [text, content.headers]):
        return content
    detector = EchoDetector()
    detector.look_for(secrets)
    headers = tuple(
        (name, MASK if reveals_secret(secrets, value) else value)
        for name, value in content.headers
    )
    body = content.body
    if reveals_secret(secrets, text):
        body = _masked_body(content.body, detector)
    if reveals_secret(secrets, body.decode()):
        body = MASK.encode()
    return DeliveryContent(headers, body)


def _masked_body(body: bytes, detector: EchoDetector) -> bytes:
    """Return the JSON of a body with masks; only a mask if it is not JSON."""
    try:
        document = read_limited_json(body)
    except ValueError:
        return MASK.encode()
    return json.dumps(detector.masked(document), ensure_ascii=False).encode()
