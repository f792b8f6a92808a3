"""The exact request that would be sent, with every secret masked. Opens no connection."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from outkey.core.findings.checks import Finding
from outkey.core.findings.configuration_checks import check
from outkey.core.request.assembly import Call, authenticated_request
from outkey.core.request.message import Header, Source
from outkey.core.secret import MASK, Secret
from outkey.engine.sending.scripts import signed
from outkey.engine.wire.transmit import SendContext

_CURL_SETS_ITSELF = frozenset({"host", "accept-encoding", "content-length"})
# Scheme words that are no secret when a credential starts with them.
_SCHEME_WORDS = (
    "Basic ",
    "Bearer ",
    "Token ",
    "ApiKey ",
    "Api-Key ",
    "Digest ",
    "SSWS ",
)


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
    username: str = ""

    def curl(self) -> str:
        """Return the request as a curl command, with a shell variable for every secret."""
        return " \\\n  ".join(["curl --request " + self.method, *self._curl_options()])

    def _curl_options(self) -> Iterator[str]:
        yield shlex.quote(self.url)
        for name, value, _ in self.headers:
            prefix, masked, _ = value.partition(MASK)
            if name.lower() in _CURL_SETS_ITSELF:
                continue
            if masked and prefix == "Basic ":
                yield f'--user {shlex.quote(f"{self.username}:")}"$PASSWORD"'
            elif masked:
                # Quoted apart: a header's name may hold what a shell reads in double quotes.
                variable = re.sub(r"[^A-Z0-9]", "_", name.upper())
                yield f'--header {shlex.quote(f"{name}: {prefix}")}"${variable}"'
            else:
                yield f"--header {shlex.quote(f'{name}: {value}')}"


def preview(sender: SendContext, call: Call) -> Preview:
    """Build a call's request up to the moment of sending, and mask it."""
    secret = sender.opener(call.configuration)
    request = authenticated_request(
        call.request(),
        call.configuration,
        secret,
        signed=partial(signed, sender, call.configuration, call.line),
    )
    findings = tuple(check(call.configuration, secret, now=sender.clock.now()))
    headers = tuple(map(_masked, request.headers))
    username = call.configuration.username
    return Preview(request.method, request.url, headers, findings, username)


def _masked(header: Header) -> PreviewHeader:
    value = header.value
    if isinstance(value, Secret):
        value = value.known_prefix(_SCHEME_WORDS) + MASK
    return PreviewHeader(header.name, value, header.source)
