"""Certificates, versions and client certificates, judged against nginx and OpenSSL.

Every refused handshake comes with two proofs: a careless client does reach that server,
and the server's log has no request of ours.
"""

import pytest

from outkey import errors
from outkey.foundation.core.errors import OutkeyError
from peers.certificates import Pki
from peers.documents import GatewayFor, Table, bearer
from peers.servers import Nginx, Wire


def secure(
    nginx: Nginx, pki: Pki, server: str, host: str = "localhost", **tls: object
) -> Table:
    settings = {"ca_file": pki.ca} | tls
    return {"base_url": nginx.url(server, host), "tls": settings} | bearer("good-token")


def refusal(gateway_for: GatewayFor, table: Table) -> OutkeyError:
    with pytest.raises(OutkeyError) as caught:
        gateway_for(api=table).send("api", "GET", "/")
    assert "good-token" not in str(caught.value)
    return caught.value


# ── accepted ──────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
@pytest.mark.parametrize(
    ("server", "minimum", "spoken"),
    [
        ("good", "1.2", "TLSv1.3"),
        ("good", "1.3", "TLSv1.3"),
        ("tls12", "1.2", "TLSv1.2"),
        ("tls13", "1.2", "TLSv1.3"),
        ("tls13", "1.3", "TLSv1.3"),
    ],
)
def test_a_good_server_is_spoken_to_in_a_version_above_the_floor(
    *,
    server: str,
    minimum: str,
    spoken: str,
    host: str,
    gateway_for: GatewayFor,
    nginx: Nginx,
    pki: Pki,
    wire: Wire,
) -> None:
    table = secure(nginx, pki, server, host, minimum_version=minimum)
    response = gateway_for(api=table).send("api", "GET", "/")
    assert (response.status, response.json()) == (200, {"tls": spoken, "client": ""})
    [arrival] = wire.arrivals()
    assert (arrival.server, arrival.tls) == (server, spoken)
    assert arrival.credentials == ("Bearer good-token", "", "")


def test_a_client_certificate_identifies_us(
    gateway_for: GatewayFor, nginx: Nginx, pki: Pki, wire: Wire
) -> None:
    table = secure(
        nginx,
        pki,
        "mutual",
        client_certificate=pki.certificate("client"),
        client_key=f"file:{pki.key('client')}",
    )
    response = gateway_for(api=table).send("api", "GET", "/")
    assert response.status == 200
    [arrival] = wire.arrivals("mutual")
    assert "CN=client," in f"{arrival.client},"
    assert arrival.authorization == "Bearer good-token"


# ── refused by us ─────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("server", "host", "said"),
    [
        ("expired", "localhost", "the server's certificate has expired"),
        ("expired", "127.0.0.1", "the server's certificate has expired"),
        ("wronghost", "localhost", "the server's certificate is for another host"),
        (
            "wronghost",
            "127.0.0.1",
            "the server's certificate is for another IP address",
        ),
        ("selfsigned", "localhost", "the server's certificate is self-signed"),
        (
            "stranger",
            "localhost",
            "the server's certificate is from an unknown authority",
        ),
    ],
)
def test_a_bad_certificate_is_refused_and_named(
    *,
    server: str,
    host: str,
    said: str,
    gateway_for: GatewayFor,
    nginx: Nginx,
    pki: Pki,
) -> None:
    assert nginx.careless_get(server) == 200
    wire = Wire(nginx.log)
    error = refusal(gateway_for, secure(nginx, pki, server, host))
    assert type(error) is errors.TlsFailed
    assert (error.code, error.cause, error.message) == ("tls", "tls", said)
    assert error.hint
    assert wire.arrivals() == []


@pytest.mark.parametrize(
    ("server", "minimum"), [("tls11", "1.2"), ("tls11", "1.3"), ("tls12", "1.3")]
)
def test_a_server_below_the_floor_is_refused(
    server: str, minimum: str, gateway_for: GatewayFor, nginx: Nginx, pki: Pki
) -> None:
    assert nginx.careless_get(server) == 200
    wire = Wire(nginx.log)
    error = refusal(gateway_for, secure(nginx, pki, server, minimum_version=minimum))
    assert type(error) is errors.TlsBelowFloor
    assert (error.code, error.retryable) == ("tls", False)
    assert wire.arrivals() == []


