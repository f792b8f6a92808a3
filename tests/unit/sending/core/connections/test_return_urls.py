"""Where a browser may go after connecting."""

import pytest

from outkey.foundation.core.errors import BlockedByPolicy, ConfigError, PolicyError
from outkey.hosts.cli.printing.output import exit_code_of
from outkey.sending.core.connections.return_urls import (
    parse_allowed_url,
    refuse_return_url,
    return_url_with,
)

ALLOWED = [
    parse_allowed_url(url, "connect.return_urls")
    for url in ("https://app.example/settings", "https://b.example:8443/")
]


@pytest.mark.parametrize(
    ("url", "canonical"),
    [
        ("https://app.example/settings", "https://app.example/settings"),
        ("https://app.example/settings/", "https://app.example/settings/"),
        ("https://app.example/settings?tab=2", "https://app.example/settings?tab=2"),
        ("https://app.example/settings/a/b?c", "https://app.example/settings/a/b?c"),
        ("https://app.example:443/settings", "https://app.example/settings"),
        ("HTTPS://APP.example/settings", "https://app.example/settings"),
        ("https://app.example/settings/a%2Fb", "https://app.example/settings/a%2Fb"),
        (
            "https://app.example/settings?p=..%5C",
            "https://app.example/settings?p=..%5C",
        ),
        ("https://b.example:8443", "https://b.example:8443/"),
        ("https://b.example:8443/x", "https://b.example:8443/x"),
    ],
)
def test_a_url_at_or_below_one_of_the_policy_is_allowed(
    url: str, canonical: str
) -> None:
    assert refuse_return_url(url, ALLOWED) == canonical


@pytest.mark.parametrize(
    "url",
    [
        "",
        "/settings",
        "//app.example/settings",
        "javascript:alert(1)",
        "data:text/html,x",
        "ftp://app.example/settings",
        "http://app.example/settings",
        "https://app.example:8443/settings",
        "https://app.example",
        "https://app.example/",
        "https://app.example/settingsx",
        "https://app.example/settings-evil",
        "https://app.example/Settings",
        "https://app.example/settings%2Fx",
        "https://app.example/%73ettings",
        "https://app.example//settings",
        "https://app.example/x/settings",
        "https://app.example/?/settings",
        "https://evil.example/settings",
        "https://app.example.evil.example/settings",
        "https://sub.app.example/settings",
        "https://evil.example/https://app.example/settings",
        "https://ann@app.example/settings",
        "https://ann:pw@app.example/settings",
        "https://app.example@evil.example/settings",
        "https://app.example%40evil.example/settings",
        "https://app.example\\@evil.example/settings",
        "https://evil.example\\.app.example/settings",
        "https://app.example/settings\\..",
        "https://app.example/settings/..",
        "https://app.example/settings/../admin",
        "https://app.example/settings/%2e%2e/admin",
        "https://app.example/settings/.%2E/admin",
        "https://app.example/settings/%252e%252e/admin",
        "https://app.example/settings/..%2fadmin",
        "https://app.example/settings/..%5cadmin",
        "https://app.example/settings/..;/admin",
        "https://app.example/settings/a%5Cb",
        "https://app.example/settings/a%255cb",
        "https://app.example/settings/a%25255cb",
        "https://app.example/settings#a",
        "https://app.example/settings\r\nSet-Cookie: a=b",
        "https://app.example/settings\x00",
        "https://app.example/set\ttings",
        " https://app.example/settings",
        "https://app.example/settings/" + "a" * 2000,
        "https://app.example:99999/settings",
        "https://[::1/settings",
        "https://\u0430pp.example/settings",  # a Cyrillic letter
        "https://127.1/settings",
    ],
)
def test_every_other_url_is_refused_by_the_policy_and_not_repeated(url: str) -> None:
    with pytest.raises(PolicyError) as caught:
        refuse_return_url(url, ALLOWED)
    error = caught.value
    assert (error.code, exit_code_of(error), error.field) == ("policy", 3, "return_url")
    assert error.hint
    assert len(url) < 10 or url not in error.message + error.hint


def test_without_a_policy_no_url_is_allowed() -> None:
    with pytest.raises(BlockedByPolicy):
        refuse_return_url("https://app.example/settings", [])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "app.example",
        "https://app.example/a?b=1",
        "https://app.example/#a",
        "https://ann@app.example",
        "https://app.example/a/../b",
        "https://app.example/%2e%2e",
        "https://app.example/a\\b",
        "https://app.example/a%5cb",
        None,
        7,
    ],
)
def test_the_policy_names_origins_and_paths_only(text: object) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_allowed_url(text, "connect.return_urls")
    assert caught.value.field == "connect.return_urls"


@pytest.mark.parametrize(
    ("url", "connection", "returned"),
    [
        (
            "https://app.example/settings",
            "acme",
            "https://app.example/settings?connection=acme&status=connected",
        ),
        (
            "https://app.example/settings?tab=a%20b&x",
            "acme",
            "https://app.example/settings?tab=a%20b&x&connection=acme&status=connected",
        ),
        (
            "https://app.example/settings?",
            "acme",
            "https://app.example/settings?connection=acme&status=connected",
        ),
        (
            "https://app.example/settings?connection=evil&status=failed&tab=1",
            "acme",
            "https://app.example/settings?tab=1&connection=acme&status=connected",
        ),
        (
            "https://b.example:8443",
            "a+b@c:d~e",
            "https://b.example:8443/?connection=a%2Bb%40c%3Ad~e&status=connected",
        ),
    ],
)
def test_the_application_is_told_by_two_parameters(
    url: str, connection: str, returned: str
) -> None:
    assert return_url_with(url, connection, "connected") == returned
