"""Transmitting one request: vet the addresses, record, send, diagnose, record the end.

Requests to APIs and to authorization servers go the same way.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from outkey.foundation.core.errors import (
    Cause,
    DnsFailed,
    EgressDenied,
    OutkeyError,
    TimedOut,
)
from outkey.foundation.core.fields.choices import Network
from outkey.foundation.core.text import NO_TEXT, Text
from outkey.sending.core.audit.events import (
    CHALLENGED,
    COMPARISON,
    Intent,
    Outcome,
    Tag,
    intent_of,
    redirected_path_template,
)
from outkey.sending.core.diagnosis.diagnose import diagnose
from outkey.sending.core.diagnosis.evidence import Diagnosis
from outkey.sending.core.request.addresses import is_address
from outkey.sending.core.request.headers import with_composed_headers
from outkey.sending.core.request.message import Proxy, Request, Response, Route
from outkey.sending.core.request.proxy import own_failure, proxy_failure
from outkey.sending.core.request.sent_secrets import secrets_in
from outkey.sending.engine.wire.response_bodies import (
    UnfinishedBody,
    read_for_marker,
    with_packed_body,
)
from outkey.sending.engine.wire.steps import CallInThread, Resolve, Steps, Transmit

if TYPE_CHECKING:
    from outkey.foundation.core.origin import Origin
    from outkey.foundation.core.secret import Secret
    from outkey.sending.core.configuration.configuration import Configuration
    from outkey.sending.core.configuration.sections import TlsSettings
    from outkey.sending.engine.wire.context import SendContext


DNS_SECONDS = 5.0
# How APIs respond to a request without credentials; some hide what there is.
REFUSALS = frozenset({401, 403, 404})
MEBIBYTE = 1024 * 1024


@dataclass(slots=True)
class RequestBudget:
    """The limits of one request with its retries, and what became of it."""

    deadline: float  # by the monotonic clock
    response_bytes: int
    line: str = ""
    purpose: str = ""  # of a request without credentials: COMPARISON
    actor: str = ""
    retry: int = 0
    for_token: bool = False
    expects_challenge: bool = False  # the request has no credentials yet
    requested_target: str = ""  # the target before any redirect
    attempt: str = ""
    concluded: OutkeyError | None = None  # an error that the audit has already
    sent: tuple[Secret, ...] = ()  # by all requests of this budget
    streams: bool = False  # whether the caller reads the body of a success itself
    packs: bool = False  # whether the body of a success may be packed

    def is_challenged(self, status: int) -> bool:
        """Whether a status means only that credentials are needed."""
        if self.purpose == COMPARISON:
            return status in REFUSALS
        return self.expects_challenge and status == 401


def route_of(context: SendContext, configuration: Configuration) -> Steps[Route]:
    """Return the route to the Base URL, for a look without a request."""
    limits = configuration.limits
    budget = RequestBudget(context.clock.monotonic() + limits.total_timeout, MEBIBYTE)
    proxy = context.proxy_of(configuration)
    origin = configuration.base.origin
    addresses = yield from _vet_addresses(context, configuration, origin, proxy, budget)
    tls = configuration.tls
    client_key = _client_key(context, configuration, tls)
    return _route(context, configuration, addresses, client_key, proxy, budget, tls=tls)


def transmit(
    context: SendContext,
    configuration: Configuration,
    request: Request,
    budget: RequestBudget,
) -> Steps[Response]:
    """Send a request to its destination and return the diagnosed response."""
    request = with_composed_headers(request)
    proxy = context.proxy_of(configuration)
    addresses = yield from _vet_addresses(
        context, configuration, request.origin, proxy, budget
    )
    tls = configuration.tls_for(request.origin)
    client_key = _client_key(context, configuration, tls)
    budget.attempt = yield _recorded_intent(context, configuration, request, budget)
    budget.sent += secrets_in(request, configuration, context.clock.now())
    started = context.clock.monotonic()
    try:
        # Computed now: recording may have taken long, and the deadline counts.
        route = _route(
            context, configuration, addresses, client_key, proxy, budget, tls=tls
        )
        response = yield from _receive(configuration, request, route, budget)
    except OutkeyError as error:
        budget.concluded = error
        yield _outcome(context, configuration, budget, 0, str(error.code), started)
        raise
    context.offsets.note(configuration.account, request.origin, response, context.clock)
    return (yield from _conclude(context, configuration, response, budget, started))


def _receive(
    configuration: Configuration, request: Request, route: Route, budget: RequestBudget
) -> Steps[Response]:
    """Send a request and return its response; a proxy's own one is an error."""
    response: Response = yield Transmit(request, route)
    if response.stream is not None and configuration.looks_for_marker:
        # May block: the rest of the body arrives when the API sends it.
        response = yield CallInThread(
            partial(read_for_marker, response, response.stream, configuration)
        )
    if response.stream is not None and budget.packs:
        response = yield CallInThread(
            partial(with_packed_body, response, response.stream)
        )
    # Inside of a tunnel a response is always the server's.
    is_forwarded = route.proxy is not None and request.origin.scheme == "http"
    if is_forwarded and (failure := own_failure(response)):
        raise failure
    return response


