"""The grant password, the Refresh URL, and clients with a token of another issuer."""

from dataclasses import replace
from pathlib import Path

import pytest

from outkey.administration.engine.editing.changes import destinations_of
from outkey.foundation.core.errors import (
    ConfigError,
    EgressDenied,
    OutkeyError,
    SecretMissing,
    SecretRebindRequired,
    TokenEndpointFailed,
)
from outkey.foundation.core.secret import Secret
from outkey.sending.adapters.secrets.secrets_reference import ReferencedSecrets
from outkey.sending.core.configuration.checks import (
    configuration_findings,
    refuse_unsavable,
)
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.configuration.drafts import read_draft
from outkey.sending.core.configuration.secret_values import refuse_unusable
from outkey.sending.core.oauth2.assertions import ASSERTION_TYPE
from outkey.sending.core.oauth2.token import basis_of
from outkey.sending.core.request.message import Request, Response
from outkey.sending.engine.exchange.sender import Sender
from outkey.sending.engine.gateway import Gateway
from outkey.testing import configuration, fake_gateway
from outkey.testing.fakes.basic import FakeWorld
from unit.sending.engine.tokens.test_tokens import NAMES, OAUTH, Provider, kept, send

TOKEN_URL = "https://auth.acme.example/token"
PASSWORD = OAUTH | {"oauth2__grant": "password", "username": "api-user"}
SECRETS = {"password": " exactly as entered ", "client_secret": "client-secret-1"}


class Recorder(Provider):
    """A provider that keeps the URLs of token requests."""

    def __init__(self, **extra: object) -> None:
        super().__init__(**extra)
        self.urls: list[str] = []

    def __call__(self, request: Request) -> Response | OutkeyError:
        host = request.origin.host
        if host.startswith("auth."):
            self.urls.append(request.url)
        if host.startswith("refresh."):
            self.urls.append(request.url)
            return self._token(request)
        return super().__call__(request)


def world(provider: Provider, **values: object) -> FakeWorld:
    made = configuration(**(PASSWORD | values))
    names = NAMES | {"refresh.acme.example": ("93.184.215.16",)}
    return fake_gateway(made, responses=provider, secrets=SECRETS, names=names)


# ── user name and password ──────────────────────────────────────────────────────────


def test_name_and_password_are_sent_as_they_were_entered() -> None:
    provider = Provider()
    assert send(world(provider, oauth2__scope="read")).status == 200
    assert provider.asked == [
        {
            "grant_type": "password",
            "username": "api-user",
            "password": " exactly as entered ",
            "scope": "read",
            "client_id": "erp",
        }
    ]


def test_a_client_with_a_secret_authenticates_too() -> None:
    provider = Provider()
    assert send(world(provider, oauth2__client_auth="client_secret_jwt"))
    assert provider.asked[0].keys() == {
        "grant_type",
        "username",
        "password",
        "client_id",
        "client_assertion_type",
        "client_assertion",
    }


def test_then_it_is_renewed_by_refresh_token() -> None:
    provider = Provider(refresh_token="refresh-1")
    fake = world(provider)
    send(fake)
    provider.live.clear()
    send(fake)
    assert [asked["grant_type"] for asked in provider.asked] == [
        "password",
        "refresh_token",
    ]
    assert provider.asked[1]["refresh_token"] == "refresh-1"
    assert not {"username", "password"} & provider.asked[1].keys()


def test_without_a_refresh_token_the_password_is_sent_again() -> None:
    provider = Provider()
    fake = world(provider)
    send(fake)
    provider.live.clear()
    assert send(fake).status == 200
    assert [asked["grant_type"] for asked in provider.asked] == ["password"] * 2


def test_a_refused_refresh_token_is_replaced_by_the_password() -> None:
    provider = Provider(refresh_token="refresh-1")
    fake = world(provider)
    send(fake)
    provider.live.clear()
    provider.refuse("invalid_grant")
    del provider.extra["refresh_token"]
    assert send(fake).status == 200
    kinds = [asked["grant_type"] for asked in provider.asked]
    assert kinds == ["password", "refresh_token", "password"]
    content = kept(fake).content
    assert content is not None
    assert content.refresh is None  # it would be refused again


