"""Masking secrets in the response of a remote system before it is shown."""

from collections.abc import Iterable

from outkey.foundation.core.echo.encodings import forms
from outkey.foundation.core.echo.search import SearchText
from outkey.foundation.core.secret import MASK, Secret

_SHORTEST = 4  # a shorter one is part of ordinary words
_SHORTEST_JOINED = 8  # a shorter one may appear by chance where two header lines meet


def scrub(body: bytes, secrets: Iterable[Secret], username: str) -> bytes:
    """Return a body with every usual form of these secrets masked.

    Longest first, so that a secret inside another leaves no tail. Where one can still
    be recognised, such as with other characters in between, the whole body is masked.
    """
    secrets = list(secrets)
    secret_forms = [
        form
        for secret in secrets
        if secret.longer_than(_SHORTEST - 1)
        for form in forms(secret.reveal(), username).values()
    ]
    for form in sorted(secret_forms, key=len, reverse=True):
        body = body.replace(form, MASK.encode())
    searched = SearchText.of_json(body)
    if any(secret.patterns().is_in(searched) for secret in secrets):
        return MASK.encode()
    return body


def scrub_headers(
    headers: Iterable[tuple[str, str]], secrets: Iterable[Secret], username: str
) -> tuple[tuple[str, str], ...]:
    """Return header lines with these secrets masked in names and values.

    A secret may be spread over several lines. If one can be recognised in all of them
    together, every value is masked, and every name too if the names alone contain it.
    """
    secrets = list(secrets)
    names: list[str] = []
    values: list[str] = []
    for name, value in headers:
        names.append(_scrubbed_text(name, secrets, username))
        values.append(_scrubbed_text(value, secrets, username))
    lines = [part for line in zip(names, values, strict=True) for part in line]
    if _are_in(secrets, lines) or _are_in(secrets, values):
        values = [MASK] * len(values)
    if _are_in(secrets, names):
        names = [MASK] * len(names)
    return tuple(zip(names, values, strict=True))


def _scrubbed_text(text: str, secrets: list[Secret], username: str) -> str:
    return scrub(text.encode(errors="replace"), secrets, username).decode(
        errors="replace"
    )


def _are_in(secrets: list[Secret], texts: list[str]) -> bool:
    """Whether one of the secrets is in the concatenation of these texts."""
    joined = "".join(texts)
    searched = SearchText(joined.encode(errors="replace"))
    return any(
        secret.longer_than(_SHORTEST_JOINED - 1)
        and (secret.occurs_in(joined) or secret.patterns().is_in(searched))
        for secret in secrets
    )
