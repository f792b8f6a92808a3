"""The authorization server of the sparring provider does what the RFCs say, or what it is told."""

import contextlib
import hashlib
import http.client
import json
import secrets
import ssl
import time
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple
from urllib.parse import parse_qs, quote, urlencode, urlsplit
from urllib.request import urlopen

import pytest

from outkey.spar import Spar
from outkey.spar.authority import AWKWARD_CLIENT, AWKWARD_SECRET, DEVICE_GRANT
from outkey.spar.odd import names

BODY_AUTH = {"client_id": "spar-client", "client_secret": "spar-client-secret"}
VERIFIER = "v" * 43
CHALLENGE = urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()
CALLBACK = "http://127.0.0.1:1/callback"
METADATA = "/.well-known/oauth-authorization-server/oauth"


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def fields(self) -> dict[str, Any]:
        fields: dict[str, Any] = json.loads(self.body)
        return fields

    @property
    def verdict(self) -> tuple[int, str | None]:
        return self.status, self.fields.get("error")


@pytest.fixture
def spar() -> Iterator[Spar]:
    with Spar() as server:
        yield server


@pytest.fixture(scope="module")
def shared() -> Iterator[Spar]:
    """Serve the tests that count nothing."""
    with Spar() as server:
        yield server


def ask(url: str, path: str, form: dict[str, str] | None = None, **headers: str) -> Answer:
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=20)
    try:
        if form is None:
            connection.request("GET", path, headers=headers)
        else:
            usual = {"Content-Type": "application/x-www-form-urlencoded"}
            connection.request("POST", path, urlencode(form), {**usual, **headers})
        response = connection.getresponse()
        return Answer(response.status, dict(response.getheaders()), response.read())
    finally:
        connection.close()


def token(spar: Spar, query: str = "", **form: str) -> Answer:
    form.setdefault("grant_type", "client_credentials")
    return ask(spar.url, f"/oauth/token{query}", BODY_AUTH | form)


def refresh(spar: Spar, refresh_token: str, query: str = "", **form: str) -> Answer:
    return token(spar, query, grant_type="refresh_token", refresh_token=refresh_token, **form)


def api(spar: Spar, access_token: str, query: str = "") -> Answer:
    return ask(spar.url, f"/oauth/api{query}", Authorization=f"Bearer {access_token}")


def basic(client: str, secret: str) -> str:
    return "Basic " + b64encode(f"{client}:{secret}".encode()).decode()


def code(spar: Spar, **more: str) -> dict[str, str]:
    query = {
        "response_type": "code",
        "client_id": "spar-client",
        "redirect_uri": CALLBACK,
        "code_challenge": CHALLENGE,
        "code_challenge_method": "S256",
        "state": "state&1",
        "auto": "1",
    } | more
    location = ask(spar.url, f"/oauth/authorize?{urlencode(query)}").headers["Location"]
    assert location.startswith(CALLBACK + "?")
    return {name: values[0] for name, values in parse_qs(urlsplit(location).query).items()}


def exchange(spar: Spar, code: str, **more: str) -> Answer:
    form = {"code": code, "redirect_uri": CALLBACK, "code_verifier": VERIFIER} | more
    return token(spar, grant_type="authorization_code", **form)


# ── client credentials ───────────────────────────────────────────────────────────────────────


def test_client_credentials_get_a_token_that_the_api_takes(spar: Spar) -> None:
    answer = token(spar, scope="orders:read orders:write")
    assert answer.status == 200
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.fields["token_type"] == "Bearer"
    assert answer.fields["expires_in"] == 3600
    assert "refresh_token" not in answer.fields
    assert api(spar, answer.fields["access_token"]).fields["scope"] == "orders:read orders:write"


@pytest.mark.parametrize(
    ("client", "secret"),
    [("spar-client", "spar-client-secret"), (AWKWARD_CLIENT, AWKWARD_SECRET)],
)
def test_basic_authentication_is_percent_encoded(shared: Spar, client: str, secret: str) -> None:
    header = basic(quote(client, safe=""), quote(secret, safe=""))
    form = {"grant_type": "client_credentials"}
    assert ask(shared.url, "/oauth/token", form, Authorization=header).status == 200
    # A blank may also come as +, which is how forms encode it.
    header = header if client == "spar-client" else basic("spar+client%3A2", quote(secret, safe=""))
    assert ask(shared.url, "/oauth/token", form, Authorization=header).status == 200


