"""A credential in an unusual place of an import stays out of plain texts."""

import json
import time
from contextlib import suppress

import pytest

from outkey.foundation.core.errors import ConfigError
from outkey.hosts.importing import read_import
from outkey.importing.core.reading import Import
from outkey.sending.core.configuration.custom_rows import MAX_ROWS
from unit.imports import found_secrets, reported

SECRET = "hunter2secretword"
KEY = "Zq8s7D6f5G4h3J2k1L0mNbVc"  # a part of a path that looks like a key
LOGIN = "-d 'username=u&password=p4ssw0rdX'"


def postman(request: object, name: str = "n", **more: object) -> str:
    item = {"name": name, "request": request}
    return json.dumps({"info": {"name": "x"}, "item": [item]} | more)


def variable(name: str, **more: str) -> list[dict[str, str]]:
    return [{"key": name, "value": SECRET} | more]


def openapi(server: str, token_url: str = "https://a.example/token") -> str:
    flows = {"clientCredentials": {"tokenUrl": token_url, "scopes": {}}}
    return json.dumps(
        {
            "openapi": "3.0.0",
            "servers": [{"url": server}],
            "paths": {"/me": {"get": {}}},
            "components": {
                "securitySchemes": {"o": {"type": "oauth2", "flows": flows}}
            },
            "security": [{"o": []}],
        }
    )


INSOMNIA = {
    "_type": "request",
    "name": f"https://a.example/?token={SECRET}",
    "url": "https://a.example/{{ _.api_token }}/me",
    "headers": [{"name": "X-Foo", "value": "{{ _.api_token }}"}],
}
PLACES = {
    "query of a login": f"curl 'https://a.example/login?api_key={SECRET}' {LOGIN}",
    "path of a login": f"curl 'https://a.example/v1/{KEY}/login' {LOGIN}",
    "path before a version": f"curl 'https://a.example/{KEY}/v1/me'",
    "token of a bot": f"curl 'https://a.example/bot123456789:AA{KEY}/v1/getMe'",
    "path of a server": openapi(f"https://a.example/{KEY}/v1"),
    "query of a token URL": openapi(
        "https://a.example", f"https://a.example/token?client_secret={SECRET}"
    ),
    "assertion": "curl https://a.example/token -d"
    f" 'grant_type=urn:ietf:params:oauth:grant-type:jwt-bearer&assertion={SECRET}'",
    "query of the Referer": "curl https://a.example/me"
    f" -H 'Referer: https://b.example/?access_token={SECRET}'",
    "password in the Referer": f"curl https://a.example/me -e 'https://u:{SECRET}@b.c/'",
    "header of another name": f"curl https://a.example/me -H 'X-Foo: Bearer {SECRET}'",
    "passphrase": f"curl 'https://a.example/me?passphrase={SECRET}'",
    "name of a request": postman(
        "https://a.example/me", name=f"https://a.example/me?api_key={SECRET}"
    ),
    "name with a key": postman("https://a.example/me", name=f"GET /{KEY}/me"),
    "name of a collection": postman(
        "https://a.example/me", info={"name": f"https://a.example/?token={SECRET}"}
    ),
    "variable in a path": postman(
        "https://a.example/bot{{token}}/me", variable=variable("token")
    ),
    "variable in a parameter": postman(
        {"url": {"raw": "https://a.example/me?x={{apiKey}}"}},
        variable=variable("apiKey"),
    ),
    "variable in a listed parameter": postman(
        {
            "url": {
                "raw": "https://a.example/me",
                "query": [{"key": "x", "value": "{{apiKey}}"}],
            }
        },
        variable=variable("apiKey"),
    ),
    "variable of a path": postman(
        {"url": {"raw": "https://a.example/:token/me", "variable": variable("token")}}
    ),
    "variable in a header": postman(
        {
            "url": "https://a.example/me",
            "header": [{"key": "X-Foo", "value": "{{apiKey}}"}],
        },
        variable=variable("apiKey"),
    ),
    "variable that is declared secret": postman(
        "https://a.example/{{foo}}/me", variable=variable("foo", type="secret")
    ),
    "variable in a host": f"@token={SECRET}\nGET https://{{{{token}}}}.example/me\n",
    "variable in a header of a file": f"@token={SECRET}\nGET https://a.example/me\n"
    "X-Foo: {{token}}\n",
    "Insomnia": json.dumps(
        {
            "resources": [
                INSOMNIA,
                {"_type": "environment", "data": {"api_token": SECRET}},
            ]
        }
    ),
    "Bruno": f"get {{\n  url: https://a.example/{{{{token}}}}/me\n}}\n\n"
    f"headers {{\n  X-Foo: {{{{token}}}}\n}}\n\nvars {{\n  token: {SECRET}\n}}\n",
}


def plain_texts(imported: Import) -> str:
    """Return all that is shown or stored in plain text."""
    drafts = [one.draft for one in imported.configurations]
    return f"{drafts} {imported.lines} {imported.report}"


@pytest.mark.parametrize("place", PLACES)
def test_no_plain_text_has_the_credential(place: str) -> None:
    texts = plain_texts(read_import(PLACES[place]))
    assert SECRET not in texts
    assert KEY not in texts


def test_a_credential_in_the_query_of_a_login_becomes_a_secret_parameter() -> None:
    url = f"https://a.example/login?lang=en&api_key={SECRET}"
    imported = read_import(f"curl '{url}' {LOGIN}")
    assert found_secrets(imported)["query:api_key"] == SECRET
    values = imported.configurations[0].draft.values
    assert values["login.path"] == "/login?lang=en"


