"""Runs a command and is killed before one of the lines that back up and restore.

Arguments: the number of that line, or the name of a file to which the functions of all
lines are written, in their order; then the command.
"""

import os
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Any

from outkey.hosts.cli.main import main

PACKAGE = "outkey.hosts.server.backup."
chosen = sys.argv.pop(1)
number = int(chosen) if chosen.isdigit() else -1
functions: list[str] = []


def trace(frame: FrameType, event: str, _argument: object) -> Any:  # noqa: ANN401
    if not str(frame.f_globals.get("__name__")).startswith(PACKAGE):
        return None
    if event == "line" and frame.f_code.co_name != "<module>":
        if len(functions) == number:
            os.kill(os.getpid(), signal.SIGKILL)
        functions.append(frame.f_code.co_name)
    return trace


sys.settrace(trace)
try:
    main()
finally:
    sys.settrace(None)
    if number < 0:
        Path(chosen).write_text("\n".join(functions), encoding="ascii")
