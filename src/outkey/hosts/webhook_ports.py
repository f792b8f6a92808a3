"""Puts the adapters of webhooks together; their schemes are loaded when needed."""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, cast

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.text import Text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from outkey.foundation.ports.database import Database, StateRows
    from outkey.sending.adapters.secrets.keyring_loader import KeyringLoader
    from outkey.sending.adapters.secrets.secrets_reference import ReferencedSecrets
    from outkey.sending.engine.exchange.sender import Sender
    from outkey.sending.ports.sending import Audit
    from outkey.webhooks.engine.reception import ReceptionPorts
    from outkey.webhooks.engine.work import Handler
    from outkey.webhooks.ports.webhooks import DeliveryRows

MEBIBYTE = 1024 * 1024
LIMIT = "OUTKEY_WEBHOOK_MEBIBYTES"
HIGHEST_LIMIT = 25
HANDLERS = "OUTKEY_WEBHOOK_HANDLERS"


@dataclass(frozen=True, slots=True)
class WebhookStorage:
    """The storage that webhooks share with the rest of an installation."""

    states: StateRows
    database: Database
    keys: KeyringLoader
    references: ReferencedSecrets
    audit: Audit


def open_hook_ports(
    deliveries: DeliveryRows,
    storage: WebhookStorage,
    sender: Sender,
    environment: Mapping[str, str] = os.environ,
) -> ReceptionPorts:
    """Return what webhooks work with."""
    from outkey.foundation.adapters.paths_jmespath import JmespathCompiler
    from outkey.sending.adapters.transport.tls_context import system_authorities
    from outkey.webhooks.adapters.public_keys import CryptographyKeys
    from outkey.webhooks.adapters.webhook_vault import SealedWebhooks
    from outkey.webhooks.engine.fetching import fetch_public
    from outkey.webhooks.engine.reception import ReceptionPorts
    from outkey.webhooks.engine.refusals import Refusals
    from outkey.webhooks.engine.stored_webhooks import WebhookSettings

    vault = SealedWebhooks(storage.keys, storage.references)
    return ReceptionPorts(
        settings=WebhookSettings(storage.states, storage.database, vault),
        deliveries=deliveries,
        refusals=Refusals(storage.states, storage.database, storage.audit),
        database=storage.database,
        clock=sender.context.clock,
        keys=CryptographyKeys(system_authorities),
        finder=JmespathCompiler(),
        fetch=lambda url: sender.run(fetch_public(sender.context, url)),
        audit=storage.audit,
        max_body=body_limit(environment),
    )


def find_handler(name: str) -> Handler:
    """Return the function that a webhook names; a Django signal will do as well."""
    module, _, attribute = name.rpartition(".")
    try:
        found = getattr(import_module(module), attribute)
    except Exception:  # noqa: BLE001 - a module may raise anything when it is imported
        raise _no_function(name) from None
    if callable(found):
        return cast("Handler", found)
    if hasattr(found, "send"):
        return lambda event: found.send(sender=event.webhook, event=event)
    raise _no_function(name)


def _no_function(name: str) -> ConfigError:
    """Return the error for a name that is no function."""
    return ConfigError(
        Text("there is no function {name}", name=name),
        hint=Text("Name a function that this process can import."),
        field="handler",
    )


def listed_handlers(environment: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """Return the functions, or modules of functions, that webhooks may name."""
    from outkey.webhooks.core.settings.handlers import parse_handlers

    return parse_handlers(environment.get(HANDLERS, ""))


def body_limit(environment: Mapping[str, str] = os.environ) -> int:
    """Return the greatest number of bytes of a delivery's body."""
    return read_mebibytes(environment, LIMIT, low=1, high=HIGHEST_LIMIT)


def read_mebibytes(
    environment: Mapping[str, str], name: str, *, low: int, high: int
) -> int:
    """Return a limit in bytes that the operator may raise; the lowest by default."""
    text = environment.get(name) or str(low)
    if not text.isascii() or not text.isdecimal() or not low <= int(text) <= high:
        raise ConfigError(
            Text("must be a whole number from {low} to {high}", low=low, high=high),
            field=name,
        )
    return int(text) * MEBIBYTE
