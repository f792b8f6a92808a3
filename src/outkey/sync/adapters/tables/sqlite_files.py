"""The SQLite files that tables may be in: those below folders that the operator names.

A sync line writes to the file that its database names, and a push sends its content.
Settings in the database must not be enough for that: a writer of the database can
change them. So the folders are named in the environment of the process.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.text import Text
from outkey.sending.adapters.transport.configured_files import has_own_file

VARIABLE = "OUTKEY_SQLITE_FOLDERS"


class SqliteFiles:
    """Decides which files may be databases; `own` are the files of outkey itself."""

    def __init__(self, folders: Sequence[Path] = (), own: Sequence[Path] = ()) -> None:
        self._folders = tuple(folders)
        self._own = tuple(own)

    def resolve(self, path: str, *, field: str) -> Path:
        """Return the file that a path leads to, or raise ConfigError.

        The file itself is not opened: closing it would end the locks of other
        connections of this process to it (sqlite.org/howtocorrupt.html, 2.2).
        """
        if "\0" in path or not Path(path).is_absolute():
            raise ConfigError(
                Text("the path of the SQLite database is not absolute"),
                hint=Text("Write it with four slashes: sqlite:////folder/file.db."),
                field=field,
            )
        file = Path(os.path.realpath(path))
        if not any(is_below(file, folder) for folder in self._folders):
            raise _foreign_folder(field)
        if has_own_file(file, self._own):
            raise ConfigError(
                Text("the SQLite database is one of outkey's own files"),
                hint=Text("Choose a file in another folder."),
                field=field,
            )
        return file

    def refuse_moved(self, file: Path, *, field: str) -> None:
        """Raise ConfigError if a resolved path leads elsewhere by now."""
        if self.resolve(str(file), field=field) != file:
            raise _foreign_folder(field)


def _foreign_folder(field: str) -> ConfigError:
    """Return the error for a file outside of the folders that the operator names."""
    return ConfigError(
        Text("the SQLite database is in a folder that outkey may not use"),
        hint=Text(
            "Set {variable} to the folders of SQLite databases, separated by"
            " {separator}.",
            variable=VARIABLE,
            separator=os.pathsep,
        ),
        field=field,
    )


def is_below(file: Path, folder: Path) -> bool:
    """Whether a file is in a folder or below it; no file is below a relative path."""
    if not folder.is_absolute():
        return False
    return Path(os.path.realpath(folder)) in file.parents
