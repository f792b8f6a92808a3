"""Which origins a connection's variables may lead to."""

import pytest

from outkey.foundation.core.errors import ConfigError, EgressDenied
from outkey.foundation.core.origin import parse_endpoint
from outkey.hosts.cli.printing.output import exit_code_of
from outkey.sending.core.connections.allowed_origins import (
    OriginPattern,
    bound_text,
    parse_origin_pattern,
    refuse_foreign,
)

FIELD = "allowed_origins"


def pattern(text: str) -> OriginPattern:
    return parse_origin_pattern(text, FIELD)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("https://api.books.example", "https://api.books.example:443"),
        ("https://api.books.example:443", "https://api.books.example:443"),
        ("https://api.books.example:8443", "https://api.books.example:8443"),
        ("http://127.0.0.1:8123", "http://127.0.0.1:8123"),
        ("http://localhost:8123", "http://localhost:8123"),
        ("https://[::1]:8443", "https://[::1]:8443"),
        ("https://xn--bcher-kva.example", "https://xn--bcher-kva.example:443"),
        ("https://*.books.example", "https://*.books.example:443"),
        ("https://*.eu.books.example:8443", "https://*.eu.books.example:8443"),
        ("https://*.co.example", "https://*.co.example:443"),
    ],
)
def test_a_pattern_is_an_origin_with_an_exact_port(text: str, canonical: str) -> None:
    assert str(pattern(text)) == canonical


@pytest.mark.parametrize(
    "text",
    [
        "",
        "*",
        "https://",
        "https://*",
        "https://*.",
        "https://*.example",
        "https://*.com",
        "https://*.localhost:8123",
        "https://*books.example",
        "https://api.*.example",
        "https://*.*.books.example",
        "https://**.books.example",
        "*.books.example",
        "//api.books.example",
        "ftp://api.books.example",
        "*://api.books.example",
        "https://api.books.example/",
        "https://api.books.example/v2",
        "https://api.books.example?x=1",
        "https://api.books.example#x",
        "https://ann@api.books.example",
        "https://ann:pw@api.books.example",
        "https://api.books.example@evil.example",
        "https://api.books.example\\@evil.example",
        "https://api.books.example:",
        "https://api.books.example:*",
        "https://api.books.example:0",
        "https://api.books.example:0443",
        "https://api.books.example:99999",
        "https://api.books.example.",
        "https://*.books.example.",
        "https://api..books.example",
        "https://.books.example",
        "https://-api.books.example",
        "https://API.books.example",
        "HTTPS://api.books.example",
        "https://bücher.example",
        "https://*.bücher.example",
        "https://api.books.example\n",
        " https://api.books.example",
        "https://api.books.example\u202e",
        "https://api%2ebooks.example",
        "https://*.0.0.1",
        "https://*.127.0.0.1",
        "https://*.[::1]",
        "https://*.127.1",
        "https://2130706433",
        "https://0x7f000001",
        "https://0177.0.0.1",
        "https://127.1",
        "https://[0::1]",
        "https://[::ffff:127.0.0.1%251]",
        "https://*.co.uk",
        "https://*.com.au",
        "https://*.github.io",
        "https://*.acme.herokuapp.com",
        "https://*.s3.amazonaws.com",
        None,
        7,
        ["https://api.books.example"],
    ],
)
def test_other_texts_are_not_patterns(text: object) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_origin_pattern(text, FIELD)
    assert caught.value.field == FIELD


@pytest.mark.parametrize(
    ("text", "url", "is_allowed"),
    [
        ("https://api.books.example", "https://api.books.example/v2", True),
        ("https://api.books.example", "https://api.books.example:443", True),
        ("https://api.books.example", "https://API.books.example.", True),
        ("https://api.books.example", "http://api.books.example", False),
        ("https://api.books.example", "https://api.books.example:8443", False),
        ("https://api.books.example", "https://x.api.books.example", False),
        ("https://api.books.example", "https://books.example", False),
        ("https://*.books.example", "https://eu1.books.example", True),
        ("https://*.books.example", "https://a.b.books.example", True),
        ("https://*.books.example", "https://books.example", False),
        ("https://*.books.example", "https://evilbooks.example", False),
        ("https://*.books.example", "https://eu1.books.example.evil.example", False),
        ("https://*.books.example", "http://eu1.books.example", False),
        ("https://*.books.example", "https://eu1.books.example:8443", False),
        ("https://*.books.example:8443", "https://eu1.books.example:8443", True),
        ("http://127.0.0.1:8123", "http://127.0.0.1:8123", True),
        ("http://127.0.0.1:8123", "http://127.0.0.1:8124", False),
    ],
)
def test_a_pattern_matches_its_origin_or_those_below(
    text: str, url: str, *, is_allowed: bool
) -> None:
    origin = parse_endpoint(url, "base_url").origin
    assert pattern(text).matches(origin) is is_allowed
    others = [pattern("https://other.example"), pattern(text)]
    if is_allowed:
        refuse_foreign(origin, others, "base_url")
        return
    with pytest.raises(EgressDenied) as caught:
        refuse_foreign(origin, others, "base_url")
    error = caught.value
    assert (error.field, exit_code_of(error)) == ("base_url", 3)
    assert origin.host not in error.message + error.hint


def test_without_a_pattern_no_origin_is_allowed() -> None:
    origin = parse_endpoint("https://api.books.example", "base_url").origin
    with pytest.raises(EgressDenied):
        refuse_foreign(origin, [], "base_url")


def test_secrets_are_bound_to_one_text_for_the_same_patterns() -> None:
    texts = [
        "https://b.example",
        "https://*.books.example",
        "https://b.example:443",
        "https://a.example",
    ]
    bound = bound_text(map(pattern, texts))
    assert bound == (
        "https://*.books.example:443 https://a.example:443 https://b.example:443"
    )
    assert bound == bound_text(map(pattern, reversed(texts)))
    assert bound != bound_text(map(pattern, texts[:2]))
    assert bound_text([]) == ""
