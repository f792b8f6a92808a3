"""OpenAPI and Swagger: what an operation states about its records becomes a line."""

import json
import time
from typing import Any

import pytest

from outkey.administration.core.document.document import parse_document
from outkey.administration.core.document.export import render
from outkey.hosts.importing import read_import
from outkey.importing.core.drafted_lines import DraftedLine
from outkey.importing.core.reading import Import
from outkey.sync.core.line.line import Pagination, Paging, Sync, SyncLine, Transform
from unit.imports import reported

ORDER: dict[str, Any] = {
    "type": "object",
    "required": ["id"],
    "properties": {
        "id": {"type": "integer"},
        "name": {"type": "string"},
        "total": {"type": "number"},
        "paid": {"type": "boolean"},
        "due_on": {"type": ["string", "null"], "format": "date"},
        "updated_at": {"type": "string", "format": "date-time"},
        "customer": {"$ref": "#/components/schemas/Customer"},
    },
}
CUSTOMER: dict[str, Any] = {"type": "object", "properties": {"id": {"type": "string"}}}
PAGE = {"name": "page", "in": "query", "schema": {"type": "integer"}}
SINCE = {
    "name": "updated_since",
    "in": "query",
    "schema": {"type": "string", "format": "date-time"},
}


def in_list(schema: object) -> dict[str, Any]:
    return {"type": "array", "items": schema}


def in_object(**properties: object) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def number(name: str, **more: object) -> dict[str, Any]:
    return {"name": name, "in": "query", "schema": {"type": "integer"} | more}


def read(
    schema: object,
    *parameters: object,
    shared: tuple[object, ...] = (),
    links: bool = False,
    **schemas: object,
) -> Import:
    content = {"text/html": {}, "application/json": {"schema": schema}}
    operation = {
        "operationId": "listOrders",
        "parameters": parameters,
        "responses": {
            "default": {},
            "200": {"content": content, "headers": {"Link": {}} if links else {}},
        },
    }
    components = {
        "schemas": {"Order": ORDER, "Customer": CUSTOMER} | schemas,
        "parameters": {"page": PAGE},
    }
    document = {
        "openapi": "3.1.0",
        "info": {"title": "Acme"},
        "servers": [{"url": "https://api.acme.example/v1"}],
        "components": components,
        "paths": {"/orders": {"get": operation, "parameters": shared}},
    }
    return read_import(json.dumps(document))


def line_of(imported: Import) -> SyncLine:
    (drafted,) = imported.lines
    return drafted.line


def sync_of(imported: Import) -> Sync:
    sync = line_of(imported).sync
    assert sync is not None
    return sync


def orders(*parameters: object, **more: object) -> Import:
    schema = in_object(data=in_list({"$ref": "#/components/schemas/Order"}), **more)
    return read(schema, *parameters)


def with_record(*parameters: object, **properties: object) -> Import:
    return read(in_list(in_object(**properties)), *parameters)


def reasons(imported: Import) -> dict[str, str]:
    """Return the last reason of each item."""
    return {item.item: str(item.why) for item in imported.report}


def losses(imported: Import) -> dict[str, str]:
    return {i.item: str(i.why) for i in imported.report if str(i.action) == "dropped"}


def changed(imported: Import) -> dict[str, str]:
    return {i.item: str(i.why) for i in imported.report if str(i.action) == "changed"}


def rows_of(imported: Import) -> dict[str, Transform]:
    return {row.api: row.transform for row in sync_of(imported).mappings}


def test_a_described_list_becomes_a_whole_line() -> None:
    imported = orders(PAGE, SINCE, number("per_page", maximum=50))
    line = line_of(imported)
    sync = sync_of(imported)
    assert (line.method, line.path) == ("GET", "/orders")
    assert (sync.target, sync.records) == ("table:acme_list_orders", "data")
    assert sync.keys == ("id",)
    assert sync.pagination == Pagination(Paging.PAGE, 50, "per_page", "page")
    assert sync.incremental.parameter == "updated_since"
    assert sync.incremental.field == "updated_at"
    rows = {row.api: (row.host, row.transform, row.required) for row in sync.mappings}
    assert rows == {
        "id": ("id", Transform.NUMBER, True),
        "name": ("name", Transform.TEXT, False),
        "total": ("total", Transform.DECIMAL, False),
        "paid": ("paid", Transform.BOOLEAN, False),
        "due_on": ("due_on", Transform.DATE, False),
        "updated_at": ("updated_at", Transform.DATETIME, False),
        "customer.id": ("customer_id", Transform.TEXT, False),
    }
    assert "table:acme_list_orders" in reasons(imported)["line listOrders"]
    assert imported.lines[0].pagination["position_parameter"] == "page"
    configuration = imported.configurations[0].draft.configuration()
    assert parse_document(render([configuration], [line])).lines == (line,)


