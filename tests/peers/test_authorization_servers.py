"""The authorization servers do what the tests of our client take for granted."""

import time
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from jwcrypto.jwk import JWK

from peers.authorization_servers import (
    DEVICE_GRANT,
    REDIRECT,
    SECRET,
    SPECIAL_ID,
    SPECIAL_SECRET,
    USER,
    Answer,
    Asker,
    Glewlwyd,
    Oidc,
    Toolkit,
    basic_header,
    client_assertion,
    dpop_header,
    glewlwyd_running,
    oidc_running,
    pkce,
    toolkit_running,
    walk_forms,
)
from peers.certificates import Pki

AnyServer = Oidc | Toolkit | Glewlwyd
WEB = basic_header("web", SECRET)
USER_SCOPE = {
    "oidc": "openid offline_access api:read",
    "toolkit": "read",
    "glewlwyd": "read",
}
MACHINE = {"oidc": "cc_basic", "toolkit": "cc", "glewlwyd": "cc"}
API_SCOPE = {"oidc": "api:read", "toolkit": "read", "glewlwyd": "read"}


@pytest.fixture(scope="module")
def oidc(tmp_path_factory: pytest.TempPathFactory, pki: Pki) -> Iterator[Oidc]:
    with oidc_running(tmp_path_factory.mktemp("oidc"), pki) as server:
        yield server


@pytest.fixture(scope="module")
def toolkit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Toolkit]:
    with toolkit_running(tmp_path_factory.mktemp("toolkit")) as server:
        yield server


@pytest.fixture(scope="module")
def glewlwyd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Glewlwyd]:
    with glewlwyd_running(tmp_path_factory.mktemp("glewlwyd")) as server:
        yield server


@pytest.fixture(params=["oidc", "toolkit", "glewlwyd"])
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def server(request: pytest.FixtureRequest, name: str) -> AnyServer:
    found: AnyServer = request.getfixturevalue(name)
    return found


def ask(url: str, form: dict[str, str] | None = None, **headers: str) -> Answer:
    return Asker().ask(url, form, headers=headers)


def client_token(server: AnyServer, name: str) -> Answer:
    form = {"grant_type": "client_credentials", "scope": API_SCOPE[name]}
    return ask(server.endpoint("token"), form, **basic_header(MACHINE[name], SECRET))


def refreshed(server: AnyServer, token: str) -> Answer:
    form = {"grant_type": "refresh_token", "refresh_token": token}
    return ask(server.endpoint("token"), form, **WEB)


def use(server: AnyServer, token: str, query: str = "") -> Answer:
    return ask(server.endpoint("api") + query, Authorization=f"Bearer {token}")


# ── what all of them do ──────────────────────────────────────────────────────────────────────


def test_a_client_gets_a_token_with_its_secret_and_nothing_with_another(
    server: AnyServer, name: str
) -> None:
    granted = client_token(server, name).json
    assert granted["token_type"].lower() == "bearer"
    assert granted["expires_in"] == 600
    form = {"grant_type": "client_credentials", "scope": API_SCOPE[name]}
    wrong = ask(server.endpoint("token"), form, **basic_header(MACHINE[name], "wrong"))
    assert wrong.status == (403 if name == "glewlwyd" else 401)


def test_a_user_agrees_and_the_code_is_worth_tokens_only_with_its_verifier(
    server: AnyServer, name: str
) -> None:
    def callback() -> tuple[dict[str, list[str]], str]:
        verifier, challenge = pkce()
        asked = {
            "client_id": "web",
            "code_challenge": challenge,
            "code_challenge_method": "S256",
            "prompt": "consent",
            "redirect_uri": REDIRECT,
            "response_type": "code",
            "scope": USER_SCOPE[name],
            "state": "s-1",
        }
        address = server.approve(f"{server.endpoint('authorize')}?{urlencode(asked)}")
        assert address.startswith(f"{REDIRECT}?")
        return parse_qs(urlsplit(address).query), verifier

    def exchange(code: str, verifier: str) -> Answer:
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": REDIRECT,
            "code_verifier": verifier,
        }
        return ask(server.endpoint("token"), form, **WEB)

    query, verifier = callback()
    assert query["state"] == ["s-1"]
    tokens = exchange(query["code"][0], verifier).json
    assert use(server, tokens["access_token"]).status == 200
    assert refreshed(server, tokens["refresh_token"]).status == 200
    query, _ = callback()
    assert exchange(query["code"][0], pkce()[0]).status in {400, 403}


