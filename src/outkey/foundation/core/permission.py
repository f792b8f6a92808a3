"""Permissions of users, and the requirements of a change."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from outkey.foundation.core.text import Text


class Permission(StrEnum):
    """A permission; hosts grant it under these names."""

    VIEW = "view_configuration"
    ADD = "add_configuration"
    CHANGE = "change_configuration"
    DELETE = "delete_configuration"
    TEST = "test_configuration"
    SET_SECRET = "set_secret"  # noqa: S105 - the name of a permission
    USE_INTERNAL_NETWORK = "use_internal_network"
    EDIT_SCRIPT = "edit_script"
    VIEW_LINE = "view_syncline"
    ADD_LINE = "add_syncline"
    CHANGE_LINE = "change_syncline"
    DELETE_LINE = "delete_syncline"
    RUN_LINE = "run_syncline"
    VIEW_RUN = "view_run"
    VIEW_DATA = "view_data"
    VIEW_WEBHOOK = "view_webhook"
    ADD_WEBHOOK = "add_webhook"
    CHANGE_WEBHOOK = "change_webhook"
    DELETE_WEBHOOK = "delete_webhook"
    RUN_WEBHOOK = "run_webhook"
    VIEW_DELIVERY = "view_delivery"
    VIEW_TOKENS = "view_apitoken"
    ADD_TOKEN = "add_apitoken"  # noqa: S105 - the name of a permission
    DELETE_TOKEN = "delete_apitoken"  # noqa: S105 - the name of a permission
    VIEW_AUDIT = "view_auditrecord"
    VIEW_KEYS = "view_knownkey"
    ROTATE_KEYS = "rotate_keys"


@dataclass(frozen=True, slots=True)
class Requirement:
    """A permission that an edit needs, and the field whose change needs it."""

    permission: Permission
    field: str
    message: Text


Allowed = Callable[[Permission], bool]  # of one user


@dataclass(frozen=True, slots=True)
class Rights:
    """The permissions of one user, as a value; it is an `Allowed` too."""

    permissions: frozenset[Permission] = frozenset()

    @classmethod
    def of(cls, allowed: Allowed) -> Self:
        """Return the rights of a user, each asked once."""
        return cls(frozenset(filter(allowed, Permission)))

    def __call__(self, permission: Permission) -> bool:
        """Whether the user has a permission."""
        return permission in self.permissions
