"""From an answer to its cause and remedy: the specification's four errors and the others.

Pure: the answer, the configuration and the time go in, a cause comes out. Remote text is read
here but never handed on.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from outkey.core.challenge import Challenge, parse_challenges
from outkey.core.choices import AuthenticationType
from outkey.core.config import Configuration
from outkey.core.errors import Cause
from outkey.core.message import Response

# The first four remedies begin with the words of the specification, section 7.
REMEDIES = {
    Cause.INVALID_CREDENTIALS: "Check the username and password, or the token.",
    Cause.INSUFFICIENT_PERMISSIONS: "Check the permissions of the API user.",
    Cause.TOKEN_EXPIRED: "Implement a token refresh mechanism: "
    "enter a new token now, and its expiry date, so that a finding warns in time.",
    Cause.HEADER_FORMAT: "Review the authentication header format.",
    Cause.CLOCK_SKEW: "Set this machine's clock right (NTP); the API rejects our timestamps.",
    Cause.TLS: "Check the scheme of the Base URL and the Client certificate.",
    Cause.TIMEOUT: "Try again later; the API gave up waiting.",
    Cause.RATE_LIMITED: "Send less often: set a Rate limit (limits.requests_per_minute).",
    Cause.NOT_FOUND: "Check Base URL and path; some APIs also hide what you may not see.",
    Cause.SERVER_ERROR: "Try again later; the fault is on the other side.",
    Cause.UNEXPECTED: "Compare the request with the API's documentation; a preview shows it.",
}
_BODY_READ = 16 * 1024
_EXPIRED = re.compile(
    r"expired[ _-]?(?:authentication|credential|token|session)"
    r"|(?:credentials?|token|session)[ _-]?(?:(?:has|have|is|are)[ _-])?expired",
    re.IGNORECASE,
)
_OF_TOKENS = frozenset({Cause.TOKEN_EXPIRED, Cause.INVALID_CREDENTIALS})
_SCHEMES = ("Basic", "Bearer", "Digest", "DPoP", "Negotiate", "NTLM")
_NOT_EXPIRY = re.compile(
    r"malformed|signature|audience|issuer|unknown|revoked|not found", re.IGNORECASE
)
_SKEWED = re.compile(
    r"too[ _-]?skewed|clock[ _-]?skew|timestamp|request[ _-]?expired", re.IGNORECASE
)
_HEADER_TOO_LARGE = re.compile(r"header.{0,20}too large|too large.{0,20}header", re.IGNORECASE)
_CLIENT_CERTIFICATE = re.compile(r"SSL certificate", re.IGNORECASE)
_PLAIN_ON_TLS = re.compile(r"plain HTTP request was sent to HTTPS port", re.IGNORECASE)
_SKEW_SECONDS = 60
_BY_STATUS = {
    404: Cause.NOT_FOUND,
    408: Cause.TIMEOUT,
    410: Cause.NOT_FOUND,
    429: Cause.RATE_LIMITED,
}


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The cause of a bad answer and what to do about it."""

    cause: Cause
    remedy: str


def diagnose(response: Response, configuration: Configuration, *, now: float) -> Diagnosis | None:
    """Say why an answer is bad; an answer below 400 has no cause."""
    if response.status < 400:
        return None
    evidence = _Evidence(response, configuration, now)
    cause = evidence.cause()
    remedy = REMEDIES[cause]
    if configuration.uses_oauth2 and cause in _OF_TOKENS:
        remedy = (
            "Check Scope, Audience and Resource: outkey got a new token, and it is refused too."
        )
    if cause is Cause.HEADER_FORMAT and evidence.wrong_scheme:
        asked = {challenge.scheme for challenge in evidence.challenges}
        wanted = [scheme for scheme in _SCHEMES if scheme.lower() in asked]
        remedy += f" The API asks for {' or '.join(wanted) or 'another scheme'}."
    return Diagnosis(cause, remedy)


