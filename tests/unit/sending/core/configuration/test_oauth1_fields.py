"""The settings of OAuth 1.0a: what belongs together, and where its secrets go."""

import tomllib
from dataclasses import replace

import pytest

from outkey.foundation.core.errors import ConfigError, EgressDenied
from outkey.foundation.core.secret import Secret
from outkey.sending.core.configuration.checks import (
    configuration_findings,
    refuse_unsavable,
)
from outkey.sending.core.configuration.configuration import Configuration, build
from outkey.sending.core.configuration.drafts import read_draft
from outkey.sending.core.configuration.secret_state import SecretState
from outkey.sending.core.configuration.text import configuration_lines
from outkey.sending.core.request.assembly import authenticated_request
from outkey.sending.core.request.message import Request

BASE = "https://shop.example"
URLS = {
    "oauth1.request_url": f"{BASE}/initiate",
    "oauth1.authorization_url": f"{BASE}/authorize",
    "oauth1.access_url": f"{BASE}/token",
}


def made(*secrets: str, **changed: object) -> Configuration:
    """Return a configuration; keyword `a__b` is the field `a.b`."""
    values = {
        "base_url": BASE,
        "authentication_type": "oauth1",
        "oauth1.consumer_key": "ck",
    }
    values |= {name.replace("__", "."): value for name, value in changed.items()}  # type: ignore[misc]
    configuration = build("shop", values)
    states = {name: SecretState(configuration.binding_of(name)) for name in secrets}
    return replace(configuration, secrets=states)


