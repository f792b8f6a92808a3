"""Presets: every provider loads, passes the checks, and sends what is expected."""

import json
import re
from datetime import date
from pathlib import Path

import pytest

from outkey.administration.adapters.preset_files import PresetFiles
from outkey.administration.core.presets.presets import (
    SURENESS,
    Preset,
    PresetMethod,
    read_preset,
    similar_presets,
)
from outkey.foundation.core.errors import ConfigError
from outkey.sending.core.configuration.checks import refuse_unsavable
from outkey.testing import fake_gateway

PRESETS = PresetFiles()
METHODS = [
    pytest.param(preset, method, id=f"{preset.name}-{method.name}")
    for preset in PRESETS.all()
    for method in preset.methods.values()
]
EXPECTED = Path(__file__).parents[3] / "preset_requests.json"
SOURCE = re.compile(r"(https://|public |known|reported|third)", re.IGNORECASE)
MINIMAL = """
title = "Acme"
category = "CRM"
documentation = "https://acme.example/docs"
checked = 2026-11-16
sure = "documentation"
rotation = "manual"
notes = ""
sources = ["https://acme.example/docs: all"]
[variables.site]
label = "Site"
help = "The first part of the address."
pattern = "[a-z]+"
example = "acme"
[methods.api_key]
title = "API key"
[methods.api_key.configuration]
base_url = "https://{site}.acme.example"
authentication_type = "none"
[[methods.api_key.configuration.headers]]
key = "Authorization"
value = "Key {secret}"
secret = true
[methods.api_key.secrets]
"header:Authorization" = "In the settings."
"""


def examples(preset: Preset, method: PresetMethod) -> dict[str, str]:
    return {variable.name: variable.example for variable in preset.variables_of(method)}


def request_of(preset: Preset, method: PresetMethod) -> list[str]:
    """Return the test request of a preset as a preview shows it."""
    made = preset.draft(preset.name, method, examples(preset, method)).configuration()
    secrets = dict.fromkeys(made.needed_secrets(), "a-value")
    verification = made.verification
    shown = fake_gateway(made, secrets=secrets).gateway.preview(
        preset.name, verification.test_method, verification.test_path
    )
    headers = [
        f"{header.name}: {header.value}"
        for header in shown.headers
        if header.name not in {"Host", "Accept-Encoding", "Content-Length"}
    ]
    return [f"{shown.method} {shown.url}", *headers]


def test_there_are_at_least_a_hundred_providers() -> None:
    assert len(PRESETS.names()) >= 100


@pytest.mark.parametrize(("preset", "method"), METHODS)
def test_a_preset_with_sample_values_can_be_saved(
    preset: Preset, method: PresetMethod
) -> None:
    made = preset.draft(preset.name, method, examples(preset, method)).configuration()
    refuse_unsavable(made)
    assert (made.preset, made.preset_day) == (preset.name, preset.corrected)
    assert {*made.needed_secrets()} <= {*method.secrets}
    assert made.base.origin.scheme == "https"


@pytest.mark.parametrize(("preset", "method"), METHODS)
def test_the_test_request_of_a_preset_is_the_recorded_one(
    preset: Preset, method: PresetMethod
) -> None:
    expected = json.loads(EXPECTED.read_text("utf-8"))
    assert request_of(preset, method) == expected[f"{preset.name} {method.name}"]


def test_every_recorded_request_has_its_preset() -> None:
    recorded = json.loads(EXPECTED.read_text("utf-8"))
    assert {*recorded} == {
        f"{preset.name} {method.name}"
        for preset in PRESETS.all()
        for method in preset.methods.values()
    }


@pytest.mark.parametrize("preset", PRESETS.all(), ids=lambda preset: preset.name)
def test_a_preset_names_its_sources_and_when_they_were_compared(preset: Preset) -> None:
    assert preset.sources
    for source in preset.sources:
        assert SOURCE.match(source), source
    assert date(2026, 1, 1) <= preset.checked
    assert preset.corrected <= preset.checked
    assert preset.documentation.startswith("https://")
    for variable in preset.variables.values():
        assert variable.check(variable.example) == variable.example
        if variable.default is not None:
            assert variable.check(variable.default) == variable.default


@pytest.mark.parametrize(
    ("values", "field", "message"),
    [
        ({}, "site", "Site must not be empty"),
        ({"site": " "}, "site", "Site must not be empty"),
        ({"site": "a/b"}, "site", "Site has another form than expected"),
        ({"site": "a" * 501}, "site", "Site has another form than expected"),
        ({"site": "acme", "x": "y"}, "x", "the preset acme has no such variable"),
    ],
)
def test_a_variable_that_is_missing_wrong_or_unknown_is_named(
    values: dict[str, str], field: str, message: str
) -> None:
    preset = read_preset("acme", MINIMAL)
    with pytest.raises(ConfigError) as caught:
        preset.draft("acme", preset.method(), values)
    assert (caught.value.field, caught.value.message) == (field, message)


def test_placeholders_of_secrets_are_no_variables() -> None:
    preset = read_preset("acme", MINIMAL)
    made = preset.draft("mine", preset.method(), {"site": "acme"}).configuration()
    assert made.base_url == "https://acme.acme.example"
    assert made.headers[0].value == "Key {secret}"


