"""Sending: the order in which a request is checked, permitted, authenticated, recorded and carried.

Written as flows, so that the blocking and the asynchronous gateway share every decision.

    exchange            what ends without an outcome is recorded as a refusal
    └─ redirects        same origin only, three hops at most
       └─ retries       idempotent methods only, within the total time
          └─ attempt    the scheme's flow, anew each time
             └─ carry   vet the address, record the intent, transmit, diagnose, record the outcome
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from outkey.core.assembly import Call, SecretOpener, redirected, with_rows
from outkey.core.audit import Outcome, Refusal, intent_of
from outkey.core.checks import refuse_unsendable
from outkey.core.config import Configuration
from outkey.core.diagnosis import diagnose, retry_after
from outkey.core.errors import OutkeyError, RateLimited, RedirectBlocked, RemoteError, TimedOut
from outkey.core.headers import compose
from outkey.core.message import IDEMPOTENT, Request, Response, Route
from outkey.core.schemes import scheme_of
from outkey.core.secret import Secret
from outkey.engine.drive import Conclude, Refuse, Steps, Wait, intend, resolve, transmit
from outkey.engine.egress import Egress, is_address
from outkey.ports import Clock, Permits, Secrets

MAX_HOPS = 3
DNS_SECONDS = 5.0
_MEBIBYTE = 1024 * 1024
_RETRIED = frozenset({429, 502, 503, 504})
_BACKOFF_FIRST = 0.25
_BACKOFF_MOST = 8.0


@dataclass(frozen=True, slots=True)
class Sender:
    """What every exchange needs of its host."""

    secrets: Secrets
    clock: Clock
    permits: Permits
    egress: Egress
    jitter: Callable[[], float]

    def exchange(self, call: Call) -> Steps[Response]:
        """Send a call and return its diagnosed answer; whatever was refused is recorded."""
        exchange = _Exchange(self, call)
        try:
            refuse_unsendable(call.configuration)
            return (yield from exchange.redirects())
        except OutkeyError as error:
            if error is not exchange.concluded:
                yield Refuse(exchange.refusal(error))
            raise

    def opener(self, configuration: Configuration) -> SecretOpener:
        """Return what opens this configuration's secrets, if they belong to its origin."""
        return partial(self.open, configuration)

    def open(self, configuration: Configuration, secret: str) -> Secret:
        """Open a secret that was entered for the origin that requests go to."""
        configuration.refuse_unbound(secret)
        return self.secrets.open(configuration, secret)

    def permit(self, configuration: Configuration, patience: float) -> float:
        """Take a permit and return the seconds to wait for it, or refuse."""
        per_minute = configuration.limits.requests_per_minute
        wait = self.permits.reserve(configuration.name, per_minute, patience)
        if wait is not None:
            return wait
        if per_minute is None:
            raise RateLimited(
                "the API asked for a pause that outlasts the total time-out", hint="Send later."
            )
        raise RateLimited(field="limits.requests_per_minute")


