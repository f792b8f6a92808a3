"""Parallel requests of a run: the same records, checkpoints and ends as one by one."""

import asyncio
import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from urllib.parse import parse_qs, urlsplit

import pytest

from outkey.administration.core.document.document import parse_document
from outkey.administration.core.document.export import render
from outkey.foundation.core.errors import (
    BadResponse,
    ConfigError,
    ConnectionFailed,
    EditConflict,
    OutkeyError,
    SyncFailed,
)
from outkey.foundation.core.findings.checks import Level
from outkey.foundation.core.secret import Secret
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.request.message import Request, Response, Route
from outkey.sending.engine.exchange.sender import Asynchronous, Sender
from outkey.sync.core.line.line import Pagination, Paging, Sync, SyncLine
from outkey.sync.core.mapping.records import WriteOutcome
from outkey.sync.core.run.effects import Effect
from outkey.sync.core.run.run import Counts, RejectedRecord, RunState
from outkey.sync.engine.runs.line_plan import LinePlan
from outkey.sync.engine.runs.requests import RequestBatch
from outkey.sync.engine.runs.runner import SyncRunner
from outkey.sync.engine.runs.runs import Runs
from outkey.testing import AsyncFake, configuration, fake_gateway
from unit.sync.engine.pull.test_sync_run import (
    PULL,
    PUSH,
    FakeSync,
    answer,
    fake_sync,
    header,
    people,
    stored,
)

SCRIPT = "def compute_auth_header(sync_line):\n    return {}\n"
OFFSET = Pagination(Paging.OFFSET, 2, "per_page", "offset")
Answers = Callable[[Request], Response | OutkeyError]


@dataclass(frozen=True)
class Crowd(AsyncFake):
    """A transport that counts the requests under way, and responds as asked for."""

    now: list[Request] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    left: list[bool] = field(default_factory=list)

    async def send(self, request: Request, route: Route) -> Response:
        self.now.append(request)
        await asyncio.sleep(0.001)
        self.sizes.append(len(self.now))
        await asyncio.sleep(0.001)
        self.now.remove(request)
        return await super().send(request, route)

    async def close(self) -> None:
        self.left.append(True)


def crowded(
    sync: Sync, responses: Answers, *, waits: bool = False, **line: str
) -> tuple[FakeSync, Crowd]:
    made = fake_sync(
        sync, responses, method=line.get("method", "GET"), path="/contacts"
    )
    world = made.world
    crowd = Crowd(world.transport, world.resolver)
    asynchronous = Asynchronous(crowd, crowd, blocking_ports=waits)
    sender = Sender(replace(world.ports, asynchronous=asynchronous))
    ports = replace(made.ports, sender=sender)
    return replace(made, runner=SyncRunner(ports), ports=ports), crowd


def pages_of(made: FakeSync, name: str = "page") -> list[int]:
    asked = [
        parse_qs(urlsplit(request.target).query)
        for request, _ in made.world.transport.sent
    ]
    return [int(query[name][0]) for query in asked]


def by_number(
    count: int, odd: dict[int, Response | OutkeyError] | None = None
) -> Answers:
    """Answer pages of two by their numbers, and some oddly."""

    def api(request: Request) -> Response | OutkeyError:
        number = int(parse_qs(urlsplit(request.target).query)["page"][0])
        found = people(*range(2 * number - 1, min(2 * number, count) + 1))
        return (odd or {}).get(number, answer(found))

    return api


# ── pull ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("waits", [False, True], ids=["calls", "threads"])
def test_pages_are_asked_for_together_and_kept_one_by_one_in_their_order(
    *, waits: bool
) -> None:
    made, crowd = crowded(replace(PULL, parallel=3), by_number(9), waits=waits)
    seen = list(made.runner.run("contacts", "ada"))
    assert [(run.pages, run.counts.created) for run in seen] == [
        (0, 0),
        (1, 2),
        (2, 4),
        (3, 6),
        (4, 8),
        (5, 9),
        (6, 9),
        (6, 9),
    ]
    assert seen[-1].state is RunState.DONE
    # The first alone, then three at a time; the sixth page is empty,
    # so the one behind is lost.
    assert sorted(pages_of(made)) == [1, 2, 3, 4, 5, 6, 7]
    assert (crowd.sizes[0], len(crowd.sizes), max(crowd.sizes)) == (1, 7, 3)
    assert made.numbers() == [str(n) for n in range(1, 10)]
    assert crowd.left == [True]


