"""Schemes of webhooks: where the signature is, and what is signed how."""

import re
from dataclasses import dataclass
from enum import StrEnum

from outkey.foundation.core.endings import Ending, ending_facts
from outkey.foundation.core.fields.choices import Choice
from outkey.foundation.core.text import Text

PLACE = re.compile(r"(\{[a-z]+\})")
TOPIC = re.compile(
    r"arn:aws(?:-cn|-us-gov)?:sns:([a-z]{2}(?:-[a-z]{1,20}){1,3}-\d{1,2}):\d{12}:"
    r"[A-Za-z0-9_.-]{1,256}",
    re.ASCII,
)


class VerificationKind(StrEnum):
    """How deliveries of a scheme are verified."""

    SIGNATURE = "signature"  # of the bytes that the scheme's template names
    TOKEN = "token"  # noqa: S105 - the secret itself is sent in a header
    BASIC = "basic"
    TWILIO = "twilio"
    MAILGUN = "mailgun"
    ADYEN = "adyen"
    GRAPH = "graph"
    SNS = "sns"
    PAYPAL = "paypal"
    HTTP_SIGNATURE = "http_signature"  # RFC 9421
    FETCH = "fetch"  # nothing is signed: the object is fetched from the API
    UNVERIFIED = "unverified"


class SignatureAlgorithm(StrEnum):
    """How a signature is computed."""

    HMAC_SHA256 = "hmac-sha256"
    HMAC_SHA512 = "hmac-sha512"
    HMAC_SHA1 = "hmac-sha1"
    SHA256 = "sha256"  # the secret is a part of what is hashed
    ED25519 = "ed25519"
    ECDSA_P256 = "ecdsa-p256-sha256"  # as DER
    ECDSA_P256_PLAIN = "ecdsa-p256-sha256-plain"  # r and s (RFC 9421 §3.3.4)
    RSA_SHA256 = "rsa-v1_5-sha256"
    RSA_SHA1 = "rsa-v1_5-sha1"
    RSA_PSS_SHA512 = "rsa-pss-sha512"


HMAC_HASHES = {
    SignatureAlgorithm.HMAC_SHA256: "sha256",
    SignatureAlgorithm.HMAC_SHA512: "sha512",
    SignatureAlgorithm.HMAC_SHA1: "sha1",
}
SYMMETRIC = frozenset({*HMAC_HASHES, SignatureAlgorithm.SHA256})
DIGEST_LENGTHS = {
    SignatureAlgorithm.HMAC_SHA256: 32,
    SignatureAlgorithm.HMAC_SHA512: 64,
    SignatureAlgorithm.HMAC_SHA1: 20,
    SignatureAlgorithm.SHA256: 32,
    SignatureAlgorithm.ED25519: 64,
}


class HmacHash(Choice):
    """The hash function of a custom scheme."""

    SHA256 = "sha256", "SHA-256"
    SHA512 = "sha512", "SHA-512"
    SHA1 = "sha1", "SHA-1"


class SignatureEncoding(Choice):
    """How a signature is written."""

    HEX = "hex", "hexadecimal"
    BASE64 = "base64", "Base64"


class KeyForm(StrEnum):
    """How the key is made of the text of a secret."""

    TEXT = "text"
    STANDARD = "standard"  # Base64 after whsec_
    BASE64 = "base64"
    HEX = "hex"
    SHA256 = "sha256"  # the hash of the text
    HTML = "html"  # HTML entities are decoded
    PUBLIC_STANDARD = "public standard"  # Base64 after whpk_
    PUBLIC_HEX = "public hex"
    PUBLIC_DER = "public DER"  # SubjectPublicKeyInfo, as PEM or its Base64


class TimeUnit(StrEnum):
    """How a moment is written."""

    SECONDS = "s"
    MILLISECONDS = "ms"
    EITHER = "s or ms"  # recognized by its size
    ISO = "iso"


class UrlForm(StrEnum):
    """How the URL is written where it is signed."""

    AS_IS = "as is"
    HUBSPOT = "hubspot"  # some percent-escapes are decoded


class HandshakeKind(StrEnum):
    """How the sender makes sure that the endpoint is the user's."""

    SLACK = "slack"
    ZOOM = "zoom"
    TWITCH = "twitch"
    DISCORD = "discord"
    META = "meta"
    GRAPH = "graph"
    DROPBOX = "dropbox"
    ONFLEET = "onfleet"
    OKTA = "okta"
    ASANA = "asana"
    NOTION = "notion"
    WOOCOMMERCE = "woocommerce"
    SNS = "sns"


