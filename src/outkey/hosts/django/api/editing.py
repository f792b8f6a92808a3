"""Operations that create, change and delete sync lines and webhooks."""

from django.http import HttpRequest, HttpResponse

from outkey.administration.core.access.api_tokens import Scope
from outkey.administration.engine.access.api_access import ApiAccess, ApiSubject
from outkey.administration.engine.access.api_lines import ApiLines, SavedLine
from outkey.administration.engine.access.api_webhooks import ApiWebhooks
from outkey.foundation.core.findings.checks import finding_facts
from outkey.foundation.core.secret import Secret
from outkey.hosts.django.api import schemas
from outkey.hosts.django.api.authentication import granted
from outkey.hosts.django.api.configurations import IfMatch, Settings
from outkey.hosts.django.api.field_schemas import body_of
from outkey.hosts.django.api.interface import operation
from outkey.hosts.django.api.responses import empty_response, json_response
from outkey.hosts.django.api.synchronization import (
    LINE,
    LINES,
    WEBHOOK,
    WEBHOOKS,
    webhook_response,
)
from outkey.sync.core.line.facts import line_facts


@operation(
    "PUT",
    LINE,
    Scope.MANAGE,
    subject=ApiSubject.NEW_LINE,
    returns={200: schemas.SavedLineSchema, 201: schemas.SavedLineSchema},
    tag=LINES,
    extra=body_of("LineSettings"),
)
def put_line(
    request: HttpRequest, name: str, body: Settings, if_match: IfMatch = ""
) -> HttpResponse:
    """Create a sync line, or replace all of its settings.

    What the body does not name gets its default. A target other than table:NAME needs a
    token that was created with --allow-targets.
    """
    access = granted(request)
    saved = ApiLines(access).save(name, body, whole=True, version=if_match)
    return _saved_response(access, saved)


@operation(
    "PATCH",
    LINE,
    Scope.MANAGE,
    subject=ApiSubject.LINE,
    returns={200: schemas.SavedLineSchema},
    tag=LINES,
    extra=body_of("LineChanges"),
)
def patch_line(
    request: HttpRequest, name: str, body: Settings, if_match: IfMatch = ""
) -> HttpResponse:
    """Change the settings of a sync line that the body names.

    Null returns one to its default, and a list is replaced.
    """
    access = granted(request)
    saved = ApiLines(access).save(name, body, whole=False, version=if_match)
    return _saved_response(access, saved)


@operation(
    "DELETE",
    LINE,
    Scope.MANAGE,
    subject=ApiSubject.LINE,
    returns={204: None},
    tag=LINES,
)
def delete_line(
    request: HttpRequest, name: str, if_match: IfMatch = ""
) -> HttpResponse:
    """Delete a sync line with its runs and its pair.

    The records that it brought stay. A line that a webhook needs is not deleted.
    """
    ApiLines(granted(request)).remove(name, if_match)
    return empty_response()


@operation(
    "PUT",
    WEBHOOK,
    Scope.MANAGE,
    subject=ApiSubject.NEW_WEBHOOK,
    returns={200: schemas.WebhookSchema, 201: schemas.WebhookSchema},
    tag=WEBHOOKS,
    extra=body_of("WebhookSettings"),
)
def put_webhook(
    request: HttpRequest, name: str, body: Settings, if_match: IfMatch = ""
) -> HttpResponse:
    """Create a webhook, or replace all of its settings.

    What the body does not name gets its default; secrets stay. A token cannot choose a
    handler, nor a reference that the operator does not offer.
    """
    webhooks = ApiWebhooks(granted(request))
    return webhook_response(webhooks.save(name, body, whole=True, version=if_match))


@operation(
    "PATCH",
    WEBHOOK,
    Scope.MANAGE,
    subject=ApiSubject.WEBHOOK,
    returns={200: schemas.WebhookSchema},
    tag=WEBHOOKS,
    extra=body_of("WebhookChanges"),
)
def patch_webhook(
    request: HttpRequest, name: str, body: Settings, if_match: IfMatch = ""
) -> HttpResponse:
    """Change the settings of a webhook that the body names.

    Null returns one to its default.
    """
    webhooks = ApiWebhooks(granted(request))
    return webhook_response(webhooks.save(name, body, whole=False, version=if_match))


@operation(
    "DELETE",
    WEBHOOK,
    Scope.MANAGE,
    subject=ApiSubject.WEBHOOK,
    returns={204: None},
    tag=WEBHOOKS,
)
def delete_webhook(
    request: HttpRequest, name: str, if_match: IfMatch = ""
) -> HttpResponse:
    """Delete a webhook with its secrets and deliveries.

    Its endpoint responds with 410 from then on.
    """
    ApiWebhooks(granted(request)).remove(name, if_match)
    return empty_response()


@operation(
    "PUT",
    WEBHOOK + "/secrets/{segment:field}",
    Scope.MANAGE,
    subject=ApiSubject.WEBHOOK,
    returns={204: None},
    tag=WEBHOOKS,
)
def set_webhook_secret(
    request: HttpRequest, name: str, field: str, body: schemas.NewWebhookSecret
) -> HttpResponse:
    """Set a secret of a webhook, which cannot be read here.

    Fields are secret, previous_secret and verify_token.
    """
    ApiWebhooks(granted(request)).set_secret(name, field, Secret(body.value))
    return empty_response()


def _saved_response(access: ApiAccess, saved: SavedLine) -> HttpResponse:
    """Return a line as it was saved, with its findings and its version."""
    paused = access.application.runs.paused_lines()
    facts = line_facts(saved.stored.line, paused)
    owner = saved.stored.line.configuration
    facts["findings"] = [finding_facts(finding, owner) for finding in saved.findings]
    response = json_response(facts, status=201 if saved.created else 200)
    response["ETag"] = saved.stored.tag
    return response
