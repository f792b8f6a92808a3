"""Runs of deliveries are apart from those of their line: listed, retried, repaired."""

from dataclasses import replace

import pytest

from outkey.foundation.core.errors import ConfigError, LineBusy, UnknownConfiguration
from outkey.sending.core.audit.events import Change, Tag
from outkey.sending.core.request.message import Response
from outkey.sync.core.line.facts import run_facts
from outkey.sync.core.mapping.records import WriteOutcome
from outkey.sync.core.run.run import Counts, Run, RunState, RunTrigger
from outkey.sync.core.run.states import (
    FOLDED_RECORDS,
    FOLDED_SECONDS,
    SHORT_LEASE_SECONDS,
    RunRequest,
    run_to_extend,
)
from outkey.sync.engine.pull.received_pull import ReceivedPage, pull_of_deliveries
from outkey.sync.engine.runs.run_in_progress import (
    RENEWAL_SECONDS,
    RENEWALS,
    RunInProgress,
)
from unit.sync.engine.pull.test_sync_run import fake_sync, people
from unit.sync.engine.runs.test_audited_runs import host_with_line, rejecting_run
from unit.webhooks.engine.test_webhook_confirmation import MOLLIE, form, receiving, urls
from unit.webhooks.engine.test_webhook_processing import Working, numbers
from unit.webhooks.engine.test_webhook_reception import DOCUMENT

ENDED = Run(
    "1",
    "orders",
    "webhook:shop",
    1000.0,
    state=RunState.DONE,
    ended_at=1001.0,
    digest="d",
    is_received=True,
    counts=Counts(created=3),
)
REQUEST = RunRequest("orders", "d", "webhook:shop")


def deliver(working: Working, *values: object) -> None:
    working.send(*values)
    working.work.round()


def listed(working: Working) -> list[tuple[str, str, int, int]]:
    """Return id, state, deliveries and rejected records of the runs, oldest first."""
    runs = working.application.runs.newest(20)
    return [(run.id, str(run.state), run.pages, run.counts.failed) for run in runs][
        ::-1
    ]


# ── which runs there are ────────────────────────────────────────────────────────────


def test_accepted_deliveries_of_an_hour_are_one_run_and_no_number_is_skipped() -> None:
    working = Working()
    deliver(working, {"id": "a"}, {"id": "b"})
    deliver(working, {"id": "c"})
    assert listed(working) == [("1", "done", 3, 0)]
    (run,) = working.application.runs.newest(1)
    assert (run.counts.created, run.actor) == (3, "webhook:shop")
    assert working.application.request_run("orders", "ada").id == "2"


def test_a_run_that_rejects_is_not_extended() -> None:
    working = Working()
    deliver(working, {"id": "a"})
    deliver(working, {"id": None})
    deliver(working, {"id": "b"})
    deliver(working, {"id": "c"})
    assert listed(working) == [("1", "done", 2, 1), ("2", "done", 2, 0)]


@pytest.mark.parametrize(
    "last",
    [
        None,
        replace(ENDED, actor="webhook:other"),
        replace(ENDED, digest="another line"),
        replace(ENDED, started_at=1100.0 - FOLDED_SECONDS),
        replace(ENDED, counts=Counts(unchanged=FOLDED_RECORDS)),
        replace(ENDED, counts=Counts(created=3, failed=1)),
        replace(ENDED, state=RunState.FAILED, cause="timeout"),
        replace(ENDED, state=RunState.CANCELLED),
        replace(ENDED, started_at=8300.0),  # by a clock that was ahead
    ],
)
def test_only_a_recent_small_run_without_rejections_is_extended(
    last: Run | None,
) -> None:
    assert run_to_extend(last, REQUEST, 1100.0) is None


@pytest.mark.parametrize("cause", ["", "killed", "stopping", "line_paused"])
def test_what_was_interrupted_goes_on(cause: str) -> None:
    state = RunState.FAILED if cause else RunState.DONE
    last = replace(ENDED, state=state, cause=cause)
    assert run_to_extend(last, REQUEST, 1100.0) is last


def test_the_limit_of_time_is_for_the_deliveries_of_one_round() -> None:
    document = DOCUMENT.replace("keys = [", "max_minutes = 1\nkeys = [")
    working = Working(document)
    runs = working.application.runs
    deliver(working, {"id": "a"})
    (run,) = runs.newest(1)
    runs._rows.swap(run, replace(run, worked=3000.0, generation=run.generation + 1))
    deliver(working, {"id": "b"})
    assert working.states()[-1] == ("processed", "", 1)
    assert runs.get(run.id).worked >= 3000.0


def test_a_run_of_deliveries_has_no_limit_of_records() -> None:
    working = Working(DOCUMENT.replace("keys = [", "max_records = 1\nkeys = ["))
    deliver(working, {"id": "a"}, {"id": "b"})
    deliver(working, {"id": "c"})
    assert listed(working) == [("1", "done", 3, 0)]
    assert working.states() == [("processed", "", 1)] * 3


