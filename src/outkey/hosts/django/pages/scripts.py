"""The button Run on the tab Script: one trial of the script that is on the page."""

from datetime import UTC, datetime
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from outkey.core.errors import ConfigError
from outkey.hosts.django.pages.access import desk_for, installation, require
from outkey.hosts.django.pages.configurations import draft_on, stored_at, waiting

_LAST_MOMENT = 253_402_300_800  # the year 10 000


@require_POST
def run_panel(request: HttpRequest, record: UUID | None = None) -> HttpResponse:
    """Run the script on the page, saved or not, and show names and lengths of its headers."""
    require(request, "edit_script", "test_configuration")
    drafted = draft_on(request, stored_at(record))
    if isinstance(drafted, HttpResponse):
        return drafted
    draft, secrets = drafted
    desk_for(request.user).note_test(draft.name, draft.script)
    try:
        at = _moment(request.POST.get("run:at", "").strip())
        with waiting():
            tried = installation().try_script(draft, at, secrets)
    except ConfigError as error:
        return render(request, "outkey/refused.html", {"errors": [error]})
    return render(request, "outkey/script_run.html", {"tried": tried})


def _moment(text: str) -> float | None:
    """Return a Unix time, or a date with a time, UTC unless it says otherwise; None for now."""
    if not text:
        return None
    try:
        at = float(text)
    except ValueError:
        at = _read(text)
    if not 0 <= at < _LAST_MOMENT:
        raise _unreadable()
    return at


def _read(text: str) -> float:
    try:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        raise _unreadable() from None


def _unreadable() -> ConfigError:
    hint = _("Enter a Unix time such as 1700000000, or 2023-11-14 22:13:20 in UTC.")
    return ConfigError(_("this is no moment"), hint=hint)
