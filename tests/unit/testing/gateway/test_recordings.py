"""Recordings of a gateway: what is masked by name, the file, and its replay."""

import asyncio
import inspect
import json
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outkey import Gateway, Secret, errors
from outkey.foundation.core.echo.encodings import forms
from outkey.foundation.core.errors import Cause, OutkeyError
from outkey.foundation.core.secret import MASK
from outkey.foundation.core.text import Text
from outkey.sending.core.request.message import Response, ResponseHeaders
from outkey.testing import (
    FakeGateway,
    FakeRequest,
    UnexpectedRequest,
    make_response,
)
from outkey.testing.canary import find
from outkey.testing.gateway.recorded_secrets import (
    KnownSecrets,
    is_secret_member,
    masked_forms,
    masked_header,
    masked_markup,
    masked_members,
)
from outkey.testing.gateway.recording import (
    MaskedText,
    RecordedExchange,
    masked_exchange,
)

JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl"
ERRORS = [
    kind
    for kind in vars(errors).values()
    if inspect.isclass(kind)
    and issubclass(kind, OutkeyError)
    and kind is not errors.BadResponse
]

SECRETS = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=8)
PLACES = st.sampled_from(["json", "key", "text", "bytes", "header", "path", "param"])
WORDS = st.text(st.sampled_from("abc 12-"), max_size=8)


@pytest.fixture
def api() -> FakeGateway:
    """A gateway to record, as a real one is recorded."""
    return FakeGateway()


def recorded(
    api: Gateway, path: Path, program: Callable[[Gateway], object]
) -> list[dict[str, object]]:
    with FakeGateway.record(api, path) as recording:
        program(recording)
    exchanges: list[dict[str, object]] = json.loads(path.read_text())["exchanges"]
    return exchanges


def test_a_recording_is_a_readable_file(api: FakeGateway, tmp_path: Path) -> None:
    path = tmp_path / "recordings" / "orders.json"
    api.on("shop", "GET", "/orders").respond(
        json=[{"name": "Zoë"}], headers={"Date": "today", "Link": "</orders?page=2>"}
    )
    api.on("shop", "POST", "/orders").respond(422, json={"error": "no article"})
    with FakeGateway.record(api, path) as gateway:
        gateway.send("shop", "GET", "/orders", params={"page": 1})
        gateway.send("shop", "POST", "/orders", json={"n": 1}, headers={"X-Trace": "7"})
    text = path.read_text("utf-8")
    assert text.startswith('{\n  "outkey_recording": 1,\n  "exchanges": [\n')
    assert '"name": "Zoë"' in text
    first, second = json.loads(text)["exchanges"]
    assert first == {
        "request": {
            "configuration": "shop",
            "method": "GET",
            "path": "/orders",
            "params": {"page": "1"},
        },
        "response": {
            "status": 200,
            "headers": {
                "Content-Type": "application/json",
                "Link": "</orders?page=2>",
            },
            "json": [{"name": "Zoë"}],
        },
    }
    assert second["request"]["headers"] == {"X-Trace": "7"}
    assert second["response"]["status"] == 422
    assert second["response"]["cause"]


def test_the_same_program_makes_the_same_file(api: FakeGateway, tmp_path: Path) -> None:
    async def program(gateway: Gateway) -> None:
        sends = [gateway.asend("shop", "GET", f"/orders/{n}") for n in range(5)]
        await asyncio.gather(*sends)

    async def respond_late(request: object) -> object:
        # The first request is the last one that gets its response.
        number = int(request.path[-1])  # type: ignore[attr-defined]
        for _ in range(10 - number):
            await asyncio.sleep(0)
        return {"id": number}

    api.on("shop").respond_with(respond_late)
    texts = []
    for name in ("a.json", "b.json"):
        with FakeGateway.record(api, tmp_path / name) as gateway:
            asyncio.run(program(gateway))
        texts.append((tmp_path / name).read_text())
    assert texts[0] == texts[1]
    paths = [e["request"]["path"] for e in json.loads(texts[0])["exchanges"]]
    assert paths == [f"/orders/{number}" for number in range(5)]


