"""The contract suites of synchronization, used like those of `contracts`."""

import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal

import pytest

from outkey.core.errors import ConfigError, LineBusy, RunStopped
from outkey.core.sync.run import (
    Counts,
    FieldKind,
    HostField,
    Outcome,
    Quarantined,
    Run,
    RunState,
    Written,
)
from outkey.ports import Records, Runs

TARGET = "demo.contact"
# What the suite of records needs the target to have, besides fields that are not required.
FIELDS = (
    HostField("external_id", "external id", FieldKind.TEXT, required=True, longest=40),
    HostField("name", "name", FieldKind.TEXT, required=True, longest=80),
    HostField("credit", "credit", FieldKind.DECIMAL),
)
_KEYS = ("external_id",)
_CREATED, _UPDATED = Written(Outcome.CREATED), Written(Outcome.UPDATED)
_UNCHANGED = Written(Outcome.UNCHANGED)
_LEASE = 120.0  # a minute, and the total time-out that a configuration has by default


def contact(number: object, **values: object) -> dict[str, object]:
    """Return a row of the target."""
    return {"external_id": f"c-{number}", "name": f"Contact {number}", **values}


class RecordsContract(ABC):
    """What every host promises of its own records."""

    @abstractmethod
    def make(self) -> Records:
        """Return records with an empty target of these fields, which can be archived."""

    @abstractmethod
    def begun(self, line: str) -> str:
        """Return the id of a new run of the line `contacts` or `others`."""

    def test_its_targets_are_described(self) -> None:
        records = self.make()
        assert TARGET in [target.name for target in records.targets()]
        known = {field.name: field for field in records.describe(TARGET)}
        assert [known[field.name] for field in FIELDS] == list(FIELDS)
        assert all(not field.required for name, field in known.items() if name not in _NAMES)

    def test_what_is_not_open_is_refused(self) -> None:
        records, run = self.make(), self.begun("contacts")
        for refused in (
            lambda: records.describe("nobody.knows"),
            lambda: records.read("nobody.knows", "", 10),
            lambda: records.upsert("nobody.knows", _KEYS, [contact(1)], run),
            lambda: records.compare("nobody.knows", _KEYS, [contact(1)]),
            lambda: records.archive("nobody.knows", "contacts", run),
            lambda: records.find("nobody.knows", "name", ["x"]),
            lambda: records.find(TARGET, "nothing", ["x"]),
            lambda: records.upsert(TARGET, ("nothing",), [contact(1)], run),
            lambda: records.upsert(TARGET, _KEYS, [contact(1, nothing="x")], run),
        ):
            with pytest.raises(ConfigError):
                refused()
        assert records.read(TARGET, "", 10) == []

    def test_a_row_is_created_once_then_unchanged_and_updated_where_it_differs(self) -> None:
        records, run = self.make(), self.begun("contacts")
        rows = [contact(1), contact(2)]
        assert list(records.upsert(TARGET, _KEYS, rows, run)) == [_CREATED, _CREATED]
        assert list(records.upsert(TARGET, _KEYS, rows, run)) == [_UNCHANGED, _UNCHANGED]
        rows[1]["name"] = "Another"
        again = records.upsert(TARGET, _KEYS, [*rows, contact(3)], self.begun("contacts"))
        assert list(again) == [_UNCHANGED, _UPDATED, _CREATED]
        assert self._names(records) == ["Contact 1", "Another", "Contact 3"]

    def test_a_field_that_is_not_mapped_stays_as_it_is(self) -> None:
        records, run = self.make(), self.begun("contacts")
        records.upsert(TARGET, _KEYS, [contact(1, credit=Decimal("1.50"))], run)
        records.upsert(TARGET, _KEYS, [contact(1, name="Another")], run)
        (found,) = records.read(TARGET, "", 10)
        assert found.values["credit"] == Decimal("1.50")

    def test_a_row_that_is_refused_takes_no_other_with_it(self) -> None:
        records, run = self.make(), self.begun("contacts")
        for values, field in (
            ({"name": None}, "name"),
            ({"name": ""}, "name"),
            ({"name": "x" * 81}, "name"),
            ({"credit": "hunter2"}, "credit"),
            ({"external_id": ""}, "external_id"),
            ({"external_id": None}, "external_id"),
        ):
            rows = [contact(1), contact(2) | values, contact(3)]
            first, refused, last = records.upsert(TARGET, _KEYS, rows, run)
            assert Outcome.REFUSED not in (first.outcome, last.outcome)
            assert (refused.outcome, refused.field) == (Outcome.REFUSED, field)
            assert refused.reason
            assert "hunter2" not in refused.reason
        assert self._names(records) == ["Contact 1", "Contact 3"]

    def test_a_new_record_needs_all_that_is_required(self) -> None:
        records, run = self.make(), self.begun("contacts")
        (refused,) = records.upsert(TARGET, _KEYS, [{"external_id": "c-1"}], run)
        assert (refused.outcome, refused.field) == (Outcome.REFUSED, "name")
        records.upsert(TARGET, _KEYS, [contact(1)], run)
        assert list(records.upsert(TARGET, _KEYS, [{"external_id": "c-1"}], run)) == [_UNCHANGED]

    def test_of_two_rows_with_the_same_keys_the_later_one_stays(self) -> None:
        records, run = self.make(), self.begun("contacts")
        rows = [contact(1), contact(1, name="Later"), contact(1, name="Later")]
        written = records.upsert(TARGET, _KEYS, rows, run)
        assert list(written) == [_CREATED, _UPDATED, _UNCHANGED]
        assert self._names(records) == ["Later"]

    def test_a_comparison_tells_before_and_after_and_writes_nothing(self) -> None:
        records, run = self.make(), self.begun("contacts")
        records.upsert(TARGET, _KEYS, [contact(1), contact(2)], run)
        rows = [contact(1), contact(2, name="Another"), contact(3), contact(4, name=None)]
        compared = records.compare(TARGET, _KEYS, rows)
        outcomes = [written.outcome for written, _ in compared]
        assert outcomes == [Outcome.UNCHANGED, Outcome.UPDATED, Outcome.CREATED, Outcome.REFUSED]
        created: Mapping[str, object] = {"external_id": (None, "c-3"), "name": (None, "Contact 3")}
        changes = [dict(change) for _, change in compared]
        assert changes == [{}, {"name": ("Contact 2", "Another")}, created, {}]
        assert self._names(records) == ["Contact 1", "Contact 2"]

    def test_records_are_read_one_part_after_the_other(self) -> None:
        records, run = self.make(), self.begun("contacts")
        records.upsert(TARGET, _KEYS, [contact(n) for n in range(12)], run)
        seen, after = [], ""
        while part := records.read(TARGET, after, 5):
            assert len(part) <= 5
            seen += [record.values["external_id"] for record in part]
            after = part[-1].id
        assert sorted(map(str, seen)) == sorted(f"c-{n}" for n in range(12))

    def test_records_are_found_by_the_value_of_a_field_unless_two_have_it(self) -> None:
        records, run = self.make(), self.begun("contacts")
        rows = [contact(1), contact(2), contact(3, name="Contact 2")]
        records.upsert(TARGET, _KEYS, rows, run)
        ids = {record.values["external_id"]: record.id for record in records.read(TARGET, "", 9)}
        found = records.find(TARGET, "external_id", ["c-1", "c-3", "c-9", "", "x" * 99])
        assert {value: str(record) for value, record in found.items()} == {
            "c-1": ids["c-1"],
            "c-3": ids["c-3"],
        }
        by_name = records.find(TARGET, "name", ["Contact 1", "Contact 2"])
        assert {name: str(record) for name, record in by_name.items()} == {"Contact 1": ids["c-1"]}

    def test_what_a_line_brought_and_does_not_see_any_more_is_archived_once(self) -> None:
        records = self.make()
        records.upsert(TARGET, _KEYS, [contact(1), contact(2)], self.begun("contacts"))
        records.upsert(TARGET, _KEYS, [contact(3)], self.begun("others"))
        run = self.begun("contacts")
        records.upsert(TARGET, _KEYS, [contact(2)], run)
        assert records.archive(TARGET, "contacts", run) == 1
        assert records.archive(TARGET, "contacts", run) == 0

    def _names(self, records: Records) -> list[object]:
        found = records.read(TARGET, "", 100)
        return [r.values["name"] for r in sorted(found, key=lambda r: str(r.values["external_id"]))]


