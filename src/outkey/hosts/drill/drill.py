"""Drilling a configuration: a copy of it against the sparring provider, scenario by scenario.

The copy is aimed at servers on the loopback and has made-up secrets, so that no real secret is
opened and no real address is asked. It lives in memory, with no audit, and so does what it learns.
Time goes by faster: clock and wire alike, so that all seconds here are those of production.
"""

import re
import secrets
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing
from dataclasses import replace
from enum import StrEnum
from hashlib import sha256
from typing import NamedTuple
from urllib.parse import urlencode

from outkey.adapters.permits_leased import LeasedPermits
from outkey.adapters.registry_memory import MemoryRegistry
from outkey.adapters.resolver_system import SystemResolver
from outkey.adapters.scripts_locked import LockedScripts
from outkey.adapters.signer_jose import JoseSigner
from outkey.adapters.states_memory import MemoryStateRows
from outkey.adapters.tokens_memory import MemoryTokens
from outkey.adapters.transport_urllib3 import Urllib3Transport
from outkey.core.audit.events import Change, Intent, Outcome, Refusal
from outkey.core.config.choices import BodyFormat, ClientAuth, Grant
from outkey.core.config.configuration import Configuration, SecretState, build
from outkey.core.config.fields import FIELDS, SENT_TO_TOKEN_URL
from outkey.core.errors import OutkeyError, SecretMissing
from outkey.core.request.message import Request, Response, Route, Source
from outkey.core.secret import Secret
from outkey.engine.gateway import Gateway
from outkey.engine.sending.sender import Ports, Sender
from outkey.hosts.drill.scenarios import Scenario
from outkey.ports.sending import Scripts
from outkey.spar import Arrival, Spar
from outkey.spar.records import SCOPE

_LONGEST = 3.0  # real seconds of a call that uses up its total time-out
_SHORTEST_WAIT = (
    0.5  # real seconds of silence, since a busy machine is not a silent API
)
_SLACK = 1.5  # real seconds that a busy machine may be late
_AT_ONCE = 6
_MEBIBYTES = 4
_MOST_SECONDS = (
    60.0  # any faster, and a token request would have no time to be answered
)
_REPLACED = {f.secret_name for f in FIELDS if f.secret} - {"client_key"} | {"header"}
_ISSUED = re.compile(r"spar-(at|rt)-[0-9a-f]")
# What leads to other places than the sparring provider, or cannot be played by it.
_LEFT_OUT = re.compile(
    r"tls\.(?!minimum_version)|oauth2\.(issuer|(authorization|device|revocation|introspection)_url)"
)


class Verdict(StrEnum):
    """What a scenario says about a configuration."""

    OK = "ok"
    WARN = "warn"
    BAD = "bad"


class Requests(NamedTuple):
    """What arrived during a scenario."""

    authenticated: int
    without_credentials: int
    elsewhere: int
    token: int


class Played(NamedTuple):
    """What a configuration did in a scenario; without an answer there is no status."""

    scenario: Scenario
    outcomes: tuple[str, ...]
    status: int | None
    requests: Requests
    seconds: float
    verdict: Verdict
    meaning: str


def speed_of(configuration: Configuration) -> float:
    """Return how many times faster than in production a configuration is drilled."""
    return max(1.0, round(_total_timeout(configuration) / _LONGEST, 1))


def _total_timeout(configuration: Configuration) -> float:
    return min(_MOST_SECONDS, configuration.limits.total_timeout)


def drill(
    configuration: Configuration,
    scenarios: list[Scenario],
    advance: Callable[[int], None],
) -> list[Played]:
    """Put a copy of the configuration through the scenarios, several at a time."""
    with closing(LockedScripts()) as scripts, ThreadPoolExecutor(_AT_ONCE) as threads:
        tools = _Tools(speed_of(configuration), secrets.token_hex(), scripts)
        played = [threads.submit(_played, configuration, s, tools) for s in scenarios]
        try:
            for done in as_completed(played):
                done.result()
                advance(1)
        finally:
            threads.shutdown(cancel_futures=True)
        return [done.result() for done in played]


class _Tools(NamedTuple):
    """What the scenarios of one drill share; a script keeps its process while its secret stays."""

    speed: float
    seed: str
    scripts: Scripts

    def made_up(self, name: str) -> str:
        """Return a secret that opens nothing: hexadecimal, which scripts can read as Base64 too."""
        return sha256(f"{self.seed} {name}".encode()).hexdigest()


def _played(configuration: Configuration, scenario: Scenario, tools: _Tools) -> Played:
    with Spar(tls=scenario.tls) as spar, closing(_FastWire(tools.speed)) as wire:
        copy = _copied(configuration, scenario, spar)
        made_up = _MadeUp(
            {name: tools.made_up(name) for name in copy.secrets}, copy, spar
        )
        return _Round(copy, scenario, spar, wire, made_up, tools.scripts).play()


# ── the copy ─────────────────────────────────────────────────────────────────────────────────


