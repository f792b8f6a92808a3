"""The settings of a webhook, and the scheme that they make."""

from dataclasses import dataclass, replace

from outkey.webhooks.core.schemes.scheme import (
    HmacHash,
    SignatureAlgorithm,
    SignatureEncoding,
    TimestampRule,
    TimeUnit,
    VerificationKind,
    WebhookScheme,
)
from outkey.webhooks.core.schemes.schemes import SCHEMES

ALGORITHMS = {
    HmacHash.SHA256: SignatureAlgorithm.HMAC_SHA256,
    HmacHash.SHA512: SignatureAlgorithm.HMAC_SHA512,
    HmacHash.SHA1: SignatureAlgorithm.HMAC_SHA1,
}
WHOLE_BODY = "@"  # the expression of a webhook that has no other


@dataclass(frozen=True, slots=True)
class Webhook:
    """The section `[webhook.NAME]`. Secrets are references, never the values."""

    name: str
    scheme: str
    configuration: str = ""
    secret: str = ""
    previous_secret: str | None = None  # "" removes a stored one
    verify_token: str = ""
    line: str = ""
    run: str = ""
    handler: str = ""
    records: str = WHOLE_BODY
    confirm: str = ""  # the path of an object at the API, with {id}
    confirm_id: str = "id"
    tolerance_seconds: int | None = None  # that of the scheme by default
    reason: str = ""
    topic: str = ""
    webhook_id: str = ""
    signature_header: str = ""
    signature_prefix: str = ""
    algorithm: HmacHash = HmacHash.SHA256
    encoding: SignatureEncoding = SignatureEncoding.HEX
    signed: str = "{body}"
    timestamp_header: str = ""
    id_header: str = ""
    id: str = ""
    token_header: str = ""
    username: str = ""


def secret_binding(webhook: Webhook) -> str:
    """Return the binding of a webhook's secrets: what they are entered for.

    That is the scheme, and the header in which a token itself is sent.
    """
    return f"{webhook.scheme} {webhook.token_header.lower()}".rstrip()


def scheme_of(webhook: Webhook) -> WebhookScheme | None:
    """Return the scheme with the settings of a webhook; None for an unknown one."""
    scheme = SCHEMES.get(webhook.scheme)
    if scheme is None:
        return None
    if webhook.scheme == "hmac":
        return custom_scheme(webhook, scheme)
    if webhook.token_header and scheme.kind is VerificationKind.TOKEN:
        prefixes = ("Bearer ", "") if is_authorization(webhook.token_header) else ("",)
        scheme = replace(
            scheme, signature_headers=(webhook.token_header,), prefixes=prefixes
        )
    if webhook.id_header and not is_proof_header(webhook, scheme):
        scheme = replace(scheme, id_headers=(webhook.id_header,))
    if webhook.tolerance_seconds is not None and scheme.timestamp is not None:
        return replace(
            scheme,
            timestamp=replace(scheme.timestamp, tolerance=webhook.tolerance_seconds),
        )
    return scheme


def custom_scheme(webhook: Webhook, scheme: WebhookScheme) -> WebhookScheme:
    """Return the scheme that a user describes."""
    timestamp = None
    if webhook.timestamp_header:
        tolerance = webhook.tolerance_seconds
        timestamp = TimestampRule(
            (webhook.timestamp_header,),
            unit=TimeUnit.EITHER,
            tolerance=300 if tolerance is None else tolerance,
        )
    return replace(
        scheme,
        signature_headers=(webhook.signature_header,),
        prefixes=(webhook.signature_prefix,),
        signed=webhook.signed,
        algorithm=ALGORITHMS[webhook.algorithm],
        encoding=webhook.encoding,
        timestamp=timestamp,
        id_headers=(webhook.id_header,) if webhook.id_header else (),
    )


def is_proof_header(webhook: Webhook, scheme: WebhookScheme) -> bool:
    """Whether the ID of an event would be read from the header with the proof.

    An ID is stored and shown, and the proof may be the secret itself.
    """
    proofs = {header.lower() for header in scheme.signature_headers}
    return webhook.id_header.lower() in proofs


def is_authorization(header: str) -> bool:
    """Whether a header is Authorization, whose value begins with its scheme."""
    return header.lower() == "authorization"
