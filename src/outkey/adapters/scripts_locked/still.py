"""A stopped clock and repeatable randomness, for trying a script: same input, same headers.

Only what replaces the standard library's own functions in a worker that serves one call.
"""

import datetime as dt
import os
import random
import time
from collections.abc import Callable
from typing import Any


def stop(at: float) -> None:
    """Let every clock of the calendar stand at one moment, and chance repeat itself."""
    _stop_time(at)
    _stop_calendar(at)
    source = random.Random(0)  # noqa: S311 - repeatable on purpose
    # uuid4 and cryptography's helpers ask os; secrets and SystemRandom keep a name of their own.
    os.urandom = random._urandom = source.randbytes  # type: ignore[attr-defined]  # noqa: SLF001
    random.seed(0)


def _stop_time(at: float) -> None:
    nanoseconds, now = round(at * 1_000_000_000), time.localtime(at)
    strftime, asctime = time.strftime, time.asctime
    time.time = lambda: at
    time.time_ns = lambda: nanoseconds
    time.gmtime = _with_default(time.gmtime, at)
    time.localtime = _with_default(time.localtime, at)
    time.ctime = _with_default(time.ctime, at)
    time.strftime = lambda shape, moment=now: strftime(shape, moment)
    time.asctime = lambda moment=now: asctime(moment)


def _with_default(function: Callable[[float], Any], at: float) -> Any:  # noqa: ANN401
    return lambda seconds=None: function(at if seconds is None else seconds)


def _stop_calendar(at: float) -> None:
    class Date(dt.date):
        @classmethod
        def today(cls) -> Any:  # noqa: ANN401 - whatever the class is
            return cls.fromtimestamp(at)

    class DateTime(dt.datetime):
        @classmethod
        def now(cls, tz: dt.tzinfo | None = None) -> Any:  # noqa: ANN401
            return cls.fromtimestamp(at, tz)

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
