"""Digest repeats the texts of a challenge byte by byte, in both transports."""

import asyncio

import pytest

from contract.raw_peer import raw_peer
from outkey import Gateway, Response
from outkey.hosts.file.loading import from_text

DOCUMENT = """
[configuration.peer]
base_url = "http://127.0.0.1:{port}"
network = "internal"
environment = "test"
authentication_type = "digest"
username = "jürgen"
password = "env:DIGEST_PASSWORD"
"""
REFUSAL = (
    b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n"
    b'WWW-Authenticate: Digest realm="Gesch\xc3\xbctzt \\"1\\" \xe4", nonce="n",'
    b' opaque="\xff", qop="auth"\r\n\r\n'
)


async def send_on_loop(gateway: Gateway) -> Response:
    async with gateway:
        return await gateway.asend("peer", "POST", "/ö", data=b"body")


@pytest.mark.parametrize("way", ["send", "asend"])
def test_realm_and_user_arrive_as_the_bytes_that_the_server_sent(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DIGEST_PASSWORD", "pässwörd")
    with raw_peer(REFUSAL) as peer:
        gateway = from_text(DOCUMENT.format(port=peer.port))
        if way == "send":
            with gateway:
                response = gateway.send("peer", "POST", "/ö", data=b"body")
        else:
            response = asyncio.run(send_on_loop(gateway))
    assert response.status == 401
    first, second = peer.requests
    assert b"Authorization" not in first
    assert first.endswith(b"\r\n\r\nbody")
    assert second.endswith(b"\r\n\r\nbody")
    assert b'username="j\xc3\xbcrgen"' in second
    assert b'realm="Gesch\xc3\xbctzt \\"1\\" \xe4"' in second
    assert b'opaque="\xff"' in second
    assert b'uri="/%C3%B6"' in second
