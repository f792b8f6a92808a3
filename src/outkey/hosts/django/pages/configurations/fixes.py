"""Applying what a configuration's page proposes: a fix, or the end of a pause."""

from uuid import UUID

from django.contrib import messages
from django.core import signing
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from outkey.administration.engine.editing.fixes import (
    apply_fix,
    changed_field,
    permissions_for,
)
from outkey.foundation.core.errors import EditConflict, OutkeyError
from outkey.foundation.core.permission import Permission
from outkey.foundation.core.text import Text
from outkey.hosts.django.pages.access import administration_for, installation, require
from outkey.hosts.django.pages.configurations.repetitions import repeat_test
from outkey.hosts.django.pages.configurations.trials import FIX
from outkey.hosts.django.pages.shell import configuration_at, message_of, url_of
from outkey.hosts.django.translation import translate_text
from outkey.sending.core.diagnosis.evidence import Fix

PROPOSAL_SECONDS = 3600


@require_POST
def resume_configuration(request: HttpRequest, record: UUID) -> HttpResponse:
    """End the pause of a configuration whose credentials were refused too often."""
    require(request, Permission.TEST)
    stored = configuration_at(record)
    administration_for(request.user).resume(stored.name)
    messages.success(request, _("%s sends again.") % stored.name)
    return HttpResponseRedirect(url_of("change", stored))


@require_POST
def apply_shown_fix(request: HttpRequest, record: UUID) -> HttpResponse:
    """Apply the fix that a test has shown, if nothing was changed since."""
    require(request, Permission.CHANGE)
    stored = configuration_at(record)
    signature = request.POST.get("fix", "")
    try:
        proposal = signing.loads(signature, salt=FIX, max_age=PROPOSAL_SECONDS)
        *state, stored_label, changes, tidied = proposal
        label = Text.from_json(stored_label)
        if state != [stored.record, stored.version, stored.revision]:
            raise EditConflict
        fix = Fix(label, tuple((path, text) for path, text in changes), tidied)
        require(request, *permissions_for(fix, stored))
        apply_fix(
            administration_for(request.user),
            installation().sender.context,
            stored.name,
            fix,
        )
    except signing.BadSignature:
        messages.error(request, _("This proposal is too old. Test again."))
    except OutkeyError as error:
        messages.error(request, message_of(error))
    else:
        change = translate_text(label)
        messages.success(request, _("Changed and saved: %s.") % change)
        repeat_test(request, stored, changed_field(fix))
    return HttpResponseRedirect(url_of("change", stored))
