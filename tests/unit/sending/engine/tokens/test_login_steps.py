"""Logins in several steps with fakes: what is sent where, taken, kept and refused."""

import json
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from outkey.foundation.core.errors import (
    ConfigError,
    ConnectionFailed,
    EgressDenied,
    LoginRefused,
    OutkeyError,
    RedirectBlocked,
    SecretRebindRequired,
    TokenEndpointFailed,
)
from outkey.foundation.core.fields.choices import Network
from outkey.foundation.core.secret import Secret
from outkey.sending.core.audit.events import Intent
from outkey.sending.core.configuration.checks import refuse_unsavable
from outkey.sending.core.configuration.configuration import Configuration, build
from outkey.sending.core.configuration.custom_rows import CustomHeader, QueryParameter
from outkey.sending.core.configuration.drafts import read_draft
from outkey.sending.core.configuration.secret_state import SecretState
from outkey.sending.core.configuration.text import configuration_lines
from outkey.sending.core.oauth2.token import login_basis_of
from outkey.sending.core.request.message import Request, Response, ResponseHeaders
from outkey.sending.engine.exchange.echoed_secrets import sent_secrets
from outkey.testing import configuration, fake_gateway
from outkey.testing.fakes.basic import FakeWorld

PASSWORD = 'p"ss & <wört>/..'
NONCE = "nonce-1/..&x=\"'<1>"
SESSION = "session-token-1"
STEPS: list[dict[str, object]] = [
    {
        "method": "GET",
        "url": "https://login.acme.example/start?for={username}",
        "headers": {"X-Start": "1"},
        "take": {"nonce": "header:X-Nonce"},
    },
    {
        "path": "/login/{nonce}?n={nonce}",
        "format": "form",
        "body": "user={username}&pass={password}&nonce={nonce}",
        "headers": {"X-Step": "{nonce}"},
        "take": {"session": "data.token"},
    },
]
LOGIN = {
    "authentication_type": "bearer",
    "token_source": "login",
    "username": "api",
    "login__steps": STEPS,
    "login__token": "{session}",
}
Answer = Response | OutkeyError


def reply(document: object, *headers: tuple[str, str], status: int = 200) -> Response:
    return Response(status, ResponseHeaders(headers), json.dumps(document).encode())


START = reply({}, ("X-Nonce", NONCE), ("Set-Cookie", "elsewhere=1; Path=/"))
GRANTED = reply(
    {"data": {"token": SESSION}},
    ("Set-Cookie", "sid=cookie-value-1; Path=/; HttpOnly"),
    ("Set-Cookie", "lang=de"),
)


class Server:
    """Answers by path, and remembers every request."""

    def __init__(self, **answers: Answer) -> None:
        self.answers: Mapping[str, Answer] = {
            "start": START,
            "login": GRANTED,
        } | answers
        self.requests: list[Request] = []

    def __call__(self, request: Request) -> Answer:
        self.requests.append(request)
        name = request.target.strip("/").partition("/")[0].partition("?")[0]
        return self.answers.get(name, Response(200))

    @property
    def targets(self) -> list[str]:
        return [f"{request.origin}{wire(request)}" for request in self.requests]


def wire(request: Request) -> str:
    target = request.wire_target()
    return target.reveal() if isinstance(target, Secret) else target


def headers_of(request: Request) -> dict[str, str]:
    return {
        header.name: header.value.reveal()
        if isinstance(header.value, Secret)
        else header.value
        for header in request.headers
    }


def body_of(request: Request) -> str:
    assert isinstance(request.body, Secret)
    return request.body.reveal()


def bound(*origins: str) -> SecretState:
    return SecretState(" ".join(origins), set_at=0.0)


AT_BOTH = bound("https://login.acme.example:443", "https://api.acme.example:443")


def world(server: Callable[[Request], Answer], **values: object) -> FakeWorld:
    return world_of(configuration(**(LOGIN | values)), server)


def world_of(
    made: Configuration, server: Callable[[Request], Answer], **secrets: str
) -> FakeWorld:
    fake = fake_gateway(
        made, responses=server, secrets={"password": PASSWORD, **secrets}
    )
    fake.resolver.names["login.acme.example"] = ("93.184.215.15",)
    return fake


