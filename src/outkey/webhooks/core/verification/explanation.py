"""Why a delivery was refused, found by trying what usually went wrong.

Nothing that is tried here makes a delivery accepted. Only the outcome is reported,
never what was computed.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple
from urllib.parse import urlsplit

from outkey.foundation.core.limited_json import read_limited_json
from outkey.foundation.core.text import Text
from outkey.webhooks.core.inbox.delivery import (
    CLOCK_REASONS,
    Delivery,
    NotVerified,
    RefusalReason,
    Refused,
    SecretSlot,
    Verified,
    WebhookSecrets,
)
from outkey.webhooks.core.schemes.scheme import (
    SYMMETRIC,
    KeyForm,
    VerificationKind,
    WebhookScheme,
)
from outkey.webhooks.core.schemes.schemes import CUSTOM, ROWS
from outkey.webhooks.core.settings.settings import Webhook, scheme_of
from outkey.webhooks.core.verification.attempt import Attempt
from outkey.webhooks.core.verification.keys import STANDARD_PREFIX
from outkey.webhooks.core.verification.public_keys import PublicKeys
from outkey.webhooks.core.verification.refusals import CHOOSE_SCHEME, EXPLAINED, refusal
from outkey.webhooks.core.verification.signatures import signature_texts
from outkey.webhooks.core.verification.verification import verify_attempt

MAX_TRIED = 256 * 1024  # bytes of a body that is written anew
# Reasons that another scheme or another secret can be the cause of.
EXAMINED = frozenset(
    {
        RefusalReason.SIGNATURE_MISSING,
        RefusalReason.SIGNATURE_MALFORMED,
        RefusalReason.WRONG_SIGNATURE,
        RefusalReason.SECRET_UNUSABLE,
        RefusalReason.HEADER_MISSING,
        RefusalReason.TIMESTAMP_MISSING,
        RefusalReason.TIMESTAMP_MALFORMED,
        RefusalReason.BODY_UNREADABLE,
    }
)
SHARED_KEY_FORMS = (
    KeyForm.TEXT,
    KeyForm.STANDARD,
    KeyForm.BASE64,
    KeyForm.HEX,
)


class JsonStyle(NamedTuple):
    """A way in which programs write JSON."""

    separators: tuple[str, str]
    indent: int | None = None
    is_ascii: bool = True
    is_sorted: bool = False
    escapes_slashes: bool = False


COMPACT = (",", ":")
SPACED = (", ", ": ")
JSON_STYLES = (
    JsonStyle(COMPACT),
    JsonStyle(COMPACT, is_ascii=False),
    JsonStyle(SPACED),
    JsonStyle(SPACED, is_ascii=False),
    JsonStyle(COMPACT, escapes_slashes=True),
    JsonStyle(COMPACT, is_ascii=False, escapes_slashes=True),
    JsonStyle(COMPACT, is_sorted=True),
    JsonStyle((",", ": "), indent=2),
    JsonStyle((",", ": "), indent=2, is_ascii=False),
    JsonStyle((",", ": "), indent=4),
)


def explain(
    delivery: Delivery,
    webhook: Webhook,
    secrets: WebhookSecrets,
    *,
    now: float,
    keys: PublicKeys,
    certificate: bytes = b"",
) -> Refused | None:
    """Return why a delivery is refused, as exactly as can be found out.

    None for a delivery that is accepted with the current secret, or whose certificate
    has not been fetched.
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
    outcome = verify_attempt(attempt)
    if isinstance(outcome, Verified):
        is_previous = outcome.slot is SecretSlot.PREVIOUS
        return _previous_secret_used() if is_previous else None
    if not isinstance(outcome, Refused):
        return None
    if outcome.reason not in EXAMINED:
        return outcome
    for examine in (
        _examine_replaced,
        _examine_scheme,
        _examine_secret,
        _examine_url,
        _examine_body,
    ):
        explanation = examine(attempt)
        if explanation is not None:
            return explanation
    return outcome


def _previous_secret_used() -> Refused:
    """Return the explanation of a delivery that the previous secret has signed."""
    return Refused(
        RefusalReason.PREVIOUS_SECRET,
        Text("the delivery is signed with the previous secret"),
        Text(
            "Enter the new secret at the sender, then remove the previous one here. It"
            " is accepted until then."
        ),
    )


