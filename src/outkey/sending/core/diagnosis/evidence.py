"""The facts of one response, and the clues that rules find in it. No rule lives here.

Remote text is read here but never passed on: evidence has only our own words, numbers
and times.
"""

import re
from dataclasses import dataclass
from functools import cached_property

from outkey.foundation.core.errors import Cause, OutkeyError
from outkey.foundation.core.fields.choices import Choice
from outkey.foundation.core.text import NO_TEXT, Text, build_text, join_texts
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.diagnosis.reasons import FIXES, REASONS, Reason
from outkey.sending.core.diagnosis.remote_text import remote_message
from outkey.sending.core.diagnosis.sent_credentials import (
    SentCredentials,
    sent_credentials,
)
from outkey.sending.core.oauth2.jwt import Claims, claims_of
from outkey.sending.core.request.assembly import SecretOpener
from outkey.sending.core.request.challenge import parse_challenges
from outkey.sending.core.request.expired_marker import has_expired_marker
from outkey.sending.core.request.message import BODY_READ, Response, server_time

PROVED = 88  # from this weight on, a reason is certain
STATED = 60  # from this weight on, it is likely
_SEARCHED = 2 * 1024  # for phrases; the send path searches each response from 400 on
_LOWER = bytes(range(256)).lower()
_BETWEEN = b" \t\r\n_-"
# Words with a digit: times, ids of requests and traces, which differ each time.
_CHANGING = re.compile(r"[\w.:+-]*\d[\w.:+-]*")
# "invalid or expired", "expired, revoked, malformed, or invalid for other reasons".
_OTHERWISE = (
    rb"(?:invalid|notvalid|revoked|malformed|unknown|wrong|bad|incorrect|missing"
    rb"|notfound|doesnotexist)"
)
_ALTERNATIVES = re.compile(
    rb"expired[,/]?(?:or)?(?:is|was|has|hasbeen)?"
    + _OTHERWISE
    + rb"|"
    + _OTHERWISE
    + rb"[,/]?(?:or)?(?:is|was|has|hasbeen)?expired"
)
_ORDER = {reason: number for number, reason in enumerate(REASONS)}


@dataclass(frozen=True, slots=True)
class Fix:
    """A change that outkey can make itself, after showing the difference.

    Either new values by field path, or the name of a secret whose value is tidied.
    """

    label: Text
    changes: tuple[tuple[str, str], ...] = ()
    tidied: str = ""


class Certainty(Choice):
    """How sure a reason is, in a word for users."""

    CERTAIN = "certain", "certain"
    LIKELY = "likely", "likely"
    EITHER = "either", "one of several"
    POSSIBLE = "possible", "possible"