_NAMES = {field.name for field in FIELDS}


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
        assert (begun.line, begun.actor, begun.state) == ("contacts", "tester", RunState.RUNNING)
        assert (begun.position, begun.cursor, begun.since, begun.counts) == ({}, "", "", Counts())
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

    def test_a_run_that_was_killed_goes_on_where_it_was_and_its_ghost_is_stopped(self) -> None:
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
    def test_a_trial_and_a_run_do_not_go_on_with_each_other(self, *, dry_run: bool) -> None:
        runs = self.make()
        killed = runs.save(_moved(runs.begin("contacts", "tester", dry_run=dry_run)))
        self.pass_time(_LEASE + 5)
        fresh = runs.begin("contacts", "tester", dry_run=not dry_run)
        assert fresh.id != killed.id
        assert (fresh.position, fresh.counts, fresh.dry_run) == ({}, Counts(), not dry_run)
        assert runs.get(killed.id).state is RunState.FAILED

    @pytest.mark.parametrize("state", [RunState.DONE, RunState.FAILED])
    def test_what_ended_without_a_position_is_not_gone_on_with(self, state: RunState) -> None:
        runs = self.make()
        run = runs.save(_moved(runs.begin("contacts", "tester", dry_run=False)))
        ended = replace(run, state=state, position={}, ended_at=run.started_at + 1, cause="timeout")
        runs.finish(ended)
        assert replace(runs.get(run.id), generation=run.generation) == ended
        fresh = runs.begin("contacts", "tester", dry_run=False)
        assert fresh.id != run.id
        assert fresh.counts == Counts()

    def test_what_failed_at_a_position_is_gone_on_with(self) -> None:
        runs = self.make()
        run = runs.save(_moved(runs.begin("contacts", "tester", dry_run=False)))
        runs.finish(replace(run, state=RunState.FAILED, ended_at=run.started_at, cause="timeout"))
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
        runs.finish(replace(run, state=RunState.CANCELLED))
        runs.cancel(run.id)  # a second time changes nothing
        assert runs.get(run.id).state is RunState.CANCELLED
        assert runs.begin("contacts", "tester", dry_run=False).id != run.id

    def test_a_page_is_kept_whole_or_not_at_all(self) -> None:
        runs = self.make()
        run = runs.begin("contacts", "tester", dry_run=False)
        left = [Quarantined(3, "c-3", "name", "missing"), Quarantined(1, "", "", "no_object")]
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
        asked = runs.request("contacts", "ada", wait=30)
        assert (asked.state, asked.attempt, asked.actor) == (RunState.WAITING, 1, "ada")
        assert asked.due_at is not None
        assert runs.due() == []
        self.pass_time(31)
        assert [run.id for run in runs.due()] == [asked.id]
        begun = runs.begin("contacts", "worker", dry_run=False)
        assert (begun.id, begun.state, begun.attempt, begun.due_at) == (
            asked.id,
            RunState.RUNNING,
            1,
            None,
        )
        assert runs.due() == []

    def test_who_asks_twice_gets_one_run_at_the_earlier_moment(self) -> None:
        runs = self.make()
        late = runs.request("contacts", "ada", wait=60)
        early = runs.request("contacts", "bob", wait=30)
        assert early.id == late.id
        self.pass_time(31)
        assert [run.id for run in runs.due()] == [late.id]
        due_at = runs.get(late.id).due_at
        assert runs.request("contacts", "ada", wait=60).due_at == due_at

    def test_a_trial_that_was_asked_for_stays_one(self) -> None:
        runs = self.make()
        real, trial = (runs.request("contacts", "ada", dry_run=dry) for dry in (False, True))
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
        run = runs.save(_moved(runs.begin("contacts", "tester", dry_run=False)))
        runs.finish(replace(run, state=RunState.FAILED, cause="timeout"))
        asked = runs.request("contacts", "tester", wait=60, attempt=2)
        assert (asked.id, asked.state, asked.attempt) == (run.id, RunState.WAITING, 2)
        assert (asked.cause, asked.position) == ("timeout", run.position)
        resumed = runs.begin("contacts", "tester", dry_run=False)
        assert (resumed.id, resumed.position, resumed.cause) == (run.id, run.position, "")
        assert resumed.ended_at is None

    def test_what_failed_at_once_is_asked_for_again_as_the_same_run(self) -> None:
        runs = self.make()
        run = runs.begin("contacts", "tester", dry_run=False)
        runs.finish(replace(run, state=RunState.FAILED, cause="timeout"))
        assert runs.request("contacts", "tester", attempt=2).id == run.id
        assert runs.begin("contacts", "tester", dry_run=False).id == run.id
        runs.finish(replace(runs.get(run.id), state=RunState.FAILED, cause="timeout"))
        assert runs.request("contacts", "tester").id != run.id, "who asks anew gets a new one"

    def test_a_killed_run_that_was_asked_for_is_due_and_counts_its_attempts(self) -> None:
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
        second, first = runs.request("contacts", "t", wait=20), runs.request("orders", "t", wait=10)
        self.pass_time(30)
        assert [run.id for run in runs.due()] == [first.id, second.id]

    def test_schedules_are_looked_at_without_a_gap(self) -> None:
        runs = self.make()
        since, now = runs.planned()
        assert since == pytest.approx(now, abs=0.01)
        self.pass_time(60)
        again, later = runs.planned()
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
    )
