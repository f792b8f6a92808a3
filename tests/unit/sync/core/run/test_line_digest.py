"""The digest that says whether a checkpoint still belongs to a line."""

import hashlib
import json
from dataclasses import fields, replace

import pytest

from outkey.sync.core.line.line import (
    Children,
    Direction,
    DriftRule,
    FieldMapping,
    ForEach,
    Gone,
    Incremental,
    JobOrder,
    JobSettings,
    Pagination,
    Paging,
    PushedRecords,
    PushRequest,
    RecordSearch,
    ResponseFormat,
    Sync,
    SyncLine,
    Writes,
)
from outkey.sync.core.run.line_digest import INDEPENDENT_KEYS, line_digest
from outkey.testing import configuration

RECORD = "6f9619ff8b86d011b42d00cf4fc964ff"
CONFIGURATION = replace(configuration(), record=RECORD)
SYNC = Sync(
    target="demo.contact",
    keys=("external_id",),
    mappings=(FieldMapping("id", "external_id"), FieldMapping("n", "name")),
    pagination=Pagination(Paging.PAGE, 50, "size", "page"),
    query=(("active", "1"),),
    schedule="0 * * * *",
    parallel=4,
)
LINE = SyncLine("contacts", "acme", "GET", "/contacts", SYNC)
CHANGES = {
    "direction": Direction.PUSH,
    "target": "demo.order",
    "keys": ("name",),
    "mappings": (FieldMapping("id", "external_id"),),
    "query": (),
    "body": "{}",
    "records": "data",
    "response": ResponseFormat(header=False),
    "pagination": Pagination(),
    "incremental": Incremental("since", "changed"),
    "gone": Gone.ARCHIVE,
    "script": "def transform(record): return record",
    "writes": Writes.MODEL,
    "for_each": ForEach("orders"),
    "children": (
        Children(
            "lines",
            "table:lines",
            parent=("contact",),
            keys=("contact", "sku"),
            mappings=(FieldMapping("sku", "sku"),),
        ),
    ),
    "changes": PushedRecords.CHANGED,
    "create": PushRequest("POST", "/contacts"),
    "update": PushRequest("PUT", "/contacts/{remote_id}"),
    "delete": PushRequest("DELETE", "/contacts/{remote_id}"),
    "job": JobSettings(JobOrder(path="/reports")),
    "find": RecordSearch("/contacts?name={name}", "[0].id"),
    "recreate": True,
    "remote_id": "id",
    "batch": 50,
    "records_at": "items",
    "results_at": "results",
    "guard_percent": 50,
    "full_every": "7d",
    "feed": True,
    "drift": DriftRule.STOP,
    "schedule": "",
    "parallel": 1,
    "max_records": 7,
    "max_minutes": 7,
}


def test_the_digest_is_that_of_version_0_1() -> None:
    """Its formula: changing it would make every line begin again."""
    table = {
        "direction": "pull",
        "target": "demo.contact",
        "keys": ["external_id"],
        "fields": [
            {"api": "id", "host": "external_id"},
            {"api": "n", "host": "name"},
        ],
        "query": {"active": "1"},
        "pagination": {
            "kind": "page",
            "size": 50,
            "size_parameter": "size",
            "position_parameter": "page",
        },
    }
    stored = ["6f9619ff-8b86-d011-b42d-00cf4fc964ff", "GET", "/contacts", table]
    digest = hashlib.sha256(json.dumps(stored, sort_keys=True).encode()).hexdigest()
    assert line_digest(LINE, CONFIGURATION) == digest


@pytest.mark.parametrize("field", [field.name for field in fields(Sync)])
def test_every_setting_of_a_line_changes_the_digest_or_changes_no_record(
    field: str,
) -> None:
    changed = replace(LINE, sync=replace(SYNC, **{field: CHANGES[field]}))
    is_same = line_digest(changed, CONFIGURATION) == line_digest(LINE, CONFIGURATION)
    assert is_same is (field in INDEPENDENT_KEYS)


def test_the_digest_depends_on_the_request_and_not_on_names() -> None:
    digest = line_digest(LINE, CONFIGURATION)
    for changed in (
        replace(LINE, method="POST"),
        replace(LINE, path="/"),
        replace(LINE, sync=None),
    ):
        assert line_digest(changed, CONFIGURATION) != digest
    renamed = replace(LINE, name="people", configuration="other")
    assert line_digest(renamed, replace(CONFIGURATION, name="other")) == digest


def test_a_host_may_have_other_ids_than_uuids() -> None:
    first, second = (
        line_digest(LINE, replace(CONFIGURATION, record=record))
        for record in ("1", "2")
    )
    assert first != second
