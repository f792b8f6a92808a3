"""Where the key ring comes from, when it is reread, and sealed installations."""

from pathlib import Path

import pytest

from outkey.foundation.core.errors import (
    AuditUnavailable,
    KeyStepRefused,
    Sealed,
    StorageUnavailable,
)
from outkey.foundation.core.shared_state import SharedState, StateKind
from outkey.foundation.core.stored_times import SKEW_SECONDS
from outkey.sending.adapters.audit.audit_keyed import KeyedAudit
from outkey.sending.adapters.secrets.keyring import new_keyring
from outkey.sending.adapters.secrets.keyring_file import KeySource
from outkey.sending.adapters.secrets.keyring_loader import (
    ALIVE_SECONDS,
    BEAT_SECONDS,
    KeyringLoader,
    KeyRotation,
    ProcessHeartbeat,
    processes_without_key,
)
from outkey.sending.core.audit.events import Change, Intent, Outcome, Refusal, Tag
from outkey.sending.core.vault.envelope import secret_place
from outkey.sending.core.vault.versions import SecretVersion
from outkey.testing import (
    FakeClock,
    MemoryAuditRows,
    MemoryCheckpoints,
    MemoryStateRows,
)
from outkey.testing.contracts_storage import sealed_bytes
from outkey.testing.fakes.storage import MemoryStorage, memory_storage
from outkey.webhooks.adapters.secrets_of_webhooks import SecretsWithWebhooks


@pytest.fixture
def source(tmp_path: Path) -> KeySource:
    return KeySource(tmp_path / "key", None)


def loader(source: KeySource, storage: MemoryStorage | None = None) -> KeyringLoader:
    rows = storage or memory_storage()
    return KeyringLoader(source, rows.keys, rows.secrets)


def rotation(
    keys: KeyringLoader,
    storage: MemoryStorage,
    states: MemoryStateRows | None = None,
) -> KeyRotation:
    secrets = storage.secrets
    return KeyRotation(keys, secrets, states or MemoryStateRows(), FakeClock().now)


def heartbeats(states: MemoryStateRows) -> dict[str, SharedState]:
    return states.read(StateKind.PROCESS)


def put_heartbeat(
    states: MemoryStateRows, process: str, keys: list[str], at: float
) -> None:
    heartbeat = {"host": "here", "keys": keys, "seen_at": at}
    states.put(StateKind.PROCESS, {process: heartbeat})


def test_a_key_that_another_process_added_is_found_when_it_is_needed(
    source: KeySource,
) -> None:
    storage = memory_storage()
    ours, theirs = loader(source, storage), loader(source, storage)
    ours.ring()
    added = rotation(theirs, storage).add(lambda _: None)
    assert not ours.ring().holds(added)
    assert ours.ring(added).holds(added)


def test_a_key_that_another_process_reopened_opens_when_it_is_needed(
    source: KeySource,
) -> None:
    storage = memory_storage()
    ours, theirs = loader(source, storage), loader(source, storage)
    steps = rotation(theirs, storage)
    added = steps.add(lambda _: None)
    steps.retire(added, lambda _: None)
    assert not ours.ring(added).opens(added)
    assert ours.audit_key(added) is not None
    steps.reopen(added, lambda _: None)
    assert ours.ring(added).opens(added)


def test_sealing_uses_the_ring_as_it_is_kept_now(source: KeySource) -> None:
    storage = memory_storage()
    ours, theirs = loader(source, storage), loader(source, storage)
    ours.ring()
    steps = rotation(theirs, storage)
    added = steps.add(lambda _: None)
    steps.promote(added, lambda _: None)
    assert ours.ring().primary.name != added
    assert ours.fresh().primary.name == added


def test_another_key_than_the_one_the_database_knows_is_sealed_and_nothing_is_lost(
    source: KeySource, tmp_path: Path
) -> None:
    storage = memory_storage()
    right = loader(source, storage)
    right.ring()
    known = storage.keys.read()
    stranger = loader(KeySource(tmp_path / "other", None), storage)
    assert stranger.is_sealed()
    with pytest.raises(Sealed, match="missing"):
        stranger.ring()
    stranger.source.save(new_keyring())
    assert stranger.is_sealed()
    with pytest.raises(Sealed, match="this database was not used with"):
        stranger.ring()
    assert storage.keys.read() == known
    assert not right.is_sealed()


