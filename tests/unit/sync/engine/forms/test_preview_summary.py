"""A preview: the values before and after, and a summary of what would happen."""

from dataclasses import replace

from outkey.sync.core.line.line import FieldMapping
from outkey.sync.core.mapping.records import WriteOutcome
from outkey.sync.core.run.effects import Effect
from outkey.sync.engine.forms.preview_summary import preview_summary
from unit.sync.engine.pull.test_sync_run import PULL, Api, fake_sync, people, stored

REFUSED = WriteOutcome.REFUSED


def test_a_preview_has_the_stored_values_of_the_mapped_fields() -> None:
    made = fake_sync(responses=Api(people(1, 2, 3)))
    made.change(replace(PULL, pagination=replace(PULL.pagination, size=9)))
    stored(
        made,
        {"number": "1", "name": "Old name", "price": 5},
        {"number": "2", "name": "Name 2"},
    )
    updated, same, created = made.runner.preview("contacts")
    assert updated.outcome is WriteOutcome.UPDATED
    assert updated.before == {"number": "1", "name": "Old name"}
    assert updated.values == {"number": "1", "name": "Name 1"}
    assert same.outcome is WriteOutcome.UNCHANGED
    assert same.before == same.values == {"number": "2", "name": "Name 2"}
    assert (created.outcome, created.before) == (WriteOutcome.CREATED, {})


def test_a_rejected_record_has_no_stored_values() -> None:
    assert Effect(REFUSED, "1", {"name": "x"}).before == {}


def test_a_summary_counts_outcomes_and_groups_reasons() -> None:
    effects = [
        Effect(WriteOutcome.CREATED, "1"),
        Effect(REFUSED, "2", field="born", reason="no_date"),
        Effect(REFUSED, "", field="name", reason="missing"),
        Effect(WriteOutcome.CREATED, "4"),
        Effect(REFUSED, "5", field="born", reason="no_date"),
    ]
    summary = preview_summary(effects)
    assert summary.total == 5
    assert summary.counts == {WriteOutcome.CREATED: 2, REFUSED: 3}
    dates, names = summary.rejections
    assert (dates.field, dates.count, dates.keys) == ("born", 2, ("2", "5"))
    assert dates.reason == "the value is not a date"
    assert (names.field, names.keys) == ("name", ())


def test_the_summary_of_a_preview_is_that_of_its_first_records() -> None:
    made = fake_sync(responses=Api(people(1, 2, born="soon")))
    rows = (*PULL.mappings, FieldMapping("born", "born"))
    made.change(replace(PULL, mappings=rows))
    summary = preview_summary(made.runner.preview("contacts"))
    assert summary.counts == {REFUSED: 2}
    assert [group.field for group in summary.rejections] == ["born"]
