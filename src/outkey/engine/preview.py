"""The exact request that would be sent, with every secret masked. Opens no connection."""

from dataclasses import dataclass
from typing import NamedTuple

from outkey.core.checks import Finding, check
from outkey.core.headers import compose
from outkey.core.message import Header, Source
from outkey.core.schemes import scheme_of
from outkey.core.secret import MASK, Secret
from outkey.engine.send import Call, Sender, with_rows

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
    opener = sender.opener(call.configuration)
    request = with_rows(call.request(), call.configuration, opener)
    flow = scheme_of(call.configuration, opener).flow(request)
    try:
        request = next(flow).request
    finally:
        flow.close()
    shown = tuple(map(_masked, compose(request.headers)))
    findings = tuple(check(call.configuration, opener))
    return Preview(request.method, request.url, shown, findings)


def _masked(header: Header) -> PreviewHeader:
    value = header.value
    if isinstance(value, Secret):
        value = value.known_prefix(_SCHEME_WORDS) + MASK
    return PreviewHeader(header.name, value, header.source)
