import ssl
from dataclasses import replace
from email.utils import formatdate

import pytest
import trustme

from outkey.foundation.core.errors import (
    Cause,
    ConnectionFailed,
    OutkeyError,
    RedirectBlocked,
    ResponseTooLarge,
    StorageUnavailable,
    TimedOut,
    TlsFailed,
)
from outkey.foundation.core.origin import Origin
from outkey.sending.adapters.tokens.tokens_memory import MemoryTokens
from outkey.sending.adapters.transport import tls_context
from outkey.sending.core.audit.events import Intent, Outcome
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.configuration.custom_rows import CustomHeader, QueryParameter
from outkey.sending.core.configuration.reference import parse_reference
from outkey.sending.core.configuration.secret_state import SecretState
from outkey.sending.core.diagnosis.entered import fields_in_use
from outkey.sending.core.diagnosis.evidence import Diagnosis
from outkey.sending.core.oauth2.token import TokenState
from outkey.sending.core.request.message import (
    Certificate,
    Peer,
    Request,
    Response,
    ResponseHeaders,
    Route,
)
from outkey.sending.engine import connection_test as verify
from outkey.sending.engine.connection_test import Report
from outkey.sending.engine.connection_test_setup import DraftCredentials, prepare_test
from outkey.sending.engine.tokens.token_cache import TokenCache
from outkey.testing import MemorySecrets, configuration, fake_gateway
from outkey.testing.fakes.basic import FakeResponse

TOKEN = {"token": "abc"}


def trial_of(
    *responses: Response | OutkeyError,
    secrets: dict[str, str] | None = None,
    **values: object,
) -> Report:
    made = configuration(**({"authentication_type": "bearer"} | values))
    world = fake_gateway(
        made, responses=list(responses), secrets=TOKEN if secrets is None else secrets
    )
    report = world.gateway.test("acme")
    with_credentials = [
        request
        for request, _ in world.transport.sent
        if "Authorization" in names_of(request)
    ]
    assert len(with_credentials) <= 1
    return report


def names_of(request: Request) -> list[str]:
    return [header.name for header in request.headers]


def steps(report: Report) -> list[tuple[str, bool]]:
    return [(step.step, step.ok) for step in report.steps]


def test_what_works_passes_every_step() -> None:
    report = trial_of(Response(204), Response(401))
    assert report.ok
    assert (report.status, report.cause, report.remedy) == (204, None, None)
    assert steps(report) == [
        ("configuration", True),
        ("secrets", True),
        ("connect", True),
        ("request", True),
    ]


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (401, "challenged"),
        (403, "challenged"),
        (404, "challenged"),
        (200, "ok"),
        (500, "server_error"),
    ],
)
def test_the_request_without_credentials_is_told_apart_in_the_audit(
    status: int, outcome: str
) -> None:
    made = configuration(authentication_type="bearer")
    responses: list[FakeResponse] = [Response(200), Response(status)]
    world = fake_gateway(made, responses=responses, secrets=TOKEN)
    assert world.gateway.test("acme").ok
    intents = [event for event in world.audit.events if isinstance(event, Intent)]
    ends = [event for event in world.audit.events if isinstance(event, Outcome)]
    assert [intent.purpose for intent in intents] == ["", "comparison"]
    assert "purpose" not in intents[0].facts()
    assert [end.outcome for end in ends] == ["ok", outcome]
    assert world.audit.flushes == 1


def test_a_refusal_of_credentials_stays_a_failure_in_the_audit() -> None:
    made = configuration(authentication_type="bearer")
    responses: list[FakeResponse] = [Response(401), Response(401)]
    world = fake_gateway(made, responses=responses, secrets=TOKEN)
    assert not world.gateway.test("acme").ok
    ends = [event for event in world.audit.events if isinstance(event, Outcome)]
    assert [end.outcome for end in ends] == ["invalid_credentials", "challenged"]


