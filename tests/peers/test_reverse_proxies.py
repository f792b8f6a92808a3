"""The examples for nginx, Caddy and Apache httpd, with a real server behind each."""

import gzip
import hashlib
import hmac
import json
import re
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

import forks
from cli.conftest import Terminal, document_for
from outkey.spar import Spar
from outkey.testing.canary import Canaries
from peers.reverse_proxies import (
    EXAMPLES,
    HOST,
    ReverseProxy,
    reverse_proxy_running,
)
from ports import free_port

URL = f"https://{HOST}"
PASSWORD = "a-long-pass-phrase-7"
HOOK_KEY = "hook-secret-7f3a"
MEBIBYTE = 1024 * 1024
HSTS = "max-age=31536000"
WEBHOOK = """
[webhook.deploys]
scheme = "github"
handler = "builtins.bool"
"""


@dataclass(frozen=True)
class Installation:
    """A server with the settings of deploy/outkey.env.example."""

    outkey: Terminal
    port: int
    log: Path
    token: str
    endpoint: str
    spar: Spar

    def attempts(self) -> set[tuple[str, str]]:
        """Return the failed sign-ins: user name and the address of the client."""
        file = self.outkey.home / "data" / "outkey.sqlite3"
        with closing(sqlite3.connect(file, timeout=10)) as database:
            return set(
                database.execute("SELECT username, ip_address FROM axes_accessattempt")
            )

    def logged(self) -> list[dict[str, str]]:
        return [json.loads(line) for line in self.log.read_text().splitlines()]


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    folder = tmp_path_factory.mktemp("installation")
    outkey = Terminal(folder / "home", Canaries())
    lines = (EXAMPLES / "outkey.env.example").read_text().splitlines()
    example = dict(line.split("=", 1) for line in lines if not line.startswith("#"))
    assert example == {"OUTKEY_PUBLIC_URL": URL, "OUTKEY_PROXIES": "127.0.0.1"}
    outkey.settings |= example
    outkey.settings |= {
        "OUTKEY_LOG_FORMAT": "json",
        "OUTKEY_LOG_LEVEL": "INFO",
        "OUTKEY_WEBHOOK_HANDLERS": "builtins.bool",
    }
    with Spar() as spar:
        assert outkey("apply", "-", stdin=document_for(spar) + WEBHOOK).code == 0
        outkey("secret", "set", "acme", "token", stdin="spar-token")
        outkey("secret", "set", "acme", "header:X-API-Key", stdin="k")
        outkey("webhook", "secret", "deploys", stdin=HOOK_KEY)
        shown = outkey("webhook", "show", "deploys", "--json").json
        token = outkey(
            "api-token", "create", "sender", "--scope", "send", "--scope", "read"
        ).out.strip()
        made = outkey("user", "add", "ada", "--role", "administrator", stdin=PASSWORD)
        assert made.code == 0, made.err
        port = free_port()
        log = folder / "log"
        with log.open("w") as output:
            process = forks.Popen(
                [*forks.OUTKEY, "serve", "--port", str(port)],
                stdout=subprocess.DEVNULL,
                stderr=output,
                env=outkey.environment,
            )
        with httpx.Client(transport=httpx.HTTPTransport(retries=20)) as client:
            client.get(f"http://127.0.0.1:{port}/healthz")
        endpoint = httpx.URL(shown["endpoint"]).path
        yield Installation(outkey, port, log, token, endpoint, spar)
        process.terminate()
        assert process.wait(20) == 0


@pytest.fixture(
    scope="module",
    params=["nginx", "caddy", pytest.param("apache2", marks=pytest.mark.full)],
)
def proxy(
    request: pytest.FixtureRequest, installation: Installation
) -> Iterator[ReverseProxy]:
    with reverse_proxy_running(request.param, installation.port) as running:
        yield running


@pytest.fixture
def client(proxy: ReverseProxy) -> Iterator[httpx.Client]:
    with proxy.client() as made:
        yield made


def sign_in(client: httpx.Client, user: str, password: str) -> httpx.Response:
    """Open the page of the sign-in and send its form, as a browser does."""
    page = client.get("/login/?next=/")
    assert page.status_code == 200
    field = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page.text)
    assert field
    form = {
        "csrfmiddlewaretoken": field[1],
        "username": user,
        "password": password,
        "next": "/",
    }
    return client.post("/login/?next=/", data=form, headers={"Origin": URL})


def signed(body: bytes, delivery: str) -> dict[str, str]:
    """Return the headers that GitHub sends with a delivery."""
    code = hmac.new(HOOK_KEY.encode(), body, hashlib.sha256).hexdigest()
    return {
        "X-Hub-Signature-256": f"sha256={code}",
        "X-GitHub-Delivery": delivery,
        "X-GitHub-Event": "push",
        "Content-Type": "application/json",
    }


# ── pages ─────────────────────────────────────────────────────────────────────────────


