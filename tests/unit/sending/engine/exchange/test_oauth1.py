"""Requests that are signed by OAuth 1.0a, from a gateway to the wire."""

import re
from base64 import b64decode
from collections.abc import Iterable
from dataclasses import replace
from urllib.parse import unquote

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
)

from outkey.foundation.core.errors import (
    ConfigError,
    ConnectionFailed,
    HeaderConflict,
    OutkeyError,
    Paused,
    SecretMissing,
)
from outkey.foundation.core.secret import Secret
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.configuration.custom_rows import CustomHeader
from outkey.sending.core.configuration.secret_state import SecretState
from outkey.sending.core.request.message import Request, Response, ResponseHeaders
from outkey.sending.engine.wire.lockout_guard import MAX_REFUSED
from outkey.testing import configuration, fake_gateway
from outkey.testing.fakes.basic import FakeWorld

SETTINGS = {
    "base_url": "https://api.acme.example/rest",
    "authentication_type": "oauth1",
    "oauth1.consumer_key": "ck",
    "oauth1.signature_method": "HMAC-SHA256",
}
SECRETS = {
    "consumer_secret": "the-consumer-secret",
    "access_token": "the-access-token",
    "access_token_secret": "the-token-secret",
}


def world(
    *responses: Response | OutkeyError,
    secrets: dict[str, str] | None = None,
    **values: object,
) -> FakeWorld:
    entered = SECRETS if secrets is None else secrets
    return fake_gateway(
        with_states(configuration(**(SETTINGS | values)), entered),  # type: ignore[arg-type]
        responses=list(responses),
        secrets=entered,
    )


def with_states(made: Configuration, secrets: Iterable[str]) -> Configuration:
    """Return a configuration in which these secrets are entered."""
    states = {name: SecretState(made.binding_of(name)) for name in secrets}
    return replace(made, secrets=states)


def parameters_of(request: Request) -> dict[str, str]:
    [value] = [each.value for each in request.headers if each.name == "Authorization"]
    assert isinstance(value, Secret)
    text = value.reveal()
    assert text.startswith("OAuth ")
    return {name: unquote(part) for name, part in re.findall(r'(\w+)="([^"]*)"', text)}


def sent_by(fake: FakeWorld) -> list[dict[str, str]]:
    return [parameters_of(request) for request, _ in fake.transport.sent]


def test_a_request_is_signed_with_the_entered_token() -> None:
    fake = world(Response(200))
    fake.gateway.send("acme", "GET", "/orders")
    [sent] = sent_by(fake)
    assert sent["oauth_consumer_key"] == "ck"
    assert sent["oauth_token"] == "the-access-token"
    assert sent["oauth_timestamp"] == str(int(fake.clock.now()))
    assert sent["oauth_signature_method"] == "HMAC-SHA256"
    assert len(sent["oauth_signature"]) == 44


def test_an_application_alone_signs_without_a_token() -> None:
    fake = world(Response(200), secrets={"consumer_secret": "cs"})
    fake.gateway.send("acme", "GET", "/orders")
    [sent] = sent_by(fake)
    assert "oauth_token" not in sent


def test_a_private_key_signs_without_a_consumer_secret() -> None:
    key = rsa.generate_private_key(65537, 2048)
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode(
        "ascii"
    )
    fake = world(
        Response(200),
        secrets={"private_key": pem},
        **{"oauth1.signature_method": "RSA-SHA1"},
    )
    assert fake.gateway.send("acme", "GET", "/orders").status == 200
    [sent] = sent_by(fake)
    assert sent["oauth_signature_method"] == "RSA-SHA1"
    assert len(b64decode(sent["oauth_signature"])) == 256


def test_a_refusal_is_never_repeated() -> None:
    fake = world(Response(401), Response(200))
    assert fake.gateway.send("acme", "GET", "/orders").status == 401
    assert len(fake.transport.sent) == 1


def test_each_attempt_has_a_nonce_of_its_own() -> None:
    redirect = Response(307, ResponseHeaders((("Location", "/rest/new"),)))
    fake = world(ConnectionFailed(), redirect, Response(200))
    fake.gateway.send("acme", "GET", "/orders")
    sent = sent_by(fake)
    assert len({each["oauth_nonce"] for each in sent}) == 3
    assert len({each["oauth_signature"] for each in sent}) == 3


def test_refusals_in_a_row_pause_the_configuration() -> None:
    fake = world(*[Response(401)] * MAX_REFUSED)
    for _ in range(MAX_REFUSED):
        assert fake.gateway.send("acme", "GET", "/orders").status == 401
    with pytest.raises(Paused):
        fake.gateway.send("acme", "GET", "/orders")


def test_a_missing_token_secret_is_named() -> None:
    fake = world(Response(200), secrets={"consumer_secret": "cs", "access_token": "at"})
    with pytest.raises(SecretMissing) as caught:
        fake.gateway.send("acme", "GET", "/orders")
    assert caught.value.field == "access_token_secret"
    assert fake.transport.sent == []


def test_a_row_for_the_same_header_is_a_conflict() -> None:
    row = CustomHeader("Authorization", "x", secret=False)
    fake = fake_gateway(
        with_states(configuration(headers=(row,), **SETTINGS), SECRETS),  # type: ignore[arg-type]
        responses=[Response(200)],
        secrets=SECRETS,
    )
    with pytest.raises(HeaderConflict):
        fake.gateway.send("acme", "GET", "/orders")


def test_a_preview_shows_the_scheme_and_nothing_else() -> None:
    fake = world()
    shown = fake.gateway.preview("acme", "GET", "/orders")
    [value] = [each.value for each in shown.headers if each.name == "Authorization"]
    assert value == "OAuth ***"
    assert "Authorization: OAuth " in shown.curl()


def test_the_clock_of_the_api_is_followed() -> None:
    headers = ResponseHeaders((("Date", "Fri, 15 Jan 2027 09:00:00 GMT"),))
    responses = [Response(200, headers)] * 2
    fake = world(*responses, **{"verification.follow_clock": True})
    fake.gateway.send("acme", "GET", "/orders")
    fake.gateway.send("acme", "GET", "/orders")
    first, second = (int(each["oauth_timestamp"]) for each in sent_by(fake))
    assert first == int(fake.clock.now())
    assert second - first == 3600


def test_it_is_not_lent_to_another_client() -> None:
    fake = world()
    with pytest.raises(ConfigError, match=r"OAuth 1\.0a cannot be"):
        fake.gateway.lend(
            "acme", "GET", "https://api.acme.example/rest/orders", {}, body=b""
        )


def test_the_name_of_the_method_is_not_taken_for_a_secret() -> None:
    said = Response(401, body=b'{"message": "HMAC-SHA256 signature expected"}')
    fake = world(said)
    response = fake.gateway.send("acme", "GET", "/orders")
    assert not any(each.has_text("HMAC-SHA256") for each in response.sent)
