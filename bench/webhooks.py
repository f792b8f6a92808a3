"""How many deliveries of webhooks a server commits, and how long senders wait.

A server process, and a sender in another process that signs, keeps its connections and
repeats what is not answered with 200. Latency counts from when a delivery was due, not
from when a connection was free for it; the first two seconds do not count. Afterwards
each delivery has to be in the table exactly once. With `--kills` the server is killed
that many times while deliveries arrive, and PostgreSQL is restarted in the middle.

`--processing` also processes the deliveries, with a function that does nothing: in the
server on SQLite, in `outkey worker` on PostgreSQL.

Exit status: 0 every budget holds, 1 one is missed, 2 no PostgreSQL.
"""

import argparse
import json
import os
import secrets
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import postgresql
from report import Budget, finish
from rich.console import Console
from rich.table import Table

OUTKEY = Path(sys.executable).with_name("outkey")
SENDER = Path(__file__).with_name("webhook_sender.py")
SLOWEST_MILLISECONDS = 250.0  # of 99 in 100 responses
PER_SECOND = 500.0
WARM_UP = 2.0  # seconds until the server's threads have their connections
MOST_PER_SECOND = 3000  # without a rate
PATIENCE = 60.0
HANDLER = "builtins.bool"
DOCUMENT = f"""
[webhook.bench]
scheme = "shopify"
handler = "{HANDLER}"
"""
# The server as `outkey serve` runs it, but without the threads that process deliveries.
RECEIVING_ONLY = """
import sys
from outkey.hosts.server.home import PAGES, prepare
prepare(PAGES)
from outkey.hosts.server.web.serve import listen, serve
serve(listen("127.0.0.1", int(sys.argv[1])), [])
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--rate", type=int, default=550, help="0: as fast as possible")
    parser.add_argument("--database", choices=["sqlite", "postgresql"], action="append")
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--bytes", type=int, default=1024)
    parser.add_argument("--processing", action="store_true")
    parser.add_argument("--kills", type=int, default=0)
    options = parser.parse_args()
    found: dict[str, Any] = {}
    for database in options.database or ["sqlite", "postgresql"]:
        try:
            found[database] = measure_on(database, options)
        except postgresql.PostgresqlMissing:
            print("PostgreSQL is not installed", file=sys.stderr)
            return 2
    show(found)
    budgets = [budget for name in found for budget in budgets_of(name, found[name])]
    if options.kills:  # a server that starts again answers nothing for a while
        budgets = [budget for budget in budgets if budget.limit == 0]
    return finish("webhooks", found, budgets)


def budgets_of(name: str, figures: dict[str, Any]) -> list[Budget]:
    each = 1000 / figures["per_second"] if figures["per_second"] else float("inf")
    return [
        Budget(f"{name}: ms for each delivery", each, 1000 / PER_SECOND),
        Budget(f"{name}: ms of a response, p99", figures["p99"], SLOWEST_MILLISECONDS),
        Budget(f"{name}: lost", figures["lost"], 0),
        Budget(f"{name}: doubled", figures["doubled"], 0),
    ]


def show(found: dict[str, Any]) -> None:
    table = Table("database", "per second", "p50 ms", "p99 ms", "lost", "doubled")
    table.add_column("CPU ms")
    for name, figures in found.items():
        table.add_row(
            name,
            f"{figures['per_second']:.0f}",
            f"{figures['p50']:.1f}",
            f"{figures['p99']:.1f}",
            str(figures["lost"]),
            str(figures["doubled"]),
            f"{figures['processor_ms']:.2f}",
        )
    Console().print(table)


def measure_on(database: str, options: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            "PATH": os.environ["PATH"],
            "OUTKEY_HOME": f"{folder}/home",
            "OUTKEY_WEBHOOK_HANDLERS": HANDLER,
        }
        if database == "sqlite":
            return measure(environment, options, None)
        with postgresql.running() as cluster:
            environment["OUTKEY_DATABASE_URL"] = cluster.new_database()
            return measure(environment, options, cluster)


def measure(
    environment: dict[str, str],
    options: argparse.Namespace,
    cluster: postgresql.Cluster | None,
) -> dict[str, Any]:
    secret = secrets.token_hex(16)
    run_command(environment, "apply", "-", stdin=DOCUMENT)
    run_command(environment, "webhook", "secret", "bench", stdin=secret)
    task = {
        "host": "127.0.0.1",
        "port": free_port(),
        "path": endpoint_path(environment, "bench"),
        "secret": secret,
        "run": secrets.token_hex(4),
        "seconds": options.seconds,
        "count": options.seconds * (options.rate or MOST_PER_SECOND),
        "rate": options.rate,
        "connections": options.connections,
        "warm_up": 0 if options.kills else WARM_UP,
        "bytes": options.bytes,
    }
    is_processing = options.processing
    with working(environment, is_wanted=is_processing and cluster is not None):
        server = Server(environment, task["port"], is_processing=is_processing)
        server.start()
        try:
            before = server.processor_seconds()
            with sending(task) as sender:
                interrupt(server, options, cluster)
                seen = json.loads(sender.communicate()[0])
            used = server.processor_seconds() - before
        finally:
            server.stop()
    keys = stored_keys(environment)
    wanted = {f"{task['run']}-{number}" for number in range(seen["due"])}
    times = sorted(seen["latencies"])
    return {
        "per_second": seen["answered"] / seen["seconds"],
        "p50": 1000 * statistics.median(times),
        "p99": 1000 * times[len(times) * 99 // 100],
        "lost": len(wanted - set(keys)),
        "doubled": len(keys) - len(set(keys)),
        "interruptions": seen["interruptions"],
        "statuses": seen["statuses"],
        "processor_ms": 1000 * used / max(seen["answered"], 1),
    }


@contextmanager
def sending(task: dict[str, Any]) -> Iterator[subprocess.Popen[str]]:
    """Run the sender."""
    sender = subprocess.Popen(
        [sys.executable, SENDER, json.dumps(task)], stdout=subprocess.PIPE, text=True
    )
    try:
        yield sender
    finally:
        sender.kill()
        sender.wait()


class Server:
    """The server of one measurement; each start is a new process on the same port."""

    def __init__(
        self, environment: dict[str, str], port: int, *, is_processing: bool
    ) -> None:
        self._environment = environment
        self._port = port
        self._command = [str(OUTKEY), "serve", "--port", str(port)]
        if not is_processing:
            self._command = [sys.executable, "-c", RECEIVING_ONLY, str(port)]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self._process = subprocess.Popen(
            self._command, env=self._environment, stdout=subprocess.DEVNULL
        )
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", self._port), 5).close()
            except OSError:
                time.sleep(0.05)
            else:
                return
        raise RuntimeError("the server did not start")

    def processor_seconds(self) -> float:
        """Return how much processor time the server has taken since its last start."""
        assert self._process is not None
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().split()
        return (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(PATIENCE)


def interrupt(
    server: Server, options: argparse.Namespace, cluster: postgresql.Cluster | None
) -> None:
    """Kill the server and restart it, again and again; PostgreSQL once."""
    for number in range(options.kills):
        time.sleep(options.seconds / (options.kills + 1))
        if cluster is not None and number == options.kills // 2:
            cluster.restart()
        server.kill()
        server.start()


@contextmanager
def working(environment: dict[str, str], *, is_wanted: bool) -> Iterator[None]:
    """Run a worker, if one is wanted."""
    if not is_wanted:
        yield
        return
    worker = subprocess.Popen(
        [OUTKEY, "worker"], env=environment, stdout=subprocess.DEVNULL
    )
    try:
        yield
    finally:
        worker.terminate()
        worker.wait(PATIENCE)


def stored_keys(environment: dict[str, str]) -> list[str]:
    """Return the ids of all stored events, as the database has them."""
    statement = "SELECT event_id FROM outkey_delivery"
    if "OUTKEY_DATABASE_URL" in environment:
        import psycopg

        with psycopg.connect(environment["OUTKEY_DATABASE_URL"]) as database:
            return [key for (key,) in database.execute(statement).fetchall()]
    import sqlite3

    file = Path(environment["OUTKEY_HOME"], "data", "outkey.sqlite3")
    return [key for (key,) in sqlite3.connect(file).execute(statement).fetchall()]


def endpoint_path(environment: dict[str, str], name: str) -> str:
    """Return the path that deliveries of a webhook are sent to."""
    shown = json.loads(run_command(environment, "webhook", "show", name, "--json"))
    return f"/hooks/{shown['endpoint'].rpartition('/')[2]}"


def run_command(environment: dict[str, str], *arguments: str, stdin: str = "") -> str:
    done = subprocess.run(
        [OUTKEY, *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stdout


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


if __name__ == "__main__":
    sys.exit(main())