def _copied(
    configuration: Configuration, scenario: Scenario, spar: Spar
) -> Configuration:
    """Return the configuration aimed at the sparring provider; its secrets are names only."""
    origin = spar.secure if scenario.server == "secure" else spar.url
    values = {p: v for p, v in configuration.values().items() if not _LEFT_OUT.match(p)}
    values |= {
        "base_url": origin,
        "network": "internal",
        "active": True,
        "tls.ca_file": spar.ca_file,
        "limits.total_timeout": _total_timeout(configuration),
        "limits.response_mebibytes": min(
            _MEBIBYTES, configuration.limits.response_mebibytes
        ),
    }
    if configuration.uses_oauth2:
        values |= _copied_oauth2(configuration, origin + scenario.endpoint)
    known = {
        n: s
        for n, s in configuration.secrets.items()
        if n.partition(":")[0] in _REPLACED
    }
    made = build(
        configuration.name, values, headers=configuration.headers, secrets=known
    )
    names = {*known, *made.needed_secrets()}
    return replace(
        made, secrets={name: SecretState(made.binding_of(name)) for name in names}
    )


def _copied_oauth2(configuration: Configuration, token_url: str) -> dict[str, object]:
    settings = configuration.oauth2
    query = {"format": "json"} if settings.body_format is BodyFormat.JSON else {}
    query |= {"bend": '{"token_type": "DPoP"}'} if settings.dpop else {}
    mark = "&" if "?" in token_url else "?"
    by_person = settings.grant is not Grant.CLIENT_CREDENTIALS
    mutual = settings.client_auth is ClientAuth.MTLS
    return {
        "oauth2.token_url": token_url + (mark + urlencode(query) if query else ""),
        # What a person's consent ends in; the sparring provider has it approved already.
        "oauth2.grant": Grant.REFRESH_TOKEN if by_person else settings.grant,
        "oauth2.client_auth": ClientAuth.BODY if mutual else settings.client_auth,
        "oauth2.extra": {n: v for n, v in settings.extra.items() if n != "grant_type"},
    }


class _MadeUp:
    """The copy's secrets, which the sparring provider knows too."""

    def __init__(self, values: dict[str, str], copy: Configuration, spar: Spar) -> None:
        self.values = values
        if not copy.uses_oauth2:
            return
        settings, authority = copy.oauth2, spar.authorization
        if settings.client_auth is ClientAuth.PRIVATE_KEY_JWT:
            self.values["client_secret"] = authority.enrol(settings.client_id)
        else:
            authority.add_client(
                settings.client_id, self.values.get("client_secret", "")
            )
        scope = settings.scope or SCOPE
        self.values["refresh_token"] = authority.seed_refresh(settings.client_id, scope)

    def open(self, configuration: Configuration, field: str) -> Secret:  # noqa: ARG002 - the port's signature
        if field not in self.values:
            raise SecretMissing(field=field)
        return Secret(self.values[field])

    def refuse_changed_settings(self, configuration: Configuration) -> None:
        """Refuse nothing: a copy with made-up secrets is stored nowhere."""


# ── time ─────────────────────────────────────────────────────────────────────────────────────


class _FastClock:
    """A clock that runs faster from the moment it is made."""

    def __init__(self, speed: float) -> None:
        self._speed, self._began, self._then = speed, time.monotonic(), time.time()

    def monotonic(self) -> float:
        return (time.monotonic() - self._began) * self._speed

    def now(self) -> float:
        return self._then + self.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds / self._speed)


class _FastWire(Urllib3Transport):
    """A transport whose time-outs pass as fast as the clock."""

    def __init__(self, speed: float) -> None:
        super().__init__()
        self.speed = speed

    def send(self, request: Request, route: Route) -> Response:
        # Nothing on the loopback keeps anybody waiting for a connection.
        silence = max(_SHORTEST_WAIT, route.read_timeout / self.speed)
        left = route.time_left / self.speed
        faster = route._replace(
            connect_timeout=_LONGEST, read_timeout=silence, time_left=left
        )
        return super().send(request, faster)


class _NoAudit:
    """Records nothing: what a drill sends is no business of the installation's audit."""

    def intend(self, intent: Intent) -> str:
        return intent.configuration

    def note(self, *changes: Change) -> None: ...

    def conclude(self, outcome: Outcome) -> None: ...

    def refuse(self, refusal: Refusal) -> None: ...


# ── one scenario ─────────────────────────────────────────────────────────────────────────────


