"""The pages that a user who is limited to owners may open; every other one is refused.

They show only what `installation` and `visible` of `pages.access` have. A page that is
added is not among them until it is named here, and then the test of isolation opens it.
"""

from collections.abc import Callable
from functools import wraps

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from outkey.hosts.django.pages.access import page_of_user, reach_of
from outkey.hosts.django.pages.shell import errors_as_page

View = Callable[..., HttpResponseBase]
# About the whole installation, and refused: keys, tables with their rows, users and
# groups, data protection, the verification and the export of the audit.
FOR_LIMITED = frozenset(
    {
        "outkey_apitoken_add",
        "outkey_apitoken_changelist",
        "outkey_apitoken_revoke",
        "outkey_auditrecord_changelist",
        "outkey_configuration_add",
        "outkey_configuration_bulk",
        "outkey_configuration_change",
        "outkey_configuration_changelist",
        "outkey_configuration_check",
        "outkey_configuration_delete",
        "outkey_configuration_edit",
        "outkey_configuration_fix",
        "outkey_configuration_history",
        "outkey_configuration_import",
        "outkey_configuration_new",
        "outkey_configuration_preview",
        "outkey_configuration_preview_new",
        "outkey_configuration_rename",
        "outkey_configuration_resume",
        "outkey_configuration_rotation",
        "outkey_configuration_rotation_send",
        "outkey_configuration_test_all",
        "outkey_configuration_try",
        "outkey_configuration_try_new",
        "outkey_home",
        "outkey_oauth2_callback",
        "outkey_oauth2_discover",
        "outkey_pair",
        "outkey_pair_conflicts",
        "outkey_pair_resolve",
        "outkey_pairs",
        "outkey_preset",
        "outkey_recommendations",
        "outkey_run_cancel",
        "outkey_run_change",
        "outkey_run_changelist",
        "outkey_run_rejected",
        "outkey_run_retry",
        "outkey_script_run",
        "outkey_script_run_new",
        "outkey_search",
        "outkey_syncline_accept_shape",
        "outkey_syncline_add",
        "outkey_syncline_change",
        "outkey_syncline_changelist",
        "outkey_syncline_check",
        "outkey_syncline_check_new",
        "outkey_syncline_delete",
        "outkey_syncline_pause",
        "outkey_syncline_rename",
        "outkey_syncline_reset",
        "outkey_syncline_run",
        "outkey_syncline_sample",
        "outkey_syncline_version",
        "outkey_token_connect",
        "outkey_token_forget",
        "outkey_token_leave",
        "outkey_token_renew",
        "outkey_token_revoke",
        "outkey_usersettings_changelist",
        "outkey_webhook",
        "outkey_webhook_add",
        "outkey_webhook_changelist",
        "outkey_webhook_delete",
        "outkey_webhook_delivery",
        "outkey_webhook_edit",
        "outkey_webhook_inbox",
        "outkey_webhook_offer",
        "outkey_webhook_pause",
        "outkey_webhook_replay",
        "outkey_webhook_secret",
        "outkey_webhook_test",
        # of the host
        "password_change",
        "password_change_done",
        "login",
        "logout",
    }
)


def within_limits(name: str, view: View) -> View:
    """Return a page that shows what its user sees, or responds with 403.

    An error of outkey is shown as a page, also where the limit cannot be read.
    """

    @errors_as_page
    def show_permitted(
        request: HttpRequest, *args: object, **kwargs: object
    ) -> HttpResponseBase:
        refuse_page(request, name)
        return view(request, *args, **kwargs)

    @wraps(view)
    def show(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
        with page_of_user(request):
            return show_permitted(request, *args, **kwargs)

    return show


def refuse_page(request: HttpRequest, name: str) -> None:
    """Respond with 403 if the user is limited and the page is not for such users."""
    if not may_be_opened(request, name):
        raise PermissionDenied


def may_be_opened(request: HttpRequest, name: str) -> bool:
    """Whether the limit of the user, if there is one, permits a page."""
    return name in FOR_LIMITED or not reach_of(request).is_limited
