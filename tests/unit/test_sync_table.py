"""Sync lines as TOML: what is written is read again, and what is wrong is named."""

import json
from dataclasses import fields

import pytest

from outkey.core.config.configuration import SyncLine
from outkey.core.config.document import parse_document
from outkey.core.config.export import render
from outkey.core.errors import ConfigError
from outkey.core.sync.line import (
    Direction,
    FieldMapping,
    Gone,
    Incremental,
    Pagination,
    Paging,
    Sync,
    Transform,
)
from outkey.core.sync.table import SYNC_KEYS, read_sync, sync_table

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
[line.contacts.incremental]
parameter = "updated_since"
field = "updated_at"
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
    pagination=Pagination(Paging.PAGE, 50, "per_page", "page", 0),
    incremental=Incremental("updated_since", "updated_at"),
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


def test_every_attribute_has_a_key() -> None:
    named = {"fields" if f.name == "mappings" else f.name for f in fields(Sync)}
    assert named == set(SYNC_KEYS)


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
        ('target = "a\\u001bhunter2"', "target", "control characters"),
        (f'records = "{"x" * 2001}"', "records", "at most 2000"),
        ('target = ""', "target", "needs a target"),
        ("keys = []", "keys", "needs keys"),
        ('keys = ["name"]', "keys", "each the host"),
        ('keys = "external_id"', "keys", "must be a list"),
        ("keys = [5]", "keys[0]", "must be text"),
        ("fields = []", "fields", "needs fields"),
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
            "names with texts",
        ),
        (
            'fields = [{ host = "a", options = { k = 1 } }]',
            "fields[0].options.k",
            "must be text",
        ),
        ("query = 5", "query", "names with texts"),
        ("pagination = 5", "pagination", "must be a table"),
        ("pagination = { size = 0 }", "pagination.size", "from 1 to"),
        ("pagination = { size = true }", "pagination.size", "whole number"),
        ("pagination = { size = 1.5 }", "pagination.size", "whole number"),
        ("pagination = { sise = 1 }", "pagination.sise", "unknown key"),
        ("incremental = { field = 1 }", "incremental.field", "must be text"),
        ('gone = "delete"', "gone", "one of: keep, archive"),
        (f'body = "{"x" * 65537}"', "body", "at most 65536"),
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