def retry_after(response: Response, *, now: float) -> float | None:
    """Read Retry-After (RFC 9110 §10.2.3): seconds or a date; nonsense counts as absent."""
    text = response.headers.get("Retry-After").strip()
    if text.isascii() and text.isdigit():
        return float(text[:10])  # ten digits are three centuries
    try:
        until: float = parsedate_to_datetime(text).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None
    return until - now if until > now else 0.0


class _Evidence:
    """What one answer shows."""

    def __init__(self, response: Response, configuration: Configuration, now: float) -> None:
        self.status = response.status
        self.configuration = configuration
        self.now = now
        self.headers = response.headers
        self.body = response.body[:_BODY_READ].decode("utf-8", "replace")
        self.challenges: list[Challenge] = parse_challenges(
            response.headers.get_all("WWW-Authenticate")
        )

    def cause(self) -> Cause:
        match self.status:
            case 400 | 431:
                return self._bad_request()
            case 401:
                return self._unauthorized()
            case 403:
                return self._forbidden()
        return _BY_STATUS.get(
            self.status, Cause.SERVER_ERROR if self.status >= 500 else Cause.UNEXPECTED
        )

    def _bad_request(self) -> Cause:
        # nginx answers 400, not 403, to a missing client certificate and to http on a TLS port.
        if _CLIENT_CERTIFICATE.search(self.body) or _PLAIN_ON_TLS.search(self.body):
            return Cause.TLS
        too_large = self.status == 431 or _HEADER_TOO_LARGE.search(self.body)
        if too_large or "invalid_request" in self._errors():
            return Cause.HEADER_FORMAT
        return Cause.UNEXPECTED

    def _unauthorized(self) -> Cause:
        if self._clock_is_off():
            return Cause.CLOCK_SKEW
        if self._token_expired() or self._invalid_token():
            return Cause.TOKEN_EXPIRED
        if self.wrong_scheme or "invalid_request" in self._errors():
            return Cause.HEADER_FORMAT
        return Cause.INVALID_CREDENTIALS

    def _forbidden(self) -> Cause:
        if self._clock_is_off():
            return Cause.CLOCK_SKEW
        if self._sends_token() and (
            self.configuration.verification.forbidden_means_expired
            or self._marked_expired()
            or self._invalid_token()
        ):
            return Cause.TOKEN_EXPIRED
        return Cause.INSUFFICIENT_PERMISSIONS

    @property
    def wrong_scheme(self) -> bool:
        """Whether the server names the schemes it takes and ours is not among them."""
        ours = self.configuration.authentication_type
        if ours is AuthenticationType.NONE or not self.challenges:
            return False
        if self.configuration.uses_oauth2 and self.configuration.oauth2.dpop:
            return False  # the token's own type decides between Bearer and DPoP
        return ours not in {challenge.scheme for challenge in self.challenges}

    def _sends_token(self) -> bool:
        return self.configuration.sends_token

    def _errors(self) -> set[str]:
        return {challenge.parameters.get("error", "") for challenge in self.challenges}

    def _described(self) -> str:
        return " ".join(c.parameters.get("error_description", "") for c in self.challenges)

    def _token_expired(self) -> bool:
        if not self._sends_token():
            return False
        last_day = self.configuration.expires_on
        if last_day and datetime.fromtimestamp(self.now, UTC).date() > last_day:
            return True
        return self._marked_expired() or bool(_EXPIRED.search(self.body))

    def _marked_expired(self) -> bool:
        marker = self.configuration.verification.expired_marker
        return bool(marker) and marker in self.body

    def _invalid_token(self) -> bool:
        # RFC 6750 §3.1: expired, revoked, malformed or invalid; the description may tell.
        described = self._described()
        return (
            self._sends_token()
            and "invalid_token" in self._errors()
            and ("expired" in described.lower() or not _NOT_EXPIRY.search(described))
        )

    def _clock_is_off(self) -> bool:
        if not _SKEWED.search(self.body):
            return False
        try:
            theirs = parsedate_to_datetime(self.headers.get("Date")).timestamp()
        except (ValueError, TypeError, OverflowError):
            return False
        return abs(theirs - self.now) > _SKEW_SECONDS
