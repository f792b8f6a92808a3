"""Credentials in the value of an Authorization header."""

import binascii
import re
from base64 import b64decode
from urllib.parse import unquote

from outkey.foundation.core.fields.choices import SignatureMethod
from outkey.foundation.core.findings.checks import Level
from outkey.foundation.core.text import Text
from outkey.importing.core.report import ImportReport
from outkey.importing.core.seen import (
    Auth,
    AwsAuth,
    KeyAuth,
    OAuth1Auth,
    PasswordAuth,
    TokenAuth,
)
from outkey.sending.core.configuration.custom_rows import PLACEHOLDER
from outkey.sending.core.configuration.placeholders import is_placeholder

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,30}")
_PARAMETER_AND_SECRET = re.compile(
    r"([A-Za-z][A-Za-z0-9_-]{0,30} +[a-z_]{1,30}=\"?)([^\",= ]+)(\"?)"
)
_DIGEST_USER = re.compile(r"username=\"([^\"]{0,200})\"")
_SHORTEST_PAIR = 12
_OAUTH1_PARAMETER = re.compile(r"(\w{1,40})=\"?([^\",]{0,2000})\"?")
# The scope of a signature names everything but the key.
_AWS_SCOPE = re.compile(
    r"AWS4-HMAC-SHA256\s[^\n]{0,200}?\bCredential=([A-Za-z0-9]{1,128})/\d{8}/"
    r"([A-Za-z0-9-]{1,40})/([A-Za-z0-9-]{1,40})/aws4_request",
    re.IGNORECASE,
)
_SIGNATURES = ("aws4-", "oauth ", "hawk ", "signature ", "hmac")


def authorization(value: str, report: ImportReport) -> list[Auth]:
    """Return the credentials of an Authorization header."""
    value = value.strip()
    lower = value.lower()
    if lower.startswith("digest "):
        report.note_changed(
            "Authorization", Text("Digest computes it anew: enter the password")
        )
        username = _DIGEST_USER.search(value)
        return [PasswordAuth(username[1] if username else "", None, is_digest=True)]
    if lower.startswith(_SIGNATURES):
        return _signed_header(value, report)
    if lower.startswith("basic "):
        return [basic_header(value[6:].strip(), report)]
    inner = _PARAMETER_AND_SECRET.fullmatch(value)
    if inner and not lower.startswith("bearer "):
        around = f"{inner[1]}{PLACEHOLDER}{inner[3]}"
        return [KeyAuth("Authorization", inner[2], around=around)]
    scheme, _, token = value.partition(" ")
    is_word = _SCHEME.fullmatch(scheme) is not None
    token = token.strip()
    if token and is_word and (" " not in token or is_placeholder(token)):
        return [TokenAuth(token, None if lower.startswith("bearer ") else scheme)]
    return [TokenAuth(value, "")]


def encoded_pair(value: str) -> tuple[str, str] | None:
    """Return the user name and the token that a header has as one in Base64, if any."""
    if len(value) < _SHORTEST_PAIR:
        return None
    try:
        pair = b64decode(value, validate=True).decode("ascii")
    except ValueError:  # not Base64, or bytes
        return None
    username, _, token = pair.partition(":")
    is_readable = pair.isprintable() and " " not in pair and ":" not in token
    return (username, token) if username and token and is_readable else None


def _signed_header(value: str, report: ImportReport) -> list[Auth]:
    """Return what a header states that signs one request."""
    lower = value.lower()
    if lower.startswith("oauth ") and "oauth_signature=" in lower:
        return [_oauth1_header(value, report)]
    scope = _AWS_SCOPE.match(value)
    if scope:
        report.note_changed(
            "Authorization",
            Text("AWS signs each request anew: enter the Secret Access Key"),
        )
        return [AwsAuth(scope[1], "", scope[2], scope[3])]
    report.note_dropped(
        "Authorization",
        Text("it signs one request only: write a script"),
        Level.ERROR,
    )
    return []


def _oauth1_header(value: str, report: ImportReport) -> OAuth1Auth:
    """Return what a signed header of OAuth 1.0a states; it has none of the secrets."""
    report.note_changed(
        "Authorization", Text("OAuth 1.0a signs each request anew: enter the secrets")
    )
    used = {
        name.lower(): unquote(text) for name, text in _OAUTH1_PARAMETER.findall(value)
    }
    method = used.get("oauth_signature_method", "")
    is_by_key = method == SignatureMethod.RSA_SHA1
    secrets = {"private_key" if is_by_key else "consumer_secret": ""}
    if used.get("oauth_token"):
        secrets["access_token"] = used["oauth_token"]
        if not is_by_key:
            secrets["access_token_secret"] = ""
    settings = {
        "consumer_key": used.get("oauth_consumer_key", ""),
        "signature_method": method,
        "realm": used.get("realm", ""),
    }
    return OAuth1Auth(settings, secrets)


def basic_header(text: str, report: ImportReport) -> PasswordAuth:
    """Return the user and password of a Basic header."""
    try:
        pair = b64decode(text, validate=True).decode()
    except (binascii.Error, ValueError):
        pair = ""
    if not pair and not is_placeholder(text) and ":" in text:
        report.note_changed("Authorization", Text("user and password were not encoded"))
        pair = text
    username, _, password = pair.partition(":")
    return PasswordAuth(username, password)
