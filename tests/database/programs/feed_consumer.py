"""The program of the handbook, which fails if it applies a change twice."""

import runpy
import sys
from pathlib import Path
from typing import Any

names = runpy.run_path(
    str(Path(__file__).parents[3] / "examples" / "copy_table.py"), run_name="example"
)
plain_apply = names["apply"]


def apply(copy: Any, change: dict[str, Any]) -> None:  # noqa: ANN401 - of sqlite3
    copy.execute("INSERT INTO seen VALUES (?)", (change["cursor"],))
    plain_apply(copy, change)


follow = names["follow"]
follow.__globals__.update(apply=apply, SECONDS=0.02)
copy = names["open_copy"](sys.argv[2])
copy.execute("CREATE TABLE IF NOT EXISTS seen (cursor TEXT PRIMARY KEY)")
follow(copy, sys.argv[1])
