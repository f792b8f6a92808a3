"""Users who change and test configurations, but enter no secrets."""

from clients import EDITOR, client_with

from outkey.foundation.core.permission import Permission

LINE_EDITOR = (
    *EDITOR,
    Permission.VIEW_LINE,
    Permission.CHANGE_LINE,
    Permission.RUN_LINE,
)
editor = client_with("editor", *LINE_EDITOR)
# All servers of the programs are in the internal network, which an editor may not use;
# this one may, to have the same way to an attacker's server as an editor has on the
# public internet.
connected = client_with("connected", *LINE_EDITOR, Permission.USE_INTERNAL_NETWORK)
