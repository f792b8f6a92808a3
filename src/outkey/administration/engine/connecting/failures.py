"""Why an account could not be connected, as whoever connects it may read it."""

from outkey.foundation.core.errors import Cause, ConfigError, OutkeyError
from outkey.foundation.core.text import NO_TEXT, Text
from outkey.sending.core.diagnosis.remote_text import remote_message, shorten
from outkey.sending.core.request.message import Response
from outkey.sending.engine.connection_test import LONG_WORD, Report


class TryFailed(ConfigError):
    """The account could not be connected.

    The reason is the cause, and `said` what the provider says, without any secret.
    Hints are for operators, so it has none.
    """


def failed_try(error: OutkeyError) -> TryFailed:
    """Return the failure for an error that ended a try."""
    return _failure(error.message, str(error.cause), error.said)


def failed_test(report: Report) -> TryFailed:
    """Return the failure for a test of what was entered that did not pass."""
    details = [step.detail for step in report.steps if not step.ok]
    return _failure(details[-1], str(report.cause))


def failed_request(response: Response, *, repeats_secret: bool) -> TryFailed:
    """Return the failure for a request after connecting that was refused."""
    words = LONG_WORD.sub("…", remote_message(response))
    said = "" if repeats_secret or not words.strip("… ") else shorten(words)
    cause = response.cause or Cause.UNEXPECTED
    return _failure(Text("status {status}", status=response.status), str(cause), said)


def _failure(message: Text, cause: str, said: str = "") -> TryFailed:
    failure = TryFailed(message, hint=NO_TEXT, reason=cause)
    failure.said = said
    return failure
