"""Logins at qBittorrent, with a session in a cookie, and why they fail."""

from collections.abc import Callable, Iterator

import pytest

from outkey.sending.core.oauth2.token import State
from peers.conftest import token_actions
from peers.documents import GatewayFor, Given, Table
from peers.qbittorrent import PASSWORD, USER, qbittorrent_running
from peers.test_diagnosis_peers import leaks, reasons

WRONG = "not-the-right-secret-0815"
BODY = "username={username}&password={password}"
VERSION = "/api/v2/app/version"


@pytest.fixture(scope="module")
def qbittorrent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with qbittorrent_running(tmp_path_factory.mktemp("qbittorrent")) as url:
        yield url


def account(password: str = PASSWORD, user: str = USER, **changed: object) -> Table:
    return {
        "authentication_type": "bearer",
        "token_source": "login",
        "token_header": "cookie:SID",
        "username": user,
        "password": Given(password),
        "verification": {"test_path": VERSION},
        **changed,
    }


def login(**changed: object) -> Table:
    """Log in by one request, whose cookie is the token."""
    settings = {"path": "/api/v2/auth/login", "format": "form", "body": BODY}
    return {"login": settings | {"token": "cookie:SID"} | changed}


def step(**changed: object) -> Table:
    """Log in by a list with one step, which takes the cookie."""
    settings = {"path": "/api/v2/auth/login", "format": "form", "body": BODY}
    taken = {"take": {"session": "cookie:SID"}}
    return {"login": {"token": "{session}", "steps": [settings | taken | changed]}}


def cookies() -> Table:
    """Log in by a step, and let the cookies of the API be what is sent."""
    return {"login": step()["login"] | {"token": "", "cookies": True}}


@pytest.mark.parametrize("made", [login, step, cookies])
def test_a_session_in_a_cookie_is_used_for_all_requests(
    made: Callable[[], Table], qbittorrent: str, gateway_for: GatewayFor
) -> None:
    gateway = gateway_for(peer=account(base_url=qbittorrent) | made())
    report = gateway.test("peer")
    assert (report.ok, reasons(report)) == (True, [])
    tokens = token_actions(gateway)
    renewed = tokens.status().last_renewed_at
    for _ in range(3):
        assert gateway.send("peer", "GET", VERSION).body.startswith(b"v4")
    status = tokens.status()
    assert (status.state, status.last_renewed_at) == (State.FRESH, renewed)
    shown = gateway.preview("peer", "GET", VERSION)
    assert ("Cookie", "SID=***") in [(name, value) for name, value, _ in shown.headers]


def test_a_session_that_ended_is_logged_in_again(
    qbittorrent: str, gateway_for: GatewayFor
) -> None:
    table = account(base_url=qbittorrent) | login()
    expired = {"test_path": VERSION, "expired_statuses": "401, 403"}
    gateway = gateway_for(peer=table | {"verification": expired})
    assert gateway.send("peer", "GET", VERSION).status == 200
    assert gateway.send("peer", "POST", "/api/v2/auth/logout").status == 200
    assert gateway.send("peer", "GET", VERSION).status == 200


SETUPS = {
    "password": (account(WRONG) | login(), "login-refused"),
    "password of a step": (account(WRONG) | step(), "login-refused"),
    "user": (account(user="root") | login(), "login-refused"),
    "path": (account() | login(path="/api/v2/auth/log-in"), "login-path-wrong"),
    "path of a step": (account() | step(path="/auth/login"), "login-path-wrong"),
    "method of a step": (
        account() | step(method="GET", path=f"/api/v2/auth/login?{BODY}", body=""),
        "login-path-wrong",
    ),
    "name of a parameter": (
        account() | login(body=BODY.replace("username=", "user=")),
        "login-refused",
    ),
    "JSON for a form": (
        account()
        | login(
            format="json", body='{"username": "{username}", "password": "{password}"}'
        ),
        "login-refused",
    ),
    "cookie that is taken": (
        account() | login(token="cookie:SESSION"),
        "login-token-elsewhere",
    ),
    "cookie that a step takes": (
        account() | step(take={"session": "cookie:SESSION"}),
        "login-token-elsewhere",
    ),
    "cookie that is sent": (
        account(token_header="cookie:SESSION") | login(),
        "credentials-not-read",
    ),
    "token in a header": (
        account(token_header="Authorization") | login(),
        "credentials-not-read",
    ),
    "test path": (
        account(verification={"test_path": "/api/v2/app/versions"}) | login(),
        "not-found",
    ),
}


@pytest.mark.parametrize("setup", SETUPS)
def test_the_first_suspicion_is_the_right_one(
    setup: str, qbittorrent: str, gateway_for: GatewayFor
) -> None:
    settings, reason = SETUPS[setup]
    table = settings | {"base_url": qbittorrent}
    report = gateway_for(peer=table).test("peer")
    assert (report.ok, reasons(report)[:1]) == (False, [reason])
    assert leaks(report, table) == []