class _Exchange:
    """One call on its way to its deadline."""

    def __init__(self, sender: Sender, call: Call) -> None:
        self._sender = sender
        self._call = call
        self._configuration = call.configuration
        self._limits = call.configuration.limits
        self._deadline = sender.clock.monotonic() + call.configuration.limits.total_timeout
        self._attempt_id = ""
        self.concluded: OutkeyError | None = None

    def refusal(self, error: OutkeyError) -> Refusal:
        name, line = self._configuration.name, self._call.line
        return Refusal(self._attempt_id, name, line, str(error.code))

    def redirects(self) -> Steps[Response]:
        request = self._call.request()
        for _ in range(MAX_HOPS + 1):
            response = yield from self._retries(request)
            followed = redirected(request, response)
            if followed is None:
                return response
            request = followed
        raise RedirectBlocked(f"the server redirected more than {MAX_HOPS} times")

    def _retries(self, request: Request) -> Steps[Response]:
        retries = self._limits.retries if request.method in IDEMPOTENT else 0
        retry = 0
        while True:
            if wait := self._sender.permit(self._configuration, self._time_left()):
                yield Wait(wait)
            try:
                response = yield from self._attempt(request, retry)
            except RemoteError as error:
                wait = self._backoff(retry)
                if not error.retryable or retry == retries or wait >= self._time_left():
                    raise
            else:
                if response.status not in _RETRIED:
                    return response
                wait = self._asked_to_wait(response, retry)
                if retry == retries or wait >= self._time_left():
                    return response
            yield Wait(wait)
            retry += 1

    def _attempt(self, request: Request, retry: int) -> Steps[Response]:
        """Run the scheme's flow, carrying each request it sends."""
        secret = self._sender.opener(self._configuration)
        request = with_rows(request, self._configuration, secret)
        flow = scheme_of(self._configuration, secret).flow(request)
        try:
            step = next(flow)
            while True:
                try:
                    response = yield from self._carry(step.request, retry)
                except OutkeyError as error:
                    step = flow.throw(error)
                else:
                    step = flow.send(response)
        except StopIteration as stop:
            answer: Response = stop.value
            return answer
        finally:
            flow.close()

    def _carry(self, request: Request, retry: int) -> Steps[Response]:
        request = request.with_headers(compose(request.headers))
        route = yield from self._route(request)
        attempt = yield from intend(intent_of(self._configuration, self._call.line, request, retry))
        self._attempt_id = attempt
        started = self._sender.clock.monotonic()
        try:
            response = yield from transmit(request, route)
        except OutkeyError as error:
            self.concluded = error
            yield Conclude(self._outcome(attempt, 0, str(error.code), started))
            raise
        found = diagnose(response, self._configuration, now=self._sender.clock.now())
        cause, remedy = (found.cause, found.remedy) if found else (None, None)
        yield Conclude(self._outcome(attempt, response.status, cause or "ok", started))
        return Response(response.status, response.headers, response.body, cause, remedy, attempt)

    def _route(self, request: Request) -> Steps[Route]:
        """Vet every address of the destination; the transport may connect to these only."""
        origin = request.origin
        if is_address(origin.host):
            addresses: tuple[str, ...] = (origin.host,)
        else:
            patience = min(DNS_SECONDS, self._time_left())
            addresses = yield from resolve(origin.host, origin.port, patience)
        time_left = self._time_left()
        if time_left <= 0:
            raise TimedOut
        configuration = self._configuration
        return Route(
            addresses=self._sender.egress.vet(configuration.network, origin, addresses),
            partition=configuration.name,
            tls=configuration.tls,
            connect_timeout=self._limits.connect_timeout,
            read_timeout=self._limits.read_timeout,
            time_left=time_left,
            response_bytes=self._limits.response_mebibytes * _MEBIBYTE,
            client_key=self._client_key(),
        )

    def _client_key(self) -> Secret | None:
        if not self._configuration.tls.client_certificate:
            return None
        return self._sender.open(self._configuration, "client_key")

    def _asked_to_wait(self, response: Response, retry: int) -> float:
        """Read how long the server wants us to wait; after a 429 the whole configuration does."""
        asked = retry_after(response, now=self._sender.clock.now())
        if asked is None:
            return self._backoff(retry)
        if response.status == 429:
            self._sender.permits.hold(self._configuration.name, asked)
        return max(asked, self._backoff(retry))  # zero would be a storm

    def _backoff(self, retry: int) -> float:
        return backoff(retry, self._sender.jitter())

    def _time_left(self) -> float:
        return self._deadline - self._sender.clock.monotonic()

    def _outcome(self, attempt: str, status: int, outcome: str, started: float) -> Outcome:
        duration = self._sender.clock.monotonic() - started
        name = self._configuration.name
        return Outcome(attempt, name, status, outcome, round(duration * 1000))


def backoff(retry: int, jitter: float) -> float:
    """Return the seconds to wait after try number `retry`; jitter from 0 to 1 spreads callers."""
    return min(_BACKOFF_MOST, _BACKOFF_FIRST * 2.0**retry) * (0.5 + jitter / 2)
