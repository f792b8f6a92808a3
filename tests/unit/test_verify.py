import pytest

from outkey.core.errors import (
    ConnectionFailed,
    OutkeyError,
    RedirectBlocked,
    ResponseTooLarge,
    TlsFailed,
)
from outkey.core.message import Response, ResponseHeaders
from outkey.engine.verify import Report, accepts
from outkey.testing import configuration, fake_gateway

TOKEN = {"token": "abc"}


def trial_of(
    *answers: Response | OutkeyError, secrets: dict[str, str] | None = None, **values: object
) -> Report:
    made = configuration(**({"authentication_type": "bearer"} | values))
    world = fake_gateway(made, answers=list(answers), secrets=TOKEN if secrets is None else secrets)
    report = world.gateway.test("acme")
    assert len(world.transport.sent) <= 1
    return report


def steps(report: Report) -> list[tuple[str, bool]]:
    return [(step.step, step.ok) for step in report.steps]


def test_what_works_passes_every_step() -> None:
    report = trial_of(Response(204))
    assert report.ok
    assert (report.status, report.cause, report.remedy) == (204, None, None)
    assert steps(report) == [
        ("configuration", True),
        ("secrets", True),
        ("connect", True),
        ("request", True),
    ]


@pytest.mark.parametrize(
    ("answer", "step", "cause"),
    [
        (Response(401), "request", "invalid_credentials"),
        (Response(403), "request", "insufficient_permissions"),
        (Response(404), "request", "not_found"),
        (Response(503), "request", "server_error"),
        (Response(304), "request", "unexpected"),
        (ConnectionFailed(), "connect", "connection"),
        (TlsFailed(), "connect", "tls"),
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
    report = trial_of(answer)
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
    assert report.cause == "configuration"
    assert steps(trial_of(verification__test_path="/a#b")) == [("configuration", False)]


def test_the_test_request_is_the_configured_one_and_its_statuses_count() -> None:
    values = {
        "verification__test_path": "/me",
        "verification__test_method": "HEAD",
        "verification__accepted_statuses": "200-299, 404",
    }
    made = configuration(authentication_type="bearer", **values)
    world = fake_gateway(made, answers=[Response(404)], secrets=TOKEN)
    assert world.gateway.test("acme").ok
    request, _ = world.transport.sent[0]
    assert (request.method, request.target) == ("HEAD", "/me")


@pytest.mark.parametrize(
    ("statuses", "status", "expected"),
    [
        ("200-299", 200, True),
        ("200-299", 299, True),
        ("200-299", 300, False),
        ("200, 404", 404, True),
        ("200,404-405", 405, True),
        ("401", 400, False),
    ],
)
def test_accepted_statuses_are_numbers_and_ranges(
    statuses: str, status: int, *, expected: bool
) -> None:
    assert accepts(statuses, status) is expected
