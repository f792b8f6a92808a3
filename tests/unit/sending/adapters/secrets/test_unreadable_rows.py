"""Rows that outkey did not write as they are: each stops itself, and nothing else."""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import date

import pytest

from outkey.administration.core.access.api_tokens import Scope
from outkey.administration.core.findings.monitoring import Baseline
from outkey.administration.core.operating.send_counts import SendCounts
from outkey.administration.engine.access.api_tokens import TokenWish
from outkey.administration.engine.operating.backups import backed_up_at
from outkey.administration.engine.watching.audit_trail import last_chain_check
from outkey.administration.engine.watching.monitoring import open_notices
from outkey.foundation.adapters.states_memory import MemoryStateRows
from outkey.foundation.core.errors import (
    ConfigError,
    RowUnreadable,
    TokenRefused,
    UnknownConfiguration,
)
from outkey.foundation.core.shared_state import StateKind
from outkey.foundation.core.stored_values import OddCount, OddRow, OddTable, OddText
from outkey.foundation.core.text import text_from_data
from outkey.sending.core.audit.events import Tag
from outkey.sending.core.configuration.rows import read_former_names
from outkey.sync.adapters.tables.layouts.layout_records import LayoutRecords
from outkey.sync.core.line.rows import LineRow
from outkey.sync.core.mapping.targets import TableName
from outkey.sync.core.pairs.pairs import stored_agreement
from outkey.sync.core.run.run import Run, RunState, read_checkpoint
from outkey.sync.ports.sync import RunQuery
from outkey.testing import configuration
from outkey.testing.fakes.storage import memory_storage
from outkey.webhooks.adapters.secrets_of_webhooks import SecretsWithWebhooks
from outkey.webhooks.core.inbox.inbox import DeliveryState
from outkey.webhooks.core.settings.sealed import SealedWebhookSecret
from outkey.webhooks.core.settings.stored import StoredWebhook
from unit.administration.core.findings.test_posture import Runtime, referring, verified
from unit.application_in_memory import memory_host
from unit.sending.adapters.vouching.test_vouched_rows import line
from unit.sync.engine.pull.test_sync_run import PULL, Api, fake_sync, people
from unit.webhooks.engine.test_webhook_processing import Working

ODD = OddTable()


# ── configurations and lines ────────────────────────────────────────────────────────


def test_configurations_are_listed_without_one_that_cannot_be_read() -> None:
    registry = memory_host().application.registry
    registry.add(configuration("acme"))
    registry.add(configuration("odd"))
    rows = registry._storage.configurations.rows  # type: ignore[attr-defined]
    (record,) = [record for record, row in rows.items() if row.name == "odd"]
    rows[record] = replace(rows[record], odd=("settings",))
    assert [each.name for each in registry.all()] == ["acme"]
    assert registry.unreadable() == ["odd"]
    with pytest.raises(RowUnreadable, match="a stored row cannot be read: settings"):
        registry.find(["odd"])
    with pytest.raises(RowUnreadable, match="a stored row cannot be read: settings"):
        registry.get("odd")


def test_a_date_that_no_calendar_has_is_an_error_of_its_field() -> None:
    registry = memory_host().application.registry
    registry.add(configuration(token_expires_on=date(2099, 1, 31)))
    rows = registry._storage.configurations.rows  # type: ignore[attr-defined]
    ((record, row),) = rows.items()
    path = next(path for path in row.settings if path.endswith("expires_on"))
    rows[record] = replace(row, settings={**row.settings, path: "2099-99-99"})
    with pytest.raises(ConfigError, match="not a date"):
        registry.find(["acme"])


def test_former_names_of_another_form_are_left_out() -> None:
    assert read_former_names([["a", 5.0], "b", ["c"], 7]) == (("a", 5.0),)
    assert read_former_names("x") == ()


def test_lines_are_listed_without_one_that_cannot_be_read() -> None:
    registry = memory_host().application.registry
    registry.add(configuration())
    registry.put_line(line())
    registry.put_line(replace(line(), name="odd"))
    rows: dict[str, LineRow] = registry._storage.lines.rows  # type: ignore[attr-defined]
    rows["odd"] = replace(rows["odd"], path=OddText("7"))
    assert [each.name for each in registry.lines()] == ["orders"]
    assert registry.unreadable_lines() == ["odd"]
    with pytest.raises(RowUnreadable, match="path"):
        registry.line("odd")


# ── shared states ───────────────────────────────────────────────────────────────────


