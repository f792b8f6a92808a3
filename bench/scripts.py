"""What a locked script costs, beside the same function called in this process.

Bare calls and locked ones take turns in short rounds, so that both see the same
machine; bare against bare says how far the run can be trusted. The budget is on the
median of all rounds; the quieter quarter is shown beside it, since a locked call needs
two processes to be woken and so suffers more from neighbours than a bare one. An empty
round trip to another process, which is what no design on this side of the kernel can go
below, is a row of its own. Memory is what one worker has for itself.

A whole send is measured too: one with a script beside one without, taking turns, from
one gateway to the nginx of the other benchmarks. Between two calls of a send much other
code runs, so that the script's share is more than a locked call in a loop.

Exit status: 0 every budget holds, 1 one is missed, 2 no server, 3 the machine is too
noisy to judge.
"""

import gc
import os
import re
import secrets
import socket
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nginx
from candidates import TOKEN
from report import Budget, finish
from rich.console import Console
from rich.progress import track
from rich.table import Table

from outkey.foundation.core.secret import Secret
from outkey.hosts.file.loading import from_text
from outkey.sending.adapters.scripts_locked.pool import LockedScripts
from outkey.sending.core.request.script import ScriptCall

ROUNDS, CALLS, READY, WORKERS = 40, 500, 40, 20
TIMES_BARE, PER_SECOND, READY_MILLISECONDS, MEGABYTES = 9.0, 20_000, 8.0, 3.0
TIMES_BARE_P99, TIMES_BARE_BATCH, BATCH = 25.0, 2.5, 64
SENDS, SIGNED_MICROSECONDS = 100, 150.0
PLAIN, PLAIN_AGAIN, SIGNED = "plain", "plain again", "signed"
# Upper by lower quartile of the bare call's rounds: more, and others use the cores.
NOISE = 1.2
PEERS = Path(__file__).parents[1] / ".venv-bench"
KEY = "an-example-secret"
EXAMPLE = """
import time, hmac, hashlib

def compute_auth_header(sync_line):
    timestamp = str(int(time.time()))
    secret = sync_line.api_config_id.get_secret_key()
    mac = hmac.new(secret.encode(), timestamp.encode(), hashlib.sha256)
    return {"X-Timestamp": timestamp, "X-Signature": mac.hexdigest()}
"""


def call_at(place: str) -> ScriptCall:
    return ScriptCall(
        place=place,
        source=EXAMPLE,
        secret=Secret(KEY),
        name="orders",
        configuration="acme",
        base_url="https://api.acme.example",
        username="",
        method="GET",
        url="https://api.acme.example/orders?page=2",
        path="/orders",
        query="page=2",
    )


def bare() -> Callable[[], object]:
    """Return the example as a plain function call."""
    space: dict[str, Any] = {}
    exec(EXAMPLE, space)
    line = SimpleNamespace(api_config_id=SimpleNamespace(get_secret_key=lambda: KEY))
    return lambda: space["compute_auth_header"](line)


def restricted() -> Callable[[], object]:
    """Return the example under RestrictedPython: in this process, and no boundary."""
    from RestrictedPython import compile_restricted, safe_builtins

    def importing(name: str, *_rest: object) -> object:
        return __import__(name)

    space: dict[str, Any] = {"__builtins__": safe_builtins | {"__import__": importing}}
    space["_getattr_"] = getattr
    space["__name__"] = "script"
    exec(compile_restricted(EXAMPLE, "<script>", "exec"), space)
    line = SimpleNamespace(api_config_id=SimpleNamespace(get_secret_key=lambda: KEY))
    return lambda: space["compute_auth_header"](line)


def monty() -> Callable[[], object]:
    """Return the nearest thing in Monty, which has no hmac: time and text only."""
    import pydantic_monty

    session = (
        pydantic_monty.Monty(binary_path=str(PEERS / "bin" / "monty"))
        .__enter__()
        .checkout()
        .__enter__()
    )
    source = "{'X-Timestamp': str(at), 'X-Key': key}"
    return lambda: session.feed_run(source, inputs={"at": int(time.time()), "key": KEY})


