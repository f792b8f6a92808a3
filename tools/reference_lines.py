"""The page of a sync line's keys: the tables are in the code, the prose is here.

A transform that has no words, or words without a transform, is an error.
"""

import re
from collections.abc import Iterator

from reference_fields import field_rows

from outkey.foundation.core.paging_words import MAX_RECORDS
from outkey.sync.core.databases.section import DATABASE_FIELDS
from outkey.sync.core.line.fields import (
    CHILDREN_FIELDS,
    CREATE_FIELDS,
    FIND_FIELDS,
    FOR_EACH_FIELDS,
    INCREMENTAL_FIELDS,
    JOB_FIELDS,
    LINE_FIELDS,
    MAPPING_FIELDS,
    ORDER_FIELDS,
    PAGINATION_FIELDS,
    POLL_FIELDS,
    RESPONSE_FIELDS,
)
from outkey.sync.core.line.line import Transform
from outkey.sync.core.mapping import transforms
from outkey.sync.core.pairs.section import PAIR_FIELDS

BEGINNING = """\
# Keys of a sync line

In TOML a line is `[line.NAME]`; on the pages, enter the keys from `direction` on in \
*Synchronization*.
[Synchronizing records](../guide/synchronizing.md) explains how to use them: with \
[a script](../guide/synchronizing.md#a-script-that-changes-records), with \
[several requests at a time](../guide/synchronizing.md#several-requests-at-a-time), \
and within [limits](../guide/synchronizing.md#limits-of-a-run).
An invalid value is refused, with its place. `outkey line show NAME` reports what the \
host does not support as a [finding](findings.md).
See below for [a body](#a-body), the keys of [pagination](#pagination), \
[incremental](#incremental), [job](#job), [fields](#fields), [children](#children) and \
[for_each](#for_each), those of \
[the requests of a push](#create-update-and-delete), the [transforms](#transforms), \
and the sections for [a pair](#a-pair) and [another database](#another-database).
"""
PAGES = f"""
A pull by `page` or `offset` continues until a page is empty, because a short page \
does not prove that it is the last one. It sends one request more than there are pages.
A 404 instead of an empty page also ends the pull. Nothing is archived then, unless \
the page before was short.
A page may have at most {MAX_RECORDS:,} records, whatever the kind; more records end \
the run with `too_many_records`.
"""
JOB = """
## job

What an API prepares before it can be downloaded. [Reports that must be ordered]\
(../guide/synchronizing.md#reports-that-must-be-ordered) explains it.
"""
BODY = """
## A body

A pull with `method = "POST"` sends the body with every request, with `{position}` \
(the number, offset or cursor of the page), `{size}` and `{since}` (the value of \
`incremental`) filled in.
A push sends its fields as one object. If there is a body, it sends the body with the \
values of its fields filled in, by the host's names.
A text that consists of one placeholder becomes the value itself, also a number, a \
list or null: `"{position}"` becomes `3`.
"""
DIRECTIONS = """
A record with a value that does not fit the host's field is rejected as well: \
`too_long`, `unknown_choice`, or `out_of_range`, also for a number with more decimal \
places than the field has.

In a push, values are converted in the other direction: `choice` from the host's value \
to the API's, `date` and `datetime` according to `format` and `zone`. \
A `decimal` with `decimal_mark` "," is sent as a text such as `1084,50`.
A link is sent as the ID of its record; `lookup` is for pulls only.
"""
CHILDREN = """
## children

A list of tables, `[[line.NAME.children]]`, one for each list inside a record.
"""
FOR_EACH = """
## for_each

[Requests per parent](../guide/synchronizing.md#requests-per-parent) explains it.
"""
PUSH_REQUESTS = """
## create, update and delete

A push with one of these tables sends each record with the request that fits it. \
Each of the three has the same keys:
"""
FIND = """
## find
"""
PAIR = """
## A pair

In TOML a pair is `[pair.NAME]`. [Pairs]\
(../guide/pairs.md) explains it.
"""
DATABASE = """
## Another database

In TOML a database is `[database.NAME]`, for targets such as `table:NAME.orders`.
"""
WHOLE_LINES = """
## Complete examples

These lines use every transform. To run them unchanged, start `outkey spar` and set
`ACME_TOKEN=spar-token` and `OUTKEY_DEMO=1`.

```toml
[configuration.acme]
base_url = "http://127.0.0.1:9000"
network = "internal"
authentication_type = "bearer"
token = "env:ACME_TOKEN"

[line.contacts]
configuration = "acme"
direction = "pull"
path = "/records/contacts"
query = { style = "offset" }
records = "items"
target = "demo.contact"
keys = ["external_id"]
schedule = "CRON_TZ=Europe/Berlin 0 6 * * 1-5"
parallel = 5
fields = [
    { api = "id", host = "external_id", transform = "text", required = true },
    { host = "name", transform = "template", \
options = { template = "{full_name} ({id})" } },
    { api = "mail", host = "email", transform = "as_is" },
    { api = "type", host = "kind", transform = "choice", \
options = { person = "person", company = "company" } },
    { api = "credit", host = "credit", transform = "decimal", default = "0" },
    { api = "updated_at", host = "born_on", transform = "date", \
options = { zone = "Europe/Berlin" } },
    { api = "contains(mail, '@')", host = "active", transform = "boolean" },
]

[line.contacts.pagination]
kind = "offset"
size = 50
size_parameter = "per_page"
position_parameter = "offset"

[line.orders]
configuration = "acme"
direction = "pull"
path = "/records/orders"
query = { style = "cursor" }
records = "items"
target = "demo.order"
keys = ["year", "number"]
pagination = { kind = "cursor", position_parameter = "after", cursor = "next" }
incremental = { parameter = "since", field = "ordered_at" }
fields = [
    { api = "year", host = "year", transform = "number" },
    { api = "number", host = "number", transform = "number" },
    { api = "customer.id", host = "contact", transform = "lookup", \
options = { target = "demo.contact", field = "external_id" } },
    { api = "ordered_at", host = "ordered_at", transform = "datetime" },
    { host = "note", transform = "constant", options = { value = "from the shop" } },
]

[line."send contacts"]
configuration = "acme"
direction = "push"
method = "PUT"
path = "/records/contacts/{external_id}"
target = "demo.contact"
body = '{"contact": {"full_name": "{name}", "type": "{kind}"}, "source": "outkey"}'
fields = [
    { api = "name", host = "name", required = true },
    { api = "kind", host = "kind", transform = "choice", \
options = { P = "person", C = "company" } },
]
```
"""
TRANSFORM = re.compile(r"^ {4}(\w+) +(.*(?:\n {5,}.*)*)", re.MULTILINE)


