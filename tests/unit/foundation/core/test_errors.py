"""Errors whose frames may hold a secret."""

import traceback

import pytest

from outkey.foundation.core.errors import (
    AccountChanged,
    ConfigError,
    ConnectionMissing,
    ConnectionPaused,
    OutkeyError,
    Paused,
    UnknownConnection,
    VariableMissing,
    drop_tracebacks,
    paused_connection,
)
from outkey.hosts.cli.printing.output import exit_code_of


@drop_tracebacks
class Vault:
    """Opens secrets."""

    size = 3

    def open(self, secret: str) -> None:
        """Fail with the secret in the frames and in the history."""
        try:
            self._decrypt(secret)
        except ValueError as error:
            raise ConfigError("unreadable") from error

    def _decrypt(self, secret: str) -> None:
        raise ValueError(secret)


def test_public_methods_of_a_decorated_class_leave_nothing_of_their_errors() -> None:
    with pytest.raises(ConfigError) as failed:
        Vault().open("planted-secret")
    error = failed.value
    assert error.__context__ is None
    assert error.__cause__ is None
    frames = [
        frame.f_code.co_name for frame, _ in traceback.walk_tb(error.__traceback__)
    ]
    assert not {"open", "_decrypt"} & {*frames}
    assert Vault.open.__doc__
    assert Vault.size == 3


def test_other_methods_keep_their_errors() -> None:
    with pytest.raises(ValueError, match="planted"):
        Vault()._decrypt("planted-secret")


@pytest.mark.parametrize(
    ("kind", "code", "exit_code"),
    [
        (ConnectionMissing, "connection_missing", 2),
        (UnknownConnection, "unknown_connection", 2),
        (VariableMissing, "variable_missing", 2),
        (AccountChanged, "account_changed", 2),
        (ConnectionPaused, "paused", 3),
    ],
)
def test_an_error_about_a_connection_has_a_code_a_cause_and_a_remedy(
    kind: type[OutkeyError], code: str, exit_code: int
) -> None:
    error = kind()
    assert (error.code, error.cause, exit_code_of(error)) == (code, code, exit_code)
    assert error.hint


@pytest.mark.parametrize("by_operator", [True, False])
def test_a_paused_connection_is_resumed_by_a_command_that_can_be_copied(
    *, by_operator: bool
) -> None:
    error = paused_connection("my shop", "acme", by_operator=by_operator)
    assert isinstance(error, Paused)
    assert "outkey connection resume 'my shop' acme" in error.hint
    assert ("rejected" in error.message) is not by_operator