@pytest.mark.parametrize("parallel", [1, 3])
def test_pages_do_not_wait_for_the_disk_and_the_end_of_a_run_does(
    monkeypatch: pytest.MonkeyPatch, parallel: int
) -> None:
    durable: list[bool] = []
    real = Runs.transaction

    def transaction(self: Runs, **options: bool) -> AbstractContextManager[None]:
        durable.append(options.get("durable", True))
        return real(self, **options)

    monkeypatch.setattr(Runs, "transaction", transaction)
    made, _ = crowded(replace(PULL, parallel=parallel), by_number(9))
    assert list(made.runner.run("contacts", "ada"))[-1].state is RunState.DONE
    pages, end = durable[:-1], durable[-1]
    assert len(pages) >= 4
    assert not any(pages)
    assert end


def test_one_at_a_time_needs_no_event_loop() -> None:
    made, crowd = crowded(PULL, by_number(5))
    assert made.run().counts == Counts(created=5)
    assert (crowd.sizes, crowd.left) == ([], [])


@pytest.mark.parametrize("size", [2, 1])
def test_offsets_go_by_the_size_that_the_api_keeps_to(size: int) -> None:
    records = people(*range(1, 8))

    def api(request: Request) -> Response:
        start = int(parse_qs(urlsplit(request.target).query)["offset"][0])
        return answer(records[start : start + size])

    made, crowd = crowded(replace(PULL, pagination=OFFSET, parallel=4), api)
    assert made.run().counts == Counts(created=7)
    asked = pages_of(made, "offset")
    assert asked[:4] == list(range(0, 4 * size, size))
    assert len(asked) <= 10
    assert max(crowd.sizes) == 4


def test_a_page_of_another_size_in_the_middle_loses_no_record() -> None:
    records = people(*range(1, 12))

    def api(request: Request) -> Response:
        start = int(parse_qs(urlsplit(request.target).query)["offset"][0])
        return answer(records[start : start + (1 if start == 4 else 2)])

    sync = replace(PULL, pagination=replace(OFFSET, size=3), parallel=3)
    made, _ = crowded(sync, api)
    assert made.run().counts == Counts(created=11)


@pytest.mark.parametrize(
    ("odd", "cause"),
    [
        (Response(401), "invalid_credentials"),
        (Response(429), "rate_limited"),
        (Response(503), "server_error"),
        (Response(200, body=b"<html>"), "not_json"),
        (ConnectionFailed(), "connection"),
    ],
)
def test_the_first_page_that_failed_ends_the_run_and_the_next_goes_on_with_it(
    odd: Response | OutkeyError, cause: str
) -> None:
    faults = {3: odd, 4: Response(500)}
    made, _ = crowded(replace(PULL, parallel=4), by_number(9, faults))
    with pytest.raises(OutkeyError):
        made.run()
    (failed,) = made.runs.newest(9)
    assert (failed.state, failed.cause, failed.pages) == (RunState.FAILED, cause, 2)
    assert made.numbers() == ["1", "2", "3", "4"]
    faults.clear()
    made.world.transport.sent.clear()
    done = made.run()
    assert (done.id, done.counts, pages_of(made)[0]) == (
        failed.id,
        Counts(created=9),
        3,
    )


@pytest.mark.parametrize("status", [404, 400, 500])
def test_what_comes_from_behind_the_end_is_thrown_away(status: int) -> None:
    behind: dict[int, Response | OutkeyError] = {
        n: Response(status) for n in range(5, 9)
    }
    made, _ = crowded(replace(PULL, parallel=5), by_number(5, behind))
    assert made.run().counts == Counts(created=5)