def test_a_key_of_the_right_name_with_another_check_value_is_sealed(
    source: KeySource,
) -> None:
    storage = memory_storage()
    name = loader(source, storage).ring().primary.name
    forged = memory_storage()
    forged.keys.add({name: b"another"})
    with pytest.raises(Sealed):
        loader(source, forged).ring()


def test_an_empty_installation_is_not_sealed_and_asking_makes_no_key(
    source: KeySource,
) -> None:
    assert not loader(source).is_sealed()
    assert not source.file.exists()


@pytest.mark.parametrize("sealed", [b"123", b"", sealed_bytes("k1")])
def test_no_key_is_made_over_a_ciphertext_whatever_it_looks_like(
    source: KeySource, sealed: bytes
) -> None:
    storage = memory_storage()
    place = secret_place("record", "token", 1, "https://a.example")
    storage.secrets.swap(None, SecretVersion(place, sealed=sealed))
    keys = loader(source, storage)
    assert keys.is_sealed()
    with pytest.raises(Sealed):
        keys.ring()
    assert not source.file.exists()


def test_no_key_is_made_beside_a_webhook_however_odd_its_row_is(
    source: KeySource,
) -> None:
    storage = memory_storage()
    states = MemoryStateRows()
    states.put(StateKind.WEBHOOK, {"shop": {"secrets": "odd"}})
    secrets = SecretsWithWebhooks(storage.secrets, states)
    keys = KeyringLoader(source, storage.keys, secrets)
    assert keys.is_sealed()
    with pytest.raises(Sealed):
        keys.ring()
    assert not source.file.exists()


def test_a_process_is_seen_once_a_minute_with_the_keys_it_holds_by_then(
    source: KeySource,
) -> None:
    clock, states, storage = FakeClock(), MemoryStateRows(), memory_storage()
    keys = loader(source, storage)
    first = keys.ring().primary.name
    presence = ProcessHeartbeat(states, keys, clock, clock.now)
    presence.beat()
    presence.end()
    assert heartbeats(states) == {}
    ring, key = loader(source, storage).ring().add()
    source.save(ring)
    clock.advance(BEAT_SECONDS)
    presence.beat()
    presence.beat()
    (state,) = heartbeats(states).values()
    heartbeat = state.value
    assert heartbeat["keys"] == [first, key.name]
    assert heartbeat["seen_at"] == clock.now()
    presence.end()
    assert heartbeats(states) == {}


