import dataclasses
import stat
from base64 import b64encode
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outkey.foundation.core.errors import (
    ConfigError,
    KeyStepRefused,
    Sealed,
    SecretUnreadable,
    StorageUnavailable,
)
from outkey.foundation.core.secret import Secret
from outkey.sending.adapters.secrets.keyring import (
    Keyring,
    KeyState,
    make_key,
    new_keyring,
    parse,
    serialize,
)
from outkey.sending.adapters.secrets.keyring_file import KeySource
from outkey.sending.adapters.secrets.secrets_envelope import rewrap, seal, unseal
from outkey.sending.core.vault.envelope import (
    BLOCK,
    Place,
    key_name_of,
    named_key,
    pad,
    unpack,
    unpad,
)

PLACE = Place("secret", "0b7e", "password", 1, "https://api.acme.example:443")
ELSEWHERE = {
    "table": "token",
    "record": "0b7f",
    "field": "token",
    "version": 2,
    "origin": "https://evil.example:443",
}


@given(text=st.text())
def test_a_sealed_secret_opens_to_its_text(text: str) -> None:
    ring = new_keyring()
    try:
        text.encode()
    except UnicodeEncodeError:
        return
    assert unseal(seal(Secret(text), PLACE, ring), PLACE, ring) == Secret(text)


def test_the_same_secret_sealed_twice_looks_different_and_shows_nothing() -> None:
    ring = new_keyring()
    first, second = (seal(Secret("canary-canary"), PLACE, ring) for _ in range(2))
    assert first != second
    assert b"canary" not in first
    assert (
        len(
            {first[i : i + 8] for i in range(len(first))}
            & {second[i : i + 8] for i in range(10, len(second))}
        )
        == 0
    )


@pytest.mark.parametrize("part", ELSEWHERE)
def test_a_ciphertext_that_was_moved_does_not_open(part: str) -> None:
    ring = new_keyring()
    stored = seal(Secret("x"), PLACE, ring)
    with pytest.raises(SecretUnreadable):
        unseal(stored, dataclasses.replace(PLACE, **{part: ELSEWHERE[part]}), ring)


@given(position=st.integers(0, 10_000), bit=st.integers(0, 7))
def test_a_flipped_bit_anywhere_is_noticed(position: int, bit: int) -> None:
    ring = Keyring((make_key(b"k" * 32, KeyState.PRIMARY),))
    stored = bytearray(seal(Secret("x"), PLACE, ring))
    stored[position % len(stored)] ^= 1 << bit
    with pytest.raises((SecretUnreadable, Sealed)):
        unseal(bytes(stored), PLACE, ring)


@pytest.mark.parametrize("length", [0, 1, 80, 160])
def test_a_cut_ciphertext_is_unreadable(length: int) -> None:
    ring = new_keyring()
    with pytest.raises(SecretUnreadable):
        unseal(seal(Secret("x" * 100), PLACE, ring)[:length], PLACE, ring)


@given(st.binary(), st.binary())
def test_padding_hides_the_length_and_comes_off_again(one: bytes, two: bytes) -> None:
    assert unpad(pad(one)) == one
    assert len(pad(one)) % BLOCK == 0
    assert (pad(one) == pad(two)) == (one == two)
    if abs(len(one) - len(two)) < 8 and max(len(one), len(two)) < BLOCK - 1:
        assert len(pad(one)) == len(pad(two))


def test_what_was_never_padded_is_unreadable() -> None:
    with pytest.raises(SecretUnreadable):
        unpad(b"\0" * 64)


TEXTS = st.text(st.sampled_from("ab:\0/1"), max_size=4)
PLACES = st.builds(Place, TEXTS, TEXTS, TEXTS, st.integers(0, 20), TEXTS)


@given(PLACES, PLACES)
def test_two_places_never_have_the_same_associated_data(one: Place, two: Place) -> None:
    assert (one.associated_data() == two.associated_data()) == (one == two)


# ── the ring ──────────────────────────────────────────────────────────────────────────


def test_a_rotation_from_the_old_key_to_the_new_one() -> None:
    old = new_keyring()
    stored = seal(Secret("x"), PLACE, old)
    added, key = old.add()
    assert seal(Secret("y"), PLACE, added)[2:10] == old.primary.id
    promoted = added.promote(key.name)
    assert unseal(stored, PLACE, promoted) == Secret("x")
    fresh = rewrap(stored, PLACE, promoted)
    assert key_name_of(fresh) == key.name
    assert unpack(fresh).ciphertext == unpack(stored).ciphertext
    assert rewrap(fresh, PLACE, promoted) == fresh
    retired = promoted.retire(old.primary.name, secrets=0)
    assert unseal(fresh, PLACE, retired) == Secret("x")
    with pytest.raises(Sealed, match="is retired") as caught:
        unseal(stored, PLACE, retired)
    assert f"outkey keys reopen {old.primary.name}" in str(caught.value.hint)
    reopened = retired.reopen(old.primary.name)
    assert unseal(stored, PLACE, reopened) == Secret("x")
    with pytest.raises(Sealed, match="is missing"):
        unseal(stored, PLACE, new_keyring())


