"""API Sync in Django's admin: the URLs of its pages, and who sees it in the menu."""

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
from outkey.hosts.django.pages import home, search
from outkey.hosts.django.pages.configurations import (
    bulk_actions as configuration_bulk,
)
from outkey.hosts.django.pages.configurations import (
    fixes,
    imports,
    new,
    scripts,
    tokens,
    trials,
)
from outkey.hosts.django.pages.configurations import (
    list_page as configuration_list,
)
from outkey.hosts.django.pages.configurations import (
    page as configurations,
)
from outkey.hosts.django.pages.installation import (
    activity,
    api_tokens,
    data_protection,
    keys,
    recommendations,
    user_settings,
)
from outkey.hosts.django.pages.lines import (
    data,
    pairs,
    run_page,
    runs,
)
from outkey.hosts.django.pages.lines import (
    list_page as lines,
)
from outkey.hosts.django.pages.lines import (
    page as line_page,
)
from outkey.hosts.django.pages.lines import (
    versions as line_versions,
)
from outkey.hosts.django.pages.shell import errors_as_page
from outkey.hosts.django.pages.webhooks import (
    form as webhook_form,
)
from outkey.hosts.django.pages.webhooks import (
    inbox,
)
from outkey.hosts.django.pages.webhooks import (
    pages as webhooks,
)
from outkey.hosts.django.time_zones import in_time_zone

View = Callable[..., HttpResponseBase]