def steps_with(number: int, **changed: object) -> list[dict[str, object]]:
    steps = [dict(step) for step in STEPS]
    steps[number] |= changed
    return steps


def send(fake: FakeWorld, path: str = "/orders") -> Response:
    return fake.gateway.send("acme", "GET", path)


# ── what is sent where ────────────────────────────────────────────────────────────────


def test_values_go_from_step_to_step_encoded_for_their_place() -> None:
    server = Server()
    assert send(world(server)).status == 200
    nonce = "nonce-1%2F..%26x%3D%22%27%3C1%3E"
    assert server.targets == [
        "https://login.acme.example/start?for=api",
        f"https://api.acme.example/login/{nonce}?n={nonce}",
        "https://api.acme.example/orders",
    ]
    _, login, order = server.requests
    assert body_of(login) == (
        "user=api&pass=p%22ss+%26+%3Cw%C3%B6rt%3E%2F.."
        "&nonce=nonce-1%2F..%26x%3D%22%27%3C1%3E"
    )
    assert headers_of(login)["X-Step"] == NONCE
    assert headers_of(login)["Content-Type"] == "application/x-www-form-urlencoded"
    assert headers_of(order)["Authorization"] == f"Bearer {SESSION}"


def test_another_origin_gets_the_step_and_nothing_of_the_api() -> None:
    server = Server()
    made = configuration(
        **LOGIN,
        login__cookies=True,
        headers=(CustomHeader("X-Key", "", secret=True),),
        query=(QueryParameter("api_key", "", secret=True),),
    )
    secrets = {"header:X-Key": "row-1", "query:api_key": "row-2"}
    send(world_of(made, server, **secrets))
    start, login, order = server.requests
    assert headers_of(start) == {
        "Host": "login.acme.example",
        "User-Agent": "outkey",
        "Accept": "application/json",
        "Accept-Encoding": "identity",
        "X-Start": "1",
    }
    assert wire(start) == "/start?for=api"
    for request in (login, order):
        assert headers_of(request)["X-Key"] == "row-1"
        assert wire(request).endswith("api_key=row-2")
    # The cookie of the other origin goes nowhere.
    assert "Cookie" not in headers_of(login)
    assert headers_of(order)["Cookie"] == "sid=cookie-value-1; lang=de"


def test_a_step_of_another_origin_shows_no_client_certificate() -> None:
    made = configuration(**LOGIN, tls__client_certificate="/etc/outkey/cert.pem")
    origins = {origin.host: origin for origin in made.origins()}
    assert made.tls_for(origins["api.acme.example"]) == made.tls
    assert made.tls_for(origins["login.acme.example"]).client_certificate == ""


def test_xml_is_sent_and_read() -> None:
    steps = [
        {
            "path": "/login",
            "format": "xml",
            "body": '<login user="{username}"><pass>{password}</pass></login>',
            "take": {"session": "response.session", "kind": 'response."@kind"'},
        }
    ]
    answer = (
        b"<?xml version='1.0'?><response kind='k'><session>x-1</session></response>"
    )
    server = Server(login=Response(200, body=answer))
    send(world(server, login__steps=steps, login__token="{kind}.{session}"))
    login, order = server.requests
    assert body_of(login) == (
        '<login user="api"><pass>p&quot;ss &amp; &lt;wört&gt;/..</pass></login>'
    )
    assert headers_of(login)["Content-Type"] == "application/xml"
    assert headers_of(order)["Authorization"] == "Bearer k.x-1"


def test_json_is_sent_and_the_token_is_read_from_the_last_response() -> None:
    body = '{"user": "{username}", "password": "{password}"}'
    steps = [{"path": "/first"}, {"path": "/login", "body": body}]
    server = Server()
    send(world(server, login__steps=steps, login__token="data.token"))
    first, login, order = server.requests
    assert first.method == "POST"
    assert json.loads(body_of(login)) == {"user": "api", "password": PASSWORD}
    assert headers_of(order)["Authorization"] == f"Bearer {SESSION}"


def test_one_login_serves_many_requests() -> None:
    server = Server()
    fake = world(server)
    for _ in range(5):
        send(fake)
    assert len(server.requests) == 2 + 5


# ── cookies ───────────────────────────────────────────────────────────────────────────