def test_a_refresh_token_used_twice_kills_its_successor(server: AnyServer) -> None:
    first = server.seed_refresh()
    second = refreshed(server, first).json["refresh_token"]
    third = refreshed(server, second).json["refresh_token"]
    assert refreshed(server, first).status == 400
    assert refreshed(server, third).status == 400


def test_a_revoked_token_is_not_active_any_more(server: AnyServer, name: str) -> None:
    token = refreshed(server, server.seed_refresh()).json["access_token"]
    assert _active(server, token) is True
    assert ask(server.endpoint("revoke"), {"token": token}, **WEB).status == 200
    assert _active(server, token) is False
    assert use(server, token).status == (403 if name == "toolkit" else 401)


def _active(server: AnyServer, token: str) -> bool:
    return bool(ask(server.endpoint("introspect"), {"token": token}, **WEB).json["active"])


# ── what only some do ────────────────────────────────────────────────────────────────────────


def test_the_servers_disagree_about_special_characters_in_basic(
    oidc: Oidc, toolkit: Toolkit, glewlwyd: Glewlwyd
) -> None:
    def statuses(server: AnyServer, client: str, scope: str) -> tuple[int, int]:
        raw = "Basic " + b64encode(f"{client}:{SPECIAL_SECRET}".encode()).decode()
        form = {"grant_type": "client_credentials", "scope": scope}
        url = server.endpoint("token")
        encoded = ask(url, form, **basic_header(client, SPECIAL_SECRET))
        return encoded.status, ask(url, form, Authorization=raw).status

    assert statuses(oidc, SPECIAL_ID, "api:read") == (200, 401)
    assert statuses(toolkit, SPECIAL_ID, "read") == (200, 401)
    assert statuses(glewlwyd, "cc_special", "read") == (403, 200)


def test_oidc_takes_every_way_to_authenticate_a_client(oidc: Oidc) -> None:
    form = {"grant_type": "client_credentials", "scope": "api:read"}
    url = oidc.endpoint("token")
    assert ask(url, form | {"client_id": "cc_post", "client_secret": SECRET}).status == 200
    shared = JWK(kty="oct", k=urlsafe_b64encode(SECRET.encode()).rstrip(b"=").decode())
    assert ask(url, form | client_assertion("cc_sjwt", oidc.url, shared, "HS256")).status == 200
    for client, path in oidc.keys.items():
        key, algorithm = JWK.from_pem(path.read_bytes()), client.rpartition("_")[2].upper()
        assertion = client_assertion(client, oidc.url, key, algorithm)
        assert ask(url, form | assertion).status == 200, client
        assert ask(url, form | assertion).status == 401, "a replay"


@pytest.mark.parametrize(
    ("client", "certificate"), [("cc_mtls", "client"), ("cc_ssmtls", "selfsigned")]
)
def test_oidc_binds_the_token_to_the_certificate_that_authenticated_the_client(
    oidc: Oidc, client: str, certificate: str
) -> None:
    form = {"grant_type": "client_credentials", "scope": "api:read", "client_id": client}
    url, api = oidc.endpoint("token", tls=True), oidc.endpoint("api", tls=True)
    holder = Asker(oidc.context(certificate))
    header = {"Authorization": f"Bearer {holder.ask(url, form).json['access_token']}"}
    assert holder.ask(api, headers=header).status == 200
    for other in ("badclient", None):
        asker = Asker(oidc.context(other))
        assert asker.ask(url, form).status == 401
        assert asker.ask(api, headers=header).status == 401


