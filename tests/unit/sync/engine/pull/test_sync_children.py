"""Children: the lists inside records become records of another target."""

from dataclasses import replace
from typing import Any

import pytest

from outkey.foundation.core.errors import ConfigError, SyncFailed
from outkey.foundation.core.text import Text
from outkey.sync.core.line.line import (
    INDEX,
    Children,
    FieldMapping,
    Gone,
    Sync,
    Transform,
    Writes,
)
from outkey.sync.core.run.effects import Effect
from outkey.sync.core.run.run import ChildCounts, Counts, RejectedRecord, RunState
from outkey.sync.engine.pull import children
from unit.sync.engine.pull.test_sync_run import (
    PULL,
    SINCE,
    Api,
    FakeSync,
    asked_since,
    fake_sync,
)

ITEMS = Children(
    list="lines",
    target="item",
    parent=("contact",),
    keys=("contact", "position"),
    mappings=(FieldMapping(INDEX, "position"), FieldMapping("sku", "sku")),
)
NOTES = Children(
    list="notes",
    target="note",
    parent=("contact",),
    keys=("contact", "text"),
    mappings=(FieldMapping("@", "text"),),
)
LINES = replace(PULL, children=(ITEMS,))


def order(number: int, *skus: object, **values: object) -> dict[str, Any]:
    lines = [{"sku": sku} for sku in skus]
    return {"id": number, "name": f"Name {number}", "lines": lines} | values


def items(made: FakeSync) -> list[tuple[object, ...]]:
    return sorted(
        (row["contact"], row["position"], row["sku"])
        for row in made.records.rows("item")
    )


# ── what is written ───────────────────────────────────────────────────────────────────


def test_the_elements_of_a_list_become_records_with_the_key_of_their_parent() -> None:
    api = Api([order(1, "a", "b"), order(2), order(3, "c")])
    made = fake_sync(LINES, api)
    run = made.run()
    assert run.counts == Counts(created=3, children=ChildCounts(created=3))
    assert items(made) == [("1", 1, "a"), ("1", 2, "b"), ("3", 1, "c")]
    again = made.run()
    assert again.counts == Counts(unchanged=3, children=ChildCounts(unchanged=3))


def test_changed_new_and_missing_elements_are_counted_apart() -> None:
    api = Api([order(1, "a", "b", "c"), order(2, "x", "y")])
    made = fake_sync(LINES, api)
    made.run()
    api.records = [order(1, "a", "B"), order(2, "x", "y", "z")]
    run = made.run()
    counts = ChildCounts(created=1, updated=1, unchanged=3, deleted=1)
    assert run.counts == Counts(unchanged=2, children=counts)
    assert items(made) == [
        ("1", 1, "a"),
        ("1", 2, "B"),
        ("2", 1, "x"),
        ("2", 2, "y"),
        ("2", 3, "z"),
    ]


@pytest.mark.parametrize("record", [order(1, lines=None), {"id": 1, "name": "Name 1"}])
def test_a_missing_list_says_nothing_about_the_children(
    record: dict[str, object],
) -> None:
    api = Api([order(1, "a"), order(2, "b")])
    made = fake_sync(LINES, api)
    made.run()
    api.records = [record, order(2, "b")]
    notes: list[Text] = []
    run = made.run(note_change=notes.append)
    assert run.counts.children == ChildCounts(unchanged=1, without_list=1)
    assert items(made) == [("1", 1, "a"), ("2", 1, "b")]
    assert notes == []


def test_an_empty_list_deletes_the_children() -> None:
    api = Api([order(1, "a"), order(2, "b")])
    made = fake_sync(LINES, api)
    made.run()
    api.records = [order(1), order(2, "b")]
    assert made.run().counts.children == ChildCounts(unchanged=1, deleted=1)
    assert items(made) == [("2", 1, "b")]


