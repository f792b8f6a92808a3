"""The sparring provider's authorization server follows the RFCs, or its settings."""

import contextlib
import hashlib
import http.client
import json
import ssl
import time
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple
from urllib.parse import parse_qs, parse_qsl, quote, urlencode, urlsplit
from urllib.request import urlopen

import pytest

from outkey.spar import Spar
from outkey.spar.authority import CLIENT_SECRET, DEVICE_GRANT
from outkey.spar.malformed_responses import names
from spar.strays import strays

BODY_AUTH = {"client_id": "spar-client", "client_secret": CLIENT_SECRET}
VERIFIER = "v" * 43
CHALLENGE = (
    urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()
)
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


def ask(
    url: str, path: str, form: dict[str, str] | str | None = None, **headers: str
) -> Answer:
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=20)
    try:
        if form is None:
            connection.request("GET", path, headers=headers)
        else:
            usual = {"Content-Type": "application/x-www-form-urlencoded"}
            body = form if isinstance(form, str) else urlencode(form)
            connection.request("POST", path, body, usual | headers)
        response = connection.getresponse()
        return Answer(response.status, dict(response.getheaders()), response.read())
    finally:
        connection.close()


def token(spar: Spar, query: str = "", **form: str) -> Answer:
    form.setdefault("grant_type", "client_credentials")
    return ask(spar.url, f"/oauth/token{query}", BODY_AUTH | form)


def refresh(spar: Spar, refresh_token: str, query: str = "", **form: str) -> Answer:
    return token(
        spar, query, grant_type="refresh_token", refresh_token=refresh_token, **form
    )


def api(spar: Spar, access_token: str) -> Answer:
    return ask(spar.url, "/oauth/api", Authorization=f"Bearer {access_token}")


def basic(client: str, secret: str) -> str:
    return "Basic " + b64encode(f"{client}:{secret}".encode()).decode()


def approval(**more: str) -> str:
    query = {
        "response_type": "code",
        "client_id": "spar-client",
        "redirect_uri": CALLBACK,
        "code_challenge": CHALLENGE,
        "code_challenge_method": "S256",
        "state": "state&1",
    }
    return f"/oauth/authorize?{urlencode(query | more)}"


def code(spar: Spar, **more: str) -> dict[str, str]:
    location = ask(spar.url, approval(auto="1", **more)).headers["Location"]
    assert location.startswith(CALLBACK + "?")
    return {
        name: values[0] for name, values in parse_qs(urlsplit(location).query).items()
    }


def exchange(spar: Spar, code: str, **more: str) -> Answer:
    form = {"code": code, "redirect_uri": CALLBACK, "code_verifier": VERIFIER} | more
    return token(spar, grant_type="authorization_code", **form)


# ── client credentials ────────────────────────────────────────────────────────────────


def test_client_credentials_get_a_token_that_the_api_takes(spar: Spar) -> None:
    answer = token(spar, scope="orders:read orders:write")
    assert answer.status == 200
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.fields["token_type"] == "Bearer"
    assert answer.fields["expires_in"] == 3600
    assert "refresh_token" not in answer.fields
    assert (
        api(spar, answer.fields["access_token"]).fields["scope"]
        == "orders:read orders:write"
    )


@pytest.mark.parametrize("encoded", ["spar%20client%3A2", "spar+client%3A2"])
def test_basic_authentication_is_percent_encoded(spar: Spar, encoded: str) -> None:
    secret = "50% open+sesame:/ü"
    spar.authorization.add_client("spar client:2", secret)
    header = basic(encoded, quote(secret, safe=""))
    form = {"grant_type": "client_credentials"}
    assert ask(spar.url, "/oauth/token", form, Authorization=header).status == 200


@pytest.mark.parametrize(
    "header", ["Basic eDp5", "Basic !", "Basic /w==", "Bearer eDp5", "x"]
)
def test_a_wrong_client_is_refused_with_a_challenge(shared: Spar, header: str) -> None:
    form = {"grant_type": "client_credentials"}
    answer = ask(shared.url, "/oauth/token", form, Authorization=header)
    assert answer.verdict == (401, "invalid_client")
    assert answer.headers["WWW-Authenticate"].startswith("Basic")


