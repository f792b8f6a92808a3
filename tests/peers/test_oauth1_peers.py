"""OAuth 1.0a at a provider of oauthlib, and requests-oauthlib at ours."""

import logging
import ssl
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from oauthlib.oauth1.rfc5849.endpoints import base
from requests_oauthlib import OAuth1Session

from cli.conftest import Terminal
from outkey.spar import Spar
from outkey.spar import oauth1 as spar_oauth1
from outkey.spar.records import OAUTH1_TOKEN, OAUTH1_TOKEN_SECRET
from outkey.testing.canary import Canaries
from peers.certificates import Pki
from peers.documents import GatewayFor, Given, Table, run_on_loop
from peers.oauth1_server import (
    CONSUMER,
    CONSUMER_SECRET,
    FORM,
    METHODS,
    TOKEN,
    TOKEN_SECRET,
    VERIFIER,
    Provider,
    provider_running,
)
from peers.test_diagnosis_peers import WRONG, leaks, reasons

HOUR = 3600
QUERY = "/api/a%20b;c?b=2&a=1&a=0&empty=&plus=+&x=%2F%C3%A4"
DATA = "a=x+y&b=%26&c=%C3%A4&a="


@dataclass(frozen=True)
class Peer:
    """A running provider by plain http and by https."""

    provider: Provider = field(repr=False)
    url: str
    secure: str
    ca: str
    private_key: str = field(repr=False)

    def table(self, method: str, **changed: object) -> Table:
        oauth1: Table = {
            "consumer_key": CONSUMER,
            "signature_method": method,
            "access_token": Given(TOKEN),
        }
        if method == "RSA-SHA1":
            oauth1["private_key"] = Given(self.private_key)
        else:
            oauth1["consumer_secret"] = Given(CONSUMER_SECRET)
            oauth1["access_token_secret"] = Given(TOKEN_SECRET)
        return {
            "base_url": self.secure if method == "PLAINTEXT" else self.url,
            "authentication_type": "oauth1",
            "tls": {"ca_file": self.ca},
            "limits": {"retries": 0},
            "verification": {"test_path": "/api"},
            "oauth1": oauth1 | changed,
        }


@pytest.fixture(autouse=True)
def _silent_oauthlib(caplog: pytest.LogCaptureFixture) -> None:
    """Keep oauthlib from logging what it signs."""
    for name in ("oauthlib", "requests_oauthlib"):
        caplog.set_level(logging.CRITICAL, name)


@pytest.fixture(scope="module")
def peer(pki: Pki) -> Iterator[Peer]:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    public = key.public_key()
    provider = Provider(
        public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
    )
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pki.certificate("good"), pki.key("good"))
    with provider_running(provider) as url, provider_running(provider, context) as safe:
        yield Peer(provider, url, safe, pki.ca, private.decode())


# ── outkey at oauthlib ────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("method", METHODS)
def test_each_method_signs_what_oauthlib_accepts(
    method: str, peer: Peer, gateway_for: GatewayFor
) -> None:
    gateway = gateway_for(peer=peer.table(method, realm='a "realm"'))
    report = gateway.test("peer")
    assert report.ok, report
    accepted = f"signed by {CONSUMER}"
    assert gateway.send("peer", "GET", QUERY).text == accepted
    form = {"Content-Type": FORM}
    sent = gateway.send("peer", "POST", QUERY, data=DATA.encode(), headers=form)
    assert sent.text == accepted
    assert gateway.send("peer", "PUT", "/api", json={"a": "ä"}).text == accepted
    assert run_on_loop(gateway, gateway.asend("peer", "GET", QUERY)).text == accepted


def test_a_user_authorizes_at_oauthlib_in_the_terminal(
    peer: Peer, tmp_path: Path
) -> None:
    outkey = Terminal(tmp_path / "home", Canaries())
    paths = {
        "request_url": "initiate",
        "authorization_url": "authorize",
        "access_url": "token",
    }
    lines = [f'{key} = "{peer.url}/{path}"' for key, path in paths.items()]
    document = "\n".join(
        [
            f'[configuration.peer]\nbase_url = "{peer.url}"\nnetwork = "internal"',
            'authentication_type = "oauth1"\n[configuration.peer.oauth1]',
            f'consumer_key = "{CONSUMER}"',
            *lines,
        ]
    )
    assert outkey("apply", "-", stdin=document).code == 0
    secret = outkey("secret", "set", "peer", "consumer_secret", stdin=CONSUMER_SECRET)
    assert secret.code == 0
    done = outkey("token", "authorize", "peer", stdin=f"{VERIFIER}\n")
    assert done.code == 0, done.err
    sent = outkey("request", "peer", "GET", "/api?b=2")
    assert (sent.code, sent.out.strip()) == (0, f"signed by {CONSUMER}")


