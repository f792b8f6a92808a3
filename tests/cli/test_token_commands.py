"""`outkey token …` as an operator runs it, against the sparring provider."""

import sqlite3
import threading
import time
from collections.abc import Iterator
from urllib.request import urlopen

import pytest

from cli.conftest import Terminal
from outkey.spar import Spar
from outkey.spar.authority import CLIENT, CLIENT_SECRET

STATUS_KEYS = {"state", "expires_at", "expires_in", "scope", "last_renewed_at", "error"}


@pytest.fixture
def spar() -> Iterator[Spar]:
    with Spar() as server:
        yield server


def document(spar: Spar, **changed: str) -> str:
    settings = {
        "token_url": f"{spar.url}/oauth/token",
        "client_id": CLIENT,
        "revocation_url": f"{spar.url}/oauth/revoke",
        "introspection_url": f"{spar.url}/oauth/introspect",
        "scope": "orders:read",
    } | changed
    return f"""
[configuration.acme]
base_url = "{spar.url}"
network = "internal"
authentication_type = "bearer"
token_source = "oauth2"
limits = {{ retries = 0 }}
verification = {{ test_path = "/oauth/api" }}
[configuration.acme.oauth2]
""" + "\n".join(f'{name} = "{text}"' for name, text in settings.items())


@pytest.fixture
def acme(outkey: Terminal, spar: Spar) -> Terminal:
    prepared(outkey, spar)
    return outkey


def prepared(outkey: Terminal, spar: Spar, **changed: str) -> None:
    assert outkey("apply", "-", stdin=document(spar, **changed)).code == 0
    assert (
        outkey("secret", "set", "acme", "client_secret", stdin=CLIENT_SECRET).code == 0
    )


def test_the_status_has_its_keys_and_never_the_token(acme: Terminal) -> None:
    before = acme("token", "status", "acme", "--json")
    assert set(before.json) == STATUS_KEYS
    assert (before.code, before.json["state"]) == (0, "none")
    assert acme("token", "renew", "acme").code == 0
    status = acme("token", "status", "acme", "--json").json
    assert (status["state"], status["scope"], status["error"]) == (
        "fresh",
        "orders:read",
        None,
    )
    assert 0 < status["expires_in"] <= 3600
    assert status["expires_at"].endswith("Z")
    shown = acme("token", "status", "acme")
    assert "fresh" in shown.out


def test_a_token_is_revoked_at_the_provider_and_forgotten_here(
    acme: Terminal, spar: Spar
) -> None:
    acme("token", "renew", "acme")
    assert spar.authorization.counts().live_access_tokens == 1
    assert (
        acme("token", "status", "acme", "--introspect", "--json").json["active"] is True
    )
    assert acme("token", "revoke", "acme", "--json").json["state"] == "none"
    assert spar.authorization.counts().live_access_tokens == 0


def test_a_token_is_forgotten_without_telling_the_provider(
    acme: Terminal, spar: Spar
) -> None:
    acme("token", "renew", "acme")
    assert acme("token", "forget", "acme", "--json").json["state"] == "none"
    assert spar.authorization.counts().live_access_tokens == 1
    assert acme("request", "acme", "/oauth/api").code == 0


def test_a_test_goes_through_the_step_token(acme: Terminal) -> None:
    report = acme("test", "acme", "--json")
    assert report.code == 0
    steps = [step["step"] for step in report.json["steps"]]
    assert steps == ["configuration", "secrets", "token", "connect", "request"]


@pytest.mark.parametrize(
    ("odd", "code", "name"),
    [
        ("invalid_client", 1, "token_endpoint"),
        ("html-200", 1, "token_endpoint"),
        ("redirect-elsewhere", 3, "redirect_blocked"),
    ],
)
def test_failures_of_the_token_endpoint_have_their_exit_codes(
    odd: str, code: int, name: str, acme: Terminal, spar: Spar
) -> None:
    spar.authorization.next_responses(odd, odd)
    done = acme("request", "acme", "/oauth/api", "--json")
    assert (done.code, done.json["error"]["code"]) == (code, name)
    assert done.json["error"]["hint"]
    report = acme("test", "acme", "--json")
    assert (report.code, report.json["cause"]) == (code, name)
    assert report.json["steps"][-1]["step"] == "token"


def test_the_words_of_the_provider_are_quoted(acme: Terminal) -> None:
    entered = "a-client-secret-that-is-wrong"
    assert acme("secret", "set", "acme", "client_secret", stdin=entered).code == 0
    said = "invalid_client: Unknown client or wrong secret (status 401)"
    done = acme("token", "renew", "acme")
    assert f"the provider says: {said}" in done.err
    assert acme("token", "renew", "acme", "--json").json["error"]["said"] == said
    detail = acme("test", "acme", "--json").json["steps"][-1]["detail"]
    assert detail.endswith(f"the provider says: {said}")
    assert entered not in done.err + detail


def test_a_dead_refresh_token_needs_a_person_until_another_is_entered(
    outkey: Terminal, spar: Spar
) -> None:
    prepared(outkey, spar, grant="refresh_token")
    assert (
        outkey("secret", "set", "acme", "refresh_token", stdin="made-up-refresh").code
        == 0
    )
    for command in (("request", "acme", "/oauth/api"), ("token", "renew", "acme")):
        done = outkey(*command, "--json")
        assert (done.code, done.json["error"]["code"]) == (2, "reauthorization_needed")
    assert (
        outkey("token", "status", "acme", "--json").json["state"]
        == "reauthorization_needed"
    )
    assert outkey("list", "--json").json[0]["status"] == "reauthorization_needed"
    seed = spar.authorization.seed_refresh()
    assert outkey("secret", "set", "acme", "refresh_token", stdin=seed).code == 0
    assert outkey("list", "--json").json[0]["status"] == "never_tested"
    assert outkey("request", "acme", "/oauth/api").code == 0


