"""Connections as programs read them, in JSON; of secrets only their state."""

from collections.abc import Mapping

from outkey.foundation.core.moments import iso_or_none
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.configuration.facts import secret_facts
from outkey.sending.core.configuration.rows import ConfigurationRow


def connection_facts(row: ConfigurationRow) -> dict[str, object]:
    """Return a row of the list of connections."""
    connection = row.connection
    assert connection is not None  # noqa: S101 - asked of connections only
    return {
        "id": connection.id,
        "owner": connection.owner,
        "state": str(row.connection_state),
        "created_at": iso_or_none(connection.created_at),
        "connected_at": iso_or_none(connection.connected_at),
        "last_used_at": iso_or_none(connection.last_used_at),
    }


def account_facts(
    row: ConfigurationRow,
    account: Configuration,
    token: Mapping[str, object] | None,
) -> dict[str, object]:
    """Return all that is shown of one connection.

    `token` are the facts of its token; None if it gets none.
    """
    connection = account.connection
    assert connection is not None  # noqa: S101 - asked of connections only
    return {
        **connection_facts(row),
        "configuration": account.name,
        "username": connection.username,
        "variables": dict(connection.variables),
        "secrets": {
            field: secret_facts(account, field) for field in secrets_of_account(account)
        },
        "token": None if token is None else dict(token),
        "paused_because": row.paused_because,
    }


def secrets_of_account(account: Configuration) -> list[str]:
    """Return the names of the secrets that an account needs or has itself."""
    names = dict.fromkeys((*account.needed_secrets(), *account.secrets))
    return [name for name in names if account.is_of_account(name)]
