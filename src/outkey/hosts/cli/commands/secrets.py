"""The commands that set and confirm secrets."""

import shlex
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.text import Text
from outkey.hosts.cli.declaring import Commands
from outkey.hosts.cli.input import read_line, read_secret
from outkey.hosts.cli.printing.output import (
    confirm,
    print_done,
    print_json,
    print_line,
    print_table,
)
from outkey.hosts.cli.printing.presenters import binding_text, fact_columns
from outkey.hosts.cli.session import AsJson, ConnectionId, Name, Yes, open_application
from outkey.hosts.command_host import administration_of
from outkey.sending.core.vault.row_voucher import is_row_name

if TYPE_CHECKING:
    from outkey.administration.core.findings.changed_rows import ChangedRow
    from outkey.administration.engine.application import Application
    from outkey.sending.core.configuration.configuration import Configuration
    from outkey.sending.core.configuration.reference import Reference

    ChangedFacts = tuple[Configuration, list[str]]

secrets_app = Commands(help="Set and confirm secrets. They are never shown.")


@secrets_app.command("set")
def set_secret(
    name: Name,
    field: Annotated[
        str,
        typer.Argument(
            help=(
                "The secret: password, token, client_secret, client_assertion,"
                " refresh_token, subject_token, actor_token, private_key,"
                " consumer_secret, access_token, access_token_secret,"
                " secret_access_key, session_token, web_identity_token, secret_key,"
                " client_key, proxy_password, header:KEY, query:KEY or"
                " token_header:KEY."
            )
        ),
    ],
    *,
    connection: ConnectionId = None,
    reference: Annotated[
        str | None,
        typer.Option(
            "--from",
            help=(
                "Store a reference instead of a value, such as env:NAME, file:PATH or"
                " vault:PATH#FIELD."
            ),
            metavar="REF",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Set a secret from a prompt, standard input or a reference.

    A value is never read from the command line, which other users can see.
    """
    from outkey.administration.engine.editing.changes import check_secret_field
    from outkey.foundation.core.secret import Secret
    from outkey.sending.core.configuration.reference import parse_reference
    from outkey.sending.core.configuration.secret_values import refuse_value

    administration = administration_of(open_application())
    # Read before the prompt: the value is meant for the origin that the prompt names.
    seen = administration.current(name, connection)
    check_secret_field(seen, field)
    origin = binding_text(seen.binding_of(field))
    if reference is not None:
        parsed = parse_reference(reference, field=field)
        administration.set_reference(name, field, parsed, seen=seen)
    else:
        refuse_value(field)
        secret = Secret(read_secret(field, origin))
        administration.set_secret(name, field, secret, seen=seen)
    if as_json:
        facts = {"done": "set", "configuration": name, "field": field, "origin": origin}
        account = {"connection": connection} if connection else {}
        print_json({**facts, **account})
    else:
        account_name = f"{name} {connection}" if connection else name
        print_line(f"set: {account_name} {field}, to be sent to {origin}")


@secrets_app.command("stage")
def stage_secret(
    name: Name,
    field: Annotated[
        str,
        typer.Argument(
            help=(
                "The secret as `outkey secret set` names it, or username, client_id,"
                " client_certificate or token_expires_on."
            )
        ),
    ],
    *,
    reference: Annotated[
        str | None,
        typer.Option(
            "--from",
            "--reference",
            help=(
                "Stage a reference instead of a value, such as env:NAME, file:PATH or"
                " vault:PATH#FIELD."
            ),
            metavar="REF",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Stage the next secret beside the one in use, from a prompt or standard input.

    It is used for nothing until it is tested and promoted: see `outkey rotation`.
    """
    from outkey.hosts.cli.commands.rotation import open_rotation
    from outkey.sending.core.configuration.reference import parse_reference
    from outkey.sending.core.configuration.secret_values import refuse_value
    from outkey.sending.core.rotation.credential_sets import COMPANIONS

    rotation = open_rotation()
    # Read before the prompt: the value is meant for the origin that the prompt names.
    seen = rotation.rotations.current(name)
    rotation.refuse_field(seen, field)
    origin = binding_text(seen.binding_of(field))
    entry: str | Reference
    if reference is not None:
        entry = parse_reference(reference, field=field)
    else:
        refuse_value(field)
        is_plain = field in COMPANIONS
        entry = read_line(field) if is_plain else read_secret(field, origin)
    serial = rotation.stage(seen, {field: entry})
    if as_json:
        print_json(
            {
                "done": "staged",
                "configuration": name,
                "serial": serial,
                "field": field,
                "origin": origin,
            }
        )
    else:
        print_line(f"staged: {name} {field}, in the next credentials (set {serial})")
        print_line(f"next: outkey rotation test {shlex.quote(name)}")


@secrets_app.command("confirm")
def confirm_secrets(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help=(
                "Configurations, and rows as the list names them, such as line:orders."
                " Without a name, all of them."
            )
        ),
    ] = None,
    *,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="List the changes only.")
    ] = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Confirm what was changed in the database without outkey.

    Lists each secret with its reference and origin, each script, and each setting that
    decides where secrets go, if it is not as outkey saved it; and each database, sync
    line, pair, webhook, table and token that outkey did not save. They work again once
    they are confirmed.
    """
    from outkey.administration.engine.editing.confirming import confirm_rows

    application = open_application()
    changes, rows = _find_changes(application, names or [])
    if dry_run and as_json:
        print_json(_change_facts(changes, rows))
        return
    if not changes and not rows and not as_json:
        what = "what you named" if names else "everything"
        print_line(f"nothing to confirm: {what} is as outkey saved it")
        return
    if not as_json:
        _print_changes(changes, rows)
    if dry_run:
        return
    if changes or rows:
        confirm("Confirm what is listed?", yes=yes)
    administration = administration_of(application)
    for configuration, _ in changes:
        administration.confirm(configuration)
    if rows:
        confirm_rows(administration, application.vouched_rows, rows)
    print_done(
        "confirmed",
        as_json=as_json,
        configurations=[configuration.name for configuration, _ in changes],
        rows=[row.label for row in rows],
    )


@secrets_app.command("reject")
def reject_changes(
    names: Annotated[
        list[str],
        typer.Argument(
            help="Rows as `outkey secret confirm` names them, such as line:orders."
        ),
    ],
    *,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Delete databases, sync lines, webhooks and tokens that outkey did not save.

    Settings and secrets of configurations are set again instead, by `outkey apply` and
    `outkey secret set`.
    """
    from outkey.administration.engine.editing.confirming import reject_rows

    application = open_application()
    rows = application.vouched_rows.changed()
    _refuse_other_rows(names, rows)
    rows = [row for row in rows if any(map(row.is_named, names))]
    if not as_json:
        _print_changes([], rows)
    confirm("Delete what is listed?", yes=yes)
    reject_rows(administration_of(application), application.vouched_rows, rows)
    labels = [row.label for row in rows]
    print_done("deleted", as_json=as_json, rows=labels)