def test_what_the_api_echoes_of_the_token_is_masked(acme: Terminal, spar: Spar) -> None:
    acme("token", "renew", "acme")
    token = next(iter(spar.authorization._access))
    done = acme("request", "acme", "POST", "/oauth/api", "--data", f"token={token}")
    shown = token in done.out
    assert not shown


def test_a_person_agrees_on_another_device(outkey: Terminal, spar: Spar) -> None:
    prepared(
        outkey,
        spar,
        grant="device_code",
        device_url=f"{spar.url}/oauth/device?interval=1",
    )
    ends = time.monotonic() + 30

    def agree() -> None:
        while time.monotonic() < ends:
            for code in list(spar.authorization._user_codes):
                with urlopen(
                    f"{spar.url}/oauth/device/approve?user_code={code}"
                ) as answer:
                    answer.read()
                return
            time.sleep(0.2)

    person = threading.Thread(target=agree)
    person.start()
    done = outkey("token", "authorize", "acme")
    person.join()
    assert done.code == 0, done.err
    assert "enter the code" in done.err
    assert outkey("request", "acme", "/oauth/api").code == 0


def test_a_code_that_arrives_in_the_browser_is_not_waited_for_here(
    outkey: Terminal, spar: Spar
) -> None:
    prepared(
        outkey,
        spar,
        grant="authorization_code",
        authorization_url=f"{spar.url}/oauth/authorize",
    )
    done = outkey("token", "authorize", "acme", "--json")
    assert done.code == 2
    assert "Connect" in done.json["error"]["hint"]


def test_discovery_prints_what_can_be_pasted(outkey: Terminal, spar: Spar) -> None:
    done = outkey("token", "discover", spar.issuer, "--internal")
    assert done.code == 0
    assert f'token_url = "{spar.url}/oauth/token"' in done.out
    assert outkey("token", "discover", spar.issuer, "--internal", "--json").json[
        "issuer"
    ]
    refused = outkey("token", "discover", spar.issuer, "--json")
    assert (refused.code, refused.json["error"]["code"]) == (3, "egress_denied")


def test_a_configuration_without_oauth_is_a_wrong_call(ready: Terminal) -> None:
    done = ready("token", "status", "acme", "--json")
    assert (done.code, done.json["error"]["field"]) == (2, "token_source")


def test_another_client_secret_gets_another_token(acme: Terminal, spar: Spar) -> None:
    acme("request", "acme", "/oauth/api")
    spar.authorization.add_client(CLIENT, "another-client-secret")
    acme("secret", "set", "acme", "client_secret", stdin="another-client-secret")
    assert acme("request", "acme", "/oauth/api").code == 0
    assert spar.authorization.counts().token_requests == 2


@pytest.mark.parametrize("field", ["base_url", "oauth2.token_url"])
def test_another_address_wants_the_client_secret_again(
    field: str, acme: Terminal, spar: Spar
) -> None:
    acme("request", "acme", "/oauth/api")
    spar.clear()
    names = ["base_url"]
    if field != "base_url":
        names = ["token_url", "revocation_url", "introspection_url"]
    text = document(spar)
    for name in names:
        text = text.replace(f'{name} = "{spar.url}', f'{name} = "{spar.elsewhere}')
    assert acme("apply", "-", stdin=text).code == 0
    done = acme("request", "acme", "/oauth/api", "--json")
    assert (done.code, done.json["error"]["code"]) == (2, "secret_rebind_required")
    assert spar.journal == []


def test_a_base_url_changed_by_sql_gets_no_token(acme: Terminal, spar: Spar) -> None:
    acme("request", "acme", "/oauth/api")
    spar.clear()
    with sqlite3.connect(acme.home / "data" / "outkey.sqlite3") as database:
        database.execute(
            "UPDATE outkey_configuration SET base_url = ?", (spar.elsewhere,)
        )
        database.execute("UPDATE outkey_configuration SET revision = revision + 1")
    assert acme("request", "acme", "/oauth/api").code == 2
    assert spar.journal == []


def test_tokens_are_rewrapped_with_the_secrets_and_stay_usable(
    acme: Terminal, spar: Spar
) -> None:
    acme("request", "acme", "/oauth/api")
    old = acme("keys", "status", "--json").json["keys"][0]
    assert old["secrets"] == 2
    new = acme("keys", "add").out.strip()
    acme("keys", "promote", new)
    assert acme("keys", "retire", old["id"]).code == 2
    assert acme("keys", "rewrap").code == 0
    assert acme("keys", "retire", old["id"]).code == 0
    assert acme("request", "acme", "/oauth/api").code == 0
    assert spar.authorization.counts().token_requests == 1


def test_without_its_key_no_token_is_used_or_got(acme: Terminal, spar: Spar) -> None:
    acme("request", "acme", "/oauth/api")
    spar.clear()
    key = acme.home / "config" / "key"
    key.rename(key.with_name("away"))
    assert acme("request", "acme", "/oauth/api").code == 4
    assert acme("token", "renew", "acme").code == 4
    assert spar.journal == []
