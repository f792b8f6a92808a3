"""OpenAPI and Swagger: servers, alternatives of security, references, a test path."""

import json
from typing import Any

import pytest

from outkey.foundation.core.errors import ConfigError
from outkey.hosts.importing import read_import
from outkey.importing.core.reading import Import
from unit.imports import configuration_of, reported

SCHEMES: dict[str, Any] = {
    "basic": {"type": "http", "scheme": "Basic"},
    "bearer": {"type": "http", "scheme": "bearer"},
    "digest": {"type": "http", "scheme": "digest"},
    "hoba": {"type": "http", "scheme": "hoba"},
    "key": {"type": "apiKey", "in": "header", "name": "X-Key"},
    "query": {"type": "apiKey", "in": "query", "name": "k"},
    "cookie": {"type": "apiKey", "in": "cookie", "name": "sid"},
    "bare": {"type": "apiKey", "in": "header", "name": "Authorization"},
    "tls": {"type": "mutualTLS"},
    "oidc": {
        "type": "openIdConnect",
        "openIdConnectUrl": "https://id.example/.well-known/openid-configuration",
    },
    "oauth": {
        "type": "oauth2",
        "flows": {
            "clientCredentials": {"tokenUrl": "/oauth/token", "scopes": {"read": ""}},
            "implicit": {"authorizationUrl": "https://id.example/auth", "scopes": {}},
        },
    },
    "empty": {"type": "oauth2", "flows": {}},
}


def document(**more: object) -> dict[str, Any]:
    return {
        "openapi": "3.1.0",
        "info": {"title": "Acme"},
        "servers": [{"url": "https://api.acme.example/v1"}],
        "components": {"securitySchemes": SCHEMES},
        "paths": {"/orders": {"get": {"operationId": "listOrders"}}},
    } | more


def read(**more: object) -> Import:
    return read_import(json.dumps(document(**more)))


def values(imported: Import) -> dict[str, object]:
    return dict(imported.configurations[0].draft.values)


@pytest.mark.parametrize(
    ("scheme", "expected", "references"),
    [
        ("basic", {"authentication_type": "basic"}, ["password"]),
        ("bearer", {"authentication_type": "bearer"}, ["token"]),
        ("digest", {"authentication_type": "digest"}, ["password"]),
        ("key", {}, ["header:X-Key"]),
        ("query", {}, ["query:k"]),
        ("cookie", {"token_header": "cookie:sid"}, ["token"]),
        ("bare", {"token_prefix": ""}, ["token"]),
        ("tls", {}, ["client_key"]),
        (
            "oauth",
            {"oauth2.token_url": "https://api.acme.example/oauth/token"},
            ["client_secret"],
        ),
        ("oidc", {"oauth2.issuer": "https://id.example"}, ["client_secret"]),
    ],
)
def test_schemes(
    scheme: str, expected: dict[str, object], references: list[str]
) -> None:
    imported = read(security=[{scheme: []}])
    assert expected.items() <= values(imported).items()
    assert list(imported.configurations[0].draft.references) == references
    assert dict(imported.configurations[0].secrets) == {}


def test_what_outkey_can_do_is_chosen_and_the_rest_named() -> None:
    imported = read(security=[{"hoba": []}, {}, {"bearer": []}, {"key": []}])
    assert list(imported.configurations[0].draft.references) == ["header:X-Key"]
    assert reported(imported)["security bearer"] == "dropped"
    imported = read(security=[{"hoba": []}, {"empty": []}])
    assert reported(imported)["security hoba"] == "dropped"
    assert reported(imported)["security empty"] == "dropped"
    assert values(imported)["no_auth_reason"] == "public_api"


def test_all_schemes_of_an_alternative_are_needed() -> None:
    both = read(security=[{"bearer": [], "key": []}])
    assert sorted(both.configurations[0].draft.references) == ["header:X-Key", "token"]
    two = read(security=[{"bearer": [], "basic": []}])
    assert reported(two)["security bearer + basic"] == "dropped"


def test_security_of_operations_and_of_schemes_alone() -> None:
    paths = {
        "/open": {"get": {"security": []}},
        "/me": {"get": {"security": [{"bearer": []}]}},
    }
    imported = read(paths=paths)
    assert values(imported)["authentication_type"] == "bearer"
    assert values(imported)["verification.test_path"] == "/me"
    alone = read(components={"securitySchemes": {"key": SCHEMES["key"]}})
    assert list(alone.configurations[0].draft.references) == ["header:X-Key"]
    none = read(security=[])
    assert values(none)["no_auth_reason"] == "public_api"


def test_scopes_are_those_of_the_requirement() -> None:
    assert values(read(security=[{"oauth": ["read"]}]))["oauth2.scope"] == "read"
    imported = read(security=[{"oauth": []}])
    assert reported(imported)["scopes"] == "changed"
    assert reported(imported)["flow implicit"] == "dropped"


