"""Reading a JSON Web Token without trusting it: what it says of itself."""

import json
from base64 import urlsafe_b64decode
from typing import NamedTuple

from outkey.core.request.headers import tidy_token
from outkey.core.secret import Secret

_LAST_MOMENT = 253_402_300_800  # the year 10 000


class Claims(NamedTuple):
    """When a token says that it is valid, for whom, and from whom (RFC 7519 §4.1)."""

    expires: float | None
    not_before: float | None
    audiences: tuple[str, ...]
    issuer: str


def expiry_of(token: Secret) -> float | None:
    """Return the moment in a token's `exp`, if it is a JWT and has one."""
    claims = claims_of(token)
    return claims.expires if claims else None


def claims_of(token: Secret) -> Claims | None:
    """Return what a token says of itself, if it is a JWT."""
    parts = tidy_token(token.reveal()).split(".")
    if len(parts) != 3:
        return None
    try:
        claims = json.loads(urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (ValueError, RecursionError):
        return None
    if not isinstance(claims, dict):
        return None
    said = claims.get("aud")
    audiences = said if isinstance(said, list) else [said]
    issuer = claims.get("iss")
    ends, begins = _moment(claims.get("exp")), _moment(claims.get("nbf"))
    named = tuple(one for one in audiences if isinstance(one, str))
    return Claims(ends, begins, named, issuer if isinstance(issuer, str) else "")


def _moment(value: object) -> float | None:
    usable = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if usable and 0 < value < _LAST_MOMENT else None  # type: ignore[arg-type, operator]  # narrowed above
