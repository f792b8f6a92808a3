"""The grant jwt_bearer (RFC 7523): each request has a new assertion."""

import json
from dataclasses import replace
from urllib.parse import parse_qs

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from joserfc import jwt
from joserfc.jwk import RSAKey

from outkey.foundation.core.errors import (
    ConfigError,
    ConnectionFailed,
    OutkeyError,
    SecretMissing,
    SecretRebindRequired,
)
from outkey.foundation.core.secret import Secret
from outkey.sending.core.configuration.configuration import Configuration, build
from outkey.sending.core.configuration.drafts import read_draft
from outkey.sending.core.configuration.secret_state import SecretState
from outkey.sending.core.oauth2.grants import JWT_BEARER
from outkey.sending.core.oauth2.token import basis_of
from outkey.sending.core.request.message import Request, Response
from outkey.testing import configuration, fake_gateway
from outkey.testing.fakes.basic import FakeWorld
from unit.sending.engine.tokens.test_tokens import NAMES, Provider, send

TOKEN_URL = "https://auth.acme.example/token"
ALGORITHMS = ["RS256", "RS384", "PS256"]
KEY = rsa.generate_private_key(65537, 2048)
PEM = KEY.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
PUBLIC = RSAKey.import_key(
    KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
)
ACCOUNT = json.dumps(
    {
        "type": "service_account",
        "project_id": "acme",
        "private_key_id": "key-of-google",
        "private_key": PEM,
        "client_email": "erp@acme.iam.example",
        "token_uri": TOKEN_URL,
    }
)
JWT = {
    "authentication_type": "bearer",
    "token_source": "oauth2",
    "oauth2__grant": "jwt_bearer",
    "oauth2__token_url": TOKEN_URL,
}


class Issuer(Provider):
    """A token endpoint that keeps what it was sent, with the assertions decoded."""

    def __init__(self) -> None:
        super().__init__()
        self.assertions: list[str] = []

    def _token(self, request: Request) -> Response | OutkeyError:
        assert isinstance(request.body, Secret)
        form = parse_qs(request.body.reveal())
        self.assertions += form.get("assertion", [])
        return super()._token(request)

    def token(self, number: int = -1) -> jwt.Token:
        return jwt.decode(self.assertions[number], PUBLIC, algorithms=ALGORITHMS)


def world(provider: Provider, key: str = PEM, **values: object) -> FakeWorld:
    made = configuration(**(JWT | values))
    return fake_gateway(
        made, responses=provider, secrets={"private_key": key}, names=NAMES
    )


def sent(key: str = PEM, **values: object) -> tuple[Issuer, FakeWorld]:
    provider = Issuer()
    fake = world(provider, key, **values)
    assert send(fake).status == 200
    return provider, fake


def test_the_request_has_the_grant_and_the_assertion_and_nothing_else() -> None:
    provider, fake = sent(oauth2__assertion__issuer="erp@acme.example")
    [asked] = provider.asked
    assert asked.keys() == {"grant_type", "assertion"}
    assert asked["grant_type"] == JWT_BEARER
    token = provider.token()
    now = int(fake.clock.now())
    assert token.header == {"alg": "RS256", "typ": "JWT"}
    assert token.claims.pop("jti")
    assert token.claims == {
        "iss": "erp@acme.example",
        "sub": "erp@acme.example",
        "aud": TOKEN_URL,
        "iat": now,
        "exp": now + 300,
    }


def test_settings_shape_the_assertion() -> None:
    provider, _ = sent(
        oauth2__client_id="app",
        oauth2__scope="contacts",
        oauth2__assertion__subject="user@acme.example",
        oauth2__assertion__audience="https://acme.example",
        oauth2__assertion__key_id="key-1",
        oauth2__assertion__algorithm="PS256",
        oauth2__assertion__lifetime_seconds=10,
        oauth2__assertion__scope_in="assertion",
        oauth2__assertion__claims={"tenant": "7"},
    )
    token = provider.token()
    assert (token.header["alg"], token.header["kid"]) == ("PS256", "key-1")
    claims = token.claims
    assert (claims["iss"], claims["sub"]) == ("app", "user@acme.example")
    assert claims["aud"] == "https://acme.example"
    assert claims["exp"] - claims["iat"] == 10
    assert (claims["scope"], claims["tenant"]) == ("contacts", "7")
    assert provider.asked[0].keys() == {"grant_type", "assertion", "client_id"}


def test_the_audience_is_the_issuer_of_the_provider_if_there_is_one() -> None:
    provider, _ = sent(
        oauth2__client_id="app", oauth2__issuer="https://auth.acme.example"
    )
    assert provider.token().claims["aud"] == "https://auth.acme.example"


def test_a_service_account_file_names_issuer_and_key() -> None:
    provider, _ = sent(ACCOUNT)
    token = provider.token()
    assert token.header["kid"] == "key-of-google"
    assert token.claims["iss"] == "erp@acme.iam.example"
    # Google expects a subject only for another account.
    assert "sub" not in token.claims


def test_what_was_entered_goes_before_what_the_file_names() -> None:
    provider, _ = sent(
        ACCOUNT,
        oauth2__assertion__issuer="other@acme.example",
        oauth2__assertion__key_id="other-key",
    )
    token = provider.token()
    assert token.header["kid"] == "other-key"
    assert token.claims["iss"] == "other@acme.example"


