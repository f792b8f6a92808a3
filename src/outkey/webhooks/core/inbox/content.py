"""The sealed content of a delivery: body and headers, both without credentials."""

import json
import re
from collections.abc import Collection, Iterator
from contextlib import suppress
from typing import NamedTuple

from outkey.foundation.core.secret import MASK, Secret
from outkey.sending.core.request.headers import looks_like_credential
from outkey.webhooks.core.inbox.delivery import Delivery
from outkey.webhooks.core.settings.settings import Webhook, scheme_of

# The texts and numbers of JSON. Everything between them stays as the sender wrote it.
JSON_VALUE = re.compile(rb'"(?:[^"\\]|\\.)*"|-?[0-9][0-9.eE+-]*')
LENGTH_BYTES = 4  # of the number before the headers
MAX_HEADERS = 100
MAX_VALUE = 1000  # characters

Headers = tuple[tuple[str, str], ...]


class DeliveryContent(NamedTuple):
    """The headers and the body of a delivery."""

    headers: Headers
    body: bytes

    def to_bytes(self) -> bytes:
        """Return both as one text of bytes."""
        headers = json.dumps(self.headers).encode()
        return len(headers).to_bytes(LENGTH_BYTES, "big") + headers + self.body

    @classmethod
    def from_bytes(cls, content: bytes) -> "DeliveryContent":
        """Undo `to_bytes`."""
        end = LENGTH_BYTES + int.from_bytes(content[:LENGTH_BYTES], "big")
        headers = json.loads(content[LENGTH_BYTES:end])
        return cls(tuple((name, value) for name, value in headers), content[end:])


def has_secret_in_body(webhook: Webhook) -> bool:
    """Whether the deliveries of a webhook have its secret itself in their bodies."""
    scheme = scheme_of(webhook)
    return scheme is not None and scheme.has_secret_in_body


def without_proof(body: bytes, webhook: Webhook, secrets: Collection[Secret]) -> bytes:
    """Return a verified body with a mask in the place of a proof that is a secret.

    What is stored, shown and processed is this body.
    """
    if not has_secret_in_body(webhook):
        return body

    def masked(match: re.Match[bytes]) -> bytes:
        text = match[0].decode(errors="replace")
        with suppress(ValueError):  # another scheme may have stored it, and not as JSON
            value = Secret(json.loads(text) if text.startswith('"') else text)
            if any(value == secret for secret in secrets):
                return json.dumps(MASK).encode()
        return match[0]

    return JSON_VALUE.sub(masked, body)


def without_signature(body: bytes, webhook: Webhook) -> bytes:
    """Return a verified body with a mask in the place of its signature.

    One that covers the whole body stays: it proves this delivery only.
    """
    scheme = scheme_of(webhook)
    member = scheme.signature_member.encode() if scheme else b""
    if not member:
        return body
    masked = re.sub(
        rb'("%b"\s*:\s*)"(?:[^"\\]|\\.)*"' % member, rb'\1"%b"' % MASK.encode(), body
    )
    # Mailgun also sends forms.
    return re.sub(
        rb"(^|&)%b=[^&]*" % member, rb"\1%b=%b" % (member, MASK.encode()), masked
    )


def content_of(delivery: Delivery, webhook: Webhook) -> DeliveryContent:
    """Return the content of a delivery to store."""
    headers = masked_headers(delivery.headers[:MAX_HEADERS], webhook)
    return DeliveryContent(tuple(headers), delivery.body)


def masked_headers(headers: Headers, webhook: Webhook) -> Iterator[tuple[str, str]]:
    """Yield the headers; what proves who has sent the delivery is masked."""
    scheme = scheme_of(webhook)
    proofs = {name.lower() for name in scheme.signature_headers} if scheme else set()
    for name, value in headers:
        is_secret = name.lower() in proofs or looks_like_credential(name)
        yield name, MASK if is_secret else value[:MAX_VALUE]
