"""Two scenes that are like AWS: an API that verifies signatures, and STS.

The access key is made up and public. Sessions are not stored: a session token states
when it ends, and the secret of its key is derived from it.
"""

import hashlib
import hmac
import posixpath
import re
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import NamedTuple
from urllib.parse import parse_qs, parse_qsl, quote
from xml.sax.saxutils import escape

from outkey.spar.exchange import Stage

KEY_ID = "AKIASPARRING"
KEY = "spar-secret-access-key"
WEB_IDENTITY = "spar-web-identity"
REGION = "eu-central-1"
SERVICE = "execute-api"
DENIED_ROLE = "arn:aws:iam::1:role/denied"
_SKEW = 300
_OF_SESSIONS = b"made up and public"
_BYTES = "surrogateescape"  # bytes that are not UTF-8 stay as they are
_AUTHORIZATION = re.compile(
    r"AWS4-HMAC-SHA256 Credential=([^/,]+)/(\d{8})/([^/,]+)/([^/,]+)/aws4_request,"
    r" ?SignedHeaders=([a-z0-9;-]+), ?Signature=([0-9a-f]{64})"
)


class _Refusal(Exception):
    """A refusal with an error code of AWS."""

    def __init__(self, code: str, words: str, status: int = 403) -> None:
        super().__init__(code)
        self.code = code
        self.words = words
        self.status = status


class _Claim(NamedTuple):
    """What an Authorization header claims."""

    key_id: str
    day: str
    region: str
    service: str
    names: str
    signature: str


def _play_api(stage: Stage) -> None:
    """Demand a signature of AKIASPARRING for execute-api in eu-central-1.

    Its secret is `spar-secret-access-key`; a session of `/aws/sts` is as good.
    `/aws/api/denied` denies the access.
    """
    _respond(stage, _serve_api)


def _play_sts(stage: Stage) -> None:
    """Assume any role but `arn:aws:iam::1:role/denied`, for `?lifetime=` seconds.

    By a signature, or by the web identity token `spar-web-identity`. `?stated=` is the
    lifetime that the response states, `?before=` the seconds before it.
    """
    stage.sleep(0, "before")
    _respond(stage, _serve_sts)


def _respond(stage: Stage, serve: Callable[[Stage], str]) -> None:
    """Respond with XML, also to what is refused."""
    try:
        status, body = 200, serve(stage)
    except _Refusal as refusal:
        status = refusal.status
        error = f"<Code>{refusal.code}</Code><Message>{escape(refusal.words)}</Message>"
        body = f"<ErrorResponse><Error>{error}</Error></ErrorResponse>"
    stage.respond(status, body.encode(), kind="text/xml")


def _serve_api(stage: Stage) -> str:
    _verify(stage, SERVICE)
    if stage.rest == "api/denied":
        raise _Refusal(
            "AccessDenied", "User: spar is not authorized to perform: spar:Go"
        )
    return "<Accepted>true</Accepted>"


def _serve_sts(stage: Stage) -> str:
    form = {name: values[0] for name, values in parse_qs(stage.body.decode()).items()}
    action = form.get("Action", "")
    if action == "AssumeRoleWithWebIdentity":
        if not _is_equal(form.get("WebIdentityToken", ""), WEB_IDENTITY):
            raise _Refusal("InvalidIdentityToken", "The token is not of spar", 400)
    elif action == "AssumeRole":
        _verify(stage, "sts")
    else:
        raise _Refusal("InvalidAction", "There is no such action", 400)
    if form.get("RoleArn") == DENIED_ROLE:
        raise _Refusal(
            "AccessDenied", "User: spar is not authorized to perform: sts:AssumeRole"
        )
    lifetime = stage.number("lifetime", float(form.get("DurationSeconds", "3600")))
    now = time.time()
    stated = datetime.fromtimestamp(now + stage.number("stated", lifetime), UTC)
    token = f"spar-session-{int(now + lifetime)}-{time.monotonic_ns():x}"
    return (
        f"<{action}Response><{action}Result><Credentials>"
        f"<AccessKeyId>ASIASPARRING</AccessKeyId>"
        f"<SecretAccessKey>{_key_of(token)}</SecretAccessKey>"
        f"<SessionToken>{token}</SessionToken>"
        f"<Expiration>{stated:%Y-%m-%dT%H:%M:%SZ}</Expiration>"
        f"</Credentials></{action}Result></{action}Response>"
    )


