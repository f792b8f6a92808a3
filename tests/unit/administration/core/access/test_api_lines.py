"""Sync lines that a program creates, changes and deletes with its token."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from outkey.administration.core.access.api_tokens import Scope
from outkey.administration.core.access.http_statuses import status_of
from outkey.administration.engine.access.api_access import ApiAccess, ApiSubject
from outkey.administration.engine.access.api_lines import ApiLines, SavedLine
from outkey.foundation.core.errors import (
    BlockedByPolicy,
    ConfigError,
    EditConflict,
    EgressDenied,
    OutkeyError,
    ScopeMissing,
    UnknownConfiguration,
)
from outkey.foundation.core.shared_state import StateKind
from outkey.sending.core.audit.events import Change, Tag
from outkey.sync.core.line.facts import line_facts
from outkey.sync.engine.sync_settings import SyncSettings
from outkey.testing.fakes.storage import MemoryLineRows
from unit.administration.core.access.test_api_access import access, prepared

TABLE: dict[str, object] = {
    "configuration": "acme",
    "path": "/items",
    "direction": "pull",
    "target": "table:items",
    "keys": ["id"],
    "fields": [{"api": "id", "host": "id"}],
}
CHILD = {
    "list": "rows",
    "target": "contact",
    "parent": ["item"],
    "keys": ["row"],
    "fields": [{"api": "row", "host": "row"}],
}
PUSH: dict[str, object] = {
    "configuration": "acme",
    "direction": "push",
    "target": "table:items",
    "fields": [{"api": "id", "host": "id"}],
    "create": {"method": "POST", "path": "/items"},
    "remote_id": "id",
}


def put(granted: ApiAccess, name: str = "items", **facts: object) -> SavedLine:
    return ApiLines(granted).save(name, TABLE | facts, whole=True)


def patch(granted: ApiAccess, name: str = "items", **facts: object) -> SavedLine:
    return ApiLines(granted).save(name, facts, whole=False)


def test_a_line_that_another_program_has_changed_is_not_deleted() -> None:
    granted = access(prepared())
    seen = put(granted).stored.tag
    changed = patch(granted, schedule="0 6 * * *").stored.tag
    with pytest.raises(EditConflict):
        ApiLines(granted).remove("items", seen)
    assert ApiLines(granted).get("items").tag == changed
    ApiLines(granted).remove("items", changed)


def test_a_line_is_created_replaced_changed_and_deleted() -> None:
    host = prepared()
    granted = access(host)
    made = put(granted, schedule="0 6 * * *", pagination={"kind": "page", "size": 50})
    assert made.created
    changed = patch(granted, pagination={"size": 20}, schedule=None)
    sync = changed.stored.line.sync
    assert sync is not None
    assert (sync.pagination.kind, sync.pagination.size) == ("page", 20)
    assert sync.schedule == ""
    replaced = put(granted, path="/others")
    assert not replaced.created
    assert replaced.stored.line.path == "/others"
    assert replaced.stored.line.sync == replace(
        sync, pagination=type(sync.pagination)()
    )
    ApiLines(granted).remove("items")
    with pytest.raises(UnknownConfiguration):
        ApiLines(granted).get("items")
    assert [
        (event.tag, event.actor, event.configuration, event.fields)
        for event in host.audit.events
        if isinstance(event, Change)
    ] == [
        (Tag.LINE_SAVED, "token:ci", "acme", ("items",)),
        (Tag.LINE_SAVED, "token:ci", "acme", ("items",)),
        (Tag.LINE_SAVED, "token:ci", "acme", ("items",)),
        (Tag.LINE_REMOVED, "token:ci", "acme", ("items",)),
    ]


def test_each_save_is_a_version_and_the_same_settings_are_none() -> None:
    host = prepared()
    granted = access(host)
    first = put(granted)
    host.audit.events.clear()
    assert put(granted).stored == first.stored
    assert host.audit.events == []
    second = patch(granted, path="/x")
    assert second.stored.tag != first.stored.tag
    versions = host.registry.line_versions("items")
    assert [(version.number, version.actor) for version in versions] == [
        (2, "token:ci"),
        (1, "token:ci"),
    ]


def test_a_line_of_before_versions_has_a_tag_too() -> None:
    host = prepared()
    lines = host.registry._lines
    assert isinstance(lines, MemoryLineRows)
    granted = access(host, allow_targets=True)
    lines.versions_of.clear()
    stored = ApiLines(granted).get("contacts")
    assert stored.number == 0
    saved = ApiLines(granted).save(
        "contacts", {"path": "/x"}, whole=False, version=stored.tag
    )
    assert saved.stored.number == 2, "what was stored before is a version too"


def test_a_version_that_was_not_seen_is_not_replaced() -> None:
    granted = access(prepared())
    lines = ApiLines(granted)
    tag = put(granted).stored.tag
    for facts, whole in ((TABLE, True), ({"path": "/x"}, False)):
        with pytest.raises(EditConflict, match="If-Match") as caught:
            lines.save("items", facts, whole=whole, version='"1-other"')
        assert status_of(caught.value) == 412
    with pytest.raises(EditConflict):
        lines.save("new", TABLE, whole=True, version="*")
    lines.save("items", {"path": "/x"}, whole=False, version=f'"a", {tag}')
    lines.save("items", {"path": "/y"}, whole=False, version="*")


def test_a_line_that_was_made_again_has_another_tag() -> None:
    granted = access(prepared())
    first = put(granted).stored
    ApiLines(granted).remove("items")
    second = put(granted, path="/others").stored
    assert second.number == first.number
    assert second.tag != first.tag


@pytest.mark.parametrize(("version", "status"), [("*", 412), ("", 409)])
def test_of_two_editors_at_once_one_wins(
    monkeypatch: pytest.MonkeyPatch, version: str, status: int
) -> None:
    host = prepared()
    granted = access(host)
    put(granted)
    read = SyncSettings.pairs

    def read_while_another_saves(settings: SyncSettings) -> object:
        monkeypatch.undo()
        patch(granted, path="/first")
        return read(settings)

    monkeypatch.setattr(SyncSettings, "pairs", read_while_another_saves)
    with pytest.raises(EditConflict) as caught:
        ApiLines(granted).save(
            "items", {"path": "/second"}, whole=False, version=version
        )
    assert status_of(caught.value) == status
    assert host.registry.line("items").path == "/first"


@pytest.mark.parametrize("facts", [TABLE, PUSH, {"configuration": "acme"}])
def test_what_is_shown_can_be_sent_back(facts: Mapping[str, object]) -> None:
    granted = access(prepared())
    saved = ApiLines(granted).save("items", facts, whole=True).stored
    shown = line_facts(saved.line, ()) | {"findings": []}
    assert ApiLines(granted).save("items", shown, whole=True).stored == saved
    assert ApiLines(granted).save("items", shown, whole=False).stored == saved


def test_a_push_with_requests_has_no_method_of_its_own() -> None:
    granted = access(prepared())
    with pytest.raises(ConfigError) as caught:
        ApiLines(granted).save("items", PUSH | {"path": "/x"}, whole=True)
    assert caught.value.field == "path"


def test_findings_name_the_keys_of_the_body() -> None:
    saved = put(access(prepared(), allow_targets=True), target="contact")
    assert saved.findings
    assert [finding.field for finding in saved.findings if finding.id == "L001"] == [
        "fields[0].host"
    ]


@pytest.mark.parametrize(
    ("facts", "field", "status"),
    [
        ({"configuration": "nothing"}, "configuration", 404),
        ({"configuration": ""}, "configuration", 422),
        ({"direction": "up"}, "direction", 422),
        ({"fields": [{"api": "id", "host": "id", "odd": 1}]}, "fields[0].odd", 422),
        ({"pagination": {"size": "ten"}}, "pagination.size", 422),
        ({"pagination": []}, "pagination", 422),
        ({"target": "table:a b"}, "target", 422),
        ({"odd": 1}, "odd", 422),
        ({"name": "other"}, "name", 400),
        ({"name": 5}, "name", 400),
        ({"script": "def transform(record:"}, None, 422),
        ({"target": "contact"}, "target", 403),
        ({"target": "file:a.csv"}, "target", 403),
        ({"target": "table:warehouse.items"}, "target", 403),
        (
            {"children": [CHILD]},
            "children[0].target",
            403,
        ),
        (
            {
                "fields": [
                    {"api": "id", "host": "id"},
                    {
                        "api": "x",
                        "host": "x",
                        "transform": "lookup",
                        "options": {"target": "contact", "field": "name"},
                    },
                ]
            },
            "fields[1].options.target",
            403,
        ),
    ],
)
def test_what_is_wrong_is_named_by_its_key(
    facts: Mapping[str, object], field: str | None, status: int
) -> None:
    host = prepared()
    granted = access(host)
    with pytest.raises(OutkeyError) as caught:
        ApiLines(granted).save("items", TABLE | facts, whole=True)
    assert status_of(caught.value) == status
    if field is not None:
        assert caught.value.field == field
    assert not host.registry.timetable(["items"])


def test_a_token_with_allow_targets_uses_other_targets() -> None:
    host = prepared()
    granted = access(host, allow_targets=True)
    assert put(granted, target="contact").created
    # One without it cannot change such a line, but can delete it.
    bare = access(host, name="bare")
    with pytest.raises(BlockedByPolicy, match="tables in the database of outkey"):
        patch(bare, path="/x")
    ApiLines(bare).remove("items")


REPORT = {
    "job": {
        "order": {"path": "/reports"},
        "id": "id",
        "poll": {"path": "/reports/{job.id}"},
        "state": "state",
        "done": ["done"],
        "url": "url",
        "origins": ["http://10.0.0.7"],
    }
}


def test_files_at_other_origins_of_the_internal_network_need_allow_internal() -> None:
    host = prepared()
    granted = access(host)
    put(granted, **REPORT)  # the network of the configuration refuses them
    trusted = access(host, name="trusted", allow_internal=True)
    trusted.save("acme", {"network": "internal"}, whole=False)
    patch(granted, path="/files")
    for origins in (["http://10.0.0.8"], ["http://10.0.0.7", "http://10.0.0.8"]):
        with pytest.raises(EgressDenied) as caught:
            patch(granted, job={"origins": origins})
        assert caught.value.field == "job.origins"
    with pytest.raises(EgressDenied):
        put(granted, "others", **REPORT)
    patch(trusted, job={"origins": ["http://10.0.0.8"]})
    patch(granted, job={"origins": []})


def test_a_script_is_part_of_the_scope() -> None:
    """As the script that signs the requests of a configuration."""
    script = "def transform(record):\n    return record\n"
    saved = put(access(prepared()), script=script)
    assert saved.stored.line.sync is not None
    assert saved.stored.line.sync.script == script


ACTIONS: dict[str, Callable[[ApiAccess], object]] = {
    "put": put,
    "patch": lambda granted: patch(granted, path="/x"),
    "delete": lambda granted: ApiLines(granted).remove("items"),
}


@pytest.mark.parametrize("scope", [scope for scope in Scope if scope != Scope.MANAGE])
@pytest.mark.parametrize("action", ACTIONS)
def test_a_change_needs_its_scope(action: str, scope: Scope) -> None:
    with pytest.raises(ScopeMissing):
        ACTIONS[action](access(prepared(), scope))


def test_an_unknown_line_is_neither_changed_nor_deleted() -> None:
    granted = access(prepared())
    for action in ("patch", "delete"):
        with pytest.raises(UnknownConfiguration, match="no sync line"):
            ACTIONS[action](granted)


def test_a_limited_token_changes_lines_of_its_configurations_only() -> None:
    host = prepared()
    put(access(host))
    limited = access(host, name="limited", configurations=("other",))
    for action in ACTIONS.values():
        with pytest.raises(UnknownConfiguration, match="no sync line"):
            action(limited)
    for facts in ({"configuration": "acme"}, {"configuration": "nothing"}):
        with pytest.raises(UnknownConfiguration) as caught:
            put(limited, "mine", **facts)
        assert "acme" not in f"{caught.value} {caught.value.hint}"
    assert put(limited, "mine", configuration="other", target="table:mine").created
    # Neither out of it, nor away from others.
    with pytest.raises(UnknownConfiguration):
        patch(limited, "mine", configuration="acme")
    own = access(host, name="own", configurations=("acme",))
    with pytest.raises(UnknownConfiguration):
        patch(own, "mine", configuration="acme")


def test_a_limited_token_uses_no_table_of_another_configuration() -> None:
    """A push could send its records to another API."""
    host = prepared()
    put(access(host))
    ApiLines(access(host, name="x")).save("a", {"configuration": "acme"}, whole=True)
    limited = access(host, name="limited", configurations=("other",))
    with pytest.raises(BlockedByPolicy, match="belongs to another") as caught:
        put(limited, "mine", configuration="other", target="table:ITEMS")
    assert caught.value.field == "target"
    # A table that a line of its own uses already is shared.
    line = host.registry.line("items")
    host.registry.put_line(replace(line, name="shared", configuration="other"))
    put(limited, "mine", configuration="other")


def test_a_limited_token_uses_no_table_that_lost_its_line() -> None:
    """It has the records of another configuration, perhaps."""
    host = prepared()
    host.application.states.put(StateKind.TABLE, {"table:Items": {}})
    limited = access(host, name="limited", configurations=("acme",))
    with pytest.raises(BlockedByPolicy, match="belongs to another"):
        put(limited)
    put(access(host))
    assert patch(limited, path="/x").stored.line.path == "/x", "it has a line now"


def test_the_line_of_the_parents_is_one_that_the_token_is_for() -> None:
    """Its records become a part of requests."""
    host = prepared()
    granted = access(host)
    put(granted)
    parents = {"line": "items"}
    rows = {"target": "table:rows", "path": "/items/{parent.id}", "for_each": parents}
    put(granted, "rows", **rows)
    with pytest.raises(BlockedByPolicy) as refused:
        put(granted, "rows", **rows | {"for_each": {"line": "contacts"}})
    assert refused.value.field == "for_each.line", "a model"
    other = access(host, name="limited", configurations=("other",))
    own = rows | {"configuration": "other", "target": "table:own"}
    with pytest.raises(UnknownConfiguration, match="no sync line") as caught:
        put(other, "own", **own)
    assert caught.value.field == "for_each.line"


def test_a_line_of_its_own_or_a_new_one_is_admitted() -> None:
    host = prepared()
    limited = access(host, configurations=("acme",))
    for name in ("contacts", "new"):
        limited.admit([Scope.MANAGE], ApiSubject.NEW_LINE, name)
    with pytest.raises(UnknownConfiguration):
        limited.admit([Scope.MANAGE], ApiSubject.NEW_LINE, "orders")


def test_a_line_that_a_webhook_needs_stays() -> None:
    host = prepared()
    granted = access(host)
    with pytest.raises(ConfigError, match="webhooks need it"):
        ApiLines(granted).remove("contacts")
    assert host.registry.line("contacts")
