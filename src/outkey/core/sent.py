"""Which secrets a request carries, in the form in which the other side may repeat them."""

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial

from outkey.core.config import Configuration
from outkey.core.message import Request, Source, http_date
from outkey.core.secret import Secret

_DAY = 86_400.0
_UNITS = (1.0, 1e3, 1e6, 1e9)  # seconds, milliseconds, microseconds, nanoseconds
_LONGEST_MOMENT = 40
_SHORTEST_CREDENTIALS = 8
_SHORTEST_PART = 16
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9-]*")
_PARAMETER = re.compile(r"([\w-]+)=(?:\"([^\"]*)\"|([^\s,;&\"]+))")
_NAMES_SECRET = re.compile(
    r"sig(?!ned)|token|secret|password|mac|response|assertion", re.IGNORECASE
)


def secrets_in(request: Request, configuration: Configuration, now: float) -> tuple[Secret, ...]:
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


def _unless_public(request: Request, configuration: Configuration, now: float, text: str) -> str:
    """Return a script's value, or nothing where it is no secret.

    What stands in the script, in the configuration or in the request itself is known to anybody
    who may see those, and a timestamp to everybody. As secrets they would be found in many
    records: an account number, a version, the time.
    """
    known = (configuration.script, configuration.username, request.url, configuration.name)
    if any(text in place for place in known) or _is_moment(text, now):
        return ""
    return text


def _is_moment(text: str, now: float) -> bool:
    """Tell whether a text is a timestamp of these days, as a number or as a date."""
    if len(text) > _LONGEST_MOMENT:
        return False
    return any(abs(moment - now) < _DAY for moment in _moments(text))


def _moments(text: str) -> Iterator[float]:
    with suppress(ValueError):
        number = float(text)
        yield from (number / unit for unit in _UNITS)
    date = _date(text)
    if date is not None:
        yield date


def _date(text: str) -> float | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return http_date(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
