"""A web application on an event loop, which opens the gateway when it starts.

Prints its port. It ends when its standard input is closed.
"""

import asyncio
import sys

from aiohttp import web

import outkey

GATEWAY = web.AppKey("gateway", outkey.Gateway)


async def open_gateway(app: web.Application) -> None:
    app[GATEWAY] = outkey.open()


async def close_gateway(app: web.Application) -> None:
    await app[GATEWAY].aclose()


async def show_orders(request: web.Request) -> web.Response:
    response = await request.app[GATEWAY].asend("acme", "GET", "/bearer")
    return web.json_response({"status": response.status, "attempt": response.attempt})


async def show_orders_by_send(request: web.Request) -> web.Response:
    response = request.app[GATEWAY].send("acme", "GET", "/bearer")
    return web.json_response({"status": response.status, "attempt": response.attempt})


async def main() -> None:
    app = web.Application()
    app.on_startup.append(open_gateway)
    app.on_cleanup.append(close_gateway)
    app.router.add_get("/orders", show_orders)
    app.router.add_get("/orders-by-send", show_orders_by_send)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    _, port = runner.addresses[0]
    print(port, flush=True)
    await asyncio.to_thread(sys.stdin.read)
    await runner.cleanup()


asyncio.run(main())
