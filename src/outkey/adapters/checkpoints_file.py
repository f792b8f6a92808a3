"""Checkpoints as lines of a file that is only ever appended to."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

from outkey.core.audit.chain import Mark
from outkey.core.errors import AuditUnavailable
from outkey.core.text import Text


class CheckpointFile:
    """One JSON line per checkpoint, synced to the disk, readable by its owner only."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def append(self, mark: Mark) -> None:
        facts = {"stream": mark.stream, "number": mark.number, "key_id": mark.key_id}
        facts |= {"mac": mark.mac.hex(), "signature": mark.signature.hex()}
        try:
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
            descriptor = os.open(self._file, flags, 0o600)
            with os.fdopen(descriptor, "ab") as file:
                # A line of its own, also behind one that a kill cut short.
                file.write(b"\n" + json.dumps(facts).encode() + b"\n")
                file.flush()
                os.fsync(descriptor)
        except OSError:
            raise AuditUnavailable(
                Text("the checkpoint file cannot be written")
            ) from None

    def read(self) -> Iterator[Mark]:
        """Return all checkpoints; a line that a kill cut short is passed over."""
        try:
            with self._file.open("rb") as file:
                for line in file:
                    if (mark := _parse(line)) is not None:
                        yield mark
        except FileNotFoundError:
            return
        except OSError:
            raise AuditUnavailable(Text("the checkpoint file cannot be read")) from None


def _parse(line: bytes) -> Mark | None:
    try:
        facts = json.loads(line)
        mac, signature = bytes.fromhex(facts["mac"]), bytes.fromhex(facts["signature"])
        stream, number, key_id = facts["stream"], facts["number"], facts["key_id"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    if not (
        isinstance(stream, str) and isinstance(number, int) and 0 <= number < 2**63
    ):
        return None
    return Mark(stream, number, mac, str(key_id), signature)
