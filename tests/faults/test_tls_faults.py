"""TLS failures that no ordinary server produces, and settings that cannot be used."""

import contextlib
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import trustme
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)

from outkey.foundation.core.errors import (
    ConfigError,
    ConnectionFailed,
    OutkeyError,
    ResponseBroken,
    TimedOut,
    TlsBelowFloor,
    TlsFailed,
)
from outkey.foundation.core.origin import Origin
from outkey.foundation.core.secret import Secret
from outkey.sending.adapters.transport import tls_context
from outkey.sending.adapters.transport.configured_files import ConfiguredFiles
from outkey.sending.adapters.transport.tls_context import (
    TlsContexts,
    certificate_times,
    make_context,
    tls_failure,
)
from outkey.sending.adapters.transport.transport_sockets import SocketTransport
from outkey.sending.core.configuration.sections import TlsSettings
from outkey.sending.core.request.message import Header, Request, Response, Route, Source

Talk = Callable[[socket.socket], None]


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def ca_file(authority: trustme.CA, tmp_path: Path) -> str:
    file = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(file)
    return str(file)


@contextlib.contextmanager
def listening(talk: Talk) -> Iterator[int]:
    """Serve one connection with a function."""

    def serve() -> None:
        with contextlib.suppress(OSError):
            stream, _ = listener.accept()
            with stream:
                talk(stream)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        thread.join(5)


def send(
    port: int, tls: TlsSettings, *, time_left: float = 2.0, scheme: str = "https"
) -> Response:
    origin = Origin(scheme, "127.0.0.1", port)
    route = Route(("127.0.0.1",), "p", tls, 0.5, 0.5, time_left, 100_000)
    request = Request(
        "GET", origin, "/", (Header("Host", origin.authority, Source.DEFAULT),)
    )
    transport = SocketTransport()
    try:
        return transport.send(request, route)
    finally:
        transport.close()


def test_a_server_that_never_shakes_hands_is_a_time_out() -> None:
    with listening(lambda _: time.sleep(1)) as port, pytest.raises(TimedOut):
        send(port, TlsSettings())


def test_a_server_that_hangs_up_in_the_handshake_is_a_failed_connection() -> None:
    with (
        listening(lambda stream: stream.close()) as port,
        pytest.raises(ConnectionFailed),
    ):
        send(port, TlsSettings())


def test_a_tls_answer_cut_in_the_middle_is_a_broken_answer(
    authority: trustme.CA, ca_file: str
) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)

    def talk(stream: socket.socket) -> None:
        with context.wrap_socket(stream, server_side=True) as wrapped:
            wrapped.recv(65536)
            wrapped.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf")
            socket.socket(fileno=wrapped.detach()).close()  # no close_notify

    with listening(talk) as port, pytest.raises(ResponseBroken):
        send(port, TlsSettings(ca_file=ca_file))


def test_no_time_left_opens_no_connection() -> None:
    with pytest.raises(TimedOut, match="total timeout"):
        send(9, TlsSettings(), time_left=-1.0, scheme="http")


def pem(*, password: bytes | None = None) -> str:
    encryption = BestAvailableEncryption(password) if password else NoEncryption()
    key = generate_private_key(SECP256R1())
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption).decode()


@pytest.mark.parametrize(
    ("key", "reason", "field"),
    [
        ("canary", "not an unencrypted private key", "tls.client_key"),
        (pem(password=b"canary"), "not an unencrypted private key", "tls.client_key"),
        (pem(), "cannot be read", "tls.client_certificate"),
        ("", "not an unencrypted private key", "tls.client_key"),
    ],
    ids=["no key", "a locked key", "another certificate's key", "nothing"],
)
def test_a_client_key_that_cannot_be_used_is_refused_without_repeating_it(
    ca_file: str, key: str, reason: str, field: str
) -> None:
    with pytest.raises(ConfigError, match=reason) as caught:
        make_context(TlsSettings(client_certificate=ca_file), Secret(key))
    assert caught.value.field == field
    assert "canary" not in str(caught.value)


