"""From exchanges to reasons: the table of `exchanges.py`, and limits for all."""

import json
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from email.utils import formatdate
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outkey.foundation.core.errors import (
    Cause,
    ConnectionFailed,
    ConnectTimedOut,
    DnsFailed,
    EgressDenied,
    HeaderFormatError,
    OutkeyError,
    RateLimited,
    ReauthorizationNeeded,
    RedirectBlocked,
    ResponseBroken,
    ResponseTooLarge,
    Sealed,
    SecretMissing,
    TimedOut,
    TlsBelowFloor,
    TlsFailed,
    TokenEndpointFailed,
    UnknownConfiguration,
)
from outkey.foundation.core.origin import Origin
from outkey.foundation.core.secret import Secret
from outkey.sending.core.aws.sts import sts_failure
from outkey.sending.core.configuration.configuration import Configuration, build
from outkey.sending.core.configuration.custom_rows import CustomHeader
from outkey.sending.core.configuration.fields import BY_PATH
from outkey.sending.core.diagnosis.assertion_problems import (
    AUDIENCE,
    ISSUER,
    KEY,
    REPLAYED,
    SUBJECT,
    TIME,
    assertion_problem,
    hint_of_refusal,
)
from outkey.sending.core.diagnosis.diagnose import (
    diagnose,
    diagnose_error,
    diagnose_success,
    doubt_about_success,
)
from outkey.sending.core.diagnosis.evidence import Diagnosis, Fix
from outkey.sending.core.diagnosis.failures import (
    TlsHello,
    is_silent_close,
    tls_hello,
)
from outkey.sending.core.diagnosis.reasons import FIXES, REASONS, REMEDIES
from outkey.sending.core.diagnosis.remote_text import remote_message, shorten
from outkey.sending.core.diagnosis.token_refusal_phrases import reason_in
from outkey.sending.core.login.failures import login_failure
from outkey.sending.core.oauth2.responses import (
    exchange_failure,
    failure,
    read_document,
)
from outkey.sending.core.request.assembly import SecretOpener, redirected_request
from outkey.sending.core.request.headers import check_token, check_value
from outkey.sending.core.request.message import Request, Response, ResponseHeaders
from outkey.sending.core.request.proxy import FAILURES, proxy_failure
from outkey.sending.engine.tokens.shown_refusal import add_words
from outkey.testing import configuration
from outkey.testing.canary import find
from unit.exchanges import (
    ANSWERS,
    AWS,
    DOUBTFUL,
    GOOD,
    NOW,
    OAUTH,
    RECORDED,
    SUCCESSES,
    Exchange,
    jwt,
)


def asked_with(exchange: Exchange) -> Configuration:
    values = {
        "base_url": "https://api.acme.example",
        "authentication_type": exchange.kind,
    }
    return build("acme", values | exchange.values, headers=exchange.header_rows)


def answered(exchange: Exchange) -> Response:
    return Response(
        exchange.status, ResponseHeaders(tuple(exchange.headers.items())), exchange.raw
    )


def opener(secrets: dict[str, str]) -> SecretOpener | None:
    def opened(name: str) -> Secret:
        if name not in secrets:
            raise SecretMissing(field=name)
        return Secret(secrets[name])

    return opened if secrets else None


def found_in(exchange: Exchange) -> Diagnosis:
    secret = opener(exchange.secrets)
    found = diagnose(
        answered(exchange),
        asked_with(exchange),
        now=exchange.at,
        secret=secret,
        anonymous=exchange.anonymous,
    )
    assert found is not None
    return found


def ids(found: Diagnosis) -> list[str]:
    return [suspicion.reason.id for suspicion in found.suspicions]


def fix_text(fix: Fix | None) -> str:
    if fix is None:
        return ""
    return fix.tidied or ",".join(f"{path}={value}" for path, value in fix.changes)


def named(table: list[Exchange]) -> list[object]:
    return [pytest.param(one, id=f"{one.who}: {one.first}") for one in table]


@pytest.mark.parametrize("exchange", named(ANSWERS))
def test_an_answer_has_its_first_reason(exchange: Exchange) -> None:
    found = found_in(exchange)
    assert ids(found)[0] == exchange.first, [
        (s.reason.id, s.evidence) for s in found.suspicions
    ]
    assert fix_text(found.suspicions[0].fix) == exchange.fix
    assert found.remedy == found.suspicions[0].remedy
    for suspicion in found.suspicions:
        assert suspicion.evidence.endswith(".")
        assert not any(
            find(suspicion.evidence.encode(), s) for s in exchange.secrets.values()
        )


def has_right_cause(exchange: Exchange) -> bool:
    """Whether the first reason is right, or one of those that it is said to be."""
    right = {REASONS[reason].cause for reason in (exchange.first, *exchange.also)}
    first = found_in(exchange).suspicions[0]
    reasons = (first.reason, *first.rivals)
    return any(one.cause in right or one.id == exchange.first for one in reasons)


def test_the_first_cause_is_right_in_nineteen_of_twenty(
    capsys: pytest.CaptureFixture[str],
) -> None:
    misses = [one for one in (*ANSWERS, *RECORDED) if not has_right_cause(one)]
    share = 1 - len(misses) / len([*ANSWERS, *RECORDED])
    share_recorded = 1 - len([one for one in misses if one in RECORDED]) / len(RECORDED)
    lines = [f"The first cause is right in {share:.1%} of all exchanges"]
    lines += [f"and in {share_recorded:.1%} of {len(RECORDED)} recorded ones,"]
    alone = [one for one in RECORDED if not found_in(one).suspicions[0].rivals]
    lines += [f"{len(RECORDED) - len(alone)} of the recorded ones with an or; not in:"]
    lines += [f"{one.who}: {one.first}, not {ids(found_in(one))}" for one in misses]
    with capsys.disabled():
        sys.stdout.write("\n  ".join(["", *lines]) + "\n")
    assert min(share, share_recorded) >= 0.95