def test_a_line_without_a_described_response_is_for_single_requests() -> None:
    for schema in (
        {},
        True,
        {"type": "string"},
        {"$ref": "#/components/schemas/Order"},
    ):
        imported = read(schema, PAGE)
        assert line_of(imported).sync is None
        assert imported.lines[0].pagination["kind"] == "page"
        assert reported(imported)["pages"] == "taken"


def test_a_response_without_a_schema_or_a_success_states_nothing() -> None:
    for responses in ({}, {"404": {}}, {"200": {"content": {"text/csv": {}}}}):
        operation = {"responses": responses}
        document = {
            "openapi": "3.0.0",
            "servers": [{"url": "https://api.acme.example"}],
            "paths": {"/orders": {"get": operation}},
        }
        assert line_of(read_import(json.dumps(document))).sync is None


def test_records_are_the_root_or_a_member() -> None:
    order = {"$ref": "#/components/schemas/Order"}
    assert sync_of(read(in_list(order))).records == "@"
    nested = in_object(result=in_object(orders=in_list(order)))
    assert sync_of(read(nested)).records == "result.orders"


def test_other_lists_of_the_response_are_reported() -> None:
    imported = orders(shops=in_list(in_object(id={"type": "string"})))
    assert sync_of(imported).records == "data"
    assert reasons(imported)["line listOrders: records"].endswith(": shops")


def test_of_several_lists_the_one_whose_name_tells_it_counts() -> None:
    order = {"$ref": "#/components/schemas/Order"}
    lists = {"shops": in_list(CUSTOMER), "goods": in_list(order)}
    unclear = read(in_object(**lists), PAGE)
    assert line_of(unclear).sync is None
    assert "(shops, goods)" in reasons(unclear)["line listOrders: records"]
    assert (
        line_of(read(in_object(data=in_list(order), items=in_list(order)))).sync is None
    )
    named = read(in_object(**lists, orders=in_list(order)))
    assert sync_of(named).records == "orders"
    beside = read(in_object(goods=in_list(order), errors=in_list(CUSTOMER)))
    assert sync_of(beside).records == "goods"


def test_a_value_of_an_unknown_type_is_stored_as_it_is() -> None:
    for kind in ({}, [{}], [["string"]], 5, "text", None):
        imported = with_record(number("limit", type=kind), id=ID, other={"type": kind})
        assert rows_of(imported) == {"id": Transform.TEXT, "other": Transform.AS_IS}


def test_a_list_of_single_values_is_not_one_of_records() -> None:
    imported = read(in_list({"type": "string"}))
    assert line_of(imported).sync is None
    assert "list of objects" in reasons(imported)["line listOrders: records"]


def test_composed_schemas_have_the_fields_of_all_their_parts() -> None:
    base = {"properties": {"id": {"type": "string"}}, "required": ["id"]}
    composed = {
        "allOf": [{"$ref": "#/components/schemas/Base"}, {"type": "object"}],
        "properties": {
            "one": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            "two": {"oneOf": [{"type": "integer"}, {"type": "string"}]},
            "many": {"type": ["integer", "string"]},
            "any": {},
        },
    }
    imported = read(
        in_list({"$ref": "#/components/schemas/All"}), All=composed, Base=base
    )
    assert rows_of(imported) == {
        "id": Transform.TEXT,
        "one": Transform.NUMBER,
        "two": Transform.AS_IS,
        "many": Transform.AS_IS,
        "any": Transform.AS_IS,
    }
    why = reasons(imported)["line listOrders: fields"]
    assert why.endswith("as they are: two, many, any")