def test_a_user_signs_in_over_tls_and_cookies_are_for_tls_only(
    client: httpx.Client,
) -> None:
    response = sign_in(client, "ada", PASSWORD)
    assert response.status_code == 302
    cookies = client.cookies.jar
    assert {cookie.name for cookie in cookies} >= {"outkey_session", "outkey_csrf"}
    for header in response.headers.get_list("Set-Cookie"):
        name, *attributes = (part.strip() for part in header.split(";"))
        if not name.startswith("outkey_"):
            continue
        assert {"Secure", "HttpOnly", "SameSite=Lax"} <= set(attributes), name
        assert not any(part.startswith("Domain") for part in attributes)
    first = client.get("/", follow_redirects=True)
    assert first.status_code == 200
    assert str(first.url).startswith(f"{URL}/")
    assert "ada" in first.text


def test_a_form_without_its_token_or_from_another_site_is_refused(
    client: httpx.Client,
) -> None:
    sign_in(client, "ada", PASSWORD)
    own = {"Origin": URL, "Referer": f"{URL}/"}
    assert client.post("/logout/", headers=own).status_code == 403
    page = client.get("/password_change/")
    field = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page.text)
    assert field
    form = {"csrfmiddlewaretoken": field[1]}
    foreign = {"Origin": "https://evil.example", "Referer": "https://evil.example/"}
    assert client.post("/logout/", data=form, headers=foreign).status_code == 403
    assert client.post("/logout/", data=form, headers=own).status_code in {200, 302}


def test_redirects_lead_to_the_public_url(
    client: httpx.Client, proxy: ReverseProxy
) -> None:
    location = client.get("/").headers["Location"]
    assert str(httpx.URL(f"{URL}/").join(location)).startswith(f"{URL}/login/")
    plain = client.get(f"http://{HOST}/login/?next=/")
    assert plain.status_code in {301, 308}
    assert plain.headers["Location"] == f"{URL}/login/?next=/"


def test_a_foreign_host_name_is_refused(client: httpx.Client) -> None:
    response = client.get("/login/", headers={"Host": "evil.example"})
    assert "Set-Cookie" not in response.headers
    assert "Sign in" not in response.text
    assert "evil.example" not in response.headers.get("Location", "")


def test_hsts_is_on_every_response_once(client: httpx.Client) -> None:
    paths = ["/login/", "/metrics", "/healthz", "/api/v1/lines", "/hooks/none"]
    for path in paths:
        response = client.get(path)
        found = response.headers.get_list("Strict-Transport-Security")
        assert (path, found) == (path, [HSTS])


def test_metrics_need_a_token_from_the_outside(
    client: httpx.Client, installation: Installation
) -> None:
    token = {"Authorization": f"Bearer {installation.token}"}
    assert client.get("/metrics").status_code == 401
    hidden = {"Connection": "close, X-Forwarded-For, X-Forwarded-Proto"}
    assert client.get("/metrics", headers=hidden).status_code == 401
    assert "outkey_sends" in client.get("/metrics", headers=token).text
    assert "outkey_" not in client.get("/metrics/").text
    assert "outkey_" not in client.get("//metrics").text
    assert "outkey_sends" not in client.get("/%6detrics").text
    assert client.get("/healthz").status_code == 200
    assert client.get("/readyz").status_code in {200, 503}


# ── who the client is ─────────────────────────────────────────────────────────────────


def test_the_address_of_a_client_is_known_and_a_forged_one_is_not_believed(
    proxy: ReverseProxy, installation: Installation, request: pytest.FixtureRequest
) -> None:
    user = f"eve-{request.node.callspec.params['proxy']}"
    forged = {
        "X-Forwarded-For": "198.51.100.7",
        "X-Real-IP": "198.51.100.8",
        "Forwarded": "for=198.51.100.9",
    }
    for address in ("127.0.0.2", "127.0.0.3"):
        with proxy.client(address) as client:
            client.headers.update(forged)
            assert sign_in(client, user, "wrong").status_code == 200
    attempts = {attempt for attempt in installation.attempts() if attempt[0] == user}
    assert attempts == {(user, "127.0.0.2"), (user, "127.0.0.3")}


def test_one_client_that_is_locked_does_not_lock_another(
    proxy: ReverseProxy, request: pytest.FixtureRequest
) -> None:
    user = f"mallory-{request.node.callspec.params['proxy']}"
    with proxy.client("127.0.0.4") as client:
        statuses = []
        for number in range(6):
            client.headers["X-Forwarded-For"] = f"198.51.100.{number}"
            statuses.append(sign_in(client, user, "wrong").status_code)
    assert statuses[-1] == 429
    with proxy.client("127.0.0.5") as client:
        assert sign_in(client, user, "wrong").status_code == 200


