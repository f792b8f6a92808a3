"""CSRF tokens with fakes: fetched once, sent by some methods, replaced once."""

import threading
import time
from dataclasses import replace

import pytest

from frames import places_showing, product_frames
from outkey.foundation.core.errors import (
    ConfigError,
    HeaderConflict,
    LoginRefused,
    OutkeyError,
    RedirectBlocked,
    TokenEndpointFailed,
)
from outkey.foundation.core.secret import Secret
from outkey.sending.core.audit.events import Intent, Tag
from outkey.sending.core.configuration.checks import refuse_unsavable
from outkey.sending.core.configuration.custom_rows import CustomHeader
from outkey.sending.core.oauth2.token import State
from outkey.sending.core.request.message import Request, Response, ResponseHeaders
from outkey.sending.engine.exchange.echoed_secrets import sent_secrets
from outkey.sending.engine.exchange.lend import Loan, lend
from outkey.sending.engine.wire.steps import Steps
from outkey.testing import configuration, fake_gateway
from outkey.testing.fakes.basic import FakeWorld

BASIC = {
    "authentication_type": "basic",
    "username": "erp",
    "csrf__path": "/odata/",
}
LOGIN = {
    "authentication_type": "bearer",
    "token_source": "login",
    "csrf__path": "/odata/",
    "login__cookies": True,
    "login__token": "",
    "login__steps": [{"path": "/login", "format": "form", "body": "p={password}"}],
}
PASSWORD = "correct-horse-battery"


class Server:
    """An API that wants a CSRF token with writes, as SAP does."""

    def __init__(self) -> None:
        self.number = 0
        self.live: set[tuple[str, str]] = set()
        self.fetches: list[Request] = []
        self.writes: list[Request] = []
        self.reads: list[Request] = []
        self.fetch_answers: list[Response | OutkeyError] = []

    def __call__(self, request: Request) -> Response | OutkeyError:
        sent = headers_of(request)
        if request.target == "/login":
            return reply(("Set-Cookie", "session=login-cookie-1; Path=/"))
        if sent.get("X-CSRF-Token") == "Fetch":
            self.fetches.append(request)
            return self.fetch_answers.pop(0) if self.fetch_answers else self.granted()
        if request.method == "GET":
            self.reads.append(request)
            return Response(200)
        self.writes.append(request)
        pair = (sent.get("X-CSRF-Token", ""), cookies_of(sent).get("sap-session", ""))
        if pair in self.live:
            return Response(201)
        return reply(("X-CSRF-Token", "Required"), status=403)

    def granted(self) -> Response:
        self.number += 1
        token, cookie = f"csrf-token-{self.number}", f"sap-cookie-{self.number}"
        self.live = {(token, cookie)}
        return reply(
            ("x-csrf-token", token),
            ("Set-Cookie", f"sap-session={cookie}; path=/; HttpOnly; secure"),
            ("Set-Cookie", "session=replaced; path=/"),
        )


def reply(*headers: tuple[str, str], status: int = 200) -> Response:
    return Response(status, ResponseHeaders(headers))


def headers_of(request: Request) -> dict[str, str]:
    return {
        header.name: header.value.reveal()
        if isinstance(header.value, Secret)
        else header.value
        for header in request.headers
    }


def cookies_of(headers: dict[str, str]) -> dict[str, str]:
    pairs = (pair.partition("=") for pair in headers.get("Cookie", "").split("; "))
    return {name: value for name, _, value in pairs}


def world(server: Server, **values: object) -> FakeWorld:
    made = configuration(**(BASIC | values))
    return fake_gateway(made, responses=server, secrets={"password": PASSWORD})


def post(fake: FakeWorld, method: str = "POST") -> Response:
    return fake.gateway.send("acme", method, "/odata/orders", data=b"body")


