"""Which URLs are pages to look at, and where each is found in the served samples.

Every URL of the embedded server is in one of the two tables: a new one fails
`test_accessibility.py` until somebody has decided what it is.
"""

import json
import os
from pathlib import Path
from typing import Final

import forks
from programs import program_command

# {configuration}, {line}, {run} and {delivery} are filled in from the lists.
PAGES: Final = {
    "login": "/login/",
    "password_change": "/password_change/",
    "password_change_done": "/password_change/done/",
    "app_list": "/auth/",
    "outkey_home": "/outkey/configuration/home/",
    "outkey_configuration_changelist": "/outkey/configuration/",
    "outkey_configuration_new": "/outkey/configuration/new/",
    "outkey_preset": "/outkey/configuration/new/{preset}/",
    "outkey_configuration_add": "/outkey/configuration/add/",
    "outkey_configuration_change": "/outkey/configuration/{configuration}/",
    "outkey_configuration_delete": "/outkey/configuration/{configuration}/delete/",
    "outkey_configuration_rename": "/outkey/configuration/{configuration}/rename/",
    "outkey_recommendations": "/outkey/configuration/recommendations/",
    "outkey_search": "/outkey/configuration/search/?q=demo",
    "outkey_usersettings_changelist": "/outkey/usersettings/",
    "outkey_syncline_version": "/outkey/syncline/{line}/versions/1/",
    "outkey_auditrecord_changelist": "/outkey/auditrecord/",
    "outkey_data_protection": "/outkey/auditrecord/people/",
    "outkey_knownkey_changelist": "/outkey/knownkey/",
    "outkey_syncline_changelist": "/outkey/syncline/",
    "outkey_syncline_add": "/outkey/syncline/add/",
    "outkey_syncline_change": "/outkey/syncline/{line}/",
    "outkey_syncline_reset": "/outkey/syncline/{line}/reset/",
    "outkey_syncline_rename": "/outkey/syncline/{line}/rename/",
    "outkey_syncline_delete": "/outkey/syncline/{line}/delete/",
    "outkey_pairs": "/outkey/syncline/pairs/",
    "outkey_data": "/outkey/syncline/data/",
    "outkey_run_changelist": "/outkey/run/",
    "outkey_run_change": "/outkey/run/{run}/",
    "outkey_webhook_changelist": "/outkey/webhook/",
    "outkey_webhook_add": "/outkey/webhook/add/",
    "outkey_webhook": "/outkey/webhook/webhook/?name=sample",
    "outkey_webhook_edit": "/outkey/webhook/edit/?name=sample",
    "outkey_webhook_delete": "/outkey/webhook/delete/?name=sample",
    "outkey_webhook_test": "/outkey/webhook/test/?name=sample",
    "outkey_webhook_inbox": "/outkey/webhook/inbox/?name=sample",
    "outkey_webhook_delivery": "/outkey/webhook/delivery/?name=sample&id={delivery}",
    "outkey_apitoken_changelist": "/outkey/apitoken/",
    "outkey_apitoken_add": "/outkey/apitoken/add/",
    "outkey_apitoken_revoke": "/outkey/apitoken/revoke/?name=sample",
    "auth_user_changelist": "/auth/user/",
    "auth_user_add": "/auth/user/add/",
    "auth_user_change": "/auth/user/1/change/",
    "auth_user_password_change": "/auth/user/{other_user}/password/",
    "auth_user_history": "/auth/user/1/history/",
    "auth_user_delete": "/auth/user/{other_user}/delete/",
    "auth_group_changelist": "/auth/group/",
    "auth_group_add": "/auth/group/add/",
    "auth_group_change": "/auth/group/1/change/",
    "auth_group_history": "/auth/group/1/history/",
    "auth_group_delete": "/auth/group/1/delete/",
    "demo_contact_changelist": "/demo/contact/",
    "demo_contact_change": "/demo/contact/{contact}/change/",
    "demo_contact_history": "/demo/contact/{contact}/history/",
    "demo_order_changelist": "/demo/order/",
    "(?P<url>.*)$": "/there-is-no-such-page/",
}
REDIRECT = "redirects to a page of this table"
POST_ONLY = "takes a POST only"
PART = "returns a part of a page"
REFUSED = "nobody may use it"
TESTED_ELSEWHERE = "needs a state that tests/browser has a test of its own for"
NOT_PAGES: Final = {
    "": REDIRECT,
    "index": REDIRECT,
    "login/": "the same page as login",
    "password_change/": REDIRECT,
    "auth/user/<path:object_id>/": REDIRECT,
    "auth/group/<path:object_id>/": REDIRECT,
    "demo/contact/<path:object_id>/": REDIRECT,
    "demo/order/<path:object_id>/": REDIRECT,
    "view_on_site": REDIRECT,
    "outkey_configuration_edit": "the same page as outkey_configuration_change",
    "logout": POST_ONLY,
    "outkey_configuration_import": POST_ONLY,
    "outkey_configuration_try_new": POST_ONLY,
    "outkey_configuration_preview_new": POST_ONLY,
    "outkey_script_run_new": POST_ONLY,
    "outkey_oauth2_discover": POST_ONLY,
    "outkey_configuration_try": POST_ONLY,
    "outkey_configuration_preview": POST_ONLY,
    "outkey_configuration_fix": POST_ONLY,
    "outkey_configuration_resume": POST_ONLY,
    "outkey_script_run": POST_ONLY,
    "outkey_configuration_rotation": POST_ONLY,
    "outkey_configuration_rotation_send": POST_ONLY,
    "outkey_token_connect": POST_ONLY,
    "outkey_token_renew": POST_ONLY,
    "outkey_token_revoke": POST_ONLY,
    "outkey_token_forget": POST_ONLY,
    "outkey_audit_verify": POST_ONLY,
    "outkey_audit_export": POST_ONLY,
    "outkey_key_step": POST_ONLY,
    "outkey_syncline_sample": POST_ONLY,
    "outkey_syncline_run": POST_ONLY,
    "outkey_syncline_pause": POST_ONLY,
    "outkey_syncline_accept_shape": POST_ONLY,
    "outkey_webhook_pause": POST_ONLY,
    "outkey_webhook_secret": POST_ONLY,
    "outkey_webhook_replay": POST_ONLY,
    "outkey_webhook_offer": REDIRECT,
    "outkey_connect": TESTED_ELSEWHERE,
    "outkey_connect_callback": TESTED_ELSEWHERE,
    "outkey_run_cancel": POST_ONLY,
    "outkey_run_retry": POST_ONLY,
    "outkey_run_rejected": POST_ONLY,
    "outkey_configuration_bulk": POST_ONLY,
    "outkey_configuration_check": POST_ONLY,
    "outkey_configuration_test_all": POST_ONLY,
    "outkey_configuration_history": PART,
    "outkey_syncline_check": POST_ONLY,
    "outkey_syncline_check_new": POST_ONLY,
    "outkey_pair_resolve": POST_ONLY,
    "outkey_data_export": "a file",
    "jsi18n": "a script",
    "autocomplete": "data for a script",
    "outkey_token_leave": TESTED_ELSEWHERE,
    "outkey_oauth2_callback": TESTED_ELSEWHERE,
    "outkey_pair": TESTED_ELSEWHERE,
    "outkey_pair_conflicts": TESTED_ELSEWHERE,
    "outkey_data_table": TESTED_ELSEWHERE,
    "demo_contact_add": REFUSED,
    "demo_contact_delete": REFUSED,
    "demo_order_add": REFUSED,
    "demo_order_delete": REFUSED,
    "demo_order_change": "like demo_contact_change",
    "demo_order_history": "like demo_contact_history",
}


def url_names(home: Path) -> set[str]:
    """Return the name, or else the route, of every URL of the embedded server."""
    environment = {"PATH": os.environ["PATH"], "OUTKEY_HOME": str(home)}
    done = forks.run(program_command("browser/url_names"), environment)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout))
