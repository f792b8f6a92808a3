"""Every contract suite on the fake of its port and on every real adapter."""

import asyncio
import contextlib
import os
import socket
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest

from contract.raw_peer import raw_peer
from outkey.foundation.adapters.clock_system import SystemClock
from outkey.foundation.adapters.states_memory import MemoryStateRows
from outkey.foundation.adapters.threads_system import SystemThreads
from outkey.foundation.core.errors import ConnectionFailed, OutkeyError
from outkey.foundation.core.origin import Origin
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.shared_state import StateKind
from outkey.foundation.ports.clock import Clock
from outkey.foundation.ports.database import Database, StateRows
from outkey.foundation.ports.threads import Threads
from outkey.sending.adapters.audit.audit_chained import ChainedAudit
from outkey.sending.adapters.audit.audit_logging import LoggingAudit
from outkey.sending.adapters.audit.checkpoints_file import CheckpointFile
from outkey.sending.adapters.permits_leased import LeasedPermits
from outkey.sending.adapters.secrets.keyring import new_keyring
from outkey.sending.adapters.secrets.secrets_reference import ReferencedSecrets
from outkey.sending.adapters.secrets.secrets_stored import StoredSecrets
from outkey.sending.adapters.tokens.tokens_memory import MemoryTokens
from outkey.sending.adapters.transport.listeners_file import ListenerFiles
from outkey.sending.adapters.transport.resolver_system import SystemResolver
from outkey.sending.adapters.transport.transport_sockets import SocketTransport
from outkey.sending.adapters.transport.transports_on_demand import TransportOnDemand
from outkey.sending.adapters.vouching.codes import KeyedVouchers
from outkey.sending.adapters.vouching.seen_file import SeenRowsFile
from outkey.sending.adapters.vouching.vouched_states import VouchedStates
from outkey.sending.core.configuration.configuration import Configuration, build
from outkey.sending.core.configuration.reference import parse_reference
from outkey.sending.core.request.message import (
    Request,
    Response,
    ResponseHeaders,
    Route,
)
from outkey.sending.core.vault.voucher import vouchable_facts
from outkey.sending.ports.sending import (
    Audit,
    Listeners,
    Permits,
    Resolver,
    Secrets,
    Tokens,
)
from outkey.sending.ports.storage import (
    AuditCheckpoints,
    AuditRows,
    RowVouchers,
    SeenRows,
)
from outkey.sync.adapters.vouched_lines import VouchedLines
from outkey.sync.ports.sync import Storage
from outkey.testing import (
    AsyncFake,
    FakeClock,
    FakeListeners,
    FakeResolver,
    FakeTransport,
    FixedRing,
    MemoryAudit,
    MemoryAuditRows,
    MemoryCheckpoints,
    MemoryDatabase,
    MemorySecrets,
    configuration,
)
from outkey.testing.contracts import (
    AuditContract,
    ClockContract,
    ListenersContract,
    ResolverContract,
    Scene,
    SecretsContract,
    ThreadsContract,
    TransportContract,
    Trial,
)
from outkey.testing.contracts_audit import AuditRowsContract, CheckpointsContract
from outkey.testing.contracts_database import DatabaseContract
from outkey.testing.contracts_registry import RegistryContract
from outkey.testing.contracts_state import PermitsContract, StateRowsContract
from outkey.testing.contracts_storage import (
    ConfigurationRowsContract,
    ConnectionRowsContract,
    KeyRowsContract,
    LineRowsContract,
    SecretRowsContract,
)
from outkey.testing.contracts_tokens import TokensContract
from outkey.testing.contracts_vouching import RowVouchersContract, SeenRowsContract
from outkey.testing.fakes.storage import memory_registry, memory_storage
from outkey.testing.fakes.vouching import FakeVouchers, MemorySeenRows

FLOOD = b"x" * (2 * 1024 * 1024)


class TestFakeTransport(TransportContract):
    def make(self, scene: Scene) -> Trial:
        received: list[tuple[str, str, tuple[tuple[str, str], ...], bytes]] = []

        def answer(request: Request) -> Response | OutkeyError:
            headers = tuple(
                (name, value.reveal() if isinstance(value, Secret) else value)
                for name, value, _ in request.headers
            )
            received.append((request.method, request.target, headers, request.body))
            return {
                Scene.ANSWERS: Response(
                    201, ResponseHeaders((("X-Peer", "here"),)), b"hello"
                ),
                Scene.REDIRECTS: Response(302, ResponseHeaders((("Location", "/x"),))),
                Scene.IS_NOT_THERE: ConnectionFailed(),
                Scene.STAYS_SILENT: Response(200),
                Scene.FLOODS: Response(200, body=FLOOD),
            }[scene]

        fake = FakeTransport(answer, delay=1.0 if scene is Scene.STAYS_SILENT else 0.0)
        return Trial(self.wrap(fake), Origin("http", "127.0.0.1", 80), received)

    def wrap(self, fake: FakeTransport) -> FakeTransport:
        return fake