def test_a_list_that_no_record_has_is_noted_and_deletes_nothing() -> None:
    api = Api([order(1, "a"), order(2, "b")])
    made = fake_sync(LINES, api)
    made.run()
    api.records = [
        {"id": number, "name": f"Name {number}", "items": []} for number in (1, 2)
    ]
    notes: list[Text] = []
    run = made.run(note_change=notes.append)
    assert run.state is RunState.DONE
    assert run.counts.children == ChildCounts(without_list=2)
    assert items(made) == [("1", 1, "a"), ("2", 1, "b")]
    assert [str(note) for note in notes] == [
        "children lines: no record has a list there, so all children stay as they are"
    ]


# ── the guard ─────────────────────────────────────────────────────────────────────────


def many_orders(count: int, *skus: str) -> list[dict[str, Any]]:
    return [order(number, *skus) for number in range(1, count + 1)]


def test_a_run_stops_before_it_deletes_too_many_children() -> None:
    api = Api(many_orders(10, "a", "b"))
    made = fake_sync(LINES, api)
    made.run()
    api.records = many_orders(10)
    with pytest.raises(SyncFailed) as caught:
        made.run()
    assert caught.value.reason == "guard"
    assert str(caught.value).startswith(
        "at least 4 of 20 children in item are missing from the lists of their"
        " parents, and the line removes at most 2 in one run"
    )
    assert len(items(made)) == 20
    assert made.run(allows_removal=True).counts.children == ChildCounts(deleted=20)
    assert items(made) == []


def test_as_many_children_as_the_guard_permits_are_deleted() -> None:
    api = Api(many_orders(10, "a", "b"))
    made = fake_sync(LINES, api)
    made.run()
    api.records = [order(1), *many_orders(10, "a", "b")[1:]]
    counts = ChildCounts(unchanged=18, deleted=2)
    assert made.run().counts.children == counts


def test_each_target_of_children_has_a_guard_of_its_own() -> None:
    both = replace(PULL, children=(ITEMS, NOTES))
    full = [order(number, "a", "b", notes=["x"]) for number in range(1, 11)]
    api = Api(full)
    made = fake_sync(both, api)
    made.run()
    api.records = [order(1, notes=[]), *full[1:]]
    assert made.run().counts.children == ChildCounts(unchanged=27, deleted=3)
    api.records = [order(1, notes=[]), order(2, "a", "b", notes=[]), *full[2:]]
    assert made.run().counts.children.deleted == 1


def test_runs_that_the_guard_stopped_do_not_delete_more_and_more() -> None:
    """Pages before the one that was too much were deleted in the earlier run."""
    api = Api(many_orders(20, "a"))
    made = fake_sync(LINES, api)
    made.run()
    api.records = many_orders(20)
    for _ in range(3):
        with pytest.raises(SyncFailed, match="at least 4 of 20"):
            made.run()
    assert len(items(made)) == 18
    api.records = [*many_orders(2), *many_orders(20, "a")[2:]]
    assert made.run().state is RunState.DONE
    api.records = [*many_orders(3), *many_orders(20, "a")[3:]]
    assert made.run().counts.children == ChildCounts(unchanged=17, deleted=1)


def test_a_record_that_is_not_on_any_page_keeps_its_children() -> None:
    api = Api([order(1, "a"), order(2, "b")])
    made = fake_sync(LINES, api)
    made.run()
    api.records = [order(2)]
    made.run()
    assert items(made) == [("1", 1, "a")]


def test_elements_may_be_values_and_refer_to_their_parent_by_a_link() -> None:
    api = Api([order(7, notes=["x", "y"]), order(8, notes=["x"])])
    made = fake_sync(replace(PULL, children=(NOTES, ITEMS)), api)
    made.run()
    assert made.records.rows("note") == [
        {"contact": 1, "text": "x"},
        {"contact": 1, "text": "y"},
        {"contact": 2, "text": "x"},
    ]
    api.records = [order(7, "a", notes=["y"]), order(8, notes=["x"])]
    counts = ChildCounts(created=1, unchanged=2, deleted=1)
    assert made.run().counts == Counts(unchanged=2, children=counts)


def test_children_hold_all_keys_of_their_parent() -> None:
    both = replace(
        ITEMS,
        parent=("contact", "sku"),
        keys=("contact", "sku", "position"),
        mappings=ITEMS.mappings[:1],
    )
    api = Api([order(1, "a", "b"), order(2, "c")])
    sync = replace(PULL, keys=("number", "name"), children=(both,))
    made = fake_sync(sync, api)
    made.run()
    assert items(made) == [("1", 1, "Name 1"), ("1", 2, "Name 1"), ("2", 1, "Name 2")]
    api.records = [order(1, "a"), order(2, "c")]
    assert made.run().counts.children == ChildCounts(unchanged=2, deleted=1)


