"""In-memory stand-ins for the ports, which remember what they were called with."""

import asyncio
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from outkey.foundation.adapters.paths_on_demand import PathsOnDemand
from outkey.foundation.adapters.states_memory import MemoryStateRows
from outkey.foundation.adapters.threads_system import SystemThreads
from outkey.foundation.core.errors import (
    AuditUnavailable,
    DnsFailed,
    OutkeyError,
    ResponseTooLarge,
    TimedOut,
    secret_missing,
    unknown_line,
)
from outkey.foundation.core.findings.checks import Finding
from outkey.foundation.core.origin import Origin
from outkey.foundation.core.secret import Secret
from outkey.foundation.ports.clock import Clock
from outkey.sending.adapters.configurations_memory import MemoryConfigurations
from outkey.sending.adapters.permits_leased import LeasedPermits
from outkey.sending.adapters.secrets.keyring import Keyring
from outkey.sending.adapters.tokens.signer_jose import JoseSigner
from outkey.sending.adapters.tokens.tokens_memory import MemoryTokens
from outkey.sending.core.audit.chain import AuditStream, ChainMark, ChainRow, facts_of
from outkey.sending.core.audit.events import Change, Intent, Outcome, Refusal
from outkey.sending.core.configuration.checks import findings_for_any_account
from outkey.sending.core.configuration.configuration import Configuration, build
from outkey.sending.core.configuration.custom_rows import CustomHeader, QueryParameter
from outkey.sending.core.request.message import Peer, Request, Response, Route
from outkey.sending.core.request.script import ScriptCall, ScriptResult
from outkey.sending.engine.exchange.sender import Asynchronous, Ports, Sender
from outkey.sending.engine.gateway import Gateway
from outkey.sending.engine.tokens.actions import TokenActions
from outkey.sending.ports.sending import Configurations
from outkey.sync.core.line.line import SyncLine
from outkey.sync.core.mapping.mapping import Unmapped
from outkey.sync.core.paging.response import Record

FakeResponse = Response | OutkeyError
FakeResponses = Callable[[Request], FakeResponse] | list[FakeResponse]


class FakeClock:
    """A clock that moves only by `advance` and by sleeping."""

    def __init__(self, now: float = 1_800_000_000.0) -> None:
        self._started_at = now
        self._seconds = 0.0
        self.sleeps: list[float] = []
        self._calls: list[tuple[float, Callable[[], object]]] = []

    def now(self) -> float:
        """Return the time of the clock, as Unix time."""
        return self._started_at + self._seconds

    def monotonic(self) -> float:
        """Return the seconds since the clock was made."""
        return self._seconds

    def sleep(self, seconds: float) -> None:
        """Let the time pass at once."""
        self.sleeps.append(seconds)
        self.advance(seconds)

    async def asleep(self, seconds: float) -> None:
        """Let the time pass at once, and others go on."""
        self.sleep(seconds)
        await asyncio.sleep(0)

    def advance(self, seconds: float) -> None:
        """Let time pass without sleeping."""
        self._seconds += seconds
        due = [item for item in self._calls if item[0] <= self._seconds]
        self._calls = [item for item in self._calls if item[0] > self._seconds]
        for _, call in due:
            call()

    def call_later(self, seconds: float, call: Callable[[], object]) -> None:
        """Call a function when so much time has passed."""
        self._calls.append((self._seconds + seconds, call))


class FakeResolver:
    """A resolver of the names that it was given."""

    def __init__(self, names: Mapping[str, tuple[str, ...]] | None = None) -> None:
        self.names = dict(names or {})
        self.asked: list[str] = []

    def resolve(self, host: str, port: int, timeout: float) -> tuple[str, ...]:
        """Return the addresses of a known name."""
        self.asked.append(host)
        if timeout <= 0:
            raise TimedOut
        if host not in self.names:
            raise DnsFailed
        return self.names[host]


class FakeListeners:
    """Listeners with given bound addresses by port, and given local addresses."""

    def __init__(
        self,
        bound: Mapping[int, Iterable[str]] | None = None,
        local: Iterable[str] = (),
    ) -> None:
        self._bound = {
            port: frozenset(addresses) for port, addresses in (bound or {}).items()
        }
        self._local = frozenset(local)

    def addresses(self, port: int) -> frozenset[str]:
        """Return the addresses that were given for a port."""
        return self._bound.get(port, frozenset())

    def is_local(self, address: str) -> bool:
        """Whether the address was given as local."""
        return address in self._local