def test_an_audit_without_a_key_records_nothing_and_an_open_one_shows_the_process(
    source: KeySource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("atexit.register", lambda _: None)
    clock, states, storage = FakeClock(), MemoryStateRows(), memory_storage()
    rows, keys = MemoryAuditRows(), loader(source, storage)
    presence = ProcessHeartbeat(states, keys, clock, clock.now)
    closed: list[bool] = []
    audit = KeyedAudit(
        keys,
        rows,
        MemoryCheckpoints(),
        clock,
        presence,
        close_rows=lambda: closed.append(True),
    )
    storage.keys.add({"gone": b"x"})
    intent = Intent("acme", "", "basic", "GET", "https://a.example", "/", (), 0)
    with pytest.raises(Sealed):
        audit.intend(intent)
    audit.refuse(Refusal("", "acme", "", "sealed"))
    audit.close()
    assert rows.rows == []
    assert closed == [True]
    open_audit = KeyedAudit(
        loader(source),
        rows,
        MemoryCheckpoints(),
        clock,
        presence,
        close_rows=lambda: None,
    )
    clock.advance(BEAT_SECONDS)
    attempt = open_audit.intend(intent)
    open_audit.conclude(Outcome(attempt, "acme", 200, "ok", 1))
    open_audit.note(Change(Tag.KEY_ADDED, "us"))
    open_audit.refuse(Refusal("", "acme", "", "sealed"))
    open_audit.close()
    assert len(rows.rows) == 4


def test_a_key_is_not_promoted_while_a_running_process_lacks_it(
    source: KeySource,
) -> None:
    storage, states = memory_storage(), MemoryStateRows()
    keys, noted = loader(source, storage), list[str]()
    steps = rotation(keys, storage, states)
    old = keys.ring().primary.name
    added = steps.add(noted.append)
    put_heartbeat(states, "other", [old], FakeClock().now())
    with pytest.raises(
        KeyStepRefused, match="1 running process does not have the key yet: here:other"
    ):
        steps.promote(added, noted.append)
    assert keys.fresh().primary.name == old
    put_heartbeat(states, "other", [old, added], FakeClock().now())
    steps.promote(added, noted.append)
    steps.retire(old, noted.append)
    assert noted == [added, added, old]


def test_only_running_processes_without_a_key_are_named() -> None:
    states = MemoryStateRows()
    put_heartbeat(states, "old", ["k1"], 50.0)
    put_heartbeat(states, "both", ["k1", "k2"], 100.0)
    put_heartbeat(states, "late", ["k1"], 90.0)
    put_heartbeat(states, "late", ["k1"], 110.0)
    states_of_now = heartbeats(states)
    now = 51.0 + ALIVE_SECONDS
    assert processes_without_key(states_of_now, "k2", now) == ["here:late"]
    assert processes_without_key(states_of_now, "k1", now) == []


def test_a_heartbeat_of_a_clock_that_was_ahead_keeps_no_key_from_its_promotion(
    source: KeySource,
) -> None:
    storage, states = memory_storage(), MemoryStateRows()
    keys, noted = loader(source, storage), list[str]()
    steps = rotation(keys, storage, states)
    old = keys.ring().primary.name
    added = steps.add(noted.append)
    latest = FakeClock().now() + SKEW_SECONDS
    put_heartbeat(states, "other", [old], latest)
    with pytest.raises(KeyStepRefused):
        steps.promote(added, noted.append)
    put_heartbeat(states, "other", [old], latest + 1)
    steps.promote(added, noted.append)
    assert keys.fresh().primary.name == added


def test_a_step_that_cannot_be_noted_is_not_taken(source: KeySource) -> None:
    storage = memory_storage()
    keys = loader(source, storage)
    before = keys.ring()

    def refuse(_: str) -> None:
        raise AuditUnavailable

    with pytest.raises(AuditUnavailable):
        rotation(keys, storage).add(refuse)
    assert keys.fresh() == before


def test_the_second_of_two_first_processes_takes_the_key_of_the_first(
    source: KeySource,
) -> None:
    first, second = source.create(), source.create()
    assert second == first
    assert source.load() == first


def test_a_forked_child_neither_beats_nor_ends_for_its_parent(
    source: KeySource, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, states = FakeClock(), MemoryStateRows()
    presence = ProcessHeartbeat(states, loader(source), clock, clock.now)
    clock.advance(BEAT_SECONDS)
    presence.beat()
    (parent,) = heartbeats(states)
    monkeypatch.setattr("os.getpid", lambda: -1)
    presence.end()
    assert list(heartbeats(states)) == [parent]
    clock.advance(BEAT_SECONDS)
    presence.beat()
    clock.advance(BEAT_SECONDS)
    presence.beat()
    assert len(heartbeats(states)) == 2


def test_a_key_that_cannot_be_written_is_said_and_not_a_traceback(
    tmp_path: Path,
) -> None:
    (tmp_path / "file").write_text("in the way")
    nowhere = loader(KeySource(tmp_path / "file" / "key", None))
    with pytest.raises(StorageUnavailable, match="cannot be written"):
        nowhere.source.create()
    with pytest.raises(StorageUnavailable, match="cannot be written"):
        nowhere.change(lambda ring: ring)
    (tmp_path / "key").mkdir()
    with pytest.raises(StorageUnavailable, match="cannot be written"):
        KeySource(tmp_path / "key", None).save(new_keyring())