def test_odd_rows_of_every_kind_are_listed_for_the_doctor() -> None:
    host = memory_host()
    application = replace(host.application, odd_table_rows=lambda: [OddRow("run", "7")])
    for kind in (StateKind.PAIR, StateKind.API_TOKEN, StateKind.RATE_LIMIT):
        application.states.put(kind, {"odd": ODD})
    application.states.put(StateKind.DATABASE, {"bad": {"url": 7}})
    application.states.put(StateKind.WORKER, {"good": {"at": 5.0}})
    assert sorted(map(str, application.odd_rows())) == [
        "api token odd",
        "database bad",
        "pair odd",
        "rate limit odd",
        "run 7",
    ]
    assert application.sync_settings.pairs() == {}
    assert application.sync_settings.databases() == {}
    with pytest.raises(RowUnreadable):
        application.sync_settings.lock_pair("odd")


def test_the_doctor_names_odd_rows() -> None:
    world = Runtime(referring())
    verified(world)
    world.premises = replace(world.premises, odd_rows=("pair odd",))
    (finding,) = [each for _, each in world.examine() if each.id == "P-odd-row"]
    assert "pair odd" in finding.message


def test_an_odd_api_token_is_not_accepted_and_not_listed() -> None:
    host = memory_host()
    application = host.application
    administration = application.administration("ada")
    wish = TokenWish(name="ci", scopes=frozenset({Scope.READ}))
    created = application.api_tokens.create(administration, wish)
    application.states.put(StateKind.API_TOKEN, {created.token.digest: ODD})
    with pytest.raises(TokenRefused):
        application.api_tokens.authenticate(created.text, 9.0)
    assert application.api_tokens.all() == []
    assert application.api_tokens.unreadable() == [created.token.digest]


def test_a_creator_of_tokens_is_renamed_although_one_of_them_is_odd() -> None:
    application = memory_host().application
    tokens = application.api_tokens
    wish = TokenWish(name="ci", scopes=frozenset({Scope.READ}))
    tokens.create(application.administration("ada"), wish)
    application.states.put(StateKind.API_TOKEN, {"0" * 64: ODD})
    tokens.rename_creator("ada", "erased:1")
    assert [token.created_by for token in tokens.all()] == ["erased:1"]


def test_odd_webhooks_are_listed_as_unreadable_and_their_secrets_are_skipped() -> None:
    working = Working()
    application = working.application
    application.states.put(StateKind.WEBHOOK, {"odd": ODD})
    assert "odd" not in application.webhooks.stored()
    assert application.webhooks.unreadable() == ["odd"]
    with pytest.raises(RowUnreadable):
        StoredWebhook.from_facts("odd", ODD)
    secrets = SecretsWithWebhooks(memory_storage().secrets, application.states)
    assert "odd" not in str(secrets.key_uses())
    assert memory_host().application.webhooks.unreadable() == []


def test_an_unreadable_webhook_is_deleted_without_the_deliveries_of_others() -> None:
    working = Working()
    working.send({"id": "a"})
    working.application.states.put(StateKind.WEBHOOK, {"odd": ODD})
    working.changes.remove("odd")
    assert working.application.webhooks.unreadable() == []
    assert len(working.host.deliveries.rows) == 1
    with pytest.raises(UnknownConfiguration, match="no webhook with this name"):
        working.changes.remove("odd")


def test_a_damaged_secret_of_a_webhook_is_an_empty_one() -> None:
    facts = {"version": 1, "sealed": "a", "set_at": 1.0, "set_by": "ada", "more": 1}
    assert SealedWebhookSecret.from_facts(facts).sealed == b""


def test_the_layout_of_a_table_that_cannot_be_read_is_not_taken_for_a_new_one() -> None:
    states = MemoryStateRows()
    records = LayoutRecords(states)
    states.put(StateKind.TABLE, {"table:odd": ODD})
    assert records.targets() == []
    with pytest.raises(RowUnreadable, match="table:odd"):
        records.read(TableName("odd"))


def test_marks_and_notices_that_cannot_be_read_start_again() -> None:
    application = memory_host().application
    states = application.states
    for mark in ("verification", "backup", "monitoring"):
        states.put(StateKind.MARK, {mark: ODD})
    states.put(StateKind.NOTICE, {"a": ODD})
    assert last_chain_check(states) is None
    assert backed_up_at(application) is None
    assert open_notices(states) == []
    assert Baseline.from_facts(ODD) == Baseline()


def test_durations_of_another_number_of_buckets_are_not_counted() -> None:
    counts = SendCounts.from_facts({"durations": [1], "invented": 2})
    counts.add({"tag": Tag.SEND_OUTCOME, "outcome": "ok", "duration_ms": 5})
    assert counts.durations == [1]


# ── deliveries ──────────────────────────────────────────────────────────────────────


