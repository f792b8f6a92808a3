"""The Login tab without I/O: bodies, requests, responses and what is refused."""

import json
from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outkey.foundation.adapters.paths_on_demand import PathsOnDemand
from outkey.foundation.core.errors import (
    ConfigError,
    LoginRefused,
    OutkeyError,
    ParameterConflict,
    RedirectBlocked,
    TokenEndpointFailed,
)
from outkey.foundation.core.fields.choices import BodyFormat, ExpiryUnit
from outkey.foundation.core.placeholders import placeholders_in
from outkey.foundation.core.secret import Secret
from outkey.sending.core.configuration.checks import (
    NO_USERNAME,
    refuse_unsavable,
    setting_findings,
)
from outkey.sending.core.configuration.configuration import Configuration, build
from outkey.sending.core.configuration.custom_rows import CustomHeader, QueryParameter
from outkey.sending.core.login.failures import login_failure
from outkey.sending.core.login.requests import (
    login_request,
    logout_request,
    refresh_request,
)
from outkey.sending.core.login.responses import cookie_value, lifetime_of, read_login
from outkey.sending.core.login.template import fill
from outkey.sending.core.oauth2.responses import TokenResponse, reason_of
from outkey.sending.core.oauth2.token import TokenContent
from outkey.sending.core.request.message import Request, Response, ResponseHeaders
from outkey.sending.engine.tokens.login_paths import (
    login_finders,
    refuse_invalid_expressions,
)

NOW = 1_800_000_000.0
BODY = '{"email": "{username}", "password": "{password}", "mode": {}}'
LOGIN = {
    "base_url": "https://api.acme.example/v2",
    "authentication_type": "bearer",
    "token_source": "login",
    "username": "api",
    "login.path": "/auth/login",
    "login.body": BODY,
    "login.token": "data.access_token",
}
REFRESHED = LOGIN | {
    "login.refresh_path": "/auth/refresh",
    "login.refresh_body": '{"refresh_token": "{refresh_token}"}',
    "login.refresh_token": "data.refresh_token",
}
VALUES = {"password": 'pass"wörd\\', "secret_key": "k&y = 1"}


def login(
    headers: tuple[CustomHeader, ...] = (),
    query: tuple[QueryParameter, ...] = (),
    **changed: object,
) -> Configuration:
    values = REFRESHED | {name.replace("__", "."): v for name, v in changed.items()}
    return build("acme", values, headers=headers, query=query)


def opened(name: str) -> Secret:
    return Secret(VALUES.get(name, "row-secret"))


def text_of(request: Request) -> str:
    assert isinstance(request.body, Secret)
    return request.body.reveal()


def header_of(request: Request, name: str) -> str:
    values = [header.value for header in request.headers if header.name == name]
    assert len(values) == 1
    value = values[0]
    return value.reveal() if isinstance(value, Secret) else value


# ── bodies ────────────────────────────────────────────────────────────────────────────


def test_braces_of_json_and_graphql_are_no_placeholders() -> None:
    body = '{"query": "mutation { login }", "a": {"b": {}}, "c": "{username}"}'
    assert placeholders_in(body) == ["username"]


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_whatever_the_password_is_the_body_stays_json_with_that_password(
    password: str,
) -> None:
    body = fill(BODY, {"username": "a", "password": Secret(password)}, BodyFormat.JSON)
    document = json.loads(body.reveal())
    assert document == {"email": "a", "password": password, "mode": {}}


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_whatever_the_password_is_the_form_has_that_password(password: str) -> None:
    values: dict[str, str | Secret] = {"username": "a", "password": Secret(password)}
    body = fill("u={username}&p={password}\n", values, BodyFormat.FORM)
    pairs = parse_qsl(body.reveal(), keep_blank_values=True)
    assert pairs == [("u", "a"), ("p", password)]


