"""Postman collections: inheritance, variables, and every kind of authentication."""

import json

import pytest

from outkey.foundation.core.errors import ConfigError
from outkey.hosts.importing import read_import
from outkey.importing.core.reading import Import
from unit.imports import configuration_of, found_secrets, reported

SCHEMA = "https://schema.getpostman.com/json/collection/v2.1.0/collection.json"
ITEM = {"name": "orders", "request": {"url": "https://api.acme.example/v2/orders"}}


def collection(**more: object) -> str:
    return json.dumps(
        {"info": {"name": "Acme", "schema": SCHEMA}, "item": [ITEM]} | more
    )


def auth_of(kind: str, **settings: object) -> dict[str, object]:
    rows = [{"key": key, "value": value} for key, value in settings.items()]
    return {"type": kind, kind: rows}


def read_auth(kind: str, **settings: object) -> Import:
    return read_import(collection(auth=auth_of(kind, **settings)))


def values(imported: Import, number: int = 0) -> dict[str, object]:
    return dict(imported.configurations[number].draft.values)


def test_a_collection_becomes_a_configuration_with_lines() -> None:
    imported = read_auth("bearer", token="8s7d6f5g")
    configuration = configuration_of(imported)
    assert configuration.name == "Acme"
    assert configuration.base_url == "https://api.acme.example/v2"
    assert [drafted.line.name for drafted in imported.lines] == ["Acme orders"]
    assert found_secrets(imported) == {"token": "8s7d6f5g"}


def test_version_2_0_has_tables_instead_of_lists() -> None:
    auth = {"type": "basic", "basic": {"username": "svc", "password": "s3cr3t99"}}
    imported = read_import(collection(auth=auth))
    assert values(imported)["username"] == "svc"
    assert found_secrets(imported) == {"password": "s3cr3t99"}


def test_folders_and_requests_inherit_or_have_their_own() -> None:
    folder = {
        "name": "f",
        "auth": auth_of("basic", username="svc", password="s3cr3t99"),
        "item": [
            {"name": "a", "request": {"url": "https://b.example/api/a"}},
            {
                "name": "b",
                "request": {
                    "url": "https://b.example/api/b",
                    "auth": {"type": "noauth"},
                },
            },
        ],
    }
    other = {
        "name": "c",
        "request": {
            "url": "https://b.example/api/c",
            "auth": auth_of("bearer", token="9s8d7f6g"),
        },
    }
    imported = read_import(
        collection(auth=auth_of("bearer", token="8s7d6f5g"), item=[ITEM, folder, other])
    )
    names = [one.draft.name for one in imported.configurations]
    assert names == ["Acme", "Acme 2", "Acme 3"]
    kinds = [values(imported, n)["authentication_type"] for n in range(3)]
    assert kinds == ["bearer", "basic", "bearer"]
    assert found_secrets(imported, 2) == {"token": "9s8d7f6g"}


def test_variables_come_from_the_collection_and_the_environment() -> None:
    text = collection(
        variable=[
            {"key": "host", "value": "https://old.example"},
            {"key": "base", "value": "{{host}}/v2"},
        ],
        auth=auth_of("bearer", token="{{token}}"),
        item=[{"name": "x", "request": {"url": "{{base}}/orders"}}],
    )
    environment = json.dumps(
        {
            "values": [
                {"key": "host", "value": "https://new.example", "enabled": True},
                {"key": "token", "value": "8s7d6f5g", "type": "secret"},
                {"key": "unused", "value": "x", "enabled": False},
            ]
        }
    )
    for texts in ((text, environment), (environment, text)):
        imported = read_import(*texts)
        assert values(imported)["base_url"] == "https://new.example/v2"
        assert found_secrets(imported) == {"token": "8s7d6f5g"}
    alone = read_import(text)
    assert found_secrets(alone) == {}
    with pytest.raises(ConfigError, match="without a collection"):
        read_import(environment)


def test_variables_that_grow_or_name_themselves_come_to_an_end() -> None:
    growing = [{"key": f"v{n}", "value": f"{{{{v{n + 1}}}}}" * 10} for n in range(12)]
    growing += [{"key": f"c{n}", "value": f"{{{{c{n + 1}}}}}"} for n in range(20)]
    loop = [{"key": "loop", "value": "{{loop}}x"}]
    text = collection(
        variable=[*growing, *loop],
        item=[{"name": "x", "request": {"url": "https://a.example/{{v0}}{{loop}}"}}],
    )
    with pytest.raises(ConfigError, match="no request or API"):
        read_import(text)
    chain = text.replace("{{v0}}{{loop}}", "{{c0}}")
    assert read_import(chain).configurations


