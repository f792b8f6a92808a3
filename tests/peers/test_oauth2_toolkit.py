"""Tokens of django-oauth-toolkit: 403 without a challenge, issuers with a path."""

import pytest

from outkey import Gateway, errors
from outkey.sending.core.oauth2.token import State
from peers.authorization_servers import (
    PASSWORD,
    SPECIAL_ID,
    USER,
    Toolkit,
    toolkit_running,
)
from peers.conftest import (
    Arrived,
    call,
    discover,
    oauth2,
    revoke_behind_our_back,
    token_actions,
)
from peers.documents import GatewayFor, Given, Table


def for_a_client(toolkit: Toolkit, *, forbidden_means_expired: bool) -> Table:
    verification = {
        "test_path": "/_api",
        "forbidden_means_expired": forbidden_means_expired,
    }
    return oauth2(toolkit, "cc", scope="read") | {"verification": verification}


@pytest.mark.parametrize("way", ["basic", "body"])
def test_special_characters_in_id_and_secret_arrive_as_they_are(
    way: str, gateway_for: GatewayFor, toolkit: Toolkit
) -> None:
    gateway = gateway_for(peer=oauth2(toolkit, SPECIAL_ID, client_auth=way))
    arrived = Arrived(toolkit)
    assert gateway.test("peer").ok
    assert call(gateway, toolkit).json()["client"] == SPECIAL_ID
    # The test asks the API twice: with the token, and without.
    assert (arrived.token_calls, arrived.refused, arrived.api_calls) == (1, 0, 3)


def test_special_characters_that_are_not_encoded_are_refused_by_name(
    gateway_for: GatewayFor, toolkit: Toolkit
) -> None:
    gateway = gateway_for(peer=oauth2(toolkit, SPECIAL_ID, client_auth="basic_raw"))
    arrived = Arrived(toolkit)
    with pytest.raises(errors.TokenEndpointFailed) as caught:
        call(gateway, toolkit)
    assert caught.value.reason == "invalid_client"
    assert (arrived.token_calls, arrived.api_calls) == (1, 0)


def test_scopes_are_asked_for_and_shown(
    gateway_for: GatewayFor, toolkit: Toolkit
) -> None:
    gateway = gateway_for(peer=oauth2(toolkit, "cc", scope="read write"))
    assert call(gateway, toolkit, "?need=write").json()["scope"] == "read write"
    assert token_actions(gateway).status().scope == "read write"


# ── the 403 that says nothing ─────────────────────────────────────────────────────────


def test_a_bare_403_is_no_reason_to_renew_unless_the_configuration_says_so(
    gateway_for: GatewayFor, toolkit: Toolkit
) -> None:
    gateway = gateway_for(peer=for_a_client(toolkit, forbidden_means_expired=False))
    assert call(gateway, toolkit).status == 200
    revoke_behind_our_back(gateway, toolkit, "cc")
    arrived = Arrived(toolkit)
    response = call(gateway, toolkit)
    assert (response.status, response.cause) == (403, "insufficient_permissions")
    assert (arrived.token_calls, arrived.api_calls) == (0, 1)


def test_a_bare_403_renews_where_the_configuration_says_that_it_means_expired(
    gateway_for: GatewayFor, toolkit: Toolkit
) -> None:
    gateway = gateway_for(peer=for_a_client(toolkit, forbidden_means_expired=True))
    assert call(gateway, toolkit).status == 200
    revoke_behind_our_back(gateway, toolkit, "cc")
    arrived = Arrived(toolkit)
    assert call(gateway, toolkit).status == 200
    assert (arrived.token_calls, arrived.api_calls) == (1, 2)


def test_a_challenge_renews_whatever_the_configuration_says(
    gateway_for: GatewayFor, toolkit: Toolkit
) -> None:
    gateway = gateway_for(peer=for_a_client(toolkit, forbidden_means_expired=False))
    assert call(gateway, toolkit, "?challenge").status == 200
    revoke_behind_our_back(gateway, toolkit, "cc")
    arrived = Arrived(toolkit)
    assert call(gateway, toolkit, "?challenge").status == 200
    assert (arrived.token_calls, arrived.api_calls) == (1, 2)


