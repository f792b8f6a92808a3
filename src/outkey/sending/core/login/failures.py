"""Why a login gave no token, in our own words: no remote text is passed on."""

from outkey.foundation.core.errors import (
    LoginRefused,
    OutkeyError,
    RedirectBlocked,
)
from outkey.foundation.core.text import Text
from outkey.sending.core.configuration.configuration import STEPS
from outkey.sending.core.oauth2.responses import REDIRECTED, failure_elsewhere

LOGIN_PATH = "login.path"
LOGIN_REFUSED = "login-refused"
NO_TOKEN = "no_token"  # noqa: S105 - the name of a reason
NOTHING_TAKEN = "nothing_taken"
BAD_VALUE = "bad_value"
# Reasons that concern the address, which is that of the Base URL.
_AT_ADDRESS = frozenset({"connection", "dns", "tls"})
_LOGIN_PATH = Text("Login path")
_LABELS = {
    LOGIN_PATH: _LOGIN_PATH,
    "login.refresh_path": Text("Refresh path"),
    "login.logout_path": Text("Logout path"),
    STEPS: Text("URL of a step"),
}
# What is worded otherwise than for a Token URL.
_FAILURES: dict[str, tuple[Text, Text]] = {
    "not_a_token_endpoint": (
        Text("the response to the login is not JSON"),
        Text("Check the {url}; it may be a web page.", url=_LOGIN_PATH),
    ),
    "refused": (
        Text("the API did not accept the request at the {url}", url=_LOGIN_PATH),
        Text("Compare the Login tab with the documentation of the API."),
    ),
    "no_token": (
        Text("the response to the login has no token"),
        Text("Correct Token in the response."),
    ),
    NOTHING_TAKEN: (
        Text("the response to a step of the login lacks a value that is taken"),
        Text("Correct the Taken values of the step."),
    ),
    BAD_VALUE: (
        Text("a response to the login has a value that cannot be sent"),
        Text("Correct the Taken values: a value has one line, of at most 64 KiB."),
    ),
    "rate_limited": (
        Text("the API received too many logins"),
        Text("Wait; outkey retries later."),
    ),
    "server_error": (
        Text("the API failed at the {url}", url=_LOGIN_PATH),
        Text("Retry later; the error is on the side of the API."),
    ),
}


def login_failure(
    reason: str,
    their_time: float | None = None,
    *,
    field: str = LOGIN_PATH,
    address: str = "",
) -> OutkeyError:
    """Return the error for a reason, also from a stored one.

    The reasons are those of `oauth2/responses.py`, and LOGIN_REFUSED. `address` is the
    origin that the login was sent to, if it is known.
    """
    if reason == LOGIN_REFUSED:
        return LoginRefused(field=field, reason=reason)
    if reason == REDIRECTED:
        return RedirectBlocked(
            Text(
                "the API redirected the login, and credentials are not sent to another"
                " URL"
            ),
            hint=Text("Compare the paths of the Login tab with its documentation."),
            field=field,
        )
    label = _LABELS[field]
    if address and reason in _AT_ADDRESS:
        label = Text("Base URL ({address})", address=address)
    return failure_elsewhere(_FAILURES, reason, their_time, field=field, label=label)
