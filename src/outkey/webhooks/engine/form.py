"""The form of a webhook: what was entered, what is wrong with it, how it is saved."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from outkey.foundation.core.errors import NAME_TAKEN, ConfigError, UnknownConfiguration
from outkey.foundation.core.fields.field_kinds import (
    Field,
    Kind,
    read_table,
    table_errors,
)
from outkey.foundation.core.permission import Allowed
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.text import Text
from outkey.sending.core.configuration.fields import BY_PATH
from outkey.sending.core.configuration.secret_values import refuse_unusable
from outkey.sync.engine.record_rights import RecordRights
from outkey.webhooks.core.inbox.delivery import RefusalReason
from outkey.webhooks.core.schemes.schemes import CUSTOM, SCHEMES
from outkey.webhooks.core.settings.section import (
    REFERENCES,
    TARGETS,
    WEBHOOK_FIELDS,
    scheme_keys,
    webhook_errors,
    webhook_table,
)
from outkey.webhooks.core.settings.settings import Webhook
from outkey.webhooks.core.settings.stored import VERIFY_TOKEN, StoredWebhook
from outkey.webhooks.core.verification.keys import key_bytes
from outkey.webhooks.core.verification.refusals import TEXTS
from outkey.webhooks.core.verification.signatures import scheme_for
from outkey.webhooks.engine.changes import NewWebhook, WebhookAdministration

DOES = "does"  # the input with the action on a delivery
TARGET = "target"  # the input with the line that it is done with
HANDLER = "handler"  # the input with the function that it is given to
INPUTS = tuple(
    hook_field
    for hook_field in WEBHOOK_FIELDS
    if hook_field.key not in {*REFERENCES, *TARGETS}
)
# Spaces at their ends may be meant.
VERBATIM = frozenset({"signature_prefix", "signed"})


@dataclass(frozen=True, slots=True)
class WebhookForm:
    """The form as a user filled it in; `secrets` has only those to be replaced."""

    name: str
    values: Mapping[str, str]
    secrets: Mapping[str, Secret] = field(default_factory=dict)
    stored: StoredWebhook | None = None  # None: a new one

    def save(
        self,
        changes: WebhookAdministration,
        rights: RecordRights,
        *,
        allowed: Allowed,
    ) -> dict[str, ConfigError]:
        """Save the webhook with its secrets, or return what is wrong, by input.

        `allowed` and `rights` are those of the user.
        """
        errors = list(self.errors())
        if errors:
            return {_input_of(error): error for error in reversed(errors)}
        webhook = self.webhook()
        try:
            if self.stored is None and self.name in changes.settings.all():
                raise name_taken()
            changes.refuse_unfit(NewWebhook(webhook))
            changes.refuse_forbidden(
                webhook, rights, allowed=allowed, secrets=self.secrets
            )
        except ConfigError as error:
            return {_input_of(error, self.name): error}
        changes.save_with_secrets(webhook, self.secrets)
        return {}

    def errors(self) -> Iterator[ConfigError]:
        """Yield the errors in the form."""
        try:
            BY_PATH["name"].parse(self.name)
        except ConfigError as error:
            yield error
        yield from self._secret_errors()
        wrong = list(table_errors(WEBHOOK_FIELDS, self.table()))
        yield from wrong or webhook_errors(self.webhook())

    def webhook(self) -> Webhook:
        """Return the webhook that was entered."""
        values = read_table(WEBHOOK_FIELDS, self.table())
        return Webhook(self.name, **values)  # type: ignore[arg-type]

    def table(self) -> dict[str, object]:
        """Return the section of a document for the entered values.

        What the scheme does not use is left out: a form has it all the time.
        """
        scheme = SCHEMES.get(self.values.get("scheme", ""))
        uses = scheme_keys(scheme) if scheme else {}
        entered = {
            hook_field.key: _entered_value(hook_field, self.values)
            for hook_field in INPUTS
        }
        table = {**entered, **self._references(), **self._action()}
        return {
            key: value
            for key, value in table.items()
            if value != "" and uses.get(key, True)
        }

    def _action(self) -> dict[str, object]:
        """Return the setting that names the line or function for deliveries."""
        does = self.values.get(DOES, "")
        if does not in TARGETS:
            return {}
        name = self.values.get(HANDLER if does == HANDLER else TARGET, "")
        return {does: name.strip()}

    def _references(self) -> dict[str, object]:
        """Return the references that stay: a value takes the place of a reference."""
        before = webhook_table(self.stored.webhook) if self.stored else {}
        return {
            key: before[key]
            for key in REFERENCES
            if key in before and key not in self.secrets
        }

    def _secret_errors(self) -> Iterator[ConfigError]:
        for name, secret in self.secrets.items():
            try:
                refuse_unfit_secret(self.values.get("scheme", ""), name, secret)
            except ConfigError as error:
                yield error


def refuse_unfit_secret(scheme_name: str, field_name: str, secret: Secret) -> None:
    """Refuse a secret that no delivery of the scheme could be verified with."""
    refuse_unusable(field_name, secret)
    scheme = SCHEMES.get(scheme_name)
    if scheme is None or field_name == VERIFY_TOKEN:
        return
    if key_bytes(secret, scheme_for(scheme, secret).key) is None:
        text, hint = TEXTS[RefusalReason.SECRET_UNUSABLE]
        raise ConfigError(text, hint=hint, field=field_name)


def _entered_value(hook_field: Field, values: Mapping[str, str]) -> object:
    """Return the value of an input as a document has it."""
    text = values.get(hook_field.key, "")
    if hook_field.key not in VERBATIM:
        text = text.strip()
    is_number = text.isascii() and text.isdecimal() and len(text) < 10
    return int(text) if hook_field.kind is Kind.INTEGER and is_number else text


def form_values(stored: StoredWebhook | None) -> dict[str, str]:
    """Return the values of the form for a stored webhook, or for a new one."""
    if stored is None:
        return {
            hook_field.key: str(hook_field.default or "") for hook_field in INPUTS
        } | {DOES: "line", TARGET: "", HANDLER: "", "scheme": ""}
    webhook = stored.webhook
    values = {
        hook_field.key: str(getattr(webhook, hook_field.key) or "")
        for hook_field in INPUTS
    }
    does = next((key for key in TARGETS if getattr(webhook, key)), "line")
    line = webhook.line or webhook.run
    return values | {DOES: does, TARGET: line, HANDLER: webhook.handler}


def schemes_of_inputs() -> dict[str, list[str]]:
    """Return the names of the schemes that use an input, for those not all use."""
    users: dict[str, list[str]] = {}
    for name, scheme in SCHEMES.items():
        for key, is_used in scheme_keys(scheme).items():
            users.setdefault(key, []).extend([name] if is_used else [])
        if scheme.timestamp is not None or name == "hmac":
            users.setdefault("tolerance_seconds", []).append(name)
    return users


def offered_schemes() -> tuple[list[tuple[str, Text]], list[tuple[str, str]]]:
    """Return names and labels: of known senders by label, and of custom schemes."""
    senders = [
        (name, scheme.choice) for name, scheme in SCHEMES.items() if name not in CUSTOM
    ]
    custom = [(name, SCHEMES[name].label) for name in CUSTOM]
    return sorted(senders, key=lambda sender: sender[1].lower()), custom


def _input_of(error: ConfigError, name: str = "") -> str:
    """Return the name of the input that an error belongs to."""
    key = (error.field or "").removeprefix(f"webhook.{name}.")
    if isinstance(error, UnknownConfiguration) and key not in TARGETS:
        return "configuration"
    return TARGET if key in {"line", "run"} else key


def name_taken() -> ConfigError:
    """Return the error for the name of a webhook that another one has."""
    return ConfigError(
        Text("a webhook with this name already exists"),
        hint=Text("Choose another name, or change that one."),
        field="name",
        reason=NAME_TAKEN,
    )
