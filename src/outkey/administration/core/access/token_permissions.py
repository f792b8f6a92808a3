"""Permissions to create an API token: users grant no more than they may do."""

from collections.abc import Collection, Mapping

from outkey.administration.core.access.api_tokens import Scope
from outkey.foundation.core.permission import Permission
from outkey.foundation.core.text import Text

SCOPE_TEXTS: Mapping[Scope, Text] = {
    Scope.READ: Text(
        "Read configurations, sync lines, runs and webhooks. Secrets are never read."
    ),
    Scope.SEND: Text(
        "Send any request with the credentials of a configuration, and test it."
    ),
    Scope.MANAGE: Text(
        "Create, change and delete configurations, sync lines and webhooks, enter"
        " secrets, and read."
    ),
    Scope.RUN: Text("Start, watch and cancel runs of sync lines."),
    Scope.AUDIT: Text("Read the audit."),
    Scope.DATA: Text(
        "Read the rows of tables that sync lines fill, and their changes."
    ),
}
# What a user could do on the pages as well.
SCOPE_NEEDS: Mapping[Scope, frozenset[Permission]] = {
    Scope.READ: frozenset(
        {
            Permission.VIEW,
            Permission.VIEW_LINE,
            Permission.VIEW_RUN,
            Permission.VIEW_WEBHOOK,
            Permission.VIEW_DELIVERY,
        }
    ),
    # A line of one's own can send any request too. But an API may repeat the secret
    # that it was sent, which tests, runs and records mask, and a response does not.
    Scope.SEND: frozenset(
        {
            Permission.TEST,
            Permission.ADD_LINE,
            Permission.RUN_LINE,
            Permission.SET_SECRET,
        }
    ),
    Scope.MANAGE: frozenset(
        {
            Permission.VIEW,
            Permission.ADD,
            Permission.CHANGE,
            Permission.DELETE,
            Permission.SET_SECRET,
            Permission.EDIT_SCRIPT,
            Permission.ADD_LINE,
            Permission.CHANGE_LINE,
            Permission.DELETE_LINE,
            # A webhook starts runs of a line, or stores records by it.
            Permission.RUN_LINE,
            Permission.ADD_WEBHOOK,
            Permission.CHANGE_WEBHOOK,
            Permission.DELETE_WEBHOOK,
        }
    ),
    Scope.RUN: frozenset({Permission.RUN_LINE, Permission.VIEW_RUN}),
    Scope.AUDIT: frozenset({Permission.VIEW_AUDIT}),
    Scope.DATA: frozenset({Permission.VIEW_DATA}),
}


def token_needs(
    scopes: Collection[Scope], *, allow_internal: bool = False
) -> frozenset[Permission]:
    """Return the permissions that a user needs to create a token with these scopes."""
    needs = frozenset[Permission]().union(*(SCOPE_NEEDS[scope] for scope in scopes))
    if allow_internal:
        needs |= {Permission.USE_INTERNAL_NETWORK}
    return needs
