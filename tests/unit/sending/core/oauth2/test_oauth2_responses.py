import json
import time
from base64 import b64encode
from collections.abc import Iterator
from urllib.parse import urlencode

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from outkey.foundation.core.errors import (
    ConnectionFailed,
    ConnectTimedOut,
    DnsFailed,
    EgressDenied,
    OutkeyError,
    RedirectBlocked,
    ResponseTooLarge,
    TimedOut,
    TlsFailed,
    TokenEndpointFailed,
)
from outkey.foundation.core.secret import Secret
from outkey.sending.core.oauth2.responses import (
    FAILURES,
    MAX_RESPONSE,
    TokenResponse,
    failure,
    read_document,
    read_token,
    reason_of,
)
from outkey.sending.core.request.message import Response, ResponseHeaders

NOW = 1_800_000_000.0  # 2027-01-15 08:00:00 UTC
TEN_YEARS = 10 * 366 * 86_400.0


def answer(body: bytes | str, status: int = 200, **headers: str) -> Response:
    raw = body if isinstance(body, bytes) else body.encode()
    return Response(status, ResponseHeaders(tuple(headers.items())), raw)


def reply(
    status: int = 200, /, *, headers: dict[str, str] | None = None, **more: object
) -> Response:
    """Return a JSON response with a token and the given fields; None omits a field."""
    fields = {"access_token": "abc", **more}
    return answer(json.dumps(fields), status, **(headers or {}))


def read(response: Response, *secrets: str) -> TokenResponse:
    return read_token(response, secrets=[Secret(text) for text in secrets], now=NOW)


def reason_for(response: Response) -> str:
    with pytest.raises(TokenEndpointFailed) as caught:
        read(response)
    assert caught.value.field == "oauth2.token_url"
    return caught.value.reason


# ── lifetime ──────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("3600", 3600.0),
        ("3599.5", 3599.5),
        ('"14399"', 14399.0),  # UPS and PayPal
        ('" 3600 "', 3600.0),
        ('"3600.0"', 3600.0),
        ('"3.6e3"', 3600.0),
        ("0", 0.0),
        ('"0"', 0.0),
        ("99999999999999", TEN_YEARS),
        ("1e400", TEN_YEARS),
        ("Infinity", TEN_YEARS),
        ("9" * 400, TEN_YEARS),
        ("9" * 5000, TEN_YEARS),
        ('"' + "9" * 5000 + '"', TEN_YEARS),
    ],
    ids=lambda value: str(value)[:20],
)
def test_a_lifetime_is_read_however_it_is_written(written: str, seconds: float) -> None:
    assert (
        read(answer(f'{{"access_token": "abc", "expires_in": {written}}}')).lifetime
        == seconds
    )


@pytest.mark.parametrize(
    "written",
    [
        '"soon"',
        '""',
        "null",
        "true",
        "false",
        "[3600]",
        '{"seconds": 3600}',
        "NaN",
        '"nan"',
        "-1",
        '"-3600"',
        "-Infinity",
        "-1e400",
        "-" + "9" * 400,
        "-" + "9" * 5000,
    ],
    ids=lambda value: str(value)[:20],
)
def test_a_lifetime_that_makes_no_sense_is_unknown(written: str) -> None:
    assert (
        read(answer(f'{{"access_token": "abc", "expires_in": {written}}}')).lifetime
        is None
    )


def test_a_missing_lifetime_is_unknown() -> None:
    assert read(reply()).lifetime is None


def test_a_lifetime_may_have_its_name_in_camel_case() -> None:
    assert read(reply(expiresIn=60)).lifetime == 60


@pytest.mark.parametrize("name", ["expires_at", "expires_on", "accessTokenExpiration"])
@pytest.mark.parametrize(
    "moment",
    [
        NOW + 600,
        str(int(NOW) + 600),
        (NOW + 600) * 1000,
        str((int(NOW) + 600) * 1000),
        "2027-01-15T08:10:00Z",
        "2027-01-15T09:10:00+01:00",
        "2027-01-15T08:10:00",
        "2027-01-15 08:10:00.000",
    ],
)
def test_a_moment_is_read_in_seconds_milliseconds_or_iso_8601(
    name: str, moment: object
) -> None:
    assert read(reply(**{name: moment})).lifetime == 600


