"""Which proxy a request goes through, what is vetted, and what users see of it."""

import shlex
from base64 import b64decode
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from outkey.administration.adapters.policy_file import read_policy
from outkey.administration.adapters.policy_proxies import PolicyProxies
from outkey.administration.core.policy.parsing import parse_policy
from outkey.administration.core.policy.policy import Policy
from outkey.foundation.core.errors import (
    Cause,
    ConfigError,
    DnsFailed,
    EgressDenied,
    HeaderFormatError,
    OutkeyError,
    ProxyConnectionFailed,
    ProxyFailed,
    SecretMissing,
    SecretRebindRequired,
    TimedOut,
)
from outkey.foundation.core.origin import Origin
from outkey.foundation.core.secret import Secret
from outkey.sending.adapters.secrets.secrets_reference import ReferencedSecrets
from outkey.sending.core.audit.events import Outcome
from outkey.sending.core.configuration.checks import refuse_unsavable
from outkey.sending.core.configuration.reference import parse_reference
from outkey.sending.core.configuration.secret_state import SecretState
from outkey.sending.core.oauth2.responses import failure, reason_of
from outkey.sending.core.request.addresses import AddressKind, judge_name
from outkey.sending.core.request.message import (
    Peer,
    Proxy,
    Request,
    Response,
    ResponseHeaders,
)
from outkey.sending.core.request.proxy import (
    FAILURES,
    ProxyPolicy,
    absolute_request,
    connect_request,
    credentials_at,
    proxy_failure,
)
from outkey.sending.engine.exchange.lend import lend
from outkey.sending.engine.exchange.sender import Sender
from outkey.sending.engine.wire.drive import drive
from outkey.sending.engine.wire.proxies import NO_PROXIES
from outkey.testing import FakeListeners, configuration, fake_gateway
from outkey.testing.fakes.basic import FakeResponse, FakeWorld
from unit.application_in_memory import memory_host

PROXY = "http://proxy.acme.example:3128"
NAMES = {
    "proxy.acme.example": ("93.184.215.20",),
    "inner.acme.example": ("10.0.0.9",),
    "metadata.acme.example": ("169.254.169.254",),
}


class FakeProxySource:
    """A policy of the test, and a password."""

    def __init__(self, **values: object) -> None:
        self.given = ProxyPolicy(**values)  # type: ignore[arg-type]

    def policy(self) -> ProxyPolicy:
        return self.given

    def password(self) -> Secret:
        return Secret("operator-s3cret")


def world(
    *responses: FakeResponse, source: FakeProxySource | None = None, **values: object
) -> FakeWorld:
    """Return a world whose resolver knows the proxies and not the API."""
    made = configuration(
        **({"authentication_type": "bearer", "limits__retries": 0} | values)
    )
    fake = fake_gateway(
        made,
        responses=list(responses),
        secrets={"token": "abc", "proxy_password": "p:w"},
        names=NAMES,
    )
    if source is None:
        return fake
    ports = replace(fake.ports, proxies=source)
    sender = Sender(ports)
    return replace(fake, sender=sender, ports=ports, gateway=type(fake.gateway)(sender))


def used_proxy(fake: FakeWorld) -> Proxy | None:
    fake.gateway.send("acme", "GET", "/")
    return fake.transport.sent[-1][1].proxy


def allowed(*entries: tuple[str, int]) -> frozenset[tuple[str, int]]:
    return frozenset(entries)


# ── which proxy ───────────────────────────────────────────────────────────────────────


def test_a_request_goes_through_the_configurations_proxy_with_its_credentials() -> None:
    fake = world(proxy__url=PROXY, proxy__username="svc")
    proxy = used_proxy(fake)
    assert proxy is not None
    assert str(proxy.origin) == PROXY
    assert proxy.credentials is not None
    kind, _, pair = proxy.credentials.reveal().partition(" ")
    assert (kind, b64decode(pair)) == ("Basic", b"svc:p:w")
    request, route = fake.transport.sent[0]
    assert route.addresses == ("93.184.215.20",)
    assert "Proxy-Authorization" not in {header.name for header in request.headers}


def test_the_name_of_the_api_is_left_to_the_proxy() -> None:
    fake = world(proxy__url=PROXY)
    proxy = used_proxy(fake)
    assert proxy is not None
    assert proxy.credentials is None
    assert fake.resolver.asked == ["proxy.acme.example"]


def test_without_a_proxy_none_is_used() -> None:
    fake = world()
    fake.resolver.names["api.acme.example"] = ("93.184.215.14",)
    assert used_proxy(fake) is None


