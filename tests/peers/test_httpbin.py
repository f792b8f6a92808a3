"""httpbin under gunicorn, a second HTTP implementation that reports requests."""

from typing import Any
from urllib.parse import quote

import pytest

from outkey import errors
from outkey.sending.core.request.message import Response
from peers.documents import GatewayFor, Table, basic, bearer, row
from peers.servers import Nginx, Wire


def api(httpbin: str, table: Table, **limits: object) -> Table:
    return {"base_url": httpbin, "limits": {"retries": 0} | limits} | table


def content(response: Response) -> Any:  # noqa: ANN401 - JSON
    assert response.status == 200
    return response.json()


# ── credentials ───────────────────────────────────────────────────────────────────────


def test_basic_is_accepted(gateway_for: GatewayFor, httpbin: str) -> None:
    gateway = gateway_for(api=api(httpbin, basic("user", "pass:word")))
    answer = content(gateway.send("api", "GET", "/basic-auth/user/pass:word"))
    assert (answer["authenticated"], answer["user"]) == (True, "user")


def test_hidden_basic_is_accepted(gateway_for: GatewayFor, httpbin: str) -> None:
    gateway = gateway_for(api=api(httpbin, basic("user", "pass")))
    answer = content(gateway.send("api", "GET", "/hidden-basic-auth/user/pass"))
    assert (answer["authenticated"], answer["user"]) == (True, "user")


def test_bearer_is_accepted_as_it_was_entered(
    gateway_for: GatewayFor, httpbin: str
) -> None:
    # Characters outside RFC 6750's b64token, which real tokens have.
    gateway = gateway_for(api=api(httpbin, bearer("a^b#c!d:e.f~g+h/i==")))
    answer = content(gateway.send("api", "GET", "/bearer"))
    assert (answer["authenticated"], answer["token"]) == (True, "a^b#c!d:e.f~g+h/i==")


def test_a_pasted_bearer_prefix_does_not_arrive_twice(
    gateway_for: GatewayFor, httpbin: str
) -> None:
    gateway = gateway_for(api=api(httpbin, bearer(" Bearer abc\n")))
    assert content(gateway.send("api", "GET", "/bearer"))["token"] == "abc"


@pytest.mark.parametrize(
    ("table", "path", "status", "cause"),
    [
        (basic("user", "wrong"), "/basic-auth/user/pass", 401, "invalid_credentials"),
        (basic("user", "wrong"), "/hidden-basic-auth/user/pass", 404, "not_found"),
        ({}, "/bearer", 401, "invalid_credentials"),
        (basic("user", "pass"), "/bearer", 401, "header_format"),
        (bearer("abc"), "/basic-auth/user/pass", 401, "header_format"),
    ],
)
def test_a_refusal_has_its_cause(
    *,
    table: Table,
    path: str,
    status: int,
    cause: str,
    gateway_for: GatewayFor,
    httpbin: str,
) -> None:
    response = gateway_for(api=api(httpbin, table)).send("api", "GET", path)
    assert (response.status, response.cause) == (status, cause)
    with pytest.raises(errors.OutkeyError) as caught:
        response.raise_for_cause()
    assert (caught.value.code, caught.value.hint) == (cause, response.remedy)


