"""Rules for error responses with an accepted status, used in connection tests.

Only an explicit error makes such a response a failure; anything else that looks like
one is a doubt, which is reported as a warning.
"""

import re
from collections.abc import Iterator

from outkey.foundation.core.text import Text
from outkey.sending.core.diagnosis.evidence import Clue, Evidence
from outkey.sending.core.diagnosis.phrases import by_phrases
from outkey.sending.core.diagnosis.remote_text import read_json
from outkey.sending.core.diagnosis.response_rules import asks_for_password

# The members that report an error, as `_plain_name` writes them.
_MEMBERS = frozenset(
    (
        "error",
        "errors",
        "fault",
        "faults",
        "errorcode",
        "errormessage",
        "errormessages",
        "errordescription",
        "exception",
    )
)
_FLAGS = frozenset({"ok", "success"})  # Slack; many others
_NO_ERROR = frozenset({"", "0", "false", "no", "none", "null", "ok", "success"})
_FAILED = frozenset(
    {"error", "fail", "failed", "failure", "denied", "unauthorized", "forbidden"}
)
_EXPLAINING = ("message", "msg", "error", "code", "reason", "detail")
_DEEPEST = 6
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
    if evidence.status < 300 and (sign := _sign_of_error(evidence)):
        text = Text(
            "The status is {status}, and {sign}.", status=evidence.status, sign=sign
        )
        yield Clue(55, "error-in-200", text)
        yield from by_phrases(evidence)


def _sign_of_error(evidence: Evidence) -> Text | None:
    """Return the part of a response that reports an error, or None."""
    if evidence.is_html:
        return None
    if b":fault>" in evidence.lower or b"<fault>" in evidence.lower:
        return Text("the response is a SOAP fault")
    document = read_document(evidence)
    if sign := _sign_in(document) or _sign_in(_unwrapped(document)):
        return sign
    member = _error_member_of_all(document)
    return Text("the response has the member {name}", name=member) if member else None


def _sign_in(document: object) -> Text | None:
    """Return the part of a document that reports an error, or None."""
    if flag := false_flag(document):
        return Text("the response has {flag}: false", flag=flag)
    if status := _failed_status(document):
        return Text("the response has the status {status}", status=status)
    member = error_member(document)
    return Text("the response has the member {name}", name=member) if member else None


def _unwrapped(document: object) -> object:
    """Return the only member of a document if it is an object (Subsonic), or None."""
    if isinstance(document, dict) and len(document) == 1:
        [content] = document.values()
        return content if isinstance(content, dict) else None
    return None


def _failed_status(document: object) -> str:
    """Return the word of a status that reports a failure, or nothing.

    Only of an object that explains it and has no id: a job that has failed is a record.
    """
    if not isinstance(document, dict):
        return ""
    names = {_plain_name(str(name)): content for name, content in document.items()}
    status = names.get("status")
    if not isinstance(status, str) or "id" in names:
        return ""
    explains = any(_has_content(names.get(name), 0) for name in _EXPLAINING)
    word = status.strip().lower()
    return word if explains and word in _FAILED else ""


def doubt_about(evidence: Evidence) -> Text | None:
    """Return the sign of a refusal in a response that counts as a success, or None."""
    if evidence.is_html:
        if asks_for_password(evidence) or _LOGIN_TITLE.search(evidence.lower):
            return Text("the response is a page to sign in")
        return None
    document = read_document(evidence)
    path = evidence.configuration.verification.test_path.partition("?")[0]
    if document == {} and path.rstrip("/").endswith(_USER_PATHS):  # verdaccio
        return Text("the response names no user")
    if member := _error_below(document, 0):
        return Text("there is a member {name} inside the response", name=member)
    return None


def read_document(evidence: Evidence) -> object:
    """Return the JSON document of a response, None if it is not JSON."""
    return read_json(evidence.body.decode("utf-8", "replace"))


def false_flag(value: object) -> str:
    """Return the name of a member of an object that denies its success, or nothing."""
    if isinstance(value, dict):
        for name, content in value.items():
            if content is False and _plain_name(name) in _FLAGS:
                return _plain_name(name)
    return ""


def error_member(value: object) -> str:
    """Return the name of the member of an object that reports an error, or nothing.

    A number alone is not an error: it may be the count of other errors.
    """
    if not isinstance(value, dict):
        return ""
    for name, content in value.items():
        plain = _plain_name(name)
        is_number = isinstance(content, int | float) and content is not True
        if plain in _MEMBERS and not is_number and _has_content(content, 0):
            return plain
    return ""


def _error_member_of_all(document: object) -> str:
    """Return the member that each element of the first-level lists reports."""
    lists = [document]
    if isinstance(document, dict):
        lists = list(document.values())
    for elements in lists:
        if isinstance(elements, list) and elements:
            members = [error_member(element) for element in elements]
            if all(members):
                return members[0]
    return ""


def _error_below(value: object, depth: int) -> str:
    """Return the name of a member that reports an error anywhere in a document."""
    if depth > _DEEPEST:
        return ""
    if member := error_member(value):
        return member
    parts: list[object] = []
    if isinstance(value, dict):
        parts = list(value.values())
    elif isinstance(value, list):
        parts = value
    members = (_error_below(part, depth + 1) for part in parts)
    return next((member for member in members if member), "")


def _plain_name(name: str) -> str:
    """Return a name as `_MEMBERS` has it: `error_code` and `errorCode` are one."""
    return name.replace("_", "").replace("-", "").lower()


def _has_content(value: object, depth: int) -> bool:
    """Whether a member says anything: many APIs have an empty one in each response."""
    if isinstance(value, str):
        return value.strip().lower() not in _NO_ERROR
    parts = list(value.values()) if isinstance(value, dict) else value
    if isinstance(parts, list):
        return depth > _DEEPEST or any(_has_content(part, depth + 1) for part in parts)
    return bool(value)