def test_a_value_that_looks_like_a_placeholder_is_not_replaced_again() -> None:
    values: dict[str, str | Secret] = {
        "username": "{password}",
        "password": Secret("{username}"),
    }
    body = fill('["{username}", "{password}"]', values, BodyFormat.JSON)
    assert json.loads(body.reveal()) == ["{password}", "{username}"]


# ── requests ──────────────────────────────────────────────────────────────────────────


def test_a_login_carries_the_rows_but_no_token() -> None:
    made = login(
        headers=(CustomHeader("X-API-Key", "", secret=True),),
        query=(
            QueryParameter("key", "", secret=True),
            QueryParameter("lang", "en", secret=False),
        ),
    )
    request = login_request(made, opened)
    assert (request.method, request.url) == (
        "POST",
        "https://api.acme.example/v2/auth/login?lang=en",
    )
    assert request.secret_parameters == {"key": Secret("row-secret")}
    assert header_of(request, "X-API-Key") == "row-secret"
    assert header_of(request, "Content-Type") == "application/json"
    assert header_of(request, "Content-Length") == str(len(text_of(request).encode()))
    assert "Authorization" not in {header.name for header in request.headers}
    assert json.loads(text_of(request))["password"] == VALUES["password"]
    assert request.body_secrets == (Secret(VALUES["password"]),)
    assert VALUES["password"] not in repr(request)


def test_a_form_login_may_have_the_secret_key_instead_of_a_password() -> None:
    made = login(login__format="form", login__body="key={secret_key}")
    request = login_request(made, opened)
    assert text_of(request) == "key=k%26y+%3D+1"
    assert header_of(request, "Content-Type") == "application/x-www-form-urlencoded"
    assert made.needed_secrets() == ["secret_key"]


def test_a_secret_of_the_refresh_alone_is_needed_too() -> None:
    body = '{"r": "{refresh_token}", "k": "{secret_key}"}'
    assert login(login__refresh_body=body).needed_secrets() == [
        "password",
        "secret_key",
    ]


def test_a_refresh_sends_the_refresh_token() -> None:
    request = refresh_request(login(), opened, Secret("refresh-1"))
    assert request.url.endswith("/v2/auth/refresh")
    assert json.loads(text_of(request)) == {"refresh_token": "refresh-1"}
    assert Secret("refresh-1") in request.body_secrets


@pytest.mark.parametrize(
    ("place", "name", "sent"),
    [
        ("Authorization", "Authorization", "Bearer token-1"),
        ("X-Session", "X-Session", "token-1"),
        ("cookie:sid", "Cookie", "sid=token-1"),
    ],
)
def test_a_logout_carries_the_token_and_the_refresh_token(
    place: str, name: str, sent: str
) -> None:
    made = login(login__logout_path="/auth/logout", token_header=place)
    request = logout_request(
        made, opened, TokenContent(Secret("token-1"), Secret("refresh-1"))
    )
    assert header_of(request, name) == sent
    assert json.loads(text_of(request)) == {"refresh_token": "refresh-1"}
    bare = logout_request(made, opened, TokenContent(Secret("token-1")))
    assert text_of(bare) == ""
    assert "Content-Type" not in {header.name for header in bare.headers}


