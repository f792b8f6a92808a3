"""What the audit costs: CPU per audited send, and a million rows.

Sending is measured as in send.py: outkey as an installation on SQLite with every
attempt in the chained audit, beside bare urllib3. "outkey audited" has the durability
`process`, "outkey power" the durability `power`, which has no budget. Another candidate
is urllib3 with one committed and synced row before each request, which is the least
that a record which survives a power failure costs on this machine. A million rows are
then written and read by the same code as in production.

Exit status: 0 every budget holds, 1 one is missed, 2 no server, 3 too noisy to judge.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import nginx
from report import Budget, finish
from send import (
    AUDITED,
    BARE,
    BARE_AGAIN,
    LEAST,
    POWER,
    SEQUENTIAL,
    THREADED,
    candidates,
    fastest,
    is_quiet,
    measure_until_quiet,
    noise,
)

ROWS = 1_000_000
SEQUENTIAL_LIMIT, THREADED_LIMIT = 1.35, 1.25
PAGE_MS, VERIFY_SECONDS, ROW_BYTES, GROWTH = 20.0, 60.0, 400.0, 1.25
_BATCH = 5000


def sending(*, quick: bool) -> dict[str, Any]:
    modes = [SEQUENTIAL, THREADED]
    if quick:
        modes = [replace(mode, rounds=5) for mode in modes]
    with candidates([BARE, BARE_AGAIN, AUDITED, POWER, LEAST]) as (present, _):
        measures = {candidate.name: candidate.cpu for candidate in present}
        cpu = {mode.name: measure_until_quiet(measures, mode) for mode in modes}
        ours = next(c for c in present if c.name == AUDITED)
        profile = ours.ask({"profile": 1000})
    return {
        "best": {mode: fastest(rounds) for mode, rounds in cpu.items()},
        "noise": {mode: noise(rounds) for mode, rounds in cpu.items()},
        "profile": profile,
    }


def rows(folder: Path, count: int) -> dict[str, float]:
    """Fill an installation with rows, and measure page, verification and size."""
    os.environ["OUTKEY_HOME"] = str(folder)
    from outkey.hosts.server.home import prepare

    home = prepare()
    from outkey.hosts.django.wiring import install

    application = install(home)
    few = verify()  # what the program needs by itself
    fill(application, count)
    database = home / "data" / "outkey.sqlite3"
    pages = []
    for _ in range(20):
        started = time.perf_counter()
        assert len(application.audit_trail.rows.newest(50)) == 50
        pages.append((time.perf_counter() - started) * 1000)
    many = verify()
    return {
        "newest page, ms": sorted(pages)[len(pages) // 2],
        "verify, s": many[0],
        "verify, memory of many rows / none": many[1] / few[1],
        "bytes a row": database.stat().st_size / count,
    }


def fill(application: Any, count: int) -> None:  # noqa: ANN401 - an Application, imported late
    """Write the records of sends, many to a commit, as many threads would."""
    from outkey.sending.core.audit.events import Intent, Outcome

    names = ("Host", "User-Agent", "Accept", "Accept-Encoding", "Authorization")
    intent = Intent(
        "acme", "", "bearer", "GET", "https://api.acme.example", "/orders", names, 0
    )
    for start in range(0, count, _BATCH):
        intents = [intent] * (min(_BATCH, count - start) // 2)
        for attempt in application.audit.intend_all(intents):
            application.audit.conclude(Outcome(attempt, "acme", 200, "ok", 12))
    application.audit.flush()


def verify() -> tuple[float, float]:
    """Run `outkey audit verify`; return seconds and the most memory it had, in KiB."""
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "outkey.hosts.cli.main", "audit", "verify"],
        stdout=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError("the audit is not clean")
    return time.perf_counter() - started, usage.ru_maxrss


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--quick", action="store_true", help="few rounds and 50 000 rows"
    )
    arguments = parser.parse_args()
    try:
        sent = sending(quick=arguments.quick)
    except nginx.NginxMissing:
        print("missing program: nginx (Debian package nginx-light)", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        kept = rows(Path(folder), 50_000 if arguments.quick else ROWS)
    alone, together = sent["best"][SEQUENTIAL.name], sent["best"][THREADED.name]
    budgets = [
        Budget(
            "audited / urllib3, sequential",
            alone[AUDITED] / alone[BARE],
            SEQUENTIAL_LIMIT,
        ),
        Budget(
            "audited / urllib3, 50 threads",
            together[AUDITED] / together[BARE],
            THREADED_LIMIT,
        ),
        Budget("newest page of 50, ms", kept["newest page, ms"], PAGE_MS),
        Budget("verify all rows, s", kept["verify, s"], VERIFY_SECONDS),
        Budget(
            "memory of verify / of none",
            kept["verify, memory of many rows / none"],
            GROWTH,
        ),
        Budget("bytes a row", kept["bytes a row"], ROW_BYTES),
    ]
    quiet = all(map(is_quiet, sent["noise"].values()))
    return finish("audit", sent | {"rows": kept}, budgets, quiet=quiet)


if __name__ == "__main__":
    sys.exit(main())
