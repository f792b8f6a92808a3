"""Sending from an event loop with an installation: the database runs in threads."""

import asyncio
import gc
import time
from typing import TYPE_CHECKING

import pytest

from database.test_installation import application, set_both, spar  # noqa: F401 - fixtures
from outkey.sending.core.request.message import Response
from outkey.spar import Spar

if TYPE_CHECKING:
    from outkey.administration.engine.application import Application


async def send_many(installed: "Application", lags: list[float]) -> list[Response]:
    """Send at the same time, and measure how late the loop is meanwhile."""

    async def watch() -> None:
        while True:
            before = time.monotonic()
            await asyncio.sleep(0.01)
            lags.append(time.monotonic() - before - 0.01)

    async with installed.gateway as gateway:
        # the first one opens what the others use
        await gateway.asend("acme", "GET", "/echo")
        watching = asyncio.create_task(watch())
        responses = await asyncio.gather(
            *(gateway.asend("acme", "GET", "/echo") for _ in range(60))
        )
        watching.cancel()
    return responses


# Django's connections end with threads
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_many_sends_are_recorded(
    application: "Application",  # noqa: F811 - a fixture
    spar: Spar,  # noqa: F811 - a fixture
) -> None:
    set_both(application, "a-token", "a-key")
    responses = asyncio.run(send_many(application, []))
    assert {response.status for response in responses} == {200}
    assert len({response.attempt for response in responses}) == 60
    application.audit.flush()
    assert (
        sum(stream.rows for stream in application.audit_trail.rows.streams()) >= 2 * 61
    )
    assert len(spar.journal) == 61
    gc.collect()


@pytest.mark.alone
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.usefixtures("spar")
def test_many_sends_do_not_hold_up_the_loop(
    application: "Application",  # noqa: F811 - a fixture
) -> None:
    set_both(application, "a-token", "a-key")
    lags: list[float] = []
    asyncio.run(send_many(application, lags))
    assert max(lags) < 1.0
    gc.collect()