def with_legs(*secrets: str, **changed: object) -> Configuration:
    urls = {path.replace(".", "__"): url for path, url in URLS.items()}
    return made(*secrets, **(urls | changed))


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"oauth1__consumer_key": ""}, "oauth1.consumer_key"),
        ({"oauth1__signature_method": "HMAC-MD5"}, "oauth1.signature_method"),
        ({"oauth1__realm": "€"}, "oauth1.realm"),
        ({"oauth1__realm": "ü"}, "oauth1.realm"),
        ({"oauth1__request_url": f"{BASE}/initiate"}, "oauth1.authorization_url"),
        ({"oauth1__access_url": f"{BASE}/token"}, "oauth1.request_url"),
        (
            {
                "base_url": "http://shop.example",
                "network": "internal",
                "oauth1__signature_method": "PLAINTEXT",
            },
            "oauth1.signature_method",
        ),
    ],
)
def test_what_cannot_sign_is_refused_with_its_field(
    changed: dict[str, object], field: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        made(**changed)
    assert caught.value.field == field


@pytest.mark.parametrize("path", ["authorization_url", "access_url"])
def test_the_urls_of_three_legs_are_at_one_origin(path: str) -> None:
    with pytest.raises(ConfigError, match="Request URL's origin") as caught:
        with_legs(**{f"oauth1__{path}": "https://other.example/x"})
    assert caught.value.field == f"oauth1.{path}"


def test_settings_of_another_type_are_not_compared() -> None:
    stored = build("shop", {"base_url": BASE, "oauth1.request_url": f"{BASE}/initiate"})
    assert not stored.uses_oauth1
    assert not stored.has_three_legs


@pytest.mark.parametrize(
    ("secrets", "method", "needed"),
    [
        ([], "HMAC-SHA1", ["consumer_secret"]),
        ([], "RSA-SHA1", ["private_key"]),
        (
            ["access_token"],
            "PLAINTEXT",
            ["consumer_secret", "access_token", "access_token_secret"],
        ),
        (
            ["access_token_secret"],
            "HMAC-SHA256",
            ["consumer_secret", "access_token", "access_token_secret"],
        ),
        (["access_token"], "RSA-SHA1", ["private_key", "access_token"]),
    ],
)
def test_a_token_is_needed_only_where_one_is_entered(
    secrets: list[str], method: str, needed: list[str]
) -> None:
    configuration = made(*secrets, oauth1__signature_method=method)
    assert configuration.needed_secrets() == needed


def test_a_user_authorizes_where_there_are_urls_and_no_entered_token() -> None:
    assert with_legs("consumer_secret").has_three_legs
    assert with_legs("consumer_secret").needs_consent
    assert with_legs("consumer_secret").fetches_token
    assert not with_legs("consumer_secret", "access_token").has_three_legs
    assert not made("consumer_secret").has_three_legs


def test_what_proves_the_application_is_bound_to_the_request_url_too() -> None:
    configuration = with_legs(
        base_url="https://api.shop.example", oauth1__signature_method="RSA-SHA1"
    )
    both = "https://shop.example:443 https://api.shop.example:443"
    assert configuration.binding_of("consumer_secret") == both
    assert configuration.binding_of("private_key") == both
    assert configuration.token_binding == both
    assert configuration.binding_of("access_token") == "https://api.shop.example:443"


def test_plain_http_is_refused_for_each_url_in_use() -> None:
    urls = {path.replace(".", "__"): f"http{url[5:]}" for path, url in URLS.items()}
    with pytest.raises(EgressDenied) as caught:
        refuse_unsavable(made(**urls))
    assert caught.value.field == "oauth1.request_url"
    refuse_unsavable(made("access_token", **urls))  # they are not in use then


def test_an_address_of_the_internal_network_is_refused_for_the_request_url() -> None:
    urls = {
        path.replace(".", "__"): url.replace("shop.example", "10.1.2.3")
        for path, url in URLS.items()
    }
    with pytest.raises(EgressDenied) as caught:
        refuse_unsavable(made(**urls))
    assert caught.value.field == "oauth1.request_url"


def test_spaces_around_a_secret_are_named_by_a_check() -> None:
    configuration = made("consumer_secret")
    findings = configuration_findings(configuration, lambda _: Secret(" cs\n"), now=0.0)
    assert [(each.id, each.field) for each in findings] == [("N001", "consumer_secret")]


def test_a_preview_is_built_without_a_signature() -> None:
    configuration = made("consumer_secret")
    request = Request("GET", configuration.base.origin, "/")
    shown = authenticated_request(request, configuration, lambda _: Secret("cs"))
    assert shown.headers[-1].name == "Authorization"


# ── documents ─────────────────────────────────────────────────────────────────────────

TABLE: dict[str, object] = {
    "base_url": BASE,
    "authentication_type": "oauth1",
    "oauth1": {
        "consumer_key": "ck",
        "consumer_secret": "env:CONSUMER_SECRET",
        "realm": "1234567_SB1",
        "signature_method": "HMAC-SHA256",
    },
}


def test_a_document_is_read_and_written_again() -> None:
    configuration = read_draft("shop", TABLE).configuration()
    assert configuration.oauth1.realm == "1234567_SB1"
    lines = "\n".join(configuration_lines(configuration))
    document = tomllib.loads(lines)
    assert document["configuration"]["shop"]["oauth1"] == TABLE["oauth1"]


@pytest.mark.parametrize(
    ("key", "value"), [("consumer_key", "ck"), ("access_token", "env:TOKEN")]
)
def test_its_keys_in_the_document_of_another_type_are_refused(
    key: str, value: str
) -> None:
    table = {"base_url": BASE, "authentication_type": "basic", "oauth1": {key: value}}
    with pytest.raises(
        ConfigError, match="belongs to the Authentication Type"
    ) as caught:
        read_draft("shop", table).configuration()
    assert caught.value.field == f"oauth1.{key}"
    stored = build("shop", {"base_url": BASE})
    with pytest.raises(ConfigError, match="belongs to the Authentication Type"):
        read_draft("shop", table).merged(stored)


def test_what_is_stored_of_it_is_not_written_for_another_type() -> None:
    stored = build("shop", {"base_url": BASE, "oauth1.consumer_key": "ck"})
    assert "oauth1" not in "\n".join(configuration_lines(stored))