def _key_of(token: str) -> str:
    """Return the secret of the key that a session token belongs to."""
    return hmac.new(_OF_SESSIONS, token.encode(), "sha256").hexdigest()


def _verify(stage: Stage, service: str) -> None:
    """Refuse a request whose signature is not that of a known key."""
    header = stage.headers.get("authorization", "")
    if not header.startswith("AWS4-HMAC-SHA256 "):
        raise _Refusal("MissingAuthenticationToken", "Request is missing a signature")
    match = _AUTHORIZATION.fullmatch(header)
    if match is None:
        raise _Refusal("IncompleteSignature", "The header is incomplete", 400)
    claim = _Claim(*match.groups())
    key = _secret_of(stage, claim.key_id)
    if claim.region != REGION:
        words = "Credential should be scoped to a valid region."
        raise _Refusal("SignatureDoesNotMatch", words)
    if claim.service != service:
        words = f"Credential should be scoped to correct service: '{service}'."
        raise _Refusal("SignatureDoesNotMatch", words)
    _check_time(stage)
    if not _is_equal(claim.signature, _signature(stage, claim, key)):
        words = "The request signature we calculated does not match."
        raise _Refusal("SignatureDoesNotMatch", words)


def _secret_of(stage: Stage, key_id: str) -> str:
    """Return the secret of an access key, or refuse one that is not known."""
    if key_id == KEY_ID:
        return KEY
    token = stage.headers.get("x-amz-security-token", "")
    ends = token.removeprefix("spar-session-").partition("-")[0]
    if not key_id.startswith("ASIA") or not ends.isdigit():
        words = "The security token included in the request is invalid."
        raise _Refusal("InvalidClientTokenId", words)
    if int(ends) <= time.time():
        words = "The security token included in the request is expired."
        raise _Refusal("ExpiredToken", words)
    return _key_of(token)


def _check_time(stage: Stage) -> None:
    """Refuse a date that is minutes from the time of this server (`?skew=`)."""
    stamp = stage.headers.get("x-amz-date", "")
    try:
        signed_at = datetime.strptime(stamp, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    except ValueError:
        raise _Refusal("IncompleteSignature", "There is no date", 400) from None
    now = time.time() + stage.number("skew", 0)
    if abs(signed_at.timestamp() - now) > _SKEW:
        raise _Refusal("RequestTimeTooSkewed", "The difference is too large.")


def _signature(stage: Stage, claim: _Claim, key: str) -> str:
    """Return the signature that the request should have."""
    query = parse_qsl(stage.raw_query, keep_blank_values=True, errors=_BYTES)
    pairs = sorted((_quoted(name), _quoted(text)) for name, text in query)
    end = "/" if stage.path.endswith("/") else ""
    names = claim.names.split(";")
    lines = [
        f"{name}:{' '.join(stage.headers.get(name, '').split())}" for name in names
    ]
    payload = hashlib.sha256(stage.body).hexdigest()
    if stage.headers.get("x-amz-content-sha256") == "UNSIGNED-PAYLOAD":
        payload = "UNSIGNED-PAYLOAD"
    canonical = [
        stage.method,
        quote(posixpath.normpath(stage.path) + end, safe="/"),
        "&".join(f"{name}={text}" for name, text in pairs),
        *lines,
        "",
        claim.names,
        payload,
    ]
    scope = f"{claim.day}/{claim.region}/{claim.service}/aws4_request"
    digest = hashlib.sha256("\n".join(canonical).encode()).hexdigest()
    text = f"AWS4-HMAC-SHA256\n{stage.headers['x-amz-date']}\n{scope}\n{digest}"
    scoped_key = f"AWS4{key}".encode()
    for part in scope.split("/"):
        scoped_key = hmac.digest(scoped_key, part.encode(), "sha256")
    return hmac.digest(scoped_key, text.encode(), "sha256").hex()


def _quoted(text: str) -> str:
    return quote(text, safe="", errors=_BYTES)


def _is_equal(text: str, expected: str) -> bool:
    return hmac.compare_digest(text.encode(), expected.encode())


AWS: dict[str, Callable[[Stage], None]] = {"aws/api": _play_api, "aws/sts": _play_sts}
