"""What is recorded before users, groups and their rights change, and the rights they have."""

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

from outkey.core.access.user_rights import Rights
from outkey.core.audit.events import Tag
from outkey.hosts.django.pages.access import desk_for

_NAMES = ("username", "name")
_LINKS = ("groups", "user_permissions", "permissions")


def rights_of_user(user: AbstractBaseUser | AnonymousUser) -> Rights:
    """Return the rights that are stored for a user; an inactive one keeps them for later."""
    if not isinstance(user, User) or user.pk is None:
        return Rights()
    given = Permission.objects.filter(user=user)
    return rights_of(user, user.groups.all(), given)


def rights_of(
    user: User, groups: Iterable[Group], permissions: Iterable[Permission]
) -> Rights:
    """Return the rights of a user with these groups and permissions."""
    of_groups = Permission.objects.filter(group__in=list(groups))
    return Rights(
        superuser=user.is_superuser,
        staff=user.is_staff,
        permissions=_names(of_groups) | _names(permissions),
    )


def rights_of_target(target: User | Group) -> Rights:
    """Return the rights that a user has, or that a group gives to its users."""
    if isinstance(target, User):
        return rights_of_user(target)
    return rights_of_permissions(target.permissions.all())


def rights_of_permissions(permissions: Iterable[Permission]) -> Rights:
    """Return the rights that these permissions give."""
    return Rights(permissions=_names(permissions))


def note_change(
    actor: AbstractBaseUser | AnonymousUser, tag: Tag, key: str, form: BaseForm
) -> None:
    """Record which fields of a user or group are about to change, and which links."""
    desk_for(actor).note(tag, "", *_changed(form), key=key)


def note_plain(
    actor: AbstractBaseUser | AnonymousUser, tag: Tag, *targets: User | Group
) -> None:
    """Record that something is about to be done to users or groups as a whole."""
    desk = desk_for(actor)
    for target in targets:
        desk.note(tag, key=key_of(target))


def key_of(target: User | Group) -> str:
    """Return how a user or a group is named in the audit."""
    if isinstance(target, User):
        return f"user {target.get_username()}"
    return f"group {target.name}"


def _changed(form: BaseForm) -> list[str]:
    """Return the names of changed fields; of groups and permissions, which come and which go."""
    names = [name for name in form.changed_data if name not in _LINKS]
    renamed = [
        one for one in _NAMES if one in form.changed_data and form.initial.get(one)
    ]
    names += [f"{field} +{form.cleaned_data[field]}" for field in renamed]
    for field in _LINKS:
        if field not in form.changed_data:
            continue
        before = _labels(form.initial.get(field) or ())
        after = _labels(form.cleaned_data.get(field) or ())
        names += [f"{field} +{name}" for name in sorted(after - before)]
        names += [f"{field} -{name}" for name in sorted(before - after)]
    return names


def _labels(linked: Iterable[object]) -> set[str]:
    groups = {item.name for item in linked if isinstance(item, Group)}
    return groups | _names(item for item in linked if isinstance(item, Permission))


def _names(permissions: Iterable[Permission]) -> frozenset[str]:
    if isinstance(permissions, QuerySet):
        permissions = permissions.select_related("content_type")
    return frozenset(
        f"{one.content_type.app_label}.{one.codename}" for one in permissions
    )