def test_the_recorded_exchanges_are_of_many_servers_and_mistakes() -> None:
    servers = {one.who.rpartition(", ")[0] for one in RECORDED}
    assert len(RECORDED) >= 250
    assert len(servers) >= 40


def test_nobody_is_known_where_everybody_gets_the_same_refusal() -> None:
    same = [
        one
        for one in RECORDED
        if one.status == 403
        and one.anonymous is not None
        and (one.anonymous.status, one.anonymous.body) == (403, one.raw)
    ]
    assert len(same) > 10
    firsts = [found_in(one).suspicions[0] for one in same]
    alone = [first for first in firsts if not first.rivals]
    assert "forbidden" not in [first.reason.id for first in alone]


@pytest.mark.parametrize("exchange", named(SUCCESSES))
def test_an_error_that_says_success_is_found(exchange: Exchange) -> None:
    found = diagnose_success(answered(exchange), asked_with(exchange), now=NOW)
    assert found is not None
    assert ids(found)[0] == exchange.first
    assert diagnose(answered(exchange), asked_with(exchange), now=NOW) is None


@pytest.mark.parametrize("exchange", named(GOOD))
def test_a_real_success_raises_no_alarm(exchange: Exchange) -> None:
    response, asked = answered(exchange), asked_with(exchange)
    assert diagnose_success(response, asked, now=NOW) is None
    assert doubt_about_success(response, asked, now=NOW) is None


@pytest.mark.parametrize("exchange", named(DOUBTFUL))
def test_a_success_that_may_be_a_refusal_is_a_doubt(exchange: Exchange) -> None:
    response, asked = answered(exchange), asked_with(exchange)
    assert diagnose_success(response, asked, now=NOW) is None
    assert exchange.first in (doubt_about_success(response, asked, now=NOW) or "")


@pytest.mark.parametrize("levels", [5, 50])
def test_a_document_is_searched_to_a_depth(levels: int) -> None:
    body = '{"a": ' * levels + '{"error": "x"}' + "}" * levels
    asked = asked_with(GOOD[0])
    doubt = doubt_about_success(Response(200, body=body.encode()), asked, now=NOW)
    assert (doubt is not None) == (levels < 6)


# ── nothing came back ─────────────────────────────────────────────────────────────────


def refused(check: Callable[..., str], text: str, field: str) -> OutkeyError:
    with pytest.raises(HeaderFormatError) as caught:
        check(text, field=field)
    return caught.value


INTRA = Origin("http", "intra.example", 80)


def redirect(place: str, *, origin: Origin = INTRA) -> OutkeyError:
    request = Request("GET", origin, "/")
    response = Response(301, ResponseHeaders((("Location", place),)))
    made = configuration(base_url=str(origin))
    with pytest.raises(RedirectBlocked) as caught:
        redirected_request(request, response, made)
    return caught.value


def downgrade(place: str) -> OutkeyError:
    return redirect(place, origin=Origin("https", "intra.example", 443))


def test_a_redirect_to_plain_http_is_never_entered_as_the_base_url() -> None:
    hint = downgrade("http://intra.example/").hint
    assert "https URL" in hint
    assert "Enter" not in hint
    assert hint == REASONS["redirected-to-http"].remedy


PLAIN: dict[str, object] = {"base_url": "http://intra.example", "network": "internal"}
PUBLIC: dict[str, object] = {"base_url": "http://intra.example"}
OAUTH2: dict[str, object] = {"authentication_type": "bearer"} | OAUTH["values"]  # type: ignore[assignment, operator]
LOGIN: dict[str, object] = {
    "authentication_type": "bearer",
    "token_source": "login",
    "login.path": "/login",
    "login.body": '{"password": "{password}"}',
    "login.token": "token",
}
EXCHANGE = OAUTH2 | {"oauth2.grant": "token_exchange"}
MTLS = OAUTH2 | {"oauth2.client_auth": "mtls"}
BEARER_JWT = OAUTH2 | {"oauth2.grant": "jwt_bearer"}
BY_PASSWORD = OAUTH2 | {"oauth2.grant": "password", "username": "api-user"}
FEDERATED = OAUTH2 | {"oauth2.client_auth": "federated"}


def disliked(error: OutkeyError, problem: str) -> OutkeyError:
    """Return an error whose response was about a part of the assertion."""
    assert isinstance(error, TokenEndpointFailed)
    error.assertion_problem = problem
    return error


SIGNED = OAUTH2 | {"oauth2.client_auth": "private_key_jwt"}
OWN_CERTIFICATE: dict[str, object] = {"tls.client_certificate": "/etc/ssl/own.pem"}


def asked_for(values: dict[str, object]) -> Configuration:
    return build("acme", {"base_url": "https://api.acme.example"} | values)


