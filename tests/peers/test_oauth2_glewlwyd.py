"""Tokens of glewlwyd: responses without a body, own error words, eager devices."""

import pytest

from outkey import errors
from outkey.sending.core.oauth2.token import State
from peers.authorization_servers import Glewlwyd
from peers.conftest import call, discover, oauth2, token_actions
from peers.documents import GatewayFor, Given, Table


def for_a_device(glewlwyd: Glewlwyd) -> Table:
    device = glewlwyd.endpoint("device")
    return oauth2(glewlwyd, "web", grant="device_code", device_url=device, scope="read")


@pytest.mark.parametrize("way", ["basic_raw", "body"])
def test_a_secret_with_special_characters_arrives_as_it_is(
    way: str, gateway_for: GatewayFor, glewlwyd: Glewlwyd
) -> None:
    gateway = gateway_for(
        peer=oauth2(glewlwyd, "cc_special", client_auth=way, scope="read")
    )
    before = glewlwyd.issued("cc_special")
    assert token_actions(gateway).renew().state is State.FRESH
    assert token_actions(gateway).introspect() is True
    assert glewlwyd.issued("cc_special") - before == 1


def test_a_secret_that_is_encoded_by_the_standard_is_refused(
    gateway_for: GatewayFor, glewlwyd: Glewlwyd
) -> None:
    table = oauth2(glewlwyd, "cc_special", client_auth="basic", scope="read")
    before = glewlwyd.issued("cc_special")
    with pytest.raises(errors.TokenEndpointFailed):
        call(gateway_for(peer=table), glewlwyd)
    assert glewlwyd.issued("cc_special") == before


def test_one_token_serves_many_calls(
    gateway_for: GatewayFor, glewlwyd: Glewlwyd
) -> None:
    seed = Given(glewlwyd.seed_refresh())
    before = glewlwyd.issued("web")
    gateway = gateway_for(
        peer=oauth2(
            glewlwyd, "web", grant="refresh_token", refresh_token=seed, scope="read"
        )
    )
    assert gateway.test("peer").ok
    assert {call(gateway, glewlwyd).status for _ in range(20)} == {200}
    assert glewlwyd.issued("web") - before == 1


# ── devices ───────────────────────────────────────────────────────────────────────────


def test_a_device_gets_its_tokens_as_soon_as_the_person_agrees(
    gateway_for: GatewayFor, glewlwyd: Glewlwyd
) -> None:
    gateway = gateway_for(peer=for_a_device(glewlwyd))
    actions = token_actions(gateway)
    device = actions.device_code()
    assert device.interval == 1
    waited: list[float] = []

    def passing(seconds: float) -> None:
        waited.append(seconds)
        if len(waited) == 2:
            glewlwyd.approve_device(device.user_code)

    actions.wait_for(device, passing)
    assert waited[:2] == [1, 1]
    assert call(gateway, glewlwyd).status == 200
    assert actions.renew().state is State.FRESH
    assert call(gateway, glewlwyd).status == 200


def test_a_device_that_asks_too_often_slows_down(
    gateway_for: GatewayFor, glewlwyd: Glewlwyd
) -> None:
    gateway = gateway_for(peer=for_a_device(glewlwyd))
    actions = token_actions(gateway)
    device = actions.device_code()._replace(interval=0.2)
    waited: list[float] = []

    def passing(seconds: float) -> None:
        waited.append(seconds)
        if seconds > 1:
            glewlwyd.approve_device(device.user_code)

    actions.wait_for(device, passing)
    assert waited[-1] == 5.2
    assert set(waited[:-1]) == {0.2}
    assert len(waited) <= 8  # the server counts whole seconds
    assert call(gateway, glewlwyd).status == 200


# ── discovery ─────────────────────────────────────────────────────────────────────────


def test_an_issuer_with_a_path_is_found_by_its_openid_document(
    gateway_for: GatewayFor, glewlwyd: Glewlwyd
) -> None:
    """There is nothing where RFC 8414 would look first."""
    issuer = f"{glewlwyd.url}/api/oidc"
    found = discover(gateway_for(), issuer)
    assert found["issuer"] == issuer
    assert found["token_url"] == glewlwyd.endpoint("token")
    assert found["authorization_url"] == glewlwyd.endpoint("authorize")
    gateway = gateway_for(peer=oauth2(glewlwyd, "cc", scope="read", **found))
    assert token_actions(gateway).renew().state is State.FRESH


def test_an_address_that_is_no_issuer_names_nothing(
    gateway_for: GatewayFor, glewlwyd: Glewlwyd
) -> None:
    with pytest.raises(errors.TokenEndpointFailed) as caught:
        discover(gateway_for(), f"{glewlwyd.url}/api/other")
    assert caught.value.reason == "not_found"
