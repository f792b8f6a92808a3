"""Token exchange: a token of the API for that of the configuration, or of each user."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from outkey.foundation.core.errors import (
    Cause,
    ConfigError,
    SecretMissing,
    TokenEndpointFailed,
)
from outkey.foundation.core.secret import Secret
from outkey.sending.core.configuration.configuration import (
    Configuration,
    with_references,
)
from outkey.sending.core.configuration.reference import parse_reference
from outkey.sending.core.oauth2 import token
from outkey.sending.core.request.message import Response
from outkey.testing import FakeGateway, FakeWorld, configuration, fake_gateway
from unit.sending.engine.tokens.test_tokens import NAMES, OAUTH, Provider

TYPE = "urn:ietf:params:oauth:token-type:"
EXCHANGE: dict[str, object] = OAUTH | {"oauth2__grant": "token_exchange"}
CALLER: dict[str, object] = EXCHANGE | {"oauth2__subject_token_from": "caller"}
SECRETS = {
    "client_secret": "client-secret-1",
    "subject_token": "the-token-of-the-job",
    "actor_token": "the-token-of-the-actor",
}


def world(provider: Provider, *entered: str, **values: object) -> FakeWorld:
    """Return a gateway for a configuration that these secrets are entered for."""
    made = configuration(**values)
    references = {
        name: parse_reference(f"env:{name.upper()}", field=name) for name in entered
    }
    made = replace(made, secrets=with_references(made, references))
    return fake_gateway(made, responses=provider, secrets=SECRETS, names=NAMES)


def send(fake: FakeWorld, user: str | None = None) -> Response:
    return fake.gateway.send("acme", "GET", "/", subject_token=user)


# ── the subject is entered ────────────────────────────────────────────────────────────


def test_the_entered_token_is_exchanged_once_for_many_requests() -> None:
    provider = Provider()
    fake = world(provider, *SECRETS, **EXCHANGE)
    assert [send(fake).status for _ in range(3)] == [200] * 3
    (asked,) = provider.asked
    assert asked == {
        "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
        "subject_token": "the-token-of-the-job",
        "subject_token_type": f"{TYPE}access_token",
        "actor_token": "the-token-of-the-actor",
        "actor_token_type": f"{TYPE}access_token",
        "client_id": "erp",
        "client_secret": "client-secret-1",
    }


def test_an_exchange_may_name_what_it_wants_and_no_client() -> None:
    # As Google's STS documents it: the subject alone proves who asks.
    provider = Provider()
    values = EXCHANGE | {
        "oauth2__client_id": "",
        "oauth2__audience": "//iam.googleapis.com/projects/1",
        "oauth2__scope": "https://www.googleapis.com/auth/cloud-platform",
        "oauth2__subject_token_type": f"{TYPE}jwt",
        "oauth2__requested_token_type": f"{TYPE}access_token",
    }
    fake = world(provider, "subject_token", **values)
    assert send(fake).status == 200
    (asked,) = provider.asked
    assert asked["audience"] == "//iam.googleapis.com/projects/1"
    assert asked["requested_token_type"] == f"{TYPE}access_token"
    assert {"client_id", "client_secret", "actor_token"}.isdisjoint(asked)


def test_the_subject_is_read_anew_at_each_exchange() -> None:
    provider = Provider(expires_in=60, refresh_token="not-for-us")
    fake = world(provider, *SECRETS, **EXCHANGE)
    send(fake)
    fake.secrets.values["subject_token"] = "the-next-token-of-the-job"
    fake.clock.advance(100)
    send(fake)
    subjects = [asked["subject_token"] for asked in provider.asked]
    assert subjects == ["the-token-of-the-job", "the-next-token-of-the-job"]


def test_a_client_that_authenticates_needs_its_name() -> None:
    values = EXCHANGE | {"oauth2__client_id": "", "oauth2__client_auth": "basic"}
    with pytest.raises(ConfigError) as raised:
        configuration(**values)
    assert raised.value.field == "oauth2.client_id"


# ── the subject comes with each request ───────────────────────────────────────────────


def test_each_user_gets_their_own_token_and_keeps_it() -> None:
    provider = Provider()
    fake = world(provider, **CALLER)
    for user in ("alice", "bob", "alice", "bob"):
        assert send(fake, user).status == 200
    assert [asked["subject_token"] for asked in provider.asked] == ["alice", "bob"]
    assert provider.seen == [
        "access-token-1",
        "access-token-2",
        "access-token-1",
        "access-token-2",
    ]
    assert fake.token("acme").status().subjects == 2


def test_a_refused_token_is_exchanged_again_for_that_user_only() -> None:
    provider = Provider()
    fake = world(provider, **CALLER)
    send(fake, "alice")
    send(fake, "bob")
    provider.live.remove("access-token-1")
    assert send(fake, "alice").status == 200
    assert send(fake, "bob").status == 200
    assert [asked["subject_token"] for asked in provider.asked] == [
        "alice",
        "bob",
        "alice",
    ]


@pytest.mark.parametrize("user", [None, "", "  "])
def test_nothing_is_sent_without_a_user(user: str | None) -> None:
    provider = Provider()
    fake = world(provider, **CALLER)
    with pytest.raises(SecretMissing) as raised:
        send(fake, user)
    assert raised.value.field == "subject_token"
    assert (provider.asked, provider.seen) == ([], [])


def test_a_user_is_refused_where_nothing_is_exchanged_for_them() -> None:
    provider = Provider()
    fake = world(provider, *SECRETS, **EXCHANGE)
    with pytest.raises(ConfigError) as raised:
        send(fake, "alice")
    assert raised.value.field == "oauth2.subject_token_from"
    assert "alice" not in f"{raised.value!r}{raised.value.hint}"
    assert (provider.asked, provider.seen) == ([], [])


def test_a_refused_user_stops_no_other_one() -> None:
    provider = Provider()
    fake = world(provider, **CALLER)
    provider.refuse("invalid_grant")
    with pytest.raises(TokenEndpointFailed) as raised:
        send(fake, "expired")
    assert raised.value.reason == "invalid_grant"
    assert send(fake, "alice").status == 200
    with pytest.raises(TokenEndpointFailed):
        send(fake, "expired")  # the provider is not asked again at once
    assert [asked["subject_token"] for asked in provider.asked] == ["expired", "alice"]


def test_the_token_of_a_user_is_stored_nowhere() -> None:
    provider = Provider()
    fake = world(provider, **CALLER)
    send(fake, "the-token-of-alice")
    states = fake.ports.tokens._states  # type: ignore[attr-defined]
    assert states
    assert "the-token-of-alice" not in repr(states)
    events = repr([vars(type(event)) and repr(event) for event in fake.audit.events])
    assert "the-token-of-alice" not in events


def test_tokens_of_users_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    from outkey.sending.adapters.tokens import tokens_memory

    for module in (token, tokens_memory):
        monkeypatch.setattr(module, "MAX_SUBJECTS", 5)
    fake = world(Provider(), **CALLER)
    for number in range(12):
        send(fake, f"user {number}")
        fake.clock.advance(1)
    assert fake.token("acme").status().subjects in {5, 6}
    send(fake, "user 11")


def test_deleting_the_token_deletes_those_of_all_users_or_of_one() -> None:
    provider = Provider()
    fake = world(provider, **CALLER)
    acme = fake.ports.configurations.get("acme")
    send(fake, "alice")
    send(fake, "bob")
    fake.sender.token_actions(acme, subject=Secret("alice")).forget()
    send(fake, "bob")
    assert len(provider.asked) == 2
    send(fake, "alice")
    assert len(provider.asked) == 3
    fake.token("acme").forget()
    assert fake.token("acme").status().subjects == 0


def test_a_renewal_needs_to_know_for_whom() -> None:
    provider = Provider()
    fake = world(provider, **CALLER)
    with pytest.raises(SecretMissing):
        fake.token("acme").renew()
    acme: Configuration = fake.ports.configurations.get("acme")
    status = fake.sender.token_actions(acme, subject=Secret("alice")).renew()
    assert status.state == "fresh"


def test_a_test_sends_for_the_given_user() -> None:
    provider = Provider()
    fake = world(provider, **CALLER)
    report = fake.gateway.test("acme")
    assert (report.ok, report.cause) == (False, Cause.SECRET_MISSING)
    assert "--subject-token" in str(report.remedy)
    report = fake.gateway.test("acme", subject_token="alice")
    assert report.ok, report
    assert [asked["subject_token"] for asked in provider.asked] == ["alice"]


def test_a_fake_gateway_refuses_what_the_real_one_refuses(tmp_path: Path) -> None:
    document = tmp_path / "acme.toml"
    document.write_text(f"""
