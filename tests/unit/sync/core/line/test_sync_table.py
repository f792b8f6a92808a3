"""Sync lines as TOML: what is written is read again, and what is wrong is named."""

import json
from dataclasses import MISSING, fields, replace

import pytest

from outkey.administration.core.document.document import parse_document
from outkey.administration.core.document.export import render
from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.fields.field_kinds import Kind
from outkey.sync.core.line.fields import (
    CHILDREN_FIELDS,
    CREATE_FIELDS,
    DELETE_FIELDS,
    EVERY_LINE_FIELD,
    FIND_FIELDS,
    FOR_EACH_FIELDS,
    INCREMENTAL_FIELDS,
    JOB_FIELDS,
    MAPPING_FIELDS,
    ORDER_FIELDS,
    PAGINATION_FIELDS,
    POLL_FIELDS,
    RESPONSE_FIELDS,
    SYNC_FIELDS,
    UPDATE_FIELDS,
)
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
    Sync,
    SyncLine,
    Transform,
    Writes,
)
from outkey.sync.core.line.section import parse_sync, render_sync
from outkey.sync.core.line.table import (
    ATTRIBUTES,
    read_sync,
    sync_errors,
    sync_table,
)

CONTACTS = """
[line.contacts]
configuration = "acme"
direction = "pull"
path = "/contacts"
query = { active = "true" }
records = "items"
keys = ["external_id"]
target = "demo.contact"
gone = "archive"
schedule = "*/15 * * * *"
[line.contacts.pagination]
kind = "page"
size = 50
size_parameter = "per_page"
position_parameter = "page"
first = 0
[line.contacts.response]
format = "csv"
compression = "zip"
file = "c*.csv"
charset = "iso-8859-1"
delimiter = "\\t"
header = false
[line.contacts.incremental]
parameter = "updated_since"
field = "updated_at"
start = "-30d"
window = "7d"
end_parameter = "updated_before"
lookback = "1h"
format = "unix"
[[line.contacts.fields]]
api = "id"
host = "external_id"
transform = "text"
required = true
[[line.contacts.fields]]
host = "kind"
transform = "choice"
default = ""
options = { "a b" = "x", c = "y" }
"""
READ = Sync(
    Direction.PULL,
    "demo.contact",
    ("external_id",),
    (
        FieldMapping("id", "external_id", Transform.TEXT, required=True),
        FieldMapping("", "kind", Transform.CHOICE, "", options={"a b": "x", "c": "y"}),
    ),
    query=(("active", "true"),),
    records="items",
    response=ResponseFormat(
        RecordFormat.CSV, Compression.ZIP, "c*.csv", "iso-8859-1", "\t", header=False
    ),
    pagination=Pagination(Paging.PAGE, 50, "per_page", "page", 0),
    incremental=Incremental(
        "updated_since", "updated_at", "-30d", "7d", "updated_before", "1h", "unix"
    ),
    gone=Gone.ARCHIVE,
    schedule="*/15 * * * *",
)
PUSH = Sync(
    Direction.PUSH,
    "demo.order",
    mappings=(FieldMapping("number", "number"),),
    body='{"n": "{number}"}\n',
    script="def transform(record):\n\treturn record\n",
    pagination=Pagination(Paging.CURSOR, cursor="meta.next"),
)


def test_every_key_of_a_synchronization_reaches_its_attribute() -> None:
    (line,) = parse_document(CONTACTS).lines
    assert line == SyncLine("contacts", "acme", "GET", "/contacts", READ)


@pytest.mark.parametrize("sync", [READ, PUSH])
def test_a_synchronization_comes_back_as_it_was_from_toml_and_from_json(
    sync: Sync,
) -> None:
    line = SyncLine("a line", "acme", "PATCH", "/x", sync)
    assert parse_document(render([], [line])).lines == (line,)
    assert read_sync(json.loads(json.dumps(sync_table(sync)))) == sync


def test_what_is_as_by_default_is_not_written() -> None:
    plain = Sync(target="demo.order", keys=("number",), mappings=PUSH.mappings)
    assert sync_table(plain) == {
        "direction": "pull",
        "target": "demo.order",
        "keys": ["number"],
        "fields": [{"api": "number", "host": "number"}],
    }


def test_a_synchronization_comes_back_as_it_was_without_the_request() -> None:
    for sync in (READ, PUSH):
        assert parse_sync(render_sync(sync)) == sync


