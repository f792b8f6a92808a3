"""The secrets that a request carries, in the form in which a server may repeat them."""

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial

from outkey.foundation.core.moments import DAY_SECONDS, parse_iso
from outkey.foundation.core.secret import Secret
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.request.message import Request, Source, http_date

_UNITS = (1.0, 1e3, 1e6, 1e9)  # seconds, milliseconds, microseconds, nanoseconds
_MAX_MOMENT = 40
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
# `20261116080000`
_COMPACT_TIME = re.compile(r"(\d{8})(?:[01]\d|2[0-3])(?:[0-5]\d){1,2}")
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
_SHORTEST_PUBLIC = 6
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9-]*")
_PARAMETER = re.compile(r"([\w-]+)=(?:\"([^\"]*)\"|([^\s,;&\"]+))")
_NAMES_SECRET = re.compile(
    r"sig(?!ned|nature_method)|token|secret|password|mac|response|assertion",
    re.IGNORECASE,
)


def secrets_in(
    request: Request, configuration: Configuration, now: float
) -> tuple[Secret, ...]:
    """Return the secrets of a request, without public values of a script."""
    secrets = [*request.body_secrets, *request.secret_parameters.values()]
    of_script = [value for _, value in request.script_parameters]
    for header in request.headers:
        value = header.value
        if not isinstance(value, Secret):
            continue
        if header.source is Source.SCRIPT:
            of_script.append(value)
        elif value:
            secrets.append(value)
    if of_script:
        visible = visible_texts(request, configuration)
        for value in of_script:
            secret_value = value.derive(partial(_unless_public, visible, now))
            if secret_value:
                secrets.append(secret_value)
    return tuple(secrets)


def credentials_in(secrets: Iterable[Secret]) -> list[Secret]:
    """Return the secret parts of these header values and parameters.

    Of `Bearer …` that is the token; of `AWS4-HMAC-SHA256 Credential=…, Signature=…`
    everything after the scheme, and the signature by itself.
    """
    credentials: list[Secret] = []
    for secret in secrets:
        credentials += secret.derive_all(_credential_parts)
    return without_repetition(credentials)


def without_repetition(secrets: Iterable[Secret]) -> list[Secret]:
    """Return each secret once, in order, without empty ones."""
    unique: list[Secret] = []
    for secret in secrets:
        if secret and secret not in unique:
            unique.append(secret)
    return unique


def _credential_parts(value: str) -> Iterator[str]:
    """Yield the credentials in a header value, and their secret parameters."""
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


def visible_texts(request: Request, configuration: Configuration) -> tuple[str, ...]:
    """Return the texts of a request and its configuration that other users can see."""
    return (
        configuration.script,
        configuration.username,
        request.url,
        configuration.name,
    )


def _unless_public(visible: tuple[str, ...], now: float, text: str) -> str:
    """Return a script's value, or nothing if it is not a secret.

    What is part of the script, the configuration or the request itself is visible to
    other users, and a timestamp is public. As secrets they would be found in many
    records: an account number, a version, the time.
    """
    for place in visible:
        if text in place:
            return ""
    return "" if _is_moment(text, now) else text


def public_text(value: Secret, visible: tuple[str, ...], now: float) -> str | None:
    """Return a script's value that is not a secret, None for one that is.

    A short one counts as secret: a character of a secret is part of any text.
    """
    is_short = not value.longer_than(_SHORTEST_PUBLIC - 1)
    if is_short or value.derive(partial(_unless_public, visible, now)):
        return None
    return value.reveal()


def _is_moment(text: str, now: float) -> bool:
    """Whether a text is a timestamp near now, as a number or as a date."""
    if len(text) > _MAX_MOMENT:
        return False
    if _TIME_OF_DAY.fullmatch(text):
        return True
    for moment in _moments_in(text):
        if abs(moment - now) < DAY_SECONDS:
            return True
    # A day in any time zone: yesterday and tomorrow by UTC count too.
    return any(abs(noon - now) <= 1.5 * DAY_SECONDS for noon in _noons_in(text))


def _moments_in(text: str) -> Iterator[float]:
    """Yield each Unix time that a text may mean."""
    try:
        number = float(text)
    except ValueError:
        pass
    else:
        for unit in _UNITS:
            yield number / unit
    date = _date_in(text)
    if date is not None:
        yield date


def _noons_in(text: str) -> Iterator[float]:
    """Yield noon (UTC) of each day that a date may mean: 02/03 in February or March."""
    for year, month, day in _days_in(text):
        with suppress(ValueError):
            yield datetime(year, month, day, 12, tzinfo=UTC).timestamp()


def _days_in(text: str) -> Iterator[tuple[int, int, int]]:
    """Yield year, month and day as a text may mean them; some do not exist."""
    if compact := _COMPACT_TIME.fullmatch(text):
        digits = compact[1]
        yield int(digits[:4]), int(digits[4:6]), int(digits[6:])
    date = _CALENDAR_DAY.fullmatch(text)
    if date is None:
        return
    first, _, middle, last = date.groups()
    month = _month_number(middle)
    if len(first) == 4:
        yield int(first), month, int(last)
        return
    year = int(last) if len(last) == 4 else 2000 + int(last)
    yield year, month, int(first)
    if middle.isdigit():
        yield year, int(first), month


def _month_number(text: str) -> int:
    """Return the number of a month, 0 for a word that is not one."""
    if text.isdigit():
        return int(text)
    name = text[:3].lower()
    return _MONTHS.index(name) + 1 if name in _MONTHS else 0


def _date_in(text: str) -> float | None:
    """Return the Unix time of an ISO date or an HTTP date."""
    moment = parse_iso(text)
    return moment.timestamp() if moment else http_date(text)
