"""Parsing the challenges of WWW-Authenticate headers (RFC 9110 §11.6.1)."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from outkey.sending.core.request.headers import NAME_GRAMMAR

# The schemes that outkey names, as they are written for users. Every other name in a
# challenge is remote text, which is neither stored nor shown.
KNOWN_SCHEMES = (
    "AWS4-HMAC-SHA256",
    "Basic",
    "Bearer",
    "Digest",
    "DPoP",
    "HOBA",
    "Mutual",
    "Negotiate",
    "NTLM",
    "OAuth",
)
# Schemes of API keys, which no standard defines; in lower case.
KEY_SCHEMES = frozenset({"apikey", "api-key", "x-api-key", "key"})
# The words that may stand before a credential in a header: naming one reveals nothing.
CREDENTIAL_WORDS = (
    "Basic",
    "Bearer",
    "Token",
    "ApiKey",
    "Api-Key",
    "Digest",
    "OAuth",
    "SSWS",
    "AWS4-HMAC-SHA256",
)
_MAX_LENGTH = 16 * 1024
_PART = re.compile(
    rf"""[\s,]*(?:
        (?P<key>{NAME_GRAMMAR})[ \t]*=[ \t]*
        (?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<bare>{NAME_GRAMMAR}))(?=[\s,]|$)
      | (?P<scheme>{NAME_GRAMMAR})
        (?:[ ]+(?P<token68>[A-Za-z0-9._~+/-]+=*)(?=[ \t]*(?:,|$)))?(?=[\s,]|$)
    )""",
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Challenge:
    """One scheme the server would accept, with its parameters by lower-case name."""

    scheme: str
    parameters: dict[str, str] = field(default_factory=dict)
    token68: str = ""


def parse_challenges(values: Iterable[str]) -> list[Challenge]:
    """Read all challenges of all header lines, each up to its first invalid part."""
    challenges: list[Challenge] = []
    left = _MAX_LENGTH  # for all lines together, or a hundred long ones take seconds
    for value in values:
        challenges += _challenges_in(value[:left])
        left -= min(left, len(value))
    return challenges


def _challenges_in(value: str) -> Iterator[Challenge]:
    """Yield the challenges of one header line."""
    current: Challenge | None = None
    for part in parts_of(value):
        if part["scheme"]:
            if current:
                yield current
            current = Challenge(part["scheme"].lower(), token68=part["token68"] or "")
        elif current:
            text = part["bare"] or re.sub(r"\\(.)", r"\1", part["quoted"] or "")
            current.parameters.setdefault(part["key"].lower(), text)
    if current:
        yield current


def parts_of(value: str) -> Iterator[re.Match[str]]:
    """Yield schemes and parameters up to the first invalid part."""
    position = 0
    while part := _PART.match(value, position):
        yield part
        position = part.end()
