"""Lending credentials to another HTTP client: outkey decides, the other client sends.

Origin, conflicts, refusals, the rate limit and the record are checked here; what needs
the connection (addresses, TLS settings, redirects, caps) is up to the other client.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from outkey.foundation.core.errors import (
    ConfigError,
    EgressDenied,
    OutkeyError,
    ScriptFailed,
)
from outkey.foundation.core.origin import parse_url
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.text import Text
from outkey.sending.core.audit.events import Outcome, Refusal, Tag, intent_of
from outkey.sending.core.aws.error_codes import says_session_expired
from outkey.sending.core.aws.requests import is_signed
from outkey.sending.core.configuration.checks import refuse_unsendable
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.oauth2.token import AccessToken
from outkey.sending.core.request.addresses import is_address
from outkey.sending.core.request.assembly import authenticated_request
from outkey.sending.core.request.message import (
    Header,
    Request,
    Response,
    ResponseHeaders,
    Source,
)
from outkey.sending.core.request.schemes.fetched import is_rejected
from outkey.sending.engine.exchange.scripts import sign
from outkey.sending.engine.tokens.renewal import token_manager
from outkey.sending.engine.tokens.token_source import TokenRequest
from outkey.sending.engine.wire.context import SendContext
from outkey.sending.engine.wire.steps import Steps

if TYPE_CHECKING:
    from outkey.sending.engine.rotation.trial import Turn

# What HTTP clients set by themselves; everything else in a request is the caller's own.
_CLIENT_DEFAULTS = frozenset(
    {"accept", "accept-encoding", "connection", "content-type", "user-agent"}
)
_LENT = frozenset({Source.AUTHENTICATION, Source.ROW, Source.SCRIPT})


@dataclass(frozen=True, slots=True)
class Loan:
    """The headers to add to one request, and the attempt they are recorded under."""

    headers: tuple[Header, ...]
    configuration: str
    attempt: str
    started: float
    revision: int
    token: AccessToken | None = None  #: renewed where the API refuses it
    renewed: bool = False  #: after the API refused another token
    subject: Secret | None = None  #: the user's token that it was exchanged for
    turn: Turn | None = None  #: of a trial, with the next credentials
    connection: str | None = None  #: the account that they are of

    def is_replaced_by(self, other: Loan) -> bool:
        """Whether another loan has other credentials, so that a retry makes sense."""
        return (self.turn, self.token) != (other.turn, other.token)

    def outcome(self, status: int, now: float) -> Outcome:
        """Describe how the request ended; status 0 means without a response."""
        result = "unknown" if not status else "ok" if status < 400 else "answered"
        duration = round((now - self.started) * 1000)
        return Outcome(
            attempt=self.attempt,
            configuration=self.configuration,
            status=status,
            outcome=result,
            duration_ms=duration,
            connection=self.connection or "",
        )


def lend(  # noqa: PLR0913 - the parts of a request
    context: SendContext,
    configuration: Configuration,
    method: str,
    url: str,
    existing_headers: Iterable[str],
    *,
    body: bytes | None,
    rejected: AccessToken | None = None,
    subject: Secret | None = None,
) -> Steps[Loan]:
    """Return the credentials for a request to the configuration's own origin.

    The body is None where it will come from a stream.
    """
    token = None
    context = context.for_send(configuration)
    try:
        manager = token_manager(context, configuration, subject)
        refuse_unsendable(configuration)
        _refuse_unlendable(context, configuration)
        if configuration.needs_csrf_token(method.upper()):
            # The other client would have to repeat a request whose token has ended.
            raise _unlendable_error()
        context.lockout_guard.refuse_paused(configuration)
        request = _borrowing_request(
            context, configuration, method, url, existing_headers
        )
        if not configuration.fetches_token:  # else when a token is fetched
            yield from context.read_stores(configuration)
        if configuration.is_scripted or configuration.signs_for_aws:
            request = _signable_request(configuration, request, url, body)
        if configuration.signs_for_aws and not isinstance(existing_headers, Mapping):
            _refuse_unknown_values(request)
        if configuration.fetches_token:
            needed = TokenRequest(rejected, token_was_refused=rejected is not None)
            token = yield from manager.get(needed)
        request = authenticated_request(
            request,
            configuration,
            context.opener(configuration),
            token,
            manager.proof,
            partial(sign, context, configuration, ""),
            now=context.moment(configuration, request.origin),
        )
        if request.script_parameters:
            raise _unlendable_error()
        context.permit(configuration, patience=0.0)
    except OutkeyError as error:
        yield Refusal(
            attempt="",
            configuration=configuration.name,
            line="",
            code=str(error.code),
            connection=configuration.connection_id,
        )
        raise
    intent = intent_of(configuration, "", request, 0, Tag.SEND_INTENT)
    if context.reads is not None:
        intent = intent._replace(sources=context.reads.sources())
    attempt: str = yield intent
    return Loan(
        headers=tuple(header for header in request.headers if header.source in _LENT),
        configuration=configuration.name,
        attempt=attempt,
        started=context.clock.monotonic(),
        revision=configuration.revision,
        token=token,
        renewed=rejected is not None,
        subject=subject,
        connection=configuration.connection_id or None,
    )


def settle(
    context: SendContext,
    find: Callable[[], Configuration],
    loan: Loan,
    status: int,
    headers: Iterable[tuple[str, str]],
) -> Steps[bool]:
    """Record how a request with lent credentials ended; status 0: no response.

    `find` returns the configuration that they were lent by, as it is now. Returns
    whether the response refuses the token.
    """
    yield loan.outcome(status, context.clock.monotonic())
    if not status:
        return False
    configuration = find()
    # A refused token is renewed first; only a refusal of the renewed one counts.
    if loan.token is None or loan.renewed or status != 401:
        lent_by = replace(configuration, revision=loan.revision)
        context.lockout_guard.record_status(lent_by, status, context.clock.now())
    if loan.token is None:
        return False
    if status < 400:
        token_manager(context, configuration, loan.subject).note_accepted()
    response = Response(status, ResponseHeaders(tuple(headers)))
    if configuration.signs_for_aws:
        return says_session_expired(response)
    return is_rejected(response, configuration)


def _refuse_unlendable(context: SendContext, configuration: Configuration) -> None:
    """Refuse what another client could not do with headers alone."""
    proxy, _ = context.proxies.shown_for(configuration)
    is_by_request = configuration.uses_digest or configuration.uses_oauth1
    if configuration.parameter_names() or proxy or is_by_request:
        raise _unlendable_error()


def _unlendable_error() -> ConfigError:
    """Return the error for what another client could not do with headers alone."""
    return ConfigError(
        Text(
            "query parameters, a proxy, CSRF tokens, Digest and OAuth 1.0a cannot be"
            " lent to another HTTP client"
        ),
        hint=Text("Send these requests with gateway.send."),
        field="configuration",
    )


def _borrowing_request(
    context: SendContext,
    configuration: Configuration,
    method: str,
    url: str,
    existing_headers: Iterable[str],
) -> Request:
    """Return the other client's request; one to another origin is refused."""
    location = parse_url(url)
    origin = location.origin
    if origin != configuration.base.origin:
        # Unnamed: it may come from a response, which can spell a secret as a host.
        raise EgressDenied(
            Text("the request goes to another origin than the Base URL"),
            hint=Text(
                "Use this auth object only for requests to the origin of the Base URL."
            ),
        )
    if is_address(origin.host):
        context.egress.vet(configuration.network, origin, (origin.host,))
    values = existing_headers if isinstance(existing_headers, Mapping) else {}
    headers = tuple(
        Header(name, str(values.get(name, "")), source_of(name))
        for name in existing_headers
    )
    return Request(method, origin, location.target, headers)


def _signable_request(
    configuration: Configuration, request: Request, url: str, body: bytes | None
) -> Request:
    """Return the request as the other client will send it, if that can be signed."""
    failed = ScriptFailed if configuration.is_scripted else ConfigError
    if body is None:
        raise failed(
            Text("a body from a stream cannot be signed"),
            hint=Text("Pass the body as bytes."),
        )
    if url.partition("#")[0].removeprefix(str(request.origin)) != request.target:
        raise failed(
            Text("the URL would be sent in another form than the signed one"),
            hint=Text("Percent-encode path and query, and omit a default port."),
        )
    return request._replace(body=body)


def _refuse_unknown_values(request: Request) -> None:
    """Refuse headers that have to be signed, where only their names are known."""
    names = [header.name for header in request.headers if is_signed(header.name)]
    if names:
        raise ConfigError(
            Text(
                "the header {name} has to be signed, and its value is unknown",
                name=names[0],
            ),
            hint=Text("Pass the headers with their values, as a mapping."),
            field="existing_headers",
        )


def source_of(name: str) -> Source:
    """Return whether a header of the other client is a default or the caller's own."""
    return Source.DEFAULT if name.lower() in _CLIENT_DEFAULTS else Source.CALLER
