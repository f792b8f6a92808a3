"""Whether the time of a response tells a stranger more than its status does.

Requests of all kinds are sent in random order on one connection to a running server: a
wrong signature, twice, whose difference is the noise; and a signature that is right but
for its last byte. Their medians are compared, and how often one of the responses is the
slower one of a pair: half of the time, if time tells nothing.

Exit status: 0 every budget holds, 1 one is missed.
"""

import argparse
import http.client
import os
import random
import statistics
import sys
import tempfile
import time
from base64 import b64encode
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from hashlib import sha256
from hmac import digest
from typing import Any

import webhooks
from report import Budget, finish
from rich.console import Console
from rich.table import Table

SECRET = "a-secret-of-the-benchmark"
WARM_UP = 100  # requests of each kind
WRONG = "wrong signature"
MOST_MICROSECONDS = 100.0  # between medians, beyond what noise alone does
MOST_OFTEN = 0.1  # more or less often than half of the time
DOCUMENT = '[webhook.known]\nscheme = "shopify"\nhandler = "builtins.bool"\n'


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=2000, help="of each kind")
    parser.add_argument("--bytes", type=int, default=1024)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            "PATH": os.environ["PATH"],
            "OUTKEY_HOME": f"{folder}/home",
            "OUTKEY_WEBHOOK_HANDLERS": webhooks.HANDLER,
        }
        path = make_endpoint(environment)
        port = webhooks.free_port()
        server = webhooks.Server(environment, port, is_processing=False)
        server.start()
        try:
            times = measure(port, path, options)
        finally:
            server.stop()
    return judge(times)


def make_endpoint(environment: dict[str, str]) -> str:
    webhooks.run_command(environment, "apply", "-", stdin=DOCUMENT)
    webhooks.run_command(environment, "webhook", "secret", "known", stdin=SECRET)
    return webhooks.endpoint_path(environment, "known")


def measure(
    port: int, path: str, options: argparse.Namespace
) -> dict[str, list[float]]:
    """Return the microseconds of the responses of each kind, in random order."""
    body = b'{"id": 1, "note": "' + b"x" * options.bytes + b'"}'
    right = digest(SECRET.encode(), body, sha256)
    wrong = digest(b"another", body, sha256)
    nearly = right[:-1] + bytes([right[-1] ^ 1])
    signatures = {
        WRONG: wrong,
        "the same again": wrong,
        "all but one byte right": nearly,
    }
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    times: dict[str, list[float]] = {kind: [] for kind in signatures}
    order = [kind for kind in signatures for _ in range(WARM_UP + options.requests)]
    random.shuffle(order)
    for kind in order:
        headers = {
            "X-Shopify-Event-Id": "e",
            "X-Shopify-Webhook-Id": "e",
            "X-Shopify-Hmac-SHA256": b64encode(signatures[kind]).decode(),
        }
        began = time.perf_counter()
        connection.request("POST", path, body, headers)
        response = connection.getresponse()
        response.read()
        times[kind].append((time.perf_counter() - began) * 1e6)
        if response.status != 401:
            raise RuntimeError(f"{kind}: {response.status} instead of 401")
    return {kind: found[WARM_UP:] for kind, found in times.items()}


def how_often_slower(those: Sequence[float], others: Sequence[float]) -> float:
    """Return how often one of those is slower than one of the others; 0.5: as often."""
    ordered = sorted(others)
    wins = sum(bisect_left(ordered, x) + bisect_right(ordered, x) for x in those)
    return wins / (2 * len(those) * len(ordered))


def judge(times: dict[str, list[float]]) -> int:
    table = Table("kind", "median µs", "difference µs", "slower in % of pairs")
    found: dict[str, Any] = {}
    budgets = []
    for kind, those in times.items():
        middle = statistics.median(those)
        found[kind] = {"median": middle}
        if kind == WRONG:
            table.add_row(kind, f"{middle:.0f}", "", "")
            continue
        reference = times[WRONG]
        difference = middle - statistics.median(reference)
        share = how_often_slower(those, reference)
        found[kind] |= {"difference": difference, "slower": share}
        figures = (f"{middle:.0f}", f"{difference:+.0f}", f"{100 * share:.1f}")
        table.add_row(kind, *figures)
        budgets += [
            Budget(f"{kind}: µs apart", abs(difference), MOST_MICROSECONDS),
            Budget(f"{kind}: share away from half", abs(share - 0.5), MOST_OFTEN),
        ]
    Console().print(table)
    return finish("webhook_timing", found, budgets)


if __name__ == "__main__":
    sys.exit(main())
