"""The first suspicion is the right one, at servers that nobody here wrote."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from outkey.sending.core.diagnosis.evidence import Certainty
from outkey.sending.engine.connection_test import Report
from outkey.testing.canary import find
from peers.authorization_servers import Oidc, Toolkit
from peers.conftest import AuthorizationServer, api_path, oauth2
from peers.documents import GatewayFor, Given, Table, basic, bearer, row
from peers.registries import USERS as PACKAGERS
from peers.registries import DockerRegistry, Verdaccio
from peers.servers import USERS, Nginx

WRONG = "not-the-right-secret-0815"
TEN_MINUTES = 600.0
ALICE = basic("alice", USERS["alice"])
PACKAGER = basic("alice", PACKAGERS["alice"])
HTTPBIN_USER = basic("user", WRONG)
Make = Callable[[Any], Table]  # a configuration for a running server


def at(base_url: str, path: str, credentials: Table) -> Table:
    return {"base_url": base_url, "verification": {"test_path": path}} | credentials


def huge(credentials: Table) -> Table:
    """Add rows that each fit and together do not."""
    rows = [
        {"key": f"X-{n}", "value": Given("y" * 7000), "secret": True} for n in range(3)
    ]
    return credentials | {"headers": rows}


def nginx(
    path: str, credentials: Table, server: str = "main", scheme: str | None = None
) -> Make:
    def make(nginx: Nginx) -> Table:
        return at(nginx.url(server, scheme=scheme), path, credentials)

    return make


def nginx_tls(server: str, certificate: str = "") -> Make:
    """Send to one of nginx's TLS servers, with a client certificate if one is named."""

    def make(nginx: Nginx) -> Table:
        tls = {"ca_file": nginx.pki.ca}
        if certificate:
            tls["client_certificate"] = nginx.pki.certificate(certificate)
            tls["client_key"] = f"file:{nginx.pki.key(certificate)}"
        return at(nginx.url(server), "/basic", ALICE | {"tls": tls})

    return make


def httpbin(path: str, credentials: Table) -> Make:
    return lambda url: at(url, path, credentials)


def docker(credentials: Table) -> Make:
    return lambda registry: at(registry.url, "/v2/", credentials)


def docker_parts(token: Callable[[DockerRegistry], str]) -> Make:
    """Ask for something that needs a token with a scope."""
    return lambda registry: at(
        registry.token_url, "/v2/parts/tags/list", bearer(token(registry))
    )


def verdaccio(path: str, credentials: Table) -> Make:
    return lambda registry: at(registry.url, path, credentials)


def verdaccio_expired(registry: Verdaccio) -> Table:
    return at(registry.url, "/parts", bearer(registry.expired_token()))


def toolkit_expired(verification: Table) -> Make:
    def make(toolkit: Toolkit) -> Table:
        given = {"verification": {"test_path": "/_api"} | verification}
        return bearer(toolkit.expired_token()) | given | {"base_url": toolkit.url}

    return make


def oauth(client: str, scope: str, query: str = "", **settings: object) -> Make:
    """Get a token for the API of one of the authorization servers."""

    def make(server: AuthorizationServer) -> Table:
        table = oauth2(server, client, scope=scope, **settings)
        return table | {"verification": {"test_path": api_path(server) + query}}

    return make


def wrong_token_url(client: str, scope: str) -> Make:
    return lambda server: oauth2(
        server, client, scope=scope, token_url=f"{server.url}/nowhere"
    )


