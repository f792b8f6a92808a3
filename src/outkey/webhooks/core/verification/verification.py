"""Is a delivery from its sender? Everything that cannot be verified is refused."""

import binascii
import re
from base64 import b64decode
from collections.abc import Callable
from urllib.parse import parse_qs

from outkey.foundation.core.limited_json import read_limited_json, text_at
from outkey.foundation.core.secret import Secret
from outkey.webhooks.core.inbox.delivery import (
    Delivery,
    NotVerified,
    Outcome,
    RefusalReason,
    SecretSlot,
    Verified,
    WebhookSecrets,
)
from outkey.webhooks.core.schemes.scheme import (
    SignatureAlgorithm,
    VerificationKind,
    WebhookScheme,
)
from outkey.webhooks.core.settings.settings import Webhook, scheme_of
from outkey.webhooks.core.verification.attempt import (
    Attempt,
    match_secret,
    verified_event,
)
from outkey.webhooks.core.verification.body_signatures import (
    verify_adyen,
    verify_graph,
    verify_mailgun,
)
from outkey.webhooks.core.verification.certificates import verify_paypal, verify_sns
from outkey.webhooks.core.verification.http_signatures import verify_http_signature
from outkey.webhooks.core.verification.public_keys import PublicKeys
from outkey.webhooks.core.verification.refusals import refusal
from outkey.webhooks.core.verification.signatures import (
    fill_template,
    is_signed,
    listed_values,
    read_signatures,
    scheme_for,
    signature_header,
    signed_url,
    single_header,
)
from outkey.webhooks.core.verification.timestamps import check_age, read_timestamp
from outkey.webhooks.core.verification.twilio import verify_twilio

MAX_FORM = 1024  # bytes of a delivery that only names an object
OBJECT_ID = re.compile(r"[A-Za-z0-9_.-]{1,100}")
ID_PLACE = "{id}"


def verify(
    delivery: Delivery,
    webhook: Webhook,
    secrets: WebhookSecrets,
    *,
    now: float,
    keys: PublicKeys,
    certificate: bytes = b"",
) -> Outcome:
    """Verify a delivery with the settings and secrets of its webhook.

    If the outcome is a `CertificateNeeded`, fetch the certificate and call this again.
    Replays are the caller's to detect: by the event's id, or by the nonce.
    """
    scheme = scheme_of(webhook)
    if scheme is None:
        return refusal(NotVerified(RefusalReason.UNKNOWN_SCHEME))
    attempt = Attempt(
        delivery=delivery,
        webhook=webhook,
        scheme=scheme,
        secrets=secrets,
        now=now,
        keys=keys,
        certificate=certificate,
    )
    return verify_attempt(attempt)


def verify_attempt(attempt: Attempt) -> Outcome:
    """Return the outcome of a verification with any scheme."""
    try:
        if attempt.scheme.needs_secret:
            attempt.secrets.check()
        return VERIFIERS[attempt.scheme.kind](attempt)
    except NotVerified as problem:
        return refusal(problem)


def verify_signature(attempt: Attempt) -> Verified:
    """Verify a delivery of a scheme that the table describes completely."""
    delivery = attempt.delivery
    value = signature_header(delivery, attempt.scheme)
    rows = [scheme_for(attempt.scheme, secret) for _, secret in attempt.secrets.slots()]
    if not any(read_signatures(row, value) for row in rows):
        raise NotVerified(RefusalReason.SIGNATURE_MALFORMED)
    timestamp = _stated_timestamp(attempt, value)
    parts = _signed_parts(attempt, timestamp)

    def is_match(scheme: WebhookScheme, key: bytes) -> bool:
        message = fill_template(scheme.signed, {**parts, "secret": key})
        signatures = read_signatures(scheme, value)
        return is_signed(scheme, key, [message], signatures, attempt.keys)

    slot = match_secret(attempt, is_match)
    if attempt.scheme.algorithm is SignatureAlgorithm.SHA256:
        _refuse_extended(delivery.body)
    return verified_event(attempt, slot, timestamp=_checked_moment(attempt, timestamp))


def _refuse_extended(body: bytes) -> None:
    """Refuse a body that was made longer without the secret.

    A plain hash of secret and body is also the state from which more can be hashed.
    What is added begins with the padding of the hash: a byte that continues no
    character, and zeros.
    """
    try:
        is_text = "\x00" not in body.decode()
    except UnicodeDecodeError:
        is_text = False
    if not is_text:
        raise NotVerified(RefusalReason.BODY_UNREADABLE)


def _stated_timestamp(attempt: Attempt, signature: str) -> str:
    """Return the time of sending as it is written, "" if the scheme has none.

    One inside the body is read after the body was verified.
    """
    scheme = attempt.scheme
    rule = scheme.timestamp
    if rule is None or rule.path:
        return ""
    if scheme.listing is not None and scheme.listing.timestamp:
        texts = listed_values(scheme.listing, signature, scheme.listing.timestamp)
        if scheme.listing.between_lists:
            texts = list(dict.fromkeys(texts))  # each list has it
        if len(texts) > 1:
            raise NotVerified(RefusalReason.SIGNATURE_MALFORMED)
        timestamp = "".join(texts)
    else:
        timestamp = single_header(attempt.delivery, rule.headers)
    if not timestamp:
        raise NotVerified(RefusalReason.TIMESTAMP_MISSING)
    read_timestamp(timestamp, rule.unit)  # refuses what cannot be read
    return timestamp