@pytest.mark.parametrize(
    "moment",
    [
        NOW,
        NOW - 1,
        0,
        -1,
        True,
        None,
        "",
        "soon",
        "2027-01-15T08:00:00Z",
        [],
        {},
        "NaN",
    ],
)
def test_a_moment_that_is_past_or_unreadable_says_nothing(moment: object) -> None:
    assert read(reply(expires_at=moment)).lifetime is None


@pytest.mark.parametrize("moment", ["9999-12-31T23:59:59Z", 4e18, float("inf")])
def test_a_moment_in_the_far_future_is_ten_years_away(moment: object) -> None:
    assert read(reply(expires_at=moment)).lifetime == TEN_YEARS


@pytest.mark.parametrize(
    "moment", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-23:59"]
)
def test_a_moment_at_the_edge_of_time_is_no_crash(moment: str) -> None:
    assert read(reply(expires_at=moment)).lifetime in {None, TEN_YEARS}


def test_a_lifetime_counts_before_a_moment() -> None:
    assert read(reply(expires_in=60, expires_at=NOW + 600)).lifetime == 60
    assert read(reply(expires_in="soon", expires_at=NOW + 600)).lifetime == 600


def test_a_moment_is_meant_by_the_providers_clock() -> None:
    headers = {"date": "Fri, 15 Jan 2027 08:05:00 GMT"}
    assert read(reply(headers=headers, expires_at=NOW + 600)).lifetime == 300


@pytest.mark.parametrize(
    "date", ["", "soon", "Fri, 99 Jan 2027 08:05:00 GMT", "\0", "1" * 5000]
)
def test_a_date_that_is_none_leaves_our_clock(date: str) -> None:
    assert read(reply(headers={"Date": date}, expires_at=NOW + 600)).lifetime == 600


@pytest.fixture
def _in_tokyo(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("_in_tokyo")
@pytest.mark.parametrize("zone", ["", " -0000", " GMT", " +0000"])
def test_a_date_is_never_taken_as_our_local_time(zone: str) -> None:
    headers = {"Date": f"Fri, 15 Jan 2027 08:05:00{zone}"}
    assert read(reply(headers=headers, expires_at=NOW + 600)).lifetime == 300


# ── what an answer may look like ──────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "kind", ["application/x-www-form-urlencoded", "application/json", "text/html", ""]
)
def test_json_and_forms_are_read_whatever_the_content_type(kind: str) -> None:
    form = urlencode({"access_token": "a&b", "expires_in": "60", "scope": "r w"})
    found = read(answer(form, **{"Content-Type": kind}))
    assert (found.access.reveal(), found.lifetime, found.scope) == ("a&b", 60, "r w")
    found = read(answer('{"access_token": "a&b=c"}', **{"Content-Type": kind}))
    assert found.access.reveal() == "a&b=c"


@pytest.mark.parametrize("before", [b"\xef\xbb\xbf", b" \r\n\t", b"\xef\xbb\xbf\n"])
def test_a_mark_and_blanks_before_an_answer_do_not_matter(before: bytes) -> None:
    assert read(answer(before + b'{"access_token": "abc"}')).access.reveal() == "abc"
    assert read(answer(before + b"access_token=abc")).access.reveal() == "abc"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"  ",
        b"null",
        b"{}",
        b"[]",
        b'[{"access_token": "abc"}]',
        b'"access_token=abc"',
        b"7",
        b"true",
        b"abc",  # JobDiva's whole body is the token, which is one quirk too many
        b"<!doctype html><a href='?access_token=abc'>",
        b'{"access_token": "abc"',
        b"[access_token=abc",
        b"\xff\xfe\x00",
        b"[" * 100_000,
        b'{"access_token":' * 100_000,
        b'{"access_token": "abc", "more": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b"&".join(b"a=1" for _ in range(300)),
        b'{"access_token": "abc", "pad": "' + b"x" * MAX_RESPONSE + b'"}',
    ],
    ids=lambda body: repr(body[:24]),
)
def test_what_is_no_answer_of_a_token_endpoint_is_said_to_be_none(body: bytes) -> None:
    assert reason_for(answer(body)) == "not_a_token_endpoint"


