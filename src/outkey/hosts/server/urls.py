"""The URLs of the pages: the admin at the root."""

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import path

from outkey.core.access.permissions import Permission
from outkey.hosts.django.pages.access import may
from outkey.hosts.server.own_password import password_change


def first_page(request: HttpRequest) -> HttpResponse:
    """Redirect to the home page, or to the audit if the user may read only that."""
    audit_only = may(request, Permission.VIEW_AUDIT) and not may(
        request, Permission.VIEW
    )
    return redirect(
        "admin:outkey_auditrecord_changelist" if audit_only else "admin:outkey_home"
    )


urlpatterns = [
    path("", first_page),
    path("password_change/", password_change),  # instead of the admin's own
    path("", admin.site.urls),
]
