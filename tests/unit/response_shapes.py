"""Responses shaped like those of well-known APIs and servers; the values are made up.

Each with what a line must get: records, pages, keys, and the notable transforms.
"""

from dataclasses import dataclass, field
from typing import Any

ORIGIN = "https://api.example.com"
Pages = dict[str, object]
Transforms = dict[str, tuple[str, dict[str, str]]]


@dataclass(frozen=True)
class Shape:
    """A response, and what must be suggested for it."""

    path: str
    document: Any
    records: str
    pages: Pages
    keys: list[str]
    transforms: Transforms = field(default_factory=dict)
    headers: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()  # parts of them


def plain(transform: str, **options: str) -> tuple[str, dict[str, str]]:
    return transform, options


NO_PAGES: Pages = {"kind": "none"}


def cursor(expression: str, parameter: str = "", **more: object) -> Pages:
    pages: Pages = {"kind": "cursor", "cursor": expression}
    if parameter:
        pages["position_parameter"] = parameter
    return pages | more


SHAPES: dict[str, Shape] = {
    "GitHub": Shape(
        "/user/repos",
        [
            {
                "id": 71001,
                "node_id": "R_aa1",
                "name": "pump",
                "private": False,
                "owner": {"login": "ada", "id": 5},
                "stargazers_count": 3,
                "pushed_at": "2026-03-01T10:00:00Z",
                "updated_at": "2026-03-02T10:00:00Z",
                "topics": ["water"],
                "license": None,
            },
            {
                "id": 71002,
                "node_id": "R_aa2",
                "name": "valve",
                "private": True,
                "owner": {"login": "ada", "id": 5},
                "stargazers_count": 0,
                "pushed_at": "2026-03-04T10:00:00Z",
                "updated_at": "2026-03-05T10:00:00Z",
                "topics": [],
                "license": {"key": "mit", "name": "MIT"},
            },
        ],
        "@",
        {"kind": "link", "size": 30, "size_parameter": "per_page"},
        ["id"],
        {
            "id": plain("number"),
            "private": plain("boolean"),
            "owner.login": plain("text"),
            "license.key": plain("text"),
            "pushed_at": plain("datetime"),
        },
        headers=(("Link", f'<{ORIGIN}/user/repos?per_page=30&page=2>; rel="next"'),),
        notes=("children of the record: topics", "updated_at has the time of"),
    ),
    "GitLab without a Link header": Shape(
        "/api/v4/projects",
        [
            {"id": 1, "path_with_namespace": "a/b", "archived": False},
            {"id": 2, "path_with_namespace": "a/c", "archived": True},
        ],
        "@",
        {
            "kind": "page",
            "size": 20,
            "size_parameter": "per_page",
            "position_parameter": "page",
        },
        ["id"],
        {"archived": plain("boolean")},
        headers=(("X-Page", "1"), ("X-Per-Page", "20"), ("X-Next-Page", "2")),
    ),
    "Stripe": Shape(
        "/v1/charges",
        {
            "object": "list",
            "url": "/v1/charges",
            "has_more": True,
            "data": [
                {
                    "id": "ch_1",
                    "object": "charge",
                    "amount": 1250,
                    "currency": "eur",
                    "created": 1767225600,
                    "paid": True,
                    "billing_details": {"address": {"city": "Kiel"}},
                },
                {
                    "id": "ch_2",
                    "object": "charge",
                    "amount": 99,
                    "currency": "eur",
                    "created": 1767312000,
                    "paid": False,
                    "billing_details": {"address": {"city": None}},
                },
            ],
        },
        "data",
        cursor("has_more && data[-1].id", "starting_after"),
        ["id"],
        {
            "created": plain("datetime", format="unix"),
            "amount": plain("decimal"),
            "billing_details.address.city": plain("text"),
        },
    ),
    "Shopify": Shape(
        "/admin/api/2026-01/orders.json",
        {
            "orders": [
                {
                    "id": 4501,
                    "admin_graphql_api_id": "gid://shop/Order/4501",
                    "total_price": "199.00",
                    "created_at": "2026-01-09T11:00:00+01:00",
                    "taxes_included": True,
                    "customer": {"id": 7, "email": "a@example.com"},
                    "line_items": [{"sku": "A", "quantity": 1}],
                },
                {
                    "id": 4502,
                    "admin_graphql_api_id": "gid://shop/Order/4502",
                    "total_price": "12.50",
                    "created_at": "2026-01-10T11:00:00+01:00",
                    "taxes_included": False,
                    "customer": None,
                    "line_items": [],
                },
            ]
        },
        "orders",
        {"kind": "link", "size": 50, "size_parameter": "limit"},
        ["id"],
        {
            "total_price": plain("decimal"),
            "created_at": plain("datetime"),
            "customer.id": plain("number"),
        },
        headers=(
            (
                "Link",
                f'<{ORIGIN}/orders.json?limit=50&page_info=eyJ>; rel="next"',
            ),
        ),
        notes=("children of the record: line_items",),
    ),
    "WooCommerce on its only page": Shape(
        "/wp-json/wc/v3/products",
        [
            {
                "id": 11,
                "sku": "0042",
                "price": "9.90",
                "date_created": "2026-02-01T08:00:00",
                "date_created_gmt": "2026-02-01T07:00:00",
                "on_sale": False,
                "meta_data": [{"key": "x", "value": "y"}],
                "_links": {"self": [{"href": f"{ORIGIN}/11"}]},
            },
            {
                "id": 12,
                "sku": "0043",
                "price": "",
                "date_created": "2026-02-02T08:00:00",
                "date_created_gmt": "2026-02-02T07:00:00",
                "on_sale": True,
                "meta_data": [],
                "_links": {"self": [{"href": f"{ORIGIN}/12"}]},
            },
        ],
        "@",
        {
            "kind": "page",
            "size": 2,
            "size_parameter": "per_page",
            "position_parameter": "page",
        },
        ["id"],
        {
            "sku": plain("text"),
            "price": plain("decimal"),
            "date_created": plain("datetime"),
        },
        headers=(("X-WP-Total", "2"), ("X-WP-TotalPages", "1")),
    ),
    "HubSpot": Shape(
        "/crm/v3/objects/contacts",
        {
            "results": [
                {
                    "id": "501",
                    "properties": {
                        "email": "a@example.com",
                        "hs_object_id": "501",
                        "lastmodifieddate": "2026-02-01T08:00:00.000Z",
                    },
                    "createdAt": "2026-01-01T08:00:00.000Z",
                    "archived": False,
                },
                {
                    "id": "502",
                    "properties": {
                        "email": None,
                        "hs_object_id": "502",
                        "lastmodifieddate": "2026-02-02T08:00:00.000Z",
                    },
                    "createdAt": "2026-01-02T08:00:00.000Z",
                    "archived": False,
                },
            ],
            "paging": {
                "next": {
                    "after": "502",
                    "link": f"{ORIGIN}/crm/v3/objects/contacts?after=502",
                }
            },
        },
        "results",
        cursor("paging.next.link"),
        ["id"],
        {
            "id": plain("text"),
            "createdAt": plain("datetime"),
            "properties.email": plain("text"),
        },
    ),
    "HubSpot behind another host": Shape(
        "/crm/v3/objects/contacts",
        {
            "results": [{"id": "501"}, {"id": "502"}],
            "paging": {
                "next": {
                    "after": "502",
                    "link": "https://other.example.com/crm?after=502",
                }
            },
        },
        "results",
        cursor("paging.next.after", "after"),
        ["id"],
    ),
    "Salesforce": Shape(
        "/services/data/v60.0/query?q=SELECT+Id",
        {
            "totalSize": 4000,
            "done": False,
            "nextRecordsUrl": "/services/data/v60.0/query/01gX-2000",
            "records": [
                {
                    "attributes": {"type": "Account", "url": "/sobjects/Account/001A"},
                    "Id": "001A",
                    "Name": "Pumps",
                    "AnnualRevenue": 1200.5,
                    "CreatedDate": "2026-01-05T10:00:00.000+0000",
                },
                {
                    "attributes": {"type": "Account", "url": "/sobjects/Account/001B"},
                    "Id": "001B",
                    "Name": "Valves",
                    "AnnualRevenue": None,
                    "CreatedDate": "2026-01-06T10:00:00.000+0000",
                },
            ],
        },
        "records",
        cursor("nextRecordsUrl"),
        ["id"],
        {
            "CreatedDate": plain("datetime"),
            "AnnualRevenue": plain("decimal"),
            "attributes.type": plain("text"),
        },
    ),
    "Salesforce, all on one page": Shape(
        "/services/data/v60.0/query",
        {"totalSize": 1, "done": True, "records": [{"Id": "001A", "Name": "Pumps"}]},
        "records",
        cursor("nextRecordsUrl"),
        ["id"],
    ),
    "Business Central (OData 4)": Shape(
        "/v2.0/companies(1)/customers",
        {
            "@odata.context": f"{ORIGIN}/$metadata#customers",
            "value": [
                {
                    "@odata.etag": 'W/"a"',
                    "id": "3f1c0e6e-0000-4000-8000-000000000001",
                    "number": "D10000",
                    "displayName": "Stadtwerke",
                    "balanceDue": 12,
                    "blocked": " ",
                    "lastModifiedDateTime": "2026-01-05T10:00:00.003Z",
                },
                {
                    "@odata.etag": 'W/"b"',
                    "id": "3f1c0e6e-0000-4000-8000-000000000002",
                    "number": "D20000",
                    "displayName": "Werft",
                    "balanceDue": 7.25,
                    "blocked": " ",
                    "lastModifiedDateTime": "2026-01-06T10:00:00.007Z",
                },
            ],
            "@odata.nextLink": f"{ORIGIN}/v2.0/companies(1)/customers?$skiptoken=2",
        },
        "value",
        cursor('"@odata.nextLink"'),
        ["id"],
        {
            "balanceDue": plain("decimal"),
            "lastModifiedDateTime": plain("datetime"),
            "number": plain("text"),
        },
        notes=("lastModifiedDateTime has the time of",),
    ),
    "OData 4 without a next link": Shape(
        "/odata/items",
        {"@odata.context": "$metadata#items", "value": [{"ItemID": 1}, {"ItemID": 2}]},
        "value",
        cursor('"@odata.nextLink"'),
        ["item_id"],
    ),
    "SAP Gateway (OData 2)": Shape(
        "/sap/opu/odata/sap/SALES/Orders",
        {
            "d": {
                "results": [
                    {
                        "__metadata": {"uri": "x", "type": "Order"},
                        "OrderID": "0000012",
                        "NetAmount": "120.00",
                        "CreatedAt": "/Date(1767225600000)/",
                    },
                    {
                        "__metadata": {"uri": "y", "type": "Order"},
                        "OrderID": "0000013",
                        "NetAmount": "80.50",
                        "CreatedAt": "/Date(1767312000000)/",
                    },
                ]
            }
        },
        "d.results",
        cursor("d.__next"),
        ["order_id"],
        {
            "OrderID": plain("text"),
            "NetAmount": plain("decimal"),
            "CreatedAt": plain("text"),
        },
    ),
    "JSON:API": Shape(
        "/articles",
        {
            "jsonapi": {"version": "1.1"},
            "links": {
                "self": f"{ORIGIN}/articles?page[size]=25",
                "next": f"{ORIGIN}/articles?page[number]=2&page[size]=25",
            },
            "data": [
                {
                    "type": "articles",
                    "id": "1",
                    "attributes": {"title": "Pumps", "published-on": "2026-01-05"},
                    "relationships": {
                        "author": {"data": {"type": "people", "id": "9"}}
                    },
                    "links": {"self": f"{ORIGIN}/articles/1"},
                },
                {
                    "type": "articles",
                    "id": "2",
                    "attributes": {"title": "Valves", "published-on": "2026-01-06"},
                    "relationships": {"author": {"data": None}},
                    "links": {"self": f"{ORIGIN}/articles/2"},
                },
            ],
            "included": [{"type": "people", "id": "9", "attributes": {"name": "A"}}],
        },
        "data",
        cursor("links.next", size=25, size_parameter="page[size]"),
        ["id"],
        {
            "attributes.title": plain("text"),
            'attributes."published-on"': plain("date"),
            "relationships.author.data.id": plain("text"),
        },
    ),
    "HAL": Shape(
        "/orders",
        {
            "_links": {"self": {"href": "/orders"}, "next": {"href": "/orders?page=2"}},
            "currentlyProcessing": 14,
            "_embedded": {
                "ea:orders": [
                    {
                        "_links": {"self": {"href": "/orders/123"}},
                        "id": 123,
                        "total": 30,
                    },
                    {
                        "_links": {"self": {"href": "/orders/124"}},
                        "id": 124,
                        "total": 2.5,
                    },
                ]
            },
        },
        '_embedded."ea:orders"',
        cursor("_links.next.href"),
        ["id"],
        {"total": plain("decimal")},
    ),
    "Spring Data": Shape(
        "/api/people",
        {
            "content": [{"id": 1, "active": 1}, {"id": 2, "active": 0}],
            "number": 0,
            "size": 2,
            "totalElements": 40,
            "totalPages": 20,
            "last": False,
        },
        "content",
        {
            "kind": "page",
            "size": 2,
            "size_parameter": "size",
            "position_parameter": "page",
            "first": 0,
        },
        ["id"],
        {"active": plain("boolean")},
    ),
    "Notion": Shape(
        "/v1/users",
        {
            "object": "list",
            "results": [
                {
                    "object": "user",
                    "id": "u-1",
                    "last_edited_time": "2026-01-05T10:00:00Z",
                },
                {
                    "object": "user",
                    "id": "u-2",
                    "last_edited_time": "2026-01-05T10:00:00Z",
                },
            ],
            "next_cursor": "33e19cb9",
            "has_more": True,
            "type": "user",
            "user": {},
        },
        "results",
        cursor("has_more && next_cursor", "start_cursor"),
        ["id"],
        notes=("last_edited_time has the time of",),
    ),
    "Airtable": Shape(
        "/v0/app1/Parts",
        {
            "records": [
                {
                    "id": "rec1",
                    "createdTime": "2026-01-05T10:00:00.000Z",
                    "fields": {"Name": "Pump", "Unit Price": 12.5, "In stock?": True},
                },
                {
                    "id": "rec2",
                    "createdTime": "2026-01-06T10:00:00.000Z",
                    "fields": {"Name": "Valve", "Unit Price": 3},
                },
            ],
            "offset": "itr1/rec2",
        },
        "records",
        cursor("offset", "offset"),
        ["id"],
        {
            'fields."Unit Price"': plain("decimal"),
            'fields."In stock?"': plain("boolean"),
        },
    ),
    "Zendesk": Shape(
        "/api/v2/tickets.json?page[size]=2",
        {
            "tickets": [
                {"id": 35, "subject": "Help", "due_at": None, "is_public": True},
                {"id": 36, "subject": "Leak", "due_at": None, "is_public": True},
            ],
            "meta": {"has_more": True, "after_cursor": "xxx", "before_cursor": "yyy"},
            "links": {
                "prev": f"{ORIGIN}/api/v2/tickets.json?page[before]=yyy&page[size]=2",
                "next": f"{ORIGIN}/api/v2/tickets.json?page[after]=xxx&page[size]=2",
            },
        },
        "tickets",
        cursor("meta.has_more && links.next", size=2, size_parameter="page[size]"),
        ["id"],
        {"is_public": plain("boolean")},
        notes=("null or of several kinds: due_at",),
    ),
    "Elasticsearch": Shape(
        "/parts/_search",
        {
            "took": 3,
            "timed_out": False,
            "_shards": {"total": 1, "successful": 1},
            "hits": {
                "total": {"value": 300, "relation": "eq"},
                "max_score": 1.0,
                "hits": [
                    {
                        "_index": "parts",
                        "_id": "a1",
                        "_score": 1.0,
                        "_source": {"name": "Pump", "stock": 4},
                    },
                    {
                        "_index": "parts",
                        "_id": "a2",
                        "_score": 1.0,
                        "_source": {"name": "Valve", "stock": 0},
                    },
                ],
            },
        },
        "hits.hits",
        {
            "kind": "offset",
            "size": 2,
            "size_parameter": "size",
            "position_parameter": "from",
        },
        ["id"],
        {"_source.stock": plain("number")},
    ),
    "Solr": Shape(
        "/solr/parts/select",
        {
            "responseHeader": {"status": 0, "QTime": 1, "params": {"q": "*:*"}},
            "response": {
                "numFound": 300,
                "start": 0,
                "docs": [{"id": "P1", "price": 9.5}, {"id": "P2", "price": 1}],
            },
        },
        "response.docs",
        {"kind": "offset", "size": 2, "position_parameter": "start"},
        ["id"],
        {"price": plain("decimal")},
    ),
    "Jira": Shape(
        "/rest/api/2/search",
        {
            "expand": "schema,names",
            "startAt": 0,
            "maxResults": 50,
            "total": 120,
            "issues": [
                {
                    "id": "10001",
                    "key": "PUMP-1",
                    "fields": {
                        "created": "2026-01-05T10:00:00.000+0100",
                        "duedate": "2026-02-01",
                        "status": {"name": "Open", "id": "1"},
                    },
                },
                {
                    "id": "10002",
                    "key": "PUMP-2",
                    "fields": {
                        "created": "2026-01-06T10:00:00.000+0100",
                        "duedate": None,
                        "status": {"name": "Done", "id": "2"},
                    },
                },
            ],
        },
        "issues",
        {
            "kind": "offset",
            "size": 50,
            "size_parameter": "maxResults",
            "position_parameter": "startAt",
        },
        ["id"],
        {
            "fields.created": plain("datetime"),
            "fields.duedate": plain("date"),
            "fields.status.name": plain("text"),
        },
    ),
    "Xero": Shape(
        "/api.xro/2.0/Invoices?page=1",
        {
            "Id": "0e6f-77",
            "Status": "OK",
            "ProviderName": "Our books",
            "DateTimeUTC": "/Date(1767225600000)/",
            "pagination": {
                "page": 1,
                "pageSize": 100,
                "pageCount": 3,
                "itemCount": 250,
            },
            "Invoices": [
                {
                    "InvoiceID": "243216c5",
                    "InvoiceNumber": "OIT-1",
                    "Total": 40.0,
                    "Date": "/Date(1767225600000+0000)/",
                    "DateString": "2026-01-01T00:00:00",
                },
                {
                    "InvoiceID": "243216c6",
                    "InvoiceNumber": "OIT-2",
                    "Total": 41,
                    "Date": "/Date(1767312000000+0000)/",
                    "DateString": "2026-01-02T00:00:00",
                },
            ],
        },
        "Invoices",
        {"kind": "page", "size": 2, "position_parameter": "page"},
        ["invoice_id"],
        {
            "Date": plain("text"),
            "DateString": plain("datetime"),
            "Total": plain("decimal"),
        },
    ),
    "Xero without a page": Shape(
        "/api.xro/2.0/Contacts",
        {
            "pagination": {"page": 1, "pageSize": 100, "pageCount": 1, "itemCount": 1},
            "Contacts": [{"ContactID": "c1", "Name": "A"}],
        },
        "Contacts",
        {
            "kind": "page",
            "size_parameter": "pageSize",
            "position_parameter": "page",
        },
        ["contact_id"],
    ),
    "German bookkeeping": Shape(
        "/buchungen",
        {
            "buchungen": [
                {
                    "Belegnummer": "0017",
                    "Belegdatum": "31.12.2026",
                    "Umsatz (ohne Soll/Haben)": "1.234,50",
                    "Konto": "1400",
                    "Festschreibung": "ja",
                    "Größe": 3,
                },
                {
                    "Belegnummer": "0018",
                    "Belegdatum": "02.01.2027",
                    "Umsatz (ohne Soll/Haben)": "-80,00",
                    "Konto": "8400",
                    "Festschreibung": "nein",
                    "Größe": 4,
                },
            ]
        },
        "buchungen",
        NO_PAGES,
        ["belegnummer"],
        {
            "Belegdatum": plain("date", format="%d.%m.%Y"),
            '"Umsatz (ohne Soll/Haben)"': plain("decimal", decimal_mark=","),
            "Konto": plain("text"),
            "Belegnummer": plain("text"),
            "Festschreibung": plain("choice", ja="yes", nein="no"),
            '"Größe"': plain("number"),
        },
    ),
    "Directus": Shape(
        "/items/parts?limit=2&meta=total_count",
        {
            "data": [
                {
                    "id": 1,
                    "status": "published",
                    "date_updated": "2026-01-05T10:00:00Z",
                },
                {"id": 2, "status": "draft", "date_updated": None},
            ],
            "meta": {"total_count": 40},
        },
        "data",
        {"kind": "page", "size": 2, "position_parameter": "page"},
        ["id"],
        {"date_updated": plain("datetime")},
    ),
    "datasette": Shape(
        "/crm/contacts.json",
        {
            "ok": True,
            "database": "crm",
            "table": "contacts",
            "rows": [["C-1", "Zoë", 0.1], ["C-2", "Ada", 2]],
            "columns": ["id", "full name", "credit"],
            "primary_keys": ["id"],
            "filtered_table_rows_count": 160,
            "next": "C-2",
            "next_url": f"{ORIGIN}/crm/contacts.json?_next=C-2&_size=2",
        },
        'rows[*].{id: [0], "full name": [1], credit: [2]}',
        cursor("next_url", size=2, size_parameter="_size"),
        ["id"],
        {'"full name"': plain("text"), "credit": plain("decimal")},
    ),
    "datasette with objects": Shape(
        "/crm/contacts.json?_shape=objects",
        {
            "ok": True,
            "next": None,
            "next_url": None,
            "rows": [{"id": "C-1", "born": "1971-02-03"}],
            "truncated": False,
        },
        "rows",
        cursor("next_url"),
        ["id"],
        {"born": plain("date")},
    ),
    "docker-registry": Shape(
        "/v2/_catalog?n=2",
        {"repositories": ["parts/001", "parts/002"]},
        "repositories[*].{value: @}",
        {"kind": "link"},
        ["value"],
        {"value": plain("text")},
        headers=(("Link", '</v2/_catalog?last=parts%2F002&n=2>; rel="next"'),),
    ),
    "json-server": Shape(
        "/contacts?_page=1&_limit=2",
        [{"id": "1", "name": "A"}, {"id": "2", "name": "B"}],
        "@",
        {"kind": "link", "size": 2, "size_parameter": "_limit"},
        ["id"],
        headers=(
            ("X-Total-Count", "160"),
            ("Link", f'<{ORIGIN}/contacts?_page=2&_limit=2>; rel="next"'),
        ),
    ),
    "json-server by offset": Shape(
        "/contacts?_start=0&_limit=2",
        [{"id": "1", "name": "A"}, {"id": "2", "name": "B"}],
        "@",
        {
            "kind": "offset",
            "size": 2,
            "size_parameter": "_limit",
            "position_parameter": "_start",
        },
        ["id"],
        headers=(("X-Total-Count", "160"),),
    ),
    "httpbin": Shape(
        "/json",
        {
            "slideshow": {
                "author": "A",
                "date": "date of publication",
                "title": "Samples",
                "slides": [
                    {"title": "One", "type": "all"},
                    {"title": "Two", "type": "b"},
                ],
            }
        },
        "slideshow.slides",
        NO_PAGES,
        [],
    ),
    "Django REST framework": Shape(
        "/api/people/",
        {
            "count": 3,
            "next": f"{ORIGIN}/api/people/?page=2",
            "previous": None,
            "results": [
                {"url": f"{ORIGIN}/api/people/1/", "id": 1, "balance": "10.00"},
                {"url": f"{ORIGIN}/api/people/2/", "id": 2, "balance": "-3.50"},
            ],
        },
        "results",
        cursor("next"),
        ["id"],
        {"balance": plain("decimal")},
    ),
    "Django REST framework, https seen as http": Shape(
        "/api/people/",
        {
            "count": 3,
            "next": "http://api.example.com/api/people/?limit=2&offset=2",
            "previous": None,
            "results": [{"id": 1}, {"id": 2}],
        },
        "results",
        {
            "kind": "offset",
            "size": 2,
            "size_parameter": "limit",
            "position_parameter": "offset",
        },
        ["id"],
    ),
    "WordPress": Shape(
        "/wp-json/wp/v2/posts",
        [
            {"id": 7, "slug": "a", "title": {"rendered": "A"}, "tags": [1, 2]},
            {"id": 8, "slug": "b", "title": {"rendered": "B"}, "tags": []},
        ],
        "@",
        {"kind": "link"},
        ["id"],
        {"title.rendered": plain("text")},
        headers=(
            ("X-WP-Total", "40"),
            ("X-WP-TotalPages", "20"),
            ("Link", f'<{ORIGIN}/wp-json/wp/v2/posts?page=2>; rel="next"'),
        ),
    ),
    "Laravel": Shape(
        "/api/parts",
        {
            "current_page": 1,
            "data": [{"id": 1}, {"id": 2}],
            "first_page_url": f"{ORIGIN}/api/parts?page=1",
            "last_page": 5,
            "next_page_url": f"{ORIGIN}/api/parts?page=2",
            "per_page": 2,
            "total": 10,
        },
        "data",
        cursor("next_page_url"),
        ["id"],
    ),
    "Kaminari": Shape(
        "/v1/parts",
        {
            "parts": [{"code": "A"}, {"code": "B"}],
            "meta": {"current_page": 1, "next_page": 2, "total_pages": 9},
        },
        "parts",
        cursor("meta.next_page", "page"),
        ["code"],
    ),
    "Google": Shape(
        "/calendar/v3/calendars/x/events",
        {
            "kind": "calendar#events",
            "nextPageToken": "CjkKK",
            "items": [
                {"id": "e1", "start": {"dateTime": "2026-01-05T10:00:00+01:00"}},
                {"id": "e2", "start": {"dateTime": "2026-01-06T10:00:00+01:00"}},
            ],
        },
        "items",
        cursor("nextPageToken", "pageToken"),
        ["id"],
        {"start.dateTime": plain("datetime")},
    ),
    "Slack": Shape(
        "/api/users.list",
        {
            "ok": True,
            "members": [
                {"id": "U1", "deleted": False, "updated": 1767225600},
                {"id": "U2", "deleted": True, "updated": 1767312000},
            ],
            "cache_ts": 1767312000,
            "response_metadata": {"next_cursor": "dXNlcjpV"},
        },
        "members",
        cursor("response_metadata.next_cursor", "cursor"),
        ["id"],
        {"updated": plain("datetime", format="unix")},
    ),
    "GraphQL": Shape(
        "/graphql",
        {
            "data": {
                "orders": {
                    "edges": [
                        {"cursor": "a", "node": {"id": "gid/1", "name": "#1"}},
                        {"cursor": "b", "node": {"id": "gid/2", "name": "#2"}},
                    ],
                    "pageInfo": {"hasNextPage": True, "endCursor": "b"},
                }
            }
        },
        "data.orders.edges[].node",
        cursor(
            "data.orders.pageInfo.hasNextPage && data.orders.pageInfo.endCursor",
            "after",
        ),
        ["id"],
    ),
    "Firebase, a map by id": Shape(
        "/parts.json",
        {
            "-Nx1": {"name": "Pump", "added": 1767225600000},
            "-Nx2": {"name": "Valve", "added": 1767312000000},
        },
        "values(@)",
        NO_PAGES,
        ["name"],
        {"added": plain("number")},
    ),
    "a map by id, with the ids": Shape(
        "/tickers",
        {"data": {"7": {"id": 7, "created_at": 1767225600123}, "8": {"id": 8}}},
        "values(data)",
        NO_PAGES,
        ["id"],
        {"created_at": plain("datetime", format="unix_ms")},
    ),
    "one object": Shape(
        "/account",
        {"id": 5, "email": "a@example.com", "name": "A", "addresses": [{"city": "K"}]},
        "[@]",
        NO_PAGES,
        ["id"],
        notes=("children of the record: addresses",),
    ),
    "one object with a list of words": Shape(
        "/echo",
        {"method": "GET", "path": "/echo", "headers": ["Accept", "Host"], "body": 0},
        "[@]",
        NO_PAGES,
        [],
        notes=("children of the record: headers",),
    ),
    "one object, wrapped": Shape(
        "/orders/7.json",
        {"order": {"id": 7, "total_price": "1.00", "page": 3, "total": 9}},
        "[order]",
        NO_PAGES,
        ["id"],
    ),
    "sparring provider": Shape(
        "/records/contacts",
        {
            "items": [
                {"id": "c0", "credit": "0.50", "updated_at": "2026-01-01T00:00:00Z"},
                {"id": "c1", "credit": "1.50", "updated_at": "2026-01-02T00:00:00Z"},
            ],
            "total": 250,
        },
        "items",
        {"kind": "page", "size": 2, "position_parameter": "page"},
        ["id"],
        {"credit": plain("decimal")},
        notes=("updated_at has the time of",),
    ),
    "orders by year": Shape(
        "/records/orders",
        [
            {"year": 2026, "number": 1, "customer": {"id": "c0"}, "weight": 0.25},
            {"year": 2026, "number": 2, "customer": {"id": "c1"}, "weight": 1},
        ],
        "@",
        NO_PAGES,
        ["year", "number"],
        {"weight": plain("decimal")},
    ),
    "lines of orders": Shape(
        "/order-lines",
        {
            "list": [
                {
                    "order_id": 1,
                    "position": 1,
                    "shipped": "yes",
                    "ordered": "03/04/2026",
                },
                {
                    "order_id": 1,
                    "position": 2,
                    "shipped": "no",
                    "ordered": "05/06/2026",
                },
                {"order_id": 2, "position": 1, "shipped": "", "ordered": "07/08/2026"},
            ]
        },
        "list",
        NO_PAGES,
        ["order_id", "position"],
        {
            "shipped": plain("boolean"),
            "ordered": plain("date", format="%d/%m/%Y"),
        },
    ),
}
