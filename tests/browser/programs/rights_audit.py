"""Changes of users, groups and rights are recorded first, or not done."""

import re

from accounts import (
    NEW_PASSWORD,
    PASSWORD,
    SET_PASSWORD,
    admin,
    administrators,
    delete_selected,
    form,
    helper,
    newest,
    page_of,
    secret,
    sleeping,
    stored,
    strong,
    view,
)
from clients import boss, lose_key
from django.contrib.auth.models import Group, User
from django.db import connection
from django.test.utils import CaptureQueriesContext

SUBJECT = "<strong>(.*?)</strong>"


def own_password(old: str, new: str) -> dict[str, str]:
    """Return the form in which users change their own password."""
    return {"old_password": old, "new_password1": new, "new_password2": new}


def the_life_of_a_user_is_recorded() -> None:
    created = admin.post("/auth/user/add/", {"username": "mia"} | NEW_PASSWORD)
    assert created.status_code == 302
    (record,) = newest("people:user:created")
    assert (record.actor, record.key) == ("web:boss", "user mia")
    mia = User.objects.get(username="mia")
    change_user_mia(mia)
    mia = stored(mia)
    changed = form(mia, groups=[], is_active=None)
    assert admin.post(page_of(mia), changed).status_code == 302
    record = newest("people:user:updated")[0]
    assert record.key == "user maria"
    assert {"groups -Administrator", "is_active"} <= set(record.fields), record
    assert admin.post(page_of(mia, "password/"), SET_PASSWORD).status_code == 302
    assert newest("people:password:set") == [("web:boss", "user maria", [])]
    assert admin.post(page_of(mia, "delete/"), {"post": "yes"}).status_code == 302
    assert not User.objects.filter(pk=mia.pk).exists()


def change_user_mia(mia: User) -> None:
    changed = form(
        mia,
        is_superuser="on",
        groups=[administrators.pk],
        user_permissions=[secret.pk],
        email="mia@example.com",
        username="maria",
    )
    assert admin.post(page_of(mia), changed).status_code == 302
    (record,) = newest("people:user:updated")
    assert (record.actor, record.key) == ("web:boss", "user mia")
    assert {
        "is_superuser",
        "email",
        "groups +Administrator",
        "username +maria",
        "user_permissions +outkey.set_secret",
    } <= set(record.fields), record
    assert "example.com" not in str(record)


def a_change_of_the_own_password_is_recorded() -> None:
    values = own_password(PASSWORD, "quite another one")
    assert admin.post("/password_change/", values).status_code == 302
    assert newest("people:password:set")[0] == ("web:boss", "user boss", [])


def every_user_of_a_selection_is_recorded() -> None:
    selection = delete_selected(strong, sleeping)
    assert admin.post("/auth/user/", selection).status_code == 302
    keys = sorted(record.key for record in newest("people:user:deleted"))
    assert keys == ["user maria", "user sleeping", "user strong"]
    assert not User.objects.filter(pk__in=[strong.pk, sleeping.pk]).exists()


def the_life_of_a_group_is_recorded() -> None:
    values = {"name": "crew", "permissions": [view.pk]}
    assert admin.post("/auth/group/add/", values).status_code == 302
    place = f"/auth/group/{Group.objects.get(name='crew').pk}/"
    values = {"name": "team", "permissions": [secret.pk]}
    assert admin.post(place + "change/", values).status_code == 302
    assert admin.post(place + "delete/", {"post": "yes"}).status_code == 302
    (created,) = newest("people:group:created")
    assert created.key == "group crew"
    assert "permissions +outkey.view_configuration" in created.fields
    (updated,) = newest("people:group:updated")
    assert updated.key == "group crew"
    assert set(updated.fields) == {
        "name",
        "name +team",
        "permissions +outkey.set_secret",
        "permissions -outkey.view_configuration",
    }
    (deleted,) = newest("people:group:deleted")
    assert (deleted.actor, deleted.key) == ("web:boss", "group team")


def the_page_of_the_audit_shows_the_changes_without_passwords() -> None:
    admin.get("/outkey/auditrecord/")
    with CaptureQueriesContext(connection) as of_one:
        admin.get("/outkey/auditrecord/?actor=nobody")
    with CaptureQueriesContext(connection) as of_all:
        page = admin.get("/outkey/auditrecord/").content.decode()
    assert page.count("<tr>") > 10
    assert len(of_all) <= len(of_one) + 2, of_all.captured_queries  # no query per row
    subjects = [" ".join(part.split()) for part in re.findall(SUBJECT, page, re.DOTALL)]
    assert "maria" in subjects
    assert "Superuser status" in page
    assert "is_superuser" not in page
    assert "boss (pages)" in page
    assert "another long" not in page


def what_cannot_be_recorded_is_not_done() -> None:
    lose_key()
    group = {"name": "late", "permissions": []}
    attempts: dict[str, object] = {
        page_of(helper): form(helper, is_superuser="on"),
        page_of(helper, "password/"): SET_PASSWORD,
        page_of(helper, "delete/"): {"post": "yes"},
        "/auth/user/": delete_selected(helper),
        "/auth/user/add/": {"username": "late"} | NEW_PASSWORD,
        "/auth/group/add/": group,
        f"/auth/group/{administrators.pk}/change/": group,
        f"/auth/group/{administrators.pk}/delete/": {"post": "yes"},
        "/password_change/": own_password("quite another one", "yet another one"),
    }
    for path, values in attempts.items():
        response = admin.post(path, values)
        assert response.status_code == 503, (path, response.status_code)
    assert not stored(helper).is_superuser
    assert stored(helper).check_password(PASSWORD)
    assert not User.objects.filter(username="late").exists()
    assert Group.objects.filter(name="Administrator").exists()
    assert stored(boss).check_password("quite another one")


the_life_of_a_user_is_recorded()
a_change_of_the_own_password_is_recorded()
every_user_of_a_selection_is_recorded()
the_life_of_a_group_is_recorded()
the_page_of_the_audit_shows_the_changes_without_passwords()
what_cannot_be_recorded_is_not_done()
