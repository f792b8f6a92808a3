"""Every error that outkey raises, as one tree split by blame, and the causes.

    OutkeyError
    ├── ConfigError            fix your settings
    │   ├── HeaderFormatError      an invalid header name or value
    │   ├── HeaderConflict         two sources set one header
    │   ├── ParameterConflict      two sources set one query parameter or cookie
    │   ├── BackendUnknown         a reference into a store that no backend is for
    │   ├── SecretMissing          a secret is not entered, or its reference is empty
    │   ├── KeyStepRefused         a step of a key rotation that would lose secrets
    │   ├── SecretRebindRequired   a secret was entered for another origin
    │   ├── ReauthorizationNeeded  a user must authorize the access again
    │   ├── ScriptFailed           a script failed, or cannot be run here
    │   ├── EditConflict           another user saved a change first
    │   ├── LineBusy               another run of the sync line is active
    │   ├── LinePaused             a user has paused the sync line
    │   ├── OnHold                 the installation was restored, and not resumed yet
    │   ├── RotationNone           no next, or no previous credentials
    │   ├── RotationUntested       nothing proves that those credentials work
    │   ├── RotationPending        another rotation has not ended
    │   ├── RunStopped             a run was cancelled, or another process took it over
    │   ├── InvalidRequest         a request to the HTTP interface that cannot be read
    │   ├── NoFeed                 a table whose changes are not recorded
    │   ├── CursorExpired          changes that are not stored any more
    │   ├── UnknownConfiguration   no configuration with that name
    │   ├── ConnectionMissing      the configuration needs one, and none was named
    │   ├── UnknownConnection      the configuration has no connection with that id
    │   ├── VariableMissing        a variable of the connection has no value
    │   ├── AccountChanged         another account than before was connected
    │   └── InactiveConfiguration  it is switched off
    ├── RemoteError            the external system failed
    │   ├── ConnectionFailed       no response; ResponseBroken: a part of one
    │   ├── TimedOut               too late; ConnectTimedOut: before anything was sent
    │   ├── DnsFailed  ├── TlsFailed  ├── ResponseTooLarge
    │   ├── TokenEndpointFailed    no token: the provider refused, or did not respond
    │   ├── ProxyFailed            the proxy; ProxyConnectionFailed: nothing was sent
    │   ├── LoginRefused           no token: the API refused user or password
    │   ├── SyncFailed             a response whose records or next page are unreadable
    │   └── BadResponse            one with a known cause (Response.raise_for_cause)
    ├── PolicyError            we refused
    │   ├── EgressDenied       ├── RedirectBlocked
    │   ├── RateLimited        ├── TlsBelowFloor
    │   ├── Paused                 refused too often; ConnectionPaused: one account
    │   ├── TokenRefused           no API token, or none that is valid
    │   ├── ScopeMissing           an API token without the right to this
    │   ├── BlockedByPolicy        a weakness that the operator does not allow
    │   └── AuthenticationRequired the rule on None
    └── HostError              our storage, key or audit
        ├── StorageUnavailable     the database does not respond or is locked
        ├── BackendUnavailable     an external store of secrets cannot be read
        ├── Sealed                 the key is missing, wrong or damaged
        ├── SecretUnreadable       a ciphertext cannot be decrypted here
        ├── RowUnreadable          a row that outkey did not write like this
        ├── ChainBroken            the audit was tampered with
        ├── AuditUnavailable       no record, no send
        ├── ServerBusy             too many requests at the same time
        ├── WorkerMissing          nothing does runs and processes deliveries
        ├── TimeInFuture           a clock was ahead, or this one is behind
        └── InternalError          a fault of outkey itself

The docstring of a class is its default message. Remote text and secret values never
enter a message.
"""

from collections.abc import Callable
from enum import StrEnum
from functools import wraps
from shlex import quote
from types import FunctionType
from typing import ClassVar, NotRequired, ParamSpec, TypedDict, TypeVar

from outkey.foundation.core.text import NO_TEXT, Text, as_text

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
Decorated = TypeVar("Decorated")


