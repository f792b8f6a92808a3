"""A drill reports how a configuration handles API failures, and finds weaknesses."""

import json
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from joserfc import jwk, jwt

from outkey.foundation.core.errors import ConfigError, RedirectBlocked
from outkey.foundation.core.origin import parse_url
from outkey.hosts.drill.drill import (
    DrillVerdict,
    ScenarioResult,
    drill,
    not_exercised,
    speed_of,
)
from outkey.hosts.drill.scenarios import SCENARIOS, concerning, has_set
from outkey.sending.core.configuration.configuration import Configuration, build
from outkey.sending.core.configuration.custom_rows import CustomHeader
from outkey.sending.core.configuration.secret_state import SecretState
from outkey.sending.core.request.assembly import redirected_request
from outkey.sending.core.request.message import Request, Response, Route
from outkey.spar import Spar
from outkey.spar.authority import CLIENT, CLIENT_SECRET
from outkey.spar.records import OAuthError

ROOT = Path(__file__).parents[2]
SCRIPT = (ROOT / "examples" / "scripts" / "hmac_time.py").read_text("utf-8")
BASE = {"base_url": "https://api.acme.example/v2", "limits.total_timeout": 30}
BEARER = BASE | {"authentication_type": "bearer"}
OAUTH2 = BEARER | {
    "token_source": "oauth2",
    "oauth2.token_url": "https://auth.acme.example/token",
    "oauth2.client_id": "erp",
}
LOGIN = BEARER | {
    "token_source": "login",
    "username": "api",
    "login.path": "/auth/login",
    "login.body": '{"user": "{username}", "password": "{password}"}',
    "login.token": "token",
}
KEY = CustomHeader("X-API-Key", "", secret=True)


def stored(*names: str) -> dict[str, SecretState]:
    return {name: SecretState("https://api.acme.example:443") for name in names}


METHODS = {
    "none": build("none", BASE | {"no_auth_reason": "public_api"}),
    "basic": build("basic", BASE | {"authentication_type": "basic", "username": "erp"}),
    "bearer": build("bearer", BEARER),
    "key": build("key", BASE, headers=(KEY,)),
    "script": build("script", BASE | {"script": SCRIPT}, secrets=stored("secret_key")),
    "client credentials": build("by body", OAUTH2),
    "by basic": build("by basic", OAUTH2 | {"oauth2.client_auth": "basic"}),
    "refresh token": build("refresh", OAUTH2 | {"oauth2.grant": "refresh_token"}),
    "login": build("login", LOGIN, headers=(KEY,)),
    "private key": build("signed", OAUTH2 | {"oauth2.client_auth": "private_key_jwt"}),
}
# Variants of the above, for the full run:
# they differ in how they ask, not in what they do.
VARIANTS = {
    "consent": build(
        "consent",
        OAUTH2
        | {
            "oauth2.grant": "authorization_code",
            "oauth2.authorization_url": "https://auth.acme.example/authorize",
        },
    ),
    "secret jwt": build(
        "secret jwt",
        OAUTH2
        | {
            "oauth2.client_auth": "client_secret_jwt",
            "oauth2.body_format": "json",
            "token_header": "X-Token",
        },
    ),
    "dpop": build("dpop", OAUTH2 | {"oauth2.dpop": True}),
    "mtls": build(
        "mtls",
        OAUTH2
        | {
            "oauth2.client_auth": "mtls",
            "tls.client_certificate": "/etc/ssl/acme.pem",
        },
        secrets=stored("client_key"),
    ),
}
# API requests and token requests: entered credentials, and OAuth 2.0.
COUNTS = {
    "works": ((3, 0), (3, 1)),
    "wrong-credentials": ((3, 0), (4, 2)),
    "forbidden": ((1, 0), (1, 1)),
    "token-expired": ((1, 0), (0, 0)),
    "token-renewed": ((0, 0), (3, 2)),
    "limited": ((2, 0), (2, 1)),
    "limited-long": ((1, 0), (1, 1)),
    "limited-bare": ((3, 0), (3, 1)),
    "flapping": ((2, 0), (2, 1)),
    "flapping-post": ((1, 0), (1, 1)),
    "down": ((1, 0), (1, 1)),
    "redirect-same": ((2, 0), (2, 1)),
    "redirect-elsewhere": ((1, 0), (1, 1)),
    "redirect-loop": ((4, 0), (4, 1)),
    "silence": ((1, 0), (1, 1)),
    "reset": ((3, 0), (3, 1)),
    "token-short": ((0, 0), (3, 3)),
    "token-rotation": ((0, 0), (5, 3)),
    "token-revoked": ((0, 0), (3, 2)),
    # Four, and two of the test: with the next credentials, and without any.
    "rotation-works": ((6, 0), (6, 1)),
    # After a refusal the request is sent once more, and first with a new token.
    "rotation-refused-later": ((7, 0), (8, 3)),
    "rotation-locked": ((7, 0), (8, 3)),
    "rotation-refused": ((5, 0), (6, 3)),
}


