"""The three legs of OAuth 1.0a (RFC 5849 §2): how a user authorizes the access.

Temporary credentials come from the Request URL, the user agrees at the Authorization
URL, and the Access URL exchanges the temporary credentials for a token.
"""

from typing import NamedTuple, Self
from urllib.parse import parse_qs

from outkey.foundation.core.errors import (
    OutkeyError,
    RedirectBlocked,
    drop_traceback,
)
from outkey.foundation.core.origin import parse_endpoint
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.text import Text
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.configuration.fields import BY_PATH
from outkey.sending.core.oauth1 import problems
from outkey.sending.core.oauth1.signature import encode
from outkey.sending.core.oauth2.grants import common_headers
from outkey.sending.core.oauth2.responses import (
    MAX_LIFE,
    REDIRECTED,
    TokenResponse,
    failure_elsewhere,
    reason_in_status,
    repeats,
)
from outkey.sending.core.request.message import Request, Response, server_time

REQUEST_URL = "oauth1.request_url"
ACCESS_URL = "oauth1.access_url"
OUT_OF_BAND = "oob"  # the user copies the verifier (RFC 5849 §2.1)
_MAX_TOKEN = 8 * 1024
_BETWEEN = "\n"
_URL = Text("Request URL")
_FAILURES: dict[str, tuple[Text, Text]] = {
    problems.SIGNATURE: (
        Text("the provider does not accept the signature at the {url}", url=_URL),
        Text(
            "Check Consumer Secret or Private Key, Signature Method, and the {url}.",
            url=_URL,
        ),
    ),
    problems.CONSUMER: (
        Text("the provider does not know the Consumer Key"),
        Text("Compare Consumer Key with the application's page at the provider."),
    ),
    problems.TOKEN: (
        Text("the provider does not accept the verifier or the temporary token"),
        Text("Authorize again: both are valid once, and for a few minutes."),
    ),
    problems.METHOD: (
        Text("the provider expects another Signature Method"),
        Text("Choose the one that its documentation names."),
    ),
    problems.NONCE: (
        Text("the provider has seen this nonce before"),
        Text("Look for a proxy that repeats requests, and authorize again."),
    ),
    problems.CLOCK: (
        Text("the provider does not accept the time of the request"),
        Text("Correct the clock of this machine (NTP)."),
    ),
    problems.FORBIDDEN: (
        Text("the provider does not allow the access"),
        Text("Check what the application may do, and whether the user agreed."),
    ),
    "refused": (
        Text("the provider refused the request at the {url}", url=_URL),
        Text(
            "Check Consumer Key, Consumer Secret and the {url}; some providers accept"
            " registered callback URLs only.",
            url=_URL,
        ),
    ),
    "no_token": (
        Text("the response of the {url} has no token and secret", url=_URL),
        Text("Check the {url}; it may be a web page, or the API itself.", url=_URL),
    ),
}


class TemporaryToken(NamedTuple):
    """The temporary credentials of a user's authorization (RFC 5849 §2.1)."""

    token: Secret
    secret: Secret

    def packed(self) -> Secret:
        """Return both as one secret, to be sealed; a token has no line break."""
        return Secret.joined(self.token, _BETWEEN, self.secret)

    @classmethod
    def unpacked(cls, packed: Secret) -> Self:
        """Undo `packed`."""
        return cls(
            packed.derive(lambda text: text.partition(_BETWEEN)[0]),
            packed.derive(lambda text: text.partition(_BETWEEN)[2]),
        )


def leg_request(path: str, configuration: Configuration) -> Request:
    """Return the request to a URL of the three legs, before it is signed."""
    settings = configuration.oauth1
    url = settings.request_url if path == REQUEST_URL else settings.access_url
    location = parse_endpoint(url, path)
    headers = tuple(common_headers(location, {"Content-Length": "0"}))
    return Request("POST", location.origin, location.target, headers)


def authorization_url(configuration: Configuration, temporary: TemporaryToken) -> str:
    """Return the URL where a user authorizes the access (RFC 5849 §2.2).

    The temporary token is meant for the browser, and worth nothing without its secret.
    """
    url = configuration.oauth1.authorization_url
    mark = "&" if "?" in url else "?"
    return f"{url}{mark}oauth_token={encode(temporary.token.reveal())}"


@drop_traceback  # its traceback would hold the response
def read_temporary(response: Response, secrets: list[Secret]) -> TemporaryToken:
    """Return the temporary credentials of a response, or raise why there are none.

    The token repeats none of `secrets`, since it is shown in the browser's URL.
    """
    token, secret = _read_pair(response, REQUEST_URL)
    _refuse_own_secret(token, secrets, REQUEST_URL)
    return TemporaryToken(token, secret)


@drop_traceback
def read_access(
    response: Response, secrets: list[Secret]
) -> tuple[TokenResponse, Secret]:
    """Return the token of a response and its secret; it repeats none of `secrets`.

    A token of OAuth 1.0a states no end.
    """
    token, secret = _read_pair(response, ACCESS_URL)
    _refuse_own_secret(token, secrets, ACCESS_URL)
    return TokenResponse(token, None, "OAuth", MAX_LIFE, ""), secret


def _refuse_own_secret(token: Secret, secrets: list[Secret], path: str) -> None:
    if any(repeats(token, ours) for ours in secrets):
        raise leg_failure("own_secret", path=path)


def _read_pair(response: Response, path: str) -> tuple[Secret, Secret]:
    """Return token and secret of a form (RFC 5849 §2.1, §2.3)."""
    if 300 <= response.status < 400:
        raise leg_failure(REDIRECTED, path=path)
    fields = parse_qs(response.text.strip(), keep_blank_values=True)
    [token] = fields.get("oauth_token", [""])[:1]
    secret = fields.get("oauth_token_secret", [None])[0]
    is_usable = 0 < len(token) <= _MAX_TOKEN and token.isprintable()
    if response.status < 400 and is_usable and secret is not None:
        return Secret(token), Secret(secret)
    raise leg_failure(_reason_of(response), server_time(response), path=path)


def _reason_of(response: Response) -> str:
    """Return why a response has no token."""
    problem = problems.problem_of(response)
    if problem is not None and problem.reason in _FAILURES:
        return problem.reason
    if reason := reason_in_status(response.status):
        return reason
    return "refused" if response.status >= 400 else "no_token"


def leg_failure(
    reason: str, their_time: float | None = None, *, path: str = REQUEST_URL
) -> OutkeyError:
    """Return the error for a reason, also from a stored one."""
    label = BY_PATH[path].label
    if reason == REDIRECTED:
        return RedirectBlocked(
            Text(
                "the {url} redirected, and what is signed is not sent to another URL",
                url=label,
            ),
            hint=Text("Enter the URL that it redirects to, if you trust it."),
            field=path,
        )
    return failure_elsewhere(_FAILURES, reason, their_time, field=path, label=label)
