"""Tokens of oidc-provider: all client authentications, DPoP, devices and discovery."""

import json
from dataclasses import asdict

import pytest
from jwcrypto.jwk import JWK

from outkey import Gateway, errors
from outkey.foundation.core.fields.choices import Network
from outkey.foundation.core.secret import Secret
from outkey.sending.core.oauth2.grants import DeviceCode, consent_for
from outkey.sending.core.oauth2.token import State
from peers.authorization_servers import REDIRECT, SPECIAL_ID, USER, Asker, Oidc, pkce
from peers.certificates import Pki
from peers.conftest import (
    Arrived,
    call,
    code_in,
    discover,
    oauth2,
    revoke_behind_our_back,
    token_actions,
)
from peers.documents import GatewayFor, Given, Table

USER_SCOPE = "openid offline_access api:read"
STEPS = ["configuration", "secrets", "token", "connect", "request"]


def refused(gateway: Gateway, oidc: Oidc) -> str:
    """Return why no token could be got for a call."""
    with pytest.raises(errors.TokenEndpointFailed) as caught:
        call(gateway, oidc)
    return caught.value.reason


def for_a_person(oidc: Oidc, client: str = "web", **settings: object) -> Table:
    addresses = {
        "authorization_url": oidc.endpoint("authorize"),
        "device_url": oidc.endpoint("device"),
    }
    return oauth2(oidc, client, scope=USER_SCOPE, **(addresses | settings))


# ── how the client proves itself ──────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("client", "way"),
    [
        ("cc_basic", "basic"),
        ("cc_basic", "basic_raw"),
        ("cc_basic", "body"),
        ("cc_post", "body"),
        ("cc_post", "basic"),
        ("cc_sjwt", "client_secret_jwt"),
        (SPECIAL_ID, "basic"),
        (SPECIAL_ID, "body"),
    ],
)
def test_a_client_with_a_secret_gets_one_token_for_its_test_and_all_sends(
    client: str, way: str, gateway_for: GatewayFor, oidc: Oidc
) -> None:
    gateway = gateway_for(peer=oauth2(oidc, client, client_auth=way, scope="api:read"))
    arrived = Arrived(oidc)
    report = gateway.test("peer")
    assert (report.ok, report.status) == (True, 200)
    assert [step.step for step in report.steps] == STEPS
    for _ in range(3):
        answer = call(gateway, oidc).json()
        assert (answer["client"], answer["scope"]) == (client, "api:read")
    # The test asks the API twice: with the token, and without.
    assert (arrived.token_calls, arrived.refused, arrived.api_calls) == (1, 0, 5)


def test_special_characters_that_are_not_encoded_are_refused_by_name(
    gateway_for: GatewayFor, oidc: Oidc
) -> None:
    gateway = gateway_for(peer=oauth2(oidc, SPECIAL_ID, client_auth="basic_raw"))
    arrived = Arrived(oidc)
    assert refused(gateway, oidc) == "invalid_client"
    assert (arrived.token_calls, arrived.api_calls) == (1, 0)


@pytest.mark.parametrize("audience", ["issuer", "token_url"])
@pytest.mark.parametrize(
    ("algorithm", "form"),
    [
        ("es256", "pem"),
        ("es256", "jwk"),
        ("rs256", "pem"),
        ("rs256", "jwk"),
        ("ps256", "jwk"),
    ],
)
def test_a_client_with_a_private_key_signs_a_new_assertion_for_each_token(
    algorithm: str, form: str, audience: str, gateway_for: GatewayFor, oidc: Oidc
) -> None:
    client = f"cc_pkjwt_{algorithm}"
    settings: Table = {"issuer": oidc.url} if audience == "issuer" else {}
    gateway = gateway_for(
        peer=oauth2(
            oidc,
            client,
            client_auth="private_key_jwt",
            client_secret=Given(private_key(oidc, client, form)),
            **settings,
        )
    )
    arrived = Arrived(oidc)
    for _ in range(3):
        assert call(gateway, oidc).json()["client"] == client
        token_actions(gateway).forget()
    assert (arrived.token_calls, arrived.refused) == (3, 0)


