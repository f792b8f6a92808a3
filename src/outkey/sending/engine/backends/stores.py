"""External stores as one source of secrets: cached, and read once for all threads.

open          the cached value while it is fresh, else one read
└─ _fetch     one read of a path at a time: the others wait for it
   ├─ _session   one log-in of a backend at a time, renewed before its end
   └─ _perform   the store's own steps, each one vetted and sent
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from outkey.foundation.core.errors import (
    BackendUnavailable,
    ConfigError,
    EgressDenied,
    OutkeyError,
    RedirectBlocked,
    RemoteError,
    ResponseTooLarge,
    SecretMissing,
    drop_traceback,
    repeated,
)
from outkey.foundation.core.fields.choices import Network
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.text import Text
from outkey.sending.core.backends.settings import Backend, Backends, StoreKind
from outkey.sending.core.backends.store import (
    Moment,
    Session,
    StoreRules,
    StoreSteps,
    fail,
    unavailable,
)
from outkey.sending.core.backends.values import (
    Read,
    Reads,
    StoredValue,
    StoreKey,
    refuse_value,
)
from outkey.sending.core.configuration.reference import Reference, StorePlace
from outkey.sending.core.configuration.sections import TlsSettings
from outkey.sending.core.request.addresses import is_address
from outkey.sending.core.request.message import Peer, Request, Response, Route

if TYPE_CHECKING:
    from outkey.foundation.core.origin import Origin
    from outkey.foundation.ports.clock import Clock
    from outkey.sending.engine.wire.egress import Egress
    from outkey.sending.ports.sending import Resolver, Signer, Transport

Result = TypeVar("Result")
_MOST_CACHED = 2000
_MOST_STEPS = 8  # no store needs more requests for one value
_RESPONSE_BYTES = 1024 * 1024
_DNS_SECONDS = 5.0
_AFTER_REFUSED_LOGIN = 10.0
_BETWEEN_REREADS = 10.0
_RENEWED_AFTER = 2 / 3  # of the life of a log-in
_REFUSALS = frozenset({"backend-denied", "backend-login"})


@dataclass(frozen=True, slots=True, kw_only=True)
class StorePorts:
    """Everything that reading from external stores needs."""

    settings: Callable[[], Backends]
    # Opens the references of the operator's file, which are on this machine.
    open_reference: Callable[[Reference, str], Secret]
    transport: Transport
    resolver: Resolver
    egress: Egress
    clock: Clock
    signer: Signer
    find_rules: Callable[[StoreKind], StoreRules]
    warn: Callable[[Text], None]


@dataclass(frozen=True, slots=True)
class _Entry:
    """A value in memory; its moment is by the monotonic clock."""

    value: StoredValue
    read_at: float
    ms: int
    cached: Read  # as sends get it from then on


@dataclass(slots=True)
class _Flight:
    """A read that is under way, and how it ended."""

    done: threading.Event = field(default_factory=threading.Event)
    entry: _Entry | None = None
    error: OutkeyError | None = None


@dataclass(slots=True)
class _Slot:
    """The log-in of a backend; its moments are by the monotonic clock."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    session: Session | None = None
    renew_at: float = 0.0
    ends_at: float = 0.0
    refused_until: float = -inf


@dataclass(slots=True)
class _Memory:
    """The reads of one process; a fork begins with none, and with no lock held."""

    process: int = field(default_factory=os.getpid)
    lock: threading.Lock = field(default_factory=threading.Lock)
    entries: dict[StoreKey, _Entry] = field(default_factory=dict)
    flights: dict[StoreKey, _Flight] = field(default_factory=dict)
    slots: dict[Backend, _Slot] = field(default_factory=dict)
    reread_at: dict[StoreKey, float] = field(default_factory=dict)
    # Another object after each change of the entries, and of the settings below.
    state: object = field(default_factory=object)
    settings: Backends | None = None


class _Resolved(NamedTuple):
    """The meaning of a reference by the settings that were valid then."""

    settings: Backends
    key: StoreKey
    place: StorePlace


