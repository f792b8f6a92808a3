"""Declarative manifests of Airbyte: streams become lines, and losses are reported."""

import json
from typing import Any

import pytest

from outkey.foundation.core.errors import ConfigError
from outkey.hosts.importing import read_import
from outkey.importing.core.reading import Import
from outkey.sync.core.line.line import Pagination, Paging, Sync, Transform
from unit.imports import configuration_of, reported

BASE = "https://api.acme.example/v2"
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "id": {"type": "integer"},
        "total": {"type": ["number", "null"]},
        "updated_at": {"type": "string", "format": "date-time"},
        "lines": {"type": "array"},
        "customer": {"type": "object", "properties": {"id": {"type": "string"}}},
    },
}
OPTION = {"type": "RequestOption", "inject_into": "request_parameter"}


def option(name: str, place: str = "request_parameter") -> dict[str, Any]:
    return {"type": "RequestOption", "inject_into": place, "field_name": name}


def stream(name: str = "orders", **more: Any) -> dict[str, Any]:  # noqa: ANN401 - of YAML
    requester = {
        "type": "HttpRequester",
        "url_base": BASE,
        "path": f"/{name}",
        **more.pop("requester", {}),
    }
    selector = {
        "type": "RecordSelector",
        "extractor": {"type": "DpathExtractor", "field_path": ["data"]},
    } | more.pop("selector", {})
    retriever = {
        "type": "SimpleRetriever",
        "requester": requester,
        "record_selector": selector,
    } | more.pop("retriever", {})
    return {
        "type": "DeclarativeStream",
        "name": name,
        "primary_key": ["id"],
        "retriever": retriever,
        "schema_loader": {"type": "InlineSchemaLoader", "schema": SCHEMA},
    } | more


def manifest(*streams: object, **more: object) -> dict[str, Any]:
    properties = {
        "token": {"type": "string", "airbyte_secret": True, "default": "s3cr3t"},
        "start": {"type": "string", "default": "2026-01-01T00:00:00Z"},
        "shop": {"type": "string"},
        "login": {"type": "object", "properties": {"site": {"const": "main"}}},
    }
    connection = {"type": "object", "properties": properties}
    return {
        "version": "6.5.2",
        "type": "DeclarativeSource",
        "metadata": {"name": "Acme"},
        "streams": streams,
        "spec": {"type": "Spec", "connection_specification": connection},
    } | more


def read(*streams: object, **more: object) -> Import:
    return read_import(json.dumps(manifest(*streams, **more)))


def sync_of(imported: Import, number: int = -1) -> Sync:
    sync = imported.lines[number].line.sync
    assert sync is not None, [item.facts() for item in imported.report]
    return sync


def losses(imported: Import) -> dict[str, str]:
    return {i.item: str(i.why) for i in imported.report if str(i.action) == "dropped"}


def test_a_stream_becomes_a_whole_line() -> None:
    imported = read(stream())
    (drafted,) = imported.lines
    sync = sync_of(imported)
    assert imported.configurations[0].draft.name == "Acme"
    assert configuration_of(imported).base_url == BASE
    assert (drafted.line.method, drafted.line.path) == ("GET", "/orders")
    assert (sync.target, sync.records) == ("table:acme_orders", "data")
    assert sync.keys == ("id",)
    assert {row.api: row.transform for row in sync.mappings} == {
        "id": Transform.NUMBER,
        "total": Transform.DECIMAL,
        "updated_at": Transform.DATETIME,
        "lines": Transform.AS_IS,
        "customer.id": Transform.TEXT,
    }
    settings = ("records", "pagination", "incremental", "keys", "fields")
    actions = [reported(imported)[f"line orders: {name}"] for name in settings]
    assert actions == ["taken", "unstated", "unstated", "taken", "changed"]


def test_a_manifest_in_yaml_with_references_and_parameters_is_read() -> None:
    text = """
version: "6.5.2"
type: DeclarativeSource
definitions:
  base:
    type: HttpRequester
    url_base: https://api.acme.example/v2/
  orders:
    type: DeclarativeStream
    name: orders
    $parameters: {path: /all-orders, primary_key: number}
    retriever:
      type: SimpleRetriever
      requester: {$ref: "#/definitions/base", http_method: POST}
      record_selector: "*ref(definitions.selector)"
  selector:
    type: RecordSelector
    extractor: {type: DpathExtractor, field_path: ["{{ parameters.name }}", "*", a-b]}
streams:
  - $ref: "#/definitions/orders"
    $parameters: {name: rows, path: /orders, primary_key: number}
"""
    imported = read_import(text)
    (drafted,) = imported.lines
    assert (drafted.line.method, drafted.line.path) == ("POST", "/orders")
    assert sync_of(imported).records == 'rows[]."a-b"'
    assert sync_of(imported).keys == ("number",)
    assert "not stated" in losses(imported)["line orders: fields"]


