"""Users and groups: nobody gets beyond their own rights, and every change is recorded first."""

import os
import subprocess
import sys
from pathlib import Path

BEGINNING = """
from outkey.hosts.server.home import PAGES, prepare
prepare(PAGES)
from django.contrib.auth.models import Group, Permission, User
from django.test import Client
from outkey.hosts.django.pages.access import installation

BACKEND = "django.contrib.auth.backends.ModelBackend"
here = installation()


def person(name, *permissions, **facts):
    user = User.objects.create_user(name, password="a long password", is_staff=True, **facts)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    return user


def logged_in(user):
    client = Client(SERVER_NAME="127.0.0.1")
    client.force_login(user, backend=BACKEND)
    return client


def form(user, **changed):
    values = {"username": user.username, "is_active": "on", "is_staff": "on",
              "date_joined_0": "2026-01-01", "date_joined_1": "00:00:00"}
    if user.is_superuser:
        values["is_superuser"] = "on"
    values["groups"] = [group.pk for group in user.groups.all()]
    values["user_permissions"] = [one.pk for one in user.user_permissions.all()]
    values |= changed
    return {name: value for name, value in values.items() if value is not None}


def newest(tag):
    rows = [row for row in here.audit_rows.newest(50) if row["tag"] == tag]
    return [(row["actor"], row["key"], row["fields"]) for row in rows]


def fresh(user):
    return User.objects.get(pk=user.pk)


boss = person("boss", is_superuser=True)
clerk = person("clerk", "view_user", "add_user", "change_user", "delete_user", "view_group",
               "add_group", "change_group", "delete_group", "view_configuration")
helper = person("helper", "view_configuration")
strong = person("strong", "set_secret")
sleeping = person("sleeping", is_superuser=True, is_active=False)
admin, weak = logged_in(boss), logged_in(clerk)
administrators = Group.objects.get(name="Administrator")
secret = Permission.objects.get(codename="set_secret")
view = Permission.objects.get(codename="view_configuration")


def at(user, page="change/"):
    return f"/auth/user/{user.pk}/{page}"

"""

RIGHTS = (
    BEGINNING
    + """
# Nobody raises themselves or anybody else.
for target in (clerk, helper):
    for raised in ({"is_superuser": "on"}, {"groups": [administrators.pk]},
                   {"user_permissions": [secret.pk]}):
        answer = weak.post(at(target), form(target, **raised))
        assert answer.status_code == 200, (target, raised, answer.status_code)
        assert b"rights that you do not have yourself" in answer.content, (target, raised)
        now = fresh(target)
        assert not now.is_superuser and not now.groups.exists(), (target, raised)
        assert not now.user_permissions.filter(codename="set_secret").exists(), (target, raised)
assert newest("people:user:updated") == []

# A user with more rights is not changed, whether active or not: no password, no flag, no deletion.
new = {"password1": "another long password", "password2": "another long password",
       "usable_password": "true"}
for target in (boss, strong, sleeping):
    before = fresh(target).password
    assert weak.post(at(target, "password/"), new | {"set-password": "1"}).status_code == 403
    assert weak.post(at(target), form(target, is_active=None)).status_code == 403
    assert weak.post(at(target), form(target, email="me@evil.example")).status_code == 403
    assert weak.post(at(target, "delete/"), {"post": "yes"}).status_code == 403
    chosen = {"action": "delete_selected", "_selected_action": [target.pk, helper.pk],
              "post": "yes"}
    assert weak.post("/auth/user/", chosen).status_code == 403, target
    assert fresh(target).password == before
    assert fresh(target).is_active == target.is_active
assert User.objects.filter(pk=helper.pk).exists()

# Nor by way of a group: neither a new one, nor one's own, nor one that gives more.
crew = Group.objects.create(name="crew")
clerk.groups.add(crew)
plain = {"name": "crew", "permissions": [view.pk]}
for address, values in (
    ("/auth/group/add/", {"name": "mine", "permissions": [secret.pk]}),
    (f"/auth/group/{crew.pk}/change/", plain | {"permissions": [view.pk, secret.pk]}),
):
    answer = weak.post(address, values)
    assert b"rights that you do not have yourself" in answer.content, address
assert not crew.permissions.exists() and not Group.objects.filter(name="mine").exists()
place = f"/auth/group/{administrators.pk}/"
assert weak.post(place + "change/", {"name": "Administrator", "permissions": []}).status_code == 403
assert weak.post(place + "delete/", {"post": "yes"}).status_code == 403
chosen = {"action": "delete_selected", "_selected_action": [administrators.pk], "post": "yes"}
assert weak.post("/auth/group/", chosen).status_code == 403
assert administrators.permissions.count() > 5

# What is within one's own rights goes on working.
assert weak.post(at(helper), form(helper, email="helper@example.com")).status_code == 302
assert weak.post(at(helper), form(helper, user_permissions=[])).status_code == 302
assert weak.post(at(helper), form(helper, user_permissions=[view.pk])).status_code == 302
assert weak.post(f"/auth/group/{crew.pk}/change/", plain).status_code == 302
done = weak.post(at(helper, "password/"), new | {"set-password": "1"})
assert done.status_code == 302, done.content
assert fresh(helper).check_password("another long password")
made = weak.post("/auth/user/add/", {"username": "fresh"} | new)
assert made.status_code == 302, made.content
assert User.objects.get(username="fresh").is_staff
# Who may give everything still does, and one's own password needs the old one.
assert admin.post(at(helper), form(helper, is_superuser="on")).status_code == 302
assert fresh(helper).is_superuser
assert weak.post(at(helper), form(helper, is_superuser=None)).status_code == 403
own = weak.post(at(clerk, "password/"), new | {"set-password": "1"})
assert own["Location"] == "/password_change/"
assert fresh(clerk).check_password("a long password")
print("everything holds")
"""
)

