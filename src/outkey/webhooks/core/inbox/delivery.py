"""A delivery of a webhook as it arrived, and the outcome of its verification."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple, Self

from outkey.foundation.core.secret import Secret
from outkey.foundation.core.text import NO_TEXT, Text


@dataclass(frozen=True, slots=True)
class Delivery:
    """One request to a webhook: the bytes as received, before any parsing.

    `url` is the public URL with its query, as the sender was given it: built from the
    operator's setting, never from the header Host. It may be empty if the operator has
    set none. `address` is the IP address of the client, "" if the host does not know.
    """

    method: str
    url: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    address: str = ""

    def header_values(self, name: str) -> list[str]:
        """Return every value of a header, in order; names are the same in any case."""
        wanted = name.lower()
        return [value for key, value in self.headers if key.lower() == wanted]

    def with_body(self, body: bytes) -> Self:
        """Return the delivery with another body; itself if it is the same."""
        return self if body == self.body else replace(self, body=body)

    def __repr__(self) -> str:
        # Headers of some schemes hold the secret itself.
        return f"Delivery({self.method}, {len(self.body)} bytes)"


class SecretSlot(StrEnum):
    """Which secret a delivery was signed with."""

    CURRENT = "secret"
    PREVIOUS = "previous_secret"
    NONE = ""  # verified without a secret of ours


class RefusalReason(StrEnum):
    """Why a delivery is refused."""

    NO_SECRET = "no_secret"  # noqa: S105 - the name of a reason
    SECRET_OF_OTHER_SCHEME = "secret_of_other_scheme"  # noqa: S105 - the name of a reason
    SECRET_UNUSABLE = "secret_unusable"  # noqa: S105 - the name of a reason
    REASON_MISSING = "reason_missing"
    UNKNOWN_SCHEME = "unknown_scheme"
    URL_UNKNOWN = "url_unknown"
    URL_MALFORMED = "url_malformed"
    SIGNATURE_MISSING = "signature_missing"
    SIGNATURE_MALFORMED = "signature_malformed"
    WRONG_SIGNATURE = "wrong_signature"
    HEADER_REPEATED = "header_repeated"
    HEADER_MISSING = "header_missing"
    HEADER_MALFORMED = "header_malformed"
    TIMESTAMP_MISSING = "timestamp_missing"
    TIMESTAMP_MALFORMED = "timestamp_malformed"
    TOO_OLD = "too_old"
    TOO_FAR_AHEAD = "too_far_ahead"
    BODY_UNREADABLE = "body_unreadable"
    BODY_DIGEST = "body_digest"
    NOT_COVERED = "not_covered"
    WRONG_TOPIC = "wrong_topic"
    KEY_URL = "key_url"
    CERTIFICATE = "certificate"
    # Only an explanation has these.
    PREVIOUS_SECRET = "previous_secret"  # noqa: S105 - the name of a reason
    SECRET_FORM = "secret_form"  # noqa: S105 - the name of a reason
    OTHER_SCHEME = "other_scheme"
    BODY_CHANGED = "body_changed"
    URL_CHANGED = "url_changed"


CLOCK_REASONS = frozenset({RefusalReason.TOO_OLD, RefusalReason.TOO_FAR_AHEAD})


class SignedEvent(NamedTuple):
    """One of the events of a delivery that its sender signs apart from the others."""

    key: str  # what it is recognized by
    event_id: str
    event_type: str
    body: bytes  # of a delivery with this event alone


@dataclass(frozen=True, slots=True)
class Verified:
    """A delivery that comes from its sender.

    `event_id` and `event_type` are empty where the sender states none. `nonce` must be
    accepted only once. If `covers_body` is false, the sender signs only parts of the
    body, so that the other parts can be changed on the way; otherwise `digest` is that
    of all that is signed. Of a sender that signs events, `events` are stored one by
    one. `fetch_id` names the object that has to be fetched from the API, because the
    delivery itself proves nothing.
    """

    slot: SecretSlot
    event_id: str = ""
    event_type: str = ""
    timestamp: float | None = None
    nonce: str = ""
    covers_body: bool = True
    digest: str = ""
    events: tuple[SignedEvent, ...] = ()
    fetch_id: str = ""


@dataclass(frozen=True, slots=True)
class Refused:
    """A delivery that is refused: why, and what to do about it."""

    reason: RefusalReason
    text: Text
    hint: Text = NO_TEXT


@dataclass(frozen=True, slots=True)
class CertificateNeeded:
    """The URL of a certificate without which the delivery cannot be verified.

    The URL has passed the host rule of its scheme. It is fetched without redirects.
    """

    url: str


Outcome = Verified | Refused | CertificateNeeded


class NotVerified(Exception):
    """Ends a verification; `values` are those of the reason's text."""

    def __init__(self, reason: RefusalReason, **values: str | float) -> None:
        super().__init__(reason)
        self.reason = reason
        self.values: Mapping[str, str | float] = values


class WebhookSecrets(NamedTuple):
    """The opened secrets of a webhook; the previous one is accepted as well."""

    current: Secret | None = None
    previous: Secret | None = None
    verify_token: Secret | None = None  # of the handshake of Meta
    replaced: Secret | None = None  # not accepted any more: it only explains a refusal
    is_of_other_scheme: bool = False  # the one that is set, so that it is not `current`

    def check(self) -> None:
        """Refuse deliveries while the current secret is missing."""
        if self.is_of_other_scheme:
            raise NotVerified(RefusalReason.SECRET_OF_OTHER_SCHEME)
        if not self.current:
            raise NotVerified(RefusalReason.NO_SECRET)

    def known(self) -> list[Secret]:
        """Return all that are set, also one that is not accepted any more."""
        every = (self.current, self.previous, self.verify_token, self.replaced)
        return [secret for secret in every if secret]

    def slots(self) -> Iterator[tuple[SecretSlot, Secret]]:
        """Yield the secrets that are set; none at all without a current one."""
        if self.current:
            yield SecretSlot.CURRENT, self.current
            if self.previous:
                yield SecretSlot.PREVIOUS, self.previous