@pytest.mark.parametrize(
    "response",
    [
        make_response(json={"a": [1, 2.5, None, True, "ü"]}),
        make_response(json=[]),
        make_response(204),
        make_response(data="plain text"),
        make_response(data='not {"json"'),
        make_response(data=b"\xff\x00binary"),
        make_response(data={"form": "1"}),
        make_response(data='"\\ud800"', headers={"Content-Type": "application/json"}),
        make_response(data="null", headers={"Content-Type": "application/json"}),
        make_response(302, headers={"Location": "/elsewhere"}),
        make_response(404, json={"error": "unknown"}),
        Response(200, ResponseHeaders((("Link", "<a>"), ("Link", "<b>")))),
    ],
)
def test_a_response_is_replayed_as_it_was(
    api: FakeGateway, tmp_path: Path, response: Response
) -> None:
    api.on("shop").respond_with(lambda _request: response)
    path = tmp_path / "recording.json"
    with FakeGateway.record(api, path) as gateway:
        real = gateway.send("shop", "GET", "/")
    fake = FakeGateway.replay(path).send("shop", "GET", "/")
    assert (fake.status, fake.headers) == (real.status, real.headers)
    assert (fake.cause, fake.remedy) == (real.cause, real.remedy)
    assert fake.body == real.body or fake.json() == real.json()


@pytest.mark.parametrize("kind", ERRORS, ids=lambda kind: kind.__name__)
def test_every_error_is_replayed_as_it_was(
    api: FakeGateway, tmp_path: Path, kind: type[OutkeyError]
) -> None:
    error = kind(Text("it failed"), hint=Text("Do something."))
    error.said = "Sorry, password=abcdef is wrong"
    error.reason = "some-reason"
    error.pause = 2.0
    api.on("shop").raise_error(error).raise_error(kind())
    path = tmp_path / "recording.json"
    with FakeGateway.record(api, path) as gateway:
        for _ in range(2):
            with pytest.raises(kind):
                gateway.send("shop", "GET", "/")
    replay = FakeGateway.replay(path)
    with pytest.raises(kind) as caught:
        replay.send("shop", "GET", "/")
    assert type(caught.value) is kind
    masked = "Sorry, password=*** is wrong"
    assert caught.value.facts() == {**error.facts(), "said": masked}
    assert (caught.value.reason, caught.value.pause) == ("some-reason", 2.0)
    with pytest.raises(kind) as caught:
        replay.send("shop", "GET", "/")
    assert caught.value.facts() == kind().facts()


def test_equal_requests_get_their_responses_in_order_and_once(
    api: FakeGateway, tmp_path: Path
) -> None:
    api.on("shop", "GET", "/stock").respond(503).respond(json={"left": 3})
    path = tmp_path / "recording.json"

    def program(gateway: Gateway) -> list[int]:
        return [gateway.send("shop", "GET", "/stock").status for _ in range(2)]

    with FakeGateway.record(api, path) as gateway:
        assert program(gateway) == [503, 200]
    replay = FakeGateway.replay(path)
    with pytest.raises(AssertionError, match="sent 0 times of 2"):
        replay.assert_all_used()
    assert program(replay) == [503, 200]
    replay.assert_all_used()
    with pytest.raises(UnexpectedRequest, match="it has responded twice already"):
        program(replay)
    replay.on("shop", "GET", "/stock").raise_error(errors.TimedOut)  # in its place
    with pytest.raises(errors.TimedOut):
        program(replay)


def test_another_request_than_the_recorded_one_is_unexpected(
    api: FakeGateway, tmp_path: Path
) -> None:
    api.on("shop").respond()
    path = tmp_path / "recording.json"
    recorded(
        api, path, lambda gateway: gateway.send("shop", "POST", "/a?b=1", json={"n": 1})
    )
    replay = FakeGateway.replay(path)
    with pytest.raises(UnexpectedRequest, match="the parameter c was added"):
        replay.send("shop", "POST", "/a?b=1&c=2", json={"n": 1})
    with pytest.raises(UnexpectedRequest, match="the body is empty"):
        replay.send("shop", "POST", "/a?b=1")
    loose = FakeGateway.replay(path, compare_body=False)
    assert loose.send("shop", "POST", "/a?b=1").status == 200


def test_pages_are_found_again_by_their_tokens(
    api: FakeGateway, tmp_path: Path
) -> None:
    api.on("shop", "GET", "/a").respond(json={"ids": [1], "nextPageToken": "abc"})
    api.on("shop", "GET", "/a", params={"page_token": "abc"}).respond(
        json={"ids": [2], "next_token": None}
    )

    def program(gateway: Gateway) -> list[int]:
        page: object = gateway.send("shop", "GET", "/a").json()
        token = page["nextPageToken"]  # type: ignore[index]
        params = {"page_token": token}
        last: object = gateway.send("shop", "GET", "/a", params=params).json()
        return [*page["ids"], *last["ids"]]  # type: ignore[index]

    path = tmp_path / "recording.json"
    with FakeGateway.record(api, path) as gateway:
        assert program(gateway) == [1, 2]
    assert program(FakeGateway.replay(path)) == [1, 2]


