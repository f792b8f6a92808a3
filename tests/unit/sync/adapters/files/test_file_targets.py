"""Files of sync lines: written whole or not at all, and safe to open."""

import csv
import io
import json
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from pyarrow import parquet

from outkey.foundation.core.errors import ConfigError, StorageUnavailable
from outkey.sync.adapters.files.store import FileStore
from outkey.sync.adapters.files.writers import csv_cell, exact_json, open_writer
from outkey.sync.core.line.line import Gone
from outkey.sync.core.mapping.records import FieldKind, HostField, Shape, WriteOutcome
from outkey.sync.core.mapping.targets import FileFormat, parse_target

COLUMNS = {
    "id": FieldKind.NUMBER,
    "text": FieldKind.TEXT,
    "decimal": FieldKind.DECIMAL,
    "day": FieldKind.DATE,
    "at": FieldKind.DATETIME,
    "yes": FieldKind.BOOLEAN,
    "json": FieldKind.JSON,
}
ROW: dict[str, object] = {
    "id": 1,
    "text": 'ü€"\n,',
    "decimal": Decimal("1234567890.123456789"),
    "day": date(2027, 1, 2),
    "at": datetime(2027, 1, 2, 3, 4, 5, 678, tzinfo=UTC),
    "yes": True,
    "json": {"a": [1, Decimal("2.5"), None]},
}
SHAPE = Shape(
    ("id",), tuple(HostField(name, name, kind) for name, kind in COLUMNS.items())
)


def write(
    store: FileStore, target: str, *rows: dict[str, object], run: str = "1"
) -> None:
    store.begin(target, run)
    store.prepare(target, SHAPE)
    store.upsert(target, ["id"], rows, run)
    store.complete(target, run)


def test_values_of_every_kind_are_in_every_format(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    empty: dict[str, object] = {"id": 2}
    for ending in FileFormat:
        write(store, f"file:a/b.{ending}", ROW, empty)
    folder = tmp_path / "a"
    first, second = map(json.loads, (folder / "b.jsonl").read_text().splitlines())
    assert '"decimal": 1234567890.123456789' in (folder / "b.jsonl").read_text()
    assert first["json"] == {"a": [1, 2.5, None]}
    assert second == {name: 2 if name == "id" else None for name in COLUMNS}
    with (folder / "b.csv").open(newline="", encoding="utf-8") as file:
        read, blank = csv.DictReader(file)
    assert read == {
        "id": "1",
        "text": 'ü€"\n,',
        "decimal": "1234567890.123456789",
        "day": "2027-01-02",
        "at": "2027-01-02T03:04:05.000678+00:00",
        "yes": "true",
        "json": '{"a": [1, 2.5, null]}',
    }
    assert {*blank.values()} == {"2", ""}
    table = parquet.read_table(folder / "b.parquet").to_pylist()
    expected = {**ROW, "json": '{"a": [1, 2.5, null]}'}
    assert table == [expected, {name: empty.get(name) for name in COLUMNS}]


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        ("=1+1", "'=1+1"),
        ("+cmd|x", "'+cmd|x"),
        ("-2+3", "'-2+3"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", "'\t=1"),
        ("\r=1", "'\r=1"),
        ("-5", "-5"),
        ("+49170123", "+49170123"),
        ("-1.5e3", "-1.5e3"),
        ("-1,5", "-1,5"),
        ("a=1", "a=1"),
        ("", ""),
        (None, ""),
        (-5, "-5"),
        (Decimal("-0.5"), "-0.5"),
        (["=1"], '["=1"]'),
    ],
)
def test_no_cell_of_a_csv_file_is_a_formula(value: object, cell: str) -> None:
    assert csv_cell(value) == cell


def test_json_has_the_digits_of_a_decimal() -> None:
    assert exact_json(Decimal("1E+30")) == "1E+30"
    assert exact_json([Decimal("NaN"), date(2027, 1, 2)]) == '["NaN", "2027-01-02"]'


