"""Every error outkey raises, as one tree split by blame, and the causes a person is told.

    OutkeyError
    ├── ConfigError            fix your settings
    │   ├── HeaderFormatError      a name or value that is no header
    │   ├── HeaderConflict         two sources set one header
    │   ├── SecretMissing          a secret is not entered or its reference finds nothing
    │   ├── KeyStepRefused         a step of a key rotation that would lose secrets
    │   ├── SecretRebindRequired   a secret was entered for another origin
    │   ├── ReauthorizationNeeded  a person must allow the access again
    │   ├── ScriptFailed           a signing script failed, or cannot be run here
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
        self.reason = reason  # a word of ours that says more than the class, for a diagnosis
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
        return {"code": code, "message": self.message, "hint": self.hint, "field": self.field}


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


# ── fix your settings ────────────────────────────────────────────────────────────────────────


class ConfigError(OutkeyError):
    """The configuration is not usable as it is."""

    code = "configuration"
    cause = Cause.CONFIGURATION


class HeaderFormatError(ConfigError):
    """A header name or value is not valid HTTP."""

    code = cause = Cause.HEADER_FORMAT
    default_hint = "Review the authentication header format."


class HeaderConflict(ConfigError):
    """Two sources set the same header."""

    code = "header_conflict"
    default_hint = "Keep one of the two; a header has exactly one source."


class SecretMissing(ConfigError):
    """A secret that this configuration needs is missing."""

    code = cause = Cause.SECRET_MISSING
    default_hint = "Enter the secret, or set what its reference names."


class KeyStepRefused(ConfigError):
    """That step of the key rotation would be unsafe."""

    code = "key_step_refused"


class SecretRebindRequired(ConfigError):
    """The secret was entered for another address than the Base URL has now."""

    code = "secret_rebind_required"
    default_hint = "Enter the secret again, if the new address is meant to get it."


class ReauthorizationNeeded(ConfigError):
    """The provider wants a person to allow the access, for the first time or again."""

    code = cause = Cause.REAUTHORIZATION_NEEDED
    default_hint = (
        "Press Connect on the configuration's page, run outkey token authorize NAME,"
        " or enter a new refresh token."
    )


class ScriptFailed(ConfigError):
    """The signing script failed."""

    code = cause = Cause.SCRIPT_ERROR
    default_hint = "Correct the script; the guide to scripts says what it may use."

    def __init__(
        self, message: str | None = None, *, hint: str | None = None, field: str | None = "script"
    ) -> None:
        super().__init__(message, hint=hint, field=field)


class EditConflict(ConfigError):
    """Somebody else has changed the configuration meanwhile."""

    code = "conflict"
    default_hint = "Look at what changed, and make your change again."


class LineBusy(ConfigError):
    """Another run of this sync line is under way."""

    code = "line_busy"
    default_hint = "Wait until it ends, or cancel it."


class RunStopped(ConfigError):
    """The run was stopped; its reason is `cancelled` or `taken_over`."""

    code = "run_stopped"
    default_hint = "Look at the line's newest runs, and run it again if it is still needed."


class UnknownConfiguration(ConfigError):
    """There is no configuration of that name."""

    code = "unknown_configuration"


class InactiveConfiguration(ConfigError):
    """The configuration is switched off."""

    code = "inactive"
    default_hint = "Set Active (active = true) to send with it again."


# ── they answered badly, or not at all ───────────────────────────────────────────────────────


class RemoteError(OutkeyError):
    """The external system did not answer as it should."""


class ConnectionFailed(RemoteError):
    """No connection, or it broke before a whole answer came."""

    code = cause = Cause.CONNECTION
    retryable = True
    default_hint = "Check host and port of the Base URL, and whether the service is up."


class AnswerBroken(ConnectionFailed):
    """The connection broke in the middle of the answer."""

    retryable = False  # the server has acted; only the caller knows whether twice is harmless
    default_hint = "Check what the request did before you repeat it."


class DnsFailed(RemoteError):
    """The host name could not be resolved."""

    code = cause = Cause.DNS
    default_hint = "Check the host name in the Base URL for a typing error."


class TlsFailed(RemoteError):
    """The TLS handshake failed."""

    code = cause = Cause.TLS
    default_hint = (
        "Check the server's certificate; add a private CA to CA certificates (tls.ca_file)."
    )


class TimedOut(RemoteError):
    """No whole answer came in time."""

    code = cause = Cause.TIMEOUT
    # Whether the server acted is unknown: repeating the request needs a decision.
    default_hint = (
        "If the API is known to be slow, raise limits.read_timeout and limits.total_timeout."
    )


class ConnectTimedOut(TimedOut):
    """The connection could not be opened in time."""

    retryable = True  # nothing was sent yet
    default_hint = "Check host, port and firewall; raise limits.connect_timeout if it is far away."


class ResponseTooLarge(RemoteError):
    """The answer is larger than the configured limit."""

    code = cause = Cause.RESPONSE_TOO_LARGE
    default_hint = "Ask for less at a time, or raise Response size (limits.response_mebibytes)."


class TokenEndpointFailed(RemoteError):
    """No token could be got from the Token URL."""

    code = cause = Cause.TOKEN_ENDPOINT
    default_hint = "Check the Token URL."

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


class SyncFailed(RemoteError):
    """The answer of the API cannot be synchronized."""

    code = "sync_failed"
    default_hint = "Preview the line to see what the API answers, and correct the line."


class BadAnswer(RemoteError):
    """The external system answered with an error."""

    def __init__(self, cause: Cause, status: int, remedy: str) -> None:
        super().__init__(f"the API answered {status} ({cause.replace('_', ' ')})", hint=remedy)
        self.code = self.cause = cause  # type: ignore[misc]  # here the answer decides
        self.status = status


# ── we refused ───────────────────────────────────────────────────────────────────────────────


class PolicyError(OutkeyError):
    """outkey refused to send this."""


class EgressDenied(PolicyError):
    """The destination is not allowed for this configuration."""

    code = cause = Cause.EGRESS_DENIED


class RedirectBlocked(PolicyError):
    """The server redirected to a place where these credentials must not go."""

    code = cause = Cause.REDIRECT_BLOCKED
    default_hint = "Put the address the API really lives at into the Base URL."


class RateLimited(PolicyError):
    """The configuration's own rate limit leaves no room within the total time."""

    code = cause = Cause.RATE_LIMITED
    retryable = True
    default_hint = (
        "Send later, or raise Rate limit (limits.requests_per_minute) if the API permits more."
    )


