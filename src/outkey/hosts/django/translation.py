"""Texts of the core in the language of the user."""

from functools import partial

from django.utils import timezone
from django.utils.translation import pgettext

from outkey.foundation.core.moments import with_moments, zoned_text
from outkey.foundation.core.text import Text

# With a context of our own, or Django's German for "None" would be shown.
_gettext = partial(pgettext, "outkey")


def translate_text(text: str) -> str:
    """Return a text, label or status of the core in the language of the user.

    A string that has no translation is returned as it is.
    """
    if isinstance(text, Text):
        return with_moments(text, _in_zone_of_user).translate_with(_gettext)
    return _gettext(text) if text else ""


def _in_zone_of_user(at: float) -> str:
    """Return a Unix time as the pages show it."""
    return zoned_text(at, timezone.get_current_timezone())