def test_cookies_alone_are_a_session() -> None:
    steps = [
        {"method": "GET", "path": "/start"},
        {"path": "/login", "format": "form", "body": "p={password}"},
    ]
    server = Server()
    fake = world(server, login__steps=steps, login__token="", login__cookies=True)
    send(fake)
    send(fake)
    start, login, *orders = server.requests
    assert "Cookie" not in headers_of(start)
    assert headers_of(login)["Cookie"] == "elsewhere=1"
    for order in orders:
        assert headers_of(order)["Cookie"] == "elsewhere=1; sid=cookie-value-1; lang=de"
        assert "Authorization" not in headers_of(order)
    shown = fake.gateway.preview("acme").headers
    assert ("Cookie", "***") in [(header.name, header.value) for header in shown]


def test_a_token_in_a_cookie_stands_before_the_other_cookies() -> None:
    steps = [{"path": "/login", "format": "form", "body": "p={password}"}]
    server = Server()
    values = {
        "login__steps": steps,
        "login__token": "cookie:sid",
        "login__cookies": True,
        "token_header": "cookie:sid",
    }
    send(world(server, **values))
    cookie = headers_of(server.requests[-1])["Cookie"]
    assert cookie == "sid=cookie-value-1; lang=de"


def test_deleted_ended_and_foreign_cookies_are_not_kept() -> None:
    lines = (
        "a=1",
        "b=2; Max-Age=0",
        "c=3; Expires=Thu, 01 Jan 1970 00:00:00 GMT",
        "d=4; Domain=evil.example",
        "e=5; Domain=.acme.example",
        'f="6"',
        "g=é",
        "bad name=7",
        "h=8; Max-Age=-1",
        "a=9",
    )
    answer = reply({"t": 1}, *(("Set-Cookie", line) for line in lines))
    steps = [{"path": "/login", "format": "form", "body": "p={password}"}]
    server = Server(login=answer)
    send(world(server, login__steps=steps, login__token="", login__cookies=True))
    assert headers_of(server.requests[-1])["Cookie"] == 'e=5; f="6"; a=9'


# ── what is refused, and what fails ───────────────────────────────────────────────────


def test_a_redirect_of_a_step_is_not_followed() -> None:
    moved = reply({}, ("Location", "https://evil.example/"), status=302)
    server = Server(start=moved)
    with pytest.raises(RedirectBlocked):
        send(world(server))
    assert len(server.requests) == 1


@pytest.mark.parametrize("name", ["start", "login"])
def test_a_step_with_nothing_to_take_ends_the_login(name: str) -> None:
    server = Server(**{name: reply({"data": {"other": PASSWORD}})})
    fake = world(server)
    with pytest.raises(TokenEndpointFailed) as caught:
        send(fake)
    assert caught.value.field == "login.steps"
    assert len(server.requests) == ["start", "login"].index(name) + 1
    fake.clock.advance(300)
    with pytest.raises(TokenEndpointFailed) as caught:
        fake.token("acme").renew()
    step, where = {"start": (1, "header:X-Nonce"), "login": (2, "data.token")}[name]
    assert f"step {step}: " in caught.value.message
    assert where in caught.value.message
    assert PASSWORD not in str(caught.value)


@pytest.mark.parametrize("status", [400, 401, 403, 422])
def test_a_refused_step_is_a_refused_login(status: int) -> None:
    fake = world(Server(login=reply({"secret": NONCE}, status=status)))
    with pytest.raises(LoginRefused):
        send(fake)
    with pytest.raises(LoginRefused):  # not sent again for a minute
        send(fake)


def test_a_word_of_failure_in_a_success_is_a_refused_login() -> None:
    fake = world(Server(login=Response(200, body=b"Fails.")))
    with pytest.raises(LoginRefused):
        send(fake)


@pytest.mark.parametrize(
    "value", ["a\r\nX-Injected: 1", "a\x00b", "x" * 70_000, "half \ud83d"]
)
def test_a_value_that_cannot_be_sent_is_not(value: str) -> None:
    steps = steps_with(0, take={"nonce": "nonce"})
    server = Server(start=reply({"nonce": value}))
    with pytest.raises(TokenEndpointFailed):
        send(world(server, login__steps=steps))
    assert len(server.requests) == 1


def test_a_number_is_a_value_as_it_is_written() -> None:
    steps = steps_with(0, take={"nonce": "nonce"})
    server = Server(start=reply({"nonce": 4711}))
    send(world(server, login__steps=steps))
    assert headers_of(server.requests[1])["X-Step"] == "4711"


