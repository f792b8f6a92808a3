"""The names of targets, and how they lead to models, tables and files."""

import pytest

from outkey.foundation.core.errors import ConfigError
from outkey.sync.core.line.line import Gone
from outkey.sync.core.mapping.records import FieldKind, HostField, Shape, Unseen
from outkey.sync.core.mapping.targets import (
    FileFormat,
    FileName,
    TableName,
    parse_target,
    refuse_column_name,
    target_words,
)
from outkey.sync.engine.targets import Targets

SHAPE = Shape(("id",), (HostField("id", "id", FieldKind.TEXT),))


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("shop.order", "shop.order"),
        ("table:orders", TableName("orders")),
        ("table:warehouse.orders", TableName("orders", "warehouse")),
        ("table:warehouse.sales.orders", TableName("orders", "warehouse", "sales")),
        ("file:orders.csv", FileName("orders.csv", FileFormat.CSV)),
        ("file:daily/a b.jsonl", FileName("daily/a b.jsonl", FileFormat.JSONL)),
        ("file:o.v2.parquet", FileName("o.v2.parquet", FileFormat.PARQUET)),
    ],
)
def test_the_prefix_of_a_target_tells_what_it_is(target: str, name: object) -> None:
    assert parse_target(target) == name
    assert str(name) == target


@pytest.mark.parametrize(
    "target",
    [
        "table:",
        "table:a b",
        "table:1a",
        "table:a.b.c.d",
        "table:a..b",
        'table:a"; DROP TABLE x',
        "table:é",
        f"table:{'a' * 59}",
        f"table:x.{'a' * 64}",
        "table:x.outkey_ids",
        "table:x.public.Outkey_ids",
        "table:x.sqlite_master",
        "file:",
        "file:orders",
        "file:orders.exe",
        "file:../orders.csv",
        "file:a/../orders.csv",
        "file:/etc/orders.csv",
        "file:a//b.csv",
        "file:.csv",
        "file:.hidden/x.csv",
        "file:a\\b.csv",
        "file:a\0.csv",
    ],
)
def test_a_name_that_no_table_and_no_file_can_have_is_refused(target: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_target(target, field="children[0].target")
    assert caught.value.field == "children[0].target"
    assert caught.value.hint


@pytest.mark.parametrize("name", ["id", "select", "Total", "_x", "a" * 63])
def test_a_column_may_have_any_plain_name(name: str) -> None:
    assert is_column_name(name)


def is_column_name(name: str) -> bool:
    try:
        refuse_column_name(name, field="host")
    except ConfigError:
        return False
    return True


@pytest.mark.parametrize(
    "name", ["", "a b", "1a", "a" * 64, "é", 'a"', "outkey_id", "Outkey_Run"]
)
def test_other_names_and_those_of_outkey_are_refused_for_columns(name: str) -> None:
    assert not is_column_name(name)


class Store:
    """Returns its name and what it was called with."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __getattr__(self, method: str) -> object:
        if method == "targets":
            return lambda: [self.name]
        return lambda *args, **options: (self.name, method, *args, *options.items())


@pytest.mark.parametrize(
    ("target", "store"),
    [("shop.order", "models"), ("table:orders", "tables"), ("file:o.csv", "files")],
)
def test_a_target_is_read_and_written_where_it_is(target: str, store: str) -> None:
    targets = Targets(Store("models"), Store("tables"), Store("files"))
    assert targets.targets() == ["models", "tables", "files"]
    calls = [
        targets.read(target, "", 5),
        targets.upsert(target, ["id"], [{"id": 1}], "7"),
        targets.unseen(target, "orders", "7"),
        targets.retire(target, "orders", "7", Gone.DELETE),
        targets.delete_children(target, ["order"], ["id"], {}),
        targets.matching(target, ["id"], [(1,)]),
        targets.missing(target, "orders", "7", "", 9),
        targets.present(target, ["1"]),
        targets.find(target, "id", [1]),
    ]
    assert {call[0] for call in calls} == {store}
    assert [call[1] for call in calls] == [
        "read",
        "upsert",
        "unseen",
        "retire",
        "delete_children",
        "matching",
        "missing",
        "present",
        "find",
    ]
    assert all(call[2] == target for call in calls)


def test_tables_are_prepared_and_models_are_as_they_are() -> None:
    from outkey.sync.core.mapping.records import Target

    class Models(Store):
        def targets(self) -> list[Target]:
            return [Target("shop.order", "Orders", SHAPE.fields)]

    targets = Targets(Models("models"), Store("tables"))
    prepared = targets.prepare("shop.order", SHAPE)
    assert (prepared.target.name, prepared.changes) == ("shop.order", ())
    assert targets.prepare("table:orders", SHAPE, dry_run=True) == (
        "tables",
        "prepare",
        "table:orders",
        SHAPE,
        ("dry_run", True),
    )


def test_parents_and_children_are_written_together_in_one_place_only() -> None:
    targets = Targets(Store("models"), Store("tables"), Store("files"))
    with targets.transaction(["shop.order", "shop.line"]):
        pass
    tables = ["table:orders", "table:lines"]
    assert targets.transaction(tables) == ("tables", "transaction", tables)
    with pytest.raises(ConfigError, match="same place"):
        targets.transaction(["shop.order", "table:lines"])


@pytest.mark.parametrize("target", ["table:orders", "file:orders.csv"])
def test_a_host_without_tables_and_files_says_so(target: str) -> None:
    targets = Targets(Store("models"))
    assert targets.targets() == ["models"]
    with pytest.raises(ConfigError, match="no tables and files"):
        targets.read(target, "", 1)


def test_what_is_unseen_is_counted_with_what_there_is() -> None:
    assert Unseen(missing=1, total=3).total == 3


def test_users_read_a_table_by_its_name_and_a_model_by_its_label() -> None:
    assert target_words("table:orders", "table:orders") == "Table orders"
    assert target_words("table:dwh.orders", "table:dwh.orders") == "Table dwh.orders"
    assert target_words("shop.order", "order") == "Order (shop.order)"
