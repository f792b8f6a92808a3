"""What passes through the send proxy, and which status an error has."""

import pytest

from outkey.administration.core.access.http_statuses import (
    TOO_LARGE,
    retry_after,
    status_of,
)
from outkey.administration.core.access.relay import (
    RelayedRequest,
    returned_headers,
    returned_status,
)
from outkey.foundation.core.errors import (
    AccountChanged,
    Cause,
    ConfigError,
    ConnectionMissing,
    ConnectionPaused,
    EditConflict,
    EgressDenied,
    InvalidRequest,
    LineBusy,
    OutkeyError,
    RateLimited,
    RemoteError,
    ScopeMissing,
    Sealed,
    SecretMissing,
    StorageUnavailable,
    TimedOut,
    TlsBelowFloor,
    TlsFailed,
    TokenEndpointFailed,
    TokenRefused,
    UnknownConfiguration,
    UnknownConnection,
    VariableMissing,
    configuration_exists,
)
from outkey.sending.core.request.message import Response, ResponseHeaders


def relayed(path: str, query: str = "", **headers: str) -> RelayedRequest:
    pairs = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return RelayedRequest("GET", path, query, pairs, b"")


def test_the_token_of_a_user_is_for_outkey_and_not_for_the_api() -> None:
    request = relayed("x", X_OUTKEY_Subject_Token="user-token-1", X_Other="1")
    token = request.subject_token()
    assert token is not None
    assert token.reveal() == "user-token-1"
    assert request.sent_headers() == {"X-Other": "1"}
    assert relayed("x", X_Other="1").subject_token() is None


@pytest.mark.parametrize(
    ("path", "query", "target"),
    [
        ("", "", ""),
        ("contacts", "", "contacts"),
        ("a%2Fb/c", "x=1&y=%20", "a%2Fb/c?x=1&y=%20"),
        ("a/..b/c..", "", "a/..b/c.."),
        (
            "a:b/c",
            "to=https://other.example/../x",
            "a:b/c?to=https://other.example/../x",
        ),
        ("%2F%2Fevil.example", "", "%2F%2Fevil.example"),
        ("...../x", "", "...../x"),
        ("x;y=../z", "", "x;y=../z"),
        ("caf%E9/%C0/100%2525", "", "caf%E9/%C0/100%2525"),
        ("a ..b/..%ffc", "", "a ..b/..%ffc"),
        ("..%e9/x", "", "..%e9/x"),
    ],
)
def test_a_path_stays_as_it_was_sent(path: str, query: str, target: str) -> None:
    assert relayed(path, query).target() == target


