"""What every authorization server does: consent, renewal, rotation, revocation."""

import math
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from cli.conftest import Terminal
from outkey import errors
from outkey.sending.core.oauth2.grants import consent_for
from outkey.sending.core.oauth2.token import State
from outkey.testing.canary import Canaries
from peers.authorization_servers import (
    REDIRECT,
    SECRET,
    USER,
    Asker,
    Glewlwyd,
    Oidc,
    Toolkit,
    basic_header,
    glewlwyd_running,
    oidc_running,
    pkce,
    toolkit_running,
)
from peers.certificates import Pki
from peers.conftest import (
    Arrived,
    AuthorizationServer,
    api_path,
    call,
    code_in,
    oauth2,
    revoke_behind_our_back,
    token_actions,
)
from peers.documents import GatewayFor, Given, Table

RENEWALS = 12
SECONDS = 10.0  # of sending with tokens that live for two or three
MACHINE = {"oidc": "cc_basic", "toolkit": "cc", "glewlwyd": "cc"}
MACHINE_SCOPE = {"oidc": "api:read", "toolkit": "read", "glewlwyd": "read"}
USER_SCOPE = {
    "oidc": "openid offline_access api:read",
    "toolkit": "read",
    "glewlwyd": "read",
}
NOT_GRANTED = {"oidc": "openid", "toolkit": "nonsense", "glewlwyd": "nonsense"}


@pytest.fixture(params=["oidc", "toolkit", "glewlwyd"])
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def server(request: pytest.FixtureRequest, name: str) -> AuthorizationServer:
    found: AuthorizationServer = request.getfixturevalue(name)
    return found


def for_a_client(server: AuthorizationServer, name: str, **settings: object) -> Table:
    return oauth2(server, MACHINE[name], **({"scope": MACHINE_SCOPE[name]} | settings))


def for_a_person(server: AuthorizationServer, name: str, **settings: object) -> Table:
    table = oauth2(server, "web", **({"scope": USER_SCOPE[name]} | settings))
    return table | accepting_403(server)


def accepting_403(server: AuthorizationServer) -> Table:
    """Set 403 means expired: so the toolkit's API responds to an unknown token."""
    bare = isinstance(server, Toolkit)
    return {
        "verification": {"test_path": api_path(server), "forbidden_means_expired": bare}
    }


def by_seed(server: AuthorizationServer, name: str) -> Table:
    scope = "openid offline_access api:read" if name == "oidc" else "read"
    seed = Given(server.seed_refresh(scope=scope))
    return for_a_person(server, name, grant="refresh_token", refresh_token=seed)


def arrived_at(server: AuthorizationServer) -> Arrived | None:
    # it does not count
    return None if isinstance(server, Glewlwyd) else Arrived(server)


def asked_for_tokens(
    caplog: pytest.LogCaptureFixture, server: AuthorizationServer
) -> int:
    """Count the recorded requests to the Token URL; one server does not count them."""
    target = f'"path": "{urlsplit(server.endpoint("token")).path}"'
    said = [
        record.getMessage()
        for record in caplog.records
        if record.name == "outkey.audit"
    ]
    return sum(target in line and "token:intended" in line for line in said)


# ── a client on its own ───────────────────────────────────────────────────────────────


@pytest.mark.parametrize("way", ["basic", "basic_raw", "body"])
def test_a_client_gets_a_token_that_the_server_calls_active(
    way: str, server: AuthorizationServer, name: str, gateway_for: GatewayFor
) -> None:
    gateway = gateway_for(peer=for_a_client(server, name, client_auth=way))
    actions = token_actions(gateway)
    assert actions.status().state is State.NONE
    assert actions.renew().state is State.FRESH
    assert actions.status().scope == MACHINE_SCOPE[name]
    assert actions.introspect() is True


