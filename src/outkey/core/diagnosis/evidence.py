"""What one answer shows, and the clues that rules find in it. No rule lives here.

Remote text is read here but never handed on: an evidence holds words of ours, numbers and times.
"""

from dataclasses import dataclass
from functools import cached_property

from outkey.core.config.choices import AuthenticationType
from outkey.core.config.configuration import Configuration
from outkey.core.diagnosis.reasons import FIXES, REASONS, Reason
from outkey.core.errors import Cause, OutkeyError
from outkey.core.oauth2.jwt import Claims, claims_of
from outkey.core.request.assembly import SecretOpener
from outkey.core.request.challenge import parse_challenges
from outkey.core.request.message import Response, http_date

BODY_READ = 16 * 1024
_SEARCHED = 2 * 1024  # for words; the send path asks about each answer from 400 on
_LOWER = bytes(range(256)).lower()
_BETWEEN = b" \t\r\n_-"
_PLACES = {reason: place for place, reason in enumerate(REASONS)}


@dataclass(frozen=True, slots=True)
class Fix:
    """What outkey can change itself, after showing the difference.

    Either new values by field path, or the name of a secret whose value is to be tidied.
    """

    label: str
    changes: tuple[tuple[str, str], ...] = ()
    tidied: str = ""


@dataclass(frozen=True, slots=True)
class Suspicion:
    """A reason that something shown speaks for. Only the likeliest one has a fix."""

    reason: Reason
    evidence: str
    remedy: str
    fix: Fix | None = None


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The cause of a bad answer and what to do about it, as the first suspicion has it."""

    cause: Cause
    remedy: str
    suspicions: tuple[Suspicion, ...] = ()


@dataclass(frozen=True, slots=True)
class Clue:
    """What a rule found. The weight is how sure it makes us.

    90: it is proved. 70: the answer says so. 50: the status alone. 30: worth a look.
    """

    weight: int
    reason: str
    evidence: str
    remedy: str = ""  # the reason's own, unless it can be made concrete
    fix: Fix | None = None


def fix_of(
    reason: str, *changes: tuple[str, str], word: str = "", tidied: str = ""
) -> Fix:
    """Return the fix of a reason, with what was found out in its label."""
    return Fix(FIXES[reason].format(word), changes, tidied)


def https_fix(reason: str, configuration: Configuration) -> Fix | None:
    """Return the fix that makes a Base URL secure, where its port can stay or is the usual one."""
    url, origin = configuration.base_url, configuration.base.origin
    same_port = reason == "plain-http-to-tls-port"
    usual = reason == "https-required" and origin.port == 80 and ":80" not in url
    if origin.scheme != "http" or not (same_port or usual):
        return None
    return fix_of(reason, ("base_url", "https:" + url.partition(":")[2]))


def ranked(clues: list[Clue]) -> tuple[Suspicion, ...]:
    """Return one suspicion for each reason, the heaviest first, then by the order of the table."""
    best: dict[str, Clue] = {}
    for clue in sorted(clues, key=lambda clue: (-clue.weight, _PLACES[clue.reason])):
        best.setdefault(clue.reason, clue)
    return tuple(_suspicion(rank, clue) for rank, clue in enumerate(best.values()))


def _suspicion(rank: int, clue: Clue) -> Suspicion:
    """Make a suspicion of a clue; nothing is changed on a second guess."""
    reason, fix = REASONS[clue.reason], None if rank else clue.fix
    return Suspicion(reason, clue.evidence, clue.remedy or reason.remedy, fix)


def compact(text: str | bytes) -> bytes:
    """Return text as words are looked for: `Token has_expired` and `tokenHasExpired` are one."""
    raw = text.encode() if isinstance(text, str) else text
    return raw.translate(_LOWER, _BETWEEN)


class Evidence:
    """One answer beside the configuration that asked for it.

    `secret` opens what was entered; without it (when sending) the answer alone must do.
    """

    def __init__(
        self,
        response: Response,
        configuration: Configuration,
        now: float,
        secret: SecretOpener | None = None,
    ) -> None:
        self.status = response.status
        self.configuration = configuration
        self.now = now
        self.secret = secret
        self.anonymous: int | None = (
            None  # the status of the same request without credentials
        )
        self.headers = {name.lower(): value for name, value in response.headers}
        self.body = response.body[:BODY_READ]
        self.challenges = parse_challenges(response.headers.get_all("WWW-Authenticate"))
        self.offered = {challenge.scheme for challenge in self.challenges}
        self.errors = {
            challenge.parameters.get("error", "") for challenge in self.challenges
        }
        described = (c.parameters.get("error_description", "") for c in self.challenges)
        self.described = " ".join(described).lower()
        self.lower = self.body[:_SEARCHED].lower()
        self.said = compact(self.body[:_SEARCHED]) + b"\n" + compact(self.described)

    @property
    def is_html(self) -> bool:
        """Whether the body is a page."""
        start = self.lower[:200].lstrip()
        return start.startswith((b"<!doctype html", b"<html"))

    @property
    def secret_rows(self) -> list[tuple[int, str]]:
        """Place and name of each header row that carries a secret."""
        rows = enumerate(self.configuration.headers)
        return [(place, row.key) for place, row in rows if row.secret]

    @property
    def row_names(self) -> set[str]:
        """The names of all header rows, in small letters."""
        return {row.key.lower() for row in self.configuration.headers}

    @property
    def sends_key(self) -> bool:
        """Whether a token or key that can expire is sent, and no password."""
        basic = self.configuration.authentication_type is AuthenticationType.BASIC
        return self.configuration.sends_credentials and not basic

    @property
    def skew(self) -> float:
        """How far the answer's clock is ahead of ours; 0 where it says nothing."""
        theirs = http_date(self.headers.get("date", ""))
        return 0.0 if theirs is None else theirs - self.now

    @cached_property
    def claims(self) -> Claims | None:
        """What the entered token says of itself, if it is a JWT and may be looked at."""
        configuration = self.configuration
        if (
            self.secret is None
            or not configuration.sends_token
            or configuration.uses_oauth2
        ):
            return None
        try:
            return claims_of(self.secret("token"))
        except OutkeyError:
            return None