@pytest.mark.parametrize("third", [answer([]), Response(404), Response(204)])
def test_an_empty_page_before_one_with_records_is_a_gap_and_not_the_end(
    third: Response,
) -> None:
    made, _ = crowded(replace(PULL, parallel=5), by_number(9, {3: third}))
    with pytest.raises(SyncFailed) as failed:
        made.run()
    assert (failed.value.reason, made.numbers()) == ("gap", ["1", "2", "3", "4"])


def test_an_api_that_gives_the_last_page_for_ever_ends_there() -> None:
    def api(request: Request) -> Response:
        number = int(parse_qs(urlsplit(request.target).query)["page"][0])
        return answer(people(1, 2) if number == 1 else people(3))

    made, _ = crowded(replace(PULL, parallel=5), api)
    assert made.run().counts.created == 3


def test_pages_that_are_all_the_same_are_found_out_as_one_by_one() -> None:
    made, _ = crowded(replace(PULL, parallel=5), lambda _request: answer(people(1, 2)))
    with pytest.raises(SyncFailed) as failed:
        made.run()
    assert failed.value.reason == "page_repeated"


def test_a_pull_that_is_left_closes_its_connections_and_can_be_gone_on_with() -> None:
    made, crowd = crowded(replace(PULL, parallel=3), by_number(9))
    steps = made.runner.run("contacts", "ada")
    for _ in range(3):
        next(steps)
    steps.close()
    assert crowd.left == [True]
    made.kill()
    assert made.run().counts == Counts(created=9)


def test_another_parallel_goes_on_where_the_run_stopped() -> None:
    made, _ = crowded(
        replace(PULL, parallel=2), by_number(9, odd := {4: Response(503)})
    )
    with pytest.raises(BadResponse):
        made.run()
    odd.clear()
    made.change(replace(PULL, parallel=5))
    assert made.run().counts == Counts(created=9)


def test_a_preview_asks_for_one_page() -> None:
    made, crowd = crowded(replace(PULL, parallel=5), by_number(9))
    assert [effect.key for effect in made.runner.preview("contacts")] == ["1", "2"]
    assert (crowd.sizes, crowd.left) == ([1], [True])


@pytest.mark.parametrize("kind", [Paging.NONE, Paging.CURSOR, Paging.LINK])
def test_where_the_next_page_is_not_known_parallel_has_no_effect_and_that_is_said(
    kind: Paging,
) -> None:
    paging = Pagination(kind, cursor="next", position_parameter="c")
    made, crowd = crowded(
        replace(PULL, pagination=paging, records="items", parallel=5),
        lambda _request: answer({"items": people(1)}),
    )
    found = [(one.id, one.level, one.field) for one in made.runner.check("contacts")]
    assert found == [("L013", Level.WARNING, "parallel")]
    assert made.run().counts == Counts(created=1)
    assert crowd.sizes == []


@pytest.mark.parametrize(
    "sync", [replace(PULL, parallel=5), replace(PULL, pagination=OFFSET)]
)
def test_where_pages_have_numbers_there_is_nothing_to_say(sync: Sync) -> None:
    assert fake_sync(sync).runner.check("contacts") == []


# ── push ──────────────────────────────────────────────────────────────────────────────


def pushing(
    count: int, parallel: int, odd: dict[str, Response]
) -> tuple[FakeSync, Crowd]:
    """Return a line with so many records n1, n2, …, some with odd responses."""

    def api(request: Request) -> Response:
        return odd.get(json.loads(bytes(request.body))["id"], Response(201))  # type: ignore[arg-type]

    made, crowd = crowded(replace(PUSH, parallel=parallel), api, method="POST")
    stored(
        made, *({"number": f"n{n}", "name": f"Name {n}"} for n in range(1, count + 1))
    )
    return made, crowd


