"""Cost against size: configurations, threads and bytes of a response.

CPU µs per request of outkey as an installation (SQLite, every attempt recorded, level
`process`) beside bare urllib3, at each size. What counts is the ratio of the two: it
must not grow with the size by more than the noise. Each size has processes of its own,
rounds are interleaved, and the fastest round counts.

Exit status: 0 the ratio does not grow, 1 it does, 2 no server.
"""

import argparse
import json
import os
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

import nginx
from candidates import TOKEN
from report import RESULTS
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from send import Candidate

OURS, BARE = "outkey audited", "urllib3"
USED = 10  # how many of the configurations are sent with, in turns
GROWTH = 1.15  # of the ratio, from the smallest size to the largest
BATCH = 500
PATIENCE = 600.0  # until ten thousand configurations are saved


@dataclass(frozen=True)
class Size:
    """One measurement."""

    axis: str
    label: str
    configurations: int = 1
    threads: int = 1
    response_bytes: int = 1_000
    requests: int = 200
    rounds: int = 15

    @property
    def path(self) -> str:
        return f"/files/{self.response_bytes}"


SIZES = (
    *(Size("configurations", f"{n:,}", configurations=n) for n in (1, 10, 100)),
    *(Size("configurations", f"{n:,}", configurations=n) for n in (1_000, 10_000)),
    *(Size("threads", str(n), threads=n, requests=1000) for n in (1, 10, 50, 200)),
    Size("response", "1 kB"),
    Size("response", "100 kB", response_bytes=100_000),
    Size("response", "10 MB", response_bytes=10_000_000, requests=10),
)


def send_by_outkey(url: str, size: Size) -> Callable[[], int]:
    from outkey.administration.core.document.document import parse_document
    from outkey.administration.engine.editing.administration import Administration
    from outkey.foundation.core.secret import Secret
    from outkey.hosts.server.home import prepare

    home = prepare()
    from outkey.hosts.django.wiring import install

    application = install(home)
    administration = Administration(
        application.registry, application.secrets, application.audit, "bench"
    )
    for start in range(0, size.configurations, BATCH):
        numbers = range(start, min(start + BATCH, size.configurations))
        text = "".join(section(number, url) for number in numbers)
        application.apply(administration, parse_document(text), dry_run=False)
    # Spread over all of them, so that none is favoured by its place in an index.
    step = max(1, size.configurations // USED)
    names = [f"c{n}" for n in range(0, size.configurations, step)][:USED]
    for name in names:
        administration.set_secret(name, "token", Secret(os.environ[TOKEN]))
    turns = count()

    def send() -> int:
        name = names[next(turns) % len(names)]
        return len(application.gateway.send(name, "GET", size.path).body)

    return send


def section(number: int, url: str) -> str:
    return (
        f'[configuration.c{number}]\nbase_url = "{url}"\nnetwork = "internal"\n'
        'authentication_type = "bearer"\n'
    )


def send_by_urllib3(url: str, size: Size) -> Callable[[], int]:
    import urllib3

    headers = {"Authorization": f"Bearer {os.environ[TOKEN]}"}
    pool = urllib3.PoolManager(maxsize=size.threads, headers=headers)
    return lambda: len(pool.request("GET", url + size.path).data)


def obey(name: str, url: str, number: int) -> None:
    """Send when the parent says so, and answer with the CPU µs of one request."""
    size = SIZES[number]
    make = send_by_outkey if name == OURS else send_by_urllib3
    send = make(url, size)
    with ThreadPoolExecutor(size.threads) as threads:

        def send_some(requests: int) -> None:
            for _ in range(requests):
                if (length := send()) != size.response_bytes:
                    raise RuntimeError(f"got {length} bytes")

        def send_all(requests: int) -> None:
            shares = [max(1, requests // size.threads)] * size.threads
            list(threads.map(send_some, shares))

        print(json.dumps("ready"), flush=True)
        while line := sys.stdin.readline():
            requests = json.loads(line)["requests"]
            send_all(requests // 10)
            started = time.process_time()
            send_all(requests)
            elapsed = time.process_time() - started
            print(json.dumps(elapsed / requests * 1e6), flush=True)


@contextmanager
def started(
    name: str, url: str, number: int, token: str, folder: Path
) -> Iterator[Candidate]:
    own = folder / f"{number}-{name.replace(' ', '-')}"
    own.mkdir()
    log = own / "log"
    environment = {"PATH": os.environ["PATH"], "HOME": str(own), TOKEN: token}
    with log.open("w") as errors:
        process = subprocess.Popen(
            [sys.executable, __file__, "--candidate", name, url, str(number)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=environment | {"OUTKEY_HOME": str(own / "home")},
            cwd=own,
            text=True,
        )
    try:
        candidate = Candidate(name, process, log)
        candidate.answer(PATIENCE)
        yield candidate
    finally:
        process.kill()
        process.communicate()


def measure(size: Size, number: int) -> dict[str, float]:
    """Return the best CPU µs of both at one size."""
    token = secrets.token_urlsafe(30)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.chmod(0o755)  # nginx reads the files as another user
        url = stack.enter_context(nginx.serving(folder, token))
        both = [
            stack.enter_context(started(name, url, number, token, folder))
            for name in (OURS, BARE)
        ]
        rounds: dict[str, list[float]] = {OURS: [], BARE: []}
        for _ in range(size.rounds):
            for candidate in both:
                cpu = candidate.ask({"requests": size.requests})
                rounds[candidate.name].append(float(cpu))
    return {name: min(found) for name, found in rounds.items()}


def show(rows: list[dict[str, Any]]) -> None:
    table = Table(title="CPU µs per request against size", box=SIMPLE_HEAD)
    for heading in ("what", "size"):
        table.add_column(heading)
    for heading in (OURS, BARE, "ratio"):
        table.add_column(heading, justify="right")
    table.add_column("")
    for row in rows:
        ratio = row[OURS] / row[BARE]
        table.add_row(
            row["axis"],
            row["label"],
            f"{row[OURS]:.0f}",
            f"{row[BARE]:.0f}",
            f"{ratio:.2f}",
            "▇" * round(ratio * 10),
        )
    Console().print(table)


def growing(rows: list[dict[str, Any]]) -> list[str]:
    """Return along which axes the ratio grows from the first size to the last."""
    found = []
    for axis in dict.fromkeys(row["axis"] for row in rows):
        ratios = [row[OURS] / row[BARE] for row in rows if row["axis"] == axis]
        if ratios[-1] > ratios[0] * GROWTH:
            found.append(axis)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="five rounds of each")
    parser.add_argument("--candidate", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.candidate:
        name, url, number = arguments.candidate
        obey(name, url, int(number))
        return 0
    rows = []
    try:
        for number, size in enumerate(SIZES):
            chosen = replace(size, rounds=5) if arguments.quick else size
            cpu = measure(chosen, number)
            rows.append({"axis": size.axis, "label": size.label} | cpu)
    except nginx.NginxMissing:
        print("missing program: nginx (Debian package nginx-light)", file=sys.stderr)
        return 2
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "scale.json").write_text(json.dumps(rows, indent=1), encoding="utf-8")
    show(rows)
    axes = growing(rows)
    for axis in axes:
        print(f"missed: the ratio grows with {axis}")
    return 1 if axes else 0


if __name__ == "__main__":
    sys.exit(main())
