"""Operations on the rotation of the credentials of a configuration."""

from typing import Any

from django.http import HttpRequest, HttpResponse

from outkey.administration.core.access.api_tokens import Scope
from outkey.administration.engine.access.api_access import ApiSubject
from outkey.administration.engine.access.api_rotation import ApiRotation
from outkey.hosts.django.api import schemas
from outkey.hosts.django.api.authentication import granted
from outkey.hosts.django.api.configurations import ONE, report_facts
from outkey.hosts.django.api.interface import operation
from outkey.hosts.django.api.responses import empty_response, json_response

TAG = "rotation"
ROTATION = ONE + "/rotation"
STEP: dict[int, Any] = {200: schemas.StepOfRotationSchema}


@operation(
    "GET",
    ROTATION,
    Scope.READ,
    subject=ApiSubject.CONFIGURATION,
    returns={200: schemas.RotationSchema},
    tag=TAG,
)
def show_rotation(request: HttpRequest, name: str) -> HttpResponse:
    """Show which credentials are in use, next and previous; never a value."""
    return json_response(_rotation(request, name).status())


@operation(
    "PUT",
    ROTATION + "/secrets/{segment:field}",
    Scope.MANAGE,
    subject=ApiSubject.CONFIGURATION,
    returns={204: None},
    tag=TAG,
)
def stage_secret(
    request: HttpRequest, name: str, field: str, body: schemas.NewSecret
) -> HttpResponse:
    """Stage the next secret beside the one in use.

    It is used for nothing until it is tested. Fields are those of the secrets, except
    for refresh_token and proxy_password, and username, client_id, client_certificate
    and token_expires_on.
    """
    rotation = _rotation(request, name)
    rotation.stage(field, value=body.value, reference=body.reference)
    return empty_response()


@operation(
    "POST",
    ROTATION + "/test",
    Scope.SEND,
    subject=ApiSubject.CONFIGURATION,
    returns={200: schemas.ReportOfSetSchema},
    tag=TAG,
)
def test_next_credentials(request: HttpRequest, name: str) -> HttpResponse:
    """Test the next credentials, and that a request without any is refused.

    A test that failed is a 200 too.
    """
    rotation = _rotation(request, name)
    serial = rotation.next_serial()
    return json_response({**report_facts(rotation.test()), "serial": serial})


@operation(
    "POST",
    ROTATION + "/start",
    Scope.MANAGE,
    subject=ApiSubject.CONFIGURATION,
    returns={200: schemas.StartedTrialSchema},
    tag=TAG,
)
def start_trial(
    request: HttpRequest, name: str, body: schemas.NewTrial | None = None
) -> HttpResponse:
    """Let a share of the requests try the next credentials.

    During a trial it changes share and number.
    """
    rotation = _rotation(request, name)
    wish = body or schemas.NewTrial()
    serial = rotation.next_serial()
    trial = rotation.start(wish.share, wish.after)
    numbers = {"share": trial.share, "after": trial.after}
    return _done("started", name, serial, **numbers)


@operation(
    "POST",
    ROTATION + "/promote",
    Scope.MANAGE,
    subject=ApiSubject.CONFIGURATION,
    returns=STEP,
    tag=TAG,
)
def promote_credentials(request: HttpRequest, name: str) -> HttpResponse:
    """Use the next credentials for all requests; the ones before stay stored."""
    return _done("promoted", name, _rotation(request, name).promote())


@operation(
    "POST",
    ROTATION + "/back",
    Scope.MANAGE,
    subject=ApiSubject.CONFIGURATION,
    returns=STEP,
    tag=TAG,
)
def go_back(request: HttpRequest, name: str) -> HttpResponse:
    """End a trial, or use the previous credentials again."""
    return _done("back", name, _rotation(request, name).back())


@operation(
    "POST",
    ROTATION + "/retire",
    Scope.MANAGE,
    subject=ApiSubject.CONFIGURATION,
    returns=STEP,
    tag=TAG,
)
def retire_credentials(request: HttpRequest, name: str) -> HttpResponse:
    """Destroy the previous credentials.

    That needs a success of those in use.
    """
    return _done("retired", name, _rotation(request, name).retire())


@operation(
    "POST",
    ROTATION + "/discard",
    Scope.MANAGE,
    subject=ApiSubject.CONFIGURATION,
    returns=STEP,
    tag=TAG,
)
def discard_credentials(request: HttpRequest, name: str) -> HttpResponse:
    """Destroy the next credentials."""
    return _done("discarded", name, _rotation(request, name).discard())


@operation(
    "POST",
    ROTATION + "/probe-old",
    Scope.SEND,
    subject=ApiSubject.CONFIGURATION,
    returns={200: schemas.ProbeSchema},
    tag=TAG,
)
def probe_previous_credentials(request: HttpRequest, name: str) -> HttpResponse:
    """Send one request with the previous credentials, which must be refused.

    A probe that proves nothing is a 200 too.
    """
    return json_response(_rotation(request, name).probe().facts())


def _rotation(request: HttpRequest, name: str) -> ApiRotation:
    return ApiRotation(granted(request), name)


def _done(done: str, name: str, serial: int, **numbers: int) -> HttpResponse:
    """Return the response to a step that was done."""
    facts = {"done": done, "configuration": name, "serial": serial}
    return json_response({**facts, **numbers})
