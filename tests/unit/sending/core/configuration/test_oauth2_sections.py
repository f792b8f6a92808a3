"""Sections inside of sections, headers of token requests, and keys of another grant."""

import json
import tomllib
from dataclasses import replace

import pytest

from outkey.administration.core.document.differences import configuration_difference
from outkey.foundation.core.errors import ConfigError, SecretRebindRequired
from outkey.foundation.core.fields.field_kinds import Field
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.configuration.drafts import read_draft
from outkey.sending.core.configuration.facts import configuration_facts, written_table
from outkey.sending.core.configuration.fields import FIELDS
from outkey.sending.core.configuration.rows import new_row
from outkey.sending.core.configuration.text import configuration_lines

DOCUMENT = """
base_url = "https://api.acme.example"
authentication_type = "bearer"
token_source = "oauth2"
[oauth2]
token_url = "https://auth.acme.example/token"
client_id = "acme-app"
client_secret = "env:KEY"
client_auth = "private_key_jwt"
token_headers = [
  { key = "X-Service", value = "erp" },
  { key = "X-Api-Key", value = "env:GATEWAY_KEY" },
]
[oauth2.assertion]
key_id = "key-1"
algorithm = "PS256"
lifetime_seconds = 60
scope_in = "both"
claims = { tenant = "7" }
"""


def made(text: str = DOCUMENT) -> Configuration:
    return read_draft("acme", tomllib.loads(text)).configuration()


def refusal(text: str) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        made(text)
    return caught.value


def without(key: str) -> str:
    lines = [line for line in DOCUMENT.splitlines() if not line.startswith(key)]
    return "\n".join([*lines, ""])


def test_a_document_may_have_a_table_in_a_table() -> None:
    settings = made().oauth2.assertion
    assert (settings.key_id, settings.algorithm) == ("key-1", "PS256")
    assert (settings.lifetime_seconds, settings.scope_in) == (60, "both")
    assert settings.claims == {"tenant": "7"}


def test_what_is_exported_is_read_as_the_same() -> None:
    lines = "\n".join(configuration_lines(made()))
    table = tomllib.loads(lines)["configuration"]["acme"]
    assert read_draft("acme", table).configuration() == made()
    assert "[configuration.acme.oauth2.assertion]" in lines


def test_what_programs_read_can_be_written_back_as_it_is() -> None:
    facts = json.loads(json.dumps(configuration_facts(made())))
    assert facts["oauth2"]["assertion"]["claims"] == {"tenant": "7"}
    assert facts["oauth2"]["token_headers"][0]["value"] == "erp"
    draft = read_draft("acme", written_table("acme", facts))
    assert draft.merged(made()) == made()


def test_null_unsets_a_setting_of_an_inner_section() -> None:
    facts = {"oauth2": {"assertion": {"algorithm": None}}}
    draft = read_draft("acme", written_table("acme", facts))
    assert draft.merged(made()).oauth2.assertion.algorithm is None


def test_what_is_stored_is_the_same_when_it_is_read() -> None:
    row = new_row(made(), "1")
    row = replace(row, settings=json.loads(json.dumps(row.settings)))
    read = row.configuration(made().secrets)
    assert replace(read, record="", version=0) == made()


@pytest.mark.parametrize(
    ("text", "field"),
    [
        (DOCUMENT + "colour = 1", "oauth2.assertion.colour"),
        (without("lifetime") + "lifetime_seconds = 9", "lifetime_seconds"),
        (without("lifetime") + "lifetime_seconds = 3601", "lifetime_seconds"),
        (without("claims") + 'claims = { iss = "x" }', "claims"),
        (without("claims") + "claims = { level = 7 }", "claims"),
        (DOCUMENT.replace("PS256", "HS256"), "algorithm"),
        (DOCUMENT.replace("X-Service", "Authorization"), "token_headers[0].key"),
        (DOCUMENT.replace("X-Api-Key", "X-SERVICE"), "token_headers[1].key"),
    ],
)
def test_bad_values_are_refused_at_their_field(text: str, field: str) -> None:
    assert str(refusal(text).field).endswith(field)


def test_a_table_in_a_table_must_be_one() -> None:
    head = DOCUMENT.partition("[oauth2.assertion]")[0]
    assert refusal(f'{head}assertion = "key-1"').field == "oauth2.assertion"


def test_settings_of_assertions_are_refused_where_nothing_is_signed() -> None:
    text = DOCUMENT.replace('"private_key_jwt"', '"body"')
    error = refusal(text)
    assert error.field == "oauth2.assertion.key_id"
    assert str(error.hint) == (
        'Write oauth2.client_auth = "private_key_jwt", or remove the key.'
    )


def test_their_defaults_may_be_written_anywhere() -> None:
    """A program writes back all that it has read."""
    plain = 'base_url = "https://api.acme.example"\n[oauth2.assertion]\n'
    assert made(plain + 'lifetime_seconds = 300\nscope_in = "form"\nclaims = {}')


def test_headers_of_token_requests_are_refused_without_oauth2() -> None:
    text = DOCUMENT.replace('token_source = "oauth2"', "").replace(
        "[oauth2.assertion]", "[ignored]"
    )
    head = text.partition("[ignored]")[0]
    assert refusal(head).field == "oauth2.token_headers"


def test_what_was_entered_for_another_client_authentication_is_not_exported() -> None:
    stored = made()
    draft = read_draft("acme", {"oauth2": {"client_auth": "body"}})
    changed = draft.merged(stored)
    assert changed.oauth2.assertion == stored.oauth2.assertion
    facts = json.loads(json.dumps(configuration_facts(changed)))
    assert "assertion" not in facts["oauth2"]
    lines = "\n".join(configuration_lines(changed))
    assert "assertion" not in lines
    assert read_draft("acme", tomllib.loads(lines)["configuration"]["acme"])


def test_a_secret_of_a_token_request_is_bound_to_the_token_url() -> None:
    stored = made()
    name = "token_header:X-Api-Key"
    assert stored.secrets[name].origin == (
        "https://auth.acme.example:443 https://api.acme.example:443"
    )
    assert name in stored.needed_secrets()
    table = {"oauth2": {"token_url": "https://evil.example/token"}}
    moved = read_draft("acme", table).merged(stored)
    with pytest.raises(SecretRebindRequired):
        moved.refuse_unbound(name)


def test_a_changed_header_of_token_requests_is_a_difference() -> None:
    rows = [{"key": "X-Service", "value": "crm"}]
    changed = read_draft("acme", {"oauth2": {"token_headers": rows}}).merged(made())
    fields = configuration_difference(made(), changed).fields
    assert {change.path for change in fields} == {
        "oauth2.token_headers.X-Service",
        "oauth2.token_headers.X-Api-Key",
    }
    assert "token_header:X-Api-Key" not in changed.secrets


def test_a_strict_field_has_a_condition() -> None:
    strict: list[Field] = [field for field in FIELDS if field.is_strict]
    assert strict
    assert all(field.alternatives for field in strict)
