"""The contract suites of stored runs, used like those of `contracts`.

`RunRowsContract` tries the tables of a host, `RunsContract` the runs on top of them.
"""

import threading
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any

import pytest

from outkey.administration.core.findings.monitoring import LineRun
from outkey.administration.ports.installation import LineRuns
from outkey.foundation.core.errors import (
    ConfigError,
    LineBusy,
    LinePaused,
    RunStopped,
    UnknownConfiguration,
)
from outkey.foundation.core.stored_times import LONGEST_WAIT, SKEW_SECONDS
from outkey.foundation.core.text import Text
from outkey.foundation.ports.database import Database
from outkey.sync.core.pairs.section import Pair
from outkey.sync.core.run.run import Counts, RejectedRecord, Run, RunState
from outkey.sync.engine.runs.runs import Runs
from outkey.sync.ports.sync import RunOrder, RunQuery, RunRows

LEASE = 120.0  # a minute, and the default total timeout of a configuration
AHEAD = 7200.0  # seconds that a clock was ahead: that of another time zone
THREADS = 8


def run_of(line: str = "contacts", **values: Any) -> Run:  # noqa: ANN401 - fields of Run
    """Return a run that is not stored yet."""
    return Run("", line, "tester", 1000.0, generation=1, **values)


def insert(rows: RunRows, line: str = "contacts", **values: Any) -> Run:  # noqa: ANN401 - fields of Run
    """Store a new run."""
    stored = rows.swap(None, run_of(line, **values))
    assert stored is not None
    return stored


