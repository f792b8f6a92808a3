"""Every error outkey raises, as one tree split by blame, and the causes a person is told.

    OutkeyError
    ├── ConfigError            fix your settings
    │   ├── HeaderFormatError      a name or value that is no header
    │   ├── HeaderConflict         two sources set one header
    │   ├── SecretMissing          a secret is not entered or its reference finds nothing
    │   ├── KeyStepRefused         a step of a key rotation that would lose secrets
    │   ├── SecretRebindRequired   a secret was entered for another origin
    │   ├── ReauthorizationNeeded  a person must allow the access again
    │   ├── ScriptFailed           a script failed, or cannot be run here
    │   ├── EditConflict           a second editor was quicker
    │   ├── LineBusy               another run of the sync line is under way
    │   ├── RunStopped             a run was cancelled, or taken over by another process
    │   ├── UnknownConfiguration   no configuration of that name
    │   └── InactiveConfiguration  it is switched off
    ├── RemoteError            they answered badly, or not at all
    │   ├── ConnectionFailed       no answer; AnswerBroken: only a part of one
    │   ├── TimedOut               too late; ConnectTimedOut: before anything was sent
    │   ├── DnsFailed  ├── TlsFailed  ├── ResponseTooLarge
    │   ├── TokenEndpointFailed    no token: the provider refused, or did not answer
    │   ├── SyncFailed             an answer whose records or next page cannot be read
    │   └── BadAnswer              one whose cause is known (Response.raise_for_cause)
    ├── PolicyError            we refused
    │   ├── EgressDenied       ├── RedirectBlocked
    │   ├── RateLimited        ├── TlsBelowFloor
    │   ├── Paused                 refused too often to be tried again
    │   ├── BlockedByPolicy        a weakness that the operator does not allow
    │   └── AuthenticationRequired the rule on None
    └── HostError              our storage, key or audit
        ├── StorageUnavailable     the database does not answer or is locked
        ├── Sealed                 the key is missing, wrong or damaged
        ├── SecretUnreadable       a ciphertext does not open where it stands
        ├── ChainBroken            the audit was tampered with
        └── AuditUnavailable       no record, no send

The docstring of a class is its default message. Remote text and secret values never enter a
message.
"""

from collections.abc import Callable
from enum import StrEnum
from functools import wraps
from typing import ClassVar, ParamSpec, TypedDict, TypeVar

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class Cause(StrEnum):
    """What went wrong, in the words that every interface and every program uses."""

    INVALID_CREDENTIALS = "invalid_credentials"
    INSUFFICIENT_PERMISSIONS = "insufficient_permissions"
    TOKEN_EXPIRED = "token_expired"  # noqa: S105 - the name of a cause
    HEADER_FORMAT = "header_format"
    CLOCK_SKEW = "clock_skew"
    TLS = "tls"
    DNS = "dns"
    CONNECTION = "connection"
    TIMEOUT = "timeout"
    REDIRECT_BLOCKED = "redirect_blocked"
    EGRESS_DENIED = "egress_denied"
    RATE_LIMITED = "rate_limited"
    TOKEN_ENDPOINT = "token_endpoint"  # noqa: S105 - the name of a cause
    REAUTHORIZATION_NEEDED = "reauthorization_needed"
    SCRIPT_ERROR = "script_error"
    SECRET_MISSING = "secret_missing"  # noqa: S105 - the name of a cause
    CONFIGURATION = "configuration"
    SEALED = "sealed"
    NOT_FOUND = "not_found"
    SERVER_ERROR = "server_error"
    RESPONSE_TOO_LARGE = "response_too_large"
    UNEXPECTED = "unexpected"


class ErrorFacts(TypedDict):
    """The stable JSON shape of an error."""

    code: str
    message: str
    hint: str
    field: str | None


class OutkeyError(Exception):
    """Something in outkey failed."""

    code: ClassVar[str] = "unexpected"
    cause: ClassVar[Cause] = Cause.UNEXPECTED
    default_hint: ClassVar[str] = ""
    retryable: ClassVar[bool] = False

    def __init_subclass__(
        cls,
        code: str = "",
        cause: str = "",
        hint: str = "",
        *,
        retryable: bool | None = None,
    ) -> None:
        """Take what a kind of error says of itself; a cause without a code is its own code."""
        told = {
            "code": code or cause,
            "cause": cause,
            "default_hint": hint,
            "retryable": retryable,
        }
        for name, value in told.items():
            if value not in {None, ""}:
                setattr(cls, name, value)

    def __init__(
        self,
        message: str | None = None,
        *,
        hint: str | None = None,
        field: str | None = None,
        reason: str = "",
    ) -> None:
        self.message = message or self._default_message()
        self.hint = self.default_hint if hint is None else hint
        self.field = field
        self.reason = (
            reason  # a word of ours that says more than the class, for a diagnosis
        )
        super().__init__(self.message)
        # What a person reads in a traceback, besides the message.
        for label, text in (("field", self.field), ("hint", self.hint)):
            if text:
                self.add_note(f"{label}: {text}")

    @classmethod
    def _default_message(cls) -> str:
        text = (cls.__doc__ or "").strip().removesuffix(".")
        return text[:1].lower() + text[1:]

    def facts(self) -> ErrorFacts:
        """Return the error as programs read it."""
        code = str(self.code)
        return {
            "code": code,
            "message": self.message,
            "hint": self.hint,
            "field": self.field,
        }


