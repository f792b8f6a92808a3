"""What a user enters to connect an account: the inputs of the connect page."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from outkey.foundation.core.errors import ConfigError, OutkeyError
from outkey.foundation.core.fields.choices import ClientAuth
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.text import Text
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.configuration.connect_settings import (
    CLIENT_ID,
    CLIENT_SECRET,
    USERNAME,
)
from outkey.sending.core.configuration.fields import BY_PATH, secret_label
from outkey.sending.core.configuration.secret_values import refuse_unusable
from outkey.sending.core.connections.account import with_account
from outkey.sending.core.connections.connect_checks import sources_of
from outkey.sending.core.connections.connection import Connection
from outkey.sending.core.connections.sources import SourceKind
from outkey.sending.core.connections.variables import check_variable

VARIABLE = "variable:"
_CLIENT_ID_FIELD = "oauth2.client_id"
_WITHOUT_CLIENT_SECRET = (ClientAuth.MTLS, ClientAuth.FEDERATED)


@dataclass(frozen=True, slots=True)
class Entry:
    """An input of the page: the field of a secret, a name, or a variable."""

    name: str
    label: str
    is_secret: bool = False
    is_required: bool = True


@dataclass(frozen=True, slots=True)
class Entered:
    """What a user has entered, checked as far as that needs no request."""

    secrets: Mapping[str, Secret]
    facts: Mapping[str, Any]  # user name and client of the account
    variables: Mapping[str, str]


def entries_of(configuration: Configuration, connection: Connection) -> list[Entry]:
    """Return the inputs that an account of a configuration needs."""
    bare = with_account(configuration, connection, {})
    entries = []
    settings = configuration.values()
    is_own_name = USERNAME not in configuration.connect.shared
    if is_own_name and BY_PATH[USERNAME].applies(settings):
        # A key in the place of the name often has nothing beside it.
        is_required = not configuration.key_as_username
        label = BY_PATH[USERNAME].label
        entries.append(Entry(USERNAME, label, is_required=is_required))
    if CLIENT_ID in configuration.connect.own and configuration.uses_oauth2:
        entries.append(Entry(CLIENT_ID, BY_PATH[_CLIENT_ID_FIELD].label))
    secrets = [
        name for name in bare.needed_secrets() if configuration.is_of_account(name)
    ]
    if _has_own_client_secret(configuration) and CLIENT_SECRET not in secrets:
        secrets.append(CLIENT_SECRET)
    entries += [Entry(name, secret_label(name), is_secret=True) for name in secrets]
    entries += [
        Entry(f"{VARIABLE}{source.name}", source.name)
        for source in sources_of(configuration)
        if source.kind is SourceKind.ENTERED
    ]
    return entries


def _has_own_client_secret(configuration: Configuration) -> bool:
    if CLIENT_SECRET not in configuration.connect.own or not configuration.uses_oauth2:
        return False
    return configuration.oauth2.client_auth not in _WITHOUT_CLIENT_SECRET


def read_entered(
    entries: list[Entry], values: Mapping[str, str]
) -> tuple[Entered, dict[str, OutkeyError]]:
    """Return what was entered, and what is wrong with it by the name of the input."""
    secrets: dict[str, Secret] = {}
    facts: dict[str, str] = {}
    variables: dict[str, str] = {}
    errors: dict[str, OutkeyError] = {}
    for entry in entries:
        text = values.get(entry.name, "")
        try:
            if entry.is_required and not text.strip():
                raise ConfigError(Text("must not be empty"), field=entry.name)
            if entry.is_secret:
                secrets[entry.name] = Secret(text)
                refuse_unusable(entry.name, secrets[entry.name])
            elif entry.name.startswith(VARIABLE):
                name = entry.name.removeprefix(VARIABLE)
                variables[name] = check_variable(name, text.strip())
            else:
                path = _CLIENT_ID_FIELD if entry.name == CLIENT_ID else entry.name
                parsed = BY_PATH[path].parse(text.strip(), place=entry.name)
                facts[entry.name] = str(parsed)
        except OutkeyError as error:
            errors[entry.name] = error
    return Entered(secrets, facts, variables), errors
