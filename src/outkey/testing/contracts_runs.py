"""The contract suite of the runs of sync lines, used like those of `contracts`."""

import threading
from abc import ABC, abstractmethod
from dataclasses import replace

import pytest

from outkey.core.errors import ConfigError, LineBusy, RunStopped
from outkey.core.sync.run import Counts, Quarantined, Run, RunState
from outkey.ports.sync import Runs

_LEASE = 120.0  # a minute, and the total time-out that a configuration has by default


class RunsContract(ABC):
    """What every place that keeps runs promises."""

    @abstractmethod
    def make(self) -> Runs:
        """Return runs, none yet; there are the sync lines `contacts` and `orders`."""

    @abstractmethod
    def pass_time(self, seconds: float) -> None:
        """Let time pass by the clock that the runs go by."""

    def finished(self) -> None:
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
        saved = runs.save(_moved(runs.begin("contacts", "tester", dry_run=False)))
        assert runs.get(saved.id) == saved
        again = runs.save(replace(saved, pages=2))
        assert runs.get(again.id) == again

    def test_a_run_that_was_killed_goes_on_where_it_was_and_its_ghost_is_stopped(
        self,
    ) -> None:
        runs = self.make()
        ghost = runs.save(_moved(runs.begin("contacts", "tester", dry_run=False)))
        self.pass_time(_LEASE - 5)
        with pytest.raises(LineBusy):
            runs.begin("contacts", "tester", dry_run=False)
        self.pass_time(10)
        resumed = runs.begin("contacts", "tester", dry_run=False)
        assert replace(resumed, generation=ghost.generation) == ghost
        for late in (runs.save, runs.finish):
            with pytest.raises(RunStopped) as caught:
                late(ghost)
            assert caught.value.reason == "taken_over"
        assert runs.save(replace(resumed, pages=8)).pages == 8

    def test_a_run_lives_as_long_as_it_is_saved(self) -> None:
        runs = self.make()
        run = runs.begin("contacts", "tester", dry_run=False)
        for _ in range(3):
            self.pass_time(_LEASE - 5)
            run = runs.save(run)
        with pytest.raises(LineBusy):
            runs.begin("contacts", "tester", dry_run=False)

    @pytest.mark.parametrize("dry_run", [True, False])
    def test_a_trial_and_a_run_do_not_go_on_with_each_other(
        self, *, dry_run: bool
    ) -> None:
        runs = self.make()
        killed = runs.save(_moved(runs.begin("contacts", "tester", dry_run=dry_run)))
        self.pass_time(_LEASE + 5)
        fresh = runs.begin("contacts", "tester", dry_run=not dry_run)
        assert fresh.id != killed.id
        assert (fresh.position, fresh.counts, fresh.dry_run) == (
            {},
            Counts(),
            not dry_run,
        )
        assert runs.get(killed.id).state is RunState.FAILED

    @pytest.mark.parametrize("state", [RunState.DONE, RunState.FAILED])
    def test_what_ended_without_a_position_is_not_gone_on_with(
        self, state: RunState
    ) -> None:
        runs = self.make()
        run = runs.save(_moved(runs.begin("contacts", "tester", dry_run=False)))
        ended = replace(
            run, state=state, position={}, ended_at=run.started_at + 1, cause="timeout"
        )
        runs.finish(ended)
        assert replace(runs.get(run.id), generation=run.generation) == ended
        fresh = runs.begin("contacts", "tester", dry_run=False)
        assert fresh.id != run.id
        assert fresh.counts == Counts()

    def test_what_failed_at_a_position_is_gone_on_with(self) -> None:
        runs = self.make()
        run = runs.save(_moved(runs.begin("contacts", "tester", dry_run=False)))
        runs.finish(
            replace(
                run, state=RunState.FAILED, ended_at=run.started_at, cause="timeout"
            )
        )
        resumed = runs.begin("contacts", "tester", dry_run=False)
        assert replace(resumed, generation=run.generation) == run
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

    def test_a_page_is_kept_whole_or_not_at_all(self) -> None:
        runs = self.make()
        run = runs.begin("contacts", "tester", dry_run=False)
        left = [
            Quarantined(3, "c-3", "name", "missing"),
            Quarantined(1, "", "", "no_object"),
        ]
        with pytest.raises(KeyError), runs.page():  # noqa: PT012 - the last one fails
            runs.quarantine(run, left)
            runs.save(_moved(run))
            raise KeyError
        assert runs.get(run.id) == run
        assert runs.left_out(run.id, 10) == []
        with runs.page():
            runs.quarantine(run, left)
            saved = runs.save(_moved(run))
        assert runs.get(run.id) == saved
        assert runs.left_out(run.id, 10) == [left[1], left[0]]
        assert runs.left_out(run.id, 1) == [left[1]]

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

    def test_a_run_that_was_asked_for_waits_until_it_is_due(self) -> None:
        runs = self.make()
        asked = runs.request("contacts", "ada")
        assert (asked.state, asked.attempt, asked.actor) == (RunState.WAITING, 1, "ada")
        assert runs.due() == [asked] == runs.due(asked.id)
        orders = runs.request("orders", "ada")
        assert runs.due(orders.id) == [orders]
        begun = runs.begin("contacts", "worker", dry_run=False)
        assert (begun.id, begun.state, begun.attempt, begun.due_at) == (
            asked.id,
            RunState.RUNNING,
            1,
            None,
        )
        assert runs.due(asked.id) == []

    def test_who_asks_twice_gets_one_run(self) -> None:
        runs = self.make()
        asked = runs.request("contacts", "ada")
        assert runs.request("contacts", "bob") == asked

    def test_one_that_waits_for_another_attempt_is_due_now_only_for_who_wants_it_sooner(
        self,
    ) -> None:
        runs = self.make()
        waiting = runs.wait_again(self._failed(runs), 60, 2)
        assert runs.request("contacts", "schedule", sooner=False) == waiting
        assert runs.due() == []
        assert runs.request("contacts", "ada").id == waiting.id
        assert [run.id for run in runs.due()] == [waiting.id]

    def _failed(self, runs: Runs, line: str = "contacts") -> Run:
        run = runs.save(_moved(runs.begin(line, "tester", dry_run=False)))
        runs.finish(replace(run, state=RunState.FAILED, cause="timeout"))
        return run

    def test_a_trial_that_was_asked_for_stays_one(self) -> None:
        runs = self.make()
        real, trial = (
            runs.request("contacts", "ada", dry_run=dry) for dry in (False, True)
        )
        assert (real.dry_run, trial.dry_run) == (False, True)
        begun = runs.begin("contacts", "ada", dry_run=True)
        assert (begun.id, begun.dry_run) == (trial.id, True)

    def test_while_a_line_runs_no_other_run_is_asked_for(self) -> None:
        runs = self.make()
        runs.begin("contacts", "tester", dry_run=False)
        with pytest.raises(LineBusy):
            runs.request("contacts", "ada")

    def test_what_failed_waits_with_its_place_and_its_cause(self) -> None:
        runs = self.make()
        run = self._failed(runs)
        waiting = runs.wait_again(run, 60, 2)
        assert (waiting.id, waiting.state, waiting.attempt) == (
            run.id,
            RunState.WAITING,
            2,
        )
        assert (waiting.cause, waiting.position) == ("timeout", run.position)
        self.pass_time(61)
        assert [one.id for one in runs.due()] == [run.id]
        resumed = runs.begin("contacts", "tester", dry_run=False, asked=run.id)
        assert (resumed.id, resumed.position, resumed.cause) == (
            run.id,
            run.position,
            "",
        )
        assert resumed.ended_at is None

    def test_what_failed_at_once_waits_as_the_same_run_and_forgets_what_it_left_out(
        self,
    ) -> None:
        runs = self.make()
        run = runs.begin("contacts", "tester", dry_run=False)
        runs.quarantine(run, [Quarantined(1, "k", "f", "missing")])
        runs.finish(replace(run, state=RunState.FAILED, cause="timeout"))
        assert runs.wait_again(run, 0, 2).id == run.id
        assert runs.begin("contacts", "tester", dry_run=False).id == run.id
        assert runs.left_out(run.id, 9) == []
        runs.finish(replace(runs.get(run.id), state=RunState.FAILED, cause="timeout"))
        assert runs.request("contacts", "tester").id != run.id, (
            "who asks anew gets a new one"
        )

    def test_only_what_failed_and_nobody_else_waits_for_can_wait_again(self) -> None:
        runs = self.make()
        run = runs.begin("contacts", "tester", dry_run=False)
        with pytest.raises(LineBusy):
            runs.wait_again(run, 0, 2)
        runs.finish(replace(run, state=RunState.FAILED))
        runs.request("contacts", "ada")
        with pytest.raises(LineBusy):
            runs.wait_again(run, 0, 2)

    def test_only_the_run_that_was_asked_for_is_begun(self) -> None:
        runs = self.make()
        asked = runs.request("contacts", "tester")
        runs.cancel(asked.id)
        with pytest.raises(RunStopped):
            runs.begin("contacts", "tester", dry_run=False, asked=asked.id)
        assert [run.id for run in runs.newest(9)] == [asked.id]

    def test_a_trial_under_way_keeps_no_run_from_being_asked_for(self) -> None:
        runs = self.make()
        runs.begin("contacts", "tester", dry_run=True)
        assert runs.request("contacts", "schedule").state is RunState.WAITING
        with pytest.raises(LineBusy):
            runs.request("contacts", "ada", dry_run=True)

    def test_a_killed_run_that_was_asked_for_is_due_and_counts_its_attempts(
        self,
    ) -> None:
        runs = self.make()
        asked = runs.request("contacts", "tester")
        for attempt in (1, 2, 3):
            begun = runs.begin("contacts", "tester", dry_run=False)
            assert (begun.id, begun.attempt) == (asked.id, attempt)
            assert runs.due() == []
            self.pass_time(_LEASE + 5)
            assert [run.id for run in runs.due()] == [asked.id]

    def test_a_run_that_nobody_asked_for_is_not_due_when_it_is_killed(self) -> None:
        runs = self.make()
        runs.begin("contacts", "tester", dry_run=False)
        self.pass_time(_LEASE + 5)
        assert runs.due() == []

    @pytest.mark.parametrize("state", [RunState.FAILED, RunState.CANCELLED])
    def test_a_run_that_waits_can_be_ended(self, state: RunState) -> None:
        runs = self.make()
        asked = runs.request("contacts", "tester")
        if state is RunState.CANCELLED:
            runs.cancel(asked.id)
        else:
            runs.finish(replace(asked, state=state, cause="configuration"))
        assert (runs.get(asked.id).state, runs.due()) == (state, [])

    def test_the_longest_due_comes_first(self) -> None:
        runs = self.make()
        second = runs.wait_again(self._failed(runs), 20, 2)
        first = runs.wait_again(self._failed(runs, "orders"), 10, 2)
        self.pass_time(30)
        assert [run.id for run in runs.due()] == [first.id, second.id]

    def test_schedules_are_looked_at_without_a_gap(self) -> None:
        runs = self.make()
        since, now = runs.take_schedules()
        assert since == pytest.approx(now, abs=0.01)
        self.pass_time(60)
        again, later = runs.take_schedules()
        assert later - again == pytest.approx(60, abs=5)

    def test_runs_are_found_by_their_state(self) -> None:
        runs = self.make()
        runs.begin("contacts", "tester", dry_run=False)
        asked = runs.request("orders", "tester")
        assert runs.newest(10, state="waiting") == [asked]
        assert runs.newest(10, "contacts", "waiting") == []

    def test_an_unknown_run_is_an_error(self) -> None:
        runs = self.make()
        for unknown in ("", "999999", "9" * 40, "²", "no number"):
            for asked in (runs.get, runs.cancel, lambda run: runs.left_out(run, 1)):
                with pytest.raises(ConfigError):
                    asked(unknown)

    def test_of_many_who_begin_at_once_one_does(self) -> None:
        runs = self.make()
        won: list[Run] = []
        busy: list[LineBusy] = []
        started = threading.Barrier(8)

        def begin() -> None:
            started.wait(10)
            try:
                won.append(runs.begin("contacts", "tester", dry_run=False))
            except LineBusy as error:
                busy.append(error)
            self.finished()

        threads = [threading.Thread(target=begin) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        assert (len(won), len(busy)) == (1, 7)


def _moved(run: Run) -> Run:
    """Return a run that has come a page further."""
    return replace(
        run,
        position={"page": 7, "seen": ["a\x00"]},
        cursor="2027-01-31\x00",
        counts=Counts(1, 2, 3, 4, 5),
        pages=7,
        worked=12.5,
    )
