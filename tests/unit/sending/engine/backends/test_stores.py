"""Reading from external stores: cache, single flight, log-in, and failing closed."""

import json
import os
import threading
from collections.abc import Callable
from dataclasses import replace

import pytest

from outkey.foundation.core.errors import (
    BackendUnavailable,
    BackendUnknown,
    ConfigError,
    ConnectionFailed,
    EgressDenied,
    OutkeyError,
    RedirectBlocked,
    ResponseTooLarge,
    SecretMissing,
)
from outkey.foundation.core.secret import Secret
from outkey.sending.adapters.tokens.signer_jose import JoseSigner
from outkey.sending.core.backends.rules import rules_of
from outkey.sending.core.backends.settings import Backends, parse_backends
from outkey.sending.core.backends.values import Reads
from outkey.sending.core.configuration.reference import Reference, parse_reference
from outkey.sending.core.request.message import Request, Response
from outkey.sending.engine.backends.stores import CachedStores, StorePorts
from outkey.sending.engine.wire.egress import Egress
from outkey.testing.fakes.basic import FakeClock, FakeResolver, FakeTransport

TOKEN = """
[backend.main]
store = "vault"
address = "https://vault.example"
token = "env:T"
"""
APPROLE = TOKEN.replace('token = "env:T"', 'role_id = "r"\nsecret_id = "env:S"')
USER = parse_reference("vault:db#user", field="username")
PASSWORD = parse_reference("vault:db#password", field="password")


class FakeVault:
    """One secret of two fields, whose version grows with each change."""

    def __init__(self) -> None:
        self.fields: dict[str, object] = {"user": "u1", "password": "p1"}
        self.version = 1
        self.reads = 0
        self.log_ins = 0
        self.renewals = 0
        self.valid = "t0"
        self.lease = 3600
        self.failure: Response | OutkeyError | None = None
        self.log_in_failure: Response | None = None
        self.before_read: Callable[[], object] = lambda: None

    def change(self) -> None:
        self.version += 1
        self.fields = {"user": f"u{self.version}", "password": f"p{self.version}"}

    def respond(self, request: Request) -> Response | OutkeyError:
        if request.target.endswith(("/login", "/renew-self")):
            return self.log_in(renews=request.target.endswith("self"))
        self.reads += 1
        self.before_read()
        if self.failure is not None:
            return self.failure
        headers = {header.name: header.value for header in request.headers}
        if headers["X-Vault-Token"] != Secret(self.valid):
            return Response(403, body=b'{"errors": ["permission denied"]}')
        metadata = {"version": self.version}
        return answer({"data": {"data": self.fields, "metadata": metadata}})

    def log_in(self, *, renews: bool) -> Response:
        if renews:
            self.renewals += 1
        else:
            self.log_ins += 1
        if self.log_in_failure is not None:
            return self.log_in_failure
        auth = {"client_token": self.valid, "renewable": True}
        return answer({"auth": auth | {"lease_duration": self.lease}})


def answer(document: object) -> Response:
    return Response(200, body=json.dumps(document).encode())


class World:
    """Stores on a fake Vault, with a clock that the test moves."""

    def __init__(self, text: str = TOKEN) -> None:
        self.vault = FakeVault()
        self.clock = FakeClock()
        self.transport = FakeTransport(self.vault.respond)
        self.resolver = FakeResolver({"vault.example": ("93.184.216.34",)})
        self.settings: Backends = parse_backends(text)
        self.warnings: list[str] = []
        self.tokens = {"T": "t0", "S": "s0"}
        self.stores = CachedStores(
            StorePorts(
                settings=lambda: self.settings,
                open_reference=self.open_reference,
                transport=self.transport,
                resolver=self.resolver,
                egress=Egress(),
                clock=self.clock,
                signer=JoseSigner(),
                find_rules=rules_of,
                warn=self.warnings.append,
            )
        )

    def open_reference(self, reference: Reference, field: str) -> Secret:
        assert field.startswith("backend.main.")
        return Secret(self.tokens[reference.place])

    def open(self, reference: Reference = PASSWORD, reads: Reads | None = None) -> str:
        return self.stores.open(reference, "password", reads).reveal()


@pytest.fixture
def world() -> World:
    return World()