def private_key(oidc: Oidc, client: str, form: str) -> str:
    pem = oidc.keys[client].read_text()
    if form == "pem":
        return pem
    key = JWK.from_pem(pem.encode()).export(private_key=True, as_dict=True)
    del key["kid"]  # under which the server does not know it
    # Nothing else says that an RSA key signs by PSS.
    return json.dumps(key | ({"alg": "PS256"} if client.endswith("ps256") else {}))


def test_a_key_with_a_name_is_found_among_others(
    gateway_for: GatewayFor, oidc: Oidc
) -> None:
    keys = [
        JWK.generate(kty="EC", crv="P-256", kid=f"key-{n}", use="sig") for n in range(3)
    ]
    oidc.register(
        "cc_named",
        grant_types=["client_credentials"],
        redirect_uris=[],
        response_types=[],
        jwks={"keys": [key.export_public(as_dict=True) for key in keys]},
        token_endpoint_auth_method="private_key_jwt",
        token_endpoint_auth_signing_alg="ES256",
    )
    key = Given(str(keys[1].export(private_key=True)))
    gateway = gateway_for(
        peer=oauth2(oidc, "cc_named", client_auth="private_key_jwt", client_secret=key)
    )
    assert call(gateway, oidc).json()["client"] == "cc_named"


def test_an_assertion_for_somebody_else_or_by_another_key_is_refused(
    gateway_for: GatewayFor, oidc: Oidc
) -> None:
    client = "cc_pkjwt_es256"
    own, other = private_key(oidc, client, "pem"), JWK.generate(kty="EC", crv="P-256")
    stranger = other.export_to_pem(private_key=True, password=None).decode()
    for key, issuer in ((own, "https://other.example"), (stranger, oidc.url)):
        settings = {"client_auth": "private_key_jwt", "client_secret": Given(key)}
        gateway = gateway_for(peer=oauth2(oidc, client, issuer=issuer, **settings))
        assert refused(gateway, oidc) == "invalid_client"


@pytest.mark.parametrize(
    ("client", "certificate"), [("cc_mtls", "client"), ("cc_ssmtls", "selfsigned")]
)
def test_a_certificate_is_the_proof_and_the_token_is_bound_to_it(
    client: str, certificate: str, gateway_for: GatewayFor, oidc: Oidc, pki: Pki
) -> None:
    gateway = gateway_for(peer=by_certificate(oidc, pki, client, certificate))
    arrived = Arrived(oidc)
    assert gateway.test("peer").ok
    assert call(gateway, oidc).json()["client"] == client
    assert token_actions(gateway).introspect() is True
    assert (arrived.token_calls, arrived.api_calls) == (1, 2)
    stolen = {
        "Authorization": f"Bearer {token_actions(gateway).ready().value.reveal()}"
    }
    without = Asker(oidc.context())
    assert without.ask(oidc.endpoint("api", tls=True), headers=stolen).status == 401


@pytest.mark.parametrize("client", ["cc_mtls", "cc_ssmtls"])
def test_a_strangers_certificate_gets_no_token(
    client: str, gateway_for: GatewayFor, oidc: Oidc, pki: Pki
) -> None:
    gateway = gateway_for(peer=by_certificate(oidc, pki, client, "badclient"))
    arrived = Arrived(oidc)
    assert refused(gateway, oidc) == "invalid_client"
    assert (arrived.token_calls, arrived.api_calls) == (1, 0)


def by_certificate(oidc: Oidc, pki: Pki, client: str, certificate: str) -> Table:
    names = {
        "token_url": "token",
        "revocation_url": "revoke",
        "introspection_url": "introspect",
    }
    addresses = {field: oidc.endpoint(name, tls=True) for field, name in names.items()}
    tls = {
        "ca_file": pki.ca,
        "client_certificate": pki.certificate(certificate),
        "client_key": f"file:{pki.key(certificate)}",
    }
    table = oauth2(oidc, client, client_auth="mtls", **addresses)
    return table | {"base_url": oidc.tls_url, "tls": tls}


