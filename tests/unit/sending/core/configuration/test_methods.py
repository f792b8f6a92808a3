"""Methods to begin with: each is a set of the usual fields, and nothing else."""

from dataclasses import replace

import pytest

from outkey.sending.core.configuration.checks import refuse_unsavable
from outkey.sending.core.configuration.configuration import Configuration, build
from outkey.sending.core.configuration.custom_rows import CustomHeader, QueryParameter
from outkey.sending.core.configuration.fields import BY_PATH
from outkey.sending.core.configuration.methods import (
    ALWAYS,
    METHODS,
    initial_values_of,
    method_of,
)
from outkey.testing import configuration


def begun_with(name: str) -> Configuration:
    """Return the configuration that a user makes who fills in what a method needs."""
    initial = METHODS[name].initial()
    entered: dict[str, object] = {
        "base_url": "https://api.acme.example",
        "oauth2.token_url": "https://auth.acme.example/token",
        "oauth2.authorization_url": "https://auth.acme.example/authorize",
        "oauth2.client_id": "erp",
        "login.path": "/login",
        "aws.access_key_id": "AKIAEXAMPLE",
        "aws.region": "eu-central-1",
        "aws.service": "sqs",
        "oauth1.consumer_key": "erp",
    }
    if name == "script":
        entered["script"] = "def compute_auth_header(sync_line):\n    return {}\n"
    if name == "login-steps":
        del entered["login.path"]
    if name == "none":
        entered["no_auth_reason"] = "public_api"
    values = {**entered, **initial.values}
    return build("acme", values, headers=initial.headers, query=initial.query)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_leads_to_a_configuration_that_is_recognized_as_it(
    name: str,
) -> None:
    made = begun_with(name)
    refuse_unsavable(made)
    assert method_of(made) is METHODS[name]
    assert set(METHODS[name].fields) <= set(BY_PATH)


def test_a_key_is_one_secret_row_and_no_kind_of_its_own() -> None:
    by_header = METHODS["api-key-header"].initial()
    assert by_header.headers == (CustomHeader("X-API-Key", "", secret=True),)
    assert by_header.query == ()
    by_query = METHODS["api-key-query"].initial()
    assert by_query.query == (QueryParameter("api_key", "", secret=True),)
    assert by_query.headers == ()
    for initial in (by_header, by_query):
        assert initial.values == {"authentication_type": "none"}
        assert initial.fields == ALWAYS


def test_a_form_begins_with_the_settings_of_a_configuration_and_another_name() -> None:
    made = replace(begun_with("oauth2"), record="7" * 32)
    initial = initial_values_of(made, name="copy")
    assert initial.values["name"] == "copy"
    assert initial.values["oauth2.client_id"] == "erp"
    assert initial.fields == (*ALWAYS, *METHODS["oauth2"].fields)
    assert initial_values_of(made).values["name"] == "acme"


def test_a_preset_shows_first_only_what_is_left_to_enter() -> None:
    made = configuration(
        authentication_type="bearer",
        token_source="oauth2",
        oauth2__token_url="https://auth.acme.example/token",
        oauth2__client_id="erp",
    )
    fields = initial_values_of(made, omit_filled=True).fields
    assert "oauth2.token_url" not in fields
    assert "oauth2.grant" not in fields
    assert "oauth2.client_secret" in fields
    assert "oauth2.scope" in fields


def test_a_preset_has_chosen_what_can_only_be_switched() -> None:
    step = {"method": "GET", "path": "/token?key={password}"}
    made = configuration(
        authentication_type="bearer",
        token_source="login",
        login__token="token",
        login__steps=[step],
    )
    fields = initial_values_of(made, omit_filled=True).fields
    assert "password" in fields
    assert "login.cookies" not in fields
    assert "login.cookies" in initial_values_of(made).fields


def test_digest_begins_like_basic() -> None:
    assert method_of(configuration(authentication_type="digest")).name == "basic"
