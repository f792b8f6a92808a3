"""Requests to an authorization server: token, revocation, introspection, consent."""

import hashlib
import json
import re
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple
from urllib.parse import quote, quote_plus, urlencode

from outkey.foundation.core.errors import ConfigError, drop_traceback
from outkey.foundation.core.fields.choices import Grant, Pkce, ScopePlace
from outkey.foundation.core.origin import Location, parse_endpoint
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.text import Text
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.oauth2.client_auth import Parameters, Proof
from outkey.sending.core.oauth2.responses import failure
from outkey.sending.core.request.message import Header, Request, Source

_REQUEST_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[!-~]{1,2000}")
JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"
_TOKEN_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"  # noqa: S105
_DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
_WELL_KNOWN = "/.well-known/"
_METADATA = {
    "token_url": "token_endpoint",
    "authorization_url": "authorization_endpoint",
    "device_url": "device_authorization_endpoint",
    "revocation_url": "revocation_endpoint",
    "introspection_url": "introspection_endpoint",
}


def client_credentials(configuration: Configuration) -> Parameters:
    """Request a token for the application itself (RFC 6749 §4.4)."""
    # Zoom has its own grant_type; everything else is the same.
    grant = configuration.oauth2.extra.get("grant_type", "client_credentials")
    return [("grant_type", grant), *_requested_parameters(configuration)]


def jwt_bearer(configuration: Configuration) -> Parameters:
    """Request a token with an assertion (RFC 7523 §2.1), which is added when sending.

    A provider accepts an assertion once, and the request may be retried.
    """
    return [("grant_type", JWT_BEARER), *_requested_parameters(configuration)]


def token_exchange(
    configuration: Configuration, subject: Secret, actor: Secret | None
) -> Parameters:
    """Request a token for that of a subject (RFC 8693 §2.1)."""
    settings = configuration.oauth2
    parameters: Parameters = [
        ("grant_type", _TOKEN_EXCHANGE),
        ("subject_token", subject),
        ("subject_token_type", settings.subject_token_type),
    ]
    if actor is not None:
        parameters.append(("actor_token", actor))
        parameters.append(("actor_token_type", settings.actor_token_type))
    if settings.requested_token_type:
        parameters.append(("requested_token_type", settings.requested_token_type))
    return parameters + _requested_parameters(configuration)


def password(configuration: Configuration, secret: Secret) -> Parameters:
    """Request a token with a user's name and password (RFC 6749 §4.3)."""
    return [
        ("grant_type", "password"),
        ("username", configuration.username),
        ("password", secret),
        *_requested_parameters(configuration),
    ]


def refresh(configuration: Configuration, token: Secret) -> Parameters:
    """Request a token with a refresh token (RFC 6749 §6), for the granted scope."""
    parameters: Parameters = [("grant_type", "refresh_token"), ("refresh_token", token)]
    with_scope = configuration.oauth2.grant is Grant.REFRESH_TOKEN
    return parameters + [
        pair
        for pair in _requested_parameters(configuration)
        if with_scope or pair[0] != "scope"
    ]


def authorization_code(
    configuration: Configuration, code: Secret, consent: "Consent"
) -> Parameters:
    """Request a token with the code of a consent (RFC 6749 §4.1.3, RFC 7636 §4.5)."""
    parameters: Parameters = [
        ("grant_type", "authorization_code"),
        ("code", code),
        ("redirect_uri", consent.redirect_url),
    ]
    if configuration.oauth2.pkce is Pkce.S256:
        parameters.append(("code_verifier", consent.verifier))
    return parameters + _extra_parameters(configuration)


def device_code(configuration: Configuration, code: Secret) -> Parameters:
    """Request a token with a device code (RFC 8628 §3.4)."""
    return [
        ("grant_type", _DEVICE_GRANT),
        ("device_code", code),
        client_id(configuration),
        *_extra_parameters(configuration),
    ]


def device_start(configuration: Configuration) -> Parameters:
    """Request a device code (RFC 8628 §3.1)."""
    return [client_id(configuration), *_requested_parameters(configuration)]


def client_id(configuration: Configuration) -> tuple[str, str]:
    """Return the parameter that names the client of a device.

    Also beside HTTP Basic: django-oauth-toolkit reads it only here.
    """
    return ("client_id", configuration.oauth2.client_id)


def about_token(token: Secret, hint: str) -> Parameters:
    """Request the revocation (RFC 7009) or introspection (RFC 7662) of a token."""
    return [("token", token), ("token_type_hint", hint)]


def _requested_parameters(configuration: Configuration) -> Parameters:
    """Return scope, audience and resource as configured, and the extra parameters."""
    settings = configuration.oauth2
    named = {
        "scope": settings.scope,
        "audience": settings.audience,
        "resource": settings.resource,
    }
    if _scope_is_asserted(configuration):
        del named["scope"]
    parameters: Parameters = [(name, text) for name, text in named.items() if text]
    return parameters + _extra_parameters(configuration)