def test_children_look_values_up_and_have_templates_and_constants() -> None:
    mappings = (
        FieldMapping(INDEX, "position"),
        FieldMapping(
            "by",
            "owner",
            Transform.LOOKUP,
            options={"target": "person", "field": "login"},
        ),
        FieldMapping("", "sku", Transform.TEMPLATE, options={"template": "{a}-{b}"}),
    )
    api = Api([order(1, lines=[{"by": "ada", "a": 1, "b": 2}, {"by": "eve"}])])
    made = fake_sync(replace(PULL, children=(replace(ITEMS, mappings=mappings),)), api)
    made.records.table("person")["7"] = {"login": "ada"}
    run = made.run()
    assert run.counts == Counts(created=1, children=ChildCounts(created=1, failed=1))
    assert made.records.rows("item") == [
        {"contact": "1", "position": 1, "owner": 7, "sku": "1-2"}
    ]


def test_a_script_can_make_the_list() -> None:
    api = Api([order(1, "a")])
    made = fake_sync(replace(LINES, script="def transform(record):\n    ...\n"), api)
    made.world.scripts.change = lambda record: record | {"lines": [{"sku": "made"}]}
    made.run()
    assert items(made) == [("1", 1, "made")]


def test_the_same_element_twice_is_one_and_two_different_ones_are_refused() -> None:
    by_sku = replace(ITEMS, keys=("contact", "sku"))
    by_sku = replace(
        by_sku, mappings=(*ITEMS.mappings[1:], FieldMapping("n", "position"))
    )
    lines = [
        {"sku": "a", "n": 1},
        {"sku": "a", "n": 1},
        {"sku": "b", "n": 1},
        {"sku": "b", "n": 2},
    ]
    made = fake_sync(replace(PULL, children=(by_sku,)), Api([order(1, lines=lines)]))
    run = made.run()
    counts = ChildCounts(created=2, unchanged=1, failed=1)
    assert run.counts == Counts(created=1, children=counts)
    assert items(made) == [("1", 1, "a"), ("1", 1, "b")]


def test_a_record_with_many_children_is_not_too_big() -> None:
    record = order(1, *("x" for _ in range(6000)))
    made = fake_sync(LINES, Api([record]))
    assert made.runner.preview("contacts")[0].reason == ""
    plain = fake_sync(PULL, Api([record]))
    assert plain.runner.preview("contacts")[0].reason == "too_many_fields"


# ── what is rejected ──────────────────────────────────────────────────────────────────


def test_a_rejected_child_rejects_neither_its_parent_nor_its_siblings() -> None:
    api = Api([order(0), order(1, "a", "b", "c")])
    made = fake_sync(LINES, api)
    made.run()
    api.records = [order(0), order(1, "A", "much too long", ["x"])]
    run = made.run()
    counts = ChildCounts(updated=1, failed=2)
    assert (run.state, run.counts) == (
        RunState.DONE,
        Counts(unchanged=2, children=counts),
    )
    assert items(made) == [("1", 1, "A"), ("1", 2, "b"), ("1", 3, "c")]
    assert made.runs.rejected(run.id, 9) == [
        RejectedRecord(2, "1", "lines[].sku", "too_long", "text", "much too long"),
        RejectedRecord(2, "1", "lines[].sku", "no_text", "list", '["x"]'),
    ]


def test_a_child_without_a_key_leaves_in_doubt_which_one_is_missing() -> None:
    by_sku = replace(
        ITEMS,
        keys=("contact", "sku"),
        mappings=(FieldMapping("sku", "sku"), FieldMapping(INDEX, "position")),
    )
    api = Api([order(1, "a", "b"), order(2, "c", "d")])
    made = fake_sync(replace(PULL, children=(by_sku,)), api)
    made.run()
    api.records = [order(1, "a", ["?"]), order(2, "c")]
    run = made.run()
    assert run.counts.children == ChildCounts(unchanged=2, failed=1, deleted=1)
    assert [(row[0], row[2]) for row in items(made)] == [
        ("1", "a"),
        ("1", "b"),
        ("2", "c"),
    ]