def test_of_two_records_with_the_same_keys_the_later_one_stays(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    target = "file:a.jsonl"
    store.begin(target, "1")
    store.prepare(target, SHAPE)
    rows = [{"id": 1, "text": "a"}, {"id": 1, "text": "b"}, {"id": 1, "text": "b"}]
    written = store.upsert(target, ["id"], rows, "1")
    assert [w.outcome for w in written] == [
        WriteOutcome.CREATED,
        WriteOutcome.UPDATED,
        WriteOutcome.UNCHANGED,
    ]
    assert not (tmp_path / "a.jsonl").exists()
    store.complete(target, "1")
    store.complete(target, "1")  # of a run that was killed before it ended
    assert len((tmp_path / "a.jsonl").read_text().splitlines()) == 1


def test_records_that_do_not_fit_are_rejected_alone(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    target = "file:a.parquet"
    store.begin(target, "1")
    store.prepare(target, SHAPE)
    rows: list[dict[str, object]] = [
        {"id": None},
        {"id": 1, "text": "nul\0"},
        {"id": 2, "decimal": Decimal("0.1234567890123456789")},
        {"id": 3, "yes": "x"},
        {"id": 4},
    ]
    written = store.upsert(target, ["id"], rows, "1")
    assert [(w.field, w.reason) for w in written] == [
        ("id", "missing"),
        ("text", "unstorable_character"),
        ("decimal", "out_of_range"),
        ("yes", "wrong_type"),
        ("", ""),
    ]
    store.complete(target, "1")
    assert parquet.read_table(tmp_path / "a.parquet").num_rows == 1


@pytest.mark.parametrize("target", ["file:link/a.csv", "file:a.csv", "file:folder.csv"])
def test_links_and_folders_are_refused(tmp_path: Path, target: str) -> None:
    root = tmp_path / "files"
    outside = tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (root / "link").symlink_to(outside)
    (root / "a.csv").symlink_to(outside / "a.csv")
    (root / "folder.csv").mkdir()
    store = FileStore(root)
    for dry_run in (True, False):
        with pytest.raises(ConfigError):
            store.prepare(target, SHAPE, dry_run=dry_run)
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize("path", ["../a.csv", "/a.csv", "a/../../b.csv", "a.txt", "a"])
def test_paths_out_of_the_folder_are_no_names(path: str) -> None:
    with pytest.raises(ConfigError):
        parse_target(f"file:{path}")


@contextmanager
def full_disk(size: int) -> Iterator[None]:
    """Let no file grow beyond a size, which is what a full disk is to a program."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@pytest.mark.parametrize("ending", FileFormat)
def test_a_full_disk_ends_the_run_and_the_old_file_stays(
    tmp_path: Path, ending: FileFormat
) -> None:
    store = FileStore(tmp_path)
    target = f"file:a.{ending}"
    write(store, target, {"id": 1, "text": "old"})
    before = (tmp_path / f"a.{ending}").read_bytes()
    rows: list[dict[str, object]] = [
        {"id": number, "text": f"{number:x}" * 300} for number in range(500)
    ]
    store.begin(target, "2")
    store.prepare(target, SHAPE)
    with (
        full_disk(50_000),
        pytest.raises(StorageUnavailable, match="cannot be written"),
    ):
        store.upsert(target, ["id"], rows, "2")
    store.upsert(target, ["id"], rows, "2")
    with full_disk(5_000), pytest.raises(StorageUnavailable, match="cannot be written"):
        store.complete(target, "2")
    assert (tmp_path / f"a.{ending}").read_bytes() == before
    assert not list(tmp_path.glob("*.tmp"))
    store.complete(target, "2")
    assert (tmp_path / f"a.{ending}").read_bytes() != before


def test_a_second_line_cannot_write_a_file_that_another_one_writes(
    tmp_path: Path,
) -> None:
    store = FileStore(tmp_path)
    target = "file:a.csv"
    store.begin(target, "1")
    store.prepare(target, SHAPE)
    store.begin(target, "2")
    for refused in (
        lambda: store.upsert(target, ["id"], [{"id": 1}], "1"),
        lambda: store.complete(target, "1"),
        lambda: store.transaction([target, "file:b.csv"]),
    ):
        with pytest.raises(ConfigError):
            refused()
    with store.transaction([target]):
        store.upsert(target, ["id"], [{"id": 1}], "2")


def test_nothing_is_read_from_a_file(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    target = "file:a.csv"
    assert store.targets() == []
    for refused in (
        lambda: store.read(target, "", 1),
        lambda: store.find(target, "id", [1]),
        lambda: store.present(target, ["1"]),
        lambda: store.matching(target, ["id"], [(1,)]),
        lambda: store.by_id(target, ["1"]),
        lambda: store.assign(target, {"1": {"id": 2}}, "1"),
        lambda: store.missing(target, "l", "1", "", 9),
        lambda: store.unseen(target, "l", "1"),
        lambda: store.retire(target, "l", "1", Gone.DELETE),
        lambda: store.delete_children(target, ["id"], ["id"], {}),
        lambda: store.upsert(target, ["id"], [{"id": 1}], "1"),
        lambda: store.prepare("table:t", SHAPE),
    ):
        with pytest.raises(ConfigError):
            refused()


def test_parquet_without_its_library_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "outkey.sync.adapters.files.writers.find_spec", lambda _name: None
    )
    with pytest.raises(ConfigError) as refused:
        FileStore(tmp_path).prepare("file:a.parquet", SHAPE)
    assert refused.value.hint == 'Run: pip install "outkey[parquet]"'
    open_writer(FileFormat.CSV, io.BytesIO(), COLUMNS)