def _has_right_signature(attempt: Attempt) -> bool:
    """Whether the signature of a changed attempt is right, however old it is."""
    outcome = verify_attempt(attempt)
    if isinstance(outcome, Refused):
        return outcome.reason in CLOCK_REASONS
    return isinstance(outcome, Verified)


def _examine_replaced(attempt: Attempt) -> Refused | None:
    """Find out whether the sender still signs with the secret that was replaced."""
    replaced = attempt.secrets.replaced
    if replaced is None:
        return None
    if not _has_right_signature(
        replace(attempt, secrets=WebhookSecrets(current=replaced))
    ):
        return None
    reason = RefusalReason.PREVIOUS_SECRET
    return Refused(reason, *EXPLAINED[reason])


def _examine_scheme(attempt: Attempt) -> Refused | None:
    """Name the scheme that the headers look like, if it is another one."""
    own = _known_headers(attempt.delivery, attempt.scheme)
    has_own = _is_recognized(attempt.delivery, attempt.scheme)
    scores = {
        row.label: _known_headers(attempt.delivery, row)
        for row in ROWS
        if row.name not in (*CUSTOM, attempt.scheme.name)
        and _is_recognized(attempt.delivery, row)
    }
    for row in ROWS:
        is_tried = row.label in scores and row.algorithm in SYMMETRIC
        if is_tried and _has_right_signature(replace(attempt, scheme=row)):
            return other_scheme(attempt, row.label)
    best = max(scores.values(), default=0)
    if has_own and own >= best:
        return None
    labels = [label for label, score in scores.items() if score == best]
    return other_scheme(attempt, ", ".join(labels[:3])) if labels else None


def other_scheme(attempt: Attempt, labels: str) -> Refused:
    """Return the explanation of a delivery of another scheme."""
    return Refused(
        RefusalReason.OTHER_SCHEME,
        Text(
            "the delivery looks like one of {labels}, not of {scheme}",
            labels=labels,
            scheme=attempt.scheme.label,
        ),
        CHOOSE_SCHEME,
    )


def _known_headers(delivery: Delivery, scheme: WebhookScheme) -> int:
    """Return how many of the headers of a scheme a delivery has."""
    return sum(bool(delivery.header_values(name)) for name in scheme.headers)


def _is_recognized(delivery: Delivery, scheme: WebhookScheme) -> bool:
    """Whether a delivery has a signature in the header and form of a scheme."""
    values = [
        value
        for name in scheme.signature_headers
        for value in delivery.header_values(name)
    ]
    if scheme.kind in {VerificationKind.TOKEN, VerificationKind.BASIC}:
        # Authorization says nothing about the sender.
        return bool(values) and "Authorization" not in scheme.signature_headers
    if scheme.kind is VerificationKind.SNS:
        return bool(_known_headers(delivery, scheme))
    return any(_readable_texts(scheme, value) for value in values)


def _readable_texts(scheme: WebhookScheme, value: str) -> list[str]:
    """Return the signatures of a header in the form of a scheme."""
    if scheme.kind is VerificationKind.HTTP_SIGNATURE:
        return [value] if "=:" in value else []
    try:
        return signature_texts(scheme, value.strip())
    except NotVerified:  # too many signatures
        return []


def _examine_secret(attempt: Attempt) -> Refused | None:
    """Find a secret that is right, but was entered in another form."""
    trimmed = _map_secrets(attempt.secrets, str.strip)
    prefixed = _map_secrets(attempt.secrets, _add_standard_prefix)
    bare = _map_secrets(attempt.secrets, _remove_standard_prefix)
    forms = SHARED_KEY_FORMS if attempt.scheme.algorithm in SYMMETRIC else ()
    tried = [
        replace(attempt, secrets=secrets, scheme=replace(attempt.scheme, key=form))
        for secrets in (trimmed, prefixed, bare)
        for form in dict.fromkeys((attempt.scheme.key, *forms))
    ]
    if not any(map(_has_right_signature, tried)):
        return None
    reason = RefusalReason.SECRET_FORM
    return Refused(reason, *EXPLAINED[reason])


