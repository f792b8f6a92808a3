"""Attacks that once worked, each a few lines from a hostile server, file or caller."""

import gzip
import os
import socket
import threading
import time
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import httpx2
import pytest
import requests

from contract.raw_peer import raw_peer
from frames import places_showing, product_frames
from outkey import Gateway
from outkey.administration.core.document.document import parse_document
from outkey.foundation.adapters.process_lock import ProcessLock
from outkey.foundation.adapters.states_memory import MemoryStateRows
from outkey.foundation.core.errors import (
    ConfigError,
    ConnectionFailed,
    EgressDenied,
    OutkeyError,
    ResponseBroken,
    ResponseTooLarge,
    Sealed,
    SecretMissing,
    SecretUnreadable,
    TimedOut,
)
from outkey.foundation.core.origin import parse_base_url
from outkey.foundation.core.secret import Secret
from outkey.hosts.file.loading import from_text
from outkey.integrations.httpx import OutkeyAuth as HttpxAuth
from outkey.integrations.httpx2 import OutkeyAuth as Httpx2Auth
from outkey.integrations.requests import OutkeyAuth as RequestsAuth
from outkey.sending.adapters.permits_leased import LeasedPermits
from outkey.sending.adapters.secrets.keyring import new_keyring, parse
from outkey.sending.adapters.secrets.secrets_envelope import seal, unseal
from outkey.sending.adapters.transport import resolver_system, tls_context
from outkey.sending.adapters.transport.resolver_system import SystemResolver
from outkey.sending.adapters.transport.transport_sockets import wire_form, wire_parts
from outkey.sending.core.configuration.configuration import build
from outkey.sending.core.configuration.custom_rows import CustomHeader
from outkey.sending.core.request.message import Header, Request, Source
from outkey.sending.core.vault.envelope import Place
from outkey.spar import Spar
from outkey.testing import FakeClock

PLACE = Place("secret", "r", "f", 1, "https://a.example:443")


def gateway_for(url: str, more: str = "", secret: str = "") -> Gateway:
    os.environ["ATTACK_TOKEN"] = "canary-token"
    return from_text(
        f'[configuration.a]\nbase_url = "{url}"\nnetwork ='
        ' "internal"\nauthentication_type = "bearer"\ntoken ='
        f' "{secret or "env:ATTACK_TOKEN"}"\n{more}'
    )


def against(answer: bytes, more: str = "") -> OutkeyError | int:
    with (
        raw_peer(answer) as peer,
        gateway_for(f"http://127.0.0.1:{peer.port}", more) as gateway,
    ):
        try:
            return gateway.send("a", "GET", "/").status
        except OutkeyError as error:
            return error


# ── hostile servers ───────────────────────────────────────────────────────────────────


def test_a_chunk_of_minus_one_byte_is_refused_and_what_follows_not_read() -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n"
    limits = "[configuration.a.limits]\nresponse_mebibytes = 1\nretries = 0"
    failure = against(head + b"x" * 8_000_000, limits)
    assert isinstance(failure, ResponseBroken)
    assert failure.message == "the response is not valid HTTP"


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok!",
    ],
)
def test_ambiguous_answers_are_refused(answer: bytes) -> None:
    failure = against(answer, "[configuration.a.limits]\nretries = 0")
    assert isinstance(failure, ConnectionFailed)


def test_a_hundred_long_challenges_take_no_time() -> None:
    lines = b"".join(b"WWW-Authenticate: " + b"a " * 8000 + b"\r\n" for _ in range(95))
    started = time.monotonic()
    answer = b"HTTP/1.1 401 No\r\n" + lines + b"Content-Length: 0\r\n\r\n"
    assert against(answer) == 401
    assert time.monotonic() - started < 1


def test_a_body_of_empty_gzip_members_takes_no_time() -> None:
    body = gzip.compress(gzip.compress(b"") * 500_000)
    head = (
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip, gzip\r\nContent-Length: %d\r\n\r\n"
        % len(body)
    )
    started = time.monotonic()
    assert isinstance(against(head + body), ResponseTooLarge)
    assert time.monotonic() - started < 1


