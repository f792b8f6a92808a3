"""A token endpoint that misbehaves: a typed error in time, no request to the API."""

import json
import threading
import time
from collections.abc import Iterator
from types import ModuleType
from urllib.parse import quote, urlencode

import httpx
import httpx2
import pytest
import requests

from outkey import Gateway
from outkey.foundation.core.errors import (
    HeaderFormatError,
    OutkeyError,
    RedirectBlocked,
    TokenEndpointFailed,
)
from outkey.hosts.file.loading import from_text
from outkey.integrations.httpx import OutkeyAuth as HttpxAuth
from outkey.integrations.httpx2 import OutkeyAuth as Httpx2Auth
from outkey.integrations.requests import OutkeyAuth as RequestsAuth
from outkey.spar import Spar
from outkey.spar.authority import CLIENT, CLIENT_SECRET
from spar.strays import strays

LIMIT = 15.0
HANGING = ("silent", "slow-headers", "slow-body")
EVIL = "\r\nX-Evil: 1"


def bent(**fields: object) -> str:
    """Ask for a token with these fields in the answer."""
    return "token?bend=" + quote(json.dumps(fields))


def literal(status: int, body: str, kind: str = "application/json") -> str:
    """Ask for exactly this answer."""
    return "odd/literal?" + urlencode({"status": status, "body": body, "type": kind})


# What nobody should answer, and the reason that a person is told; one of each kind,
# since the unit test test_oauth2_responses.py reads the rest of them without a wire.
REFUSED = {
    "invalid_client": ("odd/invalid_client", "invalid_client"),
    "invalid_grant": ("odd/invalid_grant", "invalid_grant"),
    "invalid_scope": ("odd/invalid_scope", "invalid_scope"),
    "busy": ("odd/temporarily_unavailable", "temporarily_unavailable"),
    "error with 200": ("odd/error-200", "refused"),
    "escape sequence in a description": (
        literal(
            400,
            json.dumps(
                {"error": "invalid_grant", "error_description": f"\x1b[2J{EVIL}"}
            ),
        ),
        "invalid_grant",
    ),
    "echo": ("odd/echo", "invalid_request"),
    "404": (literal(404, ""), "not_found"),
    "429": ("odd/rate-limited", "rate_limited"),
    "503": ("odd/unavailable", "server_error"),
    "page with 200": ("odd/html-200", "not_a_token_endpoint"),
    "page with 500": (literal(500, "<html>", "text/html"), "server_error"),
    "nothing": (literal(200, ""), "not_a_token_endpoint"),
    "half": (literal(200, '{"access_token": "abc'), "not_a_token_endpoint"),
    "deep": ("odd/deep", "not_a_token_endpoint"),
    "utf-16": ("odd/utf-16", "not_a_token_endpoint"),
    "no token": ("token?omit=access_token", "no_token"),
    "null token": (bent(access_token=None), "no_token"),
    "number as token": (bent(access_token=12345), "bad_token"),
    "line break in token": (bent(access_token=f"abc{EVIL}"), "bad_token"),
    "line break in refresh token": (bent(refresh_token=f"abc{EVIL}"), "bad_token"),
    "long token": ("odd/long-token", "bad_token"),
    "mac": (bent(token_type="mac"), "token_type"),
    "large": ("odd/large", "too_large"),
    "reset before": ("odd/reset-before", "connection"),
    "reset after": ("odd/reset-after", "connection"),
    "reset in the body": ("odd/reset-body", "connection"),
}
ACCEPTED = {
    "plain": "token",
    "201": "token?status=201",
    "no lifetime": "token?omit=expires_in,token_type,scope",
    "lifetime as text": bent(expires_in="3600"),
    "lifetime that is none": bent(expires_in="soon"),
    "end of life": bent(expires_in=None, expires_at=int(time.time()) + 3600),
    "line break in type": bent(token_type=f"Bearer{EVIL}"),
    "list of scopes": bent(scope=["a", "b"]),
    "form": "odd/form",
    "byte order mark": "odd/bom",
}


