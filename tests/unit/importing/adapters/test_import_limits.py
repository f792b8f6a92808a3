"""What is too long, too deep or meant to explode ends in time, and is not repeated."""

import json
import time
from contextlib import suppress

import pytest

from outkey.foundation.core.errors import ConfigError
from outkey.hosts.importing import read_import
from outkey.importing.adapters.yaml_events import MAX_EVENTS, parse_yaml

SECRET = "8s7d6f5g4h3j"
SECONDS = 30  # of the contract, also with coverage
HEAD = "openapi: 3.0.0\n"
ALIASES = HEAD + "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
for letter, before in zip("bcdefgh", "abcdefg", strict=True):
    ALIASES += f"{letter}: &{letter} [{', '.join([f'*{before}'] * 10)}]\n"
BOMBS = {
    "JSON depth": '{"openapi": ' + "[" * 100_000,
    "JSON depth, closed": '{"item": ' + "[" * 60 + "]" * 60 + "}",
    "JSON of many lists": '{"openapi": [' + "[]," * 600_000,
    "40 MB": "a" * 40_000_000,
    "YAML depth": HEAD + "a: " + "[" * 100_000,
    "YAML depth by indent": HEAD + "\n".join(" " * n + f"k{n}:" for n in range(100)),
    "YAML aliases": ALIASES,
    "YAML many aliases": HEAD + "a: &a x\nb: [" + "*a, " * 200 + "]",
    "YAML alias of itself": HEAD + "a: &a [*a]",
    "YAML unknown alias": HEAD + "a: *nothing",
    "YAML merge keys": HEAD + "a: &a {x: 1}\nb: {<<: *a}",
    "YAML tag": HEAD + "a: !!python/object/apply:os.system ['true']",
    "YAML key that is a list": HEAD + "? [a]\n: b",
    "YAML two documents": HEAD + "---\na: b\n",
    "YAML events": HEAD + "a: [" + "x," * MAX_EVENTS + "]",
    "YAML broken": HEAD + f"a: [{SECRET}",
    "YAML control character": HEAD + f"a: {SECRET}\x01",
    "JSON broken": f'{{"item": "{SECRET}"',
    "JSON surrogate": '{"openapi": "\\ud800", "servers": [{"url": "\\ud800"}]}',
    "JSON list": f'["{SECRET}"]',
    "JSON unknown": json.dumps({"a": SECRET}),
    "YAML unknown": f"info: {SECRET}\n",
    "host": f"curl https://{SECRET}_%%/",
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_a_configuration_error_in_time(name: str) -> None:
    began = time.monotonic()
    with pytest.raises(ConfigError) as caught:
        read_import(BOMBS[name])
    assert time.monotonic() - began < SECONDS
    assert SECRET not in f"{caught.value} {caught.value.hint} {caught.value.field}"
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_a_source_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ConfigError):
        read_import("- a\n- b\n", source="openapi")


def test_yaml_without_a_document_is_nothing() -> None:
    assert parse_yaml("# only a comment") is None


def test_plain_yaml_is_texts_lists_and_tables() -> None:
    text = "a: no\nb: 012\nc: [1:30, ~]\nd: &d {e: 1.0}\nf: *d\n? g\n: ''\n"
    assert parse_yaml(text) == {
        "a": "no",
        "b": "012",
        "c": ["1:30", "~"],
        "d": {"e": "1.0"},
        "f": {"e": "1.0"},
        "g": "",
    }


def postman(**more: object) -> str:
    return json.dumps({"info": {"name": "x"}, "item": []} | more)


def insomnia_chain(length: int) -> str:
    folders = [
        {"_id": f"f{n}", "_type": "request_group", "parentId": f"f{n + 1}"}
        for n in range(length)
    ]
    requests = [
        {"_type": "request", "parentId": "f0", "url": f"https://a.example/{n}"}
        for n in range(2000)
    ]
    return json.dumps({"resources": [*folders, *requests]})


def openapi(**more: object) -> str:
    return json.dumps({"openapi": "3.0.0", "servers": [{"url": "https://a.b"}]} | more)


SLOW = {
    "blank lines": "\n" * 2_000_000 + "curl",
    "spaces in braces": "GET https://a.example/{{" + " " * 1_900_000,
    "spaces before a version": "GET https://a.example/a" + " " * 1_900_000 + "b",
    "many requests": "###\nGET https://a.example\n" * 80_000,
    "many origins": "".join(f"###\nGET https://a{n}.example\n" for n in range(50_000)),
    "many headers": "GET https://a.example\n"
    + "".join(f"X-{n}: 1\n" for n in range(150_000)),
    "many lines before a request": "#\n" * 900_000 + "GET https://a.example\n",
    "one request with a long query": "GET https://a.example/?" + "key1=a&" * 250_000,
    "many items": postman(
        item=[{"request": f"https://a.example/{n}"} for n in range(40_000)]
    ),
    "many variables of a path": postman(
        item=[
            {
                "request": {
                    "url": {
                        "raw": "https://a.example/" + ":a/" * 100_000,
                        "variable": [{"key": f"a{n}"} for n in range(40_000)],
                    }
                }
            }
        ]
    ),
    "variables that multiply": postman(
        variable=[
            {"key": f"v{n}", "value": f"{{{{v{n + 1}}}}}" * 900} for n in range(9)
        ],
        item=[{"request": "https://a.example/{{v0}}"} for _ in range(500)],
    ),
    "a chain of folders": insomnia_chain(10_000),
    "many paths": openapi(paths={f"/{n}": {"get": {}} for n in range(50_000)}),
    "a chain of references": openapi(
        components={
            "x": {f"a{n}": {"$ref": f"#/components/x/a{n + 1}"} for n in range(5000)}
        },
        paths={f"/{n}": {"$ref": "#/components/x/a0"} for n in range(5000)},
    ),
    "many parameters behind one reference": openapi(
        components={"x": {"get": {}, "parameters": [{"name": "a"}] * 50_000}},
        paths={f"/{n}": {"$ref": "#/components/x"} for n in range(5000)},
    ),
    "many alternatives": openapi(security=[{f"s{n}": []} for n in range(60_000)]),
}


@pytest.mark.untraced
@pytest.mark.parametrize("name", SLOW)
def test_what_is_made_to_be_slow_ends_in_time(name: str) -> None:
    began = time.monotonic()
    with suppress(ConfigError):
        read_import(SLOW[name])
    assert time.monotonic() - began < SECONDS


def test_a_file_of_requests_has_a_greatest_number_of_lines() -> None:
    with pytest.raises(ConfigError, match="more than 50000 lines"):
        read_import(SLOW["many lines before a request"])


def test_texts_that_variables_describe_are_limited_together() -> None:
    with pytest.raises(ConfigError, match="too long texts"):
        read_import(SLOW["variables that multiply"])
