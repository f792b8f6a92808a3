"""The asynchronous transport passes the tests of the blocking one, on a loop.

Tests that are imported here run with the fixtures of this module.
"""

import asyncio
import gc
import gzip
import os
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest
import trustme

from contract import test_ports
from contract.raw_peer import raw_peer, serving
from contract.test_header_lines import (  # noqa: F401 - run here as well
    peer,
    test_one_accepted_header_is_one_line_with_that_value,
)
from faults import test_tls_faults
from faults.test_tls_faults import (  # noqa: F401 - run here as well
    authority,
    ca_file,
    test_a_server_that_hangs_up_in_the_handshake_is_a_failed_connection,
    test_a_server_that_never_shakes_hands_is_a_time_out,
    test_a_tls_answer_cut_in_the_middle_is_a_broken_answer,
    test_no_time_left_opens_no_connection,
)
from faults.test_transport_faults import (  # noqa: F401 - run here as well
    gateway as blocking_gateway,
)
from faults.test_transport_faults import (  # noqa: F401 - run here as well
    send_raw,
    spar,
    test_a_bad_answer_is_a_typed_error_within_the_total_time,
    test_a_connection_that_ends_or_is_out_of_step_is_not_used_again,
    test_a_kept_connection_is_used_again,
    test_a_kept_connection_to_an_address_no_longer_vetted_is_dropped,
    test_a_large_upload_arrives_whole,
    test_a_request_after_a_silent_close_is_never_sent_twice,
    test_a_small_body_in_a_large_wrapping_is_refused,
    test_an_answer_that_comes_before_the_upload_was_read_counts,
    test_an_answer_that_is_no_http_is_a_failed_connection,
    test_an_answer_that_is_out_of_step_is_refused,
    test_an_answer_to_head_has_no_body_and_the_connection_stays_in_step,
    test_an_old_idle_connection_is_not_used,
    test_an_upload_that_is_hung_up_on_is_a_failed_connection,
    test_an_upload_that_nobody_reads_ends_at_the_silence,
    test_as_many_headers_and_bytes_as_allowed_are_fine,
    test_compressed_answers_are_inflated_and_unknown_ones_left_alone,
    test_damaged_compression_is_a_broken_answer,
    test_descriptors_do_not_leak_over_many_failures,
    test_early_hints_are_passed_over_and_the_connection_stays_in_step,
    test_folded_header_lines_become_one,
    test_idle_connections_are_bounded,
    test_no_frame_of_a_failed_exchange_holds_the_credentials,
    test_partitions_never_share_a_connection,
    test_raw_deflate_is_read_too,
    test_the_second_vetted_address_is_tried_when_the_first_refuses,
)
from outkey import Gateway, Response
from outkey.foundation.core.errors import (
    ConnectionFailed,
    EgressDenied,
    OutkeyError,
    TlsFailed,
)
from outkey.foundation.core.origin import Origin
from outkey.hosts.file.loading import from_text
from outkey.sending.adapters.transport.resolver_system import (
    AsyncSystemResolver,
    SystemResolver,
)
from outkey.sending.adapters.transport.transport_asyncio import (
    AsyncioTransport,
    _AsyncConnection,
)
from outkey.sending.core.configuration.sections import TlsSettings
from outkey.sending.core.request.message import Request, Route
from outkey.sending.ports.sending import Resolver
from outkey.spar import Spar
from outkey.testing.contracts import OnLoop, ResolverContract, ResolverOnLoop


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as made:
        # What it logs of a slow step may contain a word that a test uses as a secret.
        made.get_loop().slow_callback_duration = 60
        yield made


@pytest.fixture
def transport(runner: asyncio.Runner) -> Iterator[OnLoop]:
    made = OnLoop(runner, AsyncioTransport())
    yield made
    made.close()


