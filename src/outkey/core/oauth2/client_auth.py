"""How an application proves itself at the Token URL (RFC 6749 §2.3, RFC 7523, RFC 8705)."""

from base64 import b64encode
from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple, assert_never
from urllib.parse import quote

from outkey.core.config.choices import ClientAuth
from outkey.core.config.configuration import Configuration
from outkey.core.errors import ConfigError
from outkey.core.request.headers import tidy_value
from outkey.core.request.message import Header, Source
from outkey.core.secret import Secret

Parameters = list[tuple[str, str | Secret]]
# Signs claims with a key: shared for an HMAC, else a private one.
Assertion = Callable[[Mapping[str, object], Secret, bool], Secret]
_ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
_ASSERTION_SECONDS = 60
# As RFC 6749 §2.3.1 asks; with a blank as %20, which servers read that refuse a plus.
_encoded = partial(quote, safe="")


class Proof(NamedTuple):
    """What a token request carries to show who asks."""

    headers: tuple[Header, ...] = ()
    parameters: tuple[tuple[str, str | Secret], ...] = ()


def prove(
    configuration: Configuration,
    secret: Callable[[str], Secret],
    sign: Assertion,
    *,
    now: float,
    number: str,
) -> Proof:
    """Return the proof that the configuration asks for; `number` must not repeat (jti)."""
    settings = configuration.oauth2
    identity = ("client_id", settings.client_id)

    def client_secret() -> Secret:
        entered = secret("client_secret").derive(tidy_value)
        keeps = settings.client_auth is ClientAuth.PRIVATE_KEY_JWT
        return entered if keeps else entered.derive(_no_private_key)

    match settings.client_auth:
        case ClientAuth.BODY:
            if "client_secret" not in configuration.needed_secrets():
                return Proof(parameters=(identity,))
            return Proof(parameters=(identity, ("client_secret", client_secret())))
        case ClientAuth.BASIC | ClientAuth.BASIC_RAW as way:
            encoded = _encoded if way is ClientAuth.BASIC else str
            value = _basic(settings.client_id, client_secret(), encoded)
            return Proof(
                headers=(Header("Authorization", value, Source.AUTHENTICATION),)
            )
        case ClientAuth.MTLS:
            return Proof(
                parameters=(identity,)
            )  # RFC 8705 §2: the certificate is the proof
        case ClientAuth.CLIENT_SECRET_JWT | ClientAuth.PRIVATE_KEY_JWT as way:
            claims: dict[str, object] = {
                "iss": settings.client_id,
                "sub": settings.client_id,
                "aud": settings.issuer or settings.token_url,
                "iat": int(now),
                "exp": int(now) + _ASSERTION_SECONDS,
                "jti": number,
            }
            shared = way is ClientAuth.CLIENT_SECRET_JWT
            signed = sign(claims, client_secret(), shared)
            named = ("client_assertion_type", _ASSERTION_TYPE)
            return Proof(parameters=(identity, named, ("client_assertion", signed)))
        case other:
            assert_never(other)


def _no_private_key(text: str) -> str:
    """Refuse to send what must never leave, whoever changed the way of authentication."""
    if "PRIVATE KEY-----" in text or (text.startswith("{") and '"d"' in text):
        message = (
            "Client Secret is a private key, which only private key JWT keeps here"
        )
        hint = "Choose private key JWT, or enter the secret that the provider gave."
        raise ConfigError(message, field="client_secret", hint=hint)
    return text


def _basic(client_id: str, secret: Secret, encoded: Callable[[str], str]) -> Secret:
    pair = Secret.joined(encoded(client_id), ":", secret.derive(encoded))
    return pair.derive(lambda text: "Basic " + b64encode(text.encode()).decode("ascii"))
