"""The scenes that only a drill needs: a table of failures, then a welcome."""

import re
from typing import NamedTuple

from outkey.spar.exchange import Stage

_ISSUED = re.compile(r"spar-at-[0-9a-f]+")
_INVALID = (
    'Bearer realm="spar", error="invalid_token", error_description="Expired or unknown"'
)


class CannedResponse(NamedTuple):
    """A response that is the same each time."""

    status: int
    body: dict[str, object]
    headers: tuple[tuple[str, str], ...] = ()


FAILURES = {
    "wrong": CannedResponse(401, {"error": "unauthorized"}),
    "expired-403": CannedResponse(403, {"error": "forbidden"}),
    # As Slack refuses.
    "error-in-200": CannedResponse(200, {"ok": False, "error": "invalid_auth"}),
    "limited": CannedResponse(429, {"error": "rate_limited"}, (("Retry-After", "5"),)),
    "unavailable": CannedResponse(503, {"error": "unavailable"}),
    # As Amazon S3 refuses.
    "skewed": CannedResponse(403, {"Code": "RequestTimeTooSkewed"}),
}


def drill(stage: Stage) -> None:
    """Fail as `/drill/NAME` names it for the first `?times=` requests (all by default).

    Then succeed. Names: `wrong`, `expired-403`, `error-in-200`, `limited`,
    `unavailable`, `skewed`, `welcome`. A token of the authorization server, in any
    header, must be live.
    """
    failure = FAILURES.get(stage.rest)
    tokens = _ISSUED.findall(" ".join(stage.headers.values()))
    if failure is not None and _arrival_count(stage) <= stage.number("times", 1e9):
        stage.respond(failure.status, failure.body, *failure.headers)
    elif all(map(stage.authority.access, tokens)):
        stage.respond(200, {"welcome": True})
    else:
        stage.respond(401, {"error": "invalid_token"}, ("WWW-Authenticate", _INVALID))


def _arrival_count(stage: Stage) -> int:
    """Return how many requests for this scene arrived, this one included."""
    return sum(arrival.path == stage.path for arrival in list(stage.journal))