def _callback_view(section: admin.ModelAdmin) -> View:  # type: ignore[type-arg]
    """Return the view that a provider sends the browser back to.

    The admin's own redirect to the sign-in page would carry the URL with the code.
    """
    view = errors_as_page(tokens.callback)

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

    pages: ClassVar[tuple[tuple[str, View, str], ...]]  # path, view, name
    addable = True  # by a button in the menu

    def get_urls(self) -> list[URLPattern]:
        """Return our views under the names that the admin links to."""
        return [
            path(
                route,
                self.admin_site.admin_view(in_time_zone(errors_as_page(view))),
                name=f"outkey_{name}",
            )
            for route, view, name in self.pages
        ]

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Whether the menu has a button to add one."""
        return self.addable and super().has_add_permission(request)


@admin.register(models.Configuration)
class ConfigurationAdmin(Section):
    """API Sync Configurations."""

    pages = (
        ("", configuration_list.list_page, "configuration_changelist"),
        ("home/", home.home_page, "home"),
        (
            "recommendations/",
            recommendations.recommendations_page,
            "recommendations",
        ),
        ("search/", search.search_page, "search"),
        ("bulk/", configuration_bulk.bulk, "configuration_bulk"),
        ("test-all/", configuration_bulk.test_all, "configuration_test_all"),
        ("new/", new.new_page, "configuration_new"),
        ("new/<str:name>/", new.preset_page, "preset"),
        ("add/", configurations.add_page, "configuration_add"),
        ("import/", imports.import_page, "configuration_import"),
        ("test/", trials.test_panel, "configuration_try_new"),
        ("preview/", trials.preview_panel, "configuration_preview_new"),
        ("script/", scripts.run_panel, "script_run_new"),
        ("discover/", tokens.discover, "oauth2_discover"),
        ("<uuid:record>/", configurations.change_page, "configuration_change"),
        ("<uuid:record>/change/", configurations.change_page, "configuration_edit"),
        ("<uuid:record>/delete/", configurations.delete_page, "configuration_delete"),
        ("<uuid:record>/rename/", configurations.rename_page, "configuration_rename"),
        ("<uuid:record>/test/", trials.test_panel, "configuration_try"),
        (
            "<uuid:record>/history/",
            configurations.history_panel,
            "configuration_history",
        ),
        ("<uuid:record>/check/", configuration_bulk.check, "configuration_check"),
        ("<uuid:record>/preview/", trials.preview_panel, "configuration_preview"),
        ("<uuid:record>/fix/", fixes.apply_shown_fix, "configuration_fix"),
        ("<uuid:record>/resume/", fixes.resume_configuration, "configuration_resume"),
        ("<uuid:record>/script/", scripts.run_panel, "script_run"),
        ("<uuid:record>/token/connect/", tokens.connect, "token_connect"),
        ("<uuid:record>/token/leave/", tokens.leave, "token_leave"),
        ("<uuid:record>/token/renew/", tokens.renew, "token_renew"),
        ("<uuid:record>/token/revoke/", tokens.revoke, "token_revoke"),
        ("<uuid:record>/token/forget/", tokens.forget, "token_forget"),
    )

    def get_urls(self) -> list[URLPattern]:
        """Add the page that providers send the browser back to."""
        route = "<uuid:record>/callback/"
        callback = path(route, _callback_view(self), name="outkey_oauth2_callback")
        return [callback, *super().get_urls()]


@admin.register(models.AuditRecord)
class AuditAdmin(Section):
    """The audit: read, verified and exported, never changed."""

    addable = False
    pages = (
        ("", activity.activity_page, "auditrecord_changelist"),
        ("verify/", activity.verify_chain, "audit_verify"),
        ("export/", activity.export, "audit_export"),
        ("people/", data_protection.data_protection_page, "data_protection"),
    )


@admin.register(models.KnownKey)
class KeyAdmin(Section):
    """The keys that seal secrets: looked at and rotated."""

    addable = False  # but by a step of a rotation
    pages = (
        ("", keys.keys_page, "knownkey_changelist"),
        ("<str:step>/", keys.keys_step, "key_step"),
    )


@admin.register(models.SyncLine)
class SyncLineAdmin(Section):
    """Sync lines: one named call of a configuration each."""

    pages = (
        ("", lines.list_page, "syncline_changelist"),
        ("add/", line_page.edit_page, "syncline_add"),
        ("add/check/", line_page.check_page, "syncline_check_new"),
        ("<int:record>/", line_page.edit_page, "syncline_change"),
        ("<int:record>/check/", line_page.check_page, "syncline_check"),
        (
            "<int:record>/versions/<int:number>/",
            line_versions.version_page,
            "syncline_version",
        ),
        ("<int:record>/rename/", lines.rename_page, "syncline_rename"),
        ("<int:record>/delete/", lines.delete_page, "syncline_delete"),
        ("<int:record>/sample/", line_page.sample_page, "syncline_sample"),
        ("<int:record>/run/", runs.start, "syncline_run"),
        ("<int:record>/pause/", lines.pause, "syncline_pause"),
        ("pairs/", pairs.list_page, "pairs"),
        # A name may have any characters, so it is a parameter and not a path.
        ("pairs/pair/", pairs.pair_page, "pair"),
        ("pairs/conflicts/", pairs.conflicts_page, "pair_conflicts"),
        ("pairs/resolve/", pairs.resolve, "pair_resolve"),
        ("data/", data.list_page, "data"),
        ("data/<str:name>/", data.table_page, "data_table"),
        ("data/<str:name>/export/", data.export, "data_export"),
    )


@admin.register(models.Run)
class RunAdmin(Section):
    """Runs of sync lines: begun on the page of their line, looked at and cancelled."""

    addable = False
    pages = (
        ("", runs.list_page, "run_changelist"),
        ("<int:record>/", run_page.run_page, "run_change"),
        ("<int:record>/cancel/", runs.cancel, "run_cancel"),
        ("<int:record>/retry/", runs.retry, "run_retry"),
        ("<int:record>/rejected/", run_page.download, "run_rejected"),
    )


@admin.register(models.Webhook)
class WebhookAdmin(Section):
    """Webhooks, their deliveries, and test deliveries."""

    # A name may have any characters, so it is a parameter and not a path.
    pages = (
        ("", webhooks.list_page, "webhook_changelist"),
        ("add/", webhook_form.add_page, "webhook_add"),
        ("webhook/", webhooks.webhook_page, "webhook"),
        ("edit/", webhook_form.edit_page, "webhook_edit"),
        ("delete/", webhooks.delete_page, "webhook_delete"),
        ("pause/", webhooks.pause, "webhook_pause"),
        ("secret/", webhooks.set_secret, "webhook_secret"),
        ("offer/", webhooks.offer_page, "webhook_offer"),
        ("test/", inbox.test_page, "webhook_test"),
        ("inbox/", inbox.inbox_page, "webhook_inbox"),
        ("delivery/", inbox.delivery_page, "webhook_delivery"),
        ("replay/", inbox.replay, "webhook_replay"),
    )


@admin.register(models.ApiToken)
class ApiTokenAdmin(Section):
    """The tokens of programs that use the HTTP interface."""

    pages = (
        ("", api_tokens.list_page, "apitoken_changelist"),
        ("add/", api_tokens.add_page, "apitoken_add"),
        ("revoke/", api_tokens.revoke_page, "apitoken_revoke"),
    )


@admin.register(models.UserSettings)
class UserSettingsAdmin(Section):
    """The own settings of every user who may sign in to the admin."""

    addable = False
    pages = (("", user_settings.settings_page, "usersettings_changelist"),)

    def has_view_permission(
        self, _request: HttpRequest, _settings: models.UserSettings | None = None
    ) -> bool:
        """Show it to everybody: each user sees only their own."""
        return True
