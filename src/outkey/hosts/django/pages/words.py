"""What the core says with a number or a name in it, in the language of the person."""

import re
from functools import lru_cache

from django.utils.translation import gettext, pgettext
from django.utils.translation import gettext_noop as _

from outkey.core.config.fields import FIELDS
from outkey.core.findings.posture import CHECKS
from outkey.core.request.message import Source

_GAP = re.compile("%s")
_LONGEST = 2000  # beyond this, to look for several gaps in a text would take seconds
_WITH_GAPS = (  # the first that fits is taken, so what begins with a gap comes last
    _("Script line %s: this is not Python"),
    _("Script line %s: transform must take one parameter"),
    _("Script has no function transform"),
    _("Write: def transform(record): …"),
    _("Script line %s: transform must be a plain function, not async"),
    _("the host's field %s must have a value"),
    _("the host's field is mapped twice"),
    _("the host's field must not be empty"),
    _("two records of the host may have the same %s, and then none is updated"),
    _("must be one of: %s"),
    _("must be a whole number from %s to %s"),
    _("must be text of at most %s characters, without control characters"),
    _("must be a list of at most %s"),
    _("Ask an administrator for the permission to %s these records."),
    _("Look at the line and its configuration: what is wrong stands there."),
    _("a page has more than %s records"),
    _("the response has more than %s values"),
    _("the first page is larger than the %s MiB that a preview reads"),
    _("Ask for fewer records at a time (pagination.size), or start a dry run."),
    _("the preview took longer than %s seconds"),
    _("the run reached its limit of %s records"),
    _("the run reached its limit of %s minutes"),
    _(
        "If there are really so many records, raise max_records or max_minutes of the"
        " line; else check the pagination, or ask the provider of the API."
    ),
    _("the TOML is longer than %s characters"),
    _("Shorten it; a long document can be divided into several."),
    _("a key of the TOML has more than %s parts"),
    _("Remove the dots that do not belong there; no key needs more than four parts."),
    _("the TOML is nested too deeply or contains a number that is too long"),
    _("this is not TOML: %s"),
    _("the path is longer than %s characters"),
    _("Move its parameters into the query of the line."),
    _("Script has more than %s opening braces"),
    _("there are more than %s pages"),
    _("there is no {%s} to fill in"),
    _("Known here: %s."),
    _("%s does not make what the host's field takes: %s"),
    _("it is none that %s takes"),
    _("%s needs this option"),
    _("Choose %s."),
    _("a script is for records that come in"),
    _(
        "Check the username and password, or the token. In use here: %s. Check Scope,"
        " Audience and Resource: outkey got a new token, and it is refused too."
    ),
    _("Check the username and password, or the token. In use here: %s."),
    _(
        "Implement a token refresh mechanism: switch on 403 means expired on the"
        " Verification tab, and outkey gets a new token after a 403."
    ),
    _(
        "Set this machine's clock right (NTP); the API rejects our timestamps."
        " Both clocks agree: check the form of the timestamp too (UTC, unit, digits)."
    ),
    _(
        "Review the authentication header format."
        " Enter the value alone, without the word Bearer and without blanks."
    ),
    _(
        "Review the authentication header format. Enter the value anew, typed or copied"
        " as plain text, without blanks around it."
    ),
    _(
        "Review the authentication header format. Enter only the value of its"
        " access_token."
    ),
    _("Script line %s: compute_auth_header must take one parameter"),
    _("Script has no function compute_auth_header"),
    _("Write: def compute_auth_header(sync_line): …"),
    _("Script is longer than 64 KiB"),
    _("configuration %s: Script line %s: this module cannot be imported"),
    _("configuration %s: Script line %s: %s cannot be imported"),
    _("Scripts may import %s and cryptography."),
    _("the script raised %s in line %s"),
    _("the script took longer than %s ms"),
    _("the script returned %s and not a mapping"),
    _('Write: return {"X-Name": "text"}'),
    _('Let every way through the function end with: return {"X-Name": "text"}'),
    _("the script returned a header name that is %s and not text"),
    _("the script returned a header value that is %s and not text"),
    _("Write a number as text: str(number)."),
    _(
        "Make text of bytes: .decode(), or base64.b64encode(…).decode() where they are"
        " no text."
    ),
    _("Leave the header out where there is no value, or return an empty text."),
    _("the script returned a header with a line break or a NUL character"),
    _("Use base64.b64encode, not encodebytes, and remove line breaks with .strip()."),
    _("the script returned text that is not Unicode"),
    _("the script returned more than 64 KiB of headers"),
    _("the script returned more than %s headers"),
    _("the script returned the header %s, which belongs to the connection"),
    _("Leave it out of what the script returns; outkey sets it where it is needed."),
    _(
        "the script returned a header name that is empty"
        " or has a character that no header name may have"
    ),
    _("Use letters, digits and hyphens, without blanks or a colon."),
    _("the script returned the secret as a header name"),
    _(
        "the script is set aside for another %s s: it failed to answer %s times in"
        " a row"
    ),
    _("configuration %s: example %s of GOLDEN gives other headers than it expects"),
    _("Correct the script, or the example."),
    _("this configuration has no script"),
    _("answered %s; it says: %s"),
    _("answered %s, and nothing without credentials"),
    _("answered %s, and %s without credentials"),
    _("answered %s"),
    _("the API's clock is %s s ahead of this machine's"),
    _("the API's clock is %s s behind this machine's"),
    _("Set this machine's clock right (NTP), or switch on Use the API's clock."),
    _(
        "the test request is answered without credentials too, so it proves nothing"
        " about them"
    ),
    _("Set Test Path to one that needs credentials, such as the account's own data."),
    _("configuration %s: %s; the policy for %s blocks %s"),
    _("the header %s is set by two sources: %s, %s"),
    _("the header %s is set twice by one source: %s"),
    _("the policy is not TOML"),
    _("the policy has a key that is not known"),
    _("an environment of the policy has one key: blocking, a list"),
    _(
        "the policy blocks a check that there is not, or that is not about"
        " configurations"
    ),
    _("Known: %s."),
    _("Correct config/policy.toml."),
    _("%s is a number of days from 1 to %s"),
    _("%s must not be empty"),
    _("%s must be one of: %s"),
    _("%s must be a whole number from %s to %s"),
    _("%s must be a number from %s to %s"),
    _("%s, without TLS"),
    _("%s headers"),
)
# What other texts repeat: the policy's refusal a check's, and what a field does not take its label.
_INNER = frozenset(
    (
        *(check.message for check in CHECKS),
        *(field.label for field in FIELDS),
        *map(str, Source),
    )
)


def said_in_words(text: str) -> str:
    """Translate what the core says in English; what nobody has translated stays as it is."""
    told = pgettext("outkey", text)
    if told != text:
        return told
    for pattern, words in _patterns() if len(text) <= _LONGEST else ():
        found = pattern.fullmatch(text)
        if found:
            gaps = tuple(
                pgettext("outkey", t) if t in _INNER else t for t in found.groups()
            )
            return gettext(words) % gaps if gaps else gettext(words)
    return text


@lru_cache(maxsize=1)
def _patterns() -> list[tuple[re.Pattern[str], str]]:
    return [
        (re.compile("(.+)".join(map(re.escape, _GAP.split(words)))), words)
        for words in _WITH_GAPS
    ]