def test_oidc_is_an_issuer_with_and_without_tls(oidc: Oidc) -> None:
    asker = Asker(oidc.context())
    for issuer in (oidc.url, oidc.tls_url):
        for document in ("openid-configuration", "oauth-authorization-server"):
            found = asker.ask(f"{issuer}/.well-known/{document}").json
            assert found["issuer"] == issuer
            assert found["token_endpoint"] == f"{issuer}/token"
            assert found["mtls_endpoint_aliases"]["token_endpoint"] == f"{oidc.tls_url}/token"


def test_oidc_challenges_as_rfc_6750_says(oidc: Oidc) -> None:
    token = client_token(oidc, "oidc").json["access_token"]
    assert use(oidc, token, "?need=api:read").json["client"] == "cc_basic"
    lacking = use(oidc, token, "?need=api:write")
    assert lacking.status == 403
    assert 'error="insufficient_scope"' in lacking.headers["WWW-Authenticate"]
    unknown = use(oidc, "unknown")
    assert unknown.status == 401
    assert 'error="invalid_token"' in unknown.headers["WWW-Authenticate"]
    assert "error" not in ask(oidc.endpoint("api")).headers["WWW-Authenticate"]


def test_oidc_grants_a_token_for_a_resource_it_knows(oidc: Oidc) -> None:
    form = {"grant_type": "client_credentials", "scope": "api:read"}
    header = basic_header("cc_basic", SECRET)
    url = oidc.endpoint("token")
    granted = ask(url, form | {"resource": oidc.resource}, **header).json
    assert use(oidc, granted["access_token"]).json["audience"] == oidc.resource
    unknown = ask(url, form | {"resource": "https://other.example/"}, **header)
    assert unknown.json["error"] == "invalid_target"


def test_oidc_demands_a_proof_with_its_nonce_at_both_ends(tmp_path: Path, pki: Pki) -> None:
    with oidc_running(tmp_path, pki, dpop_nonce=True) as oidc:
        token_url, api = oidc.endpoint("token"), oidc.endpoint("api")
        form = {"grant_type": "client_credentials", "scope": "api:read"}
        client = basic_header("cc_dpop", SECRET)
        key = JWK.generate(kty="EC", crv="P-256")

        assert ask(token_url, form, **client).json["error"] == "invalid_grant"
        first = ask(token_url, form, **client, **dpop_header(key, "POST", token_url))
        assert first.json["error"] == "use_dpop_nonce"
        nonce = first.headers["DPoP-Nonce"]
        proof = dpop_header(key, "POST", token_url, nonce=nonce)
        granted = ask(token_url, form, **client, **proof).json
        assert granted["token_type"] == "DPoP"
        token = granted["access_token"]

        assert use(oidc, token).status == 401
        bare = ask(api, **dpop_header(key, "GET", api, token=token))
        assert bare.status == 401
        assert 'DPoP realm="' in bare.headers["WWW-Authenticate"]
        assert 'error="use_dpop_nonce"' in bare.headers["WWW-Authenticate"]
        nonce = bare.headers["DPoP-Nonce"]
        good = dpop_header(key, "GET", api, nonce=nonce, token=token)
        assert ask(api, **good).status == 200
        assert ask(api, **good).status == 401, "a replay"
        stranger = JWK.generate(kty="EC", crv="P-256")
        for wrong in (
            dpop_header(stranger, "GET", api, nonce=nonce, token=token),
            dpop_header(key, "POST", api, nonce=nonce, token=token),
            dpop_header(key, "GET", token_url, nonce=nonce, token=token),
            dpop_header(key, "GET", api, nonce=nonce, token="other")  # a proof for another token
            | {"Authorization": f"DPoP {token}"},
        ):
            assert ask(api, **wrong).status == 401


