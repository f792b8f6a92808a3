"""The operator's commands: keys and audit."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated

import typer

from outkey.core.audit import Tag
from outkey.core.errors import OutkeyError
from outkey.hosts.cli.home import AsJson, desk_of, installation
from outkey.hosts.cli.output import exit_code_of, say, say_error, say_json, say_table

keys_app = typer.Typer(help="The keys that seal secrets.", no_args_is_help=True)
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
    uses = here.registry.key_uses()
    keys = [
        {"id": k.name, "state": str(k.state), "secrets": uses.get(k.name, 0)} for k in ring.keys
    ]
    if as_json:
        say_json({"sealed": False, "keys": keys})
    else:
        say_table(("Key", "State", "Secrets"), (key.values() for key in keys))


@keys_app.command("add")
def keys_add() -> None:
    """Add a key that only opens; promote it when every process has it."""
    here = installation()
    ring, key = here.keys.ring().add()
    desk_of(here).note(Tag.KEY_ADDED, key=key.name)
    here.keys.change(ring)
    say(key.name)


@keys_app.command("promote")
def keys_promote(key: Annotated[str, typer.Argument(help="the key's id")]) -> None:
    """Seal new secrets with this key; the former one still opens."""
    here = installation()
    ring = here.keys.ring().promote(key)
    desk_of(here).note(Tag.KEY_PROMOTED, key=key)
    here.keys.change(ring)
    say(f"promoted: {key}; bring the stored secrets under it with: outkey keys rewrap")


@keys_app.command("rewrap")
def keys_rewrap() -> None:
    """Bring all stored secrets under the primary key; may be interrupted and begun again."""
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import Progress  # noqa: PLC0415

    here = installation()
    primary = here.keys.ring().primary.name
    desk_of(here).note(Tag.KEY_REWRAPPED, key=primary)
    total = sum(count for key, count in here.registry.key_uses().items() if key != primary)
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("rewrapping", total=total)
        for done in here.secrets.rewrap():
            progress.advance(task, done)
    say(f"rewrapped: {total}")


@keys_app.command("retire")
def keys_retire(key: Annotated[str, typer.Argument(help="the key's id")]) -> None:
    """Stop opening with a key that no secret needs any more."""
    here = installation()
    uses = here.registry.key_uses().get(key, 0)
    ring = here.keys.ring().retire(key, secrets=uses)
    desk_of(here).note(Tag.KEY_RETIRED, key=key)
    here.keys.change(ring)
    say(f"retired: {key}")


@audit_app.command("verify")
def audit_verify(*, as_json: AsJson = False) -> int:
    """Check that no record was changed, removed, inserted or cut off."""
    from outkey.core.chain import verify  # noqa: PLC0415

    here = installation()
    verdict = verify(
        here.audit_rows.read(),
        here.keys.audit_key,
        checkpoints=here.checkpoints.read(),
        tombstones=(),
    )
    if as_json:
        say_json(
            {
                "ok": verdict.ok,
                "rows": verdict.rows,
                "first_bad": verdict.first_bad,
                "unprotected_tail": verdict.unprotected_tail,
            }
        )
    else:
        word = "clean" if verdict.ok else f"broken at {verdict.first_bad}"
        tail = f", {verdict.unprotected_tail} after the last checkpoint"
        say(f"{word}: {verdict.rows} rows{tail if verdict.unprotected_tail else ''}")
    return 0 if verdict.ok else 1


@audit_app.command("list")
def audit_list(
    *,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="how many, newest first")] = 50,
    as_json: AsJson = False,
) -> None:
    """List the newest records."""
    records = installation().audit_rows.newest(limit)
    if as_json:
        say_json(records)
        return
    columns = ("at", "tag", "configuration", "method", "origin", "path", "status", "outcome")
    rows = ([_moment(r) if c == "at" else r.get(c, "") for c in columns] for r in records)
    say_table(
        ("When", "What", "Configuration", "Method", "Origin", "Path", "Status", "Outcome"), rows
    )


@audit_app.command("export")
def audit_export() -> None:
    """Write all records as JSON Lines, in the order of their streams."""
    for row in installation().audit_rows.read():
        say(row.body.decode())


def _moment(record: Mapping[str, object]) -> str:
    moment = datetime.fromtimestamp(int(str(record["at"])) / 1000, UTC)
    return moment.strftime("%Y-%m-%d %H:%M:%S")