def test_the_proxy_of_the_installation_applies_unless_there_is_another() -> None:
    source = FakeProxySource(
        url="https://93.184.215.30:8443/",
        username="op",
        password=parse_reference("env:PROXY_PASSWORD", field="x"),
    )
    fake = world(source=source)
    proxy = used_proxy(fake)
    assert proxy is not None
    assert str(proxy.origin) == "https://93.184.215.30:8443"
    assert proxy.credentials == credentials_at("op", Secret("operator-s3cret"))
    assert fake.resolver.asked == []
    other = used_proxy(world(source=source, proxy__url=PROXY))
    assert other == Proxy(Origin("http", "proxy.acme.example", 3128))


def test_a_missing_password_of_the_proxy_stops_the_request() -> None:
    fake = world(proxy__url=PROXY, proxy__username="svc")
    del fake.secrets.values["proxy_password"]
    with pytest.raises(SecretMissing):
        fake.gateway.send("acme", "GET", "/")
    with pytest.raises(SecretMissing):
        NO_PROXIES.password()


@pytest.mark.parametrize(("user", "password"), [("a\nb", "p"), ("a", "p\x7f")])
def test_control_characters_in_the_credentials_are_refused(
    user: str, password: str
) -> None:
    with pytest.raises(HeaderFormatError) as refused:
        credentials_at(user, Secret(password))
    assert refused.value.field == "proxy.password"


def test_the_password_of_a_proxy_is_bound_to_the_proxy() -> None:
    made = configuration(proxy__url=PROXY, proxy__username="svc")
    assert made.binding_of("proxy_password") == "http://proxy.acme.example:3128"
    assert "proxy_password" in made.needed_secrets()
    assert "proxy_password" in made.unset_secrets()
    moved = replace(
        made, secrets={"proxy_password": SecretState("http://old.example:3128")}
    )
    assert "proxy_password" not in moved.unset_secrets()
    with pytest.raises(SecretRebindRequired) as refused:
        moved.refuse_unbound("proxy_password")
    assert (
        refused.value.message
        == "the secret was entered for another Proxy URL than the present one"
    )


# ── what is vetted ────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("host", "kind"),
    [
        ("api.acme.example", AddressKind.GLOBAL),
        ("localhost", AddressKind.LOOPBACK),
        ("api.localhost", AddressKind.LOOPBACK),
        ("intranet", AddressKind.PRIVATE),
        ("erp.corp", AddressKind.PRIVATE),
        ("printer.local", AddressKind.PRIVATE),
        ("nas.home.arpa", AddressKind.PRIVATE),
        ("metadata.google.internal", AddressKind.METADATA),
        ("metadata", AddressKind.METADATA),
        ("metadata.azure.internal", AddressKind.METADATA),
        ("instance-data.eu-west-1.compute.internal", AddressKind.METADATA),
        ("localhost.localdomain", AddressKind.LOOPBACK),
        ("ip6-localhost", AddressKind.LOOPBACK),
    ],
)
def test_a_name_tells_what_it_means_behind_a_proxy(
    host: str, kind: AddressKind
) -> None:
    assert judge_name(host) is kind


@pytest.mark.parametrize(
    ("host", "network", "is_sent"),
    [
        ("localhost", "public", False),
        ("localhost", "internal", True),
        ("erp", "public", False),
        ("erp", "internal", True),
        ("metadata.google.internal", "internal", False),
        ("127.0.0.1", "public", False),
        ("10.1.2.3", "internal", True),
        ("[::1]", "public", False),
        ("169.254.169.254", "internal", False),
        ("93.184.215.14", "public", True),
    ],
)
def test_the_destination_is_vetted_by_its_name_and_literal_address(
    host: str, network: str, *, is_sent: bool
) -> None:
    fake = world(base_url=f"https://{host}", network=network, proxy__url=PROXY)
    if is_sent:
        assert used_proxy(fake) is not None
        return
    with pytest.raises(EgressDenied):
        fake.gateway.send("acme", "GET", "/")
    assert fake.transport.sent == []


def test_plain_http_through_a_proxy_needs_an_internal_network() -> None:
    url = "http://api.acme.example"
    with pytest.raises(EgressDenied):
        world(base_url=url, proxy__url=PROXY).gateway.send("acme", "GET", "/")
    fake = world(base_url=url, network="internal", proxy__url=PROXY)
    assert used_proxy(fake) is not None
    messages = [str(finding.message) for finding in fake.findings("acme")]
    assert "credentials are sent unencrypted, and the proxy can read them" in messages