def test_another_failure_of_the_refresh_token_does_not_send_the_password() -> None:
    provider = Provider(refresh_token="refresh-1")
    fake = world(provider)
    send(fake)
    provider.live.clear()
    provider.refuse("invalid_client", 401)
    with pytest.raises(TokenEndpointFailed):
        send(fake)
    assert [asked["grant_type"] for asked in provider.asked] == [
        "password",
        "refresh_token",
    ]


def test_a_wrong_password_needs_no_consent_and_is_not_repeated() -> None:
    provider = Provider()
    provider.refuse("invalid_grant")
    with pytest.raises(TokenEndpointFailed):
        send(world(provider))
    assert len(provider.asked) == 1
    assert provider.seen == []


def test_a_user_name_is_required() -> None:
    with pytest.raises(ConfigError) as caught:
        configuration(**(PASSWORD | {"username": ""}))
    assert caught.value.field == "username"


def test_a_missing_password_stops_everything() -> None:
    made = configuration(**PASSWORD)
    provider = Provider()
    secrets = {"client_secret": "client-secret-1"}
    fake = fake_gateway(made, responses=provider, secrets=secrets, names=NAMES)
    with pytest.raises(SecretMissing) as caught:
        send(fake)
    assert caught.value.field == "password"
    assert (provider.asked, provider.seen) == ([], [])


def test_a_public_client_needs_no_secret() -> None:
    assert configuration(**PASSWORD).needed_secrets() == ["password"]


def test_the_password_is_bound_to_the_token_url_with_this_grant_only() -> None:
    both = "https://auth.acme.example:443 https://api.acme.example:443"
    assert configuration(**PASSWORD).binding_of("password") == both
    other = configuration(**OAUTH)
    assert other.binding_of("password") == "https://api.acme.example:443"


def test_the_password_grant_has_a_warning() -> None:
    found = configuration_findings(
        configuration(**PASSWORD), lambda _name: Secret("any-value-7"), now=0.0
    )
    [warning] = [finding for finding in found if finding.id == "W012"]
    assert (warning.level, warning.field) == ("warning", "oauth2.grant")


def test_another_user_or_password_needs_another_token() -> None:
    made = configuration(**PASSWORD)
    other = configuration(**(PASSWORD | {"username": "another"}))
    assert basis_of(made) != basis_of(other)


# ── the URL that renews ─────────────────────────────────────────────────────────────


REFRESH = {"oauth2__refresh_url": "https://refresh.acme.example/renew"}


def test_only_refresh_tokens_are_sent_to_the_refresh_url() -> None:
    provider = Recorder(refresh_token="refresh-1")
    fake = world(provider, **REFRESH)
    send(fake)
    provider.live.clear()
    assert send(fake).status == 200
    assert provider.urls == [TOKEN_URL, "https://refresh.acme.example/renew"]
    assert [asked["grant_type"] for asked in provider.asked] == [
        "password",
        "refresh_token",
    ]


def test_a_refused_refresh_token_sends_the_password_to_the_token_url() -> None:
    provider = Recorder(refresh_token="refresh-1")
    fake = world(provider, **REFRESH)
    send(fake)
    provider.live.clear()
    provider.refuse("invalid_grant")
    assert send(fake).status == 200
    assert provider.urls[-1] == TOKEN_URL
    assert provider.asked[-1]["grant_type"] == "password"


def stored(**oauth2: object) -> Configuration:
    table = {
        "base_url": "https://api.acme.example",
        "authentication_type": "bearer",
        "token_source": "oauth2",
        "oauth2": {
            "grant": "refresh_token",
            "token_url": TOKEN_URL,
            "client_id": "erp",
            "client_secret": "env:CLIENT_SECRET",
            "refresh_token": "env:REFRESH_TOKEN",
        }
        | oauth2,
    }
    return read_draft("acme", table).configuration()


