"""HTTP message signatures (RFC 9421) with a digest of the body (RFC 9530).

Only a subset is accepted: components without parameters, and a serialization as the RFC
writes it. What has to be signed is decided here, never by the message; the algorithm is
that of the key.
"""

import hashlib
import hmac
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from outkey.foundation.core.secret import Secret
from outkey.webhooks.core.inbox.delivery import (
    Delivery,
    NotVerified,
    RefusalReason,
    SecretSlot,
    Verified,
)
from outkey.webhooks.core.schemes.scheme import (
    KeyForm,
    SignatureAlgorithm,
    SignatureEncoding,
    TimestampRule,
    WebhookScheme,
)
from outkey.webhooks.core.verification.attempt import Attempt, verified_event
from outkey.webhooks.core.verification.keys import is_pem, key_bytes
from outkey.webhooks.core.verification.public_keys import PublicKeys
from outkey.webhooks.core.verification.signatures import (
    PRINTABLE,
    check_url,
    decode_base64,
    encode_signature,
    is_signed,
    signature_header,
    single_header,
    symmetric_signature,
)
from outkey.webhooks.core.verification.timestamps import check_age

INPUT_HEADER = "Signature-Input"
DIGEST_HEADER = "Content-Digest"
LABEL = "sig1"  # of the signatures that are made here
COVERED = ("@method", "@authority", "@path", "@query", "content-digest")
NAME = r"[a-z*][a-z0-9_.*-]{0,63}"
COMPONENT = r'"@?[a-z0-9][a-z0-9-]{0,63}"'
PARAMETER = (
    r';(?:(?:created|expires)=[0-9]{1,12}|(?:keyid|alg|nonce|tag)="[\x20\x21\x23-\x5b'
    r'\x5d-\x7e]{0,256}")'
)
SIGNATURE_INPUT = re.compile(
    rf"({NAME})=(\((?:{COMPONENT}(?: {COMPONENT}){{0,31}})?\)((?:{PARAMETER}){{0,6}}))"
)
SIGNATURE_VALUE = re.compile(rf"({NAME})=:([A-Za-z0-9+/]+={{0,2}}):")
DIGEST_VALUE = re.compile(r"([a-z0-9-]{1,32})=:([A-Za-z0-9+/]+={0,2}):")
PARAMETER_VALUE = re.compile(r';([a-z]+)=(?:"([^"]*)"|([0-9]+))')
DIGESTS = {"sha-256": hashlib.sha256, "sha-512": hashlib.sha512}
ALGORITHM_NAMES = {
    SignatureAlgorithm.HMAC_SHA256: "hmac-sha256",
    SignatureAlgorithm.ED25519: "ed25519",
    SignatureAlgorithm.ECDSA_P256_PLAIN: "ecdsa-p256-sha256",
    SignatureAlgorithm.RSA_PSS_SHA512: "rsa-pss-sha512",
}


@dataclass(frozen=True, slots=True)
class SignatureInput:
    """The components that one signature covers, and its parameters."""

    label: str
    written: str  # as it was received, which is signed too
    components: tuple[str, ...]
    parameters: dict[str, str]


def verify_http_signature(attempt: Attempt) -> Verified:
    """Verify a delivery that is signed by RFC 9421."""
    delivery = attempt.delivery
    signatures = read_labels(
        signature_header(delivery, attempt.scheme), SIGNATURE_VALUE
    )
    signature_input = read_input(single_header(delivery, (INPUT_HEADER,)))
    signature = decode_base64(signatures.get(signature_input.label, ""))
    if len(signatures) != 1 or not signature:
        raise NotVerified(RefusalReason.SIGNATURE_MALFORMED)
    check_url(delivery.url)
    _refuse_uncovered(delivery, signature_input.components)
    message = signature_base(delivery, signature_input)
    slot = _matching_slot(attempt, signature_input, message, signature)
    _check_digest(delivery)
    created = _check_moments(attempt, signature_input.parameters)
    return verified_event(
        attempt,
        slot,
        timestamp=created,
        nonce=signature_input.parameters.get("nonce", ""),
    )


def read_labels(value: str, pattern: re.Pattern[str]) -> dict[str, str]:
    """Return the members of a dictionary of byte sequences; {} if it is malformed."""
    members = [pattern.fullmatch(item.strip(" ")) for item in value.split(",")]
    found = {member[1]: member[2] for member in members if member}
    return found if len(found) == len(members) else {}


def read_input(value: str) -> SignatureInput:
    """Return the input of the only signature, or refuse the delivery."""
    if not value:
        raise NotVerified(RefusalReason.HEADER_MISSING, header=INPUT_HEADER)
    found = SIGNATURE_INPUT.fullmatch(value)
    if not found:
        raise NotVerified(RefusalReason.SIGNATURE_MALFORMED)
    label, written, parameters = found.groups()
    components = tuple(re.findall(r'"([^"]+)"', written.partition(")")[0]))
    pairs = [
        (name, text or number)
        for name, text, number in PARAMETER_VALUE.findall(parameters)
    ]
    if len(set(components)) < len(components) or len(dict(pairs)) < len(pairs):
        raise NotVerified(RefusalReason.SIGNATURE_MALFORMED)
    return SignatureInput(label, written, components, dict(pairs))