ROLE = AWS | {
    "authentication_type": "aws_sigv4",
    "aws.role_arn": "arn:aws:iam::1:role/erp",
}
ERRORS: list[tuple[OutkeyError, dict[str, object], list[str], str]] = [
    (TlsFailed(), {}, ["tls-failed"], ""),
    *(
        (TlsFailed(reason=reason), {}, [reason], "")
        for reason in REASONS
        if reason.startswith("certificate-") or reason == "tls-to-plain-port"
    ),
    (
        TlsFailed(reason="client-certificate-missing"),
        {},
        ["client-certificate-missing"],
        "",
    ),
    (
        TlsFailed(reason="client-certificate-missing"),
        OWN_CERTIFICATE,
        ["client-certificate-refused"],
        "",
    ),
    (TlsBelowFloor(), {}, ["tls-too-old"], ""),
    (DnsFailed(), {}, ["dns-failed"], ""),
    (ConnectTimedOut(), {}, ["time-out"], ""),
    (ConnectionFailed(), {}, ["connection-refused"], ""),
    (ConnectionFailed(), PLAIN, ["connection-refused"], ""),
    (ResponseBroken(), PLAIN, ["connection-refused"], ""),
    (ConnectionFailed(reason="other-protocol"), PLAIN, ["other-protocol"], ""),
    (RateLimited(), {}, ["rate-limited"], ""),
    (EgressDenied(), {}, ["egress-denied"], ""),
    (EgressDenied(), PUBLIC, ["https-required"], "base_url=https://intra.example"),
    # https would not help: the network of the configuration is the wrong one.
    (EgressDenied(), PUBLIC | {"base_url": "http://10.0.0.1"}, ["egress-denied"], ""),
    (EgressDenied(), PUBLIC | {"base_url": "http://localhost"}, ["egress-denied"], ""),
    (
        redirect("https://intra.example/"),
        PLAIN,
        ["https-required"],
        "base_url=https://intra.example",
    ),
    (
        redirect("https://intra.example/"),
        PLAIN | {"base_url": "http://intra.example:8080"},
        ["https-required"],
        "",
    ),
    (redirect("https://call-0900.example/"), PLAIN, ["redirected-elsewhere"], ""),
    (downgrade("http://intra.example/"), {}, ["redirected-to-http"], ""),
    (downgrade("http://call-0900.example/"), {}, ["redirected-to-http"], ""),
    (failure("redirect_blocked"), OAUTH2, ["token-url-wrong"], ""),
    (login_failure("redirect_blocked"), LOGIN, ["login-path-wrong"], ""),
    (login_failure("login-refused"), LOGIN, ["login-refused"], ""),
    (login_failure("not_found"), LOGIN, ["login-path-wrong"], ""),
    (login_failure("not_a_token_endpoint"), LOGIN, ["login-path-wrong"], ""),
    (login_failure("no_token"), LOGIN, ["login-token-elsewhere"], ""),
    (login_failure("refused"), LOGIN, ["login-path-wrong"], ""),
    (login_failure("rate_limited"), LOGIN, ["rate-limited"], ""),
    (login_failure("server_error"), LOGIN, ["server-error"], ""),
    (login_failure("timeout"), LOGIN, ["time-out"], ""),
    (login_failure("bad_token"), LOGIN, ["unexpected"], ""),
    (ReauthorizationNeeded(), OAUTH2, ["refresh-token-dead"], ""),
    (ReauthorizationNeeded(reason="not-connected"), OAUTH2, ["not-connected"], ""),
    (failure("invalid_grant"), OAUTH2, ["unexpected"], ""),
    (
        failure("invalid_grant"),
        OAUTH2 | {"oauth2.grant": "refresh_token"},
        ["refresh-token-dead"],
        "",
    ),
    (
        failure("invalid_client"),
        OAUTH2,
        ["client-secret-wrong", "client-authentication-style"],
        "",
    ),
    (
        failure("invalid_request"),
        OAUTH2,
        ["client-authentication-style"],
        "oauth2.client_auth=basic",
    ),
    (failure("invalid_request"), SIGNED, ["client-authentication-style"], ""),
    (failure("invalid_client", NOW + 600), SIGNED, ["clock-off"], ""),
    (failure("invalid_client", NOW + 6), SIGNED, ["client-secret-wrong"], ""),
    (failure("invalid_client"), MTLS, ["client-certificate-missing"], ""),
    (
        failure("invalid_client"),
        MTLS | OWN_CERTIFICATE,
        ["client-certificate-refused"],
        "",
    ),
    (failure("unauthorized_client"), OAUTH2, ["grant-not-allowed"], ""),
    *(
        (disliked(failure("invalid_grant"), problem), BEARER_JWT, [problem], "")
        for problem in (AUDIENCE, ISSUER, SUBJECT, KEY, REPLAYED)
    ),
    (failure("invalid_grant"), BEARER_JWT, ["assertion-refused"], ""),
    (failure("invalid_grant"), BY_PASSWORD, ["password-refused"], ""),
    (
        disliked(failure("invalid_client"), TIME),
        FEDERATED,
        ["federated-token-expired"],
        "",
    ),
    (disliked(failure("invalid_grant"), TIME), BEARER_JWT, ["clock-off"], ""),
    (
        failure("unsupported_grant_type"),
        OAUTH2,
        ["grant-not-allowed", "token-url-wrong"],
        "",
    ),
    (failure("invalid_scope"), OAUTH2, ["scope-not-allowed"], ""),
    (exchange_failure("invalid_grant"), EXCHANGE, ["subject-token-refused"], ""),
    (
        exchange_failure("invalid_request"),
        EXCHANGE,
        ["subject-token-refused", "client-authentication-style"],
        "",
    ),
    (exchange_failure("invalid_target"), EXCHANGE, ["exchange-target-refused"], ""),
    (failure("not_a_token_endpoint"), OAUTH2, ["token-url-wrong"], ""),
    (failure("token_type"), OAUTH2, ["dpop-required"], "oauth2.dpop=true"),
    (failure("use_dpop_nonce"), OAUTH2 | {"oauth2.dpop": True}, ["dpop-required"], ""),
    (failure("bad_token"), OAUTH2, ["unexpected"], ""),
    (sts_failure("aws-role-denied"), ROLE, ["aws-role-denied"], ""),
    (sts_failure("aws-identity-refused"), ROLE, ["aws-identity-refused"], ""),
    (sts_failure("not_found"), ROLE, ["sts-url-wrong"], ""),
    (refused(check_token, "Bearer abc", "token"), {}, ["doubled-prefix"], "token"),
    (refused(check_token, "a\u200bb", "token"), {}, ["invisible-characters"], "token"),
    (refused(check_token, '{"a": 1}', "token"), {}, ["pasted-json"], ""),
    (
        refused(check_value, " a", "header:X-Key"),
        {},
        ["doubled-prefix"],
        "header:X-Key",
    ),
    (
        refused(check_value, "a\r\nb", "header:X-Key"),
        {},
        ["invisible-characters"],
        "header:X-Key",
    ),
    (
        refused(check_value, "x" * 9000, "headers[0].value"),
        {},
        ["header-too-large"],
        "",
    ),
    (
        refused(check_value, "a\x01", "headers[0].value"),
        {},
        ["invisible-characters"],
        "",
    ),
    (HeaderFormatError(), {}, ["malformed-header"], ""),
    (Sealed(), {}, [], ""),
    *((proxy_failure(reason), {}, [reason], "") for reason in FAILURES),
]


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (disliked(failure("invalid_grant", NOW), AUDIENCE), "assertion-audience"),
        (disliked(failure("invalid_grant", NOW + 1), KEY), "assertion-key"),
        (disliked(failure("invalid_request", NOW), ISSUER), "assertion-issuer"),
        (failure("invalid_grant", NOW), "assertion-refused"),
    ],
)
def test_a_provider_that_names_the_claim_leaves_no_weaker_reason(
    error: OutkeyError, reason: str
) -> None:
    found = diagnose_error(error, asked_for(BEARER_JWT), now=NOW)
    assert ids(found) == [reason]