@contextmanager
def echo() -> Iterator[Callable[[], object]]:
    """Give a round trip to a process that returns what it is sent."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if (child := os.fork()) == 0:
        ours.close()
        while message := theirs.recv(4096):
            theirs.send(message)
        os._exit(0)
    theirs.close()
    message, room = bytes(200), bytearray(4096)

    def there_and_back() -> None:
        ours.send(message)
        ours.recv_into(room)

    with ours:
        yield there_and_back
    os.waitpid(child, 0)


def durations(function: Callable[[], object], calls: int) -> list[float]:
    """Return how long each call took, in µs."""
    clock, found = time.perf_counter_ns, []
    for _ in range(calls):
        before = clock()
        function()
        found.append((clock() - before) / 1000)
    return found


def in_turns(functions: dict[str, Callable[[], object]]) -> dict[str, list[float]]:
    """Return quartiles of the rounds' medians and the 99th percentile, by function."""
    medians: dict[str, list[float]] = {name: [] for name in functions}
    every: dict[str, list[float]] = {name: [] for name in functions}
    console = Console(stderr=True)
    for _ in track(range(ROUNDS), "calling", console=console, transient=True):
        for name, function in functions.items():
            found = durations(function, CALLS)
            medians[name].append(statistics.median(found))
            every[name] += found
    return {
        name: [
            *statistics.quantiles(medians[name]),
            statistics.quantiles(every[name], n=100)[-1],
        ]
        for name in functions
    }


def batched(
    bare: Callable[[], object], scripts: LockedScripts, call: ScriptCall
) -> float:
    """Return how many times a bare call one of a batch takes."""
    calls, ratios = [call] * BATCH, []
    for _ in range(ROUNDS):
        alone = statistics.median(durations(bare, CALLS))
        together = statistics.median(durations(lambda: scripts.run_all(calls), 20))
        ratios.append(together / BATCH / alone)
    return statistics.median(ratios)


def per_second(function: Callable[[], object]) -> float:
    """Return the calls a second of one thread, the median of some rounds."""
    rates = []
    for _ in range(9):
        started = time.perf_counter()
        for _ in range(2000):
            function()
        rates.append(2000 / (time.perf_counter() - started))
    return statistics.median(rates)


def sends() -> dict[str, dict[str, float]]:
    """Return the µs of a send by p50, and its CPU, without and with a script."""
    token = secrets.token_urlsafe(30)
    os.environ[TOKEN] = token
    with (
        tempfile.TemporaryDirectory() as folder,
        nginx.serving(Path(folder), token) as url,
        from_text(send_document(url)) as gateway,
    ):

        def send(name: str) -> None:
            if gateway.send(name, "GET", "/").status != 200:
                raise RuntimeError(f"{name} was refused")

        spent: dict[str, list[float]] = {}
        cpu: dict[str, list[float]] = {}
        for number in range(ROUNDS + 1):
            for name in (PLAIN, SIGNED, PLAIN_AGAIN):
                before = time.process_time()
                found = durations(partial(send, name), SENDS)
                if number:  # the first round opens connections and starts the worker
                    spent.setdefault(name, []).extend(found)
                    seconds = time.process_time() - before
                    cpu.setdefault(name, []).append(seconds / SENDS * 1e6)
    return {
        name: {"p50": statistics.median(spent[name]), "cpu": statistics.median(rounds)}
        for name, rounds in cpu.items()
    }


def send_document(url: str) -> str:
    """Return a document with the same API twice without a script and once with it."""
    common = (
        f'base_url = "{url}"\nnetwork = "internal"\nauthentication_type = "bearer"\n'
        f'token = "env:{TOKEN}"\n'
    )
    return (
        f'[configuration.{PLAIN}]\n{common}[configuration."{PLAIN_AGAIN}"]\n{common}'
        f"[configuration.{SIGNED}]\n{common}script = '''{EXAMPLE}'''\n"
    )


def ready(scripts: LockedScripts) -> float:
    """Return the median ms until a new configuration has its first headers."""
    spent = []
    for number in range(READY):
        call = call_at(f"new{number}")
        started = time.perf_counter()
        scripts.run(call)
        spent.append((time.perf_counter() - started) * 1000)
    return statistics.median(spent)


def memory(scripts: LockedScripts) -> float | None:
    """Return the MB that a worker shares with nobody; only root may look."""
    if os.getuid() != 0:
        return None
    found = []
    for number in range(WORKERS):
        place = f"new{number + READY - WORKERS}"
        pidfd = scripts._slots[place]._worker._pidfd  # type: ignore[union-attr]  # noqa: SLF001
        pid = re.search(r"Pid:\s+(\d+)", Path(f"/proc/self/fdinfo/{pidfd}").read_text())
        assert pid
        rollup = Path(f"/proc/{pid[1]}/smaps_rollup").read_text()
        kib = re.findall(r"^Private_\w+:\s+(\d+)", rollup, re.MULTILINE)
        found.append(sum(map(int, kib)) / 1024)
    return statistics.median(found)


