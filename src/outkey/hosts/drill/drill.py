"""Drilling a configuration: a copy against the sparring provider, by scenario.

The copy is aimed at servers on the loopback and has made-up secrets, so that no real
secret is opened and nothing is sent to the real API. The copy and what it learns live
in memory, without an audit. Clock and timeouts run faster by the same factor, so that
all seconds here are those of production.
"""

import re
import secrets
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing
from dataclasses import replace
from enum import StrEnum
from hashlib import sha256
from typing import NamedTuple
from urllib.parse import urlencode

from outkey.foundation.adapters.clock_system import SystemClock
from outkey.foundation.adapters.paths_on_demand import PathsOnDemand
from outkey.foundation.adapters.states_memory import MemoryStateRows
from outkey.foundation.adapters.threads_system import SystemThreads
from outkey.foundation.core.errors import OutkeyError, SecretMissing
from outkey.foundation.core.fields.choices import BodyFormat, ClientAuth, Grant
from outkey.foundation.core.secret import Secret
from outkey.hosts.drill.rotating import (
    NEXT_VERSION,
    RotatedCopies,
    begin_trial,
    staged_copy,
    trials_of,
    version_in,
    with_set_named,
)
from outkey.hosts.drill.scenarios import Scenario
from outkey.sending.adapters.permits_leased import LeasedPermits
from outkey.sending.adapters.scripts_locked.pool import LockedScripts
from outkey.sending.adapters.tokens.signer_jose import JoseSigner
from outkey.sending.adapters.tokens.tokens_memory import MemoryTokens
from outkey.sending.adapters.transport.resolver_system import SystemResolver
from outkey.sending.adapters.transport.transport_sockets import SocketTransport
from outkey.sending.core.audit.events import Change, Intent, Outcome, Refusal
from outkey.sending.core.configuration.configuration import (
    SECRETS_OF_LOGIN,
    Configuration,
    build,
)
from outkey.sending.core.configuration.fields import FIELDS, SENT_TO_TOKEN_URL
from outkey.sending.core.configuration.secret_state import SecretState
from outkey.sending.core.request.message import Request, Response, Route, Source
from outkey.sending.engine.exchange.sender import Ports, Sender
from outkey.sending.engine.gateway import Gateway
from outkey.sending.ports.sending import Scripts
from outkey.spar import Arrival, Spar
from outkey.spar.records import SCOPE, new_key

_LONGEST = 3.0  # real seconds of a call that uses up its total timeout
# Real seconds of silence, since a busy machine is not a silent API.
_SHORTEST_WAIT = 0.5
_LOGIN_SCENES = "/login/"
_SLACK = 1.5  # real seconds that a busy machine may be late
_AT_ONCE = 6
TEST_REQUESTS = 3  # with the next credentials, once more if refused, and without any
_MEBIBYTES = 4
# Any faster, and there would be no time for the response to a token request.
_MAX_SECONDS = 60.0
_SECRET_NAMES = {field.secret_name for field in FIELDS if field.secret}
_REPLACED = _SECRET_NAMES - {"client_key"} | {"header"}
_ISSUED = re.compile(r"spar-(at|rt)-[0-9a-f]")
# Settings that name another server, or that the sparring provider cannot play.
_LEFT_OUT = re.compile(
    r"tls\.(?!minimum_version)"
    r"|oauth2\.(issuer|(authorization|device|revocation|introspection)_url)"
    r"|oauth1\.(signature_method|(request|authorization|access)_url)"
    r"|login\.(steps|cookies)|csrf\."
)
# The login of the sparring provider; the body of a single request stays as it is.
_LOGIN = {
    "login.method": "POST",
    "login.path": "/login/json?any=1",
    "login.token": "data.access_token",
    "login.expires_in": "data.expires",
    "login.expires_unit": "ms",
    "login.refresh_path": "",
}
_BODY_FOR_STEPS = '{"password": "{password}"}'
# The grants that the copy has as they are configured.
_PLAYED_GRANTS = {
    Grant.CLIENT_CREDENTIALS,
    Grant.REFRESH_TOKEN,
    # Begun by a user: the copy has what the consent ends in.
    Grant.AUTHORIZATION_CODE,
    Grant.DEVICE_CODE,
}


class DrillVerdict(StrEnum):
    """The verdict of a scenario about a configuration."""

    OK = "ok"
    WARN = "warn"
    BAD = "bad"


class RequestCounts(NamedTuple):
    """The numbers of requests that arrived during a scenario."""

    authenticated: int
    without_credentials: int
    elsewhere: int
    token: int


