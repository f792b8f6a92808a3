"""Headers of token requests: they go to the Token URL, and nowhere else."""

from dataclasses import replace

from outkey.foundation.core.secret import Secret
from outkey.sending.core.configuration.custom_rows import TokenHeader
from outkey.sending.core.request.message import Request, Response
from outkey.testing import configuration, fake_gateway
from outkey.testing.fakes.basic import FakeWorld
from unit.sending.engine.tokens.test_tokens import NAMES, OAUTH, SECRETS, Provider

KEY = "gateway-key-canary"
ROWS = (
    TokenHeader("X-Service", "erp", secret=False),
    TokenHeader("X-Gateway-Key", "Key {secret}", secret=True),
    TokenHeader("User-Agent", "erp/7", secret=False),
)


class Recorder(Provider):
    """Keeps the headers of each request, by the host that it went to."""

    headers: dict[str, dict[str, str]]

    def __call__(self, request: Request) -> Response:
        named = {
            h.name: h.value.reveal() if isinstance(h.value, Secret) else h.value
            for h in request.headers
        }
        self.headers = getattr(self, "headers", {}) | {request.origin.host: named}
        response = super().__call__(request)
        assert isinstance(response, Response)
        return response


def world(provider: Provider, **values: object) -> FakeWorld:
    made = configuration(**(OAUTH | values))
    made = replace(made, oauth2=replace(made.oauth2, token_headers=ROWS))
    secrets = SECRETS | {"token_header:X-Gateway-Key": KEY}
    return fake_gateway(made, responses=provider, secrets=secrets, names=NAMES)


def test_rows_are_sent_to_the_token_url_only() -> None:
    provider = Recorder()
    world(provider).gateway.send("acme", "GET", "/")
    at_provider = provider.headers["auth.acme.example"]
    assert at_provider["X-Service"] == "erp"
    assert at_provider["X-Gateway-Key"] == f"Key {KEY}"
    assert at_provider["User-Agent"] == "erp/7"
    at_api = provider.headers["api.acme.example"]
    assert not {"X-Service", "X-Gateway-Key"} & at_api.keys()
    assert at_api["User-Agent"] != "erp/7"


def test_they_are_not_sent_to_the_url_that_revokes_tokens() -> None:
    provider = Recorder()
    fake = world(provider, oauth2__revocation_url="https://auth.acme.example/revoke")
    fake.gateway.send("acme", "GET", "/")
    made = fake.ports.configurations.get("acme")
    fake.sender.token_actions(made).revoke()
    assert "X-Gateway-Key" not in provider.headers["auth.acme.example"]


def test_other_rows_need_another_token() -> None:
    provider = Recorder()
    fake = world(provider)
    fake.gateway.send("acme", "GET", "/")
    made = fake.ports.configurations.get("acme")
    other = TokenHeader("X-Service", "crm", secret=False)
    fake.ports.configurations.configurations["acme"] = replace(  # type: ignore[attr-defined]
        made, oauth2=replace(made.oauth2, token_headers=(other, *ROWS[1:]))
    )
    fake.gateway.send("acme", "GET", "/")
    assert len(provider.asked) == 2
    assert provider.headers["auth.acme.example"]["X-Service"] == "crm"