@pytest.mark.parametrize(
    ("form", "error"),
    [
        ({"grant_type": ""}, "invalid_request"),
        ({"grant_type": "password"}, "unsupported_grant_type"),
        ({"grant_type": "refresh_token"}, "invalid_request"),
        ({"grant_type": "refresh_token", "refresh_token": "unknown"}, "invalid_grant"),
        ({"grant_type": "authorization_code", "code": "unknown"}, "invalid_grant"),
        ({"grant_type": DEVICE_GRANT, "device_code": "unknown"}, "invalid_grant"),
    ],
)
def test_errors_are_those_of_the_rfc(
    shared: Spar, form: dict[str, str], error: str
) -> None:
    assert token(shared, **form).verdict == (400, error)


def test_a_request_must_be_a_proper_form(spar: Spar) -> None:
    form = BODY_AUTH | {"grant_type": "client_credentials"}
    as_json = {"Content-Type": "application/json"}
    assert ask(spar.url, "/oauth/token", form, **as_json).verdict == (
        400,
        "invalid_request",
    )
    twice = ask(spar.url, "/oauth/token", "grant_type=a&grant_type=a")
    assert twice.verdict == (400, "invalid_request")
    assert ask(spar.url, "/oauth/token").status == 405
    both = ask(spar.url, "/oauth/token", form, Authorization=basic(*BODY_AUTH.values()))
    assert both.verdict == (400, "invalid_request")


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
    kind = {"Content-Type": "application/json; charset=utf-8"}
    assert ask(shared.url, "/oauth/token?format=json", body, **kind).verdict == verdict


def test_a_public_client_gets_no_client_credentials(spar: Spar) -> None:
    form = {"grant_type": "client_credentials", "client_id": "spar-public"}
    assert ask(spar.url, "/oauth/token", form).verdict == (400, "unauthorized_client")


# ── what the query changes ────────────────────────────────────────────────────────────


def test_a_short_lifetime_ends(spar: Spar) -> None:
    access_token = token(spar, "?lifetime=0.2").fields["access_token"]
    assert api(spar, access_token).status == 200
    time.sleep(0.25)
    assert api(spar, access_token).status == 401


def test_an_answer_can_be_bent_and_holds_a_live_token_nevertheless(spar: Spar) -> None:
    bend = quote('{"expires_in": "soon", "scope": null}')
    answer = token(spar, f"?bend={bend}&omit=token_type&status=201")
    assert (answer.status, set(answer.fields)) == (
        201,
        {"access_token", "expires_in", "scope"},
    )
    assert (answer.fields["expires_in"], answer.fields["scope"]) == ("soon", None)
    assert api(spar, answer.fields["access_token"]).status == 200


@pytest.mark.parametrize("bend", ["{", "7", '["x"]'])
def test_what_cannot_bend_an_answer_is_refused(shared: Spar, bend: str) -> None:
    assert token(shared, f"?bend={quote(bend)}").verdict == (400, "invalid_request")


def test_a_wait_comes_before_the_grant(spar: Spar) -> None:
    refresh_token = spar.authorization.seed_refresh()
    with ThreadPoolExecutor() as pool:
        late = pool.submit(refresh, spar, refresh_token, "?before=0.6")
        time.sleep(0.3)
        assert refresh(spar, refresh_token).status == 200
        assert late.result().verdict == (400, "invalid_grant")


@pytest.mark.parametrize("path", ["/oauth/token", "/oauth/odd/invalid_grant"])
def test_the_date_of_an_answer_can_be_skewed(shared: Spar, path: str) -> None:
    answer = ask(
        shared.url,
        f"{path}?skew=-7200",
        BODY_AUTH | {"grant_type": "client_credentials"},
    )
    skew = parsedate_to_datetime(answer.headers["Date"]).timestamp() - time.time()
    assert -7210 < skew < -7190


