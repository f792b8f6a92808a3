"""Requests with an AWS signature: sent, previewed, retried and lent."""

from collections.abc import Iterator

import pytest

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.secret import Secret
from outkey.sending.core.request.assembly import Call
from outkey.sending.core.request.message import Request, Response, ResponseHeaders
from outkey.sending.engine.exchange.exchange import exchange
from outkey.testing import configuration, fake_gateway
from outkey.testing.fakes.basic import FakeWorld

KEY = "wJalrXUtnFEMI-canary"
AWS = {
    "authentication_type": "aws_sigv4",
    "aws__access_key_id": "AKIAEXAMPLE",
    "aws__region": "eu-central-1",
    "aws__service": "execute-api",
}


def world(*responses: Response, **values: object) -> FakeWorld:
    return fake_gateway(
        configuration(**(AWS | values)),
        responses=list(responses),
        secrets={"secret_access_key": KEY, "secret_key": "of the script"},
    )


def value(request: Request, name: str) -> str:
    [text] = [h.value for h in request.headers if h.name == name]
    return text.reveal() if isinstance(text, Secret) else text


def test_each_attempt_has_a_date_and_a_signature_of_its_own() -> None:
    later = ResponseHeaders((("Retry-After", "2"),))
    fake = world(Response(503, later), Response(200))
    assert fake.gateway.send("acme", "GET", "/items").status == 200
    first, second = (request for request, _ in fake.transport.sent)
    assert value(first, "X-Amz-Date") != value(second, "X-Amz-Date")
    assert value(first, "Authorization") != value(second, "Authorization")
    assert KEY not in str(first.headers)


def test_a_redirect_is_signed_anew_for_its_own_path() -> None:
    moved = Response(302, ResponseHeaders((("Location", "/other"),)))
    fake = world(moved, Response(200))
    fake.gateway.send("acme", "GET", "/items")
    first, second = (request for request, _ in fake.transport.sent)
    assert second.target == "/other"
    assert value(first, "Authorization") != value(second, "Authorization")


def test_the_clock_of_the_api_is_signed_where_it_is_followed() -> None:
    # An hour after the clock of the fake.
    later = ResponseHeaders((("Date", "Fri, 15 Jan 2027 09:00:00 GMT"),))
    fake = world(Response(403, later), Response(200), verification__follow_clock=True)
    fake.gateway.send("acme", "GET", "/items")
    fake.gateway.send("acme", "GET", "/items")
    first, second = (request for request, _ in fake.transport.sent)
    assert value(first, "X-Amz-Date") == "20270115T080000Z"
    assert value(second, "X-Amz-Date") == "20270115T090000Z"


def test_a_preview_shows_the_date_and_masks_the_signature() -> None:
    fake = world()
    shown = fake.gateway.preview("acme", "POST", "/items", json={"a": 1})
    headers = {name: text for name, text, _ in shown.headers}
    assert headers["Authorization"] == "AWS4-HMAC-SHA256 ***"
    assert headers["X-Amz-Date"] == "20270115T080000Z"
    assert KEY not in repr(shown)
    assert not fake.transport.sent


def test_a_body_of_parts_has_the_same_signature_as_the_whole() -> None:
    class Parts:
        def __len__(self) -> int:
            return 2

        def parts(self) -> Iterator[bytes]:
            yield from (b"a", b"b")

    fake = world(Response(200), Response(200), aws__service="s3")
    acme = fake.ports.configurations.get("acme")
    for body in (Parts(), b"ab"):
        call = Call(acme, "PUT", "/bucket/key", body=body)
        fake.sender.run(exchange(fake.sender.context, call))
    first, second = (request for request, _ in fake.transport.sent)
    assert value(first, "Authorization") == value(second, "Authorization")


def test_a_signature_is_lent_for_a_known_body_and_the_headers_that_are_there() -> None:
    fake = world()
    loan = fake.gateway.lend(
        "acme",
        "POST",
        "https://api.acme.example/items",
        {"Content-Type": "application/json", "X-Amz-Target": "Q.List", "Accept": "*/*"},
        body=b"{}",
    )
    lent = {header.name: header.value for header in loan.headers}
    assert set(lent) == {"X-Amz-Date", "Authorization"}
    assert isinstance(lent["Authorization"], Secret)
    names = "SignedHeaders=content-type;host;x-amz-date;x-amz-target,"
    assert names in lent["Authorization"].reveal()
    assert fake.gateway.settle(loan, 403) is False


@pytest.mark.parametrize(
    ("headers", "body", "problem"),
    [
        ({}, None, "stream"),
        (["Content-Type"], b"{}", "Content-Type has to be signed"),
    ],
)
def test_what_cannot_be_signed_is_not_lent(
    headers: object, body: bytes | None, problem: str
) -> None:
    fake = world()
    url = "https://api.acme.example/items"
    with pytest.raises(ConfigError, match=problem):
        fake.gateway.lend("acme", "POST", url, headers, body=body)  # type: ignore[arg-type]
    assert not fake.transport.sent


def test_a_header_of_the_caller_cannot_replace_the_signature() -> None:
    fake = world()
    with pytest.raises(ConfigError):
        fake.gateway.send(
            "acme", "GET", "/", headers={"X-Amz-Date": "20200101T000000Z"}
        )
    assert not fake.transport.sent
