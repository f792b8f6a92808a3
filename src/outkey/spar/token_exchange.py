"""The rules of a token exchange (RFC 8693), for made-up tokens of users."""

import re
from collections.abc import Mapping

from outkey.spar.records import OAuthError, Terms, required_parameter

EXCHANGE_GRANT = "urn:ietf:params:oauth:grant-type:token-exchange"
_TYPES = frozenset(
    f"urn:ietf:params:oauth:token-type:{name}" for name in ("access_token", "jwt")
)
# Made up and public: `spar-user-alice`; one that ends with `-expired` is expired.
_SUBJECT = re.compile(r"spar-user-([a-z0-9-]{1,40})")
_EXPIRED = "-expired"
_ACTOR = "spar-actor"


def exchanged_subject(form: Mapping[str, str], terms: Terms) -> str:
    """Return the user of a subject token, or refuse the exchange (RFC 8693 §2.2.2)."""
    token = required_parameter(form, "subject_token")
    _check_type(form, "subject_token_type")
    subject = _SUBJECT.fullmatch(token)
    if subject is None:
        raise OAuthError("invalid_request", "The subject_token is not known here")
    if token.endswith(_EXPIRED):
        raise OAuthError("invalid_request", "The subject_token has expired")
    _check_actor(form, terms)
    if terms.audience and form.get("audience") != terms.audience:
        raise OAuthError("invalid_target", "The client must not request this audience")
    return subject.group(1)


def _check_actor(form: Mapping[str, str], terms: Terms) -> None:
    actor = form.get("actor_token")
    if actor is None:
        if terms.needs_actor:
            raise OAuthError("invalid_request", "An actor_token is required")
        return
    _check_type(form, "actor_token_type")
    if actor != _ACTOR:
        raise OAuthError("invalid_request", "The actor_token is not known here")


def _check_type(form: Mapping[str, str], name: str) -> None:
    if required_parameter(form, name) not in _TYPES:
        raise OAuthError("invalid_request", f"Unsupported {name}")