def test_a_private_authority_is_unknown_until_it_is_added(
    gateway_for: GatewayFor, nginx: Nginx, pki: Pki, wire: Wire
) -> None:
    error = refusal(gateway_for, secure(nginx, pki, "good") | {"tls": {}})
    assert type(error) is errors.TlsFailed
    assert error.message == "the server's certificate is from an unknown authority"
    assert "CA" in error.hint
    assert wire.arrivals() == []


@pytest.mark.parametrize("server", ["expired", "tls11"])
def test_a_refused_handshake_is_not_retried(
    server: str,
    gateway_for: GatewayFor,
    nginx: Nginx,
    pki: Pki,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO", "outkey.audit")
    refusal(gateway_for, secure(nginx, pki, server) | {"limits": {"retries": 5}})
    intents = [record for record in caplog.records if '"origin"' in record.getMessage()]
    assert len(intents) == 1


# ── refused by them ───────────────────────────────────────────────────────────────────


def test_a_missing_client_certificate_is_a_tls_cause(
    gateway_for: GatewayFor, nginx: Nginx, pki: Pki, wire: Wire
) -> None:
    response = gateway_for(api=secure(nginx, pki, "mutual")).send("api", "GET", "/")
    assert (response.status, response.cause) == (400, "tls")
    assert "Client certificate" in (response.remedy or "")
    assert [(a.status, a.client) for a in wire.arrivals("mutual")] == [(400, "")]


def test_a_client_certificate_they_do_not_know_is_a_tls_cause(
    gateway_for: GatewayFor, nginx: Nginx, pki: Pki, wire: Wire
) -> None:
    table = secure(
        nginx,
        pki,
        "mutual",
        client_certificate=pki.certificate("badclient"),
        client_key=f"file:{pki.key('badclient')}",
    )
    response = gateway_for(api=table).send("api", "GET", "/")
    assert (response.status, response.cause) == (400, "tls")
    assert [arrival.status for arrival in wire.arrivals("mutual")] == [400]


def test_a_key_of_another_certificate_never_leaves(
    gateway_for: GatewayFor, nginx: Nginx, pki: Pki, wire: Wire
) -> None:
    table = secure(
        nginx,
        pki,
        "mutual",
        client_certificate=pki.certificate("client"),
        client_key=f"file:{pki.key('badclient')}",
    )
    error = refusal(gateway_for, table)
    assert isinstance(error, errors.ConfigError)
    assert error.field == "tls.client_certificate"
    assert wire.arrivals() == []


# ── the wrong protocol on the port ────────────────────────────────────────────────────


def test_plain_http_at_a_tls_port_is_a_tls_cause(
    gateway_for: GatewayFor, nginx: Nginx, wire: Wire
) -> None:
    base_url = nginx.url("good", scheme="http")
    response = gateway_for(api={"base_url": base_url}).send("api", "GET", "/")
    assert (response.status, response.cause) == (400, "tls")
    assert "scheme of the Base URL" in (response.remedy or "")
    assert [(a.status, a.tls) for a in wire.arrivals("good")] == [(400, "")]


def test_tls_at_a_plain_port_is_refused(
    gateway_for: GatewayFor, nginx: Nginx, pki: Pki, wire: Wire
) -> None:
    table = secure(nginx, pki, "main") | {"base_url": nginx.url("main", scheme="https")}
    error = refusal(gateway_for, table)
    assert type(error) is errors.TlsFailed
    assert error.message == "the server does not support TLS on this port"
    # nginx logs our ClientHello as a bad request; there is no method,
    # no header, nothing of ours.
    assert [(a.status, a.method, a.host, a.credentials) for a in wire.arrivals()] == [
        (400, "", "", ("", "", ""))
    ]
