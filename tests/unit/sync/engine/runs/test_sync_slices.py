"""Time slices: a run that has had its place for long makes way for one that waits."""

import threading
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from urllib.parse import parse_qs, urlsplit

import pytest

from outkey.foundation.core.errors import OutkeyError, StorageUnavailable
from outkey.sending.core.request.message import Request, Response
from outkey.sync.core.line.line import Direction, PushedRecords, Sync, SyncLine
from outkey.sync.core.run.run import Counts, Run, RunState
from outkey.sync.core.run.schedule import (
    SLICE_SECONDS,
    WAITING_SECONDS,
    DueRun,
    is_place_wanted,
)
from outkey.sync.engine.runs.counting import run_counts
from outkey.sync.engine.runs.loop import RUNS_AT_ONCE, RunLoop
from outkey.testing import configuration
from unit.sync.engine.pull.test_sync_run import (
    PULL,
    PUSH,
    Api,
    answer,
    fake_sync,
    people,
    stored,
)
from unit.sync.engine.runs.test_sync_loop import Signal
from unit.sync.engine.runs.test_sync_planner import FakePlanner, fake_planner

PAGE_SECONDS = 12.0
SLICE_PAGES = int(SLICE_SECONDS // PAGE_SECONDS)


def planner_with(
    responses: Callable[[Request], Response | OutkeyError],
    lines: Mapping[str, str],
    sync: Sync = PULL,
) -> FakePlanner:
    """Return a planner with a line "contacts", and more by name and configuration."""
    method = "GET" if sync.direction is Direction.PULL else "POST"
    fake = fake_planner(fake_sync(sync, responses, method=method))
    registry = fake.sync.world.ports.configurations
    for owner in {*lines.values()} - {"acme"}:
        made = configuration(
            owner, authentication_type="none", no_auth_reason="public_api"
        )
        registry.add(made)  # type: ignore[attr-defined]
    for name, owner in lines.items():
        registry.put_line(SyncLine(name, owner, "GET", f"/{name}", PULL))  # type: ignore[attr-defined]
    return fake


def slowly(fake: FakePlanner, seconds: float = PAGE_SECONDS) -> None:
    """Let each response of the API come after some seconds."""
    transport = fake.sync.world.transport
    respond = transport.responses
    assert callable(respond)

    def respond_late(request: Request) -> Response | OutkeyError:
        fake.wait(seconds)
        return respond(request)

    transport.responses = respond_late


def endless(request: Request) -> Response:
    """Respond with a page of two records, whatever its number is."""
    page = int(parse_qs(urlsplit(request.target).query)["page"][0])
    return answer(people(2 * page - 1, 2 * page))


# ── the places of a server ────────────────────────────────────────────────────────────


@dataclass
class Gate:
    """Lets the pages of slow lines through one by one; others pass."""

    at_gate: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    passes: dict[str, threading.Semaphore] = field(
        default_factory=lambda: defaultdict(lambda: threading.Semaphore(0))
    )
    waiting: list[str] = field(default_factory=list)  # paths of slow lines

    def respond(self, request: Request) -> Response:
        path = urlsplit(request.target).path
        if "/slow" not in path:
            return answer([])
        self.waiting.append(path)
        self.at_gate.release()
        assert self.passes[path].acquire(timeout=20)
        return endless(request)

    def start(self, work: Callable[[], object]) -> threading.Thread:
        """Do some work in a thread, until it has ended or is at the gate."""

        def do() -> None:
            try:
                work()
            finally:
                self.at_gate.release()

        thread = threading.Thread(target=do, daemon=True)
        thread.start()
        assert self.at_gate.acquire(timeout=20)
        return thread

    def open(self) -> None:
        """Let each page that waits through, one after the other."""
        waiting, self.waiting = self.waiting, []
        for path in waiting:
            self.passes[path].release()
            assert self.at_gate.acquire(timeout=20)


def test_two_slow_apis_leave_a_turn_to_a_healthy_line_within_a_slice() -> None:
    gate = Gate()
    slow = {f"slow-{owner}-{n}": owner for owner in ("one", "two") for n in range(2)}
    assert len(slow) == RUNS_AT_ONCE
    fake = planner_with(gate.respond, slow | {"healthy": "shop"})
    signal = Signal()
    loop = RunLoop(fake.planner, gate.start, signal, is_sealed=lambda: False)
    for line in slow:
        fake.planner.request(line, "ada")
    loop.round()
    assert len(gate.waiting) == RUNS_AT_ONCE
    asked = fake.planner.request("healthy", "ada")
    for _ in range(SLICE_PAGES + 2):
        fake.wait(PAGE_SECONDS)
        gate.open()
        for _ in range(2):  # a thread that has just ended may still count as alive
            loop.round()
    done = fake.sync.runs.get(asked.id)
    assert done.state is RunState.DONE
    # The slow ones go on meanwhile.
    pages = {line: fake.sync.runs.newest(1, line)[0].pages for line in slow}
    assert min(pages.values()) >= SLICE_PAGES - 1
    signal.set()
    fake.stopping = True
    gate.open()


def test_a_run_that_makes_way_waits_behind_the_others_without_a_cause() -> None:
    fake = planner_with(endless, {"other": "acme"})
    slowly(fake)
    first = fake.planner.request("contacts", "ada")
    second = fake.planner.request("other", "ada")
    waiting = fake.planner.work(first.id)
    assert (waiting.state, waiting.cause, waiting.ended_at) == (
        RunState.WAITING,
        "",
        None,
    )
    assert waiting.pages == SLICE_PAGES
    assert waiting.attempt == 1
    assert [run.id for run in fake.sync.runs.due()] == [second.id, first.id]
    assert {run for run, _ in fake.queue.given[-4:]} == {first.id, second.id}
    assert run_counts(fake.sync.memory.states) == {}  # it has not ended


# ── alone ─────────────────────────────────────────────────────────────────────────────


def test_a_run_alone_is_never_interrupted() -> None:
    fake = planner_with(Api(people(*range(1, 200))), {})
    slowly(fake)
    asked = fake.planner.request("contacts", "ada")
    done = fake.planner.work(asked.id)
    assert (done.state, done.counts) == (RunState.DONE, Counts(created=199))
    assert done.generation == asked.generation + 1 + done.pages + 1


def test_a_dry_run_keeps_its_place() -> None:
    fake = planner_with(Api(people(*range(1, 200))), {"other": "acme"})
    slowly(fake)
    asked = fake.planner.request("contacts", "ada", dry_run=True)
    fake.planner.request("other", "ada")
    assert fake.planner.work(asked.id).state is RunState.DONE


def test_a_run_that_got_no_further_keeps_its_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fake = planner_with(Api(people(1, 2, 3)), {"other": "acme"})
    asked = fake.planner.request("contacts", "ada")
    fake.planner.request("other", "ada")
    begin = fake.sync.runs.begin

    def begin_slowly(line: str, actor: str, *, dry_run: bool, run_id: str) -> Run:
        fake.wait(SLICE_SECONDS)
        return begin(line, actor, dry_run=dry_run, run_id=run_id)

    monkeypatch.setattr(fake.sync.runs, "begin", begin_slowly)
    assert fake.planner.work(asked.id).state is RunState.DONE


def test_storage_that_is_unavailable_at_the_look_does_not_fail_the_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fake = planner_with(Api(people(*range(1, 80))), {"other": "acme"})
    slowly(fake)
    asked = fake.planner.request("contacts", "ada")
    fake.planner.request("other", "ada")

    def fail() -> list[Run]:
        raise StorageUnavailable

    with monkeypatch.context() as patch:
        patch.setattr(fake.sync.runs, "alive", fail)
        patch.setattr(fake.planner, "_notify_workers", lambda _line: None)
        done = fake.planner.work(asked.id)
    assert (done.state, done.counts.created) == (RunState.DONE, 79)


@pytest.mark.parametrize(
    ("waiting", "waited", "is_wanted"),
    [
        ([], WAITING_SECONDS, False),
        (["own"], WAITING_SECONDS, True),
        (["free"], WAITING_SECONDS, True),
        (["free"], WAITING_SECONDS - 1, False),  # a free place may be about to be taken
        (["full"], WAITING_SECONDS, False),  # it waits for its own configuration
        (["full", "free"], WAITING_SECONDS, True),
    ],
)
def test_a_place_is_wanted_by_runs_that_could_use_it(
    waiting: list[str], waited: float, *, is_wanted: bool
) -> None:
    due = [
        DueRun(Run("7", owner, "", 0.0, until=1000.0), owner, places=2)
        for owner in waiting
    ]
    active = {"own": 2, "full": 2, "free": 1}
    assert is_place_wanted("own", due, active, 1000.0 + waited) is is_wanted


# ── going on ──────────────────────────────────────────────────────────────────────────


def in_turns(fake: FakePlanner, run_id: str) -> tuple[Run, int]:
    """Work on a run to its end, while another one always waits; return its slices."""
    fake.planner.request("other", "ada")
    for slices in count(1):
        run = fake.planner.work(run_id)
        if run.state is not RunState.WAITING:
            return run, slices
        fake.wait(60)
        assert slices < 50
    raise AssertionError


def test_a_pull_goes_on_from_its_checkpoint_with_no_record_lost_or_doubled() -> None:
    api = Api(people(*range(1, 200)))
    fake = planner_with(api, {"other": "acme"})
    slowly(fake)
    asked = fake.planner.request("contacts", "ada")
    done, slices = in_turns(fake, asked.id)
    assert (done.id, done.state, done.attempt) == (asked.id, RunState.DONE, 1)
    assert (done.counts, done.pages) == (Counts(created=199), 101)
    assert slices == 1 + 100 // SLICE_PAGES
    assert len(api.asked) == done.pages
    assert len(fake.sync.numbers()) == len({*fake.sync.numbers()}) == 199
    (line,) = run_counts(fake.sync.memory.states).values()
    assert line.runs == {"done": 1}


@pytest.mark.parametrize("kind", [PushedRecords.ALL, PushedRecords.CHANGED])
def test_a_push_goes_on_after_the_last_record_that_it_sent(kind: PushedRecords) -> None:
    api = Api()
    push = replace(PUSH, changes=kind)
    fake = planner_with(api, {"other": "acme"}, push)
    stored(fake.sync, *({"number": str(n), "name": f"N{n}"} for n in range(60)))
    slowly(fake)
    asked = fake.planner.request("contacts", "ada")
    done, slices = in_turns(fake, asked.id)
    assert (done.id, done.state, done.counts.total) == (asked.id, RunState.DONE, 60)
    assert slices > 1
    assert len(api.asked) == len({request.body for request in api.asked}) == 60


def test_the_minutes_of_all_slices_count_together() -> None:
    fake = planner_with(endless, {"other": "acme"}, replace(PULL, max_minutes=12))
    slowly(fake)
    asked = fake.planner.request("contacts", "ada")
    ended, slices = in_turns(fake, asked.id)
    assert (ended.state, ended.cause, slices) == (RunState.FAILED, "run_limit", 3)


def test_a_run_that_is_cancelled_when_it_makes_way_stays_cancelled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fake = planner_with(endless, {"other": "acme"})
    slowly(fake)
    asked = fake.planner.request("contacts", "ada")
    fake.planner.request("other", "ada")
    alive = fake.sync.runs.alive

    def cancel() -> list[Run]:
        runs = alive()
        if any(run.pages for run in runs):
            fake.sync.runs.cancel(asked.id)
        return runs

    monkeypatch.setattr(fake.sync.runs, "alive", cancel)
    assert fake.planner.work(asked.id).state is RunState.CANCELLED
