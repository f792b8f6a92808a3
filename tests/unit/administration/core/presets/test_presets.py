"""Presets: every provider loads, passes the checks, and sends what is expected."""

import json
import re
import sys
from datetime import date
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[5] / "tools"))

from catalogue_claims import agrees, configuration_facts, filled_tables
from preset_requests import (
    REQUESTS,
    TOKEN_REQUESTS,
    fetches_token,
    request_of,
    token_request_of,
)

from outkey.administration.adapters.preset_files import PresetFiles
from outkey.administration.core.presets.presets import (
    Preset,
    PresetMethod,
    read_preset,
    similar_presets,
)
from outkey.administration.core.presets.rotation import ROTATIONS
from outkey.administration.core.presets.sources import SURENESS
from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.fields.choices import AuthenticationType
from outkey.sending.core.configuration.checks import refuse_unsavable
from outkey.sending.core.configuration.configuration import Configuration

PRESETS = PresetFiles()
METHODS = [
    pytest.param(preset, method, id=f"{preset.name}-{method.name}")
    for preset in PRESETS.all()
    for method in preset.methods.values()
]
# Sites that describe the APIs of others, and places where their users write.
OF_OTHERS = re.compile(
    r"nango\.dev|unified\.to|apideck|api-evangelist|skills\.sh|mintlify|n8n\.io|npmjs"
    r"|pypi\.org|packagist|hexdocs|rubydoc|docs\.rs|gist\.github|/community/|//community\."
)
TOKEN_METHODS = [case for case in METHODS if fetches_token(case.values[1])]  # type: ignore[arg-type]
EXPECTED: dict[str, list[str]] = json.loads(REQUESTS.read_text("utf-8"))
EXPECTED_OF_TOKENS: dict[str, list[str]] = json.loads(TOKEN_REQUESTS.read_text("utf-8"))
MINIMAL = """
title = "Acme"
category = "CRM"
documentation = "https://acme.example/docs"
checked = 2026-11-16
rotation = { kind = "overlap" }
notes = ""
sources = [
    { kind = "documentation", facts = ["base_url", "authentication", "headers"],\
 at = "https://acme.example/docs", says = "all" },
]
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
    # A signature needs no https: WooCommerce asks for one where there is none.
    is_signed = made.authentication_type is AuthenticationType.OAUTH1
    assert made.base.origin.scheme == "https" or is_signed


@pytest.mark.parametrize(("preset", "method"), METHODS)
def test_the_test_request_of_a_preset_is_the_recorded_one(
    preset: Preset, method: PresetMethod
) -> None:
    assert request_of(preset, method) == EXPECTED[f"{preset.name} {method.name}"]


@pytest.mark.parametrize(("preset", "method"), TOKEN_METHODS)
def test_the_token_request_of_a_preset_is_the_recorded_one(
    preset: Preset, method: PresetMethod
) -> None:
    expected = EXPECTED_OF_TOKENS[f"{preset.name} {method.name}"]
    assert token_request_of(preset, method) == expected


def test_every_recorded_request_has_its_preset() -> None:
    methods = [
        (f"{preset.name} {method.name}", method)
        for preset in PRESETS.all()
        for method in preset.methods.values()
    ]
    assert {*EXPECTED} == {name for name, _ in methods}
    assert {*EXPECTED_OF_TOKENS} == {
        name for name, method in methods if fetches_token(method)
    }


@pytest.mark.parametrize("preset", PRESETS.all(), ids=lambda preset: preset.name)
def test_a_preset_names_its_sources_and_when_they_were_compared(preset: Preset) -> None:
    assert preset.sources
    for source in preset.sources:
        assert source.facts
        assert source.says
        assert not source.at or source.at.startswith("https://")
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
        ('kind = "overlap"', 'kind = "quite"', "rotation.kind"),
        ('kind = "overlap"', 'kind = "overlap", at_once = 1', "rotation.at_once"),
        ('kind = "overlap"', 'kind = "overlap", keys = 1', "rotation.keys"),
        (
            'kind = "overlap"',
            'kind = "switch", grace_hours = 1',
            "rotation.grace_hours",
        ),
        ('kind = "documentation"', 'kind = "quite"', "sources.kind"),
        ('kind = "documentation"', 'kind = "catalogue"', "sources.entry"),
        ('at = "https', 'entry = "acme", at = "https', "sources.entry"),
        ('at = "https://acme.example/docs", ', "", "sources.at"),
        ('"base_url", ', '"other", ', "sources.facts"),
        ('says = "all"', 'says = "all", other = 1', "sources.other"),
        ('notes = ""', 'notes = ""\nends = 2027-01-01', "successor"),
        (
            'title = "API key"',
            'title = "API key"\nends = 2027-01-01',
            "methods.api_key.successor",
        ),
        ("{site}.acme", "www.acme", "variables.site"),
        ('notes = ""', 'notes = ""\nother = 1', "other"),
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


RECORD: dict[str, dict[str, list[str]]] = json.loads(
    (Path(__file__).parents[3] / "catalogue_facts.json").read_text("utf-8")
)


def test_the_catalogue_has_every_fact_that_a_preset_says_it_has() -> None:
    claims = {
        (f"{preset.name} {source.entry}", fact)
        for preset in PRESETS.all()
        for source in preset.sources
        if source.entry
        for fact in source.facts
    }
    assert claims == {(key, fact) for key, facts in RECORD.items() for fact in facts}
    assert len(claims) > 100


@pytest.mark.parametrize("key", RECORD)
def test_what_the_catalogue_has_is_what_the_preset_has(key: str) -> None:
    tables = [*filled_tables(PRESETS.get(key.partition(" ")[0]))]
    for fact, texts in RECORD[key].items():
        values = [
            value
            for table in tables
            for value in configuration_facts(table).get(fact, ())
        ]
        assert all(agrees(fact, text, values) for text in texts), (fact, values)


@pytest.mark.parametrize("preset", PRESETS.all(), ids=lambda preset: preset.name)
def test_every_fact_on_which_the_requests_depend_has_a_source(preset: Preset) -> None:
    known = {evidence.fact for evidence in preset.evidence}
    assert {*preset.stated_facts} <= known


@pytest.mark.parametrize("preset", PRESETS.all(), ids=lambda preset: preset.name)
def test_what_is_said_about_replacing_a_secret_has_a_source(preset: Preset) -> None:
    known = {evidence.fact for evidence in preset.evidence}
    if preset.rotation.kind in {"overlap", "switch"} or preset.rotation.note:
        assert "rotation" in known


@pytest.mark.parametrize("preset", PRESETS.all(), ids=lambda preset: preset.name)
def test_a_page_of_somebody_else_is_no_documentation(preset: Preset) -> None:
    for source in preset.sources:
        if source.kind == "documentation":
            assert not OF_OTHERS.search(source.at), source.at


def test_a_preset_is_as_sure_as_its_least_known_fact() -> None:
    heard = MINIMAL.replace(
        "sources = [",
        'sources = [{ kind = "reported", facts = ["test_path"], says = "heard" },',
    )
    assert read_preset("acme", heard).sure == "documentation"
    with_path = heard.replace(
        "[methods.api_key.secrets]",
        "[methods.api_key.configuration.verification]\n"
        'test_path = "/me"\n'
        "[methods.api_key.secrets]",
    )
    preset = read_preset("acme", with_path)
    assert preset.sure == "reported"
    assert preset.stated_facts == ["base_url", "authentication", "headers", "test_path"]
    (test_path,) = (e for e in preset.evidence if e.fact == "test_path")
    assert (test_path.label, test_path.best_places) == ("Test path", ["heard"])
    assert test_path.kind_words == SURENESS["reported"]


def test_a_fact_without_a_source_is_reported() -> None:
    preset = read_preset("acme", MINIMAL.replace(', "headers"', ""))
    assert preset.sure == "reported"


def test_the_best_source_of_a_fact_comes_first() -> None:
    text = MINIMAL.replace(
        "sources = [",
        'sources = [{ kind = "reported", facts = ["base_url"], says = "heard" }, '
        '{ kind = "catalogue", facts = ["base_url"], entry = "acme", says = "all" }, ',
    )
    (base_url, *_) = read_preset("acme", text).evidence
    assert [source.kind for source in base_url.sources] == [*SURENESS]
    assert base_url.kind == "documentation"
    assert base_url.sources[1].line.endswith("0.71.10: acme: all")
    assert base_url.sources[2].line == "heard"


@pytest.mark.parametrize(
    ("rotation", "words"),
    [
        ('{ kind = "switch", at_once = 1 }', ROTATIONS["switch"]),
        (
            (
                '{ kind = "overlap", at_once = 5, grace_hours = 24,'
                ' lifetime_days = 365, note = "Not on Sundays." }'
            ),
            (
                f"{ROTATIONS['overlap']}; at most 5 at the same time; hours for which"
                " the old one stays valid at most: 24; lifetime of a secret in days:"
                " 365; Not on Sundays."
            ),
        ),
    ],
)
def test_how_a_secret_is_replaced_is_said_in_words(rotation: str, words: str) -> None:
    preset = read_preset("acme", MINIMAL.replace('{ kind = "overlap" }', rotation))
    assert preset.rotation.words == words


@pytest.mark.parametrize(
    ("kind", "advice"),
    [("overlap", "test and start it"), ("switch", "a quiet time"), ("unknown", "test")],
)
def test_a_kind_of_rotation_says_how_to_go_about_it(kind: str, advice: str) -> None:
    document = MINIMAL.replace('"overlap"', f'"{kind}"')
    assert advice in read_preset("acme", document).rotation.advice


@pytest.mark.parametrize(
    ("name", "kind", "at_once", "grace_hours"),
    [
        ("auth0", "switch", 1, None),
        ("aws_s3", "overlap", 2, None),
        ("bamboohr", "overlap", None, None),
        ("github", "overlap", None, None),
        ("google", "overlap", None, None),
        ("hubspot", "overlap", None, 168),
        ("jira", "overlap", None, None),
        ("microsoft_graph", "overlap", None, None),
        ("okta", "overlap", 2, None),
        ("shopify", "overlap", 2, None),
        ("stripe", "overlap", None, 168),
        ("twilio", "overlap", None, None),
    ],
)
def test_what_is_known_of_the_rotation_at_much_used_providers(
    name: str, kind: str, at_once: int | None, grace_hours: int | None
) -> None:
    rotation = PRESETS.get(name).rotation
    expected = (kind, at_once, grace_hours)
    assert (rotation.kind, rotation.at_once, rotation.grace_hours) == expected


def test_every_kind_of_rotation_has_advice() -> None:
    kinds = {preset.rotation.kind for preset in PRESETS.all()}
    assert kinds == {*ROTATIONS}
    assert all(preset.rotation.advice for preset in PRESETS.all())


ENDING_METHOD = """
[methods.old]
title = "Password"
ends = 2027-04-30
successor = "API key"
[methods.old.configuration]
base_url = "https://{site}.acme.example"
authentication_type = "basic"
username = "api"
[methods.old.secrets]
password = "In the settings."
"""


def made_by(preset: Preset, method: str) -> Configuration:
    return preset.draft("mine", preset.method(method), {"site": "acme"}).configuration()


def test_the_end_of_a_method_concerns_the_configurations_of_its_kind() -> None:
    preset = read_preset("acme", MINIMAL + ENDING_METHOD)
    ending = preset.ending_of(made_by(preset, "old"))
    assert ending
    assert ending.words == "ends on 2027-04-30; instead: API key"
    assert preset.ending_of(made_by(preset, "api_key")) is None
    assert preset.method("old").label == "Password (ends on 2027-04-30)"
    assert preset.method("api_key").label == "API key"


def test_of_two_ends_the_first_counts() -> None:
    later = MINIMAL.replace(
        'notes = ""', 'notes = ""\nends = 2028-01-01\nsuccessor = "Acme 2"'
    )
    preset = read_preset("acme", later + ENDING_METHOD)
    soon = preset.ending_of(made_by(preset, "old"))
    late = preset.ending_of(made_by(preset, "api_key"))
    assert soon
    assert late
    assert (soon.day, late.day) == (date(2027, 4, 30), date(2028, 1, 1))


def test_what_is_deprecated_without_a_day_is_shown_and_not_reported() -> None:
    text = MINIMAL.replace('notes = ""', 'notes = ""\nsuccessor = "Acme 2"')
    preset = read_preset("acme", text)
    assert preset.ending
    assert preset.ending.words == "deprecated; instead: Acme 2"
    assert preset.ending_of(made_by(preset, "api_key")) is None


def test_a_deprecated_method_is_called_so() -> None:
    preset = read_preset(
        "acme", MINIMAL + ENDING_METHOD.replace("ends = 2027-04-30", "")
    )
    assert preset.method("old").label == "Password (deprecated)"
    assert preset.ending_of(made_by(preset, "old")) is None


def test_zendesk_ends_api_tokens_only() -> None:
    preset = PRESETS.get("zendesk")
    for method in preset.methods.values():
        made = preset.draft("z", method, examples(preset, method)).configuration()
        ending = preset.ending_of(made)
        assert (ending is not None) is (method.name == "api_token")


def test_no_source_has_a_parameter_that_tracks_readers() -> None:
    for preset in PRESETS.all():
        for source in preset.sources:
            assert not re.search(r"[?&](?:utm_|syclid|ss|gclid|fbclid|_gl)", source.at)
