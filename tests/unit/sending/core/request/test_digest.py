"""Digest: the computing by the examples of the RFCs, and the flow by fakes."""

import asyncio
import re
import threading
from collections import Counter
from dataclasses import replace

import pytest
from requests.auth import HTTPDigestAuth

from outkey.administration.core.findings.monitoring import EndedAttempt
from outkey.administration.engine.watching.charts import kind_of_outcome
from outkey.administration.engine.watching.doctor import History
from outkey.foundation.core.errors import (
    Cause,
    HeaderConflict,
    HeaderFormatError,
    OutkeyError,
    Paused,
)
from outkey.foundation.core.origin import Origin
from outkey.foundation.core.secret import Secret
from outkey.sending.core.audit.chain import ChainRow, Label
from outkey.sending.core.audit.events import CHALLENGED, Intent, Outcome
from outkey.sending.core.diagnosis.diagnose import diagnose
from outkey.sending.core.request.challenge import parse_challenges
from outkey.sending.core.request.digest import (
    DigestChallenge,
    DigestProof,
    NonceUse,
    is_stale,
    strongest_challenge,
)
from outkey.sending.core.request.message import Response, ResponseHeaders
from outkey.sending.engine.wire.nonces import Nonces
from outkey.testing import configuration, fake_gateway
from outkey.testing.fakes.basic import FakeResponse, FakeWorld

ORIGIN = Origin("https", "a.example", 443)
SECRETS = {"password": "Circle of Life"}
CHALLENGE = 'Digest realm="r", nonce="n1", qop="auth", algorithm=SHA-256'


def parameters(header: str) -> dict[str, str]:
    assert header.startswith("Digest ")
    found = re.findall(r'([\w*]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s,]+))', header[7:])
    return {name: quoted or bare for name, quoted, bare in found}


def proof_of(
    challenge: DigestChallenge,
    *,
    user: str = "Mufasa",
    password: str = "Circle of Life",
    client_nonce: str = "c",
    number: int = 1,
    target: str = "/dir/index.html",
    method: str = "GET",
) -> dict[str, str]:
    use = NonceUse(challenge, number, client_nonce)
    return parameters(DigestProof(user, method, use).header(password, target))


# ── computing ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("algorithm", "response"),
    [
        ("MD5", "8ca523f5e9506fed4657c9700eebdbec"),
        (
            "SHA-256",
            "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1",
        ),
    ],
)
def test_the_examples_of_rfc_7616(algorithm: str, response: str) -> None:
    challenge = DigestChallenge(
        realm="http-auth@example.org",
        nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v",
        algorithm=algorithm,
        opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS",
    )
    client_nonce = "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ"
    assert proof_of(challenge, client_nonce=client_nonce) == {
        "username": "Mufasa",
        "realm": challenge.realm,
        "uri": "/dir/index.html",
        "algorithm": algorithm,
        "nonce": challenge.nonce,
        "nc": "00000001",
        "cnonce": client_nonce,
        "qop": "auth",
        "response": response,
        "opaque": challenge.opaque,
    }


def test_the_example_of_rfc_2617() -> None:
    challenge = DigestChallenge(
        realm="testrealm@host.com", nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093"
    )
    sent = proof_of(challenge, password="Circle Of Life", client_nonce="0a4f113b")
    assert sent["response"] == "6629fae49393a05397450978507c4ef1"
    assert "algorithm" not in sent  # the server named none
    assert "opaque" not in sent


def test_the_example_of_rfc_2069_as_its_erratum_corrects_it() -> None:
    challenge = DigestChallenge(
        realm="testrealm@host.com",
        nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093",
        opaque="5ccc069c403ebaf9f0171e9517f40e41",
        has_qop=False,
    )
    sent = proof_of(challenge, password="CircleOfLife")
    assert sent["response"] == "1949323746fe6a43ef61f9606e7febea"
    assert sent.keys().isdisjoint({"qop", "nc", "cnonce"})


