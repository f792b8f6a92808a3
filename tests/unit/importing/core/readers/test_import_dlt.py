"""Dictionaries of dlt's rest_api: resources become lines; nothing is executed."""

import json
from typing import Any

import pytest

from outkey.foundation.core.errors import ConfigError
from outkey.hosts.importing import read_import
from outkey.importing.core.reading import Import
from outkey.sync.core.line.line import Pagination, Paging, Sync, Transform
from unit.imports import configuration_of, found_secrets, reported

BASE = "https://api.acme.example/v2/"
COLUMNS = {
    "id": {"data_type": "bigint"},
    "total": {"data_type": "decimal"},
    "paid": {"data_type": "bool"},
    "lines": {"data_type": "json"},
}


def resource(name: str = "orders", **endpoint: object) -> dict[str, Any]:
    return {
        "name": name,
        "primary_key": "id",
        "columns": COLUMNS,
        "endpoint": {"path": name, "data_selector": "data", **endpoint},
    }


def source(*resources: object, **client: object) -> dict[str, Any]:
    client = {"base_url": BASE, "paginator": "single_page"} | client
    return {"client": client, "resources": resources}


def read(*resources: object, **client: object) -> Import:
    return read_import(json.dumps(source(*resources, **client)))


def sync_of(imported: Import, number: int = -1) -> Sync:
    sync = imported.lines[number].line.sync
    assert sync is not None, [item.facts() for item in imported.report]
    return sync


def losses(imported: Import) -> dict[str, str]:
    return {i.item: str(i.why) for i in imported.report if str(i.action) == "dropped"}


def test_a_resource_becomes_a_whole_line() -> None:
    imported = read(resource())
    (drafted,) = imported.lines
    sync = sync_of(imported)
    assert configuration_of(imported).base_url == BASE.rstrip("/")
    assert (drafted.line.method, drafted.line.path) == ("GET", "/orders")
    assert (sync.records, sync.keys) == ("data", ("id",))
    assert {row.host: row.transform for row in sync.mappings} == {
        "id": Transform.NUMBER,
        "total": Transform.DECIMAL,
        "paid": Transform.BOOLEAN,
        "lines": Transform.AS_IS,
    }
    settings = ("records", "pagination", "incremental", "keys", "fields")
    actions = [reported(imported)[f"line orders: {name}"] for name in settings]
    assert actions == ["taken", "unstated", "unstated", "taken", "taken"]


def test_defaults_and_resources_of_one_word_are_read() -> None:
    tree = source("customers", {"name": "orders", "endpoint": "all/orders"})
    endpoint = {"params": {"per_page": 50, "kind": "a"}, "data_selector": "$"}
    tree["resource_defaults"] = {"primary_key": ["id", "no"], "endpoint": endpoint}
    tree["client"]["paginator"] = {"type": "page_number", "base_page": 1}
    imported = read_import(json.dumps(tree))
    assert [d.line.path for d in imported.lines] == ["/customers", "/all/orders"]
    sync = sync_of(imported)
    assert sync.pagination == Pagination(Paging.PAGE, 50, "per_page", "page")
    assert (sync.query, sync.keys, sync.records) == (
        (("kind", "a"),),
        ("id", "no"),
        "@",
    )
    assert "not stated" in losses(imported)["line orders: fields"]


YAML = """
sources:
  acme:
    type: rest_api
    client: {base_url: "https://api.acme.example"}
    resources:
      - name: orders
        primary_key: id
"""
TOML = """
[client]
base_url = "https://api.acme.example"
[[resources]]
name = "orders"
primary_key = "id"
"""
PYTHON = """
import dlt
from dlt.sources.rest_api import rest_api_source
open("/tmp/never", "w")
config: RESTAPIConfig = {
    "client": {
        "base_url": f"https://{region}.acme.example/",
        "auth": {"type": "api_key", "name": "X-Key", "api_key": dlt.secrets["key"]},
        "headers": {"X-Env": os.getenv("ENVIRONMENT"), "X-B": settings.b},
    },
    "resources": [
        {
            "name": "orders",
            "primary_key": "id",
            "endpoint": {
                "params": {"n": -5, "x": helper(), "ok": True, "t": (1, 2), **more},
                "incremental": {"cursor_path": "at", "convert": lambda x: x},
            },
        },
    ],
}
"""


