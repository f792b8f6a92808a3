"""Vouchers of single rows: their text, their codes, and keys that are rotated."""

import json
import threading
from pathlib import Path

import pytest

from outkey.administration.core.findings.posture import (
    InstallationFacts,
    installation_posture,
)
from outkey.administration.core.policy.policy import Policy
from outkey.foundation.core.errors import Sealed, SecretUnreadable, StorageUnavailable
from outkey.foundation.core.shared_state import StateKind
from outkey.sending.adapters.secrets.keyring import Keyring, new_keyring
from outkey.sending.adapters.vouching.codes import KeyedVouchers
from outkey.sending.adapters.vouching.seen_file import (
    SeenRowsFile,
    clear_seen_rows,
    parse_line,
    seen_rows_file,
)
from outkey.sending.core.vault.row_voucher import (
    RowName,
    RowVoucher,
    changed_row_error,
    is_row_name,
    parse_row_voucher,
    vouched_bytes,
)
from outkey.testing import FakeClock, FixedRing, MemoryDatabase
from outkey.testing.fakes.vouching import MemorySeenRows
from outkey.webhooks.core.settings.checks import CHANGED_OUTSIDE

LINE = RowName("line", "orders")
CONTENT = {"path": "/orders"}


def test_a_voucher_is_read_as_it_was_written() -> None:
    voucher = RowVoucher(17, "0f" * 8, "ab" * 32)
    assert parse_row_voucher(voucher.text) == voucher
    serial = f"0{voucher.text}"
    for text in (serial, voucher.text.upper(), f"{voucher.text}\n", b"", None):
        assert parse_row_voucher(text) is None


def test_rows_are_named_by_kind_and_key() -> None:
    assert LINE.label == "line:orders"
    assert RowName(StateKind.TABLE, "table:warehouse.orders").label == (
        "table:warehouse.orders"
    )
    assert is_row_name("webhook:shop")
    assert is_row_name("token:acme")
    assert not is_row_name("acme")
    assert not is_row_name("mark:x")


def test_the_hint_for_a_changed_row_is_a_command_that_a_shell_can_run() -> None:
    error = changed_row_error(RowName("line", "send orders"))
    assert error.hint.endswith("outkey secret confirm 'line:send orders'")


def test_hints_about_changed_rows_name_an_upgrade_as_a_cause() -> None:
    (changed,) = installation_posture(
        InstallationFacts(0.0, Policy(), changed_rows="line:orders")
    )
    error = changed_row_error(RowName("line", "orders"))
    for hint in (changed.hint, CHANGED_OUTSIDE.hint, error.hint):
        assert "of version 0.2 or older" in hint


def test_equal_contents_have_the_same_code_in_every_database() -> None:
    first = {"a": 1.0, "b": [{"c": 2e16}, (1, 2.5)], "d": {"e": float("inf")}}
    second = {"d": {"e": float("inf")}, "b": [{"c": 2 * 10**16}, [1, 2.5]], "a": 1}
    assert vouched_bytes(LINE, 1, first) == vouched_bytes(LINE, 1, second)
    assert vouched_bytes(LINE, 1, first) != vouched_bytes(LINE, 2, first)


def vouchers_with(
    ring: Keyring, seen: MemorySeenRows | None = None
) -> tuple[KeyedVouchers, FixedRing]:
    keys = FixedRing(ring)
    database = MemoryDatabase(FakeClock())
    return KeyedVouchers(keys, seen or MemorySeenRows(), database), keys


def test_a_retired_key_vouches_for_nothing() -> None:
    ring = new_keyring()
    vouchers, _ = vouchers_with(ring)
    voucher = vouchers.vouch(LINE, CONTENT)
    rotated, key = ring.add()
    rotated = rotated.promote(key.name)
    decrypting, _ = vouchers_with(rotated)
    decrypting.check(LINE, CONTENT, voucher, decrypting.seen())
    assert decrypting.has_other_key(LINE)
    retired, _ = vouchers_with(rotated.retire(ring.primary.name, secrets=0))
    with pytest.raises(SecretUnreadable):
        retired.check(LINE, CONTENT, voucher, retired.seen())


def test_a_key_that_is_not_in_the_ring_vouches_for_nothing() -> None:
    vouchers, _ = vouchers_with(new_keyring())
    other, _ = vouchers_with(new_keyring())
    with pytest.raises(SecretUnreadable):
        vouchers.check(LINE, CONTENT, other.vouch(LINE, CONTENT), vouchers.seen())
    assert not vouchers.has_other_key(LINE)


def test_a_row_is_vouched_for_with_the_primary_key() -> None:
    vouchers, keys = vouchers_with(new_keyring())
    ring, key = keys.kept.add()
    keys.kept = ring.promote(key.name)
    voucher = vouchers.vouch(LINE, CONTENT)
    assert parse_row_voucher(voucher) is not None
    assert voucher.split(".")[1] == key.name
    vouchers.check(LINE, CONTENT, voucher, vouchers.seen())
    assert not vouchers.has_other_key(LINE)