@pytest.mark.parametrize("way", ["basic", "body"])
def test_a_wrong_secret_is_named_with_its_remedy_and_the_api_sees_nothing(
    way: str, server: AuthorizationServer, name: str, gateway_for: GatewayFor
) -> None:
    table = for_a_client(
        server, name, client_auth=way, client_secret=Given("wrong-secret-1234")
    )
    gateway = gateway_for(peer=table)
    arrived = arrived_at(server)
    with pytest.raises(errors.TokenEndpointFailed) as caught:
        call(gateway, server)
    assert caught.value.reason == "invalid_client"
    assert (
        caught.value.hint == "Check Client ID, Client Secret and Client Authentication."
    )
    if arrived:
        assert (arrived.token_calls, arrived.api_calls) == (1, 0)
    report = gateway.test("peer")
    assert (report.ok, report.cause, report.status) == (False, "token_endpoint", None)
    assert [(step.step, step.ok) for step in report.steps] == [
        ("configuration", True),
        ("secrets", True),
        ("token", False),
    ]
    assert report.remedy == caught.value.hint
    if arrived:
        assert (arrived.token_calls, arrived.api_calls) == (2, 0)


def test_a_wrong_secret_is_not_tried_with_every_call(
    server: AuthorizationServer,
    name: str,
    gateway_for: GatewayFor,
    caplog: pytest.LogCaptureFixture,
) -> None:
    table = for_a_client(server, name, client_secret=Given("wrong-secret-1234"))
    gateway = gateway_for(peer=table)
    for _ in range(20):
        with pytest.raises(errors.TokenEndpointFailed):
            call(gateway, server)
    assert asked_for_tokens(caplog, server) == 1


def test_a_scope_that_is_not_granted_is_named(
    server: AuthorizationServer, name: str, gateway_for: GatewayFor
) -> None:
    gateway = gateway_for(peer=for_a_client(server, name, scope=NOT_GRANTED[name]))
    report = gateway.test("peer")
    assert (report.ok, report.cause, report.steps[-1].step) == (
        False,
        "token_endpoint",
        "token",
    )
    assert isinstance(report.error, errors.TokenEndpointFailed)
    assert report.error.reason == "invalid_scope"
    assert (
        report.remedy
        == "Check Scope, and what the application may request at the provider."
    )


# ── a person agrees ───────────────────────────────────────────────────────────────────


def test_a_person_agrees_in_the_browser_and_calls_work_from_then_on(
    server: AuthorizationServer, name: str, gateway_for: GatewayFor
) -> None:
    table = for_a_person(
        server,
        name,
        grant="authorization_code",
        authorization_url=server.endpoint("authorize"),
        **({"extra": {"prompt": "consent"}} if name == "oidc" else {}),
    )
    gateway = gateway_for(peer=table)
    actions = token_actions(gateway)
    with pytest.raises(errors.ReauthorizationNeeded):
        call(gateway, server)
    consent = consent_for("state-1", pkce()[0], REDIRECT)
    callback = server.approve(actions.consent_url(consent))
    assert parse_qs(urlsplit(callback).query)["state"] == ["state-1"]
    actions.redeem(code_in(callback), consent)
    assert actions.status().state is State.FRESH
    shown = call(gateway, server).json()
    assert "sub" in shown if name == "glewlwyd" else shown["user"] == USER
    assert gateway.test("peer").ok
    assert actions.renew().state is State.FRESH
    assert call(gateway, server).status == 200


def test_a_code_is_worth_nothing_with_another_verifier_or_twice(
    server: AuthorizationServer, name: str, gateway_for: GatewayFor
) -> None:
    table = for_a_person(
        server,
        name,
        grant="authorization_code",
        authorization_url=server.endpoint("authorize"),
    )
    actions = token_actions(gateway_for(peer=table))
    consent, other = (consent_for("s", pkce()[0], REDIRECT) for _ in range(2))
    code = code_in(server.approve(actions.consent_url(consent)))
    with pytest.raises(errors.TokenEndpointFailed):
        actions.redeem(code, other)
    assert actions.status().state is State.NONE
    code = code_in(server.approve(actions.consent_url(consent)))
    actions.redeem(code, consent)
    with pytest.raises(errors.TokenEndpointFailed):
        actions.redeem(code, consent)


# ── rotation ──────────────────────────────────────────────────────────────────────────