def test_an_empty_answer_is_good_enough_where_nothing_was_asked_for() -> None:
    assert read_document(answer(""), may_be_empty=True) == {}


@pytest.mark.parametrize("status", [300, 301, 302, 303, 304, 307, 308, 399])
def test_a_redirect_is_never_followed(status: int) -> None:
    with pytest.raises(RedirectBlocked) as caught:
        read(reply(status, headers={"Location": "https://evil.example/"}))
    assert caught.value.field == "oauth2.token_url"
    assert "evil" not in str(caught.value) + str(caught.value.__notes__)


# ── errors ────────────────────────────────────────────────────────────────────────────

THEIR_WORDS = [
    *["invalid_client", "invalid_grant", "invalid_scope", "invalid_request"],
    *["unauthorized_client", "unsupported_grant_type", "access_denied", "server_error"],
    *["temporarily_unavailable", "authorization_pending", "slow_down", "expired_token"],
    *[
        "invalid_target",
        "invalid_dpop_proof",
        "use_dpop_nonce",
        "unsupported_token_type",
    ],
]
WRAPPED = {
    "plain": lambda word: {"error": word},
    "code": lambda word: {"error": {"code": word, "message": "x"}},
    "type": lambda word: {"error": {"type": word}},
    "error": lambda word: {"error": {"error": word}},
}


@pytest.mark.parametrize("status", [200, 400, 401, 403, 404, 429, 500])
@pytest.mark.parametrize("shape", WRAPPED)
@pytest.mark.parametrize("word", THEIR_WORDS)
def test_a_word_of_the_standards_is_understood(
    word: str, shape: str, status: int
) -> None:
    assert reason_for(answer(json.dumps(WRAPPED[shape](word)), status)) == word


def test_a_form_may_say_what_is_wrong_too() -> None:
    assert (
        reason_for(answer("error=invalid_grant&error_description=expired"))
        == "invalid_grant"
    )


def test_an_error_counts_even_beside_a_token() -> None:
    assert reason_for(reply(error="invalid_scope")) == "invalid_scope"


@pytest.mark.parametrize(
    "error",
    [
        *["Access Denied", "bad_verification_code", 7, True, 1.5, ["invalid_grant"]],
        *[
            {"message": "x"},
            {"code": None},
            {"code": 401},
            {"code": ["x"]},
            {"code": {"a": {}}},
        ],
    ],
    ids=str,
)
def test_an_unknown_error_is_a_refusal_that_repeats_nothing(error: object) -> None:
    with pytest.raises(TokenEndpointFailed) as caught:
        read(answer(json.dumps({"error": error}), 400))
    assert caught.value.reason == "refused"
    assert str(caught.value) == FAILURES["refused"][0]


@pytest.mark.parametrize(
    "word", ["tls", "dns", "connection", "timeout", "waiting", "too_large"]
)
def test_a_word_of_ours_is_not_taken_from_a_provider(word: str) -> None:
    assert reason_for(answer(json.dumps({"error": word}), 400)) == "refused"


@pytest.mark.parametrize("error", [None, "", 0, False, [], {}])
def test_an_empty_error_is_none(error: object) -> None:
    assert read(reply(error=error)).access.reveal() == "abc"


def test_slack_says_no_with_200() -> None:
    assert reason_for(answer('{"ok": false, "error": "invalid_auth"}')) == "refused"
    assert reason_for(reply(ok=False)) == "refused"
    assert read(reply(ok=True)).access.reveal() == "abc"


