"""What is asked of an authorization server: token, revocation, introspection and consent."""

import hashlib
import json
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple
from urllib.parse import quote, quote_plus, urlencode

from outkey.core.config.choices import Grant
from outkey.core.config.configuration import Configuration
from outkey.core.errors import ConfigError, frameless
from outkey.core.oauth2.client_auth import Parameters, Proof
from outkey.core.oauth2.responses import failure
from outkey.core.request.message import Header, Request, Source
from outkey.core.request.origin import Location, parse_endpoint
from outkey.core.secret import Secret

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
    """Ask as the application itself (RFC 6749 §4.4)."""
    # Zoom has a grant_type of its own, with everything else as it is here.
    grant = configuration.oauth2.extra.get("grant_type", "client_credentials")
    return [("grant_type", grant), *_wanted(configuration)]


def refresh(configuration: Configuration, token: Secret) -> Parameters:
    """Ask with a refresh token (RFC 6749 §6); the scope stays as it was granted."""
    asked: Parameters = [("grant_type", "refresh_token"), ("refresh_token", token)]
    kept = configuration.oauth2.grant is Grant.REFRESH_TOKEN
    return asked + [
        pair for pair in _wanted(configuration) if kept or pair[0] != "scope"
    ]


def authorization_code(
    made: Configuration, code: Secret, consent: "Consent"
) -> Parameters:
    """Ask with the code that a person's consent gave (RFC 6749 §4.1.3, RFC 7636 §4.5)."""
    return [
        ("grant_type", "authorization_code"),
        ("code", code),
        ("redirect_uri", consent.redirect_url),
        ("code_verifier", consent.verifier),
        *_extra(made),
    ]


def device_code(configuration: Configuration, code: Secret) -> Parameters:
    """Ask whether a person has agreed meanwhile (RFC 8628 §3.4)."""
    asked: Parameters = [("grant_type", _DEVICE_GRANT), ("device_code", code)]
    return asked + _named(configuration) + _extra(configuration)


def device_start(configuration: Configuration) -> Parameters:
    """Ask for a device code (RFC 8628 §3.1)."""
    return _named(configuration) + _wanted(configuration)


def _named(configuration: Configuration) -> Parameters:
    # Also beside HTTP Basic: django-oauth-toolkit looks nowhere else for a device's client.
    return [("client_id", configuration.oauth2.client_id)]


def about_token(token: Secret, hint: str) -> Parameters:
    """Ask something about a token: to revoke it (RFC 7009) or what it is (RFC 7662)."""
    return [("token", token), ("token_type_hint", hint)]


def _wanted(configuration: Configuration) -> Parameters:
    settings = configuration.oauth2
    named = {
        "scope": settings.scope,
        "audience": settings.audience,
        "resource": settings.resource,
    }
    wanted: Parameters = [(name, text) for name, text in named.items() if text]
    return wanted + _extra(configuration)


def _extra(configuration: Configuration) -> Parameters:
    extra = configuration.oauth2.extra.items()
    return [(name, text) for name, text in extra if name != "grant_type"]


def post(
    configuration: Configuration, url: str, parameters: Parameters, proof: Proof
) -> Request:
    """Build a request to the authorization server; its body is secret."""
    fields = dict((*parameters, *proof.parameters))
    as_json = configuration.oauth2.body_format == "json"
    written = (
        (json.dumps, "{", ": ", ", ", "}")
        if as_json
        else (quote_plus, "", "=", "&", "")
    )
    body = _joined(fields, *written)
    kind = "application/json" if as_json else "application/x-www-form-urlencoded"
    location = parse_endpoint(url, "oauth2.token_url")
    framing = {"Content-Length": str(body.wire_length), "Content-Type": kind}
    headers = (*_headers(location, framing), *proof.headers)
    secrets = tuple(value for value in fields.values() if isinstance(value, Secret))
    return Request("POST", location.origin, location.target, headers, body, secrets)


def _headers(location: Location, more: Mapping[str, str]) -> Iterator[Header]:
    """Return what every request to an authorization server has, with no coding to inflate."""
    own = {
        "Host": location.origin.authority,
        "User-Agent": "outkey",
        "Accept": "application/json",
        "Accept-Encoding": "identity",
    }
    for name, text in (own | dict(more)).items():
        yield Header(name, text, Source.DEFAULT)


def _joined(
    fields: Mapping[str, str | Secret],
    encoded: Callable[[str], str],
    first: str,
    between: str,
    after: str,
    last: str,
) -> Secret:
    parts: list[str | Secret] = [first]
    for number, (name, value) in enumerate(fields.items()):
        text = value.derive(encoded) if isinstance(value, Secret) else encoded(value)
        parts += [after if number else "", encoded(name), between, text]
    return Secret.joined(*parts, last)