# ── what is asked for ─────────────────────────────────────────────────────────────────


def test_scope_resource_audience_and_extra_parameters_reach_the_server(
    gateway_for: GatewayFor, oidc: Oidc
) -> None:
    table = oauth2(
        oidc,
        "cc_basic",
        scope="api:read api:write",
        resource=oidc.resource,
        audience="not known to this server",
        extra={"custom": "ä & ="},
    )
    gateway = gateway_for(peer=table)
    answer = call(gateway, oidc, "?need=api:write").json()
    assert (answer["audience"], answer["scope"]) == (
        oidc.resource,
        "api:read api:write",
    )
    assert token_actions(gateway).status().scope == "api:read api:write"


def test_a_resource_that_the_server_does_not_know_is_named(
    gateway_for: GatewayFor, oidc: Oidc
) -> None:
    gateway = gateway_for(
        peer=oauth2(oidc, "cc_basic", resource="https://other.example/")
    )
    arrived = Arrived(oidc)
    report = gateway.test("peer")
    assert (report.ok, report.cause, report.steps[-1].step) == (
        False,
        "token_endpoint",
        "token",
    )
    assert report.remedy == "Check Resource and Audience."
    assert arrived.api_calls == 0


def test_a_lacking_scope_is_no_reason_to_renew(
    gateway_for: GatewayFor, oidc: Oidc
) -> None:
    gateway = gateway_for(peer=oauth2(oidc, "cc_basic", scope="api:read"))
    arrived = Arrived(oidc)
    response = call(gateway, oidc, "?need=api:write")
    assert (response.status, response.cause) == (403, "insufficient_permissions")
    assert (arrived.token_calls, arrived.api_calls) == (1, 1)


def test_a_json_body_is_refused_by_a_server_of_the_standard(
    gateway_for: GatewayFor, oidc: Oidc
) -> None:
    gateway = gateway_for(peer=oauth2(oidc, "cc_basic", body_format="json"))
    assert refused(gateway, oidc) == "invalid_request"


# ── a public client, and devices ──────────────────────────────────────────────────────


def test_a_public_client_gets_its_tokens_by_the_code_alone(
    gateway_for: GatewayFor, oidc: Oidc
) -> None:
    table = for_a_person(
        oidc,
        "public",
        client_auth="body",
        grant="authorization_code",
        extra={"prompt": "consent"},
    )
    gateway = gateway_for(peer=table)
    actions = token_actions(gateway)
    consent = consent_for("s", pkce()[0], REDIRECT)
    actions.redeem(code_in(oidc.approve(actions.consent_url(consent))), consent)
    assert call(gateway, oidc).json()["client"] == "public"
    actions.renew()
    assert call(gateway, oidc).status == 200


def test_an_id_token_with_the_nonce_of_another_consent_is_refused(
    gateway_for: GatewayFor, oidc: Oidc
) -> None:
    table = for_a_person(oidc, "public", client_auth="body", grant="authorization_code")
    actions = token_actions(gateway_for(peer=table))
    consent = consent_for("s", pkce()[0], REDIRECT)
    code = code_in(oidc.approve(actions.consent_url(consent)))
    with pytest.raises(errors.TokenEndpointFailed, match="another consent"):
        actions.redeem(code, consent._replace(nonce="another"))
    assert actions.status().state is State.NONE


def quick(device: DeviceCode) -> DeviceCode:
    """Ask more often than the five seconds that hold where a server does not say."""
    assert device.interval == 5
    return device._replace(interval=1.0)


