import time

import pytest

from outkey.foundation.core.origin import Origin
from outkey.sending.core.request.message import (
    Request,
    Response,
    ResponseHeaders,
    http_date,
    server_time,
)

HEADERS = ResponseHeaders(
    (("Set-Cookie", "a=1"), ("set-cookie", "b=2"), ("Date", "now"))
)


def test_headers_are_found_in_any_case_and_kept_in_order() -> None:
    assert HEADERS["SET-COOKIE"] == "a=1"
    assert HEADERS.get_all("Set-Cookie") == ["a=1", "b=2"]
    assert HEADERS.get("x", "none") == "none"
    assert "date" in HEADERS
    assert "x" not in HEADERS
    assert list(HEADERS)[2] == ("Date", "now")
    assert len(HEADERS) == 3


def test_a_header_that_is_not_there_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        HEADERS["x"]


def test_headers_show_names_only() -> None:
    assert repr(HEADERS) == "ResponseHeaders(Set-Cookie, set-cookie, Date)"


def test_a_body_is_read_as_text_or_json() -> None:
    assert Response(200, body=b'{"a": 1}').json() == {"a": 1}
    assert Response(200, body=b"\xff").text == "\ufffd"


def test_bodies_are_not_shown() -> None:
    request = Request("POST", Origin("https", "a.example", 443), "/", (), b"canary")
    assert "canary" not in repr(request) + repr(Response(200, body=b"canary"))


@pytest.mark.parametrize(
    ("origin", "authority"),
    [
        (Origin("https", "a.example", 443), "a.example"),
        (Origin("http", "a.example", 443), "a.example:443"),
        (Origin("http", "::1", 8080), "[::1]:8080"),
    ],
)
def test_the_authority_names_the_port_only_where_it_is_not_the_schemes_own(
    origin: Origin, authority: str
) -> None:
    assert origin.authority == authority


@pytest.mark.parametrize("zone", ["GMT", "+0000", "-0000", ""])
def test_a_date_in_a_header_is_meant_in_utc_where_it_names_no_zone(
    zone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    assert http_date(f"Sun, 06 Nov 1994 08:49:37 {zone}".strip()) == 784111777
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize("text", ["", "soon", "Mon, 01 Jan 99999 00:00:00 GMT"])
def test_what_is_no_date_means_no_moment(text: str) -> None:
    assert http_date(text) is None


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ((("Date", "Sun, 06 Nov 1994 08:49:37 GMT"),), 784111777),
        ((("Date", "Sun, 06 Nov 1994 08:49:37 GMT"), ("Age", " 0")), 784111777),
        ((("Date", "Sun, 06 Nov 1994 08:49:37 GMT"), ("age", "600")), None),
        ((("Date", "soon"),), None),
        ((), None),
    ],
)
def test_the_date_of_a_cached_response_is_not_the_time_of_the_server(
    headers: tuple[tuple[str, str], ...], expected: float | None
) -> None:
    assert server_time(Response(200, ResponseHeaders(headers))) == expected
