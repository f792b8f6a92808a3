"""The signature of a request by OAuth 1.0a (RFC 5849 §3).

Pure: the caller brings the time, a random text, and what signs with a private key.
"""

import hashlib
import hmac
import re
from base64 import b64encode
from collections.abc import Callable
from functools import partial
from typing import NamedTuple
from urllib.parse import quote, unquote_to_bytes

from outkey.foundation.core.fields.choices import SignatureMethod
from outkey.foundation.core.origin import Origin
from outkey.foundation.core.secret import Secret
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.configuration.oauth1_settings import (
    OAUTH1_TOKEN,
    OAUTH1_TOKEN_SECRET,
)
from outkey.sending.core.request.headers import tidy_value
from outkey.sending.core.request.message import Header, Request, Source

FORM = "application/x-www-form-urlencoded"
_BETWEEN = "\n"  # neither a target, a token, nor an encoded key has one
_NONCE_LENGTH = 24  # servers accept 20 to 30 letters and digits (oauthlib)
_HASHES = {
    SignatureMethod.HMAC_SHA1: "sha1",
    SignatureMethod.HMAC_SHA256: "sha256",
}
_UNRESERVED = re.compile(r"[A-Za-z0-9._~-]*")
Parameters = tuple[tuple[str, str], ...]
# Signs a text with a private key by RSA-SHA1.
SignByKey = Callable[[Secret, Secret], Secret]


class Credentials(NamedTuple):
    """Everything that a request is signed with."""

    consumer_key: str
    method: SignatureMethod
    realm: str = ""
    consumer_secret: Secret | None = None
    private_key: Secret | None = None
    token: Secret | None = None
    token_secret: Secret | None = None
    verifier: Secret | None = None  # of a user's authorization


class Stamp(NamedTuple):
    """The protocol parameters that are new for each request."""

    timestamp: int
    nonce: str


def credentials_of(
    configuration: Configuration, secret: Callable[[str], Secret]
) -> Credentials:
    """Return the credentials of the application, without a token."""
    settings = configuration.oauth1
    consumer_secret = None
    private_key = None
    if settings.signature_method is SignatureMethod.RSA_SHA1:
        private_key = secret("private_key")
    else:
        consumer_secret = secret("consumer_secret").derive(tidy_value)
    return Credentials(
        consumer_key=settings.consumer_key,
        method=settings.signature_method,
        realm=settings.realm,
        consumer_secret=consumer_secret,
        private_key=private_key,
    )


def entered_credentials(
    configuration: Configuration, secret: Callable[[str], Secret]
) -> Credentials:
    """Return the credentials of the application with the entered token, if any."""
    credentials = credentials_of(configuration, secret)
    names = configuration.entered_oauth1_token()
    entered = {name: secret(name).derive(tidy_value) for name in names}
    return credentials._replace(
        token=entered.get(OAUTH1_TOKEN), token_secret=entered.get(OAUTH1_TOKEN_SECRET)
    )


def stamp_of(moment: float, random: str) -> Stamp:
    """Return the stamp of a request that is sent now; `random` is never used twice."""
    nonce = hashlib.sha256(random.encode()).hexdigest()[:_NONCE_LENGTH]
    return Stamp(int(moment), nonce)


def signed_header(
    request: Request,
    credentials: Credentials,
    stamp: Stamp,
    sign_by_key: SignByKey,
    more: Parameters = (),
) -> Header:
    """Return the header Authorization that signs a request.

    `more` are further protocol parameters, such as the callback.
    """
    parameters = (*_protocol_parameters(credentials, stamp), *more)
    signature = signature_of(request, credentials, parameters, sign_by_key)
    realm = credentials.realm.replace("\\", "\\\\").replace('"', '\\"')
    parts: list[str | Secret] = [f'OAuth realm="{realm}", ' if realm else "OAuth "]
    parts += [f'{name}="{encode(value)}", ' for name, value in parameters]
    for name, secret in _secret_parameters(credentials):
        parts += [f'{name}="', secret.derive(encode), '", ']
    parts += ['oauth_signature="', signature.derive(encode), '"']
    return Header("Authorization", Secret.joined(*parts), Source.AUTHENTICATION)


def _protocol_parameters(credentials: Credentials, stamp: Stamp) -> Parameters:
    """Return the protocol parameters that are not secret (RFC 5849 §3.1)."""
    return (
        ("oauth_consumer_key", credentials.consumer_key),
        ("oauth_signature_method", credentials.method.value),
        ("oauth_timestamp", str(stamp.timestamp)),
        ("oauth_nonce", stamp.nonce),
        ("oauth_version", "1.0"),
    )


