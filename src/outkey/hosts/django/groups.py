"""The groups that come with the app, one for each role of the core."""

from django.apps.registry import Apps
from django.contrib.auth.models import Group, Permission

from outkey.administration.core.access.roles import ROLES


def make_groups(*, apps: Apps, **_: object) -> None:
    """Create the groups that are missing; those that exist stay as they are."""
    if "group" not in apps.all_models["auth"]:
        # `migrate outkey` runs before the tables of users exist; a later one is called.
        return
    permissions = Permission.objects.filter(content_type__app_label="outkey")
    for name, role in ROLES.items():
        group, is_new = Group.objects.get_or_create(name=name)
        if is_new:
            group.permissions.set(permissions.filter(codename__in=role))
