"""Insomnia, Bruno, .http files and recordings."""

import json

import pytest

from outkey.foundation.core.errors import ConfigError
from outkey.hosts.importing import read_import
from outkey.importing.core.reading import Import
from unit.imports import found_secrets, reported


def values(imported: Import, number: int = 0) -> dict[str, object]:
    return dict(imported.configurations[number].draft.values)


# ── Insomnia ────────────────────────────────────────────────────────────────────────

INSOMNIA_4 = {
    "_type": "export",
    "__export_format": 4,
    "resources": [
        {"_id": "w", "_type": "workspace", "name": "Acme"},
        {
            "_id": "e",
            "_type": "environment",
            "data": {"base": "https://api.acme.example", "keys": {"a": "8s7d6f5g"}},
        },
        {
            "_id": "f",
            "_type": "request_group",
            "parentId": "w",
            "authentication": {"type": "bearer", "token": "{{ _.keys.a }}"},
        },
        {"_id": "g", "_type": "request_group", "parentId": "f"},
        {"_id": "loop", "_type": "request_group", "parentId": "loop"},
        {
            "_id": "r",
            "_type": "request",
            "parentId": "g",
            "name": "orders",
            "url": "{{ _.base }}/v1/orders?x=1",
            "method": "GET",
            "parameters": [
                {"name": "page", "value": "1"},
                {"name": "off", "value": "1", "disabled": True},
            ],
            "headers": [{"name": "X-A", "value": "1"}, {"name": "", "value": "2"}],
            "authentication": {},
        },
        {
            "_id": "t",
            "_type": "request",
            "parentId": "loop",
            "name": "token",
            "url": "{{ base }}/v1/token",
            "method": "POST",
            "body": {
                "mimeType": "application/x-www-form-urlencoded",
                "params": [{"name": "a", "value": "{% response 'x' %}"}],
            },
            "authentication": {"type": "basic", "username": "u", "disabled": True},
        },
        {
            "_id": "u",
            "_type": "request",
            "parentId": "loop",
            "name": "unknown",
            "url": "https://other.example/v1/x",
        },
    ],
}


def test_insomnia_4() -> None:
    imported = read_import(json.dumps(INSOMNIA_4))
    assert imported.configurations[0].draft.name == "Acme"
    assert values(imported)["base_url"] == "https://api.acme.example/v1"
    assert found_secrets(imported) == {"token": "8s7d6f5g"}
    assert imported.lines[0].line.path == "/orders?x=1&page=1"
    assert imported.lines[0].pagination["kind"] == "page"


def test_insomnia_5() -> None:
    text = """
type: collection.insomnia.rest/5.0
name: Acme
collection:
  - name: folder
    authentication: {type: apikey, key: X-Key, value: '{{ _.key }}', addTo: header}
    children:
      - name: orders
        url: '{{ _.base }}/v1/orders'
        method: GET
  - name: plain
    children:
      - name: me
        url: https://b.example/v1/me
        authentication: {type: oauth2, grantType: client_credentials,
          accessTokenUrl: 'https://id.example/t', clientId: app-1,
          clientSecret: 8s7d6f5g, credentialsInBody: 'false'}
  - name: neither
environments:
  name: Base
  data: {base: 'https://a.example', key: ''}
  subEnvironments:
    - data: {key: 9s8d7f6g}
"""
    imported = read_import(text)
    assert found_secrets(imported) == {"header:X-Key": "9s8d7f6g"}
    assert values(imported, 1)["oauth2.client_auth"] == "basic"


# ── Bruno ───────────────────────────────────────────────────────────────────────────

BRU = """meta {
  name: Orders
  type: http
}

get {
  url: {{base}}/v1/orders
  body: none
  auth: inherit
}

headers {
  X-A: 1
  ~X-Off: 2
}

script:pre-request {
  bru.setVar("x", 1);
}
"""
COLLECTION_BRU = """auth {
  mode: basic
}

auth:basic {
  username: svc
  password: {{password}}
}
"""
ENVIRONMENT_BRU = """vars {
  base: https://api.acme.example
  password: s3cr3t99
}
vars:secret [
  token
]
"""


def test_bruno_files_in_any_order() -> None:
    for texts in (
        (BRU, COLLECTION_BRU, ENVIRONMENT_BRU),
        (ENVIRONMENT_BRU, COLLECTION_BRU, BRU),
    ):
        imported = read_import(*texts)
        assert values(imported)["base_url"] == "https://api.acme.example/v1"
        assert found_secrets(imported) == {"password": "s3cr3t99"}
        assert reported(imported)["vars:secret"] == "dropped"
        assert reported(imported)["pre-request script"] == "dropped"