def test_without_a_key_nothing_is_vouched_for_and_nothing_checked() -> None:
    class NoKeys:
        def ring(self, needed: str = "") -> Keyring:
            raise Sealed

        fresh = ring

    voucher = vouchers_with(new_keyring())[0].vouch(LINE, CONTENT)
    sealed = KeyedVouchers(NoKeys(), MemorySeenRows(), MemoryDatabase(FakeClock()))
    with pytest.raises(Sealed):
        sealed.check(LINE, CONTENT, voucher, sealed.seen())
    with pytest.raises(Sealed):
        sealed.vouch(LINE, CONTENT)
    with pytest.raises(SecretUnreadable):  # for this no key is needed
        sealed.check(LINE, CONTENT, "", sealed.seen())


def test_a_content_that_no_code_can_be_computed_of_is_refused() -> None:
    vouchers, _ = vouchers_with(new_keyring())
    voucher = vouchers.vouch(LINE, CONTENT)
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(SecretUnreadable):
        vouchers.check(LINE, {"path": deep}, voucher, vouchers.seen())


def test_a_new_row_has_a_higher_number_than_those_of_other_homes_had() -> None:
    here, _ = vouchers_with(ring := new_keyring())
    elsewhere, _ = vouchers_with(ring)
    voucher = elsewhere.vouch(LINE, CONTENT)
    elsewhere.note_stored(LINE, voucher)
    here.check(LINE, CONTENT, voucher, here.seen())
    database = MemoryDatabase(clock := FakeClock())
    for _ in range(5):  # stored and deleted elsewhere, while this home sees nothing
        elsewhere.note_removed(LINE)
        elsewhere.note_stored(LINE, elsewhere.vouch(LINE, CONTENT))
    clock.advance(1)
    later = KeyedVouchers(FixedRing(ring), MemorySeenRows(), database)
    again = later.vouch(LINE, CONTENT)
    before = elsewhere.seen()[LINE]
    elsewhere.check(LINE, CONTENT, again, elsewhere.seen())
    assert elsewhere.seen()[LINE] > before


def test_only_so_many_checked_rows_are_cached(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("outkey.sending.adapters.vouching.codes._MAX_CACHED", 2)
    vouchers, _ = vouchers_with(new_keyring())
    for number in range(5):
        name = RowName("line", str(number))
        vouchers.check(name, CONTENT, vouchers.vouch(name, CONTENT), vouchers.seen())
        assert len(vouchers._valid) <= 2


# ── the file of what a home has seen ────────────────────────────────────────────────


def test_the_file_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    file = seen_rows_file(tmp_path)
    SeenRowsFile(file).note(LINE, 1)
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700
    clear_seen_rows(tmp_path)
    assert file.stat().st_mode & 0o777 == 0o600


def test_what_a_kill_cut_short_costs_that_line_only(tmp_path: Path) -> None:
    file = tmp_path / "seen"
    rows = SeenRowsFile(file)
    rows.note(LINE, 5)
    with file.open("ab") as opened:
        opened.write(b'["line", "cust')
    rows.note(RowName("line", "b"), 6)
    for reader in (rows, SeenRowsFile(file)):
        assert reader.newest(LINE) == 5
        assert reader.newest(RowName("line", "b")) == 6
        assert len(reader.serials()) == 2


@pytest.mark.parametrize(
    "line",
    [b"", b"{}", b"[]", b'["a", "b"]', b'["a", 1, 2]', b'["a", "b", true]', b"[" * 9],
)
def test_a_line_that_is_damaged_says_nothing(line: bytes) -> None:
    assert parse_line(line) is None


def test_outdated_lines_are_dropped_once_there_are_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("outkey.sending.adapters.vouching.seen_file._MOST_OUTDATED", 10)
    file = tmp_path / "seen"
    rows = SeenRowsFile(file)
    other = SeenRowsFile(file)
    for serial in range(1, 101):
        rows.note(LINE, serial)
        other.note(RowName("pair", "p"), serial)
        assert (rows.newest(LINE), other.newest(LINE)) == (serial, serial)
    lines = file.read_text("utf-8").splitlines()
    assert len(lines) < 30
    assert SeenRowsFile(file).newest(RowName("pair", "p")) == 100
    assert [name.name for name in tmp_path.iterdir()] == ["seen"]


def test_what_many_threads_and_objects_note_at_once_is_all_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("outkey.sending.adapters.vouching.seen_file._MOST_OUTDATED", 20)
    file = tmp_path / "seen"
    shared = SeenRowsFile(file)

    def note(number: int) -> None:
        own = SeenRowsFile(file)
        for serial in range(1, 41):
            (own if serial % 2 else shared).note(RowName("line", str(number)), serial)

    threads = [threading.Thread(target=note, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    reader = SeenRowsFile(file)
    assert [reader.newest(RowName("line", str(number))) for number in range(6)] == (
        [40] * 6
    )
    for line in file.read_text("utf-8").splitlines():
        assert len(json.loads(line)) == 3


def test_a_file_that_cannot_be_used_is_reported(tmp_path: Path) -> None:
    (tmp_path / "seen").mkdir()
    rows = SeenRowsFile(tmp_path / "seen")
    for attempt in (lambda: rows.note(LINE, 1), lambda: rows.newest(LINE), rows.clear):
        with pytest.raises(StorageUnavailable, match="rows that were seen"):
            attempt()


def test_a_home_that_has_seen_nothing_has_nothing_to_forget(tmp_path: Path) -> None:
    clear_seen_rows(tmp_path)
    assert list(tmp_path.iterdir()) == []
