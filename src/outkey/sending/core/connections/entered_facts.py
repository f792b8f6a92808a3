"""What a user may enter for a connection, and which secrets it may have."""

import difflib
from collections.abc import Mapping
from typing import Any

from outkey.foundation.core.errors import ConfigError, VariableMissing, repeated
from outkey.foundation.core.text import Text
from outkey.sending.core.configuration.configuration import (
    Configuration,
    known_names,
)
from outkey.sending.core.configuration.connect_settings import CLIENT_ID, USERNAME
from outkey.sending.core.configuration.fields import BY_PATH, FIELDS
from outkey.sending.core.connections.variables import check_variable, variable_field

VARIABLES = "variables"
# With the field that says which values it may have.
FACTS = {USERNAME: "username", CLIENT_ID: "oauth2.client_id", "owner": "owner"}
_FIELDS_OF_SECRETS = {
    name: tuple(field for field in FIELDS if field.secret and field.secret_name == name)
    for name in dict.fromkeys(field.secret_name for field in FIELDS if field.secret)
}


def check_facts(
    configuration: Configuration, facts: Mapping[str, object], place: str = ""
) -> dict[str, Any]:
    """Return the facts of a connection as they are stored, or refuse one.

    The place is that of a connection in a document, before the names of its facts.
    """
    if CLIENT_ID in facts and not is_fact_of_account(configuration, CLIENT_ID):
        raise ConfigError(
            Text("the client is the configuration's"),
            hint=Text("Name client_id under Own client (connect.own) first."),
            field=f"{place}{CLIENT_ID}",
        )
    if USERNAME in facts and not is_fact_of_account(configuration, USERNAME):
        raise ConfigError(
            Text("the user name is the configuration's"),
            hint=Text("Remove username from Shared secrets (connect.shared) first."),
            field=f"{place}{USERNAME}",
        )
    checked: dict[str, Any] = {
        name: str(BY_PATH[FACTS[name]].parse(value, place=f"{place}{name}"))
        for name, value in facts.items()
        if name != VARIABLES
    }
    if VARIABLES in facts:
        checked[VARIABLES] = _check_variables(configuration, facts[VARIABLES], place)
    return checked


def _check_variables(
    configuration: Configuration, values: object, place: str
) -> dict[str, str]:
    """Return values of declared variables, or refuse one."""
    if not isinstance(values, Mapping):
        raise ConfigError(Text("must be texts by name"), field=f"{place}{VARIABLES}")
    declared = configuration.connect.variables
    for name in values:
        if name not in declared:
            raise ConfigError(
                Text("there is no such variable"),
                hint=known_names(sorted(declared)),
                field=f"{place}{variable_field(str(name))}",
            )
    try:
        return {name: check_variable(name, value) for name, value in values.items()}
    except ConfigError as error:
        raise repeated(error, field=f"{place}{error.field}") from None


def refuse_unusable_values(account: Configuration, place: str = "") -> None:
    """Refuse variables that lead elsewhere; those that are missing may follow later."""
    error = account.variable_error
    if error is None or isinstance(error, VariableMissing):
        return
    field = error.field or ""
    is_value = field.startswith(f"{VARIABLES}.")
    raise repeated(error, field=f"{place}{field}" if is_value else field)


def is_fact_of_account(configuration: Configuration, name: str) -> bool:
    """Whether each connection has a fact of this name of its own."""
    if name == CLIENT_ID:
        return name in configuration.connect.own
    return name not in configuration.connect.shared


def secrets_of_accounts(configuration: Configuration) -> list[str]:
    """Return the names of the secrets that each connection has of its own.

    Without those that mean nothing beside the other settings.
    """
    rows = [row.secret_field for row in configuration.api_rows if row.secret]
    return [
        name for name in (*_FIELDS_OF_SECRETS, *rows) if has_own(configuration, name)
    ]


def has_own(configuration: Configuration, secret: str) -> bool:
    """Whether each connection has a secret of its own, and the settings have a use."""
    if not configuration.is_of_account(secret):
        return False
    fields = _FIELDS_OF_SECRETS.get(secret, ())
    if any(not field.is_strict for field in fields):  # nearly always
        return True
    settings = configuration.values() if fields else {}
    return any(not field.is_refused(settings) for field in fields) or any(
        row.secret and row.secret_field == secret for row in configuration.api_rows
    )


def refuse_secret_of_others(
    configuration: Configuration, secret: str, place: str = ""
) -> None:
    """Refuse the name of a secret that connections of a configuration do not have."""
    if has_own(configuration, secret):
        return
    known = secrets_of_accounts(configuration)
    is_shared = not configuration.is_of_account(secret)
    message = Text("connections of this configuration have no such secret")
    hint = Text("Known: {names}.", names=", ".join(known))
    similar = difflib.get_close_matches(secret, known, n=1)
    if is_shared:
        message = Text("the secret is the configuration's, and not of an account")
        hint = Text("Name it in the table of the configuration instead.")
    elif similar:
        hint = Text("Did you mean {name}?", name=similar[0])
    raise ConfigError(message, hint=hint, field=f"{place}{secret}")