def test_unsafe_steps_are_refused() -> None:
    ring, key = new_keyring().add()
    with pytest.raises(KeyStepRefused, match="primary"):
        ring.retire(ring.primary.name, secrets=0)
    with pytest.raises(KeyStepRefused, match="3 secrets"):
        ring.retire(key.name, secrets=3)
    with pytest.raises(KeyStepRefused, match="no key with this id"):
        ring.promote("nonsense")
    with pytest.raises(KeyStepRefused, match="retired"):
        ring.retire(key.name, secrets=0).promote(key.name)
    for name in (ring.primary.name, key.name):
        with pytest.raises(KeyStepRefused, match="not retired"):
            ring.reopen(name)


def test_another_key_is_derived_for_another_purpose() -> None:
    ring = new_keyring()
    assert ring.derive("audit") == ring.derive("audit")
    assert ring.derive("audit") != ring.derive("web")
    assert ring.derive("audit") != ring.primary.raw()


def test_a_ring_survives_being_written_and_read() -> None:
    ring, _ = new_keyring().add()
    assert parse(serialize(ring)) == ring
    assert "***" in repr(ring)


def test_one_bare_key_is_a_ring() -> None:
    raw = b"k" * 32
    assert parse(Secret(b64encode(raw).decode())).primary.raw() == raw


@pytest.mark.parametrize(
    "text",
    [
        "",
        "canary",
        b64encode(b"k" * 31).decode(),
        "primary not-base64",
        f"nonsense {b64encode(b'k' * 32).decode()}",
        f"primary primary {b64encode(b'k' * 32).decode()}",
        f"decrypt {b64encode(b'k' * 32).decode()}",
        (
            f"primary {b64encode(b'k' * 32).decode()}\ndecrypt"
            f" {b64encode(b'k' * 32).decode()}"
        ),
        (
            f"primary {b64encode(b'k' * 32).decode()}\nprimary"
            f" {b64encode(b'j' * 32).decode()}"
        ),
    ],
)
def test_a_damaged_ring_leaves_us_sealed_and_is_not_repeated(text: str) -> None:
    with pytest.raises(Sealed) as caught:
        parse(Secret(text))
    assert "canary" not in str(caught.value)


# ── where it is kept ──────────────────────────────────────────────────────────────────


def test_a_key_file_is_for_its_owner_only_and_comes_back(tmp_path: Path) -> None:
    source = KeySource.from_environment({}, tmp_path / "config" / "key")
    assert source.load() is None
    ring = source.create()
    assert source.load() == ring
    assert stat.S_IMODE(source.file.stat().st_mode) == 0o600
    assert stat.S_IMODE(source.file.parent.stat().st_mode) == 0o700
    added, _ = ring.add()
    source.save(added)
    assert source.load() == added
    assert [path.name for path in source.file.parent.iterdir()] == ["key"]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660])
def test_a_key_file_that_others_may_read_leaves_us_sealed(
    tmp_path: Path, mode: int
) -> None:
    source = KeySource.from_environment(
        {"OUTKEY_KEY_FILE": str(tmp_path / "key")}, Path("/unused")
    )
    source.create()
    source.file.chmod(mode)
    with pytest.raises(Sealed, match="other users may read"):
        source.load()


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"primary AAAA\n"])
def test_a_damaged_key_file_leaves_us_sealed(tmp_path: Path, content: bytes) -> None:
    source = KeySource(tmp_path / "key", None)
    source.create()
    source.file.write_bytes(content)
    with pytest.raises(Sealed):
        source.load()


def test_a_folder_in_the_place_of_the_key_file_leaves_us_sealed(tmp_path: Path) -> None:
    with pytest.raises(Sealed, match="cannot be read"):
        KeySource(tmp_path, None).load()


def test_a_variable_and_a_file_must_agree(tmp_path: Path) -> None:
    file = KeySource(tmp_path / "key", None)
    ring = file.create()
    text = serialize(ring).reveal()
    same = KeySource.from_environment({"OUTKEY_KEY": text}, file.file)
    assert same.load() == ring
    other = serialize(new_keyring()).reveal()
    with pytest.raises(ConfigError, match="different keys"):
        KeySource.from_environment({"OUTKEY_KEY": other}, file.file).load()
    assert file.load() == ring


def test_a_key_from_the_environment_cannot_be_changed(tmp_path: Path) -> None:
    source = KeySource(tmp_path / "key", Secret("x"))
    with pytest.raises(ConfigError, match="OUTKEY_KEY"):
        source.create()
    assert not source.file.exists()


def test_a_save_that_fails_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = KeySource(tmp_path / "key", None)
    ring = source.create()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(StorageUnavailable, match="cannot be written"):
        source.save(ring.add()[0])
    assert source.load() == ring
    assert [path.name for path in tmp_path.iterdir()] == ["key"]


def test_a_damaged_ciphertext_names_no_key() -> None:
    assert named_key(b"123") == ""
