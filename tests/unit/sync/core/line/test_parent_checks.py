"""Requests per parent: what could not work in any run is named before it."""

import itertools
from collections.abc import Sequence
from dataclasses import replace

import pytest

from outkey.foundation.core.errors import ConfigError
from outkey.sync.core.line.checks import line_findings
from outkey.sync.core.line.line import (
    Direction,
    FieldMapping,
    ForEach,
    Gone,
    ParentRecords,
    Sync,
    SyncLine,
)
from outkey.sync.core.line.parent_checks import parent_findings, refuse_use_as_parent
from outkey.sync.core.line.table import read_sync, sync_errors, sync_table
from outkey.sync.core.mapping.records import FieldKind, HostField
from outkey.sync.core.run.line_digest import line_digest
from outkey.testing import configuration
from unit.sync.engine.pull.test_sync_run import PULL

FIELDS = (HostField("id", "ID", FieldKind.NUMBER), HostField("n", "N", FieldKind.TEXT))
ITEMS = replace(
    PULL,
    for_each=ForEach("orders"),
    mappings=(*PULL.mappings, FieldMapping("$parent.id", "price")),
)
VALUES = replace(PULL, for_each=ForEach(values=("DE", "AT")))
PATH = "/orders/{parent.id}/items"
ORDERS = SyncLine("orders", "acme", "GET", "/orders", PULL)


def found(
    sync: Sync, path: str = PATH, lines: Sequence[SyncLine] = (ORDERS,)
) -> list[tuple[str, str | None]]:
    line = SyncLine("items", "acme", "GET", path, sync)
    by_name = {known.name: known for known in (*lines, line)}
    findings = parent_findings(line, sync, by_name.get, lambda _: FIELDS)
    return [(finding.id, finding.field) for finding in findings]


@pytest.mark.parametrize(
    ("sync", "path"),
    [
        (PULL, "/orders/{anything}"),
        (ITEMS, PATH),
        (replace(ITEMS, query=(("order", "{parent.n}"),)), "/items"),
        (replace(ITEMS, body='{"o": "{parent.id}", "s": "{since}"}'), "/items"),
        (VALUES, "/items/{parent.value}"),
    ],
)
def test_what_works_has_no_findings(sync: Sync, path: str) -> None:
    assert found(sync, path) == []


@pytest.mark.parametrize(
    ("sync", "path", "finding"),
    [
        (ITEMS, "/orders/{parent.x}/items", ("L063", "path")),
        (ITEMS, "/{parent.id}/{since}", ("L008", "path")),
        (replace(ITEMS, query=(("a", "{parent.x}"),)), PATH, ("L063", "query.a")),
        (replace(ITEMS, query=(("a", "{x}"),)), PATH, ("L008", "query.a")),
        (replace(ITEMS, body='{"a": "{parent.x}"}'), PATH, ("L063", "body")),
        (VALUES, PATH, ("L063", "path")),
        (ITEMS, "/items", ("L064", "path")),
        (
            replace(ITEMS, mappings=(FieldMapping("$parent.x", "number"),)),
            PATH,
            ("L063", "fields[0].api"),
        ),
        (
            replace(PULL, mappings=(FieldMapping("$parent.id", "number"),)),
            "/items",
            ("L065", "fields[0].api"),
        ),
    ],
)
def test_a_name_that_the_parent_does_not_have_is_named(
    sync: Sync, path: str, finding: tuple[str, str]
) -> None:
    assert finding in found(sync, path)


@pytest.mark.parametrize(
    "parent",
    [
        None,
        replace(PULL, direction=Direction.PUSH),
        replace(PULL, target="file:orders.csv"),
    ],
)
def test_only_a_pull_into_a_table_or_a_model_has_parents(parent: Sync | None) -> None:
    assert found(ITEMS, lines=[replace(ORDERS, sync=parent)]) == [
        ("L061", "for_each.line")
    ]


def test_a_line_of_parents_that_is_not_there_is_named() -> None:
    assert found(ITEMS, lines=[]) == [("L060", "for_each.line")]


@pytest.mark.parametrize(
    "chain", [("items",), ("orders", "items"), ("orders", "a", "b", "items")]
)
def test_lines_that_are_the_parents_of_each_other_are_named(
    chain: tuple[str, ...],
) -> None:
    lines = [
        replace(ORDERS, name=name, sync=replace(PULL, for_each=ForEach(parent)))
        for name, parent in itertools.pairwise(chain)
    ]
    sync = replace(ITEMS, for_each=ForEach(chain[0]))
    assert found(sync, lines=lines) == [("L062", "for_each.line")]


