"""nginx accepts who we are, and its refusals are read for what they mean."""

import pytest

from outkey import Gateway
from peers.documents import GatewayFor, Table, basic, bearer, row
from peers.servers import USERS, Nginx, Wire

CHECK_CREDENTIALS = "Check the username and password, or the token."
CHECK_PERMISSIONS = "Check the permissions of the API user."
CHECK_HEADER = "Review the authentication header format."
REFRESH = "Implement a token refresh mechanism"


def api(nginx: Nginx, table: Table, **limits: object) -> Table:
    return {"base_url": nginx.url("main"), "limits": {"retries": 0} | limits} | table


@pytest.fixture
def alice(gateway_for: GatewayFor, nginx: Nginx) -> Gateway:
    return gateway_for(api=api(nginx, basic("alice", USERS["alice"])))


# ── accepted ──────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("username", "password"),
    USERS.items(),
    ids=["ASCII", "UTF-8", "empty password", "colon"],
)
def test_nginx_knows_the_user_by_name_and_password(
    username: str, password: str, gateway_for: GatewayFor, nginx: Nginx, wire: Wire
) -> None:
    gateway = gateway_for(api=api(nginx, basic(username, password)))
    response = gateway.send("api", "GET", "/basic")
    assert (response.status, response.cause) == (200, None)
    assert response.json() == {"user": username}
    [arrival] = wire.arrivals()
    assert (arrival.server, arrival.user, arrival.status) == ("main", username, 200)
    assert arrival.host == f"127.0.0.1:{nginx.ports['main']}"


def test_a_decomposed_password_arrives_composed(
    gateway_for: GatewayFor, nginx: Nginx
) -> None:
    # The same letters as a Mac's keyboard or a file system may give them:
    # u and a diaeresis.
    decomposed = basic("ju\u0308rgen", "pa\u0308sswo\u0308rd€")
    response = gateway_for(api=api(nginx, decomposed)).send("api", "GET", "/basic")
    assert response.json() == {"user": "jürgen"}


def test_a_bearer_token_is_accepted(
    gateway_for: GatewayFor, nginx: Nginx, wire: Wire
) -> None:
    response = gateway_for(api=api(nginx, bearer("good-token"))).send(
        "api", "GET", "/bearer"
    )
    assert (response.status, response.json()) == (200, {"token": "good"})
    [arrival] = wire.arrivals()
    assert arrival.credentials == ("Bearer good-token", "", "")


def test_an_api_key_row_is_accepted_and_comes_alone(
    gateway_for: GatewayFor, nginx: Nginx, wire: Wire
) -> None:
    response = gateway_for(api=api(nginx, row("X-API-Key", "k-123"))).send(
        "api", "GET", "/key"
    )
    assert (response.status, response.json()) == (200, {"key": "good"})
    [arrival] = wire.arrivals()
    assert arrival.credentials == ("", "k-123", "")


def test_a_row_travels_beside_the_authentication_type(
    gateway_for: GatewayFor, nginx: Nginx, wire: Wire
) -> None:
    both = bearer("good-token") | row("X-API-Key", "k-123")
    gateway_for(api=api(nginx, both)).send("api", "GET", "/key")
    [arrival] = wire.arrivals()
    assert arrival.credentials == ("Bearer good-token", "k-123", "")


# ── refused ───────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("table", "path", "status", "cause", "remedy"),
    [
        (
            basic("alice", "wrong"),
            "/basic",
            401,
            "invalid_credentials",
            CHECK_CREDENTIALS,
        ),
        (
            basic("nobody", "s3cret"),
            "/basic",
            401,
            "invalid_credentials",
            CHECK_CREDENTIALS,
        ),
        (basic("colon", "a"), "/basic", 401, "invalid_credentials", CHECK_CREDENTIALS),
        (bearer("expired-token"), "/bearer", 401, "token_expired", REFRESH),
        (
            bearer("no-such-token"),
            "/bearer",
            401,
            "invalid_credentials",
            CHECK_CREDENTIALS,
        ),
        ({}, "/bearer", 401, "invalid_credentials", CHECK_CREDENTIALS),
        (basic("alice", "s3cret"), "/bearer", 401, "header_format", CHECK_HEADER),
        (bearer("good-token"), "/basic", 401, "header_format", CHECK_HEADER),
        (
            basic("alice", "s3cret"),
            "/admin",
            403,
            "insufficient_permissions",
            CHECK_PERMISSIONS,
        ),
        (
            bearer("good-token"),
            "/scope",
            403,
            "insufficient_permissions",
            CHECK_PERMISSIONS,
        ),
        (
            row("X-API-Key", "old"),
            "/key",
            403,
            "insufficient_permissions",
            CHECK_PERMISSIONS,
        ),
        (bearer("good-token"), "/nothing", 404, "not_found", "Check Base URL and path"),
        (bearer("good-token"), "/limited/hour", 429, "rate_limited", "Send less often"),
        (bearer("good-token"), "/down", 503, "server_error", "Retry later"),
    ],
    ids=lambda value: (
        value if isinstance(value, str) and value.startswith("/") else None
    ),
)
def test_a_refusal_has_a_cause_and_a_remedy(
    *,
    table: Table,
    path: str,
    status: int,
    cause: str,
    remedy: str,
    gateway_for: GatewayFor,
    nginx: Nginx,
    wire: Wire,
) -> None:
    response = gateway_for(api=api(nginx, table)).send("api", "GET", path)
    assert (response.status, response.cause) == (status, cause)
    assert response.remedy is not None
    assert response.remedy.startswith(remedy)
    assert [(a.target, a.status) for a in wire.arrivals()] == [(path, status)]


