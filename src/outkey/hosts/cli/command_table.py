"""The commands of `outkey` by need, and where each is implemented.

A command's module is loaded when the command is called: `outkey --help` loads none.
"""

from collections.abc import Mapping
from typing import NamedTuple


class CommandEntry(NamedTuple):
    """One command or group of commands, as the overview lists it."""

    name: str
    place: str  # the module in this package, a colon, and the function or group
    summary: str


class CommandSection(NamedTuple):
    """The commands for one need."""

    title: str
    entries: tuple[CommandEntry, ...]


SECTIONS: tuple[CommandSection, ...] = (
    CommandSection(
        "Describe an API",
        (
            CommandEntry(
                "preset",
                "presets:presets_app",
                "Search the presets: prepared settings of known providers.",
            ),
            CommandEntry(
                "new",
                "presets:create_from_preset",
                "Create a configuration from a preset.",
            ),
            CommandEntry(
                "import",
                "importing:import_file",
                "Import a curl command, a collection or an API description.",
            ),
            CommandEntry(
                "apply",
                "configurations:apply",
                "Create or update what a TOML document describes.",
            ),
            CommandEntry(
                "secret",
                "secrets:secrets_app",
                "Set and confirm secrets. They are never shown.",
            ),
            CommandEntry(
                "list",
                "configurations:list_configurations",
                "List the configurations with their status.",
            ),
            CommandEntry(
                "show",
                "configurations:show",
                "Show one configuration.",
            ),
            CommandEntry(
                "export",
                "configurations:export",
                "Write configurations as a TOML document.",
            ),
            CommandEntry(
                "rename",
                "configurations:rename",
                "Rename a configuration.",
            ),
            CommandEntry(
                "delete",
                "configurations:delete",
                "Delete a configuration with its secrets, its sync lines and their"
                " runs.",
            ),
        ),
    ),
    CommandSection(
        "Test and send",
        (
            CommandEntry(
                "test",
                "testing:check_connection",
                "Test a configuration step by step, with cause and remedy.",
            ),
            CommandEntry(
                "preview",
                "requests:preview",
                "Show the exact request with masked secrets, without sending it.",
            ),
            CommandEntry(
                "request",
                "requests:request",
                "Send one authenticated request and print the response.",
            ),
            CommandEntry(
                "token",
                "tokens:tokens_app",
                "Show, renew and revoke tokens of OAuth 2.0 and of logins.",
            ),
            CommandEntry(
                "script",
                "scripts:scripts_app",
                "Try a signing script.",
            ),
            CommandEntry(
                "resume",
                "monitoring:resume",
                "Resume a paused configuration, or a restored installation.",
            ),
        ),
    ),
    CommandSection(
        "Synchronize",
        (
            CommandEntry(
                "line",
                "lines:lines_app",
                "List, run and change sync lines.",
            ),
            CommandEntry(
                "run",
                "lines:runs_app",
                "List, follow, cancel and retry runs of sync lines.",
            ),
            CommandEntry(
                "pair",
                "pairs:pairs_app",
                "Synchronize in both directions, and decide conflicts.",
            ),
            CommandEntry(
                "data",
                "data:data_app",
                "Show and export the tables that sync lines fill.",
            ),
            CommandEntry(
                "webhook",
                "webhooks:webhooks_app",
                "Manage webhooks: what other systems send to outkey.",
            ),
        ),
    ),
    CommandSection(
        "Operate",
        (
            CommandEntry(
                "serve",
                "serving:serve",
                "Serve the pages, and do the background work.",
            ),
            CommandEntry(
                "worker",
                "serving:run_worker",
                "Run queued and scheduled sync lines on PostgreSQL.",
            ),
            CommandEntry(
                "backup",
                "backups:back_up",
                "Write a consistent copy of the database, without the key.",
            ),
            CommandEntry(
                "restore",
                "backups:restore",
                "Restore a backup.",
            ),
            CommandEntry(
                "doctor",
                "doctor:doctor",
                "Examine the installation and every configuration.",
            ),
            CommandEntry(
                "notices",
                "monitoring:notices",
                "List what monitoring has noticed.",
            ),
            CommandEntry(
                "audit",
                "operations:audit_app",
                "List, verify, export and prune the audit.",
            ),
            CommandEntry(
                "keys",
                "operations:keys_app",
                "Show and rotate the keys that encrypt secrets.",
            ),
            CommandEntry(
                "user",
                "accounts:accounts_app",
                "Add, list and disable users of the pages.",
            ),
            CommandEntry(
                "people",
                "users:people_app",
                "Export or erase what is stored about users.",
            ),
            CommandEntry(
                "api-token",
                "api_tokens:api_tokens_app",
                "Create and revoke tokens of the HTTP interface.",
            ),
        ),
    ),
    CommandSection(
        "Practise",
        (
            CommandEntry(
                "spar",
                "spar:spar_app",
                "Serve a local API that succeeds and fails on request.",
            ),
        ),
    ),
)
ENTRIES: Mapping[str, CommandEntry] = {
    entry.name: entry for section in SECTIONS for entry in section.entries
}