def test_references_that_lead_back_or_away_are_refused() -> None:
    definitions = {"a": {"x": {"$ref": "#/definitions/a"}}}
    imported = read(
        {"$ref": "#/definitions/a"},
        {"$ref": "https://evil.example/x"},
        stream(),
        definitions=definitions,
    )
    assert losses(imported)["stream"].startswith("only references inside")
    assert len(imported.lines) == 1


def test_components_that_multiply_come_to_an_end() -> None:
    definitions: dict[str, Any] = {"s0": {"a": "x"}}
    for n in range(1, 9):
        definitions[f"s{n}"] = [{"$ref": f"#/definitions/s{n - 1}"}] * 30
    with pytest.raises(ConfigError, match="no request"):
        read_import(
            json.dumps({"type": "DeclarativeSource", "streams": []}), source="airbyte"
        )
    imported = read(stream(), {"$ref": "#/definitions/s8"}, definitions=definitions)
    assert "too often" in losses(imported)["stream"]


def test_too_many_fields_are_cut_and_reported() -> None:
    properties = {f"f{n}": {"type": "string"} for n in range(600)}
    loader = {"schema": {"type": "object", "properties": {"id": {}} | properties}}
    imported = read(stream(schema_loader=loader))
    assert len(sync_of(imported).mappings) == 500
    assert "only the first 500" in str([item.why for item in imported.report])


def test_the_defaults_of_nested_values_are_taken_down_to_the_fourth_level() -> None:
    schema: dict[str, object] = {"default": "fifth"}
    for name in ("d", "c", "b", "a"):
        schema = {"default": f"of-{name}", "properties": {name: schema}}
    schema = {"properties": {"x": schema}}
    imported = read(
        stream(
            requester={
                "request_parameters": {
                    "fourth": "{{ config['x']['a']['b']['c'] }}",
                    "fifth": "{{ config['x']['a']['b']['c']['d'] }}",
                }
            }
        ),
        spec={"connection_specification": schema},
    )
    assert sync_of(imported).query == (("fourth", "of-d"),)
    assert "fifth: enter its value" in [str(item.why) for item in imported.report]


def test_parameters_that_many_components_inherit_come_to_an_end() -> None:
    parameters = {f"p{number}": "x" for number in range(1000)}
    heir = {"name": "heir", "$parameters": parameters, "parts": [{}] * 200}
    imported = read(stream(), heir)
    assert "too often" in losses(imported)["stream"]
    assert len(imported.lines) == 1


def test_a_key_of_thousands_of_fields_is_refused() -> None:
    names = [f"k{number}" for number in range(1001)]
    with pytest.raises(ConfigError, match="more than 1000 fields"):
        read(stream(primary_key=names))


# ── pages ────────────────────────────────────────────────────────────────────────────


def paginator(strategy: dict[str, Any], **more: object) -> dict[str, Any]:
    return {
        "type": "DefaultPaginator",
        "page_token_option": option("at"),
        "page_size_option": option("limit"),
        "pagination_strategy": strategy,
    } | more


def cursor(value: str, **more: object) -> dict[str, Any]:
    return {"type": "CursorPagination", "cursor_value": value, **more}


@pytest.mark.parametrize(
    ("component", "expected"),
    [
        (
            paginator({"type": "PageIncrement", "page_size": 50}),
            Pagination(Paging.PAGE, 50, "limit", "at", 0),
        ),
        (
            paginator({"type": "PageIncrement", "start_from_page": "1"}),
            Pagination(Paging.PAGE, 100, "", "at", 1),
        ),
        (
            paginator({"type": "OffsetIncrement", "page_size": "20"}),
            Pagination(Paging.OFFSET, 20, "limit", "at"),
        ),
        (
            paginator(cursor("{{ response.meta['next-id'] }}")),
            Pagination(Paging.CURSOR, position_parameter="at", cursor='meta."next-id"'),
        ),
        (
            paginator(
                cursor("{{ response.get('next', {}).get('url') }}"),
                page_token_option={"type": "RequestPath"},
            ),
            Pagination(Paging.CURSOR, cursor="next.url"),
        ),
        (
            paginator(
                cursor(
                    "{{ last_record['id'] }}",
                    stop_condition="{{ not response.has_more }}",
                )
            ),
            Pagination(
                Paging.CURSOR,
                position_parameter="at",
                cursor="has_more && data[-1].id",
            ),
        ),
        (
            paginator(
                cursor(
                    "{{ last_records[-1]['id'] }}",
                    stop_condition="{{ response.more == False }}",
                )
            ),
            Pagination(
                Paging.CURSOR, position_parameter="at", cursor="more && data[-1].id"
            ),
        ),
        (
            paginator(
                cursor("{{ response.next }}", stop_condition="{{ not response.next }}")
            ),
            Pagination(Paging.CURSOR, position_parameter="at", cursor="next"),
        ),
        (
            paginator(cursor("{{ headers['link']['next']['url'] }}")),
            Pagination(Paging.LINK),
        ),
        ({"type": "NoPagination"}, Pagination()),
    ],
)
def test_paginators_become_pages(
    component: dict[str, Any], expected: Pagination
) -> None:
    imported = read(stream(retriever={"paginator": component}))
    assert sync_of(imported).pagination == expected
    assert "line orders: pagination" not in losses(imported)