def test_a_write_carries_the_token_and_its_cookies_a_read_neither() -> None:
    server = Server()
    fake = world(server)
    assert post(fake).status == 201
    assert fake.gateway.send("acme", "GET", "/odata/orders").status == 200
    (fetch,) = server.fetches
    assert (fetch.method, fetch.target) == ("GET", "/odata/")
    credentials = headers_of(server.reads[0])["Authorization"]
    assert headers_of(fetch)["Authorization"] == credentials
    sent = headers_of(server.writes[0])
    assert sent["Authorization"] == credentials
    assert sent["X-CSRF-Token"] == "csrf-token-1"
    assert sent["Cookie"] == "sap-session=sap-cookie-1; session=replaced"
    assert not {"X-CSRF-Token", "Cookie"} & {*headers_of(server.reads[0])}


def test_many_writes_fetch_once_until_the_token_has_lived() -> None:
    server = Server()
    fake = world(server, csrf__lifetime_seconds=600)
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        assert post(fake, method).status == 201
    assert len(server.fetches) == 1
    fake.clock.advance(601)
    assert post(fake).status == 201
    assert len(server.fetches) == 2


def test_threads_fetch_once() -> None:
    server = Server()
    fake = world(server)
    fake.clock.sleep = lambda _: time.sleep(0.001)  # type: ignore[method-assign]
    started = threading.Barrier(20)
    statuses: list[int] = []

    def one() -> None:
        started.wait(10)
        statuses.append(post(fake).status)

    threads = [threading.Thread(target=one) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert statuses == [201] * 20
    assert len(server.fetches) == 1


def test_a_refused_token_is_replaced_once_and_the_write_repeated_once() -> None:
    server = Server()
    fake = world(server)
    post(fake)
    server.live.clear()
    assert post(fake).status == 201
    assert len(server.fetches) == 2
    assert len(server.writes) == 3


def test_a_write_that_is_refused_with_the_new_token_too_is_not_sent_again() -> None:
    server = Server()
    fake = world(server)
    post(fake)
    server.live.clear()
    server.fetch_answers = [reply(("X-CSRF-Token", "other-token"))]
    response = post(fake)
    assert response.status == 403
    assert len(server.writes) == 3
    assert len(server.fetches) == 2


def test_a_write_is_not_repeated_with_the_token_that_was_refused() -> None:
    server = Server()
    fake = world(server)
    post(fake)
    server.live.clear()
    server.fetch_answers = [
        reply(
            ("X-CSRF-Token", "csrf-token-1"),
            ("Set-Cookie", "sap-session=sap-cookie-1; path=/"),
            ("Set-Cookie", "session=replaced; path=/"),
        )
    ]
    assert post(fake).status == 403
    assert len(server.writes) == 2
    assert len(server.fetches) == 2


def test_another_403_is_about_something_else() -> None:
    server = Server()
    fake = world(server)
    fake.transport.responses = lambda request: (
        server(request) if request.method == "GET" else Response(403)
    )
    assert post(fake).status == 403
    assert len(server.fetches) == 1


@pytest.mark.parametrize(
    ("answer", "error", "cause"),
    [
        (reply(), TokenEndpointFailed, "token_endpoint"),
        (reply(("X-CSRF-Token", "Required")), TokenEndpointFailed, "token_endpoint"),
        (reply(status=401), LoginRefused, "invalid_credentials"),
        (reply(status=403), TokenEndpointFailed, "token_endpoint"),
        (reply(status=404), TokenEndpointFailed, "token_endpoint"),
        (reply(status=429), TokenEndpointFailed, "token_endpoint"),
        (reply(status=503), TokenEndpointFailed, "token_endpoint"),
        (
            reply(("Location", "/elsewhere"), status=302),
            RedirectBlocked,
            "redirect_blocked",
        ),
        (reply(("X-CSRF-Token", "a b")), TokenEndpointFailed, "token_endpoint"),
    ],
)
def test_without_a_token_no_write_is_sent(
    answer: Response, error: type[OutkeyError], cause: str
) -> None:
    server = Server()
    server.fetch_answers = [answer] * 3
    with pytest.raises(error) as caught:
        post(world(server))
    assert server.writes == []
    assert (caught.value.cause, caught.value.field) == (cause, "csrf.path")


def test_refused_credentials_are_not_repeated_for_a_minute() -> None:
    server = Server()
    server.fetch_answers = [reply(status=401)] * 9
    fake = world(server)
    for _ in range(3):
        with pytest.raises(LoginRefused):
            post(fake)
    assert len(server.fetches) == 1


def test_cookies_of_the_login_are_sent_beside_those_of_the_token() -> None:
    server = Server()
    fake = world(server, **LOGIN)
    assert post(fake).status == 201
    assert cookies_of(headers_of(server.fetches[0])) == {"session": "login-cookie-1"}
    assert cookies_of(headers_of(server.writes[0])) == {
        "session": "replaced",
        "sap-session": "sap-cookie-1",
    }


def test_a_new_login_has_a_csrf_token_of_its_own_and_no_cookie_of_the_old_one() -> None:
    """The login's session and that of the CSRF token have one name, and both ended."""
    server = Server()
    logins: list[Request] = []
    ended = ["session=login-cookie-1", "session=replaced"]

    def respond(request: Request) -> Response | OutkeyError:
        if request.target == "/login":
            logins.append(request)
            return reply(("Set-Cookie", f"session=login-cookie-{len(logins)}"))
        cookies = headers_of(request).get("Cookie", "").split("; ")
        if len(server.writes) and len(logins) == 1 and {*ended} & {*cookies}:
            return Response(401)
        return server(request)

    fake = world(server, **LOGIN)
    fake.transport.responses = respond
    assert post(fake).status == 201
    assert post(fake).status == 201
    assert len(logins) == 2
    assert len(server.fetches) == 2
    assert fake.token("acme").status().csrf is State.FRESH
    fake.token("acme").forget()
    assert fake.token("acme").status().csrf is State.NONE


def test_another_header_name_and_other_methods() -> None:
    server = Server()
    fake = world(server, csrf__header="X-XSRF", csrf__methods=["POST"])
    fake.transport.responses = lambda request: (
        reply(("X-XSRF", "token-9")) if request.method == "GET" else Response(200)
    )
    post(fake)
    post(fake, "DELETE")
    sent = [headers_of(request) for request, _ in fake.transport.sent]
    assert sent[0]["X-XSRF"] == "Fetch"
    assert sent[1]["X-XSRF"] == "token-9"
    assert "X-XSRF" not in sent[2]


def test_a_second_source_of_the_header_is_a_conflict() -> None:
    made = configuration(
        **BASIC, headers=(CustomHeader("X-CSRF-Token", "1", secret=False),)
    )
    with pytest.raises(HeaderConflict):
        refuse_unsavable(made)


def test_a_preview_fetches_nothing_and_shows_a_mask() -> None:
    server = Server()
    shown = world(server).gateway.preview("acme", "POST", "/odata/orders").headers
    assert ("X-CSRF-Token", "***") in [(header.name, header.value) for header in shown]
    assert server.fetches == []


def test_the_fetch_is_recorded_like_a_token_request_without_values() -> None:
    fake = world(Server())
    post(fake)
    intents = [event for event in fake.audit.events if isinstance(event, Intent)]
    assert [intent.tag for intent in intents] == [Tag.TOKEN_INTENT, Tag.SEND_INTENT]
    assert "csrf-token-1" not in repr(fake.audit.events)


def test_token_and_cookies_count_as_secrets() -> None:
    fake = world(Server())
    response = post(fake)
    made = fake.ports.configurations.get("acme")
    secrets = sent_secrets(fake.sender.context, made, response)
    assert Secret("csrf-token-1") in secrets
    assert Secret("sap-cookie-1") in secrets


def test_an_error_shows_no_token() -> None:
    server = Server()
    server.fetch_answers = [reply(("X-CSRF-Token", "csrf token-1"))]
    with pytest.raises(TokenEndpointFailed) as caught:
        post(world(server))
    frames = product_frames(caught.value)
    assert places_showing("csrf token-1", caught.value, frames) == []


def test_other_credentials_fetch_another_token() -> None:
    server = Server()
    fake = world(server)
    post(fake)
    other = configuration(**(BASIC | {"username": "other"}))
    fake.ports.configurations.configurations["acme"] = replace(  # type: ignore[attr-defined]
        other, secrets=fake.ports.configurations.get("acme").secrets
    )
    post(fake)
    assert len(server.fetches) == 2


def test_writes_are_not_lent_to_another_client() -> None:
    fake = world(Server())
    url = "https://api.acme.example/odata/orders"
    assert fake.sender.run(lend_of(fake, "GET", url))
    with pytest.raises(ConfigError, match="CSRF"):
        fake.sender.run(lend_of(fake, "POST", url))


def lend_of(fake: FakeWorld, method: str, url: str) -> Steps[Loan]:
    made = fake.ports.configurations.get("acme")
    return lend(fake.sender.context, made, method, url, [], body=b"")


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"csrf__path": "https://other.example/"}, "csrf.path"),
        ({"csrf__path": "/a#b"}, "csrf.path"),
        ({"csrf__path": "/odata/?api_key=k3y-0f-4cme"}, "csrf.path"),
        ({"csrf__header": "a b"}, "csrf.header"),
        ({"csrf__header": "Host"}, "csrf.header"),
        ({"csrf__header": "Cookie"}, "csrf.header"),
        ({"csrf__header": "content-type"}, "csrf.header"),
        ({"csrf__methods": []}, "csrf.methods"),
        ({"csrf__methods": ["GET"]}, "csrf.methods"),
        ({"csrf__methods": ["post"]}, "csrf.methods"),
        ({"csrf__methods": "POST"}, "csrf.methods"),
        ({"csrf__lifetime_seconds": 0}, "csrf.lifetime_seconds"),
    ],
)
def test_what_cannot_work_is_refused(values: dict[str, object], field: str) -> None:
    with pytest.raises(ConfigError) as caught:
        refuse_unsavable(configuration(**(BASIC | values)))
    assert (caught.value.code, caught.value.field) == ("configuration", field)


