import pytest
from hypothesis import given
from hypothesis import strategies as st

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.origin import (
    Location,
    Origin,
    build_target,
    parse_base_url,
    parse_proxy_url,
    parse_redirect,
)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("https://api.acme.example", "https://api.acme.example"),
        ("https://API.Acme.Example:443/", "https://api.acme.example"),
        ("https://api.acme.example./", "https://api.acme.example"),
        ("http://localhost:8080", "http://localhost:8080"),
        ("https://bücher.example", "https://xn--bcher-kva.example"),
        ("https://１２７.0.0.1", "https://127.0.0.1"),
        ("https://api。acme.example", "https://api.acme.example"),
        ("https://[2001:DB8::0001]:8443", "https://[2001:db8::1]:8443"),
        ("https://[::1]", "https://[::1]"),
    ],
)
def test_spellings_of_one_origin_become_one(text: str, canonical: str) -> None:
    assert str(parse_base_url(text).origin) == canonical


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "must start with"),
        ("api.acme.example", "must start with"),
        ("ftp://api.acme.example", "must start with"),
        ("https://", "must start with"),
        ("https://user:secret@api.acme.example", "user name or password"),
        ("https://secret@api.acme.example", "user name or password"),
        ("https://api.acme.example/#x", "fragment"),
        ("https://api.acme.example/?api_key=secret", "query string"),
        ("https://api.acme.example\\@evil.example", "backslash"),
        ("https://api acme.example", "spaces"),
        ("https://api.acme.example\r\nX: y", "control characters"),
        ("https://api.acme.example:0", "not a valid port"),
        ("https://api.acme.example:99999", "URL is invalid"),
        ("https://api.acme.example:x", "URL is invalid"),
        ("https://-bad.example", "host name is invalid"),
        ("https://a..example", "host name is invalid"),
        ("https://127.1", "four decimal numbers|not an IPv4"),
        ("https://0x7f000001", "not an IPv4"),
        ("https://2130706433", "not an IPv4"),
        ("https://0177.0.0.1", "not an IPv4"),
        ("https://127.0.0.0x1", "not an IPv4"),
        ("https://[fe80::1%25eth0]", "IPv6|zone|host"),
        ("https://[zz::1]", "URL is invalid|not a valid IPv6"),
        ("https://[v1.a:b]", "not a valid IPv6"),
        ("https://[::1]x", "URL is invalid"),
        ("https://[v1.example.com]", "not a valid IPv6"),
        ("https://[v1.example.com]:8443/x", "not a valid IPv6"),
        ("https://" + "ü" * 70 + ".example", "host name is invalid"),
        ("https://fußball.example", "encode differently"),
    ],
)
def test_what_could_be_read_two_ways_is_refused_without_repeating_it(
    text: str, reason: str
) -> None:
    with pytest.raises(ConfigError, match=reason) as caught:
        parse_base_url(text)
    assert caught.value.field == "base_url"
    assert "secret" not in caught.value.message


@given(
    st.from_regex(
        r"https?://[a-z0-9.-]{1,20}(:[0-9]{1,5})?(/[a-z%0-9]{0,9})?", fullmatch=True
    )
)
def test_a_canonical_origin_is_its_own_canonical_form(text: str) -> None:
    try:
        origin = parse_base_url(text).origin
    except ConfigError:
        return
    assert parse_base_url(str(origin)).origin == origin


BASE = Location(Origin("https", "api.acme.example", 443), "/v2")


@pytest.mark.parametrize(
    ("path", "params", "target"),
    [
        ("/orders", None, "/v2/orders"),
        ("orders", None, "/v2/orders"),
        ("", None, "/v2"),
        ("/orders", {"page": 2}, "/v2/orders?page=2"),
        (
            "/orders?open=1",
            {"page": 2, "tag": ["a", "b c"]},
            "/v2/orders?open=1&page=2&tag=a&tag=b+c",
        ),
        ("/x", {"yes": True, "no": [False, 1.5]}, "/v2/x?yes=true&no=false&no=1.5"),
        ("/a b/ü", None, "/v2/a%20b/%C3%BC"),
        ("/a%2Fb", None, "/v2/a%2Fb"),
        ("/proxy/https://other.example", None, "/v2/proxy/https://other.example"),
        ("https://api.acme.example/v2/orders?cursor=x", None, "/v2/orders?cursor=x"),
        ("HTTPS://API.ACME.EXAMPLE:443/other", None, "/other"),
    ],
)
def test_base_path_path_and_parameters_are_joined(
    path: str, params: dict[str, str | int] | None, target: str
) -> None:
    assert build_target(BASE, path, params) == target


def test_an_empty_path_on_a_bare_origin_is_the_root() -> None:
    assert build_target(Location(BASE.origin, ""), "") == "/"


@pytest.mark.parametrize(
    "path",
    [
        "https://evil.example/orders",
        "//evil.example/orders",
        "http://api.acme.example/orders",
        "https://api.acme.example:8443/",
        "https://u:p@api.acme.example/",
        "/orders#fragment",
        "/orders\r\nX: y",
        "/orders\0",
        "/\\evil.example",
    ],
)
def test_a_path_that_leads_elsewhere_is_refused(path: str) -> None:
    with pytest.raises(ConfigError):
        build_target(BASE, path)


@pytest.mark.parametrize(
    ("reference", "origin", "target"),
    [
        ("/next", "https://api.acme.example", "/next"),
        ("next?x=1#frag", "https://api.acme.example", "/v2/next?x=1"),
        ("https://api.acme.example:443/x", "https://api.acme.example", "/x"),
        ("//evil.example/x", "https://evil.example", "/x"),
        ("http://api.acme.example/x", "http://api.acme.example", "/x"),
    ],
)
def test_a_redirect_is_read_against_the_address_it_came_from(
    reference: str, origin: str, target: str
) -> None:
    location = parse_redirect(BASE.origin, "/v2/orders", reference)
    assert (str(location.origin), location.target) == (origin, target)


@pytest.mark.parametrize(
    "reference",
    ["http://api.acme.example@evil.example/", "/\\evil.example", "/a b", "ftp://x/"],
)
def test_a_tricky_redirect_is_refused(reference: str) -> None:
    with pytest.raises(ConfigError):
        parse_redirect(BASE.origin, "/", reference)


@pytest.mark.parametrize("reference", ["https://[", "//[::1", "https://[x]/"])
def test_a_redirect_that_is_no_address_is_refused(reference: str) -> None:
    with pytest.raises(ConfigError):
        parse_redirect(BASE.origin, "/", reference)


def test_a_key_in_the_base_url_is_sent_to_the_query_parameters() -> None:
    with pytest.raises(ConfigError) as caught:
        parse_base_url("https://api.acme.example/?api_key=secret")
    assert "Query parameters, as secret" in caught.value.hint


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("http://u:pw@proxy.example:3128", "user name", "proxy.username, proxy.passwo"),
        ("proxy.example:3128", "must start with http://", "http://proxy.example:3128"),
        ("//proxy.example", "must start with http://", "http://proxy.example:3128"),
        ("socks5://proxy.example", "SOCKS proxies are not", "http://proxy.example"),
    ],
)
def test_a_wrong_proxy_url_is_refused_with_the_fields_of_the_proxy(
    text: str, message: str, hint: str
) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        parse_proxy_url(text, "proxy.url")
    assert hint in caught.value.hint
    assert "Authentication fields" not in caught.value.hint
