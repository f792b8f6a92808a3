"""The rules of storing where another process is quicker, and what a cache may hold."""

from collections.abc import Callable, Collection
from dataclasses import replace

import pytest

from outkey.foundation.adapters.clock_system import SystemClock
from outkey.foundation.core.errors import EditConflict, UnknownConfiguration
from outkey.sending.adapters.configurations_memory import MemoryConfigurations
from outkey.sending.core.configuration.health import Health
from outkey.sending.core.configuration.reference import parse_reference
from outkey.sending.core.configuration.rows import ConfigurationRow, new_row
from outkey.sending.core.configuration.secret_state import SecretState
from outkey.sending.core.vault.versions import SecretVersion
from outkey.sending.engine import registry as module
from outkey.sync.core.line.line import SyncLine
from outkey.sync.core.line.rows import LineRow, line_row
from outkey.sync.engine import line_registry
from outkey.sync.engine.line_registry import Registry
from outkey.testing import configuration
from outkey.testing.fakes.storage import (
    MemoryConfigurationRows,
    MemoryDatabase,
    MemoryLineRows,
    MemorySecretRows,
    memory_registry,
    memory_storage,
)

REFERENCE = parse_reference("env:TOKEN", field="token")
STATE = SecretState("https://api.acme.example:443", REFERENCE)


class SlowLines(MemoryLineRows):
    """Lines that another process has always changed first."""

    def swap(self, before: LineRow | None, after: LineRow | None) -> bool:
        return False


class SlowSecrets(MemorySecretRows):
    """Secrets that another process has always changed first."""

    def swap(self, before: SecretVersion | None, after: SecretVersion | None) -> bool:
        return False


def test_a_line_that_another_process_changed_first_is_a_conflict() -> None:
    storage = memory_storage(lines=SlowLines())
    registry = memory_registry([configuration()], storage=storage)
    with pytest.raises(EditConflict):
        registry.put_line(SyncLine("orders", "acme", "GET", "/"))


class WatchedConfigurations(MemoryConfigurationRows):
    """Configurations that note the moment when one of them is locked."""

    events: list[str]

    def find(
        self,
        *,
        names: Collection[str] | None = None,
        records: Collection[str] | None = None,
        lock: bool = False,
    ) -> list[ConfigurationRow]:
        if lock:
            self.events.append("configuration locked")
        return super().find(names=names, records=records, lock=lock)


class WatchedLines(MemoryLineRows):
    """Lines that note the moment when they are listed."""

    events: list[str]

    def find(self, names: Collection[str] | None = None) -> list[LineRow]:
        self.events.append("lines listed")
        return super().find(names)


def test_a_configuration_is_locked_before_its_lines_are_listed_for_deletion() -> None:
    lines = WatchedLines()
    storage = memory_storage(lines=lines)
    configurations = WatchedConfigurations(lines, storage.secrets)
    storage = replace(storage, configurations=configurations)
    lines.events = configurations.events = []
    registry = memory_registry([configuration()], storage=storage)
    lines.events.clear()
    registry.remove("acme")
    assert lines.events[:2] == ["configuration locked", "lines listed"]


def test_a_secret_that_another_process_changed_first_is_a_conflict() -> None:
    storage = memory_storage(secrets=SlowSecrets())
    registry = memory_registry([configuration()], storage=storage)
    with pytest.raises(EditConflict):
        registry.put_reference(registry.get("acme"), "token", STATE)