def test_several_kinds_of_records_have_the_fields_of_all() -> None:
    cat = in_object(id=ID, lives={"type": "integer"}, size={"type": "integer"})
    dog = in_object(id=ID, tricks=in_list(ID), size={"type": "string"})
    imported = read(in_list({"oneOf": [cat, dog]}))
    assert rows_of(imported) == {
        "id": Transform.TEXT,
        "lives": Transform.NUMBER,
        "size": Transform.AS_IS,
        "tricks": Transform.AS_IS,
    }
    other = read(in_list({"oneOf": [cat, {"type": "string"}]}))
    assert line_of(other).sync is None


def test_fields_have_the_transform_of_their_type_and_format() -> None:
    imported = with_record(
        id=ID,
        price={"type": "string", "format": "decimal"},
        tags=in_list({"type": "string"}),
        more={"type": "object"},
        size=in_object(width={"type": "integer"}),
    )
    assert rows_of(imported) == {
        "id": Transform.TEXT,
        "price": Transform.DECIMAL,
        "size.width": Transform.NUMBER,
        "more": Transform.AS_IS,
        "tags": Transform.AS_IS,
    }


def test_the_report_has_an_item_for_each_setting() -> None:
    settings = ("records", "pagination", "incremental", "keys", "fields")
    taken = reported(orders(PAGE, SINCE, number("per_page", maximum=50)))
    assert [taken[f"line listOrders: {name}"] for name in settings] == ["taken"] * 5
    bare = reported(orders())
    assert bare["line listOrders: pagination"] == "unstated"
    assert bare["line listOrders: incremental"] == "unstated"


def test_what_is_only_sent_and_passwords_are_not_taken() -> None:
    imported = with_record(
        id={"type": "string"},
        pin={"type": "string", "writeOnly": True},
        word={"type": "string", "format": "password"},
        file={"type": "string", "format": "binary"},
    )
    assert [row.api for row in sync_of(imported).mappings] == ["id"]


def test_lists_that_are_deeper_or_about_the_page_are_no_rivals() -> None:
    order = {"$ref": "#/components/schemas/Order"}
    sort = in_object(clauses=in_list(CUSTOMER))
    found = read(
        in_object(animals=in_list(order), sort=sort, a=in_object(b=in_list(order)))
    )
    assert sync_of(found).records == "animals"


def test_one_record_is_not_a_list_whatever_lists_it_has() -> None:
    pet = in_object(tags=in_list(CUSTOMER), photos=in_list(CUSTOMER))
    paths = {"/pets": listing(in_object(id=ID)), "/pets/{id}": read_one(pet)}
    imported = read_paths(paths)
    assert [drafted.line.path for drafted in imported.lines] == ["/pets"]
    assert not losses(imported).keys() & {"line pets 2", "line"}


def read_one(record: object) -> dict[str, Any]:
    content = {"application/json": {"schema": record}}
    return {"get": {"responses": {"200": {"content": content}}}}


def test_operations_without_a_name_to_show_have_a_number_in_the_report() -> None:
    item = listing(in_object(name=ID))
    item["get"]["operationId"] = "orders/list: all"
    imported = read_paths({"/a/orders": item, "/b/orders": item})
    assert {"line orders: keys", "line orders 2: keys"} <= losses(imported).keys()


# ── keys ─────────────────────────────────────────────────────────────────────────────


def test_the_only_required_id_is_the_key() -> None:
    properties = {
        "uuid": {"type": "string"},
        "order_id": {"type": "integer"},
        "customer_id": {"type": "integer"},
    }
    record = {"properties": properties, "required": ["order_id", "customer_id", 1]}
    assert sync_of(read(in_list(record))).keys == ("order_id",)


@pytest.mark.parametrize(
    ("properties", "why"),
    [
        ({"name": {"type": "string"}}, "states no key"),
        ({"id": {"type": "boolean"}}, "states no key"),
        ({"customer_id": {"type": "string"}}, "states no key"),
        (
            {"uuid": {"type": "string"}, "guid": {"type": "string"}},
            "several readings are possible (uuid, guid)",
        ),
    ],
)
def test_a_key_that_is_not_stated_is_reported(
    properties: dict[str, object], why: str
) -> None:
    imported = with_record(PAGE, **properties)
    assert line_of(imported).sync is None
    assert why in reasons(imported)["line listOrders: keys"]
    assert imported.lines[0].pagination["position_parameter"] == "page"


