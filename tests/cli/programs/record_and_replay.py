"""Records what a stored configuration sends, on and off an event loop; replays it."""

import asyncio
import json
import sys

import outkey
from outkey.testing import FakeGateway


def send(gateway: outkey.Gateway) -> list[int]:
    paths = ("/bearer", "/status/404")
    return [gateway.send("acme", "GET", path).status for path in paths]


async def asend(gateway: outkey.Gateway) -> list[int]:
    async with gateway:
        statuses = send(gateway)  # works on an event loop too, and blocks it
        sends = [gateway.asend("acme", "GET", f"/status/{n}") for n in (200, 418)]
        return statuses + [response.status for response in await asyncio.gather(*sends)]


def run(gateway: outkey.Gateway) -> list[int]:
    return send(gateway) + asyncio.run(asend(gateway))


file = sys.argv[1]
with outkey.open() as real, FakeGateway.record(real, file) as recording:
    statuses = run(recording)
replay = FakeGateway.replay(file)
assert run(replay) == statuses
replay.assert_all_used()
print(json.dumps(statuses))
