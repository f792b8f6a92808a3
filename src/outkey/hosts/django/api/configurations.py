"""Operations on configurations, and the presets that they are made from."""

from dataclasses import asdict
from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from ninja import Body, Header

from outkey.administration.core.access.api_tokens import Scope
from outkey.administration.core.access.relay import SUBJECT_HEADER
from outkey.administration.core.presets.facts import preset_facts
from outkey.administration.engine.access.api_access import ApiSubject
from outkey.foundation.core.findings.checks import finding_facts
from outkey.foundation.core.secret import Secret
from outkey.hosts.django.api import schemas
from outkey.hosts.django.api.authentication import granted
from outkey.hosts.django.api.interface import operation
from outkey.hosts.django.api.responses import empty_response, json_response
from outkey.hosts.preview_facts import preview_facts
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.configuration.facts import configuration_facts, summary_facts
from outkey.sending.engine.connection_test import Report
from outkey.sending.engine.exchange.calls import RequestContent

TAG = "configurations"
ONE = "/configurations/{segment:name}"
SECRET = ONE + "/secrets/{segment:field}"
BODY_OF_CONFIGURATION: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {"type": "object"},
                "example": schemas.CONFIGURATION,
            }
        },
    }
}
Settings = Annotated[dict[str, Any], Body()]
IfMatch = Annotated[
    str,
    Header(
        alias="If-Match",
        description="The ETag that you have seen: another one is refused with 412.",
        examples=['"3"'],
    ),
]


def _shown_response(configuration: Configuration, status: int = 200) -> HttpResponse:
    """Return a configuration with its version as the ETag."""
    response = json_response(configuration_facts(configuration), status)
    response["ETag"] = f'"{configuration.version}"'
    return response


@operation(
    "GET",
    "/configurations",
    Scope.READ,
    returns={200: list[schemas.ListedConfigurationSchema]},
    tag=TAG,
)
def list_configurations(request: HttpRequest) -> HttpResponse:
    """List the configurations that the token is for."""
    rows = granted(request).summaries()
    return json_response([summary_facts(summary, status) for summary, status in rows])


@operation(
    "GET",
    ONE,
    Scope.READ,
    subject=ApiSubject.CONFIGURATION,
    returns={200: schemas.ShownConfigurationSchema},
    tag=TAG,
)
def show_configuration(request: HttpRequest, name: str) -> HttpResponse:
    """Show a configuration.

    Of its secrets only whether they are set. The ETag is its version, for `If-Match`.
    """
    return _shown_response(granted(request).show(name))


@operation(
    "PUT",
    ONE,
    Scope.MANAGE,
    subject=ApiSubject.NEW_CONFIGURATION,
    returns={
        200: schemas.ShownConfigurationSchema,
        201: schemas.ShownConfigurationSchema,
    },
    tag=TAG,
    extra=BODY_OF_CONFIGURATION,
)
def put_configuration(
    request: HttpRequest, name: str, body: Settings, if_match: IfMatch = ""
) -> HttpResponse:
    """Create a configuration, or replace all of its settings.

    What the body does not name gets its default; secrets stay. The keys are those of
    the TOML.
    """
    saved = granted(request).save(name, body, whole=True, version=if_match)
    return _shown_response(saved.configuration, status=201 if saved.created else 200)


@operation(
    "PATCH",
    ONE,
    Scope.MANAGE,
    subject=ApiSubject.CONFIGURATION,
    returns={200: schemas.ShownConfigurationSchema},
    tag=TAG,
    extra=BODY_OF_CONFIGURATION,
)
def patch_configuration(
    request: HttpRequest, name: str, body: Settings, if_match: IfMatch = ""
) -> HttpResponse:
    """Change the settings that the body names."""
    saved = granted(request).save(name, body, whole=False, version=if_match)
    return _shown_response(saved.configuration)


