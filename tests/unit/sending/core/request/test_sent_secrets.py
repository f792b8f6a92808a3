"""Which secrets a request carries, and what of them the other side may repeat."""

import copy
import json
import pickle
from dataclasses import replace
from decimal import Decimal
from email.utils import formatdate
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outkey.foundation.core.echo.masking import scrub, scrub_headers
from outkey.foundation.core.echo.strict import reveals_secret
from outkey.foundation.core.errors import (
    RedirectBlocked,
    StorageUnavailable,
    TokenEndpointFailed,
)
from outkey.foundation.core.origin import Origin
from outkey.foundation.core.secret import Secret
from outkey.sending.core.audit.events import Intent
from outkey.sending.core.request.assembly import redirected_request
from outkey.sending.core.request.message import (
    Header,
    Request,
    Response,
    ResponseHeaders,
    Source,
)
from outkey.sending.core.request.sent_secrets import credentials_in, secrets_in
from outkey.sending.engine.connection_test_setup import prepare_test
from outkey.sending.engine.exchange.echoed_secrets import EchoDetector, sent_secrets
from outkey.testing import configuration, fake_gateway
from outkey.testing.fakes.basic import FakeWorld
from unit.sending.engine.tokens.test_tokens import (
    DEVICE,
    DEVICE_ANSWER,
    NAMES,
    OAUTH,
    Provider,
    kept,
    send,
    world,
)

NOW = 1_800_000_000.0
ORIGIN = Origin("https", "api.acme.example", 443)
SCRIPT = (
    "def compute_auth_header(sync_line):\n    return {'X-Account': 'account-4711'}\n"
)
SIGNATURE = "sig-91c2f0"


def scripted(value: str) -> tuple[Secret, ...]:
    made = configuration(script=SCRIPT, username="ada.lovelace")
    header = Header("X-Made", Secret(value), Source.SCRIPT)
    return secrets_in(Request("GET", ORIGIN, "/contacts?page=7", (header,)), made, NOW)


@pytest.mark.parametrize(
    "value",
    [
        "",
        "account-4711",
        "ada.lovelace",
        "/contacts?page=7",
        "acme",
        "1800000000",
        "1800000000.25",
        "1800000000123",
        "1800000000123456",
        "1800000000123456789",
        "2027-01-15T08:00:00Z",
        "20270115T080000Z",
        "2027-01-15",
        "20270115",
        formatdate(NOW, usegmt=True),
        "15.01.2027",
        "15.1.27",
        "15/01/2027",
        "01/15/2027",
        "1/15/2027 8:00:00 AM",
        "15-Jan-2027",
        "15 January 2027",
        "15-01-2027 08:00",
        "2027/01/15",
        "2027/01/15 08:00:00.123 UTC",
        "14.01.2027",
        "16.01.2027",
        "20270115080000",
        "202701150800",
        "08:00:00",
        "23:59",
    ],
)
def test_what_anybody_knows_is_no_secret_of_a_script(value: str) -> None:
    assert scripted(value) == ()


@pytest.mark.parametrize(
    "value",
    [
        *[SIGNATURE, "492817", "2019-01-15", "nan", "1" * 50],
        *[
            "15.01.2019",
            "13.01.2027",
            "15-Abc-2027",
            "32.01.2027",
            "15.13.2027",
            "2027/15/01",
        ],
        *["20190115080000", "25:00", "08:00:00x", "15.01/2027"],
    ],
)
def test_everything_else_that_a_script_returns_is_one(value: str) -> None:
    assert scripted(value) == (Secret(value),)


def test_secret_headers_and_parameters_are_carried_and_plain_ones_are_not() -> None:
    headers = (
        Header("Accept", "*/*", Source.DEFAULT),
        Header("Authorization", Secret("Bearer abc"), Source.AUTHENTICATION),
        Header("X-Time", Secret("1800000000"), Source.CALLER),
        Header("X-Empty", Secret(""), Source.CALLER),
    )
    request = Request(
        "POST", ORIGIN, "/", (), Secret("a=b"), (Secret("b"),)
    ).with_headers(headers)
    expected = (Secret("b"), Secret("Bearer abc"), Secret("1800000000"))
    assert secrets_in(request, configuration(), NOW) == expected


