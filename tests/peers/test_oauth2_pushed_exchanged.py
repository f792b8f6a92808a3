"""Pushed consents, PKCE and exchanged tokens at oidc-provider, right and wrong."""

from urllib.parse import parse_qs, urlsplit

import pytest

from outkey import Gateway, errors
from outkey.sending.core.oauth2.grants import Consent, consent_for
from peers.authorization_servers import REDIRECT, Oidc, pkce
from peers.conftest import call, code_in, oauth2, token_actions
from peers.documents import GatewayFor, Table
from peers.test_oauth2_oidc import for_a_person

EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"


def consent() -> Consent:
    return consent_for("s", pkce()[0], REDIRECT)


def pushing(oidc: Oidc, **settings: object) -> Table:
    usual: Table = {
        "client_auth": "body",
        "grant": "authorization_code",
        "pushed_authorization_url": oidc.endpoint("push"),
        "extra": {"prompt": "consent"},
    }
    return for_a_person(oidc, "public", **usual | settings)


def test_a_pushed_consent_is_redeemed_and_named_once(
    gateway_for: GatewayFor, oidc: Oidc
) -> None:
    gateway = gateway_for(peer=pushing(oidc))
    actions = token_actions(gateway)
    begun = consent()
    pushed = actions.push(begun)
    url = actions.pushed_consent_url(pushed)
    assert set(parse_qs(urlsplit(url).query)) == {"client_id", "request_uri"}
    actions.redeem(code_in(oidc.approve(url)), begun)
    assert call(gateway, oidc).json()["client"] == "public"
    assert "code=" not in oidc.approve(url)  # it is used


@pytest.mark.parametrize(
    ("settings", "reason", "words"),
    [
        ({"client_id": "nobody"}, "invalid_client", "client authentication failed"),
        ({"client_auth": "basic", "client_id": "cc_basic"}, "", "response_type"),
        ({"pkce": "off"}, "invalid_request", "PKCE"),
        ({"extra": {"prompt": "what"}}, "invalid_request", "prompt"),
    ],
)
def test_a_wrong_consent_is_refused_before_the_browser_leaves(
    settings: dict[str, object],
    reason: str,
    words: str,
    gateway_for: GatewayFor,
    oidc: Oidc,
) -> None:
    if settings.get("client_id") == "cc_basic":
        settings = settings | oauth2(oidc, "cc_basic")["oauth2"]
        settings |= {"grant": "authorization_code"}
    actions = token_actions(gateway_for(peer=pushing(oidc, **settings)))
    with pytest.raises(errors.TokenEndpointFailed) as caught:
        actions.push(consent())
    assert caught.value.reason == reason or not reason
    assert words in str(caught.value.said)
    assert caught.value.field == "oauth2.pushed_authorization_url"


def test_without_pkce_a_provider_that_requires_it_issues_no_code(
    gateway_for: GatewayFor, oidc: Oidc
) -> None:
    table = pushing(oidc, pkce="off", pushed_authorization_url="")
    actions = token_actions(gateway_for(peer=table))
    back = parse_qs(urlsplit(oidc.approve(actions.consent_url(consent()))).query)
    assert back["error"] == ["invalid_request"]
    assert "PKCE" in back["error_description"][0]


def exchanging(gateway_for: GatewayFor, oidc: Oidc, **settings: object) -> Gateway:
    oidc.register(
        "exchanger",
        grant_types=[EXCHANGE],
        redirect_uris=[],
        response_types=[],
        token_endpoint_auth_method="none",
    )
    usual: Table = {
        "client_auth": "body",
        "grant": "token_exchange",
        "subject_token_from": "caller",
    }
    return gateway_for(peer=oauth2(oidc, "exchanger", **usual | settings))


def test_each_user_is_known_to_the_api_by_their_exchanged_token(
    gateway_for: GatewayFor, oidc: Oidc
) -> None:
    gateway = exchanging(gateway_for, oidc)
    before = oidc.calls().token
    tokens = {user: oidc.seed_access(user) for user in ("alice", "carol")}
    for user in (*tokens, *tokens):
        path = urlsplit(oidc.endpoint("api")).path
        sent = gateway.send("peer", "GET", path, subject_token=tokens[user])
        assert (sent.json()["user"], sent.json()["client"]) == (user, "exchanger")
    assert oidc.calls().token == before + 2


@pytest.mark.parametrize(
    ("settings", "subject", "first"),
    [
        ({}, "a stranger's token", "subject-token-refused"),
        ({"subject_token_type": "urn:x"}, "", "subject-token-refused"),
        ({"audience": "https://other.example/"}, "", "exchange-target-refused"),
        ({"client_id": "web"}, "", "grant-not-allowed"),
        ({"client_id": "nobody"}, "", "client-secret-wrong"),
    ],
)
def test_a_refused_exchange_has_its_cause_first(
    settings: dict[str, object],
    subject: str,
    first: str,
    gateway_for: GatewayFor,
    oidc: Oidc,
) -> None:
    if settings.get("client_id") == "web":
        settings = settings | {
            key: value
            for key, value in oauth2(oidc, "web")["oauth2"].items()
            if key in {"client_secret", "client_auth"}
        }
    gateway = exchanging(gateway_for, oidc, **settings)
    token = subject or oidc.seed_access("alice")
    report = gateway.test("peer", subject_token=token)
    assert not report.ok
    assert report.suspicions[0].reason.id == first, (report.error, report.suspicions)
    assert token not in f"{report.error}{report.remedy}"
