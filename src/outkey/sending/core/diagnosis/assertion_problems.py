"""What a provider dislikes about an assertion, or about a user's name and password.

Providers use invalid_grant and invalid_client for all of it; the claim is in their
words, which are read here and never passed on.
"""

from collections.abc import Iterator

from outkey.foundation.core.errors import TokenEndpointFailed
from outkey.foundation.core.fields.choices import ClientAuth, Grant
from outkey.foundation.core.text import NO_TEXT, Text
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.diagnosis.evidence import Clue, compact

AUDIENCE = "assertion-audience"
ISSUER = "assertion-issuer"
SUBJECT = "assertion-subject"
KEY = "assertion-key"
REPLAYED = "assertion-replayed"
TIME = "assertion-time"  # the clock, or a token that has expired
REFUSED = "assertion-refused"
EXPIRED = "federated-token-expired"
PASSWORD = "password-refused"  # noqa: S105 - the id of a reason

_REFUSALS = frozenset(
    {"invalid_grant", "invalid_client", "invalid_request", "unauthorized_client"}
)
# The first row with a phrase decides. Codes are those of Entra ID, and some words those
# of Google, Salesforce and DocuSign.
_TABLE: tuple[tuple[str, tuple[str, ...]], ...] = (
    (SUBJECT, ("AADSTS700213", "assertion subject")),
    (ISSUER, ("AADSTS700211", "assertion issuer", "AADSTS700016")),
    (AUDIENCE, ("AADSTS700212", "AADSTS700023", "assertion audience")),
    (KEY, ("AADSTS700027", "no_valid_keys_or_signatures")),
    (REPLAYED, ("jti", "replay", "already used", "already been used", "used before")),
    (
        TIME,
        (
            "AADSTS700024",
            "expired",
            "issued in the future",
            "not yet valid",
            "used too early",
            "reasonable timeframe",
            "iat is",
            "iat claim",
            "claim iat",
            "exp claim",
            "claim exp",
            "claim nbf",
            "valid time range",
            "too long lived",
        ),
    ),
    (AUDIENCE, ("audience", "aud claim", "claim aud", "invalid aud")),
    (
        KEY,
        (
            "signature",
            "unknown kid",
            "invalid kid",
            "unknown key",
            "key was not found",
            "key not found",
            "no matching key",
            "public key",
            "jwks",
        ),
    ),
    (
        SUBJECT,
        (
            "subject",
            "sub claim",
            "claim sub",
            "consent_required",
            "user_not_found",
            "approved this consumer",
            "not admin approved",
            "email or user id",
            "unauthorized to retrieve access tokens using this method",
        ),
    ),
    (
        ISSUER,
        (
            "issuer",
            "iss claim",
            "claim iss",
            "invalid iss",
            "account not found",
            "client identifier invalid",
        ),
    ),
)
_NEEDLES = tuple(
    (problem, tuple(compact(phrase) for phrase in phrases))
    for problem, phrases in _TABLE
)


def assertion_problem(words: str) -> str:
    """Return which part of an assertion a provider's words are about, "" for none."""
    text = compact(words)
    for problem, needles in _NEEDLES:
        if any(needle in text for needle in needles):
            return problem
    return ""


def clues_of_assertions(
    error: TokenEndpointFailed, configuration: Configuration
) -> Iterator[Clue]:
    """Yield the clues where a refused request had an assertion or a password."""
    oauth2 = configuration.oauth2
    is_federated = oauth2.client_auth is ClientAuth.FEDERATED
    if error.reason not in _REFUSALS:
        return
    problem = error.assertion_problem
    if problem and (oauth2.signs_assertions or is_federated):
        if problem == TIME:
            problem = EXPIRED if is_federated else "clock-off"
        yield Clue(96, problem, _evidence(problem, configuration))
    elif error.reason == "invalid_grant" and oauth2.grant is Grant.JWT_BEARER:
        text = Text("The response to the assertion is invalid_grant.")
        yield Clue(91, REFUSED, text)
    elif error.reason == "invalid_grant" and configuration.uses_password_grant:
        text = Text("The response to user name and password is invalid_grant.")
        yield Clue(91, PASSWORD, text)


def _evidence(problem: str, configuration: Configuration) -> Text:
    """Return that the response names a claim, with the value that was sent."""
    settings = configuration.oauth2
    text = Text("The description in the provider's response states it.")
    if settings.client_auth is ClientAuth.FEDERATED:
        return text
    shape = settings.assertion
    is_grant = settings.grant is Grant.JWT_BEARER
    issuer = (shape.issuer if is_grant else "") or settings.client_id
    audience = settings.issuer or settings.token_url
    sent = {
        ISSUER: issuer,
        SUBJECT: (shape.subject if is_grant else "") or issuer,
        AUDIENCE: (shape.audience if is_grant else "") or audience,
    }
    value = sent.get(problem, "")
    if not value:
        return text
    return Text("{text} The assertion has: {value}", text=text, value=value)


def hint_of_refusal(configuration: Configuration) -> Text:
    """Return what to do where invalid_grant is not about a consent."""
    if configuration.uses_password_grant:
        return Text("Check the user name and the password.")
    if configuration.oauth2.grant is Grant.JWT_BEARER:
        return Text("Check issuer, subject and audience of assertions, and the key.")
    return NO_TEXT