def test_basic_authentication_without_encoding_works_only_where_it_is_asked_for(
    spar: Spar,
) -> None:
    spar.authorization.add_client("raw", "50%25")
    header, form = basic("raw", "50%25"), {"grant_type": "client_credentials"}
    assert ask(spar.url, "/oauth/token", form, Authorization=header).status == 401
    assert ask(spar.url, "/oauth/token?basic=raw", form, Authorization=header).status == 200


@pytest.mark.parametrize("header", ["Basic eDp5", "Basic !", "Basic /w==", "Bearer eDp5", "x"])
def test_a_wrong_client_is_refused_with_a_challenge(shared: Spar, header: str) -> None:
    form = {"grant_type": "client_credentials"}
    answer = ask(shared.url, "/oauth/token", form, Authorization=header)
    assert answer.verdict == (401, "invalid_client")
    assert answer.headers["WWW-Authenticate"].startswith("Basic")


def test_a_token_endpoint_may_demand_one_style_of_authentication(spar: Spar) -> None:
    assert token(spar, "?auth=body").status == 200
    assert token(spar, "?auth=basic").verdict == (401, "invalid_client")


@pytest.mark.parametrize(
    ("form", "error"),
    [
        ({"grant_type": ""}, "invalid_request"),
        ({"grant_type": "password"}, "unsupported_grant_type"),
        ({"grant_type": "refresh_token"}, "invalid_request"),
        ({"grant_type": "refresh_token", "refresh_token": "unknown"}, "invalid_grant"),
        ({"grant_type": "authorization_code", "code": "unknown"}, "invalid_grant"),
        ({"grant_type": DEVICE_GRANT, "device_code": "unknown"}, "invalid_grant"),
        ({"scope": "orders:read nobody"}, "invalid_scope"),
    ],
)
def test_errors_are_those_of_the_rfc(spar: Spar, form: dict[str, str], error: str) -> None:
    assert token(spar, **form).verdict == (400, error)
    assert spar.authorization.counts().refused == {error: 1}


def test_a_request_must_be_a_proper_form(spar: Spar) -> None:
    form = BODY_AUTH | {"grant_type": "client_credentials"}
    as_json = {"Content-Type": "application/json"}
    assert ask(spar.url, "/oauth/token", form, **as_json).verdict == (400, "invalid_request")
    assert ask(spar.url, "/oauth/token").status == 405
    both = ask(spar.url, "/oauth/token", form, Authorization=basic(*BODY_AUTH.values()))
    assert both.verdict == (400, "invalid_request")


def test_a_parameter_may_not_come_twice(spar: Spar) -> None:
    connection = http.client.HTTPConnection(urlsplit(spar.url).netloc, timeout=20)
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    connection.request("POST", "/oauth/token", "grant_type=a&grant_type=a", kind)
    assert json.loads(connection.getresponse().read())["error"] == "invalid_request"
    connection.close()


@pytest.mark.parametrize(
    ("body", "verdict"),
    [
        (json.dumps(BODY_AUTH | {"grant_type": "client_credentials"}), (200, None)),
        ("[]", (401, "invalid_client")),
        ("{", (401, "invalid_client")),
    ],
)
def test_a_json_request_is_taken_where_it_is_asked_for(
    shared: Spar, body: str, verdict: tuple[int, str | None]
) -> None:
    connection = http.client.HTTPConnection(urlsplit(shared.url).netloc, timeout=20)
    kind = {"Content-Type": "application/json; charset=utf-8"}
    connection.request("POST", "/oauth/token?format=json", body, kind)
    response = connection.getresponse()
    assert (response.status, json.loads(response.read()).get("error")) == verdict
    connection.close()


def test_a_public_client_gets_no_client_credentials(spar: Spar) -> None:
    form = {"grant_type": "client_credentials", "client_id": "spar-public"}
    assert ask(spar.url, "/oauth/token", form).verdict == (400, "unauthorized_client")


# ── what the query changes ───────────────────────────────────────────────────────────────────