@pytest.mark.parametrize("text", [YAML, TOML])
def test_projects_and_toml_are_read(text: str) -> None:
    imported = read_import(text)
    assert [drafted.line.path for drafted in imported.lines] == ["/orders"]
    assert sync_of(imported).keys == ("id",)


def test_a_python_file_is_read_and_never_run() -> None:
    imported = read_import(PYTHON)
    (drafted,) = imported.lines
    sync = drafted.line.sync
    assert sync is not None
    assert sync.query == (("n", "-5"), ("ok", "true"))
    lost = losses(imported)
    assert lost["base_url"].startswith("the host is a placeholder")
    assert "line orders: incremental.format" in lost
    draft = imported.configurations[0].draft
    assert sync.incremental.field == ""  # no parameter asks for changes
    assert "header:X-Key" in draft.references


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("rest_api_source({", "not valid Python"),
        ("rest_api_source({'client': 1})", "no dictionary with"),
        ("rest_api_source(" + "[" * 60 + "]" * 60 + ")", "nested deeper"),
        ("rest_api_source(1)\n" + "#" * 70_000, "longer than 64 KiB"),
        ("rest_api_source(1)\n" + "{}\n" * 5000, "longer than 64 KiB"),
    ],
)
def test_other_python_is_refused(text: str, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        read_import(text)


LONG = "0x" + "f" * 20_000


@pytest.mark.parametrize("row", [f"{LONG}: 1", f'"n": {LONG}', f'"n": -{LONG}'])
def test_an_integer_that_python_cannot_write_is_no_value(row: str) -> None:
    imported = read_import(PYTHON.replace('"n": -5', row))
    sync = sync_of(imported)
    assert ("n", "-5") not in sync.query
    assert "ffff" not in repr(imported)


def test_dates_of_toml_are_texts_and_its_long_integers_are_refused() -> None:
    params = "\n[resources.endpoint.params]\n"
    dated = read_import(f"{TOML}{params}from = 2026-01-31\nat = 07:30:00\n")
    assert sync_of(dated).query == (("from", "2026-01-31"), ("at", "07:30:00"))
    with pytest.raises(ConfigError):
        read_import(f"{TOML}{params}size = {LONG}\n")


def test_brackets_in_texts_do_not_hide_how_deep_a_dictionary_is_nested() -> None:
    text = f'x = "{"]" * 60}"\n{PYTHON}'
    assert sync_of(read_import(text)).keys == ("id",)
    deep = "[" * 60 + "]" * 60
    with pytest.raises(ConfigError, match="nested deeper"):
        read_import(text.replace('"n": -5', f'"n": {deep}'))


def test_only_the_sources_of_a_project_that_are_rest_apis_are_read() -> None:
    project = YAML.replace("  acme:", "  files: {type: filesystem}\n  acme:")
    assert [d.line.path for d in read_import(project).lines] == ["/orders"]


# ── pages ────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("paginator", "expected"),
    [
        ("json_link", Pagination(Paging.CURSOR, cursor="next")),
        (
            {"type": "json_response", "next_url_path": "$.paging.next"},
            Pagination(Paging.CURSOR, cursor="paging.next"),
        ),
        ("header_link", Pagination(Paging.LINK)),
        (
            {"type": "offset", "limit": 20},
            Pagination(Paging.OFFSET, 20, "limit", "offset"),
        ),
        ("page_number", Pagination(Paging.PAGE, 100, "", "page", 0)),
        (
            {"type": "cursor", "cursor_path": "meta['next-id']", "cursor_param": "a"},
            Pagination(Paging.CURSOR, position_parameter="a", cursor='meta."next-id"'),
        ),
        (
            "cursor",
            Pagination(
                Paging.CURSOR, position_parameter="cursor", cursor="cursors.next"
            ),
        ),
    ],
)
def test_paginators_become_pages(paginator: object, expected: Pagination) -> None:
    assert sync_of(read(resource(paginator=paginator))).pagination == expected


