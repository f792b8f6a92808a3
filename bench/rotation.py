"""What rotations and external stores cost the sends that use neither, or one of them.

An installation on SQLite sends with an entered token, and records every attempt. Its
configurations take turns in short rounds; what counts is the median of the ratios of
neighbouring rounds, of CPU µs per request. The plain one runs twice: the ratio of the
two is the noise.

    plain     a secret that is stored, and no rotation
    store     a reference into a Vault on loopback, whose value is in the cache
    overlap   a secret that was promoted, with the previous one kept

With `--before PATH`, the plain one is also sent by processes with the source of another
checkout, beside two with this source, whose ratio is the noise. All are started several
times, since two processes with the same source differ too.

Exit status: 0 every budget holds, 1 one is missed, 2 no server, 3 too noisy to judge.
"""

import argparse
import json
import os
import random
import secrets
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median
from typing import Any

import nginx
from report import Budget, finish

PLAIN, AGAIN, STORE, OVERLAP = "plain", "again", "store", "overlap"
# Processes: two with this source, and one with that of another checkout.
THIS, OTHER, BEFORE = "this", "other", "before"
ROUNDS, REQUESTS, TOKEN = 200, 25, "BENCH_TOKEN"
PAIRS, ROUNDS_OF_PAIR = 5, 50
STORE_LIMIT, OVERLAP_LIMIT, BEFORE_LIMIT = 1.05, 1.05, 1.02
QUIET = (0.98, 1.02)
DOCUMENT = """
[configuration.{name}]
base_url = "{url}"
network = "internal"
authentication_type = "bearer"
{token}
"""
BACKENDS = """
[backend.main]
store = "vault"
address = "{url}"
network = "internal"
token = "env:{token}"
cache_seconds = 3600
"""


def installation(home: Path) -> Any:  # noqa: ANN401 - an Application of either source
    """Return a new installation."""
    os.environ["OUTKEY_HOME"] = str(home)
    from outkey.hosts.server.home import prepare

    home = prepare()
    from outkey.hosts.django.wiring import install

    return install(home)


def fill(application: Any, name: str, url: str) -> None:  # noqa: ANN401
    """Make the configuration of this name."""
    from outkey.administration.core.document.document import parse_document
    from outkey.administration.engine.editing.administration import Administration
    from outkey.foundation.core.secret import Secret

    administration = Administration(
        application.registry, application.secrets, application.audit, "bench"
    )
    reference = 'token = "vault:bench#token"' if name == STORE else ""
    text = DOCUMENT.format(name=name, url=url, token=reference)
    application.apply(administration, parse_document(text), dry_run=False)
    if name == STORE:
        return
    first = "an-older-token" if name == OVERLAP else os.environ[TOKEN]
    administration.set_secret(name, "token", Secret(first))
    if name == OVERLAP:
        rotation = application.credential_rotation(administration)
        seen = application.registry.get(name)
        rotation.stage_secret(seen, "token", Secret(os.environ[TOKEN]))
        if not rotation.test(name).ok:
            raise RuntimeError("the next token was refused")
        rotation.promote(name)


def work(url: str, store: str, *names: str) -> None:
    """Send as many requests as each line says, and print the CPU µs of one."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        file = home / "config" / "backends.toml"
        file.parent.mkdir(parents=True, mode=0o700)
        file.write_text(BACKENDS.format(url=store, token=TOKEN), encoding="utf-8")
        file.chmod(0o600)
        application = installation(home)
        for name in names:
            fill(application, name, url)
        send = application.gateway.send
        for line in sys.stdin:
            name, count = line.split()
            began = time.process_time()
            for _ in range(int(count)):
                if send(name, "GET", "/").status != 200:
                    raise RuntimeError(f"{name} was refused")
            print((time.process_time() - began) / int(count) * 1e6, flush=True)


class Installation:
    """A process that sends when it is told to."""

    def __init__(self, places: tuple[str, str], names: list[str], source: str) -> None:
        path = {"PYTHONPATH": f"{source}/src"} if source else {}
        self._process = subprocess.Popen(
            [sys.executable, __file__, "--work", *places, *names],
            env=os.environ | path,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def cpu(self, name: str) -> float:
        """Return the CPU µs of one request with a configuration."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(name, REQUESTS, file=self._process.stdin, flush=True)
        return float(self._process.stdout.readline())

    def close(self) -> None:
        """Let it end by itself."""
        self._process.communicate()