@pytest.mark.parametrize(
    "body", ["", "<html>busy</html>", '{"fault": "x"}', '{"error": "odd"}']
)
@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (401, "invalid_client"),
        (404, "not_found"),
        (405, "not_found"),
        (410, "not_found"),
        (429, "rate_limited"),
        (500, "server_error"),
        (502, "server_error"),
        (503, "server_error"),
        (599, "server_error"),
    ],
)
def test_a_status_alone_says_enough(status: int, reason: str, body: str) -> None:
    assert reason_for(answer(body, status)) == reason


def test_a_403_without_a_word_is_a_refused_client_and_a_page_is_not() -> None:
    assert reason_for(answer("", 403)) == "invalid_client"
    assert reason_for(answer("<html>blocked</html>", 403)) == "not_a_token_endpoint"


@pytest.mark.parametrize("status", [400, 418, 451])
def test_another_status_is_a_refusal_only_if_it_says_something(status: int) -> None:
    assert reason_for(answer("", status)) == "not_a_token_endpoint"
    assert reason_for(answer("<html>", status)) == "not_a_token_endpoint"
    assert reason_for(answer('{"fault": "x"}', status)) == "refused"
    assert reason_for(reply(status)) == "refused"


@pytest.mark.parametrize("reason", FAILURES)
def test_every_failure_says_what_to_do_and_is_recognized_again(reason: str) -> None:
    error = failure(reason)
    assert (error.message, error.hint) == FAILURES[reason]
    assert reason_of(error) == reason


def test_a_failure_of_another_version_is_a_refusal() -> None:
    assert failure("of the future").message == FAILURES["refused"][0]


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (TimedOut(), "timeout"),
        (ConnectTimedOut(), "timeout"),
        (DnsFailed(), "dns"),
        (TlsFailed(), "tls"),
        (ResponseTooLarge(), "too_large"),
        (ConnectionFailed(), "connection"),
        (EgressDenied(), "connection"),
        (RedirectBlocked(), "redirect_blocked"),
    ],
)
def test_what_went_wrong_on_the_way_has_a_reason(
    error: OutkeyError, reason: str
) -> None:
    assert reason_of(error) == reason
    assert reason_of(failure(reason)) == reason


# ── tokens ────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "token",
    [
        "v^1.1#i^1#p^3#f^0#r^0#I^3#t^H4sIAAAA==",  # eBay
        # Salesforce.
        "00D50000000IZ3Z!AQ0AQDpEDKYsn7ioKug2aSmgCjgrPjG9eRLza8jXWoW7uA==",
        "cdf01657-110d-4155-99a7-f986b2ff13a0:int",  # Marketo
        "eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0.",
        "~!@$%&*()[]|;'\"\\,<>?`",
        "x" * 64 * 1024,
    ],
    ids=lambda token: token[:12],
)
def test_a_token_need_not_be_what_rfc_6750_calls_one(token: str) -> None:
    found = read(reply(access_token=token, refresh_token=token))
    assert found.access.reveal() == token
    assert found.refresh == Secret(token)


@pytest.mark.parametrize(
    "body", ['{"access_token": null}', '{"access_token": ""}', '{"token": 1}']
)
def test_an_answer_without_a_token_is_no_success(body: str) -> None:
    assert reason_for(answer(body)) == "no_token"


@pytest.mark.parametrize(
    "token",
    [
        *[0, 7, 1.5, True, False, [], ["abc"], {}, {"value": "abc"}],
        *[
            "a b",
            " abc",
            "abc\n",
            "a\r\nX-Evil: 1",
            "a\0b",
            "a\x7fb",
            "ä",
            "a\u200bb",
            "a\u00a0b",
        ],
        *[" ", "\ufeff", "\ud800", "x" * (64 * 1024 + 1)],
    ],
    ids=lambda token: ascii(token)[:20],
)
def test_a_token_that_no_header_can_carry_is_refused(token: object) -> None:
    assert reason_for(reply(access_token=token)) == "bad_token"


@pytest.mark.parametrize("token", [None, ""])
def test_an_empty_refresh_token_is_none(token: object) -> None:
    assert read(reply(refresh_token=token)).refresh is None


