"""A probe tries credentials once, whatever would be renewed otherwise."""

import pytest

from outkey.foundation.core.errors import ConnectionFailed, SecretMissing
from outkey.sending.core.request.message import Request, Response, ResponseHeaders
from outkey.sending.engine.rotation.probe import probe
from outkey.testing import configuration, fake_gateway
from outkey.testing.fakes.basic import FakeResponse, FakeWorld

OAUTH = {
    "authentication_type": "bearer",
    "token_source": "oauth2",
    "oauth2__grant": "client_credentials",
    "oauth2__token_url": "https://api.acme.example/token",
    "oauth2__client_id": "client",
}
GRANTED = Response(200, body=b'{"access_token": "t", "token_type": "Bearer"}')


def world(token: FakeResponse, api: FakeResponse, sent: list[str]) -> FakeWorld:
    def respond(request: Request) -> FakeResponse:
        sent.append(request.target)
        return token if request.target == "/token" else api

    return fake_gateway(
        configuration(**OAUTH), responses=respond, secrets={"client_secret": "s"}
    )


@pytest.mark.parametrize(
    ("token", "api", "refused", "sent"),
    [
        (GRANTED, Response(200), False, ["/token", "/"]),
        (GRANTED, Response(401), True, ["/token", "/"]),
        (GRANTED, Response(403), None, ["/token", "/"]),
        (GRANTED, Response(503), None, ["/token", "/"]),
        (GRANTED, ConnectionFailed(), None, ["/token", "/"]),
        (Response(401, body=b'{"error": "invalid_client"}'), None, True, ["/token"]),
        (Response(503), None, None, ["/token"]),
    ],
)
def test_one_token_request_and_one_request_at_most(
    token: FakeResponse, api: FakeResponse, *, refused: bool | None, sent: list[str]
) -> None:
    targets: list[str] = []
    fake = world(token, api, targets)
    result = probe(fake.sender, fake.ports.configurations.get("acme"))
    assert (result.refused, targets) == (refused, sent)
    assert set(result.facts()) == {
        "configuration",
        "serial",
        "refused",
        "status",
        "cause",
        "at",
    }


def test_credentials_that_are_missing_prove_nothing() -> None:
    fake = fake_gateway(configuration(authentication_type="bearer"), secrets={})
    with pytest.raises(SecretMissing):
        probe(fake.sender, fake.ports.configurations.get("acme"))


def test_a_challenge_is_no_refusal() -> None:
    challenge = 'Digest realm="r", nonce="n", qop="auth", algorithm=SHA-256'
    refused = Response(401, ResponseHeaders((("WWW-Authenticate", challenge),)))
    fake = fake_gateway(
        configuration(authentication_type="digest", username="u"),
        responses=[refused, Response(200)],
        secrets={"password": "p"},
    )
    result = probe(fake.sender, fake.ports.configurations.get("acme"))
    assert result.refused is False