# What is wrong at which server, and the reason that a test must name first.
ROWS: dict[tuple[str, str], tuple[Make, str]] = {
    ("nginx", "password"): (
        nginx("/basic", basic("alice", WRONG)),
        "wrong-credentials",
    ),
    ("nginx", "user"): (nginx("/basic", basic("nobody", WRONG)), "wrong-credentials"),
    ("nginx", "token"): (nginx("/bearer", bearer(WRONG)), "wrong-credentials"),
    ("nginx", "Bearer for Basic"): (
        nginx("/basic", bearer("good-token")),
        "wrong-scheme",
    ),
    ("nginx", "Basic for Bearer"): (nginx("/bearer", ALICE), "wrong-scheme"),
    ("nginx", "nothing sent"): (nginx("/bearer", {}), "no-credentials-sent"),
    ("nginx", "expired"): (nginx("/bearer", bearer("expired-token")), "token-expired"),
    ("nginx", "scope"): (nginx("/scope", bearer("good-token")), "missing-scope"),
    ("nginx", "rights"): (nginx("/admin", ALICE), "forbidden"),
    ("nginx", "huge header"): (
        nginx("/", bearer("x" * 5000), "small"),
        "header-too-large",
    ),
    ("nginx", "no client certificate"): (
        nginx_tls("mutual"),
        "client-certificate-missing",
    ),
    ("nginx", "a stranger's client certificate"): (
        nginx_tls("mutual", "badclient"),
        "client-certificate-refused",
    ),
    ("nginx", "certificate expired"): (nginx_tls("expired"), "certificate-expired"),
    ("nginx", "certificate of another"): (
        nginx_tls("wronghost"),
        "certificate-other-host",
    ),
    ("nginx", "certificate self-signed"): (
        nginx_tls("selfsigned"),
        "certificate-self-signed",
    ),
    ("nginx", "certificate by a stranger"): (
        nginx_tls("stranger"),
        "certificate-unknown-issuer",
    ),
    ("nginx", "TLS 1.1"): (nginx_tls("tls11"), "tls-too-old"),
    ("nginx", "http at a TLS port"): (
        nginx("/", bearer("good-token"), "good", "http"),
        "plain-http-to-tls-port",
    ),
    ("nginx", "TLS at an http port"): (
        nginx("/", bearer("good-token"), "main", "https"),
        "tls-to-plain-port",
    ),
    ("httpbin", "password"): (
        httpbin("/basic-auth/user/pass", HTTPBIN_USER),
        "wrong-credentials",
    ),
    ("httpbin", "hidden 401"): (
        httpbin("/hidden-basic-auth/user/pass", HTTPBIN_USER),
        "hidden-401",
    ),
    ("httpbin", "Bearer for Basic"): (
        httpbin("/basic-auth/user/pass", bearer(WRONG)),
        "wrong-scheme",
    ),
    ("httpbin", "Basic for Bearer"): (httpbin("/bearer", HTTPBIN_USER), "wrong-scheme"),
    ("httpbin", "nothing sent"): (httpbin("/bearer", {}), "no-credentials-sent"),
    ("httpbin", "everybody refused"): (
        httpbin("/status/403", HTTPBIN_USER),
        "forbidden",
    ),
    ("httpbin", "huge header"): (
        httpbin("/bearer", bearer("x" * 8192)),
        "header-too-large",
    ),
    ("docker", "password"): (docker(basic("alice", WRONG)), "wrong-credentials"),
    ("docker", "Bearer for Basic"): (docker(bearer(WRONG)), "wrong-scheme"),
    ("docker", "Basic for Bearer"): (
        lambda docker: at(docker.token_url, "/v2/", PACKAGER),
        "wrong-scheme",
    ),
    ("docker", "nothing sent"): (docker({}), "no-credentials-sent"),
    ("docker", "scope, told by a 401"): (
        docker_parts(lambda docker: docker.token("push")),
        "missing-scope",
    ),
    ("docker", "expired"): (
        docker_parts(lambda docker: docker.token("pull", lifetime=-300)),
        "token-expired",
    ),
    ("docker", "token of a stranger"): (
        docker_parts(lambda docker: docker.token("pull", signer="stranger")),
        "wrong-credentials",
    ),
    ("verdaccio", "password"): (
        verdaccio("/parts", basic("alice", WRONG)),
        "wrong-credentials",
    ),
    ("verdaccio", "token"): (verdaccio("/parts", bearer(WRONG)), "wrong-credentials"),
    ("verdaccio", "key for Basic or Bearer"): (
        verdaccio("/parts", row("X-API-Key", WRONG)),
        "wrong-scheme",
    ),
    ("verdaccio", "nothing sent"): (verdaccio("/parts", {}), "no-credentials-sent"),
    ("verdaccio", "expired, told to nobody"): (verdaccio_expired, "token-expired"),
    ("verdaccio", "rights"): (verdaccio("/private", PACKAGER), "forbidden"),
    ("verdaccio", "huge headers"): (
        verdaccio("/parts", huge(PACKAGER)),
        "header-too-large",
    ),
    ("toolkit", "client secret"): (
        oauth("cc", "read", client_secret=Given(WRONG)),
        "client-secret-wrong",
    ),
    ("toolkit", "scope at the API"): (
        oauth("cc", "read", "?need=write&challenge"),
        "missing-scope",
    ),
    ("toolkit", "scope that there is not"): (
        oauth("cc", "nonsense"),
        "scope-not-allowed",
    ),
    ("toolkit", "expired"): (
        toolkit_expired({"test_path": "/_api?challenge"}),
        "token-expired",
    ),
    ("toolkit", "expired, told by a bare 403"): (
        toolkit_expired({"forbidden_means_expired": True}),
        "expired-as-403",
    ),
    ("toolkit", "Token URL"): (wrong_token_url("cc", "read"), "token-url-wrong"),
    ("oidc", "client secret"): (
        oauth("cc_basic", "api:read", client_secret=Given(WRONG)),
        "client-secret-wrong",
    ),
    ("oidc", "scope at the API"): (
        oauth("cc_basic", "api:read", "?need=api:write"),
        "missing-scope",
    ),
    ("oidc", "scope of others"): (oauth("cc_basic", "openid"), "scope-not-allowed"),
    ("oidc", "Token URL"): (wrong_token_url("cc_basic", "api:read"), "token-url-wrong"),
    ("oidc", "huge headers"): (
        lambda server: huge(oauth("cc_basic", "api:read")(server)),
        "header-too-large",
    ),
}
# The same servers with nothing wrong:
# a refusal above is for the reason that the table says.
RIGHT: dict[str, Make] = {
    "nginx": nginx_tls("mutual", "client"),
    "httpbin": httpbin("/basic-auth/user/pass", basic("user", "pass")),
    "docker": lambda registry: at(
        registry.token_url, "/v2/", bearer(registry.token("pull"))
    ),
    "verdaccio": verdaccio("/-/npm/v1/user", PACKAGER),
    "toolkit": oauth("cc", "read", "?need=read"),
    "oidc": oauth("cc_basic", "api:read", "?need=api:read"),
}


