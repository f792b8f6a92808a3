"""Calls that wait run in another thread where an event loop runs, and only there."""

import asyncio
import threading
from contextvars import ContextVar

import pytest

from outkey.foundation.adapters.threads_system import SystemThreads
from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.text import Text
from outkey.foundation.ports.threads import Threads
from outkey.sending.engine.wire.off_loop import off_loop
from outkey.testing import configuration, fake_gateway

actor = ContextVar("actor", default="nobody")


def threads(*_arguments: object, **_options: object) -> Threads:
    return SystemThreads()


@off_loop(threads)
def who_and_where(greeting: str, *, mark: str = "!") -> tuple[str, bool]:
    is_main = threading.current_thread() is threading.main_thread()
    return f"{greeting} {actor.get()}{mark}", is_main


def test_without_an_event_loop_it_is_a_plain_call() -> None:
    assert who_and_where("hello") == ("hello nobody!", True)


def test_where_an_event_loop_runs_it_runs_in_a_thread_with_the_same_context() -> None:
    async def call() -> tuple[str, bool]:
        actor.set("ada")
        return who_and_where("hello", mark="?")

    assert asyncio.run(call()) == ("hello ada?", False)


def test_what_it_raises_is_raised() -> None:
    @off_loop(threads)
    def fail() -> None:
        raise ConfigError(Text("wrong"))

    async def call() -> None:
        fail()

    with pytest.raises(ConfigError, match="wrong"):
        asyncio.run(call())


def test_a_call_within_a_call_stays_in_its_thread() -> None:
    @off_loop(threads)
    def outer() -> tuple[str, str]:
        inner = off_loop(threads)(lambda: threading.current_thread().name)
        return threading.current_thread().name, inner()

    async def call() -> tuple[str, str]:
        return outer()

    first, second = asyncio.run(call())
    assert first == second


def test_a_gateway_sends_where_an_event_loop_runs() -> None:
    made = configuration(authentication_type="bearer")
    fake = fake_gateway(made, secrets={"token": "t"})

    async def call() -> int:
        return fake.gateway.send("acme", "GET", "/").status

    assert asyncio.run(call()) == 200