def test_many_renewals_in_a_row_keep_the_family_of_refresh_tokens_alive(
    server: AuthorizationServer,
    name: str,
    gateway_for: GatewayFor,
    caplog: pytest.LogCaptureFixture,
) -> None:
    gateway = gateway_for(peer=by_seed(server, name))
    seen = set()
    for _ in range(RENEWALS):
        assert token_actions(gateway).renew().state is State.FRESH
        assert call(gateway, server).status == 200
        seen.add(token_actions(gateway).ready().value.reveal())
    assert len(seen) == RENEWALS
    assert asked_for_tokens(caplog, server) == RENEWALS


def test_a_refresh_token_that_somebody_else_used_needs_a_person_and_is_not_sent_again(
    server: AuthorizationServer,
    name: str,
    gateway_for: GatewayFor,
    caplog: pytest.LogCaptureFixture,
) -> None:
    seed = server.seed_refresh(scope=USER_SCOPE[name])
    form = {"grant_type": "refresh_token", "refresh_token": seed}
    header = basic_header("web", SECRET)
    assert Asker().ask(server.endpoint("token"), form, headers=header).status == 200
    table = for_a_person(server, name, grant="refresh_token", refresh_token=Given(seed))
    gateway = gateway_for(peer=table)
    arrived = arrived_at(server)
    for _ in range(5):
        with pytest.raises(errors.ReauthorizationNeeded):
            call(gateway, server)
    report = gateway.test("peer")
    assert (report.cause, report.steps[-1].step) == ("reauthorization_needed", "token")
    assert token_actions(gateway).status().state is State.REAUTHORIZATION_NEEDED
    assert asked_for_tokens(caplog, server) == 1
    if arrived:
        assert (arrived.token_calls, arrived.api_calls) == (1, 0)


# ── revocation and introspection ──────────────────────────────────────────────────────


def test_a_token_that_is_given_back_works_nowhere_any_more(
    server: AuthorizationServer, name: str, gateway_for: GatewayFor
) -> None:
    gateway = gateway_for(peer=by_seed(server, name))
    actions = token_actions(gateway)
    assert call(gateway, server).status == 200
    held = {"Authorization": f"Bearer {actions.ready().value.reveal()}"}
    assert actions.introspect() is True
    actions.revoke()
    assert actions.status().state is State.NONE
    assert Asker().ask(server.endpoint("api"), headers=held).status in {401, 403}
    with pytest.raises(errors.ReauthorizationNeeded):
        actions.introspect()


def test_a_server_says_that_a_token_revoked_behind_our_back_is_not_active(
    server: AuthorizationServer, name: str, gateway_for: GatewayFor
) -> None:
    gateway = gateway_for(peer=for_a_client(server, name))
    actions = token_actions(gateway)
    actions.ready()
    assert actions.introspect() is True
    revoke_behind_our_back(gateway, server, MACHINE[name])
    assert actions.introspect() is False
    assert actions.status().state is State.FRESH


@pytest.mark.parametrize("times", [1, 3])
def test_a_token_revoked_behind_our_back_is_renewed_and_the_call_succeeds(
    times: int, server: AuthorizationServer, name: str, gateway_for: GatewayFor
) -> None:
    """However often: the last token was accepted, so another one will be."""
    if name == "glewlwyd":  # its API is for people's tokens
        table, client = by_seed(server, name), "web"
    else:
        table, client = for_a_client(server, name), MACHINE[name]
    query = "?challenge" if name == "toolkit" else ""
    gateway = gateway_for(peer=table)
    assert call(gateway, server, query).status == 200
    for _ in range(times):
        arrived = arrived_at(server)
        revoke_behind_our_back(gateway, server, client)
        assert call(gateway, server, query).status == 200
        assert call(gateway, server, query).status == 200
        if arrived:
            assert (arrived.token_calls, arrived.refused, arrived.api_calls) == (
                1,
                0,
                3,
            )