def test_parents_may_have_parents() -> None:
    orders = replace(ORDERS, sync=replace(PULL, for_each=ForEach("shops")))
    assert found(ITEMS, lines=[orders, replace(ORDERS, name="shops")]) == []
    # A cycle that the line is not in ends too.
    shops = replace(ORDERS, name="shops", sync=replace(PULL, for_each=ForEach("shops")))
    assert found(ITEMS, lines=[orders, shops]) == [("L062", "for_each.line")]


def test_a_model_that_is_not_open_is_named() -> None:
    def refuse(_: Sync) -> Sequence[HostField]:
        raise ConfigError("it is not open")

    line = SyncLine("items", "acme", "GET", PATH, ITEMS)
    findings = parent_findings(line, ITEMS, {"orders": ORDERS}.get, refuse)
    assert [(f.id, f.field) for f in findings] == [("L014", "for_each.line")]


@pytest.mark.parametrize(
    ("changes", "field", "reason"),
    [
        ({"line": "a", "values": ["b"]}, "for_each.line", "one of both"),
        ({"only": "changed"}, "for_each.line", "one of both"),
        ({"values": ["a"], "only": "changed"}, "for_each.only", "Remove only"),
        ({"values": ["a", "a"]}, "for_each.values", "once"),
        ({"values": ["a" * 201]}, "for_each.values", "shorter"),
    ],
)
def test_settings_of_parents_that_exclude_each_other_are_refused(
    changes: dict[str, object], field: str, reason: str
) -> None:
    table = sync_table(PULL) | {"for_each": changes}
    with pytest.raises(ConfigError) as caught:
        read_sync(table)
    assert (caught.value.field, reason in str(caught.value.hint)) == (field, True)
    assert [error.field for error in sync_errors(table)] == [field]


def test_a_thousand_values_are_the_most() -> None:
    values = [str(number) for number in range(1001)]
    table = sync_table(PULL) | {"for_each": {"values": values[:1000]}}
    assert len(read_sync(table).for_each.values) == 1000
    with pytest.raises(ConfigError, match="at most 1000"):
        read_sync(table | {"for_each": {"values": values}})


def test_a_push_has_no_parents() -> None:
    push = replace(PULL, direction=Direction.PUSH, for_each=ForEach("orders"))
    with pytest.raises(ConfigError) as caught:
        read_sync(sync_table(push))
    assert caught.value.field == "for_each"


@pytest.mark.parametrize(
    ("sync", "finding"),
    [
        (replace(ITEMS, gone=Gone.ARCHIVE), ("L005", "gone")),
        (replace(ITEMS, target="file:items.csv"), ("L020", "for_each.only")),
    ],
)
def test_a_line_that_skips_parents_never_has_all_records(
    sync: Sync, finding: tuple[str, str]
) -> None:
    changed = replace(sync, for_each=ForEach("orders", ParentRecords.CHANGED))
    for settings, is_found in ((changed, True), (sync, False)):
        line = SyncLine("items", "acme", "GET", PATH, settings)
        findings = line_findings(line, settings, FIELDS, lambda _: None)  # type: ignore[arg-type,return-value]
        found_here = finding in [(f.id, f.field) for f in findings]
        assert found_here is is_found


def test_a_body_has_placeholders_of_the_parent_only_with_parents() -> None:
    body = replace(ITEMS, body='{"a": "{parent.id}"}', parallel=5)
    for sync, ids in ((body, set()), (replace(body, for_each=ForEach()), {"L008"})):
        line = SyncLine("items", "acme", "POST", "/items", sync)
        findings = line_findings(line, sync, FIELDS, lambda _: None)  # type: ignore[arg-type,return-value]
        assert {f.id for f in findings if f.field == "body"} == ids


def test_another_line_of_parents_makes_a_line_begin_again() -> None:
    line = SyncLine("items", "acme", "GET", PATH, ITEMS)
    other = replace(line, sync=replace(ITEMS, for_each=ForEach("shops")))
    assert line_digest(line, configuration()) != line_digest(other, configuration())


def test_a_line_whose_records_are_parents_stays() -> None:
    items = SyncLine("items", "acme", "GET", PATH, ITEMS)
    lines = [ORDERS, items, SyncLine("call", "acme", "GET", "/")]
    refuse_use_as_parent(["items"], lines)
    refuse_use_as_parent(["orders", "items"], lines)  # both are deleted
    with pytest.raises(ConfigError, match="the records of orders are the parents"):
        refuse_use_as_parent(["orders"], lines)