def bare(error: OutkeyError) -> OutkeyError:
    """Return an error without its frames and its history, which may hold a secret's text."""
    error.__cause__ = error.__context__ = None
    return error.with_traceback(None)


def frameless(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Decorate what handles the text of secrets: its errors leave without frames and history."""

    @wraps(function)
    def guarded(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        try:
            return function(*args, **kwargs)
        except OutkeyError as error:
            failure = error
        raise bare(failure)

    return guarded


# Not formatted, because it is a table: one row a kind of error.
# ── fix your settings ────────────────────────────────────────────────────────────────────────


class ConfigError(OutkeyError, code="configuration", cause=Cause.CONFIGURATION):
    """The configuration is not usable as it is."""


class HeaderFormatError(
    ConfigError,
    cause=Cause.HEADER_FORMAT,
    hint="Review the authentication header format.",
):
    """A header name or value is not valid HTTP."""


class HeaderConflict(
    ConfigError,
    code="header_conflict",
    hint="Keep one of the two; a header has exactly one source.",
):
    """Two sources set the same header."""


class SecretMissing(
    ConfigError,
    cause=Cause.SECRET_MISSING,
    hint="Enter the secret, or set what its reference names.",
):
    """A secret that this configuration needs is missing."""


class KeyStepRefused(ConfigError, code="key_step_refused"):
    """That step of the key rotation would be unsafe."""


class SecretRebindRequired(
    ConfigError,
    code="secret_rebind_required",
    hint="Enter the secret again, if the new address is meant to get it.",
):
    """The secret was entered for another address than the Base URL has now."""


class ReauthorizationNeeded(
    ConfigError,
    cause=Cause.REAUTHORIZATION_NEEDED,
    hint=(
        "Press Connect on the configuration's page, run outkey token authorize NAME, or"
        " enter a new refresh token."
    ),
):
    """The provider wants a person to allow the access, for the first time or again."""


class ScriptFailed(
    ConfigError,
    cause=Cause.SCRIPT_ERROR,
    hint="Correct the script; the guide to scripts says what it may use.",
):
    """The script failed."""

    def __init__(
        self,
        message: str | None = None,
        *,
        hint: str | None = None,
        field: str | None = "script",
    ) -> None:
        super().__init__(message, hint=hint, field=field)


class EditConflict(
    ConfigError,
    code="conflict",
    hint="Look at what changed, and make your change again.",
):
    """Somebody else has changed the configuration meanwhile."""


class LineBusy(ConfigError, code="line_busy", hint="Wait until it ends, or cancel it."):
    """Another run of this sync line is under way."""


class RunStopped(
    ConfigError,
    code="run_stopped",
    hint="Look at the line's newest runs, and run it again if it is still needed.",
):
    """The run was stopped; its reason is `cancelled`, `taken_over` or `stopping`."""


class UnknownConfiguration(ConfigError, code="unknown_configuration"):
    """There is no configuration of that name."""


class InactiveConfiguration(
    ConfigError,
    code="inactive",
    hint="Set Active (active = true) to send with it again.",
):
    """The configuration is switched off."""


# ── they answered badly, or not at all ───────────────────────────────────────────────────────


class RemoteError(OutkeyError):
    """The external system did not answer as it should."""


class ConnectionFailed(
    RemoteError,
    cause=Cause.CONNECTION,
    retryable=True,
    hint="Check host and port of the Base URL, and whether the service is up.",
):
    """No connection, or it broke before a whole answer came."""


# The server has acted; only the caller knows whether twice is harmless.
class AnswerBroken(
    ConnectionFailed,
    retryable=False,
    hint="Check what the request did before you repeat it.",
):
    """The connection broke in the middle of the answer."""


class DnsFailed(
    RemoteError,
    cause=Cause.DNS,
    hint="Check the host name in the Base URL for a typing error.",
):
    """The host name could not be resolved."""


class TlsFailed(
    RemoteError,
    cause=Cause.TLS,
    hint=(
        "Check the server's certificate; add a private CA to CA certificates"
        " (tls.ca_file)."
    ),
):
    """The TLS handshake failed."""


# Whether the server acted is unknown: repeating the request needs a decision.
class TimedOut(
    RemoteError,
    cause=Cause.TIMEOUT,
    hint=(
        "If the API is known to be slow, raise limits.read_timeout and"
        " limits.total_timeout."
    ),
):
    """No whole answer came in time."""


class ConnectTimedOut(
    TimedOut,
    retryable=True,  # nothing was sent yet
    hint=(
        "Check host, port and firewall; raise limits.connect_timeout if it is far away."
    ),
):
    """The connection could not be opened in time."""


class ResponseTooLarge(
    RemoteError,
    cause=Cause.RESPONSE_TOO_LARGE,
    hint="Ask for less at a time, or raise Response size (limits.response_mebibytes).",
):
    """The answer is larger than the configured limit."""


class TokenEndpointFailed(
    RemoteError, cause=Cause.TOKEN_ENDPOINT, hint="Check the Token URL."
):
    """No token could be got from the Token URL."""

    def __init__(
        self,
        message: str | None = None,
        *,
        hint: str | None = None,
        reason: str = "",
        their_time: float | None = None,
    ) -> None:
        # The reason is a word of ours or of RFC 6749, never the provider's own text.
        super().__init__(message, hint=hint, field="oauth2.token_url", reason=reason)
        self.their_time = their_time  # by the provider's clock, where its answer tells


class SyncFailed(
    RemoteError,
    code="sync_failed",
    hint="Preview the line to see what the API answers, and correct the line.",
):
    """The answer of the API cannot be synchronized."""


class BadAnswer(RemoteError):
    """The external system answered with an error."""

    def __init__(self, cause: Cause, status: int, remedy: str) -> None:
        super().__init__(
            f"the API answered {status} ({cause.replace('_', ' ')})", hint=remedy
        )
        self.code = self.cause = cause  # type: ignore[misc]  # here the answer decides
        self.status = status


# ── we refused ───────────────────────────────────────────────────────────────────────────────


class PolicyError(OutkeyError):
    """outkey refused to send this."""


class EgressDenied(PolicyError, cause=Cause.EGRESS_DENIED):
    """The destination is not allowed for this configuration."""


class RedirectBlocked(
    PolicyError,
    cause=Cause.REDIRECT_BLOCKED,
    hint="Put the address the API really lives at into the Base URL.",
):
    """The server redirected to a place where these credentials must not go."""


class RateLimited(
    PolicyError,
    cause=Cause.RATE_LIMITED,
    retryable=True,
    hint=(
        "Send later, or raise Rate limit (limits.requests_per_minute) if the API"
        " permits more."
    ),
):
    """The configuration's own rate limit leaves no room within the total time."""


class Paused(
    PolicyError,
    code="paused",
    cause=Cause.INVALID_CREDENTIALS,
    hint=(
        "Enter the right credentials, or test the configuration; outkey resume NAME"
        " sends with the same ones again."
    ),
):
    """Sending is paused: the API has refused the credentials again and again."""


class TlsBelowFloor(
    PolicyError,
    cause=Cause.TLS,
    hint="Have the server updated; TLS 1.2 is the lowest version outkey speaks.",
):
    """The server offers no TLS version as new as the configuration demands."""


class BlockedByPolicy(PolicyError, code="policy", cause=Cause.CONFIGURATION):
    """The operator's policy does not allow this configuration."""


class AuthenticationRequired(
    PolicyError,
    code="authentication_required",
    cause=Cause.CONFIGURATION,
    hint="Choose Basic or Bearer Token, or give the Reason public API if it is one.",
):
    """A production API on the public internet must not have Authentication Type None."""


# ── our storage, key or audit ────────────────────────────────────────────────────────────────


class HostError(OutkeyError):
    """outkey's own storage failed."""


class StorageUnavailable(
    HostError,
    code="storage_unavailable",
    retryable=True,
    hint="Check that the database runs and has room on its disk; then try again.",
):
    """outkey's database does not answer, or is locked."""


class Sealed(
    HostError,
    cause=Cause.SEALED,
    hint="Put the right key back (OUTKEY_KEY, OUTKEY_KEY_FILE or the key file).",
):
    """The key that opens the stored secrets is missing, wrong or damaged."""


class SecretUnreadable(
    HostError,
    code="secret_unreadable",
    hint="It was moved, changed or bound to another origin: enter the secret again.",
):
    """A stored secret does not open where it stands."""


class AuditUnavailable(
    HostError,
    code="audit_unavailable",
    retryable=True,
    hint="Make the audit log writable again; sending resumes by itself.",
):
    """The attempt could not be recorded, so nothing was sent."""


class ChainBroken(
    HostError,
    code="chain_broken",
    hint="Find out who changed it; keep a copy of the database and the checkpoints.",
):
    """The audit does not verify, so nothing is done that would hide that."""