@pytest.mark.parametrize(
    ("proxy", "network", "listed", "is_used"),
    [
        ("http://proxy.acme.example:3128", "public", None, True),
        ("http://93.184.215.20:3128", "public", None, True),
        ("http://inner.acme.example:3128", "public", None, False),
        ("http://inner.acme.example:3128", "internal", None, True),
        ("http://127.0.0.1:3128", "public", None, False),
        ("http://127.0.0.1:3128", "internal", None, True),
        ("http://metadata.acme.example:3128", "internal", None, False),
        (
            "http://inner.acme.example:3128",
            "public",
            allowed(("inner.acme.example", 3128)),
            True,
        ),
        (
            "http://inner.acme.example:3129",
            "internal",
            allowed(("inner.acme.example", 3128)),
            False,
        ),
        ("http://proxy.acme.example:3128", "public", allowed(), False),
        (
            "http://metadata.acme.example:3128",
            "internal",
            allowed(("metadata.acme.example", 3128)),
            False,
        ),
    ],
)
@pytest.mark.parametrize("is_installed", [True, False])
def test_a_proxy_is_vetted_by_the_list_or_else_by_its_address(
    proxy: str,
    network: str,
    listed: frozenset[tuple[str, int]] | None,
    *,
    is_used: bool,
    is_installed: bool,
) -> None:
    url = {"url": proxy} if is_installed else {}
    own = {} if is_installed else {"proxy__url": proxy}
    source = FakeProxySource(allowed=listed, **url)
    fake = world(source=source, network=network, **own)
    if is_used:
        assert used_proxy(fake) is not None
        return
    with pytest.raises(EgressDenied) as denied:
        fake.gateway.send("acme", "GET", "/")
    assert denied.value.field == "proxy.url"
    assert fake.transport.sent == []


def test_our_own_pages_are_no_proxy() -> None:
    fake = world(proxy__url="http://127.0.0.1:8765", network="internal")
    ports = replace(fake.ports, listeners=FakeListeners({8765: ["127.0.0.1"]}))
    with pytest.raises(EgressDenied) as denied:
        type(fake.gateway)(Sender(ports)).send("acme", "GET", "/")
    assert denied.value.field == "proxy.url"
    assert fake.transport.sent == []


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "outkey.localhost", "localhost.localdomain"]
)
@pytest.mark.parametrize("bound", ["127.0.0.1", "::1", "0.0.0.0"])
def test_a_proxy_does_not_lead_to_our_own_pages(host: str, bound: str) -> None:
    if host == "127.0.0.1" and bound == "::1":
        return  # another server
    url = f"http://{host}:8765"
    fake = world(base_url=url, proxy__url=PROXY, network="internal")
    ports = replace(fake.ports, listeners=FakeListeners({8765: [bound]}))
    with pytest.raises(EgressDenied) as denied:
        type(fake.gateway)(Sender(ports)).send("acme", "GET", "/")
    assert denied.value.field == "base_url"
    assert fake.transport.sent == []


def test_a_proxy_that_no_address_can_be_is_not_saved() -> None:
    made = configuration(
        authentication_type="bearer", proxy__url="http://169.254.169.254:80"
    )
    with pytest.raises(EgressDenied) as denied:
        refuse_unsavable(made)
    assert denied.value.field == "proxy.url"
    refuse_unsavable(replace(made, proxy=replace(made.proxy, url="http://10.0.0.1:80")))


