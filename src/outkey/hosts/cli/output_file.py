"""The file that a command writes with `--output`."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, BinaryIO

import typer

from outkey.foundation.core.errors import StorageUnavailable
from outkey.foundation.core.text import Text

OutputOption = Annotated[
    str,
    typer.Option(help="Write to this file instead of standard output.", metavar="FILE"),
]


@contextmanager
def output_file(path: str) -> Iterator[BinaryIO]:
    """Yield a new file, for its owner only, which replaces the path at the end.

    If anything is raised inside, the file that was there stays.
    """
    from outkey.sync.adapters.files.replacing import replace_file

    try:
        with replace_file(Path(path)) as file:
            yield file
    except OSError as error:
        reason = error.strerror or type(error).__name__
    else:
        return
    raise StorageUnavailable(
        Text("the file cannot be written ({reason})", reason=reason),
        hint=Text("Choose another file with --output, or free some space."),
    )