def test_a_403_for_a_lacking_scope_costs_one_renewal_and_not_one_per_call(
    gateway_for: GatewayFor, toolkit: Toolkit
) -> None:
    gateway = gateway_for(peer=for_a_client(toolkit, forbidden_means_expired=True))
    assert call(gateway, toolkit).status == 200
    arrived = Arrived(toolkit)
    for _ in range(10):
        assert call(gateway, toolkit, "?need=write").status == 403
        assert call(gateway, toolkit, "?need=read").status == 200
    assert arrived.token_calls == 1
    assert arrived.api_calls == 21


# ── rotation ──────────────────────────────────────────────────────────────────────────


def test_a_refresh_token_that_does_not_rotate_is_kept(
    gateway_for: GatewayFor, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with toolkit_running(tmp_path_factory.mktemp("fixed"), rotate=False) as toolkit:
        seed = Given(toolkit.seed_refresh(scope="read"))
        table = oauth2(toolkit, "web", grant="refresh_token", refresh_token=seed)
        gateway = gateway_for(peer=table)
        for _ in range(4):
            assert token_actions(gateway).renew().state is State.FRESH
            assert call(gateway, toolkit).json()["user"] == USER


# ── user name and password ────────────────────────────────────────────────────────────


def of_user(toolkit: Toolkit, password: str = PASSWORD) -> Table:
    table = oauth2(toolkit, "ropc", grant="password", scope="read")
    return table | {"username": USER, "password": Given(password)}


def test_a_password_becomes_a_token_that_a_refresh_token_renews(
    gateway_for: GatewayFor, toolkit: Toolkit
) -> None:
    gateway = gateway_for(peer=of_user(toolkit))
    arrived = Arrived(toolkit)
    assert call(gateway, toolkit).json()["user"] == USER
    for _ in range(3):
        assert token_actions(gateway).renew().state is State.FRESH
        assert call(gateway, toolkit).status == 200
    assert (arrived.token_calls, arrived.refused) == (4, 0)


def test_a_wrong_password_is_the_first_reason_and_is_sent_once(
    gateway_for: GatewayFor, toolkit: Toolkit
) -> None:
    gateway = gateway_for(peer=of_user(toolkit, "wrong-canary"))
    arrived = Arrived(toolkit)
    report = gateway.test("peer")
    assert report.suspicions[0].reason.id == "password-refused"
    assert "canary" not in repr(report)
    assert (arrived.token_calls, arrived.api_calls) == (1, 0)


# ── discovery ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("path", ["", "/o", "/o/"])
def test_an_issuer_with_and_without_a_path_names_the_addresses_that_work(
    path: str, gateway_for: GatewayFor, toolkit: Toolkit
) -> None:
    found = discover(gateway_for(), toolkit.url + path)
    assert found.pop("issuer").rstrip("/") == (toolkit.url + path).rstrip("/")
    assert found == {
        "token_url": toolkit.endpoint("token"),
        "authorization_url": toolkit.endpoint("authorize"),
        "revocation_url": toolkit.endpoint("revoke"),
        "introspection_url": toolkit.endpoint("introspect"),
    }
    gateway: Gateway = gateway_for(peer=oauth2(toolkit, "cc", **found))
    assert gateway.test("peer").ok


def test_a_device_is_announced_with_the_client_id_in_the_body(
    gateway_for: GatewayFor, toolkit: Toolkit
) -> None:
    """The toolkit wants it there besides HTTP Basic, as RFC 8628 permits.

    Without a setting that we do not make, it then answers 500 with a page.
    """
    table = oauth2(
        toolkit, "web", grant="device_code", device_url=toolkit.endpoint("device")
    )
    with pytest.raises(errors.TokenEndpointFailed) as caught:
        token_actions(gateway_for(peer=table)).device_code()
    assert caught.value.reason == "server_error"