@pytest.mark.parametrize(
    ("value", "credentials"),
    [
        ("plain-key", ["plain-key"]),
        ("Bearer token-4711", ["token-4711"]),
        ("Bearer abc", ["Bearer abc"]),
        ("correct, horse battery staple", ["correct, horse battery staple"]),
        (
            'Signature keyId="k",algorithm="hmac",signature="c2lnbmF0dXJl"',
            ['keyId="k",algorithm="hmac",signature="c2lnbmF0dXJl"', "c2lnbmF0dXJl"],
        ),
        (
            (
                "AWS4-HMAC-SHA256 Credential=AKIA/x, SignedHeaders=host,"
                " Signature=0a1b2c3d4e5f"
            ),
            [
                "Credential=AKIA/x, SignedHeaders=host, Signature=0a1b2c3d4e5f",
                "0a1b2c3d4e5f",
            ],
        ),
        (
            "AWS AKIAEXAMPLE:frJIUN8DYpKDtOLCwo==",
            ["AKIAEXAMPLE:frJIUN8DYpKDtOLCwo==", "frJIUN8DYpKDtOLCwo=="],
        ),
        ("HMAC user:short", ["user:short"]),
        ('Digest response=""', ['response=""']),
    ],
)
def test_a_header_value_is_parted_into_what_may_be_repeated_alone(
    value: str, credentials: list[str]
) -> None:
    assert credentials_in([Secret(value), Secret(value)]) == [
        Secret(one) for one in credentials
    ]


# ── the response says what was sent for it ────────────────────────────────────────────


def signing_world(*responses: Response) -> FakeWorld:
    made = configuration(authentication_type="basic", username="erp", script=SCRIPT)
    fake = fake_gateway(
        made, responses=list(responses), secrets={"password": "pass-4711"}
    )
    fake.scripts.answer = lambda _: {"X-Signature": SIGNATURE, "X-Time": "1800000000"}
    return fake


def test_a_response_carries_what_was_sent_and_shows_and_stores_nothing_of_it() -> None:
    fake = signing_world(Response(200, body=b"{}"))
    response = fake.gateway.send("acme", "GET", "/")
    assert response.sent == (Secret("Basic ZXJwOnBhc3MtNDcxMQ=="), Secret(SIGNATURE))
    assert "Secret" not in repr(response)
    assert response == replace(response, sent=())
    copied = pickle.loads(pickle.dumps(response))
    assert (copied, copied.sent) == (response, ())
    assert copy.deepcopy(response) == response


def test_the_requests_of_all_hops_count() -> None:
    hop = Response(302, ResponseHeaders((("Location", "/next"),)))
    fake = signing_world(hop, Response(200))
    signatures = iter(["first-4711", "second-4711"])
    fake.scripts.answer = lambda _: {"X-Signature": next(signatures)}
    sent = fake.gateway.send("acme", "GET", "/").sent
    assert Secret("first-4711") in sent
    assert Secret("second-4711") in sent


def test_the_list_has_what_is_stored_and_what_was_made_for_the_request() -> None:
    fake = signing_world(Response(200))
    made = fake.ports.configurations.get("acme")
    assert sent_secrets(fake.sender.context, made) == [Secret("pass-4711")]
    response = fake.gateway.send("acme", "GET", "/")
    pair = Secret("ZXJwOnBhc3MtNDcxMQ==")
    stored = Secret("pass-4711")
    assert sent_secrets(fake.sender.context, made, response) == [
        stored,
        pair,
        Secret(SIGNATURE),
    ]


