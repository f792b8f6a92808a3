"""Makes every call of the library where an event loop runs, and prints the results."""

import asyncio
import json
import os

import outkey


async def main() -> None:
    assert "DJANGO_ALLOW_ASYNC_UNSAFE" not in os.environ
    gateway = outkey.open()
    url = gateway.preview("acme").url
    loan = gateway.lend("acme", "GET", url, ())
    results = {
        "send": gateway.send("acme", "GET", "/bearer").status,
        "asend": (await gateway.asend("acme", "GET", "/bearer")).status,
        "preview": [name for name, *_ in gateway.preview("acme").headers],
        "test": gateway.test("acme").ok,
        "lend": [header.name for header in loan.headers],
        "settle": gateway.settle(loan, 200),
    }
    gateway.close()
    async with await outkey.aopen() as another:
        results["aopen"] = (await another.asend("acme", "GET", "/bearer")).status
    try:
        gateway.send("unknown", "GET", "/")
    except outkey.errors.OutkeyError as error:
        results["error"] = str(error.code)
    print(json.dumps(results))


asyncio.run(main())
