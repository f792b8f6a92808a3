"""The groups that come with the app: Administrator, Operator and Auditor."""

from django.apps.registry import Apps
from django.contrib.auth.models import Group, Permission

_CONFIGURATIONS = ("view_configuration", "view_syncline")
_AUDIT = ("view_auditrecord",)
_RUNS = (
    "run_syncline",
    "view_run",
)  # the host's own permissions decide about its records
GROUPS = {
    "Administrator": (
        *_CONFIGURATIONS,
        *_AUDIT,
        *_RUNS,
        "add_configuration",
        "change_configuration",
        "delete_configuration",
        "add_syncline",
        "change_syncline",
        "delete_syncline",
        "test_configuration",
        "set_secret",
        "use_internal_network",
        "edit_script",
        "view_knownkey",
        "rotate_keys",
    ),
    "Operator": (*_CONFIGURATIONS, *_AUDIT, *_RUNS, "test_configuration"),
    "Auditor": _AUDIT,
}


def make_groups(*, apps: Apps, **_: object) -> None:
    """Make the groups that are missing; what an administrator changed stays as it is."""
    if "group" not in apps.all_models["auth"]:
        return  # `migrate outkey` comes before the tables of users; a later migrate makes them
    for name, codenames in GROUPS.items():
        group, made = Group.objects.get_or_create(name=name)
        if made:
            ours = Permission.objects.filter(content_type__app_label="outkey")
            group.permissions.set(ours.filter(codename__in=codenames))
