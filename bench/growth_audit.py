"""Growth of the audit: what a million records cost, with `--large` ten million.

The records are those of sends, many to a commit as of many threads, on SQLite and in
the folder for temporary files. At each size: the newest page, `outkey audit verify` as
a process, and how long more records take. At the end all but the newest are pruned.

Exit status: 0 every budget holds, 1 one is missed.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from typing import Any

from audit import fill, verify
from report import Budget, finish

SIZES, LARGE = (100_000, 1_000_000), 10_000_000
LEFT = 5_000  # records after pruning
GROWTH = 2.0  # from the smallest audit to the largest
PAGES = 20


def measure(sizes: tuple[int, ...]) -> dict[str, dict[str, float]]:
    """Return what was measured at each size."""
    from outkey.hosts.server.home import prepare

    home = prepare()
    from outkey.hosts.django.wiring import install

    application = install(home)
    found = {}
    filled = 0
    for size in sizes:
        append_seconds = seconds_of(fill, application, size - filled)
        figures = {
            "appended a second": (size - filled) / append_seconds,
            "newest page, ms": page_milliseconds(application),
            "verified a second": size / verify()[0],
        }
        filled = size
        found[f"{size:,}"] = figures
        print(f"{size:,}: {figures}")
    before = time.time()
    fill(application, LEFT)
    prune_seconds = seconds_of(prune, application, before)
    found[f"{filled:,}"]["pruned a second"] = filled / prune_seconds
    print(f"pruned a second: {filled / prune_seconds:.0f}")
    return found


def prune(application: Any, before: float) -> None:  # noqa: ANN401 - an Application
    administration = application.administration("bench")
    for _ in application.audit_trail.prune(administration, before):
        pass


def page_milliseconds(application: Any) -> float:  # noqa: ANN401 - an Application
    return statistics.median(
        1000 * seconds_of(application.audit_trail.rows.newest, 50) for _ in range(PAGES)
    )


def seconds_of(action: Any, *values: Any) -> float:  # noqa: ANN401 - a function
    started = time.perf_counter()
    action(*values)
    return time.perf_counter() - started


def budgets_of(found: dict[str, dict[str, float]]) -> list[Budget]:
    smallest, *_, largest = found.values()
    return [
        Budget(
            "newest page, largest / smallest",
            largest["newest page, ms"] / max(smallest["newest page, ms"], 1.0),
            GROWTH,
        ),
        *(
            Budget(
                f"{what}, smallest / largest", smallest[what] / largest[what], GROWTH
            )
            for what in ("appended a second", "verified a second")
        ),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--large", action="store_true", help=f"{LARGE:,} records too")
    sizes = (*SIZES, LARGE) if parser.parse_args().large else SIZES
    with tempfile.TemporaryDirectory() as folder:
        os.environ["OUTKEY_HOME"] = f"{folder}/home"
        found = measure(sizes)
    return finish("growth_audit", found, budgets_of(found))


if __name__ == "__main__":
    sys.exit(main())