class Cause(StrEnum):
    """The cause of a failure, by the name that every interface and program uses."""

    @property
    def label(self) -> Text:
        """The cause as a user reads it."""
        if self is Cause.EGRESS_DENIED:
            return Text("refused by outkey's network rule")
        return Text(self.replace("_", " "))

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
    PROXY = "proxy"
    TOKEN_ENDPOINT = "token_endpoint"  # noqa: S105 - the name of a cause
    REAUTHORIZATION_NEEDED = "reauthorization_needed"
    SCRIPT_ERROR = "script_error"
    SECRET_MISSING = "secret_missing"  # noqa: S105 - the name of a cause
    BACKEND_UNAVAILABLE = "backend_unavailable"
    CONFIGURATION = "configuration"
    CONNECTION_MISSING = "connection_missing"
    UNKNOWN_CONNECTION = "unknown_connection"
    VARIABLE_MISSING = "variable_missing"
    ACCOUNT_CHANGED = "account_changed"
    PAUSED = "paused"
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
    said: NotRequired[str]


class OutkeyError(Exception):
    """Something in outkey failed."""

    code: ClassVar[str] = "unexpected"
    cause: ClassVar[Cause] = Cause.UNEXPECTED
    default_hint: ClassVar[Text] = NO_TEXT
    retryable: ClassVar[bool] = False
    # The words of the other side, without secrets; shown as a quotation, if at all.
    said: str = ""
    pause: float = 0.0  # seconds that the API asked to wait before the next request

    def __init_subclass__(
        cls,
        code: str = "",
        cause: str = "",
        hint: str = "",
        *,
        retryable: bool | None = None,
    ) -> None:
        """Set the attributes of a class; a cause without a code is its own code."""
        attributes = {
            "code": code or cause,
            "cause": cause,
            "default_hint": Text(hint),
            "retryable": retryable,
        }
        for name, value in attributes.items():
            if value not in {None, ""}:
                setattr(cls, name, value)

    def __init__(
        self,
        message: Text | None = None,
        *,
        hint: Text | None = None,
        field: str | None = None,
        reason: str = "",
    ) -> None:
        # Code outside of this project may pass plain strings.
        self.message = as_text(message) if message else self.default_message()
        self.hint = self.default_hint if hint is None else as_text(hint)
        self.field = field
        self.reason = reason  # more precise than the class, for a diagnosis
        super().__init__(self.message)
        # What a traceback shows besides the message.
        for label, text in (("field", self.field), ("hint", self.hint)):
            if text:
                self.add_note(f"{label}: {text}")

    def replace_message(self, message: Text) -> None:
        """Add details to an error after it was made."""
        self.message = message
        self.args = (message,)

    @classmethod
    def default_message(cls) -> Text:
        """Return the docstring of the class as a message."""
        docstring = (cls.__doc__ or "").strip().removesuffix(".")
        return Text(docstring[:1].lower() + docstring[1:])

    def facts(self) -> ErrorFacts:
        """Return the error as programs read it."""
        facts: ErrorFacts = {
            "code": str(self.code),
            "message": self.message,
            "hint": self.hint,
            "field": self.field,
        }
        if self.said:
            facts["said"] = self.said
        return facts


def without_traceback(error: OutkeyError) -> OutkeyError:
    """Return an error without its frames and its history, which may hold a secret."""
    error.__cause__ = error.__context__ = None
    return error.with_traceback(None)