def test_the_records_of_a_delivery_can_be_previewed() -> None:
    made = fake_sync()
    progress = RunInProgress(made.ports, made.runner._plan("contacts"))
    page = ReceivedPage(people(1, 2, 3), lambda _outcome: None)
    first, second = pull_of_deliveries(progress, [page]).sample(2)
    assert (first.key, second.key) == ("1", "2")
    assert first.outcome is second.outcome is WriteOutcome.CREATED
    assert not made.records.table("contact")


def test_a_killed_process_keeps_the_line_for_a_short_lease() -> None:
    working = Working()
    runs = working.application.runs
    clock = working.host.world.clock
    begun, _ = runs.begin_received("orders", "webhook:shop")
    clock.sleep(SHORT_LEASE_SECONDS - 1)
    with pytest.raises(LineBusy):
        runs.begin("orders", "ada", dry_run=False)
    clock.sleep(2)
    assert runs.begin("orders", "ada", dry_run=False).id != begun.id
    killed = runs.get(begun.id)
    assert (killed.state, killed.cause) == (RunState.FAILED, "killed")
    # A script may take its time on a batch of records between two renewals.
    assert SHORT_LEASE_SECONDS / RENEWALS + 64 * 0.25 < SHORT_LEASE_SECONDS
    assert SHORT_LEASE_SECONDS / RENEWALS < RENEWAL_SECONDS


def test_a_run_that_fetches_has_the_lease_of_one_with_requests() -> None:
    working = receiving(MOLLIE, [Response(200, body=b'{"id": "tr_1"}')])
    leases: list[float] = []
    begin = working.application.runs.begin_received

    def noted(*arguments: str, **options: bool) -> object:
        run, last = begin(*arguments, **options)
        leases.append(run.lease)
        return run, last

    object.__setattr__(working.application.runs, "begin_received", noted)
    working.receive(form("tr_1"))
    working.work.round()
    assert leases == [120.0]


# ── what they say about the line ────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("facts", "trigger"),
    [
        ({"actor": "webhook:shop", "is_received": True}, RunTrigger.DELIVERY),
        ({"actor": "web:ann", "retry_of": "3"}, RunTrigger.RETRY),
        ({"actor": "web:ann", "dry_run": True}, RunTrigger.DRY_RUN),
        ({"actor": "schedule"}, RunTrigger.SCHEDULE),
        ({"actor": "web:ann"}, RunTrigger.HAND),
        ({"actor": "webhook:shop"}, RunTrigger.HAND),  # it starts a run of the line
    ],
)
def test_a_run_has_a_trigger(facts: dict[str, object], trigger: str) -> None:
    run = Run("1", "orders", started_at=0.0, **facts)  # type: ignore[arg-type]
    assert run.trigger is trigger
    assert run_facts(run)["trigger"] == trigger


def test_a_run_of_deliveries_is_not_a_full_one() -> None:
    assert run_facts(ENDED)["full"] is False
    assert run_facts(replace(ENDED, is_received=False))["full"] is True


def test_the_next_run_of_the_line_does_not_depend_on_deliveries() -> None:
    working = Working()
    runs = working.application.runs
    run = runs.begin("orders", "ada", dry_run=False)
    failed = replace(run, state=RunState.FAILED, cause="timeout", position={"n": 2})
    runs.finish(failed)
    deliver(working, {"id": None})
    assert runs.newest(1)[0].state is RunState.FAILED
    again = runs.begin("orders", "ada", dry_run=False)
    assert (again.id, again.position) == (run.id, {"n": 2})  # it is continued
    runs.finish(replace(again, state=RunState.DONE, cursor="7"))
    deliver(working, [{"id": None}, {"id": "b"}])
    later = runs.begin("orders", "ada", dry_run=False)
    assert later.since == "7"
    assert [run.id for run in runs.newest(9, received=True)] == ["3", "2"]
    assert [run.id for run in runs.newest(9, received=False)] == ["4", "1"]


# ── retries ─────────────────────────────────────────────────────────────────────────


def rejecting(document: str = DOCUMENT) -> Working:
    """Return a webhook with two deliveries that a run has rejected, wholly or not."""
    working = Working(document)
    deliver(working, {"id": None}, [{"id": None}, {"id": "a"}], {"id": "b"})
    assert listed(working) == [("1", "done", 3, 2)]
    working.host.audit.events.clear()
    return working


def retry(working: Working, run: str = "1") -> list[str]:
    administration = working.application.administration("ada")
    name, deliveries = working.application.webhooks.retry(administration, run)
    assert name == "shop"
    return [delivery.id for delivery in deliveries]


def allow_empty_numbers(working: Working) -> None:
    """Let the line take what it has rejected."""
    working.apply(
        DOCUMENT.replace(
            '{ api = "id", host = "number" }',
            '{ api = "id", host = "number", transform = "text", default = "none" }',
        )
    )


