"""The URLs of the HTTP interface, for a project to include at a path of its choice.

path("api/v1/", include("outkey.hosts.django.api.urls"))
"""

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import Resolver404, path, re_path

from outkey.hosts.django.api.paths import raw_rest
from outkey.hosts.django.api.responses import in_json, not_found
from outkey.hosts.django.api.send import send


def openapi_document(request: HttpRequest) -> HttpResponseBase:
    """Return the OpenAPI document of the interface."""
    from outkey.hosts.django.api.openapi import openapi_response

    return openapi_response(request)


def respond(request: HttpRequest, rest: str) -> HttpResponseBase:
    """Find a resource by the path as it was sent, so that a name may have a slash."""
    from outkey.hosts.django.api.resources import RESOURCES

    path_as_sent, _, _ = raw_rest(request, rest).partition("?")
    try:
        match = RESOURCES.resolve(path_as_sent)
    except Resolver404:
        return not_found(request)
    request.resolver_match = match
    response: HttpResponseBase = match.func(request, *match.args, **match.kwargs)
    return response


urlpatterns = [
    path("openapi.json", in_json(openapi_document)),
    re_path(r"^send/(?P<rest>(?s:.*))\Z", in_json(send)),
    re_path(r"^(?P<rest>(?s:.*))\Z", in_json(respond)),
]