@pytest.mark.parametrize(
    ("value", "kind", "excerpt"),
    [("a, b", "text", "a, b"), ({"sku": "a"}, "object", '{"sku": "a"}')],
)
def test_what_is_not_a_list_is_rejected_and_the_children_stay(
    value: object, kind: str, excerpt: str
) -> None:
    api = Api([order(1, "a")])
    made = fake_sync(LINES, api)
    made.run()
    api.records = [order(1, lines=value, name="renamed")]
    run = made.run()
    assert run.counts == Counts(updated=1, children=ChildCounts(failed=1))
    assert items(made) == [("1", 1, "a")]
    assert made.runs.rejected(run.id, 9) == [
        RejectedRecord(1, "1", "lines", "not_a_list", kind, excerpt)
    ]


def test_an_element_that_is_too_big_is_rejected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(children, "MAX_FIELDS_WITH_CHILDREN", 3)
    lines = [{"sku": "a"}, {"sku": "b", "more": [1, 2, 3]}]
    made = fake_sync(LINES, Api([order(1, lines=lines)]))
    run = made.run()
    assert run.counts.children == ChildCounts(created=1, failed=1)
    assert made.runs.rejected(run.id, 9) == [
        RejectedRecord(1, "1", "", "too_many_fields")
    ]
    assert items(made) == [("1", 1, "a")]


def test_a_list_that_is_too_long_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(children, "MAX_CHILDREN", 2)
    made = fake_sync(LINES, Api([order(1, "a", "b", "c"), order(2, "d", "e")]))
    run = made.run()
    assert run.counts == Counts(created=2, children=ChildCounts(created=2, failed=1))
    (rejected,) = made.runs.rejected(run.id, 9)
    assert (rejected.reason, rejected.excerpt) == ("too_many_children", "")


def test_an_expression_that_does_not_fit_rejects_the_children_only() -> None:
    lines = replace(ITEMS, list="sort_by(lines, &sku)")
    api = Api([order(1, lines=[{"sku": 1}, {"sku": "x"}]), order(2, "a")])
    made = fake_sync(replace(PULL, children=(lines,)), api)
    run = made.run()
    assert run.counts == Counts(created=2, children=ChildCounts(created=1, failed=1))


def test_the_children_of_a_rejected_record_stay_as_they_are() -> None:
    api = Api([order(1, "a"), order(2, "b")])
    made = fake_sync(LINES, api)
    made.run()
    api.records = [order(1, "new", "more", name=["x"]), order(2, "b")]
    run = made.run()
    counts = Counts(unchanged=1, failed=1, children=ChildCounts(unchanged=1))
    assert run.counts == counts
    assert items(made) == [("1", 1, "a"), ("2", 1, "b")]


def test_a_secret_that_is_put_together_in_a_child_is_rejected() -> None:
    secret = "hunter2"
    joined = replace(
        ITEMS,
        mappings=(
            FieldMapping(INDEX, "position"),
            FieldMapping("join('', parts)", "sku"),
        ),
    )
    lines = [{"parts": ["hun", "ter2"]}, {"parts": ["a", "b"]}]
    api = Api([order(1, lines=lines)])
    made = fake_sync(replace(PULL, children=(joined,)), api, token=secret)
    run = made.run()
    assert run.counts.children == ChildCounts(created=1, failed=1)
    assert items(made) == [("1", 2, "ab")]
    assert secret not in repr(made.runs.rejected(run.id, 9))


def test_an_incremental_line_requests_a_rejected_child_again() -> None:
    api = Api([order(1, ["x"], at="2026-01-01")])
    made = fake_sync(replace(SINCE, children=(ITEMS,)), api)
    made.run()
    api.records = [order(1, "a", at="2026-01-01")]
    assert made.run().counts.children == ChildCounts(created=1)
    assert set(asked_since(api)) == {""}


