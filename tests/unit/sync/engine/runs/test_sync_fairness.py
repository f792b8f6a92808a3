"""Places are shared fairly: no configuration and no line makes others wait for ever."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outkey.sending.core.request.message import Request, Response
from outkey.sync.core.line.line import SyncLine
from outkey.sync.core.run.run import Run, RunState
from outkey.sync.core.run.schedule import DueRun, first_in_line, next_in_line
from outkey.sync.engine.runs.loop import RunLoop
from outkey.testing import FakeClock, configuration
from unit.sync.engine.pull.test_sync_run import PULL, Api, answer, fake_sync, people
from unit.sync.engine.runs.test_sync_loop import Signal, Work
from unit.sync.engine.runs.test_sync_planner import fake_planner


@dataclass
class Line:
    """A line that is due again at once when its run has ended."""

    name: str
    owner: str
    seconds: int  # of a run
    since: float = 0.0
    ended_at: list[float] = field(default_factory=list)


@dataclass
class Site:
    """Lines that always want to run, and a loop with a few places for them."""

    lines: list[Line]
    places: Mapping[str, int]
    clock: FakeClock = field(default_factory=FakeClock)
    running: dict[str, tuple[Work, float]] = field(default_factory=dict)
    most: Counter[str] = field(default_factory=Counter)

    def plan(self, _actor: str) -> None:
        return

    def due(self) -> list[DueRun]:
        waiting = [line for line in self.lines if line.name not in self.running]
        return [
            DueRun(
                Run(line.name, line.name, "", line.since, until=line.since),
                line.owner,
                self.places[line.owner],
            )
            for line in sorted(waiting, key=lambda line: line.since)
        ]

    def work(self, run_id: str) -> None:
        (line,) = (line for line in self.lines if line.name == run_id)
        work = Work(lambda: None, self.clock)
        self.running[run_id] = work, self.clock.monotonic() + line.seconds

    def start(self, work: Callable[[], object]) -> Work:
        before = set(self.running)
        work()
        (started,) = set(self.running) - before
        self.count()
        return self.running[started][0]

    def count(self) -> None:
        active = Counter(line.owner for line in self.lines if line.name in self.running)
        for owner, count in active.items():
            self.most[owner] = max(self.most[owner], count)

    def run(self, seconds: int, limit: int) -> None:
        loop = RunLoop(
            self,  # type: ignore[arg-type]
            self.start,
            Signal(),
            is_sealed=lambda: False,
            limit=limit,
        )
        for _ in range(seconds):
            loop.round()
            self.clock.advance(1)
            for line in self.lines:
                work, ends_at = self.running.get(line.name, (None, 0.0))
                if work is not None and self.clock.monotonic() >= ends_at:
                    work.alive = False
                    del self.running[line.name]
                    line.since = self.clock.now()
                    line.ended_at.append(line.since)


def lines(owner: str, count: int, seconds: int) -> list[Line]:
    return [Line(f"{owner} {number}", owner, seconds) for number in range(count)]


@pytest.mark.parametrize("limit", [1, 2, 4])
def test_many_lines_of_one_configuration_do_not_delay_the_line_of_another(
    limit: int,
) -> None:
    many = lines("many", 200, 10)
    (single,) = lines("single", 1, 10)
    single.since = 1.0  # all the others have waited longer
    site = Site([*many, single], {"many": 2, "single": 1})
    site.run(600, limit)
    # With one place they take turns, with more it has its own.
    assert len(single.ended_at) >= (600 // 10) // 2 - 1


def test_a_long_run_leaves_the_other_place_to_all_lines_of_its_configuration() -> None:
    (long,) = lines("long", 1, 10_000)
    short = lines("short", 3, 5)
    for line in (long, *short):
        line.owner = "acme"
    site = Site([long, *short], {"acme": 2})
    site.run(600, 4)
    assert min(len(line.ended_at) for line in short) >= 600 // 5 // 3 - 2
    assert site.most["acme"] == 2


shops = st.lists(
    st.tuples(st.integers(1, 12), st.integers(1, 30), st.integers(1, 3)),
    min_size=1,
    max_size=5,
)


@given(shops=shops, limit=st.integers(1, 4))
def test_no_line_waits_longer_than_all_others_take_in_turn(
    shops: list[tuple[int, int, int]], limit: int
) -> None:
    owners = [f"c{number}" for number in range(len(shops))]
    site = Site(
        [
            line
            for owner, (count, seconds, _) in zip(owners, shops, strict=True)
            for line in lines(owner, count, seconds)
        ],
        {owner: at_once for owner, (_, _, at_once) in zip(owners, shops, strict=True)},
    )
    longest = 1 + max(seconds for _, seconds, _ in shops)
    most = max(count for count, _, _ in shops)
    # In each turn of all configurations one line of each runs, or all its places do.
    bound = (most + 1) * len(shops) * longest
    site.run(bound, limit)
    assert all(line.ended_at for line in site.lines)
    assert all(site.most[owner] <= at_once for owner, at_once in site.places.items())


def due(*owners: str, places: int = 1) -> list[DueRun]:
    return [
        DueRun(Run(str(number), "", "", 0.0), owner, places)
        for number, owner in enumerate(owners)
    ]


def test_workers_hear_of_as_many_runs_as_there_are_places_in_turns() -> None:
    found = first_in_line(due("a", "a", "a", "b", "a", places=2))
    assert [(run.id, lock) for run, lock in found] == [
        ("0", "a/0"),
        ("3", "b/0"),
        ("1", "a/1"),
        ("0", "a/1"),  # whichever place becomes free first
        ("3", "b/1"),
        ("1", "a/0"),
    ]
    assert first_in_line([]) == []


def test_the_configuration_whose_turn_is_longest_ago_is_next() -> None:
    waiting = due("a", "b", "a", "c")
    first = next_in_line(waiting, {}, {})
    assert first is waiting[0]
    assert next_in_line(waiting, {}, {"a": 1}) is waiting[1]
    assert next_in_line(waiting, {}, {"a": 1, "b": 2, "c": 3}) is waiting[0]
    assert next_in_line(waiting, {"a": 1, "c": 1}, {"b": 9}) is waiting[1]
    assert next_in_line(waiting, {"a": 1, "b": 1, "c": 1}, {}) is None


# ── with a queue, as on PostgreSQL ────────────────────────────────────────────────────


def test_a_configuration_with_many_lines_has_few_jobs_in_the_queue_at_a_time() -> None:
    fake = fake_planner(fake_sync(responses=Api(people(1))))
    registry = fake.sync.world.ports.configurations
    for number in range(30):
        line = SyncLine(f"line {number}", "acme", "GET", "/contacts", PULL)
        registry.put_line(line)  # type: ignore[attr-defined]
        fake.sync.runs.request(line.name, "ada")
        fake.wait(1)
    registry.add(configuration("shop", authentication_type="bearer"))  # type: ignore[attr-defined]
    registry.put_line(SyncLine("single", "shop", "GET", "/contacts", PULL))  # type: ignore[attr-defined]
    fake.planner.request("single", "ada")
    fake.planner.plan("schedule")
    assert len({run for run, _ in fake.queue.given}) == 3  # two of acme, one of shop
    done: list[str] = []
    while fake.queue.given:  # first in, first out; a place is one job at a time
        run_id, _ = fake.queue.given.pop(0)
        before = fake.sync.runs.get(run_id).state
        if fake.planner.work(run_id).state is not before:
            done.append(fake.sync.runs.get(run_id).line)
    assert done.index("single") <= 2
    acme = [line for line in done if line != "single"]
    assert acme == [f"line {number}" for number in range(30)]  # the next is notified


def test_after_a_run_only_what_waits_for_its_configuration_is_read() -> None:
    fake = fake_planner(fake_sync(responses=Api(people(1))))
    registry = fake.sync.world.ports.configurations
    registry.add(configuration("shop", authentication_type="bearer"))  # type: ignore[attr-defined]
    registry.put_line(SyncLine("single", "shop", "GET", "/contacts", PULL))  # type: ignore[attr-defined]
    asked = fake.planner.request("contacts", "ada")
    single = fake.planner.request("single", "ada")
    assert [item.run.id for item in fake.planner.due("shop")] == [single.id]
    fake.queue.given.clear()
    startable = fake.sync.runs.startable
    read: list[str] = []

    def listed(name: str = "") -> list[Run]:
        read.append(name)
        return startable(name)

    fake.sync.runs.startable = listed  # type: ignore[method-assign]
    assert fake.planner.work(asked.id).state is RunState.DONE
    assert (read, fake.queue.given) == (["acme"], [])


def test_a_worker_that_comes_second_for_a_run_does_nothing() -> None:
    fake = fake_planner(fake_sync(responses=Api(people(1))))
    asked = fake.planner.request("contacts", "ada")
    due_run = fake.sync.runs.due()
    assert fake.planner.try_work(asked.id)
    assert not fake.planner.try_work(asked.id)
    # Both have seen that it is due, and the other was faster.
    fake.sync.runs.due = lambda _run="": due_run  # type: ignore[method-assign]
    assert not fake.planner.try_work(asked.id)
    assert len(fake.sync.runs.newest(9)) == 1


def test_a_worker_whose_run_a_user_cancels_has_had_it() -> None:
    fake = fake_planner(fake_sync())
    asked = fake.planner.request("contacts", "ada")

    def cancel(_request: Request) -> Response:
        fake.sync.runs.cancel(asked.id)
        return answer(people(1))

    fake.sync.world.transport.responses = cancel
    assert fake.planner.try_work(asked.id)
    assert fake.sync.runs.get(asked.id).state is RunState.CANCELLED


def test_a_run_that_cannot_begin_keeps_no_other_from_it() -> None:
    fake = fake_planner(fake_sync(responses=Api(people(1))))
    registry = fake.sync.world.ports.configurations
    made = replace(registry.get("acme").limits, runs_at_once=1)
    acme = replace(registry.get("acme"), limits=made)
    registry.get = lambda _name: acme  # type: ignore[method-assign]
    registry.put_line(SyncLine("others", "acme", "GET", "/contacts", PULL))  # type: ignore[attr-defined]
    dry_run = fake.sync.runner.run("contacts", "ada", dry_run=True)
    next(dry_run)
    fake.sync.runs.request("contacts", "ada")  # it waits until the dry run has ended
    fake.wait(1)
    fake.planner.request("others", "ada")
    assert [item.run.line for item in fake.planner.due()] == ["others"]
    (handed_out,) = fake.queue.given
    assert fake.planner.work(handed_out[0]).state is RunState.DONE
    *_, last = dry_run
    assert last.state is RunState.DONE
    assert [item.run.line for item in fake.planner.due()] == ["contacts"]
