"""Hostile values of variables, in each place that a value can be filled into."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outkey.foundation.core.errors import ConfigError, OutkeyError, PolicyError
from outkey.foundation.core.origin import parse_endpoint
from outkey.sending.core.connections.allowed_origins import (
    parse_origin_pattern,
    refuse_foreign,
)
from outkey.sending.core.connections.url_templates import fill_url
from outkey.sending.core.connections.variables import (
    check_variable,
    fill_segment_path,
    fill_text,
)
from outkey.sending.core.request.headers import check_value

PATTERNS = [
    parse_origin_pattern(text, "allowed_origins")
    for text in ("https://*.books.example", "https://api.books.example:8443")
]
# One value in each line; none is allowed in the places after it.
# h: the host of https://{x}.books.example; b: the beginning of {x}/v2;
# p: a segment of a path; t: the text of a header.
HOSTILE = [
    ("evil.example/", "hb"),
    ("evil.example#", "hb"),
    ("evil.example?", "hb"),
    ("evil.example\\", "hb"),
    ("evil.example:443/", "hb"),
    ("evil.example:8443", "hb"),
    ("evil.example@", "hb"),
    ("@evil.example", "hb"),
    ("ann@evil", "hb"),
    ("ann:pw@evil", "hb"),
    ("//evil.example", "hb"),
    ("/\\evil.example", "hb"),
    ("\\\\evil.example", "hb"),
    ("https://evil.example", "hb"),
    ("https://evil.example/v2/..", "hb"),
    ("http://eu1.books.example", "hb"),
    ("https://eu1.books.example:8080", "hb"),
    ("https://eu1.books.example@evil.example", "hb"),
    ("https://evil.example@eu1.books.example", "hb"),
    ("https://ann:pw@eu1.books.example", "hb"),
    ("https://eu1.books.example%40evil.example", "hb"),
    ("https://evil.example/eu1.books.example", "hb"),
    ("https://evil.example#.books.example", "hb"),
    ("https://evil.example?.books.example", "hb"),
    ("https://evil.example\\.books.example", "hb"),
    ("https://evil.example%2f.books.example", "hb"),
    ("https://evil.example%00.books.example", "hb"),
    ("https://eu1.books.example.evil.example", "hb"),
    ("https://evilbooks.example", "hb"),
    ("https://books.example", "hb"),
    ("https://eu1.books.example.", "hb"),
    ("https://eu1.books.example./v2", "hb"),
    ("https://eu1.books.example.:443", "hb"),
    ("https://eu1.books.example/?x=1", "hb"),
    ("https://eu1.books.example/#x", "hb"),
    ("https://eu1.books.example/..", "hb"),
    ("https://eu1.books.example/a/../b", "hb"),
    ("https://eu1.books.example/%2e%2E/b", "hb"),
    ("https://eu1.books.example/%252e%252e", "hb"),
    ("https://eu1.books.example/..%2fb", "hb"),
    ("https://eu1.books.example/..\\b", "hb"),
    ("https://eu1.books.example/..;/b", "hb"),
    ("https://eu1.books.example:99999", "hb"),
    ("https://eu1.books.example:0", "hb"),
    ("https://eu1.books.example:\u0664\u0664\u0663", "hb"),
    ("https:eu1.books.example", "hb"),
    ("https:/eu1.books.example", "hb"),
    ("https:///eu1.books.example", "hb"),
    ("https://", "hb"),
    ("ftp://eu1.books.example", "hb"),
    ("file:///etc/passwd", "hb"),
    ("javascript:alert(1)//", "hb"),
    ("data:text/html,x", "hb"),
    (" https://eu1.books.example", "hb"),
    ("https://eu1.books.example ", "hb"),
    ("https://eu1 .books.example", "hb"),
    ("https://127.0.0.1", "hb"),
    ("https://127.1", "hb"),
    ("https://2130706433", "hb"),
    ("https://0x7f000001", "hb"),
    ("https://0x7f.0.0.1", "hb"),
    ("https://0177.0.0.1", "hb"),
    ("https://127.0.0.1.", "hb"),
    ("https://169.254.169.254", "hb"),
    ("https://[::1]", "hb"),
    ("https://[::ffff:127.0.0.1]", "hb"),
    ("https://[fe80::1%25eth0]", "hb"),
    ("https://[v1.x]", "hb"),
    ("https://localhost", "hb"),
    ("https://b\u00fccher.example", "hb"),
    ("https://eu1.b\u00f6oks.example", "hb"),
    ("https://eu1.books.\u0435xample", "hb"),  # a Cyrillic letter
    ("https://\u2460.books.example", "hb"),
    ("https://eu1\u3002books\u3002example", "hb"),  # full stops to IDNA
    ("https://eu1.books.example\uff0fa", "hb"),
    ("xn--bcher-kva", "h"),
    ("a.xn--bcher-kva", "h"),
    ("b\u00fccher", "h"),
    ("\u0435u1", "h"),
    ("\u2460", "h"),
    ("eu1\uff0eevil", "h"),
    ("eu1\u3002evil", "h"),
    ("eu1_a", "h"),
    ("eu1%2e", "h"),
    ("eu1%00", "h"),
    ("eu1:443", "h"),
    ("eu1.", "h"),
    (".eu1", "h"),
    ("a..b", "h"),
    ("-eu1", "h"),
    ("eu1-", "h"),
    ("*", "h"),
    ("[::1]", "h"),
    ("eu1 ", "h"),
    ("e" * 64, "h"),
    ("e." * 130 + "e", "h"),
    ("a/../b", "hbp"),
    ("..\\b", "hbp"),
    ("../", "hbp"),
    ("..%2f", "hbp"),
    ("%2e%2e", "hbp"),
    ("%2e.", "hbp"),
    ("%252e%252e", "hbp"),
    ("%c0%ae%c0%ae", "hbp"),
    ("%u002e%u002e", "hbp"),
    ("..;x=1", "hbp"),
    ("\uff0e\uff0e", "hbpt"),
    ("\u2025", "hbpt"),
    (".. ", "hbpt"),
    ("eu1\r\nX-Admin: 1", "hbpt"),
    ("eu1\n", "hbpt"),
    ("eu1\r", "hbpt"),
    ("\teu1", "hbpt"),
    ("eu1\x00", "hbpt"),
    ("eu1\x0b", "hbpt"),
    ("eu1\x1b[2J", "hbpt"),
    ("eu1\x7f", "hbpt"),
    ("eu1\x85", "hbpt"),
    ("eu1\u2028X-Admin: 1", "hbpt"),
    ("eu1\u2029", "hbpt"),
    ("eu1\u202eelpmaxe", "hbpt"),
    ("\u2066eu1\u2069", "hbpt"),
    ("\u200feu1", "hbpt"),
    ("\ud800", "hbpt"),
    (".", "hbpt"),
    ("..", "hbpt"),
    ("", "hbpt"),
    ("e" * 501, "hbpt"),
    ("https://eu1.books.example/" + "a" * 500, "hbpt"),
]
PLACES = {"h": "host", "b": "beginning", "p": "path", "t": "text"}


def fill(place: str, value: str) -> str:
    """Return what a value makes of a place, if nothing refuses it."""
    values = {"x": value}
    if place == "path":
        return fill_segment_path("/v2/{x}/a", values, declared=values)
    if place == "text":
        return check_value(fill_text("tenant={x}", values), field="headers[0].value")
    template = "https://{x}.books.example/v2" if place == "host" else "{x}/v2"
    url = fill_url(template, values, "base_url")
    refuse_foreign(parse_endpoint(url, "base_url").origin, PATTERNS, "base_url")
    return url


@pytest.mark.parametrize(
    ("place", "value"),
    [
        pytest.param(PLACES[letter], value, id=f"{PLACES[letter]}-{number}")
        for number, (value, letters) in enumerate(HOSTILE)
        for letter in letters
    ],
)
def test_a_hostile_value_is_refused_and_not_repeated(place: str, value: str) -> None:
    with pytest.raises((ConfigError, PolicyError)) as caught:
        fill(place, value)
    error = caught.value
    assert error.hint
    shown = f"{error.message} {error.hint} {error.field} {error.__notes__}"
    for part in (value, value[:30]):
        assert len(part) < 4 or part not in shown


@pytest.mark.parametrize(
    ("place", "value", "filled"),
    [
        ("host", "eu1", "https://eu1.books.example/v2"),
        ("beginning", "https://eu1.books.example", "https://eu1.books.example/v2"),
        (
            "beginning",
            "https://api.books.example:8443",
            "https://api.books.example:8443/v2",
        ),
        ("path", "//evil.example", "/v2/%2F%2Fevil.example/a"),
        ("path", "a@b?c#d\\e%f", "/v2/a%40b%3Fc%23d%5Ce%25f/a"),
        ("text", "a@b?c#d\\e%f", "tenant=a@b?c#d\\e%f"),
    ],
)
def test_the_same_places_take_usual_values(place: str, value: str, filled: str) -> None:
    assert fill(place, value) == filled


PIECES = st.sampled_from(
    [
        "https://",
        "http://",
        "eu1",
        ".books.example",
        "api.books.example:8443",
        "evil.example",
        "127.0.0.1",
        "[::1]",
        "xn--",
        "%2e",
        "%2f",
        "..",
        *"/\\@:?#.-%;[] \n\x00{}",
        "{x}",
        "\u3002",
        "\uff0f",
        "\u202e",
    ]
)
USUAL = st.sampled_from(["eu1", "a.b", "https://eu1.books.example"])
VALUES = st.one_of(
    st.lists(PIECES | st.characters(), max_size=10).map("".join),
    st.tuples(USUAL, PIECES | st.characters() | st.just("")).map("".join),
)
ALLOWED_HOST = re.compile(r"[a-z0-9._-]+\.books\.example|api\.books\.example:8443")
TEMPLATES = st.sampled_from(
    [
        "{x}",
        "{x}/v2/{y}",
        "{x}?a=1",
        "https://{x}.books.example/v2",
        "https://{x}{y}.books.example:8443/{x}",
        "https://{x}.{y}/v2",
        "https://{x}:8443",
        "https://api.books.example:8443/{x}/{y}",
    ]
)


@given(TEMPLATES, VALUES, VALUES)
def test_whatever_the_values_are_the_origin_is_allowed_or_the_send_is_refused(
    template: str, first: str, second: str
) -> None:
    try:
        url = fill_url(template, {"x": first, "y": second}, "base_url")
        origin = parse_endpoint(url, "base_url").origin
        refuse_foreign(origin, PATTERNS, "base_url")
    except OutkeyError:
        return
    assert any(pattern.matches(origin) for pattern in PATTERNS)
    # As any other reader of the text sees it.
    host = url.removeprefix("https://").partition("/")[0].partition("?")[0]
    assert ALLOWED_HOST.fullmatch(host)
    assert url.isascii()
    assert not set(url) & set("\\{}# ")


@given(VALUES, VALUES)
def test_whatever_the_values_are_the_path_has_as_many_segments_as_its_template(
    first: str, second: str
) -> None:
    values = {"x": first, "y": second}
    try:
        path = fill_segment_path("/v2/{x}{y}/a-{y}", values, declared=values)
    except OutkeyError:
        return
    assert path.count("/") == 3
    assert not set(path) & set("?#\\{} ")
    assert ".." not in path.split("/")


@given(VALUES)
def test_a_value_that_is_stored_can_be_stored_again(value: str) -> None:
    try:
        stored = check_variable("x", value)
    except ConfigError as error:
        assert len(value) < 8 or value not in error.message
        return
    assert stored == check_variable("x", stored) == value