@pytest.mark.parametrize("path", ["/basic", "/admin"])
def test_the_specification_has_the_last_word_on_401_and_403(
    path: str, gateway_for: GatewayFor, nginx: Nginx
) -> None:
    password = "wrong" if path == "/basic" else USERS["alice"]
    response = gateway_for(api=api(nginx, basic("alice", password))).send(
        "api", "GET", path
    )
    assert (
        response.remedy
        == {"/basic": CHECK_CREDENTIALS, "/admin": CHECK_PERMISSIONS}[path]
    )


def test_the_wrong_kind_of_credential_is_told_what_the_api_wants(
    gateway_for: GatewayFor, nginx: Nginx
) -> None:
    gateway = gateway_for(api=api(nginx, basic("alice", "s3cret")))
    remedy = gateway.send("api", "GET", "/bearer").remedy
    assert remedy == f"{CHECK_HEADER} The API asks for Bearer."


def test_a_refusal_of_entered_credentials_is_not_repeated(
    gateway_for: GatewayFor, nginx: Nginx, wire: Wire
) -> None:
    gateway = gateway_for(api=api(nginx, basic("alice", "wrong"), retries=5))
    assert gateway.send("api", "GET", "/basic").status == 401
    assert len(wire.arrivals()) == 1


def test_a_token_too_large_for_the_server_is_a_header_format_error(
    gateway_for: GatewayFor, nginx: Nginx, wire: Wire
) -> None:
    small = {"base_url": nginx.url("small"), "limits": {"retries": 0}}
    gateway = gateway_for(
        fits=small | bearer("x" * 3000), too_large=small | bearer("x" * 5000)
    )
    assert gateway.send("fits", "GET", "/").status == 200
    response = gateway.send("too_large", "GET", "/")
    assert (response.status, response.cause) == (400, "header_format")
    assert str(response.remedy).startswith(CHECK_HEADER)
    assert [arrival.status for arrival in wire.arrivals("small")] == [200, 400]


# ── retried ───────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("retries", [0, 1, 3])
def test_429_is_retried_as_often_as_configured(
    retries: int, gateway_for: GatewayFor, nginx: Nginx, wire: Wire
) -> None:
    gateway = gateway_for(api=api(nginx, bearer("good-token"), retries=retries))
    response = gateway.send("api", "GET", "/limited/now")
    assert (response.status, response.cause) == (429, "rate_limited")
    arrivals = wire.arrivals()
    assert len(arrivals) == 1 + retries
    assert {a.authorization for a in arrivals} == {"Bearer good-token"}


def test_a_retry_waits_as_long_as_the_server_asked(
    gateway_for: GatewayFor, nginx: Nginx, wire: Wire
) -> None:
    gateway = gateway_for(api=api(nginx, bearer("good-token"), retries=1))
    assert gateway.send("api", "GET", "/limited/second").status == 429
    first, second = wire.arrivals()
    assert 0.99 <= second.at - first.at < 5


def test_a_wait_beyond_the_total_time_is_not_begun(
    gateway_for: GatewayFor, nginx: Nginx, wire: Wire
) -> None:
    gateway = gateway_for(
        api=api(nginx, bearer("good-token"), retries=5, total_timeout=5)
    )
    assert gateway.send("api", "GET", "/limited/hour").cause == "rate_limited"
    assert len(wire.arrivals()) == 1


def test_503_is_retried_and_its_html_handed_over(
    gateway_for: GatewayFor, nginx: Nginx, wire: Wire
) -> None:
    gateway = gateway_for(api=api(nginx, bearer("good-token"), retries=1))
    response = gateway.send("api", "GET", "/down")
    assert (response.status, response.cause) == (503, "server_error")
    assert (response.headers["Content-Type"], response.text) == (
        "text/html",
        "<html>not json</html>",
    )
    assert [arrival.status for arrival in wire.arrivals()] == [503, 503]


@pytest.mark.parametrize("method", ["POST", "PATCH"])
def test_a_method_that_is_not_idempotent_is_sent_once(
    method: str, gateway_for: GatewayFor, nginx: Nginx, wire: Wire
) -> None:
    gateway = gateway_for(api=api(nginx, bearer("good-token"), retries=5))
    assert gateway.send("api", method, "/limited/now", json={}).status == 429
    assert [arrival.method for arrival in wire.arrivals()] == [method]


# ── the shape of requests ─────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "method", ["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"]
)
def test_every_method_arrives_authenticated(
    method: str, alice: Gateway, wire: Wire
) -> None:
    response = alice.send("api", method, "/basic")
    assert response.status == 200
    [arrival] = wire.arrivals()
    assert (arrival.method, arrival.user) == (method, "alice")
    assert arrival.content_length == ("0" if method in {"POST", "PUT", "PATCH"} else "")


def test_path_and_query_arrive_encoded(alice: Gateway, wire: Wire) -> None:
    alice.send("api", "GET", "/basic/über uns", params={"q": "a&b", "page": 2})
    [arrival] = wire.arrivals()
    assert arrival.target == "/basic/%C3%BCber%20uns?q=a%26b&page=2"
    assert arrival.status == 200


def test_a_body_arrives_with_its_length(alice: Gateway, wire: Wire) -> None:
    assert alice.send("api", "POST", "/basic", json={"größe": 1}).status == 200
    [arrival] = wire.arrivals()
    assert arrival.content_length == str(len('{"größe": 1}'.encode()))


def test_one_connection_serves_many_requests(alice: Gateway, wire: Wire) -> None:
    for _ in range(5):
        assert alice.send("api", "GET", "/basic").status == 200
    assert len({arrival.connection for arrival in wire.arrivals()}) == 1