MISTAKES: dict[str, tuple[str, dict[str, object], str]] = {
    "wrong consumer key": (
        "HMAC-SHA1",
        {"consumer_key": "another0consumer0of0tests"},
        "oauth1-consumer",
    ),
    "wrong consumer secret": (
        "HMAC-SHA256",
        {"consumer_secret": Given(WRONG)},
        "oauth1-signature",
    ),
    "wrong private key": ("RSA-SHA1", {}, "oauth1-signature"),
    "wrong token": (
        "HMAC-SHA1",
        {"access_token": Given("another0access0token0of0x")},
        "oauth1-token",
    ),
    "wrong token secret": (
        "HMAC-SHA1",
        {"access_token_secret": Given(WRONG)},
        "oauth1-signature",
    ),
    "wrong method": ("HMAC-SHA1", {}, "oauth1-method"),
    "wrong clock": ("HMAC-SHA1", {}, "clock-off"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_wrong_set_up_has_its_true_cause_first(
    name: str, peer: Peer, gateway_for: GatewayFor, monkeypatch: pytest.MonkeyPatch
) -> None:
    method, changed, expected = MISTAKES[name]
    skew = HOUR if name == "wrong clock" else 0
    if name == "wrong method":
        monkeypatch.setattr(peer.provider, "methods", ("HMAC-SHA256",))
    if name == "wrong private key":
        other = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        pem = other.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        changed = {"private_key": Given(pem.decode())}
    clock = SimpleNamespace(time=lambda: time.time() + skew)
    monkeypatch.setattr(base, "time", clock)
    with provider_running(peer.provider, skew=skew) as url:
        table = peer.table(method, **changed) | {"base_url": url}
        report = gateway_for(peer=table).test("peer")
    assert not report.ok
    assert reasons(report)[0] == expected, report.suspicions
    assert leaks(report, table) == []


# ── requests-oauthlib at our own provider ─────────────────────────────────────────────


@pytest.fixture(scope="module")
def spar() -> Iterator[Spar]:
    with Spar(tls=True) as server:
        yield server


def session(method: str, **more: str) -> OAuth1Session:
    made = OAuth1Session(
        spar_oauth1.CONSUMER,
        client_secret=spar_oauth1.CONSUMER_SECRET,
        signature_method=method,
        **more,
    )
    made.trust_env = False
    return made


@pytest.mark.parametrize("method", ["HMAC-SHA1", "HMAC-SHA256", "PLAINTEXT"])
def test_our_provider_accepts_what_requests_oauthlib_signs(
    method: str, spar: Spar
) -> None:
    origin = spar.secure if method == "PLAINTEXT" else spar.url
    with session(
        method,
        resource_owner_key=OAUTH1_TOKEN,
        resource_owner_secret=OAUTH1_TOKEN_SECRET,
    ) as client:
        client.verify = spar.ca_file
        url = f"{origin}/oauth1/api?b=2&a=1&x=%2F%C3%A4&empty="
        assert client.get(url).status_code == 200
        assert client.post(url, data={"a": "x y", "b": "&", "c": "ä"}).ok
        assert client.put(url, json={"a": "ä"}).ok


def test_requests_oauthlib_walks_the_three_legs_of_our_provider(spar: Spar) -> None:
    place = f"{spar.url}/oauth1"
    with session("HMAC-SHA1", callback_uri="oob") as client:
        client.fetch_request_token(f"{place}/initiate")
        shown = client.authorization_url(f"{place}/authorize")
        page = client.get(f"{shown}&auto=1").text
        verifier = page.split()[-1]
        client.fetch_access_token(f"{place}/token", verifier=verifier)
        assert client.get(f"{place}/api").json()["legs"] == 3