def test_retry_after_zero_is_no_storm() -> None:
    started = time.monotonic()
    answer = b"HTTP/1.1 503 No\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n"
    assert against(answer) == 503
    assert time.monotonic() - started > 0.3


def test_connecting_and_shaking_hands_share_one_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(socket, "create_connection", _slowly(0.4))
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"https://127.0.0.1:{silent.getsockname()[1]}"
        limits = (
            "[configuration.a.limits]\nconnect_timeout = 0.5\ntotal_timeout ="
            " 0.5\nretries = 0"
        )
        started = time.monotonic()
        with gateway_for(url, limits) as gateway, pytest.raises(TimedOut):
            gateway.send("a", "GET", "/")
    assert time.monotonic() - started < 0.8


def _slowly(seconds: float):  # noqa: ANN202 - a stand-in for the function of `socket`
    real = socket.create_connection

    def connect(*args: object, **kwargs: object) -> socket.socket:
        time.sleep(seconds)
        return real(*args, **kwargs)  # type: ignore[arg-type]

    return connect


# ── secrets in frames ─────────────────────────────────────────────────────────────────


def test_a_mistyped_key_file_shows_no_key() -> None:
    key = b64encode(b"canary--" * 4).decode()
    with pytest.raises(Sealed) as caught:
        parse(Secret(f"Primary {key}"))
    frames = product_frames(caught.value)
    assert frames
    assert places_showing(key, caught.value, frames) == []
    assert places_showing("canary--", caught.value, frames) == []


def test_a_tampered_envelope_shows_no_data_key() -> None:
    ring = new_keyring()
    stored = bytearray(seal(Secret("canary"), PLACE, ring))
    stored[-1] ^= 1
    with pytest.raises(SecretUnreadable) as caught:
        unseal(bytes(stored), PLACE, ring)
    frames = product_frames(caught.value)
    assert frames
    assert places_showing("data_key", caught.value, frames) == []


def test_a_secret_that_is_no_utf_8_is_refused_and_not_shown() -> None:
    with pytest.raises(ConfigError) as caught:
        seal(Secret("canary\udcff"), PLACE, new_keyring())
    frames = product_frames(caught.value)
    assert frames
    assert places_showing("canary", caught.value, frames) == []


@pytest.mark.parametrize("content", [b"canary" * 20_000, b"canary\xff"])
def test_a_file_that_is_no_secret_is_not_shown(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "t").write_bytes(content)
    with gateway_for("http://127.0.0.1:9", secret=f"file:{tmp_path}/t") as gateway:
        with pytest.raises(SecretMissing) as caught:
            gateway.send("a", "GET", "/")
        frames = product_frames(caught.value)
        assert frames
        assert places_showing("canary", caught.value, frames) == []


def test_a_foreign_exception_while_sending_shows_no_credentials() -> None:
    """A signal handler may raise anywhere, also where the request is being written."""

    class SoftLimit(Exception):
        pass

    def stop(*_: object) -> None:
        raise SoftLimit

    import signal

    with socket.create_server(("127.0.0.1", 0)) as deaf:
        url = f"http://127.0.0.1:{deaf.getsockname()[1]}"
        before = signal.signal(signal.SIGALRM, stop)
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        try:
            with gateway_for(url) as gateway, pytest.raises(SoftLimit) as caught:
                gateway.send("a", "PUT", "/", data=b"x" * 50_000_000)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
    frames = product_frames(caught.value)
    assert frames
    assert places_showing("canary-token", caught.value, frames) == []


def test_a_foreign_exception_while_the_request_is_put_together_shows_nothing() -> None:
    class SoftLimit(Exception):
        pass

    signals = [SoftLimit()]

    class Interrupted(tuple[Header, ...]):
        """Headers during which a signal handler raises, once."""

        __slots__ = ()

        def __iter__(self) -> Iterator[Header]:
            yield from super().__iter__()
            if signals:
                raise signals.pop()

    token = Header("Authorization", Secret("canary-token"), Source.AUTHENTICATION)
    origin = parse_base_url("https://api.acme.example").origin
    request = Request("PUT", origin, "/", (token,), body=Secret("canary-token"))
    with pytest.raises(SoftLimit) as in_head:
        wire_form(request._replace(headers=Interrupted([token])))
    parts = wire_parts(request)
    next(parts)
    with pytest.raises(SoftLimit) as in_parts:
        parts.throw(SoftLimit())  # type: ignore[attr-defined]
    for caught in (in_head, in_parts):
        frames = product_frames(caught.value)
        assert frames
        assert places_showing("canary-token", caught.value, frames) == []