@dataclass(frozen=True, slots=True)
class SignatureList:
    """The grammar of a header with several signatures: `t=1,v1=a,v1=b`."""

    separator: str
    mark: str  # between version and signature
    version: str
    timestamp: str = ""  # the name of the timestamp in the same header
    # Between whole lists: while a secret is replaced, there is one of each secret.
    between_lists: str = ""


@dataclass(frozen=True, slots=True)
class TimestampRule:
    """Where the time of sending is, and how far it may be from ours."""

    headers: tuple[str, ...] = ()  # the first one that is present
    path: str = ""  # in the body, if it is not in a header
    unit: TimeUnit = TimeUnit.SECONDS
    tolerance: int = 300  # seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookScheme:
    """How one sender signs its deliveries.

    Of several header names the first one that is present counts. `signed` is a template
    with the places {body}, {timestamp}, {id}, {method}, {url} and {secret}.
    """

    name: str
    label: str
    kind: VerificationKind = VerificationKind.SIGNATURE
    signature_headers: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ("",)  # before the signature; the first one is sent
    listing: SignatureList | None = None
    signed: str = "{body}"
    algorithm: SignatureAlgorithm = SignatureAlgorithm.HMAC_SHA256
    encoding: SignatureEncoding = SignatureEncoding.HEX
    key: KeyForm = KeyForm.TEXT
    url_form: UrlForm = UrlForm.AS_IS
    timestamp: TimestampRule | None = None
    id_headers: tuple[str, ...] = ()
    id_path: str = ""  # in the body
    type_headers: tuple[str, ...] = ()
    type_path: str = ""  # in the body
    handshake: HandshakeKind | None = None
    reply_body: str = ""
    # With a public key as the secret, another scheme verifies: Standard Webhooks v1a.
    with_public_key: "WebhookScheme | None" = None
    ending: Ending | None = None  # its successor is the name of another scheme

    @property
    def choice(self) -> Text:
        """The label where schemes are chosen, with the day on which it ends."""
        if self.ending is None or self.ending.day is None:
            return Text("{title}", title=self.label)
        return Text("{title} (until {day})", title=self.label, day=self.ending.day)

    def facts(self) -> dict[str, object]:
        """Return the scheme as a list shows it."""
        return {
            "name": self.name,
            "title": self.label,
            **ending_facts(self.ending),
        }

    @property
    def signs_url(self) -> bool:
        """Whether the URL is signed, so that it must be known exactly."""
        return "{url}" in self.signed or self.kind in {
            VerificationKind.TWILIO,
            VerificationKind.HTTP_SIGNATURE,
        }

    @property
    def signs_body(self) -> bool:
        """Whether nothing of a body can be changed without its signature."""
        return self.kind in {
            VerificationKind.SIGNATURE,
            VerificationKind.TWILIO,
            VerificationKind.HTTP_SIGNATURE,
        }

    @property
    def signs_id(self) -> bool:
        """Whether the id of an event cannot be changed without its signature.

        In a body that is signed as a whole it cannot; in a header only if the header is
        a part of what is signed.
        """
        if self.kind is not VerificationKind.SIGNATURE:
            return self.kind in {VerificationKind.SNS, VerificationKind.ADYEN}
        return "{id}" in self.signed or not self.id_headers

    @property
    def needs_secret(self) -> bool:
        """Whether a delivery cannot be verified without a secret."""
        return self.kind not in {
            VerificationKind.SNS,
            VerificationKind.PAYPAL,
            VerificationKind.FETCH,
            VerificationKind.UNVERIFIED,
        }

    @property
    def has_secret_in_body(self) -> bool:
        """Whether deliveries have the secret itself in their bodies."""
        return self.kind is VerificationKind.GRAPH

    @property
    def signature_member(self) -> str:
        """The member of bodies with a signature that covers a part of them only.

        With it, another body could be sent to an endpoint that has the same secret.
        """
        return {
            VerificationKind.ADYEN: "hmacSignature",
            VerificationKind.MAILGUN: "signature",
            VerificationKind.SNS: "Signature",
        }.get(self.kind, "")

    @property
    def proves_nothing(self) -> bool:
        """Whether anyone who knows the endpoint can send a delivery."""
        return self.kind in {VerificationKind.FETCH, VerificationKind.UNVERIFIED}

    @property
    def headers(self) -> tuple[str, ...]:
        """Every header by which a delivery of this scheme is recognized."""
        clock = self.timestamp.headers if self.timestamp else ()
        return (*self.signature_headers, *clock, *self.id_headers, *self.type_headers)