def test_a_short_lifetime_ends_and_a_claim_may_be_a_lie(spar: Spar) -> None:
    answer = token(spar, "?lifetime=0.2&claim=7200")
    assert answer.fields["expires_in"] == 7200
    assert api(spar, answer.fields["access_token"]).status == 200
    time.sleep(0.25)
    assert api(spar, answer.fields["access_token"]).status == 401


def test_fields_can_be_left_out(spar: Spar) -> None:
    assert set(token(spar, "?omit=expires_in,scope").fields) == {"access_token", "token_type"}


def test_a_delay_comes_after_the_grant_and_a_wait_before_it(spar: Spar) -> None:
    refresh_token = spar.authorization.seed_refresh()
    with ThreadPoolExecutor() as pool:
        late = pool.submit(refresh, spar, refresh_token, "?delay=0.6")
        time.sleep(0.3)
        assert refresh(spar, refresh_token).verdict == (400, "invalid_grant")
        assert not late.done()
        assert late.result().status == 200
    refresh_token = spar.authorization.seed_refresh()
    with ThreadPoolExecutor() as pool:
        late = pool.submit(refresh, spar, refresh_token, "?before=0.6")
        time.sleep(0.3)
        assert refresh(spar, refresh_token).status == 200
        assert late.result().verdict == (400, "invalid_grant")


def test_a_new_token_may_end_the_previous_one(spar: Spar) -> None:
    first = token(spar).fields["access_token"]
    second = token(spar, "?single=1").fields["access_token"]
    assert [api(spar, first).status, api(spar, second).status] == [401, 200]


@pytest.mark.parametrize("path", ["/oauth/token", "/oauth/odd/invalid_grant"])
def test_the_date_of_an_answer_can_be_skewed(shared: Spar, path: str) -> None:
    answer = ask(shared.url, f"{path}?skew=-7200", BODY_AUTH | {"grant_type": "client_credentials"})
    skew = parsedate_to_datetime(answer.headers["Date"]).timestamp() - time.time()
    assert -7210 < skew < -7190


@pytest.mark.parametrize("number", ["nan", "inf", "1e99", "x", "-1e99"])
def test_nonsense_in_the_query_is_survived(shared: Spar, number: str) -> None:
    query = "&".join(f"{name}={number}" for name in ("skew", "claim", "lifetime", "grace"))
    assert token(shared, f"?{query}").status == 200


# ── refresh tokens ───────────────────────────────────────────────────────────────────────────


def test_a_refresh_rotates_the_token(spar: Spar) -> None:
    first = spar.authorization.seed_refresh()
    answer = refresh(spar, first)
    assert answer.fields["refresh_token"] != first
    assert api(spar, answer.fields["access_token"]).status == 200
    assert refresh(spar, answer.fields["refresh_token"]).status == 200


def test_a_refresh_token_used_twice_kills_the_whole_family(spar: Spar) -> None:
    first = spar.authorization.seed_refresh()
    bystander = refresh(spar, spar.authorization.seed_refresh())
    answer = refresh(spar, first)
    assert refresh(spar, first).verdict == (400, "invalid_grant")
    assert refresh(spar, answer.fields["refresh_token"]).verdict == (400, "invalid_grant")
    assert api(spar, answer.fields["access_token"]).status == 401
    assert api(spar, bystander.fields["access_token"]).status == 200
    counts = spar.authorization.counts()
    assert (counts.reuses, counts.live_families, counts.dead_families) == (1, 1, 1)


def test_an_old_refresh_token_may_be_retried_within_the_grace(spar: Spar) -> None:
    first = spar.authorization.seed_refresh()
    assert refresh(spar, first).status == 200
    again = refresh(spar, first, "?grace=30")
    assert again.status == 200
    assert refresh(spar, again.fields["refresh_token"]).status == 200
    time.sleep(0.2)
    assert refresh(spar, first, "?grace=0.1").verdict == (400, "invalid_grant")
    assert spar.authorization.counts().reuses == 1


def test_a_refresh_token_may_stay_the_same(spar: Spar) -> None:
    first = spar.authorization.seed_refresh()
    for _ in range(2):
        answer = refresh(spar, first, "?rotate=0")
        assert answer.status == 200
        assert "refresh_token" not in answer.fields


