"""The body of a connection test: what is sent, and what is refused."""

import json

import pytest

from outkey.foundation.core.errors import ConfigError
from outkey.sending.core.configuration.body_credentials import (
    credentials_in_body,
    text_members,
)
from outkey.sending.core.configuration.checks import refuse_unsavable
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.request.message import Header, Source
from outkey.testing import configuration, fake_gateway

CALL = '{"jsonrpc": "2.0", "method": "system.version", "id": 1}'
KEYSTONE = {
    "auth": {
        "identity": {
            "methods": ["password"],
            "password": {"user": {"name": "erp", "password": "hunter2hunter2"}},
        }
    }
}


def with_body(body: str, **settings: str) -> Configuration:
    values: dict[str, object] = {
        "verification.test_body": body,
        "verification.test_method": "POST",
        "no_auth_reason": "public_api",
    }
    return configuration(**values | settings)


def test_a_test_sends_its_body_with_its_content_type() -> None:
    fake = fake_gateway(with_body(CALL))
    assert fake.gateway.test("acme").ok
    request, _ = fake.transport.sent[-1]
    assert (request.method, request.body) == ("POST", CALL.encode())
    assert Header("Content-Type", "application/json", Source.DEFAULT) in request.headers


def test_another_content_type_is_sent_as_it_is_configured() -> None:
    other = {"verification.test_content_type": "application/x-amz-json-1.0"}
    fake = fake_gateway(with_body("{}", **other))
    fake.gateway.test("acme")
    request, _ = fake.transport.sent[-1]
    (value,) = [h.value for h in request.headers if h.name == "Content-Type"]
    assert value == "application/x-amz-json-1.0"


def test_without_a_body_no_content_type_is_sent() -> None:
    fake = fake_gateway(with_body(""))
    fake.gateway.test("acme")
    request, _ = fake.transport.sent[-1]
    assert "Content-Type" not in [header.name for header in request.headers]


def test_a_script_signs_the_body_of_the_test() -> None:
    script = "def compute_auth_header(sync_line):\n    return {}\n"
    fake = fake_gateway(with_body(CALL, script=script))
    fake.gateway.test("acme")
    assert {call.body for call in fake.scripts.calls} == {CALL.encode()}


def test_a_preview_of_the_test_request_has_its_body() -> None:
    fake = fake_gateway(with_body(CALL))
    names = [row.name for row in fake.gateway.preview("acme", "POST", None).headers]
    assert "Content-Type" in names
    names = [row.name for row in fake.gateway.preview("acme", "POST", "/x").headers]
    assert "Content-Type" not in names


@pytest.mark.parametrize(
    "body",
    [
        CALL,
        '[["who", {}, "tag1"]]',
        '{"TableName": "orders"}',
        '{"query": "{me}"}',
        '{"token_type": "all", "key": "name", "password_required": true}',
        '{"password": "<password>"}',
        "<methodCall><methodName>system.listMethods</methodName></methodCall>",
        "action=list&limit=1",
        "{not json, password: x}",
        "[" * 5000,
    ],
)
def test_a_body_without_a_credential_is_accepted(body: str) -> None:
    made = with_body(body)
    refuse_unsavable(made)
    assert made.verification.test_body == body


@pytest.mark.parametrize(
    ("body", "member"),
    [
        (json.dumps(KEYSTONE), "auth.identity.password.user.password"),
        ('[["auth", {"user": "erp", "pass": "open-sesame"}]]', "pass"),
        ('{"params": {"user": "erp", "apikey": "k3y-0815-2"}}', "params.apikey"),
        ("user=erp&password=open-sesame", "password"),
        ('{"x": "Bearer eyJhbGciOiJIUzI1NiJ9"}', "x"),
    ],
)
def test_a_credential_in_the_body_is_refused_and_not_repeated(
    body: str, member: str
) -> None:
    with pytest.raises(ConfigError, match=f"a credential in {member},") as caught:
        refuse_unsavable(with_body(body))
    assert caught.value.field == "verification.test_body"
    text = str(caught.value) + str(caught.value.__notes__)
    assert not any(part in text for part in ("hunter2", "sesame", "0815", "eyJ"))


@pytest.mark.parametrize(
    "name", ["username", "password", "token", "secret", "secret_key", "client_secret"]
)
def test_a_placeholder_of_a_credential_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="must not have a placeholder"):
        refuse_unsavable(with_body(f'{{"key": "{{{name}}}"}}'))


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_body_needs_a_method_that_has_one(method: str) -> None:
    with pytest.raises(ConfigError, match="must be one that has a body") as caught:
        refuse_unsavable(with_body(CALL, **{"verification.test_method": method}))
    assert caught.value.field == "verification.test_method"


def test_a_body_has_a_limit() -> None:
    assert with_body("x" * 16_384).verification.test_body
    with pytest.raises(ConfigError, match="longer than 16384 characters"):
        with_body("x" * 16_385)


def test_a_content_type_has_no_line_break() -> None:
    with pytest.raises(ConfigError):
        with_body(CALL, **{"verification.test_content_type": "a/b\r\nX-Evil: 1"})


def test_placeholders_count_where_they_stand_for_a_credential() -> None:
    body = '{"user": "me", "password": "<password>"}'
    assert credentials_in_body(body) == []
    (member,) = credentials_in_body(body, with_placeholders=True)
    assert (member.name, member.label) == ("password", "password")


def test_at_most_1000_parts_of_a_body_are_read() -> None:
    body = json.dumps([{"a": str(number)} for number in range(2000)])
    assert 0 < len(text_members(body)) < 1000
