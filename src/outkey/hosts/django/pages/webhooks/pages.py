"""The pages of webhooks: their list, one webhook, its secrets, pause and delete."""

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from outkey.foundation.core.errors import ConfigError, UnknownConfiguration
from outkey.foundation.core.permission import Permission
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.text import Text
from outkey.hosts.django import models
from outkey.hosts.django.pages.access import (
    administration_for,
    installation,
    may,
    offered_url,
    require,
    visible,
)
from outkey.hosts.django.pages.shell import message_of, page
from outkey.webhooks.core.inbox.health import WebhookState
from outkey.webhooks.core.inbox.inbox import DeliveryState
from outkey.webhooks.core.schemes.instructions import sender_steps
from outkey.webhooks.core.settings.checks import SECRET_NEEDED
from outkey.webhooks.core.settings.sealed import SealedWebhookSecret
from outkey.webhooks.core.settings.section import scheme_keys
from outkey.webhooks.core.settings.settings import Webhook, scheme_of
from outkey.webhooks.core.settings.stored import (
    PREVIOUS,
    SECRET,
    VERIFY_TOKEN,
    StoredWebhook,
)
from outkey.webhooks.engine.changes import WebhookAdministration
from outkey.webhooks.engine.form import refuse_unfit_secret
from outkey.webhooks.engine.offers import has_offer
from outkey.webhooks.engine.overview import DeliveryDay, WebhookOverview

CHIPS = {
    WebhookState.PAUSED: "ok-warning",
    WebhookState.NOT_READY: "ok-error",
    WebhookState.REFUSING: "ok-error",
    WebhookState.SILENT: "ok-warning",
    WebhookState.FAILING: "ok-warning",
    WebhookState.NEW: "",
    WebhookState.RECEIVING: "ok-success",
}
SECRETS = (SECRET, PREVIOUS, VERIFY_TOKEN)


@dataclass(frozen=True)
class ListedWebhook:
    """A webhook as the pages show it."""

    overview: WebhookOverview
    url: str
    days: Sequence[DeliveryDay] = ()

    @property
    def name(self) -> str:
        """Its name."""
        return self.overview.stored.name

    @property
    def chip(self) -> str:
        """The colour of its state."""
        return CHIPS[self.overview.state]

    @property
    def sender(self) -> str:
        """Who sends, or how deliveries are signed."""
        scheme = scheme_of(self.overview.stored.webhook)
        return scheme.label if scheme else self.overview.stored.webhook.scheme

    @property
    def action(self) -> str:
        """The action on a delivery, in words."""
        return action_words(self.overview.stored.webhook)

    @property
    def waiting(self) -> int:
        """How many deliveries wait for a worker."""
        return self.overview.number(DeliveryState.RECEIVED)

    @property
    def failed(self) -> int:
        """How many deliveries have failed."""
        return self.overview.number(DeliveryState.FAILED)


@dataclass(frozen=True)
class ListedRefusal:
    """Why deliveries were refused, and how many."""

    text: Text
    hint: Text
    count: int


@dataclass(frozen=True)
class ShownSecret:
    """One secret of a webhook: never its value."""

    name: str
    reference: str
    sealed: SealedWebhookSecret | None
    is_of_other_scheme: bool

    @property
    def is_set(self) -> bool:
        """Whether there is one."""
        return bool(self.reference or self.sealed)


def list_page(request: HttpRequest) -> HttpResponse:
    """List the webhooks with their states and deliveries."""
    require(request, Permission.VIEW_WEBHOOK)
    now = installation().database.now()
    zone = timezone.get_current_timezone()
    rows = [
        ListedWebhook(overview, url_of(overview.stored.name), overview.days(now, zone))
        for overview in installation().webhooks.overviews()
    ]
    context = {
        "title": _("Webhooks"),
        "rows": rows,
        "unreadable": installation().webhooks.unreadable(),
        "add_url": offered_url(request, Permission.ADD_WEBHOOK, "webhook_add"),
    }
    return page(request, "outkey/webhooks.html", context)


def webhook_page(request: HttpRequest) -> HttpResponse:
    """Show one webhook: its URL, its state, its deliveries and its refusals."""
    require(request, Permission.VIEW_WEBHOOK)
    return show_webhook(request)


def offer_page(request: HttpRequest) -> HttpResponse:
    """Show one webhook, and the token that its sender has offered and asks for.

    The token is shown by a POST only, and the audit records it.
    """
    require(
        request,
        Permission.VIEW_WEBHOOK,
        Permission.CHANGE_WEBHOOK,
        Permission.SET_SECRET,
    )
    stored = stored_at(request.GET.get("name", ""))
    if request.method != "POST":
        return HttpResponseRedirect(url_of(stored.name))
    offered = changes_of(request).view_offer(stored.name)
    response = show_webhook(request, offered.reveal())
    response["Cache-Control"] = "no-store"
    return response


def show_webhook(request: HttpRequest, offered: str = "") -> HttpResponse:
    """Return the page of a webhook."""
    overview = _overview_at(request.GET.get("name", ""))
    stored = overview.stored
    scheme = scheme_of(stored.webhook)
    now = installation().database.now()
    chart = overview.chart(now, timezone.get_current_timezone())
    webhook = stored.webhook
    context = {
        "title": stored.name,
        "listed": ListedWebhook(overview, url_of(stored.name)),
        "overview": overview,
        "secret_needed": SECRET_NEEDED,
        "webhook": webhook,
        "endpoint": endpoint_of(request, stored),
        "is_url_known": bool(installation().public_url),
        "steps": list(sender_steps(scheme)) if scheme else [],
        "delivery_chart": chart if sum(chart.totals) else None,
        "refusals": refusals_of(overview),
        "secrets": _shown_secrets(stored),
        "offered": offered,
        "has_offer": has_offer(stored),
        "line_url": line_url(request, webhook.line or webhook.run),
        "may_change": may(request, Permission.CHANGE_WEBHOOK),
        "may_delete": may(request, Permission.DELETE_WEBHOOK),
        "may_run": may(request, Permission.RUN_WEBHOOK),
        "may_view_deliveries": may(request, Permission.VIEW_DELIVERY),
        "may_set_secret": may(request, Permission.CHANGE_WEBHOOK)
        and may(request, Permission.SET_SECRET),
    }
    return page(request, "outkey/webhook.html", context)


