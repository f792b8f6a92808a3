"""The rights of users and groups, and the records of changes to them."""

from collections.abc import Iterable

from django.contrib.auth.models import (
    AbstractBaseUser,
    AnonymousUser,
    Group,
    Permission,
    User,
)
from django.db.models import QuerySet
from django.forms import BaseForm

from outkey.administration.core.access.user_rights import AccountRights
from outkey.hosts.django.pages.access import administration_for
from outkey.sending.core.audit.events import Tag

_NAMES = ("username", "name")
_LINKS = ("groups", "user_permissions", "permissions")


def rights_of_user(user: AbstractBaseUser | AnonymousUser) -> AccountRights:
    """Return the rights that are stored for a user, also for an inactive one."""
    if not isinstance(user, User) or user.pk is None:
        return AccountRights()
    permissions = Permission.objects.filter(user=user)
    return rights_of(user, user.groups.all(), permissions)


def rights_of(
    user: User, groups: Iterable[Group], permissions: Iterable[Permission]
) -> AccountRights:
    """Return the rights of a user with these groups and permissions."""
    of_groups = Permission.objects.filter(group__in=list(groups))
    return AccountRights(
        superuser=user.is_superuser,
        staff=user.is_staff,
        permissions=_permission_names(of_groups) | _permission_names(permissions),
    )


def rights_of_target(target: User | Group) -> AccountRights:
    """Return the rights that a user has, or that a group gives to its users."""
    if isinstance(target, User):
        return rights_of_user(target)
    return rights_of_permissions(target.permissions.all())


def rights_of_permissions(permissions: Iterable[Permission]) -> AccountRights:
    """Return the rights that these permissions give."""
    return AccountRights(permissions=_permission_names(permissions))


def note_change(
    actor: AbstractBaseUser | AnonymousUser, tag: Tag, key: str, form: BaseForm
) -> None:
    """Record which fields of a user or group are about to change, and which links."""
    administration_for(actor).note(tag, "", *changed_fields(form), key=key)


def note_plain(
    actor: AbstractBaseUser | AnonymousUser, tag: Tag, *targets: User | Group
) -> None:
    """Record that something is about to be done to users or groups as a whole."""
    administration = administration_for(actor)
    for target in targets:
        administration.note(tag, key=key_of(target))


def key_of(target: User | Group) -> str:
    """Return how a user or a group is named in the audit."""
    if isinstance(target, User):
        return f"user {target.get_username()}"
    return f"group {target.name}"


def changed_fields(form: BaseForm) -> list[str]:
    """Return the names of changed fields, with each link that is added or removed."""
    names = [name for name in form.changed_data if name not in _LINKS]
    names += [
        f"{field} +{form.cleaned_data[field]}"
        for field in _NAMES
        if field in form.changed_data and form.initial.get(field)
    ]
    for field in _LINKS:
        if field not in form.changed_data:
            continue
        before = _labels_of(form.initial.get(field) or ())
        after = _labels_of(form.cleaned_data.get(field) or ())
        names += [f"{field} +{name}" for name in sorted(after - before)]
        names += [f"{field} -{name}" for name in sorted(before - after)]
    return names


def _labels_of(linked: Iterable[object]) -> set[str]:
    """Return the names of groups and permissions."""
    groups = {item.name for item in linked if isinstance(item, Group)}
    return groups | _permission_names(
        item for item in linked if isinstance(item, Permission)
    )


def _permission_names(permissions: Iterable[Permission]) -> frozenset[str]:
    """Return permissions as Django's `has_perm` takes them, such as `auth.add_user`."""
    if isinstance(permissions, QuerySet):
        permissions = permissions.select_related("content_type")
    return frozenset(
        f"{permission.content_type.app_label}.{permission.codename}"
        for permission in permissions
    )