[configuration.acme]
base_url = "https://api.acme.example"
authentication_type = "bearer"
token_source = "oauth2"
[configuration.acme.oauth2]
grant = "token_exchange"
subject_token_from = "caller"
token_url = "https://auth.acme.example/token"
client_id = "erp"
subject_token_type = "{TYPE}jwt"
""")
    gateway = FakeGateway(document)
    gateway.on("acme", "GET", "/").respond(200)
    with pytest.raises(SecretMissing):
        gateway.send("acme", "GET", "/")
    assert gateway.send("acme", "GET", "/", subject_token="alice").status == 200


def test_on_an_event_loop_each_user_gets_their_own_token_too() -> None:
    provider = Provider()
    fake = world(provider, **CALLER)

    async def send_both() -> list[int]:
        sends = [
            fake.gateway.asend("acme", "GET", "/", subject_token=user)
            for user in ("alice", "bob", "alice")
        ]
        return [response.status for response in await asyncio.gather(*sends)]

    assert asyncio.run(send_both()) == [200, 200, 200]
    subjects = [asked["subject_token"] for asked in provider.asked]
    assert sorted(subjects) == ["alice", "bob"]


def test_lent_credentials_are_those_of_the_user() -> None:
    provider = Provider()
    fake = world(provider, **CALLER)
    url = "https://api.acme.example/"
    with pytest.raises(SecretMissing):
        fake.gateway.lend("acme", "GET", url, ())
    loan = fake.gateway.lend("acme", "GET", url, (), subject_token="alice")
    assert "alice" not in repr(loan)
    again = fake.gateway.lend(
        "acme", "GET", url, (), rejected=loan, subject_token="alice"
    )
    assert loan.token != again.token
    assert [asked["subject_token"] for asked in provider.asked] == ["alice", "alice"]
