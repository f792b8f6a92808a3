"""Query rows, header rows with text around a secret, and where a token is sent."""

import pytest

from outkey.administration.core.document.document import parse_document
from outkey.administration.core.document.export import render
from outkey.foundation.core.errors import (
    ConfigError,
    HeaderFormatError,
    OutkeyError,
    ParameterConflict,
)
from outkey.foundation.core.secret import Secret
from outkey.sending.core.audit.events import Intent
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.configuration.custom_rows import CustomHeader, QueryParameter
from outkey.sending.core.configuration.rows import ConfigurationRow, new_row, read_query
from outkey.sending.core.configuration.secret_values import refuse_unusable
from outkey.sending.core.request.message import Request, Response
from outkey.sending.core.vault.voucher import read_voucher
from outkey.testing import configuration, fake_gateway
from outkey.testing.fakes.basic import FakeWorld
from unit.sending.engine.exchange.test_send import answered, sent_headers

KEY_ROW = QueryParameter("api_key", "", secret=True)
KEY = {"query:api_key": "k y&z"}
BEARER = {"authentication_type": "bearer"}
NEXT = "https://api.acme.example/next"


def target_of(request: Request) -> str:
    target = request.wire_target()
    return target.reveal() if isinstance(target, Secret) else target


def with_key(*responses: Response, **values: object) -> FakeWorld:
    made = configuration(query=(KEY_ROW,), **values)
    return fake_gateway(made, responses=list(responses), secrets=KEY)


def redirected(location: str) -> Response:
    return answered(302, ("Location", location))


def read(text: str) -> Configuration:
    """Read the rows of one configuration."""
    document = '[configuration.acme]\nbase_url = "https://a.example"\n' + text
    return parse_document(document).drafts[0].configuration()


# ── query rows ────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("path", "target"),
    [
        ("/me", "/me?lang=de+AT&api_key=k+y%26z"),
        ("/me?page=2", "/me?page=2&lang=de+AT&api_key=k+y%26z"),
    ],
)
def test_query_rows_follow_the_callers_parameters(path: str, target: str) -> None:
    rows = (KEY_ROW, QueryParameter("lang", "de AT", secret=False))
    fake = fake_gateway(configuration(query=rows), secrets=KEY)
    fake.gateway.send("acme", "GET", path)
    assert target_of(fake.transport.sent[0][0]) == target


def test_a_secret_parameter_is_in_no_url_that_is_shown() -> None:
    fake = with_key()
    shown = fake.gateway.preview("acme", "GET", "/me?page=2")
    assert shown.url == "https://api.acme.example/me?page=2&api_key=***"
    assert "k+y" not in shown.curl()
    fake.gateway.send("acme", "GET", "/me")
    request = fake.transport.sent[0][0]
    assert request.url == "https://api.acme.example/me"
    assert "k+y" not in repr(request)
    intents = [event for event in fake.audit.events if isinstance(event, Intent)]
    assert [intent.path for intent in intents] == ["/me"]


def test_the_curl_command_reads_a_secret_parameter_from_a_variable() -> None:
    shown = with_key().gateway.preview("acme", "GET", "/me?page=2")
    assert "'https://api.acme.example/me?page=2&api_key='\"$API_KEY\"" in shown.curl()


@pytest.mark.parametrize("path", ["/me?api_key=own", "/me?api%5Fkey=own"])
def test_a_parameter_of_the_caller_and_of_a_row_is_refused(path: str) -> None:
    fake = with_key()
    with pytest.raises(ParameterConflict) as caught:
        fake.gateway.send("acme", "GET", path)
    assert (caught.value.code, caught.value.field) == (
        "parameter_conflict",
        "query:api_key",
    )
    assert fake.transport.sent == []


def test_a_redirect_that_repeats_our_parameters_does_not_double_them() -> None:
    location = "/other?api_key=k+y%26z&page=2"
    fake = with_key(redirected(location), answered(200))
    fake.gateway.send("acme", "GET", "/me")
    requests = [request for request, _ in fake.transport.sent]
    assert requests[1].target == "/other?page=2"
    assert target_of(requests[1]) == "/other?page=2&api_key=k+y%26z"