@pytest.mark.parametrize(
    ("error", "values", "expected", "fix"),
    ERRORS,
    ids=[f"{type(e).__name__} {e.reason}: {','.join(r)}" for e, _, r, _ in ERRORS],
)
def test_an_error_has_its_reasons(
    error: OutkeyError, values: dict[str, object], expected: list[str], fix: str
) -> None:
    found = diagnose_error(error, asked_for(values), now=NOW)
    assert ids(found)[: len(expected)] == expected
    assert "plain-http-to-tls-port" not in ids(
        found
    )  # a refused connection is no silence
    assert found.cause == error.cause
    assert found.remedy
    assert error.hint in {"", found.remedy} or error.reason in {
        "invalid_client",
        "invalid_grant",
    }
    assert "0900" not in repr(found)
    assert fix_text(found.suspicions[0].fix if found.suspicions else None) == fix


DESCRIBED = {
    "The subject_token has expired": "subject-token-expired",
    "An actor_token is required": "actor-token-needed",
    "Unsupported subject_token_type": "subject-token-refused",
}


def test_an_audience_that_an_exchange_asks_for_is_not_that_of_the_api() -> None:
    error = exchange_failure("invalid_target")
    assert isinstance(error, TokenEndpointFailed)
    error.suspected = "token-other-audience"
    found = diagnose_error(error, asked_for(EXCHANGE), now=NOW)
    assert "token-other-audience" not in ids(found)


@pytest.mark.parametrize(("description", "expected"), DESCRIBED.items())
def test_the_description_of_a_refused_exchange_decides(
    description: str, expected: str
) -> None:
    error = exchange_failure("invalid_request")
    assert isinstance(error, TokenEndpointFailed)
    error.suspected = reason_in(description)
    found = diagnose_error(error, asked_for(EXCHANGE), now=NOW)
    assert ids(found)[0] == expected
    assert found.remedy == REASONS[expected].remedy


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (
            refused(check_token, "Token abc", "token"),
            "Enter the value only, without the word",
        ),
        (
            refused(check_token, "a\u200bb", "token"),
            "Enter the value again, typed or copied",
        ),
        (
            refused(check_token, '{"a": 1}', "token"),
            "Enter only the value of its access_token.",
        ),
        (
            refused(check_value, "a\r\nb", "header:X-Key"),
            "Enter the value again, typed or copied",
        ),
    ],
)
def test_a_value_that_is_no_header_is_told_what_to_enter(
    error: OutkeyError, sentence: str
) -> None:
    found = diagnose_error(error, configuration(), now=NOW)
    assert found.remedy.startswith(
        f"Review the authentication header format. {sentence}"
    )


@pytest.mark.parametrize(
    ("first", "sentence"),
    [
        ("doubled-prefix", "Enter the value only, without a word such as Bearer"),
        ("secret-in-quotes", "Enter the value without the quotes around it."),
        (
            "invisible-characters",
            "Enter the value again, typed or copied as plain text",
        ),
    ],
)
def test_what_was_entered_wrong_is_told_what_to_enter(
    first: str, sentence: str
) -> None:
    for one in (one for one in ANSWERS if one.first == first):
        told = found_in(one).remedy
        assert told.startswith(f"Review the authentication header format. {sentence}")


def test_an_error_without_a_hint_has_a_remedy_all_the_same() -> None:
    found = diagnose_error(UnknownConfiguration(), configuration(), now=NOW)
    assert (found.remedy, found.suspicions) == (REMEDIES[Cause.UNEXPECTED], ())


@pytest.mark.parametrize(
    ("error", "expected", "fix"),
    [
        (
            ConnectionFailed(),
            ["plain-http-to-tls-port", "connection-refused"],
            "base_url=https://intra.example:8443",
        ),
        (ResponseBroken(), ["connection-refused"], ""),
        (TimedOut(), ["time-out", "plain-http-to-tls-port"], ""),
        (ResponseTooLarge(), [], ""),
    ],
)
def test_a_connection_that_ends_after_plain_http_led_to_a_port_for_https(
    error: OutkeyError, expected: list[str], fix: str
) -> None:
    asked = build("acme", PLAIN | {"base_url": "http://intra.example:8443"})
    hello = TlsHello.ACCEPTED if is_silent_close(error, asked) else None
    found = diagnose_error(error, asked, now=NOW, met=True, hello=hello)
    assert (ids(found), found.cause) == (expected, error.cause)
    assert fix_text(found.suspicions[0].fix if found.suspicions else None) == fix
    secure = build("acme", {"base_url": "https://intra.example"})
    assert "plain-http-to-tls-port" not in ids(
        diagnose_error(error, secure, now=NOW, met=True)
    )