@dataclass(init=False)
class FakeTransport:
    """Responds by a function or from a list, after a delay that may be a timeout."""

    responses: FakeResponses
    delay: float
    clock: FakeClock | None
    sent: list[tuple[Request, Route]]
    peer: Peer | OutkeyError | None

    def __init__(
        self,
        responses: FakeResponses | None = None,
        delay: float = 0.0,
        clock: FakeClock | None = None,
        sent: list[tuple[Request, Route]] | None = None,
        peer: Peer | OutkeyError | None = None,
        *,
        answers: FakeResponses | None = None,  # the former name of `responses`
    ) -> None:
        self.responses = _first_given(responses, answers)
        self.delay = delay
        self.clock = clock
        self.sent = [] if sent is None else sent
        self.peer = peer

    @property
    def answers(self) -> FakeResponses:
        """The former name of `responses`."""
        return self.responses

    @answers.setter
    def answers(self, responses: FakeResponses) -> None:
        self.responses = responses

    def send(self, request: Request, route: Route) -> Response:
        """Store the request and return the next response, or raise the next error."""
        self.sent.append((request, route))
        if self.delay > min(route.time_left, route.read_timeout):
            raise TimedOut
        if self.clock is not None:
            self.clock.advance(self.delay)
        response = self._next(request)
        if isinstance(response, OutkeyError):
            raise response
        if len(response.body) > route.response_bytes:
            raise ResponseTooLarge
        return response

    def begin(self, request: Request, route: Route) -> None:
        """Return None: a thread sends it."""

    def probe(self, origin: Origin, route: Route) -> Peer:
        """Return the peer that the test gave."""
        if isinstance(self.peer, OutkeyError):
            raise self.peer
        return self.peer or Peer(
            route.addresses[0], "TLSv1.3" if origin.scheme == "https" else ""
        )

    def close(self) -> None:
        """Do nothing: there are no connections."""

    def _next(self, request: Request) -> FakeResponse:
        if callable(self.responses):
            return self.responses(request)
        return self.responses.pop(0) if self.responses else Response(200)


def _first_given(*choices: FakeResponses | None) -> FakeResponses:
    return next((choice for choice in choices if choice is not None), [])


@dataclass(frozen=True)
class AsyncFake:
    """A fake transport or resolver for an event loop."""

    transport: FakeTransport
    resolver: FakeResolver

    async def send(self, request: Request, route: Route) -> Response:
        """Do what the fake transport does."""
        return self.transport.send(request, route)

    async def close(self) -> None:
        """Do nothing: there are no connections."""

    async def resolve(
        self,
        host: str,
        port: int,
        timeout: float,  # noqa: ASYNC109 - the port's signature
    ) -> tuple[str, ...]:
        """Return the addresses of a known name."""
        return self.resolver.resolve(host, port, timeout)


class MemorySecrets:
    """Secrets by field, the same for every configuration."""

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        self.values = dict(values or {})

    def open(
        self, configuration: Configuration, field: str, reads: object = None
    ) -> Secret:
        """Return the secret of a field, whatever the configuration."""
        if field not in self.values:
            raise secret_missing(field)
        return Secret(self.values[field])

    def refuse_changed_settings(self, configuration: Configuration) -> None:
        """Refuse nothing, since nothing is stored."""


class MemoryLines(MemoryConfigurations):
    """Configurations and their sync lines in dictionaries."""

    def __init__(
        self, configurations: Iterable[Configuration], lines: Iterable[SyncLine] = ()
    ) -> None:
        super().__init__(configurations)
        self.lines = {line.name: line for line in lines}

    def line(self, name: str) -> SyncLine:
        """Return one sync line."""
        if name not in self.lines:
            raise unknown_line()
        return self.lines[name]

    def configuration_of_line(self, name: str) -> str:
        """Return the configuration of a sync line."""
        return self.line(name).configuration


class FakeScripts:
    """Runs a function of the test instead of a script."""

    def __init__(self) -> None:
        self.calls: list[ScriptCall] = []
        self.answer: Callable[[ScriptCall], Mapping[str, Any]] = lambda _call: {}
        self.change: Callable[[Record], Record | Unmapped | None] = lambda record: (
            record
        )

    def run(self, call: ScriptCall) -> ScriptResult:
        """Return the headers and parameters that the test's function returns."""
        self.calls.append(call)
        result = self.answer(call)
        parts = [result.get("headers"), result.get("query")]
        if not any(isinstance(part, Mapping) for part in parts):
            parts = [result, {}]
        headers, query = (
            tuple((name, Secret(text)) for name, text in (part or {}).items())
            for part in parts
        )
        return ScriptResult(headers, query)

    def transform(
        self, line: str, source: str, records: Sequence[Record]
    ) -> list[Record | Unmapped | None]:
        """Return each record as the test's function changes it."""
        return list(map(self.change, records))

    def close(self) -> None:
        """End nothing."""