@pytest.mark.parametrize(
    ("answer", "step", "cause"),
    [
        (Response(401), "request", "invalid_credentials"),
        (Response(403), "request", "insufficient_permissions"),
        (Response(404), "request", "not_found"),
        (Response(503), "request", "server_error"),
        (Response(304), "request", "unexpected"),
        # The connection was there before: what fails now is the request.
        (ConnectionFailed(), "request", "connection"),
        (TlsFailed(), "request", "tls"),
        (TimedOut(), "request", "timeout"),
        (ResponseTooLarge(), "request", "response_too_large"),
        (
            Response(302, ResponseHeaders((("Location", "https://evil.example"),))),
            "request",
            "redirect_blocked",
        ),
    ],
)
def test_what_fails_is_named_by_step_cause_and_remedy(
    answer: Response | OutkeyError, step: str, cause: str
) -> None:
    report = trial_of(answer, Response(401))
    assert (report.ok, report.cause, bool(report.remedy)) == (False, cause, True)
    assert steps(report)[-1] == (step, False)
    assert all(ok for _, ok in steps(report)[:-1])
    raised = isinstance(answer, OutkeyError) or cause == RedirectBlocked.code
    assert (report.error is not None) == raised


def test_a_missing_secret_fails_before_anything_is_sent() -> None:
    report = trial_of(secrets={})
    assert steps(report) == [("configuration", True), ("secrets", False)]
    assert (report.cause, report.status) == ("secret_missing", None)
    assert [finding.id for finding in report.findings] == ["E-secret_missing"]


def test_a_forbidden_configuration_fails_first() -> None:
    report = trial_of(authentication_type="none")
    assert steps(report) == [("configuration", False)]
    assert (report.cause, report.code) == ("configuration", "authentication_required")
    assert steps(trial_of(verification__test_path="/a#b")) == [("configuration", False)]


def test_the_test_request_is_the_configured_one_and_its_statuses_count() -> None:
    values = {
        "verification__test_path": "/me",
        "verification__test_method": "HEAD",
        "verification__accepted_statuses": "200-299, 404",
    }
    made = configuration(authentication_type="bearer", **values)
    world = fake_gateway(made, responses=[Response(404)], secrets=TOKEN)
    assert world.gateway.test("acme").ok
    request, _ = world.transport.sent[0]
    assert (request.method, request.target) == ("HEAD", "/me")


def test_a_path_that_answers_everybody_proves_nothing_and_says_so() -> None:
    report = trial_of(Response(200), Response(200))
    assert report.ok
    assert report.steps[-1].detail == "status 200; status 200 without credentials"
    assert [finding.id for finding in report.findings] == ["W008"]
    assert report.proves_nothing
    assert not trial_of(Response(200), Response(401)).proves_nothing


@pytest.mark.parametrize(
    ("body", "anonymous", "is_proved"),
    [
        ('{"user": "alice"}', '{"user": null}', True),
        ('{"user": "alice"}', '{"error": "sign in"}', True),
        ("[]", '{"error": "sign in"}', True),
        ('{"time": "10:00"}', '{"time": "10:01"}', False),
        ("<html>alice</html>", "<html>guest</html>", False),
    ],
)
def test_a_success_is_proved_by_another_document_without_credentials(
    body: str, anonymous: str, *, is_proved: bool
) -> None:
    report = trial_of(
        Response(200, body=body.encode()), Response(200, body=anonymous.encode())
    )
    assert report.ok
    assert report.proves_nothing is not is_proved
    other = "another response" if is_proved else "status 200"
    assert report.steps[-1].detail == f"status 200; {other} without credentials"


