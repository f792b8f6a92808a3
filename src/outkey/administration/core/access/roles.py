"""The roles that come with outkey, as sets of permissions.

A host creates a group for each; an administrator may change the groups afterwards.
"""

from collections.abc import Mapping

from outkey.foundation.core.permission import Permission

_LOOK = {Permission.VIEW, Permission.VIEW_LINE}
_AUDIT = {Permission.VIEW_AUDIT}
# The host's own permissions decide about the records that a run reads and writes.
_RUN = {Permission.RUN_LINE, Permission.VIEW_RUN}
# Without the deliveries themselves, which contain personal data.
_HOOKS = {Permission.VIEW_WEBHOOK, Permission.RUN_WEBHOOK}

ROLES: Mapping[str, frozenset[Permission]] = {
    "Administrator": frozenset(Permission),
    "Operator": frozenset(_LOOK | _AUDIT | _RUN | _HOOKS | {Permission.TEST}),
    "Auditor": frozenset(_AUDIT),
}