@require_POST
def pause(request: HttpRequest) -> HttpResponse:
    """Pause a webhook, or resume a paused one."""
    require(request, Permission.RUN_WEBHOOK)
    name = request.POST.get("name", "")
    stored_at(name)
    changes = changes_of(request)
    if "resume" in request.POST:
        changes.resume(name)
        messages.success(request, _("The webhook %s receives deliveries again.") % name)
    else:
        changes.pause(name)
        messages.success(request, _("The webhook %s was paused.") % name)
    return HttpResponseRedirect(url_of(name))


@require_POST
def set_secret(request: HttpRequest) -> HttpResponse:
    """Replace a secret, or remove the previous one."""
    require(request, Permission.CHANGE_WEBHOOK, Permission.SET_SECRET)
    name = request.POST.get("name", "")
    field = request.POST.get("field", "")
    stored = stored_at(name)
    if field not in SECRETS:
        raise Http404
    changes = changes_of(request)
    secret = Secret(request.POST.get("value", "").strip())
    try:
        if "clear" in request.POST:
            changes.clear_previous(name)
            messages.success(request, _("The previous secret is accepted no more."))
        else:
            refuse_unfit_secret(stored.webhook.scheme, field, secret)
            if field == SECRET and "keep" in request.POST:
                changes.rotate_secret(name, secret)
            else:
                changes.set_secret(name, secret, field)
            messages.success(request, _("The secret was saved. It is never shown."))
    except ConfigError as error:
        messages.error(request, message_of(error))
    return HttpResponseRedirect(url_of(name) + "#secrets")


def delete_page(request: HttpRequest) -> HttpResponse:
    """Ask, and delete a webhook."""
    require(request, Permission.DELETE_WEBHOOK)
    stored = stored_at(request.GET.get("name", ""))
    if request.method == "POST":
        changes_of(request).remove(stored.name)
        messages.success(request, _("The webhook %s was deleted.") % stored.name)
        return HttpResponseRedirect(reverse("admin:outkey_webhook_changelist"))
    context = {
        "title": _("Delete %s") % stored.name,
        "name": stored.name,
        "own_url": url_of(stored.name),
    }
    return page(request, "outkey/webhook_delete.html", context)


def changes_of(request: HttpRequest) -> WebhookAdministration:
    """Return the administration of webhooks, acting as the user."""
    administration = administration_for(request.user)
    return installation().webhooks.administration(administration)


def stored_at(name: str) -> StoredWebhook:
    """Return the webhook of a page, or respond with 404."""
    try:
        return installation().webhooks.inbox().settings.listed(name)
    except UnknownConfiguration:
        raise Http404 from None


def _overview_at(name: str) -> WebhookOverview:
    """Return the webhook of a page with its counts, or respond with 404."""
    stored_at(name)
    (overview,) = installation().webhooks.overviews(name)
    return overview


def action_words(webhook: Webhook) -> str:
    """Return the action on a delivery, in words."""
    if webhook.line:
        return _("goes through the line %s") % webhook.line
    if webhook.run:
        return _("starts a run of %s") % webhook.run
    return _("calls %s") % webhook.handler


def url_of(name: str, view: str = "webhook", **more: str) -> str:
    """Return the URL of a page of a webhook.

    A name may have any characters, so it is a parameter and not a path.
    """
    query = urlencode({"name": name, **more})
    return f"{reverse(f'admin:outkey_{view}')}?{query}"


def endpoint_of(request: HttpRequest, stored: StoredWebhook) -> str:
    """Return the URL for the sender; by this request if the public URL is unknown."""
    url = installation().webhooks.endpoint_url(stored.endpoint)
    return request.build_absolute_uri(url)


def line_url(request: HttpRequest, name: str) -> str:
    """Return the page of a sync line, if there is one that the user may see."""
    row = visible(models.SyncLine).filter(name=name).first() if name else None
    if row is None or not may(request, Permission.VIEW_LINE):
        return ""
    return reverse("admin:outkey_syncline_change", args=[row.pk])


def refusals_of(overview: WebhookOverview) -> list[ListedRefusal]:
    """Return why deliveries were refused, the most frequent reason first."""
    totals = sorted(overview.refusals.totals.items(), key=lambda total: -total[1])
    texts = installation().webhooks.explained_refusals(overview.stored.name)
    return [ListedRefusal(*texts[reason], count=count) for reason, count in totals]


def _shown_secrets(stored: StoredWebhook) -> Sequence[ShownSecret]:
    """Return the secrets that the scheme uses; the previous one only if it is set."""
    scheme = scheme_of(stored.webhook)
    uses = scheme_keys(scheme) if scheme else {}
    secrets = [
        ShownSecret(
            name,
            reference=getattr(stored.webhook, name) or "",
            sealed=stored.secrets.get(name),
            is_of_other_scheme=stored.is_of_other_scheme(name),
        )
        for name in SECRETS
        if uses.get(name)
    ]
    return [secret for secret in secrets if secret.is_set or secret.name != PREVIOUS]