def test_a_missing_secret_of_a_row_is_named() -> None:
    fake = fake_gateway(configuration(query=(KEY_ROW,)), secrets={})
    with pytest.raises(ConfigError) as caught:
        fake.gateway.send("acme", "GET", "/me")
    assert caught.value.field == "query:api_key"


def test_a_secret_row_is_a_credential_and_none_needs_no_reason_with_it() -> None:
    assert configuration(query=(KEY_ROW,)).sends_credentials
    assert configuration(query=(KEY_ROW,)).needed_secrets() == ["query:api_key"]


@pytest.mark.parametrize("name", ["", " ", "a b", "a\x7f", "x" * 257])
def test_a_parameter_needs_a_name_without_spaces(name: str) -> None:
    with pytest.raises(ConfigError):
        configuration(query=(QueryParameter(name, "x", secret=False),))


@pytest.mark.parametrize("value", ["a\nb", "x" * 8193])
def test_a_value_of_a_parameter_is_limited(value: str) -> None:
    with pytest.raises(ConfigError):
        configuration(query=(QueryParameter("name", value, secret=False),))
    with pytest.raises(ConfigError):
        refuse_unusable("query:name", Secret(value))


def test_stored_query_rows_that_are_no_rows_cannot_be_read() -> None:
    for stored in (5, [5], [{"key": "a"}]):
        with pytest.raises(ConfigError) as caught:
            read_query(stored)
        assert caught.value.field == "query"


def test_query_rows_are_stored_among_the_settings() -> None:
    made = configuration(query=(KEY_ROW, QueryParameter("lang", "de", secret=False)))
    row = new_row(made, "r1")
    assert row.configuration({}).query == made.query
    assert new_row(configuration(), "r1").settings.get("query") is None


def test_a_curl_command_has_a_variable_for_each_secret_parameter() -> None:
    rows = (KEY_ROW, QueryParameter("other", "", secret=True))
    secrets = KEY | {"query:other": "x"}
    shown = fake_gateway(configuration(query=rows), secrets=secrets).gateway.preview(
        "acme", "GET", "/me"
    )
    url = "'https://api.acme.example/me?api_key='\"$API_KEY\"'&other='\"$OTHER\""
    assert url in shown.curl()


def test_a_preview_shows_the_name_of_the_cookie() -> None:
    made = configuration(**(BEARER | {"token_header": "cookie:sid"}))
    shown = fake_gateway(made, secrets={"token": "abc"}).gateway.preview(
        "acme", "GET", "/"
    )
    assert ("Cookie", "sid=***") in [(h.name, h.value) for h in shown.headers]


# ── text around a secret ──────────────────────────────────────────────────────────────


def test_a_secret_is_filled_into_the_text_of_its_row() -> None:
    row = CustomHeader("Authorization", 'Token token="{secret}"', secret=True)
    fake = fake_gateway(
        configuration(headers=(row,)), secrets={"header:Authorization": " abc\n"}
    )
    fake.gateway.send("acme", "GET", "/")
    headers = sent_headers(fake.transport.sent[0][0])
    assert headers["Authorization"] == 'Token token="abc"'


def test_a_preview_shows_the_text_around_a_secret() -> None:
    row = CustomHeader("Authorization", "Token token={secret}", secret=True)
    fake = fake_gateway(
        configuration(headers=(row,)), secrets={"header:Authorization": "abc"}
    )
    shown = fake.gateway.preview("acme", "GET", "/")
    values = {header.name: header.value for header in shown.headers}
    assert values["Authorization"] == "Token token=***"
    assert "'Authorization: Token token='\"$AUTHORIZATION\"" in shown.curl()


ROW = "[[configuration.acme.headers]]\n"
PARAMETER = "[[configuration.acme.query]]\n"


def test_a_document_names_the_text_and_the_reference_of_a_row() -> None:
    made = read(
        ROW + 'key = "Authorization"\nvalue = "Token token={secret}"\n'
        'reference = "env:CRM_TOKEN"\n' + PARAMETER + 'key = "api_key"\n'
        'value = "env:CRM_KEY"\n'
    )
    assert made.headers == (
        CustomHeader("Authorization", "Token token={secret}", secret=True),
    )
    assert made.query == (KEY_ROW,)
    references = {name: str(state.reference) for name, state in made.secrets.items()}
    assert references == {
        "header:Authorization": "env:CRM_TOKEN",
        "query:api_key": "env:CRM_KEY",
    }
    again = parse_document(render([made], [])).drafts[0].configuration()
    assert again == made


