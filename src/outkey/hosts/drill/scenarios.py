"""The scenarios of a drill, as a table: what is played, and what its outcome means.

Identifiers are stable. What the paths play is in `outkey.spar`.
"""

from collections.abc import Callable
from enum import Enum
from functools import partial
from operator import attrgetter
from typing import NamedTuple

from outkey.administration.core.rotation.status import OUTSIDE_OF_SETS
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.rotation.credential_sets import RotationState
from outkey.sending.engine.exchange.exchange import MAX_HOPS


class Allowed(Enum):
    """How many requests one call may make at the API."""

    NONE = "none"
    ONE = "one"
    RETRIES = "one and the retries"
    REPLAY = "one, and one more with a renewed token"
    HOPS = "one and the redirects at the same origin"
    TRIAL = "one and the retries, and after a refusal one more with the other set"

    def requests(self, configuration: Configuration) -> int:
        """Return the number for a configuration."""
        numbers = {
            Allowed.NONE: 0,
            Allowed.RETRIES: 1 + configuration.limits.retries,
            Allowed.REPLAY: 2 if configuration.fetches_token else 1,
            Allowed.HOPS: 1 + MAX_HOPS,
            Allowed.TRIAL: 3 + configuration.limits.retries,
        }
        return numbers.get(self, 1)


Concerns = Callable[[Configuration], bool]
_any_token: Concerns = attrgetter("sends_token")
_oauth2: Concerns = attrgetter("uses_oauth2")
_fetched_token: Concerns = attrgetter("fetches_token")
_entered_token: Concerns = attrgetter("sends_entered_token")


def needs_consent(configuration: Configuration) -> bool:
    """Whether a user must agree before there is a token."""
    return configuration.uses_oauth2 and configuration.oauth2.needs_consent


def has_set(configuration: Configuration) -> bool:
    """Whether a configuration has secrets that a rotation replaces."""
    names = {*configuration.secrets, *configuration.needed_secrets()}
    rows = (*configuration.headers, *configuration.query)
    names |= {row.secret_field for row in rows if row.secret}
    return bool(names - {*OUTSIDE_OF_SETS, "client_key"})


class Scenario(NamedTuple):
    """One scenario.

    An outcome is `answered`, the cause of a response, or the code of an error.
    """

    id: str
    played: str
    path: str = "/drill/welcome"
    good: tuple[str, ...] = ("answered",)
    meaning: str = ""  # of a good outcome
    advice: str = ""  # about any other
    calls: int = 1
    allowed: Allowed = Allowed.ONE
    endpoint: str = "/oauth/token"  # of the Token URL
    token_requests: int = 1  # at most
    concerns: Concerns = lambda _: True
    between: str = ""  # what the authorization server does between the calls
    pause: float = 0.0  # seconds between the calls
    method: str = "GET"
    server: str = "main"
    tls: bool = False
    silent: bool = False  # so that the read timeout ends it
    works: bool = False  # whether nothing could excuse a failure
    # The next credentials are tested and tried; how far that may have got in the end.
    ends: tuple[RotationState, ...] = ()