def test_deliveries_of_an_unreadable_webhook_wait_and_the_others_are_processed() -> (
    None
):
    working = Working()
    working.send({"id": "a"})
    rows = working.host.deliveries.rows
    (stored,) = rows.values()
    endpoint = stored.endpoint
    (name,) = working.application.webhooks.stored()
    working.application.states.put(StateKind.WEBHOOK, {name: ODD})
    assert working.work.round() == 1
    assert working.states() == [("received", "row_unreadable", None)]
    assert rows[next(iter(rows))].endpoint == endpoint


def test_a_delivery_for_an_endpoint_that_is_not_stored_has_failed() -> None:
    working = Working()
    working.send({"id": "a"})
    states = working.application.states
    states.put(
        StateKind.HOOK_ENDPOINT, dict.fromkeys(states.read(StateKind.HOOK_ENDPOINT))
    )
    states.put(StateKind.WEBHOOK, dict.fromkeys(states.read(StateKind.WEBHOOK)))
    assert working.work.round() == 1
    assert [state for state, *_ in working.states()] == ["failed"]


def test_an_odd_delivery_ends_and_the_others_are_processed() -> None:
    working = Working()
    working.send({"id": "a"}, {"id": "b"})
    deliveries = working.host.deliveries
    find = deliveries.find
    first = next(iter(deliveries.rows.values())).id

    def find_with_an_odd_one(query: object) -> object:
        return [
            replace(row, state=DeliveryState.FAILED, reason=RowUnreadable.code)
            if row.id == first and row.state is DeliveryState.RECEIVED
            else row
            for row in find(query)  # type: ignore[arg-type]
        ]

    deliveries.find = find_with_an_odd_one  # type: ignore[method-assign,assignment]
    working.work.round()
    assert working.states() == [
        ("failed", "row_unreadable", None),
        ("processed", "", 1),
    ]


# ── runs, pairs and texts ───────────────────────────────────────────────────────────


def test_an_odd_run_is_not_the_last_complete_one_and_not_due() -> None:
    fake = fake_sync(PULL, Api(people(1)))
    first = fake.run()
    second = fake.run()
    runs = fake.runs
    find = runs._rows.find

    def find_with_an_odd_one(query: RunQuery) -> Sequence[Run]:
        return [
            replace(run, state=RunState.FAILED) if run.id == second.id else run
            for run in find(query)
        ]

    runs._rows.find = find_with_an_odd_one  # type: ignore[method-assign]
    complete = runs._complete(first.line)
    assert complete is not None
    assert complete.id == first.id


@pytest.mark.parametrize(
    "stored",
    [
        "[]",
        "x",
        '{"position": 7}',
        '{"notes": [{"values": {}}]}',
        '{"notes": [{"text": "{x:9999}", "values": {"x": 1}}]}',
    ],
)
def test_a_checkpoint_of_another_form_is_not_read(stored: str) -> None:
    assert read_checkpoint(stored) is None


def test_a_checkpoint_is_read_without_members_that_are_not_known() -> None:
    note = {"text": "a {x}", "values": {"x": 1}}
    stored = json.dumps({"cursor": "7", "notes": [note], "is_received": True})
    found = read_checkpoint(stored)
    assert found is not None
    assert found["cursor"] == "7"
    assert [str(text) for text in found["notes"]] == ["a 1"]
    assert "is_received" not in found


@pytest.mark.parametrize(
    "template", ["{x:9999}", "{x!r}", "{y}", "{x.__class__}", "{0}"]
)
def test_a_stored_text_is_filled_by_its_own_values_alone(template: str) -> None:
    with pytest.raises(ValueError, match="not a template"):
        text_from_data({"text": template, "values": {"x": "1"}})


AGREEMENT = {
    "record": "1",
    "key": "k",
    "api": '{"name": "a"}',
    "host": "null",
    "is_pushed": 1,
    "conflict": '[{"name": "a"}, null, null]',
}


def test_an_agreement_is_read_as_it_was_stored() -> None:
    agreement = stored_agreement(AGREEMENT)
    assert (agreement.api, agreement.host) == ({"name": "a"}, None)
    assert agreement.conflict is not None
    assert stored_agreement({**AGREEMENT, "conflict": "null"}).conflict is None


@pytest.mark.parametrize(
    "change",
    [
        {"api": "[]"},
        {"host": "x"},
        {"conflict": "7"},
        {"conflict": "[1, 2, null]"},
        {"conflict": '[null, null, "x"]'},
        {"is_pushed": OddCount()},
    ],
)
def test_an_odd_agreement_is_not_guessed(change: dict[str, object]) -> None:
    with pytest.raises(RowUnreadable, match="a record of a pair"):
        stored_agreement({**AGREEMENT, **change})