@pytest.mark.parametrize(
    ("algorithm", "qop"),
    [("MD5", "auth"), ("MD5-SESS", "auth"), ("SHA-256", "auth"), ("MD5", None)],
)
def test_requests_computes_the_same(algorithm: str, qop: str | None) -> None:
    reference = HTTPDigestAuth("Mufasa", "Circle of Life")
    reference.init_per_thread_state()
    parts = {"realm": "r", "nonce": "n", "algorithm": algorithm, "opaque": "o"}
    reference._thread_local.chal = parts | ({"qop": qop} if qop else {})
    url = "https://a.example/dir/index.html?q=1"
    theirs = parameters(str(reference.build_digest_header("GET", url)))
    ours = proof_of(
        DigestChallenge("r", "n", algorithm, "o", has_qop=qop is not None),
        client_nonce=theirs.get("cnonce", ""),
        target="/dir/index.html?q=1",
    )
    assert ours == theirs


def test_a_hashed_user_name_does_not_travel() -> None:
    challenge = DigestChallenge("r", "n", "SHA-256", hashes_user=True)
    sent = proof_of(challenge, user="Jäsøn Doe")
    assert sent["userhash"] == "true"
    assert re.fullmatch("[0-9a-f]{64}", sent["username"])
    plain = proof_of(challenge._replace(hashes_user=False), user="Jäsøn Doe")
    assert sent["response"] == plain["response"]


def test_a_user_name_outside_ascii_is_sent_as_the_server_reads_it() -> None:
    challenge = DigestChallenge("r", "n", "SHA-256", is_utf8=True)
    sent = proof_of(challenge, user="Ju\u0308rgen")  # decomposed
    assert sent["username*"] == "UTF-8''J%C3%BCrgen"
    assert "username" not in sent
    sent = proof_of(challenge._replace(is_utf8=False), user="Jürgen")
    assert sent["username"].encode("latin-1") == "Jürgen".encode()


def test_quotes_and_backslashes_are_escaped() -> None:
    header = DigestProof('a"\\b', "GET", NonceUse(DigestChallenge('r"x', "n"), 1, "c"))
    text = header.header("p", "/")
    assert 'username="a\\"\\\\b"' in text
    assert 'realm="r\\"x"' in text


@pytest.mark.parametrize(
    ("user", "password", "field"),
    [("a\nb", "p", "username"), ("a", "p\0q", "password")],
)
def test_control_characters_are_refused(user: str, password: str, field: str) -> None:
    with pytest.raises(HeaderFormatError) as refused:
        proof_of(DigestChallenge("r", "n"), user=user, password=password)
    assert refused.value.field == field


# ── the choice between challenges ─────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "headers",
    [
        [
            'Digest realm="r", nonce="weak", algorithm=MD5, qop="auth"',
            'Digest realm="r", nonce="strong", algorithm=SHA-256, qop="auth"',
        ],
        [
            (
                'Basic realm="r", Digest realm="r", nonce="weak", qop="auth",'
                ' Digest realm="r", nonce="strong", algorithm=SHA-256-sess, qop="auth"'
            )
        ],
        [
            'Digest realm="r", nonce="x", algorithm=SHA-512-256, qop="auth"',
            (
                'Digest realm="r", nonce="strong", algorithm="sha-256",'
                ' qop="auth-int,auth"'
            ),
            'Digest realm="r", nonce="later", algorithm=SHA-256, qop="auth"',
        ],
        ['Digest nonce="strong"'],
    ],
)
def test_the_strongest_usable_challenge_is_chosen(headers: list[str]) -> None:
    chosen = strongest_challenge(parse_challenges(headers))
    assert chosen is not None
    assert chosen.nonce == "strong"


@pytest.mark.parametrize(
    "header",
    [
        'Basic realm="r"',
        'Digest realm="r"',
        'Digest realm="r", nonce="n", qop="auth-int"',
        'Digest realm="r", nonce="n", qop="auth", algorithm=SHA-512-256',
        'Digest realm="r", nonce="n", algorithm=SHA-256',
        'Digest realm="r", nonce="n", algorithm=MD5-sess',
        'Digest realm="a\x01", nonce="n", qop="auth"',
        'Digest realm="r", nonce="n\x7f", qop="auth"',
    ],
)
def test_other_challenges_are_not_responded_to(header: str) -> None:
    assert strongest_challenge(parse_challenges([header])) is None


