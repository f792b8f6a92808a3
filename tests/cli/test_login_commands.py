"""A login as an operator uses it: apply, test, request and `outkey token …`."""

import json
import sqlite3
from base64 import b64encode
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from cli.conftest import Terminal
from outkey.spar import Spar
from outkey.spar.logins import PASSWORD, USERNAME

BODY = '{"email": "{username}", "password": "{password}"}'


@pytest.fixture
def spar() -> Iterator[Spar]:
    with Spar() as server:
        yield server


def document(spar: Spar, **changed: str) -> str:
    settings = {
        "path": "/login/json",
        "body": BODY,
        "token": "data.access_token",
        "expires_in": "data.expires",
        "expires_unit": "ms",
        "refresh_path": "/login/refresh",
        "refresh_body": '{"refresh_token": "{refresh_token}"}',
        "refresh_token": "data.refresh_token",
        "logout_path": "/login/logout",
    } | {name: text for name, text in changed.items() if name != "top"}
    return f"""
[configuration.acme]
base_url = "{spar.url}"
network = "internal"
authentication_type = "bearer"
token_source = "login"
username = "{USERNAME}"
limits = {{ retries = 0 }}
verification = {{ test_path = "/login/api" }}
{changed.get("top", "")}
[configuration.acme.login]
""" + "\n".join(f"{name} = '{text}'" for name, text in settings.items() if text)


def prepare(
    outkey: Terminal, spar: Spar, password: str = PASSWORD, **changed: str
) -> None:
    applied = outkey("apply", "-", stdin=document(spar, **changed))
    assert applied.code == 0, applied.err
    assert outkey("secret", "set", "acme", "password", stdin=password).code == 0


def arrived(spar: Spar, path: str) -> int:
    return sum(arrival.path == path for arrival in spar.journal)


def test_a_login_is_tested_used_renewed_and_logged_out(
    outkey: Terminal, spar: Spar
) -> None:
    prepare(outkey, spar)
    report = outkey("test", "acme", "--json")
    assert (report.code, report.json["ok"]) == (0, True)
    steps = [step["step"] for step in report.json["steps"]]
    assert steps == ["configuration", "secrets", "token", "connect", "request"]
    assert outkey("request", "acme", "/login/api").code == 0
    assert arrived(spar, "/login/json") == 1
    status = outkey("token", "status", "acme", "--json").json
    assert (status["state"], status["scope"], status["error"]) == ("fresh", "", None)
    assert 0 < status["expires_in"] <= 900
    assert outkey("token", "renew", "acme", "--json").json["state"] == "fresh"
    assert (arrived(spar, "/login/json"), arrived(spar, "/login/refresh")) == (1, 1)
    assert outkey("token", "revoke", "acme", "--json").json["state"] == "none"
    assert spar.authorization.counts().live_access_tokens == 0
    assert outkey("request", "acme", "/login/api").code == 0
    assert arrived(spar, "/login/json") == 2
    assert outkey("token", "forget", "acme", "--json").json["state"] == "none"
    assert spar.authorization.counts().live_access_tokens > 0


def test_without_a_logout_path_revoking_says_so(outkey: Terminal, spar: Spar) -> None:
    prepare(outkey, spar, logout_path="")
    outkey("token", "renew", "acme")
    done = outkey("token", "revoke", "acme", "--json")
    assert done.code == 2
    assert done.json["error"]["field"] == "login.logout_path"


@pytest.mark.parametrize(
    ("style", "where", "place"),
    [
        ("cookie", "cookie:spar_session", 'token_header = "cookie:spar_session"'),
        ("header", "header:Authorization", ""),
        ("text", "@", 'token_header = "X-Session"'),
        ("text", "@", 'token_header = "query:token"'),
        ("moment", "token", ""),
    ],
)
def test_tokens_are_found_and_sent_in_many_places(
    style: str, where: str, place: str, outkey: Terminal, spar: Spar
) -> None:
    prepare(
        outkey,
        spar,
        path=f"/login/json?style={style}",
        token=where,
        expires_in="expires_at",
        expires_unit="at",
        refresh_path="",
        refresh_body="",
        refresh_token="",
        top=place,
    )
    done = outkey("request", "acme", "/login/api")
    assert done.code == 0, done.err
    assert outkey("token", "status", "acme", "--json").json["state"] == "fresh"


def test_a_form_login_and_an_api_key_row_are_sent_along(
    outkey: Terminal, spar: Spar
) -> None:
    prepare(
        outkey,
        spar,
        path="/login/json?key=1",
        format="form",
        body="username={username}&password={password}",
        refresh_path="",
        top='headers = [{ key = "X-API-Key", value = "spar-key", secret = false }]',
    )
    assert outkey("request", "acme", "/login/api").code == 0


# ── refused and failed logins ─────────────────────────────────────────────────────────