class TestAsyncFakeTransport(TestFakeTransport):
    def wrap(self, fake: FakeTransport) -> FakeTransport:
        both = AsyncFake(fake, FakeResolver())

        class Looped(FakeTransport):
            def send(self, request: Request, route: Route) -> Response:
                return asyncio.run(both.send(request, route))

        return Looped()


class TestSocketTransport(TransportContract):
    @pytest.fixture(autouse=True)
    def _closing(self) -> Iterator[None]:
        with contextlib.ExitStack() as self.stack:
            yield

    def make(self, scene: Scene) -> Trial:
        answers = {
            Scene.ANSWERS: (
                b"HTTP/1.1 201 OK\r\nX-Peer: here\r\nContent-Length: 5\r\n\r\nhello"
            ),
            Scene.REDIRECTS: (
                b"HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n"
            ),
            Scene.FLOODS: (
                b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(FLOOD) + FLOOD
            ),
        }
        transport = SocketTransport()
        self.stack.callback(transport.close)
        if scene is Scene.IS_NOT_THERE:
            with socket.create_server(("127.0.0.1", 0)) as closed:
                return Trial(
                    transport, Origin("http", "127.0.0.1", closed.getsockname()[1]), []
                )
        peer = self.stack.enter_context(raw_peer(answers.get(scene)))
        return _Parsed(transport, Origin("http", "127.0.0.1", peer.port), peer.requests)  # type: ignore[arg-type]


class TestTransportOnDemand(TestSocketTransport):
    @pytest.fixture(autouse=True)
    def _on_demand(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sys.modules[__name__], "SocketTransport", TransportOnDemand)


class _Parsed(Trial):
    """A trial whose received requests are parsed from raw bytes."""

    def __getattribute__(self, name: str) -> object:
        value = super().__getattribute__(name)
        return [_parse(raw) for raw in value] if name == "received" else value


def _parse(raw: bytes) -> tuple[str, str, tuple[tuple[str, str], ...], bytes]:
    head, _, body = raw.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    method, target, _ = first.split(" ")
    headers = tuple((n, v) for n, _, v in (line.partition(": ") for line in lines))
    return method, target, headers, body


class TestFakeResolver(ResolverContract):
    def make(self) -> Resolver:
        return FakeResolver({"localhost": ("127.0.0.1",)})


class TestSystemResolver(ResolverContract):
    def make(self) -> Resolver:
        return SystemResolver()


class TestFakeListeners(ListenersContract):
    def make(self, host: str, port: int) -> Listeners:
        return FakeListeners({port: [host]}, local=["127.0.0.1"])


class TestListenerFiles(ListenersContract):
    @pytest.fixture(autouse=True)
    def folder(self, tmp_path: Path) -> Iterator[None]:
        self._folder, self._held = tmp_path / "listening", contextlib.ExitStack()
        with self._held:
            yield

    def make(self, host: str, port: int) -> Listeners:
        files = ListenerFiles(self._folder)
        self._held.enter_context(files.hold(host, port))
        return files


class TestFakeClock(ClockContract):
    def make(self) -> Clock:
        return FakeClock()


class TestSystemClock(ClockContract):
    def make(self) -> Clock:
        return SystemClock()


class TestSystemThreads(ThreadsContract):
    def make(self) -> Threads:
        return SystemThreads()


class TestMemorySecrets(SecretsContract):
    def make(self, value: str) -> tuple[Secrets, Configuration]:
        return MemorySecrets({"token": value}), build(
            "a", {"base_url": "https://a.example"}
        )


class TestSecretsFromTheEnvironment(SecretsContract):
    def make(self, value: str) -> tuple[Secrets, Configuration]:
        name = f"TEST_{uuid4().hex}"
        os.environ[name] = value
        reference = parse_reference(f"env:{name}", field="token")
        made = build(
            "a", {"base_url": "https://a.example"}, references={"token": reference}
        )
        return ReferencedSecrets(), made


class TestSecretsFromFiles(SecretsContract):
    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path

    def make(self, value: str) -> tuple[Secrets, Configuration]:
        file = self.folder / "token"
        file.write_text(value, encoding="utf-8")
        reference = parse_reference(f"file:{file}", field="token")
        made = build(
            "a", {"base_url": "https://a.example"}, references={"token": reference}
        )
        return ReferencedSecrets(), made


class TestMemoryAudit(AuditContract):
    def make(self) -> Audit:
        return MemoryAudit()


