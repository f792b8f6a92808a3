"""Run the checks and the suites, some at a time, each in a process of its own.

`--quick` runs what needs no server; `--full` runs everything: the tests that are
marked `full`, the long versions of others, and coverage with its floors. `--pytest`
leaves out the checks. Other arguments go to pytest.

What a part prints is shown when it has ended, and at the end the slowest tests of all
parts. Ctrl-C and SIGTERM end everything that was started.
"""

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from descendants import adopt_orphans, end_descendants

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "tests"))

import forks  # noqa: E402 - which lies beside the suites

BIN = ROOT / ".venv" / "bin"
AT_ONCE = (os.cpu_count() or 1) + 2  # since each suite waits at times
SHOWN = 10
WIDTH = 88
PYTEST = (BIN / "python", "-m", "pytest", "-q")
TRACED_PYTEST = (BIN / "coverage", "run", "--parallel-mode", "-m", "pytest", "-q")
STOPPED = 130
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


@dataclass(frozen=True)
class Suite:
    """The tests in some folders and files."""

    places: Sequence[str]
    is_covered: bool = False  # whether it reaches a floor of coverage_floor.py
    without: Sequence[str] = ()

    def part(self, options: Sequence[str]) -> Part:
        """Return the part that runs it; tracing doubles the time of a test."""
        is_traced = self.is_covered and "--full" in options
        program = TRACED_PYTEST if is_traced else PYTEST
        ignored = [f"--ignore={place}" for place in self.without]
        command = (*program, *self.places, *ignored, "-m", "not alone", *options)
        return Part(" ".join(self.places), command, FOR_PYTEST)


def suite(*places: str, covered: bool = False, without: Sequence[str] = ()) -> Suite:
    """Return the suite of some folders and files."""
    return Suite(places, covered, without)


COVERED_PEERS = ("tests/peers/test_integrations.py", "tests/peers/test_nginx_tls.py")
COVERED_TABLES = (
    "tests/database/test_tables.py",
    "tests/database/test_table_faults.py",
    "tests/database/test_table_ids.py",
)
# The longest suites have two parts each, so that none is alone at the end.
HALF_OF_BROWSER = (
    "tests/browser/test_accessibility.py",
    "tests/browser/test_line_pages.py",
    "tests/browser/test_new_configuration.py",
    "tests/browser/test_page_states.py",
    "tests/browser/test_pages.py",
    "tests/browser/test_pair_pages.py",
)
HALF_OF_CLI = (
    "tests/cli/test_commands.py",
    "tests/cli/test_http_interface.py",
    "tests/cli/test_project.py",
    "tests/cli/test_tampering.py",
    "tests/cli/test_token_commands.py",
    "tests/cli/test_webhook_commands.py",
)
# In two parts, so that `make quick` uses two cores to its end.
UNIT_OF_SYNC = ("tests/unit/sync", "tests/unit/webhooks")
SUITES = [  # the longest first, so that none is alone at the end
    suite("tests/browser", without=HALF_OF_BROWSER),
    suite("tests/cli", without=HALF_OF_CLI),
    suite(*HALF_OF_CLI),
    suite(*HALF_OF_BROWSER),
    suite("tests/database", without=COVERED_TABLES),
    suite("tests/peers", without=COVERED_PEERS),
    suite("tests/unit", covered=True, without=UNIT_OF_SYNC),
    suite(*UNIT_OF_SYNC, covered=True),
    suite("tests/scripts", "tests/faults", covered=True),
    suite("tests/contract", "tests/third_host", *COVERED_PEERS, covered=True),
    suite(*COVERED_TABLES, covered=True),
    suite("tests/docs", "tests/tools"),
    suite("tests/spar", "tests/canary"),
]
# The commands that a change breaks first; each is a process, but none is a server.
QUICK_COMMANDS = (
    "tests/cli/test_apply.py",
    "tests/cli/test_commands.py",
    "tests/cli/test_help.py",
)
QUICK_SUITES = [
    suite("tests/unit", without=UNIT_OF_SYNC),
    suite(*UNIT_OF_SYNC),
    suite("tests/contract", "tests/third_host", "tests/spar", "tests/canary"),
    suite(*QUICK_COMMANDS),
]
# What measures time runs when all others have ended.
ALONE = (*PYTEST, "tests/cli", "tests/browser", "tests/database", "-m", "alone")
CHECKS = ("types", "lint", "architecture")
FULL_CHECKS = ("types-of-programs", "docs")