# ── hostile files and forks ───────────────────────────────────────────────────────────


def test_a_pipe_in_the_place_of_a_secret_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with (
        gateway_for("http://127.0.0.1:9", secret=f"file:{tmp_path}/fifo") as gateway,
        pytest.raises(SecretMissing, match="cannot be read"),
    ):
        gateway.send("a", "GET", "/")


def test_a_pipe_in_the_place_of_a_ca_file_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    more = f'[configuration.a.tls]\nca_file = "{tmp_path}/fifo"'
    with (
        gateway_for("https://127.0.0.1:9", more) as gateway,
        pytest.raises(ConfigError, match="CA certificates"),
    ):
        gateway.send("a", "GET", "/")


@pytest.mark.parametrize(
    "make",
    [
        ProcessLock,
        lambda: LeasedPermits(MemoryStateRows(), FakeClock().monotonic)._lock,
    ],
)
def test_a_lock_held_during_a_fork_does_not_block_the_child(
    make: type[ProcessLock],
) -> None:
    lock = make()
    with lock:
        child = os.fork()
        if child == 0:  # pragma: no cover - the child's lines are not measured
            with lock:
                os._exit(7)
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            assert os.waitstatus_to_exitcode(status) == 7
            return
        time.sleep(0.01)
    os.kill(child, 9)
    os.waitpid(child, 0)
    pytest.fail("the child waits for a lock that nobody holds")


def test_one_slow_configuration_does_not_hold_up_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from outkey.sending.core.configuration.sections import TlsSettings
    from outkey.sending.core.request.message import Route

    release = threading.Event()
    real = tls_context.make_context

    def make(settings: TlsSettings, *rest: Any):  # noqa: ANN202, ANN401 - as the original
        if settings.minimum_version == "1.3":
            release.wait(5)
        return real(settings, *rest)

    monkeypatch.setattr(tls_context, "make_context", make)
    contexts = tls_context.TlsContexts()
    slow = Route((), "slow", TlsSettings("1.3"), 1, 1, 1, 1)
    thread = threading.Thread(target=contexts.get, args=(slow,))
    thread.start()
    started = time.monotonic()
    assert contexts.get(Route((), "quick", TlsSettings(), 1, 1, 1, 1))
    assert time.monotonic() - started < 2
    release.set()
    thread.join()


def test_a_name_that_hangs_gets_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    release = threading.Event()
    monkeypatch.setattr(
        resolver_system.socket, "getaddrinfo", lambda *_, **__: release.wait(5) and []
    )
    resolver = SystemResolver()
    before = threading.active_count()
    for _ in range(10):
        with pytest.raises(TimedOut):
            resolver.resolve("hangs.example", 80, 0.01)
    assert threading.active_count() == before + 1
    release.set()


# ── hostile callers and clients ───────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def spar() -> Iterator[Spar]:
    with Spar() as server:
        yield server


@pytest.mark.parametrize(
    ("library", "auth"), [(httpx, HttpxAuth), (httpx2, Httpx2Auth)]
)
def test_a_request_that_is_sent_again_elsewhere_has_no_credentials(
    spar: Spar, library: type, auth: type
) -> None:
    spar.clear()
    with gateway_for(spar.url) as gateway, library.Client() as client:
        request = client.build_request("GET", f"{spar.url}/echo")
        client.send(request, auth=auth(gateway, "a"))
        request.url = library.URL(f"{spar.elsewhere}/echo")
        client.send(request, auth=None)
    assert [bool(a.values("Authorization")) for a in spar.journal] == [True, False]