@pytest.mark.parametrize(
    ("hello", "first"),
    [
        (None, "plain-http-to-tls-port"),
        (TlsFailed(reason="tls-to-plain-port"), "other-protocol"),
        (ConnectionFailed(), "other-protocol"),
    ],
)
def test_plain_http_that_is_closed_in_silence_is_followed_by_one_tls_handshake(
    monkeypatch: pytest.MonkeyPatch, hello: OutkeyError | None, first: str
) -> None:
    made = configuration(
        authentication_type="bearer",
        base_url="http://10.0.0.1:8443",
        network="internal",
    )
    world = fake_gateway(made, responses=[ConnectionFailed()], secrets=TOKEN)
    probed: list[str] = []

    def probe(origin: Origin, route: Route) -> Peer:
        probed.append(str(origin))
        if origin.scheme == "https":
            assert not route.tls.client_certificate
            if hello is not None:
                raise hello
        return Peer("10.0.0.1", "")

    monkeypatch.setattr(world.transport, "probe", probe)
    report = world.gateway.test("acme")
    assert probed == ["http://10.0.0.1:8443", "https://10.0.0.1:8443"]
    assert report.suspicions[0].reason.id == first


@pytest.mark.parametrize(
    "body",
    [b'{"value": "Bearer canary-token-4711"}', b'{"headers": ["Authorization"]}'],
)
def test_an_echo_of_the_credentials_proves_nothing(body: bytes) -> None:
    echo = Response(200, body=body)
    anonymous = Response(200, body=b'{"value": ""}')
    world = fake_gateway(
        configuration(authentication_type="bearer"),
        responses=[echo, anonymous],
        secrets={"token": "canary-token-4711"},
    )
    assert world.gateway.test("acme").proves_nothing


def test_a_success_is_no_failure_without_an_explicit_error() -> None:
    values = {"verification__test_path": "/me"}
    report = trial_of(Response(200, body=b"{}"), Response(401), **values)
    assert report.ok
    assert [finding.id for finding in report.findings] == ["W009"]
    assert "names no user" in report.findings[0].message
    failed = trial_of(Response(200, body=b'{"error": "denied"}'), **values)
    assert (failed.ok, failed.suspicions[0].reason.id) == (False, "error-in-200")


@pytest.mark.parametrize(
    ("answer", "other", "first"),
    [
        (403, Response(401), "forbidden"),
        (403, Response(403), "forbidden"),
        (403, Response(403, body=b"who are you?"), "forbidden"),
        (403, Response(200), "wrong-credentials"),
        (403, ConnectionFailed(), "forbidden"),
        (401, Response(200), "wrong-credentials"),
        (401, Response(401), "wrong-credentials"),
    ],
)
def test_a_refusal_is_compared_with_the_answer_to_nobody(
    answer: int, other: Response | OutkeyError, first: str
) -> None:
    report = trial_of(Response(answer), other)
    assert report.suspicions[0].reason.id == first
    assert report.certainty is report.suspicions[0].certainty


def test_what_the_same_answer_without_credentials_suggests_names_what_is_sent() -> None:
    suspicions = trial_of(Response(401), Response(401)).suspicions
    not_read = next(s for s in suspicions if s.reason.id == "credentials-not-read")
    assert "the token in Authorization" in not_read.remedy


def test_times_and_ids_make_no_other_answer() -> None:
    first = b'{"error": "denied", "trace": "a81bc81b-dead-4e5d"}'
    second = b'{"error": "denied", "trace": "77777777-beef-4e5d"}'
    report = trial_of(Response(403, body=first), Response(403, body=second))
    rivals = [rival.id for rival in report.suspicions[0].rivals]
    assert "credentials-not-read" in rivals


@pytest.mark.parametrize(
    ("other", "first"),
    [
        (Response(401), "not-found"),
        (Response(404), "hidden-401"),
        (ConnectionFailed(), "hidden-401"),
    ],
)
def test_a_404_is_compared_with_the_answer_to_nobody(
    other: Response | OutkeyError, first: str
) -> None:
    report = trial_of(Response(404), other, **{"verification.test_path": "/me"})
    assert report.suspicions[0].reason.id == first


def test_a_404_is_not_compared_where_that_is_not_wanted() -> None:
    made = configuration(
        authentication_type="bearer", **{"verification.compare": False}
    )
    world = fake_gateway(made, responses=[Response(404)], secrets=TOKEN)
    assert world.gateway.test("acme").cause == "not_found"
    assert len(world.transport.sent) == 1


