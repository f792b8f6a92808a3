"""Files as targets of pulls: a snapshot that a complete run replaces as a whole."""

import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

from outkey.foundation.core.errors import ConfigError, OutkeyError, StorageUnavailable
from outkey.foundation.core.text import Text
from outkey.sync.adapters.files.replacing import remove_left_overs, replace_file
from outkey.sync.adapters.files.staging import Staging
from outkey.sync.adapters.files.writers import (
    PARQUET_PRECISION,
    PARQUET_SCALE,
    open_writer,
    refuse_missing_library,
)
from outkey.sync.core.line.line import Gone
from outkey.sync.core.mapping.column_values import ColumnType, value_fault
from outkey.sync.core.mapping.records import (
    FieldKind,
    HostField,
    HostRecord,
    PreparedTarget,
    Shape,
    Target,
    Unseen,
    WriteOutcome,
    Written,
    find_field,
)
from outkey.sync.core.mapping.shape import kind_for, with_kinds
from outkey.sync.core.mapping.storable import is_storable
from outkey.sync.core.mapping.targets import FileFormat, FileName, parse_target
from outkey.sync.ports.sync import Key

Row = Mapping[str, object]


class FileStore:
    """Writes files below one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._targets: dict[str, Target] = {}  # as prepared in this process

    def targets(self) -> list[Target]:
        """Return nothing: a line makes the file that it names."""
        return []

    def prepare(
        self, target: str, shape: Shape, *, dry_run: bool = False
    ) -> PreparedTarget:
        name = _file_name(target)
        refuse_missing_library(name.format)
        with _wrap_file_errors(name):
            self._refuse_link(name)
            if not dry_run:
                shape = self._with_staged_kinds(name, shape)
        prepared = Target(str(name), str(name), shape.fields)
        self._targets[str(name)] = prepared
        return PreparedTarget(prepared)

    def _with_staged_kinds(self, name: FileName, shape: Shape) -> Shape:
        """Return a shape that takes the records staged already, too."""
        staging = self._staging(name)
        staged = staging.kinds()
        kinds = {
            field.name: kind_for(staged.get(field.name, FieldKind.ANY), field.kind)
            or FieldKind.TEXT
            for field in shape.fields
        }
        staging.put_kinds(kinds)
        return with_kinds(shape, kinds)

    def transaction(self, targets: Collection[str]) -> AbstractContextManager[None]:
        if len({*targets}) > 1:
            raise ConfigError(
                Text("children cannot be written to files"),
                hint=Text("Choose tables in the same database."),
                field="children",
            )
        return nullcontext()

    def begin(self, target: str, run: str) -> None:
        name = _file_name(target)
        with _wrap_file_errors(name):
            path = self._path(name)
            make_folders(path.parent)
            self._refuse_link(name)
            remove_left_overs(path)
            self._staging(name).begin(run)

    def complete(
        self,
        target: str,
        run: str,
        *,
        is_doubtful: bool = False,
        may_lose: bool = False,
    ) -> Sequence[Text]:
        name = _file_name(target)
        with _wrap_file_errors(name):
            staging = self._staging(name)
            if staging.is_replaced(run):
                return ()
            self._refuse_link(name)
            if self._path(name).exists() and not may_lose:
                if is_doubtful and staging.is_smaller(run):
                    return (_kept_as_doubtful(name),)
                if staging.is_empty(run):
                    return (_kept_as_empty(name),)
            self._replace(name, staging, run)
            staging.note_replaced(run)
        return ()

    def _replace(self, name: FileName, staging: Staging, run: str) -> None:
        """Write a new file beside the old one; a reader sees one or the other."""
        with replace_file(self._path(name)) as file:
            writer = open_writer(name.format, file, staging.kinds())
            for part in staging.parts(run):
                writer.write(part)
            writer.finish()

    def upsert(
        self,
        target: str,
        keys: Sequence[str],
        rows: Sequence[Row],
        run: str,
        *,
        dry_run: bool = False,
    ) -> list[Written]:
        name = _file_name(target)
        prepared = self._targets.get(str(name))
        if prepared is None:
            raise ConfigError(Text("there is no such file yet"), field="target")
        fields = {
            column: find_field(prepared, column)
            for column in dict.fromkeys([*keys, *(c for row in rows for c in row)])
        }
        refused = {
            number: refusal
            for number, row in enumerate(rows)
            if (refusal := refusal_of(name.format, fields, keys, row))
        }
        accepted = [row for number, row in enumerate(rows) if number not in refused]
        if dry_run:
            written = [_expected_result(row) for row in accepted]
        else:
            with _wrap_file_errors(name):
                written = self._staging(name).upsert(keys, accepted, run)
        results = iter(written)
        return [
            refused[number] if number in refused else next(results)
            for number in range(len(rows))
        ]

    def read(self, target: str, after: str, limit: int) -> list[HostRecord]:
        _refuse_reading(target)

    def unseen(self, target: str, line: str, run: str) -> Unseen:
        _refuse_reading(target)

    def retire(self, target: str, line: str, run: str, gone: Gone) -> int:
        _refuse_reading(target)

    def delete_children(
        self,
        target: str,
        parent: Sequence[str],
        keys: Sequence[str],
        kept: Mapping[Key, Collection[Key]],
    ) -> int:
        _refuse_reading(target)

    def matching(
        self, target: str, keys: Sequence[str], values: Collection[Key]
    ) -> dict[Key, HostRecord]:
        _refuse_reading(target)

    def by_id(self, target: str, ids: Collection[str]) -> dict[str, HostRecord]:
        _refuse_reading(target)

    def assign(
        self, target: str, values: Mapping[str, Mapping[str, object]], run: str
    ) -> set[str]:
        _refuse_reading(target)

    def missing(
        self, target: str, line: str, run: str, after: str, limit: int
    ) -> list[HostRecord]:
        _refuse_reading(target)

    def present(self, target: str, ids: Sequence[str]) -> set[str]:
        _refuse_reading(target)

    def find(
        self, target: str, field: str, values: Sequence[object]
    ) -> dict[object, object]:
        _refuse_reading(target)

    def _path(self, name: FileName) -> Path:
        return self._folder / name.path

    def _staging(self, name: FileName) -> Staging:
        path = self._path(name)
        return Staging(path.with_name(f".{path.name}.unfinished"))

    def _refuse_link(self, name: FileName) -> None:
        """Refuse a path that leads out of the folder by a link."""
        path = self._folder
        for part in Path(name.path).parts:
            path /= part
            if path.is_symlink():
                raise ConfigError(
                    Text("the path of the file contains a symbolic link"),
                    hint=Text("Replace the link by a folder or a file."),
                    field="target",
                )
        if path.is_dir():
            raise ConfigError(
                Text("there is a folder of this name"),
                hint=Text("Choose another name for the file."),
                field="target",
            )


def _file_name(target: str) -> FileName:
    """Return the file that a target names, or raise ConfigError."""
    name = parse_target(target)
    if isinstance(name, FileName):
        return name
    raise ConfigError(Text("this is not the name of a file"), field="target")


def _kept_as_empty(name: FileName) -> Text:
    """Return the note about a file that an empty one would have replaced."""
    return Text(
        "file {name}: not replaced, since the run brought no record. If the API has"
        " none, run the line with --allow-removal",
        name=name.path,
    )


def _kept_as_doubtful(name: FileName) -> Text:
    """Return the note about a file that perhaps a part would have replaced."""
    return Text(
        "file {name}: not replaced, since the run brought fewer records and the API"
        " refused the page after a full one, which may not be the end. Run the line"
        " again; if that was the last page, run it with --allow-removal",
        name=name.path,
    )


def _refuse_reading(target: str) -> NoReturn:
    """Refuse what only tables and models can do."""
    _file_name(target)
    raise ConfigError(
        Text("records cannot be read from a file"),
        hint=Text("Choose a table."),
        field="target",
    )


def _expected_result(row: Row) -> Written:
    """Return the result of a record in a dry run: the file has none before."""
    changes = {name: (None, value) for name, value in row.items() if value is not None}
    return Written(WriteOutcome.CREATED, changes=changes)


def refusal_of(
    format_: FileFormat,
    fields: Mapping[str, HostField],
    keys: Sequence[str],
    row: Row,
) -> Written | None:
    """Return why a record cannot be written, or None."""
    for name in keys:
        if row.get(name) in (None, ""):
            return Written(WriteOutcome.REFUSED, name, "missing")
    for name, value in row.items():
        if reason := _column_fault(format_, fields[name], value):
            return Written(WriteOutcome.REFUSED, name, reason)
    return None


def _column_fault(format_: FileFormat, field: HostField, value: object) -> str:
    """Return the reason why a column refuses a value, or "" if it does not."""
    column = ColumnType(field.kind)
    if format_ is FileFormat.PARQUET and field.kind is FieldKind.DECIMAL:
        column = replace(column, precision=PARQUET_PRECISION, scale=PARQUET_SCALE)
    if field.kind is FieldKind.ANY:
        return "" if is_storable(value) else "unstorable_character"
    return value_fault(column, value, is_key=False)


def make_folders(folder: Path) -> None:
    """Make a folder and those above it, for their owner only.

    `mkdir(parents=True)` uses its mode for the last of them alone.
    """
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    for path in reversed(missing):
        path.mkdir(exist_ok=True, mode=0o700)


@contextmanager
def _wrap_file_errors(name: FileName) -> Iterator[None]:
    """Raise StorageUnavailable for what the file system refuses."""
    failure: OutkeyError | None = None
    try:
        yield
    except OSError as error:
        failure = unwritable(name, error.strerror or "")
    except sqlite3.Error as error:
        is_full = "full" in str(error)
        failure = unwritable(name, "No space left on device" if is_full else "")
    if failure is not None:
        raise failure


def unwritable(name: FileName, reason: str) -> StorageUnavailable:
    """Return the error for a file that cannot be written; the old one stays."""
    return StorageUnavailable(
        Text(
            "the file {name} cannot be written ({reason})",
            name=name.path,
            reason=reason or "I/O error",
        ),
        hint=Text(
            "Free some space or correct the permissions; then run the line again."
        ),
    )
