"""A token endpoint that misbehaves: a typed error in time, and nothing reaches the API."""

import threading
import time
from collections.abc import Iterator
from types import ModuleType

import httpx
import httpx2
import pytest
import requests

from outkey import Gateway
from outkey.core.errors import (
    HeaderFormatError,
    OutkeyError,
    RedirectBlocked,
    TokenEndpointFailed,
)
from outkey.hosts.file import from_text
from outkey.integrations.httpx import OutkeyAuth as HttpxAuth
from outkey.integrations.httpx2 import OutkeyAuth as Httpx2Auth
from outkey.integrations.requests import OutkeyAuth as RequestsAuth
from outkey.spar import Spar
from outkey.spar.authority import CLIENT, CLIENT_SECRET

LIMIT = 15.0
HANGING = ("silent", "slow-headers", "slow-body")
# What nobody should answer, and the reason that a person is told.
REFUSED = {
    "invalid_request": "invalid_request",
    "invalid_client": "invalid_client",
    "invalid_client-400": "invalid_client",
    "invalid_grant": "invalid_grant",
    "unauthorized_client": "unauthorized_client",
    "unsupported_grant_type": "unsupported_grant_type",
    "invalid_scope": "invalid_scope",
    "server_error": "server_error",
    "temporarily_unavailable": "temporarily_unavailable",
    "unheard-of": "refused",
    "error-200": "refused",
    "ok-false": "refused",
    "error-object": "invalid_grant",
    "long-description": "invalid_grant",
    "control-description": "invalid_grant",
    "echo": "invalid_request",
    "status-403": "refused",
    "status-404": "not_found",
    "rate-limited": "rate_limited",
    "unavailable": "server_error",
    "bad-gateway": "server_error",
    "html-200": "not_a_token_endpoint",
    "html-500": "server_error",
    "empty-200": "not_a_token_endpoint",
    "array": "not_a_token_endpoint",
    "null-body": "not_a_token_endpoint",
    "string-body": "not_a_token_endpoint",
    "half": "not_a_token_endpoint",
    "deep": "not_a_token_endpoint",
    "utf-16": "not_a_token_endpoint",
    "no-token": "no_token",
    "null-token": "no_token",
    "empty-token": "no_token",
    "number-token": "bad_token",
    "list-token": "bad_token",
    "crlf-token": "bad_token",
    "newline-token": "bad_token",
    "blank-token": "bad_token",
    "control-token": "bad_token",
    "non-ascii-token": "bad_token",
    "huge-token": "bad_token",
    "crlf-refresh": "bad_token",
    "mac-type": "token_type",
    "large": "too_large",
    "reset-before": "connection",
    "reset-after": "connection",
    "reset-body": "connection",
}
ACCEPTED = (
    "plain",
    "missing",
    "text",
    "padded-text",
    "float",
    "text-float",
    "garbage",
    "empty",
    "zero",
    "negative",
    "null",
    "huge",
    "list",
    "bool",
    "nan",
    "infinity",
    "milliseconds",
    "no-type",
    "null-type",
    "list-type",
    "lower-type",
    "bearertoken-type",
    "crlf-type",
    "null-refresh",
    "empty-refresh",
    "list-scope",
    "comma-scope",
    "expires-at",
    "expires-at-ms",
    "expires-at-iso",
    "expires-on",
    "form",
    "form-as-text",
    "json-as-html",
    "json-as-text",
    "bom",
    "created",
    "digits",
    "exponent",
)


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
    return from_text("".join(table(name, spar, url) for name, url in token_urls.items()))


def arrivals(spar: Spar) -> list[str]:
    return [arrived.path for arrived in spar.journal if "/oauth/api" in arrived.path]


@pytest.mark.parametrize(("odd", "reason"), REFUSED.items())
def test_a_bad_answer_is_a_typed_error_and_the_api_hears_nothing(
    odd: str, reason: str, spar: Spar
) -> None:
    with gateway(spar, acme=f"{spar.url}/oauth/odd/{odd}") as sending:
        started = time.monotonic()
        with pytest.raises(TokenEndpointFailed) as caught:
            sending.send("acme", "GET", "/oauth/api")
    assert caught.value.reason == reason
    assert caught.value.hint
    assert time.monotonic() - started < LIMIT
    assert arrivals(spar) == []
    assert spar.authorization.counts().strays == []


@pytest.mark.parametrize("odd", ACCEPTED)
def test_an_odd_answer_that_can_be_understood_is(odd: str, spar: Spar) -> None:
    with gateway(spar, acme=f"{spar.url}/oauth/odd/{odd}") as sending:
        assert sending.send("acme", "GET", "/oauth/api").status == 200


def test_a_token_that_is_too_long_for_a_header_is_not_sent(spar: Spar) -> None:
    with (
        gateway(spar, acme=f"{spar.url}/oauth/odd/huge-token?bytes=9000") as sending,
        pytest.raises((TokenEndpointFailed, HeaderFormatError)),
    ):
        sending.send("acme", "GET", "/oauth/api")
    assert arrivals(spar) == []


@pytest.mark.parametrize("place", ["redirect-elsewhere", "redirect-same"])
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_token_endpoint_that_redirects_gets_nothing_more(
    place: str, status: int, spar: Spar
) -> None:
    url = f"{spar.url}/oauth/odd/{place}?status={status}"
    with gateway(spar, acme=url) as sending, pytest.raises(RedirectBlocked) as caught:
        sending.send("acme", "GET", "/oauth/api")
    assert caught.value.field == "oauth2.token_url"
    assert [arrived.path.partition("?")[0] for arrived in spar.journal] == [f"/oauth/odd/{place}"]
    assert spar.authorization.counts().strays == []


def test_a_token_endpoint_that_is_not_there_is_said_at_once(spar: Spar) -> None:
    with (
        gateway(spar, acme="http://127.0.0.1:9/token") as sending,
        pytest.raises(TokenEndpointFailed) as caught,
    ):
        sending.send("acme", "GET", "/oauth/api")
    assert caught.value.reason == "connection"
    assert arrivals(spar) == []


def test_endpoints_that_hang_end_in_time_and_the_others_do_not_notice(spar: Spar) -> None:
    urls = {f"bad{n}": f"{spar.url}/oauth/odd/{odd}?seconds=60" for n, odd in enumerate(HANGING)}
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
    assert spar.authorization.counts().strays == []


def test_a_skewed_clock_of_the_provider_does_not_cause_a_storm(spar: Spar) -> None:
    for hours in (2, -2):
        url = f"{spar.url}/oauth/token?skew={hours * 3600}"
        before = spar.authorization.counts().token_requests
        with gateway(spar, acme=url) as sending:
            assert [sending.send("acme", "GET", "/oauth/api").status for _ in range(20)] == [
                200
            ] * 20
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
    with gateway(spar, acme=f"{spar.url}/oauth/token") as lending, requests.Session() as session:
        session.trust_env = False
        session.auth = RequestsAuth(lending, "acme")
        assert session.get(url, timeout=5).status_code == 200
        spar.authorization.expire_all()
        assert session.get(url, timeout=5).status_code == 401
        assert session.get(url, timeout=5).status_code == 200
    assert spar.authorization.counts().token_requests == 2