def test_a_path_with_a_credential_is_masked_and_matches_any(
    api: FakeGateway, tmp_path: Path
) -> None:
    api.on("bot").respond(json={"ok": True})
    path = tmp_path / "recording.json"
    secret = "bot12345:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw"
    [exchange] = recorded(
        api, path, lambda gateway: gateway.send("bot", "GET", f"/{secret}/getMe")
    )
    assert exchange["request"]["path"] == "/***/getMe"  # type: ignore[index]
    replay = FakeGateway.replay(path)
    assert replay.send("bot", "GET", "/bot1:a/getMe").json() == {"ok": True}
    with pytest.raises(UnexpectedRequest, match="the path is"):
        replay.send("bot", "GET", "/bot1:a/other")


@pytest.mark.parametrize(
    ("name", "is_secret"),
    [
        ("access_token", True),
        ("refreshToken", True),
        ("id_token", True),
        ("client-secret", True),
        ("apiKey", True),
        ("secret_access_key", True),
        ("password", True),
        ("Authorization", True),
        ("sessionId", True),
        ("set_cookie", True),
        ("key", False),
        ("author", False),
        ("token_type", False),
        ("max_tokens", False),
        ("next_page_token", False),
        ("continuationToken", False),
        ("expires_in", False),
    ],
)
def test_the_members_that_carry_secrets_are_known_by_name(
    name: str, *, is_secret: bool
) -> None:
    assert is_secret_member(name) == is_secret


def test_the_values_of_secret_members_are_masked_deeply() -> None:
    assert masked_members(
        {
            "tokens": [{"access_token": "abc"}],
            "credentials": {"user": "me", "pins": [1, 2]},
            "password": None,
            "has": {"token": True, "secret": ""},
            "text": f"use {JWT} now",
        }
    ) == {
        "tokens": [{"access_token": "***"}],
        "credentials": {"user": "***", "pins": ["***", "***"]},
        "password": None,
        "has": {"token": True, "secret": ""},
        "text": "use *** now",
    }


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("https://a.example/?sig=abc&page=2#x", "https://a.example/?sig=***&page=2#x"),
        ("?X-Amz-Signature=0af&X-Amz-Date=1", "?X-Amz-Signature=***&X-Amz-Date=1"),
        ("Authorization: Bearer abcdefghij", "Authorization: Bearer ***"),
        ("Basic dXNlcjpwYXNz", "Basic ***"),
        (JWT, "***"),
        ("sk_live_abcdefgh", "***"),
        ("a -----BEGIN PRIVATE KEY-----\nMII\n-----END PRIVATE KEY----- b", "a *** b"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMII", "***"),
        ("page_token=abc; a=b", "page_token=abc; a=b"),
        ("Bearer tokens are secret", "Bearer tokens are secret"),
    ],
)
def test_credentials_of_a_known_form_are_masked(text: str, masked: str) -> None:
    assert masked_forms(text) == masked


def test_text_that_is_not_json_is_masked_by_name() -> None:
    assert masked_markup("<accessToken>abc</accessToken><id>7</id>") == (
        "<accessToken>***</accessToken><id>7</id>"
    )
    assert masked_markup("password: hunter2\nuser: me") == "password: ***\nuser: me"


@pytest.mark.parametrize(
    ("name", "value", "masked"),
    [
        ("Set-Cookie", "a=b; Path=/", "a=***; Path=/"),
        ("set-cookie", "odd", "***"),
        ("X-Auth-Token", "abc", "***"),
        ("WWW-Authenticate", "Basic realm=members", "Basic realm=members"),
        ("Location", "/next?token=abc", "/next?token=***"),
        ("X-Total", "7", "7"),
    ],
)
def test_headers_are_masked_by_name(name: str, value: str, masked: str) -> None:
    assert masked_header(name, value) == masked


