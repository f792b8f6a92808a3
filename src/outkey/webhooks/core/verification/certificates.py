"""Schemes with a certificate that the delivery names: Amazon SNS and PayPal.

The request chooses the URL of the certificate, so that the URL is the weak point: it
must be entirely one of the sender's. The caller fetches it, without redirects.
"""

import re
import zlib

from outkey.foundation.core.limited_json import text_at
from outkey.webhooks.core.inbox.delivery import (
    CertificateNeeded,
    NotVerified,
    Outcome,
    RefusalReason,
    SecretSlot,
    Verified,
)
from outkey.webhooks.core.schemes.scheme import TOPIC, SignatureAlgorithm, TimestampRule
from outkey.webhooks.core.verification.attempt import (
    Attempt,
    event_text,
    read_body,
    verified_event,
)
from outkey.webhooks.core.verification.signatures import (
    decode_base64,
    signature_header,
    single_header,
)
from outkey.webhooks.core.verification.timestamps import check_age, read_iso

SNS_CERTIFICATE_PATH = re.compile(r"/SimpleNotificationService-[A-Za-z0-9]{1,64}\.pem")
SNS_CONFIRMATION_QUERY = re.compile(
    r"/\?Action=ConfirmSubscription&TopicArn=[A-Za-z0-9:_.%-]{1,600}"
    r"&Token=[A-Za-z0-9]{1,1024}"
)
SNS_ALGORITHMS = {
    "1": SignatureAlgorithm.RSA_SHA1,  # still the default of topics
    "2": SignatureAlgorithm.RSA_SHA256,
}
NOTIFICATION = "Notification"
CONFIRMATIONS = ("SubscriptionConfirmation", "UnsubscribeConfirmation")
NOTIFICATION_KEYS = (
    "Message",
    "MessageId",
    "Subject",
    "Timestamp",
    "TopicArn",
    "Type",
)
CONFIRMATION_KEYS = (
    "Message",
    "MessageId",
    "SubscribeURL",
    "Timestamp",
    "Token",
    "TopicArn",
    "Type",
)
PAYPAL_CERTIFICATE = re.compile(
    r"https://api(?:-m)?(\.sandbox)?\.paypal\.com"
    r"/v1/notifications/certs/CERT-[A-Za-z0-9-]{1,100}"
)
PAYPAL_ALGORITHM = "SHA256withRSA"


def verify_sns(attempt: Attempt) -> Outcome:
    """Verify a delivery of Amazon SNS with the certificate that it names."""
    message = read_body(attempt, dict)
    topic = text_at(message, "TopicArn")
    found = TOPIC.fullmatch(topic)
    if not found or topic != attempt.webhook.topic:
        raise NotVerified(RefusalReason.WRONG_TOPIC)
    algorithm = SNS_ALGORITHMS.get(text_at(message, "SignatureVersion"))
    text = text_at(message, "Signature")
    if not text:
        raise NotVerified(RefusalReason.SIGNATURE_MISSING, header="Signature")
    signature = decode_base64(text)
    if algorithm is None or not signature:
        raise NotVerified(RefusalReason.SIGNATURE_MALFORMED)
    signed = sns_message(message)
    url = text_at(message, "SigningCertURL")
    if not _is_sns_url(url, found[1], SNS_CERTIFICATE_PATH):
        raise NotVerified(RefusalReason.KEY_URL)
    if not attempt.certificate:
        return _certificate_needed(attempt, url, text_at(message, "Timestamp"))
    _check_certificate(attempt, algorithm, signed, signature)
    moment = _checked_time(attempt, text_at(message, "Timestamp"))
    return Verified(
        slot=SecretSlot.NONE,
        event_id=event_text(text_at(message, "MessageId")),
        event_type=text_at(message, "Type"),
        timestamp=moment,
        covers_body=False,  # other members, such as MessageAttributes, are not signed
    )


