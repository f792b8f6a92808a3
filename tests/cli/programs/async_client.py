"""A client of an event loop borrows from an installation, and prints the status.

Argument: the URL.
"""

import asyncio
import sys

import httpx

import outkey
from outkey.integrations.httpx import OutkeyAuth


async def status_of(url: str, auth: OutkeyAuth) -> int:
    async with httpx.AsyncClient(auth=auth, trust_env=False) as client:
        response = await client.get(url)
    return response.status_code


gateway = outkey.open()  # before the event loop runs, since it uses the database
print(asyncio.run(status_of(sys.argv[1], OutkeyAuth(gateway, "acme"))))