def drop_traceback(
    function: Callable[Parameters, Result],
) -> Callable[Parameters, Result]:
    """Decorate a function that handles secrets: remove the frames of its errors."""

    @wraps(function)
    def guarded(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        try:
            return function(*args, **kwargs)
        except OutkeyError as error:
            failure = error
        raise without_traceback(failure)

    return guarded


def drop_tracebacks(kind: type[Decorated]) -> type[Decorated]:
    """Decorate a class: each of its public methods drops tracebacks."""
    for name, member in list(vars(kind).items()):
        if isinstance(member, FunctionType) and not name.startswith("_"):
            setattr(kind, name, drop_traceback(member))
    return kind


# ── fix your settings ───────────────────────────────────────────────────────────────


class ConfigError(OutkeyError, code="configuration", cause=Cause.CONFIGURATION):
    """The configuration cannot be used as it is."""


class HeaderFormatError(
    ConfigError,
    cause=Cause.HEADER_FORMAT,
    hint="Review the authentication header format.",
):
    """A header name or value is not valid HTTP."""

    def __init__(
        self,
        message: Text | None = None,
        *,
        hint: Text | None = None,
        field: str | None = None,
        fault: str = "",
    ) -> None:
        super().__init__(message, hint=hint, field=field)
        self.fault = fault  # the id of a reason in sending.core.diagnosis, if known


class HeaderConflict(
    ConfigError,
    code="header_conflict",
    hint="Remove one of the two; a header has exactly one source.",
):
    """Two sources set the same header."""


class ParameterConflict(
    ConfigError,
    code="parameter_conflict",
    hint="Remove one of the two; a parameter or cookie has exactly one source.",
):
    """Two sources set the same query parameter or cookie."""


class SecretMissing(
    ConfigError,
    cause=Cause.SECRET_MISSING,
    hint="Enter the secret, or set the environment variable or file it refers to.",
):
    """A secret that this configuration needs is missing."""


class BackendUnknown(
    ConfigError,
    code="backend_unknown",
    hint="An operator adds backends to config/backends.toml. See: outkey backend list",
):
    """There is no backend for this reference."""


class KeyStepRefused(ConfigError, code="key_step_refused"):
    """That step of the key rotation would be unsafe."""


class SecretRebindRequired(
    ConfigError,
    code="secret_rebind_required",
    hint="Enter the secret again if it is meant for the new URL.",
):
    """The secret was entered for another Base URL than the present one."""


class ReauthorizationNeeded(
    ConfigError,
    cause=Cause.REAUTHORIZATION_NEEDED,
    hint=(
        "Press Connect on the configuration's page, run outkey token authorize, or"
        " enter a new refresh token."
    ),
):
    """A user must authorize the access, for the first time or again."""


class ScriptFailed(
    ConfigError,
    cause=Cause.SCRIPT_ERROR,
    hint="Correct the script; the guide to scripts lists what it may use.",
):
    """The script failed."""

    def __init__(
        self,
        message: Text | None = None,
        *,
        hint: Text | None = None,
        field: str | None = "script",
    ) -> None:
        super().__init__(message, hint=hint, field=field)


class EditConflict(
    ConfigError,
    code="conflict",
    hint="Check what was changed, and make your change again.",
):
    """Another user has changed the configuration in the meantime."""


class LineBusy(ConfigError, code="line_busy", hint="Wait until it ends, or cancel it."):
    """Another run of this sync line is active."""

    run = ""  # the id of that run, where it is known


class LinePaused(ConfigError, code="line_paused", hint="Resume the sync line."):
    """The sync line is paused."""


class OnHold(
    ConfigError,
    code="on_hold",
    hint=(
        "If the installation that was backed up does not run any more, run:"
        " outkey resume --all"
    ),
):
    """A restored installation runs no line and renews no token until it is resumed."""


class RotationNone(
    ConfigError,
    code="rotation_none",
    hint="Stage a secret first: outkey secret stage NAME FIELD.",
):
    """There are no next credentials."""


class RotationUntested(ConfigError, code="rotation_untested"):
    """Nothing proves yet that these credentials work."""


class RotationPending(ConfigError, code="rotation_pending"):
    """Another rotation of this configuration has not ended."""


class RunStopped(
    ConfigError,
    code="run_stopped",
    hint="Check the newest runs of the line, and run it again if needed.",
):
    """The run was stopped."""

    # Its reason is `cancelled`, `taken_over`, `stopping` or `line_paused`.


class NoFeed(
    ConfigError,
    code="no_feed",
    hint="Add feed = true to the line that fills the table, and run it.",
):
    """The changes of the table are not recorded."""


class CursorExpired(
    ConfigError,
    code="cursor_expired",
    hint="Read all rows again, and continue at the cursor of their first page.",
):
    """Changes after this cursor are not stored any more."""


class UnknownConfiguration(ConfigError, code="unknown_configuration"):
    """There is no configuration with that name."""


class ConnectionMissing(
    ConfigError,
    cause=Cause.CONNECTION_MISSING,
    hint=(
        "Name the connection: --connection ID, connection= in Python, or the header"
        " X-Outkey-Connection."
    ),
):
    """The configuration is used with a connection only, and none was named."""


class UnknownConnection(
    ConfigError,
    cause=Cause.UNKNOWN_CONNECTION,
    hint="List the connections: outkey connection list CONFIG",
):
    """The configuration has no connection with that id."""


class VariableMissing(
    ConfigError,
    cause=Cause.VARIABLE_MISSING,
    hint=(
        "Enter it: outkey connection update CONFIG ID --set VARIABLE=VALUE. Or connect"
        " the account again if the provider names the value."
    ),
):
    """A variable of the connection has no value."""


class AccountChanged(
    ConfigError,
    cause=Cause.ACCOUNT_CHANGED,
    hint=(
        "Sign in with the same account as before, or ask for a link that allows"
        " another one (--allow-other-account)."
    ),
):
    """This is another account than the one that was connected before."""


class InvalidRequest(ConfigError, code="invalid_request"):
    """The request to the HTTP interface cannot be read."""


class InactiveConfiguration(
    ConfigError,
    code="inactive",
    hint="Set Active (active = true) to send with it again.",
):
    """The configuration is switched off."""


# ── the external system failed ────────────────────────────────────────────────────


class RemoteError(OutkeyError):
    """The external system did not respond as expected."""


class ConnectionFailed(
    RemoteError,
    cause=Cause.CONNECTION,
    retryable=True,
    hint="Check host and port of the Base URL, and whether the service is up.",
):
    """No connection, or it was closed before the response was complete."""


# The server has acted; only the caller knows whether twice is harmless.
class ResponseBroken(
    ConnectionFailed,
    retryable=False,
    hint="Check what the request did before you repeat it.",
):
    """The connection was closed in the middle of the response."""


class DnsFailed(
    RemoteError,
    cause=Cause.DNS,
    hint="Check the host name in the Base URL for typos.",
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
    """No complete response arrived in time."""


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
    hint="Request less at a time, or raise Response size (limits.response_mebibytes).",
):
    """The response is larger than the configured limit."""


class TokenEndpointFailed(
    RemoteError, cause=Cause.TOKEN_ENDPOINT, hint="Check the Token URL."
):
    """The Token URL did not return a token."""

    def __init__(
        self,
        message: Text | None = None,
        *,
        hint: Text | None = None,
        reason: str = "",
        their_time: float | None = None,
        field: str = "oauth2.token_url",
    ) -> None:
        # The reason is one of ours or of RFC 6749, never text of the provider.
        super().__init__(message, hint=hint, field=field, reason=reason)
        self.their_time = their_time  # by the provider's clock, if it is known
        # The id of a reason of sending.core.diagnosis that the response suggests.
        self.suspected = ""
        # The part of an assertion that the response is about.
        self.assertion_problem = ""
        # The ways of client authentication that it names, as RFC 7591 §2 writes them.
        self.named_methods: frozenset[str] = frozenset()


class ProxyFailed(
    RemoteError,
    cause=Cause.PROXY,
    hint="Check the proxy that the configuration or the operator's policy names.",
):
    """The proxy failed, or refused the request."""


class ProxyConnectionFailed(ProxyFailed, retryable=True):
    """The proxy did not connect us to the server."""


class LoginRefused(
    RemoteError,
    cause=Cause.INVALID_CREDENTIALS,
    hint=(
        "Check the username and password. Also compare Login body with the"
        " documentation of the API. outkey repeats a refused login after a minute at"
        " the earliest."
    ),
):
    """The API refused the login."""


class SyncFailed(
    RemoteError,
    code="sync_failed",
    hint="Preview the line to see the response of the API, and correct the line.",
):
    """The response of the API cannot be synchronized."""


class BadResponse(RemoteError):
    """The external system responded with an error."""

    def __init__(self, cause: Cause, status: int, remedy: Text) -> None:
        super().__init__(
            Text(
                "the API responded with status {status} ({cause})",
                status=status,
                cause=cause.label,
            ),
            hint=remedy,
        )
        self.code = self.cause = cause  # type: ignore[misc]  # of the response
        self.status = status


# ── we refused ────────────────────────────────────────────────────────────────────


class PolicyError(OutkeyError):
    """outkey refused to send this."""


class EgressDenied(PolicyError, cause=Cause.EGRESS_DENIED):
    """The destination is not allowed for this configuration."""


class RedirectBlocked(
    PolicyError,
    cause=Cause.REDIRECT_BLOCKED,
    hint="Enter the URL that the API redirects to as the Base URL, if you trust it.",
):
    """The server redirected to an origin that must not get these credentials."""


class RateLimited(
    PolicyError,
    cause=Cause.RATE_LIMITED,
    retryable=True,
    hint=(
        "Send later, or raise Rate limit (limits.requests_per_minute) if the API"
        " permits more."
    ),
):
    """The rate limit of the configuration allows no request within the timeout."""


class Paused(
    PolicyError,
    code="paused",
    cause=Cause.INVALID_CREDENTIALS,
    hint=(
        "Enter the right credentials, or test the configuration; outkey resume"
        " resumes sending with the present ones."
    ),
):
    """Sending is paused: the API has rejected the credentials several times."""


class ConnectionPaused(
    Paused,
    code="paused",
    cause=Cause.PAUSED,
    hint="Resume it: outkey connection resume CONFIG ID",
):
    """The connection is paused."""


class TokenRefused(
    PolicyError,
    code="unauthorized",
    cause=Cause.INVALID_CREDENTIALS,
    hint="Send a valid one as Authorization: Bearer ok_….",
):
    """The API token is missing, unknown, expired or revoked."""


class ScopeMissing(PolicyError, code="forbidden", cause=Cause.INSUFFICIENT_PERMISSIONS):
    """The API token does not permit this."""


class TlsBelowFloor(
    PolicyError,
    cause=Cause.TLS,
    hint="Have the server updated; TLS 1.2 is the oldest version that outkey supports.",
):
    """The server does not support the TLS version that the configuration requires."""


class BlockedByPolicy(PolicyError, code="policy", cause=Cause.CONFIGURATION):
    """The operator's policy does not allow this configuration."""


class AuthenticationRequired(
    PolicyError,
    code="authentication_required",
    cause=Cause.CONFIGURATION,
    hint="Choose Basic or Bearer Token, or the Reason public API if it is one.",
):
    """A public production API must not have Authentication Type None."""


# ── our storage, key or audit ─────────────────────────────────────────────────────


class HostError(OutkeyError):
    """The storage of outkey failed."""


class StorageUnavailable(
    HostError,
    code="storage_unavailable",
    retryable=True,
    hint="Check that the database is running and has free disk space, and retry.",
):
    """The database of outkey does not respond, or is locked."""


class ServerBusy(
    HostError,
    code="busy",
    retryable=True,
    hint="Send the request again later.",
):
    """Too many requests are being served."""


class WorkerMissing(
    HostError,
    code="worker_missing",
    retryable=True,
    hint="Start `outkey serve` (with SQLite) or `outkey worker` (with PostgreSQL).",
):
    """No process does runs and processes deliveries."""


class TimeInFuture(
    HostError,
    code="time_in_future",
    hint="See what it is with: outkey doctor. Synchronize the clocks of all machines by"
    " NTP.",
):
    """A stored time lies in the future: a clock was ahead, or this one is behind."""


class InternalError(HostError, code="unexpected"):
    """outkey could not finish this because of an unexpected error."""


class BackendUnavailable(
    HostError,
    cause=Cause.BACKEND_UNAVAILABLE,
    retryable=True,
    hint="See what fails with: outkey backend check",
):
    """The external store of a secret cannot be read."""


class Sealed(
    HostError,
    cause=Cause.SEALED,
    hint="Restore the right key (OUTKEY_KEY, OUTKEY_KEY_FILE or the key file).",
):
    """The key that decrypts the stored secrets is missing, wrong or damaged."""


class SecretUnreadable(
    HostError,
    code="secret_unreadable",
    hint="It was moved, changed or bound to another origin: enter the secret again.",
):
    """A stored secret cannot be decrypted."""


class RowUnreadable(
    HostError,
    code="row_unreadable",
    hint=(
        "The database was changed without outkey, or is damaged. Enter it again, delete"
        " it, or restore a backup; outkey doctor lists all such rows."
    ),
):
    """A stored row cannot be read."""


class AuditUnavailable(
    HostError,
    code="audit_unavailable",
    retryable=True,
    hint="Make the audit log writable again; sending then resumes.",
):
    """The attempt could not be recorded, so nothing was sent."""


class ChainBroken(
    HostError,
    code="chain_broken",
    hint="Find out who changed it; save a copy of the database and the checkpoints.",
):
    """The audit cannot be verified, so nothing is changed that would hide this."""


# ── errors that several places raise, in the same words ─────────────────────────────


NAME_TAKEN = "name_taken"
REQUEST_ONLY = "request_only"  # a line that synchronizes nothing
_CHOOSE_NAME = Text("Choose another name.")


def configuration_exists() -> ConfigError:
    """Return the error for the name of a new configuration that is taken."""
    message = Text("a configuration with this name already exists")
    return ConfigError(message, hint=_CHOOSE_NAME, field="name", reason=NAME_TAKEN)


def line_exists() -> ConfigError:
    """Return the error for the name of a new sync line that is taken."""
    message = Text("a sync line with this name already exists")
    return ConfigError(message, hint=_CHOOSE_NAME, field="name", reason=NAME_TAKEN)


def unknown_line() -> UnknownConfiguration:
    """Return the error for a sync line that is not stored."""
    message = Text("there is no sync line with this name")
    return UnknownConfiguration(message, field="line")


def no_webhooks() -> ConfigError:
    """Return the error for a host that cannot store deliveries."""
    return ConfigError(
        Text("this installation has no webhooks"),
        hint=Text("Its host stores no deliveries."),
    )


def unknown_run() -> ConfigError:
    """Return the error for a run that is not stored."""
    hint = Text("See: outkey run list")
    return ConfigError(Text("there is no such run"), hint=hint, field="run")


def secret_missing(field: str) -> SecretMissing:
    """Return the error for a secret that is neither entered nor referred to."""
    kind, _, name = field.partition(":")
    # The other secrets are called by their keys in every language.
    label = Text("password") if field == "password" else field
    message = Text("{field} is not set", field=label)
    if kind == "query":
        message = Text("Query parameter {name} is not set", name=name)
    elif kind == "header":
        message = Text("Header {name} is not set", name=name)
    return SecretMissing(message, hint=Text("Enter the secret."), field=field)


def repeated(error: OutkeyError, *, field: str | None = None) -> OutkeyError:
    """Return the same error anew, for one of several places that it is raised in."""
    return type(error)(
        error.message,
        hint=error.hint,
        field=error.field if field is None else field,
        reason=error.reason,
    )


def resume_line_hint(line: str) -> Text:
    """Return the hint how a paused sync line is resumed."""
    return Text("Resume it: outkey line resume {line}", line=quote(line))


def resume_hint(name: str) -> Text:
    """Return the hint how a paused configuration is resumed."""
    return Text(
        "Enter the right credentials, or test the configuration; outkey resume {name}"
        " resumes sending with the present ones.",
        name=quote(name),
    )


def paused_connection(
    configuration: str, connection: str, *, by_operator: bool
) -> ConnectionPaused:
    """Return the error for a connection that an operator or refusals have paused."""
    command = f"{quote(configuration)} {quote(connection)}"
    if by_operator:
        hint = Text("Resume it: outkey connection resume {command}", command=command)
        return ConnectionPaused(hint=hint)
    return ConnectionPaused(
        Text(
            "the connection is paused: the API has rejected its credentials several"
            " times"
        ),
        hint=Text(
            "Connect the account again, or enter the right credentials; outkey"
            " connection resume {command} resumes sending with the present ones.",
            command=command,
        ),
    )