# ── short lives ───────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Short:
    """Servers whose tokens live for two or three seconds."""

    oidc: Oidc
    toolkit: Toolkit
    glewlwyd: Glewlwyd


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory, pki: Pki) -> Iterator[Short]:
    folders = [tmp_path_factory.mktemp("short") for _ in range(3)]
    lives = {"client_token_seconds": 2, "user_token_seconds": 3}
    with (
        oidc_running(folders[0], pki, **lives) as oidc,
        toolkit_running(folders[1], token_seconds=3) as toolkit,
        glewlwyd_running(folders[2], token_seconds=3) as glewlwyd,
    ):
        yield Short(oidc, toolkit, glewlwyd)


def test_threads_send_for_ten_seconds_with_short_lived_tokens_and_no_call_fails(
    short: Short, gateway_for: GatewayFor
) -> None:
    lines: dict[str, tuple[AuthorizationServer, Table]] = {
        "oidc client": (short.oidc, for_a_client(short.oidc, "oidc")),
        "oidc person": (short.oidc, by_seed(short.oidc, "oidc")),
        "toolkit client": (
            short.toolkit,
            for_a_client(short.toolkit, "toolkit") | accepting_403(short.toolkit),
        ),
        "toolkit person": (short.toolkit, by_seed(short.toolkit, "toolkit")),
        "glewlwyd person": (short.glewlwyd, by_seed(short.glewlwyd, "glewlwyd")),
    }
    gateways = {line: gateway_for(peer=table) for line, (_, table) in lines.items()}
    ends = time.monotonic() + SECONDS
    outcomes: dict[str, Counter[object]] = {line: Counter() for line in lines}

    def send(line: str) -> None:
        while time.monotonic() < ends:
            try:
                outcome: object = call(gateways[line], lines[line][0]).status
            except errors.OutkeyError as error:
                outcome = repr(error)
            outcomes[line][outcome] += 1
            time.sleep(0.05)

    oidc, toolkit = Arrived(short.oidc), Arrived(short.toolkit)
    issued = short.glewlwyd.issued("web")
    threads = [
        threading.Thread(target=send, args=(line,)) for line in lines for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # On a busy machine the toolkit itself fails now and then;
    # no token is to blame for that.
    own = sum(
        found.pop(500, 0)
        for line, found in outcomes.items()
        if line.startswith("toolkit")
    )
    assert own <= 3
    assert {line: set(found) for line, found in outcomes.items()} == {
        line: {200} for line in lines
    }
    assert min(found.total() for found in outcomes.values()) > 100
    assert (oidc.refused, toolkit.refused) == (0, 0)
    assert 7 <= oidc.token_calls <= 16
    assert 6 <= toolkit.token_calls <= 10
    assert 3 <= short.glewlwyd.issued("web") - issued <= 7


def test_a_token_that_ends_before_its_time_is_renewed_whenever_that_happens(
    short: Short, gateway_for: GatewayFor
) -> None:
    """Glewlwyd counts whole seconds, so a lifetime may be nearly a second shorter."""
    gateway = gateway_for(peer=by_seed(short.glewlwyd, "glewlwyd"))
    issued = short.glewlwyd.issued("web")
    began = math.ceil(time.time()) + 0.9
    # Given at 0.9, the token ends at 3.0 and not at 3.9;
    # given at 3.5, at 6.0 and not at 6.5.
    for moment in (0.0, 2.62, 5.21):
        time.sleep(max(0.0, began + moment - time.time()))
        assert call(gateway, short.glewlwyd).status == 200
    assert short.glewlwyd.issued("web") - issued <= 3


# ── the command line ──────────────────────────────────────────────────────────────────


def test_the_command_line_looks_after_a_token_over_many_processes(
    oidc: Oidc, tmp_path: Path, canary: Canaries
) -> None:
    seed, second = oidc.seed_refresh(), oidc.seed_refresh()
    canary.made |= {"client_secret": SECRET, "seed": seed, "second": second}
    canary.usernames |= dict.fromkeys(canary.made, "web")
    outkey = Terminal(tmp_path / "home", canary)
    assert outkey("apply", "-", stdin=cli_document(oidc)).code == 0
    for configuration in ("person", "machine"):
        done = outkey("secret", "set", configuration, "client_secret", stdin=SECRET)
        assert done.code == 0
    assert outkey("secret", "set", "person", "refresh_token", stdin=seed).code == 0
    assert outkey("token", "status", "person", "--json").json["state"] == "none"

    arrived = Arrived(oidc)
    for number in (1, 2, 3):  # each has only what the one before it kept
        done = outkey("token", "renew", "person", "--json")
        assert (done.code, done.json["state"]) == (0, "fresh")
        assert (arrived.token_calls, arrived.refused) == (number, 0)
    assert outkey("request", "person", "/_api").json["user"] == USER
    assert outkey("test", "person").code == 0
    status = outkey("token", "status", "person", "--introspect", "--json").json
    assert (status["state"], status["active"], status["error"]) == ("fresh", True, None)
    assert arrived.token_calls == 3

    assert outkey("token", "revoke", "person", "--json").json["state"] == "none"
    for _ in range(2):
        done = outkey("token", "renew", "person", "--json")
        assert (done.code, done.json["error"]["code"]) == (2, "reauthorization_needed")
    # Only who insists has it tried again with what was entered, once each time.
    assert (arrived.token_calls, arrived.refused) == (5, 2)
    assert outkey("request", "person", "/_api").code == 2
    assert arrived.token_calls == 5
    status = outkey("token", "status", "person", "--json").json
    assert (status["state"], status["error"]) == (
        "reauthorization_needed",
        "invalid_grant",
    )
    outkey("secret", "set", "person", "refresh_token", stdin=second)
    assert outkey("request", "person", "/_api").json["user"] == USER


def test_the_command_line_forgets_a_token_without_telling_the_provider(
    oidc: Oidc, tmp_path: Path, canary: Canaries
) -> None:
    outkey = Terminal(tmp_path / "home", canary)
    outkey("apply", "-", stdin=cli_document(oidc))
    outkey("secret", "set", "machine", "client_secret", stdin=SECRET)
    arrived, revocations = Arrived(oidc), oidc.calls().paths.get("/token/revocation", 0)
    assert outkey("request", "machine", "/_api").json["client"] == "cc_basic"
    assert outkey("token", "status", "machine", "--json").json["state"] == "fresh"
    assert outkey("token", "forget", "machine", "--json").json["state"] == "none"
    assert oidc.calls().paths.get("/token/revocation", 0) == revocations
    assert outkey("request", "machine", "/_api").json["client"] == "cc_basic"
    assert (arrived.token_calls, arrived.refused, arrived.api_calls) == (2, 0, 2)


def test_the_command_line_says_that_the_token_is_what_fails(
    oidc: Oidc, tmp_path: Path, canary: Canaries
) -> None:
    outkey = Terminal(tmp_path / "home", canary)
    outkey("apply", "-", stdin=cli_document(oidc))
    outkey("secret", "set", "machine", "client_secret", stdin=canary("wrong"))
    arrived = Arrived(oidc)
    done = outkey("test", "machine", "--json")
    assert (done.code, done.json["ok"], done.json["cause"]) == (
        1,
        False,
        "token_endpoint",
    )
    failed = done.json["steps"][-1]
    assert (failed["step"], failed["ok"]) == ("token", False)
    assert done.json["remedy"].startswith("Check Client ID, Client Secret")
    done = outkey("token", "renew", "machine", "--json")
    assert (done.code, done.json["error"]["code"]) == (1, "token_endpoint")
    assert (arrived.token_calls, arrived.api_calls) == (2, 0)


def cli_document(oidc: Oidc) -> str:
    addresses = f"""
client_auth = "basic"
token_url = "{oidc.endpoint("token")}"
revocation_url = "{oidc.endpoint("revoke")}"
introspection_url = "{oidc.endpoint("introspect")}"
"""
    common = f"""
base_url = "{oidc.url}"
network = "internal"
authentication_type = "bearer"
token_source = "oauth2"
verification = {{ test_path = "/_api" }}
"""
    return f"""
[configuration.person]
{common}
[configuration.person.oauth2]
grant = "refresh_token"
client_id = "web"
{addresses}
[configuration.machine]
{common}
[configuration.machine.oauth2]
client_id = "cc_basic"
{addresses}
"""