@pytest.mark.parametrize(
    ("kind", "settings", "expected", "secrets"),
    [
        ("apikey", {"key": "X-Key", "value": "8s7d6f"}, {}, {"header:X-Key": "8s7d6f"}),
        (
            "apikey",
            {"key": "k", "value": "8s7d6f", "in": "query"},
            {},
            {"query:k": "8s7d6f"},
        ),
        ("apikey", {"value": "8s7d6f"}, {"no_auth_reason": "public_api"}, {}),
        (
            "digest",
            {"username": "svc", "password": "s3cr3t99"},
            {"authentication_type": "digest"},
            {"password": "s3cr3t99"},
        ),
        ("noauth", {}, {"no_auth_reason": "public_api"}, {}),
        (
            "awsv4",
            {
                "accessKey": "AK8S",
                "secretKey": "s3cr3t99",
                "region": "eu-west-1",
                "service": "s3",
            },
            {"aws.access_key_id": "AK8S", "aws.region": "eu-west-1"},
            {"secret_access_key": "s3cr3t99"},
        ),
        (
            "awsv4",
            {
                "accessKey": "AK8S",
                "secretKey": "s3cr3t99",
                "sessionToken": "8s7d6f5g",
                "service": "s3",
            },
            {"aws.region": "REGION"},
            {"secret_access_key": "s3cr3t99", "session_token": "8s7d6f5g"},
        ),
        (
            "oauth1",
            {
                "consumerKey": "ck-1",
                "consumerSecret": "s3cr3t99",
                "token": "8s7d6f5g",
                "tokenSecret": "t0k3ns3c",
                "signatureMethod": "HMAC-SHA256",
                "realm": "1234567_SB1",
            },
            {
                "authentication_type": "oauth1",
                "oauth1.consumer_key": "ck-1",
                "oauth1.signature_method": "HMAC-SHA256",
                "oauth1.realm": "1234567_SB1",
            },
            {
                "consumer_secret": "s3cr3t99",
                "access_token": "8s7d6f5g",
                "access_token_secret": "t0k3ns3c",
            },
        ),
        (
            "oauth1",
            {
                "consumerKey": "ck-1",
                "privateKey": "-----BEGIN PRIVATE KEY-----\nMIIE",
                "token": "8s7d6f5g",
                "signatureMethod": "RSA-SHA1",
            },
            {"oauth1.signature_method": "RSA-SHA1"},
            {
                "private_key": "-----BEGIN PRIVATE KEY-----\nMIIE",
                "access_token": "8s7d6f5g",
            },
        ),
        (
            "oauth1",
            {
                "consumerSecret": "s3cr3t99",
                "signatureMethod": "HMAC-SHA512",
                "requestTokenUrl": "https://acme.example/initiate",
            },
            {"oauth1.consumer_key": "CONSUMER_KEY"},
            {"consumer_secret": "s3cr3t99"},
        ),
        (
            "oauth1",
            {
                "consumerKey": "ck-1",
                "consumerSecret": "s3cr3t99",
                "requestTokenUrl": "https://acme.example/initiate",
                "authorizeUrl": "https://acme.example/authorize",
                "accessTokenUrl": "https://acme.example/token",
            },
            {
                "oauth1.request_url": "https://acme.example/initiate",
                "oauth1.authorization_url": "https://acme.example/authorize",
                "oauth1.access_url": "https://acme.example/token",
            },
            {"consumer_secret": "s3cr3t99"},
        ),
        ("hawk", {}, {}, {}),
        ("ntlm", {}, {}, {}),
    ],
)
def test_kinds_of_authentication(
    kind: str,
    settings: dict[str, object],
    expected: dict[str, object],
    secrets: dict[str, str],
) -> None:
    imported = read_auth(kind, **settings)
    assert expected.items() <= values(imported).items()
    assert found_secrets(imported) == secrets
    if kind in {"hawk", "ntlm"}:
        assert reported(imported)[f"authentication {kind}"] == "dropped"


OAUTH2: dict[str, object] = {
    "grant_type": "client_credentials",
    "accessTokenUrl": "https://id.acme.example/token",
    "clientId": "app-1",
    "clientSecret": "8s7d6f5g",
    "scope": "read",
    "client_authentication": "header",
}


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, {"oauth2.grant": "client_credentials", "oauth2.client_auth": "basic"}),
        ({"client_authentication": "body"}, {"oauth2.client_auth": "body"}),
        (
            {
                "grant_type": "authorization_code_with_pkce",
                "authUrl": "https://id.acme.example/auth",
                "clientSecret": "",
            },
            {"oauth2.grant": "authorization_code"},
        ),
        ({"grant_type": "authorization_code"}, {"oauth2.grant": "refresh_token"}),
        (
            {
                "grant_type": "password_credentials",
                "username": "svc",
                "password": "s3cr3t99",
                "accessTokenUrl": "https://api.acme.example/v2/token",
            },
            {"token_source": "login", "login.path": "/token"},
        ),
        (
            {"grant_type": "implicit", "accessToken": "9s8d7f"},
            {"token_source": "entered"},
        ),
        ({"accessToken": "9s8d7f"}, {"token_source": "oauth2"}),
        ({"addTokenTo": "queryParams"}, {"token_header": "query:access_token"}),
        ({"headerPrefix": "Token"}, {"token_prefix": "Token"}),
        ({"headerPrefix": "Bearer"}, {"token_source": "oauth2"}),
        ({"clientId": "{{id}}"}, {"oauth2.client_id": "CLIENT_ID"}),
        (
            {"accessTokenUrl": "{{url}}"},
            {"oauth2.token_url": "https://token-url.invalid/"},
        ),
        (
            {"accessTokenUrl": "http://id.acme.example/token?a=b"},
            {"oauth2.token_url": "https://id.acme.example/token?a=b"},
        ),
    ],
)
def test_oauth2(changed: dict[str, object], expected: dict[str, object]) -> None:
    imported = read_auth("oauth2", **(OAUTH2 | changed))
    assert expected.items() <= values(imported).items()


