"""Every URL for every role: who may open it, and who may post to it.

A new URL fails until it has a row here.
"""

import json
from pathlib import Path

from programs import assert_program_passes

NOBODY: tuple[str, ...] = ()  # also where a method is not allowed at all
SUPER = ("superuser",)
ADMIN = (*SUPER, "Administrator")
OPERATORS = (*ADMIN, "Operator")
AUDITORS = (*OPERATORS, "Auditor")
# Also a page that has nothing for a user: it is empty, or there is none.
SIGNED_IN = (*AUDITORS, "no role")
# URL: who is not refused by GET, and by POST
ALLOWED = {
    "": (AUDITORS, AUDITORS),
    "password_change/": (SIGNED_IN, SIGNED_IN),
    "index": (AUDITORS, AUDITORS),
    "password_change": (SIGNED_IN, SIGNED_IN),
    "password_change_done": (SIGNED_IN, NOBODY),
    "autocomplete": (NOBODY, NOBODY),
    "jsi18n": (SIGNED_IN, NOBODY),
    "view_on_site": (SIGNED_IN, SIGNED_IN),
    "outkey_oauth2_callback": (ADMIN, NOBODY),
    "outkey_configuration_changelist": (OPERATORS, OPERATORS),
    "outkey_home": (AUDITORS, AUDITORS),
    "outkey_recommendations": (OPERATORS, OPERATORS),
    "outkey_search": (SIGNED_IN, SIGNED_IN),
    "outkey_configuration_bulk": (NOBODY, OPERATORS),
    "outkey_configuration_test_all": (NOBODY, OPERATORS),
    "outkey_configuration_check": (NOBODY, OPERATORS),
    "outkey_configuration_history": (OPERATORS, OPERATORS),
    "outkey_usersettings_changelist": (SIGNED_IN, SIGNED_IN),
    "outkey_configuration_new": (ADMIN, ADMIN),
    "outkey_preset": (ADMIN, ADMIN),
    "outkey_configuration_add": (ADMIN, ADMIN),
    "outkey_configuration_import": (NOBODY, ADMIN),
    "outkey_configuration_try_new": (NOBODY, OPERATORS),
    "outkey_configuration_preview_new": (NOBODY, OPERATORS),
    "outkey_script_run_new": (NOBODY, ADMIN),
    "outkey_oauth2_discover": (NOBODY, ADMIN),
    "outkey_configuration_change": (OPERATORS, ADMIN),
    "outkey_configuration_edit": (OPERATORS, ADMIN),
    "outkey_configuration_delete": (ADMIN, ADMIN),
    "outkey_configuration_rename": (ADMIN, ADMIN),
    "outkey_configuration_try": (NOBODY, OPERATORS),
    "outkey_configuration_preview": (NOBODY, OPERATORS),
    "outkey_configuration_fix": (NOBODY, ADMIN),
    "outkey_configuration_resume": (NOBODY, OPERATORS),
    "outkey_script_run": (NOBODY, ADMIN),
    "outkey_configuration_rotation": (NOBODY, ADMIN),
    "outkey_configuration_rotation_send": (NOBODY, OPERATORS),
    "outkey_token_connect": (NOBODY, ADMIN),
    "outkey_token_leave": (ADMIN, NOBODY),
    "outkey_token_renew": (NOBODY, OPERATORS),
    "outkey_token_revoke": (NOBODY, ADMIN),
    "outkey_token_forget": (NOBODY, ADMIN),
    "outkey_auditrecord_changelist": (AUDITORS, AUDITORS),
    "outkey_audit_verify": (NOBODY, AUDITORS),
    "outkey_audit_export": (NOBODY, AUDITORS),
    "outkey_data_protection": (AUDITORS, AUDITORS),
    "outkey_knownkey_changelist": (ADMIN, ADMIN),
    "outkey_key_step": (NOBODY, ADMIN),
    "outkey_syncline_changelist": (OPERATORS, OPERATORS),
    "outkey_syncline_add": (ADMIN, ADMIN),
    "outkey_syncline_change": (OPERATORS, ADMIN),
    "outkey_syncline_check_new": (NOBODY, ADMIN),
    "outkey_syncline_check": (NOBODY, OPERATORS),
    "outkey_syncline_version": (OPERATORS, ADMIN),
    "outkey_syncline_rename": (ADMIN, ADMIN),
    "outkey_syncline_reset": (OPERATORS, OPERATORS),
    "outkey_syncline_delete": (ADMIN, ADMIN),
    "outkey_syncline_sample": (NOBODY, OPERATORS),
    "outkey_syncline_run": (NOBODY, OPERATORS),
    "outkey_syncline_accept_shape": (NOBODY, ADMIN),
    "outkey_syncline_pause": (NOBODY, OPERATORS),
    "outkey_pairs": (OPERATORS, OPERATORS),
    "outkey_pair": (OPERATORS, OPERATORS),
    "outkey_pair_conflicts": (OPERATORS, OPERATORS),
    "outkey_pair_resolve": (NOBODY, OPERATORS),
    "outkey_data": (ADMIN, ADMIN),
    "outkey_data_table": (ADMIN, ADMIN),
    "outkey_data_export": (NOBODY, ADMIN),
    "outkey_run_changelist": (OPERATORS, OPERATORS),
    "outkey_run_change": (OPERATORS, OPERATORS),
    "outkey_run_cancel": (NOBODY, OPERATORS),
    "outkey_run_retry": (NOBODY, OPERATORS),
    "outkey_run_rejected": (NOBODY, OPERATORS),
    "outkey_webhook_changelist": (OPERATORS, OPERATORS),
    "outkey_webhook_add": (ADMIN, ADMIN),
    "outkey_webhook": (OPERATORS, OPERATORS),
    "outkey_webhook_edit": (ADMIN, ADMIN),
    "outkey_webhook_delete": (ADMIN, ADMIN),
    "outkey_webhook_pause": (NOBODY, OPERATORS),
    "outkey_webhook_secret": (NOBODY, ADMIN),
    "outkey_webhook_offer": (ADMIN, ADMIN),
    "outkey_webhook_test": (ADMIN, ADMIN),
    "outkey_webhook_inbox": (ADMIN, ADMIN),
    "outkey_webhook_delivery": (ADMIN, ADMIN),
    "outkey_webhook_replay": (NOBODY, OPERATORS),
    "outkey_apitoken_changelist": (ADMIN, ADMIN),
    "outkey_apitoken_add": (ADMIN, ADMIN),
    "outkey_apitoken_revoke": (ADMIN, ADMIN),
    "auth_user_password_change": (SUPER, SUPER),
    "auth_user_changelist": (SUPER, SUPER),
    "auth_user_add": (SUPER, SUPER),
    "auth_user_history": (SUPER, SUPER),
    "auth_user_delete": (SUPER, SUPER),
    "auth_user_change": (SUPER, SUPER),
    "auth/user/<path:object_id>/": (SIGNED_IN, SIGNED_IN),
    "auth_group_changelist": (SUPER, SUPER),
    "auth_group_add": (SUPER, SUPER),
    "auth_group_history": (SUPER, SUPER),
    "auth_group_delete": (SUPER, SUPER),
    "auth_group_change": (SUPER, SUPER),
    "auth/group/<path:object_id>/": (SIGNED_IN, SIGNED_IN),
    "app_list": (SIGNED_IN, SIGNED_IN),
}


def test_every_role_opens_and_posts_what_is_theirs_and_is_offered_nothing_else(
    tmp_path: Path,
) -> None:
    done = assert_program_passes("browser/roles", tmp_path / "home", timeout=400)
    found = json.loads(done.stdout)
    allowed = {
        name: (tuple(roles["GET"]), tuple(roles["POST"]))
        for name, roles in found["allowed"].items()
    }
    assert allowed == ALLOWED
    assert found["refused offers"] == []