@pytest.mark.parametrize(
    ("words", "style", "first"),
    [
        ("client_secret_basic", "basic", "client-secret-wrong"),
        ("client_secret_basic", "basic_raw", "client-secret-wrong"),
        ("client_secret_post", "body", "client-secret-wrong"),
        ("client_secret_basic", "body", "client-authentication-style"),
        ("private_key_jwt", "basic", "client-authentication-style"),
    ],
)
def test_a_provider_that_names_the_method_in_use_means_the_secret(
    words: str, style: str, first: str
) -> None:
    # Authlib lists the methods that the endpoint takes, for either mistake.
    said = f"The client cannot authenticate with methods: ['{words}']"
    document = {"error": "invalid_client", "error_description": said}
    error = failure("invalid_client")
    add_words(error, Response(401, body=json.dumps(document).encode()), [])
    asked = asked_for(OAUTH2 | {"oauth2.client_auth": style})
    found = diagnose_error(error, asked, now=NOW)
    assert ids(found)[0] == first
    assert bool(found.suspicions[0].fix) is (first == "client-authentication-style")


@pytest.mark.parametrize(
    ("hello", "expected", "rivals"),
    [
        (TlsFailed(reason="certificate-expired"), "plain-http-to-tls-port", []),
        (TlsBelowFloor(), "plain-http-to-tls-port", []),
        # OctoPrint does so while it starts, and speaks http a moment later.
        (
            TlsFailed(reason="tls-to-plain-port"),
            "other-protocol",
            ["connection-refused"],
        ),
        (ConnectionFailed(), "other-protocol", ["ip-not-allowed"]),
    ],
)
def test_a_tls_handshake_shows_why_plain_http_was_closed(
    hello: OutkeyError, expected: str, rivals: list[str]
) -> None:
    asked = build("acme", PLAIN | {"base_url": "http://intra.example:8443"})
    found = diagnose_error(
        ConnectionFailed(), asked, now=NOW, met=True, hello=tls_hello(hello)
    )
    first = found.suspicions[0]
    assert first.reason.id == expected
    assert bool(first.fix) is (expected == "plain-http-to-tls-port")
    assert [rival.id for rival in first.rivals] == rivals


def test_the_other_client_authentication_is_offered_from_either_side() -> None:
    for style, other in (("body", "basic"), ("basic", "body"), ("basic_raw", "basic")):
        asked = build(
            "acme",
            {"base_url": "https://api.acme.example"}
            | OAUTH2
            | {"oauth2.client_auth": style},
        )
        found = diagnose_error(failure("invalid_request"), asked, now=NOW)
        assert fix_text(found.suspicions[0].fix) == f"oauth2.client_auth={other}"


def test_only_the_first_suspicion_has_a_fix() -> None:
    errors = [
        diagnose_error(e, asked_for(values), now=NOW) for e, values, _, _ in ERRORS
    ]
    for found in (*map(found_in, ANSWERS), *errors):
        assert not [later for later in found.suspicions[1:] if later.fix]


def test_a_token_endpoints_clock_is_kept_with_its_refusal() -> None:
    date = (("Date", "Fri, 15 Jan 2027 08:10:00 GMT"),)
    with pytest.raises(OutkeyError) as caught:
        read_document(
            Response(401, ResponseHeaders(date), b'{"error": "invalid_client"}')
        )
    assert getattr(caught.value, "their_time", None) == NOW + 600


# ── the whole table ───────────────────────────────────────────────────────────────────


def test_every_reason_has_a_case_where_it_comes_first() -> None:
    cases = {one.first for one in (*ANSWERS, *SUCCESSES)}
    cases |= {expected[0] for _, _, expected, _ in ERRORS if expected}
    cases |= {*DESCRIBED.values()}
    assert set(REASONS) - cases == set()
    assert len(ANSWERS) + len(SUCCESSES) >= 60


def test_the_remedies_of_the_four_causes_begin_as_the_specification_has_them() -> None:
    begin = {
        Cause.INVALID_CREDENTIALS: "Check the username and password, or the token.",
        Cause.INSUFFICIENT_PERMISSIONS: "Check the permissions of the API user.",
        Cause.TOKEN_EXPIRED: "Implement a token refresh mechanism",
        Cause.HEADER_FORMAT: "Review the authentication header format.",
    }
    for reason in REASONS.values():
        assert reason.remedy.startswith(begin.get(reason.cause, ""))
        assert reason.title
        assert reason.signs.endswith(".")
    assert set(FIXES) <= set(REASONS)


def test_what_a_fix_changes_are_fields_and_values_that_they_take() -> None:
    suspicions = [one for exchange in ANSWERS for one in found_in(exchange).suspicions]
    fixes = [one.fix for one in suspicions if one.fix is not None and one.fix.changes]
    assert {path for fix in fixes for path, _ in fix.changes} == {
        "authentication_type",
        "base_url",
        "headers[0].key",
        "oauth2.dpop",
        "username",
        "verification.test_path",
    }
    for fix in fixes:
        assert "{" not in fix.label
        for path, value in fix.changes:
            if not path.startswith("headers["):
                BY_PATH[path].parse(value == "true" if path.endswith("dpop") else value)


def test_the_order_is_the_same_each_time_and_names_no_reason_twice() -> None:
    for one in ANSWERS:
        found = found_in(one)
        assert ids(found) == ids(found_in(one))
        assert len(set(ids(found))) == len(ids(found))