@pytest.mark.parametrize(
    "host",
    [SIGNATURE, "sig.91c2.f0", "another-secret-of-the-provider", "harmless"],
)
def test_an_origin_that_a_redirect_chose_is_not_named(host: str) -> None:
    place = ResponseHeaders((("Location", f"https://{host}.evil.example/"),))
    fake = signing_world(Response(302, place))
    with pytest.raises(RedirectBlocked) as caught:
        fake.gateway.send("acme", "GET", "/")
    assert caught.value.message == "the server redirected to another origin"


def test_an_origin_of_the_configuration_is_named() -> None:
    place = ResponseHeaders((("Location", "https://auth.acme.example/enter"),))
    made = configuration(**OAUTH)
    with pytest.raises(RedirectBlocked) as caught:
        redirected_request(
            Request("GET", made.base.origin, "/"), Response(302, place), made
        )
    message = "the server redirected to another origin, https://auth.acme.example"
    assert caught.value.message == message


@pytest.mark.parametrize("secret", ["correcthorsebattery", "hunter"])
def test_only_words_of_the_request_are_recorded_of_a_redirect(secret: str) -> None:
    place = ResponseHeaders((("Location", f"/orders/{secret}/open/"),))
    fake = signing_world(Response(302, place), Response(200))
    fake.scripts.answer = lambda _: {"X-Signature": secret}
    fake.gateway.send("acme", "GET", "/orders/open")
    paths = [event.path for event in fake.audit.events if isinstance(event, Intent)]
    assert paths == ["/orders/open", "/orders/{}/open/"]


# ── token endpoints ───────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("client_auth", ["client_secret_jwt", "basic"])
def test_a_client_assertion_or_header_that_comes_back_as_a_scope_is_not_stored(
    client_auth: str,
) -> None:
    provider = Provider()
    fake = world(provider, oauth2__client_auth=client_auth)

    def echo(request: Request) -> Response:
        headers = {header.name: header.value for header in request.headers}
        basic = headers.get("Authorization")
        given = provider(request)
        assert isinstance(given, Response)
        if not request.origin.host.startswith("auth."):
            return given
        shown = basic.reveal() if isinstance(basic, Secret) else ""
        echoed = provider.asked[-1].get("client_assertion") or shown.partition(" ")[2]
        return Response(
            200, body=json.dumps(json.loads(given.body) | {"scope": echoed}).encode()
        )

    fake.transport.responses = echo
    send(fake)
    assert kept(fake).scope == ""
    assert fake.token("acme").status().scope == ""


@pytest.mark.parametrize("field", ["user_code", "verification_uri"])
def test_a_device_code_that_repeats_a_secret_is_not_shown(field: str) -> None:
    provider = Provider()
    fake = world(provider, oauth2__client_auth="basic", **DEVICE)
    secret = "client-secret-1"
    value = secret if field == "user_code" else f"https://{secret}.example/"
    changed = json.loads(DEVICE_ANSWER.body) | {field: value}
    provider.token_answers.append(Response(200, body=json.dumps(changed).encode()))
    with pytest.raises(TokenEndpointFailed) as caught:
        fake.token("acme").device_code()
    assert secret not in str(caught.value)


# ── what is shown ─────────────────────────────────────────────────────────────────────


def test_the_words_of_an_api_that_repeats_a_signature_are_not_quoted() -> None:
    body = json.dumps({"message": f"signature {SIGNATURE} is wrong"}).encode()
    fake = signing_world(Response(401, body=body))
    assert fake.gateway.test("acme").steps[-1].detail == "status 401"


