"""Where the values of variables come from, and that no token is one."""

from collections.abc import Callable

import pytest

from outkey.foundation.adapters.paths_jmespath import JmespathCompiler
from outkey.foundation.core.errors import ConfigError, VariableMissing
from outkey.foundation.core.secret import Secret
from outkey.sending.core.connections.sources import (
    SourceKind,
    VariableSource,
    find_variable,
    parse_source,
    read_variable,
)

FIELD = "connect.variables.tenant"
TOKEN = "tok-4f9a1c77"
RESPONSE = {
    "access_token": TOKEN,
    "refresh_token": "ref-1",
    "instance_url": "https://na1.books.example",
    "user": {"id_token": "inner-token-9", "id": 42},
    "again": f"Bearer {TOKEN}",
    "admin": True,
    "empty": "",
    "list": [{"tenantId": "t-1"}],
}


def paths(expression: str, field: str) -> Callable[[object], object]:
    return JmespathCompiler().compile(expression, field=field)


def source(text: str) -> VariableSource:
    return parse_source("tenant", text, FIELD, paths)


@pytest.mark.parametrize(
    ("text", "kind", "where"),
    [
        ("token:instance_url", SourceKind.TOKEN, "instance_url"),
        ('token:user."a:b"', SourceKind.TOKEN, 'user."a:b"'),
        ("redirect:realmId", SourceKind.REDIRECT, "realmId"),
        ("redirect:accounts-server", SourceKind.REDIRECT, "accounts-server"),
        ("request:[0].tenantId", SourceKind.REQUEST, "[0].tenantId"),
        ("token:access_token_type", SourceKind.TOKEN, "access_token_type"),
        ("entered", SourceKind.ENTERED, ""),
    ],
)
def test_a_source_is_a_kind_and_a_place(
    text: str, kind: SourceKind, where: str
) -> None:
    assert source(text) == VariableSource("tenant", kind, where)
    assert parse_source("tenant", text, FIELD, None) == source(text)
    assert source(text).field == FIELD


@pytest.mark.parametrize(
    "text",
    [
        "",
        "token",
        "token:",
        "redirect:",
        "entered:",
        "entered:x",
        " entered",
        "Token:x",
        "env:TENANT",
        "header:X-Tenant",
        "redirect:a b",
        "redirect:a&b",
        "redirect:" + "x" * 101,
        "request:[0",
        "token:" + "x" * 2001,
        None,
        7,
        ["entered"],
    ],
)
def test_other_texts_are_not_sources(text: object) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_source("tenant", text, FIELD, paths)
    assert (caught.value.field, bool(caught.value.hint)) == (FIELD, True)


def test_a_source_is_that_of_a_valid_name() -> None:
    with pytest.raises(ConfigError, match="not a name"):
        parse_source("ten-ant", "entered", FIELD, paths)


@pytest.mark.parametrize(
    "text",
    [
        "token:access_token",
        "token:refresh_token",
        "token:id_token",
        "request:access_token",
        "token:user.id_token",
        "token:id_token.sub",
        "token:accessToken",
        'token:"access_token"',
        'token:"access\\u005ftoken"',
        'token:"\\u0061ccess_token"',
        "token:instance_url || access_token",
        "token:join('', [access_token])",
        "token:{x: id_token}.x",
        "token:parts[?name=='refresh_token'].value | [0]",
        "token:[*].access_token",
        "redirect:access_token",
        "redirect:id_token",
        "redirect:code",
        "redirect:state",
        "redirect:Code",
    ],
)
def test_a_source_that_names_a_token_is_refused_when_it_is_saved(text: str) -> None:
    with pytest.raises(ConfigError, match="variables are not secret") as caught:
        source(text)
    assert (caught.value.field, bool(caught.value.hint)) == (FIELD, True)


@pytest.mark.parametrize(
    "expression",
    [
        "*",
        "@",
        "values(@)",
        "values(@)[0]",
        "to_string(@)",
        "join(' ', values(@)[?type(@)=='string'])",
        "user.*",
        "to_string(user)",
        "merge(@, `{}`)",
    ],
)
def test_no_expression_sees_a_token_of_the_response(expression: str) -> None:
    document = {**RESPONSE, "again": "x"}
    found = find_variable(source(f"token:{expression}"), document, paths)
    for token in (TOKEN, "ref-1", "inner-token-9"):
        assert token not in str(found)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("token:instance_url", "https://na1.books.example"),
        ("token:user.id", "42"),
        ("token:admin", "true"),
        ("request:list[0].tenantId", "t-1"),
        ("redirect:instance_url", "https://na1.books.example"),
    ],
)
def test_a_value_is_read_as_text(text: str, value: str) -> None:
    assert read_variable(source(text), RESPONSE, paths) == value


def test_an_entered_value_is_read_by_its_name() -> None:
    assert read_variable(source("entered"), {"tenant": " t 1"}, paths) == " t 1"


@pytest.mark.parametrize(
    ("text", "document"),
    [
        ("token:nothing", RESPONSE),
        ("token:empty", RESPONSE),
        ("token:join('-', user)", RESPONSE),  # a wrong type
        ("token:instance_url", None),
        ("redirect:nothing", RESPONSE),
        ("redirect:nothing", None),
        ("entered", {}),
    ],
)
def test_a_source_that_yields_nothing_names_its_variable(
    text: str, document: object
) -> None:
    with pytest.raises(VariableMissing, match="the variable tenant has no value"):
        read_variable(source(text), document, paths)


@pytest.mark.parametrize("text", ["token:list", "token:user", "token:again"])
def test_a_value_that_is_no_text_or_a_token_is_refused_and_not_repeated(
    text: str,
) -> None:
    with pytest.raises(ConfigError) as caught:
        read_variable(source(text), RESPONSE, paths)
    error = caught.value
    assert "the variable tenant is invalid" in error.message
    assert TOKEN not in f"{error.message} {error.hint} {error.field}"


def test_a_token_that_a_configuration_reads_elsewhere_is_no_value() -> None:
    document = {"data": {"jwt": "jwt-12345678"}, "id": "jwt"}
    tokens = [Secret("jwt-12345678")]
    assert read_variable(source("token:id"), document, paths, tokens=tokens) == "jwt"
    with pytest.raises(ConfigError, match="it is a token"):
        read_variable(source("token:data.jwt"), document, paths, tokens=tokens)


def test_a_short_token_is_not_searched_for_in_other_values() -> None:
    document = {"access_token": "na1", "instance_url": "https://na1.books.example"}
    value = read_variable(source("token:instance_url"), document, paths)
    assert value == "https://na1.books.example"


def test_a_response_that_is_nested_too_deeply_is_read_as_far_as_that() -> None:
    document: object = {"access_token": TOKEN}
    for _ in range(500):
        document = [document]
    nested = {"tenant": "t-1", "deep": document}
    assert read_variable(source("token:tenant"), nested, paths) == "t-1"
    found = find_variable(source("token:to_string(deep)"), nested, paths)
    assert TOKEN not in str(found)
