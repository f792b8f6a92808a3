"""Where the pages are: the admin at the root, and in front what the person may see first."""

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import path

from outkey.core.access.permissions import Permission
from outkey.hosts.django.pages.access import may
from outkey.hosts.server.own_password import password_change


def beginning(request: HttpRequest) -> HttpResponse:
    """Lead to the home page; whoever may read the audit only, to that."""
    audit_only = may(request, Permission.VIEW_AUDIT) and not may(
        request, Permission.VIEW
    )
    return redirect(
        "admin:outkey_auditrecord_changelist" if audit_only else "admin:outkey_home"
    )


urlpatterns = [
    path("", beginning),
    path("password_change/", password_change),  # in the place of the admin's own
    path("", admin.site.urls),
]