def test_plain_http_that_ends_the_connection_is_told_first() -> None:
    values = {"base_url": "http://10.0.0.7:8443/", "network": "internal"}
    report = trial_of(ConnectionFailed(), **values)
    assert steps(report)[-2:] == [("connect", True), ("request", False)]
    assert report.suspicions[0].reason.id == "plain-http-to-tls-port"
    assert (report.cause, report.code) == ("connection", "")


def test_the_second_request_has_nothing_that_proves_who_sends() -> None:
    made = configuration(
        authentication_type="bearer",
        headers=(
            CustomHeader("X-Api-Key", "", secret=True),
            CustomHeader("X-Tenant", "7", secret=False),
        ),
    )
    secrets = TOKEN | {"header:X-Api-Key": "key"}
    world = fake_gateway(
        made, responses=[Response(200), Response(401)], secrets=secrets
    )
    report = world.gateway.test("acme")
    first, second = (names_of(request) for request, _ in world.transport.sent)
    assert set(first) - set(second) == {"Authorization", "X-Api-Key"}
    assert "X-Tenant" in second
    assert report.findings == ()


def test_the_second_request_has_no_secret_parameter_either() -> None:
    rows = (
        QueryParameter("api_key", "", secret=True),
        QueryParameter("tenant", "7", secret=False),
    )
    made = replace(configuration(no_auth_reason="public_api"), query=rows)
    world = fake_gateway(
        made,
        responses=[Response(200), Response(401)],
        secrets={"query:api_key": "key-0815"},
    )
    assert world.gateway.test("acme").ok
    first, second = (request for request, _ in world.transport.sent)
    assert list(first.secret_parameters) == ["api_key"]
    assert (list(second.secret_parameters), second.target) == ([], "/?tenant=7")


@pytest.mark.parametrize(
    "values",
    [
        {"verification.compare": False},
        {"verification.test_method": "POST"},
        {"authentication_type": "none", "no_auth_reason": "public_api"},
    ],
)
def test_nothing_is_compared_where_it_is_not_safe_or_not_wanted(
    values: dict[str, object],
) -> None:
    world = fake_gateway(
        configuration(**({"authentication_type": "bearer"} | values)),
        responses=[Response(200)],
        secrets=TOKEN,
    )
    assert world.gateway.test("acme").ok
    assert len(world.transport.sent) == 1


def test_a_comparison_that_fails_costs_nothing() -> None:
    report = trial_of(Response(200), ConnectionFailed())
    assert report.ok
    assert report.steps[-1].detail == "status 200; no response without credentials"


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:8000", "http://a.example", "https://127.0.0.1:8000"]
)
def test_a_refused_address_is_said_once_with_one_remedy(url: str) -> None:
    values = {"authentication_type": "bearer", "base_url": url}
    report = fake_gateway(configuration(**values), secrets=TOKEN).gateway.test("acme")
    assert report.cause == "egress_denied"
    assert report.is_refused_address
    assert report.findings == ()
    assert report.error is not None
    assert report.remedy == report.error.hint


def test_the_other_side_is_met_before_anything_is_sent() -> None:
    world = fake_gateway(configuration(authentication_type="bearer"), secrets=TOKEN)
    world.transport.peer = TlsFailed("the server's certificate has expired")
    report = world.gateway.test("acme")
    assert steps(report)[-1] == ("connect", False)
    assert report.cause == "tls"
    assert world.transport.sent == []


def test_the_step_connect_names_version_and_chain_and_remembers_them() -> None:
    world = fake_gateway(
        configuration(authentication_type="bearer"),
        responses=[Response(200), Response(401)],
        secrets=TOKEN,
    )
    chain = (
        Certificate("api.acme.example", "Acme CA", 1e9),
        Certificate("Acme CA", "Root", 2e9),
        Certificate("Root", "Root", 3e9),
    )
    world.transport.peer = Peer("93.184.215.14", "TLSv1.3", chain)
    report = world.gateway.test("acme")
    connect = next(step for step in report.steps if step.step == "connect")
    assert (
        connect.detail
        == "93.184.215.14, TLSv1.3, api.acme.example until 2001-09-09, Acme CA until"
        " 2033-05-18"
    )
    assert report.seen == {"tls": "TLSv1.3", "certificate_ends": 1e9, "clock_offset": 0}