def test_stale_is_a_word_of_digest_alone() -> None:
    assert is_stale(parse_challenges(['Digest nonce="n", stale=TRUE']))
    assert not is_stale(parse_challenges(['Digest nonce="n", stale=false']))
    assert not is_stale(parse_challenges(["Basic stale=true"]))


# ── the memory of nonces ──────────────────────────────────────────────────────────────


def test_the_uses_of_a_nonce_are_counted_once_for_all_threads() -> None:
    nonces = Nonces()
    nonces.store("acme", ORIGIN, DigestChallenge("r", "n"), lambda: "first")
    numbers: list[int] = []

    def use_often() -> None:
        for _ in range(500):
            use = nonces.next_use("acme", ORIGIN, lambda: "c")
            assert use is not None
            numbers.append(use.number)

    threads = [threading.Thread(target=use_often) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(numbers) == list(range(1, 2001))


def test_a_nonce_belongs_to_a_configuration_an_origin_and_a_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    nonces = Nonces()
    nonces.store("acme", ORIGIN, DigestChallenge("r", "n"), lambda: "c")
    other = replace(ORIGIN, port=8443)
    assert nonces.next_use("acme", other, lambda: "c") is None
    assert nonces.next_use("other", ORIGIN, lambda: "c") is None
    monkeypatch.setattr("outkey.sending.engine.wire.nonces.os.getpid", lambda: -1)
    assert nonces.next_use("acme", ORIGIN, lambda: "c") is None


def test_a_nonce_that_is_sent_again_is_counted_on() -> None:
    nonces = Nonces()
    challenge = DigestChallenge("r", "n")
    numbers = []
    for _ in range(3):
        nonces.store("a", ORIGIN, challenge, lambda: "x")
        use = nonces.next_use("a", ORIGIN, lambda: "x")
        assert use is not None
        numbers.append(use.number)
    assert numbers == [1, 2, 3]


def test_threads_that_are_challenged_at_once_share_the_count() -> None:
    nonces = Nonces()
    numbers: list[int] = []

    def use_nonce() -> None:
        for _ in range(200):
            nonces.store("a", ORIGIN, DigestChallenge("r", "n"), lambda: "x")
            use = nonces.next_use("a", ORIGIN, lambda: "x")
            numbers.append(use.number if use else 0)

    threads = [threading.Thread(target=use_nonce) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(numbers) == list(range(1, 1601))


def test_a_session_keeps_its_client_nonce_and_others_get_new_ones() -> None:
    nonces = Nonces()
    fresh = iter("abcdef").__next__
    nonces.store("acme", ORIGIN, DigestChallenge("r", "n", "MD5-sess"), fresh)
    uses = [nonces.next_use("acme", ORIGIN, fresh) for _ in range(2)]
    assert [(use.number, use.client_nonce) for use in uses if use] == [
        (1, "a"),
        (2, "a"),
    ]
    nonces.store("acme", ORIGIN, DigestChallenge("r", "n", "MD5"), fresh)
    uses = [nonces.next_use("acme", ORIGIN, fresh) for _ in range(2)]
    assert [use.client_nonce for use in uses if use] == ["c", "d"]


def test_the_memory_is_bounded_and_so_is_the_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("outkey.sending.engine.wire.nonces._MOST", 2)
    monkeypatch.setattr("outkey.sending.engine.wire.nonces._LARGEST_COUNT", 1)
    nonces = Nonces()
    for name in ("a", "b", "c"):
        nonces.store(name, ORIGIN, DigestChallenge("r", "n"), lambda: "x")
    assert nonces.next_use("a", ORIGIN, lambda: "x") is None
    assert nonces.next_use("c", ORIGIN, lambda: "x") is not None
    assert nonces.next_use("c", ORIGIN, lambda: "x") is None  # nine digits


# ── the flow ──────────────────────────────────────────────────────────────────────────


def refused(*headers: str) -> Response:
    pairs = tuple(("WWW-Authenticate", text) for text in headers or (CHALLENGE,))
    return Response(401, ResponseHeaders(pairs))


def world(*responses: FakeResponse, **values: object) -> FakeWorld:
    made = configuration(
        **({"authentication_type": "digest", "username": "Mufasa"} | values)
    )
    return fake_gateway(made, responses=list(responses), secrets=SECRETS)


def authorizations(fake: FakeWorld) -> list[dict[str, str] | None]:
    """Return what each request proved, None for one without credentials."""
    found: list[dict[str, str] | None] = []
    for request, _ in fake.transport.sent:
        values = [
            value for name, value, _ in request.headers if name == "Authorization"
        ]
        assert all(isinstance(value, Secret) for value in values)
        texts = [parameters(value.reveal()) for value in values]  # type: ignore[union-attr]
        found.append(texts[0] if texts else None)
    return found


def test_the_first_request_asks_and_later_ones_reuse_the_nonce() -> None:
    fake = world(refused(), Response(200), Response(200))
    assert fake.gateway.send("acme", "GET", "/a").status == 200
    assert fake.gateway.send("acme", "GET", "/b").status == 200
    first, second, third = authorizations(fake)
    assert first is None
    assert second is not None
    assert third is not None
    assert (second["nonce"], second["nc"], third["nc"]) == (
        "n1",
        "00000001",
        "00000002",
    )
    assert second["cnonce"] != third["cnonce"]
    outcomes = [event for event in fake.audit.events if isinstance(event, Outcome)]
    assert [(event.status, event.outcome) for event in outcomes] == [
        (401, CHALLENGED),
        (200, "ok"),
        (200, "ok"),
    ]
    intents = [event for event in fake.audit.events if isinstance(event, Intent)]
    assert [intent.retry for intent in intents] == [0, 0, 0]


def test_asynchronous_requests_share_the_nonces() -> None:
    fake = world(refused())
    fake.transport.responses = lambda request: (
        Response(200)
        if any(header.name == "Authorization" for header in request.headers)
        else refused()
    )

    async def send_many() -> None:
        await fake.gateway.asend("acme", "GET", "/")
        await asyncio.gather(
            *(fake.gateway.asend("acme", "GET", "/") for _ in range(20))
        )

    asyncio.run(send_many())
    fake.gateway.send("acme", "GET", "/")
    counts = Counter(sent["nc"] for sent in authorizations(fake) if sent)
    assert counts == {f"{number:08x}": 1 for number in range(1, 23)}


def test_a_body_is_sent_again_with_the_credentials() -> None:
    fake = world(refused(), Response(201))
    fake.gateway.send("acme", "POST", "/orders", json={"a": 1})
    assert [request.body for request, _ in fake.transport.sent] == [b'{"a": 1}'] * 2


@pytest.mark.parametrize("is_known", [True, False])
def test_a_stale_nonce_is_replaced_once(is_known: bool) -> None:  # noqa: FBT001
    stale = refused('Digest realm="r", nonce="n2", qop="auth", stale=true')
    fake = world(refused(), *([Response(200)] if is_known else []), stale, stale)
    if is_known:
        fake.gateway.send("acme", "GET", "/")
    assert fake.gateway.send("acme", "GET", "/").status == 401
    nonces = [sent and sent["nonce"] for sent in authorizations(fake)]
    assert nonces[-2:] == ["n1", "n2"]


def test_a_forgotten_nonce_is_replaced_although_the_server_does_not_say_stale() -> None:
    again = refused('Digest realm="r", nonce="n2", qop="auth"')
    fake = world(refused(), Response(200), again, Response(200))
    fake.gateway.send("acme", "GET", "/")
    assert fake.gateway.send("acme", "GET", "/").status == 200
    last = authorizations(fake)[-1]
    assert last is not None
    assert (last["nonce"], last["nc"]) == ("n2", "00000001")


def test_a_wrong_password_is_sent_once() -> None:
    fake = world(refused(), refused(), Response(200))
    response = fake.gateway.send("acme", "GET", "/")
    assert (response.status, response.cause) == (401, Cause.INVALID_CREDENTIALS)
    assert len(fake.transport.sent) == 2


def test_refusals_of_the_password_pause_the_configuration() -> None:
    fake = world()
    fake.transport.responses = lambda _request: refused()
    for _ in range(5):
        assert fake.gateway.send("acme", "GET", "/").status == 401
    with pytest.raises(Paused):
        fake.gateway.send("acme", "GET", "/")


def test_a_nonce_that_ends_without_another_challenge_ends_the_request() -> None:
    fake = world(refused(), Response(200), Response(401))
    fake.gateway.send("acme", "GET", "/")
    assert fake.gateway.send("acme", "GET", "/").status == 401
    assert len(fake.transport.sent) == 3


@pytest.mark.parametrize(
    "headers", [['Basic realm="r"'], ['Digest realm="r", nonce="n", qop="auth-int"']]
)
def test_no_challenge_makes_the_password_travel(headers: list[str]) -> None:
    fake = world(*[refused(*headers)] * 6)
    for _ in range(6):  # more often than a refusal of credentials may come
        response = fake.gateway.send("acme", "GET", "/")
        assert response.cause is Cause.HEADER_FORMAT
    assert authorizations(fake) == [None] * 6
    made = fake.ports.configurations.get("acme")
    diagnosis = diagnose(response, made, now=0.0)
    assert diagnosis is not None
    assert diagnosis.suspicions[0].reason.id == "wrong-scheme"


@pytest.mark.parametrize("part", ["nonce", "realm", "opaque"])
def test_a_challenge_too_long_to_respond_to_is_not_remembered(part: str) -> None:
    parts = {"realm": "r", "nonce": "n", "opaque": "o"} | {part: "x" * 9000}
    named = ", ".join(f'{name}="{text}"' for name, text in parts.items())
    too_long = refused(f'Digest {named}, qop="auth", algorithm=SHA-256')
    fake = world(too_long, refused(), Response(200))
    assert fake.gateway.send("acme", "GET", "/").status == 401
    assert fake.gateway.send("acme", "GET", "/").status == 200


def test_a_next_nonce_too_long_to_send_is_not_remembered() -> None:
    long = ResponseHeaders((("Authentication-Info", f'nextnonce="{"x" * 9000}"'),))
    fake = world(refused(), Response(200, long), Response(200))
    assert fake.gateway.send("acme", "GET", "/").status == 200
    assert fake.gateway.send("acme", "GET", "/").status == 200


@pytest.mark.parametrize("status", [200, 404, 500])
def test_a_server_that_asks_for_nothing_gets_nothing(status: int) -> None:
    fake = world(Response(status), limits__retries=0)
    assert fake.gateway.send("acme", "GET", "/").status == status
    assert authorizations(fake) == [None]


def test_the_next_nonce_of_the_server_is_used() -> None:
    information = ResponseHeaders(
        (("Authentication-Info", 'nextnonce="n9", qop=auth'),)
    )
    fake = world(refused(), Response(200, information), Response(200))
    fake.gateway.send("acme", "GET", "/")
    fake.gateway.send("acme", "GET", "/")
    last = authorizations(fake)[-1]
    assert last is not None
    assert (last["nonce"], last["nc"]) == ("n9", "00000001")


@pytest.mark.parametrize("text", ["rspauth=abc", 'nextnonce=""', 'nextnonce="\xfc"'])
def test_other_authentication_info_changes_nothing(text: str) -> None:
    information = ResponseHeaders((("Authentication-Info", text),))
    fake = world(refused(), Response(200, information), Response(200))
    fake.gateway.send("acme", "GET", "/")
    fake.gateway.send("acme", "GET", "/")
    last = authorizations(fake)[-1]
    assert last is not None
    assert (last["nonce"], last["nc"]) == ("n1", "00000002")


def test_a_redirect_and_a_retry_use_the_nonce_again() -> None:
    moved = Response(307, ResponseHeaders((("Location", "/there"),)))
    fake = world(refused(), moved, Response(503), Response(200))
    assert fake.gateway.send("acme", "GET", "/here").status == 200
    sent = [(proof or {}).get("uri") for proof in authorizations(fake)]
    assert sent == [None, "/here", "/there", "/there"]


def test_secret_parameters_are_part_of_the_proof() -> None:
    from outkey.sending.core.configuration.configuration import build
    from outkey.sending.core.configuration.custom_rows import QueryParameter

    made = build(
        "acme",
        {
            "base_url": "https://api.acme.example",
            "authentication_type": "digest",
            "username": "Mufasa",
        },
        query=(QueryParameter("key", "", secret=True),),
    )
    fake = fake_gateway(
        made,
        responses=[refused(), Response(200)],
        secrets=SECRETS | {"query:key": "k 1"},
    )
    fake.gateway.send("acme", "GET", "/ä")
    last = authorizations(fake)[-1]
    assert last is not None
    assert last["uri"] == "/%C3%A4?key=k+1"


def test_a_script_signs_the_requests_of_digest_too() -> None:
    fake = world(refused(), Response(200), script="def compute_auth_header(line): ...")
    fake.scripts.answer = lambda _call: {"X-Signed": "yes"}
    assert fake.gateway.send("acme", "GET", "/").status == 200
    names = [
        {header.name for header in request.headers}
        for request, _ in fake.transport.sent
    ]
    assert all("X-Signed" in found for found in names)
    outcomes = [event for event in fake.audit.events if isinstance(event, Outcome)]
    assert outcomes[0].outcome == CHALLENGED


def test_the_preview_shows_the_scheme_and_curl_gets_the_same_credentials() -> None:
    fake = world()
    preview = fake.gateway.preview("acme", "GET", "/")
    assert [
        header.value for header in preview.headers if header.name == "Authorization"
    ]
    assert "Authorization: Digest ***" in {
        f"{header.name}: {header.value}" for header in preview.headers
    }
    assert preview.note.startswith("The first request to a server")
    assert "--digest" in preview.curl()
    assert '--user Mufasa:"$PASSWORD"' in preview.curl()
    assert fake.transport.sent == []


def test_a_second_source_of_authorization_is_refused() -> None:
    fake = world()
    with pytest.raises(HeaderConflict):
        fake.gateway.preview("acme", "GET", "/", headers={"Authorization": "x"})


def test_a_password_with_a_control_character_is_refused_before_sending() -> None:
    fake = world(refused())
    fake.secrets.values["password"] = "a\nb"
    with pytest.raises(OutkeyError):
        fake.gateway.send("acme", "GET", "/")


def test_a_challenge_is_no_failure_for_watching_and_charts() -> None:
    challenged = EndedAttempt(0.0, "acme", "https://a.example", CHALLENGED, 401)
    assert not challenged.is_failure
    assert challenged._replace(outcome="invalid_credentials").is_refusal
    assert kind_of_outcome(CHALLENGED) == "ok"


def test_challenges_are_no_failures_for_the_doctor() -> None:
    history = History({}, now=10.0)
    rows = [
        ChainRow("s", number, b"", b"", Label(number, "acme", outcome))
        for number, outcome in enumerate([CHALLENGED] * 3 + ["timeout"] * 3, start=1)
    ]
    assert len(list(history.passing(rows[:3]))) == 3
    assert not history.has_failed("acme")
    assert len(list(history.passing(rows[3:]))) == 3
    assert history.has_failed("acme")


def test_the_diagnosis_of_another_scheme_proposes_digest() -> None:
    made = configuration(authentication_type="basic", username="Mufasa")
    diagnosis = diagnose(refused(), made, now=0.0)
    assert diagnosis is not None
    fix = diagnosis.suspicions[0].fix
    assert fix is not None
    assert fix.changes == (("authentication_type", "digest"),)


def test_no_fix_makes_the_password_travel_because_a_challenge_asks_for_basic() -> None:
    fake = world(*[refused('Basic realm="r"')] * 4)
    report = fake.gateway.test("acme")
    found = {one.reason.id: one.fix for one in report.suspicions}
    assert found["wrong-scheme"] is None