# ── what is refused before it is saved ────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("changed", "field", "words"),
    [
        ({"login__path": "https://evil.example/login"}, "login.path", "another origin"),
        ({"login__path": "//evil.example/login"}, "login.path", "http"),
        ({"login__path": "/login#now"}, "login.path", "fragment"),
        (
            {"login__refresh_path": "http://evil.example"},
            "login.refresh_path",
            "origin",
        ),
        ({"login__logout_path": "http://evil.example"}, "login.logout_path", "origin"),
        (
            {"login__body": '{"user": "{user}", "password": "{password}"}'},
            "login.body",
            "unknown placeholder",
        ),
        (
            {"login__body": '{"password": "{password}", "r": "{refresh_token}"}'},
            "login.body",
            "unknown placeholder",
        ),
        ({"login__body": '{"user": "{username}"}'}, "login.body", "for a secret"),
        ({"login__body": "password={password}"}, "login.body", "not JSON"),
        ({"login__body": '{"password": {password}}'}, "login.body", "not JSON"),
        ({"login__body": "[" * 1500 + '"{password}"'}, "login.body", "not JSON"),
        ({"login__token": "header:"}, "login.token", "name a header"),
        ({"login__refresh_token": "cookie:a b"}, "login.refresh_token", "cookie"),
        ({"login__refresh_token": ""}, "login.refresh_token", "must not be empty"),
        ({"login__refresh_body": "{}"}, "login.refresh_body", "for a secret"),
        ({"login__refresh_body": "{refresh_token}"}, "login.refresh_body", "not JSON"),
    ],
)
def test_a_login_that_cannot_work_is_refused_at_its_field(
    changed: dict[str, object], field: str, words: str
) -> None:
    with pytest.raises(ConfigError, match=words) as caught:
        refuse_unsavable(login(**changed))
    assert caught.value.field == field


def test_an_unknown_placeholder_is_not_repeated_since_it_may_be_a_password() -> None:
    with pytest.raises(ConfigError) as caught:
        refuse_unsavable(login(login__body='{"password": "{hunter2}"}'))
    assert "hunter2" not in f"{caught.value} {caught.value.hint}"


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"login__path": "https://api.acme.example/login"},
        {
            "login__format": "form",
            "login__body": "p={password}",
            "login__refresh_path": "",
        },
        {
            "login__token": "header:X-Auth-Token",
            "login__refresh_token": "cookie:refresh",
        },
        {
            "token_source": "oauth2",
            "oauth2__token_url": "https://a.example",
            "oauth2__client_id": "a",
            "login__body": "anything",
        },
    ],
)
def test_a_login_that_can_work_is_accepted(changed: dict[str, object]) -> None:
    assert refusal_of(login(**changed)) is None


def refusal_of(made: Configuration) -> OutkeyError | None:
    """Return why a configuration is not saved, None if it is."""
    try:
        refuse_unsavable(made)
        refuse_invalid_expressions(PathsOnDemand(), made)
    except OutkeyError as error:
        return error
    return None


