"""Grants without a client secret, and each failure, as outkey explains it."""

import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.conftest import Terminal
from cli.test_token_processes import race
from outkey.spar import Spar
from outkey.spar.authority import CLIENT, CLIENT_SECRET
from outkey.spar.keyless import (
    DENIED_SUBJECT,
    ISSUER,
    USER,
    USER_PASSWORD,
    WORKLOAD_CLIENT,
    WORKLOAD_ISSUER,
    WORKLOAD_SUBJECT,
    key_text,
    sign,
)
from outkey.spar.records import new_key


@pytest.fixture
def spar() -> Iterator[Spar]:
    with Spar() as server:
        yield server


def document(
    spar: Spar, oauth2: str, assertion: str = "", token: str = "/keyless/token"
) -> str:
    return f"""
[configuration.acme]
base_url = "{spar.url}"
network = "internal"
authentication_type = "bearer"
token_source = "oauth2"
username = "{USER}"
verification = {{ test_path = "/oauth/api", compare = false }}
[configuration.acme.oauth2]
token_url = "{spar.url}{token}"
{oauth2}
[configuration.acme.oauth2.assertion]
{assertion}
"""


def apply(outkey: Terminal, text: str, **secrets: str) -> None:
    applied = outkey("apply", "-", stdin=text)
    assert applied.code == 0, applied.err
    for name, value in secrets.items():
        assert outkey("secret", "set", "acme", name, stdin=value).code == 0


def causes(outkey: Terminal) -> list[str]:
    report = outkey("test", "acme", "--json")
    assert report.code == 1
    return [finding["id"] for finding in report.json["findings"]]


def token_requests(spar: Spar) -> int:
    return Counter(arrival.path for arrival in spar.journal)["/keyless/token"]


# ── signed assertions ───────────────────────────────────────────────────────────────


BEARER = 'grant = "jwt_bearer"'


def test_a_signed_assertion_becomes_a_token(outkey: Terminal, spar: Spar) -> None:
    text = document(spar, BEARER, f'issuer = "{ISSUER}"')
    apply(outkey, text, private_key=key_text())
    tested = outkey("test", "acme")
    assert tested.code == 0, tested.out
    assert "fresh" in outkey("token", "status", "acme").out
    assert outkey("token", "renew", "acme").code == 0
    assert token_requests(spar) == 2
    preview = outkey("preview", "acme", "/oauth/api")
    assert "Bearer ***" in preview.out
    shown = outkey("show", "acme", "--json").json
    assert shown["oauth2"]["assertion"]["issuer"] == ISSUER
    assert shown["private_key"]["set"] is True
    exported = outkey("export", "acme").out
    assert outkey("apply", "-", stdin=exported).code == 0


@pytest.mark.parametrize(
    ("assertion", "token", "cause"),
    [
        ('issuer = "another"', "", "assertion-issuer"),
        (f'issuer = "{ISSUER}"\nsubject = "{DENIED_SUBJECT}"', "", "assertion-subject"),
        (f'issuer = "{ISSUER}"\naudience = "x"', "", "assertion-audience"),
        (f'issuer = "{ISSUER}"\nkey_id = "another"', "", "assertion-key"),
        (f'issuer = "{ISSUER}"', "?skew=900", "clock-off"),
        (f'issuer = "{ISSUER}"', "?skew=-900", "clock-off"),
    ],
)
def test_each_refusal_of_an_assertion_has_its_cause(
    outkey: Terminal, spar: Spar, assertion: str, token: str, cause: str
) -> None:
    text = document(spar, BEARER, assertion, f"/keyless/token{token}")
    apply(outkey, text, private_key=key_text())
    assert causes(outkey)[0] == cause
    sent = outkey("request", "acme", "/oauth/api")
    assert (sent.code, "token_endpoint" in sent.err) == (1, True)


def test_a_key_that_the_provider_does_not_know_is_the_cause(
    outkey: Terminal, spar: Spar
) -> None:
    text = document(spar, BEARER, f'issuer = "{ISSUER}"')
    apply(outkey, text, private_key=new_key())
    assert causes(outkey)[0] == "assertion-key"
    report = outkey("test", "acme")
    assert "Invalid JWT Signature." in report.out  # the provider's own words


@pytest.mark.full
def test_many_processes_sign_exactly_one_assertion(
    outkey: Terminal, spar: Spar
) -> None:
    text = document(spar, BEARER, f'issuer = "{ISSUER}"')
    apply(outkey, text, private_key=key_text())
    assert race(outkey, "/oauth/api", processes=8, threads=25) == {200: 200}
    assert token_requests(spar) == 1


@pytest.mark.parametrize(
    ("oauth2", "assertion", "field"),
    [
        (BEARER, "lifetime_seconds = 9", "oauth2.assertion.lifetime_seconds"),
        (BEARER, 'algorithm = "HS256"', "oauth2.assertion.algorithm"),
        (BEARER, 'scope_in = "body"', "oauth2.assertion.scope_in"),
        (BEARER, "colour = 1", "oauth2.assertion.colour"),
        (
            f'{BEARER}\nrefresh_url = "https://auth.example/renew"',
            "",
            "oauth2.refresh_url",
        ),
        ('client_id = "erp"', 'issuer = "erp"', "oauth2.assertion.issuer"),
        ('client_id = "erp"\nprivate_key = "env:KEY"', "", "oauth2.private_key"),
        ("", "", "oauth2.client_id"),
        ('grant = "password"', "", "oauth2.client_id"),
    ],
)
def test_bad_values_and_keys_of_another_grant_are_refused(
    outkey: Terminal, spar: Spar, oauth2: str, assertion: str, field: str
) -> None:
    refused = outkey("apply", "-", "--json", stdin=document(spar, oauth2, assertion))
    assert refused.code == 2
    error = refused.json["error"]
    assert error["code"] == "configuration"
    assert error["field"].endswith(field)


