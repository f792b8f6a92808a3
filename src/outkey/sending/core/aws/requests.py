"""Signing requests for AWS, with keys and header values that stay secret."""

from collections.abc import Iterator
from typing import NamedTuple

from outkey.foundation.core.secret import Secret
from outkey.sending.core.aws import signing
from outkey.sending.core.oauth2.token import AccessToken
from outkey.sending.core.request.headers import with_composed_headers
from outkey.sending.core.request.message import (
    BodySource,
    Header,
    Request,
    Source,
)

_BETWEEN = "\n"
_SIGNED_TOO = frozenset({"host", "content-type"})
_AMAZON = "x-amz-"


class AwsKeys(NamedTuple):
    """Access Key ID, Secret Access Key and Session Token as one secret.

    One text, because a session of a role is stored and renewed as a whole.
    """

    packed: Secret
    has_session: bool

    @classmethod
    def of(
        cls, access_key_id: str | Secret, secret: Secret, session: Secret | None
    ) -> "AwsKeys":
        """Return the keys that were entered."""
        parts = (access_key_id, _BETWEEN, secret, _BETWEEN, session or "")
        return cls(Secret.joined(*parts), has_session=session is not None)

    @classmethod
    def of_session(cls, token: AccessToken) -> "AwsKeys":
        """Return the keys of a role's session, as they are stored."""
        return cls(token.value, has_session=True)


def _session_of(packed: str) -> str:
    """Return the Session Token of packed keys."""
    return packed.partition(_BETWEEN)[2].partition(_BETWEEN)[2]


def signed_request(
    request: Request,
    keys: AwsKeys,
    stamp: signing.Stamp,
    *,
    body_hash: str | Secret,
) -> Request:
    """Return a request with its date and signature.

    Nothing may be added to it afterwards: AWS refuses an `x-amz-` header that is not
    signed.
    """
    request = request._replace(
        target=signing.sendable_target(request.target, stamp.service)
    )
    ours = tuple(_headers_to_sign(keys, stamp, body_hash))
    request = with_composed_headers(request.with_headers((*request.headers, *ours)))
    lines = _signed_lines(request)
    request_hash = _request_hash(request, stamp.service, lines, body_hash)
    signer = signing.Signer(stamp, signing.joined_names(name for name, _ in lines))
    value = Secret.joined(keys.packed, _BETWEEN, request_hash).derive(signer.header)
    header = Header("Authorization", value, Source.AUTHENTICATION)
    return with_composed_headers(request.with_headers((*request.headers, header)))


def _headers_to_sign(
    keys: AwsKeys, stamp: signing.Stamp, body_hash: str | Secret
) -> Iterator[Header]:
    """Yield the headers that go with a signature."""
    yield Header("X-Amz-Date", stamp.moment, Source.AUTHENTICATION)
    if keys.has_session:
        session = keys.packed.derive(_session_of)
        yield Header("X-Amz-Security-Token", session, Source.AUTHENTICATION)
    if stamp.service == signing.S3 or body_hash == signing.UNSIGNED_PAYLOAD:
        yield Header("X-Amz-Content-Sha256", body_hash, Source.AUTHENTICATION)


def is_signed(name: str) -> bool:
    """Whether a signature covers a header."""
    lower = name.lower()
    return lower in _SIGNED_TOO or lower.startswith(_AMAZON)


def _signed_lines(request: Request) -> list[tuple[str, str | Secret]]:
    """Return the headers that are signed: sorted names, and values in their form."""
    lines: dict[str, str | Secret] = {"host": request.origin.authority}
    for header in request.headers:
        if is_signed(header.name):
            name = header.name.lower()
            value = header.value
            lines[name] = (
                value.derive(signing.canonical_value)
                if isinstance(value, Secret)
                else signing.canonical_value(value)
            )
    return sorted(lines.items(), key=lambda line: line[0])


def _request_hash(
    request: Request,
    service: str,
    lines: list[tuple[str, str | Secret]],
    body_hash: str | Secret,
) -> str | Secret:
    """Return the hash of the canonical request; secret if a part of it is."""
    path, _, query = request.target.partition("?")
    parameters: str | Secret = signing.canonical_query(query)
    wire_target = request.wire_target()
    if isinstance(wire_target, Secret):
        parameters = wire_target.derive(_canonical_query_of)
    parts = signing.canonical_parts(
        request.method,
        signing.canonical_path(path, service),
        parameters,
        lines,
        body_hash,
    )
    if any(isinstance(part, Secret) for part in parts):
        return Secret.joined(*parts).derive(signing.text_hash)
    return signing.text_hash("".join(map(str, parts)))


def _canonical_query_of(target: str) -> str:
    return signing.canonical_query(target.partition("?")[2])


def hash_of_body(body: bytes | Secret | BodySource) -> str | Secret:
    """Return the hash of a body; that of a secret body is secret."""
    if isinstance(body, Secret):
        return body.derive(signing.text_hash)
    return signing.body_hash([body] if isinstance(body, bytes) else body.parts())