def refused(world: World, kind: type[OutkeyError]) -> OutkeyError:
    with pytest.raises(kind) as refusal:
        world.open()
    assert refusal.value.field in {"password", "backend.main.address"}
    assert refusal.value.__context__ is None
    return refusal.value


def test_a_value_is_read_once_while_it_is_fresh(world: World) -> None:
    assert world.open() == "p1"
    world.vault.change()
    world.clock.advance(59)
    assert world.open() == "p1"
    world.clock.advance(1)
    assert world.open() == "p2"
    assert world.vault.reads == 2


def test_all_fields_of_a_send_come_from_one_read(world: World) -> None:
    world.settings = parse_backends(TOKEN + "cache_seconds = 0")
    reads = Reads()
    user = world.stores.open(USER, "username", reads)
    world.vault.change()
    assert (user.reveal(), world.open(reads=reads)) == ("u1", "p1")
    assert [source.version for source in reads.sources()] == ["1", "1"]
    assert world.open(reads=Reads()) == "p2"


def test_the_cache_recalls_what_is_fresh_and_asks_no_store(world: World) -> None:
    reads = Reads()
    assert not world.stores.recall(PASSWORD, "password", reads)
    world.open()
    assert world.stores.recall(PASSWORD, "password", reads)
    assert reads.secret("password").reveal() == "p1"
    world.clock.advance(60)
    assert not world.stores.recall(PASSWORD, "password", Reads())
    assert world.stores.recall(USER, "username", reads), "of one send, from one read"
    assert world.vault.reads == 1


def test_the_cache_recalls_nothing_of_a_backend_that_is_unknown(world: World) -> None:
    world.open()
    world.settings = parse_backends("")
    assert not world.stores.recall(PASSWORD, "password", Reads())


def test_the_state_of_the_stores_changes_with_values_and_settings_alone(
    world: World,
) -> None:
    states = [world.stores.state()]
    world.open()
    states.append(world.stores.state())
    world.open()
    assert world.stores.state() is states[1]
    world.settings = parse_backends(TOKEN)
    states.append(world.stores.state())
    assert world.stores.state() is states[2]
    assert len({id(state) for state in states}) == 3


def test_the_state_that_follows_a_change_is_not_seen_before_it(world: World) -> None:
    seen: list[object] = []

    class Entries(dict[object, object]):
        """The cache, which another thread looks at just before it is changed."""

        def __setitem__(self, key: object, entry: object) -> None:
            seen.append(world.stores.state())
            super().__setitem__(key, entry)

    world.stores._memory.entries = Entries()  # type: ignore[assignment]
    world.open()
    assert len(seen) == 1
    assert world.stores.state() is not seen[0]


def test_settings_that_have_changed_void_what_was_read(world: World) -> None:
    world.open()
    world.vault.change()
    world.settings = parse_backends(TOKEN)
    assert world.open() == "p2"


def test_threads_that_need_one_value_cause_one_read_and_one_log_in() -> None:
    world = World(APPROLE)
    world.vault.before_read = lambda: all_wait.wait(10)
    all_wait = threading.Event()
    values: list[str] = []
    threads = [
        threading.Thread(target=lambda: values.append(world.open())) for _ in range(25)
    ]
    for thread in threads:
        thread.start()
    all_wait.set()
    for thread in threads:
        thread.join(20)
    assert values == ["p1"] * 25
    assert (world.vault.reads, world.vault.log_ins) == (1, 1)


def test_threads_that_wait_for_a_failing_read_get_its_failure(world: World) -> None:
    started = threading.Event()
    released = threading.Event()
    world.vault.failure = Response(503)

    def block() -> None:
        started.set()
        released.wait(10)

    world.vault.before_read = block
    errors: list[str] = []

    def read() -> None:
        try:
            world.open()
        except BackendUnavailable as error:
            errors.append(error.reason)

    first = threading.Thread(target=read)
    first.start()
    assert started.wait(10)
    key = next(iter(world.stores._memory.flights))
    others = [threading.Thread(target=read) for _ in range(3)]
    flight = world.stores._memory.flights[key]
    for other in others:
        other.start()
    while len(flight.done._cond._waiters) < 3:  # type: ignore[attr-defined]
        assert first.is_alive()
    released.set()
    for thread in (first, *others):
        thread.join(10)
    assert errors == ["backend-sealed"] * 4
    assert world.vault.reads == 1


