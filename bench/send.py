"""CPU time per request of outkey beside bare clients and other libraries.

What is measured: CPU µs per request of one process with all its threads, sequential and
at 50 threads, for an authenticated GET of 1 KiB over kept connections to a local nginx.
Every status and length is checked. CPU and not elapsed time, because the latter depends
on what else runs.

How: each candidate is a process of its own (candidates.py) that stays alive; rounds are
shuffled and interleaved, and the fastest round counts. urllib3 runs twice: the ratio of
the two is the noise. Outside 0.9 to 1.1 more rounds follow, up to three times as many,
and if that does not help nothing is judged. The peers live in .venv-bench; what is
missing there is listed as not installed. The audit of "outkey" goes to a logger that is
not enabled; "outkey audited" is an installation on SQLite that commits every attempt
before it is sent, which audit.py looks at more closely.

Exit status: 0 every budget holds, 1 one is missed, 2 no server, 3 too noisy to judge.
"""

import argparse
import json
import os
import platform
import random
import secrets
import select
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import headers
import nginx
from candidates import CANDIDATES, THREADS, TOKEN
from report import RESULTS, Budget, show_budgets
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.progress import track
from rich.table import Table

HERE = Path(__file__).parent
PEER_PYTHON = HERE.parent / ".venv-bench" / "bin" / "python"
AUDITED, POWER, LEAST = "outkey audited", "outkey power", "urllib3 and a commit"
PEERS = ("authlib", "requests-oauthlib", "dlt", "airbyte-cdk", "singer-sdk")
OURS, BARE, BARE_AGAIN = "outkey", "urllib3", "urllib3 again"
BARE_LIMIT, PEER_LIMIT, HEADER_LIMIT = 0.6, 0.6, 10.0
QUIET = (0.9, 1.1)
PROFILED_REQUESTS, PROFILE_ROWS = 2000, 15
PATIENCE = 120.0


@dataclass(frozen=True)
class Mode:
    """One way of sending."""

    name: str
    threads: int
    requests: int
    rounds: int


# Many short rounds rather than few long ones: the more often,
# the likelier a quiet moment.
SEQUENTIAL = Mode("sequential", 1, 200, 24)
THREADED = Mode(f"{THREADS} threads", THREADS, 1000, 12)
BUILDING = Mode("header building", 1, 1000, 60)
MORE = 2
Measures = Mapping[str, Callable[[Mode], float]]


class Candidate:
    """A candidate's process, as the benchmark speaks to it."""

    def __init__(self, name: str, process: subprocess.Popen[str], log: Path) -> None:
        self.name = name
        self._process = process
        self._log = log

    def ask(self, command: dict[str, int]) -> Any:  # noqa: ANN401 - whatever JSON it answers
        assert self._process.stdin
        print(json.dumps(command), file=self._process.stdin, flush=True)
        return self.answer()

    def answer(self, patience: float = PATIENCE) -> Any:  # noqa: ANN401 - whatever JSON it answers
        assert self._process.stdout
        ready, _, _ = select.select([self._process.stdout], [], [], patience)
        line = self._process.stdout.readline() if ready else ""
        if not line:
            raise RuntimeError(
                f"{self.name} gave no answer:\n{self._log.read_text()[-2000:]}"
            )
        return json.loads(line)

    def cpu(self, mode: Mode) -> float:
        return float(self.ask({"requests": mode.requests, "threads": mode.threads}))