def test_bruno_request_with_its_own_authentication_and_body() -> None:
    text = """post {
  url: https://a.example/oauth/token
  body: formUrlEncoded
  auth: none
}
body:form-urlencoded {
  grant_type: client_credentials
  client_id: app-1
  client_secret: 8s7d6f5g
}
"""
    other = """get {
  url: https://a.example/v1/x
}
auth:apikey {
  key: k
  value: 9s8d7f6g
  placement: queryparams
}
"""
    imported = read_import(text, other)
    assert found_secrets(imported) == {
        "query:k": "9s8d7f6g",
        "client_secret": "8s7d6f5g",
    }


def test_bruno_as_yaml_and_as_an_export() -> None:
    text = """
opencollection: 1.0.0
info: {name: Acme}
request:
  auth: {type: bearer, token: '{{token}}'}
environments:
  - name: e
    variables: [{name: token, value: 8s7d6f5g}]
items:
  - info: {name: orders}
    http:
      method: get
      url: https://a.example/v1/orders
      headers: [{name: X-A, value: '1'}, {name: X-Off, value: '2', disabled: 'true'}]
      auth: inherit
"""
    imported = read_import(text)
    assert imported.configurations[0].draft.name == "Acme"
    assert found_secrets(imported) == {"token": "8s7d6f5g"}
    export = {
        "name": "Acme",
        "version": "1",
        "items": [
            {
                "type": "http-request",
                "name": "x",
                "request": {
                    "url": "https://a.example/v1/x",
                    "method": "POST",
                    "headers": [],
                    "auth": {"mode": "bearer", "bearer": {"token": "9s8d7f6g"}},
                    "body": {"mode": "json", "json": "{}"},
                },
            }
        ],
    }
    imported = read_import(json.dumps(export), source="bruno")
    assert found_secrets(imported) == {"token": "9s8d7f6g"}


# ── OAuth 1.0a ──────────────────────────────────────────────────────────────────────

OAUTH1_VALUES = {
    "authentication_type": "oauth1",
    "oauth1.consumer_key": "ck-1",
    "oauth1.signature_method": "HMAC-SHA256",
    "oauth1.realm": "7",
}
OAUTH1_SECRETS = {
    "consumer_secret": "s3cr3t99",
    "access_token": "8s7d6f5g",
    "access_token_secret": "t0k3ns3c",
}
INSOMNIA_OAUTH1 = {
    "type": "oauth1",
    "consumerKey": "ck-1",
    "consumerSecret": "s3cr3t99",
    "tokenKey": "8s7d6f5g",
    "tokenSecret": "t0k3ns3c",
    "signatureMethod": "HMAC-SHA256",
    "realm": "7",
}
BRU_OAUTH1 = """get {
  url: https://a.example/v1/orders
  auth: oauth1
}

auth:oauth1 {
  consumer_key: ck-1
  consumer_secret: s3cr3t99
  access_token: 8s7d6f5g
  token_secret: t0k3ns3c
  callback_url:
  signature_method: HMAC-SHA256
  realm: 7
  placement: header
}
"""
BRUNO_OAUTH1 = {
    "consumerKey": "ck-1",
    "consumerSecret": "s3cr3t99",
    "accessToken": "8s7d6f5g",
    "accessTokenSecret": "t0k3ns3c",
    "signatureMethod": "HMAC-SHA256",
    "realm": "7",
}
KEY = "-----BEGIN PRIVATE KEY-----\nMIIE: not a pair\n-----END PRIVATE KEY-----"


def insomnia_with(auth: dict[str, object]) -> str:
    request = {
        "_id": "r",
        "_type": "request",
        "url": "https://a.example/v1/orders",
        "authentication": auth,
    }
    return json.dumps({"_type": "export", "__export_format": 4, "resources": [request]})


def bruno_with(auth: dict[str, str]) -> str:
    request = {
        "url": "https://a.example/v1/orders",
        "method": "GET",
        "auth": {"mode": "oauth1", "oauth1": auth},
    }
    item = {"type": "http-request", "name": "x", "request": request}
    return json.dumps({"name": "Acme", "version": "1", "items": [item]})


@pytest.mark.parametrize(
    ("text", "source"),
    [
        (insomnia_with(INSOMNIA_OAUTH1), None),
        (BRU_OAUTH1, None),
        (bruno_with(BRUNO_OAUTH1), "bruno"),
    ],
    ids=["insomnia", "bru", "bruno"],
)
def test_oauth_1_0a_of_insomnia_and_bruno_is_the_authentication_type(
    text: str, source: str | None
) -> None:
    imported = read_import(text, source=source)
    assert OAUTH1_VALUES.items() <= values(imported).items()
    assert found_secrets(imported) == OAUTH1_SECRETS