def parts_of(arguments: Sequence[str]) -> list[Part]:
    """Return what a run with these arguments consists of."""
    suites = QUICK_SUITES if "--quick" in arguments else SUITES
    options = pytest_options(arguments)
    parts = [suite.part(options) for suite in suites]
    if "--pytest" in arguments:
        return parts
    targets = (*CHECKS, *(FULL_CHECKS if "--full" in arguments else ()))
    checks = [Part(target, ("make", "--silent", target)) for target in targets]
    # First, since types take longer than the shortest suites, which fill the end.
    return checks + parts


def pytest_options(arguments: Sequence[str]) -> list[str]:
    """Return the arguments that are for pytest."""
    return [given for given in arguments if given not in {"--pytest", "--quick"}]


class Runner:
    """Runs parts and prints one after the other."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder  # where each suite writes how long its tests took
        self._lock = Lock()
        self._is_stopped = False

    def run(self, parts: Sequence[Part]) -> list[str]:
        """Run all parts, and return the names of those that failed."""
        pool = ThreadPoolExecutor(AT_ONCE)
        try:
            has_passed = list(pool.map(self._run_part, parts))
        except KeyboardInterrupt:
            with self._lock:
                self._is_stopped = True
            pool.shutdown(wait=False, cancel_futures=True)
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
            with self._lock:
                if self._is_stopped:
                    return False
                process = subprocess.Popen(
                    part.command,
                    cwd=ROOT,
                    env=os.environ | part.settings | {"OUTKEY_TEST_TIMES": str(times)},
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                )
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            output.seek(0)
            text = output.read().rstrip()
        seconds = time.monotonic() - began
        cpu = usage.ru_utime + usage.ru_stime
        ended = f"FAILED with {process.returncode}" if status else "passed"
        if self._is_stopped:
            return False
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
    """Run what is asked for, and return the exit code."""
    # Whoever starts this in the background may have it ignore Ctrl-C, which tests
    # press: what has a handler here has its default in what is started.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    adopt_orphans()
    # All temporary files of a run lie here, so that an interrupted one leaves none.
    # PostgreSQL has its folder in it, and runs as another user. The name is short
    # because a path in it may be that of a Unix socket.
    with tempfile.TemporaryDirectory(prefix="ok-", ignore_cleanup_errors=True) as own:
        Path(own).chmod(0o1777)  # as /tmp: servers run as users of their own
        os.environ["TMPDIR"] = own
        try:
            return run_all(arguments, Path(own))
        except KeyboardInterrupt:
            print("stopped: ending what was started", flush=True)
            return STOPPED
        finally:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            end_descendants()


def run_all(arguments: Sequence[str], folder: Path) -> int:
    """Run all parts, and then what must run alone; return the exit code."""
    began = time.monotonic()
    times = folder / "times"
    times.mkdir()
    runner = Runner(times)
    is_full = "--full" in arguments
    if is_full:
        subprocess.run([BIN / "coverage", "erase"], cwd=ROOT, check=True)
    with sharing_forks():
        failed = runner.run(parts_of(arguments))
        if is_full:
            command = (*ALONE, *pytest_options(arguments))
            failed += runner.run([Part("what measures time", command, FOR_PYTEST)])
    runner.print_slowest()
    if is_full:
        failed += failed_floors()
    print_title(f"{time.monotonic() - began:.0f} s, {children_cpu():.0f} s CPU")
    print(f"FAILED: {', '.join(failed)}" if failed else "everything passed")
    return int(bool(failed))


@contextmanager
def sharing_forks() -> Iterator[None]:
    """Load what commands need once for all suites, instead of once for each.

    An interrupted run ends it as everything else.
    """
    shared = forks.OwnForks()
    os.environ[forks.FORKS] = shared.folder
    yield
    del os.environ[forks.FORKS]
    before = children_cpu()
    shared.close()
    print_title(f"commands of all suites: {children_cpu() - before:.0f} s CPU")


def children_cpu() -> float:
    """Return the seconds of all processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def failed_floors() -> list[str]:
    """Compare the coverage of all traced suites with its floors."""
    combine = [BIN / "coverage", "combine", "--quiet"]
    subprocess.run(combine, cwd=ROOT, check=False)
    floors = [sys.executable, "tools/coverage_floor.py"]
    return (
        ["coverage"] if subprocess.run(floors, cwd=ROOT, check=False).returncode else []
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
