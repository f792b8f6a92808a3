"""Assertions: what the application, or a grant, states and signs (RFC 7521, 7523)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from outkey.foundation.core.fields.choices import ScopePlace
from outkey.foundation.core.secret import Secret
from outkey.sending.core.configuration.sections import OAuth2Settings

ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"


@dataclass(frozen=True, slots=True)
class Assertion:
    """The content of an assertion, and the key that signs it."""

    claims: Mapping[str, object]
    key: Secret
    key_name: str  # the secret that the key is, for errors
    is_shared: bool = False  # a shared key signs by HMAC
    algorithm: str = ""  # by default as the key requires
    key_id: str = ""  # by default that of the key
    is_about_issuer: bool = False  # the subject is the issuer that the key file names


Sign = Callable[[Assertion], Secret]


def client_assertion(
    settings: OAuth2Settings, key: Secret, *, is_shared: bool, now: float, number: str
) -> Assertion:
    """Return the assertion that authenticates the client (RFC 7523 §2.2)."""
    named = {
        "iss": settings.client_id,
        "sub": settings.client_id,
        "aud": settings.issuer or settings.token_url,
    }
    return Assertion(
        claims={**named, **_usual_claims(settings, now, number)},
        key=key,
        key_name="client_secret",
        is_shared=is_shared,
        algorithm="" if is_shared else str(settings.assertion.algorithm or ""),
        key_id=settings.assertion.key_id,
    )


def bearer_assertion(
    settings: OAuth2Settings, key: Secret, *, now: float, number: str
) -> Assertion:
    """Return the assertion that is a grant (RFC 7523 §2.1).

    Without any issuer it is the one that a service account file names, which Google
    expects as the subject only where it is another account.
    """
    shape = settings.assertion
    issuer = shape.issuer or settings.client_id
    named = {
        "iss": issuer,
        "sub": shape.subject or issuer,
        "aud": shape.audience or settings.issuer or settings.token_url,
    }
    stated = {name: text for name, text in named.items() if text}
    return Assertion(
        claims={**stated, **_usual_claims(settings, now, number)},
        key=key,
        key_name="private_key",
        algorithm=str(shape.algorithm or ""),
        key_id=shape.key_id,
    )


def _usual_claims(
    settings: OAuth2Settings, now: float, number: str
) -> dict[str, object]:
    """Return the claims that every assertion has; `number` is unique (jti)."""
    issued = int(now)
    claims: dict[str, object] = {
        "iat": issued,
        "exp": issued + settings.assertion.lifetime_seconds,
        "jti": number,
    }
    if settings.scope and settings.assertion.scope_in is not ScopePlace.FORM:
        claims["scope"] = settings.scope
    return claims | dict(settings.assertion.claims)
