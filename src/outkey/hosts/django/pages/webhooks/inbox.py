"""The inbox of a webhook: its deliveries, their bodies, replays and test deliveries."""

import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from outkey.foundation.core.errors import ConfigError, OutkeyError
from outkey.foundation.core.limited_json import read_limited_json
from outkey.foundation.core.permission import Permission
from outkey.foundation.core.text import NO_TEXT, Text
from outkey.hosts.django.pages.access import (
    administration_for,
    installation,
    may,
    require,
    rights_of,
    user_of,
)
from outkey.hosts.django.pages.bulk import BulkAction, allowed_actions
from outkey.hosts.django.pages.lists import (
    PAGE_SIZE,
    ListFilter,
    PageLink,
    Pager,
    pager_to,
    query_with,
    split_page,
)
from outkey.hosts.django.pages.shell import limited_concurrency, message_of, page
from outkey.hosts.django.pages.webhooks.pages import (
    action_words,
    changes_of,
    line_url,
    stored_at,
    url_of,
)
from outkey.hosts.django.rows.row_ids import row_id
from outkey.hosts.django.wiring import records
from outkey.hosts.sample_delivery import (
    post_sample,
    refusal_of,
    server_url,
    signed_sample,
)
from outkey.sending.core.audit.actors import actor_words
from outkey.webhooks.core.inbox.content import Headers
from outkey.webhooks.core.inbox.delivery_words import (
    STATES,
    delivery_reason,
    delivery_remedy,
)
from outkey.webhooks.core.inbox.inbox import (
    ENDED,
    DeliveryState,
    InboxDelivery,
    ReplayScope,
)
from outkey.webhooks.core.settings.settings import scheme_of
from outkey.webhooks.core.settings.stored import StoredWebhook

SHOWN_CHARACTERS = 64 * 1024
LONGEST_SAMPLE = 256 * 1024
# A number, which fits a column of numbers and one of texts.
SAMPLE = '{{\n  "id": {},\n  "name": "Test"\n}}'
OK = 200
CHIPS = {
    DeliveryState.RECEIVED: "ok-notice",
    DeliveryState.PROCESSED: "ok-success",
    DeliveryState.FAILED: "ok-error",
    DeliveryState.IGNORED: "",
}


@dataclass(frozen=True)
class ListedDelivery:
    """A delivery as the pages show it."""

    delivery: InboxDelivery
    url: str

    @property
    def chip(self) -> tuple[str, object]:
        """The colour of its state, and the state."""
        return CHIPS[self.delivery.state], STATES[self.delivery.state]

    @property
    def tester(self) -> Text:
        """The user who sent it as a test; empty for one of the sender."""
        tested_by = self.delivery.tested_by
        return actor_words(tested_by) if tested_by else NO_TEXT

    @property
    def reason(self) -> str:
        """Why it is in this state."""
        return delivery_reason(self.delivery.reason)

    @property
    def remedy(self) -> str:
        """The remedy for the reason."""
        return delivery_remedy(self.delivery.reason)


@dataclass(frozen=True)
class ShownBody:
    """The body of a delivery, as much of it as a page shows."""

    text: str
    size: int
    is_json: bool
    is_cut: bool


def inbox_page(request: HttpRequest) -> HttpResponse:
    """List the deliveries of a webhook, newest first."""
    require(request, Permission.VIEW_WEBHOOK, Permission.VIEW_DELIVERY)
    stored = stored_at(request.GET.get("name", ""))
    state = request.GET.get("state", "")
    if state not in set(DeliveryState):
        state = ""
    before = request.GET.get("before", "")
    inbox = installation().webhooks.inbox()
    found = inbox.newest(stored.name, state, PAGE_SIZE + 1, before)
    deliveries, older = split_page(found, lambda delivery: delivery.id)
    pager = pager_to(request, _("Older"), before=older)
    if before:
        newest = PageLink(_("Newest"), query_with(request, before=""))
        pager = Pager([newest, *pager.links])
    context = {
        "title": _("Inbox of %s") % stored.name,
        "name": stored.name,
        "own_url": url_of(stored.name),
        "rows": _listed_deliveries(stored, deliveries),
        "is_filtered": bool(state),
        "filter": ListFilter.read(request, "state", _("State"), STATES.items()),
        "actions": allowed_actions(request, [_replay_action()]),
        "ended": [(state, STATES[state]) for state in ENDED],
        "pager": pager,
        "all_url": url_of(stored.name, "webhook_inbox"),
    }
    return page(request, "outkey/inbox.html", context)


