"""The URLs of the HTTP interface, for a project to include at a path of its choice.

path("api/v1/", include("outkey.hosts.django.api.urls"))
"""

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import Resolver404, URLPattern, URLResolver, path, re_path
from django.urls.resolvers import RegexPattern

from outkey.hosts.django.api import configurations, synchronization
from outkey.hosts.django.api.interface import api
from outkey.hosts.django.api.openapi import openapi_document
from outkey.hosts.django.api.paths import raw_rest
from outkey.hosts.django.api.responses import in_json, not_found
from outkey.hosts.django.api.send import send

MODULES = (configurations, synchronization)  # which describe the operations


def _resource_urls() -> list[URLPattern]:
    """Return the URLs of ninja's resources."""
    return [
        pattern
        for pattern in api.urls[0]
        if isinstance(pattern, URLPattern) and pattern.name != "api-root"
    ]


RESOURCES = URLResolver(RegexPattern(r"^"), _resource_urls())


def respond(request: HttpRequest, rest: str) -> HttpResponseBase:
    """Find a resource by the path as it was sent, so that a name may have a slash."""
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
