"""OpenAPI documents in the styles of public APIs, and what an import loses of each."""

from dataclasses import dataclass, field
from typing import Any

Schema = dict[str, Any]

INT: Schema = {"type": "integer"}
TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "number"}
FLAG: Schema = {"type": "boolean"}
DAY: Schema = {"type": "string", "format": "date"}
TIME: Schema = {"type": "string", "format": "date-time"}
URL: Schema = {"type": ["string", "null"], "format": "uri"}
ORDER = "#/components/schemas/Order"


@dataclass(frozen=True)
class Case:
    """A document, the settings that are lost, and the rows that arrive by path."""

    document: dict[str, Any]
    losses: frozenset[str] = frozenset()
    rows: int = 7  # of each list; a page alone has three
    lines: int = 1
    more: dict[str, int] = field(default_factory=dict)  # rows by the end of the path


def thing(*required: str, **properties: Schema) -> Schema:
    schema: Schema = {"type": "object", "properties": properties}
    return schema | ({"required": [*required]} if required else {})


def many(schema: Schema) -> Schema:
    return {"type": "array", "items": schema}


def query(name: str, schema: Schema | None = None, **more: object) -> Schema:
    return {"name": name, "in": "query", "schema": schema or TEXT} | more


def size(name: str, most: int = 100) -> Schema:
    return query(name, INT | {"maximum": most, "default": 20})


RECORD = thing("id", id=INT, name=TEXT, total=NUMBER, paid=FLAG, updated_at=TIME)
REFERENCE = {"$ref": ORDER}


def get(schema: Schema, *parameters: Schema, **response: object) -> Schema:
    content = {"application/json": {"schema": schema}}
    ok = {"description": "fine", "content": content} | response
    return {"get": {"parameters": parameters, "responses": {"200": ok}}}


def document(paths: dict[str, Schema], **more: Any) -> dict[str, Any]:  # noqa: ANN401
    return {
        "openapi": "3.1.0",
        "info": {"title": "Acme", "version": "1"},
        "servers": [{"url": "https://api.acme.example/v1"}],
        "components": {"schemas": {"Order": RECORD}},
        "paths": paths,
    } | more


def orders(schema: Schema, *parameters: Schema, **response: object) -> dict[str, Any]:
    return document({"/orders": get(schema, *parameters, **response)})


def listed(*parameters: Schema, **record: Schema) -> dict[str, Any]:
    return orders(many(thing(**({"id": INT} | record))), *parameters)


def beside(
    *parameters: Schema, data: str = "data", **members: Schema
) -> dict[str, Any]:
    return orders(thing(**{data: many(REFERENCE)}, **members), *parameters)