@pytest.mark.parametrize(
    ("failure", "kind", "reason"),
    [
        (Response(503), BackendUnavailable, "backend-sealed"),
        (Response(429), BackendUnavailable, "backend-throttled"),
        (ConnectionFailed(), BackendUnavailable, "backend-unreachable"),
        (Response(200, body=b"<html>"), BackendUnavailable, "backend-unreachable"),
        (ResponseTooLarge(), SecretMissing, "secret-too-large"),
        (Response(403), SecretMissing, "backend-denied"),
        (Response(404), SecretMissing, "secret-absent"),
        (Response(307), RedirectBlocked, ""),
    ],
)
def test_what_cannot_be_read_is_an_error_and_never_an_older_value(
    world: World, failure: Response, kind: type[OutkeyError], reason: str
) -> None:
    world.open()
    world.clock.advance(60)
    world.vault.failure = failure
    assert refused(world, kind).reason == reason
    assert refused(world, kind).reason == reason


def test_an_expired_value_serves_an_outage_for_as_long_as_the_operator_says(
    world: World,
) -> None:
    world.settings = parse_backends(TOKEN + "stale_seconds = 100")
    world.open()
    world.vault.failure = Response(503)
    world.clock.advance(159)
    assert world.open() == "p1"
    assert len(world.warnings) == 1
    world.clock.advance(1)
    refused(world, BackendUnavailable)


def test_a_value_that_was_denied_does_not_serve_a_later_outage(world: World) -> None:
    world.settings = parse_backends(TOKEN + "stale_seconds = 100")
    world.open()
    world.clock.advance(60)
    world.vault.failure = Response(403)
    refused(world, SecretMissing)
    world.vault.failure = Response(503)
    refused(world, BackendUnavailable)


def test_a_log_in_is_used_again_and_extended_before_its_end() -> None:
    world = World(APPROLE + "cache_seconds = 0")
    world.vault.lease = 90
    for seconds in (0, 59, 2, 1):
        world.clock.advance(seconds)
        world.open()
    assert (world.vault.log_ins, world.vault.renewals) == (1, 1)
    world.clock.advance(91)
    world.open()
    assert world.vault.log_ins == 2


def test_a_log_in_that_cannot_be_extended_is_made_anew() -> None:
    world = World(APPROLE + "cache_seconds = 0")
    world.vault.lease = 90
    world.open()
    world.clock.advance(61)
    world.vault.log_in_failure = Response(503)
    world.open()  # valid for the time being
    world.vault.log_in_failure = Response(403)
    refused(world, BackendUnavailable)
    world.vault.log_in_failure = None
    assert refused(world, BackendUnavailable).reason == "backend-login"
    world.clock.advance(10)
    assert world.open() == "p1"


def test_a_token_without_an_end_is_never_extended() -> None:
    world = World(APPROLE + "cache_seconds = 0")
    world.vault.lease = 0
    world.open()
    world.clock.advance(10**6)
    world.open()
    assert (world.vault.log_ins, world.vault.renewals) == (1, 0)


def test_a_read_that_is_refused_gets_one_new_log_in() -> None:
    world = World(APPROLE + "cache_seconds = 0")
    world.open()
    world.vault.valid = "t1"
    assert world.open() == "p1"
    assert world.vault.log_ins == 2
    world.vault.failure = Response(403)
    world.vault.reads = 0
    refused(world, SecretMissing)
    assert (world.vault.reads, world.vault.log_ins) == (2, 3)


def test_a_token_of_the_operator_is_not_replaced(world: World) -> None:
    world.vault.valid = "t1"
    refused(world, SecretMissing)
    assert (world.vault.reads, world.vault.log_ins) == (1, 0)


def test_after_a_refusal_a_changed_value_is_read_once_in_ten_seconds(
    world: World,
) -> None:
    world.open()
    reads = Reads()
    world.open(reads=reads)
    assert world.stores.reread(reads) is None
    world.vault.change()
    assert world.stores.reread(reads) is None  # asked a moment ago
    assert world.vault.reads == 2
    world.clock.advance(10)
    fresh = world.stores.reread(reads)
    assert fresh is not None
    assert fresh.secret("password") == Secret("p2")
    # Another send with the old value needs no read: the newer one is in the cache.
    other = world.stores.reread(reads)
    assert other is not None
    assert other.secret("password") == Secret("p2")
    assert world.vault.reads == 3


