"""What the text of a response mentions: schemes, and the rows that are sent."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from outkey.foundation.core.fields.choices import AuthenticationType
from outkey.foundation.core.text import Text, join_texts
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.diagnosis.evidence import Clue, Evidence, compact, fix_of
from outkey.sending.core.diagnosis.reasons import REASONS


class Mention(NamedTuple):
    """Words that only a server that expects this kind of credential uses."""

    kind: AuthenticationType
    words: tuple[bytes, ...]
    weight: int
    is_named: bool  # the scheme itself, so that a fix can choose it


def _mention(
    kind: AuthenticationType, *words: str, weight: int, is_named: bool
) -> Mention:
    """Return a row of the table."""
    return Mention(kind, tuple(map(compact, words)), weight, is_named)


_SHORTEST_NAME = 3  # a shorter one may be a word of any sentence
_BASIC = AuthenticationType.BASIC
_BEARER = AuthenticationType.BEARER
_TABLE = (
    _mention(_BEARER, "bearer", "jwt", weight=65, is_named=True),
    _mention(
        _BEARER,
        "invalid token",
        "token is invalid",
        "token invalid",
        "missing token",
        "no token",
        "token is missing",
        "token required",
        "token is required",
        "token not found",
        "access token",
        weight=63,
        is_named=False,
    ),
    _mention(_BASIC, "basic auth", "http basic", weight=65, is_named=True),
    _mention(
        _BASIC,
        "username or password",
        "username and password",
        "user name or password",
        "username/password",
        "login or password",
        "user or password",
        "email or password",
        weight=63,
        is_named=False,
    ),
)


def by_mentions(evidence: Evidence) -> Iterator[Clue]:
    """Compare the kind of credential that the response mentions with ours."""
    configuration = evidence.configuration
    if (
        not configuration.sends_credentials
        or configuration.is_scripted
        or evidence.offered
        or evidence.is_html
        or "authorization" in evidence.row_names
    ):
        return
    for row in _TABLE:
        if is_ours(row, configuration) or (evidence.reads_ours and not row.is_named):
            continue
        if not any(word in evidence.phrases for word in row.words):
            continue
        text = Text(
            "The response speaks of what {wanted} sends, and this configuration sends"
            " something else.",
            wanted=row.kind.label,
        )
        remedy = join_texts(
            [
                REASONS["wrong-scheme"].remedy,
                Text("Try {wanted}.", wanted=row.kind.label),
            ]
        )
        fix = None
        if row.is_named:
            change = ("authentication_type", str(row.kind))
            fix = fix_of("wrong-scheme", change, value=row.kind.label)
        yield Clue(row.weight, "wrong-scheme", text, remedy, fix)
        return


def is_ours(row: Mention, configuration: Configuration) -> bool:
    """Whether a response may mean the credentials that are sent."""
    if row.kind is _BASIC:
        return configuration.sends_password
    # A key in a header is a token too, but not a Bearer token.
    # So are those of OAuth 1.0a.
    is_key = (
        configuration.authentication_type is AuthenticationType.NONE
        or configuration.uses_oauth1
    )
    return configuration.sends_token or (is_key and not row.is_named)


# In the compact form of `evidence.compact`: "Invalid authKey", "X-Token is not valid".
_BAD = rb"(?:invalid|wrong|incorrect|bad|unknown)"
_JUDGED = _BAD + rb"(?:the|header|parameter|queryparameter)?%s\b"
_JUDGED_AFTER = (
    rb"\b%s(?:is|was|header|parameter)?(?:not(?:valid|correct)|" + _BAD + rb")"
)


def by_row_names(evidence: Evidence) -> Iterator[Clue]:
    """Find the name of a secret row that the response calls invalid."""
    for row in evidence.configuration.api_rows:
        name = re.escape(compact(row.key))
        if not row.secret or len(name) < _SHORTEST_NAME:
            continue
        is_judged = any(
            re.search(pattern % name, evidence.phrases)
            for pattern in (_JUDGED, _JUDGED_AFTER)
        )
        if is_judged:
            text = Text("The response calls the value of {name} invalid.", name=row.key)
            yield Clue(73, "wrong-credentials", text)