# ── failures ──────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("error", [DnsFailed, TimedOut])
def test_a_proxy_whose_name_does_not_resolve_is_unreachable(
    error: type[OutkeyError], monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = world(proxy__url="http://gone.acme.example:3128")

    def fail(*_: object) -> tuple[str, ...]:
        raise error

    monkeypatch.setattr(fake.resolver, "resolve", fail)
    with pytest.raises(ProxyConnectionFailed) as failed:
        fake.gateway.send("acme", "GET", "/")
    assert failed.value.reason == "proxy-unreachable"


@pytest.mark.parametrize(
    ("status", "headers", "reason"),
    [
        (407, (), "proxy-credentials"),
        (401, (("Server", "tinyproxy/1.11.1"),), "proxy-credentials"),
        (403, (("X-Squid-Error", "ERR_ACCESS_DENIED 0"),), "proxy-refused"),
        (503, (("X-Squid-Error", "ERR_CONNECT_FAIL 111"),), "proxy-cannot-reach"),
        (500, (("Server", "tinyproxy/1.11.1"),), "proxy-cannot-reach"),
    ],
)
def test_the_proxys_own_response_to_plain_http_is_its_failure(
    status: int, headers: tuple[tuple[str, str], ...], reason: str
) -> None:
    answer = Response(status, ResponseHeaders(headers))
    plain = {"base_url": "http://api.acme.example", "network": "internal"}
    fake = world(answer, proxy__url=PROXY, **plain)
    with pytest.raises(ProxyFailed) as failed:
        fake.gateway.send("acme", "GET", "/")
    assert (failed.value.cause, failed.value.reason) == (Cause.PROXY, reason)
    outcomes = [event for event in fake.audit.events if isinstance(event, Outcome)]
    assert [outcome.outcome for outcome in outcomes] == ["proxy"]


def test_responses_of_the_server_are_its_own() -> None:
    squid = ResponseHeaders((("X-Squid-Error", "ERR_ACCESS_DENIED 0"),))
    inside = world(Response(403, squid), proxy__url=PROXY)  # of a tunnel
    assert inside.gateway.send("acme", "GET", "/").status == 403
    tinyproxy = ResponseHeaders((("Server", "tinyproxy/1.11.1"),))
    plain = {"base_url": "http://api.acme.example", "network": "internal"}
    passed = world(Response(200, tinyproxy), proxy__url=PROXY, **plain)
    assert passed.gateway.send("acme", "GET", "/").status == 200


@pytest.mark.parametrize("reason", FAILURES)
def test_a_failure_of_the_proxy_is_stored_and_raised_again_as_one(reason: str) -> None:
    error = proxy_failure(reason)
    again = failure(reason_of(error))
    assert type(again) is type(error)
    assert (again.message, again.reason) == (error.message, reason)


# ── what users see ────────────────────────────────────────────────────────────────────


def test_the_preview_and_curl_name_the_proxy() -> None:
    fake = world(proxy__url=f"{PROXY}/", proxy__username="o'svc")
    preview = fake.gateway.preview("acme", "GET", "/")
    assert preview.proxy == PROXY
    words = shlex.split(preview.curl())
    assert words[words.index("--proxy") + 1] == PROXY
    assert words[words.index("--proxy-user") + 1] == "o'svc:$PROXY_PASSWORD"
    installed = world(source=FakeProxySource(url=PROXY))
    curl = installed.gateway.preview("acme", "GET", "/").curl()
    assert f"--proxy {PROXY}" in curl
    assert "--proxy-user" not in curl
    assert world().gateway.preview("acme", "GET", "/").proxy == ""


def test_pages_and_commands_name_the_proxy() -> None:
    application = memory_host().application
    made = configuration(proxy__url=f"{PROXY}/", proxy__username="svc")
    assert application.proxy_of(made) == PROXY
    assert application.proxy_of(configuration()) == ""
    proxied = replace(application, policy=lambda: Policy(proxy=ProxyPolicy(url=PROXY)))
    assert proxied.proxy_of(configuration()) == PROXY


def test_the_requests_of_a_proxy_have_its_credentials_only() -> None:
    proxy = Proxy(Origin("http", "proxy.acme.example", 3128), Secret("Basic x"))
    tunnel = connect_request(Origin("https", "::1", 443), proxy)
    assert (tunnel.method, tunnel.target) == ("CONNECT", "[::1]:443")
    names = [header.name for header in tunnel.headers]
    assert names == ["Host", "Proxy-Authorization"]
    plain = Request("GET", Origin("http", "api.acme.example", 80), "/a?b=1")
    sent = absolute_request(plain, proxy._replace(credentials=None))
    assert (sent.target, sent.headers) == ("http://api.acme.example/a?b=1", ())


@pytest.mark.parametrize("peer", [Peer("10.0.0.9", "TLSv1.3"), Peer("10.0.0.9")])
def test_a_test_names_the_proxy_instead_of_its_address(peer: Peer) -> None:
    fake = world(proxy__url=PROXY)
    fake.transport.peer = peer._replace(
        proxy=Origin("http", "proxy.acme.example", 3128)
    )
    report = fake.gateway.test("acme")
    (connect,) = [step for step in report.steps if step.step == "connect"]
    assert str(connect.detail).startswith(f"through the proxy {PROXY}, ")


@pytest.mark.parametrize("source", [None, FakeProxySource(url=PROXY)])
def test_credentials_are_not_lent_around_a_proxy(
    source: FakeProxySource | None,
) -> None:
    own = {} if source else {"proxy__url": PROXY}
    fake = world(source=source, **own)
    made = fake.ports.configurations.get("acme")
    url = "https://api.acme.example/"
    steps = lend(fake.sender.context, made, "GET", url, [], body=b"")
    with pytest.raises(ConfigError):
        drive(steps, fake.sender.runtime)


# ── the policy ────────────────────────────────────────────────────────────────────────


def test_the_policy_names_a_proxy_and_those_that_are_allowed() -> None:
    policy = parse_policy(
        """
        [proxy]
        url = "http://proxy.corp.example:3128"
        username = "svc"
        password = "env:PROXY_PASSWORD"
        allowed = ["Proxy.Corp.example:3128", "[::1]:8080", "10.0.0.1:80"]
        """
    )
    assert policy.proxy == ProxyPolicy(
        url="http://proxy.corp.example:3128",
        username="svc",
        password=parse_reference("env:PROXY_PASSWORD", field="x"),
        allowed=allowed(("proxy.corp.example", 3128), ("::1", 8080), ("10.0.0.1", 80)),
    )
    assert parse_policy("").proxy == ProxyPolicy()
    assert parse_policy("[proxy]\nallowed = []").proxy.allowed == frozenset()


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("proxy = 1", "proxy"),
        ('[proxy]\nuser = "a"', "proxy"),
        ("[proxy]\nurl = 1", "proxy.url"),
        ('[proxy]\nurl = "socks5://a.example:1080"', "proxy.url"),
        ('[proxy]\nurl = "http://u:p@a.example:80"', "proxy.url"),
        ('[proxy]\nusername = "a"\npassword = "env:A"', "proxy.username"),
        ('[proxy]\nurl = "http://a.example"\nusername = "a"', "proxy.username"),
        (
            '[proxy]\nurl = "http://a.example"\nusername = "a:b"\npassword = "env:A"',
            "proxy.username",
        ),
        (
            '[proxy]\nurl = "http://a.example"\nusername = "a"\npassword = "s3cret"',
            "proxy.password",
        ),
        ('[proxy]\nallowed = "a.example:80"', "proxy.allowed"),
        ("[proxy]\nallowed = [1]", "proxy.allowed"),
        ('[proxy]\nallowed = ["a.example"]', "proxy.allowed"),
        ('[proxy]\nallowed = ["a.example:99999"]', "proxy.allowed"),
        ('[proxy]\nallowed = ["http://a.example:80"]', "proxy.allowed"),
    ],
)
def test_an_invalid_policy_about_proxies_is_refused(text: str, field: str) -> None:
    with pytest.raises(ConfigError) as refused:
        parse_policy(text)
    assert refused.value.field == field
    assert "s3cret" not in str(refused.value.facts())


