"""Exporting a table to a file."""

from collections.abc import Iterator, Mapping
from typing import BinaryIO

from outkey.sync.adapters.files.writers import open_writer
from outkey.sync.core.mapping.filters import Wanted
from outkey.sync.core.mapping.records import FieldKind, Target
from outkey.sync.core.mapping.targets import ARCHIVED_AT, FileFormat
from outkey.sync.ports.sync import NOTHING, StoredTables

PART = 1000  # rows that are in memory at a time


def export_table(
    tables: StoredTables,
    target: Target,
    format_: FileFormat,
    file: BinaryIO,
    *,
    wanted: Mapping[str, Wanted] = NOTHING,
) -> Iterator[int]:
    """Write the rows of a table that have what is wanted, a part at a time.

    Yield after each part how many rows it had. A last part without rows
    follows, because Parquet has something at its end.
    """
    kinds = {field.name: field.kind for field in target.fields}
    rows = tables.rows(target.name, "", PART, wanted)
    if any(ARCHIVED_AT in row.values for row in rows):
        kinds[ARCHIVED_AT] = FieldKind.DATETIME
    writer = open_writer(format_, file, kinds)
    while rows:
        writer.write(row.values for row in rows)
        yield len(rows)
        rows = tables.rows(target.name, rows[-1].id, PART, wanted)
    writer.finish()
    yield 0