class Paused(PolicyError):
    """Sending is paused: the API has refused the credentials again and again."""

    code = "paused"
    cause = Cause.INVALID_CREDENTIALS
    default_hint = (
        "Enter the right credentials, or test the configuration;"
        " outkey resume NAME sends with the same ones again."
    )


class TlsBelowFloor(PolicyError):
    """The server offers no TLS version as new as the configuration demands."""

    code = cause = Cause.TLS
    default_hint = "Have the server updated; TLS 1.2 is the lowest version outkey speaks."


class BlockedByPolicy(PolicyError):
    """The operator's policy does not allow this configuration."""

    code = "policy"
    cause = Cause.CONFIGURATION


class AuthenticationRequired(PolicyError):
    """A production API on the public internet must not have Authentication Type None."""

    code = "authentication_required"
    cause = Cause.CONFIGURATION
    default_hint = "Choose Basic or Bearer Token, or give the Reason public API if it is one."


# ── our storage, key or audit ────────────────────────────────────────────────────────────────


class HostError(OutkeyError):
    """outkey's own storage failed."""


class StorageUnavailable(HostError):
    """outkey's database does not answer, or is locked."""

    code = "storage_unavailable"
    retryable = True
    default_hint = "Check that the database runs and has room on its disk; then try again."


class Sealed(HostError):
    """The key that opens the stored secrets is missing, wrong or damaged."""

    code = cause = Cause.SEALED
    default_hint = "Put the right key back (OUTKEY_KEY, OUTKEY_KEY_FILE or the key file)."


class SecretUnreadable(HostError):
    """A stored secret does not open where it stands."""

    code = "secret_unreadable"
    default_hint = "It was moved, changed or bound to another origin: enter the secret again."


class AuditUnavailable(HostError):
    """The attempt could not be recorded, so nothing was sent."""

    code = "audit_unavailable"
    retryable = True
    default_hint = "Make the audit log writable again; sending resumes by itself."


class ChainBroken(HostError):
    """The audit does not verify, so nothing is done that would hide that."""

    code = "chain_broken"
    default_hint = "Find out who changed it; keep a copy of the database and the checkpoints."