def _secret_parameters(credentials: Credentials) -> list[tuple[str, Secret]]:
    """Return the protocol parameters that are secret."""
    named = {"oauth_token": credentials.token, "oauth_verifier": credentials.verifier}
    return [(name, secret) for name, secret in named.items() if secret is not None]


def signature_of(
    request: Request,
    credentials: Credentials,
    parameters: Parameters,
    sign_by_key: SignByKey,
) -> Secret:
    """Return the value of `oauth_signature`, before it is encoded."""
    if credentials.method is SignatureMethod.PLAINTEXT:
        return _key_of(credentials)
    base = _base_string(request, credentials, parameters)
    if credentials.private_key is not None:
        return sign_by_key(base, credentials.private_key)
    sign = partial(_hmac_of, _HASHES[credentials.method])
    return Secret.joined(_key_of(credentials), _BETWEEN, base).derive(sign)


def _key_of(credentials: Credentials) -> Secret:
    """Return the key of the shared secrets (RFC 5849 §3.4.2)."""
    secrets = (credentials.consumer_secret, credentials.token_secret)
    consumer, token = (each.derive(encode) if each else "" for each in secrets)
    return Secret.joined(consumer, "&", token)


def _hmac_of(name: str, key_and_base: str) -> str:
    """Return the HMAC of a base string that follows its key."""
    key, _, base = key_and_base.partition(_BETWEEN)
    return b64encode(hmac.digest(key.encode(), base.encode(), name)).decode("ascii")


def _base_string(
    request: Request, credentials: Credentials, parameters: Parameters
) -> Secret:
    """Return the text that is signed; it is secret, like the token in it."""
    secrets = _secret_parameters(credentials)
    names = tuple(name for name, _ in secrets)
    build = partial(base_string, request.method, request.origin, parameters, names)
    parts: list[str | Secret] = []
    for _, secret in secrets:
        parts += [secret, _BETWEEN]
    parts += [request.wire_target(), _BETWEEN, _form_of(request)]
    return Secret.joined(*parts).derive(build)


def base_string(
    method: str,
    origin: Origin,
    parameters: Parameters,
    names: tuple[str, ...],
    secret_parts: str,
) -> str:
    """Return the signature base string (RFC 5849 §3.4.1).

    `secret_parts` has the values of the secret parameters of these names, the target
    and the form of the body, one below the other.
    """
    *values, target, form = secret_parts.split(_BETWEEN, len(names) + 1)
    path, _, query = target.partition("?")
    pairs = [(name, encode(value)) for name, value in parameters]
    pairs += zip(names, map(encode, values), strict=True)
    pairs += _encoded_pairs(query)
    pairs += _encoded_pairs(form)
    normalized = "&".join(f"{name}={value}" for name, value in sorted(pairs))
    return "&".join(
        (method.upper(), encode(f"{origin}{path or '/'}"), encode(normalized))
    )


def _encoded_pairs(query: str) -> list[tuple[str, str]]:
    """Return the parameters of a query or form, each decoded and encoded again.

    RFC 5849 §3.4.1.3.1: `+` is a space, and a name without `=` has an empty value.
    """
    pairs = []
    for part in query.split("&"):
        if part:
            name, _, value = part.partition("=")
            pairs.append((_encode_again(name), _encode_again(value)))
    return pairs


def _encode_again(text: str) -> str:
    """Return one part of a form as RFC 5849 §3.6 encodes it; its bytes stay."""
    if _UNRESERVED.fullmatch(text):
        return text
    raw = text.replace("+", " ").encode("utf-8", "surrogateescape")
    return quote(unquote_to_bytes(raw), safe="")


def encode(text: str) -> str:
    """Return a text as RFC 5849 §3.6 encodes it."""
    # Most names and values are as they should be, and `quote` is slow.
    return text if _UNRESERVED.fullmatch(text) else quote(text, safe="")


def _form_of(request: Request) -> str | Secret:
    """Return a body that is a form, and so is signed; empty for any other."""
    if not request.body or not _is_form(request):
        return ""
    body = request.body
    if isinstance(body, Secret):
        return body
    if not isinstance(body, bytes):
        body = b"".join(body.parts())
    return body.decode("utf-8", "surrogateescape")


def _is_form(request: Request) -> bool:
    """Whether the request has the content type of a form."""
    for header in reversed(request.headers):  # the defaults come first
        if header.name.lower() == "content-type" and isinstance(header.value, str):
            return header.value.partition(";")[0].strip().lower() == FORM
    return False
