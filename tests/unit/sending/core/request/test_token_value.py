"""Token value and Token encoding: a user name and a token sent as one value."""

from base64 import b64encode

import pytest

from outkey.foundation.core.errors import ConfigError, HeaderFormatError
from outkey.foundation.core.secret import Secret
from outkey.sending.core.request.message import Response
from outkey.testing import configuration, fake_gateway
from outkey.testing.fakes.basic import FakeWorld

TOKEN = "the-entered-token"
ENCODED = b64encode(f"erp:{TOKEN}".encode()).decode()


def world(**values: object) -> FakeWorld:
    settings = {
        "authentication_type": "bearer",
        "username": "erp",
        "token_header": "X-Devpi-Auth",
        "token_value": "{username}:{token}",
        "token_encoding": "base64",
    }
    return fake_gateway(configuration(**(settings | values)), secrets={"token": TOKEN})


def sent_header(fake: FakeWorld, name: str = "X-Devpi-Auth") -> str:
    fake.gateway.send("acme", "GET", "/")
    request, _ = fake.transport.sent[-1]
    value = next(header.value for header in request.headers if header.name == name)
    assert isinstance(value, Secret)
    return value.reveal()


def test_user_name_and_token_are_sent_as_one_in_base64() -> None:
    assert sent_header(world()) == ENCODED


def test_a_prefix_stands_before_the_encoded_value() -> None:
    fake = world(token_header="Authorization", token_prefix="Custom")
    assert sent_header(fake, "Authorization") == f"Custom {ENCODED}"


def test_a_value_may_be_combined_without_encoding() -> None:
    fake = world(token_encoding="none", token_value="{username}/v1:{token};end")
    assert sent_header(fake) == f"erp/v1:{TOKEN};end"


def test_a_token_may_be_encoded_alone() -> None:
    fake = world(token_value="{token}")
    assert sent_header(fake) == b64encode(TOKEN.encode()).decode()


def test_a_user_name_outside_ascii_is_encoded_as_utf_8_and_refused_in_clear() -> None:
    expected = b64encode(f"jürgen:{TOKEN}".encode()).decode()
    assert sent_header(world(username="jürgen")) == expected
    with pytest.raises(HeaderFormatError):
        sent_header(world(username="jürgen", token_encoding="none"))


def test_a_user_name_that_looks_like_a_placeholder_is_not_replaced() -> None:
    expected = b64encode(f"{{token}}:{TOKEN}".encode()).decode()
    assert sent_header(world(username="{token}")) == expected


def test_a_query_parameter_may_have_the_encoded_value() -> None:
    fake = world(token_header="query:auth")
    fake.gateway.send("acme", "GET", "/")
    target = fake.transport.sent[-1][0].wire_target()
    assert isinstance(target, Secret)
    assert target.reveal().startswith("/?auth=ZXJwOn")


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ({}, "***"),
        ({"token_encoding": "none"}, "erp:***"),
        ({"token_header": "Authorization"}, "Bearer ***"),
        (
            {"token_header": "Authorization", "token_encoding": "none"},
            "Bearer erp:***",
        ),
        ({"token_value": "{token}", "token_encoding": "none"}, "***"),
        (
            {"token_header": "cookie:sid", "token_encoding": "none"},
            "sid=erp:***",
        ),
    ],
)
def test_a_preview_masks_the_value(values: dict[str, object], shown: str) -> None:
    preview = world(**values).gateway.preview("acme")
    header = next(row for row in preview.headers if row.source == "authentication")
    assert header.value == shown
    assert TOKEN not in repr(preview)
    assert "ZXJw" not in repr(preview)


@pytest.mark.parametrize("echo", [TOKEN, ENCODED])
def test_an_echo_of_the_token_is_masked_raw_and_encoded(echo: str) -> None:
    fake = world()
    body = f'{{"error": "not valid: {echo}"}}'.encode()
    fake.transport.answers = [Response(401, body=body)] * 2
    report = fake.gateway.test("acme")
    assert not report.ok
    assert echo not in repr(report)
    assert all(echo not in str(step.detail) for step in report.steps)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("", "must contain {token} once"),
        ("{username}", "must contain {token} once"),
        ("{token}{token}", "must contain {token} once"),
        ("{token}:{password}", "may contain {token} and {username} only"),
        ("{token}:{0}", "may contain {token} and {username} only"),
    ],
)
def test_a_token_value_has_one_token_and_no_other_placeholder(
    value: str, message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        world(token_value=value)
    assert message in str(caught.value)
    assert caught.value.field == "token_value"


def test_a_line_break_in_a_token_value_is_refused() -> None:
    with pytest.raises(ConfigError):
        world(token_value="{token}\nX-Evil: 1")


def test_a_missing_user_name_is_a_finding() -> None:
    findings = world(username="").gateway.preview("acme").findings
    assert "username" in [finding.field for finding in findings]
    findings = (
        world(username="", token_value="{token}").gateway.preview("acme").findings
    )
    assert "username" not in [finding.field for finding in findings]
