"""Times as commands print and read them for users: in the local time zone, or in UTC.

Django replaces the time zone of the process by the one of its settings, so the zone of
the user is read before.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime, tzinfo
from pathlib import Path

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.moments import moment_of, with_moments
from outkey.foundation.core.text import Text

_SYSTEM_ZONE = Path("/etc/localtime")
_zone: ContextVar[tzinfo] = ContextVar("zone", default=UTC)


@contextmanager
def begin_in_local_zone() -> Iterator[None]:
    """Print times in the local zone inside the block, until --utc is read."""
    token = _zone.set(local_zone(os.environ.get("TZ")))
    try:
        yield
    finally:
        _zone.reset(token)


def local_zone(name: str | None) -> tzinfo:
    """Return the zone that the environment variable TZ names, or the system's.

    A zone that the time zone database does not have, such as a rule of POSIX, is taken
    by its offset of today.
    """
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        if name is not None:
            return ZoneInfo(name.removeprefix(":") or "UTC")
        with _SYSTEM_ZONE.open("rb") as file:
            return ZoneInfo.from_file(file)
    except (OSError, ValueError, ZoneInfoNotFoundError):
        return datetime.now().astimezone().tzinfo or UTC


def use_utc(*, value: bool) -> None:
    """Print times in UTC from now on; False leaves it as it is."""
    if value:
        _zone.set(UTC)


def parse_time(text: str, option: str) -> float:
    """Return a moment in ISO 8601 as Unix time, in the zone that times are printed in.

    Raise ConfigError if it is not a moment.
    """
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=_zone.get())
        return moment.timestamp()
    except (ValueError, OverflowError):
        raise ConfigError(
            Text("this is not a time"),
            hint=Text("Write it as 2026-11-17T09:30, in local time, or with its zone."),
            field=option,
        ) from None


def time_text(at: float) -> str:
    """Return a Unix time to the second, with the name of its zone."""
    return f"{datetime.fromtimestamp(at, _zone.get()):%Y-%m-%d %H:%M:%S %Z}"


def with_local_times(text: str) -> str:
    """Return a text with its moments in the time zone of the user."""
    return with_moments(text, time_text) if isinstance(text, Text) else text


def record_time(record: Mapping[str, object]) -> str:
    """Return when an audit record was written."""
    at = moment_of(record)
    return "unknown" if at is None else time_text(at)
