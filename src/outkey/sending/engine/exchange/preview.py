"""The exact request that would be sent, with secrets masked. Opens no connection."""

import re
import shlex
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from outkey.foundation.core.errors import OutkeyError
from outkey.foundation.core.fields.choices import TokenEncoding
from outkey.foundation.core.findings.checks import Finding
from outkey.foundation.core.secret import MASK, Secret
from outkey.foundation.core.text import NO_TEXT, Text
from outkey.sending.core.configuration.checks import (
    configuration_findings,
)
from outkey.sending.core.configuration.configuration import (
    TOKEN_PLACEHOLDER,
    USERNAME_PLACEHOLDER,
    Configuration,
)
from outkey.sending.core.configuration.custom_rows import PLACEHOLDER
from outkey.sending.core.connections.naming import (
    refuse_missing_connection,
)
from outkey.sending.core.request.assembly import Call, authenticated_request
from outkey.sending.core.request.challenge import CREDENTIAL_WORDS
from outkey.sending.core.request.message import Header, Request, Source
from outkey.sending.core.request.sent_secrets import public_text, visible_texts
from outkey.sending.core.request.token_place import token_prefix
from outkey.sending.engine.exchange.scripts import sign
from outkey.sending.engine.wire.context import SendContext

_MASKED_PARAMETER = re.compile(rf"(?<=[?&])([^?&=]+)={re.escape(MASK)}(?=&|\Z)")
DIGEST_NOTE = Text(
    "The first request to a server goes without Authorization, since Digest begins with"
    " a challenge of the server."
)
SUBJECT_NOTE = Text(
    "Each request gets the token of the user that it is sent for: pass --subject-token."
)
_CURL_SETS_ITSELF = frozenset({"host", "accept-encoding", "content-length"})
_SCHEME_WORDS = tuple(f"{word} " for word in CREDENTIAL_WORDS)


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
    proxy: str = ""  #: the proxy that it would go through
    proxy_username: str = ""
    note: Text = NO_TEXT  #: what cannot be seen in the request itself

    def curl(self) -> str:
        """Return the request as a curl command; secrets are shell variables."""
        return " \\\n  ".join(["curl --request " + self.method, *self._curl_options()])

    def _curl_options(self) -> Iterator[str]:
        yield self._curl_url()
        if self.proxy:
            yield f"--proxy {shlex.quote(self.proxy)}"
        if self.proxy_username:
            user = shlex.quote(f"{self.proxy_username}:")
            yield f'--proxy-user {user}"$PROXY_PASSWORD"'
        for name, value, _ in self.headers:
            prefix, masked, suffix = value.partition(MASK)
            if name.lower() in _CURL_SETS_ITSELF:
                continue
            if masked and prefix == "Digest ":
                yield "--digest"
            if masked and prefix in {"Basic ", "Digest "}:
                yield f'--user {shlex.quote(f"{self.username}:")}"$PASSWORD"'
            elif masked:
                # Quoted apart: a shell would expand a header's name in double quotes.
                text = shlex.quote(f"{name}: {prefix}") + _shell_variable(name)
                yield "--header " + text + (shlex.quote(suffix) if suffix else "")
            else:
                yield f"--header {shlex.quote(f'{name}: {value}')}"

    def _curl_url(self) -> str:
        parts = _MASKED_PARAMETER.split(self.url)
        # Text, name of a masked parameter, text, name …
        words = [shlex.quote(parts[0] + (f"{parts[1]}=" if parts[1:] else ""))]
        for number in range(1, len(parts), 2):
            words.append(_shell_variable(parts[number]))
            text = parts[number + 1]
            if number + 2 < len(parts):
                text += f"{parts[number + 2]}="
            words += [shlex.quote(text)] if text else []
        return "".join(words)


def preview(context: SendContext, call: Call) -> Preview:
    """Build a call's request up to the moment of sending, and mask it."""
    configuration = call.configuration
    refuse_missing_connection(configuration)
    secret = context.opener(configuration)
    request = authenticated_request(
        call.request(),
        configuration,
        secret,
        signed=partial(sign, context, configuration, call.line),
        now=context.moment(configuration, configuration.base.origin),
    )
    proxy, proxy_username = context.proxies.shown_for(configuration)
    return Preview(
        method=request.method,
        url=request.masked_url(),
        headers=masked_headers(context, configuration, request),
        findings=tuple(
            configuration_findings(configuration, secret, now=context.clock.now())
        ),
        username=configuration.username,
        proxy=proxy,
        proxy_username=proxy_username,
        note=_note(configuration),
    )


def _note(configuration: Configuration) -> Text:
    """Return what a preview cannot show."""
    if configuration.uses_digest:
        return DIGEST_NOTE
    return SUBJECT_NOTE if configuration.needs_subject else NO_TEXT


def masked_headers(
    context: SendContext, configuration: Configuration, request: Request
) -> tuple[PreviewHeader, ...]:
    """Return the headers without their secrets.

    Of a script's headers only the secret ones are masked: a date or the id of a key
    helps to find out why a signature is rejected.
    """
    visible = visible_texts(request, configuration)
    now = context.moment(configuration, request.origin)
    secrets = entered_secrets(context, configuration)
    headers = []
    for header in request.headers:
        value = header.value
        if isinstance(value, Secret):
            text = None
            if header.source is Source.SCRIPT and value not in secrets:
                text = public_text(value, visible, now)
            if text is None:
                text = masked_value(value, _text_around(header, configuration))
            value = text
        headers.append(PreviewHeader(header.name, value, header.source))
    return tuple(headers)


def entered_secrets(context: SendContext, configuration: Configuration) -> list[Secret]:
    """Return the secrets that a script may have put into a header as they are."""
    secrets = []
    if configuration.is_scripted:
        for name in configuration.needed_secrets():
            with suppress(OutkeyError):
                secrets.append(context.open(configuration, name))
    return secrets


def masked_value(value: Secret, text: str) -> str:
    """Return a mask for a secret, with the configured text around it.

    Without one, a scheme word such as Bearer stays.
    """
    if text:
        return text.replace(PLACEHOLDER, MASK)
    return value.known_prefix(_SCHEME_WORDS) + MASK


def _text_around(header: Header, configuration: Configuration) -> str:
    """Return the configured text around a header's secret; it may be empty."""
    if header.source is Source.ROW:
        texts = (r.value for r in configuration.headers if r.key == header.name)
        return next(texts, "")
    if header.source is not Source.AUTHENTICATION or not configuration.sends_token:
        return ""
    place, name = configuration.token_place
    value = _token_value(configuration)
    if place == "cookie":
        return f"{name}={token_prefix(configuration)}{value}"
    prefix = configuration.token_prefix
    is_token = place == "header" and header.name == name
    if not is_token or (value == PLACEHOLDER and not prefix):
        return ""
    return f"{token_prefix(configuration)}{value}"


def _token_value(configuration: Configuration) -> str:
    """Return the text around a token in its value; nothing of it once encoded."""
    if configuration.token_encoding is not TokenEncoding.NONE:
        return PLACEHOLDER
    before, _, after = configuration.token_value.partition(TOKEN_PLACEHOLDER)
    texts = (
        text.replace(USERNAME_PLACEHOLDER, configuration.username)
        for text in (before, after)
    )
    return PLACEHOLDER.join(texts)


def _shell_variable(name: str) -> str:
    """Return a shell variable for a secret of this name, in quotes."""
    return '"$' + re.sub(r"[^A-Z0-9]", "_", name.upper()) + '"'