# ── tokens of another issuer ────────────────────────────────────────────────────────


def workload(spar: Spar, **changed: object) -> str:
    now = int(time.time())
    claims: dict[str, object] = {
        "iss": WORKLOAD_ISSUER,
        "sub": WORKLOAD_SUBJECT,
        "aud": spar.url,
        "iat": now,
        "exp": now + 300,
    }
    return sign(claims | changed)


def federated(spar: Spar, file: Path, client: str = WORKLOAD_CLIENT) -> str:
    return document(
        spar,
        f'client_id = "{client}"\nclient_auth = "federated"\n'
        f'client_assertion = "file:{file}"',
    )


def test_the_token_of_a_workload_is_read_with_each_token_request(
    outkey: Terminal, spar: Spar, tmp_path: Path
) -> None:
    file = tmp_path / "token"
    file.write_text(workload(spar, exp=1))
    apply(outkey, federated(spar, file))
    assert causes(outkey)[0] == "federated-token-expired"
    file.write_text(f"{workload(spar)}\n")
    assert outkey("token", "renew", "acme").code == 0
    assert outkey("request", "acme", "/oauth/api").code == 0


@pytest.mark.parametrize(
    ("changed", "cause"),
    [
        ({"iss": "https://another.example"}, "assertion-issuer"),
        ({"sub": "workload:another"}, "assertion-subject"),
        ({"aud": "another"}, "assertion-audience"),
        ({"exp": 1}, "federated-token-expired"),
    ],
)
def test_each_refusal_of_a_workload_has_its_cause(
    outkey: Terminal,
    spar: Spar,
    tmp_path: Path,
    changed: dict[str, object],
    cause: str,
) -> None:
    file = tmp_path / "token"
    file.write_text(workload(spar, **changed))
    apply(outkey, federated(spar, file))
    assert causes(outkey)[0] == cause


def test_its_token_is_never_stored(
    outkey: Terminal, spar: Spar, tmp_path: Path
) -> None:
    file = tmp_path / "token"
    file.write_text(workload(spar))
    apply(outkey, federated(spar, file))
    refused = outkey("secret", "set", "acme", "client_assertion", stdin="canary-value")
    assert refused.code == 2
    assert "--from" in refused.err
    assert "canary" not in refused.err + refused.out
    again = ("secret", "set", "acme", "client_assertion", "--from", f"file:{file}")
    assert outkey(*again).code == 0
    assert outkey("test", "acme").code == 0


# ── user name and password ──────────────────────────────────────────────────────────


OF_USER = f'grant = "password"\nclient_id = "{CLIENT}"'


def test_a_password_becomes_a_token_that_a_refresh_token_renews(
    outkey: Terminal, spar: Spar
) -> None:
    apply(
        outkey,
        document(spar, OF_USER),
        password=USER_PASSWORD,
        client_secret=CLIENT_SECRET,
    )
    tested = outkey("test", "acme", "--json")
    assert tested.code == 0, tested.json
    assert "W012" in [finding["id"] for finding in tested.json["findings"]]
    assert outkey("token", "renew", "acme").code == 0
    assert spar.authorization.counts().by_grant == {"password": 1, "refresh_token": 1}
    spar.authorization.revoke_family()
    assert outkey("token", "renew", "acme").code == 0
    assert spar.authorization.counts().by_grant["password"] == 2


def test_a_wrong_password_is_the_cause_and_is_not_shown(
    outkey: Terminal, spar: Spar
) -> None:
    secrets = {"password": "wrong-canary", "client_secret": CLIENT_SECRET}
    apply(outkey, document(spar, OF_USER), **secrets)
    assert causes(outkey)[0] == "password-refused"
    report = outkey("test", "acme")
    assert "wrong-canary" not in report.out + report.err


def test_a_refresh_url_binds_the_client_secret(outkey: Terminal, spar: Spar) -> None:
    secrets = {"password": USER_PASSWORD, "client_secret": CLIENT_SECRET}
    apply(outkey, document(spar, OF_USER), **secrets)
    text = f'{OF_USER}\nrefresh_url = "{spar.elsewhere}/keyless/token"'
    assert outkey("apply", "-", stdin=document(spar, text)).code == 0
    sent = outkey("request", "acme", "/oauth/api")
    assert (sent.code, "secret_rebind_required" in sent.err) == (2, True)
    set_again = ("secret", "set", "acme", "client_secret")
    stored = outkey(*set_again, stdin=CLIENT_SECRET)
    sent_to = sorted(stored.out.strip().partition("to be sent to ")[2].split(" and "))
    assert (stored.code, sent_to) == (0, sorted([spar.url, spar.elsewhere]))
    assert outkey("request", "acme", "/oauth/api").code == 0