def test_a_row_with_a_reference_alone_is_secret() -> None:
    made = read(ROW + 'key = "X-Tenant"\nreference = "env:TENANT"\n')
    assert made.headers == (CustomHeader("X-Tenant", "", secret=True),)


@pytest.mark.parametrize(
    ("text", "field"),
    [
        (
            ROW + 'key = "X"\nvalue = "{secret} {secret}"\nsecret = true',
            "headers[0].value",
        ),
        (
            ROW + 'key = "X"\nvalue = "plain"\nreference = "env:A"\nsecret = false',
            "headers[0].reference",
        ),
        (
            ROW + 'key = "X"\nvalue = "env:B"\nreference = "env:A"',
            "headers[0].value",
        ),
        (ROW + 'key = "X"\nreference = 5', "headers[0].reference"),
        (PARAMETER + 'key = "a"\nvalue = "1"\nsecret = true', "query[0].value"),
        (
            PARAMETER
            + 'key = "a"\nvalue = "1"\n'
            + PARAMETER
            + 'key = "a"\nvalue = "2"',
            "query[1].key",
        ),
        (PARAMETER + 'key = "a b"\nvalue = "1"', "query[0].key"),
        (PARAMETER + 'key = "lang"', "query[0].value"),
    ],
)
def test_a_row_that_cannot_be_meant_is_refused(text: str, field: str) -> None:
    if text.endswith('key = "lang"'):
        text += "\nsecret = false"
    with pytest.raises(ConfigError) as caught:
        read(text)
    assert caught.value.field == field


def test_parameters_differ_by_case_and_headers_do_not() -> None:
    made = read(
        PARAMETER + 'key = "a"\nvalue = "1"\n' + PARAMETER + 'key = "A"\nvalue = "2"'
    )
    assert [row.key for row in made.query] == ["a", "A"]


# ── where the token goes ──────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("values", "headers", "target"),
    [
        ({}, {"Authorization": "Bearer abc"}, "/"),
        ({"token_prefix": "Token"}, {"Authorization": "Token abc"}, "/"),
        ({"token_prefix": ""}, {"Authorization": "abc"}, "/"),
        ({"token_header": "X-Token"}, {"X-Token": "abc"}, "/"),
        (
            {"token_header": "X-Token", "token_prefix": "Session"},
            {"X-Token": "Session abc"},
            "/",
        ),
        ({"token_header": "cookie:sid"}, {"Cookie": "sid=abc"}, "/"),
        ({"token_header": "query:key"}, {}, "/?key=abc"),
    ],
)
def test_a_token_goes_where_the_configuration_says(
    values: dict[str, object], headers: dict[str, str], target: str
) -> None:
    fake = fake_gateway(
        configuration(**(BEARER | values)), secrets={"token": "Bearer abc"}
    )
    fake.gateway.send("acme", "GET", "/")
    request = fake.transport.sent[0][0]
    places = {"Authorization", "X-Token", "Cookie"}
    sent = {n: v for n, v in sent_headers(request).items() if n in places}
    assert (sent, target_of(request)) == (headers, target)


def test_the_prefix_is_not_doubled_where_the_token_was_pasted_with_it() -> None:
    made = configuration(**(BEARER | {"token_prefix": "Token"}))
    fake = fake_gateway(made, secrets={"token": "Token abc"})
    fake.gateway.send("acme", "GET", "/")
    headers = sent_headers(fake.transport.sent[0][0])
    assert headers["Authorization"] == "Token abc"


@pytest.mark.parametrize(
    ("place", "row"),
    [
        ("query:api_key", KEY_ROW),
        ("cookie:sid", CustomHeader("Cookie", "a=b", secret=False)),
    ],
)
def test_a_token_and_a_row_in_one_place_are_refused(
    place: str, row: CustomHeader | QueryParameter
) -> None:
    rows = {"query" if isinstance(row, QueryParameter) else "headers": (row,)}
    made = configuration(**(BEARER | {"token_header": place} | rows))  # type: ignore[arg-type]
    fake = fake_gateway(made, secrets={"token": "abc", **KEY})
    with pytest.raises(ParameterConflict):
        fake.gateway.send("acme", "GET", "/")
    assert fake.transport.sent == []


