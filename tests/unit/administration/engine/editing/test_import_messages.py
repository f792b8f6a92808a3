"""What an import says where a user pasted something else than expected."""

import json

import pytest

from outkey.administration.engine.editing.importing import incomplete_error
from outkey.foundation.core.errors import ConfigError
from outkey.hosts.importing import read_import
from outkey.importing.core.formats import ImportFormat
from unit.imports import configuration_of, found_secrets

OPENAPI = "openapi: 3.0.0\nservers: [{url: https://api.acme.example}]\npaths: {}\n"
CURL = "curl https://api.acme.example/me"
IN_PATH = "curl http://127.0.0.1:8080/bot/8s7D6f5G4h3J2k1L0qW9eRt/send"


def whys(text: str) -> list[str]:
    return [f"{item.item}: {item.why}" for item in read_import(text).report]


@pytest.mark.parametrize(
    ("source", "text", "message"),
    [
        ("curl", OPENAPI, "chosen format is curl, but this looks like OpenAPI"),
        ("postman", OPENAPI, "chosen format is Postman, but this looks like OpenAPI"),
        ("insomnia", OPENAPI, "chosen format is Insomnia, but this looks like OpenAPI"),
        ("bruno", OPENAPI, "chosen format is Bruno, but this looks like OpenAPI"),
        ("http", OPENAPI, "chosen format is .http, but this looks like OpenAPI"),
        ("har", OPENAPI, "chosen format is HAR, but this looks like OpenAPI"),
        ("openapi", '{"log": {}}', "chosen format is OpenAPI, but this looks like HAR"),
        ("openapi", CURL, "chosen format is OpenAPI, but this looks like curl"),
    ],
)
def test_another_format_than_the_chosen_one_is_named(
    source: str, text: str, message: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        read_import(text, source=source)
    assert refused.value.message == f"the {message}"
    assert refused.value.hint.startswith("Choose ")


def test_a_chosen_format_that_can_be_read_is_read_whatever_it_looks_like() -> None:
    text = f"### a comment\n{CURL}"
    imported = read_import(text, source=ImportFormat.CURL)
    assert configuration_of(imported).base_url == "https://api.acme.example"


@pytest.mark.parametrize("source", ["curl", "postman"])
def test_what_looks_like_nothing_keeps_the_message_of_its_reader(source: str) -> None:
    with pytest.raises(ConfigError) as refused:
        read_import('{"a": 1}', source=source)
    assert "looks like" not in refused.value.message


@pytest.mark.parametrize("source", ["", "curl"])
def test_a_url_alone_is_a_get(source: str) -> None:
    url = " https://api.acme.example/v1/orders?api_key=8s7d6f5g4&page=1\n"
    imported = read_import(url, source=source)
    assert configuration_of(imported).base_url == "https://api.acme.example/v1"
    assert found_secrets(imported) == {"query:api_key": "8s7d6f5g4"}
    assert imported.lines[0].line.method == "GET"


@pytest.mark.parametrize(
    "text",
    [
        "curl 'https://api.acme.example/me -H X-Api-Key:8s7d6f5g4",
        "curl -H 'X-Api-Key: 8s7d6f5g4 https://api.acme.example/me",
        "curl $'https://api.acme.example/me \\\n -H a:b",
    ],
)
def test_a_quote_that_swallows_the_url_is_named(text: str) -> None:
    with pytest.raises(ConfigError) as refused:
        read_import(text)
    assert refused.value.message == "a quote is not closed"
    assert "8s7d" not in refused.value.hint


def test_a_quote_that_ends_too_late_makes_no_option_a_part_of_the_url() -> None:
    with pytest.raises(ConfigError) as refused:
        read_import("curl 'https://api.acme.example/me -H 'X-Api-Key:8s7d6f5g4")
    assert "a quote is in the wrong place" in refused.value.message
    assert "8s7d" not in str(refused.value)


def test_a_last_quote_that_is_not_closed_is_reported() -> None:
    assert "quote: it is not closed: check the command" in whys(f"{CURL} -H 'A: b")


def test_a_quote_of_the_words_around_a_command_does_no_harm() -> None:
    assert read_import(f"{CURL}\nthat's all").configurations


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("page=1&per_page=50", "page, per_page = 50"),
        ("offset=0&limit=", "offset, limit"),
        ("offset=0&limit=many", "offset"),
        ("cursor=", "cursor"),
    ],
)
def test_the_parameters_of_pages_are_in_the_report(query: str, shown: str) -> None:
    text = f"curl 'https://api.acme.example/orders?{query}'"
    wanted = f"pages: {shown}; a sync line can use them once it has a target"
    assert wanted in whys(text)


def test_no_reason_is_invented_where_the_path_has_the_credential() -> None:
    imported = read_import(IN_PATH)
    assert "no_auth_reason" not in imported.configurations[0].draft.values
    assert imported.has_errors
    error = incomplete_error(imported)
    assert error is not None
    assert "nothing was saved" in error.message
    assert incomplete_error(read_import(CURL)) is None


def test_each_of_several_configurations_has_its_own_items() -> None:
    text = (
        "curl https://api.acme.example/a -H 'X-Key: 8s7d6f5g4'\n"
        "curl https://api.other.example/b -H 'X-Key: 8s7d6f5g4'"
    )
    found = whys(text)
    assert "acme: header X-Key: it is a secret" in found
    assert "other: header X-Key: it is a secret" in found


@pytest.mark.parametrize("text", ["hello", json.dumps({"a": 1}), "###\n"])
def test_an_unknown_format_gives_no_advice_for_another_interface(text: str) -> None:
    with pytest.raises(ConfigError) as refused:
        read_import(text)
    assert refused.value.hint
    assert "command line" not in refused.value.hint
