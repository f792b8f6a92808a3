"""The exact request that would be sent, with secrets masked. Opens no connection."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from outkey.core.config.choices import AuthenticationType
from outkey.core.findings.checks import Finding
from outkey.core.findings.configuration_checks import configuration_findings
from outkey.core.request.assembly import Call, authenticated_request
from outkey.core.request.message import Header, Source
from outkey.core.secret import MASK, Secret
from outkey.core.text import NO_TEXT, Text
from outkey.engine.sending.scripts import sign
from outkey.engine.wire.transmit import SendContext

DIGEST_NOTE = Text(
    "The first request to a server goes without Authorization, since Digest begins with"
    " a challenge of the server."
)
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
    proxy: str = ""  # the proxy that it would go through
    proxy_username: str = ""
    note: Text = NO_TEXT  # what cannot be seen in the request itself

    def curl(self) -> str:
        """Return the request as a curl command; secrets are shell variables."""
        return " \\\n  ".join(["curl --request " + self.method, *self._curl_options()])

    def _curl_options(self) -> Iterator[str]:
        yield shlex.quote(self.url)
        if self.proxy:
            yield f"--proxy {shlex.quote(self.proxy)}"
        if self.proxy_username:
            user = shlex.quote(f"{self.proxy_username}:")
            yield f'--proxy-user {user}"$PROXY_PASSWORD"'
        for name, value, _ in self.headers:
            prefix, masked, _ = value.partition(MASK)
            if name.lower() in _CURL_SETS_ITSELF:
                continue
            if masked and prefix == "Digest ":
                yield "--digest"
            if masked and prefix in {"Basic ", "Digest "}:
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
    is_digest = configuration.authentication_type is AuthenticationType.DIGEST
    proxy, proxy_username = context.proxies.shown_for(configuration)
    return Preview(
        method=request.method,
        url=request.masked_url(),
        headers=tuple(map(masked_header, request.headers)),
        findings=tuple(
            configuration_findings(configuration, secret, now=context.clock.now())
        ),
        username=configuration.username,
        proxy=proxy,
        proxy_username=proxy_username,
        note=DIGEST_NOTE if is_digest else NO_TEXT,
    )


def masked_header(header: Header) -> PreviewHeader:
    """Return a header without its secret; a scheme word such as Bearer stays."""
    value = header.value
    if isinstance(value, Secret):
        value = value.known_prefix(_SCHEME_WORDS) + MASK
    return PreviewHeader(header.name, value, header.source)
