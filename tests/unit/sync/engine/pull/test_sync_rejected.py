"""Rejected records: what is stored of them, and how they are tried again."""

from dataclasses import replace
from datetime import date
from decimal import Decimal

import pytest

from outkey.foundation.core.errors import ConfigError, LineBusy, RunStopped
from outkey.sending.core.request.message import Request, Response
from outkey.sync.core.line.line import FieldMapping, Gone, Transform
from outkey.sync.core.mapping.excerpt import NO_VALUE, excerpt_of, json_kind
from outkey.sync.core.mapping.mapping import map_incoming, map_outgoing
from outkey.sync.core.mapping.records import WriteOutcome
from outkey.sync.core.mapping.transforms import MappingContext
from outkey.sync.core.run.run import (
    Counts,
    RejectedRecord,
    RejectionGroup,
    Run,
    RunState,
)
from unit.sync.engine.pull.test_sync_run import (
    PULL,
    PUSH,
    SINCE,
    Api,
    FakeSync,
    answer,
    asked_since,
    fake_sync,
    people,
    stored,
)
from unit.sync.engine.runs.test_sync_planner import fake_planner

# ── what is stored ────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("value", "kind", "excerpt"),
    [
        (None, "null", "null"),
        (True, "true/false", "true"),
        (7, "number", "7"),
        (0.5, "number", "0.5"),
        (Decimal("1.50"), "number", "1.50"),
        ("a text", "text", "a text"),
        (date(2027, 3, 1), "text", "2027-03-01"),
        ([1, "x", None], "list", '[1, "x", null]'),
        ({"a": {"b": [True]}}, "object", '{"a": {"b": [true]}}'),
        ("x" * 80, "text", "x" * 80),
        ("x" * 81, "text", "x" * 79 + "…"),
        ("ä\n\x1b[2J\u202e\ud800", "text", "ä\ufffd\ufffd[2J\ufffd\ufffd"),
        ("", "text", ""),
    ],
)
def test_a_value_has_a_type_and_an_excerpt(
    value: object, kind: str, excerpt: str
) -> None:
    assert (json_kind(value), excerpt_of(value)) == (kind, excerpt)


def test_nothing_has_no_type() -> None:
    assert json_kind(NO_VALUE) == ""


@pytest.mark.parametrize(
    "value",
    [
        "x" * 10_000_000,
        ["x"] * 1_000_000,
        {str(number): "x" * 1000 for number in range(1000)},
    ],
)
def test_a_long_value_has_a_short_excerpt(value: object) -> None:
    excerpt = excerpt_of(value)
    assert len(excerpt) == 80
    assert excerpt.endswith("…")


def test_a_mapping_tells_the_value_that_it_refused_in_both_directions() -> None:
    context = MappingContext(lambda _zone: None)  # type: ignore[arg-type,return-value]
    mapping = FieldMapping("n", "n", Transform.NUMBER)
    for unmapped in (
        map_incoming([mapping], ["seven"], context),
        map_outgoing([mapping], {"n": "seven"}, context),
    ):
        assert unmapped.value == "seven"  # type: ignore[union-attr]


def test_of_a_template_the_record_is_not_stored() -> None:
    template = FieldMapping(
        "", "name", Transform.TEMPLATE, options={"template": "{secret}"}
    )
    mappings = (PULL.mappings[0], template)
    api = Api([*people(1), {"id": 2, "secret": ["much"], "other": "private"}])
    made = fake_sync(replace(PULL, mappings=mappings), api)
    run = made.run()
    assert made.runs.rejected(run.id, 9) == [RejectedRecord(2, "2", "name", "no_text")]


def test_a_secret_that_an_expression_put_together_is_in_no_excerpt() -> None:
    secret = "hunter2"  # so short that it counts only as a whole value
    mappings = (*PULL.mappings, FieldMapping("join('', parts)", "born"))
    parts = [secret[:3], secret[3:]]
    whole = ["2027", "-03", "-01"]
    api = Api([{"id": 1, "parts": whole}, {"id": 2, "parts": parts}])
    made = fake_sync(replace(PULL, mappings=mappings), api, token=secret)
    run = made.run()
    assert made.runs.rejected(run.id, 9) == [
        RejectedRecord(2, "2", "born", "no_date", "text", "***")
    ]


def test_the_reasons_are_counted() -> None:
    odd = [{"id": n, "name": ["x"]} for n in (4, 5, 6)]
    made = fake_sync(responses=Api([*people(1, 2), *odd, {"name": "no id"}]))
    run = made.run()
    assert made.runs.rejection_groups(run.id) == [
        RejectionGroup("no_text", "name", 3, '["x"]'),
        RejectionGroup("missing", "number", 1, "null"),
    ]


# ── again ─────────────────────────────────────────────────────────────────────────────


def retried(made: FakeSync, run: Run) -> Run:
    *_, last = made.runner.retry(run.id, "ada")
    return last