def play(configuration: Configuration, *ids: str) -> list[ScenarioResult]:
    chosen = [s for s in concerning(configuration) if not ids or s.id in ids]
    return drill(configuration, chosen, lambda _: None)


def only(configuration: Configuration, scenario: str) -> ScenarioResult:
    (played,) = play(configuration, scenario)
    return played


@pytest.fixture(scope="module")
def drilled(
    request: pytest.FixtureRequest,
) -> Iterator[dict[str, list[ScenarioResult]]]:
    """Every method through every scenario; they mostly wait, so three at a time."""
    methods = METHODS | (VARIANTS if request.config.getoption("--full") else {})
    with ThreadPoolExecutor(3) as threads:
        yield dict(zip(methods, threads.map(play, methods.values()), strict=True))


def test_no_method_leaks_storms_or_locks_out_in_any_scenario(
    drilled: dict[str, list[ScenarioResult]],
) -> None:
    bad = [
        f"{method}: {one.scenario.id}: {one.meaning}"
        for method, all_played in drilled.items()
        for one in all_played
        if one.verdict is DrillVerdict.BAD
    ]
    assert bad == []
    assert {s.id for s in SCENARIOS} == {
        one.scenario.id for all_played in drilled.values() for one in all_played
    }


@pytest.mark.parametrize("method", METHODS)
def test_requests_are_as_many_as_they_should_be(
    drilled: dict[str, list[ScenarioResult]], method: str
) -> None:
    counted = {
        one.scenario.id: (
            one.requests.authenticated + one.requests.without_credentials,
            one.requests.token,
        )
        for one in drilled[method]
        if one.scenario.id in COUNTS
    }
    column = int(METHODS[method].fetches_token)
    assert counted == {name: COUNTS[name][column] for name in counted}
    assert len(counted) >= 13


@pytest.mark.parametrize("method", METHODS)
def test_every_request_has_credentials_and_none_goes_elsewhere(
    drilled: dict[str, list[ScenarioResult]], method: str
) -> None:
    for one in drilled[method]:
        assert one.requests.elsewhere == 0
        # A test of next credentials sends one request without any.
        expected = int(bool(one.scenario.ends))
        if method != "none":
            assert one.requests.without_credentials <= expected


@pytest.mark.parametrize("method", METHODS)
def test_only_these_scenarios_are_worth_a_warning(
    drilled: dict[str, list[ScenarioResult]], method: str
) -> None:
    warned = {
        one.scenario.id for one in drilled[method] if one.verdict is DrillVerdict.WARN
    }
    of_tokens = {"expired-403"} if METHODS[method].sends_token else set()
    of_tokens |= {"token-expired"} if method == "bearer" else set()
    of_sets = {"rotation-switch", "rotation-error-in-200"}
    of_tokens |= of_sets if has_set(METHODS[method]) else set()
    assert warned == {"error-in-200"} | of_tokens


STEPS = {
    "login.path": "",
    "login.body": "",
    "login.token": "",
    "login.cookies": True,
    "login.steps": [{"path": "/start", "body": '{"pass": "{password}"}'}],
}