class MemoryAudit:
    """Records in a list; can be made to fail."""

    def __init__(self) -> None:
        self.events: list[Intent | Change | Outcome | Refusal] = []
        self.flushes = 0
        self.broken = False

    def intend(self, intent: Intent) -> str:
        """Store an intent and return the ID of the attempt."""
        if self.broken:
            raise AuditUnavailable
        self.events.append(intent)
        return f"attempt-{len(self.events)}"

    def intend_all(self, intents: Sequence[Intent]) -> list[str]:
        """Store several intents."""
        return [self.intend(intent) for intent in intents]

    def note(self, *changes: Change) -> None:
        """Store changes."""
        if self.broken:
            raise AuditUnavailable
        self.events.extend(changes)

    def conclude(self, outcome: Outcome) -> None:
        """Store an outcome."""
        if not self.broken:
            self.events.append(outcome)

    def refuse(self, refusal: Refusal) -> None:
        """Store a refusal."""
        if not self.broken:
            self.events.append(refusal)

    def flush(self) -> None:
        """Count the call."""
        self.flushes += 1

    def close(self) -> None:
        """Do nothing: all of it is in the list already."""


class MemoryAuditRows:
    """Rows in a list, whose index is their id; can be made to fail."""

    def __init__(self) -> None:
        self.rows: list[ChainRow] = []
        self.tombstones: dict[str, ChainMark] = {}
        self.commits = 0
        self.synced = 0  # how many rows survive a power failure
        self.broken = False

    def append(self, rows: Sequence[ChainRow], *, sync: bool = False) -> None:
        """Store rows; `sync` makes all rows survive a power failure."""
        if self.broken:
            raise AuditUnavailable
        self.commits += bool(rows)
        self.rows.extend(rows)
        if sync:
            self.synced = len(self.rows)

    def newest(
        self, limit: int, *, before: int = 0, **labels: str
    ) -> list[dict[str, object]]:
        """Return the facts of the newest rows with these labels."""
        rows = enumerate(self.rows, start=1)
        records = [
            {"id": number} | facts_of(row.body)
            for number, row in rows
            if (not before or number < before)
            and labels.items() <= row.label._asdict().items()
        ]
        return records[::-1][:limit]

    def position_at(self, moment: float) -> int:
        """Return the number of rows before a moment."""
        return sum(row.label.at < moment * 1000 for row in self.rows)

    def after(self, position: int, limit: int) -> list[dict[str, object]]:
        """Return the facts of the rows after a position."""
        rows = enumerate(self.rows[position : position + limit], start=position + 1)
        return [facts_of(row.body) | {"id": number} for number, row in rows]

    def read(self) -> Iterator[ChainRow]:
        """Yield all rows, stream by stream."""
        return iter(sorted(self.rows, key=lambda row: (row.stream, row.number)))

    def streams(self) -> Iterator[AuditStream]:
        """Yield the streams, also those of which only a tombstone is left."""
        names = {row.stream for row in self.rows} | self.tombstones.keys()
        for name in sorted(names):
            rows = [row for row in self.read() if row.stream == name]
            yield AuditStream(
                name=name,
                rows=len(rows),
                oldest_at=rows[0].label.at if rows else None,
                tombstone=self.tombstones.get(name),
            )

    def beginnings(self, limit: int) -> list[ChainRow]:
        """Return the first rows of the newest and the last written streams."""
        first = [row for row in self.rows if row.number == 1]
        written = {row.stream for row in self.rows[-limit:]}
        written |= {row.stream for row in first[-limit:]}
        return [row for row in first if row.stream in written]

    def prune(self, tombstone: ChainMark) -> int:
        """Replace the rows up to a tombstone by it, and return their number."""
        count = len(self.rows)
        stored = self.tombstones.get(tombstone.stream)
        if stored is not None and stored.number >= tombstone.number:
            return 0
        self.tombstones[tombstone.stream] = tombstone
        self.rows = [
            row
            for row in self.rows
            if row.stream != tombstone.stream or row.number > tombstone.number
        ]
        return count - len(self.rows)


class MemoryCheckpoints:
    """Checkpoints in a list; can be made to fail."""

    def __init__(self) -> None:
        self.marks: list[ChainMark] = []
        self.broken = False

    def append(self, mark: ChainMark) -> None:
        """Store a checkpoint."""
        if self.broken:
            raise AuditUnavailable
        self.marks.append(mark)

    def add_sightings(self, marks: Sequence[ChainMark]) -> None:
        """Store sightings of streams that have no mark yet."""
        known = {mark.stream for mark in self.marks}
        for mark in marks:
            if mark.stream not in known:
                self.append(mark)

    def read(self) -> Iterator[ChainMark]:
        """Yield all checkpoints."""
        return iter(self.marks)


