"""The exact request that would be sent, with secrets masked. Opens no connection."""

import re
import shlex
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from outkey.core.config.configuration import Configuration
from outkey.core.echo.sent_secrets import public_text, visible_texts
from outkey.core.errors import OutkeyError
from outkey.core.findings.checks import Finding
from outkey.core.findings.configuration_checks import configuration_findings
from outkey.core.request.assembly import Call, authenticated_request
from outkey.core.request.message import Request, Source
from outkey.core.secret import MASK, Secret
from outkey.engine.sending.scripts import sign
from outkey.engine.wire.transmit import SendContext

_CURL_SETS_ITSELF = frozenset({"host", "accept-encoding", "content-length"})
# Scheme words that may be shown when a credential starts with them.
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
        """Return the request as a curl command; secrets are shell variables."""
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
                # Quoted apart: a shell would expand a header's name in double quotes.
                variable = re.sub(r"[^A-Z0-9]", "_", name.upper())
                yield f'--header {shlex.quote(f"{name}: {prefix}")}"${variable}"'
            else:
                yield f"--header {shlex.quote(f'{name}: {value}')}"


def preview(context: SendContext, call: Call) -> Preview:
    """Build a call's request up to the moment of sending, and mask it."""
    configuration = call.configuration
    secret = context.opener(configuration)
    request = authenticated_request(
        call.request(),
        configuration,
        secret,
        signed=partial(sign, context, configuration, call.line),
    )
    return Preview(
        method=request.method,
        url=request.masked_url(),
        headers=masked_headers(context, configuration, request),
        findings=tuple(
            configuration_findings(configuration, secret, now=context.clock.now())
        ),
        username=configuration.username,
    )


def masked_headers(
    context: SendContext, configuration: Configuration, request: Request
) -> tuple[PreviewHeader, ...]:
    """Return the headers without their secrets.

    Of a script's headers only the secret ones are masked: a date or the id of a key
    helps to find out why a signature is rejected.
    """
    visible = visible_texts(request, configuration)
    now = context.moment(configuration, request.origin)
    entered: list[Secret] = []
    for name in configuration.needed_secrets():
        with suppress(OutkeyError):
            entered.append(context.open(configuration, name))
    headers = []
    for header in request.headers:
        value = header.value
        if isinstance(value, Secret):
            shown = None
            if header.source is Source.SCRIPT and value not in entered:
                shown = public_text(value, visible, now)
            value = masked_value(value) if shown is None else shown
        headers.append(PreviewHeader(header.name, value, header.source))
    return tuple(headers)


def masked_value(value: Secret) -> str:
    """Return a mask for a secret; a scheme word such as Bearer stays."""
    return value.known_prefix(_SCHEME_WORDS) + MASK
