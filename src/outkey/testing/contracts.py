"""Contract suites: subclass one in a test module and implement `make`.

Each suite runs on the fake of its port and on every real adapter. What is stored and
shared has its suites in `contracts_storage`.
"""

import asyncio
import threading
from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import Enum, auto

import pytest

from outkey.foundation.core.errors import (
    ConnectionFailed,
    DnsFailed,
    ResponseTooLarge,
    SecretMissing,
    TimedOut,
)
from outkey.foundation.core.origin import Origin
from outkey.foundation.core.secret import Secret
from outkey.foundation.ports.clock import Clock
from outkey.foundation.ports.threads import Threads
from outkey.sending.core.audit.events import Change, Intent, Outcome, Refusal, Tag
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.configuration.sections import TlsSettings
from outkey.sending.core.request.message import Header, Request, Response, Route, Source
from outkey.sending.ports.sending import (
    AsyncResolver,
    AsyncTransport,
    Audit,
    Listeners,
    Resolver,
    Secrets,
    Transport,
)


class Scene(Enum):
    """How the peer behind a transport behaves."""

    ANSWERS = auto()  # 201, header `X-Peer: here`, body b"hello"
    REDIRECTS = auto()  # 302 with a Location
    STAYS_SILENT = auto()
    IS_NOT_THERE = auto()
    FLOODS = auto()  # 200 with two mebibytes


class OnLoop:
    """An asynchronous transport as a blocking one, to test both by the same rules."""

    def __init__(self, runner: asyncio.Runner, transport: AsyncTransport) -> None:
        self.run, self.transport = runner.run, transport

    def send(self, request: Request, route: Route) -> Response:
        return self.run(self.transport.send(request, route))

    def close(self) -> None:
        self.run(self.transport.close())


class ResolverOnLoop:
    """An asynchronous resolver as a blocking one."""

    def __init__(self, runner: asyncio.Runner, resolver: AsyncResolver) -> None:
        self.run, self.resolver = runner.run, resolver

    def resolve(self, host: str, port: int, timeout: float) -> tuple[str, ...]:
        return self.run(self.resolver.resolve(host, port, timeout))


@dataclass(frozen=True)
class Trial:
    """A transport and the peer that plays a scene."""

    transport: Transport | OnLoop
    origin: Origin
    received: list[tuple[str, str, tuple[tuple[str, str], ...], bytes]]

    def send(
        self, *, time_left: float = 5.0, response_bytes: int = 1024 * 1024
    ) -> Response:
        """Send a request with a secret and a body."""
        headers = (
            Header("Host", self.origin.authority, Source.DEFAULT),
            Header("Content-Length", "4", Source.DEFAULT),
            Header("X-Key", Secret("the value"), Source.ROW),
        )
        request = Request("POST", self.origin, "/path?query=1", headers, b"body")
        return self.transport.send(request, self.route(time_left, response_bytes))

    def route(self, time_left: float, response_bytes: int) -> Route:
        """Return a route to the peer."""
        return Route(
            addresses=(self.origin.host,),
            partition="contract",
            tls=TlsSettings(),
            connect_timeout=2.0,
            read_timeout=2.0,
            time_left=time_left,
            response_bytes=response_bytes,
        )


class TransportContract(ABC):
    """The promises of every transport."""

    @abstractmethod
    def make(self, scene: Scene) -> Trial:
        """Return a transport and a peer that plays the scene."""

    def test_an_answer_comes_back_with_status_headers_and_body(self) -> None:
        response = self.make(Scene.ANSWERS).send()
        assert (response.status, response.body) == (201, b"hello")
        assert response.headers["x-peer"] == "here"

    def test_the_request_arrives_with_exactly_its_headers_and_its_body(self) -> None:
        trial = self.make(Scene.ANSWERS)
        trial.send()
        method, target, headers, body = trial.received[-1]
        assert (method, target, body) == ("POST", "/path?query=1", b"body")
        assert [name for name, _ in headers] == ["Host", "Content-Length", "X-Key"]
        assert headers[2] == ("X-Key", "the value")

    def test_a_redirect_is_handed_over_and_not_followed(self) -> None:
        trial = self.make(Scene.REDIRECTS)
        assert trial.send().status == 302
        assert len(trial.received) == 1

    def test_silence_ends_at_the_time_left(self) -> None:
        with pytest.raises(TimedOut):
            self.make(Scene.STAYS_SILENT).send(time_left=0.3)

    def test_nobody_there_is_a_failed_connection(self) -> None:
        with pytest.raises(ConnectionFailed):
            self.make(Scene.IS_NOT_THERE).send()

    def test_a_body_over_the_limit_is_refused(self) -> None:
        with pytest.raises(ResponseTooLarge):
            self.make(Scene.FLOODS).send()

    def test_a_body_within_the_limit_is_whole(self) -> None:
        response = self.make(Scene.FLOODS).send(response_bytes=3 * 1024 * 1024)
        assert len(response.body) == 2 * 1024 * 1024

    def test_it_can_be_used_again_after_close(self) -> None:
        trial = self.make(Scene.ANSWERS)
        trial.send()
        trial.transport.close()
        assert trial.send().status == 201


