"""Rows that outkey believes: what others write there is noticed at its use."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from outkey.administration.adapters.vouched_rows import VouchedRows, VouchedTables
from outkey.administration.core.findings.changed_rows import ChangedRow
from outkey.foundation.adapters.clock_system import SystemClock
from outkey.foundation.adapters.states_memory import MemoryStateRows
from outkey.foundation.core.errors import (
    OutkeyError,
    Sealed,
    SecretUnreadable,
    StorageUnavailable,
)
from outkey.foundation.core.shared_state import SharedState, StateKind
from outkey.foundation.core.stored_values import OddTable
from outkey.sending.adapters.secrets.keyring import Keyring, new_keyring
from outkey.sending.adapters.vouching.codes import KeyedVouchers
from outkey.sending.adapters.vouching.vouched_states import VouchedStates
from outkey.sending.adapters.vouching.vouched_tokens import VouchedTokens
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.oauth2.token import TokenState
from outkey.sending.core.vault.envelope import TokenRow
from outkey.sending.core.vault.row_voucher import RowName
from outkey.sync.adapters.vouched_lines import VouchedLines
from outkey.sync.core.line.line import SyncLine
from outkey.sync.engine.line_registry import Registry
from outkey.testing import FakeClock, FixedRing, MemoryDatabase, configuration
from outkey.testing.fakes.storage import memory_storage
from outkey.testing.fakes.vouching import MemorySeenRows
from outkey.webhooks.adapters.secrets_of_webhooks import SecretsWithWebhooks

HOOK = StateKind.WEBHOOK
PAUSED = StateKind.PAUSED_LINE
VALUE: Mapping[str, Any] = {"scheme": "hmac", "paused": False}


class MemoryTokenRows:
    """Token rows in a dictionary."""

    def __init__(self) -> None:
        self.rows: dict[str, TokenRow] = {}

    def read(self, configuration: Configuration) -> TokenRow | None:
        return self.rows.get(configuration.record)

    def swap(
        self, configuration: Configuration, generation: int, row: TokenRow
    ) -> bool:
        stored = self.rows.get(configuration.record)
        if (stored.generation if stored else 0) != generation:
            return False
        self.rows[configuration.record] = row
        return True


@dataclass
class Keys(FixedRing):
    """A ring that can be missing."""

    is_sealed: bool = False

    def ring(self, needed: str = "") -> Keyring:
        if self.is_sealed:
            raise Sealed
        return self.kept


@dataclass
class Home:
    """Tables that another program writes to as well, and what a home has seen."""

    raw: MemoryStateRows = field(default_factory=MemoryStateRows)
    raw_tokens: MemoryTokenRows = field(default_factory=MemoryTokenRows)
    seen: MemorySeenRows = field(default_factory=MemorySeenRows)
    keys: Keys = field(default_factory=lambda: Keys(new_keyring()))

    def __post_init__(self) -> None:
        self.storage = memory_storage()
        self.database = MemoryDatabase(FakeClock(), self.raw, self.raw_tokens)
        self.open()

    def open(self) -> None:
        """Make what another process of the home would have."""
        vouchers = KeyedVouchers(self.keys, self.seen, self.database)
        configurations = self.storage.configurations
        self.states = VouchedStates(self.raw, vouchers)
        self.lines = VouchedLines(self.storage.lines, configurations, vouchers)
        self.tokens = VouchedTokens(self.raw_tokens, vouchers)
        self.tables = VouchedTables(
            configurations, self.storage.lines, self.raw, self.raw_tokens
        )
        self.rows = VouchedRows(
            self.tables, self.states, self.lines, self.tokens, vouchers
        )
        self.registry = Registry(
            replace(self.storage, lines=self.lines), SystemClock(), fresh_seconds=0.0
        )

    def write(self, kind: StateKind, key: str, **changes: object) -> None:
        """Change a state as a program without the key does."""
        state = self.raw.read(kind, [key]).get(key, SharedState())
        self.raw.put(kind, {key: {**state.value, **changes}})

    def copy_of(self, kind: StateKind, key: str) -> Mapping[str, Any]:
        return self.raw.read(kind, [key])[key].value

    def changed(self) -> list[str]:
        return [row.label for row in self.rows.changed()]

    def changed_of(self, kind: str) -> list[ChangedRow]:
        return [row for row in self.rows.changed() if row.name.kind == kind]


@pytest.fixture
def home() -> Home:
    return Home()


def assert_changed(home: Home, kind: StateKind, key: str) -> None:
    """Check that a state is listed with an error, and that its use is refused."""
    assert isinstance(home.states.read(kind)[key].error, SecretUnreadable)
    with pytest.raises(SecretUnreadable, match="changed outside of outkey"):
        home.states.read(kind, [key])
    assert home.changed() == [RowName(kind, key).label]


# ── shared states ───────────────────────────────────────────────────────────────────


def test_a_planted_state_is_listed_and_not_used(home: Home) -> None:
    home.write(HOOK, "shop", scheme="unverified")
    assert_changed(home, HOOK, "shop")
    assert home.states.read(HOOK)["shop"].value == {"scheme": "unverified"}


def test_a_changed_state_is_not_used(home: Home) -> None:
    home.states.put(HOOK, {"shop": VALUE})
    assert home.states.read(HOOK, ["shop"]) == {"shop": SharedState(1, VALUE)}
    home.write(HOOK, "shop", scheme="unverified")
    assert_changed(home, HOOK, "shop")


def test_a_state_that_is_replaced_while_it_is_read_was_not_changed_outside(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.states.put(HOOK, {"shop": VALUE})
    read = home.raw.read

    def read_slowly(*arguments: object) -> dict[str, SharedState]:
        monkeypatch.setattr(home.raw, "read", read)
        found = read(*arguments)  # type: ignore[arg-type]
        home.states.put(HOOK, {"shop": {**VALUE, "paused": True}})
        return found

    monkeypatch.setattr(home.raw, "read", read_slowly)
    assert home.states.read(HOOK, ["shop"])["shop"].value == VALUE
    assert home.states.read(HOOK, ["shop"])["shop"].value != VALUE


def test_a_token_that_is_obtained_while_it_is_read_was_not_changed_outside(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    acme = configuration()
    read = home.raw_tokens.read

    def read_slowly(found_for: Configuration) -> TokenRow | None:
        monkeypatch.setattr(home.raw_tokens, "read", read)
        found = read(found_for)
        generation = found.generation if found else 0
        assert home.tokens.swap(acme, generation, token_row(generation + 1))
        return found

    for _ in range(2):  # without a token, and with one
        monkeypatch.setattr(home.raw_tokens, "read", read_slowly)
        row = home.tokens.read(acme)
        assert row is None or row.error is None
    assert row is not None


def test_a_state_that_another_process_stores_at_the_same_moment_is_not_an_old_one(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.states.put(PAUSED, {"orders": {"at": 1.0}})
    swap = home.raw.swap

    def swap_late(*arguments: Any) -> bool:  # noqa: ANN401 - as the port has them
        monkeypatch.setattr(home.raw, "swap", swap)
        home.states.put(PAUSED, {"orders": {"at": 2.0}})
        home.states.put(PAUSED, {"orders": None})
        return swap(*arguments)

    monkeypatch.setattr(home.raw, "swap", swap_late)
    home.states.put(PAUSED, {"orders": {"at": 3.0}})
    assert home.states.read(PAUSED, ["orders"])["orders"].value == {"at": 3.0}
    assert home.changed() == []


def test_a_state_that_the_database_does_not_store_is_an_error(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(home.raw, "swap", lambda *_: False)
    with pytest.raises(StorageUnavailable):
        home.states.put(PAUSED, {"orders": {"at": 1.0}})


def test_a_state_is_not_good_under_another_key(home: Home) -> None:
    home.states.put(HOOK, {"shop": VALUE})
    home.raw.put(HOOK, {"other": home.copy_of(HOOK, "shop")})
    assert_changed(home, HOOK, "other")


def test_a_value_that_is_not_an_object_is_a_changed_one(home: Home) -> None:
    home.raw.put(HOOK, {"shop": OddTable()})
    assert_changed(home, HOOK, "shop")
    assert home.tables.key_uses() == {}


@pytest.mark.parametrize("by_swap", [False, True])
def test_a_state_that_was_replaced_is_not_used_when_it_is_put_back(
    home: Home, *, by_swap: bool
) -> None:
    home.states.put(HOOK, {"shop": VALUE})
    old = home.copy_of(HOOK, "shop")
    if by_swap:
        assert home.states.swap(HOOK, "shop", 1, {"scheme": "token"})
    else:
        home.states.put(HOOK, {"shop": {"scheme": "token"}})
    home.open()
    home.raw.put(HOOK, {"shop": old})
    assert_changed(home, HOOK, "shop")


def test_a_state_that_was_deleted_is_not_used_when_it_is_put_back(home: Home) -> None:
    home.states.put(HOOK, {"shop": VALUE})
    old = home.copy_of(HOOK, "shop")
    home.states.put(HOOK, {"shop": None})
    assert home.raw.read(HOOK) == {}
    home.open()
    home.raw.put(HOOK, {"shop": old})
    assert_changed(home, HOOK, "shop")


def test_a_home_that_has_not_seen_the_newer_state_accepts_the_older(home: Home) -> None:
    home.states.put(HOOK, {"shop": VALUE})
    old = home.copy_of(HOOK, "shop")
    home.states.put(HOOK, {"shop": {"scheme": "token"}})
    home.seen.clear()  # as after a restore
    home.open()
    home.raw.put(HOOK, {"shop": old})
    assert home.states.read(HOOK, ["shop"])["shop"].value == VALUE


def test_a_changed_state_cannot_be_replaced_which_would_vouch_for_it(
    home: Home,
) -> None:
    home.write(HOOK, "shop", scheme="unverified")
    with pytest.raises(SecretUnreadable):
        home.states.swap(HOOK, "shop", 1, VALUE)
    with pytest.raises(SecretUnreadable):
        home.states.put(HOOK, {"new": VALUE, "shop": VALUE})
    assert home.raw.read(HOOK).keys() == {"shop"}
    home.states.put(HOOK, {"shop": None})
    assert home.states.read(HOOK) == {}


def test_a_swap_that_fails_leaves_what_was_seen_as_it_is(home: Home) -> None:
    home.states.put(HOOK, {"shop": VALUE})
    before = dict(home.seen.noted)
    assert not home.states.swap(HOOK, "shop", 9, VALUE)
    assert not home.states.swap(HOOK, "shop", 0, VALUE)
    assert home.seen.noted == before
    assert home.states.read(HOOK, ["shop"])["shop"].value == VALUE


def test_what_was_read_before_needs_no_second_read(home: Home) -> None:
    home.states.put(HOOK, {"shop": VALUE})
    (state,) = home.states.read(HOOK, ["shop"]).values()
    reads: list[StateKind] = []
    read = home.raw.read
    home.raw.read = lambda kind, keys=None: (  # type: ignore[method-assign]
        reads.append(kind) or read(kind, keys)
    )
    assert home.states.swap(HOOK, "shop", state.generation, {"scheme": "token"})
    assert reads == []


def test_other_states_are_stored_as_they_are(home: Home) -> None:
    home.states.put(StateKind.MARK, {"a": {"n": 1}})
    assert home.states.swap(StateKind.MARK, "b", 0, {"n": 2})
    assert home.raw.read(StateKind.MARK) == {
        "a": SharedState(1, {"n": 1}),
        "b": SharedState(1, {"n": 2}),
    }
    home.write(StateKind.MARK, "a", n=3)
    assert home.states.read(StateKind.MARK, ["a"])["a"].value == {"n": 3}


def test_a_pause_that_somebody_has_deleted_is_noticed(home: Home) -> None:
    home.states.put(PAUSED, {"orders": {"at": 1.0}})
    home.raw.put(PAUSED, {"orders": None})
    assert_changed(home, PAUSED, "orders")
    assert home.rows.changed()[0].is_missing
    home.states.put(PAUSED, {"orders": {"at": 2.0}})
    assert home.states.read(PAUSED, ["orders"])["orders"].value == {"at": 2.0}


def test_a_pause_that_a_user_has_ended_is_not_missed(home: Home) -> None:
    home.states.put(PAUSED, {"orders": {"at": 1.0}, "never": None})
    home.states.put(PAUSED, {"orders": None, "unknown": None})
    assert home.states.read(PAUSED) == {}
    assert home.states.read(PAUSED, ["orders", "unknown"]) == {}
    home.open()
    assert home.changed() == []
    home.raw.put(PAUSED, {"orders": None})  # what is left of it
    assert_changed(home, PAUSED, "orders")
    home.states.put(PAUSED, {"orders": None})
    assert home.changed() == []


def test_without_a_key_states_are_listed_and_not_used(home: Home) -> None:
    home.states.put(HOOK, {"shop": VALUE})
    home.states.put(PAUSED, {"orders": {"at": 1.0}, "sent": {"at": 1.0}})
    home.states.put(PAUSED, {"sent": None})
    home.keys.is_sealed = True
    home.open()
    listed = home.states.read(HOOK)["shop"]
    assert listed.value == VALUE
    assert isinstance(listed.error, Sealed)
    assert home.states.read(PAUSED).keys() == {"orders"}
    for attempt in (
        lambda: home.states.read(HOOK, ["shop"]),
        lambda: home.states.put(HOOK, {"new": VALUE}),
        home.rows.changed,
    ):
        with pytest.raises(Sealed):
            attempt()
    home.states.put(HOOK, {"shop": None})
    assert home.raw.read(HOOK) == {}


# ── sync lines ──────────────────────────────────────────────────────────────────────


def line(path: str = "/orders") -> SyncLine:
    return SyncLine("orders", configuration="acme", method="GET", path=path)


def test_a_line_runs_as_it_was_saved(home: Home) -> None:
    home.registry.add(configuration())
    home.registry.put_line(line())
    assert home.registry.line("orders") == line()
    home.registry.rename("acme", "crm", at=1.0)
    assert home.registry.line("orders").configuration == "crm"
    home.registry.rename_line("orders", "new orders")
    assert home.registry.line("new orders").path == "/orders"
    assert home.changed() == []


@pytest.mark.parametrize(
    "change",
    [
        {"path": "/steal"},
        {"method": "POST"},
        {"sync": {"direction": "pull", "target": "table:loot.t"}},
        {"source": "# planted"},
        {"configuration": "other"},
        {"voucher": ""},
    ],
)
def test_a_line_that_was_changed_does_not_run(
    home: Home, change: Mapping[str, Any]
) -> None:
    for name in ("acme", "other"):
        home.registry.add(configuration(name))
    home.registry.put_line(line())
    stored = home.storage.lines.rows["orders"]
    home.storage.lines.rows["orders"] = replace(stored, **change)
    with pytest.raises(SecretUnreadable, match="line:orders was changed outside"):
        home.registry.line("orders")
    with pytest.raises(SecretUnreadable):  # for a request that names the line
        home.registry.configuration_of_line("orders")
    assert [row.name for row in home.lines.find()] == ["orders"]
    assert [timed.name for timed in home.registry.timetable()] == ["orders"]
    assert home.changed() == ["line:orders"]
    with pytest.raises(SecretUnreadable):
        home.registry.put_line(line("/new"))
    home.registry.remove_line("orders")
    assert home.lines.find() == []


@pytest.mark.parametrize("removal", ["remove_line", "rename_line", "remove"])
def test_a_line_that_is_gone_does_not_run_when_it_is_put_back(
    home: Home, removal: str
) -> None:
    for name in ("acme", "other"):
        home.registry.add(configuration(name))
    home.registry.put_line(line())
    home.registry.put_line(replace(line(), name="customers", configuration="other"))
    old = home.storage.lines.rows["orders"]
    owner = home.storage.configurations.rows["acme"]
    if removal == "remove":
        home.registry.remove("acme")
        home.storage.configurations.rows["acme"] = owner
    elif removal == "rename_line":
        home.registry.rename_line("orders", "others")
    else:
        home.registry.remove_line("orders")
    home.open()
    home.storage.lines.rows["orders"] = old
    with pytest.raises(SecretUnreadable):
        home.registry.line("orders")
    assert home.registry.line("customers").configuration == "other"


def test_an_older_version_of_a_line_does_not_run(home: Home) -> None:
    home.registry.add(configuration())
    home.registry.put_line(line())
    old = home.storage.lines.rows["orders"]
    home.registry.put_line(line("/v2/orders"))
    home.open()
    home.storage.lines.rows["orders"] = old
    with pytest.raises(SecretUnreadable):
        home.registry.line("orders")


def test_a_line_of_a_configuration_that_is_unknown_is_not_saved(home: Home) -> None:
    home.registry.add(configuration())
    home.registry.put_line(line())
    (row,) = home.lines.find()
    assert not home.lines.swap(None, row)
    with pytest.raises(OutkeyError):
        home.registry.put_line(replace(line(), configuration="nobody"))


def test_without_a_key_lines_are_listed_and_do_not_run(home: Home) -> None:
    home.registry.add(configuration())
    home.registry.put_line(line())
    home.keys.is_sealed = True
    home.open()
    assert home.registry.lines() == [line()]
    with pytest.raises(Sealed):
        home.registry.line("orders")


# ── tokens of APIs ──────────────────────────────────────────────────────────────────


def oauth2() -> Configuration:
    return configuration(
        authentication_type="bearer",
        token_source="oauth2",
        **{"oauth2.token_url": "https://auth.example/token", "oauth2.client_id": "c"},
    )


def token_row(generation: int = 1, **facts: object) -> TokenRow:
    state = TokenState().facts() | facts
    return TokenRow(generation, generation, "origin", b"sealed", state)


def stored_token(home: Home) -> Configuration:
    home.registry.add(oauth2())
    owner = home.registry.get("acme")
    assert home.tokens.swap(owner, 0, token_row())
    return owner


def test_a_token_row_comes_back_as_it_was(home: Home) -> None:
    owner = stored_token(home)
    assert home.tokens.read(owner) == token_row()
    assert not home.tokens.swap(owner, 7, token_row(8))
    assert home.tokens.swap(owner, 1, token_row(2, spent=True))
    assert home.tokens.read(owner) == token_row(2, spent=True)
    assert home.changed() == []


@pytest.mark.parametrize("change", ["older", "facts", "serial", "missing", "unvouched"])
def test_a_token_that_somebody_has_changed_is_not_used(home: Home, change: str) -> None:
    owner = stored_token(home)
    rows = home.raw_tokens.rows
    old = rows[owner.record]
    home.tokens.swap(owner, 1, token_row(2, spent=True))
    home.open()
    new = rows[owner.record]
    if change == "missing":
        del rows[owner.record]
    else:
        rows[owner.record] = {
            "older": old,
            "facts": replace(new, facts={**new.facts, "spent": False}),
            "serial": replace(new, serial=9, sealed=None),
            "unvouched": token_row(2),
        }[change]
    row = home.tokens.read(owner)
    assert row is not None
    assert isinstance(row.error, SecretUnreadable)
    assert home.changed() == ["token:acme"]


def test_a_token_of_version_0_2_is_used_until_it_is_replaced(home: Home) -> None:
    home.registry.add(oauth2())
    owner = home.registry.get("acme")
    assert home.tokens.read(owner) is None
    home.raw_tokens.rows[owner.record] = token_row()
    assert home.tokens.read(owner) == token_row()
    assert home.changed() == []
    assert home.tables.key_uses() == {}


# ── confirming, deleting and rotating ───────────────────────────────────────────────


def planted(home: Home) -> Configuration:
    """Return the owner of a token; one row of each kind was changed."""
    owner = stored_token(home)
    home.registry.put_line(line())
    home.states.put(PAUSED, {"orders": {"at": 1.0}})
    home.open()
    home.raw.put(PAUSED, {"orders": None})
    home.write(HOOK, "shop", scheme="unverified")
    home.storage.lines.rows["orders"] = replace(
        home.storage.lines.rows["orders"], path="/steal"
    )
    rows = home.raw_tokens.rows
    rows[owner.record] = token_row(1, spent=True)
    return owner


def test_what_was_changed_can_be_confirmed_as_it_was_seen(home: Home) -> None:
    owner = planted(home)
    rows = home.rows.changed()
    assert [row.label for row in rows] == [
        "paused_line:orders",
        "webhook:shop",
        "line:orders",
        "token:acme",
    ]
    home.write(HOOK, "shop", later=True)
    assert not home.rows.confirm(rows[1]), "a user has changed it again"
    (hook,) = home.changed_of(HOOK)
    assert all(home.rows.confirm(row) for row in (rows[0], hook, *rows[2:]))
    home.open()
    assert home.changed() == []
    assert home.registry.line("orders").path == "/steal"
    assert home.states.read(HOOK, ["shop"])["shop"].value["later"]
    assert home.states.read(PAUSED, ["orders"]) == {}
    token = home.tokens.read(owner)
    assert token == token_row(1, spent=True), "of the same generation"


def test_a_line_that_was_changed_again_is_not_confirmed(home: Home) -> None:
    planted(home)
    (row,) = home.changed_of("line")
    stored = home.storage.lines.rows["orders"]
    home.storage.lines.rows["orders"] = replace(stored, path="/elsewhere")
    assert not home.rows.confirm(row)
    assert home.changed_of("line") != []


def test_a_token_that_is_missing_is_confirmed_as_none(home: Home) -> None:
    owner = stored_token(home)
    home.open()
    del home.raw_tokens.rows[owner.record]
    (row,) = home.rows.changed()
    assert row.is_missing
    assert home.rows.confirm(row)
    stored = home.tokens.read(owner)
    assert stored is not None
    assert (stored.sealed, stored.error) == (None, None)


def test_what_was_changed_can_be_deleted(home: Home) -> None:
    owner = planted(home)
    for row in home.rows.changed():
        home.rows.delete(row)
    home.open()
    assert home.changed() == []
    assert home.lines.find() == []
    assert home.states.read(HOOK) == {}
    token = home.tokens.read(owner)
    assert token is not None
    assert (token.generation, token.serial, token.sealed) == (2, 2, None)


def test_the_token_of_a_deleted_configuration_is_left_alone(home: Home) -> None:
    planted(home)
    (row,) = home.changed_of("token")
    home.registry.remove("acme")
    assert not home.rows.confirm(row)
    home.rows.delete(row)


def test_the_token_of_an_unreadable_configuration_is_passed_over(home: Home) -> None:
    stored_token(home)
    rows = home.storage.configurations.rows
    rows["acme"] = replace(
        rows["acme"], settings={**rows["acme"].settings, "network": "?"}
    )
    assert home.changed() == []


def test_a_rotation_brings_all_that_is_vouched_for_under_the_primary_key(
    home: Home,
) -> None:
    owner = stored_token(home)
    home.registry.put_line(line())
    home.states.put(HOOK, {"shop": VALUE})
    home.write(StateKind.PAIR, "planted", pull="a")
    first = home.keys.kept.primary.name
    assert home.tables.key_uses() == {first: 3}
    ring, key = home.keys.kept.add()
    home.keys.kept = ring.promote(key.name)
    home.open()
    home.rows.rewrap()
    assert home.tables.key_uses() == {key.name: 3}
    before = dict(home.seen.noted)
    home.rows.rewrap()
    assert home.seen.noted == before, "what has the key is not touched"
    home.keys.kept = home.keys.kept.retire(first, secrets=0)
    home.open()
    assert home.changed() == ["pair:planted"]
    assert home.tokens.read(owner) == token_row()
    assert home.registry.line("orders") == line()


def test_a_rotation_brings_pauses_that_have_ended_under_the_primary_key(
    home: Home,
) -> None:
    home.states.put(PAUSED, {"orders": {"at": 1.0}})
    home.states.put(PAUSED, {"orders": None})
    first = home.keys.kept.primary.name
    ring, key = home.keys.kept.add()
    home.keys.kept = ring.promote(key.name)
    home.open()
    home.rows.rewrap()
    assert home.tables.key_uses() == {key.name: 1}
    home.keys.kept = home.keys.kept.retire(first, secrets=0)
    home.open()
    assert home.changed() == []
    assert home.states.read(PAUSED) == {}


def test_the_keys_of_vouchers_count_as_used(home: Home) -> None:
    home.states.put(HOOK, {"shop": {"endpoint": "e", "secrets": {}}})
    secrets = SecretsWithWebhooks(
        home.storage.secrets, home.states, code_uses=home.tables.key_uses
    )
    assert secrets.key_uses() == {}
    assert secrets.key_uses(vouchers=True) == {home.keys.kept.primary.name: 1}


# ── what an operator sees ───────────────────────────────────────────────────────────


def shown(kind: StateKind, key: str, value: object) -> ChangedRow:
    return ChangedRow(RowName(kind, key), SharedState(1, value))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("row", "label", "summary"),
    [
        (
            shown(StateKind.DATABASE, "loot", {"url": "env:X", "adopt": ["a"]}),
            "database:loot",
            'url = env:X, adopt = ["a"]',
        ),
        (
            shown(StateKind.DATABASE, "loot", {"url": "mysql://u:pass@h/d"}),
            "database:loot",
            "url = ***",
        ),
        (
            shown(
                HOOK,
                "shop",
                {
                    "settings": {"scheme": "hmac", "line": "orders"},
                    "endpoint": "e",
                    "paused": False,
                    "secrets": {"secret": {"sealed": "AAAA"}, "bodies": {}},
                },
            ),
            "webhook:shop",
            "endpoint = e, secrets = secret bodies, scheme = hmac, line = orders",
        ),
        (
            shown(StateKind.API_TOKEN, "ab" * 32, {"name": "ci", "digest": "ab"}),
            "api_token:ci",
            "name = ci, digest = ab",
        ),
        (
            shown(StateKind.TABLE, "table:orders", {"columns": {"id": 1, "n": 2}}),
            "table:orders",
            "columns = id n",
        ),
        (shown(HOOK, "odd", [1]), "webhook:odd", "value = [1]"),
    ],
)
def test_a_changed_row_is_shown_with_what_it_says(
    row: ChangedRow, label: str, summary: str
) -> None:
    assert (row.label, row.summary()) == (label, summary)
    assert row.is_named(label)
    assert row.is_named(row.name.label)
    assert not row.is_named("webhook:another")


def test_what_is_confirmed_can_be_seen() -> None:
    facts = {
        "method": "GET, path = /ok",
        "path": "/payroll?pass=x",
        "guard_percent": 0,
        "schedule": "a\n\u200bb\u3164",
        "sync": {"path": "/shown-instead"},
    }
    summary = shown(StateKind.PAIR, "odd", facts).summary()
    assert summary == (
        'method = "GET, path = /ok", path = "/payroll?pass=x", guard_percent = 0,'
        ' schedule = "a\\n\\u200bb\\u3164", sync.path = /shown-instead'
    )


def test_a_line_is_not_named_like_the_row_of_another_one() -> None:
    assert RowName("line", "line:orders").label == "line:line:orders"
    assert RowName("table", "table:orders").label == "table:orders"


def test_a_changed_line_and_token_are_shown_without_long_facts(
    home: Home,
) -> None:
    planted(home)
    pause, _, orders, token = home.rows.changed()
    assert pause.summary() == "deleted outside of outkey"
    assert orders.summary() == "configuration = acme, method = GET, path = /steal"
    assert "spent = true" in token.summary()
    assert token.is_named("token:acme")