@pytest.mark.parametrize(
    ("library", "auth"), [(httpx, HttpxAuth), (httpx2, Httpx2Auth)]
)
def test_a_hook_that_turns_a_request_elsewhere_is_refused(
    spar: Spar, library: type, auth: type
) -> None:
    spar.clear()

    def turn(request: httpx.Request) -> None:
        request.url = library.URL(f"{spar.elsewhere}/echo")

    hooks = {"request": [turn]}
    with (
        gateway_for(spar.url) as gateway,
        library.Client(event_hooks=hooks) as client,
        pytest.raises(EgressDenied),
    ):
        client.get(f"{spar.url}/echo", auth=auth(gateway, "a"))
    assert spar.journal == []


def test_the_headers_of_a_prepared_request_are_masked_when_shown(spar: Spar) -> None:
    with gateway_for(spar.url) as gateway:
        response = requests.get(
            f"{spar.url}/bearer", auth=RequestsAuth(gateway, "a"), timeout=5
        )
    assert "canary-token" not in repr(response.request.headers)
    assert spar.journal[-1].values("Authorization") == ["Bearer canary-token"]


def test_nothing_is_lent_for_an_address_that_may_not_be_reached() -> None:
    with gateway_for("http://169.254.169.254") as gateway, pytest.raises(EgressDenied):
        gateway.lend("a", "GET", "http://169.254.169.254/latest", [])


@pytest.mark.parametrize("method", ["CONNECT", "TRACE", "trace"])
def test_methods_that_tunnel_or_echo_are_refused(method: str) -> None:
    with (
        gateway_for("http://127.0.0.1:9") as gateway,
        pytest.raises(ConfigError, match="CONNECT"),
    ):
        gateway.send("a", method, "/")


@pytest.mark.parametrize(
    "row",
    [
        CustomHeader("X\r\nEvil: 1", "v", secret=False),
        CustomHeader("Host", "v", secret=False),
        CustomHeader("X", "v\r\nEvil: 1", secret=False),
    ],
)
def test_a_row_made_by_code_is_checked_too(row: CustomHeader) -> None:
    with pytest.raises(ConfigError):
        build("a", {"base_url": "https://a.example"}, headers=(row,))


@pytest.mark.parametrize("text", ["x = " + "[" * 5000, "x = " + "9" * 5000])
def test_a_document_that_breaks_the_parser_is_a_typed_error(text: str) -> None:
    with pytest.raises(ConfigError, match="TOML"):
        parse_document(text)


@pytest.mark.parametrize(
    "arguments",
    [
        {"path": "/\udcff"},
        {"path": "/", "params": {"a": "\udcff"}},
        {"path": "/", "data": "\udcff"},
        {"path": "/", "json": "\udcff"},
        {"path": "/", "data": {"\udcff": "x"}},
    ],
)
def test_text_that_is_no_utf_8_is_a_typed_error(arguments: dict[str, object]) -> None:
    with gateway_for("http://127.0.0.1:9") as gateway, pytest.raises(ConfigError):
        gateway.send("a", "POST", **arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "url", ["http://[::1].evil.example", "http://evil.example[::1]", "http://[::1]x"]
)
def test_brackets_in_odd_places_are_refused(url: str) -> None:
    with pytest.raises(ConfigError):
        build("a", {"base_url": url})


@pytest.mark.parametrize(
    "address",
    ["fd00:a9fe:a9fe::1", "fd00:42::42", "fd00:c1::a9fe:a9fe", "fd00:100::100:200"],
)
def test_more_metadata_addresses_are_refused(address: str) -> None:
    from outkey.sending.core.request.addresses import AddressKind, judge

    assert judge(address) is AddressKind.METADATA


@pytest.mark.parametrize("address", ["192.0.0.100", "3fff::1"])
def test_ranges_that_old_pythons_count_as_global_are_private(address: str) -> None:
    from outkey.sending.core.request.addresses import AddressKind, judge

    assert judge(address) is AddressKind.PRIVATE


def test_an_inspector_finds_no_text_in_a_secret() -> None:
    import inspect

    assert "canary" not in repr(inspect.getmembers(Secret("canary")))
