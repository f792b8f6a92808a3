"""The rules for answers that say success and are none. For tests of a configuration only."""

import re
from collections.abc import Iterator

from outkey.core.diagnosis.evidence import Clue, Evidence
from outkey.core.diagnosis.phrases import spoken
from outkey.core.diagnosis.remote_text import read_json
from outkey.core.diagnosis.response_rules import asks_for_password

# What may stand beside an error that is the whole answer.
_ABOUT_ERRORS = frozenset(
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
_WHO = ("whoami", "/me", "/self", "/user")


def clues_in_success(evidence: Evidence) -> Iterator[Clue]:
    """Yield what shows that an answer of 2xx or 3xx is a refusal."""
    if 300 <= evidence.status < 400 and _LOGIN.search(
        evidence.headers.get("location", "")[:2000]
    ):
        yield Clue(80, "login-page", "The answer redirects to a page to log in.")
    if evidence.status >= 300:
        return
    if evidence.is_html:
        if asks_for_password(evidence) or _LOGIN_TITLE.search(evidence.lower):
            yield Clue(80, "login-page", "The answer is a page to log in.")
    elif sign := _sign_of_error(evidence):
        yield Clue(55, "error-in-200", f"The status is {evidence.status}, and {sign}.")
        yield from spoken(evidence)


def _sign_of_error(evidence: Evidence) -> str:
    if b":fault>" in evidence.lower or b"<fault>" in evidence.lower:
        return "the answer is a SOAP fault"
    document = read_json(evidence.body.decode("utf-8", "replace"))
    if not isinstance(document, dict):
        return ""
    path = evidence.configuration.verification.test_path.partition("?")[0]
    if not document and path.rstrip("/").endswith(_WHO):  # verdaccio
        return "the answer names nobody"
    for flag in ("ok", "success"):  # Slack; many others
        if document.get(flag) is False:
            return f"the answer says {flag}: false"
    said = document.get("error") or document.get("errors") or document.get("fault")
    if said and not set(map(str.lower, document)) - _ABOUT_ERRORS:
        return "the answer is nothing but an error"
    return ""
