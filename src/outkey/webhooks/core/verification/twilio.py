"""Twilio: the URL is signed, with the fields of a form or the hash of another body."""

import hashlib
import hmac
from urllib.parse import parse_qs, urlsplit

from outkey.webhooks.core.inbox.delivery import NotVerified, RefusalReason, Verified
from outkey.webhooks.core.schemes.scheme import WebhookScheme
from outkey.webhooks.core.verification.attempt import (
    Attempt,
    match_secret,
    verified_event,
)
from outkey.webhooks.core.verification.body_signatures import (
    MAX_FIELDS,
    form_pairs,
    is_form,
)
from outkey.webhooks.core.verification.signatures import (
    check_url,
    is_signed,
    read_signatures,
    signature_header,
)

PORTS = {"https": 443, "http": 80}
BODY_HASH = "bodySHA256"


def verify_twilio(attempt: Attempt) -> Verified:
    """Verify a delivery of Twilio."""
    signatures = read_signatures(
        attempt.scheme, signature_header(attempt.delivery, attempt.scheme)
    )
    if not signatures:
        raise NotVerified(RefusalReason.SIGNATURE_MALFORMED)
    check_url(attempt.delivery.url)
    fields = _signed_fields(attempt)
    messages = [
        f"{url}{fields}".encode() for url in url_spellings(attempt.delivery.url)
    ]

    def is_match(scheme: WebhookScheme, key: bytes) -> bool:
        return is_signed(scheme, key, messages, signatures, attempt.keys)

    # The order and the encoding of a form are not signed.
    slot = match_secret(attempt, is_match)
    return verified_event(attempt, slot, signed=messages[0])


def _signed_fields(attempt: Attempt) -> str:
    """Return the text that is signed after the URL; check the hash of an unsigned body.

    A hash in the URL counts whatever the type of the body is: the type is not signed.
    """
    body = attempt.delivery.body
    query = urlsplit(attempt.delivery.url).query
    try:
        hashes = parse_qs(query, max_num_fields=MAX_FIELDS).get(BODY_HASH, [])
    except ValueError:
        raise NotVerified(RefusalReason.BODY_DIGEST) from None
    if not hashes and is_form(attempt):
        return form_text(body)
    expected = hashlib.sha256(body).hexdigest()
    is_equal = len(hashes) == 1 and hmac.compare_digest(
        expected.encode(), hashes[0].lower().encode()
    )
    if is_equal or not (hashes or body):
        return ""
    raise NotVerified(RefusalReason.BODY_DIGEST)


def form_text(body: bytes) -> str:
    """Return names and values of a form, sorted, each pair once."""
    return "".join(f"{name}{value}" for name, value in sorted(set(form_pairs(body))))


def url_spellings(url: str) -> list[str]:
    """Return a URL with and without its port: Twilio is not consistent."""
    parts = urlsplit(url)
    host = str(parts.hostname)
    if ":" in host:
        host = f"[{host}]"
    port = parts.port or PORTS.get(parts.scheme, 443)
    rest = url.partition("://")[2].removeprefix(parts.netloc)
    spellings = (
        url,
        f"{parts.scheme}://{host}{rest}",
        f"{parts.scheme}://{host}:{port}{rest}",
    )
    return list(dict.fromkeys(spellings))