@pytest.mark.parametrize(
    ("before", "after", "field"),
    [
        ('title = "Acme"\n', "", "title"),
        ('category = "CRM"', 'category = "Nothing"', "category"),
        ('sure = "documentation"', 'sure = "quite"', "sure"),
        ("{site}.acme", "www.acme", "variables.site"),
        ('rotation = "manual"', 'rotation = "manual"\nother = 1', "other"),
        ('example = "acme"', 'example = "acme"\nother = 1', "variables.site.other"),
        ('title = "API key"', 'title = "API key"\nother = 1', "methods.api_key.other"),
    ],
)
def test_a_file_with_a_mistake_is_refused(before: str, after: str, field: str) -> None:
    assert before in MINIMAL
    with pytest.raises(ConfigError) as caught:
        read_preset("acme", MINIMAL.replace(before, after))
    assert caught.value.field == field


def test_a_preset_or_method_that_does_not_exist_is_named_with_those_that_do() -> None:
    with pytest.raises(ConfigError) as caught:
        PRESETS.get("stripes")
    assert caught.value.field == "preset"
    assert "stripe" in str(caught.value.hint)
    with pytest.raises(ConfigError) as caught:
        read_preset("acme", MINIMAL).method("other")
    assert caught.value.hint == "Known: api_key."
    assert read_preset("acme", MINIMAL).method("api_key").title == "API key"


@pytest.mark.parametrize(
    ("text", "is_found"),
    [("", True), ("ACM", True), ("crm acme", True), ("crm other", False)],
)
def test_a_search_finds_every_word_in_name_title_or_category(
    text: str, *, is_found: bool
) -> None:
    assert read_preset("acme", MINIMAL).matches(text) is is_found


def test_values_of_lists_are_filled_in_too() -> None:
    text = MINIMAL.replace('value = "Key {secret}"', 'value = "{site} {secret}"')
    preset = read_preset("acme", text)
    made = preset.draft("mine", preset.method(), {"site": "acme"}).configuration()
    assert made.headers[0].value == "acme {secret}"


def test_every_wrong_variable_is_named_at_once() -> None:
    preset = PRESETS.get("twilio")
    method = preset.method("")
    problems = preset.problems(method, {})
    assert len(problems) == len(
        [v for v in preset.variables_of(method) if v.default is None]
    )
    preset = next(
        preset
        for preset in PRESETS.all()
        if len(preset.problems(preset.method(), {})) > 1
    )
    with pytest.raises(ConfigError) as refused:
        preset.draft("a", preset.method(), {})
    for error in preset.problems(preset.method(), {}).values():
        assert error.message in refused.value.message


@pytest.mark.parametrize(
    ("text", "name"),
    [("stripe api key", "stripe"), ("oauth xero", "xero"), ("basic twilio", "twilio")],
)
def test_a_search_finds_the_words_of_methods(text: str, name: str) -> None:
    assert name in [preset.name for preset in PRESETS.all() if preset.matches(text)]


@pytest.mark.parametrize(("typo", "name"), [("stirpe", "stripe"), ("Xreo", "xero")])
def test_a_typo_is_answered_with_a_near_name(typo: str, name: str) -> None:
    assert name in [preset.name for preset in similar_presets(PRESETS.all(), typo)]
    with pytest.raises(ConfigError) as refused:
        PRESETS.get(typo)
    assert refused.value.hint == f"Did you mean {name}?"


def test_how_well_a_preset_is_known_is_said_in_words() -> None:
    assert {preset.sure_words for preset in PRESETS.all()} <= {*SURENESS.values()}
    assert "users report" in SURENESS["reported"]


# What the public list of providers requests to check credentials, for the presets that
# cite it for a test path. For most providers it has no such path.
PATHS_OF_PROVIDER_LIST = {
    "bamboohr": "/v1/meta/fields",
    "chargebee": "/api/v2/business_entities",
    "front": "/me",
    "github": "/user",
    "hibob": "/v1/company/named-lists",
    "holded": "/invoicing/v1/contacts",
    "mailgun": "/v4/domains",
    "openai": "/v1/models",
    "shipstation": "/users",
}


def test_a_test_path_is_from_the_provider_list_only_where_that_has_it() -> None:
    citing = {
        preset.name: preset
        for preset in PRESETS.all()
        for source in preset.sources
        if source.startswith("public provider list") and "test path" in source
    }
    assert citing.keys() == PATHS_OF_PROVIDER_LIST.keys()
    for name, preset in citing.items():
        urls = [
            method.table["base_url"] + method.table["verification"]["test_path"]
            for method in preset.methods.values()
        ]
        path = PATHS_OF_PROVIDER_LIST[name]
        assert any(url.endswith(path) for url in urls), (name, urls)


@pytest.mark.parametrize("preset", PRESETS.all(), ids=lambda preset: preset.name)
def test_a_preset_is_as_sure_as_the_weakest_of_its_sources(preset: Preset) -> None:
    kinds = {source.partition(" ")[0] for source in preset.sources}
    if kinds & {"known,", "reported:"}:
        assert preset.sure == "reported"
    if preset.sure == "provider list":
        assert "public" in kinds


@pytest.mark.parametrize("preset", PRESETS.all(), ids=lambda preset: preset.name)
def test_a_test_path_has_a_source_or_is_called_known(preset: Preset) -> None:
    facts = " ".join(preset.sources)
    for method in preset.methods.values():
        path = method.table.get("verification", {}).get("test_path", "/")
        last = path.partition("?")[0].rstrip("/").rpartition("/")[2]
        assert path == "/" or "test path" in facts or last in facts, path


def test_no_source_has_a_parameter_that_tracks_readers() -> None:
    for preset in PRESETS.all():
        for source in preset.sources:
            assert not re.search(r"[?&](?:utm_|syclid|ss|gclid|fbclid|_gl)", source)