@pytest.mark.parametrize("client", ["web", "public"])
def test_oidc_serves_a_device_after_the_user_agreed(oidc: Oidc, client: str) -> None:
    header = WEB if client == "web" else {}
    asked = {"client_id": client, "scope": USER_SCOPE["oidc"]}

    def start() -> dict[str, str]:
        given: dict[str, str] = ask(oidc.endpoint("device"), asked, **header).json
        return given

    def poll(given: dict[str, str]) -> Answer:
        form = {"grant_type": DEVICE_GRANT, "device_code": given["device_code"]}
        return ask(oidc.endpoint("token"), form | {"client_id": client}, **header)

    given = start()
    assert poll(given).json["error"] == "authorization_pending"
    oidc.approve_device(given["user_code"])
    assert use(oidc, poll(given).json["access_token"]).json["user"] == USER
    given = start()
    oidc.approve_device(given["user_code"], deny=True)
    assert poll(given).json["error"] == "access_denied"
    given = start()
    walk_forms(Asker(), given["verification_uri_complete"])
    assert "refresh_token" in poll(given).json


def test_glewlwyd_asks_a_device_to_slow_down(glewlwyd: Glewlwyd) -> None:
    given = ask(glewlwyd.endpoint("device"), {"client_id": "web", "scope": "read"}, **WEB).json
    form = {"grant_type": DEVICE_GRANT, "device_code": given["device_code"], "client_id": "web"}
    url = glewlwyd.endpoint("token")
    answers = [ask(url, form, **WEB).json["error"] for _ in range(2)]
    assert answers == ["authorization_pending", "slow_down"]
    glewlwyd.approve_device(given["user_code"])
    time.sleep(given["interval"] + 0.1)
    assert "access_token" in ask(url, form, **WEB).json


def test_oidc_takes_a_client_with_an_address_that_is_known_late(oidc: Oidc) -> None:
    redirect = "http://127.0.0.1:8/late"
    oidc.register(
        "late",
        client_secret=SECRET,
        grant_types=["authorization_code"],
        redirect_uris=[redirect],
        response_types=["code"],
    )
    asked = {
        "client_id": "late",
        "code_challenge": pkce()[1],
        "code_challenge_method": "S256",
        "redirect_uri": redirect,
        "response_type": "code",
        "scope": "openid",
    }
    assert oidc.approve(f"{oidc.endpoint('authorize')}?{urlencode(asked)}").startswith(redirect)


def test_the_servers_count_what_arrives(oidc: Oidc, toolkit: Toolkit, glewlwyd: Glewlwyd) -> None:
    for name, server in (("oidc", oidc), ("toolkit", toolkit)):
        before = server.calls()
        client_token(server, name)
        after = server.calls()
        assert after.token - before.token == 1
        grants = [counted.grants.get("client_credentials", 0) for counted in (before, after)]
        assert grants[1] - grants[0] == 1
    before_issued = glewlwyd.issued("cc")
    client_token(glewlwyd, "glewlwyd")
    assert glewlwyd.issued("cc") - before_issued == 1


def test_tokens_can_be_short_lived(tmp_path: Path, pki: Pki) -> None:
    folders = [tmp_path / name for name in ("oidc", "toolkit")]
    for folder in folders:
        folder.mkdir()
    with (
        oidc_running(folders[0], pki, client_token_seconds=1) as oidc,
        toolkit_running(folders[1], token_seconds=1) as toolkit,
    ):
        tokens = {
            name: client_token(server, name).json["access_token"]
            for name, server in (("oidc", oidc), ("toolkit", toolkit))
        }
        time.sleep(2.1)
        assert use(oidc, tokens["oidc"]).status == 401
        assert use(toolkit, tokens["toolkit"]).status == 403
        assert use(toolkit, tokens["toolkit"], "?challenge").status == 401


def test_the_toolkit_repeats_its_answer_within_the_grace_period(tmp_path: Path) -> None:
    with toolkit_running(tmp_path, grace_seconds=60) as toolkit:
        first = toolkit.seed_refresh()
        answers = [refreshed(toolkit, first) for _ in range(2)]
        assert [answer.status for answer in answers] == [200, 200]
        assert answers[0].json["refresh_token"] == answers[1].json["refresh_token"]
