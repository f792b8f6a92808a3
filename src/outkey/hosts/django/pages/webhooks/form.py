"""The form that creates and changes a webhook."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext as _

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.fields.field_kinds import Field, Kind
from outkey.foundation.core.permission import Permission
from outkey.foundation.core.secret import Secret
from outkey.hosts.django import models
from outkey.hosts.django.pages.access import (
    installation,
    may,
    require,
    rights_of,
    user_of,
    visible,
)
from outkey.hosts.django.pages.shell import configuration_names, page
from outkey.hosts.django.pages.webhooks.pages import changes_of, stored_at, url_of
from outkey.hosts.django.wiring import records
from outkey.webhooks.core.settings.section import REFERENCES, WEBHOOK_FIELDS
from outkey.webhooks.core.settings.stored import PREVIOUS, VERIFY_TOKEN, StoredWebhook
from outkey.webhooks.engine.form import (
    DOES,
    HANDLER,
    INPUTS,
    TARGET,
    WebhookForm,
    form_values,
    offered_schemes,
    schemes_of_inputs,
)

BY_KEY = {hook_field.key: hook_field for hook_field in WEBHOOK_FIELDS}
# The template draws each of these at a place of its own.
PLACED = frozenset({"scheme", "records", "configuration"})
# In the order of the table. An input that is not drawn would be emptied by each save.
VERIFICATION = tuple(
    hook_field.key
    for hook_field in INPUTS
    if hook_field.key not in PLACED and not hook_field.rare
)
RARE = tuple(hook_field.key for hook_field in INPUTS if hook_field.rare)
OFFERED_LINES = 1000


@dataclass(frozen=True)
class WebhookInput:
    """One input of the form, and the schemes that use it."""

    field: Field
    value: str
    error: ConfigError | None
    schemes: str  # as JSON; "" for all
    secret_help: str = ""  # only of a secret, whose value is never shown

    @property
    def is_touched(self) -> bool:
        """Whether it is wrong, or not as by default."""
        return bool(self.error) or self.value != str(self.field.default or "")

    @property
    def name(self) -> str:
        """The name that it is posted with."""
        return f"secret:{self.field.key}" if self.secret_help else self.field.key

    @property
    def type(self) -> str:
        """Its type in HTML; "" for a text."""
        return "password" if self.secret_help else ""

    @property
    def help(self) -> str:
        """Its help."""
        return self.secret_help or self.field.help

    @property
    def choices(self) -> Sequence[tuple[str, str]]:
        """The values that are offered; none for any text."""
        return self.field.choices if self.field.kind is Kind.CHOICE else ()

    @property
    def is_number(self) -> bool:
        """Whether it takes a number."""
        return self.field.kind is Kind.INTEGER


def add_page(request: HttpRequest) -> HttpResponse:
    """Create a webhook."""
    require(request, Permission.VIEW_WEBHOOK, Permission.ADD_WEBHOOK)
    return edit(request, None)


def edit_page(request: HttpRequest) -> HttpResponse:
    """Change a webhook."""
    require(request, Permission.VIEW_WEBHOOK, Permission.CHANGE_WEBHOOK)
    return edit(request, stored_at(request.GET.get("name", "")))


def edit(request: HttpRequest, stored: StoredWebhook | None) -> HttpResponse:
    """Draw the form, or save what was entered."""
    values = form_values(stored)
    name = stored.name if stored else request.POST.get("name", "").strip()
    errors: Mapping[str, ConfigError] = {}
    may_set_secret = may(request, Permission.SET_SECRET)
    if request.method == "POST":
        keys = (*(hook_field.key for hook_field in INPUTS), DOES, TARGET, HANDLER)
        values |= {key: request.POST.get(key, "") for key in keys}
        secrets = entered_secrets(request) if may_set_secret else {}
        form = WebhookForm(name, values, secrets, stored)
        errors = form.save(
            changes_of(request),
            records(user_of(request)),
            allowed=rights_of(request),
        )
        if not errors:
            text = _("The webhook %s was saved.")
            if stored is None:
                text = _("The webhook %s was created. Now enter its URL at the sender.")
            messages.success(request, text % name)
            return HttpResponseRedirect(url_of(name))
    senders, custom = offered_schemes()
    inputs = _hook_inputs(values, errors)
    context = {
        "title": _("Edit %s") % name if stored else _("New webhook"),
        "stored": stored,
        "name": name,
        "values": values,
        "errors": errors,
        "own_url": url_of(name)
        if stored
        else reverse("admin:outkey_webhook_changelist"),
        "senders": senders,
        "custom": custom,
        "configuration": inputs["configuration"],
        "scheme": inputs["scheme"],
        "records": inputs["records"],
        "verification": [
            *(inputs[key] for key in VERIFICATION),
            *(_secret_inputs(stored, errors) if may_set_secret else ()),
        ],
        "rare": [inputs[key] for key in RARE if key not in PLACED],
        "has_rare": any(inputs[key].is_touched for key in RARE),
        "may_set_secret": may_set_secret,
        "configurations": configuration_names(),
        "lines": _names_of_lines(values[TARGET]),
        "handlers": installation().listed_handlers,
    }
    status = 422 if errors else 200
    return page(request, "outkey/webhook_form.html", context, status=status)


def entered_secrets(request: HttpRequest) -> dict[str, Secret]:
    """Return the secrets that were entered; an empty input changes nothing."""
    texts = {key: request.POST.get(f"secret:{key}", "").strip() for key in REFERENCES}
    return {key: Secret(text) for key, text in texts.items() if text}


def _hook_inputs(
    values: Mapping[str, str], errors: Mapping[str, ConfigError]
) -> dict[str, WebhookInput]:
    """Return the inputs of the form by their names."""
    users = schemes_of_inputs()
    return {
        hook_field.key: WebhookInput(
            field=hook_field,
            value=values[hook_field.key],
            error=errors.get(hook_field.key),
            schemes=json.dumps(users[hook_field.key])
            if hook_field.key in users
            else "",
        )
        for hook_field in INPUTS
    }


def _secret_inputs(
    stored: StoredWebhook | None, errors: Mapping[str, ConfigError]
) -> list[WebhookInput]:
    """Return the inputs of secrets."""
    users = schemes_of_inputs()
    return [
        WebhookInput(
            BY_KEY[key],
            value="",
            error=errors.get(key),
            schemes=json.dumps(users[key]),
            secret_help=secret_help(stored, key),
        )
        for key in REFERENCES
        if stored is not None or key != PREVIOUS  # a new webhook has none
    ]


def secret_help(stored: StoredWebhook | None, key: str) -> str:
    """Return the help of a secret: the value to enter, or that one is set."""
    if stored and (getattr(stored.webhook, key) or key in stored.secrets):
        is_set = _("One is set. It is never shown; enter another one to replace it.")
        after = _("If you choose another sender, enter it again.")
        return f"{is_set} {after}"
    if key == PREVIOUS:
        return _("Only while you replace a secret: it is accepted as well.")
    if key == VERIFY_TOKEN:
        return _("The text that you enter at Meta as the verify token.")
    return _(
        "As the sender shows it. You can enter it later: until then every delivery is"
        " refused."
    )


def _names_of_lines(chosen: str) -> list[str]:
    """Return the sync lines that can be chosen, and the one that is chosen."""
    rows = visible(models.SyncLine).filter(sync__isnull=False).order_by("name")
    names = list(rows.values_list("name", flat=True)[:OFFERED_LINES])
    return names if chosen in {"", *names} else [chosen, *names]
