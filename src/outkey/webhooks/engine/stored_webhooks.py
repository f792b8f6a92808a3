"""The webhooks of an installation, as shared states."""

import secrets
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from outkey.foundation.core.errors import (
    BackendUnavailable,
    ConfigError,
    EditConflict,
    HostError,
    OutkeyError,
    PolicyError,
    SecretMissing,
    SecretRebindRequired,
    SecretUnreadable,
    StorageUnavailable,
    UnknownConfiguration,
)
from outkey.foundation.core.findings.checks import Finding
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.shared_state import SharedState, StateKind
from outkey.foundation.core.state_shapes import read_each, without_value
from outkey.foundation.core.text import Text
from outkey.foundation.ports.database import Database, StateRows
from outkey.sending.core.configuration.reference import parse_reference
from outkey.webhooks.core.inbox.content import (
    DeliveryContent,
    content_of,
    has_secret_in_body,
    without_proof,
    without_signature,
)
from outkey.webhooks.core.inbox.delivery import Delivery, RefusalReason, WebhookSecrets
from outkey.webhooks.core.inbox.inbox import InboxDelivery, body_place
from outkey.webhooks.core.settings.checks import webhook_findings
from outkey.webhooks.core.settings.sealed import SealedWebhookSecret, secret_place
from outkey.webhooks.core.settings.section import references_of
from outkey.webhooks.core.settings.settings import Webhook
from outkey.webhooks.core.settings.stored import (
    BODIES,
    ENDPOINT,
    PREVIOUS,
    REPLACED,
    SECRET,
    VERIFY_TOKEN,
    StoredWebhook,
    without_references,
)
from outkey.webhooks.core.verification.refusals import refusal_texts
from outkey.webhooks.engine.samples import SampleMarks
from outkey.webhooks.ports.webhooks import WebhookVault

ENDPOINT_BYTES = 16  # 22 characters
LINE_KEYS = ("line", "run")
TRIES = 5  # to write a webhook that another process writes too