def sent(made: FakeSync) -> list[str]:
    found = [request.body for request, _ in made.world.transport.sent]
    return [json.loads(bytes(body))["id"] for body in found]  # type: ignore[arg-type]


def names(*numbers: int) -> list[str]:
    return [f"n{number}" for number in numbers]


def test_records_are_sent_together_and_told_in_their_order() -> None:
    made, crowd = pushing(8, 3, {"n3": Response(422)})
    made.records.table("contact")["6"]["number"] = None
    told: list[Effect] = []
    run = made.run(note=told.append)
    assert (run.counts, run.pages) == (Counts(created=6, failed=2), 1)
    assert [effect.key for effect in told] == [str(n) for n in range(1, 9)]
    assert [e.key for e in told if e.outcome is WriteOutcome.REFUSED] == ["3", "6"]
    assert made.runs.rejected(run.id, 9) == [
        RejectedRecord(3, "3", "", "status_422"),
        RejectedRecord(6, "6", "number", "missing"),
    ]
    assert sorted(sent(made)) == names(1, 2, 3, 4, 5, 7, 8)
    assert crowd.sizes == [1, 3, 3, 3, 3, 3, 3]
    assert crowd.left == [True]


@pytest.mark.parametrize("status", [401, 403, 429, 500])
def test_what_is_about_us_ends_a_push_and_nothing_that_was_answered_is_sent_again(
    status: int,
) -> None:
    odd = {"n3": Response(status), "n5": Response(status), "n6": Response(422)}
    made, _ = pushing(12, 6, odd)
    with pytest.raises(BadResponse) as bad:
        made.run()
    assert bad.value.status == status
    (failed,) = made.runs.newest(9)
    assert failed.counts == Counts(created=4, failed=1)  # 1, 2, 4, 7 and 6
    odd.clear()
    made.world.transport.sent.clear()
    done = made.run()
    assert (done.id, done.counts) == (failed.id, Counts(created=11, failed=1))
    assert sorted(sent(made)) == sorted(names(3, 5, 8, 9, 10, 11, 12))


def test_a_record_that_stops_every_run_makes_no_checkpoint_that_grows() -> None:
    made, _ = pushing(250, 50, {"n2": Response(500)})
    lengths = []
    for _ in range(6):
        with pytest.raises(BadResponse):
            made.run()
        lengths.append(len(made.runs.newest(1)[0].position["ahead"]))  # type: ignore[arg-type]
    # The first of a run goes alone, and that is the one that fails.
    assert lengths == [49] * 6
    assert sorted(sent(made)) == sorted([*names(*range(1, 52)), *["n2"] * 5])


def test_after_a_failure_every_record_is_sent_once_over_many_pages() -> None:
    made, _ = pushing(250, 50, odd := {"n90": Response(503)})
    with pytest.raises(BadResponse):
        made.run()
    odd.clear()
    assert made.run().counts == Counts(created=250)
    assert sorted(sent(made)) == sorted([*names(*range(1, 251)), "n90"])


def test_a_push_that_is_killed_repeats_one_group_at_most_with_the_same_keys() -> None:
    made, _ = pushing(20, 5, {})
    kept = made.runs.save
    left = [3]

    def save(run: object) -> object:
        left[0] -= 1
        if not left[0]:
            raise KeyboardInterrupt
        return kept(run)  # type: ignore[arg-type]

    made.runs.save = save  # type: ignore[method-assign, assignment]
    with pytest.raises(KeyboardInterrupt):
        made.run()
    made.kill()
    assert made.run().counts == Counts(created=20)
    requests = [request for request, _ in made.world.transport.sent]
    assert len(requests) == 25
    assert len({header(request, "Idempotency-Key") for request in requests}) == 20


def test_a_fault_of_our_own_is_told_and_what_was_answered_is_kept() -> None:
    def api(request: Request) -> Response:
        if json.loads(bytes(request.body))["id"] == "n3":  # type: ignore[arg-type]
            raise ZeroDivisionError
        return Response(201)

    made, _ = crowded(replace(PUSH, parallel=4), api, method="POST")
    stored(made, *({"number": f"n{n}"} for n in range(1, 6)))
    with pytest.raises(SyncFailed, match="ZeroDivisionError"):
        made.run()
    assert made.runs.newest(1)[0].counts == Counts(created=4)