def _map_secrets(
    secrets: WebhookSecrets, change: Callable[[str], str]
) -> WebhookSecrets:
    """Return the secrets with each text changed."""
    current = secrets.current
    previous = secrets.previous
    return WebhookSecrets(
        current=current.derive(change) if current else None,
        previous=previous.derive(change) if previous else None,
    )


def _add_standard_prefix(text: str) -> str:
    """Return a secret with the prefix of Standard Webhooks."""
    return f"{STANDARD_PREFIX}{text.strip().removeprefix(STANDARD_PREFIX)}"


def _remove_standard_prefix(text: str) -> str:
    """Return a secret without the prefix of Standard Webhooks."""
    return text.strip().removeprefix(STANDARD_PREFIX)


def _examine_url(attempt: Attempt) -> Refused | None:
    """Find a URL with which the signature is right."""
    if not attempt.scheme.signs_url or not attempt.delivery.url:
        return None
    for url in similar_urls(attempt.delivery.url):
        delivery = replace(attempt.delivery, url=url)
        if _has_right_signature(replace(attempt, delivery=delivery)):
            reason = RefusalReason.URL_CHANGED
            difference = _url_difference(attempt.delivery.url, url)
            return Refused(reason, difference, EXPLAINED[reason][1])
    return None


def _url_difference(own: str, signed: str) -> Text:
    """Return how two URLs differ. The path is secret, and not shown."""
    own_parts = urlsplit(own)
    parts = urlsplit(signed)
    if (parts.scheme, parts.netloc) != (own_parts.scheme, own_parts.netloc):
        origin = f"{parts.scheme}://{parts.netloc}"
        return Text("the sender signed a URL that begins with {origin}", origin=origin)
    if parts.path != own_parts.path:
        return Text("the sender signed the URL with another slash at its end")
    return Text("the sender signed the URL without its query")


def similar_urls(url: str) -> Iterator[str]:
    """Yield the URLs that a sender may have been given instead."""
    parts = urlsplit(url)
    ports = {"https": ":443", "http": ":80"}
    host = parts.netloc
    bare = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
    paths = dict.fromkeys((parts.path, f"{parts.path}/", parts.path.rstrip("/")))
    queries = dict.fromkeys((parts.query, ""))
    for scheme in (parts.scheme, *(other for other in ports if other != parts.scheme)):
        for netloc in dict.fromkeys((host, bare, f"{bare}{ports.get(scheme, '')}")):
            for path in paths:
                for query in queries:
                    spelled = parts._replace(
                        scheme=scheme, netloc=netloc, path=path, query=query
                    ).geturl()
                    if spelled != url:
                        yield spelled


def _examine_body(attempt: Attempt) -> Refused | None:
    """Find a spelling of the body with which the signature is right."""
    for body in similar_bodies(attempt.delivery.body):
        delivery = replace(attempt.delivery, body=body)
        if _has_right_signature(replace(attempt, delivery=delivery)):
            reason = RefusalReason.BODY_CHANGED
            return Refused(reason, *EXPLAINED[reason])
    return None


def similar_bodies(body: bytes) -> Iterator[bytes]:
    """Yield the bodies that a sender may have signed instead."""
    if len(body) > MAX_TRIED:
        return
    trimmed = body.strip()
    tried = {body}
    for spelled in (
        trimmed,
        trimmed + b"\n",
        trimmed + b"\r\n",
        body.replace(b"\r\n", b"\n"),
        body.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"),
        body.removeprefix(b"\xef\xbb\xbf"),
        *_written_anew(body),
    ):
        if spelled not in tried:
            tried.add(spelled)
            yield spelled


def _written_anew(body: bytes) -> Iterator[bytes]:
    """Yield a JSON body as other programs write it."""
    try:
        value = read_limited_json(body)
    except ValueError:
        return
    for style in JSON_STYLES:
        text = json.dumps(
            value,
            separators=style.separators,
            indent=style.indent,
            ensure_ascii=style.is_ascii,
            sort_keys=style.is_sorted,
        )
        if style.escapes_slashes:
            text = text.replace("/", "\\/")
        yield text.encode()
