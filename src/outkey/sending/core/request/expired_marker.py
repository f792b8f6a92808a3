"""How an expired token is recognized: by statuses, or by a marker in the body."""

from outkey.foundation.core.fields.statuses import accepts
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.request.message import Response

# How much of a body is searched for the Expired marker.
MARKER_BYTES = 64 * 1024
UNAUTHORIZED = 401
FORBIDDEN = 403


def has_expired_marker(response: Response, configuration: Configuration) -> bool:
    """Whether a response has the Expired marker, whatever its status.

    The caller makes sure that the marker is not a part of a secret that the response
    repeats.
    """
    if not configuration.looks_for_marker:
        return False
    marker = configuration.verification.expired_marker.encode()
    return marker in response.body[:MARKER_BYTES]


def is_expired_status(status: int, configuration: Configuration) -> bool:
    """Whether a status means an expired token: 401, or one that is configured."""
    verification = configuration.verification
    return (
        status == UNAUTHORIZED
        or (status == FORBIDDEN and verification.forbidden_means_expired)
        or accepts(verification.expired_statuses, status)
    )