def test_a_refresh_token_may_hold_blanks_since_it_is_never_a_header() -> None:
    """RFC 6749, appendix A.17: a refresh token is 1*VSCHAR, blanks included."""
    assert read(reply(refresh_token="a b")).refresh == Secret("a b")


@pytest.mark.parametrize(
    "token", [7, True, ["x"], "a\r\nb", "a\0", "ä", "x" * (64 * 1024 + 1)]
)
def test_a_refresh_token_that_is_none_is_refused(token: object) -> None:
    assert reason_for(reply(refresh_token=token)) == "bad_token"


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        *[
            (word, "Bearer")
            for word in ("Bearer", "bearer", "BEARER", " bearer\n", "BearerToken")
        ],
        *[(word, "Bearer") for word in ("Application Access Token", "", "N_A", "JWT")],
        *[(word, "Bearer") for word in (None, 7, True, ["mac"], {})],
        *[(word, "DPoP") for word in ("DPoP", "dpop", "DPOP", " DPoP ")],
    ],
)
def test_a_token_is_sent_as_bearer_unless_it_is_bound(word: object, kind: str) -> None:
    assert read(reply(token_type=word)).kind == kind


def test_a_missing_token_type_is_bearer() -> None:
    assert read(reply()).kind == "Bearer"


@pytest.mark.parametrize("word", ["mac", "MAC", " Mac "])
def test_a_mac_token_is_refused(word: str) -> None:
    assert reason_for(reply(token_type=word)) == "token_type"


# ── scope ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("scope", "text"),
    [
        ("read write", "read write"),
        ("  read \t write\n", "read write"),
        ("chat:write,users:read", "chat:write,users:read"),  # Slack
        ("https://graph.example/.default", "https://graph.example/.default"),
        (["read", "write"], "read write"),
        (["read", 7, None, "wri\0te", ["x"], ""], "read"),
        ("read \x1b[31mred \x07 ä wri\x00te", "read"),
        ('read "quoted" back\\slash', "read"),
        *[(nothing, None) for nothing in (None, "", [], 0, False)],
        *[(nothing, "") for nothing in (7, True, {"read": "write"}, 1.5)],
    ],
)
def test_a_scope_is_words_that_any_terminal_can_show(
    scope: object, text: str | None
) -> None:
    assert read(reply(scope=scope)).scope == text


def test_a_scope_is_not_kept_at_any_length() -> None:
    assert len(read(reply(scope="read " * 1000)).scope or "") in range(1, 2001)


HIDDEN = "hunter2"


@pytest.mark.parametrize(
    "scope",
    [
        HIDDEN,
        f"read {HIDDEN} write",
        ["read", HIDDEN],
        f"read?client_secret={HIDDEN}&x",
        "x" * 1995 + HIDDEN,  # cut in its middle
        "x " * 998 + HIDDEN,
    ],
    ids=lambda scope: str(scope)[:12],
)
def test_a_provider_cannot_echo_a_secret_as_the_scope(scope: object) -> None:
    shown = read(reply(scope=scope), HIDDEN).scope
    assert HIDDEN[:3] not in shown


def test_a_provider_cannot_echo_its_tokens_as_the_scope() -> None:
    tokens = {"access_token": "first-t", "refresh_token": "secondt"}
    for token in tokens.values():
        assert read(reply(scope=f"read {token}", **tokens)).scope == ""


@pytest.mark.parametrize(
    "scope",
    [
        "read cs-Zq8vN4x W2mK7pL9cTT",
        "read cs.Zq8v.N4xW.2mK7.pL9c.TT",
        ["cs-Zq8vN4x", "read", "W2mK7pL9cTT"],
        "read hunter",
        "read hunter-4 711",
    ],
)
def test_of_a_scope_with_a_secret_in_pieces_only_requested_words_are_stored(
    scope: object,
) -> None:
    secrets = [Secret("cs-Zq8vN4xW2mK7pL9cTT"), Secret("hunter"), Secret("hunter-4711")]
    found = read_token(
        reply(scope=scope), secrets=secrets, now=NOW, requested_scope="read write"
    )
    assert found.scope == "read"
    assert read_token(reply(scope=scope), secrets=secrets, now=NOW).scope == ""