@dataclass(frozen=True, slots=True)
class Suspicion:
    """A reason with its evidence. Only the likeliest one has a fix.

    `rivals` are the reasons that the same evidence fits as well; `distinction` says
    what distinguishes them.
    """

    reason: Reason
    evidence: Text
    remedy: Text
    fix: Fix | None = None
    certainty: Certainty = Certainty.POSSIBLE
    rivals: tuple[Reason, ...] = ()
    distinction: Text = NO_TEXT

    @property
    def doubt(self) -> Text:
        """What else it may be, and what would show it: a sentence, or nothing."""
        if not self.rivals:
            return NO_TEXT
        titles = join_texts([rival.title for rival in self.rivals], " / ")
        return join_texts([Text("Or: {titles}.", titles=titles), self.distinction])


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The cause of an error response and its remedy, from the first suspicion."""

    cause: Cause
    remedy: Text
    suspicions: tuple[Suspicion, ...] = ()


@dataclass(frozen=True, slots=True)
class Clue:
    """The result of a rule. The weight is its certainty.

    90: it is proved. 70: the response states it. 50: the status alone. 30: check it.
    A clue with rivals is never more than one of several, and has no fix.
    """

    weight: int
    reason: str
    evidence: Text
    # a more precise one than that of the reason, if there is one
    remedy: Text = NO_TEXT
    fix: Fix | None = None
    rivals: tuple[str, ...] = ()
    distinction: Text = NO_TEXT

    @property
    def certainty(self) -> Certainty:
        """How sure the reason is, by the weight."""
        if self.rivals:
            return Certainty.EITHER
        if self.weight >= PROVED:
            return Certainty.CERTAIN
        return Certainty.LIKELY if self.weight >= STATED else Certainty.POSSIBLE


def fix_of(
    reason: str, *changes: tuple[str, str], value: str = "", tidied: str = ""
) -> Fix:
    """Return the fix of a reason; `value` is shown in its label."""
    return Fix(build_text(FIXES[reason].template, {"value": value}), changes, tidied)


def https_fix(reason: str, configuration: Configuration) -> Fix | None:
    """Return the fix that changes a Base URL to https, if its port allows that."""
    url = configuration.base_url
    origin = configuration.base.origin
    same_port = reason == "plain-http-to-tls-port"
    usual = reason == "https-required" and origin.port == 80 and ":80" not in url
    if origin.scheme != "http" or not (same_port or usual):
        return None
    return fix_of(reason, ("base_url", "https:" + url.partition(":")[2]))


def rank_clues(clues: list[Clue]) -> tuple[Suspicion, ...]:
    """Return one suspicion for each reason: the heaviest first, then by the table."""
    best: dict[str, Clue] = {}
    for clue in sorted(clues, key=lambda clue: (-clue.weight, _ORDER[clue.reason])):
        best.setdefault(clue.reason, clue)
    return tuple(
        Suspicion(
            reason=REASONS[clue.reason],
            evidence=clue.evidence,
            remedy=clue.remedy or REASONS[clue.reason].remedy,
            # Nothing is changed on a second guess, nor where another reason fits too.
            fix=None if rank or clue.rivals else clue.fix,
            certainty=clue.certainty,
            rivals=() if rank else tuple(REASONS[rival] for rival in clue.rivals),
            distinction=clue.distinction,
        )
        for rank, clue in enumerate(best.values())
    )


def compact(text: str | bytes) -> bytes:
    """Return text as phrases are searched: `Token has_expired` as `tokenHasExpired`."""
    raw = text.encode() if isinstance(text, str) else text
    return raw.translate(_LOWER, _BETWEEN)


class Evidence:
    """One response together with the configuration that sent the request.

    `secret` returns entered secrets; it is None for ordinary requests, where only the
    response is read.
    """

    def __init__(
        self,
        response: Response,
        configuration: Configuration,
        now: float,
        secret: SecretOpener | None = None,
        anonymous: Response | None = None,
    ) -> None:
        self.response = response
        self.status = response.status
        self.configuration = configuration
        self.now = now
        self.secret = secret
        # To the same request without credentials. A server that failed has not judged.
        self.anonymous = anonymous if anonymous and anonymous.status < 500 else None
        self.headers = {name.lower(): value for name, value in response.headers}
        self.body = response.body[:BODY_READ]
        self.challenges = parse_challenges(response.headers.get_all("WWW-Authenticate"))
        self.offered = {challenge.scheme for challenge in self.challenges}
        self.errors = {
            challenge.parameters.get("error", "") for challenge in self.challenges
        }
        descriptions = (
            challenge.parameters.get("error_description", "")
            for challenge in self.challenges
        )
        self.description = " ".join(descriptions).lower()
        self.lower = self.body[:_SEARCHED].lower()
        self.phrases = (
            compact(self.body[:_SEARCHED]) + b"\n" + compact(self.description)
        )

    @property
    def has_expired_marker(self) -> bool:
        """Whether the response has the text that the configuration calls expired."""
        return has_expired_marker(self.response, self.configuration)

    @cached_property
    def names_alternatives(self) -> bool:
        """Whether the response states that the token has expired, or something else."""
        return _ALTERNATIVES.search(self.phrases) is not None

    @property
    def is_html(self) -> bool:
        """Whether the body is an HTML page."""
        start = self.lower[:200].lstrip()
        return start.startswith((b"<!doctype html", b"<html"))

    @cached_property
    def sent(self) -> SentCredentials:
        """What the request carries that proves who sends it."""
        return sent_credentials(self.configuration, self.secret)

    @property
    def offers_ours(self) -> bool:
        """Whether a challenge names what is sent: then only its value can be wrong."""
        return self.sent.is_named_by(self.challenges)

    @cached_property
    def is_same_without(self) -> bool:
        """Whether the response without credentials is the same, as far as is known."""
        other = self.anonymous
        return (
            other is not None
            and other.status == self.status
            and _challenge_errors(other) == _challenge_errors(self.response)
            and have_same_message(other, self.response)
        )

    @property
    def reads_ours(self) -> bool:
        """Whether the credentials are known to be read: they make a difference."""
        return self.anonymous is not None and not self.is_same_without

    @property
    def is_unknown_reader(self) -> bool:
        """Whether a test that only reads was treated like one without credentials.

        A CSRF token is for changes. Where even reading needs one, the server takes us
        for a browser: it found no credentials (Syncthing).
        """
        if self.secret is None:
            return False
        reads = self.configuration.verification.test_method in {"GET", "HEAD"}
        sends = self.configuration.sends_credentials
        return reads and (self.is_same_without or not sends)

    @property
    def secret_rows(self) -> list[tuple[int, str]]:
        """Position and name of each header row that has a secret."""
        rows = enumerate(self.configuration.headers)
        return [(position, row.key) for position, row in rows if row.secret]

    @property
    def row_names(self) -> set[str]:
        """The names of all header rows, in lower case."""
        return {row.key.lower() for row in self.configuration.headers}

    @property
    def sends_key(self) -> bool:
        """Whether a token or key is sent, which can expire, and not a password."""
        configuration = self.configuration
        return configuration.sends_credentials and not configuration.sends_password

    @cached_property
    def skew(self) -> float:
        """How far the clock of the server is ahead of ours; 0 if that is unknown."""
        their_time = server_time(self.response)
        return 0.0 if their_time is None else their_time - self.now

    @cached_property
    def claims(self) -> Claims | None:
        """The claims of the entered token, if it is a JWT and may be read."""
        if self.secret is None or not self.configuration.sends_entered_token:
            return None
        try:
            return claims_of(self.secret("token"))
        except OutkeyError:
            return None


def _challenge_errors(response: Response) -> set[tuple[str, str, str]]:
    """Return the schemes of the challenges with their errors."""
    challenges = parse_challenges(response.headers.get_all("WWW-Authenticate"))
    return {
        (
            challenge.scheme,
            challenge.parameters.get("error", ""),
            challenge.parameters.get("error_description", ""),
        )
        for challenge in challenges
    }


def have_same_message(response: Response, other: Response) -> bool:
    """Whether two responses say the same, but for times and the ids of requests."""
    messages = {_CHANGING.sub("0", remote_message(one)) for one in (response, other)}
    if len(messages) > 1 or any(messages):
        return len(messages) == 1
    bodies = {_CHANGING.sub("0", one.text[:BODY_READ]) for one in (response, other)}
    return len(bodies) == 1
