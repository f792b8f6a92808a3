"""CPU time per request of `gateway.asend` beside bare aiohttp, 50 tasks on one loop.

The server, the answer and the rules are those of send.py: each candidate is a process
of its own that stays alive, rounds are shuffled and interleaved, the fastest round
counts, and aiohttp runs twice to show the noise. "outkey" records to a logger that is
not enabled, "outkey audited" is an installation on SQLite whose every attempt is
committed before it is sent.

Exit status: 0 every budget holds, 1 one is missed, 2 no server, 3 too noisy to judge.
"""

import argparse
import asyncio
import cProfile
import io
import json
import os
import pstats
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import nginx
from candidates import TOKEN, outkey_audited, outkey_document
from report import Budget, finish
from send import Candidate, Mode, fastest, is_quiet, measure

TASKS = 50
ON_LOOP = Mode(f"{TASKS} tasks", TASKS, 1000, 24)
BARE, BARE_AGAIN, OURS, AUDITED = "aiohttp", "aiohttp again", "outkey", "outkey audited"
LIMIT, AUDITED_LIMIT, MORE = 1.2, 2.0, 2
_EXPECTED = (200, 1024)
Send = Callable[[], Awaitable[tuple[int, int]]]  # status and length of the body


@asynccontextmanager
async def aiohttp_session(url: str) -> AsyncIterator[Send]:
    import aiohttp

    headers = {"Authorization": f"Bearer {os.environ[TOKEN]}"}
    connector = aiohttp.TCPConnector(limit=TASKS)
    async with aiohttp.ClientSession(headers=headers, connector=connector) as session:

        async def send() -> tuple[int, int]:
            async with session.get(url) as response:
                return response.status, len(await response.read())

        yield send


@asynccontextmanager
async def outkey_gateway(url: str, *, audited: bool) -> AsyncIterator[Send]:
    from outkey.hosts.file.loading import from_text

    if audited:  # in a thread: Django refuses to save the configuration on a loop
        gateway = (await asyncio.to_thread(outkey_audited, url)).func.__self__  # type: ignore[attr-defined]
    else:
        gateway = from_text(outkey_document(url))
    async with gateway:

        async def send() -> tuple[int, int]:
            response = await gateway.asend("bench", "GET", "/")
            return response.status, len(response.body)

        yield send


def candidate(name: str, url: str) -> Any:  # noqa: ANN401 - a context manager
    if name in (BARE, BARE_AGAIN):
        return aiohttp_session(url)
    return outkey_gateway(url, audited=name == AUDITED)


async def obey(name: str, url: str) -> None:
    """Send when the parent says so, and answer with the CPU µs of one request."""
    async with candidate(name, url) as send:
        print(json.dumps("ready"), flush=True)
        while line := await asyncio.to_thread(sys.stdin.readline):
            command = json.loads(line)
            if "profile" in command:
                found: object = await profiled(send, command["profile"])
            else:
                await send_many(send, command["requests"] // 10)
                started = time.process_time()
                await send_many(send, command["requests"])
                found = (time.process_time() - started) / command["requests"] * 1e6
            print(json.dumps(found), flush=True)


async def send_many(send: Send, requests: int) -> None:
    async def some() -> None:
        for _ in range(requests // TASKS):
            if (found := await send()) != _EXPECTED:
                raise RuntimeError(f"expected {_EXPECTED}, got {found}")

    await asyncio.gather(*(some() for _ in range(TASKS)))


async def profiled(send: Send, requests: int) -> str:
    with cProfile.Profile() as profiler:
        await send_many(send, requests)
    text = io.StringIO()
    pstats.Stats(profiler, stream=text).sort_stats("tottime").print_stats(20)
    return text.getvalue()


@contextmanager
def started(name: str, url: str, token: str, folder: Path) -> Iterator[Candidate]:
    own = folder / name.replace(" ", "-")
    own.mkdir()
    log = own / "log"
    environment = {"PATH": os.environ["PATH"], "HOME": str(own), TOKEN: token}
    with log.open("w") as errors:
        process = subprocess.Popen(
            [sys.executable, __file__, "--candidate", name, url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=environment | {"OUTKEY_HOME": str(own / "home")},
            cwd=own,
            text=True,
        )
    try:
        made = Candidate(name, process, log)
        made.answer()
        yield made
    finally:
        process.kill()
        process.communicate()


def noise(cpu: dict[str, list[float]]) -> float:
    return min(cpu[BARE_AGAIN]) / min(cpu[BARE])


def run(mode: Mode) -> dict[str, Any]:
    token = secrets.token_urlsafe(30)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        url = stack.enter_context(nginx.serving(folder, token))
        names = (BARE, BARE_AGAIN, OURS, AUDITED)
        running = [
            stack.enter_context(started(name, url, token, folder)) for name in names
        ]
        measures = {candidate.name: candidate.cpu for candidate in running}
        cpu = measure(measures, mode)
        for _ in range(MORE):
            if is_quiet(noise(cpu)):
                break
            for name, rounds in measure(measures, mode).items():
                cpu[name] += rounds
        profile = running[names.index(OURS)].ask({"profile": 2000})
    return {"best": {mode.name: fastest(cpu)}, "noise": noise(cpu), "profile": profile}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="five rounds of each")
    parser.add_argument(
        "--profile", action="store_true", help="show where outkey's time goes"
    )
    parser.add_argument("--candidate", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.candidate:
        asyncio.run(obey(*arguments.candidate))
        return 0
    mode = (
        Mode(ON_LOOP.name, TASKS, ON_LOOP.requests, 5) if arguments.quick else ON_LOOP
    )
    try:
        found = run(mode)
    except nginx.NginxMissing:
        print("missing program: nginx (Debian package nginx-light)", file=sys.stderr)
        return 2
    if arguments.profile:
        print(found["profile"])
    best = found["best"][mode.name]
    print(f"A/A (aiohttp twice): {found['noise']:.2f}")
    budgets = [
        Budget(f"outkey / aiohttp, {mode.name}", best[OURS] / best[BARE], LIMIT),
        Budget(
            f"outkey audited / aiohttp, {mode.name}",
            best[AUDITED] / best[BARE],
            AUDITED_LIMIT,
        ),
    ]
    return finish("asend", found, budgets, quiet=is_quiet(found["noise"]))


if __name__ == "__main__":
    sys.exit(main())