def test_a_value_that_was_just_read_is_not_read_again(world: World) -> None:
    reads = Reads()
    world.open(reads=reads)
    world.vault.change()
    assert world.stores.reread(reads) is None
    assert world.vault.reads == 1


def test_after_a_refusal_a_store_that_fails_changes_nothing(world: World) -> None:
    world.open()
    reads = Reads()
    world.open(reads=reads)
    world.vault.failure = Response(503)
    assert world.stores.reread(reads) is None


@pytest.mark.parametrize("address", ["169.254.169.254", "10.0.0.1", "127.0.0.1"])
def test_an_address_that_the_network_does_not_allow_gets_no_request(
    world: World, address: str
) -> None:
    world.resolver.names["vault.example"] = (address,)
    refused(world, EgressDenied)
    assert world.transport.sent == []


def test_plain_http_needs_an_internal_network(world: World) -> None:
    plain = TOKEN.replace("https://vault.example", "http://10.0.0.1")
    world.settings = parse_backends(plain)
    refused(world, EgressDenied)
    world.settings = parse_backends(plain + 'network = "internal"')
    assert world.open() == "p1"
    [(_, route)] = world.transport.sent
    assert route.addresses == ("10.0.0.1",)
    assert route.proxy is None


@pytest.mark.parametrize("token", ["t0\r\nX-Other: 1", "t0\n", "\ufefft0", "\ud800"])
def test_a_token_that_no_header_can_have_is_not_sent(token: str) -> None:
    world = World()
    world.tokens["T"] = token
    with pytest.raises(ConfigError) as refusal:
        world.open()
    assert "t0" not in f"{refusal.value} {refusal.value.hint}"
    assert world.vault.reads == 0


def test_settings_that_cannot_be_used_are_an_error_of_the_secret() -> None:
    world = World()

    def fail() -> Backends:
        raise ConfigError(field="backends.toml")

    world.stores = CachedStores(replace(world.stores._ports, settings=fail))
    assert refused(world, ConfigError).field == "password"


def test_time_that_has_run_out_is_an_outage(world: World) -> None:
    world.resolver.resolve = lambda *_: (world.clock.advance(11), ("93.184.216.34",))[1]  # type: ignore[method-assign]
    assert refused(world, BackendUnavailable).reason == "backend-unreachable"


def test_a_reference_without_a_backend_reads_nothing(world: World) -> None:
    world.settings = Backends({})
    with pytest.raises(BackendUnknown):
        world.open()


def test_a_fork_begins_without_values_and_locks(world: World) -> None:
    world.open()
    world.stores._memory = replace(world.stores._memory, process=os.getpid() + 1)
    world.open()
    assert world.vault.reads == 2


class SignedWorld(World):
    """AWS, where the signature of a read is the log-in, and is refused."""

    def __init__(self) -> None:
        super().__init__(
            """
            [backend.main]
            store = "aws"
            region = "r"
            address = "https://vault.example"
            access_key_id = "AKID"
            secret_access_key = "env:S"
            """
        )
        self.vault.failure = Response(400, body=b'{"__type": "InvalidSignature"}')


def test_a_refused_signature_is_a_refused_log_in_and_has_its_pause() -> None:
    world = SignedWorld()
    secret = parse_reference("aws-secret:db#password", field="password")
    for seconds, reads in ((0.0, 1), (9.9, 1), (0.1, 2)):
        world.clock.advance(seconds)
        with pytest.raises(BackendUnavailable) as refusal:
            world.open(secret)
        assert (refusal.value.reason, world.vault.reads) == ("backend-login", reads)


def test_a_refused_token_from_outside_is_read_anew_each_time() -> None:
    world = World(TOKEN.replace('"vault"\n', '"op"\n', 1))
    world.vault.failure = Response(401)
    secret = parse_reference("op:a/b#c", field="password")
    for reads in (1, 2):
        with pytest.raises(BackendUnavailable) as refusal:
            world.open(secret)
        assert (refusal.value.reason, world.vault.reads) == ("backend-login", reads)
