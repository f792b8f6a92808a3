"""Texts of the core in the language of the user."""

from functools import partial

from django.utils.translation import pgettext

from outkey.core.text import Text

# With a context of our own, or Django's German for "None" would be shown.
_gettext = partial(pgettext, "outkey")


def translate_text(text: str) -> str:
    """Return a text, label or status of the core in the language of the user.

    A string that has no translation is returned as it is.
    """
    if isinstance(text, Text):
        return text.translate_with(_gettext)
    return _gettext(text) if text else ""