def test_a_broken_document_has_nothing_to_take() -> None:
    steps = steps_with(
        1, format="xml", body="<a>{password}</a>", take={"session": "a.token"}
    )
    broken = ("Content-Type", "text/xml; charset=utf-8")
    answer = Response(200, ResponseHeaders((broken,)), b"<a><token>t-1</token>")
    with pytest.raises(TokenEndpointFailed) as caught:
        send(world(Server(login=answer), login__steps=steps))
    assert caught.value.field == "login.steps"


@pytest.mark.parametrize("value", ["..", "."])
def test_a_value_cannot_lead_the_path_elsewhere(value: str) -> None:
    steps = steps_with(0, take={"nonce": "nonce"})
    server = Server(start=reply({"nonce": value}))
    fake = world(server, login__steps=steps)
    if value == ".":
        send(fake)
        return
    with pytest.raises(ConfigError):
        send(fake)
    assert len(server.requests) == 1


def test_a_broken_connection_is_tried_once_more() -> None:
    answers: list[Answer] = [ConnectionFailed(), START, GRANTED]
    fake = world(lambda _request: answers.pop(0) if answers else Response(200))
    assert send(fake).status == 200


def test_no_value_is_in_a_record_or_in_an_error() -> None:
    server = Server()
    fake = world(server)
    send(fake)
    recorded = repr(fake.audit.events) + repr(server.requests)
    for value in (PASSWORD, NONCE, SESSION, "nonce-1"):
        assert value not in recorded
    intents = [event for event in fake.audit.events if isinstance(event, Intent)]
    assert [intent.origin for intent in intents] == [
        "https://login.acme.example",
        "https://api.acme.example",
        "https://api.acme.example",
    ]


def test_a_taken_value_that_is_repeated_as_a_name_is_not_shown() -> None:
    nonce = "abcdefghijklmnopqrstuvwxyz"
    server = Server(start=reply({}, ("X-Nonce", nonce)), login=reply({nonce: "1"}))
    with pytest.raises(TokenEndpointFailed) as caught:
        world(server).token("acme").renew()
    assert "step 2: " in caught.value.message
    assert nonce not in caught.value.message


def test_long_cookies_count_as_secrets_of_the_configuration() -> None:
    fake = world(Server(), login__cookies=True)
    send(fake)
    made = fake.ports.configurations.get("acme")
    secrets = sent_secrets(fake.sender.context, made)
    assert Secret("cookie-value-1") in secrets
    assert Secret(SESSION) in secrets
    assert Secret("de") not in secrets


# ── before it is saved ────────────────────────────────────────────────────────────────


