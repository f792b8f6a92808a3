"""Pauses that an API asks for (Retry-After): how long runs wait, what users read."""

from collections.abc import Callable, Mapping
from typing import Any

from outkey.foundation.core.errors import BadResponse, OutkeyError, RateLimited
from outkey.foundation.core.moments import moment_text
from outkey.foundation.core.stored_times import LONGEST_WAIT, is_possible
from outkey.foundation.core.text import Text
from outkey.sending.core.request.message import Response, retry_after

_TOO_MANY_REQUESTS = 429
_PAUSING = frozenset({_TOO_MANY_REQUESTS, 503})


def raise_for_cause(response: Response, clock: Callable[[], float]) -> None:
    """Raise what is wrong with a response; the error has the pause that it asks for."""
    try:
        response.raise_for_cause()
    except BadResponse as error:
        if error.status not in _PAUSING:
            raise
        now = clock()
        requested = retry_after(response, now=now)
        if not requested:
            raise
        pause = min(requested, LONGEST_WAIT)
        refusal = BadResponse(error.cause, error.status, _hint(now + pause))
        refusal.pause = pause
        raise refusal from None


def pauses_configuration(error: OutkeyError) -> bool:
    """Whether the error that ended a run is a pause for all lines of a configuration.

    The API has responded with 429, or has stated that no request is left. Also a short
    pause, which their requests would wait for: meanwhile each would have a place of a
    worker. 503 may be about one resource of the API, so it only stops the run that got
    it.
    """
    is_429 = isinstance(error, BadResponse) and error.status == _TOO_MANY_REQUESTS
    return (is_429 or isinstance(error, RateLimited)) and error.pause > 0


def pause_end(pause: Mapping[str, Any], now: float) -> float:
    """Return when the pause of a configuration ends; in the past without one.

    Nothing waits for a pause that a clock which was ahead has stored.
    """
    until: float = pause.get("until", 0.0)
    was_stored = is_possible(pause.get("at", 0.0), now)
    return until if was_stored and is_possible(until, now, LONGEST_WAIT) else 0.0


def pause_error(until: float, now: float) -> RateLimited:
    """Return the error for a run that may not begin before a pause has passed."""
    error = RateLimited(Text("the API asked for a pause"), hint=_hint(until))
    error.pause = until - now
    return error


def _hint(until: float) -> Text:
    return Text("Retry after {moment}.", moment=moment_text(until))