def _refuse_uncovered(delivery: Delivery, components: Iterable[str]) -> None:
    """Refuse a signature that leaves out the method, the URL or the body."""
    covered = set(components)
    wanted = {"@method", "content-digest"}
    if "@target-uri" not in covered:
        wanted |= {"@authority", "@path"}
        if urlsplit(delivery.url).query:
            wanted.add("@query")
    missing = sorted(wanted - covered)
    if missing:
        raise NotVerified(RefusalReason.NOT_COVERED, components=", ".join(missing))


def signature_base(delivery: Delivery, signature_input: SignatureInput) -> bytes:
    """Return the signed bytes (RFC 9421 §2.5)."""
    lines = [
        f'"{name}": {component_value(delivery, name)}'
        for name in signature_input.components
    ]
    lines.append(f'"@signature-params": {signature_input.written}')
    return "\n".join(lines).encode()


def component_value(delivery: Delivery, name: str) -> str:
    """Return the value of a component (RFC 9421 §2.1 and §2.2)."""
    if name.startswith("@"):
        value = _derived_component(delivery, name)
        if value is None:
            raise NotVerified(RefusalReason.SIGNATURE_MALFORMED)
        return value
    values = delivery.header_values(name)
    if not values:
        raise NotVerified(RefusalReason.HEADER_MISSING, header=name)
    value = ", ".join(value.strip(" \t") for value in values)
    if value and not PRINTABLE.fullmatch(value):
        raise NotVerified(RefusalReason.HEADER_MALFORMED, header=name)
    return value


def _derived_component(delivery: Delivery, name: str) -> str | None:
    """Return a component that is not a header; None for an unknown one."""
    parts = urlsplit(delivery.url)
    default = {"https": 443, "http": 80}.get(parts.scheme)
    host = parts.netloc.rpartition("@")[2].lower()
    path = parts.path or "/"
    components = {
        "@method": delivery.method,
        "@scheme": parts.scheme,
        "@authority": host.removesuffix(f":{default}"),
        "@path": path,
        "@query": f"?{parts.query}",
        "@target-uri": delivery.url,
        "@request-target": f"{path}?{parts.query}" if parts.query else path,
    }
    return components.get(name)


def _matching_slot(
    attempt: Attempt,
    signature_input: SignatureInput,
    message: bytes,
    signature: bytes,
) -> SecretSlot:
    """Return which secret or key the signature is of, or refuse the delivery."""
    reason = RefusalReason.WRONG_SIGNATURE
    stated = signature_input.parameters.get("alg", "")
    for slot, secret in attempt.secrets.slots():
        key, scheme = keyed_scheme(attempt.scheme, secret, attempt.keys)
        if key is None or scheme is None:
            reason = RefusalReason.SECRET_UNUSABLE
            continue
        if stated not in {"", ALGORITHM_NAMES[scheme.algorithm]}:
            continue
        if is_signed(scheme, key, [message], [signature], attempt.keys):
            return slot
    raise NotVerified(reason)


def keyed_scheme(
    scheme: WebhookScheme, secret: Secret, keys: PublicKeys
) -> tuple[bytes | None, WebhookScheme | None]:
    """Return the key of a secret, and the scheme with the algorithm of that key."""
    if not is_pem(secret):
        return key_bytes(secret, KeyForm.BASE64), scheme
    key = key_bytes(secret, KeyForm.PUBLIC_DER)
    algorithm = keys.algorithm_of(key) if key else None
    if algorithm not in ALGORITHM_NAMES:
        return None, None
    return key, replace(scheme, algorithm=algorithm)


def _check_digest(delivery: Delivery) -> None:
    """Refuse a body whose digest is another one than the header states."""
    stated = read_labels(single_header(delivery, (DIGEST_HEADER,)), DIGEST_VALUE)
    results = [
        hmac.compare_digest(
            DIGESTS[name](delivery.body).digest(), decode_base64(digest)
        )
        for name, digest in stated.items()
        if name in DIGESTS
    ]
    if not results or not all(results):
        raise NotVerified(RefusalReason.BODY_DIGEST)


def _check_moments(attempt: Attempt, parameters: dict[str, str]) -> float:
    """Return when the signature was made; refuse one that is old or has expired."""
    if "created" not in parameters:
        raise NotVerified(RefusalReason.TIMESTAMP_MISSING)
    rule = attempt.scheme.timestamp or TimestampRule()
    created = float(parameters["created"])
    check_age(rule, created, attempt.now)
    expires = float(parameters.get("expires", attempt.now))
    if expires < attempt.now:
        raise NotVerified(RefusalReason.TOO_OLD, seconds=attempt.now - expires, limit=0)
    return created


def http_signature_headers(
    delivery: Delivery, key: bytes, now: float, nonce: str
) -> tuple[tuple[str, str], ...]:
    """Return the headers that sign a delivery with a shared key."""
    digest = encode_signature(
        SignatureEncoding.BASE64, hashlib.sha256(delivery.body).digest()
    )
    digest_header = (DIGEST_HEADER, f"sha-256=:{digest}:")
    names = " ".join(f'"{name}"' for name in COVERED)
    written = f'({names});created={int(now)};keyid="outkey";nonce="{nonce}"'
    signed = replace(delivery, headers=(*delivery.headers, digest_header))
    message = signature_base(signed, SignatureInput(LABEL, written, COVERED, {}))
    signature = symmetric_signature(SignatureAlgorithm.HMAC_SHA256, key, message)
    return (
        digest_header,
        (INPUT_HEADER, f"{LABEL}={written}"),
        (
            "Signature",
            f"{LABEL}=:{encode_signature(SignatureEncoding.BASE64, signature)}:",
        ),
    )