@pytest.mark.parametrize(
    ("names", "required", "key"),
    [
        (["uuid"], [], "uuid"),
        (["key", "name"], [], "key"),
        (["code"], [], "code"),
        (["code", "key"], ["code"], "code"),
        (["code", "uuid"], ["code"], "uuid"),
    ],
)
def test_a_uuid_a_key_or_a_code_alone_is_the_key(
    names: list[str], required: list[str], key: str
) -> None:
    properties = {name: {"type": "string"} for name in names}
    record = {"properties": properties, "required": required}
    assert sync_of(read(in_list(record))).keys == (key,)


# ── pages ────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ([number("page", minimum=0)], Pagination(Paging.PAGE, 100, "", "page", 0)),
        (
            [number("page", default=1, minimum=0)],
            Pagination(Paging.PAGE, 100, "", "page"),
        ),
        (
            [number("offset"), number("limit", default=20)],
            Pagination(Paging.OFFSET, 20, "limit", "offset"),
        ),
        (
            [number("$skip"), number("$top", maximum=5000)],
            Pagination(Paging.OFFSET, 100, "$top", "$skip"),
        ),
        ([{"name": "page", "in": "query"}], Pagination(Paging.PAGE, 100, "", "page")),
        ([{"name": "page", "in": "header"}], Pagination()),
        (
            [{"name": "page", "in": "query", "schema": {"type": "string"}}],
            Pagination(),
        ),
        (
            [{"name": "after", "in": "query", "schema": {"format": "date"}}],
            Pagination(),
        ),
    ],
)
def test_pages_are_those_of_the_parameters(
    parameters: list[object], expected: Pagination
) -> None:
    imported = orders(*parameters)
    assert sync_of(imported).pagination == expected


def test_parameters_of_the_path_and_references_count_too() -> None:
    schema = in_list({"$ref": "#/components/schemas/Order"})
    reference = {"$ref": "#/components/parameters/page"}
    shared = (reference, number("limit", maximum=10))
    imported = read(schema, number("limit", maximum=20), shared=shared)
    assert sync_of(imported).pagination == Pagination(Paging.PAGE, 20, "limit", "page")


def test_a_cursor_needs_its_place_in_the_response() -> None:
    cursor = {"name": "cursor", "in": "query", "schema": {"type": "string"}}
    member = {"type": "string"}
    found = sync_of(orders(cursor, PAGE, meta=in_object(next_cursor=member)))
    assert found.pagination.kind is Paging.CURSOR
    assert found.pagination.position_parameter == "cursor"
    assert found.pagination.cursor == "meta.next_cursor"
    both = orders(cursor, PAGE, next_cursor=member)
    assert changed(both)["line listOrders: pagination"].startswith("page: the")
    alone = orders(cursor)
    assert sync_of(alone).pagination == Pagination()
    assert reasons(alone)["line listOrders: pagination"].startswith("cursor: the")


def test_the_url_of_the_next_page_is_followed() -> None:
    following = {"type": ["string", "null"], "format": "uri"}
    imported = orders(number("limit", maximum=10), next=following)
    expected = Pagination(Paging.CURSOR, 10, "limit", cursor="next")
    assert sync_of(imported).pagination == expected
    without_key = read(
        in_object(next=following, data=in_list(in_object(a={}, b=CUSTOMER)))
    )
    assert line_of(without_key).sync is None
    assert reasons(without_key)["pages"].startswith("next;")


def test_a_usual_shape_that_is_not_described_is_not_assumed() -> None:
    hits = in_object(hits=in_list({"$ref": "#/components/schemas/Order"}))
    assert sync_of(read(in_object(hits=hits))).pagination == Pagination()
    more = orders(has_more={"type": "boolean"}, next={"type": "string"})
    assert sync_of(more).pagination == Pagination()


def test_several_parameters_for_one_purpose_are_reported() -> None:
    positions = orders(PAGE, number("offset"))
    assert sync_of(positions).pagination == Pagination()
    assert "(page, offset)" in reasons(positions)["line listOrders: pagination"]
    sizes = orders(PAGE, number("limit", maximum=9), number("size", maximum=9))
    assert sync_of(sizes).pagination == Pagination(Paging.PAGE, 100, "", "page")
    assert "(limit, size)" in losses(sizes)["line listOrders: pagination"]