def _scope_is_asserted(configuration: Configuration) -> bool:
    """Whether only an assertion names the scope."""
    settings = configuration.oauth2
    is_only_there = settings.assertion.scope_in is ScopePlace.ASSERTION
    return is_only_there and settings.signs_assertions


def _extra_parameters(configuration: Configuration) -> Parameters:
    """Return the configured extra parameters of a token request."""
    extra = configuration.oauth2.extra.items()
    return [(name, text) for name, text in extra if name != "grant_type"]


def post(
    configuration: Configuration, url: str, parameters: Parameters, proof: Proof
) -> Request:
    """Build a request to the authorization server; its body is secret."""
    fields = dict((*parameters, *proof.parameters))
    if configuration.oauth2.body_format == "json":
        kind = "application/json"
        content = _joined_fields(fields, json.dumps, assignment=": ", separator=", ")
        body = Secret.joined("{", content, "}")
    else:
        kind = "application/x-www-form-urlencoded"
        body = form_body(fields)
    location = parse_endpoint(url, "oauth2.token_url")
    framing = {"Content-Length": str(body.wire_length), "Content-Type": kind}
    headers = (*common_headers(location, framing), *proof.headers)
    secrets = tuple(value for value in fields.values() if isinstance(value, Secret))
    return Request("POST", location.origin, location.target, headers, body, secrets)


def common_headers(location: Location, more: Mapping[str, str]) -> Iterator[Header]:
    """Yield the headers of every request to an authorization server."""
    own = {
        "Host": location.origin.authority,
        "User-Agent": "outkey",
        "Accept": "application/json",
        "Accept-Encoding": "identity",
    }
    for name, text in (own | dict(more)).items():
        yield Header(name, text, Source.DEFAULT)


def form_body(fields: Mapping[str, str | Secret]) -> Secret:
    """Return fields as a form; the result is secret."""
    return _joined_fields(fields, quote_plus, assignment="=", separator="&")


def _joined_fields(
    fields: Mapping[str, str | Secret],
    encode: Callable[[str], str],
    *,
    assignment: str,
    separator: str,
) -> Secret:
    """Return names and values, encoded and joined; the result is secret."""
    parts: list[str | Secret] = []
    for number, (name, value) in enumerate(fields.items()):
        text = value.derive(encode) if isinstance(value, Secret) else encode(value)
        parts += [separator if number else "", encode(name), assignment, text]
    return Secret.joined(*parts)


class Consent(NamedTuple):
    """The parameters that a browser takes to the provider, checked on its return."""

    state: str
    verifier: Secret
    challenge: str  # the hash of the verifier, which is public
    redirect_url: str
    nonce: str  # returns in the ID token, if there is one


def consent_for(state: str, verifier: str, redirect_url: str) -> Consent:
    """Prepare a consent with a random verifier (RFC 7636 §4.2, S256).

    The nonce is as fresh as the verifier, and reveals nothing of it either.
    """
    return Consent(
        state=state,
        verifier=Secret(verifier),
        challenge=_encoded_hash(verifier),
        redirect_url=redirect_url,
        nonce=_encoded_hash(f"nonce {verifier}"),
    )


def _encoded_hash(text: str) -> str:
    """Return the SHA-256 of a text as it can be sent in a URL."""
    digest = hashlib.sha256(text.encode("ascii")).digest()
    return urlsafe_b64encode(digest).rstrip(b"=").decode("ascii")


def expected_nonce(configuration: Configuration, consent: Consent) -> str:
    """Return the nonce that an ID token must have; "" where none is requested."""
    return consent.nonce if "openid" in configuration.oauth2.scope.split() else ""


def authorization_parameters(
    configuration: Configuration, consent: Consent
) -> dict[str, str]:
    """Return the parameters of a consent (RFC 6749 §4.1.1, RFC 7636 §4.3)."""
    settings = configuration.oauth2
    parameters: dict[str, str] = {
        **{name: str(text) for name, text in _requested_parameters(configuration)},
        "response_type": "code",
        "client_id": settings.client_id,
        "redirect_uri": consent.redirect_url,
        "state": consent.state,
    }
    if settings.pkce is Pkce.S256:
        parameters["code_challenge"] = consent.challenge
        parameters["code_challenge_method"] = "S256"
    if nonce := expected_nonce(configuration, consent):
        parameters["nonce"] = nonce
    return parameters


def consent_url(configuration: Configuration, parameters: Mapping[str, str]) -> str:
    """Return the URL where a user authorizes the access (RFC 6749 §4.1.1)."""
    url = configuration.oauth2.authorization_url
    query = urlencode(parameters, quote_via=quote)
    return f"{url}{'&' if '?' in url else '?'}{query}"


