"""Sending: the order in which a request is checked, permitted, authenticated, recorded and carried.

Written as flows, so that the blocking and the asynchronous gateway share every decision.

    exchange            refusals are recorded, the answer gets its diagnosis
    └─ redirects        same origin only, three hops at most
       └─ retries       idempotent methods only, within the total time
          └─ attempt    the scheme's flow, anew each time
             └─ carry   vet the address, record the intent, transmit, record the outcome
"""

import json as json_module
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from urllib.parse import urlencode

from outkey.core.audit import Outcome, Refusal, intent_of
from outkey.core.checks import refuse_unsendable, static_headers
from outkey.core.config import Configuration
from outkey.core.diagnosis import diagnose
from outkey.core.errors import (
    ConfigError,
    OutkeyError,
    PolicyError,
    RateLimited,
    RedirectBlocked,
    TimedOut,
)
from outkey.core.headers import check_name, check_value, compose
from outkey.core.message import IDEMPOTENT, Header, Request, Response, Route, Source, TlsSettings
from outkey.core.origin import Params, build_target, parse_redirect
from outkey.core.schemes import scheme_of
from outkey.core.secret import Secret
from outkey.engine.drive import Conclude, Refuse, Steps, Wait, intend, resolve, transmit
from outkey.engine.egress import Egress, is_address
from outkey.engine.limits import backoff, retry_after
from outkey.ports import Clock, Permits, Secrets

MAX_HOPS = 3
DNS_SECONDS = 5.0
_MEBIBYTE = 1024 * 1024
_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_RETRIED = frozenset({429, 502, 503, 504})
# Identity of the client and what it can read; a header row or the caller may override these.
_DEFAULTS = (
    Header("User-Agent", "outkey", Source.DEFAULT),
    Header("Accept", "*/*", Source.DEFAULT),
    Header("Accept-Encoding", "gzip, deflate", Source.DEFAULT),
)


@dataclass(frozen=True, slots=True)
class Call:
    """What a caller wants sent with a configuration."""

    configuration: Configuration
    method: str
    path: str
    params: Params | None = None
    headers: Mapping[str, str | Secret] = field(default_factory=dict)
    body: bytes = field(default=b"", repr=False)
    content_type: str = ""
    line: str = ""

    def request(self) -> Request:
        """Build the request as far as the caller and the defaults decide it."""
        base = self.configuration.base
        target = build_target(base, self.path, self.params)
        return framed(Request(self.method, base.origin, target, self._caller_headers(), self.body))

    def _caller_headers(self) -> tuple[Header, ...]:
        headers = list(_DEFAULTS)
        if self.content_type:
            headers.append(Header("Content-Type", self.content_type, Source.DEFAULT))
        for name, value in self.headers.items():
            place = f"header:{name}"
            check_name(name, field="headers")
            headers.append(Header(name, check_value(value, field=place), Source.CALLER))
        return tuple(headers)


def framed(request: Request) -> Request:
    """Put the headers in front that belong to the message itself: Host and Content-Length."""
    framing = [Header("Host", request.origin.authority, Source.DEFAULT)]
    if request.body or request.method in _WITH_BODY:
        framing.append(Header("Content-Length", str(len(request.body)), Source.DEFAULT))
    return request.with_headers((*framing, *request.headers))


def encode_body(json: object, data: object) -> tuple[bytes, str]:
    """Return the bytes of a body and the content type that goes with them."""
    if json is not None and data is not None:
        raise ConfigError("a request has either json or data, not both", field="data")
    if json is not None:
        return json_module.dumps(json, ensure_ascii=False).encode(), "application/json"
    if data is None:
        return b"", ""
    if isinstance(data, Mapping):
        return urlencode(data, doseq=True).encode(), "application/x-www-form-urlencoded"
    if isinstance(data, str):
        return data.encode(), "text/plain; charset=utf-8"
    if isinstance(data, bytes):
        return data, "application/octet-stream"
    raise ConfigError("data must be bytes, text or a mapping", field="data")


@dataclass(frozen=True, slots=True)
class Sender:
    """What every exchange needs of its host."""

    secrets: Secrets
    clock: Clock
    permits: Permits
    egress: Egress
    jitter: Callable[[], float]

    def exchange(self, call: Call) -> Steps[Response]:
        """Send a call and return its diagnosed answer; what is refused is recorded."""
        try:
            refuse_unsendable(call.configuration)
            response = yield from _Exchange(self, call).redirects()
        except (ConfigError, PolicyError) as error:
            yield Refuse(Refusal(call.configuration.name, call.line, str(error.code)))
            raise
        found = diagnose(response, call.configuration, now=self.clock.now())
        return replace(response, cause=found.cause, remedy=found.remedy) if found else response

    def opener(self, configuration: Configuration) -> Callable[[str], Secret]:
        """Return what opens this configuration's secrets."""
        return partial(self.secrets.open, configuration)


