"""The URLs of the pages: the admin at the root."""

from django.contrib import admin
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import include, path, reverse

from outkey.hosts.server.sign_ins import sign_in
from outkey.hosts.server.users.own_password import password_change
from outkey.hosts.server.web import errors
from outkey.hosts.server.web.navigation import first_url


def first_page(request: HttpRequest) -> HttpResponseBase:
    """Redirect to the first page that the user may open."""
    if not admin.site.has_permission(request):
        # Back to here, since the rights of the user are not known yet.
        return redirect_to_login(request.path, reverse("admin:login"))
    url = first_url(request)
    if url is None:
        raise PermissionDenied
    return redirect(url)


urlpatterns = [
    path("", first_page),
    path("api/v1/", include("outkey.hosts.django.api.urls")),
    path("connect/", include("outkey.hosts.django.connect_urls")),
    # Instead of the admin's own:
    path("login/", sign_in),
    path("password_change/", password_change),
    path("", admin.site.urls),
]
handler400 = errors.bad_request
handler403 = errors.forbidden
handler404 = errors.not_found
handler500 = errors.server_error
