"""The declarative table of a sync line's fields, `[line.NAME]` in a document.

Reading, writing and the documentation derive from it. The defaults are those of the
values in `sync/core/line/line.py`; a test compares the two.
"""

from functools import partial

from outkey.foundation.core.fields.field_kinds import Audited, Field, Kind, LineTab
from outkey.foundation.core.paging_words import MAX_RECORDS
from outkey.foundation.core.script_syntax import MAX_SOURCE
from outkey.sync.core.line.line import (
    Children,
    Compression,
    Direction,
    DriftRule,
    FieldMapping,
    ForEach,
    Gone,
    Incremental,
    JobOrder,
    JobPoll,
    JobSettings,
    Pagination,
    Paging,
    ParentRecords,
    PushedRecords,
    PushRequest,
    RecordFormat,
    RecordSearch,
    ResponseFormat,
    Transform,
    Writes,
)

MAX_RECORDS_OF_A_RUN = 1_000_000_000
MAX_MINUTES_OF_A_RUN = 7 * 24 * 60
MAX_BATCH = 1000

PULL = (("direction", ("pull",)),)
PUSH = (("direction", ("push",)),)
BY_PAGE = (("pagination.kind", ("page",)),)
AS_CSV = (("response.format", ("csv",)),)
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
        audited=Audited.WHOLE,
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
        audited=Audited.PATH,
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
            "How many records a page has, such as 100. Not sent while the parameter of"
            " the page size is empty: then the API decides."
        ),
    ),
    pages(
        "pagination.size_parameter",
        "Parameter of the page size",
        Kind.LONG_TEXT,
        help=(
            "What the API calls the number of records on a page, such as per_page or"
            " limit. Empty: the page size is not sent."
        ),
    ),
    pages(
        "pagination.position_parameter",
        "Parameter of the position",
        Kind.LONG_TEXT,
        help=(
            "What the API calls the place to continue at, such as page, offset or"
            " cursor: ?page=2 requests the second page. Pages by number or offset need"
            " it unless the body has {position}; without it a cursor is the URL of the"
            " next page."
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
        help=(
            "Where the response has the cursor of the next page, such as meta.next"
            " (JMESPath)."
        ),
    ),
)
RESPONSE_FIELDS: tuple[Field, ...] = (
    records(
        "response.format",
        "Format of responses",
        Kind.CHOICE,
        RecordFormat,
        default=RecordFormat.JSON,
        help="The format of the responses.",
    ),
    records(
        "response.compression",
        "Compression",
        Kind.CHOICE,
        Compression,
        default=Compression.AUTO,
        help=(
            "Whether the body is a gzip file or a ZIP archive. What Content-Encoding"
            " names is unpacked in any case."
        ),
    ),
    records(
        "response.file",
        "File in the archive",
        Kind.LONG_TEXT,
        help=(
            "The file of a ZIP archive that has the records, such as prices-*.csv."
            " Empty: its only file."
        ),
    ),
    records(
        "response.charset",
        "Charset",
        Kind.LONG_TEXT,
        help=(
            "The character encoding, such as iso-8859-1 or windows-1252. Empty: that of"
            " Content-Type, else UTF-8."
        ),
    ),
    records(
        "response.delimiter",
        "Delimiter",
        Kind.LONG_TEXT,
        default=",",
        when=AS_CSV,
        help="What separates the columns of CSV: a character such as ;, or tab.",
    ),
    records(
        "response.header",
        "Header row",
        Kind.FLAG,
        default=True,
        when=AS_CSV,
        help=(
            "Whether the first row of CSV has the names of the columns; without it they"
            " are c1, c2 and so on."
        ),
    ),
)
INCREMENTAL_FIELDS: tuple[Field, ...] = (
    pages(
        "incremental.parameter",
        "Parameter of changes",
        Kind.LONG_TEXT,
        help=(
            "What the API calls the moment since when you want changes, such as"
            " updated_since. Empty: every run reads all records."
        ),
    ),
    pages(
        "incremental.field",
        "Field of changes",
        Kind.LONG_TEXT,
        help=(
            "The field with the time of the last change, such as updated_at"
            " (JMESPath). Its greatest value in a run becomes the parameter of the next"
            " run. With windows it is not needed."
        ),
    ),
    pages(
        "incremental.start",
        "Start",
        Kind.LONG_TEXT,
        audited=Audited.VALUE,
        help=(
            "Where the first run begins: a moment such as 2026-01-01T00:00:00Z, or -30d"
            " for so long before each run. No run asks for anything older. Empty: the"
            " first run, and the first after a change of the line, has no parameter of"
            " changes."
        ),
    ),
    pages(
        "incremental.window",
        "Window",
        Kind.LONG_TEXT,
        audited=Audited.VALUE,
        help=(
            "The longest time that one request asks for, such as 7d, for an API that"
            " wants a beginning and an end. Units: m, h, d, w."
        ),
    ),
    pages(
        "incremental.end_parameter",
        "Parameter of the end",
        Kind.LONG_TEXT,
        help=(
            "What the API calls the end of a window, such as updated_before. A body"
            " can have it as {until} instead."
        ),
    ),
    pages(
        "incremental.lookback",
        "Lookback",
        Kind.LONG_TEXT,
        audited=Audited.VALUE,
        help=(
            "How far each run goes back before the end of the last one, such as 1h,"
            " for an API that shows changes late. Units: m, h, d, w."
        ),
    ),
    pages(
        "incremental.format",
        "Format of moments",
        Kind.LONG_TEXT,
        audited=Audited.VALUE,
        help=(
            "How the parameters write a moment: unix, unix_ms, or a pattern such as"
            " %Y-%m-%d. Empty: ISO 8601 in UTC, such as 2026-01-01T00:00:00Z."
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
            " template do not need it. With for_each, $parent.id is a field of the"
            " parent. In a push the name to send, where dots make nested objects."
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
CHILDREN_FIELDS: tuple[Field, ...] = (
    mapped(
        "children.list",
        "List of children",
        Kind.LONG_TEXT,
        required=True,
        is_always_written=True,
        help="Where a record has the list, such as lines (JMESPath).",
    ),
    mapped(
        "children.target",
        "Target of children",
        Kind.LONG_TEXT,
        required=True,
        is_always_written=True,
        help="Where each element becomes a row, such as table:order_lines.",
    ),
    mapped(
        "children.parent",
        "Fields of the parent",
        Kind.NAMES,
        required=True,
        is_always_written=True,
        help=(
            "The column of the row with the record that it belongs to, such as"
            " order_id; for several keys a list of columns, in their order."
        ),
    ),
    mapped(
        "children.keys",
        "Keys of children",
        Kind.LIST,
        required=True,
        help=(
            "The key fields of the rows, such as order_id and sku: the columns of the"
            " parent are among them, and each other one must be mapped."
        ),
    ),
    mapped(
        "children.fields",
        "Fields of children",
        Kind.TABLES,
        required=True,
        parts=MAPPING_FIELDS,
        make=lambda values: FieldMapping(**{"api": ""} | values),
        help="A table for each field; $index is the position in the list, from 1.",
    ),
)
FOR_EACH_FIELDS: tuple[Field, ...] = (
    request(
        "for_each.line",
        "Line of the parents",
        Kind.LONG_TEXT,
        audited=Audited.VALUE,
        help=(
            "A pull into a table or a model, such as orders: there is a request with"
            " its pages for each of its records, and {parent.id} in the path, the query"
            " or the body is a field of that record."
        ),
    ),
    request(
        "for_each.only",
        "Parents",
        Kind.CHOICE,
        ParentRecords,
        default=ParentRecords.ALL,
        help=(
            "Whether each run requests the records of all parents, or only of those"
            " that are new or whose row has changed since this line completed them."
        ),
    ),
    request(
        "for_each.values",
        "Values",
        Kind.LIST,
        help=(
            "Instead of a line: texts such as DE and AT, each a parent with"
            " {parent.value}. At most 1000."
        ),
    ),
)


def _request_fields(key: str, label: str) -> tuple[Field, ...]:
    """Return the fields of a request that a push sends for a record."""
    return (
        request(
            f"{key}.method",
            f"Method of {label}",
            Kind.METHOD,
            required=True,
            default="",
            help="The HTTP method, such as POST, PUT, PATCH or DELETE.",
        ),
        request(
            f"{key}.path",
            f"Path of {label}",
            Kind.LONG_TEXT,
            audited=Audited.PATH,
            required=True,
            help=(
                "The path, with the host's fields and {remote_id} in braces, such as"
                " /orders/{remote_id}."
            ),
        ),
    )


CREATE_FIELDS = _request_fields("create", "creating")
UPDATE_FIELDS = _request_fields("update", "updating")
DELETE_FIELDS = _request_fields("delete", "deleting")
FIND_FIELDS: tuple[Field, ...] = (
    request(
        "find.path",
        "Path of finding",
        Kind.LONG_TEXT,
        audited=Audited.PATH,
        required=True,
        help=(
            "The path that finds a record by the host's fields in braces, such as"
            " /orders?number={number}."
        ),
    ),
    request(
        "find.remote_id",
        "ID of what was found",
        Kind.LONG_TEXT,
        required=True,
        help=(
            "JMESPath of the record's ID in the response, such as items[].id; if it"
            " finds several, none is adopted."
        ),
    ),
)
ORDER_FIELDS: tuple[Field, ...] = (
    request(
        "job.order.method",
        "Method of the order",
        Kind.METHOD,
        default="POST",
        help="The HTTP method, such as POST.",
    ),
    request(
        "job.order.path",
        "Path of the order",
        Kind.LONG_TEXT,
        audited=Audited.PATH,
        required=True,
        help="The path below the Base URL, such as /reports.",
    ),
    request(
        "job.order.body",
        "Body of the order",
        Kind.LONG_TEXT,
        maximum=MAX_SOURCE,
        help=(
            "The JSON body, with {since} and {until} as placeholders, such as"
            ' {"from": "{since}"}.'
        ),
    ),
)
POLL_FIELDS: tuple[Field, ...] = (
    request(
        "job.poll.path",
        "Path of the state",
        Kind.LONG_TEXT,
        audited=Audited.PATH,
        required=True,
        help="The path that shows the state of the job, such as /reports/{job.id}.",
    ),
    request(
        "job.poll.every_seconds",
        "Seconds between polls",
        Kind.INTEGER,
        default=5,
        minimum=1,
        maximum=3600,
        help=(
            "How long to wait at least before the state is requested again; the wait"
            " grows up to a minute, and Retry-After is heeded."
        ),
    ),
)
JOB_DELETE_FIELDS: tuple[Field, ...] = (
    request(
        "job.delete.method",
        "Method of deleting the job",
        Kind.METHOD,
        default="DELETE",
        help="The HTTP method, such as DELETE.",
    ),
    request(
        "job.delete.path",
        "Path of deleting the job",
        Kind.LONG_TEXT,
        audited=Audited.PATH,
        required=True,
        help="The path, such as /reports/{job.id}.",
    ),
)
JOB_FIELDS: tuple[Field, ...] = (
    request(
        "job.order",
        "Order",
        Kind.TABLE,
        default=JobOrder(),
        required=True,
        parts=ORDER_FIELDS,
        make=lambda values: JobOrder(**values),
        help="The request that orders the job.",
    ),
    request(
        "job.id",
        "ID of the job",
        Kind.LONG_TEXT,
        audited=Audited.EXPRESSION,
        required=True,
        help=(
            "Where the response to the order has the ID, such as data.id (JMESPath), or"
            " header:NAME. Of a URL in a header, such as header:Location, it is the"
            " last part of the path."
        ),
    ),
    request(
        "job.poll",
        "Poll",
        Kind.TABLE,
        default=JobPoll(),
        required=True,
        parts=POLL_FIELDS,
        make=lambda values: JobPoll(**values),
        help="The request for the state of the job.",
    ),
    request(
        "job.state",
        "State",
        Kind.LONG_TEXT,
        audited=Audited.EXPRESSION,
        required=True,
        help="Where the response to a poll has the state, such as status (JMESPath).",
    ),
    request(
        "job.done",
        "States of a done job",
        Kind.LIST,
        audited=Audited.VALUE,
        required=True,
        help="The states with which the download begins, such as done.",
    ),
    request(
        "job.failed",
        "States of a failed job",
        Kind.LIST,
        audited=Audited.VALUE,
        help=(
            "The states that end the run (job_failed), such as error. Any other state"
            " is waited for."
        ),
    ),
    request(
        "job.url",
        "URL of the file",
        Kind.LONG_TEXT,
        audited=Audited.EXPRESSION,
        help=(
            "Where the last response to a poll has the URL to download, such as"
            " result.url (JMESPath). Empty: the path of the line is downloaded."
        ),
    ),
    request(
        "job.origins",
        "Other origins",
        Kind.LIST,
        audited=Audited.VALUE,
        help=(
            "The origins besides the Base URL's that the URL of the file may have, such"
            " as https://files.example. They get no credentials."
        ),
    ),
    request(
        "job.max_minutes",
        "Maximum minutes of a job",
        Kind.INTEGER,
        default=60,
        minimum=1,
        maximum=MAX_MINUTES_OF_A_RUN,
        help="How many minutes a job may take from its order on (job_timeout).",
    ),
    request(
        "job.delete",
        "Delete the job",
        Kind.TABLE,
        default=PushRequest(),
        parts=JOB_DELETE_FIELDS,
        make=lambda values: PushRequest(**{"method": "DELETE"} | values),
        help="The request that deletes the job after its download; it may fail.",
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
        audited=Audited.VALUE,
        required=True,
        help=(
            "A model that the host opens, such as shop.order; table:NAME in the"
            " database of outkey; table:DATABASE.NAME in another one; or"
            " file:NAME.jsonl, .csv or .parquet."
        ),
    ),
    records(
        "keys",
        "Keys",
        Kind.LIST,
        audited=Audited.VALUE,
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
        audited=Audited.EXPRESSION,
        default="@",
        when=PULL,
        help=(
            "Where the response has the list of records, such as items or data.orders"
            " (JMESPath); by default the response is that list."
        ),
    ),
    records(
        "response",
        "Response",
        Kind.TABLE,
        default=ResponseFormat(),
        when=PULL,
        parts=RESPONSE_FIELDS,
        make=lambda values: ResponseFormat(**values),
        help="The format of the responses, where it is not JSON.",
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
    request(
        "job",
        "Job",
        Kind.TABLE,
        default=JobSettings(),
        when=PULL,
        parts=JOB_FIELDS,
        make=lambda values: JobSettings(**values),
        help="What is ordered and waited for before it can be downloaded.",
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
            " has, such as a customer who was deleted there. They are archived or"
            " deleted only after a complete run that rejected no record."
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
    records(
        "writes",
        "Writing",
        Kind.CHOICE,
        Writes,
        default=Writes.BULK,
        when=PULL,
        help=(
            "Whether a model's records are written in bulk, or one by one with its"
            " save() and signals, which takes longer."
        ),
    ),
    mapped(
        "children",
        "Children",
        Kind.TABLES,
        when=PULL,
        parts=CHILDREN_FIELDS,
        make=lambda values: Children(
            **{
                "mappings" if key == "fields" else key: part
                for key, part in values.items()
            }
        ),
        help="Lists inside a record that become records of another target.",
    ),
    request(
        "for_each",
        "Requests per parent",
        Kind.TABLE,
        default=ForEach(),
        when=PULL,
        parts=FOR_EACH_FIELDS,
        make=lambda values: ForEach(**values),
        help="Requests the records of each parent on their own, such as of each order.",
    ),
    records(
        "changes",
        "Records to send",
        Kind.CHOICE,
        PushedRecords,
        is_nullable=True,
        when=PUSH,
        help=(
            "Whether a push sends all records, or only those whose mapped values differ"
            " from what the API last accepted. By default changed where create, update"
            " or delete is given, else all."
        ),
    ),
    request(
        "create",
        "Create",
        Kind.TABLE,
        default=PushRequest(),
        when=PUSH,
        parts=CREATE_FIELDS,
        make=lambda values: PushRequest(**values),
        help="The request that creates a record.",
    ),
    request(
        "update",
        "Update",
        Kind.TABLE,
        default=PushRequest(),
        when=PUSH,
        parts=UPDATE_FIELDS,
        make=lambda values: PushRequest(**values),
        help="The request that updates a record.",
    ),
    request(
        "delete",
        "Delete",
        Kind.TABLE,
        default=PushRequest(),
        when=PUSH,
        parts=DELETE_FIELDS,
        make=lambda values: PushRequest(**values),
        help="The request for a record that was deleted or archived in the host.",
    ),
    request(
        "find",
        "Find",
        Kind.TABLE,
        default=RecordSearch(),
        when=PUSH,
        parts=FIND_FIELDS,
        make=lambda values: RecordSearch(**values),
        help=(
            "How a record is found that the API has already: a create that gets 400,"
            " 409 or 422 adopts it, and the record is updated."
        ),
    ),
    records(
        "recreate",
        "Create again",
        Kind.FLAG,
        when=PUSH,
        help="Whether a record that the API no longer has (404) is created again.",
    ),
    records(
        "remote_id",
        "ID at the API",
        Kind.LONG_TEXT,
        audited=Audited.EXPRESSION,
        when=PUSH,
        help=(
            "JMESPath of the new record's ID in the response of a create, such as"
            " data.id; later requests have it as {remote_id}."
        ),
    ),
    request(
        "batch",
        "Records per request",
        Kind.INTEGER,
        default=1,
        minimum=1,
        maximum=MAX_BATCH,
        when=PUSH,
        help="How many records one request has; more than one needs records_at.",
    ),
    request(
        "records_at",
        "List in the request",
        Kind.LONG_TEXT,
        when=PUSH,
        help="Where the body has the list of records, such as items; @ is the body.",
    ),
    request(
        "results_at",
        "List in the response",
        Kind.LONG_TEXT,
        audited=Audited.EXPRESSION,
        when=PUSH,
        help=(
            "JMESPath of the list of results in the response, in the order of the"
            " records. An element with an error is rejected."
        ),
    ),
    run(
        "guard_percent",
        "Guard",
        Kind.INTEGER,
        default=10,
        minimum=0,
        maximum=100,
        help=(
            "A run fails before it archives or deletes more than this percentage of the"
            " records: in a pull of those that the line brought, in a push of those at"
            " the API. A push fails before it creates records too, if more than this"
            " percentage of those at the API is no longer in the target and most of the"
            " target was never sent."
        ),
    ),
    run(
        "full_every",
        "Full run every",
        Kind.LONG_TEXT,
        audited=Audited.VALUE,
        when=PULL,
        help=(
            "How often an incremental line reads all records, such as 7d or 12h, so"
            " that it sees which are missing upstream. Units: m, h, d, w; at least"
            " one hour."
        ),
    ),
    run(
        "feed",
        "Record changes",
        Kind.FLAG,
        audited=Audited.VALUE,
        when=PULL,
        help=(
            "Whether each change of a row is recorded for programs that read them by"
            " HTTP; for tables only, with those of children."
        ),
    ),
    run(
        "schedule",
        "Schedule",
        Kind.LONG_TEXT,
        audited=Audited.VALUE,
        help=(
            "A cron expression: minute, hour, day, month, weekday; in UTC, or after"
            " CRON_TZ=Europe/Berlin in that time zone."
        ),
    ),
    run(
        "drift",
        "Changed shape",
        Kind.CHOICE,
        DriftRule,
        audited=Audited.VALUE,
        default=DriftRule.WARN,
        when=PULL,
        help=(
            "What happens when records of the API no longer have a field that the line"
            " needs, or have it as another type: the run reports it, or stops before"
            " that page is written. A new field is only reported."
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
    *RESPONSE_FIELDS,
    *PAGINATION_FIELDS,
    *INCREMENTAL_FIELDS,
    *MAPPING_FIELDS,
    *CHILDREN_FIELDS,
    *FOR_EACH_FIELDS,
    *CREATE_FIELDS,
    *UPDATE_FIELDS,
    *DELETE_FIELDS,
    *FIND_FIELDS,
    *JOB_FIELDS,
    *ORDER_FIELDS,
    *POLL_FIELDS,
    *JOB_DELETE_FIELDS,
)