@pytest.mark.parametrize(
    ("paginator", "why"),
    [
        ("auto", "dlt finds it"),
        ({"type": "header_cursor"}, "no setting here"),
        ({"type": "cursor", "cursor_path": "a[?b]"}, "no setting here"),
    ],
)
def test_paginators_without_a_setting_are_losses(paginator: object, why: str) -> None:
    imported = read(resource(paginator=paginator))
    assert why in losses(imported)["line orders: pagination"]


def test_a_cursor_may_go_into_the_body() -> None:
    paginator = {"type": "cursor", "cursor_body_path": "after"}
    body = {"query": "all", "token": "{{token}}", "n": 1, "ids": ["{resources.a.id}"]}
    imported = read(resource(paginator=paginator, method="post", json=body))
    sync = sync_of(imported)
    assert json.loads(sync.body) == {
        "query": "all",
        "token": None,
        "n": 1,
        "ids": ["{parent.value}"],
        "after": "{position}",
    }
    assert "enter its value" in losses(imported)["line orders: body"]


def test_a_size_that_is_none_stays_a_parameter() -> None:
    imported = read(resource(paginator="page_number", params={"limit": "many"}))
    assert sync_of(imported).query == (("limit", "many"),)


# ── changes ──────────────────────────────────────────────────────────────────────────


def test_changes_of_an_endpoint_and_of_a_parameter_are_taken() -> None:
    of_endpoint = {
        "cursor_path": "updated_at",
        "start_param": "since",
        "end_param": "until",
        "initial_value": "2026-01-01T02:00:00+02:00",
        "lag": 90.0,
    }
    found = sync_of(read(resource(incremental=of_endpoint))).incremental
    assert (found.parameter, found.field, found.end_parameter) == (
        "since",
        "updated_at",
        "until",
    )
    assert (found.start, found.lookback) == ("2026-01-01T00:00:00Z", "2m")
    of_parameter = {
        "type": "incremental",
        "cursor_path": "$.updated_at",
        "initial_value": 1767225600,
    }
    found = sync_of(read(resource(params={"since": of_parameter}))).incremental
    assert (found.parameter, found.format) == ("since", "unix")
    assert found.start == "2026-01-01T00:00:00Z"


def test_changes_in_a_body_need_no_parameter() -> None:
    body = {"since": "{incremental.start_value}"}
    changes = {"cursor_path": "updated_at"}
    sync = sync_of(read(resource(method="POST", json=body, incremental=changes)))
    assert sync.incremental.field == "updated_at"
    assert json.loads(sync.body) == {"since": "{since}"}


def test_placeholders_of_changes_are_parameters() -> None:
    params = {
        "from": "{incremental.start_value}",
        "to": "{incremental.end_value}",
    }
    changes = {"cursor_path": "updated_at"}
    found = sync_of(read(resource(incremental=changes, params=params))).incremental
    assert (found.parameter, found.end_parameter) == ("from", "to")


def test_changes_without_a_setting_are_losses() -> None:
    changes = {
        "cursor_path": "updated_at",
        "start_param": "since",
        "initial_value": "soon",
        "end_value": "2026-02-01",
    }
    lost = losses(read(resource(incremental=changes)))
    assert "not a time" in lost["line orders: incremental.start"]
    assert "until it begins" in lost["line orders: incremental"]


def test_changes_without_a_field_have_their_parameter_alone() -> None:
    params = {"since": "{incremental.start_value}"}
    imported = read(resource(params=params))
    assert sync_of(imported).incremental.parameter == "since"
    assert [row.host for row in sync_of(imported).mappings] == [*COLUMNS]