@pytest.mark.parametrize(
    ("flow", "expected"),
    [
        (
            {
                "authorizationCode": {
                    "authorizationUrl": "https://id.example/auth",
                    "tokenUrl": "https://id.example/token",
                    "refreshUrl": "https://id.example/refresh",
                }
            },
            {"oauth2.grant": "authorization_code"},
        ),
        (
            {
                "deviceAuthorization": {
                    "deviceAuthorizationUrl": "https://id.example/device",
                    "tokenUrl": "https://id.example/token",
                }
            },
            {"oauth2.grant": "device_code"},
        ),
        ({"password": {"tokenUrl": "/v1/token"}}, {"login.path": "/token"}),
        (
            {"implicit": {"authorizationUrl": "https://id.example/auth"}},
            {"token_source": "entered"},
        ),
    ],
)
def test_flows(flow: dict[str, Any], expected: dict[str, object]) -> None:
    scheme = {"type": "oauth2", "flows": flow}
    imported = read(components={"securitySchemes": {"o": scheme}}, security=[{"o": []}])
    assert expected.items() <= values(imported).items()


def test_servers() -> None:
    variables = {"region": {"default": "eu", "enum": ["eu", "us"]}, "shop": {}}
    url = "https://{region}.acme.example/v1"
    imported = read(servers=[{"url": url, "variables": variables}, {"url": "/x"}])
    assert values(imported)["base_url"] == "https://eu.acme.example/v1"
    assert reported(imported)["server variable region"] == "changed"
    assert reported(imported)["servers"] == "dropped"
    unknown = read(servers=[{"url": "https://{shop}.acme.example", "variables": {}}])
    assert configuration_of(unknown).base.origin.host.endswith(".invalid")
    for servers in ([], [{"url": "/v1"}]):
        relative = read(servers=servers, security=[{"oauth": []}])
        assert configuration_of(relative).base.origin.host == "host.invalid"
        assert reported(relative)["base_url"] == "dropped"


def test_swagger_2() -> None:
    swagger: dict[str, Any] = {
        "swagger": "2.0",
        "info": {"title": "Old"},
        "host": "api.old.example",
        "basePath": "/v1",
        "schemes": ["http"],
        "securityDefinitions": {
            "o": {
                "type": "oauth2",
                "flow": "application",
                "tokenUrl": "https://id.old.example/token",
                "scopes": {"a": ""},
            },
            "b": {"type": "basic"},
        },
        "security": [{"o": ["a"]}],
        "paths": {"/things": {"get": {}}},
    }
    imported = read_import(json.dumps(swagger))
    assert values(imported)["base_url"] == "https://api.old.example/v1"
    assert values(imported)["oauth2.scope"] == "a"
    del swagger["host"], swagger["schemes"]
    swagger["security"] = [{"b": []}]
    imported = read_import(json.dumps(swagger))
    assert values(imported)["authentication_type"] == "basic"
    assert configuration_of(imported).base.origin.host == "host.invalid"


def test_references_stay_inside_and_come_to_an_end() -> None:
    schemes = {
        "loop": {"$ref": "#/components/securitySchemes/loop"},
        "away": {"$ref": "https://evil.example/x.json"},
        "near": {"$ref": "#/components/x/a~1b%20c"},
    }
    components = {
        "securitySchemes": schemes,
        "x": {"a/b c": {"type": "http", "scheme": "bearer"}},
        "parameters": {"p": {"name": "q", "in": "query", "required": True}},
    }
    for name in ("loop", "away"):
        imported = read(components=components, security=[{name: []}])
        assert reported(imported)["$ref"] == "dropped"
    paths = {
        "/needs": {"get": {"parameters": [{"$ref": "#/components/parameters/p"}]}},
        "/free": {"get": {"parameters": [{"name": "q", "in": "query"}]}},
        "/by/{id}": {"get": {}},
        "no-slash": {"get": {}},
        "/write": {"post": {}},
    }
    imported = read(components=components, security=[{"near": []}], paths=paths)
    assert values(imported)["authentication_type"] == "bearer"
    assert [drafted.line.path for drafted in imported.lines] == ["/free"]


def test_yaml_is_read_too_and_words_stay_words() -> None:
    text = """
openapi: 3.0.3
info: {title: no}
servers:
  - url: https://api.acme.example/v1
security:
  - key: []
components:
  securitySchemes:
    key: {type: apiKey, in: header, name: X-Key}
paths:
  /me:
    get:
      parameters:
        - {name: a, in: query, required: false}
"""
    imported = read_import(text)
    assert imported.configurations[0].draft.name == "no"
    assert values(imported)["verification.test_path"] == "/me"


def test_a_url_that_cannot_be_joined_is_refused() -> None:
    flow = {"clientCredentials": {"tokenUrl": "//[x"}}
    schemes = {"o": {"type": "oauth2", "flows": flow}}
    with pytest.raises(ConfigError, match="invalid"):
        read(components={"securitySchemes": schemes}, security=[{"o": []}])


def test_what_no_configuration_can_be_is_refused_without_its_name() -> None:
    flow = {
        "deviceAuthorization": {
            "deviceAuthorizationUrl": "https://other.example/device",
            "tokenUrl": "https://id.example/token",
        }
    }
    schemes = {"o": {"type": "oauth2", "flows": flow}}
    with pytest.raises(ConfigError, match="cannot be a configuration") as caught:
        read(
            info={"title": "Nameless"},
            components={"securitySchemes": schemes},
            security=[{"o": []}],
        )
    assert "Nameless" not in str(caught.value)
    assert caught.value.field == "oauth2.device_url"