@pytest.mark.parametrize("field", ["token", "refresh_token", "expires_in"])
@pytest.mark.parametrize("expression", ["data.", "a[", "a b"])
def test_an_invalid_expression_is_refused_at_its_field(
    field: str, expression: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        refuse_invalid_expressions(
            PathsOnDemand(), login(**{f"login__{field}": expression})
        )
    assert caught.value.field == f"login.{field}"


def test_a_parameter_of_the_login_path_and_a_row_conflict_before_saving() -> None:
    made = login(
        query=(QueryParameter("key", "1", secret=False),), login__path="/login?key=2"
    )
    with pytest.raises(ParameterConflict):
        refuse_unsavable(made)


def test_an_empty_username_is_worth_a_warning_if_the_body_has_it() -> None:
    assert NO_USERNAME.finding("username") in setting_findings(login(username=""))
    other = login(username="", login__body='{"password": "{password}"}')
    assert list(setting_findings(other)) == []


# ── responses ─────────────────────────────────────────────────────────────────────────


def read(response: Response, **changed: object) -> TokenResponse:
    made = login(**changed)
    finders = login_finders(PathsOnDemand(), made)
    return read_login(response, made, finders, now=NOW)


def answer(document: object, status: int = 200, *headers: tuple[str, str]) -> Response:
    return Response(status, ResponseHeaders(headers), json.dumps(document).encode())


def test_token_refresh_token_and_expiry_are_found() -> None:
    data = {"access_token": "t-1", "refresh_token": "r-1", "expires": 900000}
    found = read(
        answer({"data": data}),
        login__expires_in="data.expires",
        login__expires_unit="ms",
    )
    assert (found.access, found.refresh, found.lifetime) == (
        Secret("t-1"),
        Secret("r-1"),
        900.0,
    )
    assert read(answer({"data": data})).lifetime is None


@pytest.mark.parametrize(
    ("response", "where"),
    [
        (answer("t-1"), "@"),
        (answer({"token": "Bearer t-1"}), "token"),
        (answer({}, 200, ("Authorization", "Bearer t-1")), "header:Authorization"),
        (answer({}, 200, ("x-auth-token", " t-1 ")), "header:X-Auth-Token"),
        (Response(204, ResponseHeaders((("X-T", "t-1"),))), "header:X-T"),
        (
            answer(
                {},
                200,
                ("Set-Cookie", "other=1; Path=/"),
                ("Set-Cookie", "sid=t-1; Path=/; HttpOnly"),
            ),
            "cookie:sid",
        ),
        (answer({"tokens": [{"id": 1}, {"id": 2, "t": "t-1"}]}), "tokens[?t] | [0].t"),
    ],
)
def test_a_token_is_found_wherever_it_is(response: Response, where: str) -> None:
    found = read(response, login__token=where, login__refresh_path="")
    assert (found.access, found.refresh) == (Secret("t-1"), None)


def test_a_number_is_a_token_too_and_keeps_its_digits() -> None:
    response = answer({"token": 12345678901234567890})
    found = read(response, login__token="token")
    assert found.access == Secret("12345678901234567890")


def test_a_word_before_the_token_is_removed_as_it_is_added_again() -> None:
    response = answer({"token": "Session t-1"})
    found = read(response, login__token="token", token_prefix="Session")
    assert found.access == Secret("t-1")


@pytest.mark.parametrize(
    ("lines", "value"),
    [
        (["sid=a; Path=/", "sid=b"], "b"),
        (["sid=a", "sid=; Max-Age=0"], "a"),
        (["SID=a"], ""),
        (["sid = a=b ; Secure"], "a=b"),
        (['sid="a"'], '"a"'),
        (["sid"], ""),
        ([], ""),
    ],
)
def test_a_cookie_is_its_name_and_value_and_nothing_else(
    lines: list[str], value: str
) -> None:
    assert cookie_value(lines, "sid") == value


@pytest.mark.parametrize(
    ("value", "unit", "seconds"),
    [
        (60, "s", 60.0),
        ("60", "s", 60.0),
        (60_000, "ms", 60.0),
        (None, "s", None),
        (None, "at", None),
        ("soon", "ms", None),
        (0, "s", None),
        (-1, "ms", None),
        (True, "s", None),
        (NOW + 60, "at", 60.0),
        ((NOW + 60) * 1000, "at", 60.0),
        ("2027-01-15T08:01:00Z", "at", 60.0),
        ("2027-01-15T09:01:00+01:00", "at", 60.0),
        ("2027-01-15 08:01:00", "at", 60.0),
        (NOW - 60, "at", None),
        (1e300, "s", 10 * 366 * 86400.0),
        (10**400, "s", None),  # of an expression with to_number()
        (10**400, "ms", None),
        (10**400, "at", None),
        (["2027-01-15"], "at", None),
    ],
)
def test_an_expiry_is_read_in_its_unit(
    value: object, unit: str, seconds: float | None
) -> None:
    assert lifetime_of(value, ExpiryUnit(unit), NOW) == seconds


def test_a_moment_refers_to_the_clock_of_the_api() -> None:
    response = answer(
        {"t": "t-1", "ends": "2027-01-15T07:01:00Z"},
        200,
        ("Date", "Fri, 15 Jan 2027 07:00:00 GMT"),
    )
    found = read(
        response,
        login__token="t",
        login__expires_in="ends",
        login__expires_unit="at",
    )
    assert found.lifetime == 60.0


@pytest.mark.parametrize("status", [400, 401, 403, 422])
def test_a_refused_login_is_told_from_a_failed_one(status: int) -> None:
    with pytest.raises(LoginRefused) as caught:
        read(answer({"errors": [{"message": "Invalid user credentials."}]}, status))
    assert (caught.value.code, caught.value.reason) == (
        "invalid_credentials",
        "login-refused",
    )


@pytest.mark.parametrize(
    "document",
    [
        {"error": "bad_login"},
        {"errors": ["bad"], "data": None},
        {"ok": False},
        {"success": False, "message": "no"},
        {"status": "error", "message": "no"},
        {"fault": {"faultstring": "no"}},
        [{"error": "bad_login"}],
    ],
)
def test_a_success_with_an_explicit_error_and_no_token_is_a_refusal(
    document: object,
) -> None:
    with pytest.raises(LoginRefused):
        read(answer(document))


def test_an_error_beside_a_token_is_no_refusal() -> None:
    document = {"errors": ["a warning"], "data": {"access_token": "t-1"}}
    assert read(answer(document)).access == Secret("t-1")


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        (answer({"data": {"user": 1}}), "no_token"),
        (answer({"data": {"access_token": None}}), "no_token"),
        (answer({"data": {"access_token": ""}}), "no_token"),
        (answer(["x"]), "no_token"),
        (answer({"status": 1}), "no_token"),
        (Response(200, body=b"<html>Log in</html>"), "not_a_token_endpoint"),
        (Response(200, body=b"[" * 100_000), "not_a_token_endpoint"),
        (answer({"data": {"access_token": "a b"}}), "bad_token"),
        (answer({"data": {"access_token": True}}), "bad_token"),
        (answer({"data": {"access_token": {"a": 1}}}), "bad_token"),
        (answer({"data": {"access_token": "x" * 70_000}}), "bad_token"),
        (answer({}, 404), "not_found"),
        (answer({}, 405), "not_found"),
        (answer({}, 409), "refused"),
        (answer({}, 429), "rate_limited"),
        (answer({}, 500), "server_error"),
    ],
)
def test_every_other_failure_has_its_reason(response: Response, reason: str) -> None:
    with pytest.raises(TokenEndpointFailed) as caught:
        read(response)
    assert caught.value.reason == reason