def test_a_retry_writes_the_parents_of_rejected_children_again() -> None:
    api = Api([order(1, "a", ["x"]), order(2, ["x"]), order(3, "c")])
    made = fake_sync(LINES, api)
    run = made.run()
    api.records = [order(1, "a", "b"), order(2, ["x"]), order(3, "changed")]
    *_, retry = made.runner.retry(run.id, "ada")
    counts = ChildCounts(created=1, unchanged=1, failed=1)
    assert retry.counts == Counts(unchanged=2, children=counts)
    assert [left.key for left in made.runs.rejected(run.id, 9)] == ["2"]
    assert items(made) == [("1", 1, "a"), ("1", 2, "b"), ("3", 1, "c")]


# ── together or not at all, and dry runs ──────────────────────────────────────────────


def test_parents_children_and_checkpoint_are_written_together() -> None:
    made = fake_sync(LINES, Api([order(1, "a"), order(2, "b"), order(3, "c")]))
    save = made.runs.save
    saved: list[object] = []

    def fail_at_the_second_page(run: Any) -> Any:  # noqa: ANN401 - a run
        saved.append(run)
        if len(saved) == 2:
            raise KeyError
        return save(run)

    made.runs.save = fail_at_the_second_page  # type: ignore[method-assign]
    with pytest.raises(Exception, match="unexpected"):
        made.run()
    assert (made.numbers(), items(made)) == (["1", "2"], [("1", 1, "a"), ("2", 1, "b")])
    made.runs.save = save  # type: ignore[method-assign]
    assert made.run().counts.children == ChildCounts(created=3)


def test_a_dry_run_shows_the_children_after_their_parent_and_writes_nothing() -> None:
    api = Api([order(1, "a"), order(2, "b")])
    sync = replace(PULL, children=(ITEMS, NOTES))
    made = fake_sync(sync, api)
    made.run()
    api.records = [order(1, "A", notes=["x"]), order(9, "b", ["?"], notes=["y"])]
    effects: list[Effect] = []
    run = made.run(dry_run=True, note=effects.append)
    assert [(one.key, one.target, str(one.outcome)) for one in effects] == [
        ("1", "", "unchanged"),
        ("1", "item", "updated"),
        ("1", "note", "created"),
        ("9", "", "created"),
        ("9", "item", "created"),
        ("9", "item", "refused"),
        ("9", "note", "created"),
    ]
    assert effects[1].changes == {"sku": ("a", "A")}
    assert effects[6].changes == {"text": (None, "y")}
    counts = ChildCounts(created=3, updated=1, failed=1)
    assert run.counts == Counts(created=1, unchanged=1, children=counts)
    assert items(made) == [("1", 1, "a"), ("2", 1, "b")]
    assert made.records.rows("note") == []


def test_a_dry_run_shows_a_child_that_a_new_parent_could_not_have() -> None:
    dated = replace(NOTES, mappings=(*NOTES.mappings, FieldMapping("@", "day")))
    made = fake_sync(replace(PULL, children=(dated,)), Api([order(1, notes=["x"])]))
    effects: list[Effect] = []
    made.run(dry_run=True, note=effects.append)
    assert (effects[1].field, effects[1].reason) == ("notes[].day", "no_date")


# ── parents that are gone ─────────────────────────────────────────────────────────────


def test_counts_of_children_are_true_if_there_are_any() -> None:
    assert not ChildCounts()
    assert ChildCounts(deleted=1)
    assert ChildCounts.from_facts({"failed": 2, "deleted": "x"}) == ChildCounts(
        failed=2
    )
    stored = {"created": 1, "children": {"created": 2}}
    assert Counts.from_facts(stored) == Counts(1, children=ChildCounts(created=2))


def gone_line(gone: Gone) -> Sync:
    return replace(LINES, gone=gone, guard_percent=100)


def test_the_children_of_deleted_parents_are_deleted() -> None:
    api = Api([order(1, "a"), order(2, "b", "c")])
    made = fake_sync(gone_line(Gone.DELETE), api)
    made.run()
    api.records = [order(1, "a")]
    counts = ChildCounts(unchanged=1, deleted=2)
    assert made.run().counts == Counts(unchanged=1, deleted=1, children=counts)
    assert items(made) == [("1", 1, "a")]