@pytest.mark.parametrize("number", ["nan", "inf", "1e99", "x", "-1e99"])
def test_nonsense_in_the_query_is_survived(shared: Spar, number: str) -> None:
    query = "&".join(f"{name}={number}" for name in ("skew", "lifetime", "grace"))
    assert token(shared, f"?{query}").status == 200


# ── refresh tokens ────────────────────────────────────────────────────────────────────


def test_a_refresh_token_used_twice_kills_the_whole_family(spar: Spar) -> None:
    first = spar.authorization.seed_refresh()
    bystander = refresh(spar, spar.authorization.seed_refresh())
    answer = refresh(spar, first)
    assert answer.fields["refresh_token"] != first
    assert refresh(spar, first).verdict == (400, "invalid_grant")
    assert refresh(spar, answer.fields["refresh_token"]).verdict == (
        400,
        "invalid_grant",
    )
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
    assert (counts.live_families, counts.reuses, counts.by_grant) == (
        0,
        1,
        {"refresh_token": 51},
    )


# ── codes ─────────────────────────────────────────────────────────────────────────────


def test_a_code_is_exchanged_once_and_its_reuse_kills_what_came_of_it(
    spar: Spar,
) -> None:
    answer = code(spar)
    assert (answer["state"], answer["iss"]) == ("state&1", spar.issuer)
    tokens = exchange(spar, answer["code"])
    assert api(spar, tokens.fields["access_token"]).status == 200
    assert exchange(spar, answer["code"]).verdict == (400, "invalid_grant")
    assert refresh(spar, tokens.fields["refresh_token"]).verdict == (
        400,
        "invalid_grant",
    )
    assert api(spar, tokens.fields["access_token"]).status == 401


@pytest.mark.parametrize(
    "wrong",
    [
        {"code_verifier": "w" * 43},
        {"code_verifier": "short"},
        {"redirect_uri": f"{CALLBACK}/x"},
    ],
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


@pytest.mark.parametrize(
    ("more", "error"),
    [
        ({"decision": "deny"}, "access_denied"),
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"code_challenge": ""}, "invalid_request"),
        ({"code_challenge_method": "plain"}, "invalid_request"),
    ],
)
def test_the_redirect_carries_errors_with_the_state(
    shared: Spar, more: dict[str, str], error: str
) -> None:
    answer = code(shared, **more)
    assert (answer["error"], answer["state"], answer["iss"]) == (
        error,
        "state&1",
        shared.issuer,
    )


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
    answer = ask(shared.url, approval(auto="1", **more))
    assert answer.status == 400
    assert "Location" not in answer.headers


def test_the_page_has_buttons_to_approve_and_deny_and_escapes_what_it_repeats(
    spar: Spar,
) -> None:
    page = ask(spar.url, approval(state='"><script>'))
    assert page.status == 200
    assert b'value="approve">Approve' in page.body
    assert b'value="deny">Deny' in page.body
    assert b"<script>" not in page.body
    pressed = ask(spar.url, approval(decision="approve"))
    assert pressed.status == 302
    assert "code=spar-code-" in pressed.headers["Location"]


def test_a_provider_that_refuses_pkce_issues_a_code_without_it(shared: Spar) -> None:
    assert code(shared, pkce="refused")["error"] == "invalid_request"
    issued = code(shared, pkce="refused", code_challenge="")["code"]
    assert exchange(shared, issued).status == 200


def push(spar: Spar, at: str = "/oauth/par", **more: str) -> Answer:
    query = dict(parse_qsl(urlsplit(approval()).query))
    form = {"client_secret": "spar-client-secret"} | query | more
    return ask(spar.url, at, form)


def pushed(spar: Spar, name: str, **more: str) -> Answer:
    query = {"client_id": "spar-client", "request_uri": name, "auto": "1"} | more
    return ask(spar.url, f"/oauth/authorize?{urlencode(query)}")


