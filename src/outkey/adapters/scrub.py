"""Masking secrets that a remote system echoes, before anything of its answer is shown."""

from collections.abc import Iterable

from outkey.core.encodings import forms
from outkey.core.search import SearchText
from outkey.core.secret import MASK, Secret

_SHORTEST = 4  # masking a shorter one would eat ordinary text


def scrubbed(body: bytes, secrets: Iterable[Secret], username: str) -> bytes:
    """Return a body with every usual form of these secrets masked.

    Longest first, so that a secret inside another leaves no tail. Where one can still be
    recognised, such as with other characters in between, nothing of the body is left.
    """
    secrets = list(secrets)
    found = [
        form
        for secret in secrets
        if secret.longer_than(_SHORTEST - 1)
        for form in forms(secret.reveal(), username).values()
    ]
    for form in sorted(found, key=len, reverse=True):
        body = body.replace(form, MASK.encode())
    searched = SearchText.of_json(body)
    if any(secret.patterns().is_in(searched) for secret in secrets):
        return MASK.encode()
    return body