def test_a_refresh_token_belongs_to_its_client_and_scope(spar: Spar) -> None:
    other = spar.authorization.seed_refresh("spar-public")
    assert refresh(spar, other).verdict == (400, "invalid_grant")
    own = spar.authorization.seed_refresh(scope="a b")
    assert refresh(spar, own, scope="a c").verdict == (400, "invalid_scope")
    assert refresh(spar, own, scope="a").fields["scope"] == "a"


def test_of_fifty_threads_with_one_refresh_token_one_succeeds_and_the_family_is_dead(
    spar: Spar,
) -> None:
    first = spar.authorization.seed_refresh()
    with ThreadPoolExecutor(50) as pool:
        answers = list(pool.map(lambda _: refresh(spar, first), range(50)))
    (winner,) = (answer for answer in answers if answer.status == 200)
    assert sum(answer.verdict == (400, "invalid_grant") for answer in answers) == 49
    assert api(spar, winner.fields["access_token"]).status == 401
    assert refresh(spar, winner.fields["refresh_token"]).status == 400
    counts = spar.authorization.counts()
    assert (counts.live_families, counts.reuses, counts.by_grant) == (0, 1, {"refresh_token": 51})


def test_two_hundred_clients_are_served_at_once(spar: Spar) -> None:
    with ThreadPoolExecutor(200) as pool:
        answers = list(pool.map(lambda _: token(spar, "?delay=0.1"), range(200)))
    assert len({answer.fields["access_token"] for answer in answers}) == 200
    assert spar.authorization.counts().issued == 200


# ── codes ────────────────────────────────────────────────────────────────────────────────────


def test_a_code_is_exchanged_once_and_its_reuse_kills_what_came_of_it(spar: Spar) -> None:
    answer = code(spar)
    assert (answer["state"], answer["iss"]) == ("state&1", spar.issuer)
    tokens = exchange(spar, answer["code"])
    assert api(spar, tokens.fields["access_token"]).status == 200
    assert exchange(spar, answer["code"]).verdict == (400, "invalid_grant")
    assert refresh(spar, tokens.fields["refresh_token"]).verdict == (400, "invalid_grant")
    assert api(spar, tokens.fields["access_token"]).status == 401


@pytest.mark.parametrize(
    "wrong",
    [{"code_verifier": "w" * 43}, {"code_verifier": "short"}, {"redirect_uri": f"{CALLBACK}/x"}],
)
def test_a_code_with_another_verifier_or_address_is_refused(
    shared: Spar, wrong: dict[str, str]
) -> None:
    issued = code(shared)["code"]
    assert exchange(shared, issued, **wrong).verdict == (400, "invalid_grant")
    assert exchange(shared, issued).status == 200


def test_a_public_client_exchanges_a_code_without_a_secret(spar: Spar) -> None:
    issued = code(spar, client_id="spar-public")["code"]
    assert exchange(spar, issued).verdict == (400, "invalid_grant")
    public = {"client_id": "spar-public", "client_secret": ""}
    assert exchange(spar, issued, **public).status == 200


def test_a_code_without_a_verifier_is_refused(spar: Spar) -> None:
    assert exchange(spar, code(spar)["code"], code_verifier="").verdict == (400, "invalid_request")


@pytest.mark.parametrize(
    ("more", "error"),
    [
        ({"auto": "deny"}, "access_denied"),
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"code_challenge": ""}, "invalid_request"),
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"scope": "nobody"}, "invalid_scope"),
    ],
)
def test_the_redirect_carries_errors_with_the_state(
    shared: Spar, more: dict[str, str], error: str
) -> None:
    answer = code(shared, **more)
    assert (answer["error"], answer["state"], answer["iss"]) == (error, "state&1", shared.issuer)


@pytest.mark.parametrize(
    "more",
    [
        {"client_id": "nobody"},
        {"redirect_uri": "https://example.com/"},
        {"redirect_uri": "http://127.0.0.1/\r\nX-Evil: 1"},
        {"redirect_uri": "http://127.0.0.1/#fragment"},
        {"redirect_uri": "javascript://localhost/"},
        {"redirect_uri": "http://[broken"},
    ],
)
def test_nobody_is_redirected_to_an_address_that_cannot_be_trusted(
    shared: Spar, more: dict[str, str]
) -> None:
    query = {"client_id": "spar-client", "redirect_uri": CALLBACK, "auto": "1"} | more
    answer = ask(shared.url, f"/oauth/authorize?{urlencode(query)}")
    assert answer.status == 400
    assert "Location" not in answer.headers