def test_a_pushed_request_leads_to_a_code_once(shared: Spar) -> None:
    answer = push(shared)
    assert answer.status == 201
    assert answer.fields["expires_in"] == 60
    name = str(answer.fields["request_uri"])
    other = pushed(shared, name, client_id="spar-public")
    assert other.status == 400
    back = parse_qs(urlsplit(pushed(shared, name).headers["Location"]).query)
    assert back["state"] == ["state&1"]
    assert exchange(shared, back["code"][0]).status == 200
    assert pushed(shared, name).status == 400


def test_a_pushed_request_expires_and_is_refused_without_its_client(
    shared: Spar,
) -> None:
    name = str(push(shared, "/oauth/par?lifetime=0").fields["request_uri"])
    assert b"expired" in pushed(shared, name).body
    assert push(shared, client_secret="wrong").verdict == (401, "invalid_client")
    assert push(shared, request_uri="urn:x").verdict == (400, "invalid_request")
    elsewhere = push(shared, redirect_uri="https://example.com/")
    assert elsewhere.verdict == (400, "invalid_request")


def test_a_provider_may_require_a_pushed_request(shared: Spar) -> None:
    answer = ask(shared.url, approval(auto="1", par="required"))
    assert (answer.status, b"pushed request" in answer.body) == (400, True)


@pytest.mark.parametrize("name", ["state", "iss"])
def test_the_redirect_can_be_twisted(shared: Spar, name: str) -> None:
    assert code(shared, twist=name)[name] == f"{shared.elsewhere}/oauth"
    assert name not in code(shared, twist=f"no-{name}")


# ── devices ───────────────────────────────────────────────────────────────────────────


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


def test_codes_expire(spar: Spar) -> None:
    started, issued = start(spar), code(spar)["code"]
    spar.authorization._devices[started["device_code"]].expires = 0
    spar.authorization._codes[issued].expires = 0
    assert poll(spar, started).verdict == (400, "expired_token")
    assert exchange(spar, issued).verdict == (400, "invalid_grant")


def test_a_device_needs_a_known_client(spar: Spar) -> None:
    assert ask(spar.url, "/oauth/device", {"client_id": "x"}).verdict == (
        401,
        "invalid_client",
    )


# ── revocation, introspection, metadata, the API ──────────────────────────────────────


def test_revoking_an_access_token_leaves_the_family_and_a_refresh_token_does_not(
    spar: Spar,
) -> None:
    answer = refresh(spar, spar.authorization.seed_refresh()).fields
    assert ask(
        spar.url, "/oauth/revoke", BODY_AUTH | {"token": answer["access_token"]}
    )[::2] == (
        200,
        b"",
    )
    assert api(spar, answer["access_token"]).status == 401
    answer = refresh(spar, answer["refresh_token"]).fields
    assert (
        ask(spar.url, "/oauth/revoke", BODY_AUTH | {"token": answer["refresh_token"]})[
            0
        ]
        == 200
    )
    assert api(spar, answer["access_token"]).status == 401
    assert refresh(spar, answer["refresh_token"]).verdict == (400, "invalid_grant")


def test_revoking_wants_a_client_and_a_token_of_its_own(spar: Spar) -> None:
    assert (
        ask(spar.url, "/oauth/revoke", BODY_AUTH | {"token": "unknown"}).status == 200
    )
    assert ask(spar.url, "/oauth/revoke", {"token": "x"}).verdict == (
        401,
        "invalid_client",
    )
    assert ask(spar.url, "/oauth/revoke", BODY_AUTH).verdict == (400, "invalid_request")
    form = BODY_AUTH | {"token": spar.authorization.seed_refresh("spar-public")}
    assert ask(spar.url, "/oauth/revoke", form).verdict == (400, "unauthorized_client")