def test_the_fields_of_a_synchronization_are_written_last() -> None:
    headings = [line for line in render_sync(READ).split("\n") if line[:1] == "["]
    assert headings == [
        "[response]",
        "[pagination]",
        "[incremental]",
        "[[fields]]",
        "[[fields]]",
    ]


@pytest.mark.parametrize("name", ["name", "configuration", "method", "path"])
def test_the_request_of_a_line_is_not_part_of_its_synchronization(name: str) -> None:
    with pytest.raises(ConfigError, match=f"{name} has a field of its own") as caught:
        parse_sync(f'{name} = "hunter2"\n{render_sync(READ)}')
    assert caught.value.field == "TOML"


def test_what_earlier_versions_stored_can_be_read() -> None:
    stored = {
        "direction": "pull",
        "target": "demo.contact",
        "keys": ["external_id"],
        "fields": [
            {"api": "id", "host": "external_id", "transform": "text"},
            {"api": "", "host": "name", "transform": "constant"},
        ],
        "query": {"active": "true"},
        "pagination": {"kind": "page", "position_parameter": "page"},
    }
    sync = read_sync(stored)
    assert (sync.query, sync.mappings[1].default) == ((("active", "true"),), None)
    assert sync_table(sync) == stored


TABLES = {
    "": (Sync, SYNC_FIELDS),
    "pagination": (Pagination, PAGINATION_FIELDS),
    "response": (ResponseFormat, RESPONSE_FIELDS),
    "incremental": (Incremental, INCREMENTAL_FIELDS),
    "fields": (FieldMapping, MAPPING_FIELDS),
    "children": (Children, CHILDREN_FIELDS),
    "for_each": (ForEach, FOR_EACH_FIELDS),
    "create": (PushRequest, CREATE_FIELDS),
    "update": (PushRequest, UPDATE_FIELDS),
    "delete": (PushRequest, DELETE_FIELDS),
    "find": (RecordSearch, FIND_FIELDS),
    "job": (JobSettings, JOB_FIELDS),
    "job.order": (JobOrder, ORDER_FIELDS),
    "job.poll": (JobPoll, POLL_FIELDS),
}
CHANGES_ONLY = replace(
    PUSH,
    create=PushRequest("POST", "/orders"),
    update=PushRequest("PATCH", "/orders/{remote_id}"),
    delete=PushRequest("DELETE", "/orders/{remote_id}"),
    find=RecordSearch("/orders?number={number}", "items[0].id"),
    recreate=True,
    remote_id="data.id",
    batch=50,
    records_at="items",
    results_at="results",
)
WITH_CHILDREN = replace(
    READ,
    children=(
        Children(
            "lines",
            "table:order_lines",
            parent=("contact",),
            keys=("contact", "position"),
            mappings=(
                FieldMapping("$index", "position"),
                FieldMapping("sku", "sku", Transform.TEXT),
            ),
        ),
    ),
    gone=Gone.DELETE,
    guard_percent=50,
    full_every="7d",
    feed=True,
    drift=DriftRule.STOP,
    writes=Writes.MODEL,
)


OF_PARENTS = replace(READ, for_each=ForEach("orders", ParentRecords.CHANGED))
OF_VALUES = replace(READ, for_each=ForEach(values=("DE", "a, b")))


ORDERED = replace(
    READ,
    job=JobSettings(
        JobOrder("PUT", "/reports", '{"from": "{since}"}'),
        "header:Location",
        JobPoll("/reports/{job.id}", 30),
        "status",
        ("done", "ready"),
        ("error",),
        "result.url",
        ("https://files.example",),
        90,
        PushRequest("DELETE", "/reports/{job.id}"),
    ),
)
SHORTLY_ORDERED = replace(
    READ,
    job=JobSettings(
        JobOrder(path="/reports"),
        id="id",
        poll=JobPoll("/reports/{job.id}"),
        state="status",
        done=("done",),
    ),
)


@pytest.mark.parametrize(
    "sync",
    [CHANGES_ONLY, WITH_CHILDREN, OF_PARENTS, OF_VALUES, ORDERED, SHORTLY_ORDERED],
)
def test_changed_records_and_children_come_back_as_they_were(sync: Sync) -> None:
    assert parse_sync(render_sync(sync)) == sync
    assert read_sync(sync_table(sync)) == sync


