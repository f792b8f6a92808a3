"""Whatever is pasted: it is read, or refused as a configuration error."""

import json
import shlex

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from outkey.foundation.core.errors import ConfigError
from outkey.hosts.importing import read_import
from outkey.importing.core.readers.shell_words import (
    Dialect,
    dialect_of,
    split_commands,
)

ASCII = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=30)
PIECES = st.sampled_from(
    [
        *"'\"\\`$^&|<>;#%{}()\n ",
        "curl ",
        "https://a.example/",
        " -H ",
        "-u a:b",
        " -d ",
        "$(",
        "{{x}}",
        "Authorization: Bearer x",
        "grant_type=password",
        "\u201c",
        "\u2014",
        "curl.exe ",
    ]
)
KEYS = st.sampled_from(
    """
    item request url raw query header auth type bearer key value variable info name
    resources _type authentication collection children environments data openapi
    servers security components securitySchemes paths get parameters swagger host log
    entries headers method body mode urlencoded flows tokenUrl $ref scheme in
    """.split()  # noqa: SIM905 - easier to read than one name a line
)
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from(
        ["https://a.example/x", "{{v}}", "oauth2", "bearer", "apiKey", "#/info", "/x"]
    ),
    st.text(max_size=5),
)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(KEYS, inner, max_size=6)
    ),
    max_leaves=30,
)


def is_usable_or_refused(text: str, source: str = "") -> bool:
    """Whether an import is refused with a message, or all it has can be saved."""
    try:
        imported = read_import(text, source=source)
    except ConfigError as error:
        return bool(error.message)
    made = [item.draft.configuration() for item in imported.configurations]
    return bool(made) and all(configuration.base_url for configuration in made)


@given(st.lists(ASCII, max_size=6))
def test_words_that_python_quotes_are_split_again(words: list[str]) -> None:
    text = f"curl {shlex.join(words)}"
    assume(dialect_of(text) is Dialect.POSIX)
    (command,) = split_commands(text)
    assert command.words == ["curl", *words]


@given(st.lists(PIECES, max_size=25))
@settings(max_examples=4 * settings.default.max_examples)
def test_any_command_is_read_or_refused(pieces: list[str]) -> None:
    assert is_usable_or_refused("".join(pieces), "curl")


@pytest.mark.untraced
@given(
    st.sampled_from(["postman", "openapi", "insomnia", "bruno", "har"]),
    st.dictionaries(KEYS, TREES, max_size=8),
)
@settings(
    max_examples=4 * settings.default.max_examples,
    suppress_health_check=[HealthCheck.too_slow],
)
def test_any_tree_is_read_or_refused(source: str, tree: dict[str, object]) -> None:
    assert is_usable_or_refused(json.dumps(tree), source)


@given(st.lists(PIECES, max_size=25))
def test_any_text_is_recognized_or_refused(pieces: list[str]) -> None:
    assert is_usable_or_refused("".join(pieces))