class TestLoggingAudit(AuditContract):
    def make(self) -> Audit:
        return LoggingAudit()


class TestChainedAudit(AuditContract):
    def make(self) -> Audit:
        return ChainedAudit(
            MemoryAuditRows(),
            MemoryCheckpoints(),
            SystemClock(),
            key_id="k",
            key=b"k" * 32,
        )


class TestMemoryDatabase(DatabaseContract):
    def make(self) -> tuple[Database, StateRows]:
        states = MemoryStateRows()
        return MemoryDatabase(FakeClock(), states), states


class TestMemoryAuditRows(AuditRowsContract):
    def make(self) -> AuditRows:
        return MemoryAuditRows()


class TestMemoryCheckpoints(CheckpointsContract):
    def make(self) -> AuditCheckpoints:
        return MemoryCheckpoints()


class TestCheckpointFile(CheckpointsContract):
    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path

    def make(self) -> AuditCheckpoints:
        return CheckpointFile(self.folder / "checkpoints")


class TestMemoryConfigurationRows(ConfigurationRowsContract):
    def make(self) -> Storage:
        return memory_storage()


class TestMemoryConnectionRows(ConnectionRowsContract):
    def make(self) -> Storage:
        return memory_storage()


class TestMemoryLineRows(LineRowsContract):
    def make(self) -> Storage:
        return memory_storage()


class TestMemorySecretRows(SecretRowsContract):
    def make(self) -> Storage:
        return memory_storage()


class TestMemoryKeyRows(KeyRowsContract):
    def make(self) -> Storage:
        return memory_storage()


class TestRegistryInMemory(RegistryContract):
    def make(self) -> Storage:
        return memory_storage()


class TestStoredSecrets(SecretsContract):
    def make(self, value: str) -> tuple[Secrets, Configuration]:
        storage = memory_storage()
        registry = memory_registry(storage=storage)
        secrets = StoredSecrets(
            storage, ReferencedSecrets(), FixedRing(new_keyring()), FakeClock()
        )
        added = registry.add(build("a", {"base_url": "https://a.example"}))
        secrets.set_value(added, "token", Secret(value))
        registry.note_secrets_changed("a")
        stored = registry.get("a")
        secrets.vouch(stored, vouchable_facts(stored))
        registry.note_vouched("a")
        return secrets, registry.get("a")


class TestLeasedPermits(PermitsContract):
    @pytest.fixture(autouse=True)
    def states(self) -> None:
        self._states = MemoryStateRows()

    def clock(self) -> Clock:
        return FakeClock()

    def make(self, clock: Clock) -> Permits:
        return LeasedPermits(self._states, clock.monotonic)


class TestMemoryStateRows(StateRowsContract):
    def make(self) -> StateRows:
        return MemoryStateRows()


class TestVouchedStates(StateRowsContract):
    kind = StateKind.WEBHOOK

    def make(self) -> StateRows:
        rows = MemoryStateRows()
        return VouchedStates(rows, FakeVouchers(MemoryDatabase(FakeClock(), rows)))


class TestVouchedStatesThatAreNotDeleted(TestVouchedStates):
    kind = StateKind.PAUSED_LINE


class TestRegistryWithVouchedLines(RegistryContract):
    def make(self) -> Storage:
        storage = memory_storage()
        lines = VouchedLines(
            storage.lines, storage.configurations, FakeVouchers(storage.database)
        )
        return replace(storage, lines=lines)


class TestMemorySeenRows(SeenRowsContract):
    def make(self) -> SeenRows:
        return MemorySeenRows()

    def reopened(self, rows: SeenRows) -> SeenRows:
        return rows


class TestSeenRowsFile(SeenRowsContract):
    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.file = tmp_path / "config" / "seen"

    def make(self) -> SeenRows:
        return SeenRowsFile(self.file)

    def reopened(self, rows: SeenRows) -> SeenRows:
        return SeenRowsFile(self.file)


class TestFakeVouchers(RowVouchersContract):
    def make(self) -> tuple[RowVouchers, Database]:
        database = MemoryDatabase(FakeClock())
        return FakeVouchers(database), database


class TestKeyedVouchers(RowVouchersContract):
    def make(self) -> tuple[RowVouchers, Database]:
        database = MemoryDatabase(FakeClock())
        ring = FixedRing(new_keyring())
        return KeyedVouchers(ring, MemorySeenRows(), database), database


class TestMemoryTokens(TokensContract):
    def make(self) -> tuple[Tokens, Configuration]:
        return MemoryTokens(FakeClock().now), configuration()


class TestMemoryTokensOfSubject(TokensContract):
    def make(self) -> tuple[Tokens, Configuration]:
        tokens = MemoryTokens(FakeClock().now)
        return tokens.of_subject(Secret("a user")), configuration()