class WebhookSettings:
    """Reads and stores webhooks with their endpoints and secrets."""

    def __init__(
        self, states: StateRows, database: Database, vault: WebhookVault
    ) -> None:
        self._states = states
        self._database = database
        self._vault = vault
        self.samples = SampleMarks(states, database)
        # What was read before, as long as the same is stored. Not by its generation:
        # another program could leave that as it is.
        self._read: dict[str, tuple[Mapping[str, Any], StoredWebhook]] = {}
        self._names: dict[str, str] = {}  # of webhooks, by endpoint

    def with_states(self, states: StateRows) -> "WebhookSettings":
        """Return the webhooks of other states, with no cache of these."""
        return WebhookSettings(states, self._database, self._vault)

    def all(self) -> dict[str, StoredWebhook]:
        """Return the webhooks that can be read, by name.

        Those that were changed outside have an error.
        """
        return {name: stored for name, stored in self._all().items() if stored}

    def unreadable(self) -> list[str]:
        """Return the names of webhooks that cannot be read."""
        return without_value(self._all())

    def _all(self) -> dict[str, StoredWebhook | None]:
        states = self._states.read(StateKind.WEBHOOK)
        return read_each(states, _read_stored)

    def get(self, name: str) -> StoredWebhook:
        """Return one webhook, or raise UnknownConfiguration."""
        return self._as_read(name, self._state(name))

    def listed(self, name: str) -> StoredWebhook:
        """Return one webhook to look at it, or raise UnknownConfiguration.

        Also one that was changed outside of outkey, with its error.
        """
        return self.all().get(name) or self.get(name)

    def endpoint_of(self, name: str) -> str:
        """Return the endpoint of a webhook, or raise UnknownConfiguration.

        Also of one that cannot be read; "" if its row has none.
        """
        state = self._states.read(StateKind.WEBHOOK).get(name)
        if state is None:
            raise _unknown_webhook()
        return str(state.value.get("endpoint", ""))

    def _state(self, name: str) -> SharedState:
        state = self._states.read(StateKind.WEBHOOK, [name]).get(name)
        if state is None:
            raise _unknown_webhook()
        return state

    def by_endpoint(self, endpoint: str) -> StoredWebhook | None:
        """Return the webhook of an endpoint; None if it was deleted.

        UnknownConfiguration for what was never an endpoint.
        """
        if not ENDPOINT.fullmatch(endpoint):
            raise UnknownConfiguration
        return self._known(endpoint) or self._look_up(endpoint)

    def last_read(self, endpoint: str) -> StoredWebhook | None:
        """Return the webhook of an endpoint as it was last read here, if it was.

        The database is not asked: the webhook may have been changed or deleted since.
        """
        _, stored = self._read.get(self._names.get(endpoint, ""), ({}, None))
        return stored if stored and stored.endpoint == endpoint else None

    def read_again(self, endpoint: str) -> StoredWebhook | None:
        """Read the webhook of an endpoint that was used before, by one statement.

        Return the object that `last_read` returned if nothing has changed; None if the
        webhook was deleted or cannot be used. Raise StorageUnavailable if it could not
        be read.
        """
        try:
            return self._known(endpoint)
        except StorageUnavailable:
            raise
        except OutkeyError:
            return None

    def _known(self, endpoint: str) -> StoredWebhook | None:
        name = self._names.get(endpoint, "")
        state = self._states.read(StateKind.WEBHOOK, [name]).get(name) if name else None
        if state is None or state.value.get("endpoint") != endpoint:
            return None
        return self._as_read(name, state)

    def _look_up(self, endpoint: str) -> StoredWebhook | None:
        states = self._states.read(StateKind.HOOK_ENDPOINT, [endpoint])
        if endpoint not in states:
            raise UnknownConfiguration
        name = str(states[endpoint].value.get("webhook", ""))
        if not name:
            self._names.pop(endpoint, None)
            return None
        stored = self.get(name)
        self._names[endpoint] = name
        return stored

    def _as_read(self, name: str, state: SharedState) -> StoredWebhook:
        """Return a webhook; its settings are read once until they change."""
        value, stored = self._read.get(name, ({}, None))
        if stored is None or value != state.value:
            stored = StoredWebhook.from_facts(name, state.value)
            self._read[name] = (state.value, stored)
        return stored

    def put(
        self, webhooks: Iterable[Webhook], *, names_references: bool = False
    ) -> None:
        """Store webhooks, new or changed; a new one gets an endpoint and a key.

        `names_references`: a user has named the references of their secrets now.
        """
        for webhook in webhooks:
            if webhook.name in self._states.read(StateKind.WEBHOOK, [webhook.name]):
                with_settings = partial(
                    self._with_settings,
                    webhook=webhook,
                    names_references=names_references,
                )
                self.change(webhook.name, with_settings)
            else:
                self._add(webhook)

    def put_seen(
        self, seen: StoredWebhook | None, webhook: Webhook, *, names_references: bool
    ) -> None:
        """Store a webhook that an editor has seen like this, None: not at all.

        EditConflict if its settings are others by now. `names_references` as for `put`.
        """
        if seen is None:
            self._add(webhook)
            return

        def with_settings(stored: StoredWebhook) -> StoredWebhook:
            if (stored.webhook, stored.endpoint) != (seen.webhook, seen.endpoint):
                raise EditConflict
            return self._with_settings(
                stored, webhook, names_references=names_references
            )

        self.change(webhook.name, with_settings)

    def _add(self, webhook: Webhook) -> None:
        endpoint = secrets.token_urlsafe(ENDPOINT_BYTES)
        new = StoredWebhook(webhook, endpoint)
        new = self._sealed(new, BODIES, self._vault.new_key()).with_settings(webhook)
        self._states.put(StateKind.HOOK_ENDPOINT, {endpoint: {"webhook": new.name}})
        if not self._states.swap(StateKind.WEBHOOK, new.name, 0, new.facts()):
            raise EditConflict

    def set_secret(self, name: str, field: str, secret: Secret, by: str) -> None:
        """Store a value of a secret, sealed.

        The one that it replaces explains why deliveries are refused from then on.
        """

        def set_secret(stored: StoredWebhook) -> StoredWebhook:
            if field == SECRET:
                stored = self._with_replaced(stored, SECRET)
            return self._sealed(stored, field, secret, by=by)

        self.change(name, set_secret)

    def accept_secret(
        self, name: str, secret: Secret, *, by: str, address: str = ""
    ) -> bool:
        """Store a secret unless the scheme has one; return whether it was stored."""

        def accept(stored: StoredWebhook) -> StoredWebhook:
            if stored.has_secret and stored.is_bound(SECRET):
                raise EditConflict
            accepted = self._sealed(stored, SECRET, secret, by=by)
            sealed = replace(accepted.secrets[SECRET], offered_from=address)
            return accepted.with_secret(SECRET, sealed)

        try:
            self.change(name, accept)
        except EditConflict:
            return False
        return True

    def set_paused(self, name: str, *, is_paused: bool) -> None:
        """Pause or resume a webhook."""
        self.change(name, lambda stored: replace(stored, is_paused=is_paused))

    def remove(self, name: str) -> str:
        """Delete a webhook with its secrets, and return its endpoint.

        The endpoint stays known as deleted. A webhook that was changed outside of
        outkey, or cannot be read, can be deleted too.
        """
        endpoint = self.endpoint_of(name)
        if endpoint:
            self._states.put(StateKind.HOOK_ENDPOINT, {endpoint: {"webhook": ""}})
        self._states.put(StateKind.WEBHOOK, {name: None})
        self._states.put(StateKind.HOOK_REFUSALS, {name: None})
        self._states.put(StateKind.HOOK_ACTIVITY, {endpoint: None})
        return endpoint

    def rename_configuration(self, name: str, new_name: str) -> None:
        """Let webhooks name a configuration by its new name."""
        self._rename(("configuration",), name, new_name)

    def rename_line(self, name: str, new_name: str) -> None:
        """Let webhooks name a line by its new name."""
        self._rename(LINE_KEYS, name, new_name)

    def dependent_webhooks(
        self, configuration: str, lines: Collection[str]
    ) -> list[str]:
        """Return the webhooks that name the configuration or one of the lines.

        "" for no configuration.
        """
        return [
            stored.name
            for stored in self.all().values()
            if _names_any(stored.webhook, configuration, lines)
        ]

    def refuse_removal(self, configuration: str, lines: Collection[str]) -> None:
        """Raise ConfigError if a webhook names the configuration or one of the lines.

        "" for no configuration.
        """
        names = self.dependent_webhooks(configuration, lines)
        if names:
            raise ConfigError(
                Text("webhooks need it: {names}", names=", ".join(names)),
                hint=Text("Delete these first, or change what they do."),
            )

    def _rename(self, keys: Sequence[str], name: str, new_name: str) -> None:
        def rename(stored: StoredWebhook) -> StoredWebhook:
            webhook = stored.webhook
            for key in keys:
                if getattr(webhook, key) == name:
                    webhook = replace(webhook, **{key: new_name})  # type: ignore[arg-type]
            return replace(stored, webhook=webhook)

        for stored in self.all().values():
            if rename(stored) != stored:
                self.change(stored.name, rename)

    def change(
        self, name: str, change: Callable[[StoredWebhook], StoredWebhook]
    ) -> None:
        """Change a webhook as it is stored now; EditConflict if others keep at it."""
        for _ in range(TRIES):
            # By one read: what another process writes after it must not be lost.
            state = self._state(name)
            facts = change(self._as_read(name, state)).facts()
            if self._states.swap(StateKind.WEBHOOK, name, state.generation, facts):
                return
        raise EditConflict

    # ── secrets ─────────────────────────────────────────────────────────────────────

    def open_secrets(self, stored: StoredWebhook) -> WebhookSecrets:
        """Return the secrets of a webhook that are set for its scheme.

        SecretMissing for a reference that names nothing.
        """
        return WebhookSecrets(
            current=self._open_bound(stored, SECRET),
            previous=self._open_bound(stored, PREVIOUS),
            verify_token=self._open_bound(stored, VERIFY_TOKEN),
            replaced=self._open_replaced(stored),
            is_of_other_scheme=stored.is_of_other_scheme(SECRET),
        )

    def known_secrets(self, stored: StoredWebhook) -> list[Secret]:
        """Return the secrets of a webhook that must not be shown or stored elsewhere.

        Whatever scheme they were entered for; not those that cannot be opened now.
        """
        secrets = []
        for name in (SECRET, PREVIOUS, VERIFY_TOKEN):
            with suppress(SecretMissing, SecretUnreadable):
                secrets.append(self._open(stored, name))
        if REPLACED in stored.secrets:
            with suppress(SecretUnreadable):
                secrets.append(self._opened(stored, REPLACED))
        return [secret for secret in secrets if secret]

    def secret_to_sign(self, stored: StoredWebhook) -> Secret:
        """Return the secret that a sample is signed with; it may be empty."""
        if stored.is_of_other_scheme(SECRET):
            text, hint = refusal_texts(RefusalReason.SECRET_OF_OTHER_SCHEME)
            raise SecretRebindRequired(text, hint=hint, field=SECRET)
        return self.open_secrets(stored).current or Secret("")

    def unreadable_references(self, stored: StoredWebhook, new: Webhook) -> list[str]:
        """Return the stored secrets whose new references cannot be read.

        Such a reference must not replace a secret that works.
        """
        names = []
        for name in (SECRET, PREVIOUS, VERIFY_TOKEN):
            if name not in stored.secrets or not getattr(new, name):
                continue
            try:
                self._open(replace(stored, webhook=new), name)
            except (SecretMissing, BackendUnavailable):
                names.append(name)
        return names

    def findings(self, stored: StoredWebhook) -> list[Finding]:
        """Return the findings about a webhook, as this process sees it.

        No external store is asked.
        """
        unresolved: SecretMissing | None = None
        try:
            if stored.error is None:
                references = references_of(stored.webhook).items()
                external = [key for key, place in references if place.is_external]
                local = without_references(stored.webhook, external)
                self.open_secrets(replace(stored, webhook=local))
        except SecretMissing as error:
            unresolved = error
        except HostError:
            pass  # sealed: that is a finding of the installation
        return list(webhook_findings(stored, unresolved))

    def seal_content(
        self, stored: StoredWebhook, key: str, delivery: Delivery
    ) -> bytes:
        """Return the body of a delivery with its headers, as they are stored."""
        place = body_place(stored.endpoint, key)
        content = content_of(delivery, stored.webhook).to_bytes()
        return self._vault.seal_body(self._body_key(stored), content, place)

    def open_content(
        self, stored: StoredWebhook, delivery: InboxDelivery
    ) -> DeliveryContent:
        """Return the body and headers of a delivery whose sealed bytes were read."""
        place = body_place(stored.endpoint, delivery.key)
        key = self._body_key(stored)
        opened = self._vault.open_body(key, delivery.body, place)
        content = DeliveryContent.from_bytes(opened)
        # Version 0.2 stored proofs too.
        body = without_signature(content.body, stored.webhook)
        content = content._replace(body=body)
        if not has_secret_in_body(stored.webhook):
            return content
        secrets = self.known_secrets(stored)
        body = without_proof(content.body, stored.webhook, secrets)
        return content._replace(body=body)

    def open_body(self, stored: StoredWebhook, delivery: InboxDelivery) -> bytes:
        """Return the body of a delivery whose sealed bytes were read."""
        return self.open_content(stored, delivery).body

    def _with_settings(
        self, stored: StoredWebhook, webhook: Webhook, *, names_references: bool
    ) -> StoredWebhook:
        """Return a stored webhook with other settings."""
        if webhook.previous_secret == "":
            stored = self._with_replaced(stored, PREVIOUS)
        return stored.with_settings(webhook, names_references=names_references)

    def _with_replaced(self, stored: StoredWebhook, field: str) -> StoredWebhook:
        """Return a webhook with the value of a secret that is accepted no more."""
        sealed = stored.secrets.get(field)
        if sealed is None:
            return stored
        try:
            secret = self._opened(stored, field)
        except SecretUnreadable:
            return stored  # so it explains nothing either
        bound_to = stored.bound[field]
        return self._sealed(
            stored, REPLACED, secret, by=sealed.set_by, bound_to=bound_to
        )

    def _open_replaced(self, stored: StoredWebhook) -> Secret | None:
        if REPLACED not in stored.secrets or not stored.is_bound(REPLACED):
            return None
        with suppress(SecretUnreadable):
            return self._opened(stored, REPLACED)
        return None

    def _body_key(self, stored: StoredWebhook) -> Secret:
        return self._opened(stored, BODIES)

    def _open_bound(self, stored: StoredWebhook, field: str) -> Secret | None:
        """Return a secret that was entered for the scheme; no other is opened."""
        return self._open(stored, field) if stored.is_bound(field) else None

    def _open(self, stored: StoredWebhook, field: str) -> Secret | None:
        reference = getattr(stored.webhook, field)
        if reference:
            return self._referenced(reference, field)
        return self._opened(stored, field) if field in stored.secrets else None

    def _referenced(self, reference: str, field: str) -> Secret:
        """Return what a reference leads to; all that is in its way is one error."""
        parsed = parse_reference(reference, field=field)
        try:
            return self._vault.open_reference(parsed, field)
        except (ConfigError, PolicyError) as error:
            raise SecretMissing(
                error.message, hint=error.hint, field=field, reason=error.reason
            ) from None

    def _opened(self, stored: StoredWebhook, field: str) -> Secret:
        secret = stored.secrets[field]
        place = secret_place(stored.endpoint, field, secret.version)
        return self._vault.open(secret.sealed, place)

    def _sealed(
        self,
        stored: StoredWebhook,
        field: str,
        secret: Secret,
        *,
        by: str = "",
        bound_to: str = "",
    ) -> StoredWebhook:
        place = stored.place_of(field)
        sealed = SealedWebhookSecret(
            place.version, self._vault.seal(secret, place), self._database.now(), by
        )
        return stored.with_secret(field, sealed, bound_to)


def _names_any(webhook: Webhook, configuration: str, lines: Collection[str]) -> bool:
    """Whether a webhook names a configuration or one of these lines."""
    is_its = bool(configuration) and webhook.configuration == configuration
    return is_its or any(getattr(webhook, key) in lines for key in LINE_KEYS)


def _unknown_webhook() -> UnknownConfiguration:
    """Return the error for a name that no webhook has."""
    return UnknownConfiguration(
        Text("there is no webhook with this name"),
        hint=Text("See: outkey webhook list"),
        field="webhook",
    )


def _read_stored(name: str, state: SharedState) -> StoredWebhook:
    """Return the webhook that a state describes."""
    return replace(StoredWebhook.from_facts(name, state.value), error=state.error)
