"""The settings of a user: the time zone in which times are shown."""

import time
from itertools import groupby

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.moments import zoned_text
from outkey.hosts.django.pages.shell import message_of, page
from outkey.hosts.django.time_zones import (
    choose_zone,
    chosen_zone,
    installation_zone,
    zone_names,
)


def settings_page(request: HttpRequest) -> HttpResponse:
    """Show and save the user's own settings."""
    user = request.user
    error = None
    if request.method == "POST":
        zone = request.POST.get("time_zone", "")
        try:
            choose_zone(user, zone)
        except ConfigError as problem:
            error = problem
        else:
            messages.success(request, _("Your settings were saved."))
            return HttpResponseRedirect(next_page(request))
    zone = str(timezone.get_current_timezone())
    context = {
        "title": _("Your settings"),
        "chosen_zone": chosen_zone(user),
        "time_zone": zone,
        "default_zone": installation_zone() or str(timezone.get_default_timezone()),
        "areas": _zones_by_area(),
        "now": zoned_text(time.time(), timezone.get_current_timezone()),
        "error": message_of(error) if error else "",
    }
    status = 422 if error else 200
    return page(request, "outkey/user_settings.html", context, status=status)


def _zones_by_area() -> list[tuple[str, list[str]]]:
    """Return the time zones that a user can choose, by continent or ocean."""
    groups = groupby(zone_names(), key=lambda name: name.partition("/")[0])
    return [(area, list(names)) for area, names in groups]


def next_page(request: HttpRequest) -> str:
    """Return the page of this site that a form asks to go back to, else this one."""
    target = request.POST.get("next", "")
    if url_has_allowed_host_and_scheme(target, allowed_hosts=None):
        return target
    return reverse("admin:outkey_usersettings_changelist")