def test_more_parameters_of_a_token_request_are_taken_but_for_secrets() -> None:
    parameters = [
        {"key": "tenant", "value": "x", "send_as": "request_body"},
        {"key": "api_key", "value": "9s8d7f6g", "send_as": "request_body"},
    ]
    imported = read_auth("oauth2", tokenRequestParams=parameters, **OAUTH2)
    assert values(imported)["oauth2.extra"] == {"tenant": "x"}
    assert reported(imported)["parameter api_key"] == "dropped"


def test_odd_values_are_read_as_nothing() -> None:
    items: list[object] = [ITEM, "text", {"name": True, "request": {"url": 5}}]
    imported = read_import(collection(item=items, auth=[], event=[1]))
    assert imported.configurations


def test_another_refresh_url_is_named() -> None:
    imported = read_auth("oauth2", refreshTokenUrl="https://x.example/r", **OAUTH2)
    assert reported(imported)["refresh URL"] == "dropped"


def test_the_password_grant_elsewhere_is_named() -> None:
    settings = OAUTH2 | {"grant_type": "password_credentials", "clientId": "{{x}}"}
    imported = read_auth("oauth2", **settings)
    assert reported(imported)["login request"] == "dropped"


def test_urls_in_all_their_forms() -> None:
    parts = {
        "protocol": "https",
        "host": ["api", "acme", "example"],
        "port": "8443",
        "path": ["v2", "users", ":id"],
        "variable": [{"key": "id", "value": ""}],
        "query": [
            {"key": "limit", "value": "10"},
            {"key": "api_key", "value": "8s7d6f5g"},
            {"key": "off", "value": "1", "disabled": True},
        ],
    }
    raw = {"raw": "https://api.acme.example:8443/v2/users?page=1"}
    items = [
        {"name": "parts", "request": {"url": parts, "method": "GET"}},
        {"name": "raw", "request": {"url": raw, "header": "X-A: 1\nX-B: 2"}},
        {"name": "text", "request": "https://api.acme.example:8443/v2/me"},
        {"name": "none"},
        {"name": "wrong", "request": {"url": "ftp://x.example/"}},
    ]
    imported = read_import(collection(item=items))
    paths = [drafted.line.path for drafted in imported.lines]
    assert paths == ["/users/{id}?limit=10", "/users?page=1", "/me"]
    assert found_secrets(imported) == {"query:api_key": "8s7d6f5g"}
    assert reported(imported)["request"] == "dropped"


def test_writes_are_counted_and_token_requests_recognized() -> None:
    token = {
        "method": "POST",
        "url": "https://api.acme.example/token",
        "body": {
            "mode": "urlencoded",
            "urlencoded": [
                {"key": "grant_type", "value": "client_credentials"},
                {"key": "client_id", "value": "app-1"},
                {"key": "client_secret", "value": "8s7d6f5g"},
            ],
        },
    }
    write = {
        "method": "POST",
        "url": "https://api.acme.example/v2/orders",
        "body": {"mode": "raw", "raw": "{}"},
    }
    items = [ITEM, {"name": "token", "request": token}, {"name": "w", "request": write}]
    imported = read_import(collection(item=items))
    assert values(imported)["oauth2.client_id"] == "app-1"
    assert reported(imported)["requests"] == "dropped"
    only_writes = read_import(collection(item=[{"name": "w", "request": write}]))
    assert values(only_writes)["base_url"] == "https://api.acme.example"


def test_scripts_are_never_run_but_named() -> None:
    def event(*lines: str) -> list[dict[str, object]]:
        return [{"listen": "prerequest", "script": {"exec": list(lines)}}]

    named = read_import(collection(event=event("pm.sign()")))
    assert reported(named)["pre-request script"] == "dropped"
    text = [{"listen": "prerequest", "script": {"exec": "pm.sign()"}}]
    named = read_import(collection(item=[ITEM | {"event": text}]))
    assert reported(named)["pre-request script"] == "dropped"
    empty = read_import(collection(event=event("", " ")))
    assert "pre-request script" not in reported(empty)


def test_a_collection_without_requests_is_refused() -> None:
    with pytest.raises(ConfigError, match="no request or API"):
        read_import(collection(item=[]))