class ScenarioResult(NamedTuple):
    """The result of a configuration in a scenario; `status` needs a response."""

    scenario: Scenario
    outcomes: tuple[str, ...]
    status: int | None
    requests: RequestCounts
    seconds: float
    verdict: DrillVerdict
    meaning: str


def not_exercised(configuration: Configuration) -> list[str]:
    """Return what the copy does otherwise or leaves out, as sentences."""
    sentences = []
    grant = configuration.oauth2.grant
    if configuration.uses_oauth2 and grant not in _PLAYED_GRANTS:
        sentences.append(
            f"The grant {grant}: the copy gets its tokens by client_credentials."
        )
    if configuration.uses_login and configuration.login.steps:
        sentences.append("The steps of the login: the copy logs in by one request.")
    if configuration.csrf.path:
        sentences.append("The CSRF token: the copy fetches and sends none.")
    return sentences


def speed_of(configuration: Configuration) -> float:
    """Return how many times faster than in production a configuration is drilled."""
    return max(1.0, round(_total_timeout_of(configuration) / _LONGEST, 1))


def _total_timeout_of(configuration: Configuration) -> float:
    """Return the total timeout that a drill uses, in seconds of production."""
    return min(_MAX_SECONDS, configuration.limits.total_timeout)


def drill(
    configuration: Configuration,
    scenarios: list[Scenario],
    advance: Callable[[int], None],
) -> list[ScenarioResult]:
    """Put a copy of the configuration through the scenarios, several at a time."""
    with closing(LockedScripts()) as scripts, ThreadPoolExecutor(_AT_ONCE) as threads:
        tools = DrillTools(speed_of(configuration), secrets.token_hex(), scripts)
        futures = [
            threads.submit(_play_scenario, configuration, scenario, tools)
            for scenario in scenarios
        ]
        try:
            for future in as_completed(futures):
                future.result()
                advance(1)
        finally:
            threads.shutdown(cancel_futures=True)
        return [future.result() for future in futures]


class DrillTools(NamedTuple):
    """The tools that the scenarios of one drill share.

    The seed makes secrets the same in all of them, so that a script needs one process.
    """

    speed: float
    seed: str
    scripts: Scripts

    def made_up_secret(self, name: str) -> str:
        """Return a secret in hexadecimal, which scripts can read as Base64 too."""
        return sha256(f"{self.seed} {name}".encode()).hexdigest()


def _play_scenario(
    configuration: Configuration, scenario: Scenario, tools: DrillTools
) -> ScenarioResult:
    """Play one scenario to a copy of the configuration."""
    with (
        Spar(tls=scenario.tls) as spar,
        closing(FastTransport(tools.speed)) as transport,
    ):
        copy = _copy_for(configuration, scenario, spar)
        values = {name: tools.made_up_secret(name) for name in copy.secrets}
        made_up = MadeUpSecrets(values, copy, spar)
        if scenario.ends:
            copy = staged_copy(copy)
            made_up.add_next(
                {name: tools.made_up_secret(f"next {name}") for name in values}, copy
            )
        run = ScenarioRun(
            copy=copy,
            scenario=scenario,
            spar=spar,
            transport=transport,
            made_up=made_up,
            scripts=tools.scripts,
        )
        return run.play()


# ── the copy ──────────────────────────────────────────────────────────────────────────


def _copy_for(
    configuration: Configuration, scenario: Scenario, spar: Spar
) -> Configuration:
    """Return a copy aimed at the sparring provider, with the names of secrets only."""
    origin = spar.secure if scenario.server == "secure" else spar.url
    values = {
        path: value
        for path, value in configuration.values().items()
        if not _LEFT_OUT.match(path)
    }
    values |= {
        "base_url": origin,
        "network": "internal",
        "active": True,
        "tls.ca_file": spar.ca_file,
        "limits.total_timeout": _total_timeout_of(configuration),
        "limits.response_mebibytes": min(
            _MEBIBYTES, configuration.limits.response_mebibytes
        ),
    }
    if scenario.ends:
        values |= {
            "verification.test_path": scenario.path,
            "verification.test_method": scenario.method,
            "verification.test_body": "",
            "verification.accepted_statuses": "200-299",
            "rotation.automatic": True,
        }
    if configuration.uses_oauth2:
        values |= _oauth2_values(configuration, origin + scenario.endpoint)
    if configuration.uses_login:
        values |= _LOGIN
        if configuration.login.steps:
            values["login.body"] = _BODY_FOR_STEPS
    secrets_to_replace = {
        name: state
        for name, state in configuration.secrets.items()
        if name.partition(":")[0] in _REPLACED
    }
    copy = build(
        configuration.name,
        values,
        headers=configuration.headers,
        query=configuration.query,
        token_headers=configuration.oauth2.token_headers,
        secrets=secrets_to_replace,
    )
    names = {*secrets_to_replace, *copy.needed_secrets()}
    states = {name: SecretState(copy.binding_of(name)) for name in names}
    return replace(copy, secrets=states)


