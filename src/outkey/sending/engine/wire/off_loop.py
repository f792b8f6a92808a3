"""Blocking calls from code that runs on an event loop.

Django refuses its database there. So a blocking call runs in another thread, and the
event loop is blocked until it returns. Only `asend` does not block the event loop.
"""

import asyncio
import contextvars
from collections.abc import Callable
from functools import partial, wraps
from typing import ParamSpec, TypeVar

from outkey.foundation.ports.threads import Threads

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def off_loop(
    threads_of: Callable[..., Threads],
) -> Callable[[Callable[Parameters, Result]], Callable[Parameters, Result]]:
    """Return a decorator for blocking functions that are called on an event loop.

    `threads_of` returns the threads for a call; it gets the arguments of the call.
    """

    def decorate(
        function: Callable[Parameters, Result],
    ) -> Callable[Parameters, Result]:
        @wraps(function)
        def call(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
            # get_running_loop raises without a loop, which takes five times as long.
            if asyncio._get_running_loop() is None:  # noqa: SLF001 - exported by asyncio
                return function(*args, **kwargs)
            in_context = contextvars.copy_context().run
            work = partial(in_context, function, *args, **kwargs)
            return threads_of(*args, **kwargs).call(work)

        return call

    return decorate