def test_the_page_has_buttons_to_approve_and_deny_and_escapes_what_it_repeats(spar: Spar) -> None:
    query = {
        "response_type": "code",
        "client_id": "spar-client",
        "redirect_uri": CALLBACK,
        "code_challenge": CHALLENGE,
        "code_challenge_method": "S256",
        "state": '"><script>',
    }
    page = ask(spar.url, f"/oauth/authorize?{urlencode(query)}")
    assert page.status == 200
    assert b'value="approve">Approve' in page.body
    assert b'value="deny">Deny' in page.body
    assert b"<script>" not in page.body
    pressed = ask(spar.url, f"/oauth/authorize?{urlencode(query | {'decision': 'approve'})}")
    assert pressed.status == 302
    assert "code=spar-code-" in pressed.headers["Location"]


@pytest.mark.parametrize("name", ["state", "iss"])
def test_the_redirect_can_be_twisted(shared: Spar, name: str) -> None:
    assert code(shared, twist=name)[name] == f"{shared.elsewhere}/oauth"
    assert name not in code(shared, twist=f"no-{name}")


# ── devices ──────────────────────────────────────────────────────────────────────────────────


def start(spar: Spar, query: str = "?interval=0") -> dict[str, str]:
    return ask(spar.url, f"/oauth/device{query}", BODY_AUTH).fields


def poll(spar: Spar, started: dict[str, str]) -> Answer:
    return token(spar, grant_type=DEVICE_GRANT, device_code=started["device_code"])


def test_a_device_waits_until_somebody_approves(spar: Spar) -> None:
    started = start(spar)
    assert started["verification_uri"] == f"{spar.url}/oauth/device"
    assert poll(spar, started).verdict == (400, "authorization_pending")
    page = ask(spar.url, started["verification_uri_complete"].removeprefix(spar.url))
    assert started["user_code"].encode() in page.body
    typed = started["user_code"].lower().replace("-", "")
    assert ask(spar.url, f"/oauth/device/approve?user_code={typed}").status == 200
    tokens = poll(spar, started)
    assert api(spar, tokens.fields["access_token"]).status == 200
    assert refresh(spar, tokens.fields["refresh_token"]).status == 200
    assert poll(spar, started).verdict == (400, "invalid_grant")


def test_a_device_can_be_denied_once(spar: Spar) -> None:
    started = start(spar)
    path = f"/oauth/device/deny?user_code={started['user_code']}"
    assert [ask(spar.url, path).status, ask(spar.url, path).status] == [200, 404]
    assert poll(spar, started).verdict == (400, "access_denied")


def test_a_device_that_hurries_is_slowed_down(spar: Spar) -> None:
    started = start(spar, "?interval=0.3")
    assert poll(spar, started).verdict == (400, "authorization_pending")
    time.sleep(0.35)
    assert poll(spar, started).verdict == (400, "authorization_pending")
    assert poll(spar, started).verdict == (400, "slow_down")
    time.sleep(0.35)
    assert poll(spar, started).verdict == (400, "slow_down")


def test_a_device_code_expires(spar: Spar) -> None:
    started = start(spar, "?lifetime=0&omit=interval")
    assert "interval" not in started
    assert poll(spar, started).verdict == (400, "expired_token")


def test_a_device_needs_a_known_client(spar: Spar) -> None:
    assert ask(spar.url, "/oauth/device", {"client_id": "x"}).verdict == (401, "invalid_client")


# ── revocation, introspection, metadata, the API ─────────────────────────────────────────────


def test_revoking_an_access_token_leaves_the_family_and_a_refresh_token_does_not(
    spar: Spar,
) -> None:
    answer = refresh(spar, spar.authorization.seed_refresh()).fields
    assert ask(spar.url, "/oauth/revoke", BODY_AUTH | {"token": answer["access_token"]})[::2] == (
        200,
        b"",
    )
    assert api(spar, answer["access_token"]).status == 401
    answer = refresh(spar, answer["refresh_token"]).fields
    assert ask(spar.url, "/oauth/revoke", BODY_AUTH | {"token": answer["refresh_token"]})[0] == 200
    assert api(spar, answer["access_token"]).status == 401
    assert refresh(spar, answer["refresh_token"]).verdict == (400, "invalid_grant")


