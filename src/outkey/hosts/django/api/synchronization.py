"""Operations on sync lines, their runs, webhooks with their deliveries, the audit."""

from typing import Annotated

from django.http import HttpRequest, HttpResponse
from ninja import Query

from outkey.administration.core.access.api_tokens import Scope
from outkey.administration.engine.access.api_access import ApiSubject
from outkey.administration.engine.access.api_lines import ApiLines
from outkey.administration.engine.access.api_webhooks import (
    ApiWebhooks,
    TaggedWebhook,
)
from outkey.foundation.core.findings.checks import finding_facts
from outkey.foundation.core.moments import record_iso
from outkey.hosts.django.api import schemas
from outkey.hosts.django.api.authentication import granted
from outkey.hosts.django.api.interface import operation
from outkey.hosts.django.api.responses import json_response
from outkey.sync.core.line.facts import line_facts, run_facts
from outkey.sync.core.run.run import RunState
from outkey.webhooks.core.inbox.inbox import DeliveryState
from outkey.webhooks.core.settings.facts import delivery_facts, webhook_facts

LINES = "sync lines"
WEBHOOKS = "webhooks"
LINE = "/lines/{segment:name}"
RUN = "/runs/{segment:run}"
WEBHOOK = "/webhooks/{segment:name}"
Limit = Annotated[int, Query(ge=1, le=1000, description="At most so many.")]
Before = Annotated[
    int, Query(ge=0, le=2**63 - 1, description="The id of the last record seen.")
]


@operation(
    "GET", "/lines", Scope.READ, returns={200: list[schemas.LineSchema]}, tag=LINES
)
def list_lines(request: HttpRequest) -> HttpResponse:
    """List the sync lines of the token's configurations."""
    access = granted(request)
    paused = access.application.runs.paused_lines()
    return json_response([line_facts(line, paused) for line in access.lines()])


@operation(
    "GET",
    LINE,
    Scope.READ,
    subject=ApiSubject.LINE,
    returns={200: schemas.SavedLineSchema},
    tag=LINES,
)
def show_line(request: HttpRequest, name: str) -> HttpResponse:
    """Show a sync line by its TOML keys.

    The findings are the changes in the shape of its records. The ETag is its version,
    for `If-Match`.
    """
    access = granted(request)
    paused = access.application.runs.paused_lines()
    stored = ApiLines(access).get(name)
    drift = access.application.lines.drift(name)
    findings = [finding_facts(each, stored.line.configuration) for each in drift]
    response = json_response(line_facts(stored.line, paused) | {"findings": findings})
    response["ETag"] = stored.tag
    return response


@operation(
    "POST",
    f"{LINE}/runs",
    Scope.RUN,
    subject=ApiSubject.LINE,
    returns={202: schemas.RunSchema},
    tag=LINES,
)
def start_run(
    request: HttpRequest, name: str, body: schemas.NewRun | None = None
) -> HttpResponse:
    """Start a run of a sync line.

    It is queued, and a worker does it. A line that has an active run is a 409.
    """
    dry_run = body is not None and body.dry_run
    run = granted(request).start_run(name, dry_run=dry_run)
    return json_response(run_facts(run), status=202)


@operation(
    "GET",
    "/runs",
    *(Scope.READ, Scope.RUN),
    returns={200: list[schemas.RunSchema]},
    tag=LINES,
)
def list_runs(
    request: HttpRequest,
    limit: Limit = 20,
    line: str = "",
    state: RunState | None = None,
) -> HttpResponse:
    """List the newest runs."""
    runs = granted(request).runs(limit, line, state or "")
    return json_response([run_facts(run) for run in runs])


@operation(
    "GET",
    RUN,
    *(Scope.READ, Scope.RUN),
    subject=ApiSubject.RUN,
    returns={200: schemas.RunSchema},
    tag=LINES,
)
def show_run(request: HttpRequest, run: str) -> HttpResponse:
    """Show a run.

    To watch it, request it again until its state is done, failed or cancelled.
    """
    return json_response(run_facts(granted(request).run(run)))


@operation(
    "POST",
    f"{RUN}/cancel",
    Scope.RUN,
    subject=ApiSubject.RUN,
    returns={200: schemas.RunSchema},
    tag=LINES,
)
def cancel_run(request: HttpRequest, run: str) -> HttpResponse:
    """Cancel a run: it stops at its next page."""
    return json_response(run_facts(granted(request).cancel_run(run)))


@operation(
    "GET",
    "/webhooks",
    Scope.READ,
    returns={200: list[schemas.WebhookSchema]},
    tag=WEBHOOKS,
)
def list_webhooks(request: HttpRequest) -> HttpResponse:
    """List the webhooks of the token's configurations.

    A webhook without a configuration is listed for a token that is for all of them.
    """
    return json_response(
        [webhook_facts(shown) for shown in granted(request).webhooks()]
    )


@operation(
    "GET",
    WEBHOOK,
    Scope.READ,
    subject=ApiSubject.WEBHOOK,
    returns={200: schemas.WebhookSchema},
    tag=WEBHOOKS,
)
def show_webhook(request: HttpRequest, name: str) -> HttpResponse:
    """Show a webhook by its TOML keys, with its endpoint and its refusals.

    The ETag is that of its settings, for `If-Match`.
    """
    return webhook_response(ApiWebhooks(granted(request)).get(name))


def webhook_response(webhook: TaggedWebhook) -> HttpResponse:
    """Return a webhook with its version."""
    status = 201 if webhook.created else 200
    response = json_response(webhook_facts(webhook.shown), status)
    response["ETag"] = webhook.tag
    return response


@operation(
    "GET",
    f"{WEBHOOK}/deliveries",
    Scope.READ,
    subject=ApiSubject.WEBHOOK,
    returns={200: list[schemas.DeliverySchema]},
    tag=WEBHOOKS,
)
def list_deliveries(
    request: HttpRequest,
    name: str,
    limit: Limit = 50,
    state: DeliveryState | None = None,
) -> HttpResponse:
    """List the newest deliveries of a webhook, without their bodies."""
    deliveries = granted(request).deliveries(name, limit, state or "")
    return json_response([delivery_facts(delivery) for delivery in deliveries])


@operation(
    "GET",
    "/audit",
    Scope.AUDIT,
    returns={200: list[schemas.AuditSchema]},
    tag="audit",
)
def list_audit(
    request: HttpRequest,
    limit: Limit = 50,
    before: Before = 0,
    configuration: str = "",
) -> HttpResponse:
    """List the newest audit records.

    The next page is `before` the last id of this one.
    """
    records = granted(request).audit(limit, before, configuration)
    return json_response([record | {"at": record_iso(record)} for record in records])