@pytest.fixture
def spar() -> Iterator[Spar]:
    with Spar() as server:
        yield server


@pytest.fixture(autouse=True)
def _secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN_FAULTS_SECRET", CLIENT_SECRET)


def table(name: str, spar: Spar, token_url: str) -> str:
    return f"""
[configuration.{name}]
base_url = "{spar.url}"
network = "internal"
authentication_type = "bearer"
token_source = "oauth2"
limits = {{ retries = 0 }}
[configuration.{name}.oauth2]
token_url = "{token_url}"
client_id = "{CLIENT}"
client_secret = "env:TOKEN_FAULTS_SECRET"
"""


def gateway(spar: Spar, **token_urls: str) -> Gateway:
    return from_text(
        "".join(table(name, spar, url) for name, url in token_urls.items())
    )


def arrivals(spar: Spar) -> list[str]:
    return [arrived.path for arrived in spar.journal if "/oauth/api" in arrived.path]


@pytest.mark.parametrize("name", REFUSED)
def test_a_bad_answer_is_a_typed_error_and_the_api_hears_nothing(
    name: str, spar: Spar
) -> None:
    path, reason = REFUSED[name]
    with gateway(spar, acme=f"{spar.url}/oauth/{path}") as sending:
        started = time.monotonic()
        with pytest.raises(TokenEndpointFailed) as caught:
            sending.send("acme", "GET", "/oauth/api")
    assert caught.value.reason == reason
    assert caught.value.hint
    assert time.monotonic() - started < LIMIT
    assert arrivals(spar) == []
    assert strays(spar) == []


@pytest.mark.parametrize("name", ACCEPTED)
def test_an_odd_answer_that_can_be_understood_is(name: str, spar: Spar) -> None:
    with gateway(spar, acme=f"{spar.url}/oauth/{ACCEPTED[name]}") as sending:
        assert sending.send("acme", "GET", "/oauth/api").status == 200
    assert strays(spar) == []


def test_a_token_that_is_too_long_for_a_header_is_not_sent(spar: Spar) -> None:
    url = f"{spar.url}/oauth/odd/long-token?length=9000"
    with gateway(spar, acme=url) as sending, pytest.raises(HeaderFormatError):
        sending.send("acme", "GET", "/oauth/api")
    assert spar.authorization.counts().live_access_tokens == 1
    assert arrivals(spar) == []


def test_a_provider_that_wants_json_is_asked_in_json(spar: Spar) -> None:
    text = table("acme", spar, f"{spar.url}/oauth/token?format=json")
    with from_text(text) as sending, pytest.raises(TokenEndpointFailed) as caught:
        sending.send("acme", "GET", "/oauth/api")
    assert caught.value.reason == "invalid_request"
    with from_text(text + 'body_format = "json"\nclient_auth = "body"\n') as sending:
        assert sending.send("acme", "GET", "/oauth/api").status == 200
    asked = next(
        arrived for arrived in reversed(spar.journal) if arrived.method == "POST"
    )
    assert asked.values("Content-Type") == ["application/json"]
    assert json.loads(asked.body) == {
        "grant_type": "client_credentials",
        "client_id": CLIENT,
        "client_secret": CLIENT_SECRET,
    }


@pytest.mark.parametrize("place", ["redirect-elsewhere", "redirect-same"])
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_token_endpoint_that_redirects_gets_nothing_more(
    place: str, status: int, spar: Spar
) -> None:
    url = f"{spar.url}/oauth/odd/{place}?status={status}"
    with gateway(spar, acme=url) as sending, pytest.raises(RedirectBlocked) as caught:
        sending.send("acme", "GET", "/oauth/api")
    assert caught.value.field == "oauth2.token_url"
    assert [arrived.path.partition("?")[0] for arrived in spar.journal] == [
        f"/oauth/odd/{place}"
    ]
    assert strays(spar) == []