class Consent(NamedTuple):
    """What the browser is sent away with, and what is checked when it comes back."""

    state: str
    verifier: Secret
    challenge: str  # of the verifier, which anybody may see
    redirect_url: str


def consent_for(state: str, verifier: str, redirect_url: str) -> Consent:
    """Prepare a consent with a random verifier (RFC 7636 §4.2, S256)."""
    digest = hashlib.sha256(verifier.encode("ascii")).digest()
    challenge = urlsafe_b64encode(digest).rstrip(b"=").decode("ascii")
    return Consent(state, Secret(verifier), challenge, redirect_url)


def consent_url(configuration: Configuration, consent: Consent) -> str:
    """Return the address where a person agrees (RFC 6749 §4.1.1 with PKCE, RFC 7636)."""
    settings = configuration.oauth2
    parameters: dict[str, str] = {
        **{name: str(text) for name, text in _wanted(configuration)},
        "response_type": "code",
        "client_id": settings.client_id,
        "redirect_uri": consent.redirect_url,
        "state": consent.state,
        "code_challenge": consent.challenge,
        "code_challenge_method": "S256",
    }
    query = urlencode(parameters, quote_via=quote)
    mark = "&" if "?" in settings.authorization_url else "?"
    return f"{settings.authorization_url}{mark}{query}"


def refuse_other_issuer(configuration: Configuration, issuer: str) -> None:
    """Refuse an authorization response of another authorization server (RFC 9207 §2.4).

    Without a configured Issuer its exact name is unknown. The response must then name an issuer
    at the origin of the Authorization URL or the Token URL, so that a code of another server is
    never sent to this one (mix-up attack).
    """
    settings = configuration.oauth2
    if settings.issuer:
        if issuer != settings.issuer:
            raise ConfigError(
                "the response comes from another issuer than the configured one",
                hint=(
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
            "the response comes from an issuer at another origin than the Authorization"
            " URL and the Token URL",
            hint=(
                "If this is your provider, enter its issuer in Issuer (the value named"
                " issuer in its metadata), save, and press Connect again."
            ),
            field="oauth2.issuer",
        )


class DeviceCode(NamedTuple):
    """What a person needs to agree on another device (RFC 8628 §3.2)."""

    code: Secret
    user_code: str
    address: str
    interval: float
    lifetime: float


@frameless
def read_device_code(document: Mapping[str, object]) -> DeviceCode:
    """Read the answer to `device_start`."""
    address = document.get("verification_uri") or document.get("verification_url")
    code, user_code = document.get("device_code"), document.get("user_code")
    texts = (code, user_code, address)
    if not all(isinstance(text, str) and text and text.isprintable() for text in texts):
        raise failure("not_a_token_endpoint")
    try:
        parse_endpoint(str(address), "")
    except ConfigError:
        raise failure("not_a_token_endpoint") from None
    interval, lifetime = document.get("interval"), document.get("expires_in")
    return DeviceCode(
        Secret(str(code)),
        str(user_code)[:40],
        str(address),
        (
            max(1.0, min(float(interval), 60.0))
            if isinstance(interval, int | float)
            else 5.0
        ),
        (
            max(1.0, min(float(lifetime), 1800.0))
            if isinstance(lifetime, int | float)
            else 600.0
        ),
    )


def metadata_request(location: Location, name: str) -> Request:
    """Ask for a metadata document: the well-known path stands before the issuer's own.

    RFC 8414 §3.1; OpenID Connect Discovery §4 puts it behind.
    """
    path = location.target.rstrip("/")
    before = name == "oauth-authorization-server"
    target = f"{_WELL_KNOWN}{name}{path}" if before else f"{path}{_WELL_KNOWN}{name}"
    return Request("GET", location.origin, target, tuple(_headers(location, {})))


def read_metadata(document: Mapping[str, object], issuer: str) -> dict[str, str]:
    """Return the addresses that an authorization server names, by field; it must be the issuer."""
    # RFC 8414 §3.3: another issuer's metadata must not be used.
    named = str(document.get("issuer", ""))
    if named.rstrip("/") != issuer.rstrip("/"):
        hint = "Write the issuer as the provider does."
        raise ConfigError("the metadata is of another issuer", hint=hint)
    found = {"issuer": named}
    for field, key in _METADATA.items():
        url = document.get(key)
        if isinstance(url, str) and url.isascii() and url.isprintable():
            parse_endpoint(url, field)
            found[field] = url
    return found
