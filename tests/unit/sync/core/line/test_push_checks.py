"""What is wrong with the requests of a push is told before it runs."""

from dataclasses import replace

import pytest

from outkey.sync.core.line.line import (
    Direction,
    PushRequest,
    RecordSearch,
    Sync,
    SyncLine,
)
from outkey.sync.core.line.push_checks import request_findings
from outkey.sync.core.mapping.records import FieldKind, HostField
from unit.sync.engine.pull.test_sync_run import PULL, fake_sync
from unit.sync.engine.push.test_sync_ledger import BATCH, FIND, ONE, PUSH

FIELDS = (HostField("number", "Number", FieldKind.TEXT),)
NONE = PushRequest()


def found(sync: Sync, path: str = "/") -> list[tuple[str, str | None]]:
    line = SyncLine("x", "acme", "POST", path, sync)
    return [(f.id, f.field) for f in request_findings(line, sync, FIELDS)]


@pytest.mark.parametrize(
    "sync",
    [
        PUSH,
        BATCH,
        replace(PUSH, find=FIND, recreate=True),
        replace(BATCH, records_at="@"),
        replace(BATCH, create=NONE, update=PushRequest("PUT", "/x"), body=""),
        replace(BATCH, create=PushRequest("PUT", "/x/{number}"), results_at=""),
        Sync(direction=Direction.PUSH),
        PULL,
    ],
)
def test_what_works_has_no_findings(sync: Sync) -> None:
    assert found(sync) == []


@pytest.mark.parametrize(
    ("sync", "finding"),
    [
        (replace(PUSH, create=PushRequest("GET", "/x")), ("L030", "create.method")),
        (replace(PUSH, update=PushRequest("DELETE", ONE)), ("L030", "update.method")),
        (replace(PUSH, delete=PushRequest("GET", ONE)), ("L030", "delete.method")),
        (replace(PUSH, update=NONE), ("L031", "update")),
        (replace(PUSH, create=NONE), ("L032", "create")),
        (replace(PUSH, remote_id=""), ("L034", "remote_id")),
        (replace(BATCH, records_at=""), ("L035", "records_at")),
        (replace(BATCH, records_at="a..b"), ("L035", "records_at")),
        (replace(BATCH, results_at=""), ("L036", "results_at")),
        (replace(PUSH, delete=PushRequest("DELETE", "/x")), ("L037", "delete.path")),
        (replace(PUSH, create=PushRequest("POST", ONE)), ("L008", "create.path")),
        (
            replace(PUSH, update=PushRequest("PUT", "/{unknown}/{remote_id}")),
            ("L008", "update.path"),
        ),
        (
            replace(PUSH, delete=PushRequest("DELETE", "/{number}")),
            ("L008", "delete.path"),
        ),
        (
            replace(PUSH, find=RecordSearch("/x?{remote_id}", "id")),
            ("L008", "find.path"),
        ),
    ],
)
def test_what_does_not_work_is_told(sync: Sync, finding: tuple[str, str]) -> None:
    assert found(sync) == [finding]


def test_finding_and_creating_again_need_a_create() -> None:
    sync = Sync(direction=Direction.PUSH, find=FIND, recreate=True)
    assert found(sync) == [("L033", "find"), ("L033", "recreate")]


def test_the_path_of_a_line_with_requests_has_no_effect() -> None:
    assert found(PUSH, "/orders/{anything}") == [("L038", "path")]


def test_the_id_at_the_api_is_a_placeholder_of_the_body_only_with_requests() -> None:
    body = '{"id": "{remote_id}"}'
    made = fake_sync(replace(PUSH, body=body), method="GET", path="/")
    assert made.runner.check("contacts") == []
    single = replace(PUSH, body=body, create=NONE, update=NONE, delete=NONE)
    made = fake_sync(single, method="GET", path="/{remote_id}")
    fields = [(finding.id, finding.field) for finding in made.runner.check("contacts")]
    assert fields == [("L006", "method"), ("L008", "path"), ("L008", "body")]