# ── parents ──────────────────────────────────────────────────────────────────────────


def test_a_resource_of_a_parent_is_requested_for_each_of_its_records() -> None:
    params = {"order": {"type": "resolve", "resource": "orders", "field": "id"}}
    items = resource("items", path="orders/{order}/items", params=params)
    items |= {"include_from_parent": ["id"], "primary_key": ["orders_id", "sku"]}
    imported = read(items, resource())
    assert [drafted.line.path for drafted in imported.lines] == [
        "/orders",
        "/orders/{parent.id}/items",
    ]
    sync = sync_of(imported)
    assert sync.for_each.line == "acme orders"
    assert sync.keys == ("orders_id", "sku")
    assert ("$parent.id", "orders_id") in [(r.api, r.host) for r in sync.mappings]


def test_a_field_of_a_parent_may_be_a_parameter() -> None:
    params = {
        "code": "{resources.orders.meta.code}",
        "id": {"type": "resolve", "resource": "orders", "field": "id"},
    }
    imported = read(resource(), resource("items", params=params))
    assert dict(sync_of(imported).query) == {
        "code": "{parent.meta_code}",
        "id": "{parent.id}",
    }
    assert "meta_code" in [row.host for row in sync_of(imported, 0).mappings]


def test_defaults_that_make_millions_of_parts_are_refused() -> None:
    params = {f"p{number}": "x" for number in range(600)}
    document = source(*(f"r{number}" for number in range(200)))
    document["resource_defaults"] = {"endpoint": {"params": params}}
    with pytest.raises(ConfigError, match="more than 100000 parts"):
        read_import(json.dumps(document))


def test_only_the_first_columns_of_thousands_become_fields() -> None:
    columns = {f"c{number}": {"data_type": "text"} for number in range(501)}
    imported = read(resource() | {"columns": columns, "primary_key": "c0"})
    assert len(sync_of(imported).mappings) == 500
    assert any("500" in str(item.why) for item in imported.report)


def test_fields_of_a_parent_come_to_an_end() -> None:
    child = resource("items", path="orders/{resources.orders.id}/items")
    included = [f"f{number}" for number in range(1001)]
    with pytest.raises(ConfigError, match="more than 1000 fields"):
        read(resource(), child | {"include_from_parent": included})


def test_several_parents_are_a_loss() -> None:
    params = {"a": "{resources.a.id}", "b": "{resources.b.id}"}
    imported = read(resource("a"), resource("b"), resource(params=params))
    assert "one other line" in losses(imported)["line orders: for_each"]


def test_a_resource_whose_parent_is_no_line_is_a_loss() -> None:
    params = {"order": "{resources.orders.id}"}
    parent = resource() | {"primary_key": None}
    imported = read(parent, resource("items", params=params))
    (drafted,) = imported.lines
    assert (drafted.line.path, drafted.line.sync) == ("/orders", None)
    assert "records of is missing" in losses(imported)["line items"]


# ── requests ─────────────────────────────────────────────────────────────────────────


def test_parts_without_an_equal_are_losses() -> None:
    orders = resource(
        data_selector="a[?(@.b)]",
        params={"list": [1], "shop": "{{shop}}", "empty": ""},
        response_actions=[{"status_code": 404, "action": "ignore"}],
    )
    orders |= {"processing_steps": [{"filter": "x"}], "write_disposition": "replace"}
    imported = read(orders, {"name": "no_key", "columns": []})
    lost = losses(imported)
    for item in ("records", "query", "processing_steps", "response_actions"):
        assert f"line orders: {item}" in lost
    assert reported(imported)["line orders: write_disposition"] == "changed"
    assert "no key" in lost["line no_key: keys"]
    assert "the list itself" in lost["line no_key: records"]
    assert imported.lines[-1].line.sync is None