def test_a_header_that_is_missing_is_no_token() -> None:
    for where in ("header:X-T", "cookie:sid"):
        with pytest.raises(TokenEndpointFailed) as caught:
            read(Response(200, body=b"hello"), login__token=where)
        assert caught.value.reason == "no_token"


def test_an_expression_that_does_not_fit_the_response_finds_nothing() -> None:
    with pytest.raises(TokenEndpointFailed) as caught:
        read(answer({"data": 7}), login__token="join('', data)")
    assert caught.value.reason == "no_token"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308, 304])
def test_a_login_that_redirects_is_blocked(status: int) -> None:
    with pytest.raises(RedirectBlocked) as caught:
        read(Response(status, ResponseHeaders((("Location", "https://evil.example"),))))
    assert caught.value.field == "login.path"


@given(st.binary(max_size=300), st.integers(200, 599))
def test_whatever_comes_is_a_token_or_an_error_in_our_words(
    body: bytes, status: int
) -> None:
    try:
        read(Response(status, body=body))
    except OutkeyError as error:
        expected = login_failure(reason_of(error))
        assert type(error) is type(expected)
        assert error.__cause__ is error.__context__ is None


@pytest.mark.parametrize(
    ("reason", "field", "label"),
    [
        ("timeout", "login.path", "Login path"),
        ("not_found", "login.refresh_path", "Refresh path"),
        ("refused", "login.logout_path", "Logout path"),
        ("unheard of", "login.path", "Login path"),
        ("redirect_blocked", "login.path", "login"),
        ("server_error", "login.path", "Login path"),
    ],
)
def test_a_failure_names_the_field_of_the_login_and_no_token_url(
    reason: str, field: str, label: str
) -> None:
    error = login_failure(reason, field=field)
    assert error.field == field
    assert label in error.message
    assert "Token URL" not in f"{error.message} {error.hint}"


def test_nothing_is_checked_where_there_is_no_login() -> None:
    made = build("acme", {"base_url": "https://api.acme.example"})
    refuse_invalid_expressions(PathsOnDemand(), made)