def test_the_policy_is_read_again_after_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "config" / "policy.toml"
    file.parent.mkdir()
    moment = 100.0
    monkeypatch.setattr(
        "outkey.administration.adapters.policy_proxies.time.monotonic", lambda: moment
    )
    monkeypatch.setenv("PROXY_PASSWORD", "s3cret")
    read: Callable[[], Policy] = lambda: read_policy(tmp_path, {})  # noqa: E731
    proxies = PolicyProxies(read, ReferencedSecrets())
    assert proxies.policy() == ProxyPolicy()
    with pytest.raises(SecretMissing):
        proxies.password()
    file.write_text(
        f'[proxy]\nurl = "{PROXY}"\nusername = "a"\npassword = "env:PROXY_PASSWORD"'
    )
    assert proxies.policy().url == ""
    moment += 5.0
    assert proxies.policy().url == PROXY
    assert proxies.password() == Secret("s3cret")
    file.write_text("not TOML [")
    moment += 5.0
    for _ in range(2):  # a policy that may name a proxy is not passed over
        with pytest.raises(ConfigError):
            proxies.policy()


def test_a_password_in_the_policys_url_belongs_into_the_policys_keys() -> None:
    with pytest.raises(ConfigError, match="of the policy is invalid") as refused:
        parse_policy('[proxy]\nurl = "http://u:s3cret@a.example:80"')
    assert "proxy.username, proxy.password" in refused.value.hint
    with pytest.raises(ConfigError) as refused:
        parse_policy('[proxy]\nurl = "http://a..example:80"')
    assert "policy" in refused.value.hint


def test_a_test_names_the_proxy_that_is_down_once() -> None:
    report = world(proxy_failure("proxy-unreachable"), proxy__url=PROXY).gateway.test(
        "acme"
    )
    assert report.steps[-1].detail == f"the proxy cannot be reached: {PROXY}"
