"""Exports of tables, and files that are replaced as a whole."""

import fcntl
import io
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, cast

import pytest

from outkey.sync.adapters.files.export import PART, export_table
from outkey.sync.adapters.files.replacing import replace_file
from outkey.sync.core.mapping.records import FieldKind, HostField, HostRecord, Target
from outkey.sync.core.mapping.targets import FileFormat
from outkey.sync.ports.sync import NOTHING, StoredTables

TARGET = Target(
    "table:parts", "table:parts", (HostField("sku", "sku", FieldKind.TEXT),)
)


class Rows:
    """The rows of one table, by their ids from 1 on."""

    def __init__(self, rows: Sequence[Mapping[str, object]]) -> None:
        self._rows = [HostRecord(str(n), row) for n, row in enumerate(rows, start=1)]

    def rows(
        self, _target: str, after: str, limit: int, wanted: Mapping[str, str]
    ) -> Sequence[HostRecord]:
        rows = [
            row
            for row in self._rows[int(after or 0) :]
            if all(text in str(row.values[name]) for name, text in wanted.items())
        ]
        return rows[:limit]


def export(
    rows: Sequence[Mapping[str, object]], wanted: Mapping[str, str] = NOTHING
) -> tuple[list[str], list[int]]:
    file = io.BytesIO()
    tables = cast("StoredTables", Rows(rows))
    parts = export_table(tables, TARGET, FileFormat.CSV, file, wanted=wanted)
    counts = list(parts)
    return file.getvalue().decode().splitlines(), counts


def test_all_rows_are_exported_a_part_at_a_time() -> None:
    lines, counts = export([{"sku": f"a{number}"} for number in range(PART + 5)])
    assert (lines[0], lines[-1]) == ("sku", f"a{PART + 4}")
    assert counts == [PART, 5, 0]


def test_what_is_wanted_is_exported_a_part_at_a_time() -> None:
    rows = [{"sku": f"{number % 2}-{number}"} for number in range(PART * 2 + 10)]
    lines, counts = export(rows, {"sku": "1-"})
    assert (lines[1], lines[-1]) == ("1-1", f"1-{PART * 2 + 9}")
    assert counts == [PART, 5, 0]


def test_an_empty_table_is_exported_with_its_columns() -> None:
    assert export([]) == (["sku"], [0])


def test_an_export_tells_when_a_row_was_archived() -> None:
    rows = [{"sku": "a", "archived_at": None}, {"sku": "b", "archived_at": "2027"}]
    lines, _ = export(rows)
    assert lines == ["sku,archived_at", "a,", "b,2027"]


def test_a_file_is_replaced_at_the_end_and_only_its_owner_reads_it(
    tmp_path: Path,
) -> None:
    path = tmp_path / "parts.csv"
    path.write_text("old")
    with replace_file(path) as file:
        file.write(b"new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o600


def test_what_a_killed_process_has_left_is_no_obstacle(tmp_path: Path) -> None:
    path = tmp_path / "parts.csv"
    for left_over in (f".parts.csv.{os.getpid()}.tmp", ".parts.csv.0123456789ab.tmp"):
        (tmp_path / left_over).write_text("half")
    others = {".parts.csv.mine.tmp", ".parts.csv.csv.1f.tmp", ".other.csv.1f.tmp"}
    for other in others:
        (tmp_path / other).write_text("of others")
    with replace_file(path) as file:
        file.write(b"new")
    assert {file.name for file in tmp_path.iterdir()} == {"parts.csv", *others}


def test_two_replacements_at_a_time_do_not_disturb_each_other(tmp_path: Path) -> None:
    path = tmp_path / "parts.csv"
    with replace_file(path) as first:
        first.write(b"first")
        with replace_file(path) as second:
            second.write(b"second")
        assert path.read_text() == "second"
    assert path.read_text() == "first"
    assert [file.name for file in tmp_path.iterdir()] == ["parts.csv"]


def test_a_new_file_that_was_taken_for_a_left_over_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process looks for left-overs before this one has locked its file."""
    path = tmp_path / "parts.csv"
    lock = fcntl.flock
    calls = []

    def lock_late(file: BinaryIO, operation: int) -> None:
        calls.append(operation)
        if len(calls) == 1:
            (temporary,) = tmp_path.iterdir()
            temporary.unlink()
        lock(file, operation)

    monkeypatch.setattr("outkey.sync.adapters.files.replacing.fcntl.flock", lock_late)
    with replace_file(path) as file:
        file.write(b"new")
    assert (path.read_text(), len(calls)) == ("new", 2)


def test_a_folder_that_cannot_be_listed_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_path: Path) -> Iterator[Path]:
        raise PermissionError

    monkeypatch.setattr(Path, "iterdir", refuse)
    with replace_file(tmp_path / "parts.csv") as file:
        file.write(b"new")
    assert (tmp_path / "parts.csv").read_text() == "new"


def test_a_file_stays_if_its_replacement_fails(tmp_path: Path) -> None:
    path = tmp_path / "parts.csv"
    path.write_text("old")
    with pytest.raises(TypeError), replace_file(path) as file:
        file.write("not bytes")  # type: ignore[arg-type]
    assert [file.name for file in tmp_path.iterdir()] == ["parts.csv"]
    assert path.read_text() == "old"
