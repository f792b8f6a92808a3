"""What the engine does with rows that were changed outside of outkey."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import pytest

from outkey.administration.core.access.api_tokens import ApiTokenState, Scope
from outkey.administration.core.findings.changed_rows import ChangedRow
from outkey.administration.engine.access.api_tokens import ApiTokens, TokenWish
from outkey.administration.engine.access.token_memory import TokenMemory
from outkey.administration.engine.editing.confirming import (
    MAX_LABEL,
    confirm_rows,
    reject_rows,
)
from outkey.foundation.core.errors import (
    ConfigError,
    EditConflict,
    SecretUnreadable,
    TokenRefused,
    UnknownConfiguration,
)
from outkey.foundation.core.shared_state import SharedState, StateKind
from outkey.sending.adapters.secrets.secrets_reference import ReferencedSecrets
from outkey.sending.core.audit.events import Change, Tag
from outkey.sending.core.vault.row_voucher import RowName, changed_row_error
from outkey.sync.core.line.facts import line_facts
from outkey.sync.core.line.line import SyncLine
from outkey.sync.core.line.rows import LineRow
from outkey.sync.core.run.run import RunState
from outkey.sync.engine.line_registry import Registry
from outkey.sync.engine.sync_settings import SyncSettings
from outkey.testing import configuration
from outkey.testing.fakes.storage import MemoryLineRows
from outkey.testing.fakes.vouching import FakeVouchedRows
from outkey.webhooks.adapters.webhook_vault import SealedWebhooks
from outkey.webhooks.core.settings.settings import Webhook
from outkey.webhooks.engine.stored_webhooks import WebhookSettings
from unit.administration.core.findings.test_posture import Runtime, referring, verified
from unit.application_in_memory import memory_host
from unit.sending.adapters.vouching.test_vouched_rows import Home, home, line  # noqa: F401 - a fixture
from unit.sync.engine.pull.test_sync_run import Api, fake_sync, people
from unit.sync.engine.runs.test_sync_planner import HOURLY, fake_planner
from unit.webhooks.engine.test_webhook_processing import Working

CHANGED = changed_row_error(RowName("line", "contacts"))


def changed_row(key: str = "orders") -> ChangedRow:
    return ChangedRow(RowName("pair", key), SharedState(1, {"pull": "a"}))


def test_rows_are_confirmed_under_the_name_of_the_user() -> None:
    host = memory_host()
    rows = FakeVouchedRows()
    rows.rows = [changed_row("a"), changed_row("b" * 300)]
    administration = host.application.administration("ada")
    confirm_rows(administration, rows, list(rows.rows))
    assert rows.rows == []
    assert host.audit.events == [
        Change(Tag.ROW_CONFIRMED, "ada", fields=("pair:a",)),
        Change(Tag.ROW_CONFIRMED, "ada", fields=(f"pair:{'b' * 300}"[:MAX_LABEL],)),
    ]


def test_a_row_that_was_changed_again_is_not_confirmed() -> None:
    administration = memory_host().application.administration("ada")
    with pytest.raises(EditConflict):
        confirm_rows(administration, FakeVouchedRows(), [changed_row()])


def test_rows_are_rejected_under_the_name_of_the_user() -> None:
    host = memory_host()
    rows = FakeVouchedRows()
    rows.rows = [changed_row()]
    reject_rows(host.application.administration("ada"), rows, [changed_row()])
    assert rows.deleted == [changed_row()]
    assert host.audit.events == [
        Change(Tag.ROW_REJECTED, "ada", fields=("pair:orders",))
    ]


def test_the_doctor_names_changed_rows() -> None:
    world = Runtime(referring())
    verified(world)
    world.vouched_rows.rows = [changed_row(str(number)) for number in range(23)]
    (finding,) = [each for _, each in world.examine() if each.id == "P-rows-changed"]
    assert "pair:0, pair:1, " in finding.message
    assert finding.message.endswith("pair:19 and 3 more")


# ── sync lines ──────────────────────────────────────────────────────────────────────


def test_changed_lines_are_named_shown_and_deleted(home: Home) -> None:  # noqa: F811
    home.registry.add(configuration())
    home.registry.put_line(line())
    home.registry.put_line(replace(line(), name="customers"))
    names = {"orders", "customers"}
    assert home.registry.changed_lines(names) == set()
    stored = home.storage.lines.rows["orders"]
    home.storage.lines.rows["orders"] = replace(stored, path="/steal")
    assert home.registry.changed_lines(names) == {"orders"}
    assert home.registry.changed_lines({"customers"}) == set()
    assert home.registry.owner_of_line("orders") == "acme"
    with pytest.raises(SecretUnreadable):
        home.registry.shown_line("orders")
    assert home.registry.shown_line("customers").path == "/orders"
    facts = {each.name: line_facts(each, ()) for each in home.registry.lines()}
    assert "problem" not in facts["customers"]
    assert facts["orders"]["problem"] == "line:orders was changed outside of outkey"


def test_a_line_can_be_looked_at_without_a_key(home: Home) -> None:  # noqa: F811
    home.registry.add(configuration())
    home.registry.put_line(line())
    home.keys.is_sealed = True
    home.open()
    assert home.registry.shown_line("orders") == line()
    assert home.registry.changed_lines({"orders"}) == set()


def test_a_changed_line_stops_no_other_schedule_and_its_run_tells_why() -> None:
    fake = fake_planner(fake_sync(HOURLY, Api(people(1))))
    registry = fake.sync.world.ports.configurations
    assert isinstance(registry, Registry)
    registry.put_line(SyncLine("others", "acme", "GET", "/others", HOURLY))
    fake.planner.plan("schedule")
    lines = registry._storage.lines
    assert isinstance(lines, MemoryLineRows)
    find = lines.find

    def changed(names: Collection[str] | None = None) -> list[LineRow]:
        return [
            replace(row, error=CHANGED if row.name == "contacts" else None)
            for row in find(names)
        ]

    lines.find = changed  # type: ignore[method-assign]
    fake.wait(3600)
    fake.planner.plan("schedule")
    states = {run.line: (run.state, run.cause) for run in fake.work()}
    assert states == {
        "contacts": (RunState.FAILED, "secret_unreadable"),
        "others": (RunState.DONE, ""),
    }


# ── databases, pairs, webhooks and tokens ───────────────────────────────────────────


def test_databases_and_pairs_are_listed_with_their_errors(
    home: Home,  # noqa: F811
) -> None:
    settings = SyncSettings(home.states)
    home.write(StateKind.DATABASE, "loot", url="sqlite:////tmp/x.db")
    home.write(StateKind.PAIR, "orders", pull="a", push="b")
    assert isinstance(settings.databases()["loot"].error, SecretUnreadable)
    assert isinstance(settings.pairs()["orders"].error, SecretUnreadable)
    assert settings.pairs_of(["a"]) == ["orders"]
    with pytest.raises(SecretUnreadable):
        settings.lock_pair("orders")
    with pytest.raises(SecretUnreadable):
        settings.rename_line("a", "c")
    settings.remove_pairs(["orders"])
    assert settings.pairs() == {}


def hook_settings(home: Home) -> WebhookSettings:  # noqa: F811
    vault = SealedWebhooks(home.keys, ReferencedSecrets())
    settings = WebhookSettings(home.states, home.database, vault)
    reference = "env:NO_SUCH_VARIABLE"
    settings.put([Webhook("shop", scheme="github", line="a", secret=reference)])
    return settings


def ids_of(settings: WebhookSettings, name: str) -> list[str]:
    return [finding.id for finding in settings.findings(settings.listed(name))]


def test_a_changed_webhook_is_listed_and_can_only_be_deleted(
    home: Home,  # noqa: F811
) -> None:
    settings = hook_settings(home)
    endpoint = settings.get("shop").endpoint
    assert ids_of(settings, "shop") == ["H002"]
    home.write(StateKind.WEBHOOK, "shop", paused=True)
    assert ids_of(settings, "shop") == ["H016"], "and its secret was not opened"
    for use in (
        lambda: settings.get("shop"),
        lambda: settings.by_endpoint(endpoint),
        lambda: settings.set_paused("shop", is_paused=False),
    ):
        with pytest.raises(SecretUnreadable):
            use()
    assert settings.remove("shop") == endpoint
    assert settings.by_endpoint(endpoint) is None
    with pytest.raises(UnknownConfiguration):
        settings.listed("shop")


def test_deliveries_of_a_changed_webhook_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    working = Working()
    working.send({"id": "a"})

    def refuse(_self: WebhookSettings, _endpoint: str) -> None:
        raise CHANGED

    monkeypatch.setattr(WebhookSettings, "by_endpoint", refuse)
    assert working.work.round() == 1
    assert working.states() == [("received", "secret_unreadable", None)]
    assert working.work.round() == 0


def test_a_changed_api_token_is_listed_and_not_accepted(
    home: Home,  # noqa: F811
) -> None:
    tokens = ApiTokens(home.states, home.database, home.registry, TokenMemory())
    administration = memory_host().application.administration("ada")
    wish = TokenWish(name="ci", scopes=frozenset({Scope.READ}))
    created = tokens.create(administration, wish)
    assert tokens.authenticate(created.text, 1.0) == created.token
    changes: Mapping[str, Any] = {"scopes": ["manage"]}
    home.write(StateKind.API_TOKEN, created.token.digest, **changes)
    with pytest.raises(TokenRefused):
        tokens.authenticate(created.text, 9.0)
    (listed,) = tokens.all()
    assert listed.state(home.database.now()) is ApiTokenState.CHANGED
    with pytest.raises(SecretUnreadable):
        tokens.revoke(administration, "ci")


def test_a_token_whose_name_row_was_deleted_is_revoked_and_its_name_is_taken(
    home: Home,  # noqa: F811
) -> None:
    tokens = ApiTokens(home.states, home.database, home.registry, TokenMemory())
    administration = memory_host().application.administration("ada")
    wish = TokenWish(name="ci", scopes=frozenset({Scope.READ}))
    created = tokens.create(administration, wish)
    home.raw.put(StateKind.API_TOKEN_NAME, {"ci": None})
    with pytest.raises(ConfigError, match=r"exists|taken"):
        tokens.create(administration, wish)
    tokens.revoke(administration, "ci")
    with pytest.raises(TokenRefused):
        tokens.authenticate(created.text, 9.0)


def test_a_webhook_is_read_anew_also_where_its_generation_was_put_back(
    home: Home,  # noqa: F811
) -> None:
    settings = hook_settings(home)
    assert not settings.get("shop").is_paused
    generation = home.raw.read(StateKind.WEBHOOK)["shop"].generation
    settings.set_paused("shop", is_paused=True)
    stored = home.raw.read(StateKind.WEBHOOK)["shop"]
    key = (StateKind.WEBHOOK, "shop")
    home.raw._states[key] = stored._replace(generation=generation)
    assert settings.get("shop").is_paused
