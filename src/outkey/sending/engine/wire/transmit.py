"""Transmitting one request: vet the addresses, record, send, diagnose, record the end.

Requests to APIs and to authorization servers go the same way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from outkey.foundation.core.errors import (
    Cause,
    DnsFailed,
    EgressDenied,
    OutkeyError,
    RateLimited,
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
from outkey.sending.core.configuration.secret_values import refuse_control_characters
from outkey.sending.core.request.addresses import is_address
from outkey.sending.core.request.expiry import has_expired_marker
from outkey.sending.core.request.headers import compose
from outkey.sending.core.request.message import Proxy, Request, Response, Route
from outkey.sending.core.request.proxy import own_failure, proxy_failure
from outkey.sending.core.request.sent_secrets import secrets_in
from outkey.sending.engine.tokens.token_cache import TokenCache
from outkey.sending.engine.wire.clock_offsets import ClockOffsets
from outkey.sending.engine.wire.lockout_guard import LockoutGuard
from outkey.sending.engine.wire.nonces import Nonces
from outkey.sending.engine.wire.proxies import NO_PROXIES, Proxies
from outkey.sending.engine.wire.response_bodies import UnfinishedBody, read_for_marker
from outkey.sending.engine.wire.steps import CallInThread, Resolve, Steps, Transmit
from outkey.sending.engine.wire.vouched_scripts import VouchedScripts

if TYPE_CHECKING:
    from outkey.foundation.core.origin import Origin
    from outkey.foundation.core.secret import Secret
    from outkey.foundation.ports.clock import Clock
    from outkey.foundation.ports.expressions import PathCompiler
    from outkey.sending.core.configuration.configuration import Configuration
    from outkey.sending.core.diagnosis.evidence import Diagnosis
    from outkey.sending.core.request.assembly import SecretOpener
    from outkey.sending.engine.wire.egress import Egress
    from outkey.sending.ports.sending import Permits, Scripts, Secrets, Signer, Tokens


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

    def is_challenged(self, status: int) -> bool:
        """Whether a status only says that credentials are needed."""
        if self.purpose == COMPARISON:
            return status in REFUSALS
        return self.expects_challenge and status == 401


@dataclass(frozen=True, slots=True)
class SendContext:
    """The ports and the process's memory that every exchange needs."""

    secrets: Secrets
    clock: Clock
    permits: Permits
    egress: Egress
    jitter: Callable[[], float]
    tokens: Tokens
    signer: Signer
    scripts: Scripts
    paths: PathCompiler
    token_cache: TokenCache = field(default_factory=TokenCache)
    offsets: ClockOffsets = field(default_factory=ClockOffsets)
    nonces: Nonces = field(default_factory=Nonces)
    proxies: Proxies = field(default=Proxies(NO_PROXIES))
    lockout_guard: LockoutGuard = field(default_factory=LockoutGuard)
    vouched_scripts: VouchedScripts = field(default_factory=VouchedScripts)
    # Set by Sender: the search for echoed secrets is built on this class. Without it,
    # a secret is assumed in every response.
    find_echo: Callable[[SendContext, Configuration, Response], bool] = lambda *_: True

    def opener(self, configuration: Configuration) -> SecretOpener:
        """Return a function that opens this configuration's secrets by name."""
        return partial(self.open, configuration)

    def open(self, configuration: Configuration, secret: str) -> Secret:
        """Open a secret that was entered for the origin that requests go to."""
        configuration.refuse_unbound(secret)
        value = self.secrets.open(configuration, secret)
        refuse_control_characters(secret, value)
        return value

    def repeats_secret(self, configuration: Configuration, response: Response) -> bool:
        """Whether a response repeats a secret of this configuration's requests."""
        return self.find_echo(self, configuration, response)

    def without_echoed_marker(
        self, configuration: Configuration, response: Response
    ) -> Configuration:
        """Return the configuration, without an Expired marker that may be an echo.

        An API may echo what it was sent. Then a marker that matches would give away a
        part of the secret.
        """
        if not has_expired_marker(response, configuration):
            return configuration
        if not self.repeats_secret(configuration, response):
            return configuration
        verification = replace(configuration.verification, expired_marker="")
        return replace(configuration, verification=verification)

    def moment(self, configuration: Configuration, origin: Origin) -> float:
        """Return the Unix time for a timestamp that this origin will check."""
        return self.clock.now() + self.shift(configuration, origin)

    def shift(self, configuration: Configuration, origin: Origin) -> int:
        """Return by how many seconds this configuration's timestamps are shifted."""
        if not configuration.verification.follow_clock:
            return 0
        return self.offsets.of(configuration.name, origin, self.clock)

    def route_of(self, configuration: Configuration) -> Steps[Route]:
        """Return the route to the Base URL, for a look without a request."""
        limits = configuration.limits
        budget = RequestBudget(self.clock.monotonic() + limits.total_timeout, MEBIBYTE)
        proxy = self.proxy_of(configuration)
        addresses = yield from self._vet_addresses(
            configuration, configuration.base.origin, proxy, budget
        )
        client_key = self._client_key(configuration)
        return self._route(configuration, addresses, client_key, proxy, budget)

    def proxy_of(self, configuration: Configuration) -> Proxy | None:
        """Return the proxy that requests of a configuration go through."""
        return self.proxies.find(configuration, self.open)

    def permit(self, configuration: Configuration, patience: float) -> float:
        """Take a permit and return the seconds to wait for it, or refuse."""
        per_minute = configuration.limits.requests_per_minute
        wait = self.permits.reserve(configuration.name, per_minute, patience)
        if wait is not None:
            return wait
        if per_minute is None:
            raise RateLimited(
                Text("the API asked for a pause that is longer than the total timeout"),
                hint=Text("Send later."),
            )
        raise RateLimited(field="limits.requests_per_minute")

    def transmit(
        self, configuration: Configuration, request: Request, budget: RequestBudget
    ) -> Steps[Response]:
        """Send a request to its destination and return the diagnosed response."""
        request = request.with_headers(compose(request.headers))
        proxy = self.proxy_of(configuration)
        addresses = yield from self._vet_addresses(
            configuration, request.origin, proxy, budget
        )
        client_key = self._client_key(configuration)
        budget.attempt = yield _recorded_intent(configuration, request, budget)
        budget.sent += secrets_in(request, configuration, self.clock.now())
        started = self.clock.monotonic()
        try:
            # Computed now: recording may have taken long, and the deadline counts.
            route = self._route(configuration, addresses, client_key, proxy, budget)
            response = yield from self._receive(configuration, request, route)
        except OutkeyError as error:
            budget.concluded = error
            yield self._outcome(configuration, budget, 0, str(error.code), started)
            raise
        self.offsets.note(configuration.name, request.origin, response, self.clock)
        return (yield from self._conclude(configuration, response, budget, started))

    def _receive(
        self, configuration: Configuration, request: Request, route: Route
    ) -> Steps[Response]:
        """Send a request and return its response; a proxy's own one is an error."""
        response: Response = yield Transmit(request, route)
        if response.stream is not None and configuration.looks_for_marker:
            # May block: the rest of the body arrives when the API sends it.
            response = yield CallInThread(
                partial(read_for_marker, response, response.stream, configuration)
            )
        # Inside of a tunnel a response is always the server's.
        is_forwarded = route.proxy is not None and request.origin.scheme == "http"
        if is_forwarded and (failure := own_failure(response)):
            raise failure
        return response

    def _conclude(
        self,
        configuration: Configuration,
        response: Response,
        budget: RequestBudget,
        started: float,
    ) -> Steps[Response]:
        """Diagnose a response, and record the outcome; of a stream, once it ends."""
        # Made anew, here and below: replace() takes three times as long.
        response = Response(
            status=response.status,
            headers=response.headers,
            body=response.body,
            sent=budget.sent,
            stream=response.stream,
        )
        diagnosis = self._diagnosis(configuration, response, budget)
        cause = diagnosis.cause if diagnosis else None
        result = cause or "ok"
        if budget.is_challenged(response.status):
            result = CHALLENGED
        stream = None
        if response.stream is None:
            yield self._outcome(configuration, budget, response.status, result, started)
        else:
            stream = UnfinishedBody(
                response.stream,
                outcome=lambda result: self._outcome(
                    configuration, budget, response.status, result, started
                ),
            )
        return Response(
            status=response.status,
            headers=response.headers,
            body=response.body,
            cause=cause,
            remedy=diagnosis.remedy if diagnosis else None,
            attempt=budget.attempt,
            sent=budget.sent,
            stream=stream,
        )

    def _diagnosis(
        self, configuration: Configuration, response: Response, budget: RequestBudget
    ) -> Diagnosis | None:
        from outkey.sending.core.diagnosis.diagnose import diagnose  # noqa: PLC0415
        from outkey.sending.core.diagnosis.evidence import Diagnosis  # noqa: PLC0415

        if budget.for_token:  # read by the rules of RFC 6749, not as an API's response
            failed = response.status >= 300
            return Diagnosis(Cause.TOKEN_ENDPOINT, NO_TEXT) if failed else None
        judged_by = self.without_echoed_marker(configuration, response)
        return diagnose(response, judged_by, now=self.clock.now())

    def _vet_addresses(
        self,
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
                    "{origin} is plain http, which is not allowed on the public"
                    " internet",
                    origin=origin,
                )
            )
        if proxy is not None:
            self.egress.vet_name(configuration.network, origin)
            return (yield from self._vet_proxy(configuration, proxy.origin, budget))
        if is_address(origin.host):
            addresses: tuple[str, ...] = (origin.host,)
        else:
            patience = min(DNS_SECONDS, self._time_left(budget))
            addresses = yield Resolve(origin.host, origin.port, patience)
        return self.egress.vet(configuration.network, origin, addresses)

    def _vet_proxy(
        self, configuration: Configuration, proxy: Origin, budget: RequestBudget
    ) -> Steps[tuple[str, ...]]:
        """Return the addresses of a proxy once every one of them is vetted."""
        addresses: tuple[str, ...] = (proxy.host,)
        if not is_address(proxy.host):
            patience = min(DNS_SECONDS, self._time_left(budget))
            try:
                addresses = yield Resolve(proxy.host, proxy.port, patience)
            except (DnsFailed, TimedOut):
                raise proxy_failure("proxy-unreachable") from None
        self.egress.refuse_own_pages(proxy, addresses, "proxy.url")
        return self.proxies.vet(configuration.network, proxy, addresses)

    def _route(
        self,
        configuration: Configuration,
        addresses: tuple[str, ...],
        client_key: Secret | None,
        proxy: Proxy | None,
        budget: RequestBudget,
    ) -> Route:
        return Route(
            addresses=addresses,
            partition=configuration.name,
            tls=configuration.tls,
            connect_timeout=configuration.limits.connect_timeout,
            read_timeout=configuration.limits.read_timeout,
            time_left=self._time_left(budget),
            response_bytes=budget.response_bytes,
            client_key=client_key,
            proxy=proxy,
            streams=budget.streams,
        )

    def _time_left(self, budget: RequestBudget) -> float:
        left = budget.deadline - self.clock.monotonic()
        if left <= 0:
            raise TimedOut
        return left

    def _client_key(self, configuration: Configuration) -> Secret | None:
        # Here, since every request comes by.
        self.secrets.refuse_changed_settings(configuration)
        if not configuration.tls.client_certificate:
            return None
        return self.open(configuration, "client_key")

    def _outcome(
        self,
        configuration: Configuration,
        budget: RequestBudget,
        status: int,
        outcome: str,
        started: float,
    ) -> Outcome:
        duration = round((self.clock.monotonic() - started) * 1000)
        tag = Tag.TOKEN_OUTCOME if budget.for_token else Tag.SEND_OUTCOME
        return Outcome(
            budget.attempt, configuration.name, status, outcome, duration, tag
        )


def _recorded_intent(
    configuration: Configuration, request: Request, budget: RequestBudget
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
    return intent