class CachedStores:
    """The external stores of an installation, as `SecretStores`."""

    def __init__(self, ports: StorePorts) -> None:
        self._ports = ports
        self._memory = _Memory()
        self._resolved: dict[Reference, _Resolved] = {}

    @drop_traceback
    def open(
        self, reference: Reference, field: str, reads: Reads | None = None
    ) -> Secret:
        """Return the secret of a reference, from this send's reads if it is there."""
        try:
            key, place = self._find(reference, field)
            read = reads.by_key.get(key) if reads is not None else None
            if read is None:
                read = self.read(key)
            secret = read.pick(place.field)
        except OutkeyError as error:
            raise repeated(error, field=field) from None
        if reads is not None:
            reads.by_key[key] = read
            reads.fields[field] = read, place.field
        return secret

    def state(self) -> object:
        """Return an object, another one once settings or values have changed."""
        memory = self._own_memory()
        settings = self._ports.settings()
        if memory.settings is not settings:
            memory.settings = settings
            memory.state = object()
        return memory.state

    def recall(self, reference: Reference, field: str, reads: Reads) -> bool:
        """Add what the cache has to a send's reads, and return whether it has it."""
        try:
            key, place = self._find(reference, field)
        except OutkeyError:
            return False  # `open` says why
        read = reads.by_key.get(key) or self._cached(key)
        return read is not None and reads.add(field, (read, place.field))

    def backends(self) -> Backends:
        """Return the backends of the operator's file."""
        return self._ports.settings()

    def resolve(self, reference: Reference) -> StoreKey:
        """Return what a reference reads, or raise BackendUnknown or BlockedByPolicy."""
        return self._find(reference, str(reference.store))[0]

    def connect(self, backend: Backend) -> Peer | None:
        """Connect without a request; None where the store has no single address."""
        if backend.address is None:
            return None
        origin = backend.address.origin
        try:
            route = self._route(backend, origin, self._deadline(backend))
            return self._ports.transport.probe(origin, route)
        except RemoteError:
            raise unavailable("backend-unreachable", backend) from None

    def log_in_anew(self, backend: Backend) -> Session:
        """Log in, whatever session there is."""
        rules = self._ports.find_rules(backend.store)
        return self._log_in(backend, rules, self._deadline(backend))

    def read_with(self, key: StoreKey, session: Session) -> StoredValue:
        """Read a path with a session, and not from the cache."""
        return self._read_with(key, session, self._deadline(key.backend))

    def _deadline(self, backend: Backend) -> float:
        return self._ports.clock.monotonic() + backend.timeout_seconds

    def refuse(self, reference: Reference, field: str) -> None:
        """Refuse a reference without a backend, or to a path it does not allow."""
        self._find(reference, field)

    def reread(self, reads: Reads) -> Reads | None:
        """Read what came from the cache once more; None if no secret has changed."""
        fresh = Reads()
        try:
            for key, read in reads.by_key.items():
                fresh.by_key[key] = self._reread(read) if read.cached else read
            for name, (read, member) in reads.fields.items():
                fresh.fields[name] = fresh.by_key[read.key], member
            is_same = all(
                fresh.secret(name) == reads.secret(name) for name in fresh.fields
            )
        except OutkeyError:
            return None  # the response that was refused stands
        return None if is_same else fresh

    def _find(self, reference: Reference, field: str) -> tuple[StoreKey, StorePlace]:
        """Return what a reference means by the settings that are valid now."""
        settings = self._ports.settings()
        resolved = self._resolved.get(reference)
        if resolved is None or resolved.settings is not settings:
            backend, place = settings.find(reference, field)
            store = str(reference.store)
            key = StoreKey(backend, store, place.segments, place.version)
            if len(self._resolved) >= _MOST_CACHED:
                self._resolved.clear()
            resolved = self._resolved[reference] = _Resolved(settings, key, place)
        return resolved.key, resolved.place

    def read(self, key: StoreKey) -> Read:
        """Return a value: from the cache while it is fresh."""
        cached = self._cached(key)
        if cached is not None:
            return cached
        backend = key.backend
        entry = self._own_memory().entries.get(key)
        now = self._ports.clock.monotonic()
        try:
            return self._as_read(key, self._fetch_once(key))
        except BackendUnavailable:
            longest = backend.cache_seconds + backend.stale_seconds
            is_stale_allowed = backend.stale_seconds > 0
            if not is_stale_allowed or entry is None or now >= entry.read_at + longest:
                raise
        self._ports.warn(
            Text(
                "the backend {backend} does not respond; an older value is used",
                backend=backend.name,
            )
        )
        return entry.cached

    def _cached(self, key: StoreKey) -> Read | None:
        """Return what the cache has, while it is fresh."""
        entry = self._own_memory().entries.get(key)
        if entry is None:
            return None
        age = self._ports.clock.monotonic() - entry.read_at
        return entry.cached if age < key.backend.cache_seconds else None

    @staticmethod
    def _as_read(key: StoreKey, entry: _Entry) -> Read:
        return Read(key, entry.value, entry.read_at, cached=False, ms=entry.ms)

    def _reread(self, read: Read) -> Read:
        """Return the newest value; the store is asked every ten seconds at most."""
        memory = self._own_memory()
        key = read.key
        now = self._ports.clock.monotonic()
        with memory.lock:
            entry = memory.entries.get(key)
            if entry is not None and entry.read_at > read.read_at:
                return entry.cached
            is_due = now - memory.reread_at.get(key, -inf) >= _BETWEEN_REREADS
            if not is_due and key not in memory.flights:
                return read
            memory.reread_at[key] = now
        return self._as_read(key, self._fetch_once(key))

    def _fetch_once(self, key: StoreKey) -> _Entry:
        """Read a value, or wait for the thread that reads it already."""
        memory = self._own_memory()
        with memory.lock:
            flight = memory.flights.get(key)
            leads = flight is None
            if flight is None:
                flight = memory.flights[key] = _Flight()
        if leads:
            self._fly(memory, key, flight)
        elif not flight.done.wait(key.backend.timeout_seconds + 1):
            fail("backend-unreachable", key.backend)
        if flight.error is not None:
            raise repeated(flight.error)
        if flight.entry is None:  # the thread that read it was interrupted
            fail("backend-unreachable", key.backend)
        return flight.entry

    def _fly(self, memory: _Memory, key: StoreKey, flight: _Flight) -> None:
        started = self._ports.clock.monotonic()
        try:
            value = self._fetch(key, started + key.backend.timeout_seconds)
            ended = self._ports.clock.monotonic()
            cached = Read(key, value, ended, cached=True, ms=0)
            flight.entry = _Entry(value, ended, round((ended - started) * 1000), cached)
        except OutkeyError as error:
            flight.error = error
        finally:
            with memory.lock:
                if flight.entry is not None:
                    if len(memory.entries) >= _MOST_CACHED:
                        memory.entries.clear()
                    memory.entries[key] = flight.entry
                elif not isinstance(flight.error, BackendUnavailable):
                    memory.entries.pop(key, None)  # it may not be used any more
                # After the change: who has the new state must not have a former value.
                memory.state = object()
                del memory.flights[key]
            flight.done.set()

    def _fetch(self, key: StoreKey, deadline: float) -> StoredValue:
        """Read a value; a refused log-in is replaced once."""
        session, is_new = self._session(key.backend, deadline)
        if not is_new:
            try:
                return self._read_with(key, session, deadline)
            except (SecretMissing, BackendUnavailable) as error:
                if error.reason not in _REFUSALS:
                    raise
            session, _ = self._session(key.backend, deadline, rejected=session)
        try:
            return self._read_with(key, session, deadline)
        except BackendUnavailable as error:
            if error.reason == "backend-login":
                self._drop_session(key.backend, session)
            raise

    def _drop_session(self, backend: Backend, session: Session) -> None:
        """Wait before the next log-in: a new one that signs for itself was refused."""
        slot = self._own_memory().slots.get(backend)
        if slot is not None and slot.session is session:
            slot.session = None
            slot.refused_until = self._ports.clock.monotonic() + _AFTER_REFUSED_LOGIN

    def _read_with(
        self, key: StoreKey, session: Session, deadline: float
    ) -> StoredValue:
        rules = self._ports.find_rules(key.backend.store)
        steps = rules.read(key, session, self._moment())
        return self._perform(key.backend, steps, deadline)

    def _session(
        self, backend: Backend, deadline: float, rejected: Session | None = None
    ) -> tuple[Session, bool]:
        """Return a session, and whether there is no older one that was refused."""
        rules = self._ports.find_rules(backend.store)
        if backend.login == "token":
            return self._log_in(backend, rules, deadline), True
        memory = self._own_memory()
        with memory.lock:
            slot = memory.slots.setdefault(backend, _Slot())
        if not slot.lock.acquire(timeout=max(self._left(deadline), 0.0)):
            fail("backend-unreachable", backend)
        try:
            now = self._ports.clock.monotonic()
            session = slot.session
            if session is not None and session is not rejected and now < slot.ends_at:
                if now < slot.renew_at:
                    return session, False
                session = self._renew(backend, rules, slot, session, deadline)
                if session is not None:
                    return session, False
            if now < slot.refused_until:
                fail("backend-login", backend)
            try:
                session = self._log_in(backend, rules, deadline)
            except BackendUnavailable as error:
                if error.reason == "backend-login":
                    slot.refused_until = now + _AFTER_REFUSED_LOGIN
                raise
            self._store_session(slot, session)
            return session, True
        finally:
            slot.lock.release()

    def _renew(
        self,
        backend: Backend,
        rules: StoreRules,
        slot: _Slot,
        session: Session,
        deadline: float,
    ) -> Session | None:
        """Return the session that follows; None if that needs a new log-in."""
        steps = rules.renew(backend, session, self._moment())
        try:
            renewed = self._perform(backend, steps, deadline)
        except BackendUnavailable:
            # It is valid for the time being: the read that needs it shows what fails.
            return session
        if renewed is None:
            slot.session = None
        else:
            self._store_session(slot, renewed)
        return renewed

    def _store_session(self, slot: _Slot, session: Session) -> None:
        now = self._ports.clock.monotonic()
        life = inf
        if session.ends is not None:
            life = max(session.ends - self._ports.clock.now(), 0.0)
        slot.session = session
        slot.renew_at = now + life * _RENEWED_AFTER
        slot.ends_at = now + life

    def _log_in(self, backend: Backend, rules: StoreRules, deadline: float) -> Session:
        credentials = self._credentials(backend)
        steps = rules.log_in(backend, credentials, self._moment())
        return self._perform(backend, steps, deadline)

    def _credentials(self, backend: Backend) -> Mapping[str, Secret]:
        """Open what a log-in needs; read each time, since it may be replaced."""
        return {
            key: Secret(value)
            if isinstance(value, str)
            else self._ports.open_reference(value, f"backend.{backend.name}.{key}")
            for key, value in backend.credentials
        }

    def _perform(
        self, backend: Backend, steps: StoreSteps[Result], deadline: float
    ) -> Result:
        """Perform the steps of a store, and return their result."""
        try:
            step = next(steps)
            for _ in range(_MOST_STEPS):
                if isinstance(step, Request):
                    step = steps.send(self._send(backend, step, deadline))
                else:
                    step = steps.send(self._ports.signer.assertion(step))
        except StopIteration as stop:
            result: Result = stop.value
            return result
        finally:
            steps.close()
        raise unavailable("backend-unreachable", backend)

    def _send(self, backend: Backend, request: Request, deadline: float) -> Response:
        """Send a request of a store, without redirects and without a proxy."""
        _refuse_unsendable(backend, request)
        try:
            response = self._exchange(backend, request, deadline)
        except ResponseTooLarge:
            refuse_value("secret-too-large", backend)
        except RemoteError:
            raise unavailable("backend-unreachable", backend) from None
        except EgressDenied as error:
            raise EgressDenied(
                error.message,
                hint=Text("An operator can change it in config/backends.toml."),
                field=f"backend.{backend.name}.address",
            ) from None
        if 300 <= response.status < 400:
            raise RedirectBlocked(
                Text("the backend {backend} redirects", backend=backend.name),
                hint=Text(
                    "Enter the URL that responds itself in config/backends.toml."
                ),
                field=f"backend.{backend.name}.address",
            )
        return response

    def _exchange(
        self, backend: Backend, request: Request, deadline: float
    ) -> Response:
        route = self._route(backend, request.origin, deadline)
        return self._ports.transport.send(request, route)

    def _route(self, backend: Backend, origin: Origin, deadline: float) -> Route:
        """Return the vetted route to a store."""
        if backend.network is Network.PUBLIC and origin.scheme != "https":
            raise EgressDenied(
                Text(
                    "{origin} is plain http, which is not allowed on the public"
                    " internet",
                    origin=origin,
                )
            )
        addresses: tuple[str, ...] = (origin.host,)
        if not is_address(origin.host):
            patience = min(_DNS_SECONDS, self._left(deadline))
            addresses = self._ports.resolver.resolve(origin.host, origin.port, patience)
        addresses = self._ports.egress.vet(backend.network, origin, addresses)
        left = self._left(deadline)
        if left <= 0:
            fail("backend-unreachable", backend)
        return Route(
            addresses=addresses,
            # No configuration has such a name, so that no connection is shared.
            partition=f"\0backend {backend.name}",
            tls=TlsSettings(ca_file=backend.ca_file),
            connect_timeout=left,
            read_timeout=left,
            time_left=left,
            response_bytes=_RESPONSE_BYTES,
        )

    def _left(self, deadline: float) -> float:
        return deadline - self._ports.clock.monotonic()

    def _moment(self) -> Moment:
        return Moment(self._ports.clock.now(), self._ports.signer.fresh())

    def _own_memory(self) -> _Memory:
        """Return the memory of this process."""
        if self._memory.process != os.getpid():
            self._memory = _Memory()
        return self._memory


def _refuse_unsendable(backend: Backend, request: Request) -> None:
    """Refuse a log-in with characters that no header has, such as a line break."""

    def check(text: str) -> str:
        if text.isascii() and text.isprintable():
            return text
        raise ConfigError(
            Text(
                "the log-in to the backend {backend} has a character that cannot be"
                " sent",
                backend=backend.name,
            ),
            hint=Text("Check what config/backends.toml refers to."),
            field=f"backend.{backend.name}",
        )

    for header in request.headers:
        value = header.value
        (value if isinstance(value, Secret) else Secret(value)).derive(check)