def test_where_the_secrets_cannot_be_read_nothing_is_quoted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    body = json.dumps({"message": "you may not"}).encode()
    made = configuration(**OAUTH)
    provider = Provider()
    provider.api_answers = [Response(403, body=body)] * 2
    secrets = {"client_secret": "s"}
    fake = fake_gateway(made, responses=provider, secrets=secrets, names=NAMES)
    assert (
        fake.gateway.test("acme").steps[-1].detail
        == "status 403; the API says: you may not"
    )
    trial = prepare_test(fake.sender, made)
    provider.api_answers = [Response(403, body=body)]
    steps = trial.steps()
    shown = [next(steps) for _ in range(4)]
    assert [step.step for step in shown][-1] == "connect"

    def fail(*_: object, **__: object) -> None:
        raise StorageUnavailable

    # After the request only: the token for it is at hand already.
    monkeypatch.setattr(fake.ports.tokens, "read", fail)
    assert next(steps).detail == "status 403"


def test_only_known_schemes_of_a_challenge_are_remembered() -> None:
    offers = ResponseHeaders((("WWW-Authenticate", f"{SIGNATURE}, Digest"),))
    assert signing_world(Response(401, offers)).gateway.test("acme").seen[
        "offered"
    ] == ["digest"]
    offers = ResponseHeaders((("WWW-Authenticate", SIGNATURE),))
    assert (
        "offered" not in signing_world(Response(401, offers)).gateway.test("acme").seen
    )


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        (b'{"a": "x sekret/canary-4711 y"}', b'{"a": "x *** y"}'),
        (rb'{"a": "sekret\/canary-4711"}', b'{"a": "***"}'),
        (b'{"a": "1174-yranac/terkes"}', b'{"a": "***"}'),
        (b'{"a": "s e k r e t canary 4711"}', b"***"),
        (rb'{"a": "\u0073ekret/canary-4711"}', b"***"),
        (b'{"a": "sekretca", "b": "nary-4711"}', b"***"),
        (b'{"a": "harmless"}', b'{"a": "harmless"}'),
    ],
)
def test_a_body_is_masked_and_where_that_is_not_enough_left_out(
    body: bytes, shown: bytes
) -> None:
    assert scrub(body, [Secret("sekret/canary-4711")], "") == shown


# ── the detector ──────────────────────────────────────────────────────────────────────


def test_a_detector_computes_what_to_look_for_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    computed: list[int] = []
    original = Secret.patterns
    monkeypatch.setattr(
        Secret, "patterns", lambda self: (computed.append(1), original(self))[1]
    )
    detector = EchoDetector()
    token = Secret("sekret/canary-4711")
    # the first finds both
    detector.look_for([token, Secret("Bearer sekret/canary-4711")])
    detector.look_for([token])
    assert len(computed) == 1
    assert detector.is_in({"a": ["Bearer sekret/canary-4711"]})
    assert not detector.is_in({"a": ["harmless"]})
    detector.look_for([])
    assert not detector.is_in({"a": ["Bearer sekret/canary-4711"]})


def test_what_is_nested_too_deeply_is_taken_for_a_secret() -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    detector = EchoDetector()
    assert detector.is_in(deep)
    assert detector.may_be_in(deep)


def test_a_value_that_is_split_or_has_separators_gives_a_secret_away() -> None:
    secret = [Secret("sekret/canary-4711")]
    assert reveals_secret(secret, ["sekret.canary.4711"])
    assert reveals_secret(secret, {"a": "sekretca", "b": "nary4711"})
    assert not reveals_secret(secret, {"a": "sekretca"})