# ── a login that ends before the CSRF token does ──────────────────────────────────────


class Sessions:
    """An API whose every response sets the cookie of the session again."""

    def __init__(self) -> None:
        self.number = 0
        self.requests: list[str] = []

    @property
    def session(self) -> str:
        return f"session-number-{self.number}"

    def end(self) -> None:
        self.number += 100
        self.requests.clear()

    def __call__(self, request: Request) -> Response:
        sent = headers_of(request)
        cookie = ("Set-Cookie", f"session={self.session}; Path=/")
        if request.target == "/login":
            self.number += 1
            self.requests.append("login")
            return reply(("Set-Cookie", f"session={self.session}; Path=/"))
        if cookies_of(sent).get("session") != self.session:
            self.requests.append("401")
            return reply(status=401)
        if sent.get("X-CSRF-Token") == "Fetch":
            self.requests.append("fetch")
            return reply(("X-CSRF-Token", f"csrf-of-{self.session}"), cookie)
        if request.method == "GET":
            self.requests.append("read")
            return reply(cookie)
        if sent.get("X-CSRF-Token") != f"csrf-of-{self.session}":
            self.requests.append("403")
            return reply(("X-CSRF-Token", "Required"), status=403)
        self.requests.append("write")
        return reply(cookie, status=201)


def test_a_write_of_an_ended_session_is_repeated_with_the_cookies_of_the_new_one() -> (
    None
):
    server = Sessions()
    fake = fake_gateway(
        configuration(**LOGIN), responses=server, secrets={"password": PASSWORD}
    )
    assert post(fake).status == 201
    assert server.requests == ["login", "fetch", "write"]
    server.end()
    assert post(fake).status == 201
    assert server.requests == ["401", "login", "403", "fetch", "write"]
    assert post(fake).status == 201
    assert server.requests[5:] == ["write"]


def test_another_login_means_another_csrf_token() -> None:
    server = Sessions()
    fake = fake_gateway(
        configuration(**LOGIN), responses=server, secrets={"password": PASSWORD}
    )
    post(fake)
    server.end()
    assert fake.gateway.send("acme", "GET", "/odata/orders").status == 200
    fake.clock.advance(2)  # longer than a process caches a token without reading it
    assert post(fake).status == 201
    assert server.requests == ["401", "login", "read", "fetch", "write"]