@pytest.mark.parametrize(("client", "way"), [("web", "basic"), ("public", "body")])
def test_a_device_gets_its_tokens_as_soon_as_the_person_agrees(
    client: str, way: str, gateway_for: GatewayFor, oidc: Oidc
) -> None:
    gateway = gateway_for(
        peer=for_a_person(oidc, client, client_auth=way, grant="device_code")
    )
    actions, arrived = token_actions(gateway), Arrived(oidc)
    with pytest.raises(errors.ReauthorizationNeeded):
        call(gateway, oidc)
    device = quick(actions.device_code())
    assert device.address == f"{oidc.url}/device"
    seen: list[float] = []

    def passing(seconds: float) -> None:
        seen.append(seconds)
        if len(seen) == 2:  # the first question comes too early
            oidc.approve_device(device.user_code)

    actions.wait_for(device, passing)
    assert (arrived.token_calls, arrived.refused) == (2, 1)
    assert call(gateway, oidc).json()["user"] == USER
    assert actions.renew().state is State.FRESH
    assert call(gateway, oidc).status == 200


def test_a_device_whose_person_refuses_gets_nothing_and_asks_no_more(
    gateway_for: GatewayFor, oidc: Oidc
) -> None:
    gateway = gateway_for(peer=for_a_person(oidc, grant="device_code"))
    actions, arrived = token_actions(gateway), Arrived(oidc)
    device = quick(actions.device_code())
    oidc.approve_device(device.user_code, deny=True)
    with pytest.raises(errors.TokenEndpointFailed) as caught:
        actions.wait_for(device, lambda _: None)
    assert caught.value.reason == "access_denied"
    assert actions.status().state is State.NONE
    assert arrived.token_calls == 1


# ── DPoP ──────────────────────────────────────────────────────────────────────────────


def test_a_bound_token_is_proven_at_both_ends_with_the_servers_nonces(
    gateway_for: GatewayFor, oidc_with_nonce: Oidc
) -> None:
    oidc = oidc_with_nonce
    gateway = gateway_for(peer=oauth2(oidc, "cc_dpop", dpop=True, scope="api:read"))
    arrived = Arrived(oidc)
    assert call(gateway, oidc).json()["client"] == "cc_dpop"
    # Once without a nonce; the API takes the one of the token endpoint,
    # which is at its origin.
    assert (arrived.token_calls, arrived.refused, arrived.api_calls) == (2, 1, 1)
    for method in ("GET", "POST", "DELETE"):
        response = gateway.send("peer", method, "/_api?need=api:read", json={"a": 1})
        assert response.json()["method"] == method
    assert (arrived.token_calls, arrived.api_calls) == (2, 4)
    token_actions(gateway).forget()
    assert gateway.test("peer").ok
    assert (arrived.token_calls, arrived.refused) == (3, 1)
    assert token_actions(gateway).introspect() is True


def test_the_api_may_hand_out_a_nonce_of_its_own(
    gateway_for: GatewayFor, oidc_with_nonce: Oidc
) -> None:
    """The token comes from one origin and is used at another that knows it."""
    oidc = oidc_with_nonce
    table = oauth2(oidc, "cc_dpop", dpop=True)
    secure = table | {"base_url": oidc.tls_url, "tls": {"ca_file": oidc.pki.ca}}
    gateway = gateway_for(peer=secure)
    arrived = Arrived(oidc)
    for _ in range(3):
        assert call(gateway, oidc).json()["client"] == "cc_dpop"
    assert (arrived.token_calls, arrived.api_calls) == (2, 4)


def test_a_bound_token_is_worth_nothing_without_its_key(
    gateway_for: GatewayFor, oidc: Oidc
) -> None:
    gateway = gateway_for(peer=oauth2(oidc, "cc_dpop", dpop=True))
    token = token_actions(gateway).ready()
    assert token.kind == "DPoP"
    for scheme in ("Bearer", "DPoP"):
        header = {"Authorization": f"{scheme} {token.value.reveal()}"}
        assert Asker().ask(oidc.endpoint("api"), headers=header).status in {400, 401}
    assert call(gateway, oidc).status == 200