def rejected_keys(made: FakeSync, run: Run) -> list[str]:
    return [record.key for record in made.runs.rejected(run.id, 99)]


def test_only_what_was_rejected_is_written_again() -> None:
    bad = [{"id": 2, "name": ["x"]}, {"id": 4, "name": ["x"]}]
    api = Api([*people(1), bad[0], *people(3), bad[1]])
    made = fake_sync(replace(PULL, gone=Gone.ARCHIVE, guard_percent=100), api)
    run = made.run()
    assert rejected_keys(made, run) == ["2", "4"]
    api.records = [
        {"id": 1, "name": "changed since"},
        *people(2),
        bad[1],
        {"id": 9, "name": "new"},
    ]
    retry = retried(made, run)
    assert (retry.state, retry.retry_of) == (RunState.DONE, run.id)
    assert retry.counts == Counts(created=1, failed=1)
    assert rejected_keys(made, run) == ["4"]
    assert rejected_keys(made, retry) == ["4"]
    assert made.numbers() == ["1", "2", "3"]  # nothing was archived
    assert made.records.rows("contact")[0]["name"] == "Name 1"


def test_a_key_that_cannot_be_printed_is_recognised() -> None:
    key = "x\u202e"
    api = Api([*people(1), {"id": key, "name": ["x"]}])
    made = fake_sync(responses=api)
    run = made.run()
    api.records = [{"id": key, "name": "x"}]
    assert retried(made, run).counts == Counts(created=1)
    assert rejected_keys(made, run) == []


def test_a_record_without_a_key_is_not_tried_again() -> None:
    api = Api([*people(1), {"name": "no id"}])
    made = fake_sync(responses=api)
    run = made.run()
    api.records = people(1, 2)
    assert retried(made, run).counts == Counts()
    assert made.numbers() == ["1"]


def test_a_retry_that_is_rejected_again_has_failed() -> None:
    api = Api([*people(1), {"id": 2, "name": ["x"]}])
    made = fake_sync(responses=api)
    run = made.run()
    retry = retried(made, run)
    assert (retry.state, retry.cause) == (RunState.FAILED, "all_refused")
    assert rejected_keys(made, run) == ["2"]


def test_a_retry_does_not_move_the_next_run() -> None:
    api = Api(people(1, at="2026-01-01"))
    made = fake_sync(SINCE, api)
    first = made.run()
    api.records = [*people(1, at="2026-01-02"), {"id": 2, "name": [], "at": "2026-03"}]
    run = made.run()
    api.records = people(1, 2, at="2026-02-01")
    retry = retried(made, run)
    assert retry.counts == Counts(created=1)
    assert asked_since(api)[-1] == "2026-01-01"
    done = made.run()
    assert asked_since(api)[-1] == "2026-01-01"
    assert (done.counts, done.full_at) == (Counts(unchanged=2), first.started_at)
    made.run()
    assert asked_since(api)[-1] == "2026-02-01"


def test_a_push_sends_only_what_was_rejected() -> None:
    sent: list[str] = []
    refused = {"/contacts/2", "/contacts/151"}

    def api(request: Request) -> Response:
        sent.append(request.target)
        return answer({}, status=422 if request.target in refused else 200)

    made = fake_sync(PUSH, api, method="PUT", path="/contacts/{number}")
    stored(made, *({"number": str(n), "name": "x"} for n in range(1, 152)))
    run = made.run()
    assert (run.counts.failed, len(sent)) == (2, 151)
    sent.clear()
    refused.remove("/contacts/151")
    retry = retried(made, run)
    assert sent == ["/contacts/2", "/contacts/151"]
    assert retry.counts == Counts(updated=1, failed=1)
    assert rejected_keys(made, run) == ["2"]


def test_a_run_that_failed_is_continued_after_a_retry() -> None:
    odd = {"id": 2, "name": ["x"]}
    api = Api([*people(1), odd, *people(3, 4)])
    made = fake_sync(responses=api)
    run = made.run()
    api.records = people(1, 2, 3, 4)
    api.odd = {len(api.asked) + 2: Response(500)}
    with pytest.raises(Exception, match="500"):
        made.run()
    (failed,) = made.runs.newest(1)
    retried(made, run)
    continued = made.run()
    assert continued.id == failed.id
    assert continued.state is RunState.DONE


def test_a_retry_that_was_killed_is_not_continued() -> None:
    api = Api([*people(1), {"id": 2, "name": []}, *people(3)])
    made = fake_sync(responses=api)
    run = made.run()
    steps = made.runner.retry(run.id, "ada")
    next(steps)
    with pytest.raises(LineBusy):
        made.run()
    made.kill()
    done = made.run()
    assert (done.retry_of, done.counts.seen) == ("", 3)
    steps.close()


# ── again, by a worker ────────────────────────────────────────────────────────────────


def rejecting_sync() -> tuple[FakeSync, Api, Run]:
    """Return a line, its API, and a run that rejected the second of three records."""
    api = Api([*people(1), {"id": 2, "name": []}, *people(3)])
    made = fake_sync(responses=api)
    return made, api, made.run()