def test_a_job_is_written_with_what_is_not_as_by_default() -> None:
    assert sync_table(SHORTLY_ORDERED)["job"] == {
        "order": {"path": "/reports"},
        "id": "id",
        "poll": {"path": "/reports/{job.id}"},
        "state": "status",
        "done": ["done"],
    }
    table = sync_table(ORDERED)["job"]
    assert table["delete"] == {"path": "/reports/{job.id}"}


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"order": {}}, "job.order.path"),
        ({"order": {"path": ""}}, "job.order.path"),
        ({"poll": {}}, "job.poll.path"),
        ({"id": ""}, "job.id"),
        ({"state": ""}, "job.state"),
        ({"done": []}, "job.done"),
        ({"delete": {}}, "job.delete.path"),
        ({"max_minutes": 0}, "job.max_minutes"),
        ({"origins": ["https://files.example/x"]}, "job.origins[0]"),
        ({"origins": ["https://a.example", "files"]}, "job.origins[1]"),
        ({"origins": ["ftp://files.example"]}, "job.origins[0]"),
        ({"until": "x"}, "job.until"),
    ],
)
def test_a_job_without_what_it_needs_is_refused(
    changes: dict[str, object], field: str
) -> None:
    table = sync_table(ORDERED)
    table["job"] = table["job"] | changes
    with pytest.raises(ConfigError) as caught:
        read_sync(table)
    assert caught.value.field == field
    assert [error.field for error in sync_errors(table)] == [field]


def test_a_parent_with_several_keys_has_several_fields() -> None:
    children = replace(
        WITH_CHILDREN.children[0], parent=("a", "b"), keys=("a", "b", "position")
    )
    sync = replace(
        WITH_CHILDREN,
        keys=("external_id", "other"),
        mappings=(*READ.mappings, FieldMapping("x", "other")),
        children=(children,),
    )
    assert sync_table(sync)["children"][0]["parent"] == ["a", "b"]
    assert parse_sync(render_sync(sync)) == sync


@pytest.mark.parametrize(
    ("changes", "field", "reason"),
    [
        ({"parent": ""}, "parent", "must not be empty"),
        ({"parent": ["a", "b"]}, "parent", "as many fields as the line has keys"),
        ({"parent": 5}, "parent", "must be a list"),
        ({"keys": ["nothing"]}, "keys", "or of the parent"),
        ({"fields": [{"host": "contact"}]}, "fields[0].host", "mapped twice"),
    ],
)
def test_children_whose_parent_or_keys_cannot_be_told_are_refused(
    changes: dict[str, object], field: str, reason: str
) -> None:
    table = sync_table(WITH_CHILDREN)
    table["children"] = [table["children"][0] | changes]
    with pytest.raises(ConfigError, match=reason) as caught:
        read_sync(table)
    assert caught.value.field == f"children[0].{field}"


def test_a_push_with_requests_of_its_own_sends_only_what_has_changed() -> None:
    assert PUSH.pushed_records is PushedRecords.ALL
    assert CHANGES_ONLY.pushed_records is PushedRecords.CHANGED
    everything = replace(CHANGES_ONLY, changes=PushedRecords.ALL)
    assert everything.pushed_records is PushedRecords.ALL


@pytest.mark.parametrize("key", ["method", "path"])
def test_a_line_that_creates_records_has_no_other_request(key: str) -> None:
    text = render([], [SyncLine("x", "acme", "POST", "/", CHANGES_ONLY)])
    assert parse_document(text).lines[0].sync == CHANGES_ONLY
    with pytest.raises(ConfigError) as caught:
        parse_document(text.replace("direction", f'{key} = "/x"\ndirection', 1))
    assert caught.value.field == f"line.x.{key}"


@pytest.mark.parametrize("part", TABLES)
def test_the_table_and_the_values_have_the_same_names_and_defaults(part: str) -> None:
    kind, table = TABLES[part]
    attributes = {f.name: f for f in fields(kind)}
    assert [ATTRIBUTES.get(field.key, field.key) for field in table] == [*attributes]
    for field in table:
        known = attributes[ATTRIBUTES.get(field.key, field.key)]
        if known.default is not MISSING and field.key not in {"direction", "query"}:
            assert field.default == known.default


def test_every_field_of_a_line_is_described() -> None:
    labels = [field.label for field in EVERY_LINE_FIELD]
    assert len({*labels}) == len(labels)
    paths = {field.path: field for field in EVERY_LINE_FIELD}
    assert len(paths) == len(labels)
    for field in EVERY_LINE_FIELD:
        assert field.help.endswith(".")
        assert bool(field.choices) == (field.kind is Kind.CHOICE)
        assert bool(field.parts) == (field.kind in {Kind.TABLE, Kind.TABLES})
        assert {part.path for part in field.parts} <= {*paths}
        for path, values in field.when:
            assert {*values} <= {*dict(paths[path].choices)}


