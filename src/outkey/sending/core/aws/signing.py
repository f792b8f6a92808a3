"""AWS Signature Version 4: the canonical request, and the signature of it.

After "Create a signed AWS API request" in the IAM User Guide; AWS's published test
suite passes. Nothing here knows a request of outkey.
"""

import hashlib
import hmac
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple, TypeVar
from urllib.parse import quote, unquote_to_bytes

Part = TypeVar("Part")  # a text, or one that is secret
ALGORITHM = "AWS4-HMAC-SHA256"
UNSIGNED_PAYLOAD = "UNSIGNED-PAYLOAD"
S3 = "s3"
_TERMINATOR = "aws4_request"
_PATH = "/"  # besides letters, digits and -._~, which stay in any case
_BETWEEN = "\n"  # neither a key, a session token nor a hash has one


class Stamp(NamedTuple):
    """When and for which service a request is signed."""

    moment: str  # as X-Amz-Date has it: 20150830T123600Z
    region: str
    service: str

    @property
    def scope(self) -> str:
        """The scope of the key: day, region and service."""
        return f"{self.moment[:8]}/{self.region}/{self.service}/{_TERMINATOR}"


def stamp_at(now: float, region: str, service: str) -> Stamp:
    """Return the stamp of a Unix time."""
    moment = datetime.fromtimestamp(now, UTC).strftime("%Y%m%dT%H%M%SZ")
    return Stamp(moment, region, service)


def body_hash(parts: Iterable[bytes]) -> str:
    """Return the hash of a body, which is the last line of the canonical request."""
    sha256 = hashlib.sha256()
    for part in parts:
        sha256.update(part)
    return sha256.hexdigest()


def text_hash(text: str) -> str:
    """Return the hash of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def canonical_path(path: str, service: str) -> str:
    """Return a path as it was sent in the form that is signed.

    S3 has the path encoded once, and its keys may have empty segments and dots. Every
    other service has it normalized, and encoded once more.
    """
    if service == S3:
        return quote(unquote_to_bytes(path), safe=_PATH)
    segments: list[str] = []
    for segment in path.split("/"):
        if segment == "..":
            segments = segments[:-1]
        elif segment not in {"", "."}:
            segments.append(segment)
    end = "/" if segments and path.endswith("/") else ""
    return quote(f"/{'/'.join(segments)}{end}", safe=_PATH)


def canonical_query(query: str) -> str:
    """Return the parameters sorted and encoded in one way: a space as %20."""
    if not query:
        return ""
    pairs = (part.partition("=") for part in query.split("&") if part)
    encoded = [(_encoded(name), _encoded(value)) for name, _, value in pairs]
    return "&".join(f"{name}={value}" for name, value in sorted(encoded))


def _encoded(text: str) -> str:
    return quote(unquote_to_bytes(text.replace("+", " ")), safe="")


def sendable_target(target: str, service: str) -> str:
    """Return path and query in a spelling that every server reads as it was signed.

    A plus sign in a query is a space to some of them and a plus to others, some end a
    parameter at a semicolon, and botocore signs `%2f` otherwise than `%2F`; S3 signs
    its own encoding of a path, however it was sent.
    """
    path, mark, query = target.partition("?")
    if service == S3:
        path = canonical_path(path, service)
    parts = (part.partition("=") for part in query.split("&"))
    pairs = (f"{_encoded(name)}{sign}{_encoded(value)}" for name, sign, value in parts)
    return f"{path}{mark}{'&'.join(pairs)}"


def canonical_value(value: str) -> str:
    """Return the value of a header in the form that is signed."""
    return " ".join(value.split())


def joined_names(names: Iterable[str]) -> str:
    """Return the names of the signed headers as the signature lists them."""
    return ";".join(names)


def canonical_parts(
    method: str, path: str, query: Part, lines: Sequence[tuple[str, Part]], body: Part
) -> list[str | Part]:
    """Return the parts of the canonical request; those that are given are canonical.

    The headers are sorted by their lower-case names. Joined, the parts are the request.
    """
    parts: list[str | Part] = [f"{method}\n{path}\n", query, "\n"]
    for name, value in lines:
        parts += [f"{name}:", value, "\n"]
    names = joined_names(name for name, _ in lines)
    return [*parts, f"\n{names}\n", body]


def string_to_sign(stamp: Stamp, request_hash: str) -> str:
    """Return the text that is signed."""
    return f"{ALGORITHM}\n{stamp.moment}\n{stamp.scope}\n{request_hash}"


def signature(secret: str, stamp: Stamp, text: str) -> str:
    """Return the signature of a text by the key of the day, region and service."""
    key = f"AWS4{secret}".encode()
    for part in stamp.scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    return hmac.digest(key, text.encode(), "sha256").hex()


class Signer(NamedTuple):
    """Makes the Authorization header from packed keys and the hash of a request."""

    stamp: Stamp
    names: str  # of the signed headers

    def header(self, keys_and_hash: str) -> str:
        """Return the value of the header.

        The text is made of packed keys and a hash, so that it can be derived from both.
        """
        keys, _, request_hash = keys_and_hash.rpartition(_BETWEEN)
        access_key_id, _, rest = keys.partition(_BETWEEN)
        secret = rest.partition(_BETWEEN)[0]
        text = string_to_sign(self.stamp, request_hash)
        return (
            f"{ALGORITHM} Credential={access_key_id}/{self.stamp.scope},"
            f" SignedHeaders={self.names},"
            f" Signature={signature(secret, self.stamp, text)}"
        )