@pytest.mark.parametrize(
    ("values", "named"),
    [
        (OAUTH2 | {"oauth2.grant": "jwt_bearer"}, "The grant jwt_bearer"),
        (
            OAUTH2 | {"oauth2.grant": "password", "username": "api"},
            "The grant password",
        ),
        (OAUTH2 | {"oauth2.grant": "token_exchange"}, "The grant token_exchange"),
        (LOGIN | STEPS, "The steps of the login"),
        (BEARER | {"csrf.path": "/token"}, "The CSRF token"),
        (OAUTH2 | {"oauth2.grant": "refresh_token"}, ""),
        (LOGIN, ""),
    ],
)
def test_what_the_copy_does_otherwise_is_named_and_all_is_well(
    values: dict[str, object], named: str
) -> None:
    configuration = build("acme", values)
    assert [text.partition(":")[0] for text in not_exercised(configuration)] == (
        [named] if named else []
    )
    assert only(configuration, "works").verdict == "ok"


def test_seconds_are_those_of_production(
    drilled: dict[str, list[ScenarioResult]],
) -> None:
    seconds = {one.scenario.id: one.seconds for one in drilled["basic"]}
    assert speed_of(METHODS["basic"]) == 10
    assert 15 <= seconds["silence"] < 30
    assert 30 <= seconds["slow-body"] < 45
    assert 5 <= seconds["limited"] < 20


# ── settings make a difference ────────────────────────────────────────────────────────


def test_without_retries_it_says_what_a_second_try_would_do() -> None:
    played = only(build("acme", BEARER | {"limits.retries": 0}), "flapping")
    assert (played.outcomes, played.status) == (("server_error",), 503)
    assert played.verdict is DrillVerdict.WARN
    assert played.meaning.startswith("Ends with server_error after 1 request and ")
    assert "set Retries (limits.retries) to 1 or more" in played.meaning


def test_403_is_known_for_an_expired_token_where_the_configuration_says_so() -> None:
    played = only(
        build("acme", OAUTH2 | {"verification.forbidden_means_expired": True}),
        "expired-403",
    )
    assert (played.verdict, played.outcomes) == (DrillVerdict.OK, ("answered",))
    assert tuple(played.requests) == (2, 0, 0, 2)


def test_wrong_credentials_are_not_promoted_where_a_marker_knows_them() -> None:
    marked = BEARER | {"verification.expired_marker": "invalid_auth"}
    played = only(build("acme", marked), "rotation-error-in-200")
    assert (played.verdict, played.outcomes) == (DrillVerdict.OK, ("answered",) * 4)
    refused = BEARER | {"verification.forbidden_means_expired": True}
    played = only(build("acme", refused), "rotation-forbidden")
    assert (played.verdict, played.outcomes) == (DrillVerdict.OK, ("answered",) * 4)


def test_both_secrets_of_a_client_share_its_refresh_token() -> None:
    values = OAUTH2 | {"oauth2.grant": "refresh_token"}
    secrets = stored("client_secret", "refresh_token")
    played = only(build("acme", values, secrets=secrets), "rotation-works")
    assert (played.verdict, played.requests.token) == (DrillVerdict.OK, 1)


def test_what_cannot_be_built_is_said_as_an_error() -> None:
    twice = build(
        "acme", BEARER, headers=(CustomHeader("Authorization", "", secret=True),)
    )
    with pytest.raises(ConfigError) as caught:
        only(twice, "works")
    assert caught.value.code == "header_conflict"


# ── what is bad is noticed ────────────────────────────────────────────────────────────