def test_revoking_wants_a_client_and_a_token_of_its_own(spar: Spar) -> None:
    assert ask(spar.url, "/oauth/revoke", BODY_AUTH | {"token": "unknown"}).status == 200
    assert ask(spar.url, "/oauth/revoke", {"token": "x"}).verdict == (401, "invalid_client")
    assert ask(spar.url, "/oauth/revoke", BODY_AUTH).verdict == (400, "invalid_request")
    form = BODY_AUTH | {"token": spar.authorization.seed_refresh("spar-public")}
    assert ask(spar.url, "/oauth/revoke", form).verdict == (400, "unauthorized_client")


def test_introspection_tells_of_live_tokens_only(spar: Spar) -> None:
    first = spar.authorization.seed_refresh()
    tokens = refresh(spar, first, "?lifetime=100").fields

    def look(value: str) -> dict[str, Any]:
        return ask(spar.url, "/oauth/introspect", BODY_AUTH | {"token": value}).fields

    found = look(tokens["access_token"])
    assert (found["active"], found["client_id"], found["scope"]) == (
        True,
        "spar-client",
        "orders:read",
    )
    assert abs(float(found["exp"]) - time.time() - 100) < 10
    assert look(tokens["refresh_token"])["active"] is True
    spar.authorization.revoke_family(tokens["access_token"])
    for value in (first, *tokens.values(), "unknown"):
        assert look(str(value)) == {"active": False}
    assert ask(spar.url, "/oauth/introspect", {"token": "x"}).verdict == (401, "invalid_client")


def test_metadata_are_where_an_issuer_with_a_path_has_them(spar: Spar) -> None:
    found = ask(spar.url, METADATA).fields
    assert found["issuer"] == spar.issuer == f"{spar.url}/oauth"
    for name in ("authorization", "token", "revocation", "introspection", "device_authorization"):
        path = found[f"{name}_endpoint"].removeprefix(spar.url)
        assert ask(spar.url, path, {}).status != 404
    assert ask(spar.url, METADATA.removesuffix("/oauth")).status == 404


def test_over_tls_the_issuer_is_another_one() -> None:
    with Spar(tls=True) as spar:
        context = ssl.create_default_context(cafile=spar.ca_file)
        with urlopen(spar.secure + METADATA, context=context) as response:
            assert json.load(response)["issuer"] == f"{spar.secure}/oauth"


def test_the_other_origin_claims_to_be_the_issuer(spar: Spar) -> None:
    found = ask(spar.elsewhere, METADATA).fields
    assert found["issuer"] == spar.issuer
    assert found["token_endpoint"].startswith(spar.elsewhere)


def test_the_api_says_why_it_refuses(spar: Spar) -> None:
    nothing = ask(spar.url, "/oauth/api")
    assert (nothing.status, nothing.headers["WWW-Authenticate"]) == (401, 'Bearer realm="spar"')
    unknown = api(spar, "unknown")
    assert unknown.status == 401
    assert 'error="invalid_token"' in unknown.headers["WWW-Authenticate"]
    known = token(spar).fields["access_token"]
    needy = api(spar, known, "?need=orders:write")
    assert needy.status == 403
    expected = 'error="insufficient_scope", scope="orders:write"'
    assert expected in needy.headers["WWW-Authenticate"]
    spar.authorization.expire_all()
    assert api(spar, known).status == 401
    forbidden = api(spar, known, "?forbidden=1")
    assert forbidden.status == 403
    assert "WWW-Authenticate" not in forbidden.headers


# ── odd answers ──────────────────────────────────────────────────────────────────────────────

WIRE = {"silent", "slow-headers", "slow-body", "reset-before", "reset-after", "reset-body"}


@pytest.mark.parametrize("name", [name for name in names() if name not in WIRE])
def test_each_odd_answer_is_given_whole_and_counted(shared: Spar, name: str) -> None:
    before = shared.authorization.counts().odd.get(name, 0)
    answer = ask(shared.url, f"/oauth/odd/{name}?bytes=100", {})
    assert answer.status != 404 or name == "status-404"
    assert shared.authorization.counts().odd[name] == before + 1


