"""The page of a sync line's keys: only what they mean is written here, the rest is in the code.

A key or a transform that has no words, or words without a key, is an error.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import Field, fields

from outkey.core.config.choices import Choice
from outkey.core.errors import ConfigError
from outkey.core.sync import mapping
from outkey.core.sync.line import FieldMapping, Incremental, Pagination, Sync, Transform
from outkey.core.sync.response import MOST_RECORDS
from outkey.core.sync.table import read_sync

_LINE = {
    "direction": (
        "which way records go; **required**, a line without it only names one call"
    ),
    "target": (
        "the host's model, such as `demo.contact`, which the host must open;"
        " **required**"
    ),
    "keys": (
        "the host's fields that tell records apart, each of them mapped; **required**"
        " in a pull, not used in a push"
    ),
    "fields": "a table for each field of the host, [as below](#fields); **required**",
    "query": "parameters of every request",
    "body": "JSON, [as below](#a-body)",
    "records": (
        "JMESPath: where the list of records is in the answer to a pull; by default the"
        " answer is that list"
    ),
    "pagination": "how a pull gets the next page, [as below](#pagination)",
    "incremental": "how a pull asks only for what changed, [as below](#incremental)",
    "gone": (
        "what a pull does with records that it brought once and that are not there any"
        " more; archives only after a complete run that left none out, and where the"
        " host says how"
    ),
    "script": (
        "Python that changes [each record of a"
        " pull](../guide/synchronizing.md#a-script-for-what-a-table-cannot-say)"
    ),
    "schedule": (
        "cron: minute, hour, day, month, weekday, in UTC or after"
        " `CRON_TZ=Europe/Berlin`"
    ),
    "parallel": (
        "[requests at a time](../guide/synchronizing.md#several-requests-at-a-time)"
    ),
    "max_records": (
        "how many records one run may take,"
        " [at the most](../guide/synchronizing.md#limits-of-a-run)"
    ),
    "max_minutes": (
        "how many minutes one run may work,"
        " [at the most](../guide/synchronizing.md#limits-of-a-run)"
    ),
}
_PAGINATION = {
    "kind": "how the API hands out many records",
    "size": (
        "how many records a page has; it is sent only where `size_parameter` is named"
    ),
    "size_parameter": (
        "the parameter that asks for so many, such as `per_page` or `limit`"
    ),
    "position_parameter": (
        "the parameter of the page number, the offset or the cursor; `page` and"
        " `offset` need it unless the `body` has `{position}`; without it `cursor` is"
        " the address of the next page; `none` and `link` do not use it"
    ),
    "first": "the number of the first page, for `page`",
    "cursor": (
        "JMESPath: the next cursor in the answer, such as `meta.next`; `cursor`"
        " needs it"
    ),
}
_INCREMENTAL = {
    "parameter": "the parameter that asks for what changed, such as `updated_since`",
    "field": (
        "JMESPath in a record: the greatest value that a run has seen is the parameter"
        " of the next; the first run, and the first after a change of the line, goes"
        " without it"
    ),
}
_FIELD = {
    "api": (
        "in a pull JMESPath in a record, such as `customer.id`, which `constant` and"
        " `template` do not need; in a push the name to send it by, where dots make"
        " objects inside"
    ),
    "host": "the host's field; **required**, and each only once",
    "transform": "the way between them, [as below](#transforms)",
    "default": (
        "what counts where the value is missing; it is read like a value of the API"
    ),
    "required": (
        "a record without the value, and without a default, is left out (`missing`)"
    ),
    "options": "of the transform",
}
_ROWS = """\
| Key | Takes | Default | What it is |
|---|---|---|---|"""
_BEGINNING = f"""\
# Keys of a sync line

In TOML a line is `[line.NAME]`; on the pages, *Synchronization* takes the keys from `direction` on.
[Synchronizing records](../guide/synchronizing.md) says how to use them.
What a key does not take is refused with its place, and what the host cannot do is a finding of \
`outkey line show NAME`.