class MemoryDatabase:
    """Transactions over tables in memory, one at a time, and the time of a clock."""

    def __init__(self, clock: Clock, *tables: object) -> None:
        self._clock = clock
        self._tables = tables
        self._lock = threading.RLock()
        self._local = threading.local()

    @contextmanager
    def transaction(self, *, durable: bool = True) -> Iterator[None]:
        """Restore the lists and dictionaries of all tables where the block fails."""
        with self._lock:
            before = [
                {
                    name: _copy_containers(value)
                    for name, value in vars(table).items()
                    if isinstance(value, dict | list)
                }
                for table in self._tables
            ]
            self._open_transactions().append([])
            try:
                yield
            except BaseException:
                self._open_transactions().pop()
                for table, values in zip(self._tables, before, strict=True):
                    vars(table).update(values)
                raise
            for work in self._open_transactions().pop():
                self.after_commit(work)

    def after_commit(self, work: Callable[[], None]) -> None:
        """Do some work after the outermost transaction, or now without one."""
        if self._open_transactions():
            self._open_transactions()[-1].append(work)
        else:
            work()

    def _open_transactions(self) -> list[list[Callable[[], None]]]:
        """Return the calls that this thread makes after each of its transactions."""
        transactions: list[list[Callable[[], None]]]
        transactions = vars(self._local).setdefault("transactions", [])
        return transactions

    def now(self) -> float:
        """Return the time of the clock."""
        return self._clock.now()


def _copy_containers(value: object) -> object:
    """Copy dictionaries and lists; what they hold at last is never changed, as rows."""
    if isinstance(value, dict):
        return {key: _copy_containers(inside) for key, inside in value.items()}
    if isinstance(value, list):
        return [_copy_containers(inside) for inside in value]
    return value


@dataclass
class FixedRing:
    """Always the same ring; assign another one to rotate it."""

    kept: Keyring

    def ring(self, needed: str = "") -> Keyring:
        """Return the ring."""
        return self.kept

    def fresh(self) -> Keyring:
        """Return the ring, as if it had been read again."""
        return self.kept


def configuration(
    name: str = "acme",
    headers: tuple[CustomHeader, ...] = (),
    query: tuple[QueryParameter, ...] = (),
    **values: object,
) -> Configuration:
    """Return a configuration; `limits__retries` is the field `limits.retries`."""
    paths = {key.replace("__", "."): value for key, value in values.items()}
    paths.setdefault("base_url", "https://api.acme.example")
    return build(name, paths, headers=headers, query=query)


@dataclass
class FakeWorld:
    """A gateway with fakes behind it, and the fakes."""

    gateway: Gateway
    sender: Sender
    ports: Ports
    transport: FakeTransport
    resolver: FakeResolver
    clock: FakeClock
    audit: MemoryAudit
    secrets: MemorySecrets
    scripts: FakeScripts

    def token(self, name: str) -> TokenActions:
        """Return the actions of users on a configuration's token."""
        return self.sender.token_actions(self.ports.configurations.get(name))

    def findings(self, name: str) -> list[Finding]:
        """Return the findings about a configuration."""
        configuration = self.ports.configurations.get(name)
        secret = self.sender.context.opener(configuration)
        return findings_for_any_account(configuration, secret, now=self.clock.now())


def fake_gateway(
    *configurations: Configuration,
    responses: FakeResponses | None = None,
    secrets: Mapping[str, str] | None = None,
    names: Mapping[str, tuple[str, ...]] | None = None,
    lines: Iterable[SyncLine] = (),
    registry: Configurations | None = None,
    answers: FakeResponses | None = None,
) -> FakeWorld:
    """Return a gateway whose every port is a fake.

    Configurations are those given here, or those of a registry. `answers` is the former
    name of `responses`.
    """
    clock = FakeClock()
    transport = FakeTransport(responses, clock=clock, answers=answers)
    resolver = FakeResolver(
        {"api.acme.example": ("93.184.215.14",)} if names is None else names
    )
    audit = MemoryAudit()
    store = MemorySecrets(secrets)
    scripts = FakeScripts()
    both = AsyncFake(transport, resolver)
    ports = Ports(
        threads=SystemThreads(),
        configurations=registry or MemoryLines(configurations, lines),
        secrets=store,
        transport=transport,
        resolver=resolver,
        clock=clock,
        audit=audit,
        permits=LeasedPermits(MemoryStateRows(), clock.monotonic),
        tokens=MemoryTokens(clock.now),
        signer=JoseSigner(),
        scripts=scripts,
        paths=PathsOnDemand(),
        asynchronous=Asynchronous(both, both, blocking_ports=False, sleep=clock.asleep),
        jitter=lambda: 0.5,
    )
    sender = Sender(ports)
    return FakeWorld(
        gateway=Gateway(sender),
        sender=sender,
        ports=ports,
        transport=transport,
        resolver=resolver,
        clock=clock,
        audit=audit,
        secrets=store,
        scripts=scripts,
    )