RECORDS = (
    BEGINNING
    + """
new = {"password1": "another long password", "password2": "another long password",
       "usable_password": "true"}
assert admin.post("/auth/user/add/", {"username": "mia"} | new).status_code == 302
(row,) = newest("people:user:created")
assert row[:2] == ("web:boss", "user mia"), row
mia = User.objects.get(username="mia")
changed = form(mia, is_superuser="on", groups=[administrators.pk], user_permissions=[secret.pk],
               email="mia@example.com", username="maria")
assert admin.post(at(mia), changed).status_code == 302
(row,) = newest("people:user:updated")
assert row[:2] == ("web:boss", "user mia"), row
assert {"is_superuser", "email", "groups +Administrator", "username +maria",
        "user_permissions +outkey.set_secret"} <= set(row[2]), row
assert "example.com" not in str(row)
mia = fresh(mia)
assert admin.post(at(mia), form(mia, groups=[], is_active=None)).status_code == 302
row = newest("people:user:updated")[0]
assert row[1] == "user maria" and {"groups -Administrator", "is_active"} <= set(row[2]), row
assert admin.post(at(mia, "password/"), new | {"set-password": "1"}).status_code == 302
assert newest("people:password:set") == [("web:boss", "user maria", [])]
answer = admin.post("/password_change/", {"old_password": "a long password",
    "new_password1": "quite another one", "new_password2": "quite another one"})
assert answer.status_code == 302
assert newest("people:password:set")[0] == ("web:boss", "user boss", [])
assert admin.post(at(mia, "delete/"), {"post": "yes"}).status_code == 302
chosen = {"action": "delete_selected", "_selected_action": [strong.pk, sleeping.pk], "post": "yes"}
assert admin.post("/auth/user/", chosen).status_code == 302
assert sorted(row[1] for row in newest("people:user:deleted")) == [
    "user maria", "user sleeping", "user strong"]
assert not User.objects.filter(pk__in=[mia.pk, strong.pk, sleeping.pk]).exists()

assert admin.post("/auth/group/add/", {"name": "crew", "permissions": [view.pk]}).status_code == 302
crew = Group.objects.get(name="crew")
place = f"/auth/group/{crew.pk}/"
values = {"name": "team", "permissions": [secret.pk]}
assert admin.post(place + "change/", values).status_code == 302
assert admin.post(place + "delete/", {"post": "yes"}).status_code == 302
(made,), (moved,), (gone,) = (newest(f"people:group:{kind}")
                              for kind in ("created", "updated", "deleted"))
assert made[1] == "group crew" and "permissions +outkey.view_configuration" in made[2], made
assert moved[1] == "group crew", moved
assert set(moved[2]) == {"name", "name +team", "permissions +outkey.set_secret",
                         "permissions -outkey.view_configuration"}, moved
assert gone[:2] == ("web:boss", "group team"), gone
shown = admin.get("/outkey/auditrecord/").content.decode()
assert "user maria" in shown and "is_superuser" in shown and "another long" not in shown

# What cannot be recorded is not done.
here.keys.source.file.unlink()
here.keys._ring = here.audit._opened = None
values = {"name": "late", "permissions": []}
tried = {
    at(helper): form(helper, is_superuser="on"),
    at(helper, "password/"): new | {"set-password": "1"},
    at(helper, "delete/"): {"post": "yes"},
    "/auth/user/": {"action": "delete_selected", "_selected_action": [helper.pk], "post": "yes"},
    "/auth/user/add/": {"username": "late"} | new,
    "/auth/group/add/": values,
    f"/auth/group/{administrators.pk}/change/": values,
    f"/auth/group/{administrators.pk}/delete/": {"post": "yes"},
    "/password_change/": {"old_password": "quite another one",
        "new_password1": "yet another one", "new_password2": "yet another one"},
}
for address, values in tried.items():
    answer = admin.post(address, values)
    assert answer.status_code == 503, (address, answer.status_code)
assert not fresh(helper).is_superuser and fresh(helper).check_password("a long password")
assert not User.objects.filter(username="late").exists()
assert Group.objects.filter(name="Administrator").exists()
assert fresh(boss).check_password("quite another one")
print("everything holds")
"""
)