def test_the_children_of_archived_parents_stay() -> None:
    api = Api([order(1, "a"), order(2, "b")])
    made = fake_sync(gone_line(Gone.ARCHIVE), api)
    made.run()
    api.records = [order(1, "a")]
    made.run()
    assert items(made) == [("1", 1, "a"), ("2", 1, "b")]


@pytest.mark.parametrize(
    ("left", "of_children"),
    [
        (order(1, "a", ["?"]), ChildCounts(unchanged=1, failed=1, deleted=1)),
        (order(1, lines=None), ChildCounts(without_list=1, deleted=1)),
    ],
)
def test_only_orphans_are_deleted_also_if_other_children_could_not_be_read(
    left: dict[str, Any], of_children: ChildCounts
) -> None:
    api = Api([order(1, "a", "b"), order(2, "c")])
    made = fake_sync(gone_line(Gone.DELETE), api)
    made.run()
    api.records = [left]
    assert made.run().counts == Counts(unchanged=1, deleted=1, children=of_children)
    assert items(made) == [("1", 1, "a"), ("1", 2, "b")]


def test_orphans_that_refer_to_their_parent_by_a_link_are_deleted() -> None:
    api = Api([order(7, notes=["x"]), order(8, notes=["y"])])
    sync = replace(PULL, children=(NOTES,), gone=Gone.DELETE, guard_percent=100)
    made = fake_sync(sync, api)
    made.run()
    api.records = [order(7, notes=["x"])]
    made.run()
    assert made.records.rows("note") == [{"contact": 1, "text": "x"}]


# ── findings ──────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("changes", "finding"),
    [
        ({"target": "nobody.knows"}, ("L014", "children[0].target")),
        ({"target": "table:items"}, ("L014", "children[0].target")),
        ({"parent": ("nothing",)}, ("L001", "children[0].parent")),
        ({"parent": ("position",)}, ("L022", "children[0].parent")),
        ({"list": "lines["}, ("L012", "children[0].list")),
        (
            {"mappings": (*ITEMS.mappings[:1], FieldMapping("[", "sku"))},
            ("L012", "children[0].fields[1].api"),
        ),
        (
            {"mappings": (*ITEMS.mappings[:1], FieldMapping("sku", "other"))},
            ("L001", "children[0].fields[1].host"),
        ),
        ({"mappings": ITEMS.mappings[1:]}, ("L009", "children[0].fields")),
        (
            {
                "mappings": (
                    ITEMS.mappings[0],
                    FieldMapping(
                        "o",
                        "owner",
                        Transform.LOOKUP,
                        options={"target": "person", "field": "nothing"},
                    ),
                )
            },
            ("L018", "children[0].fields[1].options.field"),
        ),
    ],
)
def test_children_are_checked_before_a_run(
    changes: dict[str, Any], finding: tuple[str, str]
) -> None:
    sync = replace(PULL, children=(replace(ITEMS, **changes),))
    made = fake_sync()
    made.use(sync)
    found = [(one.id, one.field) for one in made.runner.check("contacts")]
    assert finding in found
    with pytest.raises(ConfigError):
        made.run()


def test_a_link_to_a_parent_with_two_keys_is_refused() -> None:
    notes = replace(NOTES, parent=("contact", "text"))
    made = fake_sync()
    made.use(replace(PULL, keys=("number", "name"), children=(notes,)))
    found = [(one.id, one.field) for one in made.runner.check("contacts")]
    assert ("L022", "children[0].parent") in found


def test_lines_with_children_are_fine() -> None:
    made = fake_sync(replace(PULL, children=(ITEMS, NOTES)))
    assert made.runner.check("contacts") == []


def test_a_line_whose_model_saves_saves_its_children_too() -> None:
    made = fake_sync(replace(LINES, writes=Writes.MODEL), Api([order(1, "a", "b")]))
    made.run(dry_run=True)
    assert made.records.saved == 0
    made.run()
    assert made.records.saved == 3
    bulk = fake_sync(LINES, Api([order(1, "a", "b")]))
    bulk.run()
    assert bulk.records.saved == 0
