"""Users with different rights, and what a browser posts to change them."""

from typing import NamedTuple, cast

from clients import application, boss, client_of
from django.contrib.auth.models import Group, Permission, User

PASSWORD = "a long password"
NEW_PASSWORD = {
    "password1": "another long password",
    "password2": "another long password",
    "usable_password": "true",
}
SET_PASSWORD = NEW_PASSWORD | {"set-password": "1"}
ALL_OF_ACCOUNTS = (
    "view_user",
    "add_user",
    "change_user",
    "delete_user",
    "view_group",
    "add_group",
    "change_group",
    "delete_group",
)


class AuditFacts(NamedTuple):
    """What a record of the audit states about a change."""

    actor: str
    key: str
    fields: list[str]


def create_user(name: str, *permissions: str) -> User:
    user = User.objects.create_user(name, password=PASSWORD, is_staff=True)
    rows = Permission.objects.filter(codename__in=permissions)
    assert len(rows) == len(permissions)
    user.user_permissions.set(rows)
    return user


def form(user: User, **changed: object) -> dict[str, object]:
    """Return the form of a user as the page posts it, with changes."""
    values: dict[str, object] = {
        "username": user.username,
        "is_active": "on",
        "is_staff": "on",
        "date_joined_0": "2026-01-01",
        "date_joined_1": "00:00:00",
        "groups": [group.pk for group in user.groups.all()],
        "user_permissions": [row.pk for row in user.user_permissions.all()],
    }
    if user.is_superuser:
        values["is_superuser"] = "on"
    values |= changed
    return {name: value for name, value in values.items() if value is not None}


def delete_selected(*rows: User | Group) -> dict[str, object]:
    """Return the form that deletes the selected rows of a list."""
    keys = [row.pk for row in rows]
    return {"action": "delete_selected", "_selected_action": keys, "post": "yes"}


def newest(tag: str) -> list[AuditFacts]:
    """Return the newest records of one kind."""
    return [
        AuditFacts(
            actor=str(row["actor"]),
            key=str(row["key"]),
            fields=cast("list[str]", row["fields"]),
        )
        for row in application.audit_trail.rows.newest(50)
        if row["tag"] == tag
    ]


def stored(user: User) -> User:
    """Return a user as the database has it now."""
    return User.objects.get(pk=user.pk)


def page_of(user: User, page: str = "change/") -> str:
    return f"/auth/user/{user.pk}/{page}"


boss.set_password(PASSWORD)
boss.save()
clerk = create_user("clerk", *ALL_OF_ACCOUNTS, "view_configuration")
helper = create_user("helper", "view_configuration")
strong = create_user("strong", "set_secret")
sleeping = User.objects.create_superuser("sleeping", password=PASSWORD, is_active=False)
admin = client_of(boss)
weak = client_of(clerk)
administrators = Group.objects.get(name="Administrator")
secret = Permission.objects.get(codename="set_secret")
view = Permission.objects.get(codename="view_configuration")