def test_an_oauth2_token_that_is_refused_was_renewed_before() -> None:
    found = diagnose(
        Response(401),
        build("acme", {"base_url": "https://a.example"} | OAUTH2),
        now=NOW,
    )
    assert found is not None
    assert found.remedy.startswith("Check Scope, Audience and Resource")


def test_a_403_may_be_expiry_and_oauth2_can_be_told_so() -> None:
    asked = build("acme", {"base_url": "https://a.example"} | OAUTH2)
    found = diagnose(Response(403), asked, now=NOW)
    assert found is not None
    assert ids(found) == ["forbidden", "expired-as-403"]
    assert "403 means expired" in found.suspicions[1].remedy


def test_a_field_for_the_time_only_raises_a_suspicion_of_the_clock() -> None:
    response = Response(
        403, body=b'{"timestamp": "2027-01-15T08:00:00Z", "error": "Forbidden"}'
    )
    found = diagnose(response, configuration(authentication_type="bearer"), now=NOW)
    assert found is not None
    assert ids(found)[0] == "forbidden"
    assert "clock-off" in ids(found)


@pytest.mark.parametrize(
    ("date", "agree"), [("", False), ("nonsense", False), ("5", True)]
)
def test_where_the_clocks_agree_the_form_of_the_time_is_named(
    date: str, *, agree: bool
) -> None:
    date = formatdate(NOW + int(date), usegmt=True) if agree else date
    response = Response(
        403, ResponseHeaders((("Date", date),)), b"RequestTimeTooSkewed"
    )
    found = diagnose(response, configuration(authentication_type="bearer"), now=NOW)
    assert found is not None
    assert ids(found)[0] == "clock-off"
    assert ("Both clocks agree" in found.remedy) is agree


NONE: dict[str, object] = {"kind": "none"}
KEY_ROW: dict[str, object] = {"kind": "none", "rows": ("X-API-Key",)}
SCRIPTED = {"script": "def compute_auth_header(sync_line):\n    return {}\n"}


@pytest.mark.parametrize(
    ("given", "fields"),
    [
        ({"kind": "basic"}, "Username, Password"),
        ({"kind": "bearer"}, "Token"),
        (
            NONE | {"rows": ("X-API-Key", "X-App")},
            "the header X-API-Key, the header X-App",
        ),
        (NONE | {"values": SCRIPTED}, "Secret Key of the script"),
        (OAUTH, "Client Secret"),
    ],
)
def test_a_refused_credential_is_told_with_its_fields(
    given: dict[str, object], fields: str
) -> None:
    one = Exchange("", "", 401, secrets={"other": "x"}, **given)  # type: ignore[arg-type]
    found = found_in(one)
    begin = "Check the username and password, or the token. In use here: "
    assert found.remedy.startswith(f"{begin}{fields}.")
    assert ("got a new token" in found.remedy) is (given is OAUTH)
    assert found_in(replace(one, secrets={})).remedy != found.remedy


def test_a_401_that_is_explained_is_not_explained_by_its_status_as_well() -> None:
    explained = [
        one for one in ANSWERS if one.status == 401 and one.first == "wrong-scheme"
    ]
    assert len(explained) > 2
    assert not [one for one in explained if "wrong-credentials" in ids(found_in(one))]
    doubtful = next(one for one in ANSWERS if one.who == "a sandbox in production")
    assert ids(found_in(doubtful)) == ["wrong-environment", "wrong-credentials"]


@pytest.mark.parametrize(
    ("anonymous", "first"), [(401, "not-found"), (404, "hidden-401")]
)
def test_credentials_that_make_a_difference_are_not_refused(
    anonymous: int, first: str
) -> None:
    one = next(one for one in ANSWERS if one.who == "httpbin hidden-basic")
    secret = opener(one.secrets)
    found = diagnose(
        answered(one),
        asked_with(one),
        now=NOW,
        secret=secret,
        anonymous=Response(anonymous),
    )
    assert found is not None
    assert ids(found)[0] == first


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ({"kind": "basic"}, "Authorization: Basic"),
        ({"kind": "digest"}, "Authorization: Digest"),
        ({"kind": "bearer"}, "the token in Authorization"),
        (KEY_ROW, "the header X-API-Key"),
        ({"kind": "none", "values": SCRIPTED}, "what the script"),
        (
            {"kind": "oauth1", "values": {"oauth1.consumer_key": "ck"}},
            "Authorization: OAuth with a signature",
        ),
    ],
)
def test_credentials_that_make_no_difference_are_told_as_they_are_sent(
    given: dict[str, object], sent: str
) -> None:
    everybody = Response(403)
    one = Exchange("", "", 403, secrets={"x": ""}, anonymous=everybody, **given)  # type: ignore[arg-type]
    first, *others = found_in(one).suspicions
    assert (first.reason.id, first.certainty) == ("forbidden", "either")
    assert "credentials-not-read" in [rival.id for rival in first.rivals]
    remedies = {other.reason.id: other.remedy for other in others}
    assert f"Sent here: {sent}" in remedies["credentials-not-read"]


def test_the_token_of_a_login_that_makes_no_difference_is_not_read() -> None:
    values = {name: value for name, value in LOGIN.items() if name != "base_url"}
    everybody = Response(403, body=b"Forbidden")
    one = Exchange(
        "", "", 403, body="Forbidden", values=values, secrets={}, anonymous=everybody
    )
    first, second, *_ = found_in(one).suspicions
    assert (first.reason.id, first.certainty) == ("credentials-not-read", "either")
    assert second.reason.id == "forbidden"


def test_a_key_in_quotes_beside_a_signature_is_the_one_to_tidy() -> None:
    one = Exchange(
        "",
        "",
        401,
        kind="oauth1",
        values={"oauth1.consumer_key": "ck"},
        rows=("X-API-Key",),
        secrets={"consumer_secret": "s3cr3t", "header:X-API-Key": '"k3y"'},
    )
    [first, *_] = found_in(one).suspicions
    assert first.reason.id == "secret-in-quotes"
    assert fix_text(first.fix) == "header:X-API-Key"