def secrets_in(value: object) -> Iterator[str]:
    match value:
        case Given():
            yield value.value
        case dict():
            yield from secrets_in(list(value.values()))
        case list():
            for each in value:
                yield from secrets_in(each)


def leaks(report: Report, table: Table) -> list[str]:
    """Return the encodings in which a secret stands in anything that a report tells."""
    error = report.error
    told = f"{report!r} {error!r} {error and error.hint} {report.suspicions!r}".encode()
    user = str(table.get("username", ""))
    return [form for secret in secrets_in(table) for form in find(told, secret, user)]


def reasons(report: Report) -> list[str]:
    return [suspicion.reason.id for suspicion in report.suspicions]


def ten_minutes_off(monkeypatch: pytest.MonkeyPatch, direction: int) -> None:
    """Set the clock of this machine wrong; the server's stays right."""
    right = time.time
    monkeypatch.setattr(time, "time", lambda: right() + direction * TEN_MINUTES)


@pytest.mark.parametrize(("peer", "wrong"), ROWS)
def test_the_first_suspicion_is_the_right_one(
    peer: str, wrong: str, request: pytest.FixtureRequest, gateway_for: GatewayFor
) -> None:
    make, reason = ROWS[peer, wrong]
    table = make(request.getfixturevalue(peer))
    report = gateway_for(peer=table).test("peer")
    assert not report.ok
    assert reasons(report)[:1] == [reason]
    assert (report.cause, report.remedy) == (
        report.suspicions[0].reason.cause,
        report.suspicions[0].remedy,
    )
    assert leaks(report, table) == []


