"""Carrying one request: vet the address, record the intent, transmit, diagnose, record the end.

Requests to APIs and to authorization servers go the same way.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

from outkey.core.audit.events import Outcome, Tag, intent_of, redirected_path_template
from outkey.core.config.choices import Network
from outkey.core.config.configuration import Configuration
from outkey.core.config.secret_values import refuse_control_characters
from outkey.core.diagnosis import Diagnosis, diagnose
from outkey.core.echo.sent_secrets import secrets_in
from outkey.core.errors import Cause, EgressDenied, OutkeyError, RateLimited, TimedOut
from outkey.core.request.addresses import is_address
from outkey.core.request.assembly import SecretOpener
from outkey.core.request.headers import compose
from outkey.core.request.message import Request, Response, Route
from outkey.core.request.origin import Origin
from outkey.core.secret import Secret
from outkey.core.text import NO_TEXT, Text
from outkey.engine.tokens.token_cache import TokenCache
from outkey.engine.wire.clock_offsets import ClockOffsets
from outkey.engine.wire.drive import Resolve, Steps, Transmit
from outkey.engine.wire.egress import Egress
from outkey.engine.wire.lockout_guard import LockoutGuard
from outkey.ports.sending import Clock, Permits, Scripts, Secrets, Signer, Tokens

DNS_SECONDS = 5.0
MEBIBYTE = 1024 * 1024


@dataclass(slots=True)
class RequestBudget:
    """The bounds of a request on its way, and what became of it."""

    deadline: float  # by the monotonic clock
    response_bytes: int
    line: str = ""
    retry: int = 0
    for_token: bool = False
    requested_target: str = ""  # the target before any redirect
    attempt: str = ""
    concluded: OutkeyError | None = None
    sent: tuple[Secret, ...] = ()  # by all requests of the trip


@dataclass(frozen=True, slots=True)
class SendContext:
    """What every exchange needs of its host."""

    secrets: Secrets
    clock: Clock
    permits: Permits
    egress: Egress
    jitter: Callable[[], float]
    tokens: Tokens
    signer: Signer
    scripts: Scripts
    held: TokenCache = field(default_factory=TokenCache)
    offsets: ClockOffsets = field(default_factory=ClockOffsets)
    brake: LockoutGuard = field(default_factory=LockoutGuard)
    # Whether a response repeats a secret that a sender sends; assumed where that is not known.
    echo: "Callable[[SendContext, Configuration, Response], bool]" = lambda *_: True

    def opener(self, configuration: Configuration) -> SecretOpener:
        """Return what opens this configuration's secrets, if they belong to its origin."""
        return partial(self.open, configuration)

    def open(self, configuration: Configuration, secret: str) -> Secret:
        """Open a secret that was entered for the origin that requests go to."""
        configuration.refuse_unbound(secret)
        opened = self.secrets.open(configuration, secret)
        refuse_control_characters(secret, opened)
        return opened

    def repeats_secret(self, configuration: Configuration, response: Response) -> bool:
        """Whether a response holds a secret that requests of this configuration carry."""
        return self.echo(self, configuration, response)

    def without_echoed_marker(
        self, configuration: Configuration, response: Response
    ) -> Configuration:
        """Return the configuration, without its Expired marker where that may be a secret's part.

        An API may echo what it was sent. Then a marker that matches tells a piece of the secret.
        """
        verification = configuration.verification
        marker = verification.expired_marker
        if not marker or marker.encode() not in response.body:
            return configuration
        if not self.repeats_secret(configuration, response):
            return configuration
        return replace(
            configuration, verification=replace(verification, expired_marker="")
        )

    def moment(self, configuration: Configuration, origin: Origin) -> float:
        """Return the time to write into what this origin will compare with its clock."""
        return self.clock.now() + self.shift(configuration, origin)

    def shift(self, configuration: Configuration, origin: Origin) -> int:
        """Return how far from our clock this configuration's timestamps are to be."""
        if not configuration.verification.follow_clock:
            return 0
        return self.offsets.of(configuration.name, origin, self.clock)

    def route_of(self, configuration: Configuration) -> Steps[Route]:
        """Return the way to the Base URL, for whoever only wants to look."""
        limits = configuration.limits
        trip = RequestBudget(self.clock.monotonic() + limits.total_timeout, MEBIBYTE)
        addresses = yield from self._vetted(
            configuration, configuration.base.origin, trip
        )
        return self._route(
            configuration, addresses, self._client_key(configuration), trip
        )

    def permit(self, configuration: Configuration, patience: float) -> float:
        """Take a permit and return the seconds to wait for it, or refuse."""
        per_minute = configuration.limits.requests_per_minute
        wait = self.permits.reserve(configuration.name, per_minute, patience)
        if wait is not None:
            return wait
        if per_minute is None:
            message = Text(
                "the API asked for a pause that is longer than the total timeout"
            )
            raise RateLimited(message, hint=Text("Send later."))
        raise RateLimited(field="limits.requests_per_minute")

    def carry(
        self, configuration: Configuration, request: Request, trip: RequestBudget
    ) -> Steps[Response]:
        """Carry a request to its destination and return the diagnosed answer."""
        request = request.with_headers(compose(request.headers))
        addresses = yield from self._vetted(configuration, request.origin, trip)
        client_key = self._client_key(configuration)
        tag = Tag.TOKEN_INTENT if trip.for_token else Tag.SEND_INTENT
        intent = intent_of(configuration, trip.line, request, trip.retry, tag)
        if trip.requested_target and request.target != trip.requested_target:
            path = redirected_path_template(request.target, trip.requested_target)
            intent = intent._replace(path=path)
        trip.attempt = yield intent
        trip.sent += secrets_in(request, configuration, self.clock.now())
        started = self.clock.monotonic()
        try:
            # Not before now: recording may have taken long, and others count on the end of this.
            route = self._route(configuration, addresses, client_key, trip)
            response: Response = yield Transmit(request, route)
        except OutkeyError as error:
            trip.concluded = error
            yield self._outcome(configuration, trip, 0, str(error.code), started)
            raise
        self.offsets.note(configuration.name, request.origin, response, self.clock)
        response = replace(response, sent=trip.sent)
        found = self._diagnosis(configuration, response, trip)
        cause, remedy = (found.cause, found.remedy) if found else (None, None)
        yield self._outcome(
            configuration, trip, response.status, cause or "ok", started
        )
        whole = response.status, response.headers, response.body
        return Response(*whole, cause, remedy, trip.attempt, trip.sent)

    def _diagnosis(
        self, configuration: Configuration, response: Response, trip: RequestBudget
    ) -> Diagnosis | None:
        if trip.for_token:  # read by the rules of RFC 6749, and not as an API's answer
            return (
                None
                if response.status < 300
                else Diagnosis(Cause.TOKEN_ENDPOINT, NO_TEXT)
            )
        judged_by = self.without_echoed_marker(configuration, response)
        return diagnose(response, judged_by, now=self.clock.now())

    def _vetted(
        self, configuration: Configuration, origin: Origin, trip: RequestBudget
    ) -> Steps[tuple[str, ...]]:
        """Vet every address of the destination; the transport may connect to these only."""
        if configuration.network is Network.PUBLIC and origin.scheme != "https":
            message = Text(
                "{origin} is plain http, which is not allowed on the public internet",
                origin=origin,
            )
            raise EgressDenied(message)
        if is_address(origin.host):
            addresses: tuple[str, ...] = (origin.host,)
        else:
            patience = min(DNS_SECONDS, self._time_left(trip))
            addresses = yield Resolve(origin.host, origin.port, patience)
        return self.egress.vet(configuration.network, origin, addresses)

    def _route(
        self,
        configuration: Configuration,
        addresses: tuple[str, ...],
        client_key: Secret | None,
        trip: RequestBudget,
    ) -> Route:
        return Route(
            addresses=addresses,
            partition=configuration.name,
            tls=configuration.tls,
            connect_timeout=configuration.limits.connect_timeout,
            read_timeout=configuration.limits.read_timeout,
            time_left=self._time_left(trip),
            response_bytes=trip.response_bytes,
            client_key=client_key,
        )

    def _time_left(self, trip: RequestBudget) -> float:
        left = trip.deadline - self.clock.monotonic()
        if left <= 0:
            raise TimedOut
        return left

    def _client_key(self, configuration: Configuration) -> Secret | None:
        self.secrets.refuse_changed_settings(
            configuration
        )  # every request comes by here
        if not configuration.tls.client_certificate:
            return None
        return self.open(configuration, "client_key")

    def _outcome(
        self,
        configuration: Configuration,
        trip: RequestBudget,
        status: int,
        outcome: str,
        started: float,
    ) -> Outcome:
        duration = round((self.clock.monotonic() - started) * 1000)
        tag = Tag.TOKEN_OUTCOME if trip.for_token else Tag.SEND_OUTCOME
        return Outcome(trip.attempt, configuration.name, status, outcome, duration, tag)
