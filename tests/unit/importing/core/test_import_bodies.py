"""Bodies of requests: logins deep in JSON, calls that only read, and credentials."""

import json

import pytest

from outkey.administration.engine.editing.importing import incomplete_error
from outkey.foundation.core.errors import AuthenticationRequired
from outkey.hosts.importing import read_import
from outkey.importing.core.reading_calls import only_reads
from outkey.importing.core.seen import SeenRequest
from outkey.sending.core.configuration.checks import refuse_unsavable
from unit.imports import configuration_of, found_secrets, reported, values_of

JSON = "-H 'Content-Type: application/json'"
KEYSTONE = {
    "auth": {
        "identity": {
            "methods": ["password"],
            "password": {
                "user": {
                    "name": "erp",
                    "domain": {"id": "default"},
                    "password": "hunter2-hunter2",
                }
            },
        }
    }
}


def curl(url: str, body: object, more: str = JSON) -> str:
    text = body if isinstance(body, str) else json.dumps(body)
    return f"curl -X POST {url} {more} -d '{text}'"


def test_a_keystone_login_is_found_deep_in_its_body() -> None:
    imported = read_import(curl("https://keystone.example/v3/auth/tokens", KEYSTONE))
    values = dict(imported.configurations[0].draft.values)
    assert values["token_source"] == "login"
    assert (values["username"], values["token_header"]) == ("erp", "X-Auth-Token")
    assert values["login.token"] == "header:X-Subject-Token"
    assert (values["login.expires_in"], values["login.expires_unit"]) == (
        "token.expires_at",
        "at",
    )
    body = json.loads(str(values["login.body"]))
    user = body["auth"]["identity"]["password"]["user"]
    assert user == {
        "name": "{username}",
        "domain": {"id": "default"},
        "password": "{password}",
    }
    assert found_secrets(imported) == {"password": "hunter2-hunter2"}
    refuse_unsavable(configuration_of(imported))


def test_a_user_who_is_apart_from_the_password_is_found_too() -> None:
    body = {
        "type": "m.login.password",
        "identifier": {"type": "m.id.user", "user": "erp"},
        "password": "hunter2-hunter2",
    }
    values = values_of(curl("https://matrix.example/_matrix/client/v3/login", body))
    assert values["username"] == "erp"
    assert json.loads(str(values["login.body"])) == {
        "type": "m.login.password",
        "identifier": {"type": "m.id.user", "user": "{username}"},
        "password": "{password}",
    }


def test_a_procedure_that_signs_in_is_a_login_wherever_it_is() -> None:
    body = {
        "jsonrpc": "2.0",
        "method": "user.login",
        "params": {"username": "erp", "password": "hunter2-hunter2"},
        "id": 1,
    }
    values = values_of(curl("https://zabbix.example/api_jsonrpc.php", body))
    assert values["login.path"] == "/api_jsonrpc.php"
    assert str(values["login.token"]).endswith("|| result")
    assert json.loads(str(values["login.body"]))["params"] == {
        "username": "{username}",
        "password": "{password}",
    }


@pytest.mark.parametrize("body", ["{not json", '{"a": [{"b": "no password"}]}'])
def test_a_body_without_a_password_is_no_login(body: str) -> None:
    values = values_of(curl("https://api.example/v1/login", body))
    assert "token_source" not in values


def test_another_secret_deep_in_a_login_has_one_place() -> None:
    body = {
        "session": {"email": "e@x.example", "password": "hunter2-hunter2"},
        "app": {"api_key": "k3y-0815-first", "api_secret": "k3y-0815-second"},
        "tags": [{"note": "{braces}"}, 7],
    }
    imported = read_import(curl("https://api.example/v1/sessions", body))
    values = dict(imported.configurations[0].draft.values)
    sent = json.loads(str(values["login.body"]))
    assert sent["app"] == {"api_key": "{secret_key}"}
    assert sent["tags"] == [{}, 7]
    assert found_secrets(imported)["secret_key"] == "k3y-0815-first"
    assert reported(imported)["member api_secret"] == "dropped"