@pytest.mark.parametrize("status", [401, 403])
def test_without_credentials_the_scheme_that_is_asked_for_is_named(status: int) -> None:
    headers = {"WWW-Authenticate": 'Basic realm="x", Private key="0900"'}
    found = found_in(Exchange("", "", status, headers, kind="none"))
    assert ids(found)[0] == "no-credentials-sent"
    assert found.remedy.endswith("The API asks for Basic.")


def test_the_first_byte_of_a_port_for_https_is_enough() -> None:
    asked = build("acme", PLAIN | {"base_url": "http://intra.example:8443"})
    error = ConnectionFailed(reason="plain-http-to-tls-port")
    found = diagnose_error(error, asked, now=NOW, met=True)
    assert ids(found) == ["plain-http-to-tls-port"]
    fix = fix_text(found.suspicions[0].fix)
    assert fix == "base_url=https://intra.example:8443"


def test_a_dpop_clients_scheme_is_the_tokens_own_business() -> None:
    asked = build(
        "acme", {"base_url": "https://a.example"} | OAUTH2 | {"oauth2.dpop": True}
    )
    headers = ResponseHeaders((("WWW-Authenticate", "Basic"),))
    found = diagnose(Response(401, headers), asked, now=NOW)
    assert found is not None
    assert "wrong-scheme" not in ids(found)


def test_a_scheme_in_a_row_or_script_is_not_compared() -> None:
    headers = {"WWW-Authenticate": "Basic"}
    by_row = Exchange("", "", 401, headers, kind="none", rows=("Authorization",))
    assert ids(found_in(by_row)) == ["wrong-credentials"]


@pytest.mark.parametrize("scheme", ["Token abc", "Bearer abc"])
def test_a_row_for_authorization_may_have_one_scheme(scheme: str) -> None:
    one = Exchange("", "", 401, kind="none", rows=("Authorization",))
    tried = replace(one, secrets={"header:Authorization": scheme})
    assert ids(found_in(tried)) == ["wrong-credentials"]


def test_a_row_that_is_not_secret_is_not_looked_at() -> None:
    asked = configuration(headers=(CustomHeader("X-Tenant", '"seven"', secret=False),))
    found = diagnose(Response(404), asked, now=NOW, secret=lambda _: Secret('"a"'))
    assert found is not None
    assert ids(found) == ["not-found", "wrong-path"]


def test_words_of_tokens_and_of_https_count_only_where_they_can_be_meant() -> None:
    response = Response(403, body=b"SSL is required; token expired; token revoked")
    found = diagnose(response, configuration(authentication_type="basic"), now=NOW)
    assert found is not None
    assert ids(found) == ["forbidden"]


def test_every_reason_has_its_page() -> None:
    folder = Path(__file__).parents[5] / "docs" / "reasons"
    assert {page.stem for page in folder.glob("*.md")} == {*REASONS, "index"}


@pytest.mark.parametrize(
    ("ahead", "first"), [(600, "token-expired"), (0, "wrong-credentials")]
)
def test_a_tokens_end_is_judged_by_the_apis_clock(ahead: int, first: str) -> None:
    headers = {"Date": formatdate(NOW + ahead, usegmt=True)}
    headers["WWW-Authenticate"] = 'Bearer error="invalid_token"'
    one = Exchange("", "", 401, headers, secrets={"token": jwt(exp=NOW + 300)})
    assert ids(found_in(one))[0] == first


def test_a_secret_that_cannot_be_opened_is_no_evidence() -> None:
    one = Exchange("", "", 401, kind="bearer", secrets={"password": "x"})
    assert ids(found_in(one)) == ["wrong-credentials"]


@pytest.mark.parametrize(
    "audience", ["https://auth.acme.example/v2", "api://0815", "erp", "https://[bad", 7]
)
def test_an_audience_of_the_same_house_or_without_a_host_proves_nothing(
    audience: object,
) -> None:
    one = Exchange("", "", 401, secrets={"token": jwt(aud=audience)})
    assert ids(found_in(one)) == ["wrong-credentials"]


@pytest.mark.parametrize(
    "date", ["Fri, 15 Jan 2027 08:10:00 -0000", "Fri, 15 Jan 2027 08:10:00 GMT"]
)
def test_a_date_without_a_zone_counts_as_utc(date: str) -> None:
    response = Response(401, ResponseHeaders((("Date", date),)), b"bad timestamp")
    found = diagnose(response, configuration(authentication_type="bearer"), now=NOW)
    assert found is not None
    assert found.suspicions[0].evidence.startswith(
        "The clock of the API is 600 seconds ahead of this machine"
    )


# ── their own words ───────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (
            '{"error": "invalid_grant", "error_description": "Token is dead"}',
            "Token is dead",
        ),
        ('{"error": {"code": 7, "message": "API key not valid"}}', "API key not valid"),
        ('{"errors": [{"detail": "No such order"}]}', "No such order"),
        ('[{"message": "Session expired", "errorCode": "X"}]', "Session expired"),
        (
            '{"response": {"errors": [{"code": "250003", "message": "Invalid"}]}}',
            "Invalid",
        ),
        ('{"Message": "two\\r\\nlines\\u0007 \\u202eevil"}', "two lines evil"),
        ('{"ok": false, "error": "invalid_auth"}', "invalid_auth"),
        ('{"id": 7}', ""),
        ('{"error": null, "errors": []}', ""),
        ('{"error": ' * 9 + '"deep"' + "}" * 9, ""),
        ("7", ""),
        ("<html><title>Log in &amp; go</title>", "Log in & go"),
        ("<Error><Code>A</Code><Message>Too skewed</Message></Error>", "Too skewed"),
        ("<html><body>nothing</body></html>", ""),
        ("Invalid API key\n", "Invalid API key"),
        ("", ""),
        ("x" * 300, "x" * 199 + "…"),
    ],
)
def test_the_other_systems_words_are_one_printable_line(body: str, words: str) -> None:
    assert shorten(remote_message(Response(400, body=body.encode()))) == words


