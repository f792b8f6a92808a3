"""Logins at Directus: token, refresh, logout, and what a test says if they fail."""

import time

import pytest

from outkey.errors import LoginRefused, TokenEndpointFailed
from outkey.sending.core.oauth2.token import State
from peers.conftest import token_actions
from peers.directus import (
    EMAIL,
    PASSWORD,
    STATIC_TOKEN,
    TOKEN_SECONDS,
    Directus,
)
from peers.documents import GatewayFor, Given, Table, bearer
from peers.test_diagnosis_peers import leaks, reasons

WRONG = "not-the-right-secret-0815"


def login(server: Directus, password: str = PASSWORD, **changed: object) -> Table:
    settings = {
        "path": "/auth/login",
        "body": '{"email": "{username}", "password": "{password}", "mode": "json"}',
        "token": "data.access_token",
        "expires_in": "data.expires",
        "expires_unit": "ms",
        "refresh_path": "/auth/refresh",
        "refresh_body": '{"refresh_token": "{refresh_token}", "mode": "json"}',
        "refresh_token": "data.refresh_token",
        "logout_path": "/auth/logout",
    }
    return {
        "base_url": server.url,
        "authentication_type": "bearer",
        "token_source": "login",
        "username": EMAIL,
        "password": Given(password),
        "login": settings | changed,
        "verification": {"test_path": "/users/me"},
    }


def test_a_static_token_is_accepted(
    directus: Directus, gateway_for: GatewayFor
) -> None:
    table = bearer(STATIC_TOKEN) | {
        "base_url": directus.url,
        "verification": {"test_path": "/users/me"},
    }
    report = gateway_for(peer=table).test("peer")
    assert (report.ok, reasons(report)) == (True, [])


def test_a_login_is_renewed_by_refresh_tokens_that_rotate(
    directus: Directus, gateway_for: GatewayFor
) -> None:
    gateway = gateway_for(peer=login(directus))
    assert gateway.test("peer").ok
    for _ in range(3):
        assert gateway.send("peer", "GET", "/users/me").status == 200
        time.sleep(TOKEN_SECONDS + 0.1)
    status = token_actions(gateway).status()
    assert (status.state, status.error) == (State.EXPIRED, None)


def test_a_session_that_ended_is_logged_in_again(
    directus: Directus, gateway_for: GatewayFor
) -> None:
    gateway = gateway_for(peer=login(directus))
    assert gateway.send("peer", "GET", "/users/me").status == 200
    directus.end_sessions()
    assert gateway.send("peer", "GET", "/users/me").status == 200
    time.sleep(TOKEN_SECONDS + 0.1)
    assert gateway.send("peer", "GET", "/users/me").status == 200


def test_a_logout_ends_the_session(directus: Directus, gateway_for: GatewayFor) -> None:
    gateway = gateway_for(peer=login(directus))
    assert gateway.send("peer", "GET", "/users/me").status == 200
    actions = token_actions(gateway)
    actions.revoke()
    assert actions.status().state is State.NONE
    assert gateway.send("peer", "GET", "/users/me").status == 200


def test_a_form_cannot_log_in_here_and_is_refused(
    directus: Directus, gateway_for: GatewayFor
) -> None:
    body = "email={username}&password={password}"
    gateway = gateway_for(peer=login(directus, format="form", body=body))
    with pytest.raises((LoginRefused, TokenEndpointFailed)):
        gateway.send("peer", "GET", "/users/me")


@pytest.mark.parametrize(
    ("password", "changed", "cause", "reason"),
    [
        (WRONG, {}, "invalid_credentials", "login-refused"),
        (
            PASSWORD,
            {"body": '{"user": "{username}", "password": "{password}"}'},
            "invalid_credentials",
            "login-refused",
        ),
        (PASSWORD, {"path": "/auth/log-in"}, "token_endpoint", "login-path-wrong"),
        (
            PASSWORD,
            {"token": "access_token"},
            "token_endpoint",
            "login-token-elsewhere",
        ),
    ],
)
def test_the_first_suspicion_is_the_right_one(
    password: str,
    changed: dict[str, object],
    cause: str,
    reason: str,
    *,
    directus: Directus,
    gateway_for: GatewayFor,
) -> None:
    table = login(directus, password, **changed)
    report = gateway_for(peer=table).test("peer")
    assert (report.cause, reasons(report)[:1]) == (cause, [reason])
    assert leaks(report, table) == []


def test_a_token_of_another_place_is_a_problem_of_the_token(
    directus: Directus, gateway_for: GatewayFor
) -> None:
    table = login(directus, token="data.refresh_token")
    report = gateway_for(peer=table).test("peer")
    assert report.cause == "invalid_credentials"
    assert "login-refused" not in reasons(report)
    assert leaks(report, table) == []


def test_a_wrong_password_is_sent_once(
    directus: Directus, gateway_for: GatewayFor
) -> None:
    gateway = gateway_for(peer=login(directus, WRONG))
    for _ in range(5):
        with pytest.raises(LoginRefused):
            gateway.send("peer", "GET", "/users/me")
    assert token_actions(gateway).status().error == "login-refused"


PLACES = {
    "a row of the query": {
        "authentication_type": "none",
        "query": [
            {"key": "access_token", "value": Given(STATIC_TOKEN), "secret": True}
        ],
    },
    "a row with text around the secret": {
        "authentication_type": "none",
        "headers": [
            {
                "key": "Authorization",
                "value": "Bearer {secret}",
                "reference": Given(STATIC_TOKEN),
            }
        ],
    },
    "a token in the query": bearer(STATIC_TOKEN)
    | {"token_header": "query:access_token"},
}


def at(directus: Directus, table: Table) -> Table:
    return table | {
        "base_url": directus.url,
        "verification": {"test_path": "/users/me"},
    }


def with_wrong_value(table: Table) -> Table:
    """Return a table whose secret is another one."""
    if "token" in table:
        return table | {"token": Given(WRONG)}
    (kind,) = {"query", "headers"} & table.keys()
    (row,) = table[kind]  # type: ignore[misc]
    wrong = {
        name: Given(WRONG) if isinstance(value, Given) else value
        for name, value in row.items()
    }
    return table | {kind: [wrong]}


@pytest.mark.parametrize("place", PLACES)
def test_a_key_is_sent_where_the_configuration_says(
    place: str, directus: Directus, gateway_for: GatewayFor
) -> None:
    gateway = gateway_for(peer=at(directus, PLACES[place]))
    report = gateway.test("peer")
    assert (report.ok, reasons(report)) == (True, [])
    shown = gateway.preview("peer", "GET", "/users/me")
    assert STATIC_TOKEN not in f"{shown.url} {shown.headers} {shown.curl()}"


@pytest.mark.parametrize("place", PLACES)
def test_a_wrong_key_is_suspected_first_wherever_it_is_sent(
    place: str, directus: Directus, gateway_for: GatewayFor
) -> None:
    table = with_wrong_value(at(directus, PLACES[place]))
    report = gateway_for(peer=table).test("peer")
    assert (report.cause, reasons(report)[:1]) == (
        "invalid_credentials",
        ["wrong-credentials"],
    )
    assert leaks(report, table) == []