@pytest.mark.parametrize(
    ("component", "why"),
    [
        ({"type": "CustomPaginator", "class_name": "x.Y"}, "code of its own"),
        (paginator({"type": "Custom"}), "code of its own"),
        (paginator({"type": "PageIncrement", "start_from_page": 5}), "0 or 1"),
        (paginator(cursor("{{ 1 if response else 2 }}")), "not one that is read"),
        (paginator(cursor("{{ headers['x-next'] }}")), "in the body of a response"),
        (
            paginator({"type": "OffsetIncrement", "page_size": 20_000}),
            "number up to",
        ),
        (
            paginator(
                {"type": "OffsetIncrement"}, page_token_option=option("at", "header")
            ),
            "query or body",
        ),
    ],
)
def test_paginators_without_a_setting_are_losses(
    component: dict[str, Any], why: str
) -> None:
    imported = read(stream(retriever={"paginator": component}))
    assert why in losses(imported)["line orders: pagination"]


def test_a_condition_that_is_no_flag_is_reported() -> None:
    pages = cursor("{{ response.next }}", stop_condition="{{ 'a' not in response }}")
    imported = read(stream(retriever={"paginator": paginator(pages)}))
    assert sync_of(imported).pagination.cursor == "next"
    changes = [i for i in imported.report if "where the cursor is empty" in str(i.why)]
    assert len(changes) == 1


def test_position_and_size_go_into_the_body_where_the_manifest_has_them_there() -> None:
    position = {"inject_into": "body_json", "field_path": ["page", "cursor"]}
    component = paginator(
        cursor("{{ response.next }}", page_size=20),
        page_token_option=position,
        page_size_option=option("limit", "body_json"),
    )
    body = {"filter": {"kinds": ["a", "{{ config['login']['site'] }}"]}, "deep": "true"}
    requester = {"http_method": "POST", "request_body_json": body}
    imported = read(stream(requester=requester, retriever={"paginator": component}))
    sync = sync_of(imported)
    assert json.loads(sync.body) == {
        "filter": {"kinds": ["a", "main"]},
        "deep": True,
        "page": {"cursor": "{position}"},
        "limit": 20,
    }


# ── changes ──────────────────────────────────────────────────────────────────────────


def times(**more: object) -> dict[str, Any]:
    return {
        "type": "DatetimeBasedCursor",
        "cursor_field": "updated_at",
        "datetime_format": "%Y-%m-%dT%H:%M:%SZ",
        "start_datetime": "{{ config['start'] }}",
        "start_time_option": option("since"),
    } | more


def incremental(**more: object) -> Any:  # noqa: ANN401 - settings of a line
    return sync_of(read(stream(incremental_sync=times(**more)))).incremental


def test_windows_lookback_and_start_are_those_of_the_manifest() -> None:
    found = incremental(
        step="P30D", lookback_window="PT90S", end_time_option=option("until")
    )
    assert (found.parameter, found.field, found.end_parameter) == (
        "since",
        "updated_at",
        "until",
    )
    assert (found.start, found.window, found.lookback, found.format) == (
        "2026-01-01T00:00:00Z",
        "30d",
        "2m",
        "",
    )


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("%Y-%m-%d", "%Y-%m-%d"),
        ("%s", "unix"),
        ("%ms", "unix_ms"),
        ("%Y-%m-%dT%H:%M:%S.%f%z", ""),
    ],
)
def test_formats_of_times(pattern: str, expected: str) -> None:
    start = {"datetime": "2026-01-01", "datetime_format": "%Y-%m-%d"}
    found = incremental(datetime_format=pattern, start_datetime=start)
    assert (found.format, found.start) == (expected, "2026-01-01T00:00:00Z")


