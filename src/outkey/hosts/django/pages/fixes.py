"""Doing what a configuration's page proposes: a test's remedy, or the end of a pause."""

from uuid import UUID

from django.contrib import messages
from django.core import signing
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from outkey.core.audit.events import Tag
from outkey.core.diagnosis import Fix
from outkey.core.errors import EditConflict, OutkeyError
from outkey.core.text import Text, join_texts
from outkey.engine.managing.fixes import permissions_for
from outkey.hosts.django.pages.access import desk_for, installation, require
from outkey.hosts.django.pages.configurations import FIX, stored_at, url_of
from outkey.hosts.django.translation import translate_text

_SECONDS = 3600


@require_POST
def resume_panel(request: HttpRequest, record: UUID) -> HttpResponse:
    """Send again with what was paused because it was refused too often."""
    require(request, "test_configuration")
    stored = stored_at(record)
    assert stored is not None  # noqa: S101 - a record was given
    if stored.paused:
        desk_for(request.user).note(Tag.CONFIGURATION_UPDATED, stored.name, "paused_at")
        installation().registry.resume(stored.name)
    messages.success(request, _("%s sends again.") % stored.name)
    return HttpResponseRedirect(url_of("change", stored))


@require_POST
def fix_panel(request: HttpRequest, record: UUID) -> HttpResponse:
    """Change what a test proposed and showed, if nothing was changed since."""
    require(request, "change_configuration")
    stored = stored_at(record)
    assert stored is not None  # noqa: S101 - a record was given
    try:
        loaded = signing.loads(request.POST.get("fix", ""), salt=FIX, max_age=_SECONDS)
        *seen, stored_label, changes, tidied = loaded
        label = Text.from_json(stored_label)
        if seen != [stored.record, stored.version, stored.revision]:
            raise EditConflict
        fix = Fix(label, tuple((path, text) for path, text in changes), tidied)
        require(request, *permissions_for(fix, stored))
        installation().apply_fix(desk_for(request.user), stored.name, fix)
    except signing.BadSignature:
        messages.error(request, _("This proposal is too old. Test again."))
    except OutkeyError as error:
        messages.error(request, translate_text(join_texts([error.message, error.hint])))
    else:
        messages.success(
            request, _("Changed: %s. Now test it again.") % translate_text(label)
        )
    return HttpResponseRedirect(url_of("change", stored))