def _oauth2_values(configuration: Configuration, token_url: str) -> dict[str, object]:
    """Return the OAuth 2.0 settings of the copy."""
    settings = configuration.oauth2
    query = {"format": "json"} if settings.body_format is BodyFormat.JSON else {}
    query |= {"bend": '{"token_type": "DPoP"}'} if settings.dpop else {}
    separator = "&" if "?" in token_url else "?"
    has_own_proof = settings.client_auth in {ClientAuth.MTLS, ClientAuth.FEDERATED}
    return {
        "oauth2.token_url": token_url + (separator + urlencode(query) if query else ""),
        # What a user's consent ends in; the sparring provider has it already.
        "oauth2.grant": (
            Grant.REFRESH_TOKEN if settings.needs_consent else Grant.CLIENT_CREDENTIALS
        ),
        "oauth2.client_id": settings.client_id or "drill",
        "oauth2.client_auth": ClientAuth.BODY
        if has_own_proof
        else settings.client_auth,
        "oauth2.extra": {
            name: value
            for name, value in settings.extra.items()
            if name != "grant_type"
        },
    }


class MadeUpSecrets:
    """The secrets of the copy, which the sparring provider accepts."""

    def __init__(self, values: dict[str, str], copy: Configuration, spar: Spar) -> None:
        self.values = values
        self._authority = spar.authorization
        self._next: dict[str, str] = {}
        if not copy.uses_oauth2:
            return
        settings = copy.oauth2
        authority = spar.authorization
        if settings.client_auth is ClientAuth.PRIVATE_KEY_JWT:
            self.values["client_secret"] = authority.enrol(settings.client_id)
        else:
            authority.add_client(
                settings.client_id, self.values.get("client_secret", "")
            )
        scope = settings.scope or SCOPE
        self.values["refresh_token"] = authority.seed_refresh(settings.client_id, scope)

    def add_next(self, values: dict[str, str], copy: Configuration) -> None:
        """Add the secrets of a next set; the authorization server accepts both."""
        self._next = values
        if not copy.uses_oauth2:
            return
        settings = copy.oauth2
        if settings.client_auth is ClientAuth.PRIVATE_KEY_JWT:
            values["client_secret"] = new_key()
        self._authority.add_next_secret(
            settings.client_id, values.get("client_secret", "")
        )

    def open(
        self, configuration: Configuration, field: str, _reads: object = None
    ) -> Secret:
        """Return a made-up secret."""
        is_next = version_in(configuration, field) == NEXT_VERSION
        values = self._next if is_next else self.values
        if field not in values:
            raise SecretMissing(field=field)
        return Secret(values[field])

    def all(self) -> Iterator[tuple[str, str]]:
        """Yield the names and values of all sets."""
        yield from self.values.items()
        yield from self._next.items()

    def refuse_changed_settings(self, configuration: Configuration) -> None:
        """Refuse nothing: a copy with made-up secrets is stored nowhere."""

    def refuse_unvouched(self, configuration: Configuration, field: str) -> None:
        """Refuse nothing: nobody else changes the copy."""

    def vouch(
        self,
        configuration: Configuration,
        changed: Collection[str],
        *,
        moves: bool = False,
    ) -> None:
        """Vouch for nothing: nobody else changes the copy."""


# ── time ──────────────────────────────────────────────────────────────────────────────


class FastClock:
    """A clock that runs faster from the moment it is made."""

    def __init__(self, speed: float) -> None:
        self._speed = speed
        self._started = time.monotonic()
        self._started_at = time.time()

    def monotonic(self) -> float:
        """Return the seconds since it was made, in its own time."""
        return (time.monotonic() - self._started) * self._speed

    def now(self) -> float:
        """Return the Unix time, in its own time."""
        return self._started_at + self.monotonic()

    def sleep(self, seconds: float) -> None:
        """Sleep for seconds of its own time."""
        time.sleep(seconds / self._speed)

    def call_later(self, seconds: float, call: Callable[[], object]) -> None:
        """Call a function after seconds of its own time."""
        SystemClock().call_later(seconds / self._speed, call)


