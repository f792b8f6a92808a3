"""The contract suite of a registry, used like those of `contracts`."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from datetime import date

import pytest

from outkey.core.config.configuration import (
    Configuration,
    HeaderRow,
    SecretState,
    SyncLine,
    build,
)
from outkey.core.config.reference import parse_reference
from outkey.core.errors import ConfigError, EditConflict, UnknownConfiguration
from outkey.core.findings.health import Health
from outkey.core.vault.envelope import Envelope, Place, SealedRow
from outkey.core.vault.voucher import voucher_place
from outkey.ports.storage import Registry


class RegistryContract(ABC):
    """What every registry of configurations promises."""

    @abstractmethod
    def make(self) -> Registry:
        """Return an empty registry."""

    def kept(self) -> Registry:
        """Return a registry with one configuration."""
        registry = self.make()
        registry.add(_configuration())
        return registry

    def test_what_was_added_comes_back_as_it_was(self) -> None:
        registry = self.make()
        kept = registry.add(_configuration())
        assert kept.record
        assert registry.get("contract") == kept
        assert replace(kept, record="", version=0) == _configuration()

    def test_every_field_comes_back(self) -> None:
        registry = self.make()
        values = {
            "base_url": "https://contract.example/v2",
            "environment": "test",
            "network": "internal",
            "active": False,
            "notes": "two\nlines",
            "authentication_type": "bearer",
            "no_auth_reason": "internal",
            "username": "jürgen",
            "token_expires_on": date(2027, 1, 31),
            "tls.minimum_version": "1.3",
            "tls.ca_file": "/ca.pem",
            "tls.client_certificate": "/client.pem",
            "limits.connect_timeout": 1.5,
            "limits.requests_per_minute": 7,
            "verification.test_path": "/me",
            "verification.forbidden_means_expired": True,
        }
        rows = (
            HeaderRow("X-Tenant", "7", secret=False),
            HeaderRow("X-API-Key", "", secret=True),
        )
        made = build("contract", values, headers=rows)
        registry.add(made)
        assert replace(registry.get("contract"), record="", version=0) == made

    def test_a_new_one_is_kept_with_its_references(self) -> None:
        registry = self.make()
        reference = parse_reference("env:TOKEN", field="token")
        values = {
            "base_url": "https://contract.example",
            "authentication_type": "bearer",
        }
        made = build("contract", values, references={"token": reference})
        registry.add(made)
        assert registry.get("contract").secrets == made.secrets
        (found,) = registry.summaries()
        assert not found.standing.needs_secret

    def test_a_second_one_of_the_same_name_is_refused(self) -> None:
        registry = self.kept()
        with pytest.raises(ConfigError) as caught:
            registry.add(_configuration())
        assert caught.value.field == "name"

    def test_a_change_needs_the_newest_version(self) -> None:
        registry = self.make()
        first = registry.add(_configuration())
        second = registry.replace(replace(first, notes="one"))
        assert (second.record, registry.get("contract").notes) == (first.record, "one")
        with pytest.raises(EditConflict):
            registry.replace(replace(first, notes="two"))
        assert registry.get("contract").notes == "one"

    def test_what_was_removed_is_unknown_and_its_record_is_not_used_again(self) -> None:
        registry = self.make()
        first = registry.add(_configuration())
        registry.put_line(SyncLine("line", "contract", "GET", "/"))
        put(registry, "token", SecretState("https://a:443"), _sealed("k1"))
        registry.remove("contract")
        for missing in (registry.get, registry.remove):
            with pytest.raises(UnknownConfiguration):
                missing("contract")
        with pytest.raises(UnknownConfiguration):
            registry.line("line")
        again = registry.add(_configuration())
        assert again.record != first.record
        assert registry.sealed(again, "token", 1) is None
        assert registry.get("contract").secrets == {}

    def test_all_are_listed_by_name(self) -> None:
        registry = self.make()
        for name in ("b", "c", "a"):
            registry.add(build(name, {"base_url": "https://contract.example"}))
        assert [configuration.name for configuration in registry.all()] == [
            "a",
            "b",
            "c",
        ]

    def test_a_line_is_kept_and_changed(self) -> None:
        registry = self.kept()
        for path in ("/one", "/two"):
            registry.put_line(SyncLine("line", "contract", "GET", path))
        assert registry.line("line") == SyncLine("line", "contract", "GET", "/two")
        assert registry.lines() == [SyncLine("line", "contract", "GET", "/two")]
        with pytest.raises(UnknownConfiguration):
            registry.line("another")

    def test_a_sealed_secret_is_replaced_by_a_reference_and_back(self) -> None:
        registry = self.kept()
        stored = SecretState(
            "https://contract.example:443", version=3, set_at=1_800_000_000.5
        )
        put(registry, "token", stored, _sealed("k1"))
        found = registry.get("contract")
        assert found.secrets == {"token": stored}
        assert registry.sealed(found, "token", 3) == _sealed("k1")
        reference = parse_reference("env:TOKEN", field="token")
        elsewhere = SecretState("https://contract.example:443", reference, 4)
        put(registry, "token", elsewhere, None)
        found = registry.get("contract")
        assert found.secrets == {"token": elsewhere}
        assert registry.sealed(found, "token", 4) is None

    def test_a_pending_secret_is_not_in_use_and_two_versions_before_are_gone(
        self,
    ) -> None:
        registry = self.kept()
        states = [
            SecretState("https://contract.example:443", version=n) for n in (1, 2, 3)
        ]
        for state in states[:2]:
            put(registry, "token", state, _sealed(f"k{state.version}"))
        for _ in range(2):  # the second time one is pending already, as after a kill
            registry.put_secret("contract", "token", states[2], _sealed("k3"))
        found = registry.get("contract")
        assert found.secrets == {"token": states[1]}
        assert registry.sealed(found, "token", 3) == _sealed("k3")
        registry.activate_secret("contract", "token", 3)
        assert registry.get("contract").secrets == {"token": states[2]}
        kept = [registry.sealed(found, "token", n) for n in (1, 2, 3)]
        assert kept == [None, _sealed("k2"), _sealed("k3")]

    def test_two_who_set_one_secret_at_once_leave_one_in_use(self) -> None:
        registry = self.kept()
        state = SecretState("https://contract.example:443", version=1)
        for key in ("mine", "theirs"):
            registry.put_secret("contract", "token", state, _sealed(key))
        registry.activate_secret("contract", "token", 1)
        with pytest.raises(EditConflict):
            registry.activate_secret("contract", "token", 1)
        with pytest.raises(EditConflict):
            registry.put_secret("contract", "token", state, _sealed("late"))
        found = registry.get("contract")
        assert found.secrets == {"token": state}
        assert registry.sealed(found, "token", 1) == _sealed("theirs")

    def test_a_row_that_is_gone_takes_its_secret_along_and_no_other(self) -> None:
        registry = self.make()
        row = HeaderRow("X-Key", "", secret=True)
        made = registry.add(replace(_configuration(), headers=(row,)))
        for field in ("token", "header:X-Key"):  # set after the configuration was read
            put(
                registry,
                field,
                SecretState("https://contract.example:443"),
                _sealed("k1"),
            )
        registry.replace(replace(made, headers=()))
        assert set(registry.get("contract").secrets) == {"token"}
        assert registry.key_uses() == {_name("k1"): 1}

    def test_a_removed_line_is_unknown(self) -> None:
        registry = self.kept()
        registry.put_line(SyncLine("line", "contract", "GET", "/"))
        registry.remove_line("line")
        assert registry.lines() == []
        with pytest.raises(UnknownConfiguration):
            registry.remove_line("line")

    def test_some_are_found_by_name_and_what_is_not_there_is_left_out(self) -> None:
        registry = self.make()
        made = [
            registry.add(build(n, {"base_url": "https://a.example"}))
            for n in ("a", "b")
        ]
        found = registry.find(["b", "nobody", "a"])
        assert found == {"a": made[0], "b": made[1]}

    def test_a_batch_is_kept_whole_or_not_at_all(self) -> None:
        registry = self.make()
        first = registry.add(_configuration())
        with (  # noqa: PT012 - the last one fails
            pytest.raises(EditConflict),
            registry.batch(),
        ):
            registry.add(build("another", {"base_url": "https://a.example"}))
            put(
                registry,
                "token",
                SecretState("https://contract.example:443"),
                _sealed("k1"),
            )
            registry.replace(replace(first, version=7))
        assert [c.name for c in registry.all()] == ["contract"]
        assert registry.get("contract").secrets == {}
        with registry.batch():
            registry.add(build("another", {"base_url": "https://a.example"}))
        assert [c.name for c in registry.all()] == ["another", "contract"]

    def test_check_values_of_keys_are_kept_once(self) -> None:
        registry = self.make()
        assert registry.known_keys() == {}
        registry.put_known_keys({"k1": b"1"})
        registry.put_known_keys({"k1": b"changed", "k2": b"2"})
        assert registry.known_keys() == {"k1": b"1", "k2": b"2"}

    def test_a_cleared_secret_is_gone_in_all_versions(self) -> None:
        registry = self.kept()
        for version in (1, 2):
            state = SecretState("https://contract.example:443", version=version)
            put(registry, "token", state, _sealed("k1"))
        registry.clear_secret("contract", "token")
        found = registry.get("contract")
        assert found.secrets == {}
        assert [registry.sealed(found, "token", version) for version in (1, 2)] == [
            None,
            None,
        ]
        assert registry.key_uses() == {}

    def test_a_standing_says_what_is_missing_stored_and_about_to_expire(self) -> None:
        registry = self.make()
        day = date(2027, 1, 31)
        values = {
            "base_url": "https://contract.example",
            "authentication_type": "bearer",
        }
        registry.add(build("contract", values | {"token_expires_on": day}))
        known = standing(registry)
        assert (known.needs_secret, known.stores_secret, known.expires_on) == (
            True,
            False,
            day,
        )
        put(
            registry,
            "token",
            SecretState("https://contract.example:443"),
            _sealed("k1"),
        )
        (found,) = registry.summaries()
        assert (found.standing.needs_secret, found.standing.stores_secret) == (
            False,
            True,
        )
        registry.clear_secret("contract", "token")
        assert standing(registry).needs_secret

    def test_how_a_test_ended_holds_until_something_changes(self) -> None:
        registry = self.make()
        made = registry.add(_configuration())
        assert standing(registry) == Health()
        registry.put_trial(made, 10.0, "")
        assert standing(registry) == Health(10.0, 10.0, "", current=True)
        registry.put_trial(made, 20.0, "timeout")
        failing = Health(20.0, 10.0, "timeout", current=True)
        assert standing(registry) == failing
        put(
            registry,
            "token",
            SecretState("https://contract.example:443"),
            _sealed("k1"),
        )
        assert standing(registry) == replace(failing, current=False)
        registry.put_trial(made, 30.0, "")  # of the state before the secret was set
        assert standing(registry) == replace(failing, current=False)
        registry.put_trial(registry.get("contract"), 40.0, "")
        assert standing(registry).current
        registry.replace(made)
        assert not standing(registry).current

    def test_what_a_test_saw_is_kept_until_another_sees_something(self) -> None:
        registry = self.make()
        made = registry.add(_configuration())
        registry.put_trial(made, 10.0, "", {"tls": "TLSv1.2", "offered": ["basic"]})
        registry.put_trial(made, 20.0, "dns")
        assert standing(registry).seen == {"tls": "TLSv1.2", "offered": ["basic"]}
        registry.put_trial(made, 30.0, "", {"tls": "TLSv1.3"})
        assert standing(registry).seen == {"tls": "TLSv1.3"}

    def test_refusals_are_counted_until_one_is_accepted(self) -> None:
        registry = self.kept()
        revision = registry.get("contract").revision
        assert [registry.note_refused("contract", revision) for _ in range(3)] == [
            1,
            2,
            3,
        ]
        assert registry.note_refused("contract", revision - 1) == 0, (
            "of a former secret"
        )
        assert (registry.get("contract").refused, standing(registry).refused) == (3, 3)
        registry.pause("contract", 70.0)
        registry.pause("contract", 80.0)
        assert registry.get("contract").paused
        assert registry.find(["contract"])["contract"].paused
        assert standing(registry).paused_at == 70.0
        registry.note_accepted("contract")
        found = registry.get("contract")
        assert (found.refused, found.paused) == (0, False)
        registry.note_refused("contract", registry.get("contract").revision)
        registry.pause("contract", 90.0)
        registry.resume("contract")
        assert standing(registry) == Health()

    def test_what_is_gone_is_neither_counted_nor_resumed(self) -> None:
        registry = self.make()
        assert registry.note_refused("nobody", 1) == 0
        registry.note_accepted("nobody")
        registry.pause("nobody", 1.0)
        with pytest.raises(UnknownConfiguration):
            registry.resume("nobody")

    def test_another_secret_an_edit_or_a_good_test_ends_a_pause(self) -> None:
        registry = self.kept()

        def paused_after(change: Callable[[], object]) -> bool:
            registry.note_refused("contract", registry.get("contract").revision)
            registry.pause("contract", 70.0)
            assert registry.get("contract").paused
            change()
            found = registry.get("contract")
            assert found.paused == bool(found.refused)
            return found.paused

        state = SecretState("https://contract.example:443")
        assert not paused_after(lambda: put(registry, "token", state, _sealed("k1")))
        assert not paused_after(lambda: registry.clear_secret("contract", "token"))
        assert not paused_after(lambda: registry.replace(registry.get("contract")))
        assert not paused_after(
            lambda: registry.put_trial(registry.get("contract"), 1.0, "")
        )
        assert paused_after(
            lambda: registry.put_trial(registry.get("contract"), 1.0, "timeout")
        )

    def test_a_late_refusal_of_the_old_secret_does_not_pause_the_new_one(self) -> None:
        registry = self.kept()
        registry.note_refused("contract", registry.get("contract").revision)
        put(
            registry,
            "token",
            SecretState("https://contract.example:443"),
            _sealed("k1"),
        )
        registry.pause("contract", 70.0)
        assert not registry.get("contract").paused

    def test_due_are_those_that_could_send_and_were_tested_before(self) -> None:
        registry = self.make()
        for name in ("old", "older", "new", "untested", "paused", "off", "unset"):
            values = {"base_url": "https://contract.example", "active": name != "off"}
            if name == "unset":
                values["authentication_type"] = "bearer"
            made = registry.add(build(name, values))
            moments = {"older": 5.0, "new": 100.0}
            if name != "untested":
                registry.put_trial(made, moments.get(name, 10.0), "timeout")
        registry.note_refused("paused", registry.get("paused").revision)
        registry.pause("paused", 20.0)
        assert registry.due(50.0, 10) == ["older", "old"]
        assert registry.due(50.0, 1) == ["older"]

    def test_a_lock_holds_for_the_version_that_was_read_and_no_other(self) -> None:
        registry = self.kept()
        stored = registry.get("contract")
        with registry.batch():
            registry.lock(stored)
        registry.replace(replace(stored, notes="changed"))
        with pytest.raises(EditConflict), registry.batch():
            registry.lock(stored)
        registry.remove("contract")
        again = registry.add(_configuration())
        assert again.version == stored.version
        with pytest.raises(EditConflict), registry.batch():
            registry.lock(stored)

    def test_a_voucher_comes_with_its_configuration_and_only_the_last_one_stays(
        self,
    ) -> None:
        registry = self.kept()
        stored = registry.get("contract")
        assert stored.voucher is None
        rows = [
            SealedRow(voucher_place(stored.record, version), _sealed("old"))
            for version in (1, 2)
        ]
        for row in rows:
            registry.put_voucher("contract", row)
        registry.replace(replace(stored, notes="changed"))
        assert registry.find(["contract"])["contract"].voucher == rows[1]
        assert registry.get("contract").voucher == rows[1]
        assert "voucher" not in registry.get("contract").secrets
        assert registry.sealed_by_others("", 10) == [rows[1]]
        assert registry.key_uses() == {}
        assert registry.key_uses(vouchers=True) == {_name("old"): 1}
        assert registry.swap_sealed(rows[1], _sealed("new"))
        swapped = registry.find(["contract"])["contract"].voucher
        assert swapped == replace(rows[1], stored=_sealed("new"))

    def test_ciphertexts_are_counted_found_and_swapped_by_their_key(self) -> None:
        registry = self.make()
        record = registry.add(_configuration()).record
        origin = "https://contract.example:443"
        for number in range(3):
            state = SecretState(origin, version=number + 4)
            put(registry, f"header:X-{number}", state, _sealed("old"))
        assert registry.key_uses() == {_name("old"): 3}
        rows = registry.sealed_by_others(_name("new"), 2)
        assert len(rows) == 2
        assert rows[0].place == Place("secret", record, "header:X-0", 4, origin)
        for row in registry.sealed_by_others(_name("new"), 10):
            assert registry.swap_sealed(row, _sealed("new"))
        assert registry.key_uses() == {_name("new"): 3}
        assert registry.sealed_by_others(_name("new"), 10) == []
        assert not registry.swap_sealed(rows[0], _sealed("old"))
        assert registry.key_uses() == {_name("new"): 3}


def standing(registry: Registry) -> Health:
    """Return how the contract's configuration stands, apart from its secrets."""
    (found,) = registry.summaries()
    assert found[:2] == ("contract", "https://contract.example")
    return replace(found.standing, stores_secret=False)


def put(
    registry: Registry, field: str, state: SecretState, sealed: bytes | None
) -> None:
    """Keep a secret of the contract's configuration and use it at once."""
    registry.put_secret("contract", field, state, sealed)
    registry.activate_secret("contract", field, state.version)


def _sealed(key: str) -> bytes:
    """Return bytes in the form of an envelope that no key opens."""
    return Envelope(
        key.encode().ljust(8), b"n" * 12, b"w" * 48, b"n" * 12, b"c" * 80
    ).pack()


def _name(key: str) -> str:
    return key.encode().ljust(8).hex()


def _configuration() -> Configuration:
    return build("contract", {"base_url": "https://contract.example"})