class ResolverContract(ABC):
    """The promises of every resolver: `localhost` is known, `nowhere.invalid` not."""

    @abstractmethod
    def make(self) -> Resolver:
        """Return a resolver."""

    def test_a_known_name_has_addresses(self) -> None:
        addresses = self.make().resolve("localhost", 80, 5.0)
        assert "127.0.0.1" in addresses
        assert len(set(addresses)) == len(addresses)

    def test_an_unknown_name_is_a_dns_failure(self) -> None:
        with pytest.raises((DnsFailed, TimedOut)):
            self.make().resolve("nowhere.invalid", 80, 5.0)


class ListenersContract(ABC):
    """The promises of all that knows what the installation listens on."""

    @abstractmethod
    def make(self, host: str, port: int) -> Listeners:
        """Return listeners of a server that is bound to this host and port."""

    def test_a_bound_address_is_known_at_its_port_only(self) -> None:
        listeners = self.make("127.0.0.1", 8765)
        assert listeners.addresses(8765) == {"127.0.0.1"}
        assert listeners.addresses(8766) == frozenset()

    def test_an_address_of_this_machine_is_local_and_another_is_not(self) -> None:
        listeners = self.make("0.0.0.0", 8765)  # noqa: S104 - nothing listens
        assert listeners.is_local("127.0.0.1")
        assert not listeners.is_local("192.0.2.1")  # for documentation, RFC 5737


class ClockContract(ABC):
    """The promises of every clock."""

    @abstractmethod
    def make(self) -> Clock:
        """Return a clock."""

    def test_sleeping_moves_both_times_by_about_as_much(self) -> None:
        clock = self.make()
        now, monotonic = clock.now(), clock.monotonic()
        clock.sleep(0.05)
        assert 0.05 <= clock.monotonic() - monotonic < 5
        assert 0 < clock.now() - now < 5

    def test_a_call_is_made_once_and_not_before_its_time(self) -> None:
        clock = self.make()
        calls: list[str] = []
        clock.call_later(0.2, lambda: calls.append("second"))
        clock.call_later(0.1, lambda: calls.append("first"))
        clock.call_later(600.0, lambda: calls.append("never"))
        assert calls == []
        deadline = clock.monotonic() + 10
        while len(calls) < 2 and clock.monotonic() < deadline:
            clock.sleep(0.05)
        clock.sleep(0.1)
        assert calls == ["first", "second"]


class ThreadsContract(ABC):
    """The contract of everything that starts threads."""

    @abstractmethod
    def make(self) -> Threads:
        """Return the starter of threads under test."""

    def test_work_is_done_in_another_thread(self) -> None:
        names: list[str] = []
        thread = self.make().start(
            lambda: names.append(threading.current_thread().name), "worker-of-test"
        )
        thread.join(10)
        assert names == ["worker-of-test"]
        assert not thread.is_alive()

    def test_a_worker_does_one_piece_of_work_after_the_other(self) -> None:
        threads: list[int] = []
        worker = self.make().new_worker("one")
        for _ in range(3):
            worker.submit(lambda: threads.append(threading.get_ident()))
        worker.shutdown(wait=True)
        assert len(threads) == 3
        assert len({*threads} - {threading.get_ident()}) == 1

    def test_a_call_returns_or_raises_what_its_work_does(self) -> None:
        threads = self.make()
        assert threads.call(threading.get_ident) != threading.get_ident()
        with pytest.raises(ZeroDivisionError):
            threads.call(lambda: 1 // 0)


class SecretsContract(ABC):
    """The promises of every store of secrets."""

    @abstractmethod
    def make(self, value: str) -> tuple[Secrets, Configuration]:
        """Return a store in which the token of a configuration has this value."""

    def test_a_secret_opens_to_its_value(self) -> None:
        secrets, configuration = self.make("välue with blanks ")
        assert secrets.open(configuration, "token") == Secret("välue with blanks ")

    def test_an_empty_secret_is_a_value(self) -> None:
        secrets, configuration = self.make("")
        assert secrets.open(configuration, "token") == Secret("")

    def test_a_secret_that_is_not_there_is_missing_and_named(self) -> None:
        secrets, configuration = self.make("value")
        with pytest.raises(SecretMissing) as caught:
            secrets.open(configuration, "password")
        assert caught.value.field == "password"


class AuditContract(ABC):
    """The promises of every audit."""

    @abstractmethod
    def make(self) -> Audit:
        """Return an audit that works."""

    def test_every_attempt_gets_an_id_of_its_own(self) -> None:
        audit = self.make()
        intent = Intent(
            "acme", "", "basic", "GET", "https://a.example", "/", ("Host",), 0
        )
        first, second = audit.intend(intent), audit.intend(intent)
        assert first
        assert first != second

    def test_intents_that_are_recorded_together_get_an_id_each(self) -> None:
        audit = self.make()
        intent = Intent(
            "acme", "", "basic", "GET", "https://a.example", "/", ("Host",), 0
        )
        attempts = audit.intend_all([intent, intent, intent])
        assert len({*attempts, audit.intend(intent)}) == 4

    def test_ends_and_refusals_are_taken_without_an_error(self) -> None:
        audit = self.make()
        intent = Intent(
            "acme", "", "basic", "GET", "https://a.example", "/", ("Host",), 0
        )
        attempt = audit.intend(intent)
        audit.conclude(Outcome(attempt, "acme", 200, "ok", 5))
        audit.note(Change(Tag.SECRET_SET, "somebody", "acme", ("token",)))
        audit.refuse(Refusal("", "acme", "", "egress_denied"))
        assert audit.intend(intent) != attempt
