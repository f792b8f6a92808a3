"""The operator's commands: keys and audit."""

import sys
import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated

import typer

from outkey.core.audit.events import Tag
from outkey.core.errors import ChainBroken, OutkeyError
from outkey.core.moments import moment_text
from outkey.hosts.cli.output import (
    ask_first,
    counted,
    exit_code_of,
    progress_bar,
    say,
    say_done,
    say_error,
    say_json,
    say_table,
)
from outkey.hosts.cli.session import AsJson, desk_of, installation

_LAST_MOMENT = 253_402_300_800_000  # the year 10 000
keys_app = typer.Typer(help="The keys that seal secrets.", no_args_is_help=True)
KeyId = Annotated[str, typer.Argument(help="the key's id")]
audit_app = typer.Typer(help="The record of what was sent.", no_args_is_help=True)


@keys_app.command("status")
def keys_status(*, as_json: AsJson = False) -> None:
    """Show the keys, what they are used for, and how many secrets each seals."""
    here = installation()
    try:
        ring = here.keys.ring()
    except OutkeyError as error:
        if as_json:
            say_json({"sealed": True, "keys": []})
        say_error(error, as_json=False)
        raise typer.Exit(exit_code_of(error)) from None
    uses = here.rotation.uses()
    keys = [
        {"id": k.name, "state": k.state, "secrets": uses.get(k.name, 0)}
        for k in ring.keys
    ]
    if as_json:
        say_json({"sealed": False, "keys": keys})
    else:
        say_table(("Key", "State", "Secrets"), (key.values() for key in keys))


@keys_app.command("add")
def keys_add(*, as_json: AsJson = False) -> None:
    """Add a key that only opens; promote it when every process has it."""
    here = installation()
    desk = desk_of(here)
    key = here.rotation.add(lambda name: desk.note(Tag.KEY_ADDED, key=name))
    if as_json:
        say_json({"done": "added", "key": key})
    else:
        say(key)  # alone, for $(outkey keys add)


@keys_app.command("promote")
def keys_promote(key: KeyId, *, as_json: AsJson = False) -> None:
    """Seal new secrets with this key; the former one still opens."""
    here = installation()
    desk = desk_of(here)
    here.rotation.promote(key, lambda name: desk.note(Tag.KEY_PROMOTED, key=name))
    also = "; bring the stored secrets under it with: outkey keys rewrap"
    say_done("promoted", as_json=as_json, also=also, key=key)


@keys_app.command("rewrap")
def keys_rewrap(*, as_json: AsJson = False) -> None:
    """Bring all stored secrets under the primary key; may be interrupted and begun again."""
    here = installation()
    primary = here.keys.ring().primary.name
    desk_of(here).note(Tag.KEY_REWRAPPED, key=primary)
    total = sum(count for key, count in here.rotation.uses().items() if key != primary)
    rewrapped = 0
    with progress_bar("rewrapping", total) as advance:
        for done in here.secrets.rewrap():
            rewrapped += done
            advance(done)
    say_done("rewrapped", as_json=as_json, count=rewrapped)


@keys_app.command("retire")
def keys_retire(key: KeyId, *, as_json: AsJson = False) -> None:
    """Stop opening with a key that no secret needs any more."""
    here = installation()
    desk = desk_of(here)
    here.rotation.retire(key, lambda name: desk.note(Tag.KEY_RETIRED, key=name))
    say_done("retired", as_json=as_json, key=key)


@audit_app.command("verify")
def audit_verify(*, as_json: AsJson = False) -> int:
    """Check that no record was changed, removed, inserted or cut off."""
    from outkey.engine.managing.changes import verify_audit

    here = installation()
    rows, keys = here.audit_rows, here.keys.audit_key
    with progress_bar(
        "verifying", sum(stream.rows for stream in rows.streams())
    ) as advance:
        verdict = verify_audit(
            rows, here.checkpoints, keys, lambda all_: counted(all_, advance)
        )
    if as_json:
        say_json(asdict(verdict))
    else:
        word = "clean" if verdict.ok else f"broken at {verdict.first_bad}"
        tail = f", {verdict.unprotected_tail} after the last checkpoint"
        say(f"{word}: {verdict.rows} records{tail if verdict.unprotected_tail else ''}")
        if not verdict.ok:
            sys.stderr.write(f"hint: {ChainBroken.default_hint}\n")
    return 0 if verdict.ok else 1


@audit_app.command("list")
def audit_list(
    *,
    limit: Annotated[
        int, typer.Option(min=1, max=10_000, help="how many, newest first")
    ] = 50,
    as_json: AsJson = False,
) -> None:
    """List the newest records."""
    records = installation().audit_rows.newest(limit)
    if as_json:
        say_json(records)
        return
    if not records:
        say("no records yet")
        return
    say_table(
        ("When", "What", "Configuration", "Outcome", "Detail"), map(_row, records)
    )


@audit_app.command("export")
def audit_export() -> None:
    """Write all records as JSON Lines, in the order of their streams."""
    here = installation()
    desk_of(here).note(Tag.AUDIT_EXPORTED)
    total = sum(stream.rows for stream in here.audit_rows.streams())
    with progress_bar("exporting", total) as advance:
        for row in counted(here.audit_rows.read(), advance):
            say(row.body.decode(errors="replace"))


@audit_app.command("prune")
def audit_prune(
    *,
    days: Annotated[
        int | None,
        typer.Option(
            min=0, help="how old a record must be to be removed; else the policy's"
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="do not ask")] = False,
    as_json: AsJson = False,
) -> None:
    """Remove old records; a signed tombstone in their place keeps the chain verifiable."""
    here = installation()
    days = here.policy().retention_days if days is None else days
    ask_first(f"Remove all records that are older than {days} days?", yes=yes)
    removed = 0
    pruning = desk_of(here).prune_audit(
        here.audit_rows,
        here.checkpoints,
        here.keys.audit_key,
        time.time() - days * 86_400,
    )
    with progress_bar("pruning", None) as advance:
        for count in pruning:
            removed += count
            advance(count)
    say_done("removed", as_json=as_json, count=removed)


def _row(record: Mapping[str, object]) -> tuple[str, ...]:
    """Return a record for a person: what it was, about what, and how it ended."""
    where = (str(record[name]) for name in ("method", "origin") if record.get(name))
    request = " ".join(where) + str(record.get("path", ""))
    fields = record.get("fields")
    names = ", ".join(map(str, fields)) if isinstance(fields, list) else ""
    actor = f"by {record['actor']}" if record.get("actor") else ""
    detail = " ".join(filter(None, (request, names, str(record.get("key", "")), actor)))
    outcome = (
        f"{record.get('status') or ''}"
        f" {record.get('outcome') or record.get('code') or ''}"
    )
    what = str(record.get("tag", "")).partition(":")[2].replace(":", " ")
    name = str(record.get("configuration", ""))
    return _moment(record), what, name, outcome.strip(), detail


def _moment(record: Mapping[str, object]) -> str:
    at = record.get("at")
    if not isinstance(at, int) or not 0 <= at < _LAST_MOMENT:
        return "unknown"  # somebody has spoilt the record
    return moment_text(at / 1000)