def _replay_action() -> BulkAction:
    """Return the action on selected deliveries."""
    return BulkAction("replay", _("Replay"), Permission.RUN_WEBHOOK)


def delivery_page(request: HttpRequest) -> HttpResponse:
    """Show a delivery; a POST shows its body too, and the audit records that."""
    require(request, Permission.VIEW_WEBHOOK, Permission.VIEW_DELIVERY)
    stored = stored_at(request.GET.get("name", ""))
    delivery = _delivery_at(stored, request.GET.get("id", ""))
    body = None
    headers: Headers = ()
    if request.method == "POST":
        content = changes_of(request).view_content(stored.name, delivery.id)
        body = _shown_body(content.body)
        headers = content.headers
    scheme = scheme_of(stored.webhook)
    webhook = stored.webhook
    context = {
        "title": _("Delivery %s") % delivery.id,
        "name": stored.name,
        "webhook": webhook,
        "action": action_words(webhook),
        "scheme": scheme.label if scheme else webhook.scheme,
        "is_signed": bool(scheme and scheme.kind not in {"unverified", "fetch"}),
        "listed": ListedDelivery(delivery, ""),
        "delivery": delivery,
        "run": row_id(delivery.run),
        "body": body,
        "headers": headers,
        "own_url": url_of(stored.name),
        "inbox_url": url_of(stored.name, "webhook_inbox"),
        "line_url": line_url(request, webhook.line or webhook.run),
        "may_run": may(request, Permission.RUN_WEBHOOK),
    }
    response = page(request, "outkey/delivery.html", context)
    if body is not None:
        response["Cache-Control"] = "no-store"
    return response


@require_POST
def replay(request: HttpRequest) -> HttpResponse:
    """Let workers process deliveries again: the selected, the failed, of a period."""
    require(request, Permission.RUN_WEBHOOK)
    name = request.POST.get("name", "")
    stored_at(name)
    ids = request.POST.getlist("selected")
    changes = changes_of(request)
    try:
        if "failed" in request.POST:
            count = changes.replay_scope(name, ReplayScope(DeliveryState.FAILED))
        elif "period" in request.POST:
            count = changes.replay_scope(name, _entered_scope(request))
        else:
            count = len(changes.replay(name, dict.fromkeys(ids))) if ids else 0
    except ConfigError as error:
        messages.error(request, message_of(error))
    else:
        text = _("There is nothing to replay.")
        if count:
            text = _("Deliveries that are processed again: %s.") % count
        messages.success(request, text)
    return HttpResponseRedirect(_url_after_replay(request, name, ids))


def _entered_scope(request: HttpRequest) -> ReplayScope:
    """Return the deliveries of a period that was entered in the user's time zone."""
    state = request.POST.get("state", "")
    return ReplayScope(
        DeliveryState(state) if state in set(DeliveryState) else None,
        since=_entered_moment(request, "since"),
        until=_entered_moment(request, "until"),
    )


def _entered_moment(request: HttpRequest, name: str) -> float | None:
    """Return the moment of an input, or None for an empty one."""
    text = request.POST.get(name, "").strip()
    if not text:
        return None
    try:
        return timezone.make_aware(datetime.fromisoformat(text)).timestamp()
    except (ValueError, OverflowError):
        raise ConfigError(Text("this is not a date with a time"), field=name) from None


