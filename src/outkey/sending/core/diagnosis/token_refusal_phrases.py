"""Reasons that the description in a provider's refusal suggests.

Providers use the same error for different mistakes; their description is what tells
them apart. It is read here and never passed on.
"""

from outkey.foundation.core.fields.choices import ClientAuth
from outkey.sending.core.diagnosis.evidence import compact

# The first row with a phrase decides, so the most precise ones come first.
_TABLE: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "client-authentication-style",
        (
            "authenticate with method",
            "authentication method",
            "auth method",
            "client secret basic",
            "client secret post",
            "client authentication must",
            "only supports basic",
            "use http basic",
            "credentials in the request body",
            "credentials in body",
            "more than one client authentication",
            "multiple client credentials",
            "multiple authentication",
            "client authentication mechanism",
        ),
    ),
    (
        "token-url-wrong",
        ("unknown tenant", "tenant not found", "realm does not exist", "no such realm"),
    ),
    (
        "subject-token-expired",
        (
            "subject token has expired",
            "subject token is expired",
            "subject token expired",
            "expired subject token",
        ),
    ),
    ("actor-token-needed", ("actor token",)),
    ("subject-token-refused", ("subject token",)),
    (
        "clock-off",
        (
            "issued in the future",
            "assertion expired",
            "assertion is expired",
            "assertion has expired",
            "token used too early",
            "reasonable timeframe",
            "iat is",
        ),
    ),
    (
        "client-secret-wrong",
        (
            "client secret is expired",
            "client secret has expired",
            "secret keys for app",
            "expired client secret",
            "invalid client secret",
            "client secret is invalid",
            "wrong client secret",
            "client not found",
            "unknown client",
            "client is unknown",
            "client is invalid",
            "invalid client id",
            "client disabled",
            "client is disabled",
            "application with identifier",
        ),
    ),
    (
        "scope-not-allowed",
        ("scope is not allowed", "scope not allowed", "invalid scope", "unknown scope"),
    ),
    (
        "grant-not-allowed",
        (
            "grant type is not",
            "grant type not",
            "grant type not allowed",
            "unsupported grant",
            "not allowed to use grant",
            "not authorized to use this grant",
            "service accounts",
            "response type not",
        ),
    ),
    (
        "token-other-audience",
        (
            "audience is",
            "unknown audience",
            "invalid audience",
            "resource is not",
            "service not found",
            "unknown resource",
            "invalid resource",
        ),
    ),
    ("dpop-required", ("dpop",)),
)
# As RFC 7591 §2 and RFC 8705 §2 name them.
METHOD_NAMES = {
    ClientAuth.BODY: "client_secret_post",
    ClientAuth.BASIC: "client_secret_basic",
    ClientAuth.BASIC_RAW: "client_secret_basic",
    ClientAuth.CLIENT_SECRET_JWT: "client_secret_jwt",
    ClientAuth.PRIVATE_KEY_JWT: "private_key_jwt",
    ClientAuth.MTLS: "tls_client_auth",
    ClientAuth.FEDERATED: "private_key_jwt",
}
_NEEDLES = tuple(
    (reason, tuple(compact(phrase) for phrase in phrases)) for reason, phrases in _TABLE
)


def reason_in(words: str) -> str:
    """Return the id of the reason that a provider's words suggest, "" for none."""
    text = compact(words)
    for reason, needles in _NEEDLES:
        if any(needle in text for needle in needles):
            return reason
    return ""


def methods_in(words: str) -> frozenset[str]:
    """Return the ways of client authentication that a provider's words name."""
    return frozenset(name for name in METHOD_NAMES.values() if name in words)
