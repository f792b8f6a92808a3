"""API Sync in Django's admin: where each page stands and who sees it in the menu."""

from collections.abc import Callable
from typing import ClassVar
from uuid import UUID

from django.contrib import admin
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import URLPattern, path, reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from outkey.hosts.django import models
from outkey.hosts.django.pages import configurations as pages
from outkey.hosts.django.pages import (
    fixes,
    lines,
    overview,
    posture,
    runs,
    scripts,
    tokens,
)

View = Callable[..., HttpResponseBase]


def _returned(place: admin.ModelAdmin) -> View:  # type: ignore[type-arg]
    """Return the view that a provider sends the browser back to.

    The admin's own way to the login would carry the address with the code into its page.
    """
    view = pages.told(tokens.callback)

    def shown(request: HttpRequest, record: UUID) -> HttpResponseBase:
        if not place.admin_site.has_permission(request):
            begin = reverse("admin:outkey_configuration_changelist")
            return redirect_to_login(begin, reverse("admin:login"))
        response = view(request, record)
        response["Referrer-Policy"] = "no-referrer"
        return response

    return require_GET(never_cache(shown))


class _Place(admin.ModelAdmin):  # type: ignore[type-arg]  # not generic at run time
    """A place in the admin whose pages are our own: for people who are logged in."""

    places: ClassVar[tuple[tuple[str, View, str], ...]]  # address, view, name
    addable = True  # by a button in the menu

    def get_urls(self) -> list[URLPattern]:
        """Put our views in the places that the admin links to; their errors are pages."""
        shown = self.admin_site.admin_view
        return [
            path(at, shown(pages.told(v)), name=f"outkey_{n}")
            for at, v, n in self.places
        ]

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Nobody adds by hand what is made by other means."""
        return self.addable and super().has_add_permission(request)


@admin.register(models.Configuration)
class ConfigurationAdmin(_Place):
    """API Sync Configurations."""

    places = (
        ("", pages.list_page, "configuration_changelist"),
        ("home/", overview.home_page, "home"),
        ("add/", pages.edit_page, "configuration_add"),
        ("test/", pages.try_panel, "configuration_try_new"),
        ("preview/", pages.preview_panel, "configuration_preview_new"),
        ("script/", scripts.run_panel, "script_run_new"),
        ("discover/", tokens.discover, "oauth2_discover"),
        ("<uuid:record>/", pages.edit_page, "configuration_change"),
        ("<uuid:record>/change/", pages.edit_page, "configuration_edit"),
        ("<uuid:record>/delete/", pages.delete_page, "configuration_delete"),
        ("<uuid:record>/test/", pages.try_panel, "configuration_try"),
        ("<uuid:record>/preview/", pages.preview_panel, "configuration_preview"),
        ("<uuid:record>/fix/", fixes.fix_panel, "configuration_fix"),
        ("<uuid:record>/resume/", fixes.resume_panel, "configuration_resume"),
        ("<uuid:record>/script/", scripts.run_panel, "script_run"),
        ("<uuid:record>/token/connect/", tokens.connect, "token_connect"),
        ("<uuid:record>/token/leave/", tokens.leave, "token_leave"),
        ("<uuid:record>/token/renew/", tokens.renew, "token_renew"),
        ("<uuid:record>/token/revoke/", tokens.revoke, "token_revoke"),
        ("<uuid:record>/token/forget/", tokens.forget, "token_forget"),
    )

    def get_urls(self) -> list[URLPattern]:
        """Add the page that providers send people back to."""
        back = path(
            "<uuid:record>/callback/", _returned(self), name="outkey_oauth2_callback"
        )
        return [back, *super().get_urls()]


@admin.register(models.AuditRecord)
class AuditAdmin(_Place):
    """The audit: read, verified and exported, never changed."""

    addable = False
    places = (
        ("", overview.audit_page, "auditrecord_changelist"),
        ("verify/", overview.audit_verify, "audit_verify"),
        ("export/", overview.audit_export, "audit_export"),
        ("people/", posture.data_protection_page, "data_protection"),
    )


@admin.register(models.KnownKey)
class KeyAdmin(_Place):
    """The keys that seal secrets: looked at and rotated."""

    addable = False  # but by a step of a rotation
    places = (
        ("", overview.keys_page, "knownkey_changelist"),
        ("<str:step>/", overview.keys_step, "key_step"),
    )


@admin.register(models.SyncLine)
class SyncLineAdmin(_Place):
    """Sync lines: one named call of a configuration each."""

    places = (
        ("", lines.list_page, "syncline_changelist"),
        ("add/", lines.edit_page, "syncline_add"),
        ("<int:record>/", lines.edit_page, "syncline_change"),
        ("<int:record>/delete/", lines.delete_page, "syncline_delete"),
        ("<int:record>/sample/", lines.sample_page, "syncline_sample"),
        ("<int:record>/run/", runs.start, "syncline_run"),
    )


@admin.register(models.Run)
class RunAdmin(_Place):
    """Runs of sync lines: begun on the page of their line, looked at and cancelled."""

    addable = False
    places = (
        ("", runs.list_page, "run_changelist"),
        ("<int:record>/", runs.run_page, "run_change"),
        ("<int:record>/cancel/", runs.cancel, "run_cancel"),
    )
