"""Tokens of logins with fakes: when outkey logs in, refreshes and logs out."""

import asyncio
import json
import threading
import time
from collections.abc import Callable
from dataclasses import replace

import pytest

from frames import places_showing, product_frames
from outkey.administration.engine.editing.changes import ConfigurationChange
from outkey.foundation.core.errors import (
    ConfigError,
    ConnectionFailed,
    LoginRefused,
    OutkeyError,
    Paused,
    ReauthorizationNeeded,
    RedirectBlocked,
    SecretMissing,
    TimedOut,
    TokenEndpointFailed,
)
from outkey.foundation.core.permission import Permission
from outkey.foundation.core.secret import Secret
from outkey.sending.core.audit.events import Intent, Outcome, Tag
from outkey.sending.core.configuration.custom_rows import CustomHeader
from outkey.sending.core.configuration.permissions import RULES
from outkey.sending.core.oauth2.token import (
    LEASE_SECONDS,
    State,
    TokenState,
    login_basis_of,
)
from outkey.sending.core.request.message import Request, Response, ResponseHeaders
from outkey.sending.engine.tokens.actions import TokenAction
from outkey.testing import configuration, fake_gateway
from outkey.testing.fakes.basic import FakeWorld
from outkey.testing.fakes.storage import memory_registry
from unit.application_in_memory import memory_host

LOGIN = {
    "authentication_type": "bearer",
    "token_source": "login",
    "username": "api",
    "login__path": "/auth/login",
    "login__body": '{"email": "{username}", "password": "{password}"}',
    "login__token": "data.access_token",
    "login__expires_in": "data.expires",
    "login__expires_unit": "ms",
}
REFRESHED = LOGIN | {
    "login__refresh_path": "/auth/refresh",
    "login__refresh_body": '{"refresh_token": "{refresh_token}"}',
    "login__refresh_token": "data.refresh_token",
    "login__logout_path": "/auth/logout",
}
PASSWORD = "correct-horse-battery"
REFUSAL = {"errors": [{"message": f"no such user, {PASSWORD} is wrong"}]}

Answer = Response | OutkeyError | Callable[[], Response]


class Api:
    """An API with a login, played by a function."""

    def __init__(self, expires: int = 3_600_000) -> None:
        self.expires = expires
        self.logins: list[dict[str, str]] = []
        self.refreshes: list[str] = []
        self.logouts: list[tuple[str, dict[str, str]]] = []
        self.seen: list[str] = []
        self.live: set[str] = set()
        self.live_refresh: set[str] = set()
        self.login_answers: list[Answer] = []
        self.refresh_answers: list[Answer] = []
        self.logout_answers: list[Answer] = []
        self.api_answers: list[Response] = []

    def __call__(self, request: Request) -> Response | OutkeyError:
        path = request.target.partition("?")[0]
        token = header_value(request, "Authorization").removeprefix("Bearer ")
        if path == "/auth/login":
            assert not token
            self.logins.append(body_of(request))
            return self._next(self.login_answers, self.granted)
        if path == "/auth/refresh":
            assert not token
            self.refreshes.append(body_of(request)["refresh_token"])
            return self._next(self.refresh_answers, self._refreshed)
        if path == "/auth/logout":
            self.logouts.append((token, body_of(request)))
            return self._next(self.logout_answers, lambda: Response(204))
        self.seen.append(token)
        if self.api_answers:
            return self.api_answers.pop(0)
        return Response(200) if token in self.live else Response(401)

    def _next(
        self, responses: list[Answer], otherwise: Callable[[], Response]
    ) -> Response | OutkeyError:
        answer = responses.pop(0) if responses else otherwise
        return answer() if callable(answer) else answer

    def _refreshed(self) -> Response:
        if self.refreshes[-1] not in self.live_refresh:
            return reply({"errors": ["dead"]}, 401)
        self.live_refresh.discard(self.refreshes[-1])
        return self.granted()

    def granted(self, **changed: object) -> Response:
        number = len(self.logins) + len(self.refreshes)
        self.live.add(f"token-{number}")
        self.live_refresh.add(f"refresh-{number}")
        data = {
            "access_token": f"token-{number}",
            "refresh_token": f"refresh-{number}",
            "expires": self.expires,
        }
        return reply({"data": data | changed})