def sns_message(message: dict[str, object]) -> bytes:
    """Return the signed text of a message of SNS, or refuse the delivery.

    Only Message has several lines. A line break in another member could hide one: the
    same text would be that of messages with other ids.
    """
    kind = message.get("Type")
    names = CONFIRMATION_KEYS if kind in CONFIRMATIONS else NOTIFICATION_KEYS
    if kind not in {NOTIFICATION, *CONFIRMATIONS}:
        raise NotVerified(RefusalReason.BODY_UNREADABLE)
    lines = []
    for name in names:
        value = message.get(name)
        if value is None and name == "Subject":
            continue
        if not isinstance(value, str) or (name != "Message" and "\n" in value):
            raise NotVerified(RefusalReason.BODY_UNREADABLE)
        lines.append(f"{name}\n{value}\n")
    return "".join(lines).encode()


def _is_sns_url(url: str, region: str, rest: re.Pattern[str]) -> bool:
    """Whether a URL is one of SNS in this region, and has this path and query."""
    suffix = ".cn" if region.startswith("cn-") else ""
    base = f"https://sns.{region}.amazonaws.com{suffix}"
    return url.startswith(base) and bool(rest.fullmatch(url[len(base) :]))


def sns_confirmation_url(message: object, topic: str) -> str:
    """Return the URL that confirms a subscription, "" if it is not one of SNS."""
    found = TOPIC.fullmatch(topic)
    url = text_at(message, "SubscribeURL")
    if found and _is_sns_url(url, found[1], SNS_CONFIRMATION_QUERY):
        return url
    return ""


def verify_paypal(attempt: Attempt) -> Outcome:
    """Verify a delivery of PayPal with the certificate that it names."""
    delivery = attempt.delivery
    signature = decode_base64(signature_header(delivery, attempt.scheme))
    identifier = _paypal_header(attempt, "PAYPAL-TRANSMISSION-ID")
    time = _paypal_header(attempt, "PAYPAL-TRANSMISSION-TIME")
    url = _paypal_header(attempt, "PAYPAL-CERT-URL")
    algorithm = _paypal_header(attempt, "PAYPAL-AUTH-ALGO")
    # The webhook's id is ours: one from the request would prove nothing.
    webhook_id = attempt.webhook.webhook_id
    if not webhook_id:
        raise NotVerified(RefusalReason.NO_SECRET)
    if not signature or algorithm != PAYPAL_ALGORITHM or "|" in identifier + time:
        raise NotVerified(RefusalReason.SIGNATURE_MALFORMED)
    found = PAYPAL_CERTIFICATE.fullmatch(url)
    if not found:
        raise NotVerified(RefusalReason.KEY_URL)
    if not attempt.certificate:
        return _certificate_needed(attempt, url, time)
    checksum = zlib.crc32(delivery.body)
    signed = f"{identifier}|{time}|{webhook_id}|{checksum}".encode()
    _check_certificate(
        attempt,
        attempt.scheme.algorithm,
        signed,
        signature,
        host=f"messageverificationcerts{found[1] or ''}.paypal.com",
    )
    moment = _checked_time(attempt, time)
    # A checksum is no hash: another body with the same one is easily made.
    return verified_event(
        attempt, SecretSlot.NONE, timestamp=moment, nonce=identifier, covers_body=False
    )


def _paypal_header(attempt: Attempt, name: str) -> str:
    """Return a header that the signature of PayPal needs."""
    value = single_header(attempt.delivery, (name,))
    if not value:
        raise NotVerified(RefusalReason.HEADER_MISSING, header=name)
    return value


def _certificate_needed(attempt: Attempt, url: str, time: str) -> CertificateNeeded:
    """Return the certificate to fetch; an old delivery causes no request."""
    _checked_time(attempt, time)
    return CertificateNeeded(url)


def _checked_time(attempt: Attempt, time: str) -> float:
    """Return the time of a delivery; refuse one that is too far from ours."""
    moment = read_iso(time)
    check_age(attempt.scheme.timestamp or TimestampRule(), moment, attempt.now)
    return moment


def _check_certificate(
    attempt: Attempt,
    algorithm: SignatureAlgorithm,
    message: bytes,
    signature: bytes,
    *,
    host: str = "",
) -> None:
    """Refuse the delivery if the owner of the certificate did not sign the message."""
    key = attempt.keys.key_of_certificate(
        attempt.certificate, host=host, now=attempt.now
    )
    if key is None:
        raise NotVerified(RefusalReason.CERTIFICATE)
    if not attempt.keys.is_valid(algorithm, key, message, signature):
        raise NotVerified(RefusalReason.WRONG_SIGNATURE)