def test_times_may_be_sent_by_the_requester() -> None:
    parameters = {
        "from": "{{ stream_interval['start_time'] }}",
        "to": "{{ stream_slice.end_time }}",
        "page": "{{ next_page_token['next_page_token'] }}",
        "empty": "",
    }
    component = times(step="P1W")
    del component["start_time_option"]
    imported = read(
        stream(requester={"request_parameters": parameters}, incremental_sync=component)
    )
    found = sync_of(imported).incremental
    assert (found.parameter, found.end_parameter, found.window) == ("from", "to", "1w")
    assert sync_of(imported).query == ()


def test_times_in_a_body_become_placeholders() -> None:
    component = times(step="P1D", partition_field_start="a", partition_field_end="b")
    del component["start_time_option"]
    body = {"from": "{{ stream_slice['a'] }}", "to": "{{ stream_slice['b'] }}"}
    requester = {"http_method": "POST", "request_body_json": body}
    sync = sync_of(read(stream(requester=requester, incremental_sync=component)))
    assert json.loads(sync.body) == {"from": "{since}", "to": "{until}"}
    assert sync.incremental.field == "updated_at"


@pytest.mark.parametrize(
    ("component", "item", "why"),
    [
        ({"type": "IncrementingCountCursor"}, "incremental", "not a cursor of times"),
        (times(is_client_side_incremental=True), "incremental", "filtered after"),
        (times(datetime_format="%s_as_float"), "incremental", "no setting here"),
        (times(start_time_option=None), "incremental", "no request has the time"),
        (
            times(start_time_option=option("x", "header")),
            "incremental",
            "no request has the time",
        ),
        (
            times(start_datetime="{{ config['shop'] }}", step="P1D"),
            "incremental.window",
            "window = 1d",
        ),
        (times(start_datetime="soon"), "incremental.start", "not a time"),
        (times(lookback_window="often"), "incremental.lookback", "not a duration"),
        (times(end_datetime="2026-02-01"), "incremental", "until it begins"),
    ],
)
def test_changes_without_a_setting_are_losses(
    component: dict[str, Any], item: str, why: str
) -> None:
    assert (
        why in losses(read(stream(incremental_sync=component)))[f"line orders: {item}"]
    )


# ── parents ──────────────────────────────────────────────────────────────────────────


def router(*parents: dict[str, Any]) -> dict[str, Any]:
    return {"type": "SubstreamPartitionRouter", "parent_stream_configs": parents}


def parent(**more: object) -> dict[str, Any]:
    return {
        "type": "ParentStreamConfig",
        "stream": stream(),
        "parent_key": "id",
        "partition_field": "order_id",
    } | more


