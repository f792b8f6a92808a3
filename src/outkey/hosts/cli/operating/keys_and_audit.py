"""The operator's commands: keys and audit."""

import sys
import time
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from outkey.foundation.core.errors import ChainBroken, OutkeyError
from outkey.foundation.core.moments import DAY_SECONDS, record_iso
from outkey.hosts.cli.declaring import Commands
from outkey.hosts.cli.printing.output import (
    confirm,
    count_items,
    count_text,
    exit_code_of,
    print_done,
    print_error,
    print_json,
    print_line,
    print_table,
    progress_bar,
)
from outkey.hosts.cli.printing.times import record_time
from outkey.hosts.cli.session import AsJson, Yes, open_application
from outkey.hosts.command_host import administration_of
from outkey.sending.core.audit.events import Tag

if TYPE_CHECKING:
    from outkey.administration.engine.editing.key_steps import KeyAdministration

keys_app = Commands(help="Show and rotate the keys that encrypt secrets.")
KeyId = Annotated[
    str, typer.Argument(help="The key's id, as outkey keys status shows it.")
]
audit_app = Commands(
    help=(
        "List, verify, export and prune the audit.\n\nThe audit records every request"
        " and every change, and never a value."
    )
)


def open_keys() -> "KeyAdministration":
    """Open the installation, and return what changes its keys."""
    application = open_application()
    return application.key_administration(administration_of(application))


@keys_app.command("status")
def keys_status(*, as_json: AsJson = False) -> None:
    """Show the keys, and how many secrets each encrypts."""
    application = open_application()
    try:
        ring = application.keys.ring()
    except OutkeyError as error:
        if as_json:
            print_json({"sealed": True, "keys": []})
        print_error(error, as_json=False)
        raise typer.Exit(exit_code_of(error)) from None
    uses = application.rotation.uses()
    keys = [
        {"id": key.name, "state": key.state, "secrets": uses.get(key.name, 0)}
        for key in ring.keys
    ]
    if as_json:
        print_json({"sealed": False, "keys": keys})
    else:
        print_table(("Key", "State", "Secrets"), (key.values() for key in keys))


@keys_app.command("add")
def keys_add(*, as_json: AsJson = False) -> None:
    """Add a key that only decrypts, and print its id.

    Promote it when every process has read it, which takes a minute.
    """
    key = open_keys().add()
    if as_json:
        print_json({"done": "added", "key": key})
    else:
        print_line(key)  # alone, for $(outkey keys add)


@keys_app.command("promote")
def keys_promote(key: KeyId, *, as_json: AsJson = False) -> None:
    """Encrypt new secrets with this key. The previous key still decrypts."""
    open_keys().promote(key)
    also = "; bring the stored secrets under it with: outkey keys rewrap"
    print_done("promoted", as_json=as_json, also=also, key=key)


@keys_app.command("rewrap")
def keys_rewrap(*, as_json: AsJson = False) -> None:
    """Encrypt all stored secrets with the primary key. It can be interrupted."""
    keys = open_keys()
    rewrapped = 0
    with progress_bar("rewrapping", keys.rewrap_count()) as advance:
        for count in keys.rewrap():
            rewrapped += count
            advance(count)
    also = " secret" if rewrapped == 1 else " secrets"
    print_done("rewrapped", as_json=as_json, also=also, count=rewrapped)


@keys_app.command("retire")
def keys_retire(key: KeyId, *, as_json: AsJson = False) -> None:
    """Stop using a key that no secret needs any more."""
    open_keys().retire(key)
    print_done("retired", as_json=as_json, key=key)


@keys_app.command("reopen")
def keys_reopen(key: KeyId, *, as_json: AsJson = False) -> None:
    """Decrypt with a retired key again, for the secrets of an older backup."""
    open_keys().reopen(key)
    also = "; bring the stored secrets under the primary key with: outkey keys rewrap"
    print_done("reopened", as_json=as_json, also=also, key=key)


@audit_app.command("verify")
def audit_verify(*, as_json: AsJson = False) -> int:
    """Verify that no record was changed, removed or inserted."""
    application = open_application()
    with progress_bar("verifying", application.audit_trail.count()) as advance:
        verdict = application.audit_trail.verify(partial(count_items, advance=advance))
    application.audit_trail.note_verified(verdict)
    if as_json:
        print_json(verdict.facts())
    else:
        result = "clean" if verdict.ok else f"broken at {verdict.first_bad}"
        tail = ""
        if verdict.unprotected_tail:
            tail = f", {verdict.unprotected_tail} after the last checkpoint"
        records = count_text(verdict.rows, "record", "records")
        print_line(f"{result}: {records}{tail}")
        if verdict.without_checkpoint:
            names = ", ".join(verdict.without_checkpoint)
            print_line(f"streams without a checkpoint on this machine: {names}")
        if not verdict.ok:
            sys.stderr.write(f"hint: {ChainBroken.default_hint}\n")
    return 0 if verdict.ok else 1


@audit_app.command("list")
def audit_list(
    *,
    limit: Annotated[
        int,
        typer.Option(
            min=1,
            max=10_000,
            help="How many records, the newest first.",
            metavar="NUMBER",
        ),
    ] = 50,
    as_json: AsJson = False,
) -> None:
    """List the newest records of the audit."""
    records = open_application().audit_trail.rows.newest(limit)
    if as_json:
        print_json([record | {"at": record_iso(record)} for record in records])
        return
    if not records:
        print_line(
            "The audit has no records yet. The first change or request writes one."
        )
        return
    print_table(
        ("When", "What", "Configuration", "Outcome", "Detail"),
        map(_record_row, records),
    )


@audit_app.command("export")
def audit_export() -> None:
    """Write all records as JSON Lines, in the order of their streams."""
    application = open_application()
    administration_of(application).note(Tag.AUDIT_EXPORTED)
    with progress_bar("exporting", application.audit_trail.count()) as advance:
        for row in count_items(application.audit_trail.rows.read(), advance):
            print_line(row.body.decode(errors="replace"))


@audit_app.command("prune")
def audit_prune(
    *,
    days: Annotated[
        int | None,
        typer.Option(
            min=0,
            help=(
                "Remove records older than this. Without it, the policy's"
                " retention applies."
            ),
            metavar="DAYS",
        ),
    ] = None,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Remove old records. A signed tombstone takes their place."""
    application = open_application()
    if days is None:
        days = application.policy().retention_days
    age = count_text(days, "day", "days")
    confirm(f"Remove all records that are older than {age}?", yes=yes)
    removed = 0
    moment = time.time() - days * DAY_SECONDS
    pruning = application.audit_trail.prune(administration_of(application), moment)
    with progress_bar("pruning", None) as advance:
        for count in pruning:
            removed += count
            advance(count)
    also = " record" if removed == 1 else " records"
    print_done("removed", as_json=as_json, also=also, count=removed)


def _record_row(record: Mapping[str, object]) -> tuple[str, ...]:
    """Return a record for users: when, what, about what, and how it ended."""

    def text(name: str) -> str:
        return str(record.get(name) or "")

    fields = record.get("fields")
    details = [
        f"{text('method')} {text('origin')}".strip() + text("path"),
        ", ".join(map(str, fields)) if isinstance(fields, list) else "",
        text("key"),
        f"by {record['actor']}" if record.get("actor") else "",
    ]
    outcome = f"{text('status')} {text('outcome') or text('code')}"
    return (
        record_time(record),
        text("tag").partition(":")[2].replace(":", " ").replace("_", " "),
        " / ".join(filter(None, (text("configuration"), text("connection")))),
        outcome.strip(),
        " ".join(filter(None, details)),
    )