def test_a_token_in_the_query_is_a_parameter_of_every_request() -> None:
    made = configuration(**(BEARER | {"token_header": "query:key"}))
    assert made.parameter_names() == {"key"}


@pytest.mark.parametrize("place", ["query:", "cookie:", "cookie:a b", "Host", "Accept"])
def test_a_place_that_cannot_carry_a_token_is_refused(place: str) -> None:
    with pytest.raises(ConfigError) as caught:
        configuration(**(BEARER | {"token_header": place}))
    assert caught.value.field == "token_header"


@pytest.mark.parametrize("prefix", [" Token", "Token ", "Tökén"])
def test_a_prefix_that_would_not_arrive_is_refused(prefix: str) -> None:
    with pytest.raises(ConfigError) as caught:
        configuration(**(BEARER | {"token_prefix": prefix}))
    assert caught.value.field == "token_prefix"


@pytest.mark.parametrize("token", ["a;b", "a,b", 'a"b', "a\\b"])
def test_a_token_cannot_leave_its_cookie(token: str) -> None:
    made = configuration(**(BEARER | {"token_header": "cookie:sid"}))
    fake = fake_gateway(made, secrets={"token": token})
    with pytest.raises(HeaderFormatError):
        fake.gateway.send("acme", "GET", "/")
    assert fake.transport.sent == []


def test_the_former_key_of_the_token_header_is_another_spelling() -> None:
    table = "[configuration.acme.oauth2]\ntoken_header = 'X-Token'\n"
    assert read(table).token_header == "X-Token"
    with pytest.raises(ConfigError) as caught:
        read("token_header = 'X-Other'\n" + table)
    assert caught.value.field == "oauth2.token_header"


def test_what_version_0_1_stored_of_the_token_header_is_read() -> None:
    row = new_row(configuration(), "r1")
    former = {**row.settings, "oauth2.token_header": "X-Token"}
    del former["token_header"]
    stored = ConfigurationRow(
        record=row.record,
        name=row.name,
        version=1,
        revision=1,
        settings=former,
        headers=(),
        health=row.health,
    )
    assert stored.configuration({}).token_header == "X-Token"
    text = '{"facts": {"oauth2.token_header": ["\\"X-Token\\""]}, "ciphertexts": {}}'
    assert (
        read_voucher(text).covers_settings(stored.configuration({})) is False
    )  # the Base URL is not vouched for
    assert "token_header" in read_voucher(text).facts


# ── Basic with the key as the user name ───────────────────────────────────────────────


def test_a_key_is_sent_as_the_user_name() -> None:
    values = {"authentication_type": "basic", "key_as_username": True, "username": "x"}
    fake = fake_gateway(configuration(**values), secrets={"password": "key"})
    fake.gateway.send("acme", "GET", "/")
    headers = sent_headers(fake.transport.sent[0][0])
    assert headers["Authorization"] == "Basic a2V5Ong="  # key:x


def test_a_key_with_a_colon_is_no_user_name() -> None:
    values = {"authentication_type": "basic", "key_as_username": True}
    fake = fake_gateway(configuration(**values), secrets={"password": "a:b"})
    with pytest.raises(HeaderFormatError) as caught:
        fake.gateway.send("acme", "GET", "/")
    assert caught.value.field == "password"


# ── lent credentials ──────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "values",
    [
        {"query": (KEY_ROW,)},
        {"authentication_type": "digest"},
        {"authentication_type": "basic", "proxy__url": "http://proxy.example:3128"},
    ],
)
def test_what_headers_cannot_do_is_not_lent(values: dict[str, object]) -> None:
    made = configuration(**values)  # type: ignore[arg-type]
    fake = fake_gateway(made, secrets={**KEY, "password": "x"})
    with pytest.raises(OutkeyError) as caught:
        fake.gateway.lend("acme", "GET", "https://api.acme.example/", [], body=b"")
    assert caught.value.code == "configuration"
    assert not any(isinstance(event, Intent) for event in fake.audit.events)