def _signed_parts(attempt: Attempt, timestamp: str) -> dict[str, bytes]:
    """Return the values for the places of the scheme's template."""
    delivery = attempt.delivery
    scheme = attempt.scheme
    parts = {
        "body": delivery.body,
        "method": delivery.method.encode(errors="replace"),
        "timestamp": timestamp.encode(),
    }
    if "{url}" in scheme.signed:
        parts["url"] = signed_url(scheme, delivery.url)
    if ID_PLACE in scheme.signed:
        parts["id"] = _signed_id(attempt).encode()
    return parts


def _signed_id(attempt: Attempt) -> str:
    """Return the signed id of a delivery.

    It must not have the character that ends it, or a part of the body could be moved
    into the id without a change of the signed bytes.
    """
    event_id = single_header(attempt.delivery, attempt.scheme.id_headers)
    name = ", ".join(attempt.scheme.id_headers)
    if not event_id:
        raise NotVerified(RefusalReason.HEADER_MISSING, header=name)
    end = attempt.scheme.signed.partition(ID_PLACE)[2][:1]
    if end not in {"", "{"} and end in event_id:
        raise NotVerified(RefusalReason.HEADER_MALFORMED, header=name)
    return event_id


def _checked_moment(attempt: Attempt, timestamp: str) -> float | None:
    """Return the time of sending; refuse one that is too far from ours."""
    rule = attempt.scheme.timestamp
    if rule is None:
        return None
    if rule.path:
        try:
            timestamp = text_at(read_limited_json(attempt.delivery.body), rule.path)
        except ValueError:
            timestamp = ""
        if not timestamp:
            raise NotVerified(RefusalReason.TIMESTAMP_MISSING)
    moment = read_timestamp(timestamp, rule.unit)
    check_age(rule, moment, attempt.now)
    return moment


def verify_token(attempt: Attempt) -> Verified:
    """Compare the token of a header with the secret."""
    value = signature_header(attempt.delivery, attempt.scheme)
    prefixes = attempt.scheme.prefixes
    prefix = next(prefix for prefix in prefixes if value.startswith(prefix))
    slot = _equal_slot(attempt, value.removeprefix(prefix))
    return verified_event(attempt, slot, covers_body=False)


def _equal_slot(attempt: Attempt, text: str) -> SecretSlot:
    """Return which secret a text is; both are compared, in constant time."""
    sent = Secret(text)
    slots = [slot for slot, secret in attempt.secrets.slots() if secret == sent]
    if not slots:
        raise NotVerified(RefusalReason.WRONG_SIGNATURE)
    return slots[0]


def _verify_basic(attempt: Attempt) -> Verified:
    """Compare user name and password of the header Authorization."""
    value = signature_header(attempt.delivery, attempt.scheme)
    name, _, encoded = value.partition(" ")
    try:
        sent = Secret(b64decode(encoded.strip(), validate=True).decode())
    except (binascii.Error, UnicodeDecodeError):
        raise NotVerified(RefusalReason.SIGNATURE_MALFORMED) from None
    if name.lower() != "basic":
        raise NotVerified(RefusalReason.SIGNATURE_MALFORMED)
    for slot, secret in attempt.secrets.slots():
        if sent == Secret.joined(attempt.webhook.username, ":", secret):
            return verified_event(attempt, slot, covers_body=False)
    raise NotVerified(RefusalReason.WRONG_SIGNATURE)


def _verify_by_fetching(attempt: Attempt) -> Verified:
    """Return the id of the object that has to be fetched; nothing else is believed."""
    if len(attempt.delivery.body) > MAX_FORM:
        raise NotVerified(RefusalReason.BODY_UNREADABLE)
    text = attempt.delivery.body.decode("latin-1")
    identifiers = parse_qs(text).get(attempt.scheme.id_path, [])
    if len(identifiers) != 1 or not OBJECT_ID.fullmatch(identifiers[0]):
        raise NotVerified(RefusalReason.BODY_UNREADABLE)
    # The same object is named again with each change, so that this is no event id.
    return Verified(SecretSlot.NONE, covers_body=False, fetch_id=identifiers[0])


def _accept_unverified(attempt: Attempt) -> Verified:
    """Accept a delivery because a user decided so, for a reason."""
    if not attempt.webhook.reason:
        raise NotVerified(RefusalReason.REASON_MISSING)
    return verified_event(attempt, SecretSlot.NONE, covers_body=False)


VERIFIERS: dict[VerificationKind, Callable[[Attempt], Outcome]] = {
    VerificationKind.SIGNATURE: verify_signature,
    VerificationKind.TOKEN: verify_token,
    VerificationKind.BASIC: _verify_basic,
    VerificationKind.TWILIO: verify_twilio,
    VerificationKind.MAILGUN: verify_mailgun,
    VerificationKind.ADYEN: verify_adyen,
    VerificationKind.GRAPH: verify_graph,
    VerificationKind.SNS: verify_sns,
    VerificationKind.PAYPAL: verify_paypal,
    VerificationKind.HTTP_SIGNATURE: verify_http_signature,
    VerificationKind.FETCH: _verify_by_fetching,
    VerificationKind.UNVERIFIED: _accept_unverified,
}