def test_a_body_that_is_nested_too_deeply_ends_in_null() -> None:
    deep: object = "end"
    for _ in range(30):
        deep = {"a": deep}
    body = sync_of(read(resource(method="POST", json=deep))).body
    assert "null" in body
    assert "end" not in body


def test_lists_within_lists_are_selected() -> None:
    imported = read(resource(data_selector="$.groups[*].orders[*]"))
    assert sync_of(imported).records == "groups[].orders"


def test_secrets_of_the_dictionary_are_secrets() -> None:
    imported = read(
        resource(params={"api_key": "8s7d6f5g"}),
        auth={"type": "bearer", "token": "s3cr3t99"},
    )
    assert found_secrets(imported) == {"token": "s3cr3t99", "query:api_key": "8s7d6f5g"}
    assert sync_of(imported).query == ()
    body = {"filter": {"password": "s3cr3t99"}}
    posted = read(resource(method="POST", json=body))
    assert posted.has_errors


def test_columns_may_be_a_list_and_a_path_a_whole_url() -> None:
    orders = resource(path=f"{BASE}all") | {"columns": [{"name": "id"}, {}]}
    imported = read(orders)
    assert imported.lines[0].line.path == "/all"
    assert [row.host for row in sync_of(imported).mappings] == ["id"]


@pytest.mark.parametrize(
    ("auth", "expected", "references"),
    [
        ("bearer", {"authentication_type": "bearer"}, ["token"]),
        ({"token": "{{token}}"}, {"authentication_type": "bearer"}, ["token"]),
        (
            {"type": "api_key", "api_key": "{{key}}", "location": "query", "name": "k"},
            {},
            ["query:k"],
        ),
        (
            {"type": "api_key", "api_key": "{{key}}", "location": "param", "name": "k"},
            {},
            ["query:k"],
        ),
        (
            {"type": "api_key", "api_key": "{{key}}"},
            {"authentication_type": "bearer", "token_prefix": ""},
            ["token"],
        ),
        (
            {"type": "http_basic", "username": "svc", "password": "{{password}}"},
            {"authentication_type": "basic", "username": "svc"},
            ["password"],
        ),
        (
            {
                "type": "oauth2_client_credentials",
                "access_token_url": "https://id.acme.example/token",
                "client_id": "app-1",
                "access_token_request_data": {
                    "grant_type": "client_credentials",
                    "scope": "a",
                    "tenant": "main",
                },
            },
            {
                "oauth2.grant": "client_credentials",
                "oauth2.scope": "a",
                "oauth2.extra": {"tenant": "main"},
            },
            ["client_secret"],
        ),
    ],
)
def test_auth_becomes_the_authentication(
    auth: object, expected: dict[str, object], references: list[str]
) -> None:
    draft = read(resource(), auth=auth).configurations[0].draft
    assert expected.items() <= draft.values.items()
    assert sorted(draft.references) == references


def test_auth_without_fields_is_a_loss() -> None:
    assert "auth" in losses(read(resource(), auth={"type": "custom"}))


def test_a_secret_of_a_token_request_is_named_and_not_taken() -> None:
    auth = {
        "type": "oauth2_client_credentials",
        "access_token_url": "https://id.acme.example/token",
        "access_token_request_data": {"assertion": "k3y9z"},
    }
    imported = read(resource(), auth=auth)
    assert "no other secrets" in losses(imported)["parameter assertion"]
    assert "k3y9z" not in repr(imported)


def test_a_secret_in_an_object_of_python_is_named_and_never_shown() -> None:
    imported = read_import(
        PYTHON.replace(
            '{"type": "api_key", "name": "X-Key", "api_key": dlt.secrets["key"]}',
            'BearerTokenAuth("k3y9z")',
        ).replace("helper()", 'Key("k3y9z")')
    )
    assert "choose its type, enter its secrets" in losses(imported)["auth"]
    assert "k3y9z" not in repr(imported)
    assert "k3y9z" not in repr([drafted.line for drafted in imported.lines])