class _Round:
    """One scenario: the calls, what arrived of them, and the verdict."""

    def __init__(
        self,
        copy: Configuration,
        scenario: Scenario,
        spar: Spar,
        wire: _FastWire,
        made_up: _MadeUp,
        scripts: Scripts,
    ) -> None:
        self._copy, self._scenario, self._spar, self._speed = (
            copy,
            scenario,
            spar,
            wire.speed,
        )
        self._secrets, self._clock = made_up, _FastClock(wire.speed)
        self._status: int | None = None
        ports = Ports(
            configurations=MemoryRegistry([copy]),
            secrets=self._secrets,
            transport=wire,
            resolver=SystemResolver(),
            clock=self._clock,
            audit=_NoAudit(),
            permits=LeasedPermits(MemoryStateRows(), self._clock.monotonic),
            tokens=MemoryTokens(self._clock.now),
            signer=JoseSigner(),
            scripts=scripts,
        )
        self._gateway = Gateway(Sender(ports))
        rows = {row.key for row in copy.headers if row.secret}
        self._credentials = {
            header.name.lower()
            for header in self._gateway.preview(
                copy.name, scenario.method, scenario.path
            ).headers
            if header.source in {Source.AUTHENTICATION, Source.SCRIPT}
            or header.name in rows
        }

    def play(self) -> Played:
        """Make the calls and judge what came of them."""
        scenario, started = self._scenario, self._clock.monotonic()
        outcomes = tuple(self._outcome(number) for number in range(scenario.calls))
        seconds = self._clock.monotonic() - started
        requests = self._requests()
        problem = next(self._problems(requests, seconds), "")
        good = {*outcomes} <= {*scenario.good, "answered"} and outcomes[
            -1
        ] in scenario.good
        verdict = Verdict.OK if good else Verdict.WARN
        if problem or (scenario.works and not good):
            verdict = Verdict.BAD
        said = problem or (scenario.meaning if good else scenario.advice)
        meaning = f"{_summary(outcomes[-1], sum(requests), seconds)}. {said}"
        status, seconds = self._status, round(seconds, 1)
        return Played(scenario, outcomes, status, requests, seconds, verdict, meaning)

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

    def _requests(self) -> Requests:
        here = [arrival for arrival in self._spar.journal if self._is_here(arrival)]
        api = [arrival for arrival in here if not _is_token_request(arrival)]
        names = self._credentials
        proven = sum(bool(names) and all(map(arrival.values, names)) for arrival in api)
        elsewhere = len(self._spar.journal) - len(here)
        return Requests(proven, len(api) - proven, elsewhere, len(here) - len(api))

    def _is_here(self, arrival: Arrival) -> bool:
        return arrival.server == self._scenario.server

    # ── what is bad ──────────────────────────────────────────────────────────────────────────

    def _problems(self, requests: Requests, seconds: float) -> Iterator[str]:
        if leak := next(filter(self._leaks, self._spar.journal), None):
            yield (
                f"LEAK: a credential came to {leak.server} {leak.path}, where it does"
                " not belong."
            )
        if self._credentials and requests.without_credentials:
            yield (
                f"{requests.without_credentials} requests were sent WITHOUT"
                " CREDENTIALS."
            )
        if self._spar.authorization.counts().reuses:
            yield "A refresh token was used twice, which providers take for theft."
        scenario = self._scenario
        most = scenario.calls * scenario.allowed.requests(self._copy)
        sent = requests.authenticated + requests.without_credentials
        for what, number, allowed in (
            ("requests", sent, most),
            ("token requests", requests.token, scenario.token_requests),
        ):
            if number > allowed:
                yield (
                    f"{number} {what} where {allowed} are allowed: a storm, or a"
                    " lock-out."
                )
        most_a_call = self._patience() + scenario.pause
        longest = scenario.calls * most_a_call + _SLACK * self._speed
        if seconds > longest:
            yield f"The time-out was not kept: {longest:.0f} s are the most."

    def _patience(self) -> float:
        limits = self._copy.limits
        if not self._scenario.silent:
            return limits.total_timeout
        waited = max(limits.read_timeout, _SHORTEST_WAIT * self._speed)
        return min(limits.total_timeout, waited)

    def _leaks(self, arrival: Arrival) -> bool:
        """Tell whether a request shows a credential where it has no business, or in its address."""
        here, shown = self._is_here(arrival), [value for _, value in arrival.headers]
        if not here and any(map(arrival.values, self._credentials)):
            return True
        owner = _is_token_request(arrival) if here else None
        in_address = self._owners(f"{arrival.path}?{arrival.query}")
        return bool(in_address or self._owners(f"{shown} {arrival.body!r}") - {owner})

    def _owners(self, text: str) -> set[bool]:
        """Return for what there are credentials in a text: for the Token URL (True), or the API."""
        known = self._secrets.values.items()
        entered = {
            name in SENT_TO_TOKEN_URL for name, v in known if Secret(v).occurs_in(text)
        }
        return entered | {kind == "rt" for kind in _ISSUED.findall(text)}


def _is_token_request(arrival: Arrival) -> bool:
    return arrival.path.startswith("/oauth/")


def _summary(outcome: str, requests: int, seconds: float) -> str:
    ended = "Answers" if outcome == "answered" else f"Ends with {outcome}"
    plural = "" if requests == 1 else "s"
    return f"{ended} after {requests} request{plural} and {seconds:.1f} s"