def test_a_page_size_is_not_made_up() -> None:
    imported = orders(PAGE, number("limit"))
    assert sync_of(imported).pagination.size_parameter == ""
    assert changed(imported)["line listOrders: pagination"].startswith("limit: the")


def test_a_size_without_a_way_to_the_next_page_is_a_loss() -> None:
    imported = orders(number("limit", maximum=10))
    assert sync_of(imported).pagination == Pagination()
    assert "next page" in losses(imported)["line listOrders: pagination"]


def test_a_described_link_header_is_followed() -> None:
    schema = in_list({"$ref": "#/components/schemas/Order"})
    imported = read(schema, PAGE, number("per_page", maximum=50), links=True)
    assert sync_of(imported).pagination == Pagination(Paging.LINK, 50, "per_page")
    assert changed(imported)["line listOrders: pagination"].endswith("in Link")


def test_a_link_header_needs_no_parameter() -> None:
    imported = read(in_list({"$ref": "#/components/schemas/Order"}), links=True)
    assert sync_of(imported).pagination == Pagination(Paging.LINK)
    assert reasons(imported)["line listOrders: pagination"] == "by link"


def test_after_the_last_record_is_a_cursor_while_there_is_more() -> None:
    after = {"name": "starting_after", "in": "query", "schema": {"type": "string"}}
    imported = orders(after, has_more={"type": "boolean"})
    pagination = sync_of(imported).pagination
    assert pagination.cursor == "has_more && data[-1].id"
    assert pagination.position_parameter == "starting_after"


def test_a_member_whose_name_says_url_is_the_url_of_the_next_page() -> None:
    imported = orders(next_page_url={"type": "string"})
    assert sync_of(imported).pagination == Pagination(
        Paging.CURSOR, cursor="next_page_url"
    )


# ── changes ──────────────────────────────────────────────────────────────────────────

MOMENT = {"type": "string", "format": "date-time"}
ID = {"type": "string"}


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("modifiedAfter", "lastModified"),
        ("updated_at_min", "updated_at"),
        ("filter[updated_at][gte]", "updated_at"),
        ("changedsince", "updated_at"),
    ],
)
def test_changes_are_requested_by_the_field_that_corresponds(
    name: str, field: str
) -> None:
    parameter = {"name": name, "in": "query", "schema": MOMENT}
    fields = {field: MOMENT, "created_at": MOMENT}
    sync = sync_of(with_record(parameter, id=ID, **fields))
    assert (sync.incremental.parameter, sync.incremental.field) == (name, field)


def test_of_several_fields_the_one_with_the_word_of_the_parameter_counts() -> None:
    fields = {"updated_at": MOMENT, "modified_at": MOMENT}
    assert (
        sync_of(with_record(SINCE, id=ID, **fields)).incremental.field == "updated_at"
    )
    fields = {"changed_at": MOMENT, "modified_at": MOMENT}
    several = with_record(SINCE, id=ID, **fields)
    assert sync_of(several).incremental.field == ""
    why = reasons(several)["line listOrders: incremental"]
    assert "(changed_at, modified_at)" in why


@pytest.mark.parametrize(
    ("parameter", "fields"),
    [
        (SINCE, {"created_at": MOMENT}),
        (SINCE, {"updated_at": {"type": "string"}}),
        (SINCE, {"customer": in_object(updated_at=MOMENT)}),
        ({**SINCE, "schema": {"format": "date"}}, {"updated_at": MOMENT}),
        ({**SINCE, "schema": {"type": "string"}}, {"updated_at": MOMENT}),
    ],
)
def test_changes_without_a_field_for_them_are_reported(
    parameter: dict[str, object], fields: dict[str, object]
) -> None:
    imported = with_record(parameter, id=ID, **fields)
    assert sync_of(imported).incremental.parameter == ""
    why = reasons(imported)["line listOrders: incremental"]
    assert why.startswith(f"{parameter['name']}: the")


def test_two_parameters_of_changes_are_reported() -> None:
    other = {"name": "modified_since", "in": "query", "schema": MOMENT}
    imported = with_record(SINCE, other, id=ID, updated_at=MOMENT)
    assert sync_of(imported).incremental.parameter == ""
    assert reported(imported)["line listOrders: incremental"] == "dropped"