def test_a_retry_after_a_broken_connection_has_a_new_assertion() -> None:
    provider = Issuer()
    provider.token_answers.append(ConnectionFailed())
    assert send(world(provider, oauth2__client_id="app")).status == 200
    numbers = [provider.token(each).claims["jti"] for each in (0, 1)]
    assert len(set(numbers)) == 2


def test_a_token_that_the_api_refuses_is_replaced_by_a_new_assertion() -> None:
    provider, fake = sent(oauth2__client_id="app")
    provider.live.clear()
    assert send(fake).status == 200
    assert len(set(provider.assertions)) == 2


def test_a_refresh_token_of_the_response_is_not_used() -> None:
    provider = Issuer()
    provider.extra["refresh_token"] = "not-for-this-grant"
    fake = world(provider, oauth2__client_id="app")
    send(fake)
    provider.live.clear()
    send(fake)
    assert {asked["grant_type"] for asked in provider.asked} == {JWT_BEARER}


@pytest.mark.parametrize(
    "key",
    [
        "not-a-key-canary",
        ACCOUNT.replace("BEGIN", "canary"),
        ACCOUNT.replace('private_key"', 'canary"'),
    ],
)
def test_what_is_not_a_key_is_refused_without_its_value(key: str) -> None:
    provider = Issuer()
    with pytest.raises(ConfigError) as caught:
        send(world(provider, key, oauth2__client_id="app"))
    assert caught.value.field == "private_key"
    assert "Private Key" in str(caught.value)
    assert "canary" not in f"{caught.value!r} {caught.value.hint}"
    assert (provider.asked, provider.seen) == ([], [])


def test_without_the_key_nothing_is_sent() -> None:
    made = configuration(**(JWT | {"oauth2__client_id": "app"}))
    provider = Issuer()
    fake = fake_gateway(made, responses=provider, secrets={}, names=NAMES)
    with pytest.raises(SecretMissing) as caught:
        send(fake)
    assert caught.value.field == "private_key"
    assert (provider.asked, provider.seen) == ([], [])


# ── settings ────────────────────────────────────────────────────────────────────────


TABLE: dict[str, object] = {
    "base_url": "https://api.acme.example",
    "authentication_type": "bearer",
    "token_source": "oauth2",
    "oauth2": {
        "grant": "jwt_bearer",
        "token_url": TOKEN_URL,
        "private_key": "file:/run/key.json",
    },
}


def made(**changed: object) -> Configuration:
    table = TABLE | {"oauth2": TABLE["oauth2"] | changed}  # type: ignore[operator]
    return read_draft("acme", table).configuration()


def test_only_this_grant_needs_no_client_id() -> None:
    assert made().needed_secrets() == ["private_key"]
    with pytest.raises(ConfigError) as caught:
        build(
            "acme",
            {
                "base_url": "https://api.acme.example",
                "authentication_type": "bearer",
                "token_source": "oauth2",
                "oauth2.token_url": TOKEN_URL,
            },
        )
    assert caught.value.field == "oauth2.client_id"


def test_a_client_may_authenticate_as_well() -> None:
    both = made(client_id="app", client_auth="basic", client_secret="env:SECRET")
    assert set(both.needed_secrets()) == {"private_key", "client_secret"}


def test_the_key_is_refused_for_another_grant_or_type() -> None:
    with pytest.raises(ConfigError) as caught:
        made(grant="client_credentials", client_id="app")
    assert caught.value.field == "oauth2.private_key"
    table = TABLE | {"authentication_type": "oauth1", "oauth1": {"consumer_key": "ck"}}
    with pytest.raises(ConfigError) as caught:
        read_draft("acme", table).configuration()
    assert caught.value.field == "oauth2.private_key"


def test_the_key_is_bound_to_the_token_url_and_the_api() -> None:
    stored = made()
    assert stored.secrets["private_key"].origin == (
        "https://auth.acme.example:443 https://api.acme.example:443"
    )
    for oauth2 in ({"token_url": "https://evil.example/token"},):
        moved = read_draft("acme", {"oauth2": oauth2}).merged(stored)
        with pytest.raises(SecretRebindRequired):
            moved.refuse_unbound("private_key")


def test_a_key_of_one_type_is_not_used_by_another_one_without_being_entered() -> None:
    legs = {
        "oauth1.request_url": "https://legs.example/initiate",
        "oauth1.authorization_url": "https://legs.example/authorize",
        "oauth1.access_url": "https://legs.example/token",
        "oauth1.consumer_key": "ck",
        "oauth1.signature_method": "RSA-SHA1",
    }
    stored = made()
    other = build(
        "acme",
        stored.values() | legs | {"authentication_type": "oauth1"},
        secrets=stored.secrets,
    )
    with pytest.raises(SecretRebindRequired):
        other.refuse_unbound("private_key")


@pytest.mark.parametrize(
    "changed",
    [
        {"assertion": {"subject": "another"}},
        {"assertion": {"claims": {"tenant": "8"}}},
        {"scope": "more"},
        {"client_id": "another"},
    ],
)
def test_another_statement_needs_another_token(changed: dict[str, object]) -> None:
    assert basis_of(made(**changed)) != basis_of(made())


def test_another_key_needs_another_token() -> None:
    stored = made()
    state = SecretState(stored.secrets["private_key"].origin, version=2)
    other = replace(stored, secrets={"private_key": state})
    assert basis_of(other) != basis_of(stored)
