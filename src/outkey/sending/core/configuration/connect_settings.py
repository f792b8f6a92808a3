"""What belongs to each connection, and what all of them share with a configuration."""

from collections.abc import Mapping

from outkey.foundation.core.text import Text
from outkey.sending.core.configuration.custom_rows import CustomHeader, QueryParameter
from outkey.sending.core.configuration.fields import BY_PATH
from outkey.sending.core.configuration.oauth1_settings import (
    OAUTH1_TOKEN,
    OAUTH1_TOKEN_SECRET,
)
from outkey.sending.core.configuration.sections import ConnectSettings

USERNAME = "username"
CLIENT_ID = "client_id"
CLIENT_SECRET = "client_secret"  # noqa: S105 - the name of a secret
SHARED = "connect.shared"
OWN = "connect.own"
# Whoever has one of these acts as the account that it was issued for.
_OF_ACCOUNTS = frozenset(
    (
        "password",
        "token",
        "refresh_token",
        "secret_key",
        OAUTH1_TOKEN,
        OAUTH1_TOKEN_SECRET,
    )
)
_ROWS_OF_ACCOUNTS = (f"{CustomHeader.KIND}:", f"{QueryParameter.KIND}:")


def is_secret_of_account(secret: str, connect: ConnectSettings) -> bool:
    """Whether each connection has a secret of this name of its own."""
    if secret == CLIENT_SECRET:
        return secret in connect.own
    return _may_be_of_account(secret) and secret not in connect.shared


def refuse_odd_connections(values: Mapping[str, object]) -> None:
    """Refuse names in Shared secrets and Own client that mean nothing there."""
    shared = values[SHARED]
    own = values[OWN]
    assert isinstance(shared, tuple)  # noqa: S101 - for the type checker
    assert isinstance(own, tuple)  # noqa: S101
    for name in shared:
        if name != USERNAME and not _may_be_of_account(name):
            raise BY_PATH[SHARED].refuse(
                Text("may contain secrets of an account only, not {name}", name=name),
                hint=Text(
                    "Name username, password, token, refresh_token, secret_key,"
                    " header:NAME or query:NAME. All others are shared already."
                ),
            )
    for name in own:
        if name not in (CLIENT_ID, CLIENT_SECRET):
            raise BY_PATH[OWN].refuse(
                Text("may contain {names} only", names=f"{CLIENT_ID}, {CLIENT_SECRET}")
            )


def _may_be_of_account(secret: str) -> bool:
    return secret in _OF_ACCOUNTS or secret.startswith(_ROWS_OF_ACCOUNTS)