@pytest.mark.parametrize("status", ["401", "400", "403", "422", "200"])
def test_a_refused_login_is_named_first_and_not_repeated(
    status: str, outkey: Terminal, spar: Spar, canary_password: str
) -> None:
    prepare(outkey, spar, canary_password, path=f"/login/json?refusal={status}")
    for _ in range(3):
        done = outkey("request", "acme", "/login/api", "--json")
        assert (done.code, done.json["error"]["code"]) == (1, "invalid_credentials")
    assert arrived(spar, "/login/json") == 1
    report = outkey("test", "acme", "--json")
    assert (report.code, report.json["cause"]) == (1, "invalid_credentials")
    assert report.json["findings"][0]["id"] == "login-refused"
    assert report.json["steps"][-1]["step"] == "token"
    assert arrived(spar, "/login/api") == 0


def test_five_refused_logins_pause_the_configuration_until_a_good_test(
    outkey: Terminal, spar: Spar
) -> None:
    prepare(outkey, spar, "not the password")
    for _ in range(5):
        assert outkey("test", "acme").code == 1
    done = outkey("request", "acme", "/login/api", "--json")
    assert (done.code, done.json["error"]["code"]) == (3, "paused")
    assert arrived(spar, "/login/json") == 5
    assert outkey("secret", "set", "acme", "password", stdin=PASSWORD).code == 0
    assert outkey("test", "acme").code == 0
    assert outkey("request", "acme", "/login/api").code == 0


@pytest.fixture
def canary_password(outkey: Terminal) -> str:
    """A wrong password that must not be in any output."""
    return outkey.canary("password", username=USERNAME)


@pytest.mark.parametrize(
    ("odd", "end"),
    [
        ("redirect", (3, "redirect_blocked", "login-path-wrong")),
        ("echo", (1, "invalid_credentials", "login-refused")),
        ("error-200", (1, "invalid_credentials", "login-refused")),
        ("echo-200", (1, "token_endpoint", "login-token-elsewhere")),
        ("no-token", (1, "token_endpoint", "login-token-elsewhere")),
        ("html", (1, "token_endpoint", "login-path-wrong")),
        ("unavailable", (1, "token_endpoint", "server-error")),
        ("nothing", (1, "token_endpoint", "login-path-wrong")),
    ],
)
def test_an_odd_login_has_its_exit_code_and_leaks_nothing(
    odd: str,
    end: tuple[int, str, str],
    outkey: Terminal,
    spar: Spar,
    canary_password: str,
) -> None:
    code, name, reason = end
    prepare(outkey, spar, canary_password, path=f"/login/odd/{odd}")
    done = outkey("request", "acme", "/login/api", "--json")
    assert (done.code, done.json["error"]["code"]) == (code, name)
    assert done.json["error"]["field"] == "login.path"
    assert done.json["error"]["hint"]
    report = outkey("test", "acme", "--json")
    assert (report.code, report.json["cause"]) == (code, name)
    assert report.json["findings"][0]["id"] == reason
    assert arrived(spar, "/login/api") == 0
    assert all(arrival.server == "main" for arrival in spar.journal)
    # Output is searched by the terminal; these are the database, its log and the audit.
    outkey("audit", "list", "--json")
    for file in outkey.home.rglob("*"):
        if file.is_file():
            assert list(outkey.canary.leaks(file.name, file.read_bytes())) == []


def test_a_login_that_hangs_ends_in_time(outkey: Terminal, spar: Spar) -> None:
    top = "[configuration.acme.limits]\nread_timeout = 1"
    text = document(spar, path="/login/odd/silent?seconds=8")
    text = text.replace("limits = { retries = 0 }\n", "") + "\n" + top
    assert outkey("apply", "-", stdin=text).code == 0
    assert outkey("secret", "set", "acme", "password", stdin=PASSWORD).code == 0
    done = outkey("request", "acme", "/login/api", "--json")
    assert (done.code, done.json["error"]["code"]) == (1, "token_endpoint")
    assert outkey("token", "status", "acme", "--json").json["error"] == "timeout"


def test_a_revoked_session_is_logged_in_again_without_a_word(
    outkey: Terminal, spar: Spar
) -> None:
    prepare(outkey, spar)
    assert outkey("request", "acme", "/login/api").code == 0
    spar.authorization.revoke_family()
    spar.clear()
    assert outkey("request", "acme", "/login/api").code == 0
    paths = [arrival.path for arrival in spar.journal]
    assert paths == ["/login/api", "/login/refresh", "/login/json", "/login/api"]


def test_no_token_is_stored_in_plain(outkey: Terminal, spar: Spar) -> None:
    prepare(outkey, spar)
    assert outkey("request", "acme", "/login/api").code == 0
    issued = [*spar.authorization._access, *spar.authorization._refresh]
    assert len(issued) == 2
    files = [file.read_bytes() for file in outkey.home.rglob("*") if file.is_file()]
    assert not any(
        text.encode() in data for text in (*issued, PASSWORD) for data in files
    )


