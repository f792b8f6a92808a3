"""What is sealed of a delivery: its body, and its headers without credentials."""

import json
from collections.abc import Iterator
from typing import NamedTuple

from outkey.core.request.headers import looks_like_credential
from outkey.core.webhooks.delivery import Delivery
from outkey.core.webhooks.settings import Webhook, scheme_of

MASK = "***"
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


def content_of(delivery: Delivery, webhook: Webhook) -> DeliveryContent:
    """Return what is stored of a delivery."""
    headers = masked_headers(delivery.headers[:MAX_HEADERS], webhook)
    return DeliveryContent(tuple(headers), delivery.body)


def masked_headers(headers: Headers, webhook: Webhook) -> Iterator[tuple[str, str]]:
    """Yield the headers; what proves who has sent the delivery is masked."""
    scheme = scheme_of(webhook)
    proofs = {name.lower() for name in scheme.signature_headers} if scheme else set()
    for name, value in headers:
        is_secret = name.lower() in proofs or looks_like_credential(name)
        yield name, MASK if is_secret else value[:MAX_VALUE]
