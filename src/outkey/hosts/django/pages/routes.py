"""The pages of each section of the admin: path, view and name.

Imported with the first request that is not a probe, since all views together need 6 MB
and a fifth of a second.
"""

from collections.abc import Callable, Mapping

from django.db.models import Model
from django.http.response import HttpResponseBase

from outkey.hosts.django import models
from outkey.hosts.django.pages import home, search
from outkey.hosts.django.pages.configurations import (
    bulk_actions as configuration_bulk,
)
from outkey.hosts.django.pages.configurations import (
    fixes,
    imports,
    new,
    rotation,
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
from outkey.hosts.django.pages.webhooks import (
    form as webhook_form,
)
from outkey.hosts.django.pages.webhooks import (
    inbox,
)
from outkey.hosts.django.pages.webhooks import (
    pages as webhooks,
)

View = Callable[..., HttpResponseBase]

# The name of a pair or webhook may have any characters: it is a parameter of the query.
PAGES: Mapping[type[Model], tuple[tuple[str, View, str], ...]] = {
    models.Configuration: (
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
        (
            "<uuid:record>/rotation/<str:step>/",
            rotation.take_step,
            "configuration_rotation",
        ),
        (
            "<uuid:record>/rotation/<str:step>/send/",
            rotation.send_step,
            "configuration_rotation_send",
        ),
        ("<uuid:record>/token/connect/", tokens.connect, "token_connect"),
        ("<uuid:record>/token/leave/", tokens.leave, "token_leave"),
        ("<uuid:record>/token/renew/", tokens.renew, "token_renew"),
        ("<uuid:record>/token/revoke/", tokens.revoke, "token_revoke"),
        ("<uuid:record>/token/forget/", tokens.forget, "token_forget"),
    ),
    models.AuditRecord: (
        ("", activity.activity_page, "auditrecord_changelist"),
        ("verify/", activity.verify_chain, "audit_verify"),
        ("export/", activity.export, "audit_export"),
        ("people/", data_protection.data_protection_page, "data_protection"),
    ),
    models.KnownKey: (
        ("", keys.keys_page, "knownkey_changelist"),
        ("<str:step>/", keys.keys_step, "key_step"),
    ),
    models.SyncLine: (
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
        ("<int:record>/reset/", lines.reset_page, "syncline_reset"),
        ("<int:record>/delete/", lines.delete_page, "syncline_delete"),
        ("<int:record>/sample/", line_page.sample_page, "syncline_sample"),
        ("<int:record>/run/", runs.start, "syncline_run"),
        ("<int:record>/pause/", lines.pause, "syncline_pause"),
        ("<int:record>/shape/", lines.accept_shape, "syncline_accept_shape"),
        ("pairs/", pairs.list_page, "pairs"),
        ("pairs/pair/", pairs.pair_page, "pair"),
        ("pairs/conflicts/", pairs.conflicts_page, "pair_conflicts"),
        ("pairs/resolve/", pairs.resolve, "pair_resolve"),
        ("data/", data.list_page, "data"),
        ("data/<str:name>/", data.table_page, "data_table"),
        ("data/<str:name>/export/", data.export, "data_export"),
    ),
    models.Run: (
        ("", runs.list_page, "run_changelist"),
        ("<int:record>/", run_page.run_page, "run_change"),
        ("<int:record>/cancel/", runs.cancel, "run_cancel"),
        ("<int:record>/retry/", runs.retry, "run_retry"),
        ("<int:record>/rejected/", run_page.download, "run_rejected"),
    ),
    models.Webhook: (
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
    ),
    models.ApiToken: (
        ("", api_tokens.list_page, "apitoken_changelist"),
        ("add/", api_tokens.add_page, "apitoken_add"),
        ("revoke/", api_tokens.revoke_page, "apitoken_revoke"),
    ),
    models.UserSettings: (
        ("", user_settings.settings_page, "usersettings_changelist"),
    ),
}