@pytest.fixture(autouse=True)
def _another_transport(runner: asyncio.Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the tests of the blocking transport make asynchronous ones."""
    for module in (test_tls_faults, test_ports):
        monkeypatch.setattr(
            module, "SocketTransport", lambda: OnLoop(runner, AsyncioTransport())
        )


class GatewayOnLoop:
    """A gateway that sends from an event loop."""

    def __init__(self, runner: asyncio.Runner, gateway: Gateway) -> None:
        self._run, self._gateway = runner.run, gateway

    def send(
        self, configuration: str, method: str, path: str, data: bytes | None = None
    ) -> Response:
        return self._run(self._gateway.asend(configuration, method, path, data=data))


@pytest.fixture
def gateway(
    runner: asyncio.Runner,
    blocking_gateway: Gateway,  # noqa: F811 - a fixture
) -> Iterator[GatewayOnLoop]:
    yield GatewayOnLoop(runner, blocking_gateway)
    runner.run(blocking_gateway.aclose())


class TestAsyncioTransport(test_ports.TestSocketTransport):
    """The contract of every transport."""


class TestAsyncSystemResolver(ResolverContract):
    @pytest.fixture(autouse=True)
    def _on_loop(self, runner: asyncio.Runner) -> None:
        self.runner = runner

    def make(self) -> Resolver:
        return ResolverOnLoop(self.runner, AsyncSystemResolver(SystemResolver()))


# ── answers ───────────────────────────────────────────────────────────────────────────


def test_a_kept_connection_that_begins_to_talk_is_closed(transport: OnLoop) -> None:
    def talk(stream: socket.socket) -> None:
        stream.recv(65536)
        stream.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")
        said.wait(5)
        stream.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")
        assert stream.recv(65536) == b""

    said = threading.Event()
    with serving(talk) as port:
        send_raw(transport, port)
        said.set()
        transport.run(asyncio.sleep(0.05))
        with pytest.raises(
            ConnectionFailed
        ):  # there is nobody to answer another connection
            send_raw(transport, port, read_timeout=0.2)


def test_a_client_certificate_that_is_missed_after_the_handshake_is_a_tls_failure(
    transport: OnLoop,
    authority: trustme.CA,  # noqa: F811 - a fixture
    ca_file: str,  # noqa: F811 - a fixture
) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.verify_mode = ssl.CERT_REQUIRED
    authority.configure_trust(context)
    authority.issue_cert("127.0.0.1").configure_cert(context)

    def talk(stream: socket.socket) -> None:
        wrapped = context.wrap_socket(
            stream, server_side=True, do_handshake_on_connect=False
        )
        with suppress(ssl.SSLError):
            wrapped.do_handshake()
        with socket.socket(fileno=wrapped.detach()) as plain:
            time.sleep(0.1)  # until the alert has arrived
            plain.recv(65536)

    with serving(talk) as port, pytest.raises(TlsFailed, match="client certificate"):
        test_tls_faults.send(port, TlsSettings(ca_file=ca_file))


def test_a_large_compressed_answer_is_inflated(transport: OnLoop) -> None:
    body = gzip.compress(os.urandom(50_000))
    head = (
        "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length:"
        f" {len(body)}\r\n\r\n"
    )
    with raw_peer(head.encode() + body) as server:
        answer = send_raw(transport, server.port, response_bytes=100_000)
    assert answer.body == gzip.decompress(body)


def test_a_post_on_a_connection_that_dies_under_it_is_not_repeated(
    transport: OnLoop,
) -> None:
    seen = []

    def talk(stream: socket.socket) -> None:
        for answer in (b"HTTP/1.1 204 No Content\r\n\r\n", b""):
            seen.append(stream.recv(65536)[:4])
            stream.sendall(answer)

    with serving(talk, lambda _: seen.append(b"more")) as port:
        send_raw(transport, port)
        with pytest.raises(ConnectionFailed):
            send_raw(transport, port, "POST")
    assert seen == [b"GET ", b"POST"]


# ── connections and loops ─────────────────────────────────────────────────────────────


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_one_transport_serves_several_loops_one_after_the_other() -> None:
    shared = AsyncioTransport()
    with raw_peer(b"HTTP/1.1 204 No Content\r\n\r\n") as server:
        for _ in range(3):
            with asyncio.Runner() as own:
                once = OnLoop(own, shared)
                assert send_raw(once, server.port).status == 204
                assert send_raw(once, server.port).status == 204
                once.close()
                once.close()
        assert server.connections == 3


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_loop_that_is_gone_is_forgotten(caplog: pytest.LogCaptureFixture) -> None:
    # its records at DEBUG would keep what they are about
    caplog.set_level("INFO", "asyncio")
    shared = AsyncioTransport()
    with raw_peer(b"HTTP/1.1 204 No Content\r\n\r\n") as server:
        for _ in range(3):
            with asyncio.Runner() as own:  # and nobody closes
                send_raw(OnLoop(own, shared), server.port)
        assert len(shared._pools) == 1
        with asyncio.Runner() as own:
            own.run(shared.close())
        assert shared._pools == {}
        gc.collect()


def test_a_connection_of_a_loop_that_is_gone_can_be_closed() -> None:
    with asyncio.Runner() as own:

        async def make() -> _AsyncConnection:
            made = _AsyncConnection()
            made.connection_made(SimpleNamespace(abort=lambda: pytest.fail("no loop")))  # type: ignore[arg-type]
            return made

        connection = own.run(make())
    assert connection.close() is None, "it asks nothing of a loop that is gone"


def test_whoever_is_cancelled_leaves_no_connection_behind(transport: OnLoop) -> None:
    async def cancelled(port: int) -> None:
        request = Request("GET", Origin("http", "127.0.0.1", port), "/", ())
        route = Route(("127.0.0.1",), "p", TlsSettings(), 2.0, 2.0, 5.0, 1024)
        tasks = [
            asyncio.create_task(transport.transport.send(request, route))
            for _ in range(20)
        ]
        async with asyncio.timeout(10):
            while server.connections < len(tasks):  # noqa: ASYNC110 - of a thread
                await asyncio.sleep(0.01)
        for task in tasks:
            task.cancel()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
        assert {type(one) for one in ended} == {asyncio.CancelledError}
        await asyncio.sleep(0)

    with raw_peer(None) as server:
        transport.run(asyncio.to_thread(str))  # the loop's thread has its descriptors
        before = descriptors()
        transport.run(cancelled(server.port))
        assert server.connections == 20
    for _ in range(100):
        if descriptors() <= before:
            break
        time.sleep(0.02)  # for the server's side
    assert descriptors() <= before


def test_a_connection_that_meets_itself_is_refused(
    transport: OnLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    aborted = []
    looped = SimpleNamespace(
        get_extra_info=lambda _: ("127.0.0.1", 9), abort=lambda: aborted.append(True)
    )

    async def connect(*_: object, **__: object) -> tuple[object, None]:
        return looped, None

    async def send() -> None:
        monkeypatch.setattr(asyncio.get_running_loop(), "create_connection", connect)
        request = Request("GET", Origin("http", "127.0.0.1", 9), "/", ())
        route = Route(("127.0.0.1",), "p", TlsSettings(), 2.0, 2.0, 5.0, 1024)
        await transport.transport.send(request, route)

    with pytest.raises(EgressDenied, match="back to itself"):
        transport.run(send())
    assert aborted == [True]


def test_an_idempotent_request_after_a_silent_close_is_repeated_and_succeeds(
    runner: asyncio.Runner,
    spar: Spar,  # noqa: F811 - a fixture
) -> None:
    text = f'[configuration.a]\nbase_url = "{spar.url}"\nnetwork = "internal"'
    gateway = from_text(text)

    async def send() -> None:
        async with gateway:
            for _ in range(50):
                assert (await gateway.asend("a", "GET", "/impatient")).status == 200
                assert (await gateway.asend("a", "GET", "/echo")).status == 200

    runner.run(send())


def test_an_unknown_host_is_an_outkey_error(runner: asyncio.Runner) -> None:
    text = (
        '[configuration.a]\nbase_url = "https://nowhere.invalid"\nno_auth_reason ='
        ' "public_api"'
    )
    with from_text(text) as gateway, pytest.raises(OutkeyError) as caught:
        runner.run(gateway.asend("a", "GET", "/"))
    assert caught.value.code in {"dns", "timeout"}