GUESSES = (
    BEGINNING
    + """
from axes.models import AccessAttempt
guess = {"old_password": "wrong", "new_password1": "quite another one",
         "new_password2": "quite another one"}
right = guess | {"old_password": "a long password"}
for number in range(4):
    answer = weak.post("/password_change/", guess)
    assert (answer.status_code, b"incorrectly" in answer.content) == (200, True), number
fifth = weak.post("/password_change/", guess)
assert fifth.status_code == 429, fifth.status_code
assert b"15 minutes" in fifth.content
# Locked: the right one does not count any more, here and at the login.
assert weak.post("/password_change/", right).status_code == 429
assert fresh(clerk).check_password("a long password")
entry = {"username": "clerk", "password": "a long password"}
assert Client(SERVER_NAME="127.0.0.1").post("/login/", entry).status_code == 429
# It is the same count: wrong passwords at the login lock the change as well, and others go on.
for _ in range(5):
    Client(SERVER_NAME="127.0.0.1").post("/login/", {"username": "helper", "password": "wrong"})
assert logged_in(helper).post("/password_change/", right).status_code == 429
assert logged_in(strong).post("/password_change/", right).status_code == 302
assert fresh(strong).check_password("quite another one")
assert logged_in(boss).get("/password_change/").status_code == 200
# What is kept of an attempt holds no password.
kept = str(list(AccessAttempt.objects.values()))
assert "quite another one" not in kept and "wrong" not in kept, kept
tags = [row["tag"] for row in here.audit_rows.newest(50)]
assert tags.count("people:session:refused") >= 10
assert Client(SERVER_NAME="127.0.0.1").post("/password_change/", right).status_code == 302
print("everything holds")
"""
)


def run_program(program: str, home: Path) -> None:
    environment = {"PATH": os.environ["PATH"], "OUTKEY_HOME": str(home)}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.stdout == "everything holds\n", done.stderr[-3000:]


def test_nobody_gives_takes_or_uses_rights_beyond_their_own(tmp_path: Path) -> None:
    run_program(RIGHTS, tmp_path / "home")


def test_changes_of_users_groups_and_rights_are_recorded_first(tmp_path: Path) -> None:
    run_program(RECORDS, tmp_path / "home")


def test_guesses_of_the_old_password_count_and_lock_like_a_login(
    tmp_path: Path,
) -> None:
    run_program(GUESSES, tmp_path / "home")
