"""API Sync in Django's admin: the URLs of its pages, and who sees it in the menu."""

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
from outkey.hosts.django.time_zones import in_time_zone

View = Callable[..., HttpResponseBase]


def _callback_view(section: admin.ModelAdmin) -> View:  # type: ignore[type-arg]
    """Return the view that a provider sends the browser back to.

    The admin's own redirect to the sign-in page would carry the URL with the code.
    """
    from outkey.hosts.django.pages.configurations.tokens import callback
    from outkey.hosts.django.pages.limits import within_limits

    view = within_limits("outkey_oauth2_callback", callback)

    def show(request: HttpRequest, record: UUID) -> HttpResponseBase:
        if not section.admin_site.has_permission(request):
            begin = reverse("admin:outkey_configuration_changelist")
            return redirect_to_login(begin, reverse("admin:login"))
        response = view(request, record)
        response["Referrer-Policy"] = "no-referrer"
        return response

    return require_GET(never_cache(show))


class Section(admin.ModelAdmin):  # type: ignore[type-arg]  # not generic at run time
    """A section of the admin with pages of our own, for users who are signed in."""

    addable = True  # by a button in the menu

    def get_urls(self) -> list[URLPattern]:
        """Return our views under the names that the admin links to."""
        from outkey.hosts.django.pages.limits import within_limits
        from outkey.hosts.django.pages.routes import PAGES

        urls = []
        for route, view, short_name in PAGES[self.model]:
            name = f"outkey_{short_name}"
            shown = in_time_zone(within_limits(name, view))
            urls.append(path(route, self.admin_site.admin_view(shown), name=name))
        return urls

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Whether the menu has a button to add one."""
        return self.addable and super().has_add_permission(request)


@admin.register(models.Configuration)
class ConfigurationAdmin(Section):
    """API Sync Configurations."""

    def get_urls(self) -> list[URLPattern]:
        """Add the page that providers send the browser back to."""
        route = "<uuid:record>/callback/"
        callback = path(route, _callback_view(self), name="outkey_oauth2_callback")
        return [callback, *super().get_urls()]


@admin.register(models.AuditRecord)
class AuditAdmin(Section):
    """The audit: read, verified and exported, never changed."""

    addable = False


@admin.register(models.KnownKey)
class KeyAdmin(Section):
    """The keys that seal secrets: looked at and rotated."""

    addable = False  # but by a step of a rotation


@admin.register(models.SyncLine)
class SyncLineAdmin(Section):
    """Sync lines: one named call of a configuration each."""


@admin.register(models.Run)
class RunAdmin(Section):
    """Runs of sync lines: begun on the page of their line, looked at and cancelled."""

    addable = False


@admin.register(models.Webhook)
class WebhookAdmin(Section):
    """Webhooks, their deliveries, and test deliveries."""


@admin.register(models.ApiToken)
class ApiTokenAdmin(Section):
    """The tokens of programs that use the HTTP interface."""


@admin.register(models.UserSettings)
class UserSettingsAdmin(Section):
    """The own settings of every user who may sign in to the admin."""

    addable = False

    def has_view_permission(
        self, _request: HttpRequest, _settings: models.UserSettings | None = None
    ) -> bool:
        """Show it to everybody: each user sees only their own."""
        return True
