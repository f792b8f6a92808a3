"""URLs with variables: at the beginning, in the host and in the path."""

import pytest

from outkey.foundation.core.errors import ConfigError, VariableMissing
from outkey.sending.core.connections.url_templates import (
    changes_origin,
    check_url_template,
    fill_url,
)

NAMES = ("x", "y", "z")


@pytest.mark.parametrize(
    "template",
    [
        "https://api.books.example/v2",
        "{x}",
        "{x}/",
        "{x}/v2/{y}",
        "{x}/v2?a=1",
        "{x}?a=1",
        "https://{x}.books.example/v2",
        "https://{x}.{y}.books.example:8443",
        "https://c-{x}{y}.books.example/{z}/a-{z}?a=1",
        "https://{x}",
        "http://127.0.0.1:8123/{x}",
        "https://[::1]:8443/{x}",
    ],
)
def test_a_variable_may_be_the_beginning_a_host_or_a_segment(template: str) -> None:
    assert check_url_template(template, NAMES, "base_url") == template


@pytest.mark.parametrize(
    "template",
    [
        "{x}v2",
        "{x}.books.example/v2",
        "{x}@evil.example/v2",
        "{x}:8443/v2",
        "{x}://books.example/v2",
        "{x}{y}/v2",
        "{x}\\v2",
        "{x}/v2#{y}",
        "{x}/v2#a",
        "{x}/v2?a={y}",
        "{x}?{y}",
        "v2/{x}",
        "/v2/{x}",
        "//{x}/v2",
        "https:/{x}/v2",
        "http{x}://books.example",
        "https://{x}:{y}/v2",
        "https://books.example:{x}/v2",
        "https://books.example:8{x}/v2",
        "https://{x}@books.example/v2",
        "https://ann:{x}@books.example/v2",
        "https://ann@{x}.books.example/v2",
        "https://ann@books.example/{x}",
        "https://[{x}]/v2",
        "https://[::{x}]/v2",
        "https://books.example/v2?a={x}",
        "https://books.example/v2#{x}",
        "https://books.example\\{x}/v2",
        "https://-{x}/{x}",
        "https://books..example/{x}",
        "https://{x} .example",
        "https://books.example/{x}/{not-a-name}",
        "https://books.example/{x}/{{x}}",
        "https://books.example/{x}}",
        "https:///{x}",
        "ftp://{x}.books.example",
        "https://{w}.books.example",
        "https://books.example/{w}",
        "https://books.example/{_x}",
    ],
)
def test_a_template_with_a_variable_elsewhere_is_refused_when_it_is_saved(
    template: str,
) -> None:
    with pytest.raises(ConfigError) as caught:
        check_url_template(template, NAMES, "base_url")
    assert caught.value.field == "base_url"


@pytest.mark.parametrize(
    ("template", "changes"),
    [
        ("{x}", True),
        ("{x}/v2", True),
        ("https://{x}.books.example/v2", True),
        ("https://{x}", True),
        ("https://books.example:{x}/", True),
        ("https://{x}@books.example/", True),
        ("{x}://books.example/", True),
        ("//{x}/v2", True),
        ("https://books.example/{x}", False),
        ("https://books.example/v2?a={x}", False),
        ("https://books.example#{x}", False),
        ("https://books.example", False),
        ("/v2/{x}", False),
        ("", False),
    ],
)
def test_a_placeholder_before_the_path_can_change_the_origin(
    template: str, *, changes: bool
) -> None:
    assert changes_origin(template) is changes


@pytest.mark.parametrize(
    ("template", "value", "url"),
    [
        ("https://a.example/v2", "b", "https://a.example/v2"),
        ("{x}/v2", "https://na1.books.example", "https://na1.books.example/v2"),
        ("{x}/v2", "https://na1.books.example/", "https://na1.books.example/v2"),
        ("{x}/v2", "https://na1.books.example/api", "https://na1.books.example/api/v2"),
        ("{x}", "https://na1.books.example/api/", "https://na1.books.example/api/"),
        ("{x}", "https://na1.books.example", "https://na1.books.example/"),
        ("{x}/", "HTTPS://NA1.books.example:443", "https://na1.books.example/"),
        ("{x}/v2?a=1", "http://127.0.0.1:8123", "http://127.0.0.1:8123/v2?a=1"),
        ("{x}?a=1", "https://a.example/t", "https://a.example/t?a=1"),
        ("{x}/v2", "https://[::1]:8443", "https://[::1]:8443/v2"),
        ("https://{x}.books.example/v2", "eu1", "https://eu1.books.example/v2"),
        ("https://{x}.books.example/v2", "EU1", "https://eu1.books.example/v2"),
        ("https://{x}.books.example", "a.b-c", "https://a.b-c.books.example/"),
        (
            "https://{x}:8443/v2",
            "api.books.example",
            "https://api.books.example:8443/v2",
        ),
        ("http://{x}:8123/", "127.0.0.1", "http://127.0.0.1:8123/"),
        ("https://a.example/{x}/v2", "a/b?c#d", "https://a.example/a%2Fb%3Fc%23d/v2"),
        ("https://a.example//{x}/v2", "b", "https://a.example//b/v2"),
        ("https://a.example/{x}?b=1", "é", "https://a.example/%C3%A9?b=1"),
        ("https://{x}.xn--bcher-kva.example", "a", "https://a.xn--bcher-kva.example/"),
    ],
)
def test_a_url_is_filled_part_by_part(template: str, value: str, url: str) -> None:
    assert fill_url(template, {"x": value}, "base_url") == url


@pytest.mark.parametrize(
    "template", ["{x}/v2", "https://{x}.a.example", "https://a.example/{x}"]
)
def test_a_url_without_a_value_names_the_variable(template: str) -> None:
    with pytest.raises(VariableMissing, match="the variable x has no value"):
        fill_url(template, {"y": "1"}, "base_url")


@pytest.mark.parametrize("template", ["https://a.example:{x}", "{x}v2", "/{x}"])
def test_a_template_that_was_never_checked_is_refused_when_it_is_filled(
    template: str,
) -> None:
    with pytest.raises(ConfigError) as caught:
        fill_url(template, {"x": "8443"}, "base_url")
    assert caught.value.field == "base_url"


def test_two_values_make_no_label_that_stands_for_other_letters() -> None:
    values = {"x": "xn-", "y": "-bcher-kva"}
    with pytest.raises(ConfigError, match="the host name is invalid"):
        fill_url("https://{x}{y}.books.example", values, "base_url")
    with pytest.raises(ConfigError, match="the host name is invalid"):
        fill_url("https://x{x}.books.example", {"x": "n--bcher-kva"}, "base_url")
