"""What the response to a request that was signed by OAuth 1.0a reports about it."""

from collections.abc import Iterator

from outkey.foundation.core.fields.choices import SignatureMethod
from outkey.foundation.core.text import NO_TEXT, Text, join_texts
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.diagnosis.evidence import Clue, Evidence
from outkey.sending.core.diagnosis.reasons import REASONS
from outkey.sending.core.oauth1 import problems

_STATED = 92
# More than a comparison with a request without credentials, and less than a code.
_IN_WORDS = 84
_NEVER_WRONG = Text("The method RSA-SHA1 signs with the Private Key alone.")

_NO_TOKEN = Text(
    "No Access Token is entered. Enter the one that the provider has issued for the"
    " account, and its secret."
)


def by_oauth1(evidence: Evidence) -> Iterator[Clue]:
    """Read what the provider reports; our own names of it are the evidence."""
    configuration = evidence.configuration
    if not configuration.uses_oauth1:
        return
    problem = problems.problem_of(evidence.response)
    if problem is None:
        return
    text = Text('The response says "{phrase}".', phrase=problem.sign)
    weight = _STATED if problem.is_stated else _IN_WORDS
    remedy = remedy_of(problem.reason, configuration)
    yield Clue(weight, problem.reason, text, remedy)


def remedy_of(reason: str, configuration: Configuration) -> Text:
    """Return what to do about a problem, with the fields that are in use."""
    settings = configuration.oauth1
    remedy = REASONS[reason].remedy
    if reason == problems.SIGNATURE:
        if settings.signature_method is SignatureMethod.RSA_SHA1:
            return join_texts([remedy, _NEVER_WRONG])
        method = Text(
            "Signed here with {method}; others are refused with the same words.",
            method=settings.signature_method.label,
        )
        return join_texts([remedy, method])
    if reason == problems.TOKEN and configuration.has_three_legs:
        return join_texts([remedy, Text("Have a user authorize the access again.")])
    if reason == problems.TOKEN and not configuration.entered_oauth1_token():
        return _NO_TOKEN
    return NO_TEXT