OWN = "cs-Zq8vN4xW2mK7pL9cTT"


@pytest.mark.parametrize(
    ("token", "secret"),
    [
        (OWN, OWN),
        (f"v1.{OWN}.x", OWN),
        (b64encode(f"client:{OWN}".encode()).decode(), OWN),
        (OWN.encode().hex(), OWN),
        ("abc", "abc"),
        ("hunter", "hunter"),
    ],
)
def test_a_secret_that_was_sent_is_not_taken_for_the_access_token(
    token: str, secret: str
) -> None:
    with pytest.raises(TokenEndpointFailed) as caught:
        read(reply(access_token=token), "another-secret-4711", secret)
    assert caught.value.reason == "own_secret"
    assert secret not in f"{caught.value.message} {caught.value.hint}"


def test_a_token_with_a_short_secret_inside_is_a_token() -> None:
    assert read(reply(access_token="my-hunter-token"), "hunter").access


def test_the_refresh_token_that_was_sent_may_come_back() -> None:
    response = reply(access_token="new-token-8f3a", refresh_token=OWN)
    assert read(response, OWN).refresh == Secret(OWN)


def test_a_requested_scope_is_stored_although_a_secret_is_the_same_word() -> None:
    found = read_token(
        reply(scope="read"), secrets=[Secret("read")], now=NOW, requested_scope="read"
    )
    assert found.scope == "read"


def test_a_secret_with_blanks_is_no_scope_either() -> None:
    for scope in ("my  key here", ["my", "", "key", "here"], 'my  key "'):
        assert "key" not in read(reply(scope=scope), "my  key").scope


# ── whatever comes ────────────────────────────────────────────────────────────────────

OUR_WORDS = {
    (error.message, error.hint)
    for error in map(failure, [*FAILURES, "redirect_blocked"])
}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
NAMES = [
    "access_token",
    "refresh_token",
    "token_type",
    "expires_in",
    "expiresIn",
    "expires_at",
]
NAMES += ["expires_on", "scope", "error", "ok", "error_description"]
FIELDS = st.dictionaries(st.sampled_from(NAMES), JSON)
TOKENS = FIELDS.map(lambda fields: {"access_token": "abcdefgh"} | fields)
BODIES = st.one_of(
    st.binary(),
    st.text().map(lambda text: text.encode("utf-8", "surrogatepass")),
    (FIELDS | TOKENS | JSON).map(lambda value: json.dumps(value).encode()),
    st.dictionaries(st.sampled_from(NAMES), st.text()).map(
        lambda form: urlencode(form).encode()
    ),
)


@given(status=st.integers(100, 599), body=BODIES, date=st.none() | st.text())
@example(
    status=200,
    body=b'{"access_token": "abc", "expires_at": ' + b"1" * 400 + b"}",
    date=None,
)
@example(status=200, body=b'{"error": "<b>not our word</b>"}', date="Mon, 99")
def test_whatever_comes_is_a_token_or_a_failure_in_our_words(
    status: int, body: bytes, date: str | None
) -> None:
    headers = {} if date is None else {"Date": date}
    try:
        found = read(answer(body, status, **headers), "client-secret")
    except OutkeyError as error:
        assert (error.message, error.hint) in OUR_WORDS
        assert str(error) == error.message
        assert error.__notes__ == [f"field: {error.field}", f"hint: {error.hint}"]
        assert error.__cause__ is error.__context__ is None
        assert reason_of(error) in {*FAILURES, "redirect_blocked"}
    else:
        assert found.access.reveal().isascii()
        assert found.kind in {"Bearer", "DPoP"}
        assert found.lifetime is None or 0 <= found.lifetime <= TEN_YEARS
        assert (found.scope or "").isascii()
        assert (found.scope or "").isprintable()