def test_a_requested_retry_is_done_by_a_worker() -> None:
    made, api, run = rejecting_sync()
    api.records = people(1, 2, 3)
    fake = fake_planner(made)
    waiting = fake.planner.request_retry(run.id, "ada")
    assert (waiting.state, waiting.retry_of) == (RunState.WAITING, run.id)
    assert {given for given, _ in fake.queue.given} == {waiting.id}
    # Requested twice, it is done once.
    assert fake.planner.request_retry(run.id, "ada") == waiting
    (done,) = fake.work()
    assert (done.id, done.state) == (waiting.id, RunState.DONE)
    assert done.counts == Counts(created=1)
    assert rejected_keys(made, run) == []


def test_a_retry_that_waits_for_a_later_moment_is_due_when_it_is_requested() -> None:
    made, api, run = rejecting_sync()
    fake = fake_planner(made)
    fake.planner.request_retry(run.id, "ada")
    api.odd = {len(api.asked) + 1: Response(503)}
    (waiting,) = fake.work()
    assert (waiting.state, waiting.attempt) == (RunState.WAITING, 2)
    assert made.runs.due() == []
    fake.planner.request_retry(run.id, "ada")
    (again,) = fake.work()
    assert (again.id, again.state) == (waiting.id, RunState.FAILED)
    assert again.cause == "all_refused"


def test_an_ordinary_run_is_no_retry_that_waits() -> None:
    made, _api, run = rejecting_sync()
    waiting = made.runs.request_retry(run.id, "ada")
    with pytest.raises(LineBusy):
        made.runs.request("contacts", "ada")
    ordinary = made.run()
    assert (ordinary.retry_of, ordinary.counts.seen) == ("", 3)
    assert made.runs.get(waiting.id).state is RunState.WAITING


def test_a_run_that_is_active_is_named_to_who_requests_a_retry() -> None:
    made, _api, run = rejecting_sync()
    fake = fake_planner(made)
    waiting = fake.planner.request("contacts", "ada")
    with pytest.raises(LineBusy) as caught:
        fake.planner.request_retry(run.id, "ada")
    assert caught.value.run == waiting.id


def test_a_retry_of_a_changed_line_begins_at_the_first_page() -> None:
    made, api, run = rejecting_sync()
    api.records = people(1, 2, 3)
    fake = fake_planner(made)
    waiting = fake.planner.request_retry(run.id, "ada")
    rows = made.memory.rows
    moved = replace(waiting, position={"at": "3"}, digest="another")
    rows.runs[waiting.id] = moved
    made.runs.add_rejected(moved, [RejectedRecord(1, "old", "", "invalid")])
    (done,) = fake.work()
    assert (done.counts, rejected_keys(made, done)) == (Counts(created=1), [])


def test_a_killed_retry_is_continued_by_a_worker() -> None:
    made, api, run = rejecting_sync()
    api.records = people(1, 2, 3)
    fake = fake_planner(made)
    waiting = fake.planner.request_retry(run.id, "ada")
    steps = made.runner.retry(run.id, "ada", retry_id=waiting.id)
    next(steps)
    next(steps)
    made.kill()
    (done,) = fake.work()
    assert (done.id, done.state) == (waiting.id, RunState.DONE)
    assert rejected_keys(made, run) == []
    steps.close()


def test_a_retry_that_was_cancelled_does_not_begin() -> None:
    made, _api, run = rejecting_sync()
    waiting = made.runs.request_retry(run.id, "ada")
    made.runs.cancel(waiting.id)
    with pytest.raises(RunStopped):
        list(made.runner.retry(run.id, "ada", retry_id=waiting.id))


@pytest.mark.parametrize(
    ("state", "dry_run", "message"),
    [
        (RunState.DONE, True, "dry run"),
        (RunState.RUNNING, False, "not ended"),
    ],
)
def test_some_runs_cannot_be_tried_again(
    state: RunState, message: str, *, dry_run: bool
) -> None:
    made = fake_sync(responses=Api([*people(1), {"id": 2, "name": []}]))
    run = made.run(dry_run=dry_run)
    rows = made.memory.rows
    rows.runs[run.id] = replace(rows.runs[run.id], state=state)
    with pytest.raises(ConfigError, match=message):
        retried(made, run)


def test_a_run_that_rejected_nothing_cannot_be_tried_again() -> None:
    made = fake_sync(responses=Api(people(1)))
    with pytest.raises(ConfigError, match="no rejected records"):
        retried(made, made.run())


def test_a_dry_run_shows_the_refused_value() -> None:
    made = fake_sync(responses=Api([{"id": 2, "name": ["x"]}]))
    effects: list[tuple[str, object]] = []
    made.run(
        dry_run=True,
        note=lambda effect: (
            effects.append((effect.kind, effect.refused))
            if effect.outcome is WriteOutcome.REFUSED
            else None
        ),
    )
    assert effects == [("list", ["x"])]
