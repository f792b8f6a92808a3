"""The pages for what went wrong: in the layout, and without the database if need be."""

import logging
import secrets
import sys
from collections.abc import Mapping

from django.contrib import admin
from django.core.exceptions import (
    DisallowedHost,
    RequestDataTooBig,
    TooManyFieldsSent,
    TooManyFilesSent,
)
from django.db import Error as DatabaseFailure
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.translation import gettext as _

from outkey.foundation.core.errors import HostError, StorageUnavailable
from outkey.hosts.server.web.navigation import first_url

TEMPLATE = "outkey_server/error.html"
TOO_LARGE = (RequestDataTooBig, TooManyFieldsSent, TooManyFilesSent)
_log = logging.getLogger(__name__)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Respond to what Django refuses to read; an unknown host names the setting."""
    if isinstance(exception, DisallowedHost):
        context = {
            "title": _("This is not the URL of this server"),
            "text": _(
                "The server refuses requests for a host name that it does not know."
            ),
            "advice": _(
                "Administrator: set the environment variable OUTKEY_PUBLIC_URL to the"
                " URL that users open, for example https://outkey.example.com, and"
                " restart the server."
            ),
            "setting": "OUTKEY_PUBLIC_URL",
        }
        return _plain_page(context, status=400)
    if isinstance(exception, TOO_LARGE):
        context = {
            "title": _("This is too large"),
            "text": _("The form or file has more data than the server accepts."),
            "advice": _("Send less at a time, for example one file after another."),
        }
        return _page_in_layout(request, context, status=413)
    context = {
        "title": _("The server did not understand this request"),
        "text": _("The browser sent something that no page of outkey sends."),
        "advice": _("Go back, load the page again, and retry."),
    }
    return _page_in_layout(request, context, status=400)


def https_needed(public_url: str) -> HttpResponse:
    """Respond to a request for a page that came without TLS, where pages need it."""
    context = {
        "title": _("These pages need https"),
        "text": _("This request came without encryption. Open %s instead.")
        % public_url,
        "advice": _(
            "Administrator: if users see this at that URL, set the environment variable"
            " OUTKEY_PROXIES to the IP address of the reverse proxy, let it send"
            " X-Forwarded-Proto, and restart the server."
        ),
        "setting": "OUTKEY_PROXIES",
    }
    return _plain_page(context, status=403)


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:  # noqa: ARG001 - Django's own signature
    """Respond to a user without the permission for a page."""
    context = {
        "title": _("You may not see this"),
        "text": _("Your account has no permission for this page."),
        "advice": _(
            "Ask an administrator for the permission, or go on with a page that is"
            " yours."
        ),
        "advice_without_pages": _(
            "Your account has no role yet. Ask an administrator for one, such as"
            " Operator, and load this page again."
        ),
        "offers_first_page": True,
    }
    return _page_in_layout(request, context, status=403)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Respond to a form that did not come from a page of this server."""
    advice = _("Go back, load the page again, and send the form again.")
    if "Origin" in reason or "Referer" in reason:
        advice = _(
            "Administrator: if users open another URL than this server knows, set the"
            " environment variable OUTKEY_PUBLIC_URL to it, and restart the server."
        )
    context = {
        "title": _("The form was not accepted"),
        "text": _(
            "It was open for too long, you signed in again in another tab, or the"
            " browser blocks cookies."
        ),
        "advice": advice,
    }
    return _page_in_layout(request, context, status=403)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:  # noqa: ARG001 - Django's own signature
    """Respond to a URL without a page."""
    context = {
        "title": _("There is no such page"),
        "text": _("It may have been deleted, or the URL has a typo."),
        "advice": _("Choose a page from the menu, or go back."),
        "offers_first_page": True,
    }
    return _page_in_layout(request, context, status=404)


def server_error(request: HttpRequest) -> HttpResponse:
    """Respond to a failure: an id that the log has too, and nothing of the failure."""
    reference = secrets.token_hex(4)
    failure = sys.exc_info()[1]
    _log.error("error %s: %s %s", reference, request.method, request.path)
    if isinstance(failure, DatabaseFailure | StorageUnavailable):
        context = {
            "title": _("The database does not respond"),
            "text": _("Nothing was changed. The page works again when it does."),
            "advice": _(
                "Load the page again in a minute. If it stays like this, give an"
                " administrator the id below: the server's log has it too."
            ),
            "reference": reference,
        }
        return _plain_page(context, status=503)
    context = {
        "title": _("Something went wrong"),
        "text": _("The server could not finish this. The fault is not yours."),
        "advice": _(
            "Retry. If it stays like this, give an administrator the id below: the"
            " server's log has it too."
        ),
        "reference": reference,
    }
    return _plain_page(context, status=500)


def _page_in_layout(
    request: HttpRequest, context: Mapping[str, object], *, status: int
) -> HttpResponse:
    """Return an error with the user's menu; without it if that cannot be read."""
    try:
        # Missing where a request fails before the user of its session is looked up.
        if not hasattr(request, "user") or not admin.site.has_permission(request):
            return _plain_page(context, status=status)
        frame: dict[str, object] = {"has_permission": True, "user": request.user}
        if context.get("offers_first_page"):
            frame["first_page"] = first_url(request)
        html = render_to_string(TEMPLATE, {**frame, **context}, request)
    except (DatabaseFailure, HostError):  # the limit of a user is read too
        return _plain_page(context, status=status)
    return HttpResponse(html, status=status)


def _plain_page(context: Mapping[str, object], *, status: int) -> HttpResponse:
    """Return an error in the layout without a menu, which reads nothing."""
    html = render_to_string(TEMPLATE, {**context, "is_alone": True})
    return HttpResponse(html, status=status)
