"""Sends from many tasks and many threads at the same time, on one gateway.

Arguments: tasks, threads, how many requests each of them sends, and in how many seconds
each of these requests falls; 0 for as fast as possible. Prints how the requests ended,
and for how many milliseconds the event loop was held up at most.
"""

import asyncio
import json
import random
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import outkey

TICK = 0.005


async def watch(lags: list[float]) -> None:
    """Note by how much the event loop is late, each time."""
    loop = asyncio.get_running_loop()
    while True:
        due = loop.time() + TICK
        await asyncio.sleep(TICK)
        lags.append(loop.time() - due)


async def main(tasks: int, threads: int, requests: int, seconds: float) -> None:
    gateway = await outkey.aopen()
    attempts: list[str] = []
    statuses: Counter[int] = Counter()
    lags: list[float] = []

    def note(response: outkey.Response) -> None:
        statuses[response.status] += 1
        attempts.append(response.attempt)

    async def send_in_task() -> None:
        for _ in range(requests):
            await asyncio.sleep(random.uniform(0, 2 * seconds))
            note(await gateway.asend("acme", "GET", "/echo"))

    def send_in_thread() -> None:
        for _ in range(requests):
            time.sleep(random.uniform(0, 2 * seconds))
            note(gateway.send("acme", "GET", "/echo"))

    note(await gateway.asend("acme", "GET", "/echo"))  # opens what the others use
    watching = asyncio.create_task(watch(lags))
    loop = asyncio.get_running_loop()
    with ThreadPoolExecutor(threads) as pool:
        await asyncio.gather(
            *(send_in_task() for _ in range(tasks)),
            *(loop.run_in_executor(pool, send_in_thread) for _ in range(threads)),
        )
    watching.cancel()
    await gateway.aclose()
    print(
        json.dumps(
            {
                "statuses": statuses,
                "attempts": len(set(attempts)),
                "lag_ms": max(lags) * 1000,
            }
        )
    )


task_count, thread_count, request_count = map(int, sys.argv[1:4])
asyncio.run(main(task_count, thread_count, request_count, float(sys.argv[4])))
