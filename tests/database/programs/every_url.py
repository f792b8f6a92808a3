"""Every URL for every role, by every method, with parameters that are wrong."""

from page_urls import ROLES, SUPERUSER, restore, right_urls, wrong_urls
from visits import NO_PARAMETERS, Parameters, Visits

from outkey.core.config.fields import FIELDS

METHODS = ("get", "post", "put", "delete", "head", "options")
OTHER_NAMES = """
version row-key-0 row-value-0 row-secret-0 secret:token secret:password clear:token
reference:token sync configuration method path sample dry key fix run:at q after before
outcome status line state busy o p all e _popup next username password password1
password2 old_password new_password1 new_password2 email is_active is_staff is_superuser
action index app_label model_name field_name term post usable_password is_staff__exact
groups__id__exact username__startswith external_id number date_joined_0 date_joined_1
last_login_0 iss code error _save name__gt
"""
NAMES = [field.path for field in FIELDS] + OTHER_NAMES.split()
LARGE = "9" * 20
PARAMETERS: list[Parameters] = [
    NO_PARAMETERS,
    dict.fromkeys(NAMES, "a\x00b"),
    dict.fromkeys(NAMES, "9" * 5000),
    dict.fromkeys(NAMES, "\U0001f600' OR <b>"),
    {name: ["x", "", "-1"] for name in NAMES},
    dict.fromkeys(NAMES, "99999999999999999999"),
    dict.fromkeys(NAMES, "nan"),
    # What Django refuses as a whole stands alone, or it would hide what is beside it.
    {"_to_field": "x"},
    {"username": "target", "groups": "x", "user_permissions": "nan"},
    {"username": "target", "groups": LARGE, "user_permissions": LARGE},
    {"name": "target", "permissions": LARGE},
    {"groups__in": LARGE, "pk__in": LARGE, "id__gt": LARGE},
    {"action": "delete_selected", "index": "0"},  # nothing is selected
    {
        "post": "yes",
        "action": "delete_selected",
        "_selected_action": "x",
        "name": "",
    },
]


def main() -> None:
    visits = Visits()
    right = right_urls(restore())
    wrong = wrong_urls()
    assert len(right) + len(wrong) > 100
    for role in ROLES:
        for url in right:
            for method in METHODS:
                visits.request(role, method, url, NO_PARAMETERS)
    for url in right:
        for method in ("get", "post"):
            for parameters in PARAMETERS:
                visits.request(SUPERUSER, method, url, parameters)
    for url in wrong:
        for method in ("get", "post"):
            visits.request(SUPERUSER, method, url, NO_PARAMETERS)
    visits.finish()


main()