def _conclude(
    context: SendContext,
    configuration: Configuration,
    response: Response,
    budget: RequestBudget,
    started: float,
) -> Steps[Response]:
    """Diagnose a response, and record the outcome; of a stream, once it ends."""
    diagnosis = _diagnosis(context, configuration, response, budget)
    cause = diagnosis.cause if diagnosis else None
    result = cause or "ok"
    if budget.is_challenged(response.status):
        result = CHALLENGED
    stream = None
    if response.stream is None:
        yield _outcome(context, configuration, budget, response.status, result, started)
    else:
        stream = UnfinishedBody(
            response.stream,
            outcome=lambda result: _outcome(
                context, configuration, budget, response.status, result, started
            ),
        )
    # Made anew: replace() takes three times as long.
    return Response(
        status=response.status,
        headers=response.headers,
        body=response.body,
        cause=cause,
        remedy=diagnosis.remedy if diagnosis else None,
        attempt=budget.attempt,
        sent=budget.sent,
        stream=stream,
        packed=response.packed,
    )


def _diagnosis(
    context: SendContext,
    configuration: Configuration,
    response: Response,
    budget: RequestBudget,
) -> Diagnosis | None:
    if budget.for_token:  # read by the rules of RFC 6749, not as an API's response
        failed = response.status >= 300
        return Diagnosis(Cause.TOKEN_ENDPOINT, NO_TEXT) if failed else None
    if response.status < 400 and not configuration.looks_for_marker:
        return None  # as `diagnose` would, for nearly every response
    response = replace(response, sent=budget.sent)
    judged_by = context.without_echoed_marker(configuration, response)
    return diagnose(response, judged_by, now=context.clock.now())


def _vet_addresses(
    context: SendContext,
    configuration: Configuration,
    origin: Origin,
    proxy: Proxy | None,
    budget: RequestBudget,
) -> Steps[tuple[str, ...]]:
    """Return the addresses of the destination once every one of them is vetted.

    The transport may connect to these only. With a proxy they are the proxy's: it
    resolves the name of the destination itself.
    """
    if configuration.network is Network.PUBLIC and origin.scheme != "https":
        raise EgressDenied(
            Text(
                "{origin} is plain http, which is not allowed on the public internet",
                origin=origin,
            )
        )
    if proxy is not None:
        context.egress.vet_name(configuration.network, origin)
        return (yield from _vet_proxy(context, configuration, proxy.origin, budget))
    if is_address(origin.host):
        addresses: tuple[str, ...] = (origin.host,)
    else:
        patience = min(DNS_SECONDS, _time_left(context, budget))
        addresses = yield Resolve(origin.host, origin.port, patience)
    return context.egress.vet(configuration.network, origin, addresses)


def _vet_proxy(
    context: SendContext,
    configuration: Configuration,
    proxy: Origin,
    budget: RequestBudget,
) -> Steps[tuple[str, ...]]:
    """Return the addresses of a proxy once every one of them is vetted."""
    addresses: tuple[str, ...] = (proxy.host,)
    if not is_address(proxy.host):
        patience = min(DNS_SECONDS, _time_left(context, budget))
        try:
            addresses = yield Resolve(proxy.host, proxy.port, patience)
        except (DnsFailed, TimedOut):
            raise proxy_failure("proxy-unreachable") from None
    context.egress.refuse_own_pages(proxy, addresses, "proxy.url")
    return context.proxies.vet(configuration.network, proxy, addresses)


def _route(  # noqa: PLR0913 - the parts of a route
    context: SendContext,
    configuration: Configuration,
    addresses: tuple[str, ...],
    client_key: Secret | None,
    proxy: Proxy | None,
    budget: RequestBudget,
    *,
    tls: TlsSettings,
) -> Route:
    return Route(
        addresses=addresses,
        partition=configuration.partition,
        tls=tls,
        connect_timeout=configuration.limits.connect_timeout,
        read_timeout=configuration.limits.read_timeout,
        time_left=_time_left(context, budget),
        response_bytes=budget.response_bytes,
        client_key=client_key,
        proxy=proxy,
        streams=budget.streams or budget.packs,
    )


def _time_left(context: SendContext, budget: RequestBudget) -> float:
    left = budget.deadline - context.clock.monotonic()
    if left <= 0:
        raise TimedOut
    return left


def _client_key(
    context: SendContext, configuration: Configuration, tls: TlsSettings
) -> Secret | None:
    # Here, since every request comes by.
    context.secrets.refuse_changed_settings(configuration)
    if not tls.client_certificate:
        return None
    return context.open(configuration, "client_key")


def _outcome(
    context: SendContext,
    configuration: Configuration,
    budget: RequestBudget,
    status: int,
    outcome: str,
    started: float,
) -> Outcome:
    duration = round((context.clock.monotonic() - started) * 1000)
    tag = Tag.TOKEN_OUTCOME if budget.for_token else Tag.SEND_OUTCOME
    return Outcome(
        attempt=budget.attempt,
        configuration=configuration.name,
        status=status,
        outcome=outcome,
        duration_ms=duration,
        tag=tag,
        connection=configuration.connection_id,
    )


def _recorded_intent(
    context: SendContext,
    configuration: Configuration,
    request: Request,
    budget: RequestBudget,
) -> Intent:
    """Return the intent that the audit records before a request is sent."""
    intent = intent_of(
        configuration,
        budget.line,
        request,
        budget.retry,
        Tag.TOKEN_INTENT if budget.for_token else Tag.SEND_INTENT,
        actor=budget.actor,
    )
    if budget.requested_target and request.target != budget.requested_target:
        path = redirected_path_template(request.target, budget.requested_target)
        intent = intent._replace(path=path)
    if budget.purpose:
        intent = intent._replace(purpose=budget.purpose)
    if context.reads is not None:
        intent = intent._replace(sources=context.reads.sources())
    return intent