def test_a_request_has_one_id_in_response_log_and_audit_which_no_client_chooses(
    client: httpx.Client, installation: Installation
) -> None:
    headers = {
        "Authorization": f"Bearer {installation.token}",
        "X-Request-ID": "forged-by-a-client",
    }
    response = client.get("/api/v1/send/acme/echo", headers=headers)
    assert response.status_code == 200
    (request_id,) = response.headers.get_list("X-Request-ID")
    assert request_id != "forged-by-a-client"
    assert request_id in {line["request_id"] for line in installation.logged()}
    audit = installation.outkey("audit", "list", "--json").json
    assert request_id in {record.get("request_id") for record in audit}


def test_forged_headers_gain_nothing_past_the_proxy(installation: Installation) -> None:
    forged = {
        "Host": HOST,
        "X-Forwarded-For": "127.0.0.1",
        "X-Forwarded-Proto": "https",
        "X-Forwarded-Host": "evil.example",
        "X-Request-ID": "forged-by-a-client",
    }
    transport = httpx.HTTPTransport(local_address="127.0.0.6")
    with httpx.Client(transport=transport, headers=forged, trust_env=False) as client:
        base = f"http://127.0.0.1:{installation.port}"
        page = client.get(f"{base}/login/")
        # Not taken for TLS: without it, no form of the pages can be sent.
        assert "Strict-Transport-Security" not in page.headers
        assert page.headers["X-Request-ID"] != "forged-by-a-client"
        assert "evil.example" not in page.text
        # It asks through somebody, so it is not taken for a program on this machine.
        assert client.get(f"{base}/metrics").status_code == 401
        form = {"username": "direct", "password": "wrong"}
        assert client.post(f"{base}/login/", data=form).status_code == 403
    assert not [name for name, _ in installation.attempts() if name == "direct"]


# ── bodies ────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("how", ["plain", "chunked"])
def test_deliveries_arrive_byte_by_byte_as_they_were_signed(
    client: httpx.Client, installation: Installation, how: str
) -> None:
    text = json.dumps({"text": "ä\u2028", "n": 1}, ensure_ascii=False).encode()
    bodies = {
        "json": text + b" \r\n\n",
        "binary": bytes(range(256)) * 16 + b"\r\n\r\n",
        "gzip": gzip.compress(text),
        "empty lines": b"\r\n\r\n0\r\n\r\n",
        "megabyte": b"\0\xff" * 500_000,
    }
    for number, (name, body) in enumerate(bodies.items()):
        event = f"{how}-{number}-{time.time_ns()}"
        content = body if how == "plain" else iter([body[:7], body[7:]])
        response = client.post(
            installation.endpoint, content=content, headers=signed(body, event)
        )
        assert (name, response.status_code) == (name, 200)
        wrong = client.post(
            installation.endpoint,
            content=body + b" ",
            headers=signed(body, f"{event}-wrong"),
        )
        assert (name, wrong.status_code) == (name, 401)


def test_a_body_that_is_too_large_gets_413(
    client: httpx.Client, installation: Installation
) -> None:
    token = {"Authorization": f"Bearer {installation.token}"}
    sending = "/api/v1/send/acme/echo"
    places = {
        "/login/": {},
        installation.endpoint: signed(b"", "large"),
        sending: token,
    }
    sizes = {"/login/": (6, 34), installation.endpoint: (3, 20), sending: (34,)}
    for path, headers in places.items():
        for size in sizes[path]:
            body = b"\0" * size * MEBIBYTE
            sent = client.post(path, content=body, headers=headers)
            assert (path, size, sent.status_code) == (path, size, 413)
    assert client.get("/healthz").status_code == 200


def test_the_send_proxy_passes_paths_and_large_bodies_on(
    client: httpx.Client, installation: Installation
) -> None:
    token = {"Authorization": f"Bearer {installation.token}"}
    installation.spar.clear()
    body = bytes(range(256)) * 4096 * 16  # 16 MiB
    path = "/api/v1/send/acme/echo/a%2Fb%20c?q=%2F&q=%20+"
    sent = client.post(path, content=body, headers=token)
    assert (sent.status_code, sent.json()["body"]) == (200, len(body))
    (arrival,) = installation.spar.journal
    assert (arrival.path, arrival.query) == ("/echo/a%2Fb%20c", "q=%2F&q=%20+")
    assert arrival.body == body
    assert arrival.values("Authorization") == ["Bearer spar-token"]
    forwarding = [name for name, _ in arrival.headers if "forwarded" in name.lower()]
    assert forwarding == []


def test_the_response_of_an_api_is_passed_on_as_it_arrives(
    client: httpx.Client, installation: Installation
) -> None:
    token = {"Authorization": f"Bearer {installation.token}"}
    began = time.monotonic()
    path = "/api/v1/send/acme/slow/body?seconds=3"
    with client.stream("GET", path, headers=token) as response:
        assert response.status_code == 200
        pieces = response.iter_raw()
        assert next(pieces).startswith(b"a")
        assert time.monotonic() - began < 2, "the first byte comes before the last"
        # The API broke off: that is not to look like the end.
        with pytest.raises(httpx.HTTPError):
            list(pieces)