def test_introspection_tells_of_live_tokens_only(spar: Spar) -> None:
    first = spar.authorization.seed_refresh()
    tokens = refresh(spar, first).fields

    def look(value: str) -> dict[str, Any]:
        return ask(spar.url, "/oauth/introspect", BODY_AUTH | {"token": value}).fields

    found = look(tokens["access_token"])
    assert (found["active"], found["client_id"], found["scope"]) == (
        True,
        "spar-client",
        "orders:read",
    )
    assert look(tokens["refresh_token"])["active"] is True
    spar.authorization.revoke_family()
    for value in (first, *tokens.values(), "unknown"):
        assert look(str(value)) == {"active": False}
    assert ask(spar.url, "/oauth/introspect", {"token": "x"}).verdict == (
        401,
        "invalid_client",
    )


def test_metadata_are_where_an_issuer_with_a_path_has_them(spar: Spar) -> None:
    found = ask(spar.url, METADATA).fields
    assert found["issuer"] == spar.issuer == f"{spar.url}/oauth"
    for name in (
        "authorization",
        "token",
        "revocation",
        "introspection",
        "device_authorization",
    ):
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
    assert (nothing.status, nothing.headers["WWW-Authenticate"]) == (
        401,
        'Bearer realm="spar"',
    )
    known = token(spar).fields["access_token"]
    spar.authorization.expire_all()
    for dead in (known, "unknown"):
        assert api(spar, dead).status == 401
        assert 'error="invalid_token"' in api(spar, dead).headers["WWW-Authenticate"]


# ── odd answers ───────────────────────────────────────────────────────────────────────

WIRE = {
    "silent",
    "slow-headers",
    "slow-body",
    "reset-before",
    "reset-after",
    "reset-body",
}


def odd(spar: Spar, name: str, **form: str) -> Answer:
    return ask(
        spar.url,
        f"/oauth/odd/{name}",
        BODY_AUTH | {"grant_type": "client_credentials"} | form,
    )


@pytest.mark.parametrize("name", [name for name in names() if name not in WIRE])
def test_each_odd_answer_is_given_whole_and_counted(spar: Spar, name: str) -> None:
    assert odd(spar, name).status != 404
    assert spar.authorization.counts().by_grant == {"client_credentials": 1}


@pytest.mark.parametrize(
    ("name", "encoding"), [("bom", "utf-8-sig"), ("utf-16", "utf-16")]
)
def test_an_odd_answer_holds_a_live_token(spar: Spar, name: str, encoding: str) -> None:
    fields = json.loads(odd(spar, name).body.decode(encoding))
    assert api(spar, fields["access_token"]).status == 200
    form = parse_qs(odd(spar, "form").body.decode())
    assert api(spar, form["access_token"][0]).status == 200


def test_an_answer_can_be_given_literally(spar: Spar) -> None:
    said = urlencode(
        {"status": 418, "type": "text/plain\r\nX-Evil: 1", "body": "short\nstout"}
    )
    answer = odd(spar, f"literal?{said}")
    assert (answer.status, answer.body) == (418, b"short\nstout")
    assert answer.headers["Content-Type"] == "text/plain X-Evil: 1"


def test_an_odd_error_leaves_the_refresh_token_alone(spar: Spar) -> None:
    first = spar.authorization.seed_refresh()
    spar.authorization.next_responses("temporarily_unavailable")
    assert refresh(spar, first).status == 400
    assert refresh(spar, first).status == 200


def test_a_reset_after_the_grant_has_used_the_token_and_one_before_has_not(
    spar: Spar,
) -> None:
    for name, then in (
        ("reset-before", 200),
        ("reset-after", 400),
        ("reset-body", 400),
    ):
        first = spar.authorization.seed_refresh()
        spar.authorization.next_responses(name)
        with pytest.raises((ConnectionError, http.client.HTTPException)):
            refresh(spar, first)
        assert refresh(spar, first).status == then


@pytest.mark.parametrize("name", ["slow-headers", "slow-body", "silent"])
def test_slow_answers_take_their_time(shared: Spar, name: str) -> None:
    started = time.monotonic()
    with contextlib.suppress(http.client.IncompleteRead):
        assert ask(shared.url, f"/oauth/odd/{name}?seconds=0.5", {}).status == 200
    assert time.monotonic() - started > 0.4