def test_a_secret_variable_is_taken_where_a_secret_goes() -> None:
    text = postman(
        {
            "url": "https://{{user}}:{{password}}@a.example/me?api_key={{apiKey}}",
            "header": [{"key": "X-Api-Key", "value": "{{apiKey}}"}],
        },
        variable=[
            *variable("apiKey"),
            {"key": "user", "value": "alice"},
            {"key": "password", "value": "p4ssw0rdX"},
        ],
    )
    assert found_secrets(read_import(text)) == {
        "password": "p4ssw0rdX",
        "query:api_key": SECRET,
        "header:X-Api-Key": SECRET,
    }


def test_a_variable_for_a_url_is_no_secret() -> None:
    text = "@auth_url=https://a.example/v1\nGET {{auth_url}}/me\n"
    values = read_import(text).configurations[0].draft.values
    assert values["base_url"] == "https://a.example/v1"


def test_a_path_with_a_credential_is_reported() -> None:
    imported = read_import(PLACES["path before a version"])
    assert reported(imported)["path"] == "dropped"


HEX = "5ebe2294ecd0e0f08eab7690d2a6ee69"
RANDOM = "a8Zk2Qp0xV7mT3wL"


@pytest.mark.parametrize(
    ("query", "secrets", "path"),
    [
        ("u=sync&p=hunter2secretword&q=x", {"query:p": SECRET}, "/query?q=x"),
        ("U=sync&P=hunter2secretword", {"query:P": SECRET}, "/query"),
        ("user=sync&pass=hunter2secretword", {"query:pass": SECRET}, "/query"),
        ("username=sync&pw=hunter2secretword", {"query:pw": SECRET}, "/query"),
        ("login=sync&hash=hunter2secretword", {"query:hash": SECRET}, "/query"),
        ("u=sync&p=123456", {"query:p": "123456"}, "/query"),
        ("u=sync&p=enc:68756e746572", {"query:p": "enc:68756e746572"}, "/query"),
        (
            f"u=sync&t={HEX}&s=c19b2d&v=1.16.1",
            {"query:t": HEX, "query:s": "c19b2d"},
            "/query?v=1.16.1",
        ),
        (f"x={HEX}", {"query:x": HEX}, "/query"),
        (f"x={RANDOM}&page=1", {"query:x": RANDOM}, "/query?page=1"),
        ("p=2&q=x", {}, "/query?p=2&q=x"),
        ("user=7&p=2", {}, "/query?user=7&p=2"),
        ("p=about-us", {}, "/query?p=about-us"),
        ("t=today&s=name", {}, "/query?t=today&s=name"),
        ("from=20240101T000000Z", {}, "/query?from=20240101T000000Z"),
        ("q=order-confirmation-2024-03", {}, "/query?q=order-confirmation-2024-03"),
        ("order_id=" + HEX, {}, f"/query?order_id={HEX}"),
        ("cursor=" + RANDOM, {}, f"/query?cursor={RANDOM}"),
    ],
)
def test_a_parameter_is_a_credential_by_its_pair_or_its_value(
    query: str, secrets: dict[str, str], path: str
) -> None:
    imported = read_import(f"curl 'https://a.example/query?{query}'")
    assert found_secrets(imported) == secrets
    assert imported.lines[0].line.path == path
    values = imported.configurations[0].draft.values
    assert values["verification.test_path"] == path


def test_the_user_beside_a_password_is_a_parameter_of_every_request() -> None:
    imported = read_import(f"curl 'https://a.example/query?db=x&u=sync&p={SECRET}'")
    rows = {row.key: row for row in imported.configurations[0].draft.query}
    assert rows["u"].value == "sync"
    assert not rows["u"].secret
    assert rows["p"].secret
    assert SECRET not in plain_texts(imported)


@pytest.mark.parametrize(
    "value",
    ["123e4567-e89b-12d3-a456-426614174000", "cus_NffrFeUfNV2Hib"],
)
def test_a_random_value_that_may_identify_something_is_asked_about(value: str) -> None:
    imported = read_import(f"curl 'https://a.example/query?customer={value}'")
    items = [item for item in imported.report if item.item == "parameter customer"]
    assert [str(item.level) for item in items] == ["warning"]
    assert "may be a credential" in str(items[0].why)
    assert imported.lines[0].line.path == f"/query?customer={value}"


def test_a_user_name_that_no_row_can_have_is_reported() -> None:
    many = "&".join(f"api_key{n}={SECRET}{n}" for n in range(MAX_ROWS - 1))
    url = f"https://a.example/query?{many}&p={SECRET}&u=sync"
    imported = read_import(f"curl '{url}'")
    assert reported(imported)["parameter u"] == "dropped"


def test_a_user_name_that_is_too_long_is_reported() -> None:
    url = f"https://a.example/query?p={SECRET}&u={'a' * 9000}"
    imported = read_import(f"curl '{url}'")
    assert reported(imported)["parameter u"] == "dropped"


def test_a_header_with_a_random_value_is_a_secret() -> None:
    imported = read_import(f"curl https://a.example/me -H 'X-Foo: {HEX}'")
    assert found_secrets(imported) == {"header:X-Foo": HEX}


SLOW_COMMANDS = {
    "blank lines after a here-document": "<<EOF\n" + "\n" * 65_000,
    "a long name in an open brace": "${" + "a" * 65_000,
    "many open braces": "${a" * 21_000,
}


@pytest.mark.parametrize("name", SLOW_COMMANDS)
def test_a_command_of_the_greatest_length_is_read_at_once(name: str) -> None:
    began = time.process_time()
    with suppress(ConfigError):
        read_import(f"curl https://a.example {SLOW_COMMANDS[name]}")
    assert time.process_time() - began < 2
