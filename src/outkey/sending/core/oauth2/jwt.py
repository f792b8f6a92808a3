"""Reading the claims of a JSON Web Token without trusting them."""

import json
from base64 import urlsafe_b64decode
from typing import NamedTuple

from outkey.foundation.core.moments import LAST_MOMENT
from outkey.foundation.core.secret import Secret
from outkey.sending.core.request.headers import tidy_token


class Claims(NamedTuple):
    """Validity, audiences and issuer of a token (RFC 7519 §4.1), and its nonce."""

    expires: float | None
    not_before: float | None
    audiences: tuple[str, ...]
    issuer: str
    nonce: str = ""


def expiry_of(token: Secret) -> float | None:
    """Return the expiry time of a token, if it is a JWT with `exp`."""
    claims = claims_of(token)
    return claims.expires if claims else None


def claims_of(token: Secret) -> Claims | None:
    """Return the claims of a token, if it is a JWT."""
    parts = tidy_token(token.reveal()).split(".")
    if len(parts) != 3:
        return None
    try:
        claims = json.loads(urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (ValueError, RecursionError):
        return None
    if not isinstance(claims, dict):
        return None
    audience = claims.get("aud")
    audiences = audience if isinstance(audience, list) else [audience]
    issuer = claims.get("iss")
    nonce = claims.get("nonce")
    return Claims(
        expires=read_moment(claims.get("exp")),
        not_before=read_moment(claims.get("nbf")),
        audiences=tuple(item for item in audiences if isinstance(item, str)),
        issuer=issuer if isinstance(issuer, str) else "",
        nonce=nonce if isinstance(nonce, str) else "",
    )


def read_moment(value: object) -> float | None:
    """Return a Unix time, None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 < value < LAST_MOMENT else None