@pytest.mark.parametrize("secret", ["client_secret", "refresh_token"])
def test_secrets_are_bound_to_the_refresh_url_too(secret: str) -> None:
    made = stored(refresh_url="https://refresh.acme.example/renew")
    assert made.secrets[secret].origin == (
        "https://auth.acme.example:443 https://refresh.acme.example:443"
        " https://api.acme.example:443"
    )
    assert "oauth2.refresh_url" in destinations_of(secret)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "https://evil.example/renew"),
        ("https://refresh.acme.example/renew", "https://evil.example/renew"),
        ("https://refresh.acme.example/renew", ""),
    ],
)
def test_another_refresh_url_needs_the_secrets_again(before: str, after: str) -> None:
    moved = read_draft("acme", {"oauth2": {"refresh_url": after}}).merged(
        stored(refresh_url=before)
    )
    with pytest.raises(SecretRebindRequired) as caught:
        moved.refuse_unbound("client_secret")
    if after:
        assert "Refresh URL" in str(caught.value)


def test_a_refresh_url_at_the_same_origin_needs_nothing_again() -> None:
    draft = read_draft("acme", {"oauth2": {"refresh_url": f"{TOKEN_URL}/renew"}})
    moved = draft.merged(stored())
    moved.refuse_unbound("client_secret")
    assert moved.secrets["client_secret"] == stored().secrets["client_secret"]


@pytest.mark.parametrize("grant", ["client_credentials", "jwt_bearer"])
def test_a_refresh_url_is_refused_for_a_grant_without_refresh_tokens(
    grant: str,
) -> None:
    table = {"oauth2": {"grant": grant, "refresh_url": "https://x.example/renew"}}
    with pytest.raises(ConfigError) as caught:
        read_draft("acme", table).merged(stored())
    assert caught.value.field == "oauth2.refresh_url"


def test_plain_http_is_refused_for_it_as_for_the_token_url() -> None:
    with pytest.raises(EgressDenied) as caught:
        refuse_unsavable(stored(refresh_url="http://refresh.acme.example/renew"))
    assert caught.value.field == "oauth2.refresh_url"


# ── a token of another issuer ───────────────────────────────────────────────────────


def federated(path: Path) -> Configuration:
    oauth2 = {
        "token_url": TOKEN_URL,
        "client_id": "erp",
        "client_auth": "federated",
        "client_assertion": f"file:{path}",
    }
    table = {
        "base_url": "https://api.acme.example",
        "authentication_type": "bearer",
        "token_source": "oauth2",
        "oauth2": oauth2,
    }
    return read_draft("acme", table).configuration()


def reading_files(made: Configuration, provider: Provider) -> FakeWorld:
    """Return a world whose secrets are read from the references."""
    fake = fake_gateway(made, responses=provider, names=NAMES)
    ports = replace(fake.ports, secrets=ReferencedSecrets())
    sender = Sender(ports)
    return replace(fake, ports=ports, sender=sender, gateway=Gateway(sender))


def test_the_token_of_the_file_is_read_with_each_token_request(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("first-token-of-the-issuer\n")
    provider = Provider()
    fake = reading_files(federated(path), provider)
    send(fake)
    path.write_text("second-token-of-the-issuer\n")
    send(fake)  # the access token is still good
    provider.live.clear()
    send(fake)
    assert [asked["client_assertion"] for asked in provider.asked] == [
        "first-token-of-the-issuer",
        "second-token-of-the-issuer",
    ]
    assert provider.asked[0] == {
        "grant_type": "client_credentials",
        "client_id": "erp",
        "client_assertion_type": ASSERTION_TYPE,
        "client_assertion": "first-token-of-the-issuer",
    }


def test_a_file_that_is_missing_stops_everything(tmp_path: Path) -> None:
    provider = Provider()
    fake = reading_files(federated(tmp_path / "none"), provider)
    with pytest.raises(SecretMissing) as caught:
        send(fake)
    assert caught.value.field == "client_assertion"
    assert (provider.asked, provider.seen) == ([], [])


def test_its_value_is_never_stored() -> None:
    with pytest.raises(ConfigError) as caught:
        refuse_unusable("client_assertion", Secret("token-canary-7"))
    assert caught.value.field == "client_assertion"
    assert "--from" in str(caught.value.hint)
    assert "canary" not in repr(caught.value)


def test_no_client_secret_is_needed_or_sent(tmp_path: Path) -> None:
    assert federated(tmp_path / "token").needed_secrets() == ["client_assertion"]


def test_the_assertion_is_refused_for_another_client_authentication() -> None:
    with pytest.raises(ConfigError) as caught:
        stored(client_assertion="env:TOKEN")
    assert caught.value.field == "oauth2.client_assertion"
