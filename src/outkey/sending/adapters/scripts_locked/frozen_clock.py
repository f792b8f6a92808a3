"""Another clock for a script: stopped for a trial, or shifted to the clock of an API.

Replaces functions of the standard library in a worker. With a stopped clock random
numbers repeat too: same input, same headers.
"""

import datetime as dt
import os
import random
import time
from collections.abc import Callable
from typing import Any


def set_clock(at: float | None, shift: int) -> None:
    """Stop all clocks at a moment, or shift them by some seconds."""
    if at is not None:
        _stop(at)
    elif shift:
        ours = time.time
        _show(lambda: ours() + shift)


def _stop(at: float) -> None:
    """Stop every clock at one moment, and make random numbers repeatable."""
    _show(lambda: at)
    source = random.Random(0)  # noqa: S311 - repeatable on purpose
    # uuid4 and cryptography call os.urandom; secrets and SystemRandom have a copy.
    os.urandom = random._urandom = source.randbytes  # type: ignore[attr-defined]  # noqa: SLF001
    random.seed(0)


def _show(now: Callable[[], float]) -> None:
    _show_time(now)
    _show_calendar(now)


def _show_time(now: Callable[[], float]) -> None:
    strftime = time.strftime
    asctime = time.asctime
    localtime = time.localtime
    time.time = now
    time.time_ns = lambda: round(now() * 1_000_000_000)
    time.gmtime = _with_default(time.gmtime, now)
    time.localtime = _with_default(time.localtime, now)
    time.ctime = _with_default(time.ctime, now)
    time.strftime = lambda shape, *moment: strftime(
        shape, *(moment or (localtime(now()),))
    )
    time.asctime = lambda *moment: asctime(*(moment or (localtime(now()),)))


def _with_default(function: Callable[[float], Any], now: Callable[[], float]) -> Any:  # noqa: ANN401
    return lambda seconds=None: function(now() if seconds is None else seconds)


def _show_calendar(now: Callable[[], float]) -> None:
    class Date(dt.date):
        @classmethod
        def today(cls) -> Any:  # noqa: ANN401 - whatever the class is
            return cls.fromtimestamp(now())

    class DateTime(dt.datetime):
        @classmethod
        def now(cls, tz: dt.tzinfo | None = None) -> Any:  # noqa: ANN401
            return cls.fromtimestamp(now(), tz)

        @classmethod
        def today(cls) -> Any:  # noqa: ANN401
            return cls.now()

        @classmethod
        def utcnow(cls) -> Any:  # noqa: ANN401
            return cls.now(dt.UTC).replace(tzinfo=None)

    for kind, name in ((Date, "date"), (DateTime, "datetime")):
        kind.__name__ = kind.__qualname__ = name
        kind.__module__ = "datetime"
        setattr(dt, name, kind)