@pytest.mark.parametrize(
    ("name", "field", "expected"),
    [
        ("plain", "expires_in", 3600),
        ("missing", "expires_in", None),
        ("text", "expires_in", "3600"),
        ("float", "expires_in", 3600.7),
        ("text-float", "expires_in", "3600.0"),
        ("bool", "expires_in", True),
        ("milliseconds", "expires_in", 3_600_000),
        ("no-type", "token_type", None),
        ("mac-type", "token_type", "mac"),
        ("null-token", "access_token", None),
        ("number-token", "access_token", 12345),
        ("bom", "expires_in", 3600),
        ("ok-false", "ok", False),
        ("error-object", "error", {"code": "invalid_grant", "message": "no"}),
    ],
)
def test_odd_fields_are_as_named(shared: Spar, name: str, field: str, expected: object) -> None:
    body = ask(shared.url, f"/oauth/odd/{name}", {}).body
    assert json.loads(body.decode("utf-8-sig")).get(field) == expected


@pytest.mark.parametrize(
    ("name", "field", "unit"),
    [("expires-at", "expires_at", 1), ("expires-at-ms", "expires_at", 1000)],
)
def test_a_lifetime_can_be_told_as_its_end(shared: Spar, name: str, field: str, unit: int) -> None:
    fields = ask(shared.url, f"/oauth/odd/{name}?lifetime=60", {}).fields
    assert abs(fields[field] / unit - time.time() - 60) < 10
    assert "expires_in" not in fields


def test_an_odd_answer_holds_a_live_token_and_has_rotated_the_old_one(spar: Spar) -> None:
    first = spar.authorization.seed_refresh()
    form = BODY_AUTH | {"grant_type": "refresh_token", "refresh_token": first}
    answer = ask(spar.url, "/oauth/odd/text?lifetime=60", form)
    assert answer.fields["expires_in"] == "60"
    assert api(spar, answer.fields["access_token"]).status == 200
    assert ask(spar.url, "/oauth/odd/text", form).verdict == (400, "invalid_grant")


def test_an_odd_error_leaves_the_refresh_token_alone(spar: Spar) -> None:
    first = spar.authorization.seed_refresh()
    assert refresh(spar, first, "?odd=temporarily_unavailable").status == 400
    assert refresh(spar, first).status == 200


def test_a_reset_after_the_grant_has_used_the_token_and_one_before_has_not(spar: Spar) -> None:
    for name, then in (("reset-before", 200), ("reset-after", 400), ("reset-body", 400)):
        first = spar.authorization.seed_refresh()
        with pytest.raises((ConnectionError, http.client.HTTPException)):
            refresh(spar, first, f"?odd={name}")
        assert refresh(spar, first).status == then


@pytest.mark.parametrize("name", ["slow-headers", "slow-body", "silent"])
def test_slow_answers_take_their_time(shared: Spar, name: str) -> None:
    started = time.monotonic()
    with contextlib.suppress(http.client.IncompleteRead):
        assert ask(shared.url, f"/oauth/odd/{name}?seconds=0.5", {}).status == 200
    assert time.monotonic() - started > 0.4


def test_odd_sizes_are_as_announced(spar: Spar) -> None:
    assert len(ask(spar.url, "/oauth/odd/large", {}).body) > 20_000_000
    assert len(ask(spar.url, "/oauth/odd/huge-token", {}).fields["access_token"]) == 70_000
    assert ask(spar.url, "/oauth/odd/deep", {}).body.count(b"{") == 100_000


def test_limits_and_redirects_have_their_headers(spar: Spar) -> None:
    def header(path: str, name: str) -> str:
        return ask(spar.url, f"/oauth/odd/{path}", {}).headers[name]

    assert header("rate-limited?after=7", "Retry-After") == "7"
    assert header("unavailable", "Retry-After") == "1"
    assert header("rate-limited-until", "Retry-After").endswith("GMT")
    assert header("redirect-elsewhere", "Location") == f"{spar.elsewhere}/oauth/token"
    assert header("redirect-same?status=302", "Location") == "/oauth/token"


def test_the_next_answers_can_be_chosen_one_by_one(spar: Spar) -> None:
    assert ask(spar.url, "/oauth/next?odd=unavailable,error-200").status == 200
    assert [token(spar).verdict for _ in range(3)] == [
        (503, None),
        (200, "bad_verification_code"),
        (200, None),
    ]
    assert ask(spar.url, "/oauth/next?odd=nonsense").status == 404
    assert ask(spar.url, "/oauth/odd/nonsense", {}).fields["names"] == names()
    assert ask(spar.url, "/oauth/odd").fields["names"] == names()