class RunRowsContract(ABC):
    """The promises of the tables of every host."""

    @abstractmethod
    def make(self) -> tuple[RunRows, Database]:
        """Return empty tables; there are the sync lines `contacts` and `orders`."""

    def leave_thread(self) -> None:
        """Do what a thread of the suite must do at its end."""
        return

    def test_a_run_is_read_as_it_was_stored(self) -> None:
        rows, _ = self.make()
        run = move(run_of(dry_run=True, attempt=2, digest="abc", until=9.5, since="1"))
        stored = rows.swap(None, run)
        assert stored is not None
        assert stored == replace(run, id=stored.id)
        assert list(rows.find(RunQuery(id=stored.id))) == [stored]
        after = replace(
            stored,
            actor="other",
            state=RunState.FAILED,
            ended_at=5.0,
            cause="timeout",
            generation=2,
            attempt=3,
            digest="def",
            until=1.0,
            started_at=2000.0,
        )
        assert rows.swap(stored, after) == after
        assert list(rows.find(RunQuery(id=stored.id))) == [after]

    def test_a_run_of_a_line_that_does_not_exist_is_refused(self) -> None:
        rows, _ = self.make()
        with pytest.raises(UnknownConfiguration):
            rows.swap(None, run_of("unknown"))

    def test_only_the_generation_that_was_read_is_replaced(self) -> None:
        rows, _ = self.make()
        run = insert(rows)
        first = rows.swap(run, replace(run, pages=1, generation=2))
        assert first is not None
        assert rows.swap(run, replace(run, pages=9, generation=2)) is None
        assert rows.swap(run, None) is None
        assert list(rows.find(RunQuery())) == [first]

    @pytest.mark.parametrize("dry_run", [False, True])
    def test_one_run_of_a_line_runs_whether_dry_or_not(self, *, dry_run: bool) -> None:
        rows, _ = self.make()
        insert(rows)
        waiting = insert(rows, state=RunState.WAITING, dry_run=dry_run)
        begun = replace(waiting, state=RunState.RUNNING, generation=2)
        assert rows.swap(None, run_of(dry_run=dry_run)) is None
        assert rows.swap(waiting, begun) is None
        insert(rows, "orders")
        assert len(rows.find(RunQuery(states=(RunState.RUNNING,)))) == 2

    def test_one_run_of_a_line_waits_and_one_dry_run_beside_it(self) -> None:
        rows, _ = self.make()
        for dry_run in (False, True):
            insert(rows, state=RunState.WAITING, dry_run=dry_run)
            run = run_of(state=RunState.WAITING, dry_run=dry_run)
            assert rows.swap(None, run) is None

    def test_a_refused_write_does_not_spoil_its_transaction(self) -> None:
        rows, database = self.make()
        insert(rows)
        with database.transaction():
            assert rows.swap(None, run_of()) is None
            insert(rows, "orders")
        assert len(rows.find(RunQuery())) == 2

    def test_a_deleted_run_takes_its_rejected_records_along(self) -> None:
        rows, _ = self.make()
        run = insert(rows)
        rows.put_rejected(run.id, 1, [RejectedRecord(1, "k", "f", "missing")])
        assert rows.swap(run, None) == run
        assert list(rows.find(RunQuery())) == []
        assert list(rows.rejected(run.id, 9)) == []

    def test_a_query_finds_what_it_describes(self) -> None:
        rows, _ = self.make()
        done = insert(rows, state=RunState.DONE, ended_at=10.0, digest="a", until=3.0)
        dry = insert(rows, state=RunState.DONE, ended_at=20.0, dry_run=True, until=2.0)
        other = insert(rows, "orders", state=RunState.WAITING, attempt=1, until=1.0)
        running = insert(rows, attempt=1, digest="a", until=4.0)
        for query, runs in (
            (RunQuery(), [running, other, dry, done]),
            (RunQuery(limit=2), [running, other]),
            (RunQuery(order=RunOrder.OLDEST), [done, dry, other, running]),
            (RunQuery(order=RunOrder.DUE), [other, dry, done, running]),
            (RunQuery(line="orders"), [other]),
            (RunQuery(configuration="acme"), [running, other, dry, done]),
            (RunQuery(configuration="nobody"), []),
            (RunQuery(configuration="acme", line="orders"), [other]),
            (RunQuery(states=(RunState.DONE, RunState.RUNNING)), [running, dry, done]),
            (RunQuery(dry_run=True), [dry]),
            (RunQuery(dry_run=False), [running, other, done]),
            (RunQuery(digest="a"), [running, done]),
            (RunQuery(requested=True), [running, other]),
            (RunQuery(due_by=0.5), [running, dry, done]),
            (RunQuery(due_by=1.0), [running, other, dry, done]),
            (RunQuery(ended_before=20.0), [done]),
            (RunQuery(after=dry.id), [running, other]),
            (RunQuery(id=dry.id, line="orders"), []),
        ):
            assert list(rows.find(query)) == runs, query
        assert list(rows.find(RunQuery(), lock=False)) == [running, other, dry, done]
        sent = insert(rows, state=RunState.DONE, is_received=True)
        assert list(rows.find(RunQuery(received=True))) == [sent]
        assert list(rows.find(RunQuery(received=False, limit=1))) == [running]

    def test_a_wait_that_a_clock_ahead_has_written_is_over(self) -> None:
        rows, _ = self.make()
        new = insert(rows, state=RunState.WAITING, until=1000.0)
        postponed = insert(rows, "orders", state=RunState.WAITING, until=2000.0)
        latest = 1000.0 - SKEW_SECONDS
        for moment, runs in (
            (latest - 1, [new]),  # it cannot have been requested then
            (latest, []),
            (1000.0, [new]),
            (2000.0, [postponed, new]),
            (2000.0 - LONGEST_WAIT - SKEW_SECONDS - 1, [postponed, new]),
            (2000.0 - LONGEST_WAIT - SKEW_SECONDS, [new]),
        ):
            assert list(rows.find(RunQuery(due_by=moment))) == runs, moment

    def test_the_lease_of_a_running_run_is_stored(self) -> None:
        rows, _ = self.make()
        insert(rows, lease=90.0)
        (run,) = rows.find(RunQuery())
        assert run.lease == 90.0

    def test_what_is_not_an_id_finds_no_run(self) -> None:
        rows, _ = self.make()
        insert(rows)
        for text in ("999999", "9" * 40, "²", "no number", "-1"):
            assert list(rows.find(RunQuery(id=text))) == []

    def test_rejected_records_are_replaced_from_a_number_on(self) -> None:
        rows, _ = self.make()
        run = insert(rows)
        records = [RejectedRecord(n, f"c-{n}", "name", "missing") for n in range(1, 5)]
        rows.put_rejected(run.id, 1, records[:2])
        rows.put_rejected(run.id, 3, [records[3], records[2]])
        assert list(rows.rejected(run.id, 9)) == records
        assert list(rows.rejected(run.id, 1)) == records[:1]
        rows.put_rejected(run.id, 2, ())
        assert list(rows.rejected(run.id, 9)) == records[:1]

    def test_rejected_records_are_found_and_deleted_by_their_keys(self) -> None:
        rows, _ = self.make()
        run, other = insert(rows), insert(rows, "orders")
        records = [
            RejectedRecord(n, f"c-{n}", "name", "too_long", "text", f"Name {n}")
            for n in range(1, 4)
        ]
        rows.put_rejected(run.id, 1, records)
        rows.put_rejected(other.id, 1, records)
        assert list(rows.rejected(run.id, 1, skip=1)) == records[1:2]
        assert list(rows.rejected(run.id, 9, keys=["c-3", "c-2", "x"])) == records[1:]
        assert (
            list(rows.rejected(run.id, 9, skip=1, keys=["c-3", "c-2"])) == records[2:]
        )
        assert list(rows.rejected(run.id, 9, keys=[])) == []
        many = [f"c-{number}" for number in range(2, 2000)]
        rows.put_rejected(run.id, 99, (), many)
        assert list(rows.rejected(run.id, 9)) == records[:1]
        rows.put_rejected(run.id, 5, records[1:2], ["c-1"])
        assert list(rows.rejected(run.id, 9)) == records[1:2]
        assert list(rows.rejected(other.id, 9)) == records

    def test_a_transaction_is_kept_whole_or_not_at_all(self) -> None:
        rows, database = self.make()
        run = insert(rows)
        with pytest.raises(KeyError), database.transaction():  # noqa: PT012 - the last one fails
            rows.swap(run, replace(run, pages=1, generation=2))
            rows.put_rejected(run.id, 1, [RejectedRecord(1, "k", "f", "missing")])
            raise KeyError
        assert list(rows.find(RunQuery())) == [run]
        assert list(rows.rejected(run.id, 9)) == []

    def test_of_many_that_insert_at_once_one_does(self) -> None:
        rows, _ = self.make()
        results: list[Run | None] = []
        started = threading.Barrier(THREADS)

        def work() -> None:
            started.wait(10)
            try:
                results.append(rows.swap(None, run_of()))
            finally:
                self.leave_thread()

        threads = [threading.Thread(target=work) for _ in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        assert len(results) == THREADS
        assert len([run for run in results if run is not None]) == 1


class LineRunsContract(ABC):
    """The runs of every host, as monitoring reads them."""

    @abstractmethod
    def make(self) -> tuple[LineRuns, RunRows]:
        """Return empty tables; `acme` has the sync lines `contacts` and `orders`."""

    def test_the_last_run_and_the_last_dry_run_of_each_line_are_returned(self) -> None:
        line_runs, rows = self.make()
        assert line_runs.latest() == []
        insert(rows, state=RunState.FAILED)
        dry_run = insert(rows, state=RunState.DONE, dry_run=True, until=2.5)
        waiting = insert(rows, state=RunState.WAITING, attempt=3, until=4.5)
        running = insert(rows, "orders")
        insert(rows, state=RunState.FAILED, is_received=True)  # it is not the line's
        by_id = sorted(line_runs.latest(), key=lambda latest: int(latest.run.id))
        assert by_id == [LineRun("acme", run) for run in (dry_run, waiting, running)]


class RunsContract(ABC):
    """The promises of runs on the tables of every host."""

    @abstractmethod
    def make(self) -> Runs:
        """Return runs, none yet; there are the sync lines `contacts` and `orders`."""

    @abstractmethod
    def pass_time(self, seconds: float) -> None:
        """Let time pass by the clock that the runs go by; or put it back."""

    def leave_thread(self) -> None:
        """Do what a thread of the suite must do at its end."""
        return

    def test_a_run_begins_at_the_beginning(self) -> None:
        runs = self.make()
        begun = runs.begin("contacts", "tester", dry_run=False)
        assert (begun.line, begun.actor, begun.state) == (
            "contacts",
            "tester",
            RunState.RUNNING,
        )
        assert (begun.position, begun.cursor, begun.since, begun.counts) == (
            {},
            "",
            "",
            Counts(),
        )
        assert not begun.dry_run
        assert runs.get(begun.id) == begun

    def test_a_line_runs_once_at_a_time_and_another_one_beside_it(self) -> None:
        runs = self.make()
        runs.begin("contacts", "tester", dry_run=False)
        for dry_run in (False, True):
            with pytest.raises(LineBusy):
                runs.begin("contacts", "other", dry_run=dry_run)
        assert runs.begin("orders", "other", dry_run=True).dry_run

    def test_a_checkpoint_is_read_as_it_was_saved(self) -> None:
        runs = self.make()
        saved = runs.save(move(runs.begin("contacts", "tester", dry_run=False)))
        assert runs.get(saved.id) == saved
        assert runs.get(saved.id).counts.changed_fields == {"name": 2}
        assert (
            runs.get(saved.id).notes[0].template == "the API returned status {status}"
        )
        again = runs.save(
            replace(
                saved, pages=2, allows_removal=True, is_received=True, repaired_by="7"
            )
        )
        assert runs.get(again.id) == again

    def test_a_run_that_was_killed_goes_on_where_it_was_and_its_ghost_is_stopped(
        self,
    ) -> None:
        runs = self.make()
        ghost = runs.save(move(runs.begin("contacts", "tester", dry_run=False)))
        self.pass_time(LEASE - 5)
        with pytest.raises(LineBusy):
            runs.begin("contacts", "tester", dry_run=False)
        self.pass_time(10)
        resumed = runs.begin("contacts", "tester", dry_run=False)
        assert replace(resumed, generation=ghost.generation, until=ghost.until) == ghost
        for late in (runs.save, runs.finish):
            with pytest.raises(RunStopped) as caught:
                late(ghost)
            assert caught.value.reason == "taken_over"
        assert runs.save(replace(resumed, pages=8)).pages == 8

    def test_a_run_that_makes_way_is_due_behind_the_others(self) -> None:
        runs = self.make()
        asked = runs.request("contacts", "tester")
        begun = runs.begin("contacts", "tester", dry_run=False, run_id=asked.id)
        held = runs.save(move(begun))
        assert [run.id for run in runs.alive()] == [held.id]
        self.pass_time(1)
        other = runs.request("orders", "tester")
        self.pass_time(1)
        waiting = runs.give_way(held)
        assert (waiting.state, waiting.position) == (RunState.WAITING, held.position)
        assert [run.id for run in runs.due()] == [other.id, held.id]
        assert runs.alive() == []
        with pytest.raises(RunStopped):
            runs.save(held)
        again = runs.begin("contacts", "tester", dry_run=False, run_id=held.id)
        assert (again.position, again.pages) == (held.position, held.pages)

    def test_a_clock_that_was_ahead_keeps_no_line_busy(self) -> None:
        runs = self.make()
        ghost = runs.save(move(runs.begin("contacts", "tester", dry_run=False)))
        requested = runs.request("orders", "tester")
        self.pass_time(-AHEAD)
        assert runs.count_running() == 0
        assert [run.id for run in runs.due()] == [requested.id]
        resumed = runs.begin("contacts", "tester", dry_run=False)
        assert resumed.id == ghost.id
        assert runs.count_running() == 1
        with pytest.raises(RunStopped):
            runs.save(ghost)
        begun = runs.begin("orders", "tester", dry_run=False, run_id=requested.id)
        assert runs.due() == []
        assert runs.save(begun).state is RunState.RUNNING

    def test_a_run_lives_as_long_as_it_is_saved(self) -> None:
        runs = self.make()
        run = runs.begin("contacts", "tester", dry_run=False)
        for _ in range(3):
            self.pass_time(LEASE - 5)
            run = runs.save(run)
        with pytest.raises(LineBusy):
            runs.begin("contacts", "tester", dry_run=False)

    @pytest.mark.parametrize("dry_run", [True, False])
    def test_a_trial_and_a_run_do_not_go_on_with_each_other(
        self, *, dry_run: bool
    ) -> None:
        runs = self.make()
        killed = runs.save(move(runs.begin("contacts", "tester", dry_run=dry_run)))
        self.pass_time(LEASE + 5)
        fresh = runs.begin("contacts", "tester", dry_run=not dry_run)
        assert fresh.id != killed.id
        assert (fresh.position, fresh.counts, fresh.dry_run) == (
            {},
            Counts(),
            not dry_run,
        )
        assert runs.get(killed.id).state is RunState.FAILED

    @pytest.mark.parametrize("state", [RunState.DONE, RunState.FAILED])
    def test_what_ended_without_a_position_is_not_continued(
        self, state: RunState
    ) -> None:
        runs = self.make()
        run = runs.save(move(runs.begin("contacts", "tester", dry_run=False)))
        ended = replace(run, state=state, position={}, cause="timeout")
        stored = runs.finish(ended)
        assert runs.get(run.id) == stored
        assert replace(stored, generation=run.generation, ended_at=None) == ended
        fresh = runs.begin("contacts", "tester", dry_run=False)
        assert fresh.id != run.id
        assert fresh.counts == Counts()

    def test_what_failed_at_a_position_is_continued(self) -> None:
        runs = self.make()
        run = runs.save(move(runs.begin("contacts", "tester", dry_run=False)))
        runs.finish(replace(run, state=RunState.FAILED, cause="timeout"))
        resumed = runs.begin("contacts", "tester", dry_run=False)
        assert replace(resumed, generation=run.generation, until=run.until) == run
        with pytest.raises(LineBusy):
            runs.begin("contacts", "tester", dry_run=False)
        assert runs.save(resumed).id == run.id

    def test_the_next_run_knows_what_the_last_complete_one_had_seen(self) -> None:
        runs = self.make()
        for cursor, state, dry_run, since in (
            ("2027-01", RunState.DONE, False, ""),
            ("2027-02", RunState.FAILED, False, "2027-01"),
            ("2027-03", RunState.DONE, True, "2027-01"),
            ("", RunState.DONE, False, "2027-01"),  # nothing was new
            ("2027-04", RunState.DONE, False, "2027-01"),
        ):
            run = runs.begin("contacts", "tester", dry_run=dry_run)
            assert run.since == since
            runs.finish(replace(run, cursor=cursor, state=state, position={}))
        assert runs.begin("contacts", "tester", dry_run=True).since == "2027-04"
        assert runs.begin("orders", "tester", dry_run=False).since == ""

    def test_a_line_that_was_reset_begins_there_until_a_run_is_complete(self) -> None:
        runs = self.make()
        first = runs.begin("contacts", "tester", dry_run=False)
        with pytest.raises(LineBusy):
            runs.reset_line("contacts", "")
        runs.finish(replace(first, cursor="2027-01", state=RunState.DONE))
        runs.reset_line("contacts", "2026-05")
        assert runs.begin("orders", "tester", dry_run=False).since == ""
        stopped = runs.begin("contacts", "tester", dry_run=False)
        assert (stopped.since, stopped.full_at) == ("2026-05", first.full_at)
        runs.cancel(stopped.id)
        failed = runs.begin("contacts", "tester", dry_run=False)
        assert failed.since == "2026-05"
        failed = runs.save(move(failed))
        runs.finish(replace(failed, state=RunState.FAILED))
        runs.reset_line("contacts", "")
        dry = runs.begin("contacts", "tester", dry_run=True)
        assert dry.since == ""
        runs.finish(replace(dry, state=RunState.DONE))
        again = runs.begin("contacts", "tester", dry_run=False)
        assert (again.since, again.position, again.full_at) == (
            "",
            {},
            again.started_at,
        )
        runs.finish(replace(again, cursor="2027-02", state=RunState.DONE))
        assert runs.begin("contacts", "tester", dry_run=False).since == "2027-02"

    def test_a_run_that_waits_to_be_continued_begins_where_its_line_is_reset_to(
        self,
    ) -> None:
        runs = self.make()
        waiting = runs.request("contacts", "tester")
        run = runs.save(move(runs.begin("contacts", "worker", dry_run=False)))
        runs.pause_line("contacts")
        runs.resume_lines("contacts")
        runs.reset_line("contacts", "2026-05")
        begun = runs.begin("contacts", "worker", dry_run=False, run_id=run.id)
        assert (begun.id, begun.position, begun.since) == (waiting.id, {}, "2026-05")

    def test_a_cancelled_run_stops_when_it_saves_and_makes_room(self) -> None:
        runs = self.make()
        run = runs.begin("contacts", "tester", dry_run=False)
        runs.cancel(run.id)
        with pytest.raises(RunStopped) as caught:
            runs.save(run)
        assert caught.value.reason == "cancelled"
        runs.cancel(run.id)  # a second time changes nothing
        assert runs.get(run.id).state is RunState.CANCELLED
        assert runs.begin("contacts", "tester", dry_run=False).id != run.id

    def test_a_run_of_a_line_that_is_paused_stops_and_is_continued(self) -> None:
        runs = self.make()
        runs.request("contacts", "tester")
        run = runs.save(move(runs.begin("contacts", "tester", dry_run=False)))
        runs.pause_line("contacts")
        assert runs.paused_lines() == {"contacts"}
        with pytest.raises(RunStopped) as caught:
            runs.save(run)
        assert caught.value.reason == "line_paused"
        stored = runs.get(run.id)
        assert (stored.state, stored.cause) == (RunState.WAITING, "line_paused")
        with pytest.raises(LinePaused):
            runs.refuse_paused_line("contacts")
        runs.refuse_paused_line("orders")
        runs.resume_lines("contacts")
        assert runs.paused_lines() == set()
        again = runs.begin("contacts", "worker", dry_run=False)
        assert (again.id, again.position, again.cause) == (run.id, run.position, "")

    def test_a_page_is_kept_whole_or_not_at_all(self) -> None:
        runs = self.make()
        run = runs.begin("contacts", "tester", dry_run=False)
        left = [
            RejectedRecord(3, "c-3", "name", "missing"),
            RejectedRecord(1, "", "", "no_object"),
        ]
        with pytest.raises(KeyError), runs.transaction():  # noqa: PT012 - the last one fails
            runs.add_rejected(run, left)
            runs.save(move(run))
            raise KeyError
        assert runs.get(run.id) == run
        assert runs.rejected(run.id, 10) == []
        with runs.transaction():
            runs.add_rejected(run, left)
            saved = runs.save(move(run))
        assert runs.get(run.id) == saved
        assert runs.rejected(run.id, 10) == [left[1], left[0]]
        assert runs.rejected(run.id, 1) == [left[1]]

    def test_runs_are_listed_newest_first(self) -> None:
        runs = self.make()
        begun = []
        for line in ("contacts", "orders", "contacts"):
            run = runs.begin(line, "tester", dry_run=False)
            runs.finish(replace(run, state=RunState.DONE))
            begun.append(run.id)
        assert [run.id for run in runs.newest(10)] == begun[::-1]
        assert [run.id for run in runs.newest(10, "contacts")] == [begun[2], begun[0]]
        assert [run.id for run in runs.newest(1)] == begun[2:]

    def test_a_run_that_was_requested_waits_until_it_is_due(self) -> None:
        runs = self.make()
        requested = runs.request("contacts", "ada")
        assert (requested.state, requested.attempt, requested.actor) == (
            RunState.WAITING,
            1,
            "ada",
        )
        assert runs.due() == [requested] == runs.due(requested.id)
        orders = runs.request("orders", "ada")
        assert runs.due(orders.id) == [orders]
        begun = runs.begin("contacts", "worker", dry_run=False)
        assert (begun.id, begun.state, begun.attempt, begun.due_at) == (
            requested.id,
            RunState.RUNNING,
            1,
            None,
        )
        assert runs.due(requested.id) == []

    def test_who_asks_twice_gets_one_run(self) -> None:
        runs = self.make()
        requested = runs.request("contacts", "ada")
        assert runs.request("contacts", "bob") == requested

    def test_one_that_waits_for_another_attempt_is_due_now_only_for_who_wants_it_sooner(
        self,
    ) -> None:
        runs = self.make()
        waiting = runs.retry_later(self.fail_a_run(runs), 60, 2)
        assert runs.request("contacts", "schedule", run_now=False) == waiting
        assert runs.due() == []
        assert runs.request("contacts", "ada").id == waiting.id
        assert [run.id for run in runs.due()] == [waiting.id]

    def fail_a_run(self, runs: Runs, line: str = "contacts") -> Run:
        """Return a run that failed after its first page."""
        run = runs.save(move(runs.begin(line, "tester", dry_run=False)))
        runs.finish(replace(run, state=RunState.FAILED, cause="timeout"))
        return run

    def test_a_requested_dry_run_stays_one(self) -> None:
        runs = self.make()
        real, trial = (
            runs.request("contacts", "ada", dry_run=dry) for dry in (False, True)
        )
        assert (real.dry_run, trial.dry_run) == (False, True)
        begun = runs.begin("contacts", "ada", dry_run=True)
        assert (begun.id, begun.dry_run) == (trial.id, True)

    def test_while_a_line_runs_no_other_run_is_requested(self) -> None:
        runs = self.make()
        runs.begin("contacts", "tester", dry_run=False)
        with pytest.raises(LineBusy):
            runs.request("contacts", "ada")

    def test_what_failed_waits_with_its_place_and_its_cause(self) -> None:
        runs = self.make()
        run = self.fail_a_run(runs)
        waiting = runs.retry_later(run, 60, 2)
        assert (waiting.id, waiting.state, waiting.attempt) == (
            run.id,
            RunState.WAITING,
            2,
        )
        assert (waiting.cause, waiting.position) == ("timeout", run.position)
        self.pass_time(61)
        assert [one.id for one in runs.due()] == [run.id]
        resumed = runs.begin("contacts", "tester", dry_run=False, run_id=run.id)
        assert (resumed.id, resumed.position, resumed.cause) == (
            run.id,
            run.position,
            "",
        )
        assert resumed.ended_at is None

    def test_what_failed_at_once_waits_as_the_same_run_and_forgets_what_it_rejected(
        self,
    ) -> None:
        runs = self.make()
        run = runs.begin("contacts", "tester", dry_run=False)
        runs.add_rejected(run, [RejectedRecord(1, "k", "f", "missing")])
        runs.finish(replace(run, state=RunState.FAILED, cause="timeout"))
        assert runs.retry_later(run, 0, 2).id == run.id
        assert runs.begin("contacts", "tester", dry_run=False).id == run.id
        assert runs.rejected(run.id, 9) == []
        runs.finish(replace(runs.get(run.id), state=RunState.FAILED, cause="timeout"))
        assert runs.request("contacts", "tester").id != run.id, (
            "who asks anew gets a new one"
        )

    def test_only_what_failed_and_nobody_else_waits_for_can_retry_later(self) -> None:
        runs = self.make()
        run = runs.begin("contacts", "tester", dry_run=False)
        with pytest.raises(LineBusy):
            runs.retry_later(run, 0, 2)
        runs.finish(replace(run, state=RunState.FAILED))
        runs.request("contacts", "ada")
        with pytest.raises(LineBusy):
            runs.retry_later(run, 0, 2)

    def test_only_the_run_that_was_requested_is_begun(self) -> None:
        runs = self.make()
        requested = runs.request("contacts", "tester")
        runs.cancel(requested.id)
        with pytest.raises(RunStopped):
            runs.begin("contacts", "tester", dry_run=False, run_id=requested.id)
        assert [run.id for run in runs.newest(9)] == [requested.id]

    def test_a_trial_under_way_keeps_no_run_from_being_requested(self) -> None:
        runs = self.make()
        runs.begin("contacts", "tester", dry_run=True)
        assert runs.request("contacts", "schedule").state is RunState.WAITING
        with pytest.raises(LineBusy):
            runs.request("contacts", "ada", dry_run=True)

    def test_a_killed_run_that_was_requested_is_due_and_counts_its_attempts(
        self,
    ) -> None:
        runs = self.make()
        requested = runs.request("contacts", "tester")
        for attempt in (1, 2, 3):
            begun = runs.begin("contacts", "tester", dry_run=False)
            assert (begun.id, begun.attempt) == (requested.id, attempt)
            assert runs.due() == []
            self.pass_time(LEASE + 5)
            assert [run.id for run in runs.due()] == [requested.id]

    def test_a_run_that_nobody_requested_is_not_due_when_it_is_killed(self) -> None:
        runs = self.make()
        runs.begin("contacts", "tester", dry_run=False)
        self.pass_time(LEASE + 5)
        assert runs.due() == []

    @pytest.mark.parametrize("state", [RunState.FAILED, RunState.CANCELLED])
    def test_a_run_that_waits_can_be_ended(self, state: RunState) -> None:
        runs = self.make()
        requested = runs.request("contacts", "tester")
        if state is RunState.CANCELLED:
            runs.cancel(requested.id)
        else:
            runs.finish(replace(requested, state=state, cause="configuration"))
        assert (runs.get(requested.id).state, runs.due()) == (state, [])

    def test_the_longest_due_comes_first(self) -> None:
        runs = self.make()
        second = runs.retry_later(self.fail_a_run(runs), 20, 2)
        first = runs.retry_later(self.fail_a_run(runs, "orders"), 10, 2)
        self.pass_time(30)
        assert [run.id for run in runs.due()] == [first.id, second.id]

    def test_schedules_are_looked_at_without_a_gap(self) -> None:
        runs = self.make()
        since, now = runs.claim_schedules()
        assert since == pytest.approx(now, abs=0.01)
        self.pass_time(60)
        again, later = runs.claim_schedules()
        assert later - again == pytest.approx(60, abs=5)

    def test_schedules_are_followed_after_a_clock_was_ahead(self) -> None:
        runs = self.make()
        runs.claim_schedules()
        self.pass_time(-AHEAD)
        since, now = runs.claim_schedules()
        assert since == now
        self.pass_time(60)
        since, now = runs.claim_schedules()
        assert now - since == pytest.approx(60, abs=5)

    def test_runs_are_found_by_their_state(self) -> None:
        runs = self.make()
        runs.begin("contacts", "tester", dry_run=False)
        requested = runs.request("orders", "tester")
        assert runs.newest(10, state="waiting") == [requested]
        assert runs.newest(10, "contacts", "waiting") == []

    def test_an_unknown_run_is_an_error(self) -> None:
        runs = self.make()
        for unknown in ("", "999999", "9" * 40, "²", "no number"):
            for method in (runs.get, runs.cancel, lambda run: runs.rejected(run, 1)):
                with pytest.raises(ConfigError):
                    method(unknown)

    def test_of_many_who_begin_at_once_one_does(self) -> None:
        runs = self.make()
        begun_runs: list[Run] = []
        busy: list[LineBusy] = []
        started = threading.Barrier(8)

        def begin() -> None:
            started.wait(10)
            try:
                begun_runs.append(runs.begin("contacts", "tester", dry_run=False))
            except LineBusy as error:
                busy.append(error)
            self.leave_thread()

        threads = [threading.Thread(target=begin) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        assert (len(begun_runs), len(busy)) == (1, 7)

    def make_pair(self) -> Runs:
        """Return runs whose lines are a pair."""
        runs = self.make()
        runs.settings.put([], [Pair("both", pull="contacts", push="orders")])
        return runs

    def test_the_lines_of_a_pair_run_one_after_the_other(self) -> None:
        runs = self.make_pair()
        pull = runs.begin("contacts", "tester", dry_run=False)
        with pytest.raises(LineBusy, match="other line of the pair"):
            runs.begin("orders", "tester", dry_run=False)
        dry_run = runs.begin("orders", "tester", dry_run=True)
        runs.finish(replace(dry_run, state=RunState.DONE))
        runs.finish(replace(pull, state=RunState.DONE))
        push = runs.begin("orders", "tester", dry_run=False)
        with pytest.raises(LineBusy):
            runs.begin_retry(pull.id, "tester")
        runs.finish(replace(push, state=RunState.DONE))
        dry_run = runs.begin("orders", "tester", dry_run=True)
        assert runs.begin_retry(pull.id, "tester").retry_of == pull.id
        runs.finish(replace(dry_run, state=RunState.DONE))
        runs.settings.remove_pairs(["both"])
        assert runs.begin("orders", "tester", dry_run=False).line == "orders"

    def test_a_requested_run_waits_for_the_other_line_of_the_pair(self) -> None:
        runs = self.make_pair()
        pull = runs.begin("contacts", "tester", dry_run=False)
        push = runs.request("orders", "tester")
        dry_run = runs.request("orders", "tester", dry_run=True)
        assert [run.id for run in runs.startable()] == [dry_run.id]
        assert runs.get(push.id).state is RunState.WAITING
        runs.finish(replace(pull, state=RunState.DONE))
        assert {run.id for run in runs.startable()} == {push.id, dry_run.id}
        begun = runs.begin("orders", "worker", dry_run=False, run_id=push.id)
        assert begun.id == push.id

    def test_a_killed_run_of_a_pair_is_ended_before_the_other_line_begins(
        self,
    ) -> None:
        runs = self.make_pair()
        requested = runs.request("contacts", "tester")
        begun = runs.begin("contacts", "worker", dry_run=False, run_id=requested.id)
        ghost = runs.save(move(begun))
        self.pass_time(LEASE + 5)
        push = runs.begin("orders", "tester", dry_run=False)
        with pytest.raises(RunStopped):
            runs.save(ghost)
        waiting = runs.get(ghost.id)
        assert (waiting.state, waiting.attempt) == (RunState.WAITING, 2)
        assert waiting.position == ghost.position
        self.pass_time(LEASE + 5)
        resumed = runs.begin("contacts", "worker", dry_run=False, run_id=ghost.id)
        assert resumed.position == ghost.position
        # The push was not requested from a worker, so none continues it.
        assert runs.get(push.id).state is RunState.FAILED

    def test_of_both_lines_of_a_pair_that_begin_at_once_one_does(self) -> None:
        runs = self.make_pair()
        begun: list[Run] = []
        busy: list[LineBusy] = []
        started = threading.Barrier(THREADS)

        def begin(line: str) -> None:
            started.wait(10)
            try:
                begun.append(runs.begin(line, "tester", dry_run=False))
            except LineBusy as error:
                busy.append(error)
            self.leave_thread()

        threads = [
            threading.Thread(target=begin, args=[("contacts", "orders")[number % 2]])
            for number in range(THREADS)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        assert (len(begun), len(busy)) == (1, THREADS - 1)


def move(run: Run) -> Run:
    """Return a run that has come a page further."""
    return replace(
        run,
        position={"page": 7, "seen": ["a\x00"]},
        removed={"demo.order": 3},
        notes=(Text("the API returned status {status}", status=7), Text("unknown")),
        cursor="2027-01-31\x00",
        counts=Counts(1, 2, 3, 4, 5, changed_fields={"name": 2}),
        pages=7,
        expected=99,
        counted=98,
        worked=12.5,
    )