PAGE = query("page", INT)
LINKS = {"Link": {"schema": TEXT}}
ROOT = many(REFERENCE)
PAGES = {
    "page and per_page": Case(orders(ROOT, PAGE, size("per_page"))),
    "Link header": Case(orders(ROOT, PAGE, size("per_page"), headers=LINKS)),
    "page from zero": Case(
        beside(
            query("page", INT | {"default": 0}), size("size"), data="content", last=FLAG
        )
    ),
    "offset and limit": Case(beside(query("offset", INT), size("limit"), total=INT)),
    "startAt and maxResults": Case(
        beside(
            query("startAt", INT),
            size("maxResults"),
            data="orders",
            startAt=INT,
            total=INT,
        )
    ),
    "$skip and $top": Case(beside(query("$skip", INT), size("$top"), data="value")),
    "a link of OData": Case(
        beside(size("$top"), data="value", **{"@odata.nextLink": TEXT})
    ),
    "next of Django": Case(
        beside(query("offset", INT), size("limit"), data="results", count=INT, next=URL)
    ),
    "page and next": Case(beside(PAGE, data="results", next=URL, previous=URL)),
    "after the last record": Case(
        beside(query("starting_after"), size("limit"), has_more=FLAG, object=TEXT)
    ),
    "cursor in metadata": Case(
        beside(
            query("cursor"), size("limit"), response_metadata=thing(next_cursor=TEXT)
        )
    ),
    "page tokens": Case(
        beside(query("pageToken"), size("pageSize"), data="orders", nextPageToken=TEXT)
    ),
    "next token in meta": Case(
        beside(
            query("next_token"),
            size("max_results"),
            meta=thing(next_token=TEXT, result_count=INT),
        )
    ),
    "after in paging": Case(
        beside(
            query("after"),
            size("limit"),
            data="results",
            paging=thing(next=thing(after=TEXT)),
        )
    ),
    "cursor and more": Case(
        beside(
            query("start_cursor"),
            size("page_size"),
            data="results",
            next_cursor={"type": ["string", "null"]},
            has_more=FLAG,
        )
    ),
    "page of JSON API": Case(
        orders(
            thing(
                data=many(thing("id", id=TEXT, attributes=thing(name=TEXT, at=TIME))),
                links=thing(self=TEXT, next=URL),
            ),
            query("page[number]", INT),
            size("page[size]"),
        )
    ),
    "links of HAL": Case(
        orders(
            thing(
                _embedded=thing(orders=many(REFERENCE)),
                _links=thing(next=thing(href=TEXT)),
            ),
            PAGE,
        )
    ),
    "a URL by its name": Case(beside(PAGE, next_page_url=TEXT, total=INT)),
    "no pages": Case(orders(ROOT)),
    "a required page": Case(orders(ROOT, query("page", INT, required=True))),
    "a size without a maximum": Case(orders(ROOT, PAGE, query("per_page", INT))),
    "a size alone": Case(orders(ROOT, size("limit")), frozenset({"pagination"}), 3),
    "two ways": Case(
        orders(ROOT, PAGE, query("offset", INT)), frozenset({"pagination"}), 3
    ),
    "a cursor from nowhere": Case(
        orders(ROOT, query("cursor")), frozenset({"pagination"}), 3
    ),
}
CHANGES = {
    "updated_since": Case(listed(query("updated_since", TIME), updated_at=TIME)),
    "modified after in words": Case(
        listed(query("modifiedAfter", description="ISO 8601"), modifiedAt=TIME)
    ),
    "filter with an operator": Case(
        listed(query("filter[updated_at][gte]", TIME), updated_at=TIME)
    ),
    "Unix times": Case(listed(query("updated_after", INT), updated=INT)),
    "since": Case(listed(query("since", TIME), lastModified=TIME)),
    "since and pages": Case(
        orders(ROOT, PAGE, size("limit"), query("updated_at_min", TIME))
    ),
    "since what": Case(
        listed(query("updated_since", TIME), created=TIME), frozenset({"incremental"})
    ),
    "two parameters": Case(
        listed(
            query("updated_since", TIME), query("changed_since", TIME), updated_at=TIME
        ),
        frozenset({"incremental"}),
    ),
}
KEYS = {
    "uuid": Case(orders(many(thing(uuid=TEXT, name=TEXT)))),
    "key": Case(orders(many(thing("key", "name", key=TEXT, name=TEXT)))),
    "code": Case(orders(many(thing(code=TEXT, name=TEXT)))),
    "uid": Case(orders(many(thing(uid=TEXT, name=TEXT)))),
    "order_id": Case(
        orders(many(thing("order_id", order_id=INT, customer_id=INT, name=TEXT)))
    ),
    "no key": Case(
        orders(many(thing(name=TEXT, total=NUMBER))), frozenset({"keys"}), lines=0
    ),
    "two keys": Case(
        orders(many(thing(uuid=TEXT, guid=TEXT))), frozenset({"keys"}), lines=0
    ),
}
BASE = thing("id", id=INT, created=TIME)
TYPES = {
    "parts of a schema": Case(
        document(
            {"/orders": get(many(REFERENCE))},
            components={
                "schemas": {
                    "Base": BASE,
                    "Order": {
                        "allOf": [
                            {"$ref": "#/components/schemas/Base"},
                            thing(name=TEXT, total=NUMBER),
                        ]
                    },
                }
            },
        )
    ),
    "one of several": Case(
        orders(
            many(
                {
                    "oneOf": [
                        thing("id", id=INT, lives=INT),
                        thing("id", id=INT, tricks=many(TEXT)),
                    ]
                }
            )
        )
    ),
    "nullable": Case(
        listed(
            name={"type": ["string", "null"]},
            at={"anyOf": [TIME, {"type": "null"}]},
            old={"type": "string", "nullable": True},
        )
    ),
    "a schema of itself": Case(
        document(
            {"/orders": get(many(REFERENCE))},
            components={
                "schemas": {
                    "Order": thing(
                        "id", id=INT, parent=REFERENCE, parts=many(REFERENCE)
                    )
                }
            },
        )
    ),
    "numbers as texts": Case(listed(total={"type": "string", "format": "decimal"})),
    "lists and objects": Case(
        listed(
            tags=many(TEXT),
            lines=many(thing(sku=TEXT, count=INT)),
            ship_to=thing(city=TEXT, country=thing(code=TEXT)),
            extra={"type": "object", "additionalProperties": TEXT},
        )
    ),
    "secrets": Case(
        listed(
            pin=TEXT | {"writeOnly": True},
            password=TEXT | {"format": "password"},
            name=TEXT,
        )
    ),
    "days": Case(listed(born=DAY, link=TEXT | {"format": "uri"}, size=NUMBER)),
    "one value": Case(
        listed(query("kind", TEXT | {"enum": ["open"]}, required=True), name=TEXT)
    ),
    "Swagger 2": Case(
        {
            "swagger": "2.0",
            "info": {"title": "Acme"},
            "host": "api.acme.example",
            "definitions": {"Order": RECORD},
            "paths": {
                "/orders": {
                    "get": {
                        "parameters": [
                            {"name": "page", "in": "query", "type": "integer"},
                            {
                                "name": "limit",
                                "in": "query",
                                "type": "integer",
                                "maximum": 50,
                            },
                        ],
                        "responses": {
                            "200": {
                                "schema": thing(
                                    orders=many({"$ref": "#/definitions/Order"})
                                )
                            }
                        },
                    }
                }
            },
        }
    ),
    "references of parameters": Case(
        document(
            {
                "/orders": get(
                    ROOT,
                    {"$ref": "#/components/parameters/page"},
                    {"$ref": "#/components/parameters/size"},
                )
            },
            components={
                "schemas": {"Order": RECORD},
                "parameters": {"page": PAGE, "size": size("per_page")},
            },
        )
    ),
    "other lists": Case(
        beside(PAGE, included=many(thing(id=INT)), sort=thing(by=many(thing(id=INT))))
    ),
    "a parameter of the user": Case(
        listed(query("shop", required=True)), frozenset({"line"}), lines=0
    ),
}
ITEM = thing("sku", sku=TEXT, count=INT)
PARENTS = {
    "items of orders": Case(
        document(
            {"/orders": get(ROOT, PAGE), "/orders/{id}/items": get(many(ITEM), PAGE)}
        ),
        lines=2,
        more={"items": 49},
    ),
    "addresses of customers": Case(
        document(
            {
                "/customers": get(thing(customers=many(thing("uuid", uuid=TEXT)))),
                "/customers/{customer_uuid}/addresses": get(many(thing(id=INT))),
            }
        ),
        lines=2,
        more={"addresses": 49},
    ),
    "issues of projects": Case(
        document(
            {
                "/projects": get(many(thing("key", key=TEXT, name=TEXT))),
                "/projects/{projectKey}/issues": get(many(thing("id", id=INT))),
            }
        ),
        lines=2,
        more={"issues": 49},
    ),
    "three levels": Case(
        document(
            {
                "/shops": get(many(thing(code=TEXT))),
                "/shops/{code}/orders": get(many(thing(id=INT))),
                "/shops/{code}/orders/{id}/lines": get(many(ITEM)),
            }
        ),
        lines=3,
        more={"orders": 49, "lines": 343},
    ),
    "a list of an unknown parent": Case(
        document({"/shops/{shop}/orders": get(ROOT)}), frozenset({"line"}), lines=0
    ),
}
CASES = PAGES | CHANGES | KEYS | TYPES | PARENTS
