"""CSRF tokens: the request that fetches one, and what its response may be."""

from outkey.foundation.core.errors import (
    LoginRefused,
    OutkeyError,
    RedirectBlocked,
    drop_traceback,
)
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.text import Text
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.oauth2.responses import (
    REDIRECTED,
    TokenResponse,
    failure_elsewhere,
    reason_in_status,
    token_text,
)
from outkey.sending.core.request.assembly import Call
from outkey.sending.core.request.cookies import cookie_header, jar_after
from outkey.sending.core.request.message import (
    Header,
    Request,
    Response,
    Source,
    server_time,
)
from outkey.sending.core.request.schemes.csrf import FETCH

CSRF_PATH = "csrf.path"
_LABEL = Text("CSRF path")
REFUSED_CREDENTIALS = "refused_credentials"
# What servers write where they have no token to give.
_WORDS = frozenset({"", "required", "fetch"})
_FAILURES: dict[str, tuple[Text, Text]] = {
    "no_token": (
        Text("the response has no CSRF token"),
        Text("Compare CSRF path and CSRF header with the documentation of the API."),
    ),
    "refused": (
        Text("the API did not accept the request at the CSRF path"),
        Text("Check the CSRF path, and what the account may do there."),
    ),
    "rate_limited": (
        Text("the API received too many requests"),
        Text("Wait; outkey retries later."),
    ),
    "server_error": (
        Text("the API failed at the CSRF path"),
        Text("Retry later; the error is on the side of the API."),
    ),
}


def fetching_request(configuration: Configuration) -> Request:
    """Return the request that fetches a token, without credentials."""
    settings = configuration.csrf
    request = Call(configuration, "GET", settings.path).request()
    header = Header(settings.header, FETCH, Source.AUTHENTICATION)
    return request.with_headers((*request.headers, header))


@drop_traceback  # its traceback would hold the response
def read_csrf_token(
    response: Response, configuration: Configuration, now: float
) -> TokenResponse:
    """Return the token of a response and the cookies it belongs to, or raise."""
    if response.status >= 300:
        raise csrf_failure(_reason_of_status(response.status), server_time(response))
    text = response.headers.get(configuration.csrf.header).strip()
    if text.lower() in _WORDS:
        raise csrf_failure("no_token")
    cookies = jar_after({}, response, configuration.base.origin.host, now)
    return TokenResponse(
        access=Secret(text).derive(token_text),
        refresh=None,
        kind="Bearer",
        lifetime=None,
        scope="",
        cookies=cookie_header(cookies),
    )


def _reason_of_status(status: int) -> str:
    """Return why a response of this status has no token."""
    if status == 401:
        return REFUSED_CREDENTIALS
    return reason_in_status(status) or "refused"


def csrf_failure(reason: str, their_time: float | None = None) -> OutkeyError:
    """Return the error for a reason, also from a stored one."""
    if reason == REFUSED_CREDENTIALS:
        return LoginRefused(
            Text("the API refused the credentials where a CSRF token is fetched"),
            hint=Text("Check the credentials, and the CSRF path."),
            field=CSRF_PATH,
            reason=reason,
        )
    if reason == REDIRECTED:
        return RedirectBlocked(
            Text("the API redirected the request for a CSRF token"),
            hint=Text("Compare the CSRF path with the documentation of the API."),
            field=CSRF_PATH,
        )
    return failure_elsewhere(
        _FAILURES, reason, their_time, field=CSRF_PATH, label=_LABEL
    )
