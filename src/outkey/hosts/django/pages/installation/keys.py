"""The keys that seal secrets: looked at and rotated."""

from django.contrib import messages
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseRedirect,
)
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from outkey.foundation.core.errors import OutkeyError
from outkey.foundation.core.permission import Permission
from outkey.hosts.django.pages.access import (
    administration_for,
    installation,
    may,
    require,
)
from outkey.hosts.django.pages.shell import message_of, page


def keys_page(request: HttpRequest) -> HttpResponse:
    """Show the keys and how many secrets each seals."""
    require(request, Permission.VIEW_KEYS)
    application = installation()
    keys = []
    problem = None
    try:
        uses = application.rotation.uses()
        keys = [(key, uses.get(key.name, 0)) for key in application.keys.fresh().keys]
    except OutkeyError as error:
        problem = error
    context = {
        "title": _("Keys"),
        "keys": keys,
        "problem": problem,
        "may_rotate": may(request, Permission.ROTATE_KEYS),
    }
    return page(request, "outkey/keys.html", context)


@require_POST
def keys_step(request: HttpRequest, step: str) -> HttpResponse:
    """Take one step of a rotation; every unsafe one is refused."""
    require(request, Permission.ROTATE_KEYS)
    try:
        message = take_step(request, step, request.POST.get("key", ""))
    except OutkeyError as error:
        messages.error(request, message_of(error))
    else:
        messages.success(request, message)
    return HttpResponseRedirect(reverse("admin:outkey_knownkey_changelist"))


def take_step(request: HttpRequest, step: str, name: str) -> str:
    """Take a step of a rotation, and return what to do next."""
    keys = installation().key_administration(administration_for(request.user))
    if step == "add":
        added = keys.add()
        return _("The key %s was added. Promote it when every process has it.") % added
    if step == "promote":
        keys.promote(name)
        return _("New secrets are encrypted with %s. Now rewrap the others.") % name
    if step == "retire":
        keys.retire(name)
        return _("The key %s was retired.") % name
    if step != "rewrap":
        raise Http404
    return _("Secrets that were rewrapped: %s.") % sum(keys.rewrap())