def test_the_times_of_a_client_certificate_are_those_of_the_one_of_its_key(
    authority: trustme.CA, tmp_path: Path
) -> None:
    issued = authority.issue_cert("client", not_after=datetime(2100, 1, 1, tzinfo=UTC))
    file = tmp_path / "client.pem"
    file.write_bytes(issued.cert_chain_pems[0].bytes())
    key = Secret(issued.private_key_pem.bytes().decode())
    settings = TlsSettings(client_certificate=str(file))
    begins, ends = certificate_times(settings, key, ConfiguredFiles())
    assert begins < time.time()
    assert ends == datetime(2100, 1, 1, tzinfo=UTC).timestamp()
    with pytest.raises(ConfigError):
        certificate_times(settings, Secret(pem()), ConfiguredFiles())


@pytest.mark.parametrize("content", [None, "not a certificate"])
def test_a_ca_file_that_cannot_be_used_is_refused(
    tmp_path: Path, content: str | None
) -> None:
    file = tmp_path / "ca.pem"
    if content:
        file.write_text(content)
    with pytest.raises(ConfigError, match="CA certificates cannot be read") as caught:
        make_context(TlsSettings(ca_file=str(file)))
    assert caught.value.field == "tls.ca_file"


def test_a_machine_without_authorities_verifies_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    paths = ssl.get_default_verify_paths()._replace(openssl_cafile="/nowhere/cert.pem")
    monkeypatch.setattr(ssl, "get_default_verify_paths", lambda: paths)
    monkeypatch.setattr(tls_context, "_SYSTEM_BUNDLES", ("/nowhere/bundle.pem",))
    with pytest.raises(TlsFailed, match="no certificate authorities"):
        make_context(TlsSettings())


def test_a_context_verifies_and_has_the_configured_floor() -> None:
    context = make_context(TlsSettings(minimum_version="1.3"))
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname
    assert context.minimum_version is ssl.TLSVersion.TLSv1_3
    assert make_context(TlsSettings()).minimum_version is ssl.TLSVersion.TLSv1_2


def test_a_context_is_kept_until_its_settings_or_files_change(ca_file: str) -> None:
    def route(tls: TlsSettings, partition: str = "p") -> Route:
        return Route((), partition, tls, 1, 1, 1, 1)

    contexts = TlsContexts()
    first = contexts.get(route(TlsSettings(ca_file=ca_file)))
    assert contexts.get(route(TlsSettings(ca_file=ca_file))) is first
    assert contexts.get(route(TlsSettings(ca_file=ca_file), "q")) is not first
    Path(ca_file).touch()
    second = contexts.get(route(TlsSettings(ca_file=ca_file)))
    assert second is not first
    assert contexts.get(route(TlsSettings())) is not second
    with pytest.raises(ConfigError):
        contexts.get(route(TlsSettings(ca_file=ca_file + ".gone")))


def tls_error(reason: str) -> ssl.SSLError:
    error = ssl.SSLError(1, f"[SSL: {reason}] canary")
    error.reason = reason
    return error


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("TLSV1_ALERT_PROTOCOL_VERSION", TlsBelowFloor),
        ("UNSUPPORTED_PROTOCOL", TlsBelowFloor),
        ("WRONG_VERSION_NUMBER", TlsFailed),
        ("TLSV13_ALERT_CERTIFICATE_REQUIRED", TlsFailed),
        ("SOMETHING_NEW", TlsFailed),
    ],
)
def test_a_tls_failure_has_words_of_our_own(
    reason: str, kind: type[OutkeyError]
) -> None:
    failure = tls_failure(tls_error(reason))
    assert isinstance(failure, kind)
    assert failure.code == "tls"
    assert "canary" not in f"{failure} {failure.hint}"


def test_an_unknown_certificate_fault_is_still_a_tls_failure() -> None:
    error = ssl.SSLCertVerificationError(1, "canary")
    error.verify_code = 999
    assert tls_failure(error).message == "the server's certificate is invalid"