def lines_page() -> Iterator[str]:
    """Yield the page."""
    yield BEGINNING
    yield from field_rows(LINE_FIELDS)
    yield "\n## response\n"
    yield from field_rows(RESPONSE_FIELDS, "key")
    yield "\n## pagination\n"
    yield from field_rows(PAGINATION_FIELDS, "key")
    yield PAGES
    yield "## incremental\n"
    yield from field_rows(INCREMENTAL_FIELDS, "key")
    yield JOB
    yield from field_rows(JOB_FIELDS, "key")
    yield "\nThe order, `job.order`:\n"
    yield from field_rows(ORDER_FIELDS, "key")
    yield "\nThe request for its state, `job.poll`:\n"
    yield from field_rows(POLL_FIELDS, "key")
    yield "\n`job.delete` has a `method` (DELETE by default) and a `path`."
    yield BODY
    yield "## fields\n"
    yield from field_rows(MAPPING_FIELDS, "key")
    yield from transform_rows()
    yield DIRECTIONS.rstrip("\n")
    yield CHILDREN
    yield from field_rows(CHILDREN_FIELDS, "key")
    yield FOR_EACH
    yield from field_rows(FOR_EACH_FIELDS, "key")
    yield PUSH_REQUESTS
    yield from field_rows(CREATE_FIELDS, "key")
    yield FIND
    yield from field_rows(FIND_FIELDS, "key")
    yield PAIR
    yield from field_rows(PAIR_FIELDS, "key")
    yield DATABASE
    yield from field_rows(DATABASE_FIELDS, "key")
    yield WHOLE_LINES


def transform_rows() -> Iterator[str]:
    """Yield the table of transforms, which the documentation of their module has."""
    documentation = transforms.__doc__ or ""
    descriptions = dict(TRANSFORM.findall(documentation))
    if descriptions.keys() != set(Transform):
        raise LookupError(*descriptions.keys() ^ set(Transform))
    yield "\n## Transforms\n\n| Transform | What it takes and makes |\n|---|---|"
    yield from (
        f"| `{name}` | {' '.join(text.split())} |"
        for name, text in descriptions.items()
    )
    yield "\n" + documentation.rpartition("\n\n")[2].rstrip("\n")