def test_a_retry_processes_the_deliveries_again_and_reads_nothing() -> None:
    working = rejecting()
    assert retry(working) == ["1", "2"]  # not the third, which was accepted
    events = [event for event in working.host.audit.events if isinstance(event, Change)]
    assert [(event.tag, event.actor, event.fields) for event in events] == [
        (Tag.DELIVERY_REPLAYED, "ada", ("shop", "1", "2"))
    ]
    assert urls(working) == []
    working.work.round()
    # Rejected again: the later run lists them now, and the first one nothing.
    assert listed(working) == [("1", "done", 3, 2), ("2", "done", 2, 2)]
    runs = working.application.runs
    assert (runs.get("1").repaired_by, runs.get("2").repaired_by) == ("2", "")
    assert runs.rejected("1", 9) == []
    assert len(runs.rejected("2", 9)) == 2
    assert run_facts(runs.get("1"))["repaired_by"] == "2"


def test_a_run_is_repaired_when_the_last_of_its_deliveries_was_processed() -> None:
    working = rejecting()
    runs = working.application.runs
    allow_empty_numbers(working)
    working.changes.replay("shop", ["1"])
    working.work.round()
    assert runs.get("1").repaired_by == ""
    assert retry(working) == ["2"]
    working.work.round()
    assert runs.get("1").repaired_by == "2"
    assert runs.rejected("1", 9) == []
    assert "none" in numbers(working)
    with pytest.raises(ConfigError, match="no rejected records"):
        retry(working)


def test_a_delivery_whose_object_is_deleted_leaves_nothing_to_retry() -> None:
    answers = [Response(200, body=b'{"id": null}'), Response(404)]
    working = receiving(MOLLIE, answers)
    working.receive(form("tr_1"))
    working.work.round()
    runs = working.application.runs
    assert len(runs.rejected("1", 9)) == 1
    assert retry(working) == ["1"]
    working.work.round()
    assert working.states() == [("ignored", "not_found", 0)]
    assert runs.get("1").repaired_by == "1"
    assert runs.rejected("1", 9) == []


def test_the_runner_does_not_retry_deliveries_by_reading_the_line() -> None:
    working = rejecting()
    with pytest.raises(ConfigError, match="webhook deliveries"):
        working.application.sync.planner().request_retry("1", "ada")
    assert working.host.queue.runs == []


def test_deliveries_of_a_webhook_that_was_just_deleted_are_not_retried() -> None:
    working = rejecting()
    working.settings.remove("shop")
    with pytest.raises(UnknownConfiguration):
        retry(working)
    assert working.application.webhooks.inbox().rejected_by("") == ()


def test_a_run_whose_deliveries_were_deleted_leads_to_the_inbox() -> None:
    working = rejecting()
    working.host.deliveries.rows.clear()
    with pytest.raises(ConfigError, match="not known any more"):
        retry(working)


def test_an_ordinary_retry_names_the_run_that_it_repairs() -> None:
    application = host_with_line().application
    runs = application.runs
    first = rejecting_run(application)
    *_, again = application.sync.runner().retry(first.id, "ada")
    assert runs.get(first.id).repaired_by == ""  # it was rejected again
    key = runs.rejected(first.id, 1)[0].key
    runs.remove_rejected(first.id, [], again.id)
    runs.remove_rejected(first.id, [key], again.id)
    assert runs.get(first.id).repaired_by == again.id
    runs.repair("99")  # a run that was deleted meanwhile


# ── what users read ─────────────────────────────────────────────────────────────


def conditions(working: Working) -> list[str]:
    return [kind for kind, *_ in working.application.webhooks.conditions()]


def test_rejected_records_of_deliveries_are_reported_once_and_until_retried() -> None:
    working = Working()
    deliver(working, [{"id": None}, {"id": "a"}])
    assert conditions(working) == ["S-webhook-rejecting"]
    stored = working.settings.get("shop")
    (finding,) = working.application.webhooks.findings(stored)
    assert (finding.id, "1; the newest in run 1" in finding.message) == ("H015", True)
    deliver(working, {"id": None})
    assert conditions(working) == ["S-webhook-failing"]  # not both
    allow_empty_numbers(working)
    working.changes.replay("shop", ["1", "2"])
    working.work.round()
    assert conditions(working) == []


def test_what_other_webhooks_or_an_old_run_rejected_is_not_reported() -> None:
    working = Working()
    deliver(working, [{"id": None}, {"id": "a"}])
    runs = working.application.runs
    run = runs.get("1")
    other = replace(run, actor="webhook:other", generation=run.generation + 1)
    runs._rows.swap(run, other)
    assert conditions(working) == []
    runs._rows.swap(other, replace(run, generation=other.generation + 1))
    assert conditions(working) == ["S-webhook-rejecting"]
    working.host.world.clock.sleep(8 * 86_400)
    assert "S-webhook-rejecting" not in conditions(working)
