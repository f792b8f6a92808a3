"""Reports of unexpected errors, in files that only their owner may read."""

import os
import secrets
import sys
import time
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

from outkey.foundation.core.failure_places import failure_places

FOLDER = Path("data", "errors")  # in the home
MAX_REPORTS = 20
SECOND = 1_000_000_000  # in nanoseconds
MAX_CHARACTERS = 100_000


def write_report(home: Path, error: BaseException) -> Path | None:
    """Write where an error came from to a file in the home; None if that fails.

    A home that does not exist is not made. Only the newest reports are stored.
    """
    nanoseconds = time.time_ns()
    now = time.gmtime(nanoseconds // SECOND)
    # The names have the order of the reports, also of several within a second.
    moment = f"{time.strftime('%Y%m%dT%H%M%S', now)}.{nanoseconds % SECOND:09}"
    name = f"{moment}-{secrets.token_hex(4)}.txt"
    text = (
        f"{time.strftime('%Y-%m-%d %H:%M:%S', now)} UTC,"
        f" outkey {version('outkey')}, Python {sys.version.split()[0]}\n\n"
        f"{failure_places(error)}\n"
    )
    try:
        folder = home
        for part in FOLDER.parts:
            folder /= part
            folder.mkdir(mode=0o700, exist_ok=True)
        report = folder / name
        descriptor = os.open(report, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text[:MAX_CHARACTERS])
        for old in sorted(folder.glob("*.txt"))[:-MAX_REPORTS]:
            with suppress(FileNotFoundError):  # another process was faster
                old.unlink()
    except OSError:
        return None
    return report