@pytest.mark.parametrize(
    "body",
    [
        {"method": "orders.list", "auth": {"user": "erp", "password": "hunter2-x"}},
        '[["auth", {"username": "erp", "password": "<password>"}]]',
        "user=erp&password=hunter2-x&what=orders",
    ],
)
def test_a_credential_in_the_body_of_another_request_is_an_error(body: object) -> None:
    more = "" if str(body).startswith("user=") else JSON
    imported = read_import(curl("https://api.example/v1/orders", body, more))
    assert imported.has_errors
    assert incomplete_error(imported) is not None
    assert reported(imported)["member password"] == "dropped"
    configuration = configuration_of(imported)
    assert configuration.no_auth_reason is None
    assert configuration.verification.test_body == ""
    with pytest.raises(AuthenticationRequired):
        refuse_unsavable(configuration)
    assert "hunter2" not in repr(imported.report)


@pytest.mark.parametrize(
    ("command", "body"),
    [
        (
            curl(
                "http://10.0.0.1/doveadm/v1",
                '[["who", {}, "t"]]',
                f"{JSON} -u d:p",
            ),
            '[["who", {}, "t"]]',
        ),
        (
            curl("https://api.example/rpc", '{"method": "system.version"}'),
            '{"method": "system.version"}',
        ),
        (
            curl("https://a.example/graphql", '{"query": "{ me }"}'),
            '{"query": "{ me }"}',
        ),
        (curl("https://api.example/query", "q=SHOW DATABASES", ""), "q=SHOW DATABASES"),
    ],
)
def test_a_call_that_only_reads_becomes_the_test(command: str, body: str) -> None:
    imported = read_import(command)
    verification = configuration_of(imported).verification
    assert verification.test_body == body
    assert verification.test_method == "POST"
    assert reported(imported)["test_body"] == "taken"
    refuse_unsavable(configuration_of(imported))


def test_the_content_type_of_the_test_is_that_of_the_command() -> None:
    more = (
        "-H 'Content-Type: application/x-amz-json-1.0' -H 'X-Amz-Target: DB.ListTables'"
    )
    values = values_of(curl("https://db.example/", "{}", more))
    assert values["verification.test_content_type"] == "application/x-amz-json-1.0"


def test_a_webdav_request_that_reads_becomes_the_test() -> None:
    values = values_of("curl -u erp:hunter2-x -X PROPFIND https://dav.example/erp/")
    assert values["verification.test_method"] == "PROPFIND"
    assert values["verification.test_path"] == "/erp/"
    assert "verification.test_body" not in values


def test_a_get_is_preferred_to_a_call_with_a_body() -> None:
    post = curl("https://api.example/v1/rpc", '{"method": "list"}')
    values = values_of(f"{post}\ncurl https://api.example/v1/me")
    assert values["verification.test_path"] == "/me"
    assert "verification.test_body" not in values


@pytest.mark.parametrize(
    ("body", "path", "reads"),
    [
        ('{"method": "listOrders"}', "/rpc", True),
        ('{"method": "orders.get"}', "/rpc", True),
        ('{"method": "orders.delete"}', "/rpc", False),
        ('{"method": "getAndLock"}', "/rpc", True),
        ('{"method": "listen"}', "/rpc", False),
        ('[{"method": "list"}, {"method": "create"}]', "/rpc", False),
        ('[["who", {}, "a"], ["mailboxStatus", {}, "b"]]', "/v1", False),
        ('{"name": "x"}', "/orders", False),
        ('{"name": "x"}', "/orders/_search", True),
        ('{"query": "mutation { a }"}', "/graphql", False),
        ("q=DROP DATABASE x", "/query", False),
        ("not a form", "/orders", False),
        ("[" * 200, "/orders", False),
        ("7", "/orders", False),
        ("[7]", "/orders", False),
        ("", "/search", False),
        ("x" * 20_000, "/search", False),
        ('{"method": "list", "password": "hunter2-x"}', "/rpc", False),
    ],
)
def test_a_request_reads_where_it_names_a_procedure_that_reads(
    body: str,
    path: str,
    reads: bool,  # noqa: FBT001 - a value of the table
) -> None:
    request = SeenRequest(f"https://api.example{path}", "POST", body=body)
    assert only_reads(request, path) is reads


def test_a_post_that_overrides_its_method_reads() -> None:
    headers = [("X-HTTP-Method-Override", "GET")]
    request = SeenRequest("https://a.example/", "POST", headers, body='{"a": 1}')
    assert only_reads(request, "/")
