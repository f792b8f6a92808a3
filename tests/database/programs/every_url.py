"""Every URL for every role, by every method, with parameters that are wrong."""

from page_urls import (
    ROLES,
    SUPERUSER,
    WRONG_ARGUMENTS,
    restore,
    right_urls,
    wrong_urls,
)
from visits import (
    NO_PARAMETERS,
    SENDING_METHODS,
    Parameters,
    Visits,
    method_of_role,
    share_of,
)

from outkey.sending.core.configuration.fields import FIELDS

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
    for number, url in enumerate(right):
        for place, role in enumerate(ROLES):
            for method in method_of_role(METHODS, number, place):
                visits.request(role, method, url, NO_PARAMETERS)
    for number, url in enumerate(right):
        for place, parameters in enumerate(PARAMETERS):
            for method in share_of(SENDING_METHODS, number + place, turns=4):
                visits.request(SUPERUSER, method, url, parameters)
    for number, url in enumerate(wrong):
        turn = number + number // len(WRONG_ARGUMENTS)
        for method in share_of(SENDING_METHODS, turn, turns=2):
            visits.request(SUPERUSER, method, url, NO_PARAMETERS)
    visits.finish()


main()