def test_a_persons_tokens_stay_bound_to_one_key_over_renewals(
    gateway_for: GatewayFor, oidc_with_nonce: Oidc
) -> None:
    oidc = oidc_with_nonce
    table = for_a_person(
        oidc,
        "web_dpop",
        dpop=True,
        grant="authorization_code",
        extra={"prompt": "consent"},
    )
    gateway = gateway_for(peer=table)
    actions = token_actions(gateway)
    consent = consent_for("s", pkce()[0], REDIRECT)
    actions.redeem(code_in(oidc.approve(actions.consent_url(consent))), consent)
    assert call(gateway, oidc).json()["user"] == USER
    arrived = Arrived(oidc)
    assert actions.renew().state is State.FRESH
    assert call(gateway, oidc).json()["user"] == USER
    assert (arrived.token_calls, arrived.refused, arrived.api_calls) == (1, 0, 1)
    actions.revoke()
    assert actions.status().state is State.NONE


def test_a_client_that_must_prove_a_key_and_does_not_gets_no_token(
    gateway_for: GatewayFor, oidc: Oidc
) -> None:
    gateway = gateway_for(peer=oauth2(oidc, "cc_dpop"))
    assert refused(gateway, oidc) == "invalid_grant"


# ── discovery ─────────────────────────────────────────────────────────────────────────


def test_the_issuer_names_the_addresses_that_work(
    gateway_for: GatewayFor, oidc: Oidc
) -> None:
    finder = gateway_for()
    found = discover(finder, oidc.url)
    assert found == {
        "issuer": oidc.url,
        "token_url": oidc.endpoint("token"),
        "authorization_url": oidc.endpoint("authorize"),
        "device_url": oidc.endpoint("device"),
        "revocation_url": oidc.endpoint("revoke"),
        "introspection_url": oidc.endpoint("introspect"),
    }
    assert discover(finder, f"{oidc.url}/") == found
    gateway = gateway_for(
        peer=oauth2(oidc, "cc_sjwt", client_auth="client_secret_jwt", **found)
    )
    assert gateway.test("peer").ok


def test_metadata_of_an_issuer_with_another_name_is_refused(
    gateway_for: GatewayFor, oidc: Oidc
) -> None:
    other = oidc.url.replace("127.0.0.1", "localhost")
    with pytest.raises(errors.ConfigError, match="of another issuer"):
        discover(gateway_for(), other)


def test_an_issuer_in_the_own_network_is_not_asked_as_if_it_were_public(
    gateway_for: GatewayFor, oidc: Oidc
) -> None:
    before = oidc.calls().paths
    with pytest.raises(errors.OutkeyError):
        discover(gateway_for(), oidc.url, Network.PUBLIC)
    assert oidc.calls().paths == before


def test_an_issuer_behind_a_certificate_of_nobody_known_is_refused(
    gateway_for: GatewayFor, oidc: Oidc
) -> None:
    with pytest.raises(errors.TlsFailed):
        discover(gateway_for(), oidc.tls_url)


# ── the token while it is used ────────────────────────────────────────────────────────


def test_a_consent_that_ended_with_its_token_needs_a_person(
    gateway_for: GatewayFor, oidc: Oidc
) -> None:
    """With an access token this server revokes the refresh token beside it."""
    seed = Given(oidc.seed_refresh())
    gateway = gateway_for(
        peer=for_a_person(oidc, grant="refresh_token", refresh_token=seed)
    )
    assert call(gateway, oidc).status == 200
    revoke_behind_our_back(gateway, oidc, "web")
    arrived = Arrived(oidc)
    for _ in range(3):
        with pytest.raises(errors.ReauthorizationNeeded):
            call(gateway, oidc)
    assert arrived.token_calls == 1
    assert token_actions(gateway).status().state is State.REAUTHORIZATION_NEEDED


def test_a_status_says_nothing_that_is_secret(
    gateway_for: GatewayFor, oidc: Oidc
) -> None:
    gateway = gateway_for(peer=oauth2(oidc, "cc_basic", scope="api:read"))
    actions = token_actions(gateway)
    token: Secret = actions.ready().value
    status = actions.status()
    assert (status.state, status.scope, status.error) == (State.FRESH, "api:read", None)
    assert status.expires_in is not None
    assert 590 <= status.expires_in <= 600
    assert not token.occurs_in(json.dumps(asdict(status)))
