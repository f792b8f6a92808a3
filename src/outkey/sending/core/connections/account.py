"""A configuration with the account of a connection, as requests are sent with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

from outkey.foundation.core.errors import OutkeyError
from outkey.foundation.core.origin import endpoint_origin, parse_base_url
from outkey.sending.core.configuration.configuration import (
    FILLED_ENDPOINTS,
    Configuration,
)
from outkey.sending.core.configuration.connect_settings import CLIENT_ID, USERNAME
from outkey.sending.core.configuration.custom_rows import CustomRow
from outkey.sending.core.connections.allowed_origins import refuse_foreign
from outkey.sending.core.connections.url_templates import changes_origin, fill_url
from outkey.sending.core.connections.variables import fill_segment_path, fill_text
from outkey.sending.core.rotation.credential_sets import ONE_SET

if TYPE_CHECKING:
    from outkey.sending.core.configuration.secret_state import SecretState
    from outkey.sending.core.connections.connection import Connection

Row = TypeVar("Row", bound=CustomRow)
_NO_BASE = "https://base.invalid"


def with_account(
    configuration: Configuration,
    connection: Connection,
    secrets: Mapping[str, SecretState],
) -> Configuration:
    """Return a configuration with an account and the secrets of that account.

    What the account lacks is missing: another one's credentials are never used. Where
    its variables cannot be filled in, `variable_error` says why, and nothing is sent.
    """
    connect = configuration.connect
    filled: dict[str, Any] = {}
    variable_error = None
    try:
        filled = _filled(configuration, connection.variables)
    except OutkeyError as error:
        variable_error = error
    oauth2 = filled.pop("oauth2", configuration.oauth2)
    if CLIENT_ID in connect.own:
        oauth2 = replace(oauth2, client_id=connection.client_id)
    shares_name = USERNAME in connect.shared
    shared = {
        name: state
        for name, state in configuration.secrets.items()
        if not configuration.is_of_account(name)
    }
    own = {
        name: state
        for name, state in secrets.items()
        if configuration.is_of_account(name)
    }
    return replace(
        configuration,
        **filled,
        active=configuration.active and connection.active,
        username=configuration.username if shares_name else connection.username,
        oauth2=oauth2,
        secrets=shared | own,
        # Sets of credentials are those of the configuration's own account.
        sets=ONE_SET,
        other_set=None,
        stored=None,
        connection=connection,
        unconnected=configuration,
        variable_error=variable_error,
    )


def at_provider(
    configuration: Configuration,
    connection: Connection,
    secrets: Mapping[str, SecretState],
) -> Configuration:
    """Return a configuration with an account for its first token, and no request else.

    The token response may have the variables of the Base URL.
    """
    without_api = replace(
        configuration,
        base_url=_NO_BASE,
        base=parse_base_url(_NO_BASE),
        verification=replace(configuration.verification, test_path="/"),
        headers=(),
        query=(),
    )
    made = with_account(without_api, connection, secrets)
    return replace(made, unconnected=configuration)


def _filled(configuration: Configuration, values: Mapping[str, str]) -> dict[str, Any]:
    """Return the attributes that variables change, with the values of an account.

    Raises VariableMissing, ConfigError for a value that does not fit, EgressDenied for
    another origin than those that are allowed.
    """
    declared = configuration.connect.variables
    if not declared:
        return {}

    def fill_path(path: str, field: str) -> str:
        return fill_segment_path(path, values, declared=declared, field=field)

    verification = configuration.verification
    login = configuration.login
    base_url = _filled_url(configuration, "base_url", values)
    endpoints: dict[str, Any] = {
        path.removeprefix("oauth2."): _filled_url(configuration, path, values)
        for path in FILLED_ENDPOINTS
    }
    return {
        "base_url": base_url,
        "base": parse_base_url(base_url),
        "verification": replace(
            verification,
            test_path=fill_path(verification.test_path, "verification.test_path"),
        ),
        "login": replace(login, path=fill_path(login.path, "login.path")),
        "oauth2": replace(configuration.oauth2, **endpoints),
        "headers": tuple(_filled_row(row, values) for row in configuration.headers),
        "query": tuple(_filled_row(row, values) for row in configuration.query),
    }


def _filled_url(
    configuration: Configuration, path: str, values: Mapping[str, str]
) -> str:
    template: str = attrgetter(path)(configuration)
    url = fill_url(template, values, path)
    if changes_origin(template):
        origin = endpoint_origin(url, path)
        refuse_foreign(origin, configuration.allowed_patterns, path)
    return url


def _filled_row(row: Row, values: Mapping[str, str]) -> Row:
    """Return a row with the values of an account; the text around a secret stays."""
    return row if row.secret else replace(row, value=fill_text(row.value, values))
