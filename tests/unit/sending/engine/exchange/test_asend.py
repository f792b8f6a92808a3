"""Sending from an event loop: what runs where, and what cancellation does."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import pytest

from outkey import Gateway
from outkey.foundation.core.errors import ConfigError, OutkeyError, StorageUnavailable
from outkey.foundation.core.secret import Secret
from outkey.sending.core.audit.events import Intent, Outcome, Refusal, Tag
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.oauth2.token import TokenState
from outkey.sending.core.request.message import Request, Response, Route
from outkey.sending.core.request.script import ScriptCall
from outkey.sending.engine.exchange.sender import Asynchronous, Sender
from outkey.sending.engine.wire.drive import AsyncRuntime, adrive
from outkey.sending.engine.wire.steps import Steps, Wait
from outkey.sync.core.line.line import SyncLine
from outkey.testing import AsyncFake, configuration, fake_gateway
from outkey.testing.fakes.basic import FakeWorld
from unit.sending.engine.tokens.test_tokens import NAMES, OAUTH, SECRETS, Provider

API, AUTH = "api.acme.example", "auth.acme.example"
BEARER = {"authentication_type": "bearer"}


@dataclass(frozen=True)
class Stage(AsyncFake):
    """A world in which the test says who has to wait: a host, or the name of a host."""

    gates: dict[str, asyncio.Event] = field(default_factory=dict)
    arrived: list[str] = field(default_factory=list)

    async def send(self, request: Request, route: Route) -> Response:
        await self._pass(request.origin.host)
        return await super().send(request, route)

    async def resolve(self, host: str, port: int, timeout: float) -> tuple[str, ...]:  # noqa: ASYNC109 - the port's signature
        await self._pass(f"name {host}")
        return await super().resolve(host, port, timeout)

    async def _pass(self, place: str) -> None:
        self.arrived.append(place)
        if place in self.gates:
            await self.gates[place].wait()

    async def reached(self, place: str) -> None:
        async with asyncio.timeout(5):
            while place not in self.arrived:  # noqa: ASYNC110 - it may come in any order
                await asyncio.sleep(0.001)


def staged(
    fake: FakeWorld, *closed: str, blocking_ports: bool
) -> tuple[Gateway, Stage]:
    stage = Stage(
        fake.transport, fake.resolver, {place: asyncio.Event() for place in closed}
    )
    loop = Asynchronous(stage, stage, blocking_ports=blocking_ports)
    return Gateway(Sender(replace(fake.ports, asynchronous=loop))), stage


def oauth(provider: Provider, **changes: object) -> FakeWorld:
    made = configuration(**(OAUTH | changes))
    return fake_gateway(made, responses=provider, secrets=SECRETS, names=NAMES)


def outcomes(fake: FakeWorld) -> list[tuple[str, str]]:
    found = [event for event in fake.audit.events if isinstance(event, Outcome)]
    return [(str(event.tag), event.outcome) for event in found]


def on_loop(
    test: Callable[..., Coroutine[Any, Any, None]],
) -> Callable[..., None]:
    """Run a test on an event loop, without blocking ports and with them."""

    @pytest.mark.parametrize("blocking_ports", [False, True], ids=["calls", "threads"])
    def run(*, blocking_ports: bool) -> None:
        asyncio.run(test(blocking_ports=blocking_ports))

    return run


# ── what runs where ───────────────────────────────────────────────────────────────────


@on_loop
async def test_it_takes_what_send_takes(*, blocking_ports: bool) -> None:
    line = SyncLine("orders", "acme", "POST", "/orders")
    fake = fake_gateway(configuration(**BEARER), secrets={"token": "t"}, lines=[line])
    gateway, _ = staged(fake, blocking_ports=blocking_ports)
    async with gateway:
        response = await gateway.asend(
            "acme",
            "POST",
            "/orders",
            params={"page": 2},
            json={"a": 1},
            headers={"X-Mine": "1"},
            line="orders",
        )
    assert response.status == 200
    [(request, _)] = fake.transport.sent
    assert (request.url, request.body) == (
        "https://api.acme.example/orders?page=2",
        b'{"a": 1}',
    )
    assert "X-Mine" in [header.name for header in request.headers]
    intent = fake.audit.events[0]
    assert isinstance(intent, Intent)
    assert intent.line == "orders"
    with pytest.raises(ConfigError, match="another configuration"):
        await gateway.asend("other", "GET", "/", line="orders")


@on_loop
async def test_a_refusal_is_raised_and_recorded(*, blocking_ports: bool) -> None:
    fake = fake_gateway(configuration(active=False))
    gateway, _ = staged(fake, blocking_ports=blocking_ports)
    with pytest.raises(ConfigError):
        await gateway.asend("acme", "GET", "/")
    assert [type(event) for event in fake.audit.events] == [Refusal]


@on_loop
async def test_no_record_no_send(*, blocking_ports: bool) -> None:
    fake = fake_gateway(configuration(**BEARER), secrets={"token": "t"})
    fake.audit.broken = True
    gateway, _ = staged(fake, blocking_ports=blocking_ports)
    with pytest.raises(OutkeyError) as caught:
        await gateway.asend("acme", "GET", "/")
    assert caught.value.code == "audit_unavailable"
    assert fake.transport.sent == []


actor = ContextVar("actor", default="nobody")


@pytest.mark.parametrize("blocking_ports", [False, True])
def test_only_what_may_wait_runs_in_a_thread_and_knows_who_asks(
    *, blocking_ports: bool
) -> None:
    fake = fake_gateway(configuration(**BEARER), secrets={"token": "t"})
    seen: list[tuple[bool, str]] = []
    open_secret = fake.secrets.open

    def observed(owner: Configuration, name: str) -> Secret:
        seen.append(
            (threading.current_thread() is threading.main_thread(), actor.get())
        )
        return open_secret(owner, name)

    fake.secrets.open = observed  # type: ignore[method-assign]

    async def send() -> None:
        actor.set("somebody")
        gateway, _ = staged(fake, blocking_ports=blocking_ports)
        await gateway.asend("acme", "GET", "/")

    asyncio.run(send())
    assert set(seen) == {(not blocking_ports, "somebody")}


def test_a_script_runs_in_a_thread_also_where_nothing_else_waits() -> None:
    made = configuration(
        environment="test",
        script_enabled=True,
        script="def compute_auth_header(sync_line):\n    return {}\n",
    )
    fake = fake_gateway(made)
    seen = []

    def answer(_: ScriptCall) -> dict[str, str]:
        seen.append(threading.current_thread() is threading.main_thread())
        return {}

    fake.scripts.answer = answer
    assert asyncio.run(fake.gateway.asend("acme", "GET", "/")).status == 200
    assert seen == [False]


def test_a_gateway_without_an_asynchronous_transport_says_so() -> None:
    fake = fake_gateway(configuration())
    gateway = Gateway(Sender(replace(fake.ports, asynchronous=None)))
    with pytest.raises(ConfigError, match="no asynchronous transport"):
        asyncio.run(gateway.asend("acme", "GET", "/"))
    asyncio.run(gateway.aclose())


# ── one renewal ───────────────────────────────────────────────────────────────────────


@on_loop
async def test_two_hundred_at_once_ask_for_one_token(*, blocking_ports: bool) -> None:
    provider = Provider()
    fake = oauth(provider)
    gateway, stage = staged(fake, AUTH, blocking_ports=blocking_ports)
    sends = [asyncio.create_task(gateway.asend("acme", "GET", "/")) for _ in range(200)]
    await stage.reached(AUTH)
    stage.gates[AUTH].set()
    responses = await asyncio.gather(*sends)
    assert {response.status for response in responses} == {200}
    assert len(provider.asked) == 1
    assert set(provider.seen) == {"access-token-1"}


# ── cancelled ─────────────────────────────────────────────────────────────────────────


async def cancelled(task: asyncio.Task[Response], stage: Stage, *opened: str) -> None:
    """Cancel a task twice, then open what it blocking_ports for."""
    task.cancel("first")
    await asyncio.sleep(0.01)
    task.cancel("second")
    for place in opened:
        await asyncio.sleep(0.01)
        assert not task.done()
        stage.gates[place].set()
    with pytest.raises(asyncio.CancelledError):
        await task


@on_loop
async def test_a_cancelled_request_ends_at_once_and_is_recorded(
    *, blocking_ports: bool
) -> None:
    fake = fake_gateway(configuration(**BEARER), secrets={"token": "t"})
    gateway, stage = staged(fake, API, blocking_ports=blocking_ports)
    task = asyncio.create_task(gateway.asend("acme", "GET", "/"))
    await stage.reached(API)
    fake.clock.advance(1.5)
    await cancelled(task, stage)
    intent, ended = fake.audit.events
    assert isinstance(intent, Intent)
    assert ended == Outcome("attempt-1", "acme", 0, "cancelled", 1500, Tag.SEND_OUTCOME)


@on_loop
async def test_who_is_cancelled_before_anything_left_sends_nothing(
    *, blocking_ports: bool
) -> None:
    fake = fake_gateway(configuration(**BEARER), secrets={"token": "t"})
    place = f"name {API}"
    gateway, stage = staged(fake, place, blocking_ports=blocking_ports)
    task = asyncio.create_task(gateway.asend("acme", "GET", "/"))
    await stage.reached(place)
    await cancelled(task, stage, place)
    assert fake.audit.events == []
    assert fake.transport.sent == []


@on_loop
async def test_a_token_on_its_way_is_kept_although_nobody_wants_it_any_more(
    *, blocking_ports: bool
) -> None:
    provider = Provider(refresh_token="next-refresh-token")
    fake = oauth(provider, oauth2__grant="refresh_token")
    gateway, stage = staged(fake, AUTH, blocking_ports=blocking_ports)
    task = asyncio.create_task(gateway.asend("acme", "GET", "/"))
    await stage.reached(AUTH)
    await cancelled(task, stage, AUTH)
    assert provider.seen == []
    assert outcomes(fake) == [(Tag.TOKEN_OUTCOME, "ok")]
    assert (await gateway.asend("acme", "GET", "/")).status == 200
    assert len(provider.asked) == 1


@on_loop
async def test_who_is_cancelled_between_claim_and_token_lets_nobody_wait(
    *, blocking_ports: bool
) -> None:
    provider = Provider()
    fake = oauth(provider)
    place = f"name {AUTH}"
    gateway, stage = staged(fake, place, blocking_ports=blocking_ports)
    task = asyncio.create_task(gateway.asend("acme", "GET", "/"))
    await stage.reached(place)
    await cancelled(task, stage, place)
    async with asyncio.timeout(5):  # a claim that was left behind would last longer
        assert (await gateway.asend("acme", "GET", "/")).status == 200
    assert len(provider.asked) == 1


@on_loop
async def test_a_token_that_fails_for_who_is_cancelled_is_still_a_cancellation(
    *, blocking_ports: bool
) -> None:
    provider = Provider()
    provider.token_answers = [Response(400, body=b'{"error": "invalid_client"}')]
    gateway, stage = staged(oauth(provider), AUTH, blocking_ports=blocking_ports)
    task = asyncio.create_task(gateway.asend("acme", "GET", "/"))
    await stage.reached(AUTH)
    await cancelled(task, stage, AUTH)
    assert task.cancelled()
    assert len(provider.asked) == 1


@on_loop
async def test_who_is_cancelled_is_waited_for_until_the_token_is_stored(
    *, blocking_ports: bool
) -> None:
    class Slow:
        """Storage that fails once, after the provider has answered."""

        def __init__(self) -> None:
            self.failed = False

        def __getattr__(self, name: str) -> object:
            return getattr(fake.ports.tokens, name)

        def swap(
            self, made: Configuration, before: TokenState, after: TokenState
        ) -> TokenState | None:
            if after.access is not None and not self.failed:
                self.failed = True
                raise StorageUnavailable
            return fake.ports.tokens.swap(made, before, after)

    provider = Provider()
    fake = oauth(provider)
    stage = Stage(fake.transport, fake.resolver, {AUTH: asyncio.Event()})
    loop = Asynchronous(
        stage, stage, blocking_ports=blocking_ports, sleep=fake.clock.asleep
    )
    gateway = Gateway(Sender(replace(fake.ports, asynchronous=loop, tokens=Slow())))
    task = asyncio.create_task(gateway.asend("acme", "GET", "/"))
    await stage.reached(AUTH)
    await cancelled(task, stage, AUTH)
    assert fake.clock.sleeps == [0.5]
    assert (await gateway.asend("acme", "GET", "/")).status == 200
    assert len(provider.asked) == 1


def test_a_loop_that_shuts_down_records_the_token_request_as_cancelled() -> None:
    fake = oauth(Provider())

    async def leave_it_behind() -> asyncio.Task[Response]:
        gateway, stage = staged(fake, AUTH, blocking_ports=False)
        task = asyncio.create_task(gateway.asend("acme", "GET", "/"))
        await stage.reached(AUTH)
        return task

    task = asyncio.run(leave_it_behind())
    assert task.cancelled()
    assert outcomes(fake) == [(Tag.TOKEN_OUTCOME, "cancelled")]


def test_a_time_out_of_the_caller_ends_a_send_whose_thread_is_at_work() -> None:
    fake = fake_gateway(configuration(**BEARER), secrets={"token": "t"})
    release, intend = threading.Event(), fake.audit.intend
    when_at_work: list[Callable[[], object]] = []

    def slow(intent: Intent) -> str:
        when_at_work[0]()
        release.wait(5)
        return intend(intent)

    fake.audit.intend = slow  # type: ignore[method-assign]

    async def send() -> None:
        gateway, stage = staged(fake, blocking_ports=True)
        loop = asyncio.get_running_loop()
        limit = asyncio.timeout(None)

        def time_out() -> None:
            limit.reschedule(loop.time())
            loop.call_later(0.1, release.set)

        when_at_work.append(partial(loop.call_soon_threadsafe, time_out))
        with pytest.raises(TimeoutError):
            async with limit:
                await gateway.asend("acme", "GET", "/")
        assert stage.arrived == [f"name {API}"]

    asyncio.run(send())
    assert outcomes(fake) == [(Tag.SEND_OUTCOME, "cancelled")]


def test_the_flow_of_who_is_cancelled_is_closed() -> None:
    closed = []

    def flow() -> Steps[None]:
        try:
            yield Wait(60)
        finally:
            closed.append(True)

    async def drive_and_cancel() -> None:
        fake = fake_gateway()
        both = AsyncFake(fake.transport, fake.resolver)
        world = AsyncRuntime(both, both, asyncio.sleep, fake.clock, fake.audit)
        task = asyncio.create_task(adrive(flow(), world))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(drive_and_cancel())
    assert closed == [True]
