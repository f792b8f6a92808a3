"""The commands that back up and restore an installation."""

from collections.abc import Iterator
from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from outkey.foundation.core.moments import parse_iso
from outkey.hosts.cli.printing.output import print_json, print_line, progress_bar
from outkey.hosts.cli.printing.times import time_text
from outkey.hosts.cli.session import AsJson, current_host
from outkey.hosts.command_host import Restored

AUDIT_BROKEN = 1  # as `outkey audit verify` exits
NewFile = Annotated[
    Path, typer.Argument(help="The file to write. It must not exist yet.")
]
File = Annotated[Path, typer.Argument(help="A file that outkey backup has written.")]


def back_up(file: NewFile, *, as_json: AsJson = False) -> None:
    """Write a consistent copy of the database, without the key.

    The server and the workers may continue to run. Store the key in another place:
    without it, the secrets in the backup cannot be decrypted.
    """
    with progress_bar("writing the backup", None) as advance:
        key_file = current_host().back_up(file, advance)
    if as_json:
        print_json({"done": "written", "file": str(file), "key_file": str(key_file)})
        return
    print_line(f"written: {file}")
    print_line(f"The key is not in it. Store a copy of it elsewhere: {key_file}")


def restore(
    file: File,
    *,
    replace: Annotated[
        bool,
        typer.Option(
            "--replace",
            help="Replace an existing database. Without it, one is never changed.",
        ),
    ] = False,
    unsigned: Annotated[
        bool,
        typer.Option(
            "--unsigned",
            help=(
                "Restore a backup without a valid signature. The policy of this home"
                " stays as it is."
            ),
        ),
    ] = False,
    live: Annotated[
        bool,
        typer.Option(
            "--live",
            help=(
                "Do not put it on hold: run sync lines, renew tokens and process"
                " deliveries at once."
            ),
        ),
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Restore a backup.

    Stop the server and the workers first, and put the key of the backup in its place.
    The signature of the backup is verified before anything is changed, and the audit
    afterwards. Then the installation is on hold until you run outkey resume --all.
    """
    restored = current_host().restore(
        file, replace=replace, accept_unsigned=unsigned, goes_live=live
    )
    if as_json:
        print_json(
            {
                "done": "restored",
                "version": restored.version,
                "created_at": restored.created_at,
                "signed": restored.is_signed,
                "audit_ok": restored.is_audit_intact,
                "sealed": restored.is_sealed,
                "on_hold": restored.is_on_hold,
                "outdated_tokens": list(restored.outdated_tokens),
                "retired_keys": dict(restored.retired_keys),
                "missing_keys": dict(restored.missing_keys),
            }
        )
    else:
        for line in _report_lines(restored):
            print_line(line)
    return 0 if restored.is_audit_intact or restored.is_sealed else AUDIT_BROKEN


def _report_lines(restored: Restored) -> Iterator[str]:
    """Yield the lines that report a restore to its operator."""
    yield f"restored the backup of {_created_text(restored)}"
    if not restored.is_signed:
        yield (
            "The backup has no valid signature: its policy was not restored, and"
            " nothing proves that its database and the end of its audit are complete."
        )
    if restored.has_other_key:
        yield (
            f"The key in {restored.key_file} is not the one of this backup. Keep it"
            " under another name, then put the right one there."
        )
    elif restored.is_sealed:
        yield f"The key is missing. Put it here: {restored.key_file}"
    elif not restored.is_audit_intact:
        yield "The audit is not intact. See: outkey audit verify"
    elif restored.is_signed:
        yield "the audit is intact"
    else:
        yield "the records of the audit are intact"
    yield from _key_lines(restored)
    if not restored.is_signed:
        # No backup of these versions is signed, and none of their rows has a voucher.
        yield (
            "Rows that outkey cannot vouch for, such as those of version 0.2 or older,"
            " are not used. List and accept them with: outkey secret confirm"
        )
    yield from _hold_lines(restored)


def _key_lines(restored: Restored) -> Iterator[str]:
    """Yield which keys secrets need that do not open them."""
    for key, count in restored.retired_keys.items():
        yield (
            f"Secrets that need the retired key {key}: {count}. Run: outkey keys reopen"
            f" {key}"
        )
    for key, count in restored.missing_keys.items():
        yield (
            f"Secrets that need the missing key {key}: {count}. Add it to"
            f" {restored.key_file} as a line: decrypt KEY"
        )


def _hold_lines(restored: Restored) -> Iterator[str]:
    """Yield the lines about waiting work and tokens that may be outdated."""
    if restored.is_on_hold:
        yield (
            "On hold: no sync line runs, no token is renewed and no delivery is"
            " processed. If the installation that was backed up does not run any more,"
            " run: outkey resume --all"
        )
    if restored.outdated_tokens:
        names = ", ".join(map(quote, restored.outdated_tokens))
        yield (
            f"Refresh tokens that may have been replaced since the backup: {names}. If"
            " one is refused, authorize its configuration again."
        )


def _created_text(restored: Restored) -> str:
    """Return when a backup was made, as other times are printed."""
    moment = parse_iso(restored.created_at)
    return restored.created_at if moment is None else time_text(moment.timestamp())
