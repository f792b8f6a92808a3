"""Deliveries as users see them: secrets that they repeat are masked."""

import json
from collections.abc import Sequence

from outkey.foundation.core.limited_json import read_limited_json
from outkey.foundation.core.secret import MASK, Secret
from outkey.sending.engine.exchange.echoed_secrets import EchoDetector, reveals_secret
from outkey.webhooks.core.inbox.content import DeliveryContent


def masked_content(
    content: DeliveryContent, secrets: Sequence[Secret]
) -> DeliveryContent:
    """Return headers and body with a mask for each value that repeats a secret.

    The body stays as it is if it has none. Where the secret can still be recognised
    afterwards, or the body is not JSON, the whole body is masked.
    """
    text = content.body.decode(errors="replace")
    if not reveals_secret(secrets, [text, content.headers]):
        return content
    detector = EchoDetector()
    detector.look_for(secrets)
    headers = tuple(
        (name, MASK if reveals_secret(secrets, value) else value)
        for name, value in content.headers
    )
    body = content.body
    if reveals_secret(secrets, text):
        body = _masked_body(content.body, detector)
    if reveals_secret(secrets, body.decode()):
        body = MASK.encode()
    return DeliveryContent(headers, body)


def _masked_body(body: bytes, detector: EchoDetector) -> bytes:
    """Return the JSON of a body with masks; only a mask if it is not JSON."""
    try:
        document = read_limited_json(body)
    except ValueError:
        return MASK.encode()
    return json.dumps(detector.masked(document), ensure_ascii=False).encode()
