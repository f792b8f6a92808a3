"""Reading a JSON Web Token without trusting it: when it says that it ends."""

import json
from base64 import urlsafe_b64decode

from outkey.core.headers import tidy_token
from outkey.core.secret import Secret

_LAST_MOMENT = 253_402_300_800  # the year 10 000


def expiry_of(token: Secret) -> float | None:
    """Return the moment in a token's `exp` (RFC 7519 §4.1.4), if it is a JWT and has one."""
    parts = tidy_token(token.reveal()).split(".")
    if len(parts) != 3:
        return None
    try:
        claims = json.loads(urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
        moment = claims["exp"]
    except (ValueError, RecursionError, KeyError, TypeError):
        return None
    usable = isinstance(moment, int | float) and not isinstance(moment, bool)
    return float(moment) if usable and 0 < moment < _LAST_MOMENT else None