class FastTransport(SocketTransport):
    """A transport whose timeouts pass as fast as the clock."""

    def __init__(self, speed: float) -> None:
        super().__init__()
        self.speed = speed

    def send(self, request: Request, route: Route) -> Response:
        """Send a request with shorter timeouts."""
        # Connections on the loopback take no time, whatever the speed.
        faster = route._replace(
            connect_timeout=_LONGEST,
            read_timeout=max(_SHORTEST_WAIT, route.read_timeout / self.speed),
            time_left=route.time_left / self.speed,
        )
        return super().send(with_set_named(request, route.partition), faster)

    def begin(self, request: Request, route: Route) -> None:
        """Return None: a drill waits for each response."""


class NoAudit:
    """Records nothing: the requests of a drill are not in the installation's audit."""

    def intend(self, intent: Intent) -> str:
        """Return the id of an attempt."""
        return intent.configuration

    def intend_all(self, intents: Sequence[Intent]) -> list[str]:
        """Return the ids of attempts."""
        return [self.intend(intent) for intent in intents]

    def note(self, *changes: Change) -> None:
        """Record no change."""

    def conclude(self, outcome: Outcome) -> None:
        """Record no outcome."""

    def refuse(self, refusal: Refusal) -> None:
        """Record no refusal."""

    def flush(self) -> None:
        """Write nothing."""

    def close(self) -> None:
        """Close nothing."""


# ── one scenario ──────────────────────────────────────────────────────────────────────