class _Exchange:
    """One call on its way: the deadline and what was counted so far."""

    def __init__(self, sender: Sender, call: Call) -> None:
        self._sender = sender
        self._call = call
        self._configuration = call.configuration
        self._limits = call.configuration.limits
        self._deadline = sender.clock.monotonic() + call.configuration.limits.total_timeout

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
        tries_left = self._limits.retries if request.method in IDEMPOTENT else 0
        retry = 0
        while True:
            yield from self._permit()
            try:
                response = yield from self._attempt(request, retry)
            except OutkeyError as error:
                wait = self._backoff(retry)
                if not error.retryable or retry >= tries_left or wait >= self._time_left():
                    raise
            else:
                asked = self._asked_to_wait(response)
                wait = self._backoff(retry) if asked is None else asked
                if (
                    response.status not in _RETRIED
                    or retry >= tries_left
                    or wait >= self._time_left()
                ):
                    return response
            yield Wait(wait)
            retry += 1

    def _permit(self) -> Steps[None]:
        """Wait for the configuration's turn, if it comes within the total time."""
        wait = self._sender.permits.reserve(
            self._configuration.name, self._limits.requests_per_minute, self._time_left()
        )
        if wait is None:
            raise RateLimited(field="limits.requests_per_minute")
        if wait:
            yield Wait(wait)

    def _attempt(self, request: Request, retry: int) -> Steps[Response]:
        """Run the scheme's flow, carrying each request it sends."""
        opener = self._sender.opener(self._configuration)
        flow = scheme_of(self._configuration, opener).flow(
            with_rows(request, self._configuration, opener)
        )
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
        started = self._sender.clock.monotonic()
        try:
            response = yield from transmit(request, route)
        except OutkeyError as error:
            yield Conclude(self._outcome(attempt, 0, str(error.code), started))
            raise
        outcome = "ok" if response.status < 400 else "refused"
        yield Conclude(self._outcome(attempt, response.status, outcome, started))
        return replace(response, attempt=attempt)

    def _route(self, request: Request) -> Steps[Route]:
        """Vet every address of the destination; the transport may connect to these only."""
        origin = request.origin
        if is_address(origin.host):
            addresses: tuple[str, ...] = (origin.host,)
        else:
            patience = min(DNS_SECONDS, self._time_left())
            addresses = yield from resolve(origin.host, origin.port, patience)
        configuration = self._configuration
        time_left = self._time_left()
        if time_left <= 0:
            raise TimedOut
        return Route(
            addresses=self._sender.egress.vet(configuration.network, origin, addresses),
            partition=configuration.name,
            tls=self._tls(),
            connect_timeout=self._limits.connect_timeout,
            read_timeout=self._limits.read_timeout,
            time_left=time_left,
            response_bytes=self._limits.response_mebibytes * _MEBIBYTE,
        )

    def _tls(self) -> TlsSettings:
        tls = self._configuration.tls
        key = None
        if tls.client_certificate:
            key = self._sender.secrets.open(self._configuration, "client_key")
        return TlsSettings(tls.minimum_version, tls.ca_file, tls.client_certificate, key)

    def _asked_to_wait(self, response: Response) -> float | None:
        """Read how long the server wants us to wait, and make the whole configuration wait."""
        if response.status not in {429, 503}:
            return None
        asked = retry_after(response, self._sender.clock.now())
        if asked and response.status == 429:
            self._sender.permits.hold(self._configuration.name, asked)
        return asked

    def _backoff(self, retry: int) -> float:
        return backoff(retry, self._sender.jitter())

    def _time_left(self) -> float:
        return self._deadline - self._sender.clock.monotonic()

    def _outcome(self, attempt: str, status: int, outcome: str, started: float) -> Outcome:
        duration = self._sender.clock.monotonic() - started
        return Outcome(attempt, status, outcome, round(duration * 1000))


def with_rows(
    request: Request, configuration: Configuration, opener: Callable[[str], Secret]
) -> Request:
    """Add the configuration's header rows."""
    return request.with_headers((*request.headers, *static_headers(configuration, opener)))


def redirected(request: Request, response: Response) -> Request | None:
    """Return the request that a redirect asks for, None if it asks for none, or refuse.

    Only the same origin is followed: custom credential headers would go along otherwise, and a
    person who configured one place did not agree to another.
    """
    reference = response.headers.get("Location")
    if response.status not in _REDIRECTS or not reference:
        return None
    try:
        location = parse_redirect(request.origin, request.target, reference)
    except ConfigError as error:
        raise RedirectBlocked(f"the server redirected, but {error.message}") from None
    if location.origin != request.origin:
        raise RedirectBlocked(f"the server redirected to another origin, {location.origin}")
    method, body = request.method, request.body
    # RFC 9110 §15.4.2-4: 303 asks for GET; for 301 and 302 after POST every client does the same.
    if response.status == 303 or (response.status in {301, 302} and method == "POST"):
        method, body = ("HEAD" if method == "HEAD" else "GET"), b""
    kept = tuple(h for h in request.headers if body or not _describes_body(h.name))
    return framed(Request(method, request.origin, location.target, _unframed(kept), body))


def _describes_body(name: str) -> bool:
    return name.lower().startswith("content-")


def _unframed(headers: tuple[Header, ...]) -> tuple[Header, ...]:
    return tuple(h for h in headers if h.name not in {"Host", "Content-Length"})
