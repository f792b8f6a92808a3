"""The button Run on the tab Script: one run of the script that the form has."""

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST

from outkey.administration.engine.editing.drafts import CandidateConfiguration
from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.moments import LAST_MOMENT, parse_iso
from outkey.foundation.core.permission import Permission
from outkey.foundation.core.text import Text
from outkey.hosts.django.pages.access import administration_for, installation, require
from outkey.hosts.django.pages.configurations.trials import read_candidate, refusal
from outkey.hosts.django.pages.shell import limited_concurrency


@require_POST
def run_panel(request: HttpRequest, record: UUID | None = None) -> HttpResponse:
    """Run the script of the form, and show names and lengths of its headers."""
    require(request, Permission.EDIT_SCRIPT, Permission.TEST)
    candidate = read_candidate(request, record)
    if not isinstance(candidate, CandidateConfiguration):
        return refusal(request, candidate)
    try:
        at = _parse_moment(request.POST.get("run:at", "").strip())
        with limited_concurrency():
            result = installation().run_script(
                administration_for(request.user), candidate, at
            )
    except ConfigError as error:
        return refusal(request, {"": error})
    return render(request, "outkey/script_run.html", {"tried": result})


def _parse_moment(text: str) -> float | None:
    """Return a Unix time, written as a number or as a date with a time; None for now.

    A date without a time zone is in UTC.
    """
    if not text:
        return None
    try:
        at = float(text)
    except ValueError:
        moment = parse_iso(text)
        at = moment.timestamp() if moment else -1
    if not 0 <= at < LAST_MOMENT:
        raise _unreadable_moment()
    return at


def _unreadable_moment() -> ConfigError:
    """Return the error for a moment that cannot be read."""
    hint = Text("Enter a Unix time such as 1700000000, or 2023-11-14 22:13:20 in UTC.")
    return ConfigError(Text("not a date and time"), hint=hint)