def test_a_filter_is_not_a_parameter_of_changes() -> None:
    filters = [
        {"name": name, "in": "query", "schema": MOMENT}
        for name in ("created_after", "updated_before", "from")
    ]
    imported = with_record(*filters, id=ID, updated_at=MOMENT)
    assert sync_of(imported).incremental.parameter == ""
    assert reported(imported)["line listOrders: incremental"] == "unstated"


@pytest.mark.parametrize(
    ("parameter", "field"),
    [
        ({**SINCE, "name": "since"}, MOMENT),
        (
            {
                "name": "updated_since",
                "in": "query",
                "description": "A timestamp in ISO 8601",
                "schema": {"type": "string"},
            },
            MOMENT,
        ),
        (number("updated_since"), {"type": "integer"}),
    ],
)
def test_since_and_times_without_a_format_request_changes_too(
    parameter: dict[str, object], field: dict[str, object]
) -> None:
    sync = sync_of(with_record(parameter, id=ID, updated_at=field))
    assert sync.incremental.field == "updated_at"


# ── lists below records ──────────────────────────────────────────────────────────────


def listing(record: object, *parameters: object) -> dict[str, Any]:
    content = {"application/json": {"schema": in_list(record)}}
    responses = {"200": {"content": content}}
    return {"get": {"parameters": parameters, "responses": responses}}


def read_paths(paths: dict[str, object]) -> Import:
    document = {
        "openapi": "3.0.3",
        "info": {"title": "Acme"},
        "servers": [{"url": "https://api.acme.example/v1"}],
        "paths": paths,
    }
    return read_import(json.dumps(document))


def sync_by_path(imported: Import) -> dict[str, Sync]:
    return {
        drafted.line.path: drafted.line.sync
        for drafted in imported.lines
        if drafted.line.sync is not None
    }


NUMBER = {"type": "integer"}
SKU = {"properties": {"sku": ID, "count": NUMBER}, "required": ["sku"]}


def test_a_list_below_another_is_requested_for_each_of_its_records() -> None:
    imported = read_paths(
        {
            "/orders/{id}/items": listing(SKU),
            "/orders": listing(in_object(id=NUMBER)),
            "/orders/{id}": {"get": {}},
        }
    )
    sync = sync_by_path(imported)["/orders/{parent.id}/items"]
    assert sync.for_each.line == "Acme orders"
    assert sync.keys == ("order_id", "sku")
    rows = [(row.api, row.host, row.transform) for row in sync.mappings]
    assert rows == [
        ("$parent.id", "order_id", Transform.NUMBER),
        ("sku", "sku", Transform.TEXT),
        ("count", "count", Transform.NUMBER),
    ]
    assert reported(imported)["line items: for_each"] == "taken"
    assert imported.configurations[0].draft.values["verification.test_path"]


def test_lists_below_lists_have_the_keys_of_all_above() -> None:
    imported = read_paths(
        {
            "/shops": listing(in_object(code=ID)),
            "/shops/{shopCode}/orders": listing(in_object(id=NUMBER)),
            "/shops/{shopCode}/orders/{order}/notes": listing(
                in_object(id=NUMBER, order=ID)
            ),
        }
    )
    path = "/shops/{parent.shop_code}/orders/{parent.id}/notes"
    sync = sync_by_path(imported)[path]
    assert sync.keys == ("shop_code", "parent_order", "id")
    assert sync.for_each.line == "Acme orders"


@pytest.mark.parametrize(
    ("word", "one"),
    [
        ("orders", "order"),
        ("companies", "company"),
        ("boxes", "box"),
        ("class", "class"),
    ],
)
def test_a_variable_may_have_the_name_of_one_record(word: str, one: str) -> None:
    imported = read_paths(
        {
            f"/{word}": listing(in_object(uuid=ID)),
            f"/{word}/{{{one}_uuid}}/parts": listing(in_object(id=NUMBER)),
        }
    )
    sync = sync_by_path(imported)[f"/{word}/{{parent.uuid}}/parts"]
    assert sync.keys == (f"{one}_uuid", "id")


