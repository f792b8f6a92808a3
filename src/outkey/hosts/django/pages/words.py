"""What the core says with a number or a name in it, in the language of the person."""

import re
from functools import lru_cache

from django.utils.translation import gettext, pgettext
from django.utils.translation import gettext_noop as _

_GAP = re.compile("%s")
_WITH_GAPS = (
    _("%s headers"),
    _("Script line %s: this is not Python"),
    _("Script line %s: compute_auth_header must take one parameter"),
    _("Script has no function compute_auth_header"),
    _("Write: def compute_auth_header(sync_line): …"),
    _("Script is longer than 64 KiB"),
    _("the script raised %s in line %s"),
    _("the script took longer than %s ms"),
    _("the script returned %s and not a mapping"),
    _("the script returned a header value that is %s and not text"),
    _("the script returned a header with a line break"),
    _("the script is set aside for another %s s: it failed to answer %s times in a row"),
    _("configuration %s: example %s of GOLDEN gives other headers than it expects"),
    _("Correct the script, or the example."),
    _("this configuration has no script"),
)


def said_in_words(text: str) -> str:
    """Translate what the core says in English; what nobody has translated stays as it is."""
    told = pgettext("outkey", text)
    if told != text:
        return told
    for pattern, words in _patterns():
        found = pattern.fullmatch(text)
        if found:
            return gettext(words) % found.groups() if found.groups() else gettext(words)
    return text


@lru_cache(maxsize=1)
def _patterns() -> list[tuple[re.Pattern[str], str]]:
    return [
        (re.compile("(.+)".join(map(re.escape, _GAP.split(words)))), words) for words in _WITH_GAPS
    ]