def pushed_consent_url(configuration: Configuration, request_uri: str) -> str:
    """Return the URL of a pushed request, which names it and no more (RFC 9126 §4)."""
    name = {
        "client_id": configuration.oauth2.client_id,
        "request_uri": request_uri,
    }
    return consent_url(configuration, name)


class PushedRequest(NamedTuple):
    """A consent whose parameters the provider has, and for how many seconds."""

    request_uri: str
    lifetime: float


@drop_traceback
def read_pushed_request(document: Mapping[str, object]) -> PushedRequest:
    """Read the response to a pushed authorization request (RFC 9126 §2.2)."""
    uri = document.get("request_uri")
    if not isinstance(uri, str) or not _REQUEST_URI.fullmatch(uri):
        raise failure("not_a_token_endpoint")
    lifetime = _seconds_up_to(600.0, document.get("expires_in"), default=60.0)
    return PushedRequest(uri, lifetime)


def refuse_other_issuer(configuration: Configuration, issuer: str) -> None:
    """Refuse an authorization response of another authorization server (RFC 9207 §2.4).

    Without a configured Issuer its exact name is unknown. The response must then name
    an issuer at the origin of the Authorization URL or the Token URL, so that a code of
    another server is never sent to this one (mix-up attack).
    """
    settings = configuration.oauth2
    if settings.issuer:
        if issuer != settings.issuer:
            raise ConfigError(
                Text("the response comes from another issuer than the configured one"),
                hint=Text(
                    "Open the configuration, compare Issuer with the provider's"
                    " documentation, and press Connect again."
                ),
                field="oauth2.issuer",
            )
        return
    expected = {
        parse_endpoint(url, "").origin
        for url in (settings.authorization_url, settings.token_url)
        if url
    }
    try:
        origin = parse_endpoint(issuer, "").origin
    except ConfigError:
        origin = None
    if origin not in expected:
        raise ConfigError(
            Text(
                "the response comes from an issuer at another origin than the"
                " Authorization URL and the Token URL"
            ),
            hint=Text(
                "If this is your provider, enter its issuer in Issuer (the value named"
                " issuer in its metadata), save, and press Connect again."
            ),
            field="oauth2.issuer",
        )


class DeviceCode(NamedTuple):
    """The code that a user enters on another device (RFC 8628 §3.2)."""

    code: Secret
    user_code: str
    address: str
    interval: float
    lifetime: float


@drop_traceback
def read_device_code(document: Mapping[str, object]) -> DeviceCode:
    """Read the response to `device_start`."""
    address = document.get("verification_uri") or document.get("verification_url")
    code = document.get("device_code")
    user_code = document.get("user_code")
    texts = (code, user_code, address)
    if not all(isinstance(text, str) and text and text.isprintable() for text in texts):
        raise failure("not_a_token_endpoint")
    try:
        parse_endpoint(str(address), "")
    except ConfigError:
        raise failure("not_a_token_endpoint") from None
    return DeviceCode(
        code=Secret(str(code)),
        user_code=str(user_code)[:40],
        address=str(address),
        interval=_seconds_up_to(60.0, document.get("interval"), default=5.0),
        lifetime=_seconds_up_to(1800.0, document.get("expires_in"), default=600.0),
    )


def _seconds_up_to(most: float, value: object, *, default: float) -> float:
    """Return a number of seconds from 1 to `most`, or the default if invalid."""
    return (
        max(1.0, min(float(value), most)) if isinstance(value, int | float) else default
    )


def metadata_request(location: Location, name: str) -> Request:
    """Request a metadata document: the well-known path comes before the issuer's path.

    RFC 8414 §3.1; OpenID Connect Discovery §4 appends it.
    """
    path = location.target.rstrip("/")
    before = name == "oauth-authorization-server"
    target = f"{_WELL_KNOWN}{name}{path}" if before else f"{path}{_WELL_KNOWN}{name}"
    return Request("GET", location.origin, target, tuple(common_headers(location, {})))


def read_metadata(document: Mapping[str, object], issuer: str) -> dict[str, str]:
    """Return the URLs of an authorization server by field; it must be the issuer."""
    # RFC 8414 §3.3: another issuer's metadata must not be used.
    named = str(document.get("issuer", ""))
    if named.rstrip("/") != issuer.rstrip("/"):
        raise ConfigError(
            Text("the metadata is of another issuer"),
            hint=Text("Write the issuer exactly as the provider does."),
        )
    urls = {"issuer": named}
    for field, key in _METADATA.items():
        url = document.get(key)
        if isinstance(url, str) and url.isascii() and url.isprintable():
            parse_endpoint(url, field)
            urls[field] = url
    return urls