# Endless scenes last longer than any timeout of a drill.
_redirect = partial(
    Scenario,
    good=("redirect_blocked",),
    allowed=Allowed.HOPS,
    meaning="Credentials stay where they belong.",
    advice="A redirect should have been refused.",
)
_endless = partial(
    Scenario,
    good=("timeout",),
    meaning="The timeout ends it.",
    advice="It should have ended with a timeout.",
)
_large = partial(
    Scenario,
    good=("response_too_large",),
    meaning="Refused before it fills the memory.",
    advice="It should have been refused as too large.",
)
_broken_connection = partial(
    Scenario,
    good=("connection",),
    meaning="Reported as a broken connection.",
    advice="A broken connection should have been reported.",
)
_no_token = partial(
    Scenario,
    good=("token_endpoint",),
    calls=3,
    token_requests=3,
    allowed=Allowed.NONE,
    concerns=_oauth2,
    meaning=(
        "Nothing is sent without a token, and the Token URL is left alone for a while."
    ),
    advice="A failing Token URL should have been named as the cause.",
)
_got_token = partial(
    Scenario, concerns=_oauth2, advice="A valid token should have been obtained."
)
_rotation = partial(
    Scenario,
    calls=4,
    token_requests=8,
    allowed=Allowed.TRIAL,
    concerns=has_set,
    advice="The rotation should have ended otherwise: see outkey rotation status.",
)
SCENARIOS: tuple[Scenario, ...] = (
    Scenario(
        "works",
        "All is well, three times.",
        calls=3,
        works=True,
        meaning="Works.",
        advice="Fails although all is well.",
    ),
    Scenario(
        "wrong-credentials",
        "401 to every request, three times.",
        "/drill/wrong",
        ("invalid_credentials", "token_expired"),
        calls=3,
        allowed=Allowed.REPLAY,
        token_requests=2,
        meaning=(
            "Refused credentials are not sent repeatedly, so no account is locked."
        ),
        advice="The refusal should have been named as the cause.",
    ),
    Scenario(
        "forbidden",
        "403: the user is known, but lacks a permission.",
        "/forbidden",
        ("insufficient_permissions",),
        meaning="Reported as missing permissions; nothing is renewed or repeated.",
        advice=(
            "A 403 is treated as an expired token; switch off 403 means expired if it"
            " is not."
        ),
    ),
    Scenario(
        "token-expired",
        "401: the token has expired.",
        "/bearer/expired",
        (),
        concerns=_entered_token,
        advice=(
            "A user has to enter a new token then; Token Expires On warns in time, "
            "and OAuth 2.0 renews tokens automatically."
        ),
    ),
    Scenario(
        "token-renewed",
        "The token expires between two calls.",
        calls=2,
        between="expire_all",
        allowed=Allowed.REPLAY,
        token_requests=2,
        concerns=_fetched_token,
        meaning="One renewal and one more request; the caller does not notice.",
        advice="The token should have been renewed.",
    ),
    Scenario(
        "expired-403",
        "403 once, without a reason, for an expired token.",
        "/drill/expired-403?times=1",
        ("answered", "token_expired"),
        allowed=Allowed.REPLAY,
        token_requests=2,
        concerns=_any_token,
        meaning="Recognized as an expired token.",
        advice=(
            "Looks like missing permissions; if this API responds so to an expired "
            "token, switch on 403 means expired, or enter the Expired marker."
        ),
    ),
    Scenario(
        "hidden-401",
        "404 instead of 401.",
        "/status/404",
        ("not_found",),
        meaning=(
            "Reported as not found; an API that hides what a user may not see looks"
            " the same."
        ),
        advice="A 404 should have been reported as not found.",
    ),
    Scenario(
        "error-in-200",
        "200, with an error in the body.",
        "/drill/error-in-200",
        (),
        advice="Treated as a success: the caller has to read the body.",
    ),
    Scenario(
        "limited",
        "429 with Retry-After: 5, once.",
        "/drill/limited?times=1",
        allowed=Allowed.RETRIES,
        meaning="Waits as requested, then succeeds.",
        advice=(
            "Gives up; it succeeds with Retries (limits.retries) of 1 or more "
            "and a Total timeout (limits.total_timeout) above the wait."
        ),
    ),
    Scenario(
        "limited-long",
        "429 with Retry-After of a day, twice.",
        "/limited?after=86400",
        ("rate_limited",),
        calls=2,
        meaning=(
            "Gives up at once, and sends nothing more until Retry-After has passed."
        ),
        advice="The limit should have been named as the cause.",
    ),
    Scenario(
        "limited-bare",
        "429 without Retry-After, always.",
        "/status/429",
        ("rate_limited",),
        allowed=Allowed.RETRIES,
        meaning="Gives up after its retries, with growing waits.",
        advice="The limit should have been named as the cause.",
    ),
    Scenario(
        "flapping",
        "503 once, then all is well.",
        "/drill/unavailable?times=1",
        allowed=Allowed.RETRIES,
        meaning="The retry succeeds.",
        advice=(
            "Fails where a retry would succeed; set Retries (limits.retries) to 1 or"
            " more."
        ),
    ),
    Scenario(
        "flapping-post",
        "503 to a POST.",
        "/status/503",
        ("server_error",),
        method="POST",
        meaning="A POST is never retried automatically; the caller decides.",
        advice="A server error should have been named as the cause.",
    ),
    Scenario(
        "down",
        "500, always.",
        "/status/500",
        ("server_error",),
        meaning="Reported as a server error, without a retry.",
        advice="A server error should have been named as the cause.",
    ),
    _redirect(
        "redirect-same",
        "A redirect at the same origin.",
        "/redirect/same",
        good=("answered",),
        meaning="Followed, with the credentials.",
        advice="It should have been followed.",
    ),
    _redirect(
        "redirect-elsewhere", "A redirect to another origin.", "/redirect/elsewhere"
    ),
    _redirect(
        "redirect-disguised",
        "A redirect elsewhere that begins with this API's host.",
        "/redirect/userinfo",
    ),
    _redirect(
        "redirect-downgrade",
        "A redirect from https to http.",
        "/redirect/downgrade",
        server="secure",
        tls=True,
    ),
    _redirect(
        "redirect-upgrade",
        "A redirect from http to https.",
        "/redirect/upgrade",
        tls=True,
    ),
    _redirect(
        "redirect-loop",
        "Redirects in a circle.",
        "/redirect/loop",
        meaning=f"Gives up after {MAX_HOPS} redirects.",
    ),
    _endless("slow-headers", "Headers, a byte at a time.", "/slow/headers?seconds=9"),
    _endless("slow-body", "A body, a byte at a time.", "/slow/body?seconds=9"),
    _endless("silence", "No response at all.", "/slow/silent?seconds=9", silent=True),
    _broken_connection(
        "reset",
        "A reset connection, always.",
        "/reset",
        allowed=Allowed.RETRIES,
        meaning="Gives up after its retries.",
    ),
    _broken_connection(
        "reset-body",
        "A reset connection in the middle of the response.",
        "/reset/body",
        meaning="Not retried, since the API may have acted; the caller decides.",
    ),
    _broken_connection(
        "truncated",
        "A response that is shorter than announced.",
        "/truncated",
        meaning="A part is never treated as the whole.",
    ),
    _large("huge", "A body of 5 GB.", "/huge/chunked"),
    _large("gzip-bomb", "A megabyte that inflates to a gigabyte.", "/bomb"),
    _large("many-headers", "200 headers.", "/headers"),
    _large("long-header", "A header of 70 000 bytes.", "/headers?count=1&length=70000"),
    Scenario(
        "header-too-large",
        "431: the request's headers are too large.",
        "/status/431",
        ("header_format",),
        meaning="Reported as a problem of the headers.",
        advice="The headers should have been named as the cause.",
    ),
    Scenario(
        "clock-skew",
        "403: the clocks are ten minutes apart.",
        "/drill/skewed?skew=600",
        ("clock_skew",),
        allowed=Allowed.REPLAY,
        token_requests=2,
        meaning="Recognized as a wrong clock.",
        advice="The clock should have been named as the cause.",
    ),
    Scenario(
        "closed-quietly",
        "Connections that are closed without notice.",
        "/impatient",
        calls=3,
        allowed=Allowed.RETRIES,
        meaning="Noticed; a new connection is opened.",
        advice=(
            "A connection that the API had closed lost a request; set Retries to 1 or"
            " more."
        ),
    ),
    _no_token(
        "token-500",
        "The Token URL responds with 500, three times.",
        endpoint="/oauth/odd/literal?status=500",
    ),
    _no_token(
        "token-html",
        "The Token URL responds with a page, three times.",
        endpoint="/oauth/odd/html-200",
    ),
    _no_token(
        "token-slow",
        "The Token URL does not respond.",
        calls=1,
        endpoint="/oauth/odd/silent?seconds=9",
    ),
    _no_token(
        "token-redirect",
        "The Token URL redirects to another origin, three times.",
        good=("redirect_blocked", "token_endpoint"),
        endpoint="/oauth/odd/redirect-elsewhere",
        meaning="Not followed: client credentials stay where they belong.",
    ),
    _no_token(
        "token-invalid-client",
        "The Token URL refuses the client, three times.",
        endpoint="/oauth/odd/invalid_client",
    ),
    _no_token(
        "token-invalid-grant",
        "The Token URL refuses the grant, three times.",
        good=("token_endpoint", "reauthorization_needed"),
        endpoint="/oauth/odd/invalid_grant",
        meaning=(
            "Nothing is sent; where a user had agreed, that user has to agree again."
        ),
    ),
    _got_token(
        "token-short",
        "Tokens that live for a second.",
        calls=3,
        token_requests=3,
        pause=2.0,
        endpoint="/oauth/token?lifetime=1",
        meaning="Renewed before each call, without a refusal in between.",
    ),
    _got_token(
        "token-rotation",
        "Every refresh token is good for one use.",
        calls=3,
        token_requests=3,
        allowed=Allowed.REPLAY,
        between="expire_all",
        concerns=needs_consent,
        meaning="Each new refresh token is stored, and no old one is used again.",
    ),
    _got_token(
        "token-revoked",
        "A user withdraws the approval.",
        good=("reauthorization_needed",),
        calls=3,
        token_requests=2,
        allowed=Allowed.REPLAY,
        between="revoke_family",
        concerns=needs_consent,
        meaning="Reports that a user is needed, and sends no more requests.",
        advice="It should report that a user has to agree again.",
    ),
    _got_token(
        "token-no-expiry",
        "Tokens without a lifetime.",
        calls=2,
        endpoint="/oauth/token?omit=expires_in",
        meaning="Default lifetime is used instead.",
    ),
    _got_token(
        "token-skewed",
        "The Token URL's clock is ten minutes ahead.",
        calls=2,
        endpoint="/oauth/token?skew=600",
        meaning="Makes no difference.",
    ),
    _rotation(
        "rotation-works",
        "The old and the new credentials are accepted.",
        "/rotation/both",
        works=True,
        ends=(RotationState.OVERLAP,),
        meaning=(
            "The new ones are used for all requests after enough successes; the old"
            " ones can be taken back."
        ),
    ),
    _rotation(
        "rotation-late",
        "The old credentials are revoked, and work for a while.",
        "/rotation/late?after=1",
        ends=(RotationState.OVERLAP,),
        meaning=(
            "No request needs them any more; outkey rotation probe-old tells when they"
            " are refused."
        ),
    ),
    _rotation(
        "rotation-switch",
        "Only the old credentials are accepted, and from one moment only the new ones.",
        "/rotation/switch?after=3",
        (),
        ends=(RotationState.STAGED,),
        advice=(
            "The new ones cannot be tested before that, and requests fail from then on:"
            " stage them, change them at the provider, and promote them at once."
        ),
    ),
    _rotation(
        "rotation-refused",
        "The new credentials are wrong.",
        "/rotation/refused",
        ends=(RotationState.STAGED,),
        meaning="The test fails, and no other request uses them.",
    ),
    _rotation(
        "rotation-refused-later",
        "The new credentials are accepted once, then refused by 401.",
        "/rotation/refused?after=1",
        ends=(RotationState.REJECTED,),
        meaning=(
            "The first refusal ends the trial, and that request is sent once more with"
            " the old ones; the caller does not notice."
        ),
    ),
    _rotation(
        "rotation-forbidden",
        "The new credentials are accepted once, then refused by 403.",
        "/rotation/refused?after=1&status=403",
        ("insufficient_permissions", "answered"),
        ends=(RotationState.TRIAL, RotationState.REJECTED),
        meaning=(
            "Not promoted: a right may be missing. The share of the requests that"
            " tries them gets the 403, unless it means expired."
        ),
    ),
    _rotation(
        "rotation-error-in-200",
        "The new credentials are accepted once, then 200 with an error in the body.",
        "/rotation/refused?after=1&status=200",
        ends=(RotationState.REJECTED,),
        meaning="Recognized by the Expired marker, and rejected.",
        advice=(
            "Treated as a success, so that wrong credentials are promoted; if this API"
            " responds so, enter the Expired marker."
        ),
    ),
    _rotation(
        "rotation-locked",
        "The new credentials are wrong, and three refusals lock the account.",
        "/rotation/locked?after=1",
        ends=(RotationState.REJECTED,),
        meaning="They are tried once, so that the account is not locked.",
        advice="The account was locked by refused requests.",
    ),
    _rotation(
        "rotation-limited",
        "429 to the first request of the trial.",
        "/rotation/limited?after=1",
        ("answered", "rate_limited"),
        ends=(RotationState.TRIAL, RotationState.OVERLAP),
        meaning="A limit says nothing of the credentials: the trial goes on.",
    ),
)


def concerning(configuration: Configuration) -> list[Scenario]:
    """Return the scenarios that can happen to a configuration."""
    return [scenario for scenario in SCENARIOS if scenario.concerns(configuration)]
