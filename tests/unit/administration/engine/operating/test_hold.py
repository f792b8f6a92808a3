"""A restored installation does nothing by itself until it is resumed."""

from dataclasses import replace

import pytest

from outkey.foundation.core.errors import OnHold
from outkey.foundation.core.hold import RESTORED
from outkey.foundation.core.shared_state import StateKind
from outkey.foundation.ports.database import StateRows
from outkey.sending.adapters.secrets.keyring import new_keyring
from outkey.sending.adapters.tokens.tokens_stored import StoredTokens
from outkey.sending.core.audit.events import Change, Tag
from outkey.sync.core.run.run import RunState
from outkey.testing import MemoryStateRows
from outkey.testing.fakes.basic import FixedRing
from unit.administration.engine.watching.test_monitoring import Site, verified
from unit.application_in_memory import memory_host
from unit.sending.engine.tokens.test_tokens import Provider, send, world
from unit.sync.engine.pull.test_sync_run import PULL, Api, FakeSync, fake_sync, people
from unit.sync.engine.runs.test_sync_planner import fake_planner
from unit.webhooks.engine.test_webhook_processing import Working, numbers

EVERY_MINUTE = replace(PULL, schedule="* * * * *")


def hold(states: StateRows) -> None:
    states.put(StateKind.HOLD, {RESTORED: {"at": 1.0}})


def resume(states: StateRows) -> None:
    states.put(StateKind.HOLD, {RESTORED: None})


def held_sync() -> FakeSync:
    made = fake_sync(EVERY_MINUTE, Api(people(1, 2)))
    hold(made.runs._states)
    return made


def test_no_line_is_run_and_the_error_names_the_command() -> None:
    made = held_sync()
    with pytest.raises(OnHold) as caught:
        made.run()
    assert "outkey resume --all" in caught.value.hint
    assert made.run(dry_run=True).counts.created == 2  # a user waits for it
    resume(made.runs._states)
    assert made.run().counts.created == 2


def test_workers_begin_nothing_and_schedules_are_not_followed() -> None:
    fake = fake_planner(fake_sync(EVERY_MINUTE, Api(people(1, 2))))
    states = fake.sync.runs._states
    fake.planner.plan("schedule")
    requested = fake.planner.request("contacts", "ada")
    hold(states)
    fake.wait(600)
    fake.queue.given.clear()
    fake.planner.plan("schedule")
    assert fake.queue.given == []
    assert fake.planner.due() == []
    assert not fake.planner.try_work(requested.id)
    assert fake.planner.next_runs(["contacts"]) == {"contacts": None}
    for dry_run in (False, True):
        with pytest.raises(OnHold):
            fake.planner.request("contacts", "ada", dry_run=dry_run)
    assert fake.sync.runs.get(requested.id).state is RunState.WAITING

    resume(states)
    fake.planner.plan("schedule")
    assert [run for run, _ in fake.queue.given] == [requested.id] * 2
    assert [run.state for run in fake.work()] == [RunState.DONE]


def test_deliveries_are_received_and_wait() -> None:
    working = Working()
    hold(working.application.states)
    working.send({"id": "a"})
    assert working.work.round() == 0
    assert working.states() == [("received", "", None)]
    resume(working.application.states)
    assert working.work.round() == 1
    assert numbers(working) == ["a"]


@pytest.mark.parametrize("grant", ["refresh_token", "client_credentials"])
def test_no_token_is_requested_but_one_that_is_valid_is_used(grant: str) -> None:
    provider = Provider(expires_in=600)
    fake = world(provider, oauth2__grant=grant)
    assert send(fake).status == 200
    states = MemoryStateRows()
    nothing: object = None
    held = StoredTokens(nothing, FixedRing(new_keyring()), nothing, nothing, states)  # type: ignore[arg-type]
    fake.ports.tokens.refuse_renewal = held.refuse_renewal  # type: ignore[method-assign]
    hold(states)
    assert send(fake).status == 200
    fake.clock.advance(550)  # it would be renewed now
    assert send(fake).status == 200
    fake.clock.advance(60)
    with pytest.raises(OnHold):
        send(fake)
    assert len(provider.asked) == 1
    resume(states)
    assert send(fake).status == 200
    assert len(provider.asked) == 2


def test_nothing_is_tested_or_deleted_in_the_background() -> None:
    site = Site()
    site.tested_long_ago()
    work = site.work()
    held = replace(work._ports, is_on_hold=lambda: True)
    work._ports = held
    work.round()
    assert verified(site.fake) == []
    assert site.days == []
    work._ports = replace(held, is_on_hold=lambda: False)
    work.round()
    assert verified(site.fake) == ["acme"]


def test_a_user_ends_the_hold_and_the_audit_has_who() -> None:
    host = memory_host()
    application = host.application
    hold(application.states)
    assert application.is_on_hold()
    ada = application.administration("ada")
    assert application.resume_all(ada)
    assert not application.is_on_hold()
    assert not application.resume_all(ada)
    assert host.audit.events == [Change(Tag.INSTALLATION_RESUMED, "ada")]