def test_odd_sizes_are_as_announced(spar: Spar) -> None:
    assert len(odd(spar, "large").body) > 20_000_000
    assert len(odd(spar, "long-token").fields["access_token"]) == 70_000
    assert len(odd(spar, "long-token?length=9").fields["access_token"]) == 9
    assert odd(spar, "deep").body.count(b"{") == 100_000


def test_limits_and_redirects_have_their_headers(spar: Spar) -> None:
    for name in ("rate-limited", "unavailable"):
        assert odd(spar, name).headers["Retry-After"] == "1"
    away = odd(spar, "redirect-elsewhere")
    assert (away.status, away.headers["Location"]) == (
        307,
        f"{spar.elsewhere}/oauth/token",
    )
    near = odd(spar, "redirect-same?status=302")
    assert (near.status, near.headers["Location"]) == (302, "/oauth/token")


def test_the_next_responses_can_be_chosen_one_by_one(spar: Spar) -> None:
    spar.authorization.next_responses("unavailable", "error-200")
    assert [token(spar).verdict for _ in range(3)] == [
        (503, None),
        (200, "bad_verification_code"),
        (200, None),
    ]
    assert odd(spar, "nonsense").fields["names"] == names()
    assert ask(spar.url, "/oauth/odd").fields["names"] == names()


# ── the journal and steering ──────────────────────────────────────────────────────────


def test_the_journal_counts_by_grant_and_shows_no_values(spar: Spar) -> None:
    token(spar)
    token(spar, grant_type=CLIENT_SECRET)
    first = spar.authorization.seed_refresh()
    answer = refresh(spar, first, "?canary=canary")
    api(spar, answer.fields["access_token"])
    found = ask(spar.url, "/oauth/journal").fields
    assert found == {
        "token_requests": 3,
        "by_grant": {"client_credentials": 1, "other": 1, "refresh_token": 1},
        "reuses": 0,
        "live_families": 1,
        "dead_families": 0,
        "live_access_tokens": 2,
    }
    shown = ask(spar.url, "/journal").body
    secrets = {
        "refresh token": first,
        "access token": answer.fields["access_token"],
        "client secret": CLIENT_SECRET,
        "query": "canary",
    }
    assert [name for name, value in secrets.items() if value.encode() in shown] == []
    assert b"/oauth/api" in shown


def test_a_person_can_steer_by_http(spar: Spar) -> None:
    tokens = refresh(
        spar, ask(spar.url, "/oauth/seed?scope=a").fields["refresh_token"]
    ).fields
    assert tokens["scope"] == "a"
    ask(spar.url, "/oauth/expire")
    assert api(spar, tokens["access_token"]).status == 401


def test_credentials_where_they_belong_are_no_strays(spar: Spar) -> None:
    first = refresh(spar, spar.authorization.seed_refresh()).fields
    api(spar, first["access_token"])
    header = basic(*BODY_AUTH.values())
    for path in ("/oauth/introspect", "/oauth/revoke"):
        ask(spar.url, path, {"token": first["refresh_token"]}, Authorization=header)
    start(spar)
    odd(spar, "echo")
    assert strays(spar) == []


@pytest.mark.parametrize(
    ("where", "path", "header"),
    [
        ("elsewhere", "/oauth/token", "basic"),
        ("main", "/echo", "basic"),
        ("main", "/echo", "refresh_token"),
        ("main", "/oauth/token?{}", ""),
        ("main", "/nowhere/{}", ""),
    ],
)
def test_credentials_elsewhere_are_strays(
    spar: Spar, where: str, path: str, header: str
) -> None:
    refresh_token = spar.authorization.seed_refresh()
    values = {"basic": basic("x", quote(CLIENT_SECRET)), "refresh_token": refresh_token}
    url = spar.url if where == "main" else spar.elsewhere
    ask(
        url,
        path.format(urlencode({"a": refresh_token})),
        Authorization=values.get(header, ""),
    )
    assert len(strays(spar)) == 1
