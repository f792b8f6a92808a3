"""A sync line that is renamed stays the same one: what knows it by name follows."""

from dataclasses import replace

import pytest

from outkey.administration.engine.subjects.runs import Synchronization
from outkey.foundation.core.errors import (
    ConfigError,
    EditConflict,
    LineBusy,
    UnknownConfiguration,
)
from outkey.sending.core.audit.events import Change, Tag
from outkey.sync.core.line.line import Children, FieldMapping, ForEach, SyncLine
from outkey.sync.core.pairs.section import Pair
from outkey.testing import configuration
from unit.application_in_memory import MemoryHost, memory_host
from unit.sync.engine.pull.test_sync_run import PULL, PUSH

PEOPLE = SyncLine("people", "acme", "GET", "/people", PULL)
SEND = SyncLine("send", "acme", "POST", "/people", PUSH)


def with_lines() -> MemoryHost:
    host = memory_host(configuration())
    host.application.administration("ada").save_lines([PEOPLE, SEND])
    host.audit.events.clear()
    return host


def rename(host: MemoryHost, new_name: str, name: str = "people") -> None:
    application = host.application
    application.lines.rename(application.administration("ada"), name, new_name)


def test_a_renamed_line_keeps_what_it_does_and_its_versions() -> None:
    host = with_lines()
    rename(host, "staff")
    assert host.registry.line("staff") == replace(PEOPLE, name="staff")
    with pytest.raises(UnknownConfiguration):
        host.registry.line("people")
    (version,) = host.registry.line_versions("staff")
    assert (version.line, version.number) == ("staff", 1)


def test_both_names_are_recorded() -> None:
    host = with_lines()
    rename(host, "staff")
    assert host.audit.events == [
        Change(Tag.LINE_RENAMED, "ada", "acme", (name,)) for name in ("people", "staff")
    ]


def test_a_pause_and_a_pair_follow_their_line() -> None:
    host = with_lines()
    settings = host.application.sync_settings
    settings.put((), [Pair("both", "people", "send"), Pair("other", "a", "b")])
    host.application.runs.pause_line("people")
    host.application.runs.reset_line("people", "2026")
    rename(host, "staff")
    assert host.application.runs.paused_lines() == {"staff"}
    dry = host.application.runs.begin("staff", "ada", dry_run=True)
    assert dry.since == "2026"
    host.application.runs.cancel(dry.id)
    assert settings.pairs() == {
        "both": Pair("both", "staff", "send"),
        "other": Pair("other", "a", "b"),
    }
    rename(host, "send staff", name="send")
    assert settings.pairs()["both"] == Pair("both", "staff", "send staff")


@pytest.mark.parametrize("running", ["people", "send"])
def test_a_line_is_not_renamed_while_it_or_its_pair_runs(running: str) -> None:
    host = with_lines()
    host.application.sync_settings.put((), [Pair("both", "people", "send")])
    run = host.application.runs.begin(running, "ada", dry_run=False)
    with pytest.raises(LineBusy) as caught:
        rename(host, "staff")
    assert caught.value.run == run.id
    assert host.registry.line("people") == PEOPLE
    assert host.audit.events == []


@pytest.mark.parametrize("name", ["", "send", "x" * 201])
def test_a_name_that_is_taken_or_invalid_is_refused(name: str) -> None:
    host = with_lines()
    with pytest.raises(ConfigError) as caught:
        rename(host, name)
    assert caught.value.field == "name"
    assert host.registry.line("people") == PEOPLE
    assert host.audit.events == []


def test_the_same_name_changes_nothing() -> None:
    host = with_lines()
    rename(host, "people")
    assert host.audit.events == []


class RecordedRenames:
    """Tables that remember which line was renamed in which of them."""

    def __init__(self) -> None:
        self.renames: list[tuple[str, str, str]] = []

    def rename_line(self, target: str, line: str, new_name: str) -> None:
        self.renames.append((target, line, new_name))


def test_the_rows_of_its_tables_follow_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    host = with_lines()
    child = Children(
        "parts",
        "table:parts",
        parent=("person",),
        keys=("person", "number"),
        mappings=(FieldMapping("$index", "number"),),
    )
    into_tables = replace(PULL, target="table:people", children=(child,))
    line = replace(PEOPLE, name="filled", sync=into_tables)
    host.application.administration("ada").save_lines([line])
    tables = RecordedRenames()
    monkeypatch.setattr(Synchronization, "tables", lambda _: tables)
    rename(host, "filled again", name="filled")
    assert tables.renames == [
        ("table:people", "filled", "filled again"),
        ("table:parts", "filled", "filled again"),
    ]


def test_a_line_that_only_names_a_request_is_renamed_too() -> None:
    host = with_lines()
    call = SyncLine("ping", "acme", "GET", "/ping")
    host.application.administration("ada").save_lines([call])
    rename(host, "pong", name="ping")
    assert host.registry.line("pong") == replace(call, name="pong")


def test_a_name_that_another_process_has_just_taken_is_refused() -> None:
    host = with_lines()
    with pytest.raises(ConfigError) as caught:
        host.registry.rename_line("people", "send")
    assert caught.value.field == "name"


def test_a_line_that_another_process_has_just_deleted_is_a_conflict(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    host = with_lines()
    lines = host.registry._storage.lines
    monkeypatch.setattr(lines, "swap", lambda *_rows: False)
    with pytest.raises(EditConflict):
        host.registry.rename_line("people", "staff")


def test_a_line_whose_records_are_parents_is_neither_renamed_nor_deleted() -> None:
    host = with_lines()
    administration = host.application.administration("ada")
    items = replace(PULL, for_each=ForEach("people"))
    path = "/people/{parent.number}/items"
    administration.save_lines([SyncLine("items", "acme", "GET", path, items)])
    with pytest.raises(ConfigError, match="parents of the line items"):
        rename(host, "staff")
    with pytest.raises(ConfigError, match="parents of the line items"):
        host.application.lines.remove(administration, "people")
    assert host.registry.line("people") == PEOPLE
    host.application.lines.remove(administration, "items")
    rename(host, "staff")