@operation(
    "DELETE",
    ONE,
    Scope.MANAGE,
    subject=ApiSubject.CONFIGURATION,
    returns={204: None},
    tag=TAG,
)
def delete_configuration(
    request: HttpRequest, name: str, if_match: IfMatch = ""
) -> HttpResponse:
    """Delete a configuration with its secrets and sync lines."""
    granted(request).remove(name, if_match)
    return empty_response()


@operation(
    "PUT",
    SECRET,
    Scope.MANAGE,
    subject=ApiSubject.CONFIGURATION,
    returns={204: None},
    tag=TAG,
)
def set_secret(
    request: HttpRequest, name: str, field: str, body: schemas.NewSecret
) -> HttpResponse:
    """Set a secret, which cannot be read here.

    Fields are password, token, client_secret, client_assertion, refresh_token,
    subject_token, actor_token, private_key, consumer_secret, access_token,
    access_token_secret, secret_access_key, session_token, web_identity_token,
    secret_key, client_key, proxy_password, `header:KEY`, `query:KEY` and
    `token_header:KEY`.
    """
    value = None if body.value is None else Secret(body.value)
    granted(request).set_secret(name, field, value=value, reference=body.reference)
    return empty_response()


@operation(
    "DELETE",
    SECRET,
    Scope.MANAGE,
    subject=ApiSubject.CONFIGURATION,
    returns={204: None},
    tag=TAG,
)
def clear_secret(request: HttpRequest, name: str, field: str) -> HttpResponse:
    """Delete a secret.

    Nothing is sent until another one is set.
    """
    granted(request).clear_secret(name, field)
    return empty_response()


@operation(
    "POST",
    ONE + "/test",
    Scope.SEND,
    subject=ApiSubject.CONFIGURATION,
    returns={200: schemas.ReportSchema},
    tag=TAG,
)
def test_configuration(request: HttpRequest, name: str) -> HttpResponse:
    """Test a configuration step by step.

    A test that failed is a 200 too. The header X-Outkey-Subject-Token has the token of
    the user that it is for, where each request brings one.
    """
    subject = request.headers.get(SUBJECT_HEADER)
    secret = None if subject is None else Secret(subject)
    return json_response(report_facts(granted(request).test(name, secret)))


@operation(
    "POST",
    ONE + "/preview",
    Scope.READ,
    subject=ApiSubject.CONFIGURATION,
    returns={200: schemas.PreviewSchema},
    tag=TAG,
)
def preview_request(
    request: HttpRequest, name: str, body: schemas.PreviewRequest | None = None
) -> HttpResponse:
    """Preview a request: exact, with its secrets masked.

    Nothing is sent.
    """
    wish = body or schemas.PreviewRequest()
    content = RequestContent(params=wish.params, headers=wish.headers)
    preview = granted(request).preview(name, wish.method, wish.path, content)
    return json_response(preview_facts(preview, name))


@operation(
    "GET",
    "/presets",
    Scope.READ,
    returns={200: list[schemas.PresetSchema]},
    tag="presets",
)
def list_presets(request: HttpRequest) -> HttpResponse:
    """List what outkey knows about providers."""
    presets = granted(request).presets()
    return json_response([preset_facts(preset) for preset in presets])


def report_facts(report: Report) -> dict[str, object]:
    """Return the report of a test."""
    return {
        "configuration": report.configuration,
        "ok": report.ok,
        "status": report.status,
        "cause": report.cause,
        "remedy": report.remedy,
        "steps": [asdict(step) for step in report.steps],
        "reasons": [
            {
                "id": suspicion.reason.id,
                "title": suspicion.reason.title,
                "certainty": suspicion.certainty,
                "evidence": suspicion.evidence,
                "or": [rival.id for rival in suspicion.rivals],
                "distinction": suspicion.distinction,
                "remedy": suspicion.remedy,
            }
            for suspicion in report.suspicions
        ],
        "findings": [
            finding_facts(finding, report.configuration) for finding in report.findings
        ],
    }