@pytest.mark.parametrize(
    ("path", "item", "why"),
    [
        ("/orders/{pid}/items", "line items: for_each", "which field of the parent"),
        ("/shops/{id}/items", "line items", "needs id"),
        ("/orders/{id}/{kind}/items", "line items", "needs id, kind"),
    ],
)
def test_a_list_whose_parent_is_not_stated_is_a_loss(
    path: str, item: str, why: str
) -> None:
    imported = read_paths(
        {"/orders": listing(in_object(id=NUMBER)), path: listing(SKU)}
    )
    assert [drafted.line.path for drafted in imported.lines] == ["/orders"]
    assert why in losses(imported)[item]


def test_a_list_below_records_that_have_no_pull_is_a_loss() -> None:
    imported = read_paths(
        {
            "/orders": listing(in_object(name=ID)),
            "/orders/{id}/items": listing(SKU),
            "/orders/{id}/items/{sku}/odd": listing(in_object(name=ID)),
        }
    )
    assert "needs id" in losses(imported)["line items"]
    assert "needs id, sku" in losses(imported)["line odd"]


# ── operations that need more ────────────────────────────────────────────────────────


def required(name: str, place: str = "query", **schema: object) -> dict[str, Any]:
    return {"name": name, "in": place, "required": True, "schema": schema}


def test_a_required_parameter_with_one_value_is_sent_with_every_request() -> None:
    one = required("kind", enum=["open"])
    usual = required("site", default="main")
    assert sync_of(orders(one, usual)).query == (("kind", "open"), ("site", "main"))


def test_required_parameters_that_a_line_sends_itself_are_no_obstacle() -> None:
    page = required("page", type="integer")
    imported = orders(page, required("Authorization", "header"))
    assert sync_of(imported).pagination.kind is Paging.PAGE


@pytest.mark.parametrize("place", ["query", "header", "path"])
def test_a_list_that_needs_what_only_a_user_knows_is_reported(place: str) -> None:
    paths = {"/a": {"get": {}}, "/b": {"get": {}}}
    needed = required("shop", place)
    path = "/shops/{shop}/orders" if place == "path" else "/orders"
    schema = in_list({"$ref": "#/components/schemas/Order"})
    content = {"application/json": {"schema": schema}}
    operation = {"parameters": [needed], "responses": {"200": {"content": content}}}
    document = {
        "openapi": "3.0.3",
        "info": {"title": "Acme"},
        "servers": [{"url": "https://api.acme.example/v1"}],
        "components": {"schemas": {"Order": ORDER, "Customer": CUSTOMER}},
        "paths": {path: {"get": operation}} | paths,
    }
    imported = read_import(json.dumps(document))
    assert [drafted.line.path for drafted in imported.lines] == ["/a", "/b"]
    assert "needs shop" in losses(imported)["line orders"]
    test_path = imported.configurations[0].draft.values["verification.test_path"]
    assert test_path == "/a"


def test_all_lists_become_lines_and_ten_other_operations() -> None:
    content = {"application/json": {"schema": in_list(in_object(id=ID))}}
    listing = {"get": {"responses": {"200": {"content": content}}}}
    keyless = {"application/json": {"schema": in_list(in_object(name=ID))}}
    unkeyed = {"get": {"responses": {"200": {"content": keyless}}}}
    document = {
        "openapi": "3.0.3",
        "info": {"title": "Acme"},
        "servers": [{"url": "https://api.acme.example/v1"}],
        "paths": {f"/single{n}": {"get": {}} for n in range(12)}
        | {"/unkeyed": unkeyed}
        | {f"/list{n}": listing for n in range(60)},
    }
    imported = read_import(json.dumps(document))
    pulls = [drafted for drafted in imported.lines if drafted.line.sync is not None]
    assert (len(imported.lines), len(pulls)) == (50, 40)
    assert "only the first 50" in reasons(imported)["lines"]
    assert "no key" in losses(imported)["line unkeyed: keys"]


# ── Swagger 2, names and limits ──────────────────────────────────────────────────────


