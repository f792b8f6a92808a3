"""What is too long, too deep or meant to explode ends in time, and is not repeated."""

import json
import time

import pytest

from outkey.adapters.yaml_events import MAX_EVENTS, parse_yaml
from outkey.core.errors import ConfigError
from outkey.hosts.importing import read_import

SECRET = "8s7d6f5g4h3j"
SECONDS = 10.0
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