def test_a_private_key_of_several_lines_is_read() -> None:
    indented = KEY.replace("\n", "\n    ")
    text = BRU_OAUTH1.replace("HMAC-SHA256", "RSA-SHA1").replace(
        "  realm: 7", f"  private_key: '''\n    {indented}\n  '''"
    )
    imported = read_import(text)
    assert values(imported)["oauth1.signature_method"] == "RSA-SHA1"
    secrets = {"private_key": KEY, "access_token": "8s7d6f5g"}
    assert found_secrets(imported) == secrets


def test_a_value_of_several_lines_without_an_end_goes_to_the_end_of_its_block() -> None:
    text = BRU_OAUTH1.replace("  realm: 7", f"  private_key: '''\n{KEY}").replace(
        "HMAC-SHA256", "RSA-SHA1"
    )
    key = found_secrets(read_import(text))["private_key"]
    assert key == f"{KEY}\nplacement: header"


@pytest.mark.parametrize(
    ("text", "source"),
    [
        (
            BRU_OAUTH1.replace("HMAC-SHA256", "RSA-SHA1").replace(
                "  realm: 7", "  private_key: @file(keys/own.pem)"
            ),
            None,
        ),
        (
            bruno_with(
                BRUNO_OAUTH1
                | {
                    "signatureMethod": "RSA-SHA1",
                    "privateKey": "keys/own.pem",
                    "privateKeyType": "file",
                }
            ),
            "bruno",
        ),
    ],
)
def test_a_private_key_in_another_file_is_left_to_enter(
    text: str, source: str | None
) -> None:
    imported = read_import(text, source=source)
    assert found_secrets(imported) == {"access_token": "8s7d6f5g"}
    assert reported(imported)["private key"] == "dropped"


# ── .http ───────────────────────────────────────────────────────────────────────────

HTTP = """@base = https://api.acme.example/v1
@user = svc

### orders
# @name listOrders
GET {{base}}/orders
    ?page=1
    &per_page=20
Authorization: Basic {{user}} s3cr3t99
// a comment
Accept: application/json

###
# only a comment

### token
POST https://api.acme.example/login HTTP/1.1
Content-Type: application/json

{"a": 1}
< ./body.json

> {% client.test() %}

###
"""


def test_http_file() -> None:
    imported = read_import(HTTP)
    assert values(imported)["username"] == "svc"
    assert found_secrets(imported) == {"password": "s3cr3t99"}
    (drafted,) = imported.lines
    assert drafted.line.name == "acme listOrders"
    assert drafted.line.path == "/orders?page=1&per_page=20"
    assert reported(imported)["script"] == "dropped"
    assert reported(imported)["body"] == "dropped"


def test_http_file_without_methods_and_with_many_headers() -> None:
    headers = "".join(f"X-{number}: 1\n" for number in range(250))
    imported = read_import(f"https://a.example/v1/x\n{headers}", source="http")
    assert imported.lines[0].line.method == "GET"
    assert reported(imported)["headers"] == "dropped"


def test_http_file_with_an_environment() -> None:
    text = "GET {{host}}/v1/me\nAuthorization: Bearer {{token}}\n"
    environment = {"dev": {"host": "https://a.example", "token": "8s7d6f5g"}}
    imported = read_import(text, json.dumps(environment))
    assert found_secrets(imported) == {"token": "8s7d6f5g"}
    assert values(imported)["base_url"] == "https://a.example/v1"


# ── HAR ─────────────────────────────────────────────────────────────────────────────


def entry(url: str, **headers: str) -> dict[str, object]:
    pairs = [{"name": name, "value": value} for name, value in headers.items()]
    return {
        "request": {"method": "GET", "url": url, "headers": pairs},
        "response": {"content": {"mimeType": "application/json"}},
    }


def test_of_a_recording_one_request_is_read() -> None:
    entries = [
        entry("https://cdn.example/x.js", Cookie="sid=1s2d3f4g"),
        entry("https://api.acme.example/v1/me", Authorization="Bearer 8s7d6f5g"),
        entry("https://api.acme.example/v1/other", **{"X-Api-Key": "9s8d7f6g"}),
    ]
    imported = read_import(json.dumps({"log": {"entries": entries}}))
    assert found_secrets(imported) == {"token": "8s7d6f5g"}
    assert reported(imported)["entries"] == "dropped"
    one = read_import(json.dumps({"log": {"entries": entries[2:]}}))
    assert found_secrets(one) == {"header:X-Api-Key": "9s8d7f6g"}
    with pytest.raises(ConfigError, match="no requests"):
        read_import('{"log": {}}')
