"""The status that the HTTP interface responds with when something fails."""

from math import ceil

from outkey.foundation.core.errors import (
    NAME_TAKEN,
    AccountChanged,
    ConfigError,
    ConnectionMissing,
    CursorExpired,
    EditConflict,
    HostError,
    InvalidRequest,
    LineBusy,
    LinePaused,
    NoFeed,
    OnHold,
    OutkeyError,
    PolicyError,
    RateLimited,
    RemoteError,
    RotationNone,
    RotationPending,
    RotationUntested,
    ScopeMissing,
    TimedOut,
    TlsBelowFloor,
    TokenRefused,
    UnknownConfiguration,
    UnknownConnection,
    VariableMissing,
)

TOO_LARGE = "too_large"  # the reason of an InvalidRequest
VERSION_DIFFERS = "version-differs"  # the reason of an EditConflict
_CONFLICTS = (
    ConnectionMissing,
    EditConflict,
    LineBusy,
    LinePaused,
    OnHold,
    RotationNone,
    RotationPending,
    RotationUntested,
    VariableMissing,
)
# The first class that an error belongs to decides.
_STATUSES: tuple[tuple[type[OutkeyError], int], ...] = (
    (TokenRefused, 401),
    (ScopeMissing, 403),
    (UnknownConfiguration, 404),
    (UnknownConnection, 404),
    # Of the connect page, where nothing that is stored conflicts.
    (AccountChanged, 422),
    (NoFeed, 409),
    (CursorExpired, 410),
    (InvalidRequest, 400),
    (RateLimited, 429),
    (TimedOut, 504),
    (TlsBelowFloor, 502),
    (RemoteError, 502),
    (PolicyError, 403),
    (HostError, 503),
)


def status_of(error: OutkeyError, *, sends: bool = False) -> int:
    """Return the status of an error; `sends`: it is the send proxy's.

    Where something is sent, wrong settings are a conflict with what is stored; where
    settings are written, the request itself is wrong.
    """
    if isinstance(error, InvalidRequest) and error.reason == TOO_LARGE:
        return 413
    for kind, status in _STATUSES:
        if isinstance(error, kind):
            return status
    if isinstance(error, EditConflict) and error.reason == VERSION_DIFFERS:
        return 412
    if isinstance(error, ConfigError):
        is_conflict = isinstance(error, _CONFLICTS) or error.reason == NAME_TAKEN
        return 409 if sends or is_conflict else 422
    return 500


def retry_after(error: OutkeyError) -> str:
    """Return the value of Retry-After for an error; "" for none."""
    if isinstance(error, RateLimited | HostError):
        return str(max(1, ceil(error.pause)))
    return ""