@pytest.mark.parametrize(
    "subject", ["tok-Zq8vN4xW2mK7", "tok.Zq8v.N4xW.2mK7.evil.example"]
)
def test_the_name_of_a_certificate_that_repeats_a_secret_is_not_shown(
    subject: str,
) -> None:
    world = fake_gateway(
        configuration(authentication_type="bearer"),
        responses=[Response(200), Response(401)],
        secrets={"token": "tok-Zq8vN4xW2mK7"},
    )
    chain = (Certificate(subject, "Acme CA", 1e9), Certificate("Acme CA", "Root", 2e9))
    world.transport.peer = Peer("93.184.215.14", "TLSv1.3", chain)
    connect = next(
        step for step in world.gateway.test("acme").steps if step.step == "connect"
    )
    assert (
        connect.detail
        == "93.184.215.14, TLSv1.3, certificate until 2001-09-09, certificate until"
        " 2033-05-18"
    )


def test_a_certificate_without_a_common_name_is_called_by_its_first_host() -> None:
    authority = trustme.CA()
    leaf = authority.issue_cert("api.acme.example", "www.acme.example")
    named = authority.issue_cert("b.example", common_name="Acme")
    shown = [
        tls_context._certificate(_der(one.cert_chain_pems[0])) for one in (leaf, named)
    ]
    assert [one.subject for one in shown] == ["api.acme.example", "Acme"]
    assert tls_context._certificate(_der(authority.cert_pem)).subject == ""


def _der(pem: trustme.Blob) -> bytes:
    return ssl.PEM_cert_to_DER_cert(pem.bytes().decode())


def test_without_tls_that_is_said() -> None:
    report = trial_of(
        Response(200),
        Response(401),
        base_url="http://10.0.0.7/",
        network="internal",
    )
    assert report.steps[-2].detail == "10.0.0.7, without TLS"


SAYS = b'{"message": "Bad credentials for this account"}'


def test_the_other_systems_words_are_shown() -> None:
    report = trial_of(Response(401, body=SAYS))
    assert (
        report.steps[-1].detail
        == "status 401; the API says: Bad credentials for this account"
    )


DESCRIBED = 'Bearer error="invalid_token", error_description="no s3cret/of-tests"'


@pytest.mark.parametrize(
    "answer",
    [
        Response(401, body=b'{"message": "unknown token s3cret/of-tests"}'),
        Response(
            401, body=b'{"message": "unknown token", "echo": "czNjcmV0L29mLXRlc3Rz"}'
        ),
        Response(401, body=b'{"message": "unknown token s3cret\\/of-tests"}'),
        Response(401, ResponseHeaders((("WWW-Authenticate", DESCRIBED),))),
        Response(401, body=b'{"message": "' + b"x " * 92 + b's3cret/of-tests"}'),
    ],
)
@pytest.mark.parametrize("entered", ["s3cret/of-tests", "Bearer s3cret/of-tests"])
def test_words_beside_a_secret_are_not_shown(answer: Response, entered: str) -> None:
    report = trial_of(answer, secrets={"token": entered})
    assert report.steps[-1].detail == "status 401"


def test_words_beside_a_token_of_oauth_are_not_shown() -> None:
    made = configuration(
        authentication_type="bearer",
        token_source="oauth2",
        oauth2__token_url="https://api.acme.example/token",
        oauth2__client_id="erp",
    )
    issued = (
        b'{"access_token": "opaque-91c2", "token_type": "Bearer", "expires_in": 600}'
    )

    def answer(request: Request) -> Response:
        if request.target == "/token":
            return Response(200, body=issued)
        return Response(403, body=b'{"message": "opaque-91c2 may not"}')

    world = fake_gateway(made, responses=answer, secrets={"client_secret": "s"})
    assert world.gateway.test("acme").steps[-1].detail == "status 403"