@contextmanager
def serving_vault() -> Iterator[str]:
    """Serve one secret as Vault does."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            content = {"data": {"token": os.environ[TOKEN]}, "metadata": {"version": 1}}
            body = json.dumps({"data": content}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_arguments: object) -> None:
            """Nothing is logged."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


Measure = Callable[[], float]


def measure(candidates: Mapping[str, Measure], rounds: int) -> dict[str, list[float]]:
    """Return the CPU µs per request of each round."""
    spent: dict[str, list[float]] = {name: [] for name in candidates}
    for number in range(rounds + 2):
        for name in random.sample([*candidates], len(candidates)):
            cpu = candidates[name]()
            if number > 1:  # the first rounds load libraries and open connections
                spent[name].append(cpu)
    return spent


def ratio(spent: Mapping[str, list[float]], name: str, other: str) -> float:
    """Return the median of the ratios, round by round."""
    return median(a / b for a, b in zip(spent[name], spent[other], strict=True))


def measure_here(places: tuple[str, str]) -> dict[str, list[float]]:
    """Measure the configurations of one installation."""
    names = [PLAIN, AGAIN, STORE, OVERLAP]
    with closing(Installation(places, names, "")) as here:
        return measure({name: partial(here.cpu, name) for name in names}, ROUNDS)


def measure_before(places: tuple[str, str], source: str) -> dict[str, list[float]]:
    """Measure processes with the source of this and of another checkout."""
    spent: dict[str, list[float]] = {THIS: [], OTHER: [], BEFORE: []}
    for _ in range(PAIRS):
        with ExitStack() as stack:
            processes = {
                name: stack.enter_context(closing(Installation(places, [PLAIN], path)))
                for name, path in ((THIS, ""), (OTHER, ""), (BEFORE, source))
            }
            sends = {name: partial(each.cpu, PLAIN) for name, each in processes.items()}
            for name, rounds in measure(sends, ROUNDS_OF_PAIR).items():
                spent[name] += rounds
    return spent


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--before", help="another checkout", default="")
    parser.add_argument("--work", nargs="+")
    options = parser.parse_args()
    if options.work:
        work(*options.work)
        return 0
    os.environ[TOKEN] = secrets.token_urlsafe(30)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        try:
            server = nginx.serving(Path(folder), os.environ[TOKEN])
            url = stack.enter_context(server)
        except nginx.NginxMissing:
            print("nginx is missing: Debian package nginx-light", file=sys.stderr)
            return 2
        places = url, stack.enter_context(serving_vault())
        here = measure_here(places)
        pairs = measure_before(places, options.before) if options.before else {}
    return judge(here, pairs)


def judge(here: Mapping[str, list[float]], pairs: Mapping[str, list[float]]) -> int:
    """Show what was measured, and return the exit status."""
    noise = [ratio(here, AGAIN, PLAIN)]
    budgets = [
        Budget("store / plain", ratio(here, STORE, PLAIN), STORE_LIMIT),
        Budget("overlap / plain", ratio(here, OVERLAP, PLAIN), OVERLAP_LIMIT),
    ]
    if pairs:
        # Two processes with this source against one: chance counts half.
        both = [(a + b) / 2 for a, b in zip(pairs[THIS], pairs[OTHER], strict=True)]
        after = {"after": both, BEFORE: pairs[BEFORE]}
        budgets.append(
            Budget("this / before", ratio(after, "after", BEFORE), BEFORE_LIMIT)
        )
        noise.append(ratio(pairs, OTHER, THIS))
    spent = {**here, **pairs}
    medians = {name: median(each) for name, each in spent.items()}
    found = {"best": {"median": medians}, "noise": noise}
    quiet = all(QUIET[0] <= each <= QUIET[1] for each in noise)
    return finish("rotation", found, budgets, quiet=quiet)


if __name__ == "__main__":
    sys.exit(main())
