"""The versions of a sync line, and its text as the user wrote it."""

from dataclasses import replace

import pytest

from outkey.foundation.adapters.clock_system import SystemClock
from outkey.foundation.core.errors import ConfigError, EditConflict
from outkey.sync.core.line.history import (
    MOST_VERSIONS,
    read_version,
    version_text,
    written_sync,
)
from outkey.sync.core.line.line import SyncLine
from outkey.sync.core.line.rows import LineRow
from outkey.sync.core.line.section import render_sync
from outkey.sync.engine.line_registry import Registry
from outkey.testing import configuration
from outkey.testing.fakes.storage import MemoryLineRows, memory_storage
from unit.administration.engine.editing.test_changes import Office
from unit.sync.engine.pull.test_sync_run import PULL

LINE = SyncLine("people", "acme", "GET", "/people", PULL)
COMMENTED = "# every night\n" + render_sync(PULL)


def test_the_text_of_a_line_is_what_its_user_wrote_while_it_says_what_is_stored() -> (
    None
):
    assert written_sync(replace(LINE, source=COMMENTED)) == COMMENTED
    rendered = render_sync(PULL)
    for outdated in ("", "target = 'other'", "direction =", "colour = 'red'"):
        assert written_sync(replace(LINE, source=outdated)) == rendered, outdated
    assert written_sync(SyncLine("call", "acme", "GET", "/", source="# x")) == ""


@pytest.mark.parametrize("path", ["/people", "/a\nb\n\nc", '/"quoted"\\'])
def test_a_version_has_the_whole_line_with_its_comments(path: str) -> None:
    line = replace(LINE, path=path, source=COMMENTED)
    version = read_version("people", version_text(line))
    assert version == line
    assert version.source == COMMENTED
    call = SyncLine("call", "acme", "PUT", path)
    assert read_version("call", version_text(call)) == call


def test_a_version_that_cannot_be_read_is_refused() -> None:
    for text in ("", "path =", "path = 1\n\ndirection = 'sideways'"):
        with pytest.raises(ConfigError):
            read_version("people", text)


def test_every_save_makes_a_version_unless_nothing_changed() -> None:
    office = Office(configuration())
    office.administration.save_line(LINE)
    office.administration.save_line(LINE)
    office.administration.save_lines([replace(LINE, path="/all")])
    office.administration.save(lines=[replace(LINE, source=COMMENTED)])
    versions = office.registry.line_versions("people")
    assert [version.number for version in versions] == [3, 2, 1]
    assert {version.actor for version in versions} == {office.administration.actor}
    assert [read_version("people", version.text).path for version in versions] == [
        "/people",
        "/all",
        "/people",
    ]
    assert office.registry.line("people").source == COMMENTED


def test_a_save_of_another_version_than_was_seen_is_a_conflict() -> None:
    office = Office(configuration())
    save = office.administration.save_line
    save(LINE, seen=0)
    save(replace(LINE, path="/mine"), seen=1)
    with pytest.raises(EditConflict):
        save(replace(LINE, path="/theirs"), seen=1)
    assert office.registry.line("people").path == "/mine"
    save(replace(LINE, path="/theirs"), seen=2)
    assert office.registry.line("people").path == "/theirs"


def test_the_oldest_versions_are_deleted() -> None:
    office = Office(configuration())
    for number in range(MOST_VERSIONS + 3):
        office.registry.put_line(replace(LINE, path=f"/{number}"))
    versions = office.registry.line_versions("people")
    assert len(versions) == MOST_VERSIONS
    assert versions[-1].number == 4


def test_a_line_from_before_versions_has_its_former_state_as_the_first_one() -> None:
    storage = memory_storage()
    registry = Registry(storage, SystemClock())
    registry.add(configuration())
    storage.lines.swap(None, LineRow("people", "acme", "GET", "/old", None))
    storage.lines.swap(None, LineRow("odd", "acme", "GET", "/", {"colour": "red"}))
    registry.put_line(LINE)
    registry.put_line(replace(LINE, name="odd"))
    texts = [version.text for version in registry.line_versions("people")]
    assert texts == [
        version_text(LINE),
        version_text(LineRow("people", "acme", "GET", "/old", None).line()),
    ]
    assert len(registry.line_versions("odd")) == 1


class BusyLines(MemoryLineRows):
    """Another process stores a version of each number first."""

    def add_version(self, version: object, oldest: int) -> bool:
        return False


def test_two_saves_at_the_same_moment_are_a_conflict() -> None:
    storage = memory_storage(lines=BusyLines())
    registry = Registry(storage, SystemClock())
    registry.add(configuration())
    with pytest.raises(EditConflict):
        registry.put_line(LINE)
    assert storage.lines.find() == []
    storage.lines.swap(None, LineRow("people", "acme", "GET", "/old", None))
    with pytest.raises(EditConflict):
        registry.put_line(LINE)


def test_a_version_says_what_changed() -> None:
    office = Office(configuration())
    save = office.administration.save_line
    save(LINE)
    save(replace(LINE, path="/all"))
    save(replace(LINE, path="/all", source=COMMENTED))
    save(replace(LINE, path="/other", method="POST"))
    summaries = [version.summary for version in office.registry.line_versions("people")]
    assert summaries == [
        "2 fields changed",
        "comments changed",
        "Path: /people → /all",
        "created",
    ]


def test_a_line_that_could_not_be_read_is_changed_without_details() -> None:
    storage = memory_storage()
    registry = Registry(storage, SystemClock())
    registry.add(configuration())
    storage.lines.swap(None, LineRow("people", "acme", "GET", "/", {"colour": "red"}))
    registry.put_line(LINE)
    assert [version.summary for version in registry.line_versions("people")] == [
        "changed"
    ]