def reply(document: object, status: int = 200, *headers: tuple[str, str]) -> Response:
    return Response(status, ResponseHeaders(headers), json.dumps(document).encode())


def header_value(request: Request, name: str) -> str:
    values = [header.value for header in request.headers if header.name == name]
    if not values:
        return ""
    return values[0].reveal() if isinstance(values[0], Secret) else values[0]


def body_of(request: Request) -> dict[str, str]:
    assert isinstance(request.body, Secret)
    text = request.body.reveal()
    document: dict[str, str] = json.loads(text) if text else {}
    return document


def world(api: Api, **values: object) -> FakeWorld:
    made = configuration(**(LOGIN | values))
    return fake_gateway(made, responses=api, secrets={"password": PASSWORD})


def send(fake: FakeWorld) -> Response:
    return fake.gateway.send("acme", "GET", "/")


def kept(fake: FakeWorld) -> TokenState:
    return fake.ports.tokens.read(fake.ports.configurations.get("acme"))


def put(fake: FakeWorld, **changed: object) -> None:
    """Put a state in the place of the kept one, as another process would."""
    made, before = fake.ports.configurations.get("acme"), kept(fake)
    state = replace(before, basis=login_basis_of(made), **changed)  # type: ignore[arg-type]
    assert fake.ports.tokens.swap(made, before, state)
    fake.sender.context.token_cache.__init__()  # type: ignore[misc]  # as in another process


def test_an_expression_over_the_response_needs_the_permission_to_set_secrets() -> None:
    """Its result is shown as the expiry, so it could tell a token by halves."""
    expressions = ("token", "refresh_token", "expires_in")
    rules = {RULES[f"login.{name}"] for name in expressions}
    assert rules == {Permission.SET_SECRET}


# ── one login for many sends ──────────────────────────────────────────────────────────


def test_the_first_send_logs_in_and_the_next_ones_use_the_token() -> None:
    api = Api()
    fake = world(api)
    assert [send(fake).status for _ in range(5)] == [200] * 5
    assert api.logins == [{"email": "api", "password": PASSWORD}]
    assert set(api.seen) == {"token-1"}
    assert kept(fake).content is not None
    assert kept(fake).lifetime == 3600


def test_a_login_is_recorded_before_and_after_by_its_path_alone() -> None:
    fake = world(Api(), login__path="/auth/login?realm=secret-realm")
    send(fake)
    events = fake.audit.events
    assert [event.tag for event in events] == [
        Tag.TOKEN_INTENT,
        Tag.TOKEN_OUTCOME,
        Tag.SEND_INTENT,
        Tag.SEND_OUTCOME,
    ]
    intent, outcome = events[:2]
    assert isinstance(intent, Intent)
    assert isinstance(outcome, Outcome)
    assert (intent.origin, intent.path) == ("https://api.acme.example", "/auth/login")
    assert PASSWORD not in repr(events)
    assert "realm" not in repr(events)


def test_tasks_of_an_event_loop_log_in_once() -> None:
    api = Api()
    fake = world(api)

    async def send_all() -> list[Response]:
        calls = [fake.gateway.asend("acme", "GET", "/") for _ in range(10)]
        return await asyncio.gather(*calls)

    assert {response.status for response in asyncio.run(send_all())} == {200}
    assert len(api.logins) == 1


def test_preview_logs_in_nowhere() -> None:
    api = Api()
    headers = world(api).gateway.preview("acme").headers
    assert ("Authorization", "Bearer ***") in [(h.name, h.value) for h in headers]
    assert api.logins == []


def test_a_token_is_replaced_before_it_ends_by_another_login() -> None:
    api = Api(expires=100_000)
    fake = world(api)
    send(fake)
    fake.clock.advance(89)
    send(fake)
    assert len(api.logins) == 1
    fake.clock.advance(2)  # a tenth of its life is left
    send(fake)
    assert len(api.logins) == 2


def test_a_long_token_is_renewed_a_minute_before_it_ends() -> None:
    api = Api()
    fake = world(api, oauth2__leeway_seconds=3000)
    send(fake)
    fake.clock.advance(3600 - 61)
    assert fake.token("acme").status().state is State.FRESH
    fake.clock.advance(2)
    assert fake.token("acme").status().state is State.STALE


