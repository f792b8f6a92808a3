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
                "commands.presets:presets_app",
                "Search the presets: prepared settings of known providers.",
            ),
            CommandEntry(
                "new",
                "commands.presets:create_from_preset",
                "Create a configuration from a preset.",
            ),
            CommandEntry(
                "import",
                "commands.importing:import_file",
                "Import a curl command, a collection or an API description.",
            ),
            CommandEntry(
                "apply",
                "commands.configurations:apply",
                "Create or update what a TOML document describes.",
            ),
            CommandEntry(
                "secret",
                "commands.secrets:secrets_app",
                "Set and confirm secrets. They are never shown.",
            ),
            CommandEntry(
                "connection",
                "commands.connections:connections_app",
                "Manage the accounts under a configuration: one for each customer.",
            ),
            CommandEntry(
                "backend",
                "commands.backends:backends_app",
                "List and check the external stores of secrets.",
            ),
            CommandEntry(
                "rotation",
                "commands.rotation:rotation_app",
                "Replace credentials without an outage: stage, test, try, promote,"
                " go back.",
            ),
            CommandEntry(
                "list",
                "commands.configurations:list_configurations",
                "List the configurations with their status.",
            ),
            CommandEntry(
                "show",
                "commands.configurations:show",
                "Show one configuration.",
            ),
            CommandEntry(
                "export",
                "commands.configurations:export",
                "Write configurations as a TOML document.",
            ),
            CommandEntry(
                "rename",
                "commands.configurations:rename",
                "Rename a configuration.",
            ),
            CommandEntry(
                "delete",
                "commands.configurations:delete",
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
                "commands.testing:check_connection",
                "Test a configuration step by step, with cause and remedy.",
            ),
            CommandEntry(
                "preview",
                "commands.requests:preview",
                "Show the exact request with masked secrets, without sending it.",
            ),
            CommandEntry(
                "request",
                "commands.requests:request",
                "Send one authenticated request and print the response.",
            ),
            CommandEntry(
                "token",
                "commands.tokens:tokens_app",
                "Show, renew and revoke tokens of OAuth 2.0 and of logins.",
            ),
            CommandEntry(
                "script",
                "commands.scripts:scripts_app",
                "Try a signing script.",
            ),
            CommandEntry(
                "resume",
                "operating.monitoring:resume",
                "Resume a paused configuration, or a restored installation.",
            ),
        ),
    ),
    CommandSection(
        "Synchronize",
        (
            CommandEntry(
                "line",
                "commands.lines:lines_app",
                "List, run and change sync lines.",
            ),
            CommandEntry(
                "run",
                "commands.lines:runs_app",
                "List, follow, cancel and retry runs of sync lines.",
            ),
            CommandEntry(
                "pair",
                "commands.pairs:pairs_app",
                "Synchronize in both directions, and decide conflicts.",
            ),
            CommandEntry(
                "data",
                "commands.data:data_app",
                "Show and export the tables that sync lines fill.",
            ),
            CommandEntry(
                "webhook",
                "commands.webhooks:webhooks_app",
                "Manage webhooks: what other systems send to outkey.",
            ),
        ),
    ),
    CommandSection(
        "Operate",
        (
            CommandEntry(
                "serve",
                "operating.serving:serve",
                "Serve the pages, and do the background work.",
            ),
            CommandEntry(
                "worker",
                "operating.serving:run_worker",
                "Run queued and scheduled sync lines on PostgreSQL.",
            ),
            CommandEntry(
                "backup",
                "operating.backups:back_up",
                "Write a consistent copy of the database, without the key.",
            ),
            CommandEntry(
                "restore",
                "operating.backups:restore",
                "Restore a backup.",
            ),
            CommandEntry(
                "doctor",
                "operating.doctor:doctor",
                "Examine the installation and every configuration.",
            ),
            CommandEntry(
                "notices",
                "operating.monitoring:notices",
                "List what monitoring has noticed.",
            ),
            CommandEntry(
                "audit",
                "operating.keys_and_audit:audit_app",
                "List, verify, export and prune the audit.",
            ),
            CommandEntry(
                "keys",
                "operating.keys_and_audit:keys_app",
                "Show and rotate the keys that encrypt secrets.",
            ),
            CommandEntry(
                "user",
                "operating.accounts:accounts_app",
                "Add, list and disable users of the pages.",
            ),
            CommandEntry(
                "people",
                "operating.privacy:people_app",
                "Export or erase what is stored about users.",
            ),
            CommandEntry(
                "api-token",
                "operating.api_tokens:api_tokens_app",
                "Create and revoke tokens of the HTTP interface.",
            ),
        ),
    ),
    CommandSection(
        "Practise",
        (
            CommandEntry(
                "spar",
                "operating.spar:spar_app",
                "Serve a local API that succeeds and fails on request.",
            ),
        ),
    ),
)
ENTRIES: Mapping[str, CommandEntry] = {
    entry.name: entry for section in SECTIONS for entry in section.entries
}
