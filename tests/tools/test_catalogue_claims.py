"""Whether the catalogue has what presets say: the comparison, on small entries."""

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

from catalogue_claims import agrees, authentication_in, recorded_facts, shared_facts

from outkey.administration.core.presets.presets import Preset, read_preset

PRESET = """
title = "Acme"
category = "CRM"
documentation = "https://acme.example/docs"
checked = 2026-11-16
rotation = { kind = "unknown" }
notes = ""
sources = [{ kind = "catalogue", facts = ["base_url", "test_path"], entry = "acme", says = "all" }]
[variables.site]
label = "Site"
help = "The first part of the address."
pattern = "[a-z]+"
example = "north"
[methods.oauth2]
title = "OAuth 2.0"
[methods.oauth2.configuration]
base_url = "https://{site}.acme.example/v2"
authentication_type = "bearer"
token_source = "oauth2"
headers = [{ key = "X-Acme", value = "1", secret = false }]
[methods.oauth2.configuration.oauth2]
grant = "authorization_code"
authorization_url = "https://acme.example/authorize"
token_url = "https://acme.example/token"
client_id = "c"
client_auth = "basic"
[methods.oauth2.configuration.verification]
test_path = "/me?a=b"
"""  # noqa: E501 - a line of a preset
ENTRY: dict[str, Any] = {
    "auth_mode": "OAUTH2",
    "authorization_url": "https://acme.example/authorize?x=y",
    "token_url": "https://acme.example/token || https://other.example/token",
    "token_request_auth_method": "basic",
    "proxy": {
        "base_url": "https://${connectionConfig.site}.acme.example",
        "headers": {"x-acme": "1", "authorization": "Bearer ${accessToken}"},
        "verification": {"endpoints": ["/v2/me"]},
    },
}


def acme() -> Preset:
    return read_preset("acme", PRESET)


def compare(entry: dict[str, Any]) -> dict[str, list[str]]:
    table = dict(acme().method().table) | {"base_url": "https://north.acme.example/v2"}
    return shared_facts(table, entry)


def test_an_entry_has_the_facts_that_agree() -> None:
    assert compare(ENTRY) == {
        "base_url": ["https://*.acme.example"],
        "test_path": ["https://*.acme.example/v2/me"],
        "token_url": ["https://acme.example/token"],
        "authorization_url": ["https://acme.example/authorize"],
        "headers": ["x-acme"],
        "authentication": ["authorization_code"],
        "client_auth": ["basic"],
    }


def test_an_entry_without_any_of_the_urls_is_about_another_api() -> None:
    other = {"auth_mode": "OAUTH2", "proxy": {"base_url": "https://b.example"}}
    assert compare(ENTRY | {"token_url": ""} | other) != {}
    assert compare(other) == {}


def test_what_an_entry_does_not_state_it_does_not_have() -> None:
    entry = {key: value for key, value in ENTRY.items() if "method" not in key}
    assert "client_auth" not in compare(entry)


@pytest.mark.parametrize(
    ("entry", "kind"),
    [
        ({"auth_mode": "TBA"}, "oauth1"),
        ({"auth_mode": "OAUTH1"}, "oauth1"),
        (
            {"auth_mode": "BASIC", "proxy": {"headers": {"a": "${awsSigV4(a, b)}"}}},
            "aws_sigv4",
        ),
    ],
)
def test_an_entry_with_signatures_is_named_as_a_configuration_is(
    entry: dict[str, Any], kind: str
) -> None:
    assert authentication_in(entry) == kind


def test_a_false_claim_is_named_and_a_true_one_is_recorded() -> None:
    record, false = recorded_facts({"acme": ENTRY}, [acme()])
    assert record["acme acme"]["test_path"] == ["https://*.acme.example/v2/me"]
    assert not false
    without_path = ENTRY | {"proxy": {"base_url": ENTRY["proxy"]["base_url"]}}
    record, false = recorded_facts({"acme": without_path}, [acme()])
    assert false == ["acme: acme does not have test_path"]
    assert record == {"acme acme": {"base_url": ["https://*.acme.example"]}}
    _, false = recorded_facts({}, [acme()])
    assert len(false) == 2


@pytest.mark.parametrize(
    ("fact", "text", "is_same"),
    [
        ("base_url", "https://api.example", True),
        ("base_url", "https://api.exam", False),
        ("token_url", "https://api.example", False),
        ("base_url", "https://*.example/v1", True),
        ("base_url", "https://*/v2", False),
    ],
)
def test_a_base_url_may_be_below_that_of_the_catalogue(
    fact: str, text: str, *, is_same: bool
) -> None:
    assert agrees(fact, text, ["https://api.example/v1"]) is is_same
