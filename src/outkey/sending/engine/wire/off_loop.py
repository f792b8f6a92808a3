"""Blocking calls from code that runs on an event loop.

Django refuses its database there. So a blocking call runs in another thread, and the
event loop is blocked until it returns. Only `asend` does not block the event loop.
"""

import asyncio
import contextvars
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial, wraps
from typing import ParamSpec, TypeVar

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
MAX_THREADS = 8  # each keeps a connection to the database


def off_loop(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Decorate a blocking function so that it can be called on an event loop."""

    @wraps(function)
    def call(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        # get_running_loop raises without a loop, which takes five times as long.
        if asyncio._get_running_loop() is None:  # noqa: SLF001 - exported by asyncio
            return function(*args, **kwargs)
        in_context = contextvars.copy_context().run
        work = partial(in_context, function, *args, **kwargs)
        return executor_of(os.getpid()).submit(work).result()

    return call


@lru_cache(maxsize=1)
def executor_of(process: int) -> ThreadPoolExecutor:
    """Return the threads of a process; a forked child has none of its parent's."""
    del process
    return ThreadPoolExecutor(MAX_THREADS, thread_name_prefix="outkey-calls")