def test_a_configuration_that_another_process_changed_first_is_a_conflict(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    registry = memory_registry([configuration()])
    stored = registry.get("acme")
    monkeypatch.setattr(MemoryConfigurationRows, "swap", lambda *_: False)
    with pytest.raises(EditConflict):
        registry.put_settings(stored)
    with pytest.raises(EditConflict):
        registry.note_refused("acme", stored.revision)


def test_a_result_and_a_refusal_are_stored_without_a_transaction(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """SQLite refuses a transaction that reads first if another process has written."""
    registry = memory_registry([configuration()])
    stored = registry.get("acme")
    monkeypatch.delattr(MemoryDatabase, "transaction")
    registry.save_test_result(stored, 20.0, "timeout")
    assert registry.note_refused("acme", stored.revision) == 1
    (summary,) = registry.summaries()
    assert (summary.health.cause, summary.health.refused) == ("timeout", 1)


def test_what_was_read_a_moment_ago_is_not_read_again() -> None:
    storage = memory_storage()
    memory_registry([configuration()], storage=storage)
    patient = Registry(storage, SystemClock(), fresh_seconds=3600.0)
    before = patient.get("acme")
    rows = storage.configurations.rows
    rows["acme"] = replace(rows["acme"], revision=9)
    assert patient.get("acme") is before
    patient.note_accepted("acme", 1, 5.0)
    assert patient.get("acme").revision == 9


def test_a_cached_configuration_is_one_object_until_its_row_changes() -> None:
    registry = memory_registry([configuration()])
    before = registry.get("acme")
    assert registry.get("acme") is before
    registry.note_secrets_changed("acme")
    assert registry.get("acme") is not before


def test_many_configurations_and_lines_do_not_fill_the_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "MOST_CACHED", 2)
    monkeypatch.setattr(line_registry, "MOST_CACHED", 2)
    names = [f"n{number}" for number in range(5)]
    lines = [SyncLine(name, name, "GET", "/") for name in names]
    registry = memory_registry(map(configuration, names), lines)
    for name in names:
        assert registry.get(name).name == registry.line(name).name == name
    assert len(registry._cache) == len(registry._cached_lines) == 1


def test_one_statement_counts_a_refusal_of_what_was_just_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    registry = memory_registry([configuration()])
    stored = registry.get("acme")
    reads: list[object] = []
    find = MemoryConfigurationRows.find

    def counted_find(
        rows: MemoryConfigurationRows, **arguments: object
    ) -> list[ConfigurationRow]:
        reads.append(arguments)
        return find(rows, **arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(MemoryConfigurationRows, "find", counted_find)
    assert registry.note_refused("acme", stored.revision) == 1
    assert reads == []


def test_a_line_that_cannot_be_read_still_has_its_schedule() -> None:
    row = LineRow("orders", "acme", "GET", "/", {"schedule": "0 * * * *", "odd": 1})
    assert row.timed() == ("orders", "acme", "0 * * * *", "")
    assert line_row(SyncLine("a", "acme", "GET", "/")).timed() == ("a", "acme", "", "")
    for schedule in (None, 5, ["0 * * * *"]):
        odd = replace(row, sync={"schedule": schedule})
        assert odd.timed() == ("orders", "acme", "", ""), schedule
    elsewhere = replace(row, sync={"target": "table:warehouse.orders"})
    assert elsewhere.timed() == ("orders", "acme", "", "warehouse")


def test_the_stamp_changes_with_every_edit_secret_test_refusal_and_pause() -> None:
    row = new_row(configuration(), "r1")
    refused = replace(row, health=row.health.after_refusal())
    rows = [
        row,
        row.after_edit(configuration()),
        row.after_reseal(),
        refused,
        replace(refused, health=refused.health.after_pause(1.0)),
        replace(row, health=row.health.after_test(1.0, "timeout")),
        replace(row, health=row.health.after_token(dead=True, renewed=False)),
    ]
    assert len({one.stamp for one in rows}) == len(rows)
    assert row.after_secrets({}).stamp == row.after_reseal().stamp


# ── what a change means for the health ────────────────────────────────────────────────

WORKING = Health(tested_at=5.0, verified_at=5.0, current=True, seen={"tls": "TLSv1.3"})


def test_a_change_ends_refusals_a_pause_and_the_wait_for_a_user() -> None:
    paused = replace(WORKING, refused=5, paused_at=7.0, needs_person=True)
    made = configuration(authentication_type="bearer", active=False)
    assert paused.after_change(made) == Health(
        tested_at=5.0,
        verified_at=5.0,
        current=False,
        needs_secret=True,
        active=False,
        seen={"tls": "TLSv1.3"},
    )


def test_a_test_that_fails_ends_no_pause_and_one_that_succeeds_does() -> None:
    paused = replace(WORKING, refused=5, paused_at=7.0)
    failed = paused.after_test(9.0, "timeout")
    assert failed == replace(paused, tested_at=9.0, cause="timeout")
    worked = failed.after_test(10.0, "", {"tls": "TLSv1.2"})
    assert worked == Health(10.0, 10.0, current=True, seen={"tls": "TLSv1.2"})


def test_a_pause_needs_refusals_and_begins_once() -> None:
    assert WORKING.after_pause(7.0) == WORKING
    paused = WORKING.after_refusal().after_pause(7.0)
    assert (paused.refused, paused.paused_at) == (1, 7.0)
    assert paused.after_pause(8.0) == paused
    assert paused.after_success() == WORKING


def test_a_dead_token_needs_a_user_and_a_new_one_disproves_the_test_that_said_so() -> (
    None
):
    failing = replace(WORKING, cause="reauthorization_needed")
    dead = failing.after_token(dead=True, renewed=False)
    assert dead == replace(failing, needs_person=True)
    assert dead.after_token(dead=False, renewed=True) == replace(WORKING, current=False)
    timed_out = replace(WORKING, cause="timeout", needs_person=True)
    renewed = timed_out.after_token(dead=False, renewed=True)
    assert renewed == replace(WORKING, cause="timeout"), "says nothing of another cause"


# ── configurations of a document, which are not stored ────────────────────────────────


def test_refusals_of_a_document_s_configuration_are_counted_in_memory() -> None:
    made = MemoryConfigurations([configuration()], {"a": "acme"})
    assert made.configuration_of_line("a") == "acme"
    assert [made.note_refused("acme", 0) for _ in range(2)] == [1, 2]
    assert made.note_refused("acme", 7) == 0, "of another revision"
    made.pause("acme", 5.0)
    assert made.get("acme").paused_at == 5.0
    made.note_accepted("acme", 7, 6.0)
    assert not made.get("acme").is_proved, "of another revision"
    made.note_accepted("acme", 0, 6.0)
    assert made.get("acme").is_proved
    assert (made.get("acme").refused, made.get("acme").paused) == (0, False)


def test_what_is_not_in_a_document_is_unknown_and_not_counted() -> None:
    made = MemoryConfigurations([configuration()])
    assert made.note_refused("nobody", 0) == 0
    made.pause("nobody", 1.0)
    made.note_accepted("nobody", 0, 1.0)
    with pytest.raises(UnknownConfiguration) as caught:
        made.get("nobody")
    assert caught.value.hint == "Known: acme."
    with pytest.raises(UnknownConfiguration):
        made.configuration_of_line("nobody")


class SavedMeanwhile(MemorySecretRows):
    """Secrets that are read while another process saves the configuration."""

    def __init__(self) -> None:
        super().__init__()
        self.saves = 0
        self.save: Callable[[], object] = lambda: None

    def read(self, records: Collection[str], field: str = "") -> list[SecretVersion]:
        if self.saves:
            self.saves -= 1
            self.save()
        return super().read(records, field)


def registry_saved_meanwhile(saves: int) -> Registry:
    secrets = SavedMeanwhile()
    storage = memory_storage(secrets=secrets)
    registry = memory_registry([configuration()], storage=storage)
    other = Registry(storage, SystemClock())

    def save() -> None:
        saves, secrets.saves = secrets.saves, 0
        stored = other.find(["acme"])["acme"]
        other.put_settings(replace(stored, notes=f"saved {stored.version}"))
        secrets.saves = saves

    secrets.save = save
    secrets.saves = saves
    return registry


def test_a_configuration_that_is_saved_while_it_is_read_is_of_one_save() -> None:
    registry = registry_saved_meanwhile(2)
    assert registry.get("acme").notes == registry.find(["acme"])["acme"].notes


def test_a_configuration_that_is_saved_all_the_time_is_a_conflict() -> None:
    registry = registry_saved_meanwhile(1000)
    with pytest.raises(EditConflict):
        registry.get("acme")