@pytest.mark.parametrize(
    "path",
    [
        "/x",
        "//evil.example/x",
        "https://evil.example/x",
        "HTTP://evil.example",
        "https:\\\\evil.example",
        "\\x",
        "..",
        "a/../b",
        "a/%2e%2e/b",
        "a/%2E./b",
        "a%2F..%2Fb",
        "a\\..\\b",
        "a%5C..%5Cb",
        "a/..;/b",
        "a/%2e%2e%3Bx=1/b",
        # decoded twice, or more often
        "%252e%252e/x",
        "a%252F..%252Fb",
        "%25252e%25252e/x",
        "%25%32%65%25%32%65/x",
        f"%{'25' * 20}2e",
        # encodings that UTF-8 does not permit
        "%c0%ae%c0%ae/x",
        "..%c0%af",
        "a%c1%9c..%c1%9cb",
        "%e0%80%ae%e0%80%ae/x",
        "%f0%80%80%ae./x",
        "%u002e%u002e/x",
        "%uff0e%uff0e/x",
        "..%ef%bc%8fx",
        # trimmed
        "..%20/x",
        "..%09/x",
        "a/..%00/b",
        "a/%20..%c2%a0/b",
        ".%e2%80%8b./x",
        # trimmed by a server that reads Latin-1
        "..%85/x",
        "..%a0",
        "a/.%ad./b",
        "..%25a0%c2%a0/x",
    ],
)
def test_a_path_that_could_leave_the_base_url_is_refused(path: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        relayed(path).target()
    assert caught.value.field == "path"
    assert status_of(caught.value, sends=True) == 400


def test_only_headers_for_the_api_are_sent() -> None:
    request = relayed(
        "x",
        Accept="text/csv",
        Content_Type="text/plain",
        X_Trace="1",
        Authorization="Bearer ok_x",
        Cookie="a=b",
        Set_Cookie="a=b",
        Connection="keep-alive, X-Hop",
        X_Hop="1",
        Host="outkey.example",
        Content_Length="3",
        Accept_Encoding="br",
        Proxy_Authorization="Basic x",
        Transfer_Encoding="chunked",
        TE="trailers",
        Upgrade="h2c",
        X_Forwarded_For="10.0.0.1",
        Forwarded="for=10.0.0.1",
        Via="1.1 a",
        X_Real_IP="10.0.0.1",
        X_Forwarded="for=10.0.0.1",
        True_Client_IP="10.0.0.1",
        X_Client_IP="10.0.0.1",
        CF_Connecting_IP="10.0.0.1",
        X_ProxyUser_IP="10.0.0.1",
        Client_IP="10.0.0.1",
        X_Remote_User="admin",
        X_Original_URL="/admin",
        X_Rewrite_URL="/admin",
        X_HTTP_Method_Override="DELETE",
        X_Outkey_Attempt="forged",
        X_Client_Id="7",
        CF_Access_Client_Id="7",
    )
    assert request.sent_headers() == {
        "Accept": "text/csv",
        "Content-Type": "text/plain",
        "X-Trace": "1",
        "X-Client-Id": "7",
        "CF-Access-Client-Id": "7",
    }


@pytest.mark.parametrize(
    "name", ["X-HTTP-Method", "X-HTTP-Method-Override", "X-Method-Override"]
)
def test_another_method_is_named_only_in_a_post(name: str) -> None:
    """A read that deletes would be recorded and retried as a read."""
    request = RelayedRequest("POST", "x", "", ((name, "DELETE"),), b"")
    assert request.sent_headers() == {name: "DELETE"}
    assert request._replace(method="GET").sent_headers() == {}
    assert request._replace(method="PUT").sent_headers() == {}


@pytest.mark.parametrize(("name", "value"), [("X Bad", "1"), ("X-Bad", "caf\xe9")])
def test_an_invalid_header_of_the_caller_is_refused(name: str, value: str) -> None:
    request = RelayedRequest("GET", "x", "", ((name, value),), b"")
    with pytest.raises(InvalidRequest) as caught:
        request.sent_headers()
    assert value not in str(caught.value)


def test_too_many_headers_are_refused() -> None:
    pairs = tuple((f"X-{number}", "1") for number in range(65))
    with pytest.raises(InvalidRequest, match="more than 64"):
        RelayedRequest("GET", "x", "", pairs, b"").sent_headers()


def answer(*pairs: tuple[str, str], cause: Cause | None = None) -> Response:
    return Response(200, ResponseHeaders(pairs), b"", cause=cause, attempt="a1")


OWN_POLICY = [
    ("X-Content-Type-Options", "nosniff"),
    ("Content-Security-Policy", "sandbox"),
]


@pytest.mark.parametrize(
    "name",
    [
        "NEL",
        "Report-To",
        "Reporting-Endpoints",
        "Service-Worker-Allowed",
        "Public-Key-Pins",
        "Expect-CT",
        "Origin-Agent-Cluster",
        "Content-Security-Policy",
        "Content-Security-Policy-Report-Only",
        "X-Frame-Options",
        "X-Content-Type-Options",
        "Refresh",
        "Access-Control-Allow-Origin",
        "Access-Control-Allow-Credentials",
        "Cross-Origin-Opener-Policy",
        "Permissions-Policy",
        "Referrer-Policy",
        "Document-Policy",
        "SourceMap",
        "Clear-Site-Data",
        "Alt-Svc",
        "Set-Cookie",
        "Status",
        "X-Cascade",
        "Surrogate-Control",
        "CDN-Cache-Control",
        "Cloudflare-CDN-Cache-Control",
        "X-Forwarded-Host",
    ],
)
def test_what_is_about_the_origin_or_for_its_web_server_does_not_come_back(
    name: str,
) -> None:
    """The caller, and what is in front of outkey, would take it for outkey's word."""
    response = answer((name, "anything"), (name.upper(), "more"))
    assert returned_headers(response) == [*OWN_POLICY, ("X-Outkey-Attempt", "a1")]


@pytest.mark.parametrize(
    ("values", "returned"),
    [
        (["public, max-age=9999"], "private, max-age=9999"),
        (["max-age=60", "PUBLIC"], "private, max-age=60"),
        (["s-maxage=60,max-age=5 , immutable"], "private, max-age=5, immutable"),
        (["max-age=5, must-revalidate"], "private, max-age=5, must-revalidate"),
        (['private="A, B", public'], "private"),
        (['x="a, public'], 'private, x="a, public'),
        (['no-cache="A, B", S-MaxAge = 9'], 'private, no-cache="A, B"'),
        (["public"], "private"),
        (["max-age=60;public"], "private, max-age=60;public"),
        (["max-age=60", "no-cache"], "max-age=60, no-cache"),
        (["no-store"], "no-store"),
    ],
)
def test_a_cache_in_front_of_outkey_gives_no_response_to_others(
    values: list[str], returned: str
) -> None:
    response = answer(*(("Cache-Control", value) for value in values))
    assert dict(returned_headers(response))["Cache-Control"] == returned


def test_only_headers_for_the_caller_come_back() -> None:
    response = answer(
        ("Content-Type", "text/csv"),
        ("Link", "<1>"),
        ("link", "<2>"),
        ("Set-Cookie", "a=b"),
        ("Connection", "close, X-Hop"),
        ("X-Hop", "1"),
        ("Content-Length", "3"),
        ("Transfer-Encoding", "chunked"),
        ("Strict-Transport-Security", "max-age=1"),
        ("X-Outkey-Cause", "forged"),
        ("X-Accel-Redirect", "/internal/file"),
        ("X-Accel-Buffering", "yes"),
        ("X-Sendfile", "/etc/passwd"),
        ("X-Sendfile2", "/etc/passwd 0-"),
        ("X-LIGHTTPD-send-file", "/etc/passwd"),
        ("X-LiteSpeed-Location", "/internal/file"),
        ("X-Reproxy-URL", "http://10.0.0.1/"),
        ("RateLimit-Policy", "10;w=1"),
    )
    assert returned_headers(response) == [
        ("Content-Type", "text/csv"),
        ("Link", "<1>, <2>"),
        ("RateLimit-Policy", "10;w=1"),
        *OWN_POLICY,
        ("X-Outkey-Attempt", "a1"),
    ]


def test_a_status_passes_if_http_has_it() -> None:
    for status in (200, 404, 599):
        assert returned_status(Response(status)) == status
    for odd in (101, 600, 999):
        with pytest.raises(RemoteError):
            returned_status(Response(odd))


def test_a_cause_comes_with_the_response() -> None:
    headers = returned_headers(answer(cause=Cause.INVALID_CREDENTIALS))
    assert headers == [
        ("X-Outkey-Cause", "invalid_credentials"),
        *OWN_POLICY,
        ("X-Outkey-Attempt", "a1"),
    ]


@pytest.mark.parametrize(
    ("encoding", "left"),
    [("gzip", None), ("br", "br"), ("br, gzip", "br"), ("identity,", None)],
)
def test_an_encoding_that_was_undone_is_not_named(
    encoding: str, left: str | None
) -> None:
    headers = dict(returned_headers(answer(("Content-Encoding", encoding))))
    assert headers.get("Content-Encoding") == left


@pytest.mark.parametrize(
    ("error", "managing", "sending"),
    [
        (TokenRefused(), 401, 401),
        (ScopeMissing(), 403, 403),
        (UnknownConfiguration(), 404, 404),
        (InvalidRequest(), 400, 400),
        (InvalidRequest(reason=TOO_LARGE), 413, 413),
        (RateLimited(), 429, 429),
        (TimedOut(), 504, 504),
        (TlsBelowFloor(), 502, 502),
        (TlsFailed(), 502, 502),
        (RemoteError(), 502, 502),
        (TokenEndpointFailed(), 502, 502),
        (EgressDenied(), 403, 403),
        (Sealed(), 503, 503),
        (StorageUnavailable(), 503, 503),
        (SecretMissing(), 422, 409),
        (ConnectionMissing(), 409, 409),
        (UnknownConnection(), 404, 404),
        (VariableMissing(), 409, 409),
        (AccountChanged(), 422, 422),
        (ConnectionPaused(), 403, 403),
        (ConfigError(), 422, 409),
        (EditConflict(), 409, 409),
        (LineBusy(), 409, 409),
        (configuration_exists(), 409, 409),
        (OutkeyError(), 500, 500),
    ],
)
def test_every_error_has_a_status(
    error: OutkeyError, managing: int, sending: int
) -> None:
    assert status_of(error) == managing
    assert status_of(error, sends=True) == sending


def test_only_what_passes_by_itself_says_when_to_retry() -> None:
    limited = RateLimited()
    limited.pause = 1.2
    assert retry_after(limited) == "2"
    assert retry_after(StorageUnavailable()) == "1"
    assert retry_after(ConfigError()) == ""
