"""Run the checks and the suites, some at a time, each in a process of its own.

What a part prints is shown when it has ended, and at the end the slowest tests of all
parts. `--pytest` leaves out the checks; other arguments go to pytest, as in `--full`,
which runs the long versions of the heavy suites.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock

ROOT = Path(__file__).resolve().parent.parent
BIN = ROOT / ".venv" / "bin"
AT_ONCE = (os.cpu_count() or 1) + 1  # since each suite waits at times
SHOWN = 10
WIDTH = 88
PYTEST = (BIN / "python", "-m", "pytest", "-q")
COVERED_PYTEST = (BIN / "coverage", "run", "--parallel-mode", "-m", "pytest", "-q")
FOR_PYTEST = {
    # Warnings that only the development mode of Python gives are errors in the tests,
    # and a call that reaches an event loop from another thread fails.
    # Its checks of memory are not used: they are for C code, and we have none.
    "PYTHONDEVMODE": "1",
    "PYTHONMALLOC": "default",
    "PYTHONDONTWRITEBYTECODE": "",  # else all tests are compiled anew in each run
}


@dataclass(frozen=True)
class Part:
    """Something that passes or fails on its own."""

    name: str
    command: Sequence[str | Path]
    settings: Mapping[str, str] = field(default_factory=dict)


def suite(*places: str, covered: bool = False, without: Sequence[str] = ()) -> Part:
    """Return the part that runs the tests in some folders and files."""
    name = " ".join(places)
    ignored = [f"--ignore={place}" for place in without]
    program = COVERED_PYTEST if covered else PYTEST
    return Part(name, (*program, *places, *ignored, "-m", "not alone"), FOR_PYTEST)


# What has a floor in coverage_floor.py needs these suites only, and tracing doubles the
# time of a test.
COVERED_PEERS = ("tests/peers/test_integrations.py", "tests/peers/test_nginx_tls.py")
COVERED_TABLES = (
    "tests/database/test_tables.py",
    "tests/database/test_table_faults.py",
    "tests/database/test_table_ids.py",
)
SUITES = [  # the longest first, so that none is alone at the end
    suite("tests/cli"),
    suite("tests/browser"),
    suite("tests/database", without=COVERED_TABLES),
    suite("tests/peers", without=COVERED_PEERS),
    suite("tests/unit", covered=True),
    suite("tests/scripts", "tests/faults", covered=True),
    suite("tests/contract", "tests/third_host", *COVERED_PEERS, covered=True),
    suite(*COVERED_TABLES, covered=True),
    suite("tests/docs"),
    suite("tests/spar", "tests/canary"),
]
# What measures time runs when all others have ended.
ALONE = Part(
    "what measures time",
    (*PYTEST, "tests/cli", "tests/browser", "-m", "alone"),
    FOR_PYTEST,
)
CHECKS = [
    Part(target, ("make", "--silent", target))
    for target in ("types", "docs", "lint", "architecture")
]


class Runner:
    """Runs parts and prints one after the other."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder  # where each suite writes how long its tests took
        self._lock = Lock()
        self._running: set[subprocess.Popen[bytes]] = set()

    def run(self, parts: Sequence[Part]) -> list[str]:
        """Run all parts, and return the names of those that failed."""
        pool = ThreadPoolExecutor(AT_ONCE)
        try:
            has_passed = list(pool.map(self._run_part, parts))
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in self._running:
                process.terminate()
            raise
        return [
            part.name
            for part, passed in zip(parts, has_passed, strict=True)
            if not passed
        ]

    def _run_part(self, part: Part) -> bool:
        began = time.monotonic()
        times = self._folder / f"{part.name.replace('/', '-')}.json"
        with tempfile.TemporaryFile("w+", encoding="utf-8") as output:
            process = subprocess.Popen(
                part.command,
                cwd=ROOT,
                env=os.environ | part.settings | {"OUTKEY_TEST_TIMES": str(times)},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
            self._running.add(process)
            _, status, usage = os.wait4(process.pid, 0)
            self._running.discard(process)
            process.returncode = os.waitstatus_to_exitcode(status)
            output.seek(0)
            text = output.read().rstrip()
        seconds = time.monotonic() - began
        cpu = usage.ru_utime + usage.ru_stime
        ended = f"FAILED with {process.returncode}" if status else "passed"
        with self._lock:
            print_title(f"{part.name}: {ended} after {seconds:.0f} s, {cpu:.0f} s CPU")
            print(text, flush=True)
        return not status

    def print_slowest(self) -> None:
        """Print the slowest tests of all suites."""
        times: list[tuple[float, str]] = []
        for file in self._folder.iterdir():
            times += map(tuple, json.loads(file.read_text("utf-8")))
        print_title(f"the {SHOWN} slowest of {len(times)} tests")
        for seconds, test in sorted(times, reverse=True)[:SHOWN]:
            print(f"{seconds:6.1f} s  {test}")


def print_title(text: str) -> None:
    """Print a line that begins a part."""
    print(f"── {text} ".ljust(WIDTH, "─"))


def main(arguments: Sequence[str]) -> int:
    """Run everything, and return the exit code."""
    # Whoever starts this in the background may have it ignore Ctrl-C, which tests
    # press: what has a handler here has its default in what is started.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    options = [argument for argument in arguments if argument != "--pytest"]
    parts = [replace(part, command=(*part.command, *options)) for part in SUITES]
    if "--pytest" not in arguments:
        parts += CHECKS
    coverage = BIN / "coverage"
    subprocess.run([coverage, "erase"], cwd=ROOT, check=True)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(Path(folder))
        failed = runner.run(parts)
        failed += runner.run([replace(ALONE, command=(*ALONE.command, *options))])
        runner.print_slowest()
    subprocess.run([coverage, "combine", "--quiet"], cwd=ROOT, check=False)
    floor = [sys.executable, "tools/coverage_floor.py"]
    if subprocess.run(floor, cwd=ROOT, check=False).returncode:
        failed.append("coverage")
    print_title(f"{time.monotonic() - began:.0f} s")
    print(f"FAILED: {', '.join(failed)}" if failed else "everything passed")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
