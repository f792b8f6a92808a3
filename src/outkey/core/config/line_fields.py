"""The declarative table of a sync line's fields, `[line.NAME]` in a document.

Reading, writing and the documentation derive from it. The defaults are those of the
values in `core/sync/line.py`; a test compares the two.
"""

from functools import partial

from outkey.core.config.field_kinds import Field, Kind, LineTab
from outkey.core.request.script import MAX_SOURCE
from outkey.core.sync.line import (
    Direction,
    FieldMapping,
    Gone,
    Incremental,
    Pagination,
    Paging,
    Transform,
)
from outkey.core.sync.response import MAX_RECORDS

MAX_RECORDS_OF_A_RUN = 1_000_000_000
MAX_MINUTES_OF_A_RUN = 7 * 24 * 60

PULL = (("direction", ("pull",)),)
BY_PAGE = (("pagination.kind", ("page",)),)
BY_CURSOR = (("pagination.kind", ("cursor",)),)

request = partial(Field, LineTab.REQUEST)
records = partial(Field, LineTab.RECORDS)
pages = partial(Field, LineTab.PAGES)
mapped = partial(Field, LineTab.FIELDS)
run = partial(Field, LineTab.RUN)

# Texts of a line may have line breaks: JMESPath expressions and bodies often do.
CALL_FIELDS: tuple[Field, ...] = (
    request(
        "configuration",
        "Configuration",
        Kind.LONG_TEXT,
        required=True,
        help="The configuration whose credentials, limits and pauses apply.",
    ),
    request(
        "method",
        "Method",
        Kind.METHOD,
        help=(
            "GET or POST in a pull; POST, PUT or PATCH in a push."
            " By default GET, and POST in a push."
        ),
    ),
    request(
        "path",
        "Path",
        Kind.LONG_TEXT,
        default="/",
        help=(
            "The path below the Base URL; in a push with the host's fields in braces,"
            " such as /contacts/{external_id}."
        ),
    ),
)
PAGINATION_FIELDS: tuple[Field, ...] = (
    pages(
        "pagination.kind",
        "Kind of pages",
        Kind.CHOICE,
        Paging,
        default=Paging.NONE,
        help="How the API divides many records into pages.",
    ),
    pages(
        "pagination.size",
        "Page size",
        Kind.INTEGER,
        default=100,
        minimum=1,
        maximum=MAX_RECORDS,
        help=(
            "How many records a page has; sent only if the parameter of the page size"
            " is named."
        ),
    ),
    pages(
        "pagination.size_parameter",
        "Parameter of the page size",
        Kind.LONG_TEXT,
        help="The parameter that asks for so many, such as per_page or limit.",
    ),
    pages(
        "pagination.position_parameter",
        "Parameter of the position",
        Kind.LONG_TEXT,
        help=(
            "The parameter of the page number, the offset or the cursor. Pages by"
            " number or offset need it unless the body has {position}; without it a"
            " cursor is the URL of the next page."
        ),
    ),
    pages(
        "pagination.first",
        "First page",
        Kind.INTEGER,
        default=1,
        maximum=1,
        when=BY_PAGE,
        help="The number of the first page.",
    ),
    pages(
        "pagination.cursor",
        "Cursor",
        Kind.LONG_TEXT,
        when=BY_CURSOR,
        help="JMESPath of the next cursor in the response, such as meta.next.",
    ),
)
INCREMENTAL_FIELDS: tuple[Field, ...] = (
    pages(
        "incremental.parameter",
        "Parameter of changes",
        Kind.LONG_TEXT,
        help="The parameter that requests changed records, such as updated_since.",
    ),
    pages(
        "incremental.field",
        "Field of changes",
        Kind.LONG_TEXT,
        help=(
            "JMESPath in a record: the greatest value of a run becomes the parameter"
            " of the next run. The first run, and the first after a change of the"
            " line, is sent without the parameter."
        ),
    ),
)
MAPPING_FIELDS: tuple[Field, ...] = (
    mapped(
        "fields.api",
        "Field of the API",
        Kind.LONG_TEXT,
        is_always_written=True,
        help=(
            "In a pull JMESPath in a record, such as customer.id; a constant and a"
            " template do not need it. In a push the name to send, where dots make"
            " nested objects."
        ),
    ),
    mapped(
        "fields.host",
        "Field of the host",
        Kind.LONG_TEXT,
        required=True,
        is_always_written=True,
        help="The host's field; each may be mapped once.",
    ),
    mapped(
        "fields.transform",
        "Transform",
        Kind.CHOICE,
        Transform,
        default=Transform.AS_IS,
        help="How a value of the API becomes one of the host.",
    ),
    mapped(
        "fields.default",
        "Default",
        Kind.LONG_TEXT,
        is_nullable=True,
        help="The value to use if it is missing; it is read like a value of the API.",
    ),
    mapped(
        "fields.required",
        "Required",
        Kind.FLAG,
        help="Whether a record without a value and a default is rejected (missing).",
    ),
    mapped(
        "fields.options",
        "Options",
        Kind.TEXTS,
        help="The options of the transform.",
    ),
)
SYNC_FIELDS: tuple[Field, ...] = (
    records(
        "direction",
        "Direction",
        Kind.CHOICE,
        Direction,
        required=True,
        is_always_written=True,
        help="Which way records go; a line without it only names one request.",
    ),
    records(
        "target",
        "Target",
        Kind.LONG_TEXT,
        required=True,
        help="The host's model, such as demo.contact; the host must open it.",
    ),
    records(
        "keys",
        "Keys",
        Kind.LIST,
        when=PULL,
        required=True,
        help="The host's fields that identify a record; each must be mapped.",
    ),
    mapped(
        "fields",
        "Fields",
        Kind.TABLES,
        required=True,
        parts=MAPPING_FIELDS,
        make=lambda values: FieldMapping(**{"api": ""} | values),
        help="A table for each field of the host.",
    ),
    request(
        "query",
        "Query",
        Kind.TEXTS,
        make=lambda texts: tuple(texts.items()),
        help="The parameters of every request.",
    ),
    request(
        "body",
        "Body",
        Kind.LONG_TEXT,
        maximum=MAX_SOURCE,
        help="The JSON body of every request, with placeholders.",
    ),
    records(
        "records",
        "Records",
        Kind.LONG_TEXT,
        default="@",
        when=PULL,
        help=(
            "JMESPath of the list of records in the response; by default the response"
            " is that list."
        ),
    ),
    pages(
        "pagination",
        "Pagination",
        Kind.TABLE,
        default=Pagination(),
        when=PULL,
        parts=PAGINATION_FIELDS,
        make=lambda values: Pagination(**values),
        help="How to request the next page.",
    ),
    pages(
        "incremental",
        "Incremental",
        Kind.TABLE,
        default=Incremental(),
        when=PULL,
        parts=INCREMENTAL_FIELDS,
        make=lambda values: Incremental(**values),
        help="How to request only what has changed.",
    ),
    records(
        "gone",
        "Missing upstream",
        Kind.CHOICE,
        Gone,
        default=Gone.KEEP,
        when=PULL,
        help=(
            "What happens to records that an earlier run brought and the API no longer"
            " has. They are archived only after a complete run that rejected no"
            " record, and if the host says how."
        ),
    ),
    records(
        "script",
        "Script",
        Kind.LONG_TEXT,
        maximum=MAX_SOURCE,
        when=PULL,
        help="Python with a function transform(record) that changes each record.",
    ),
    run(
        "schedule",
        "Schedule",
        Kind.LONG_TEXT,
        help=(
            "A cron expression: minute, hour, day, month, weekday; in UTC, or after"
            " CRON_TZ=Europe/Berlin in that time zone."
        ),
    ),
    run(
        "parallel",
        "Parallel requests",
        Kind.INTEGER,
        default=1,
        minimum=1,
        maximum=50,
        help="How many requests are sent at the same time.",
    ),
    run(
        "max_records",
        "Maximum records",
        Kind.INTEGER,
        default=1_000_000,
        minimum=1,
        maximum=MAX_RECORDS_OF_A_RUN,
        help="How many records one run may take.",
    ),
    run(
        "max_minutes",
        "Maximum minutes",
        Kind.INTEGER,
        default=360,
        minimum=1,
        maximum=MAX_MINUTES_OF_A_RUN,
        help="How many minutes one run may take.",
    ),
)
LINE_FIELDS: tuple[Field, ...] = (*CALL_FIELDS, *SYNC_FIELDS)
SYNC_KEYS = tuple(field.key for field in SYNC_FIELDS)
# With the keys of nested tables, for whatever lists labels and helps.
EVERY_LINE_FIELD: tuple[Field, ...] = (
    *LINE_FIELDS,
    *PAGINATION_FIELDS,
    *INCREMENTAL_FIELDS,
    *MAPPING_FIELDS,
)