@contextmanager
def started(name: str, url: str, token: str, folder: Path) -> Iterator[Candidate]:
    """Run a candidate in a clean environment: no proxy, netrc or configuration file."""
    python = PEER_PYTHON if name in PEERS else Path(sys.executable)
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        TOKEN: token,
        "OUTKEY_HOME": str(folder / f"home of {name}"),
        "OAUTHLIB_INSECURE_TRANSPORT": (
            "1"
        ),  # requests-oauthlib refuses plain http otherwise
        "RUNTIME__DLTHUB_TELEMETRY": "false",
    }
    log = folder / f"{name}.log"
    with log.open("w") as errors:
        process = subprocess.Popen(
            [python, HERE / "candidates.py", name, url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=environment,
            cwd=folder,
            text=True,
        )
    try:
        yield Candidate(name, process, log)
    finally:
        process.kill()
        process.communicate()


def measure(measures: Measures, mode: Mode) -> dict[str, list[float]]:
    """Return the CPU µs of every round, by what was measured."""
    cpu: dict[str, list[float]] = {name: [] for name in measures}
    shown = Console(stderr=True)
    hidden = not shown.is_terminal
    for _ in track(
        range(mode.rounds), mode.name, console=shown, transient=True, disable=hidden
    ):
        for name in random.sample(list(measures), len(measures)):
            cpu[name].append(measures[name](mode))
    return cpu


def measure_until_quiet(measures: Measures, mode: Mode) -> dict[str, list[float]]:
    """Measure, and repeat if there is too much noise.

    The fastest rounds can only get closer.
    """
    cpu = measure(measures, mode)
    for _ in range(MORE):
        if is_quiet(noise(cpu)):
            break
        for name, rounds in measure(measures, mode).items():
            cpu[name] += rounds
    return cpu


def noise(cpu: dict[str, list[float]]) -> float:
    return min(cpu[BARE_AGAIN]) / min(cpu[BARE])


def is_quiet(ratio: float) -> bool:
    return QUIET[0] <= ratio <= QUIET[1]


def header_measures() -> Measures:
    return {
        name: partial(_header_cpu, build) for name, build in headers.builders().items()
    }


def _header_cpu(build: Callable[[], object], mode: Mode) -> float:
    return headers.cpu(build, mode.requests)


@contextmanager
def candidates(
    names: Iterable[str],
) -> Iterator[tuple[list[Candidate], dict[str, Any]]]:
    """Start server and candidates; yield the installed ones with their versions."""
    token = secrets.token_urlsafe(30)
    os.environ[TOKEN] = token
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        url = stack.enter_context(nginx.serving(folder, token))
        wanted = [name for name in names if name not in PEERS or PEER_PYTHON.exists()]
        running = [
            stack.enter_context(started(name, url, token, folder)) for name in wanted
        ]
        greetings = {candidate.name: candidate.answer() for candidate in running}
        yield [c for c in running if "missing" not in greetings[c.name]], greetings


def run(modes: list[Mode], building: Mode, *, profiled: bool) -> dict[str, Any]:
    """Measure everything, and return all that was found."""
    with candidates(n for n in CANDIDATES if n not in (POWER, LEAST)) as (
        present,
        greetings,
    ):
        measures = {candidate.name: candidate.cpu for candidate in present}
        found = {
            "python": platform.python_version(),
            "versions": {c.name: greetings[c.name]["version"] for c in present},
            "not installed": sorted(set(greetings) - {c.name for c in present}),
            "cpu": {mode.name: measure_until_quiet(measures, mode) for mode in modes},
            "header building": measure(header_measures(), building),
        }
        return judged(found) | profile_where_wanted(found, present, profiled=profiled)


def judged(found: dict[str, Any]) -> dict[str, Any]:
    """Add what follows from the measurements: best rounds, noise and budgets."""
    found["best"] = {mode: fastest(cpu) for mode, cpu in found["cpu"].items()}
    found["noise"] = {mode: noise(cpu) for mode, cpu in found["cpu"].items()}
    found["quiet"] = all(map(is_quiet, found["noise"].values()))
    found["budgets"] = [
        asdict(budget) | {"holds": budget.holds} for budget in budgets(found)
    ]
    return found


def fastest(cpu: dict[str, list[float]]) -> dict[str, float]:
    return {name: min(rounds) for name, rounds in cpu.items()}


def budgets(found: dict[str, Any]) -> Iterator[Budget]:
    best = found["best"]
    alone = best[SEQUENTIAL.name]
    yield Budget(
        f"outkey / urllib3, {SEQUENTIAL.name}", alone[OURS] / alone[BARE], BARE_LIMIT
    )
    for mode, cpu in best.items():
        for peer in PEERS:
            if peer in cpu:
                yield Budget(
                    f"outkey / {peer}, {mode}", cpu[OURS] / cpu[peer], PEER_LIMIT
                )
    building = fastest(found["header building"])
    plain = building.pop(headers.PLAIN)
    for scheme, cpu in building.items():
        yield Budget(f"µs over a dict for {scheme} headers", cpu - plain, HEADER_LIMIT)


def profile_where_wanted(
    found: dict[str, Any], present: list[Candidate], *, profiled: bool
) -> dict[str, Any]:
    """Say where the time goes if asked to, or if a budget was missed."""
    if not profiled and all(budget["holds"] for budget in found["budgets"]):
        return {}
    ours = next(candidate for candidate in present if candidate.name == OURS)
    sending = {"a sequential send": ours.ask({"profile": PROFILED_REQUESTS})}
    building = {f"building {s} headers": rows for s, rows in headers.profiles().items()}
    return {"profiles": sending | building}


def show(found: dict[str, Any]) -> None:
    console = Console()
    for mode, cpu in found["best"].items():
        console.print(_figures(mode, cpu, found["versions"]))
    for name in found["not installed"]:
        console.print(f"{name}: not installed")
    for mode, ratio in found["noise"].items():
        console.print(f"A/A (urllib3 twice), {mode}: {ratio:.2f}")
    show_budgets(console, found["budgets"])
    for what, rows in found.get("profiles", {}).items():
        console.print(_profile(what, rows))


def _figures(mode: str, cpu: dict[str, float], versions: dict[str, str]) -> Table:
    table = Table(title=f"CPU µs per request, {mode}", box=SIMPLE_HEAD)
    table.add_column("candidate")
    for heading in ("µs", "/ urllib3", "outkey / it"):
        table.add_column(heading, justify="right")
    table.add_column("")
    for name, version in versions.items():
        ratio = cpu[name] / cpu[BARE]
        cells = f"{cpu[name]:.0f}", f"{ratio:.2f}", f"{cpu[OURS] / cpu[name]:.2f}"
        bar = "▇" * round(ratio * 4)
        table.add_row(
            f"{name} {version}", *cells, bar, style="bold" if name == OURS else ""
        )
    return table


def _profile(what: str, rows: list[tuple[str, float, float]]) -> Table:
    table = Table(
        title=f"{what}, own µs per call, profiler's cost included", box=SIMPLE_HEAD
    )
    table.add_column("function", no_wrap=True)
    table.add_column("calls", justify="right")
    table.add_column("µs", justify="right")
    for name, calls, own in rows[:PROFILE_ROWS]:
        table.add_row(escape(name), f"{calls:.1f}", f"{own:.1f}")
    return table


def exit_status(found: dict[str, Any]) -> int:
    if not found["quiet"]:
        print(
            "too noisy to judge: urllib3 against itself is outside 0.9 to 1.1",
            file=sys.stderr,
        )
        return 3
    return 0 if all(budget["holds"] for budget in found["budgets"]) else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="five rounds of each")
    parser.add_argument("--json", action="store_true", help="print nothing but JSON")
    parser.add_argument(
        "--profile", action="store_true", help="show where outkey's time goes"
    )
    arguments = parser.parse_args()
    modes = [SEQUENTIAL, THREADED, BUILDING]
    if arguments.quick:
        modes = [replace(mode, rounds=5) for mode in modes]
    *sending, building = modes
    try:
        found = run(sending, building, profiled=arguments.profile)
    except nginx.NginxMissing:
        print("missing program: nginx (Debian package nginx-light)", file=sys.stderr)
        return 2
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "send.json").write_text(json.dumps(found, indent=1), encoding="utf-8")
    if arguments.json:
        print(json.dumps(found, indent=1))
    else:
        show(found)
    return exit_status(found)


if __name__ == "__main__":
    sys.exit(main())