def made(**values: object) -> Configuration:
    dotted = {
        path.replace("__", "."): value for path, value in (LOGIN | values).items()
    }
    base = {"base_url": "https://api.acme.example"}
    return build("acme", base | dotted, secrets={"password": AT_BOTH})


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"login__steps": [{"path": "/a"}] * 6}, "login.steps"),
        ({"login__steps": steps_with(0, path="/a")}, "login.steps[0].path"),
        ({"login__steps": [{"body": "{password}"}]}, "login.steps[0].path"),
        ({"login__steps": steps_with(1, path="/a#b")}, "login.steps[1].path"),
        ({"login__steps": [{"path": "/a", "body": "{}"}]}, "login.steps"),
        ({"login__steps": steps_with(1, body="{nothing}")}, "login.steps[1].body"),
        ({"login__steps": steps_with(0, path="", url="ftp://a")}, "login.steps[0].url"),
        (
            {"login__steps": steps_with(0, url="https://{username}/")},
            "login.steps[0].url",
        ),
        ({"login__steps": steps_with(0, body="a={password}")}, "login.steps[0].body"),
        (
            {"login__steps": steps_with(1, format="json", body="{password}")},
            "login.steps[1].body",
        ),
        (
            {"login__steps": steps_with(1, format="xml", body="<a>{password}")},
            "login.steps[1].body",
        ),
        (
            {"login__steps": steps_with(0, headers={"Authorization": "Basic abc"})},
            "login.steps[0].headers",
        ),
        (
            {"login__steps": steps_with(0, headers={"A b": "1"})},
            "login.steps[0].headers",
        ),
        (
            {"login__steps": steps_with(0, take={"password": "a"})},
            "login.steps[0].take",
        ),
        ({"login__steps": steps_with(1, take={"nonce": "a"})}, "login.steps[1].take"),
        ({"login__steps": steps_with(1, take={"a b": "a"})}, "login.steps[1].take"),
        (
            {"login__steps": steps_with(1, take={"session": ""})},
            "login.steps[1].take.session",
        ),
        (
            {"login__steps": steps_with(1, take={"session": "cookie:"})},
            "login.steps[1].take.session",
        ),
        (
            {"login__steps": steps_with(0, url="https://login.acme.example/%7Bfor%7D")},
            "login.steps[0].url",
        ),
        (
            {"login__steps": steps_with(1, path="/login?p=%7Bpassword%7D")},
            "login.steps[1].path",
        ),
        (
            {"login__steps": steps_with(1, path="/login?api_key=k3y-0f-4cme")},
            "login.steps[1].path",
        ),
        (
            {"login__steps": steps_with(1, body="pass={password}&pwd=hunter2")},
            "login.steps[1].body",
        ),
        ({"login__token": "{other}"}, "login.token"),
        ({"login__token": ""}, "login.token"),
        ({"login__path": "/login"}, "login.path"),
        ({"login__body": "{}"}, "login.body"),
        ({"login__steps": []}, "login.path"),
        ({"login__refresh_path": "/refresh"}, "login.refresh_path"),
        (
            {
                "login__steps": [],
                "login__path": "/a",
                "login__body": '{"p": "{password}"}',
                "login__token": "t",
                "login__cookies": True,
            },
            "login.cookies",
        ),
    ],
)
def test_steps_that_cannot_work_are_refused(
    values: dict[str, object], field: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        refuse_unsavable(made(**values))
    assert caught.value.field == field
    assert caught.value.code == "configuration"


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"url": "http://login.acme.example/"}, "login.steps"),
        ({"url": "https://10.0.0.7/start"}, "login.steps"),
        ({"url": "https://169.254.169.254/"}, "login.steps"),
    ],
)
def test_a_step_is_vetted_like_a_token_url(
    changed: dict[str, object], field: str
) -> None:
    with pytest.raises(EgressDenied) as caught:
        refuse_unsavable(made(login__steps=steps_with(0, **changed)))
    assert caught.value.field == field
    if "169" not in str(changed):
        internal = made(
            login__steps=steps_with(0, **changed), network=Network.INTERNAL.value
        )
        refuse_unsavable(internal)


def test_a_secret_is_bound_to_every_origin_of_the_steps() -> None:
    before = made()
    before.refuse_unbound("password")
    moved = made(login__steps=steps_with(0, url="https://other.example/start"))
    with pytest.raises(SecretRebindRequired) as caught:
        moved.refuse_unbound("password")
    assert "URL of a step" in caught.value.message
    alone = made(login__steps=steps_with(0, url="", path="/start"))
    with pytest.raises(SecretRebindRequired):
        alone.refuse_unbound("password")


def test_no_step_is_sent_after_one_has_moved() -> None:
    moved = steps_with(0, url="https://other.acme.example/start")
    made = configuration(**(LOGIN | {"login__steps": moved}))
    server = Server()
    fake = world_of(replace(made, secrets={"password": AT_BOTH}), server)
    with pytest.raises(SecretRebindRequired):
        send(fake)
    assert server.requests == []


def test_other_rows_of_the_api_need_another_login() -> None:
    def tenant(name: str) -> Configuration:
        rows = (CustomHeader("X-Tenant", name, secret=False),)
        return configuration(**LOGIN, headers=rows)

    assert login_basis_of(tenant("a")) == login_basis_of(tenant("a"))
    assert login_basis_of(tenant("a")) != login_basis_of(tenant("b"))


def test_a_document_has_the_steps_as_tables_and_reads_them_again() -> None:
    text = "\n".join(configuration_lines(made(login__cookies=True)))
    assert text.count("[[configuration.acme.login.steps]]") == 2
    table = tomllib.loads(text)["configuration"]["acme"]
    assert table["login"]["steps"][1]["body"] == STEPS[1]["body"]
    read = read_draft("acme", table).configuration()
    assert read.login == made(login__cookies=True).login
