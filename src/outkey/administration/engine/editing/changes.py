"""A changed configuration, and what its changes mean for its secrets."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field as dataclass_field
from typing import TYPE_CHECKING, Protocol

from outkey.foundation.core.errors import ConfigError, repeated
from outkey.foundation.core.text import Text
from outkey.sending.core.configuration.configuration import (
    PROXY_PASSWORD,
    PUSHED_URL,
    SECRETS_OF_AWS,
    SENT_TO_PUSHED_URL,
)
from outkey.sending.core.configuration.custom_rows import TokenHeader
from outkey.sending.core.configuration.fields import FIELDS, SENT_TO_TOKEN_URL
from outkey.sending.core.request.script import SCRIPT_FACT
from outkey.sending.core.vault.voucher import changed_settings, vouchable_facts

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from outkey.foundation.core.secret import Secret
    from outkey.sending.core.configuration.configuration import Configuration


@dataclass(frozen=True, slots=True)
class ConfigurationChange:
    """One save: a configuration as it was read, as it will be, and its new secrets.

    `secrets` are new values, bound to the origins that the configuration will have.
    `record` is the id that a new configuration gets, if its form was drawn with one.
    """

    stored: Configuration | None
    made: Configuration
    secrets: Mapping[str, Secret] = dataclass_field(default_factory=dict)
    cleared: tuple[str, ...] = ()
    record: str = ""

    @property
    def changes_settings(self) -> bool:
        """Whether more changes than the values of secrets."""
        return self.stored != self.made

    def references(self) -> list[str]:
        """Return the names of secrets whose references are new."""
        before = self.stored.secrets if self.stored else {}
        return [
            name
            for name, state in self.made.secrets.items()
            if before.get(name) != state
        ]

    @property
    def has_new_script(self) -> bool:
        """Whether it has another script than is stored, or none any more."""
        return self.stored is None or self.stored.script != self.made.script

    def facts(self) -> set[str]:
        """Return the names of what this save decides, and so can be vouched for."""
        if self.stored is None:
            return {*vouchable_facts(self.made), *self.secrets}
        removed = self.stored.secrets.keys() - self.made.secrets.keys()
        changed = {*self.secrets, *self.cleared, *removed, *self.references()}
        if self.has_new_script:
            changed.add(SCRIPT_FACT)
        return changed | changed_settings(self.stored, self.made) | self.destinations()

    def destinations(self) -> set[str]:
        """Return the URLs that a user accepts by entering a secret bound to them."""
        return {path for name in self.secrets for path in destinations_of(name)}


class NamingWebhooks(Protocol):
    """The webhooks, which name configurations and lines."""

    def rename_configuration(self, name: str, new_name: str) -> None:
        """Let webhooks name a configuration by its new name."""

    def rename_line(self, name: str, new_name: str) -> None:
        """Let webhooks name a line by its new name."""

    def dependent_webhooks(
        self, configuration: str, lines: Collection[str]
    ) -> list[str]:
        """Return the webhooks that name the configuration or one of the lines.

        "" for no configuration.
        """

    def refuse_removal(self, configuration: str, lines: Collection[str]) -> None:
        """Raise ConfigError if a webhook names the configuration or one of the lines.

        "" for no configuration.
        """


def destinations_of(secret: str) -> set[str]:
    """Return the paths of the URLs that a secret is bound to."""
    if secret == PROXY_PASSWORD:
        return {"proxy.url"}
    urls = {"base_url"}
    if secret in SENT_TO_TOKEN_URL or secret.startswith(f"{TokenHeader.KIND}:"):
        urls |= {"oauth2.token_url", "oauth2.refresh_url"}
    if secret in SENT_TO_PUSHED_URL:
        urls.add(PUSHED_URL)
    if secret in SECRETS_OF_AWS:
        urls |= {"aws.region", "aws.role_arn", "aws.sts_url"}
    return urls


def check_secret_field(configuration: Configuration, field: str) -> None:
    """Refuse the name of a secret that this configuration does not have."""
    # Two ways to authenticate may have a secret of the same name.
    known = list(dict.fromkeys(f.secret_name for f in FIELDS if f.secret))
    rows = [row.secret_field for row in configuration.rows if row.secret]
    if configuration.variable_error is not None and configuration.is_of_account(field):
        # It would be bound to no origin at all.
        raise repeated(configuration.variable_error)
    if configuration.connection is not None:
        known = [name for name in known if configuration.is_of_account(name)]
        rows = [name for name in rows if configuration.is_of_account(name)]
    if field not in known + rows:
        hint = Text("Known: {names}.", names=", ".join(known + rows))
        raise ConfigError(Text("there is no such secret"), field="field", hint=hint)
