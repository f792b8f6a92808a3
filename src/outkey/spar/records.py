"""The records and counters of the authorization server, and checks without state."""

import json
import re
import secrets
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import NamedTuple

Fields = dict[str, object]

SCOPE = "orders:read"
# RFC 7636 §4.1
_VERIFIER = re.compile(r"[A-Za-z0-9._~-]{43,128}")


class OAuthError(Exception):
    """An error response (RFC 6749 §5.2)."""

    def __init__(self, code: str, description: str, status: int = 400) -> None:
        super().__init__(code, description)
        self.code = code
        self.description = description
        self.status = status


class Terms(NamedTuple):
    """How tokens are issued; an old refresh token is accepted for `grace` seconds."""

    lifetime: float = 3600.0
    grace: float = 0.0
    audience: str = ""  # the only one that a token may be exchanged for
    needs_actor: bool = False


class GrantCounts(NamedTuple):
    """Requests and tokens so far, without any value."""

    token_requests: int
    by_grant: dict[str, int]
    reuses: int
    live_families: int
    dead_families: int
    live_access_tokens: int


@dataclass(eq=False, slots=True)
class Family:
    """All tokens that come from one approval; they die together (RFC 9700 §4.14.2)."""

    client: str
    scope: str
    live: bool = True


@dataclass(slots=True)
class Refresh:
    """A refresh token, without its value; `used` says when it was exchanged."""

    family: Family
    used: float | None = None


@dataclass(slots=True)
class Access:
    """An access token, without its value."""

    client: str
    scope: str
    expires: float
    family: Family | None
    live: bool = True
    subject: str = ""  # the user whose token was exchanged

    def is_usable(self, now: float) -> bool:
        """Whether an API accepts it."""
        return (
            self.live
            and now < self.expires
            and (self.family is None or self.family.live)
        )


@dataclass(slots=True)
class Code:
    """An authorization code; the family is there once it was exchanged."""

    client: str
    redirect_uri: str
    challenge: str
    scope: str
    expires: float
    family: Family | None = None


@dataclass(slots=True)
class Pushed:
    """The parameters of an authorization that a client has pushed (RFC 9126)."""

    client: str
    parameters: dict[str, str]
    expires: float


@dataclass(slots=True)
class Device:
    """A device that waits for a decision of its user (RFC 8628)."""

    client: str
    scope: str
    expires: float
    interval: float
    decision: str = "pending"
    polled: float | None = None


def required_parameter(form: Mapping[str, str], name: str) -> str:
    """Return a parameter that the grant requires."""
    if name not in form:
        raise OAuthError("invalid_request", f"{name} is missing")
    return form[name]


def check_verifier(verifier: str, challenge: str) -> None:
    """Refuse a verifier that does not fit its challenge, S256 (RFC 7636 §4.6)."""
    digest = sha256(verifier.encode()).digest()
    expected = urlsafe_b64encode(digest).rstrip(b"=").decode()
    if not _VERIFIER.fullmatch(verifier) or challenge != expected:
        raise OAuthError("invalid_grant", "code_verifier does not fit code_challenge")


def new_key() -> str:
    """Make a private key for a client that signs, as a JWK."""
    from joserfc.jwk import ECKey  # noqa: PLC0415 - only who signs needs it

    return json.dumps(ECKey.generate_key("P-256").as_dict(private=True))


def claims_of(assertion: str, key_or_secret: str) -> Fields:
    """Return the claims of an assertion if this key or secret signed it."""
    from joserfc import errors, jwk, jwt  # noqa: PLC0415 - only who signs needs it

    try:
        key: jwk.ECKey | jwk.OctKey
        if key_or_secret.startswith("{"):
            key = jwk.ECKey.import_key(json.loads(key_or_secret))
        else:
            key = jwk.OctKey.import_key(key_or_secret)
        return jwt.decode(assertion, key, algorithms=["ES256", "HS256"]).claims
    except (errors.JoseError, ValueError):
        return {}


class Sessions:
    """What logins in steps and CSRF tokens have issued."""

    def __init__(self) -> None:
        self._nonces: set[str] = set()
        self._csrf: set[tuple[str, str]] = set()

    def new_nonce(self) -> str:
        """Return a nonce that one login may use."""
        nonce = secrets.token_urlsafe(12)
        self._nonces.add(nonce)
        return nonce

    def use_nonce(self, nonce: str) -> bool:
        """Whether a nonce is one that was not used before."""
        try:
            self._nonces.remove(nonce)
        except KeyError:
            return False
        return True

    def new_csrf(self) -> tuple[str, str]:
        """Return a CSRF token and the session that it belongs to."""
        pair = (secrets.token_urlsafe(18), secrets.token_urlsafe(12))
        self._csrf.add(pair)
        return pair

    def has_csrf(self, token: str, session: str) -> bool:
        """Whether a CSRF token belongs to a session, and has not expired."""
        return (token, session) in self._csrf

    def expire_csrf(self) -> None:
        """Let every CSRF token expire."""
        self._csrf.clear()


# ── OAuth 1.0a ────────────────────────────────────────────────────────────────────────

OAUTH1_TOKEN = "spar-access-token"  # noqa: S105 - made up and public
OAUTH1_TOKEN_SECRET = "spar-access-token-secret"  # noqa: S105 - as well
_MOST_NONCES = 10_000


@dataclass
class OAuth1Temporary:
    """Temporary credentials, and the verifier once a user has agreed."""

    secret: str
    callback: str
    verifier: str = ""


@dataclass
class OAuth1Tokens:
    """The tokens and the nonces of the provider of OAuth 1.0a."""

    tokens: dict[str, str] = field(
        default_factory=lambda: {OAUTH1_TOKEN: OAUTH1_TOKEN_SECRET}
    )
    temporary: dict[str, OAuth1Temporary] = field(default_factory=dict)
    _nonces: set[tuple[str, str]] = field(default_factory=set)

    def use_nonce(self, stamp: tuple[str, str]) -> bool:
        """Whether a nonce was not used with this time before (RFC 5849 §3.3)."""
        if len(self._nonces) >= _MOST_NONCES:
            self._nonces.clear()
        count = len(self._nonces)
        self._nonces.add(stamp)
        return len(self._nonces) > count
