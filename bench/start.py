"""The cost of a command before it does anything, and of a server with nothing to do.

Commands: processor seconds of whole processes. `outkey serve` on SQLite and, where
PostgreSQL is installed, `outkey serve` and `outkey worker` on it: processor seconds
until they are ready, resident memory then, and the share of a core that they use while
nothing happens. The home has been served before: the first start makes all tables.

Each command is a process of its own, with a home that exists. `test` sends its request
to the sparring provider in this process, whose time is not counted. An empty Django
project is measured in the same rounds: on a busy machine all of them take longer.
"""

import http.client
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import postgresql
from report import Budget, finish

from outkey.spar import Spar

ROUNDS = 7
STARTS = 3  # of a server or worker
IDLE_SECONDS = 60.0  # four looks at the schedules, and one round of monitoring
SETTLED_SECONDS = 3.0
PATIENCE = 60.0
MOST_MEBIBYTES, MOST_IDLE_PERCENT, MOST_START_SECONDS = 90.0, 0.3, 1.5
TICKS = os.sysconf("SC_CLK_TCK")
OUTKEY = str(Path(sys.executable).with_name("outkey"))
DJANGO = """
import django
from django.conf import settings
settings.configure()
django.setup()
"""
COMMANDS = {
    "python": [sys.executable, "-c", "pass"],
    "empty Django project": [sys.executable, "-c", DJANGO],
    "outkey --help": [OUTKEY, "--help"],
    "outkey list": [OUTKEY, "list"],
    "outkey show": [OUTKEY, "show", "acme"],
    "outkey test": [OUTKEY, "test", "acme"],
}
LIMITS = {
    "outkey --help": 0.15,
    "outkey list": 0.45,
    "outkey show": 0.45,
    "outkey test": 0.45,
}
DOCUMENT = """
[configuration.acme]
base_url = "{url}"
network = "internal"
authentication_type = "bearer"
"""


def processor_seconds(command: list[str], environment: dict[str, str]) -> float:
    """Run a command that succeeds, and return the user and system time it took."""
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def make_home(url: str, environment: dict[str, str]) -> None:
    """Create a home with one configuration that works."""
    entered = {
        (OUTKEY, "apply", "-"): DOCUMENT.format(url=url),
        (OUTKEY, "secret", "set", "acme", "token"): "spar-token",
    }
    for command, text in entered.items():
        subprocess.run(
            command,
            env=environment,
            input=text,
            text=True,
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )


@contextmanager
def running(
    name: str, environment: dict[str, str]
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a server or a worker, ready, as long as the block does."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    arguments = ["serve", "--port", str(port)] if name == "serve" else [name]
    process = subprocess.Popen(
        [OUTKEY, *arguments], env=environment, stdout=subprocess.DEVNULL
    )
    try:
        if name == "serve":
            wait_for_response(port)
        else:
            wait_until_idle(process)
        yield process
    finally:
        process.terminate()
        process.wait(PATIENCE)


def wait_for_response(port: int) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        try:
            connection.request("GET", "/healthz")
            connection.getresponse().read()
        except OSError:
            time.sleep(0.02)
        else:
            return
        finally:
            connection.close()
    raise RuntimeError("the server did not start")


def wait_until_idle(process: subprocess.Popen[bytes]) -> None:
    """Wait until a process that has worked uses hardly any processor time."""
    deadline = time.monotonic() + PATIENCE
    used = 0.0
    while time.monotonic() < deadline:
        time.sleep(1.0)
        before, used = used, seconds_of(process)
        if before and used - before <= 1 / TICKS:
            return
    raise RuntimeError("the worker does not come to rest")


def seconds_of(process: subprocess.Popen[bytes]) -> float:
    """Return the user and system time of a process that runs."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def mebibytes_of(process: subprocess.Popen[bytes]) -> float:
    """Return the resident memory of a process."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    resident = re.search(r"VmRSS:\s+(\d+)", status)
    return int(resident[1]) / 1024 if resident else 0.0


def measure_process(name: str, environment: dict[str, str]) -> dict[str, float]:
    """Return what a server or worker needs to start, and while nothing happens."""
    ready = []
    for _ in range(STARTS):
        with running(name, environment) as process:
            ready.append(seconds_of(process))
    with running(name, environment) as process:
        time.sleep(SETTLED_SECONDS)
        resident = mebibytes_of(process)
        before, began = seconds_of(process), time.monotonic()
        time.sleep(IDLE_SECONDS)
        used = seconds_of(process) - before
        idle = used / (time.monotonic() - began) * 100
    return {"seconds": min(ready), "MiB": resident, "idle %": idle}


def measure_processes(environment: dict[str, str]) -> dict[str, dict[str, float]]:
    """Measure server and worker, on SQLite and on PostgreSQL if it is installed."""
    measured = {"serve, SQLite": measure_process("serve", environment)}
    with ExitStack() as stack:
        try:
            cluster = stack.enter_context(postgresql.running())
        except postgresql.PostgresqlMissing:
            print("not measured: PostgreSQL is not installed")
            return measured
        url = cluster.new_database()
        home = f"{environment['OUTKEY_HOME']}-postgresql"
        environment = environment | {"OUTKEY_DATABASE_URL": url, "OUTKEY_HOME": home}
        with running("serve", environment):
            pass  # makes the tables
        for name in ("serve", "worker"):
            label = f"{name}, PostgreSQL"
            measured[label] = measure_process(name, environment)
    return measured


def budgets_of(name: str, figures: dict[str, float]) -> list[Budget]:
    return [
        Budget(
            f"{name}, start, s of processor", figures["seconds"], MOST_START_SECONDS
        ),
        Budget(f"{name}, MiB after the start", figures["MiB"], MOST_MEBIBYTES),
        Budget(f"{name}, idle, % of a core", figures["idle %"], MOST_IDLE_PERCENT),
    ]


def main() -> int:
    """Measure all commands in turns, and judge the least of each."""
    with tempfile.TemporaryDirectory() as folder, Spar() as spar:
        environment = {"PATH": os.environ["PATH"], "OUTKEY_HOME": f"{folder}/home"}
        make_home(spar.url, environment)
        seconds: dict[str, list[float]] = {name: [] for name in COMMANDS}
        for _ in range(ROUNDS):
            for name, command in COMMANDS.items():
                seconds[name].append(processor_seconds(command, environment))
        with running("serve", environment):
            pass  # makes the first administrator
        servers = measure_processes(environment)
    least = {name: min(measured) for name, measured in seconds.items()}
    for name, measured in least.items():
        print(f"{name}: {measured:.3f} s of processor time")
    budgets = [
        Budget(f"{name}, seconds of processor time", least[name], limit)
        for name, limit in LIMITS.items()
    ]
    for name, figures in servers.items():
        budgets += budgets_of(name, figures)
    found = {"seconds": seconds, "least": least, "processes": servers}
    return finish("start", found, budgets)


if __name__ == "__main__":
    sys.exit(main())