class ScenarioRun:
    """One scenario: the calls, the requests that arrived, and the verdict."""

    def __init__(
        self,
        *,
        copy: Configuration,
        scenario: Scenario,
        spar: Spar,
        transport: FastTransport,
        made_up: MadeUpSecrets,
        scripts: Scripts,
    ) -> None:
        self._copy = copy
        self._scenario = scenario
        self._spar = spar
        self._speed = transport.speed
        self._secrets = made_up
        self._clock = FastClock(transport.speed)
        self._status: int | None = None
        self._copies = RotatedCopies([copy])
        ports = Ports(
            threads=SystemThreads(),
            configurations=self._copies,
            secrets=self._secrets,
            transport=transport,
            resolver=SystemResolver(),
            clock=self._clock,
            audit=NoAudit(),
            permits=LeasedPermits(MemoryStateRows(), self._clock.monotonic),
            tokens=MemoryTokens(self._clock.now),
            signer=JoseSigner(),
            scripts=scripts,
            paths=PathsOnDemand(),
        )
        trials = trials_of(self._copies, made_up, ports)
        self._rotations = trials.rotations
        self._sender = Sender(ports, trials)
        self._gateway = Gateway(self._sender)
        secret_rows = {row.key for row in copy.headers if row.secret}
        preview = self._gateway.preview(copy.name, scenario.method, scenario.path)
        self._credentials = {
            header.name.lower()
            for header in preview.headers
            if header.source in {Source.AUTHENTICATION, Source.SCRIPT}
            or header.name in secret_rows
        }

    def play(self) -> ScenarioResult:
        """Make the calls and judge their outcome."""
        scenario = self._scenario
        started = self._clock.monotonic()
        if scenario.ends:
            begin_trial(self._copy.name, self._sender, self._rotations, scenario.calls)
        outcomes = tuple(self._outcome(number) for number in range(scenario.calls))
        seconds = self._clock.monotonic() - started
        requests = self._requests()
        problem = next(self._problems(requests, seconds), "")
        is_expected = {*outcomes} <= {*scenario.good, "answered"}
        is_good = is_expected and outcomes[-1] in scenario.good and self._ends_well()
        verdict = DrillVerdict.OK if is_good else DrillVerdict.WARN
        if problem or (scenario.works and not is_good):
            verdict = DrillVerdict.BAD
        comment = problem or (scenario.meaning if is_good else scenario.advice)
        summary = summary_of(outcomes[-1], sum(requests), seconds)
        return ScenarioResult(
            scenario=scenario,
            outcomes=outcomes,
            status=self._status,
            requests=requests,
            seconds=round(seconds, 1),
            verdict=verdict,
            meaning=f"{summary}. {comment}",
        )

    def _ends_well(self) -> bool:
        """Whether a rotation ends as it should; true where there is none."""
        ends = self._scenario.ends
        sets = self._copies.get(self._copy.name).sets
        return not ends or sets.state(self._clock.now()) in ends

    def _outcome(self, number: int) -> str:
        if number:
            self._clock.sleep(self._scenario.pause)
        if number and self._scenario.between:
            getattr(self._spar.authorization, self._scenario.between)()
        self._status = None
        try:
            scenario = self._scenario
            response = self._gateway.send(
                self._copy.name, scenario.method, scenario.path
            )
        except OutkeyError as error:
            return str(error.code)
        self._status = response.status
        return str(response.cause or "answered")

    def _requests(self) -> RequestCounts:
        arrivals = [
            arrival for arrival in self._spar.journal if self._is_at_target(arrival)
        ]
        to_api = [arrival for arrival in arrivals if not _is_token_request(arrival)]
        names = self._credentials
        authenticated = sum(
            bool(names) and all(map(arrival.values, names)) for arrival in to_api
        )
        return RequestCounts(
            authenticated=authenticated,
            without_credentials=len(to_api) - authenticated,
            elsewhere=len(self._spar.journal) - len(arrivals),
            token=len(arrivals) - len(to_api),
        )

    def _is_at_target(self, arrival: Arrival) -> bool:
        """Whether a request came to the server that the scenario sends to."""
        return arrival.server == self._scenario.server

    # ── problems ───────────────────────────────────────────────────────────────────

    def _problems(self, requests: RequestCounts, seconds: float) -> Iterator[str]:
        if leak := next(filter(self._leaks, self._spar.journal), None):
            yield (
                f"LEAK: a credential was sent to {leak.server} {leak.path}, where it"
                " does not belong."
            )
        # A test of the next credentials sends one request without any, on purpose.
        count = requests.without_credentials - bool(self._scenario.ends)
        if self._credentials and count > 0:
            sent = "1 request was" if count == 1 else f"{count} requests were"
            yield f"{sent} sent WITHOUT CREDENTIALS."
        if self._spar.authorization.counts().reuses:
            yield "A refresh token was used twice, which providers treat as theft."
        scenario = self._scenario
        request_limit = scenario.calls * scenario.allowed.requests(self._copy)
        request_limit += TEST_REQUESTS if scenario.ends else 0
        request_count = requests.authenticated + requests.without_credentials
        for what, count, limit in (
            ("requests", request_count, request_limit),
            ("token requests", requests.token, scenario.token_requests),
        ):
            if count > limit:
                yield (
                    f"{count} {what} where {limit} are allowed: this can overload the"
                    " API or lock the account."
                )
        seconds_a_call = self._longest_call() + scenario.pause
        longest = scenario.calls * seconds_a_call + _SLACK * self._speed
        if seconds > longest:
            yield f"The timeout was exceeded: {longest:.0f} s are the most."

    def _longest_call(self) -> float:
        """Return how many seconds one call may take."""
        limits = self._copy.limits
        if not self._scenario.silent:
            return limits.total_timeout
        read_timeout = max(limits.read_timeout, _SHORTEST_WAIT * self._speed)
        return min(limits.total_timeout, read_timeout)

    def _leaks(self, arrival: Arrival) -> bool:
        """Whether a request has a credential in the wrong place, or in its URL."""
        is_at_target = self._is_at_target(arrival)
        if not is_at_target and any(map(arrival.values, self._credentials)):
            return True
        owners = {_is_token_request(arrival)} if is_at_target else set()
        if is_at_target and arrival.path.startswith(_LOGIN_SCENES):
            owners = {True, False}  # a login has the rows of every request too
        values = [value for _, value in arrival.headers]
        in_url = self._owners(f"{arrival.path}?{arrival.query}")
        return bool(in_url or self._owners(f"{values} {arrival.body!r}") - owners)

    def _owners(self, text: str) -> set[bool]:
        """Return whose credentials a text has: of token requests (True), of the API."""
        names = SECRETS_OF_LOGIN if self._copy.uses_login else SENT_TO_TOKEN_URL
        secrets_in_text = {
            name in names
            for name, value in self._secrets.all()
            if Secret(value).occurs_in(text)
        }
        return secrets_in_text | {kind == "rt" for kind in _ISSUED.findall(text)}


def _is_token_request(arrival: Arrival) -> bool:
    """Whether a request is for the authorization server, or a login."""
    return arrival.path.startswith(("/oauth/", _LOGIN_SCENES))


def summary_of(outcome: str, requests: int, seconds: float) -> str:
    """Return how the last call ended, as the beginning of a sentence."""
    result = "Succeeds" if outcome == "answered" else f"Ends with {outcome}"
    plural = "" if requests == 1 else "s"
    return f"{result} after {requests} request{plural} and {seconds:.1f} s"