def test_a_challenge_speaks_where_the_body_does_not() -> None:
    text = 'Bearer error="invalid_token", error_description="The token\texpired"'
    response = Response(401, ResponseHeaders((("WWW-Authenticate", text),)), b"{}")
    assert remote_message(response) == "The token expired"


# ── never ─────────────────────────────────────────────────────────────────────────────

HEADERS = st.sampled_from(
    ["WWW-Authenticate", "Date", "Retry-After", "Location", "X-OAuth-Scopes", "Server"]
)
PIECES = st.sampled_from(
    [
        'Bearer error="invalid_token"',
        "Basic, DPoP",
        '{"ok": false, "error": ',
        "<html><title>log in",
        "token_expired",
        "x-api-key",
        "timestamp",
        "9" * 400,
        "[" * 2000,
        "\x00\u202e",
    ]
)
TEXTS = st.lists(PIECES | st.text(max_size=20), max_size=5).map(" ".join)
SECRETS = st.text(st.characters(min_codepoint=33, max_codepoint=0x2FF), min_size=8).map(
    lambda text: f"canary{text}yranac"
)


@given(
    status=st.integers(200, 599),
    headers=st.lists(st.tuples(HEADERS, TEXTS), max_size=4),
    body=TEXTS,
    secret=SECRETS,
    wrapped=st.sampled_from(["{}", '"{}"', "Bearer {}", '{{"a": "{}"}}', "{}\u200b"]),
    exchange=st.sampled_from(ANSWERS),
)
def test_nothing_makes_it_fail_and_no_secret_is_told(
    *,
    status: int,
    headers: list[tuple[str, str]],
    body: str,
    secret: str,
    wrapped: str,
    exchange: Exchange,
) -> None:
    asked = asked_with(exchange)
    value = wrapped.format(secret)
    response = Response(
        status,
        ResponseHeaders(tuple(headers)),
        f"{body} {value}".encode(errors="replace"),
    )
    found = diagnose(response, asked, now=NOW, secret=lambda _: Secret(value))
    hidden = diagnose_success(response, asked, now=NOW)
    hidden = hidden or doubt_about_success(response, asked, now=NOW)
    assert (found is None) == (status < 400)
    assert not find(f"{found!r} {hidden!r}".encode(), secret)
    words = shorten(remote_message(response))
    assert len(words) <= 200
    assert not words or words.isprintable()


@given(
    claims=st.recursive(st.none() | st.integers() | st.text(), st.lists, max_leaves=3)
)
def test_no_claim_makes_it_fail(claims: object) -> None:
    for name in ("exp", "nbf", "aud", "iss"):
        assert found_in(
            Exchange("", "", 401, secrets={"token": jwt(**{name: claims})})
        ).suspicions


@pytest.mark.parametrize(
    "body",
    [
        json.dumps({"error": "nothing known", "padding": "token " * 4000}),
        "<title" * 3000,
        "(missing equal-sign" * 900,
    ],
    ids=["long", "tags", "nearly"],
)
def test_a_long_answer_takes_no_time(body: str) -> None:
    response = Response(401, body=body.encode())
    asked = configuration(authentication_type="bearer")
    started = time.perf_counter()
    for _ in range(20):
        assert diagnose(response, asked, now=NOW) is not None
    remote_message(response)
    assert time.perf_counter() - started < 0.5


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ("Token must be short-lived and in a reasonable timeframe", TIME),
        ("Invalid JWT Signature.", KEY),
        ("Invalid grant: account not found", ISSUER),
        ("Invalid email or User ID", SUBJECT),
        ("Client is unauthorized to retrieve access tokens using this method", SUBJECT),
        ("user hasn't approved this consumer", SUBJECT),
        ("consent_required", SUBJECT),
        ("no_valid_keys_or_signatures", KEY),
        ("AADSTS700024: Client assertion is not within its valid time range.", TIME),
        ("AADSTS700023: The audience does not match Realm issuer", AUDIENCE),
        ("presented assertion subject. Check the issuer and the audience.", SUBJECT),
        ("AADSTS700211: No record for presented assertion issuer", ISSUER),
        ("AADSTS700212: No record for presented assertion audience", AUDIENCE),
        ("The assertion was already used", REPLAYED),
        ("invalid jti", REPLAYED),
        ("The aud claim is not this server", AUDIENCE),
        ("unknown kid", KEY),
        ("The user name is unknown", ""),
        ("associated account", ""),
    ],
)
def test_the_words_of_a_provider_name_the_part_of_an_assertion(
    words: str, problem: str
) -> None:
    assert assertion_problem(words) == problem


def test_the_evidence_has_the_value_that_was_sent() -> None:
    error = disliked(failure("invalid_grant"), AUDIENCE)
    made = asked_for(BEARER_JWT)
    [first, *_] = diagnose_error(error, made, now=NOW).suspicions
    assert made.oauth2.token_url in str(first.evidence)


def test_a_refused_assertion_has_a_hint_about_it_and_not_about_a_consent() -> None:
    hint = str(hint_of_refusal(asked_for(BEARER_JWT)))
    assert hint == "Check issuer, subject and audience of assertions, and the key."


def test_the_evidence_about_a_key_has_no_value() -> None:
    error = disliked(failure("invalid_grant"), KEY)
    [first, *_] = diagnose_error(error, asked_for(BEARER_JWT), now=NOW).suspicions
    assert first.reason.id == KEY
    assert "The assertion has" not in str(first.evidence)
