"""What our client assumes of authorization servers, tested without our client."""

import time
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path

import pytest
from jwcrypto.jwk import JWK

from peers.authorization_servers import (
    DEVICE_GRANT,
    SECRET,
    SPECIAL_ID,
    SPECIAL_SECRET,
    Answer,
    Asker,
    Glewlwyd,
    Oidc,
    Toolkit,
    basic_header,
    dpop_header,
    glewlwyd_running,
    oidc_running,
    toolkit_running,
)
from peers.certificates import Pki

AnyServer = Oidc | Toolkit | Glewlwyd
WEB = basic_header("web", SECRET)


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


def ask(url: str, form: dict[str, str] | None = None, **headers: str) -> Answer:
    return Asker().ask(url, form, headers=headers)


def refreshed(server: AnyServer, token: str) -> Answer:
    form = {"grant_type": "refresh_token", "refresh_token": token}
    return ask(server.endpoint("token"), form, **WEB)


@pytest.mark.parametrize("name", ["oidc", "toolkit", "glewlwyd"])
def test_a_refresh_token_used_twice_kills_its_successor(
    name: str, request: pytest.FixtureRequest
) -> None:
    server: AnyServer = request.getfixturevalue(name)
    first = server.seed_refresh()
    second = refreshed(server, first).json["refresh_token"]
    third = refreshed(server, second).json["refresh_token"]
    assert refreshed(server, first).status == 400
    assert refreshed(server, third).status == 400


def test_the_toolkit_repeats_its_answer_within_the_grace_period(tmp_path: Path) -> None:
    with toolkit_running(tmp_path, grace_seconds=60) as toolkit:
        first = toolkit.seed_refresh()
        answers = [refreshed(toolkit, first) for _ in range(2)]
        assert [answer.status for answer in answers] == [200, 200]
        assert answers[0].json["refresh_token"] == answers[1].json["refresh_token"]


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


def test_glewlwyd_asks_a_device_to_slow_down(glewlwyd: Glewlwyd) -> None:
    given = ask(
        glewlwyd.endpoint("device"), {"client_id": "web", "scope": "read"}, **WEB
    ).json
    form = {
        "grant_type": DEVICE_GRANT,
        "device_code": given["device_code"],
        "client_id": "web",
    }
    url = glewlwyd.endpoint("token")
    answers = [ask(url, form, **WEB).json["error"] for _ in range(2)]
    assert answers == ["authorization_pending", "slow_down"]
    glewlwyd.approve_device(given["user_code"])
    time.sleep(given["interval"] + 0.1)
    assert "access_token" in ask(url, form, **WEB).json


def test_oidc_takes_a_bound_token_with_a_fresh_proof_by_its_own_key_only(
    oidc: Oidc,
) -> None:
    token_url, api = oidc.endpoint("token"), oidc.endpoint("api")
    form = {"grant_type": "client_credentials", "scope": "api:read"}
    client = basic_header("cc_dpop", SECRET)
    key, stranger = (JWK.generate(kty="EC", crv="P-256") for _ in range(2))
    assert ask(token_url, form, **client).json["error"] == "invalid_grant"
    granted = ask(token_url, form, **client, **dpop_header(key, "POST", token_url)).json
    assert granted["token_type"] == "DPoP"
    token = granted["access_token"]
    assert ask(api, Authorization=f"Bearer {token}").status == 401
    assert ask(api, Authorization=f"DPoP {token}").status == 400
    good = dpop_header(key, "GET", api, token=token)
    assert [ask(api, **good).status, ask(api, **good).status] == [200, 401]
    for wrong in (
        dpop_header(stranger, "GET", api, token=token),
        dpop_header(key, "POST", api, token=token),
        dpop_header(key, "GET", token_url, token=token),
    ):
        assert ask(api, **wrong).status == 401
