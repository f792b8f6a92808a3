"""Test deliveries are recorded before they are sent, and marked in the inbox."""

import pytest

from outkey.foundation.core.errors import UnknownConfiguration
from outkey.foundation.core.shared_state import StateKind
from outkey.sending.core.audit.events import Change, Tag
from outkey.webhooks.core.inbox.delivery import Delivery
from outkey.webhooks.core.settings.facts import delivery_facts
from outkey.webhooks.engine.samples import HEADER, VALID_SECONDS, with_mark
from unit.webhooks.engine.test_webhook_reception import DOCUMENT, Hooks, signed

TWO = (
    DOCUMENT
    + DOCUMENT.partition("[webhook.shop]")[1].replace("shop", "other")
    + ('\nscheme = "shopify"\nline = "orders"\n')
)


def senders(hooks: Hooks) -> list[str]:
    rows = hooks.host.deliveries.rows.values()
    return [row.tested_by for row in rows]


def marks(hooks: Hooks) -> list[str]:
    return list(hooks.application.states.read(StateKind.HOOK_SAMPLE))


def test_a_test_delivery_is_recorded_before_it_is_sent_and_marked() -> None:
    hooks = Hooks()
    with hooks.changes.sending_test("shop", signed(), "e1") as sample:
        (event,) = hooks.host.audit.events
        assert isinstance(event, Change)
        assert (event.tag, event.actor) == (Tag.DELIVERY_TESTED, "tester")
        assert event.fields == ("shop", "e1")
        assert hooks.receive(sample).status == 200
    assert hooks.receive(signed(event="e2")).status == 200
    assert senders(hooks) == ["tester", ""]
    assert marks(hooks) == []
    facts = [delivery_facts(row) for row in hooks.host.deliveries.rows.values()]
    assert [fact["tested_by"] for fact in facts] == ["tester", None]


def test_the_mark_is_not_stored_with_the_headers() -> None:
    hooks = Hooks()
    with hooks.changes.sending_test("shop", signed(), "e1") as sample:
        hooks.receive(sample)
    assert len(sample.header_values(HEADER)) == 1
    (row,) = hooks.host.deliveries.rows.values()
    content = hooks.application.webhooks.inbox().content("shop", row.id)
    names = {name.lower() for name, _ in content.headers}
    assert names == {name.lower() for name, _ in signed().headers}


def test_a_mark_that_was_not_made_for_this_sample_means_nothing() -> None:
    hooks = Hooks(TWO)
    hooks.receive(with_mark(signed(), "invented"))
    with hooks.changes.sending_test("other", signed(event="e2"), "e2") as elsewhere:
        hooks.receive(elsewhere)
    hooks.receive(elsewhere)  # after its time
    with hooks.changes.sending_test("shop", signed(event="e3"), "e3") as sample:
        twice = Delivery("POST", "", (*sample.headers, (HEADER, "x")), sample.body)
        hooks.receive(twice)
    assert senders(hooks) == ["", "", ""]


def test_a_mark_that_a_killed_process_has_left_expires() -> None:
    hooks = Hooks()
    samples = hooks.settings.samples
    mark = samples.make(hooks.endpoint, "tester")
    hooks.host.world.clock.sleep(VALID_SECONDS)
    hooks.receive(with_mark(signed(), mark))
    assert senders(hooks) == [""]
    other = samples.make(hooks.endpoint, "tester")
    assert marks(hooks) == [other]


def test_a_mark_that_a_clock_ahead_has_left_means_nothing() -> None:
    hooks = Hooks()
    samples = hooks.settings.samples
    mark = samples.make(hooks.endpoint, "tester")
    hooks.host.world.clock.advance(-7200)
    assert samples.tested_by(hooks.endpoint, with_mark(signed(), mark)) == ""
    other = samples.make(hooks.endpoint, "tester")
    assert marks(hooks) == [other]


def test_a_refused_sample_leaves_no_mark() -> None:
    hooks = Hooks()
    with (
        pytest.raises(RuntimeError),
        hooks.changes.sending_test("shop", signed(), "e1"),
    ):
        raise RuntimeError
    assert marks(hooks) == []
    with (
        pytest.raises(UnknownConfiguration),
        hooks.changes.sending_test("missing", signed(), "e1"),
    ):
        pass  # pragma: no cover