@pytest.mark.parametrize(
    ("headers", "shown"),
    [
        ([("X-A", "fine"), ("X-B", "9")], [("X-A", "fine"), ("X-B", "9")]),
        ([("X-tok-Zq8vN4xW2mK7pL9c", "1")], [("X-***", "1")]),
        ([("x-tok-zq8vn4xw2mk7pl9c", "1"), ("A", "b")], [("***", "1"), ("A", "b")]),
        (
            [("X-A", "tok-Zq8vN4"), ("X-B", "xW2mK7pL9c")],
            [("X-A", "***"), ("X-B", "***")],
        ),
        (
            [("A", "tok-Zq"), ("B", "8vN4xW"), ("C", "2mK7pL9c")],
            [("A", "***"), ("B", "***"), ("C", "***")],
        ),
        ([("tok-Zq8vN4", "1"), ("xW2mK7pL9c", "2")], [("***", "***"), ("***", "***")]),
        ([("tok-Zq8vN4", "xW2mK7pL9c")], [("tok-Zq8vN4", "***")]),
        ([("A", "hun"), ("B", "ter-4711")], [("A", "***"), ("B", "***")]),
        (
            [("A", "pi"), ("B", "n1"), ("C", "pin1")],
            [("A", "pi"), ("B", "n1"), ("C", "***")],
        ),
    ],
)
def test_headers_are_masked_by_name_by_value_and_all_together(
    headers: list[tuple[str, str]], shown: list[tuple[str, str]]
) -> None:
    secrets = [Secret("tok-Zq8vN4xW2mK7pL9c"), Secret("hunter-4711"), Secret("pin1")]
    assert scrub_headers(headers, secrets, "") == tuple(shown)


def test_a_token_that_begins_with_a_number_is_looked_for_besides_the_number() -> None:
    number = "123456789012"
    token = f"{number}:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw"
    detector = EchoDetector()
    detector.look_for([Secret(number), Secret(token)])
    assert detector.is_in({"a": "123456-789012", "b": token[13:].upper()})


def test_a_page_with_a_number_in_exponent_notation_is_parsed_to_be_searched() -> None:
    detector = EchoDetector()
    body = b'{"name": 9.18273645501E+11}'
    document = {"name": Decimal("9.18273645501E+11")}
    detector.look_for([Secret("918273645501")])
    assert detector.may_be_in_page(Response(200, body=body), document)
    detector.look_for([Secret("abcd918273645501")])
    split = b'{"a": "abcd", "name": 9.18273645501E+11}'
    assert detector.may_be_in_page(Response(200, body=split), {"a": "abcd"} | document)


SECRETS = [
    "sekret/canary-4711",
    "p\u00e4ssw\u00f6rd-4711",
    "key-\U0001f511-\U0001f511-4711",
    "a1b2-c3d4",
    "tok-77",
    "918273645501",
]
PIECES = ["harmless", '"', "\\", "7e5", "\u00fc", "\U0001f600", "%41", "&amp;", "\x07"]


def escaped(text: str) -> str:
    units = text.encode("utf-16-be").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


@given(st.data())
def test_what_is_found_in_a_document_is_found_in_the_page_that_it_was_read_from(
    data: st.DataObject,
) -> None:
    secret = data.draw(st.sampled_from(SECRETS))
    forms = [secret, secret.upper(), quote(secret), secret.encode().hex(), secret[::-1]]
    pieces = st.lists(st.sampled_from([*PIECES, *forms, secret[:7], secret[7:]]))
    texts = data.draw(st.lists(pieces.map("".join), max_size=4))
    styles = st.sampled_from([json.dumps, lambda text: f'"{escaped(text)}"'])
    body = f"[{''.join(f'{data.draw(styles)(text)}, ' for text in texts)}7, null]"
    document = json.loads(body)
    detector = EchoDetector()
    detector.look_for([Secret(secret)])
    if detector.is_in(document):
        assert detector.may_be_in_page(Response(200, body=body.encode()), document)


def test_a_page_with_escapes_is_searched_without_its_document() -> None:
    detector = EchoDetector()
    detector.look_for([Secret("sekret/canary-4711")])
    page = Response(200, body=b'{"name": "M\\u00fcller"}')
    assert not detector.may_be_in_page(page, "sekret/canary-4711")
    page = Response(200, body=b'{"name": "\\u0073ekret/canary-4711"}')
    assert detector.may_be_in_page(page, None)


def test_a_very_short_secret_gives_itself_away_only_as_the_whole_value() -> None:
    assert reveals_secret([Secret("key")], "KEY")
    assert not reveals_secret([Secret("key")], "monkey")
