"""The hold of a restored installation: it does nothing by itself until it is resumed.

A backup has the credentials of the installation that it was made of, which may still
run: two of them would send everything twice, and the refresh token that one of them
uses ends the access of the other.
"""

from collections.abc import Mapping

from outkey.foundation.core.errors import OnHold
from outkey.foundation.core.shared_state import SharedState

RESTORED = "restored"  # the key of the hold among the shared states


def refuse_on_hold(holds: Mapping[str, SharedState]) -> None:
    """Raise OnHold if a hold is stored, whatever its value is."""
    if holds:
        raise OnHold