@pytest.mark.parametrize("key", ["target", "keys", "fields", "direction"])
def test_what_a_synchronization_needs_is_named_where_it_is_missing(key: str) -> None:
    table = sync_table(READ)
    del table[key]
    with pytest.raises(ConfigError) as caught:
        read_sync(table)
    assert caught.value.field == key


def test_a_push_needs_no_keys() -> None:
    assert read_sync(sync_table(PUSH)).keys == ()


def test_a_key_that_is_nearly_right_comes_with_a_suggestion() -> None:
    with pytest.raises(ConfigError) as caught:
        read_sync(sync_table(READ) | {"pagination": {"sise": 5}})
    assert caught.value.field == "pagination.sise"
    assert caught.value.hint == "Did you mean size?"


def test_a_line_that_only_names_a_call_synchronizes_nothing() -> None:
    (line,) = parse_document('[line.x]\nconfiguration = "acme"').lines
    assert (line.method, line.sync) == ("GET", None)


def test_a_push_posts_where_nothing_else_is_said() -> None:
    text = (
        '[line.x]\nconfiguration = "a"\ndirection = "push"\ntarget = "t"\nfields = [{'
        ' host = "n" }]'
    )
    assert parse_document(text).lines[0].method == "POST"


@pytest.mark.parametrize(
    ("said", "field", "reason"),
    [
        ('target = "demo.contact"', "direction", "pull or push"),
        ('direction = "hunter2"', "direction", "one of: pull, push"),
        ("target = 5", "target", "must be text"),
        ('target = "a\\u001bhunter2"', "target", "control character"),
        (f'records = "{"x" * 2001}"', "records", "longer than 2000"),
        ('target = ""', "target", "must not be empty"),
        ("keys = []", "keys", "must not be empty"),
        ('keys = ["name"]', "keys", "the host's field"),
        ('keys = "external_id"', "keys", "must be a list"),
        ("keys = [5]", "keys[0]", "must be text"),
        ("fields = []", "fields", "must not be empty"),
        ("fields = [5]", "fields[0]", "must be a table"),
        ('fields = [{ api = "a" }]', "fields[0].host", "must not be empty"),
        ('fields = [{ host = "a" }, { host = "a" }]', "fields[1].host", "mapped twice"),
        (
            'fields = [{ host = "a", required = 1 }]',
            "fields[0].required",
            "true or false",
        ),
        (
            'fields = [{ host = "a", transform = "x" }]',
            "fields[0].transform",
            "one of: as_is",
        ),
        (
            'fields = [{ host = "a", options = 1 }]',
            "fields[0].options",
            "texts by name",
        ),
        (
            'fields = [{ host = "a", options = { k = 1 } }]',
            "fields[0].options.k",
            "must be text",
        ),
        ("query = 5", "query", "texts by name"),
        ("pagination = 5", "pagination", "must be a table"),
        ("pagination = { size = 0 }", "pagination.size", "from 1 to"),
        ("pagination = { size = true }", "pagination.size", "whole number"),
        ("pagination = { size = 1.5 }", "pagination.size", "whole number"),
        ("pagination = { sise = 1 }", "pagination.sise", "unknown key"),
        ("incremental = { field = 1 }", "incremental.field", "must be text"),
        ('gone = "forget"', "gone", "one of: keep, archive"),
        (f'body = "{"x" * 65537}"', "body", "longer than 65536"),
    ],
)
def test_what_is_wrong_with_a_synchronization_is_named_and_never_repeated(
    said: str, field: str, reason: str
) -> None:
    key = said.partition(" ")[0]
    given = {
        "direction": '"pull"',
        "target": '"demo.contact"',
        "keys": '["external_id"]',
        "fields": '[{ host = "external_id" }]',
        key: said.partition(" = ")[2],
    }
    if field == "direction" and key == "target":
        given = {"target": '"demo.contact"'}
    rows = "\n".join(f"{name} = {value}" for name, value in given.items())
    with pytest.raises(ConfigError, match=reason) as caught:
        parse_document(f'[line.x]\nconfiguration = "acme"\n{rows}')
    assert caught.value.field == f"line.x.{field}"
    assert "hunter2" not in f"{caught.value} {caught.value.hint}"
