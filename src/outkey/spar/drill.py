"""The scenes that only a drill needs, as a table: what is said, to how many, and welcome after."""

import re
from typing import NamedTuple

from outkey.spar.exchange import Stage

_ISSUED = re.compile(r"spar-at-[0-9a-f]+")
_INVALID = (
    'Bearer realm="spar", error="invalid_token", error_description="Expired or unknown"'
)


class _Said(NamedTuple):
    status: int
    body: dict[str, object]
    headers: tuple[tuple[str, str], ...] = ()


SAID = {
    "wrong": _Said(401, {"error": "unauthorized"}),
    "expired-403": _Said(403, {"error": "forbidden"}),
    "error-in-200": _Said(
        200, {"ok": False, "error": "invalid_auth"}
    ),  # as Slack says no
    "limited": _Said(429, {"error": "rate_limited"}, (("Retry-After", "5"),)),
    "unavailable": _Said(503, {"error": "unavailable"}),
    "skewed": _Said(403, {"Code": "RequestTimeTooSkewed"}),  # as Amazon S3 says it
}


def drill(stage: Stage) -> None:
    """Say `/drill/NAME` to the first `?times=` requests (to all by default), then welcome them.

    Names: `wrong`, `expired-403`, `error-in-200`, `limited`, `unavailable`, `skewed`, `welcome`.
    Whoever shows a token of the authorization server, in any header, is welcome while it lives.
    """
    said = SAID.get(stage.rest)
    if said is not None and _came(stage) <= stage.number("times", 1e9):
        stage.answer(said.status, said.body, *said.headers)
    elif all(
        map(stage.authority.access, _ISSUED.findall(" ".join(stage.headers.values())))
    ):
        stage.answer(200, {"welcome": True})
    else:
        stage.answer(401, {"error": "invalid_token"}, ("WWW-Authenticate", _INVALID))


def _came(stage: Stage) -> int:
    """Return how many requests for this scene came so far, this one included."""
    return sum(arrival.path == stage.path for arrival in list(stage.journal))