def test_a_token_endpoint_that_is_not_there_is_said_at_once(spar: Spar) -> None:
    with (
        gateway(spar, acme="http://127.0.0.1:9/token") as sending,
        pytest.raises(TokenEndpointFailed) as caught,
    ):
        sending.send("acme", "GET", "/oauth/api")
    assert caught.value.reason == "connection"
    assert arrivals(spar) == []


def test_endpoints_that_hang_end_in_time_and_the_others_do_not_notice(
    spar: Spar,
) -> None:
    urls = {
        f"bad{n}": f"{spar.url}/oauth/odd/{odd}?seconds=60"
        for n, odd in enumerate(HANGING)
    }
    ends: dict[str, tuple[str, float]] = {}
    with gateway(spar, good=f"{spar.url}/oauth/token", **urls) as sending:

        def one(name: str) -> None:
            started = time.monotonic()
            try:
                sending.send(name, "GET", "/echo")
            except OutkeyError as error:
                ends[name] = (str(error.code), time.monotonic() - started)

        threads = [threading.Thread(target=one, args=(name,)) for name in urls]
        for thread in threads:
            thread.start()
        durations = []
        while any(thread.is_alive() for thread in threads):
            started = time.monotonic()
            assert sending.send("good", "GET", "/oauth/api").status == 200
            durations.append(time.monotonic() - started)
            time.sleep(0.2)
    assert {code for code, _ in ends.values()} == {"token_endpoint"}
    assert max(seconds for _, seconds in ends.values()) < LIMIT
    assert sorted(durations)[len(durations) // 2] < 0.5
    assert strays(spar) == []


def test_a_skewed_clock_of_the_provider_does_not_cause_a_storm(spar: Spar) -> None:
    for hours in (2, -2):
        url = f"{spar.url}/oauth/token?skew={hours * 3600}"
        before = spar.authorization.counts().token_requests
        with gateway(spar, acme=url) as sending:
            assert [
                sending.send("acme", "GET", "/oauth/api").status for _ in range(20)
            ] == [200] * 20
        assert spar.authorization.counts().token_requests == before + 1


def test_short_lives_pass_without_one_failed_call(spar: Spar) -> None:
    ends = time.monotonic() + 6
    with gateway(spar, acme=f"{spar.url}/oauth/token?lifetime=2") as sending:
        statuses = []

        def one() -> None:
            while time.monotonic() < ends:
                statuses.append(sending.send("acme", "GET", "/oauth/api").status)
                time.sleep(0.01)

        threads = [threading.Thread(target=one) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
    assert set(statuses) == {200}
    assert 3 <= spar.authorization.counts().token_requests <= 5


@pytest.mark.parametrize("module", [httpx, httpx2])
def test_a_borrowing_client_gets_another_token_when_the_first_is_refused(
    module: ModuleType, spar: Spar
) -> None:
    auth = {httpx: HttpxAuth, httpx2: Httpx2Auth}[module]
    url = f"{spar.url}/oauth/api"
    with (
        gateway(spar, acme=f"{spar.url}/oauth/token") as lending,
        module.Client(auth=auth(lending, "acme"), trust_env=False) as client,
    ):
        assert client.get(url).status_code == 200
        spar.authorization.expire_all()
        assert client.post(url, content=b"body").status_code == 200
        assert spar.authorization.counts().token_requests == 2
        spar.authorization.expire_all()
        # A body that is read from a stream is gone after the first time.
        assert client.post(url, content=iter([b"body"])).status_code == 401
        assert client.get(url).status_code == 200


def test_requests_gets_another_token_with_its_next_request(spar: Spar) -> None:
    url = f"{spar.url}/oauth/api"
    with (
        gateway(spar, acme=f"{spar.url}/oauth/token") as lending,
        requests.Session() as session,
    ):
        session.trust_env = False
        session.auth = RequestsAuth(lending, "acme")
        assert session.get(url, timeout=5).status_code == 200
        spar.authorization.expire_all()
        assert session.get(url, timeout=5).status_code == 401
        assert session.get(url, timeout=5).status_code == 200
    assert spar.authorization.counts().token_requests == 2