{_ROWS}
| `configuration` | text |  | whose credentials, limits and pauses hold; **required** |
| `method` | text | `GET`, in a push `POST` | GET or POST in a pull; POST, PUT or PATCH in a push |
| `path` | text | `/` | below the Base URL; in a push with the host's fields in braces, such as \
`/contacts/{{external_id}}` |"""
_PAGES = f"""
A pull by `page` or `offset` goes on until a page is empty, since a short one proves nothing: \
one request more than there are pages.
A 404 instead of an empty page ends it as well; nothing is archived then, unless the page before \
was short.
A page has at most {MOST_RECORDS:,} records, whatever the kind; more of them end the run with \
`too_many_records`.
"""
_BODY = """
## A body

A pull with `method = "POST"` sends the body with every request, with `{position}` (the number, \
offset or cursor of the page), `{size}` and `{since}` (the value of `incremental`) filled in.
A push sends its fields as one object; or the body, with the values of its fields filled in by \
the host's names.
A text that is one name alone becomes the value itself, be it a number, a list or null: \
`"{position}"` becomes `3`.
"""
_DIRECTIONS = """
What the host's own field does not take leaves the record out as well: `too_long`, \
`unknown_choice`, or `out_of_range`, also for a number with more decimal places than the field has.

In a push the values go the other way: `choice` from the host's value to the API's, `date` and \
`datetime` as `format` and `zone` say.
A link is sent as the id of its record; `lookup` is for pulls.
"""
_WHOLE = """
## Whole lines

They use every transform, and run as they are with `outkey spar` and `ACME_TOKEN=spar-token`.

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
    { host = "name", transform = "template", options = { template = "{full_name} ({id})" } },
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
_TRANSFORM = re.compile(r"^ {4}(\w+) +(.*(?:\n {5,}.*)*)", re.MULTILINE)


def lines_page() -> Iterator[str]:
    """Yield the page."""
    yield _BEGINNING
    yield from _key_rows(Sync, _LINE)
    yield f"\n## pagination\n\n{_ROWS}"
    yield from _key_rows(Pagination, _PAGINATION, "pagination")
    yield _PAGES
    yield f"## incremental\n\n{_ROWS}"
    yield from _key_rows(Incremental, _INCREMENTAL, "incremental")
    yield _BODY
    yield f"## fields\n\n{_ROWS}"
    yield from _key_rows(FieldMapping, _FIELD, "fields")
    yield from _transforms()
    yield _DIRECTIONS.rstrip("\n")
    yield _WHOLE


def _key_rows(part: type, words: Mapping[str, str], place: str = "") -> Iterator[str]:
    known = {
        "fields" if one.name == "mappings" else one.name: one for one in fields(part)
    }
    for key in words | known:
        takes = _choices(known[key].type) or _taken(key, place)
        default = "" if "**required**" in words[key] else _default(known[key])
        yield f"| `{key}` | {takes} | {default} | {words[key]} |"


def _choices(kind: object) -> str:
    if not isinstance(kind, type) or not issubclass(kind, Choice):
        return ""
    return ", ".join(f"`{one}` ({one.label})" for one in kind)


def _taken(key: str, place: str) -> str:
    """Return what a key takes, in the words that refuse a value which none takes."""
    table: dict[str, object] = {key: ...}
    if place:
        table = {place: [table] if place == "fields" else table}
    try:
        read_sync(table)
    except ConfigError as refused:
        return refused.message.removeprefix("must be ").removesuffix(
            ", without control characters"
        )
    raise LookupError(key)


def _default(known: "Field[object]") -> str:
    value = known.default
    if value == "" or not isinstance(value, str | int):
        return ""
    return f"`{str(value).lower()}`"


def _transforms() -> Iterator[str]:
    said = dict(_TRANSFORM.findall(mapping.__doc__ or ""))
    if said.keys() != set(Transform):
        raise LookupError(*said.keys() ^ set(Transform))
    yield "\n## Transforms\n\n| Transform | What it takes and makes |\n|---|---|"
    yield from (
        f"| `{name}` | {' '.join(text.split())} |" for name, text in said.items()
    )
    yield "\n" + (mapping.__doc__ or "").rpartition("\n\n")[2].rstrip("\n")
