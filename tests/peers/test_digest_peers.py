"""Digest at servers that nobody here wrote: Apache httpd, lighttpd and httpbin."""

import asyncio
import http.client
import re
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from contract.raw_peer import raw_peer
from outkey.sending.core.request.challenge import parse_challenges
from outkey.sending.core.request.digest import (
    DigestProof,
    NonceUse,
    strongest_challenge,
)
from peers.documents import GatewayFor, Given, Table, run_on_loop
from peers.servers import require_program
from peers.test_diagnosis_peers import WRONG, leaks, reasons
from peers.unpacked import USERS, apache_running, lighttpd_running

ALGORITHMS = ("MD5", "SHA-256")


def digest(
    url: str, user: str = "alice", password: str = "", path: str = "/page"
) -> Table:
    return {
        "base_url": url,
        "authentication_type": "digest",
        "username": user,
        "password": Given(password or USERS.get(user, "")),
        "verification": {"test_path": path},
    }


@pytest.fixture(scope="module")
def apache() -> Iterator[str]:
    with apache_running() as url:
        yield url


@pytest.fixture(scope="module")
def lighttpd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Run lighttpd once for each algorithm."""
    with ExitStack() as closing:
        yield {
            name: closing.enter_context(
                lighttpd_running(tmp_path_factory.mktemp("lighttpd"), name)
            )
            for name in ALGORITHMS
        }


@pytest.fixture(params=["apache", *ALGORITHMS])
def server(request: pytest.FixtureRequest) -> str:
    if request.param == "apache":
        return str(request.getfixturevalue("apache"))
    return str(request.getfixturevalue("lighttpd")[request.param])


@pytest.mark.parametrize("user", ["alice", "jürgen"])
def test_a_user_is_known_by_name_and_password(
    server: str, user: str, gateway_for: GatewayFor
) -> None:
    gateway = gateway_for(peer=digest(server, user))
    assert gateway.send("peer", "GET", "/page").text == "the page"
    assert run_on_loop(gateway, gateway.asend("peer", "GET", "/page")).status == 200
    assert gateway.test("peer").ok


def test_path_and_query_are_proved_as_they_are_sent(
    server: str, gateway_for: GatewayFor
) -> None:
    gateway = gateway_for(peer=digest(server))
    response = gateway.send("peer", "GET", "/page", params={"ä": "a b&c"})
    assert response.status == 200
    assert gateway.send("peer", "GET", '/nowhere/é,"x"').status == 404


def test_a_wrong_password_is_the_first_suspicion(
    server: str, gateway_for: GatewayFor
) -> None:
    table = digest(server, password=WRONG)
    report = gateway_for(peer=table).test("peer")
    assert (report.ok, report.status) == (False, 401)
    assert reasons(report)[:1] == ["wrong-credentials"]
    assert leaks(report, table) == []


def test_basic_where_digest_is_asked_for_is_another_scheme(
    server: str, gateway_for: GatewayFor
) -> None:
    table = digest(server) | {"authentication_type": "basic"}
    report = gateway_for(peer=table).test("peer")
    assert reasons(report)[:1] == ["wrong-scheme"]
    fix = report.suspicions[0].fix
    assert fix is not None
    assert fix.changes == (("authentication_type", "digest"),)


def test_the_strongest_offer_is_taken(tmp_path: Path, gateway_for: GatewayFor) -> None:
    # The server knows the passwords by SHA-256 only.
    with lighttpd_running(tmp_path, "MD5|SHA-256", hashed="sha256") as url:
        offered = http_head(url)
        assert "algorithm=MD5" in offered
        assert "algorithm=SHA-256" in offered
        gateway = gateway_for(peer=digest(url))
        assert gateway.send("peer", "GET", "/page").status == 200


def http_head(url: str) -> str:
    """Return the challenges of a server."""
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=10)
    try:
        connection.request("GET", "/page")
        return str(connection.getresponse().headers)
    finally:
        connection.close()


def test_many_threads_and_tasks_use_nonces_together(
    server: str, gateway_for: GatewayFor
) -> None:
    gateway = gateway_for(peer=digest(server))

    async def send_many() -> list[int]:
        sends = [gateway.asend("peer", "GET", "/page") for _ in range(20)]
        return [response.status for response in await asyncio.gather(*sends)]

    with ThreadPoolExecutor(5) as threads:
        waiting = [
            threads.submit(gateway.send, "peer", "GET", "/page") for _ in range(20)
        ]
        assert run_on_loop(gateway, send_many()) == [200] * 20
        assert [done.result().status for done in waiting] == [200] * 20


def test_a_nonce_that_expired_is_replaced(apache: str, gateway_for: GatewayFor) -> None:
    gateway = gateway_for(peer=digest(apache))
    assert gateway.send("peer", "GET", "/page").status == 200
    time.sleep(2.2)  # the server accepts it for two seconds
    assert gateway.send("peer", "GET", "/page").status == 200


def test_a_nonce_of_a_server_that_was_restarted_is_replaced(
    gateway_for: GatewayFor,
) -> None:
    with apache_running() as url:
        port = int(url.rpartition(":")[2])
        gateway = gateway_for(peer=digest(url))
        assert gateway.send("peer", "GET", "/page").status == 200
    with apache_running(port):
        assert gateway.send("peer", "GET", "/page").status == 200


@pytest.mark.parametrize("qop", ["auth", "none"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_httpbin_checks_the_proof(
    httpbin: str, qop: str, algorithm: str, gateway_for: GatewayFor
) -> None:
    # Its password is part of the path: httpbin computes the same from that.
    path = f"/digest-auth/{qop}/alice/digest-s3cret/{algorithm}"
    gateway = gateway_for(peer=digest(httpbin, path=path))
    response = gateway.send("peer", "GET", path)
    assert response.json() == {"authenticated": True, "user": "alice"}
    wrong = gateway_for(peer=digest(httpbin, password=WRONG, path=path)).test("peer")
    assert reasons(wrong)[:1] == ["wrong-credentials"]


def test_httpbin_with_nothing_that_outkey_supports_gets_no_credentials(
    httpbin: str, gateway_for: GatewayFor
) -> None:
    path = "/digest-auth/auth-int/alice/digest-s3cret/SHA-256"
    report = gateway_for(peer=digest(httpbin, path=path)).test("peer")
    assert reasons(report)[:1] == ["wrong-scheme"]
    assert report.sent is not None


# ── curl as the reference ─────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "challenge",
    [
        'realm="r", nonce="n", qop="auth"',
        'realm="r", nonce="n", qop="auth", algorithm=MD5-sess, opaque="o"',
        'realm="r", nonce="n", qop="auth", algorithm=SHA-256',
        'realm="a \\"b\\" c", nonce="n", qop="auth", algorithm=SHA-256-sess',
        'realm="r", nonce="n", qop="auth", algorithm=SHA-256, userhash=true',
        'realm="r", nonce="n"',
    ],
)
def test_curl_computes_the_same(challenge: str) -> None:
    curl = require_program("curl")
    user = 'al"i\\ce'
    answer = (
        f"HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Digest {challenge}\r\n"
        "Content-Length: 0\r\n\r\n"
    )
    with raw_peer(answer.encode()) as peer:
        url = f"http://127.0.0.1:{peer.port}/a?b=c"
        subprocess.run(
            [curl, "--silent", "--digest", "--user", f"{user}:p:w", url],
            check=True,
            timeout=20,
            capture_output=True,
        )
    sent = re.search(rb"Authorization: Digest (.*)\r\n", peer.requests[1])
    assert sent is not None
    theirs = parameters(f"Digest {sent[1].decode()}")
    use = strongest_challenge(parse_challenges([f"Digest {challenge}"]))
    assert use is not None
    proof = DigestProof(user, "GET", NonceUse(use, 1, theirs.get("cnonce", "")))
    assert parameters(proof.header("p:w", "/a?b=c")) == theirs


def parameters(header: str) -> dict[str, str]:
    (challenge,) = parse_challenges([header])
    return challenge.parameters
