"""API Sync in Django's admin: where each page stands and who sees it in the menu."""

from collections.abc import Callable
from uuid import UUID

from django.contrib import admin
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import URLPattern, path, reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from outkey.hosts.django import models
from outkey.hosts.django.pages import (
    configurations,
    fixes,
    lines,
    overview,
    posture,
    runs,
    scripts,
    tokens,
)

View = Callable[..., HttpResponseBase]


def _shown(place: admin.ModelAdmin) -> Callable[[View], View]:  # type: ignore[type-arg]
    """Return what puts a view into the admin: for people who are logged in, errors as pages."""
    return lambda view: place.admin_site.admin_view(configurations.told(view))


def _returned(place: admin.ModelAdmin) -> View:  # type: ignore[type-arg]
    """Return the view that a provider sends the browser back to.

    The admin's own way to the login would carry the address with the code into its page.
    """
    view = configurations.told(tokens.callback)

    def shown(request: HttpRequest, record: UUID) -> HttpResponseBase:
        if not place.admin_site.has_permission(request):
            begin = reverse("admin:outkey_configuration_changelist")
            return redirect_to_login(begin, reverse("admin:login"))
        response = view(request, record)
        response["Referrer-Policy"] = "no-referrer"
        return response

    return require_GET(never_cache(shown))


@admin.register(models.Configuration)
class ConfigurationAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # not generic at run time
    """API Sync Configurations. The admin gives the place; the pages are our own."""

    def get_urls(self) -> list[URLPattern]:
        """Put our views in the places that the admin links to."""
        view, pages = _shown(self), configurations
        return [
            path("", view(pages.list_page), name="outkey_configuration_changelist"),
            path("home/", view(overview.home_page), name="outkey_home"),
            path("add/", view(pages.edit_page), name="outkey_configuration_add"),
            path("test/", view(pages.try_panel), name="outkey_configuration_try_new"),
            path("preview/", view(pages.preview_panel), name="outkey_configuration_preview_new"),
            path("<uuid:record>/", view(pages.edit_page), name="outkey_configuration_change"),
            path("<uuid:record>/change/", view(pages.edit_page)),
            path(
                "<uuid:record>/delete/", view(pages.delete_page), name="outkey_configuration_delete"
            ),
            path("<uuid:record>/test/", view(pages.try_panel), name="outkey_configuration_try"),
            path(
                "<uuid:record>/preview/",
                view(pages.preview_panel),
                name="outkey_configuration_preview",
            ),
            path("<uuid:record>/fix/", view(fixes.fix_panel), name="outkey_configuration_fix"),
            path(
                "<uuid:record>/resume/",
                view(fixes.resume_panel),
                name="outkey_configuration_resume",
            ),
            path("script/", view(scripts.run_panel), name="outkey_script_run_new"),
            path("<uuid:record>/script/", view(scripts.run_panel), name="outkey_script_run"),
            *self._token_urls(),
        ]

    def _token_urls(self) -> list[URLPattern]:
        view, place = _shown(self), "<uuid:record>/token/"
        return [
            path("<uuid:record>/callback/", _returned(self), name="outkey_oauth2_callback"),
            path("discover/", view(tokens.discover), name="outkey_oauth2_discover"),
            path(f"{place}connect/", view(tokens.connect), name="outkey_token_connect"),
            path(f"{place}leave/", view(tokens.leave), name="outkey_token_leave"),
            path(f"{place}renew/", view(tokens.renew), name="outkey_token_renew"),
            path(f"{place}revoke/", view(tokens.revoke), name="outkey_token_revoke"),
            path(f"{place}forget/", view(tokens.forget), name="outkey_token_forget"),
        ]


@admin.register(models.AuditRecord)
class AuditAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # not generic at run time
    """The audit: read, verified and exported, never changed."""

    def get_urls(self) -> list[URLPattern]:
        """Put our views in the places that the admin links to."""
        view = _shown(self)
        return [
            path("", view(overview.audit_page), name="outkey_auditrecord_changelist"),
            path("verify/", view(overview.audit_verify), name="outkey_audit_verify"),
            path("export/", view(overview.audit_export), name="outkey_audit_export"),
            path("people/", view(posture.data_protection_page), name="outkey_data_protection"),
        ]

    def has_add_permission(self, request: HttpRequest) -> bool:  # noqa: ARG002 - Django's own
        """Nobody adds records by hand."""
        return False


@admin.register(models.KnownKey)
class KeyAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # not generic at run time
    """The keys that seal secrets: looked at and rotated."""

    def get_urls(self) -> list[URLPattern]:
        """Put our views in the places that the admin links to."""
        view = _shown(self)
        return [
            path("", view(overview.keys_page), name="outkey_knownkey_changelist"),
            path("<str:step>/", view(overview.keys_step), name="outkey_key_step"),
        ]

    def has_add_permission(self, request: HttpRequest) -> bool:  # noqa: ARG002 - Django's own
        """Keys are added by a step of a rotation."""
        return False


@admin.register(models.SyncLine)
class SyncLineAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # not generic at run time
    """Sync lines: one named call of a configuration each."""

    def get_urls(self) -> list[URLPattern]:
        """Put our views in the places that the admin links to."""
        view = _shown(self)
        return [
            path("", view(lines.list_page), name="outkey_syncline_changelist"),
            path("add/", view(lines.edit_page), name="outkey_syncline_add"),
            path("<int:record>/", view(lines.edit_page), name="outkey_syncline_change"),
            path("<int:record>/delete/", view(lines.delete_page), name="outkey_syncline_delete"),
            path("<int:record>/sample/", view(lines.sample_page), name="outkey_syncline_sample"),
            path("<int:record>/run/", view(runs.start), name="outkey_syncline_run"),
        ]


@admin.register(models.Run)
class RunAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # not generic at run time
    """Runs of sync lines: looked at and cancelled."""

    def get_urls(self) -> list[URLPattern]:
        """Put our views in the places that the admin links to."""
        view = _shown(self)
        return [
            path("", view(runs.list_page), name="outkey_run_changelist"),
            path("<int:record>/", view(runs.run_page), name="outkey_run_change"),
            path("<int:record>/cancel/", view(runs.cancel), name="outkey_run_cancel"),
        ]

    def has_add_permission(self, request: HttpRequest) -> bool:  # noqa: ARG002 - Django's own
        """Begin runs on the page of their line only."""
        return False
