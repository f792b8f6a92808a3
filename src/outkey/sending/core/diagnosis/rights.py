"""Refusals of a known user: what a response says of rights, beside the anonymous one.

Only where the same request without credentials gets another response: then the API has
read them, and its words are about this user.
"""

import re
from collections.abc import Iterator

from outkey.foundation.core.text import Text
from outkey.sending.core.diagnosis.evidence import Clue, Evidence

# In the compact form of `evidence.compact`, without spaces, hyphens and underscores.
_OF_RIGHTS = re.compile(
    rb"not(?:an?|the)?(?:\w{3,20})user\b"  # RabbitMQ: Not management user
    rb"|usertags?|administrator|adminrights|adminrole|(?:is|are)notadmin"
    rb"|privilege|notamember|norights?|notentitled"
)
_OF_DENIAL = re.compile(rb"denied|notallowed|notpermitted|forbiddenforuser")
# Words about the credentials themselves, which "access denied" often comes with.
_OF_CREDENTIALS = re.compile(
    rb"password|credential|token|apikey|login|invalid|incorrect|wrong|unknownuser"
    rb"|usernotfound|nosuchuser|notauthenticated|unauthenticated"
)


def by_rights(evidence: Evidence) -> Iterator[Clue]:
    """Yield the clue for words about users, administrators or denial."""
    if not evidence.reads_ours or evidence.is_html:
        return
    words = evidence.phrases
    if _OF_CREDENTIALS.search(words):
        return
    if _OF_RIGHTS.search(words) or (
        evidence.status == 403 and _OF_DENIAL.search(words)
    ):
        text = Text(
            "Without credentials the response is another one, and this one speaks of"
            " the rights of the user."
        )
        yield Clue(69, "forbidden", text)