def test_a_credential_at_another_origin_is_a_leak(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def careless(
        request: Request,
        response: Response,
        configuration: Configuration,
        script_parameters: frozenset[str],
    ) -> Request | None:
        try:
            return redirected_request(
                request, response, configuration, script_parameters
            )
        except RedirectBlocked:
            there = parse_url(response.headers["Location"])
            return Request("GET", there.origin, there.target, request.headers)

    monkeypatch.setattr(
        "outkey.sending.engine.exchange.exchange.redirected_request", careless
    )
    for method in ("basic", "bearer", "key", "script", "client credentials"):
        played = only(METHODS[method], "redirect-elsewhere")
        assert (played.verdict, played.requests.elsewhere) == (DrillVerdict.BAD, 1)
        assert "LEAK: a credential was sent to elsewhere /echo" in played.meaning


def test_more_requests_than_allowed_are_a_storm(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "outkey.sending.engine.exchange.exchange._RETRIED", frozenset({401, 500})
    )
    for scenario, sent in (("down", 3), ("wrong-credentials", 9)):
        played = only(METHODS["basic"], scenario)
        assert played.verdict is DrillVerdict.BAD
        assert f"{sent} requests where {sent // 3} are allowed" in played.meaning


def test_a_request_without_credentials_is_bad(monkeypatch: pytest.MonkeyPatch) -> None:
    from outkey.sending.adapters.transport.transport_sockets import SocketTransport

    send = SocketTransport.send

    def forgetful(self: SocketTransport, request: Request, route: Route) -> Response:
        kept = tuple(h for h in request.headers if h.name != "Authorization")
        return send(self, request.with_headers(kept), route)

    monkeypatch.setattr(SocketTransport, "send", forgetful)
    played = only(METHODS["bearer"], "works")
    assert played.verdict is DrillVerdict.BAD
    assert "3 requests were sent WITHOUT CREDENTIALS" in played.meaning


def test_a_time_out_that_is_not_kept_is_bad(monkeypatch: pytest.MonkeyPatch) -> None:
    from outkey.sending.adapters.transport.transport_sockets import SocketTransport

    send = SocketTransport.send

    def patient(self: SocketTransport, request: Request, route: Route) -> Response:
        return send(self, request, route._replace(read_timeout=3, time_left=3))

    monkeypatch.setattr(SocketTransport, "send", patient)
    played = only(build("acme", BEARER | {"limits.total_timeout": 0.5}), "silence")
    assert played.verdict is DrillVerdict.BAD
    assert "The timeout was exceeded" in played.meaning


def test_a_failure_although_all_is_well_is_bad(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("outkey.spar.authority.Authority.access", lambda *_: None)
    played = only(METHODS["client credentials"], "works")
    assert (played.verdict, played.status) == (DrillVerdict.BAD, 401)


def test_a_trial_that_does_not_end_is_a_warning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "outkey.sending.engine.rotation.trial.Trials._has_ended", lambda *_: False
    )
    played = only(METHODS["bearer"], "rotation-refused-later")
    assert played.verdict is DrillVerdict.WARN
    assert "ended otherwise" in played.meaning
    assert only(METHODS["bearer"], "rotation-works").verdict is DrillVerdict.BAD


# ── the scenes ────────────────────────────────────────────────────────────────────────


def assertion(key: object, algorithm: str, **claims: str) -> str:
    usual = {"iss": CLIENT, "sub": CLIENT, "aud": "http://spar/token", "jti": "1"}
    return jwt.encode({"alg": algorithm}, usual | claims, key, algorithms=[algorithm])


def test_an_assertion_is_taken_once_and_from_its_own_client_only() -> None:
    with Spar() as spar:
        authority = spar.authorization
        shared = jwk.OctKey.import_key(CLIENT_SECRET)
        good = assertion(shared, "HS256")
        authority.check_assertion(CLIENT, good, "http://spar")
        key = jwk.ECKey.import_key(json.loads(authority.enrol("signs")))
        authority.check_assertion(
            "signs", assertion(key, "ES256", sub="signs", jti="2"), "http:"
        )
        unsigned = urlsafe_b64encode(b'{"alg":"none"}').decode().rstrip("=") + ".e30."
        for client, text in (
            (CLIENT, good),
            (CLIENT, unsigned),
            ("nobody", assertion(shared, "HS256", sub="nobody", jti="3")),
            (CLIENT, assertion(shared, "HS256", aud="http://other", jti="4")),
            (CLIENT, assertion(shared, "HS256", sub="signs", jti="5")),
            ("signs", assertion(shared, "HS256", sub="signs", jti="6")),
        ):
            with pytest.raises(OAuthError):
                authority.check_assertion(client, text, "http://spar")


def test_the_guide_lists_every_scenario() -> None:
    guide = (ROOT / "docs" / "guide" / "drill.md").read_text("utf-8")
    assert [s.id for s in SCENARIOS if f"| `{s.id}` | {s.played} |" not in guide] == []