# ── saving ────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"body": '{"user": "{login}", "password": "{password}"}'}, "login.body"),
        ({"body": '{"user": "{username}"}'}, "login.body"),
        ({"body": "password={password}"}, "login.body"),
        ({"token": "data.[["}, "login.token"),
        ({"expires_in": "a b"}, "login.expires_in"),
        ({"path": "https://evil.example/login"}, "login.path"),
        ({"refresh_path": "//evil.example/refresh"}, "login.refresh_path"),
        ({"refresh_body": '{"refresh_token": "x"}'}, "login.refresh_body"),
    ],
)
def test_what_cannot_work_is_refused_and_not_saved(
    changed: dict[str, str], field: str, outkey: Terminal, spar: Spar
) -> None:
    for options in (("--dry-run",), ()):
        done = outkey("apply", "-", "--json", *options, stdin=document(spar, **changed))
        assert done.code == 2
        assert done.json["error"]["field"].endswith(field)
    assert outkey("list", "--json").json == []


def test_an_exported_login_can_be_applied_elsewhere(
    outkey: Terminal, spar: Spar, tmp_path: Path
) -> None:
    prepare(outkey, spar)
    exported = outkey("export", "acme").out
    assert PASSWORD not in exported
    other = Terminal(tmp_path / "other", outkey.canary)
    assert other("apply", "-", stdin=exported).code == 0
    shown = [run("show", "acme", "--json").json["login"] for run in (outkey, other)]
    assert shown[0] == shown[1]


def test_a_stored_token_is_one_row_of_the_database(
    outkey: Terminal, spar: Spar
) -> None:
    prepare(outkey, spar)
    outkey("request", "acme", "/login/api")
    with sqlite3.connect(next(outkey.home.rglob("*.sqlite3"))) as database:
        rows = database.execute(
            "SELECT sealed IS NOT NULL FROM outkey_token"
        ).fetchall()
    assert rows == [(1,)]


def test_a_success_with_the_expired_marker_logs_in_again_once_and_then_fails(
    outkey: Terminal, spar: Spar
) -> None:
    prepare(outkey, spar)
    document = """
[configuration.acme.verification]
expired_marker = '{"data": [{"id": 1}]}'
expired_statuses = "401, 498"
"""
    assert outkey("apply", "-", stdin=document).code == 0
    sent = outkey("request", "acme", "POST", "/login/api", "--json")
    assert sent.code == 1
    assert (sent.json["status"], sent.json["cause"]) == (200, "token_expired")
    assert (arrived(spar, "/login/json"), arrived(spar, "/login/api")) == (1, 2)
    assert arrived(spar, "/login/refresh") == 1
    report = outkey("test", "acme", "--json")
    assert (report.code, report.json["cause"]) == (1, "token_expired")
    stored = outkey("export", "acme").out
    assert 'expired_statuses = "401, 498"' in stored


class PackageIndex(BaseHTTPRequestHandler):
    """A login and an API as devpi has them: user and token as one, in Base64."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        is_known = body == {"user": "erp", "password": "open-sesame"}
        token = {"result": {"password": "issued-token-0815", "expiration": 36000}}
        self.respond(200 if is_known else 401, token if is_known else {})

    def do_GET(self) -> None:
        expected = b64encode(b"erp:issued-token-0815").decode()
        given = self.headers.get("X-Devpi-Auth", "")
        echo = {"authstatus": ["ok"] if given == expected else ["noauth"]}
        self.respond(200 if given == expected else 403, echo | {"given": given})

    def respond(self, status: int, document: object) -> None:
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def test_the_token_of_a_login_is_sent_with_the_user_name_in_base64(
    outkey: Terminal,
) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), PackageIndex) as server:
        Thread(target=server.serve_forever).start()
        text = f"""
[configuration.packages]
base_url = "http://127.0.0.1:{server.server_port}"
network = "internal"
authentication_type = "bearer"
token_source = "login"
token_header = "X-Devpi-Auth"
token_value = "{{username}}:{{token}}"
token_encoding = "base64"
username = "erp"
verification = {{ test_path = "/+api" }}
[configuration.packages.login]
path = "/+login"
body = '{{"user": "{{username}}", "password": "{{password}}"}}'
token = "result.password"
expires_in = "result.expiration"
"""
        try:
            assert outkey("apply", "-", stdin=text).code == 0
            given = "open-sesame"
            outkey("secret", "set", "packages", "password", stdin=given)
            report = outkey("test", "packages", "--json")
            assert (report.code, report.json["ok"]) == (0, True), report.out
            done = outkey("request", "packages", "/+api")
            assert (done.code, "authstatus" in done.out) == (0, True)
            assert "ZXJwOmlzc3VlZC" not in done.out
            exported = outkey("export", "packages").out
            assert 'token_value = "{username}:{token}"' in exported
            assert 'token_encoding = "base64"' in exported
        finally:
            server.shutdown()