def test_a_response_without_an_expiry_gets_the_configured_lifetime() -> None:
    api = Api()
    api.login_answers.append(lambda: api.granted(expires=None))
    fake = world(api, login__lifetime_seconds=200)
    send(fake)
    assert kept(fake).lifetime == 200


def test_threads_of_one_process_log_in_once() -> None:
    api = Api()
    fake = world(api)
    fake.clock.sleep = lambda _: time.sleep(0.001)  # type: ignore[method-assign]
    started = threading.Barrier(20)
    statuses: list[int] = []

    def one() -> None:
        started.wait(10)
        statuses.append(send(fake).status)

    threads = [threading.Thread(target=one) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert statuses == [200] * 20
    assert len(api.logins) == 1


def test_while_another_process_logs_in_nobody_else_does() -> None:
    api = Api(expires=100_000)
    fake = world(api)
    send(fake)
    fake.clock.advance(95)
    put(fake, holder="somebody", leased_until=fake.clock.now() + LEASE_SECONDS)
    assert send(fake).status == 200
    assert len(api.logins) == 1


def test_crashes_during_logins_are_no_reason_to_give_up() -> None:
    api = Api()
    fake = world(api)
    put(fake, holder="crashed", leased_until=fake.clock.now() - 1, tries=7)
    assert send(fake).status == 200


@pytest.mark.parametrize(
    "changed",
    [
        {"username": "other"},
        {"login__path": "/auth/login?v=2"},
        {"login__expires_unit": "s"},
        {"base_url": "https://api.acme.example/v2"},
    ],
)
def test_other_settings_need_a_new_login(changed: dict[str, object]) -> None:
    api = Api()
    fake = world(api)
    send(fake)
    other = configuration(**(LOGIN | changed))
    assert login_basis_of(other) != login_basis_of(configuration(**LOGIN))
    fake.ports.configurations.configurations["acme"] = other  # type: ignore[attr-defined]
    assert fake.token("acme").status().state is State.NONE


def test_a_logout_path_that_is_added_keeps_the_token() -> None:
    with_logout = configuration(**LOGIN, login__logout_path="/auth/logout")
    assert login_basis_of(with_logout) == login_basis_of(configuration(**LOGIN))


# ── refused by the API ────────────────────────────────────────────────────────────────


def test_a_revoked_session_costs_one_login_and_one_replay() -> None:
    api = Api()
    fake = world(api)
    send(fake)
    api.live.clear()
    assert fake.gateway.send("acme", "POST", "/", data=b"body").status == 200
    assert api.seen == ["token-1", "token-1", "token-2"]
    assert len(api.logins) == 2


@pytest.mark.parametrize(
    "values",
    [
        {"verification__forbidden_means_expired": True},
        {"verification__expired_marker": "session expired"},
    ],
)
def test_a_403_renews_where_the_configuration_says_so(
    values: dict[str, object],
) -> None:
    api = Api()
    fake = world(api, **values)
    send(fake)
    api.api_answers.append(reply({"message": "session expired"}, 403))
    assert send(fake).status == 200
    assert len(api.logins) == 2


def test_a_403_without_a_word_renews_nothing() -> None:
    api = Api()
    fake = world(api)
    send(fake)
    api.api_answers.append(Response(403))
    assert send(fake).status == 403
    assert len(api.logins) == 1


def test_an_api_that_refuses_every_token_does_not_cause_a_storm_of_logins() -> None:
    api = Api()
    fake = world(api)
    send(fake)
    api.api_answers = [Response(401)] * 11
    for _ in range(10):
        response = send(fake)
        assert response.status == 401
    assert len(api.logins) == 2
    assert response.cause == "invalid_credentials"
    assert "Token in the response" in (response.remedy or "")


# ── refresh tokens ────────────────────────────────────────────────────────────────────


def test_a_refresh_replaces_the_login_and_rotates() -> None:
    api = Api(expires=10_000)
    fake = world(api, **REFRESHED)
    for _ in range(3):
        send(fake)
        fake.clock.advance(20)
    assert (len(api.logins), api.refreshes) == (1, ["refresh-1", "refresh-2"])


def test_a_refresh_token_that_is_not_replaced_is_used_again() -> None:
    api = Api(expires=10_000)
    fake = world(api, **REFRESHED)
    send(fake)
    api.refresh_answers = [
        lambda: api.granted(refresh_token=None),
        lambda: api.granted(refresh_token=None),
    ]
    for _ in range(2):
        fake.clock.advance(20)
        send(fake)
    assert api.refreshes == ["refresh-1", "refresh-1"]


@pytest.mark.parametrize(
    "refusal",
    [
        reply({"errors": ["dead"]}, 401),
        reply({"errors": ["dead"]}, 400),
        reply({}, 404),
        reply({"error": "dead"}),
        reply({"data": {}}),
        Response(200, body=b"<html>"),
    ],
)
def test_a_dead_refresh_token_means_a_new_login_and_is_not_used_again(
    refusal: Response,
) -> None:
    api = Api(expires=10_000)
    fake = world(api, **REFRESHED)
    send(fake)
    fake.clock.advance(20)
    api.refresh_answers.append(refusal)
    api.login_answers.append(lambda: api.granted(refresh_token=None))
    assert send(fake).status == 200
    assert (len(api.logins), api.refreshes) == (2, ["refresh-1"])
    fake.clock.advance(20)
    assert send(fake).status == 200
    assert (len(api.logins), api.refreshes) == (3, ["refresh-1"])


def test_a_refresh_that_fails_otherwise_is_a_failure_and_no_login() -> None:
    api = Api(expires=10_000)
    fake = world(api, **REFRESHED)
    send(fake)
    fake.clock.advance(20)
    api.refresh_answers.append(Response(503))
    with pytest.raises(TokenEndpointFailed) as caught:
        send(fake)
    assert (caught.value.reason, caught.value.field) == ("server_error", "login.path")
    assert len(api.logins) == 1


def test_a_revoked_session_with_a_dead_refresh_token_is_recovered_at_once() -> None:
    api = Api()
    fake = world(api, **REFRESHED)
    send(fake)
    api.live.clear()
    api.live_refresh.clear()
    assert send(fake).status == 200
    assert (len(api.logins), api.refreshes) == (2, ["refresh-1"])


# ── refused and failed logins ─────────────────────────────────────────────────────────


def refuse_next(api: Api, status: int = 401) -> None:
    api.login_answers.append(reply(REFUSAL, status))


@pytest.mark.parametrize("status", [400, 401, 403, 422, 200])
def test_a_refused_login_is_invalid_credentials_and_says_that_it_is_the_login(
    status: int,
) -> None:
    api = Api()
    fake = world(api)
    refuse_next(api, status)
    with pytest.raises(LoginRefused) as caught:
        send(fake)
    assert (caught.value.code, caught.value.field) == (
        "invalid_credentials",
        "login.path",
    )
    assert "login" in caught.value.message
    assert PASSWORD not in f"{caught.value} {caught.value.hint}"
    assert api.seen == []


def test_a_refused_login_is_repeated_after_a_minute_at_the_earliest() -> None:
    api = Api()
    fake = world(api)
    for seconds in (0, 1, 30, 28):
        fake.clock.advance(seconds)
        refuse_next(api)
        with pytest.raises(LoginRefused):
            send(fake)
        api.login_answers = []
    assert len(api.logins) == 1
    assert fake.token("acme").status().error == "login-refused"
    fake.clock.advance(2)
    assert send(fake).status == 200


@pytest.mark.parametrize(
    "answer",
    [
        reply({}, 302, ("Location", "/login?failed=1")),
        reply({}, 404),
        reply({}, 423),
        reply({"data": {}}),
        Response(200, body=b"<html>Wrong password"),
    ],
)
def test_a_login_without_a_token_may_be_a_refusal_and_waits_a_minute_too(
    answer: Response,
) -> None:
    api = Api()
    fake = world(api)
    for seconds in (0, 2, 30, 27):
        fake.clock.advance(seconds)
        api.login_answers = [answer]
        with pytest.raises(OutkeyError):
            send(fake)
    assert len(api.logins) == 1
    api.login_answers = []
    fake.clock.advance(2)
    assert send(fake).status == 200


def test_five_refused_logins_pause_the_configuration() -> None:
    api = Api()
    registry = memory_registry([configuration(**LOGIN)])
    fake = fake_gateway(responses=api, secrets={"password": "wrong"}, registry=registry)
    for _ in range(5):
        refuse_next(api)
        with pytest.raises(LoginRefused):
            send(fake)
        fake.clock.advance(61)
    with pytest.raises(Paused):
        send(fake)
    assert len(api.logins) == 5
    # A good test ends the pause.
    assert fake.gateway.test("acme").ok
    assert send(fake).status == 200


def test_a_refused_refresh_does_not_count_towards_the_pause() -> None:
    api = Api(expires=10_000)
    registry = memory_registry([configuration(**REFRESHED)])
    secrets = {"password": PASSWORD}
    fake = fake_gateway(responses=api, secrets=secrets, registry=registry)
    for _ in range(7):
        api.live_refresh.clear()
        assert send(fake).status == 200
        fake.clock.advance(20)
    assert registry.get("acme").refused == 0


def test_a_user_s_test_logs_in_although_the_last_login_was_refused() -> None:
    api = Api()
    fake = world(api)
    refuse_next(api)
    with pytest.raises(LoginRefused):
        send(fake)
    report = fake.gateway.test("acme")
    assert report.ok
    assert [step.step for step in report.steps] == [
        "configuration",
        "secrets",
        "token",
        "connect",
        "request",
    ]


def test_a_test_names_the_refused_login_first() -> None:
    api = Api()
    fake = world(api)
    refuse_next(api)
    report = fake.gateway.test("acme")
    assert (report.ok, report.cause) == (False, "invalid_credentials")
    assert report.suspicions[0].reason.id == "login-refused"
    assert report.steps[-1].step == "token"


def test_a_token_that_is_refused_after_a_good_login_is_a_problem_of_the_token() -> None:
    api = Api()
    fake = world(api)
    api.api_answers = [Response(401)] * 3
    report = fake.gateway.test("acme")
    assert report.cause == "invalid_credentials"
    assert "login-refused" not in [one.reason.id for one in report.suspicions]
    assert "Token in the response" in (report.remedy or "")


@pytest.mark.parametrize(
    ("responses", "reason"),
    [
        ([TimedOut()], "timeout"),
        ([ConnectionFailed(), ConnectionFailed()], "connection"),
        ([Response(503)], "server_error"),
        ([reply({}, 404)], "not_found"),
        ([reply({"data": {}})], "no_token"),
        ([Response(200, body=b"<html>")], "not_a_token_endpoint"),
    ],
)
def test_a_login_that_fails_otherwise_is_a_token_endpoint_that_failed(
    responses: list[Answer], reason: str
) -> None:
    api = Api()
    fake = world(api)
    api.login_answers = list(responses)
    with pytest.raises(TokenEndpointFailed) as caught:
        send(fake)
    assert (caught.value.reason, caught.value.field) == (reason, "login.path")
    assert kept(fake).holder == ""
    with pytest.raises(TokenEndpointFailed):
        send(fake)  # at once: nobody is asked
    assert len(api.logins) == len(responses)


def test_a_broken_connection_is_tried_once_more() -> None:
    api = Api()
    fake = world(api)
    api.login_answers.append(ConnectionFailed())
    assert send(fake).status == 200
    assert len(api.logins) == 2


def test_a_login_that_hangs_ends_before_its_lease() -> None:
    fake = world(Api(), limits__read_timeout=300, limits__total_timeout=300)
    fake.transport.delay = 100.0
    with pytest.raises(TokenEndpointFailed) as caught:
        send(fake)
    assert caught.value.reason == "timeout"
    _, route = fake.transport.sent[0]
    assert route.time_left < LEASE_SECONDS


def test_a_login_that_redirects_is_blocked_also_for_those_who_come_later() -> None:
    api = Api()
    fake = world(api)
    location = ("Location", "https://evil.example/login")
    api.login_answers.append(reply({}, 307, location))
    for _ in range(2):
        with pytest.raises(RedirectBlocked) as caught:
            send(fake)
        assert caught.value.field == "login.path"
    assert len(api.logins) == 1


def test_a_missing_password_is_said_and_nothing_is_sent() -> None:
    api = Api()
    fake = world(api)
    fake.secrets.values.clear()
    with pytest.raises(SecretMissing):
        send(fake)
    assert (api.logins, kept(fake).holder) == ([], "")


def test_a_body_that_cannot_be_filled_is_refused_before_anything_is_sent() -> None:
    api = Api()
    fake = world(api, login__body='{"password": "{password}", "x": "{y}"}')
    with pytest.raises(ConfigError) as caught:
        send(fake)
    assert caught.value.field == "login.body"
    assert api.logins == []


def test_no_frame_of_a_failed_login_shows_the_response() -> None:
    api = Api()
    fake = world(api)
    refuse_next(api)
    with pytest.raises(LoginRefused) as caught:
        send(fake)
    frames = product_frames(caught.value)
    assert places_showing(PASSWORD, caught.value, frames) == []


# ── lent to another client ────────────────────────────────────────────────────────────


def test_a_token_of_a_login_is_lent_and_renewed_where_the_api_refuses_it() -> None:
    api = Api()
    fake = world(api)
    url = "https://api.acme.example/"
    first = fake.gateway.lend("acme", "GET", url, [])
    assert not fake.gateway.settle(first, 200)
    assert fake.gateway.settle(first, 401)
    second = fake.gateway.lend("acme", "GET", url, [], rejected=first)
    values = [header.value for loan in (first, second) for header in loan.headers]
    assert values == [Secret("Bearer token-1"), Secret("Bearer token-2")]
    assert len(api.logins) == 2


def test_a_refused_login_lends_nothing() -> None:
    api = Api()
    refuse_next(api)
    with pytest.raises(LoginRefused):
        world(api).gateway.lend("acme", "GET", "https://api.acme.example/", [])


# ── what users do with the token ──────────────────────────────────────────────────────


def test_the_actions_of_a_login() -> None:
    fake = world(Api(), **REFRESHED)
    token = fake.token("acme")
    assert token.possible(token.status()) == {TokenAction.RENEW}
    send(fake)
    assert token.possible(token.status()) == {
        TokenAction.RENEW,
        TokenAction.REVOKE,
        TokenAction.FORGET,
    }
    assert not token.would_lose_consent()


def test_renewing_gets_a_new_token() -> None:
    api = Api()
    fake = world(api)
    send(fake)
    assert fake.token("acme").renew().state is State.FRESH
    assert len(api.logins) == 2


def test_forgetting_deletes_the_token_here_only() -> None:
    api = Api()
    fake = world(api, **REFRESHED)
    send(fake)
    fake.token("acme").forget()
    assert fake.token("acme").status().state is State.NONE
    assert api.logouts == []
    assert send(fake).status == 200
    assert len(api.logins) == 2


@pytest.mark.parametrize("status", [200, 204, 401])
def test_revoking_logs_out_with_the_token_and_deletes_it(status: int) -> None:
    api = Api()
    fake = world(api, **REFRESHED)
    send(fake)
    api.logout_answers.append(Response(status))
    fake.token("acme").revoke()
    assert api.logouts == [("token-1", {"refresh_token": "refresh-1"})]
    assert fake.token("acme").status().state is State.NONE


@pytest.mark.parametrize(
    ("status", "reason"), [(403, "refused"), (404, "not_found"), (500, "server_error")]
)
def test_a_logout_that_fails_keeps_the_token(status: int, reason: str) -> None:
    api = Api()
    fake = world(api, **REFRESHED)
    send(fake)
    api.logout_answers.append(Response(status))
    with pytest.raises(TokenEndpointFailed) as caught:
        fake.token("acme").revoke()
    assert (caught.value.reason, caught.value.field) == (reason, "login.logout_path")
    assert fake.token("acme").status().state is State.FRESH


def test_without_a_logout_path_revoking_says_so() -> None:
    fake = world(Api())
    send(fake)
    with pytest.raises(ConfigError, match="Logout path is not set") as caught:
        fake.token("acme").revoke()
    assert caught.value.field == "login.logout_path"


def test_without_a_token_there_is_nothing_to_revoke() -> None:
    with pytest.raises(ReauthorizationNeeded):
        world(Api(), **REFRESHED).token("acme").revoke()


def test_what_only_oauth2_has_is_refused() -> None:
    token = world(Api()).token("acme")
    with pytest.raises(ConfigError, match="does not use OAuth"):
        token.introspect()
    with pytest.raises(ConfigError):
        token.device_code()


def test_an_entered_token_has_no_status() -> None:
    fake = fake_gateway(configuration(authentication_type="bearer"))
    with pytest.raises(ConfigError, match="neither OAuth"):
        fake.token("acme").status()


# ── saving ────────────────────────────────────────────────────────────────────────────


def test_an_invalid_expression_is_refused_before_anything_is_saved() -> None:
    host = memory_host()
    administration = host.application.administration("tester")
    made = configuration(**(LOGIN | {"login__token": "data.[["}))
    with pytest.raises(ConfigError) as caught:
        administration.save(ConfigurationChange(None, made))
    assert caught.value.field == "login.token"
    assert host.application.registry.all() == []
    administration.save(ConfigurationChange(None, configuration(**LOGIN)))
    assert [one.name for one in host.application.registry.all()] == ["acme"]


# ── secrets ───────────────────────────────────────────────────────────────────────────


def test_echoed_tokens_and_passwords_are_known_as_secrets() -> None:
    api = Api()
    fake = world(api, **REFRESHED)
    send(fake)
    made = fake.ports.configurations.get("acme")
    for secret in (PASSWORD, "token-1", "refresh-1"):
        response = reply({"echo": secret})
        assert fake.sender.context.repeats_secret(made, response)
    assert not fake.sender.context.repeats_secret(made, reply({"echo": "nothing"}))


# ── what a test tells of a failed login ───────────────────────────────────────────────

ELSEWHERE = "the login worked, but nothing is at data.access_token"


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (
            reply({"data": {"token": "a8s7d6f5g4", "expires_in": 3600}, "ok": True}),
            (f"{ELSEWHERE}; the response has: data.token, data.expires_in, ok"),
        ),
        (
            reply({"a": {"b": {"c": {"d": 1}}}, "8s7d6f5g4h3j": 1, "e": {}}),
            (f"{ELSEWHERE}; the response has: a.b.c, e"),
        ),
        (
            reply(dict.fromkeys("abcdefghijkl", 1)),
            (f"{ELSEWHERE}; the response has: a, b, c, d, e, f, g, h"),
        ),
        (reply([1]), ELSEWHERE),
        (
            reply({PASSWORD: 1}),
            ELSEWHERE,
        ),
        (
            reply({}, 404),
            (
                "there is nothing at the Login path: POST"
                " https://api.acme.example/auth/login → 404"
            ),
        ),
        (
            reply(REFUSAL, 401),
            "the API refused the login: POST https://api.acme.example/auth/login → 401",
        ),
    ],
)
def test_a_test_tells_status_and_names_of_a_failed_login_and_no_value(
    answer: Response, told: str
) -> None:
    api = Api()
    api.login_answers.append(answer)
    fake = world(api)
    report = fake.gateway.test("acme")
    assert (report.steps[-1].step, report.steps[-1].detail) == ("token", told)
    assert str(report.error) == told
    assert PASSWORD not in repr(report)
    api.login_answers.append(answer)
    fake.clock.advance(120)
    with pytest.raises(OutkeyError) as caught:
        send(fake)
    assert "has:" not in str(caught.value)
    assert "→" not in str(caught.value)