@pytest.mark.parametrize("peer", RIGHT)
def test_where_nothing_is_wrong_nothing_is_suspected(
    peer: str, request: pytest.FixtureRequest, gateway_for: GatewayFor
) -> None:
    table = RIGHT[peer](request.getfixturevalue(peer))
    report = gateway_for(peer=table).test("peer")
    assert (report.ok, reasons(report)) == (True, [])
    assert leaks(report, table) == []


def test_a_path_that_answers_to_everybody_proves_nothing(
    verdaccio: Verdaccio, gateway_for: GatewayFor
) -> None:
    table = at(verdaccio.url, "/-/ping", basic("alice", WRONG))
    report = gateway_for(peer=table).test("peer")
    assert (report.ok, "W008" in {finding.id for finding in report.findings}) == (
        True,
        True,
    )
    assert leaks(report, table) == []


def test_a_success_that_names_no_user_is_a_warning(
    verdaccio: Verdaccio, gateway_for: GatewayFor
) -> None:
    table = at(verdaccio.url, "/-/whoami", basic("alice", WRONG))
    report = gateway_for(peer=table).test("peer")
    assert report.ok
    assert {"W008", "W009"} <= {finding.id for finding in report.findings}
    assert leaks(report, table) == []


def test_the_words_of_a_token_endpoint_are_quoted(
    oidc: Oidc, gateway_for: GatewayFor
) -> None:
    make, _ = ROWS["oidc", "client secret"]
    table = make(oidc)
    report = gateway_for(peer=table).test("peer")
    assert "the provider says: invalid_client: client authentication failed" in (
        report.steps[-1].detail
    )
    assert leaks(report, table) == []


def test_a_bare_403_may_be_an_expired_token(
    toolkit: Toolkit, gateway_for: GatewayFor
) -> None:
    # An opaque token and an answer without a word: nothing here tells the two apart.
    table = toolkit_expired({})(toolkit)
    assert {"forbidden", "expired-as-403"} <= set(
        reasons(gateway_for(peer=table).test("peer"))
    )


def test_a_403_for_everybody_may_be_credentials_that_were_not_read(
    request: pytest.FixtureRequest, gateway_for: GatewayFor
) -> None:
    table = httpbin("/status/403", HTTPBIN_USER)(request.getfixturevalue("httpbin"))
    first = gateway_for(peer=table).test("peer").suspicions[0]
    assert first.certainty is Certainty.EITHER
    assert "credentials-not-read" in [rival.id for rival in first.rivals]


# ── a clock that is ten minutes off ───────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("client", "way"),
    [("cc_pkjwt_es256", "private_key_jwt"), ("cc_sjwt", "client_secret_jwt")],
)
def test_an_assertion_that_is_too_old_is_blamed_on_the_clock(
    client: str,
    way: str,
    oidc: Oidc,
    gateway_for: GatewayFor,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    key = oidc.clients[client] or oidc.keys[client].read_text()
    table = oauth(client, "api:read", client_auth=way, client_secret=Given(key))(oidc)
    assert gateway_for(peer=table).test("peer").ok
    ten_minutes_off(monkeypatch, -1)
    report = gateway_for(peer=table).test("peer")
    assert (report.ok, reasons(report)[:1]) == (False, ["clock-off"])
    assert leaks(report, table) == []


@pytest.mark.parametrize("direction", [-1, 1])
@pytest.mark.parametrize(
    ("peer", "wrong"),
    [
        ("nginx", "password"),
        ("docker", "scope, told by a 401"),
        ("docker", "expired"),
        ("oidc", "client secret"),
    ],
)
def test_a_wrong_clock_is_not_blamed_where_it_does_not_count(
    *,
    peer: str,
    wrong: str,
    direction: int,
    request: pytest.FixtureRequest,
    gateway_for: GatewayFor,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    make, reason = ROWS[peer, wrong]
    table = make(request.getfixturevalue(peer))
    ten_minutes_off(monkeypatch, direction)
    report = gateway_for(peer=table).test("peer")
    assert (report.ok, reasons(report)[:1]) == (False, [reason])
    assert leaks(report, table) == []