@pytest.mark.parametrize(
    ("status", "cause"),
    [
        (200, None),
        (201, None),
        (204, None),
        (304, None),
        (400, "unexpected"),
        (401, "invalid_credentials"),
        (403, "insufficient_permissions"),
        (404, "not_found"),
        (408, "timeout"),
        (410, "not_found"),
        (418, "unexpected"),
        (429, "rate_limited"),
        (431, "header_format"),
        (500, "server_error"),
        (502, "server_error"),
        (503, "server_error"),
        (504, "server_error"),
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_status_has_its_cause(
    *,
    method: str,
    status: int,
    cause: str | None,
    gateway_for: GatewayFor,
    httpbin: str,
) -> None:
    gateway = gateway_for(api=api(httpbin, basic("user", "pass")))
    response = gateway.send("api", method, f"/status/{status}")
    assert (response.status, response.cause) == (status, cause)


def test_a_token_too_large_for_gunicorn_is_a_header_format_error(
    gateway_for: GatewayFor, httpbin: str
) -> None:
    # gunicorn's limit is 8190 bytes for the whole line; ours is 8192 for the token.
    response = gateway_for(api=api(httpbin, bearer("x" * 8192))).send(
        "api", "GET", "/bearer"
    )
    assert (response.status, response.cause) == (431, "header_format")


# ── redirects ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("table", [bearer("abc"), row("X-API-Key", "k-123")])
def test_a_redirect_to_another_origin_is_blocked(
    *,
    table: Table,
    status: int,
    gateway_for: GatewayFor,
    httpbin: str,
    nginx: Nginx,
    wire: Wire,
) -> None:
    target = quote(f"{nginx.url('elsewhere')}/landed", safe="")
    with pytest.raises(errors.RedirectBlocked):
        gateway_for(api=api(httpbin, table)).send(
            "api", "GET", f"/redirect-to?url={target}&status_code={status}"
        )
    assert wire.arrivals() == []


def test_a_redirect_within_the_origin_is_followed_with_credentials(
    gateway_for: GatewayFor, httpbin: str
) -> None:
    gateway = gateway_for(api=api(httpbin, bearer("abc") | row("X-API-Key", "k-123")))
    answer = content(
        gateway.send("api", "GET", "/redirect-to", params={"url": "/headers"})
    )
    assert answer["headers"]["Authorization"] == "Bearer abc"
    assert answer["headers"]["X-Api-Key"] == "k-123"


# ── bodies and time ───────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("path", "flag"), [("/gzip", "gzipped"), ("/deflate", "deflated")]
)
def test_a_compressed_body_arrives_inflated(
    path: str, flag: str, gateway_for: GatewayFor, httpbin: str
) -> None:
    response = gateway_for(api=api(httpbin, bearer("abc"))).send("api", "GET", path)
    assert response.headers["Content-Encoding"] == path.removeprefix("/")
    answer = content(response)
    assert answer[flag] is True
    assert answer["headers"]["Authorization"] == "Bearer abc"


def test_a_slow_answer_ends_with_the_read_time_out(
    gateway_for: GatewayFor, httpbin: str
) -> None:
    gateway = gateway_for(api=api(httpbin, bearer("abc"), read_timeout=0.3))
    with pytest.raises(errors.TimedOut) as caught:
        gateway.send("api", "GET", "/delay/1")
    assert caught.value.code == "timeout"


def test_a_slow_answer_within_the_time_outs_is_waited_for(
    gateway_for: GatewayFor, httpbin: str
) -> None:
    gateway = gateway_for(api=api(httpbin, bearer("abc"), read_timeout=5))
    answer = content(gateway.send("api", "GET", "/delay/0.2"))
    assert answer["headers"]["Authorization"] == "Bearer abc"


def test_a_json_body_arrives_as_it_was_given(
    gateway_for: GatewayFor, httpbin: str
) -> None:
    gateway = gateway_for(api=api(httpbin, bearer("abc")))
    answer = content(
        gateway.send("api", "POST", "/anything", json={"größe": [1, None]})
    )
    assert answer["json"] == {"größe": [1, None]}
    assert answer["headers"]["Content-Type"] == "application/json"


# ── what preview shows is what arrives ────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("table", "secrets"),
    [
        ({}, {}),
        (basic("user", "pass"), {"authorization": ("Basic ***", "Basic dXNlcjpwYXNz")}),
        (bearer("abc"), {"authorization": ("Bearer ***", "Bearer abc")}),
        (row("X-API-Key", "k-123"), {"x-api-key": ("***", "k-123")}),
        (
            {"headers": [{"key": "X-Tenant", "value": "7", "secret": False}]}
            | bearer("abc"),
            {"authorization": ("Bearer ***", "Bearer abc")},
        ),
        (
            {
                "headers": [
                    {"key": "Accept", "value": "application/json", "secret": False}
                ]
            },
            {},
        ),
    ],
    ids=["none", "basic", "bearer", "key", "plain row", "replaced default"],
)
def test_the_headers_that_arrive_are_the_headers_that_preview_shows(
    *,
    table: Table,
    secrets: dict[str, tuple[str, str]],
    gateway_for: GatewayFor,
    httpbin: str,
) -> None:
    gateway = gateway_for(api=api(httpbin, table))
    shown = {
        h.name.lower(): h.value
        for h in gateway.preview("api", "GET", "/headers").headers
    }
    answer = content(gateway.send("api", "GET", "/headers"))
    arrived = {name.lower(): value for name, value in answer["headers"].items()}
    assert list(shown) == list(dict.fromkeys(shown))
    assert set(shown) == set(arrived)
    for name, value in arrived.items():
        assert (shown[name], value) == secrets.get(name, (value, value))
