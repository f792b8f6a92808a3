"""What the benchmarks of signed requests share: sends of one process, taking turns.

What is measured: CPU µs of an authenticated GET of 1 KiB over one kept connection to
the nginx of the other benchmarks, which sees that there is a signature and does not
verify it. Rounds are shuffled and interleaved, and the fastest one counts. urllib3 with
a fixed header runs twice: the ratio of the two is the noise.
"""

import random
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import nginx
import urllib3
from report import Budget, finish
from rich.console import Console
from rich.progress import track

BARE, BARE_AGAIN, OURS = "urllib3, not signed", "urllib3 again", "outkey"
ROUNDS, REQUESTS, LENGTH = 30, 200, 1024
QUIET = (0.9, 1.1)
# Sends one request; returns the status and the length of the body.
Send = Callable[[], tuple[int, int]]
Make = Callable[[str, ExitStack], Mapping[str, Send]]


def cpu_of(send: Send, name: str) -> float:
    """Return the CPU µs of one request."""
    before = time.process_time()
    for _ in range(REQUESTS):
        if send() != (200, LENGTH):
            raise RuntimeError(f"{name} was refused")
    return (time.process_time() - before) / REQUESTS * 1e6


def fastest_rounds(sends: Mapping[str, Send]) -> dict[str, float]:
    """Return the CPU µs of the fastest round of each."""
    best = dict.fromkeys(sends, float("inf"))
    console = Console(stderr=True)
    for number in track(range(ROUNDS + 1), "sending", console=console, transient=True):
        for name in random.sample([*sends], len(sends)):
            spent = cpu_of(sends[name], name)
            if number:  # the first round opens connections
                best[name] = min(best[name], spent)
    return best


def bare(url: str, header: str) -> Send:
    """Return urllib3 with a header that was made before."""
    pool = urllib3.PoolManager(headers={"Authorization": header})

    def send() -> tuple[int, int]:
        response = pool.request("GET", url)
        return response.status, len(response.data)

    return send


def compare(name: str, header: str, make: Make, limits: Mapping[str, float]) -> int:
    """Measure all, and return the exit status; `limits` are those of the ratios."""
    scheme, _, start = header.partition(" ")
    with tempfile.TemporaryDirectory() as folder, ExitStack() as closing:
        try:
            server = nginx.serving(Path(folder), start, scheme)
            url = closing.enter_context(server)
        except nginx.NginxMissing:
            print("nginx is missing: Debian package nginx-light", file=sys.stderr)
            return 2
        fixed = {each: bare(f"{url}/", header) for each in (BARE, BARE_AGAIN)}
        best = fastest_rounds({**fixed, **make(url, closing)})
    budgets = [
        Budget(f"{OURS} / {rival}", best[OURS] / best[rival], limit)
        for rival, limit in limits.items()
    ]
    found: dict[str, Any] = {"best": {"sequential": best}}
    low, high = QUIET
    return finish(
        name, found, budgets, quiet=low < best[BARE_AGAIN] / best[BARE] < high
    )