def rivals() -> tuple[dict[str, Callable[[], object]], dict[str, str]]:
    """Return the rivals that can be called here, and why the others cannot."""
    found, missing = {}, {}
    sys.path += map(str, PEERS.glob("lib/python*/site-packages"))
    for name, make in (("RestrictedPython", restricted), ("pydantic-monty", monty)):
        try:
            found[name] = make()
            found[name]()
        except Exception as error:  # noqa: BLE001 - named in the table
            found.pop(name, None)
            missing[name] = f"{type(error).__name__}: {error}"
    return found, missing


def show(found: dict[str, Any], missing: dict[str, str]) -> None:
    table = Table(
        "µs a call", "p50", "x bare", "quieter quarter", "x bare", "p99", "x bare p99"
    )
    bare_quiet, bare_median, _, bare_slow = found["µs"]["bare"]
    for name, (quiet, middle, _, slow) in found["µs"].items():
        cells: list[str] = []
        for value, by in (
            (middle, bare_median),
            (quiet, bare_quiet),
            (slow, bare_slow),
        ):
            cells += f"{value:.1f}", f"{value / by:.1f}"
        table.add_row(name, *cells)
    console = Console()
    console.print(table)
    for name, figures in found["sends, µs"].items():
        console.print(
            f"send, {name}: p50 {figures['p50']:.0f}, CPU {figures['cpu']:.0f}"
        )
    for name, reason in missing.items():
        console.print(f"{name}: {reason}")
    for what in (
        "batch x bare",
        "calls/s",
        "first start, ms",
        "ready, ms",
        "private, MB",
    ):
        console.print(f"{what}: {found[what]}")


def main() -> int:
    scripts = LockedScripts()
    started = time.perf_counter()
    call = call_at("warm")
    scripts.run(call)
    found: dict[str, Any] = {"first start, ms": (time.perf_counter() - started) * 1000}
    others, missing = rivals()
    locked = {"locked worker": lambda: scripts.run(call)}
    gc.freeze()
    with echo() as there_and_back:
        compared = {
            "bare": bare(),
            "bare again": bare(),
            "empty round trip": there_and_back,
        }
        found["µs"] = in_turns(compared | locked | others)
    cost = {name: middle for name, (_, middle, _, _) in found["µs"].items()}
    slow = {name: slowest for name, (*_, slowest) in found["µs"].items()}
    found["batch x bare"] = batched(bare(), scripts, call)
    found["calls/s"] = per_second(locked["locked worker"])
    found["ready, ms"] = ready(scripts)
    found["private, MB"] = memory(scripts)
    scripts.close()
    try:
        found["sends, µs"] = sends()
    except nginx.NginxMissing:
        print("missing program: nginx (Debian package nginx-light)", file=sys.stderr)
        return 2
    sent = {name: figures["p50"] for name, figures in found["sends, µs"].items()}
    show(found, missing)
    budgets = [
        Budget("locked / bare, p50", cost["locked worker"] / cost["bare"], TIMES_BARE),
        Budget(
            "locked / bare, p99", slow["locked worker"] / slow["bare"], TIMES_BARE_P99
        ),
        Budget(
            f"one of a batch of {BATCH} / bare", found["batch x bare"], TIMES_BARE_BATCH
        ),
        Budget("µs a call, one thread", 1e6 / found["calls/s"], 1e6 / PER_SECOND),
        Budget("new configuration ready, ms", found["ready, ms"], READY_MILLISECONDS),
        Budget(
            "µs that a script adds to a send, p50",
            sent[SIGNED] - sent[PLAIN],
            SIGNED_MICROSECONDS,
        ),
    ]
    if found["private, MB"] is not None:
        budgets.append(
            Budget("private memory of a worker, MB", found["private, MB"], MEGABYTES)
        )
    low, _, high, _ = found["µs"]["bare"]
    quiet = 0.9 <= cost["bare again"] / cost["bare"] <= 1.1 and high / low <= NOISE
    quiet = quiet and 0.9 <= sent[PLAIN_AGAIN] / sent[PLAIN] <= 1.1
    return finish("scripts", found, budgets, quiet=quiet)


if __name__ == "__main__":
    sys.exit(main())