def _refuse_other_rows(names: Iterable[str], rows: "Sequence[ChangedRow]") -> None:
    """Refuse the name of a row that is not among those that were changed."""
    for name in names:
        if not any(row.is_named(name) for row in rows):
            raise ConfigError(
                Text("no row of this name was changed outside of outkey"),
                hint=Text("See: outkey secret confirm --dry-run"),
                field="name",
            )


def _find_changes(
    application: "Application", names: Sequence[str]
) -> "tuple[list[ChangedFacts], list[ChangedRow]]":
    """Return the changes of configurations, and the rows that were changed.

    A name is that of a configuration, whose token is a row, or of a row that was
    changed: a wrong name must not look as if there were nothing to confirm.
    """
    registry = application.registry
    rows = application.vouched_rows.changed()
    chosen = registry.all()
    if names:
        known = registry.find(names)
        row_names = [name for name in names if name not in known and is_row_name(name)]
        _refuse_other_rows(row_names, rows)
        rows = [
            row
            for row in rows
            if row.configuration in names or any(map(row.is_named, names))
        ]
        chosen = [registry.get(name) for name in names if name not in row_names]
    vouchers = [application.secrets.voucher(configuration) for configuration in chosen]
    differences = [
        (configuration, voucher.differences(configuration))
        for configuration, voucher in zip(chosen, vouchers, strict=True)
    ]
    return [(each, facts) for each, facts in differences if facts], rows


def _print_changes(
    changes: "Sequence[ChangedFacts]", rows: "Sequence[ChangedRow]"
) -> None:
    """List what was changed: of configurations, and rows."""
    if changes:
        print_table(
            ("Configuration", "What", "Value", "Sent to"),
            [
                (configuration.name, fact, *fact_columns(configuration, fact))
                for configuration, facts in changes
                for fact in facts
            ],
        )
    if rows:
        print_table(("Row", "Content"), [(row.label, row.summary()) for row in rows])


def _change_facts(
    changes: "Sequence[ChangedFacts]", rows: "Sequence[ChangedRow]"
) -> dict[str, object]:
    """Return the changes as JSON for programs."""
    return {
        "configurations": [
            {"name": configuration.name, "changed": facts}
            for configuration, facts in changes
        ],
        "rows": [{"row": row.label, "content": row.summary()} for row in rows],
    }