def items(routers: object, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - of YAML
    value = "{{ stream_partition['order_id'] }}"
    added = {"type": "AddFields", "fields": [{"path": ["order_id"], "value": value}]}
    return stream(
        "items",
        primary_key=["order_id", "sku"],
        retriever={"partition_router": routers},
        transformations=[added],
        **more,
    )


def test_a_stream_of_a_parent_has_a_request_for_each_of_its_records() -> None:
    path = "orders/{{ stream_partition.order_id }}/items"
    child = items(router(parent(incremental_dependency=True)), requester={"path": path})
    imported = read(child, stream())
    assert [drafted.line.name for drafted in imported.lines] == [
        "Acme orders",
        "Acme items",
    ]
    sync = sync_of(imported)
    assert imported.lines[1].line.path == "/orders/{parent.id}/items"
    assert (sync.for_each.line, sync.for_each.only) == ("Acme orders", "changed")
    assert sync.keys == ("order_id", "sku")
    assert ("$parent.id", "order_id") in [(row.api, row.host) for row in sync.mappings]
    assert "path" not in losses(imported)


def test_a_parent_field_that_no_row_has_is_mapped_in_the_parent() -> None:
    config = parent(parent_key="meta.code", request_option=option("code"))
    imported = read(items(router(config)))
    assert sync_of(imported).query == (("code", "{parent.meta_code}"),)
    parents = {row.host: row.api for row in sync_of(imported, 0).mappings}
    assert parents["meta_code"] == "meta.code"


def test_a_list_of_values_is_read_one_by_one() -> None:
    values = {
        "type": "ListPartitionRouter",
        "values": ["DE", "AT"],
        "cursor_field": "country",
        "request_option": option("country"),
    }
    imported = read(stream(retriever={"partition_router": values}))
    sync = sync_of(imported)
    assert sync.for_each.values == ("DE", "AT")
    assert sync.query == (("country", "{parent.value}"),)


@pytest.mark.parametrize(
    ("routers", "why"),
    [
        ([router(parent()), {"type": "ListPartitionRouter"}], "one list of parents"),
        (router(parent(), parent()), "one other line"),
        ({"type": "ListPartitionRouter", "values": "{{ config.shop }}"}, "enter them"),
        ({"type": "CustomPartitionRouter"}, "no setting here"),
        (
            router(parent(request_option=option("x", "body_json"))),
            "the path or the query",
        ),
    ],
)
def test_partitions_without_a_setting_are_losses(routers: object, why: str) -> None:
    assert why in losses(read(items(routers)))["line items: for_each"]


def test_a_stream_whose_parent_is_no_line_is_a_loss() -> None:
    config = parent(stream=stream(primary_key=None))
    path = "orders/{{ stream_partition.order_id }}/items"
    imported = read(items(router(config), requester={"path": path}))
    (drafted,) = imported.lines
    assert (drafted.line.path, drafted.line.sync) == ("/orders", None)
    assert "records of is missing" in losses(imported)["line items"]


# ── requests ─────────────────────────────────────────────────────────────────────────


def test_parameters_and_headers_of_requests() -> None:
    requester = {
        "request_parameters": {
            "kind": "open",
            "api_key": "{{ config['token'] }}",
            "shop": "{{ config['shop'] }}",
            "odd": "{{ now_utc() }}",
        },
        "request_headers": {"Accept": "application/json", "X-Odd": "{{ 1 + 1 }}"},
    }
    imported = read(stream(requester=requester))
    assert sync_of(imported).query == (("kind", "open"),)
    draft = imported.configurations[0].draft
    assert [row.key for row in draft.query] == ["api_key"]
    assert [row.key for row in draft.headers] == ["Accept"]
    assert "shop: enter its value" in [str(item.why) for item in imported.report]
    assert "s3cr3t" not in str(draft)


def test_requests_without_an_equal_are_losses() -> None:
    requester = {
        "path": "/a/{{ today }}/b",
        "request_body_data": {"a": "b"},
        "request_body_json": {
            "when": "{{ now() }}",
            "deep": {"shop": "{{config.shop}}"},
        },
    }
    imported = read(
        stream(
            requester=requester,
            selector={
                "record_filter": {"condition": "{{ record.x }}"},
                "extractor": {"type": "CustomRecordExtractor"},
            },
            transformations=[
                {"type": "KeysToLower"},
                {"type": "RemoveFields", "field_pointers": [["customer"], "x"]},
                {
                    "type": "AddFields",
                    "fields": [
                        {"path": ["kind"], "value": "order"},
                        {
                            "path": ["customer_id"],
                            "value": "{{ record['customer']['id'] }}",
                        },
                        {"path": ["odd"], "value": "{{ now() }}"},
                    ],
                },
            ],
        )
    )
    lost = losses(imported)
    for item in ("path", "body", "records", "record_filter", "transformations"):
        assert f"line orders: {item}" in lost
    assert "odd" in lost["line orders: fields"]
    rows = {row.host: row for row in sync_of(imported).mappings}
    assert "customer.id" not in [
        row.api for row in rows.values() if row.host != "customer_id"
    ]
    assert rows["customer_id"].api == "customer.id"
    assert rows["kind"].options == {"value": "order"}


def test_numbers_of_a_body_are_taken_and_the_deepest_parts_are_not() -> None:
    deep: object = "end"
    for _ in range(30):
        deep = {"a": deep}
    body = {"page_size": 20, "all": True, "deep": deep}
    requester = {"http_method": "POST", "request_body_json": body}
    found = json.loads(sync_of(read(stream(requester=requester))).body)
    assert (found["page_size"], found["all"]) == (20, True)
    assert "end" not in str(found)


def test_parts_of_another_kind_are_left_out() -> None:
    extractor = {"field_path": ["{{ now() }}", "data"]}
    removed = {"type": "RemoveFields", "field_pointers": "customer"}
    imported = read(
        stream(selector={"extractor": extractor}, transformations=[removed])
    )
    assert sync_of(imported).records == "data"
    assert "field_path" in losses(imported)["line orders: records"]
    assert "customer.id" in [row.api for row in sync_of(imported).mappings]


def test_a_stream_without_a_key_is_for_single_requests() -> None:
    imported = read(stream(primary_key=None))
    assert imported.lines[0].line.sync is None
    assert "no key" in losses(imported)["line orders: keys"]


@pytest.mark.parametrize(
    ("decoder", "expected"),
    [
        ({"type": "JsonDecoder"}, ("json", "auto")),
        ({"type": "JsonlDecoder"}, ("jsonl", "auto")),
        ({"type": "XmlDecoder"}, ("xml", "auto")),
        (
            {"type": "GzipDecoder", "decoder": {"type": "CsvDecoder"}},
            ("csv", "gzip"),
        ),
        (
            {
                "type": "ZipfileDecoder",
                "parser": {"type": "CompositeRawDecoder", "parser": {}},
            },
            ("json", "zip"),
        ),
    ],
)
def test_decoders_become_the_format_of_responses(
    decoder: dict[str, Any], expected: tuple[str, str]
) -> None:
    response = sync_of(read(stream(retriever={"decoder": decoder}))).response
    assert (str(response.format), str(response.compression)) == expected


def test_the_details_of_csv_are_taken() -> None:
    decoder = {
        "type": "CompositeRawDecoder",
        "parser": {"type": "CsvParser", "encoding": "iso-8859-1", "delimiter": "\\t"},
    }
    response = sync_of(read(stream(retriever={"decoder": decoder}))).response
    assert (response.charset, response.delimiter) == ("iso-8859-1", "tab")
    imported = read(stream(retriever={"decoder": {"type": "CustomDecoder"}}))
    assert "code of its own" in losses(imported)["line orders: response"]


def test_decoders_within_decoders_come_to_an_end() -> None:
    decoder: dict[str, Any] = {"type": "JsonDecoder"}
    for _ in range(6):
        decoder = {"type": "CompositeRawDecoder", "parser": decoder}
    imported = read(stream(retriever={"decoder": decoder}))
    assert "code of its own" in losses(imported)["line orders: response"]


def test_streams_that_are_chosen_while_reading_are_reported() -> None:
    imported = read(
        {"type": "ConditionalStreams", "streams": [stream("a")]},
        {"type": "StateDelegatingStream", "incremental_stream": stream("b")},
        dynamic_streams=[],
    )
    assert [d.line.path for d in imported.lines] == ["/a", "/b"]
    lost = losses(imported)
    assert {"ConditionalStreams", "StateDelegatingStream", "dynamic_streams"} <= {*lost}


def test_the_url_may_be_one_text() -> None:
    requester = {"url_base": None, "url": f"{BASE}/orders", "path": None}
    imported = read(stream(requester=requester))
    assert configuration_of(imported).base_url == "https://api.acme.example"
    assert imported.lines[0].line.path == "/v2/orders"


# ── authenticators ───────────────────────────────────────────────────────────────────

SECRET = "{{ config['token'] }}"


def draft_with(authenticator: dict[str, Any]) -> tuple[Any, dict[str, str]]:
    imported = read(stream(requester={"authenticator": authenticator}))
    return imported.configurations[0].draft, losses(imported)


@pytest.mark.parametrize(
    ("authenticator", "expected", "references"),
    [
        (
            {"type": "BearerAuthenticator", "api_token": SECRET},
            {"authentication_type": "bearer"},
            ["token"],
        ),
        (
            {"type": "BasicHttpAuthenticator", "username": "svc", "password": SECRET},
            {"authentication_type": "basic", "username": "svc"},
            ["password"],
        ),
        (
            {"type": "BasicHttpAuthenticator", "username": SECRET},
            {"authentication_type": "basic", "key_as_username": True},
            ["password"],
        ),
        (
            {
                "type": "ApiKeyAuthenticator",
                "header": "Authorization",
                "api_token": f"Token {SECRET}",
            },
            {"authentication_type": "bearer", "token_prefix": "Token"},
            ["token"],
        ),
        (
            {
                "type": "ApiKeyAuthenticator",
                "inject_into": option("X-Key", "header"),
                "api_token": f"Key={SECRET}",
            },
            {},
            ["header:X-Key"],
        ),
        (
            {
                "type": "ApiKeyAuthenticator",
                "inject_into": option("key"),
                "api_token": SECRET,
            },
            {},
            ["query:key"],
        ),
        (
            {
                "type": "OAuthAuthenticator",
                "token_refresh_endpoint": "https://id.acme.example/token",
                "client_id": "{{ config['client_id'] }}",
                "grant_type": "client_credentials",
                "scopes": ["a", "b"],
                "refresh_request_body": {"audience": "acme", "x": SECRET},
                "refresh_request_headers": {"Authorization": "Basic x"},
            },
            {
                "oauth2.grant": "client_credentials",
                "oauth2.scope": "a b",
                "oauth2.audience": "acme",
                "oauth2.client_auth": "basic",
            },
            ["client_secret"],
        ),
        (
            {
                "type": "SelectiveAuthenticator",
                "authenticators": {
                    "custom": {"type": "CustomAuthenticator"},
                    "token": {"type": "BearerAuthenticator"},
                },
            },
            {"authentication_type": "bearer"},
            ["token"],
        ),
    ],
)
def test_authenticators_become_the_authentication(
    authenticator: dict[str, Any],
    expected: dict[str, object],
    references: list[str],
) -> None:
    draft, _ = draft_with(authenticator)
    assert expected.items() <= draft.values.items()
    assert sorted(draft.references) == references


def session(body: dict[str, str], **request: object) -> dict[str, Any]:
    return {
        "type": "SessionTokenAuthenticator",
        "login_requester": {
            "url_base": BASE,
            "path": "/login",
            "request_body_json": body,
        },
        "session_token_path": ["data", "id"],
        "request_authentication": {
            "type": "ApiKey",
            "inject_into": option("X-Session", "header"),
        }
        | request,
    }


def test_a_session_token_becomes_a_login() -> None:
    body = {"username": "{{ config['user'] }}", "password": SECRET}
    draft, lost = draft_with(session(body))
    assert draft.values["login.path"] == "/login"
    assert draft.values["login.token"] == "data.id"
    assert draft.values["token_header"] == "X-Session"
    assert "SessionTokenAuthenticator" not in lost
    _, lost = draft_with(session(body, inject_into=option("s")))
    assert "in a header" in lost["SessionTokenAuthenticator"]


def test_a_login_may_have_one_url_and_the_usual_name_of_its_token() -> None:
    body = {"username": "{{ config['user'] }}", "password": SECRET}
    login = {"url": f"{BASE}/sign-in", "request_body_json": body}
    draft, lost = draft_with(
        session(body) | {"login_requester": login, "session_token_path": None}
    )
    assert draft.values["login.path"] == "/sign-in"
    assert draft.values["token_header"] == "X-Session"
    assert "SessionTokenAuthenticator" not in lost


@pytest.mark.parametrize(
    ("authenticator", "item"),
    [
        (
            {
                "type": "ApiKeyAuthenticator",
                "inject_into": option("X-Key", "header"),
                "api_token": "k3y9z",
            },
            "ApiKeyAuthenticator: api_token",
        ),
        (
            {"type": "BearerAuthenticator", "api_token": "k3y9z"},
            "BearerAuthenticator: api_token",
        ),
        (
            {"type": "OAuthAuthenticator", "client_secret": "k3y9z"},
            "OAuthAuthenticator: client_secret",
        ),
        (
            {"type": "OAuthAuthenticator", "refresh_token": "k3y9z"},
            "OAuthAuthenticator: refresh_token",
        ),
        (
            {
                "type": "OAuthAuthenticator",
                "refresh_request_headers": {"Authorization": "Basic k3y9z"},
            },
            "OAuthAuthenticator: header Authorization",
        ),
    ],
)
def test_a_credential_that_is_written_into_a_manifest_is_named_and_to_be_entered(
    authenticator: dict[str, Any], item: str
) -> None:
    imported = read(stream(requester={"authenticator": authenticator}))
    assert "enter it as a secret, and remove it there" in losses(imported)[item]
    (configuration,) = imported.configurations
    assert not configuration.secrets
    assert "k3y9z" not in repr(imported)


@pytest.mark.parametrize("value", [SECRET, "{{ config['a'] or config['b'] }}", "", "…"])
def test_an_expression_is_no_credential_that_was_written_down(value: str) -> None:
    _, lost = draft_with({"type": "BearerAuthenticator", "api_token": value})
    assert "BearerAuthenticator: api_token" not in lost


def test_secrets_of_a_request_for_tokens_are_named() -> None:
    body = {"assertion": "k3y9z", "plain": "a", "x": SECRET}
    headers = {"X-Key": "k3y9z", "Accept": "application/json"}
    draft, lost = draft_with(
        {
            "type": "OAuthAuthenticator",
            "refresh_request_body": body,
            "refresh_request_headers": headers,
        }
    )
    assert draft.values["oauth2.extra"] == {"plain": "a"}
    assert {"parameter assertion", "parameter x"} <= lost.keys()
    assert "OAuthAuthenticator: header X-Key" in lost
    login = session({"username": "svc", "password": SECRET})
    login["login_requester"]["request_headers"] = headers
    _, lost = draft_with(login)
    assert "SessionTokenAuthenticator: header X-Key" in lost
    assert "k3y9z" not in repr(lost)


def test_the_default_of_a_secret_is_named_and_not_taken() -> None:
    imported = read(stream())
    assert "enter it as a secret" in losses(imported)["spec token"]
    assert "s3cr3t" not in repr(imported)


@pytest.mark.parametrize(
    ("authenticator", "item"),
    [
        ({"type": "CustomAuthenticator"}, "authenticator CustomAuthenticator"),
        (session({"a": "b"}), "SessionTokenAuthenticator"),
        (
            {
                "type": "ApiKeyAuthenticator",
                "inject_into": option("k", "body_json"),
                "api_token": SECRET,
            },
            "ApiKeyAuthenticator",
        ),
        (
            {
                "type": "SelectiveAuthenticator",
                "authenticators": {"a": {"type": "CustomAuthenticator"}},
            },
            "authenticator CustomAuthenticator",
        ),
    ],
)
def test_authenticators_without_fields_are_losses(
    authenticator: dict[str, Any], item: str
) -> None:
    assert item in draft_with(authenticator)[1]


def test_an_expression_in_the_url_is_left_to_enter() -> None:
    requester = {"url_base": "https://{{ config['shop'] }}.acme.example"}
    imported = read(stream(requester=requester))
    assert losses(imported)["base_url"].startswith("the host is a placeholder")
    odd = read(stream(requester={"url_base": "https://{{ now() }}.acme.example"}))
    assert "expression" in losses(odd)


# ── jobs ─────────────────────────────────────────────────────────────────────────────


def job(**more: Any) -> dict[str, Any]:  # noqa: ANN401 - of YAML
    def request(path: str, **parts: object) -> dict[str, object]:
        return {"type": "HttpRequester", "url_base": BASE, "path": path, **parts}

    retriever = {
        "type": "AsyncRetriever",
        "creation_requester": request(
            "/reports",
            http_method="POST",
            request_body_json={"from": "{{ stream_interval.start_time }}"},
            request_parameters={"kind": "full"},
        ),
        "polling_requester": request("/reports/{{ creation_response['id'] }}"),
        "download_requester": request("/reports/{{ creation_response.id }}/file"),
        "status_extractor": {"field_path": ["report", "status"]},
        "status_mapping": {
            "running": ["new"],
            "completed": ["done"],
            "failed": ["error"],
            "timeout": ["expired"],
        },
        "polling_job_timeout": 30,
        "download_decoder": {"type": "CsvDecoder"},
    }
    component = times()
    del component["start_time_option"]
    parts = stream("report", incremental_sync=component)
    parts["retriever"] |= retriever | more
    del parts["retriever"]["requester"]
    return parts


def test_an_asynchronous_retriever_becomes_a_job() -> None:
    imported = read(job())
    sync = sync_of(imported)
    assert imported.lines[0].line.path == "/reports/{job.id}/file"
    assert (sync.job.order.method, sync.job.order.path) == (
        "POST",
        "/reports?kind=full",
    )
    assert json.loads(sync.job.order.body) == {"from": "{since}"}
    assert (sync.job.id, sync.job.poll.path) == ("id", "/reports/{job.id}")
    assert (sync.job.state, sync.job.done) == ("report.status", ("done",))
    assert (sync.job.failed, sync.job.max_minutes) == (("error", "expired"), 30)
    assert (sync.job.url, str(sync.response.format)) == ("", "csv")
    assert sync.incremental.field == "updated_at"


@pytest.mark.parametrize(
    ("url", "extractor"),
    [
        ("{{ download_target }}", {"field_path": ["result", "url"]}),
        ("{{ polling_response['result']['url'] }}", None),
    ],
)
def test_a_job_may_name_the_url_of_its_file(
    url: str, extractor: dict[str, Any] | None
) -> None:
    download = {"type": "HttpRequester", "url": url}
    parts = job(download_requester=download, download_target_extractor=extractor)
    assert sync_of(read(parts)).job.url == "result.url"


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"status_extractor": {}}, "its id and its state"),
        (
            {
                "polling_requester": {
                    "url": "https://other.example/{{ creation_response.id }}"
                }
            },
            "at another URL",
        ),
        ({"abort_requester": {"path": "/abort"}}, "a request more"),
        (
            {
                "polling_requester": {
                    "url_base": BASE,
                    "path": "/{{ creation_response.id }}/{{ creation_response.key }}",
                }
            },
            "its id and its state",
        ),
    ],
)
def test_jobs_without_a_setting_are_losses(more: dict[str, Any], why: str) -> None:
    texts = [str(item.why) for item in read(job(**more)).report]
    assert any(why in text for text in texts)


def test_an_order_may_have_another_method() -> None:
    creation = {"url_base": BASE, "path": "/reports", "http_method": "put"}
    sync = sync_of(read(job(creation_requester=creation)))
    assert (sync.job.order.method, sync.job.order.body) == ("PUT", "")


@pytest.mark.parametrize("minutes", [None, "{{ config.minutes }}", 0])
def test_a_job_without_a_number_of_minutes_has_the_usual_ones(minutes: object) -> None:
    assert sync_of(read(job(polling_job_timeout=minutes))).job.max_minutes == 60