def test_what_a_success_says_is_data_and_not_shown() -> None:
    report = trial_of(
        Response(200, body=SAYS), **{"verification.accepted_statuses": "599"}
    )
    assert report.steps[-1].detail == "status 200"


def test_a_draft_quotes_nothing() -> None:
    made = configuration(authentication_type="bearer")
    world = fake_gateway(made, responses=[Response(401, body=SAYS)], secrets=TOKEN)
    draft = DraftCredentials(MemorySecrets(TOKEN), MemoryTokens(world.clock.now))
    report = prepare_test(world.sender, made, draft).run()
    assert report.steps[-1].detail == "status 401"


def test_what_could_be_a_token_is_left_out_of_the_words() -> None:
    body = b'{"message": "token eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIx was refused"}'
    report = trial_of(Response(401, body=body))
    assert (
        report.steps[-1].detail == "status 401; the API says: token \u2026 was refused"
    )
    report = trial_of(Response(401, body=b"oauth_problem=token_rejected"))
    assert report.steps[-1].detail == "status 401"


def test_what_the_server_offers_is_remembered() -> None:
    headers = ResponseHeaders((("WWW-Authenticate", "Basic realm=x, Bearer"),))
    assert trial_of(Response(401, headers)).seen["offered"] == ["basic", "bearer"]


@pytest.mark.parametrize(
    ("date", "words"), [(600, "600 s ahead"), (-600, "600 s behind")]
)
def test_another_clock_is_reported(date: int, words: str) -> None:
    made = configuration(authentication_type="bearer")
    world = fake_gateway(made, secrets=TOKEN)
    text = formatdate(world.clock.now() + date - 0.5, usegmt=True)
    world.transport.responses = [Response(401, ResponseHeaders((("Date", text),)))]
    report = world.gateway.test("acme")
    (finding,) = (found for found in report.findings if found.id == "W007")
    assert words in finding.message
    assert report.seen["clock_offset"] == pytest.approx(date, abs=1)


@pytest.mark.parametrize(("seconds", "reported"), [(59, False), (63, True)])
def test_a_clock_is_off_by_more_than_a_minute(seconds: int, *, reported: bool) -> None:
    world = fake_gateway(configuration(authentication_type="bearer"), secrets=TOKEN)
    text = formatdate(world.clock.now() + seconds, usegmt=True)
    world.transport.responses = [Response(401, ResponseHeaders((("Date", text),)))]
    ids = {finding.id for finding in world.gateway.test("acme").findings}
    assert ("W007" in ids) is reported


def test_a_success_that_is_none_fails_the_test(monkeypatch: pytest.MonkeyPatch) -> None:
    found = Diagnosis(Cause.TOKEN_EXPIRED, "Get another one.")
    monkeypatch.setattr(verify, "diagnose_success", lambda *_args, **_more: found)
    report = trial_of(Response(200))
    assert (report.ok, report.cause) == (False, Cause.TOKEN_EXPIRED)


@pytest.mark.parametrize("reference", [None, "env:ACME_TOKEN"])
def test_a_fix_is_offered_only_for_what_is_kept_here(reference: str | None) -> None:
    found = parse_reference(reference, field="token") if reference else None
    state = SecretState("https://api.acme.example:443", found)
    made = replace(
        configuration(authentication_type="bearer"), secrets={"token": state}
    )
    world = fake_gateway(made, secrets={"token": "Bearer Bearer abc"})
    first = world.gateway.test("acme").suspicions[0]
    assert first.reason.id == "doubled-prefix"
    assert (first.fix is None) == (reference is not None)


@pytest.mark.parametrize("answer", [Response(401), Response(304), ConnectionFailed()])
def test_a_request_that_failed_is_shown_with_its_secrets_masked(
    answer: Response | OutkeyError,
) -> None:
    report = trial_of(answer)
    assert report.sent is not None
    assert (report.sent.method, report.sent.url) == ("GET", "https://api.acme.example/")
    assert ("Authorization", "Bearer ***", "authentication") in report.sent.headers