def test_a_dry_push_needs_no_event_loop() -> None:
    made, crowd = pushing(5, 4, {})
    assert made.run(dry_run=True).counts == Counts(created=5)
    assert (crowd.sizes, crowd.left) == ([], [])


# ── the key and its limits ────────────────────────────────────────────────────────────


TOML = """
[line.x]
configuration = "acme"
direction = "push"
target = "demo.order"
fields = [{ api = "a", host = "b" }]
"""


def test_parallel_is_read_and_written_and_one_by_default() -> None:
    (plain,) = parse_document(TOML).lines
    (line,) = parse_document(TOML.replace("target", "parallel = 7\ntarget")).lines
    assert plain.sync is not None
    assert line.sync == replace(plain.sync, parallel=7)
    assert (plain.sync.parallel, "parallel" in render([], [plain])) == (1, False)
    assert parse_document(render([], [line])).lines == (line,)


@pytest.mark.parametrize("value", ["0", "51", "-1", "true", '"7"', "1.5"])
def test_parallel_is_a_whole_number_up_to_fifty(value: str) -> None:
    with pytest.raises(ConfigError, match="whole number from 1 to 50") as wrong:
        parse_document(TOML.replace("target", f"parallel = {value}\ntarget"))
    assert wrong.value.field == "line.x.parallel"


@pytest.mark.parametrize(("per_minute", "most"), [(1, 1), (6, 3), (60, 10)])
def test_no_more_are_sent_than_the_rate_limit_lets_through_in_time(
    per_minute: int, most: int
) -> None:
    made = configuration(
        limits__requests_per_minute=per_minute, limits__total_timeout=60
    )
    plan = LinePlan(
        SyncLine("contacts", "acme", "POST", "/"), replace(PUSH, parallel=10), made
    )
    with RequestBatch(fake_gateway(made).sender, plan, 10) as asking:
        assert asking.width == 1
        asking.send([])
        assert asking.width == most


class SeenConfigurations:
    """Secrets that remember which configuration they were opened for."""

    def __init__(self) -> None:
        self.seen: list[Configuration] = []

    def open(
        self, configuration: Configuration, _field: str, _reads: object = None
    ) -> Secret:
        self.seen.append(configuration)
        return Secret("a-token-of-tests")

    def refuse_changed_settings(self, configuration: Configuration) -> None:
        """Refuse nothing."""


def test_the_requests_of_a_run_have_one_configuration_until_it_changes() -> None:
    made = configuration(authentication_type="bearer", script=SCRIPT)
    made = replace(made, is_proved=True)  # else the first response changes it
    begun = replace(made, script_is_vouched=True)
    plan = LinePlan(SyncLine("contacts", "acme", "GET", "/"), PULL, begun)
    world = fake_gateway(made, responses=lambda _request: Response(200))
    secrets = SeenConfigurations()
    sender = Sender(replace(world.ports, secrets=secrets))
    with RequestBatch(sender, plan, 1) as batch:
        batch.send([{"path": "/"}, {"path": "/"}])
        first = secrets.seen[0]
        assert all(one is first for one in secrets.seen)
        secrets.seen.clear()
        changed = replace(made, username="another", script=f"{SCRIPT}# edited")
        world.ports.configurations.configurations["acme"] = changed  # type: ignore[attr-defined]
        batch.send([{"path": "/"}])
    assert {one.username for one in secrets.seen} == {"another"}
    assert {one.script for one in secrets.seen} == {SCRIPT}


def test_a_line_is_not_planned_with_another_configuration_of_the_same_name() -> None:
    line = SyncLine("contacts", "acme", "GET", "/", record="the-first-acme")
    with pytest.raises(EditConflict):
        LinePlan(line, PULL, replace(configuration(), record="the-second-acme"))
