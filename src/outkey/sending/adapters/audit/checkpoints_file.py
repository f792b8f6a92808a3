"""AuditCheckpoints as lines of a file that is only ever appended to."""

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from outkey.foundation.core.errors import AuditUnavailable
from outkey.foundation.core.text import Text
from outkey.sending.core.audit.chain import ChainMark

# The end of the file, some thousand marks: a stream that only earlier ones name is
# noted again.
END_BYTES = 1024 * 1024


class CheckpointFile:
    """One JSON line per checkpoint, synced to the disk, readable by its owner only."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def append(self, mark: ChainMark) -> None:
        facts = {
            "stream": mark.stream,
            "number": mark.number,
            "key_id": mark.key_id,
            "mac": mark.mac.hex(),
            "signature": mark.signature.hex(),
        }
        if mark.is_sighting:
            facts["sighting"] = True
        # Starts with a newline, since a kill may have cut the previous line short.
        line = b"\n" + json.dumps(facts).encode() + b"\n"
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        try:
            descriptor = os.open(self._file, flags, 0o600)
            with os.fdopen(descriptor, "ab") as file:
                file.write(line)
                file.flush()
                os.fsync(descriptor)
        except OSError:
            raise AuditUnavailable(
                Text("the checkpoint file cannot be written")
            ) from None

    def add_sightings(self, marks: Sequence[ChainMark]) -> None:
        """Append sightings of streams that the end of the file does not name."""
        known = self._end()
        for mark in marks:
            if json.dumps(mark.stream).encode() not in known:
                self.append(mark)

    def _end(self) -> bytes:
        try:
            with self._file.open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(0, size - END_BYTES))
                return file.read()
        except FileNotFoundError:
            return b""
        except OSError:
            raise AuditUnavailable(Text("the checkpoint file cannot be read")) from None

    def probe(self) -> None:
        """Raise AuditUnavailable if a checkpoint could not be stored now."""
        place = self._file if self._file.exists() else self._file.parent
        if not os.access(place, os.W_OK):
            raise AuditUnavailable(Text("the checkpoint file cannot be written"))

    def read(self) -> Iterator[ChainMark]:
        """Return all checkpoints, without lines that a kill cut short."""
        try:
            with self._file.open("rb") as file:
                for line in file:
                    mark = _parse_mark(line)
                    if mark is not None:
                        yield mark
        except FileNotFoundError:
            return
        except OSError:
            raise AuditUnavailable(Text("the checkpoint file cannot be read")) from None


def _parse_mark(line: bytes) -> ChainMark | None:
    """Return the checkpoint of a line; None for a line that is not one."""
    try:
        facts = json.loads(line)
        stream = facts["stream"]
        number = facts["number"]
        mark = ChainMark(
            stream=stream,
            number=number,
            mac=bytes.fromhex(facts["mac"]),
            key_id=str(facts["key_id"]),
            signature=bytes.fromhex(facts["signature"]),
            is_sighting=facts.get("sighting") is True,
        )
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    if not isinstance(stream, str) or not isinstance(number, int):
        return None
    return mark if 0 <= number < 2**63 else None
