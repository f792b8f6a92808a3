"""How much the send proxy adds to a send: `/api/v1/send` beside `gateway.send`.

What is measured: elapsed milliseconds of an authenticated GET of 1 KiB to a local
nginx, audited, by a caller that keeps its connection: through the proxy of a running
`outkey serve`, and by `gateway.send` in a process with the same home. The two take
turns, and the medians are compared.

Then a program sends on many connections, on each the next request as soon as there is
a response: no response may take much longer than the others.

Exit status: 0 every budget holds, 1 one is missed, 2 no server.
"""

import argparse
import asyncio
import http.client
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import aiohttp
import nginx
from report import Budget, finish

OUTKEY = Path(sys.executable).with_name("outkey")
MOST_MORE = 2.0  # milliseconds at the median
CONNECTIONS = 200
CONNECTION_WARM_UP, CONNECTION_SECONDS = 3.0, 20.0
MOST_SPREAD = 5.0  # p99 of all responses / p50
TOKEN = "a-token-of-the-benchmark"
WARM_UP = 50
PATIENCE = 30.0
DOCUMENT = """
[configuration.bench]
base_url = "{url}"
network = "internal"
authentication_type = "bearer"
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=1000)
    parser.add_argument("--client", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.client:
        times = asyncio.run(send_on_connections(options.client, sys.stdin.read()))
        print(json.dumps(times))
        return 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["OUTKEY_HOME"] = str(folder / "home")
        (folder / "nginx").mkdir()
        try:
            with nginx.serving(folder / "nginx", TOKEN) as url:
                return measure(url, options.requests, free_port())
        except nginx.NginxMissing:
            print("nginx is not installed", file=sys.stderr)
            return 2


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def measure(url: str, requests: int, port: int) -> int:
    run_command("apply", "-", stdin=DOCUMENT.format(url=url))
    run_command("secret", "set", "bench", "token", stdin=TOKEN)
    limit = ("--scope", "send", "--per-minute", "1000000")
    token = run_command("api-token", "create", "bench", *limit).strip()
    import outkey

    with serving(port), outkey.open() as gateway:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        headers = {"Authorization": f"Bearer {token}"}

        def by_http() -> int:
            connection.request("GET", "/api/v1/send/bench/x", headers=headers)
            response = connection.getresponse()
            return response.status if len(response.read()) == len(nginx.BODY) else 0

        def directly() -> int:
            return gateway.send("bench", "GET", "/x").status

        times: dict[str, list[float]] = {"by http": [], "directly": []}
        for number in range(WARM_UP + requests):
            for name, send in (("by http", by_http), ("directly", directly)):
                taken = milliseconds(send)
                if number >= WARM_UP:
                    times[name].append(taken)
        times_together = times_of_connections(port, token)
    medians = {name: statistics.median(found) for name, found in times.items()}
    for name, median in medians.items():
        print(f"{name}: {median:.2f} ms at the median of {requests}")
    more = medians["by http"] - medians["directly"]
    p50 = statistics.median(times_together)
    p99 = statistics.quantiles(times_together, n=100)[-1]
    rate = len(times_together) / CONNECTION_SECONDS
    print(
        f"{CONNECTIONS} connections: {rate:.0f} responses a second,"
        f" p50 {p50:.0f} ms, p99 {p99:.0f} ms"
    )
    budgets = [
        Budget("ms that the send proxy adds, p50", more, MOST_MORE),
        Budget(f"{CONNECTIONS} connections, p99 / p50", p99 / p50, MOST_SPREAD),
    ]
    found = {"medians": medians, "connections": {"p50": p50, "p99": p99, "rate": rate}}
    return finish("http_interface", found, budgets)


def times_of_connections(port: int, token: str) -> list[float]:
    """Return the milliseconds of all responses, from a process with the connections."""
    done = subprocess.run(
        [sys.executable, __file__, "--client", str(port)],
        input=token,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    times: list[float] = json.loads(done.stdout)
    return times


async def send_on_connections(port: int, token: str) -> list[float]:
    """Send on all connections at once, and return the milliseconds of each response."""
    url = f"http://127.0.0.1:{port}/api/v1/send/bench/x"
    began = time.monotonic() + CONNECTION_WARM_UP
    times: list[float] = []

    async def keep_sending() -> None:
        while (started := time.monotonic()) < began + CONNECTION_SECONDS:
            async with session.get(url) as response:
                if response.status != 200 or await response.text() != nginx.BODY:
                    raise RuntimeError(f"expected 200, got {response.status}")
            if started >= began:
                times.append((time.monotonic() - started) * 1000)

    connector = aiohttp.TCPConnector(limit=CONNECTIONS)
    headers = {"Authorization": f"Bearer {token}"}
    async with aiohttp.ClientSession(connector=connector, headers=headers) as session:
        await asyncio.gather(*(keep_sending() for _ in range(CONNECTIONS)))
    return times


def milliseconds(send: Callable[[], int]) -> float:
    started = time.perf_counter()
    status = send()
    taken = (time.perf_counter() - started) * 1000
    if status != 200:
        raise RuntimeError(f"expected 200, got {status}")
    return taken


def run_command(*arguments: str, stdin: str = "") -> str:
    done = subprocess.run(
        [OUTKEY, *arguments], input=stdin, capture_output=True, text=True, check=True
    )
    return done.stdout


@contextmanager
def serving(port: int) -> Iterator[None]:
    server = subprocess.Popen(
        [OUTKEY, "serve", "--port", str(port)], stdout=subprocess.DEVNULL
    )
    try:
        wait_for(port)
        yield
    finally:
        server.terminate()
        server.wait(PATIENCE)


def wait_for(port: int) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        try:
            connection.request("GET", "/api/v1/openapi.json")
            connection.getresponse().read()
        except OSError:
            time.sleep(0.1)
        else:
            return
        finally:
            connection.close()
    raise RuntimeError("the server did not start")


if __name__ == "__main__":
    sys.exit(main())
