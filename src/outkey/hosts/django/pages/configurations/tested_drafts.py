"""A good test of a form counts for the save of exactly the same values.

The verdict of a test has a signed note of what was tested, and the form posts it when
it is saved. The note holds a keyed digest of the values, so that nobody can read or
guess a secret from it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from hmac import compare_digest

from django.core import signing
from django.http import HttpRequest
from django.utils.crypto import salted_hmac

from outkey.administration.engine.editing.drafts import CandidateConfiguration
from outkey.administration.engine.editing.editing import Edit
from outkey.hosts.django.pages.access import installation
from outkey.sending.engine.connection_test import Report

TESTED = "outkey.tested"  # the salt of signatures under notes of good tests
TESTED_SECONDS = 3600


@dataclass(frozen=True, slots=True)
class GoodTest:
    """When a test succeeded, and what it saw of the API."""

    at: float
    seen: Mapping[str, object]


def note_of_test(
    request: HttpRequest, candidate: CandidateConfiguration, report: Report, at: float
) -> str:
    """Return the signed note of a good test, "" if it was not one of a draft."""
    if not report.ok or candidate.is_saved:
        return ""
    facts = (candidate.digest(_digest_key()), at, report.seen)
    return signing.dumps(facts, salt=_salt_for(request))


def good_test_of(request: HttpRequest, edit: Edit) -> GoodTest | None:
    """Return the good test of exactly the values that are being saved, or None."""
    try:
        digest, at, seen = signing.loads(
            request.POST.get("tested", ""),
            salt=_salt_for(request),
            max_age=TESTED_SECONDS,
        )
    except signing.BadSignature:
        return None
    candidate = edit.candidate(installation().secrets)
    if not compare_digest(digest, candidate.digest(_digest_key())):
        return None
    return GoodTest(at, seen)


def _salt_for(request: HttpRequest) -> str:
    """Return a salt for the notes of this user: another one cannot use them."""
    return f"{TESTED}.{request.user.pk}"


def _digest_key() -> bytes:
    """Return the key of the digests, from the secret key of Django."""
    return salted_hmac(TESTED, "digest", algorithm="sha256").digest()
