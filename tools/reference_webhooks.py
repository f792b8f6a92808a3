"""The page of webhooks: the keys of a webhook, and the schemes of known senders."""

from collections.abc import Iterator

from reference_fields import field_rows

from outkey.webhooks.core.schemes.scheme import VerificationKind, WebhookScheme
from outkey.webhooks.core.schemes.schemes import SCHEMES
from outkey.webhooks.core.settings.section import WEBHOOK_FIELDS

BEGINNING = """\
# Keys of a webhook

In TOML a webhook is `[webhook.NAME]`. [Webhooks](../guide/webhooks.md) explains how \
to receive deliveries. A webhook has exactly one of `line`, `run` and `handler`. A key \
that its scheme does not use is refused.
"""
SCHEME_TEXT = """
## Schemes

How senders sign their deliveries. A delivery whose time is further from ours than the \
tolerance is refused. Without an ID, or with one that is not signed, an event is \
recognized by its signed body. \
`URL` means that the URL is signed, so `OUTKEY_PUBLIC_URL` must be set.
"""
COLUMNS = (
    "Scheme",
    "Sender",
    "Verified by",
    "Header",
    "Tolerance",
    "ID of an event",
    "ID signed",
    "Handshake",
)
# How deliveries are verified that have no plain signature of their bytes.
KINDS = {
    VerificationKind.TOKEN: "the secret itself",
    VerificationKind.BASIC: "Basic authentication",
    VerificationKind.TWILIO: "HMAC-SHA-1 of URL and parameters",
    VerificationKind.MAILGUN: "HMAC-SHA-256 in the body",
    VerificationKind.ADYEN: "HMAC-SHA-256 of chosen fields",
    VerificationKind.GRAPH: "the client state in the body",
    VerificationKind.SNS: "a certificate of AWS",
    VerificationKind.PAYPAL: "a certificate of PayPal",
    VerificationKind.HTTP_SIGNATURE: "RFC 9421",
    VerificationKind.FETCH: "not signed: the object is fetched from the API",
    VerificationKind.UNVERIFIED: "nothing",
}


def webhooks_page() -> Iterator[str]:
    """Yield the page."""
    yield BEGINNING
    yield from field_rows(WEBHOOK_FIELDS, "key")
    yield SCHEME_TEXT
    yield f"| {' | '.join(COLUMNS)} |"
    yield f"|{'---|' * len(COLUMNS)}"
    for scheme in SCHEMES.values():
        yield f"| {' | '.join(scheme_cells(scheme))} |"
    yield ""


def scheme_cells(scheme: WebhookScheme) -> tuple[str, ...]:
    """Return the cells of one scheme."""
    timestamp = scheme.timestamp
    event_ids = [
        *scheme.id_headers,
        *([f"body: {scheme.id_path}"] if scheme.id_path else []),
    ]
    return (
        f"`{scheme.name}`",
        str(scheme.choice),
        verification(scheme),
        ", ".join(f"`{name}`" for name in scheme.signature_headers),
        f"{timestamp.tolerance} s" if timestamp else "",
        ", ".join(f"`{event_id}`" for event_id in event_ids),
        id_signature(scheme),
        "yes" if scheme.handshake else "",
    )


def id_signature(scheme: WebhookScheme) -> str:
    """Return whether the id of an event is signed; "" where there is none."""
    has_id = scheme.id_headers or scheme.id_path
    if not has_id or scheme.kind is VerificationKind.FETCH:
        return ""
    return "yes" if scheme.signs_id else "no"


def verification(scheme: WebhookScheme) -> str:
    """Return how a scheme is verified, and what is signed."""
    if scheme.kind is not VerificationKind.SIGNATURE:
        return KINDS[scheme.kind]
    algorithms = [scheme.algorithm]
    if scheme.with_public_key:
        algorithms.append(scheme.with_public_key.algorithm)
    names = " or ".join(str(algorithm) for algorithm in algorithms)
    return f"{names} of `{scheme.signed}`" + (", URL" if scheme.signs_url else "")
