"""Rules for error responses with a success status, used in connection tests."""

import re
from collections.abc import Iterator

from outkey.core.diagnosis.evidence import Clue, Evidence
from outkey.core.diagnosis.phrases import by_phrases
from outkey.core.diagnosis.remote_text import read_json
from outkey.core.diagnosis.response_rules import asks_for_password
from outkey.core.text import Text

# The keys that may accompany an error which is the whole response.
_ERROR_KEYS = frozenset(
    {
        "error",
        "errors",
        "error_description",
        "error_uri",
        "message",
        "code",
        "status",
        "detail",
    }
)
_LOGIN = re.compile(
    r"(?i)(?:^|[/?&=._-])(?:login|log-in|signin|sign-in|sso|saml2?|logon)\b"
)
_LOGIN_TITLE = re.compile(
    rb"(?i)<title[^>]{0,100}>[^<]{0,60}(?:log ?in|sign ?in|anmeld)"
)
_USER_PATHS = ("whoami", "/me", "/self", "/user")


def clues_in_success(evidence: Evidence) -> Iterator[Clue]:
    """Yield the signs that a response of 2xx or 3xx is a refusal."""
    if 300 <= evidence.status < 400 and _LOGIN.search(
        evidence.headers.get("location", "")[:2000]
    ):
        yield Clue(
            80, "login-page", Text("The response redirects to a page to sign in.")
        )
    if evidence.status >= 300:
        return
    if evidence.is_html:
        if asks_for_password(evidence) or _LOGIN_TITLE.search(evidence.lower):
            yield Clue(80, "login-page", Text("The response is a page to sign in."))
    elif sign := sign_of_error(evidence):
        text = Text(
            "The status is {status}, and {sign}.", status=evidence.status, sign=sign
        )
        yield Clue(55, "error-in-200", text)
        yield from by_phrases(evidence)


def sign_of_error(evidence: Evidence) -> Text | None:
    """Return the part of a response that reports an error, None if there is none."""
    if b":fault>" in evidence.lower or b"<fault>" in evidence.lower:
        return Text("the response is a SOAP fault")
    document = read_json(evidence.body.decode("utf-8", "replace"))
    if not isinstance(document, dict):
        return None
    path = evidence.configuration.verification.test_path.partition("?")[0]
    if not document and path.rstrip("/").endswith(_USER_PATHS):  # verdaccio
        return Text("the response names no user")
    for flag in ("ok", "success"):  # Slack; many others
        if document.get(flag) is False:
            return Text("the response has {flag}: false", flag=flag)
    error = document.get("error") or document.get("errors") or document.get("fault")
    if error and not set(map(str.lower, document)) - _ERROR_KEYS:
        return Text("the response has nothing but an error")
    return None