# ── the journal and steering ─────────────────────────────────────────────────────────────────


def test_the_journal_counts_by_grant_and_client(spar: Spar) -> None:
    token(spar)
    token(spar, client_id="who-is-this")
    token(spar, grant_type="made-up")
    ask(spar.url, "/oauth/token", {})
    found = ask(spar.url, "/oauth/journal").fields
    assert found["token_requests"] == 4
    assert found["by_grant"] == {"client_credentials": 2, "other": 1, "none": 1}
    assert found["by_client"] == {"spar-client": 2, "unknown": 2}
    assert found["live_access_tokens"] == found["issued"] == 1
    assert found["strays"] == []


def test_credentials_where_they_belong_are_no_strays(spar: Spar) -> None:
    first = refresh(spar, spar.authorization.seed_refresh()).fields
    api(spar, first["access_token"])
    header = basic(*BODY_AUTH.values())
    form = {"token": first["refresh_token"]}
    ask(spar.url, "/oauth/introspect", form, Authorization=header)
    ask(spar.url, "/oauth/revoke", form, Authorization=header)
    assert spar.authorization.counts().strays == []


@pytest.mark.parametrize(
    ("where", "path", "part"),
    [
        ("elsewhere", "/oauth/token", "body"),
        ("elsewhere", "/echo", "body"),
        ("main", "/echo", "body"),
        ("main", "/oauth/token?{}", "query"),
        ("main", "/nowhere/{}", "path"),
    ],
)
def test_credentials_elsewhere_are_counted_without_their_values(
    spar: Spar, where: str, path: str, part: str
) -> None:
    form = BODY_AUTH | {"refresh_token": spar.authorization.seed_refresh()}
    url = spar.url if where == "main" else spar.elsewhere
    ask(url, path.format(urlencode(form)), form if part == "body" else {})
    strays = spar.authorization.counts().strays
    assert [stray.what for stray in strays] == ["client_secret", "refresh_token"]
    assert {(stray.server, stray.part) for stray in strays} == {(where, part)}
    shown = ask(spar.url, "/oauth/journal").body
    assert form["refresh_token"].encode() not in shown
    assert b"spar-client-secret" not in shown


def test_encoded_secrets_and_access_tokens_are_noticed_elsewhere(spar: Spar) -> None:
    encoded = basic(quote(AWKWARD_CLIENT), quote(AWKWARD_SECRET, safe=""))
    ask(spar.elsewhere, "/echo", Authorization=encoded)
    ask(spar.elsewhere, "/echo", Authorization=f"Bearer {token(spar).fields['access_token']}")
    ask(spar.elsewhere, "/echo", Authorization="Basic ?", Referer="http://x/?a=spar-client-secret")
    strays = [(stray.what, stray.part) for stray in spar.authorization.counts().strays]
    assert sorted(strays) == [
        ("access_token", "authorization"),
        ("client_secret", "authorization"),
        ("client_secret", "headers"),
    ]


def test_the_journal_of_arrivals_holds_no_values(spar: Spar) -> None:
    first = spar.authorization.seed_refresh()
    answer = refresh(spar, first, f"?canary={secrets.token_hex(8)}")
    api(spar, answer.fields["access_token"])
    shown = ask(spar.url, "/journal").body
    for value in (first, answer.fields["access_token"], "spar-client-secret", "canary"):
        assert value.encode() not in shown
    assert b"/oauth/api" in shown


def test_another_process_can_steer_by_http(spar: Spar) -> None:
    seeded = ask(spar.url, "/oauth/seed?scope=a").fields["refresh_token"]
    tokens = refresh(spar, seeded).fields
    assert tokens["scope"] == "a"
    ask(spar.url, "/oauth/expire")
    assert api(spar, tokens["access_token"]).status == 401
    assert ask(spar.url, "/oauth/disown").fields["families"] == 1
    assert refresh(spar, tokens["refresh_token"]).verdict == (400, "invalid_grant")
    assert spar.authorization.revoke_family("unknown") == 0
