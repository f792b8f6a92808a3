"""The contract suite of the registry over all tables of a host."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from uuid import uuid4

import pytest

from outkey.foundation.adapters.clock_system import SystemClock
from outkey.foundation.core.errors import (
    ConfigError,
    EditConflict,
    UnknownConfiguration,
    UnknownConnection,
)
from outkey.sending.core.configuration.configuration import Configuration, build
from outkey.sending.core.configuration.custom_rows import CustomHeader
from outkey.sending.core.configuration.health import ACCEPTED_AT, Health
from outkey.sending.core.configuration.reference import parse_reference
from outkey.sending.core.configuration.secret_state import SecretState
from outkey.sending.core.connections.connection import Connection, ConnectionQuery
from outkey.sending.core.vault.envelope import SealedRow
from outkey.sending.core.vault.versions import (
    SecretVersion,
    activate,
    add_pending,
    secret_version,
)
from outkey.sending.core.vault.voucher import voucher_place
from outkey.sync.core.line.line import SyncLine
from outkey.sync.engine.line_registry import Registry
from outkey.sync.ports.sync import Storage
from outkey.testing.contracts_storage import (
    contract_configuration,
    name_of_key,
    sealed_bytes,
)


class RegistryContract(ABC):
    """The promises of the registry over the rows of a host, taken together."""

    @abstractmethod
    def make(self) -> Storage:
        """Return empty rows."""

    def registry(self, *configurations: Configuration) -> Registry:
        """Return a registry with these configurations, by default the contract's."""
        self.storage = self.make()
        registry = Registry(self.storage, SystemClock(), fresh_seconds=0.0)
        for configuration in configurations or [contract_configuration()]:
            registry.add(configuration)
        return registry

    def put_pending(self, field: str, state: SecretState, sealed: bytes | None) -> None:
        """Store a pending version of a secret of the contract's configuration."""
        (row,) = self.storage.configurations.find(names=["contract"])
        rows = self.storage.secrets
        new = secret_version(row.record, field, state, sealed=sealed)
        for before, after in add_pending(rows.read([row.record], field), new):
            assert rows.swap(before, after)

    def activate(self, registry: Registry, field: str, version: int) -> None:
        """Put a pending version into use."""
        (row,) = self.storage.configurations.find(names=["contract"])
        rows = self.storage.secrets
        for before, after in activate(rows.read([row.record], field), version):
            assert rows.swap(before, after)
        registry.note_secrets_changed("contract")

    def put_secret(
        self, registry: Registry, field: str = "token", version: int = 1
    ) -> None:
        """Store a secret of the contract's configuration and use it at once."""
        state = SecretState("https://contract.example:443", version=version)
        self.put_pending(field, state, sealed_bytes(f"k{version}"))
        self.activate(registry, field, version)

    def ciphertexts(
        self, configuration: Configuration, field: str
    ) -> dict[int, bytes | None]:
        """Return the ciphertexts of a secret by version."""
        versions = self.storage.secrets.read([configuration.record], field)
        return {row.place.version: row.sealed for row in versions}

    def test_an_account_is_found_by_its_connection_and_changes_with_its_configuration(
        self,
    ) -> None:
        registry = self.registry(connected_configuration())
        stored = registry.get("contract")
        with pytest.raises(UnknownConnection):
            registry.connected("contract", "acme")
        registry.add_connection(stored, Connection("acme", stored.record))
        view = registry.connected("contract", "acme")
        assert registry.connected("contract", "acme") is view
        assert registry.get(view.account) is view
        changed = registry.put_settings(replace(stored, notes="changed"))
        again = registry.connected("contract", "acme")
        assert (again.notes, again.record) == ("changed", view.record)
        registry.rename(changed.name, "renamed", at=1.0)
        assert registry.connected("renamed", "acme").name == "renamed"
        assert registry.get(view.account).name == "renamed"
        with pytest.raises(UnknownConfiguration):
            registry.connected("contract", "acme")

    def test_a_connection_is_changed_paused_and_removed_alone(self) -> None:
        registry = self.registry(connected_configuration())
        stored = registry.get("contract")
        for name in ("a", "b"):
            registry.add_connection(stored, Connection(name, stored.record))
        view = registry.connected("contract", "a")
        for _ in range(2):
            refused = registry.note_refused(view.account, view.revision)
        registry.pause(view.account, at=1.0)
        assert refused == 2
        assert registry.connected("contract", "a").paused
        assert not registry.connected("contract", "b").paused
        assert not registry.get("contract").paused
        seen = registry.connected("contract", "a")
        registry.put_connection(seen, Connection("a", stored.record, username="ann"))
        assert registry.connected("contract", "a").username == "ann"
        with pytest.raises(EditConflict):
            registry.put_connection(seen, Connection("a", stored.record))
        registry.remove(view.account)
        with pytest.raises(UnknownConnection):
            registry.connected("contract", "a")
        ids = [
            row.connection.id
            for row in registry.connections(stored, ConnectionQuery())
            if row.connection
        ]
        assert ids == ["b"]
        registry.remove("contract")
        with pytest.raises((UnknownConfiguration, UnknownConnection)):
            registry.get(view.account)

    def test_what_was_added_comes_back_as_it_was(self) -> None:
        registry = self.registry(build("other", {"base_url": "https://other.example"}))
        stored = registry.add(contract_configuration())
        assert stored.record
        assert registry.get("contract") == stored
        assert registry.get("contract") is registry.get("contract"), "until it changes"
        assert replace(stored, record="", version=0) == contract_configuration()
        assert [made.name for made in registry.all()] == ["contract", "other"]
        assert registry.find(["contract", "nobody"]) == {"contract": stored}

    def test_a_new_one_is_stored_with_its_references(self) -> None:
        reference = parse_reference("env:TOKEN", field="token")
        values = {
            "base_url": "https://contract.example",
            "authentication_type": "bearer",
        }
        made = build("contract", values, references={"token": reference})
        registry = self.registry(made)
        assert registry.get("contract").secrets == made.secrets
        assert not _health(registry).needs_secret

    def test_a_second_one_of_the_same_name_is_refused(self) -> None:
        registry = self.registry()
        with pytest.raises(ConfigError) as caught:
            registry.add(contract_configuration())
        assert caught.value.field == "name"

    def test_a_change_needs_the_newest_version(self) -> None:
        registry = self.registry()
        first = registry.get("contract")
        second = registry.put_settings(replace(first, notes="one"))
        assert (second.record, registry.get("contract").notes) == (first.record, "one")
        assert registry.get("contract") == second
        with pytest.raises(EditConflict):
            registry.put_settings(replace(first, notes="two"))
        assert registry.get("contract").notes == "one"

    def test_what_was_removed_is_unknown_and_its_record_is_not_used_again(self) -> None:
        registry = self.registry()
        first = registry.get("contract")
        registry.put_line(SyncLine("line", "contract", "GET", "/"))
        self.put_secret(registry)
        registry.remove("contract")
        for missing in (registry.get, registry.remove):
            with pytest.raises(UnknownConfiguration):
                missing("contract")
        with pytest.raises(UnknownConfiguration):
            registry.line("line")
        again = registry.add(contract_configuration())
        assert again.record != first.record
        assert self.ciphertexts(again, "token") == {}
        assert registry.get("contract").secrets == {}

    def test_a_line_is_stored_changed_and_removed(self) -> None:
        registry = self.registry()
        for path in ("/one", "/two"):
            registry.put_line(SyncLine("line", "contract", "GET", path))
            assert registry.line("line").path == path
        line = SyncLine("line", "contract", "GET", "/two")
        assert registry.lines() == [line]
        assert registry.line("line") is registry.line("line"), "until it changes"
        assert registry.timetable() == [("line", "contract", "", "")]
        with pytest.raises(UnknownConfiguration):
            registry.put_line(SyncLine("stray", "nobody", "GET", "/"))
        registry.remove_line("line")
        assert registry.lines() == []
        with pytest.raises(UnknownConfiguration):
            registry.line("line")
        with pytest.raises(UnknownConfiguration):
            registry.remove_line("line")

    def test_a_sealed_secret_is_replaced_by_a_reference(self) -> None:
        registry = self.registry()
        self.put_secret(registry, version=3)
        reference = parse_reference("env:TOKEN", field="token")
        elsewhere = SecretState("https://contract.example:443", reference, 4)
        registry.put_reference(registry.get("contract"), "token", elsewhere)
        registry.note_secrets_changed("contract")
        stored = registry.get("contract")
        assert stored.secrets == {"token": elsewhere}
        assert self.ciphertexts(stored, "token") == {3: sealed_bytes("k3"), 4: None}

    def test_a_version_of_a_secret_is_never_numbered_twice(self) -> None:
        registry = self.registry()
        self.put_secret(registry, version=3)
        reference = parse_reference("env:TOKEN", field="token")
        state = SecretState("https://contract.example:443", reference, 1)
        registry.put_reference(registry.get("contract"), "token", state)
        assert registry.find(["contract"])["contract"].secrets["token"].version == 4

    def test_a_pending_secret_is_not_in_use_and_two_versions_before_are_deleted(
        self,
    ) -> None:
        registry = self.registry()
        for version in (1, 2):
            self.put_secret(registry, version=version)
        state = SecretState("https://contract.example:443", version=3)
        for key in ("mine", "k3"):  # one is pending already, as after a kill
            self.put_pending("token", state, sealed_bytes(key))
        assert registry.get("contract").secrets["token"].version == 2
        self.activate(registry, "token", 3)
        stored = registry.get("contract")
        assert stored.secrets == {"token": state}
        assert self.ciphertexts(stored, "token") == {
            2: sealed_bytes("k2"),
            3: sealed_bytes("k3"),
        }

    def test_a_header_that_is_removed_takes_its_secret_along_and_no_other(self) -> None:
        header = CustomHeader("X-Key", "", secret=True)
        registry = self.registry(replace(contract_configuration(), headers=(header,)))
        made = registry.get("contract")
        for field in ("token", "header:X-Key"):  # set after the configuration was read
            self.put_secret(registry, field)
        registry.put_settings(replace(made, headers=()))
        assert set(registry.get("contract").secrets) == {"token"}
        assert self.storage.secrets.key_uses() == {name_of_key("k1"): 1}

    def test_a_transaction_is_written_whole_or_not_at_all(self) -> None:
        registry = self.registry()
        first = registry.get("contract")
        with (  # noqa: PT012 - the last one fails
            pytest.raises(EditConflict),
            registry.transaction(),
        ):
            registry.add(build("another", {"base_url": "https://a.example"}))
            self.put_secret(registry)
            registry.put_settings(replace(first, version=7))
        assert [c.name for c in registry.all()] == ["contract"]
        assert registry.get("contract").secrets == {}
        with registry.transaction():
            registry.add(build("another", {"base_url": "https://a.example"}))
        assert [c.name for c in registry.all()] == ["another", "contract"]

    def test_a_cleared_secret_is_deleted_in_all_versions(self) -> None:
        registry = self.registry()
        for version in (1, 2):
            self.put_secret(registry, version=version)
        registry.clear_secret(registry.get("contract"), "token")
        registry.note_secrets_changed("contract")
        stored = registry.get("contract")
        assert stored.secrets == {}
        assert self.ciphertexts(stored, "token") == {}
        assert self.storage.secrets.key_uses() == {}

    def test_health_shows_what_is_missing_stored_and_about_to_expire(self) -> None:
        day = date(2027, 1, 31)
        values = {
            "base_url": "https://contract.example",
            "authentication_type": "bearer",
            "token_expires_on": day,
        }
        registry = self.registry(build("contract", values))
        assert _health(registry) == Health(needs_secret=True, expires_on=day)
        self.put_secret(registry)
        assert _health(registry) == Health(stores_secret=True, expires_on=day)
        registry.clear_secret(registry.get("contract"), "token")
        registry.note_secrets_changed("contract")
        assert _health(registry).needs_secret

    def test_how_a_test_ended_holds_until_something_changes(self) -> None:
        registry = self.registry()
        made = registry.get("contract")
        registry.save_test_result(made, 10.0, "")
        registry.save_test_result(made, 20.0, "timeout", {"tls": "TLSv1.2"})
        failing = Health(20.0, 10.0, "timeout", current=True, seen={"tls": "TLSv1.2"})
        assert _health(registry) == failing
        self.put_secret(registry)
        assert _health(registry) == replace(failing, current=False)
        registry.save_test_result(
            made, 30.0, ""
        )  # of the state before the secret was set
        assert _health(registry) == replace(failing, current=False)
        registry.save_test_result(registry.get("contract"), 40.0, "")
        assert _health(registry).current
        registry.note_vouched("contract")
        assert _health(registry).current
        registry.put_settings(made)
        assert not _health(registry).current

    def test_refusals_are_counted_until_one_is_accepted(self) -> None:
        registry = self.registry()
        revision = registry.get("contract").revision
        for count in (1, 2, 3):
            assert registry.note_refused("contract", revision) == count
        assert registry.note_refused("contract", revision - 1) == 0, "a former secret"
        assert registry.get("contract").refused == _health(registry).refused == 3
        registry.pause("contract", 70.0)
        registry.pause("contract", 80.0)
        assert registry.get("contract").paused
        assert registry.find(["contract"])["contract"].paused
        assert _health(registry).paused_at == 70.0
        registry.note_accepted("contract", revision - 1, 85.0)
        stored = registry.get("contract")
        assert (stored.refused, stored.paused) == (0, False)
        registry.note_refused("contract", revision)
        registry.pause("contract", 90.0)
        registry.resume("contract")
        assert _health(registry) == Health()

    def test_the_first_accepted_request_of_a_revision_is_noted_until_a_change(
        self,
    ) -> None:
        registry = self.registry()
        stored = registry.get("contract")
        assert not stored.is_proved
        registry.note_accepted("contract", stored.revision - 1, 60.0)
        assert not registry.get("contract").is_proved, "a former secret"
        for moment in (70.0, 80.0):
            registry.note_accepted("contract", stored.revision, moment)
        assert registry.get("contract").is_proved
        assert registry.get("contract").accepted_at == 70.0
        assert _health(registry).seen == {ACCEPTED_AT: 70.0}
        registry.note_secrets_changed("contract")
        assert not registry.get("contract").is_proved
        assert _health(registry).seen == {}

    def test_a_new_record_is_kept_and_none_is_used_twice(self) -> None:
        registry = self.registry()
        record = uuid4().hex
        added = registry.add(build("drawn", {"base_url": "https://a.example"}), record)
        assert added.record == record
        used = (record, registry.get("contract").record, "7" * 32, "no id")
        for other in used:
            with pytest.raises(ConfigError) as caught:
                registry.add(build("two", {"base_url": "https://a.example"}), other)
            assert caught.value.message == "this form was saved before"
        registry.remove("drawn")

    def test_two_who_have_read_the_same_count_lose_no_refusal(self) -> None:
        registry = self.registry()
        revision = registry.get("contract").revision
        other = Registry(self.storage, SystemClock(), fresh_seconds=60.0)
        other.get("contract")
        assert registry.note_refused("contract", revision) == 1
        assert other.note_refused("contract", revision) == 2

    def test_a_refusal_by_a_process_with_an_older_row_undoes_no_test(self) -> None:
        registry = self.registry()
        stored = registry.get("contract")
        other = Registry(self.storage, SystemClock(), fresh_seconds=60.0)
        other.get("contract")
        registry.save_test_result(stored, 20.0, "timeout")
        tested = _health(registry)
        assert other.note_refused("contract", stored.revision) == 1
        assert _health(registry) == replace(tested, refused=1)

    def test_a_refusal_by_a_process_with_an_older_row_undoes_no_consent(self) -> None:
        registry = self.registry()
        stored = registry.get("contract")
        other = Registry(self.storage, SystemClock(), fresh_seconds=60.0)
        other.get("contract")
        rows = self.storage.configurations
        (row,) = rows.find(names=["contract"])
        dead = replace(row, health=row.health.after_token(dead=True, renewed=False))
        assert rows.swap(row, dead)
        assert other.note_refused("contract", stored.revision) == 1
        assert _health(registry).needs_person

    def test_what_was_removed_is_neither_counted_nor_resumed(self) -> None:
        registry = self.registry()
        assert registry.note_refused("nobody", 1) == 0
        registry.note_accepted("nobody", 1, 1.0)
        registry.pause("nobody", 1.0)
        with pytest.raises(UnknownConfiguration):
            registry.resume("nobody")

    def test_another_secret_an_edit_or_a_good_test_ends_a_pause(self) -> None:
        registry = self.registry()

        def is_paused_after(change: Callable[[], object]) -> bool:
            registry.note_refused("contract", registry.get("contract").revision)
            registry.pause("contract", 70.0)
            assert registry.get("contract").paused
            change()
            stored = registry.get("contract")
            assert stored.paused == bool(stored.refused)
            return stored.paused

        assert not is_paused_after(lambda: self.put_secret(registry))
        assert not is_paused_after(lambda: registry.note_secrets_changed("contract"))
        assert not is_paused_after(
            lambda: registry.put_settings(registry.get("contract"))
        )
        assert not is_paused_after(
            lambda: registry.save_test_result(registry.get("contract"), 1.0, "")
        )
        assert is_paused_after(
            lambda: registry.save_test_result(registry.get("contract"), 1.0, "timeout")
        )

    def test_a_late_refusal_of_the_old_secret_does_not_pause_the_new_one(self) -> None:
        registry = self.registry()
        registry.note_refused("contract", registry.get("contract").revision)
        self.put_secret(registry)
        registry.pause("contract", 70.0)
        assert not registry.get("contract").paused

    def test_due_are_those_that_could_send_and_were_tested_before(self) -> None:
        registry = self.registry()
        for name in ("old", "older", "new", "untested", "paused", "off", "unset"):
            values = {"base_url": "https://contract.example", "active": name != "off"}
            if name == "unset":
                values["authentication_type"] = "bearer"
            made = registry.add(build(name, values))
            moments = {"older": 5.0, "new": 100.0}
            if name != "untested":
                registry.save_test_result(made, moments.get(name, 10.0), "timeout")
        registry.note_refused("paused", registry.get("paused").revision)
        registry.pause("paused", 20.0)
        assert registry.due(60.0, 10.0, 10) == ["older", "old"]
        assert registry.due(60.0, 10.0, 1) == ["older"]
        # "new" was tested by a clock that was ahead.
        assert registry.due(39.0, 1.0, 10) == ["older", "old", "new"]

    def test_a_lock_holds_for_the_version_that_was_read_and_no_other(self) -> None:
        registry = self.registry()
        stored = registry.get("contract")
        with registry.transaction():
            registry.lock(stored)
        registry.put_settings(replace(stored, notes="changed"))
        with pytest.raises(EditConflict), registry.transaction():
            registry.lock(stored)
        registry.remove("contract")
        with pytest.raises(EditConflict), registry.transaction():
            registry.lock(stored)
        again = registry.add(contract_configuration())
        assert again.version == stored.version
        with pytest.raises(EditConflict), registry.transaction():
            registry.lock(stored)

    def test_another_name_of_the_setter_leaves_value_and_test_result_valid(
        self,
    ) -> None:
        registry = self.registry(
            contract_configuration(), replace(contract_configuration(), name="b")
        )
        names = {1: "web:alice", 2: "web:alice", 3: "web:bob"}
        for version, name in names.items():
            state = SecretState("https://contract.example:443", version=version)
            state = replace(state, set_at=float(version), set_by=name)
            self.put_pending("token", state, sealed_bytes(f"k{version}"))
            if version < 3:
                self.activate(registry, "token", version)
        stored = registry.get("contract")
        registry.save_test_result(stored, 10.0, "")
        other = registry.get("b")
        before = self.storage.secrets.read([stored.record], "token")
        registry.rename_setter("web:alice", "erased:1")
        renamed = registry.get("contract")
        assert renamed.secrets["token"].set_by == "erased:1"
        assert renamed.revision == stored.revision + 1, "caches must read it again"
        summary = next(s for s in registry.summaries() if s.name == "contract")
        assert summary.health.current
        after = self.storage.secrets.read([stored.record], "token")
        setters = {row.place.version: row.set_by for row in after}
        assert setters == {1: "erased:1", 2: "erased:1", 3: "web:bob"}
        assert {replace(row, set_by="") for row in after} == {
            replace(row, set_by="") for row in before
        }
        assert registry.get("b") == other

    def test_a_voucher_comes_with_its_configuration_and_is_not_a_secret(self) -> None:
        registry = self.registry()
        stored = registry.get("contract")
        assert stored.voucher is None
        place = voucher_place(stored.record, 1)
        self.storage.secrets.swap(None, SecretVersion(place, sealed=sealed_bytes("k1")))
        registry.note_vouched("contract")
        vouched = registry.get("contract")
        assert vouched.voucher == SealedRow(place, sealed_bytes("k1"))
        assert vouched.secrets == {}
        registry.put_settings(replace(stored, notes="changed"))
        assert registry.find(["contract"])["contract"].voucher == vouched.voucher


def _health(registry: Registry) -> Health:
    """Return the health of the contract's configuration."""
    (summary,) = registry.summaries()
    assert summary[:2] == ("contract", "https://contract.example")
    return summary.health


def connected_configuration() -> Configuration:
    """Return the configuration of the contract, with connections."""
    values = {"base_url": "https://contract.example", "connections": "required"}
    return build("contract", values)
