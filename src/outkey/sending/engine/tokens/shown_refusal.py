"""The words of an authorization server about a refusal, as they may be shown."""

import re
from collections.abc import Iterable, Mapping

from outkey.foundation.core.echo.strict import reveals_secret
from outkey.foundation.core.errors import OutkeyError, TokenEndpointFailed
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.text import Text
from outkey.sending.core.diagnosis.assertion_problems import assertion_problem
from outkey.sending.core.diagnosis.remote_text import (
    printable_line,
    remote_message,
    shorten,
)
from outkey.sending.core.diagnosis.token_refusal_phrases import methods_in, reason_in
from outkey.sending.core.oauth2.responses import parse_document
from outkey.sending.core.request.message import BODY_READ, Response

_TOKENS = frozenset({"access_token", "id_token", "refresh_token"})
# Those of OAuth 2.0, and of OAuth 1.0a as "OAuth Problem Reporting" has them.
_ERRORS = (
    "error",
    "error_description",
    "oauth_problem",
    "oauth_problem_advice",
)
# A provider may derive an unrecognizable value from a secret.
_LONG_WORD = re.compile(r"\S{24,}")


def add_words(
    error: OutkeyError, response: Response, secrets: Iterable[Secret]
) -> None:
    """Add the provider's words to an error, unless they repeat a secret."""
    document = parse_document(response.body[:BODY_READ])
    if _TOKENS & set(document):
        return
    words = words_in(document)
    if not words and response.status >= 400:
        words = remote_message(response)
    if isinstance(error, TokenEndpointFailed):
        error.suspected = reason_in(words)
        error.assertion_problem = assertion_problem(words)
        error.named_methods = methods_in(words)
    show_words(error, words, response, secrets)


def show_words(
    error: OutkeyError, words: str, response: Response, secrets: Iterable[Secret]
) -> None:
    """Add words of a response to an error, unless they repeat a secret."""
    texts = [words, response.text[:BODY_READ].replace("\\/", "/")]
    if words and not reveals_secret(secrets, texts):
        error.said = Text(
            "{words} (status {status})",
            words=shorten(_LONG_WORD.sub("…", words)),
            status=response.status,
        )


def words_in(document: Mapping[str, object]) -> str:
    """Return the error of a document and its description, in one line."""
    parts = [document.get(name) for name in _ERRORS]
    words = ": ".join(part for part in parts if isinstance(part, str) and part)
    return printable_line(words)
