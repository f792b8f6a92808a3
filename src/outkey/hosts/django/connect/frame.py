"""The frame of each response below `/connect/`: headers, language, errors, no log."""

import logging
from collections.abc import Callable, Mapping
from functools import wraps

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.middleware.csrf import CsrfViewMiddleware
from django.template.loader import render_to_string
from django.utils import translation
from django.utils.decorators import decorator_from_middleware
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt

from outkey.foundation.core.errors import HostError, OutkeyError
from outkey.hosts.django.web.request_log import keep_out_of_log
from outkey.sending.core.connections.links import LinkEnded, LinkUnknown

View = Callable[..., HttpResponseBase]
TEMPLATE = "outkey/connect.html"
_POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action {targets};"
    " base-uri 'none'; frame-ancestors 'none'"
)
_log = logging.getLogger(__name__)


class _CsrfCheck(CsrfViewMiddleware):
    """Checks the token and the origin of a form; refuses in the frame of these pages.

    Django's own refusal would write the path into the log, which has the link.
    """

    def _reject(self, request: HttpRequest, _reason: str) -> HttpResponse:
        return shown(
            request,
            {
                "title": _("The form was not accepted"),
                "text": _("It was open for too long, or the browser blocks cookies."),
                "advice": _("Open the link again."),
            },
            status=403,
        )


def shown(
    request: HttpRequest,
    context: Mapping[str, object],
    *,
    status: int = 200,
    leads_away: bool = False,
) -> HttpResponse:
    """Return a page; with `leads_away` its form may end at an application."""
    html = render_to_string(TEMPLATE, dict(context), request)
    response = HttpResponse(html, status=status)
    # Browsers apply it to each redirect after a form, and an application may redirect
    # further, such as to where its users sign in.
    targets = "'self' https: http:" if leads_away else "'self'"
    response["Content-Security-Policy"] = _POLICY.format(targets=targets)
    return response


def below_connect(view: View) -> View:
    """Decorate a view: errors as pages, headers, and the language of the browser."""
    checked = decorator_from_middleware(_CsrfCheck)(view)

    @csrf_exempt  # it is checked here, also where a project has no such middleware
    @transaction.non_atomic_requests
    @wraps(view)
    def respond(
        request: HttpRequest, *args: object, **kwargs: object
    ) -> HttpResponseBase:
        language = translation.get_language_from_request(request)
        with translation.override(language):
            response = _response_of(checked, request, *args, **kwargs)
        response["Cache-Control"] = "no-store"
        response["Referrer-Policy"] = "same-origin"
        response["X-Frame-Options"] = "DENY"
        response["Content-Language"] = language
        keep_out_of_log(response)
        return response

    return respond


def _response_of(
    view: View, request: HttpRequest, *args: object, **kwargs: object
) -> HttpResponseBase:
    try:
        return view(request, *args, **kwargs)
    except LinkUnknown:
        return shown(
            request,
            {
                "title": _("There is no such link"),
                "text": _("The URL may not be complete."),
                "advice": _("Open the link again, or ask for a new one."),
            },
            status=404,
        )
    except LinkEnded:
        return shown(
            request,
            {
                "title": _("This link is over"),
                "text": _(
                    "It was used already, it has expired, or there is a newer one."
                ),
                "advice": _("Ask for a new link."),
            },
            status=410,
        )
    except OutkeyError as error:
        status = 503 if isinstance(error, HostError) else 422
        return shown(request, _failure(), status=status)
    except Exception:  # noqa: BLE001 - whatever it is
        # Django would log the path, which has the link.
        _log.exception("an error on a connect page")
        return shown(request, _failure(), status=500)


def _failure() -> dict[str, str]:
    return {
        "title": _("This does not work at the moment"),
        "text": _("Nothing was changed. The fault is not yours."),
        "advice": _("Retry in a minute."),
    }
