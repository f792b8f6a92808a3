"""Proxies and Digest as a user of the command line meets them."""

from cli.conftest import Terminal
from contract.raw_peer import raw_peer
from outkey.spar import Spar

DOCUMENT = """
[configuration.erp]
base_url = "https://api.acme.example"
network = "internal"
environment = "test"
authentication_type = "digest"
username = "alice"
limits.retries = 0
[configuration.erp.proxy]
url = "http://127.0.0.1:{port}"
username = "svc"
"""
REFUSAL = b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n"


def prepare(outkey: Terminal, port: int) -> None:
    outkey("apply", "-", stdin=DOCUMENT.format(port=port))
    for field, secret in (("password", "pw-of-alice"), ("proxy_password", "pw-of-svc")):
        done = outkey("secret", "set", "erp", field, stdin=secret)
        assert (done.code, done.err) == (0, "")


def test_a_proxy_that_refuses_is_the_cause_and_the_first_reason(
    outkey: Terminal,
) -> None:
    with raw_peer(REFUSAL) as peer:
        prepare(outkey, peer.port)
        done = outkey("request", "erp", "GET", "/")
        assert done.code == 1
        assert done.err.startswith("error[proxy]: ")
        report = outkey("test", "erp", "--json")
    assert report.code == 1
    assert report.json["cause"] == "proxy"
    assert report.json["findings"][0]["id"] == "proxy-credentials"
    assert all(request.startswith(b"CONNECT ") for request in peer.requests)


def test_show_and_preview_name_the_proxy(outkey: Terminal) -> None:
    prepare(outkey, 3128)
    assert outkey("show", "erp", "--json").json["proxy_in_use"] == (
        "http://127.0.0.1:3128"
    )
    shown = outkey("preview", "erp").out
    assert "through the proxy http://127.0.0.1:3128" in shown
    assert "Digest ***" in shown
    assert outkey("preview", "erp", "--json").json["proxy"] == "http://127.0.0.1:3128"
    curl = outkey("preview", "erp", "--curl").out
    assert "--digest" in curl
    assert '--user alice:"$PASSWORD"' in curl
    assert '--proxy-user svc:"$PROXY_PASSWORD"' in curl


def test_the_password_of_a_proxy_does_not_follow_to_another_proxy(
    outkey: Terminal,
) -> None:
    with raw_peer(REFUSAL) as peer:
        prepare(outkey, 3128)
        outkey("apply", "-", stdin=DOCUMENT.format(port=peer.port))
        done = outkey("request", "erp", "GET", "/")
        assert done.code == 2
        assert done.err.startswith("error[secret_rebind_required]: the secret")
        assert peer.requests == []


def test_the_policy_names_a_proxy_for_all(ready: Terminal, spar: Spar) -> None:
    policy = ready.home / "config" / "policy.toml"
    assert ready("show", "acme", "--json").json["proxy_in_use"] is None
    with raw_peer(REFUSAL) as peer:
        url = f"http://127.0.0.1:{peer.port}"
        policy.write_text(
            f'[proxy]\nurl = "{url}"\nusername = "op"\npassword = "env:PROXY_WORD"\n'
        )
        done = ready("request", "acme", "GET", "/", PROXY_WORD="operators-word")
        assert (done.code, done.err[:13]) == (1, "error[proxy]:")
        assert ready("request", "acme", "GET", "/").code == 2  # the variable is not set
        assert ready("show", "acme", "--json").json["proxy_in_use"] == url
        assert url in ready("preview", "acme").out
        doctor = ready("doctor")
        assert f"proxy: {url}, unless a configuration has its own" in doctor.out
        assert ready("doctor", "--json").json["proxy"] == url
        policy.write_text('[proxy]\nallowed = ["proxy.example:3128"]\n')
        assert ready("request", "acme", "GET", "/echo").code == 0
        policy.write_text(f'[proxy]\nurl = "{url}"\nallowed = ["proxy.example:3128"]\n')
        arrived = len(peer.requests)
        done = ready("request", "acme", "GET", "/")
        assert (done.code, done.err[:21]) == (3, "error[egress_denied]:")
        assert len(peer.requests) == arrived