def test_an_address_that_is_not_there_is_named_as_that_of_the_base_url() -> None:
    api = Api()
    api.login_answers += [ConnectionFailed(), ConnectionFailed()]
    report = world(api).gateway.test("acme")
    told = "the Base URL (https://api.acme.example) could not be reached"
    assert report.steps[-1].detail == told
    assert report.cause_word == "login"


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"login__body": '{"a": "b"}'}, "has no placeholder for a secret"),
        ({"login__body": '{"a": {password}}'}, "is not JSON"),
        ({"login__body": '{"a": "{passwort}"}'}, "unknown placeholder: {passwort}"),
        ({"login__token": "data..x"}, "not a JMESPath"),
    ],
)
def test_a_login_tab_that_cannot_work_fails_at_the_configuration_and_once(
    changed: dict[str, object], told: str
) -> None:
    report = world(Api(), **changed).gateway.test("acme")
    assert [(step.step, step.ok) for step in report.steps] == [("configuration", False)]
    assert told in report.steps[0].detail
    messages = [finding.message for finding in report.findings]
    assert report.steps[0].detail not in messages
    assert report.cause_word == "configuration"


def test_a_conflict_of_login_and_request_is_one_finding() -> None:
    rows = (
        CustomHeader("X-A", "1", secret=False),
        CustomHeader("x-a", "2", secret=False),
    )
    made = configuration(headers=rows, **LOGIN)
    found = fake_gateway(made, secrets={"password": PASSWORD}).findings("acme")
    assert [finding.id for finding in found] == ["E-header_conflict"]
