"""Errors whose frames may hold a secret."""

import traceback

import pytest

from outkey.foundation.core.errors import ConfigError, drop_tracebacks


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