def test_a_request_that_works_or_was_never_made_is_not_shown() -> None:
    assert trial_of(Response(200), Response(401)).sent is None
    assert trial_of(secrets={}).sent is None


# ── an Expired marker is not matched against an echoed secret ─────────────────────────

ECHOED = "a-token-that-is-echoed"


def causes_of(body: str, marker: str, **values: object) -> tuple[object, object]:
    """Return the cause that a test and a request report for a 403 with this body."""
    settings = {
        "authentication_type": "bearer",
        "verification__expired_marker": marker,
        "verification__compare": False,
    } | values
    responses = [Response(403, body=body.encode())] * 2
    world = fake_gateway(
        configuration(**settings), responses=responses, secrets={"token": ECHOED}
    )
    return (
        world.gateway.test("acme").cause,
        world.gateway.send("acme", "GET", "/").cause,
    )


@pytest.mark.parametrize(
    "body",
    [
        f'{{"authorization": "Bearer {ECHOED}"}}',
        f"you sent {ECHOED}",
        f'{{"sent": "a-\\u0074oken{ECHOED.removeprefix("a-token")}", "again": "a-t"}}',
    ],
)
def test_a_marker_says_nothing_of_a_secret_that_the_response_repeats(body: str) -> None:
    right = causes_of(body, "a-t")
    assert right == causes_of(body, "a-x")
    assert right == (Cause.INSUFFICIENT_PERMISSIONS,) * 2


def test_a_marker_counts_where_no_secret_is_repeated() -> None:
    expired = (Cause.TOKEN_EXPIRED,) * 2
    assert causes_of('{"code": "EXPIRED"}', "EXPIRED") == expired
    assert causes_of("not JSON: EXPIRED", "EXPIRED") == expired


def fetching(request: Request) -> Response:
    """Grant a token, and echo it where it is used."""
    if request.target == "/token":
        return Response(
            200, body=b'{"access_token": "a-fetched-token", "token_type": "Bearer"}'
        )
    return Response(403, body=b'{"authorization": "Bearer a-fetched-token"}')


@pytest.mark.parametrize("drafted", [True, False])
def test_a_marker_that_matches_an_echoed_token_renews_nothing(
    *,
    drafted: bool,
) -> None:
    made = configuration(
        authentication_type="bearer",
        token_source="oauth2",
        oauth2__token_url="https://api.acme.example/token",
        oauth2__client_id="client",
        verification__expired_marker="a-fet",
        verification__compare=False,
    )
    secrets = {"client_secret": "a-client-secret"}
    world = fake_gateway(made, responses=fetching, secrets=secrets)
    draft = (
        DraftCredentials(MemorySecrets(secrets), MemoryTokens(world.clock.now))
        if drafted
        else None
    )
    report = prepare_test(world.sender, made, draft).run()
    assert report.cause == Cause.INSUFFICIENT_PERMISSIONS
    asked = [
        request for request, _ in world.transport.sent if request.target == "/token"
    ]
    assert len(asked) == 1


def test_a_secret_is_taken_to_be_repeated_where_tokens_cannot_be_read() -> None:
    class Failing(MemoryTokens):
        def read(
            self, configuration: Configuration, *, opened: bool = True
        ) -> TokenState:
            raise StorageUnavailable

    made = configuration(
        authentication_type="bearer",
        token_source="oauth2",
        oauth2__token_url="https://api.acme.example/token",
        oauth2__client_id="client",
    )
    world = fake_gateway(made)
    context = world.sender.context
    assert not context.repeats_secret(made, Response(403, body=b"harmless"))
    tokens = Failing(world.clock.now)
    failing = replace(context, tokens=tokens, token_cache=TokenCache())
    assert failing.repeats_secret(made, Response(403, body=b"harmless"))


def test_a_refused_key_of_the_query_is_named_in_the_remedy() -> None:
    rows = (QueryParameter("api_key", "", secret=True),)
    made = replace(configuration(), query=rows)
    assert fields_in_use(made) == ["the query parameter api_key"]
