"""The exact request that would be sent, with every secret masked. Opens no connection."""

from dataclasses import dataclass
from typing import NamedTuple

from outkey.core.assembly import Call, authenticated
from outkey.core.checks import Finding, check
from outkey.core.message import Header, Source
from outkey.core.secret import MASK, Secret
from outkey.engine.send import Sender

# Scheme words that are no secret when a credential starts with them.
_SCHEME_WORDS = ("Basic ", "Bearer ", "Token ", "ApiKey ", "Api-Key ", "Digest ", "SSWS ")


class PreviewHeader(NamedTuple):
    """One header line as it may be shown."""

    name: str
    value: str
    source: Source


@dataclass(frozen=True, slots=True)
class Preview:
    """A request as it would be sent."""

    method: str
    url: str
    headers: tuple[PreviewHeader, ...]
    findings: tuple[Finding, ...]


def preview(sender: Sender, call: Call) -> Preview:
    """Build a call's request up to the moment of sending, and mask it."""
    secret = sender.opener(call.configuration)
    request = authenticated(call.request(), call.configuration, secret)
    findings = tuple(check(call.configuration, secret, now=sender.clock.now()))
    return Preview(request.method, request.url, tuple(map(_masked, request.headers)), findings)


def _masked(header: Header) -> PreviewHeader:
    value = header.value
    if isinstance(value, Secret):
        value = value.known_prefix(_SCHEME_WORDS) + MASK
    return PreviewHeader(header.name, value, header.source)
