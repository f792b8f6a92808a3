"""Conclusions from the response to the same request without credentials."""

from collections.abc import Iterator
from dataclasses import replace
from typing import assert_never

from outkey.foundation.core.fields.choices import AuthenticationType
from outkey.foundation.core.text import Text, join_texts
from outkey.sending.core.diagnosis.evidence import STATED, Clue, Evidence
from outkey.sending.core.diagnosis.reasons import REASONS

_NOT_READ = "credentials-not-read"
_ANOTHER_REQUEST = Text(
    "A request that every user of the API may make shows which: as Test Path it works"
    " if only a permission is missing."
)
PLACE_IN_DOCUMENTATION = Text(
    "The documentation of the API shows which: if it takes credentials where they are"
    " sent here, the value is wrong."
)


def by_comparison(evidence: Evidence) -> Iterator[Clue]:
    """Compare the responses with and without credentials to a request."""
    other = evidence.anonymous
    if other is None:
        return
    if evidence.status == 404:
        if other.status in {401, 403}:
            text = Text(
                "Without credentials the status is {status}, so these are accepted.",
                status=other.status,
            )
            yield Clue(58, "not-found", text)
    elif evidence.is_same_without:
        yield from _clues_of_sameness(evidence)
    elif evidence.status == 403 and other.status >= 400:
        yield from _clues_of_other_403(evidence, other.status)
    elif other.status != evidence.status:
        text = Text(
            "Without credentials the status is {status}, so these are read and"
            " rejected.",
            status=other.status,
        )
        yield Clue(61, "wrong-credentials", text)
    else:
        text = Text("Without credentials the response is another one.")
        yield Clue(61, "wrong-credentials", text)


def _clues_of_other_403(evidence: Evidence, anonymous_status: int) -> Iterator[Clue]:
    """Yield the meaning of a 403 that a request without credentials does not get.

    pypiserver and django-oauth-toolkit respond so to wrong credentials too.
    """
    text = Text("Without credentials the response is another one, so these are read.")
    if anonymous_status == 401:
        text = Text("Without credentials the status is 401, so these are read.")
    if evidence.configuration.credentials_were_accepted:
        accepted = Text("The API accepted these credentials before.")
        yield Clue(70, "forbidden", join_texts([text, accepted]))
        return
    yield Clue(
        66,
        "forbidden",
        text,
        rivals=("wrong-credentials",),
        distinction=_ANOTHER_REQUEST,
    )
    text = Text("Some APIs respond with 403 to wrong credentials.")
    yield Clue(STATED, "wrong-credentials", text)


def _clues_of_sameness(evidence: Evidence) -> Iterator[Clue]:
    """Yield why credentials make no difference.

    With 403 the specification's meaning comes first: everybody may be refused, or the
    credentials are not recognized. The token of a login is rather not found, as with
    the cookie of qBittorrent by another name. With 401 many servers respond the same to
    wrong credentials and to none, and to credentials in a place where they do not look;
    a server that knows Basic nearly always has a challenge for it.
    """
    text = Text("Without credentials the response is the same.")
    if evidence.status == 403 and evidence.configuration.uses_login:
        # The API has just issued the token, so its value is hardly wrong.
        clue = not_read_clue(64, text, evidence)
        yield replace(clue, rivals=("forbidden",), distinction=_ANOTHER_REQUEST)
        yield Clue(63, "forbidden", text)
    elif evidence.status == 403:
        yield Clue(
            63,
            "forbidden",
            text,
            rivals=("wrong-credentials", _NOT_READ),
            distinction=_ANOTHER_REQUEST,
        )
        yield Clue(62, "wrong-credentials", text)
        yield not_read_clue(61, text, evidence)
        yield Clue(35, "ip-not-allowed", text)
    elif evidence.offers_ours:
        return
    elif evidence.sent.words == {"basic"}:
        clue = not_read_clue(54, text, evidence)
        yield replace(
            clue, rivals=("wrong-credentials",), distinction=PLACE_IN_DOCUMENTATION
        )
    else:
        yield Clue(
            51,
            "wrong-credentials",
            text,
            # Some respond so to a user without the right too (rspamd).
            rivals=(_NOT_READ, "forbidden"),
            distinction=PLACE_IN_DOCUMENTATION,
        )
        yield not_read_clue(48, text, evidence)


def not_read_clue(weight: int, text: Text, evidence: Evidence) -> Clue:
    """Return the clue that credentials are not found, with what else may be tried."""
    remedy = join_texts([REASONS[_NOT_READ].remedy, _sent_text(evidence)])
    return Clue(weight, _NOT_READ, text, remedy)


def _sent_text(evidence: Evidence) -> Text:  # noqa: PLR0911 - one for each type
    """Return where the credentials are now, as a sentence."""
    configuration = evidence.configuration
    rows = ", ".join(key for _, key in evidence.secret_rows)
    match configuration.authentication_type:
        case AuthenticationType.BASIC:
            return Text(
                "Sent here: Authorization: Basic; others are Bearer Token, or a key in"
                " a header."
            )
        case AuthenticationType.DIGEST:
            return Text("Sent here: Authorization: Digest.")
        case AuthenticationType.BEARER:
            return Text(
                "Sent here: the token in {place}; others are Basic, another word before"
                " the token, or a header such as X-API-Key.",
                place=configuration.token_header,
            )
        case AuthenticationType.AWS_SIGV4:
            return Text(
                "Sent here: Authorization: AWS4-HMAC-SHA256, for the service {service}"
                " in {region}.",
                service=configuration.aws.service,
                region=configuration.aws.region,
            )
        case AuthenticationType.OAUTH1:
            return Text("Sent here: Authorization: OAuth with a signature.")
        case AuthenticationType.NONE if rows:
            return Text(
                "Sent here: the header {names}; others are Bearer Token or Basic.",
                names=rows,
            )
        case AuthenticationType.NONE:
            return Text(
                "Sent here: what the script, the query or the certificate adds."
            )
        case other:
            assert_never(other)