def test_a_document_that_is_nested_too_deeply_is_masked(
    api: FakeGateway, tmp_path: Path
) -> None:
    depth = 900
    body = "[" * depth + "]" * depth
    api.on("shop").respond(data=body, headers={"Content-Type": "application/json"})
    [exchange] = recorded(
        api, tmp_path / "a.json", lambda gateway: gateway.send("shop", "GET", "/")
    )
    assert exchange["response"]["text"] in {"***", body}  # type: ignore[index]


def test_a_mask_matches_any_text_and_number() -> None:
    mask = MaskedText("it is ***.")
    assert (mask == "it is me.", mask == "it was me.", mask == 7) == (
        True,
        False,
        False,
    )
    assert (MaskedText("***") == 7, MaskedText("***") == []) == (True, False)
    assert mask == MaskedText("it is ***.")
    assert mask != MaskedText("***")
    assert repr(mask) == "'it is ***.'"


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"exchanges": []}', "7"])
def test_another_file_is_not_a_recording(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"a\.json is not a recording"):
        FakeGateway.replay(path)


def test_a_recording_of_another_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"outkey_recording": 2, "exchanges": []}')
    with pytest.raises(ValueError, match="another version"):
        FakeGateway.replay(path)


def test_a_recording_gateway_previews_and_tests_as_the_real_one(
    api: FakeGateway, tmp_path: Path
) -> None:
    api.on("shop", "GET", "/").respond(401)

    def program(gateway: Gateway) -> None:
        assert gateway.preview("shop").url == "https://api.example/"
        assert gateway.test("shop").cause is Cause.INVALID_CREDENTIALS
        with pytest.raises(errors.ConfigError):
            gateway.send("shop", "G ET", "/")

    assert recorded(api, tmp_path / "a.json", program) == []  # send and asend only


@given(secret=SECRETS, place=PLACES, before=WORDS, after=WORDS, data=st.data())
def test_no_form_of_a_secret_is_left_in_any_place(
    secret: str, place: str, before: str, after: str, data: st.DataObject
) -> None:
    form = data.draw(st.sampled_from(sorted(forms(secret, "me").values())))
    text = before + form.decode("latin-1") + after
    request = FakeRequest("shop", "GET", "/a")
    response = make_response(json={"a": [{"b": text}], "c": 7})
    match place:
        case "key":
            response = make_response(json={text: 1})
        case "text":
            response = make_response(data=text)
        case "bytes":
            response = make_response(data=b"\xff" + form)
        case "header":
            response = make_response(headers={"X-Echo": text})
        case "path":
            request = FakeRequest("shop", "GET", f"/a/{quote(text)}")
        case "param":
            request = FakeRequest("shop", "GET", "/a", urlencode({"q": text, "r": 1}))
        case _:
            pass
    known = KnownSecrets()
    known.add("me", [Secret(secret)])
    facts = masked_exchange(RecordedExchange(request, "me", response), known)
    written = json.dumps(facts, ensure_ascii=False).encode(errors="backslashreplace")
    assert find(written, secret, "me") == []
    assert facts["request"]["configuration"] == "shop"


@pytest.mark.parametrize(
    "text",
    [
        "https://user:S3CRET@host/path",
        "redis://:S3CRET@host",
        "0; url=/next?token=S3CRET",
        "url=https://host/?next=/a?api_key=S3CRET",
        "<password>my S3CRET words</password>",
        "<ns:Token>S3CRET</ns:Token>",
        '<Token kind="x">S3CRET</Token>',
        'secret: "my S3CRET words"',
        "password: 'my S3CRET words'",
        "password: S3CRET",
    ],
)
def test_a_secret_in_a_text_is_masked_whole(text: str) -> None:
    masked = masked_markup(text)
    assert MASK in masked
    assert not any(word in masked for word in ("S3CRET", "words", "my "))


@pytest.mark.parametrize(
    "text",
    [
        "<name>Ada</name> <b>x: y</b>",
        "page=2&next=/a?page=3",
        "mail: ada@example.com, see https://example.com/@ada",
        "<password>  </password>",
    ],
)
def test_a_text_without_a_secret_stays_as_it_is(text: str) -> None:
    assert masked_markup(text) == text


@pytest.mark.parametrize(
    "name", ["pass", "pw", "passcode", "bearer", "hmac", "signature", "JSESSIONID"]
)
def test_members_that_carry_secrets_are_masked_by_name(name: str) -> None:
    assert masked_members({name: "S3CRET", "name": "Ada"}) == {
        name: MASK,
        "name": "Ada",
    }
