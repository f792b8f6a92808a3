"""Which secrets a request carries, in the form in which the other side may repeat them."""

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial

from outkey.core.config.configuration import Configuration
from outkey.core.request.message import Request, Source, http_date
from outkey.core.secret import Secret

_DAY = 86_400.0
_UNITS = (1.0, 1e3, 1e6, 1e9)  # seconds, milliseconds, microseconds, nanoseconds
_LONGEST_MOMENT = 40
_TIME = (
    r"(?:[01]?\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:[.,]\d{1,9})?)?"
    r"(?: ?[AaPp]\.?[Mm]\.?)?(?: ?(?:Z|UTC|GMT|[+-]\d\d:?\d\d))?"
)
_TIME_OF_DAY = re.compile(_TIME)
# `16.11.2026`, `11/16/2026`, `16-Nov-2026`, `2026/11/16`, each with or without a time.
_CALENDAR_DAY = re.compile(
    r"(\d{1,4})([./ -])(\d{1,2}|[A-Za-z]{3,9})\.?\2(\d{1,4})"
    rf"(?:(?:T|,? ){_TIME})?"
)
_COMPACT_TIME = re.compile(
    r"(\d{8})(?:[01]\d|2[0-3])(?:[0-5]\d){1,2}"
)  # `20261116080000`
_MONTHS = (
    "jan",
    "feb",
    "mar",
    "apr",
    "may",
    "jun",
    "jul",
    "aug",
    "sep",
    "oct",
    "nov",
    "dec",
)
_SHORTEST_CREDENTIALS = 8
_SHORTEST_PART = 16
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9-]*")
_PARAMETER = re.compile(r"([\w-]+)=(?:\"([^\"]*)\"|([^\s,;&\"]+))")
_NAMES_SECRET = re.compile(
    r"sig(?!ned)|token|secret|password|mac|response|assertion", re.IGNORECASE
)


def secrets_in(
    request: Request, configuration: Configuration, now: float
) -> tuple[Secret, ...]:
    """Return the secrets that a request carries, without what a script sent that anybody knows."""
    secrets = list(request.body_secrets)
    for header in request.headers:
        value = header.value
        if not isinstance(value, Secret):
            continue
        if header.source is Source.SCRIPT:
            value = value.derive(partial(_unless_public, request, configuration, now))
        if value:
            secrets.append(value)
    return tuple(secrets)


def credentials_in(secrets: Iterable[Secret]) -> list[Secret]:
    """Return what is secret in these header values and parameters, and its parts.

    Of `Bearer …` that is the token; of `AWS4-HMAC-SHA256 Credential=…, Signature=…` all behind
    the scheme, and the signature by itself.
    """
    found: list[Secret] = []
    for secret in secrets:
        found += secret.derive_all(_credentials)
    return without_repetition(found)


def without_repetition(secrets: Iterable[Secret]) -> list[Secret]:
    """Return each secret once, in order, without empty ones."""
    found: list[Secret] = []
    for secret in secrets:
        if secret and secret not in found:
            found.append(secret)
    return found


def _credentials(value: str) -> Iterator[str]:
    scheme, _, credentials = value.partition(" ")
    if len(credentials) < _SHORTEST_CREDENTIALS or not _SCHEME.fullmatch(scheme):
        credentials = value
    yield credentials
    for name, quoted, bare in _PARAMETER.findall(credentials):
        if _NAMES_SECRET.search(name):
            yield quoted or bare
    # `AWS key:signature` and the like: the last part alone is a secret too.
    _, colon, last = credentials.rpartition(":")
    if colon and len(last) >= _SHORTEST_PART:
        yield last


def _unless_public(
    request: Request, configuration: Configuration, now: float, text: str
) -> str:
    """Return a script's value, or nothing where it is no secret.

    What stands in the script, in the configuration or in the request itself is known to anybody
    who may see those, and a timestamp to everybody. As secrets they would be found in many
    records: an account number, a version, the time.
    """
    known = (
        configuration.script,
        configuration.username,
        request.url,
        configuration.name,
    )
    if any(text in place for place in known) or _is_moment(text, now):
        return ""
    return text


def _is_moment(text: str, now: float) -> bool:
    """Tell whether a text is a timestamp of these days, as a number or as a date."""
    if len(text) > _LONGEST_MOMENT:
        return False
    if _TIME_OF_DAY.fullmatch(text):
        return True
    # A day in any time zone: yesterday and tomorrow by UTC count too.
    return any(abs(moment - now) < _DAY for moment in _moments(text)) or any(
        abs(noon - now) <= 1.5 * _DAY for noon in _noons(text)
    )


def _moments(text: str) -> Iterator[float]:
    with suppress(ValueError):
        number = float(text)
        yield from (number / unit for unit in _UNITS)
    date = _date(text)
    if date is not None:
        yield date


def _noons(text: str) -> Iterator[float]:
    """Yield noon (UTC) of each day that a calendar date may mean: 02/03 is in February or March."""
    for year, month, day in _days(text):
        with suppress(ValueError):
            yield datetime(year, month, day, 12, tzinfo=UTC).timestamp()


def _days(text: str) -> Iterator[tuple[int, int, int]]:
    """Yield year, month and day as a text may mean them; not every one is in the calendar."""
    if compact := _COMPACT_TIME.fullmatch(text):
        digits = compact[1]
        yield int(digits[:4]), int(digits[4:6]), int(digits[6:])
    date = _CALENDAR_DAY.fullmatch(text)
    if date is None:
        return
    first, _, middle, last = date.groups()
    month = _month(middle)
    if len(first) == 4:
        yield int(first), month, int(last)
        return
    year = int(last) if len(last) == 4 else 2000 + int(last)
    yield year, month, int(first)
    if middle.isdigit():
        yield year, int(first), month


def _month(text: str) -> int:
    """Return the number of a month, 0 for a word that is not one."""
    if text.isdigit():
        return int(text)
    name = text[:3].lower()
    return _MONTHS.index(name) + 1 if name in _MONTHS else 0


def _date(text: str) -> float | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return http_date(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
