"""What an operator reads of a restored backup: keys and refresh tokens."""

from dataclasses import replace

import pytest

from outkey.administration.engine.operating.backups import (
    outdated_tokens,
    refuse_triggers,
    secrets_that_stay_sealed,
)
from outkey.foundation.core.errors import ConfigError, SecretUnreadable
from outkey.foundation.core.secret import Secret
from outkey.sending.core.oauth2.token import TokenContent, TokenState, basis_of
from outkey.testing import configuration
from unit.application_in_memory import MemoryHost, MemoryKeys, memory_host
from unit.sending.engine.tokens.test_tokens import OAUTH

CONSENT = OAUTH | {
    "oauth2__grant": "authorization_code",
    "oauth2__authorization_url": "https://auth.acme.example/authorize",
}


class Uses:
    """A rotation that knows how many secrets each key seals."""

    def __init__(self, uses: dict[str, int]) -> None:
        self._uses = uses

    def uses(self) -> dict[str, int]:
        return self._uses


def test_secrets_under_retired_and_missing_keys_are_counted() -> None:
    host = memory_host()
    keys = MemoryKeys()
    old = keys.kept.primary.name
    added, key = keys.kept.add()
    keys.kept = added.promote(key.name).retire(old, secrets=0)
    uses = Uses({old: 3, key.name: 2, "0123456789abcdef": 1})
    application = replace(host.application, keys=keys, rotation=uses)  # type: ignore[arg-type]
    assert secrets_that_stay_sealed(application) == {
        "retired": {old: 3},
        "missing": {"0123456789abcdef": 1},
    }


def host_with(grant: dict[str, object], refresh: str | None) -> MemoryHost:
    """Return a host with a configuration that has a token."""
    host = memory_host(configuration(**OAUTH | grant))
    stored = host.registry.get("acme")
    content = TokenContent(Secret("access"), Secret(refresh) if refresh else None)
    state = TokenState(serial=1, content=content, basis=basis_of(stored))
    host.world.ports.tokens.swap(stored, TokenState(), state)
    return host


@pytest.mark.parametrize(
    ("grant", "refresh", "is_named"),
    [
        (CONSENT, "refresh", True),
        (CONSENT, None, False),
        ({"oauth2__grant": "refresh_token"}, None, True),
        ({"oauth2__grant": "client_credentials"}, None, False),
    ],
)
def test_configurations_with_a_refresh_token_are_named(
    grant: dict[str, object], refresh: str | None, *, is_named: bool
) -> None:
    host = host_with(grant, refresh)
    assert list(outdated_tokens(host.application)) == (["acme"] if is_named else [])


def test_a_token_that_cannot_be_opened_may_be_outdated_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    host = host_with(CONSENT, None)

    def refuse(*_: object, **__: object) -> TokenState:
        raise SecretUnreadable

    monkeypatch.setattr(host.world.ports.tokens, "read", refuse)
    assert list(outdated_tokens(host.application)) == ["acme"]


def test_a_database_with_triggers_is_not_backed_up() -> None:
    application = memory_host().application
    refuse_triggers(application)
    planted = replace(application, triggers=lambda: ["t (outkey_run)"])
    with pytest.raises(ConfigError, match=r"t \(outkey_run\)"):
        refuse_triggers(planted)