def _url_after_replay(request: HttpRequest, name: str, ids: Sequence[str]) -> str:
    """Return the page that a replay leads back to."""
    if not may(request, Permission.VIEW_DELIVERY) or "failed" in request.POST:
        return url_of(name)
    if "delivery" in request.POST and len(ids) == 1:
        return url_of(name, "webhook_delivery", id=ids[0])
    return url_of(name, "webhook_inbox")


def test_page(request: HttpRequest) -> HttpResponse:
    """Sign a sample as the sender would, and post it to the endpoint."""
    require(request, Permission.VIEW_WEBHOOK, Permission.CHANGE_WEBHOOK)
    stored = stored_at(request.GET.get("name", ""))
    # With an id of its own, or a second one would be a duplicate of the first.
    sample = request.POST.get("sample") or SAMPLE.format(uuid.uuid4().int % 10**9)
    context: dict[str, object] = {
        "title": _("Send a test delivery to %s") % stored.name,
        "name": stored.name,
        "own_url": url_of(stored.name),
        "action": action_words(stored.webhook),
        "sample": sample,
    }
    if request.method == "POST":
        try:
            with limited_concurrency():
                context |= send_sample(request, stored, sample[:LONGEST_SAMPLE])
        except OutkeyError as error:
            context["error"] = error
    return page(request, "outkey/webhook_test.html", context)


def send_sample(
    request: HttpRequest, stored: StoredWebhook, sample: str
) -> dict[str, object]:
    """Send a sample, and return what became of it."""
    changes_of(request).refuse_forbidden_test(
        stored.webhook, records(user_of(request)), allowed=rights_of(request)
    )
    application = installation()
    event_id = str(uuid.uuid4())
    signed = signed_sample(
        application,
        stored.name,
        sample.replace("\r\n", "\n").encode(),
        event_id=event_id,
        content_type="application/json",
        base=server_url(application),
    )
    known = {
        delivery.id for delivery in application.webhooks.inbox().newest(stored.name)
    }
    with changes_of(request).sending_test(stored.name, signed, event_id) as marked:
        status = post_sample(marked)
    if status != OK:
        refused = refusal_of(application, stored, signed)
        return {"status": status, "refused": refused}
    new = [
        delivery
        for delivery in application.webhooks.inbox().newest(stored.name)
        if delivery.id not in known
    ]
    # The sender's own deliveries may arrive at the same time.
    actor = administration_for(request.user).actor
    own = [delivery for delivery in new if delivery.tested_by == actor]
    sees_it = may(request, Permission.VIEW_DELIVERY)
    return {
        "status": status,
        "is_accepted": True,
        "is_duplicate": not own,
        "delivery": _listed_deliveries(stored, own[:1])[0] if own and sees_it else None,
    }


def _listed_deliveries(
    stored: StoredWebhook, deliveries: Sequence[InboxDelivery]
) -> list[ListedDelivery]:
    """Return deliveries with the URLs of their pages."""
    return [
        ListedDelivery(
            delivery, url_of(stored.name, "webhook_delivery", id=delivery.id)
        )
        for delivery in deliveries
    ]


def _delivery_at(stored: StoredWebhook, delivery_id: str) -> InboxDelivery:
    """Return the delivery of a page, or respond with 404."""
    try:
        return installation().webhooks.inbox().get(stored.name, delivery_id)
    except ConfigError:
        raise Http404 from None


def _shown_body(body: bytes) -> ShownBody:
    """Return a body as a page shows it: JSON is indented."""
    text = body.decode("utf-8", "backslashreplace")
    is_json = True
    try:
        text = json.dumps(read_limited_json(body), indent=2, ensure_ascii=False)
    except ValueError:
        is_json = False
    is_cut = len(text) > SHOWN_CHARACTERS
    return ShownBody(text[:SHOWN_CHARACTERS], len(body), is_json, is_cut)