def test_a_swagger_2_document_in_yaml_describes_lines_too() -> None:
    text = """
swagger: "2.0"
info: {title: Old}
host: api.old.example
definitions:
  Thing:
    required: [id]
    properties:
      id: {type: integer}
      modified: {type: string, format: date-time}
      pin: {type: string, writeOnly: true}
paths:
  /things:
    get:
      parameters:
        - {name: page, in: query, type: integer, minimum: 0}
        - {name: per_page, in: query, type: integer, maximum: 25}
        - {name: modified_since, in: query, type: string, format: date-time}
      responses:
        200:
          schema: {type: array, items: {$ref: '#/definitions/Thing'}}
"""
    sync = sync_of(read_import(text))
    assert sync.target == "table:old_things"
    assert sync.pagination == Pagination(Paging.PAGE, 25, "per_page", "page", 0)
    assert sync.incremental.field == "modified"
    assert [row.api for row in sync.mappings] == ["id", "modified"]


def test_long_names_that_are_cut_get_tables_of_their_own() -> None:
    operation = {
        "responses": {"200": {"content": {"a/json": {"schema": in_list(ORDER)}}}}
    }
    document = {
        "openapi": "3.0.0",
        "info": {"title": "A name that is longer than the name of a table may ever be"},
        "servers": [{"url": "https://api.acme.example"}],
        "paths": {f"/{name}": {"get": operation} for name in ("a", "b", "c")},
    }
    imported = read_import(json.dumps(document))
    targets = [target_of(drafted) for drafted in imported.lines]
    assert len({*targets}) == 3
    assert targets[1].endswith("_2")


def target_of(drafted: DraftedLine) -> str:
    assert drafted.line.sync is not None
    return drafted.line.sync.target


def test_schemas_that_contain_themselves_come_to_an_end() -> None:
    reference = {"$ref": "#/components/schemas/Node"}
    node = in_object(id=ID, parent=reference, children=in_list(reference))
    assert rows_of(read(in_list(reference), Node=node)) == {
        "id": Transform.TEXT,
        "parent": Transform.AS_IS,
        "children": Transform.AS_IS,
    }
    looped = {"allOf": [reference], "properties": {"id": ID}}
    assert sync_of(read(in_list(reference), Node=looped)).keys == ("id",)


def test_a_long_chain_of_schemas_comes_to_an_end() -> None:
    chain = {
        f"S{n}": in_list({"$ref": f"#/components/schemas/S{n + 1}"})
        for n in range(3000)
    }
    assert line_of(read({"$ref": "#/components/schemas/S0"}, **chain)).sync is None


def test_a_long_chain_of_parts_comes_to_an_end() -> None:
    chain: dict[str, object] = {
        f"S{n}": {
            "allOf": [{"$ref": f"#/components/schemas/S{n + 1}"}],
            "properties": {f"p{n}": {"type": "string"}},
        }
        for n in range(30)
    }
    schema = in_object(id=ID) | {"allOf": [{"$ref": "#/components/schemas/S0"}]}
    fields = rows_of(read(in_list(schema), **chain))
    assert "p18" in fields
    assert "p20" not in fields


def test_a_schema_that_grows_with_each_level_is_cut_in_time() -> None:
    wide = {f"p{n}": {"$ref": "#/components/schemas/S1"} for n in range(40)}
    schemas: dict[str, object] = {
        f"S{n}": in_object(
            **{f"p{m}": {"$ref": f"#/components/schemas/S{n + 1}"} for m in range(40)}
        )
        for n in range(15)
    }
    many = [{"$ref": "#/components/schemas/All"}] * 30
    schemas["All"] = {"allOf": many, "properties": {"id": ID, **wide}}
    began = time.monotonic()
    imported = read(in_list({"$ref": "#/components/schemas/All"}), **schemas)
    assert time.monotonic() - began < 10
    assert "too large" in " ".join(str(item.why) for item in imported.report)


def test_a_schema_that_is_composed_of_itself_many_times_is_read_in_time() -> None:
    texts = {f"p{n}": {"type": "string"} for n in range(5000)}
    schemas: dict[str, object] = {"S0": in_object(**texts)}
    for n in range(1, 8):
        schemas[f"S{n}"] = {"allOf": [{"$ref": f"#/components/schemas/S{n - 1}"}] * 20}
    began = time.monotonic()
    imported = read(in_list({"$ref": "#/components/schemas/S7"}), **schemas)
    assert time.monotonic() - began < 5
    why = reasons(imported)["line listOrders: fields"]
    assert "only the first 500" in why
