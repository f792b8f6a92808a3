"""Contract suites of the tables of a host, used like those of `contracts`."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from typing import Any
from uuid import uuid4

from outkey.foundation.core.text import NO_TEXT, build_text
from outkey.sending.core.configuration.configuration import Configuration, build
from outkey.sending.core.configuration.custom_rows import CustomHeader
from outkey.sending.core.configuration.health import Health, Summary
from outkey.sending.core.configuration.rows import (
    ConfigurationRow,
    new_connection_row,
    new_row,
)
from outkey.sending.core.connections.connection import (
    Connection,
    ConnectionQuery,
    ConnectionState,
    connection_record,
)
from outkey.sending.core.vault.envelope import Envelope, secret_place
from outkey.sending.core.vault.versions import SecretLabel, SecretVersion
from outkey.sending.core.vault.voucher import voucher_place
from outkey.sync.core.line.history import LineVersion
from outkey.sync.core.line.rows import LineRow
from outkey.sync.ports.sync import Storage


class ConfigurationRowsContract(ABC):
    """The promises of every table of configurations."""

    @abstractmethod
    def make(self) -> Storage:
        """Return empty rows."""

    def test_a_row_comes_back_as_it_was(self) -> None:
        rows = self.make().configurations
        stored = _row("contract")
        assert rows.swap(None, stored)
        assert rows.find(names=["contract"]) == [stored]
        assert rows.find(records=[stored.record]) == [stored]
        assert rows.find() == [stored]

    def test_every_setting_header_and_fact_of_health_comes_back(self) -> None:
        rows = self.make().configurations
        values = {
            "base_url": "https://contract.example/v2",
            "environment": "test",
            "network": "internal",
            "active": False,
            "owner": "north",
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
        headers = (
            CustomHeader("X-Tenant", "7", secret=False),
            CustomHeader("X-API-Key", "", secret=True),
        )
        made = build("contract", values, headers=headers)
        health = Health(
            tested_at=10.5,
            verified_at=9.5,
            cause="timeout",
            current=True,
            needs_secret=True,
            stores_secret=True,
            needs_person=True,
            expires_on=date(2027, 1, 31),
            refused=3,
            paused_at=11.5,
            active=False,
            seen={"tls": "TLSv1.3", "offered": ["basic"]},
        )
        stored = replace(new_row(made, uuid4().hex), health=health)
        assert rows.swap(None, stored)
        (row,) = rows.find(names=["contract"])
        assert row == stored
        assert replace(row.configuration({}), record="", version=0) == made

    def test_rows_are_found_by_name_or_record_and_listed_by_name(self) -> None:
        rows = self.make().configurations
        stored = {name: _row(name) for name in ("b", "c", "a")}
        for row in stored.values():
            assert rows.swap(None, row)
        assert [row.name for row in rows.find()] == ["a", "b", "c"]
        assert [row.name for row in rows.find(names=["c", "nobody", "a"])] == ["a", "c"]
        assert rows.find(names=["nobody"]) == []
        assert rows.find(records=[stored["b"].record]) == [stored["b"]]

    def test_a_name_is_stored_once(self) -> None:
        rows = self.make().configurations
        stored = _row("contract")
        assert rows.swap(None, stored)
        assert not rows.swap(None, _row("contract"))
        assert rows.find() == [stored]

    def test_a_row_is_changed_only_where_its_stamp_is_as_it_was(self) -> None:
        rows = self.make().configurations
        first = _row("contract")
        rows.swap(None, first)
        header = CustomHeader("X-Tenant", "7", secret=False)
        changed = build(
            "contract",
            {"base_url": "https://contract.example", "notes": "one"},
            headers=(header,),
        )
        second = first.after_edit(changed)
        assert rows.swap(first, second)
        assert not rows.swap(first, first.after_edit(changed))
        assert not rows.swap(first, None)
        assert rows.find(names=["contract"]) == [second]
        refused = replace(second, health=second.health.after_refusal())
        assert rows.swap(second, refused)
        assert not rows.swap(second, replace(second, health=Health(cause="dns")))
        paused = replace(refused, health=refused.health.after_pause(7.0))
        assert rows.swap(refused, paused)
        assert not rows.swap(refused, refused.after_reseal())
        tested = replace(paused, health=paused.health.after_test(8.0, "", {"tls": "1"}))
        assert rows.swap(paused, tested)
        assert rows.find(names=["contract"]) == [tested]
        resealed = tested.after_reseal()
        assert rows.swap(tested, resealed)
        (row,) = rows.find(names=["contract"])
        assert row == resealed
        assert row.health.current, "what a test found still holds"

    def test_a_renamed_row_keeps_its_lines_and_secrets(self) -> None:
        storage = self.make()
        stored = _row("contract")
        storage.configurations.swap(None, stored)
        storage.secrets.swap(None, _version(stored.record, "token"))
        storage.lines.swap(None, LineRow("line", "contract", "GET", "/", None))
        renamed = stored.after_rename("another", at=7.0)
        with storage.database.transaction():
            assert storage.configurations.swap(stored, renamed)
        assert storage.configurations.find() == [renamed]
        assert storage.configurations.find(names=["contract"]) == []
        assert [line.configuration for line in storage.lines.find()] == ["another"]
        assert len(storage.secrets.read([stored.record])) == 1

    def test_lists_are_made_of_columns_alone(self) -> None:
        rows = self.make().configurations
        for name in ("b", "a"):
            rows.swap(None, _row(name))
        first, second = rows.summaries()
        assert (first.name, second.name) == ("a", "b")
        assert first == Summary(
            "a",
            "https://contract.example",
            "none",
            "production",
            "public",
            "",
            Health(),
        )

    def test_a_deleted_row_takes_its_lines_and_secrets_along_and_no_others(
        self,
    ) -> None:
        storage = self.make()
        stored, other = _row("contract"), _row("other")
        for row in (stored, other):
            storage.configurations.swap(None, row)
            storage.secrets.swap(None, _version(row.record, "token"))
            storage.lines.swap(
                None, LineRow(f"of {row.name}", row.name, "GET", "/", None)
            )
        with storage.database.transaction():
            (locked,) = storage.configurations.find(names=["contract"], lock=True)
            assert storage.configurations.swap(locked, None)
        assert storage.configurations.find() == [other]
        assert [line.name for line in storage.lines.find()] == ["of other"]
        assert storage.secrets.read([stored.record]) == []
        assert len(storage.secrets.read([other.record])) == 1


class ConnectionRowsContract(ABC):
    """The promises of every table of configurations about connections."""

    @abstractmethod
    def make(self) -> Storage:
        """Return empty rows."""

    def stored(self, *ids: str) -> tuple[Storage, ConfigurationRow]:
        """Return rows with a configuration and its connections."""
        storage = self.make()
        owner = _connected_row("contract")
        storage.configurations.swap(None, owner)
        for name in ids:
            assert storage.configurations.swap(None, _account(owner, name))
        return storage, owner

    def test_every_fact_of_a_connection_comes_back(self) -> None:
        storage, owner = self.stored()
        connection = Connection(
            id="acme:7",
            configuration=owner.record,
            owner="north",
            username="ann",
            client_id="client",
            variables={"region": "eu1"},
            active=False,
            created_at=1.5,
            connected_at=2.5,
            last_used_at=3.5,
        )
        made = _account(owner, "acme:7")
        health = replace(made.health, active=False)
        stored = replace(made, connection=connection, health=health)
        assert storage.configurations.swap(None, stored)
        assert storage.configurations.find(names=[stored.name]) == [stored]
        assert storage.configurations.find(records=[stored.record]) == [stored]

    def test_a_connection_is_changed_only_where_its_stamp_is_as_it_was(self) -> None:
        storage, owner = self.stored("a")
        rows = storage.configurations
        (first,) = rows.connections(owner.record, ConnectionQuery())
        refused = replace(first, health=first.health.after_refusal())
        assert rows.swap(first, refused)
        assert not rows.swap(first, first.after_reseal())
        assert first.connection is not None
        changed = replace(first.connection, username="ann", active=False)
        second = refused.after_connection(changed, {}, owner.configuration({}))
        assert rows.swap(refused, second)
        assert rows.find(names=[first.name]) == [second]
        assert rows.swap(second, second.after_reseal())

    def test_lists_of_configurations_have_no_connections(self) -> None:
        storage, owner = self.stored("a", "b")
        assert [row.name for row in storage.configurations.find()] == [owner.name]
        assert [row.name for row in storage.configurations.summaries()] == [owner.name]

    def test_an_id_is_stored_once_in_a_configuration(self) -> None:
        storage, owner = self.stored("a")
        other = _connected_row("other")
        storage.configurations.swap(None, other)
        assert not storage.configurations.swap(None, _account(owner, "a"))
        assert storage.configurations.swap(None, _account(owner, "A"))
        assert storage.configurations.swap(None, _account(other, "a"))

    def test_connections_are_listed_by_code_points_and_page_by_page(self) -> None:
        ids = ["Z", "a", "~".join("ab"), "a.b", "a-b", "B", "10", "9", "ab"]
        storage, owner = self.stored(*ids)
        assert _listed(storage, owner) == sorted(ids)
        assert _listed(storage, owner, limit=4) == sorted(ids)[:4]
        after = sorted(ids)[3]
        assert _listed(storage, owner, after=after, limit=4) == sorted(ids)[4:8]
        assert _listed(storage, owner, prefix="a") == ["a", "a-b", "a.b", "ab", "a~b"]

    def test_connections_are_found_by_owner_and_state(self) -> None:
        storage, owner = self.stored()
        needs = Health(needs_secret=True)
        rows = {
            "new": (None, Health(), True),
            "working": (1.0, Health(), True),
            "secret": (1.0, needs, True),
            "consent": (1.0, Health(needs_person=True), True),
            "refused": (1.0, Health(refused=5, paused_at=2.0), True),
            "paused": (None, needs, False),
        }
        for name, (connected_at, health, active) in rows.items():
            made = _account(owner, name)
            assert made.connection is not None
            changed = replace(
                made.connection,
                connected_at=connected_at,
                active=active,
                owner=name[:1],
            )
            row = replace(
                made, connection=changed, health=replace(health, active=active)
            )
            assert storage.configurations.swap(None, row)
        found = {
            state: _listed(storage, owner, state=state) for state in ConnectionState
        }
        assert found == {
            ConnectionState.NEW: ["new"],
            ConnectionState.WORKING: ["working"],
            ConnectionState.NEEDS_PERSON: ["consent", "secret"],
            ConnectionState.PAUSED: ["paused", "refused"],
        }
        assert _listed(storage, owner, owner="p") == ["paused"]

    def test_secrets_of_connections_are_apart_and_go_with_them(self) -> None:
        storage, owner = self.stored("a", "b")
        one, two = storage.configurations.connections(owner.record, ConnectionQuery())
        for row in (owner, one, two):
            assert storage.secrets.swap(None, _version(row.record, "token"))
        (version,) = storage.secrets.read([two.record], "token")
        assert version == _version(two.record, "token")
        records = {
            version.place.record for version in storage.secrets.sealed_by_others("", 9)
        }
        assert records == {owner.record, one.record, two.record}
        with storage.database.transaction():
            assert storage.configurations.swap(one, None)
        assert storage.secrets.read([one.record]) == []
        assert len(storage.secrets.read([owner.record, two.record])) == 2

    def test_a_deleted_configuration_takes_its_connections_along(self) -> None:
        storage, owner = self.stored("a", "b")
        with storage.database.transaction():
            (locked,) = storage.configurations.find(names=["contract"], lock=True)
            assert storage.configurations.swap(locked, None)
        assert _listed(storage, owner) == []


class LineRowsContract(ABC):
    """The promises of every table of sync lines."""

    @abstractmethod
    def make(self) -> Storage:
        """Return empty rows."""

    def test_lines_come_back_by_name_and_can_be_changed_and_deleted(self) -> None:
        storage = self.make()
        owner = _row("contract")
        other = _row("other")
        for configuration in (owner, other):
            storage.configurations.swap(None, configuration)
        first = _line(owner, "b", path="/b")
        table = {"direction": "pull", "schedule": "0 * * * *", "nested": {"x": [1]}}
        second = _line(owner, "a", method="POST", sync=table)
        for row in (first, second):
            assert storage.lines.swap(None, row)
            assert not storage.lines.swap(None, row)
        assert storage.lines.find() == [second, first]
        assert storage.lines.find(["b"]) == [first]
        assert storage.lines.find(["a", "b", "nobody"]) == [second, first]
        assert storage.lines.find(["nobody"]) == []
        moved = _line(other, "b", method="PUT", sync={"schedule": ""})
        assert storage.lines.swap(first, moved)
        assert storage.lines.find(["b"]) == [moved]
        assert storage.lines.swap(moved, None)
        assert not storage.lines.swap(moved, None)
        assert storage.lines.find() == [second]

    def test_a_renamed_line_keeps_its_versions(self) -> None:
        storage = self.make()
        owner = _row("contract")
        storage.configurations.swap(None, owner)
        row = _line(owner, "a")
        assert storage.lines.swap(None, row)
        version = LineVersion("a", 1, 1.5, "ann", "path = '/'")
        assert storage.lines.add_version(version, oldest=1)
        renamed = replace(row, name="b")
        assert storage.lines.swap(row, renamed)
        assert storage.lines.find() == [renamed]
        assert storage.lines.versions("a", 9) == []
        assert storage.lines.versions("b", 9) == [replace(version, line="b")]

    def test_the_text_that_a_user_wrote_comes_back(self) -> None:
        storage = self.make()
        owner = _row("contract")
        storage.configurations.swap(None, owner)
        row = replace(_line(owner, "a", sync={"keys": []}), source="# mine\n")
        assert storage.lines.swap(None, row)
        assert storage.lines.find(["a"]) == [row]
        changed = replace(row, source="")
        assert storage.lines.swap(row, changed)
        assert storage.lines.find(["a"]) == [changed]

    def test_the_voucher_and_the_record_of_the_configuration_come_back(self) -> None:
        storage = self.make()
        owner = _row("contract")
        storage.configurations.swap(None, owner)
        row = replace(_line(owner, "a"), voucher="1.k.first")
        assert storage.lines.swap(None, replace(row, record=""))
        assert storage.lines.find(["a"]) == storage.lines.find() == [row]
        changed = replace(row, voucher="2.k.second")
        assert storage.lines.swap(row, changed)
        assert storage.lines.find(["a"]) == storage.lines.find() == [changed]
        with storage.database.transaction():
            storage.configurations.swap(owner, owner.after_rename("another", at=7.0))
        (found,) = storage.lines.find(["a"])
        assert (found.configuration, found.record) == ("another", owner.record)

    def test_versions_come_back_newest_first_and_go_with_their_line(self) -> None:
        storage = self.make()
        storage.configurations.swap(None, _row("contract"))
        row = LineRow("a", "contract", "GET", "/", None)
        assert storage.lines.swap(None, row)
        versions = [
            LineVersion("a", number, 1.5, "ann", f"path = '/{number}'", summary)
            for number, summary in enumerate(
                (build_text("n {n}", {"n": 1}), NO_TEXT, NO_TEXT), 1
            )
        ]
        for version in versions:
            assert storage.lines.add_version(version, oldest=1)
            assert not storage.lines.add_version(version, oldest=1)
        assert not storage.lines.add_version(replace(versions[0], line="b"), oldest=1)
        assert storage.lines.versions("a", 2) == [versions[2], versions[1]]
        (first,) = storage.lines.versions("a", 9)[2:]
        assert first.summary.template == "n {n}"
        fourth = replace(versions[0], number=4)
        assert storage.lines.add_version(fourth, oldest=3)
        assert storage.lines.versions("a", 9) == [fourth, versions[2]]
        assert storage.lines.versions("b", 9) == []
        assert storage.lines.swap(row, None)
        assert storage.lines.swap(None, row)
        assert storage.lines.versions("a", 9) == []


class SecretRowsContract(ABC):
    """The promises of every table of ciphertexts."""

    @abstractmethod
    def make(self) -> Storage:
        """Return empty rows."""

    def stored(self, storage: Storage, name: str = "contract") -> str:
        """Store a configuration, and return its record."""
        row = _row(name)
        assert storage.configurations.swap(None, row)
        return row.record

    def test_versions_come_back_and_ciphertexts_only_by_field(self) -> None:
        storage = self.make()
        record, other = self.stored(storage), self.stored(storage, "other")
        token = SecretVersion(
            secret_place(record, "token", 3, "https://contract.example:443"),
            SecretLabel.PENDING,
            sealed_bytes("k1"),
            set_at=1_800_000_000.5,
            set_by="alice",
        )
        elsewhere = SecretVersion(
            secret_place(other, "password", 1, "https://contract.example:443"),
            reference="env:PASSWORD",
        )
        for version in (token, elsewhere):
            assert storage.secrets.swap(None, version)
        assert storage.secrets.read([record], "token") == [token]
        assert storage.secrets.read([record], "password") == []
        assert storage.secrets.read([record]) == [replace(token, sealed=None)]
        both = storage.secrets.read([record, other])
        assert sorted(row.place.field for row in both) == ["password", "token"]
        assert storage.secrets.read([record, other], "password") == [elsewhere]

    def test_a_version_is_written_once_and_one_at_a_time_is_current(self) -> None:
        storage = self.make()
        record = self.stored(storage)
        first = _version(record, "token", 1)
        assert storage.secrets.swap(None, first)
        assert not storage.secrets.swap(None, replace(first, sealed=sealed_bytes("k2")))
        pending = replace(_version(record, "token", 2), label=SecretLabel.PENDING)
        assert storage.secrets.swap(None, pending)
        assert storage.secrets.swap(first, replace(first, label=SecretLabel.PREVIOUS))
        assert storage.secrets.swap(
            pending, replace(pending, label=SecretLabel.CURRENT)
        )
        labels = {
            row.place.version: row.label
            for row in storage.secrets.read([record], "token")
        }
        assert labels == {1: SecretLabel.PREVIOUS, 2: SecretLabel.CURRENT}

    def test_a_version_is_changed_only_where_it_is_exactly_as_it_was(self) -> None:
        storage = self.make()
        record = self.stored(storage)
        secret = _version(record, "token")
        reference = SecretVersion(
            secret_place(record, "password", 1, ""), reference="env:P"
        )
        for version in (secret, reference):
            storage.secrets.swap(None, version)
        resealed = replace(secret, sealed=sealed_bytes("k2"))
        assert storage.secrets.swap(secret, resealed)
        assert not storage.secrets.swap(
            secret, replace(secret, sealed=sealed_bytes("k3"))
        )
        assert not storage.secrets.swap(secret, None)
        other_label = replace(resealed, label=SecretLabel.PENDING)
        assert not storage.secrets.swap(other_label, secret)
        assert storage.secrets.read([record], "token") == [resealed]
        previous = replace(reference, label=SecretLabel.PREVIOUS)
        assert storage.secrets.swap(reference, previous)
        assert storage.secrets.read([record], "password") == [previous]
        for version in (resealed, previous):
            assert storage.secrets.swap(version, None)
        assert storage.secrets.read([record]) == []

    def test_an_update_of_a_version_changes_label_and_ciphertext_only(self) -> None:
        storage = self.make()
        record = self.stored(storage)
        stored = replace(_version(record, "token"), set_at=1.0, set_by="alice")
        assert storage.secrets.swap(None, stored)
        changed = replace(stored, label=SecretLabel.PREVIOUS, sealed=sealed_bytes("k2"))
        other = replace(changed, set_at=2.0, set_by="bob", reference="env:T")
        assert storage.secrets.swap(stored, other)
        assert storage.secrets.read([record], "token") == [changed]

    def test_a_key_is_needed_once_anything_is_sealed(self) -> None:
        storage = self.make()
        record = self.stored(storage)
        place = secret_place(record, "password", 1, "")
        storage.secrets.swap(None, SecretVersion(place, reference="env:P"))
        assert not storage.secrets.needs_key()
        storage.secrets.swap(None, _version(record, "token"))
        assert storage.secrets.needs_key()

    def test_ciphertexts_are_counted_and_found_by_their_key(self) -> None:
        storage = self.make()
        record = self.stored(storage)
        versions = [
            _version(record, f"header:X-{number}", number + 4) for number in range(3)
        ]
        voucher = SecretVersion(voucher_place(record, 1), sealed=sealed_bytes("k1"))
        elsewhere = SecretVersion(
            secret_place(record, "password", 1, ""), reference="env:P"
        )
        for version in (*versions, voucher, elsewhere):
            storage.secrets.swap(None, version)
        assert storage.secrets.key_uses() == {name_of_key("k1"): 3}
        assert storage.secrets.key_uses(vouchers=True) == {name_of_key("k1"): 4}
        assert storage.secrets.sealed_by_others(name_of_key("new"), 2) == versions[:2]
        assert storage.secrets.sealed_by_others(name_of_key("k1"), 10) == []
        for version in storage.secrets.sealed_by_others(name_of_key("new"), 10):
            resealed = replace(version, sealed=sealed_bytes("new"))
            assert storage.secrets.swap(version, resealed)
        assert storage.secrets.key_uses(vouchers=True) == {name_of_key("new"): 4}
        assert storage.secrets.sealed_by_others(name_of_key("new"), 10) == []


class KeyRowsContract(ABC):
    """The promises of every table of known keys."""

    @abstractmethod
    def make(self) -> Storage:
        """Return empty rows."""

    def test_check_values_of_keys_are_stored_once(self) -> None:
        rows = self.make().keys
        assert rows.read() == {}
        rows.add({"k1": b"1"})
        rows.add({"k1": b"changed", "k2": b"2"})
        assert rows.read() == {"k1": b"1", "k2": b"2"}


def sealed_bytes(key: str) -> bytes:
    """Return bytes in the form of an envelope that no key opens."""
    return Envelope(
        key.encode().ljust(8), b"n" * 12, b"w" * 48, b"n" * 12, b"c" * 80
    ).pack()


def name_of_key(key: str) -> str:
    """Return the name that a table stores of such a key."""
    return key.encode().ljust(8).hex()


def contract_configuration() -> Configuration:
    """Return the configuration that the suites store."""
    return build("contract", {"base_url": "https://contract.example"})


def _row(name: str) -> ConfigurationRow:
    return new_row(replace(contract_configuration(), name=name), uuid4().hex)


def _connected_row(name: str) -> ConfigurationRow:
    values = {"base_url": "https://contract.example", "connections": "optional"}
    return new_row(build(name, values), uuid4().hex)


def _account(owner: ConfigurationRow, name: str) -> ConfigurationRow:
    record = connection_record(uuid4().hex, owner.record, name)
    connection = Connection(name, owner.record)
    return new_connection_row(owner.configuration({}), connection, record, {})


def _listed(storage: Storage, parent: ConfigurationRow, **query: Any) -> list[str]:  # noqa: ANN401
    rows = storage.configurations.connections(parent.record, ConnectionQuery(**query))
    return [row.connection.id for row in rows if row.connection is not None]


def _line(
    owner: ConfigurationRow,
    name: str,
    *,
    method: str = "GET",
    path: str = "/",
    sync: Mapping[str, object] | None = None,
) -> LineRow:
    return LineRow(
        name,
        configuration=owner.name,
        method=method,
        path=path,
        sync=sync,
        record=owner.record,
    )


def _version(record: str, field: str, number: int = 1) -> SecretVersion:
    place = secret_place(record, field, number, "https://contract.example:443")
    return SecretVersion(place, sealed=sealed_bytes("k1"))
